"""Arrays that are none: what a class needs for NumPy, for nodes and for Python to take it for an array.

Two classes pretend (the word for it is duck array): ``Traced`` writes down what is done with it, so that a function
becomes a program; ``Batched`` stands for one example and holds them all. Neither can say what its numbers are, so each
refuses with an error of its own what Python asks of numbers: ``refuse_number`` makes it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .registry import NODE_TYPES, NodeTypes, families_changed

NP: Any = np  # what it is called with are arrays of ours, of which its types know nothing
LOCK = threading.Lock()

OPERATORS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
# Methods by which Python asks for numbers, and how the user wrote the question.
QUESTIONS = {
    "bool": "if, and, or, not, while", "float": "float(x)", "int": "int(x)", "complex": "complex(x)",
    "index": "an index, a range or a shape", "contains": "the question `in`", "round": "round(x)",
    "trunc": "math.trunc(x)",
}  # fmt: skip


class DuckArray:
    """What arrays that pretend have in common with ndarray."""

    __slots__ = ()
    shape: Any
    dtype: Any
    copy: Any
    is_numpys = True  # who computes in the end: see table/shapes.py
    refuse_number: Callable[[str], Exception]  # a staticmethod: the error for those who want a number

    def yields_to(self, y: Any) -> bool:
        """Is it the other operand that computes?"""
        raise NotImplementedError

    def update(self, name: str, ufunc: np.ufunc, y: Any) -> Any:
        """``x += y``; ``name`` is that of the operator, "add"."""
        raise NotImplementedError

    # -- facts

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    device = property(lambda self: "cpu")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        if spec:
            raise self.refuse_number("a format")
        return repr(self)

    __hash__ = object.__hash__

    # -- what Python may not know

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.refuse_number("np.asarray, np.array, plain[i] = x, or a library that is not NumPy")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        raise self.refuse_number("pickle")

    # -- methods that are functions of NumPy

    def transpose(self, *axes: Any) -> Any:
        """As in NumPy."""
        return NP.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    T = property(lambda self: NP.transpose(self))
    mT = property(lambda self: NP.matrix_transpose(self))  # noqa: N815 - NumPy's name
    real = property(lambda self: NP.real(self) if self.dtype.kind == "c" else self)
    imag = property(lambda self: NP.imag(self))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return NP.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return NP.mean(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def __divmod__(self, other: Any) -> Any:
        return NP.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return NP.divmod(other, self)

    def __array_namespace__(self, **_: Any) -> Any:
        return np


def binary_operator(name: str, ufunc: np.ufunc) -> None:
    """``x + y``, ``2.0 * x``, ``x += y``."""
    setattr(DuckArray, f"__{name}__", lambda x, y: NotImplemented if x.yields_to(y) else ufunc(x, y))
    if name not in COMPARISONS:
        setattr(DuckArray, f"__r{name}__", lambda y, x: ufunc(x, y))
        setattr(DuckArray, f"__i{name}__", lambda x, y: x.update(name, ufunc, y))


def refusing(word: str) -> Any:
    """A method that refuses what the user wrote as ``word``."""

    def refuse(self: DuckArray, *_: Any, **__: Any) -> Any:
        raise self.refuse_number(word)

    return refuse


for _name, _ufunc in OPERATORS.items():
    binary_operator(_name, _ufunc)
for _name, _ufunc in UNARY.items():
    setattr(DuckArray, f"__{_name}__", lambda x, ufunc=_ufunc: ufunc(x))
for _name, _word in QUESTIONS.items():
    setattr(DuckArray, f"__{_name}__", refusing(_word))


def other_methods(cls: type) -> Iterator[str]:
    """Names of ndarray's public methods that the class has not."""
    for name in dir(np.ndarray):
        if not name.startswith("_") and not hasattr(cls, name) and callable(getattr(np.ndarray, name)):
            yield name


def run_masked(ufunc: np.ufunc, inputs: tuple[Any, ...], where: Any, out: tuple[Any, ...], **options: Any) -> Any:
    """``ufunc(*inputs, where=where, out=out)``, on copies of ``out``: elsewhere their numbers stay."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in (*inputs, where, *out) if x is not None])
    copies = [None if x is None else np.broadcast_to(x, shape).copy() for x in out]
    return ufunc(*inputs, where=where, out=tuple(copies), **options)


def store_results(out: tuple[Any, ...], result: Any, store: Callable[[Any, Any], None]) -> Any:
    """``out=``: the arrays named there become the results, by ``store(array, result)``."""
    results = result if isinstance(result, tuple) else (result,)
    given = []
    for x, r in zip(out, results, strict=True):
        if x is not None and x is not ...:
            store(x, r)
            r = x
        given.append(r)
    return tuple(given) if isinstance(result, tuple) else given[0]


class Registration:
    """Lets nodes be made of a class of duck arrays, as long as it is needed: with one array type alone eager
    calls are quicker.

    cls : the class.
    types : makes its node classes, once.
    users : who needs it now, in all threads, the latest last.
    """

    def __init__(self, cls: type, make_types: Callable[[], NodeTypes]) -> None:
        self.cls, self.make_types = cls, make_types
        self.types: NodeTypes | None = None
        self.users: list[Any] = []

    @contextmanager
    def needed_by(self, user: Any) -> Iterator[None]:
        """For a block."""
        with LOCK:
            self.users.append(user)
            if self.types is None:
                self.types = self.make_types()
            else:
                NODE_TYPES[self.cls] = self.types
                families_changed()
        try:
            yield
        finally:
            with LOCK:
                self.users.remove(user)
                if not self.users:
                    NODE_TYPES.pop(self.cls, None)
                    families_changed()
