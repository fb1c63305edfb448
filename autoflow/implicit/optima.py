"""Minima: where the gradient is zero; with constraints, where that of the Lagrangian is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ConvergenceError, InputError
from ..integrate.problems import stack_if_list
from ..modes import no_grad
from ..nodes.nodes import value_of
from ..transforms.evaluation import numbers_of
from ..transforms.gradient import grad
from ..transforms.jacobian import jacobian
from .equations import Problem, greatest, relative_to_start
from .linear import DENSE, How
from .minimizer import as_constraint, run_scipy, scipy_optimize
from .solvers import as_sentence, call_scipy, call_users, given_options, goal, is_scipys, newton, original

Array = Any
# Options of scipy.optimize.minimize that make it go on, for methods where "gtol" is not the word; those without one.
PRECISE: dict[Any, tuple[str, ...]] = {"L-BFGS-B": ("gtol", "ftol"), "SLSQP": ("ftol",), "Newton-CG": ("xtol",)}
OTHERS = {"Nelder-Mead", "Powell", "COBYLA", "COBYQA", "TNC"}


def argmin(
    f: Callable[..., Any], x0: Any, theta: Any, *, equality: Callable[..., Any] | None = None, solver: Any = None,
    linear: Any = "auto", tol: float | None = None, maxiter: int = 1000,
) -> Any:  # fmt: skip
    """The x near x0 that minimises f(x, θ); differentiable by θ, whichever solver found it.

    f : of (x, theta), smooth, written with NumPy; returns one number. x, theta and linear are as in :func:`root`; the
        matrix of the linear systems is the Hessian of f, so "cg" is possible, too.
    equality : h of (x, theta), an array: x must satisfy h(x, θ) = 0. Its gradients must be independent at the minimum.
    solver : None is scipy.optimize.minimize (BFGS, L-BFGS-B for many unknowns, SLSQP with ``equality``), then some
        steps of Newton's method. Or a function of scipy.optimize (``functools.partial(minimize, method="Newton-CG")``),
        which gets gradients, Hessian products and the constraint, and the same steps after it. Or your own, solver(F,
        x0) or solver(F, x0, H), with F(x) = f(x, theta), H(x) = h(x, theta), which returns x like x0.
    tol : the largest element of the gradient (with ``equality``: of that of f + λ h, and of h) that is accepted, in
        units of what it is at x0 if that is above 1; by default 1.5e-8.
    maxiter : steps of SciPy's solver.

    The gradient stays 0 when θ changes, so dx = −H⁻¹ ∂²f/∂x∂θ dθ with the Hessian H; with ``equality`` the matrix is
    that of W. Karush (1939), H. W. Kuhn and A. W. Tucker (1951), and the multipliers λ are unknowns like x.

    Raises the errors of :func:`root`, and ImportError where SciPy would be needed.

    >>> import autoflow as af
    >>> theta = af.Variable([1.0, 4.0])
    >>> x = argmin(lambda x, theta: np.sum(theta * x**2), [1.0, 1.0], theta, equality=lambda x, theta: np.sum(x) - 1)
    >>> x.value.round(6)
    array([0.8, 0.2])
    >>> x[0].backward()  # x₀ = θ₁ / (θ₀ + θ₁)
    >>> theta.grad.round(6)
    array([-0.16,  0.04])
    """
    problem, how = Problem(x0, theta, "af.implicit.argmin"), How(linear)
    layout, put, n = problem.layout, problem.put, problem.layout.size

    def objective(x: Array, *values: Array) -> Any:
        return stack_if_list(f(layout.unravel(x), put(values)))

    def constraint(x: Array, *values: Array) -> Array:
        h: Any = equality
        return np.reshape(stack_if_list(h(layout.unravel(x), put(values))), -1).astype(layout.dtype)

    def lagrangian(y: Array, *values: Array) -> Any:
        if equality is None:
            return objective(y, *values)
        return objective(y[:n], *values) + np.sum(y[n:] * constraint(y[:n], *values))

    slope = grad(lagrangian)

    def search(at: Callable[[Array], Array], y: Array, values: Any) -> tuple[Array, str]:
        def value(x: Array) -> Any:
            return objective(x, *values)

        def bound(x: Array) -> Array:
            return constraint(x, *values)

        h = None if equality is None else bound
        if solver is not None and not is_scipys(solver):
            rest = () if equality is None else (lambda x: equality(x, put(values)),)
            x, said = call_users(solver, lambda x: f(x, put(values)), y[:n], layout, *rest)
            return with_multipliers(x, value, h), said
        aim = goal(tol, layout.eps) * greatest(at(y))
        x, said = search_by_scipy(solver, value, h, y[:n], aim, maxiter)
        y = with_multipliers(x, value, h)
        y, note = newton(slope, y, values, how, aim, 20)
        return y, f"{said} {note}".strip()

    def search_minimum(at: Callable[[Array], Array], y: Array, values: Any) -> tuple[Array, str]:
        y, said = search(at, y, values)
        if how.is_dense(y.size):
            check_curvature(value_of(jacobian(slope, allow_unused=True)(y, *values)), n)
        return y, said

    start = problem.start
    if equality is not None:
        with no_grad():
            m = np.size(constraint(start, *[numbers_of(x) for x in problem.arrays]))
        if m > n:
            raise InputError(f"af.implicit.argmin has {m} constraints for {n} unknowns: nothing is left to choose")
        start = np.concatenate([start, np.zeros(m, layout.dtype)])
    y = problem.solve(slope, search_minimum, how=how, tol=tol, scale=relative_to_start, start=start)
    return layout.unravel(y if equality is None else y[:n])


def search_by_scipy(
    solver: Any, value: Callable[[Array], Any], h: Any, x: Array, aim: float, maxiter: int
) -> tuple[Array, str]:  # fmt: skip
    """A minimum by a function of scipy.optimize. How near it came is seen from the gradient, not from what it says."""
    if solver is not None and original(solver) is not scipy_optimize().minimize:
        return call_scipy(solver, lambda x: value_of(value(x)), x, lambda x: x)
    options = given_options(solver)
    method = options.get("method", "SLSQP" if h is not None else "BFGS" if x.size <= DENSE else "L-BFGS-B")
    more: dict[str, Any] = {}
    if "options" not in options and "tol" not in options:
        precise = PRECISE.get(method, ("gtol",) if method not in OTHERS else ())
        more["options"] = {**dict.fromkeys(precise, aim), "maxfun" if method == "TNC" else "maxiter": maxiter}
    if h is not None and "constraints" not in options:
        more["constraints"] = as_constraint(h, x.dtype, "eq", method)
    solver = solver if solver is not None else scipy_optimize().minimize
    fixed = {name: v for name, v in options.items() if name != "method"}
    found = run_scipy(value, x, method, **{**fixed, **more})
    return np.asarray(found.x).astype(x.dtype), as_sentence(found.message)


def with_multipliers(x: Array, value: Callable[[Array], Any], h: Any) -> Array:
    """(x, λ), with the λ for which ∇f + ∇h λ is smallest; x itself without constraints."""
    if h is None:
        return x
    slopes = value_of(jacobian(h, allow_unused=True)(x))
    down = value_of(grad(value, allow_unused=True)(x))
    return np.concatenate([x, -np.linalg.lstsq(slopes.T, down)[0]])


def check_curvature(matrix: Array, n: int) -> None:
    """Raise ConvergenceError at a maximum or saddle point, where the gradient is zero as well.

    matrix : the derivatives of the gradient, first those by the n unknowns; what follows are constraints, and only the
        directions along these count.
    """
    h, slopes = matrix[:n, :n], matrix[n:, :n]
    if len(slopes):
        _, s, v = np.linalg.svd(slopes)
        free = v[np.sum(s > s[0] * np.finfo(s.dtype).eps * n) :]
        h = free @ h @ free.T
    if not h.size or not np.isfinite(h).all():
        return  # what is not finite is found elsewhere
    curvatures = np.linalg.eigvalsh((h + h.T) / 2)
    if curvatures[0] < -(np.finfo(h.dtype).eps ** 0.5) * np.abs(curvatures).max():
        raise ConvergenceError(
            f"af.implicit.argmin found a point that is not a minimum: the gradient is zero, but in one direction f "
            f"has the curvature {curvatures[0]:.3g}. Begin elsewhere; for a maximum give −f, for any such point use "
            f"af.implicit.root with af.grad(f)."
        )
