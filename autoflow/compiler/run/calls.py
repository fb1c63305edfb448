"""The calls of a plan, one by one; and how a run notices that NumPy had something to report.

Reports come first. Which operations warn or raise, with which words and in which line, eager code knows best: it runs
backward passes silently, and ``with np.errstate(...)`` inside the function counts. So a program runs silently and only
notes whether something happened that its caller does not ignore; then the function itself runs once more, in the
caller's context. That is NumPy's own mechanism: in the context of a program each kind of error that the caller does not
ignore is set to "call", and the function that is called notes it. So nothing has to be checked after each call.

Then the calls: which function of NumPy computes a value, with which arguments, and where it writes.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ...backprop.passes import SWITCH
from ...base.errors import CompileError
from ..matching import CALL, PRODUCT, REDUCE, UFUNC, Array, Value, describe_value

# ---------------------------------------------------------------- reports: NumPy's warnings and errors are noted

callers_state: Callable[[], Any] = SWITCH[0].get if SWITCH else object  # of an unknown NumPy: a new one at every call


class Reported(Exception):  # noqa: N818 - the run went well
    """The results of a run during which NumPy had something to report."""

    def __init__(self, results: Any) -> None:
        super().__init__()
        self.results = results


class Noticed:
    """What NumPy calls: ``any`` says that it did."""

    __slots__ = ("any",)

    def __init__(self) -> None:
        self.any = False

    def __call__(self, kind: str, flag: int) -> None:
        self.any = True


class Watched:
    """A plan, and the context that it runs in: silently, and noticing what the caller does not ignore."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()  # quicker to enter than np.errstate
        self.noticed = Noticed()
        self.state: Any = None  # the caller's at the last run
        self.kinds: frozenset[str] = frozenset()

    def adapt(self, state: Any) -> None:
        """Notice what this caller does not ignore."""
        self.kinds = frozenset([kind for kind, how in np.geterr().items() if how != "ignore"])
        kinds: dict[str, Any] = {kind: "call" if kind in self.kinds else "ignore" for kind in np.geterr()}
        self.context.run(np.seterrcall, self.noticed)
        self.context.run(partial(np.seterr, **kinds))
        self.state = state

    def pass_on(self) -> None:
        """Tell the program that this one is a part of, in whose context it has run."""
        if self.noticed.any:
            self.noticed.any = False
            whole: Any = np.geterrcall()
            whole("part", 0)


# ---------------------------------------------------------------- calls: the function, its arguments, where it writes


class Step:
    """One call: the value that it computes, the function, its arguments, and where it writes."""

    __slots__ = ("args", "function", "out", "value")

    def __init__(self, value: Value, function: Callable[..., Any], args: list[Any], out: Array | None) -> None:
        self.value, self.function, self.args, self.out = value, function, args, out


class Fixed:
    """An argument that is the same object in every call."""

    __slots__ = ("object",)

    def __init__(self, object: Any) -> None:
        self.object = object


def into(function: Any, x: Any, y: Any, out: Array) -> None:
    """``function(x, y, out=out)``."""
    function(x, y, out=out)


def copying_call(function: Any, *args: Any) -> None:
    """The result of a function that cannot write into an array, copied into the last argument."""
    np.copyto(args[-1], function(*args[:-1]))


def take_nothing(places: list[Any]) -> tuple[()]:
    """No arguments."""
    return ()


def take_places(where: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The function that takes these places out of a list, as a tuple."""
    if len(where) == 1:
        k = where[0]
        return lambda places: (places[k],)
    return itemgetter(*where)


def writes(v: Value) -> bool:
    """Can the value be computed into a given array?"""
    return v.kind in (UFUNC, REDUCE, PRODUCT) or (v.kind == CALL and v.function is np.matmul)


def call_of(v: Value, out: Array | Value | None) -> tuple[Callable[..., Any], list[Any]]:
    """The function and its arguments, by position; values, or objects that stay the same."""
    where = [] if out is None else [out]
    if v.kind == UFUNC:
        if v.function in (np.maximum, np.minimum) and where:  # they want the word
            return partial(v.function, out=out), list(v.args)
        return v.function, [*v.args, *where]
    if v.kind == REDUCE:
        axis, keepdims = v.options
        return v.function.reduce, [v.args[0], axis, None, out, keepdims]
    x, y = v.args
    if v.kind == CALL:  # a product of stacks
        return v.function, [x, y, *where]
    same = x.dtype == y.dtype == v.dtype and v.dtype.kind in "fc" and min(*x.shape, *y.shape) > 1
    return (np.dot if same else np.matmul), [
        x,
        y,
        *where,
    ]  # np.dot is quicker; it has the same bits, except for vectors


def view_of(v: Value) -> Callable[..., Any]:
    """The function that takes a view."""
    if v.options == ("transpose", (1, 0)):
        return attrgetter("T")
    return v.function


def checked_call(v: Value) -> Callable[..., Any]:
    """A call whose result must have the shape and dtype that it had: other calls rely on it."""
    function, shape, dtype, name, parts = v.function, v.shape, v.dtype, v.name, v.parts
    if parts is not None:
        return checked_parts(function, parts, name)
    if dtype is None:
        return function

    def call(*arrays: Array) -> Array:
        z = function(*arrays)
        if z.shape != shape or z.dtype != dtype:
            raise another_shape(name, (z.shape, z.dtype), (shape, dtype))
        return z

    return call


def checked_parts(function: Callable[..., Any], parts: list[Any], name: str) -> Callable[..., Any]:
    """The same for a call that returns several arrays."""

    def call(*arrays: Array) -> Any:
        results = function(*arrays)
        found = [describe_value(z) for z in results]
        if found != parts:
            new, old = next((pair for pair in zip(found, parts, strict=False) if pair[0] != pair[1]), (found, parts))
            raise another_shape(name, new, old) if new is not found else another_number(name, found, parts)
        return results

    return call


def another_shape(name: str, new: Any, old: Any) -> CompileError:
    """The CompileError; ``new`` and ``old`` are pairs of shape and dtype."""
    return CompileError(
        f"{name} returned {new[1]} of shape {new[0]}, and {old[1]} of shape {old[0]} when it was recorded: "
        f"that depends on values, so it cannot be compiled. Take it out of the function, or say fallback=True."
    )


def another_number(name: str, new: list[Any], old: list[Any]) -> CompileError:
    """The CompileError for a call that returns more or fewer arrays."""
    return CompileError(
        f"{name} returned {len(new)} arrays, and {len(old)} when it was recorded: that depends on values, so it cannot "
        f"be compiled. Take it out of the function, or say fallback=True."
    )


@functools.cache
def resolves(ufunc: np.ufunc, dtype: Any) -> bool:
    """Can the ufunc compute with two arrays of this dtype?"""
    try:
        return ufunc.resolve_dtypes((dtype, dtype, *[None] * ufunc.nout))[:2] == (dtype, dtype)
    except TypeError:
        return False


def fitting_number(x: Any, a: Any, v: Value) -> Any:
    """A Python number as a 0-d array of the other operand's dtype: the same result, without a conversion per call."""
    if type(x) not in (int, float) or v.kind != UFUNC or len(v.args) != 2:
        return x
    other = v.args[1] if v.args[0] is a else v.args[0]
    if other.dtype is None or other.dtype.kind != "f" or not resolves(v.function, other.dtype):
        return x
    return np.asarray(x, other.dtype)
