"""Numbers in nested containers: lists, tuples, dicts and dataclasses, as arguments of functions often are.

Everything that is no such container is a *leaf*. Leaves have an order: that of lists and fields, and in a dict that of
insertion. So a tree is taken apart with :func:`tree_leaves`, and put together again with other leaves by
:func:`tree_unflatten`.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any


def is_container(x: Any) -> bool:
    """Is ``x`` taken apart? (Sets have no order, and other classes no fields that we know of; an array that is written
    as a dataclass, as Zarr's is, is an array.)"""
    if isinstance(x, (list, tuple, dict)):
        return True
    return dataclasses.is_dataclass(x) and not isinstance(x, type) and not hasattr(x, "__array__")


def is_number(x: Any) -> bool:
    """Can a gradient flow to this leaf? Numbers and arrays of numbers; not booleans, text, functions or None.

    >>> import numpy as np
    >>> is_number(2), is_number(np.ones(2)), is_number(True), is_number("relu"), is_number(None)
    (True, True, False, False, False)
    """
    if isinstance(x, (int, float, complex)) and not isinstance(x, bool):
        return True
    kind = getattr(getattr(x, "dtype", None), "kind", "no dtype")
    return kind in ("i", "u", "f", "c")


def children(tree: Any) -> list[tuple[str, Any]]:
    """The children of a container, each with the text that leads there: ``[0]``, ``['w']``, ``.w``."""
    if isinstance(tree, dict):
        return [(f"[{key!r}]", x) for key, x in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [(f"[{k}]", x) for k, x in enumerate(tree)]
    return [(f".{field.name}", getattr(tree, field.name)) for field in dataclasses.fields(tree)]


def tree_leaves(tree: Any) -> list[Any]:
    """All leaves, in order.

    >>> tree_leaves({"w": [1.0, 2.0], "b": (3.0, "text")})
    [1.0, 2.0, 3.0, 'text']
    """
    if not is_container(tree):
        return [tree]
    return [leaf for _, child in children(tree) for leaf in tree_leaves(child)]


def tree_paths(tree: Any, start: str = "") -> list[str]:
    """How each leaf is reached, in the order of :func:`tree_leaves`.

    >>> tree_paths({"w": [1.0, 2.0], "b": 3.0}, "p")
    ["p['w'][0]", "p['w'][1]", "p['b']"]
    """
    if not is_container(tree):
        return [start]
    return [path for step, child in children(tree) for path in tree_paths(child, start + step)]


def tree_unflatten(tree: Any, new: Iterator[Any]) -> Any:
    """A tree of the same containers with the leaves ``new``.

    >>> tree_unflatten({"w": [1.0, 2.0], "b": 3.0}, iter("xyz"))
    {'w': ['x', 'y'], 'b': 'z'}
    """
    if not is_container(tree):
        return next(new)
    inside = [tree_unflatten(child, new) for _, child in children(tree)]
    if isinstance(tree, (list, tuple)):
        return type(tree)(*inside) if hasattr(tree, "_fields") else type(tree)(inside)  # a namedtuple takes them singly
    other = copy.copy(tree)  # a shallow copy runs no __init__, which might refuse what is not a parameter
    if isinstance(tree, dict):
        dict.update(other, zip(tree, inside, strict=True))  # a Counter's own update would add
        return other
    for field, child in zip(dataclasses.fields(tree), inside, strict=True):
        object.__setattr__(other, field.name, child)  # also in frozen ones: this copy is still ours alone
    return other


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same containers with ``f(leaf)`` in place of each leaf; of several trees ``f`` of their leaves in one place.

    Containers are lists, tuples, dicts and dataclasses. Raises TypeError if the trees do not have the same containers.

    >>> tree_map(lambda w, g: w - 0.5 * g, {"w": [1.0, 2.0], "b": 3.0}, {"w": [2.0, 2.0], "b": 4.0})
    {'w': [0.0, 1.0], 'b': 1.0}
    """
    for k, other in enumerate(others, 2):
        if tree_paths(other) != tree_paths(tree):
            raise TypeError(f"tree_map: tree {k} has the leaves {tree_paths(other)}, the first one {tree_paths(tree)}")
    every = zip(tree_leaves(tree), *[tree_leaves(other) for other in others], strict=True)
    return tree_unflatten(tree, iter([f(*parts) for parts in every]))


def same_shape(tree: Any, like: Any) -> bool:
    """Are the containers the same, one in the other's place? (Leaves may differ.)"""
    if not is_container(like):
        return not is_container(tree) or hasattr(like, "dtype")
    if not is_container(tree):
        return False
    mine, theirs = children(tree), children(like)
    if isinstance(tree, dict) != isinstance(like, dict) or [step for step, _ in mine] != [step for step, _ in theirs]:
        return False
    return all(same_shape(a, b) for (_, a), (_, b) in zip(mine, theirs, strict=True))
