"""Averages with weights, covariance, correlation: written as NumPy writes them, so every step is recorded."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .shapes import Axis, as_array, as_dtype, axes_of, given_keywords, together
from .table import composed
from .versions import NOT_GIVEN

Array = Any


@composed(np.average)
def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NOT_GIVEN
) -> Any:  # fmt: skip
    """Σ w x / Σ w. Gradients flow to the weights as well."""
    x, options = as_array(a), given_keywords(keepdims=keepdims)
    if weights is None:
        z = np.mean(x, axis, **options)
        scale = z.dtype.type(x.size / z.size)
    else:
        w = along_axes(together(x, weights)[1], x.shape, axis)
        dtype = np.result_type(x.dtype, w.dtype, *(["f8"] if x.dtype.kind in "iub" else []))
        scale = np.sum(w, axis, dtype=dtype, **options)
        if np.any(scale == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        product = np.multiply(x, w)
        z = np.sum(as_dtype(product, dtype), axis, **options) / scale
    if not returned:
        return z
    return z, (scale if np.shape(scale) == z.shape else np.copy(np.broadcast_to(scale, z.shape)))


def along_axes(w: Array, shape: tuple[int, ...], axis: Axis) -> Array:
    """Weights of one element per place on some axes, shaped to be multiplied with an array of ``shape``."""
    if w.shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, len(shape))
    if w.shape != tuple([shape[a] for a in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = np.transpose(w, np.argsort(axes).tolist())
    return w.reshape(tuple([n if a in axes else 1 for a, n in enumerate(shape)]))


@composed(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Array:  # fmt: skip
    """d dᵀ / (n − 1), d being the rows without their means. ``aweights`` may be nodes; ``fweights`` are counts."""
    arrays = [as_array(part) for part in (m, y) if part is not None]
    if any([x.ndim > 2 for x in arrays]):
        raise ValueError("m has more than 2 dimensions" if arrays[0].ndim > 2 else "y has more than 2 dimensions")
    dtype = np.result_type(*[x.dtype for x in arrays], np.float64) if dtype is None else dtype
    rows = [as_rows(as_dtype(x, dtype), rowvar, k) for k, x in enumerate(arrays)]
    if not rows[0].shape[0]:
        return np.dot(rows[0], rows[0].T)  # of no variables: shape (0, 0), whatever y is
    x = np.concatenate(rows, axis=0) if len(rows) > 1 else rows[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    if ddof != int(ddof):
        raise ValueError("ddof must be integer")
    w = checked_weights(fweights, aweights, x)
    mean, total = np.average(x, axis=1, weights=w, returned=True)
    freedom: Any = x.shape[1] - ddof
    if w is not None:
        total = total[0]
        lost = ddof * sum(w * aweights) / total if aweights is not None and ddof else ddof
        freedom = total - lost if ddof else total
    if freedom <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = 0.0
    d = x - mean[:, None]
    other = d.T if w is None else (d * w).T
    c = np.dot(d, other.conj())
    return (c * np.true_divide(1, freedom)).squeeze()


def as_rows(x: Array, rowvar: bool, k: int) -> Array:
    """One row per variable. (NumPy turns m unless it is a vector, and y unless it has one row.)"""
    turn = not rowvar and (x.ndim != 1 if k == 0 else x.ndim == 2 and x.shape[0] != 1)
    x = x if x.ndim == 2 else x.reshape(1, x.size)
    return x.T if turn else x


def checked_weights(fweights: Any, aweights: Any, x: Array) -> Any:
    """The product of both, or the one that is given, checked as NumPy does."""
    kinds = {"fweights": fweights, "aweights": aweights}
    found = {name: together(x, w)[1] for name, w in kinds.items() if w is not None}
    for name, w in found.items():
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if np.any(w < 0):
            raise ValueError(f"{name} cannot be negative")
        if name == "fweights" and not np.all(w == np.around(w)):
            raise TypeError("fweights must be integer")
    arrays = [as_dtype(w, float) for w in found.values()]
    if not arrays:
        return None
    return arrays[0] if len(arrays) == 1 else arrays[0] * arrays[1]


@composed(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The covariance over the product of the standard deviations, within −1 and 1."""
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diag(c)))
    c = c / deviation[:, None]
    c = c / deviation[None, :]
    if c.dtype.kind != "c":
        return np.clip(c, -1, 1)
    return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
