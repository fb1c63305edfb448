"""The array methods and attributes of nodes. Every public name of ``numpy.ndarray`` is in exactly one list here:

    ArrayMethods   recorded through the table, with ndarray's own signature
    PLAIN          answered with plain numbers, which have no gradient (argmax, tolist)
    KEPT           inherited as they are (shape, strides, ...)
    REFUSED        refused, with advice (resize, byteswap)

and a test says so. Operators are in ``operators.py``, Python's protocols (float, copy, pickle) in
``node_methods.py``, as are methods whose functions are in modules further up (backward, drawing, replaying).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

import numpy as np

from ..backends.registry import NodeTypes, with_every_family
from ..base.errors import InPlaceError, NoRuleError
from ..base.lazy import later
from ..base.modes import TAKEN, modes
from ..base.spellings import advise, refuse_keywords
from ..base.types import AnyFunction, Array, ByName, DTypeLike, Values, named_dtype
from ..nodes.coercion import refuse_reader
from ..nodes.grads import refuse_bytes
from ..nodes.nodes import ConstantRole, Node, NodeRole, Operation, memory_of, plain_view, read_only, value_of
from ..program.callers import USERS, getframe, wants_numbers, who
from ..rules import RULES
from ..rules.structure import astype, cast, flatten
from ..table.indexing import getitem
from ..table.outside import WRITERS
from ..table.shapes import NOT_GIVEN, Axis, Mode
from ..table.table import Rule
from .closures import HOOKS
from .node_methods import NodeMethods, install_methods
from .recording import NO_OPTIONS, apply, compute_one, plain_arrays

if TYPE_CHECKING:
    from numpy._core.multiarray import flagsobj

A = TypeVar("A", bound=np.ndarray)
AXES = (type(None), int)
ndarray = np.ndarray

PLAIN = "all any argmax argmin argpartition argsort dump dumps item nonzero searchsorted tobytes tofile tolist"
KEPT = "base ctypes device dtype itemsize nbytes ndim shape size strides to_device"
READING = ("byteswap", "getfield")  # of those below what only reads: answered where there is no gradient
REFUSED = {
    "byteswap": "change bytes before there are nodes: af.Variable(plain.byteswap())",
    "getfield": "use x.real and x.imag, or x.astype(dtype)",
    "setfield": "use x[...] = v",
    "setflags": "use x.copy() for an array to write into, x.detach() for one that is read-only",
}

GETITEM, SUM, PROD, MEAN, MAX, MIN = [RULES[f] for f in (getitem, np.sum, np.prod, np.mean, np.max, np.min)]
VAR, STD, CUMSUM, CUMPROD, DOT, COPY = [RULES[f] for f in (np.var, np.std, np.cumsum, np.cumprod, np.dot, np.copy)]
RESHAPE, RAVEL = RULES[np.reshape], RULES[np.ravel]
TRANSPOSE, MATRIX_TRANSPOSE = RULES[np.transpose], RULES[np.matrix_transpose]


class Flat(np.lib.mixins.NDArrayOperatorsMixin):
    """``x.flat``: the elements of x in C order, as they are when it is used. What is taken from it is a copy, as in
    NumPy; what is written into it, is written into x. ``place``: NumPy's own iterator, which says where it stands."""

    __carries_nodes__ = "elements"

    def __init__(self, base: Any) -> None:
        self.base, self.place = base, np.ndarray(base.shape, bool, bytearray(1), 0, (0,) * base.ndim).flat

    def copy(self) -> Node:
        """All of them."""
        return self.base.flatten()

    elements = property(copy)
    requires_grad = property(lambda self: self.base.requires_grad)
    index = property(lambda self: self.place.index)
    coords = property(lambda self: self.place.coords)

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Node:
        i = np.unravel_index(self.place.index, self.base.shape) if self.place.index < len(self) else ()
        next(self.place)
        return self.base[i]

    def __getitem__(self, i: Any) -> Node:
        self.place[i]
        return self.base.reshape(-1)[i] if type(i) is int else self.elements[np.arange(len(self)).flat[i]]

    def __setitem__(self, i: Any, value: Array) -> None:
        self.place[i] = False
        np.put(self.base, np.arange(len(self)).flat[i], opened(value))

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.elements, dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        return call_opened(getattr(ufunc, method), args, options, method == "at")

    def __array_function__(self, function: AnyFunction, types: Collection[type], args: Values, options: ByName) -> Any:
        return call_opened(function, args, options, function in WRITERS)


def call_opened(function: AnyFunction, args: Values, options: ByName, writes: bool) -> Any:
    """The call with arrays in place of ``x.flat``. ``writes``: into its first argument, which has to be an array."""
    out = options.get("out")
    if Flat in map(type, (*args[:writes], *(out if type(out) is tuple else [out]))):
        raise TypeError("x.flat is no array that a function can write into: write x.flat[...] = values, or into x")
    return function(*opened(args), **dict(opened([*options.items()])))


def opened(x: Any) -> Any:
    """These arguments with arrays in place of ``x.flat``."""
    return type(x)([opened(v) for v in x]) if type(x) in (tuple, list) else x.elements if type(x) is Flat else x


HOOKS.add(Flat.__array_ufunc__)


class ArrayMethods:
    """The methods of ndarray, as ndarray has them. Each says which function it is; what that means, NumPy says.

    Those that training calls all the time go straight to the row; the others by the function, which costs 1 µs more.
    """

    # -- reductions

    def sum(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, keepdims: bool = False,
            initial: Array = None, where: Array = NOT_GIVEN, **unknown: Never) -> Node:  # fmt: skip
        """np.sum"""
        if unknown:
            refuse_keywords("sum", unknown)
        if type(self) is Operation and dtype is out is initial is None and where is NOT_GIVEN and type(axis) in AXES:
            return reduce_quickly(SUM, self, (axis, None, keepdims, None, None))
        options = NO_OPTIONS if out is None and where is NOT_GIVEN else {"out": out, "where": where}
        return apply(SUM, (self, axis, dtype, keepdims, initial), options)

    def prod(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, keepdims: bool = False,
            initial: Array = None, where: Array = NOT_GIVEN, **unknown: Never) -> Node:  # fmt: skip
        """np.prod"""
        if unknown:
            refuse_keywords("prod", unknown)
        return apply(PROD, (self, axis, dtype, keepdims, initial), {"out": out, "where": where})

    def mean(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, keepdims: bool = False, *,
             where: Array = NOT_GIVEN, **unknown: Never) -> Node:  # fmt: skip
        """np.mean"""
        if unknown:
            refuse_keywords("mean", unknown)
        if type(self) is Operation and dtype is out is None and where is NOT_GIVEN and type(axis) in AXES:
            return reduce_quickly(MEAN, self, (axis, None, keepdims, None))
        options = NO_OPTIONS if out is None and where is NOT_GIVEN else {"out": out, "where": where}
        return apply(MEAN, (self, axis, dtype, keepdims), options)

    def max(self, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None,
            where: Array = NOT_GIVEN, **unknown: Never) -> Node:  # fmt: skip
        """np.max"""
        if unknown:
            refuse_keywords("max", unknown)
        return apply(MAX, (self, axis, keepdims, initial), {"out": out, "where": where})

    def min(self, axis: Axis = None, out: Array = None, keepdims: bool = False, initial: Array = None,
            where: Array = NOT_GIVEN, **unknown: Never) -> Node:  # fmt: skip
        """np.min"""
        if unknown:
            refuse_keywords("min", unknown)
        return apply(MIN, (self, axis, keepdims, initial), {"out": out, "where": where})

    def var(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, ddof: float = 0,
            keepdims: bool = False, **options: Any) -> Node:  # fmt: skip
        """np.var"""
        if options.get("mean") is not None:
            return np.var(self, axis, dtype, out, ddof, keepdims, **options)  # type: ignore[call-overload]
        return apply(VAR, (self, axis, dtype, ddof, keepdims), {"out": out, **options})

    def std(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, ddof: float = 0,
            keepdims: bool = False, **options: Any) -> Node:  # fmt: skip
        """np.std"""
        if options.get("mean") is not None:
            return np.std(self, axis, dtype, out, ddof, keepdims, **options)  # type: ignore[call-overload]
        return apply(STD, (self, axis, dtype, ddof, keepdims), {"out": out, **options})

    def cumsum(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, **unknown: Never) -> Node:
        """np.cumsum"""
        if unknown:
            refuse_keywords("cumsum", unknown)
        return apply(CUMSUM, (self, axis, dtype), {"out": out})

    def cumprod(self, axis: Axis = None, dtype: DTypeLike = None, out: Array = None, **unknown: Never) -> Node:
        """np.cumprod"""
        if unknown:
            refuse_keywords("cumprod", unknown)
        return apply(CUMPROD, (self, axis, dtype), {"out": out})

    # -- shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Node:
        """np.reshape; the shape as a tuple or as several arguments"""
        return apply(RESHAPE, (self, shape[0] if len(shape) == 1 else shape, order, copy))

    def transpose(self, *axes: Any) -> Node:
        """np.transpose; the axes as a tuple, as several arguments, or not at all"""
        return apply(TRANSPOSE, (self, axes[0] if len(axes) == 1 else axes or None))

    @property
    def T(self) -> Node:  # noqa: N802
        """np.transpose"""
        return apply(TRANSPOSE, (self,))

    @property
    def mT(self) -> Node:  # noqa: N802
        """np.matrix_transpose"""
        return apply(MATRIX_TRANSPOSE, (self,))

    def ravel(self, order: str = "C") -> Node:
        """np.ravel"""
        if wants_numbers(getframe(1).f_globals.get("__name__")):
            return memory_of(self).ravel(order)
        return apply(RAVEL, (self, order))

    def flatten(self, order: str = "C") -> Node:
        """A copy with one axis."""
        return flatten(self, order)

    def squeeze(self, axis: Axis = None, **unknown: Never) -> Node:
        """np.squeeze"""
        if unknown:
            refuse_keywords("squeeze", unknown)
        return np.squeeze(self, axis)  # type: ignore[call-overload]

    def swapaxes(self, axis1: int, axis2: int) -> Node:
        """np.swapaxes"""
        return np.swapaxes(self, axis1, axis2)  # type: ignore[call-overload]

    @property
    def flat(self) -> Flat:
        """All elements along one axis: to iterate over, to index, to write into."""
        return Flat(self)

    @property
    def data(self) -> memoryview:
        """ndarray.data: the bytes, for reading only. The numbers are ``x.value``."""
        refuse_bytes(self, getframe(1))
        return self.family.array_type.data.__get__(self)  # type: ignore[attr-defined]

    # -- elements

    def take(self, indices: Array, axis: Axis = None, out: Array = None, mode: Mode = "raise") -> Node:
        """np.take"""
        return np.take(self, indices, axis=axis, out=out, mode=mode)  # type: ignore[call-overload]

    def compress(self, condition: Array, axis: Axis = None, out: Array = None) -> Node:
        """np.compress"""
        return np.compress(plain_arrays(condition), self, axis=axis, out=out)  # type: ignore[call-overload]

    def repeat(self, repeats: Array, axis: Axis = None) -> Node:
        """np.repeat"""
        return np.repeat(self, repeats, axis=axis)  # type: ignore[call-overload]

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
        """np.diagonal"""
        return np.diagonal(self, offset, axis1, axis2)  # type: ignore[call-overload]

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Array = None) -> Node:
        """np.trace"""
        return np.trace(self, offset, axis1, axis2, dtype=dtype, out=out)  # type: ignore[call-overload]

    def dot(self, other: Array, out: Array = None) -> Node:
        """np.dot"""
        return apply(DOT, (self, other), NO_OPTIONS if out is None else {"out": out})

    def clip(self, min: Array = None, max: Array = None, out: Array = None, **options: Any) -> Node:
        """np.clip"""
        return np.clip(self, min, max, out=out, **options)  # type: ignore[call-overload]

    def round(self, decimals: int = 0, out: Array = None) -> Node:
        """np.round"""
        return np.round(self, decimals, out=out)  # type: ignore[call-overload]

    # -- complex numbers, copies, dtypes

    def conjugate(self) -> Node:
        """np.conjugate; a real array is its own, as in NumPy"""
        return np.conjugate(self) if value_of(self).dtype.kind == "c" else self  # type: ignore[call-overload, return-value]

    conj = conjugate

    @property
    def real(self) -> Node:
        """np.real"""
        return apply(RULES[np.real], (self,))

    @property
    def imag(self) -> Node:
        """np.imag"""
        return apply(RULES[np.imag], (self,))

    def copy(self, order: str = "C") -> Node:
        """np.copy: the same numbers in other memory; gradients flow through it"""
        if wants_numbers(getframe(1).f_globals.get("__name__")):
            return memory_of(self).copy(order)
        return apply(COPY, (self, order))

    @overload
    def astype(
        self, dtype: type[float | complex | np.inexact], order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> Node: ...  # fmt: skip
    @overload
    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> np.ndarray: ...
    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The same numbers in another dtype. To integers, booleans, text: a plain array, where the gradient ends."""
        dtype = named_dtype(dtype)
        value = plain_view(self) if dtype.kind == "O" else value_of(self)
        if dtype.kind not in "fc":
            z = cast(value, dtype, order, casting, copy=copy)
            return z[()] if z.dtype == object else z  # as of the number that a result without axes is in NumPy
        if not subok:
            raise NoRuleError("x.astype(subok=False) of a node would lose the gradient: use x.value.astype(dtype)")
        if not copy and cast(value, dtype, order, casting, copy=False) is value:
            return self
        return astype(self, dtype, order, casting)

    @overload
    def view(self) -> Node: ...
    @overload
    def view(self, type: type[A], /) -> A: ...
    @overload
    def view(self, *, type: type[A]) -> A: ...
    def view(self, *args: Any, **options: Any) -> Any:
        """``x.view()`` is ``x[...]``; ``x.view(np.ndarray)`` the plain array, and as any other class of array its plain
        numbers. Another dtype has no derivative: of a node without one a plain array, for reading only."""
        if not args and not options:
            return apply(GETITEM, (self, ...))
        kind: Any = options["type"] if list(options) == ["type"] and not args else args[0] if len(args) == 1 else None
        scope = getframe(1).f_globals
        is_class = isinstance(kind, type)
        if "__keeps_nodes__" in scope and is_class and (kind is np.ndarray or issubclass(kind, NodeRole)):
            return self[...]
        if is_class and issubclass(kind, self.family.array_type) and not issubclass(kind, NodeRole):  # type: ignore[attr-defined]
            copied = not hasattr(self, "_value") and not isinstance(self, ConstantRole)  # of a node, by NumPy in C
            refuse_reader(scope.get("__name__"), self, copied or self.requires_grad)  # type: ignore[attr-defined]
            # A matrix, a recarray computes: in a proof it gets what is in the memory, which a plain array does not.
            given = self.value if kind is self.family.array_type else plain_view(self)  # type: ignore[attr-defined]
            return given.view(kind)
        shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if shape and not options and all([isinstance(n, (int, np.integer)) for n in shape]):
            given = ", ".join(map(str, shape))
            raise NoRuleError(
                f"x.view takes a dtype, as in NumPy; the same numbers in another shape: x.reshape({given})"
            )
        if len(args) == 1 and not options and args[0] in (self.dtype, self.dtype.type):  # type: ignore[attr-defined]
            return self[...]
        if not self.requires_grad:  # type: ignore[attr-defined]
            return read_only(memory_of(self)).view(*args, **options)
        raise NoRuleError("x.view(dtype) reads the bytes as other numbers: use x.astype(dtype), or x.value.view(dtype)")

    def choose(self, choices: Sequence[Array], out: Array = None, mode: Mode = "raise") -> Node:
        """np.choose: elements of several arrays, selected by these integers"""
        return np.choose(self, choices, out=out, mode=mode)  # type: ignore[call-overload]

    # -- written into

    def put(self, indices: Array, values: Array, mode: Mode = "raise") -> None:
        """np.put"""
        np.put(self, indices, values, mode=mode)  # type: ignore[arg-type]

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None,
             descending: bool | None = None) -> None:  # fmt: skip
        """``x[...] = np.sort(x.copy())``: of a copy, because its derivative needs the old values"""
        turned = {} if descending is None else {"descending": descending}  # from NumPy 2.5 on
        self[...] = np.sort(self.copy(), axis=axis, kind=kind, order=order, stable=stable, **turned)  # type: ignore[index]

    def partition(self, kth: Array, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """``x[...] = np.partition(x.copy(), kth)``"""
        self[...] = np.partition(self.copy(), kth, axis=axis, kind=kind, order=order)  # type: ignore[index]

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """``x.shape = shape``; memory of another size is a new array, ``np.resize(x, shape)``"""
        new = shape[0] if len(shape) == 1 else shape
        if math.prod(np.atleast_1d(new).tolist()) != self.size:  # type: ignore[attr-defined]
            raise NoRuleError("x.resize() of a node to another size is not recorded: use np.resize, a new array")
        self.shape = new

    def fill(self, value: Array) -> None:
        """``x[...] = value`` with one number or 0-d node."""
        if np.ndim(value):
            raise ValueError(f"fill takes one number, not shape {np.shape(value)}: write x[...] = value")
        self[...] = value  # type: ignore[index]

    def __getitem__(self, i: Any) -> Node:
        """``x[i]``, recorded; a view where NumPy gives one."""
        if type(i) is ndarray and wants_numbers(getframe(1).f_globals.get("__name__")):
            return memory_of(self)[value_of(i)]
        return apply(GETITEM, (self, i))

    @property
    def flags(self) -> flagsobj:
        """ndarray.flags, of the memory that is written into: ``x.flags.writeable = False`` protects it."""
        return value_of(self).flags


def reduce_quickly(rule: Rule, x: Node, options: Values) -> Array:
    """A reduction as losses have it, along one axis or all: what ``apply`` would find out takes 0.5 µs."""
    if modes().autocast is None and hasattr(x, "_record"):
        return compute_one(rule, x, x._record, options, 3)
    return apply(rule, (x, *options))


def plain_method(name: str) -> AnyFunction:
    """The method of that name on the numbers alone."""

    def method(self: Node, *args: object, **options: object) -> Any:
        if any(map(advise, options)):
            refuse_keywords(name, options)
        shadow = modes().shadow  # in a proof the numbers are those of the memory, where a library takes them
        is_answered = shadow == TAKEN or (shadow and name in ("item", "tolist") and who(getframe(1)) not in USERS)
        x = plain_view(self) if is_answered else value_of(self)
        return getattr(x, name)(*value_of(args), **{k: value_of(v) for k, v in options.items()})

    method.__name__, method.__doc__ = name, f"ndarray.{name} of the numbers: a plain result, without a gradient."
    return method


def refused_method(name: str, advice: str) -> AnyFunction:
    """A method that raises an error naming its replacement."""

    def method(self: Node, *args: object, **options: object) -> Any:
        if name in READING and not self.requires_grad:
            return getattr(read_only(memory_of(self)), name)(*args, **options)
        raise NoRuleError(f"x.{name}() of a node is not recorded: {advice}. On plain numbers: x.value.{name}()")

    method.__name__, method.__doc__ = name, f"Refused: {advice}."
    return method


def unknown_names() -> set[str]:
    """Methods that ndarray has in this version of NumPy and that are in no list here: nodes do not inherit them, as
    they might write into memory or drop the graph. Public or not: NumPy 2.5 has ``_set_shape``. (What an older NumPy
    has only to say that it is gone is not meant.)"""
    there = {name for name in dir(ndarray) if not name.startswith("__") and callable(getattr(ndarray, name, None))}
    return there - {*vars(ArrayMethods), *PLAIN.split(), *KEPT.split(), *REFUSED, *vars(NodeMethods)}


def guard_attributes(family: NodeTypes) -> None:
    """Let ``z.real = v`` and ``x.flat = v`` be writes; ``x.shape = ...`` is a reshape that x itself becomes, and
    ``x.data = ...`` is refused: it would change the node, but not the array under it."""

    def refuse(self: Node, value: object) -> None:
        raise InPlaceError("data of a node cannot be assigned to: write the numbers, x[...] = ...")

    setters: dict[str, Callable[[Any, Any], None]] = {
        "data": refuse,
        "imag": write_imag,
        **{k: lambda x, new, k=k: getattr(x, k).__setitem__(..., new) for k in ("flat", "real")},  # type: ignore[misc]
        **{k: lambda x, new, k=k: later("set_layout")(x, k, new) for k in ("shape", "strides", "dtype")},  # type: ignore[misc]
    }
    for name, setter in setters.items():
        ours = vars(ArrayMethods).get(name)
        getter = ours.fget if isinstance(ours, property) else getattr(family.array_type, name, None)
        if getter is not None:
            setattr(family.Node, name, property(getter if callable(getter) else getter.__get__, setter))


def write_imag(x: Node, value: Array) -> None:
    """``z.imag = v``; for real numbers NumPy raises its own error."""
    if value_of(x).dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    x.imag[...] = value


def install() -> None:
    """Give nodes all of these."""
    install_methods(NodeRole, ArrayMethods, "Node")
    for name in PLAIN.split():
        setattr(NodeRole, name, plain_method(name))
    unknown = dict.fromkeys(sorted(unknown_names()), f"autoflow does not know this method of NumPy {np.__version__}")
    for name, advice in {**REFUSED, **unknown}.items():
        setattr(NodeRole, name, refused_method(name, advice))
    with_every_family(guard_attributes)


install()
