"""Solvers, ours, SciPy's and users': all come to the same solution, and derivatives do not depend on which."""

from functools import partial

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import ConvergenceError, InputError
from autoflow.implicit import fixed_point, root
from autoflow.implicit.equations import anderson, newton
from autoflow.implicit.linear import Solve

T = np.array([3.0, 20.0])


def f(x, theta):
    """x³ + x = θ, and a little of the neighbour."""
    return x**3 + x + 0.1 * x[::-1] - theta


RIGHT = root(f, np.ones(2), T)
SLOPES = np.linalg.inv(np.diag(3 * RIGHT**2 + 1) + 0.1 * np.eye(2)[::-1])


def bisect_each(equations, x0):
    """A solver of a user's, with a loop, comparisons and writing in place."""
    low, high = np.full((2, 2), [[-10.0], [10.0]])
    for _ in range(200):
        middle = (low + high) / 2
        above = equations(middle) > 0
        high[above], low[~above] = middle[above], middle[~above]
    return middle


def with_slopes(equations, x0):
    """One that differentiates the equations that it gets."""
    x = x0
    for _ in range(20):
        x = x - np.linalg.solve(af.jacobian(equations)(x), equations(x))
    return x


def with_backward(equations, x0):
    """And one that uses Variables."""
    x = af.Variable(x0)
    for _ in range(400):
        x.zero_grad()
        np.sum(equations(x) ** 2).backward()
        x.assign(x.value - 1e-3 * x.grad)
    return x


@pytest.mark.parametrize("solver", [bisect_each, with_slopes, with_backward])
def test_solvers_of_users(solver):
    solve = lambda theta: root(f, np.ones(2), theta, solver=solver, tol=1e-6)  # noqa: E731
    np.testing.assert_allclose(solve(T), RIGHT, rtol=1e-7)
    np.testing.assert_allclose(af.jacobian(solve)(T), SLOPES, rtol=1e-6)


SCIPYS = {
    "root": {}, "fsolve": {}, "least_squares": {}, "newton_krylov": {}, "broyden1": {}, "newton": {},
    "root lm": {"method": "lm"}, "root krylov": {"method": "krylov"},
    "root df-sane": {"method": "df-sane", "tol": 1e-11}, "root hybr": {"method": "hybr", "options": {"xtol": 1e-11}},
    "least_squares dogbox": {"method": "dogbox"}, "fsolve with its own": {"fprime": lambda x: np.diag(3 * x**2 + 1)},
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPYS)
def test_solvers_of_scipy(name):
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    solver = getattr(optimize, name.split()[0])
    solver = partial(solver, **SCIPYS[name]) if SCIPYS[name] else solver
    solve = lambda theta: root(f, np.array([1.0, 2.5]), theta, solver=solver)  # noqa: E731
    np.testing.assert_allclose(solve(T), RIGHT, rtol=1e-8)
    np.testing.assert_allclose(af.jacobian(solve)(T), SLOPES, rtol=1e-7)
    assert solve(T.astype(np.float32)).dtype == np.float64  # as x0


@pytest.mark.parametrize("name", ["root", "fsolve", "least_squares"])
def test_scipy_gets_the_jacobian(name, monkeypatch):
    """So it needs no differences, which would be one more evaluation for each unknown."""
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    calls = []
    root(lambda x, theta: (calls.append(type(x)), f(x, theta))[1], np.ones(2), T, solver=getattr(optimize, name))
    assert [kind for kind in calls if issubclass(kind, af.Node)]


def test_scipys_fixed_point_gets_the_map():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    solve = lambda t: fixed_point(lambda x, t: np.cos(x * t), np.ones(2), t, solver=optimize.fixed_point)  # noqa: E731
    x = solve(np.array([0.5, 1.0]))
    np.testing.assert_allclose(np.cos(x * [0.5, 1.0]), x, rtol=1e-9)
    af.gradcheck(lambda t: fixed_point(lambda x, t: np.cos(x * t), np.ones(2), t), np.array([0.5, 1.0]), order=2)


def cut(g, x0):
    """Claims to be SciPy's, and returns too little."""
    return x0[:1]


cut.__module__ = "scipy.optimize"
NO_ROOT = lambda x, t: x**2 + t, np.ones(1), 1.0


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda m: root(*NO_ROOT, solver=m.root), ConvergenceError,
     r"residual is \S+, the tolerance .* The solver said: The iteration is not"),
    (lambda m: root(*NO_ROOT, solver=partial(m.broyden1, maxiter=5)), ConvergenceError,
     r"The solver said: No convergence\."),
    (lambda m: fixed_point(lambda x, t: t - x, np.ones(1), 1.5, solver=partial(m.fixed_point, method="iteration")),
     ConvergenceError, "fixed_point gave up: Failed to converge"),
    (lambda m: root(lambda x, t: x - t, np.ones(2), T, solver=partial(cut)), InputError,
     r"returned shape \(1,\) where x0 has 2"),
    *[(lambda m, x=x: root(lambda x, t: x - t, np.zeros(2), T, solver=lambda g, x0: np.full(2, x)), ConvergenceError,
       message) for x, message in ((2.0, "residual is 18"), (np.nan, "residual is nan"))],
])  # fmt: skip
def test_what_a_solver_says_is_passed_on_and_wrong_points_are_not_believed(call, error, message):
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    with pytest.raises(error, match=message):
        call(optimize)


# -- ours, by themselves -----------------------------------------------------------------------------------------------


def test_newtons_method_shortens_steps():
    """From far away the full steps of arctan run off to infinity."""
    x, said = newton(np.arctan, np.array([20.0]), (), Solve(), 1e-12, 50)
    assert said == ""
    assert abs(x[0]) < 1e-15


def test_newtons_method_with_products_alone():
    pytest.importorskip("scipy", reason="SciPy is not installed")
    x, said = newton(lambda x: f(x, T), np.ones(2), (), Solve("gmres"), 1e-11, 50)
    assert said == ""
    np.testing.assert_allclose(x, RIGHT, rtol=1e-14)


def test_anderson_needs_fewer_steps_than_the_iteration():
    """x ← A x + b with the radius 0.99: n + 2 steps are enough for n unknowns, the iteration takes two thousand."""
    calls = []
    step = lambda x: (calls.append(1), [0.99, 0.9, 0.5] * x + 1.0)[1]  # noqa: E731
    x, said = anderson(step, np.zeros(3), 1e-11, 100)
    assert said == ""
    np.testing.assert_allclose(x, [100.0, 10.0, 2.0], rtol=1e-9)
    assert len(calls) <= 8
