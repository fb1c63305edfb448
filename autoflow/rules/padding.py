"""``np.pad`` in every mode but one's own function.

Constants, and modes that copy elements (edge, reflect, symmetric, wrap), are one operation with a row in
``joining.py``. The others are computed along one axis after the other, as NumPy does it: what is put before and behind
an axis is an expression of the array so far, joined to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NoRuleError
from .calculus import cut
from .joining import MAPPED, pad
from .shapes import as_array, has_gradient, numbers_of
from .table import composed

Array = Any
Sides = tuple[Any, Any]  # before and behind
STATISTICS: dict[str, Callable[..., Any]] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
OPTIONS = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type", "symmetric": "reflect_type",
    **dict.fromkeys(STATISTICS, "stat_length"),
}  # fmt: skip


@composed(np.pad)
def padded(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    """What np.pad means for nodes; ``constant_values`` and ``end_values`` may be nodes too."""
    x = as_array(array)
    if callable(mode):
        raise NoRuleError("np.pad(x, width, function) lets a function write into an array: join the parts yourself")
    if isinstance(pad_width, dict):  # NumPy knows these from 2.4 on
        pad_width = widths_by_axis(pad_width, x.ndim)
    if mode not in OPTIONS and mode not in (*MAPPED, "empty"):
        raise ValueError(f"mode '{mode}' is not supported")
    if unknown := set(options) - {OPTIONS.get(mode)}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    option = options.get(OPTIONS.get(mode, ""))
    odd = option == "odd" if mode in ("reflect", "symmetric") else False
    if mode == "empty" or not x.size:
        np.pad(numbers_of(x), pad_width, mode)  # raises NumPy's error for an invalid call
        return pad(x, pad_width)  # "empty" may hold anything; zeros are fine
    if (mode in MAPPED and not odd) or (mode == "constant" and not has_gradient(option)):
        return pad(x, pad_width, mode, *([] if option is None or mode != "constant" else [plain_pairs(option)]))
    widths = widths_of(pad_width, x.ndim)
    default: Any = None if mode in STATISTICS else 0
    values = pairs(default if option is None else option, x.ndim) if not odd else widths
    for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
        x = one_axis(x, axis, width, value, mode)
    return x


def one_axis(x: Array, axis: int, width: tuple[int, int], value: Sides, mode: str) -> Array:
    """``x`` with something before and behind it along ``axis``."""
    if mode in ("reflect", "symmetric"):
        return reflect_edge(x, axis, width, mode == "symmetric")
    if mode == "constant":
        ends = [np.astype(as_array(v), x.dtype) for v in value]
    elif mode == "linear_ramp":
        return join_sides(x, axis, ramp(x, axis, width[0], value[0], 0), ramp(x, axis, width[1], value[1], -1))
    else:
        ends = statistics_of(x, axis, value, STATISTICS[mode])
    shapes = [tuple([w if a == axis else n for a, n in enumerate(x.shape)]) for w in width]
    return join_sides(x, axis, *[np.broadcast_to(end, shape) for end, shape in zip(ends, shapes, strict=True)])


def join_sides(x: Array, axis: int, before: Array, behind: Array) -> Array:
    """The three, along ``axis``."""
    return np.concatenate([before, x, behind], axis)


def ramp(x: Array, axis: int, n: int, end: Any, edge: int) -> Array:
    """From the end value to the first (``edge`` 0) or last (−1) element, which is x's own."""
    side = x[(slice(None),) * axis + (edge,)]
    z = np.linspace(end, side, n, endpoint=False, dtype=x.dtype, axis=axis)
    return z if edge == 0 else np.flip(z, axis)


def statistics_of(x: Array, axis: int, lengths: Sides, function: Callable[..., Any]) -> list[Array]:
    """The maximum (mean, ...) of the given number of elements next to either side."""
    n = x.shape[axis]
    first, last = [n if length is None or n < length else int(length) for length in lengths]
    if 0 in (first, last) and function in (np.max, np.min):
        raise ValueError("stat_length of 0 yields no value for padding")
    before = function(cut(x, axis, 0, first), axis=axis, keepdims=True)
    return [before, before if first == last == n else function(cut(x, axis, n - last, n), axis=axis, keepdims=True)]


def reflect_edge(x: Array, axis: int, width: tuple[int, int], with_edge: bool) -> Array:
    """Turned around the edge point (``reflect_type="odd"``): 2 edge − what is on the other side, until it is enough."""
    left, right = width
    period = x.shape[axis]
    if period == 1:
        return join_sides(x, axis, *[np.repeat(x, n, axis=axis) for n in width])
    while left > 0 or right > 0:
        n = x.shape[axis]
        most = n // period * period if with_edge else (n - 1) // (period - 1) * (period - 1)
        first, last = min(most, left), min(most, right)
        skip = 0 if with_edge else 1
        before = 2 * cut(x, axis, 0, 1) - np.flip(cut(x, axis, skip, skip + first), axis)
        behind = 2 * cut(x, axis, n - 1, n) - np.flip(cut(x, axis, n - skip - last, n - skip), axis)
        x = join_sides(x, axis, before, behind)
        left, right = left - first, right - last
    return x


# ---------------------------------------------------------------- pairs: one per axis, before and behind


def pairs(value: Any, ndim: int) -> list[Sides]:
    """A pair for each axis from a number, (both,), (before, behind) or one of these per axis; with or without nodes.

    >>> pairs(3, 2), pairs((1, 2), 2), pairs(((1, 2), (3, 4)), 2)
    ([(3, 3), (3, 3)], [(1, 2), (1, 2)], [(1, 2), (3, 4)])
    """
    if not isinstance(value, (list, tuple)) and not np.ndim(value):
        return [(value, value)] * ndim
    rows = list(value)
    if not any([isinstance(row, (list, tuple)) or np.ndim(row) for row in rows]):
        if len(rows) > 2:
            raise ValueError(f"np.pad: {len(rows)} numbers are neither one for all nor (before, behind)")
        return [(rows[0], rows[-1])] * ndim
    sides = [(row[0], row[-1]) for row in rows]
    if len(sides) not in (1, ndim):
        raise ValueError(f"np.pad: {len(sides)} pairs for {ndim} axes")
    return sides * (ndim if len(sides) == 1 else 1)


def plain_pairs(value: Any) -> Any:
    """Constants without nodes in them."""
    if isinstance(value, (list, tuple)):
        return [plain_pairs(part) for part in value]
    return numbers_of(value)


def widths_by_axis(widths: dict[int, Any], ndim: int) -> list[tuple[int, int]]:
    """A dictionary of axes as one pair for each axis.

    >>> widths_by_axis({0: 2, -1: (1, 0)}, 3)
    [(2, 2), (0, 0), (1, 0)]
    """
    found = [(0, 0)] * ndim
    for axis, width in widths.items():
        match width:
            case int(both):
                found[axis] = both, both
            case tuple((int(before), int(behind))):
                found[axis] = before, behind
            case _:
                raise TypeError(f"np.pad: {width!r} of axis {axis} is neither a whole number nor a pair of them")
    return found


def widths_of(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """How much is put before and behind each axis."""
    found = pairs(pad_width, ndim)
    if any([not isinstance(n, (int, np.integer)) for pair in found for n in pair]):
        raise TypeError("`pad_width` must be of integral type.")
    if any([n < 0 for pair in found for n in pair]):
        raise ValueError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in found]
