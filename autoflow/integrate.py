"""scipy.integrate.odeint for nodes: the solution of y' = f(y, t), differentiated by its adjoint equation.

SciPy's solver takes steps that no graph could follow (nor should it: there are thousands). But what a small change of
the solution at time t does to the loss, λ(t), itself solves an equation, backwards in time: λ' = −λ ∂f/∂y. Solving it
from the last time to the first gives the gradient of the starting point; the parameters of f collect −∫ λ ∂f/∂θ on the
way. Source: L. S. Pontryagin et al., "The mathematical theory of optimal processes", 1962.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .extending.function import Function
from .lazy import list_public
from .nodes.nodes import value_of
from .rules.shapes import as_array
from .transforms.vjp_jvp import vjp

Array = Any
__all__ = ["odeint"]
__dir__ = list_public(__all__)


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...] = (), **options: Any) -> Array:
    """The solution of y' = func(y, t, *args) at the times t, the first of which belongs to y0.

    Shapes: y0 (n,), or a number; t (m,), rising or falling; the result (m, n). ``args`` are arrays or numbers.
    Gradients flow to y0, t and args; not to what func uses besides: hand it over in args. ``options`` are those of
    scipy.integrate.odeint that say how exactly to compute (rtol, atol, mxstep, hmax ...); the way back uses the same.

    >>> import autoflow as af
    >>> rate = af.Variable(-0.5)
    >>> y = odeint(lambda y, t, rate: rate * y, 1.0, [0.0, 2.0], (rate,), rtol=1e-10, atol=1e-10)
    >>> y[-1].backward()
    >>> round(float(rate.grad), 6)  # y(2) = exp(2 rate), so dy/drate = 2 exp(-1)
    0.735759
    """
    unknown = set(options) - {"rtol", "atol", "mxstep", "mxhnil", "hmax", "hmin", "h0", "mxordn", "mxords"}
    if unknown:
        raise TypeError(f"af.integrate.odeint does not know {', '.join(sorted(unknown))}: use scipy.integrate.odeint")
    arrays = [as_array(x) for x in (y0, t, *args)]
    arrays[0] = np.atleast_1d(arrays[0])
    arrays = [x if x.dtype.kind == "f" else x.astype(float) for x in arrays]
    return Trajectory.apply(*arrays, problem=(func, options))


class Trajectory(Function):
    """The values at all times, and the adjoint equation."""

    @staticmethod
    def forward(ctx: Any, y0: Array, t: Array, *args: Array, problem: Any) -> Array:
        try:
            from scipy.integrate import odeint as solve
        except ImportError as error:
            raise ImportError("af.integrate computes with SciPy, which is not installed: pip install scipy") from error
        func, options = problem
        ctx.problem = problem
        z = solve(lambda y, s, *a: value_of(func(y, s, *a)), y0, t, tuple(args), **options)
        ctx.save_for_backward(z, t, *args)
        return z

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        """From each time to the one before it: y, λ and what the parameters have collected, as one vector."""
        (func, options), (z, t, *args), (g,) = ctx.problem, ctx.saved_tensors, grads
        sizes = [x.size for x in args]
        n, ends = z.shape[1], np.cumsum([0, *sizes])

        def changes(state: Array, time: Any, *values: Array) -> Array:
            """d(y, λ, collected)/dt."""
            y, adjoint = state[:n], state[n : 2 * n]
            slope, pull = vjp(lambda y, *v: np.reshape(func(y, time, *v), n), y, *values, allow_unused=True)
            back = [-np.reshape(part, -1) for part in pull(adjoint)]
            return np.concatenate([slope, *back])

        def slope_at(i: int) -> Array:
            return np.reshape(as_array(func(z[i], t[i], *args)), n)

        adjoint, collected = g[-1], np.zeros(ends[-1])
        times: list[Array] = [np.sum(g[-1] * slope_at(-1))]  # later by dt, y is further by f dt
        for i in range(z.shape[0] - 1, 0, -1):
            state = np.concatenate([z[i], adjoint, collected])
            state = odeint(changes, state, np.stack([t[i], t[i - 1]]), tuple(args), **options)[-1]
            adjoint, collected = state[n : 2 * n], state[2 * n :]
            times.append(np.sum(g[i - 1] * slope_at(i - 1)) if i > 1 else -np.sum(adjoint * slope_at(0)))
            adjoint = adjoint + g[i - 1]
        parts = [collected[a:b].reshape(x.shape) for a, b, x in zip(ends, ends[1:], args, strict=False)]
        return (adjoint, np.stack(times[::-1]) if len(times) > 1 else np.zeros(1), *parts)
