"""Functions with several results, and helpers for derivatives of stacks of matrices.

A row has one result. A function with several, such as ``q, r = np.linalg.qr(x)``, is a row whose result is all of them
side by side in one array, :func:`pack`, and the results are slices of it, :func:`unpack`. Slices have rows, so what
flows back through them adds up by itself, an unused one sends zeros, and the row's derivative unpacks ``g`` and ``z``
in the same way. The price is one copy; in return, the engine need not know of second results.

Hermitian matrices: LAPACK reads one triangle of x and never looks at the other. So do our derivatives: everything
that arrives is folded onto that triangle, :func:`fold`, and the other one receives zeros. For a matrix that was
computed symmetric (``x @ x.T``, ``y + y.T``) nothing changes; for a Variable (g + gᵀ)/2 is the symmetric gradient.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .shapes import greatest, is_numpys, is_on_host, like_argument, numbers_of

Array = Any
Shape = tuple[int, ...]


def pack(*parts: tuple[Array, int]) -> Array:
    """Results side by side in one array. Given: each array, and how many of its last axes belong to one matrix.

    >>> pack((np.ones((5, 2, 3)), 2), (np.ones((5, 4)), 1)).shape
    (5, 10)
    """
    flat = [x.reshape((*x.shape[: x.ndim - n], math.prod(x.shape[x.ndim - n :]))) for x, n in parts]
    return np.concatenate(flat, axis=-1)


def unpack(z: Array, *shapes: Shape) -> list[Array]:
    """The results out of :func:`pack`, each of its shape behind the axes of the stack.

    >>> [part.tolist() for part in unpack(np.arange(6), (2, 2), (2,))]
    [[[0, 1], [2, 3]], [4, 5]]
    """
    parts, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        part = z[..., start:stop]
        parts.append(part if len(shape) == 1 else part.reshape((*z.shape[:-1], *shape)))
        start = stop
    return parts


def adjoint(x: Array) -> Array:
    """xᴴ, the conjugate transpose of every matrix of a stack."""
    return np.conjugate(x).mT if x.dtype.kind == "c" else x.mT


def diagonal(x: Array) -> Array:
    """The diagonal of every matrix."""
    return np.diagonal(x, axis1=-2, axis2=-1)


def mask(n: int, like: Array, uplo: str = "L") -> Array:
    """Ones in one triangle, and halves on the diagonal, in the precision of ``like``.

    >>> mask(2, np.ones(2))
    array([[0.5, 0. ],
           [1. , 0.5]])
    """
    lower = _mask(n, np.zeros((), like.dtype).real.dtype, uplo)
    return lower if is_on_host(like) else np.asarray(lower, like=like_argument(like))


@functools.lru_cache(16)
def _mask(n: int, dtype: Any, uplo: str) -> Array:
    lower = (np.tri(n, k=-1) + 0.5 * np.eye(n)).astype(dtype)
    lower.flags.writeable = False
    return lower if uplo == "L" else lower.T


def fold(g: Array, uplo: str) -> Array:
    """dL/dx of a Hermitian matrix x whose one triangle is read, from ``g`` for the whole matrix.

    An element below the diagonal is used at two places of the matrix, so two contributions add up, the second one
    conjugated; the diagonal is real.
    """
    return (g + adjoint(g)) * mask(g.shape[-1], g, uplo)


def inverse_gaps(x: Array) -> Array:
    """Fᵢⱼ = 1/(xⱼ - xᵢ), and 0 for i = j and wherever xᵢ and xⱼ are the same number up to rounding."""
    gaps = x[..., None, :] - x[..., :, None]
    size, scale = np.abs(numbers_of(gaps)), greatest(np.abs(numbers_of(x)))[..., None, None]
    return reciprocal(gaps, size <= 4 * x.shape[-1] * np.finfo(x.dtype).eps * scale)


def reciprocal(x: Array, zero: Array) -> Array:
    """1/x, and 0 where ``zero`` says so, without dividing by it: derivatives of any order are then 0 there, not NaN."""
    one = np.asarray(np.ones((), numbers_of(x).dtype), like=like_argument(x))
    return np.where(zero, 0 * one, one / np.where(zero, one, x))


def solve(x: Array, y: Array) -> Array:
    """x⁻¹ y for matrices; NaN where an x is singular: backward does not raise what forward did not."""
    try:
        return solve_stack(x, y)
    except np.linalg.LinAlgError:
        singular = np.stack([np.linalg.matrix_rank(a) < len(a) for a in _each(numbers_of(x))])
        singular = singular.reshape((*x.shape[:-2], 1, 1))
        nan = np.asarray(np.full((), np.nan, y.dtype), like=like_argument(y))
        eye = np.identity(x.shape[-1], x.dtype, like=like_argument(x))
        return np.where(singular, nan, solve_stack(np.where(singular, eye, x), y))


def solve_stack(x: Array, y: Array) -> Array:
    """``np.linalg.solve``, and stacks are broadcast here for libraries that do not, as CuPy."""
    if y.ndim > 1 and not is_numpys(x) and x.shape[:-2] != y.shape[:-2]:
        stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = np.broadcast_to(x, stack + x.shape[-2:]), np.broadcast_to(y, stack + y.shape[-2:])
    return np.linalg.solve(x, y)


def _each(x: Array) -> Sequence[Array]:
    return x.reshape((math.prod(x.shape[:-2]), *x.shape[-2:]))
