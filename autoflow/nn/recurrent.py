"""Recurrent layers: one step of a sequence after the other, with a memory of what came before.

The whole sequence is multiplied by the input weights in one product, (n, time, inputs) @ (inputs, hidden). The rest is
a loop in Python, because each step needs the memory that the step before has left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nodes.nodes import Node, Variable
from . import init as initialisers
from .checks import explain_missing_rng, floats, generator, shape_is
from .fused import sigmoid
from .layers import positive
from .module import Module

Array = Any


class Recurrent(Module):
    """What RNN, LSTM and GRU share: weights for ``gates`` vectors of size ``hidden``, and checks."""

    def __init__(self, inputs: int, hidden: int, gates: int, rng: np.random.Generator, dtype: Any) -> None:
        who = type(self).__name__
        positive(who, inputs=inputs, hidden=hidden)
        rng = generator(who, rng)
        square = [initialisers.orthogonal(rng, (hidden, hidden), dtype) for _ in range(gates)]
        into = [initialisers.glorot_uniform(rng, (hidden, inputs), dtype) for _ in range(gates)]
        self.weight_ih = Variable(np.concatenate(into), copy=False)
        self.weight_hh = Variable(np.concatenate(square), copy=False)
        self.bias = Variable(np.zeros(gates * hidden, dtype), copy=False)

    @property
    def hidden(self) -> int:
        """The size of the memory."""
        return int(self.weight_hh.shape[1])

    def inputs(self, x: Array) -> Array:
        """What the sequence adds at each step. (n, time, inputs) -> (n, time, gates * hidden)"""
        floats(self, x)
        shape_is(self, x, "n", "time", self.weight_ih.shape[1])
        return x @ self.weight_ih.T + self.bias

    def memory(self, x: Array, h: Array, what: str = "memory") -> Array:
        """The memory to start with: zeros, unless one is given."""
        if h is None:
            return np.zeros((x.shape[0], self.hidden), x.dtype)
        shape_is(self, h, x.shape[0], self.hidden, what=what)
        return h

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight_ih.shape[1]}, {self.hidden})"


def in_time(steps: list[Array], x: Array, hidden: int) -> Array:
    """All steps as one array (n, time, hidden), also if there are none."""
    return np.stack(steps, axis=1) if steps else np.zeros((x.shape[0], 0, hidden), x.dtype)


class RNN(Recurrent):
    """hₜ = tanh(xₜ Wᵀ + hₜ₋₁ Uᵀ + b), h₋₁ = 0. Source: Elman, Cognitive Science 14, 1990.

    Shapes: x (n, time, inputs); results: all h (n, time, hidden), and the last one (n, hidden), with which a longer
    sequence can be continued: ``layer(x, h)``. W, U, b are ``weight_ih`` (hidden, inputs), ``weight_hh`` (hidden,
    hidden) and ``bias`` (hidden,), PyTorch's two biases in one.

    >>> from autoflow import nn
    >>> layer = nn.RNN(3, 4, rng=np.random.default_rng(0))
    >>> outputs, h = layer(np.ones((2, 5, 3)))
    >>> outputs.shape, h.shape
    ((2, 5, 4), (2, 4))
    """

    @explain_missing_rng
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: Any = float) -> None:
        super().__init__(inputs, hidden, 1, rng, dtype)

    def forward(self, x: Array, h: Array = None) -> tuple[Node, Node]:
        """(n, time, inputs) -> (n, time, hidden), (n, hidden)"""
        into, h = self.inputs(x), self.memory(x, h)
        steps, u = [], self.weight_hh.T
        for t in range(x.shape[1]):
            h = np.tanh(into[:, t] + h @ u)
            steps.append(h)
        return in_time(steps, x, self.hidden), h


class LSTM(Recurrent):
    """A state c to which each step adds, through gates i, f, o between 0 and 1, so that gradients survive many steps.

    i, f, g, o = xₜ Wᵀ + hₜ₋₁ Uᵀ + b;  cₜ = σ(f) ⊙ cₜ₋₁ + σ(i) ⊙ tanh(g);  hₜ = σ(o) ⊙ tanh(cₜ).

    Shapes as :class:`RNN`, with ``weight_ih`` (4 hidden, inputs), ``weight_hh`` (4 hidden, hidden), ``bias``
    (4 hidden,) in PyTorch's order i, f, g, o; the last result is the pair (h, c). Source: Hochreiter and Schmidhuber,
    Neural Computation 9, 1997; Gers, Schmidhuber and Cummins 2000 for f. The bias of f starts at 1 (Jozefowicz,
    Zaremba and Sutskever, ICML 2015), so that nothing is forgotten at first.

    >>> from autoflow import nn
    >>> layer = nn.LSTM(3, 4, rng=np.random.default_rng(0))
    >>> outputs, (h, c) = layer(np.ones((2, 5, 3)))
    >>> outputs.shape, h.shape, c.shape
    ((2, 5, 4), (2, 4), (2, 4))
    """

    @explain_missing_rng
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: Any = float) -> None:
        super().__init__(inputs, hidden, 4, rng, dtype)
        self.bias.value[hidden : 2 * hidden] = 1.0

    def forward(self, x: Array, state: tuple[Array, Array] | None = None) -> tuple[Node, tuple[Node, Node]]:
        """(n, time, inputs) -> (n, time, hidden), ((n, hidden), (n, hidden))"""
        into, n = self.inputs(x), self.hidden
        h, c = (None, None) if state is None else state
        h, c = self.memory(x, h), self.memory(x, c, "cell memory")
        steps, u = [], self.weight_hh.T
        for t in range(x.shape[1]):
            z = into[:, t] + h @ u
            keep, add, show = sigmoid(z[:, n : 2 * n]), sigmoid(z[:, :n]), sigmoid(z[:, 3 * n :])
            c = keep * c + add * np.tanh(z[:, 2 * n : 3 * n])
            h = show * np.tanh(c)
            steps.append(h)
        return in_time(steps, x, n), (h, c)


class GRU(Recurrent):
    """A state h that moves towards a new value n, as far as the gate z allows; the gate r says how much of h enters n.

    r, z = σ(xₜ Wᵀ + b + hₜ₋₁ Uᵀ + d);  n = tanh(xₜ Wᵀ + b + r ⊙ (hₜ₋₁ Uᵀ + d));  hₜ = (1 − z) ⊙ n + z ⊙ hₜ₋₁.

    Shapes as :class:`RNN`, with ``weight_ih`` (3 hidden, inputs), ``weight_hh`` (3 hidden, hidden), ``bias`` and
    ``bias_hh``, both (3 hidden,), in PyTorch's order r, z, n. Two biases are not the same as one here, since r
    multiplies the second. Source: Cho et al., EMNLP 2014, in the form of PyTorch and cuDNN.

    >>> from autoflow import nn
    >>> layer = nn.GRU(3, 4, rng=np.random.default_rng(0))
    >>> outputs, h = layer(np.ones((2, 5, 3)))
    >>> outputs.shape, h.shape
    ((2, 5, 4), (2, 4))
    """

    @explain_missing_rng
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: Any = float) -> None:
        super().__init__(inputs, hidden, 3, rng, dtype)
        self.bias_hh = Variable(np.zeros(3 * hidden, dtype), copy=False)

    def forward(self, x: Array, h: Array = None) -> tuple[Node, Node]:
        """(n, time, inputs) -> (n, time, hidden), (n, hidden)"""
        into, h, n = self.inputs(x), self.memory(x, h), self.hidden
        steps, u = [], self.weight_hh.T
        for t in range(x.shape[1]):
            i, m = into[:, t], h @ u + self.bias_hh
            see, keep = sigmoid(i[:, :n] + m[:, :n]), sigmoid(i[:, n : 2 * n] + m[:, n : 2 * n])
            new = np.tanh(i[:, 2 * n :] + see * m[:, 2 * n :])
            h = new + keep * (h - new)
            steps.append(h)
        return in_time(steps, x, n), h
