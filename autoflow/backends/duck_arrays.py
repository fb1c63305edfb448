"""Duck arrays: what a class must define for NumPy, nodes and Python to accept it as an array.

Two classes pretend (the word for it is duck array): ``Traced`` writes down what is done with it, so that a function
becomes a program; ``Batched`` stands for one example and holds them all. Neither can say what its numbers are, so each
refuses with an error of its own what Python asks of numbers: ``refuse_number`` makes it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn, Self

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base.process import Lock
from ..base.types import AnyFunction, Array, DTypeLike, Values, named_dtype
from ..program.callers import getframe, is_ours
from .registry import NODE_TYPES, NodeTypes, families_changed, join

NP: Any = np  # NumPy without its stubs, which reject our duck arrays
LOCK = Lock()

OPERATORS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "divmod": np.divmod,
}  # fmt: skip
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
SIGNS = {ufunc: getattr(operator, f"__{name}__", divmod) for name, ufunc in (OPERATORS | UNARY).items()}
# The methods through which Python reads numbers, and the expression that calls each.
QUESTIONS = {
    "bool": "if, and, or, not, while", "float": "float(x)", "int": "int(x)", "complex": "complex(x)",
    "index": "an index, a range, a shape", "contains": "the question `in`", "round": "round(x)",
    "trunc": "math.trunc(x)",
}  # fmt: skip
# Of the other methods, below, those refuse that are no function of NumPy.
TOLD = "__dlpack__", "__dlpack_device__", "__setstate__", "__getstate__", "__sizeof__"
NESTED = (list, tuple, dict, slice)
CLASS: Any = vars(object)["__class__"]  # what every object has


def map_leaves(x: Any, do: Callable[[Any], Any]) -> Any:
    """Nested lists, tuples, dicts and slices with each leaf replaced by ``do(leaf)``.

    >>> map_leaves([1, {"a": slice(2, None)}], lambda v: v and -v)
    [-1, {'a': slice(-2, None, None)}]
    """
    kind = type(x)
    if kind is tuple or kind is list:
        return kind([map_leaves(v, do) if type(v) in NESTED else do(v) for v in x])
    if kind is dict:
        return {name: map_leaves(v, do) for name, v in x.items()}
    return slice(*map_leaves((x.start, x.stop, x.step), do)) if kind is slice else do(x)


def flat(x: Any) -> list[Any]:
    """The leaves of nested lists, tuples, dicts and slices, also of classes made from these."""
    leaves, queue = [], [x]
    for v in queue:
        kind = type(v)
        if not issubclass(kind, NESTED):  # isinstance would ask our arrays for their __class__
            leaves.append(v)
        elif kind is slice:
            queue += (v.start, v.stop, v.step)
        else:
            queue += v.values() if issubclass(kind, dict) else v
    return leaves


def tuple_like(x: Any, parts: Iterable[Any]) -> Any:
    """A tuple, named tuple or list like x, of other parts."""
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def flags_of(x: object, **facts: bool) -> SimpleNamespace:
    """The flags of x's memory that rows and writes read."""
    flags = getattr(x, "flags", None)
    order = {k: getattr(flags, k, k[0] == "c") for k in ("c_contiguous", "contiguous", "f_contiguous", "fnc")}
    return SimpleNamespace(**{"forc": False, "carray": False, "owndata": False, "writeable": True, **order, **facts})


def private(name: str, read: Callable[[Any], Any]) -> property:
    """An attribute for our own code: a question about memory."""

    def get(self: DuckArray) -> Any:
        if not self.is_asked_by_us(f"x.{name}"):
            raise self.refuse_layout(f"x.{name}")
        return read(self)

    return property(get, lambda self, new: self.told_of_shape(new))


class DuckArray:
    """The part of ndarray's interface that all duck arrays share."""

    __slots__ = ()
    shape: Any
    dtype: Any
    copy: Any
    cast: Callable[[np.dtype, str, str], Array]  # a copy
    strides: Any
    is_number: Any  # is it one of NumPy's numbers in eager code, and no 0-d array?
    is_numpys = True  # who computes in the end: see table/shapes.py
    refuse_number: Callable[[str], Exception]  # the error for those who want a number

    def refuse_layout(self, what: str) -> Exception:
        """The error for reading where the numbers lie in memory."""
        return self.refuse_number(what)

    def is_asked_by_us(self, what: str) -> bool:
        """Is the caller's caller our own code?"""
        return is_ours(3)

    @property
    def __class__(self) -> Any:
        """For ``isinstance`` and ``x.__class__`` in the function: the class that eager code finds. Our own code sees
        what is really there."""
        real, frame = type(self), getframe(1)
        if frame.f_globals.get("__name__", "").startswith("autoflow."):
            return real
        kind = getattr(NODE_TYPES[np.ndarray], real.__name__) if hasattr(real, "role") else self.eager_class()
        if frame.f_code.co_name == "__instancecheck__":  # abstract classes look at the real one, too
            self.compare_classes(real, kind, frame.f_locals[frame.f_code.co_varnames[0]])
        return kind

    @__class__.setter
    def __class__(self, kind: type) -> None:
        CLASS.__set__(self, kind)

    def compare_classes(self, real: type, kind: type, target: type) -> None:
        """Refuse to say whether we are of the class ``target`` if we are, but not what eager code finds, as a number is
        not iterable."""
        differ = False
        with suppress(TypeError):  # some protocols have no subclasses
            differ = issubclass(real, target) and not issubclass(kind, target)
        if differ:
            raise self.refuse_number(f"isinstance(x, {target.__name__})")

    eager_class: Callable[[], type]  # the class of such an array in eager code

    yields_to: Callable[[Any], bool]  # does the other operand compute the result?

    update: Callable[[str, np.ufunc, Any], Any]  # ``x += y``; the first is the name of the operator, "add"

    def overwrite(self, new: Array) -> None:
        """Become these numbers, in the shape and dtype that the array has."""
        self[...] = new  # type: ignore[index]

    # -- facts

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    device = property(lambda self: "cpu")

    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        """As in NumPy: without ``copy`` x itself, if its numbers have that dtype, and that order in memory."""
        dtype = named_dtype(dtype)
        if not copy and dtype == self.dtype and not self.is_number:
            flags = as_strided(np.empty((), self.dtype), self.shape, self.strides).flags
            if order == "K" or (order != "F" and flags.c_contiguous) or (order != "C" and flags.f_contiguous):
                return self
        return self.cast(dtype, order, casting)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        if spec:
            raise self.refuse_number("a format")
        return repr(self)

    def __hash__(self) -> int:
        if not self.is_asked_by_us("a key"):
            raise self.refuse_number("a key")
        return object.__hash__(self)

    def told_of_shape(self, new: object) -> None:
        """``x.shape = new``"""
        raise self.refuse_layout("an array that gets another shape, dtype or memory")

    # -- what Python may not know

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise self.refuse_number("np.asarray, np.array, plain[i] = x, or a library that is not NumPy")

    def __copy__(self) -> Array:
        return self if self.is_number else self.copy("K")

    def __deepcopy__(self, memo: object) -> Array:
        return copy(self)

    def __reduce__(self) -> NoReturn:
        raise self.refuse_number("pickle")

    # -- methods that are functions of NumPy

    def transpose(self, *axes: Any) -> Array:
        """As in NumPy."""
        return NP.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def reshape(self, *shape: Any, **options: object) -> Array:
        """As in NumPy."""
        return NP.reshape(self, shape[0] if len(shape) == 1 else shape, **options)

    def conjugate(self) -> Array:
        """As in NumPy."""
        return NP.conjugate(self) if self.dtype.kind == "c" else self

    conj = conjugate

    def compress(self, condition: Array, axis: int | None = None, out: Array = None) -> Array:
        """As in NumPy."""
        return NP.compress(condition, self, axis=axis, out=out)

    def to_device(self, *args: Any, **options: Any) -> Self:
        """As in NumPy, which knows one device."""
        np.empty(0).to_device(*args, **options)
        return self

    def fill(self, value: Array) -> None:
        """As in NumPy."""
        self[...] = value  # type: ignore[index]

    def sort(self, axis: int = -1, **options: object) -> None:
        """As in NumPy."""
        self.overwrite(NP.sort(self, axis=axis, **options))

    def partition(self, kth: Array, axis: int = -1, **options: object) -> None:
        """As in NumPy."""
        self.overwrite(NP.partition(self, kth, axis=axis, **options))

    def __ipow__(self, other: Array) -> Array:
        if self.is_number:
            return self**other
        self.overwrite(self**other)
        return self

    T = property(lambda self: self if self.is_number else NP.transpose(self))
    mT = property(lambda self: NP.matrix_transpose(self))  # noqa: N815 - NumPy's name
    real = property(
        lambda self: NP.real(self) if self.dtype.kind == "c" else self,
        lambda self, new: operator.setitem(self.real, ..., new),
    )
    imag = property(lambda self: NP.imag(self), lambda self, new: operator.setitem(self.imag, ..., new))

    def __array_namespace__(self, **_: object) -> ModuleType:
        return np


def binary_operator(name: str, ufunc: np.ufunc) -> None:
    """``x + y``, ``2.0 * x``, ``x += y``."""
    setattr(DuckArray, f"__{name}__", lambda x, y: NotImplemented if x.yields_to(y) else ufunc(x, y))
    if hasattr(np.ndarray, f"__r{name}__"):  # not of comparisons
        setattr(DuckArray, f"__r{name}__", lambda y, x: ufunc(x, y))
    if hasattr(np.ndarray, f"__i{name}__"):
        setattr(DuckArray, f"__i{name}__", lambda x, y: x.update(name, ufunc, y))


def refusing(word: str, refuse: str = "refuse_number") -> Any:
    """A method that refuses what the user wrote as ``word``, by another method."""

    def method(self: DuckArray, *_: object, **__: object) -> NoReturn:
        raise getattr(self, refuse)(word)

    return method


def by_function(name: str) -> AnyFunction:
    """The method that is NumPy's function of that name; without one it is refused."""
    function: AnyFunction | None = getattr(np, name, None)
    if function is None:
        return refusing(f"x.{name}()")

    def method(self: DuckArray, *args: object, **options: object) -> Any:
        if self.is_number and not hasattr(np.generic, name):
            raise AttributeError(f"a number of NumPy has no attribute {name!r}")
        return function(self, *args, **options)

    return method


for _name, _ufunc in OPERATORS.items():
    binary_operator(_name, _ufunc)
for _name, _ufunc in UNARY.items():
    setattr(DuckArray, f"__{_name}__", lambda x, ufunc=_ufunc: ufunc(x))
for _name, _word in QUESTIONS.items():
    setattr(DuckArray, f"__{_name}__", refusing(_word))
for _name in TOLD:
    setattr(DuckArray, _name, refusing(f"x.{_name}()"))
for _name in ("resize", "setfield", "setflags", "byteswap"):
    setattr(DuckArray, _name, refusing(f"x.{_name}()", "refuse_layout"))
for _name in ("data", "ctypes", "flat"):
    setattr(DuckArray, _name, property(*[refusing(f"x.{_name}", "refuse_layout")] * 2))


for _name in dir(np.ndarray):
    if _name[0] != "_" and not hasattr(DuckArray, _name) and callable(getattr(np.ndarray, _name)):
        setattr(DuckArray, _name, by_function(_name))


def run_masked(ufunc: np.ufunc, inputs: Values, where: Array, out: Values, **options: Any) -> Any:
    """``ufunc(*inputs, where=where, out=out)``, on copies of ``out``, which keep their numbers where the mask is
    False."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in (*inputs, where, *out)])
    copies = [None if x is None else np.broadcast_to(x, shape).copy() for x in out]
    return ufunc(*inputs, where=where, out=tuple(copies), **options)


def store_results(out: Values, result: Any, store: Callable[[Array, Array], None]) -> Any:
    """``out=``: the arrays named there become the results, by ``store(array, result)``."""
    results = result if isinstance(result, tuple) else (result,)
    outputs = []
    for x, r in zip(out, results, strict=True):
        if x is not None and x is not ...:
            store(x, r)
            r = x
        outputs.append(r)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


class Registration:
    """Lets nodes be made of a class of duck arrays, as long as it is needed: with one array type alone eager
    calls are quicker.

    cls : the class.
    how : ``from_numpy`` and ``to_numpy`` of its node classes (see ``registry.py``), and perhaps ``call``.
    users : who needs it now, in all threads, the latest last.
    """

    def __init__(self, cls: type, users: list[Any], **how: Any) -> None:
        self.cls, self.how, self.users = cls, how, users
        self.types: NodeTypes | None = None

    def needed_by(self, user: object) -> Need:
        """``with registration.needed_by(user):`` for a block."""
        return Need(self, user)


class Need:
    """The block. (A generator would cost each call of af.vmap a microsecond.)"""

    def __init__(self, registration: Registration, user: object) -> None:
        self.registration, self.user = registration, user

    def __enter__(self) -> None:
        needed = self.registration
        with LOCK:
            needed.users.append(self.user)
            if needed.types is None:
                needed.types = join(needed.cls, from_numpy=needed.how["from_numpy"], to_numpy=needed.how["to_numpy"])
                vars(needed.types).update(needed.how, has_numbers=False)
            NODE_TYPES[needed.cls] = needed.types
            families_changed()

    def __exit__(self, *exception: object) -> None:
        needed = self.registration
        with LOCK:
            needed.users.remove(self.user)
            if not needed.users:
                NODE_TYPES.pop(needed.cls, None)
                families_changed()


def guard_derivatives(run: AnyFunction) -> Callable[[AnyFunction], AnyFunction]:
    """What wraps ``open_record`` of backward passes: each derivative is called as ``run(vjp, name, g, saved)``."""

    def open_guarded(open_record: Callable[[Any], Values], pair: Values) -> Values:
        g, vjps, saved, kept = open_record(pair)
        return g, [vjp and partial(run, vjp, pair[0].rule.name) for vjp in vjps], saved, kept

    return lambda open_record: partial(open_guarded, open_record)
