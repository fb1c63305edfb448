"""Batched forms of functions that move elements or repeat them, put arrays together, or make new ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from ..base.modes import modes
from ..nodes.nodes import constant_from
from ..rules.building import spaced
from ..rules.joining import pad as pad_row
from ..rules.structure import astype, constant_with_history, flatten
from ..table.facts import of_kind
from ..table.indexing import put_back
from ..table.kernels import broadcast_view
from .along_axes import any_batched, shift_axes
from .batched import Batched, Layer, one_behind_another, open_layer, wrap_batched
from .forms import FORMS, Form, align, batched, in_front, ndim_of

# ---------------------------------------------------------------- moving and repeating elements

NP: Any = np  # what it is called with are arrays of ours, of which its types know nothing


def whole(shape: Any) -> tuple[int, ...]:
    """A shape as NumPy takes it, as a tuple."""
    return tuple([int(n) for n in shape]) if isinstance(shape, (tuple, list)) else (int(shape),)


# -- shapes


@batched(np.reshape)
def reshape(layer: Layer, a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """``order="F"`` is C order of the axes turned round."""
    inner, shape = open_layer(a, layer)[0], whole(shape)
    n = inner.ndim - 1
    if -1 in shape:  # of no elements NumPy would not know, with a batch in front, what is meant
        known = math.prod([k for k in shape if k != -1])
        rest = math.prod(inner.shape[1:]) // known if known else 0
        shape = tuple([rest if k == -1 else k for k in shape])
    if order in ("C", "A", "K"):
        z = inner.reshape((layer.size, *shape))
    else:
        turned = inner.transpose((0, *range(n, 0, -1))).reshape((layer.size, *shape[::-1]))
        z = turned.transpose((0, *range(len(shape), 0, -1)))
    return wrap_batched(z.copy() if copy else z, layer, view_of=a)


@batched(np.ravel)
def ravel(layer: Layer, a: Any, order: str = "C") -> Any:
    """One axis: a view only if the numbers of an example lie one behind the other, as in NumPy."""
    inner = open_layer(a, layer)[0]
    steps = list(zip(inner.shape[1:], inner.strides[1:], strict=True))
    size, dense = inner.itemsize, True
    for n, step in steps if order == "F" else steps[::-1]:
        dense, size = dense and (n == 1 or step == size), size * n
    return reshape(layer, a, -1, order, copy=not dense)


@batched(flatten)
def flat_copy(layer: Layer, a: Any, order: str = "C") -> Any:
    """One axis, always a copy."""
    return reshape(layer, a, -1, order, copy=True)


@batched(np.transpose)
def transpose(layer: Layer, a: Any, axes: Any = None) -> Any:
    """The batch stays where it is."""
    n = a.ndim
    order = tuple(range(n))[::-1] if axes is None else normalize_axis_tuple(axes, n)
    if len(order) != n:
        raise ValueError("axes don't match array")
    return wrap_batched(a.inner.transpose((0, *[k + 1 for k in order])), layer, view_of=a)


@batched(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(layer: Layer, x: Any, /) -> Any:
    """The last two axes."""
    return np.swapaxes(x, -1, -2)


@batched(np.rollaxis)
def rollaxis(layer: Layer, a: Any, axis: int, start: int = 0) -> Any:
    """``start`` may be one behind the last axis."""
    n = np.ndim(a)
    axis, start = axis % n, start + n if start < 0 else start
    return np.moveaxis(a, axis, start - (axis < start))


@batched(np.squeeze)
def squeeze(layer: Layer, a: Any, axis: Any = None) -> Any:
    """The batch stays, also if there is one example."""
    gone = tuple([k for k, n in enumerate(a.shape) if n == 1]) if axis is None else axis
    return wrap_batched(np.squeeze(a.inner, shift_axes(gone, a.ndim)), layer, view_of=a)


@batched(np.expand_dims)
def expand_dims(layer: Layer, a: Any, axis: Any) -> Any:
    """New axes behind the batch."""
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return wrap_batched(np.expand_dims(a.inner, shift_axes(axes, a.ndim + len(axes))), layer, view_of=a)


@batched(np.broadcast_to, broadcast_view)
def broadcast_to(layer: Layer, array: Any, shape: Any, **_: Any) -> Any:
    """Axes are aligned at their end."""
    inner, shape = array.inner, whole(shape)
    new = len(shape) - array.ndim
    inner = inner.reshape((layer.size, *(1,) * new, *array.shape)) if new > 0 else inner
    return wrap_batched(np.broadcast_to(inner, (layer.size, *shape)), layer, view_of=array)


def of_all(function: Any, view: bool = False) -> Form:
    """The form of a function that is the same for arrays of any shape, or looks at the last axes only."""

    def form(layer: Layer, x: Any, *args: Any, **options: Any) -> Any:
        if any_batched(*args, *options.values()):
            return NotImplemented
        return wrap_batched(function(x.inner, *args, **options), layer, view_of=x if view else None)

    return form


for function in (*of_kind("elements"), astype):
    FORMS[function] = of_all(function)
FORMS[np.real], FORMS[np.imag] = of_all(np.real, view=True), of_all(np.imag, view=True)
FORMS[np.copy] = of_all(lambda inner, order="K", subok=False: inner.copy())
FORMS[constant_with_history] = lambda layer, x, y: wrap_batched(
    constant_with_history(open_layer(x, layer)[0], open_layer(y, layer)[0]), layer, open_layer(x, layer)[1]
)


@batched(np.diag)
def diag(layer: Layer, v: Any, k: int = 0) -> Any:
    """A matrix with the vector on its diagonal, or the diagonal of a matrix."""
    if np.ndim(v) != 1:
        return np.diagonal(v, k) if np.ndim(v) == 2 else NotImplemented
    places, n = np.arange(np.size(v)), np.size(v) + abs(k)
    return put_back(v, (places + max(-k, 0), places + max(k, 0)), (n, n))


def triangle(function: Any) -> Form:
    """np.tril, np.triu: of the last two axes; a vector is repeated to a matrix first."""
    form = of_all(function)
    return lambda layer, m, k=0: form(layer, np.broadcast_to(m, (np.size(m),) * 2) if np.ndim(m) == 1 else m, k)


FORMS[np.tril], FORMS[np.triu] = triangle(np.tril), triangle(np.triu)
FORMS[np.fliplr] = lambda layer, m: np.flip(m, 1)
FORMS[np.flipud] = lambda layer, m: np.flip(m, 0)


# -- repeated and padded


@batched(np.tile)
def tile(layer: Layer, A: Any, reps: Any) -> Any:  # noqa: N803 - NumPy's name
    """The batch once."""
    if any_batched(reps):
        return NotImplemented
    reps, n = whole(reps), A.ndim
    inner = A.inner.reshape((layer.size, *(1,) * (len(reps) - n), *A.shape)) if len(reps) > n else A.inner
    return wrap_batched(np.tile(inner, (1, *(1,) * (inner.ndim - 1 - len(reps)), *reps)), layer)


@batched(pad_row)
def pad(layer: Layer, x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    """Nothing in front of the batch, and nothing behind it."""
    if any_batched(constant_values) or not isinstance(mode, str) or np.ndim(constant_values):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    return wrap_batched(pad_row(x.inner, ((0, 0), *[tuple(w) for w in widths]), mode, constant_values), layer)


@batched(sliding_window_view)
def windows(layer: Layer, x: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    """Of the axes of an example."""
    if options.get("writeable"):
        layer.doubt("sliding_window_view(writeable=True)")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    return wrap_batched(sliding_window_view(x.inner, window_shape, tuple([k + 1 for k in axes])), layer)


# ---------------------------------------------------------------- putting arrays together, making new ones


@batched(np.concatenate)
def concatenate(layer: Layer, arrays: Any, /, axis: Any = 0, **options: Any) -> Any:
    """Behind the batch."""
    inner = [in_front(x, layer) for x in arrays]
    if axis is None:
        inner, axis = [x.reshape((layer.size, -1)) for x in inner], 0
    return wrap_batched(np.concatenate(inner, shift_axes(axis, inner[0].ndim - 1), **options), layer)


@batched(np.stack)
def stack(layer: Layer, arrays: Any, axis: int = 0, **options: Any) -> Any:
    """A new axis behind the batch."""
    inner = [in_front(x, layer) for x in arrays]
    return wrap_batched(np.stack(inner, shift_axes(axis, inner[0].ndim), **options), layer)


# -- new arrays


def filled_like(function: Any) -> Form:
    """An array to be written into has an element for each example."""

    def form(layer: Layer, a: Any, *args: Any, shape: Any = None, **options: Any) -> Any:
        if any_batched(*args, *options.values()):
            return NotImplemented
        z = function(
            open_layer(a, layer)[0], *args, shape=(layer.size, *whole(a.shape if shape is None else shape)), **options
        )
        # As a Constant inside: what may be written into it are nodes of an outer layer.
        return wrap_batched(constant_from(z) if type(z) is np.ndarray and modes().recording else z, layer)

    return form


def fill_with_like(function: Any) -> Form:
    """``np.zeros(shape, like=x)``"""
    return lambda layer, shape, *args, **options: wrap_batched(
        function((layer.size, *whole(shape)), *args, **options), layer
    )


for function in of_kind("likes"):
    FORMS[function] = filled_like(function)
for function in (NP.zeros, NP.ones, NP.empty, NP.full):
    FORMS[function] = fill_with_like(function)
for function in (NP.arange, NP.identity, NP.eye, NP.tri):
    FORMS[function] = lambda layer, *args, function=function, **options: function(*args, **options)
# ``np.asarray(x, like=y)``: plain arrays may meet ours as they are.
FORMS[NP.asarray] = FORMS[NP.array] = lambda layer, a, *args, **options: (
    a if isinstance(a, Batched) else np.asarray(a, *args, **options)
)


def spaced_between(function: Any) -> Form:
    """The form of a function like np.linspace: its numbers stand along a new axis."""

    def form(
        layer: Layer, start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
    ) -> Any:
        ends, mapped = align(layer, [start, stop])
        if not mapped:
            return NotImplemented
        axis = shift_axes(axis, max([ndim_of(x) for x in ends]))
        return wrap_batched(one_behind_another(function(*ends, num, endpoint, dtype, axis)), layer)

    return form


FORMS[spaced] = spaced_between(spaced)
FORMS[np.geomspace] = spaced_between(lambda x, y, num, endpoint, dtype, axis: np.geomspace(
    x, y, num, endpoint, dtype, axis))  # fmt: skip
