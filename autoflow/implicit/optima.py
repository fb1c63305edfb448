"""Roots, fixed points and minima, as users call them; how they are differentiated is in ``equations.py``.

Roots and fixed points: where F(x, θ) = 0, and where x = f(x, θ).

``minimize`` is scipy.optimize.minimize with gradients and Hessian products filled in, and for trees of parameters.

Minima as functions of θ: where the gradient is zero; with constraints, the gradient of the Lagrangian.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ..backends.registry import layer_of
from ..base import pytree
from ..base.errors import CompileError, ConvergenceError, InputError, NoRuleError
from ..base.lazy import load_package
from ..base.modes import apart, modes, no_grad, switched
from ..nodes.nodes import AnyFunction, ByName, value_of
from ..table.shapes import Array, as_array, is_on_host
from ..transforms.evaluation import plain_numbers
from ..transforms.gradient import grad, value_and_grad
from ..transforms.jacobian import hessian, jacobian
from ..transforms.vjp_jvp import hvp
from . import equations
from .linear import DENSE, ONE_AT_A_TIME, Layout, Solve, refuse_outside

# ---------------------------------------------------------------- roots and fixed points


def root(
    f: AnyFunction, x0: Any, theta: Any, *, solver: Any = None, linear: Any = "auto", tol: float | None = None,
    maxiter: int = 100,
) -> Any:  # fmt: skip
    """The x with f(x, θ) = 0 that is found from x0; differentiable with respect to θ, whichever solver found it.

    f : of (x, theta), written with NumPy. x is an array, a number or nested containers of them, real, shapes and dtypes
        as in x0; f returns the same number of equations, in the same containers and shapes.
    theta : an array, a number or nested containers. Gradients flow to its floats; everything else in it
        (whole numbers, text, functions) is passed on.
    solver : None is Newton's method with shortened steps. Or a function of scipy.optimize (root, fsolve, newton_krylov,
        also in functools.partial with options), which gets the Jacobian if it takes one. Or your own, solver(F, x0)
        with F(x) = f(x, theta), which returns x like x0.
    linear : how linear systems are solved, in the steps and in the backward pass: "dense" (a matrix), "gmres" (products
        only, by SciPy), a function of (product, b), or "auto": dense up to 500 unknowns.
    tol : the largest residual that is accepted, in units of that at x0 (if it is above 1). By default the square root
        of the dtype's eps, 1.5e-8; Newton's method aims at 4e-11, and in most cases reaches rounding error. One that is
        no smaller than at x0 counts only if a short step of Newton's method leads to a root: F may be small everywhere.
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
    problem, how = equations.Problem(x0, theta, "af.implicit.root"), Solve(linear)
    layout, put = problem.layout, problem.put

    def system(x: Any, values: Any) -> Any:
        return f(x, put(values))

    def residual(x: Array, *values: Array) -> Array:
        return layout.ravel(system(layout.unravel(x), values), "what f of af.implicit.root returns")

    def search(at: Callable[[Array], Array], x: Array, values: Any) -> tuple[Array, str]:
        if solver is None:
            aim = equations.goal(tol, layout.eps) * equations.greatest(at(x))
            return equations.newton(residual, x, values, how, aim, maxiter, flat=False)
        if equations.is_scipys(solver):
            slope = jacobian(lambda x: residual(x, *values))
            return equations.call_scipy(solver, at, x, lambda x: value_of(slope(x)))
        return equations.call_users(solver, lambda x: system(x, values), x, layout)

    return layout.unravel(problem.solve(residual, search, how=how, tol=tol, scale=equations.relative_to_start))


def fixed_point(
    f: AnyFunction, x0: Any, theta: Any, *, solver: Any = None, linear: Any = "auto", tol: float | None = None,
    maxiter: int = 1000,
) -> Any:  # fmt: skip
    """The x with x = f(x, θ) to which iterating from x0 leads; differentiable with respect to θ, whichever solver found
    it.

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
    problem = equations.Problem(x0, theta, "af.implicit.fixed_point")
    layout, put = problem.layout, problem.put

    def mapped(x: Array, *values: Array) -> Array:
        return layout.ravel(f(layout.unravel(x), put(values)), "what f of af.implicit.fixed_point returns")

    def residual(x: Array, *values: Array) -> Array:
        return mapped(x, *values) - x

    def search(_: object, x: Array, values: Any) -> tuple[Array, str]:
        def at(x: Array) -> Array:
            return value_of(mapped(x, *values))

        if solver is None:
            return equations.anderson(at, x, equations.goal(tol, layout.eps), maxiter, further=tol is None)
        if equations.is_scipys(solver):
            return equations.call_scipy(solver, at, x, at)
        return equations.call_users(solver, lambda x: f(x, put(values)), x, layout)

    return layout.unravel(problem.solve(residual, search, how=Solve(linear), tol=tol, scale=equations.relative_to_x))


# ---------------------------------------------------------------- minimize: SciPy's, with derivatives filled in


# What scipy.optimize.minimize gets, by method in lower case; of others and of the user's own all but a matrix.
WITHOUT_SLOPES = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_MATRIX = {"dogleg", "trust-exact"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}


def scipy_optimize() -> ModuleType:
    """The module, imported when it is needed."""
    return load_package(
        "scipy.optimize",
        "af.minimize and af.implicit.argmin search with SciPy, which is not installed: pip install scipy; or give "
        "af.implicit.argmin a solver of your own",
    )


def minimize(
    fun: AnyFunction, x0: Any, args: Any = (), method: Any = None, *, bounds: Any = None, constraints: Any = (),
    tol: float | None = None, callback: Any = None, options: ByName | None = None,
) -> Any:  # fmt: skip
    """scipy.optimize.minimize with derivatives filled in, for parameters in containers. Needs SciPy.

    fun : of (x, *args), written with NumPy; returns one number.
    x0 : an array, a number or nested containers of them, real. Variables are read only, not changed.
    args : further arguments, in a tuple; anything else is the one argument.
    method : SciPy's, or a function as SciPy takes it. Methods that use a gradient get it; "Newton-CG", "trust-ncg",
        "trust-krylov" and "trust-constr" get products with the Hessian; "dogleg" and "trust-exact" get the Hessian.
    bounds : SciPy's, for one array; for containers the same containers with (low, high) for each array, None for no
        bound.
    constraints : SciPy's; in a dict ``fun`` is of (x, *args), and gets its Jacobian.
    tol, callback, options : SciPy's; callback gets x as it is in x0.

    Returns SciPy's result. ``x`` and ``jac`` have the containers, shapes and dtypes of x0. If ``args`` holds nodes with
    a history, ``x`` and ``fun`` are nodes: gradients flow to args by the implicit function theorem, as exact as the
    minimum is (set tol=1e-10, for instance; or use :func:`autoflow.implicit.argmin`, which goes on until rounding
    error).

    Raises NoRuleError for such nodes together with bounds or constraints; ConvergenceError if these gradients are
    needed and SciPy has not found a minimum; LostGradientError if fun uses other nodes.

    >>> import autoflow as af
    >>> def loss(p, x, y):
    ...     return np.sum((p["slope"] * x + p["start"] - y) ** 2)
    >>> result = af.minimize(loss, {"slope": 0.0, "start": 0.0}, (np.arange(3.0), np.array([1.0, 3.0, 5.0])))
    >>> {name: round(float(x), 6) for name, x in result.x.items()}
    {'slope': 2.0, 'start': 1.0}
    """
    problem = equations.Problem(x0, args if isinstance(args, tuple) else (args,), "af.minimize")
    layout, arrays, put = problem.layout, problem.arrays, problem.put
    has_gradient = modes().recording and any([getattr(x, "requires_grad", False) for x in arrays])
    if has_gradient and (bounds is not None or constraints not in ((), [], None)):
        raise NoRuleError(
            "af.minimize: args has nodes that need gradients, and there are bounds or constraints, where the minimum "
            "may be at a corner: use af.implicit.argmin, with equality=h for constraints that are equations"
        )

    for x in (*arrays, problem.start):
        if not is_on_host(x):
            if (layer := layer_of(value_of(x))) is not None:
                layer.doubt("af.minimize, which returns an object of SciPy (af.implicit.argmin does not),")
            raise CompileError("af.minimize returns an object of SciPy's: in af.compile use af.implicit.argmin")

    def objective(x: Array, *values: Array) -> Array:
        return fun(layout.unravel(x), *put(values))

    def at_numbers(x: Array) -> Array:
        return objective(x, *plain)

    plain, start = [value_of(x) for x in arrays], problem.start
    with apart(), switched(**ONE_AT_A_TIME):
        refuse_outside(at_numbers(start), "the function of af.minimize")
        result = run_scipy(
            at_numbers, start, method, bounds=spread_bounds(bounds, layout), tol=tol, options=options,
            constraints=with_slopes(constraints, layout, lambda: put(plain), method),
            callback=None if callback is None else on_trees(callback, layout),
        )  # fmt: skip
        x = np.array(result.x, layout.dtype)
        refuse_outside(at_numbers(x), "the function of af.minimize")
    if has_gradient:
        x = as_solution(problem, objective, x, result)
        result.fun = objective(x, *arrays)
    result.x = layout.unravel(x)
    if "jac" in result and np.shape(result.jac) == (layout.size,):
        result.jac = layout.unravel(np.asarray(result.jac, layout.dtype))
    return result


def as_solution(problem: equations.Problem, objective: AnyFunction, x: Array, result: Any) -> Array:
    """The minimum as a node. A success in SciPy's sense may be less accurate than an equation would need."""
    slope = grad(objective)
    tol = np.inf if result.success else None
    answer = x, equations.as_sentence(result.message)
    return problem.solve(slope, lambda *_: answer, how=Solve(), tol=tol, scale=equations.relative_to_start)


def run_scipy(fun: Callable[[Array], Any], x0: Array, method: object, **options: object) -> Any:
    """scipy.optimize.minimize for a function of a plain vector, with the derivatives that the method takes.

    SciPy computes in float64; the function gets x in the dtype of x0.
    """
    options = {name: v for name, v in options.items() if v is not None and (type(v) not in (tuple, list) or v)}
    kind = method.lower() if isinstance(method, str) else ""
    both = value_and_grad(fun)

    def value_and_slope(x: Array, *_: object) -> tuple[float, Array]:
        z, g = both(x.astype(x0.dtype))
        return float(value_of(z)), value_of(g).astype(np.float64)

    more: dict[str, Any] = {}
    if kind not in WITHOUT_SLOPES:
        more["jac"] = True
    if kind in WITH_PRODUCTS or callable(method):
        more["hessp"] = on_doubles(lambda x, v: hvp(fun, x, v, allow_unused=True), x0.dtype, 2)
    elif kind in WITH_MATRIX:
        more["hess"] = on_doubles(hessian(fun, allow_unused=True), x0.dtype)
    objective = value_and_slope if more else lambda x, *_: float(value_of(fun(x.astype(x0.dtype))))
    return scipy_optimize().minimize(objective, np.array(x0, np.float64), method=method, **more, **options)


def on_doubles(f: Callable[..., Array], dtype: Any, n: int = 1) -> Callable[..., Array]:
    """``f`` of n vectors of this dtype for SciPy, which computes in float64 and may give more arguments."""
    return lambda *xs: np.asarray(value_of(f(*[x.astype(dtype) for x in xs[:n]])), np.float64)


def with_slopes(constraints: object, layout: Layout, rest: Callable[[], Any], method: object) -> Any:
    """SciPy's dicts for vectors, with their derivatives; other kinds are for one array, and stay as they are."""
    if isinstance(constraints, dict):
        constraints = [constraints]
    if not isinstance(constraints, (list, tuple)):
        return constraints

    def on_vectors(constraint: dict[str, Any]) -> Any:
        function, own = constraint["fun"], constraint.get("args")

        def h(x: Array) -> Array:
            return np.reshape(as_array(function(layout.unravel(x), *(rest() if own is None else own))), -1)

        return as_constraint(h, layout.dtype, constraint["type"], method)

    return [on_vectors(c) if isinstance(c, dict) else c for c in constraints]


def as_constraint(h: Callable[[Array], Array], dtype: Any, kind: str, method: object) -> Any:
    """h(x) = 0 ("eq") or h(x) ≥ 0 ("ineq") for SciPy: with the Jacobian, and for "trust-constr" with second derivatives
    (which it would estimate, and warn if they are zero)."""
    fun, jac = on_doubles(h, dtype), on_doubles(jacobian(h, allow_unused=True), dtype)
    if isinstance(method, str) and method.lower() == "trust-constr":
        hess = on_doubles(lambda x, v: hessian(lambda x: np.sum(v * h(x)), allow_unused=True)(x), dtype, 2)
        return scipy_optimize().NonlinearConstraint(fun, 0.0, 0.0 if kind == "eq" else np.inf, jac, hess)
    return {"type": kind, "fun": fun, "jac": jac}


def spread_bounds(bounds: object, layout: Layout) -> Any:
    """Bounds of arrays in containers as SciPy's list of pairs, one for each number."""
    if bounds is None or not pytree.is_container(layout.containers):
        return bounds
    pairs: list[tuple[Any, Any]] = []
    for place, leaf in zip(leaves_below(bounds, layout.containers), layout.shapes, strict=True):
        low, high = (None, None) if place is None else place
        ends = [np.broadcast_to(np.nan if v is None else np.asarray(v, float), leaf).ravel() for v in (low, high)]
        pairs += [(None if np.isnan(a) else a, None if np.isnan(b) else b) for a, b in zip(*ends, strict=True)]
    return pairs


def leaves_below(tree: object, like: object) -> list[Any]:
    """The parts of ``tree`` at the places of the leaves of ``like``. Raises InputError if it has other containers."""
    if not pytree.is_container(like):
        return [tree]
    mine, theirs = pytree.children(tree) if pytree.is_container(tree) else [], pytree.children(like)
    if [step for step, _ in mine] != [step for step, _ in theirs]:
        raise InputError(
            f"bounds have the parts {[step for step, _ in mine]} where x0 has {[step for step, _ in theirs]}: give the "
            f"same containers, with (low, high) or None for each array"
        )
    return [leaf for (_, a), (_, b) in zip(mine, theirs, strict=True) for leaf in leaves_below(a, b)]


def on_trees(callback: AnyFunction, layout: Layout) -> AnyFunction:
    """The callback with x in its containers; SciPy looks at the name of its argument."""
    if list(inspect.signature(callback).parameters) == ["intermediate_result"]:

        def called(intermediate_result: Any) -> Any:
            intermediate_result.x = layout.unravel(np.asarray(intermediate_result.x, layout.dtype))
            return callback(intermediate_result=intermediate_result)

        return called
    return lambda xk, *rest: callback(layout.unravel(np.asarray(xk, layout.dtype)), *rest)


# ---------------------------------------------------------------- argmin: minima as functions of θ


# Options of scipy.optimize.minimize that make it continue, where that is not "gtol"; methods without such an option.
PRECISE: dict[Any, tuple[str, ...]] = {"L-BFGS-B": ("gtol", "ftol"), "SLSQP": ("ftol",), "Newton-CG": ("xtol",)}
OTHERS = {"Nelder-Mead", "Powell", "COBYLA", "COBYQA", "TNC"}


def argmin(
    f: AnyFunction, x0: object, theta: object, *, equality: AnyFunction | None = None, solver: Any = None,
    linear: object = "auto", tol: float | None = None, maxiter: int = 1000,
) -> Any:  # fmt: skip
    """The x near x0 that minimises f(x, θ); differentiable with respect to θ, whichever solver found it.

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
    problem, how = equations.Problem(x0, theta, "af.implicit.argmin"), Solve(linear)
    layout, put, n = problem.layout, problem.put, problem.layout.size

    def objective(x: Array, *values: Array) -> Array:
        return as_array(f(layout.unravel(x), put(values)))

    def constraint(x: Array, *values: Array) -> Array:
        h: Any = equality
        return np.reshape(as_array(h(layout.unravel(x), put(values))), -1).astype(layout.dtype)

    def lagrangian(y: Array, *values: Array) -> Array:
        if equality is None:
            return objective(y, *values)
        return objective(y[:n], *values) + np.sum(y[n:] * constraint(y[:n], *values))

    slope = grad(lagrangian)

    def search(at: Callable[[Array], Array], y: Array, values: Any) -> tuple[Array, str]:
        def value(x: Array) -> Array:
            return objective(x, *values)

        h = None if equality is None else lambda x: constraint(x, *values)
        if solver is not None and not equations.is_scipys(solver):
            rest = () if equality is None else (lambda x: equality(x, put(values)),)
            x, message = equations.call_users(solver, lambda x: f(x, put(values)), y[:n], layout, *rest)
            return with_multipliers(x, value, h), message
        aim = equations.goal(tol, layout.eps) * equations.greatest(at(y))
        x, message = search_by_scipy(solver, value, h, y[:n], aim, maxiter)
        y = with_multipliers(x, value, h)
        y, note = equations.newton(slope, y, values, how, aim, 20)
        return y, f"{message} {note}".strip()

    def search_minimum(at: Callable[[Array], Array], y: Array, values: Any) -> tuple[Array, str]:
        y, message = search(at, y, values)
        if how.is_dense(y.size):
            check_curvature(value_of(jacobian(slope, allow_unused=True)(y, *values)), n)
        return y, message

    start = problem.start
    if equality is not None:
        with no_grad():
            m = np.size(constraint(start, *[plain_numbers(x) for x in problem.arrays]))
        if m > n:
            raise InputError(f"af.implicit.argmin has {m} constraints for {n} unknowns: nothing is left to minimise")
        start = np.concatenate([start, np.zeros(m, layout.dtype)])
    y = problem.solve(slope, search_minimum, how=how, tol=tol, scale=equations.relative_to_start, start=start)
    return layout.unravel(y if equality is None else y[:n])


def search_by_scipy(
    solver: object, value: Callable[[Array], Any], h: Any, x: Array, aim: float, maxiter: int
) -> tuple[Array, str]:  # fmt: skip
    """A minimum found by scipy.optimize. Its accuracy is judged by the gradient, not by the message."""
    if solver is not None and equations.original(solver) is not scipy_optimize().minimize:
        return equations.call_scipy(solver, lambda x: value_of(value(x)), x, lambda x: x)
    options = getattr(solver, "keywords", {})  # of functools.partial
    method = options.get("method", "SLSQP" if h is not None else "BFGS" if x.size <= DENSE else "L-BFGS-B")
    more: dict[str, Any] = {}
    if "options" not in options and "tol" not in options:
        precise = PRECISE.get(method, ("gtol",) if method not in OTHERS else ())
        more["options"] = {**dict.fromkeys(precise, aim), "maxfun" if method == "TNC" else "maxiter": maxiter}
    if h is not None and "constraints" not in options:
        more["constraints"] = as_constraint(h, x.dtype, "eq", method)
    fixed = {name: v for name, v in options.items() if name != "method"}
    result = run_scipy(value, x, method, **{**fixed, **more})
    return np.asarray(result.x).astype(x.dtype), equations.as_sentence(result.message)


def with_multipliers(x: Array, value: Callable[[Array], Any], h: Any) -> Array:
    """(x, λ), with the λ that minimises ∇f + ∇h λ; x itself without constraints."""
    if h is None:
        return x
    slopes = value_of(jacobian(h, allow_unused=True)(x))
    down = value_of(grad(value, allow_unused=True)(x))
    return np.concatenate([x, -np.linalg.lstsq(slopes.T, down)[0]])


def check_curvature(matrix: Array, n: int) -> None:
    """Raise ConvergenceError at a maximum or saddle point, where the gradient is zero as well.

    matrix : the derivatives of the gradient with respect to the n unknowns, then the slopes of the constraints; only
        directions along these count.
    """
    h, slopes = matrix[:n, :n], matrix[n:, :n]
    if len(slopes):
        _, s, v = np.linalg.svd(slopes)
        free = v[np.sum(s > s[0] * np.finfo(s.dtype).eps * n) :]
        h = free @ h @ free.T
    if not h.size or not np.isfinite(h).all():
        return  # values that are not finite are found elsewhere
    curvatures = np.linalg.eigvalsh((h + h.T) / 2)
    if curvatures[0] < -(np.finfo(h.dtype).eps ** 0.5) * np.abs(curvatures).max():
        raise ConvergenceError(
            f"af.implicit.argmin found a point that is not a minimum: the gradient is zero, but in one direction f "
            f"has the curvature {curvatures[0]:.3g}. Begin elsewhere; for a maximum give −f, for any such point use "
            f"af.implicit.root with af.grad(f)."
        )
