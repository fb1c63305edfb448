"""Elliptic integrals and functions, hypergeometric functions, exponential integrals.

Elliptic integrals are by the parameter m = k². All derivatives by m are written with D = (K − E)/m, which stays finite
at m = 0 where K and E meet (DLMF 19.4): E' = −D/2, K' = (K − D) / (2 (1 − m)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from .arithmetic import near_zero, power_series
from .parameters import with_parameters
from .table import COMPOSED, primitive, rule

Array = Any
SMALL = 0.25  # of m: below it D is taken from its power series
POWERS = [math.comb(2 * k, k) / 4**k for k in range(27)]  # of 1/√(1 − u)


def complete_d(m: Array) -> Array:
    """D(m) = (K − E)/m. Its power series: ∫ sin²θ (1 − m sin²θ)^(−1/2) from 0 to π/2, term by term.

    >>> complete_d(np.array([0.0, 0.5])).round(6)
    array([0.785398, 1.006862])
    """
    means = np.cumprod([(2 * k + 1) / (2 * k + 2) for k in range(len(POWERS))]) * (np.pi / 2)
    return near_zero(
        m, SMALL, lambda m: power_series(m, [p * s for p, s in zip(POWERS, means.tolist(), strict=True)]),
        lambda m: (special.ellipk(m) - special.ellipe(m)) / m,
    )  # fmt: skip


def incomplete_d(x: Array, m: Array) -> Array:
    """D(φ, m) = (F − E)/m, for φ in place of π/2: the integrals of sin²ᵏ follow from one another."""
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
    """√(1 − m sin²φ)."""
    return np.sqrt(1 - m * np.sin(x) ** 2)


def slope_in_m(x: Array, m: Array, z: Array) -> Array:
    """∂F/∂m = (F − D − sin φ cos φ/Δ) / (2 (1 − m))."""
    return (z - incomplete_d(x, m) - np.sin(x) * np.cos(x) / delta(x, m)) / (2 * (1 - m))


# fmt: off
PARAMETER = (-0.8, 0.8)
rule(special.ellipk,   "m", "K", r"K\left($m\right)",     m=lambda g, m, z: g * ((z - complete_d(m)) / (2 * (1 - m))),
     domain=PARAMETER)
rule(special.ellipkm1, "x", "K", r"K\left(1 - $x\right)", x=lambda g, x, z: g * ((complete_d(1 - x) - z) / (2 * x)),
     domain=(0.2, 1.8))
rule(special.ellipe,   "m", "E", r"E\left($m\right)",     m=lambda g, m: g * (-0.5 * complete_d(m)),
     domain=PARAMETER)
rule(special.ellipkinc, "x m", "F", r"F\left($x, $m\right)", x=lambda g, x, m: g / delta(x, m),
     m=lambda g, x, m, z: g * slope_in_m(x, m, z),        domain=PARAMETER)
rule(special.ellipeinc, "x m", "E", r"E\left($x, $m\right)", x=lambda g, x, m: g * delta(x, m),
     m=lambda g, x, m: g * (-0.5 * incomplete_d(x, m)),    domain=PARAMETER)
rule(special.agm,       "x y", "agm", r"\operatorname{agm}\left($x, $y\right)",
     x=lambda g, x, y, z: g * (z / x * share_of_mean(x, y)),
     y=lambda g, x, y, z: g * (z / y * (1 - share_of_mean(x, y))), domain=(0.5, 2.0))

# Hypergeometric functions (DLMF 13.3.15, 13.3.22, 15.5.1).
with_parameters(special.hyp0f1, "x | v", "₀F₁", r"{}_0F_1\left($v; $x\right)",
     x=lambda g, x, v: g * (special.hyp0f1(v + 1, x) / v))
with_parameters(special.hyp1f1, "x | a b", "₁F₁", r"{}_1F_1\left($a; $b; $x\right)",
     x=lambda g, x, a, b: g * (a / b * special.hyp1f1(a + 1, b + 1, x)))
with_parameters(special.hyp2f1, "x | a b c", "₂F₁", r"{}_2F_1\left($a, $b; $c; $x\right)",
     x=lambda g, x, a, b, c: g * (a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, x)), domain=(-0.8, 0.6))
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
with_parameters(special.expn, "x | n", "E", r"E_{$n}\left($x\right)", x=lambda g, x, n: g * slope_of_expn(x, n))
# fmt: on


def share_of_mean(x: Array, y: Array) -> Array:
    """x ∂(log agm)/∂x = D/K at m = 1 − (y/x)²; that of y is the rest, since agm(2x, 2y) = 2 agm(x, y)."""
    m = 1 - (y / x) ** 2
    return complete_d(m) / special.ellipk(m)


def slope_of_expn(x: Array, n: Any) -> Array:
    """−Eₙ₋₁(x); E₀ is e⁻ˣ/x."""
    n = np.asarray(n)
    zeroth = np.exp(-x) / x
    return np.where(n > 0, -special.expn(np.maximum(n - 1, 0), x), -zeroth * (1 + 1 / x))


# ---------------------------------------------------------------- Jacobi's elliptic functions


@primitive
def jacobi(u: Array, m: Array, k: int) -> Array:
    """sn, cn, dn or the amplitude φ of :func:`scipy.special.ellipj`."""
    return special.ellipj(u, m)[k]


def jacobi_u(g: Array, u: Array, m: Array, k: int) -> Array:
    """φ' = dn, sn = sin φ, cn = cos φ (DLMF 22.13)."""
    return g * ladder(u, m, k, jacobi(u, m, 2))


def jacobi_m(g: Array, u: Array, m: Array, k: int) -> Array:
    """u = F(φ, m) does not change, so ∂φ/∂m = −dn ∂F/∂m."""
    turn = -jacobi(u, m, 2) * slope_in_m(jacobi(u, m, 3), m, u)
    extra = -(jacobi(u, m, 0) ** 2) / (2 * jacobi(u, m, 2)) if k == 2 else 0
    return g * (ladder(u, m, k, turn) + extra)


def ladder(u: Array, m: Array, k: int, turn: Array) -> Array:
    """How sn, cn, dn, φ change when φ turns: dn = √(1 − m sn²)."""
    if k == 3:
        return turn
    sine, cosine, height = (jacobi(u, m, i) for i in range(3))
    return (cosine, -sine, -m * sine * cosine / height)[k] * turn


rule(jacobi, "u m | k", "sn", r"\operatorname{ellipj}_{$k}\left($u, $m\right)", u=jacobi_u, m=jacobi_m, name="ellipj",
     elementwise=True, domain=(0.1, 0.8))  # fmt: skip
COMPOSED[special.ellipj] = lambda u, m: tuple([jacobi(u, m, k) for k in range(4)])
