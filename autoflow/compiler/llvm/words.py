"""NumPy's elementwise functions in LLVM's words, and what one value of a program is for one element.

The rows, one for each function, for numbers and for vectors of them: a row says for which kinds of dtype it holds ("f"
floats, "i" integers, "b" booleans) and writes the lines. Each gives what NumPy gives, bit for bit but for exp, log,
tanh, sin, cos (``functions.py``); no row lets LLVM reorder or contract.

The formula of a value: a row, its operands, and in which types it computes. NumPy says the types itself
(``np.ufunc.resolve_dtypes``), including those of Python's numbers: 2 · x for float32 is float32. A value without a
formula here (a function without a row, complex numbers, float to integer) stays NumPy's call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...table.indexing import is_basic
from ..matching import CALL, CONSTANT, REDUCE, UFUNC, VIEW, Value, behind_views, call_of
from ..passes import COPIES
from ..run.buffers import may_wrap, types_of
from ..trace.memory import cast as cast_array, set_items
from ..trace.tape import holds
from .engine import has_fma
from .functions import CODES, HELPERS, IRText, Lanes, is_float, type_of

# ---------------------------------------------------------------- rows: the lines of each function

Row = Callable[..., str]  # Numbers, and the operands -> the result
ROWS: dict[Any, tuple[str, Row]] = {}


def written(for_floats: str, for_integers: str = "") -> Row:
    """One instruction as it is written: {0} and {1} are the operands, {one} and {zero} numbers of their ``kind``. A
    word alone takes two operands. (With NaN a comparison is false, and ≠ is true.)"""

    def row(m: Lanes, *a: str) -> str:
        form = for_floats if m.is_float else for_integers
        form = form if "{" in form else form + " {kind} {0}, {1}"
        return m.t.let(form.format(*a, kind=m.kind, one=m.c(1), zero=m.c(0)))

    return row


def intrinsic(name: str) -> Row:
    """An LLVM function that becomes one instruction."""
    return lambda m, *a: m.one(name, *a)


def helper(name: str) -> Row:
    """Our own function; float32 in float64, rounded once. In programs of numbers the C library's: there one result
    waits for another, and its tables are twice as fast as a polynomial (not with af.compile(f, own_functions=True))."""

    def row(m: Lanes, x: str) -> str:
        t, kind = m.t, type_of("double", m.w)
        if t.numbers and m.scalar == "double" and not t.own_functions:
            return t.call(m.scalar, name, (m.scalar, x))
        t.helpers.add((name, m.w))
        x = cast(t, x, m.scalar, "double", m.w)
        return cast(t, t.let(f"call {kind} @{name}.{m.w}({kind} {x})"), "double", m.scalar, m.w)

    return row


def extremum(for_floats: str, for_integers: str, which: int) -> Row:
    """The larger or smaller one; ``which`` operand is taken if it is NaN, or (−1) if it is not."""

    def row(m: Lanes, x: str, y: str) -> str:
        if not m.is_float:
            return m.pick(m.op(f"icmp {for_integers}", x, y), x, y)
        better, nan = m.test(for_floats, x, y), x if which == 0 else y
        return m.pick(m.either(better, m.test("uno", nan, nan)), x, y)

    return row


def sign(m: Lanes, x: str) -> str:
    """1, −1, 0; NaN for NaN."""
    zero = m.c(0.0)
    here = m.pick(m.test("oeq", x, zero), zero, x)
    here = m.pick(m.test("olt", x, zero), m.c(-1.0), here)
    return m.pick(m.test("ogt", x, zero), m.c(1.0), here)


def against_infinity(word: str) -> Row:
    """|x| = ∞, or |x| < ∞."""
    return lambda m, x: m.test(word, m.one("fabs", x), m.c(float("inf")))


# fmt: off
ROWS.update({
    np.add:           ("fi", written("fadd", "add")),
    np.subtract:      ("fi", written("fsub", "sub")),
    np.multiply:      ("fi", written("fmul", "mul")),
    np.divide:        ("f", written("fdiv")),
    np.negative:      ("fi", written("fneg {kind} {0}", "sub {kind} {zero}, {0}")),
    np.positive:      ("fi", lambda m, x: x),
    np.square:        ("fi", written("fmul {kind} {0}, {0}", "mul {kind} {0}, {0}")),
    np.reciprocal:    ("f", written("fdiv {kind} {one}, {0}")),
    np.absolute:      ("f", intrinsic("fabs")),
    np.fabs:          ("f", intrinsic("fabs")),
    np.sqrt:          ("f", intrinsic("sqrt")),
    np.floor:         ("f", intrinsic("floor")),
    np.ceil:          ("f", intrinsic("ceil")),
    np.trunc:         ("f", intrinsic("trunc")),
    np.rint:          ("f", intrinsic("rint")),
    np.copysign:      ("f", intrinsic("copysign")),
    np.sign:          ("f", sign),
    np.maximum:       ("fi", extremum("oge", "sge", 0)),
    np.minimum:       ("fi", extremum("ole", "sle", 0)),
    np.fmax:          ("fi", extremum("oge", "sge", -1)),
    np.fmin:          ("fi", extremum("ole", "sle", -1)),
    np.equal:         ("fib", written("fcmp oeq", "icmp eq")),
    np.not_equal:     ("fib", written("fcmp une", "icmp ne")),
    np.less:          ("fi", written("fcmp olt", "icmp slt")),
    np.less_equal:    ("fi", written("fcmp ole", "icmp sle")),
    np.greater:       ("fi", written("fcmp ogt", "icmp sgt")),
    np.greater_equal: ("fi", written("fcmp oge", "icmp sge")),
    np.logical_and:   ("b", written("", "and")),
    np.logical_or:    ("b", written("", "or")),
    np.logical_xor:   ("b", written("", "xor")),
    np.bitwise_and:   ("bi", written("", "and")),
    np.bitwise_or:    ("bi", written("", "or")),
    np.bitwise_xor:   ("bi", written("", "xor")),
    np.logical_not:   ("b", written("", "xor {kind} {0}, {one}")),
    np.invert:        ("b", written("", "xor {kind} {0}, {one}")),
    np.isnan:         ("f", written("fcmp uno {kind} {0}, {0}")),
    np.isinf:         ("f", against_infinity("oeq")),
    np.isfinite:      ("f", against_infinity("olt")),
})
ROWS.update({getattr(np, name): ("f", helper(name)) for name in HELPERS})
REDUCED: dict[Any, tuple[Row, Any]] = {  # the row that adds one more number, and what one begins with
    np.add:      (ROWS[np.add][1], 0.0),  # as NumPy, for which a sum of −0.0 is 0.0
    np.multiply: (ROWS[np.multiply][1], 1.0),
    np.maximum:  (ROWS[np.maximum][1], float("-inf")),
    np.minimum:  (ROWS[np.minimum][1], float("inf")),
}
# fmt: on


def cast(t: IRText, x: str, old: str, new: str, w: int) -> str:
    """A number of one type as another. Not to integers, where NumPy would report a loss."""
    if old == new:
        return x
    if is_float(new):
        word = ("fpext" if new == "double" else "fptrunc") if is_float(old) else "uitofp" if old == "i1" else "sitofp"
    else:
        word = "zext" if old == "i1" else "sext"
    return t.let(f"{word} {type_of(old, w)} {x} to {type_of(new, w)}")


def can_cast(old: str, new: str) -> bool:
    """Does :func:`cast` have it? To floats, and to wider integers."""
    return is_float(new) or (not is_float(old) and new != "i1" and int(old[1:]) <= int(new[1:])) or old == new


# ---------------------------------------------------------------- formulas: a row, its operands, their types


USING_FMA = {getattr(np, name) for name in HELPERS}


@dataclass(frozen=True)
class Element:
    """An element of a value: ``row`` of the operands, each cast to its type; ``result`` is the type it gives."""

    row: Row
    operands: tuple[Any, ...]  # values, or numbers
    types: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class Reduction:
    """One more number in a sum, a product, a maximum: ``row`` of two of ``type``, and the starting value."""

    row: Row
    type: str
    identity: Any


def code(dtype: Any) -> str | None:
    """LLVM's name for a dtype; None if loops do not compute with it."""
    return CODES.get(dtype) if dtype is not None and dtype.isnative else None


def formula_of(v: Value) -> Element | None:
    """The formula of an elementwise value; None if loops do not have it."""
    if not math.prod(v.shape) or code(v.dtype) is None or may_wrap(v):
        return None
    formula = of_ufunc(v) if v.kind == UFUNC else of_call(v) if v.kind == CALL else None
    if formula is None or formula.result != code(v.dtype):
        return None
    for x, kind in zip(formula.operands, formula.types, strict=True):
        old = kind if is_number(x) else code(x.dtype)
        if old is None or not can_cast(old, kind):
            return None
    return formula


def is_number(x: Any) -> bool:
    """A constant number, which is written into the text; also repeated."""
    while isinstance(x, Value) and x.kind == VIEW and x.options[0] in ("broadcast", "reshape"):
        x = x.args[0]
    return not isinstance(x, Value) or (x.kind == CONSTANT and not x.shape)


def number_in(x: object) -> Any:
    """That number."""
    x = behind_views(x)
    return x.sample if isinstance(x, Value) else x


def of_ufunc(v: Value) -> Element | None:
    """In the types that NumPy computes it in."""
    if v.function not in ROWS or v.function.nout != 1 or (v.function in USING_FMA and not has_fma()):
        return None
    types = types_of(v.function, tuple([x.dtype if x.dtype is not None else type(x.sample) for x in v.args]))
    kinds, row = ROWS[v.function]
    if not types or any([code(t) is None or t.kind not in kinds for t in types[:-1]]) or len({*types[:-1]}) > 1:
        return None
    if any([x.dtype is None and not fits(x.sample, types[0]) for x in v.args]):
        return None
    return Element(row, v.args, tuple([CODES[t] for t in types[:-1]]), code(types[-1]) or "")


def fits(number: Any, dtype: Any) -> bool:
    """Is a Python number one of this dtype?"""
    if dtype.kind == "i":
        return type(number) in (int, bool) and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
    number = number.item() if isinstance(number, np.generic) else number
    most = 2**53 if type(number) is int else float(np.finfo(dtype).max) if dtype.kind == "f" else np.inf
    return type(number) in (int, float, bool) and bool(abs(number) <= most or not abs(number) < np.inf)


def of_call(v: Value) -> Element | None:
    """np.where, x.astype, x.copy, np.clip."""
    result = CODES[v.dtype]
    function, args, options = call_of(v, v.args)
    if function in (cast_array, *COPIES) and isinstance(args[0], Value) and args[0].shape == v.shape:
        return Element(lambda m, x: x, args[:1], (result,), result)
    if options or len(args) != 3 or any([not isinstance(a, (Value, int, float)) for a in args]):
        return None
    if any([is_number(a) and not fits(number_in(a), v.dtype) for a in args[1:]]):
        return None
    if function is np.where and isinstance(args[0], Value) and args[0].dtype == np.bool_:
        return Element(Lanes.pick, args, ("i1", result, result), result)
    if function is np.clip and is_float(result):
        return Element(clip, args, (result, result, result), result)
    return None


def clip(m: Lanes, x: str, low: str, high: str) -> str:
    """The larger of x and the lower bound, then the smaller of that and the upper bound."""
    return ROWS[np.minimum][1](m, ROWS[np.maximum][1](m, x, low), high)


def reduction_of(v: Value) -> Reduction | None:
    """The reduction that a value consists of: of floats, and counts of booleans; else None."""
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
    """For a copy of x into which y is written, ``x[index] = y``: x, the index and y; None for other values. The index
    has only whole numbers and slices, so the target of the write is a view. (The gradient of a slice is such a copy
    of 0.)"""
    if v.kind != CALL or code(v.dtype) is None or not math.prod(v.shape):
        return None
    function, args, _ = call_of(v, v.args)
    if function is not set_items or not isinstance(args[0], Value):
        return None
    x, index, y = args
    parts = index if type(index) is tuple else (index,)
    if not is_basic(index) or holds(index, Value):
        return None
    index = parts if any([p is ... for p in parts]) else (*parts, ...)  # so that a number is a view as well
    part = np.empty(v.shape, np.bool_)[index]
    if not part.size or x.dtype != v.dtype or x.shape != v.shape:
        return None
    if is_number(y):
        fine = fits(number_in(y), v.dtype)
    else:
        shapes = y.shape, part.shape
        fine = y.dtype == v.dtype and len(y.shape) <= part.ndim and np.broadcast_shapes(*shapes) == part.shape
    return (x, index, y) if fine else None
