"""The incomplete gamma and beta integrals and Student's t by their parameters, for the rows of ``distributions.py``.

A distribution function is F(x) = ∫ p from the left end to x, so its derivative by a parameter a is ∫ s p, where
s = ∂ log p/∂a is the *score*. Over everything the score integrates to zero; hence the same derivative is −∫ s p from x
to the right end. Of gamma and beta the score grows (or falls) all the way, so on the side of x that is away from the
middle it has one sign: nothing cancels there. That side is integrated, numerically.

Which variable? In y = log t (gamma), y = logit t (beta) and t = √n sinh θ (Student's t) the density is exp(h) with a
concave h, and without poles at the ends. From x outwards h only falls. Then s = L exp(u − e⁻ᵘ), with L where h has
fallen by 1, makes of it a bell that the trapezoidal rule integrates to rounding (H. Takahasi and M. Mori, "Double
exponential formulas for numerical integration", 1974): 121 points, the same for every x. They do not depend on the
parameters, so derivatives of the sum are the sums of derivatives, and a recorded pass differentiates it again.

How exact. For parameters from 1e-2 to 1e4: first derivatives to 1e-10, second ones to 1e-6, relative to themselves, as
``tests/rules/test_incomplete.py`` compares with mpmath. What limits the first is the density in front: xᵃ e⁻ˣ/Γ(a) at
a = 1e4 is the exponential of a difference of numbers near 1e5. A second derivative that passes through 0 is right to
1e-6 of 1e-5 |∂F/∂a|/a: it comes out of larger numbers.

Memory: 121 numbers for each element of a block of 4,096; in a recorded pass of each element.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from .shapes import as_dtype, like_argument, numbers_of, together

Array = Any
BLOCK = 4096
PLAIN = {np.ndarray, np.float64, np.float32, float, int}
_U = np.arange(-53, 68) / 16
POINTS = np.exp(_U - np.exp(-_U))  # from 1e-13 to 65: all that is behind is below e⁻⁶⁵
WEIGHTS = POINTS * (1 + np.exp(-_U)) / 16
_X, _W = np.polynomial.legendre.leggauss(len(POINTS))
NODES, NODE_WEIGHTS = (1 - _X) / 2, _W / 2  # on (0, 1), as many


def in_blocks(function: Any) -> Any:
    """An elementwise function of plain arrays, computed of 4,096 elements at a time."""

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
        total = total - bernoulli / (2 * k) * np.expm1(-2 * k * log) / a ** (2 * k)
    return total


# ---------------------------------------------------------------- gamma


def gamma_exponent(s: Array, a: Array, x: Array, sign: Array) -> Array:
    """log of tᵃ e⁻ᵗ at t = x e^(± s), less that at x."""
    return sign * a * s - x * np.expm1(sign * s)


def gamma_sign(a: Array, x: Array) -> Array:
    """−1 where the integral from 0 to x is taken, 1 where that from x on. Plain.

    Of a small a all is near 0, but for a part as large as a: that part is the upper side, unless x is small, too."""
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


@in_blocks
def gamma_score(a: Array, x: Array) -> Array:
    """∂P/∂a in units of xᵃ e⁻ˣ/Γ(a) for P = gammainc(a, x); 0 at both ends."""
    inside = (numbers_of(x) > 0) & np.isfinite(numbers_of(x))
    x = np.where(inside, x, 1)
    sign = gamma_sign(a, x)
    # Below a = 1 the left side is long, and the score there nearly cancels, so it is that of a + 1, and what
    # P(a, x) = P(a + 1, x) + xᵃ e⁻ˣ/Γ(a + 1) adds (DLMF 8.8.5).
    small = (sign < 0) & (numbers_of(a) < 1)
    moved = a + 1.0 * small
    log, w = gamma_tail(moved, x, sign)
    (psi,) = spread(special.psi(moved))
    score = -sign * np.sum((log - psi) * w, axis=-1)
    score = np.where(small, (score * x + np.log(x) - special.psi(a + 1)) / a, score)
    return np.where(inside, score, 0)


def gamma_unit(a: Array, x: Array) -> Array:
    """log of xᵃ e⁻ˣ/Γ(a)."""
    return special.xlogy(a, x) - x - special.gammaln(a)


def gammainc_a(a: Array, x: Array) -> Array:
    """∂P/∂a of P = gammainc(a, x): ∫ (log t − ψ(a)) tᵃ⁻¹ e⁻ᵗ/Γ(a).

    >>> gammainc_a(np.array([1.0]), np.array([1.0])).round(6)
    array([-0.43173])
    """
    inside = (numbers_of(x) > 0) & np.isfinite(numbers_of(x))
    x = np.where(inside, x, 1)
    return np.where(inside, np.exp(gamma_unit(a, x)) * gamma_score(a, x), 0)


# ---------------------------------------------------------------- beta


def beta_exponent(s: Array, a: Array, b: Array, y: Array, sign: Array) -> Array:
    """log of tᵃ (1 − t)ᵇ at logit t = y ± s, less that at y."""
    at = y + sign * s
    left, right = special.log_expit(at) - special.log_expit(y), special.log_expit(-at) - special.log_expit(-y)
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


@in_blocks
def beta_score(a: Array, b: Array, x: Array, *, of_b: bool = False) -> Array:
    """∂I/∂a (or by b) in units of xᵃ (1 − x)ᵇ/B(a, b) for I = betainc(a, b, x); 0 at both ends."""
    inside = (numbers_of(x) > 0) & (numbers_of(x) < 1)
    y, w, sign = beta_tail(a, b, np.where(inside, x, 0.5))
    mine, other = spread(b, a) if of_b else spread(a, b)
    score = special.log_expit(-y if of_b else y) + psi_difference(mine, other)
    return np.where(inside, -sign * np.sum(score * w, axis=-1), 0)


def beta_unit(a: Array, b: Array, x: Array) -> Array:
    """log of xᵃ (1 − x)ᵇ/B(a, b)."""
    return special.xlogy(a, x) + special.xlog1py(b, -x) - special.betaln(a, b)


def betainc_a(a: Array, b: Array, x: Array, *, of_b: bool = False) -> Array:
    """∂I/∂a (or by b) of I = betainc(a, b, x): ∫ (log t − ψ(a) + ψ(a + b)) of the density; 0 at both ends.

    >>> betainc_a(np.array([1.0]), np.array([1.0]), np.array([0.5])).round(6)  # of xᵃ: x log x
    array([-0.346574])
    """
    inside = (numbers_of(x) > 0) & (numbers_of(x) < 1)
    x = np.where(inside, x, 0.5)
    return np.where(inside, np.exp(beta_unit(a, b, x)) * beta_score(a, b, x, of_b=of_b), 0)


# ---------------------------------------------------------------- Student's t


def log_cosh(x: Array) -> Array:
    """log cosh x for x ≥ 0, exact for small x and without overflow."""
    near = numbers_of(x) < 1
    low, high = np.where(near, x, 0), np.where(near, 1, x)
    return np.where(near, 0.5 * np.log1p(np.sinh(low) ** 2), high + np.log1p(np.exp(-2 * high)) - math.log(2))


def t_exponent(s: Array, n: Array, x: Array) -> Array:
    """log of cosh⁻ⁿ at x + s, less that at x."""
    return n * (log_cosh(x) - log_cosh(x + s))


def t_unit(n: Array, t: Array) -> Array:
    """log of the density times √(n + t²): Γ((n + 1)/2)/(√π Γ(n/2)) cosh⁻ⁿ θ, for t of either sign."""
    theta = np.arcsinh(np.absolute(t) / np.sqrt(n))
    return special.gammaln((n + 1) / 2) - special.gammaln(n / 2) - 0.5 * math.log(math.pi) - n * log_cosh(theta)


def t_start(n: Array, x: Array) -> Array:
    """About where log cosh⁻ⁿ has fallen by 1 from x on."""
    return 1 / np.maximum(n * np.tanh(x), np.sqrt(n))


def t_mass(n: Array, t: Array) -> Array:
    """1 − F(t) in units of the density times √(n + t²), for t > 0. Plain."""
    n, t = spread(n, t)
    x = np.arcsinh(t / np.sqrt(n))
    return np.sum(tail(t_exponent, t_start(n, x), n, x)[1], axis=-1)


@in_blocks
def t_score(n: Array, t: Array) -> Array:
    """∂F/∂n of F = stdtr(n, t) in units of the density times √(n + t²). F(−t) = 1 − F(t), so a positive t is enough.

    The score is half of ψ((n + 1)/2) − ψ(n/2) − 1/n − 2 log cosh θ + (1 + 1/n) tanh² θ. It changes its sign once, near
    t = 1.5 for a large n; from there outwards the tail is integrated, and below that the part from 0 to t.
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
