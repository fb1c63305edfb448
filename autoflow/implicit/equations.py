"""The implicit function theorem: how the solution of F(x, θ) = 0 changes with θ. And solvers that find it.

F stays 0 when θ changes, so ∂F/∂x dx + ∂F/∂θ dθ = 0. What comes back to θ, given g = dL/dx, is therefore −(∂F/∂θ)ᵀ u
with (∂F/∂x)ᵀ u = g: one linear system and one vjp, both at the solution. How it was found does not matter, and nothing
of the search is kept. Both consist of operations that have derivatives, and their x is again the solution, so all
higher derivatives follow in the same way. Source: U. Dini, "Lezioni di analisi infinitesimale", 1878.

The solvers, of F(x) = 0 and of x = f(x), work on plain vectors: ours, SciPy's, and those that users bring.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..base import pytree
from ..base.errors import ConvergenceError, InputError
from ..base.modes import no_grad, switched
from ..nodes.nodes import AnyFunction, Array, NodeRole, gradient_target, value_of
from ..transforms.evaluation import plain_numbers
from ..transforms.jacobian import jacobian
from ..transforms.vjp_jvp import linearize
from . import linear

# ---------------------------------------------------------------- equations: the solution and its derivative


@dataclass(frozen=True)
class Equation:
    """F(x, θ) = 0 in vectors.

    name : of the public function, for messages.
    residual : F, of (x, *arrays): vectors (n,) in and out.
    search : of (F at fixed arrays, x0, arrays), all of them plain: the solution, and the solver's message.
    tol : the largest residual that is accepted. Our own solvers aim lower.
    scale : of (the residual at x0, x): the unit of tol.
    """

    name: str
    residual: Callable[..., Array]
    search: Callable[..., tuple[Array, str]]
    how: linear.Solve
    tol: float
    scale: Callable[[Array, Array], float]

    def find(self, x0: Array, *arrays: Array) -> Array:
        """The solution for plain arrays. Raises ConvergenceError if the solver did not come near one."""
        with switched(**linear.ONE_AT_A_TIME):

            def f(x: Array) -> Array:
                z = self.residual(x, *arrays)
                linear.refuse_outside(z, f"the function of {self.name}")
                return value_of(z)

            start = f(x0)
            x, message = self.search(f, x0, arrays)
            self.check(f(x), start, x, message, arrays)
            return np.array(x)  # not x0 itself, which is another operand

    def send_back(self, g: Array, x: Array, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """None for x0, and the gradients of the arrays, given that of the solution x."""
        u = linear.solve_transposed(self.residual, x, arrays, g, self.how, f"the derivative of {self.name}")
        return (None, *linear.send_to_parameters(functools.partial(self.residual, x), arrays, u))

    def check(self, end: Array, start: Array, x: Array, said: str, arrays: Sequence[Array]) -> None:
        """Is it a solution?"""
        off, bound, fallen = greatest(end), self.tol * self.scale(start, x), self.tol * greatest(start)
        if fallen < off <= bound and self.scale is relative_to_start and not self.has_root_near(x, end, arrays):
            bound = fallen  # F is small everywhere
        if off <= bound:
            return
        said = f" The solver said: {said}" if said else ""
        raise ConvergenceError(
            f"{self.name} did not converge: the largest residual is {off:.3g}, the tolerance {bound:.3g} (at the start "
            f"it was {greatest(start):.3g}).{said} Begin nearer to a solution, allow more steps (maxiter), give another"
            f" solver, or accept this x with a larger tol: derivatives are as exact as the solution."
        )

    def has_root_near(self, x: Array, end: Array, arrays: Sequence[Array]) -> bool:
        """Would a short step of Newton's method lead from x to a solution? The residual ``end`` at x is small, but so
        was the one at the start: either x0 was a solution, or F is small everywhere, in units of farads, say."""
        residual = self.residual
        _, push = linearize(lambda x: residual(x, *arrays), x, allow_unused=True)
        try:
            d = step_solver(residual, x, arrays, self.how, True)(end)
        except ConvergenceError:  # of the linear system
            return False
        rest = greatest(end - value_of(push(d)))
        return rest <= greatest(end) / 10 and greatest(d) <= self.tol**0.5 * max(1.0, greatest(x))


def greatest(x: Array) -> float:
    """The largest absolute value; NaN if there is one."""
    return float(np.max(np.abs(x)))


def relative_to_start(start: Array, x: Array) -> float:
    """The default unit of a residual: its size at the start, but at least 1."""
    return max(1.0, greatest(start)) if np.isfinite(start).all() else 1.0


def relative_to_x(start: Array, x: Array) -> float:
    """The unit if a residual is a difference of two x: the size of x, or of the first step, if that led to zero."""
    return max(greatest(start), greatest(x)) if np.isfinite(start).all() else greatest(x)


class Problem:
    """The common input of all functions in this room: the unknowns as a vector, θ as a list of arrays, where to start.

    x0 : where the search begins, a tree of real numbers; it receives no gradient.
    theta : a tree; gradients flow to its floats.
    """

    def __init__(self, x0: object, theta: object, name: str) -> None:
        self.name = name
        self.arrays, self.put = linear.taken_apart(theta)
        self.layout = linear.Layout(x0, "x0", linear.weak_dtype(self.arrays))
        with no_grad():
            self.start = plain_numbers(self.layout.ravel(x0, "x0")).copy()  # it may be the array of a node in θ

    def solve(
        self, residual: Callable[..., Array], search: Callable[..., tuple[Array, str]], *, how: linear.Solve,
        tol: float | None, scale: Callable[[Array, Array], float], start: Array | None = None,
    ) -> Array:  # fmt: skip
        """The solution as a vector: a node if there are nodes in θ."""
        tol = self.layout.eps**0.5 if tol is None else tol
        equation = Equation(self.name, residual, search, how, tol, scale)
        start = self.start if start is None else start
        z = linear.Solution.apply(start, *self.arrays, system=equation)
        return z if any([isinstance(x, NodeRole) for x in self.arrays]) else value_of(z)


# ---------------------------------------------------------------- solvers: ours, SciPy's, the user's


HALVINGS = 20  # of a step that makes the residual larger


def goal(tol: float | None, eps: float) -> float:
    """The accuracy required of our own solvers: the caller's tolerance, or eps to the power of 2/3 (4e-11 in
    float64)."""
    return eps ** (2 / 3) if tol is None else tol


def newton(
    residual: Callable[..., Array], x: Array, arrays: Any, how: linear.Solve, aim: float, maxiter: int,
    flat: bool = True,
) -> tuple[Array, str]:  # fmt: skip
    """Newton's method: x ← x − t d with ∂F/∂x d = F; t is halved while the residual would not become smaller.

    flat : may F be the same for all x? If not, that is a LostGradientError: F has left the graph.

    Below ``aim`` it makes up to three more steps while they help: derivatives are as exact as x.
    """

    def f(x: Array) -> Array:
        return value_of(residual(x, *arrays))

    value, small, solve = f(x), 4 * float(np.finfo(x.dtype).eps), None
    below = 0  # steps that began below aim
    for step in range(maxiter):
        size, length = greatest(value), float(np.linalg.norm(value))
        if not np.isfinite(size):
            return x, f"After {step} steps of Newton's method the residual is not finite."
        below += size <= aim
        if not size or below > 3:
            break
        is_new = solve is None
        try:
            solve = solve or step_solver(residual, x, arrays, how, flat)
            d = solve(value)
        except ConvergenceError as error:  # of the linear system
            return x, str(error) if size > aim else ""
        moved, new = shortened_step(f, x, d, length, HALVINGS if is_new and size > aim else 1)
        if moved is not None:
            x, value = moved, new
        elif size <= aim:
            break
        elif is_new:
            return x, f"After {step} steps of Newton's method no step makes the residual smaller."
        if greatest(d) <= small * greatest(x):
            break
        if moved is None or np.linalg.norm(new) > 0.1 * length:
            solve = None  # near the solution the last matrix is good for some steps: a tenth of the cost of a new one
    else:
        return x, f"Newton's method has made {maxiter} steps."
    return x, ""


def step_solver(
    residual: Callable[..., Array], x: Array, arrays: Any, how: linear.Solve, flat: bool
) -> Callable[[Array], Array]:  # fmt: skip
    """The function that takes F to d with ∂F/∂x d = F; if the matrix is singular, to the shortest of the best d."""
    if not how.is_dense(x.size):
        _, push = linearize(lambda x: residual(x, *arrays), x, allow_unused=flat)
        return lambda b: linear.solve_by_products(lambda v: value_of(push(v)), b, how, "a step of Newton's method")
    a = value_of(jacobian(residual, allow_unused=flat)(x, *arrays))

    def solve(value: Array) -> Array:
        try:
            d = np.linalg.solve(a, value)
            if np.isfinite(d).all():
                return d
        except np.linalg.LinAlgError:
            pass
        return np.linalg.lstsq(a, value)[0] if np.isfinite(a).all() else value

    return solve


def shortened_step(f: Callable[[Array], Array], x: Array, d: Array, size: float, tries: int) -> tuple[Any, Any]:
    """x − t d and F there for the largest t of 1, 1/2, 1/4 ... with a smaller residual; None if no such t exists."""
    t = 1.0
    for _ in range(tries):
        moved = x - x.dtype.type(t) * d
        with np.errstate(all="ignore"):
            new = f(moved)
            if np.linalg.norm(new) < size:  # false for NaN
                return moved, new
        t /= 2
    return None, None


def anderson(
    f: Callable[[Array], Array], x: Array, aim: float, maxiter: int, further: bool = True, memory: int = 10
) -> tuple[Array, str]:
    """x = f(x) by iteration: x ← f(x), minus the part of f(x) − x that the last steps can explain.

    further : go on below ``aim`` as long as each step halves f(x) − x: derivatives are as exact as x.

    Source: D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965; as H. F. Walker and P. Ni
    write it, 2011.
    """
    points: list[Array] = []
    differences: list[Array] = []
    best, least, unit, eps = x, np.inf, 0.0, float(np.finfo(x.dtype).eps)
    for step in range(maxiter):
        value = f(x)
        r = value - x
        size = greatest(r)
        if not np.isfinite(size):
            return best, f"After {step} steps of the iteration x is not finite."
        unit = unit or size  # that of the first step
        within = max(unit, greatest(x))
        if size <= aim * within and (not further or size > least / 2 or size <= eps * within):
            return (x, "") if size < least else (best, "")
        if size < least:
            best, least = x, size
        points, differences = [*points[-memory:], value], [*differences[-memory:], r]
        if len(points) > 1:
            rises = np.stack([b - a for a, b in pairwise(differences)], axis=1)
            moves = np.stack([b - a for a, b in pairwise(points)], axis=1)
            value = value - moves @ np.linalg.lstsq(rises, r)[0]
        x = value
    return best, f"The iteration has made {maxiter} steps."  # these may be enough: the caller looks


# -- solvers that users bring


def is_scipys(solver: object) -> bool:
    """Is it a SciPy function, perhaps with some arguments fixed by functools.partial?"""
    return (getattr(original(solver), "__module__", None) or "").partition(".")[0] == "scipy"


def original(solver: Any) -> AnyFunction:
    """The function under functools.partial."""
    return solver.func if isinstance(solver, functools.partial) else solver  # Python makes one of several


# SciPy's functions that take a Jacobian: its keyword, the methods that use it (None: no choice), and options that make
# it continue: we want a solution to rounding, and check ourselves whether it is one.
WITH_JACOBIAN: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "fsolve": ("fprime", (None,), {"xtol": 1e-12, "full_output": True}),
    "root": ("jac", (None, "hybr", "lm"), {"tol": 1e-12}),
    **dict.fromkeys(
        ("anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing", "linearmixing", "newton_krylov"),
        ("", (), {"f_tol": 1e-9}),
    ),
    "least_squares": ("jac", (None, "trf", "dogbox", "lm"), {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}),
}


def call_scipy(
    solver: Any, f: Callable[[Array], Array], x0: Array, slope: Callable[[Array], Array]
) -> tuple[Array, str]:  # fmt: skip
    """A function of scipy.optimize for systems of equations: with the Jacobian, if it takes one."""
    options = getattr(solver, "keywords", {})  # of functools.partial
    word, methods, more = WITH_JACOBIAN.get(getattr(original(solver), "__name__", ""), ("", (), {}))
    more = {name: v for name, v in more.items() if name not in options}
    if options.get("method") in methods and word not in options:
        more[word] = lambda x, *_: slope(x.astype(x0.dtype))
    try:
        answer = solver(lambda x, *_: f(x.astype(x0.dtype)), np.array(x0, float), **more)
    except Exception as error:
        if type(error).__name__ == "NoConvergence":  # SciPy's, with the last x
            return read_answer(error.args[0], x0)[0], "No convergence."
        if type(error) is RuntimeError:
            raise ConvergenceError(f"{getattr(original(solver), '__name__', 'the solver')} gave up: {error}") from error
        raise
    return read_answer(answer, x0)


def call_users(solver: Any, f: Callable[[Any], Any], x0: Array, layout: linear.Layout, *more: Any) -> tuple[Array, str]:
    """A user's solver, for functions of x in its original containers."""
    answer = solver(as_numbers(f), layout.unravel(x0), *more)
    solution = answer.x if hasattr(answer, "x") and hasattr(answer, "success") else answer
    message = as_sentence(getattr(answer, "message", ""))
    return np.array(value_of(layout.ravel(solution, "what the solver returned"))), message


def as_numbers(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``f`` for a solver that may differentiate it: it returns plain arrays unless they have a history."""

    @functools.wraps(f)
    def call(x: object) -> Any:
        return pytree.tree_map(lambda z: z if gradient_target(z) is not None else value_of(z), f(x))

    return call


def as_sentence(message: object) -> str:
    """A solver's message, with a full stop."""
    text = message if isinstance(message, str) else ""
    return text if text.endswith((".", "!")) or not text else f"{text}."


def read_answer(answer: object, x0: Array) -> tuple[Array, str]:
    """x and the message of what SciPy's functions return: an object, an array, or a tuple that begins with it."""
    message = as_sentence(getattr(answer, "message", ""))
    if isinstance(answer, tuple) and not hasattr(answer, "x"):
        message, answer = as_sentence(answer[-1]), answer[0]
    x = np.asarray(getattr(answer, "x", answer))
    if x.size != x0.size:
        raise InputError(f"the solver returned shape {x.shape} where x0 has {x0.size} elements")
    return x.reshape(x0.shape).astype(x0.dtype), message
