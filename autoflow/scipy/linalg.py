"""scipy.linalg for nodes: SciPy's own functions read only the numbers of a node, these record.

    from autoflow import linalg
    linalg.expm(x), linalg.solve_triangular(x, y, lower=True)

Same names, same arguments (except overwrite_a, overwrite_b and check_finite, which is off), SciPy's values; plain
arrays give plain results. The derivatives of functions of matrices (expm, sqrtm, logm, fractional_matrix_power), of
every order, are right for negative, repeated and complex eigenvalues, too: ``rules/solving.py`` says how.
SciPy is imported at the first call. What NumPy has as well (inv, det, svd ...) is ``np.linalg``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.lazy import list_public
from ..nodes.nodes import Node
from ..rules import primitive, rule
from ..rules.matrix_functions import expm, logm, power, scipy_linalg, sqrtm, sylvester
from ..rules.solving import cholesky_x, solve_x, solve_y
from ..table.shapes import Array, Shape, as_array, sum_to
from ..table.vjps import adjoint, mask

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "expm", "fractional_matrix_power", "logm", "solve",
    "solve_banded", "solve_sylvester", "solve_triangular", "sqrtm",
]  # fmt: skip
__dir__ = list_public(__all__)


# ---------------------------------------------------------------- functions of a matrix


def fractional_matrix_power(A: Any, t: Any) -> Node:  # noqa: N803 - SciPy's name
    """A to the power t, e^(t log A); for an integer t by products, as :func:`numpy.linalg.matrix_power`. Gradients flow
    to A, and to t if it is a node. A may be a stack; where it has negative eigenvalues the result is complex.

    >>> from autoflow import linalg
    >>> linalg.fractional_matrix_power(np.diag([4.0, 9.0]), 0.5)
    array([[2., 0.],
           [0., 3.]])
    """
    x: Any = as_array(A)
    whole = not hasattr(t, "requires_grad") and t == int(t)
    z: Any = np.linalg.matrix_power(x, int(t)) if whole else power(x, as_array(t))
    return z


# ---------------------------------------------------------------- linear systems


@primitive
def general(x: Array, y: Array, assume_a: Any = None, lower: bool = False) -> Array:
    """scipy.linalg.solve of a matrix that is all there."""
    if np.float16 in (x.dtype, y.dtype):  # its derivative is computed by np.linalg.solve, which refuses them as well
        raise TypeError("af.linalg.solve computes in single and double precision: use x.astype(np.float32)")
    scipy, (x, y) = scipy_linalg(x, y)
    return scipy.solve(x, y, lower, assume_a=assume_a, check_finite=False)


def solve(a: Any, b: Any, lower: bool = False, *, assume_a: Any = None, transposed: bool = False) -> Node:
    """a⁻¹ b. What ``assume_a`` says about a ("sym", "her", "pos", "diagonal", "tridiagonal", "upper triangular", "lower
    triangular") decides which of its elements are read, and so which ones have a derivative: one triangle of a
    symmetric matrix, the upper one unless ``lower``.

    >>> from autoflow import linalg
    >>> a = np.array([[4.0, 2.0], [np.nan, 5.0]])  # its lower triangle is not read
    >>> linalg.solve(a, [2.0, 1.0], assume_a="pos")
    array([0.5, 0. ])
    """
    x, y = as_array(a), as_array(b)
    kind = str(assume_a)
    if kind in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        half = (np.tril(x) if lower else np.triu(x)) * mask(x.shape[-1], x, "L" if lower else "U")  # NaN · 0 is NaN
        x = half + (half.mT if kind.startswith("sym") else adjoint(half))
    elif kind in READ:
        x = READ[kind](x)
    elif kind not in ("None", "gen", "general", "banded"):
        known = "'gen', 'sym', 'her', 'pos', 'banded', " + ", ".join(map(repr, READ))
        raise NoRuleError(f"af.linalg.solve does not know assume_a={assume_a!r}. It is one of {known}")
    return general(x.mT if transposed else x, y, TURNED.get(kind, assume_a) if transposed else assume_a, lower)


READ: dict[str, Any] = {
    "diagonal": lambda x: np.triu(np.tril(x)),
    "tridiagonal": lambda x: np.triu(np.tril(x, 1), -1),
    "upper triangular": np.triu,
    "lower triangular": np.tril,
}
TURNED = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}


@primitive
def triangular(x: Array, y: Array, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> Array:
    """scipy.linalg.solve_triangular."""
    scipy, (x, y) = scipy_linalg(x, y)
    return scipy.solve_triangular(x, y, trans, lower, unit_diagonal, check_finite=False)


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Node:  # fmt: skip
    """a⁻¹ b (``trans`` 0 or "N"), a⁻ᵀ b (1, "T") or a⁻ᴴ b (2, "C") for a triangular a; its other triangle is not read.

    >>> from autoflow import linalg
    >>> linalg.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 5.0], lower=True)
    array([1., 1.])
    """
    x, trans = as_array(a), {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2 (or 'N', 'T', 'C'), not {trans!r}")
    return triangular(np.conjugate(x) if trans == 2 else x, as_array(b), min(trans, 1), lower, unit_diagonal)


def triangular_y(g: Array, x: Array, y_shape: Shape, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """The transposed system, as in :func:`autoflow.rules.solving.solve_y`."""
    return sum_to(triangular(x, g, 1 - trans, lower, unit_diagonal), y_shape)


def triangular_x(g: Array, x: Array, z: Array, y_shape: Shape, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """-(x⁻ᵀ g) zᵀ, of which the triangle counts that is read."""
    sent = triangular(x, g, 1 - trans, lower, unit_diagonal)
    if len(y_shape) == 1:
        sent, z = sent[..., None], z[..., None]
    full = -(z @ sent.mT if trans else sent @ z.mT)
    k = int(unit_diagonal)
    return sum_to(np.tril(full, -k) if lower else np.triu(full, k), x.shape)


# fmt: off
rule(general, "x y | assume_a=None lower=False", "solve", r"$x^{-1} $y", x=solve_x, y=solve_y, name="solve")
rule(triangular, "x y | trans=0 lower=False unit_diagonal=False", "solve", r"$x^{-1} $y", x=triangular_x,
     y=triangular_y, name="solve_triangular")
# fmt: on


@primitive
def cholesky(a: Array, lower: bool = False) -> Node:
    """The Cholesky factor of a positive definite matrix: uᴴ u, or l lᴴ with ``lower``; that triangle of a is read.

    >>> from autoflow import linalg
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
    array([[2., 0.],
           [1., 2.]])
    """
    scipy, (a,) = scipy_linalg(a)
    return scipy.cholesky(a, lower=lower, check_finite=False)


def cho_factor(a: Any, lower: bool = False) -> tuple[Node, bool]:
    """The pair that :func:`cho_solve` takes. The other triangle is zero (SciPy leaves arbitrary numbers there).

    >>> from autoflow import linalg
    >>> c, lower = linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]])
    >>> c
    array([[2., 1.],
           [0., 2.]])
    """
    return cholesky(as_array(a), lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Node:
    """a⁻¹ b by the Cholesky factor of a, in two triangular systems.

    >>> from autoflow import linalg
    >>> linalg.cho_solve(linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]]), [2.0, 1.0])
    array([0.5, 0. ])
    """
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


rule(cholesky, "a | lower=False", "chol", r"\operatorname{chol} $a", holomorphic=False,
     a=lambda g, z, lower: cholesky_x(g, z, not lower))  # fmt: skip


def solve_sylvester(a: Any, b: Any, q: Any) -> Node:
    """The x with a x + x b = q, for matrices a (m, m), b (n, n), q (m, n). NaN if an eigenvalue of a and one of b add
    up to 0, so that there is no x, or no single one.

    >>> from autoflow import linalg
    >>> linalg.solve_sylvester(np.eye(2), np.eye(2), np.array([[2.0, 4.0], [6.0, 8.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    return sylvester(as_array(a), as_array(b), as_array(q))


# ---------------------------------------------------------------- banded and block matrices


@primitive
def banded(x: Array, y: Array, below: int = 0, above: int = 0) -> Array:
    """scipy.linalg.solve_banded."""
    scipy, (x, y) = scipy_linalg(x, y)
    return scipy.solve_banded((below, above), x, y, check_finite=False)


def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Node:
    """a⁻¹ b for a matrix given by its diagonals, ab[u + i - j, j] = a[i, j]: u of them above the main one, l below.

    >>> from autoflow import linalg
    >>> linalg.solve_banded((0, 1), [[0.0, 1.0], [2.0, 4.0]], [3.0, 4.0])  # of [[2, 1], [0, 4]]
    array([1., 1.])
    """
    x, y = as_array(ab), as_array(b)
    if x.ndim != 2:
        raise NoRuleError("af.linalg.solve_banded takes one matrix, not a stack")
    return banded(x, y, *[int(k) for k in l_and_u])


def rows_of(shape: Shape, above: int) -> tuple[Array, Array]:
    """The row i in a of every element of ab, and whether there is such a row."""
    i = np.arange(shape[0])[:, None] - above + np.arange(shape[1])
    inside = (i >= 0) & (i < shape[1])
    return np.where(inside, i, 0), inside


def banded_y(g: Array, x: Array, below: int, above: int) -> Array:
    """The transposed system: diagonals above are now below, shifted along."""
    i, inside = rows_of(x.shape, below)
    turned = np.where(inside, x[np.arange(x.shape[0])[::-1, None], i], 0)
    return banded(turned, g, above, below)


def banded_x(g: Array, x: Array, z: Array, below: int, above: int) -> Array:
    """-(a⁻ᵀ g)ᵢ zⱼ for the elements of the bands."""
    sent = banded_y(g, x, below, above)
    i, inside = rows_of(x.shape, above)
    product = sent[i] * z
    return np.where(inside, -(product.sum(-1) if z.ndim == 2 else product), 0)


rule(banded, "x y | below=0 above=0", "solve", r"$x^{-1} $y", x=banded_x, y=banded_y,
     name="solve_banded", domain=(1.0, 2.0))  # fmt: skip


def block_diag(*arrs: Any) -> Node:
    """Matrices along the diagonal, zeros elsewhere; numbers and vectors are rows.

    >>> block_diag(np.ones((1, 2)), 3.0)
    array([[1., 1., 0.],
           [0., 0., 3.]])
    """
    blocks = [np.atleast_2d(as_array(x)) for x in arrs] or [np.zeros((1, 0))]
    if any([x.ndim != 2 for x in blocks]):
        raise NoRuleError("af.linalg.block_diag takes matrices, not stacks of them")
    dtype = np.result_type(*[x.dtype for x in blocks])
    width, left, bands = sum([x.shape[1] for x in blocks]), 0, []
    for x in blocks:
        rows, columns = x.shape
        sides = np.zeros((rows, left), dtype), np.zeros((rows, width - left - columns), dtype)
        bands.append(np.concatenate([sides[0], x, sides[1]], axis=1))
        left += columns
    z: Any = np.concatenate(bands, axis=0)
    return z
