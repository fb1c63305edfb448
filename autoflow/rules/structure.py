"""Functions that move axes or contract them: here shapes are the whole story."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shapes import Axis, restore_axes, sum_to
from .table import of, primitive, rule

Array = Any


@primitive
def spread(x: Array, shape: tuple[int, ...]) -> Array:
    """``np.broadcast_to``, which takes 3 µs; for a number, the end of most graphs, there is a way in 0.3.

    >>> spread(np.float64(2.0), (2, 2))
    array([[2., 2.],
           [2., 2.]])
    """
    if x.ndim or type(x) not in (np.ndarray, np.float64, np.float32):
        return np.broadcast_to(x, shape)
    z = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    z.flags.writeable = False
    return z


def sum_x(g: Array, x_shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """z[i] = Σ_j x[i, j], so dz[i]/dx[i, j] = 1: every element receives its sum's gradient.

    Shapes: x (..., n, ...), z without (or with length-1) ``axis``; returns x.shape.
    """
    return spread(restore_axes(g, x_shape, axis, keepdims), x_shape)


rule(np.sum, "x | axis=None dtype=None keepdims=False", "Σ", r"\sum $x", x=sum_x,
     compute=lambda x, axis, dtype, keepdims: np.add.reduce(x, axis=axis, dtype=dtype, out=..., keepdims=keepdims),
     examples=(of((2, 3)), of((2, 3), axis=1)))  # fmt: skip
rule(spread, "x | shape", "⇗", r"$x\!\nearrow", x=lambda g, x_shape: sum_to(g, x_shape),
     examples=(of((3,), shape=(2, 3)), of((), shape=(2, 3))))  # fmt: skip


def matmul_x(g: Array, x_shape: tuple[int, ...], y: Array) -> Array:
    """z = x y, so dL/dx = g yᵀ.  Shapes: x (..., n, k), y (..., k, m), g (..., n, m).

    Source: M. B. Giles, "Collected matrix derivative results", 2008, under "Multiplication".
    """
    if len(x_shape) == 2 == y.ndim:
        return g @ y.T
    rows, cols = _matrices(x_shape, y.shape)
    return sum_to(g.reshape(_product(rows, cols)) @ y.reshape(cols).mT, rows).reshape(x_shape)


def matmul_y(g: Array, x: Array, y_shape: tuple[int, ...]) -> Array:
    """z = x y, so dL/dy = xᵀ g.  Shapes as in :func:`matmul_x`."""
    if x.ndim == 2 == len(y_shape):
        return x.T @ g
    rows, cols = _matrices(x.shape, y_shape)
    return sum_to(x.reshape(rows).mT @ g.reshape(_product(rows, cols)), cols).reshape(y_shape)


def _matrices(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the two as matmul sees them: a vector is a row on the left, a column on the right."""
    return (x if len(x) > 1 else (1, *x)), (y if len(y) > 1 else (*y, 1))


def _product(rows: tuple[int, ...], cols: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the product: stacks broadcast, then (n, k) (k, m) -> (n, m)."""
    return (*np.broadcast_shapes(rows[:-2], cols[:-2]), rows[-2], cols[-1])


rule(np.matmul, "x y", "@", r"$x\,$y", x=matmul_x, y=matmul_y, precedence=2,
     examples=(of((2, 3), (3, 4)), of((3,), (3,)), of((2, 3), (3,)), of((3,), (3, 4)),
               of((5, 2, 3), (3, 4)), of((5, 1, 2, 3), (4, 3, 2)), of((3,), (5, 3, 2)), of((0, 3), (3, 2))))  # fmt: skip
rule(np.transpose, "x | axes=None", "⊤", r"$x^\top", view=True, compute=np.ndarray.transpose,
     x=lambda g, axes: g.transpose(None if axes is None else tuple(np.argsort(axes))),
     examples=(of((2, 3)), of((2, 3, 4), axes=(2, 0, 1))))  # fmt: skip
rule(np.matrix_transpose, "x", "⊤", r"$x^\top", view=True, compute=lambda x: x.mT, x=lambda g: g.mT, examples=(of((2, 3)), of((2, 3, 4))))
rule(np.reshape, "x | shape order='C'", "reshape", r"\operatorname{vec} $x", view=True,
     compute=lambda x, shape, order: x.reshape(shape, order=order), x=lambda g, x_shape, order: g.reshape(x_shape, order=order),
     examples=(of((2, 3), shape=(3, 2)), of((), shape=(1, 1)), of((2, 3), shape=(-1,), order="F")))  # fmt: skip


def share_max(g: Array, x: Array, z: Array, axis: Axis, keepdims: bool) -> Array:
    """Equal entries share the gradient of their maximum evenly."""
    z, g = restore_axes(z, x.shape, axis, keepdims), restore_axes(g, x.shape, axis, keepdims)
    mask = x == z
    return mask * (g / mask.sum(axis=axis, keepdims=True))


rule(np.max, "x | axis=None keepdims=False", "max", r"\max $x", x=share_max, also=(np.amax,),
     compute=lambda x, axis, keepdims: np.max(x, axis=axis, keepdims=keepdims),
     examples=(of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=(0, 1), keepdims=True), of((3,)), of(())))  # fmt: skip
