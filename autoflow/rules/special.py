"""Functions of scipy.special: read when the first of them meets a node (forward/dispatch.py), so SciPy stays optional.

SciPy's special functions are ufuncs, so NumPy asks nodes about them as it does about ``np.exp``. The derivatives are
those of the NIST Digital Library of Mathematical Functions, cited as (DLMF 7.10.1) at https://dlmf.nist.gov. They are
written with functions that have rows themselves, so they can be differentiated again.

Orders and counts (``v`` of jv, ``k`` of pdtr) are options: a node there is refused, by the names of function and
argument. Some of SciPy's functions are not ufuncs and turn nodes into plain arrays before any hook is called (softmax,
log_softmax, polygamma, multigammaln), or copy the numbers halfway and are refused (logsumexp): ``autoflow.special`` has
them for nodes.

Here are elementary functions, error functions, entropies and gamma; :data:`WITHOUT`, which says why some functions have
no row; and the two families below. Bessel, Airy, Struve and Kelvin are in ``bessel.py``; distributions and incomplete
integrals, with derivatives with respect to their parameters (``a`` of gammainc), in ``distributions.py``.

Elliptic integrals and functions, hypergeometric functions, exponential integrals: the elliptic ones take the parameter
m = k². All derivatives with respect to m are written with D = (K − E)/m, which stays finite at m = 0, where K = E
(DLMF 19.4): E' = −D/2, K' = (K − D) / (2 (1 − m)).

Orthogonal polynomials: the derivative of one of degree n is one of another family, of degree n − 1 (DLMF 18.9). All of
them come from two: those of Gegenbauer, C' = 2α C⁽ᵅ⁺¹⁾, and of Jacobi. So the derivative is also right at the ends ±1,
where formulas that divide by 1 − x² are not. Degree and parameters are options; the degree may be a fraction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..table.outside import OTHERS
from ..table.parameters import ROOT_2, ROOT_PI, check_real, normal, ratio, with_parameters, zeta
from ..table.shapes import Array, is_on_host, numbers_of, widen
from ..table.table import COMPOSED, RULES, primitive, rule
from . import (
    bessel,  # noqa: F401 - it fills the table
    distributions,
)
from .arithmetic import LN10, branch, near_zero, over, power_series, slope_in_exponent, slope_of_power, zero

# ---------------------------------------------------------------- elementary, error functions, entropies, gamma

DEGREE = math.pi / 180


@primitive
def lambertw(x: Array, k: int = 0, tol: float = 1e-8) -> Array:
    """The ufunc behind SciPy's function of that name."""
    return special._ufuncs._lambertw(x, k, tol)


# fmt: off
# Error functions (DLMF 7.10) and the normal distribution; the derivative of an inverse is one over the derivative.
rule(special.erf, "x", x=lambda g, x: g * (2 / ROOT_PI * np.exp(-(x * x))))
rule(special.erfc, "x", x=lambda g, x: g * (-2 / ROOT_PI * np.exp(-(x * x))))
rule(special.erfcx, "x", x=lambda g, x, z: g * slope_of_erfcx(x, z), domain=(-1.0, 2.0))
rule(special.erfi, "x", x=lambda g, x: g * (2 / ROOT_PI * np.exp(x * x)))
rule(special.dawsn, "x", "dawsn", r"F\left($x\right)", x=lambda g, x, z: g * -far_out(x, lambda x: 2 * x * z - 1, 1))
rule(special.erfinv,   "x",   "erf⁻¹",  r"\operatorname{erf}^{-1} $x",
     x=lambda g, z: g * (ROOT_PI / 2 * np.exp(z * z)), domain=(-0.8, 0.8))
rule(special.erfcinv,  "x",   "erfc⁻¹", r"\operatorname{erfc}^{-1} $x",
     x=lambda g, z: g * (-ROOT_PI / 2 * np.exp(z * z)), domain=(0.3, 1.7))
rule(special.ndtr,     "x",   "Φ",      r"\Phi\left($x\right)",             x=lambda g, x: g * normal(x))
rule(special.log_ndtr, "x",   "log Φ",  r"\log \Phi\left($x\right)",
     x=lambda g, x: g * (ROOT_2 / ROOT_PI / special.erfcx(x * (-1 / ROOT_2))))
rule(special.ndtri,    "x",   "Φ⁻¹",    r"\Phi^{-1}\left($x\right)",        x=lambda g, z: g / normal(z),
     domain=(0.15, 0.85))

# The logistic function; expit(-x) is 1 - expit(x) without the cancellation.
rule(special.expit, "x", x=lambda g, x, z: g * (z * special.expit(-x)))
rule(special.log_expit, "x",  "log expit", r"\log \operatorname{expit} $x", x=lambda g, x: g * special.expit(-x))
rule(special.logit, "x", x=lambda g, x: g / x + g / (1 - x), domain=(0.15, 0.85))

# Entropies. 0 log 0 is 0.
rule(special.xlogy,    "x y", "x log y", r"$x \log $y",                     x=lambda g, y: g * np.log(y),
     y=lambda g, x, y: g * ratio(x, y),     domain=(0.5, 2.0), precedence=2)
rule(special.xlog1py,  "x y", "x log(1+y)", r"$x \log\left(1 + $y\right)",  x=lambda g, y: g * np.log1p(y),
     y=lambda g, x, y: g * ratio(x, 1 + y), domain=(0.5, 2.0), precedence=2)
rule(special.entr,     "x",   "entr",   r"-$x \log $x",                     x=lambda g, x: g * (-1 - np.log(x)),
     domain=(0.5, 2.0), precedence=2)
rule(special.rel_entr, "x y", "rel_entr", r"$x \log \frac{$x}{$y}",         x=lambda g, x, y: g * (log_ratio(x, y) + 1),
     y=lambda g, x, y: g * -ratio(x, y),      domain=(0.5, 2.0), precedence=2)
rule(special.kl_div,   "x y", "kl_div", r"$x \log \frac{$x}{$y} - $x + $y", x=lambda g, x, y: g * log_ratio(x, y),
     y=lambda g, x, y: g * -excess(x, y),     domain=(0.5, 2.0), precedence=1)

# Gamma and its relatives (DLMF 5.2.2, 5.12.1, 5.15.1; zeta, with respect to its second argument, 25.11.17).
rule(special.gamma,    "x",   "Γ",      r"\Gamma\left($x\right)",           x=lambda g, x, z: g * (z * special.psi(x)),
     domain=(0.7, 3.0))
rule(special.gammaln,  "x",   "log Γ",  r"\log \Gamma\left($x\right)",      x=lambda g, x: g * special.psi(x),
     domain=(0.7, 3.0))
rule(special.loggamma, "x",   "log Γ",  r"\log \Gamma\left($x\right)",      x=lambda g, x: g * special.psi(x),
     domain=(0.7, 3.0))
rule(special.psi,      "x",   "ψ",      r"\psi\left($x\right)",             x=lambda g, x: g * zeta(2.0, check_real(x)),
     domain=(0.7, 3.0))
rule(special.beta,     "x y", "B",      r"B\left($x, $y\right)",
     x=lambda g, x, y, z: g * slope_of_beta(x, y, z), y=lambda g, x, y, z: g * slope_of_beta(y, x, z),
     domain=(0.7, 3.0), precise=True)
rule(special.betaln,   "x y", "log B",  r"\log B\left($x, $y\right)",
     x=lambda g, x, y: g * -rise_of_psi(x, y), y=lambda g, x, y: g * -rise_of_psi(y, x), domain=(0.7, 3.0),
     precise=True)
with_parameters(zeta, "x | s", "ζ", r"\zeta\left($s, $x\right)",
     x=lambda g, x, s: g * (-s * zeta(s + 1.0, check_real(x))),   domain=(0.7, 3.0), name="zeta")
rule(special.rgamma,   "x",   "1/Γ",    r"\frac{1}{\Gamma\left($x\right)}", x=lambda g, x: g * slope_of_rgamma(x),
     domain=(0.7, 3.0))
rule(special.gammasgn, "x",   "sgn Γ",  r"\operatorname{sgn} \Gamma\left($x\right)", x=zero, domain=(0.7, 3.0))
rule(special.poch,     "x y", "poch",   r"\frac{\Gamma\left($x + $y\right)}{\Gamma\left($x\right)}",
     x=lambda g, x, y, z: g * slope_of_poch(x, y, z),
     y=lambda g, x, y, z: g * (z * special.psi(x + y)), domain=(0.7, 1.8), precise=True)
rule(special.binom,    "x y", "binom",  r"\binom{$x}{$y}",
     x=lambda g, x, y, z: g * slope_of_poch(x - y + 1, y, z, special.rgamma(y + 1)),
     y=lambda g, x, y, z: g * slope_of_choice(x, y, z), domain=(0.2, 0.9), precise=True)

# Powers and exponentials, more accurate than the obvious formulas; some are NumPy's with other last bits.
for function in (special.cbrt, special.exp2, special.expm1, special.log1p):
    row: Any = RULES[getattr(np, function.__name__)]
    rule(function, "x", row.label, row.latex, name=f"scipy_{row.name}", precedence=row.precedence, domain=row.domain,
         **row.derivatives)
rule(special.exp10,   "x",   "10^",   r"10^{$x}",                 x=lambda g, z: g * (LN10 * z), precedence=4)
rule(special.cosm1,   "x",   "cosm1", r"\cos $x - 1",             x=lambda g, x: g * -np.sin(x), precedence=1)
rule(special.exprel,  "x",   "exprel", r"\frac{e^{$x} - 1}{$x}",  x=lambda g, x: g * slope_of_exprel(x))
rule(special.powm1,   "x y", "powm1", r"$x^{$y} - 1",             x=lambda g, x, y: g * slope_of_power(x, y),
     y=lambda g, x, y: g * slope_in_exponent(x, x**y), precedence=1, domain=(0.5, 2.0))
rule(special.sindg,   "x",   "sin°",  r"\sin {$x}^\circ",         x=lambda g, x: g * (DEGREE * special.cosdg(x)),
     precedence=3, domain=(-80.0, 80.0))
rule(special.cosdg,   "x",   "cos°",  r"\cos {$x}^\circ",         x=lambda g, x: g * (-DEGREE * special.sindg(x)),
     precedence=3, domain=(-80.0, 80.0))
rule(special.tandg,   "x",   "tan°",  r"\tan {$x}^\circ",         x=lambda g, z: g * (DEGREE * (1 + z * z)),
     precedence=3, domain=(-60.0, 60.0))
rule(special.cotdg,   "x",   "cot°",  r"\cot {$x}^\circ",         x=lambda g, z: g * (-DEGREE * (1 + z * z)),
     precedence=3, domain=(30.0, 80.0))
rule(special.radian, "x y w", x=lambda g, x: g * (DEGREE + 0 * x), y=lambda g, y: g * (DEGREE / 60 + 0 * y),
     w=lambda g, w: g * (DEGREE / 3600 + 0 * w))
rule(special.round, "x", "round", x=zero, name="scipy_round", domain=(0.6, 1.4))
rule(special.boxcox,  "x y", "boxcox", r"\frac{$x^{$y} - 1}{$y}", x=lambda g, x, y: g * x ** (y - 1),
     y=lambda g, x, y: g * slope_of_boxcox(np.log(x), y), domain=(0.5, 2.0), precise=True)
rule(special.boxcox1p, "x y", "boxcox1p", r"\frac{\left(1 + $x\right)^{$y} - 1}{$y}",
     x=lambda g, x, y: g * np.exp((y - 1) * np.log1p(x)), y=lambda g, x, y: g * slope_of_boxcox(np.log1p(x), y),
     domain=(0.5, 2.0), precise=True)
rule(special.inv_boxcox, "x y", "boxcox⁻¹", r"\left(1 + $x $y\right)^{1 / $y}",
     x=lambda g, x, y, z: g * slope_under_root(x, y, z), y=lambda g, x, y, z: g * slope_of_root(x, y, z),
     domain=(0.5, 2.0), precise=True)
rule(special.inv_boxcox1p, "x y", "boxcox1p⁻¹", r"\left(1 + $x $y\right)^{1 / $y} - 1",
     x=lambda g, x, y: g * slope_under_root(x, y, special.inv_boxcox(x, y)),
     y=lambda g, x, y: g * slope_of_root(x, y, special.inv_boxcox(x, y)),
     domain=(0.5, 2.0), precedence=1, precise=True)

# Losses for outliers. x is where the parabola ends.
rule(special.huber,        "x y", "huber", r"\operatorname{huber}_{$x} $y",
     x=lambda g, x, y: g * np.maximum(np.absolute(y) - x, 0), y=lambda g, x, y: g * np.clip(y, -x, x),
     domain=(0.5, 2.0))
rule(special.pseudo_huber, "x y", "pseudo_huber", r"{$x}^2 \left(\sqrt{1 + \left($y / $x\right)^2} - 1\right)",
     x=lambda g, x, y: g * slope_in_bend(x, y), y=lambda g, x, y: g * (x * np.sin(np.arctan2(y, np.absolute(x)))),
     domain=(0.5, 2.0))

# Inverses of z eᶻ and of z + log z.
rule(lambertw, "x | k=0 tol=1e-08", "W", r"W\left($x\right)", x=lambda g, z: g / (np.exp(z) * (1 + z)),
     elementwise=True, domain=(0.5, 2.0))
COMPOSED[special._ufuncs._lambertw] = lambertw
rule(special.wrightomega, "x", "ω", r"\omega\left($x\right)", x=lambda g, z: g * (z / (1 + z)))
rule(special.spence,      "x", "Li₂", r"\operatorname{Li}_2\left(1 - $x\right)", x=lambda g, x: g * slope_of_spence(x),
     domain=(0.3, 2.0))
rule(special.wofz,        "x", "w",  r"w\left($x\right)", x=lambda g, x, z: g * (-1j * slope_of_erfcx(-1j * x, z)))
# fmt: on


def is_near(x: Array, y: Array) -> Array:
    """Is x between y/2 and 2y? Then x − y is exact."""
    return np.absolute(numbers_of(x) - 1.25 * numbers_of(y)) < 0.75 * np.absolute(numbers_of(y))


def log_ratio(x: Array, y: Array) -> Array:
    """log x/y, also where the two are nearly equal, or their quotient is beyond the range of numbers."""
    near, r = is_near(x, y), numbers_of(x) / numbers_of(y)
    far = (r < np.finfo(r.dtype).tiny) | (r == np.inf)
    d, u, v = np.where(near, x - y, 0), np.where(far, x, 1), np.where(far, y, 1)
    quotient = np.where(near | far, 1, x) / np.where(near | far, 1, y)
    return np.log1p(d / np.where(near, y, 1)) + np.log(quotient) + (np.log(u) - np.log(v))


def excess(x: Array, y: Array) -> Array:
    """x/y − 1, also where the two are nearly equal; −1 where x is 0, whatever y is."""
    near = is_near(x, y)
    return np.where(near, np.where(near, x - y, 0) / np.where(near, y, 1), ratio(np.where(near, 0, x), y) - 1)


def slope_of_exprel(x: Array) -> Array:
    """(eˣ − (eˣ − 1)/x) / x; its power series is Σ k xᵏ⁻¹ / (k + 1)!."""
    return near_zero(
        x, 0.5, lambda x: power_series(x, [k / math.factorial(k + 1) for k in range(1, 16)]),
        lambda x: (np.exp(x) - special.exprel(x)) / x,
    )  # fmt: skip


def slope_of_boxcox(log: Array, y: Array) -> Array:
    """boxcox is log x · exprel(y log x), so its derivative with respect to y is (log x)² exprel'(y log x): (log x)²/2
    at y = 0, and 1/y² at x = 0, where boxcox is −1/y."""
    end = (numbers_of(log) == -np.inf) & (numbers_of(y) > 0)
    log, r = np.where(end, 0, log), np.where(end, y, 1)
    return np.where(end, 1 / (r * r), log * log * slope_of_exprel(y * log))


def slope_under_root(x: Array, y: Array, z: Array) -> Array:
    """∂z/∂x = z/(1 + x y) for z = (1 + x y)^(1/y); where that is 0 or no number, z¹⁻ʸ."""
    below = 1 + numbers_of(x) * numbers_of(y)
    end = (below == 0) | ~np.isfinite(below)
    return np.where(end, np.where(end, z, 1) ** (1 - y), np.where(end, 0, z) / np.where(end, 1, 1 + x * y))


def slope_of_root(x: Array, y: Array, z: Array) -> Array:
    """∂z/∂y for z = (1 + x y)^(1/y): z (s/(1 + s) − log(1 + s))/y² with s = x y; for a small s by its power series
    z x² Σ (−1)ᵏ k/(k + 1) sᵏ⁻¹; z¹⁻ʸ x/y at s = −1, where z is 0 or ∞."""
    s = numbers_of(x) * numbers_of(y)
    near, end = np.absolute(s) < 0.1, s == -1
    u, v, w = [np.where(near, value, 0) for value in (x, y, z)]
    series = power_series(u * v, [(-1) ** k * k / (k + 1) for k in range(1, 20)])
    p, q, r = [np.where(near | end, 1, value) for value in (x, y, z)]
    formula = (p / (1 / q + p) - np.log1p(p * q)) / q * (r / q)
    f, h = np.where(end, x, 1), np.where(end, y, 1)
    return np.where(near, w * u * u * series, np.where(end, np.where(end, z, 1) ** (1 - h) * f / h, formula))


def slope_in_bend(x: Array, y: Array) -> Array:
    """2 (h − x) − y²/h with h = √(x² + y²), without subtracting nearly equal numbers: y sin t tan² t/2, where t is the
    angle of y/x. It is |y| at x = 0, 0 if y is 0, too, and ∞ with y."""
    t = np.arctan2(y, x)
    return y * np.sin(t) * np.tan(t / 2) ** 2


def slope_of_poch(x: Array, y: Array, z: Array, scale: Array = 1) -> Array:
    """z (ψ(t) − ψ(x)) for z = Γ(t)/Γ(x), t = x + y. At a pole of Γ(x) alone, and near it, only 1/Γ(x), which is 0
    there, changes. The same for z times a constant ``scale``."""
    at, number = numbers_of(x), numbers_of(y)
    near = np.where(np.maximum(np.absolute(at), np.absolute(at + number)) < 100, 0.2, 0)  # beyond, Γ overflows
    pole = (at < 0.25) & (np.absolute(at - np.rint(at)) <= near) & ~have_both_poles(x, y)
    top = np.where(pole, x + y, 1)
    falling = special.gamma(top) * product_slope_of_rgamma(np.where(pole, x, 1), special.psi(top))
    return np.where(pole, scale * falling, z * rise_of_psi(np.where(pole, 1, x), np.where(pole, 1, y)))


def slope_of_beta(x: Array, y: Array, z: Array) -> Array:
    """z (ψ(x) − ψ(x + y)); if x or y is negative, from z = Γ(y) poch(x + y, −y), which knows the poles."""
    usual = (numbers_of(x) > 0) & (numbers_of(y) > 0)
    if is_on_host(usual) and np.all(usual):
        return -z * rise_of_psi(x, y)
    u, v, w = [np.where(usual, harmless, value) for harmless, value in ((1.5, x), (0.5, y), (1, z))]
    left = slope_of_poch(u + v, -v, w, special.gamma(v))
    return np.where(usual, -z * rise_of_psi(np.where(usual, x, 1), np.where(usual, y, 1)), left)


def slope_of_choice(x: Array, y: Array, z: Array) -> Array:
    """z (ψ(x − y + 1) − ψ(y + 1)) for z = binom(x, y). At and near a whole y < 0 or x − y < 0, where z is 0, the pole
    is that of the smaller one, y or x − y, and only 1/Γ changes."""
    rest = x - y
    is_first = numbers_of(y) < numbers_of(rest)
    low = np.where(is_first, y, rest)
    at = numbers_of(low)
    pole = (at < -0.75) & (at > -100) & (np.absolute(at - np.rint(at)) < 0.25)
    low, n = np.where(pole, low, -1), np.where(pole, x, 0)
    crossing = product_slope_of_rgamma(low + 1, special.psi(n - low + 1)) / special.poch(n + 1, -low)
    crossing = np.where(is_first, crossing, -crossing)
    return np.where(pole, crossing, z * rise_of_psi(np.where(pole, 0, y) + 1, np.where(pole, 0, x - 2 * y)))


def have_both_poles(x: Array, y: Array) -> Array:
    """Are both x and x + y left of 1/2, a whole number apart, so that ψ is reflected?"""
    x, y = numbers_of(x), numbers_of(y)
    return (y == np.floor(y)) & (x < 0.5) & (x + y < 0.5)


def rise_of_psi(x: Array, y: Array) -> Array:
    """ψ(x + y) − ψ(x), also where it is small; if both may be poles, by reflected arguments (DLMF 5.5.4)."""
    both = have_both_poles(x, y)
    x, y = np.where(both, 1 - x, x), np.where(both, -y, y)
    a, b = numbers_of(x), numbers_of(y)
    usual = (a > 0) & (a + b > 0) & (a < np.inf) & (b < np.inf)
    direct = special.psi(np.where(usual, 1, x + y)) - special.psi(np.where(usual, 1, x))
    return np.where(usual, distributions.psi_difference(np.where(usual, x, 1), np.where(usual, y, 1)), direct)


def far_out(x: Array, formula: object, sign: int) -> Array:
    """``formula(x)``, a slope; for a large x, where it would subtract nearly equal numbers, the series
    Σ (2k − 1)!! (± 2x²)⁻ᵏ over k > 0 (DLMF 7.12.1)."""
    real, imaginary = np.real(numbers_of(x)), np.absolute(np.imag(numbers_of(x)))
    inside = 2 * real > -imaginary if sign < 0 else 2 * imaginary < np.absolute(real)
    far = inside & (np.absolute(numbers_of(x)) > 30)
    terms = [0.0, 1, 3, 15, 105, 945, 10395, 135135, 2027025]
    return branch(far, x, lambda x: power_series(sign / 2 * (1 / x) * (1 / x), terms), formula, (30, 1))


def slope_of_erfcx(x: Array, z: Array) -> Array:
    """2 x z − 2/√π; also for the Faddeeva function, w(x) = erfcx(−ix)."""
    return 2 / ROOT_PI * far_out(x, lambda x: ROOT_PI * (x * z) - 1, -1)


def slope_of_spence(x: Array) -> Array:
    """log(x)/(1 − x); near x = 1 its power series Σ −(1 − x)ᵏ/(k + 1)."""
    series = [-1 / (k + 1) for k in range(14)]
    near = np.absolute(x - 1) < 0.05
    return branch(near, x, lambda x: power_series(1 - x, series), lambda x: np.log(x) / (1 - x), (1, 0.5))


def product_slope_of_rgamma(x: Array, other: Array) -> Array:
    """The derivative of f(x)/Γ(x), divided by f(x), where 1/Γ is 0. ``other`` is f'/f, for second derivatives."""
    return slope_of_rgamma(x) + other * special.rgamma(x)


def slope_of_rgamma(x: Array) -> Array:
    """−ψ(x)/Γ(x); to the left, where ψ and Γ have poles together, by reflection: 1/Γ(x) = sin(πx) Γ(1 − x)/π."""
    left = (np.real(x) if x.dtype.kind == "c" else x) < 0.5
    y, t = 1 - np.where(left, x, 0), np.where(left, 1, x)
    reflected = special.gamma(y) * (np.cos(math.pi * (1 - y)) - np.sinc(1 - y) * (1 - y) * special.psi(y))
    return np.where(left, reflected, -special.psi(t) * special.rgamma(t))


# ---------------------------------------------------------------- functions without a row, and why


def family(*words: str) -> list[str]:
    """The ufuncs without a row whose names contain one of these words."""
    rows = RULES.keys() | COMPOSED.keys()
    ufuncs = [name for name in special.__all__ if isinstance(getattr(special, name), np.ufunc)]
    return [name for name in ufuncs if getattr(special, name) not in rows and any([w in name for w in words])]


WITHOUT: dict[str, str] = {
    **dict.fromkeys(family("besselpoly", "mathieu_", "obl_", "pro_", "zetac"),
                    "its derivative has no formula in known functions"),
    **dict.fromkeys(family("dtr"), "solved for a parameter, or of a non-central distribution: differentiate the "
                    "distribution function"),
    "itairy": "SciPy's own values are right to 7 digits only",
    **dict.fromkeys(["smirnov", "smirnovi"], "SciPy has the density, but not its derivative"),
    **dict.fromkeys(["airye", "elliprc", "elliprd", "elliprf", "elliprg", "elliprj", "modfresnelm", "modfresnelp",
                     "lpmv"], "not written yet"),
}  # fmt: skip
OTHERS.update({getattr(special, name): why for name, why in WITHOUT.items()})


# ---------------------------------------------------------------- elliptic, hypergeometric and exponential integrals


SMALL = 0.25  # for an m below this D comes from its power series
POWERS = [math.comb(2 * k, k) / 4**k for k in range(27)]  # of 1/√(1 − u)


def complete_d(m: Array, k: Array = None) -> Array:
    """D(m) = (K − E)/m. Its power series: ∫ sin²θ (1 − m sin²θ)^(−1/2) from 0 to π/2, term by term. ``k``: K(m), if
    known, as near m = 1, where it depends on more digits than m has.

    >>> complete_d(np.array([0.0, 0.5])).round(6)
    array([0.785398, 1.006862])
    """
    if k is not None:
        m = np.where(numbers_of(m) == 1, 1 - np.finfo(m.dtype).epsneg, m)
    means = np.cumprod([(2 * k + 1) / (2 * k + 2) for k in range(len(POWERS))]) * (np.pi / 2)
    return near_zero(
        m, SMALL, lambda m: power_series(m, [p * s for p, s in zip(POWERS, means.tolist(), strict=True)]),
        lambda m: ((special.ellipk(m) if k is None else k) - special.ellipe(m)) / m,
    )  # fmt: skip


def slope_of_k(rest: Array) -> Array:
    """dK/dm = (K − D)/(2 (1 − m)) at ``rest`` = 1 − m; 1/(2 (1 − m)) = ∞ at the pole, where K and D are infinite."""
    pole = numbers_of(rest) == 0
    inside = np.where(pole, 1.0, rest)
    k = special.ellipkm1(inside)
    return np.where(pole, 0.5 / np.where(pole, rest + 0.0, 1), (k - complete_d(1 - inside, k)) / (2 * inside))


def incomplete_d(x: Array, m: Array) -> Array:
    """D(φ, m) = (F − E)/m, up to φ instead of π/2: the integrals of sin²ᵏ follow from one another."""
    small = np.absolute(m) < SMALL
    sine, cosine, total = np.sin(x), np.cos(x), 0.0
    integral, power = x, sine
    for k, p in enumerate(POWERS):  # ∫ sin²ᵏ⁺² = ((2k + 1) ∫ sin²ᵏ − sin²ᵏ⁺¹ cos) / (2k + 2)
        integral = ((2 * k + 1) * integral - power * cosine) / (2 * k + 2)
        power = power * sine * sine
        total = total + p * np.where(small, m, 0) ** k * integral
    t = np.where(small, 0.5, m)
    return np.where(small, total, (special.ellipkinc(x, t) - special.ellipeinc(x, t)) / t)


def delta(x: Array, m: Array) -> Array:
    """√(1 − m sin²φ), also near m = 1."""
    return np.sqrt(np.cos(x) ** 2 + (1 - m) * np.sin(x) ** 2)


def slope_in_m(x: Array, m: Array, z: Array) -> Array:
    """∂F/∂m = (F − D − sin φ cos φ/Δ) / (2 (1 − m)), which near m = 1 subtracts nearly equal numbers."""
    near = (np.absolute(numbers_of(m) - 1) < 0.1) & ~np.isnan(numbers_of(z))  # SciPy has no values beyond 1
    t = np.where(near, 0, m)
    formula = (z - incomplete_d(x, t) - np.sin(x) * np.cos(x) / delta(x, t)) / (2 * (1 - t))
    return np.where(near, slope_near_one(x, np.where(near, m, 0.95)), formula)


@primitive
def slope_near_one(x: Array, m: Array) -> Array:
    """∂F/∂m = ½ ∫ sin²θ/Δ³ from 0 to φ, by Carlson's R_D (DLMF 19.25.5); a half turn adds 2 K'."""
    x, m = widen(x, np.float64), widen(m, np.float64)
    turns = np.floor(x / np.pi + 0.5)
    s, c = np.sin(x - turns * np.pi), np.cos(x)
    whole = np.where(turns == 0, 0, 2 * turns * slope_of_k(1 - m))
    return s**3 / 6 * special.elliprd(c * c, 1.0, c * c + (1 - m) * s * s) + whole


def slope_of_slope(x: Array, m: Array, z: Array) -> Array:
    """∂²F/∂m², from the formula of z = ∂F/∂m; ∂D/∂m = (z − D/2)/m. At m = 1 it is ¾ ∫ tan⁴θ/cos θ."""
    x, one = widen(x, np.float64), numbers_of(m) == 1
    t = np.where(one, 0.5, widen(m, np.float64))
    bend = np.sin(x) ** 3 * np.cos(x) / (2 * delta(x, t) ** 3)
    formula = (3 * z - (z - incomplete_d(x, t) / 2) / t - bend) / (2 * (1 - t))
    return np.where(one, 3 / 16 * np.tan(x) ** 3 / np.cos(x) - 9 / 8 * z, formula)


# Nearer to 1 third derivatives are sums of large terms that cancel: half precision does not hold them.
rule(slope_near_one, "x m", x=lambda g, x, m: g * (np.sin(x) ** 2 / (2 * delta(x, m) ** 3)),
     m=lambda g, x, m, z: g * slope_of_slope(x, m, z), elementwise=True, domain=(0.2, 0.8))  # fmt: skip


# fmt: off
PARAMETER = (-0.8, 0.8)
rule(special.ellipk,   "m", "K", r"K\left($m\right)",     m=lambda g, m: g * slope_of_k(1 - m), domain=PARAMETER)
rule(special.ellipkm1, "x", "K", r"K\left(1 - $x\right)", x=lambda g, x: g * -slope_of_k(x), domain=(0.2, 1.8))
rule(special.ellipe,   "m", "E", r"E\left($m\right)",     m=lambda g, m: g * (-0.5 * complete_d(m)), domain=PARAMETER)
rule(special.ellipkinc, "x m", "F", r"F\left($x, $m\right)", x=lambda g, x, m: g / delta(x, m),
     m=lambda g, x, m: g * slope_in_m(x, m, special.ellipkinc(x, m)), domain=PARAMETER, precise=True)
rule(special.ellipeinc, "x m", "E", r"E\left($x, $m\right)", x=lambda g, x, m: g * delta(x, m),
     m=lambda g, x, m: g * (-0.5 * incomplete_d(x, m)), domain=PARAMETER, precise=True)
rule(special.agm, "x y", x=lambda g, x, y, z: g * slope_of_mean(x, y, z),
     y=lambda g, x, y, z: g * slope_of_mean(y, x, z), domain=(0.5, 2.0))

# Hypergeometric functions (DLMF 13.3.15, 13.3.22, 15.5.1).
with_parameters(special.hyp0f1, "x | v", "₀F₁", r"{}_0F_1\left($v; $x\right)",
     x=lambda g, x, v: g * (special.hyp0f1(v + 1, x) / v))
with_parameters(special.hyp1f1, "x | a b", "₁F₁", r"{}_1F_1\left($a; $b; $x\right)",
     x=lambda g, x, a, b: g * (a * special.hyp1f1(a + 1, b + 1, x) / b))
with_parameters(special.hyp2f1, "x | a b c", "₂F₁", r"{}_2F_1\left($a, $b; $c; $x\right)",
     x=lambda g, x, a, b, c: g * (a * b * special.hyp2f1(a + 1, b + 1, c + 1, x) / c), domain=(-0.8, 0.6))
with_parameters(special.hyperu, "x | a b", "U", r"U\left($a, $b, $x\right)",
     x=lambda g, x, a, b: g * (-a * special.hyperu(a + 1, b + 1, x)))
with_parameters(special.wright_bessel, "x | a b", "Φ", r"\Phi\left($a, $b; $x\right)",
     x=lambda g, x, a, b: g * special.wright_bessel(a, b + a, x))
with_parameters(special.log_wright_bessel, "x | a b", "log Φ", r"\log \Phi\left($a, $b; $x\right)",
     x=lambda g, x, a, b, z: g * np.exp(special.log_wright_bessel(a, b + a, x) - z))

# Exponential integrals (DLMF 6.2, 8.19.13).
rule(special.exp1, "x", "E₁", r"E_1\left($x\right)",               x=lambda g, x: g * (-np.exp(-x) / x),
     domain=(0.5, 2.0))
rule(special.expi, "x", "Ei", r"\operatorname{Ei}\left($x\right)", x=lambda g, x: g * (np.exp(x) / x),
     domain=(0.5, 2.0))
with_parameters(special.expn, "x | n", "E", x=lambda g, x, n: g * slope_of_expn(x, n), whole="n")
# fmt: on


def slope_of_mean(x: Array, y: Array, z: Array) -> Array:
    """z/x · D/K at m = 1 − (y/x)², or its limit where that is rounded away. With y ≠ 0 it is ∞ at x = 0."""
    r = np.absolute(over(numbers_of(y), numbers_of(x), np.inf))
    usual, none = (r > 1e-9) & (r < 1e9), (x == 0) | (y == 0)
    square = np.where(usual, over(y, x), 1) ** 2
    log = math.log(4) + np.absolute(log_ratio(*[np.absolute(np.where(usual | none, 1, v)) for v in (x, y)]))
    share = np.where(usual, complete_d(1 - square, k := special.ellipkm1(square)) / k,
                     np.where(none, 1, np.where(r > 1, 1 / log, 1 - 1 / log)))  # fmt: skip
    return np.where((x == 0) & (y != 0), np.inf, over(z * share, x))


def slope_of_expn(x: Array, n: Any) -> Array:
    """−Eₙ₋₁(x); E₀ is e⁻ˣ/x."""
    e_0 = lambda x: -np.exp(-x) / x * (1 + 1 / x)  # noqa: E731
    return branch(np.greater(n, 0), x, lambda x: -special.expn(np.maximum(n - 1, 0), x), e_0, (1, 1))


# ---------------------------------------------------------------- Jacobi's elliptic functions


@primitive
def jacobi(u: Array, m: Array, k: int) -> Array:
    """sn, cn, dn or the amplitude φ of :func:`scipy.special.ellipj`."""
    return special.ellipj(u, m)[k]


def jacobi_m(g: Array, u: Array, m: Array, k: int) -> Array:
    """u = F(φ, m) does not change, so ∂φ/∂m = −dn ∂F/∂m."""
    turn = -jacobi(u, m, 2) * slope_in_m(jacobi(u, m, 3), m, u)
    extra = -(jacobi(u, m, 0) ** 2) / (2 * jacobi(u, m, 2)) if k == 2 else 0
    return g * (ladder(u, m, k, turn) + extra)


def ladder(u: Array, m: Array, k: int, turn: Array) -> Array:
    """How sn = sin φ, cn = cos φ, dn = √(1 − m sn²) and φ change with φ (DLMF 22.13); dφ/du is dn."""
    if k == 3:
        return turn
    sine, cosine, height = (jacobi(u, m, i) for i in range(3))
    return (cosine, -sine, -m * sine * cosine / height)[k] * turn


# fmt: off
rule(jacobi, "u m | k", "sn", r"\operatorname{ellipj}_{$k}\left($u, $m\right)", name="ellipj", elementwise=True,
     u=lambda g, u, m, k: g * ladder(u, m, k, jacobi(u, m, 2)), m=jacobi_m, domain=(0.1, 0.8), precise=True)
# fmt: on
COMPOSED[special.ellipj] = lambda u, m: tuple([jacobi(u, m, k) for k in range(4)])


# ---------------------------------------------------------------- orthogonal polynomials


def lower(polynomial: Any, n: Any, *rest: Any) -> Array:
    """The polynomial of degree n − 1, and 0 for n = 0."""
    return np.where(n == 0, 0, polynomial(np.where(n == 0, 0, n - 1), *rest))


def gegenbauer(n: Any, alpha: Any, x: Array) -> Array:
    """C_{n−1} with the parameter α, as in most derivatives below. (C₀ is 1; SciPy 1.18 gives 0 for α = 0.)"""
    return np.where(np.equal(n, 1), 1, lower(special.eval_gegenbauer, n, alpha, x))


def mirror(n: Any) -> Array:
    """The degree of at least −1/2 with the same Legendre function: P₋ₙ₋₁ is Pₙ (DLMF 14.9.5)."""
    return np.maximum(n, -1 - np.asarray(n))


def second_kind(n: Any, x: Array) -> Array:
    """Half of Uₙ'; U₋ₙ₋₂ is −Uₙ, and so U₋₁ is 0."""
    return np.sign(n + 1) * gegenbauer(np.where(n == -1, 0, np.absolute(n + 1) - 1), 2.0, x)


# fmt: off
RANGE = (-0.9, 0.9)
with_parameters(special.eval_legendre, "x | n", "P", x=lambda g, x, n: g * gegenbauer(mirror(n), 1.5, x), domain=RANGE)
with_parameters(special.eval_chebyt, "x | n", "T",
     x=lambda g, x, n: g * (n * lower(special.eval_chebyu, n, x)), domain=RANGE)
with_parameters(special.eval_chebyu, "x | n", "U", x=lambda g, x, n: g * (2 * second_kind(n, x)), domain=RANGE)
with_parameters(special.eval_chebyc, "x | n", "C",
     x=lambda g, x, n: g * (n * lower(special.eval_chebys, n, x)), domain=RANGE)
with_parameters(special.eval_chebys, "x | n", "S", x=lambda g, x, n: g * second_kind(n, x / 2), domain=RANGE)
with_parameters(special.eval_sh_legendre, "x | n", "P*", r"P^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * gegenbauer(mirror(n), 1.5, 2 * x - 1)),   domain=(0.1, 0.9))
with_parameters(special.eval_sh_chebyt,   "x | n", "T*", r"T^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * n * lower(special.eval_sh_chebyu, n, x)), domain=(0.1, 0.9))
with_parameters(special.eval_sh_chebyu,   "x | n", "U*", r"U^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (4 * second_kind(n, 2 * x - 1)),               domain=(0.1, 0.9))
with_parameters(special.eval_gegenbauer, "x | n alpha", "C", r"C^{($alpha)}_{$n}\left($x\right)",
     x=lambda g, x, n, alpha: g * (2 * alpha * gegenbauer(n, alpha + 1, x)), domain=RANGE)
with_parameters(special.eval_jacobi, "x | n a b", "P", r"P^{($a, $b)}_{$n}\left($x\right)",
     x=lambda g, x, n, a, b: g * ((n + a + b + 1) / 2 * lower(special.eval_jacobi, n, a + 1, b + 1, x)), domain=RANGE)
with_parameters(special.eval_sh_jacobi, "x | n p q", "G", r"G^{($p, $q)}_{$n}\left($x\right)",
     x=lambda g, x, n, p, q: g * ((n + p) * lower(special.eval_jacobi, n, p - q + 1, q, 2 * x - 1)
                                  / special.binom(2 * n + p - 1, n)), domain=(0.1, 0.9))
with_parameters(special.eval_laguerre, "x | n", "L", x=lambda g, x, n: g * -lower(special.eval_genlaguerre, n, 1.0, x))
with_parameters(special.eval_genlaguerre, "x | n alpha", "L", r"L^{($alpha)}_{$n}\left($x\right)",
     x=lambda g, x, n, alpha: g * -lower(special.eval_genlaguerre, n, alpha + 1, x))
with_parameters(special.eval_hermite, "x | n", "H", x=lambda g, x, n: g * (2 * n * lower(special.eval_hermite, n, x)))
with_parameters(special.eval_hermitenorm, "x | n", "He",
     x=lambda g, x, n: g * (n * lower(special.eval_hermitenorm, n, x)))
# fmt: on
