"""Areas: under a function (``quad``, ``fixed_quad``), and under samples of one (``trapezoid``, ``simpson``).

The derivative of ∫ f(x, θ) dx by θ is ∫ ∂f/∂θ dx, by the upper limit f(b), by the lower one −f(a): G. W. Leibniz. So
what goes back is an integral again, of a vector: one element for each parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extending.function import Function
from ...implicit.problems import plain_arrays, real_array, refuse_hidden, scipy_integrate, stack_if_list, taken_apart
from ...nodes.nodes import Node, value_of
from ...table.shapes import Array, as_array, axes_of, has_gradient
from ...transforms.vjp_jvp import vjp


def quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), *, epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
    limit: int = 50, points: Any = None,
) -> tuple[Any, float]:  # fmt: skip
    """∫ func(x, *args) dx from a to b, and an estimate of its error, as scipy.integrate.quad.

    a, b are numbers, or ±np.inf; func gives one number for one x. Gradients flow to a, b and all floats in ``args`` (in
    lists, dicts and so on); other nodes that func uses are refused (LostGradientError). ``points``: where func has
    kinks, which must not depend on the parameters.

    >>> import autoflow as af
    >>> width = af.Variable(2.0)
    >>> area, error = quad(lambda x, width: np.exp(-((x / width) ** 2)), -np.inf, np.inf, (width,))
    >>> area.backward()  # √π width
    >>> round(float(width.grad), 6)
    1.772454
    """
    arrays, put = taken_apart(args if isinstance(args, tuple) else (args,))
    a, b = real_array(a, "a"), real_array(b, "b")

    def integrand(x: Any, *values: Array) -> Array:
        return np.reshape(stack_if_list(func(x, *put(values))), ())

    low, high, *plain = plain_arrays([a, b, *arrays])
    low, high = float(low), float(high)
    refuse_hidden(integrand(inside(low, high), *plain), "func of af.integrate.quad")
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    z, error = scipy_integrate().quad(lambda x: float(value_of(integrand(x, *plain))), low, high, **options)
    if not has_gradient([a, b, *arrays]):
        return z, error
    return Area.apply(a, b, *arrays, integrand=integrand, options=options, value=z), error


def inside(a: float, b: float) -> float:
    """A number between a and b, which may be infinite."""
    a, b = np.clip([a, b], -1e3, 1e3)
    return float(a + 0.4375 * (b - a))


class Area(Function):
    """The integral of a function whose values are arrays. ``value``: what it is, if it is known already."""

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
        """The slopes of all parameters, side by side as one vector; at an infinite limit there is no slope."""
        (integrand, options), (a, b, *arrays), (g,) = ctx.problem, ctx.saved_tensors, grads
        n = len(arrays)

        def slopes(x: Any, *values: Array) -> Array:
            _, pullback = vjp(lambda *v: integrand(x, *v), *values[:n], allow_unused=True)
            return np.concatenate([np.reshape(part, -1) for part in pullback(values[n])])

        ends = [
            sign * np.sum(g * integrand(x, *arrays)) if np.isfinite(value_of(x)) else np.zeros(())
            for x, sign in ((a, -1.0), (b, 1.0))
        ]
        if not n:
            return tuple(ends)
        collected = Area.apply(a, b, *arrays, g, integrand=slopes, options=options)
        cuts = np.cumsum([x.size for x in arrays])[:-1]
        parts = np.split(collected, cuts)
        return (*ends, *[np.reshape(part, x.shape) for part, x in zip(parts, arrays, strict=True)])


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Node, None]:
    """∫ func(x, *args) dx from a to b by n points: exact for polynomials of degree 2n − 1 (C. F. Gauß).

    func gets all points at once, x of shape (n,), and gives an array whose last axis is theirs. Gradients flow to a, b
    and whatever func uses. As scipy.integrate.fixed_quad, the second result is None.

    >>> round(float(fixed_quad(np.square, 0.0, 3.0, n=2)[0]), 12)
    9.0
    """
    a, b = as_array(a), as_array(b)
    if np.isinf(value_of(a)).any() or np.isinf(value_of(b)).any():
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    x, w = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (x + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(w * stack_if_list(func(y, *args)), axis=-1), None


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Node:
    """The area under the line through the points (x, y): ``np.trapezoid``.

    >>> trapezoid([1.0, 2.0, 4.0], dx=0.5)
    np.float64(2.25)
    """
    z: Any = np.trapezoid(stack_if_list(y), x if x is None else stack_if_list(x), dx, axis)
    return z


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Node:
    """The areas up to each point; with ``initial=0`` that of the first one, too.

    >>> cumulative_trapezoid([1.0, 2.0, 4.0], initial=0)
    array([0. , 1.5, 4.5])
    """
    if initial not in (None, 0):
        raise ValueError("`initial` must be 0 or None.")
    y = stack_if_list(y)
    (axis,) = axes_of(axis, y.ndim)
    d = dx if x is None else distances(x, y.ndim, axis)
    z: Any = np.cumsum(d * (cut(y, axis, 1, None) + cut(y, axis, None, -1)) / 2.0, axis=axis)
    if initial is not None:
        z = np.concatenate([np.zeros_like(cut(z, axis, None, 1)), z], axis=axis)
    return z


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Node:
    """The area under parabolas through three neighbours each: scipy.integrate.simpson.

    With an even number of points one interval is left over, the last. Its area is that under the parabola through the
    last three points (K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced
    data", 2017).

    >>> float(simpson([0.0, 1.0, 4.0]))  # of x²: exact
    2.6666666666666665
    """
    y = stack_if_list(y)
    (axis,) = axes_of(axis, y.ndim)
    n = y.shape[axis]
    d = np.full(n - 1, 1.0) * dx if x is None else distances(x, y.ndim, axis)
    d = np.reshape(d, [-1 if a == axis else 1 for a in range(y.ndim)]) if np.ndim(d) == 1 else d
    z: Any
    if n < 3:
        z = np.sum(d * (cut(y, axis, 1, None) + cut(y, axis, None, -1)) / 2.0, axis=axis)
        return z
    pairs = n - 1 - (n - 1) % 2
    h0, h1 = every_other(d, axis, 0, pairs), every_other(d, axis, 1, pairs)
    y0, y1, y2 = (every_other(y, axis, k, pairs + k) for k in (0, 1, 2))
    ratio, total = h0 / h1, h0 + h1
    area = total / 6.0 * (y0 * (2.0 - 1.0 / ratio) + y1 * (total * (total / (h0 * h1))) + y2 * (2.0 - ratio))
    z = np.sum(area, axis=axis)
    if pairs == n - 1:
        return z
    h0, h1 = (np.take(d, k, axis=axis) for k in (-2, -1))
    y0, y1, y2 = (np.take(y, k, axis=axis) for k in (-3, -2, -1))
    last = y2 * (2 * h1**2 + 3 * h0 * h1) / (6 * (h0 + h1)) + y1 * (h1**2 + 3 * h0 * h1) / (6 * h0)
    return z + last - y0 * h1**3 / (6 * h0 * (h0 + h1))


def distances(x: Any, ndim: int, axis: int) -> Array:
    """Between neighbours, with axes for an array of so many."""
    x = stack_if_list(x)
    if x.ndim > 1:
        return np.diff(x, axis=axis)
    return np.reshape(np.diff(x), [-1 if a == axis else 1 for a in range(ndim)])


def cut(x: Array, axis: int, start: Any, stop: Any, step: Any = None) -> Array:
    """``x[start:stop:step]`` along an axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def every_other(x: Array, axis: int, start: int, stop: int) -> Array:
    """One element of each pair of intervals; of one distance for all of them, that one."""
    return x if np.ndim(x) <= axis or x.shape[axis] == 1 else cut(x, axis, start, stop, 2)
