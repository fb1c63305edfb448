"""Histograms of weights: how many there are in each bin is plain, but sums of weights have a gradient.

Which bin an element is in has no derivative; a weight receives the gradient of the bin that it was added to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .indexing import put_back
from .ordering import plain_numbers
from .outside import has_gradient
from .shapes import as_array
from .table import composed, of, primitive, rule

Array = Any


def as_weights(weights: Any) -> Array:
    """Weights as one array; a list may have nodes in it."""
    return np.stack([as_array(w) for w in weights]) if isinstance(weights, (list, tuple)) else as_array(weights)


@composed(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How often 0, 1, 2, ... occur, or the sums of their weights."""
    i = plain_numbers(as_array(x))
    if not has_gradient(weights):
        return np.bincount(i, plain_numbers(weights), minlength)
    w = as_weights(weights)
    n = np.bincount(i, minlength=minlength).size
    return put_back(w if w.dtype == float else w.astype(float), (i,), (n,))


@primitive
def histogram_sums(w: Array, a: Any, bins: Any, range: Any = None) -> Array:
    """``np.histogram(a, bins, range, weights=w)[0]``."""
    return np.histogram(a, bins, range, weights=w)[0]


def histogram_w(g: Array, a: Any, bins: Any, range: Any) -> Array:
    """The gradient of the bin; bins contain their left edge, the last one both."""
    edges = np.histogram_bin_edges(a, bins, range)
    i = np.searchsorted(edges, a, "right") - 1
    i = np.where(a == edges[-1], edges.size - 2, i)
    return np.where((i >= 0) & (i < edges.size - 1), np.take(g, np.clip(i, 0, edges.size - 2)), 0)


@composed(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    """Counts or sums of weights, and the edges of the bins."""
    numbers, bins = plain_numbers(as_array(a)), plain_numbers(bins)
    if isinstance(bins, (list, tuple)):
        bins = [plain_numbers(edge) for edge in bins]
    if not has_gradient(weights):
        return np.histogram(numbers, bins, range, density, plain_numbers(weights))
    n = histogram_sums(as_weights(weights), numbers, bins, range)
    edges = np.histogram_bin_edges(numbers, bins, range)
    return (n / np.array(np.diff(edges), float) / n.sum() if density else n), edges


SAMPLES = np.array([0.5, 2.0, 1.0, 3.5, 0.0])
rule(histogram_sums, "x | a bins range=None", "hist", r"\operatorname{hist} $x", name="histogram",
     x=lambda g, a, bins, range: histogram_w(g, a, bins, range),
     examples=(of((5,), a=SAMPLES, bins=3), of((5,), a=SAMPLES, bins=[0.0, 1.0, 2.5]),
               of((5,), a=SAMPLES, bins=2, range=(0.0, 2.0))))  # fmt: skip
