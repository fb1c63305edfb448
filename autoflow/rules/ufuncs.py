"""The methods of ufuncs: ``np.maximum.accumulate(x)``, ``np.multiply.outer(x, y)``, ``np.add.reduceat(x, starts)``.

The sums and products among them have rows (sum, cumsum, prod, cumprod, and reduceat of add below), and so have the
reductions that are used as norms: np.logaddexp.reduce is what others call logsumexp. The rest is written out, element
by element along the axis, in NumPy's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.indexing import put_back
from ..table.shapes import (
    Axis,
    as_array,
    axes_of,
    given_keywords,
    is_numpys,
    like_argument,
    restore_axes,
    to_last,
    zeros,
)
from ..table.table import RULES, primitive, rule
from .arithmetic import over

Array = Any
Shape = tuple[int, ...]


def layers(x: Array, axis: int) -> list[Array]:
    """The parts of x along an axis."""
    return [x[(slice(None),) * axis + (k,)] for k in range(x.shape[axis])]


def reduce_rule(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduce``: z = f(f(f(x₀, x₁), x₂), ...)."""

    def reduce(x: Any, axis: Any = 0, keepdims: bool = False) -> Array:
        x = as_array(x)
        axes = axes_of(axis, x.ndim)
        if len(axes) > 1 and ufunc in ANY_ORDER:  # the last axis first
            return reduce(reduce(x, axes[-1], keepdims), axes[:-1], keepdims)
        if len(axes) != 1:
            name = f"np.{ufunc.__name__}.reduce"
            raise NoRuleError(f"{name} of a node works along one axis: give axis=, one call for each axis")
        parts = layers(x, axes[0])
        if not parts:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__}")
        z = parts[0]
        for part in parts[1:]:
            z = ufunc(z, part)
        return np.expand_dims(z, axes[0]) if keepdims else z

    return reduce


def accumulate_rule(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate``: all intermediate results of :func:`reduce_rule`."""

    def accumulate(x: Any, axis: int = 0) -> Array:
        x = as_array(x)
        axis = axes_of(axis, x.ndim)[0]
        if not x.shape[axis]:
            return x
        found = [layers(x, axis)[0]]
        for part in layers(x, axis)[1:]:
            found.append(ufunc(found[-1], part))
        return np.stack(found, axis)

    return accumulate


def along_first(function: Any) -> Callable[..., Any]:
    """np.sum as np.add.reduce: along axis 0, if no axis is given."""
    return lambda x, axis=0, **options: function(x, axis=axis, **options)


def every_pair(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.outer``: f(x[i], y[j]) for all i and j."""

    def outer(x: Any, y: Any) -> Array:
        x, y = as_array(x), as_array(y)
        return ufunc(x.reshape(x.shape + (1,) * y.ndim), y)

    return outer


# ---------------------------------------------------------------- norms


def share_of_logsumexp(g: Array, x: Array, z: Array, axis: Axis, keepdims: bool, exp: Any) -> Array:
    """z = log Σ eˣ, so dz/dx = eˣ⁻ᶻ, the softmax: never more than 1. Entries equal to z (infinite ones, or so large
    that the others do not count) share evenly what comes in: :func:`~autoflow.rules.arithmetic.share_of_logaddexp`."""
    g, z = restore_axes(g, x.shape, axis, keepdims), restore_axes(z, x.shape, axis, keepdims)
    hit = x == z
    count = np.maximum(hit.sum(axis=axis, keepdims=True), 1).astype(g.dtype)
    return np.where(hit, g / count, g) * exp(np.where(hit, 0, x - z))


def add_norm(ufunc: np.ufunc, label: str, latex: str, x: Callable[..., Array]) -> Callable[..., Any]:
    """The row of ``ufunc.reduce``; NumPy reduces the axes in an order of its own."""

    def reduced(x: Array, axis: Axis = 0, keepdims: bool = False, initial: Any = None) -> Array:
        if not is_numpys(x):
            return reduce_by_halves(ufunc, x, axis, keepdims, initial)
        return ufunc.reduce(x, axis, keepdims=keepdims, **given_keywords(initial=initial))

    reduced.__name__ = reduced.__qualname__ = f"{ufunc.__name__}_reduce"
    row = primitive(reduced)
    rule(row, "x | axis=0 keepdims=False initial=None", label, latex, x=x, holomorphic=False)
    return row


def reduce_by_halves(ufunc: np.ufunc, x: Array, axis: Axis, keepdims: bool, initial: Any) -> Array:
    """``ufunc.reduce`` for libraries without it, as CuPy: one half with the other, until one element is left."""
    y = to_last(x, axis)
    while y.shape[-1] > 1:
        half = y.shape[-1] // 2
        folded = ufunc(y[..., :half], y[..., half : 2 * half])
        y = np.concatenate([folded, y[..., 2 * half :]], axis=-1)
    if not y.shape[-1]:
        y = zeros(y, (*y.shape[:-1], 1)) + ufunc.identity
    z = y[..., 0] if initial is None else ufunc(y[..., 0], initial)
    return restore_axes(z, x.shape, axis, not keepdims)


NORMS: dict[Any, Callable[..., Any]] = {
    np.logaddexp: add_norm(np.logaddexp, "logΣexp", r"\log \sum e^{$x}",
                           lambda g, x, z, axis, keepdims: share_of_logsumexp(g, x, z, axis, keepdims, np.exp)),
    np.logaddexp2: add_norm(np.logaddexp2, "log₂Σ2^", r"\log_2 \sum 2^{$x}",
                            lambda g, x, z, axis, keepdims: share_of_logsumexp(g, x, z, axis, keepdims, np.exp2)),
    np.hypot: add_norm(np.hypot, "hypot", r"\sqrt{\sum {$x}^2}",
                       lambda g, x, z, axis, keepdims: restore_axes(g, x.shape, axis, keepdims)
                       * over(x, restore_axes(z, x.shape, axis, keepdims))),
}  # fmt: skip

# ---------------------------------------------------------------- reduceat


def segments(indices: Any, n: int) -> list[tuple[int, int]]:
    """Begin and end of each segment: up to the next index, or one element if that is not larger; the last to the end.

    >>> segments([0, 3, 1], 5)
    [(0, 3), (3, 4), (1, 5)]
    """
    starts = [int(i) for i in indices]
    ends = [*starts[1:], n]
    return [(i, j if j > i else i + 1) for i, j in zip(starts, ends, strict=True)]


@primitive
def sums_at(x: Array, indices: Any, axis: int = 0) -> Array:
    """``np.add.reduceat``."""
    return np.add.reduceat(x, indices if is_numpys(x) else np.asarray(indices, like=like_argument(x)), axis)


def sums_at_x(g: Array, x_shape: Shape, indices: Any, axis: int) -> Array:
    """Every element receives the gradients of the sums that it is in."""
    axis = axis % len(x_shape)
    parts = segments(indices, x_shape[axis])
    members = np.concatenate([np.arange(i, j, like=like_argument(g)) for i, j in parts])
    owners = np.repeat(np.arange(len(parts), like=like_argument(g)), [j - i for i, j in parts])
    return put_back(np.take(g, owners, axis=axis), (slice(None),) * axis + (members,), x_shape)


def parts_at(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduceat``: the reduction of every segment."""

    def reduceat(x: Any, indices: Any, axis: int = 0) -> Array:
        x = as_array(x)
        axis = axes_of(axis, x.ndim)[0]
        reduce, lead = reduce_rule(ufunc), (slice(None),) * axis
        return np.stack([reduce(x[(*lead, slice(i, j))], axis) for i, j in segments(indices, x.shape[axis])], axis)

    return reduceat


rule(sums_at, "x | indices axis=0", "Σ", r"\sum $x", x=sums_at_x, name="reduceat")

BINARY = [f for f in RULES if isinstance(f, np.ufunc) and f.nin == 2 and f.nout == 1 and f.signature is None]
# Not power, arctan2 and so on: their folds mean little, and NumPy's own (2.4) are wrong for some strides.
FOLDS = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.logaddexp,
         np.logaddexp2]  # fmt: skip
ANY_ORDER = [np.fmax, np.fmin]  # no rounding, so the order of the axes does not matter
METHODS: dict[str, dict[Any, Callable[..., Any]]] = {
    "reduce": {f: reduce_rule(f) for f in FOLDS}
    | {np.add: along_first(np.sum), np.multiply: along_first(np.prod)}
    | {np.maximum: along_first(np.max), np.minimum: along_first(np.min)}
    | NORMS,
    "accumulate": {f: accumulate_rule(f) for f in FOLDS}
    | {np.add: along_first(np.cumsum), np.multiply: along_first(np.cumprod)},
    "outer": {f: every_pair(f) for f in BINARY},
    "reduceat": {f: parts_at(f) for f in FOLDS} | {np.add: sums_at},
}
