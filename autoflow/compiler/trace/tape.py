"""The recording itself: from a NumPy call with Traced arrays to a value of the program.

A call is written down with its arrays taken out: ``np.concatenate([x, y], axis=0)`` becomes a function of (x, y), with
a :class:`~..matching.Nth` in place of each. So any NumPy function can be a call of a program.

The shape of a result may depend on values: ``x[x > 2]``, ``np.nonzero(x)``, ``np.repeat(x, counts)``; so may the dtype
of ``np.linalg.eig(x)``. While a function is recorded shapes are known, so Python may have counted, divided or branched
by them, and it is not known where that went. Such a call is therefore made in every run, needed or not, and its result
is compared with the recording (``run/buffers.py``). The functions whose result shapes follow from those of the arrays
alone are listed in ``table/facts.py``; a function that is missing there is only called more often.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Set
from threading import get_ident
from typing import Any
from weakref import ref

import numpy as np

from ...backends.duck_arrays import flat, map_leaves, tuple_like
from ...backprop.second_runs import same_state
from ...base.errors import CompileError
from ...nodes.versions import WRITEABLE, AnyFunction, Array, owner_of
from ...program.callers import caller
from ...table.facts import FIXED, RAISING, of_kind
from ..matching import CAPTURED, NUMBERS_AND_TEXT, UFUNC, Nth, Value, fill_slots, is_immutable, layout_of
from ..program import NUMBERS, Program
from .doubts import Abandoned, Reporting, check_class
from .guards import Guards
from .memory import as_index, write_down
from .traced import Traced


def strip(x: object, arrays: list[Any], others: list[Any] | None = None) -> Any:
    """A copy of ``x`` with a Place for each array, also inside tuples, lists, dicts and slices. ``arrays`` gets the
    arrays, and ``others`` what may change and is no copy: functions made in the recording, objects."""

    def take(v: object) -> Any:
        if isinstance(v, (Traced, np.ndarray)):
            arrays.append(v)
            return Nth(len(arrays) - 1)
        if type(v) in NUMBERS_AND_TEXT:
            return v
        v = as_index(v)
        if others is not None and not is_immutable(v):
            others.append(v)
        return v

    return map_leaves(x, take)


def holds(x: object, kind: type | tuple[type, ...]) -> bool:
    """Is there a Traced in it, which is computed again in every run, or a Place of one?"""
    return any([isinstance(v, kind) for v in flat(x)])


SAME_ORDER, PERMUTING = of_kind("shapes"), of_kind("permutes")
ARRAYS = (np.ndarray, np.generic, *NUMBERS)
ARRAY_OPTIONS = frozenset({"where", "weights", "prepend", "append", "initial", "x", "default", "min", "max"})


def has_fixed_shape(function: Any, args: Any, options: Any) -> bool:
    """``args`` and ``options`` with a Place for each array.

    >>> has_fixed_shape(np.repeat, (Nth(0), 2), {}), has_fixed_shape(np.repeat, (Nth(0), Nth(1)), {})
    (True, False)
    >>> has_fixed_shape(np.where, (Nth(0),), {})
    False
    """
    if isinstance(function, np.ufunc):
        return function.signature is None or not options
    if function is np.einsum:
        return not isinstance(args[0], Nth) and not holds(options, Nth)
    if function not in FIXED or (function is np.where and len(args) < 3):
        return False
    rest = [v for name, v in options.items() if name not in ARRAY_OPTIONS]
    return not holds(args[FIXED[function] :], Nth) and not holds(rest, Nth)


def gives_object(value: Value, result: Any) -> bool:
    """Does such a result, not an array, come from an array of objects? (Operations with Python's numbers may give
    others, as ``1j * np.float64(2)`` does, where that number is not an operand, and np.allclose gives a boolean.)"""
    operands = [x.sample for x in value.args]
    if any([x.dtype.hasobject for x in operands if hasattr(x, "dtype")]):
        return True
    are_numpys = all([isinstance(x, (np.ndarray, np.generic)) for x in operands])
    becomes_complex = type(result) is complex and not any(map(np.iscomplexobj, operands))
    others = np.generic if value.kind == UFUNC else (np.generic, bool)
    return are_numpys and not isinstance(result, others) and not becomes_complex


def has_fixed_places(index: object, arrays: list[Any]) -> bool:
    """Does ``x[index]`` have the same number of elements for all values in ``index``? (Not for masks and slices by
    arrays.)

    index : with a Place for each array. arrays : these arrays.
    """
    parts = index if type(index) is tuple else (index,)
    return all([arrays[p.k].dtype.kind in "iu" if isinstance(p, Nth) else not holds(p, Nth) for p in parts])


RECORDINGS: list[Tape] = []  # that run now, in all threads, the latest last


def tape_here() -> Any:
    """The latest recording of this thread; None if it has none."""
    here = get_ident()
    return next((tape for tape in reversed(RECORDINGS) if tape.thread == here), None)


class Tape:
    """One recording: the program that grows, and the Traced arrays that look at it."""

    def __init__(self, named: Set[str] = frozenset(), outside: Container[int] = ()) -> None:
        """``named``: all names in the code that is recorded. ``outside``: the ids of arrays that it finds outside."""
        self.reason: Exception | None = None  # why it cannot be a program: see doubts.py
        self.settings = Reporting(named)
        self.program = Program()
        self.open = True
        self.thread = get_ident()
        self.writes = 0  # into our arrays
        self.alive: list[Any] = []  # weak references to all our arrays
        self.outside = outside
        self.given: list[Guards] = []  # of what calls are given besides arrays, and cannot be copied
        self.gives_pythons = False  # has one of our arrays been a number of Python's, which has other attributes?
        self.copies: dict[float, tuple[Value, Any]] = {}  # of other plain arrays, as they were when they were read

    def doubt(self, error: Exception) -> BaseException:
        """What to raise instead of ``error``; the recording fails, whatever the function does with it. If our recording
        has ended, a later one of this thread has met one of our values."""
        tape = self if self.open else tape_here()
        if tape is None:
            return error
        tape.reason = tape.reason or error
        return Abandoned()

    def value(self, x: object) -> Value:
        """The value of anything that NumPy accepts as an array."""
        if isinstance(x, Traced):
            if x.tape is not self or not self.open:
                raise self.doubt(
                    CompileError(
                        f"a value of an earlier recording of a compiled function is used at {caller()}: that function "
                        f"keeps values in an attribute, a list or a global. Return them instead."
                    )
                )
            return x.expr
        if type(x) in NUMBERS or isinstance(x, np.generic):
            return self.program.constant(x)
        check_class(x)
        x = np.asarray(x)
        if not x.ndim and x.dtype.kind == "O":
            raise self.doubt(TypeError(f"{caller()} calls NumPy with {x.item()!r:.60}, which is not a number"))
        value = self.program.capture(x)
        if id(x) not in self.outside:
            was = self.copies.setdefault(value.number, (value, x.copy("K")))[1]
            if not same_state(was, x):
                self.settle()
                return self.value(x)
        return value

    def settle(self) -> None:
        """Keep plain arrays that the function made, and wrote into after use, in the program as they were then; and
        those in a buffer from outside, which is a guard, and has a fixed size while an array looks into it."""
        for value, was in self.copies.values():
            buffer = getattr(owner_of(value.sample).base, "obj", None)
            if id(buffer) in self.outside or not same_state(was, value.sample):
                self.program.made.pop((CAPTURED, id(value.sample)), None)
                value.sample = was

    def new_traced(self, value: Value, view_of: Traced | None = None, take: AnyFunction | None = None) -> Traced:
        """A new array object for that value; in the memory of another one, if it is the view ``take(view_of)``."""
        x = Traced()
        x.now, x.tape, x.held, x.source, x.time = value, self, value.sample, view_of, self.writes
        self.gives_pythons |= type(x.held) in NUMBERS
        if not isinstance(x.held, np.ndarray) and value.args and gives_object(value, x.held):
            raise CompileError(
                f"{value.name} at {caller()} gives an object of an array of objects, and no number: it cannot be "
                f"compiled. Compute with numbers, or say af.compile(f, fallback=True)."
            )
        self.alive.append(ref(x))
        if view_of is not None:
            x.viewed = take
            x.under = view_of.under = True
        return x

    def borrow(self, value: Value) -> Traced:
        """The same for an argument, or an array from outside: a write into it would be seen there."""
        x = self.new_traced(value)
        x.borrowed = True
        return x

    def own_memory(self, sample: Array) -> Traced:
        """A new array with these numbers, which the function will write into; if all are equal, a repeated constant."""
        if type(sample) is not np.ndarray:
            return sample
        one = np.full((), sample.flat[0] if sample.size else 0, sample.dtype)
        is_equal = not sample.dtype.hasobject and sample.tobytes() == one.tobytes() * sample.size
        if layout_of(sample) is not None or not sample.dtype.isnative or not is_equal:  # a ufunc gives native
            return self.new_traced(self.program.constant(sample))
        return self.new_traced(self.program.broadcast(self.program.constant(one), sample.shape, sample))

    def wrap_result(self, value: Value) -> Any:
        """The result of a call, as its caller expects it: one array, or a tuple of them."""
        result = value.sample
        if isinstance(result, np.ndarray) and type(result) is not np.ndarray:
            raise CompileError(
                f"{value.name} at {caller()} makes a {type(result).__name__}, whose arithmetic may be its own: compute "
                f"with plain arrays, or say af.compile(f, fallback=True)."
            )
        if isinstance(result, ARRAYS):
            is_locked = isinstance(result, np.ndarray) and not result.flags.num & WRITEABLE
            return self.borrow(value) if is_locked else self.new_traced(value)  # ``x.imag`` of real numbers is
        if isinstance(result, (tuple, list)) and all([isinstance(r, ARRAYS) for r in result]):
            return tuple_like(result, [self.new_traced(self.program.item(value, k)) for k in range(len(result))])
        raise CompileError(f"{value.name} at {caller()} returns more than arrays: it cannot be compiled")

    def call(
        self, function: AnyFunction, args: Any, options: Any = None, *, shares: bool = False,
        fixed: bool | None = None, raises: bool = False,
    ) -> Any:  # fmt: skip
        """Write down ``function(*args, **options)``, any function.

        shares : it may return a view of an argument.
        fixed : do shape and dtype follow from those of the arrays? If it is not given, the function tells.
        raises : may it raise an error for some values? So may NumPy functions that are known for it.
        """
        operands, others = list[Any](), list[Any]()
        args, options = strip(tuple(args), operands, others), strip(options or {}, operands, others)
        for x in others:
            self.given.append(Guards(x, []))
        if fixed is None:
            fixed = has_fixed_shape(function, args, options)
        values = [self.value(x) for x in operands]
        numbers = [k for k, v in enumerate(values) if isinstance(v.sample, np.generic)]
        array_numbers = frozenset([k for k in numbers if not operands[k].is_number])
        if not options and all([type(a) is Nth for a in args]):
            value = self.program.call(function, values, (), function, array_numbers)
        else:

            def run(*arrays: Array) -> Any:
                return function(*fill_slots(args, arrays), **fill_slots(options, arrays))

            value = self.program.call(write_down(run, function, args, options), values, None, None, array_numbers)
        if not fixed or raises or function in RAISING:
            self.keep(value)
        same = next((x for x in operands if isinstance(x, Traced) and x.expr.sample is value.sample), None)
        if same is not None and fixed and isinstance(value.sample, np.ndarray):
            return same  # as ``np.atleast_1d(x)``, in each run; not what may be x for some values
        result = self.wrap_result(value)
        value.shares = value.shares or shares
        if value.shares:  # a view after all: no array may be written into from here on
            for x in (*operands, *(result if isinstance(result, (tuple, list)) else (result,))):
                while isinstance(x, Traced):
                    x.under = x.shared = True
                    x = x.source
        return result

    def view_of_number(self, function: AnyFunction, x: Traced, args: Any, options: Any) -> Traced:
        """The same for a NumPy number, which cannot be written into: it is the number, or a new array."""
        sample = function(x.expr.sample, *args, **options)
        if not isinstance(sample, np.ndarray):
            same = function in SAME_ORDER | PERMUTING
            return self.new_traced(x.expr) if same else self.call(function, (x, *args), options)
        if function is np.broadcast_to and sample.shape:
            return self.borrow(self.program.broadcast(x.expr, sample.shape))  # read-only
        return self.new_traced(self.program.reshape(self.program.as_array(x.expr), sample.shape))

    def keep(self, value: Value) -> None:
        """Make this call in every run, needed or not."""
        if value.args:
            self.program.checks.append(value)

    def item(self, x: Traced, index: object) -> Traced:
        """Write down ``x[index]``, where it is not a view."""
        arrays: list[Any] = []
        fixed = has_fixed_places(strip(index, arrays), arrays)
        return self.call(operator.getitem, (x, index), fixed=fixed, raises=holds(index, Traced))

    def view(self, function: AnyFunction, x: Traced, args: Any, options: Any) -> Traced:
        """Write down a function that mostly returns a view, in the form that the program can simplify."""
        value, program = x.expr, self.program
        if holds((args, options), (Traced, np.ndarray)):
            return self.call(function, (x, *args), options)
        if x.is_number:
            return self.view_of_number(function, x, args, options)
        args, options = map_leaves(args, as_index), options and map_leaves(options, as_index)

        def take(a: Array) -> Any:
            return function(a, *args, **options)

        whole = np.asarray(value.sample)
        sample: Any = function(whole, *args, **options)
        if sample is whole:
            return x
        if function is np.broadcast_to:
            return self.new_traced(program.broadcast(value, sample.shape), x, take)
        orders = {v.upper() for v in (*args, *options.values()) if isinstance(v, str)} - {"C"}
        is_view = type(sample) is np.ndarray and np.may_share_memory(sample, whole)
        if not is_view or orders & {"A", "K"}:  # which element is where depends on the memory
            return self.call(function, (x, *args), options, fixed=True)
        if function in SAME_ORDER and not orders:
            return self.new_traced(program.reshape(value, sample.shape), x, take)
        if function in PERMUTING:
            axes = function(np.empty(range(2, 2 + len(value.shape)), np.int8), *args, **options).shape
            return self.new_traced(program.transpose(value, tuple([n - 2 for n in axes])), x, take)
        call = write_down(lambda a: take(a), function, (Nth(0), *args), options)
        return self.new_traced(program.view(value, function.__name__, repr((args, options)), call), x, take)
