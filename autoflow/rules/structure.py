"""Functions that only move elements (new shapes, other orders of axes, diagonals, triangles), and ``np.pad``.

Every derivative here moves the gradient back the same way.

``np.pad`` in every mode but a user's function: constants, and modes that copy elements (edge, reflect,
symmetric, wrap), are one operation with a row in ``joining.py``. The others are NumPy's own code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.bodies import COPIES, kept_in, run_own, with_copies
from ..table.indexing import put_back
from ..table.shapes import Array, Shape, as_array, as_dtype, given_keywords, has_gradient, inverse, sum_to, together
from ..table.table import composed, primitive, rule
from .joining import MAPPED, pad
from .ordering import numbers_in

# ---------------------------------------------------------------- shapes


def compute_reshape(x: Array, shape: object, order: str, copy: bool | None) -> Array:
    """``x.reshape``, on the quick way without special options."""
    if order == "C" and copy is None:
        return x.reshape(shape)
    return x.reshape(shape, order=_check_order(order), **given_keywords(copy=copy))


def _check_order(order: str) -> str:
    """ "C" or "F". The others depend on the memory layout of x, which the backward pass does not know."""
    order = "C" if order is None else order
    if str(order).upper() not in ("C", "F"):
        raise NoRuleError(f"order={order!r} depends on how an array lies in memory: say which you mean, 'C' or 'F'")
    return order.upper()


@primitive
def flatten(x: Array, order: str = "C") -> Array:
    """``x.flatten()``: a copy with one axis."""
    return x.flatten(_check_order(order))


@primitive
def astype(x: Array, dtype: Any, order: str = "K", casting: str = "unsafe") -> Array:
    """``x.astype(dtype)``: a copy with another dtype."""
    return cast(x, dtype, order, casting)


def cast(x: Array, dtype: Any, order: str, casting: str, **copy: bool) -> Array:
    """``x.astype`` of an array. CuPy lacks the keyword ``casting``, so it is passed only if it is not the default."""
    return x.astype(dtype, order=order, **copy, **({} if casting == "unsafe" else {"casting": casting}))


@primitive
def constant_with_history(x: Array, y: Array) -> Array:
    """A copy of ``x`` with derivative zero with respect to ``y``: a constant gradient to be differentiated again."""
    return x.copy()


def cast_back(g: Array, x_dtype: Any) -> Array:
    """A gradient in the dtype of x; only its real part, if x was real."""
    return as_dtype(np.real(g) if g.dtype.kind == "c" and x_dtype.kind != "c" else g, x_dtype)


run_own(np.astype, np.atleast_1d, np.atleast_2d, np.atleast_3d)


@composed(np.broadcast_arrays)
def broadcast_arrays(*args: object, subok: bool = False) -> tuple[Array, ...]:
    """All arrays in their common shape."""
    arrays = together(*args)
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays])


# fmt: off
rule(np.reshape, "x | shape order='C' copy=None",
     view=True, compute=compute_reshape, x=lambda g, x_shape, order: g.reshape(x_shape, order=order))
rule(np.ravel, "x | order='C'", "ravel", r"\operatorname{vec} $x",
     view=True, compute=lambda x, order: x.ravel(_check_order(order)),
     x=lambda g, x_shape, order: g.reshape(x_shape, order=order))
rule(flatten, "x | order='C'", "flatten", r"\operatorname{vec} $x",
     x=lambda g, x_shape, order: g.reshape(x_shape, order=order))
rule(np.squeeze, "x | axis=None",
     view=True, compute=lambda x, axis: x.squeeze(axis), x=lambda g, x_shape: g.reshape(x_shape))
rule(np.expand_dims, "x | axis", "expand", view=True, x=lambda g, x_shape: g.reshape(x_shape))
rule(np.broadcast_to, "x | shape", "⇗", r"$x\!\nearrow", view=True, x=lambda g, x_shape: sum_to(g, x_shape))
rule(np.copy, "x | order='K'", "copy", r"$x", compute=lambda x, order: x.copy(order), x=lambda g: g)
rule(astype, "x | dtype order='K' casting='unsafe'", "astype", r"\operatorname{$dtype} $x", x=cast_back,
     holomorphic=False)
rule(constant_with_history, "x y", "=", r"$x", x=lambda g: g, y=lambda g, y: np.zeros_like(y))

# ---------------------------------------------------------------- orders of axes

rule(np.transpose, "x | axes=None", "⊤", r"$x^\top", view=True, compute=lambda x, axes: x.transpose(axes),
     x=lambda g, axes: g.transpose() if axes is None or g.ndim < 2 else g.transpose(inverse(axes)))
rule(np.matrix_transpose, "x", "⊤", r"$x^\top", view=True, compute=lambda x: x.mT, x=lambda g: g.mT)
rule(np.swapaxes, "x | axis1 axis2", "swapaxes", r"$x^\top",
     view=True, compute=lambda x, axis1, axis2: x.swapaxes(axis1, axis2),
     x=lambda g, axis1, axis2: g.swapaxes(axis1, axis2))
rule(np.moveaxis, "x | source destination", "moveaxis", r"$x^\top", view=True,
     x=lambda g, source, destination: np.moveaxis(g, destination, source))
rule(np.rollaxis, "x | axis start=0", "rollaxis", r"$x^\top",
     view=True, x=lambda g, axis, start: _unroll(g, axis, start))
rule(np.flip, "x | axis=None", view=True, x=lambda g, axis: np.flip(g, axis))
rule(np.fliplr, "x", view=True, x=lambda g: np.fliplr(g))
rule(np.flipud, "x", view=True, x=lambda g: np.flipud(g))
rule(np.rot90, "x | k=1 axes=(0,1)", view=True, x=lambda g, k, axes: np.rot90(g, -k, axes))
rule(np.roll, "x | shift axis=None", x=lambda g, shift, axis: np.roll(g, _negative(shift), axis))
# fmt: on


def _unroll(g: Array, axis: int, start: int) -> Array:
    """Undoes ``np.rollaxis(x, axis, start)``, which puts the axis before the place ``start``."""
    axis, start = axis % g.ndim, start + g.ndim if start < 0 else start
    return np.moveaxis(g, start - (axis < start), axis)


def _negative(shift: Any) -> Any:
    """The shifts that undo these."""
    return tuple([-int(s) for s in shift]) if np.ndim(shift) else -int(shift)  # an unsigned one has no negative


# ---------------------------------------------------------------- diagonals and triangles


def put_diagonal(g: Array, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """Zeros of ``x_shape`` with ``g`` (its last axis) on a diagonal: the vjp of ``np.diagonal``."""
    axis1, axis2 = axis1 % len(x_shape), axis2 % len(x_shape)
    stack = tuple([n for a, n in enumerate(x_shape) if a not in (axis1, axis2)])
    k = np.arange(g.shape[-1])
    z = put_back(g, (..., k + max(-offset, 0), k + max(offset, 0)), (*stack, x_shape[axis1], x_shape[axis2]))
    return np.moveaxis(z, (-2, -1), (axis1, axis2))


def trace_x(g: Array, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """z = Σ xᵢᵢ: every element of the diagonal receives g."""
    n = max(min(x_shape[axis1] + min(offset, 0), x_shape[axis2] - max(offset, 0)), 0)
    return put_diagonal(np.broadcast_to(g[..., None], (*g.shape, n)), x_shape, offset, axis1, axis2)


@composed(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """A matrix with the elements of v, flattened, on a diagonal."""
    return np.diag(np.ravel(v), k)


# fmt: off
rule(np.diagonal, "x | offset=0 axis1=0 axis2=1", "diagonal", r"\operatorname{diag} $x", view=True, x=put_diagonal)
rule(np.trace, "x | offset=0 axis1=0 axis2=1 dtype=None", "tr", x=trace_x)
rule(np.diag, "x | k=0", view=True,
     x=lambda g, x_shape, k: np.diagonal(g, k) if len(x_shape) == 1 else put_diagonal(g, x_shape, k, 0, 1))
rule(np.tril, "x | k=0", x=lambda g, x_shape, k: sum_to(np.tril(g, k), x_shape))
rule(np.triu, "x | k=0", x=lambda g, x_shape, k: sum_to(np.triu(g, k), x_shape))
# fmt: on


# ---------------------------------------------------------------- np.pad


theirs: Any = np.pad
numpys_pad, numpys_pairs = with_copies(theirs._implementation), theirs._implementation.__globals__["_as_pairs"]


@composed(np.pad)
def padded(array: Array, pad_width: object, mode: object = "constant", **options: object) -> Array:
    """Uses the row if every element is a constant or one of x; else NumPy's code, which joins what it adds to x.
    ``constant_values`` and ``end_values`` may be nodes, too."""
    x, constants = as_array(array), options.get("constant_values")
    if callable(mode):
        raise NoRuleError("np.pad(x, width, function) lets a function write into an array: join the parts yourself")
    if isinstance(pad_width, dict):  # NumPy knows these from 2.4 on
        pad_width = widths_by_axis(pad_width, x.ndim)
    if x.size and mode in MAPPED and (not options or (mode[0] in "rs" and options == {"reflect_type": "even"})):
        return pad(x, pad_width, mode)
    if mode == "empty" and not options:
        mode = "constant"  # any numbers may stand there: zeros are fine
    if mode == "constant" and not {*options} - {"constant_values"} and not has_gradient(constants):
        return pad(x, pad_width, mode, *([] if constants is None else [numbers_in(constants)]))
    widths = np.array(pairs(pad_width, x.ndim) if x.ndim else pad_width)
    return numpys_pad(x, widths.view(Widths), mode, **options)


class Widths(np.ndarray):
    """Numbers of elements: they stay in the host's memory, wherever x is."""


def pairs_with_nodes(x: Array, ndim: int, as_index: bool = False) -> Any:
    """NumPy's function, which would take the numbers of nodes; so for nodes it is :func:`pairs`."""
    x = x.view(np.ndarray) if isinstance(x, Widths) else x
    return pairs(x, ndim) if kept_in(x) else numpys_pairs(x, ndim, as_index)


COPIES[id(numpys_pairs)] = pairs_with_nodes


def pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
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


def widths_by_axis(widths: dict[int, Any], ndim: int) -> list[tuple[int, int]]:
    """A dictionary of axes as one pair for each axis.

    >>> widths_by_axis({0: 2, -1: (1, 0)}, 3)
    [(2, 2), (0, 0), (1, 0)]
    """
    padding = [(0, 0)] * ndim
    for axis, width in widths.items():
        match width:
            case int(both):
                padding[axis] = both, both
            case tuple((int(before), int(behind))):
                padding[axis] = before, behind
            case _:
                raise TypeError(f"np.pad: {width!r} of axis {axis} is neither a whole number nor a pair of them")
    return padding
