"""The kinds of NumPy functions in a program, and the messages for what cannot be recorded."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...errors import CompileError
from ...nodes.versions import caller
from ...rules.versions import NOT_GIVEN
from ..program import NUMBERS

REDUCTIONS: dict[Any, Any] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum, np.amax: np.maximum,
    np.amin: np.minimum, np.any: np.logical_or, np.all: np.logical_and,
}  # fmt: skip
SAME_ORDER = frozenset({np.reshape, np.ravel, np.squeeze, np.expand_dims})
PERMUTING = frozenset({np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis})
OTHER_VIEWS = {np.broadcast_to, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal, np.real, np.imag}
VIEWS = SAME_ORDER | PERMUTING | OTHER_VIEWS
SLICING = frozenset({np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit})  # written in Python, with slices
# Attributes that are known without the numbers.
FACTS = frozenset({
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.common_type,
    np.min_scalar_type, np.may_share_memory, np.shares_memory,
})  # fmt: skip
MEMORY = frozenset({np.may_share_memory, np.shares_memory})
FILLED: dict[Any, Any] = {np.zeros_like: 0, np.ones_like: 1}
UNWRITTEN = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})
VALUES = frozenset(["item", "tolist", "tobytes", "tofile", "dump", "dumps"])
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
    module = sys._getframe(2).f_globals.get("__name__", "")
    asked_by_node = "autoflow.forward.dispatch" if what.startswith("np.") else "autoflow.forward.array_methods"
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
