"""Averages with weights, covariance, correlation; and quantiles.

The first three are NumPy's own code, so every step is recorded.

Median, percentile, quantile and their twins for NaN are elements of a certain rank, or means of two neighbours. Let y
be the elements in order. A quantile is (1 − t) y[j] + t y[j + 1], and a small change of x does not change j (as in
``ordering.py``), so each gradient goes back to where these two came from. t moves with q.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.bodies import run_own
from ..table.indexing import put_back
from ..table.shapes import AnyFunction, Array, Axis, as_array, from_last, like_argument, numbers_of, to_last, total
from ..table.table import rule
from .arithmetic import times_share

# ---------------------------------------------------------------- averages, covariance, correlation


run_own(np.average, np.corrcoef)
run_own(np.cov, written="m fweights")


# ---------------------------------------------------------------- quantiles: elements by their rank


def ranks(name: str, y: Array, q: Array, method: str) -> Array:
    """Between which elements of y (sorted along its last axis) the quantile lies: 2.25 is a quarter from rank 2 to 3.

    NumPy's function says so if it is given the ranks 0, 1, 2, ... instead of the elements: with every method a quantile
    is one element or a mean of two neighbours. One rank for each q; with NaN, for each q and row of y.
    """
    function, n = getattr(np, name), y.shape[-1]
    options = {} if q is None else {"q": q, "method": method}
    if not name.startswith("nan"):
        return as_array(function(np.arange(float(n), like=like_argument(y)), **options))
    numbers = np.where(np.isnan(y), np.nan, np.arange(float(n), like=like_argument(y)))
    numbers[..., :1] = 0.0  # rows of NaN alone get a rank too; their gradient is dropped
    return as_array(function(numbers, axis=y.ndim - 1, **options))


def rank_of_value(y: Array, z: Array) -> Array:
    """The rank of results that are elements of y, as with weights: how many elements of the row are smaller."""
    flat = np.reshape(z, (-1, *y.shape[:-1]))
    return np.reshape(np.stack([np.sum(y < row[..., None], axis=-1) for row in flat]), np.shape(z))


# Where the quantile q of n elements lies, n q + α + q (1 − α − β) − 1, in the methods that draw lines between them.
# Source: R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", 1996. The other methods have steps.
LINES: dict[str, tuple[float, float]] = {
    "linear": (1, 1), "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


def steepness(name: str, q: Array, n: Array, method: str) -> Array:
    """∂rank/∂q, for each q and number n of elements; 0 beyond the first and the last element, and on steps."""
    if method not in LINES:
        return np.zeros_like(q * n, dtype=float)
    alpha, beta = LINES[method]
    scale = 0.01 if name.endswith("percentile") else 1.0
    slope = n + 1 - alpha - beta
    rank = q * scale * slope + alpha - 1
    return np.where((rank >= 0) & (rank <= n - 1), slope * scale, 0)


def quantile_x(g: Array, x: Array, q: Any, z: Array, name: str, axis: Axis, method: str, weights: Array) -> Array:
    """z = (1 − t) y[j] + t y[j + 1], y being x in order: these two receive (1 − t) g and t g.

    Shapes: x (rows, n) once the axes are brought together; z and g (q, rows).
    """
    if not np.size(x):
        return np.zeros_like(numbers_of(x))
    q_shape, numbers = np.shape(q), numbers_of(q)
    values = to_last(numbers_of(x), axis)
    order = np.argsort(values, axis=-1, kind="stable")
    y = np.take_along_axis(values, order, -1)
    rows = y.shape[:-1]
    g = g.reshape(q_shape + rows)
    if weights is None:
        rank = ranks(name, y, numbers, method)
    else:
        rank = rank_of_value(y, np.reshape(numbers_of(z), q_shape + rows))
    rank = np.broadcast_to(per_row(rank, g.ndim), g.shape)
    low = np.floor(rank).astype(int)
    t: Any = (rank - low).astype(np.finfo(g.dtype).dtype)
    if q is not numbers and weights is None:  # a node: 0 is added, which has the derivative of t
        t = t + (per_row(q, g.ndim) - per_row(numbers, g.ndim)) * slopes(name, y, numbers, method)
    if name.startswith("nan"):
        g = np.where(np.isnan(y[..., 0]), 0, g)  # sorted, so the whole row is NaN
    sent = to_rank(times_share(g, 1 - t), low, order)
    sent = sent + to_rank(times_share(g, t), np.minimum(low + 1, y.shape[-1] - 1), order)
    return from_last(sent, np.shape(x), axis)


def quantile_q(g: Array, x: Array, q: Any, name: str, axis: Axis, method: str, weights: Array) -> Array:
    """z = (1 − t) y[j] + t y[j + 1], and t grows with q: dz/dq = (y[j + 1] − y[j]) ∂rank/∂q. Exactly at an element it
    is the slope of the line to its right; at the last one, of the line to its left."""
    q_shape, numbers = np.shape(q), numbers_of(q)
    if weights is not None:
        return np.zeros_like(numbers, dtype=float)
    values = to_last(as_array(x), axis)
    order = np.argsort(numbers_of(values), axis=-1, kind="stable")
    values = np.take_along_axis(values, order, -1)
    y = numbers_of(values)
    rows, ndim = y.shape[:-1], len(q_shape) + y.ndim - 1
    rank = ranks(name, y, numbers, method)
    last = np.maximum(y.shape[-1] - 1 - np.sum(np.isnan(y), axis=-1), 0)
    low = np.floor(np.broadcast_to(per_row(rank, ndim), q_shape + rows)).astype(int)
    low = np.minimum(low, np.maximum(last - 1, 0))
    grid = np.ogrid[tuple([slice(n) for n in rows])]
    step = values[(*grid, np.minimum(low + 1, last))] - values[(*grid, low)]
    sent = g.reshape(q_shape + rows) * step * slopes(name, y, numbers, method)
    return total(sent, tuple(range(len(q_shape), ndim)))


def per_row(q: Any, ndim: int) -> Array:
    """``q`` with axes for the rows behind its own."""
    q = as_array(q)
    return q.reshape(q.shape + (1,) * (ndim - q.ndim))


def slopes(name: str, y: Array, q: Any, method: str) -> Array:
    """:func:`steepness` for each q and row of y, which may have NaN at its end."""
    n = np.sum(~np.isnan(y), axis=-1) if name.startswith("nan") else np.full_like(y[..., 0], y.shape[-1], dtype=int)
    return steepness(name, per_row(q, np.ndim(q) + n.ndim), n, method)


def to_rank(g: Array, rank: Array, order: Array) -> Array:
    """``g`` (q, rows) sent to the elements (rows, n) that have those ranks."""
    grid = np.ogrid[tuple([slice(n) for n in order.shape[:-1]])]
    return put_back(g, (*grid, order[(*grid, rank)]), order.shape)


def refuse_overwrite(function: Any) -> AnyFunction:
    """``function`` without ``overwrite_input=True``, which lets NumPy write into x: derivatives may need its values."""

    def compute(x: Array, *q: Any, overwrite_input: object = False, **options: Any) -> Array:
        if overwrite_input:
            raise NoRuleError("overwrite_input=True would destroy the elements of a node: leave it out")
        if q and np.ndim(q[0]) > 1 and function.__name__.startswith("nan"):  # NumPy puts such results in wrong places
            raise NoRuleError(
                f"np.{function.__name__} of a node takes one q or a list of them, not {np.ndim(q[0])} axes of q"
            )
        return function(x, *q, **options)

    return compute


def add_median(function: Any) -> None:
    """The row of np.median or np.nanmedian."""
    name = function.__name__
    rule(function, "x | axis=None overwrite_input=False keepdims=False", "med", rf"\operatorname{{{name}}} $x",
         compute=refuse_overwrite(function), by_name=True,
         x=lambda g, x, z, axis: quantile_x(g, x, None, z, name, axis, "", None))  # fmt: skip


def add_quantile(function: Any) -> None:
    """The row of np.quantile, np.percentile or one of their twins for NaN."""
    name = function.__name__
    domain = (2, 30) if name.endswith("percentile") else (0.05, 0.95)  # the cubes of percents fit into half precision
    rule(function, "x q | axis=None overwrite_input=False method='linear' keepdims=False weights=None", "quantile",
         rf"\operatorname{{{name}}} $x", elementwise=False, domain=domain,
         compute=refuse_overwrite(function), by_name=True,
         x=lambda g, x, q, z, axis, method, weights: quantile_x(g, x, q, z, name, axis, method, weights),
         q=lambda g, x, q, axis, method, weights: quantile_q(g, x, q, name, axis, method, weights))  # fmt: skip


add_median(np.median)
add_median(np.nanmedian)
for each in (np.quantile, np.nanquantile, np.percentile, np.nanpercentile):
    add_quantile(each)
