"""Distribution functions, the incomplete integrals that they are made of, and their inverses.

The derivative of a distribution function is the density (DLMF 8.8.13, 8.17.1), computed by logarithms so that no power
overflows; that of an inverse is one over the density at the result. Derivatives with respect to parameters are
integrals, which come first here, for gamma, beta and Student's t; an inverse has dz/da = −(∂F/∂a)/density. Then the
rows: counts (k of pdtr, k and n of bdtr) are options, and a node there is refused. The logarithms at the end have no
names in SciPy: ``autoflow.stats`` uses them for tails below 1e-308.

The integrals. A distribution function is F(x) = ∫ p from the left end to x, so its derivative with respect to a
parameter a is ∫ s p, where s = ∂ log p/∂a is the *score*. Over the whole line ∫ s p is zero; hence the same derivative
is −∫ s p from x to the right end. For gamma and beta the score grows (or falls) all the way, so on the side of x that
is away from the middle it has one sign, and nothing cancels. That side is integrated, numerically.

Which variable? In y = log t (gamma), y = logit t (beta) and t = √n sinh θ (Student's t) the density is exp(h) with a
concave h, and without poles at the ends. From x outwards h only falls. Then s = L exp(u − e⁻ᵘ), with L where h has
fallen by 1, turns it into a bell that the trapezoidal rule integrates to rounding (H. Takahasi and M. Mori, "Double
exponential formulas for numerical integration", 1974) with 121 points, the same for every x. They do not depend on the
parameters, so derivatives of the sum are sums of derivatives, and a recorded pass can be differentiated again.

How exact. For parameters from 1e-2 to 1e4: first derivatives to 1e-10, second ones to 1e-6, relative to themselves, as
``tests/rules/test_distributions.py`` compares with mpmath. The limit of the first is the density in front: xᵃ e⁻ˣ/Γ(a)
at a = 1e4 is the exponential of a difference of numbers near 1e5. A second derivative that passes through 0 is right to
1e-6 of 1e-5 |∂F/∂a|/a, since it is a difference of larger numbers.

Memory: 121 numbers for each element of a block of 4,096; in a recorded pass, for every element.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..base.types import AnyFunction, ByName, F
from ..table import parameters, table
from ..table.parameters import ROOT_2, ROOT_PI, flat_at_infinity, in_double, normal, ratio
from ..table.shapes import Array, as_dtype, is_on_host, like_argument, numbers_of, together
from ..table.table import kernel
from .arithmetic import LN2, branch, power_series

rule = functools.partial(table.rule, precise=True)
with_parameters = functools.partial(parameters.with_parameters, precise=True)


def primitive(compute: F) -> F:
    """:func:`~..table.table.primitive` of a function that computes in double precision."""
    return table.primitive(in_double(compute))


# ---------------------------------------------------------------- integrals: points and weights

BLOCK = 4096
PLAIN = {np.ndarray, np.float64, np.float32, float, int}
_U = np.arange(-53, 68) / 16
POINTS = np.exp(_U - np.exp(-_U))  # from 1e-13 to 65: everything beyond is below e⁻⁶⁵
WEIGHTS = POINTS * (1 + np.exp(-_U)) / 16
_X, _W = np.polynomial.legendre.leggauss(len(POINTS))
NODES, NODE_WEIGHTS = (1 - _X) / 2, _W / 2  # on (0, 1), as many


def in_blocks(function: Any) -> Any:
    """An elementwise function of plain arrays, computed for 4,096 elements at a time."""

    @functools.wraps(function)
    def run(*xs: Array, **options: Any) -> Array:
        shape = np.broadcast_shapes(*[np.shape(x) for x in xs])
        if math.prod(shape) <= BLOCK or not all([type(x) in PLAIN for x in xs]):
            return function(*xs, **options)
        flat = [x.ravel() for x in np.broadcast_arrays(*xs)]
        starts = range(0, flat[0].size, BLOCK)
        return np.concatenate([function(*[x[i : i + BLOCK] for x in flat], **options) for i in starts]).reshape(shape)

    return run


def spread(*xs: Array) -> list[Array]:
    """Parameters in double precision, with a last axis for the points."""
    return [as_dtype(x, np.float64)[..., None] for x in together(*xs)]


def made_at(x: Array, points: Array) -> Array:
    """The points where ``x`` is."""
    return np.asarray(points, like=like_argument(x))


def lengths(exponent: Callable[..., Array], start: Array, *parameters: Array) -> Array:
    """Where h has fallen by 1, up to a factor of 2 or so; ``start`` is not beyond it. Plain numbers."""
    fixed, length = [numbers_of(p) for p in parameters], numbers_of(start)
    for _ in range(16):
        length = np.where(exponent(length, *fixed) > -1, 2 * length, length)
    return length


def tail(exponent: Callable[..., Array], start: Array, *parameters: Array) -> tuple[Array, Array]:
    """Points s and weights of ∫ f(s) exp(h(s)) from 0 to ∞, on the last axis, where h(s) = exponent(s, *parameters)."""
    length = lengths(exponent, start, *parameters)
    s = length * made_at(length, POINTS)
    return s, np.exp(exponent(s, *parameters)) * (length * made_at(length, WEIGHTS))


def psi_difference(a: Array, b: Array) -> Array:
    """ψ(a + b) − ψ(a) for positive a and b, exact also where it is small (b ≪ a): the recurrence until a is large
    (DLMF 5.5.2), then the asymptotic series (DLMF 5.11.2), both as differences that are written out.

    >>> psi_difference(np.array([1.0, 1e8]), np.array([1.0, 1e-8]))
    array([1.e+00, 1.e-16])
    """
    total = 0.0
    for k in range(12):
        total = total + b / ((a + k) * (a + b + k))
    a = a + 12
    log = np.log1p(b / a)
    total = total + log + b / (2 * a * (a + b))
    for k, bernoulli in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730), 1):
        total = total - bernoulli / (2 * k) * np.expm1(-2 * k * log) * (1 / a) ** (2 * k)  # a¹² is beyond float16
    return total


# ---------------------------------------------------------------- integrals: gamma


def gamma_exponent(s: Array, a: Array, x: Array, sign: Array) -> Array:
    """log of tᵃ e⁻ᵗ at t = x e^(± s), less that at x."""
    return sign * a * s - x * np.expm1(sign * s)


def gamma_sign(a: Array, x: Array) -> Array:
    """−1 where the integral goes from 0 to x, 1 where it goes from x on. Plain.

    For a small a nearly everything is near 0, but for a part as large as a: the upper side, unless x is small, too."""
    a, x = numbers_of(a), numbers_of(x)
    return np.where(x < np.maximum(a, 0.2), -1.0, 1.0)


def gamma_tail(a: Array, x: Array, sign: Array) -> tuple[Array, Array]:
    """For 0 < x < ∞: log t at the points on that side, and the weights."""
    a, x, sign = spread(a, x, sign)
    fixed, at = numbers_of(a), numbers_of(x)
    steep = np.maximum(np.absolute(fixed - at), np.sqrt(at))
    start = np.where(sign > 0, 1 / np.maximum(steep, 1), np.maximum(1 / steep, 1 / fixed))
    s, w = tail(gamma_exponent, start, a, x, sign)
    return np.log(x) + sign * s, w


def gamma_mass(a: Array, x: Array, upper: bool) -> Array:
    """The part of the gamma distribution on that side, in units of xᵃ e⁻ˣ/Γ(a), for 0 < x < ∞."""
    return np.sum(gamma_tail(a, x, np.asarray(1.0 if upper else -1.0))[1], axis=-1)


@in_blocks
def gamma_score(a: Array, x: Array) -> Array:
    """∂P/∂a in units of xᵃ e⁻ˣ/Γ(a + 1) for P = gammainc(a, x), a ≥ 0; 0 at both ends."""
    inside = (numbers_of(x) > 0) & np.isfinite(numbers_of(x))
    x = np.where(inside, x, 1)
    sign = gamma_sign(a, x)
    # Below a = 1 the left side is long, and the score there nearly cancels. So it is computed for a + 1, by
    # P(a, x) = P(a + 1, x) + xᵃ e⁻ˣ/Γ(a + 1) (DLMF 8.8.5).
    small = (sign < 0) & (numbers_of(a) < 1)
    moved = a + 1.0 * small
    log, w = gamma_tail(moved, x, sign)
    psi, factor = spread(special.psi(moved + 1), moved)
    score = -sign * np.sum((factor * (log - psi) + 1) * w, axis=-1)  # ψ(a) is ψ(a + 1) − 1/a, which is ∞ at 0
    score = np.where(small, score * x / (a + 1) + np.log(x) - special.psi(a + 1), score)
    return np.where(inside, score, 0)


def gamma_unit(a: Array, x: Array) -> Array:
    """log of xᵃ e⁻ˣ/Γ(a)."""
    return special.xlogy(a, x) - x - special.gammaln(a)


@flat_at_infinity
def gammainc_a(a: Array, x: Array) -> Array:
    """∂P/∂a for P = gammainc(a, x): ∫ (log t − ψ(a)) tᵃ⁻¹ e⁻ᵗ/Γ(a).

    >>> gammainc_a(np.array([1.0]), np.array([1.0])).round(6)
    array([-0.43173])
    """
    return gamma_density(x, a + 1.0) * gamma_score(a, x)


# ---------------------------------------------------------------- integrals: beta


def beta_exponent(s: Array, a: Array, b: Array, y: Array, sign: Array) -> Array:
    """log of tᵃ (1 − t)ᵇ at logit t = y ± s, less that at y; for a small s as log1p, since a and b may be large."""
    small, d = numbers_of(s) < 1, sign * s
    r = np.where(small, d, 0)
    left, right = [
        np.where(small, -np.log1p(np.expm1(-p * r) * special.expit(-p * y)),
                 special.log_expit(p * (y + d)) - special.log_expit(p * y))
        for p in (1, -1)
    ]  # fmt: skip
    return a * left + b * right


def beta_tail(a: Array, b: Array, x: Array) -> tuple[Array, Array, Array]:
    """For 0 < x < 1: logit t at the points, the weights, and −1 where they are below x, 1 where above."""
    a, b, x = spread(a, b, x)
    m, n, at = numbers_of(a), numbers_of(b), numbers_of(x)
    sign = np.where(at < m / (m + n), -1.0, 1.0)
    steep = np.maximum(np.absolute(m * (1 - at) - n * at), np.sqrt((m + n) * at * (1 - at)))
    y = special.logit(x)
    start = np.maximum(1 / steep, 1 / np.where(sign > 0, n, m))
    s, w = tail(beta_exponent, start, a, b, y, sign)
    return y + sign * s, w, sign[..., 0]


def beta_mass(a: Array, b: Array, x: Array) -> Array:
    """The smaller part of the beta distribution, in units of xᵃ (1 − x)ᵇ/B(a, b), for 0 < x < 1."""
    return np.sum(beta_tail(a, b, x)[1], axis=-1)


@in_blocks
def beta_score(a: Array, b: Array, x: Array, *, of_b: bool = False) -> Array:
    """∂I/∂a (or ∂I/∂b) in units of xᵃ (1 − x)ᵇ/B(a, b) for I = betainc(a, b, x); 0 at both ends."""
    inside = (numbers_of(x) > 0) & (numbers_of(x) < 1)
    y, w, sign = beta_tail(a, b, np.where(inside, x, 0.5))
    mine, other = spread(b, a) if of_b else spread(a, b)
    score = special.log_expit(-y if of_b else y) + psi_difference(mine, other)
    return np.where(inside, -sign * np.sum(score * w, axis=-1), 0)


def beta_unit(a: Array, b: Array, x: Array) -> Array:
    """log of xᵃ (1 − x)ᵇ/B(a, b)."""
    return special.xlogy(a, x) + special.xlog1py(b, -x) - special.betaln(a, b)


@flat_at_infinity
def betainc_a(a: Array, b: Array, x: Array, *, of_b: bool = False) -> Array:
    """∂I/∂a (or ∂I/∂b) for I = betainc(a, b, x): ∫ (log t − ψ(a) + ψ(a + b)) of the density; 0 at both ends.

    >>> betainc_a(np.array([1.0]), np.array([1.0]), np.array([0.5])).round(6)  # I is xᵃ, so x log x
    array([-0.346574])
    """
    return times_powers(a, x, b, x, -special.betaln(a, b)) * beta_score(a, b, x, of_b=of_b)


# ---------------------------------------------------------------- integrals: Student's t


def log_cosh(x: Array) -> Array:
    """log cosh x for x ≥ 0, exact for small x and without overflow."""
    near = numbers_of(x) < 1
    return branch(near, x, lambda x: 0.5 * np.log1p(np.sinh(x) ** 2), lambda x: x + np.log1p(np.exp(-2 * x)) - LN2)


@primitive
def log_half_step(x: Array) -> Array:
    """log Γ(x + ½) − log Γ(x), which for a large x is a small difference of large numbers."""
    return 0.5 * math.log(math.pi) - special.betaln(x, 0.5)


rule(log_half_step, "x", "log Γ½", r"\log \frac{\Gamma\left($x + \frac{1}{2}\right)}{\Gamma\left($x\right)}",
     x=lambda g, x: g * psi_difference(x, 0.5), domain=(0.7, 3.0), elementwise=True)  # fmt: skip


def log1p_square(x: Array) -> Array:
    """log(1 + x²), also where x² overflows."""
    far = np.absolute(numbers_of(x)) > 1e8
    return branch(far, x, lambda x: 2 * np.log(np.absolute(x)), lambda x: np.log1p(x * x), (1, 0))


def t_exponent(s: Array, n: Array, x: Array) -> Array:
    """log of cosh⁻ⁿ at x + s, less that at x; for a small s as log1p, since n may be large."""
    small = numbers_of(s) < 1
    r = np.where(small, s, 0)
    near = np.log1p(2 * np.sinh(r / 2) ** 2 + np.tanh(x) * np.sinh(r))
    return -n * np.where(small, near, log_cosh(x + s) - log_cosh(x))


def t_unit(n: Array, t: Array) -> Array:
    """log of the density times √(n + t²): Γ((n + 1)/2)/(√π Γ(n/2)) cosh⁻ⁿ θ, for t of either sign."""
    theta = np.arcsinh(np.absolute(t) / np.sqrt(n))
    return log_half_step(n / 2) - 0.5 * math.log(math.pi) - n * log_cosh(theta)


def t_start(n: Array, x: Array) -> Array:
    """About how far from x log cosh⁻ⁿ has fallen by 1."""
    return 1 / np.maximum(n * np.tanh(x), np.sqrt(n))


def t_mass(n: Array, t: Array) -> Array:
    """1 − F(t) in units of the density times √(n + t²), for t > 0."""
    n, t = spread(n, t)
    x = np.arcsinh(t / np.sqrt(n))
    return np.sum(tail(t_exponent, t_start(numbers_of(n), numbers_of(x)), n, x)[1], axis=-1)


@in_blocks
def t_score(n: Array, t: Array) -> Array:
    """∂F/∂n for F = stdtr(n, t) in units of the density times √(n + t²). F(−t) = 1 − F(t), so a positive t is enough.

    The score is half of ψ((n + 1)/2) − ψ(n/2) − 1/n − 2 log cosh θ + (1 + 1/n) tanh² θ. It changes sign once, near
    t = 1.5 for a large n; beyond that the tail is integrated, below it the part from 0 to t.
    """
    side = np.where(numbers_of(t) < 0, -1.0, 1.0)
    n, x = spread(n, side * t)
    x = np.arcsinh(x / np.sqrt(n))
    many, at = numbers_of(n), numbers_of(x)
    near = at * np.sqrt(np.maximum(many, 1)) < 1.5
    length = lengths(t_exponent, t_start(many, at), n, x)
    s = np.where(near, -x * made_at(at, NODES), length * made_at(at, POINTS))
    w = np.where(near, x * made_at(at, NODE_WEIGHTS), -length * made_at(at, WEIGHTS))
    theta = x + s
    score = psi_difference(n / 2, 0.5) - 1 / n - 2 * log_cosh(theta) + (1 + 1 / n) * np.tanh(theta) ** 2
    return side * np.sum(0.5 * score * np.exp(t_exponent(s, n, x)) * w, axis=-1)


# ---------------------------------------------------------------- powers, at 0 as well

INSIDE, P = (0.15, 0.85), (0.2, 0.8)


@primitive
def log_powers(c: Array, x: Array, e: Array, y: Array, r: Array) -> Array:
    """c log x + e log(1 − y) + r; −∞ where r is, however large x is."""
    powers = special.xlogy(c, x) + special.xlog1py(e, -y)
    return np.where(r == -np.inf, r, powers + r)


@primitive
def times_powers(c: Array, x: Array, e: Array, y: Array, r: Array) -> Array:
    """xᶜ (1 − y)ᵉ eʳ. Its derivatives are such products again, which hold where x is 0 or y is 1; those of exp(c log x)
    do not."""
    return np.exp(log_powers(c, x, e, y, r))


def slope_times_log(z: Array, log: Array) -> Array:
    """z log, and 0 where z is 0."""
    return np.where(z == 0, 0, z * np.where(z == 0, 0, log))


def one_less(c: Array) -> Array:
    """The exponent of the derivative c xᶜ⁻¹, which for c = 0 is 0, whatever x is."""
    return np.where(c == 0, 0, c - 1)


rule(log_powers, "c x e y r", "log xᶜ", r"$c \log $x + $e \log\left(1 - $y\right) + $r",
     elementwise=True, domain=INSIDE, c=lambda g, x: g * np.log(x), x=lambda g, c, x: g * ratio(c, x),
     e=lambda g, y: g * np.log1p(-y), y=lambda g, e, y: g * -ratio(e, 1 - y), r=lambda g: g)  # fmt: skip
rule(times_powers, "c x e y r", "xᶜ", r"$x^{$c} \left(1 - $y\right)^{$e} e^{$r}", elementwise=True, domain=INSIDE,
     c=lambda g, x, z: g * slope_times_log(z, np.log(x)), e=lambda g, y, z: g * slope_times_log(z, np.log1p(-y)),
     x=lambda g, c, x, e, y, r: g * (c * times_powers(one_less(c), x, e, y, r)),
     y=lambda g, c, x, e, y, r: g * (-e * times_powers(c, x, one_less(e), y, r)), r=lambda g, z: g * z)  # fmt: skip

# ---------------------------------------------------------------- the rows: densities, distribution functions, inverses


@flat_at_infinity
def gamma_density(x: Array, a: Any) -> Array:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    none = np.result_type(x).type(0)
    return times_powers(a - 1.0, x, none, none, -x - special.gammaln(a))


@flat_at_infinity
def beta_density(x: Array, a: Any, b: Any) -> Array:
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b); 0 if a or b is 0, as B is infinite and everything lies at one end."""
    return times_powers(a - 1.0, x, b - 1.0, x, -special.betaln(a, b))


def t_density(t: Array, df: Any) -> Array:
    """Γ((n + 1)/2) / (√(πn) Γ(n/2)) (1 + t²/n)^(−(n + 1)/2); the normal density for n = ∞."""
    limit = np.isinf(numbers_of(df))
    df = np.where(limit, 1, df) if hasattr(df, "dtype") else df
    log = log_half_step(df / 2) - 0.5 * np.log(df * math.pi) - (df + 1) / 2 * log1p_square(t / np.sqrt(df))
    return np.where(limit, normal(t), np.exp(log))


@flat_at_infinity
def f_density(x: Array, m: Any, n: Any) -> Array:
    """w = m x/(n + m x) has a beta distribution: its density times dw/dx = m n/(n + m x)²."""
    total = n + m * x
    return beta_density(m * x / total, m / 2, n / 2) * (m * n) / (total * total)


@flat_at_infinity
def gdtr_x(a: Array, x: Array, b: Array) -> Array:
    """∂P(b, a x)/∂x; 0 for a = 0, where nothing changes."""
    nothing = numbers_of(a) == 0
    return np.where(nothing, 0, a * gamma_density(np.where(nothing, 1, a) * x, b))


@flat_at_infinity
def stdtr_n(n: Array, t: Array) -> Array:
    """∂F/∂n for F = stdtr(n, t)."""
    return np.exp(t_unit(n, t)) * t_score(n, t)


def moved_gamma(a: Array, z: Array) -> Array:
    """dz/da for the z with P(a, z) = p; 0 at 0."""
    return -ratio(z, a) * gamma_score(a, z)


def moved_beta(a: Array, b: Array, z: Array, of_b: bool = False) -> Array:
    """dz/da (or dz/db) for the z with I(a, b, z) = p: the units of the score are z (1 − z) times the density."""
    return -(z * (1 - z)) * beta_score(a, b, z, of_b=of_b)


def of_beta_quantiles(function: AnyFunction, sign: int) -> ByName:
    """The derivatives of a function that inverts I(a, b, z), or its complement, whose slope has the other sign."""

    def exact(g: Array, a: Array, b: Array, x: Array, z: Array) -> Array:
        """z; what single precision has left of 1 − z may be nothing, so there it is computed again."""
        return z if g.dtype.itemsize >= 8 else function(a, b, x)

    return {
        "a": lambda g, a, b, x, z: g * moved_beta(a, b, exact(g, a, b, x, z)),
        "b": lambda g, a, b, x, z: g * moved_beta(a, b, exact(g, a, b, x, z), True),
        "x": lambda g, x, z, a, b: g * sign / beta_density(exact(g, a, b, x, z), a, b),
    }


@flat_at_infinity
def fdtr_m(m: Array, n: Array, x: Array, *, of_n: bool = False) -> Array:
    """∂F/∂m (or ∂F/∂n) for F = I(m/2, n/2) at w = m x/(n + m x); dw/dm = w (1 − w)/m, dw/dn = −w (1 − w)/n."""
    w = m * x / (n + m * x)
    turn = times_powers(m / 2, w, n / 2, w, -special.betaln(m / 2, n / 2)) / (-n if of_n else m)
    return 0.5 * betainc_a(m / 2, n / 2, w, of_b=of_n) + turn


@kernel
def skew_normal(x: Array, a: Array) -> Array:
    """The distribution function of ``scipy.stats.skewnorm``: Φ(x) − 2 T(x, a)."""
    import scipy.stats

    several = [z.copy() for z in np.broadcast_arrays(*np.atleast_1d(x, a))]
    return np.reshape(scipy.stats.skewnorm._cdf(*several), np.broadcast_shapes(x.shape, a.shape))


def whole(k: Any) -> Array:
    """Counts: SciPy rounds them down. Those below 0 are all alike."""
    return np.maximum(np.floor(k), -1)


# fmt: off
rule(special.gammainc,  "a x", "P", r"P\left($a, $x\right)", a=lambda g, a, x: g * gammainc_a(a, x),
     x=lambda g, a, x: g * gamma_density(x, a),  domain=(0.5, 2.0))
rule(special.gammaincc, "a x", "Q", r"Q\left($a, $x\right)", a=lambda g, a, x: g * -gammainc_a(a, x),
     x=lambda g, a, x: g * -gamma_density(x, a), domain=(0.5, 2.0))
rule(special.gammaincinv,  "a x", "P⁻¹", r"P^{-1}\left($a, $x\right)", a=lambda g, a, z: g * moved_gamma(a, z),
     x=lambda g, z, a: g / gamma_density(z, a),  domain=P)
rule(special.gammainccinv, "a x", "Q⁻¹", r"Q^{-1}\left($a, $x\right)", a=lambda g, a, z: g * moved_gamma(a, z),
     x=lambda g, z, a: -g / gamma_density(z, a), domain=P)
rule(special.betainc,  "a b x", "I", r"I_{$x}\left($a, $b\right)",    a=lambda g, a, b, x: g * betainc_a(a, b, x),
     b=lambda g, a, b, x: g * betainc_a(a, b, x, of_b=True),  x=lambda g, x, a, b: g * beta_density(x, a, b),
     domain=INSIDE)
rule(special.betaincc, "a b x", "Iᶜ", r"I^c_{$x}\left($a, $b\right)", a=lambda g, a, b, x: g * -betainc_a(a, b, x),
     b=lambda g, a, b, x: g * -betainc_a(a, b, x, of_b=True), x=lambda g, x, a, b: g * -beta_density(x, a, b),
     domain=INSIDE)
rule(special.betaincinv,  "a b x", "I⁻¹", r"I^{-1}_{$x}\left($a, $b\right)", domain=P,
     **of_beta_quantiles(special.betaincinv, 1))
rule(special.betainccinv, "a b x", "Iᶜ⁻¹", r"\left(I^c_{$x}\right)^{-1}\left($a, $b\right)", domain=P,
     **of_beta_quantiles(special.betainccinv, -1))

# χ², F, gamma and t. In the gamma distribution a multiplies x.
rule(special.chdtr,  "v x", "χ²", r"\chi^2\left($v, $x\right)",
     v=lambda g, v, x: g * (0.5 * gammainc_a(v / 2, x / 2)),  x=lambda g, x, v: g * (0.5 * gamma_density(x / 2, v / 2)),
     domain=(0.5, 2.0))
rule(special.chdtrc, "v x", "χ²ᶜ", r"\chi^{2c}\left($v, $x\right)",
     v=lambda g, v, x: g * (-0.5 * gammainc_a(v / 2, x / 2)),
     x=lambda g, x, v: g * (-0.5 * gamma_density(x / 2, v / 2)), domain=(0.5, 2.0))
rule(special.chdtri, "v x", "χ²⁻¹", r"\chi^{-2}\left($v, $x\right)",
     v=lambda g, v, z: g * moved_gamma(v / 2, z / 2), x=lambda g, z, v: -2 * g / gamma_density(z / 2, v / 2), domain=P)
rule(special.fdtr,   "m n x", "F", r"F\left($m, $n, $x\right)",        m=lambda g, m, n, x: g * fdtr_m(m, n, x),
     n=lambda g, m, n, x: g * fdtr_m(m, n, x, of_n=True),  x=lambda g, x, m, n: g * f_density(x, m, n),
     domain=(0.5, 2.0))
rule(special.fdtrc,  "m n x", "Fᶜ", r"F^c\left($m, $n, $x\right)",     m=lambda g, m, n, x: g * -fdtr_m(m, n, x),
     n=lambda g, m, n, x: g * -fdtr_m(m, n, x, of_n=True), x=lambda g, x, m, n: g * -f_density(x, m, n),
     domain=(0.5, 2.0))
with_parameters(special.fdtri,  "x | m n", "F⁻¹", r"F^{-1}\left($m, $n, $x\right)",
     x=lambda g, z, m, n: g / f_density(z, m, n), domain=P)
rule(special.gdtr,   "a b x", "Γ", r"\operatorname{gdtr}\left($a, $b, $x\right)",
     a=lambda g, a, b, x: g * gdtr_x(x, a, b), b=lambda g, a, b, x: g * gammainc_a(b, a * x),
     x=lambda g, a, x, b: g * gdtr_x(a, x, b), domain=(0.5, 2.0))
rule(special.gdtrc,  "a b x", "Γᶜ", r"\operatorname{gdtrc}\left($a, $b, $x\right)",
     a=lambda g, a, b, x: g * -gdtr_x(x, a, b), b=lambda g, a, b, x: g * -gammainc_a(b, a * x),
     x=lambda g, a, x, b: g * -gdtr_x(a, x, b), domain=(0.5, 2.0))
rule(special.gdtrix, "a b x", "Γ⁻¹", r"\operatorname{gdtrix}\left($a, $b, $x\right)", a=lambda g, a, z: g * (-z / a),
     b=lambda g, a, b, z: g * (-ratio(z, b) * gamma_score(b, a * z)),
     x=lambda g, a, z, b: g / (a * gamma_density(a * z, b)), domain=P)
rule(special.stdtr,   "n t", "t", r"t_{$n}\left($t\right)",
     n=lambda g, n, t: g * stdtr_n(n, t), t=lambda g, t, n: g * t_density(t, n), domain=(0.5, 2.0))
rule(special.stdtrit, "n x", "t⁻¹", r"t^{-1}_{$n}\left($x\right)",
     n=lambda g, n, z: g * (-np.sqrt(n + z * z) * t_score(n, z)), x=lambda g, z, n: g / t_density(z, n), domain=P)

# Counts: slopes with respect to the probability p or the mean m. For whole n and k they are incomplete integrals.
with_parameters(special.bdtr,   "p | k n", "B", r"\operatorname{bdtr}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * -beta_density(p, whole(k) + 1, n - whole(k)), domain=P, whole="n")
with_parameters(special.bdtrc,  "p | k n", "Bᶜ", r"\operatorname{bdtrc}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * beta_density(p, whole(k) + 1, n - whole(k)), domain=P, whole="n")
with_parameters(special.nbdtr,  "p | k n", "NB", r"\operatorname{nbdtr}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * beta_density(p, n, k + 1), domain=P, whole="k n")
with_parameters(special.nbdtrc, "p | k n", "NBᶜ", r"\operatorname{nbdtrc}\left($k, $n, $p\right)",
     p=lambda g, p, k, n: g * -beta_density(p, n, k + 1), domain=P, whole="k n")
with_parameters(special.pdtr,   "m | k", "Poisson", r"\operatorname{pdtr}\left($k, $m\right)",
     m=lambda g, m, k: g * -gamma_density(m, whole(k) + 1))
with_parameters(special.pdtrc,  "m | k", "Poissonᶜ", r"\operatorname{pdtrc}\left($k, $m\right)",
     m=lambda g, m, k: g * gamma_density(m, whole(k) + 1))

# The normal distribution and its relatives.
rule(special.ndtri_exp, "x", "Φ⁻¹eˣ", r"\Phi^{-1}\left(e^{$x}\right)",
     x=lambda g, z: g * (ROOT_PI / ROOT_2 * special.erfcx(z * (-1 / ROOT_2))), domain=(-2.0, -0.2))
rule(special.owens_t,   "x y", "T", r"T\left($x, $y\right)",
     x=lambda g, x, y: g * (-0.5 * normal(x) * special.erf(x * y / ROOT_2)),
     y=lambda g, x, y: g * (np.exp(-0.5 * (x * x) * (1 + y * y)) / (2 * math.pi * (1 + y * y))))
rule(skew_normal,       "x a", "F", r"F\left($x; $a\right)", elementwise=True, name="skewnorm",
     x=lambda g, x, a: g * (2 * normal(x) * special.ndtr(a * x)),
     a=lambda g, x, a: g * (np.exp(-0.5 * (x * x) * (1 + a * a)) / (-math.pi * (1 + a * a))))
rule(special.voigt_profile, "x s c", "Voigt", r"V\left($x; $s, $c\right)", domain=(0.5, 2.0),
     x=lambda g, x, s, c: g * np.real(slope_of_voigt(x, s, c)),
     c=lambda g, x, s, c: g * -np.imag(slope_of_voigt(x, s, c)), s=lambda g, x, s, c: g * voigt_s(x, s, c))
with_parameters(special.tklmbda, "x | lam", "Tukey", r"\operatorname{tklmbda}\left($x, $lam\right)",
     x=lambda g, z, lam: g * density_of_tukey(z, lam), order=(0, 1), domain=(-1.0, 1.0))

rule(special.kolmogorov, "x", "K", r"K\left($x\right)",         x=lambda g, x: g * density_of_kolmogorov(x),
     domain=(0.6, 1.5))
rule(special.kolmogi,    "x", "K⁻¹", r"K^{-1}\left($x\right)",  x=lambda g, z: g / density_of_kolmogorov(z),
     domain=(0.1, 0.8))
# fmt: on


# The coefficients of the series Σ (2k + 1)!! qᵏ.
ODD_FACTORIALS: list[float] = [math.prod(range(1, 2 * k + 2, 2)) for k in range(9)]


def beyond_peak(x: Array, s: Array, c: Array) -> tuple[Array, Array, Array]:
    """Where y = x + ic is so far from a peak of width s that V(x) is Re i/(πy) Σ (2k − 1)!! qᵏ with q = (s/y)² (DLMF
    7.12.1); y there, and q. The closed form subtracts nearly equal numbers, and divides by s, which may be 0."""
    y = x + 1j * c
    far = (numbers_of(c) >= 0) & (numbers_of(s) >= 0) & (np.absolute(numbers_of(y)) > 42 * numbers_of(s))
    y = np.where(far, y, 1)
    return far, y, (np.where(far, s, 0) / y) ** 2


@flat_at_infinity
def slope_of_voigt(x: Array, s: Array, c: Array) -> Array:
    """∂V/∂x − i ∂V/∂c: V = Re w(t)/(s √2π) with t = (x + ic)/(s √2), and w' = −2tw + 2i/√π (DLMF 7.10.2)."""
    far, y, q = beyond_peak(x, s, c)
    size = np.where(far, 1, ROOT_2 * s)
    t = np.where(far, 0, x + 1j * c) / size
    near = (-2 * (t * special.wofz(t)) + 2j / ROOT_PI) / (ROOT_PI * size * size)
    return np.where(far, -1j / math.pi / y / y * power_series(q, ODD_FACTORIALS), near)


@flat_at_infinity
def voigt_s(x: Array, s: Array, c: Array) -> Array:
    """∂V/∂s: V is 1/s times a function of x/s and c/s. It also solves the heat equation: s ∂²V/∂x²."""
    far, y, q = beyond_peak(x, s, c)
    curve = 2j / math.pi / y / y / y * power_series(q, [(k + 1) * n for k, n in enumerate(ODD_FACTORIALS)])
    value = special.voigt_profile(x, s, c)  # the node's own lacks digits in single precision
    near = -(value + np.real(slope_of_voigt(x, s, c) * (x + 1j * c))) / np.where(far, 1, s)
    return np.where(far, s * np.real(curve), near)


def density_of_tukey(z: Array, lam: Any) -> Array:
    """One over the derivative of the quantile (zˡ − (1 − z)ˡ)/l; 0 outside of the support (bounded if l > 0)."""
    outside = (numbers_of(z) <= 0) | (numbers_of(z) >= 1)
    z = np.where(outside, 0.5, z)
    return np.where(outside, 0, 1 / (z ** (lam - 1) + (1 - z) ** (lam - 1)))


def density_of_kolmogorov(x: Array) -> Array:
    """The derivative of :func:`scipy.special.kolmogorov`, −8x Σ (−1)ᵏ⁻¹ k² exp(−2k²x²). For x < 1 the other form of
    that theta function, √(2π)/x Σ exp(−c/x²) with c = (2k − 1)²π²/8, converges faster (DLMF 20.7.32)."""
    near, inside = numbers_of(x) < 1, ~((numbers_of(x) <= 0.04) | (numbers_of(x) >= 20))  # 0 beyond, to 1e-300
    t, u = np.where(near | ~inside, 1, x), np.where(near & inside, x, 1)
    far, close = 0 * t, 0 * u
    for k in range(1, 6):
        far = far + (-1) ** (k - 1) * k * k * np.exp(-2 * k * k * (t * t))
        c = ((2 * k - 1) * math.pi) ** 2 / 8
        close = close + (1 / (u * u) - 2 * c / u**4) * np.exp(-c / (u * u))
    return np.where(inside, np.where(near, math.sqrt(2 * math.pi) * close, -8 * t * far), -0.0)


# ---------------------------------------------------------------- logarithms of distribution functions, for their tails


def careful_log(
    p: Array, rest: Array, x: Array, low: float, high: float, middle: float, deep: Callable[[Array], Array]
) -> Array:
    """log p, given p and 1 − p. Where p is (nearly) too small for a number, it is ``deep(x)`` between the two bounds,
    and −∞ elsewhere, where ``deep`` is given ``middle`` for x."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.where(p < 0.5, np.log(p), np.log1p(-rest))
        tiny = p < TINY
        if is_on_host(tiny) and not np.any(tiny):
            return log
        inside = (x > low) & (x < high)
        far = np.where(inside, deep(np.where(inside, x, middle)), -np.inf)
        return np.where(tiny, far.astype(log.dtype), log)


TINY = 1e-290


@primitive
def log_gammainc(a: Array, x: Array, upper: bool = False) -> Array:
    """log P(a, x), or log Q(a, x) if ``upper``."""
    p, q = [f(a, x) for f in (special.gammainc, special.gammaincc)[:: side(upper)]]
    return careful_log(p, q, x, 0, np.inf, 1, lambda y: gamma_unit(a, y) + np.log(gamma_mass(a, y, upper)))


@primitive
def log_betainc(a: Array, b: Array, x: Array, upper: bool = False) -> Array:
    """log I_x(a, b), or log of 1 − I_x(a, b) if ``upper``."""
    p, q = [f(a, b, x) for f in (special.betainc, special.betaincc)[:: side(upper)]]
    return careful_log(p, q, x, 0, 1, 0.5, lambda y: beta_unit(a, b, y) + np.log(beta_mass(a, b, y)))


@primitive
def log_stdtr(n: Array, t: Array) -> Array:
    """log of Student's distribution function; 1 − F(t) is F(−t)."""
    p, q = special.stdtr(n, t), special.stdtr(n, -t)
    return careful_log(p, q, t, -np.inf, 0, -1, lambda y: t_unit(n, y) + np.log(t_mass(n, -y)))


def over(log: Array, z: Array, tail: Callable[[Array], Array], t: Array, middle: float) -> Array:
    """exp(log − z): a density in units of the tail e^z; ∞ where nothing is left of the tail. Far out, where log and z
    have more digits before the point than the result, it is 1/``tail(t)``, the tail in units of the density; ``middle``
    is a t that is not far out."""
    gone, far = numbers_of(z) == -np.inf, numbers_of(z) < FAR
    near = np.where(gone, np.inf, np.exp(np.where(far, 0, log - z)))
    far = far & ~gone
    if is_on_host(far) and not np.any(far):
        return near
    return np.where(far, 1 / tail(np.where(far, t, middle)), near)


FAR = -1e3


def over_beta(a: Array, b: Array, x: Array, z: Array) -> Array:
    """The same for the beta distribution, in units of xᵃ (1 − x)ᵇ/B(a, b)."""
    return over(beta_unit(a, b, x), z, lambda x: beta_mass(a, b, x), x, 0.5)


def side(upper: bool) -> int:
    """The sign of the slope in x: the lower tail grows with x, the upper one falls."""
    return -1 if upper else 1


rule(log_gammainc, "a x | upper=False", "log P", r"\log P\left($a, $x\right)", elementwise=True, domain=(0.5, 2.0),
     a=lambda g, a, x, upper, z: g * np.where(z == -np.inf, np.log(x), side(upper) * over(
         gamma_unit(a, x), z, lambda x: gamma_mass(a, x, upper), x, 1.0) / a * gamma_score(a, x)),
     x=lambda g, a, x, upper, z: g * (
         side(upper) * over(special.xlogy(a - 1.0, x) - x - special.gammaln(a), z,
                            lambda x: x * gamma_mass(a, x, upper), x, 1.0)))  # fmt: skip
rule(log_betainc, "a b x | upper=False", "log I", r"\log I_{$x}\left($a, $b\right)", elementwise=True, domain=INSIDE,
     a=lambda g, a, b, x, upper, z: g * (side(upper) * over_beta(a, b, x, z) * beta_score(a, b, x)),
     b=lambda g, a, b, x, upper, z: g * (side(upper) * over_beta(a, b, x, z) * beta_score(a, b, x, of_b=True)),
     x=lambda g, a, b, x, upper, z: g * (side(upper) * over(
         special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b), z,
         lambda x: x * (1 - x) * beta_mass(a, b, x), x, 0.5)))  # fmt: skip
rule(log_stdtr, "n t", "log t", r"\log t_{$n}\left($t\right)", elementwise=True, domain=(0.5, 2.0),
     n=lambda g, n, t, z: g * (over(t_unit(n, t), z, lambda t: t_mass(n, -t), t, -1.0) * t_score(n, t)),
     t=lambda g, n, t, z: g * (
         over(t_unit(n, t), z, lambda t: t_mass(n, -t), t, -1.0) / np.hypot(np.sqrt(n), t)))  # fmt: skip
