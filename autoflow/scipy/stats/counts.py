"""Distributions of whole numbers. The parameters have derivatives; a count is a plain number.

A subclass defines, given its parameters: ``_valid``, whether such a distribution exists; ``_low`` and ``_high``, the
smallest and the largest count; ``_powers`` of the probability, ``_cdf``, ``_sf``, ``_logcdf``, ``_logsf`` of a count in
between; ``_mean``, ``_var`` (as powers, see ``_spread``). The first three get plain parameters.

Distributions of vectors and of matrices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import special

from ...nodes.nodes import value_of
from ...rules.arithmetic import branch
from ...rules.distributions import log_powers, times_powers
from ...table.shapes import Array, as_array, floats, has_gradient, innermost, is_on_host, numbers_of, together
from .continuous import Distribution, draw_with_scipy, formulas, if_ok, refuse_history, size_of, tails_of, with_limits
from .elementary import LOG_2PI, beta, gamma, gamma_powers, log1mexp

if TYPE_CHECKING:
    from ...nodes.nodes import Node


class Counts(Distribution):
    """A distribution of counts, shifted by ``loc``."""

    _shapes: tuple[str, ...] = ()
    _low = 0
    _high = staticmethod(lambda *shapes: math.inf)
    _defaults = (("loc", 0),)
    _logpmf: Any = lambda self, k, *shapes: log_powers(*together(*self._powers(k, *shapes)))
    _pmf: Any = lambda self, k, *shapes: times_powers(*together(*self._powers(k, *shapes)))

    def __init_subclass__(cls) -> None:
        cls._parameters = (*cls._shapes, "loc")

    # -- at a count ----------------------------------------------------------------------------------------------------

    def logpmf(self, k: Array, *args: object, **named: object) -> Node:
        """The logarithm of the probability of k; −∞ where k is not a count."""
        return self._at("_logpmf", k, args, named, -math.inf, -math.inf)

    def pmf(self, k: Array, *args: object, **named: object) -> Node:
        """The probability of k."""
        return self._at("_pmf", k, args, named, 0.0, 0.0)

    def _at(self, method: str, k: Array, args: Any, named: Any, below: float, above: float) -> Array:
        *shapes, loc = self._bind(method[1:], args, named)
        refuse_history(self._name, ("k", "loc"), (k, loc), "they are counts: they have no derivative.")
        with np.errstate(all="ignore"):
            k = np.asarray(numbers_of(as_array(k)) - numbers_of(loc), dtype=np.float64)
            plain = [numbers_of(v) for v in shapes]
            ok = self._valid(*plain) & (k == k)
            high, exact = self._high(*plain), method in ("_logpmf", "_pmf")
            k = k if exact else np.floor(k)
            inside = (k >= self._low) & (((k <= high) & (np.floor(k) == k) & np.isfinite(k)) if exact else (k < high))
            safe = [(k, self._low), *[(v, 0.5) for v in shapes]]
            return with_limits(getattr(self, method), safe, inside, np.where(k >= high, above, below), ok)

    def cdf(self, k: Array, *args: object, **named: object) -> Node:
        """The probability of at most k."""
        return self._at("_cdf", k, args, named, 0.0, 1.0)

    def sf(self, k: Array, *args: object, **named: object) -> Node:
        """The probability of more than k, exact where 1 − cdf is 0."""
        return self._at("_sf", k, args, named, 1.0, 0.0)

    def logcdf(self, k: Array, *args: object, **named: object) -> Node:
        """The logarithm of cdf."""
        return self._at("_logcdf", k, args, named, -math.inf, 0.0)

    def logsf(self, k: Array, *args: object, **named: object) -> Node:
        """The logarithm of sf."""
        return self._at("_logsf", k, args, named, 0.0, -math.inf)

    # -- of the parameters ---------------------------------------------------------------------------------------------

    def mean(self, *args: object, **named: object) -> Node:
        """The expectation of k."""
        *shapes, loc = self._bind("mean", args, named)
        ok = self._valid(*map(numbers_of, shapes))
        return as_array(if_ok(ok, self._mean(*shapes), np.nan, ok) + loc)

    def var(self, *args: object, **named: object) -> Node:
        """The variance."""
        return self._spread(1.0, "var", args, named)

    def std(self, *args: object, **named: object) -> Node:
        """The standard deviation."""
        return self._spread(0.5, "std", args, named)

    def _spread(self, power: float, call: str, args: Any, named: Any) -> Array:
        """The variance to this power, by powers of its factors, so that its derivative is right where one is 0."""
        *shapes, loc = self._bind(call, args, named)
        ok = self._valid(*map(numbers_of, shapes))
        n, c, p, e = self._var(*shapes)
        with np.errstate(all="ignore"):
            rate = times_powers(*together(power * c, p, power * e, p, 0.0))
            return self._as_wide(if_ok(ok, rate if n is None else n**power * rate, np.nan, ok), loc)

    def rvs(self, *args: object, size: object = None, random_state: object = None, **named: object) -> Node:
        """SciPy's draws. A count does not move with its parameters, so nodes among them are refused."""
        if len(args) == len(self._parameters) + 1 and size is None:
            args, size = args[:-1], args[-1]
        values = self._bind("rvs", args, named)
        instead = "for the gradient of an expectation weight with logpmf, whose gradient is the score."
        refuse_history(self._name, self._parameters, values, instead)
        return draw_with_scipy(self._name, values, size_of(size, *values), random_state)


class Poisson(Counts):
    """``poisson(mu)``: e^(−mu) muᵏ/k!."""

    _name, _shapes = "poisson", ("mu",)
    _valid = staticmethod(lambda mu: mu >= 0)

    def _powers(self, k: Array, mu: Array) -> tuple[Array, ...]:
        c, _, rest = gamma_powers(mu, k + 1)
        return c, mu, 0.0, 0.0, rest

    _cdf, _sf, _logcdf, _logsf = tails_of(gamma, lambda k, mu: (mu, k + 1), mirrored=True)
    _mean, _var = formulas(lambda mu: 1.0 * mu, lambda mu: (None, 1.0, mu, 0.0))


class Binomial(Counts):
    """``binom(n, p)``: the number of successes in n trials."""

    _name, _shapes = "binom", ("n", "p")
    _valid, _high = formulas(lambda n, p: (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1), lambda n, p: n)

    def _powers(self, k: Array, n: Array, p: Array) -> tuple[Array, ...]:
        return k, p, n - k, p, -np.log1p(n) - special.betaln(k + 1, n - k + 1)

    _cdf, _sf, _logcdf, _logsf = tails_of(beta, lambda k, n, p: (p, k + 1, n - k), mirrored=True)
    _mean, _var = formulas(lambda n, p: n * p, lambda n, p: (n, 1.0, p, 1.0))


class Bernoulli(Counts):
    """``bernoulli(p)``: one trial."""

    _name, _shapes = "bernoulli", ("p",)
    _valid, _high = formulas(lambda p: (p >= 0) & (p <= 1), lambda p: 1)
    _powers = staticmethod(lambda k, p: (k, p, 1 - k, p, 0.0))
    # the tails at k = 0, the only count below the largest one
    _cdf, _sf = formulas(lambda k, p: 0 * k + (1 - p), lambda k, p: 0 * k + p)
    _logcdf, _logsf = formulas(lambda k, p: 0 * k + np.log1p(-p), lambda k, p: 0 * k + np.log(p))
    _mean, _var = formulas(lambda p: 1.0 * p, lambda p: (None, 1.0, p, 1.0))

    def entropy(self, *args: object, **named: object) -> Node:
        """−p log p − (1 − p) log (1 − p)."""
        p, loc = self._bind("entropy", args, named)
        ok = self._valid(numbers_of(p))
        return self._as_wide(if_ok(ok, special.entr(p) + special.entr(1 - p), np.nan, ok), loc)


class NegativeBinomial(Counts):
    """``nbinom(n, p)``: the number of failures before the n-th success; n need not be whole."""

    _name, _shapes = "nbinom", ("n", "p")
    _valid = staticmethod(lambda n, p: (n > 0) & (p > 0) & (p <= 1))

    def _powers(self, k: Array, n: Array, p: Array) -> tuple[Array, ...]:
        return n, p, k, p, -np.log(n + k) - special.betaln(n, k + 1)

    _cdf, _sf, _logcdf, _logsf = tails_of(beta, lambda k, n, p: (p, n, k + 1))
    _mean, _var = formulas(lambda n, p: n * (1 - p) / p, lambda n, p: (n, -2.0, p, 1.0))


class Geometric(Counts):
    """``geom(p)``: the number of trials until the first success, from 1."""

    _name, _shapes, _low = "geom", ("p",), 1
    _valid = staticmethod(lambda p: (p > 0) & (p <= 1))
    _powers = staticmethod(lambda k, p: (1.0, p, k - 1, p, 0.0))
    _sf, _logsf = formulas(lambda k, p: times_powers(*together(0.0, 1.0, k, p, 0.0)), lambda k, p: k * np.log1p(-p))

    def _cdf(self, k: Array, p: Array) -> Array:
        low = numbers_of(p) < 0.5
        return branch(low, p, lambda p: -np.expm1(k * np.log1p(-p)), lambda p: 1 - self._sf(k, p), (0.25, 0.5))

    def _logcdf(self, k: Array, p: Array) -> Array:
        """log(1 − (1 − p)ᵏ): for a small p by the logarithm, for a large one by the power."""
        low = numbers_of(p) < 0.5
        return branch(low, p, lambda p: log1mexp(-k * np.log1p(-p)), lambda p: np.log1p(-self._sf(k, p)), (0.25, 0.5))

    _mean, _var = formulas(lambda p: 1 / p, lambda p: (None, -2.0, p, 1.0))


poisson, binom, bernoulli, nbinom, geom = Poisson(), Binomial(), Bernoulli(), NegativeBinomial(), Geometric()


def refuse(x: Any, message: str) -> NoReturn:
    """A ValueError; a doubt if only some examples of a batch may be wrong."""
    if hasattr(batch := value_of(x), "batch_layer"):
        batch.batch_layer.doubt(message)
    raise ValueError(message)


class Dirichlet(Distribution):
    """``dirichlet(alpha)``: of x (k,) or (k, n) with Σ x = 1 along the first axis, and alpha (k,).

    The last element of x may be left out, as it follows from Σ x = 1. An x off the simplex (negative, or Σ x ≠ 1) is a
    ValueError, as in SciPy. Its gradient has all partial derivatives, as if the elements of x were free.
    """

    _name, _parameters = "dirichlet", ("alpha",)

    def logpdf(self, x: Any, *args: object, **named: object) -> Node:
        """The logarithm of the density."""
        x, alpha = as_array(x), self._alpha("logpdf", args, named)
        if x.shape[0] == alpha.shape[0] - 1:
            x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
        if x.shape[0] != alpha.shape[0]:
            raise ValueError(f"dirichlet: x has {x.shape[0]} elements along its first axis, alpha has {alpha.shape[0]}")
        at, low = innermost(x), innermost(alpha) < 1
        sums = is_on_host(at) and np.sum(at, axis=at.ndim - x.ndim)  # before that axis: those of batches
        if is_on_host(at) and not (np.all(at >= 0) and np.all(np.absolute(sums - 1) <= 1e-9)):
            refuse(x, "dirichlet: x is not on the simplex: its elements are at least 0, and their sum is 1")
        is_plain = is_on_host(x) and is_on_host(alpha)
        at_ends = (at == 0) & low.reshape(-1, *[1] * (x.ndim - 1)) if is_plain else np.any(at == 0) & np.any(low)
        if is_on_host(at_ends) and np.any(at_ends):
            wrong = x if is_on_host(alpha) else alpha
            refuse(wrong, "dirichlet: x is 0 where alpha is less than 1: the density is infinite there")
        powers = np.sum(special.xlogy(alpha - 1, x.T), axis=-1)
        return np.squeeze(powers + special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha)))

    def pdf(self, x: Array, *args: object, **named: object) -> Node:
        """The density."""
        return as_array(np.exp(self.logpdf(x, *args, **named)))

    def rvs(self, alpha: Any, size: Any = 1, random_state: Any = None) -> Node:
        """Draws (*size, k): gamma variables divided by their sum, which move with alpha."""
        alpha = self._alpha("rvs", (alpha,), {})
        if not has_gradient([alpha]):
            return draw_with_scipy(self._name, (alpha,), size, random_state)
        size = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        z = gamma.rvs(alpha, size=(*size, *alpha.shape), random_state=random_state)
        return z / np.sum(z, axis=-1, keepdims=True)

    def _alpha(self, method: str, args: Any, named: Any) -> Array:
        (alpha,) = self._bind(method, args, named)
        alpha = as_array(alpha)
        if alpha.ndim != 1 or (is_on_host(innermost(alpha)) and not np.all(innermost(alpha) > 0)):
            refuse(alpha, "dirichlet: alpha has to be a vector of positive numbers")
        return alpha


class MultivariateNormal(Distribution):
    """``multivariate_normal(mean, cov)``: of x (..., k), mean (k,), cov (k, k) positive definite.

    With ``allow_singular`` the covariance may have a lower rank: then the density is that on the space that it spans
    (its logarithm is −∞ elsewhere), and derivatives hold while the rank stays the same.
    """

    _name, _parameters = "multivariate_normal", ("mean", "cov", "allow_singular")
    _defaults = ("mean", 0), ("cov", 1), ("allow_singular", False)
    _drawn_with = 2

    def logpdf(self, x: Array, *args: object, **named: object) -> Node:
        """The logarithm of the density, by the Cholesky factor of cov."""
        d, cov, singular = self._given("logpdf", x, args, named)
        if singular:
            return self._on_subspace(d, cov)
        low = np.linalg.cholesky(cov)
        z = np.linalg.solve(low, d[..., None])[..., 0]
        z = -0.5 * (np.sum(z * z, axis=-1) + cov.shape[0] * LOG_2PI) - np.sum(np.log(np.diagonal(low)))
        return np.squeeze(z)

    pdf = Dirichlet.pdf

    def entropy(self, *args: object, **named: object) -> Node:
        """½ log det(2πe cov); with ``allow_singular`` from the rank and the eigenvalues that are not 0."""
        _, cov, singular = self._given("entropy", 0, args, named)
        if singular:
            values, _, rank = self._spanned(cov)
            return as_array(0.5 * (rank * (LOG_2PI + 1) + np.sum(np.log(values))))
        return 0.5 * cov.shape[0] * (LOG_2PI + 1) + np.sum(np.log(np.diagonal(np.linalg.cholesky(cov))))

    def rvs(self, mean: Any = 0, cov: Any = 1, size: object = 1, random_state: object = None) -> Node:
        """SciPy's draws (*size, k), which move as mean + l ε with the Cholesky factor l of a regular cov."""
        _, cov, _ = self._given("rvs", 0, (mean, cov), {})
        mean = as_array(0 if mean is None else mean) + np.zeros(cov.shape[0])
        x = np.asarray(draw_with_scipy("multivariate_normal", (mean, cov), size, random_state))
        scalar = cov.shape[0] == 1
        d = (x[..., None] if scalar else x) - numbers_of(mean)
        noise = np.linalg.solve(np.linalg.cholesky(numbers_of(cov)), d[..., None])
        z = mean + (np.linalg.cholesky(cov) @ noise)[..., 0]
        return z[..., 0] if scalar else z

    def _given(self, method: str, x: Array, args: Any, named: Any) -> tuple[Array, Array, bool]:
        """x − mean with k as the last axis, cov as a matrix, and whether it may be singular."""
        mean, cov, singular = self._bind(method, args, named)
        cov, mean = floats(cov), 0 if numbers_of(mean) is None else mean
        if cov.ndim == 0 and np.ndim(numbers_of(mean)) == 1:
            cov = cov * np.eye(np.shape(numbers_of(mean))[0])
        cov = cov if cov.ndim == 2 else np.diag(cov) if cov.ndim == 1 else cov.reshape(1, 1)
        d = as_array(x) - mean
        return (d if d.ndim and d.shape[-1] == cov.shape[0] else d[..., None]), cov, bool(singular)

    def _spanned(self, cov: Array) -> tuple[Array, Array, int]:
        """The eigenvalues of cov that are not 0 by SciPy's criterion, their vectors, and how many."""
        values, vectors = np.linalg.eigh(cov)
        size = np.abs(numbers_of(values))
        limit = 1e6 * np.finfo(size.dtype).eps * size.max()
        if np.min(numbers_of(values)) < -limit:
            raise ValueError("multivariate_normal: the covariance has a negative eigenvalue")
        is_large = numbers_of(values) > limit
        return values[is_large], vectors[:, is_large], int(is_large.sum())

    def _on_subspace(self, d: Array, cov: Array) -> Array:
        values, vectors, rank = self._spanned(cov)
        quadratic = np.sum(d * (d @ np.linalg.pinv(cov, hermitian=True, rcond=1e6 * np.finfo(cov.dtype).eps)), axis=-1)
        z = -0.5 * (quadratic + rank * LOG_2PI + np.sum(np.log(values)))
        rest = numbers_of(d) - numbers_of(d) @ numbers_of(vectors) @ numbers_of(vectors).T
        inside = np.linalg.norm(rest, axis=-1) < 1e3 * 1e6 * np.finfo(cov.dtype).eps
        return np.squeeze(if_ok(inside, z, -math.inf, np.asarray(True)))


class Wishart(Distribution):
    """``wishart(df, scale)``: of positive definite matrices x (p, p), or (p, p, n), for df > p − 1 and scale (p, p)."""

    _name, _parameters = "wishart", ("df", "scale")

    def rvs(self, df: Array, scale: Any, size: object = 1, random_state: object = None) -> Node:
        """SciPy's draws (*size, p, p), which move as l a aᵀ lᵀ with the Cholesky factor l of scale. In Bartlett's
        triangular a the squares on the diagonal are χ² variables of df, df − 1 ..., which move with df."""
        df, scale = as_array(df), as_array(scale)
        scale = scale if scale.ndim == 2 else np.diag(scale) if scale.ndim == 1 else scale.reshape(1, 1)
        p = scale.shape[0]
        low = np.linalg.cholesky(scale)
        x = np.asarray(draw_with_scipy("wishart", (float(numbers_of(df)), scale), size, random_state))
        flat = x.reshape(*x.shape, 1, 1) if p == 1 else x
        inverse = np.linalg.inv(numbers_of(low))
        a = np.linalg.cholesky(inverse @ flat @ inverse.T)
        halves = gamma._follow(np.diagonal(a, axis1=-2, axis2=-1) ** 2 / 2, (df - np.arange(p)) / 2)  # of chi-squared
        a = np.tril(a, -1) + np.sqrt(2 * halves)[..., None] * np.eye(p)
        half = low @ a
        z = half @ half.mT
        return z[..., 0, 0] if p == 1 else z


dirichlet, multivariate_normal, wishart = Dirichlet(), MultivariateNormal(), Wishart()
