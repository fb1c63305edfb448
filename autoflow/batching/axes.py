"""Which axis of each argument and result numbers the examples, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import pytree
from ..base.errors import InputError

Axes = Any  # an int, None, or a tree of them


def axes_of_arguments(in_axes: Axes, args: tuple[Any, ...], flat: bool) -> list[Any]:
    """An axis, or None, for each leaf of the arguments. ``flat``: no argument is a container."""
    if flat and type(in_axes) is int:
        return [in_axes if getattr(x, "shape", ()) else None for x in args]
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise InputError(
                f"in_axes has {len(in_axes)} entries for {len(args)} arguments: one for each (keyword arguments are "
                f"shared by all examples), or one int for all"
            )
        parts = [
            spread_axes(axis, x, "in_axes", f"argument {k}")
            for k, (axis, x) in enumerate(zip(in_axes, args, strict=True))
        ]
        return [axis for part in parts for axis in part]
    return spread_axes(in_axes, args, "in_axes", "the arguments", shared=True)


def spread_axes(axes: Axes, tree: Any, what: str, of: str, shared: bool = False) -> list[Any]:
    """An axis for each leaf of ``tree``: ``axes`` is a tree that begins like it, and its leaves hold for all below.

    ``shared``: the axis was given for all arguments, so numbers, which have none, are passed as they are.
    """
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        every = pytree.tree_leaves(tree)
        return [None if shared and not np.ndim(x) else axes for x in every] if shared else [axes] * len(every)
    if not pytree.is_container(axes):
        raise InputError(f"{what} are ints, None, or containers of these, not {axes!r}")
    if not pytree.is_container(tree):
        raise InputError(f"{what} has {type(axes).__name__} where {of} has no container")
    mine, theirs = dict(pytree.children(axes)), pytree.children(tree)
    if [step for step, _ in theirs] != list(mine):
        raise InputError(f"{what} for {of} has the entries {list(mine)}, but there are {[step for step, _ in theirs]}")
    return [axis for step, child in theirs for axis in spread_axes(mine[step], child, what, of + step)]


def word_of(args: Any, k: int) -> str:
    """How a message calls leaf k of the arguments: 0, or [0]['w']."""
    path = pytree.tree_paths(args, "")[k]
    return path[1:-1] if path.count("[") == 1 else path


def checked_axis(x: Any, axis: Any, args: Any, k: int) -> Any:
    """The axis of leaf k as a positive number; None for what is shared."""
    if axis is None or not is_array(x):
        return None
    n = len(x.shape) if hasattr(x, "shape") else 0
    if not -n <= axis < n:
        raise InputError(
            f"argument {word_of(args, k)} has shape {np.shape(x)}, and so no axis {axis} "
            f"to map over: give in_axes, with None for an argument that all examples share"
        )
    return int(axis) % n


def is_array(x: Any) -> bool:
    """Can it be mapped over? Numbers and arrays of any dtype."""
    return hasattr(x, "shape") or pytree.is_number(x)


def common_length(given: list[tuple[Any, Any]], args: Any) -> int:
    """How many examples there are."""
    lengths = {k: x.shape[axis] for k, (x, axis) in enumerate(given) if axis is not None}
    if not lengths:
        raise InputError("af.vmap has nothing to map over: all arguments are shared (in_axes=None), or there are none")
    if len(set(lengths.values())) > 1:
        said = ", ".join([f"{n} in argument {word_of(args, k)}" for k, n in lengths.items()])
        raise InputError(f"the mapped axes have different lengths: {said}. All count the same examples.")
    return int(next(iter(lengths.values())))
