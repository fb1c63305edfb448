"""Hooks: your functions, called with gradients on their way back, and with operations as they are recorded.

The hooks of an operation are in its record's ``extra``, which is None for all other records; those of Variables are in
one table, by identity. So a pass asks once whether there are any, and nodes need no room for them.

First what users call, then what a pass calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from ..backends.registry import NODE_TYPES
from ..base.errors import GradientShapeError, lost
from ..base.modes import listening, modes
from ..nodes.cuts import explain
from ..nodes.grads import cast_gradient, check_numbers
from ..nodes.nodes import Array, Holder, NodeRole, VariableRole, constant_from, current_record, unwritable, value_of
from ..nodes.records import Record, extend, holder_name
from . import engine

Hook = Callable[[Array], Any]
Pair = engine.Pair[Record]  # these three: of a pass through our records
Opened = engine.Opened[Record]
OpenRecord = engine.OpenRecord[Record]
SERIAL = count()
LEAF_HOOKS: dict[int, tuple[ref[VariableRole], dict[str, dict[int, Hook]]]] = {}  # by id; records have ``extra``


class Handle:
    """What registering returns: ``handle.remove()`` removes the hook. Calling it twice is not an error."""

    __slots__ = ("_hooks", "_key")

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self._hooks, self._key = hooks, next(SERIAL)
        hooks[self._key] = hook  # dicts keep the order of registration

    def __reduce__(self) -> NoReturn:
        raise TypeError("the handle of a hook is part of a graph, which is not pickled: register the hook again")

    def remove(self) -> None:
        """Never call the hook again."""
        self._hooks.pop(self._key, None)


def leaf_hooks_of(variable: VariableRole) -> dict[str, dict[int, Hook]]:
    """The hooks of one Variable: "before" a pass adds to its ``grad``, and "after"."""
    if not (hooks := hooks_of(variable)):
        key, table = id(variable), LEAF_HOOKS  # its name is gone when Python ends
        hooks = {"before": {}, "after": {}}
        LEAF_HOOKS[key] = ref(variable, lambda _: table.pop(key, None)), hooks
    return hooks


def register_hook(node: NodeRole, hook: Hook) -> Handle:
    """Call ``hook(g)`` in every backward pass, with the complete gradient of ``node``, once.

    ``g`` is a read-only array of the node's shape and dtype (a node, in a pass with ``create_graph=True``). The hook
    may return a replacement gradient, or None to keep it. Hooks run in the order of registration. For a Variable ``g``
    is what this pass brings, before it is added to ``grad``.

    Raises LostGradientError if no gradient will ever flow to the node. In the pass: GradientShapeError if a hook
    returns another shape.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> y = x * x
    >>> handle = y.register_hook(lambda g: 10 * g)
    >>> y.backward()
    >>> x.grad
    array(60.)
    >>> handle.remove()
    """
    check_callable(hook)
    if isinstance(node, VariableRole):
        return add_hook(node, leaf_hooks_of(node)["before"], hook)
    record = current_record(node)
    if record is None:
        what = f"no gradient flows to {node.name}, a {type(node).__name__}: its hook would never be called"
        raise lost(what, explain(node))
    hooks = record.extra.hooks if record.extra is not None else None
    if hooks is None:
        extend(record, hooks=(hooks := {}))
    return add_hook(record, hooks, hook)


def register_post_accumulate_hook(variable: NodeRole, hook: Hook) -> Handle:
    """Call ``hook(variable)`` after every ``backward()`` that has added to ``variable.grad``. Variables only.

    So an optimiser can step, and free, one gradient at a time:

    >>> import autoflow as af
    >>> w = af.Variable(3.0, name="w")
    >>> handle = w.register_post_accumulate_hook(lambda v: print(v.name, v.grad))
    >>> (w * w).backward()
    w 6.0
    """
    check_callable(hook)
    if not isinstance(variable, VariableRole):
        raise TypeError(
            f"{variable.name} is a {type(variable).__name__}: gradients accumulate in Variables only. "
            f"Use register_hook to see the gradient of an operation."
        )
    return add_hook(variable, leaf_hooks_of(variable)["after"], hook)


def add_hook(holder: Holder, hooks: dict[int, Hook], hook: Hook) -> Handle:
    """Among the ``hooks`` of a Variable or a record; unless a checkpointed function that runs again has done so in its
    first run, which it has for all that was there before."""
    return Handle({} if holder.number <= modes().repeating else hooks, hook)


def check_callable(hook: object) -> None:
    """A hook is a function."""
    if not callable(hook):
        raise TypeError(f"a hook is a function of one argument, not {type(hook).__name__}")


def on_operation(function: Callable[[Any], None]) -> listening:
    """Call ``function(node)`` for every operation that is recorded in a ``with`` block (or decorated function).

    For profiles and logs. Operations inside ``function`` are not reported. In nested blocks the inner one is called
    last.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0])
    >>> with on_operation(lambda node: print(node.name, node.shape)):
    ...     y = np.sum(np.exp(x))
    exp_0 (2,)
    sum_0 ()
    """
    check_callable(function)
    return listening(function)


# -- as a pass calls them


def hooks_of(holder: object) -> dict[str, dict[int, Hook]]:
    """The hooks of a Variable or a record, "before" and "after" its ``grad`` is set; empty if it has none."""
    if type(holder) is Record:
        return {"before": holder.extra.hooks} if holder.extra is not None and holder.extra.hooks else {}
    known = LEAF_HOOKS.get(id(holder))
    return known[1] if known is not None and known[0]() is holder else {}


def run_hooks(holder: Holder, g: Array, hooks: Collection[Hook]) -> Array:
    """The gradient of ``holder`` (a Variable or a record) after its hooks, each of which may replace it."""
    number = isinstance(g, np.generic)
    g = cast_gradient(np.asarray(g) if number else g, holder.dtype)
    for hook in hooks:
        new = hook(unwritable(g))
        if new is None:
            continue
        check_numbers(new, holder.dtype, f"what a hook of {holder_name(holder)} returned", "the gradient")
        if not (isinstance(g, NodeRole) and isinstance(new, NodeRole)):
            new = value_of(new)
            new = new.copy() if type(new) in NODE_TYPES else np.array(new, holder.dtype)
            new = constant_from(new, g.family) if isinstance(g, NodeRole) else new
        if new.shape != holder.shape:
            raise GradientShapeError(
                f"a hook of {holder_name(holder)} returned shape {new.shape} "
                f"in place of a gradient of shape {holder.shape}"
            )
        g = cast_gradient(new, holder.dtype)
    return g[()] if number and type(g) is np.ndarray else g
