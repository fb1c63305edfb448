"""Programs of numbers: if every value is 0-d, a NumPy call costs far more than the arithmetic.

:class:`Slots` writes such a program as a Python function, one line for each value, that computes with floats: they add,
subtract, multiply and divide with NumPy's bits; only dividing by zero is an error instead of an infinity. After that,
or if an infinity or NaN shows up, the same function runs once more on np.float64, to see whether NumPy has something to
report. ``benchmarks/README.md`` has the cost of an operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..matching import CALL, CAPTURED, CONSTANT, INPUT, UFUNC, AnyFunction, Array, ByName, Value
from ..program import Program
from .buffers import WatchedPlan, callers_state, checked_call, compile_lines, define, types_of

DOUBLE, BOOL = np.dtype(np.float64), np.dtype(np.bool_)
PASSING = frozenset({np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.absolute})
EXACT = 2**53  # all integers up to here are floats
PYTHON = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.divide: "{} / {}", np.negative: "-{}",
    np.square: "{0} * {0}", np.greater: "{} > {}", np.less: "{} < {}", np.greater_equal: "{} >= {}",
    np.less_equal: "{} <= {}", np.equal: "{} == {}", np.not_equal: "{} != {}", np.absolute: "abs({})",
}  # fmt: skip


def of_numbers(order: list[Value], outputs: Sequence[Value]) -> bool:
    """Is everything 0-d, and does NumPy compute it as Python computes with floats and booleans?

    Arguments are float64, constants are floats, results are float64 or bool. A Python int may be a constant if it only
    meets floats and equals one exactly: NumPy then makes a float of it, too. Anything else (integers, which do not
    overflow into floats; complex numbers; ``np.ldexp``, which needs an int) is computed with arrays.
    """
    returned = set(outputs)
    return all([
        not v.shape and (v.dtype is DOUBLE if v.kind in (INPUT, CAPTURED) else
                         is_float(v, v in returned) if v.kind == CONSTANT else computes_floats(v))
        for v in order
    ])  # fmt: skip


def is_float(v: Value, returned: bool) -> bool:
    """Is this constant a float, or an int that equals one exactly?"""
    if type(v.sample) is int:
        return not returned and abs(v.sample) <= EXACT
    return v.dtype is DOUBLE or type(v.sample) is float  # "is": None == DOUBLE for NumPy


def computes_floats(v: Value) -> bool:
    """Does this call give float64 or bool, and the same with Python's floats for its numbers?"""
    if v.dtype is not DOUBLE and v.dtype is not BOOL:
        return False
    if v.kind == CALL:
        return all([x.dtype is not None for x in v.args])
    if v.kind != UFUNC:
        return False
    types = types_of(v.function, tuple([x.dtype if x.dtype is not None else type(x.sample) for x in v.args]))
    floats = tuple([BOOL if x.dtype is BOOL else float for x in v.args])
    return bool(types) and types == types_of(v.function, floats)


class Slots(WatchedPlan):
    """The program as a function of floats, ``quick``, and of NumPy's numbers, ``exact``."""

    def __init__(self, program: Program, order: list[Value]) -> None:
        super().__init__()
        self.program, self.order = program, order
        self.buffers: list[Array] = []
        self.exactly = False
        names = {v: f"v{k}" for k, v in enumerate(order)}
        self.steps = [v for v in order if v.args]
        inputs, captured = ([v for v in order if v.kind == kind] for kind in (INPUT, CAPTURED))
        self.inputs, self.captured = [v.options for v in inputs], [v.sample for v in captured]
        constants = {names[v]: float(v.sample) for v in order if v.kind == CONSTANT}
        functions: ByName = {}
        lines = []
        for v in self.steps:
            form = PYTHON.get(v.function)
            if form is None or any([x.dtype is BOOL for x in v.args]):
                functions[f"of_{names[v]}"] = v.function if v.kind == UFUNC else on_numbers(v)
                form = f"{'double' if v.dtype is DOUBLE else 'truth'}(of_{names[v]}({', '.join(['{}'] * len(v.args))}))"
            lines.append(f"{names[v]} = {form.format(*[names[x] for x in v.args])}")
        results, seen = (", ".join([names[v] for v in values]) for values in (
            program.outputs, not_passed_on(order, program.outputs)))  # fmt: skip
        parameters = [names[v] for v in (*inputs, *captured)]
        code = compile_lines(parameters, [*lines, f"return [{results}], sum([{seen}])"])
        quick: dict[str, Any] = {**constants, **functions, "double": float, "truth": bool}
        exact: dict[str, Any] = {k: np.float64(x) for k, x in constants.items()} | functions
        exact["double"] = exact["truth"] = lambda x: x
        self.quick, self.exact = define(code, quick), define(code, exact)

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for these inputs, as new 0-d arrays."""
        if (state := callers_state()) is not self.state:
            self.adapt(state)
            self.exactly = "under" in self.kinds  # Python's numbers underflow without a trace
        return self.context.run(self.compute, arrays)

    def compute(self, arrays: Sequence[Array]) -> list[Array]:
        """The same, in a context in which NumPy notes what it would report."""
        numbers = [*[float(arrays[k]) for k in self.inputs], *map(float, self.captured)]
        if not self.exactly:
            try:
                results, seen = self.quick(*numbers)
                if not self.kinds or isfinite(seen):
                    return [np.array(x) for x in results]
            except ZeroDivisionError:  # where Python refuses, NumPy has infinity or NaN
                pass
        return [np.array(x) for x in self.exact(*map(np.float64, numbers))[0]]


def on_numbers(v: Value) -> AnyFunction:
    """A call of arrays as a function of numbers."""
    function = checked_call(v)
    return lambda *x: function(*[np.asarray(number) for number in x])[()]


def not_passed_on(order: list[Value], outputs: Sequence[Value]) -> list[Value]:
    """Results of Python's arithmetic that must be checked for infinity and NaN: their readers would not pass these on.

    Sums, differences, products, squares and numerators pass them on to their results. NumPy's functions notice theirs.
    """
    seen = set(outputs)
    for v in order:
        if v.function not in PASSING:
            seen.update(v.args)
        elif v.function is np.divide:
            seen.add(v.args[1])
    return [v for v in order if v in seen and v.function in PASSING]
