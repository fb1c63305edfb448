"""scipy.sparse.linalg for nodes: the x with A x = b, by elimination or iteration, and what SciPy writes with products.

However x was found, A x = b still holds after a small change: so Aᵀ u = g, solved in the same way, gives dL/db = u and
dL/ddataₖ = −uᵣ xᶜ. Gradients flow to b and to the data of A, a sparse or a dense matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as theirs

from ...base.errors import ConvergenceError, NoRuleError
from ...batching.batched import open_layer, wrap_batched
from ...batching.forms import batched
from ...implicit.linear import unit
from ...rules import kernel, rule
from ...table.shapes import AnyFunction, Array, as_array
from ..bodies import check_precision
from ..mirrors import has_node, mirrored
from ..proofs import numbers
from . import product_data

ITERATIVE = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"]
__all__ = [*ITERATIVE, "factorized", "splu", "spsolve"]


@kernel
def sparse_solve(
    data: Array, b: Array, rows: Array = None, columns: Array = None, method: str = "", options: Any = None
) -> Array:
    """A⁻¹ b for a matrix given by its elements. Shapes: data, rows, columns (k,); b (n,) or (n, p)."""
    check_precision(data, b)
    matrix = sparse.csc_array((data, (rows, columns)), shape=(b.shape[0],) * 2)
    if not method:
        return np.reshape(theirs.spsolve(matrix, b, **(options or {})), b.shape)
    z, failed = getattr(theirs, method)(matrix, b, **(options or {}))
    if failed:
        message = f"scipy.sparse.linalg.{method} did not converge, here or on the way back"
        raise ConvergenceError(f"{message}: set rtol, maxiter")
    return z


def solve_b(g: Array, data: Array, rows: Array, columns: Array, method: str, options: object) -> Array:
    """u, from a gradient scaled to at most 1: iterations may have an absolute tolerance."""
    size = unit(g) if method else 1
    return size * sparse_solve(data, g / size, columns, rows, method, options)


def solve_data(g: Array, data: Array, z: Array, rows: Array, columns: Array, method: str, options: object) -> Array:
    """−uᵣ xᶜ."""
    return -product_data(solve_b(g, data, rows, columns, method, options), z, rows, columns)


rule(sparse_solve, "data b | rows=None columns=None method='' options=None", "A⁻¹", r"A^{-1} $b", name="spsolve",
     domain=(1.0, 2.0), data=solve_data, b=solve_b)  # fmt: skip


@batched(sparse_solve)
def solve_batch(
    layer: Any, data: Any, b: Any, rows: Any = None, columns: Any = None, method: str = "", options: Any = None
) -> Any:  # fmt: skip
    """A single matrix is factored once for all vectors."""
    values, moves = open_layer(data, layer)
    if moves or method or np.ndim(b) == 2:
        return NotImplemented
    return wrap_batched(sparse_solve(values, open_layer(b, layer)[0].T, rows, columns, "", options).T, layer)


def elements(matrix: Any, b: Any) -> tuple[Any, Any, Any]:
    """Data, rows and columns of a matrix that fits b."""
    if np.shape(matrix) != np.shape(b)[:1] * 2:
        raise ValueError(f"a matrix of shape {np.shape(matrix)} and a right side of shape {np.shape(b)} do not fit")
    if sparse.issparse(matrix):
        coo = matrix.tocoo()
        return coo.data, coo.row, coo.col
    if not hasattr(matrix, "__array__") and not isinstance(matrix, (list, tuple)):
        raise NoRuleError("for a LinearOperator and nodes use af.implicit.linear_solve(matvec, b, theta)")
    matrix = as_array(matrix)
    return np.reshape(matrix, -1), *np.reshape(np.indices(matrix.shape), (2, -1))


def spsolve(A: Any, b: Array, permc_spec: object = None, use_umfpack: bool = True) -> Any:  # noqa: N803 - SciPy's name
    """The x with A x = b, for a sparse A and one or several b.

    >>> import autoflow as af
    >>> from autoflow.scipy import sparse
    >>> from autoflow.scipy.sparse import linalg
    >>> b = af.Variable([2.0, 4.0])
    >>> linalg.spsolve(sparse.csc_array(np.diag([2.0, 1.0])), b).value
    array([1., 4.])
    """
    data, rows, columns = elements(A, b)
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    z = sparse_solve(data, as_array(b), rows, columns, "", options if permc_spec is not None else None)
    return np.ravel(z) if z.shape[1:] == (1,) else z  # as SciPy's


def iterative(name: str) -> AnyFunction:
    """A solver by iteration. With a node in A or b, ``x0``, ``M`` and ``callback`` are not known."""

    def solve(A: Array, b: Any, **options: object) -> tuple[Any, int]:  # noqa: N803
        if unknown := {"x0", "M", "callback"} & options.keys():
            raise NoRuleError(f"scipy.sparse.linalg.{name} of a node does not know {', '.join(sorted(unknown))}=")
        data, rows, columns = elements(A, b)
        b = np.ravel(b) if np.shape(b)[1:] == (1,) else as_array(b)
        return sparse_solve(data, b, rows, columns, name, options), 0

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"(x, 0) with A x = b, found by ``scipy.sparse.linalg.{name}``, as in the backward pass."
    return solve


class Factors:
    """``scipy.sparse.linalg.SuperLU`` of a matrix, which solves with nodes as :func:`spsolve`."""

    def __init__(self, matrix: Any, lu: Any) -> None:
        self.matrix, self.lu = matrix, lu

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U") and has_node([self.__dict__["matrix"]]):
            raise NoRuleError(f"splu(A).{name} of a node has no derivative here: use solve, or numpy.linalg.slogdet")
        return getattr(self.__dict__["lu"], name)

    def solve(self, rhs: Any, trans: str = "N") -> Array:
        """The x with A x = rhs; with ``trans`` "T" or "H" that of the transpose or adjoint."""
        if not has_node([self.matrix, rhs]):
            return self.lu.solve(rhs, trans)
        matrix = self.matrix if trans == "N" else (self.matrix.conj() if trans == "H" else self.matrix).T
        return np.reshape(spsolve(matrix, rhs), np.shape(rhs))


def splu(A: Any, *args: Any, **options: Any) -> Factors:  # noqa: N803
    """``scipy.sparse.linalg.splu``: the factors are SciPy's, and ``solve`` takes nodes."""
    return Factors(A.copy(), theirs.splu(numbers(A), *args, **options))


def factorized(A: Any) -> Callable[[Any], Any]:  # noqa: N803
    """The function that solves A x = b."""
    A = A.copy()  # noqa: N806 - it may be changed
    solve: Any = None if has_node([getattr(A, "data", A)]) else theirs.factorized(A)
    return lambda b: np.reshape(spsolve(A, b), np.shape(b)) if solve is None or has_node([b]) else solve(b)


globals().update({name: iterative(name) for name in ITERATIVE})
__getattr__, __dir__ = mirrored(globals(), [*ITERATIVE, "spsolve"])
