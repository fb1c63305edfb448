"""Bessel functions and their relatives: Hankel, spherical, Airy, Kelvin, Struve, parabolic cylinder.

Each family has a pair of recurrences, zᵥ' from zᵥ₋₁ and zᵥ₊₁ (DLMF 10.6.1, 10.29.1, 10.51, 11.4), so derivatives of
every order are made of the functions themselves. Unlike forms that divide by x, they also hold at 0.
"""

from __future__ import annotations

import math
from operator import add, sub
from typing import Any

import numpy as np
from scipy import special

from ..base.types import Array
from ..table.parameters import ROOT_PI, check_real, ratio
from ..table.shapes import numbers_of
from ..table.table import COMPOSED, primitive
from .arithmetic import near_zero, power_series
from .distributions import rule, with_parameters  # in double precision: some of SciPy's lose digits in single


def between(function: Any, join: Any, divisor: int = 2) -> Any:
    """The derivative of a function of order v, from its two neighbours."""
    return lambda g, x, v: g * (join(function(v - 1, x), function(v + 1, x)) / divisor)


def add_spherical(kind: str, sign: int, turned: int) -> None:
    """A spherical Bessel function and its derivative, ± :func:`neighbours`."""
    function = with_parameters(getattr(special, f"spherical_{kind}n"), "x | n", kind,
                               x=lambda g, x, n: g * (turned * neighbours(function, n, x, sign)))  # fmt: skip


# fmt: off
# Order 1 is treated as any other: j0 - j1 / x would be 0 / 0 at 0.
rule(special.j0, "x", "J₀", r"J_0\left($x\right)", x=lambda g, x: g * -special.j1(x))
rule(special.j1, "x", "J₁", r"J_1\left($x\right)", x=lambda g, x: g * ((special.j0(x) - special.jv(2.0, x)) / 2))
rule(special.y0, "x", "Y₀", r"Y_0\left($x\right)", x=lambda g, x: g * -special.y1(x), domain=(0.5, 2.0))
rule(special.y1, "x", "Y₁", r"Y_1\left($x\right)", x=lambda g, x: g * ((special.y0(x) - special.yv(2.0, x)) / 2),
     domain=(0.5, 2.0))
rule(special.i0, "x", "I₀", r"I_0\left($x\right)", x=lambda g, x: g * special.i1(x), name="scipy_i0")
rule(special.i1, "x", "I₁", r"I_1\left($x\right)", x=lambda g, x: g * ((special.i0(x) + special.iv(2.0, x)) / 2))
rule(special.k0, "x", "K₀", r"K_0\left($x\right)", x=lambda g, x: g * -special.k1(x), domain=(0.5, 2.0))
rule(special.k1, "x", "K₁", r"K_1\left($x\right)", x=lambda g, x: g * ((special.k0(x) + special.kv(2.0, x)) / -2),
     domain=(0.5, 2.0))
with_parameters(special.jv, "x | v", "J", x=between(special.jv, sub))
with_parameters(special.yv, "x | v", "Y", x=between(special.yv, sub))
with_parameters(special.iv, "x | v", "I", x=between(special.iv, add))
with_parameters(special.kv, "x | v", "K", x=between(special.kv, add, -2))

# The same, scaled: i0e(x) = exp(-|x|) i0(x), k0e(x) = exp(x) k0(x).
rule(special.i0e, "x", "e⁻ˣI₀", r"e^{-\left|$x\right|} I_0\left($x\right)",
     x=lambda g, x, z: g * decay(x, 0, z, -1, lambda x: special.i1e(x) - np.sign(x) * z))
rule(special.i1e, "x", "e⁻ˣI₁", r"e^{-\left|$x\right|} I_1\left($x\right)",
     x=lambda g, x, z: g * decay(x, 1, z, -1, lambda x: (special.i0e(x) + special.ive(2.0, x)) / 2 - np.sign(x) * z))
rule(special.k0e, "x", "eˣK₀",  r"e^{$x} K_0\left($x\right)",
     x=lambda g, x, z: g * decay(x, 0, z, 1, lambda x: z - special.k1e(x)), domain=(0.5, 2.0))
rule(special.k1e, "x", "eˣK₁",  r"e^{$x} K_1\left($x\right)",
     x=lambda g, x, z: g * decay(x, 1, z, 1, lambda x: z - (special.k0e(x) + special.kve(2.0, x)) / 2),
     domain=(0.5, 2.0))
with_parameters(special.ive, "x | v", "e⁻ˣI", r"e^{-\left|$x\right|} I_{$v}\left($x\right)",
     x=lambda g, x, v, z: g * decay(check_real(x), v, z, -1, lambda x: (
         (special.ive(v - 1, x) + special.ive(v + 1, x)) / 2 - np.sign(x) * z)))
with_parameters(special.kve, "x | v", "eˣK", r"e^{$x} K_{$v}\left($x\right)",
     x=lambda g, x, v, z: g * decay(x, v, z, 1, lambda x: z - (special.kve(v - 1, x) + special.kve(v + 1, x)) / 2))
with_parameters(special.jve, "x | v", "J", r"e^{-\left|\operatorname{Im} $x\right|} J_{$v}\left($x\right)",
     x=lambda g, x, v: g * ((special.jv(v - 1, check_real(x)) - special.jv(v + 1, x)) / 2))
with_parameters(special.yve, "x | v", "Y", r"e^{-\left|\operatorname{Im} $x\right|} Y_{$v}\left($x\right)",
     x=lambda g, x, v: g * ((special.yv(v - 1, check_real(x)) - special.yv(v + 1, x)) / 2))
with_parameters(special.yn, "x | n", "Y",
     x=lambda g, x, n: g * ((special.yv(n - 1.0, x) - special.yv(n + 1.0, x)) / 2), whole="n")
with_parameters(special.kn, "x | n", "K",
     x=lambda g, x, n: g * ((special.kv(n - 1.0, x) + special.kv(n + 1.0, x)) / -2), whole="n")

# Hankel functions, H = J ± iY; scaled, h = e^(∓ix) H.
with_parameters(special.hankel1,  "x | v", "H¹", r"H^{(1)}_{$v}\left($x\right)", x=between(special.hankel1, sub))
with_parameters(special.hankel2,  "x | v", "H²", r"H^{(2)}_{$v}\left($x\right)", x=between(special.hankel2, sub))
with_parameters(special.hankel1e, "x | v", "H¹", r"e^{-i $x} H^{(1)}_{$v}\left($x\right)",
     x=lambda g, x, v, z: g * decay(x, v, z, 1j, lambda x: (
         (special.hankel1e(v - 1, x) - special.hankel1e(v + 1, x)) / 2 - 1j * special.hankel1e(v, x))))
with_parameters(special.hankel2e, "x | v", "H²", r"e^{i $x} H^{(2)}_{$v}\left($x\right)",
     x=lambda g, x, v, z: g * decay(x, v, z, -1j, lambda x: (
         (special.hankel2e(v - 1, x) - special.hankel2e(v + 1, x)) / 2 + 1j * special.hankel2e(v, x))))

# Spherical ones, of whole orders. (SciPy's functions are not ufuncs: ``autoflow.special`` has these.)
for family in (("j", -1, 1), ("y", -1, 1), ("i", 1, 1), ("k", 1, -1)):
    add_spherical(*family)

# Struve functions.
with_parameters(special.struve, "x | v", "H",
     x=lambda g, x, v: g * slope_of_struve(special.struve, x, v, -1), precise=True)
with_parameters(special.modstruve, "x | v", "L",
     x=lambda g, x, v: g * slope_of_struve(special.modstruve, x, v, 1), precise=True)

# Kelvin functions, ber + i bei = J₀(x e^(3πi/4)); second derivatives by x² y'' + x y' = i x² y.
rule(special.ber, "x", x=lambda g, x: g * special.berp(x))
rule(special.bei, "x", x=lambda g, x: g * special.beip(x))
rule(special.ker, "x", x=lambda g, x: g * special.kerp(x), domain=(0.5, 2.0))
rule(special.kei, "x", x=lambda g, x: g * special.keip(x), domain=(0.5, 2.0))
rule(special.berp, "x", "ber'", r"\operatorname{ber}' $x", x=lambda g, x, z: g * (-special.bei(x) - over_x(x, z, 0)))
rule(special.beip, "x", "bei'", r"\operatorname{bei}' $x", x=lambda g, x, z: g * (special.ber(x) - over_x(x, z, 1)))
rule(special.kerp, "x", "ker'", r"\operatorname{ker}' $x", domain=(0.5, 2.0),
     x=lambda g, x: g * (-special.kei(x) - special.kerp(x) / x))
rule(special.keip, "x", "kei'", r"\operatorname{kei}' $x", domain=(0.5, 2.0),
     x=lambda g, x: g * (special.ker(x) - ratio(special.keip(x), x)))
COMPOSED[special.kelvin] = lambda x: (special.ber(x) + 1j * special.bei(x), special.ker(x) + 1j * special.kei(x),
                                      special.berp(x) + 1j * special.beip(x), special.kerp(x) + 1j * special.keip(x))
# fmt: on


def over_x(x: Array, z: Array, k: int) -> Array:
    """z/x for z = ber' (k = 0) or bei' (k = 1); near 0 by a series, which has all derivatives there (DLMF 10.65)."""
    terms = [(-1) ** j * (j + k / 2) / math.factorial(2 * j + k) ** 2 for j in range(1 - k, 5)]
    return near_zero(x, 0.5, lambda x: (x / 2) ** (2 - 2 * k) * power_series((x / 2) ** 4, terms), lambda x: z / x)


def decay(x: Array, v: Any, z: Array, sign: complex, formula: Any) -> Array:
    """The derivative of a scaled function z of order v, ``formula(x)``. For a large x, where that subtracts nearly
    equal numbers, by z ~ x^(−1/2) Σ cₖ (sign/x)ᵏ, with cₖ = cₖ₋₁ (4v² − (2k − 1)²)/8k (DLMF 10.17.5, 10.40.1)."""
    left, side = np.real(numbers_of(x)) < 0, np.imag(sign)
    above = side * np.imag(numbers_of(x))  # the series is that of one wave; below the negative axis there are two
    cut = left & (above > -20) & ((above < 0) | ((above == 0) & (side < 0)))
    far = (np.absolute(numbers_of(x)) > 100 * (1 + v * v)) & ~cut
    t = np.where(far, x, 100)
    u = sign / (t if side or x.dtype.kind == "c" else np.absolute(t))
    c, total, slope = 1.0, 1.0, 0.5
    for k in range(1, 9):
        c = c * u * ((4 * v * v - (2 * k - 1) ** 2) / (8 * k))
        total, slope = total + c, slope + (k + 0.5) * c
    return np.where(far, -z / t * slope / total, formula(np.where(far, 1, x)))


def neighbours(function: Any, n: Any, x: Array, sign: int) -> Array:
    """(n zₙ₋₁ ± (n + 1) zₙ₊₁) / (2n + 1): the derivative of a spherical Bessel function (DLMF 10.51.2)."""
    n = np.trunc(n)  # as SciPy takes it
    below = np.where(n > 0, n * function(x, np.maximum(n - 1, 0)), 0)
    return (below + sign * (n + 1) * function(x, n + 1)) / (2 * n + 1)


def slope_of_struve(function: Any, x: Array, v: Any, sign: int) -> Array:
    """(zᵥ₋₁ ± zᵥ₊₁ + r) / 2 with r = (x/2)ᵛ / (√π Γ(v + 3/2)) (DLMF 11.4.25); the z₋₁ below z₀ is r ± z₁ (11.4.23)."""
    least = np.equal(v, 0)
    below = np.where(least, sign, 1) * function(np.where(least, 1, v - 1), x)
    rest = (1 + least) * (x / 2) ** v * (special.rgamma(v + 1.5) / ROOT_PI)
    return (below + sign * function(v + 1, x) + rest) / 2


# ---------------------------------------------------------------- functions that come with their derivatives


@primitive
def airy_part(x: Array, k: int) -> Array:
    """Ai, Ai', Bi or Bi'."""
    return special.airy(x)[k]


rule(airy_part, "x | k", "Ai", r"\operatorname{Airy}_{$k}\left($x\right)", elementwise=True, name="airy",  # Ai'' = x Ai
     x=lambda g, x, k: g * (x * airy_part(x, k - 1) if k % 2 else airy_part(x, k + 1)))  # fmt: skip
COMPOSED[special.airy] = lambda x: tuple([airy_part(x, k) for k in range(4)])


def add_cylinder(name: str) -> Any:
    """Both results of pbdv, pbvv or pbwa: w, and its derivative w'.

    w'' = (x²/4 − v − 1/2) w for Dᵥ and Vᵥ, w'' = (v − x²/4) w for W (DLMF 12.2).
    """
    ufunc = getattr(special, name)

    def compute(x: Array, v: Any, k: int) -> Array:
        return ufunc(v, x)[k]

    compute.__name__ = compute.__qualname__ = name
    part = primitive(compute)

    def cylinder_x(g: Array, x: Array, v: Any, k: int) -> Array:
        if not k:
            return g * part(x, v, 1)
        weight = v - x * x / 4 if name == "pbwa" else x * x / 4 - v - 0.5
        return g * (weight * part(x, v, 0))

    rule(part, "x | v k", "D", r"D_{$v}\left($x\right)", x=cylinder_x, elementwise=True, name=name)
    COMPOSED[ufunc] = lambda v, x: tuple([part(x, v, k) for k in range(2)])
    return part


pbdv, pbvv, pbwa = [add_cylinder(name) for name in ("pbdv", "pbvv", "pbwa")]

# ---------------------------------------------------------------- integrals of them


def add_integrals(name: str, *integrands: Any) -> None:
    """Rows for the results of a ufunc that are integrals up to x."""
    ufunc, several = getattr(special, name), len(integrands) > 1
    parts = [
        with_parameters(ufunc, "x", "∫", rf"\operatorname{{{name}}} $x", x=times(integrand),
                        part=k if several else None, name=f"{name}_{k}" if several else name)
        for k, integrand in enumerate(integrands)
    ]  # fmt: skip
    if several:
        COMPOSED[ufunc] = lambda x: tuple([part(x) for part in parts])


def times(integrand: Any) -> Any:
    """The derivative of an integral up to x."""
    return lambda g, x: g * integrand(x)


def above_one(function: Any, sign: int) -> Any:
    """±(f(x) − 1)/x for J₀ (sign −1) and I₀, and for small x its power series, x/4 ± x³/64 + x⁵/2304."""
    return lambda x: near_zero(
        x, 0.05, lambda x: x * power_series(x * x, [1 / 4, sign / 64, 1 / 2304]), lambda x: sign * (function(x) - 1) / x
    )


add_integrals("itj0y0", special.j0, special.y0)
add_integrals("iti0k0", special.i0, special.k0)
add_integrals("it2j0y0", above_one(special.j0, -1), lambda x: -special.y0(x) / x)
add_integrals("it2i0k0", above_one(special.i0, 1), lambda x: -special.k0(x) / x)
add_integrals("itstruve0", lambda x: special.struve(0, x))
add_integrals("it2struve0", lambda x: -2 / math.pi * near_zero(
    x, 0.05, lambda x: power_series(x * x, [1, -1 / 9, 1 / 225, -1 / 11025]),
    lambda x: math.pi / 2 * special.struve(0, x) / x))  # fmt: skip
add_integrals("itmodstruve0", lambda x: special.modstruve(0, x))
add_integrals("sici", lambda x: np.sinc(x / math.pi), lambda x: np.cos(x) / x)
add_integrals("shichi", lambda x: near_zero(
    x, 0.5, lambda x: power_series(x * x, [1 / math.factorial(2 * k + 1) for k in range(8)]),
    lambda x: np.sinh(x) / x), lambda x: np.cosh(x) / x)  # fmt: skip
add_integrals("fresnel", lambda x: np.sin(math.pi / 2 * (x * x)), lambda x: np.cos(math.pi / 2 * (x * x)))
