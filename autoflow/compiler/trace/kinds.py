"""The kinds of NumPy functions in a program, and the messages for what cannot be recorded.

First the calls whose result has a shape and dtype that follow from the shapes and dtypes of their arrays alone. The
shape of every other call may depend on values: ``x[x > 2]``, ``np.nonzero(x)``, ``np.repeat(x, counts)``; so may the
dtype of ``np.linalg.eig(x)``. While a function is recorded shapes are known, so Python may have counted, divided or
branched by them, and it is not known where that went. Such a call is therefore made in every run, needed or not, and
its result is compared with the recording (``run/buffers.py``). A function that is missing here is only called more
often.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...backends.duck_arrays import flat
from ...base.errors import CompileError
from ...forward import array_methods, dispatch
from ...nodes.versions import caller
from ...table.facts import FIXED, RAISING as RAISING, REDUCTIONS as REDUCTIONS, of_kind
from ...table.shapes import NOT_GIVEN
from ..matching import Place
from ..program import NUMBERS

# ---------------------------------------------------------------- calls with a shape that does not depend on values

ARRAY_OPTIONS = frozenset({"where", "weights", "prepend", "append", "initial", "x", "default", "min", "max"})


def has_fixed_shape(function: Any, args: Any, options: Any) -> bool:
    """``args`` and ``options`` with a Place for each array.

    >>> has_fixed_shape(np.repeat, (Place(0), 2), {}), has_fixed_shape(np.repeat, (Place(0), Place(1)), {})
    (True, False)
    >>> has_fixed_shape(np.where, (Place(0),), {})
    False
    """
    if isinstance(function, np.ufunc):
        return function.signature is None or not options
    if function is np.einsum:
        return not isinstance(args[0], Place) and not holds_place(options)
    if function not in FIXED or (function is np.where and len(args) < 3):
        return False
    rest = [v for name, v in options.items() if name not in ARRAY_OPTIONS]
    return not holds_place(args[FIXED[function] :]) and not holds_place(rest)


def holds_place(x: Any) -> bool:
    """Is there a placeholder of an array in it?"""
    return any([isinstance(v, Place) for v in flat(x)])


def has_fixed_places(index: Any, arrays: list[Any]) -> bool:
    """Does ``x[index]`` have as many elements for all values in ``index``? Masks and slices by arrays have not.

    index : with a Place for each array. arrays : these arrays.
    """
    parts = index if type(index) is tuple else (index,)
    return all([
        arrays[p.k].dtype.kind in "iu" if isinstance(p, Place) else not holds_place(p) for p in parts
    ])  # fmt: skip


# ---------------------------------------------------------------- kinds of functions, and what is refused


SAME_ORDER, PERMUTING, SLICING = of_kind("shapes"), of_kind("permutes"), of_kind("slices")
VIEWS = of_kind("shapes", "permutes", "shows")
FACTS, MEMORY = of_kind("asks", "places"), of_kind("places")
FILLED: dict[Any, Any] = {np.zeros_like: 0, np.ones_like: 1}
UNWRITTEN = of_kind("writes")
WRITING = frozenset(["resize", "setfield", "setflags", "byteswap"])  # the others are methods of Traced
ARRAYS = (np.ndarray, np.generic, *NUMBERS)
SCALAR_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


def plain_reduction(options: dict[str, Any], dtype: Any) -> bool:
    """Only an axis and keepdims?"""
    where = options.get("axis")
    known = {name for name, v in options.items() if v is not None and v is not NOT_GIVEN and v is not ...}
    axes = where if isinstance(where, tuple) and where else (where,)
    fine = where is None or all([isinstance(a, (int, np.integer)) for a in axes])
    return fine and known <= {"axis", "keepdims"} and bool(dtype != np.float16)


def mean(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """np.mean of float64 or float32: the sum over the count, as in NumPy."""
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return np.divide(total, x.size // max(total.size, 1))


def refuse_number(what: str) -> CompileError:
    """Python asks for a number that is not known yet."""
    return CompileError(
        f"{what} needs the value of an array, which a compiled function knows only while it runs (at {caller()}). "
        f"Write np.where(condition, a, b) instead of an if, pass what decides as a Python number (it is then part of "
        f"the signature), take that part out of the compiled function, or say af.compile(f, fallback=True)."
    )


def layout_refused(what: str) -> CompileError:
    """A question about memory."""
    return CompileError(
        f"{what} asks where numbers lie in memory (at {caller()}), and a program has memory of its own. Bring arrays "
        f"into the layout that you want outside of the compiled function, or say af.compile(f, fallback=True)."
    )


def check_caller_is_ours(what: str) -> None:
    """Raise CompileError if the user asks where numbers lie in memory, also by way of a node."""
    module = sys._getframe(3).f_globals.get("__name__", "")  # behind the guard of the method
    asked_by_node = (dispatch if what.startswith("np.") else array_methods).__name__
    if not module.startswith("autoflow.") or module == asked_by_node:
        raise layout_refused(what)


def axes_out_of_order() -> CompileError:
    """A write that would change which of the functions after it return a view."""
    return CompileError(
        f"{caller()} writes into an array whose axes do not lie in memory in their order: write into a copy, x.copy(), "
        f"make a new array, or say af.compile(f, fallback=True)."
    )


def into_outside() -> CompileError:
    """A write that would happen only once."""
    return CompileError(
        f"{caller()} writes into an array that was made outside of the compiled function: give that array as an "
        f"argument and return the new one (a training step returns its parameters), or say af.compile(f, fallback=True)"
    )
