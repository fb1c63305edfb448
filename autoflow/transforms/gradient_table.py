"""Gradients in a container of their own, which leaves ``.grad`` alone: ``grads = af.gradients(loss)``.

``gx, gw = af.gradients(loss, [x, w])`` unpacks it. Two workers, two losses, or an optimiser that looks at gradients
before it applies them: each has its own container. Nothing accumulates automatically; to accumulate, add containers.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .. import pytree
from ..backprop import passes
from ..errors import lost
from ..modes import switched
from ..nodes.grads import add_gradients, cast_gradient, checked_grad
from ..nodes.nodes import Node, NodeRole, Variable, VariableRole, gradient_target
from .evaluation import copy_numbers, stop_set

Array = Any


class Gradients:
    """Gradients by node, in the order asked for. Made by :func:`gradients`.

    pairs : (node, gradient) pairs.

    ``gx, gw = grads`` and ``for g in grads`` give the gradients. ``grads[x]``, ``x in grads``, ``len``, ``keys`` (the
    nodes), ``values``, ``items`` (pairs), ``get``, ``pop`` work as in a dict; ``replace``; ``a + b`` and ``a += b`` add
    gradients of equal nodes and keep the others. A node that was asked for twice has one gradient.

    The keys are objects that another process does not have. So a pickle holds names, values and gradients in order,
    and is loaded with new Variables as keys; ``grads.on([x, w])`` assigns the gradients to your own nodes, in that
    order.

    >>> import pickle
    >>> import autoflow as af
    >>> x, w = af.Variable(3.0, name="x"), af.Variable(2.0, name="w")
    >>> grads = gradients(x * w, [x, w])
    >>> gx, gw = grads
    >>> float(gx), float(gw)
    (2.0, 3.0)
    >>> x in grads, len(grads), [node.name for node in grads.keys()]
    (True, 2, ['x', 'w'])
    >>> pickle.loads(pickle.dumps(grads)).on([x, w])[x]
    array(2.)
    """

    __module__ = "autoflow"

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self._found: dict[Any, Any] = dict(pairs)

    def __getitem__(self, node: Any) -> np.ndarray:
        if node not in self:
            raise KeyError(f"there is no gradient of {_name_of(node)}: there are those of {self._names()}")
        return self._found[node]

    def __contains__(self, node: Any) -> bool:
        return isinstance(node, NodeRole) and node in self._found  # plain arrays have no hash

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def keys(self) -> KeysView[Node]:
        """The nodes."""
        return self._found.keys()

    def values(self) -> ValuesView[np.ndarray]:
        """The gradients."""
        return self._found.values()

    def items(self) -> ItemsView[Node, np.ndarray]:
        """Pairs (node, gradient)."""
        return self._found.items()

    def get(self, node: Any, default: Any = None) -> Any:
        """The gradient of ``node``, or ``default``."""
        return self._found[node] if node in self else default

    def pop(self, node: Any, *default: Any) -> Any:
        """Take the gradient of ``node`` out. If there is none: ``default`` if given, else a KeyError.

        >>> import autoflow as af
        >>> x = af.Variable(3.0)
        >>> grads = gradients(x * x)
        >>> grads.pop(x), x in grads
        (array(6.), False)
        """
        if node not in self and default:
            return default[0]
        g = self[node]
        del self._found[node]
        return g

    def replace(self, node: Any, g: Any) -> None:
        """Replace the gradient of ``node``, by a clipped one, an average, or one from another process, for example.

        >>> import autoflow as af
        >>> x = af.Variable([1.0, 2.0])
        >>> grads = gradients(np.sum(x * x), [x])
        >>> grads.replace(x, np.clip(grads[x], -3.0, 3.0))
        >>> grads[x]
        array([2., 3.])
        """
        self[node]  # there must be one: else KeyError
        if g is None:
            raise TypeError("a gradient cannot be None: grads.pop(x) takes it out")
        self._found[node] = checked_grad(node, g)

    def on(self, nodes: Any) -> Gradients:
        """The same gradients in the same order, for other nodes: one for each node that this was made for."""
        nodes = [nodes] if isinstance(nodes, NodeRole) else pytree.tree_leaves(nodes)
        if len(nodes) != len(self):
            raise ValueError(f"{len(self)} gradients for {len(nodes)} nodes")
        return Gradients([(x, checked_grad(x, g)) for x, g in zip(nodes, self.values(), strict=True)])

    def __add__(self, other: Gradients) -> Gradients:
        if not isinstance(other, Gradients):
            return NotImplemented
        total = Gradients([(x, g.copy()) for x, g in self.items()])
        total += other
        return total

    def __radd__(self, other: Any) -> Gradients:
        return self + Gradients() if other == 0 else NotImplemented  # so that sum([...]) works

    def __iadd__(self, other: Gradients) -> Gradients:
        if not isinstance(other, Gradients):
            return NotImplemented
        for x, g in other.items():
            if x not in self:
                self._found[x] = g.copy()
                continue
            with switched(recording=True):  # if they are nodes; arrays stay arrays
                total = cast_gradient(add_gradients(self._found[x], g), x.dtype)
            self._found[x] = total if isinstance(total, NodeRole) else np.asarray(total)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ([(x.name, x.value, copy_numbers(g)) for x, g in self.items()],)

    def __repr__(self) -> str:
        return f"Gradients({self._names()})"

    def _names(self) -> str:
        return ", ".join([f"{x.name}: {x.dtype}{list(x.shape)}" for x in self._found]) or "of nothing"


def _restored(triples: list[tuple[str, Array, Array]]) -> Gradients:
    """What a pickle becomes."""
    return Gradients([(Variable(value, name), g) for name, value, g in triples])


_restored.__module__ = "autoflow"  # pickles say so, wherever it is


if TYPE_CHECKING:

    class RecordedGradients(Gradients):
        """Gradients that can be differentiated again."""

        def __getitem__(self, node: Any) -> Node: ...
        def __iter__(self) -> Iterator[Node]: ...


@overload
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: Literal[True]) -> RecordedGradients: ...
@overload
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: bool = False) -> Gradients: ...
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: bool = False) -> Gradients:
    """dL/d(node) for each of the nodes, in their order: ``gx, gw = gradients(L, [x, w])``. ``.grad`` is neither read
    nor written.

    root : the node L; seed : as of ``backward``.
    nodes : a node, or nested lists, tuples, dicts of them; None for every Variable that ``root`` was computed from.
        Those that it was not computed from get zeros; if it was computed from none, LostGradientError.
    create_graph : gradients that can be differentiated again; else plain arrays.

    >>> import autoflow as af
    >>> x, w = af.Variable(3.0, name="x"), af.Variable(2.0, name="w")
    >>> grads = gradients(x * w)
    >>> grads[x], x.grad
    (array(2.), None)
    >>> (grads + gradients(w * w, [w]))[w]
    array(7.)
    """
    if nodes is None:
        pairs = passes.run_pass(root, seed, create_graph=create_graph)
        leaves = sorted([(x, g) for x, g in pairs if isinstance(x, VariableRole)], key=lambda pair: pair[0].number)
        return Gradients([(x, _user_gradient(x, g, create_graph)) for x, g in leaves])
    wanted = [nodes] if isinstance(nodes, NodeRole) else pytree.tree_leaves(nodes)
    for x in wanted:
        if gradient_target(x) is None:
            raise lost(f"{_name_of(x)} has no gradient: it is a Constant, a frozen Variable, or no node")
    found = _find_gradients(root, [gradient_target(x) for x in wanted], seed, create_graph)
    if wanted and not found:
        raise lost(f"{_name_of(root)} was computed from none of {', '.join([x.name for x in wanted])}")
    return Gradients([(x, _user_gradient(x, found.get(id(gradient_target(x))), create_graph)) for x in wanted])


def _find_gradients(root: Any, records: list[Any], seed: Any, create_graph: bool) -> dict[int, Any]:
    """By id of the record: the gradients that a pass from ``root`` brings."""
    stop: Any = ()
    limit: int | None = None  # results of operations may lie behind each other: keep all, and take ours
    source = gradient_target(root)
    if source is not None and all([isinstance(record, VariableRole) for record in records]):
        stop, limit = stop_set(source, set(records), min([x.number for x in records], default=0)), -1
        if stop is None:
            return {}
    pairs = passes.run_pass(root, seed, create_graph=create_graph, stop=stop, limit=limit)
    ids = {id(record) for record in records}
    return {id(holder): g for holder, g in pairs if id(holder) in ids}


def _user_gradient(x: Any, g: Any, create_graph: bool) -> Any:
    """The gradient of ``x`` as the user gets it."""
    with switched(recording=create_graph):
        g = np.zeros_like(x.value) if g is None else cast_gradient(g, x.dtype)
    return g if create_graph else copy_numbers(g)


def _name_of(x: Any) -> str:
    return str(x.name) if isinstance(x, NodeRole) else f"a {type(x).__name__}"
