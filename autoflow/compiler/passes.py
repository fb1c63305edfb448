"""Passes that make a program faster or smaller.

1. Many small products become one large one: in recurrent networks, and in any sum over steps or samples.

A weight that is used at T steps receives the sum of T products, and each is too small for a matrix library to be at its
best. But a sum of products is one product of longer matrices:

    Σₜ Aₜᵀ Bₜ = Aᵀ B      with A = (A₁; A₂; ...; A_T) and B = (B₁; ...; B_T), one below the other
    Σₜ sum(Bₜ, axis=0) = sum(B, axis=0)
    X₁ W, X₂ W, ...  are the rows of X W, if all Xₜ are known before

The matrices Aₜ and Bₜ are not copied together: the stack is made first, and each is computed into its rows (STACK in
``compiler/run/buffers.py``). Elementwise functions of all rows of a stack, as 1 − tanh², then become one call, too.

Here the order of summation changes, and with it the last bits: the error is below 1e-13 of the largest entry of a
result (2.6e-15 for 100 steps). Nothing else in a program changes a bit. What it saves is in ``benchmarks/README.md``.

2. Compute values again instead of keeping them: ``checkpointing="balanced"``.

The way back reads values of the way forward, so their buffers must live until then, and that is most of the memory of a
gradient. Elementwise functions are cheap: their results can be computed again, from values that are kept, when the way
back needs them. Balanced means:

* products, reductions and all other functions are computed once, and their operands are kept;
* of a chain of n elementwise functions every √n-th result is kept, so at most √n are computed again at a time
  (T. Chen et al., "Training deep nets with sublinear memory cost", 2016).

A value is read *late* where the program comes back to it after a pause, a tenth of its length. The late readers get a
copy of its call, put before the first of them, and copies of the calls that it needs.

3. Large arrays block by block: the intermediate results stay in the cache, and all cores take part.

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

A matrix library has its own threads, so blocks in which it is called run in one of ours. After a product its threads
look for work for a while and take time from others: a program with large products that no phase contains is left alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..base.groups import grouped
from .matching import CALL, PRODUCT, REDUCE, STACK, UFUNC, VIEW, Value, behind_views, call_of
from .program import Program, new_value, results_of_call, transposed
from .run.tiles import Improve, Phase
from .trace.memory import cast

FEW = 4  # sums with fewer terms are left alone


def join(program: Program) -> None:
    """Rewrite the program's sums of products."""
    joiner = Joiner(program)
    joiner.shared_factors()
    for root, terms in find_sums(joiner.order, joiner.uses):
        joiner.join_terms(root, terms)
    if joiner.new:
        for values, stack in list(joiner.stacks.items()):
            joiner.rows_at_once(stack, values)
        program.rewrite(joiner.new)


class Joiner:
    """The rewriting: which value is replaced by which."""

    def __init__(self, program: Program) -> None:
        self.order = program.order()
        self.new: dict[Value, Value] = {}
        self.stacks: dict[tuple[Value, ...], Value] = {}
        self.uses = count_uses(self.order, [*program.outputs, *program.checks])

    def stack(self, values: Iterable[Value], number: float) -> Value:
        """The values, one below the other, as a matrix: (T, n, m) seen as (T n, m)."""
        values = tuple(values)
        (first, *_), shape = values, (len(values), *values[0].shape)
        matrix = (shape[0] * shape[1], *shape[2:])
        base = first.args[0] if first.kind == VIEW else first
        is_stack = base.layout is None and base.shape[:1] == (len(values),)
        if not is_stack or any([v.args != (base,) or v.options != ("index", repr(k)) for k, v in enumerate(values)]):
            if values not in self.stacks:
                self.stacks[values] = new_value(STACK, None, values, None, shape, number)
            base = self.stacks[values]
        return new_value(VIEW, lambda a: a.reshape(matrix), (base,), ("reshape", matrix), matrix, number)

    def shared_factors(self) -> None:
        """Xₜ W of views of arguments with a common W: each becomes a part of one product."""
        groups: dict[Any, list[Value]] = {}
        for v in self.order:
            if v.kind == PRODUCT and is_given(v.args[0]) and v.dtype.kind == "f":
                groups.setdefault((v.args[1], v.args[0].shape, v.dtype), []).append(v)
        for (w, (n, _), _), group in groups.items():
            lefts = tuple(dict.fromkeys([v.args[0] for v in group]))
            if len(lefts) < FEW or not is_given(w):
                continue
            number = group[0].number
            x = self.stack(lefts, number)
            whole = new_value(PRODUCT, np.matmul, (x, w), (), (len(lefts) * n, w.shape[1]), number)
            for k, v in enumerate(group):
                self.new[v] = part_of(whole, slice(k * n, (k + 1) * n), v.shape)

    def join_terms(self, root: Value, terms: list[Value]) -> None:
        """Rebuild ``root``, the sum of these terms: Σ Aₜᵀ Bₜ = Aᵀ B and Σ sum(Bₜ, 0) = sum(B, 0)."""
        joined: list[Value] = []
        for key, group in grouped([(self.kind_of_term(x), x) for x in terms]).items():
            if key is None or len(group) < FEW:
                joined += group
            else:  # gradients come latest first; reversed, inputs and states are in the order of the steps
                group.sort(key=lambda x: -x.args[-1].number)
                one, args = group[0], list[Value]()
                if one.kind == PRODUCT:
                    args.append(transposed(self.stack([x.args[0].args[0] for x in group], root.number), root.number))
                args.append(self.stack([x.args[-1] for x in group], root.number))
                joined.append(new_value(one.kind, one.function, tuple(args), one.options, root.shape, root.number))
        if len(joined) < len(terms):
            self.new[root] = add_all(joined, root)

    def kind_of_term(self, x: Value) -> tuple[object, ...] | None:
        """Terms of one kind can be joined; None for those that cannot."""
        if self.uses[x] != 1 or x.dtype is None or x.dtype.kind != "f":
            return None
        if x.kind == PRODUCT and x.args[0].kind == VIEW and x.args[0].options == ("transpose", (1, 0)):
            return PRODUCT, x.args[0].shape, x.args[1].shape, x.args[0].dtype, x.args[1].dtype
        if x.kind == REDUCE and x.function is np.add and x.options == (0, False) and len(x.args[0].shape) == 2:
            return REDUCE, x.args[0].shape, x.args[0].dtype
        return None

    def rows_at_once(self, whole: Value, values: tuple[Value, ...]) -> None:
        """Elementwise calls on most of ``values``, the rows of ``whole``, with the same other operands: one call."""
        place = {v: k for k, v in enumerate(values)}
        calls: dict[Any, dict[int, Value]] = {}
        for v in self.order:
            if v.kind == UFUNC and v not in self.new and v.dtype == whole.dtype and v.shape == whole.shape[1:]:
                rows = [place[x] for x in v.args if x in place]
                others = tuple([None if x in place else x for x in v.args])
                if len(rows) == 1 and all([x is None or not x.args for x in others]):
                    calls.setdefault((v.function, others), {})[rows[0]] = v
        for (function, others), group in calls.items():
            if len(group) < max(FEW, len(values) / 2) or waits_for(values, set(group.values())):
                continue
            args = tuple([whole if x is None else x for x in others])
            first = min([v.number for v in group.values()])
            result = new_value(UFUNC, function, args, (), whole.shape, first, whole.dtype)
            rows_of_result = {k: part_of(result, k, v.shape) for k, v in group.items()}
            self.new.update({v: rows_of_result[k] for k, v in group.items()})
            self.rows_at_once(result, tuple([group.get(k, whole) for k in range(len(values))]))


def count_uses(order: list[Value], wanted: list[Value]) -> Counter[Value]:
    """How often each value is read; those that are wanted count as read twice."""
    uses = Counter(2 * [*{*wanted}])
    for v in order:
        for x in v.args:
            uses[x] += 1
    return uses


def find_sums(order: list[Value], uses: dict[Value, int]) -> Iterator[tuple[Value, list[Value]]]:
    """Each sum that is not a term of a longer one, and its terms, the last one first."""
    inner: set[Value] = set()
    for v in reversed(order):
        if is_sum(v) and v not in inner:
            terms, queue = list[Value](), list(v.args)
            while queue:
                x = queue.pop()
                if is_sum(x) and uses[x] == 1 and x.shape == v.shape and x.dtype == v.dtype:
                    inner.add(x)
                    queue += x.args
                else:
                    terms.append(x)
            yield v, terms


def add_all(values: list[Value], root: Value) -> Value:
    """Their sum, where ``root`` was."""
    total = values[0]
    for x in values[1:]:
        total = new_value(UFUNC, np.add, (total, x), (), root.shape, root.number)
    return total


def part_of(whole: Value, rows: int | slice, shape: tuple[int, ...]) -> Value:
    """A row of a stack, or some of them."""
    return new_value(VIEW, lambda a: a[rows], (whole,), ("index", repr(rows)), shape, whole.number)


def is_sum(v: Value) -> bool:
    """x + y of equal shapes?"""
    return v.kind == UFUNC and v.function is np.add and v.args[0].shape == v.args[1].shape == v.shape


def is_given(x: Value) -> bool:
    """An argument, an array from outside, or a view of one."""
    return not behind_views(x).args


def waits_for(values: Iterable[Value], results: set[Value]) -> bool:
    """Does one of ``values`` depend on one of ``results``?"""
    first = min([v.number for v in results])
    seen: set[Value] = set()
    stack = [v for v in values if v.number > first]
    while stack:
        v = stack.pop()
        if v in results:
            return True
        for x in v.args:
            if x.number >= first and x not in seen:
                seen.add(x)
                stack.append(x)
    return False


COPIES = (np.copy, np.ndarray.copy)


def drop_copies(program: Program) -> None:
    """A copy of a value that the program has computed is that value: nobody else has it."""
    new = {
        v: x for v in program.order() if v.kind == CALL and v.shape and call_of(v, v.args)[0] in COPIES
        if (x := v.args[0]).kind in (UFUNC, REDUCE, PRODUCT) and (x.dtype, x.layout) == (v.dtype, v.layout)
    }  # fmt: skip
    if new:
        program.rewrite(new)


PAUSE = 0.1  # of the length of the program
SMALL = 1024  # bytes; smaller values are kept


def recompute(program: Program) -> None:
    """Let late readers of elementwise values read copies."""
    order = program.order()
    place = {v: k for k, v in enumerate(order)}
    readers = grouped([(x, v) for v in order for x in dict.fromkeys(v.args)])
    late = {v: late_readers(v, readers.get(v, []), place, PAUSE * len(order)) for v in order}
    again = {v for v in order if v.kind == UFUNC and v.nbytes >= SMALL and v not in program.outputs}
    again = {v for v in again if all([r.kind == UFUNC for r in readers[v]])} - checkpoints(order, again)
    copies: dict[Value, Value] = {}

    def copy(v: Value, before: float) -> Value:
        """The call of ``v`` once more; ``v`` itself if it is kept."""
        if v not in again:
            return v
        if v not in copies:
            args = tuple([copy(x, before) for x in v.args])
            copies[v] = new_value(UFUNC, v.function, args, v.options, v.shape, before, v)
        return copies[v]

    pairs = [(reader, (v, copy(v, late[v][0].number - 0.5))) for v in order if v in again for reader in late[v]]
    for reader, changed in grouped(pairs).items():
        new = dict(changed)
        reader.args = tuple([new.get(x, x) for x in reader.args])
    program.rewrite({})  # copies wait for nothing that their originals did not wait for


def late_readers(v: Value, readers: list[Value], place: dict[Value, int], pause: float) -> list[Value]:
    """The readers of ``v`` after the first pause."""
    at = place[v]
    for k, reader in enumerate(readers):
        if place[reader] - at > pause:
            return readers[k:]
        at = place[reader]
    return []


def checkpoints(order: list[Value], again: set[Value]) -> set[Value]:
    """Every √n-th value of a chain of n that could be computed again."""

    def depths(limit: float) -> tuple[int, set[Value]]:
        depth: dict[Value, int] = {}
        checkpointed: set[Value] = set()
        for v in order:
            if v in again:
                depth[v] = 1 + max([depth.get(x, 0) for x in v.args])
                if depth[v] >= limit:
                    checkpointed.add(v)
                    depth[v] = 0
        return max(depth.values(), default=0), checkpointed

    longest, _ = depths(math.inf)
    return depths(max(2, math.sqrt(longest)))[1]


LARGE = 100_000  # with at least this many elements blocks pay
FEW_CALLS = 3  # fewer calls on large arrays are left alone
PASSES = 4  # per array that later phases need whole: with fewer calls, allocating it costs what threads save
THREADED = 262_144  # with at least this many multiplications OpenBLAS uses threads
WORK = 1_000_000  # with at least this many elements in all its calls, a phase is worth handing to threads
FLOPS = 100  # with at least this many multiplications per element products dominate; they want many rows at once
COMBINED = {np.add, np.maximum, np.minimum, np.multiply}


def tile_program(program: Program, improve: Improve = lambda program, targets: targets) -> None:
    """Replace values that can be computed block by block with calls of :class:`Phase`. ``improve``: a further pass over
    the program of a block, given the values that it writes into arguments; it returns those left."""
    order = program.order()
    rows = leading_axis(order)
    if rows is not None:
        phases = Phases(order, rows, set(program.outputs))
        new = phases.calls(improve)
        if new and not any([v not in phases.chosen and is_threaded(v) for v in order]):
            program.rewrite(new)


def leading_axis(order: list[Value]) -> int | None:
    """The length of axis 0 that most large arrays share; None if there are too few."""
    elements: dict[int, list[int]] = {}
    for v in order:
        if v.kind in (UFUNC, REDUCE) and v.args[0].shape and math.prod(v.args[0].shape) >= LARGE:
            elements.setdefault(v.args[0].shape[0], []).append(math.prod(v.args[0].shape))
    counts = {n: sum(sizes) for n, sizes in elements.items() if len(sizes) >= FEW_CALLS and n > 1}
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
            stages = [self.ready[x] for x in whole]
            if not sliced:
                self.ready[v] = max([self.ready[x] for x in v.args], default=0)
                continue
            p = max([self.phase[x] if self.by_rows(x) else self.ready[x] for x in sliced] + stages)
            self.phase[v], self.ready[v] = p, p + 1
            if part:
                self.parts.add(v)

    def by_rows(self, x: Value) -> bool:
        """Is it computed row by row, each row available at once?"""
        return x in self.phase and x not in self.parts

    def needs(self, v: Value) -> tuple[list[Value], list[Value], bool]:
        """The operands from which a value needs only the same rows, those it needs whole, and whether it comes in
        parts. Without any of the first kind it is computed as a whole."""
        n, shape = self.n, v.shape
        nothing: tuple[list[Value], list[Value], bool] = ([], [], False)
        if v.layout is not None or any([(x.args[0] if is_transposed(x) else x).layout is not None for x in v.args]):
            return nothing
        if v.kind == UFUNC or is_of_elements(v):
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
        users = grouped([(x, v) for v in self.order for x in v.args])
        for p in sorted(set(self.phase.values())):
            members = [v for v in self.order if self.phase.get(v) == p]
            large = [v for v in members if v.kind != VIEW and math.prod(v.args[0].shape) >= LARGE]
            if len(large) < FEW_CALLS or bound_by_products(members):
                continue
            own, fixed = set(members), self.parts | self.outputs
            results = [v for v in members if v in fixed or any([self.reads_whole(u, v, own) for u in users.get(v, ())])]
            stored = sum([math.prod(v.shape) for v in results if v not in fixed])
            if not results or sum([math.prod(v.args[0].shape) for v in large]) < max(WORK, PASSES * stored):
                continue
            self.chosen |= own
            phase = Phase(self.n, members, results, self.need, self.parts, improve)
            new.update(results_of_call(phase, tuple(phase.sources), results, members[-1].number))
        return new

    def reads_whole(self, user: Value, v: Value, inside: set[Value]) -> bool:
        """Does ``user`` need more of v than the rows that its own phase is at?"""
        if is_transposed(user):  # is it only the left factor of products that are computed in parts?
            return any([
                u not in inside or u not in self.parts or u.args[0] is not user or u.args[1] is user
                for u in self.order if user in u.args
            ])  # fmt: skip
        return user not in inside or v not in self.need[user][0]


def is_of_elements(v: Value) -> bool:
    """x.astype(dtype), or np.where(mask, x, y)? (The rule of max has one.)"""
    function, args, _ = call_of(v, v.args)
    return v.kind == CALL and (function is cast or (function is np.where and len(args) == 3))


def is_threaded(v: Value) -> bool:
    """A product for which the matrix library uses threads? (For stacks it makes one product after the other.)"""
    is_product = v.kind == PRODUCT or (v.kind == CALL and v.function is np.matmul)
    return is_product and math.prod(v.shape[-2:]) * v.args[0].shape[-1] > THREADED


def bound_by_products(members: list[Value]) -> bool:
    """Do products take most of the time? Then it is better that they see all rows at once."""
    flops = sum([2 * math.prod(v.shape) * v.args[0].shape[1] for v in members if v.kind == PRODUCT])
    elements = sum([math.prod(v.args[0].shape) for v in members if v.kind in (UFUNC, REDUCE)])
    return flops > FLOPS * elements
