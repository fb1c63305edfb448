"""A recorded graph, run again with other inputs.

A record knows its function, its operands and its options, so what was computed once can be computed anew:

* :func:`replay` gives the value, as a plain array, and records nothing. It makes sliders live.
* :func:`record_again` gives a node with a history of its own, so that gradients can be taken at the new inputs.

Operands come before the operations that use them, and numbers of creation never decrease along the way: the records,
sorted by number, are the program. Nothing is recursive.

Only recorded operations are run again. A Python ``if``, and the condition of ``np.where(x > 0, ...)``, were decided
when the graph was made, and stay decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..base.errors import LostGradientError, NoRuleError, StaleValueError
from ..base.modes import switched
from ..nodes.nodes import Holder, Node, NodeRole, Variable, VariableRole, gradient_target, value_of
from ..nodes.records import Extras, Record, ancestors, holder_name
from ..nodes.versions import FreedArray, fingerprint, writer_since
from ..table.shapes import Array, as_dtype
from .recording import apply

Inputs = Mapping[Any, Any]


def replay_node(node: NodeRole, inputs: Inputs | None = None) -> Array:
    """The value that ``node`` would have if these nodes had other values: ``loss.replay({w: w.value + 0.1})``.

    inputs : Variables, or nodes on the way, and their values, of the shapes they were recorded with. Variables that
        are not mentioned have the value that they have now.

    Returns a plain array; nothing is recorded and no node changes. Raises ValueError for a node that is not part of
    the history or a value of another shape, NoRuleError for values that were computed outside (``create_node``),
    StaleValueError for plain operands that are gone or overwritten.

    >>> import autoflow as af
    >>> x = af.Variable(2.0)
    >>> y = x * x + 1.0
    >>> y.replay({x: 3.0})
    array(10.)

    For many values compile it; the graph is then a program without bookkeeping:

    >>> at = af.compile(lambda value: y.replay({x: value}))
    >>> at(np.array(3.0)), at(np.array(4.0))
    (array(10.), array(17.))
    """
    return replay(root_of(node), {key_of(k): v for k, v in (inputs or {}).items()})


def replay(record: Holder, inputs: Inputs) -> Array:
    """The value of ``record`` with other values of the Variables and records in ``inputs``. See :func:`replay_node`."""
    order = program([record], inputs)
    values = {k: check_input(k, v) for k, v in inputs.items()}
    check_used(order, values)
    recording = next((v for v in values.values() if hasattr(type(v), "adopt")), None)  # inside af.compile
    with np.errstate(all="ignore"):
        for r in order:
            if r in values:
                continue
            if isinstance(r, VariableRole):
                values[r] = value_of(r) if recording is None else recording.adopt(value_of(r), recording)
                continue
            operands = [values[p] if p is not None else value_of(shown_operand(r, k)) for k, p in enumerate(r.parents)]
            values[r] = run(r, operands)
    return np.copy(values[record])


def record_again(node: Any, inputs: Inputs) -> tuple[Any, dict[Holder, Node]]:
    """``node``, recorded once more: a new node, and a dictionary from the old records and Variables to the new nodes.

    For a list of nodes a list of new ones, with one history.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> y, new = record_again(x * x, {x: 3.0})
    >>> y.backward()
    >>> new[x].grad, x.grad
    (array(6.), None)
    """
    roots = [root_of(x) for x in (node if isinstance(node, list) else [node])]
    values = {key_of(k): v for k, v in inputs.items()}
    order = program(roots, values)
    check_used(order, values)
    nodes: dict[Holder, Any] = {}
    for r in order:
        if r in values or isinstance(r, VariableRole):
            name = getattr(r, "_name", None) if isinstance(r, VariableRole) else holder_name(r)
            nodes[r] = Variable(check_input(r, values[r]) if r in values else value_of(r), name)
            if hasattr(r, "_place"):
                nodes[r]._place = r._place
        else:
            refuse_foreign(r)
            operands = [nodes[p] if p is not None else shown_operand(r, k) for k, p in enumerate(r.parents)]
            with switched(recording=True, scope=r.extra.scope if r.extra is not None else ()):
                nodes[r] = again(r, operands)
            if hasattr(r, "place"):
                nodes[r].grad_fn.place, nodes[r].grad_fn.last = r.place, r.last
            nodes[r].name = getattr(r, "_name", None)  # given by the user; None if there is only the running one
    new = [nodes[root] for root in roots]
    return (new if isinstance(node, list) else new[0]), nodes


def root_of(node: NodeRole) -> Holder:
    """The record of a node, or the Variable; LostGradientError for one without a history."""
    record = gradient_target(node)
    if record is None:
        raise LostGradientError(f"{node.name} has no history that could be run again")
    return record


def again(record: Record, operands: list[Any]) -> Array:
    """The operation of ``record`` on other operands, recorded."""
    rule = record.rule.plain or record.rule
    with np.errstate(all="ignore"):
        return apply(rule, (*operands, *record.saved[rule.operands : len(rule.names)]))


def program(roots: Iterable[Holder], cut: Inputs) -> list[Any]:
    """``roots`` and what they need, operands first; nothing behind the records in ``cut``."""
    records = {r for root in roots for r in ancestors(root, lambda r: r not in cut)}
    return sorted(records, key=lambda r: r.number)


def run(record: Record, operands: list[Array]) -> Array:
    """The result of the row for these values and the saved options."""
    refuse_foreign(record)
    rule = record.rule
    if rule.operator is None:
        result = rule.compute(*operands, *record.saved[rule.operands : -1])
    else:  # x**2, whose bits differ from np.power's, and on np.float64 from those on arrays
        result = rule.operator(*[np.asarray(x) if isinstance(x, np.generic) else x for x in operands])
    return as_dtype(result, record.dtype)


def refuse_foreign(record: Record) -> None:
    """Raise NoRuleError for an operation whose value was not computed by a row of the table."""
    if record.rule.compute is None:
        raise NoRuleError(
            f"{record.node_name} cannot be run again: its value was computed outside of the table of rules. Make a "
            f"function of the rule, or start after it by giving {record.node_name} a value."
        )


def shown_operand(record: Record, k: int) -> Any:
    """An operand to which no gradient flows, if it is unchanged: its value, or the Constant itself."""
    extra = record.extra or Extras()
    x = extra.constants.get(k)
    value = record.saved[k]
    if type(value) is FreedArray:
        value = value_of(x) if isinstance(x, NodeRole) else value.reference()
    if value is None and type(record.saved[k]) is FreedArray:
        raise StaleValueError(
            f"operand {k + 1} of {record.node_name}, an array of shape {record.saved[k].shape}, was not kept, because "
            f"no derivative reads it. Make it an af.Constant, or keep its node."
        )
    marks = [mark for array, mark in extra.fingerprints if array is value]
    where = writer_since(value, record.number - 1)
    if where or any([fingerprint(value) != mark for mark in marks]):
        raise StaleValueError(
            f"operand {k + 1} of {record.node_name}, an array of shape {np.shape(value)}, has been written into since"
            f"{' by ' + where if where else ''}. Give the operation a copy."
        )
    return x if isinstance(x, NodeRole) and value_of(x) is value else value


def key_of(x: object) -> object:
    """The key of a node in its graph; raises ValueError for anything but a node of a graph."""
    if isinstance(x, Record):
        return x
    source = gradient_target(x) if isinstance(x, NodeRole) else None
    if source is None:
        raise ValueError(f"inputs are Variables, or nodes with a history; not {type(x).__name__} {str(x)[:60]}")
    return source


def check_input(r: Holder, value: Array) -> Array:
    """A new value for ``r``, in its dtype; ValueError if its shape is another one."""
    value = value_of(value)
    value = value if type(value) in NODE_TYPES or hasattr(type(value), "adopt") else np.asarray(value)
    if value.shape != r.shape:
        raise ValueError(
            f"{holder_name(r)} was recorded with shape {r.shape} and cannot be given shape {value.shape}: indices and "
            f"shapes of the graph would not fit. Record it anew with the other shape."
        )
    return value.astype(r.dtype, casting="same_kind", copy=False) if value.dtype.kind in "fc" else value.astype(r.dtype)


def check_used(order: list[Any], inputs: Inputs) -> None:
    """Raise ValueError if an input plays no part: it would be ignored."""
    used = set(order)
    for r in [r for r in inputs if r not in used]:
        raise ValueError(
            f"{holder_name(r)} plays no part in this graph, or only through other nodes that are given as well"
        )
