"""Nodes: arrays that remember where they came from.

    Variable    a leaf we differentiate with respect to
    Constant    a leaf that stays fixed
    Operation   the result of a NumPy function on Variables; its record (``grad_fn``) says how to go back

Each is an ``ndarray``. Its numbers are also in a plain array on the same memory, the slot ``_value``: arithmetic is
done on that, and ``forward/recording.py`` wraps the result. This file holds what a node is and shows, and how one is
made; operators come from ``forward/operators.py``, array methods from ``forward/array_methods.py``, NumPy's hooks from
``forward/dispatch.py``.

The classes below are *roles*: the methods without the array. ``backends/registry.py`` joins each with an array type,
NumPy's here, so that ``class Variable`` is ``VariableRole`` on top of ``numpy.ndarray``.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ..backends.registry import NODE_TYPES, NodeTypes, view_as
from ..base import spellings
from ..base.errors import InPlaceError
from ..base.lazy import later
from ..base.modes import TRUE, modes
from ..base.numbering import CONSTANT, VARIABLE, now
from ..base.types import AnyFunction as AnyFunction, Array as Array, ByName as ByName, DTypeLike, Values as Values
from ..program.callers import READERS, getframe, wants_numbers
from ..program.places import Activation, enter, here
from ..table.blocks import FROM
from ..table.shapes import without_history
from ..table.table import Rule
from . import printing, versions
from .coercion import leaf_array, refuse_reader
from .cuts import cut_here
from .grads import checked_grad, read_grad, refuse_missing_grad
from .records import Extras, Holder as Holder, Record, extend
from .versions import NEW, FreedArray, view_link

if TYPE_CHECKING:
    from ..forward.array_methods import ArrayMethods
    from ..forward.node_methods import NodeMethods, Protocol, VariableMethods
    from ..forward.operators import Operators

MaybeNone: TypeAlias = Any  # of what is None before a pass: a checker that asked for that would ask in every line
SLOTS = (
    "_count", "_cut", "_lent", "_live", "_name", "_number", "_operand", "_place", "_raw_grad", "_record", "_shown_grad",
    "_value", "_view",
)  # fmt: skip

# For nodes that may have a history. pandas leaves np.add(series, node) to them; and where NumPy asks nobody, in
# plain.dot(node), it makes an array of their class, which is refused where it is used. (A Series has 1000.)
PRIORITY = 5000.0


class NodeRole:
    """The common part of the three kinds of node. In every other respect a node is an array.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0], name="x")
    >>> isinstance(x, af.Node), isinstance(x, np.ndarray), x.shape
    (True, True, (2,))
    """

    __slots__ = ()
    __hash__ = object.__hash__  # by identity: a graph is made of objects, not of values
    takes_primitives = True  # our functions ask us, as NumPy's do: table/table.py
    family: NodeTypes
    _value: Array  # the plain array; node and plain array share their memory
    # For Operations: what arithmetic reads, the plain array or, if 0-d float64, the number in it. Empty if the array
    # is large, so that the fast path leaves it to the general one, which knows blocks and threads.
    _operand: Any
    _record: Record  # of Operations
    _lent: bool  # of Constants on memory that may be the user's
    _view: tuple[Record, Node]  # of basic views of other nodes: the record of taking the view, and the node. In that
    # order: a tuple is freed from its end, see versions.py

    @property
    def value(self) -> np.ndarray:
        """The numbers as a plain array on the same memory; read-only for operations and constants, because derivatives
        may need them. ``x.value = a`` overwrites them, and derivatives that need the old ones notice."""
        if (caller := getframe(1).f_globals.get("__name__")) in READERS:
            refuse_reader(caller, self, self.requires_grad)
        value: np.ndarray = value_of(self)
        return value if isinstance(self, VariableRole) and type(value) is np.ndarray else read_only(value)

    @value.setter
    def value(self, new: object) -> None:
        later("set_value")(self, new)

    @property
    def name(self) -> str:
        """``var_0``, ``const_0``, ``add_0``, or what it was set to. A label, not a key: names may repeat."""
        record: Record | None = current_record(self)
        if record is not None:
            return record.node_name
        return getattr(self, "_name", None) or f"{self._kind.name}_{getattr(self, '_count', '?')}"

    @name.setter
    def name(self, name: str | None) -> None:
        holder: Any = current_record(self) or self
        holder._name = name if name is None else str(name)

    _kind = CONSTANT
    _number: int
    _count: int

    @property
    def number(self) -> int:
        """The creation number: the later made, the larger. Never reset."""
        record = current_record(self)
        return getattr(self, "_number", -1) if record is None else record.number

    @property
    def requires_grad(self) -> bool:
        """Do gradients flow to this node?"""
        return current_record(self) is not None

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        raise AttributeError(
            f"{self.name}.requires_grad follows from what it was computed from; only a Variable's can be set. To stop "
            f"gradients here: x.detach(), or compute under af.no_grad(). To start from here: af.Variable(x)."
        )

    @property
    def grad_fn(self) -> Record | MaybeNone:
        """How this value was made: its record, None for a leaf. Called with a gradient, it returns the contribution to
        each operand."""
        return current_record(self)

    @property
    def opmethod(self) -> str | None:
        """NumPy's name of the operation (``"multiply"``, ``"getitem"``); None for a leaf."""
        record = current_record(self)
        return None if record is None else record.rule.name

    @property
    def operands(self) -> tuple[Node, ...]:
        """The nodes this one was computed from, in order, repeats kept. Leaves are the same objects.

        >>> import autoflow as af
        >>> x = af.Variable(2.0, name="x")
        >>> (x - 1).operands
        (2.0  Variable x, 1.0  Constant 1)
        """
        record = current_record(self)
        return () if record is None else tuple([operand_node(record, k) for k in places_of_operands(record)])

    @property
    def noperands(self) -> int:
        """How many operands, repeats counted."""
        record = current_record(self)
        return 0 if record is None else len(places_of_operands(record))

    @property
    def grad(self) -> np.ndarray | MaybeNone:
        """dL/d(this node), as the last backward pass left it: a plain array of this node's shape and dtype, or None."""
        refuse_missing_grad(self, getframe(1))
        return None

    def detach(self) -> Constant:
        """The same numbers as a read-only Constant, on the same memory: gradients stop here.

        >>> import autoflow as af
        >>> x = af.Variable(3.0, name="x")
        >>> (x * x.detach()).backward()  # the derivative of 3x
        >>> x.grad
        array(3.)
        """
        node = locked_constant(value_of(self), self)
        node._cut = cut_here("detached")
        return node

    def __array_wrap__(self, array: Array, context: object = None, return_scalar: bool = False) -> Array:
        """A result that NumPy computed without asking us is a plain array."""
        return array[()] if return_scalar else array

    def __iter__(self) -> Iterator[Node]:
        """Rows, recorded."""
        if not self.shape:  # type: ignore[attr-defined]
            raise TypeError("iteration over a 0-d array")
        if wants_numbers(getframe(1).f_globals.get("__name__")):
            return iter(memory_of(self))
        return (self[i] for i in range(len(self)))  # type: ignore[index, arg-type]

    __repr__ = printing.node_repr
    __str__ = printing.node_str
    __format__ = printing.node_format


class VariableRole(NodeRole):
    """A leaf that we differentiate with respect to. After ``backward()``, look at ``grad``.

    value : numbers, lists, arrays, nodes; copied unless ``copy=False`` (then memory is shared, as an optimiser's
        writes will be). Integers and booleans become float64; floats and complex numbers keep their dtype.
    name : a label for pictures and messages.
    requires_grad : False freezes it: it is then constant until ``v.requires_grad = True``.

    Raises DataError for text, dates, objects, structured, masked and matrix data.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0], name="x")
    >>> (x * x).sum().backward()
    >>> x.grad
    array([2., 4.])
    """

    __slots__ = ()
    __array_priority__ = PRIORITY
    parents = ()  # a Variable is its own record, with nothing behind it
    _kind = VARIABLE
    _cut: Any  # if it is frozen, where that was done: cuts.py
    _live: Any  # do gradients flow to it? ARGUMENT: they do, and it stands for an argument of a transform

    def __new__(
        cls, value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True, requires_grad: bool = True
    ) -> Self:
        array = leaf_array(value, dtype, copy, True)
        if (layer := modes().layer) is not None:  # under af.vmap each example has a Variable of its own
            array = layer.lifted(array)
        self = leaf(cls, array, name)
        self._live = bool(requires_grad)
        self._raw_grad = self._shown_grad = None  # reading an unset slot raises AttributeError: 0.4 µs
        return self

    @classmethod
    def create_node(cls, value: Any, name: str | None = None) -> Self:
        """The same as ``Variable(value, name)``."""
        return cls(value, name)

    @property
    def requires_grad(self) -> bool:
        """Do gradients flow to this Variable? Set it to False to freeze it."""
        return bool(getattr(self, "_live", False))

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._live, self._cut = bool(on), None if on else cut_here("frozen", self.name)

    @property
    def grad(self) -> np.ndarray | MaybeNone:
        """dL/dv summed over the passes since ``zero_grad()``: a plain array of v's shape and dtype, or None."""
        if (g := read_grad(self, self.dtype)) is None:  # type: ignore[attr-defined]
            refuse_missing_grad(self, getframe(1))
        return g

    @grad.setter
    def grad(self, g: Array) -> None:
        self._raw_grad, self._shown_grad = None, checked_grad(self, g)

    _raw_grad: Any
    _shown_grad: Any


class ConstantRole(NodeRole):
    """A leaf that stays fixed: data, targets, hyperparameters. Arguments as for Variable; every dtype is kept.

    A Constant may be written into (``a[i] = node``); it is then an Operation.

    >>> import autoflow as af
    >>> af.Constant([1, 2], name="labels")
    [1, 2]  Constant labels int64
    """

    __slots__ = ()

    def __new__(cls, value: Any, name: str | None = None, *, dtype: DTypeLike = None, copy: bool = True) -> Self:
        self = leaf(cls, array := leaf_array(value, dtype, copy, False), name)
        if not copy and type(array) is np.ndarray:
            self._lent = True
        if isinstance(value, NodeRole) and value.requires_grad:
            self._cut = cut_here("wrapped")
        return self

    @classmethod
    def create_node(cls, value: Any, name: str | None = None) -> Self:
        """The same as ``Constant(value, name)``."""
        return cls(value, name)


class OperationRole(NodeRole):
    """The result of a recorded operation. NumPy functions on Variables make it; so does :meth:`create_node`.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> z = x * 2
    >>> z.opmethod, z.operands, z.grad_fn
    ('multiply', (3.0  Variable x, 2.0  Constant 2), <multiply_backward of multiply_0>)
    """

    __slots__ = ()
    __array_priority__ = PRIORITY

    def __new__(cls, *_: object, **__: object) -> Self:
        raise TypeError(
            "an Operation is made by computing with Variables, or by Operation.create_node(result, name, x)"
        )

    @classmethod
    def create_node(
        cls, result: object, opmethod: str, operand_a: object, operand_b: object = None, operand_c: object = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        """An Operation with a value that you computed yourself.

        The rule is the table's row called ``opmethod``; if the table has no such row, set a rule: ``node.grad_fn = f``,
        where ``f(g)`` returns the contribution to each operand. Raises DataError for a value that cannot be a
        Variable's.

        >>> import autoflow as af
        >>> x = af.Variable(3.0)
        >>> z = af.Operation.create_node(9.0, "my_square", x)
        >>> z.grad_fn = lambda g: g * 2 * x.value
        >>> z.backward()
        >>> x.grad
        array(6.)
        """
        make = later("create_operation")
        return make(result, opmethod, (operand_a, operand_b, operand_c), name)

    @property
    def grad_fn(self) -> Record | MaybeNone:
        """The record of how this value was made. Called with a gradient, it returns the contribution to each
        operand."""
        return current_record(self)

    @grad_fn.setter
    def grad_fn(self, f: AnyFunction) -> None:
        later("set_grad_fn")(self, f)

    @property
    def grad(self) -> np.ndarray | MaybeNone:
        """dL/d(this node) of the last backward pass that reached it, or None. See ``keep_grads`` of ``backward``."""
        record = current_record(self)
        g = read_grad(record, record.dtype) if record is not None else None
        if g is None:
            refuse_missing_grad(self, getframe(1))
        return g

    @grad.setter
    def grad(self, g: Array) -> None:
        record = current_record(self)
        if record is not None:
            record._raw_grad, record._shown_grad = None, checked_grad(self, g)


class ViewRole(OperationRole):
    """A basic view (slice, transpose, reshape) of an Operation; it notices when its base has been written into."""

    __slots__ = ()


KINDS = NodeRole, VariableRole, ConstantRole, OperationRole, ViewRole
ROLES = {role.__name__.removesuffix("Role"): role for role in KINDS}


def named_as(name: str, owner: type) -> None:
    """Let Python's messages about the methods of ``owner`` say ``name``, which users know."""
    for member in vars(owner).values():
        function = getattr(member, "__func__", member)  # of a class method or static method
        if isinstance(function, FunctionType):
            function.__qualname__ = function.__qualname__.replace(owner.__name__, name, 1)


for name, role in ROLES.items():
    named_as(name, role)
NUMPY = NodeTypes(np.ndarray, ROLES, SLOTS)
NUMPY.from_numpy = NUMPY.to_numpy = lambda array: array
spellings.install(NUMPY.Node, "x")  # not the role: arrays that pretend have names of their own
if TYPE_CHECKING:
    # The same for editors and checkers of types, with the methods that ``forward`` installs. Where our types and
    # the array's differ (they do: a sum is a Node), ours hold.
    class Node(NodeRole, Operators, ArrayMethods, NodeMethods, Protocol, np.ndarray): ...  # type: ignore[misc]

    class Variable(VariableRole, VariableMethods, Node): ...  # type: ignore[misc]

    class Constant(ConstantRole, Node): ...  # type: ignore[misc]

    class Operation(OperationRole, Node): ...  # type: ignore[misc]

    class View(ViewRole, Operation): ...  # type: ignore[misc]
else:
    Node, Variable, Constant, Operation, View = NUMPY.Node, NUMPY.Variable, NUMPY.Constant, NUMPY.Operation, NUMPY.View


ARGUMENT = "argument"
set_flags: AnyFunction = np.ndarray.setflags  # called on nodes: set_flags(node, False) is write=False
may_overlap: Any = np.may_share_memory  # whose types know only two values of max_work since NumPy 2.4


def on_memory(array: Array, cls: Any) -> Array:
    """``array`` as a node of that class. The memory is then read-only for all but the node. (In a proof it is memory of
    its own, with other numbers, unless nothing is lost when they are read: those of a Constant.)"""
    if modes().shadow:
        own, array = array, shadow_of(array, TRUE) if issubclass(cls, ConstantRole) else shadow_of(array)
        if own is not array:
            key, views = id(array), modes().shown.setdefault(id(versions.owner_of(own)), {})
            views[key] = own, weakref.ref(array, lambda _: views.pop(key, None))
    node = array.view(cls)
    if cls.family is NUMPY:
        set_flags(node, False)
    return node


def show_writing(array: Array) -> None:
    """Let all that nodes show of this memory, into which a node is written, have other numbers, as the node has."""
    for own, reference in [*modes().shown.get(id(versions.owner_of(array)), {}).values()]:
        if (shadow := reference()) is not None and may_overlap(own, array, max_work=1000):
            np.copyto(shadow, shadow_of(own))


def shadow_of(array: Array, n: int = 0) -> Array:
    """What nodes show in their memory while ``modes().shadow`` is n (see ``transforms/shadow.py``). 1: their numbers,
    in memory of their own. More: others of the same signs and in the same order, changed by 2**-n of their size and, as
    ratios have to change too, the larger ones by up to half as much again."""
    family = NODE_TYPES.get(type(array))
    if family is None or not family.has_numbers or array.dtype.kind not in "fc":
        return array
    n = n or modes().shadow
    if n == TRUE:
        return array.copy(order="K")
    step = 2.0**-n
    if type(array) is np.ndarray and not array.ndim and array.dtype == float:  # as below, in a fifth of the time
        x = array.item()
        return np.asarray(x * (-step / 2 / (1 + abs(x)) + (1 + 1.5 * step)) if x else step / 2)
    return other_numbers(array, step)


@np.errstate(all="ignore")
def other_numbers(array: Array, step: float) -> Array:
    """The numbers of :func:`shadow_of`. A run with them makes them for each operation, so it is six calls of NumPy."""
    size = np.absolute(array)[...]  # an array, where NumPy gives a number
    one, change, most = scales(size.dtype, step) if type(size) is np.ndarray else (1, -step / 2, 1 + 1.5 * step)
    factor = np.add(size, one)[...]
    np.divide(change, factor, factor)
    np.add(factor, most, factor)
    shadow = np.multiply(array, factor, out=np.empty_like(array))
    if np.count_nonzero(array) < array.size:
        zero = array == 0
        np.copyto(size, step, where=zero)
        np.copyto(shadow, min(max(float(size.min()) / 2, step / 2**13), step), where=zero)
    return shadow


@cache
def scales(dtype: np.dtype, step: float) -> list[Array]:
    """The numbers in it as arrays, which NumPy reads faster than Python's numbers."""
    return [np.asarray(x, dtype) for x in (1, -step / 2, 1 + 1.5 * step)]


def leaf(cls: Any, array: Array, name: str | None) -> Array:
    """A Variable or Constant around ``array``, of the family of its array type."""
    family = NODE_TYPES[type(array)]
    if cls.family is not family:
        if family is NUMPY:  # AF.Variable([1.0, 2.0]) of another library
            array, family = cls.family.from_numpy(array), cls.family
        cls = getattr(family, cls.__name__)
    node = on_memory(array, cls) if family is NUMPY or modes().shadow else view_as(array, cls)
    node._value = array
    node._name = name and str(name)
    node._number = now()
    node._count = cls._kind.tick()
    if modes().source:
        frame = getframe(2)
        if type(place := frame.f_trace) is Activation:
            last = frame.f_lasti
        else:
            place, last = enter(frame)
        node._place = place, last, place.count(last) if type(place) is Activation else 0
    return node


def is_lent(x: Any) -> bool:
    """Can the memory of ``x`` change without our seeing it, because the Constant that it views was made with
    ``copy=False``? (Variables are not checked: they belong to the fast path, which has no time for it.)"""
    while (view := getattr(x, "_view", None)) is not None:
        x = view[1]
    return hasattr(x, "_lent")


def constant_from(array: Array, family: NodeTypes | None = None) -> Array:
    """``array`` itself as a Constant."""
    node = on_memory(array, (family or NODE_TYPES[type(array)]).Constant)
    node._value, node._name, node._number, node._count = array, None, now(), CONSTANT.tick()
    return node


def locked_constant(array: Array, x: Array) -> Array:
    """``array``, in the memory of the node ``x``, as a Constant that cannot be written into."""
    node = constant_from(read_only(array), x.family)
    if is_lent(x):
        node._lent = True
    return node


def value_of(x: Any) -> Any:
    """The plain array under a node, also inside tuples, lists and slices; anything else unchanged."""
    if isinstance(x, NodeRole):
        return x._value if hasattr(x, "_value") else plain_view(x)
    if type(x) in (tuple, list):
        return type(x)([value_of(v) for v in x])
    if type(x) is slice and not {type(x.start), type(x.stop), type(x.step)} <= {int, type(None)}:
        return slice(value_of(x.start), value_of(x.stop), value_of(x.step))
    return x


def read_only(value: Array) -> Array:
    """A view that cannot be written into. (Arrays of other libraries have no such flag: the array itself; those that
    hide a batch, without what nodes outside of the batch remember.)"""
    if type(value) is not np.ndarray:
        return without_history(value)
    view = value.view()
    set_flags(view, False)
    return view


def plain_view(x: Array) -> Array:
    """The memory of a node as code sees it that reads it directly: read-only, and in a proof with other numbers."""
    return x.family.array_type.view(x, x.family.array_type)


def memory_of(x: Any) -> Any:
    """As :func:`value_of`, but nodes with a gradient, and in a proof all nodes, give :func:`plain_view`, as code that
    reads their memory directly sees them."""
    if isinstance(x, NodeRole):
        return plain_view(x) if x.requires_grad or modes().shadow else value_of(x)
    return type(x)([memory_of(v) for v in x]) if type(x) in (list, tuple) else x


def current_record(x: Any) -> Record | MaybeNone:
    """The record of a node as it is now, None for a leaf. A view gets a new one if its base has been written into."""
    if type(x) is Operation:
        return getattr(x, "_record", None)
    if isinstance(x, ConstantRole) and getattr(x, "_number", -1) > versions.latest[0]:
        return None  # nothing has been written since it was made
    chain = []
    while (view := getattr(x, "_view", None)) is not None and not isinstance(view[1], VariableRole):
        chain.append(x)
        x = view[1]
    record = getattr(x, "_record", None) if isinstance(x, OperationRole) else None
    for node in reversed(chain):
        how, base = node._view
        if how.parents[0] is not record:  # the base has changed since: take the view again
            check_base(how, base)
            is_operation = isinstance(node, OperationRole)
            node.__class__ = node.family.Constant if record is None else node.family.View
            new = new_record(how.rule, (record,), (FreedArray(base._value), *how.saved[1:]), like=how)
            node._name = new._name = getattr(node._record if is_operation else node, "_name", None)
            node._record = new
            node._view = view_link(node._record, base)
        record = node._record if isinstance(node, OperationRole) else None
    return record


def check_base(how: Record, base: Node) -> None:
    """Raise InPlaceError if a view cannot be taken again, because its base was given another shape."""
    if how.saved[0].shape != base._value.shape:
        raise InPlaceError(
            f"a view was taken of {base.name} when its shape was {how.saved[0].shape}; then its shape was set to "
            f"{base._value.shape}. Take the view again, or write y = x.reshape(...) instead of x.shape = ..."
        )


def gradient_target(x: Any) -> Holder:
    """The object to which a gradient of ``x`` flows: a Variable itself, the record of an Operation; None where nothing
    flows."""
    if isinstance(x, VariableRole):
        return x if x.requires_grad else None
    return current_record(x) if isinstance(x, NodeRole) else None


def target_inside(x: Any) -> Holder:
    """The :func:`gradient_target` of a node behind this array, which hides a batch; None if there is none."""
    while hasattr(x, "batch_layer"):
        x = x.inner
        if (target := gradient_target(x)) is not None:
            return target
        x = value_of(x)
    return None


def new_record(
    rule: Rule, parents: tuple[Holder, ...], saved: Values, extra: Extras | None = None,
    like: Any = None, depth: int = 1,
) -> Record:  # fmt: skip
    """A record, made now. Its place is that of ``like``, another record, or where the user's program is, at ``depth``
    or further out."""
    record = Record()
    if hasattr(like, "place"):
        record.place, record.last = like.place, like.last
    elif like is None and modes().source:
        record.place, record.last = here(depth)
    record.rule, record.parents, record.saved, record.extra = rule, parents, saved, extra
    record.number, release = next(NEW)
    record.count = rule.tick()
    if release is not None:
        record.release = release(record.number, record.parents)
    return record


def operation_from(value: Array, record: Record) -> Array:
    """An Operation that shows ``value`` and has that record."""
    value = value if type(value) in NODE_TYPES else np.asarray(value)
    node = on_memory(value, NODE_TYPES[type(value)].Operation)
    node._value = value
    if type(value) is not np.ndarray or value.size < FROM:
        node._operand = value
    node._record = record
    return node


def unwritable(x: Array) -> Array:
    """An array or node, for the user's code, which must not write into it: others read the same memory."""
    value = value_of(x)
    if isinstance(x, VariableRole) or type(value) not in NODE_TYPES:
        return x
    value = read_only(value) if type(value) is np.ndarray else value.copy()  # other array types have no such flag
    if not isinstance(x, NodeRole):
        return value
    return constant_from(value, x.family) if (record := current_record(x)) is None else operation_from(value, record)


def places_of_operands(record: Record) -> list[int]:
    """The places of the operands, without those that are None, as for a bound that ``np.clip`` was not given."""
    return [k for k, parent in enumerate(record.parents) if parent is not None or record.saved[k] is not None]


def operand_node(record: Record, k: int) -> Array:
    """The record's k-th operand as a node: the leaf itself, or an array of the values that were kept (else NaN)."""
    parent = record.parents[k]
    if isinstance(parent, VariableRole):
        return parent
    if parent is not None:
        value = parent.value
        if value is None:
            value = np.full((), np.nan if parent.dtype.kind in "fc" else 0, parent.dtype)
            value = np.broadcast_to(value, parent.shape)
        return operation_from(value, parent)
    constants = record.extra.constants if record.extra is not None else {}
    if k not in constants:
        x = record.saved[k]
        name = printing.literal(x)
        if type(x) is FreedArray:
            x = x.reference()
        if x is None or versions.writer_since(x, record.number - 1):  # not kept, or written into since
            x = np.broadcast_to(np.full((), np.nan), record.saved[k].shape)
        constants[k] = constant_from(np.asarray(x, record.dtype if type(x) in (int, float, bool) else None))
        constants[k].name, constants[k]._lent = name, True
        extend(record, constants=constants)
    return constants[k]
