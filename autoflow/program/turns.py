"""The turns of loops: ``for t in range(5)`` had its third one, with t = 2, when a record was made.

Nobody watches the loops. But in one turn an expression is computed once at most. So if it was computed as often as the
loops around it can go round, it was computed in each of their turns, in their order, whatever else the program does.
How often that is stands in the program: ``range`` of numbers, of names that are given once, of arguments; a tuple.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from .names import COMPREHENSIONS, FRAMES, Program, argument_node, caller_of, function_around
from .places import Activation
from .source import Loop, called, find, is_module, loop_text, source_of, start_of, written

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
        for r in sorted(records, key=lambda r: int(r.number)):
            if (place := getattr(r, "place", None)) is not None:
                self.count(id(r), place, run_of(place, r.last), id(r) not in program.parts)

    def count(self, key: int, place: Any, run: Run, new: bool = True) -> None:
        """Count a run, and the calls that it is in, if they are not known yet."""
        while type(place) is Activation:
            self.runs[run] += new
            self.runs_of[key], self.nth[key] = run, self.runs[run] - 1
            if id(place) in self.nth or place.parent is None:
                return
            key, run, new = id(place), run_of(place.parent, place.call, place.code), True
            if not is_direct(place):
                self.indirect.add(run)
            place = place.parent

    def of(self, record: Any) -> tuple[str, ...]:
        """The turns of the loops around a record, the outermost first: ``t = 2, iteration 3 of 5``; if none is
        certain, how often the innermost was recorded."""
        place: Any = getattr(record, "place", None)
        last, key = getattr(record, "last", -1), id(record)
        found: list[str] = []
        if type(place) is Activation and key in self.nth and not self.is_known(place, last, key):
            found = self.beside(record)
            if found:
                key, place, last = id(place), place.parent, place.call
        while type(place) is Activation and key in self.nth:
            found[:0] = self.in_call(place, last, key)
            key, place, last = id(place), place.parent, place.call
        return tuple([text for text in found if RUN not in text] or found[-1:])

    def beside(self, record: Any) -> list[str]:
        """The turns of a record whose expression was not always recorded, from one in it or around it that was."""
        users = [user for user, _ in self.program.users.get(id(record), ())]
        for x in (*users, *record.parents):
            here = getattr(x, "place", None) is record.place and id(x) in self.nth
            if here and self.is_known(x.place, x.last, id(x)):
                one, other = [find(r.place.code, r.last) for r in (record, x)]
                if one and other and (one.is_in(other) or other.is_in(one)):
                    return self.in_call(x.place, x.last, id(x))
        return []

    def is_known(self, place: Activation, last: int, key: int) -> bool:
        """Was this run in each turn of the loops of its function?"""
        run, source = self.runs_of[key], source_of(place.code)
        loops = own_loops(place, last) if source is not None and run not in self.indirect else []
        return bool(loops) and prod([len(values_of(x, place, source)) for x in loops]) == self.runs[run]

    def in_call(self, place: Activation, last: int, key: int) -> list[str]:
        """The turns of a run of an instruction in the loops of its function."""
        n, run, loops, source = self.nth[key], self.runs_of[key], own_loops(place, last), source_of(place.code)
        if not loops or source is None or run in self.indirect:
            return []
        if not self.is_known(place, last, key):
            told = f"{loop_text(loops[-1], source)}{RUN}{n + 1} of {self.runs[run]}"
            return [told] if self.runs[run] > 1 else []
        found = []
        for loop in reversed(loops):
            known = values_of(loop, place, source)
            n, k = divmod(n, len(known))
            name = written(getattr(loop, "target", loop))
            found.append(f"{name} = {known[k]}, " * (name != "_") + f"iteration {k + 1} of {len(known)}")
        return found[::-1]


def run_of(place: Any, last: int, called: Any = None) -> Run:
    """What is counted as a run: an instruction of a call, and the code of the function that it calls."""
    return id(place), start_of(getattr(place, "code", place), last), id(called)


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


def values_of(loop: Loop, place: Activation, source: Any) -> Sequence[Any]:
    """The values of a loop's variable, as far as the program says them, else nothing."""
    match getattr(loop, "iter", None):
        case ast.Tuple(elts=items) | ast.List(elts=items) if not any([isinstance(x, ast.Starred) for x in items]):
            return [written(x) for x in items]
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            numbers = [integer(x, place, source) for x in args]
            known = [n for n in numbers if n is not None]
            return range(*known) if len(known) == len(args) and 0 not in known[2:] else ()
    return ()


def integer(node: Any, place: Activation, source: Any) -> int | None:
    """The number that an argument of ``range`` is: written there, or in the call, or in the one statement that gives
    the name in the same function or the module."""
    if isinstance(node, ast.Name):
        call, own, name = function_around(place), source.function(node), node.id
        named = [x for x in ast.walk(source.tree) if name in (getattr(x, "id", None), *getattr(x, "names", ()))]
        stores = [x for x in named if not isinstance(getattr(x, "ctx", None), ast.Load)]
        inner = [x for x in stores if not isinstance(x, ast.Name) or source.function(x) is own]  # global, nonlocal
        node = None
        if name in call.code.co_varnames[: call.code.co_argcount + call.code.co_kwonlyargcount]:
            node = None if inner else argument_node(call, name)
        elif (
            name not in call.code.co_freevars
            and len(found := inner or [x for x in stores if source.function(x) is source.tree]) == 1
        ):
            above = source.above[found[0]]
            node = above.value if isinstance(above, ast.Assign) else None
    known = isinstance(node, ast.Constant) and type(node.value) is int
    return int(node.value) if known else None
