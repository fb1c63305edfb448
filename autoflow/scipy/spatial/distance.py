"""scipy.spatial.distance for nodes: distances of all pairs (``cdist``, ``pdist``), for metrics with slopes; for two
vectors SciPy's own code.

At a kink, where vectors are equal, the slope of a distance is 0.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as theirs

from ...base.errors import NoRuleError
from ...batching.vmap import vmap
from ...table.indexing import put_back
from ...table.shapes import Array, ByName, as_array, as_dtype, numbers_of
from ..mirrors import mirrored

METRICS = "braycurtis canberra chebyshev cityblock correlation cosine euclidean jensenshannon mahalanobis minkowski"
METRICS += " seuclidean sqeuclidean"
TAKES = {"minkowski": "p w", "mahalanobis": "VI", "seuclidean": "V", "jensenshannon": ""}  # keywords; others take w
__all__ = ["cdist", "pdist", "squareform"]


def of_metric(metric: Any, options: ByName) -> Callable[[Array, Array], Array]:
    """The distances between rows of two arrays: SciPy's function of two vectors, or the user's, mapped."""
    name = getattr(theirs._METRIC_ALIAS.get(metric), "canonical_name", metric)
    if not callable(metric):
        if unknown := options.keys() - {*TAKES.get(name, "w").split()}:
            message = f"distances of nodes with the metric {name} do not know {', '.join(sorted(unknown))}="
            raise NoRuleError(f"{message}: leave that out, or pass x.value if only the numbers are meant")
        if name not in METRICS.split() or (name in ("mahalanobis", "seuclidean") and not options):
            message = f"the metric {metric!r} has no slopes, or needs V= or VI= for nodes"
            raise NoRuleError(f"{message}: use one of {METRICS.replace(' ', ', ')}, or a function")
        metric = getattr(sys.modules[__name__], name)
        change: Any = lambda x: as_dtype(x, np.float64)  # noqa: E731 - as SciPy's functions in C do
    else:
        change = as_array
    each = vmap(functools.partial(metric, **options))
    return lambda x, y: as_dtype(each(change(x), change(y)) if len(x) else x[:, 0], np.float64)


def cdist(XA: Array, XB: Array, metric: object = "euclidean", **options: object) -> Array:  # noqa: N803
    """The distances from all rows of XA to all of XB. Shapes: (n, d), (m, d) -> (n, m).

    >>> import autoflow as af
    >>> from autoflow.scipy.spatial import distance
    >>> distance.cdist(af.Variable([[0.0, 0.0], [3.0, 0.0]]), [[0.0, 4.0]]).value
    array([[4.],
           [5.]])
    """
    x, y = as_array(XA), as_array(XB)
    i, j = np.indices((len(x), len(y))).reshape(2, -1)
    return of_metric(metric, options)(x[i], y[j]).reshape(len(x), len(y))


def pdist(X: Array, metric: object = "euclidean", **options: object) -> Array:  # noqa: N803
    """The distances between all pairs of rows, (0, 1), (0, 2) ... Shapes: (n, d) -> (n (n − 1) / 2,)."""
    x = as_array(X)
    n, _ = x.shape
    i, j = np.triu_indices(n, 1)
    return of_metric(metric, options)(x[i], x[j])


def squareform(X: Array, force: str = "no", checks: bool = True) -> Array:  # noqa: N803
    """From the distances of pairs, as of :func:`pdist`, to the symmetric matrix, and back."""
    x = np.atleast_1d(as_array(X))
    theirs.squareform(numbers_of(x), force, checks)  # it raises SciPy's own errors
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = int((1 + np.sqrt(1 + 8 * x.shape[0])) / 2)
    upper = put_back(x, np.triu_indices(n, 1), (n, n))
    return upper + upper.T


__getattr__, __dir__ = mirrored(globals(), __all__)
