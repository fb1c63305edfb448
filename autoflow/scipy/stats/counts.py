"""Distributions of whole numbers. What has derivatives are the parameters; a count is a plain number.

A subclass says with its parameters: ``_valid``, whether there is such a distribution; ``_low`` and ``_high``, the
smallest and the largest count; ``_logpmf``, ``_cdf``, ``_sf``, ``_logcdf``, ``_logsf`` of a
count in between; ``_mean``, ``_var``. The first three get plain parameters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from ...rules.distributions import log_betainc, log_gammainc
from ...table.shapes import Array, as_array, numbers_of
from .continuous import Distribution, chosen, harmless, refuse_history, size_of
from .elementary import log1mexp

if TYPE_CHECKING:
    from ...nodes.nodes import Node


class Counts(Distribution):
    """A distribution of counts, moved by ``loc``."""

    _shapes: tuple[str, ...] = ()
    _low = 0
    _defaults = (("loc", 0),)
    _valid: Any
    _logpmf: Any
    _mean: Any
    _var: Any

    def __init_subclass__(cls) -> None:
        cls._parameters = (*cls._shapes, "loc")

    def _high(self, *shapes: Any) -> Any:
        """The largest count. Plain."""
        return math.inf

    # -- at a count ----------------------------------------------------------------------------------------------------

    def _given(self, call: str, k: Any, args: Any, named: Any) -> tuple[Array, list[Any], Any]:
        """The count without loc, the shapes, and whether all is well."""
        *shapes, loc = self._bind(call, args, named)
        refuse_history(self._name, ("k", "loc"), (k, loc), "they are counts: they have no derivative.")
        k = np.asarray(numbers_of(as_array(k)) - numbers_of(loc), dtype=np.float64)
        return k, shapes, self._valid(*shapes) & (k == k)

    def logpmf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The logarithm of the probability of k; −∞ where k is no count."""
        return self._logpmf_of("logpmf", k, args, named)

    def pmf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The probability of k."""
        return np.exp(self._logpmf_of("pmf", k, args, named))

    def _logpmf_of(self, call: str, k: Any, args: Any, named: Any) -> Array:
        with np.errstate(all="ignore"):
            k, shapes, ok = self._given(call, k, args, named)
            inside = (k >= self._low) & (k <= self._high(*shapes)) & (np.floor(k) == k) & np.isfinite(k)
            return chosen(inside, self._logpmf(harmless(inside, k, self._low), *shapes), -math.inf, ok)

    def _at(self, method: str, k: Any, args: Any, named: Any, below: float, above: float) -> Array:
        with np.errstate(all="ignore"):
            k, shapes, ok = self._given(method[1:], k, args, named)
            k, high = np.floor(k), self._high(*shapes)
            inside = (k >= self._low) & (k < high)
            z = getattr(self, method)(harmless(inside, k, self._low), *shapes)
            return chosen(inside, z, np.where(k >= high, above, below), ok)

    def cdf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The probability of at most k."""
        return self._at("_cdf", k, args, named, 0.0, 1.0)

    def sf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The probability of more than k, exact where 1 − cdf is 0."""
        return self._at("_sf", k, args, named, 1.0, 0.0)

    def logcdf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The logarithm of cdf."""
        return self._at("_logcdf", k, args, named, -math.inf, 0.0)

    def logsf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The logarithm of sf."""
        return self._at("_logsf", k, args, named, 0.0, -math.inf)

    # -- of the parameters ---------------------------------------------------------------------------------------------

    def mean(self, *args: Any, **named: Any) -> Node:
        """The expectation of k."""
        *shapes, loc = self._bind("mean", args, named)
        ok = np.asarray(self._valid(*shapes))
        return as_array(chosen(ok, self._mean(*shapes), np.nan, ok) + loc)

    def var(self, *args: Any, **named: Any) -> Node:
        """The variance."""
        *shapes, _ = self._bind("var", args, named)
        ok = np.asarray(self._valid(*shapes))
        return as_array(chosen(ok, self._var(*shapes), np.nan, ok))

    def std(self, *args: Any, **named: Any) -> Node:
        """The standard deviation."""
        root: Any = np.sqrt(self.var(*args, **named))
        return root

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **named: Any) -> Node:
        """Draws: SciPy's. A count does not move with its parameters, so nodes among them are refused."""
        import scipy.stats

        places = len(self._parameters)
        if len(args) == places + 1 and size is None:
            args, size = args[:-1], args[-1]
        values = self._bind("rvs", args, named)
        refuse_history(
            self._name, self._parameters, values,
            "for the gradient of an expectation weight with logpmf, whose gradient is the score.",
        )  # fmt: skip
        fixed = [numbers_of(v) for v in values]
        draw = getattr(scipy.stats, self._name).rvs
        return draw(*fixed, size=size_of(size, *values), random_state=random_state)


class Poisson(Counts):
    """``poisson(mu)``: e^(−mu) muᵏ/k!."""

    _name, _shapes = "poisson", ("mu",)

    def _valid(self, mu: Any) -> Any:
        return numbers_of(mu) >= 0

    def _logpmf(self, k: Array, mu: Any) -> Array:
        return special.xlogy(k, mu) - special.gammaln(k + 1) - mu

    def _cdf(self, k: Array, mu: Any) -> Array:
        return special.gammaincc(k + 1, mu)

    def _sf(self, k: Array, mu: Any) -> Array:
        return special.gammainc(k + 1, mu)

    def _logcdf(self, k: Array, mu: Any) -> Array:
        return log_gammainc(k + 1, as_array(mu), True)

    def _logsf(self, k: Array, mu: Any) -> Array:
        return log_gammainc(k + 1, as_array(mu))

    def _mean(self, mu: Any) -> Any:
        return 1.0 * mu

    def _var(self, mu: Any) -> Any:
        return 1.0 * mu


class Binomial(Counts):
    """``binom(n, p)``: of n trials, the number of those that succeed."""

    _name, _shapes = "binom", ("n", "p")

    def _valid(self, n: Any, p: Any) -> Any:
        n, p = numbers_of(n), numbers_of(p)
        return (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1)

    def _high(self, n: Any, p: Any) -> Any:
        return numbers_of(n)

    def _logpmf(self, k: Array, n: Any, p: Any) -> Array:
        ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        return ways + special.xlogy(k, p) + special.xlog1py(n - k, -p)

    def _cdf(self, k: Array, n: Any, p: Any) -> Array:
        return special.betaincc(k + 1, n - k, p)

    def _sf(self, k: Array, n: Any, p: Any) -> Array:
        return special.betainc(k + 1, n - k, p)

    def _logcdf(self, k: Array, n: Any, p: Any) -> Array:
        return log_betainc(k + 1, as_array(n - k), as_array(p), True)

    def _logsf(self, k: Array, n: Any, p: Any) -> Array:
        return log_betainc(k + 1, as_array(n - k), as_array(p))

    def _mean(self, n: Any, p: Any) -> Any:
        return n * p

    def _var(self, n: Any, p: Any) -> Any:
        return n * p * (1 - p)


class Bernoulli(Counts):
    """``bernoulli(p)``: one trial."""

    _name, _shapes = "bernoulli", ("p",)

    def _valid(self, p: Any) -> Any:
        return (numbers_of(p) >= 0) & (numbers_of(p) <= 1)

    def _high(self, p: Any) -> Any:
        return 1

    def _logpmf(self, k: Array, p: Any) -> Array:
        return special.xlogy(k, p) + special.xlog1py(1 - k, -p)

    def _cdf(self, k: Array, p: Any) -> Array:
        """Of k = 0, the only count below the largest one."""
        return 0 * k + (1 - p)

    def _sf(self, k: Array, p: Any) -> Array:
        return 0 * k + p

    def _logcdf(self, k: Array, p: Any) -> Array:
        return 0 * k + np.log1p(-p)

    def _logsf(self, k: Array, p: Any) -> Array:
        return 0 * k + np.log(p)

    def _mean(self, p: Any) -> Any:
        return 1.0 * p

    def _var(self, p: Any) -> Any:
        return p * (1 - p)

    def entropy(self, *args: Any, **named: Any) -> Node:
        """−p log p − (1 − p) log (1 − p)."""
        p, _ = self._bind("entropy", args, named)
        ok = np.asarray(self._valid(p))
        return as_array(chosen(ok, special.entr(p) + special.entr(1 - p), np.nan, ok))


class NegativeBinomial(Counts):
    """``nbinom(n, p)``: the number of failures before the n-th success; n need not be whole."""

    _name, _shapes = "nbinom", ("n", "p")

    def _valid(self, n: Any, p: Any) -> Any:
        return (numbers_of(n) > 0) & (numbers_of(p) > 0) & (numbers_of(p) <= 1)

    def _logpmf(self, k: Array, n: Any, p: Any) -> Array:
        ways = special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n)
        return ways + n * np.log(p) + special.xlog1py(k, -p)

    def _cdf(self, k: Array, n: Any, p: Any) -> Array:
        return special.betainc(n, k + 1, p)

    def _sf(self, k: Array, n: Any, p: Any) -> Array:
        return special.betaincc(n, k + 1, p)

    def _logcdf(self, k: Array, n: Any, p: Any) -> Array:
        return log_betainc(as_array(n), k + 1, as_array(p))

    def _logsf(self, k: Array, n: Any, p: Any) -> Array:
        return log_betainc(as_array(n), k + 1, as_array(p), True)

    def _mean(self, n: Any, p: Any) -> Any:
        return n * (1 - p) / p

    def _var(self, n: Any, p: Any) -> Any:
        return n * (1 - p) / (p * p)


class Geometric(Counts):
    """``geom(p)``: the number of trials until the first success, from 1."""

    _name, _shapes, _low = "geom", ("p",), 1

    def _valid(self, p: Any) -> Any:
        return (numbers_of(p) > 0) & (numbers_of(p) <= 1)

    def _logpmf(self, k: Array, p: Any) -> Array:
        return special.xlog1py(k - 1, -p) + np.log(p)

    def _cdf(self, k: Array, p: Any) -> Array:
        return -np.expm1(k * np.log1p(-p))

    def _sf(self, k: Array, p: Any) -> Array:
        return np.exp(k * np.log1p(-p))

    def _logcdf(self, k: Array, p: Any) -> Array:
        return log1mexp(-k * np.log1p(-p))

    def _logsf(self, k: Array, p: Any) -> Array:
        return k * np.log1p(-p)

    def _mean(self, p: Any) -> Any:
        return 1 / p

    def _var(self, p: Any) -> Any:
        return (1 - p) / (p * p)


poisson, binom, bernoulli, nbinom, geom = Poisson(), Binomial(), Bernoulli(), NegativeBinomial(), Geometric()
