"""What one value of a program is for one element: a row of ``words.py``, its operands, and in which types it computes.

NumPy says the types itself (``np.ufunc.resolve_dtypes``), Python's numbers included: 2 · x of float32 is float32. What
has no formula here (a function without a row, complex numbers, float to integer) stays NumPy's call.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..matching import call_written
from ..trace.written import set_items
from ..values import CALL, CONSTANT, REDUCE, UFUNC, VIEW, Value, behind_views
from .engine import has_fma
from .functions import HELPERS
from .text import CODES, Text
from .words import REDUCED, ROWS, Row, can_cast, is_float, select

USING_FMA = {getattr(np, name) for name in HELPERS}


@dataclass(frozen=True)
class Formula:
    """An element of a value: ``row`` of the operands, each cast to its type; ``result`` is the type it gives."""

    row: Row
    operands: tuple[Any, ...]  # values, or numbers
    types: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class Reduction:
    """A number more of a sum, a product, a maximum: ``row`` of two of ``type``; what one begins with."""

    row: Row
    type: str
    identity: Any


def code(dtype: Any) -> str | None:
    """LLVM's name of a dtype; None if loops do not compute with it."""
    return CODES.get(dtype) if dtype is not None and dtype.isnative else None


def formula_of(v: Value) -> Formula | None:
    """The formula of an elementwise value; None if it has none."""
    if not math.prod(v.shape) or code(v.dtype) is None:
        return None
    found = of_ufunc(v) if v.kind == UFUNC else of_call(v) if v.kind == CALL else None
    if found is None or found.result != code(v.dtype):
        return None
    for x, kind in zip(found.operands, found.types, strict=True):
        old = kind if is_number(x) else code(x.dtype)
        if old is None or not can_cast(old, kind):
            return None
    return found


def is_number(x: Any) -> bool:
    """A constant number, which is written into the text; also repeated."""
    while isinstance(x, Value) and x.kind == VIEW and x.options[0] in ("broadcast", "reshape"):
        x = x.args[0]
    return not isinstance(x, Value) or (x.kind == CONSTANT and not x.shape)


def number_in(x: Any) -> Any:
    """That number."""
    x = behind_views(x)
    return x.sample if isinstance(x, Value) else x


def of_ufunc(v: Value) -> Formula | None:
    """In the types that NumPy computes it in."""
    if v.function not in ROWS or v.function.nout != 1 or (v.function in USING_FMA and not has_fma()):
        return None
    types = types_of(v.function, tuple([x.dtype if x.dtype is not None else type(x.sample) for x in v.args]))
    kinds, row = ROWS[v.function]
    if not types or any([code(t) is None or t.kind not in kinds for t in types[:-1]]) or len({*types[:-1]}) > 1:
        return None
    if any([x.dtype is None and not fits(x.sample, types[0]) for x in v.args]):
        return None
    return Formula(row, v.args, tuple([CODES[t] for t in types[:-1]]), code(types[-1]) or "")


@functools.cache
def types_of(function: np.ufunc, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes in which a function computes with operands of these dtypes, or of Python's classes, and its result's;
    () if it does not."""
    try:
        return tuple(function.resolve_dtypes((*given, None)))
    except TypeError:
        return ()


def fits(number: Any, dtype: Any) -> bool:
    """Is a Python number one of this dtype?"""
    if dtype.kind == "i":
        return type(number) in (int, bool) and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
    number = number.item() if isinstance(number, np.generic) else number
    return type(number) in (int, float, bool) and (type(number) is not int or abs(number) <= 2**53)


def of_call(v: Value) -> Formula | None:
    """np.where, x.astype, np.clip."""
    result = CODES[v.dtype]
    if v.options is not None and v.options[:1] == ("astype",) and len(v.options) == 2:
        return Formula(lambda t, s, w, a: a[0], v.args, (result,), result)
    function, args, options = call_written(v)
    if options or len(args) != 3 or any([not isinstance(a, (Value, int, float)) for a in args]):
        return None
    if any([is_number(a) and not fits(number_in(a), v.dtype) for a in args[1:]]):
        return None
    if function is np.where and isinstance(args[0], Value) and args[0].dtype == np.bool_:
        return Formula(choose, args, ("i1", result, result), result)
    if function is np.clip and is_float(result):
        return Formula(clip, args, (result, result, result), result)
    return None


def choose(t: Text, s: str, w: int, a: list[str]) -> str:
    """np.where."""
    return select(t, s, w, *a)


def clip(t: Text, s: str, w: int, a: list[str]) -> str:
    """The larger one of x and the lower bound, and of that and the upper bound the smaller one."""
    return ROWS[np.minimum][1](t, s, w, [ROWS[np.maximum][1](t, s, w, a[:2]), a[2]])


def reduction_of(v: Value) -> Reduction | None:
    """The reduction of a value that is one: of floats, and counts of booleans; else None."""
    if v.kind != REDUCE or not math.prod(v.args[0].shape):
        return None
    old, new = code(v.args[0].dtype), code(v.dtype)
    if old is None or new is None:
        return None
    if is_float(new) and old == new and v.function in REDUCED:
        return Reduction(REDUCED[v.function][0], new, REDUCED[v.function][1])
    if v.function is np.add and new == "i64" and old in ("i1", "i64"):
        return Reduction(ROWS[np.add][1], new, 0)
    if v.function in (np.logical_or, np.logical_and) and old == new == "i1":
        return Reduction(ROWS[v.function][1], new, v.function is np.logical_and)
    return None


def written_at(v: Value) -> tuple[Any, Any, Any] | None:
    """Of a copy of x into which y is written, ``x[index] = y``: x, the index and y; None of other values. The index has
    whole numbers and slices only, so what is written into is a view. (The gradient of a slice is such a copy of 0.)"""
    if v.kind != CALL or code(v.dtype) is None or not math.prod(v.shape):
        return None
    function, args, _ = call_written(v)
    if function is not set_items or not isinstance(args[0], Value):
        return None
    x, index, y = args
    parts = index if type(index) is tuple else (index,)
    if not all([p is ... or p is None or type(p) is int or is_slice(p) for p in parts]):
        return None
    index = parts if any([p is ... for p in parts]) else (*parts, ...)  # so that a number is a view as well
    part = np.empty(v.shape, np.bool_)[index]
    if not part.size or x.dtype != v.dtype or x.shape != v.shape:
        return None
    if is_number(y):
        fine = fits(number_in(y), v.dtype)
    else:
        fine = (
            y.dtype == v.dtype and len(y.shape) <= part.ndim and np.broadcast_shapes(y.shape, part.shape) == part.shape
        )
    return (x, index, y) if fine else None


def is_slice(p: Any) -> bool:
    """Of whole numbers?"""
    return type(p) is slice and all([end is None or type(end) is int for end in (p.start, p.stop, p.step)])
