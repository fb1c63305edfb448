"""Batched forms of functions with axes: reductions, running sums, sorting, transforms, quantiles; and views.

Axes count behind the batch: axis 0 of an example is axis 1 here. Where None means all axes, it means all but the batch.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..rules.calculus import interpolate
from ..rules.linalg import norm
from ..rules.reductions import recur
from ..rules.variants import NORMS
from ..table.facts import of_kind
from ..table.shapes import Array, is_given
from .batched import Batched, Layer, open_layer, wrap_batched
from .forms import FORMS, Form, in_front

NP: Any = np  # a table of functions of any kind is too much for NumPy's types
AXES = ("axis", "axis1", "axis2", "axes", "source", "destination")


def shift_axes(axis: Any, ndim: int) -> Any:
    """An axis, or several, of an example with ``ndim`` axes, as those of the batch. AxisError as NumPy has it."""
    if isinstance(axis, (tuple, list)):
        return tuple([a + 1 for a in normalize_axis_tuple(axis, ndim)])
    return normalize_axis_index(axis, ndim) + 1


def any_batched(*arguments: Any) -> bool:
    """Is one of these, which are most often plain, an array of ours?"""
    return any([isinstance(v, Batched) for v in arguments])


def along(
    function: Any, whole: bool = False, *, view: bool = False, restored: bool = False, names: Any = None,
    axis: int | None = None,
) -> Form:  # fmt: skip
    """The form of a function of one array with axes among its arguments.

    whole : None for an axis means all axes; else the array is flattened.
    view : the result may share memory with the array.
    restored : what was flattened gets its shape again.
    names, axis : of its arguments, and the axis if none is given; as its signature says.
    """
    if names is None:
        parameters = inspect.signature(function).parameters
        names = tuple(parameters)
        defaults = {name: p.default for name, p in parameters.items() if name in AXES and p.default is not p.empty}
    else:
        defaults = {"axis": axis}

    def form(layer: Layer, *args: Any, **options: Any) -> Any:
        given = {**defaults, **dict(zip(names, args, strict=False)), **options}
        x = given.pop(names[0])
        (inner, mapped), (where, masked) = open_layer(x, layer), open_layer(given.pop("where", None), layer)
        has_weights = "weights" in given and is_given(given["weights"])
        if has_weights or len(args) > len(names) or any_batched(*given.values()):
            return NotImplemented
        inner = inner if mapped else in_front(x, layer)
        n = inner.ndim - 1
        if where is not None and is_given(where):
            given["where"] = masks(where, masked, n)
        axis = given.get("axis", 1)  # NumPy takes the axes 0 and -1 of a number, too
        if not (whole and n) if axis is None else not n and axis in (0, -1, ()):
            keep = given.pop("keepdims", False)
            z = function(inner.reshape((layer.size, -1)), **{**given, "axis": 1})
            if restored or (n and keep is True):
                z = z.reshape(inner.shape if restored else (layer.size, *(1,) * n))
        else:
            for name in AXES:
                if name in given:
                    v = given[name]
                    given[name] = shift_axes(v, n) if v is not None else tuple(range(1, n + 1)) if n > 1 else 1
            z = function(inner, **given)
        z = np.moveaxis(z, np.ndim(given["q"]), 0) if np.ndim(given.get("q", 0)) else z
        return wrap_batched(z, layer, view_of=x if view else None)

    return form


def masks(where: Any, mapped: bool, ndim: int) -> Array:
    """``where=`` for all examples, so that it broadcasts against arrays of ``ndim`` axes behind the batch."""
    if not mapped:
        return where if ndim else np.reshape(where, (1, 1))
    return where.reshape((len(where), *(1,) * (max(ndim, 1) - where.ndim + 1), *where.shape[1:]))


def of_method(function: Any, whole: bool, *names: str) -> Form:
    """The form of a method of a ufunc; ``names``: of its arguments behind the axis."""
    return along(function, whole, names=("array", "axis", "dtype", *names), axis=0)


def segments(layer: Layer, reduceat: Any, x: Any, indices: Any, *args: Any, **options: Any) -> Any:
    """``np.add.reduceat(x, indices)``"""
    if any_batched(indices):
        return NotImplemented
    return of_method(lambda x, **given: reduceat(x, indices, **given), False)(layer, x, *args, **options)


VIEWS = (NP.flip, NP.swapaxes, NP.moveaxis, NP.diagonal, NP.rot90)
for function in of_kind("runs"):
    FORMS[function] = along(function)
for function in (*of_kind("reduces"), *NORMS.values()):
    FORMS[function] = along(function, whole=True)
for function in VIEWS:
    FORMS[function] = along(function, whole=True, view=True)
FORMS[NP.trace], FORMS[NP.roll] = along(NP.trace), along(NP.roll, restored=True)
FORMS["reduce"] = lambda layer, reduce, *args, **options: of_method(
    reduce, True, "out", "keepdims", "initial", "where"
)(layer, *args, **options)
FORMS["accumulate"] = lambda layer, accumulate, *args, **options: of_method(accumulate, False)(layer, *args, **options)
FORMS["reduceat"] = segments
FORMS[recur] = lambda layer, x, y: wrap_batched(recur(in_front(x, layer), in_front(y, layer)), layer)


VECTOR_NORM, MATRIX_NORM = along(norm), along(norm, whole=True)
FORMS[norm] = lambda layer, x, ord=None, axis=None, keepdims=False: (VECTOR_NORM if ord is None else MATRIX_NORM)(
    layer, x, ord, axis, keepdims
)

# -- at some numbers, the same for all examples or others for each, of what all examples share


def among(function: Any, place: int) -> Form:
    """The form of a function that finds numbers (its argument at ``place``) among others, which all examples share."""

    def form(layer: Layer, *args: Any, **options: Any) -> Any:
        others = [v for k, v in enumerate(args) if k != place] + list(options.values())
        if place >= len(args) or any([open_layer(v, layer)[1] for v in others]):
            return NotImplemented
        inner = [open_layer(v, layer)[0] for v in args]
        given = {name: open_layer(v, layer)[0] for name, v in options.items()}
        return wrap_batched(function(*inner, **given), layer)

    return form


def quantile(function: Any) -> Form:
    """The form of np.quantile and its like; of all examples at the same q, or at their own of what they share."""
    of_examples, of_shared = along(function, whole=True), among(function, 1)
    return lambda layer, *args, **options: (of_shared if any_batched(*args[1:2]) else of_examples)(
        layer, *args, **options
    )


for function in (NP.quantile, NP.percentile, NP.nanquantile, NP.nanpercentile):
    FORMS[function] = quantile(function)
FORMS[np.searchsorted] = among(np.searchsorted, 1)
FORMS[np.digitize] = among(np.digitize, 0)
FORMS[np.interp] = among(np.interp, 0)
FORMS[interpolate] = among(interpolate, 1)
