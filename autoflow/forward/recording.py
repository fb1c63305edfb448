"""From a call to a node: run the row on plain arrays, and record how.

Operands come first: what an operation needs to know of each argument is its plain value, what its gradient flows to,
and what may change. :class:`Operands` looks at arguments that may be nodes, :func:`plain_option` at the others (an
axis, a shape, an index).

:func:`apply` is the general way, for every row, kind of operand and array type; ``closures.py`` writes out what it
does for the calls that happen all the time, the look at the operands included. Both end in a node that has a record,
or, where nothing is recorded (``no_grad``, Constants only), in a Constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..backends.registry import NODE_TYPES, array_type
from ..base.errors import LostGradientError, MixedArraysError, NoRuleError
from ..base.lazy import later
from ..base.modes import modes, switched
from ..base.pytree import tree_map
from ..nodes import nodes, versions
from ..nodes.coercion import WHY, array_of, content, holds_node, plain_array
from ..nodes.cuts import Cut, note_cut, text_of
from ..nodes.nodes import Node, NodeRole, Operation, Variable, VariableRole, View, new_record, on_memory, value_of
from ..nodes.rebinding import check_left
from ..nodes.records import Extras, Holder, Record  # noqa: F401 - in the text
from ..nodes.versions import NEW, FreedArray, view_link  # noqa: F401 - in the text
from ..program.callers import calling_module, getframe, user_frame, wants_numbers  # noqa: F401 - in the texts
from ..program.places import Activation, enter  # noqa: F401 - in the text
from ..table.blocks import FROM, in_blocks
from ..table.indexing import getitem
from ..table.shapes import AnyFunction, Array, ByName, Values, join_list
from ..table.table import Rule
from .templates import written_out

# ---------------------------------------------------------------- operands: what an operation needs of each argument

ndarray, set_flags = np.ndarray, nodes.set_flags
REALS = frozenset({float, int, bool, np.float64, np.float32, np.float16, np.int64, np.int32, np.bool_})
NUMBERS = REALS | {complex, np.complex128, np.complex64}


class Operands(NamedTuple):
    """Everything that an operation needs to know about its operands, by place; and the values of its options."""

    values: list[Any]  # the plain arrays and numbers, and behind them the options
    parents: list[Holder]  # what a gradient flows to; None where nothing flows
    constants: dict[int, NodeRole]  # where nothing flows: the leaf that pictures show
    mutable: list[int]  # whose memory may change without our knowing, or is a small view: keep a copy

    def add(self, x: Any) -> None:
        """``x`` as the next operand: a node, a number, an array, or another library's box around one of them."""
        kind, value, is_mutable = type(x), x, False
        parent: Holder = None
        if isinstance(x, NodeRole):
            if not hasattr(x, "_value"):
                if (again := as_reshape_of_base(x)) is not None:
                    return self.add(again)
                value, is_mutable = orphan_numbers(x), True
            elif kind is Operation or (kind is View and x._record.number > versions.latest[0]):  # no write since
                value, parent = x._value, x._record
                is_mutable = kind is View and (value.nbytes <= versions.COPY_BYTES or nodes.is_lent(x))
            else:
                value, parent = x._value, nodes.gradient_target(x)
                if parent is None:
                    self.constants[len(self.values)] = x
                is_view = getattr(x, "_view", None) is not None and kind is not x.family.Operation  # of no Variable
                is_mutable = (is_view and value.nbytes <= versions.COPY_BYTES) or nodes.is_lent(x)
        elif kind not in NUMBERS and x is not None:
            if kind is not ndarray:
                if isinstance(inside := content(x), NodeRole):
                    return self.add(inside)
                if isinstance(x, (list, tuple)):
                    return self.add(join_list(x) if holds_node(x) else array_of(x))  # as af.array(x)
            value, is_mutable = plain_array(x), True
        if is_mutable:
            self.mutable.append(len(self.values))
        self.values.append(value)
        self.parents.append(parent)
        return None


def split_inputs(inputs: Iterable[object]) -> Operands:
    """The operands as an operation needs them."""
    operands = Operands([], [], {}, [])
    for x in inputs:
        operands.add(x)
    return operands


def gather(rule: Rule, inputs: Sequence[Any]) -> Operands:
    """The same of all arguments of ``rule``. To some operands nothing flows, such as the condition of where."""
    values, parents, constants, mutable = operands = Operands([], [], {}, [])
    for x in inputs[: rule.operands]:
        operands.add(x)
    for k, needs in enumerate(rule.needs):
        if needs is None and parents[k] is not None:
            parents[k] = None
            if isinstance(inputs[k], NodeRole):
                constants[k] = inputs[k]
    for k, option in enumerate(inputs[rule.operands :], rule.operands):
        if type(option) not in SIMPLE and not (type(option) is tuple and SIMPLE.issuperset(map(type, option))):
            option = plain_option(option, rule, k)
            if isinstance(option, MAY_CHANGE) or type(option) in NODE_TYPES:
                mutable.append(k)
        values.append(option)
    return operands


def as_reshape_of_base(x: Array) -> Array | None:
    """What NumPy made of a node in C, if it only put axes of length 1 before the node's own, as ``np.c_[x, y]`` and
    ``np.r_`` do: that is a reshape. None for all other arrays made there, and for a library that wants numbers."""
    base = x.base
    is_of_node = isinstance(x, np.ndarray) and hasattr(base, "family") and hasattr(base, "_value")
    if is_of_node and not wants_numbers(calling_module()):
        new = x.ndim - base.ndim
        same_memory = x.__array_interface__["data"][0] == base.__array_interface__["data"][0]
        if x.shape == (1,) * new + base.shape and x.strides[new:] == base.strides and same_memory:
            return np.reshape(base, x.shape)
    return None


def orphan_numbers(x: Array) -> Array:
    """The numbers of an array of our class that NumPy made in C, so that it has no history.

    If it looks into an array of another class (``masked.data``), the history was given up when that one was made, and
    to a library that wants numbers it does not matter. A Constant had no history. Else (``np.array(node, subok=True)``)
    a gradient would be lost.
    """
    another = x.base is not None and type(x.base) not in NODE_TYPES and not isinstance(x.base, NodeRole)
    is_known = another or isinstance(x, nodes.ConstantRole)
    if modes().recording and not is_known and not wants_numbers(calling_module()):
        raise history_lost(x)
    return value_of(x)


def history_lost(x: Array) -> LostGradientError:
    """The error for such an array."""
    kind, frame = type(x).__name__.replace("View", "Operation"), user_frame("numpy")
    text, line = text_of(Cut("", frame.f_code, frame.f_lasti, "it"))
    return LostGradientError(
        f"NumPy made this {kind} of shape {x.shape} from a node without telling us, as plain.dot(node), np.vectorize "
        f"and np.array(node, subok=True) do, so its history is lost: {text}{line} uses it. Write plain @ node or the "
        f"node itself, or np.array(x) for a plain copy."
    )


def protect_operand(value: Any, needed: bool, fingerprints: list[tuple[Array, bytes | None]]) -> Any:
    """A value that may change without our knowing, so that it cannot harm us: copied, or watched, or let go."""
    if type(value) is tuple or type(value) is list:
        if SIMPLE.issuperset(map(type, value)):
            return value[:]
        return type(value)([protect_operand(v, True, fingerprints) for v in value])
    if isinstance(value, (tuple, list, dict)):
        return tree_map(lambda v: protect_operand(v, True, fingerprints), value)
    if not (type(value) in NODE_TYPES or isinstance(value, ndarray)):
        return value
    if value.nbytes > versions.COPY_BYTES and not needed:
        return FreedArray(value)
    value, mark = versions.protect(value)
    if mark is not None:
        fingerprints.append((value, mark))
    return value


def plain_option(option: Any, rule: Rule | None = None, k: int = 0, is_place: bool = False) -> Any:
    """An option without nodes in it, the k-th argument of ``rule``. Indices may be nodes, also inside tuples, lists
    and dicts; no gradient flows to them. For NumPy's functions, and where it ``is_place``, arrays become plain ones."""
    if isinstance(option, (NodeRole, tuple, list, dict)) and holds_node(option):
        what, stands = "a node with a history", "stands"
        if rule is not None:
            what, stands = f"{rule.name} got {what}", f"as its argument {rule.names[k]!r},"
        raise NoRuleError(
            f"{what} {stands} where no derivative is known (as an index, an order, initial=, a shape ...), and its "
            "gradient would be lost. Use x.value or af.stop_gradient(x) there if that is meant."
        )
    option = value_of(option)
    is_numpys = is_place or (type(rule) is Rule and rule.function is not None)
    if is_numpys and (type(option) in (tuple, list) or hasattr(option, "__array__")):
        option = plain_arrays(option)
    elif is_numpys and type(option) not in SIMPLE and any(["__index__" in c.__dict__ for c in type(option).__mro__]):
        option = operator.index(option)  # a whole number to NumPy, of any class
    if isinstance(option, (np.ndarray, np.integer)) and not option.ndim and option.dtype.kind in "iu":
        is_copy = type(option) is np.ndarray and rule is not None and rule.function is getitem  # x[int] is a view
        return option if is_copy else int(option)  # of Python: -k and k - 1 fit, also if it was unsigned
    return option


def plain_arrays(x: Any) -> Any:
    """``x``, but plain arrays instead of those of other classes (a memmap, a Series), in tuples and lists as well, so
    that they are copied where they may change."""
    if type(x) is tuple or type(x) is list:
        return x if SIMPLE.issuperset(map(type, x)) else type(x)([plain_arrays(v) for v in x])
    is_array = hasattr(x, "__array__") and type(x) not in NODE_TYPES
    return np.asarray(x) if is_array and not isinstance(x, (NodeRole, np.generic, type)) else x


def hidden_batch(values: Iterable[object]) -> type[Any] | None:
    """The class of an array among these, or in an index, that hides the batch of an ``af.vmap``; None without one."""
    for v in values:
        if hasattr(type(v), "lift_operands"):
            return type(v)
        if type(v) is tuple and (kind := hidden_batch(v)) is not None:
            return kind
    return None


def one_family(rule: Rule, values: list[Any]) -> None:
    """Arrays of two libraries do not mix; those of a recording (``compiler/trace/traced.py``) adopt NumPy's."""
    kinds: set[Any] = {kind for v in values[: rule.operands] if (kind := array_type(v)) is not None}
    if len(kinds) > 1:
        for t in kinds:
            if hasattr(t, "adopt") and kinds == {t, np.ndarray}:
                like = next(v for v in values if type(v) is t)
                values[: rule.operands] = [t.adopt(v, like) for v in values[: rule.operands]]
                return
        names = " and ".join(sorted(f"{t.__module__}.{t.__name__}" for t in kinds))
        raise MixedArraysError(
            f"{rule.name} got arrays of {names}. Bring one side over first: x.to_cpu(), x.to_gpu(), "
            f"or af.Autodiff(array_type).put(x)."
        )


# ---------------------------------------------------------------- recording: from the call to the node


# Options that cannot hide an array, alone or in a tuple (a shape, axes, an index): they need no treatment.
SIMPLE = frozenset({type(None), int, bool, str, slice, type(...), float, type, np.int64, np.bool_})
MAY_CHANGE = (tuple, list, dict, np.ndarray)  # or hold what may
NO_OPTIONS: ByName = {}
FAULTS = (ValueError, IndexError, TypeError)  # what NumPy raises for operands that do not fit
FORWARD: dict[np.ufunc, Callable[..., Array]] = {}  # its quick closure, which does what apply() does: see closures.py


def apply(rule: Rule, args: Values, options: ByName = NO_OPTIONS) -> Array:
    """Compute ``rule.function(*args, **options)`` and record it: the general way, for every row and array type."""
    if "out" in options:
        options = dict(options)
        if (out := options.pop("out")) is not None:
            return later("write_out")(rule, args, options, out)
    inputs = rule.bind(args, options)
    if modes().autocast is not None:
        inputs = later("cast")(rule, inputs)
    if rule.single:
        x = inputs[0]
        if type(x) is Operation and hasattr(x, "_record"):
            return apply_one(rule, x, x._record, inputs)
        if type(x) is Variable and getattr(x, "_live", False):
            return apply_one(rule, x, x, inputs)
        if isinstance(x, NodeRole) and not hasattr(x, "_value") and (again := as_reshape_of_base(x)) is not None:
            return apply(rule, (again, *inputs[1:]))
    if rule.variadic:
        arrays = tuple(inputs[0])
        inputs, rule = (*arrays, *inputs[1:]), rule.of_arity(len(arrays))
    operands = gather(rule, inputs)
    if len(NODE_TYPES) > 1:
        if (batch := hidden_batch(operands.values)) is not None:
            return apply_batched(batch, rule, inputs, operands)
        one_family(rule, operands.values)
    result = call_explained(rule.compute, operands.values, rule, inputs, True)
    if type(result) not in NODE_TYPES:
        result = plain_array(result)
    return make_node(rule, result, inputs, operands)


def apply_one(rule: Rule, x: Array, parent: Holder, inputs: Values) -> Array:
    """The same for one array with a history, most often with plain options: ``x.mean(axis=0)``, ``x[1:]``, ``x.T``."""
    options = inputs[1:]
    for option in options:
        if type(option) not in SIMPLE and not (type(option) is tuple and SIMPLE.issuperset(map(type, option))):
            options = tuple([plain_option(v, rule, k) for k, v in enumerate(options, 1)])
            mutable = [k for k, v in enumerate(options, 1) if isinstance(v, MAY_CHANGE) or type(v) in NODE_TYPES]
            if mutable:
                operands = Operands([x._value, *options], [parent], {}, mutable)
                if len(NODE_TYPES) > 1 and (batch := hidden_batch(operands.values)) is not None:
                    return apply_batched(batch, rule, inputs, operands)
                result = call_explained(rule.compute, operands.values, rule, inputs)
                result = result if type(result) in NODE_TYPES else plain_array(result)
                return make_node(rule, result, inputs, operands)
            break
    return compute_one(rule, x, parent, options)


compute_one: Callable[..., Node] = written_out("""
def compute_one(rule, x, parent, options, depth=4):
    '''The same, where it is known that the options are simple: see SIMPLE. ``depth``: of the frame that called the
    method or NumPy's function.'''
    a = x._value
    try:
        result = rule.compute(a, *options)
    except FAULTS as error:
        explain_error(error, rule, (x, *options))
        raise
    if type(result) is not ndarray:
        result = np.asarray(result) if type(result) in REALS else plain_array(result)
    switches = modes()
    limit = switches.fast_path_limit
    if type(result) is not ndarray or a.size > limit or result.size > limit or result.dtype.kind not in "fc":
        return make_node(rule, result, (x, *options), ([a, *options], (parent,), {}, ()))
    <record (parent,) | (a, *options, result) | None>
    if rule.view and is_view_of(result, a):
        node = result.view(Operation if parent is x else View)
        node._view = (record, x) if release is None else view_link(record, x)
    else:
        node = result.view(Operation)
    set_flags(node, False)
    node._value = node._operand = result
    node._record = record
    return node
""", globals())  # fmt: skip


def call_explained(
    function: AnyFunction, values: Sequence[Any], rule: Rule, inputs: Values, is_row: bool = False
) -> Any:  # fmt: skip
    """``function(*values)``; a NumPy error says what the operands were. ``is_row``: it is what the row computes,
    of large arrays in blocks."""
    try:
        if is_row and rule.is_numpys_elementwise:
            for v in values:
                if type(v) is ndarray and v.size >= FROM:
                    return in_blocks(function, *values)
        return function(*values)
    except FAULTS as error:
        explain_error(error, rule, inputs)
        raise


def explain_error(error: BaseException, rule: Rule, inputs: Values) -> None:
    """Add the operands' names and shapes to a NumPy error."""
    from .naming import add_note

    add_note(error, rule.function, inputs[: rule.operands], inputs[rule.operands :])


def make_node(rule: Rule, result: Array, inputs: Values, operands: Operands) -> Array:
    """Make the node: a Constant if nothing is recorded, else an Operation with its record."""
    values, parents, constants, mutable = operands
    switches = modes()
    family = NODE_TYPES[type(result)]
    shared = rule.view and isinstance(inputs[0], NodeRole) and is_view_of(result, values[0])
    if not (switches.recording and any([p is not None for p in parents]) and result.dtype.kind in "fc"):
        if result.dtype.kind in WHY:
            plain_array(result)  # an error: objects, texts and dates have no derivative
        if shared and nodes.current_record(inputs[0]) is not None:  # no_grad: a write into it would be in no history
            node = nodes.locked_constant(result, inputs[0])
        else:
            node = nodes.constant_from(result, family)
            if shared:
                node._view = view_link(new_record(rule, (None,), (*values, result)), inputs[0])
        note_cut(node, parents, constants.values())
        return node
    node = on_memory(result, family.View if shared and not isinstance(inputs[0], VariableRole) else family.Operation)
    node._value = result
    if type(result) is not ndarray or result.size < FROM:
        node._operand = result
    node._record = new_record(rule, tuple(parents), (), depth=3)
    limit = switches.keep
    fingerprints: list[tuple[Array, bytes | None]] = []
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
    if constants or fingerprints or switches.scope:
        node._record.extra = Extras(constants, fingerprints, scope=switches.scope)
    if shared:
        node._view = view_link(node._record, inputs[0])
    if switches.listeners:
        announce_node(node)
    if switches.left:
        check_left()
    return node


def announce_node(node: NodeRole) -> None:
    """Call the listeners (hooks, anomaly mode, checkpointing) for the new ``node``. Operations that they record are not
    announced."""
    listeners = modes().listeners
    with switched(listeners=()):
        for listener in listeners:
            listener(node)


def is_view_of(result: Array, value: Array) -> bool:
    """Is ``result`` a view of ``value`` (a reshape may be a copy), or itself (squeeze, with nothing to squeeze)?"""
    base = result.base
    return result is value or (base is not None and (base is value or base is value.base))


def apply_batched(batch: Any, rule: Rule, inputs: Values, operands: Operands, compute: Any = None) -> Array:
    """The row on arrays that hide a batch (``batching/batched.py``). Nodes of an outer layer count as values here: what
    is done with them is recorded there. Without a node of the deepest layer the result is not a node."""
    values, *_, mutable = operands
    layer, is_held = batch.lift_operands(rule, inputs, operands)
    result = layer.run_row(rule, values, compute)
    if not is_held:
        return result
    mutable = [k for k in mutable if not hasattr(values[k], "batch_layer") or values[k].flags.writeable]  # no arguments
    return make_node(rule, value_of(result), inputs, operands._replace(mutable=mutable))
