"""Distribution functions, the incomplete integrals they are made of, and their inverses.

The derivative of a distribution function is the density (DLMF 8.8.13, 8.17.1), taken by logarithms so that no power
overflows; that of an inverse is one over the density at the result. Derivatives by parameters are integrals of
``incomplete.py``, which says how exact they are; of an inverse at fixed probability dz/da = −(∂F/∂a)/density. Counts
(k of pdtr, k and n of bdtr) are options: a node there is refused.

The logarithms at the end have no names in SciPy: ``autoflow.stats`` uses them for tails that are below 1e-308.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from .incomplete import (
    beta_score,
    beta_tail,
    beta_unit,
    betainc_a,
    gamma_score,
    gamma_tail,
    gamma_unit,
    gammainc_a,
    t_mass,
    t_score,
    t_unit,
)
from .parameters import ROOT_2, ROOT_PI, normal, with_parameters
from .shapes import is_on_host
from .table import primitive, rule

Array = Any


def gamma_density(x: Array, a: Any) -> Array:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    return np.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))


def beta_density(x: Array, a: Any, b: Any) -> Array:
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)."""
    return np.exp(special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b))


def t_density(t: Array, df: Any) -> Array:
    """Γ((n + 1)/2) / (√(πn) Γ(n/2)) (1 + t²/n)^(−(n + 1)/2)."""
    top = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
    return np.exp(top - (df + 1) / 2 * np.log1p(t * t / df))


def f_density(x: Array, m: Any, n: Any) -> Array:
    """Of w = m x/(n + m x), which has a beta distribution: its density times dw/dx = m n/(n + m x)²."""
    total = n + m * x
    return beta_density(m * x / total, m / 2, n / 2) * (m * n) / (total * total)


def moved_beta(a: Array, b: Array, z: Array, of_b: bool = False) -> Array:
    """How the z with I(a, b, z) = p moves with a (or b): the units of the score are z (1 − z) times the density."""
    return -(z * (1 - z)) * beta_score(a, b, z, of_b=of_b)


def fdtr_m(m: Array, n: Array, x: Array, *, of_n: bool = False) -> Array:
    """Of I(m/2, n/2) at w = m x/(n + m x), where dw/dm = n x/(n + m x)²; or by n, where dw/dn = −m x/(n + m x)²."""
    total = n + m * x
    w = m * x / total
    turn = -(m * x) if of_n else n * x
    return 0.5 * betainc_a(m / 2, n / 2, w, of_b=of_n) + beta_density(w, m / 2, n / 2) * turn / (total * total)


def whole(k: Any) -> Array:
    """Counts: SciPy rounds them down."""
    return np.floor(k)


# fmt: off
INSIDE, P = (0.15, 0.85), (0.2, 0.8)
rule(special.gammainc,  "a x", "P", r"P\left($a, $x\right)", a=lambda g, a, x: g * gammainc_a(a, x),
     x=lambda g, a, x: g * gamma_density(x, a),  domain=(0.5, 2.0))
rule(special.gammaincc, "a x", "Q", r"Q\left($a, $x\right)", a=lambda g, a, x: g * -gammainc_a(a, x),
     x=lambda g, a, x: g * -gamma_density(x, a), domain=(0.5, 2.0))
rule(special.gammaincinv,  "a x", "P⁻¹", r"P^{-1}\left($a, $x\right)", a=lambda g, a, z: g * (-z * gamma_score(a, z)),
     x=lambda g, z, a: g / gamma_density(z, a),  domain=P)
rule(special.gammainccinv, "a x", "Q⁻¹", r"Q^{-1}\left($a, $x\right)", a=lambda g, a, z: g * (-z * gamma_score(a, z)),
     x=lambda g, z, a: -g / gamma_density(z, a), domain=P)
rule(special.betainc,  "a b x", "I", r"I_{$x}\left($a, $b\right)",    a=lambda g, a, b, x: g * betainc_a(a, b, x),
     b=lambda g, a, b, x: g * betainc_a(a, b, x, of_b=True),  x=lambda g, x, a, b: g * beta_density(x, a, b),
     domain=INSIDE)
rule(special.betaincc, "a b x", "Iᶜ", r"I^c_{$x}\left($a, $b\right)", a=lambda g, a, b, x: g * -betainc_a(a, b, x),
     b=lambda g, a, b, x: g * -betainc_a(a, b, x, of_b=True), x=lambda g, x, a, b: g * -beta_density(x, a, b),
     domain=INSIDE)
rule(special.betaincinv,  "a b x", "I⁻¹", r"I^{-1}_{$x}\left($a, $b\right)",
     a=lambda g, a, b, z: g * moved_beta(a, b, z), b=lambda g, a, b, z: g * moved_beta(a, b, z, True),
     x=lambda g, z, a, b: g / beta_density(z, a, b),  domain=P)
rule(special.betainccinv, "a b x", "Iᶜ⁻¹", r"\left(I^c_{$x}\right)^{-1}\left($a, $b\right)",
     a=lambda g, a, b, z: g * moved_beta(a, b, z), b=lambda g, a, b, z: g * moved_beta(a, b, z, True),
     x=lambda g, z, a, b: -g / beta_density(z, a, b), domain=P)

# χ², F, gamma and t. Of the gamma distribution a is a factor of x.
rule(special.chdtr,  "v x", "χ²", r"\chi^2\left($v, $x\right)",
     v=lambda g, v, x: g * (0.5 * gammainc_a(v / 2, x / 2)),  x=lambda g, x, v: g * (0.5 * gamma_density(x / 2, v / 2)),
     domain=(0.5, 2.0))
rule(special.chdtrc, "v x", "χ²ᶜ", r"\chi^{2c}\left($v, $x\right)",
     v=lambda g, v, x: g * (-0.5 * gammainc_a(v / 2, x / 2)),
     x=lambda g, x, v: g * (-0.5 * gamma_density(x / 2, v / 2)), domain=(0.5, 2.0))
rule(special.chdtri, "v x", "χ²⁻¹", r"\chi^{-2}\left($v, $x\right)",
     v=lambda g, v, z: g * (-0.5 * z * gamma_score(v / 2, z / 2)),
     x=lambda g, z, v: -2 * g / gamma_density(z / 2, v / 2), domain=P)
rule(special.fdtr,   "m n x", "F", r"F\left($m, $n, $x\right)",        m=lambda g, m, n, x: g * fdtr_m(m, n, x),
     n=lambda g, m, n, x: g * fdtr_m(m, n, x, of_n=True),  x=lambda g, x, m, n: g * f_density(x, m, n),
     domain=(0.5, 2.0))
rule(special.fdtrc,  "m n x", "Fᶜ", r"F^c\left($m, $n, $x\right)",     m=lambda g, m, n, x: g * -fdtr_m(m, n, x),
     n=lambda g, m, n, x: g * -fdtr_m(m, n, x, of_n=True), x=lambda g, x, m, n: g * -f_density(x, m, n),
     domain=(0.5, 2.0))
with_parameters(special.fdtri,  "x | m n", "F⁻¹", r"F^{-1}\left($m, $n, $x\right)",
     x=lambda g, z, m, n: g / f_density(z, m, n), domain=P)
rule(special.gdtr,   "a b x", "Γ", r"\operatorname{gdtr}\left($a, $b, $x\right)",
     a=lambda g, a, b, x: g * (x * gamma_density(a * x, b)),  b=lambda g, a, b, x: g * gammainc_a(b, a * x),
     x=lambda g, a, x, b: g * (a * gamma_density(a * x, b)),  domain=(0.5, 2.0))
rule(special.gdtrc,  "a b x", "Γᶜ", r"\operatorname{gdtrc}\left($a, $b, $x\right)",
     a=lambda g, a, b, x: g * (-x * gamma_density(a * x, b)), b=lambda g, a, b, x: g * -gammainc_a(b, a * x),
     x=lambda g, a, x, b: g * (-a * gamma_density(a * x, b)), domain=(0.5, 2.0))
rule(special.gdtrix, "a b x", "Γ⁻¹", r"\operatorname{gdtrix}\left($a, $b, $x\right)", a=lambda g, a, z: g * (-z / a),
     b=lambda g, a, b, z: g * (-z * gamma_score(b, a * z)), x=lambda g, a, z, b: g / (a * gamma_density(a * z, b)),
     domain=P)
rule(special.stdtr,   "n t", "t", r"t_{$n}\left($t\right)",
     n=lambda g, n, t: g * (np.exp(t_unit(n, t)) * t_score(n, t)), t=lambda g, t, n: g * t_density(t, n),
     domain=(0.5, 2.0))
rule(special.stdtrit, "n x", "t⁻¹", r"t^{-1}_{$n}\left($x\right)",
     n=lambda g, n, z: g * (-np.sqrt(n + z * z) * t_score(n, z)), x=lambda g, z, n: g / t_density(z, n), domain=P)

# Counts: by the probability p or the mean m. For whole n and k they are incomplete integrals.
with_parameters(special.bdtr,   "p | k n", "B", r"\operatorname{bdtr}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * -beta_density(p, whole(k) + 1, n - whole(k)), domain=P)
with_parameters(special.bdtrc,  "p | k n", "Bᶜ", r"\operatorname{bdtrc}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * beta_density(p, whole(k) + 1, n - whole(k)), domain=P)
with_parameters(special.nbdtr,  "p | k n", "NB", r"\operatorname{nbdtr}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * beta_density(p, n, k + 1), domain=P)
with_parameters(special.nbdtrc, "p | k n", "NBᶜ", r"\operatorname{nbdtrc}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * -beta_density(p, n, k + 1), domain=P)
with_parameters(special.pdtr,   "m | k", "Poisson", r"\operatorname{pdtr}\left($k, $m\right)",
     m=lambda g, m, k: g * -gamma_density(m, whole(k) + 1))
with_parameters(special.pdtrc,  "m | k", "Poissonᶜ", r"\operatorname{pdtrc}\left($k, $m\right)",
     m=lambda g, m, k: g * gamma_density(m, whole(k) + 1))

# The normal distribution and its relatives.
rule(special.ndtri_exp, "x", "Φ⁻¹eˣ", r"\Phi^{-1}\left(e^{$x}\right)",
     x=lambda g, x, z: g * (ROOT_2 * ROOT_PI * np.exp(x + 0.5 * (z * z))), domain=(-2.0, -0.2))
rule(special.owens_t,   "x y", "T", r"T\left($x, $y\right)",
     x=lambda g, x, y: g * (-0.5 * normal(x) * special.erf(x * y / ROOT_2)),
     y=lambda g, x, y: g * (np.exp(-0.5 * (x * x) * (1 + y * y)) / (2 * math.pi * (1 + y * y))))
rule(special.voigt_profile, "x s c", "Voigt", r"V\left($x; $s, $c\right)", domain=(0.5, 2.0),
     x=lambda g, x, s, c: g * np.real(slope_of_voigt(x, s, c)),
     c=lambda g, x, s, c: g * -np.imag(slope_of_voigt(x, s, c)),
     s=lambda g, x, s, c, z: g * -(z + np.real(slope_of_voigt(x, s, c) * (x + 1j * c))) / s)
with_parameters(special.tklmbda, "x | lam", "Tukey", r"\operatorname{tklmbda}\left($x, $lam\right)",
     x=lambda g, z, lam: g / (z ** (lam - 1) + (1 - z) ** (lam - 1)), order=(0, 1), domain=(-1.0, 1.0))

rule(special.kolmogorov, "x", "K", r"K\left($x\right)",         x=lambda g, x: g * density_of_kolmogorov(x),
     domain=(0.6, 1.5))
rule(special.kolmogi,    "x", "K⁻¹", r"K^{-1}\left($x\right)",  x=lambda g, z: g / density_of_kolmogorov(z),
     domain=(0.1, 0.8))
# fmt: on


def slope_of_voigt(x: Array, s: Array, c: Array) -> Array:
    """∂V/∂x − i ∂V/∂c: V = Re w(t)/(s √2π) of t = (x + ic)/(s √2), and w' = −2tw + 2i/√π (DLMF 7.10.2)."""
    t = (x + 1j * c) / (ROOT_2 * s)
    return (-2 * (t * special.wofz(t)) + 2j / ROOT_PI) / (ROOT_2 * s) / (s * (ROOT_2 * ROOT_PI))


def density_of_kolmogorov(x: Array) -> Array:
    """The derivative of :func:`scipy.special.kolmogorov`, −8x Σ (−1)ᵏ⁻¹ k² exp(−2k²x²). For x < 1 the other form of
    that theta function, √(2π)/x Σ exp(−c/x²) with c = (2k − 1)²π²/8, converges faster (DLMF 20.7.32)."""
    near = x < 1
    t, u = np.where(near, 1, x), np.where(near, x, 1)
    far, close = 0 * t, 0 * u
    for k in range(1, 6):
        far = far + (-1) ** (k - 1) * k * k * np.exp(-2 * k * k * (t * t))
        c = ((2 * k - 1) * math.pi) ** 2 / 8
        close = close + (1 / (u * u) - 2 * c / u**4) * np.exp(-c / (u * u))
    return np.where(near, math.sqrt(2 * math.pi) * close, -8 * t * far)


# ---------------------------------------------------------------- logarithms


def careful_log(p: Array, rest: Array, otherwise: Callable[[], Array]) -> Array:
    """log p, given p and 1 − p; what ``otherwise`` computes where p is (nearly) too small for a number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.where(p < 0.5, np.log(p), np.log1p(-rest))
        tiny = p < TINY
        return log if is_on_host(tiny) and not np.any(tiny) else np.where(tiny, otherwise().astype(log.dtype), log)


TINY = 1e-290


@primitive
def log_gammainc(a: Array, x: Array, upper: bool = False) -> Array:
    """log P(a, x), or log Q(a, x) if ``upper``."""
    p, q = special.gammainc(a, x), special.gammaincc(a, x)
    p, q = (q, p) if upper else (p, q)

    def deep() -> Array:
        inside = (x > 0) & np.isfinite(x)
        y = np.where(inside, x, 1)
        sign = np.asarray(1.0 if upper else -1.0)
        return np.where(inside, gamma_unit(a, y) + np.log(np.sum(gamma_tail(a, y, sign)[1], axis=-1)), -np.inf)

    return careful_log(p, q, deep)


@primitive
def log_betainc(a: Array, b: Array, x: Array, upper: bool = False) -> Array:
    """log I_x(a, b), or log of 1 − I_x(a, b) if ``upper``."""
    p, q = special.betainc(a, b, x), special.betaincc(a, b, x)
    p, q = (q, p) if upper else (p, q)

    def deep() -> Array:
        inside = (x > 0) & (x < 1)
        y = np.where(inside, x, 0.5)
        return np.where(inside, beta_unit(a, b, y) + np.log(np.sum(beta_tail(a, b, y)[1], axis=-1)), -np.inf)

    return careful_log(p, q, deep)


@primitive
def log_stdtr(n: Array, t: Array) -> Array:
    """log of Student's distribution function; 1 − F(t) is F(−t)."""

    def deep() -> Array:
        inside = np.isfinite(t) & (t < 0)
        y = np.where(inside, t, -1)
        return np.where(inside, t_unit(n, y) + np.log(t_mass(n, -y)), -np.inf)

    return careful_log(special.stdtr(n, t), special.stdtr(n, -t), deep)


def side(upper: bool) -> int:
    """What grows with x below, falls with it above."""
    return -1 if upper else 1


rule(log_gammainc, "a x | upper=False", "log P", r"\log P\left($a, $x\right)", elementwise=True, domain=(0.5, 2.0),
     a=lambda g, a, x, upper, z: g * (side(upper) * np.exp(gamma_unit(a, x) - z) * gamma_score(a, x)),
     x=lambda g, a, x, upper, z: g * (side(upper) * np.exp(gamma_unit(a, x) - z) / x))  # fmt: skip
rule(log_betainc, "a b x | upper=False", "log I", r"\log I_{$x}\left($a, $b\right)", elementwise=True, domain=INSIDE,
     a=lambda g, a, b, x, upper, z: g * (side(upper) * np.exp(beta_unit(a, b, x) - z) * beta_score(a, b, x)),
     b=lambda g, a, b, x, upper, z: g * (side(upper) * np.exp(beta_unit(a, b, x) - z) * beta_score(a, b, x, of_b=True)),
     x=lambda g, a, b, x, upper, z: g * (side(upper) * np.exp(beta_unit(a, b, x) - z) / (x * (1 - x))))  # fmt: skip
rule(log_stdtr, "n t", "log t", r"\log t_{$n}\left($t\right)", elementwise=True, domain=(0.5, 2.0),
     n=lambda g, n, t, z: g * (np.exp(t_unit(n, t) - z) * t_score(n, t)),
     t=lambda g, n, t, z: g * (np.exp(t_unit(n, t) - z) / np.hypot(np.sqrt(n), t)))  # fmt: skip
