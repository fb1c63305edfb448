"""Triangles and their factors in loops, which wake no threads."""

import numpy as np
import pytest
from compiled import check_same
from loops import RNG, calls_of, positive

import autoflow as af
from autoflow.compiler.llvm import engine as engines

pytestmark = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")
scipy = pytest.importorskip("scipy")


def likelihood(k, y):
    """Of a Gaussian process, but for constants."""
    low = np.linalg.cholesky(k)
    return (y * np.linalg.solve(k, y)).sum() + np.log(np.diagonal(low)).sum() + np.linalg.solve(low, y).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 21])
@pytest.mark.parametrize("n", [1, 5, 8, 16, 21, 67])
def test_blocks_of_all_sizes(n, columns, dtype):
    """Sizes with and without rows and columns left over; only the lower triangle is read; half of the right sides lie
    turned in memory."""
    k = np.tril(positive(n, dtype))
    y = np.asarray(RNG.standard_normal((n, columns)), dtype)

    def f(k, y, turned):
        low = np.linalg.cholesky(k)
        both = (y, turned.T)
        return low, [np.linalg.solve(matrix, b) for matrix in (low, low.T) for b in both]

    compiled = af.compile(f, engine="llvm")
    upper = np.triu(np.full((n, n), 7, dtype), 1)
    for _ in range(3):
        found = compiled(k + upper, y, np.ascontiguousarray(y.T))
    for a, b in zip(af.pytree.tree_leaves(found), af.pytree.tree_leaves(f(k, y, y.T.copy())), strict=True):
        assert a.flags.c_contiguous
        np.testing.assert_allclose(a, b, rtol=0, atol=np.finfo(dtype).eps * 20 * max(np.abs(b).max(), 1))
    assert sorted(calls_of(compiled))[:2] == ["cholesky_in_loops", "solve_lower_in_loops"]
    assert not {"cholesky", "solve", "solve_lower"} & {*calls_of(compiled)}


@pytest.mark.parametrize("wide", [False, True])
def test_large_triangles_are_the_librarys(wide, monkeypatch):
    """Beyond the number of multiplications from which on threads pay."""
    monkeypatch.setattr("autoflow.compiler.llvm.triangles.has_wide_registers", lambda: wide)
    monkeypatch.setattr("autoflow.compiler.llvm.triangles.MEDIUM", 4 * 16**3)
    for n, ways in (
        (16 if wide else 12, {"cholesky_in_loops", "solve_lower_in_loops"}),
        (60, {"cholesky", "solve_lower"}),
    ):
        k = RNG.standard_normal((n, n))
        compiled = af.compile(lambda k: np.linalg.solve(np.linalg.cholesky(k), k), engine="llvm")
        compiled(k @ k.T), compiled(k @ k.T)
        assert {*calls_of(compiled)} == ways


def test_the_factor_of_cholesky_serves_its_own_matrix():
    """Where that is symmetric; another one is factorised."""
    k, y = positive(7), RNG.standard_normal((7, 2))
    f = af.value_and_grad(likelihood, (0, 1))
    compiled = af.compile(f, engine="llvm")
    lopsided = k + np.triu(np.ones((7, 7)), 1)
    for matrix in (k, k, lopsided, np.asfortranarray(lopsided), k):
        check_same(compiled(matrix, y), f(matrix, y), 1e-12, 1e-13)
    assert "solve_symmetric_in_loops" in calls_of(compiled)
    assert not {"factorise", "solve", "cholesky"} & {*calls_of(compiled)}


def test_no_library_is_called_so_limits_hold(monkeypatch):
    """Whatever number of threads the user allows, the library is neither asked nor told."""
    n = 70
    k, y = positive(n), RNG.standard_normal((n, n))
    f = lambda k, y: np.linalg.solve(np.linalg.cholesky(k), y)  # noqa: E731
    compiled, expected = af.compile(f, engine="llvm"), f(k, y)
    compiled(k, y), compiled(k, y)
    threadpoolctl = pytest.importorskip("threadpoolctl")
    for function in ("cholesky", "solve"):
        monkeypatch.setattr(np.linalg, function, None)
    for number in (1, 2):
        with threadpoolctl.threadpool_limits(number):
            before = [library["num_threads"] for library in threadpoolctl.threadpool_info()]
            np.testing.assert_allclose(compiled(k, y), expected, rtol=0, atol=1e-13)
            assert before == [library["num_threads"] for library in threadpoolctl.threadpool_info()]
