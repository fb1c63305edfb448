"""Functions that build an array from parts: choosing, inserting, deleting, windows, ranges, loops over a function.

Many of them only say which element goes where, and that does not depend on the elements. So let NumPy's function work
on the *numbers* of the elements (0, 1, 2, ...) instead: its result is an index, and ``np.take`` has a derivative
(:func:`move_elements`). NumPy itself takes care of shapes, axes and orders.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..base.errors import NoRuleError
from ..base.types import Array, Shape
from ..table.bodies import run_own
from ..table.indexing import put_back
from ..table.shapes import as_array, as_dtype, axes_of, is_numpys, like_argument, numbers_of, sum_to, together, total
from ..table.table import composed, primitive, rule
from ..table.vjps import in_kind_of


def move_elements(arrange: Callable[..., Array], *arrays: Array) -> Array:
    """The elements of ``arrays``, arranged as ``arrange`` arranges their numbers.

    >>> move_elements(lambda a, b: np.insert(a, 1, b), np.array([5.0, 7.0]), np.array(6.0))
    array([5., 6., 7.])
    """
    starts = accumulate([x.size for x in arrays], initial=0)
    numbers = [start + np.arange(x.size).reshape(x.shape) for start, x in zip(starts, arrays, strict=False)]
    flat = [x.reshape(-1) for x in arrays]
    return np.take(flat[0] if len(flat) == 1 else np.concatenate(flat), arrange(*numbers))


# ---------------------------------------------------------------- leaving out, putting in, repeating


@composed(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Array:
    """Without those places."""
    return move_elements(lambda numbers: np.delete(numbers, numbers_of(obj), axis), as_array(arr))


@composed(np.insert)
def insert(arr: Array, obj: Any, values: Array, axis: Any = None) -> Array:
    """With ``values``, in the dtype of ``arr``, before those places."""
    x, y = together(arr, values)
    is_plain = type(y) is np.ndarray and not hasattr(values, "dtype")  # then NumPy casts, and refuses complex numbers
    y = np.asarray(values, x.dtype) if is_plain else as_dtype(y, x.dtype)
    return move_elements(lambda numbers, new: np.insert(numbers, numbers_of(obj), new, axis), x, y)


run_own(np.extract, np.logspace, np.resize, np.trim_zeros)
run_own(np.select, sequences="condlist choicelist")
run_own(np.piecewise, sequences="condlist funclist", untouched="args kw")


# ---------------------------------------------------------------- choosing


@composed(np.choose, sequences="choices")
def choose(a: Array, choices: Any, out: object = None, mode: str = "raise") -> Array:
    """At each place the element of that choice."""
    which: Any = np.choose
    i = as_array(numbers_of(a))
    if not is_numpys(i):
        return choose_there(i, choices, mode)
    return move_elements(lambda *numbers: which(i, numbers, mode=mode), *together(*choices))


def choose_there(i: Array, choices: Any, mode: object) -> Array:
    """:func:`choose`, with the choices where they are: on a GPU."""
    n = len(choices)
    if mode in ("raise", 2, None) and np.any((i < 0) | (i >= n)):
        raise ValueError("invalid entry in choice array")
    i = i % n if mode in ("wrap", 1) else np.clip(i, 0, n - 1)
    return np.select([i == k for k in range(n)], list(choices))


# ---------------------------------------------------------------- grids and windows


@composed(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: Any = "xy") -> Sequence[Array]:
    """The coordinates of all points of a grid."""
    kind, n = type(np.meshgrid(0, copy=copy, sparse=sparse, indexing=indexing)), len(xi)  # and NumPy's errors
    places = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    grid = [
        as_array(x).reshape(tuple([-1 if a == k else 1 for a in range(n)])) for x, k in zip(xi, places, strict=True)
    ]
    if not sparse:
        shape = np.broadcast_shapes(*[x.shape for x in grid])
        grid = [np.broadcast_to(x, shape) for x in grid]
    return kind([np.copy(x, order="C") if copy else x for x in grid])  # type: ignore[misc]


def windows(x: Array, window_shape: Any, axis: Any, subok: bool, writeable: bool) -> Array:
    """A copy of the windows: in NumPy they overlap in memory, and no write could be recorded."""
    if writeable:
        raise NoRuleError(
            "sliding_window_view(writeable=True): windows of a node are copies, write into the node itself"
        )
    view = np.lib.stride_tricks.sliding_window_view
    if axis is None or is_numpys(x):
        return view(x, window_shape, axis).copy()
    z = x  # CuPy sorts the axes but not the lengths, and takes no axis twice: so one after the other
    axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    for a, length in zip(axes, np.atleast_1d(window_shape).tolist(), strict=True):
        z = view(z, length, a)
    return z.copy()


def windows_x(g: Array, x_shape: Shape, window_shape: Any, axis: Any) -> Array:
    """An element is in several windows: what they receive adds up."""
    size = int(np.prod(x_shape))
    numbers = np.lib.stride_tricks.sliding_window_view(np.arange(size).reshape(x_shape), window_shape, axis)
    return put_back(g, (numbers,), (size,)).reshape(x_shape)


rule(np.lib.stride_tricks.sliding_window_view, "x | window_shape axis=None subok=False writeable=False", "windows",
     compute=windows, x=windows_x)  # fmt: skip

# ---------------------------------------------------------------- ranges between nodes


def fractions(n: int, endpoint: bool, g: Array, axis: Any) -> Array:
    """How far along each element is, from 0 to 1, shaped for multiplication with g along ``axis``."""
    steps = n - 1 if endpoint else n
    t = (np.arange(n, like=like_argument(g)) / max(steps, 1)).astype(np.finfo(g.dtype).dtype)
    return t.reshape((-1,) + (1,) * (g.ndim - 1 - axes_of(axis, g.ndim)[0]))


@primitive
def spaced(x: Any, y: Any, num: int, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """``np.linspace`` without the extras."""
    return np.linspace(x, y, num, endpoint, False, dtype, axis)


@composed(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: object = None,
) -> Array | tuple[Array, float]:  # fmt: skip
    """Evenly spaced from ``start`` to ``stop``; with ``retstep`` the step as well."""
    if device not in (None, "cpu"):
        raise ValueError(f"Device not understood. Only 'cpu' is allowed, but received: {device}")
    num = operator.index(num)
    z = spaced(start, stop, num, endpoint, dtype, axis)
    steps = num - 1 if endpoint else num
    if not retstep or steps <= 0:
        return (z, np.nan) if retstep else z
    return z, np.subtract(as_array(stop) * 1.0, as_array(start) * 1.0) / steps


def to_end(g: Array, share: Array, end: Array, call: tuple[Any, ...]) -> Array:
    """z = x (y / x)ᵗ = x¹⁻ᵗ yᵗ, so dz/dx = (1 − t) z / x and dz/dy = t z / y: Σ g share z / end. A real ``dtype=`` has
    dropped imaginary parts: of z = Re(w) the gradient is conj(dw/dx) g."""
    x, y, z, num, endpoint, axis = call
    if z.dtype.kind == "c" or not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return sum_to(total(g * z * share, axes_of(axis, g.ndim)) / end, end.shape)
    w = np.geomspace(x, y, num, endpoint, axis=axis)
    sent = np.conjugate(total(g * w * share, axes_of(axis, g.ndim)) / end)
    return sum_to(sent if end.dtype.kind == "c" else np.real(sent), end.shape)


# fmt: off
rule(spaced, "x y | num endpoint=True dtype=None axis=0",
     name="linspace",  # z = x + (y − x) t
     x=lambda g, x_shape, x_dtype, num, endpoint, axis: in_kind_of(
         x_dtype, sum_to(total(g * (1 - fractions(num, endpoint, g, axis)), axes_of(axis, g.ndim)), x_shape)),
     y=lambda g, y_shape, y_dtype, num, endpoint, axis: in_kind_of(
         y_dtype, sum_to(total(g * fractions(num, endpoint, g, axis), axes_of(axis, g.ndim)), y_shape)))
rule(np.geomspace, "x y | num=50 endpoint=True dtype=None axis=0", domain=(0.5, 2.0),
     x=lambda g, x, y, z, num, endpoint, axis: to_end(
         g, 1 - fractions(num, endpoint, g, axis), x, (x, y, z, num, endpoint, axis)),
     y=lambda g, x, y, z, num, endpoint, axis: to_end(
         g, fractions(num, endpoint, g, axis), y, (x, y, z, num, endpoint, axis)))
# fmt: on

# ---------------------------------------------------------------- loops over a function

run_own(np.apply_over_axes)


@composed(np.apply_along_axis, untouched="args options")
def apply_along_axis(func1d: Any, axis: int, arr: Array, *args: Any, **options: Any) -> Array:
    """``func1d`` of every vector along an axis; its results replace that axis."""
    x = as_array(arr)
    axis = normalize_axis_index(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)
    lead = rows.shape[:-1]
    parts = [as_array(func1d(rows[i], *args, **options)) for i in np.ndindex(*lead)]
    if not parts:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    stacked = np.stack(parts).reshape(lead + parts[0].shape)
    new = tuple(range(len(lead), stacked.ndim))
    return np.transpose(stacked, (*range(axis), *new, *range(axis, len(lead))))
