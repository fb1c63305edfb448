"""scipy.optimize.minimize with gradients, Hessian products and trees of parameters filled in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import pytree
from ..errors import BatchError, CompileError, InputError, NoRuleError
from ..integrate.problems import stack_if_list
from ..lazy import load_package
from ..modes import modes, switched
from ..nodes.nodes import value_of
from ..rules.shapes import is_on_host
from ..transforms.gradient import grad, value_and_grad
from ..transforms.jacobian import hessian, jacobian
from ..transforms.vjp_jvp import hvp
from .equations import Problem, relative_to_start
from .linear import ONE_AT_A_TIME, How
from .solvers import as_sentence
from .vectors import Layout, refuse_outside

Array = Any
# What scipy.optimize.minimize gets, by method in lower case; of others and of the user's own all but a matrix.
WITHOUT_SLOPES = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_MATRIX = {"dogleg", "trust-exact"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}


def scipy_optimize() -> Any:
    """The module, imported when it is needed."""
    return load_package(
        "scipy.optimize",
        "af.minimize and af.implicit.argmin search with SciPy, which is not installed: pip install scipy; or give "
        "af.implicit.argmin a solver of your own",
    )


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, *, bounds: Any = None, constraints: Any = (),
    tol: float | None = None, callback: Any = None, options: dict[str, Any] | None = None,
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
    >>> found = af.minimize(loss, {"slope": 0.0, "start": 0.0}, (np.arange(3.0), np.array([1.0, 3.0, 5.0])))
    >>> {name: round(float(x), 6) for name, x in found.x.items()}
    {'slope': 2.0, 'start': 1.0}
    """
    problem = Problem(x0, args if isinstance(args, tuple) else (args,), "af.minimize")
    layout, arrays, put = problem.layout, problem.arrays, problem.put
    wanted = modes().recording and any([getattr(x, "requires_grad", False) for x in arrays])
    if wanted and (bounds is not None or constraints not in ((), [], None)):
        raise NoRuleError(
            "af.minimize: args has nodes that need gradients, and there are bounds or constraints, where the minimum "
            "may be at a corner: use af.implicit.argmin, with equality=h for constraints that are equations"
        )

    for x in (*arrays, problem.start):
        if not is_on_host(x):
            raise (BatchError if hasattr(value_of(x), "batch_layer") else CompileError)(
                "af.minimize returns an object of SciPy, which af.vmap and af.compile cannot handle: use "
                "af.implicit.argmin"
            )

    def objective(x: Array, *values: Array) -> Any:
        return fun(layout.unravel(x), *put(values))

    def at_numbers(x: Array) -> Any:
        return objective(x, *plain)

    plain, start = [value_of(x) for x in arrays], problem.start
    recording = modes().recording
    with switched(**ONE_AT_A_TIME):
        refuse_outside(at_numbers(start), "the function of af.minimize", recording)
        found = run_scipy(
            at_numbers, start, method, bounds=spread_bounds(bounds, layout, x0), tol=tol, options=options,
            constraints=with_slopes(constraints, layout, lambda: put(plain), method),
            callback=None if callback is None else on_trees(callback, layout),
        )  # fmt: skip
    x = np.array(found.x, layout.dtype)
    if wanted:
        x = as_solution(problem, objective, x, found)
        found.fun = objective(x, *arrays)
    found.x = layout.unravel(x)
    if "jac" in found and np.shape(found.jac) == (layout.size,):
        found.jac = layout.unravel(np.asarray(found.jac, layout.dtype))
    return found


def as_solution(problem: Problem, objective: Callable[..., Any], x: Array, found: Any) -> Array:
    """The minimum as a node. What SciPy calls a success need not be as near as an equation would ask for."""
    slope = grad(objective)
    tol = np.inf if found.success else None
    return problem.solve(slope, lambda *_: (x, as_sentence(found.message)), how=How(), tol=tol, scale=relative_to_start)


def run_scipy(fun: Callable[[Array], Any], x0: Array, method: Any, solver: Any = None, **options: Any) -> Any:
    """scipy.optimize.minimize for a function of a vector of plain numbers, with what the method takes.

    SciPy computes in float64; the function gets x in the dtype of x0.
    """
    options = {name: value for name, value in options.items() if value is not None and value not in ((), [])}
    kind = method.lower() if isinstance(method, str) else ""
    dtype, numbers = x0.dtype, np.float64

    def product(x: Array, v: Array, *_: Any) -> Array:
        return hvp(fun, x.astype(dtype), v.astype(dtype), allow_unused=True).astype(numbers)

    def matrix(x: Array, *_: Any) -> Array:
        return value_of(hessian(fun, allow_unused=True)(x.astype(dtype))).astype(numbers)

    both = value_and_grad(fun)

    def value_and_slope(x: Array, *_: Any) -> tuple[float, Array]:
        z, g = both(x.astype(dtype))
        return float(value_of(z)), value_of(g).astype(numbers)

    more: dict[str, Any] = {}
    if kind not in WITHOUT_SLOPES:
        more["jac"] = True
    if kind in WITH_PRODUCTS or callable(method):
        more["hessp"] = product
    elif kind in WITH_MATRIX:
        more["hess"] = matrix
    search = scipy_optimize().minimize if solver is None else solver
    asked = value_and_slope if more else lambda x, *_: float(value_of(fun(x.astype(dtype))))
    return search(asked, np.array(x0, numbers), method=method, **more, **options)


def with_slopes(constraints: Any, layout: Layout, rest: Callable[[], Any], method: Any) -> Any:
    """SciPy's dicts made ones of vectors, with their derivatives; other kinds are for one array, and stay."""
    if isinstance(constraints, dict):
        constraints = [constraints]
    if not isinstance(constraints, (list, tuple)):
        return constraints
    return [on_vectors(c, layout, rest, method) if isinstance(c, dict) else c for c in constraints]


def on_vectors(constraint: dict[str, Any], layout: Layout, rest: Callable[[], Any], method: Any) -> Any:
    """One of them."""
    asked, own = constraint["fun"], constraint.get("args")

    def h(x: Array) -> Array:
        return np.reshape(stack_if_list(asked(layout.unravel(x), *(rest() if own is None else own))), -1)

    return as_constraint(h, layout.dtype, constraint["type"], method)


def as_constraint(h: Callable[[Array], Array], dtype: Any, kind: str, method: Any) -> Any:
    """h(x) = 0 ("eq") or h(x) ≥ 0 ("ineq") for SciPy: with the Jacobian, and for "trust-constr" with second derivatives
    (which it would guess, and say so where they are zero)."""

    def numbers(x: Array) -> Array:
        return np.asarray(value_of(x), np.float64)

    def fun(x: Array, *_: Any) -> Array:
        return numbers(h(x.astype(dtype)))

    def jac(x: Array, *_: Any) -> Array:
        return numbers(jacobian(h, allow_unused=True)(x.astype(dtype)))

    def hess(x: Array, v: Array) -> Array:
        return numbers(hessian(lambda x: np.sum(v.astype(dtype) * h(x)), allow_unused=True)(x.astype(dtype)))

    if isinstance(method, str) and method.lower() == "trust-constr":
        return scipy_optimize().NonlinearConstraint(fun, 0.0, 0.0 if kind == "eq" else np.inf, jac, hess)
    return {"type": kind, "fun": fun, "jac": jac}


def spread_bounds(bounds: Any, layout: Layout, x0: Any) -> Any:
    """Bounds of arrays in containers as SciPy's list of pairs, one for each number."""
    if bounds is None or not pytree.is_container(layout.containers):
        return bounds
    pairs: list[tuple[Any, Any]] = []
    for place, leaf in zip(leaves_below(bounds, layout.containers), layout.shapes, strict=True):
        low, high = (None, None) if place is None else place
        ends = [np.broadcast_to(np.nan if v is None else np.asarray(v, float), leaf).ravel() for v in (low, high)]
        pairs += [(None if np.isnan(a) else a, None if np.isnan(b) else b) for a, b in zip(*ends, strict=True)]
    return pairs


def leaves_below(tree: Any, like: Any) -> list[Any]:
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


def on_trees(callback: Callable[..., Any], layout: Layout) -> Callable[..., Any]:
    """The callback with x in its containers; SciPy looks at the name of its argument."""
    if list(inspect.signature(callback).parameters) == ["intermediate_result"]:

        def called(intermediate_result: Any) -> Any:
            intermediate_result.x = layout.unravel(np.asarray(intermediate_result.x, layout.dtype))
            return callback(intermediate_result=intermediate_result)

        return called
    return lambda xk, *rest: callback(layout.unravel(np.asarray(xk, layout.dtype)), *rest)
