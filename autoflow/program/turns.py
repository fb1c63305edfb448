"""The turns of loops: ``for t in range(5)`` had its third one, with t = 2, when a record was made.

Where the run was watched (``watch.py``) that is certain. Elsewhere only this is: the same instruction again in one call
is a later turn, so the steps say which recorded run of its expression it is.
"""

from __future__ import annotations

import ast
import builtins
import dis
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .names import COMPREHENSIONS, FRAMES, Program, caller_of
from .places import Activation
from .source import Loop, called, find, is_module, is_within, loop_text, source_of, span_of, start_of, written
from .watch import LATER

Run = tuple[int, int, int]
RUN = ", recorded run "  # which turn it was is not certain


class Turns:
    """The turns that the records of a graph were made in."""

    def __init__(self, program: Program, records: Iterable[Any]) -> None:
        self.program = program
        self.runs: Counter[Run] = Counter()  # how often each was
        self.nth: dict[int, int] = {}  # ids of records and of calls -> which run of its instruction each is
        self.runs_of: dict[int, Run] = {}  # ids of records and of calls -> what was run
        self.indirect: set[Run] = set()  # those that may make several calls in one run
        self.running = dict(running())
        for r in sorted(records, key=lambda r: int(r.number)):
            if (place := getattr(r, "place", None)) is not None:
                self.count(id(r), place, run_of(place, r.last), id(r) not in program.parts)

    def count(self, key: int, place: Any, run: Run, new: bool = True) -> None:
        """Count a run, and the calls that it is in, if they are not known yet."""
        while type(place) is Activation:
            self.runs[run] += new
            self.runs_of[key], self.nth[key] = run, self.runs[run] - 1
            if id(place.whole) in self.nth or place.parent is None:
                return
            key, run, new = id(place.whole), run_of(place.parent, place.call, place.code), True
            if not is_direct(place):
                self.indirect.add(run)
            place = place.parent

    def of(self, record: Any) -> tuple[str, ...]:
        """The turns of the loops around a record, the outermost first: ``t = 2, iteration 3 of 5``; if none is
        certain, how often the innermost was recorded."""
        place: Any = getattr(record, "place", None)
        last, key, same = getattr(record, "last", -1), id(record), True
        found: list[str] = []
        while type(place) is Activation and key in self.nth:
            found[:0] = self.in_call(place, last, key, same)
            same = same and not place.code.co_flags & LATER
            key, place, last = id(place.whole), place.parent, place.call
        return tuple([text for text in found if RUN not in text] or found[-1:])

    def in_call(self, place: Activation, last: int, key: int, same: bool) -> list[str]:
        """The turns of the loops of a function, which may not be the same any more, at one run of an instruction."""
        n, run, loops, source = self.nth[key], self.runs_of[key], own_loops(place, last), source_of(place.code)
        if not loops or source is None:
            return []
        if same and all([x in place.turns and place.turns[x][1] for x in loops]) and not is_test(place, last, loops):
            return [self.told(place, loop) for loop in loops]
        told = f"{loop_text(loops[-1], source)}{RUN}{n + 1} of {self.runs[run]}"
        return [told] if self.runs[run] > 1 and run not in self.indirect else []

    def told(self, place: Activation, loop: Loop) -> str:
        """A turn in words: of how many, if the loop has ended."""
        run, n = place.turns[loop]
        variable = value_of(loop, n - 1)
        return f"{variable}, " * bool(variable) + f"iteration {n}" + f" of {run.turns}" * self.has_ended(place, loop)

    def has_ended(self, place: Activation, loop: Loop) -> bool:
        """Has a loop ended, whose turns one knows?"""
        now, last = self.running.get(id(place.whole), (place, -1))
        is_last = loop in now.turns and now.turns[loop][0] is place.turns[loop][0]
        at_head = last >= 0 and dis.opname[place.code.co_code[last]] == "FOR_ITER"
        goes_on = last >= 0 and is_last and (at_head or loop in own_loops(now, last))
        return not (goes_on or place.code.co_flags & LATER)


def running() -> Iterator[tuple[int, tuple[Activation, int]]]:
    """The calls that are running, and where."""
    for frame in sys._current_frames().values():
        now: Any = frame
        while now is not None:
            if type(place := now.f_trace) is Activation:
                yield id(place.whole), (place, now.f_lasti)
            now = now.f_back


def is_test(place: Activation, last: int, loops: Iterable[Loop]) -> bool:
    """Is an instruction in the test of one of these loops, where it is not said which turn that is?"""
    found = find(place.code, last)
    tests = [span_of(loop.test) for loop in loops if isinstance(loop, ast.While)]
    return found is None or any([is_within(found.span, span) for span in tests])


def run_of(place: Any, last: int, called: Any = None) -> Run:
    """What is counted as a run: an instruction of a call, and the code of the function that it calls."""
    return id(getattr(place, "whole", place)), start_of(getattr(place, "code", place), last), id(called)


def is_direct(call: Activation) -> bool:
    """Does the instruction call just this function, and once? ``map(f, xs)`` calls f often."""
    found = caller_of(call)
    if found is None or not found.is_call:
        return call.code.co_name in COMPREHENSIONS
    function = found.node.func
    name = called(found.node) if isinstance(function, (ast.Name, ast.Attribute)) else ""
    by_name = name == call.code.co_name
    is_foreign = hasattr(builtins, name) or is_module(function, found.source.imported)
    return by_name or (call.code.co_name in ("__call__", "__init__", "<lambda>") and not is_foreign)


def own_loops(place: Activation, last: int) -> list[Loop]:
    """The loops around an instruction in its own function, the outermost first. A comprehension may be one."""
    found = find(place.code, last)
    loops = list(found.loops()) if found is not None else []
    if found is not None and loops and place.code.co_name in FRAMES:
        loops = [loop for loop in loops if found.source.above[loop] is found.source.above[loops[0]]]
    return loops[::-1]


def value_of(loop: Loop, n: int) -> str:
    """The variable of a loop in its n-th turn, from 0, as far as the program says it: ``t = 2``; else nothing."""
    target, value = getattr(loop, "target", None), ""
    match getattr(loop, "iter", None):
        case ast.Tuple(elts=items) | ast.List(elts=items) if not any([isinstance(x, ast.Starred) for x in items]):
            value = written(items[n])
        case ast.Call(func=ast.Name(id="range"), args=[x], keywords=[]) if not isinstance(x, ast.Starred):
            value = str(n)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(first), _], keywords=[]):
            value = str(first + n)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(first), _, ast.Constant(step)], keywords=[]):
            value = str(first + n * step)
        case ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]) if isinstance(target, ast.Tuple):
            target, value = target.elts[0], str(n)
    return f"{target.id} = {value}" if value and isinstance(target, ast.Name) and target.id != "_" else ""
