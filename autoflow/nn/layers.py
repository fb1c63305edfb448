"""Layers: a function and its parameters. The function's docstring says what is computed.

Every layer with random numbers takes ``rng``, one Generator for all; ``dtype=np.float32`` saves memory, and time on a
GPU. Names and shapes of the parameters are PyTorch's, also those of its ``MultiheadAttention`` and
``TransformerEncoderLayer``.

Recurrent layers take one step of a sequence after the other, with a memory of what came before. The whole sequence is
multiplied by the input weights in one product, (n, time, inputs) @ (inputs, hidden). The rest is a loop in Python,
because each step needs the memory that the step before has left.

Attention in several heads, and the block from which transformers are built: a mask says what *may* be seen, as in
:func:`~autoflow.nn.scaled_dot_product_attention` (in PyTorch's layers, what may not).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.types import DTypeLike
from ..nodes.nodes import Array, Node, Variable
from ..optim.base import check_kind, whole_numbers
from . import functions, init as initialisers
from .functions import Sizes, each, gelu, sigmoid
from .module import Module, expect, explain_missing_rng, floats, generator, labels, probability, shape_is, shareable

__all__ = [
    "GRU", "LSTM", "RNN", "BatchNorm", "Conv2d", "ConvTranspose2d", "Dropout", "Embedding", "GroupNorm", "LayerNorm",
    "Linear", "MultiHeadAttention", "Sequential", "TransformerBlock",
]  # fmt: skip

# ---------------------------------------------------------------- layers without a memory

Initialiser = Callable[..., Array]


def ones_and_zeros(shape: int | Sequence[int], dtype: DTypeLike) -> tuple[Variable, Variable]:
    """Weight and bias of a layer that standardises."""
    dtype = initialisers.float_dtype(dtype)
    return Variable(np.ones(shape, dtype), copy=False), Variable(np.zeros(shape, dtype), copy=False)


class Linear(Module):
    """x Wᵀ + b. Shapes: x (..., inputs), weight (outputs, inputs), bias (outputs,), result (..., outputs).

    >>> from autoflow import nn
    >>> layer = nn.Linear(3, 2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3))).shape
    (5, 2)
    """

    _form = "Linear({0.weight.shape[1]}, {0.weight.shape[0]})"

    @explain_missing_rng
    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, *, rng: np.random.Generator,
        init: Initialiser = initialisers.glorot_uniform, dtype: DTypeLike = float,
    ) -> None:  # fmt: skip
        whole_numbers("Linear", inputs=inputs, outputs=outputs)
        self.weight = Variable(init(generator("Linear", rng), (outputs, inputs), dtype), copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None

    def forward(self, x: Array) -> Node:
        """(..., inputs) -> (..., outputs)"""
        expect(self, x, "...", self.weight.shape[1])
        z = x @ self.weight.T
        return z if self.bias is None else z + self.bias


class Conv2d(Module):
    """:func:`~autoflow.nn.conv2d` with its weight (outputs, inputs / groups, k, k) and bias (outputs,).

    >>> from autoflow import nn
    >>> layer = nn.Conv2d(1, 4, 3, padding=1, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 1, 8, 8))).shape
    (5, 4, 8, 8)
    """

    @explain_missing_rng
    def __init__(
        self, inputs: int, outputs: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes | str = 0,
        dilation: Sizes = 1, groups: int = 1, bias: bool = True, *, rng: np.random.Generator,
        init: Initialiser = initialisers.he_normal, dtype: DTypeLike = float,
    ) -> None:  # fmt: skip
        whole_numbers("Conv2d", inputs=inputs, outputs=outputs, groups=groups)
        kernel = each("Conv2d", "kernel_size", kernel_size, 2, 1)
        shareable("Conv2d", f"{inputs} channels in, {outputs} out", math.gcd(inputs, outputs), groups)
        shape = (outputs, inputs // groups, *kernel)
        self.weight = Variable(init(generator("Conv2d", rng), shape, dtype), copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x: Array) -> Node:
        """(n, inputs, height, width) -> (n, outputs, height', width')"""
        expect(self, x, "n", self.weight.shape[1] * self.groups, "height", "width")
        return functions.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def __repr__(self) -> str:
        outputs, inputs, *kernel = self.weight.shape
        return f"Conv2d({inputs * self.groups}, {outputs}, {tuple(kernel)})"


class ConvTranspose2d(Module):
    """:func:`~autoflow.nn.conv_transpose2d` with its weight (inputs, outputs / groups, k, k) and bias (outputs,).

    >>> from autoflow import nn
    >>> layer = nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 4, 8, 8))).shape
    (5, 1, 16, 16)
    """

    @explain_missing_rng
    def __init__(
        self, inputs: int, outputs: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
        output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1, *,
        rng: np.random.Generator, init: Initialiser = initialisers.he_normal, dtype: DTypeLike = float,
    ) -> None:  # fmt: skip
        whole_numbers("ConvTranspose2d", inputs=inputs, outputs=outputs, groups=groups)
        kernel = each("ConvTranspose2d", "kernel_size", kernel_size, 2, 1)
        shareable("ConvTranspose2d", f"{inputs} channels in, {outputs} out", math.gcd(inputs, outputs), groups)
        weight = init(generator("ConvTranspose2d", rng), (outputs, inputs // groups, *kernel), dtype)
        weight = weight.reshape((groups, outputs // groups, inputs // groups, *kernel)).swapaxes(1, 2)
        weight = np.ascontiguousarray(weight).reshape((inputs, outputs // groups, *kernel))
        self.weight = Variable(weight, copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.dilation, self.groups = dilation, groups

    def forward(self, x: Array) -> Node:
        """(n, inputs, height, width) -> (n, outputs, height', width')"""
        expect(self, x, "n", self.weight.shape[0], "height", "width")
        how = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return functions.conv_transpose2d(x, self.weight, self.bias, *how)

    def __repr__(self) -> str:
        inputs, outputs, *kernel = self.weight.shape
        return f"ConvTranspose2d({inputs}, {outputs * self.groups}, {tuple(kernel)})"


class BatchNorm(Module):
    """:func:`~autoflow.nn.batch_norm` of (n, channels, ...): the batch's own mean in training, the running mean in
    evaluation.

    >>> from autoflow import nn
    >>> layer = nn.BatchNorm(1)
    >>> layer(np.array([[1.0], [3.0]])).value.round(3).tolist()
    [[-1.0], [1.0]]
    >>> layer.running_mean
    array([0.2])
    """

    _form = "BatchNorm({0.weight.shape[0]})"

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1, *, dtype: DTypeLike = float) -> None:
        whole_numbers("BatchNorm", channels=channels)
        self.weight, self.bias = ones_and_zeros(channels, dtype)
        self.running_mean, self.running_var = np.zeros(channels, dtype), np.ones(channels, dtype)
        self.eps, self.momentum = eps, momentum

    def forward(self, x: Array) -> Node:
        """(n, channels, ...) -> the same shape"""
        expect(self, x, "n", self.weight.shape[0], "...")
        arrays = self.running_mean, self.running_var, self.weight, self.bias
        return functions.batch_norm(x, *arrays, self.training, self.momentum, self.eps)


class LayerNorm(Module):
    """:func:`~autoflow.nn.layer_norm` over the last axes, with weight and bias of their shape.

    >>> from autoflow import nn
    >>> nn.LayerNorm(2)(np.array([1.0, 3.0])).value.round(3)
    array([-1.,  1.])
    """

    _form = "LayerNorm({0.shape})"

    def __init__(self, shape: int | Sequence[int], eps: float = 1e-5, *, dtype: DTypeLike = float) -> None:
        self.weight, self.bias = ones_and_zeros(shape, dtype)
        self.shape, self.eps = self.weight.shape, eps

    def forward(self, x: Array) -> Node:
        """(..., *shape) -> the same shape"""
        expect(self, x, "...", *self.shape)
        return functions.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class GroupNorm(Module):
    """:func:`~autoflow.nn.group_norm` of (n, channels, ...) in ``groups``, with weight and bias (channels,).

    >>> from autoflow import nn
    >>> nn.GroupNorm(2, 4)(np.array([[1.0, 3.0, 10.0, 30.0]])).value.round(3)
    array([[-1.,  1., -1.,  1.]])
    """

    _form = "GroupNorm({0.groups}, {0.weight.shape[0]})"

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, *, dtype: DTypeLike = float) -> None:
        whole_numbers("GroupNorm", groups=groups, channels=channels)
        shareable("GroupNorm", f"{channels} channels", channels, groups)
        self.weight, self.bias = ones_and_zeros(channels, dtype)
        self.groups, self.eps = groups, eps

    def forward(self, x: Array) -> Node:
        """(n, channels, ...) -> the same shape"""
        expect(self, x, "n", self.weight.shape[0], "...")
        return functions.group_norm(x, self.groups, self.weight, self.bias, self.eps)


class Dropout(Module):
    """:func:`~autoflow.nn.dropout` in training; does nothing in evaluation.

    >>> from autoflow import nn
    >>> layer = nn.Dropout(0.5, rng=np.random.default_rng(0))
    >>> layer(np.ones(4)), layer.eval()(np.ones(4))
    (array([2., 0., 0., 0.]), array([1., 1., 1., 1.]))
    """

    _form = "Dropout({0.p})"

    @explain_missing_rng
    def __init__(self, p: float = 0.5, *, rng: np.random.Generator) -> None:
        self.p, self.rng = probability("Dropout", p), generator("Dropout", rng)

    def forward(self, x: Array) -> Node:
        """Any shape -> the same shape"""
        floats(self, x)
        return functions.dropout(x, self.p, self.training, rng=self.rng)


class Embedding(Module):
    """A learned vector for each of ``rows`` things. Shapes: x (...) integers, weight (rows, size), result (..., size).

    >>> from autoflow import nn
    >>> nn.Embedding(10, 3, rng=np.random.default_rng(0))(np.array([[1, 2], [2, 9]])).shape
    (2, 2, 3)
    """

    _form = "Embedding({0.weight.shape[0]}, {0.weight.shape[1]})"

    @explain_missing_rng
    def __init__(self, rows: int, size: int, *, rng: np.random.Generator, dtype: DTypeLike = float) -> None:
        whole_numbers("Embedding", rows=rows, size=size)
        weight = generator("Embedding", rng).normal(size=(rows, size)).astype(initialisers.float_dtype(dtype))
        self.weight = Variable(weight, copy=False)

    def forward(self, x: Array) -> Node:
        """(...) integers -> (..., size)"""
        return self.weight[labels(self, x, self.weight.shape[0])]


class Sequential(Module):
    """One after the other: modules, or any functions of one array.

    >>> from autoflow import nn
    >>> rng = np.random.default_rng(0)
    >>> nn.Sequential(nn.Linear(2, 3, rng=rng), nn.relu, nn.Linear(3, 1, rng=rng))
    Sequential(Linear(2, 3), relu, Linear(3, 1))
    """

    def __init__(self, *layers: Callable[[Array], Array]) -> None:
        for k, layer in enumerate(layers):
            check_kind("Sequential", "__call__", "a Module or another function of x", **{f"part {k}": layer})
            if isinstance(layer, Module) and not layer.label:
                layer.label = f"{type(layer).__name__}_{k}"
        self.layers = list(layers)

    def forward(self, x: Array) -> Node:
        """The result of the last."""
        for layer in self.layers:
            x = layer(x)
        return x

    def _parts(self) -> Iterable[tuple[Any, Any]]:
        """Layers are named by their numbers, as in PyTorch: ``"0.weight"``."""
        others = [(name, value) for name, value in super()._parts() if name != "layers"]
        return [*enumerate(vars(self).get("layers", ())), *others]

    def __getitem__(self, k: int) -> Any:
        return self.layers[k]

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        names = [getattr(f, "__name__", repr(f)) if not isinstance(f, Module) else repr(f) for f in self.layers]
        return f"Sequential({', '.join(names)})"


# ---------------------------------------------------------------- recurrent layers


class Recurrent(Module):
    """What RNN, LSTM and GRU share: weights for ``gates`` vectors of size ``hidden``, and checks."""

    def __init__(self, inputs: int, hidden: int, gates: int, rng: np.random.Generator, dtype: DTypeLike) -> None:
        who = type(self).__name__
        whole_numbers(who, inputs=inputs, hidden=hidden)
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
        expect(self, x, "n", "time", self.weight_ih.shape[1])
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
    """All steps as one array (n, time, hidden), even without steps."""
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
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: DTypeLike = float) -> None:
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
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: DTypeLike = float) -> None:
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
    def __init__(self, inputs: int, hidden: int, *, rng: np.random.Generator, dtype: DTypeLike = float) -> None:
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


# ---------------------------------------------------------------- attention, and the block of a transformer


class MultiHeadAttention(Module):
    """Each of ``heads`` heads has size / heads features of its own: softmax(Qₕ Kₕᵀ / √d + mask) Vₕ. Then one more
    matrix mixes all of them. Q, K, V are query, key, value times the three squares of ``in_proj_weight``.

    Shapes: query (..., l, size), key and value (..., s, size), by default the query itself; result (..., l, size).
    ``attn_mask``: broadcasts to (..., l, s), the same for all heads; boolean (True: may be seen) or floats that are
    added. To hide the padding of short sequences, give (n, 1, s). ``in_proj_weight`` is (3 size, size),
    ``in_proj_bias`` (3 size,), ``out_proj`` a Linear. ``dropout``: probability with which an attention weight is set to
    0, in training. Source: Vaswani et al., NIPS 2017.

    >>> from autoflow import nn
    >>> layer = nn.MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3, 8)), is_causal=True).shape
    (5, 3, 8)
    """

    _form = "MultiHeadAttention({0.size}, {0.heads})"

    @explain_missing_rng
    def __init__(
        self, size: int, heads: int, dropout: float = 0.0, bias: bool = True, *, rng: np.random.Generator,
        dtype: DTypeLike = float,
    ) -> None:  # fmt: skip
        whole_numbers("MultiHeadAttention", size=size, heads=heads)
        shareable("MultiHeadAttention", f"size {size}", size, heads, "heads")
        self.rng = generator("MultiHeadAttention", rng)
        squares = [initialisers.glorot_uniform(rng, (size, size), dtype) for _ in range(3)]
        self.in_proj_weight = Variable(np.concatenate(squares), copy=False)
        self.in_proj_bias = Variable(np.zeros(3 * size, dtype), copy=False) if bias else None
        self.out_proj = Linear(size, size, bias, rng=rng, dtype=dtype)
        self.heads, self.dropout = heads, probability("MultiHeadAttention", dropout)

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.in_proj_weight.shape[1])

    def forward(
        self, query: Array, key: Array = None, value: Array = None, attn_mask: Array = None, is_causal: bool = False
    ) -> Node:
        """(..., l, size), twice (..., s, size) -> (..., l, size)"""
        key = query if key is None else key
        value = key if value is None else value
        for name, x in (("query", query), ("key", key), ("value", value)):
            expect(self, x, "...", "length", self.size, what=name)
        if attn_mask is not None and np.ndim(attn_mask) > 2:
            attn_mask = np.expand_dims(attn_mask, -3)  # for the heads
        q, k, v = [self.split(x, part) for part, x in enumerate((query, key, value))]
        p = self.dropout if self.training else 0.0
        z = functions.scaled_dot_product_attention(q, k, v, attn_mask, p, is_causal, rng=self.rng)
        z = z.swapaxes(-2, -3)
        return self.out_proj(z.reshape((*z.shape[:-2], self.size)))

    def split(self, x: Array, part: int) -> Node:
        """Q, K or V, with an axis for the heads: (..., l, size) -> (..., heads, l, size / heads)"""
        rows = slice(part * self.size, (part + 1) * self.size)
        z = x @ self.in_proj_weight[rows].T
        z = z if self.in_proj_bias is None else z + self.in_proj_bias[rows]
        return z.reshape((*z.shape[:-1], self.heads, self.size // self.heads)).swapaxes(-2, -3)


class TransformerBlock(Module):
    """x + attention(norm(x)), followed by the same with a small network: x + W₂ a(W₁ norm(x)). A transformer is many of
    these blocks.

    Shapes: x (..., length, size), result the same. ``hidden``: the size within the network, 4 size by default.
    ``norm_first=False`` takes the norm of each sum instead, as in Vaswani et al., NIPS 2017 (and PyTorch's
    ``TransformerEncoderLayer`` by default, with relu); the norm within, which trains more easily, is that of Xiong et
    al., ICML 2020. Dropout acts on the weights of the attention, within the network, and on what is added.

    >>> from autoflow import nn
    >>> block = nn.TransformerBlock(8, 2, rng=np.random.default_rng(0))
    >>> block(np.ones((5, 3, 8)), is_causal=True).shape
    (5, 3, 8)
    """

    _form = "TransformerBlock({0.self_attn.size}, {0.self_attn.heads})"

    @explain_missing_rng
    def __init__(
        self, size: int, heads: int, hidden: int | None = None, dropout: float = 0.0,
        activation: Callable[[Array], Array] = gelu, norm_first: bool = True, *, rng: np.random.Generator,
        dtype: DTypeLike = float,
    ) -> None:  # fmt: skip
        hidden = 4 * size if hidden is None else hidden
        self.self_attn = MultiHeadAttention(size, heads, dropout, rng=rng, dtype=dtype)
        self.linear1 = Linear(size, hidden, rng=rng, dtype=dtype)
        self.linear2 = Linear(hidden, size, rng=rng, dtype=dtype)
        self.norm1, self.norm2 = LayerNorm(size, dtype=dtype), LayerNorm(size, dtype=dtype)
        self.activation, self.norm_first = activation, norm_first

    def forward(self, x: Array, attn_mask: Array = None, is_causal: bool = False) -> Node:
        """(..., length, size) -> the same shape"""
        expect(self, x, "...", "length", self.self_attn.size)

        def attend(y: Array) -> Array:
            return self.drop(self.self_attn(y, attn_mask=attn_mask, is_causal=is_causal))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + self.network(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + self.network(x))

    def network(self, x: Array) -> Node:
        """W₂ a(W₁ x), with dropout."""
        return self.drop(self.linear2(self.drop(self.activation(self.linear1(x)))))

    def drop(self, x: Array) -> Node:
        """Dropout, of the same probability everywhere."""
        return functions.dropout(x, self.self_attn.dropout, self.training, rng=self.self_attn.rng)
