"""Arithmetic: operators, powers, and the parts of complex numbers.

No row mentions broadcasting: the table undoes it for all of them. Every derivative here is taught in school, except at
the edges, as ``x**y`` at x = 0. The rows say what is computed there, the functions below why.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernels import twice
from .table import composed, rule

Array = Any


def zero(g: Array) -> Array:
    """The derivative of piecewise constant functions (floor, sign): 0, also at the jumps."""
    return np.zeros_like(g)


def over(x: Array, r: Array, limit: float = 0) -> Array:
    """``x / r``, and 0 where r is 0: a subgradient where a length vanishes, and no NaN in later derivatives either.
    ``limit``: another value there.

    >>> over(np.array([0.0, 3.0]), np.array([0.0, 5.0]))
    array([0. , 0.6])
    """
    return np.where(r == 0, limit, x / np.where(r == 0, 1, r))


def near_zero(x: Array, limit: float, series: Callable[[Array], Array], formula: Callable[[Array], Array]) -> Array:
    """``formula``; for x below ``limit`` in size, where it would subtract equal numbers, its power series.

    Each is computed from harmless numbers where the other one is used, so there is no NaN, not in derivatives either.

    >>> near_zero(np.array([0.0, 1.0]), 0.5, lambda x: 1 + x / 2, lambda x: np.expm1(x) / x)
    array([1.        , 1.71828183])
    """
    near = np.absolute(x) < limit
    return np.where(near, series(np.where(near, x, 0)), formula(np.where(near, 1, x)))


def power_series(x: Array, coefficients: list[float]) -> Array:
    """Σₖ cₖ xᵏ, by Horner's scheme."""
    total: Array = coefficients[-1] + 0 * x
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def slope_of_power(x: Array, y: Array) -> Array:
    """∂(xʸ)/∂x = y xʸ⁻¹; for the exponent 0 it is 0, also at x = 0, where 0 · 0⁻¹ would be NaN.

    At x = 0 the formula gives what calculus says: 0 for y > 1, 1 for y = 1, ∞ for 0 < y < 1.

    >>> slope_of_power(np.zeros(3), np.array([0.0, 1.0, 3.0]))
    array([0., 1., 0.])
    """
    if isinstance(y, (int, float)):  # a single exponent: 2 * x and NumPy's shortcuts for x**2, x**-1 are much faster
        if y == 0:
            return np.zeros_like(x)
        return twice(x) if y == 2 else y * x ** (y - 1)
    return y * np.where((x == 0) & (y == 0), 1, x) ** (y - 1)


def slope_in_exponent(x: Array, z: Array) -> Array:
    """∂(xʸ)/∂y = xʸ log x. Where xʸ is 0 so is this (x log x → 0); for negative x it is NaN.

    0⁰ is 1, and 0 to any small power is 0: at x = y = 0 it is −∞. (JAX and PyTorch say 0.)

    >>> slope_in_exponent(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    array([0., 0.])
    """
    if isinstance(x, (int, float)) and x > 0:
        return z * math.log(x)
    return z * np.log(np.where(z == 0, np.ones_like(z), x))  # ones of z's dtype: a complex power has a complex log


# fmt: off
rule(np.add,          "x y", "+",    r"$x + $y",                 x=lambda g: g,        y=lambda g: g, precedence=1)
rule(np.subtract,     "x y", "−",    r"$x - $y",                 x=lambda g: g,        y=lambda g: -g, precedence=1)
rule(np.multiply,     "x y", "×",    r"$x \odot $y",             x=lambda g, y: g * y, y=lambda g, x: g * x,
     precedence=2)
rule(np.divide,       "x y", "÷",    r"\frac{$x}{$y}",           x=lambda g, y: g / y, y=lambda g, y, z: g * z / -y,
     domain=(0.5, 2.0))
rule(np.positive,     "x",   "+",    r"$x",                      x=lambda g: g)
rule(np.negative,     "x",   "−",    r"-$x",                     x=lambda g: -g, precedence=3)
rule(np.reciprocal,   "x",   "1/",   r"\frac{1}{$x}",            x=lambda g, z: g * (z * -z), domain=(0.5, 2.0))
rule(np.square,       "x",   "²",    r"$x^{2}",                  x=lambda g, x: g * twice(x), precedence=4)
rule(np.power,        "x y", "^",    r"$x^{$y}",                 x=lambda g, x, y: g * slope_of_power(x, y),
                                                                 y=lambda g, x, z: g * slope_in_exponent(x, z),
     precedence=4, domain=(0.5, 2.0), operator=operator.pow)
rule(np.float_power,  "x y", "^",    r"$x^{$y}",                 x=lambda g, x, y: g * slope_of_power(x, y),
                                                                 y=lambda g, x, z: g * slope_in_exponent(x, z),
     precedence=4, domain=(0.5, 2.0))

# x = quotient · y + remainder, and the quotient is constant between its jumps
rule(np.floor_divide, "x y", "//",   r"\left\lfloor \frac{$x}{$y} \right\rfloor", x=zero, y=zero, domain=(0.6, 0.9))
rule(np.remainder,    "x y", "%",    r"$x \bmod $y",             x=lambda g: g,
     y=lambda g, x, y: g * -np.floor_divide(x, y),
     precedence=2, domain=(0.6, 0.9))
rule(np.fmod,         "x y", "fmod", r"\operatorname{fmod}\left($x, $y\right)", x=lambda g: g,
     y=lambda g, x, y, z: g * np.rint((z - x) / y), domain=(0.6, 0.9))

# real functions of complex numbers z = a + ib; their gradient is dL/da + i dL/db
rule(np.conjugate,    "x",   "conj", r"\overline{$x}",           x=lambda g: np.conjugate(g), holomorphic=False)
rule(np.real,         "x",   "re",   r"\operatorname{Re} $x",
     x=lambda g, x_dtype: g + 0j if x_dtype.kind == "c" else g, holomorphic=False,
     precedence=3, view=True, compute=lambda x: np.real(x)[...])  # [...]: a view of real numbers, too, not x itself
rule(np.imag,         "x",   "im",   r"\operatorname{Im} $x",
     x=lambda g, x_dtype: g * 1j if x_dtype.kind == "c" else zero(g), holomorphic=False,
     precedence=3, view=True)
# fmt: on


def angle_x(g: Array, x: Array, deg: bool) -> Array:
    """Turning by dφ moves x by i x dφ, so ∂φ/∂x = i x / |x|²; 0 at x = 0, and for real x, whose angle is 0 or π."""
    if x.dtype.kind != "c":
        return zero(g)
    r = np.absolute(x)
    return (np.degrees(g) if deg else g) * (1j * over(over(x, r), r))


rule(np.angle, "x | deg=False", "arg", r"\arg $x", x=angle_x, holomorphic=False, precedence=3)


@composed(np.divmod)
def divmod_(x: Array, y: Array) -> tuple[Array, Array]:
    """``np.divmod``: two operations, each with its own row."""
    return x // y, x % y
