"""Largest and smallest elements: max, min, ptp.

Equal ones share the gradient. What a row keeps is where they are, not the elements, which may be overwritten or freed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .kernels import reducer
from .shapes import Axis, axes_of, given_keywords, restore_axes
from .table import composed, rule
from .versions import NOT_GIVEN

Array = Any
PLAIN = (np.ndarray, np.float64)  # of a pass that is not recorded


class Reached(NamedTuple):
    """The places of the maxima of an array. Its derivatives need no more, so the array may be overwritten or freed.

    mask : is this element equal to its maximum? Of the array's shape.
    shares : among how many elements each maximum is shared, with the axes kept with length 1; None where the mask tells
        it, for then it can wait for the pass back.
    axis, keepdims : along which axes the maxima were taken, and whether the result has them.
    """

    mask: Array
    shares: Array | None
    axis: Axis
    keepdims: bool


def find_maxima(x: Array, axis: Axis, keepdims: bool, initial: Any, where: Any, z: Array) -> Reached:
    """The maxima (or minima) z of x along ``axis``, found in x. ``initial`` is one more element.

    >>> find_maxima(np.array([2.0, 1.0, 2.0]), None, False, None, None, np.array(2.0)).mask
    array([ True, False,  True])
    """
    keepdims = bool(keepdims)
    z = restore_axes(z, x.shape, axis, keepdims)
    mask = x == z if where is None else (x == z) & where
    shares = None if initial is None else how_many(mask, axis) + (z == initial)
    return Reached(mask, shares, axis, keepdims)


def how_many(mask: Array, axis: Axis) -> Array:
    """How many are true along ``axis``, which is kept with length 1."""
    return mask.sum(axis=axis, keepdims=True)


def share_of_max(g: Array, reached: Reached) -> Array:
    """Equal entries share the gradient of their maximum (or minimum) evenly. In a row with a NaN nothing is equal to
    the maximum, and 0 / 0 says so."""
    mask, count, axis, keepdims = reached
    g = restore_axes(g, mask.shape, axis, keepdims)
    if count is None and type(g) in PLAIN and is_one_each(mask, axis, g):  # no ties, most often: nothing to divide
        in_order = axis is None or axes_of(axis, mask.ndim) == (mask.ndim - 1,)
        return scatter_at_mask(g, mask) if in_order else np.where(mask, g, 0)
    count = (how_many(mask, axis) if count is None else count).astype(np.result_type(g.dtype, np.float32))
    return np.where(mask, g / count, 0 / count)


def is_one_each(mask: Array, axis: Axis, g: Array) -> bool:
    """Is there exactly one maximum for each element of g? (A row with a NaN has none.)"""
    return np.count_nonzero(mask) == g.size and (g.size == 1 or bool(mask.any(axis=axis).all()))


def scatter_at_mask(values: Array, mask: Array) -> Array:
    """Zeros, except for ``values`` where ``mask`` is true, in the order of the elements; quicker than ``np.where``.

    >>> scatter_at_mask(np.array([5.0, 7.0]), np.array([[False, True], [True, False]]))
    array([[0., 5.],
           [7., 0.]])
    """
    z = np.zeros(mask.shape, values.dtype)
    z.reshape(-1)[np.flatnonzero(mask)] = values.reshape(-1)
    return z


def extreme(ufunc: np.ufunc, function: Any) -> Callable[..., Any]:
    """:func:`reducer` of a function without ``dtype``."""
    compute = reducer(ufunc, function)
    return lambda x, axis, keepdims, initial, where: compute(x, axis, None, keepdims, initial, where)


@composed(np.ptp)
def ptp(a: Array, axis: Axis = None, out: Any = None, keepdims: Any = NOT_GIVEN) -> Array:
    """max - min."""
    options = given_keywords(axis=axis, keepdims=keepdims)
    return np.subtract(np.max(a, **options), np.min(a, **options), **given_keywords(out=out))


# fmt: off
rule(np.max, "x | axis=None keepdims=False initial=None where=None", "max", r"\max $x", x=share_of_max,
     also=(np.amax,), compute=extreme(np.maximum, np.max), residual={"x": find_maxima})
rule(np.min, "x | axis=None keepdims=False initial=None where=None", "min", r"\min $x", x=share_of_max,
     also=(np.amin,), compute=extreme(np.minimum, np.min), residual={"x": find_maxima})
# fmt: on
