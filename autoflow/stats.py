"""Distributions, written with functions that have derivatives: densities, their logarithms, distribution functions.

scipy.stats takes the numbers of nodes. Here are the distributions that people fit, with SciPy's names and arguments;
everything in them may be a node: the point, ``loc`` and ``scale``, and the parameters wherever the derivative has a
formula (shape parameters of ``cdf`` have none, and are refused there).

>>> import autoflow as af
>>> from autoflow import stats
>>> mean = af.Variable(0.0)
>>> loss = -stats.norm.logpdf([1.0, 2.0, 6.0], loc=mean, scale=2.0).sum()
>>> loss.backward()
>>> mean.grad  # Σ (mean − x)/scale²
array(-2.25)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .lazy import list_public
from .rules.shapes import as_array

try:
    from scipy import special
except ImportError as error:
    raise ImportError("af.stats computes with SciPy, which is not installed: pip install scipy") from error

Array = Any
__all__ = ["beta", "chi2", "dirichlet", "expon", "gamma", "multivariate_normal", "norm", "poisson", "t"]
__dir__ = list_public(__all__)
LOG_2PI = math.log(2 * math.pi)


def where_supported(condition: Any, z: Array, otherwise: float) -> Array:
    """z where there is any probability."""
    return np.where(condition, z, otherwise)


class Continuous:
    """A distribution of x by its standard form: z = (x − loc)/scale.

    A subclass has ``_logpdf(z, *shapes)`` and ``_cdf(z, *shapes)``, and its ``support`` as (low, high). Outside of the
    support, z is replaced by ``middle`` before anything is computed, so no NaN comes from there.
    """

    support = (-math.inf, math.inf)
    middle = 0.5

    def _split(self, x: Any, loc: Any, scale: Any) -> tuple[Array, Any]:
        """z, harmless outside of the support, and whether it is inside."""
        z = (as_array(x) - loc) / scale
        low, high = self.support
        ok = (z >= low) & (z <= high)
        return (z if math.isinf(low) and math.isinf(high) else np.where(ok, z, self.middle)), ok

    def logpdf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The logarithm of the density; −∞ outside of the support. Shapes broadcast."""
        z, ok = self._split(x, loc, scale)
        return where_supported(ok, self._logpdf(z, *shapes) - np.log(scale), -math.inf)

    def pdf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The density; 0 outside of the support."""
        z, ok = self._split(x, loc, scale)
        return where_supported(ok, np.exp(self._logpdf(z, *shapes)) / scale, 0.0)

    def cdf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        z, ok = self._split(x, loc, scale)
        return where_supported(ok, self._cdf(z, *shapes), 0.0) + 1.0 * ((as_array(x) - loc) / scale > self.support[1])

    def logcdf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """Its logarithm."""
        return np.log(self.cdf(x, *shapes, loc=loc, scale=scale))

    def sf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x, 1 − cdf."""
        return 1 - self.cdf(x, *shapes, loc=loc, scale=scale)

    def logsf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """Its logarithm."""
        return np.log(self.sf(x, *shapes, loc=loc, scale=scale))

    def _logpdf(self, z: Array, *shapes: Any) -> Array:
        raise NotImplementedError

    def _cdf(self, z: Array, *shapes: Any) -> Array:
        raise NotImplementedError


class Normal(Continuous):
    """``norm``. The tails have forms of their own, which neither vanish nor overflow."""

    def _logpdf(self, z: Array) -> Array:
        return -0.5 * (z * z) - 0.5 * LOG_2PI

    def _cdf(self, z: Array) -> Array:
        return special.ndtr(z)

    def logcdf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log Φ((x − loc)/scale)."""
        return special.log_ndtr((as_array(x) - loc) / scale)

    def sf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """1 − Φ, by symmetry."""
        return special.ndtr((loc - as_array(x)) / scale)

    def logsf(self, x: Any, *shapes: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log(1 − Φ), by symmetry."""
        return special.log_ndtr((loc - as_array(x)) / scale)


class Exponential(Continuous):
    """``expon``."""

    support = (0.0, math.inf)

    def _logpdf(self, z: Array) -> Array:
        return -z

    def _cdf(self, z: Array) -> Array:
        return -np.expm1(-z)


class Gamma(Continuous):
    """``gamma(a)``."""

    support = (0.0, math.inf)

    def _logpdf(self, z: Array, a: Any) -> Array:
        return special.xlogy(a - 1.0, z) - z - special.gammaln(a)

    def _cdf(self, z: Array, a: Any) -> Array:
        return special.gammainc(a, z)


class ChiSquared(Continuous):
    """``chi2(df)``: gamma(df/2) with scale 2."""

    support = (0.0, math.inf)

    def _logpdf(self, z: Array, df: Any) -> Array:
        half = as_array(df) / 2
        return special.xlogy(half - 1, z) - z / 2 - special.gammaln(half) - math.log(2) * half

    def _cdf(self, z: Array, df: Any) -> Array:
        return special.chdtr(df, z)


class Beta(Continuous):
    """``beta(a, b)``."""

    support = (0.0, 1.0)

    def _logpdf(self, z: Array, a: Any, b: Any) -> Array:
        return special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b)

    def _cdf(self, z: Array, a: Any, b: Any) -> Array:
        return special.betainc(a, b, z)


class StudentsT(Continuous):
    """``t(df)``."""

    def _logpdf(self, z: Array, df: Any) -> Array:
        df = as_array(df)
        top = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
        return top - (df + 1) / 2 * np.log1p(z * z / df)

    def _cdf(self, z: Array, df: Any) -> Array:
        return special.stdtr(df, z)


class Poisson:
    """``poisson(mu)``: of counts k, which have no derivative."""

    def logpmf(self, k: Any, mu: Any, loc: Any = 0) -> Array:
        """The logarithm of the probability of k; −∞ where k is no count."""
        k = as_array(k) - loc
        ok = (k >= 0) & (np.floor(k) == k)
        k = np.where(ok, k, 0)
        return where_supported(ok, special.xlogy(k, mu) - special.gammaln(k + 1) - mu, -math.inf)

    def pmf(self, k: Any, mu: Any, loc: Any = 0) -> Array:
        """The probability of k."""
        return np.exp(self.logpmf(k, mu, loc))

    def cdf(self, k: Any, mu: Any, loc: Any = 0) -> Array:
        """The probability of at most k."""
        k = np.floor(as_array(k) - loc)
        return where_supported(k >= 0, special.pdtr(np.maximum(k, 0), mu), 0.0)


class Dirichlet:
    """``dirichlet(alpha)``: of x (k,) or (k, n) with Σ x = 1 along the first axis, and alpha (k,)."""

    def logpdf(self, x: Any, alpha: Any) -> Array:
        """The logarithm of the density."""
        x, alpha = as_array(x), as_array(alpha)
        powers = np.sum(special.xlogy(alpha - 1, x.T), axis=-1)
        return powers + special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))

    def pdf(self, x: Any, alpha: Any) -> Array:
        """The density."""
        return np.exp(self.logpdf(x, alpha))


class MultivariateNormal:
    """``multivariate_normal(mean, cov)``: of x (..., k), mean (k,), cov (k, k) positive definite."""

    def logpdf(self, x: Any, mean: Any = 0, cov: Any = 1) -> Array:
        """The logarithm of the density, by the Cholesky factor of cov."""
        cov, d = self._matrix(cov), as_array(x) - mean
        low = np.linalg.cholesky(cov)
        d = d if d.ndim and d.shape[-1] == cov.shape[0] else d[..., None]
        z = np.linalg.solve(low, d[..., None])[..., 0]
        return -0.5 * (np.sum(z * z, axis=-1) + cov.shape[0] * LOG_2PI) - np.sum(np.log(np.diagonal(low)))

    def pdf(self, x: Any, mean: Any = 0, cov: Any = 1) -> Array:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov))

    def entropy(self, mean: Any = 0, cov: Any = 1) -> Array:
        """½ log det(2πe cov)."""
        cov = self._matrix(cov)
        return 0.5 * (cov.shape[0] * (LOG_2PI + 1) + np.linalg.slogdet(cov)[1])

    def _matrix(self, cov: Any) -> Array:
        cov = as_array(cov)
        return cov if cov.ndim == 2 else np.diag(cov) if cov.ndim == 1 else cov.reshape(1, 1)


norm, expon, gamma, chi2, beta, t = Normal(), Exponential(), Gamma(), ChiSquared(), Beta(), StudentsT()
poisson, dirichlet, multivariate_normal = Poisson(), Dirichlet(), MultivariateNormal()
