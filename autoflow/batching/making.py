"""Batched forms of functions that put arrays together, or make new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..modes import modes
from ..nodes.nodes import constant_from
from ..rules.building import spaced
from .along_axes import any_batched, shift_axes
from .batched import Batched, Layer, one_behind_another, open_layer, wrap_batched
from .forms import FORMS, Form, align, batched, in_front, ndim_of
from .moving import whole

Array = Any
NP: Any = np  # what it is called with are arrays of ours, of which its types know nothing


# -- several arrays


def all_in_front(layer: Layer, arrays: Any) -> tuple[list[Array], bool]:
    """What is behind several arrays: if one has the batch, all have it."""
    found = [open_layer(x, layer) for x in arrays]
    if not any([mapped for _, mapped in found]):
        return [x for x, _ in found], False
    return [in_front(x, layer) for x in arrays], True


@batched(np.concatenate)
def concatenate(layer: Layer, arrays: Any, /, axis: Any = 0, **options: Any) -> Any:
    """Behind the batch."""
    inner, mapped = all_in_front(layer, list(arrays))
    if not mapped:
        return wrap_batched(np.concatenate(inner, axis, **options), layer, False)
    if axis is None:
        return wrap_batched(np.concatenate([x.reshape((layer.size, -1)) for x in inner], 1, **options), layer)
    return wrap_batched(np.concatenate(inner, shift_axes(axis, inner[0].ndim - 1), **options), layer)


@batched(np.stack)
def stack(layer: Layer, arrays: Any, axis: int = 0, **options: Any) -> Any:
    """A new axis behind the batch."""
    inner, mapped = all_in_front(layer, list(arrays))
    n = ndim_of(inner[0]) + 1 - mapped
    return wrap_batched(np.stack(inner, shift_axes(axis, n) if mapped else axis, **options), layer, mapped)


# -- new arrays


def filled_like(function: Any) -> Form:
    """An array to be written into has an element for each example."""

    def form(layer: Layer, a: Any, *args: Any, shape: Any = None, **options: Any) -> Any:
        if any_batched(*args, *options.values()):
            return NotImplemented
        inner, _ = open_layer(a, layer)
        shape = a.shape if shape is None else whole(shape)
        return wrap_batched(recordable(function(inner, *args, shape=(layer.size, *shape), **options)), layer)

    return form


def recordable(x: Array) -> Any:
    """A new array as a Constant inside: what may be written into it are nodes of an outer layer."""
    return constant_from(x) if type(x) is np.ndarray and modes().recording else x


def fill_with_like(function: Any) -> Form:
    """``np.zeros(shape, like=x)``"""
    return lambda layer, shape, *args, **options: wrap_batched(
        function((layer.size, *whole(shape)), *args, **options), layer
    )


for function in (NP.zeros_like, NP.ones_like, NP.empty_like, NP.full_like):
    FORMS[function] = filled_like(function)
for function in (NP.zeros, NP.ones, NP.empty, NP.full):
    FORMS[function] = fill_with_like(function)
for function in (NP.arange, NP.identity, NP.eye, NP.tri):
    FORMS[function] = lambda layer, *args, function=function, **options: function(*args, **options)


@batched(np.asarray, np.array)
def asarray(layer: Layer, a: Any, *args: Any, **options: Any) -> Any:
    """``np.asarray(x, like=y)``: plain arrays may meet ours as they are."""
    return a if isinstance(a, Batched) else np.asarray(a, *args, **options)


# -- between two ends


def spaced_between(function: Any) -> Form:
    """The form of a function like np.linspace: its numbers stand along a new axis."""

    def form(
        layer: Layer, start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
    ) -> Any:
        ends, mapped = align(layer, [start, stop])
        axis = shift_axes(axis, max([ndim_of(x) for x in ends]) - mapped + 1) if mapped else axis
        result = function(*ends, num, endpoint, dtype, axis)
        return wrap_batched(one_behind_another(result) if mapped else result, layer, mapped)

    return form


FORMS[spaced] = spaced_between(spaced)
FORMS[np.geomspace] = spaced_between(lambda x, y, num, endpoint, dtype, axis: np.geomspace(
    x, y, num, endpoint, dtype, axis))  # fmt: skip
