"""Nodes: arrays that remember where they came from.

    Variable    a leaf we differentiate with respect to
    Constant    a leaf that stays fixed
    Operation   the result of a NumPy function on Variables; its record (``grad_fn``) says how to go back

Each is an ``ndarray``. Its numbers are in a plain array on the same memory, the slot ``_value``: all arithmetic is
done on that, and the result becomes a node in :func:`finish` (or in the quick closures of ``fast.py``, which write
out what it does for the calls that happen all the time). NumPy's three doors lead there: operators,
``__array_ufunc__`` (``np.exp(x)``) and ``__array_function__`` (``np.concatenate([x, y])``).

Reading order: :class:`NodeRole`, then :func:`apply` and :func:`finish`, then the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import display, memory
from .backends import FAMILIES, Family, array_type
from .errors import LOST, LostGradientError, MixedArraysError, NoRuleError
from .grads import checked_grad, read_grad
from .intake import leaf_array, plain_array
from .late import later
from .memory import Ghost
from .modes import modes
from .numbering import CONSTANT, VARIABLE, now
from .records import Record
from .rules import RULES
from .rules.outside import FRESH, PLAIN, WRITERS, advice
from .rules.table import COMPOSED, Rule

Array = Any
NUMBERS = frozenset({float, int, bool, complex, np.float64, np.float32, np.float16, np.complex128, np.complex64, np.int64, np.int32, np.bool_})  # noqa: E501
SIMPLE = frozenset({type(None), int, bool, str, slice, type(...), float, type})  # options that cannot hide an array
SLOTS = ("_count", "_grad", "_live", "_name", "_number", "_record", "_sent", "_value", "_view")
NO_OPTIONS: dict[str, Any] = {}


class NodeRole:
    """What the three kinds of node share. An array in every other respect."""

    __slots__ = ()
    __hash__ = object.__hash__  # by identity: a graph is made of objects, not of values
    family: Family
    _value: Array  # the plain array; node and plain array share their memory
    _record: Record  # of Operations
    _view: tuple[Any, Record]  # of basic views of other nodes: the node, and the record of taking the view

    @property
    def value(self) -> Array:
        """The numbers as a plain array, on the same memory. ``x.value = a`` overwrites them."""
        return value_of(self)

    @value.setter
    def value(self, new: Array) -> None:
        later("autoflow.inplace:set_value")(self, new)

    @property
    def name(self) -> str:
        """``var_0``, ``const_0``, ``add_0``, or what it was set to. A label, not a key: names may repeat."""
        record = record_of(self)
        if record is not None:
            return record.node_name
        return getattr(self, "_name", None) or f"{self._kind.name}_{self._count}"

    @name.setter
    def name(self, name: str | None) -> None:
        (record_of(self) or self)._name = name if name is None else str(name)

    _kind: Any = CONSTANT
    _number: int
    _count: int

    @property
    def requires_grad(self) -> bool:
        """Do gradients flow to this node?"""
        return record_of(self) is not None

    @property
    def grad_fn(self) -> Record | None:
        """How this value came about, called with its gradient what it sends to its operands; None for a leaf."""
        return record_of(self)

    @property
    def opmethod(self) -> str | None:
        """NumPy's name of the operation (``"multiply"``, ``"getitem"``); None for a leaf."""
        record = record_of(self)
        return None if record is None else record.rule.name

    @property
    def operands(self) -> tuple[Any, ...]:
        """The nodes this one was computed from, in order, repeats kept. Leaves are the same objects.

        >>> import autoflow as af
        >>> x = af.Variable(2.0, name="x")
        >>> (x - 1).operands
        (2.0  Variable x, 1.0  Constant 1)
        """
        record = record_of(self)
        return () if record is None else tuple([operand_node(record, k) for k in range(len(record.parents))])

    @property
    def noperands(self) -> int:
        """How many operands, repeats counted."""
        record = record_of(self)
        return 0 if record is None else len(record.parents)

    @property
    def grad(self) -> Array | None:
        """dL/d(this node), as the last backward pass left it: a plain array of this node's shape and dtype, or None."""
        return None

    def detach(self) -> Any:
        """The same numbers as a read-only Constant, on the same memory: gradients stop here."""
        value = value_of(self).view()
        value.flags.writeable = False
        return constant_on(value, self.family)

    def __array_ufunc__(self, ufunc: Any, method: str, x: Any, y: Any = None, /, *rest: Any, **options: Any) -> Any:
        """``np.exp(x)``, ``np.add(2.0, x)``, ``plain += x``, ``np.add.reduce(x)``."""
        # Positional parameters instead of *inputs save 0.1 µs, the quick closures another 0.5 over apply().
        if method == "__call__" and not options and not rest and (forward := FORWARD.get(ufunc)):
            return forward(x) if y is None else forward(x, y)
        inputs = (x, *rest) if y is None else (x, y, *rest)
        if method == "__call__" and ufunc in RULES:
            return apply(RULES[ufunc], inputs, options)
        if method == "at":
            raise NoRuleError(f"np.{ufunc.__name__}.at(x, i, y) is not recorded: use x[i] = ..., or {advice(ufunc)}")
        if ufunc in METHODS.get(method, ()):
            return METHODS[method][ufunc](*inputs, **{"axis": 0, **options})
        if method == "__call__" and ufunc in COMPOSED:
            return COMPOSED[ufunc](*inputs, **options)
        return without_rule(ufunc, getattr(ufunc, method), inputs, options, method)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """``np.sum(x, axis=0)``, ``np.concatenate([x, y])``."""
        if function in RULES:
            return apply(RULES[function], args, options)
        if function in COMPOSED:
            if options.get("out") is not None:
                return later("autoflow.inplace:write_composed")(function, args, options)
            return COMPOSED[function](*args, **options)
        if function in WRITERS:
            return later("autoflow.inplace:write_function")(function, args, options)
        return without_rule(function, function, args, options)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy computed without asking us is a plain array."""
        return array[()] if return_scalar else array

    def __iter__(self) -> Any:
        """Rows, recorded."""
        if not self.shape:  # type: ignore[attr-defined]
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))  # type: ignore[index, arg-type]

    __repr__ = display.node_repr
    __str__ = display.node_str
    __format__ = display.node_format


class VariableRole(NodeRole):
    """A leaf that we differentiate with respect to. After ``backward()``, look at ``grad``.

    value : numbers, lists, arrays, nodes; copied unless ``copy=False`` (then memory is shared, as an optimiser's
        writes will be). Integers and booleans become float64; floats and complex numbers keep their dtype.
    name : a label for pictures and messages.
    requires_grad : False freezes it: a Constant that can be thawed (``v.requires_grad = True``).

    Raises DataError for text, dates, objects, structured, masked and matrix data.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0], name="x")
    >>> (x * x).sum().backward()
    >>> x.grad
    array([2., 4.])
    """

    __slots__ = ()
    parents = ()  # a Variable is its own record, with nothing behind it
    _kind = VARIABLE
    _live: bool

    def __new__(
        cls, value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True, requires_grad: bool = True
    ) -> Any:
        array = leaf_array(value, dtype, copy, inexact=True)
        self = leaf(cls, array, name)
        self._live = bool(requires_grad)
        return self

    @classmethod
    def create_node(cls, value: Any, name: str | None = None) -> Any:
        """The same as ``Variable(value, name)``."""
        return cls(value, name)

    @property
    def requires_grad(self) -> bool:
        """Do gradients flow to this Variable? Set it to False to freeze it."""
        return self._live

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._live = bool(on)

    @property
    def grad(self) -> Array | None:
        """dL/dv summed over the backward passes since ``zero_grad()``: a plain array of v's shape and dtype, or None."""
        return read_grad(self, value_of(self).dtype)

    @grad.setter
    def grad(self, g: Array | None) -> None:
        self._sent, self._grad = None, checked_grad(self, g)

    _sent: Any
    _grad: Any


class ConstantRole(NodeRole):
    """A leaf that stays fixed: data, targets, hyperparameters. Arguments as for Variable; every dtype is kept.

    A Constant may be written into (``a[i] = node``): it is an Operation from then on.
    """

    __slots__ = ()

    def __new__(cls, value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True) -> Any:
        return leaf(cls, leaf_array(value, dtype, copy, inexact=False), name)

    @classmethod
    def create_node(cls, value: Any, name: str | None = None) -> Any:
        """The same as ``Constant(value, name)``."""
        return cls(value, name)


class OperationRole(NodeRole):
    """The result of a recorded operation. NumPy functions on Variables make it; so does :meth:`create_node`."""

    __slots__ = ()

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise TypeError("an Operation is made by computing with Variables, or by Operation.create_node(result, name, x)")

    @classmethod
    def create_node(
        cls, result: Any, opmethod: str, operand_a: Any, operand_b: Any = None, operand_c: Any = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """An Operation with a value that you computed yourself.

        The rule is the table's row called ``opmethod``; if there is none, set one: ``node.grad_fn = f``, where
        ``f(g)`` returns what is sent to each operand.

        >>> import autoflow as af
        >>> x = af.Variable(3.0)
        >>> z = af.Operation.create_node(9.0, "my_square", x)
        >>> z.grad_fn = lambda g: g * 2 * x.value
        >>> z.backward()
        >>> x.grad
        array(6.)
        """
        return later("autoflow.function:create_operation")(result, opmethod, (operand_a, operand_b, operand_c), name)

    @property
    def grad_fn(self) -> Record | None:
        """How this value came about, called with its gradient what it sends to its operands."""
        return record_of(self)

    @grad_fn.setter
    def grad_fn(self, f: Any) -> None:
        later("autoflow.function:set_grad_fn")(self, f)

    @property
    def grad(self) -> Array | None:
        """dL/d(this node) of the last backward pass that reached it, or None. See ``keep_grads`` of ``backward``."""
        record = record_of(self)
        return read_grad(record, record.dtype) if record is not None else None

    @grad.setter
    def grad(self, g: Array | None) -> None:
        record = record_of(self)
        if record is not None:
            record._sent, record._grad = None, checked_grad(self, g)


class ViewRole(OperationRole):
    """A basic view (slice, transpose, reshape) of an Operation that may be written into: it looks up what happened."""

    __slots__ = ()


ROLES = {"Node": NodeRole, "Variable": VariableRole, "Constant": ConstantRole, "Operation": OperationRole, "View": ViewRole}
NUMPY = Family(np.ndarray, ROLES, SLOTS)
Node, Variable, Constant, Operation, View = NUMPY.Node, NUMPY.Variable, NUMPY.Constant, NUMPY.Operation, NUMPY.View
FORWARD: dict[Any, Any] = {}  # ufunc -> its quick closure; filled by fast.py
METHODS: dict[str, dict[Any, Any]] = {  # ufunc methods that are functions with rows
    "reduce": {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min},
    "accumulate": {np.add: np.cumsum, np.multiply: np.cumprod},
}


def leaf(cls: Any, array: Array, name: str | None) -> Any:
    """A Variable or Constant around ``array``, of the family of its array type."""
    family = FAMILIES[type(array)]
    if cls.family is not family:
        cls = getattr(family, cls.__name__)
    node = array.view(cls)
    node._value, node._name, node._number, node._count = array, name and str(name), now(), node._kind.tick()
    return node


def constant_on(array: Array, family: Family = NUMPY) -> Any:
    """``array`` itself as a Constant."""
    node = array.view(family.Constant)
    node._value, node._name, node._number, node._count = array, None, now(), CONSTANT.tick()
    return node


def value_of(x: Any) -> Any:
    """The plain array under a node, also inside tuples, lists and slices; anything else unchanged."""
    if isinstance(x, NodeRole):
        return x._value if hasattr(x, "_value") else x.view(x.family.array_type)  # type: ignore[attr-defined]
    if type(x) in (tuple, list):
        return type(x)([value_of(v) for v in x])
    return slice(value_of(x.start), value_of(x.stop), value_of(x.step)) if type(x) is slice else x


def record_of(x: Any) -> Any:
    """The record of a node as it is now, None for a leaf. A view's is made anew when its base was written into."""
    chain = []
    while (view := getattr(x, "_view", None)) is not None and not isinstance(view[0], VariableRole):
        chain.append(x)
        x = view[0]
    record = x._record if isinstance(x, OperationRole) else None
    for node in reversed(chain):
        base, taken = node._view
        if taken.parents[0] is not record:  # the base has changed since: take the view again
            node.__class__ = node.family.Constant if record is None else node.family.View
            node._record = new_record(taken.rule, (record,), (Ghost(base._value), *taken.saved[1:]))
            node._view = base, node._record
        record = node._record if isinstance(node, OperationRole) else None
    return record


def source_of(x: Any) -> Any:
    """What a gradient of ``x`` flows to: a Variable itself, the record of an Operation; None where nothing flows."""
    if isinstance(x, VariableRole):
        return x if x._live else None
    return record_of(x) if isinstance(x, NodeRole) else None


def new_record(
    rule: Rule, parents: tuple[Any, ...], saved: tuple[Any, ...], extra: dict[str, Any] | None = None
) -> Record:
    """A record, made now."""
    record = Record()
    record.rule, record.parents, record.saved, record.extra = rule, parents, saved, extra
    record.number, record.count = now(), rule.tick()
    return record


def node_on(value: Array, record: Record) -> Any:
    """An Operation that shows ``value`` and has that record."""
    node = value.view(FAMILIES[type(value)].Operation)
    node._value, node._record = value, record
    return node


def operand_node(record: Record, k: int) -> Any:
    """The record's k-th operand as a node: the leaf itself, or an array on the values that were kept (else NaN)."""
    parent = record.parents[k]
    if isinstance(parent, VariableRole):
        return parent
    if parent is not None:
        value = parent.value
        if value is None:
            value = np.full((), np.nan if parent.dtype.kind in "fc" else 0, parent.dtype)
            value = np.broadcast_to(value, parent.shape)
        return node_on(value, parent)
    constants = record.extra.setdefault("constants", {}) if record.extra is not None else {}
    if k not in constants:
        x = record.saved[k]
        name = display.literal(x)
        if type(x) is Ghost:
            x = x.reference()
        if x is None or memory.overwritten(x, record.number - 1):  # not kept, or written into since
            x = np.broadcast_to(np.full((), np.nan), record.saved[k].shape)
        constants[k] = constant_on(np.asarray(x))
        constants[k].name = name
        record.extra = {**(record.extra or {}), "constants": constants}
    return constants[k]


def operand(x: Any) -> tuple[Any, Any, Any, bool]:
    """What an operation needs of ``x``: its value, its record (None: no gradient), the leaf to show in pictures
    if it is none that gradients flow to, and whether to keep a copy: plain memory may change without our knowing,
    and of small views a copy costs less than to ask later."""
    kind = type(x)
    if isinstance(x, NodeRole):
        if not hasattr(x, "_value"):
            raise orphan(x)
        if kind is Operation or (kind is View and x._record.number > memory.latest):  # no write since: it is current
            return x._value, x._record, None, kind is View and x._value.nbytes <= memory.COPY_BYTES
        record = source_of(x)
        small_view = getattr(x, "_view", None) is not None and x._value.nbytes <= memory.COPY_BYTES
        return x._value, record, (x if record is None else None), small_view
    if type(x) in NUMBERS or x is None:
        return x, None, None, False
    return plain_array(x), None, None, True


def orphan(x: Any) -> LostGradientError:
    """NumPy made this array from a node in C: its history is unknown."""
    return LostGradientError(
        f"NumPy made this {type(x).__name__} of shape {x.shape} from a node without telling us (np.array(node, "
        f"subok=True) does), so its history is lost. Use the node itself, or np.array(x) for a plain copy."
    )


def apply(rule: Rule, args: tuple[Any, ...], options: dict[str, Any] = NO_OPTIONS) -> Any:
    """Compute ``rule.function(*args, **options)`` and record it: the general way, for every row and array type."""
    if "out" in options:
        options = dict(options)
        if (out := options.pop("out")) is not None:
            return later("autoflow.inplace:write_out")(rule, args, options, out)
    inputs = rule.bind(args, options)
    if rule.operands == 1 and not rule.variadic:
        x = inputs[0]
        if type(x) is Operation and hasattr(x, "_record"):
            return apply_one(rule, x, x._record, inputs)
        if type(x) is Variable and x._live:
            return apply_one(rule, x, x, inputs)
    if rule.variadic:
        arrays = tuple(inputs[0])
        inputs, rule = (*arrays, *inputs[1:]), rule.of_arity(len(arrays))
    n = rule.operands
    values: list[Any] = []
    parents: list[Any] = []
    constants: dict[int, Any] = {}
    unsafe: list[int] = []
    for k in range(n):
        value, record, shown, risky = operand(inputs[k])
        values.append(value)
        parents.append(record)
        if shown is not None:
            constants[k] = shown
        if risky:
            unsafe.append(k)
    for k in range(n, len(inputs)):
        option = inputs[k]
        if type(option) not in SIMPLE:
            option = plain_option(option)
            if isinstance(option, (np.ndarray, tuple, list)):
                unsafe.append(k)
        values.append(option)
    if len(FAMILIES) > 1:
        one_family(rule, values[:n])
    result = rule.compute(*values)
    if type(result) not in FAMILIES:
        result = plain_array(result)
    return finish(rule, result, inputs, values, tuple(parents), constants, unsafe)


def apply_one(rule: Rule, x: Any, parent: Any, inputs: tuple[Any, ...]) -> Any:
    """The same for one array with a history, most often with plain options: ``x.sum(axis=0)``, ``x[1:]``, ``x.T``."""
    a = x._value
    unsafe: Any = ()
    if len(inputs) == 1:
        values = [a]
    else:
        values = [a, *inputs[1:]]
        for k in range(1, len(values)):
            if type(values[k]) not in SIMPLE:
                values[k] = plain_option(values[k])
                if isinstance(values[k], (np.ndarray, tuple, list)):
                    unsafe = (*unsafe, k)
    result = rule.compute(*values)
    if type(result) is not np.ndarray:
        result = result if type(result) in FAMILIES else plain_array(result)
    limit = modes().limit
    if unsafe or a.size > limit or result.size > limit or result.dtype.kind not in "fc":
        return finish(rule, result, inputs, values, (parent,), {}, unsafe)
    record = Record()
    record.rule = rule
    record.parents = (parent,)
    record.saved = (*values, result)
    record.number = now()
    record.count = rule.tick()
    record.extra = None
    if rule.view and shares(result, a):
        node = result.view(Operation if parent is x else View)
        node._view = x, record
    else:
        node = result.view(Operation)
    node._value = result
    node._record = record
    return node


def finish(
    rule: Rule, result: Array, inputs: Any, values: list[Any], parents: tuple[Any, ...],
    constants: dict[int, Any], unsafe: Any,
) -> Any:  # fmt: skip
    """Make the node: a Constant if nothing is recorded, else an Operation with its record."""
    switches = modes()
    family = FAMILIES[type(result)]
    shared = rule.view and isinstance(inputs[0], NodeRole) and shares(result, values[0])
    if not (switches.recording and any([p is not None for p in parents]) and result.dtype.kind in "fc"):
        node = constant_on(result, family)
        if shared:
            node._view = inputs[0], new_record(rule, (record_of(inputs[0]),), (*values, result))
        return node
    node = result.view(family.View if shared and not isinstance(inputs[0], VariableRole) else family.Operation)
    node._value, node._record = result, new_record(rule, parents, ())
    limit = switches.keep
    prints: list[tuple[Array, bytes]] = []
    if unsafe or result.size > limit or not rule.elementwise:  # else all is small: keep it, needed or not
        needed = rule.keeps(tuple([p is not None for p in parents]))
        for k in unsafe:
            values[k] = secure(values[k], k in needed, prints)
        for k in range(rule.operands):
            if k not in needed and type(values[k]) in FAMILIES and values[k].size > limit:
                values[k] = Ghost(values[k])
        if result.size > limit and len(rule.names) not in needed:
            result = Ghost(result)
    node._record.saved = (*values, result)
    if constants or prints:
        node._record.extra = {"constants": constants, "prints": prints}
    if shared:
        node._view = inputs[0], node._record
    return node


def secure(value: Any, needed: bool, prints: list[Any]) -> Any:
    """A value that may change without our knowing, so that it cannot harm us: copied, or watched, or let go."""
    if isinstance(value, (tuple, list)):
        return type(value)([secure(v, True, prints) if isinstance(v, (np.ndarray, list)) else v for v in value])
    if not isinstance(value, np.ndarray):
        return value
    if value.nbytes > memory.COPY_BYTES and not needed:
        return Ghost(value)
    value, mark = memory.protect(value)
    if mark is not None:
        prints.append((value, mark))
    return value


def shares(result: Array, value: Array) -> bool:
    """Is ``result`` a view of ``value`` (a reshape may be a copy)?"""
    base = result.base
    return base is not None and (base is value or base is value.base)


def plain_option(option: Any) -> Any:
    """An option without nodes in it: indices may be nodes, also inside tuples and lists."""
    option = value_of(option)
    if type(option) is np.ndarray and not option.ndim and option.dtype.kind in "iu":
        return int(option)
    return option


def one_family(rule: Rule, values: list[Any]) -> None:
    """Arrays of two libraries do not mix."""
    found = {array_type(v) for v in values if array_type(v) is not None}
    if len(found) > 1:
        names = " and ".join(sorted(f"{t.__module__}.{t.__name__}" for t in found if t))
        raise MixedArraysError(f"{rule.name} got arrays of {names}. Move one side first: x.to_gpu() or x.to_cpu().")


def without_rule(function: Any, call: Any, args: Any, options: Any, method: str = "") -> Any:
    """Answer for a function that has no row: the plain result where that is right, else say so."""
    if function in FRESH:
        return constant_on(call(*value_of(args), **{k: value_of(v) for k, v in options.items()}))
    if function in PLAIN and method in ("", "__call__"):
        return call(*value_of(args), **{k: value_of(v) for k, v in options.items()})
    name = getattr(function, "__name__", str(function)) + ("." + method if method not in ("", "__call__") else "")
    raise NoRuleError(f"np.{name} of a node is not differentiated: {advice(function)}")


def lost(what: str) -> LostGradientError:
    """A LostGradientError with the list of causes."""
    return LostGradientError(f"{what}\n{LOST}")
