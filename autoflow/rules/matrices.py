"""Powers and products of matrices, and the names of the array API standard; composed of functions that have rows."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from ..table.shapes import Array, as_array, like_argument, since
from ..table.table import composed

# ---------------------------------------------------------------- products


@composed(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Array:
    """x multiplied by itself, with about log₂ n products; a negative n inverts first. x⁰ is a plain unit matrix."""
    x, n = as_array(a), operator.index(n)
    if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
        raise np.linalg.LinAlgError(f"matrix_power multiplies square matrices with themselves, not {x.shape}")
    if n == 0:
        return np.broadcast_to(np.identity(x.shape[-1], x.dtype, like=like_argument(x)), x.shape).copy()
    if n < 0:
        x, n = np.linalg.inv(x), -n
    if n == 3:
        return x @ x @ x
    power, z = x, None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            z = power if z is None else z @ power
        power = power @ power if n else power
    return z


@composed(np.linalg.multi_dot, sequences="arrays")
def multi_dot(arrays: Any) -> Array:
    """A product of matrices (the first and the last may be vectors), in the order with the fewest multiplications."""
    xs = [as_array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return np.dot(xs[0], xs[1])
    row, column = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = xs[0][None, :] if row else xs[0]
    xs[-1] = xs[-1][:, None] if column else xs[-1]
    for x in xs:
        if x.ndim != 2:
            raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    z = _in_order(xs, splits([xs[0].shape[0], *[x.shape[1] for x in xs]]), 0, len(xs) - 1)
    return z[0, 0] if row and column else z.ravel() if row or column else z


def splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of the matrices i ... j, whose shapes are (sizes[k], sizes[k + 1]), to multiply least.

    >>> splits([10, 100, 5, 50])
    {(0, 1): 0, (1, 2): 1, (0, 2): 1}
    """
    n = len(sizes) - 1
    cost, best = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(costs)
            best[i, j] = i + costs.index(cost[i, j])
    return best


def _in_order(xs: list[Array], split: dict[tuple[int, int], int], i: int, j: int) -> Array:
    if i == j:
        return xs[i]
    k = split[i, j]
    return np.dot(_in_order(xs, split, i, k), _in_order(xs, split, k + 1, j))


@composed(np.kron)
def kron(a: Any, b: Any) -> Array:
    """Every element of a times all of b: axes (a₀, 1, a₁, 1) and (1, b₀, 1, b₁) multiplied, then joined in pairs."""
    x, y = as_array(a), as_array(b)
    if not x.ndim or not y.ndim:
        return x * y
    n = max(x.ndim, y.ndim)
    xs, ys = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    z = x.reshape([k for size in xs for k in (size, 1)]) * y.reshape([k for size in ys for k in (1, size)])
    return z.reshape([k * m for k, m in zip(xs, ys, strict=True)])


@composed(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """x × y of vectors along an axis. Of two elements, which NumPy had until 2.4, the third is 0."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x, y = np.moveaxis(x, axisa, -1), np.moveaxis(y, axisb, -1)
    lengths = x.shape[-1], y.shape[-1]
    if lengths != (3, 3) and since("2.5"):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {lengths[0]} and {lengths[1]} "
            f"dimensional instead."
        )
    if not {*lengths} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in lengths:
        text = "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    x0, x1, x2 = [x[..., k] if k < lengths[0] else None for k in range(3)]
    y0, y1, y2 = [y[..., k] if k < lengths[1] else None for k in range(3)]
    last = _difference(x0, y1, x1, y0)
    if lengths == (2, 2):
        return last
    z = np.stack(np.broadcast_arrays(_difference(x1, y2, x2, y1), _difference(x2, y0, x0, y2), last), axis=-1)
    return np.moveaxis(z, -1, axisc)


def _difference(a: Any, b: Any, c: Any, d: Any) -> Array:
    """a b - c d, where None is a missing component."""
    if c is None or d is None:
        return a * b
    return -(c * d) if a is None or b is None else a * b - c * d


# ---------------------------------------------------------------- the names of the array API standard


@composed(np.linalg.matmul)
def _matmul(x1: Any, x2: Any, /) -> Array:
    return np.matmul(x1, x2)


@composed(np.linalg.outer)
def _outer(x1: Any, x2: Any, /) -> Array:
    """Of two vectors, and of nothing else."""
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} and x2.ndim={np.ndim(x2)}."
        )
    return np.outer(x1, x2)


@composed(np.linalg.tensordot)
def _tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    return np.tensordot(x1, x2, axes=axes)


@composed(np.linalg.vecdot)
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    return np.vecdot(np.moveaxis(as_array(x1), axis, -1), np.moveaxis(as_array(x2), axis, -1))


@composed(np.linalg.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Array:
    return as_array(x).mT


@composed(np.linalg.diagonal)
def _diagonal(x: Any, /, *, offset: int = 0) -> Array:
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@composed(np.linalg.trace)
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@composed(np.linalg.cross)
def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Of three-dimensional vectors."""
    lengths = np.shape(x1)[axis], np.shape(x2)[axis]
    if lengths != (3, 3):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {lengths[0]} and {lengths[1]} "
            f"dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)
