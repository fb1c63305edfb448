"""Roots and fixed points: where F(x, θ) = 0, and where x = f(x, θ)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nodes.nodes import value_of
from ..transforms.jacobian import jacobian
from .equations import Problem, greatest, relative_to_start, relative_to_x
from .linear import How
from .solvers import anderson, call_scipy, call_users, goal, is_scipys, newton

Array = Any


def root(
    f: Callable[..., Any], x0: Any, theta: Any, *, solver: Any = None, linear: Any = "auto", tol: float | None = None,
    maxiter: int = 100,
) -> Any:  # fmt: skip
    """The x with f(x, θ) = 0 that is found from x0; differentiable by θ, whichever solver found it.

    f : of (x, theta), written with NumPy. x is an array, a number or nested containers of them, real, shapes and dtypes
        as in x0; f returns as many equations, in the same containers and shapes.
    theta : an array, a number or nested containers. Gradients flow to its floats; everything else in it
        (whole numbers, text, functions) is passed on.
    solver : None is Newton's method with shortened steps. Or a function of scipy.optimize (root, fsolve, newton_krylov,
        also in functools.partial with options), which gets the Jacobian if it takes one. Or your own, solver(F, x0)
        with F(x) = f(x, theta), which returns x like x0.
    linear : how linear systems are solved, in the steps and in the backward pass: "dense" (a matrix), "gmres" (products
        only, by SciPy), a function of (product, b), or "auto": dense up to 500 unknowns.
    tol : the largest residual that is accepted, in units of that at x0 (if it is above 1). By default the square root
        of the dtype's eps, 1.5e-8; Newton's method aims at 4e-11, and in most cases reaches rounding error.
    maxiter : steps of Newton's method.

    The derivative is −(∂f/∂x)⁻¹ ∂f/∂θ at the solution, to any order: see equations.py. No gradient flows to x0.

    Raises ConvergenceError, which gives the residual; LinAlgError if ∂f/∂x is singular where a derivative is needed;
    InputError for shapes that differ; LostGradientError if f uses nodes that are not in theta.

    >>> import autoflow as af
    >>> theta = af.Variable(2.0)
    >>> x = root(lambda x, theta: x**2 - theta, 1.0, theta)
    >>> x.backward()  # x = √θ
    >>> float(x.round(9)), float(theta.grad.round(9))
    (1.414213562, 0.353553391)
    """
    problem, how = Problem(x0, theta, "af.implicit.root"), How(linear)
    layout, put = problem.layout, problem.put

    def equations(x: Any, values: Any) -> Any:
        return f(x, put(values))

    def residual(x: Array, *values: Array) -> Array:
        return layout.ravel(equations(layout.unravel(x), values), "what f of af.implicit.root returns")

    def search(at: Callable[[Array], Array], x: Array, values: Any) -> tuple[Array, str]:
        if solver is None:
            aim = goal(tol, layout.eps) * greatest(at(x))
            return newton(residual, x, values, how, aim, maxiter, flat=False)
        if is_scipys(solver):
            slope = jacobian(lambda x: residual(x, *values))
            return call_scipy(solver, at, x, lambda x: value_of(slope(x)))
        return call_users(solver, lambda x: equations(x, values), x, layout)

    return layout.unravel(problem.solve(residual, search, how=how, tol=tol, scale=relative_to_start))


def fixed_point(
    f: Callable[..., Any], x0: Any, theta: Any, *, solver: Any = None, linear: Any = "auto", tol: float | None = None,
    maxiter: int = 1000,
) -> Any:  # fmt: skip
    """The x with x = f(x, θ) to which iterating from x0 leads; differentiable by θ, whichever solver found it.

    f, theta, linear : as in :func:`root`; f returns the next x.
    solver : None is Anderson's acceleration of x ← f(x). A function of scipy.optimize for fixed points (fixed_point).
        Or your own, solver(F, x0) with F(x) = f(x, theta).
    tol : how much one more step may change x, in units of its largest element (or of the first step). By default
        1.5e-8; the iteration aims at 4e-11.
    maxiter : steps of the iteration.

    The derivative is (1 − ∂f/∂x)⁻¹ ∂f/∂θ at the fixed point, to any order, and no step of the iteration is kept. Raises
    the errors of :func:`root`.

    >>> import autoflow as af
    >>> theta = af.Variable(2.0)
    >>> x = fixed_point(lambda x, theta: (x + theta / x) / 2, 1.0, theta)  # Heron of Alexandria
    >>> x.backward()
    >>> float(x.round(9)), float(theta.grad.round(9))
    (1.414213562, 0.353553391)
    """
    problem = Problem(x0, theta, "af.implicit.fixed_point")
    layout, put = problem.layout, problem.put

    def mapped(x: Array, *values: Array) -> Array:
        return layout.ravel(f(layout.unravel(x), put(values)), "what f of af.implicit.fixed_point returns")

    def residual(x: Array, *values: Array) -> Array:
        return mapped(x, *values) - x

    def search(_: Any, x: Array, values: Any) -> tuple[Array, str]:
        def at(x: Array) -> Array:
            return value_of(mapped(x, *values))

        if solver is None:
            return anderson(at, x, goal(tol, layout.eps), maxiter, further=tol is None)
        if is_scipys(solver):
            return call_scipy(solver, at, x, at)
        return call_users(solver, lambda x: f(x, put(values)), x, layout)

    return layout.unravel(problem.solve(residual, search, how=How(linear), tol=tol, scale=relative_to_x))
