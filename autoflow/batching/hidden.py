"""Questions about arrays that hide a batch, nodes or not. They are known by their ``batch_layer``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nodes.nodes import NodeRole, gradient_target, value_of
from ..nodes.versions import owner_of


def flat(x: Any) -> list[Any]:
    """The leaves of nested lists, tuples, dicts and slices."""
    kind = type(x)
    if kind is slice:
        return [x.start, x.stop, x.step]
    if kind is dict:
        x = list(x.values())
    elif not isinstance(x, (list, tuple)):
        return [x]
    found: list[Any] = []
    for part in x:
        if isinstance(part, (list, tuple, dict, slice)):
            found += flat(part)
        else:
            found.append(part)
    return found


def layer_of(x: Any) -> Any:
    """The layer whose batch ``x`` hides, also if it is a node; None for other arrays."""
    return getattr(x, "batch_layer", None)


def deepest(x: Any) -> Any:
    """The deepest layer among arrays, which may be in nested lists. There is one."""
    layers = [x.batch_layer for x in flat(x) if hasattr(x, "batch_layer")]
    return max(layers, key=lambda layer: layer.depth)


def is_held_by_node(x: Any, layer: Any) -> bool:
    """Is one of these arrays a node of that layer? Then the operation is recorded by nodes."""
    return any([isinstance(v, NodeRole) and layer_of(v) is layer for v in flat(x)])


def sample(x: Any) -> Any:
    """A plain array of the shape and dtype, for questions about these; no memory."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if hasattr(x, "batch_layer") else x


def shares_memory(a: Any, b: Any) -> bool:
    """Is one a view of the other, or both of a third?"""
    a, b = value_of(a), value_of(b)
    if hasattr(a, "batch_layer") and hasattr(b, "batch_layer"):
        return shares_memory(a.inner, b.inner)
    return owner_of(a) is owner_of(b)


def has_nodes_inside(x: Any) -> bool:
    """Is there a node with a history behind this array?"""
    while hasattr(x, "batch_layer"):
        x = x.inner
        if gradient_target(x) is not None:
            return True
        x = value_of(x)
    return False
