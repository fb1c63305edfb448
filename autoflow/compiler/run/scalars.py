"""Programs of numbers: where every value is 0-d, a call of NumPy costs far more than the arithmetic.

:class:`Slots` has one list of Python floats, and a list of (function, where its operands are, where its result goes).
Python's floats add, subtract, multiply and divide as NumPy's do, with NumPy's bits; only dividing by zero is an error
instead of an infinity. The program then runs once more on np.float64, as it does if an infinity or NaN shows up, to see
whether NumPy has something to report. ``benchmarks/README.md`` has the cost of an operation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..matching import CALL, CAPTURED, CONSTANT, INPUT, UFUNC, Array, Value
from ..program import Program
from .buffers import Watched, callers_state, checked_call, take_nothing, take_places

DOUBLE, BOOL = np.dtype(np.float64), np.dtype(np.bool_)
PASSING = frozenset({np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.absolute})
EXACT = 2**53  # all integers up to here are floats
PYTHON: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.negative: operator.neg, np.square: lambda x: x * x, np.greater: operator.gt, np.less: operator.lt,
    np.greater_equal: operator.ge, np.less_equal: operator.le, np.equal: operator.eq, np.not_equal: operator.ne,
    np.absolute: abs,
}  # fmt: skip


def of_numbers(order: list[Value], outputs: Sequence[Value]) -> bool:
    """Is everything 0-d, and computed by NumPy as Python's floats and booleans are?

    Arguments are float64, constants are floats, results are float64 or bool. A Python int may be a constant where it
    only meets floats and is exactly one of them: NumPy then makes a float of it as well. Anything else (integers, which
    do not overflow into floats; complex numbers; ``np.ldexp``, which wants an int) goes the way of arrays.
    """
    returned = set(outputs)
    return all([
        not v.shape and (v.dtype is DOUBLE if v.kind in (INPUT, CAPTURED) else
                         is_float(v, v in returned) if v.kind == CONSTANT else computes_floats(v))
        for v in order
    ])  # fmt: skip


def is_float(v: Value, returned: bool) -> bool:
    """Is this constant a float, or an int that is one exactly?"""
    if type(v.sample) is int:
        return not returned and abs(v.sample) <= EXACT
    return v.dtype is DOUBLE or type(v.sample) is float  # "is": None == DOUBLE for NumPy


def computes_floats(v: Value) -> bool:
    """Does this call give float64 or bool, and the same if Python's floats are in place of its numbers?"""
    if v.dtype is not DOUBLE and v.dtype is not BOOL:
        return False
    if v.kind == CALL:
        return all([x.dtype is not None for x in v.args])
    given = [x.dtype if x.dtype is not None else type(x.sample) for x in v.args]
    return v.kind == UFUNC and computes_in(v.function, given) == computes_in(
        v.function, [BOOL if x.dtype is BOOL else float for x in v.args]
    )


def computes_in(function: np.ufunc, given: list[Any]) -> Any:
    """The dtypes in which a ufunc computes with operands of these dtypes, or of ``int`` or ``float`` from Python."""
    try:
        return function.resolve_dtypes((*given, *[None] * function.nout))
    except TypeError:
        return object()  # equal to nothing


class Slots(Watched):
    """A list of numbers, and what is done with them one after the other."""

    def __init__(self, program: Program, order: list[Value]) -> None:
        super().__init__()
        self.program, self.order = program, order
        self.buffers: list[Array] = []
        where = {v: k for k, v in enumerate(order)}
        self.slots: list[Any] = [float(v.sample) if v.kind == CONSTANT else 0.0 for v in order]
        self.inputs = [(where[v], v.options) for v in order if v.kind == INPUT]
        self.captured = [(where[v], v.sample) for v in order if v.kind == CAPTURED]
        self.outputs = [where[v] for v in program.outputs]
        self.exactly = False
        seen = [where[v] for v in not_passed_on(order, program.outputs)]
        self.last = take_places(seen) if seen else take_nothing
        self.steps = [(on_numbers(v), *places_of([where[x] for x in v.args]), where[v]) for v in order if v.args]
        self.exact = [(on_scalars(v), [where[x] for x in v.args], where[v]) for v in order if v.args]

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for these inputs, as new 0-d arrays."""
        if (state := callers_state()) is not self.state:
            self.adapt(state)
            self.exactly = "under" in self.kinds  # Python's numbers underflow without a trace
        return self.context.run(self.compute, arrays)

    def compute(self, arrays: Sequence[Array]) -> list[Array]:
        """The same, in a context in which NumPy notes what it would report."""
        slots = self.slots
        for k, i in self.inputs:
            slots[k] = float(arrays[i])
        for k, array in self.captured:
            slots[k] = float(array)
        if self.exactly:
            return self.compute_exactly()
        try:
            for f, i, j, k in self.steps:
                if j >= 0:
                    slots[k] = f(slots[i], slots[j])
                elif j == -1:
                    slots[k] = f(slots[i])
                else:
                    slots[k] = f(*[slots[n] for n in i])
        except ZeroDivisionError:  # where Python refuses, NumPy has infinity or NaN
            return self.compute_exactly()
        if self.kinds and not isfinite(sum(self.last(slots))):
            return self.compute_exactly()
        return [np.array(slots[k]) for k in self.outputs]

    def compute_exactly(self) -> list[Array]:
        """The same by NumPy's functions, which notice, once the arguments are in their slots."""
        numbers = [np.float64(x) for x in self.slots]
        for function, places, k in self.exact:
            numbers[k] = function(*[numbers[i] for i in places])
        return [np.array(numbers[k]) for k in self.outputs]


def not_passed_on(order: list[Value], outputs: Sequence[Value]) -> list[Value]:
    """Results of Python's arithmetic that must be checked for infinity and NaN: their readers would not pass these on.

    Sums, differences, products, squares and numerators pass them on to their results. Functions of NumPy notice theirs.
    """
    seen = set(outputs)
    for v in order:
        if v.function not in PASSING:
            seen.update(v.args)
        elif v.function is np.divide:
            seen.add(v.args[1])
    return [v for v in order if v in seen and v.function in PASSING]


def places_of(places: list[int]) -> tuple[Any, int]:
    """Where one operand is, or two; of more all in the first place."""
    return (places[0], -1) if len(places) == 1 else (places[0], places[1]) if len(places) == 2 else (places, -2)


def on_scalars(v: Value) -> Callable[..., Any]:
    """The function of a value, from NumPy's numbers to one of them."""
    if v.kind == CALL:
        function = checked_call(v)
        return lambda *x: function(*[np.asarray(number) for number in x])[()]
    return v.function


def on_numbers(v: Value) -> Callable[..., Any]:
    """The function of a value, from Python's numbers to one of them: arithmetic on np.float64 is slower."""
    function, number = on_scalars(v), float if v.dtype is DOUBLE else bool
    if v.function in PYTHON and all([x.dtype in (DOUBLE, None) for x in v.args]):
        return PYTHON[v.function]
    if len(v.args) == 1:
        return lambda x: number(function(x))
    return lambda *x: number(function(*x))
