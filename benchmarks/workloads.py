"""The work on which autoflow and its peers are compared: plain NumPy functions, and their gradients by hand.

Every workload is one full step of learning: a scalar result, and its derivatives with respect to all parameters.
``forward(np, *data, *parameters)`` is the function, written once for all libraries: ``np`` is NumPy or what a
library has in its place. ``by_hand(*data, *parameters)`` is what a patient person would write instead of using any
library: the practical limit of all that builds on NumPy.

    from workloads import WORKLOADS
    work = WORKLOADS["mlp-tiny"]()
    gradients = work.by_hand(*work.data, *work.parameters)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy

Array = Any


@dataclass(frozen=True)
class Workload:
    """A function, its gradient by hand, and the arrays to call them with."""

    forward: Callable[..., Any]
    by_hand: Callable[..., Sequence[Array]]
    data: tuple[Any, ...]  # stay fixed: arrays, and numbers that are no part of the mathematics
    parameters: tuple[Array, ...]  # float64; what the gradients are with respect to


# -- scalars: nothing but bookkeeping --------------------------------------------------------------------------------


def scalar_values(np: Any, count: int, v: Sequence[Array]) -> list[Array]:
    """The 8 scalars ``v``, and ``count`` more: softplus, product and mean of earlier ones in turn."""
    values = list(v)
    for i in range(count):
        if i % 3 == 0:
            values.append(np.log(1 + np.exp(values[-3])))
        elif i % 3 == 1:
            values.append(values[-1] * values[-4])
        else:
            values.append((values[-1] + values[-2] + values[-5]) * 0.25)
    return values


def scalars(np: Any, count: int, *v: Array) -> Array:
    """``count`` values of one to three operations each, on scalars. v: 8 arrays of shape ()."""
    values = scalar_values(np, count, v)
    return values[-1] + values[-2] + v[0] * v[1] * v[2] * v[3] * v[4] * v[5] * v[6] * v[7]


def scalars_by_hand(count: int, *v: Array) -> list[Array]:
    """The gradients of :func:`scalars`, 8 scalars: g[k] = ∂result/∂values[k], from the last value to the first."""
    values = scalar_values(numpy, count, v)
    g = [0.0] * len(values)
    g[-1] = g[-2] = 1.0
    for i in reversed(range(count)):
        k = len(v) + i
        if i % 3 == 0:  # z = log(1 + eˣ) has the slope eˣ / (1 + eˣ) = 1 − e⁻ᶻ
            g[k - 3] += g[k] * (1 - numpy.exp(-values[k]))
        elif i % 3 == 1:
            g[k - 1] += g[k] * values[k - 4]
            g[k - 4] += g[k] * values[k - 1]
        else:
            for operand in (k - 1, k - 2, k - 5):
                g[operand] += g[k] * 0.25
    product = numpy.prod(v)
    return [g[i] + product / x for i, x in enumerate(v)]


def make_scalars(count: int) -> Workload:
    """:func:`scalars` near 1."""
    start = numpy.random.default_rng(0).uniform(0.5, 1.5, 8)
    return Workload(scalars, scalars_by_hand, (count,), tuple(numpy.array(x) for x in start))


# -- a multilayer perceptron: matrix products, and what stands between them ------------------------------------------


def mlp(np: Any, x: Array, y: Array, *layers: Array) -> Array:
    """Squared error of a network with tanh between its layers.

    x: (batch, inputs), y: (batch, outputs), layers: a weight (n, m) and a bias (m,) for each.
    """
    h = x
    for i in range(0, len(layers), 2):
        h = np.matmul(h, layers[i]) + layers[i + 1]
        if i + 2 < len(layers):
            h = np.tanh(h)
    return ((h - y) ** 2).sum()


def mlp_by_hand(x: Array, y: Array, *layers: Array) -> list[Array]:
    """The gradients of :func:`mlp`, in the order and the shapes of ``layers``."""
    hidden = [x]  # what each layer is given
    for i in range(0, len(layers), 2):
        h = hidden[-1] @ layers[i] + layers[i + 1]
        hidden.append(numpy.tanh(h) if i + 2 < len(layers) else h)
    error = hidden.pop() - y
    (error**2).sum()
    g = 2 * error
    gradients: list[Array] = [None] * len(layers)
    for i in reversed(range(0, len(layers), 2)):
        h = hidden[i // 2]
        gradients[i] = h.T @ g
        gradients[i + 1] = g.sum(axis=0)
        if i:
            g = (g @ layers[i].T) * (1 - h**2)
    return gradients


def make_mlp(batch: int, *sizes: int) -> Workload:
    """:func:`mlp` with layers of these sizes on random data."""
    rng = numpy.random.default_rng(0)
    layers: list[Array] = []
    for n, m in pairwise(sizes):
        layers += [rng.standard_normal((n, m)) / numpy.sqrt(n), numpy.zeros(m)]
    data = rng.standard_normal((batch, sizes[0])), rng.standard_normal((batch, sizes[-1]))
    return Workload(mlp, mlp_by_hand, data, tuple(layers))


# -- elementwise functions: memory traffic ---------------------------------------------------------------------------


def elementwise(np: Any, x: Array, w: Array, b: Array) -> Array:
    """Σ exp(−tanh(x ⊙ w + b)²). x, w, b: (n,)."""
    t = np.tanh(x * w + b)
    return np.exp(-(t * t)).sum()


def elementwise_by_hand(x: Array, w: Array, b: Array) -> tuple[Array, Array, Array]:
    """The gradients of :func:`elementwise`, (n,) each."""
    t = numpy.tanh(x * w + b)
    e = numpy.exp(-(t * t))
    e.sum()
    g = e * (-2 * t) * (1 - t * t)
    return g * w, g * x, g


def make_elementwise(n: int) -> Workload:
    """:func:`elementwise` on random numbers."""
    rng = numpy.random.default_rng(0)
    return Workload(elementwise, elementwise_by_hand, (), tuple(rng.standard_normal((3, n))))


# -- a recurrent network: a deep graph, every parameter used at every step -------------------------------------------


def rnn(np: Any, x: Array, wx: Array, wh: Array, b: Array) -> Array:
    """Squared length of the last state. x: (steps, batch, size), wx, wh: (size, size), b: (size,)."""
    state = x[0] * 0
    for t in range(x.shape[0]):
        state = np.tanh(np.matmul(x[t], wx) + np.matmul(state, wh) + b)
    return (state**2).sum()


def rnn_by_hand(x: Array, wx: Array, wh: Array, b: Array) -> tuple[Array, Array, Array]:
    """The gradients of :func:`rnn` with respect to wx, wh and b."""
    states = [x[0] * 0]
    for inputs in x:
        states.append(numpy.tanh(inputs @ wx + states[-1] @ wh + b))
    (states[-1] ** 2).sum()
    g, gx, gh, gb = 2 * states[-1], numpy.zeros_like(wx), numpy.zeros_like(wh), numpy.zeros_like(b)
    for t in reversed(range(len(x))):
        g = g * (1 - states[t + 1] ** 2)
        gx += x[t].T @ g
        gh += states[t].T @ g
        gb += g.sum(axis=0)
        g = g @ wh.T
    return gx, gh, gb


def make_rnn(steps: int, batch: int, size: int) -> Workload:
    """:func:`rnn` on random data."""
    rng = numpy.random.default_rng(0)
    wx, wh = rng.standard_normal((2, size, size)) * 0.1
    return Workload(rnn, rnn_by_hand, (rng.standard_normal((steps, batch, size)),), (wx, wh, numpy.zeros(size)))


# -- softmax regression: reductions along an axis --------------------------------------------------------------------


def softmax(np: Any, x: Array, y: Array, w: Array) -> Array:
    """Cross entropy of a linear classifier. x: (rows, features), y: (rows, classes), w: (features, classes)."""
    z = np.matmul(x, w)
    z = z - np.max(z, axis=1, keepdims=True)
    return -(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))).sum()


def softmax_by_hand(x: Array, y: Array, w: Array) -> tuple[Array]:
    """The gradient of :func:`softmax` with respect to w. (Through the maximum none flows: it cancels.)"""
    z = x @ w
    z -= z.max(axis=1, keepdims=True)
    e = numpy.exp(z)
    total = e.sum(axis=1, keepdims=True)
    -(y * (z - numpy.log(total))).sum()
    return (x.T @ (e / total * y.sum(axis=1, keepdims=True) - y),)


def make_softmax(rows: int, features: int, classes: int) -> Workload:
    """:func:`softmax` with random rows, each of one class."""
    rng = numpy.random.default_rng(0)
    y = numpy.eye(classes)[rng.integers(0, classes, rows)]
    data = rng.standard_normal((rows, features)), y
    return Workload(softmax, softmax_by_hand, data, (rng.standard_normal((features, classes)) * 0.1,))


# fmt: off
WORKLOADS: dict[str, partial[Workload]] = {
    "scalars-1k":  partial(make_scalars, 1_000),
    "scalars-10k": partial(make_scalars, 10_000),
    "mlp-tiny":    partial(make_mlp, 32, 16, 32, 32, 4),
    "mlp-mnist":   partial(make_mlp, 128, 784, 256, 128, 10),
    "mlp-wide":    partial(make_mlp, 512, 1024, 1024, 1024, 10),
    "chain-1k":    partial(make_elementwise, 1_000),
    "chain-4M":    partial(make_elementwise, 4_000_000),
    "rnn-100":     partial(make_rnn, 100, 8, 32),
    "softmax-10k": partial(make_softmax, 10_000, 64, 100),
}
# fmt: on
