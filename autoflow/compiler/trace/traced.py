"""Arrays that write down what NumPy does with them: how a function becomes a program.

The compiled function is called once with :class:`Traced` arrays. To everybody else they look like the arrays of another
library: NumPy passes its calls on to them (``__array_ufunc__``, ``__array_function__``), nodes are built on top of them
(``backends/registry.py``), and so the forward pass, the derivatives of the table and the backward pass all run as
always, and each NumPy call on the way becomes a value of the :class:`~..program.Program`. So do comparisons and masks:
what a graph of records would take for constant is computed again in every call.

Only the value itself cannot be written down. Python asks for it in ``if x > 0``, ``float(x)``, ``np.asarray(x)``,
``plain[i] = x``: since a Traced is not an ndarray, all of these arrive here, and are refused with the line.

Everything that a Traced has in common with ndarray is recorded or refused; nothing computes anything.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backends.duck_arrays import NP, SIGNS, DuckArray, flags_of, flat, map_leaves, private, run_masked, store_results
from ...base.errors import CompileError
from ...base.types import ByName, DTypeLike, Values
from ...nodes.nodes import NodeRole
from ...program.callers import caller
from ...program.source import MOVING, is_written_in_c
from ...table import bodies
from ...table.facts import REDUCTIONS, WRAPPING, of_kind
from ...table.indexing import is_basic
from ...table.shapes import is_given, name_out, positional
from ..matching import Nth, Value, describe_value
from ..program import NUMBERS
from ..run.buffers import types_of
from . import memory
from .doubts import guard_methods, into_outside, is_ours, layout_refused, refuse_number
from .guards import Guards

VIEWS, SLICING = of_kind("shapes", "permutes", "shows"), of_kind("slices")
FACTS, MEMORY = of_kind("asks", "places"), of_kind("places")
LIKES, UNWRITTEN = of_kind("likes"), of_kind("writes")
OVERWRITING = {  # their argument, if they are told to
    np.nan_to_num, np.median, np.nanmedian, np.percentile, np.nanpercentile, np.quantile, np.nanquantile,
}  # fmt: skip
SCALAR_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


def plain_axes(given: ByName, dtype: DTypeLike, usual: object = None) -> tuple[Any, bool] | None:
    """The axis of a reduction, and keepdims; None if more is given."""
    axis, keep = given.get("axis", usual), given.get("keepdims")
    axes = axis if isinstance(axis, tuple) and axis else (axis,)
    is_plain = axis is None or all([isinstance(a, (int, np.integer)) and type(a) is not bool for a in axes])
    is_plain = is_plain and dtype != np.float16 and given.get("where", True) is not None  # where=None says something
    if not is_plain or {name for name, v in given.items() if is_given(v)} - {"axis", "keepdims"}:
        return None
    return axis, is_given(keep) and bool(keep)


def power_of_arrays(x: object, y: object) -> Any:
    """``x**y``, not of numbers."""
    return operator.pow(*[np.asarray(v) if isinstance(v, np.generic) else v for v in (x, y)])


def never_equal(ufunc: np.ufunc, x: Any, y: Any = None) -> bool:
    """Is it ``==`` or ``!=`` of numbers and what equals none of them: a text, None, a function?"""
    if ufunc not in (np.equal, np.not_equal) or x.dtype.kind not in "biufc" or hasattr(type(y), "__array_ufunc__"):
        return False
    dtype = np.asarray(y).dtype
    return type(y).__eq__ is object.__eq__ if dtype.hasobject else not types_of(ufunc, (x.dtype, dtype))  # type: ignore[comparison-overlap]


def assign(x: object, new: object) -> None:
    """``out=x``: the array becomes the result."""
    if not isinstance(x, Traced):
        raise into_outside()
    x.overwrite(new)


# ---------------------------------------------------------------- Traced: an array that writes down its calls


class Traced(DuckArray):
    """An array with known shape and dtype, but no numbers yet. See the top of this file."""

    __slots__ = (
        "__weakref__", "borrowed", "held", "memory", "now", "shared", "source", "tape", "time", "under", "viewed",
    )  # fmt: skip
    takes_primitives = True  # kernels ask us, as NumPy's functions do: table/table.py
    borrowed: bool  # does its memory belong to the caller, or to somebody outside? Then it is not written into.
    held: Any  # the recorded array, which lives as long as we do
    memory: Any  # see memory.py: dummy_of
    now: Value  # what it was when it was last asked
    time: int  # how many writes there had been in the recording by then
    shared: bool  # does a call look into this memory in a way that we do not know? Then it is not written into.
    source: Traced | None  # of a view: the array that it looks into
    viewed: Any  # of a view: the function that takes it
    tape: Any  # tape.Tape: the recording that we are part of
    refuse_number, refuse_layout = staticmethod(refuse_number), staticmethod(layout_refused)
    under: bool  # is there a node or view on top of it?

    @staticmethod
    def adopt(x: object, like: Traced) -> Any:
        """An array of NumPy as one of ours: it meets us in an operation."""
        return like.tape.borrow(like.tape.value(x)) if isinstance(x, np.ndarray) else x

    def eager_class(self) -> type:
        """The class of the recorded array in eager code."""
        return type(self.expr.sample)

    @property
    def is_number(self) -> bool:
        """0-d results are, but those of nodes; powers have other last bits. So is the truth value of np.allclose."""
        return not isinstance(self.expr.sample, np.ndarray) and not getattr(self, "under", False)

    numpys: Any = property(lambda self: np.generic if self.is_number else np.ndarray)  # the class of such methods

    @property
    def expr(self) -> Value:
        """Its present value: writing in place gives it, and all views of the same memory, another one."""
        if self.time != self.tape.writes:
            memory.look_again(self)
        return self.now

    # -- facts

    def dtype_of(self) -> np.dtype[Any]:
        """The dtype of the value; for a Python number that of an array made of it."""
        value = self.expr
        return value.dtype if value.dtype is not None else np.asarray(value.sample).dtype

    shape = property(lambda self: self.expr.shape, DuckArray.told_of_shape)
    dtype = property(dtype_of, DuckArray.told_of_shape)

    @property
    def reports_nan(self) -> bool:
        """Is a call in which NaN arises made again by eager code? From now on, whatever the caller ignores."""
        self.tape.program.reports_nan = True
        return True

    # Where the numbers lie is a different question from what they are. A program has its own buffers, so only our own
    # code is answered: it asks for the sake of speed.

    def is_asked_by_us(self, what: str) -> bool:
        """For the sake of speed, not by the user."""
        return is_ours(what, 4)  # behind the guard of the property

    strides = private("strides", lambda x: np.asarray(x.expr.sample).strides)
    base = private("base", lambda x: None if x.source is None else memory.root(x))
    flags = private("flags", lambda x: flags_of(np.asarray(x.expr.sample)))  # setting one changes nothing
    __cuda_array_interface__ = private("__cuda_array_interface__", lambda x: memory.dummy_of(x).__array_interface__)

    def __repr__(self) -> str:
        if self.tape.open:
            raise refuse_number("a text of an array")
        return f"<{self.dtype} array of shape {self.shape}, of a compiled function>"

    def __bool__(self) -> bool:
        """The answer of the recording, only for NumPy's own code: whether to raise an error, or a faster way. Each run
        compares it, and if it has changed, eager code runs."""
        if sys._getframe(2).f_globals.get("__name__") != bodies.__name__:  # behind the guard of the method
            raise refuse_number("if, and, or, not, while")
        answer = bool(self.expr.sample)
        self.tape.call(memory.check_answer, (self, answer), fixed=True, raises=True)
        return answer

    # -- NumPy's dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        for x in (*inputs, *options.get("out", ())):
            if isinstance(x, NodeRole) or hasattr(x, "batch_layer") or hasattr(type(x), "__carries_nodes__"):
                return NotImplemented
        out = options.pop("out", None)
        if out is not None and method == "__call__" and options.get("where", True) is not True:
            result = self.tape.call(run_masked, (ufunc, inputs, options.pop("where"), out), options, fixed=True)
            return store_results(out, result, assign)
        result = self._ufunc(ufunc, method, inputs, options)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return result if out is None else self.store(function, inputs, options, out, result)

    def store(self, function: Any, args: Any, options: Any, out: Any, result: Any) -> Any:
        """``out=`` becomes the result. If it has another dtype, sums and the like are computed in that; if it has
        another shape or order in memory, NumPy decides whether to repeat the result or to refuse it."""
        if isinstance(out[0], Traced) and not isinstance(result, tuple):
            if result.ndim > out[0].ndim:  # NumPy may not survive it: np.cumsum of a number into another one
                raise ValueError("NumPy refuses results that do not fit into out=")
            is_like = describe_value(result) == describe_value(out[0])
            if not is_like or not (isinstance(function, np.ufunc) or memory.same_layout(result.held, out[0].held)):
                result = self.tape.call(memory.compute_into, (function, out[0], *args), options, fixed=True)
        return store_results(out, result, assign)

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: Any, options: Any) -> Any:
        tape = self.tape
        is_usual = type(self.held) is np.ndarray and type(inputs[0]) in USUAL and type(inputs[-1]) in USUAL
        by_name = is_usual or options or method != "__call__" or ufunc not in SIGNS
        if not by_name and sys._getframe(4).f_globals.get("__name__") == DuckArray.__module__:  # behind two guards
            if never_equal(ufunc, *inputs):
                return tape.own_memory(SIGNS[ufunc](*_samples(inputs)))
            if self.are_special(ufunc, inputs):
                return tape.call(SIGNS[ufunc], inputs, fixed=True, raises=True)
        if method == "__call__" and not options and ufunc.nout == 1:
            values = tuple([tape.value(x) for x in inputs])
            if ufunc is np.square and self.is_number and self.dtype.kind == "c":  # other last bits than of a 0-d array
                return tape.call(ufunc, inputs, fixed=True)
            if ufunc.signature is None:
                if ufunc.ntypes == 1:  # perhaps one of np.frompyfunc's, with a function that reads or keeps something
                    tape.given.append(Guards(ufunc, []))
                value = tape.program.ufunc(ufunc, values)
                if ufunc is np.power and value.dtype.kind in "iu":  # of a negative exponent
                    tape.keep(value)
                return tape.new_traced(value)
            if ufunc is np.matmul and len(values[0].shape) == 2 == len(values[1].shape):
                return tape.new_traced(tape.program.product(*values))
        how = plain_axes(options, self.dtype, 0) if method == "reduce" else None  # NumPy names all but the array
        if how is not None:
            return tape.new_traced(tape.program.reduce(ufunc, tape.value(inputs[0]), *how))
        if method == "at":
            return memory.write(inputs[0], tape.call(memory.update_at, (ufunc, *inputs), fixed=True, raises=True))
        fixed = method in ("__call__", "accumulate", "outer")
        return tape.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options, fixed=fixed)

    def are_special(self, ufunc: np.ufunc, operands: Any) -> bool:
        """Does an operator of these compute otherwise than the ufunc: of complex numbers, or numbers of Python's?"""
        kinds = [type(x.held) if isinstance(x, Traced) else type(x) for x in operands]
        if any([issubclass(kind, Sequence) for kind in kinds]):
            in_bytes = not {bytearray, memoryview}.isdisjoint(kinds)  # these compare bytes, if they are asked first
            answer = SIGNS[ufunc](*_samples(operands))
            if in_bytes or not isinstance(answer, (np.ndarray, np.generic, *NUMBERS)):
                raise refuse_number("an operator of a number and a list, a text or other sequence")
            return type(answer) in NUMBERS
        if all([kind.__module__ == "builtins" for kind in kinds]):
            return True
        if not all([getattr(x, "is_number", isinstance(x, (np.generic, *NUMBERS))) for x in operands]):
            return False
        self.tape.gives_pythons |= {complex, np.float64} == {*kinds}  # as 1j == x[0] does
        samples = [self.tape.value(x).sample for x in operands]
        dtype = np.result_type(*samples)
        if dtype.kind in "iu" and ufunc in WRAPPING:
            SIGNS[ufunc](*samples)  # NumPy reports what does not fit, which the function does not
        return (ufunc in (np.multiply, np.absolute) and dtype.kind == "c") or kinds == [complex, np.float64]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if any([issubclass(t, NodeRole) or hasattr(t, "batch_layer") for t in types]):
            return NotImplemented
        if (compute := getattr(function, "compute", function)) is not function:  # NumPy's functions in it ask us
            return compute(*args, **options)
        tape = self.tape
        args = args or tuple([options.pop(name) for name in positional(function)[:1] if name in options])
        x: Any = args[0] if args else None
        if function in MEMORY:
            if not is_ours(f"np.{function.__name__}", 3):
                raise layout_refused(f"np.{function.__name__}")
            return function(*[memory.dummy_of(a) if isinstance(a, Traced) else a for a in args])
        if function is np.min_scalar_type and not x.shape:
            raise refuse_number("np.min_scalar_type of a number")
        if function in FACTS:
            return function(*_samples(args), **options)
        arguments = dict(zip(positional(function), args, strict=False)) | options if function in OVERWRITING else {}
        if arguments.get("overwrite_input"):
            raise CompileError(f"overwrite_input=True at {caller()} leaves an array in an unknown order: leave it out")
        if function in UNWRITTEN or not arguments.get("copy", True):
            memory.write(x, tape.call(memory.write_into_copy, (function, *args), options, fixed=True, raises=True))
            return x if function is np.nan_to_num else None
        args, options = name_out(function, args, options)
        if options.get("out") is not None:
            out = options.pop("out")
            out = out if isinstance(out, tuple) else (out,)
            return self.store(function, args, options, out, function(*args, **options))
        if function in LIKES:
            return self._filled(function, args, options)
        if isinstance(x, Traced):
            if function in REDUCTIONS or function is np.mean:
                how = plain_axes(dict(zip(("axis", "dtype"), args[1:], strict=False)) | options, x.dtype)
                if how is not None and function in REDUCTIONS:
                    return tape.new_traced(tape.program.reduce(REDUCTIONS[function], x.expr, *how))
                if how is not None and x.size and x.shape and x.dtype in (np.float64, np.float32):
                    total: Any = NP.sum(x, axis=how[0], keepdims=how[1])  # as NumPy's mean of these
                    return np.divide(total, x.size // total.size)
            if function in VIEWS:
                return tape.view(function, x, args[1:], options)
            if function in SLICING:
                return function.__wrapped__(*args, **options)
        return tape.call(function, args, options)

    def _filled(self, function: Any, args: Any, options: Any) -> Traced:
        """``np.zeros_like(x)`` and its like: one constant, repeated."""
        if any([isinstance(v, Traced) for v in (*args[1:], *options.values())]):  # what np.full_like fills in
            return self.tape.call(function, args, options)
        sample = function(*_samples(args), **options)
        if function is np.empty_like and not sample.dtype.hasobject:
            sample[...] = 0
        return self.tape.own_memory(sample)

    # -- writing

    def overwrite(self, new: object) -> None:
        """Become these numbers, in the shape and dtype that the array has."""
        value = self.tape.value(new)
        if value.shape != self.shape:
            raise ValueError(f"an array of shape {value.shape} is written into one of shape {self.shape}")
        if value.dtype is None or value.dtype != self.dtype:
            if isinstance(value.sample, np.generic):  # which would have the byte order of this machine
                value = self.tape.program.as_array(value)
            value = self.tape.new_traced(value).astype(self.dtype, casting="same_kind").expr
        memory.write(self, self.tape.new_traced(value))

    def __setitem__(self, index: object, new: object) -> None:
        if isinstance(new, NodeRole):
            raise CompileError(f"{caller()} writes a node into a plain array: make that array with af.zeros")
        if isinstance(new, Traced) and memory.root(new) is memory.root(self) and is_written_in_c(3):
            raise self.refuse_layout(MOVING)
        raises = any([isinstance(v, Traced) for v in flat(index)])
        memory.write(self, self.tape.call(memory.set_items, (self, index, new), fixed=True, raises=raises))

    # -- ndarray's methods

    def cast(self, dtype: DTypeLike, order: str, casting: str) -> Traced:
        """A copy of another dtype, or in another order in memory."""
        if dtype == self.dtype:
            return self.copy(order)
        how: Any = dtype, order, casting
        call = memory.write_down(lambda x: memory.cast(x, *how), memory.cast, (Nth(0), *how), {})
        return self.tape.new_traced(self.tape.program.call(call, (self.expr,), how, memory.cast))

    def copy(self, order: str = "C") -> Traced:
        """As in NumPy."""
        other = order == "F" or (order != "K" and self.expr.layout is not None) or not self.expr.is_dense
        if other and not self.is_number:
            return self.tape.call(np.ndarray.copy, (self, order), fixed=True)
        return self.tape.new_traced(self.expr)

    def flatten(self, order: object = "C") -> Traced:
        """As in NumPy."""
        return self.tape.call(memory.flatten, (self, order), fixed=True)

    def __pow__(self, other: Any) -> Traced:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function lacks."""
        if isinstance(other, NodeRole):
            return NotImplemented
        number = self.is_number
        if type(other) in (int, float) and self.dtype.kind == "f" and not number:
            quick: Any = SCALAR_POWERS.get(other, np.power)
            x = np.asarray(self.expr.sample)
            rest = () if quick.nin == 1 else (other,)
            with np.errstate(all="ignore"):
                same = np.array_equal(operator.pow(x, other), quick(x, *rest), equal_nan=True)
            if same:
                return quick(self, *rest)
        function = operator.pow if number else power_of_arrays
        return self.tape.call(function, (self, other), fixed=True, raises=self.dtype.kind in "iu")

    def __rpow__(self, other: object) -> Traced:
        function = operator.pow if self.is_number else power_of_arrays
        return self.tape.call(function, (other, self), fixed=True, raises=self.dtype.kind in "iu")

    def yields_to(self, y: object) -> bool:
        """Does the operand compute the result: a node, which takes our array as an operand?"""
        return isinstance(y, NodeRole)

    def update(self, name: str, ufunc: np.ufunc, y: object) -> Any:
        """``x += y``. A number is not written into: the name gets a new one."""
        if self.is_number:
            return getattr(operator, f"__{name}__")(self, y)
        self.overwrite(ufunc(self, y))
        return self

    def __getitem__(self, index: Any) -> Traced:
        if is_basic(index) and not any([isinstance(v, Traced) for v in flat(index)]):
            index = map_leaves(index, memory.as_index)
            sample = self.expr.sample[index]
            if isinstance(sample, np.ndarray):
                call = memory.write_down(lambda a: a[index], operator.getitem, (Nth(0), index), {})
                value = self.tape.program.view(self.expr, "index", repr(index), call, sample)
                return self.tape.new_traced(value, None if self.is_number else self, operator.itemgetter(index))
        return self.tape.item(self, index)

    def getfield(self, *args: object, **options: object) -> Traced:
        """As in NumPy."""
        return self.tape.call(self.numpys.getfield, (self, *args), options)

    def view(self, *args: object, **options: object) -> Any:
        """As in NumPy; with one of our classes, the same array as that class: so nodes are made."""
        kind = args[0] if args else options.get("type")
        if isinstance(kind, type) and issubclass(kind, Traced):
            x = object.__new__(kind)
            x.now, x.time, self.under = self.expr, self.time, True
            x.held, x.tape, x.under, x.source, x.viewed = self.held, self.tape, True, self, memory.itself
            return x
        if not args and not options:
            return self if self.is_number else self.tape.new_traced(self.expr, self, memory.itself)
        return self.tape.call(self.numpys.view, (self, *args), options)


def _samples(args: Any) -> Values:
    """Arguments with our arrays replaced by recorded ones: for questions about shapes and dtypes only."""
    return tuple([x.expr.sample if isinstance(x, Traced) else x for x in args])


USUAL = frozenset({Traced, np.ndarray, np.float64, *NUMBERS})
for _name in ("__array_interface__", "__array_struct__"):  # NumPy asks for these before __array__
    setattr(Traced, _name, property(DuckArray.__array__))
setattr(Traced, "__buffer__", DuckArray.__array__)  # noqa: B010 - from Python 3.12 on it asks for this, too
guard_methods(Traced)
