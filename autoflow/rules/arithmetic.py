"""Elementwise functions of one or two numbers: arithmetic, elementary functions, comparisons, parts of a float.

No row mentions broadcasting: the table undoes it for all of them. The derivatives are taught in school, except at the
edges, such as ``x**y`` at x = 0. The rows say what is computed there, the functions beside them why. Read a row like
this: ``x=lambda g, z: g * z`` says that exp is its own derivative, and that only its result is kept. Where a derivative
can be written with x or with z, the row takes what needs less memory, then less work.

Arithmetic: operators, powers, and the parts of complex numbers.

Elementary functions: roots, exponentials and logarithms, trigonometric and hyperbolic functions, and their inverses.
The derivative of an inverse is one over the derivative of the function, taken at the result: arccosh z' = 1 / sinh z.
That form is also right on the whole complex plane, where √(x² − 1) would be on the wrong branch for half of it. At the
ends of a domain the derivative is the true limit: roots at 0, arcsin and arctanh at ±1, arccosh at 1 are infinitely
steep. At the origin hypot and arctan2 have no direction, and their derivative is 0 (:func:`over`).

Functions that choose, round or look at the sign have kinks and jumps, where calculus has no answer. The answers here
are the same everywhere: equal arguments of maximum and minimum share the gradient; inside means inside the closed
interval; at a jump the derivative is 0, as it is on both sides; the derivative of the absolute value at 0 is the mean
of its two sides, 0. In every case what goes to all operands together is the gradient that came in.

Parts of a floating-point number (whole and fraction, mantissa and exponent, the next number there is): a part that
moves with x has a row; one that jumps (the whole part, the exponent) has the derivative 0 or is plain.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.kernels import one_minus_square, twice
from ..table.shapes import CLIP, AnyFunction, Array, as_dtype, functions, innermost, is_on_host, numbers_of
from ..table.table import composed, primitive, rule

# ---------------------------------------------------------------- arithmetic


def zero(g: Array) -> Array:
    """The derivative of piecewise constant functions (floor, sign): 0, also at the jumps."""
    return np.zeros_like(g)


def over(x: Array, r: Array, limit: float = 0) -> Array:
    """``x / r``, and 0 where r is 0: a subgradient where a length vanishes, and no NaN in later derivatives either.
    ``limit``: another value there. (If g is infinite, that is not enough: see :func:`times_share`.)

    >>> over(np.array([0.0, 3.0]), np.array([0.0, 5.0]))
    array([0. , 0.6])
    """
    return np.where(r == 0, limit, x / np.where(r == 0, 1, r))


def branch(near: Array, x: Array, f: Any, g: Any, harmless: tuple[float, float] = (0, 1)) -> Array:
    """f(x) where ``near``, else g(x). Where f or g is not used, it is computed from its ``harmless`` number, so that no
    NaN arises there, nor in derivatives."""
    return np.where(near, f(np.where(near, x, harmless[0])), g(np.where(near, harmless[1], x)))


def near_zero(x: Array, limit: float, series: Callable[[Array], Array], formula: Callable[[Array], Array]) -> Array:
    """``formula``; for x below ``limit`` in size, where it would subtract equal numbers, its power series.

    >>> near_zero(np.array([0.0, 1.0]), 0.5, lambda x: 1 + x / 2, lambda x: np.expm1(x) / x)
    array([1.        , 1.71828183])
    """
    return branch(np.absolute(x) < limit, x, series, formula)


def power_series(x: Array, coefficients: list[float]) -> Array:
    """Σₖ cₖ xᵏ, by Horner's scheme."""
    total: Array = coefficients[-1] + 0 * x
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


HELD = 2048  # up to this size half precision can tell a whole number from its neighbours


def slope_of_power(x: Array, y: Array) -> Array:
    """∂(xʸ)/∂x = y xʸ⁻¹; for the exponent 0 it is 0, also at x = 0 and near it, where 0 · x⁻¹ would be NaN.

    At x = 0 the formula gives what calculus says: 0 for y > 1, 1 for y = 1, ∞ for 0 < y < 1. The 1 in y − 1 has the
    precision of x: the dtype of a small or unsigned integer y might not hold the difference.

    >>> slope_of_power(np.zeros(3), np.array([0.0, 1.0, 3.0]))
    array([0., 1., 0.])
    """
    if isinstance(y, (int, float)):  # a single exponent: 2 * x and NumPy's shortcuts for x**2, x**-1 are much faster
        if y == 0:
            return np.zeros_like(x)
        if -HELD < y < HELD:
            return twice(x) if y == 2 else y * x ** (y - 1)
    one, largest = np.finfo(x.dtype).dtype.type(1), np.finfo(x.dtype).max
    lower = np.where((numbers_of(y) == 0) & (np.absolute(numbers_of(x)) < 1 / largest), 1, x) ** (y - one)
    if "c" in (x.dtype.kind, lower.dtype.kind) or (is_on_host(y) and not np.any(np.absolute(numbers_of(y)) >= HELD)):
        return y * lower
    rounded = numbers_of(y) - (numbers_of(y) - one) != one  # y is even, and y - 1, which is odd, becomes an even number
    return y * np.where(rounded & (np.absolute(numbers_of(y)) >= HELD) & (numbers_of(x) < 0), -lower, lower)


def slope_in_exponent(x: Array, z: Array) -> Array:
    """∂(xʸ)/∂y = xʸ log x. Where xʸ is 0 so is this (x log x → 0); for negative x it is NaN.

    0⁰ is 1, and 0 to any small power is 0: at x = y = 0 it is −∞. (JAX and PyTorch say 0.)

    >>> slope_in_exponent(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    array([0., 0.])
    """
    if isinstance(x, (int, float)) and 0 < x < math.inf:
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
rule(np.negative,     "x",   "−",    r"-$x",                     x=lambda g: -g)
rule(np.reciprocal,   "x",   "1/",   r"\frac{1}{$x}",            x=lambda g, z: g * (z * -z), domain=(0.5, 2.0))
rule(np.square,       "x",   "²",    r"$x^{2}",                  x=lambda g, x: g * twice(x), precedence=4)
rule(np.power,        "x y", "^",    r"$x^{$y}",                 x=lambda g, x, y: g * slope_of_power(x, y),
                                                                 y=lambda g, x, z: g * slope_in_exponent(x, z),
     precedence=4, domain=(0.5, 2.0), operator=operator.pow)
rule(np.float_power,  "x y", "^",    r"$x^{$y}",                 # computed in double precision at least
     x=lambda g, x, y: g * slope_of_power(as_dtype(x, np.promote_types(g.dtype, float)), y),
                                                                 y=lambda g, x, z: g * slope_in_exponent(x, z),
     precedence=4, domain=(0.5, 2.0))

# x = quotient · y + remainder, and the quotient is constant between its jumps
rule(np.floor_divide, "x y", "//",   r"\left\lfloor \frac{$x}{$y} \right\rfloor", x=zero, y=zero, domain=(0.6, 0.9))
rule(np.remainder,    "x y", "%",    r"$x \bmod $y",             x=lambda g: g,
     y=lambda g, x, y: g * -np.floor_divide(x, y), precedence=2, domain=(0.6, 0.9))
rule(np.fmod, "x y", x=lambda g: g, y=lambda g, x, y, z: g * np.rint((z - x) / y), domain=(0.6, 0.9))

# real functions of complex numbers z = a + ib; their gradient is dL/da + i dL/db
rule(np.conjugate,    "x",   "conj", r"\overline{$x}",           x=lambda g: np.conjugate(g), holomorphic=False)
rule(np.real,         "x",   "re",   r"\operatorname{Re} $x",
     x=lambda g, x_dtype: g + 0j if x_dtype.kind == "c" else g, holomorphic=False, view=True,
     compute=lambda x: np.real(x)[...])  # [...]: a view of real numbers, too, not x itself
rule(np.imag,         "x",   "im",   r"\operatorname{Im} $x",
     x=lambda g, x_dtype: g * 1j if x_dtype.kind == "c" else zero(g), holomorphic=False, view=True)
# fmt: on


def angle_x(g: Array, x: Array, deg: bool) -> Array:
    """A turn by dφ moves x by i x dφ, so ∂φ/∂x = i x / |x|²; 0 at x = 0, and for real x, whose angle is 0 or π."""
    if x.dtype.kind != "c":
        return zero(g)
    r = np.absolute(x)
    return times_share(np.degrees(g) if deg else g, 1j * over(over(x, r), r))


rule(np.angle, "x | deg=False", "arg", r"\arg $x", x=angle_x, holomorphic=False)


@composed(np.divmod)
def divmod_(x: Array, y: Array) -> tuple[Array, Array]:
    """``np.divmod``: two operations, each with its own row."""
    return x // y, x % y


# ---------------------------------------------------------------- elementary functions


LN2, LN10 = math.log(2.0), math.log(10.0)  # Python floats: they leave float32 alone


def exp_above(x: Array, z: Array, exp: Any) -> Array:
    """eˣ⁻ᶻ, where z is the logarithm of a sum with eˣ in it: that never overflows. 1 if both are the same infinity.
    In a share eˣ⁻ᶻ / Σ eˣ⁻ᶻ z cancels out, and with it the rounding of a large z."""
    if is_on_host(z) and np.isfinite(numbers_of(z)).all():
        return exp(x - z)
    return exp(np.where((x == z) & (np.absolute(z) == np.inf), 0, x - z))


def share_of_logaddexp(g: Array, x: Array, y: Array, z: Array, exp: AnyFunction) -> Array:
    """∂ log(eˣ + eʸ)/∂x = eˣ / (eˣ + eʸ); half each if both are the same infinity."""
    x, y = exp_above(x, z, exp), exp_above(y, z, exp)
    return g * (x / (x + y))


# fmt: off
rule(np.sqrt,       "x",   "√",       r"\sqrt{$x}",             x=lambda g, z: g / (2 * z), domain=(0.5, 2.0))
rule(np.cbrt,       "x",   "∛",       r"\sqrt[3]{$x}",          x=lambda g, z: g / (3 * (z * z)), domain=(0.5, 2.0))
rule(np.hypot,      "x y", "hypot",   r"\sqrt{{$x}^2 + {$y}^2}", x=lambda g, x, z: times_share(g, over(x, z)),
                                                                y=lambda g, y, z: times_share(g, over(y, z)),
     domain=(0.5, 2.0))

rule(np.exp,        "x",   "exp",     r"e^{$x}",                x=lambda g, z: g * z, precedence=4)
rule(np.exp2,       "x",   "2^",      r"2^{$x}",                x=lambda g, z: g * (LN2 * z), precedence=4)
rule(np.expm1,      "x",   "expm1",   r"e^{$x} - 1",            x=lambda g, x: g * np.exp(x), precedence=1)
rule(np.log,        "x",   "log",     r"\log $x",               x=lambda g, x: g / x, domain=(0.5, 2.0))
rule(np.log2,       "x",   "log2",    r"\log_2 $x",             x=lambda g, x: g / (LN2 * x), domain=(0.5, 2.0))
rule(np.log10,      "x",   "log10",   r"\log_{10} $x",          x=lambda g, x: g / (LN10 * x), domain=(0.5, 2.0))
rule(np.log1p,      "x",   "log1p",   r"\log\left(1 + $x\right)", x=lambda g, x: g / (1 + x), domain=(-0.5, 2.0))
rule(np.logaddexp,  "x y", "logaddexp", r"\log\left(e^{$x} + e^{$y}\right)",
     x=lambda g, x, y, z: share_of_logaddexp(g, x, y, z, np.exp),
     y=lambda g, x, y, z: share_of_logaddexp(g, y, x, z, np.exp))
rule(np.logaddexp2, "x y", "logaddexp2", r"\log_2\left(2^{$x} + 2^{$y}\right)",
     x=lambda g, x, y, z: share_of_logaddexp(g, x, y, z, np.exp2),
     y=lambda g, x, y, z: share_of_logaddexp(g, y, x, z, np.exp2))

rule(np.sin,        "x",   "sin",     r"\sin $x",               x=lambda g, x: g * np.cos(x))
rule(np.cos,        "x",   "cos",     r"\cos $x",               x=lambda g, x: g * -np.sin(x))
rule(np.tan,        "x",   "tan",     r"\tan $x",               x=lambda g, z: g * (1 + z * z), domain=(-1.2, 1.2))
rule(np.arcsin,     "x",   "arcsin",  r"\arcsin $x",            x=lambda g, x: g / cosine_of_arcsine(x),
     domain=(-0.9, 0.9))
rule(np.arccos,     "x",   "arccos",  r"\arccos $x",            x=lambda g, x: -g / cosine_of_arcsine(x),
     domain=(-0.9, 0.9))
rule(np.arctan,     "x",   "arctan",  r"\arctan $x",            x=lambda g, x: g / (1 + x * x))
rule(np.arctan2,    "x y",            x=lambda g, x, y: times_share(g, slope_of_angle(y, x)),
     y=lambda g, x, y: times_share(g, -slope_of_angle(x, y)), domain=(0.5, 2.0))

rule(np.sinh,       "x",   "sinh",    r"\sinh $x",              x=lambda g, x: g * np.cosh(x))
rule(np.cosh,       "x",   "cosh",    r"\cosh $x",              x=lambda g, x: g * np.sinh(x))
rule(np.tanh,       "x",   "tanh",    r"\tanh $x",              x=lambda g, z: g * one_minus_square(z))
rule(np.arcsinh,    "x",   "arcsinh", r"\operatorname{arsinh} $x", x=lambda g, z: g / np.cosh(z))
rule(np.arccosh,    "x",   "arccosh", r"\operatorname{arcosh} $x", x=lambda g, z: g / np.sinh(z), domain=(1.2, 3.0))
rule(np.arctanh,    "x",   "arctanh", r"\operatorname{artanh} $x", x=lambda g, x: g / rest_of_square(x),
     domain=(-0.9, 0.9))

rule(np.degrees,    "x",   "deg",     r"\tfrac{180}{\pi} $x",   x=lambda g: np.degrees(g),
     precedence=2, also=(np.rad2deg,), domain=(-0.05, 0.05))
rule(np.radians,    "x",   "rad",     r"\tfrac{\pi}{180} $x",   x=lambda g: np.radians(g),
     precedence=2, also=(np.deg2rad,))
# fmt: on


def cosine_of_arcsine(x: Array) -> Array:
    """√(1 − x²): accurate near ±1 if x is real, and of the right sign on the branch cuts if it is complex."""
    return np.cos(np.arcsin(x)) if np.iscomplexobj(x) else np.sqrt(rest_of_square(x))


@primitive
def rest_of_square(x: Array) -> Array:
    """1 − x², accurate near ±1. It has a row: that of a product would give 0 · ∞ where arcsin is infinitely steep."""
    return (1 - x) * (1 + x)


rule(rest_of_square, "x", "1−x²", r"1 - $x^{2}", x=lambda g, x: g * -twice(x), elementwise=True, precedence=1)


def slope_of_angle(x: Array, y: Array) -> Array:
    """x / (x² + y²), without squares that overflow; 0 at the origin, where there is no direction, and at infinity."""
    r = np.hypot(x, y)
    return np.where(r == np.inf, 0, over(over(x, r), r))


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
        total = total + c**order / 64 * pair(c * x)  # each as small as the mean: half precision overflows late
    return total


rule(np.sinc, "x", x=lambda g, x: g * slope_of_sinc(x))
rule(np.i0, "x", "I₀", r"I_0\left($x\right)", x=lambda g, x: g * i0_derivative(x, 1))
rule(i0_derivative, "x | order", "I₀⁽ⁿ⁾", r"I_0^{($order)}\left($x\right)",
     x=lambda g, x, order: g * i0_derivative(x, order + 1))  # fmt: skip


# ---------------------------------------------------------------- functions that choose, round or look at the sign


def times_share(g: Array, share: Array) -> Array:
    """``g * share``, and 0 where an infinite g meets a share of 0: what follows may be infinite there, as the root of 0
    is. A product and a look for NaN take a tenth of the time of np.where, which is for the few that need it."""
    z = g * share
    return np.where(np.isnan(numbers_of(z)) & (share == 0), 0, z) if may_have_nan(z) else z


def may_have_nan(z: Array) -> bool:
    """Is there a NaN? Of a batch all examples are asked at once. Compiled code does not look: where NaN arises, NumPy
    reports it, and the call is made again by eager code."""
    z = innermost(z)
    return not (getattr(z, "reports_nan", False) or (is_on_host(z) and not np.count_nonzero(np.isnan(z))))


def split_ties(g: Array, halves: Array) -> Array:
    """``g`` for the argument that wins, half of it for each of two that are equal."""
    return times_share(0.5 * g, halves)


# How many halves go to an argument: 2 if it is above the other, 1 if they are equal, otherwise 0, as for NaN. Counted
# in bytes, which is faster than np.where.
HIGHER = {"x": lambda x, y: (x > y).astype(np.int8) + (x >= y), "y": lambda x, y: (y > x).astype(np.int8) + (y >= x)}
LOWER = {"x": HIGHER["y"], "y": HIGHER["x"]}  # x is below y where y is above x


def halves_of_numbers(above: Any, level: Any) -> dict[str, Any]:
    """The same if a NaN loses against a number; v != v says that v is NaN."""
    return {
        "x": lambda x, y: (above(x, y) | (y != y)).astype(np.int8) + (level(x, y) | (y != y)),
        "y": lambda x, y: (above(y, x) | (x != x) & (y == y)).astype(np.int8) + (level(y, x) | (x != x) & (y == y)),
    }


HIGHER_NUMBER = halves_of_numbers(np.greater, np.greater_equal)
LOWER_NUMBER = halves_of_numbers(np.less, np.less_equal)


def sign_x(g: Array, x: Array, z: Array) -> Array:
    """0; for complex x the sign is x / |x|, and what turns it is the part of g across it, over |x|."""
    if x.dtype.kind != "c":
        return zero(g)
    return over(g - z * np.real(np.conjugate(z) * g), np.absolute(x))


# fmt: off
for choice, label, halves in ((np.maximum, "max", HIGHER), (np.minimum, "min", LOWER),
                              (np.fmax, "fmax", HIGHER_NUMBER), (np.fmin, "fmin", LOWER_NUMBER)):
    rule(choice,   "x y", label,  rf"\{label[-3:]}\left($x, $y\right)", holomorphic=False, residual=halves,
         x=split_ties, y=split_ties)

for size in (np.absolute, np.fabs):
    rule(size,     "x",   "abs",  r"\left|$x\right|",         x=lambda g, x: times_share(g, np.sign(x)),
         holomorphic=False)
rule(np.copysign,  "x y", "copysign", r"\left|$x\right| \operatorname{sgn} $y", precedence=2, holomorphic=False,
     x=lambda g, x, z: times_share(g, np.sign(x) * np.sign(z)), y=zero)
rule(np.sign,      "x",   "sign", r"\operatorname{sgn} $x",   x=sign_x, holomorphic=False)
rule(np.heaviside, "x y", "step", r"\operatorname{H}\left($x\right)", x=zero, y=lambda g, x: np.where(x == 0, g, 0),
     holomorphic=False)

rule(np.floor,     "x",   "⌊ ⌋",   r"\left\lfloor $x \right\rfloor", x=zero, domain=(0.1, 0.9))
rule(np.ceil,      "x",   "⌈ ⌉",   r"\left\lceil $x \right\rceil",   x=zero, domain=(0.1, 0.9))
rule(np.trunc, "x", x=zero, domain=(0.1, 0.9))
for fix in functions(np, "fix"):  # NumPy 2.5 warns of it: the same as trunc
    rule(fix,      "x",   "fix",   r"\operatorname{trunc} $x", x=zero, domain=(0.1, 0.9), compute=np.trunc)
rule(np.rint,      "x",   "rint",  r"\operatorname{round} $x", x=zero, domain=(0.6, 1.4), holomorphic=False)
rule(np.round, "x | decimals=0", x=zero, domain=(0.6, 1.4), holomorphic=False, also=(np.around,))
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


rule(np.clip, "x min=None max=None",
     x=clip_x, min=clip_min, max=clip_max, elementwise=True, holomorphic=False, also=(CLIP,))  # fmt: skip


def where_x(g: Array, c: Array) -> Array:
    """g where the condition holds, exact zeros elsewhere: entries that were not chosen do not affect the result.

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
    """``np.nan_to_num``, but not in place, which would write into an operand."""
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
     compute=without_nan, x=nan_to_num_x, holomorphic=False)  # fmt: skip


# ---------------------------------------------------------------- parts of a floating-point number


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


rule(fraction, "x", "frac", x=lambda g: g, name="modf", elementwise=True, holomorphic=False, domain=(0.1, 0.9))
rule(mantissa, "x", "mantissa", name="frexp", elementwise=True, holomorphic=False,
     x=lambda g, x: np.ldexp(g, -np.frexp(numbers_of(x))[1]), domain=(0.51, 0.99))  # fmt: skip
rule(times_power, "x | k", "2ᵏ", r"$x \cdot 2^{$k}", x=lambda g, k: np.ldexp(g, k), name="ldexp", elementwise=True,
     holomorphic=False, precedence=2)  # fmt: skip
rule(np.nextafter, "x y", "next", x=lambda g: g, y=zero, holomorphic=False)


@composed(np.modf)
def modf(x: Array) -> tuple[Array, Array]:
    """The fraction and the whole part."""
    return fraction(x), np.trunc(x)


@composed(np.frexp)
def frexp(x: Array) -> tuple[Array, Array]:
    """The mantissa, and the exponent as a plain array."""
    return mantissa(x), np.frexp(numbers_of(x))[1]


@composed(np.ldexp)
def ldexp(x: Array, k: Array) -> Array:
    """x · 2ᵏ."""
    return times_power(x, numbers_of(k))
