"""Decompositions of matrices and of stacks of them: Cholesky, QR, eigenvalues, singular values.

Each derivation goes the same way. Differentiate the defining equation (x = v diag(w) vᴴ), bring everything into the
frame of the factors (C = vᴴ dx v), solve for what is wanted, and read the linear map backwards. Inner products are
⟨a, b⟩ = Re tr(aᴴ b), and g = dL/da + i dL/db for complex numbers, so every formula holds for both kinds. The source is
M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008;
others are named where they are used.

Gauge. Factors are not unique: eigenvectors may be multiplied by a phase, singular vectors by a common one. What
LAPACK returns is one choice. Real factors are unique up to sign, which does not change under small steps. For
complex ones the derivative is that of the factors that do not turn, vᴴ dv zero on the diagonal; what does not depend
on the phase, as nothing meaningful does, has the same derivative in every gauge. (np.linalg.eig has a known gauge,
and its derivative is exactly that of NumPy's result.)

Equal eigenvalues, or equal singular values: the factors are not differentiable there. Terms that would be divided by
the gap are left out, so nothing is infinite. That is right for functions of the values alone (Σ w³) and for projectors
on the whole subspace. It is not for v f(w) vᴴ, whose derivative keeps a part f'(w) of what is left out, and not for
second derivatives, which contain such terms. No convention could be right for both: of a projector f' is 0, and where
two eigenvalues are one, the gradients of w and v say what f is there, not how it changes. So for matrix functions of
such matrices use ``autoflow.linalg.expm`` and ``sqrtm``, or products of x, whose derivatives are exact everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.shapes import Array, Shape, as_array, greatest, like_argument, numbers_of
from ..table.table import composed, primitive, rule
from ..table.vjps import adjoint, diagonal, fold, inverse_gaps, mask, pack, reciprocal, solve, unpack

ONE = np.eye(1)
EighResult, EigResult = type(np.linalg.eigh(ONE)), type(np.linalg.eig(ONE))
QRResult, SVDResult = type(np.linalg.qr(ONE)), type(np.linalg.svd(ONE))

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


rule(np.linalg.cholesky, "x | upper=False", "chol", r"\operatorname{chol} $x", x=cholesky_x, holomorphic=False,
     compute=lambda x, upper: np.linalg.cholesky(x, upper=True) if upper else np.linalg.cholesky(x))  # fmt: skip

# ---------------------------------------------------------------- QR


@primitive
def qr(x: Array) -> Array:
    """q and r of np.linalg.qr, packed. (mode="complete" of no more rows than columns is the same.)"""
    q, r = np.linalg.qr(x)
    return pack((q, 2), (r, 2))


def qr_shapes(x: Shape) -> tuple[Shape, Shape]:
    """Shapes of q and r."""
    m, n = x[-2:]
    return (m, min(m, n)), (min(m, n), n)


def qr_x(g: Array, x: Array, z: Array) -> Array:
    """x = q r, q with orthonormal columns, r upper triangular with a real diagonal.

    For at least as many rows as columns: C = qᴴ dx r⁻¹ = qᴴdq + dr r⁻¹ is the sum of a skew and an upper triangular
    matrix, so dr r⁻¹ = Φ(C + Cᴴ), Φ taking the upper triangle and half of the diagonal, and with
    Y = Φ(gr rᴴ - qᴴ gq):  dL/dx = (gq + q (Y + Yᴴ)) r⁻ᴴ.
    Of a wide x = [a b] the square part a = q c is decomposed, and d = qᴴ b is a product. NaN if columns depend on
    each other. Source: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.
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
def _qr(a: Any, mode: str = "reduced") -> Any:
    """``np.linalg.qr`` in the modes whose result is determined by x."""
    x = as_array(a)
    if mode not in ("reduced", "complete", "r"):
        raise NoRuleError(f"np.linalg.qr of a node knows the modes 'reduced', 'complete' and 'r', not {mode!r}")
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        raise NoRuleError(
            "np.linalg.qr(mode='complete') of a matrix with more rows than columns: nothing in x says which the last "
            "columns of q are. Use mode='reduced'"
        )
    q, r = unpack(qr(x), *qr_shapes(x.shape))
    return r if mode == "r" else QRResult(q, r)


rule(qr, "x", "qr", r"\operatorname{qr} $x", x=qr_x, holomorphic=False)

# ---------------------------------------------------------------- eigenvalues of Hermitian matrices


@primitive
def eigh(x: Array, UPLO: Any = "L") -> Array:  # noqa: N803 - NumPy's name
    """Eigenvalues and eigenvectors of np.linalg.eigh, packed."""
    w, v = np.linalg.eigh(x, UPLO)
    return pack((w, 1), (v, 2))


def eigh_x(g: Array, z: Array, x_shape: Shape, UPLO: str) -> Array:  # noqa: N803
    """x = v diag(w) vᴴ. With C = vᴴ dx v:  dw = diag(C),  dv = v (F ⊙ C),  Fᵢⱼ = 1/(wⱼ - wᵢ).

    So dL/dx = v (diag(gw) + F ⊙ vᴴ gv) vᴴ, folded onto the triangle that is read. Equal eigenvalues: F = 0.
    Source: Giles 2008, under "Eigenvalues and eigenvectors".
    """
    n = x_shape[-1]
    (w, v), (gw, gv) = unpack(z, (n,), (n, n)), unpack(g, (n,), (n, n))
    rotation = inverse_gaps(np.real(w)) * (adjoint(v) @ gv)
    inside = np.real(gw)[..., None] * np.identity(n, g.dtype, like=like_argument(g)) + rotation
    return fold(v @ inside @ adjoint(v), UPLO.upper())


def eigvalsh_x(g: Array, x: Array, UPLO: Any) -> Array:  # noqa: N803
    """dw = diag(vᴴ dx v), so dL/dx = v diag(g) vᴴ, folded; the eigenvectors are computed here. See :func:`eigh_x`."""
    v = np.linalg.eigh(x, UPLO)[1]
    return fold((v * g[..., None, :]) @ adjoint(v), UPLO.upper())


@composed(np.linalg.eigh)
def _eigh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803
    """``np.linalg.eigh``: eigenvalues and eigenvectors."""
    x = as_array(a)
    n = x.shape[-1]
    w, v = unpack(eigh(x, UPLO), (n,), (n, n))
    return EighResult(np.real(w) if w.dtype.kind == "c" else w, v)


rule(eigh, "x | UPLO='L'", "eigh", r"\operatorname{eigh} $x", x=eigh_x, holomorphic=False)
rule(np.linalg.eigvalsh, "x | UPLO='L'", "eigvalsh", r"\lambda($x)", x=eigvalsh_x, holomorphic=False)

# ---------------------------------------------------------------- eigenvalues of any matrix


@primitive
def eig(x: Array) -> Array:
    """Eigenvalues and eigenvectors of np.linalg.eig, packed."""
    w, v = np.linalg.eig(x)
    return pack((w, 1), (v, 2))


def eig_x(g: Array, z: Array, x_shape: Shape) -> Array:
    """x = v diag(w) v⁻¹. With C = v⁻¹ dx v:  dw = diag(C),  dv = v (F ⊙ C) but for the lengths of the columns.

    LAPACK's columns have length 1 and a real largest element, which :func:`normalise_gradient` brings in. Then
    dL/dx = v⁻ᴴ (diag(gw) + F̄ ⊙ vᴴ gv) vᴴ. NaN for a matrix that has no basis of eigenvectors.
    Sources: Giles 2008; C. Boeddeker et al., "On the computation of complex-valued gradients", 2017.
    """
    n = x_shape[-1]
    (w, v), (gw, gv) = unpack(z, (n,), (n, n)), unpack(g, (n,), (n, n))
    gaps = np.conjugate(inverse_gaps(w))
    inside = gw[..., None] * np.identity(n, g.dtype, like=like_argument(g)) + gaps * (
        adjoint(v) @ normalise_gradient(gv, v)
    )
    return solve(adjoint(v), inside @ adjoint(v))


def normalise_gradient(g: Array, v: Array) -> Array:
    """What of ``g`` is left when the columns of v are kept at length 1, and their largest element v* real.

    With that dv = q - v (Re vᴴq + i Im q*/v*), where q is free; this is the adjoint.
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
def _eig(a: Any) -> Any:
    """``np.linalg.eig``: eigenvalues and eigenvectors, complex if NumPy's are."""
    x = as_array(a)
    n = x.shape[-1]
    return EigResult(*unpack(eig(x), (n,), (n, n)))


rule(eig, "x", "eig", r"\operatorname{eig} $x", x=eig_x, holomorphic=False)
rule(np.linalg.eigvals, "x", "eigvals", r"\lambda($x)", x=eigvals_x, holomorphic=False)

# ---------------------------------------------------------------- singular values


@primitive
def svd(x: Array, full_matrices: bool = True) -> Array:
    """u, s and vᴴ of np.linalg.svd, packed."""
    u, s, vh = np.linalg.svd(x, full_matrices)
    return pack((u, 2), (s, 1), (vh, 2))


def svd_shapes(x: Shape, full: bool) -> tuple[Shape, Shape, Shape]:
    """Shapes of u, s and vᴴ."""
    m, n = x[-2:]
    k = min(m, n)
    return (m, m if full else k), (k,), (n if full else k, n)


def svd_x(g: Array, z: Array, x_shape: Shape, full_matrices: bool) -> Array:
    """x = u diag(s) vᴴ. With C = uᴴ dx v:  ds = Re diag(C), and with S = diag(s), Fᵢⱼ = 1/(sⱼ² - sᵢ²):

    uᴴdu = F ⊙ (C S + S Cᴴ),  vᴴdv = F ⊙ (S C + Cᴴ S).  With skew(a) = a - aᴴ:

    dL/dx = u ((F ⊙ skew(uᴴgu)) S + S (F ⊙ skew(vᴴgv)) + diag(gs)) vᴴ + (1 - uuᴴ) gu S⁻¹ vᴴ + u S⁻¹ gvᴴ (1 - vvᴴ).

    A common phase of u and v is free. The columns that full_matrices adds span what is orthogonal to the others; they
    move with it, and do not turn. A singular value 0 receives derivative 0, as abs at 0 does.
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
    """The first k columns, and their gradient: if they move, the others must follow, du₂ = -u₁ du₁ᴴ u₂."""
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
    return (u * np.where(is_vanishing(z), 0, g)[..., None, :]) @ vh


@composed(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``np.linalg.svd``; of a Hermitian matrix by its eigenvalues, as NumPy does it."""
    x = as_array(a)
    if hermitian:
        return _svd_hermitian(x, compute_uv)
    if not compute_uv:
        return np.linalg.svdvals(x)
    u, s, vh = unpack(svd(x, full_matrices), *svd_shapes(x.shape, full_matrices))
    return SVDResult(u, np.real(s) if s.dtype.kind == "c" else s, vh)


def _svd_hermitian(x: Array, compute_uv: bool) -> Any:
    """Singular values are the sizes of the eigenvalues, largest first; a sign goes into vᴴ."""
    if not compute_uv:
        s = np.abs(np.linalg.eigvalsh(x))
        return _along_last(s, np.argsort(numbers_of(s))[..., ::-1])
    w, u = np.linalg.eigh(x)
    order = np.argsort(np.abs(numbers_of(w)))[..., ::-1]
    signs = np.take_along_axis(np.sign(numbers_of(w)), order, axis=-1)
    u = _along_last(u, np.broadcast_to(order[..., None, :], u.shape))
    return SVDResult(u, _along_last(np.abs(w), order), np.conjugate((u * signs[..., None, :]).mT))


def _along_last(x: Array, i: Array) -> Array:
    """np.take_along_axis of the last axis, as an index."""
    return x[(*np.ogrid[tuple([slice(n) for n in i.shape])][:-1], i)]


rule(svd, "x | full_matrices=True", "svd", r"\operatorname{svd} $x", x=svd_x, holomorphic=False)
# svd without u and v is all that NumPy's svdvals does, and CuPy has no other.
rule(np.linalg.svdvals, "x", "svdvals", r"\sigma($x)", x=svdvals_x, holomorphic=False,
     compute=lambda x: np.linalg.svd(x, compute_uv=False))  # fmt: skip
