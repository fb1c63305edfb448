"""A program that is one stretch of loops and nothing else: called without the list of places that other plans keep.

Of a step of 9 µs (a chain of elementwise functions on 1,000 numbers) that saves 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ..program import Program
from ..run.calls import Step
from ..run.reports import Watched, callers_state
from ..values import CAPTURED, CONSTANT, INPUT, ITEM, Value
from .native import Native

Array = Any


class Direct(Watched):
    """The plan of such a program. Any number of threads may run it: the stretch has memory for each."""

    def __init__(self, program: Program, call: Value) -> None:
        super().__init__()
        self.program, self.native = program, call.function
        self.buffers: list[Array] = []
        self.steps = [Step(call, self.native, list(call.args), None)]
        self.fixed = [np.asarray(v.sample) for v in call.args if v.kind != INPUT]
        numbers = iter(range(len(program.inputs), len(program.inputs) + len(self.fixed)))
        self.take = take(tuple([v.options if v.kind == INPUT else next(numbers) for v in call.args]))
        self.give = take(tuple([v.options for v in program.outputs]))
        self.mask, self.uncertain = 0, False

    def adapt(self, state: Any) -> None:
        """Notice what this caller does not ignore."""
        super().adapt(state)
        self.mask, self.uncertain = self.native.mask_of(self.kinds)

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results for these inputs, as new arrays."""
        if (state := callers_state()) is not self.state:
            self.adapt(state)
        results, raised = self.native.run(self.take([*arrays, *self.fixed]))
        if raised & self.mask or self.uncertain:
            self.noticed.any = True
        return self.give(results)


def take(places: tuple[int, ...]) -> Any:
    """The function that takes these out of a list, as a tuple."""
    return itemgetter(*places) if len(places) > 1 else lambda found: (found[places[0]],)


def direct_plan(program: Program) -> Direct | None:
    """The plan of a program that is one stretch, whose results it returns, each once; None for any other."""
    outputs = program.outputs
    calls = {v.args[0] for v in outputs if v.kind == ITEM}
    if program.checks or len(calls) != 1 or len({*outputs}) != len(outputs):
        return None
    (call,) = calls
    fine = all([v.kind == ITEM for v in outputs]) and type(call.function) is Native
    return Direct(program, call) if fine and all([x.kind in (INPUT, CAPTURED, CONSTANT) for x in call.args]) else None
