"""The functions that networks are made of, each a formula in NumPy.

They take arrays and nodes, keep float32 as float32, and can be differentiated as often as you like.

First those with a row of their own. All of them could be composed of NumPy's functions. They have rows where that is
better: relu and leaky_relu because the composed ``np.maximum(x, 0)`` shares the gradient at 0, where 0 is expected;
sigmoid, softmax and log_softmax because their derivative in terms of their result is the formula that is taught, needs
no care for large arguments, and is one node in a picture; erf because NumPy lacks it. Then those composed of others.

Convolution and pooling look at an image through a small window at every place. Instead of moving the window over the
image, take for each place *within the window* the slice of the image that it sees as the window moves. For a window of
3 × 3 that is nine slices, stacked into one array with an axis for the nine; a convolution is then one matrix product
with that axis, max pooling is a maximum over it. Everything is a slice, a stack or a product, so the derivatives need
no further thought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.registry import family_of
from ..base.errors import DataError, InputError
from ..base.modes import modes
from ..nodes.nodes import Array, Node
from ..table.table import primitive, rule
from .module import expect, floats, generator, labels, numbers_of, probability, shape_is, shareable

__all__ = [
    "avg_pool2d", "batch_norm", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "dropout", "elu",
    "embedding", "erf", "gelu", "group_norm", "layer_norm", "leaky_relu", "log_softmax", "max_pool2d", "relu",
    "scaled_dot_product_attention", "sigmoid", "silu", "softmax", "softplus", "tanh",
]  # fmt: skip

# ---------------------------------------------------------------- functions with a row of their own

ERF = np.frompyfunc(math.erf, 1, 1)


def real(name: str, x: Any) -> Any:
    """x; integers and booleans, whose small types overflow, as floats. Refuse complex numbers: these functions choose
    by size or sign."""
    kind = getattr(getattr(x, "dtype", None), "kind", "f")  # Python's numbers have no dtype
    if kind == "c":
        raise DataError(f"{name} is a function of real numbers, got {x.dtype}: take np.abs, np.real or np.imag first")
    return x.astype(float) if kind in "iub" else x


def single(x: Any) -> Any:
    """x, or float32 for float16: as in PyTorch, squares do not overflow then, and long sums do not stop growing."""
    return x.astype(np.float32) if getattr(x, "dtype", None) == np.float16 else x


@primitive
def relu(x: Array, /) -> Node:
    """max(x, 0), elementwise; any shape. Its derivative is 1 for x > 0, else 0, also at 0.

    Source: Nair and Hinton, ICML 2010.

    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    >>> x = af.Variable([-1.0, 0.0, 2.0])
    >>> relu(x).backward()
    >>> x.grad
    array([0., 0., 1.])
    """
    real("relu", x)
    return np.maximum(x, 0)


@primitive
def leaky_relu(x: Array, /, slope: float = 0.01) -> Node:
    """x for x > 0, else slope · x, elementwise; any shape. Its derivative at 0 is ``slope``.

    Source: Maas, Hannun and Ng, ICML 2013.

    >>> leaky_relu(np.array([-1.0, 0.0, 2.0]))
    array([-0.01,  0.  ,  2.  ])
    """
    real("leaky_relu", x)
    z: Any = np.where(np.greater(x, 0), x, slope * x)
    return z


@primitive
def sigmoid(x: Array, /) -> Node:
    """σ(x) = 1 / (1 + e⁻ˣ), elementwise; any shape. σ'(x) = σ(x) (1 − σ(x)).

    For negative x it is written e^x / (1 + e^x): then the exponential never overflows, and small results keep all
    their digits.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    x = real("sigmoid", x)
    e = np.exp(-np.absolute(x))
    return np.where(np.greater_equal(x, 0), 1, e) / (1 + e)


@primitive
def erf(x: Array, /) -> Node:
    """The error function (2/√π) ∫₀ˣ e^(−t²) dt, elementwise; any shape. From Python's math module: 60 ns a number.

    >>> erf(np.array([0.0, 1.0]))
    array([0.        , 0.84270079])
    """
    x = real("erf", x)
    family = family_of(x)
    return python_erf(x) if family is None else family.call(python_erf, x)


def python_erf(x: Any) -> Array:
    """Python's erf of every element of a NumPy array."""
    return np.asarray(ERF(x), getattr(x, "dtype", None) or float)


python_erf.__name__ = "erf"  # its name in other libraries


@primitive
def softmax(x: Array, /, axis: int = -1) -> Node:
    """eˣⁱ / Σⱼ eˣʲ along ``axis``: positive numbers that add up to 1; shape of x.

    The largest x is subtracted first, which changes nothing but keeps the exponentials at most 1.
    ∂zᵢ/∂xⱼ = zᵢ (δᵢⱼ − zⱼ), so the gradient is z ⊙ (g − Σ g ⊙ z).

    >>> softmax(np.array([1000.0, 1000.0, -1000.0]))
    array([0.5, 0.5, 0. ])
    """
    wide = single(x := real("softmax", x))
    if not np.size(x):
        return np.positive(x)
    e = np.exp(wide - np.max(wide, axis=axis, keepdims=True))
    z = e / np.sum(e, axis=axis, keepdims=True)
    return z if wide is x else z.astype(x.dtype)


@primitive
def log_softmax(x: Array, /, axis: int = -1) -> Node:
    """xᵢ − log Σⱼ eˣʲ along ``axis``, the logarithm of :func:`softmax`; shape of x.

    It is right even where the softmax itself would be rounded to 0, because it does not take the logarithm of it.

    >>> log_softmax(np.array([1000.0, -1000.0]))
    array([    0., -2000.])
    """
    wide = single(x := real("log_softmax", x))
    if not np.size(x):
        return np.positive(x)
    d = wide - np.max(wide, axis=axis, keepdims=True)
    z = d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))
    return z if wide is x else z.astype(x.dtype)


def softmax_x(g: Array, z: Array, axis: int) -> Array:
    """The gradient that softmax sends back."""
    return z * (g - np.sum(single(g) * z, axis=axis, keepdims=True))


def log_softmax_x(g: Array, z: Array, axis: int) -> Array:
    """∂zᵢ/∂xⱼ = δᵢⱼ − eᶻʲ: subtracting the sum of g, shared out by the probabilities."""
    return g - np.exp(z) * np.sum(single(g), axis=axis, keepdims=True)


# fmt: off
rule(relu, "x", x=lambda g, z: np.where(z > 0, g, 0), elementwise=True, holomorphic=False)
rule(leaky_relu, "x | slope=0.01", "leaky",
     x=lambda g, x, slope: np.where(x > 0, g, slope * g), elementwise=True, holomorphic=False)
rule(sigmoid,     "x",                "σ",      r"\sigma\left($x\right)", x=lambda g, z: g * (z * (1 - z)),
     elementwise=True, holomorphic=False)
rule(erf, "x", x=lambda g, x: g * (2 / math.sqrt(math.pi) * np.exp(-x * x)), elementwise=True, holomorphic=False)
rule(softmax,     "x | axis=-1",      "softmax", r"\operatorname{softmax}\left($x\right)", x=softmax_x,
     holomorphic=False)
rule(log_softmax, "x | axis=-1",      "log softmax", r"\log \operatorname{softmax}\left($x\right)", x=log_softmax_x,
     holomorphic=False)
# fmt: on


# ---------------------------------------------------------------- functions composed of others


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
    wide = single(x := real("softplus", x))
    z = np.logaddexp(wide, 0.0) if beta == 1 else np.logaddexp(beta * wide, 0.0) / beta
    return z if wide is x or modes().autocast is not None else z.astype(x.dtype)


def elu(x: Array, alpha: float = 1.0) -> Node:
    """x for x > 0, else α (eˣ − 1), elementwise; any shape. Its derivative at 0 is α.

    The exponential is computed only where it is needed, so it cannot overflow. Source: Clevert, Unterthiner and
    Hochreiter, ICLR 2016.

    >>> elu(np.array([-1000.0, 0.0, 1000.0]))
    array([  -1.,    0., 1000.])
    """
    x = real("elu", x)
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
    if approximate not in ("none", "tanh"):
        raise InputError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    wide = single(x := real("gelu", x))
    if approximate == "none":
        z = 0.5 * wide * (1 + erf(wide / math.sqrt(2)))
    else:
        z = 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))))
    return z if wide is x else z.astype(x.dtype)


def dropout(x: Array, p: float = 0.5, training: bool = True, *, rng: np.random.Generator | None = None) -> Node:
    """Sets each element to 0 with probability p, and divides it by 1 − p otherwise, so that the mean stays; shape of x.

    Without ``training`` it returns x itself. Source: Srivastava et al., JMLR 15, 2014.

    >>> dropout(np.ones(6), 0.5, rng=np.random.default_rng(0))
    array([2., 0., 0., 0., 2., 2.])
    """
    probability("dropout", p)
    if not training or p == 0:
        return x
    floats("dropout", x)
    mask = generator("dropout", rng).random(x.shape) >= p
    return x * (mask / max(1 - p, np.finfo(float).tiny)).astype(x.dtype)


def layer_norm(
    x: Array, normalized_shape: int | Sequence[int], weight: Array = None, bias: Array = None, eps: float = 1e-5
) -> Node:
    """(x − mean) / √(variance + ε) ⊙ weight + bias, mean and variance over the last axes of each example.

    Shapes: x (..., *normalized_shape), weight and bias normalized_shape. Source: Ba, Kiros and Hinton, 2016.

    >>> layer_norm(np.array([[1.0, 3.0], [10.0, 30.0]]), 2).round(3)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    shape = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    if not shape:
        raise InputError("layer_norm: normalized_shape has at least one axis, as x.shape[-1:]: of one number 0 is left")
    expect("layer_norm", x, "...", *shape)
    shapes_are("layer_norm", shape, weight=weight, bias=bias)
    return scale_and_shift(standardise(x, tuple(range(-len(shape), 0)), eps)[0], weight, bias)


def group_norm(x: Array, num_groups: int, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Node:
    """(x − mean) / √(variance + ε) ⊙ weight + bias, mean and variance over groups of channels of each example.

    Shapes: x (n, channels, ...), weight and bias (channels,). One group is a layer norm of the whole example, as many
    groups as channels an instance norm. Raises InputError if the channels cannot be shared evenly. Source: Wu and He,
    ECCV 2018.

    >>> group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2).round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    expect("group_norm", x, "n", "channels", "...")
    n, channels, *size = x.shape
    shareable("group_norm", f"{channels} channels", channels, num_groups)
    groups = x.reshape((n, num_groups, channels // num_groups, *size))
    z = standardise(groups, tuple(range(2, groups.ndim)), eps)[0].reshape(x.shape)
    shapes_are("group_norm", (channels,), weight=weight, bias=bias)
    return scale_and_shift(z, *of_channels(len(size), weight, bias))


def shapes_are(who: str, shape: tuple[int, ...], **arrays: Array) -> None:
    """Refuse arrays of another shape, which would be broadcast; None stands for one that is not given."""
    for name, y in arrays.items():
        if y is not None:
            shape_is(who, y, *shape, what=name)


def standardise(x: Array, axis: tuple[int, ...], eps: float, known: Any = None) -> tuple[Array, Array, Array]:
    """(x − mean) / √(variance + ε), and these two: along ``axis``, unless they are ``known``."""
    wide = single(x)
    mean, variance = known or (np.mean(wide, axis=axis, keepdims=True), None)
    d = wide - mean
    variance = np.mean(d * d, axis=axis, keepdims=True) if variance is None else single(variance)
    z = d / np.sqrt(variance + eps)
    return (z if wide is x or modes().autocast is not None else z.astype(x.dtype)), mean, variance


def of_channels(dims: int, *arrays: Array) -> list[Array]:
    """Arrays (channels,), or None, for something that has ``dims`` axes behind that of the channels."""
    return [None if y is None else y.reshape((*y.shape, *[1] * dims)) for y in arrays]


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
    expect("batch_norm", x, "n", "channels", "...")
    running = {"running_mean": running_mean, "running_var": running_var}
    shapes_are("batch_norm", x.shape[1:2], **running, weight=weight, bias=bias)
    if len(buffers := [y for y in running.values() if y is not None]) == 1 or not (training or buffers):
        raise InputError("batch_norm without training needs running_mean and running_var, in training both or neither")
    n = x.size // max(x.shape[1], 1)
    if training and n < 2:
        raise InputError(f"batch_norm in training needs more than one value per channel, got input of shape {x.shape}")
    weight, bias, *statistics = of_channels(x.ndim - 2, weight, bias, *buffers)
    z, mean, variance = standardise(x, (0, *range(2, x.ndim)), eps, None if training else statistics)
    if training and buffers and not modes().repeating:
        moments = numbers_of(mean), numbers_of(variance) * (n / (n - 1))
        new = [(a + momentum * (b.reshape(a.shape) - a)).astype(a.dtype) for a, b in zip(buffers, moments, strict=True)]
        copy: Any = np.copyto
        list(map(copy, buffers, new))  # one call in C: Ctrl-C leaves both of them moved or neither
    return scale_and_shift(z, weight, bias)


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
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    is_half = query.dtype == np.float16 or modes().autocast is not None  # then the product may overflow, if it is first
    scores = (query * scale) @ key.mT if is_half else query @ key.mT * scale
    if is_causal:
        if attn_mask is not None:
            raise InputError(f"{who}: give attn_mask or is_causal, not both")
        attn_mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    elif attn_mask is not None and np.broadcast_shapes(attn_mask.shape, scores.shape) != scores.shape:
        raise InputError(f"{who}: attn_mask of shape {attn_mask.shape} is larger than the scores {scores.shape}")
    weights: Any
    if attn_mask is None:
        weights = softmax(scores)
    elif attn_mask.dtype.kind == "b":
        seeing = numbers_of(attn_mask)
        nothing = ~seeing.any(axis=-1, keepdims=True)  # then a softmax would be 0/0: let it see all, and drop that
        weights = np.where(nothing, 0, softmax(np.where(seeing | nothing, scores, -np.inf)))
    elif attn_mask.dtype.kind != "f":
        raise DataError(f"{who}: attn_mask is boolean or floats that are added, not {attn_mask.dtype}: mask == 1")
    else:
        scores = scores + attn_mask
        nothing = (numbers_of(scores) == -np.inf).all(axis=-1, keepdims=True)
        weights = np.where(nothing, 0, softmax(np.where(nothing, 0, scores)))
    return (dropout(weights, dropout_p, rng=rng) if dropout_p else weights) @ value


# ---------------------------------------------------------------- windows: convolution and pooling


Sizes = int | Sequence[int]


def windows(
    who: str, x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    padding: Sizes | str = "valid", fill: float = 0.0,
) -> Array:  # fmt: skip
    """The values that each position of the window sees. Shapes: x (n, channels, *size), result (n, channels, places,
    *out).

    out = (size − dilation (kernel − 1) − 1) // stride + 1 in each direction, size with the padding: ``fill`` around x.
    "same" needs d (k − 1) more places; an odd one goes behind, as in PyTorch.

    >>> windows("", np.arange(5.0).reshape(1, 1, 5), [3], [1], [1])[0, 0]
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    """
    if padding == "same":
        if max(stride) > 1:
            raise InputError(f"{who}: padding 'same' needs stride 1")
        width = [(m // 2, m - m // 2) for m in [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]]
    else:
        width = [(p, p) for p in each(who, "padding", 0 if padding == "valid" else padding, len(kernel), 0)]
    if any([max(w) for w in width]):
        x = np.pad(x, [(0, 0), (0, 0), *width], constant_values=fill)
    sizes = x.shape[2:]
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)]
    if min(out) < 1:
        raise InputError(f"{who}: a window of {tuple(kernel)} (dilation {tuple(dilation)}) does not fit into {sizes}")
    seen = []
    for place in np.ndindex(*kernel):
        starts = [k * d for k, d in zip(place, dilation, strict=True)]
        seen.append(x[(..., *[slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, out, stride, strict=True)])])
    return np.stack(seen, axis=2)


def conv1d(
    x: Array, weight: Array, bias: Array = None, stride: Sizes = 1, padding: Sizes | str = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Node:  # fmt: skip
    """z[n, o, i] = Σ_c Σ_k weight[o, c, k] x[n, c, stride · i + dilation · k] + bias[o].

    Shapes: x (n, channels, length), weight (out, channels / groups, k), bias (out,), result (n, out, length').
    As everywhere in this field it is a correlation: the window is not reversed. ``padding``: zeros on each side,
    or "same" (result as long as x) or "valid" (none).

    >>> conv1d(np.array([[[1.0, 2.0, 4.0, 8.0]]]), np.array([[[-1.0, 1.0]]]))
    array([[[1., 2., 4.]]])
    """
    return convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Array, weight: Array, bias: Array = None, stride: Sizes = 1, padding: Sizes | str = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Node:  # fmt: skip
    """z[n, o, i, j] = Σ_ckl weight[o, c, k, l] x[n, c, s · i + d · k, s · j + d · l] + bias[o]; see :func:`conv1d`.

    Shapes: x (n, channels, height, width), weight (out, channels / groups, k, l), bias (out,), result
    (n, out, height', width'). Source: LeCun et al., Neural Computation 1, 1989.

    >>> conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    return convolve("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def convolve(
    who: str, dims: int, x: Array, weight: Array, bias: Array, stride: Sizes, padding: Sizes | str, dilation: Sizes,
    groups: int,
) -> Array:  # fmt: skip
    """Convolution in any number of directions: windows, and one product of matrices per example and group."""
    floats(who, x)
    size = ("length",) if dims == 1 else ("height", "width")
    shape_is(who, weight, "out", "channels", *["k"] * dims, what="weight")
    out, channels, *kernel = weight.shape
    shape_is(who, x, "n", channels * groups, *size)
    shareable(who, f"{out} channels out", out, groups)
    stride, dilation = each(who, "stride", stride, dims, 1), each(who, "dilation", dilation, dims, 1)
    patches = windows(who, x, kernel, stride, dilation, padding)
    n, sizes, inner = x.shape[0], patches.shape[3:], channels * math.prod(kernel)
    columns = patches.reshape((n, groups, inner, math.prod(sizes)))
    z = weight.reshape((groups, out // groups, inner)) @ columns
    shapes_are(who, (out,), bias=bias)
    return scale_and_shift(z.reshape((n, out, *sizes)), None, *of_channels(dims, bias))


def conv_transpose1d(
    x: Array, weight: Array, bias: Array = None, stride: Sizes = 1, padding: Sizes = 0, output_padding: Sizes = 0,
    groups: int = 1, dilation: Sizes = 1,
) -> Node:  # fmt: skip
    """z[n, o, stride · i + dilation · k − padding] += Σ_c weight[c, o, k] x[n, c, i], then + bias[o].

    The gradient of :func:`conv1d` with respect to its input, as a function of its own: it makes an image larger, where
    a convolution makes it smaller. Shapes: x (n, channels, length), weight (channels, out / groups, k), bias (out,),
    result (n, out, (length − 1) stride − 2 padding + dilation (k − 1) + output_padding + 1). ``output_padding``:
    positions that are added at the end, fewer than stride or dilation. Source: Zeiler et al., CVPR 2010.

    >>> conv_transpose1d(np.array([[[1.0, 2.0, 3.0]]]), np.array([[[1.0, 10.0]]]), stride=2)
    array([[[ 1., 10.,  2., 20.,  3., 30.]]])
    """
    return spread("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: Array, weight: Array, bias: Array = None, stride: Sizes = 1, padding: Sizes = 0, output_padding: Sizes = 0,
    groups: int = 1, dilation: Sizes = 1,
) -> Node:  # fmt: skip
    """The transpose of :func:`conv2d`; see :func:`conv_transpose1d`, in two directions.

    Shapes: x (n, channels, height, width), weight (channels, out / groups, k, l), bias (out,), result
    (n, out, height', width').

    >>> conv_transpose2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2)))
    array([[[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]]])
    """
    return spread("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def spread(
    who: str, dims: int, x: Array, weight: Array, bias: Array, stride: Sizes, padding: Sizes, output_padding: Sizes,
    groups: int, dilation: Sizes,
) -> Array:  # fmt: skip
    """Transposed convolution in any number of directions.

    The places of the result whose number leaves the same remainder, divided by the stride, get their values from the
    same entries of the weight: a convolution of stride 1. So there is one for each remainder, and no zeros are
    multiplied; their results are laid between each other.
    """
    floats(who, x)
    shape_is(who, weight, "channels", "out", *["k"] * dims, what="weight")
    channels, out, *kernel = weight.shape
    shape_is(who, x, "n", channels, *(("length",) if dims == 1 else ("height", "width")))
    shareable(who, f"{channels} channels in", channels, groups)
    steps, apart = each(who, "stride", stride, dims, 1), each(who, "dilation", dilation, dims, 1)
    less, more = each(who, "padding", padding, dims, 0), each(who, "output_padding", output_padding, dims, 0)
    if any([m >= max(s, d) for m, s, d in zip(more, steps, apart, strict=True)]):
        raise InputError(f"{who}: output_padding {tuple(more)} must be less than stride or dilation")
    whole = [(n - 1) * s + d * (k - 1) + 1 + m
             for n, s, d, k, m in zip(x.shape[2:], steps, apart, kernel, more, strict=True)]  # fmt: skip
    sizes = [n - 2 * p for n, p in zip(whole, less, strict=True)]
    if min(sizes) < 1:
        raise InputError(f"{who}: with padding {tuple(less)} nothing is left of {tuple(whole)}")
    w: Any = weight.reshape((groups, channels // groups, out, *kernel)).swapaxes(1, 2)
    w = w.reshape((groups * out, channels // groups, *kernel))[(..., *[slice(None, None, -1)] * dims)]
    laid = [-(-n // s) for n, s in zip(whole, steps, strict=True)]  # places for each remainder
    parts = [values_at_remainder(who, x, w, groups, steps, apart, laid, place) for place in np.ndindex(*steps)]
    z: Any = np.stack(parts, axis=-1).reshape((x.shape[0], groups * out, *laid, *steps))
    order = [axis for k in range(dims) for axis in (2 + k, 2 + dims + k)]
    z = z.transpose((0, 1, *order)).reshape((*z.shape[:2], *[n * s for n, s in zip(laid, steps, strict=True)]))
    z = z[(..., *[slice(p, p + n) for p, n in zip(less, sizes, strict=True)])]
    shapes_are(who, (groups * out,), bias=bias)
    return scale_and_shift(z, None, *of_channels(dims, bias))


def values_at_remainder(
    who: str, x: Array, w: Array, groups: int, stride: Sequence[int], dilation: Sequence[int], laid: Sequence[int],
    place: Sequence[int],
) -> Array:  # fmt: skip
    """The values at s · m + ``place``, m = 0 ... ``laid`` − 1: Σ w[k] x[m − (d k − place) / s] over all k for which
    that is a whole number. ``w``: (out, channels / groups, *kernel), reversed."""
    slices, width, apart = [], [], []
    for n, k, s, d, m, r in zip(x.shape[2:], w.shape[2:], stride, dilation, laid, place, strict=True):
        fits = [j for j in range(k) if d * j % s == r]
        if not fits:
            return np.zeros((x.shape[0], w.shape[0], *laid), np.result_type(x, w))
        first, step, common = fits[0], s // math.gcd(s, d), math.gcd(s, d)
        slices.append(slice((k - 1 - first) % step, None, step))
        shift = (d * first - r) // s
        width.append((shift + (len(fits) - 1) * (d // common), m - n - shift))
        apart.append(d // common)
    around = np.pad(x, [(0, 0), (0, 0), *width])
    return convolve(who, len(laid), around, w[(..., *slices)], None, 1, 0, apart, groups)


def each(who: str, what: str, number: Any, dims: int, least: int) -> list[int]:
    """One integer for each direction."""
    sizes = list(number) if isinstance(number, (tuple, list)) else [number] * dims
    if len(sizes) != dims or not all([isinstance(n, (int, np.integer)) and n >= least for n in sizes]):
        raise InputError(f"{who}: {what} is an integer of at least {least}, or {dims} of them, not {number!r}")
    return sizes


def max_pool2d(x: Array, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Node:
    """The largest value in each window. Shapes: x (n, channels, height, width), result (n, channels, height', width').

    Windows lie side by side unless a ``stride`` is given; padding counts as −∞. Equal largest values share the
    gradient (PyTorch gives it to the first).

    >>> max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """
    return pooling_windows("max_pool2d", x, kernel_size, stride, padding, -np.inf).max(axis=2)


def avg_pool2d(x: Array, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Node:
    """The mean of each window. Shapes as :func:`max_pool2d`; padding counts as zeros.

    >>> avg_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]])
    """
    return pooling_windows("avg_pool2d", x, kernel_size, stride, padding, 0.0).mean(axis=2)


def pooling_windows(who: str, x: Array, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, fill: float) -> Array:
    """The windows that pooling looks through."""
    expect(who, x, "n", "channels", "height", "width")
    kernel = each(who, "kernel_size", kernel_size, 2, 1)
    steps = kernel if stride is None else each(who, "stride", stride, 2, 1)
    around = each(who, "padding", padding, 2, 0)
    if any([2 * p > k for p, k in zip(around, kernel, strict=True)]):
        raise InputError(f"{who}: padding {tuple(around)} is more than half of the window {tuple(kernel)}")
    return windows(who, x, kernel, steps, [1, 1], around, fill)
