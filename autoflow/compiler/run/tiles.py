"""One phase of a program, run block by block: its own small program, a plan per thread, and the threads.

Which values make a phase, and why, is in ``compiler/passes.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...base.process import Lock
from ...table.blocks import count_threads, share
from ..matching import CONSTANT, INPUT, PRODUCT, VIEW, Array, Value
from ..program import Program, new_value, transposed
from .buffers import Plan

Needs = dict[Value, tuple[list[Value], list[Value], bool]]
Improve = Callable[[Program, dict[Value, Value]], dict[Value, Value]]
BLOCK = 65_536  # elements per block


class Phase:
    """A part of a program, for all rows: called with whole arrays, returns whole arrays.

    n : the number of rows.
    members, results : the values that it computes, and those that it returns.
    need : for each value, the operands whose same rows it needs, those whose rows it needs all, and whether
        it comes in parts.
    parts : the values that come in parts, one per block.
    sources : the values that it is called with.
    improve : a further pass over the program of a block.
    """

    def __init__(
        self, n: int, members: list[Value], results: list[Value], need: Needs, parts: set[Value], improve: Improve
    ) -> None:
        self.n, self.members, self.results, self.need, self.improve = n, members, results, need, improve
        self.parts = [v for v in results if v in parts]
        self.whole = [v for v in results if v not in parts]
        self.where: dict[tuple[Value, bool], int] = {}
        inside = set(members)
        for v in members:
            sliced, whole, _ = need[v]
            for x, rows in [*[(x, True) for x in sliced], *[(x, False) for x in whole]]:
                plain_number = x.kind == CONSTANT and not x.shape
                if not plain_number and (x not in inside or not rows):
                    self.where.setdefault((x, rows), len(self.where))
        self.sources, self.sliced = [x for x, _ in self.where], [rows for _, rows in self.where]
        widest = max([math.prod(v.shape[1:]) for v in members if v not in parts] + [1])
        count = max(1, math.ceil(self.n * widest / BLOCK))
        step = math.ceil(self.n / count)
        self.edges = [(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self.free: dict[int, list[Plan]] = {}
        self.programs: dict[int, tuple[Program, dict[Value, Value]]] = {}
        self.lock = Lock()  # two threads do not make the same program
        self.__name__ = "blocks"

    def __call__(self, *arrays: Array) -> list[Array]:
        """All results, in the order of ``results``."""
        full = {v: np.empty(v.shape, v.dtype) for v in self.whole}
        parts: list[Any] = [None] * len(self.edges)
        threads = 1 if self.has_products else min(count_threads(), len(self.edges))
        share([partial(self.work, b, arrays, full, parts) for b in range(len(self.edges))], threads)
        summed = {v: combine_parts(v, [part[k] for part in parts]) for k, v in enumerate(self.parts)}
        return [summed[v] if v in summed else full[v] for v in self.results]

    @cached_property
    def has_products(self) -> bool:
        """Does a block call the matrix library, which has threads of its own?"""
        i, j = self.edges[0]
        plan = self.plan(j - i)
        self.free.setdefault(j - i, []).append(plan)
        return any([step.value.kind == PRODUCT for step in plan.steps])

    def work(self, b: int, arrays: tuple[Array, ...], full: dict[Value, Array], parts: list[Any]) -> None:
        """One block."""
        i, j = self.edges[b]
        free = self.free.setdefault(j - i, [])
        try:
            plan = free.pop()
        except IndexError:
            plan = self.plan(j - i)
        inputs = [a[i:j] if rows else a for a, rows in zip(arrays, self.sliced, strict=True)]
        parts[b] = plan.run([*inputs, *[a[i:j] for a in full.values()]])
        plan.pass_on()
        free.append(plan)

    def plan(self, rows: int) -> Plan:
        """A plan for blocks of this many rows."""
        with self.lock:
            if rows not in self.programs:
                self.programs[rows] = self.program(rows)
        return Plan(*self.programs[rows])

    def program(self, rows: int) -> tuple[Program, dict[Value, Value]]:
        """Their program, and the values that are written into its arguments."""
        program, new = Program(), dict[Value, Value]()
        sliced_inputs = [*zip(self.sources, self.sliced, strict=True), *[(v, True) for v in self.whole]]
        inputs = [
            new_value(INPUT, None, (), k, (rows, *x.shape[1:]) if cut else x.shape, -1, x.dtype)
            for k, (x, cut) in enumerate(sliced_inputs)
        ]

        def inner(x: Value, cut: bool) -> Value:
            if (x, cut) in self.where:
                return inputs[self.where[x, cut]]
            if x not in new and x.kind == CONSTANT:  # a number. The whole program may compute it later than we want it
                new[x] = Value(CONSTANT, None, (), x.options, x.sample)
                new[x].number = -1
            return new[x]

        for v in self.members:
            sliced, _, part = self.need[v]
            shape = v.shape if part else (rows, *v.shape[1:])
            options, function = v.options, v.function
            if v.kind == VIEW:
                options = (v.options[0], shape)
                function = viewed(v.options[0], shape)
            if v.kind == PRODUCT and part:
                x, y = (inner(x, True) for x in sliced)
                args: tuple[Value, ...] = (transposed(x, v.number - 0.5), y)
            else:
                args = tuple([inner(x, x in sliced) for x in v.args])
            new[v] = new_value(v.kind, function, args, options, shape, v.number, v.dtype)
        targets = dict(zip([new[v] for v in self.whole], inputs[len(self.sources) :], strict=True))
        program.inputs = inputs
        program.outputs = [new[v] for v in self.parts]
        return program, self.improve(program, targets)


def viewed(how: str, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """The view of a part. (An operator.methodcaller with arguments, as garbage of a circle, crashes Pyodide 314.)"""
    return (lambda part: part.reshape(shape)) if how == "reshape" else (lambda part: np.broadcast_to(part, shape))


def combine_parts(v: Value, parts: list[Array]) -> Array:
    """The parts of all blocks as one result, in the order of the blocks."""
    function = np.add if v.kind == PRODUCT else v.function
    total = parts[0]
    for part in parts[1:]:
        total = function(total, part, out=total)
    return total
