"""Functions of NumPy written with simpler ones, which are recorded in turn: a language needs only the latter.

Each row is called with the arguments of the call. One that it cannot do raises RefusedError, or is not among its
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules.linalg import summed_axes
from ..trace.memory import write_into_copy
from .writer import RefusedError

Array = Any


def var(a: Array, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The mean square of the deviations from the mean."""
    rest = a - np.mean(a, axis=axis, keepdims=True)
    total = np.sum(rest * rest, axis=axis, keepdims=keepdims)
    return total / (a.size / total.size - ddof)


def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The root of the sum of squares."""
    axes = x.ndim if axis is None else np.size(axis)
    if ord not in (None, "fro") and not (ord == 2 and axes == 1):
        raise RefusedError(f"np.linalg.norm with ord={ord}")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def median(a: Array, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The mean of the two in the middle."""
    if axis is None and not keepdims:
        a, axis = np.ravel(a), 0
    n = a.shape[axis]
    row = np.moveaxis(np.sort(a, axis=axis), axis, 0)
    middle = (row[(n - 1) // 2] + row[n // 2]) / 2
    return np.expand_dims(middle, axis) if keepdims else middle


def tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    """Sums over pairs of axes: the pairs get one letter."""
    x, y = [*map(chr, range(97, 97 + a.ndim))], [*map(chr, range(65, 65 + b.ndim))]
    for k, j in zip(*summed_axes(axes, a.ndim, b.ndim), strict=True):
        y[j] = x[k]
    out = [c for c in x + y if (x + y).count(c) == 1]
    return np.einsum(f"{''.join(x)},{''.join(y)}->{''.join(out)}", a, b)


def take(a: Array, indices: Array, axis: Any = None) -> Array:
    """By whole numbers along one axis."""
    if axis is None:
        a, axis = np.ravel(a), 0
    ndim, axis = indices.ndim, axis % a.ndim
    return np.moveaxis(np.moveaxis(a, axis, 0)[indices], range(ndim), range(axis, axis + ndim))


def places_along(x: Array, places: Array, axis: int) -> Any:
    """The index of the elements whose place along one axis is in another array."""
    others = np.ogrid[tuple([slice(n) for n in x.shape])]
    return tuple([places if k == axis % x.ndim else grid for k, grid in enumerate(others)])


def take_along_axis(arr: Array, indices: Array, axis: Any = -1) -> Array:
    """By places along one axis."""
    if axis is None:
        arr, axis = np.ravel(arr), 0
    return arr[places_along(arr, indices, axis)]


def written_into(function: Any, x: Array, indices: Array, values: Array, axis: int) -> Array:
    """``np.put_along_axis`` on a copy."""
    if function is not np.put_along_axis:
        raise RefusedError(function.__name__)
    x = np.copy(x)
    x[places_along(x, indices, axis)] = values
    return x


def nan_to_num(x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """Finite numbers instead."""
    most = np.finfo(x.dtype).max
    top, bottom = most if posinf is None else posinf, -most if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x == np.inf, top, np.where(x == -np.inf, bottom, x)))


def without_nan(reduce: Callable[..., Array], instead: float) -> Callable[..., Array]:
    """``np.nansum`` and its like: NaN becomes what changes nothing."""
    return lambda a, axis=None, **options: reduce(np.where(np.isnan(a), instead, a), axis=axis, **options)


FORMS: dict[Any, Callable[..., Array]] = {
    np.var: var, np.std: lambda a, *args, **options: np.sqrt(var(a, *args, **options)), np.linalg.norm: norm,
    np.median: median, np.tensordot: tensordot,
    np.dot: lambda a, b: np.tensordot(a, b, (-1, max(b.ndim - 2, 0))) if a.ndim and b.ndim else a * b,
    np.inner: lambda a, b: np.tensordot(a, b, (-1, -1)) if a.ndim and b.ndim else a * b,
    np.outer: lambda a, b: np.reshape(a, (-1, 1)) * np.ravel(b),
    np.vdot: lambda a, b: np.sum(np.ravel(a) * np.ravel(b)),
    np.trace: lambda a, *where: np.sum(np.diagonal(a, *where[:3]), axis=-1), np.take: take,
    np.take_along_axis: take_along_axis, write_into_copy: written_into,
    np.nan_to_num: nan_to_num, np.nansum: without_nan(np.sum, 0.0), np.nanprod: without_nan(np.prod, 1.0),
    np.linalg.inv: lambda a: np.linalg.solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)),
}  # fmt: skip
for name, letters in {"vecdot": "...a,...a->...", "matvec": "...ab,...b->...a", "vecmat": "...a,...ab->...b"}.items():
    if hasattr(np, name):  # NumPy 2.2
        FORMS[getattr(np, name)] = lambda a, b, letters=letters: np.einsum(letters, a, b)
