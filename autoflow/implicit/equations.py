"""The implicit function theorem: how the solution of F(x, θ) = 0 changes with θ.

F stays 0 when θ changes, so ∂F/∂x dx + ∂F/∂θ dθ = 0. What comes back to θ, given g = dL/dx, is therefore −(∂F/∂θ)ᵀ u
with (∂F/∂x)ᵀ u = g: one linear system and one vjp, both at the solution. How it was found does not matter, and nothing
of the search is kept. Both are made of operations that have derivatives, and x in them is the solution again, so the
second derivative (and every other) follows in the same way. Source: U. Dini, "Lezioni di analisi infinitesimale", 1878.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ConvergenceError
from ..extending.function import Function
from ..integrate.problems import taken_apart
from ..modes import modes, no_grad, switched
from ..nodes.nodes import value_of
from ..transforms.evaluation import numbers_of
from .linear import ONE_AT_A_TIME, How, any_node, send_to_parameters, solve_transposed
from .vectors import Layout, call_on_numbers, refuse_outside, weak_dtype

Array = Any


@dataclass(frozen=True)
class Equation:
    """F(x, θ) = 0 in vectors.

    name : of the public function, for messages.
    residual : F, of (x, *arrays): vectors (n,) in and out.
    search : of (F at fixed arrays, x0, arrays), all of them plain: the solution, and what the solver said of it.
    tol : of the largest residual. Solvers of ours aim lower.
    scale : of (the residual at x0, x): in which units that is.
    recording : does the user's code record? Then nodes that F uses beside its arguments are refused.
    """

    name: str
    residual: Callable[..., Array]
    search: Callable[..., tuple[Array, str]]
    how: How
    tol: float
    scale: Callable[[Array, Array], float]
    recording: bool

    def find(self, x0: Array, *arrays: Array) -> Array:
        """The solution for plain arrays. Raises ConvergenceError if the solver did not come near one."""
        with switched(**ONE_AT_A_TIME):
            start = self.residual(x0, *arrays)
            refuse_outside(start, f"the function of {self.name}", self.recording)

            def f(x: Array) -> Array:
                return value_of(self.residual(x, *arrays))

            start = value_of(start)
            x, said = self.search(f, x0, arrays)
            self.check(f(x), start, x, said)
            return np.array(x)  # not x0 itself, which is another operand

    def check(self, end: Array, start: Array, x: Array, said: str) -> None:
        """Is it a solution?"""
        off, bound = greatest(end), self.tol * self.scale(start, x)
        if off <= bound:
            return
        said = f" The solver said: {said}" if said else ""
        raise ConvergenceError(
            f"{self.name} did not converge: the largest residual is {off:.3g}, the tolerance {bound:.3g} (at the start "
            f"it was {greatest(start):.3g}).{said} Begin nearer to a solution, allow more steps (maxiter), give another"
            f" solver, or accept what was found with a larger tol: derivatives are as exact as the solution."
        )


def greatest(x: Array) -> float:
    """The largest absolute value; NaN if there is one."""
    return float(np.max(np.abs(x)))


def relative_to_start(start: Array, x: Array) -> float:
    """The default unit of a residual: its size at the start, but at least 1."""
    return max(1.0, greatest(start)) if np.isfinite(start).all() else 1.0


def relative_to_x(start: Array, x: Array) -> float:
    """The unit where a residual is a difference of two x: that of x, or of the first step, if it led to zero."""
    return max(greatest(start), greatest(x)) if np.isfinite(start).all() else greatest(x)


class Solution(Function):
    """The x with F(x, θ) = 0, and its derivative. ``x0`` is where the search begins; nothing is sent there."""

    @staticmethod
    def forward(ctx: Any, x0: Array, *arrays: Array, equation: Equation) -> Array:
        ctx.equation = equation
        x = call_on_numbers(equation.find, [x0, *arrays], equation.name)
        ctx.save_for_backward(x, *arrays)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        equation, (x, *arrays), (g,) = ctx.equation, ctx.saved_tensors, grads
        u = solve_transposed(equation.residual, x, arrays, g, equation.how, f"the derivative of {equation.name}")
        return (None, *send_to_parameters(lambda *values: equation.residual(x, *values), arrays, u))


class Problem:
    """What all functions of this room begin with: the unknowns as a vector, θ as a list of arrays, where to start.

    x0 : where the search begins, a tree of real numbers; what is sent there is nothing.
    theta : a tree; its floats are what gradients flow to.
    """

    def __init__(self, x0: Any, theta: Any, name: str) -> None:
        self.name = name
        self.arrays, self.put = taken_apart(theta)
        self.layout = Layout(x0, "x0", weak_dtype(self.arrays))
        with no_grad():
            self.start = numbers_of(self.layout.ravel(x0, "x0")).copy()  # it may be the array of a node in θ

    def solve(
        self, residual: Callable[..., Array], search: Callable[..., tuple[Array, str]], *, how: How,
        tol: float | None, scale: Callable[[Array, Array], float], start: Array | None = None,
    ) -> Array:  # fmt: skip
        """The solution as a vector: a node if there are nodes in θ."""
        tol = self.layout.eps**0.5 if tol is None else tol
        equation = Equation(self.name, residual, search, how, tol, scale, modes().recording)
        start = self.start if start is None else start
        z = Solution.apply(start, *self.arrays, equation=equation)
        return z if any_node(self.arrays) else value_of(z)
