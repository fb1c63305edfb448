"""Distribution functions, the incomplete integrals they are made of, and their inverses.

The derivative of a distribution function is the density (DLMF 8.8.13, 8.17.1), taken by logarithms so that no power
overflows; that of an inverse is one over the density at the result. Parameters are options: derivatives by them have
no formula, except where a parameter only stretches x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from .parameters import ROOT_2, ROOT_PI, normal, with_parameters
from .table import of, rule

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


def whole(k: Any) -> Array:
    """Counts: SciPy rounds them down."""
    return np.floor(k)


# ruff: noqa: E501
# fmt: off
AB, A = {"a": 1.5, "b": 2.5}, {"a": 1.5}
INSIDE, P = (0.15, 0.85), (0.2, 0.8)
with_parameters(special.gammainc,  "x | a", "P", r"P\left($a, $x\right)", x=lambda g, x, a: g * gamma_density(x, a),  at=A)
with_parameters(special.gammaincc, "x | a", "Q", r"Q\left($a, $x\right)", x=lambda g, x, a: g * -gamma_density(x, a), at=A)
with_parameters(special.gammaincinv,  "x | a", "P⁻¹", r"P^{-1}\left($a, $x\right)", x=lambda g, z, a: g / gamma_density(z, a),  at=A, domain=P)
with_parameters(special.gammainccinv, "x | a", "Q⁻¹", r"Q^{-1}\left($a, $x\right)", x=lambda g, z, a: -g / gamma_density(z, a), at=A, domain=P)
with_parameters(special.betainc,  "x | a b", "I", r"I_{$x}\left($a, $b\right)",    x=lambda g, x, a, b: g * beta_density(x, a, b),  at=AB, domain=INSIDE)
with_parameters(special.betaincc, "x | a b", "Iᶜ", r"I^c_{$x}\left($a, $b\right)", x=lambda g, x, a, b: g * -beta_density(x, a, b), at=AB, domain=INSIDE)
with_parameters(special.betaincinv,  "x | a b", "I⁻¹", r"I^{-1}_{$x}\left($a, $b\right)",      x=lambda g, z, a, b: g / beta_density(z, a, b),  at=AB, domain=P)
with_parameters(special.betainccinv, "x | a b", "Iᶜ⁻¹", r"\left(I^c_{$x}\right)^{-1}\left($a, $b\right)", x=lambda g, z, a, b: -g / beta_density(z, a, b), at=AB, domain=P)

# χ², F, gamma and t. Of the gamma distribution a is a factor of x.
with_parameters(special.chdtr,  "x | v", "χ²", r"\chi^2\left($v, $x\right)", x=lambda g, x, v: g * (0.5 * gamma_density(x / 2, v / 2)),  at={"v": 3.0})
with_parameters(special.chdtrc, "x | v", "χ²ᶜ", r"\chi^{2c}\left($v, $x\right)", x=lambda g, x, v: g * (-0.5 * gamma_density(x / 2, v / 2)), at={"v": 3.0})
with_parameters(special.chdtri, "x | v", "χ²⁻¹", r"\chi^{-2}\left($v, $x\right)", x=lambda g, z, v: -2 * g / gamma_density(z / 2, v / 2),    at={"v": 3.0}, domain=P)
with_parameters(special.fdtr,   "x | m n", "F", r"F\left($m, $n, $x\right)", x=lambda g, x, m, n: g * f_density(x, m, n),  at={"m": 3.0, "n": 5.0})
with_parameters(special.fdtrc,  "x | m n", "Fᶜ", r"F^c\left($m, $n, $x\right)", x=lambda g, x, m, n: g * -f_density(x, m, n), at={"m": 3.0, "n": 5.0})
with_parameters(special.fdtri,  "x | m n", "F⁻¹", r"F^{-1}\left($m, $n, $x\right)", x=lambda g, z, m, n: g / f_density(z, m, n), at={"m": 3.0, "n": 5.0}, domain=P)
with_parameters(special.gdtr,  "a x | b", "Γ", r"\operatorname{gdtr}\left($a, $b, $x\right)", order=(0, 2, 1), a=lambda g, a, x, b: g * (x * gamma_density(a * x, b)),  x=lambda g, a, x, b: g * (a * gamma_density(a * x, b)),  at={"b": 1.5})
with_parameters(special.gdtrc, "a x | b", "Γᶜ", r"\operatorname{gdtrc}\left($a, $b, $x\right)", order=(0, 2, 1), a=lambda g, a, x, b: g * (-x * gamma_density(a * x, b)), x=lambda g, a, x, b: g * (-a * gamma_density(a * x, b)), at={"b": 1.5})
with_parameters(special.gdtrix, "a x | b", "Γ⁻¹", r"\operatorname{gdtrix}\left($a, $b, $x\right)", order=(0, 2, 1), a=lambda g, a, z: g * (-z / a), x=lambda g, a, z, b: g / (a * gamma_density(a * z, b)), at={"b": 1.5}, domain=P)
with_parameters(special.stdtr,  "t | n", "t", r"t_{$n}\left($t\right)",        t=lambda g, t, n: g * t_density(t, n), at={"n": 3.0}, domain=(-2.0, 2.0))
with_parameters(special.stdtrit, "x | n", "t⁻¹", r"t^{-1}_{$n}\left($x\right)", x=lambda g, z, n: g / t_density(z, n), at={"n": 3.0}, domain=P)

# Counts: by the probability p or the mean m. For whole n and k they are incomplete integrals.
COUNTS = {"k": 2.0, "n": 5.0}
with_parameters(special.bdtr,   "p | k n", "B", r"\operatorname{bdtr}\left($k, $n, $p\right)",   p=lambda g, p, k, n: g * -beta_density(p, whole(k) + 1, n - whole(k)), examples=(of((3,), k=2.0, n=5), of((), k=1.0, n=4)), domain=P)
with_parameters(special.bdtrc,  "p | k n", "Bᶜ", r"\operatorname{bdtrc}\left($k, $n, $p\right)", p=lambda g, p, k, n: g * beta_density(p, whole(k) + 1, n - whole(k)),  examples=(of((3,), k=2.0, n=5), of((), k=1.0, n=4)), domain=P)
with_parameters(special.nbdtr,  "p | k n", "NB", r"\operatorname{nbdtr}\left($k, $n, $p\right)", p=lambda g, p, k, n: g * beta_density(p, n, k + 1),                    examples=(of((3,), k=2, n=5), of((), k=1, n=4)), domain=P)
with_parameters(special.nbdtrc, "p | k n", "NBᶜ", r"\operatorname{nbdtrc}\left($k, $n, $p\right)", p=lambda g, p, k, n: g * -beta_density(p, n, k + 1),                 examples=(of((3,), k=2, n=5), of((), k=1, n=4)), domain=P)
with_parameters(special.pdtr,   "m | k", "Poisson", r"\operatorname{pdtr}\left($k, $m\right)",   m=lambda g, m, k: g * -gamma_density(m, whole(k) + 1), at={"k": 2.0})
with_parameters(special.pdtrc,  "m | k", "Poissonᶜ", r"\operatorname{pdtrc}\left($k, $m\right)", m=lambda g, m, k: g * gamma_density(m, whole(k) + 1),  at={"k": 2.0})

# The normal distribution and its relatives.
rule(special.ndtri_exp, "x", "Φ⁻¹eˣ", r"\Phi^{-1}\left(e^{$x}\right)", x=lambda g, x, z: g * (ROOT_2 * ROOT_PI * np.exp(x + 0.5 * (z * z))), domain=(-2.0, -0.2))
rule(special.owens_t,   "x y", "T", r"T\left($x, $y\right)", x=lambda g, x, y: g * (-0.5 * normal(x) * special.erf(x * y / ROOT_2)), y=lambda g, x, y: g * (np.exp(-0.5 * (x * x) * (1 + y * y)) / (2 * math.pi * (1 + y * y))))
rule(special.voigt_profile, "x s c", "Voigt", r"V\left($x; $s, $c\right)", domain=(0.5, 2.0), examples=(of((3,), (3,), (3,)), of((), (2,), ())),
     x=lambda g, x, s, c: g * np.real(slope_of_voigt(x, s, c)), c=lambda g, x, s, c: g * -np.imag(slope_of_voigt(x, s, c)),
     s=lambda g, x, s, c, z: g * -(z + np.real(slope_of_voigt(x, s, c) * (x + 1j * c))) / s)
with_parameters(special.tklmbda, "x | lam", "Tukey", r"\operatorname{tklmbda}\left($x, $lam\right)", x=lambda g, z, lam: g / (z ** (lam - 1) + (1 - z) ** (lam - 1)), order=(0, 1), at={"lam": 0.5}, domain=(-1.0, 1.0))

rule(special.kolmogorov, "x", "K", r"K\left($x\right)",         x=lambda g, x: g * density_of_kolmogorov(x), domain=(0.6, 1.5))
rule(special.kolmogi,    "x", "K⁻¹", r"K^{-1}\left($x\right)",  x=lambda g, z: g / density_of_kolmogorov(z), domain=(0.1, 0.8))
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
