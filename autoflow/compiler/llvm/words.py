"""NumPy's elementwise functions in LLVM's words: one row each, for numbers and for vectors of them.

A row says for which kinds of dtype it holds ("f" floats, "i" integers, "b" booleans) and writes the lines. Each gives
what NumPy gives, bit for bit but for exp, log, tanh, sin, cos (``functions.py``); no row lets LLVM reorder or contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .functions import HELPERS
from .text import Text, constant, suffix_of, type_of

Row = Callable[[Text, str, int, list[str]], str]  # text, scalar type, width, operands -> the result
ROWS: dict[Any, tuple[str, Row]] = {}


def is_float(scalar: str) -> bool:
    """Of LLVM's types."""
    return scalar in ("double", "float")


def instruction(for_floats: str, for_integers: str = "") -> Row:
    """One instruction of two operands."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        return t.let(f"{for_floats if is_float(s) else for_integers} {type_of(s, w)} {a[0]}, {a[1]}")

    return row


def intrinsic(name: str) -> Row:
    """A function of LLVM's that becomes one instruction."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        kind = type_of(s, w)
        return t.call(kind, f"llvm.{name}.{suffix_of(s, w)}", *[(kind, x) for x in a])

    return row


def helper(name: str) -> Row:
    """A function of ours; of float32 in float64, rounded once. In programs of numbers the C library's: there one result
    waits for another, and its tables are twice as quick as a polynomial (af.compile(f, own_functions=True) says no)."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        if t.numbers and s == "double" and not t.own_functions:
            return t.call(s, name, (s, a[0]))
        t.helpers.add((name, w))
        kind = type_of("double", w)
        if s == "double":
            return t.let(f"call {kind} @{name}.{w}({kind} {a[0]})")
        wide = t.let(f"fpext {type_of(s, w)} {a[0]} to {kind}")
        return t.let(f"fptrunc {kind} {t.let(f'call {kind} @{name}.{w}({kind} {wide})')} to {type_of(s, w)}")

    return row


def compare(for_floats: str, for_integers: str) -> Row:
    """A comparison, which is false of NaN (≠ is true)."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        word = f"fcmp {for_floats}" if is_float(s) else f"icmp {for_integers}"
        return t.let(f"{word} {type_of(s, w)} {a[0]}, {a[1]}")

    return row


def select(t: Text, s: str, w: int, condition: str, x: str, y: str) -> str:
    """x where the condition holds, else y."""
    kind = type_of(s, w)
    return t.let(f"select {type_of('i1', w)} {condition}, {kind} {x}, {kind} {y}")


def extremum(for_floats: str, for_integers: str, which: int) -> Row:
    """The larger or smaller one; ``which`` operand is taken where it is NaN, or (−1) where it is not."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        kind, (x, y) = type_of(s, w), a
        if not is_float(s):
            return select(t, s, w, t.let(f"icmp {for_integers} {kind} {x}, {y}"), x, y)
        better = t.let(f"fcmp {for_floats} {kind} {x}, {y}")
        nan = x if which == 0 else y
        unknown = t.let(f"fcmp uno {kind} {nan}, {nan}")
        return select(t, s, w, t.let(f"or {type_of('i1', w)} {better}, {unknown}"), x, y)

    return row


def negative(t: Text, s: str, w: int, a: list[str]) -> str:
    """−x."""
    kind = type_of(s, w)
    return t.let(f"fneg {kind} {a[0]}" if is_float(s) else f"sub {kind} {constant(s, 0, w)}, {a[0]}")


def square(t: Text, s: str, w: int, a: list[str]) -> str:
    """x · x."""
    return instruction("fmul", "mul")(t, s, w, [a[0], a[0]])


def reciprocal(t: Text, s: str, w: int, a: list[str]) -> str:
    """1 / x."""
    return t.let(f"fdiv {type_of(s, w)} {constant(s, 1.0, w)}, {a[0]}")


def sign(t: Text, s: str, w: int, a: list[str]) -> str:
    """1, −1, 0; NaN of NaN."""
    kind, (x,), zero = type_of(s, w), a, constant(s, 0.0, w)
    here = select(t, s, w, t.let(f"fcmp oeq {kind} {x}, {zero}"), zero, x)
    here = select(t, s, w, t.let(f"fcmp olt {kind} {x}, {zero}"), constant(s, -1.0, w), here)
    return select(t, s, w, t.let(f"fcmp ogt {kind} {x}, {zero}"), constant(s, 1.0, w), here)


def invert(t: Text, s: str, w: int, a: list[str]) -> str:
    """Not, of booleans."""
    return t.let(f"xor {type_of(s, w)} {a[0]}, {constant(s, 1, w)}")


def isnan(t: Text, s: str, w: int, a: list[str]) -> str:
    """Is it NaN?"""
    return t.let(f"fcmp uno {type_of(s, w)} {a[0]}, {a[0]}")


def against_infinity(word: str) -> Row:
    """|x| = ∞, or |x| < ∞."""

    def row(t: Text, s: str, w: int, a: list[str]) -> str:
        size = intrinsic("fabs")(t, s, w, a)
        return t.let(f"fcmp {word} {type_of(s, w)} {size}, {constant(s, float('inf'), w)}")

    return row


# fmt: off
ROWS.update({
    np.add:           ("fi", instruction("fadd", "add")),
    np.subtract:      ("fi", instruction("fsub", "sub")),
    np.multiply:      ("fi", instruction("fmul", "mul")),
    np.divide:        ("f", instruction("fdiv")),
    np.negative:      ("fi", negative),
    np.positive:      ("fi", lambda t, s, w, a: a[0]),
    np.square:        ("fi", square),
    np.reciprocal:    ("f", reciprocal),
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
    np.equal:         ("fib", compare("oeq", "eq")),
    np.not_equal:     ("fib", compare("une", "ne")),
    np.less:          ("fi", compare("olt", "slt")),
    np.less_equal:    ("fi", compare("ole", "sle")),
    np.greater:       ("fi", compare("ogt", "sgt")),
    np.greater_equal: ("fi", compare("oge", "sge")),
    np.logical_and:   ("b", instruction("", "and")),
    np.logical_or:    ("b", instruction("", "or")),
    np.logical_xor:   ("b", instruction("", "xor")),
    np.bitwise_and:   ("bi", instruction("", "and")),
    np.bitwise_or:    ("bi", instruction("", "or")),
    np.bitwise_xor:   ("bi", instruction("", "xor")),
    np.logical_not:   ("b", invert),
    np.invert:        ("b", invert),
    np.isnan:         ("f", isnan),
    np.isinf:         ("f", against_infinity("oeq")),
    np.isfinite:      ("f", against_infinity("olt")),
})
ROWS.update({getattr(np, name): ("f", helper(name)) for name in HELPERS})
REDUCED: dict[Any, tuple[Row, Any]] = {  # the row that adds one more number, and what one begins with
    np.add:      (ROWS[np.add][1], -0.0),  # −0 + x has the bits of x
    np.multiply: (ROWS[np.multiply][1], 1.0),
    np.maximum:  (ROWS[np.maximum][1], float("-inf")),
    np.minimum:  (ROWS[np.minimum][1], float("inf")),
}
# fmt: on


def cast(t: Text, x: str, old: str, new: str, w: int) -> str:
    """A number of one type as another. Only where nothing can get lost that NumPy would report: not to integers."""
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
