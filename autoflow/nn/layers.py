"""Layers: a function and its parameters. The function's docstring says what is computed.

Every layer with random numbers takes ``rng``, one Generator for all; ``dtype=np.float32`` saves memory, and time on a
GPU. Names and shapes of the parameters are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..nodes.nodes import Node, Variable
from . import init as initialisers
from .checks import explain_missing_rng, floats, generator, labels, probability, shape_is
from .functions import batch_norm, dropout, group_norm, layer_norm
from .module import Module, walk
from .windows import conv2d, conv_transpose2d, each

Array = Any
Initialiser = Callable[..., Array]


def positive(who: str, **sizes: int) -> None:
    """Refuse sizes that are not whole numbers of at least 1."""
    for name, n in sizes.items():
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"{who}: {name} is a number of things, at least 1, not {n!r}")


class Linear(Module):
    """x Wᵀ + b. Shapes: x (..., inputs), weight (outputs, inputs), bias (outputs,), result (..., outputs).

    >>> from autoflow import nn
    >>> layer = nn.Linear(3, 2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3))).shape
    (5, 2)
    """

    @explain_missing_rng
    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, *, rng: np.random.Generator,
        init: Initialiser = initialisers.glorot_uniform, dtype: Any = float,
    ) -> None:  # fmt: skip
        positive("Linear", inputs=inputs, outputs=outputs)
        self.weight = Variable(init(generator("Linear", rng), (outputs, inputs), dtype), copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None

    def forward(self, x: Array) -> Node:
        """(..., inputs) -> (..., outputs)"""
        floats(self, x)
        shape_is(self, x, "...", self.weight.shape[1])
        z = x @ self.weight.T
        return z if self.bias is None else z + self.bias

    def __repr__(self) -> str:
        outputs, inputs = self.weight.shape
        return f"Linear({inputs}, {outputs})"


class Conv2d(Module):
    """:func:`~autoflow.nn.conv2d` with its weight (outputs, inputs / groups, k, k) and bias (outputs,).

    >>> from autoflow import nn
    >>> layer = nn.Conv2d(1, 4, 3, padding=1, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 1, 8, 8))).shape
    (5, 4, 8, 8)
    """

    @explain_missing_rng
    def __init__(
        self, inputs: int, outputs: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
        *, rng: np.random.Generator, init: Initialiser = initialisers.he_normal, dtype: Any = float,
    ) -> None:  # fmt: skip
        positive("Conv2d", inputs=inputs, outputs=outputs, groups=groups)
        kernel = each("Conv2d", "kernel_size", kernel_size, 2, 1)
        if inputs % groups or outputs % groups:
            raise InputError(f"Conv2d: {inputs} channels in, {outputs} out cannot be shared among {groups} groups")
        shape = (outputs, inputs // groups, *kernel)
        self.weight = Variable(init(generator("Conv2d", rng), shape, dtype), copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x: Array) -> Node:
        """(n, inputs, height, width) -> (n, outputs, height', width')"""
        floats(self, x)
        shape_is(self, x, "n", self.weight.shape[1] * self.groups, "height", "width")
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

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
        self, inputs: int, outputs: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
        dilation: int | Sequence[int] = 1, *, rng: np.random.Generator, init: Initialiser = initialisers.he_normal,
        dtype: Any = float,
    ) -> None:  # fmt: skip
        positive("ConvTranspose2d", inputs=inputs, outputs=outputs, groups=groups)
        kernel = each("ConvTranspose2d", "kernel_size", kernel_size, 2, 1)
        if inputs % groups or outputs % groups:
            raise InputError(
                f"ConvTranspose2d: {inputs} channels in, {outputs} out cannot be shared among {groups} groups"
            )
        weight = init(generator("ConvTranspose2d", rng), (outputs // groups, inputs, *kernel), dtype)
        self.weight = Variable(np.ascontiguousarray(weight.swapaxes(0, 1)), copy=False)
        self.bias = Variable(np.zeros(outputs, dtype), copy=False) if bias else None
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.dilation, self.groups = dilation, groups

    def forward(self, x: Array) -> Node:
        """(n, inputs, height, width) -> (n, outputs, height', width')"""
        floats(self, x)
        shape_is(self, x, "n", self.weight.shape[0], "height", "width")
        return conv_transpose2d(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )

    def __repr__(self) -> str:
        inputs, outputs, *kernel = self.weight.shape
        return f"ConvTranspose2d({inputs}, {outputs * self.groups}, {tuple(kernel)})"


class BatchNorm(Module):
    """:func:`~autoflow.nn.batch_norm` of (n, channels, ...): the batch's own mean in training, the running mean in use.

    >>> from autoflow import nn
    >>> layer = nn.BatchNorm(1)
    >>> layer(np.array([[1.0], [3.0]])).value.round(3).tolist()
    [[-1.0], [1.0]]
    >>> layer.running_mean
    array([0.2])
    """

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1, *, dtype: Any = float) -> None:
        positive("BatchNorm", channels=channels)
        self.weight = Variable(np.ones(channels, dtype), copy=False)
        self.bias = Variable(np.zeros(channels, dtype), copy=False)
        self.running_mean, self.running_var = np.zeros(channels, dtype), np.ones(channels, dtype)
        self.eps, self.momentum = eps, momentum

    def forward(self, x: Array) -> Node:
        """(n, channels, ...) -> the same shape"""
        floats(self, x)
        shape_is(self, x, "n", self.weight.shape[0], "...")
        return batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )

    def __repr__(self) -> str:
        return f"BatchNorm({self.weight.shape[0]})"


class LayerNorm(Module):
    """:func:`~autoflow.nn.layer_norm` over the last axes, with weight and bias of their shape.

    >>> from autoflow import nn
    >>> nn.LayerNorm(2)(np.array([1.0, 3.0])).value.round(3)
    array([-1.,  1.])
    """

    def __init__(self, shape: int | Sequence[int], eps: float = 1e-5, *, dtype: Any = float) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.weight = Variable(np.ones(self.shape, dtype), copy=False)
        self.bias = Variable(np.zeros(self.shape, dtype), copy=False)
        self.eps = eps

    def forward(self, x: Array) -> Node:
        """(..., *shape) -> the same shape"""
        floats(self, x)
        shape_is(self, x, "...", *self.shape)
        return layer_norm(x, self.shape, self.weight, self.bias, self.eps)

    def __repr__(self) -> str:
        return f"LayerNorm({self.shape})"


class GroupNorm(Module):
    """:func:`~autoflow.nn.group_norm` of (n, channels, ...) in ``groups``, with weight and bias (channels,).

    >>> from autoflow import nn
    >>> nn.GroupNorm(2, 4)(np.array([[1.0, 3.0, 10.0, 30.0]])).value.round(3)
    array([[-1.,  1., -1.,  1.]])
    """

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, *, dtype: Any = float) -> None:
        positive("GroupNorm", groups=groups, channels=channels)
        if channels % groups:
            raise InputError(f"GroupNorm: {channels} channels cannot be shared among {groups} groups")
        self.weight = Variable(np.ones(channels, dtype), copy=False)
        self.bias = Variable(np.zeros(channels, dtype), copy=False)
        self.groups, self.eps = groups, eps

    def forward(self, x: Array) -> Node:
        """(n, channels, ...) -> the same shape"""
        floats(self, x)
        shape_is(self, x, "n", self.weight.shape[0], "...")
        return group_norm(x, self.groups, self.weight, self.bias, self.eps)

    def __repr__(self) -> str:
        return f"GroupNorm({self.groups}, {self.weight.shape[0]})"


class Dropout(Module):
    """:func:`~autoflow.nn.dropout` in training; does nothing in use.

    >>> from autoflow import nn
    >>> layer = nn.Dropout(0.5, rng=np.random.default_rng(0))
    >>> layer(np.ones(4)), layer.eval()(np.ones(4))
    (array([2., 0., 0., 0.]), array([1., 1., 1., 1.]))
    """

    @explain_missing_rng
    def __init__(self, p: float = 0.5, *, rng: np.random.Generator) -> None:
        self.p, self.rng = probability("Dropout", p), generator("Dropout", rng)

    def forward(self, x: Array) -> Node:
        """Any shape -> the same shape"""
        floats(self, x)
        return dropout(x, self.p, self.training, rng=self.rng)

    def __repr__(self) -> str:
        return f"Dropout({self.p})"


class Embedding(Module):
    """A learned vector for each of ``rows`` things. Shapes: x (...) integers, weight (rows, size), result (..., size).

    >>> from autoflow import nn
    >>> nn.Embedding(10, 3, rng=np.random.default_rng(0))(np.array([[1, 2], [2, 9]])).shape
    (2, 2, 3)
    """

    @explain_missing_rng
    def __init__(self, rows: int, size: int, *, rng: np.random.Generator, dtype: Any = float) -> None:
        positive("Embedding", rows=rows, size=size)
        weight = generator("Embedding", rng).normal(size=(rows, size)).astype(dtype)
        self.weight = Variable(weight, copy=False)

    def forward(self, x: Array) -> Node:
        """(...) integers -> (..., size)"""
        return self.weight[labels(self, x, self.weight.shape[0])]

    def __repr__(self) -> str:
        rows, size = self.weight.shape
        return f"Embedding({rows}, {size})"


class Sequential(Module):
    """One after the other: modules, or any functions of one array.

    >>> from autoflow import nn
    >>> rng = np.random.default_rng(0)
    >>> nn.Sequential(nn.Linear(2, 3, rng=rng), nn.relu, nn.Linear(3, 1, rng=rng))
    Sequential(Linear(2, 3), relu, Linear(3, 1))
    """

    def __init__(self, *layers: Callable[[Array], Array]) -> None:
        for k, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(f"Sequential: part {k} cannot be called: {layer!r:.60}")
            if isinstance(layer, Module) and not layer.label:
                layer.label = f"{type(layer).__name__}_{k}"
        self.layers = list(layers)

    def forward(self, x: Array) -> Node:
        """The result of the last."""
        for layer in self.layers:
            x = layer(x)
        return x

    def _walk(self, path: str) -> Iterator[tuple[str, Any]]:
        """Parts are named by their numbers, as in PyTorch: ``"0.weight"``."""
        for k, layer in enumerate(self.layers):
            yield from walk(f"{path}{k}", layer)

    def __getitem__(self, k: int) -> Any:
        return self.layers[k]

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        names = [getattr(f, "__name__", repr(f)) if not isinstance(f, Module) else repr(f) for f in self.layers]
        return f"Sequential({', '.join(names)})"
