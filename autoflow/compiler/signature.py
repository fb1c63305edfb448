"""What decides which program is right for a call: containers, shapes, dtypes, layouts, and values other than arrays.

Equal arguments need not be alike: ``frozenset({1}) == frozenset({True})``, and a class may call any two of its objects
equal. So numbers and text are compared by type and value, and everything else by identity.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..backprop.second_runs import bits_of
from ..base import pytree
from ..base.errors import CompileError
from ..base.modes import modes
from ..nodes.nodes import NodeRole, value_of
from .trace.doubts import check_class
from .trace.reachable import aliases

BY_VALUE = (int, bool, str, bytes, type(None))


class Same:
    """A key that equals only the key of the same object; it keeps the object alive."""

    __slots__ = ("x",)

    def __init__(self, x: object) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def is_array(x: object) -> bool:
    """Is this leaf an input of the program? Arrays are, and NumPy's numbers; Python's numbers are part of it."""
    return (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fciub") or isinstance(x, NodeRole)


def key_of_modes() -> Hashable:
    """The switches that decide what is computed."""
    m = modes()
    return m.recording, m.depth, m.autocast, m.safe_masking, m.anomaly, bool(m.listeners), m.max_bytes, m.repeating != 0


def signature(args: object, options: object, leaves: list[Any]) -> tuple[Hashable, ...]:
    """Equal for calls that share a program."""
    parts: list[Any] = []
    arrays = []
    for x in leaves:
        if is_array(x):
            arrays.append(x)
            x = value_of(x)
            if type(x) is not np.ndarray:
                check_class(x)
            # Results lie in memory as arguments do, sums add in that order, ``ravel("K")`` reads in it, and whether
            # ``reshape`` makes a view or a copy depends on it.
            parts.append((isinstance(x, np.generic), x.shape, x.dtype, None if x.flags.c_contiguous else x.strides))
        else:
            parts.append(key_of(x))
    return shape_of(args), shape_of(options), tuple(parts), key_of_modes(), aliases(arrays)


def key_of(x: Any) -> Hashable:
    """The key of an argument that is not an array, or of a dict's key: by type and value if it is a number or text,
    else by identity.

    >>> key_of(frozenset({1})) == key_of(frozenset({True})), key_of((2, "a")) == key_of((2, "a"))
    (False, True)
    """
    kind = type(x)
    if kind in BY_VALUE:
        return kind, x
    if kind in (float, complex) or (isinstance(x, np.generic) and not x.dtype.hasobject):
        return kind, bits_of(x)
    if kind is frozenset:
        return kind, frozenset([key_of(v) for v in x])
    if kind is tuple:
        return kind, *[key_of(v) for v in x]
    if kind in (range, slice):
        return kind, key_of(x.start), key_of(x.stop), key_of(x.step)
    if kind is types.MethodType:  # a new object at every access
        return kind, Same(x.__self__), Same(x.__func__)
    try:
        hash(x)
    except TypeError:
        raise CompileError(
            f"an argument of a compiled function is a {kind.__name__}, which cannot be compared with those of other "
            f"calls. Give arrays, numbers, and lists, tuples, dicts or dataclasses of them."
        ) from None
    return Same(x)


def shape_of(tree: object) -> object:
    """The classes of the containers, the keys of dicts and fields of others, and attributes that are none of these."""
    if not pytree.is_container(tree):
        return None
    steps = [key_of(key) for key in tree] if isinstance(tree, dict) else [step for step, _ in pytree.children(tree)]
    inside = [None if isinstance(x, np.ndarray) else shape_of(x) for x in pytree.branches(tree)]
    own = getattr(tree, "__dict__", {}).items()  # attributes, of which some are fields
    others = own and [(k, shape_of(x), *map(key_of, pytree.tree_leaves(x))) for k, x in own if f".{k}" not in steps]
    return type(tree), tuple(steps), tuple(others), *inside
