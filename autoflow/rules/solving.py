"""Inverses, linear systems and determinants, also of stacks of matrices.

Notation as in ``decompositions.py``: ⟨a, b⟩ = Re tr(aᴴ b). Rows that are holomorphic write the transpose where the
formula for complex numbers has the adjoint; the table conjugates for them. The source of what is not derived here is
M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .decompositions import is_vanishing
from .packed import adjoint, solve, solve_stack
from .shapes import as_array, axes_of, greatest, like_argument, numbers_of, sum_to
from .table import composed, primitive, rule

Array = Any
Shape = tuple[int, ...]
SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


# ---------------------------------------------------------------- inverse, linear systems


def inv_x(g: Array, z: Array) -> Array:
    """z x = 1, so dz = -z dx z and dL/dx = -zᵀ g zᵀ.  Source: Giles 2008, under "Inverse"."""
    return -(z.mT @ g @ z.mT)


def solve_y(g: Array, x: Array, y_shape: Shape) -> Array:
    """x z = y, so dL/dy = x⁻ᵀ g: one more system, with the transposed matrix.

    Shapes: x (..., n, n), y (n,) or (..., n, k).
    """
    vector = len(y_shape) == 1
    sent = solve(x.mT, g[..., None] if vector else g)
    return sum_to(sent[..., 0] if vector else sent, y_shape)


def solve_x(g: Array, x: Array, y_shape: Shape, z: Array) -> Array:
    """dx z + x dz = 0, so dL/dx = -(x⁻ᵀ g) zᵀ.  Source: Giles 2008, under "Inverse product"."""
    if len(y_shape) == 1:
        g, z = g[..., None], z[..., None]
    return sum_to(-(solve(x.mT, g) @ z.mT), x.shape)


rule(np.linalg.inv, "x", "inv", r"$x^{-1}", x=inv_x)
rule(np.linalg.solve, "x y", "solve", r"$x^{-1} $y", x=solve_x, y=solve_y, compute=solve_stack)


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """A system whose unknown has several axes: those of a behind the axes of b. ``axes`` of a move to its end first."""
    a, b = as_array(a), as_array(b)
    moved = list(axes_of(tuple(axes or ()), a.ndim))
    a = a.transpose([k for k in range(a.ndim) if k not in moved] + moved)
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if a.size != n**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.linalg.solve(a.reshape(n, n), b.ravel()).reshape(shape)


@composed(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of a as a map from its last axes to its first ``ind``."""
    a = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows, columns = a.shape[:ind], a.shape[ind:]
    return np.linalg.inv(a.reshape(math.prod(columns), -1)).reshape(columns + rows)


# ---------------------------------------------------------------- determinants


def det_x(g: Array, x: Array, z: Array) -> Array:
    """Jacobi's formula: dz = tr(adj(x) dx), so dL/dx = g adj(x)ᵀ, where adj(x) = det(x) x⁻¹ if there is an inverse.

    The adjugate exists for every matrix: it holds the determinants of what is left without a row and a column.
    """
    return g[..., None, None] * adjugate(x, z).mT


def adjugate(x: Array, det: Array) -> Array:
    """adj(x), from the inverse unless some x of the stack is so close to singular that it would be lost in rounding."""
    try:
        inverse = np.linalg.inv(x)
        condition = _norm(numbers_of(x)) * _norm(numbers_of(inverse))
        if np.all(condition * np.sqrt(np.finfo(x.dtype).eps) <= 1) or not np.all(np.isfinite(numbers_of(x))):
            return det[..., None, None] * inverse
    except np.linalg.LinAlgError:
        pass
    return adjugate_of_singular(x)


def _norm(x: Array) -> Array:
    """The largest column sum of every matrix."""
    return greatest(np.sum(np.abs(x), axis=-2))


def adjugate_of_singular(x: Array) -> Array:
    """adj(x) by a regular neighbour: with u, v the singular vectors of what vanishes, b = x + u vᴴ is regular, and

    det(x) = det(b) det(k),  k = 1 - vᴴ b⁻¹ u  (Sylvester's identity);  k has one row for each value that vanishes.
    Differentiated with u and v fixed: adj(x) = det(b) (det(k) b⁻¹ + b⁻¹ u adj(k) vᴴ b⁻¹). All of it is smooth in x, so
    second derivatives are right as well.
    """
    u, s, vh = np.linalg.svd(numbers_of(x))
    zero = is_vanishing(s)
    start = s.shape[-1] - max(np.sum(zero, axis=-1).reshape(-1).tolist(), default=0)
    largest = greatest(s)
    u = u[..., :, start:] * (np.where(largest > 0, largest, 1)[..., None] * zero[..., start:])[..., None, :]
    vh = vh[..., start:, :]
    b = x + u @ vh
    inverse = np.linalg.inv(b)
    small_det, small_adj = polynomials(np.identity(u.shape[-1], x.dtype, like=like_argument(x)) - vh @ inverse @ u)
    inside = small_det * inverse + (inverse @ u) @ small_adj @ (vh @ inverse)
    return np.linalg.det(b)[..., None, None] * inside


def polynomials(x: Array) -> tuple[Array, Array]:
    """Determinant (..., 1, 1) and adjugate by products alone, for small matrices: the method of Le Verrier and Faddeev.

    >>> det, adj = polynomials(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> det.item(), adj.tolist()
    (-0.0, [[4.0, -2.0], [-2.0, 1.0]])
    """
    n = x.shape[-1]
    eye = np.identity(n, x.dtype, like=like_argument(x))
    # c: a coefficient of the characteristic polynomial
    matrix, product, c = eye, 0 * x, np.asarray(np.ones((1, 1), x.dtype), like=like_argument(x))
    for k in range(1, n + 1):
        matrix = product + c * eye
        product = x @ matrix
        c = -np.trace(product, axis1=-2, axis2=-1)[..., None, None] / k
    return (-1) ** n * c, (-1) ** (n - 1) * matrix


@primitive
def slogdet(x: Array) -> Array:
    """Sign and logarithm of np.linalg.slogdet, packed."""
    sign, size = np.linalg.slogdet(x)
    return np.stack([sign, size.astype(sign.dtype)], axis=-1)


def slogdet_x(g: Array, x: Array, z: Array) -> Array:
    """With t = tr(x⁻¹ dx): d log|det x| = Re t, and of the phase s = det x / |det x|: ds = i s Im t, 0 for real x.

    So dL/dx = (g_log - i Im(ḡₛ s)) x⁻ᴴ. NaN for a singular x, where there is no logarithm.
    """
    weight = np.real(g[..., 1])
    if g.dtype.kind == "c":
        weight = weight - 1j * np.imag(np.conjugate(g[..., 0]) * z[..., 0])
    return weight[..., None, None] * solve(adjoint(x), np.identity(x.shape[-1], x.dtype, like=like_argument(x)))


@composed(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """``np.linalg.slogdet``: sign (or phase) and logarithm."""
    z = slogdet(as_array(a))
    size = z[..., 1]
    return SlogdetResult(z[..., 0], np.real(size) if size.dtype.kind == "c" else size)


rule(np.linalg.det, "x", "det", r"\det $x", x=det_x)
rule(slogdet, "x", "slogdet", r"\log|\det $x|", x=slogdet_x, holomorphic=False)
