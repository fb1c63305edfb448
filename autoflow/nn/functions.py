"""The functions that networks are made of, each a formula in NumPy.

They take arrays and nodes, keep float32 as float32, and can be differentiated as often as you like. Those with a row
of their own (relu, sigmoid, softmax ...) are in ``fused.py``; convolution and pooling in ``windows.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..modes import modes
from ..nodes.nodes import Node
from .checks import floats, generator, labels, numbers_of, probability, shape_is
from .fused import erf, sigmoid, softmax

Array = Any


def tanh(x: Array) -> Node:
    """(eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), elementwise; any shape: NumPy's own.

    >>> tanh(np.array([0.0, 1000.0]))
    array([0., 1.])
    """
    return np.tanh(x)


def softplus(x: Array, beta: float = 1.0) -> Node:
    """log(1 + e^(βx)) / β, elementwise; any shape: a smooth relu. Its derivative is the sigmoid of βx.

    Source: Dugas et al., NIPS 2000.

    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.6931471805599453, 1000.0]
    """
    return np.logaddexp(x, 0.0) if beta == 1 else np.logaddexp(beta * x, 0.0) / beta


def elu(x: Array, alpha: float = 1.0) -> Node:
    """x for x > 0, else α (eˣ − 1), elementwise; any shape. Its derivative at 0 is α.

    The exponential is computed only where it is needed, so it cannot overflow. Source: Clevert, Unterthiner and
    Hochreiter, ICLR 2016.

    >>> elu(np.array([-1000.0, 0.0, 1000.0]))
    array([  -1.,    0., 1000.])
    """
    positive = numbers_of(x) > 0
    z: Any = np.where(positive, x, alpha * np.expm1(np.where(positive, 0, x)))
    return z


def silu(x: Array) -> Node:
    """x σ(x), elementwise; any shape. Also called swish. Source: Elfwing, Uchibe and Doya, 2018.

    >>> silu(np.array([-1000.0, 0.0, 1000.0]))
    array([  -0.,    0., 1000.])
    """
    return x * sigmoid(x)


def gelu(x: Array, approximate: str = "none") -> Node:
    """x Φ(x), Φ the distribution function of the normal distribution: x (1 + erf(x/√2)) / 2; elementwise, any shape.

    ``approximate="tanh"`` is x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, right to three digits and several times
    as fast. Source: Hendrycks and Gimpel, arXiv 1606.08415.

    >>> gelu(np.array([-1.0, 0.0, 1.0]))
    array([-0.15865525,  0.        ,  0.84134475])
    """
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    if approximate != "none":
        raise InputError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def dropout(x: Array, p: float = 0.5, training: bool = True, *, rng: np.random.Generator | None = None) -> Node:
    """Sets each element to 0 with probability p, and divides it by 1 − p otherwise, so that the mean stays; shape of x.

    Without ``training`` it returns x itself. Source: Srivastava et al., JMLR 15, 2014.

    >>> dropout(np.ones(6), 0.5, rng=np.random.default_rng(0))
    array([2., 0., 0., 0., 2., 2.])
    """
    probability("dropout", p)
    if not training or p == 0:
        return x
    kept = generator("dropout", rng).random(x.shape) >= p
    return x * (kept / max(1 - p, np.finfo(float).tiny)).astype(x.dtype)


def layer_norm(
    x: Array, normalized_shape: int | Sequence[int], weight: Array = None, bias: Array = None, eps: float = 1e-5
) -> Node:
    """(x − mean) / √(variance + ε) ⊙ weight + bias, mean and variance over the last axes of each example.

    Shapes: x (..., *normalized_shape), weight and bias normalized_shape. Source: Ba, Kiros and Hinton, 2016.

    >>> layer_norm(np.array([[1.0, 3.0], [10.0, 30.0]]), 2).round(3)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    floats("layer_norm", x)
    shape_is("layer_norm", x, "...", *shape)
    return standardise(x, tuple(range(-len(shape), 0)), weight, bias, eps)


def group_norm(x: Array, num_groups: int, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Node:
    """(x − mean) / √(variance + ε) ⊙ weight + bias, mean and variance over groups of channels of each example.

    Shapes: x (n, channels, ...), weight and bias (channels,). One group is a layer norm of the whole example, as many
    groups as channels an instance norm. Raises InputError if the channels cannot be shared evenly. Source: Wu and He,
    ECCV 2018.

    >>> group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2).round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    floats("group_norm", x)
    shape_is("group_norm", x, "n", "channels", "...")
    n, channels, *size = x.shape
    if num_groups < 1 or channels % num_groups:
        raise InputError(f"group_norm: {channels} channels cannot be shared among {num_groups} groups")
    groups = x.reshape((n, num_groups, channels // num_groups, *size))
    z = standardise(groups, tuple(range(2, groups.ndim)), None, None, eps).reshape(x.shape)
    for name, y in (("weight", weight), ("bias", bias)):
        if y is not None:
            shape_is("group_norm", y, channels, what=name)
    weight, bias = [None if y is None else y.reshape((channels, *[1] * len(size))) for y in (weight, bias)]
    return scale_and_shift(z, weight, bias)


def standardise(x: Array, axis: tuple[int, ...], weight: Array, bias: Array, eps: float) -> Array:
    """Mean 0 and variance 1 along ``axis``, then scaled and shifted."""
    x = x - np.mean(x, axis=axis, keepdims=True)
    return scale_and_shift(x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + eps), weight, bias)


def scale_and_shift(x: Array, weight: Array, bias: Array) -> Array:
    """x ⊙ weight + bias, without what is None."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def batch_norm(
    x: Array, running_mean: Array = None, running_var: Array = None, weight: Array = None, bias: Array = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Node:  # fmt: skip
    """(x − mean) / √(variance + ε) ⊙ weight + bias, mean and variance of each channel.

    Shapes: x (n, channels, ...), everything else (channels,). In ``training`` mean and variance are those of the batch,
    and the running ones, plain arrays, move towards them by ``momentum`` in place (the variance divided by n − 1, as
    in PyTorch; not again when a checkpoint repeats its run). Otherwise the running ones are used. Source: Ioffe and
    Szegedy, ICML 2015.

    >>> batch_norm(np.array([[1.0], [3.0]]), training=True).round(3).tolist()
    [[-1.0], [1.0]]
    """
    floats("batch_norm", x)
    shape_is("batch_norm", x, "n", "channels", "...")
    shape = (x.shape[1], *[1] * (x.ndim - 2))  # how what belongs to channels is laid out
    weight, bias = [None if y is None else y.reshape(shape) for y in (weight, bias)]
    axis = (0, *range(2, x.ndim))
    if not training:
        if running_mean is None or running_var is None:
            raise InputError("batch_norm without training needs running_mean and running_var")
        mean, variance = running_mean.reshape(shape), running_var.reshape(shape)
        return scale_and_shift((x - mean) / np.sqrt(variance + eps), weight, bias)
    n = x.size // max(x.shape[1], 1)
    if n < 2:
        raise InputError(f"batch_norm in training needs more than one value per channel, got input of shape {x.shape}")
    if running_mean is not None and running_var is not None and not modes().repeating:
        running_mean += momentum * (np.mean(numbers_of(x), axis=axis) - running_mean)
        running_var += momentum * (np.var(numbers_of(x), axis=axis, ddof=1) - running_var)
    return standardise(x, axis, weight, bias, eps)


def embedding(x: Array, weight: Array) -> Node:
    """Row ``x[i]`` of ``weight`` for each i. Shapes: x (...) integers, weight (rows, size), result (..., size).

    A row that is looked up several times receives the sum of the gradients.

    >>> embedding(np.array([2, 0]), np.array([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]]))
    array([[2. , 2.1],
           [0. , 0.1]])
    """
    return weight[labels("embedding", x, weight.shape[0])]


def scaled_dot_product_attention(
    query: Array, key: Array, value: Array, attn_mask: Array = None, dropout_p: float = 0.0, is_causal: bool = False,
    *, scale: float | None = None, rng: np.random.Generator | None = None,
) -> Node:  # fmt: skip
    """softmax(Q Kᵀ · scale + mask) V, scale = 1/√d: for each query the mean of the values, weighted by how well their
    keys fit.

    Shapes: query (..., l, d), key (..., s, d), value (..., s, e), result (..., l, e); a mask that broadcasts to
    (..., l, s): boolean (True: may be seen) or floats that are added. ``is_causal``: query i sees keys 0 ... i.
    A query without any visible key gets zeros. Source: Vaswani et al., NIPS 2017.

    >>> x = np.eye(2)
    >>> scaled_dot_product_attention(x, x, x, is_causal=True).round(3)
    array([[1.  , 0.  ],
           [0.33, 0.67]])
    """
    who = "scaled_dot_product_attention"
    for name, x in (("query", query), ("key", key), ("value", value)):
        floats(f"{who}: {name}", x)
    shape_is(who, key, "...", "s", query.shape[-1], what="key")
    shape_is(who, value, "...", key.shape[-2], "e", what="value")
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        if attn_mask is not None:
            raise InputError(f"{who}: give attn_mask or is_causal, not both")
        attn_mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    weights: Any
    if attn_mask is None:
        weights = softmax(scores)
    elif attn_mask.dtype.kind == "b":
        seeing = numbers_of(attn_mask)
        nothing = ~seeing.any(axis=-1, keepdims=True)  # then a softmax would be 0/0: let it see all, and drop that
        weights = np.where(nothing, 0, softmax(np.where(seeing | nothing, scores, -np.inf)))
    else:
        weights = softmax(scores + attn_mask)
    return (dropout(weights, dropout_p, rng=rng) if dropout_p else weights) @ value
