"""The methods and operators of ndarray, for arrays that hide their batch. Each says which function it is."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..errors import BatchError
from ..nodes.nodes import NodeRole
from ..nodes.versions import caller
from .questions import refuse_number, refusing_method

Array = Any
NP: Any = np  # what it is called with are arrays of ours, of which its types know nothing


class ArrayMethods:
    """What :class:`~.batched.Batched` has in common with ndarray."""

    __slots__ = ()
    inner: Any
    mapped: bool
    batch_layer: Any
    dtype: Any

    def again(self, inner: Array) -> Any:
        """Another array of the same examples."""
        return type_of(self)(inner, self.batch_layer, self.mapped)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As in NumPy."""
        self.batch_layer.check()
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        return self.again(self.inner.astype(dtype, casting=casting))

    def copy(self, order: str = "C") -> Any:
        """As in NumPy."""
        return self.again(self.inner.copy())

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """As in NumPy."""
        return NP.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def ravel(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order)

    def flatten(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order).copy()

    def transpose(self, *axes: Any) -> Any:
        """As in NumPy."""
        return NP.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    T = property(lambda self: NP.transpose(self))
    mT = property(lambda self: NP.matrix_transpose(self))  # noqa: N815 - NumPy's name
    real = property(lambda self: NP.real(self) if self.dtype.kind == "c" else self)
    imag = property(lambda self: NP.imag(self))

    def conjugate(self) -> Any:
        """As in NumPy."""
        return NP.conjugate(self) if self.dtype.kind == "c" else self

    conj = conjugate

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return NP.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return NP.mean(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def fill(self, value: Any) -> None:
        """As in NumPy."""
        self[...] = value  # type: ignore[index]

    def sort(self, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self[...] = NP.sort(self, axis=axis, **options)  # type: ignore[index]

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self[...] = NP.partition(self, kth, axis=axis, **options)  # type: ignore[index]

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """As in NumPy."""
        return NP.compress(condition, self, axis=axis, out=out)

    def __divmod__(self, other: Any) -> Any:
        return NP.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return NP.divmod(other, self)

    def __array_namespace__(self, **_: Any) -> Any:
        return np

    def __pow__(self, other: Any) -> Any:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function has not."""
        if is_deeper_node(other, self):
            return NotImplemented
        if type(other) in (int, float):
            self.batch_layer.check()
            return self.again(self.inner**other)
        return NP.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return NP.power(other, self)

    def __ipow__(self, other: Any) -> Any:
        self[...] = self**other  # type: ignore[index]
        return self


def is_deeper_node(y: Any, x: ArrayMethods) -> bool:
    """Is ``y`` a node of x's layer, or of one inside? Then it computes."""
    layer = getattr(y, "batch_layer", None) if isinstance(y, NodeRole) else None
    return layer is not None and layer.depth >= x.batch_layer.depth


def type_of(x: ArrayMethods) -> Any:
    """Batched, also of a node that has one as its value."""
    return next(cls for cls in type(x).__mro__ if cls.__name__ == "Batched")


OPERATORS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
ASKED = {
    "bool": ("if, and, or, not, while", bool),
    "float": ("float(x)", float),
    "int": ("int(x)", int),
    "complex": ("complex(x)", complex),
    "index": ("plain[i] (write af.Constant(plain)[i]), a range, a shape", int),
}
REFUSED = {"contains": "the question `in`", "round": "round(x)", "trunc": "math.trunc(x)"}
VALUES = ("item", "tolist", "tobytes", "tofile", "dump", "dumps")
LAYOUT = ("setflags", "resize", "byteswap", "setfield", "getfield")


def write_over(x: Any, name: str, y: Any) -> None:
    """``x += y`` in the memory of the batch, by what is behind: a node there records it."""
    x.batch_layer.check()
    y, mapped = (y.inner, y.mapped) if getattr(y, "batch_layer", None) is x.batch_layer else (y, False)
    if mapped and not x.mapped:
        x[...] = y  # refused there, with advice
    if mapped and y.ndim < x.inner.ndim:
        y = y.reshape((y.shape[0], *(1,) * (x.inner.ndim - y.ndim), *y.shape[1:]))
    getattr(operator, f"i{name}")(x.inner, y)


def add_operators() -> None:
    """``x + y``, ``2.0 * x``, ``x += y``, ``-x``; and the questions that are refused."""

    def binary(name: str, ufunc: np.ufunc) -> None:
        def forward(x: Any, y: Any) -> Any:
            return NotImplemented if is_deeper_node(y, x) else ufunc(x, y)

        def inplace(x: Any, y: Any) -> Any:
            if is_deeper_node(y, x):
                return NotImplemented
            if not x.shape:  # of an array x[i] would be a number, and x += y another one
                return ufunc(x, y)
            write_over(x, name, y)
            return x

        setattr(ArrayMethods, f"__{name}__", forward)
        if name not in COMPARISONS:
            setattr(ArrayMethods, f"__r{name}__", lambda y, x: ufunc(x, y))
            setattr(ArrayMethods, f"__i{name}__", inplace)

    for name, ufunc in OPERATORS.items():
        binary(name, ufunc)
    for name, one in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(ArrayMethods, f"__{name}__", lambda x, one=one: one(x))


def add_methods() -> None:
    """Every other method of ndarray: the function of that name, or refused."""

    def called(name: str) -> Any:
        function: Any = getattr(np, name)
        return lambda self, *args, **options: function(self, *args, **options)

    def refusing(word: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise refuse_number(word)

        return refuse

    def hidden(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise BatchError(
                f"x.{name} is about where the numbers of one array lie in memory (at {caller()}): under af.vmap those "
                f"of all examples lie together"
            )

        return refuse

    for name, (word, convert) in ASKED.items():
        setattr(ArrayMethods, f"__{name}__", refusing_method(word, convert))
    for name, word in REFUSED.items():
        setattr(ArrayMethods, f"__{name}__", refusing(word))
    for name in VALUES:
        setattr(ArrayMethods, name, refusing(f"x.{name}()"))
    for name in LAYOUT:
        setattr(ArrayMethods, name, hidden(f"{name}()"))
    for name in ("data", "ctypes", "flat"):
        setattr(ArrayMethods, name, property(hidden(name)))
    for name in dir(np.ndarray):
        if name.startswith("_") or hasattr(ArrayMethods, name) or not callable(getattr(np.ndarray, name)):
            continue
        if hasattr(np, name):
            setattr(ArrayMethods, name, called(name))


add_operators()
add_methods()
