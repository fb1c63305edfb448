"""Norms of vectors and matrices, and the condition number.

Where a norm has a kink its derivative is one of the slopes there: 0 for the norm of zeros, an even split where several
elements are the largest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .packed import reciprocal
from .shapes import as_array, as_dtype, axes_of, is_on_host, like_argument, numbers_of, restore_axes
from .table import composed, primitive, rule

Array = Any
EUCLIDEAN = (None, "fro", "f", 2)
INF = math.inf


@primitive
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norms of vectors, and the Euclidean norm of anything."""
    return np.linalg.norm(x, ord, axis, keepdims)


def norm_x(g: Array, x: Array, z: Array, ord: Any, axis: Any, keepdims: bool) -> Array:
    """z = (Σ |xᵢ|ᵖ)^(1/p), so dz/dxᵢ = (|xᵢ|/z)^(p-1) xᵢ/|xᵢ|; its limits for p = 0, 1, 2, ∞ are their own cases.

    >>> import autoflow as af
    >>> x = af.Variable([0.0, 0.0])
    >>> np.linalg.norm(x).backward()
    >>> x.grad
    array([0., 0.])
    """
    g, z = restore_axes(g, x.shape, axis, keepdims), restore_axes(z, x.shape, axis, keepdims)
    if ord in EUCLIDEAN:
        return x * (g / z if is_on_host(z) and np.all(numbers_of(z)) else g * reciprocal(z, numbers_of(z) == 0))
    if ord == 0:
        return np.zeros(x.shape, numbers_of(x).dtype, like=like_argument(x))
    if ord == 1:
        return unit(x) * g
    size = np.abs(x)
    if ord in (INF, -INF):
        reached = numbers_of(size) == numbers_of(z)
        return unit(x) * (g / np.sum(reached, axis=axis, keepdims=True, dtype=numbers_of(z).dtype)) * reached
    zero = (numbers_of(size) == 0) | (numbers_of(z) == 0)
    ratio = np.where(zero, 1, size * reciprocal(z, numbers_of(z) == 0))
    return unit(x) * (ratio ** (ord - 1) * g) * ~zero


def unit(x: Array) -> Array:
    """x/|x|: the sign of a real number, the phase of a complex one; 0 at 0."""
    return x * reciprocal(np.abs(x), numbers_of(x) == 0) if x.dtype.kind == "c" else np.sign(numbers_of(x))


@composed(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Norms of matrices are composed: of sums along columns or rows, or of singular values."""
    x = as_array(x)
    axes = axes_of(axis, x.ndim)
    if len(axes) != 2 or len(set(axes)) != 2 or ord not in (1, -1, 2, -2, INF, -INF, "nuc"):
        return norm(x, ord, axis, keepdims)
    row, column = axes
    if ord in (2, -2, "nuc"):
        z = _of_singular_values(np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1))), ord)
    else:
        along, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=along)
        z = _largest(sums, other - (other > along)) if ord > 0 else np.min(sums, axis=other - (other > along))
    return restore_axes(z, x.shape, axes, not keepdims)


def _of_singular_values(s: Array, ord: Any) -> Array:
    if ord == "nuc":
        return np.sum(s, axis=-1)
    return _largest(s, -1) if ord == 2 else np.min(s, axis=-1)


def _largest(x: Array, axis: int) -> Array:
    """The maximum; 0 of nothing."""
    return np.max(x, axis=axis) if x.shape[axis] else np.sum(x, axis=axis)


@composed(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of everything (axis=None), or along one axis or several."""
    x = as_array(x)
    axes = axes_of(axis, x.ndim)
    if axis is None:
        z = np.linalg.norm(x.ravel(), ord, 0)
    elif isinstance(axis, tuple):
        rest = tuple([k for k in range(x.ndim) if k not in axes])
        joined = x.transpose(axes + rest).reshape((math.prod([x.shape[k] for k in axes]), *[x.shape[k] for k in rest]))
        z = np.linalg.norm(joined, ord, 0)
    else:
        z = np.linalg.norm(x, ord, axis)
    return restore_axes(z, x.shape, axes, not keepdims)


@composed(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of every matrix of a stack."""
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


@composed(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    """‖x‖ ‖x⁻¹‖, of the largest and the smallest singular value where p is None, 2 or -2; inf for a singular x."""
    x = as_array(x)
    right = np.linalg.cond(numbers_of(x), p)  # and its errors
    if p is None or p in (2, -2):
        s = np.linalg.svdvals(x)
        with np.errstate(all="ignore"):
            r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        bad = ~np.isfinite(right)[..., None, None]
        eye = np.identity(x.shape[-1], numbers_of(x).dtype, like=like_argument(x))
        regular = np.where(bad, eye, x) if np.any(bad) else x
        regular = as_dtype(regular, np.result_type(eye.dtype, np.float64))  # in which NumPy inverts
        r = np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(regular), p, (-2, -1))
        r = as_dtype(r, right.dtype)
    lost = ~np.isfinite(right)
    return np.where(lost, right, r) if np.any(lost) else r


# fmt: off
rule(norm, "x | ord=None axis=None keepdims=False", "norm", r"\left\| $x \right\|", x=norm_x, holomorphic=False)
# fmt: on
