"""scipy.linalg for nodes: SciPy's own functions read only the numbers of a node, these record.

    from autoflow import linalg
    linalg.expm(x), linalg.solve_triangular(x, y, lower=True)

Same names, same arguments, SciPy's values; plain arrays go to SciPy itself. The derivatives of functions of matrices
(expm, sqrtm, logm, fractional_matrix_power), of every order, are right for negative, repeated and complex eigenvalues,
too: see ``rules/matrix_functions.py``. Those that NumPy also has (inv, det, svd ...) have the rows of ``np.linalg``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..backends.duck_arrays import NP
from ..base.errors import NoRuleError
from ..nodes.nodes import AnyFunction, Node
from ..rules import kernel, rule
from ..rules.matrix_functions import expm, logm, power, scipy_linalg, sqrtm, sylvester
from ..rules.solving import cholesky_x, of_columns, solve_x, solve_y
from ..table.shapes import Array, Shape, as_array, as_dtype, floats, has_gradient, is_on_host, numbers_of, sum_to
from ..table.vjps import adjoint, inverse_gaps, mask
from .bodies import check_precision, is_ours
from .mirrors import mirrored

__all__ = [  # noqa: F822 - block_diag is SciPy's own body
    "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "expm", "fractional_matrix_power",
    "hankel", "inv", "logm", "lstsq", "lu_factor", "lu_solve", "norm", "pinv", "pinvh", "qr", "solve", "solve_banded",
    "solve_continuous_lyapunov", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "toeplitz",
]  # fmt: skip


# ---------------------------------------------------------------- functions of a matrix


def fractional_matrix_power(A: Array, t: Any) -> Node:  # noqa: N803 - SciPy's name
    """A to the power t, e^(t log A); for an integer t by products, as in :func:`numpy.linalg.matrix_power`. Gradients
    flow to A, and to t if it is a node. A may be a stack; with negative eigenvalues the result is complex.

    >>> from autoflow import linalg
    >>> linalg.fractional_matrix_power(np.diag([4.0, 9.0]), 0.5)
    array([[2., 0.],
           [0., 3.]])
    """
    x: Any = as_array(A)
    whole = not hasattr(t, "requires_grad") and t == int(t)
    return NP.linalg.matrix_power(x, int(t)) if whole else power(x, as_array(t))


# ---------------------------------------------------------------- linear systems


@kernel
def general(x: Array, y: Array, assume_a: object = None, lower: bool = False, turned: bool = False) -> Array:
    """scipy.linalg.solve for a complete matrix x. ``turned``: x is the transpose of what SciPy is given."""
    if np.float16 in (x.dtype, y.dtype):  # its derivative is computed by np.linalg.solve, which refuses them as well
        raise TypeError("af.linalg.solve computes in single and double precision: use x.astype(np.float32)")
    scipy, (x, y) = scipy_linalg(x, y)
    return scipy.solve(x.mT if turned else x, y, lower, assume_a=assume_a, check_finite=False, transposed=turned)


def hermitian(x: Array, lower: bool, symmetric: bool = False) -> Array:
    """The Hermitian or symmetric matrix, given one triangle; a Hermitian one has a real diagonal."""
    x = floats(x)
    half = (np.tril(x) if lower else np.triu(x)) * mask(x.shape[-1], x, "L" if lower else "U")  # NaN · 0 is NaN
    return half + (half.mT if symmetric else adjoint(half))


def solve(a: Array, b: Array, lower: bool = False, *, assume_a: object = None, transposed: bool = False) -> Node:
    """a⁻¹ b. ``assume_a`` ("sym", "her", "pos", "diagonal", "tridiagonal", "upper triangular", "lower triangular")
    decides which elements of a are read, and so which ones have a derivative: of a symmetric matrix one triangle, the
    upper one unless ``lower``.

    >>> import autoflow as af
    >>> a = af.Variable([[4.0, 2.0], [np.nan, 5.0]])  # its lower triangle is not read
    >>> af.linalg.solve(a, [2.0, 1.0], assume_a="pos").value
    array([0.5, 0. ])
    """
    x, y = as_array(a), as_array(b)
    kind = str(assume_a)
    if kind in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        x = hermitian(x, lower, kind.startswith("sym"))
    elif kind in READ:
        x = READ[kind](x)
    elif kind not in ("None", "gen", "general", "banded"):
        kinds = "'gen', 'sym', 'her', 'pos', 'banded', " + ", ".join(map(repr, READ))
        raise NoRuleError(f"af.linalg.solve does not know assume_a={assume_a!r}. It is one of {kinds}")
    if x.ndim == 0:
        return np.atleast_1d(y) / x
    return general(x.mT if transposed else x, y, assume_a, lower, bool(transposed))


READ: dict[str, Any] = {
    "diagonal": lambda x: np.triu(np.tril(x)),
    "tridiagonal": lambda x: np.triu(np.tril(x, 1), -1),
    "upper triangular": np.triu,
    "lower triangular": np.tril,
}


@kernel
def triangular(
    x: Array, y: Array, trans: int = 0, lower: bool = False, unit_diagonal: bool = False, conjugated: bool = False
) -> Array:  # fmt: skip
    """scipy.linalg.solve_triangular. ``conjugated``: x is the conjugate of what SciPy is given."""
    scipy, (x, y) = scipy_linalg(x, y)
    x, trans = (np.conjugate(x), 2) if conjugated else (x, trans)
    return scipy.solve_triangular(x, y, trans, lower, unit_diagonal, check_finite=False)


def solve_triangular(a: Any, b: Array, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Node:
    """a⁻¹ b (``trans`` 0 or "N"), a⁻ᵀ b (1, "T") or a⁻ᴴ b (2, "C") for a triangular a; its other triangle is not read.

    >>> from autoflow import linalg
    >>> linalg.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 5.0], lower=True)
    array([1., 1.])
    """
    x, trans = as_array(a), {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if isinstance(trans, str):
        raise ValueError(f"trans is 0, 1 or 2 (or 'N', 'T', 'C'), not {trans!r}")
    turned = trans == 2  # every other number than 0 is SciPy's 1
    return triangular(np.conjugate(x) if turned else x, as_array(b), int(trans != 0), lower, unit_diagonal, turned)


def triangular_x(g: Array, x: Array, z: Array, y_shape: Shape, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """-(x⁻ᵀ g) zᵀ; only the triangle that is read counts."""
    if len(y_shape) == 1:
        g, z = g[..., None], z[..., None]
    sent = triangular(x, g, 1 - trans, lower, unit_diagonal)
    full = -(z @ sent.mT if trans else sent @ z.mT)
    k = int(unit_diagonal)
    return sum_to(np.tril(full, -k) if lower else np.triu(full, k), x.shape)


# fmt: off
rule(general, "x y | assume_a=None lower=False turned=False", "solve", r"$x^{-1} $y", x=solve_x, y=solve_y,
     name="solve")
rule(triangular, "x y | trans=0 lower=False unit_diagonal=False conjugated=False", "solve", r"$x^{-1} $y",
     name="solve_triangular", x=triangular_x, y=lambda g, x, y_shape, trans, lower, unit_diagonal: of_columns(
         lambda g: triangular(x, g, 1 - trans, lower, unit_diagonal), g, y_shape))  # as solve_y
# fmt: on


@kernel
def cholesky(a: Array, lower: bool = False) -> Node:
    """The Cholesky factor of a positive definite matrix: uᴴ u, or l lᴴ with ``lower``; that triangle of a is read.

    >>> from autoflow import linalg
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
    array([[2., 0.],
           [1., 2.]])
    """
    scipy, (a,) = scipy_linalg(a)
    return scipy.cholesky(a, lower=lower, check_finite=False)


def cho_factor(a: Array, lower: bool = False) -> tuple[Node, bool]:
    """The pair that :func:`cho_solve` takes. For a node the other triangle is zero; SciPy leaves arbitrary numbers.

    >>> import autoflow as af
    >>> c, lower = af.linalg.cho_factor(af.Variable([[4.0, 2.0], [2.0, 5.0]]))
    >>> c.value
    array([[2., 1.],
           [0., 2.]])
    """
    return cholesky(as_array(a), lower), lower


@kernel
def factor_solve(c: Array, y: Array, lower: bool = False) -> Array:
    """scipy.linalg.cho_solve."""
    scipy, (c, y) = scipy_linalg(c, y)
    return scipy.cho_solve((c, lower), y, check_finite=False)


def factor_c(g: Array, c: Array, z: Array, y_shape: Shape, lower: bool) -> Array:
    """With a = c cᴴ and a z = y: (s + sᴴ) c for s = −(a⁻¹ g) zᴴ; only the triangle that is read counts."""
    if len(y_shape) == 1:
        g, z = g[..., None], z[..., None]
    sent = -(factor_solve(c, g, lower) @ adjoint(z))
    both = sent + adjoint(sent)
    return sum_to(np.tril(both @ np.tril(c)) if lower else np.triu(np.triu(c) @ both), c.shape)


rule(factor_solve, "c y | lower=False", "solve", r"$c^{-1} $y", holomorphic=False, name="cho_solve", domain=(1.0, 2.0),
     c=factor_c,
     y=lambda g, c, y_shape, lower: of_columns(lambda g: factor_solve(c, g, lower), g, y_shape))  # fmt: skip


def cho_solve(c_and_lower: tuple[Any, bool], b: Array) -> Node:
    """a⁻¹ b, given the Cholesky factor of a.

    >>> from autoflow import linalg
    >>> linalg.cho_solve(linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]])), [2.0, 1.0])
    array([0.5, 0. ])
    """
    c, lower = c_and_lower
    return factor_solve(as_array(c), as_array(b), lower)


rule(cholesky, "a | lower=False", "chol", holomorphic=False, a=lambda g, z, lower: cholesky_x(g, z, not lower))


def solve_sylvester(a: Array, b: Array, q: Array) -> Node:
    """The x with a x + x b = q, for matrices a (m, m), b (n, n), q (m, n). NaN if an eigenvalue of a and one of b add
    up to 0, so that x does not exist or is not unique.

    >>> from autoflow import linalg
    >>> linalg.solve_sylvester(np.eye(2), np.eye(2), np.array([[2.0, 4.0], [6.0, 8.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    xs = [floats(x) for x in (a, b, q)]
    stack = np.broadcast_shapes(*[x.shape[:-2] for x in xs])
    return sylvester(*[x if x.shape[:-2] == stack else np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in xs])


# ---------------------------------------------------------------- banded and block matrices


@kernel
def banded(x: Array, y: Array, below: int = 0, above: int = 0) -> Array:
    """scipy.linalg.solve_banded."""
    scipy, (x, y) = scipy_linalg(x, y)
    return scipy.solve_banded((below, above), x, y, check_finite=False)


def solve_banded(l_and_u: tuple[int, int], ab: Array, b: Array) -> Node:
    """a⁻¹ b for a matrix given by its diagonals, ab[u + i - j, j] = a[i, j]: u above the main one and l below it.

    >>> from autoflow import linalg
    >>> linalg.solve_banded((0, 1), [[0.0, 1.0], [2.0, 4.0]], [3.0, 4.0])  # of [[2, 1], [0, 4]]
    array([1., 1.])
    """
    x, y = as_array(ab), as_array(b)
    if x.ndim != 2 or y.ndim > 2:
        raise NoRuleError("af.linalg.solve_banded takes one matrix, not a stack")
    return banded(x, y, *[int(k) for k in l_and_u])


def rows_of(shape: Shape, above: int) -> tuple[Array, Array]:
    """The row i in a of every element of ab, and whether a has such a row."""
    i = np.arange(shape[0])[:, None] - above + np.arange(shape[1])
    inside = (i >= 0) & (i < shape[1])
    return np.where(inside, i, 0), inside


def banded_y(g: Array, x: Array, below: int, above: int) -> Array:
    """The transposed system: diagonals above the main one are below it, shifted."""
    i, inside = rows_of(x.shape, below)
    return banded(np.where(inside, x[np.arange(x.shape[0])[::-1, None], i], 0), g, above, below)


def banded_x(g: Array, x: Array, z: Array, below: int, above: int) -> Array:
    """-(a⁻ᵀ g)ᵢ zⱼ for the elements of the bands."""
    sent = banded_y(g, x, below, above)
    i, inside = rows_of(x.shape, above)
    product = sent[i] * z
    return np.where(inside, -(product.sum(-1) if z.ndim == 2 else product), 0)


rule(banded, "x y | below=0 above=0", "solve", r"$x^{-1} $y", x=banded_x, y=banded_y,
     name="solve_banded", domain=(1.0, 2.0))  # fmt: skip


# ---------------------------------------------------------------- what NumPy has, too


def wide_as(x: Array, dtype: Any) -> Array:
    """The array in that dtype, or in its own if that is wider, as from SciPy."""
    return as_dtype(x, np.result_type(x, dtype))


def det(a: Array) -> Node:
    """The determinant."""
    return wide_as(NP.linalg.det(as_array(a)), np.float64)


def inv(a: Array, *, assume_a: object = None, lower: bool = False) -> Node:
    """a⁻¹; with ``assume_a`` the same elements are read as in :func:`solve`."""
    x = as_array(a)
    if assume_a is None:
        return NP.linalg.inv(x)
    return solve(x, np.eye(x.shape[-1], dtype=x.dtype), lower, assume_a=assume_a)


def norm(a: Array, ord: object = None, axis: object = None, keepdims: bool = False) -> Node:
    """``np.linalg.norm``."""
    if isinstance(ord, (Node, np.ndarray)):
        raise NoRuleError("af.linalg.norm of a node takes a number or a word as ord=")
    return NP.linalg.norm(as_array(a), ord, axis, keepdims)


def svd(a: Array, full_matrices: bool = True, compute_uv: object = True) -> Node | tuple[Node, Node, Node]:
    """Singular values, with the singular vectors on both sides unless ``compute_uv`` is False."""
    z = NP.linalg.svd(as_array(a), full_matrices, compute_uv)
    return tuple(z) if compute_uv else z


def pinv(a: Array, *, rtol: object = None) -> Node:
    """The pseudoinverse, as :func:`numpy.linalg.pinv`; singular values up to ``rtol`` times the largest count as 0."""
    x = floats(a)
    return NP.linalg.pinv(x, max(x.shape[-2:]) * np.finfo(x.dtype).eps if rtol is None else rtol)


def pinvh(a: Array, rtol: object = None, lower: bool = True) -> Node:
    """The same for a Hermitian matrix, given one triangle."""
    x = as_array(a)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"af.linalg.pinvh takes a square matrix, not one of shape {x.shape}")
    x = hermitian(x, lower)
    return NP.linalg.pinv(x, x.shape[-1] * np.finfo(x.dtype).eps if rtol is None else rtol, True)


MAKES_COMPLEX = np.linalg.eig(np.eye(1))[1].dtype.kind == "c"  # since NumPy 2.5


def eig(a: Array, b: Array = None, left: bool = False, right: bool = True) -> Node | tuple[Node, Node]:
    """Eigenvalues, and eigenvectors on the right."""
    if left or b is not None:
        raise NoRuleError("af.linalg.eig of a node gives only right eigenvectors, and takes no b=")
    if not right:
        return wide_as(NP.linalg.eigvals(as_array(a)), np.complex64)
    x = as_array(a)
    w, v = NP.linalg.eig(x)
    is_real = MAKES_COMPLEX and x.dtype.kind != "c" and not np.any(np.imag(numbers_of(w)))
    return wide_as(w, np.complex64), np.real(v) if is_real else v


def eigh(
    a: Array, b: Array = None, *, lower: bool = True, eigvals_only: bool = False, type: int = 1,
    subset_by_index: Any = None, subset_by_value: object = None,
) -> Node | tuple[Node, Node]:  # fmt: skip
    """Eigenvalues and eigenvectors of a v = λ v for a Hermitian a, or of a v = λ b v with a positive definite b, scaled
    so that vᴴ b v = 1: with b = l lᴴ these are l⁻ᴴ times the eigenvectors of l⁻¹ a l⁻ᴴ.

    >>> from autoflow import linalg
    >>> linalg.eigh(np.diag([2.0, 6.0]), np.diag([1.0, 2.0]), eigvals_only=True)
    array([2., 3.])
    """
    if type != 1 or subset_by_value is not None:
        raise NoRuleError("af.linalg.eigh of a node takes type=1, and no subset_by_value")
    x = as_array(a)
    if b is not None:
        half = cholesky(hermitian(as_array(b), lower), True)
        x = solve_triangular(half, adjoint(solve_triangular(half, hermitian(x, lower), lower=True)), lower=True)
    w, v = NP.linalg.eigh(x, "L" if lower else "U")
    if b is not None:
        v = solve_triangular(half, v, "C", lower=True)
    if subset_by_index is not None:
        first, last = map(int, subset_by_index)
        if not 0 <= first <= last < x.shape[-1]:
            raise ValueError(f"af.linalg.eigh: there are no eigenvalues {first} to {last} of {x.shape[-1]}, from 0 on")
        part = slice(first, last + 1)
        w, v = w[..., part], v[..., part]
    return w if eigvals_only else (w, v)


def qr(a: Array, lwork: object = None, mode: str = "full", pivoting: bool = False) -> tuple[Node, ...]:
    """The factors q r = a. ``mode``: "full", "economic" or "r"."""
    if pivoting or mode not in ("full", "economic", "r"):
        raise NoRuleError("af.linalg.qr of a node supports the modes 'full', 'economic' and 'r', without pivoting")
    q, r = NP.linalg.qr(as_array(a), "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


def lstsq(a: Any, b: Any, cond: object = None, *, lapack_driver: object = None) -> tuple[Node, Node, int, Node | None]:
    """The x that minimises |a x − b|, the sums of squares left, the rank, and the singular values. The driver "gelsy"
    gives only x and the rank."""
    if np.ndim(numbers_of(cond)):
        raise NoRuleError("af.linalg.lstsq of a node takes one number as cond=")
    x, y = as_array(a), as_array(b)
    z, left, rank, s = NP.linalg.lstsq(x, y, np.finfo(np.result_type(x, y, np.float32)).eps if cond is None else cond)
    if lapack_driver == "gelsy":
        return z, left[:0], rank, None
    return z, left[0] if y.ndim == 1 and left.size else left, rank, s


# ---------------------------------------------------------------- LU


@kernel
def packed_lu(x: Array) -> Array:
    """The first result of scipy.linalg.lu_factor: l without its diagonal and u, in one matrix."""
    check_precision(x)
    scipy, (x,) = scipy_linalg(x)
    return scipy.lu_factor(x, check_finite=False)[0]


def packed_x(g: Array, x: Array, z: Array) -> Array:
    """With p x = l u: x⁻ᴴ uᴴ (tril(lᴴ g, −1) + triu(g uᴴ)) u⁻ᴴ. (pᵀ l⁻ᴴ is (x u⁻¹)⁻ᴴ, so p is not needed.)"""
    upper, one = np.triu(z), np.eye(x.shape[-1], dtype=z.dtype)
    inner = np.tril(adjoint(np.tril(z, -1) + one) @ np.tril(g, -1), -1) + np.triu(np.triu(g) @ adjoint(upper))
    right = adjoint(triangular(upper, adjoint(adjoint(upper) @ inner), 0, False, False))
    return np.linalg.solve(adjoint(x), right)


rule(packed_lu, "x", "lu", holomorphic=False, x=packed_x)


def rows_in_order(piv: Any, n: int) -> Array:
    """The numbers of n rows after row k has changed places with row ``piv[k]``, for each k in turn."""
    order = np.broadcast_to(np.arange(n), (*piv.shape[:-1], n)).copy()
    for k in range(piv.shape[-1]):
        here, there = order[..., k : k + 1].copy(), piv[..., k : k + 1]
        order[..., k : k + 1] = np.take_along_axis(order, there, -1)
        np.put_along_axis(order, there, here, -1)
    return order


def lu_factor(a: Array) -> tuple[Any, Any]:
    """The pair that :func:`lu_solve` takes: both factors in one matrix, and which rows were exchanged.

    A rectangle is extended to a square: [a, c] with unit vectors c, which leave the other columns as they are; or for
    [b, c] the result is [l u, l⁻¹ c].

    >>> from autoflow import linalg
    >>> linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))[1]
    array([1, 1], dtype=int32)
    """
    x = as_array(a)
    scipy, (plain,) = scipy_linalg(numbers_of(x))
    piv, (m, n) = scipy.lu_factor(plain, check_finite=False)[1], x.shape[-2:]
    if m == n or not has_gradient([x]):
        return packed_lu(x), piv
    order, one = rows_in_order(piv, m), np.eye(m, dtype=x.dtype)
    if m > n:
        return packed_lu(np.concatenate([x, one[np.argsort(order, -1)][..., n:]], -1))[..., :n], piv
    z = packed_lu(x[..., :m])
    return np.concatenate([z, triangular(z, one[order] @ x[..., m:], 0, True, True)], -1), piv


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Node:
    """a⁻¹ b, given the factors of a; with ``trans`` 1 or 2 a⁻ᵀ b, a⁻ᴴ b."""
    lu, piv = lu_and_piv
    y, order = as_array(b), rows_in_order(np.asarray(piv), lu.shape[-1])
    vector = y.ndim == 1
    y = y[:, None] if vector else y
    if y.shape[-2] != lu.shape[-1] or trans not in (0, 1, 2):
        description = f"factors {lu.shape} and a right side {np.shape(b)}, trans={trans!r}"
        raise ValueError(f"lu_solve of {description}: these do not fit")
    if trans == 0:
        z = solve_triangular(lu, solve_triangular(lu, rows(y, order), lower=True, unit_diagonal=True))
    else:
        z = rows(solve_triangular(lu, solve_triangular(lu, y, trans), trans, True, True), np.argsort(order, -1))
    return z[..., 0] if vector else z


def rows(x: Array, order: Array) -> Array:
    """The rows of matrices (..., n, k) in this order, (..., n)."""
    stack = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    places = np.broadcast_to(order, (*stack, order.shape[-1]))[..., None]
    return np.take_along_axis(np.broadcast_to(x, (*stack, *x.shape[-2:])), places, -2)


# ---------------------------------------------------------------- matrices of one or two vectors


def toeplitz(c: Array, r: Array = None) -> Node:
    """The matrix with the first column c and the first row r, constant along its diagonals.

    >>> from autoflow import linalg
    >>> linalg.toeplitz([1.0, 2.0], [1.0, 3.0, 4.0])
    array([[1., 3., 4.],
           [2., 1., 3.]])
    """
    c = np.atleast_1d(as_array(c))
    r = np.conjugate(c) if r is None else np.atleast_1d(as_array(r))
    n, m = c.shape[-1], r.shape[-1]
    stack = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = np.broadcast_to(c, (*stack, n)), np.broadcast_to(r, (*stack, m))
    return NP.concatenate([np.flip(c, -1), r[..., 1:]], -1)[..., n - 1 - np.arange(n)[:, None] + np.arange(m)]


def hankel(c: Any, r: Array = None) -> Node:
    """The matrix with the first column c and the last row r, constant along its other diagonals.

    >>> from autoflow import linalg
    >>> linalg.hankel([1.0, 2.0], [2.0, 3.0])
    array([[1., 2.],
           [2., 3.]])
    """
    c = as_array(c)
    last = np.zeros_like(c) if r is None else as_array(r)
    if max(c.ndim, last.ndim) > 1:
        c, last = np.ravel(c), np.ravel(last)
    return NP.concatenate([c, last[1:]])[np.arange(c.size)[:, None] + np.arange(last.size)]


def solve_continuous_lyapunov(a: Array, q: Array) -> Node:
    """The x with a x + x aᴴ = q."""
    x = np.atleast_2d(as_array(a))
    return solve_sylvester(x, adjoint(x), np.atleast_2d(as_array(q)))


def apart(decompose: Any) -> AnyFunction:
    """``svd`` or ``eigh`` in copies of SciPy's functions, which are proved where no two values are equal. If some are,
    their vectors are not determined: a result made from them may have a derivative, but not through theirs."""

    @functools.wraps(decompose)
    def run(*args: Any, **options: Any) -> Any:
        z = decompose(*args, **options)
        if isinstance(z, tuple) and is_ours(z) and is_on_host(z[-2]):
            w = numbers_of(z[-2])
            if np.count_nonzero(inverse_gaps(w)) < w.size * (w.shape[-1] - 1):
                raise NoRuleError(
                    "equal singular values or eigenvalues: their vectors have no derivative, and SciPy's function uses "
                    "them. Change the matrix a little, or write the function without them"
                )
        return z

    return run


__getattr__, __dir__ = mirrored(globals(), __all__)
