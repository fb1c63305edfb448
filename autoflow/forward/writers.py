"""NumPy's functions that write into their first argument: put, place, putmask, fill_diagonal, and ``np.add.at``.

Each of them is ``x[places] = values`` for some places, and that is recorded (``inplace.py``); here the places are
found. Where values are repeated until there are enough of them, so they are here, by a recorded function.

>>> import autoflow as af
>>> x, a = af.Variable([1.0, 2.0]), af.zeros(4)
>>> np.put(a, [0, 3], x * x)
>>> a.sum().backward()
>>> x.grad
array([2., 4.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import on_host
from ..errors import NoRuleError, lost
from ..nodes.nodes import NodeRole, value_of
from ..rules import RULES
from ..rules.indexing import put_back
from ..rules.ordering import along
from ..rules.shapes import as_array, as_dtype, is_numpys, like_argument, together
from .inplace import copyto, write, write_item
from .operands import plain_option

Array = Any


def node(x: Any, name: str) -> Any:
    """``x``, if it can remember what is written into it."""
    if not isinstance(x, NodeRole):
        raise lost(f"np.{name} of a node into a plain array keeps only numbers: make the array with af.zeros(...)")
    return x


def repeat_values(values: Any, n: int) -> Any:
    """The first n of ``values``, ``values``, ..."""
    values = as_array(values)
    flat = values.reshape(-1)
    return flat if flat.size == n else np.resize(flat, n)


def plain_places(option: Any) -> Array:
    """An index or a mask as an array on the host, where the places are found."""
    return np.asarray(on_host(plain_option(option)))


def write_places(x: Any, places: Array, values: Any) -> None:
    """Write into the elements of these numbers (in C order); the values are repeated until there are enough.

    Of several values for one element the last one stays; the others are not written, so no gradient reaches them.
    """
    places = np.asarray(places).reshape(-1)
    if not places.size or not np.size(value_of(values)):
        return
    values = repeat_values(together(x, values)[1], places.size)
    different, last = np.unique(places[::-1], return_index=True)
    if different.size < places.size:
        values, places = values[places.size - 1 - last], different
    write_item(x, np.unravel_index(places, x.shape), values)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Elements by their numbers."""
    x, i, n = node(a, "put"), plain_places(ind), np.size(value_of(a))
    if mode == "clip":
        i = np.clip(i, 0, n - 1)
    elif mode == "wrap":
        i = i % n
    elif i.size and (i.min() < -n or i.max() >= n):
        raise IndexError(f"index {i.max() if i.max() >= n else i.min()} is out of bounds for axis 0 with size {n}")
    write_places(x, np.where(i < 0, i + n, i), v)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The elements at which the mask holds, one after the other."""
    x, mask = node(arr, "place"), plain_places(mask).astype(bool)
    if mask.size != x.size:
        raise ValueError("place: mask and data must be the same size")
    if not np.size(value_of(vals)) and mask.any():
        raise ValueError("Cannot insert from an empty array!")
    write_places(x, np.flatnonzero(mask), vals)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """The elements at which the mask holds; each takes the value that stands at its own place."""
    x, places = node(a, "putmask"), np.flatnonzero(plain_places(mask))
    if places.size and np.size(value_of(values)):
        write_places(x, places, repeat_values(together(x, values)[1], x.size)[places])


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """The diagonal of all axes; of a tall matrix with ``wrap`` again and again."""
    x = node(a, "fill_diagonal")
    numbers = np.zeros(x.shape, bool)
    np.fill_diagonal(numbers, True, wrap)
    write_places(x, np.flatnonzero(numbers), val)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """The twin of take_along_axis."""
    x, i = node(arr, "put_along_axis"), plain_places(indices)
    places = along(i, x.shape, axis) if axis is not None else np.unravel_index(np.where(i < 0, i + x.size, i), x.shape)
    numbers = np.arange(x.size).reshape(x.shape)[places]
    write_places(x, numbers, np.broadcast_to(together(x, values)[1], numbers.shape))


WRITERS: dict[Any, Callable[..., Any]] = {
    np.copyto: copyto, np.fill_diagonal: fill_diagonal, np.place: place, np.put: put,
    np.put_along_axis: put_along_axis, np.putmask: putmask,
}  # fmt: skip


def write_at(ufunc: Any, x: Any, i: Any, y: Any = None) -> None:
    """``np.add.at(x, i, y)``: x[i] += y, where an element that is named several times gets all of its y.

    Sums are recorded as x + (the y at their places); other functions, if no element is named twice, as
    x[i] = ufunc(x[i], y).

    >>> import autoflow as af
    >>> w, a = af.Variable([1.0, 2.0, 3.0]), af.zeros(2)
    >>> write_at(np.add, a, [0, 0, 1], w)
    >>> a
    [3., 3.]  Operation add_0 = add(float64[2], put_back_0)
    """
    x, i = node(x, f"{ufunc.__name__}.at"), plain_option(i)
    i = np.asarray(i) if isinstance(i, list) else i
    places = np.arange(x.size, like=like_argument(x)).reshape(x.shape)[i]
    if ufunc in (np.add, np.subtract):
        values = np.broadcast_to(as_array(y), places.shape)
        added = put_back(as_dtype(values, x.dtype), i, x.shape)
        if is_numpys(x):
            write(x, RULES[ufunc], (x, added), lambda memory, a, b: ufunc.at(memory, i, value_of(y)))
        else:  # a library may not take every index here
            write(x, RULES[ufunc], (x, added), lambda memory, a, b: ufunc(memory, b, out=memory))
        return
    if np.unique(places).size != places.size:
        raise NoRuleError(
            f"np.{ufunc.__name__}.at of a node with an element named twice is not recorded: write a loop, x[i] = ..."
        )
    write_item(x, i, ufunc(x[i]) if y is None else ufunc(x[i], y))
