"""Numbers in nested containers: lists, tuples, dicts and dataclasses, as arguments of functions often are.

Everything else is a *leaf*. Leaves have an order: that of lists and fields, and in a dict that of
insertion. So a tree is taken apart with :func:`tree_leaves`, and put together again with other leaves by
:func:`tree_unflatten`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import numpy as np

from .types import AnyFunction, Array, Shape

OBJECT = np.dtype(object)


def is_container(x: object) -> bool:
    """Is ``x`` taken apart? (Sets have no order, and other classes no fields that we know of; an array that is written
    as a dataclass, as Zarr's is, is an array.)"""
    kind = type(x)
    if issubclass(kind, np.ndarray):  # most often
        return False
    if issubclass(kind, (list, tuple, dict)):
        return True
    return hasattr(kind, "__dataclass_fields__") and not hasattr(x, "__array__")  # is_dataclass(x), in a fifth of it


def is_number(x: object) -> bool:
    """Can a gradient flow to this leaf? Numbers and arrays of numbers; not booleans, text, functions or None.

    >>> is_number(2), is_number(np.ones(2)), is_number(True), is_number("relu"), is_number(None)
    (True, True, False, False, False)
    """
    if isinstance(x, (int, float, complex)) and not isinstance(x, bool):
        return True
    return getattr(getattr(x, "dtype", None), "kind", "no dtype") in ("i", "u", "f", "c")


def kind_of(x: Any, of_object: Callable[[Any], Any] = type) -> Any:
    """What two calls must have in common to be proved by one of them: containers, classes and shapes and dtypes of
    arrays, texts and flags. ``of_object``: the same for anything else, such as a function."""
    kind = type(x)
    if kind in (str, bool, bytes, np.bool_):
        return x
    if kind is tuple or kind is list:
        return tuple([
            (v.shape, v.dtype) if type(v) is np.ndarray and v.dtype is not OBJECT else kind_of(v, of_object) for v in x
        ])  # fmt: skip
    if kind is dict:
        return tuple([(k, kind_of(v, of_object)) for k, v in x.items()])
    if kind in (float, int, complex, type(None)):
        return kind
    if (dtype := getattr(x, "dtype", None)) is not None and not isinstance(x, type):
        return (kind, x.shape, *([kind_of(v, of_object) for v in x.flat] if dtype is OBJECT else [dtype]))
    return (kind, *[kind_of(v, of_object) for v in branches(x)]) if is_container(x) else of_object(x)


def children(tree: Any) -> list[tuple[str, Any]]:
    """The children of a container, each with the text of its access: ``[0]``, ``['w']``, ``.w``."""
    if isinstance(tree, dict):
        return [(f"[{key!r}]", x) for key, x in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [(f"[{k}]", x) for k, x in enumerate(tree)]
    return [(f".{field.name}", getattr(tree, field.name)) for field in dataclasses.fields(tree)]


def branches(tree: Any) -> Collection[Any]:
    """The children alone: without the texts, which take longer to build than everything else here."""
    if isinstance(tree, (list, tuple)):
        return tree
    return tree.values() if isinstance(tree, dict) else [getattr(tree, f.name) for f in dataclasses.fields(tree)]


def tree_leaves(tree: object) -> list[Any]:
    """All leaves, in order.

    >>> tree_leaves({"w": [1.0, 2.0], "b": (3.0, "text")})
    [1.0, 2.0, 3.0, 'text']
    """
    if type(tree) is not list and (isinstance(tree, np.ndarray) or not is_container(tree)):
        return [tree]
    leaves: list[Any] = []
    for child in tree if isinstance(tree, (list, tuple)) else branches(tree):
        if isinstance(child, np.ndarray) or not is_container(child):
            leaves.append(child)
        else:
            leaves += tree_leaves(child)
    return leaves


def tree_paths(tree: object, start: str = "") -> list[str]:
    """How each leaf is reached, in the order of :func:`tree_leaves`.

    >>> tree_paths({"w": [1.0, 2.0], "b": 3.0}, "p")
    ["p['w'][0]", "p['w'][1]", "p['b']"]
    """
    if not is_container(tree):
        return [start]
    return [path for step, child in children(tree) for path in tree_paths(child, start + step)]


def entries(tree: object) -> list[tuple[str, Any]]:
    """All containers and leaves, the outer ones first, each with the text of its access in its container; and all
    attributes. What is in a container that is there twice, or in itself, comes once.

    >>> entries([(), {"w": 1.0}])
    [('', [(), {'w': 1.0}]), ('[0]', ()), ('[1]', {'w': 1.0}), ("['w']", 1.0)]
    """
    pairs, entered = [("", tree)], set[int]()
    for _, x in pairs:  # which grows
        if is_container(x) and id(x) not in entered:
            entered.add(id(x))
            own, cache = getattr(x, "__dict__", {}).items(), functools.cached_property
            pairs += children(x) + [(f".{k}", v) for k, v in own if not isinstance(getattr(type(x), k, None), cache)]
    return pairs


def watched(tree: object) -> Callable[[], bool]:
    """A function that says whether the containers still hold the same objects in the same places.

    >>> tree = {"w": [1.0, 2.0]}
    >>> is_unchanged = watched(tree)
    >>> tree["w"][0] += 1.0
    >>> is_unchanged()
    False
    """
    before = entries(tree)
    return lambda: [(step, id(x)) for step, x in entries(tree)] == [(step, id(x)) for step, x in before]


def tree_flatten(tree: object) -> tuple[list[Any], Any]:
    """The leaves, and the structure: the same containers without leaves, for :func:`tree_unflatten`.

    >>> leaves, structure = tree_flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> leaves, structure
    ([1.0, 2.0, 3.0], {'w': [None, None], 'b': None})
    >>> tree_unflatten(structure, [10 * x for x in leaves])
    {'w': [10.0, 20.0], 'b': 30.0}
    """
    leaves = tree_leaves(tree)
    return leaves, tree_unflatten(tree, [None] * len(leaves))


def tree_unflatten(tree: Any, leaves: Iterable[Any]) -> Any:
    """A tree of the same containers as ``tree``, with other leaves, in the order of :func:`tree_leaves`.

    tree : a structure of :func:`tree_flatten`, or any tree; its own leaves do not matter.

    Raises ValueError if there are not as many leaves as places.

    >>> tree_unflatten({"w": [1.0, 2.0], "b": 3.0}, "xyz")
    {'w': ['x', 'y'], 'b': 'z'}
    """
    new = iter(leaves)
    try:
        filled = fill_containers(tree, new)
    except StopIteration:
        raise ValueError(f"tree_unflatten: fewer leaves than the {len(tree_leaves(tree))} of the tree") from None
    if next(new, END) is not END:
        raise ValueError(f"tree_unflatten: more leaves than the {len(tree_leaves(tree))} of the tree")
    return filled


END = object()  # no leaf is this


def fill_containers(tree: Any, new: Iterator[Any]) -> Any:
    """The same containers with the next leaves of ``new``."""
    if not is_container(tree):
        return next(new)
    inside = [fill_containers(x, new) if not isinstance(x, np.ndarray) and is_container(x) else next(new)
              for x in branches(tree)]  # fmt: skip
    if isinstance(tree, (list, tuple)):
        # A namedtuple takes them singly.
        other = type(tree)(*inside) if hasattr(tree, "_fields") else type(tree)(inside)
        if hasattr(tree, "__dict__"):
            vars(other).update(vars(tree))
        return other
    other = copy.copy(tree)  # a shallow copy runs no __init__, which might refuse what is not a parameter
    if isinstance(tree, dict):
        dict.update(other, zip(tree, inside, strict=True))  # a Counter's own update would add
        return other
    for field, child in zip(dataclasses.fields(tree), inside, strict=True):
        object.__setattr__(other, field.name, child)  # also in frozen ones: this copy is still ours alone
    return other


def tree_map(f: AnyFunction, tree: Any, *others: Any) -> Any:
    """The same containers with ``f(leaf)`` in place of each leaf; with several trees, ``f`` takes a leaf of each.

    Containers are lists, tuples, dicts and dataclasses. Raises TypeError if the trees do not have the same containers.

    >>> tree_map(lambda w, g: w - 0.5 * g, {"w": [1.0, 2.0], "b": 3.0}, {"w": [2.0, 2.0], "b": 4.0})
    {'w': [0.0, 1.0], 'b': 1.0}
    """
    if not others and (isinstance(tree, np.ndarray) or not is_container(tree)):  # most often
        return f(tree)
    for k, other in enumerate(others, 2):
        if tree_paths(other) != tree_paths(tree):
            raise TypeError(f"tree_map: tree {k} has the leaves {tree_paths(other)}, the first one {tree_paths(tree)}")
    every = zip(tree_leaves(tree), *[tree_leaves(other) for other in others], strict=True)
    return tree_unflatten(tree, [f(*parts) for parts in every])


def tree_reduce(f: Callable[[Any, Any], Any], tree: Any, start: object = END) -> Any:
    """``f`` applied to all leaves, two at a time, from the first to the last: f(f(a, b), c).

    start : a value before the first leaf. Without it, raises TypeError if there are no leaves.

    >>> import numpy as np
    >>> tree_reduce(lambda total, w: total + np.sum(w**2), {"w": np.ones(3), "b": 2.0}, 0.0)
    np.float64(7.0)
    """
    leaves = tree_leaves(tree)
    if start is END and not leaves:
        raise TypeError("tree_reduce: the tree has no leaves: say what to start from")
    return functools.reduce(f, leaves) if start is END else functools.reduce(f, leaves, start)


def tree_ravel(tree: object) -> tuple[Array, Callable[[Array], Any]]:
    """All numbers of a tree in one vector, and the function that turns such a vector into a tree again.

    Both can be differentiated; this is how functions of trees are given to ``scipy.optimize``. The vector has the
    dtype that all leaves fit into, float64 at least for integers. The function gives each leaf its shape back, and its
    dtype if it is a float dtype. Leaves that are not numbers (text, None, booleans) stay in their places.

    Raises ValueError, in the function, if the vector has another length.

    >>> vector, tree_of = tree_ravel({"w": [[1.0, 2.0], 3.0], "name": "line"})
    >>> vector
    array([1., 2., 3.])
    >>> tree_of(10 * vector)
    {'w': [[np.float64(10.0), np.float64(20.0)], np.float64(30.0)], 'name': 'line'}
    """
    leaves = tree_leaves(tree)
    flat = {k: np.ravel(x) for k, x in enumerate(leaves) if is_number(x)}
    places = [(k, np.shape(leaves[k]), x.dtype if x.dtype.kind in "fc" else np.dtype(float)) for k, x in flat.items()]
    dtype = np.result_type(*[kind for *_, kind in places] or [float])
    structure = tree_map(lambda x: None if is_number(x) else x, tree)
    vector = np.concatenate([x.astype(dtype, copy=False) for x in flat.values()]) if flat else np.zeros(0, dtype)
    return vector, functools.partial(tree_of_vector, structure, places)


def tree_of_vector(structure: object, places: list[tuple[int, Shape, np.dtype]], vector: Array) -> Any:
    """The tree that :func:`tree_ravel` made a vector of: the same structure, its numbers from ``vector``.

    structure : the tree, without its numbers. places : which leaf each array of them is, its shape and its dtype.
    """
    total = sum([math.prod(shape) for _, shape, _ in places])
    if np.shape(vector) != (total,):
        raise ValueError(f"tree_ravel: this tree has {total} numbers; the vector has shape {np.shape(vector)}")
    leaves, start = tree_leaves(structure), 0
    for k, shape, kind in places:
        part = vector[start : start + math.prod(shape)].reshape(shape) if shape else vector[start]
        leaves[k] = part.astype(kind, copy=False) if part.dtype.kind != "c" or kind.kind == "c" else part
        start += math.prod(shape)
    return tree_unflatten(structure, leaves)


def parts_like(tree: object, like: object) -> list[Any] | None:
    """What ``tree`` has at the places of the leaves of ``like``, in order; None if its containers are others. In the
    place of an array there may be a list.

    >>> import numpy as np
    >>> parts_like({"w": [1.0, 2.0], "b": 3.0}, {"w": np.ones(2), "b": np.ones(())})
    [[1.0, 2.0], 3.0]
    """
    if not is_container(like):
        return [tree] if not is_container(tree) or hasattr(like, "dtype") else None
    if not is_container(tree) or len(branches(tree)) != len(branches(like)):
        return None
    if not isinstance(tree, (list, tuple)) or not isinstance(like, (list, tuple)):
        steps = [step for step, _ in children(tree)], [step for step, _ in children(like)]
        if isinstance(tree, dict) != isinstance(like, dict) or steps[0] != steps[1]:
            return None
    parts = [parts_like(*pair) for pair in zip(branches(tree), branches(like), strict=True)]
    return None if None in parts else [x for part in parts for x in part or ()]
