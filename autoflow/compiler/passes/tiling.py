"""Large arrays block by block: the intermediate results stay in the cache, and all cores take part.

A chain of elementwise functions on four million numbers reads and writes memory at every step, and memory is slower
than arithmetic. If the whole chain is done on the first rows, then on the next ones, only arguments and results pass
through memory. Rows (axis 0) can be done on their own in

    elementwise functions     z[i] = f(x[i], y[i])
    reductions of other axes  z[i] = sum(x[i])
    products                  z[i] = x[i] W
    reductions of axis 0      z = Σ over blocks of sum(x[block], 0)
    products xᵀ y             z = Σ over blocks of x[block]ᵀ y[block]

The last two give one part per block, which are added up in the order of the blocks when all are done; so results do not
depend on the number of threads, or on which is first. The order of summation differs from eager code; the error is
below 1e-13 of the largest entry of a result. Values that need such a sum come in a second *phase*.

A phase becomes one call of the program, and is itself a program, for a block of rows, with a plan per thread. Blocks
have 64,000 elements: with fewer, the Python between two NumPy calls and handing the interpreter over become visible
(``benchmarks/README.md`` has the figures).

A matrix library has threads of its own, so blocks with products run in one of ours. After a product its threads look
for work for a while and take the time of others: a program with large products that no phase contains is left as it is.
"""

from __future__ import annotations

import math

import numpy as np

from ..matching import CALL, ITEM, PRODUCT, REDUCE, UFUNC, VIEW, Value, call_written
from ..program import Program, new_value
from ..run.tiles import Improve, Phase

LARGE = 100_000  # with at least this many elements blocks pay
FEW = 3  # fewer calls on large arrays are left alone
PASSES = 4  # per array that later phases need whole: with fewer calls, allocating it costs what threads save
THREADED = 262_144  # with at least this many multiplications OpenBLAS uses threads
WORK = 1_000_000  # with at least this many elements in all its calls, a phase is worth handing to threads
FLOPS = 100  # with at least this many multiplications per element products dominate; they want many rows at once
COMBINED = {np.add, np.maximum, np.minimum, np.multiply}


def tile_program(program: Program, improve: Improve = lambda program, targets: targets) -> bool:
    """Replace what can be done block by block with calls of :class:`Phase`; True if anything changed. ``improve``: what
    else is done to the program of a block, given the values that it writes into arguments; it returns those left."""
    order = program.order()
    rows = leading_axis(order)
    if rows is None:
        return False
    phases = Phases(order, rows, set(program.outputs))
    new = phases.calls(improve)
    if any([v not in phases.chosen and is_threaded(v) for v in order]):
        return False
    return bool(new) and program.rewrite(new)


def leading_axis(order: list[Value]) -> int | None:
    """The length of axis 0 that most large arrays share; None if there are too few."""
    elements: dict[int, list[int]] = {}
    for v in order:
        if v.kind in (UFUNC, REDUCE) and v.args[0].shape and math.prod(v.args[0].shape) >= LARGE:
            elements.setdefault(v.args[0].shape[0], []).append(math.prod(v.args[0].shape))
    counts = {n: sum(sizes) for n, sizes in elements.items() if len(sizes) >= FEW and n > 1}
    return max(counts, key=lambda n: counts[n]) if counts else None


def is_transposed(x: Value) -> bool:
    """xᵀ?"""
    return x.kind == VIEW and x.options == ("transpose", (1, 0))


class Phases:
    """Which value is computed row by row, and in which phase."""

    def __init__(self, order: list[Value], rows: int, outputs: set[Value]) -> None:
        self.order, self.n, self.outputs = order, rows, outputs
        self.phase: dict[Value, int] = {}  # of values that are computed by rows, or in parts
        self.parts: set[Value] = set()
        self.chosen: set[Value] = set()  # those of the phases that calls() has made
        self.ready: dict[Value, int] = {}  # the number of phases after which the whole of it is there
        self.need = {v: self.needs(v) for v in order}
        for v in order:
            sliced, whole, part = self.need[v]
            known = [self.ready[x] for x in whole]
            if not sliced:
                self.ready[v] = max([self.ready[x] for x in v.args], default=0)
                continue
            p = max([self.phase[x] if self.by_rows(x) else self.ready[x] for x in sliced] + known)
            self.phase[v], self.ready[v] = p, p + 1
            if part:
                self.parts.add(v)

    def by_rows(self, x: Value) -> bool:
        """Is it computed row by row, each row available at once?"""
        return x in self.phase and x not in self.parts

    def needs(self, v: Value) -> tuple[list[Value], list[Value], bool]:
        """Of which operands it needs only the same rows, of which all; and does that give it in parts? Without any of
        the first kind it is computed as a whole."""
        n, shape = self.n, v.shape
        nothing: tuple[list[Value], list[Value], bool] = ([], [], False)
        if v.layout is not None or any([(x.args[0] if is_transposed(x) else x).layout is not None for x in v.args]):
            return nothing
        if v.kind == UFUNC or is_cast(v) or is_where(v):
            if not shape or shape[0] != n or any([is_transposed(x) for x in v.args]):
                return nothing
            sliced = [x for x in v.args if len(x.shape) == len(shape) and x.shape[0] == n]
            return sliced, [x for x in v.args if x not in sliced], False
        x = v.args[0] if v.args else v
        tall = bool(x.shape) and x.shape[0] == n and not is_transposed(x)
        if v.kind == REDUCE and tall:
            axis = v.options[0]
            over_rows = axis is None or 0 in (axis if isinstance(axis, tuple) else (axis,))
            if not over_rows or v.function in COMBINED:
                return [x], [], over_rows
        if v.kind == PRODUCT and tall and x.shape[0] != v.args[1].shape[0]:
            return [x], [v.args[1]], False
        if v.kind == PRODUCT and is_transposed(x) and x.args[0].shape[0] == n:
            return [x.args[0], v.args[1]], [], True
        if v.kind == VIEW and v.options[0] in ("reshape", "broadcast") and tall and shape and shape[0] == n:
            return ([x], [], False) if v.options[0] == "reshape" or len(shape) == len(x.shape) else nothing
        return nothing

    def calls(self, improve: Improve) -> dict[Value, Value]:
        """The rewriting: which value is replaced by which."""
        new: dict[Value, Value] = {}
        users: dict[Value, list[Value]] = {}
        for v in self.order:
            for x in v.args:
                users.setdefault(x, []).append(v)
        for p in sorted(set(self.phase.values())):
            members = [v for v in self.order if self.phase.get(v) == p]
            large = [v for v in members if v.kind != VIEW and math.prod(v.args[0].shape) >= LARGE]
            if len(large) < FEW or bound_by_products(members):
                continue
            inside = set(members)
            given = self.parts | self.outputs
            results = [
                v for v in members if v in given or any([self.reads_whole(u, v, inside) for u in users.get(v, ())])
            ]
            kept = sum([math.prod(v.shape) for v in results if v not in given])
            if not results or sum([math.prod(v.args[0].shape) for v in large]) < max(WORK, PASSES * kept):
                continue
            self.chosen |= inside
            phase = Phase(self.n, members, results, self.need, self.parts, improve)
            call = new_value(CALL, phase, tuple(phase.sources), None, (), members[-1].number)
            call.dtype = None
            for k, v in enumerate(results):
                item = new_value(ITEM, None, (call,), k, v.shape, v.number)
                item.dtype, item.owned = v.dtype, True
                new[v] = item
        return new

    def reads_whole(self, user: Value, v: Value, inside: set[Value]) -> bool:
        """Does ``user`` need more of v than the rows that its own phase is at?"""
        if is_transposed(user):  # is it only the left factor of products that are computed in parts?
            return any([
                u not in inside or u not in self.parts or u.args[0] is not user or u.args[1] is user
                for u in self.order if user in u.args
            ])  # fmt: skip
        return user not in inside or v not in self.need[user][0]


def is_cast(v: Value) -> bool:
    """x.astype(dtype)?"""
    return v.kind == CALL and v.options is not None and v.options[:1] == ("astype",)


def is_where(v: Value) -> bool:
    """np.where(mask, x, y)? (The rule of max has one.)"""
    return v.kind == CALL and call_written(v)[0] is np.where and len(call_written(v)[1]) == 3


def is_threaded(v: Value) -> bool:
    """A product for which the matrix library uses threads? (Of stacks it makes one product after the other.)"""
    if v.kind != PRODUCT and not (v.kind == CALL and v.function is np.matmul):
        return False
    return math.prod(v.shape[-2:]) * v.args[0].shape[-1] > THREADED


def bound_by_products(members: list[Value]) -> bool:
    """Do products take most of the time? Then it is better that they see all rows at once."""
    flops = sum([2 * math.prod(v.shape) * v.args[0].shape[1] for v in members if v.kind == PRODUCT])
    elements = sum([math.prod(v.args[0].shape) for v in members if v.kind in (UFUNC, REDUCE)])
    return flops > FLOPS * elements
