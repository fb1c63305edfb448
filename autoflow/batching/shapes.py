"""Batched forms of functions of axes and shapes: reductions, sorting, transforms, and functions that move, join or make
arrays.

Axes are counted after the batch: axis 0 of an example is axis 1 here. None for all axes means all but the batch.
"""

from __future__ import annotations

import inspect
import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from ..nodes.nodes import constant_from
from ..rules.building import spaced
from ..rules.calculus import interpolate
from ..rules.joining import pad as pad_row
from ..rules.linalg import norm
from ..rules.reductions import recur
from ..rules.structure import astype, constant_with_history, flatten
from ..rules.variants import NORMS
from ..table.facts import of_kind
from ..table.kernels import broadcast_view
from ..table.shapes import AnyFunction, Array, Axis, ByName, is_given
from .batched import Batched, Layer, in_memory, open_layer, sample, strides_of, wrap_batched
from .forms import FORMS, align, as_numpy_wrote, batched, in_front, ndim_of
from .looping import has_mapped

NP: Any = np  # a table of functions of any kind is too much for NumPy's types
AXES = ("axis", "axis1", "axis2", "axes", "source", "destination")


def shift_axes(axis: Any, ndim: int) -> Any:
    """An axis, or several, of an example with ``ndim`` axes, as those of the batch. AxisError as in NumPy."""
    if isinstance(axis, (tuple, list)):
        return tuple([a + 1 for a in normalize_axis_tuple(axis, ndim)])
    return normalize_axis_index(axis, ndim) + 1


def any_batched(*arguments: object) -> bool:
    """Is one of these one of our arrays?"""
    return any([issubclass(type(v), Batched) for v in arguments])


def along(
    function: AnyFunction, layer: Layer, *args: Any, whole: bool = False, view: bool = False, restored: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """The form of a function of one array with axes among its arguments.

    whole : None for an axis means all axes; else the array is flattened.
    view : the result may share memory with the array.
    restored : a flattened array gets its shape back.
    """
    names, defaults = signature_of(function)
    arguments = {**defaults, **dict(zip(names, args, strict=False)), **options}
    x, where, masked = arguments.pop(names[0]), None, False
    if "where" in arguments:
        where, masked = open_layer(arguments.pop("where"), layer)
    if any_batched(*arguments.values()):
        return NotImplemented
    inner = in_front(x, layer)
    n = inner.ndim - 1
    if where is not None and is_given(where):
        arguments["where"] = masks(where, masked, n)
    axis = arguments.get("axis", 1)  # NumPy takes the axes 0 and -1 of a number, too
    if not (whole and n) if axis is None else not n and axis in (0, -1, ()):
        keep = arguments.pop("keepdims", False)
        z = function(in_one_axis(inner), **{**arguments, "axis": 1})
        if restored or (n and is_given(keep) and keep):
            z = z.reshape(inner.shape if restored else (layer.size, *(1,) * n))
    else:
        for name in AXES:
            if name in arguments:
                v = arguments[name]
                arguments[name] = tuple(range(1, n + 1)) if v is None else shift_axes(v, n)
        z = function(inner, **arguments)
    if "q" in arguments:
        z = np.moveaxis(z, np.ndim(arguments["q"]), 0)
    return wrap_batched(z, layer, view_of=x if view else None)


@lru_cache
def signature_of(function: Any) -> tuple[tuple[str, ...], ByName]:
    """The names of a function's arguments, and the defaults of those that are axes."""
    if (name := getattr(function, "__name__", "")) in OF_UFUNCS and isinstance(function.__self__, np.ufunc):
        return ("array", *OF_UFUNCS[name].split()), {"axis": 0}
    parameters = inspect.signature(function).parameters
    return (*parameters,), {k: p.default for k, p in parameters.items() if k in AXES and p.default is not p.empty}


# The arguments of the methods of ufuncs, which have no signature before NumPy 2.4.
OF_UFUNCS = {
    "reduce": "axis dtype out keepdims initial where", "accumulate": "axis dtype", "reduceat": "indices axis dtype"
}  # fmt: skip


def in_one_axis(inner: Array) -> Array:
    """The elements of each example along one axis. A -1 would be ambiguous in an empty batch."""
    return inner.reshape((len(inner), math.prod(inner.shape[1:])))


def masks(where: Array, mapped: bool, ndim: int) -> Array:
    """``where=`` for all examples, so that it broadcasts against arrays of ``ndim`` axes after the batch."""
    if not mapped:
        return where if ndim else np.reshape(where, (1, 1))
    return where.reshape((len(where), *(1,) * (max(ndim, 1) - where.ndim + 1), *where.shape[1:]))


FORMS.update({f: partial(along, f) for f in (*of_kind("runs"), np.trace)})
FORMS.update({f: partial(along, f, whole=True) for f in (*of_kind("reduces"), *NORMS.values())})
for function in (NP.flip, NP.swapaxes, NP.moveaxis, NP.diagonal, NP.rot90):
    FORMS[function] = partial(along, function, whole=True, view=True, restored=True)
FORMS[NP.roll] = partial(along, NP.roll, restored=True)
FORMS["accumulate"] = FORMS["reduceat"] = along
FORMS["reduce"] = partial(along, whole=True)
FORMS[recur] = lambda layer, x, y: wrap_batched(recur(in_front(x, layer), in_front(y, layer)), layer)
FORMS[norm] = lambda layer, x, ord=None, axis=None, keepdims=False: along(
    norm, layer, x, ord, axis, keepdims, whole=ord is not None
)

# -- at some numbers, the same for all examples or others for each, of what all examples share


@batched(np.searchsorted, interpolate, np.digitize, each=True)
def among(function: AnyFunction, layer: Layer, *args: Any, **options: Any) -> Any:
    """Functions that find numbers (their second argument, of np.digitize the first) among others, which all examples
    share."""
    others = [v for k, v in enumerate(args) if k != (function is not np.digitize)] + list(options.values())
    if has_mapped(others, layer):
        return NotImplemented
    inner = [open_layer(v, layer)[0] for v in args]
    unwrapped = {name: open_layer(v, layer)[0] for name, v in options.items()}
    return wrap_batched(function(*inner, **unwrapped), layer)


@batched(NP.quantile, NP.percentile, NP.nanquantile, NP.nanpercentile, each=True)
def quantile(function: AnyFunction, layer: Layer, *args: Any, **options: Any) -> Any:
    """All examples at the same q, or shared numbers at a q for each."""
    if any_batched(*args[1:2]):
        return among(function, layer, *args, **options)
    return along(function, layer, *args, whole=True, **options)


# ---------------------------------------------------------------- moving and repeating elements


def whole(shape: Any) -> tuple[int, ...]:
    """A shape as NumPy takes it, as a tuple."""
    return tuple([int(n) for n in shape]) if isinstance(shape, (tuple, list)) else (int(shape),)


# -- shapes


def axes_read(inner: Array, order: str | None) -> tuple[int, ...] | None:
    """The axes of an example as this order reads them, the fastest last; None where only NumPy knows."""
    forwards, order = tuple(range(inner.ndim - 1)), (order or "C").upper()
    if order == "K" and (strides := strides_of(inner)):
        return in_memory(inner.shape[1:], strides[1:]) if all(strides[1:]) else None
    is_f = order == "A" and as_strided(np.empty((), inner.dtype), inner.shape[1:], strides_of(inner)[1:]).flags.fnc
    return forwards[::-1] if is_f or order == "F" else forwards


@batched(np.reshape)
def reshape(layer: Layer, a: Array, /, shape: Any, order: str | None = "C", **_: object) -> Any:
    """``order="F"`` is C order of the reversed axes. (Where NumPy copies, ``looping.py`` does.)"""
    inner, shape = open_layer(a, layer)[0], whole(shape)
    if -1 in shape:  # without elements the shape would be ambiguous with a batch in front
        product = math.prod([k for k in shape if k != -1])
        rest = math.prod(inner.shape[1:]) // product if product else 0
        shape = tuple([rest if k == -1 else k for k in shape])
    if (axes := axes_read(inner, order)) is None:
        return NotImplemented
    if axes == tuple(range(inner.ndim - 1)) and order not in ("F", "f"):  # "F" is also how the result is filled
        z = inner.reshape((layer.size, *shape))
    else:
        turned = inner.transpose((0, *[k + 1 for k in axes])).reshape((layer.size, *shape[::-1]))
        z = turned.transpose((0, *range(len(shape), 0, -1)))
    return wrap_batched(z, layer, view_of=a)


FORMS[np.ravel] = FORMS[flatten] = lambda layer, a, order="C": reshape(layer, a, -1, order)


@batched(np.transpose)
def transpose(layer: Layer, a: Array, axes: Axis = None) -> Any:
    """The batch stays where it is."""
    n = a.ndim
    order = tuple(range(n))[::-1] if axes is None else normalize_axis_tuple(axes, n)
    return wrap_batched(a.inner.transpose((0, *[k + 1 for k in order])), layer, view_of=a)


@batched(np.squeeze, np.expand_dims, each=True)
def change_axes(function: AnyFunction, layer: Layer, a: Array, *args: Any, **options: Any) -> Any:
    """Functions that add or drop axes of length 1."""
    shape = function(sample(a), *args, **options).shape
    return wrap_batched(a.inner.reshape((layer.size, *shape)), layer, view_of=a)


@batched(np.broadcast_to, broadcast_view)
def broadcast_to(layer: Layer, array: Array, shape: Any, **_: object) -> Any:
    """Axes are aligned at their end."""
    shape = whole(shape)
    inner = array.inner.reshape((layer.size, *(1,) * (len(shape) - array.ndim), *array.shape))
    return wrap_batched(np.broadcast_to(inner, (layer.size, *shape)), layer, view_of=array)


@batched(*of_kind("elements"), astype, np.copy, np.real, np.imag, each=True)
def of_all(function: AnyFunction, layer: Layer, x: Array, *args: Any, **options: Any) -> Any:
    """Functions that are the same for arrays of any shape."""
    if any_batched(*args, *options.values()):
        return NotImplemented
    is_view = function in (np.real, np.imag)
    return wrap_batched(function(x.inner, *args, **options), layer, view_of=x if is_view else None)


FORMS[constant_with_history] = lambda layer, x, y: wrap_batched(
    constant_with_history(open_layer(x, layer)[0], open_layer(y, layer)[0]), layer, open_layer(x, layer)[1]
)


@batched(np.diag)
def diag(layer: Layer, v: Array, k: int = 0) -> Any:
    """A matrix with the vector on its diagonal, or the diagonal of a matrix."""
    if np.ndim(v) != 1:
        return np.diagonal(v, k) if np.ndim(v) == 2 else NotImplemented
    places, n = np.arange(np.size(v)), np.size(v) + abs(k)
    z = np.zeros_like(v, shape=(n, n))
    z[places + max(-k, 0), places + max(k, 0)] = v
    return z


as_numpy_wrote(np.rollaxis, np.matrix_transpose, np.fliplr, np.flipud, np.tril, np.triu, np.tile)


@batched(pad_row)
def pad(layer: Layer, x: Array, pad_width: Any, mode: object = "constant", constant_values: Array = 0) -> Any:
    """Nothing before the batch, and nothing after it."""
    if any_batched(constant_values) or np.ndim(constant_values):
        return NotImplemented
    if type(pad_width) is int:
        widths = [(pad_width, pad_width)] * x.ndim
    else:
        widths = list(map(tuple, np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()))
    return wrap_batched(pad_row(x.inner, ((0, 0), *widths), mode, constant_values), layer)


@batched(sliding_window_view)
def windows(layer: Layer, x: Array, window_shape: Any, axis: Axis = None, **options: Any) -> Any:
    """Over the axes of an example."""
    if options.get("writeable"):
        layer.doubt("sliding_window_view(writeable=True)")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    places: Any = tuple([k + 1 for k in axes])
    return wrap_batched(sliding_window_view(x.inner, window_shape, places), layer)


# ---------------------------------------------------------------- putting arrays together, making new ones


@batched(np.concatenate, np.stack, each=True)
def join(function: AnyFunction, layer: Layer, arrays: Any, /, axis: Any = 0, **options: Any) -> Any:
    """Along an axis after the batch, which is a new one for np.stack."""
    inner = [in_front(x, layer) for x in arrays]
    if axis is None:
        inner, axis = [in_one_axis(x) for x in inner], 0
    axis = shift_axes(axis, inner[0].ndim - 1 + (function is np.stack))
    return wrap_batched(function(inner, axis, **options), layer)


# -- new arrays


@batched(*of_kind("likes"), each=True)
def fill_like(function: AnyFunction, layer: Layer, a: Array, *args: Any, shape: Any = None, **options: Any) -> Any:
    """An array to be written into has an element for each example."""
    if any_batched(*args, *options.values()):
        return NotImplemented
    shape = layer.size, *whole(a.shape if shape is None else shape)
    z = function(open_layer(a, layer)[0], *args, shape=shape, **options)
    # As a Constant inside: what may be written into it are nodes of an outer layer.
    return wrap_batched(constant_from(z) if type(z) is np.ndarray else z, layer)


@batched(np.zeros, np.ones, np.empty, np.full, each=True)
def fill(function: AnyFunction, layer: Layer, shape: Any, *args: Any, **options: Any) -> Any:
    """The same, ``like`` an array of ours."""
    return wrap_batched(function((layer.size, *whole(shape)), *args, **options), layer)


# ``np.asarray(x, like=y)``: plain arrays may meet ours as they are.
FORMS[NP.asarray] = FORMS[NP.array] = lambda layer, a, *args, **options: (
    a if isinstance(a, Batched) else np.asarray(a, *args, **options)
)


@batched(spaced, np.geomspace, each=True)
def space(
    function: Any, layer: Layer, start: Array, stop: Array, num: int = 50, endpoint: bool = True, dtype: Any = None,
    axis: int = 0,
) -> Any:  # fmt: skip
    """Numbers between others, along a new axis."""
    ends, mapped = align(layer, [start, stop])
    if not mapped or (dtype is not None and np.dtype(dtype).kind in "iu"):  # NumPy rounds by the steps of all
        return NotImplemented
    axis = shift_axes(axis, max(map(ndim_of, ends)))
    return wrap_batched(function(*ends, num, endpoint, dtype, axis), layer)
