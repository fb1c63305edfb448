"""Functions that choose, round or look at the sign. They have kinks and jumps, where calculus has no answer.

The answers here, the same everywhere: equal arguments of maximum and minimum share the gradient; inside means inside
the closed interval; at a jump the derivative is 0, as it is on both sides; the derivative of the absolute value at 0
is the mean of its two sides, 0. In every case what goes to all operands together is the gradient that came in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NoRuleError
from .arithmetic import over, zero
from .table import rule
from .versions import CLIP, functions

Array = Any


def split_ties(g: Array, halves: Array) -> Array:
    """``g`` for the argument that wins, half of it for each of two that are equal."""
    return 0.5 * g * halves


# How many halves go to an argument: 2 if it is above the other, 1 if it is level with it, else 0, as where there is a
# NaN. Counted in bytes, which is faster than np.where.
HIGHER = {
    "x": lambda x, y: (x > y).astype(np.int8) + (x >= y),
    "y": lambda x, y: (y > x).astype(np.int8) + (y >= x),
}
LOWER = {"x": HIGHER["y"], "y": HIGHER["x"]}  # x is below y where y is above x
# A NaN loses against a number; v != v says that v is NaN.
HIGHER_NUMBER = {
    "x": lambda x, y: ((x > y) | (y != y)).astype(np.int8) + ((x >= y) | (y != y)),
    "y": lambda x, y: ((y > x) | (x != x) & (y == y)).astype(np.int8) + ((y >= x) | (x != x) & (y == y)),
}
LOWER_NUMBER = {
    "x": lambda x, y: ((x < y) | (y != y)).astype(np.int8) + ((x <= y) | (y != y)),
    "y": lambda x, y: ((y < x) | (x != x) & (y == y)).astype(np.int8) + ((y <= x) | (x != x) & (y == y)),
}


def sign_x(g: Array, x: Array, z: Array) -> Array:
    """0; for complex x the sign is x / |x|, and what turns it is the part of g across it, over |x|."""
    if x.dtype.kind != "c":
        return zero(g)
    return over(g - z * np.real(np.conjugate(z) * g), np.absolute(x))


# fmt: off
rule(np.maximum,   "x y", "max",  r"\max\left($x, $y\right)", holomorphic=False, residual=HIGHER,
     x=split_ties, y=split_ties)
rule(np.minimum,   "x y", "min",  r"\min\left($x, $y\right)", holomorphic=False, residual=LOWER,
     x=split_ties, y=split_ties)
rule(np.fmax,      "x y", "fmax", r"\max\left($x, $y\right)", holomorphic=False, residual=HIGHER_NUMBER,
     x=split_ties, y=split_ties)
rule(np.fmin,      "x y", "fmin", r"\min\left($x, $y\right)", holomorphic=False, residual=LOWER_NUMBER,
     x=split_ties, y=split_ties)

rule(np.absolute,  "x",   "abs",  r"\left|$x\right|",         x=lambda g, x: g * np.sign(x), holomorphic=False)
rule(np.fabs,      "x",   "abs",  r"\left|$x\right|",         x=lambda g, x: g * np.sign(x), holomorphic=False)
rule(np.copysign,  "x y", "copysign", r"\left|$x\right| \operatorname{sgn} $y", precedence=2, holomorphic=False,
     x=lambda g, x, z: g * (np.sign(x) * np.sign(z)), y=zero)
rule(np.sign,      "x",   "sign", r"\operatorname{sgn} $x",   x=sign_x, precedence=3, holomorphic=False)
rule(np.heaviside, "x y", "step", r"\operatorname{H}\left($x\right)", x=zero, y=lambda g, x: g * (x == 0),
     holomorphic=False)

rule(np.floor,     "x",   "⌊ ⌋",   r"\left\lfloor $x \right\rfloor", x=zero, domain=(0.1, 0.9))
rule(np.ceil,      "x",   "⌈ ⌉",   r"\left\lceil $x \right\rceil",   x=zero, domain=(0.1, 0.9))
rule(np.trunc,     "x",   "trunc", r"\operatorname{trunc} $x", x=zero, precedence=3, domain=(0.1, 0.9))
for fix in functions(np, "fix"):  # NumPy 2.5 warns of it: the same as trunc
    rule(fix,      "x",   "fix",   r"\operatorname{trunc} $x", x=zero,
         precedence=3, domain=(0.1, 0.9), compute=np.trunc)
rule(np.rint,      "x",   "rint",  r"\operatorname{round} $x", x=zero,
     precedence=3, domain=(0.6, 1.4), holomorphic=False)
rule(np.round,     "x | decimals=0", "round", r"\operatorname{round} $x", x=zero,
     precedence=3, domain=(0.6, 1.4), holomorphic=False, also=(np.around,))
# fmt: on


# The next three are the derivatives of clip, whose operands are called as in NumPy: clip(x, min=0, max=1).


def clip_x(g: Array, x: Array, min: Array, max: Array) -> Array:
    """1 inside the closed interval, exact zeros outside: what follows may be infinite there, as the root of 0 is."""
    inside = (True if min is None else x >= min) & (True if max is None else x <= max)
    return np.where(inside, g, 0)


def clip_min(g: Array, x: Array, min: Array, max: Array) -> Array:
    """Below the interval the result is its lower bound; if the bounds are in the wrong order it is always the upper."""
    return np.where((x < min) & (True if max is None else min <= max), g, 0)


def clip_max(g: Array, x: Array, min: Array, max: Array) -> Array:
    """Above the interval the result is its upper bound."""
    return np.where((x > max) | (False if min is None else min > max), g, 0)


rule(np.clip, "x min=None max=None", "clip", r"\operatorname{clip}\left($x, $min, $max\right)",
     x=clip_x, min=clip_min, max=clip_max, elementwise=True, holomorphic=False, also=(CLIP,))  # fmt: skip


def where_x(g: Array, c: Array) -> Array:
    """g where the condition holds, exact zeros elsewhere: what was not chosen has no part in the result.

    That alone does not keep NaN away. In ``where(x > 0, log(x), 0)`` the logarithm receives 0 at x = 0, and sends
    on 0 · log'(0) = 0 · ∞ = NaN: the chain rule has it so. Choose before the logarithm as well as after it,
    or go back ``with af.safe_masking():``, in which a zero gradient stays zero.

    >>> import autoflow as af
    >>> x = af.Variable([0.0, 2.0])
    >>> positive = x > 0
    >>> af.backward(np.where(positive, np.log(np.where(positive, x, 1.0)), 0.0))
    >>> x.grad
    array([0. , 0.5])
    """
    return np.where(c, g, 0)


rule(np.where, "c x y", "where", r"\begin{cases} $x & $c \\ $y & \text{else} \end{cases}",
     x=where_x, y=lambda g, c: np.where(c, 0, g), elementwise=True)  # fmt: skip


def without_nan(x: Array, copy: bool, nan: Any, posinf: Any, neginf: Any) -> Array:
    """``np.nan_to_num``; in place it is refused, as every write into an operand is."""
    if not copy:
        raise NoRuleError("nan_to_num(x, copy=False) would write into x: write x = np.nan_to_num(x)")
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def nan_to_num_x(g: Array, x: Array) -> Array:
    """1 at the numbers, 0 where one was put in; real and imaginary parts each for themselves."""
    if x.dtype.kind != "c":
        return np.where(np.isfinite(x), g, 0)
    real = np.where(np.isfinite(np.real(x)), np.real(g), 0)
    return real + 1j * np.where(np.isfinite(np.imag(x)), np.imag(g), 0)


rule(np.nan_to_num, "x | copy=True nan=0.0 posinf=None neginf=None", "nan→0", r"\operatorname{num} $x",
     compute=without_nan, x=nan_to_num_x, precedence=3, holomorphic=False)  # fmt: skip
