"""Operations whose derivatives are computed together, and operations with several results.

A row of the table has one derivative per operand. Here one function, the row's ``joint``, computes them all: a user's
:class:`~autoflow.extending.function.Function`, a checkpoint, a ``grad_fn`` that was set by hand.

Several results. The computation has one record, which has no value of its own; each result is a ``part`` of it:

    x -> Split_0 -> part_0, part_1

A part sends back a :class:`Parts` with one entry, and sums of Parts have the entries of both. So the engine, which only
needs gradients that can be added, brings the record all of them at once, and its joint function runs once.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from ..backends.registry import NODE_TYPES, layer_of
from ..base.errors import LostGradientError, lost
from ..base.modes import CAPTURED, OTHER, apart, modes, switched
from ..base.numbering import Kind
from ..forward.recording import Operands as Operands, make_node, split_inputs as split_inputs
from ..nodes.coercion import plain_array
from ..nodes.cuts import note_cut
from ..nodes.grads import add_gradients
from ..nodes.nodes import NodeRole, constant_from, current_record, gradient_target, new_record, operation_from, value_of
from ..nodes.records import Holder, Record, ancestors
from ..nodes.versions import FreedArray, is_alone, owner_of
from ..table.shapes import AnyFunction, Array, ByName, Values, is_on_host
from ..table.table import MISSING, Rule, new_row

NOTHING = FreedArray(np.empty(0))  # the value of a record that has several results: no number, so not a scalar


ROWS_OF: WeakKeyDictionary[type, dict[object, Rule]] = WeakKeyDictionary()  # for each class of steps, or Function
kind_called = functools.cache(Kind)  # by name


def joint_row(
    name: str, operands: Sequence[str] | int, options: Sequence[str] = (), *, joint: Any, needs: Sequence[int] = ()
) -> Rule:
    """A row outside the table, whose derivatives are computed together. All rows of one name are counted together.

    operands : their names, or how many there are.
    joint : of ``(g, saved)``, where saved = (operands, options, result, record); returns the contribution to each
    operand.
    needs : the places in ``saved`` that it reads, whichever operands gradients flow to; -1 is the result.
    """
    operands = [f"x{k}" for k in range(operands)] if isinstance(operands, int) else operands
    n = len(operands)
    defaults = (MISSING,) * n + (None,) * len(options)
    row = new_row(Rule, None, (*operands, *options), defaults, n, {}, name=name, elementwise=False)
    row.label, row.latex = name, rf"\operatorname{{{name}}}"
    row.joint = joint
    row.count_with(kind_called(name))
    row.needs = (tuple([(place, "") for place in needs]),) * n
    return row


def step_row(
    kind: type, name: str, operands: Sequence[str] | int, needs: Sequence[int], options: Sequence[str] = ()
) -> Rule:
    """The row of operations that keep a step after their operands: an object that is called with (g, saved), like a
    ``joint``. It is made once for each ``kind`` of step, operands and needs."""
    rows = ROWS_OF.setdefault(kind, {})
    key = operands if isinstance(operands, int) else tuple(operands), tuple(needs), tuple(options)
    if key not in rows:
        n, more = operands if isinstance(operands, int) else len(operands), ["_step", *options]
        rows[key] = joint_row(name, operands, more, joint=lambda g, saved: saved[n](g, saved), needs=needs)
    return rows[key]


class Parts:
    """The gradients of several results: those that have arrived, by place."""

    dtype, shape, size = NOTHING.dtype, NOTHING.shape, math.inf  # the gradient of a record without a value

    def __init__(self, grads: dict[int, Array]) -> None:
        self.grads = grads

    def __add__(self, other: Parts) -> Parts:
        total = dict(self.grads)
        for j, g in other.grads.items():
            total[j] = add_gradients(total[j], g) if j in total else g
        return Parts(total)

    def copy(self, order: str = "K") -> Array:
        """The gradient to show: no single part is "the" gradient."""
        return np.full((), np.nan)


RESULT_OF = joint_row("part", ["x"], ["i"], joint=None)
RESULT_OF.vjps = RESULT_OF.scalar_vjps = (lambda g, saved: Parts({saved[1]: g}),)
RESULT_OF.holomorphic = False


def result_in_pass(record: Record, j: int, value: Array) -> Array:
    """The j-th result of ``record``, for use inside a recorded pass."""
    return operation_from(value, new_record(RESULT_OF, (record,), (NOTHING, j, value)))


def one_root(records: Sequence[Holder], seeds: Sequence[Array]) -> Record:
    """One root for several: its pass sends each of ``records`` its own seed."""
    row = joint_row("results", len(records), joint=lambda g, saved: seeds)
    operands = [FreedArray(np.empty(r.shape, r.dtype)) for r in records]
    return new_record(row, tuple(records), (*operands, NOTHING))


def made_by_forward(record: Record, value: Array, name: str) -> Array:
    """An array that a Function's forward made and keeps as ``name``, as a node on the operands of ``record``. It is not
    known how it depends on them, so differentiating through it is an error."""

    def refuse(g: Array, saved: Values) -> NoReturn:
        raise LostGradientError(
            f"{record.rule.name}.backward reads {name}, an array that forward made, and is differentiated again: "
            f"how it depends on the arguments is not known. Save the arguments with ctx.save_for_backward and compute "
            f"it in backward again; or, if it does not depend on them, say ctx.mark_constant(array) in forward."
        )

    n = len(record.parents)
    row = joint_row(name, n, joint=refuse)
    return operation_from(value, new_record(row, record.parents, (*record.saved[:n], value)))


def record_results(
    row: Rule, operands: Operands, options: Sequence[Any], results: list[Array], several: bool,
    live: Callable[[int], bool] = lambda j: True,
) -> Any:  # fmt: skip
    """Plain results as nodes: Operations with ``row``; Constants where nothing is recorded, or ``live(j)`` is False. No
    two share memory: a write into one would change both, but only one history."""
    _, parents, constants, _ = operands
    operands.values.extend(options)
    shared = [any([np.may_share_memory(z, y) for y in results[:j]]) for j, z in enumerate(results)]
    results = [z.copy() if is_shared else z for z, is_shared in zip(results, shared, strict=True)]
    flows = [z.dtype.kind in "fc" and live(j) for j, z in enumerate(results)]
    if not (modes().recording and any([p is not None for p in parents]) and any(flows)):
        nodes = [constant_from(z, NODE_TYPES[type(z)]) for z in results]
        for node in nodes:
            note_cut(node, parents, constants.values())
    elif not several:
        nodes = [make_node(row, results[0], (), operands)]
    else:
        record = current_record(make_node(row, np.zeros(()), (), operands))
        record.saved = (*record.saved[:-1], NOTHING)
        nodes = [make_node(RESULT_OF, z, (None,), Operands([NOTHING, j], [record], {}, [])) if flows[j]
                 else constant_from(z, NODE_TYPES[type(z)]) for j, z in enumerate(results)]  # fmt: skip
    return tuple(nodes) if several else nodes[0]


def check_history(sent: object, gs: Sequence[Array], name: str) -> None:
    """Did a user's derivative keep the history of ``gs``, dL/d(result) for each result? It is linear in them, so a
    gradient that depends on none of them has to be zero."""
    sources = [gradient_target(g) for g in gs] if modes().recording else []
    if not sources or any([source is None for source in sources]):
        return
    if not any([is_made_from(gradient_target(sent), source) for source in sources]) and np.any(value_of(sent)):
        raise LostGradientError(
            f"the derivative of {name} lost the history of g, so second derivatives would be silently zero: compute "
            f"with g itself and NumPy functions, not with g.value, float(g) or np.asarray(g)"
        )


def check_numbers_read(again: Callable[[Any], Sequence[Any]], sent: Sequence[Any], given: Any, name: str) -> None:
    """Raise LostGradientError if a derivative that is differentiated again reads numbers of its arguments past us.

    It is run once more with nodes whose memory holds other numbers (see ``transforms/evaluation.py``). ``again`` does
    that; it gets the function that makes such a node from each argument. ``given``: all arguments. No code can read the
    numbers of arrays that hide a batch, or that are being compiled, without asking.
    """
    readable = [x for x in given if gradient_target(x) is not None and is_on_host(x)]
    if not modes().recording or modes().shadow or not readable:
        return
    with switched(shadow=OTHER, shown={}, listeners=()), contextlib.suppress(Exception):
        pairs = [(value_of(a), value_of(b)) for a, b in zip(again(make_shadowed), sent, strict=True)]
        if all([a is b or np.array_equal(a, b, equal_nan=True) for a, b in pairs]):  # both may be None
            return
    raise LostGradientError(
        f"the derivative of {name} is differentiated again, and reads numbers of g, or of its arguments, without "
        f"asking the nodes: np.full(n, g), np.array([g, g]), np.asarray(x). So a term would be missing. Use "
        f"np.broadcast_to, af.full, af.array or np.stack."
    )


def make_shadowed(x: Any) -> Any:
    """A node with the numbers and the history of x, whose memory holds other numbers; anything but a node is returned
    unchanged.
    """
    return np.positive(x) if isinstance(x, NodeRole) else x  # type: ignore[call-overload]


def is_made_from(record: Holder, source: Holder) -> bool:
    """Does this record depend on that one? (Older records cannot.)"""
    newer = () if record is None else ancestors(record, lambda r: r.number > source.number)
    return any(r is source for r in newer)


def call_on_numbers(f: AnyFunction, args: Sequence[Any], options: ByName) -> Any:
    """The result of a user's function, which gets plain arrays. Raises LostGradientError if it reads numbers of nodes
    that it captures, which is checked in its first call."""
    answer, switches = apart().call(f, *args, **options), modes()
    if switches.recording and not switches.depth and not switches.shadow and switches.prove != "never":
        for check in CAPTURED:
            check(answer, f, args, options)
    return answer


def own_result(z: Array, inputs: Sequence[object], holders: int | None = 0) -> Array:
    """The result of a user's function as a plain array that shares no memory with its arguments, nor with a buffer that
    the function keeps and may fill again: only ``holders`` names of the caller's hold it (None: not checked). Raises
    LostGradientError for a node with a history: the function gets plain arrays, so it has used a node from outside."""
    if modes().recording and gradient_target(z) is not None:
        raise lost(
            f"the function returned {z.name}, a node with a history, though it was given plain arrays: it has used a "
            f"node from outside, through which no gradient would flow. Make that an argument"
        )
    layer = layer_of(z)
    if layer is not None and layer not in map(layer_of, inputs):
        layer.doubt_captured()
    z = plain_array(z)
    shared = type(z) in NODE_TYPES and any(type(x) in NODE_TYPES and np.may_share_memory(z, x) for x in inputs)
    return z.copy(order="K") if shared or not (holders is None or is_alone(z, holders + 1)) else z


def own_gradient(sent: Any, gs: Sequence[Any], holders: int) -> Any:
    """The same for the result of a user's derivative, which may be one of ``gs``, the gradients that it was given."""
    if is_alone(sent, holders + 1) or any([owner_of(sent) is owner_of(g) for g in gs if g is not None]):
        return sent
    return sent.copy(order="K")
