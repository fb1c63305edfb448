"""Functions that only move elements: new shapes, other orders of axes, joining, splitting, repeating, padding.

Every derivative here moves the gradient back the same way. Where an element was used several times (broadcast_to,
repeat, tile, pad with mode "edge", take) what comes back is added up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import NoRuleError
from .indexing import put_back
from .shapes import Axis, given, inverse, sum_to, total
from .table import composed, of, primitive, rule

Array = Any
Shape = tuple[int, ...]


# ---------------------------------------------------------------- shapes


def compute_reshape(x: Array, shape: Any, order: str, copy: Any) -> Array:
    """``x.reshape``, on the quick way if nothing special is asked for."""
    if order == "C" and copy is None:
        return x.reshape(shape)
    return x.reshape(shape, order=_known(order), **given(copy=copy))


def _known(order: str) -> str:
    """"C" or "F". The others depend on how x lies in memory, which the way back does not know."""
    if order not in ("C", "F"):
        raise NoRuleError(f"order={order!r} depends on how an array lies in memory: say which you mean, 'C' or 'F'")
    return order


@primitive
def flatten(x: Array, order: str = "C") -> Array:
    """``x.flatten()``: a copy with one axis."""
    return x.flatten(_known(order))


@primitive
def astype(x: Array, dtype: Any, order: str = "K", casting: str = "unsafe") -> Array:
    """``x.astype(dtype)``: a copy with another dtype."""
    return x.astype(dtype, order=order, casting=casting)


def cast_back(g: Array, x_dtype: Any) -> Array:
    """A gradient in the dtype of x; of a complex one the real part, if x was real."""
    if g.dtype.kind == "c" and x_dtype.kind != "c":
        g = np.real(g)
    return g.astype(x_dtype)


@composed(np.astype)
def _astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    if device not in (None, "cpu"):
        raise ValueError(f"Device not understood. Only \"cpu\" is allowed, but received: {device}")
    return x.astype(dtype, copy=copy)


@composed(np.atleast_1d)
def atleast_1d(*arrays: Array) -> Any:
    """At least one axis."""
    return _each(arrays, lambda x: x if x.ndim else x.reshape(1))


@composed(np.atleast_2d)
def atleast_2d(*arrays: Array) -> Any:
    """At least two axes: a vector becomes a row."""
    return _each(arrays, lambda x: x if x.ndim > 1 else x.reshape(1, x.size))


@composed(np.atleast_3d)
def atleast_3d(*arrays: Array) -> Any:
    """At least three axes: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1)."""
    def reshaped(x: Array) -> Array:
        return x if x.ndim > 2 else np.expand_dims(x, 2) if x.ndim == 2 else x.reshape(1, x.size, 1)

    return _each(arrays, reshaped)


def _each(arrays: tuple[Any, ...], f: Any) -> Any:
    """``f`` of one array, or the tuple for several."""
    made = tuple([f(as_array(x)) for x in arrays])
    return made[0] if len(made) == 1 else made


def as_array(x: Any) -> Array:
    """Arrays and nodes as they are, numbers and lists as arrays."""
    return x if hasattr(x, "ndim") else np.asarray(x)


@composed(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """All arrays in their common shape."""
    arrays = [as_array(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays])


# fmt: off
# ruff: noqa: E501
rule(np.reshape, "x | shape order='C' copy=None", "reshape", r"\operatorname{reshape} $x", view=True, compute=compute_reshape,
     x=lambda g, x_shape, order: g.reshape(x_shape, order=order),
     examples=(of((2, 3), shape=(3, 2)), of((), shape=(1, 1)), of((2, 3), shape=(-1,), order="F"), of((2, 3, 2), shape=(4, 3), order="F"),
               of((0, 3), shape=(3, 0)), of((1, 1), shape=()), of((2, 3), shape=6, copy=True)))
rule(np.ravel, "x | order='C'", "ravel", r"\operatorname{vec} $x", view=True, compute=lambda x, order: x.ravel(_known(order)),
     x=lambda g, x_shape, order: g.reshape(x_shape, order=order), examples=(of((2, 3)), of((2, 3), order="F"), of(()), of((0, 2))))
rule(flatten, "x | order='C'", "flatten", r"\operatorname{vec} $x",
     x=lambda g, x_shape, order: g.reshape(x_shape, order=order), examples=(of((2, 3)), of((2, 3), order="F"), of(()), of((0, 2))))
rule(np.squeeze, "x | axis=None", "squeeze", r"\operatorname{squeeze} $x", view=True, compute=lambda x, axis: x.squeeze(axis),
     x=lambda g, x_shape: g.reshape(x_shape), examples=(of((1, 3, 1)), of((1, 3, 1), axis=0), of((1, 3, 1), axis=(0, -1)), of((1, 1)), of(())))
rule(np.expand_dims, "x | axis", "expand", r"\operatorname{expand} $x", view=True,
     x=lambda g, x_shape: g.reshape(x_shape), examples=(of((3,), axis=0), of((2, 3), axis=(0, -1)), of((), axis=0)))
rule(np.broadcast_to, "x | shape", "⇗", r"$x\!\nearrow", view=True, x=lambda g, x_shape: sum_to(g, x_shape),
     examples=(of((3,), shape=(2, 3)), of((), shape=(2, 3)), of((2, 1), shape=(4, 2, 3)), of((3,), shape=3), of((1,), shape=(0,))))
rule(np.copy, "x | order='K'", "copy", r"$x", compute=lambda x, order: x.copy(order), x=lambda g: g,
     examples=(of((2, 3)), of(()), of((2, 3), order="F")))
rule(astype, "x | dtype order='K' casting='unsafe'", "astype", r"\operatorname{$dtype} $x", x=cast_back, holomorphic=False,
     examples=(of((2, 3), dtype=np.float64), of((), dtype=np.float64), of((2,), dtype=np.complex128), of((0,), dtype="f8")))

# ---------------------------------------------------------------- orders of axes

rule(np.transpose, "x | axes=None", "⊤", r"$x^\top", view=True, compute=np.ndarray.transpose,
     x=lambda g, axes: g.transpose() if axes is None else g.transpose(inverse(axes)),
     examples=(of((2, 3)), of((2, 3, 4), axes=(2, 0, 1)), of((2, 3, 4), axes=(-2, 0, -1)), of(()), of((3,)), of((0, 2))))
rule(np.matrix_transpose, "x", "⊤", r"$x^\top", view=True, compute=lambda x: x.mT, x=lambda g: g.mT, examples=(of((2, 3)), of((2, 3, 4))))
rule(np.swapaxes, "x | axis1 axis2", "swapaxes", r"$x^\top", view=True, compute=np.ndarray.swapaxes,
     x=lambda g, axis1, axis2: g.swapaxes(axis1, axis2), examples=(of((2, 3), axis1=0, axis2=1), of((2, 3, 4), axis1=-1, axis2=0)))
rule(np.moveaxis, "x | source destination", "moveaxis", r"$x^\top", view=True,
     x=lambda g, source, destination: np.moveaxis(g, destination, source),
     examples=(of((2, 3, 4), source=0, destination=-1), of((2, 3, 4), source=(0, -1), destination=(1, 0))))
rule(np.rollaxis, "x | axis start=0", "rollaxis", r"$x^\top", view=True, x=lambda g, axis, start: _unroll(g, axis, start),
     examples=(of((2, 3, 4), axis=2), of((2, 3, 4), axis=0, start=2), of((2, 3, 4), axis=1, start=-1)))
rule(np.flip, "x | axis=None", "flip", r"\operatorname{flip} $x", view=True, x=lambda g, axis: np.flip(g, axis),
     examples=(of((2, 3)), of((2, 3), axis=-1), of((2, 3, 2), axis=(0, 2)), of(())))
rule(np.fliplr, "x", "fliplr", r"\operatorname{fliplr} $x", view=True, x=lambda g: np.fliplr(g), examples=(of((2, 3)),))
rule(np.flipud, "x", "flipud", r"\operatorname{flipud} $x", view=True, x=lambda g: np.flipud(g), examples=(of((2, 3)), of((3,))))
rule(np.rot90, "x | k=1 axes=(0,1)", "rot90", r"\operatorname{rot90} $x", view=True, x=lambda g, k, axes: np.rot90(g, -k, axes),
     examples=(of((2, 3)), of((2, 3), k=2), of((2, 3, 4), k=3, axes=(2, 0)), of((2, 3), k=-1)))
rule(np.roll, "x | shift axis=None", "roll", r"\operatorname{roll} $x", x=lambda g, shift, axis: np.roll(g, _negative(shift), axis),
     examples=(of((2, 3), shift=1), of((2, 3), shift=-2, axis=1), of((2, 3), shift=(1, 2), axis=(0, 1)), of((), shift=1), of((0,), shift=1)))
# fmt: on


def _unroll(g: Array, axis: int, start: int) -> Array:
    """Back from ``np.rollaxis(x, axis, start)``, which puts the axis before the place ``start``."""
    axis, start = axis % g.ndim, start + g.ndim if start < 0 else start
    return np.moveaxis(g, start - (axis < start), axis)


def _negative(shift: Any) -> Any:
    """The shifts that undo these."""
    return tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift


# ---------------------------------------------------------------- joining


def piece(g: Array, k: int, xs_shape: tuple[Shape, ...], axis: Axis) -> Array:
    """What the k-th array contributed to a concatenation."""
    if axis is None:
        start = sum([math.prod(shape) for shape in xs_shape[:k]])
        return g[start : start + math.prod(xs_shape[k])].reshape(xs_shape[k])
    axis = int(axis) % g.ndim  # type: ignore[arg-type]
    start = sum([shape[axis] for shape in xs_shape[:k]])
    return g[(slice(None),) * axis + (slice(start, start + xs_shape[k][axis]),)]


@composed(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """One above the other."""
    return np.concatenate([np.atleast_2d(x) for x in tup], 0, dtype=dtype, casting=casting)


@composed(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Side by side."""
    arrays = [np.atleast_1d(x) for x in tup]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return np.concatenate(arrays, axis, dtype=dtype, casting=casting)


@composed(np.dstack)
def dstack(tup: Any) -> Array:
    """One behind the other."""
    return np.concatenate([np.atleast_3d(x) for x in tup], 2)


@composed(np.column_stack)
def column_stack(tup: Any) -> Array:
    """Vectors as columns."""
    arrays = [as_array(x) for x in tup]
    return np.concatenate([x if x.ndim > 1 else np.atleast_2d(x).T for x in arrays], 1)


@composed(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Array:
    """``values`` behind ``arr``, both flattened unless there is an axis."""
    return np.concatenate([as_array(arr), as_array(values)], axis=axis)


@composed(np.block)
def block(arrays: Any) -> Array:
    """An array of nested lists of blocks."""
    depth = _depth(arrays)
    leaves: list[Any] = []
    _leaves(arrays, leaves)
    return _block(arrays, depth, max([depth, *[np.ndim(x) for x in leaves]]))


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ValueError("np.block: the lists must be nested equally deep, and none may be empty")
    return depths.pop() + 1


def _leaves(arrays: Any, found: list[Any]) -> None:
    for part in arrays if isinstance(arrays, list) else [arrays]:
        _leaves(part, found) if isinstance(part, list) else found.append(part)


def _block(arrays: Any, depth: int, ndim: int) -> Array:
    if not isinstance(arrays, list):
        x = as_array(arrays)
        return x.reshape((1,) * (ndim - x.ndim) + x.shape).copy() if depth == 0 else x
    parts = [_block(part, depth - 1, ndim) for part in arrays]
    parts = [x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in parts]
    return np.concatenate(parts, axis=-depth)


# fmt: off
rule(np.concatenate, "*xs | axis=0 dtype=None casting='same_kind'", "concat", r"\operatorname{concat}($xs)", xs=piece,
     compute=lambda xs, axis, dtype, casting: np.concatenate(xs, axis=axis, dtype=dtype, casting=casting),
     examples=(of((2, 3), (1, 3)), of((2, 3), (2, 1), (2, 2), axis=-1), of((2, 3), (2,), axis=None), of((3,)), of((0, 2), (2, 2))))
rule(np.stack, "*xs | axis=0 dtype=None casting='same_kind'", "stack", r"\operatorname{stack}($xs)",
     xs=lambda g, k, axis: g[(slice(None),) * (axis % g.ndim) + (k,)],
     compute=lambda xs, axis, dtype, casting: np.stack(xs, axis=axis, dtype=dtype, casting=casting),
     examples=(of((), ()), of((2, 3), (2, 3)), of((2, 3), (2, 3), (2, 3), axis=-1), of((2,), (2,), axis=1), of((0,), (0,))))
# fmt: on

# ---------------------------------------------------------------- splitting: parts are x[slice]


@composed(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts along an axis: before, between and behind the given places, or so many of nearly equal length."""
    x, axis = as_array(ary), axis % max(np.ndim(ary), 1)
    n = x.shape[axis]
    if np.ndim(indices_or_sections):
        places = [0, *indices_or_sections, n]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        short, longer = divmod(n, sections)
        places = [k * short + min(k, longer) for k in range(sections + 1)]
    lead = (slice(None),) * axis
    return [x[(*lead, slice(a, b))] for a, b in zip(places[:-1], places[1:], strict=True)]


@composed(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of equal length, or as given."""
    if not np.ndim(indices_or_sections) and np.shape(ary)[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@composed(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts side by side."""
    if not np.ndim(ary):
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@composed(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts one above the other."""
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@composed(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts one behind the other."""
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@composed(np.unstack)
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of length one, without that axis."""
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(np.moveaxis(x, axis, 0))


# ---------------------------------------------------------------- repeating, padding, picking


def repeat_x(g: Array, x_shape: Shape, repeats: Any, axis: Any) -> Array:
    """Each element receives the sum over its repetitions."""
    flat = axis is None or not x_shape
    shape = (math.prod(x_shape),) if flat else x_shape
    axis = 0 if flat else axis % len(shape)
    if np.ndim(repeats):
        i = np.repeat(np.arange(shape[axis]), repeats)
        return put_back(g, (slice(None),) * axis + (i,), shape).reshape(x_shape)
    return total(g.reshape((*shape[: axis + 1], int(repeats), *shape[axis + 1 :])), axis + 1).reshape(x_shape)


def tile_x(g: Array, x_shape: Shape, reps: Any) -> Array:
    """z has the shape (r₀ n₀, r₁ n₁, ...): cut it into (r₀, n₀, r₁, n₁, ...) and add up the r."""
    reps = tuple(reps) if np.ndim(reps) else (int(reps),)
    reps = (1,) * (len(x_shape) - len(reps)) + reps
    shape = (1,) * (len(reps) - len(x_shape)) + x_shape
    cut = g.reshape([n for pair in zip(reps, shape, strict=True) for n in pair])
    return total(cut, tuple(range(0, 2 * len(reps), 2))).reshape(x_shape)


MAPPED = ("edge", "reflect", "symmetric", "wrap")  # every element of the result is one element of x


@primitive
def pad(x: Array, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Array:
    """``np.pad`` with plain constants, or with copies of elements of x."""
    return np.pad(x, pad_width, mode, **({"constant_values": constant_values} if mode == "constant" else {}))  # type: ignore[call-overload, no-any-return]


def pad_x(g: Array, x_shape: Shape, pad_width: Any, mode: str) -> Array:
    """Where did each element come from? Padding the numbers of the elements says it."""
    if mode == "constant":
        if isinstance(pad_width, dict):
            pad_width = [pad_width.get(a, pad_width.get(a - len(x_shape), 0)) for a in range(len(x_shape))]
            pad_width = [np.broadcast_to(w, 2) for w in pad_width]
        before = np.broadcast_to(pad_width, (len(x_shape), 2))[:, 0]
        return g[tuple([slice(int(b), int(b) + n) for b, n in zip(before, x_shape, strict=True)])]
    size = math.prod(x_shape)
    origin = np.pad(np.arange(size).reshape(x_shape), pad_width, mode)  # type: ignore[call-overload]
    return put_back(g, (origin,), (size,)).reshape(x_shape)


@composed(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    """What has a derivative of np.pad. A recorded ``constant_values`` is one more operand."""
    if mode not in ("constant", *MAPPED):
        raise NoRuleError(f"np.pad of a node knows the modes {', '.join(('constant', *MAPPED))}, not {mode!r}")
    if options.get("reflect_type") == "even":
        options.pop("reflect_type")
    value = options.pop("constant_values", 0) if mode == "constant" else 0
    if options:
        raise NoRuleError(f"np.pad(mode={mode!r}) of a node takes no {', '.join(options)}")
    if not _holds_node(value):
        return pad(array, pad_width, mode, value)
    if isinstance(value, (tuple, list)) or value.ndim:
        raise NoRuleError("np.pad: a recorded constant_values must be 0-d, the same on all sides")
    inside = np.pad(np.ones(np.shape(array), bool), pad_width)
    array = as_array(array)
    return np.where(inside, pad(array, pad_width), value.astype(array.dtype))


def _holds_node(x: Any) -> bool:
    """Is x an array that is not plain, or a nest of lists with one in it?"""
    if isinstance(x, (tuple, list)):
        return any([_holds_node(part) for part in x])
    return hasattr(type(x), "__array_function__") and type(x) is not np.ndarray


def take_x(g: Array, x_shape: Shape, indices: Any, axis: Any, mode: str) -> Array:
    """Every element receives the gradients of all the places where it was taken."""
    shape = (math.prod(x_shape),) if axis is None or not x_shape else x_shape
    axis = 0 if axis is None or not x_shape else axis % len(shape)
    i = np.asarray(indices)
    if mode == "wrap":
        i = i % max(shape[axis], 1)
    elif mode == "clip":
        i = np.clip(i, 0, shape[axis] - 1)
    return put_back(g, (slice(None),) * axis + (i,), shape).reshape(x_shape)


@composed(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Array:
    """The elements at which the condition holds."""
    return np.take(a, np.flatnonzero(condition), axis=axis, **given(out=out))


# fmt: off
rule(np.repeat, "x | repeats axis=None", "repeat", r"\operatorname{repeat} $x", x=repeat_x,
     examples=(of((2, 3), repeats=2), of((2, 3), repeats=2, axis=-1), of((2, 3), repeats=np.array([2, 0, 1]), axis=1), of((), repeats=3),
               of((2, 3), repeats=[1, 2], axis=0), of((3,), repeats=0), of((0, 2), repeats=2, axis=0)))
rule(np.tile, "x | reps", "tile", r"\operatorname{tile} $x", x=tile_x,
     examples=(of((2, 3), reps=2), of((2, 3), reps=(2, 1, 3)), of((2, 3), reps=(2, 2)), of((), reps=3), of((0, 2), reps=2), of((3,), reps=0)))
rule(pad, "x | pad_width mode='constant' constant_values=0", "pad", r"\operatorname{pad} $x", x=pad_x,
     examples=(of((2, 3), pad_width=1), of((2, 3), pad_width=((1, 0), (2, 3)), constant_values=2.0), of((2, 3), pad_width=(1, 2), mode="edge"),
               of((2, 3), pad_width=(2, 4), mode="reflect"), of((3,), pad_width=(5, 2), mode="symmetric"), of((3,), pad_width=(4, 5), mode="wrap"),
               of((0, 2), pad_width=1), of((2, 3), pad_width={-1: (1, 2)})))
rule(np.take, "x | indices axis=None mode='raise'", "take", r"\operatorname{take} $x", x=take_x,
     compute=lambda x, indices, axis, mode: np.take(x, indices, axis=axis, mode=mode),
     examples=(of((2, 3), indices=[0, 5, 5]), of((2, 3), indices=np.array([[0, 2], [2, -1]]), axis=1), of((2, 3), indices=1, axis=0), of((), indices=0),
               of((3,), indices=[-5, 4, 1], mode="wrap"), of((3,), indices=[-5, 4, 1], mode="clip"), of((2, 3), indices=np.array([], int), axis=0)))
# fmt: on

# ---------------------------------------------------------------- diagonals and triangles


def put_diagonal(g: Array, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """Zeros of ``x_shape`` with ``g`` (its last axis) on a diagonal: the way back of ``np.diagonal``."""
    axis1, axis2 = axis1 % len(x_shape), axis2 % len(x_shape)
    stack = tuple([n for a, n in enumerate(x_shape) if a not in (axis1, axis2)])
    k = np.arange(g.shape[-1])
    z = put_back(g, (..., k + max(-offset, 0), k + max(offset, 0)), (*stack, x_shape[axis1], x_shape[axis2]))
    return np.moveaxis(z, (-2, -1), (axis1, axis2))


def trace_x(g: Array, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """z = Σ xᵢᵢ: every element of the diagonal receives g."""
    n = max(min(x_shape[axis1] + min(offset, 0), x_shape[axis2] - max(offset, 0)), 0)
    return put_diagonal(np.broadcast_to(g[..., None], (*g.shape, n)), x_shape, offset, axis1, axis2)


def diag_x(g: Array, x_shape: Shape, k: int) -> Array:
    """A vector was put on the diagonal, or the diagonal of a matrix was taken."""
    return np.diagonal(g, k) if len(x_shape) == 1 else put_diagonal(g, x_shape, k, 0, 1)


@composed(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """A matrix with the elements of v, flattened, on a diagonal."""
    return np.diag(np.ravel(v), k)


# fmt: off
DIAGONALS = (of((3, 3)), of((2, 4), offset=1), of((4, 2), offset=-1), of((2, 3, 4), axis1=-1, axis2=0), of((2, 2), offset=5), of((0, 2)))
rule(np.diagonal, "x | offset=0 axis1=0 axis2=1", "diagonal", r"\operatorname{diag} $x", view=True, x=put_diagonal, examples=DIAGONALS)
rule(np.trace, "x | offset=0 axis1=0 axis2=1 dtype=None", "tr", r"\operatorname{tr} $x", x=trace_x, examples=DIAGONALS)
rule(np.diag, "x | k=0", "diag", r"\operatorname{diag} $x", view=True, x=diag_x,
     examples=(of((3,)), of((3,), k=-2), of((2, 3)), of((2, 3), k=1), of((0,))))
rule(np.tril, "x | k=0", "tril", r"\operatorname{tril} $x", x=lambda g, x_shape, k: sum_to(np.tril(g, k), x_shape),
     examples=(of((3, 3)), of((2, 3, 4), k=-1), of((3,)), of((2, 3), k=1)))
rule(np.triu, "x | k=0", "triu", r"\operatorname{triu} $x", x=lambda g, x_shape, k: sum_to(np.triu(g, k), x_shape),
     examples=(of((3, 3)), of((2, 3, 4), k=-1), of((3,)), of((2, 3), k=1)))
# fmt: on
