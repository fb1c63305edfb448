"""The methods and operators of ndarray, for arrays that hide their batch.

First what Python may not ask of an array that stands for many: a number that differs between examples. Then the
methods; each says which function it is.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from ..backends.duck_arrays import NP, QUESTIONS, DuckArray, other_methods, refusing
from ..base.errors import BatchError
from ..base.lazy import ROWS
from ..nodes.nodes import Array, NodeRole, value_of
from ..nodes.versions import caller, user_frame

# ---------------------------------------------------------------- what Python may not ask


def refuse_number(what: str) -> BatchError:
    """Python asks for a number that differs between examples."""
    return BatchError(
        f"{what} needs one number, but under af.vmap each example has another (at {users_line()}). Write "
        f"np.where(condition, a, b) instead of an if and of x[mask]; for an array to be filled np.zeros_like(x); or "
        f"call the function for each example, without vmap."
    )


def users_line() -> str:
    """File and line of the first frame outside of autoflow and NumPy."""
    frame = user_frame()
    if frame.f_globals.get("__name__", "").partition(".")[0] != "numpy":
        return caller()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "autoflow"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def refusing_method(word: str, convert: Any) -> Any:
    """The method by which Python asks for a number. A rule of ours may look at numbers, so it is answered if all
    examples agree, and then goes the same way for all. A user's function is refused: with other numbers it might not.
    What all examples share has one number.
    """

    def answer(x: Any) -> Any:
        numbers = x
        while hasattr(numbers, "inner") or isinstance(numbers, NodeRole):
            numbers = value_of(numbers) if isinstance(numbers, NodeRole) else numbers.inner
        if not x.shape and isinstance(numbers, np.ndarray) and numbers.size:
            shared = x.mapped is False and type(x.inner) is np.ndarray
            ours = sys._getframe(1).f_globals.get("__name__", "").startswith(ROWS)
            if shared or (ours and np.all(numbers == numbers.flat[0])):
                return convert(numbers.flat[0])
        raise refuse_number(word)

    return answer


# ---------------------------------------------------------------- methods and operators


class BatchedMethods(DuckArray):
    """What :class:`~.batched.Batched` has in common with ndarray."""

    __slots__ = ()
    inner: Any
    mapped: bool
    batch_layer: Any
    refuse_number = staticmethod(refuse_number)

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
        return self.again(self.inner.copy(order="K" if order == "K" else "C"))

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """As in NumPy."""
        return NP.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def ravel(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order)

    def flatten(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order).copy()

    def conjugate(self) -> Any:
        """As in NumPy."""
        return NP.conjugate(self) if self.dtype.kind == "c" else self

    conj = conjugate

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

    def __pow__(self, other: Any) -> Any:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function has not."""
        if self.yields_to(other):
            return NotImplemented
        if type(other) in (int, float):
            self.batch_layer.check()
            return self.again(self.inner**other)
        return NP.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return NP.power(other, self)

    def __ipow__(self, other: Any) -> Any:
        if not self.shape:  # as in update
            return self**other
        self[...] = self**other  # type: ignore[index]
        return self

    def yields_to(self, y: Any) -> bool:
        """To a node of our layer, or of one inside."""
        layer = getattr(y, "batch_layer", None) if isinstance(y, NodeRole) else None
        return layer is not None and layer.depth >= self.batch_layer.depth

    def update(self, name: str, ufunc: np.ufunc, y: Any) -> Any:
        """``x += y`` in the memory of the batch, by what is behind: a node there records it."""
        if self.yields_to(y):
            return NotImplemented
        if not self.shape:  # of an array x[i] would be a number, and x += y another one
            return ufunc(self, y)
        self.batch_layer.check()
        y, mapped = (y.inner, y.mapped) if getattr(y, "batch_layer", None) is self.batch_layer else (y, False)
        if mapped and not self.mapped:
            self[...] = y  # type: ignore[index] # refused there, with advice
        if mapped and y.ndim < self.inner.ndim:
            y = y.reshape((y.shape[0], *(1,) * (self.inner.ndim - y.ndim), *y.shape[1:]))
        getattr(operator, f"i{name}")(self.inner, y)
        return self


def type_of(x: BatchedMethods) -> Any:
    """Batched, also of a node that has one as its value."""
    return next(cls for cls in type(x).__mro__ if cls.__name__ == "Batched")


WORDS = QUESTIONS | {"index": "plain[i] (write af.Constant(plain)[i]), a range, a shape"}
CONVERT = {"bool": bool, "float": float, "int": int, "complex": complex, "index": int}
VALUES = ("item", "tolist", "tobytes", "tofile", "dump", "dumps")
LAYOUT = ("setflags", "resize", "byteswap", "setfield", "getfield")


def add_methods() -> None:
    """Every other method of ndarray: the function of that name, or refused."""

    def called(name: str) -> Any:
        function: Any = getattr(np, name)
        return lambda self, *args, **options: function(self, *args, **options)

    def hidden(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise BatchError(
                f"x.{name} is about where the numbers of one array lie in memory (at {caller()}): under af.vmap those "
                f"of all examples lie together"
            )

        return refuse

    for name, convert in CONVERT.items():
        setattr(BatchedMethods, f"__{name}__", refusing_method(WORDS[name], convert))
    for name in VALUES:
        setattr(BatchedMethods, name, refusing(f"x.{name}()"))
    for name in LAYOUT:
        setattr(BatchedMethods, name, hidden(f"{name}()"))
    for name in ("data", "ctypes", "flat"):
        setattr(BatchedMethods, name, property(hidden(name)))
    for name in other_methods(BatchedMethods):
        if hasattr(np, name):
            setattr(BatchedMethods, name, called(name))


add_methods()
