"""Some values of a program (a stretch) as one compiled function; which values become one.

The function gets a tuple of arrays (its operands, then new arrays for its results) and its own block of memory. It
finds the addresses itself (``engine.check_layout``), calls the loops one after the other, and returns which
floating-point flags they have raised: if the caller does not ignore these, NumPy's eager code runs again, as after any
run of a program (``run/buffers.py``). It returns −1 if an argument is not a plain array.

Stretches: which values become loops, and how a program is cut where others lie between them. A value without a loop (a
solver, an index, a large product) stays a NumPy call. Everything with one is computed as early as possible: the *stage*
of a value is the number of NumPy calls that must have been made one after the other before it. All values of a stage
with loops become one call of the program, a :class:`Native`; so none can wait for another, and nothing is refused that
NumPy's engine takes. Large arrays go block by block through the threads (``passes.py``). The program of a block is cut
in the same way, and its loops write into the rows of the results that the block is for.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count, starmap
from typing import Any

import numpy as np

from .. import engine as numpy_engine
from ..matching import INPUT, ITEM, KNOWN, PRODUCT, VIEW, Array, Value, behind_views
from ..program import Program, rebuild_outputs, results_of_call, sort_values
from ..run.buffers import callers_state, shape_buffer
from .engine import KINDS, Binary, flag_bits, module_text, objects_in, options
from .functions import IRText
from .loops import Access, Places
from .products import Sum, is_copy, sum_products
from .schedule import ALIGNED, MANY, Kernels, has_loop
from .systems import share_factors
from .words import USING_FMA, code

__all__ = ["options", "prepare"]

# ---------------------------------------------------------------- a stretch as one function: its results and its memory

How = dict[str, Any]  # the options, of which cache and own_functions are this engine's
QUICK = 20_000  # numbers computed; above other threads of Python may run meanwhile
WORD = 8
empty = np.empty
LEVEL = 1  # of LLVM's effort. 0 takes a third of the time, but products then three times; numbers are as quick with it


class Native:
    """A stretch of a program: called with the arrays of ``sources``, returns those of ``results``. A result that is
    ``given`` is not a new array: the array that it is written into is one more argument."""

    def __init__(self, members: list[Value], results: list[Value], how: How, given: list[bool]) -> None:
        self.members = members
        self.schedule = Kernels(members, results, how["own_functions"])
        self.__name__ = "loops"
        bases = dict.fromkeys([a.base for _, accesses, _ in self.schedule.calls for a in accesses])
        inside = {*members, *[b for b in bases if b.function is None and b.kind == "ufunc"]}
        self.sources = [b for b in bases if b not in inside]
        self.loose = [k for k, v in enumerate(self.sources) if not lies_in_c_order(v)]
        self.where = {v: k for k, v in enumerate([*self.sources, *results])}
        self.offsets, self.size = place_in_workspace(self.schedule.calls, {b for b in bases if b not in self.where})
        level = LEVEL if any([v.shape for v in members]) else 0
        self.library = Binary(self.text(), level, objects_in(how["cache"]))
        is_small = sum([math.prod(v.shape) for v in members]) < QUICK
        make: Any = ctypes.PYFUNCTYPE if is_small else ctypes.CFUNCTYPE
        self.function = make(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.library.address("run"))
        self.free: list[Workspace] = []
        self.known: tuple[Any, int, bool] = (None, 0, False)  # the state of the last caller, and what it wants to know
        self.new: list[Callable[[], Array]] = [maker(v) for v in results]
        self.plain = [(v.shape, v.dtype) for v in results] if not any([v.layout for v in results]) else []
        places = count(len(self.sources))
        self.into = [next(places) if is_given else -1 for is_given in given] if any(given) else []
        self.flags = dict(zip(KINDS, flag_bits(), strict=True))
        self.schedule.places.dummies.clear()

    def __call__(self, *arrays: Array) -> list[Array]:
        """All results, as new arrays; called in a larger program, which learns what there is to report."""
        if self.loose:
            ordered = [*arrays]
            for k in self.loose:
                ordered[k] = np.asarray(arrays[k], order="C")
            arrays = tuple(ordered)
        if self.into:
            results = [arrays[k] if k >= 0 else make() for k, make in zip(self.into, self.new, strict=True)]
            arrays = arrays[: len(self.sources)]
        else:  # starmap takes 0.06 µs less for each array than calling functions that make one
            results = [*starmap(empty, self.plain)] if self.plain else [make() for make in self.new]
        try:
            memory = self.free.pop()  # of this call alone
        except IndexError:
            memory = Workspace(self.size)
        raised = self.function((*arrays, *results), memory.address)
        if raised < 0:
            raised = self.function((*map(np.asarray, arrays), *results), memory.address)
        self.free.append(memory)
        state, mask, uncertain = self.known
        if (now := callers_state()) is not state:
            kinds = [kind for kind, how in np.geterr().items() if how == "call"]
            # Our functions do not always raise underflow as NumPy's do: a caller who wants it gets eager code.
            mask, uncertain = sum([self.flags[kind] for kind in kinds]), "under" in kinds
            self.known = now, mask, uncertain
        if raised & mask or uncertain:
            tell: Any = np.geterrcall()
            tell("loops", 0)
        return results

    def describe(self) -> list[str]:
        """What its loops compute, a line for each that differs: for ``plan()``."""
        return [f"{n:5} × {what}  {shape}" for (what, shape), n in self.schedule.counts.items()]

    def reason_why_not(self, v: Value) -> str:
        """Why another value has no loop, for ``plan()``."""
        if v.kind == PRODUCT:
            return "a large product"
        if has_loop(v):
            return "too few calls together"
        odd = [x.dtype for x in (v, *v.args) if x.dtype is not None and code(x.dtype) is None]
        return f"computes in {odd[0]}" if odd else "no loop has it"

    def text(self) -> str:
        """The module: the loops, and the function that calls them."""
        schedule, where, offsets = self.schedule, self.where, self.offsets
        functions = [f"define internal void @loop{k}{text}" for text, k in schedule.kernels.items()]
        t = IRText()
        t.declared |= {"declare i32 @feclearexcept(i32)", "declare i32 @fetestexcept(i32)"}
        bits = sum(flag_bits())
        longest = max([len(accesses) for _, accesses, _ in schedule.calls])
        t.say(f"%list = alloca ptr, i64 {longest}, align 8")
        addresses = self.write_addresses(t, len(where))
        t.let(f"call i32 @feclearexcept(i32 {bits})")
        for k, accesses, _ in schedule.calls:
            pointers = []
            for a in accesses:
                base = addresses[where[a.base]] if a.base in where else "%memory"
                offset = a.offset + (0 if a.base in where else offsets[a.base])
                pointers.append(t.let(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base)
            if len(pointers) > MANY:
                for j, p in enumerate(pointers):
                    t.say(f"store ptr {p}, ptr {t.let(f'getelementptr ptr, ptr %list, i64 {j}')}, align 8")
                pointers = ["%list"]
            t.say(f"call void @loop{k}({', '.join([f'ptr {p}' for p in pointers])})")
        raised = t.let(f"call i32 @fetestexcept(i32 {bits})")
        run = f"define i32 @run(ptr %arrays, ptr %memory) #0 {{\nentry:\n{t}\n  ret i32 {raised}\n}}"
        return module_text([*functions, run], [*schedule.texts, t])

    def write_addresses(self, t: IRText, n: int) -> list[str]:
        """Where the numbers of the n arrays of the tuple are; and the way back if one is not a plain array."""
        kind = t.let("load i64, ptr %memory, align 8")  # Workspace: the class ndarray
        wrong, addresses = "false", []
        for k in range(n):
            item = t.let(f"getelementptr i8, ptr %arrays, i64 {tuple.__basicsize__ + WORD * k}")
            array = t.let(f"load ptr, ptr {item}, align 8")
            its = t.let(f"load i64, ptr {t.let(f'getelementptr i8, ptr {array}, i64 {WORD}')}, align 8")
            wrong = t.let(f"or i1 {wrong}, {t.let(f'icmp ne i64 {its}, {kind}')}")
            place = t.let(f"getelementptr i8, ptr {array}, i64 {2 * WORD}")
            addresses.append(t.let(f"load ptr, ptr {place}, align 8"))
        t.say(f"br i1 {wrong}, label %wrong, label %right")
        t.lines += ["wrong:", "  ret i32 -1", "right:"]
        return addresses


class Workspace:
    """Memory for one call at a time."""

    def __init__(self, size: int) -> None:
        self.block = np.zeros(size + ALIGNED, np.uint8)
        skip = -self.block.ctypes.data % ALIGNED
        self.address = self.block.ctypes.data + skip
        self.block[skip : skip + WORD].view(np.uint64)[0] = id(np.ndarray)


def lies_in_c_order(v: Value) -> bool:
    """Is it known to? The signature knows it for arguments, but not for those of a block."""
    known = v.kind in KNOWN or (v.kind == INPUT and v.sample is not None)
    return known and bool(np.asarray(v.sample).flags.c_contiguous)


def maker(v: Value) -> Callable[[], Array]:
    """The function that makes an array for a result."""
    shape, dtype, layout = v.shape, v.dtype, v.layout
    return lambda: shape_buffer(np.empty(math.prod(shape), dtype), shape, layout) if layout else np.empty(shape, dtype)


def place_in_workspace(calls: list[tuple[int, list[Access], str]], bases: set[Value]) -> tuple[dict[Value, int], int]:
    """Offsets of values that pass from loop to loop, and the size: memory is reused when it is no longer read."""
    used = [(a.base, k) for k, (_, accesses, _) in enumerate(calls) for a in accesses]
    first, last = dict(reversed(used)), dict(used)
    offsets: dict[Value, int] = {}
    spare: list[tuple[int, int]] = []  # size, offset
    end = ALIGNED  # the first word is the class ndarray
    dying: dict[int, list[Value]] = {}
    for v in sorted(bases, key=lambda v: first[v]):
        for k in sorted([k for k in dying if k < first[v]]):
            spare += [(padded(x), offsets[x]) for x in dying.pop(k)]
        fitting = [pair for pair in spare if padded(v) == pair[0]]
        if fitting:
            spare.remove(fitting[-1])
            offsets[v] = fitting[-1][1]
        else:
            offsets[v], end = end, end + padded(v)
        dying.setdefault(last[v], []).append(v)
    return offsets, end


def padded(v: Value) -> int:
    """Its bytes, up to the next cache line; its numbers are contiguous."""
    size = math.prod(v.shape) * v.dtype.itemsize
    return WORD if not v.shape else -(-size // ALIGNED) * ALIGNED


# ---------------------------------------------------------------- stretches: which values become loops


Targets = dict[Value, Value]
FEW = 3  # a stretch of fewer calls is left to NumPy: its own call takes as long
LARGE = 100_000  # numbers, for which that does not count


def use_loops_in_block(program: Program, targets: Targets, how: How) -> Targets:
    """Replace values that loops can compute in the program of a block, whose ``targets`` are values that are written
    into arguments. Those that loops write become results of the program; the others are returned."""
    n = len(program.outputs)
    needed = [*program.outputs, *targets]
    new = find_stretches(sort_values(needed), needed, targets, how)
    outputs = rebuild_outputs(needed, new) or []  # None of its calls waits for another
    left = {now: targets[v] for v, now in zip(targets, outputs[n:], strict=True) if v not in new}
    program.outputs = [v for v in outputs if v not in left]
    return left


def find_stretches(order: list[Value], wanted: list[Value], targets: Targets, how: How) -> dict[Value, Value]:
    """The replacement of each result of a stretch."""
    stages = find_stages(order)
    delay_few(order, stages)
    new: dict[Value, Value] = {}
    for stage in sorted(set(stages.values())):
        members = [v for v in order if stages.get(v) == stage]
        results = results_of(members, order, wanted)
        own = how["own_functions"] and any([v.function in USING_FMA for v in members])
        sums, most = any([type(v.function) is Sum for v in members]), max([math.prod(v.shape) for v in members])
        few = 1 if own or sums or most >= LARGE else FEW
        if len(members) >= few:
            native = Native(members, results, how, [v in targets for v in results])
            args = (*native.sources, *[targets[v] for v in results if v in targets])
            new.update(results_of_call(native, args, results, members[-1].number))
    return new


def find_stages(order: list[Value]) -> dict[Value, int]:
    """The stage of each value that has a loop."""
    stages: dict[Value, int] = {}
    after: dict[Value, int] = {}  # for each value the first stage that can read it
    places = Places(stages)
    for v in order:
        before = max([after[x] for x in v.args], default=0)
        after[v] = before
        copied = is_copy(v, places) and v.nbytes and v.layout is None and code(v.dtype) is not None
        if v.args and (has_loop(v) or copied):
            stages[v] = before
        elif v.args and v.kind != ITEM and (v.kind != VIEW or places.base_of(v) is v):  # this view is a copy
            after[v] = before + 1
    return stages


def delay_few(order: list[Value], stages: dict[Value, int]) -> None:
    """If a stage has too few values for a stretch, let them wait for the stage that reads them first."""
    counts = Counter(stages.values())
    latest: dict[Value, int] = {}  # for each value the stage of those that read it, the first one
    before = {v: max([stages.get(x, 0) for x in v.args], default=0) for v in order}
    for v in reversed(order):
        if v in stages and counts[stages[v]] < FEW:
            stages[v] = max(stages[v], latest.get(v, 0))
        stage = stages[v] if v in stages else latest.get(v, 0) if v.kind == VIEW else before[v]
        for x in v.args:
            latest[x] = min(latest.get(x, stage), stage)


def results_of(members: list[Value], order: list[Value], wanted: list[Value]) -> list[Value]:
    """Those that other calls read, also through a view."""
    inside = set(members)
    read = [x for v in order if v not in inside and v.kind != VIEW for x in v.args]
    results = {behind_views(x, inside) for x in [*read, *wanted]}
    return [v for v in members if v in results]


# ---------------------------------------------------------------- the engine


def prepare(program: Program, how: How) -> Callable[[], Any]:
    """NumPy's calls, with loops in place of those that loops can do."""
    plan = numpy_engine.prepare(program, how, partial(use_loops_in_block, how=how))
    sum_products(program)
    share_factors(program, objects_in(how["cache"]))
    program.rewrite(find_stretches(program.order(), [*program.outputs, *program.checks], {}, how))
    return plan
