"""Functions of scipy.special: read when the first of them meets a node (see doors.py), so SciPy stays optional.

SciPy's special functions are ufuncs, so NumPy asks nodes about them as it does about ``np.exp``. The derivatives are
those of the NIST Digital Library of Mathematical Functions, cited as (DLMF 7.10.1) at https://dlmf.nist.gov. They are
written with functions that have rows themselves, so they can be differentiated again.

Orders and shape parameters (``v`` of jv, ``a`` of gammainc) are options: a node there is refused. Some functions of
SciPy are no ufuncs and turn nodes into plain arrays before anybody is asked; for those write

    logsumexp(x, axis)    np.logaddexp.reduce(x, axis=axis)
    softmax(x, axis)      af.nn.softmax(x, axis=axis)
    log_softmax(x, axis)  af.nn.log_softmax(x, axis=axis)
    polygamma(n, x)       (-1)**(n + 1) * factorial(n) * scipy.special.zeta(n + 1, x)

``logsumexp`` copies the numbers halfway and is refused; ``softplus`` is np.logaddexp, and gradients flow through it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..errors import NoRuleError
from .table import COMPOSED, Example, of, primitive, rule

Array = Any
ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2.0)
zeta = special._ufuncs._zeta  # the ufunc behind special.zeta


def real(x: Array) -> Array:
    """``x`` itself, unless it is complex: of that derivative SciPy has no complex version."""
    if x.dtype.kind == "c":
        raise NoRuleError("this derivative is known for real numbers only: SciPy has no complex version of it")
    return x


def ratio(x: Array, y: Array) -> Array:
    """x / y, and 0 where x is 0, whatever y is: so log's pole at 0 does not count where nothing is multiplied by it."""
    nothing = x == 0
    return np.where(nothing, 0, x / np.where(nothing, 1, y))


def normal(x: Array) -> Array:
    """The density of the normal distribution, exp(−x²/2) / √2π."""
    return np.exp(-0.5 * (x * x)) / (ROOT_2 * ROOT_PI)


def with_parameters(ufunc: Any, arguments: str, label: str, latex: str, *, examples: tuple[Example, ...],
                    domain: tuple[float, float] = (0.5, 2.0), x: Callable[..., Any]) -> None:  # fmt: skip
    """A row for a ufunc whose last argument is differentiated and whose others are options: ``jv(v, x)``.

    In a row operands come first, so it is the row of a function with the arguments the other way round.
    """

    def compute(x: Array, *parameters: Any, **named: Any) -> Array:
        return ufunc(*parameters, *named.values(), x)

    compute.__name__ = compute.__qualname__ = ufunc.__name__
    turned = primitive(compute)
    rule(turned, arguments, label, latex, x=x, elementwise=True, domain=domain, examples=examples)
    COMPOSED[ufunc] = lambda *args: turned(args[-1], *args[:-1])


# ruff: noqa: E501
# fmt: off
# Error functions (DLMF 7.10) and the normal distribution; the derivative of an inverse is one over the derivative.
rule(special.erf,      "x",   "erf",    r"\operatorname{erf} $x",           x=lambda g, x: g * (2 / ROOT_PI * np.exp(-(x * x))),   precedence=3)
rule(special.erfc,     "x",   "erfc",   r"\operatorname{erfc} $x",          x=lambda g, x: g * (-2 / ROOT_PI * np.exp(-(x * x))),  precedence=3)
rule(special.erfcx,    "x",   "erfcx",  r"\operatorname{erfcx} $x",         x=lambda g, x, z: g * (2 * (x * z) - 2 / ROOT_PI),     precedence=3)
rule(special.erfi,     "x",   "erfi",   r"\operatorname{erfi} $x",          x=lambda g, x: g * (2 / ROOT_PI * np.exp(x * x)),      precedence=3)
rule(special.dawsn,    "x",   "dawsn",  r"F\left($x\right)",                x=lambda g, x, z: g * (1 - 2 * (x * z)))
rule(special.erfinv,   "x",   "erf⁻¹",  r"\operatorname{erf}^{-1} $x",      x=lambda g, z: g * (ROOT_PI / 2 * np.exp(z * z)),      precedence=3, domain=(-0.8, 0.8))
rule(special.erfcinv,  "x",   "erfc⁻¹", r"\operatorname{erfc}^{-1} $x",     x=lambda g, z: g * (-ROOT_PI / 2 * np.exp(z * z)),     precedence=3, domain=(0.3, 1.7))
rule(special.ndtr,     "x",   "Φ",      r"\Phi\left($x\right)",             x=lambda g, x: g * normal(x))
rule(special.log_ndtr, "x",   "log Φ",  r"\log \Phi\left($x\right)",        x=lambda g, x: g * (ROOT_2 / ROOT_PI / special.erfcx(x * (-1 / ROOT_2))))
rule(special.ndtri,    "x",   "Φ⁻¹",    r"\Phi^{-1}\left($x\right)",        x=lambda g, z: g / normal(z),                          domain=(0.15, 0.85))

# The logistic function; expit(-x) is 1 - expit(x) without the cancellation.
rule(special.expit,     "x",  "expit",  r"\operatorname{expit} $x",         x=lambda g, x, z: g * (z * special.expit(-x)),         precedence=3)
rule(special.log_expit, "x",  "log expit", r"\log \operatorname{expit} $x", x=lambda g, x: g * special.expit(-x),                  precedence=3)
rule(special.logit,     "x",  "logit",  r"\operatorname{logit} $x",         x=lambda g, x: g / (x * (1 - x)),                      precedence=3, domain=(0.15, 0.85))

# Entropies. 0 log 0 is 0.
rule(special.xlogy,    "x y", "x log y", r"$x \log $y",                     x=lambda g, y: g * np.log(y),   y=lambda g, x, y: g * ratio(x, y),     domain=(0.5, 2.0), precedence=2)
rule(special.xlog1py,  "x y", "x log(1+y)", r"$x \log\left(1 + $y\right)",  x=lambda g, y: g * np.log1p(y), y=lambda g, x, y: g * ratio(x, 1 + y), domain=(0.5, 2.0), precedence=2)
rule(special.entr,     "x",   "entr",   r"-$x \log $x",                     x=lambda g, x: g * (-1 - np.log(x)),                   domain=(0.5, 2.0), precedence=2)
rule(special.rel_entr, "x y", "rel_entr", r"$x \log \frac{$x}{$y}",         x=lambda g, x, y: g * (np.log(x / y) + 1), y=lambda g, x, y: g * -ratio(x, y),      domain=(0.5, 2.0), precedence=2)
rule(special.kl_div,   "x y", "kl_div", r"$x \log \frac{$x}{$y} - $x + $y", x=lambda g, x, y: g * np.log(x / y),       y=lambda g, x, y: g * (1 - ratio(x, y)), domain=(0.5, 2.0), precedence=1)

# Gamma and its relatives (DLMF 5.2.2, 5.12.1, 5.15.1; of zeta by its second argument 25.11.17).
rule(special.gamma,    "x",   "Γ",      r"\Gamma\left($x\right)",           x=lambda g, x, z: g * (z * special.psi(x)),            domain=(0.7, 3.0))
rule(special.gammaln,  "x",   "log Γ",  r"\log \Gamma\left($x\right)",      x=lambda g, x: g * special.psi(x),                     domain=(0.7, 3.0))
rule(special.loggamma, "x",   "log Γ",  r"\log \Gamma\left($x\right)",      x=lambda g, x: g * special.psi(x),                     domain=(0.7, 3.0))
rule(special.psi,      "x",   "ψ",      r"\psi\left($x\right)",             x=lambda g, x: g * zeta(2.0, real(x)),                 domain=(0.7, 3.0))
rule(special.beta,     "x y", "B",      r"B\left($x, $y\right)",            x=lambda g, x, y, z: g * (z * (special.psi(x) - special.psi(x + y))), y=lambda g, x, y, z: g * (z * (special.psi(y) - special.psi(x + y))), domain=(0.7, 3.0))
rule(special.betaln,   "x y", "log B",  r"\log B\left($x, $y\right)",       x=lambda g, x, y: g * (special.psi(x) - special.psi(x + y)),          y=lambda g, x, y: g * (special.psi(y) - special.psi(x + y)),          domain=(0.7, 3.0))
with_parameters(zeta, "x | s", "ζ", r"\zeta\left($s, $x\right)",            x=lambda g, x, s: g * (-s * zeta(s + 1.0, real(x))),   domain=(0.7, 3.0), examples=(of((3,), s=2.0), of((), s=3.5)))

# Incomplete integrals: the derivative is the integrand (DLMF 8.8.13, 8.17.1), by logarithms, so that no power overflows.
with_parameters(special.gammainc,  "x | a", "P", r"P\left($a, $x\right)",   x=lambda g, x, a: g * gamma_density(x, a),             examples=(of((3,), a=1.5), of((), a=2.0)))
with_parameters(special.gammaincc, "x | a", "Q", r"Q\left($a, $x\right)",   x=lambda g, x, a: g * -gamma_density(x, a),            examples=(of((3,), a=1.5), of((), a=2.0)))
with_parameters(special.betainc,  "x | a b", "I", r"I_{$x}\left($a, $b\right)",  x=lambda g, x, a, b: g * beta_density(x, a, b),   domain=(0.15, 0.85), examples=(of((3,), a=1.5, b=2.5), of((), a=2.0, b=1.0)))
with_parameters(special.betaincc, "x | a b", "Iᶜ", r"I^c_{$x}\left($a, $b\right)", x=lambda g, x, a, b: g * -beta_density(x, a, b), domain=(0.15, 0.85), examples=(of((3,), a=1.5, b=2.5), of((), a=2.0, b=1.0)))
rule(special.exp1,     "x",   "E₁",     r"E_1\left($x\right)",              x=lambda g, x: g * (-np.exp(-x) / x),                  domain=(0.5, 2.0))
rule(special.expi,     "x",   "Ei",     r"\operatorname{Ei}\left($x\right)", x=lambda g, x: g * (np.exp(x) / x),                   domain=(0.5, 2.0))

# Bessel functions (DLMF 10.6.1, 10.29.1). Of order 1 as of every order: j0 - j1 / x would be 0 / 0 at 0.
ORDERS = of((3,), v=1.5), of((2, 3), v=0.0), of((), v=2.0)
rule(special.j0, "x", "J₀", r"J_0\left($x\right)", x=lambda g, x: g * -special.j1(x))
rule(special.j1, "x", "J₁", r"J_1\left($x\right)", x=lambda g, x: g * ((special.j0(x) - special.jv(2.0, x)) / 2))
rule(special.y0, "x", "Y₀", r"Y_0\left($x\right)", x=lambda g, x: g * -special.y1(x),                                      domain=(0.5, 2.0))
rule(special.y1, "x", "Y₁", r"Y_1\left($x\right)", x=lambda g, x: g * ((special.y0(x) - special.yv(2.0, x)) / 2),          domain=(0.5, 2.0))
rule(special.i0, "x", "I₀", r"I_0\left($x\right)", x=lambda g, x: g * special.i1(x),                                       name="scipy_i0")
rule(special.i1, "x", "I₁", r"I_1\left($x\right)", x=lambda g, x: g * ((special.i0(x) + special.iv(2.0, x)) / 2))
rule(special.k0, "x", "K₀", r"K_0\left($x\right)", x=lambda g, x: g * -special.k1(x),                                      domain=(0.5, 2.0))
rule(special.k1, "x", "K₁", r"K_1\left($x\right)", x=lambda g, x: g * ((special.k0(x) + special.kv(2.0, x)) / -2),         domain=(0.5, 2.0))
with_parameters(special.jv, "x | v", "J", r"J_{$v}\left($x\right)", x=lambda g, x, v: g * ((special.jv(v - 1, x) - special.jv(v + 1, x)) / 2),  examples=ORDERS)
with_parameters(special.yv, "x | v", "Y", r"Y_{$v}\left($x\right)", x=lambda g, x, v: g * ((special.yv(v - 1, x) - special.yv(v + 1, x)) / 2),  examples=ORDERS)
with_parameters(special.iv, "x | v", "I", r"I_{$v}\left($x\right)", x=lambda g, x, v: g * ((special.iv(v - 1, x) + special.iv(v + 1, x)) / 2),  examples=ORDERS)
with_parameters(special.kv, "x | v", "K", r"K_{$v}\left($x\right)", x=lambda g, x, v: g * ((special.kv(v - 1, x) + special.kv(v + 1, x)) / -2), examples=ORDERS)

# The same, scaled: i0e(x) = exp(-|x|) i0(x), k0e(x) = exp(x) k0(x).
rule(special.i0e, "x", "e⁻ˣI₀", r"e^{-\left|$x\right|} I_0\left($x\right)", x=lambda g, x, z: g * (special.i1e(x) - np.sign(x) * z))
rule(special.i1e, "x", "e⁻ˣI₁", r"e^{-\left|$x\right|} I_1\left($x\right)", x=lambda g, x, z: g * ((special.i0e(x) + special.ive(2.0, x)) / 2 - np.sign(x) * z))
rule(special.k0e, "x", "eˣK₀",  r"e^{$x} K_0\left($x\right)",               x=lambda g, x, z: g * (z - special.k1e(x)),                                    domain=(0.5, 2.0))
rule(special.k1e, "x", "eˣK₁",  r"e^{$x} K_1\left($x\right)",               x=lambda g, x, z: g * (z - (special.k0e(x) + special.kve(2.0, x)) / 2),        domain=(0.5, 2.0))
with_parameters(special.ive, "x | v", "e⁻ˣI", r"e^{-\left|$x\right|} I_{$v}\left($x\right)", x=lambda g, x, v, z: g * ((special.ive(v - 1, x) + special.ive(v + 1, x)) / 2 - np.sign(real(x)) * z), examples=ORDERS)
with_parameters(special.kve, "x | v", "eˣK", r"e^{$x} K_{$v}\left($x\right)",                x=lambda g, x, v, z: g * (z - (special.kve(v - 1, x) + special.kve(v + 1, x)) / 2), examples=ORDERS)
# fmt: on


def gamma_density(x: Array, a: Any) -> Array:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    return np.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))


def beta_density(x: Array, a: Any, b: Any) -> Array:
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)."""
    return np.exp(special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b))
