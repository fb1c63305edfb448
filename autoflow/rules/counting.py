"""Histograms of weights: how many there are in each bin is plain, but sums of weights have a gradient.

Which bin an element is in has no derivative; a weight receives the gradient of the bin that it was added to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .indexing import put_back
from .shapes import as_array, as_dtype, has_gradient, is_numpys, like_argument, numbers_of
from .table import composed, primitive, rule

Array = Any


@composed(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How often 0, 1, 2, ... occur, or the sums of their weights."""
    i = numbers_of(as_array(x))
    if not has_gradient(weights):
        return np.bincount(i, numbers_of(weights), minlength)
    w = as_array(weights)
    n = np.bincount(i, minlength=minlength).size
    return put_back(as_dtype(w, float), (i,), (n,))


@primitive
def histogram_sums(w: Array, a: Any, bins: Any, range: Any = None) -> Array:
    """``np.histogram(a, bins, range, weights=w)[0]``."""
    z = np.histogram(a, bins, range, weights=w)[0]
    return as_dtype(z, w.dtype)  # CuPy's are float64


def edges_of(a: Any, bins: Any, range: Any) -> Array:
    """``np.histogram_bin_edges``, which CuPy does not have on its own."""
    return np.histogram_bin_edges(a, bins, range) if is_numpys(a) else np.histogram(a, bins, range)[1]


def bin_of(a: Array, edges: Array) -> Array:
    """In which bin each number is; they contain their left edge, the last one both. -1, and one too many: in none."""
    i = np.searchsorted(edges, a, "right") - 1
    return np.where(a == edges[-1], edges.size - 2, i)


def histogram_w(g: Array, a: Any, bins: Any, range: Any) -> Array:
    """The gradient of the bin."""
    edges = edges_of(a, bins, range)
    i = bin_of(a, edges)
    return np.where((i >= 0) & (i < edges.size - 1), np.take(g, np.clip(i, 0, edges.size - 2)), 0)


@composed(np.histogram, sequences="bins")
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    """Counts or sums of weights, and the edges of the bins."""
    numbers, bins = numbers_of(as_array(a)), numbers_of(bins)
    if isinstance(bins, (list, tuple)):
        bins = [numbers_of(edge) for edge in bins]
    if not has_gradient(weights):
        return np.histogram(numbers, bins, range, density, numbers_of(weights))
    n = histogram_sums(as_array(weights), numbers, bins, range)
    edges = edges_of(numbers, bins, range)
    return (n / np.diff(edges).astype(float) / n.sum() if density else n), edges


# ---------------------------------------------------------------- in several dimensions


@composed(np.histogramdd, sequences="sample bins range")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Any]:  # fmt: skip
    """Counts or sums of weights in boxes, and the edges of the bins of each dimension.

    Shapes: sample (n, d), or d vectors of n; the result has d axes, one element per bin.
    """
    if isinstance(sample, (list, tuple)):
        points = np.stack([numbers_of(as_array(x)) for x in sample], axis=-1)
    else:
        points = numbers_of(sample)
    bins = [numbers_of(b) for b in bins] if isinstance(bins, (list, tuple)) else numbers_of(bins)
    if not has_gradient(weights):
        return np.histogramdd(points, bins, range, density=density, weights=numbers_of(weights))
    edges = np.histogramdd(points, bins, range)[1]
    columns = points.T if points.ndim == 2 else points[None]
    places = np.stack([bin_of(x, e) for x, e in zip(columns, edges, strict=True)])
    shape = tuple([e.size - 1 for e in edges])
    inside = np.all((places >= 0) & (places < np.asarray(shape, like=like_argument(places))[:, None]), axis=0)
    w = as_array(weights)
    z = put_back(as_dtype(w, float)[inside], tuple(places[:, inside]), shape)
    if density:
        total = z.sum()
        for axis, e in enumerate(edges):
            z = z / np.diff(e).reshape([-1 if a == axis else 1 for a, _ in enumerate(shape)])
        z = z / total
    return z, edges


@composed(np.histogram2d, sequences="bins range")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array, Array]:  # fmt: skip
    """:func:`histogramdd` of two vectors; one list of edges is for both."""
    if np.shape(x) != np.shape(y):
        raise ValueError("x and y must have the same length.")
    try:
        count = len(bins)  # np.ndim would make an array of it, and ([0.0, 1.0, 2.0], 4) is none
    except TypeError:
        count = 1
    if count not in (1, 2):
        bins = [bins, bins]
    z, edges = histogramdd([x, y], bins, range, density, weights)
    return z, edges[0], edges[1]


rule(histogram_sums, "x | a bins range=None", "hist", r"\operatorname{hist} $x", name="histogram",
     x=lambda g, a, bins, range: histogram_w(g, a, bins, range))  # fmt: skip
