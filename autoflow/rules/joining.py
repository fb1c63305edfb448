"""Joining, splitting, repeating, padding, picking: functions between arrays of different sizes.

Parts of an array are ``x[slice]``, so the derivative of joining is splitting. Where an element is used several times
(repeat, tile, pad with mode "edge", take), the gradients of its copies are added up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..table.bodies import run_own
from ..table.indexing import put_back
from ..table.shapes import Array, Shape, as_array, as_dtype, like_argument, numbers_of, total
from ..table.table import composed, primitive, rule
from ..table.vjps import Shapes

# ---------------------------------------------------------------- joining


def piece(g: Array, k: int, xs_shape: Shapes, axis: Any) -> Array:
    """What the k-th array contributed to a concatenation."""
    axis = None if axis is None else int(axis) % g.ndim
    start, end = xs_shape.ends(axis)[k : k + 2]
    if axis is None:
        return g[start:end].reshape(xs_shape[k])
    return g[(slice(None),) * axis + (slice(start, end),)]


run_own(np.append)
run_own(np.block, untouched="arrays")
run_own(np.vstack, np.hstack, np.dstack, np.column_stack, sequences="tup")


# fmt: off
rule(np.concatenate, "*xs | axis=0 dtype=None casting='same_kind'", "concat", r"\operatorname{concat}($xs)", xs=piece,
     compute=lambda xs, axis, dtype, casting: np.concatenate(xs, axis=axis, dtype=dtype, casting=casting))
rule(np.stack, "*xs | axis=0 dtype=None casting='same_kind'", "stack", r"\operatorname{stack}($xs)",
     xs=lambda g, k, axis: g[(slice(None),) * (axis % g.ndim) + (k,)],
     compute=lambda xs, axis, dtype, casting: np.stack(xs, axis=axis, dtype=dtype, casting=casting))
# fmt: on

# ---------------------------------------------------------------- splitting: parts are x[slice]


@composed(np.array_split)
def array_split(ary: Array, indices_or_sections: object, axis: int = 0) -> list[Array]:
    """Parts along an axis: split at the given places, or into a number of parts of nearly equal length. (NumPy's own
    code takes three times as many operations, which pictures would show.)"""
    x = as_array(ary)
    axis = normalize_axis_index(axis, x.ndim)
    lead, n = (slice(None),) * axis, x.shape[axis]
    places = np.array_split(np.arange(n), numbers_of(indices_or_sections))  # NumPy says which, and raises its errors
    return [x[(*lead, slice(int(p[0]), int(p[-1]) + 1) if p.size else slice(0))] for p in places]


run_own(np.split, np.hsplit, np.vsplit, np.dsplit, np.unstack)

# ---------------------------------------------------------------- repeating, padding, picking


def repeat_x(g: Array, x_shape: Shape, repeats: Any, axis: Any) -> Array:
    """Each element receives the sum over its repetitions."""
    flat = axis is None or not x_shape
    shape = (math.prod(x_shape),) if flat else x_shape
    axis = 0 if flat else axis % len(shape)
    if np.ndim(repeats):
        i = np.repeat(np.arange(shape[axis], like=like_argument(g)), repeats)
        return put_back(g, (slice(None),) * axis + (i,), shape).reshape(x_shape)
    return total(g.reshape((*shape[: axis + 1], int(repeats), *shape[axis + 1 :])), axis + 1).reshape(x_shape)


def tile_x(g: Array, x_shape: Shape, reps: Any) -> Array:
    """z has the shape (r₀ n₀, r₁ n₁, ...): cut it into (r₀, n₀, r₁, n₁, ...) and add up the r."""
    reps = tuple(map(int, np.ravel(reps)))
    reps = (1,) * (len(x_shape) - len(reps)) + reps
    shape = (1,) * (len(reps) - len(x_shape)) + x_shape
    cut = g.reshape([n for pair in zip(reps, shape, strict=True) for n in pair])
    return total(cut, tuple(range(0, 2 * len(reps), 2))).reshape(x_shape)


MAPPED = ("edge", "reflect", "symmetric", "wrap")  # every element of the result is one element of x


@primitive
def pad(x: Array, pad_width: Any, mode: Any = "constant", constant_values: object = 0) -> Array:
    """``np.pad`` with plain constants, or with copies of elements of x."""
    options: Any = {"constant_values": constant_values} if mode == "constant" else {}
    return np.pad(x, pad_width, mode, **options)


def pad_x(g: Array, x_shape: Shape, pad_width: Any, mode: Any) -> Array:
    """Padding the indices of the elements tells where each element came from."""
    if mode == "constant":
        before = np.broadcast_to(pad_width, (len(x_shape), 2))[:, 0]
        return g[tuple([slice(int(b), int(b) + n) for b, n in zip(before, x_shape, strict=True)])]
    size = math.prod(x_shape)
    origin = np.pad(np.arange(size).reshape(x_shape), pad_width, mode)
    return put_back(g, (origin,), (size,)).reshape(x_shape)


def take_x(g: Array, x_shape: Shape, indices: Array, axis: Any, mode: Any) -> Array:
    """Every element receives the gradients of all the places where it was taken."""
    shape = (math.prod(x_shape),) if axis is None or not x_shape else x_shape
    axis = 0 if axis is None or not x_shape else axis % len(shape)
    i = as_dtype(as_array(indices), int)  # booleans are 0 and 1 here, not a mask
    if mode != "raise":
        i = np.take(np.arange(shape[axis], like=like_argument(g)), i, mode=mode)
    return put_back(g, (slice(None),) * axis + (i,), shape).reshape(x_shape)


@composed(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: object = None) -> Array:
    """The elements at which the condition holds."""
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1-d array")
    return np.take(a, np.flatnonzero(condition), axis=axis)


# fmt: off
rule(np.repeat, "x | repeats axis=None", x=repeat_x)
rule(np.tile, "x | reps", x=tile_x)
rule(pad, "x | pad_width mode='constant' constant_values=0", x=pad_x)
rule(np.take, "x | indices axis=None mode='raise'", x=take_x, compute=lambda x, indices, axis, mode: np.take(
         x, indices, axis=axis, **({} if mode == "raise" else {"mode": mode})))
# fmt: on
