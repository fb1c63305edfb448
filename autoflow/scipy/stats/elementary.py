"""Distributions of real numbers, each by its standard form: see ``continuous.py`` for the contents of a class.

First those whose functions are exponentials, logarithms and powers. The lower tail stands beside the upper one, and
their inverses ``_ppf`` and ``_isf`` take a probability q. Tails are written so that neither end is a difference from 1:
``_sf`` is never 1 − ``_cdf``, and the logarithms reach as far as numbers do.

Then those with error functions and incomplete integrals: normal, gamma, beta and t. Where a tail is too small for a
number, its logarithm comes from ``rules/distributions.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ...rules.arithmetic import branch
from ...rules.distributions import log1p_square, log_betainc, log_gammainc, log_half_step, log_stdtr, psi_difference
from ...table.shapes import Array, as_array, numbers_of
from .continuous import Continuous, Symmetric, formulas, harmless, tails_of

# ---------------------------------------------------------------- by exponentials, logarithms and powers

LOG_2, LOG_2PI, EULER = math.log(2), math.log(2 * math.pi), np.euler_gamma


def log1mexp(x: Array) -> Array:
    """log(1 − e⁻ˣ) for x > 0, exact at both ends: M. Mächler, "Accurately computing log(1 − exp(−|a|))", 2012."""
    return branch(numbers_of(x) < LOG_2, x, lambda x: np.log(-np.expm1(-x)), lambda x: np.log1p(-np.exp(-x)), (1, 1))


def log1mexp_exp(x: Array) -> Array:
    """log(1 − exp(−eˣ)), which is x for a very negative x, where eˣ may be too small for a number."""
    return branch(numbers_of(x) < -37, x, lambda x: x, lambda x: log1mexp(np.exp(x)), (0, 0))


class Uniform(Continuous):
    """``uniform``: from loc to loc + scale."""

    _name, _support = "uniform", (0.0, 1.0)
    _order = staticmethod(lambda: 1.0)
    _mean, _var, _entropy = 0.5, 1 / 12, 0.0
    _logpdf = staticmethod(lambda z: 0.0 * z)
    _cdf, _sf = formulas(lambda z: 1.0 * z, lambda z: 1 - z)
    _logsf = staticmethod(lambda z: np.log1p(-z))
    _ppf, _isf = formulas(lambda q: 1.0 * q, lambda q: 1 - q)


class Exponential(Continuous):
    """``expon``: the density is e⁻ᶻ."""

    _name, _support = "expon", (0.0, math.inf)
    _order = staticmethod(lambda: 1.0)
    _mean, _var, _entropy = 1.0, 1.0, 1.0
    _logpdf = staticmethod(lambda z: -z)
    _cdf, _sf = formulas(lambda z: -np.expm1(-z), lambda z: np.exp(-z))
    _logcdf, _logsf = formulas(log1mexp, lambda z: -z)
    _ppf, _isf = formulas(lambda q: -np.log1p(-q), lambda q: -np.log(q))


class Weibull(Continuous):
    """``weibull_min(c)``: zᶜ is exponential."""

    _name, _shapes, _support = "weibull_min", ("c",), (0.0, math.inf)

    def _powers(self, z: Array, c: Any) -> tuple[Array, ...]:
        steep = (numbers_of(z) == 0) & (numbers_of(c) < 1)  # there zᶜ⁻¹ is infinite, and exceeds the slope of zᶜ
        return c - 1.0, None, np.log(c) - np.where(steep, 0, np.where(steep, 1, z) ** c)

    _order = staticmethod(lambda c: c)
    _cdf, _sf = formulas(lambda z, c: -np.expm1(-(z**c)), lambda z, c: np.exp(-(z**c)))
    _logcdf, _logsf = formulas(lambda z, c: log1mexp_exp(c * np.log(z)), lambda z, c: -(z**c))
    _ppf, _isf = formulas(lambda q, c: (-np.log1p(-q)) ** (1.0 / c), lambda q, c: (-np.log(q)) ** (1.0 / c))
    _mean, _entropy = formulas(lambda c: special.gamma(1 + 1.0 / c), lambda c: EULER - EULER / c - np.log(c) + 1)
    _var = staticmethod(lambda c: special.gamma(1 + 2.0 / c) - special.gamma(1 + 1.0 / c) ** 2)


class Pareto(Continuous):
    """``pareto(b)``: log z is exponential with the rate b, z ≥ 1."""

    _name, _shapes, _support, _middle = "pareto", ("b",), (1.0, math.inf), 2.0
    _powers, _order = formulas(lambda z, b: (-(b + 1.0), None, np.log(b)), lambda b: b)
    _cdf, _sf = formulas(lambda z, b: -np.expm1(-b * np.log(z)), lambda z, b: z**-b)
    _logcdf, _logsf = formulas(lambda z, b: log1mexp(b * np.log(z)), lambda z, b: -b * np.log(z))
    _ppf, _isf = formulas(lambda q, b: np.exp(-np.log1p(-q) / b), lambda q, b: q ** (-1.0 / b))

    def _mean(self, b: Array) -> Array:
        return branch(numbers_of(b) > 1, b, lambda b: b / (b - 1.0), lambda b: np.inf, (2, 2))

    def _var(self, b: Array) -> Array:
        return branch(numbers_of(b) > 2, b, lambda b: b / ((b - 2.0) * (b - 1.0) ** 2), lambda b: np.inf, (3, 3))

    _entropy = staticmethod(lambda b: 1 + 1.0 / b - np.log(b))


class Laplace(Symmetric):
    """``laplace``: the density is e^(−|z|)/2."""

    _name, _mean, _var, _entropy = "laplace", 0.0, 2.0, LOG_2 + 1
    _logpdf = staticmethod(lambda z: -np.absolute(z) - LOG_2)

    def _cdf(self, z: Array) -> Array:
        return branch(numbers_of(z) < 0, z, lambda z: 0.5 * np.exp(z), lambda z: 1 - 0.5 * np.exp(-z))

    def _logcdf(self, z: Array) -> Array:
        return branch(numbers_of(z) < 0, z, lambda z: z - LOG_2, lambda z: np.log1p(-0.5 * np.exp(-z)))

    def _ppf(self, q: Array) -> Array:
        return branch(numbers_of(q) < 0.5, q, lambda q: np.log(2 * q), lambda q: -np.log(2 * (1 - q)), (0.25, 0.75))


class Cauchy(Symmetric):
    """``cauchy``: the density is 1/(π (1 + z²)); it has no mean."""

    _name, _mean, _var, _entropy = "cauchy", math.nan, math.nan, math.log(4 * math.pi)
    _order, _logpdf = formulas(lambda: 1.0, lambda z: -math.log(math.pi) - log1p_square(z))
    _cdf = staticmethod(lambda z: np.arctan2(1, -z) / math.pi)

    def _logcdf(self, z: Array) -> Array:
        """Far out 1/(π|z|), whose derivative does not need z²."""
        far, upper = numbers_of(z) < -1e8, numbers_of(z) > 1
        near, beyond = np.where(far | upper, 0, z), np.where(far, z, -1)
        above = np.log1p(-np.arctan2(1, np.where(upper, z, 1)) / math.pi)
        return np.where(far, -np.log(-math.pi * beyond), np.where(upper, above, np.log(np.arctan2(1, -near) / math.pi)))

    def _ppf(self, q: Array) -> Array:
        """From the distance to 0, ½ or 1, whichever is nearest, so that π q loses no digits."""
        upper, middle = numbers_of(q) > 0.75, np.absolute(numbers_of(q) - 0.5) <= 0.25
        end = np.where(middle, 0.25, np.where(upper, q - 1, q))
        return np.where(middle, np.tan(math.pi * (np.where(middle, q, 0.5) - 0.5)), -1 / np.tan(math.pi * end))


class Logistic(Symmetric):
    """``logistic``: the distribution function is 1/(1 + e⁻ᶻ)."""

    _name, _mean, _var, _entropy = "logistic", 0.0, math.pi**2 / 3, 2.0
    _logpdf = staticmethod(lambda z: special.log_expit(z) + special.log_expit(-z))
    _cdf, _logcdf, _ppf = formulas(special.expit, special.log_expit, special.logit)


class GumbelRight(Continuous):
    """``gumbel_r``: for a maximum; the distribution function is exp(−e⁻ᶻ)."""

    _name, _mean, _var, _entropy = "gumbel_r", EULER, math.pi**2 / 6, EULER + 1
    _logpdf = staticmethod(lambda z: -np.where(numbers_of(z) == -np.inf, 0, z) - np.exp(-z))  # −∞ at −∞, not ∞ − ∞
    _cdf, _sf = formulas(lambda z: np.exp(-np.exp(-z)), lambda z: -np.expm1(-np.exp(-z)))
    _logcdf, _logsf = formulas(lambda z: -np.exp(-z), lambda z: log1mexp_exp(-z))
    _ppf, _isf = formulas(lambda q: -np.log(-np.log(q)), lambda q: -np.log(-np.log1p(-q)))


class GumbelLeft(GumbelRight):
    """``gumbel_l``: for a minimum; −z has the distribution ``gumbel_r``."""

    _name, _mean = "gumbel_l", -EULER
    _logpdf = staticmethod(lambda z: GumbelRight._logpdf(-z))
    _cdf, _sf, _logcdf, _logsf = tails_of(GumbelRight(), lambda z: (-z,), mirrored=True)
    _ppf, _isf = formulas(lambda q: -GumbelRight._isf(q), lambda q: -GumbelRight._ppf(q))


uniform, expon, weibull_min, pareto = Uniform(), Exponential(), Weibull(), Pareto()
laplace, cauchy, logistic, gumbel_r, gumbel_l = Laplace(), Cauchy(), Logistic(), GumbelRight(), GumbelLeft()


# ---------------------------------------------------------------- by the error function and the incomplete integrals


class Normal(Symmetric):
    """``norm``: the density is exp(−z²/2)/√2π."""

    _name, _mean, _var, _entropy = "norm", 0.0, 1.0, 0.5 * (LOG_2PI + 1)
    _logpdf = staticmethod(lambda z: -0.5 * (z * z) - 0.5 * LOG_2PI)
    _cdf, _logcdf, _ppf = formulas(special.ndtr, special.log_ndtr, special.ndtri)


class LogNormal(Continuous):
    """``lognorm(s)``: log z is normal with deviation s. The functions take log z, which has a wider range than z."""

    _name, _shapes, _support = "lognorm", ("s",), (0.0, math.inf)

    def _point(self, d: Array, scale: Any) -> Array:
        end = (numbers_of(d) == 0) | (numbers_of(d) == np.inf)
        return np.where(end, np.log(numbers_of(d)), np.log(np.where(end, 1, d)) - np.log(scale))

    def _logpdf(self, log: Array, s: Any) -> Array:
        end = np.isinf(numbers_of(log))
        log = np.where(end, 0, log)
        return np.where(end, -np.inf, -0.5 * (log / s) ** 2 - np.log(s) - log - 0.5 * LOG_2PI)

    _cdf, _sf, _logcdf, _logsf = tails_of(Normal(), lambda log, s: (log / s,))

    def _ppf(self, q: Array, s: Array) -> Array:
        """At 0 the slope is ∞, and 0 with respect to s, as for a root: the exponential would give 0 · ∞ there."""
        return branch(numbers_of(q) == 0, q, np.sqrt, lambda q: np.exp(s * special.ndtri(q)), (1, 0.5))

    def _isf(self, q: Array, s: Any) -> Array:
        one = numbers_of(q) == 1
        return branch(one, q, lambda q: np.sqrt(1 - q), lambda q: np.exp(-s * special.ndtri(q)), (0, 0.5))

    _mean, _var = formulas(lambda s: np.exp(s * s / 2), lambda s: np.expm1(s * s) * np.exp(s * s))
    _entropy = staticmethod(lambda s: 0.5 * (1 + LOG_2PI) + np.log(s))


def gamma_powers(z: Array, a: Any) -> tuple[Array, None, Array]:
    """c, None and r of the density zᶜ eʳ. For a large a both terms are so large that the result would lose its digits;
    then c is 0, and r comes from Stirling's series (DLMF 5.11.3) and z − a, which has no error near the middle."""
    far = (numbers_of(a) > 1e5) & (numbers_of(z) > 0)
    near, large, at = np.where(far, 1, a), np.where(far, a, 1e5), np.where(far, z, 1e5)
    d, low = at - large, numbers_of(at) < 0.5 * numbers_of(large)
    log = np.where(low, np.log(np.where(low, at, 1)) - np.log(large), np.log1p(np.where(low, 0, d / large)))
    r = (large - 1) * log - d - 0.5 * (LOG_2PI + np.log(large)) - 1 / (12 * large)
    return np.where(far, 0, a - 1.0), None, np.where(far, r, -np.where(far, 1, z) - special.gammaln(near))


class Gamma(Continuous):
    """``gamma(a)``: the density is zᵃ⁻¹ e⁻ᶻ/Γ(a)."""

    _name, _shapes, _support = "gamma", ("a",), (0.0, math.inf)
    _powers, _order = formulas(gamma_powers, lambda a: a)
    _cdf, _sf = formulas(lambda z, a: special.gammainc(a, z), lambda z, a: special.gammaincc(a, z))
    _logcdf = staticmethod(lambda z, a: log_gammainc(as_array(a), as_array(z)))
    _logsf = staticmethod(lambda z, a: log_gammainc(as_array(a), as_array(z), True))
    _ppf, _isf = formulas(lambda q, a: special.gammaincinv(a, q), lambda q, a: special.gammainccinv(a, q))
    _mean, _var = formulas(lambda a: 1.0 * a, lambda a: 1.0 * a)

    def _entropy(self, a: Any) -> Array:
        far = numbers_of(a) > 250
        near, large = np.where(far, 1, a), np.where(far, a, 250)
        series = -1 / 3 - (1 / 12 + (1 / 90 - 1 / (120 * large)) / large) / large  # of Stirling's, DLMF 5.11.1
        series = series / large + 0.5 * (LOG_2PI + 1 + np.log(large))
        return np.where(far, series, near + special.gammaln(near) + (1 - near) * special.psi(near))


class ChiSquared(Gamma):
    """``chi2(df)``: twice a gamma variable with a = df/2."""

    _name, _shapes, _drawn_by = "chi2", ("df",), "gamma"

    def _standard(self, call: str, args: object, named: object) -> tuple[list[Any], Any, Any]:
        (df,), loc, scale = super()._standard(call, args, named)
        return [df / 2], loc, 2 * scale


class Beta(Continuous):
    """``beta(a, b)``: the density is zᵃ⁻¹ (1 − z)ᵇ⁻¹/B(a, b)."""

    _name, _shapes, _support = "beta", ("a", "b"), (0.0, 1.0)
    _powers, _order = formulas(lambda z, a, b: (a - 1.0, b - 1.0, -special.betaln(a, b)), lambda a, b: a)
    _cdf, _sf = formulas(lambda z, a, b: special.betainc(a, b, z), lambda z, a, b: special.betaincc(a, b, z))
    _logcdf = staticmethod(lambda z, a, b: log_betainc(as_array(a), as_array(b), as_array(z)))
    _logsf = staticmethod(lambda z, a, b: log_betainc(as_array(a), as_array(b), as_array(z), True))
    _ppf, _isf = formulas(lambda q, a, b: special.betaincinv(a, b, q), lambda q, a, b: special.betainccinv(a, b, q))
    _mean, _var = formulas(lambda a, b: a / (a + b), lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)))

    def _entropy(self, a: Any, b: Any) -> Array:
        """From the entropies of the gamma distributions with a, b and a + b, so that large numbers do not cancel."""
        return gamma._entropy(a) + gamma._entropy(b) - gamma._entropy(a + b) - special.psi(a + b)


class StudentsT(Symmetric):
    """``t(df)``: the density is proportional to (1 + z²/df)^(−(df + 1)/2)."""

    _name, _shapes, _order = "t", ("df",), staticmethod(lambda df: df)

    def _standard(self, call: str, args: object, named: object) -> tuple[list[Any], Any, Any]:
        """For df = ∞ it is the normal distribution, which has the same numbers as df = 1e30."""
        (df,), loc, scale = super()._standard(call, args, named)
        return [harmless(np.not_equal(numbers_of(df), np.inf), df, 1e30)], loc, scale

    def _logpdf(self, z: Array, df: Any) -> Array:
        return log_half_step(df / 2) - 0.5 * np.log(df * math.pi) - (df + 1) / 2 * log1p_square(z / np.sqrt(df))

    _cdf, _ppf = formulas(lambda z, df: special.stdtr(df, z), lambda q, df: special.stdtrit(df, q))
    _logcdf = staticmethod(lambda z, df: log_stdtr(as_array(df), z))
    _mean = staticmethod(lambda df: np.where(numbers_of(df) > 1, 0.0, np.inf))

    def _var(self, df: Any) -> Array:
        heavy = np.where(numbers_of(df) > 1, np.inf, np.nan)
        return np.where(numbers_of(df) > 2, df / np.where(numbers_of(df) > 2, df - 2.0, 1), heavy)

    def _entropy(self, df: Any) -> Array:
        half = df / 2
        top = log_half_step(half) - 0.5 * np.log(df * math.pi)
        return (half + 0.5) * psi_difference(as_array(half), 0.5) - top


norm, lognorm, gamma, chi2, beta, t = Normal(), LogNormal(), Gamma(), ChiSquared(), Beta(), StudentsT()
