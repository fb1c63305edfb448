"""Convolution and pooling: look at an image through a small window at every place.

Instead of moving the window over the image, take for each place *within the window* the slice of the image that it
sees as the window moves. For a window of 3 × 3 that is nine slices, stacked into one array with an axis for the nine;
a convolution is then one matrix product with that axis, max pooling is a maximum over it. Everything is a slice, a
stack or a product, so the derivatives need no further thought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..nodes.nodes import Node
from .checks import floats, shape_is

Array = Any
Sizes = int | Sequence[int]


def windows(who: str, x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """What each position in the window sees. Shapes: x (n, channels, *size), result (n, channels, places, *out).

    out = (size − dilation (kernel − 1) − 1) // stride + 1 in each direction.

    >>> windows("", np.arange(5.0).reshape(1, 1, 5), [3], [1], [1])[0, 0]
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    """
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
    if groups < 1 or out % groups:
        raise InputError(f"{who}: {out} channels out cannot be shared among {groups} groups")
    stride, dilation = each(who, "stride", stride, dims, 1), each(who, "dilation", dilation, dims, 1)
    x = pad_windows(who, x, padding, kernel, stride, dilation)
    seen = windows(who, x, kernel, stride, dilation)
    n, sizes, inner = x.shape[0], seen.shape[3:], channels * math.prod(kernel)
    columns = seen.reshape((n, groups, inner, math.prod(sizes)))
    z = weight.reshape((groups, out // groups, inner)) @ columns
    z = z.reshape((n, out, *sizes))
    if bias is None:
        return z
    shape_is(who, bias, out, what="bias")
    return z + bias.reshape((out, *[1] * dims))


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
    if groups < 1 or channels % groups:
        raise InputError(f"{who}: {channels} channels in cannot be shared among {groups} groups")
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
    if bias is None:
        return z
    shape_is(who, bias, groups * out, what="bias")
    return z + bias.reshape((groups * out, *[1] * dims))


def values_at_remainder(
    who: str, x: Array, w: Array, groups: int, stride: Sequence[int], dilation: Sequence[int], laid: Sequence[int],
    place: Sequence[int],
) -> Array:  # fmt: skip
    """The values at s · m + ``place``, m = 0 ... ``laid`` − 1: Σ w[k] x[m − (d k − place) / s] over all k for which
    that is a whole number. ``w``: (out, channels / groups, *kernel), reversed."""
    taken, width, apart = [], [], []
    for n, k, s, d, m, r in zip(x.shape[2:], w.shape[2:], stride, dilation, laid, place, strict=True):
        fits = [j for j in range(k) if d * j % s == r]
        if not fits:
            return np.zeros((x.shape[0], w.shape[0], *laid), np.result_type(x, w))
        first, step, common = fits[0], s // math.gcd(s, d), math.gcd(s, d)
        taken.append(slice((k - 1 - first) % step, None, step))
        shift = (d * first - r) // s
        width.append((shift + (len(fits) - 1) * (d // common), m - n - shift))
        apart.append(d // common)
    around = np.pad(x, [(0, 0), (0, 0), *width])
    return convolve(who, len(laid), around, w[(..., *taken)], None, 1, 0, apart, groups)


def pad_windows(
    who: str, x: Array, padding: Sizes | str, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    fill: float = 0.0,
) -> Array:  # fmt: skip
    """x with ``fill`` around it. "same" needs d (k − 1) more places; an odd one goes behind, as in PyTorch."""
    if padding == "same":
        if max(stride) > 1:
            raise InputError(f"{who}: padding 'same' needs stride 1")
        more = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        width = [(m // 2, m - m // 2) for m in more]
    elif padding == "valid":
        return x
    else:
        width = [(p, p) for p in each(who, "padding", padding, len(kernel), 0)]
    if not any([max(w) for w in width]):
        return x
    return np.pad(x, [(0, 0), (0, 0), *width], constant_values=fill)


def each(who: str, what: str, number: Any, dims: int, least: int) -> list[int]:
    """One integer for each direction."""
    sizes = [number] * dims if isinstance(number, int) else list(number) if isinstance(number, (tuple, list)) else []
    if len(sizes) != dims or not all([isinstance(n, int) and n >= least for n in sizes]):
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
    z: Any = np.max(pooling_windows("max_pool2d", x, kernel_size, stride, padding, -np.inf), axis=2)
    return z


def avg_pool2d(x: Array, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Node:
    """The mean of each window. Shapes as :func:`max_pool2d`; padding counts as zeros.

    >>> avg_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]])
    """
    z: Any = np.mean(pooling_windows("avg_pool2d", x, kernel_size, stride, padding, 0.0), axis=2)
    return z


def pooling_windows(who: str, x: Array, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, fill: float) -> Array:
    """The windows that pooling looks through."""
    floats(who, x)
    shape_is(who, x, "n", "channels", "height", "width")
    kernel = each(who, "kernel_size", kernel_size, 2, 1)
    steps = kernel if stride is None else each(who, "stride", stride, 2, 1)
    around = each(who, "padding", padding, 2, 0)
    if any([2 * p > k for p, k in zip(around, kernel, strict=True)]):
        raise InputError(f"{who}: padding {tuple(around)} is more than half of the window {tuple(kernel)}")
    return windows(who, pad_windows(who, x, around, kernel, steps, [1, 1], fill), kernel, steps, [1, 1])
