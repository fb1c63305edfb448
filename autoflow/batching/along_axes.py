"""Batched forms of functions along an axis: reductions, running sums, sorting, transforms; quantiles.

Axes count behind the batch: axis 0 of an example is axis 1 here. Where None means all axes, it means all but the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..rules.calculus import interpolate
from ..rules.linalg import norm
from ..rules.reductions import recur
from ..rules.variants import NORMS
from ..table.shapes import Array, is_given
from .batched import Batched, Layer, open_layer, wrap_batched
from .forms import FORMS, Form, batched, in_front

NP: Any = np  # a table of functions of any kind is too much for NumPy's types
MISSING: Any = object()


def shift_axes(axis: Any, ndim: int) -> Any:
    """An axis, or several, of an example with ``ndim`` axes, as those of the batch. AxisError as NumPy has it."""
    if isinstance(axis, (tuple, list)):
        return tuple([a + 1 for a in normalize_axis_tuple(axis, ndim)])
    return normalize_axis_index(axis, ndim) + 1


def every(ndim: int) -> tuple[int, ...]:
    """All axes but the batch."""
    return tuple(range(1, ndim + 1))


def any_batched(*arguments: Any) -> bool:
    """Is one of these, which are most often plain, an array of ours?"""
    return any([isinstance(v, Batched) for v in arguments])


# -- reductions


def reduction_form(function: Any, default: Any = None) -> Form:
    """The form of a reduction: along one axis, several, or (None) all."""

    def form(layer: Layer, x: Any, axis: Any = default, *args: Any, **options: Any) -> Any:
        where = options.pop("where", None)
        if any_batched(*args, *options.values()) or (len(args) > 3):  # initial and where by position: rare
            return NotImplemented
        inner, mapped = open_layer(x, layer)
        if not mapped and not open_layer(where, layer)[1]:
            where = {"where": open_layer(where, layer)[0]} if is_given(where) else {}
            return wrap_batched(function(inner, axis, *args, **options, **where), layer, False)
        inner = in_front(x, layer)
        n = inner.ndim - 1
        if is_given(where):
            options["where"] = masks(where, layer, n)
        if not n:  # NumPy takes the axes 0 and -1 of a number, too
            if axis not in (None, 0, -1, ()):
                shift_axes(axis, 0)
            result = function(inner.reshape((layer.size, 1)), 1, *args, **options)
            return wrap_batched(result.reshape(layer.size), layer)
        axes = every(n) if axis is None else shift_axes(axis, n)
        return wrap_batched(function(inner, axes, *args, **options), layer)

    return form


def masks(where: Any, layer: Layer, ndim: int) -> Array:
    """``where=`` for all examples, so that it broadcasts against arrays of ``ndim`` axes behind the batch."""
    mask, mapped = open_layer(where, layer)
    if not mapped:
        return mask if ndim else np.reshape(mask, (1, 1))
    return mask.reshape((layer.size, *(1,) * (max(ndim, 1) - mask.ndim + 1), *mask.shape[1:]))


for function in (
    NP.sum, NP.prod, NP.max, NP.min, NP.amax, NP.amin, NP.mean, NP.var, NP.std, NP.any, NP.all, NP.median,
    NP.nansum, NP.nanprod, NP.nanmax, NP.nanmin, NP.nanmean, NP.nanvar, NP.nanstd, NP.nanmedian, NP.count_nonzero,
):  # fmt: skip
    FORMS[function] = reduction_form(function)
for primitive in NORMS.values():
    FORMS[primitive] = reduction_form(primitive, 0)


@batched("reduce")
def ufunc_reduce(layer: Layer, reduce: Any, x: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
    """``np.add.reduce(x)``"""
    form = reduction_form(lambda x, axis, dtype=None, **options: reduce(x, axis=axis, dtype=dtype, **options))
    return form(layer, x, axis, *args[:1], **options) if len(args) < 2 else NotImplemented


@batched(norm)
def vector_norm(layer: Layer, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of vectors, and of matrices the Euclidean one."""
    inner, mapped = open_layer(x, layer)
    if not mapped or any_batched(ord):
        return NotImplemented
    n = inner.ndim - 1
    if axis is None and ord is None:
        z = norm(inner.reshape((layer.size, -1)), None, 1)
        return wrap_batched(z.reshape((layer.size, *(1,) * n)) if keepdims else z, layer)
    axes = shift_axes(tuple(range(n)) if axis is None and n > 1 else 0 if axis is None else axis, n)
    return wrap_batched(norm(inner, ord, axes, keepdims), layer)


# -- functions that keep the axis, or look along it


def along(function: Any, default: Any, *, after_flattening: Callable[[Array, Any], Array] | None = None) -> Form:
    """The form of a function ``f(x, axis)``; for None x is flattened, and ``after_flattening`` may undo that."""

    def form(layer: Layer, x: Any, axis: Any = default, *args: Any, **options: Any) -> Any:
        inner, mapped = open_layer(x, layer)
        if not mapped:
            return NotImplemented if any_batched(*args, *options.values()) else wrap_batched(
                function(inner, axis, *args, **options), layer, False
            )  # fmt: skip
        if any_batched(*args, *options.values()):
            return NotImplemented
        n = inner.ndim - 1
        if axis is None or (not n and axis in (0, -1)):
            z = function(inner.reshape((layer.size, -1)), 1, *args, **options)
            z = z if after_flattening is None else after_flattening(z, inner)
            return wrap_batched(z, layer)
        return wrap_batched(function(inner, shift_axes(axis, n), *args, **options), layer, view_of=x)

    return form


def second(function: Any, name: str, default: Any, **how: Any) -> Form:
    """The same for a function ``f(x, y, axis)`` whose second argument, of that name, is plain: a count, a shift."""

    def form(layer: Layer, x: Any, y: Any = MISSING, axis: Any = default, *args: Any, **options: Any) -> Any:
        y = options.pop(name) if y is MISSING else y
        if any_batched(y):
            return NotImplemented
        run = along(lambda x, axis, *args, **options: function(x, y, axis, *args, **options), default, **how)
        return run(layer, x, axis, *args, **options)

    return form


def as_before(z: Array, x: Array) -> Array:
    """In the shape of x."""
    return z.reshape(x.shape)


for function, default in {NP.sort: -1, NP.argsort: -1, NP.cumsum: None, NP.cumprod: None, NP.nancumsum: None,
                          NP.nancumprod: None, NP.argmax: None, NP.argmin: None, NP.nanargmax: None,
                          NP.nanargmin: None}.items():  # fmt: skip
    FORMS[function] = along(function, default)
for function in (NP.partition, NP.argpartition):
    FORMS[function] = second(function, "kth", -1)
FORMS[np.repeat] = second(np.repeat, "repeats", None)
FORMS[np.roll] = second(np.roll, "shift", None, after_flattening=as_before)


@batched("accumulate")
def ufunc_accumulate(layer: Layer, accumulate: Any, x: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
    """``np.add.accumulate(x)``"""
    return along(accumulate, 0)(layer, x, axis, *args, **options)


@batched("reduceat")
def ufunc_reduceat(layer: Layer, reduceat: Any, x: Any, indices: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
    """``np.add.reduceat(x, places)``"""
    if any_batched(indices):
        return NotImplemented
    return along(lambda x, axis, *args, **options: reduceat(x, indices, axis, *args, **options), 0)(
        layer, x, axis, *args, **options
    )


@batched(recur)
def recurrence(layer: Layer, x: Any, y: Any) -> Any:
    """Along the last axis of arrays of one shape."""
    return wrap_batched(recur(in_front(x, layer), in_front(y, layer)), layer)


@batched(np.unwrap)
def unwrap(layer: Layer, p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    """Along one axis."""
    if any_batched(discont, period):
        return NotImplemented
    return along(lambda p, axis: np.unwrap(p, discont, axis, period=period), -1)(layer, p, axis)


def transform(function: Any) -> Form:
    """A Fourier transform along one axis."""

    def form(layer: Layer, x: Any, n: Any = None, axis: Any = -1, norm: Any = None, **options: Any) -> Any:
        return along(lambda x, axis: function(x, n, axis, norm, **options), -1)(layer, x, axis)

    return form


for function in (NP.fft.fft, NP.fft.ifft, NP.fft.rfft, NP.fft.irfft, NP.fft.hfft, NP.fft.ihfft):
    FORMS[function] = transform(function)


# -- quantiles: their own axes come first


def quantile(function: Any) -> Form:
    """The form of np.quantile and its like; of all examples at the same q."""

    def form(layer: Layer, x: Any, q: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        inner, mapped = open_layer(x, layer)
        q, q_mapped = open_layer(q, layer)
        if mapped == q_mapped or args or any_batched(*options.values()) or is_given(options.get("weights")):
            return NotImplemented
        if q_mapped:
            z = function(inner, q.reshape(q.size), axis=axis, **options)
            return wrap_batched(z.reshape((*q.shape, *z.shape[1:])), layer)
        n, keepdims = inner.ndim - 1, options.pop("keepdims", False)
        keep = {"keepdims": True} if is_given(keepdims) and keepdims else {}
        if not n:
            return NotImplemented
        z = function(inner, q, axis=every(n) if axis is None else shift_axes(axis, n), **options, **keep)
        return wrap_batched(np.moveaxis(z, np.ndim(q), 0), layer)

    return form


for function in (NP.quantile, NP.percentile, NP.nanquantile, NP.nanpercentile):
    FORMS[function] = quantile(function)


# -- among sorted numbers


def among(function: Any, place: int) -> Form:
    """The form of a function that finds numbers (its argument at ``place``) among others, which all examples share."""

    def form(layer: Layer, *args: Any, **options: Any) -> Any:
        others = [v for k, v in enumerate(args) if k != place] + list(options.values())
        if place >= len(args) or any([open_layer(v, layer)[1] for v in others]):
            return NotImplemented
        inner = [open_layer(v, layer)[0] for v in args]
        given = {name: open_layer(v, layer)[0] for name, v in options.items()}
        return wrap_batched(function(*inner, **given), layer, open_layer(args[place], layer)[1])

    return form


FORMS[np.searchsorted] = among(np.searchsorted, 1)
FORMS[np.digitize] = among(np.digitize, 0)
FORMS[np.interp] = among(np.interp, 0)
FORMS[interpolate] = among(interpolate, 1)
