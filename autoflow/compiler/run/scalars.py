"""Programs of numbers: where every value is 0-d, calling NumPy costs twenty times as much as the arithmetic.

Two ways around that, both with NumPy's bits.

* :class:`Slots`: one list of Python floats, and a list of (function, where its operands are, where its result goes).
  Python's floats add, subtract, multiply and divide as NumPy's do, only dividing by zero is an error instead of an
  infinity: the program then runs once more on np.float64. About 0.1 µs per operation.
* :class:`Levels`: in a graph that is wide, as a neuron written out number by number is, many operations are of one kind
  and at one depth, so that none needs another's result. They become one call on vectors, whose operands are
  gathered from the results so far, 2 to 3 ns per operation. Used where such groups have eight members on average.
"""

from __future__ import annotations

import contextvars
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..program import Program
from ..values import CALL, CAPTURED, CONSTANT, INPUT, UFUNC, Value
from .calls import checked

Array = Any
DOUBLE = np.dtype(np.float64)
GROUP = 8  # members on average from which vectors pay
PYTHON: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.negative: operator.neg, np.square: lambda x: x * x, np.greater: operator.gt, np.less: operator.lt,
    np.greater_equal: operator.ge, np.less_equal: operator.le, np.equal: operator.eq, np.not_equal: operator.ne,
    np.absolute: abs,
}  # fmt: skip


def of_numbers(order: list[Value]) -> bool:
    """Is everything 0-d, and computed from floats or from what was computed of them?"""
    return all([
        not v.shape and (v.dtype in (DOUBLE, None) if v.kind in (INPUT, CAPTURED, CONSTANT) else
                         v.kind in (UFUNC, CALL) and v.dtype is not None)
        for v in order
    ])  # fmt: skip


def scalar_plan(program: Program) -> Slots | Levels | None:
    """The quick plan of a program of numbers; None for any other."""
    order = program.order()
    if not of_numbers(order):
        return None
    computed = [v for v in order if v.args]
    if all([v.kind == UFUNC and v.dtype == DOUBLE for v in computed]):
        groups = levels(order)
        if len(computed) >= GROUP * max(len(groups), 1):
            return Levels(program, order, groups)
    return Slots(program, order)


class Slots:
    """A list of numbers, and what is done with them one after the other."""

    def __init__(self, program: Program, order: list[Value]) -> None:
        self.program, self.order = program, order
        self.buffers: list[Array] = []
        where = {v: k for k, v in enumerate(order)}
        self.slots: list[Any] = [float(v.sample) if v.kind == CONSTANT else 0.0 for v in order]
        self.inputs = [(where[v], v.options) for v in order if v.kind == INPUT]
        self.captured = [(where[v], v.sample) for v in order if v.kind == CAPTURED]
        self.outputs = [where[v] for v in program.outputs]
        self.steps = [(on_numbers(v), *places_of([where[x] for x in v.args]), where[v]) for v in order if v.args]
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for these inputs, as new 0-d arrays."""
        return self.context.run(self.compute, arrays)

    def compute(self, arrays: Sequence[Array], number: Any = float) -> list[Array]:
        """The same, in a context in which NumPy does not warn."""
        slots = self.slots
        for k, i in self.inputs:
            slots[k] = number(arrays[i])
        for k, array in self.captured:
            slots[k] = number(array)
        try:
            for f, i, j, k in self.steps:
                if j >= 0:
                    slots[k] = f(slots[i], slots[j])
                elif j == -1:
                    slots[k] = f(slots[i])
                else:
                    slots[k] = f(*[slots[n] for n in i])
        except ZeroDivisionError:  # where Python refuses, NumPy has infinity or NaN
            constants = [(k, v) for k, v in enumerate(self.order) if v.kind == CONSTANT]
            for k, v in constants:
                slots[k] = np.float64(v.sample)
            try:
                return self.compute(arrays, np.float64)
            finally:
                for k, v in constants:
                    slots[k] = float(v.sample)
        return [np.array(slots[k]) for k in self.outputs]


def places_of(places: list[int]) -> tuple[Any, int]:
    """Where one operand is, or two; of more all in the first place."""
    return (places[0], -1) if len(places) == 1 else (places[0], places[1]) if len(places) == 2 else (places, -2)


def on_numbers(v: Value) -> Callable[..., Any]:
    """The function of a value, from Python's numbers to one of them: arithmetic on np.float64 is slower."""
    function = v.function
    if v.kind == CALL:
        call = checked(v)
        return lambda *x: call(*[np.asarray(number) for number in x])[()]
    if function in PYTHON and all([x.dtype in (DOUBLE, None) for x in v.args]):
        return PYTHON[function]
    if v.dtype != DOUBLE:
        return lambda *x: function(*x)
    if len(v.args) == 1:
        return lambda x: float(function(x))
    return lambda *x: float(function(*x))


def levels(order: list[Value]) -> list[list[Value]]:
    """The computed values in groups of one function and one depth, operands before results."""
    depth: dict[Value, int] = {}
    groups: dict[Any, list[Value]] = {}
    for v in order:
        if v.kind == UFUNC:
            depth[v] = 1 + max([depth.get(x, 0) for x in v.args])
            groups.setdefault((depth[v], v.function, v.dtype), []).append(v)
    return [group for _, group in sorted(groups.items(), key=lambda pair: pair[0][0])]


class Levels:
    """One vector with all values, of which each group computes a stretch."""

    def __init__(self, program: Program, order: list[Value], groups: list[list[Value]]) -> None:
        self.program, self.order = program, order
        leaves = [v for v in order if v.kind != UFUNC]
        where = {v: k for k, v in enumerate(leaves)}
        self.vector = np.zeros(len(order))
        self.buffers = [self.vector]
        for v in leaves:
            if v.kind == CONSTANT:
                self.vector[where[v]] = v.sample
        self.inputs = [(where[v], v.options) for v in leaves if v.kind == INPUT]
        self.captured = [(where[v], v.sample) for v in leaves if v.kind == CAPTURED]
        self.steps: list[tuple[Any, tuple[Any, ...]]] = []
        end = len(leaves)
        for group in groups:
            group.sort(key=lambda v: [where[x] for x in v.args])  # so that operands often lie side by side
            start, end = end, end + len(group)
            where.update(zip(group, range(start, end), strict=True))
            operands = [self.gathered([where[v.args[k]] for v in group]) for k in range(len(group[0].args))]
            self.steps.append((group[0].function, (*operands, self.vector[start:end])))
        self.outputs = [where[v] for v in program.outputs]
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")

    def gathered(self, places: list[int]) -> Array:
        """The values at these places as one vector: a view where they lie side by side or are all the same."""
        first, n = places[0], len(places)
        if places == [first] * n:
            return self.vector[first : first + 1]
        if places == list(range(first, first + n)):
            return self.vector[first : first + n]
        buffer = np.empty(n)
        self.buffers.append(buffer)
        self.steps.append((self.vector.take, (np.array(places), None, buffer, "clip")))  # "clip": no bounds to check
        return buffer

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for these inputs, as new 0-d arrays."""
        vector = self.vector
        for k, i in self.inputs:
            vector[k] = arrays[i]
        for k, array in self.captured:
            vector[k] = array
        self.context.run(self.compute)
        return [np.array(vector[k]) for k in self.outputs]

    def compute(self) -> None:
        """Make the calls, in a context in which NumPy does not warn."""
        for function, args in self.steps:
            function(*args)
