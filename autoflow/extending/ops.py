"""``af.ops``: operations by name. The table's, and those that you register.

``af.ops.tanh(x)`` is ``np.tanh(x)``; after ``af.register_function("square", Square.apply)`` there is
``af.ops.square(x)``, and after ``af.register_operation("swish", lambda x: ...)`` there is ``af.ops.swish(x)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..rules import RULES as _RULES

if TYPE_CHECKING:
    from ..nodes.nodes import Node

_F = TypeVar("_F", bound=Callable[..., Any])

_REGISTERED: dict[str, Callable[..., Any]] = {}


def _built_in(name: str) -> Callable[..., Any] | None:
    """The function whose row has that name; None if no row has it."""
    return next((function for function, row in _RULES.items() if row.name == name and callable(function)), None)


def __dir__() -> list[str]:
    """The names for completion: all operations, built in and registered."""
    built_in = [row.name for function, row in _RULES.items() if callable(function) and row.name[0] != "_"]
    return sorted({*built_in, *_REGISTERED, "register_function", "register_operation"})


def _register(name: str, function: _F, replace: bool) -> _F:
    if not (isinstance(name, str) and name.isidentifier()) or name.startswith("_"):
        raise ValueError(f"af.ops.{name} could not be written: a name is letters, digits and underscores")
    if not callable(function):
        raise TypeError(f"af.ops.{name} must be a function, not a {type(function).__name__}")
    if not replace and (name in _REGISTERED or name in globals() or _built_in(name) is not None):
        kind = "was registered before" if name in _REGISTERED else "is built in"
        raise ValueError(f"af.ops.{name} {kind}. To replace it: replace=True")
    _REGISTERED[name] = function
    return function


def register_function(name: str, apply: _F, *, replace: bool = False) -> _F:
    """Make ``af.ops.name(...)`` a function with its own derivative, such as ``Square.apply`` or a primitive.

    Returns the function. Raises ValueError for a name that is taken, unless ``replace=True``.

    >>> import autoflow as af
    >>> from autoflow.extending.custom import primitive
    >>> @primitive
    ... def halved(x):
    ...     return x / 2
    >>> _ = register_function("halved", halved.defvjp(x=lambda g: g / 2), replace=True)
    >>> float(af.ops.halved(3.0))
    1.5
    """
    return _register(name, apply, replace)


@overload
def register_operation(name: str, function: None = None, *, replace: bool = False) -> Callable[[_F], _F]: ...
@overload
def register_operation(name: str, function: _F, *, replace: bool = False) -> _F: ...
def register_operation(name: str, function: Any = None, *, replace: bool = False) -> Any:
    """Make ``af.ops.name(...)`` a function that is written with NumPy functions, and so needs no derivative.

    Also a decorator, ``@af.register_operation("swish")``. Otherwise as :func:`register_function`.

    >>> import autoflow as af
    >>> @register_operation("swish", replace=True)
    ... def swish(x):
    ...     return x / (1 + np.exp(-x))
    >>> float(af.ops.swish(0.0))
    0.0
    """
    if function is None:
        return lambda function: _register(name, function, replace)
    return _register(name, function, replace)


def __getattr__(name: str) -> Callable[..., Node]:
    operation = _REGISTERED.get(name) or (None if name.startswith("_") else _built_in(name))
    if operation is None:
        raise AttributeError(f"af.ops has no {name!r}: register_operation({name!r}, function) would make it")
    return operation
