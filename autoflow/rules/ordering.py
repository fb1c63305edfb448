"""Functions that put elements in order (sort, partition, unique), and histograms, which put them into bins.

If no two elements are equal, a small change of x does not change their order: the derivative sends each gradient back
to where its element came from. Equal elements keep their order in x (a stable sort), so each of them receives the
gradient of one place, and together they receive all of it. The ranks of the elements are computed again from x in the
backward pass. (Median and quantiles: ``statistics.py``.)

The counts of a histogram are plain, but sums of weights have a gradient: which bin a number is in has no derivative,
and a weight receives the gradient of the bin that it was added to.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from ..base.types import Array, Shape
from ..table.bodies import run_own
from ..table.indexing import put_back
from ..table.shapes import as_array, as_dtype, has_gradient, is_numpys, is_on_host, like_argument, numbers_of, zeros
from ..table.table import composed, primitive, rule

# ---------------------------------------------------------------- taking along an axis


def along(indices: Array, shape: Shape, axis: int) -> tuple[Array, ...]:
    """The index that picks ``i`` along ``axis`` of an array of ``shape``: x[along(i, x.shape, axis)].

    >>> along(np.array([[1], [0]]), (2, 3), 1)
    (array([[0],
           [1]]), array([[1],
           [0]]))
    """
    axis = axis % len(shape)
    own = [np.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - a)) for a, n in enumerate(shape)]
    return tuple([as_array(indices) if a == axis else own[a] for a in range(len(shape))])


def take_along_x(g: Array, x_shape: Shape, indices: Array, axis: Any) -> Array:
    """Every element receives the gradients of all places to which it was copied."""
    if axis is None:
        return put_back(g, (as_array(indices),), (int(np.prod(x_shape)),)).reshape(x_shape)
    return put_back(g, along(indices, x_shape, axis), x_shape)


# ---------------------------------------------------------------- sort and partition


def rank_in_result(x: Array, z: Array, axis: int) -> Array:
    """Where each element of x is in z, which has the same elements in another order along ``axis``: the k-th smallest
    of x is the k-th smallest of z. NaN is the largest, as in NumPy's sort.

    >>> rank_in_result(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), 0)
    array([2, 0, 1])
    """
    numbers = numbers_of(z)
    axis = axis % numbers.ndim  # a number also where it is True
    lead = (slice(None),) * axis
    # If z rises strictly, no two elements are equal, so the sort need not be stable, which is faster.
    rising = is_on_host(x) and bool((numbers[(*lead, slice(None, -1))] < numbers[(*lead, slice(1, None))]).all())
    from_x = np.argsort(x, axis=axis, kind=None if rising else "stable")
    from_z = np.argsort(numbers, axis=axis, kind="stable")
    place = np.empty_like(from_z)
    if place.ndim == 1:  # takes a tenth of the time
        place[from_x] = from_z
    else:
        np.put_along_axis(place, from_x, from_z, axis)
    return place


def sort_x(g: Array, x: Array, z: Array, axis: Any) -> Array:
    """Each element receives the gradient of the place that it went to. Nothing is added: all places are different."""
    if axis is None or x.ndim == 1:
        return np.take(g, rank_in_result(np.ravel(x), z, 0)).reshape(x.shape)
    return np.take_along_axis(g, rank_in_result(x, z, axis), int(axis))


run_own(np.sort_complex)

# fmt: off
rule(np.take_along_axis, "x | indices axis=-1", "take", x=take_along_x)
# An older NumPy says itself that it does not know ``descending``. Complex numbers may come in another order.
rule(np.sort, "x | axis=-1 kind=None order=None stable=None descending=None", x=sort_x, by_name=True)
rule(np.partition, "x | kth axis=-1 kind='introselect' order=None", x=sort_x, by_name=True, holomorphic=False)
# fmt: on

# ---------------------------------------------------------------- sets: the first of equal elements is taken


def kept_values(x: Array, values: Array) -> Array:
    """The elements of x with these values: of equal ones the first, so it receives the gradient."""
    x = x.reshape(-1)
    order = np.argsort(numbers_of(x), kind="stable")
    return np.take(x, order[np.searchsorted(numbers_of(x)[order], values)])


@composed(np.unique)
def unique(
    ar: Array, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    **options: Any,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """The values are recorded; indices and counts are plain."""
    x = as_array(ar)
    if options.get("sorted") is False and axis is None and not (return_index or return_inverse or return_counts):
        return kept_values(x, np.unique(numbers_of(x), **options))  # NumPy's own order, whatever it is
    _, index, inverse, counts = np.unique(numbers_of(x), True, True, True, axis, **options)
    z = np.take(x.reshape(-1) if axis is None else x, index, axis=0 if axis is None else axis)
    extras = [(return_index, index), (return_inverse, inverse), (return_counts, counts)]
    parts = [part for is_wanted, part in extras if is_wanted]
    return (z, *parts) if parts else z


run_own(np.setxor1d, np.setdiff1d, np.intersect1d)
run_own(np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values, np.union1d)


# ---------------------------------------------------------------- histograms: counts, and sums of weights


@composed(np.bincount)
def bincount(x: Any, weights: Array = None, minlength: int = 0) -> Array:
    """How often 0, 1, 2, ... occur, or the sums of their weights."""
    i = numbers_of(as_array(x) if np.size(x) else x)  # NumPy takes an empty list for integers
    if not (np.size(i) and has_gradient(weights)):
        return np.bincount(i, numbers_of(weights), minlength)
    w = as_array(weights)
    shape = np.bincount(i, np.zeros(w.shape, w.dtype), minlength).shape  # and NumPy's errors
    return put_back(as_dtype(w, float), (as_dtype(i, int),), shape)


@primitive
def histogram_sums(w: Array, a: Any, bins: Any, range: Any = None) -> Array:
    """``np.histogram(a, bins, range, weights=w)[0]``."""
    return as_dtype(np.histogram(a, bins, range, weights=w)[0], w.dtype)  # CuPy's are float64


def edges_of(a: Any, bins: Any, range: Any) -> Array:
    """``np.histogram_bin_edges``, which CuPy does not have on its own."""
    return np.histogram_bin_edges(a, bins, range) if is_numpys(a) else np.histogram(a, bins, range)[1]


def bin_of(a: Array, edges: Array) -> Array:
    """Which bin each number is in; bins contain their left edge, the last one both. -1 or the number of bins: none."""
    i = np.searchsorted(edges, a, "right") - 1
    return np.where(a == edges[-1], edges.size - 2, i)


def histogram_w(g: Array, a: Array, bins: object, range: object) -> Array:
    """The gradient of the bin."""
    edges = edges_of(a, bins, range)
    i, n = bin_of(a, edges), edges.size - 1
    return np.take(np.concatenate([g, zeros(g, (1,))]), np.where((i >= 0) & (i < n), i, n))


@composed(np.histogram, sequences="bins")
def histogram(
    a: Array, bins: object = 10, range: object = None, density: object = None, weights: Array = None
) -> tuple[Array, Array]:
    """Counts or sums of weights, and the edges of the bins."""
    numbers, plain, ends = numbers_of(as_array(a)), numbers_in(bins), numbers_in(range)
    if has_gradient(weights):
        n = histogram_sums(as_array(weights), numbers, plain, ends)
    else:
        n = np.histogram(numbers, plain, ends, weights=numbers_of(weights))[0]
    edges = moving(edges_of(numbers, plain, ends), as_array(a), bins, range)
    return (n / np.diff(edges).astype(float) / n.sum() if density else n), edges


def numbers_in(x: Any) -> Any:
    """The numbers of bins or of ranges, also of those in a list."""
    return type(x)([numbers_in(v) for v in x]) if type(x) in (list, tuple) else numbers_of(x)


def moving(edges: Array, a: Array, bins: Any, range: Any) -> Array:
    """The edges with their derivatives: as they were given, or evenly spaced between the smallest and the largest
    number of a or of ``range``."""
    if isinstance(bins, (list, tuple)) or np.ndim(bins):
        return as_array(bins) if has_gradient(bins) else edges
    if not has_gradient(a if range is None else range) or (range is None and not a.size):
        return edges
    low, high = (np.min(a), np.max(a)) if range is None else map(as_array, range)
    t = (edges - edges[0]) / (edges[-1] - edges[0])
    return edges + (1 - t) * (low - numbers_of(low)) + t * (high - numbers_of(high))


# ---------------------------------------------------------------- histograms in several dimensions


@composed(np.histogramdd, sequences="sample bins range")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: object = None, weights: Array = None
) -> tuple[Array, Any]:  # fmt: skip
    """Counts or sums of weights in boxes, and the edges of the bins of each dimension.

    Shapes: sample (n, d), or d vectors of n; the result has d axes, one element per bin.
    """
    if isinstance(sample, (list, tuple)):
        points = np.stack([numbers_of(as_array(x)) for x in sample], axis=-1)
    else:
        points = numbers_of(sample)
        sample = sample.T if points.ndim == 2 else [sample]
    plain, ends = numbers_in(bins), numbers_in(range)
    is_moving = has_gradient(weights)
    weights = as_array(weights) if is_moving else weights
    plain_weights = None if is_moving and not is_on_host(weights) else numbers_of(weights)
    n, edges = np.histogramdd(points, plain, ends, weights=plain_weights)
    if is_moving:
        columns = points.T if points.ndim == 2 else points[None]
        places = np.stack([bin_of(x, e) for x, e in zip(columns, edges, strict=True)])
        shape = tuple([e.size - 1 for e in edges])
        inside = np.all((places >= 0) & (places < np.asarray(shape, like=like_argument(places))[:, None]), axis=0)
        n = put_back(as_dtype(weights, float)[inside], tuple(places[:, inside]), shape)
    each = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else repeat(bins)
    spread = zip(edges, map(as_array, sample), each, range or repeat(None), strict=False)
    edges = type(edges)([moving(*x) for x in spread])
    if density:
        total = n.sum()
        for axis, e in enumerate(edges):
            n = n / np.diff(e).reshape([-1 if a == axis else 1 for a, _ in enumerate(edges)])
        n = n / total
    return n, edges


run_own(np.histogram2d, sequences="bins range")

rule(histogram_sums, "x | a bins range=None", "hist", name="histogram", x=histogram_w)
