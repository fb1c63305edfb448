"""Reading and writing a part of an array, as functions: ``x[i]`` is ``getitem(x, i)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shapes import AnyFunction, Array, is_numpys, is_on_host, like_argument, sum_to, zeros
from .table import primitive, rule
from .vjps import in_kind_of

ADD_AT: dict[type, Any] = {}  # array type of another library -> its own function for add_at


@primitive
def getitem(x: Array, i: Any) -> Array:
    """``x[i]``. Shapes: any x and index that NumPy accepts."""
    return x[i]


@primitive
def put_back(g: Array, i: Any, shape: tuple[int, ...]) -> Array:
    """The transpose of :func:`getitem`: zeros of ``shape``, with ``g`` added at ``i``. Repeated indices add up."""
    if is_basic(i):
        z = zeros(g, shape)
        z[i] = g
        return z
    half = g.dtype == np.float16  # added up in single precision, rounded once
    z = zeros(g, shape, np.float32 if half else g.dtype)
    add_at(z, i, g)
    return z.astype(np.float16) if half else z


def add_at(z: Array, i: Any, g: Array) -> None:
    """``np.add.at(z, i, g)``, wherever z is: the one place where rules add into repeated indices.

    CuPy takes no tuple as the index there, and a GPU adds no complex number in one step.
    """
    if type(z) is np.ndarray or is_numpys(z):
        np.add.at(z, i, g)
    elif z.dtype.kind == "c":
        add_at(np.real(z), i, np.real(g))  # views: what is added there is in z
        add_at(np.imag(z), i, np.imag(g))
    else:
        ADD_AT.get(type(z), add_at_places)(z, i, g)


def add_at_places(z: Array, i: Any, g: Array) -> None:
    """The same for flat positions: any index becomes an array of positions."""
    places = np.arange(z.size, like=like_argument(z)).reshape(z.shape)[i]
    added = np.zeros(z.size, z.dtype, like=like_argument(z))
    np.add.at(added, places.reshape(-1), np.broadcast_to(g, places.shape).reshape(-1))
    z += added.reshape(z.shape)


@primitive
def setitem(x: Array, y: Array, i: Any) -> Array:
    """A copy of ``x`` with ``y`` at ``i``: what ``x[i] = y`` computes (nodes do it in place)."""
    z = np.copy(x)
    z[i] = y
    return z


@primitive
def put_view(x: Array, y: Array, view: AnyFunction) -> Array:
    """A copy of ``x`` with ``y`` where ``view(x)`` looks: a write through a transposed or reshaped view."""
    z = np.copy(x, order="C")
    part = view(z)
    if not part.size or np.may_share_memory(part, z):
        part[...] = y
    else:  # a view of x, but a copy of z, which has another memory order: find by index which elements it shows
        z.reshape(-1)[view(np.arange(z.size).reshape(z.shape))] = y
    return z


BASIC = (int, slice, np.integer, type(None), type(...))


def is_basic(i: Any) -> bool:
    """Does ``x[i]`` give a view (slices, integers, newaxis, Ellipsis)?"""
    for part in i if type(i) is tuple else (i,):
        if not isinstance(part, BASIC) or isinstance(part, bool):
            return False
    return True


def _part(g: Array, y_shape: tuple[int, ...], y_dtype: np.dtype) -> Array:
    """``g`` summed to y's shape, where y was broadcast into a place."""
    extra = max(len(y_shape) - g.ndim, 0)  # NumPy lets y have more leading 1s than the place
    return in_kind_of(y_dtype, sum_to(g, y_shape[extra:]).reshape(y_shape))


def _gradient_of_written(g: Array, i: Any) -> Array:
    """``g[i]``, and zero for what was overwritten at once: after ``x[[1, 1]] = y`` only the last value is left."""
    part = g[i]
    if is_basic(i) or not part.size:
        return part
    order = np.arange(part.size, like=like_argument(g)).reshape(part.shape)
    last = np.zeros(g.shape, np.intp, like=like_argument(g))
    last[i] = order
    stays = last[i] == order
    return part if is_on_host(g) and stays.all() else np.where(stays, part, 0)


rule(getitem, "x | i", "[·]", r"$x_{$i}", view=True, x=lambda g, i, x_shape: put_back(g, i, x_shape))
rule(put_back, "x | i shape", "[·]⊤", r"\operatorname{put\_back}_{$i \to $shape} $x", x=lambda g, i: g[i])
rule(setitem, "x y | i", "[·]=", r"$x_{$i} \leftarrow $y",
     x=lambda g, i: setitem(g, 0.0, i),
     y=lambda g, i, y_shape, y_dtype: _part(_gradient_of_written(g, i), y_shape, y_dtype))  # fmt: skip
rule(put_view, "x y | view", "view=", r"$x \leftarrow $y", holomorphic=False,
     x=lambda g, view: put_view(g, 0.0, view),
     y=lambda g, view, y_shape, y_dtype: _part(view(g), y_shape, y_dtype))  # fmt: skip
