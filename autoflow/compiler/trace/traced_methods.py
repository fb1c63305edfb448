"""The methods and operators of ndarray, for arrays that write down what is done with them. None computes anything."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...backends.duck_arrays import NP, DuckArray, other_methods, refusing, store_results
from ...errors import CompileError
from ...nodes.nodes import NodeRole
from ...nodes.versions import caller
from ...rules.versions import name_out
from ..matching import Place
from .kinds import REDUCTIONS, SCALAR_POWERS, VALUES, VIEWS, WRITING, into_outside, layout_refused, refuse_number
from .written import cast, flatten, method_of, write_down

Array = Any


class TracedMethods(DuckArray):
    """What :class:`~.traced.Traced` has in common with ndarray."""

    __slots__ = ()
    expr: Any  # a Value
    tape: Any
    _assign: Any
    refuse_number = staticmethod(refuse_number)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As in NumPy."""
        if np.dtype(dtype) == self.dtype:
            return self.copy(order) if copy else self
        dtype = np.dtype(dtype)
        how: Any = dtype, order, casting
        call = write_down(lambda x: cast(x, *how), cast, (Place(0), *how), {})
        value = self.tape.program.call(call, (self.expr,), ("astype", dtype), "astype")
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
        return self.tape.call(flatten, (self, order), fixed=True)

    def dot(self, other: Any, out: Any = None) -> Any:
        """As in NumPy."""
        return NP.dot(self, other, out=out)

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

    def __rpow__(self, other: Any) -> Any:
        return self.tape.call(operator.pow if is_number(self) else power_of_arrays, (other, self), fixed=True)

    def __ipow__(self, other: Any) -> Any:
        if is_number(self):
            return self**other
        self._assign(self**other)
        return self

    def yields_to(self, y: Any) -> bool:
        """To nodes, of which our numbers are operands."""
        return isinstance(y, NodeRole)

    def update(self, name: str, ufunc: np.ufunc, y: Any) -> Any:
        """``x += y``. Numbers are not written into: the name gets another one."""
        if is_number(self):
            return ufunc(self, y)
        self._assign(ufunc(self, y))
        return self


def is_number(x: TracedMethods) -> bool:
    """Is it one of NumPy's numbers in eager code? 0-d results are, but those of nodes; powers have other last bits."""
    return isinstance(x.expr.sample, np.generic) and not getattr(x, "under", False)


def power_of_arrays(x: Any, y: Any) -> Any:
    """``x**y``, not of numbers."""
    return operator.pow(*[np.asarray(v) if isinstance(v, np.generic) else v for v in (x, y)])


def assign(x: Any, new: Any) -> None:
    """``out=x``: the array becomes the result."""
    if not isinstance(x, TracedMethods):
        raise into_outside()
    x._assign(new)


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
        function: Any = getattr(np, name, None)
        if function in REDUCTIONS or function in VIEWS:
            return lambda self, *args, **options: function(self, *args, **options)
        method = method_of(name)

        def call(self: Any, *args: Any, **options: Any) -> Any:
            named, options = name_out(function, (self, *args), options)
            out = options.pop("out", None)
            result = self.tape.call(method, named, options, like=function)
            return result if out is None else store_results((out,), result, assign)

        return call

    def asked(name: str) -> Any:
        return refusing(f"x.{name}()")

    def written(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise CompileError(
                f"x.{name}() writes in place and cannot be compiled (line {caller()}): make a new array, or say "
                f"af.compile(f, fallback=True)."
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
    for name in other_methods(cls):
        make = asked if name in VALUES else written if name in WRITING else recorded
        setattr(cls, name, make(name))
