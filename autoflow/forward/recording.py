"""From a call to a node: run the row on plain arrays, and record how.

:func:`apply` is the general way, for every row, kind of operand and array type; ``closures.py`` writes out what it
does for the calls that happen all the time. Both end in a node that has a record, or, where nothing is recorded
(``no_grad``, Constants only), in a Constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..lazy import later
from ..modes import modes, switched
from ..nodes.coercion import plain_array
from ..nodes.freeing import NEW, view_link
from ..nodes.nodes import (
    NodeRole,
    Operation,
    Variable,
    VariableRole,
    View,
    constant_from,
    current_record,
    new_record,
    on_memory,
    set_flags,
)
from ..nodes.records import Extras, Record, extend
from ..nodes.versions import FreedArray
from ..rules.table import Rule
from .operands import REALS, hidden_batch, one_family, operand, plain_option, protect_operand

Array = Any
ndarray = np.ndarray
# Options that cannot hide an array, alone or in a tuple (a shape, axes, an index): nothing is to be done with them.
SIMPLE = frozenset({type(None), int, bool, str, slice, type(...), float, type, np.int64, np.bool_})
NO_OPTIONS: dict[str, Any] = {}
FAULTS = (ValueError, IndexError, TypeError)  # what NumPy raises for operands that do not fit
FORWARD: dict[Any, Any] = {}  # ufunc -> its quick closure, which does what apply() does; filled by closures.py


def apply(rule: Rule, args: tuple[Any, ...], options: dict[str, Any] = NO_OPTIONS) -> Any:
    """Compute ``rule.function(*args, **options)`` and record it: the general way, for every row and array type."""
    if "out" in options:
        options = dict(options)
        if (out := options.pop("out")) is not None:
            return later("autoflow.forward.inplace:write_out")(rule, args, options, out)
    inputs = rule.bind(args, options)
    if modes().autocast is not None:
        inputs = later("autoflow.forward.mixed_precision:cast")(rule, inputs)
    if rule.single:
        x = inputs[0]
        if type(x) is Operation and hasattr(x, "_record"):
            return apply_one(rule, x, x._record, inputs)
        if type(x) is Variable and getattr(x, "_live", False):
            return apply_one(rule, x, x, inputs)
    if rule.variadic:
        arrays = tuple(inputs[0])
        inputs, rule = (*arrays, *inputs[1:]), rule.of_arity(len(arrays))
    n = rule.operands
    values: list[Any] = []
    parents: list[Any] = []
    constants: dict[int, Any] = {}
    mutable: list[int] = []
    for k in range(n):
        value, record, shown, is_mutable = operand(inputs[k])
        values.append(value)
        parents.append(record)
        if record is not None and rule.needs[k] is None:  # nothing flows to it (the condition of where)
            parents[k], shown = None, inputs[k] if isinstance(inputs[k], NodeRole) else None
        if shown is not None:
            constants[k] = shown
        if is_mutable:
            mutable.append(k)
    for k in range(n, len(inputs)):
        option = inputs[k]
        if type(option) not in SIMPLE and not (type(option) is tuple and SIMPLE.issuperset(map(type, option))):
            option = plain_option(option, rule, k)
            if isinstance(option, (tuple, list)) or type(option) in NODE_TYPES:
                mutable.append(k)
        values.append(option)
    if len(NODE_TYPES) > 1:
        if (batch := hidden_batch(values)) is not None:
            return apply_batched(batch, rule, inputs, values, parents, constants)
        values[:n] = one_family(rule, values[:n])
    result = call_explained(rule.compute, values, rule, inputs)
    if type(result) not in NODE_TYPES:
        result = plain_array(result)
    return make_node(rule, result, inputs, values, tuple(parents), constants, mutable)


def apply_one(rule: Rule, x: Any, parent: Any, inputs: tuple[Any, ...]) -> Any:
    """The same for one array with a history, most often with plain options: ``x.mean(axis=0)``, ``x[1:]``, ``x.T``."""
    options = inputs[1:]
    for option in options:
        if type(option) not in SIMPLE and not (type(option) is tuple and SIMPLE.issuperset(map(type, option))):
            options = tuple([plain_option(v, rule, k) for k, v in enumerate(options, 1)])
            mutable = [k for k, v in enumerate(options, 1) if isinstance(v, (tuple, list)) or type(v) in NODE_TYPES]
            if mutable:
                values = [x._value, *options]
                if len(NODE_TYPES) > 1 and (batch := hidden_batch(values)) is not None:
                    return apply_batched(batch, rule, inputs, values, [parent], {})
                result = call_explained(rule.compute, values, rule, inputs)
                return make_node(rule, as_plain(result), inputs, values, (parent,), {}, mutable)
            break
    return compute_one(rule, x, parent, options)


def compute_one(rule: Rule, x: Any, parent: Any, options: tuple[Any, ...]) -> Any:
    """The same, where it is known that the options are simple: see SIMPLE."""
    a = x._value
    try:
        result = rule.compute(a, *options)
    except FAULTS as error:
        explain_error(error, rule, (x, *options))
        raise
    if type(result) is not ndarray:
        result = as_plain(result)
    limit = modes().fast_path_limit
    if type(result) is not ndarray or a.size > limit or result.size > limit or result.dtype.kind not in "fc":
        return make_node(rule, result, (x, *options), [a, *options], (parent,), {}, ())
    record = Record()
    record.rule = rule
    record.parents = (parent,)
    record.saved = (a, *options, result)
    record.number, release = next(NEW)
    record.count = rule.tick()
    if release is not None:
        record.release = release(record.number, record.parents)
    record.extra = None
    if rule.view and is_view_of(result, a):
        node = result.view(Operation if parent is x else View)
        node._view = (record, x) if release is None else view_link(record, x)
    else:
        node = result.view(Operation)
    set_flags(node, False)
    node._value = node._operand = result
    node._record = record
    return node


def call_explained(function: Callable[..., Any], values: Sequence[Any], rule: Rule, inputs: tuple[Any, ...]) -> Any:
    """``function(*values)``; an error of NumPy's says what the operands were."""
    try:
        return function(*values)
    except FAULTS as error:
        explain_error(error, rule, inputs)
        raise


def explain_error(error: BaseException, rule: Rule, inputs: tuple[Any, ...]) -> None:
    """Add the operands' names and shapes to an error of NumPy's."""
    later("autoflow.forward.shape_notes:add_note")(
        error, rule.function, inputs[: rule.operands], inputs[rule.operands :]
    )


def as_plain(result: Any) -> Array:
    """What a row has computed, as an array of a known type."""
    if type(result) in NODE_TYPES:
        return result
    return np.asarray(result) if type(result) in REALS else plain_array(result)


def make_node(
    rule: Rule, result: Array, inputs: Any, values: list[Any], parents: tuple[Any, ...],
    constants: dict[int, Any], mutable: Any,
) -> Any:  # fmt: skip
    """Make the node: a Constant if nothing is recorded, else an Operation with its record."""
    switches = modes()
    family = NODE_TYPES[type(result)]
    shared = rule.view and isinstance(inputs[0], NodeRole) and is_view_of(result, values[0])
    if not (switches.recording and any([p is not None for p in parents]) and result.dtype.kind in "fc"):
        node = constant_from(result, family)
        if shared:
            taken = new_record(rule, (current_record(inputs[0]),), (*values, result))
            node._view = view_link(taken, inputs[0])
        return node
    node = on_memory(result, family.View if shared and not isinstance(inputs[0], VariableRole) else family.Operation)
    node._value = node._operand = result
    node._record = new_record(rule, parents, ())
    limit = switches.keep
    fingerprints: list[tuple[Array, bytes]] = []
    if mutable or result.size > limit or not rule.elementwise:  # else all is small: keep it, needed or not
        if rule.residual is not None and (result.size > limit or not rule.elementwise):
            values = rule.append_residual(values, result, parents)
            rule = node._record.rule = rule.with_residual()
        needed = rule.must_save(tuple([p is not None for p in parents]))
        for k in mutable:
            values[k] = protect_operand(values[k], k in needed, fingerprints)
        for k in range(rule.operands):
            if k not in needed and type(values[k]) in NODE_TYPES and values[k].size > limit:
                values[k] = FreedArray(values[k])
        if result.size > limit and len(rule.names) not in needed:
            result = FreedArray(result)
    node._record.saved = (*values, result)
    if constants or fingerprints:
        node._record.extra = Extras(constants, fingerprints)
    if switches.scope:
        extend(node._record, scope=switches.scope)
    if shared:
        node._view = view_link(node._record, inputs[0])
    if switches.listeners:
        announce_node(node)
    return node


def announce_node(node: Any) -> None:
    """Tell those who asked (hooks, anomaly mode, checkpointing) that ``node`` was recorded. What they compute with it
    is not told again."""
    listeners = modes().listeners
    with switched(listeners=()):
        for listener in listeners:
            listener(node)


def is_view_of(result: Array, value: Array) -> bool:
    """Is ``result`` a view of ``value`` (a reshape may be a copy), or itself (squeeze, with nothing to squeeze)?"""
    base = result.base
    return result is value or (base is not None and (base is value or base is value.base))


def apply_batched(
    batch: Any, rule: Rule, inputs: Any, values: list[Any], parents: list[Any], constants: dict[int, Any],
    compute: Any = None,
) -> Any:  # fmt: skip
    """The row on arrays that hide a batch (``batching/batched.py``). Nodes of an outer layer count as values here: what
    is done with them is recorded there. Without a node of the deepest layer the result is no node."""
    result, is_held = batch.run_row(rule, inputs, values, parents, constants, compute)
    if not is_held:
        return result
    mutable = [k for k in range(rule.operands) if not isinstance(inputs[k], NodeRole) and hasattr(values[k], "run_row")]
    mutable = [k for k in mutable if values[k].flags.writeable]  # arguments of the vmap are not
    return make_node(rule, result, inputs, values, tuple(parents), constants, mutable)
