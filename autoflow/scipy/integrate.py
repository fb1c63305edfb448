"""scipy.integrate for nodes, which SciPy's own functions would not record.

``odeint`` and ``solve_ivp``: the solution of y' = f(y, t), differentiated by its adjoint equation.
SciPy's solvers take steps that no graph could follow (nor should it: there are thousands). But the effect on the loss
of a small change in the solution at time t, λ(t), itself solves an equation, backwards in time: λ' = −λ ∂f/∂y. Solving
it from the last time to the first gives the gradient of the starting point; the parameters of f collect −∫ λ ∂f/∂θ on
the way. Source: L. S. Pontryagin et al., "The mathematical theory of optimal processes", 1962.

At an event e(t, y(t)) = 0. That still holds after a small change, so dt = −de / (∂e/∂t + ∂e/∂y f).

Areas under a function: ``quad``, ``fixed_quad``. (Those under samples, ``simpson`` and its kin, are SciPy's own code.)

The derivative of ∫ f(x, θ) dx with respect to θ is ∫ ∂f/∂θ dx, with respect to the upper limit f(b), to the lower one
−f(a): G. W. Leibniz. So the gradient is again an integral, of a vector with one element for each parameter.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.lazy import load_package, publish
from ..base.modes import apart
from ..extending.function import Function
from ..implicit.linear import numbers_alone, plain_arrays, real_array, scipy_integrate, taken_apart, unit
from ..nodes.coercion import holds_node
from ..nodes.nodes import AnyFunction, ByName, Node, Values, value_of
from ..table.shapes import Array, as_array, has_gradient
from ..transforms.vjp_jvp import vjp
from .mirrors import mirrored


@dataclass(frozen=True)
class Ivp:
    """An equation and a way to solve it.

    slope : of (y, t, *arrays), dy/dt of y's shape (n,).
    solve : of (slope, y0, t, arrays), all of them plain: the solution at the times t, of shape (m, n).
    name : of a user's slope, for messages. (An adjoint equation has none: it uses only its own arrays.)
    """

    slope: AnyFunction
    solve: AnyFunction
    name: str = ""

    def at(self, y: Array, t: Any, arrays: Any) -> Array:
        """dy/dt, whether the user's function returns a list or an array."""
        return np.reshape(as_array(self.slope(y, t, *arrays)), y.shape)

    def numbers(self, y: Array, t: Array, arrays: object) -> Array:
        """The same as plain numbers, for a solver."""
        return numbers_alone(self.at(y, t, arrays), self.name)


def odeint(func: AnyFunction, y0: Any, t: Any, args: Any = (), *, tfirst: bool = False, **options: Any) -> Node:
    """The solution of y' = func(y, t, *args) at the times t, the first of which belongs to y0.

    Shapes: y0 (n,), or a number; t (m,), rising or falling; the result (m, n). ``args`` are arrays and numbers, also in
    lists, tuples, dicts and dataclasses, and any other arguments of func. Gradients flow to y0, t and all floats in
    args; other nodes that func uses are refused (LostGradientError). ``tfirst``: func(t, y, *args). ``options`` are
    those of scipy.integrate.odeint that set the accuracy (rtol, atol, mxstep, hmax ...); the backward pass uses the
    same.

    >>> import autoflow as af
    >>> model = {"rate": af.Variable(-0.5)}
    >>> y = odeint(lambda y, t, m: m["rate"] * y, 1.0, [0.0, 2.0], (model,), rtol=1e-10, atol=1e-10)
    >>> y[-1].backward()
    >>> round(float(model["rate"].grad), 6)  # y(2) = exp(2 rate), so dy/drate = 2 exp(-1)
    0.735759
    """
    arrays, put = taken_apart(args if isinstance(args, tuple) else (args,))

    def slope(y: Array, t: Array, *values: object) -> Any:
        return func(t, y, *put(values)) if tfirst else func(y, t, *put(values))

    def solve(problem: Ivp, y0: Array, t: Array, values: object) -> Array:
        integrate: Any = functools.partial(scipy_integrate().odeint, lambda y, s: problem.numbers(y, s, values), y0, t)
        if y0.size == size:
            return integrate(**options)
        z, info = integrate(**least(options), full_output=True)
        if info["message"] != "Integration successful.":  # SciPy warns, and returns any numbers
            raise RuntimeError(f"af.integrate.odeint, on the way back: {info['message']}")
        return z

    y0, t = np.atleast_1d(real_array(y0, "y0")), real_array(t, "t")
    problem, size = Ivp(slope, solve, "func of af.integrate.odeint"), y0.size
    if unknown_options("odeint", ACCURACY, options, [y0, t, *arrays]):
        start, times, *plain = plain_arrays([y0, t, *arrays])
        return apart().call(solve, problem, start, times, plain)
    return Trajectory.apply(y0, t, *arrays, problem=problem)


def least(options: ByName) -> dict[str, Any]:
    """The options for the adjoint state, which is longer than y: the smallest of several tolerances. It goes back in
    time, so the first step is not that of y."""
    return {k: float(np.min(v)) if k in ("rtol", "atol") else v for k, v in options.items() if k != "h0"}


ACCURACY = set("rtol atol mxstep mxhnil hmax hmin h0 mxordn mxords".split())  # noqa: SIM905 - options of odeint


def unknown_options(name: str, known: set[str], options: ByName, arrays: list[Any]) -> set[str]:
    """The options with which there is no derivative. With them, raises NoRuleError if one of the arrays has a gradient,
    which the result would lose; also for nodes in any option, to which no gradient flows."""
    unknown = set(options) - known
    if refused := {k for k in options if holds_node(options[k])} | (unknown if has_gradient(arrays) else set()):
        message = f"scipy.integrate.{name} of a node does not know {', '.join(sorted(refused))}="
        raise NoRuleError(f"{message}: leave that out, or pass x.value if only the numbers are meant")
    return unknown


class Trajectory(Function):
    """The values at all times, and the adjoint equation. ``values``: the solution, if already known."""

    @staticmethod
    def forward(ctx: Any, y0: Array, t: Array, *arrays: Array, problem: Ivp, values: object = None) -> Array:
        z = problem.solve(problem, y0, t, arrays) if values is None else values
        ctx.problem = problem
        ctx.save_for_backward(z, t, *arrays)
        return z

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        """From each time to the one before it: y, λ and what the parameters have collected, as one vector. The absolute
        tolerances of solvers are in units of the largest gradient, so the scale of a loss does not matter."""
        problem, (z, t, *arrays), size = ctx.problem, ctx.saved_tensors, unit(grads[0])
        g = grads[0] / size
        ends = np.cumsum([0, *[x.size for x in arrays]])
        n, numbers = z.shape[1], value_of(t)

        def changes(state: Array, time: object, *values: object) -> Array:
            """d(y, λ, collected)/dt."""
            y, adjoint = state[:n], state[n : 2 * n]
            slope, pullback = vjp(lambda y, *v: problem.at(y, time, v), y, *values, allow_unused=True)
            back = [-np.reshape(part, -1) for part in pullback(adjoint)]
            return np.concatenate([slope, *back])

        adjoint, collected = g[-1], np.zeros(ends[-1])
        times: list[Array] = [np.sum(g[-1] * problem.at(z[-1], t[-1], arrays))]  # later by dt, y is further by f dt
        for i in range(z.shape[0] - 1, 0, -1):
            if numbers[i] != numbers[i - 1]:
                state = np.concatenate([z[i], adjoint, collected])
                pair = np.stack([t[i], t[i - 1]])
                state = Trajectory.apply(state, pair, *arrays, problem=Ivp(changes, problem.solve))[-1]
                adjoint, collected = state[n : 2 * n], state[2 * n :]
            slope = problem.at(z[i - 1], t[i - 1], arrays)
            times.append(np.sum(g[i - 1] * slope) if i > 1 else -np.sum(adjoint * slope))
            adjoint = adjoint + g[i - 1]
        parts = [collected[a:b].reshape(x.shape) for a, b, x in zip(ends, ends[1:], arrays, strict=False)]
        by_times = np.stack(times[::-1]) if len(times) > 1 else np.zeros(1)
        return tuple([size * part for part in (adjoint, by_times, *parts)])


# ---------------------------------------------------------------- solve_ivp

TOLERANCES = {"rtol", "atol", "max_step"}  # used on the way back as well
OTHERS = {"first_step", "jac", "lband", "min_step", "uband"}


def solve_ivp(
    fun: AnyFunction, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: bool = False,
    events: Any = None, vectorized: bool = False, args: object = None, **options: object,
) -> Any:  # fmt: skip
    """The solution of y' = fun(t, y, *args) from t_span[0] to t_span[1], or to a terminal event.

    Arguments and result are those of scipy.integrate.solve_ivp. Gradients flow to y0, both ends of t_span, t_eval and
    all floats in ``args`` (in lists, dicts and so on) from ``y``, ``t``, ``t_events``, ``y_events`` and ``sol(t)``. The
    steps that the solver chooses are constants. y0 is real. The backward pass uses the same method and tolerances.

    >>> import autoflow as af
    >>> def height(t, y, g): return y[0]
    >>> height.terminal, height.direction = True, -1
    >>> g = af.Variable(10.0)
    >>> fall = solve_ivp(lambda t, y, g: [y[1], -g], (0.0, 9.0), [0.0, 20.0], events=height, args=(g,), rtol=1e-9)
    >>> fall.t_events[0].backward()  # it is back after t = 2 v / g = 4, so dt/dg = -t / g
    >>> round(float(g.grad), 6)
    -0.4
    """
    arrays, put = taken_apart(() if args is None else args if isinstance(args, (tuple, list)) else (args,))
    t0, t1 = [real_array(t, "t_span") for t in t_span]
    y0 = real_array(y0, "y0")
    unknown_options("solve_ivp", TOLERANCES | OTHERS, options, [t0, t1, y0, t_eval, *arrays])
    problem = Ivp(
        lambda y, t, *values: fun(t, y[:, None] if vectorized else y, *put(values)), Stepping(method, options),
        "fun of af.integrate.solve_ivp",
    )  # fmt: skip
    tests = [] if events is None else [events] if callable(events) else list(events)
    questions = [question(event, put) for event in tests]
    start, *plain = plain_arrays([y0, *arrays])
    result = apart().call(
        scipy_integrate().solve_ivp, lambda t, y: problem.numbers(y, t, plain), (float(t0), float(t1)), start, method,
        value_of(t_eval), dense_output,
        [as_scipy(event, ask, plain) for event, ask in zip(tests, questions, strict=True)] or None,
        **plain_jacobian(options, put(plain)),
    )  # fmt: skip
    if not has_gradient([t0, t1, y0, t_eval, *arrays]):
        return result
    return on_nodes(result, problem, questions, (y0, t0, t1, t_eval), arrays)


class Stepping:
    """How to solve with solve_ivp: the ``solve`` of an :class:`Ivp`."""

    def __init__(self, method: object, options: ByName) -> None:
        self.method, self.options = method, least({k: v for k, v in options.items() if k in TOLERANCES})

    def __call__(self, problem: Ivp, y0: Array, t: Array, values: object) -> Array:
        solve, slope = scipy_integrate().solve_ivp, lambda s, y: problem.numbers(y, s, values)
        parts = [y0]
        for start, end in pairwise(t):
            if start != end:
                result = solve(slope, (start, end), parts[-1], self.method, [end], **self.options)
                if not result.success:
                    raise RuntimeError(f"af.integrate.solve_ivp: {result.message}")
            parts.append(result.y[:, -1] if start != end else parts[-1])
        return np.stack(parts)


def plain_jacobian(options: ByName, args: Any) -> dict[str, Any]:
    """The options for SciPy; a function ``jac(t, y, *args)`` gets its arguments here."""
    jac = options.get("jac")
    return {**options, "jac": lambda t, y: value_of(as_array(jac(t, y, *args)))} if callable(jac) else options


def question(event: AnyFunction, put: AnyFunction) -> AnyFunction:
    """An event as a function of (t, y, *arrays) with one number as its answer."""
    return lambda t, y, *values: np.reshape(as_array(event(t, y, *put(values))), ())


def as_scipy(event: object, ask: AnyFunction, plain: list[Array]) -> AnyFunction:
    """The same for SciPy, with the attributes that say which crossings count."""

    def asked(t: float, y: Array) -> float:
        return float(numbers_alone(ask(t, y, *plain), "an event of af.integrate.solve_ivp"))

    vars(asked).update({k: getattr(event, k) for k in ("terminal", "direction") if hasattr(event, k)})
    return asked


def on_nodes(result: Any, problem: Ivp, questions: list[Any], given: Values, arrays: list[Array]) -> Any:
    """SciPy's answer with nodes in it."""
    y0, t0, t1, t_eval = given

    def states(times: Array, values: Array) -> Array:
        """The solution at these times, which are in order and whose values are known: (m, n)."""
        grid = np.concatenate([np.reshape(t0, 1), times])
        z = np.concatenate([value_of(y0)[None], values])
        return Trajectory.apply(y0, grid, *arrays, problem=problem, values=z)[1:]

    for k, ask in enumerate(questions):
        if len(times := result.t_events[k]):
            values = np.reshape(result.y_events[k], (len(times), -1))
            node = EventTimes.apply(y0, t0, *arrays, problem=problem, ask=ask, times=times)
            result.t_events[k], result.y_events[k] = node, states(node, values)
    if t_eval is not None:
        times = as_array(t_eval)[: len(result.t)]
    else:
        last: Any = t1 if result.status == 0 else result.t[-1]
        if result.status == 1:
            (last,) = [times[-1] for times in result.t_events if len(times) and value_of(times[-1]) == result.t[-1]][:1]
        times = np.concatenate([np.reshape(t0, 1), result.t[1:-1], np.reshape(last, 1)])
    if len(result.t):
        result.t, result.y = times, states(times, result.y.T).T
    if result.sol is not None:
        result.sol = Between(result.sol, states)
    return result


class Between:
    """``sol(t)``: the solution at any times between the first and the last one.

    Shapes: t () gives (n,), t (m,) gives (n, m).
    """

    def __init__(self, sol: Any, states: AnyFunction) -> None:
        self.sol, self.states, self.t_min, self.t_max = sol, states, sol.t_min, sol.t_max

    def __call__(self, t: Any) -> Array:
        """Raises ValueError outside of these times, where the equation was not solved."""
        t = real_array(t, "t")
        numbers = np.atleast_1d(value_of(t))
        if numbers.size and not (self.t_min <= numbers.min() and numbers.max() <= self.t_max):
            raise ValueError(f"the solution is known from t = {self.t_min:g} to {self.t_max:g}")
        order = np.argsort(numbers if self.sol.ascending else -numbers, kind="stable")
        flat = np.reshape(t, -1)[order]
        z = self.states(flat, self.sol(value_of(flat)).T)[np.argsort(order)].T
        return z if t.ndim else z[:, 0]


class EventTimes(Function):
    """When e(t, y(t)) is 0: times found by SciPy, and differentiated as solutions of that equation."""

    @staticmethod
    def forward(ctx: Any, y0: Array, t0: Array, *arrays: Array, problem: Ivp, ask: Any, times: Array) -> Array:
        ctx.problem, ctx.ask = problem, ask
        ctx.save_for_backward(times, y0, t0, *arrays)
        return times

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        """dt = −de / ė, with de at a fixed time, and ė = ∂e/∂t + ∂e/∂y f."""
        problem, ask, (t, y0, t0, *arrays), (g,) = ctx.problem, ctx.ask, ctx.saved_tensors, grads

        def states(y0: Array, t0: Array, values: Any) -> Array:
            grid = np.concatenate([np.reshape(t0, 1), t])
            return Trajectory.apply(y0, grid, *values, problem=problem)[1:]

        def residuals(y0: Array, t0: Array, *values: Array) -> Array:
            y = states(y0, t0, values)
            return np.stack([ask(t[k], y[k], *values) for k in range(len(t))])

        y, rates = states(y0, t0, arrays), []
        for k in range(len(t)):
            _, pullback = vjp(lambda s, y: ask(s, y, *arrays), t[k], y[k], allow_unused=True)
            by_time, by_state = pullback(1.0)
            rates.append(by_time + np.sum(by_state * problem.at(y[k], t[k], arrays)))
        _, pullback = vjp(residuals, y0, t0, *arrays, allow_unused=True)
        return pullback(-g / np.stack(rates))


def quad(func: AnyFunction, a: Array, b: Array, args: object = (), **options: object) -> tuple[Any, float]:
    """∫ func(x, *args) dx from a to b, and an estimate of its error, as scipy.integrate.quad.

    a, b are numbers, or ±np.inf; func gives one number for one x. Gradients flow to a, b and all floats in ``args`` (in
    lists, dicts and so on); other nodes that func uses are refused (LostGradientError). ``options``: those of
    scipy.integrate.quad; with gradients only epsabs, epsrel, limit and ``points``, the kinks of func, which must not
    depend on the parameters.

    >>> import autoflow as af
    >>> width = af.Variable(2.0)
    >>> area, error = quad(lambda x, width: np.exp(-((x / width) ** 2)), -np.inf, np.inf, (width,))
    >>> area.backward()  # √π width
    >>> round(float(width.grad), 6)
    1.772454
    """
    arrays, put = taken_apart(args if isinstance(args, tuple) else (args,))
    a, b = real_array(a, "a"), real_array(b, "b")

    def integrand(x: Array, *values: object) -> Array:
        return np.reshape(as_array(func(x, *put(values))), ())

    low, high, *plain = plain_arrays([a, b, *arrays])
    unknown_options("quad", {"epsabs", "epsrel", "limit", "points"}, options, [a, b, *arrays])

    def numbers(x: float) -> Any:
        return numbers_alone(integrand(x, *plain), "func of af.integrate.quad")[()]

    result = apart().call(scipy_integrate().quad, numbers, float(low), float(high), **options)
    if not has_gradient([a, b, *arrays]):
        return result
    return Area.apply(a, b, *arrays, integrand=integrand, options=options, value=result[0]), result[1]


class Area(Function):
    """The integral of a function whose values are arrays. ``value``: the integral, if already known."""

    @staticmethod
    def forward(ctx: Any, a: Array, b: Array, *arrays: Array, integrand: Any, options: Any, value: Any = None) -> Array:
        ctx.problem = integrand, options
        ctx.save_for_backward(a, b, *arrays)
        if value is not None:
            return np.asarray(value)
        z, _ = scipy_integrate().quad_vec(lambda x: value_of(integrand(x, *arrays)), float(a), float(b), **options)
        return z

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        """The slopes for all parameters, side by side in one vector; at an infinite limit the slope is 0."""
        (integrand, options), (a, b, *arrays), (g,) = ctx.problem, ctx.saved_tensors, grads
        n, size = len(arrays), unit(g)  # see Trajectory

        def slopes(x: Array, *values: object) -> Array:
            _, pullback = vjp(lambda *v: integrand(x, *v), *values[:n], allow_unused=True)
            return np.concatenate([np.reshape(part, -1) for part in pullback(values[n])])

        ends = [
            sign * np.sum(g * integrand(x, *arrays)) if needed and np.isfinite(value_of(x)) else np.zeros(())
            for x, sign, needed in ((a, -1.0, ctx.needs_input_grad[0]), (b, 1.0, ctx.needs_input_grad[1]))
        ]
        if not n:
            return tuple(ends)
        collected = size * Area.apply(a, b, *arrays, g / size, integrand=slopes, options=options)
        cuts = np.cumsum([x.size for x in arrays])[:-1]
        parts = np.split(collected, cuts)
        return (*ends, *[np.reshape(part, x.shape) for part, x in zip(parts, arrays, strict=True)])


def fixed_quad(func: AnyFunction, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Node, None]:
    """∫ func(x, *args) dx from a to b by n points: exact for polynomials of degree 2n − 1 (C. F. Gauß).

    func gets all points at once, x of shape (n,), and returns an array whose last axis is theirs. Gradients flow to a,
    b and everything that func uses. As with scipy.integrate.fixed_quad, the second result is None.

    >>> round(float(fixed_quad(np.square, 0.0, 3.0, n=2)[0]), 12)
    9.0
    """
    a, b = as_array(a), as_array(b)
    if np.isinf(value_of(a)).any() or np.isinf(value_of(b)).any():
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    x, w = load_package("scipy.special", "af.integrate computes with SciPy: pip install scipy").roots_legendre(n)
    y = (b - a) * (x + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(w * as_array(func(y, *args)), axis=-1), None


# Three of them are SciPy's own bodies.
__all__ = ["cumulative_trapezoid", "fixed_quad", "odeint", "quad", "simpson", "solve_ivp", "trapezoid"]  # noqa: F822
publish(globals(), ["fixed_quad", "odeint", "quad", "solve_ivp"])
__getattr__, __dir__ = mirrored(globals())
