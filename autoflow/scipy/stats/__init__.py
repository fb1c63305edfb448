"""Distributions, written with functions that have derivatives: densities, distribution functions, draws.

scipy.stats takes the numbers of nodes. Here are the distributions that people fit, with SciPy's names and arguments:
``norm.logpdf(x, loc, scale)`` by position or by name, and frozen, ``norm(loc, scale).logpdf(x)``. Everything in a call
may be a node: the point, ``loc`` and ``scale``, and the shape parameters.

>>> import autoflow as af
>>> from autoflow import stats
>>> mean = af.Variable(0.0)
>>> loss = -stats.norm.logpdf([1.0, 2.0, 6.0], mean, 2.0).sum()
>>> loss.backward()
>>> mean.grad  # Σ (mean − x)/scale²
array(-2.25)

Draws are SciPy's for the same ``random_state``, and follow their parameters: ``norm.rvs(mean, 2.0, size=3)`` is
mean + 2 ε (the reparametrisation trick), and of a shape parameter a draw is a quantile that moves.
Counts do not move: there ``rvs`` refuses nodes.

    continuous.py  what a call means: shapes, loc, scale, frozen distributions; and all methods, once, by what a
                   distribution says of its standard form
    elementary.py  such distributions: exponential, logistic, Pareto's ..., normal, gamma, beta, t
    counts.py      of whole numbers; of vectors and matrices
"""

from __future__ import annotations

try:
    import scipy.special  # noqa: F401 - scipy.stats itself, which takes a second to load, is for draws only
except ImportError as error:
    raise ImportError("af.stats computes with SciPy, which is not installed: pip install scipy") from error
from ..mirrors import mirrored
from .counts import bernoulli, binom, dirichlet, geom, multivariate_normal, nbinom, poisson, wishart

from .elementary import (  # isort: skip - in rows, as in __all__ below
    beta, cauchy, chi2, expon, gamma, gumbel_l, gumbel_r, laplace, logistic, lognorm, norm, pareto, t, uniform,
    weibull_min,
)  # fmt: skip

__all__ = [
    "bernoulli", "beta", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "geom", "gumbel_l", "gumbel_r",
    "laplace", "logistic", "lognorm", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "uniform",
    "weibull_min", "wishart",
]  # fmt: skip
__getattr__, __dir__ = mirrored(globals())
