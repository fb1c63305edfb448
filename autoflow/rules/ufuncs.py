"""The methods of ufuncs: ``np.maximum.accumulate(x)``, ``np.multiply.outer(x, y)``, ``np.add.reduceat(x, starts)``.

The sums and products among them have rows (sum, cumsum, prod, cumprod, and reduceat of add below). The others are
written out, element by element along the axis, in NumPy's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NoRuleError
from .indexing import put_back
from .shapes import as_array, axes_of
from .table import RULES, of, primitive, rule

Array = Any
Shape = tuple[int, ...]


def layers(x: Array, axis: int) -> list[Array]:
    """The parts of x along an axis."""
    return [x[(slice(None),) * axis + (k,)] for k in range(x.shape[axis])]


def folded(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduce``: z = f(f(f(x₀, x₁), x₂), ...)."""

    def reduce(x: Any, axis: Any = 0, keepdims: bool = False) -> Array:
        x = as_array(x)
        axes = axes_of(axis, x.ndim)
        if len(axes) != 1:
            name = f"np.{ufunc.__name__}.reduce"
            raise NoRuleError(f"{name} of a node goes along one axis: give axis=, one after the other")
        parts = layers(x, axes[0])
        if not parts:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__}")
        z = parts[0]
        for part in parts[1:]:
            z = ufunc(z, part)
        return np.expand_dims(z, axes[0]) if keepdims else z

    return reduce


def running(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate``: all that :func:`folded` comes by."""

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


# ---------------------------------------------------------------- reduceat


def segments(indices: Any, n: int) -> list[tuple[int, int]]:
    """From where to where: up to the next index, or one element if that is not behind; the last one up to the end.

    >>> segments([0, 3, 1], 5)
    [(0, 3), (3, 4), (1, 5)]
    """
    starts = [int(i) for i in indices]
    ends = [*starts[1:], n]
    return [(i, j if j > i else i + 1) for i, j in zip(starts, ends, strict=True)]


@primitive
def sums_at(x: Array, indices: Any, axis: int = 0) -> Array:
    """``np.add.reduceat``."""
    return np.add.reduceat(x, indices, axis)


def sums_at_x(g: Array, x_shape: Shape, indices: Any, axis: int) -> Array:
    """Every element receives the gradients of the sums that it is in."""
    axis = axis % len(x_shape)
    parts = segments(indices, x_shape[axis])
    members = np.concatenate([np.arange(i, j) for i, j in parts])
    owners = np.repeat(np.arange(len(parts)), [j - i for i, j in parts])
    return put_back(np.take(g, owners, axis=axis), (slice(None),) * axis + (members,), x_shape)


def parts_at(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduceat``: the reduction of every segment."""

    def reduceat(x: Any, indices: Any, axis: int = 0) -> Array:
        x = as_array(x)
        axis = axes_of(axis, x.ndim)[0]
        reduce, lead = folded(ufunc), (slice(None),) * axis
        return np.stack([reduce(x[(*lead, slice(i, j))], axis) for i, j in segments(indices, x.shape[axis])], axis)

    return reduceat


rule(sums_at, "x | indices axis=0", "Σ", r"\sum $x", x=sums_at_x, name="reduceat",
     examples=(of((5,), indices=[0, 2]), of((5,), indices=[0, 3, 1]), of((3, 4), indices=[1, 2], axis=1)))  # fmt: skip

BINARY = [f for f in RULES if isinstance(f, np.ufunc) and f.nin == 2 and f.nout == 1 and f.signature is None]
# Not power, arctan2 and so on: their folds mean little, and NumPy's own (2.4) are wrong for some strides.
FOLDS = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.logaddexp,
         np.logaddexp2]  # fmt: skip
METHODS: dict[str, dict[Any, Callable[..., Any]]] = {
    "reduce": {f: folded(f) for f in FOLDS}
    | {np.add: along_first(np.sum), np.multiply: along_first(np.prod)}
    | {np.maximum: along_first(np.max), np.minimum: along_first(np.min)},
    "accumulate": {f: running(f) for f in FOLDS}
    | {np.add: along_first(np.cumsum), np.multiply: along_first(np.cumprod)},
    "outer": {f: every_pair(f) for f in BINARY},
    "reduceat": {f: parts_at(f) for f in FOLDS} | {np.add: sums_at},
}
