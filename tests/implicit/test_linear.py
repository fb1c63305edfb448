"""Linear systems by products alone, and by a matrix: beside np.linalg.solve, whose derivatives are the right ones."""

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import ConvergenceError, InputError, LoopWarning, LostGradientError
from autoflow.implicit import linear_solve, root
from autoflow.implicit.linear import is_singular, solve_dense

pytest.importorskip("scipy", reason="SciPy is not installed")

RNG = np.random.default_rng(1)
N = 5
RING = np.roll(np.eye(N), 1, 0)
B = RNG.normal(size=N)


def product(x, k):
    """Symmetric, and positive definite for positive k."""
    return k * (2 * x - np.roll(x, 1) - np.roll(x, -1)) + k**2 * x


def matrix(k):
    return k * (2 * np.eye(N) - RING - RING.T) + k**2 * np.eye(N)


def skew(x, p):
    """Neither symmetric nor definite."""
    return p["k"] * x + p["c"] * np.roll(x, 1) - 2 * np.roll(x, -2)


def by_matrix(multiply, b):
    return np.linalg.solve(np.stack([multiply(e) for e in np.eye(N)], axis=1), b)


@pytest.mark.parametrize("solver", ["cg", "gmres", "dense", "auto", by_matrix])
def test_two_derivatives_of_a_symmetric_system(solver):
    ours = lambda k, b: np.sum(linear_solve(product, b, k, solver=solver) ** 3)  # noqa: E731
    right = lambda k, b: np.sum(np.linalg.solve(matrix(k), b) ** 3)  # noqa: E731
    np.testing.assert_allclose(linear_solve(product, B, 1.5, solver=solver), np.linalg.solve(matrix(1.5), B), 1e-10)
    for argnum in (0, 1):
        for of, rtol in ((af.grad, 1e-9), (af.hessian, 1e-8)):
            np.testing.assert_allclose(of(ours, argnum)(1.5, B), of(right, argnum)(1.5, B), rtol, atol=rtol / 100)


@pytest.mark.parametrize("solver", ["gmres", "dense"])
def test_two_derivatives_of_a_skew_system(solver):
    """What goes back is the system with the transposed matrix."""
    ours = lambda k, c, b: np.sum(np.sin(linear_solve(skew, b, {"k": k, "c": c}, solver=solver)))  # noqa: E731
    matrix = lambda k, c: k * np.eye(N) + c * RING - 2 * np.roll(np.eye(N), -2, 0)  # noqa: E731
    right = lambda k, c, b: np.sum(np.sin(np.linalg.solve(matrix(k, c), b)))  # noqa: E731
    at = 5.0, 1.5, B
    for one, other in zip(*[af.grad(f, (0, 1, 2))(*at) for f in (ours, right)], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    for one, other in zip(*[af.hessian(f, (0, 1))(*at)[0] for f in (ours, right)], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(*[af.grad(af.grad(af.grad(f, 1), 1), 1)(*at) for f in (ours, right)], rtol=1e-7)


def test_cg_on_a_matrix_that_is_not_symmetric_goes_back_with_its_transpose():
    """It may find the solution all the same; that the matrix is symmetric is never taken for granted."""
    ours = lambda b: linear_solve(lambda x, t: x + t * np.roll(x, 1), b, 1e-9, solver=by_matrix)  # noqa: E731
    np.testing.assert_allclose(af.jacobian(ours)(B), np.linalg.inv(np.eye(N) + 1e-9 * RING), rtol=0, atol=1e-15)


def test_transforms_of_a_linear_solution():
    f = lambda k: linear_solve(product, B, k)  # noqa: E731
    right = lambda k: np.linalg.solve(matrix(k), B)  # noqa: E731
    slope = af.jacobian(right)(1.5)
    np.testing.assert_allclose(af.jvp(f, 1.5, 1.0)[1], slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(af.compile(af.jacobian(f))(np.array(1.5)), slope, rtol=1e-9, atol=1e-12)
    looping.SAID.clear()
    with pytest.warns(LoopWarning, match="linear_solve"):
        each = af.vmap(af.jacobian(f))(np.array([1.5, 2.0]))
    np.testing.assert_allclose(each, [slope, af.jacobian(right)(2.0)], rtol=1e-9, atol=1e-12)


def test_containers_and_dtypes():
    """Two fields on a grid, coupled, in single precision."""

    def act(x, t):
        return {"u": 3 * x["u"] + t * x["v"], "v": 4 * x["v"] - t * x["u"]}

    b = {"u": np.ones((2, 2), np.float32), "v": np.arange(4, dtype=np.float32).reshape(2, 2)}
    x = linear_solve(act, b, np.float32(0.5))
    u = (4 * b["u"] - 0.5 * b["v"]) / 12.25
    assert x["u"].dtype == np.float32
    np.testing.assert_allclose(x["u"], u, rtol=1e-5)
    g = af.grad(lambda b: np.sum(linear_solve(act, b, np.float32(0.5))["u"]))(b)
    for name, slope in (("u", 4 / 12.25), ("v", -0.5 / 12.25)):
        np.testing.assert_allclose(g[name], np.full((2, 2), slope), rtol=1e-5)


def test_without_parameters():
    x = linear_solve(lambda x: 2 * x + np.roll(x, 1), af.Variable(B))
    x.sum().backward()
    np.testing.assert_allclose(x.value, np.linalg.solve(2 * np.eye(N) + RING, B), rtol=1e-9)
    assert linear_solve(lambda x: 2 * x, np.zeros(3)).tolist() == [0, 0, 0]


def test_many_unknowns_make_no_matrix():
    """20,000 of them: a matrix would take 3 GB."""
    n = 20_000
    d = np.linspace(1, 2, n)
    f = lambda t: np.sum(root(lambda x, t: d * x + 0.1 * np.roll(x, 1) + 0.05 * x**3 - t, np.zeros(n), t))  # noqa: E731
    with af.options(prove="never"):  # on a busy machine the second run would take long, and a warning say so
        g = af.grad(f)(np.ones(n))
    e = np.where(np.arange(n) == 17, 1e-4, 0.0)
    np.testing.assert_allclose(g[17], (f(1 + e) - f(1 - e)) / 2e-4, rtol=1e-5)


# -- what is refused ---------------------------------------------------------------------------------------------------


def by_halves(multiply, b):
    return by_matrix(multiply, b) / 2


TWO, W = np.array([1.0, 2.0]), af.Variable(2.0)


def twins(x, t):
    return t * np.stack([x[0] + x[1], x[0] + x[1]])


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: linear_solve(twins, TWO, 1.0), ConvergenceError,
     r"linear_solve: a linear system of 2 unknowns was not solved by 'gmres': the residual is 0\.3\d? of the right side"
     r", the tolerance 3.7e-10. Is it singular"),
    (lambda: linear_solve(twins, TWO, 1.0, solver="dense"), np.linalg.LinAlgError,
     r"linear_solve: the matrix of its linear system, 2 × 2, is"),
    (lambda: linear_solve(lambda x, t: t * np.stack([x[0] + 3 * x[1], -x[0]]), TWO, 1.0, solver="cg"), ConvergenceError,
     r"not solved by 'cg': .* not symmetric and positive definite"),
    (lambda: linear_solve(product, B, 1.5, solver=by_halves), ConvergenceError,
     r"not solved by by_halves: the residual is 0.5 of"),
    (lambda: linear_solve(product, B, 1.5, maxiter=1, tol=1e-13, solver="cg"), ConvergenceError,
     r"'cg'.* the tolerance 1e-12"),
    (lambda: linear_solve(lambda x, t: t * x + 1, B, 1.0), InputError,
     r"matvec of af.implicit.linear_solve is not linear: .* in b"),
    *[(lambda f=f: linear_solve(lambda x, t: t * f(x), np.abs(B) + 1, 1.0, solver="dense"), InputError,
       r"matvec of \S+ is not linear: for −2 b")
      for f in (np.abs, lambda x: x**3, lambda x: np.maximum(x, 0) + x, lambda x: x * np.sum(x))],
    (lambda: linear_solve(lambda x, t: x[1:], B, 1.0), InputError,
     r"what matvec of \S+ returns has shape \(4,\) where b has \(5,\)"),
    (lambda: linear_solve(lambda x, t: x * W, B, 1.0), LostGradientError,
     r"matvec of \S+ uses a node .* pass it in theta"),
    (lambda: linear_solve(product, B, 1.0, solver="lu"), ValueError, r"not by 'lu'"),
])  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_counts_as_singular():
    for x in (np.zeros((1, 1)), np.array([[1.0, 2.0], [2.0, 4.0]]) / 3, np.array([[np.nan]])):
        assert is_singular(x)
    for x in (np.diag([1e-200, 1e200]), np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])):
        assert not is_singular(x)
    with pytest.raises(np.linalg.LinAlgError, match="somebody's question: the matrix"):
        solve_dense(np.ones((2, 2)), np.ones(2), "somebody's question")
