"""The methods and operators of ndarray, for arrays that write down what is done with them. None computes anything."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import CompileError
from ...nodes.nodes import NodeRole
from ...nodes.versions import caller
from ..values import Value
from .kinds import REDUCTIONS, SCALAR_POWERS, VALUES, VIEWS, WRITING, layout_refused, refuse_number

Array = Any
NP: Any = np  # it is called with Traced arrays, which its types do not know


class ArrayMethods:
    """What :class:`~.traced.Traced` has in common with ndarray."""

    __slots__ = ()
    expr: Value
    tape: Any
    dtype: Any
    _assign: Any

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As in NumPy."""
        if np.dtype(dtype) == self.dtype:
            return self.copy(order) if copy else self
        dtype = np.dtype(dtype)
        how: Any = dtype, order, casting

        def cast(x: Array) -> Array:
            return (x if hasattr(x, "astype") else np.asarray(x)).astype(*how)

        value = self.tape.program.call(cast, (self.expr,), ("astype", dtype), "astype")
        return self.tape.new_traced(value)

    def copy(self, order: str = "C") -> Any:
        """As in NumPy."""
        if order == "F" or (order != "K" and self.expr.layout is not None) or not self.expr.is_dense:
            return self.tape.call(np.ndarray.copy, (self, order), fixed=True)
        return self.tape.new_traced(self.expr)

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """As in NumPy."""
        new: Any = shape[0] if len(shape) == 1 else shape
        return self.tape.view(np.reshape, self, (new,), {"order": order})

    def flatten(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return self.tape.call(lambda x: np.asarray(x).flatten(order), (self,), fixed=True)

    def __divmod__(self, other: Any) -> Any:
        return NP.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return NP.divmod(other, self)

    def __array_namespace__(self, **_: Any) -> Any:
        return np

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

    def dot(self, other: Any) -> Any:
        """As in NumPy."""
        return NP.dot(self, other)

    def __pow__(self, other: Any) -> Any:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function has not."""
        if isinstance(other, NodeRole):
            return NotImplemented
        number = is_number(self)
        if type(other) in (int, float) and self.dtype.kind == "f" and not number:
            quick: Any = SCALAR_POWERS.get(other, np.power)
            x = np.asarray(self.expr.sample)
            if np.array_equal(operator.pow(x, other), quick(x) if quick.nin == 1 else quick(x, other), equal_nan=True):
                return quick(self) if quick.nin == 1 else quick(self, other)
        return self.tape.call(operator.pow if number else power_of_arrays, (self, other), fixed=True)


def is_number(x: ArrayMethods) -> bool:
    """Is it one of NumPy's numbers in eager code? 0-d results are, but those of nodes; powers have other last bits."""
    return isinstance(x.expr.sample, np.generic) and not getattr(x, "under", False)


def power_of_arrays(x: Any, y: Any) -> Any:
    """``x**y``, not of numbers."""
    return operator.pow(*[np.asarray(v) if isinstance(v, np.generic) else v for v in (x, y)])


OPERATORS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def add_operators() -> None:
    """``x + y``, ``2.0 * x``, ``x += y``, ``-x``; and the questions that are refused."""

    def binary(name: str, ufunc: np.ufunc) -> None:
        def forward(x: Any, y: Any) -> Any:
            return NotImplemented if isinstance(y, NodeRole) else ufunc(x, y)

        def inplace(x: Any, y: Any) -> Any:
            x._assign(ufunc(x, y))
            return x

        setattr(ArrayMethods, f"__{name}__", forward)
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(ArrayMethods, f"__r{name}__", lambda y, x: ufunc(x, y))
            setattr(ArrayMethods, f"__i{name}__", inplace)

    def asked(name: str, word: str) -> None:
        def refuse(self: Any, *_: Any) -> Any:
            raise refuse_number(word)

        setattr(ArrayMethods, f"__{name}__", refuse)

    for name, ufunc in OPERATORS.items():
        binary(name, ufunc)
    for name, one in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(ArrayMethods, f"__{name}__", lambda x, one=one: one(x))

    def power_from_right(y: Any, x: Any) -> Any:
        return y.tape.call(operator.pow if is_number(y) else power_of_arrays, (x, y), fixed=True)

    ArrayMethods.__rpow__ = power_from_right  # type: ignore[attr-defined]
    ArrayMethods.__ipow__ = lambda x, y: (x._assign(x**y), x)[1]  # type: ignore[attr-defined]
    for name, word in {
        "bool": "if, and, or, not, while", "float": "float(x)", "int": "int(x)", "complex": "complex(x)",
        "index": "an index, a range or a shape", "contains": "the question `in`", "round": "round(x)",
        "trunc": "math.trunc(x)",
    }.items():  # fmt: skip
        asked(name, word)


class UnknownError(CompileError, AttributeError):
    """For attributes that NumPy looks for."""


def missing_attribute(name: str) -> Any:
    """An attribute that does not exist; the user's code is told why."""

    def refuse(self: Any) -> Any:
        raise UnknownError(str(refuse_number(f"x.{name}")))

    return property(refuse)


def add_methods(cls: type) -> None:
    """Every other method of ndarray: recorded as a call, or refused. (Not by ``__getattr__``: nodes ask for slots that
    are empty, and that would be slow.)"""

    def recorded(name: str) -> Any:
        method: Any = getattr(np.ndarray, name)
        function: Any = getattr(np, name, None)
        if function in REDUCTIONS or function in VIEWS:
            return lambda self, *args, **options: function(self, *args, **options)
        return lambda self, *args, **options: self.tape.call(
            lambda x, *a, **o: method(np.asarray(x), *a, **o), (self, *args), options, like=function
        )

    def asked(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise refuse_number(f"x.{name}()")

        return refuse

    def written(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise CompileError(
                f"x.{name}() writes in place and cannot be compiled (line {caller()}): make a new array, by np.{name} "
                f"or np.where"
            )

        return refuse

    def hidden(name: str) -> Any:
        def refuse(self: Any, *_: Any) -> Any:
            raise layout_refused(f"x.{name}")

        return property(refuse, refuse)

    for name in ("data", "ctypes", "flat"):
        setattr(cls, name, hidden(name))
    for name in ("__array_interface__", "__array_struct__"):  # NumPy then goes on to ask for __array__
        setattr(cls, name, missing_attribute(name))
    for name in ("__dlpack__", "__dlpack_device__", "__buffer__", "__setstate__", "__getstate__", "__sizeof__"):
        setattr(cls, name, asked(name))
    for name in dir(np.ndarray):
        if name.startswith("_") or hasattr(cls, name) or not callable(getattr(np.ndarray, name)):
            continue
        make = asked if name in VALUES else written if name in WRITING else recorded
        setattr(cls, name, make(name))


add_operators()
