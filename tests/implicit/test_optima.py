"""af.implicit.argmin: minima, free and under equations, beside closed forms and differences; and what is refused."""

from functools import partial

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import ConvergenceError, InputError, LoopWarning
from autoflow.implicit import argmin, root

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")

RNG = np.random.default_rng(2)
A, Y = RNG.normal(size=(8, 3)), RNG.normal(size=8)


def ridge(strength, y=Y, **how):
    f = lambda w, p: np.sum((A @ w - p[1]) ** 2) + p[0] * np.sum(w**2)  # noqa: E731
    return argmin(f, np.zeros(3), (strength, y), **how)


def right(strength, y=Y):
    return np.linalg.solve(A.T @ A + strength * np.eye(3), A.T @ y)


def by_descent(f, x):
    slope = af.grad(f)
    for _ in range(700):
        x = x - 0.03 * slope(x)
    return x


def test_ridge_regression_beside_its_closed_form():
    np.testing.assert_allclose(ridge(0.5), right(0.5), rtol=1e-12)
    loss = lambda solve: lambda s, y: np.sum(np.exp(solve(s, y)))  # noqa: E731
    for argnum in (0, 1):
        for derivative, rtol in ((af.grad, 1e-11), (af.hessian, 1e-10)):
            one, other = [derivative(loss(f), argnum)(0.5, Y) for f in (ridge, right)]
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol / 100)


SOLVERS = {
    "own": {"solver": by_descent}, "cg": {"linear": "cg"},
    "basinhopping": {"solver": partial(optimize.basinhopping, niter=1)},
    "fmin_bfgs": {"solver": partial(optimize.fmin_bfgs, disp=False)},
    **{method: {"solver": partial(optimize.minimize, method=method)} for method in (
        "BFGS", "CG", "L-BFGS-B", "Nelder-Mead", "Newton-CG", "Powell", "SLSQP", "TNC", "dogleg", "trust-constr",
        "trust-exact", "trust-krylov", "trust-ncg")},
    "with options": {"solver": partial(optimize.minimize, method="CG", options={"maxiter": 30})},
    "with a tolerance": {"solver": partial(optimize.minimize, tol=1e-3)},
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_it_does_not_matter_who_finds_it(name):
    np.testing.assert_allclose(ridge(0.5, **SOLVERS[name]), right(0.5), rtol=1e-8)
    one = af.jacobian(lambda s: ridge(s, **SOLVERS[name]))(0.5)
    np.testing.assert_allclose(one, af.jacobian(right)(0.5), rtol=1e-7)


# -- constraints -------------------------------------------------------------------------------------------------------


def weights(theta, **how):
    """The least Σ θ x² with Σ x = 1: x ∝ 1/θ."""
    return argmin(lambda x, t: np.sum(t * x**2), np.ones(3), theta, equality=lambda x, t: np.sum(x) - 1.0, **how)


def right_weights(theta):
    return (1 / theta) / np.sum(1 / theta)


THETA = np.array([1.0, 2.0, 4.0])


def by_formula(f, x0, h):
    """A solver of a user's gets the constraint, too."""
    x = right_weights(THETA)
    assert abs(h(x)) < 1e-15
    assert f(x) < f(x0 / 3)
    return x


CONSTRAINED = {
    "SLSQP": {}, "minimize": {"solver": optimize.minimize}, "own": {"solver": by_formula},
    "trust-constr": {"solver": partial(optimize.minimize, method="trust-constr")},
    "gmres": {"linear": "gmres"},
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINED)
def test_minima_under_an_equation(name):
    f = lambda theta: weights(theta, **CONSTRAINED[name])  # noqa: E731
    np.testing.assert_allclose(f(THETA), right_weights(THETA), rtol=1e-9)
    np.testing.assert_allclose(af.jacobian(f)(THETA), af.jacobian(right_weights)(THETA), rtol=1e-8, atol=1e-10)
    one, other = (af.hessian(lambda t, g=g: np.sum(g(t) ** 3))(THETA) for g in (f, right_weights))
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_a_curved_constraint_that_depends_on_parameters():
    """The point of a circle of radius r that is nearest to p is r p / |p|; the unknowns in a dict."""

    def nearest(p, r):
        x = argmin(
            lambda x, t: (x["x"] - t[0][0]) ** 2 + (x["y"] - t[0][1]) ** 2, {"x": 1.0, "y": 0.5}, (p, r),
            equality=lambda x, t: [x["x"] ** 2 + x["y"] ** 2 - t[1] ** 2],
        )  # fmt: skip
        return np.stack([x["x"], x["y"]])

    p = np.array([3.0, 4.0])
    np.testing.assert_allclose(nearest(p, 2.0), [1.2, 1.6], rtol=1e-10)
    by_p, by_r = af.jacobian(nearest, (0, 1))(p, 2.0)
    np.testing.assert_allclose(by_p, 2 / 5 * (np.eye(2) - np.outer(p, p) / 25), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_r, p / 5, rtol=1e-8)
    af.gradcheck(lambda r: nearest(p, r)[0], 2.0, order=2)


@pytest.mark.parametrize("seed", [0, 1, *[pytest.param(k, marks=pytest.mark.nightly) for k in range(2, 40)]])
def test_two_derivatives_of_drawn_problems(seed):
    """Convex functions with one or no linear equation, all of them bent by θ."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    a, c, e = rng.normal(size=(n + 1, n)), rng.normal(size=(n, k)), rng.normal(size=n)
    f = lambda x, t: np.sum((a @ x) ** 2) + np.sum(np.cosh(x - np.sin(c @ t))) + np.sum(t**2) * x[0] ** 2  # noqa: E731
    h = (lambda x, t: e @ x - np.cos(t[0])) if seed % 2 else None
    af.gradcheck(lambda t: argmin(f, np.zeros(n), t, equality=h), rng.normal(size=k), order=2)


# -- dtypes and transforms ---------------------------------------------------------------------------------------------


def test_dtypes_and_units():
    assert ridge(np.float32(0.5), Y.astype(np.float32)).dtype == np.float64  # as x0
    f = lambda t: argmin(lambda x, t: np.sum((x - t) ** 2 + x**4), np.zeros(2, np.float32), t)  # noqa: E731
    x, slopes = f(np.float32(1)), af.jacobian(f)(np.float32(1))
    assert x.dtype == slopes.dtype == np.float32
    np.testing.assert_allclose(x, 0.5897545, rtol=1e-5)
    np.testing.assert_allclose(slopes, 2 / (2 + 12 * 0.5897545**2), rtol=1e-5)
    x = argmin(lambda x, t: 1e-12 * np.sum((x - t) ** 2 + 0.1 * (x - t) ** 4), np.zeros(2), np.array([3.0, -4.0]))
    np.testing.assert_allclose(x, [3, -4], rtol=1e-6)


def test_transforms():
    slope = af.jacobian(right)(0.5)
    strengths = np.array([0.5, 2.0])
    np.testing.assert_allclose(af.jvp(ridge, 0.5, 1.0)[1], slope, rtol=1e-10)
    np.testing.assert_allclose(af.compile(af.jacobian(ridge))(np.array(0.5)), slope, rtol=1e-10)
    np.testing.assert_allclose(af.compile(af.jacobian(weights))(THETA), af.jacobian(right_weights)(THETA), atol=1e-10)
    looping.SAID.clear()
    with pytest.warns(LoopWarning, match=r"autoflow\.implicit\.argmin"):
        each = af.vmap(af.jacobian(ridge))(strengths)
    np.testing.assert_allclose(each, [slope, af.jacobian(right)(2.0)], rtol=1e-10)
    thetas = np.stack([THETA, THETA[::-1]])
    np.testing.assert_allclose(af.vmap(weights)(thetas), [right_weights(t) for t in thetas], rtol=1e-10)


def test_a_minimum_in_a_minimum():
    """The best strength is found by the same function: derivatives nest."""
    held = RNG.normal(size=(4, 3)), RNG.normal(size=4)
    error = lambda s, _: np.sum((held[0] @ ridge(np.exp(s)) - held[1]) ** 2) + 0.1 * s**2  # noqa: E731
    best = argmin(error, 0.0, 1.0)
    right_error = lambda s: float(np.sum((held[0] @ right(np.exp(s)) - held[1]) ** 2) + 0.1 * s**2)  # noqa: E731
    how = {"bounds": (best - 1, best + 1), "method": "bounded", "options": {"xatol": 1e-9}}
    np.testing.assert_allclose(best, optimize.minimize_scalar(right_error, **how).x, atol=1e-6)


# -- what is refused ---------------------------------------------------------------------------------------------------


# The gradient is zero there, too: a maximum that the search begins at, a saddle point, an inflection, a constraint.
WITHOUT_MINIMUM = {
    "not a minimum: .* the curvature -16": lambda: argmin(lambda x, t: (x**2 - t) ** 2, 0.0, 4.0),
    "found a point that is not a minimum: ": lambda: argmin(lambda x, t: x[0] ** 2 - t * x[1] ** 2, np.zeros(2), 1.0),
    "that is not a minimum": lambda: argmin(lambda x, t: t * x**3, 1.0, 1.0),
    "not a minimum: .* curvature -2": lambda: argmin(lambda x, t: -(x[0] ** 2) + t * x[1] ** 2, np.zeros(2), 1.0,
                                                     equality=lambda x, t: x[1]),
    r"did not converge: the largest residual is \S+, the ": lambda: argmin(lambda x, t: t * np.exp(-x) - x, 0.0, 1.0,
                                                                           maxiter=20),
    r"did not converge: .* The solver said: \S": lambda: argmin(lambda x, t: np.sum(t * x**2), np.ones(3), 1.0,
                                                                equality=lambda x, t: x.sum() - np.arange(1.0, 3.0)),
}  # fmt: skip


@pytest.mark.parametrize("message", WITHOUT_MINIMUM)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_points_that_are_no_minimum(message):
    with pytest.raises(ConvergenceError, match=f"argmin .*{message}"):
        WITHOUT_MINIMUM[message]()


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: argmin(lambda x, t: x**2, 1.0, 1.0, equality=lambda x, t: x - np.arange(1.0, 3.0)), InputError,
     "argmin has 2 constraints for 1 unknowns"),
    (lambda: argmin(lambda x, t: t * x**2, np.ones(2), 1.0), TypeError, "return one number"),
])  # fmt: skip
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_only_directions_along_the_constraint_count():
    x = argmin(lambda x, t: -(x[0] ** 2) + t * x[1] ** 2, np.ones(2), 2.0, equality=lambda x, t: x[0] - 1)
    np.testing.assert_allclose(x, [1, 0], atol=1e-12)
    assert float(root(lambda x, t: af.grad(lambda x: (x**2 - t) ** 2)(x), 0.0, 4.0)) == 0.0


def test_a_solver_that_stopped_too_early():
    lazy = lambda f, x: x - 0.1 * af.grad(f)(x)  # noqa: E731
    with pytest.raises(ConvergenceError, match=r"residual is 1.6, the tolerance 2.98e-08 \(at the start it was 2\)"):
        argmin(lambda x, t: np.sum((x - t) ** 2), np.zeros(2), 1.0, solver=lazy)
    x = argmin(lambda x, t: np.sum((x - t) ** 2), np.zeros(2), 1.0, solver=lazy, tol=1.0)
    np.testing.assert_allclose(x, 0.2, rtol=1e-15)


def test_constraints_that_say_the_same():
    twice = lambda x, t: np.stack([x.sum() - 1, 2 * x.sum() - 2])  # noqa: E731
    f = lambda t: argmin(lambda x, t: np.sum(t * x**2), np.ones(3), t, equality=twice)  # noqa: E731
    np.testing.assert_allclose(f(1.0), 1 / 3, rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match=r"argmin: the matrix of its linear system, 5 × 5, is singular"):
        af.jacobian(f)(1.0)


def test_without_scipy(monkeypatch):
    """The search is SciPy's; with another solver none is needed."""
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    monkeypatch.setattr(__import__("scipy"), "optimize", None, raising=False)
    monkeypatch.delattr("scipy.optimize")
    with pytest.raises(ImportError, match=r"argmin search with SciPy, which is not installed: .* solver of your own"):
        ridge(0.5)
    np.testing.assert_allclose(ridge(0.5, solver=by_descent), right(0.5), rtol=1e-8)
