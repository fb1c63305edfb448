"""scipy.spatial.distance for nodes: distances of all pairs (``cdist``, ``pdist``), by metrics with slopes; those of two
vectors are SciPy's own code.

At a kink, where vectors are equal, the slope of a distance is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as theirs

from ...base.errors import NoRuleError
from ...table.shapes import Array, as_array, numbers_of
from ..mirrors import mirrored


def cosine_distance(u: Array, v: Array, w: Any = None) -> Array:
    """1 − cos of the angle."""
    return 1.0 - weighted(u * v, w) / np.sqrt(weighted(u * u, w) * weighted(v * v, w))


def centred(x: Array, w: Any) -> Array:
    """x without its mean."""
    return x - np.average(x, axis=-1, weights=None if w is None else np.broadcast_to(w, x.shape), keepdims=True)


def weighted(x: Array, w: Any) -> Array:
    """Σ w x along the last axis."""
    return np.sum(x if w is None else w * x, axis=-1)


# Metric -> of vectors along the last axis.
METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": lambda u, v, w=None: weighted(np.abs(u - v), w) / weighted(np.abs(u + v), w),
    "canberra": lambda u, v, w=None: weighted(np.abs(u - v) / (np.abs(u) + np.abs(v)), w),
    "chebyshev": lambda u, v, w=None: np.max(np.abs(u - v) * (1 if w is None else np.asarray(w) > 0), axis=-1),
    "cityblock": lambda u, v, w=None: weighted(np.abs(u - v), w),
    "correlation": lambda u, v, w=None: cosine_distance(centred(u, w), centred(v, w), w),
    "cosine": cosine_distance,
    "euclidean": lambda u, v, w=None: np.linalg.norm((u - v) * (1 if w is None else np.sqrt(w)), axis=-1),
    "mahalanobis": lambda u, v, VI: np.sqrt(np.sum(((u - v) @ as_array(VI)) * (u - v), axis=-1)),  # noqa: N803
    "minkowski": lambda u, v, p=2, w=None: np.linalg.norm(
        (u - v) * (1 if w is None else as_array(w) ** (1 / p)), p, axis=-1
    ),
    "seuclidean": lambda u, v, V: np.linalg.norm((u - v) / np.sqrt(V), axis=-1),  # noqa: N803
    "sqeuclidean": lambda u, v, w=None: weighted((u - v) ** 2, w),
}
__all__ = ["cdist", "pdist", "squareform"]


def of_metric(metric: Any, options: dict[str, Any]) -> Callable[[Array, Array], Array]:
    """The distance of vectors along the last axes of two arrays."""
    if callable(metric):
        raise NoRuleError("af.scipy.spatial.distance of nodes takes the name of a metric, not a function")
    short = {"cos": "cosine", "euclid": "euclidean", "eu": "euclidean", "l2": "euclidean", "l1": "cityblock"}
    name = short.get(metric, metric)
    if name not in METRICS or (name in ("mahalanobis", "seuclidean") and not options):
        raise NoRuleError(
            f"the metric {metric!r} has no slopes, or needs V= or VI= for nodes: use one of {', '.join(METRICS)}"
        )
    return lambda u, v: METRICS[name](u, v, **options)


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:  # noqa: N803
    """The distances of all rows of XA from all of XB. Shapes: (n, d), (m, d) -> (n, m).

    >>> import autoflow as af
    >>> from autoflow.scipy.spatial import distance
    >>> distance.cdist(af.Variable([[0.0, 0.0], [3.0, 0.0]]), [[0.0, 4.0]]).value
    array([[4.],
           [5.]])
    """
    return of_metric(metric, options)(as_array(XA)[:, None, :], as_array(XB)[None, :, :])


def pdist(X: Any, metric: Any = "euclidean", **options: Any) -> Any:  # noqa: N803
    """The distances of all pairs of rows, (0, 1), (0, 2) ... Shapes: (n, d) -> (n (n − 1) / 2,)."""
    x = as_array(X)
    n, _ = x.shape
    i, j = np.triu_indices(n, 1)
    return of_metric(metric, options)(x[i], x[j])


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:  # noqa: N803
    """From the distances of pairs, as of :func:`pdist`, to the symmetric matrix, and back."""
    x = as_array(X)
    theirs.squareform(numbers_of(x), force, checks)  # it raises SciPy's own errors
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = int((1 + np.sqrt(1 + 8 * x.shape[0])) / 2)
    places = np.zeros((n, n), int)
    places[np.triu_indices(n, 1)] = np.arange(x.shape[0])
    return x[places + places.T] * (1 - np.eye(n, dtype=x.dtype))


__getattr__, __dir__ = mirrored(globals(), __all__)
