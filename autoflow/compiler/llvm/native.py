"""Some values of a program as one compiled function: how it is called, and where its results and its memory are.

The function gets a tuple of arrays (what it reads, then new arrays for its results) and a block of memory of its own.
It finds the addresses itself (``engine.check_layout``), calls the loops one after the other, and returns which
floating-point flags they have raised: where the caller does not ignore that, NumPy's eager code is asked again, as
after any run of a program (``run/reports.py``). It returns −1 where an argument is no plain array.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Collection, Sequence
from itertools import count, starmap
from typing import Any

import numpy as np

from ..run.buffers import shape_buffer
from ..run.reports import callers_state
from ..values import CAPTURED, CONSTANT, INPUT, Value
from .engine import KINDS, Library, flag_bits, module_text
from .places import Access
from .schedule import ALIGNED, MANY, Schedule
from .settings import Settings
from .text import Text

Array = Any
QUICK = 20_000  # numbers computed; above other threads of Python may run meanwhile
WORD = 8
empty = np.empty
LEVEL = 1  # of LLVM's effort. 0 takes a third of the time, but products then three times; numbers are as quick with it


class Native:
    """A stretch of a program: called with the arrays of ``sources``, returns those of ``results``. Where ``given`` says
    so a result is no new array: the array that it is written into is one more argument."""

    def __init__(
        self, members: list[Value], results: list[Value], settings: Settings, given: Sequence[bool] = ()
    ) -> None:
        self.members, self.results = members, results
        self.schedule = Schedule(members, results, settings.own_functions)
        self.__name__ = "loops"
        self.places = self.schedule.places
        bases = dict.fromkeys([a.base for _, accesses, _ in self.schedule.calls for a in accesses])
        inside = {*members, *[b for b in bases if b.function is None and b.kind == "ufunc"]}
        self.sources = [b for b in bases if b not in inside]
        self.loose = [k for k, v in enumerate(self.sources) if not lies_in_c_order(v)]
        self.where = {v: k for k, v in enumerate([*self.sources, *results])}
        self.settings = settings
        self.offsets, self.size = place_in_workspace(self.schedule.calls, {b for b in bases if b not in self.where})
        self.library, self.function = self.compile(self.text())
        self.free: list[Workspace] = []
        self.known: tuple[Any, int, bool] = (None, 0, False)  # the state of the last caller, and what it wants to know
        self.new: list[Callable[[], Array]] = [maker(v) for v in results]
        self.plain = [(v.shape, v.dtype) for v in results] if not any([v.layout for v in results]) else []
        places = count(len(self.sources))
        self.into = [next(places) if is_given else -1 for is_given in given] if any(given) else []
        self.flags = dict(zip(KINDS, flag_bits(), strict=True))
        self.schedule.places.dummies.clear()

    def __call__(self, *arrays: Array) -> list[Array]:
        """All results, as new arrays; as a call of a larger program, which is told what there is to report."""
        results, raised = self.run(arrays)
        state, mask, uncertain = self.known
        if (now := callers_state()) is not state:
            mask, uncertain = self.mask_of([kind for kind, how in np.geterr().items() if how == "call"])
            self.known = now, mask, uncertain
        if raised & mask or uncertain:
            tell: Any = np.geterrcall()
            tell("loops", 0)
        return results

    def compile(self, text: str) -> tuple[Library, Any]:
        """The function, and the library that it lives in."""
        level = LEVEL if any([v.shape for v in self.members]) else 0
        library = Library(text, level, self.settings.objects)
        small = sum([math.prod(v.shape) for v in self.members]) < QUICK
        make: Any = ctypes.PYFUNCTYPE if small else ctypes.CFUNCTYPE
        return library, make(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(library.address("run"))

    def describe(self) -> list[str]:
        """What its loops compute, a line for each that differs: for ``plan()``."""
        counts = self.schedule.counts
        return [f"{n:5} × {what}  {shape}" for (what, shape), n in counts.items()]

    def mask_of(self, kinds: Collection[str]) -> tuple[int, bool]:
        """The flags of these kinds of error. Underflow our functions do not always raise as NumPy's do: whoever asks
        for it (True) is answered by eager code."""
        return sum([self.flags[kind] for kind in kinds]), "under" in kinds

    def run(self, arrays: tuple[Array, ...]) -> tuple[list[Array], int]:
        """All results, and the flags that were raised."""
        if self.loose:
            given = [*arrays]
            for k in self.loose:
                given[k] = np.asarray(arrays[k], order="C")
            arrays = tuple(given)
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
        return results, raised

    def text(self, after_call: Callable[[Text, int], None] = lambda t, k: None) -> str:
        """The module: the loops, and the function that calls them. ``after_call``: writes what follows the k-th call
        of a loop, and (0) what precedes the first."""
        schedule, where, offsets = self.schedule, self.where, self.offsets
        functions = [f"define internal void @loop{k}{text}" for text, k in schedule.kernels.items()]
        t = Text()
        t.declared |= {"declare i32 @feclearexcept(i32)", "declare i32 @fetestexcept(i32)"}
        bits = sum(flag_bits())
        longest = max([len(accesses) for _, accesses, _ in schedule.calls])
        t.say(f"%list = alloca ptr, i64 {longest}, align 8")
        addresses = self.write_addresses(t, len(where))
        t.let(f"call i32 @feclearexcept(i32 {bits})")
        after_call(t, 0)
        for number, (k, accesses, _) in enumerate(schedule.calls, 1):
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
            after_call(t, number)
        raised = t.let(f"call i32 @fetestexcept(i32 {bits})")
        run = f"define i32 @run(ptr %arrays, ptr %memory) #0 {{\nentry:\n{t}\n  ret i32 {raised}\n}}"
        return module_text([*functions, run], [*schedule.texts, t])

    def write_addresses(self, t: Text, n: int) -> list[str]:
        """Where the numbers of the n arrays of the tuple are; and the way back if one is no plain array."""
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
    known = v.kind in (CAPTURED, CONSTANT) or (v.kind == INPUT and v.sample is not None)
    return known and bool(np.asarray(v.sample).flags.c_contiguous)


def maker(v: Value) -> Callable[[], Array]:
    """What makes an array for a result."""
    shape, dtype, layout = v.shape, v.dtype, v.layout
    if layout is None:
        return lambda: np.empty(shape, dtype)
    return lambda: shape_buffer(np.empty(math.prod(shape), dtype), shape, layout)


def place_in_workspace(calls: list[tuple[int, list[Access], str]], bases: set[Value]) -> tuple[dict[Value, int], int]:
    """Offsets of what passes from loop to loop, and the size: memory is used again when it is no longer read."""
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    for k, (_, accesses, _) in enumerate(calls):
        for a in accesses:
            first.setdefault(a.base, k)
            last[a.base] = k
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
    """Its bytes, up to the next line of the cache; numbers lie side by side."""
    size = math.prod(v.shape) * v.dtype.itemsize
    return WORD if not v.shape else -(-size // ALIGNED) * ALIGNED
