"""Batched forms of reading and writing places of an array.

A plain index is the same for all examples: it comes after a full slice, which is the batch. If an array of places
differs from example to example, the number of the example becomes one more array of places in front. NumPy puts the
axes of places first if a slice comes between them, so slices may have to become places: :func:`index_of_all`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..nodes.nodes import Array, NodeRole, gradient_target
from ..table.indexing import getitem, is_basic, put_back, put_view, setitem
from ..table.shapes import AnyFunction, Mode, Shape, Values, innermost
from .batched import FORM_OF, Batched, Layer, layer_of, open_layer, sample, wrap_batched
from .forms import FORMS, align, as_numpy_wrote, batched, in_front, ndim_of
from .looping import has_mapped, one_of, settled
from .shapes import along, shift_axes


def index_of_all(layer: Layer, index: Any, shape: tuple[int, ...], x_mapped: bool) -> Values:
    """An index of one example, of this shape, for the array of all. ``x_mapped``: does that have a batch?"""
    parts = expand_index(index, len(shape), layer)
    # Integers are advanced indices beside arrays; integers alone move no axes.
    places = [k for k, part in enumerate(parts) if part is not None and not isinstance(part, slice)]
    arrays = [open_layer(parts[k], layer) for k in places]
    axes = max([getattr(a, "ndim", 0) - mapped for a, mapped in arrays], default=0)
    apart = bool(places) and len(places) <= places[-1] - places[0]
    if not any([mapped for _, mapped in arrays]) and not (apart and axes):  # then x has a batch
        return (slice(None), *[open_layer(part, layer)[0] for part in parts])
    # Slices in front become places, too: the axes of places then stand where they stand for one example.
    start = places[0] if not apart and (axes or not x_mapped) else 0
    lengths = iter(shape)
    front = [np.arange(layer.size).reshape((-1, *(1,) * (start + axes)))] if x_mapped else []
    for k, part in enumerate(parts[:start]):
        if part is not None:
            front.append(np.arange(next(lengths))[part].reshape((-1, *(1,) * (start + axes - k - 1))))
    for k, (a, mapped) in zip(places, arrays, strict=True):
        parts[k] = a.reshape((layer.size, *(1,) * (start + axes - a.ndim + 1), *a.shape[1:])) if mapped else a
    return (*front, *parts[start:])


def expand_index(index: Any, ndim: int, layer: Layer) -> list[Any]:
    """The parts of an index, one per axis and None for new ones: no Ellipsis, and places instead of plain masks."""
    parts: list[Any] = []
    for part in index if type(index) is tuple else (index,):
        part = open_layer(part, layer)[0] if isinstance(part, Batched) and not part.mapped else part
        if isinstance(part, Batched):
            if part.dtype.kind == "b":
                layer.doubt("x[mask], whose length depends on the mask,")
            parts.append(part)
        elif isinstance(part, (list, np.ndarray)):
            array = np.asarray(part)
            array = array.astype(np.intp) if not array.size and array.dtype.kind == "f" else array
            parts += np.nonzero(array) if array.dtype.kind == "b" and array.ndim else [array]
        else:
            parts.append(part)
    indexed = sum([part is not None and part is not ... for part in parts])
    if indexed > ndim or any([isinstance(part, (bool, np.bool_)) for part in parts]):
        layer.doubt("an index with too many axes, or with True or False,")
    place = next((k for k, part in enumerate(parts) if part is ...), None)
    rest = [slice(None)] * (ndim - indexed)
    return [*parts, *rest] if place is None else [*parts[:place], *rest, *parts[place + 1 :]]


def read(layer: Layer, x: Array, i: Any) -> Any:
    """``x[i]``"""
    if not is_basic(i):
        return settled(layer, getitem, read_places, (x, i), {})
    inner, mapped = open_layer(x, layer)
    if not mapped:
        return wrap_batched(inner[i], layer, False, x)
    parts = i if type(i) is tuple else (i,)
    item = inner[(slice(None), *parts)]
    is_number = item.ndim == 1 and ... not in parts
    if is_number or x.is_number:  # no later write changes a number, nor what is read of it
        item = item.copy()
    return wrap_batched(item, layer, view_of=None if is_number else x)


FORMS[getitem] = read


def read_places(layer: Layer, x: Array, i: Any) -> Any:
    """``x[i]`` with arrays among the indices."""
    inner, mapped = open_layer(x, layer)
    z = inner[index_of_all(layer, i, inner.shape[mapped:], mapped)]
    return wrap_batched(z, layer, mapped or has_mapped(i, layer))


def write(layer: Layer, x: Array, index: Any, new: Array) -> None:
    """``x[index] = new``, in the memory of the batch."""
    new_inner, new_mapped = open_layer(new, layer)
    check_shared(x, new_mapped, layer)
    check_history(x.inner, new_inner, layer)
    if not x.mapped:
        x.inner[index] = new_inner
        return
    if x.is_number:
        raise TypeError("a number does not support item assignment")
    if isinstance(index, Batched) and index.dtype.kind == "b":
        if np.ndim(new) or index.shape != x.shape[: index.ndim]:
            layer.doubt("x[mask] = y with several numbers, or a mask of another shape")
        mask = np.reshape(index, (*index.shape, *(1,) * (x.ndim - index.ndim)))
        x[...] = np.where(mask, in_dtype(new, x.dtype), x)
        return
    if x.dtype.kind in "iu" and new_mapped and new.is_number and not np.can_cast(new.dtype, x.dtype):
        info, numbers = np.iinfo(x.dtype), np.real(innermost(new_inner)).astype(float)
        if type(numbers) is np.ndarray and not np.all((numbers >= info.min) & (numbers < info.max + 1.0)):
            layer.doubt("a number that integers cannot hold: NumPy casts arrays, and refuses numbers")
    inside = index_of_all(layer, index, x.shape, True)
    x.inner[inside] = fit_values(inside, x.inner, new_inner, new_mapped, layer)


def in_dtype(new: Array, dtype: np.dtype) -> Array:
    """The values to be written where a mask is true, as they will be stored: a common dtype would round the rest."""
    return new.astype(dtype) if hasattr(new, "dtype") else np.asarray(new, dtype)


def update(layer: Layer, x: Array, name: str, y: Array) -> Any:
    """``x += y``, in the memory of the batch. A shared array meets one example, and not the batch axis."""
    y_inner, mapped = open_layer(y, layer)
    check_shared(x, mapped, layer)
    if ndim_of(y_inner) - mapped > x.inner.ndim - x.mapped:
        raise ValueError("non-broadcastable output operand")
    if mapped and y_inner.ndim < x.inner.ndim:
        y_inner = align(layer, [x, y])[0][1]
    getattr(operator, f"i{name}")(x.inner, y_inner)
    return x


def check_shared(x: Array, mapped: bool, layer: Layer) -> None:
    """A doubt if all examples share x, and something mapped would be written into it."""
    if layer_of(x) is not layer or (mapped and not x.mapped):
        layer.doubt("a write into an array that all examples share")


def check_history(x: Array, new: Array, layer: Layer) -> None:
    """A doubt if a node of an outer layer would be written into plain numbers, and lose its history."""
    if gradient_target(new) is not None and not isinstance(x, NodeRole):
        layer.doubt("a node written into an array of plain numbers")


def fit_values(inside: Any, x: Array, new: Array, new_mapped: bool, layer: Layer) -> Array:
    """The value to be written at ``x[inside]``, with axes where NumPy expects them: it broadcasts against that part of
    one example, never against the batch."""
    new = new if hasattr(new, "shape") else np.asarray(new)
    if not new.shape:
        return new
    inside = tuple([np.asarray(part) if hasattr(part, "dtype") else part for part in inside])
    there = np.broadcast_to(np.zeros((), bool), x.shape)[inside].shape
    one = new.shape[1:] if new_mapped else new.shape
    extra = len(one) - len(there) + 1  # leading axes of length 1, which NumPy allows
    if any([n != 1 for n in one[: max(extra, 0)]]):
        raise ValueError(f"could not broadcast input array from shape {one} into shape {there[1:]}")
    fitted = *(1,) * -extra, *one[max(extra, 0) :]
    return new.reshape((layer.size, *fitted) if new_mapped else fitted)


@batched(put_back)
def put_places(layer: Layer, x: Array, i: Any, shape: Shape) -> Any:
    """Zeros of ``shape`` with x added at i."""
    inside = index_of_all(layer, i, shape, True)
    return wrap_batched(put_back(in_front(x, layer), inside, (layer.size, *shape)), layer)


@batched(setitem, put_view, each=True)
def write_copy(function: Any, layer: Layer, x: Array, *args: Any, **options: Any) -> Any:
    """Functions that copy x and write into the copy: every example has its own."""
    return function.compute(Batched(in_front(x, layer), layer), *args, **options)


@batched("at")
def add_at(ufunc_at: AnyFunction, layer: Layer, x: Array, index: Any, *new: Array) -> None:
    """``np.add.at(x, index, new)``"""
    check_shared(x, True, layer)
    if not x.flags.writeable:
        layer.doubt("np.add.at of a read-only array")  # where NumPy writes, depending on the index
    for v in new:
        check_history(x.inner, open_layer(v, layer)[0], layer)
    inside = index_of_all(layer, index, x.shape, True)
    ufunc_at(x.inner, inside, *[fit_values(inside, x.inner, *open_layer(v, layer), layer) for v in new])


@batched(np.take)
def take(layer: Layer, a: Array, indices: Array, axis: Any = None, out: object = None, mode: Mode = "raise") -> Any:
    """Places along one axis, the same for all examples or different for each."""
    if not isinstance(indices, Batched):
        return along(np.take, layer, a, indices, axis, mode=mode)
    a, axis = (np.reshape(a, -1), 0) if axis is None else (a, axis)
    n = np.shape(a)[axis]
    if mode not in ("raise", 2, None):
        indices = indices % n if mode in ("wrap", 1) else np.clip(indices, 0, n - 1)
    return read(layer, a, (*(slice(None),) * (shift_axes(axis, np.ndim(a)) - 1), indices))


@batched(np.copyto)
def copyto(layer: Layer, dst: Array, src: Array, casting: Any = "same_kind", where: Array = True) -> None:
    """In place."""
    if not isinstance(dst, Batched) or not np.can_cast(np.result_type(sample(src)), dst.dtype, casting):
        layer.doubt("np.copyto into an array that may be shared, or of another dtype,")
    dst[...] = src if where is True else np.where(where, in_dtype(src, dst.dtype), dst)


as_numpy_wrote(np.put_along_axis, np.take_along_axis)
along_one_axis = FORMS[np.take_along_axis]


@batched(np.take_along_axis)
def take_along_axis(layer: Layer, arr: Array, indices: Array, axis: int | None = -1) -> Any:
    """That code joins axes by ``flat``, which our arrays do not have."""
    if axis is None and np.ndim(indices) == 1:
        arr, axis = np.reshape(arr, -1), 0
    return along_one_axis(layer, arr, indices, axis)


@batched(np.put, np.place, np.putmask, np.fill_diagonal, each=True)
def write_each(function: AnyFunction, layer: Layer, x: Array, *args: Any, **options: Any) -> None:
    """Other functions that write into an array: in the memory of each example."""
    inner, mapped = open_layer(x, layer)
    if not mapped or type(inner) is not np.ndarray or x.is_number:
        layer.doubt(f"np.{function.__name__} into an array that may be shared")
    for k in range(layer.size):
        function(inner[k, ...], *one_of(args, layer, k), **one_of(options, layer, k))


FORM_OF.update(getitem=read, setitem=write, update=update)
