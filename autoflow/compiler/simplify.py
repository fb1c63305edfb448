"""Rules that keep a program small: a call is saved where another value has the same bits.

A recorded backward pass does much that a person would not write down: it multiplies by ones, changes a sign twice,
makes an array of equal numbers to multiply with. Each rule here removes one such thing, and each is exact: no
rule changes a bit of the result, not even of NaN and infinity (a zero may change its sign). So 0 · x is not 0 here
(x may be infinite), and (2x) · 3 is not 6x (it is rounded twice).

What they save is in ``benchmarks/README.md``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .values import Value, layout_of

if TYPE_CHECKING:
    from .program import Program

Array = Any
IDENTITIES = frozenset({np.add, np.multiply, np.maximum, np.minimum})  # of one number they give that number


def commutes(f: Any, x: Value, y: Value) -> bool:
    """f(x, y) = f(y, x)? Then the operands are brought into one order, and equal calls are seen to be equal. (Products
    of complex numbers are excluded: each is a sum of two products, and the processor rounds only one of them.)"""
    complex_ = any([v.dtype is not None and v.dtype.kind == "c" for v in (x, y)])
    return f in (np.add, np.multiply) and not complex_


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative; None means all.

    >>> axes_of(None, 2), axes_of(-1, 2), axes_of((1, 0), 2)
    ((0, 1), (1,), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        axis = (axis,)
    return tuple(sorted([int(a) % max(ndim, 1) for a in axis])) if ndim else ()


def number_in(x: Value) -> float | None:
    """The one number that a real constant holds, else None."""
    if x.kind != "constant" or math.prod(x.shape) != 1:
        return None
    if type(x.sample) is not int and np.asarray(x.sample).dtype.kind != "f":
        return None  # NumPy's integers have no exact opposite: −(3) is 253 in uint8
    return float(np.asarray(x.sample).item())


def unspread(x: Value) -> Value:
    """What ``x`` repeats, if it is only a broadcast: ufuncs broadcast by themselves."""
    return x.args[0] if x.kind == "view" and x.options[0] == "broadcast" else x


def simpler(p: Program, f: Any, args: tuple[Value, ...], sample: Any) -> Value | None:
    """A cheaper value with the bits of ``f(*args)``; None if there is none."""
    if all([a.kind == "constant" for a in args]):
        return p.constant(sample)
    spread = tuple([unspread(a) for a in args])
    if spread != args:
        value = p.ufunc(f, spread)
        found = value if value.shape == sample.shape else p.broadcast(value, sample.shape, sample)
        if found is not value or same_kind(found, sample):
            return found
    of_floats = sample.dtype.kind == "f" and all([a.dtype in (sample.dtype, None) for a in args])
    found_by_rule = RULES[f](p, *args) if of_floats and f in RULES else None
    return found_by_rule if found_by_rule is not None and same_kind(found_by_rule, sample) else None


def same_kind(x: Value, sample: Any) -> bool:
    """Has x the shape and dtype of the sample, and its order of axes in memory, in which sums add?"""
    return x.shape == sample.shape and x.dtype == sample.dtype and x.layout == layout_of(sample) and x.is_dense


def negated_operand(x: Value) -> Value | None:
    """y, if ``x`` is −y."""
    return x.args[0] if x.kind == "ufunc" and x.function is np.negative else None


def opposite(p: Program, x: Value) -> Value:
    """−c, of the type of c: a Python number remains one."""
    return p.constant(-x.sample)


def multiply(p: Program, x: Value, y: Value) -> Value | None:
    """1 · y = y; −1 · y = −y; c · −y = −c · y; x · x = x²; signs move outwards, where they meet others and cancel."""
    for a, b in ((x, y), (y, x)):
        number = number_in(a)
        if number == 1:
            return b
        if number == -1:
            return p.ufunc(np.negative, (b,))
        if number is not None and (positive := negated_operand(b)) is not None:
            return p.ufunc(np.multiply, (opposite(p, a), positive))
    for a, b in ((x, y), (y, x)):
        if (positive := negated_operand(a)) is not None:
            return p.ufunc(np.negative, (p.ufunc(np.multiply, (positive, b)),))
    return p.ufunc(np.square, (x,)) if x is y else None


def divide(p: Program, x: Value, y: Value) -> Value | None:
    """x / 1 = x; signs move outwards."""
    if number_in(y) == 1:
        return x
    if number_in(y) == -1:
        return p.ufunc(np.negative, (x,))
    if (positive := negated_operand(x)) is not None:
        if number_in(y) is not None:
            return p.ufunc(np.divide, (positive, opposite(p, y)))
        return p.ufunc(np.negative, (p.ufunc(np.divide, (positive, y)),))
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.negative, (p.ufunc(np.divide, (x, positive)),))
    return None


def add(p: Program, x: Value, y: Value) -> Value | None:
    """x + x = 2 x; x + −y = x − y."""
    if x is y:
        return p.ufunc(np.multiply, (p.constant(2.0), x))
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.subtract, (x, positive))
    if (positive := negated_operand(x)) is not None:
        return p.ufunc(np.subtract, (y, positive))
    return None


def subtract(p: Program, x: Value, y: Value) -> Value | None:
    """x − −y = x + y; −x − x = −2 x."""
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.add, (x, positive))
    if negated_operand(x) is y:
        return p.ufunc(np.multiply, (p.constant(-2.0), y))
    return None


def negative(p: Program, x: Value) -> Value | None:
    """−−x = x; −(c · x) = −c · x."""
    if x.kind == "ufunc" and x.function is np.multiply:
        for a, b in (x.args, x.args[::-1]):
            if number_in(a) is not None:
                return p.ufunc(np.multiply, (opposite(p, a), b))
    return negated_operand(x)


def square(p: Program, x: Value) -> Value | None:
    """(−x)² = x²."""
    positive = negated_operand(x)
    return None if positive is None else p.ufunc(np.square, (positive,))


def positive(p: Program, x: Value) -> Value | None:
    """+x = x."""
    return x


RULES: dict[Any, Any] = {
    np.multiply: multiply,
    np.divide: divide,
    np.add: add,
    np.subtract: subtract,
    np.negative: negative,
    np.square: square,
    np.positive: positive,
}
