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

from ...rules.distributions import log_betainc, log_gammainc, log_powers, times_powers
from ...table.shapes import Array, as_array, numbers_of, together
from .continuous import Distribution, chosen, refuse_history, size_of, with_limits
from .elementary import gamma_powers, log1mexp

if TYPE_CHECKING:
    from ...nodes.nodes import Node


class Counts(Distribution):
    """A distribution of counts, moved by ``loc``."""

    _shapes: tuple[str, ...] = ()
    _low = 0
    _defaults = (("loc", 0),)
    _valid: Any
    _powers: Any
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
        return self._at("_logpmf", k, args, named, -math.inf, -math.inf)

    def pmf(self, k: Any, *args: Any, **named: Any) -> Node:
        """The probability of k."""
        return self._at("_pmf", k, args, named, 0.0, 0.0)

    def _logpmf(self, k: Array, *shapes: Any) -> Array:
        return log_powers(*together(*self._powers(k, *shapes)))

    def _pmf(self, k: Array, *shapes: Any) -> Array:
        return times_powers(*together(*self._powers(k, *shapes)))

    def _at(self, method: str, k: Any, args: Any, named: Any, below: float, above: float) -> Array:
        with np.errstate(all="ignore"):
            k, shapes, ok = self._given(method[1:], k, args, named)
            high, exact = self._high(*shapes), method in ("_logpmf", "_pmf")
            k = k if exact else np.floor(k)
            inside = (k >= self._low) & (((k <= high) & (np.floor(k) == k) & np.isfinite(k)) if exact else (k < high))
            safe = [(k, self._low), *[(v, 0.5) for v in shapes]]
            return with_limits(getattr(self, method), safe, inside, np.where(k >= high, above, below), ok)

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
        return self._spread(1.0, "var", args, named)

    def std(self, *args: Any, **named: Any) -> Node:
        """The standard deviation."""
        return self._spread(0.5, "std", args, named)

    def _spread(self, power: float, call: str, args: Any, named: Any) -> Array:
        """The variance to this power: by powers of its factors, so that its derivative is right where one is 0."""
        *shapes, _ = self._bind(call, args, named)
        ok = np.asarray(self._valid(*shapes))
        n, c, p, e = self._var(*shapes)
        with np.errstate(all="ignore"):
            rate = times_powers(*together(power * c, p, power * e, p, 0.0))
            return as_array(chosen(ok, rate if n is None else n**power * rate, np.nan, ok))

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

    def _powers(self, k: Array, mu: Any) -> Any:
        c, rest = gamma_powers(mu, k + 1)
        return c, mu, 0.0, 0.0, rest

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
        return None, 1.0, mu, 0.0


class Binomial(Counts):
    """``binom(n, p)``: of n trials, the number of those that succeed."""

    _name, _shapes = "binom", ("n", "p")

    def _valid(self, n: Any, p: Any) -> Any:
        n, p = numbers_of(n), numbers_of(p)
        return (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1)

    def _high(self, n: Any, p: Any) -> Any:
        return numbers_of(n)

    def _powers(self, k: Array, n: Any, p: Any) -> Any:
        return k, p, n - k, p, special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)

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
        return n, 1.0, p, 1.0


class Bernoulli(Counts):
    """``bernoulli(p)``: one trial."""

    _name, _shapes = "bernoulli", ("p",)

    def _valid(self, p: Any) -> Any:
        return (numbers_of(p) >= 0) & (numbers_of(p) <= 1)

    def _high(self, p: Any) -> Any:
        return 1

    def _powers(self, k: Array, p: Any) -> Any:
        return k, p, 1 - k, p, 0.0

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
        return None, 1.0, p, 1.0

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

    def _powers(self, k: Array, n: Any, p: Any) -> Any:
        return n, p, k, p, special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n)

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
        return n, -2.0, p, 1.0


class Geometric(Counts):
    """``geom(p)``: the number of trials until the first success, from 1."""

    _name, _shapes, _low = "geom", ("p",), 1

    def _valid(self, p: Any) -> Any:
        return (numbers_of(p) > 0) & (numbers_of(p) <= 1)

    def _powers(self, k: Array, p: Any) -> Any:
        return 1.0, p, k - 1, p, 0.0

    def _cdf(self, k: Array, p: Any) -> Array:
        return np.where(numbers_of(p) < 0.5, -np.expm1(k * np.log1p(-_below_half(p))), 1 - self._sf(k, p))

    def _sf(self, k: Array, p: Any) -> Array:
        return times_powers(*together(0.0, 1.0, k, p, 0.0))

    def _logcdf(self, k: Array, p: Any) -> Array:
        """log(1 − (1 − p)ᵏ): of a small p by the logarithm, and of a large one by the power."""
        low = log1mexp(-k * np.log1p(-_below_half(p)))
        return np.where(numbers_of(p) < 0.5, low, np.log1p(-self._sf(k, np.where(numbers_of(p) < 0.5, 0.5, p))))

    def _logsf(self, k: Array, p: Any) -> Array:
        return k * np.log1p(-p)

    def _mean(self, p: Any) -> Any:
        return 1 / p

    def _var(self, p: Any) -> Any:
        return None, -2.0, p, 1.0


def _below_half(p: Any) -> Array:
    return np.where(numbers_of(p) < 0.5, p, 0.25)


poisson, binom, bernoulli, nbinom, geom = Poisson(), Binomial(), Bernoulli(), NegativeBinomial(), Geometric()
