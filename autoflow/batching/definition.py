"""The definition of ``af.vmap(f)``: f called for each example, and the results stacked.

Used for everything that the faster way cannot answer, and the results of that are compared with one example. First:
which axis of each argument and result numbers the examples, and how many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.registry import AnyFunction, Array, ByName, Values, array_type
from ..base import pytree
from ..base.errors import BatchError, InputError
from ..nodes.coercion import kept_in
from ..nodes.nodes import NodeRole, gradient_target, value_of
from .batched import own_type
from .looping import close, is_same

Axes = Any  # an int, None, or a tree of them


def axes_of_arguments(in_axes: Axes, args: Values, flat: bool) -> list[Any]:
    """An axis, or None, for each leaf of the arguments. ``flat``: no argument is a container."""
    if flat and type(in_axes) is int:
        return [in_axes if getattr(x, "shape", ()) else None for x in args]
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise InputError(
                f"in_axes has {len(in_axes)} entries for {len(args)} arguments: one for each (keyword arguments are "
                f"shared by all examples), or one int for all"
            )
        return [axis for k, x in enumerate(args) for axis in spread_axes(in_axes[k], x, "in_axes", f"argument {k}")]
    return spread_axes(in_axes, args, "in_axes", "the arguments", shared=True)


def spread_axes(axes: Axes, tree: Any, what: str, of: str, shared: bool = False) -> list[Any]:
    """An axis for each leaf of ``tree``: ``axes`` is a prefix of that tree, and each of its leaves holds for everything
    below.

    ``shared``: the axis was given for all arguments, so numbers, which have no axes, are passed unchanged.
    """
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        return [None if shared and not np.ndim(x) else axes for x in pytree.tree_leaves(tree)]
    if not pytree.is_container(axes):
        raise InputError(f"{what} are ints, None, or containers of these, not {axes!r}")
    if not pytree.is_container(tree):
        raise InputError(f"{what} has {type(axes).__name__} where {of} has no container")
    mine, theirs = dict(pytree.children(axes)), pytree.children(tree)
    if {step for step, _ in theirs} != set(mine):
        raise InputError(f"{what} for {of} has the entries {list(mine)}, but there are {[step for step, _ in theirs]}")
    return [axis for step, child in theirs for axis in spread_axes(mine[step], child, what, of + step)]


def word_of(args: Values, k: int) -> str:
    """The name of leaf k of the arguments in messages: 0, or [0]['w']."""
    path = pytree.tree_paths(args, "")[k]
    return path[1:-1] if path.count("[") == 1 else path


def checked_axis(x: Any, axis: Any, args: Values, k: int) -> int | None:
    """The axis of leaf k as a non-negative number; None if it is not an array."""
    if not is_array(x):
        return None
    n = len(getattr(x, "shape", ()))
    if not -n <= axis < n:
        raise InputError(
            f"argument {word_of(args, k)} has shape {np.shape(x)}, and so no axis {axis} "
            f"to map over: give in_axes, with None for an argument that all examples share"
        )
    return int(axis) % n


def is_array(x: object) -> bool:
    """Can it be mapped over? Numbers, tables, arrays of any dtype; but not classes, nor other objects with a shape."""
    kind = type(x)
    return hasattr(kind, "dtype") or pytree.is_number(x) or (hasattr(kind, "__array__") and hasattr(kind, "shape"))


def mapped_leaves(in_axes: Axes, args: Values, flat: bool) -> tuple[list[tuple[Any, int | None]], int]:
    """The leaves of the arguments, each with its axis, which is now in front, or None; and how many examples there
    are."""
    axes = axes_of_arguments(in_axes, args, flat)
    leaves = args if flat else pytree.tree_leaves(args)
    pairs, lengths = [], {}
    for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is not None and (axis := checked_axis(x, axis, args, k)) is not None:
            # A table of another library, such as a Series, becomes an array: x[k] is row k, whatever its labels. Not
            # what holds nodes, has coordinates, or is sparse.
            is_data = array_type(x) is None and hasattr(x, "__array__") and kept_in(type(x)) is None
            x = in_front(np.asarray(x) if is_data else x, axis)
            lengths[k] = x.shape[0]
        pairs.append((x, axis))
    if not lengths:
        raise InputError("af.vmap has nothing to map over: all arguments are shared (in_axes=None), or there are none")
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join([f"{n} in argument {word_of(args, k)}" for k, n in lengths.items()])
        raise InputError(f"the mapped axes have different lengths: {lengths_text}. All count the same examples.")
    return pairs, int(next(iter(lengths.values())))


def in_front(x: Array, axis: int) -> Array:
    """A mapped argument with its axis in front. Read-only: it belongs to the caller."""
    moved = np.moveaxis(x, axis, 0) if axis else x
    if isinstance(x, np.ndarray) and not isinstance(x, NodeRole):
        moved = moved.view()
        moved.flags.writeable = False
    return moved


def is_stacked(x: object) -> bool:
    """Is it a result that is stacked, one for each example? Python's True and False are, too."""
    kind = type(x)
    return (hasattr(kind, "dtype") and hasattr(kind, "__array__")) or issubclass(kind, (int, float, complex))


# ---------------------------------------------------------------- the definition, and the comparison with it


def run_loop(f: AnyFunction, batch: Any, options: ByName, out_axes: Axes) -> Any:
    """f for each example, on read-only views; results as new memory, by np.stack."""
    results = []
    for k, args in enumerate(batch.examples()):
        try:
            results.append(f(*args, **options))
        except Exception as error:
            error.add_note(f"(af.vmap: in example {k})")
            raise
    first = results[0]
    axes = spread_axes(out_axes, first, "out_axes", "result")
    named = [dict(zip(pytree.tree_paths(z, ""), pytree.tree_leaves(z), strict=True)) for z in results]
    if any([z.keys() != named[0].keys() for z in named]):
        raise BatchError("the function returns other containers for some examples, so they cannot be stacked")

    def stacked(column: list[Any], axis: int | None) -> Any:
        column = [x if gradient_target(x) is not None else value_of(x) for x in column]
        if axis is None or not all(map(is_stacked, column)):
            if any([is_stacked(x) != is_stacked(column[0]) or not is_same(x, column[0]) for x in column]):
                raise InputError(
                    "a result that is not stacked (a text, or with out_axes=None) differs between examples"
                )
            return np.copy(column[0]) if is_stacked(column[0]) else column[0]
        kinds = [(np.shape(x), np.result_type(value_of(x))) for x in column]
        k = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), 0)
        if k:
            (shape, dtype), (other, another) = kinds[0], kinds[k]
            raise BatchError(
                f"the function returns {dtype} of shape {shape} for example 0, and {another} of shape {other} for "
                f"example {k}: they cannot be one array"
            )
        # NumPy writes beyond the shape of what it makes of several matrices.
        return put_axis(axis, np.stack([x.A if isinstance(x, np.matrix) else x for x in column]))

    columns = [[z[name] for z in named] for name in named[0]]
    return pytree.tree_unflatten(first, map(stacked, columns, axes))


def put_axis(axis: int, z: Array) -> Array:
    """The array with its first axis, which numbers the examples, at the place that ``out_axes`` gives."""
    if not -z.ndim <= axis < z.ndim:
        raise InputError(f"out_axes={axis}: the result for all examples has the axes 0 to {z.ndim - 1}")
    return np.moveaxis(z, 0, axis) if axis else z


def numbers_of(result: Any, axes: list[Any], size: int) -> Any:
    """For each example how many numbers in its results are finite and not 0. Other results count as one."""
    total = np.zeros(size)
    for z, axis in zip(map(value_of, pytree.tree_leaves(result)), axes, strict=True):
        counts = axis is not None and isinstance(z, np.ndarray) and z.dtype.kind in "biufc"
        total += np.count_nonzero(np.moveaxis(np.isfinite(z) & (z != 0), axis, 0).reshape(size, -1), 1) if counts else 1
    return total


def same_as_one(result: object, one: object, axes: list[int | None], k: int) -> bool:
    """Is example k of ``result`` what f returns for that example alone?"""
    kinds = [[type(x) for _, x in pytree.entries(z) if pytree.is_container(x)] for z in (result, one)]
    if kinds[0] != kinds[1] or pytree.tree_paths(result, "") != pytree.tree_paths(one, ""):
        return False
    return all(map(is_example, pytree.tree_leaves(result), pytree.tree_leaves(one), axes, [k] * len(axes)))


def is_example(z: Any, x: Any, axis: int | None, k: int) -> bool:
    """Is example k of z the same as x?"""
    if not (is_stacked(z) and is_stacked(x)):
        return is_same(z, x)
    if own_type(type(x)):
        return False
    z, x = value_of(z), value_of(x)
    if not isinstance(z, np.ndarray) or not isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return True  # recorded by somebody else
    z = z if axis is None else np.moveaxis(z, axis, 0)[k, ...]
    return np.shape(z) == np.shape(x) and z.dtype == np.result_type(x) and close(z, x)
