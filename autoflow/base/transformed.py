"""The objects that ``af.grad(f)``, ``af.vmap(f)`` and the like return: a function inside, and how to call it.

A function made inside another (a closure) would be shorter, and could not be pickled: pickle finds functions by their
names. These objects are pickled as the function and the options, so that ``pool.map(af.grad(f), starts)`` works.
"""

from __future__ import annotations

import copy
import functools
import sys
import types
from operator import attrgetter
from typing import Any, Self

from .types import AnyFunction, ByName, Values


class FunctionOfFunction:
    """Base class: called like a function, with the name and docstring of ``f``; a method, if it is defined in a class.

    how : the options that ``__call__`` of the subclass works with.
    """

    f: AnyFunction
    how: ByName

    def __init__(self, f: AnyFunction, how: ByName) -> None:
        functools.update_wrapper(self, f)
        self.f, self.how = f, how

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the transformed function; subclasses define it."""
        raise NotImplementedError

    def __get__(self, instance: object, owner: object = None) -> Self | types.MethodType:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | Values:
        return public_name(self, sys._getframe(1)) or (type(self), (self.f, self.how))

    def __copy__(self) -> Self:
        return type(self)(self.f, self.how)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(copy.deepcopy(self.f, memo), self.how)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {getattr(self, '__qualname__', self.f)}>"


def public_name(x: object, asking: types.FrameType) -> str:
    """The name under which its module has ``x``, as it does a decorated function; "" if it does not.

    A decorated function must be pickled by that name: the function in it is found nowhere. But the main program of a
    worker may be another one, so cloudpickle, which sends the functions of the main program by value, gets no name.
    asking : the frame in which the pickling was asked for.
    """
    module = str(getattr(x, "__module__", None) or "")
    if module == "__main__" and str(asking.f_globals.get("__name__")).partition(".")[0] in ("cloudpickle", "joblib"):
        return ""
    name = str(getattr(x, "__qualname__", ""))
    try:
        return name if attrgetter(name)(sys.modules.get(module)) is x else ""
    except AttributeError:
        return ""
