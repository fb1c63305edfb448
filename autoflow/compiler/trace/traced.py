"""Arrays that write down what NumPy does with them: how a function becomes a program.

The compiled function is called once with :class:`Traced` arrays. To everybody else they look like the arrays of another
library: NumPy hands its calls over to them (``__array_ufunc__``, ``__array_function__``), nodes are built on top of
them (``backends/registry.py``), and so the forward pass, the derivatives of the table and the backward pass all run as
they always do, and each NumPy call on the way becomes a value of the :class:`~..program.Program`. Comparisons and
masks too: what a graph of records would take for constant is computed anew in every call.

What cannot be written down is the value itself. Python asks for it in ``if x > 0``, ``float(x)``, ``np.asarray(x)``,
``plain[i] = x``: since a Traced is no ndarray, all of these arrive here, and are refused with the line.

First come the methods and operators that a Traced has in common with ndarray, each recorded or refused; none computes
anything. Then the class itself.
"""

from __future__ import annotations

import operator
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...backends.duck_arrays import NP, DuckArray, other_methods, refusing, run_masked, store_results
from ...base.errors import CompileError
from ...nodes.nodes import NUMPY, NodeRole
from ...nodes.versions import caller
from ...table.shapes import name_out
from ..matching import Place, Value, layout_of
from .doubts import guard_methods
from .kinds import (
    FACTS,
    FILLED,
    MEMORY,
    REDUCTIONS,
    SCALAR_POWERS,
    SLICING,
    UNWRITTEN,
    VALUES,
    VIEWS,
    WRITING,
    check_caller_is_ours,
    into_outside,
    layout_refused,
    mean,
    plain_reduction,
    refuse_number,
)
from .memory import (
    cast,
    flatten,
    itself,
    look_again,
    method_of,
    place_of,
    root,
    update_at,
    write,
    write_down,
    write_into_copy,
)

# ---------------------------------------------------------------- the methods and operators of ndarray


class TracedMethods(DuckArray):
    """What :class:`Traced` has in common with ndarray."""

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
        function = operator.pow if number else power_of_arrays
        return self.tape.call(function, (self, other), fixed=True, raises=self.dtype.kind in "iu")

    def __rpow__(self, other: Any) -> Any:
        function = operator.pow if is_number(self) else power_of_arrays
        return self.tape.call(function, (other, self), fixed=True, raises=self.dtype.kind in "iu")

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
    for name in ("__array_interface__", "__array_struct__"):  # NumPy asks for these before __array__
        setattr(cls, name, property(DuckArray.__array__))
    for name in ("__dlpack__", "__dlpack_device__", "__buffer__", "__setstate__", "__getstate__", "__sizeof__"):
        setattr(cls, name, asked(name))
    for name in other_methods(cls):
        make = asked if name in VALUES else written if name in WRITING else recorded
        setattr(cls, name, make(name))


# ---------------------------------------------------------------- Traced: an array that writes down its calls


CLASS: Any = vars(object)["__class__"]  # what every object has


class Traced(TracedMethods):
    """An array with known shape and dtype, but no numbers yet. See the top of this file."""

    __slots__ = (
        "__weakref__", "borrowed", "held", "memory", "now", "seen", "shared", "source", "tape", "time", "under",
        "viewed",
    )  # fmt: skip
    takes_primitives = True  # kernels ask us, as NumPy's functions do: table/table.py
    borrowed: bool  # does its memory belong to the caller, or to somebody outside? Then it is not written into.
    held: Any  # the recorded array, which lives as long as we do
    memory: Any  # see memory.py: place_of
    now: Value  # what it was when it was last asked
    seen: Value  # of a view: of which value of its source that is a view
    time: int  # how many writes there had been in the recording by then
    shared: bool  # does a call look into this memory in a way that we do not know? Then it is not written into.
    source: Traced | None  # of a view: the array that it looks into
    viewed: Any  # of a view: the function that takes it
    tape: Any  # tape.Tape: the recording that we are part of
    under: bool  # is there a node or view on top of it?

    @staticmethod
    def adopt(x: Any, like: Traced) -> Any:
        """An array of NumPy as one of ours: it meets us in an operation."""
        return like.tape.borrow(like.tape.value(x)) if isinstance(x, np.ndarray) else x

    @property
    def __class__(self) -> Any:
        """For ``isinstance`` and ``x.__class__`` in the function: the class that eager code finds. Our own code sees
        what is really there."""
        real = type(self)
        if sys._getframe(1).f_globals.get("__name__", "").startswith("autoflow."):
            return real
        return getattr(NUMPY, real.__name__) if real is not Traced else type(self.expr.sample)

    @__class__.setter
    def __class__(self, kind: type) -> None:
        CLASS.__set__(self, kind)

    @property
    def expr(self) -> Value:
        """What it is now: writing in place gives it, and all views of the same memory, another value."""
        if self.time != self.tape.writes:
            look_again(self)
        return self.now

    # -- facts

    @property
    def shape(self) -> tuple[int, ...]:
        """As of any array."""
        return self.expr.shape

    @property
    def dtype(self) -> Any:
        """As of any array."""
        return self.expr.dtype if self.expr.dtype is not None else np.asarray(self.expr.sample).dtype

    # Where the numbers lie is another question than which they are. A program has its own buffers, so only our own
    # code is answered: it asks for the sake of speed.

    @property
    def strides(self) -> Any:
        """Of the recorded array, for our own code."""
        check_caller_is_ours("x.strides")
        return np.asarray(self.expr.sample).strides

    @property
    def base(self) -> Any:
        """The array whose memory we look into, for our own code."""
        check_caller_is_ours("x.base")
        return None if self.source is None else root(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where we would lie in memory, as ``nodes/versions.py`` asks arrays that are not NumPy's."""
        check_caller_is_ours("x.__cuda_array_interface__")
        return place_of(self).__array_interface__

    @property
    def flags(self) -> Any:
        """Those of the recorded array, for our own code; setting one changes nothing."""
        check_caller_is_ours("x.flags")
        flags = np.asarray(self.expr.sample).flags
        return SimpleNamespace(writeable=True, c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous)

    def __repr__(self) -> str:
        if self.tape.open:
            raise refuse_number("a text of an array")
        return f"<{self.dtype} array of shape {self.shape}, of a compiled function>"

    # -- NumPy's dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any([isinstance(x, NodeRole) or hasattr(x, "batch_layer") for x in (*inputs, *options.get("out", ()))]):
            return NotImplemented
        out = options.pop("out", None)
        if out is not None and method == "__call__" and options.get("where", True) is not True:
            result = self.tape.call(run_masked, (ufunc, inputs, options.pop("where"), out), options, fixed=True)
        else:
            result = self._ufunc(ufunc, method, inputs, options)
        return result if out is None else store_results(out, result, assign)

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: Any, options: Any) -> Any:
        tape = self.tape
        if method == "__call__" and not options and ufunc.nout == 1:
            values = tuple([tape.value(x) for x in inputs])
            if ufunc.signature is None:
                value = tape.program.ufunc(ufunc, values)
                if ufunc is np.power and value.dtype.kind in "iu":  # of a negative exponent
                    tape.keep(value)
                return tape.new_traced(value)
            if ufunc is np.matmul and len(values[0].shape) == 2 == len(values[1].shape):
                return tape.new_traced(tape.program.product(*values))
        if method == "reduce" and isinstance(inputs[0], Traced):
            where = dict(zip(("axis", "dtype", "out", "keepdims"), inputs[1:], strict=False)) | options
            if plain_reduction(where, self.dtype):
                axis = where.get("axis", 0)
                return tape.new_traced(
                    tape.program.reduce(ufunc, inputs[0].expr, axis, bool(where.get("keepdims", False)))
                )
        if method == "at":
            target = inputs[0]
            if not isinstance(target, Traced):
                raise into_outside()
            write(target, tape.call(update_at, (ufunc, *inputs), fixed=True, raises=True))
            return None
        fixed = method in ("__call__", "accumulate", "outer")
        return tape.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options, fixed=fixed)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if any([issubclass(t, NodeRole) or hasattr(t, "batch_layer") for t in types]):
            return NotImplemented
        if hasattr(function, "compute") and not hasattr(function, "is_kernel"):  # ours: NumPy's functions in it ask us
            return function.compute(*args, **options)
        tape = self.tape
        x = args[0] if args else None
        if function in MEMORY:
            check_caller_is_ours(f"np.{function.__name__}")
            return function(*[place_of(a) if isinstance(a, Traced) else a for a in args])
        if function is np.min_scalar_type and isinstance(x, Traced) and not x.shape:
            raise refuse_number("np.min_scalar_type of a number")
        if function in FACTS:
            return function(*_samples(args), **options)
        if function in UNWRITTEN or (function is np.nan_to_num and not options.get("copy", True)):
            if not isinstance(x, Traced):
                raise into_outside()
            self._write_by(function, args, options)
            return x if function is np.nan_to_num else None
        args, options = name_out(function, args, options)
        if options.get("out") is not None:
            out = options.pop("out")
            return store_results(out if isinstance(out, tuple) else (out,), function(*args, **options), assign)
        if function in FILLED or function in (np.empty_like, np.full_like):
            return self._filled(function, args, options)
        if isinstance(x, Traced):
            if function in REDUCTIONS:
                where = dict(zip(("axis", "dtype"), args[1:], strict=False)) | options
                if len(args) < 4 and plain_reduction(where, x.dtype):
                    axes, keep = where.get("axis"), where.get("keepdims", False)
                    return tape.new_traced(tape.program.reduce(REDUCTIONS[function], x.expr, axes, keep is True))
            if function is np.mean and x.size and x.shape and x.dtype in (np.float64, np.float32):
                where = dict(zip(("axis", "dtype"), args[1:], strict=False)) | options
                if len(args) < 4 and plain_reduction(where, x.dtype):
                    return mean(x, where.get("axis"), where.get("keepdims") is True)
            if function in VIEWS:
                return tape.view(function, x, args[1:], options)
            if function in SLICING:
                return function.__wrapped__(*args, **options)
        return tape.call(function, args, options)

    def _filled(self, function: Any, args: Any, options: Any) -> Any:
        """``np.zeros_like(x)`` and its like: one constant, repeated."""
        if function is np.full_like:
            fill = args[1] if len(args) > 1 else options["fill_value"]
            if isinstance(fill, Traced):
                return self.tape.call(function, args, options)
        sample = function(*_samples(args), **options)
        if function is np.empty_like:
            sample[...] = 0
        if layout_of(sample) is not None:
            return self.tape.new_traced(self.tape.program.constant(sample))
        one = self.tape.program.constant(np.full((), sample.flat[0] if sample.size else 0, sample.dtype))
        return self.tape.new_traced(self.tape.program.broadcast(one, sample.shape, sample))

    # -- writing

    def _assign(self, new: Any) -> None:
        """Become these numbers, in the shape and dtype that the array has."""
        program = self.tape.program
        value = self.tape.value(new)
        if value.dtype is None or value.dtype != self.dtype:
            value = self.tape.new_traced(value).astype(self.dtype, casting="same_kind").expr
        write(self, self.tape.new_traced(program.broadcast(value, self.shape)))

    def _write_by(self, function: Any, args: Any, options: Any) -> None:
        """Write down a function that writes into its first argument: on a copy, which we become."""
        write(args[0], self.tape.call(write_into_copy, (function, *args), options, fixed=True, raises=True))

    def __setitem__(self, index: Any, new: Any) -> None:
        if is_number(self):
            raise TypeError(f"'numpy.{self.dtype.name}' object does not support item assignment")
        if isinstance(new, NodeRole):
            raise CompileError(f"{caller()} writes a node into a plain array: make that array with af.zeros")
        write(self, self.tape.set_items(self, index, new))

    def fill(self, value: Any) -> None:
        """As in NumPy."""
        self[...] = value

    def sort(self, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self._assign(np.sort(self, axis, **options))

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self._assign(np.partition(self, kth, axis, **options))

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """As in NumPy."""
        self._write_by(np.put, (self, indices, values, mode), {})

    # -- ndarray's methods

    def __getitem__(self, index: Any) -> Any:
        parts = index if type(index) is tuple else (index,)
        if all([p is None or p is ... or type(p) in (int, slice) or isinstance(p, np.integer) for p in parts]):
            ends = [v for p in parts if type(p) is slice for v in (p.start, p.stop, p.step)]
            sample = self.expr.sample[index] if not any([isinstance(v, Traced) for v in ends]) else None
            if isinstance(sample, np.ndarray):
                call = write_down(lambda a: a[index], operator.getitem, (Place(0), index), {})
                value = self.tape.program.view(self.expr, "index", repr(index), call, sample)
                return self.tape.new_traced(value, None if is_number(self) else self, operator.itemgetter(index))
        return self.tape.item(self, index)

    def view(self, *args: Any, **options: Any) -> Any:
        """As in NumPy; with one of our classes, the same array as that class: so nodes are made."""
        self.under = True
        kind = args[0] if args else options.get("type")
        if isinstance(kind, type) and issubclass(kind, Traced):
            x = object.__new__(kind)
            x.now = x.seen = self.expr
            x.time = self.time
            x.held, x.tape, x.under, x.source, x.viewed = self.held, self.tape, True, self, itself
            return x
        if not args and not options:
            return self.tape.new_traced(self.expr, self, itself)
        return self.tape.call(np.ndarray.view, (self, *args), options)


def _samples(args: Any) -> Any:
    """Arguments with recorded arrays in place of ours: for questions about shapes and dtypes only."""
    return tuple([x.expr.sample if isinstance(x, Traced) else x for x in args])


add_methods(Traced)
guard_methods(Traced)
