"""Systems of linear equations, using what a whole program shows and a single NumPy call cannot know.

The result of Cholesky is triangular, so its systems need no factors. It also serves the systems of the matrix that it
was computed from, if that is symmetric. Other systems with one matrix, or one with the matrix and one with its
transpose (a solution and its gradient), share their factors. Small triangles are solved, and found, by loops
(``triangles.py``), everything else by SciPy's BLAS and LAPACK; without SciPy, for stacks of matrices and for numbers of
other precisions NumPy's own calls stay.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from ..matching import CALL, ITEM, VIEW, Array, Value
from ..program import Program, new_value
from .engine import Objects
from .functions import CODES
from .loops import address
from .triangles import GAP, compiled, factor, pays, solution


def share_factors(program: Program, objects: Objects | None) -> None:
    """Replace such systems in a program. ``objects``: where machine code is kept."""
    order, has_scipy = program.order(), importlib.util.find_spec("scipy") is not None
    solved = {v: matrix_of(v.args[0]) for v in order if is_call_of(v, np.linalg.solve)}
    counts = Counter([matrix for matrix, _ in solved.values()])
    factors = {m: factors_of(m) for m, n in counts.items() if n > 1 and has_scipy}
    halves: dict[Value, Value] = {}
    new: dict[Value, Value] = {}

    def replace(v: Value, function: object, *args: Value) -> None:
        new[v] = new_value(CALL, function, args, None, v.shape, v.number, v)

    def lower(v: Value, is_turned: bool, b_is_turned: bool = False) -> Any:
        n, *columns = v.shape
        text = solution(CODES[v.dtype], n, math.prod(columns), is_turned=is_turned, b_is_turned=b_is_turned)
        return partial(solve_lower_in_loops, compiled(text, objects), v.shape)

    for v in order:
        if is_call_of(v, np.linalg.cholesky) and pays(v.shape[0] ** 3 // 6):
            replace(v, partial(cholesky_in_loops, compiled(factor(CODES[v.dtype], v.shape[0]), objects)), *v.args)
            halves[matrix_of(v.args[0])[0]] = v
    for v, (matrix, is_turned) in solved.items():
        is_lower, by_loops = matrix.function is np.linalg.cholesky, pays(v.shape[0] * math.prod(v.shape) // 2)
        b, b_is_turned = matrix_of(v.args[1])
        if is_lower and by_loops:
            replace(v, lower(v, is_turned, b_is_turned), matrix, b)
        elif is_lower and has_scipy:
            replace(v, partial(solve_lower, is_turned=is_turned), matrix, v.args[1])
        elif matrix in halves and by_loops:
            replace(v, partial(solve_symmetric_in_loops, lower(v, False), lower(v, True)), halves[matrix], *v.args)
        elif matrix in factors:
            replace(v, partial(solve_with_factors, is_turned=is_turned), *factors[matrix], v.args[1])
    program.rewrite(new)


def is_call_of(v: Value, function: object) -> bool:
    """Is it this function of one matrix, in single or double precision?"""
    if v.kind != CALL or v.function is not function or v.dtype not in (np.float32, np.float64):
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
    """L, U in one matrix and the row exchanges, for aᵀ: LAPACK expects contiguous columns."""
    from scipy.linalg import lapack

    lu, exchanges, _ = lapack.get_lapack_funcs("getrf", (a,))(a.T)
    return lu, exchanges


def solve_with_factors(lu: Array, exchanges: Array, b: Array, *, is_turned: bool) -> Array:
    """a⁻¹ b, or a⁻ᵀ b, from the factors of aᵀ."""
    from scipy.linalg import lapack

    x: Array = lapack.get_lapack_funcs("getrs", (lu,))(lu, exchanges, b, trans=not is_turned)[0]
    return finite(np.ascontiguousarray(x).reshape(b.shape))


def solve_lower(low: Array, b: Array, *, is_turned: bool) -> Array:
    """l⁻¹ b, or l⁻ᵀ b, for a lower triangle: as xᵀ lᵀ = bᵀ, so that nothing is transposed in memory."""
    from scipy.linalg import blas

    turned = b.reshape(len(b), -1).T
    x: Array = blas.get_blas_funcs("trsm", (low,))(1.0, low.T, turned, side=1, lower=0, trans_a=is_turned).T
    return finite(x.reshape(b.shape))


def solve_lower_in_loops(run: Any, shape: tuple[int, ...], low: Array, b: Array) -> Array:
    """The same for small triangles."""
    low, b, x = np.ascontiguousarray(low), np.ascontiguousarray(b), np.empty(shape, low.dtype)
    run(address(low), address(b), address(x))
    return finite(x)


def solve_symmetric_in_loops(lower: Any, upper: Any, low: Array, a: Array, b: Array) -> Array:
    """a⁻¹ b by Cholesky's factor of a, or of aᵀ. Cholesky has read one triangle only, so the other one is compared."""
    return upper(low, lower(low, b)) if np.array_equal(a, a.T) else np.linalg.solve(a, b)


def cholesky_in_loops(run: Any, a: Array) -> Array:
    """Cholesky's factor of a."""
    a, low, memory = np.ascontiguousarray(a), np.zeros(a.shape, a.dtype), np.empty((len(a), len(a) + GAP), a.dtype)
    run(address(a), address(low), address(memory))
    return finite(low)


def finite(x: Array) -> Array:
    """x itself. If it is not finite (a matrix is singular, an operand is NaN) the error makes eager code run, whose
    answer counts: which elements are NaN depends on the order in which rows were exchanged."""
    if not math.isfinite(x.sum()):
        raise np.linalg.LinAlgError("no finite solution")
    return x
