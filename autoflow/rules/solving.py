"""Inverses, linear systems, determinants, least squares and functions of a matrix; also of stacks of matrices.

Inner products are ⟨a, b⟩ = Re tr(aᴴ b), and g = dL/da + i dL/db for complex numbers, so every formula holds for both
kinds. Holomorphic rows write the transpose where the formula for complex numbers has the adjoint; the table conjugates
for them. Formulas that are not derived here are from M. B. Giles, "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008; other sources are named where they are used.

The derivatives of the pseudo-inverse and of least squares hold as long as no singular value crosses the bound below
which singular values are left out.

Then decompositions: Cholesky, QR, eigenvalues, singular values. Each derivation takes the same steps. Differentiate the
defining equation (x = v diag(w) vᴴ), bring everything into the frame of the factors (C = vᴴ dx v), solve for what is
wanted, and read the linear map backwards.

Gauge. Factors are not unique: eigenvectors may be multiplied by a phase, singular vectors by a common one. LAPACK
returns one choice. Real factors are unique up to sign, which small steps do not change. For complex ones the derivative
is that of factors that do not turn, with vᴴ dv zero on the diagonal; whatever does not depend on the phase, as nothing
meaningful does, has the same derivative in every gauge. (The gauge of np.linalg.eig is known, and its derivative is
exactly that of NumPy's result.)

Where eigenvalues or singular values are equal, the factors are not differentiable. Terms that would be divided by the
gap are left out, so nothing is infinite. That is right for functions of the values alone (Σ w³) and for projectors on
the whole subspace. It is wrong for v f(w) vᴴ, whose derivative keeps a part f'(w) of the omitted subspace, and for
second derivatives, which contain such terms. No convention could be right for both: for a projector f' is 0, and where
two eigenvalues are equal, the gradients of w and v say what f is there, not how it changes. So for matrix functions of
such matrices use ``autoflow.linalg.expm`` and ``sqrtm``, or products of x, whose derivatives are exact everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.bodies import run_own, with_copies
from ..table.shapes import Array, Shape, as_array, greatest, like_argument, numbers_of, sum_to, without_history
from ..table.table import composed, primitive, rule
from ..table.vjps import adjoint, diagonal, fold, inverse_gaps, mask, pack, reciprocal, solve, solve_stack, unpack

# ---------------------------------------------------------------- inverse, linear systems


def inv_x(g: Array, z: Array) -> Array:
    """z x = 1, so dz = -z dx z and dL/dx = -zᵀ g zᵀ.  Source: Giles 2008, under "Inverse"."""
    return -(z.mT @ g @ z.mT)


def solve_y(g: Array, x: Array, y_shape: Shape) -> Array:
    """x z = y, so dL/dy = x⁻ᵀ g: one more system, with the transposed matrix.

    Shapes: x (..., n, n), y (n,) or (..., n, k).
    """
    return of_columns(lambda g: solve(x.mT, g), g, y_shape)


def of_columns(solve: Callable[[Array], Array], g: Array, y_shape: Shape) -> Array:
    """The gradient of y, ``solve(g)``, which gets vectors, one for each matrix, as columns."""
    if len(y_shape) == 1:
        return sum_to(solve(g[..., None])[..., 0], y_shape)
    return sum_to(solve(g), y_shape)


def solve_x(g: Array, x: Array, y_shape: Shape, z: Array) -> Array:
    """dx z + x dz = 0, so dL/dx = -(x⁻ᵀ g) zᵀ.  Source: Giles 2008, under "Inverse product"."""
    if len(y_shape) == 1:
        g, z = g[..., None], z[..., None]
    return sum_to(-(solve(x.mT, g) @ z.mT), x.shape)


rule(np.linalg.inv, "x", "inv", r"$x^{-1}", x=inv_x)
rule(np.linalg.solve, "x y", "solve", r"$x^{-1} $y", x=solve_x, y=solve_y, compute=solve_stack)


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """A system whose unknown has several axes: those of a after the axes of b. First ``axes`` of a move to its end."""
    a, b = as_array(a), as_array(b)
    order = list(range(a.ndim))
    for k in axes or ():
        order.remove(k)  # NumPy's error for negative ones
        order.append(k)
    a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if a.size != n**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.linalg.solve(a.reshape(n, n), b.ravel()).reshape(shape)


run_own(np.linalg.tensorinv)


# ---------------------------------------------------------------- determinants


def det_x(g: Array, x: Array, z: Array) -> Array:
    """Jacobi's formula: dz = tr(adj(x) dx), so dL/dx = g adj(x)ᵀ, where adj(x) = det(x) x⁻¹ if there is an inverse.

    The adjugate exists for every matrix: it holds the determinants of the matrix without one row and one column.
    """
    return g[..., None, None] * adjugate(x, z).mT


def adjugate(x: Array, det: Array) -> Array:
    """adj(x), from the inverse, unless some x of the stack is so close to singular that rounding would spoil it. Then
    its rows and columns get other units, powers of two, in which their largest elements are near 1."""
    if (result := regular_adjugate(x, det)) is not None:
        return result
    rows = exponents(np.abs(numbers_of(x)), -1)
    y = times_power_of_two(x, -rows)
    columns = exponents(np.abs(numbers_of(y)), -2)
    y = times_power_of_two(y, -columns)
    result = regular_adjugate(y, np.linalg.det(y))
    units = np.sum(rows, axis=-2, keepdims=True) - rows + np.sum(columns, axis=-1, keepdims=True) - columns
    return times_power_of_two(adjugate_of_singular(y) if result is None else result, units.mT)


def regular_adjugate(x: Array, det: Array) -> Array | None:
    """det(x) x⁻¹; None if some x is nearly singular, or its determinant is beyond the range of numbers."""
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return None
    condition, size = _norm(numbers_of(x)) * _norm(numbers_of(inverse)), np.abs(numbers_of(det))
    limits = np.finfo(x.dtype)
    usual = (condition * np.sqrt(limits.eps) <= 1) & (size >= limits.tiny) & (size < np.inf)
    finite = np.all(np.isfinite(numbers_of(x)), axis=(-2, -1))
    return det[..., None, None] * inverse if np.all(usual | ~finite) else None


def exponents(x: Array, axis: int) -> Array:
    """The exponents of two of the largest elements along an axis; of zeros, that of the largest element of all."""
    size = np.max(x, axis=axis, keepdims=True)
    return np.frexp(np.where(size > 0, size, np.max(size, axis=(-2, -1), keepdims=True)))[1]


def times_power_of_two(x: Array, k: Array) -> Array:
    """x · 2ᵏ for whole numbers k, which may be so large that 2ᵏ is no number."""
    one, largest = x.dtype.type(1).real, 2 * np.finfo(x.dtype).maxexp - 2
    k = np.clip(k, -largest, largest)  # so that 0 remains 0
    return x * np.ldexp(one, k // 2) * np.ldexp(one, k - k // 2)


def _norm(x: Array) -> Array:
    """The largest column sum of every matrix."""
    return greatest(np.sum(np.abs(x), axis=-2))


def adjugate_of_singular(x: Array) -> Array:
    """adj(x) by a regular neighbour: with u, v the singular vectors of vanishing values, b = x + u vᴴ is regular, and

    det(x) = det(b) det(k),  k = 1 - vᴴ b⁻¹ u  (Sylvester's identity);  k has one row for each vanishing value.
    Differentiated with u and v fixed: adj(x) = det(b) (det(k) b⁻¹ + b⁻¹ u adj(k) vᴴ b⁻¹). All of it is smooth in x, so
    second derivatives are right as well.
    """
    u, s, vh = np.linalg.svd(np.nan_to_num(numbers_of(x), posinf=0.0, neginf=0.0))  # what is NaN in x becomes NaN below
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
    """Determinant (..., 1, 1) and adjugate of small matrices, by products alone: the Faddeev–LeVerrier algorithm.

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
    """With t = tr(x⁻¹ dx): d log|det x| = Re t, and the phase s = det x / |det x| has ds = i s Im t, 0 for real x.

    So dL/dx = (g_log - i Im(ḡₛ s)) x⁻ᴴ. NaN for a singular x, where there is no logarithm.
    """
    weight = np.real(g[..., 1])
    if g.dtype.kind == "c":
        weight = weight - 1j * np.imag(np.conjugate(g[..., 0]) * z[..., 0])
    return weight[..., None, None] * solve(adjoint(x), np.identity(x.shape[-1], x.dtype, like=like_argument(x)))


@composed(np.linalg.slogdet)
def _slogdet(a: Array) -> tuple[Array, ...]:
    """``np.linalg.slogdet``: sign (or phase) and logarithm."""
    z = slogdet(as_array(a))
    size = z[..., 1]
    return SlogdetResult(z[..., 0], np.real(size) if size.dtype.kind == "c" else size)


rule(np.linalg.det, "x", "det", r"\det $x", x=det_x)
rule(slogdet, "x", "slogdet", r"\log|\det $x|", x=slogdet_x, holomorphic=False)


# ---------------------------------------------------------------- the pseudo-inverse, and least squares


def pinv_x(g: Array, x: Array, z: Array, hermitian: bool) -> Array:
    """dz = -z dx z + z zᴴ dxᴴ (1 - x z) + (1 - z x) dxᴴ zᴴ z, for a rank that does not change; so backwards

    dL/dx = -zᴴ g zᴴ + (1 - x z) gᴴ z zᴴ + zᴴ z gᴴ (1 - z x).  If x is Hermitian, its lower triangle is read.
    Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses", 1973.

    That holds if only zeros are left out. For other singular values see :func:`pinv_x_beside`.
    """
    if not x.size:
        return np.zeros_like(x)
    if hermitian:
        low = x * mask(x.shape[-1], x)
        return fold(pinv_x(g, low + adjoint(low), z, False), "L")
    plain = numbers_of(x)
    rank = np.round(np.real(np.trace(numbers_of(z) @ plain, axis1=-2, axis2=-1)))
    return pinv_x_with(g, x, z, *gap(np.linalg.svd(plain, compute_uv=False), rank))


def gap(s: Array, rank: Array) -> tuple[Array, Array]:
    """The largest singular value that is left out, over the smallest one that is not; and the latter. (..., 1, 1)."""
    order = np.cumsum(np.ones_like(s), axis=-1) - rank[..., None]
    left, least = greatest(np.where(order == 1, s, 0)), greatest(np.where(order == 0, s, 0))
    least = np.where(rank > 0, least, 2 * left)  # if all are left out, any number above them will do
    least = np.where(least > 0, least, 1)
    return (left / least)[..., None, None], least[..., None, None]


def pinv_x_with(g: Array, x: Array, z: Array, ratio: Array, least: Array) -> Array:
    """:func:`pinv_x`, given what :func:`gap` returns."""
    if np.any(ratio > np.finfo(ratio.dtype).eps):
        return pinv_x_beside(g / least, x / least, z * least, ratio) / least
    gh, zh = adjoint(g), adjoint(z)
    return (gh - x @ (z @ gh)) @ (z @ zh) + (zh @ z) @ (gh - (gh @ z) @ x) - zh @ g @ zh


def pinv_x_beside(g: Array, x: Array, z: Array, ratio: Array) -> Array:
    """:func:`pinv_x` where singular values σ ≤ ``ratio`` are left out, and those that are kept are s ≥ 1.

    Between the two, dL/dx is (gᴴ + r g zᴴ)/(s² - σ²) and (gᴴ + zᴴ g r)/(s² - σ²), where r = x - x z x is what is left
    out: for σ = 0 the formula there. 1/(s² - σ²) = Σ σ²ᵏ/s²ᵏ⁺² is summed by doubling: R. A. Smith, "Matrix equation
    XA + BX = C", 1968. All are products, so it can be differentiated again, at equal values too. NaN for σ = s.
    """
    if x.shape[-2] < x.shape[-1]:  # powers of the smaller matrices
        return adjoint(pinv_x_beside(adjoint(g), adjoint(x), adjoint(z), ratio))
    eps = np.finfo(ratio.dtype).eps
    ratio = np.where(ratio < 1, np.maximum(ratio, eps), np.nan)
    gh, zh, r = adjoint(g), adjoint(z), x - x @ (z @ x)
    row_space, left = z @ zh, adjoint(r) @ r / ratio
    rows = (gh - x @ (z @ gh) + r @ g @ zh) @ row_space
    columns = z @ (gh - (gh @ z) @ x + zh @ g @ r)
    row_space, power = row_space * ratio, ratio**2  # now both are at most ``ratio``
    more_rows, more_columns = adjoint(r) @ rows @ row_space / ratio, row_space @ columns @ left
    while np.any(power > eps):
        more_rows = more_rows + left @ more_rows @ row_space
        more_columns = more_columns + row_space @ more_columns @ left
        row_space, left, power = row_space @ row_space, left @ left, power**2
    return rows + r @ more_rows + zh @ (columns + more_columns) - zh @ g @ zh


rule(np.linalg.pinv, "x | rcond=None hermitian=False rtol='unset'", "pinv", r"$x^{+}", x=pinv_x, by_name=True,
     holomorphic=False)  # NumPy distinguishes rtol=None from a missing rtol  # fmt: skip


@primitive
def lstsq(x: Array, y: Array, rcond: Any = None) -> Array:
    """All results of np.linalg.lstsq, packed; sums of squares that it does not compute are zeros."""
    z, residuals, rank, s = np.linalg.lstsq(x, y, rcond)
    columns = math.prod(y.shape[1:])
    residuals = residuals if residuals.size else np.zeros(columns, s.dtype, like=like_argument(s))
    return pack((z, z.ndim), (residuals, 1), ((np.zeros_like(s, shape=1) + rank).astype(s.dtype), 1), (s, 1))


def lstsq_parts(z: Array, x: Shape, y: Shape) -> list[Array]:
    """Solution, always with columns, sums of squares, rank, singular values."""
    columns = math.prod(y[1:])
    return unpack(z, (x[1], columns), (columns,), (1,), (min(x),))


def lstsq_y(g: Array, x: Array, y: Array, z: Array) -> Array:
    """z = x⁺ y, so dL/dy = x⁺ᴴ gz; and the sums of squares of r = y - x z send 2 r g."""
    solution, *_ = lstsq_parts(z, x.shape, y.shape)
    gz, gr, *_ = lstsq_parts(g, x.shape, y.shape)
    r = _columns(y) - x @ solution
    return (adjoint(_pinv(x, z, y)[0]) @ gz + 2 * r * np.real(gr)).reshape(y.shape)


def lstsq_x(g: Array, x: Array, y: Array, z: Array) -> Array:
    """dL/dx = -w zᴴ + r (p w)ᴴ + (pᴴ z) (gz - (p x) gz)ᴴ with p = x⁺, w = pᴴ gz: see :func:`pinv_x`.

    The sums of squares send -2 r g zᴴ: z minimises them, so a small change of z does not matter.
    """
    solution, *_ = lstsq_parts(z, x.shape, y.shape)
    gz, gr, _, gs = lstsq_parts(g, x.shape, y.shape)
    p, ratio, least = _pinv(x, z, y)
    r = _columns(y) - x @ solution
    if np.any(ratio > np.finfo(ratio.dtype).eps):  # there are no sums of squares
        sent = pinv_x_with(gz @ adjoint(_columns(y)), x, p, ratio, least)
    else:
        w = adjoint(p) @ gz
        sent = r @ adjoint(p @ w) - (w + 2 * r * np.real(gr)) @ adjoint(solution)
        sent = sent + (adjoint(p) @ solution) @ adjoint(gz - p @ (x @ gz))
    if np.any(numbers_of(gs)) or getattr(gs, "requires_grad", False):  # differentiated again, a g of 0 counts as well
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        sent = sent + (u * np.real(gs)) @ vh
    return sent


def _columns(y: Array) -> Array:
    return y if y.ndim > 1 else y[:, None]


def _pinv(x: Array, z: Array, y: Array) -> tuple[Array, Array, Array]:
    """The pseudo-inverse by the singular values that lstsq used, and their :func:`gap`."""
    *_, rank, s = lstsq_parts(numbers_of(z), x.shape, y.shape)
    rank, s = np.real(rank[0]), np.real(s)
    ratio, least = gap(s, rank)
    largest = greatest(s)
    between = np.where(rank > 0, least * (1 + ratio) / 2, 2 * largest) / np.where(largest > 0, largest, 1)
    return np.linalg.pinv(x, without_history(between[0, 0])), ratio, least


@composed(np.linalg.lstsq)
def _lstsq(a: Array, b: Array, rcond: object = None) -> tuple[Array, ...]:
    """``np.linalg.lstsq``: solution, sums of squares, rank (a plain number), singular values."""
    x, y = as_array(a), as_array(b)
    z = lstsq(x, y, rcond)
    solution, residuals, rank, s = lstsq_parts(z, x.shape, y.shape)
    number = np.int32(int(np.real(numbers_of(rank))[0]))
    if number != x.shape[1] or x.shape[0] <= x.shape[1]:
        residuals = residuals[:0]
    if z.dtype.kind == "c":
        residuals, s = np.real(residuals), np.real(s)
    return solution.reshape((x.shape[1], *y.shape[1:])), residuals, number, s


rule(lstsq, "x y | rcond=None", "lstsq", r"$x^{+} $y", x=lstsq_x, y=lstsq_y, holomorphic=False)


ONE = np.eye(1)
EighResult, EigResult = type(np.linalg.eigh(ONE)), type(np.linalg.eig(ONE))
QRResult, SVDResult, SlogdetResult = type(np.linalg.qr(ONE)), type(np.linalg.svd(ONE)), type(np.linalg.slogdet(ONE))


def packed(function: Any, *axes: int) -> Any:
    """A NumPy ``function`` with several results as the function of a row, with all of them in one array. ``axes``: how
    many axes of each belong to one matrix."""

    def compute(x: Array, *args: Any, **options: Any) -> Array:
        return pack(*zip(function(x, *args, **options), axes, strict=True))

    compute.__name__ = compute.__qualname__ = function.__name__
    return primitive(compute)


# ---------------------------------------------------------------- Cholesky


def cholesky_x(g: Array, z: Array, upper: bool) -> Array:
    """x = l lᴴ. With C = l⁻¹ dx l⁻ᴴ:  dl = l Φ(C), Φ taking the lower triangle and half of the diagonal.

    So dL/dx = l⁻ᴴ Φ(lᴴ g) l⁻¹, folded onto the triangle that is read. Real and positive definite, or Hermitian.
    Source: I. Murray, "Differentiation of the Cholesky decomposition", 2016.
    """
    low, g = (adjoint(z), adjoint(g)) if upper else (z, g)
    inside = (adjoint(low) @ g) * mask(low.shape[-1], g)
    half = solve(adjoint(low), inside)
    return fold(adjoint(solve(adjoint(low), adjoint(half))), "U" if upper else "L")


rule(np.linalg.cholesky, "x | upper=False", "chol", x=cholesky_x, by_name=True, holomorphic=False)

# ---------------------------------------------------------------- QR


def qr_shapes(x: Shape) -> tuple[Shape, Shape]:
    """Shapes of q and r."""
    m, n = x[-2:]
    return (m, min(m, n)), (min(m, n), n)


qr = packed(np.linalg.qr, 2, 2)  # mode="complete" of no more rows than columns is the same


def qr_x(g: Array, x: Array, z: Array) -> Array:
    """x = q r, q with orthonormal columns, r upper triangular with a real diagonal.

    For at least as many rows as columns: C = qᴴ dx r⁻¹ = qᴴdq + dr r⁻¹ is the sum of a skew and an upper triangular
    matrix, so dr r⁻¹ = Φ(C + Cᴴ), Φ taking the upper triangle and half of the diagonal, and with
    Y = Φ(gr rᴴ - qᴴ gq):  dL/dx = (gq + q (Y + Yᴴ)) r⁻ᴴ.
    If x = [a b] is wide, the square part a = q c is decomposed, and d = qᴴ b is a product. NaN if columns are linearly
    dependent. Source: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.
    """
    (q, r), (gq, gr) = unpack(z, *qr_shapes(x.shape)), unpack(g, *qr_shapes(x.shape))
    k = q.shape[-1]
    b, gd = x[..., :, k:], gr[..., :, k:]
    gq = gq + b @ adjoint(gd) if b.shape[-1] else gq
    r, gr = r[..., :, :k], gr[..., :, :k]
    y = (gr @ adjoint(r) - adjoint(q) @ gq) * mask(k, g, "U")
    sent = adjoint(solve(r, adjoint(gq + q @ (y + adjoint(y)))))
    return np.concatenate([sent, q @ gd], axis=-1) if b.shape[-1] else sent


@composed(np.linalg.qr)
def _qr(a: Array, mode: str = "reduced") -> tuple[Array, ...]:
    """``np.linalg.qr`` in the modes in which x determines the result."""
    x = as_array(a)
    if mode not in ("reduced", "complete", "r"):
        raise NoRuleError(f"np.linalg.qr of a node supports the modes 'reduced', 'complete' and 'r', not {mode!r}")
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        raise NoRuleError(
            "np.linalg.qr(mode='complete') of a matrix with more rows than columns: x does not determine the last "
            "columns of q. Use mode='reduced'"
        )
    q, r = unpack(qr(x), *qr_shapes(x.shape))
    return r if mode == "r" else QRResult(q, r)


rule(qr, "x", x=qr_x, holomorphic=False)

# ---------------------------------------------------------------- eigenvalues of Hermitian matrices


def eigen_shapes(x: Shape) -> tuple[Shape, Shape]:
    """Shapes of eigenvalues and eigenvectors."""
    return x[-1:], x[-2:]


eigh, eig = packed(np.linalg.eigh, 1, 2), packed(np.linalg.eig, 1, 2)


def eigh_x(g: Array, z: Array, x_shape: Shape, UPLO: str) -> Array:  # noqa: N803
    """x = v diag(w) vᴴ. With C = vᴴ dx v:  dw = diag(C),  dv = v (F ⊙ C),  Fᵢⱼ = 1/(wⱼ - wᵢ).

    So dL/dx = v (diag(gw) + F ⊙ vᴴ gv) vᴴ, folded onto the triangle that is read. Equal eigenvalues: F = 0.
    Source: Giles 2008, under "Eigenvalues and eigenvectors".
    """
    (w, v), (gw, gv) = unpack(z, *eigen_shapes(x_shape)), unpack(g, *eigen_shapes(x_shape))
    rotation = inverse_gaps(np.real(w)) * (adjoint(v) @ gv)
    inside = np.real(gw)[..., None] * np.identity(x_shape[-1], g.dtype, like=like_argument(g)) + rotation
    return fold(v @ inside @ adjoint(v), UPLO.upper())


def eigvalsh_x(g: Array, x: Array, UPLO: Any) -> Array:  # noqa: N803
    """dw = diag(vᴴ dx v), so dL/dx = v diag(g) vᴴ, folded; the eigenvectors are computed here. See :func:`eigh_x`."""
    w, v = np.linalg.eigh(x, UPLO)
    g = g + 0 * numbers_of(w)  # NaN where the eigenvalue is
    return fold((v * g[..., None, :]) @ adjoint(v), UPLO.upper())


@composed(np.linalg.eigh)
def _eigh(a: Array, UPLO: str = "L") -> tuple[Array, ...]:  # noqa: N803
    """``np.linalg.eigh``: eigenvalues and eigenvectors."""
    x = as_array(a)
    w, v = unpack(eigh(x, UPLO), *eigen_shapes(x.shape))
    return EighResult(np.real(w) if w.dtype.kind == "c" else w, v)


rule(eigh, "x | UPLO='L'", x=eigh_x, holomorphic=False)
rule(np.linalg.eigvalsh, "x | UPLO='L'", "eigvalsh", r"\lambda($x)", x=eigvalsh_x, holomorphic=False)

# ---------------------------------------------------------------- eigenvalues of any matrix


def eig_x(g: Array, z: Array, x_shape: Shape) -> Array:
    """x = v diag(w) v⁻¹. With C = v⁻¹ dx v:  dw = diag(C),  dv = v (F ⊙ C) up to the lengths of the columns.

    LAPACK's columns have length 1 and a real largest element, which :func:`normalise_gradient` accounts for. Then
    dL/dx = v⁻ᴴ (diag(gw) + F̄ ⊙ vᴴ gv) vᴴ. NaN for a matrix without a basis of eigenvectors.
    Sources: Giles 2008; C. Boeddeker et al., "On the computation of complex-valued gradients", 2017.
    """
    (w, v), (gw, gv) = unpack(z, *eigen_shapes(x_shape)), unpack(g, *eigen_shapes(x_shape))
    gaps = np.conjugate(inverse_gaps(w))
    inside = gw[..., None] * np.identity(x_shape[-1], g.dtype, like=like_argument(g))
    inside = inside + gaps * (adjoint(v) @ normalise_gradient(gv, v))
    return solve(adjoint(v), inside @ adjoint(v))


def normalise_gradient(g: Array, v: Array) -> Array:
    """What is left of ``g`` if the columns of v keep length 1 and a real largest element v*.

    Then dv = q - v (Re vᴴq + i Im q*/v*), where q is free; this is the adjoint.
    """
    along = np.sum(np.conjugate(v) * g, axis=-2, keepdims=True)
    g = g - v * np.real(along)
    if v.dtype.kind != "c" or not v.size:
        return g
    size = np.abs(numbers_of(v))
    largest = np.arange(v.shape[-2], like=like_argument(v))[:, None] == np.argmax(size, axis=-2, keepdims=True)
    return g - np.where(largest, 1j * np.imag(along) / np.where(largest, np.real(v), 1), 0)


def eigvals_x(g: Array, x: Array) -> Array:
    """dw = diag(v⁻¹ dx v), so dL/dx = v⁻ᴴ diag(g) vᴴ; the eigenvectors are computed here. See :func:`eig_x`."""
    v = np.linalg.eig(x)[1]
    return solve(adjoint(v), g[..., :, None] * adjoint(v))


@composed(np.linalg.eig)
def _eig(a: Array) -> tuple[Array, ...]:
    """``np.linalg.eig``: eigenvalues and eigenvectors, complex if NumPy's are."""
    x = as_array(a)
    return EigResult(*unpack(eig(x), *eigen_shapes(x.shape)))


rule(eig, "x", x=eig_x, holomorphic=False)
rule(np.linalg.eigvals, "x", "eigvals", r"\lambda($x)", x=eigvals_x, holomorphic=False)

# ---------------------------------------------------------------- singular values


def svd_shapes(x: Shape, full: bool) -> tuple[Shape, Shape, Shape]:
    """Shapes of u, s and vᴴ."""
    m, n = x[-2:]
    k = min(m, n)
    return (m, m if full else k), (k,), (n if full else k, n)


svd = packed(np.linalg.svd, 2, 1, 2)


def svd_x(g: Array, z: Array, x_shape: Shape, full_matrices: bool) -> Array:
    """x = u diag(s) vᴴ. With C = uᴴ dx v:  ds = Re diag(C), and with S = diag(s), Fᵢⱼ = 1/(sⱼ² - sᵢ²):

    uᴴdu = F ⊙ (C S + S Cᴴ),  vᴴdv = F ⊙ (S C + Cᴴ S).  With skew(a) = a - aᴴ:

    dL/dx = u ((F ⊙ skew(uᴴgu)) S + S (F ⊙ skew(vᴴgv)) + diag(gs)) vᴴ + (1 - uuᴴ) gu S⁻¹ vᴴ + u S⁻¹ gvᴴ (1 - vvᴴ).

    u and v may have any common phase. The columns that full_matrices adds span the orthogonal complement; they move
    with it, and do not turn. The derivative of a singular value 0 is 0, as that of abs at 0.
    Sources: Giles 2008; Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD", 2019.
    """
    u, s, vh = unpack(z, *svd_shapes(x_shape, full_matrices))
    gu, gs, gvh = unpack(g, *svd_shapes(x_shape, full_matrices))
    s, gs = np.real(s), np.real(gs)
    u, gu = _thin(u, gu, s.shape[-1])
    v, gv = _thin(adjoint(vh), adjoint(gvh), s.shape[-1])
    gaps, tiny = inverse_gaps(s), is_vanishing(s)
    sums = s[..., None, :] + s[..., :, None]
    pairs = gaps * reciprocal(sums, numbers_of(sums) == 0)
    over = reciprocal(s, tiny)
    a, b = adjoint(u) @ gu, adjoint(v) @ gv
    middle = np.where(tiny, 0, gs) + (0.5j * np.imag(diagonal(a) - diagonal(b)) * over if g.dtype.kind == "c" else 0)
    inside = (pairs * (a - adjoint(a))) * s[..., None, :] + s[..., :, None] * (pairs * (b - adjoint(b)))
    inside = inside + middle[..., None] * np.identity(s.shape[-1], s.dtype, like=like_argument(s))
    sent = u @ inside @ adjoint(v)
    if u.shape[-2] > s.shape[-1]:
        sent = sent + ((gu - u @ a) * over[..., None, :]) @ adjoint(v)
    if v.shape[-2] > s.shape[-1]:
        sent = sent + u @ adjoint((gv - v @ b) * over[..., None, :])
    return sent


def _thin(u: Array, g: Array, k: int) -> tuple[Array, Array]:
    """The first k columns and their gradient: if they move, the others must follow, du₂ = -u₁ du₁ᴴ u₂."""
    if u.shape[-1] == k:
        return u, g
    first, others = u[..., :, :k], u[..., :, k:]
    return first, g[..., :, :k] - others @ (adjoint(g[..., :, k:]) @ first)


def is_vanishing(s: Array) -> Array:
    """Which singular values are 0, up to rounding."""
    s = numbers_of(s)
    return s <= s.shape[-1] * np.finfo(s.dtype).eps * greatest(s)[..., None]


def svdvals_x(g: Array, x: Array, z: Array) -> Array:
    """ds = Re diag(uᴴ dx v), so dL/dx = u diag(g) vᴴ; u and v are computed here. See :func:`svd_x`."""
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return (u * np.where(is_vanishing(z), 0, g + 0 * numbers_of(z))[..., None, :]) @ vh  # NaN where z is


theirs: Any = np.linalg.svd
numpys_svd = with_copies(theirs._implementation)


@composed(np.linalg.svd)
def _svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``np.linalg.svd``; for a Hermitian matrix by NumPy's own code, from its eigenvalues."""
    x = as_array(a)
    if hermitian:
        return numpys_svd(x, full_matrices, compute_uv, hermitian)
    if not compute_uv:
        return np.linalg.svdvals(x)
    u, s, vh = unpack(svd(x, full_matrices), *svd_shapes(x.shape, full_matrices))
    return SVDResult(u, np.real(s) if s.dtype.kind == "c" else s, vh)


rule(svd, "x | full_matrices=True", x=svd_x, holomorphic=False)
# NumPy's svdvals is svd without u and v, and CuPy has only svd.
rule(np.linalg.svdvals, "x", "svdvals", r"\sigma($x)", x=svdvals_x, holomorphic=False,
     compute=lambda x: np.linalg.svd(x, compute_uv=False))  # fmt: skip
