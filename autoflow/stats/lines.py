"""Distributions of real numbers by the error function and the incomplete integrals: normal, gamma, beta and t.

Each by its standard form: see ``continuous.py`` for what a class says. Where a tail is too small for a number, its
logarithm is that of ``rules/distributions.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..rules.distributions import log_betainc, log_gammainc, log_stdtr
from ..rules.shapes import as_array, numbers_of
from .arguments import Array
from .continuous import Continuous, Symmetric

LOG_2PI = math.log(2 * math.pi)


class Normal(Symmetric):
    """``norm``: the density is exp(−z²/2)/√2π."""

    _name = "norm"
    _mean, _var, _entropy = 0.0, 1.0, 0.5 * (LOG_2PI + 1)

    def _logpdf(self, z: Array) -> Array:
        return -0.5 * (z * z) - 0.5 * LOG_2PI

    def _cdf(self, z: Array) -> Array:
        return special.ndtr(z)

    def _logcdf(self, z: Array) -> Array:
        return special.log_ndtr(z)

    def _ppf(self, q: Array) -> Array:
        return special.ndtri(q)


class LogNormal(Continuous):
    """``lognorm(s)``: log z is normal with deviation s."""

    _name, _shapes, _support = "lognorm", ("s",), (0.0, math.inf)

    def _logpdf(self, z: Array, s: Any) -> Array:
        zero = numbers_of(z) == 0
        log = np.log(np.where(zero, 1, z))
        return np.where(zero, -np.inf, -0.5 * (log / s) ** 2 - np.log(s) - log - 0.5 * LOG_2PI)

    def _cdf(self, z: Array, s: Any) -> Array:
        return special.ndtr(np.log(z) / s)

    def _sf(self, z: Array, s: Any) -> Array:
        return special.ndtr(-np.log(z) / s)

    def _logcdf(self, z: Array, s: Any) -> Array:
        return special.log_ndtr(np.log(z) / s)

    def _logsf(self, z: Array, s: Any) -> Array:
        return special.log_ndtr(-np.log(z) / s)

    def _ppf(self, q: Array, s: Any) -> Array:
        return np.exp(s * special.ndtri(q))

    def _isf(self, q: Array, s: Any) -> Array:
        return np.exp(-s * special.ndtri(q))

    def _mean(self, s: Any) -> Array:
        return np.exp(s * s / 2)

    def _var(self, s: Any) -> Array:
        return np.expm1(s * s) * np.exp(s * s)

    def _entropy(self, s: Any) -> Array:
        return 0.5 * (1 + LOG_2PI) + np.log(s)


class Gamma(Continuous):
    """``gamma(a)``: the density is zᵃ⁻¹ e⁻ᶻ/Γ(a)."""

    _name, _shapes, _support = "gamma", ("a",), (0.0, math.inf)

    def _logpdf(self, z: Array, a: Any) -> Array:
        return special.xlogy(a - 1.0, z) - z - special.gammaln(a)

    def _cdf(self, z: Array, a: Any) -> Array:
        return special.gammainc(a, z)

    def _sf(self, z: Array, a: Any) -> Array:
        return special.gammaincc(a, z)

    def _logcdf(self, z: Array, a: Any) -> Array:
        return log_gammainc(as_array(a), z)

    def _logsf(self, z: Array, a: Any) -> Array:
        return log_gammainc(as_array(a), z, True)

    def _ppf(self, q: Array, a: Any) -> Array:
        return special.gammaincinv(a, q)

    def _isf(self, q: Array, a: Any) -> Array:
        return special.gammainccinv(a, q)

    def _mean(self, a: Any) -> Any:
        return 1.0 * a

    def _var(self, a: Any) -> Any:
        return 1.0 * a

    def _entropy(self, a: Any) -> Array:
        return a + special.gammaln(a) + (1 - a) * special.psi(a)


class ChiSquared(Gamma):
    """``chi2(df)``: twice what has the gamma distribution of a = df/2."""

    _name, _shapes, _drawn_by = "chi2", ("df",), "gamma"

    def _standard(self, call: str, args: Any, named: Any) -> tuple[list[Any], Any, Any]:
        (df,), loc, scale = super()._standard(call, args, named)
        return [df / 2], loc, 2 * scale


class Beta(Continuous):
    """``beta(a, b)``: the density is zᵃ⁻¹ (1 − z)ᵇ⁻¹/B(a, b)."""

    _name, _shapes, _support = "beta", ("a", "b"), (0.0, 1.0)

    def _logpdf(self, z: Array, a: Any, b: Any) -> Array:
        return special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b)

    def _cdf(self, z: Array, a: Any, b: Any) -> Array:
        return special.betainc(a, b, z)

    def _sf(self, z: Array, a: Any, b: Any) -> Array:
        return special.betaincc(a, b, z)

    def _logcdf(self, z: Array, a: Any, b: Any) -> Array:
        return log_betainc(as_array(a), as_array(b), z)

    def _logsf(self, z: Array, a: Any, b: Any) -> Array:
        return log_betainc(as_array(a), as_array(b), z, True)

    def _ppf(self, q: Array, a: Any, b: Any) -> Array:
        return special.betaincinv(a, b, q)

    def _isf(self, q: Array, a: Any, b: Any) -> Array:
        return special.betainccinv(a, b, q)

    def _mean(self, a: Any, b: Any) -> Any:
        return a / (a + b)

    def _var(self, a: Any, b: Any) -> Any:
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def _entropy(self, a: Any, b: Any) -> Array:
        each = (a - 1) * special.psi(a) + (b - 1) * special.psi(b)
        return special.betaln(a, b) - each + (a + b - 2) * special.psi(a + b)


class StudentsT(Symmetric):
    """``t(df)``: the density is proportional to (1 + z²/df)^(−(df + 1)/2)."""

    _name, _shapes = "t", ("df",)

    def _logpdf(self, z: Array, df: Any) -> Array:
        top = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
        return top - (df + 1) / 2 * np.log1p(z * z / df)

    def _cdf(self, z: Array, df: Any) -> Array:
        return special.stdtr(df, z)

    def _logcdf(self, z: Array, df: Any) -> Array:
        return log_stdtr(as_array(df), z)

    def _ppf(self, q: Array, df: Any) -> Array:
        return special.stdtrit(df, q)

    def _mean(self, df: Any) -> Array:
        return np.where(numbers_of(df) > 1, 0.0, np.inf)

    def _var(self, df: Any) -> Array:
        heavy = np.where(numbers_of(df) > 1, np.inf, np.nan)
        return np.where(numbers_of(df) > 2, df / np.where(numbers_of(df) > 2, df - 2.0, 1), heavy)

    def _entropy(self, df: Any) -> Array:
        half, more = df / 2, (df + 1) / 2
        return more * (special.psi(more) - special.psi(half)) + 0.5 * np.log(df) + special.betaln(half, 0.5)


norm, lognorm, gamma, chi2, beta, t = Normal(), LogNormal(), Gamma(), ChiSquared(), Beta(), StudentsT()
