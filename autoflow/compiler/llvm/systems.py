"""Systems of linear equations, with what a whole program shows and one call of NumPy cannot know.

The result of Cholesky is triangular, so its systems need no factors. Two systems with one matrix, or one with the
matrix and one with its transpose (a solution and its gradient), share their factors. Both are done by SciPy's BLAS and
LAPACK; without SciPy, for stacks of matrices and for numbers of other precisions NumPy's own calls stay.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from functools import partial

import numpy as np

from ..matching import CALL, ITEM, VIEW, Array, Value
from ..program import Program, new_value


def share_factors(program: Program) -> None:
    """Replace the systems that this file is about."""
    solved = {v: matrix_of(v.args[0]) for v in program.order() if is_system(v)}
    counts = Counter([matrix for matrix, _ in solved.values()])
    triangular = [matrix for matrix in counts if matrix.function is np.linalg.cholesky]
    shared = [matrix for matrix, n in counts.items() if n > 1 and matrix not in triangular]
    if not (triangular or shared) or importlib.util.find_spec("scipy") is None:
        return
    ways = {m: (solve_lower, (m,)) for m in triangular} | {m: (solve_with_factors, factors_of(m)) for m in shared}
    new = {}
    for v, (matrix, is_turned) in solved.items():
        if matrix in ways:
            function, known = ways[matrix]
            args = (*known, v.args[1])
            new[v] = new_value(CALL, partial(function, is_turned=is_turned), args, None, v.shape, v.number, v)
    program.rewrite(new)


def is_system(v: Value) -> bool:
    """Is it a system of one matrix, in single or double precision?"""
    if v.kind != CALL or v.function is not np.linalg.solve or v.dtype not in (np.float32, np.float64):
        return False
    return all([len(x.shape) <= 2 and x.dtype == v.dtype for x in v.args]) and all(v.shape)


def matrix_of(x: Value) -> tuple[Value, bool]:
    """The matrix behind transposes, and whether x is its transpose."""
    is_turned = False
    while x.kind == VIEW and x.options and x.options[0] == "transpose":
        is_turned ^= x.options[1] == (1, 0)
        x = x.args[0]
    return x, is_turned


def factors_of(matrix: Value) -> tuple[Value, Value]:
    """The two results of :func:`factorise`, in the program."""
    shape, number = matrix.shape, matrix.number
    both = new_value(CALL, factorise, (matrix,), None, (), number, None)
    lu = new_value(ITEM, None, (both,), 0, shape, number, matrix)
    return lu, new_value(ITEM, None, (both,), 1, shape[:1], number, np.dtype(np.int32))


# ---------------------------------------------------------------- with arrays


def factorise(a: Array) -> tuple[Array, Array]:
    """L, U in one matrix and the exchanges of rows, of aᵀ: LAPACK wants columns one after the other."""
    from scipy.linalg import lapack

    lu, exchanges, _ = lapack.get_lapack_funcs("getrf", (a,))(a.T)
    return lu, exchanges


def solve_with_factors(lu: Array, exchanges: Array, b: Array, *, is_turned: bool) -> Array:
    """a⁻¹ b, or a⁻ᵀ b, from the factors of aᵀ."""
    from scipy.linalg import lapack

    x: Array = lapack.get_lapack_funcs("getrs", (lu,))(lu, exchanges, b, trans=not is_turned)[0]
    return finite(np.ascontiguousarray(x).reshape(b.shape))


def solve_lower(low: Array, b: Array, *, is_turned: bool) -> Array:
    """l⁻¹ b, or l⁻ᵀ b, of a lower triangle: as xᵀ lᵀ = bᵀ, so that nothing has to be turned in memory."""
    from scipy.linalg import blas

    turned = b.reshape(len(b), -1).T
    x: Array = blas.get_blas_funcs("trsm", (low,))(1.0, low.T, turned, side=1, lower=0, trans_a=is_turned).T
    return finite(x.reshape(b.shape))


def finite(x: Array) -> Array:
    """x itself. Where it is not finite (a matrix is singular, an operand is NaN) the error makes eager code run, whose
    answer stands: which elements are NaN depends on the order in which rows were exchanged."""
    if not math.isfinite(x.sum()):
        raise np.linalg.LinAlgError("no finite solution")
    return x
