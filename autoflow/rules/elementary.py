"""Elementary functions: roots, exponentials and logarithms, trigonometric, hyperbolic, and their inverses.

How to read a row: ``x=lambda g, z: g * z`` says that exp is its own derivative, and that only its result is kept.
Where a derivative can be written with x or with z, the row takes what needs less memory, then less work. An inverse
function has one over the derivative of the function, taken at the result: arccosh z' = 1 / sinh z. That form is
also right on the whole complex plane, where √(x² − 1) would be on the wrong branch for half of it.

At the ends of a domain the derivative is the true limit: roots at 0, arcsin and arctanh at ±1, arccosh at 1 are
infinitely steep. At the origin hypot and arctan2 have no direction, and their derivative is 0 (:func:`over`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import near_zero, over, power_series
from .kernels import one_minus_square
from .shapes import is_on_host
from .table import primitive, rule

Array = Any
LN2, LN10 = math.log(2.0), math.log(10.0)  # Python floats: they leave float32 alone


def share_of_logaddexp(g: Array, x: Array, y: Array, z: Array, exp: Any) -> Array:
    """∂ log(eˣ + eʸ)/∂x = eˣ⁻ᶻ, which never overflows. All of it to the x that is z; half each if both are.

    x = z happens when x is infinite (then x − z would be NaN), or so much larger than y that y does not count. That is
    rare, so it is checked first.
    """
    if is_on_host(z) and not (x == z).any():
        return g * exp(x - z)
    return np.where((x == z) & (y == z), 0.5 * g, g) * exp(np.where(x == z, 0, x - z))


# fmt: off
rule(np.sqrt,       "x",   "√",       r"\sqrt{$x}",             x=lambda g, z: g / (2 * z), domain=(0.5, 2.0))
rule(np.cbrt,       "x",   "∛",       r"\sqrt[3]{$x}",          x=lambda g, z: g / (3 * (z * z)), domain=(0.5, 2.0))
rule(np.hypot,      "x y", "hypot",   r"\sqrt{{$x}^2 + {$y}^2}", x=lambda g, x, z: g * over(x, z),
                                                                y=lambda g, y, z: g * over(y, z),
     domain=(0.5, 2.0))

rule(np.exp,        "x",   "exp",     r"e^{$x}",                x=lambda g, z: g * z, precedence=4)
rule(np.exp2,       "x",   "2^",      r"2^{$x}",                x=lambda g, z: g * (LN2 * z), precedence=4)
rule(np.expm1,      "x",   "expm1",   r"e^{$x} - 1",            x=lambda g, z: g * (z + 1), precedence=1)
rule(np.log,        "x",   "log",     r"\log $x",               x=lambda g, x: g / x, precedence=3, domain=(0.5, 2.0))
rule(np.log2,       "x",   "log2",    r"\log_2 $x",             x=lambda g, x: g / (LN2 * x),
     precedence=3, domain=(0.5, 2.0))
rule(np.log10,      "x",   "log10",   r"\log_{10} $x",          x=lambda g, x: g / (LN10 * x),
     precedence=3, domain=(0.5, 2.0))
rule(np.log1p,      "x",   "log1p",   r"\log\left(1 + $x\right)", x=lambda g, x: g / (1 + x), domain=(-0.5, 2.0))
rule(np.logaddexp,  "x y", "logaddexp", r"\log\left(e^{$x} + e^{$y}\right)",
     x=lambda g, x, y, z: share_of_logaddexp(g, x, y, z, np.exp),
     y=lambda g, x, y, z: share_of_logaddexp(g, y, x, z, np.exp))
rule(np.logaddexp2, "x y", "logaddexp2", r"\log_2\left(2^{$x} + 2^{$y}\right)",
     x=lambda g, x, y, z: share_of_logaddexp(g, x, y, z, np.exp2),
     y=lambda g, x, y, z: share_of_logaddexp(g, y, x, z, np.exp2))

rule(np.sin,        "x",   "sin",     r"\sin $x",               x=lambda g, x: g * np.cos(x), precedence=3)
rule(np.cos,        "x",   "cos",     r"\cos $x",               x=lambda g, x: g * -np.sin(x), precedence=3)
rule(np.tan,        "x",   "tan",     r"\tan $x",               x=lambda g, z: g * (1 + z * z),
     precedence=3, domain=(-1.2, 1.2))
rule(np.arcsin,     "x",   "arcsin",  r"\arcsin $x",            x=lambda g, x: g / cosine_of_arcsine(x),
     precedence=3, domain=(-0.9, 0.9))
rule(np.arccos,     "x",   "arccos",  r"\arccos $x",            x=lambda g, x: -g / cosine_of_arcsine(x),
     precedence=3, domain=(-0.9, 0.9))
rule(np.arctan,     "x",   "arctan",  r"\arctan $x",            x=lambda g, x: g / (1 + x * x), precedence=3)
rule(np.arctan2,    "x y", "arctan2", r"\operatorname{arctan2}\left($x, $y\right)",
     x=lambda g, x, y: g * slope_of_angle(y, x), y=lambda g, x, y: g * -slope_of_angle(x, y),
     domain=(0.5, 2.0))

rule(np.sinh,       "x",   "sinh",    r"\sinh $x",              x=lambda g, x: g * np.cosh(x), precedence=3)
rule(np.cosh,       "x",   "cosh",    r"\cosh $x",              x=lambda g, x: g * np.sinh(x), precedence=3)
rule(np.tanh,       "x",   "tanh",    r"\tanh $x",              x=lambda g, z: g * one_minus_square(z), precedence=3)
rule(np.arcsinh,    "x",   "arcsinh", r"\operatorname{arsinh} $x", x=lambda g, z: g / np.cosh(z), precedence=3)
rule(np.arccosh,    "x",   "arccosh", r"\operatorname{arcosh} $x", x=lambda g, z: g / np.sinh(z),
     precedence=3, domain=(1.2, 3.0))
rule(np.arctanh,    "x",   "arctanh", r"\operatorname{artanh} $x", x=lambda g, x: g / ((1 - x) * (1 + x)),
     precedence=3, domain=(-0.9, 0.9))

rule(np.degrees,    "x",   "deg",     r"\tfrac{180}{\pi} $x",   x=lambda g: np.degrees(g),
     precedence=2, also=(np.rad2deg,), domain=(-0.05, 0.05))
rule(np.radians,    "x",   "rad",     r"\tfrac{\pi}{180} $x",   x=lambda g: np.radians(g),
     precedence=2, also=(np.deg2rad,))
# fmt: on


def cosine_of_arcsine(x: Array) -> Array:
    """√(1 − x²): accurate near ±1 if x is real, and of the right sign on the branch cuts if it is complex."""
    return np.cos(np.arcsin(x)) if np.iscomplexobj(x) else np.sqrt((1 - x) * (1 + x))


def slope_of_angle(x: Array, y: Array) -> Array:
    """x / (x² + y²), without squares that overflow; 0 at the origin, where there is no direction."""
    r = np.hypot(x, y)
    return over(over(x, r), r)


def slope_of_sinc(x: Array) -> Array:
    """The derivative of sin(t) / t with t = πx, by x: π (cos t − sin(t) / t) / t; near t = 0 its power series.

    There the formula subtracts equal numbers, and at 0 it is 0 / 0; the series (eight terms, |t| < 1/2) is right
    to the last digit, and so are its derivatives: the second one of sinc at 0 is −π²/3.
    """
    signed = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9)]  # Σₖ (−1)ᵏ 2k / (2k + 1)! t²ᵏ⁻¹
    return math.pi * near_zero(
        math.pi * x, 0.5, lambda t: t * power_series(t * t, signed), lambda t: (np.cos(t) - np.sin(t) / t) / t
    )


@primitive
def i0_derivative(x: Array, order: int) -> Array:
    """The derivative of that order of the Bessel function I₀, np.i0. The first one is I₁.

    I₀(x) is the mean of exp(x cos θ) over a half turn, so each derivative brings down another cos θ. The mean over
    128 equal steps is exact to the last digit for every x that does not overflow; two steps at ±cos θ make a cosh or
    a sinh. (DLMF 10.32.1; convergence: Trefethen and Weideman, SIAM Review 56, 2014.)

    >>> i0_derivative(np.array([0.0, 1.0]), 1)
    array([0.       , 0.5651591])
    """
    pair = np.sinh if order % 2 else np.cosh
    total = np.zeros_like(x)
    for k in range(64):
        c = math.cos(math.pi * (k + 0.5) / 128)
        total = total + c**order * pair(c * x)
    return total / 64


rule(np.sinc, "x", "sinc", r"\operatorname{sinc} $x", x=lambda g, x: g * slope_of_sinc(x), precedence=3)
rule(np.i0, "x", "I₀", r"I_0\left($x\right)", x=lambda g, x: g * i0_derivative(x, 1))
rule(i0_derivative, "x | order", "I₀⁽ⁿ⁾", r"I_0^{($order)}\left($x\right)",
     x=lambda g, x, order: g * i0_derivative(x, order + 1))  # fmt: skip
