"""The parts of a floating-point number: whole and fraction, mantissa and exponent, the next number there is.

Each part that moves with x has a row; each that jumps (the whole part, the exponent) has the derivative 0 or is plain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import zero
from .shapes import numbers_of
from .table import composed, primitive, rule

Array = Any


@primitive
def fraction(x: Array) -> Array:
    """``np.modf(x)[0]``: the fractional part, with the sign of x."""
    return np.modf(x)[0]


@primitive
def mantissa(x: Array) -> Array:
    """``np.frexp(x)[0]``: x = mantissa · 2ᵉ with a mantissa from 1/2 to 1."""
    return np.frexp(x)[0]


@primitive
def times_power(x: Array, k: Any) -> Array:
    """``np.ldexp(x, k)`` = x · 2ᵏ; the exponent is an integer and has no derivative."""
    return np.ldexp(x, k)


def mantissa_x(g: Array, x: Array) -> Array:
    """2⁻ᵉ, with the exponent of x."""
    return np.ldexp(g, -np.frexp(numbers_of(x))[1])


rule(fraction, "x", "frac", r"\operatorname{frac} $x", x=lambda g: g, name="modf", elementwise=True, holomorphic=False,
     domain=(0.1, 0.9))  # fmt: skip
rule(mantissa, "x", "mantissa", r"\operatorname{mantissa} $x", x=mantissa_x, name="frexp", elementwise=True,
     holomorphic=False, domain=(0.51, 0.99))  # fmt: skip
rule(times_power, "x | k", "2ᵏ", r"$x \cdot 2^{$k}", x=lambda g, k: np.ldexp(g, k), name="ldexp", elementwise=True,
     holomorphic=False, precedence=2)  # fmt: skip
rule(np.nextafter, "x y", "next", r"\operatorname{next}\left($x, $y\right)", x=lambda g: g, y=zero, holomorphic=False)


@composed(np.modf)
def modf(x: Array) -> tuple[Array, Array]:
    """The fraction and the whole part."""
    return fraction(x), np.trunc(x)


@composed(np.frexp)
def frexp(x: Array) -> tuple[Array, Array]:
    """The mantissa, and the exponent as a plain array."""
    return mantissa(x), np.frexp(numbers_of(x))[1]


@composed(np.ldexp)
def ldexp(x: Any, k: Any) -> Array:
    """x · 2ᵏ."""
    return times_power(x, numbers_of(k))
