"""The turns of loops: ``for t in range(5)`` had its third one, with t = 2, when a record was made.

That is known where the run was watched (``watch.py``), and nowhere else: places alone do not tell it.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType

from .names import FRAMES, caller_of
from .places import LATER, Activation, Loop, RecordLike, Spot
from .source import COMPREHENSIONS, find, is_within, span_of, start_of, written
from .watch import DROPPED

Execution = tuple[int, int, int]
TAKE_ALL = ("dict", "fsum", "list", "max", "min", "set", "sorted", "sum", "tuple")


class Turns:
    """The turns that the records of a graph were made in, as they are when it is drawn."""

    def __init__(self) -> None:
        self.running = dict(running())

    def of(self, record: RecordLike) -> tuple[str, ...]:
        """The turns of the loops around a record, the outermost first: ``t = 2, iteration 3 of 5``."""
        place: Spot = getattr(record, "place", None)
        last, turns = getattr(record, "last", -1), list[str]()
        while type(place) is Activation:
            turns[:0] = [self.told(place, loop) for loop in known_loops(place, last)]
            place, last = (place.parent, place.call) if not runs_later(place) else (None, -1)
        return tuple(turns)

    def told(self, place: Activation, loop: Loop) -> str:
        """A turn in words: of how many, if the loop has ended."""
        run, n = place.turns[loop]
        text = f"iteration {n}" + f" of {run.turns}" * self.has_ended(place, loop)
        return ", ".join([x for x in (value_of(loop, n - 1, run.counts), text) if x])

    def has_ended(self, place: Activation, loop: Loop) -> bool:
        """Has a loop ended, whose turns one knows?"""
        now, last = self.running.get(id(place.whole), (place, -1))
        is_last = loop in now.turns and now.turns[loop][0] is place.turns[loop][0]
        at_head = last >= 0 and dis.opname[place.code.co_code[last]] == "FOR_ITER"
        goes_on = last >= 0 and is_last and (at_head or loop in own_loops(now, last))
        return not (goes_on or place.code.co_flags & LATER)


def running() -> Iterator[tuple[int, tuple[Activation, int]]]:
    """The calls that are running, and where: on Python 3.11, where frames that are about to be freed crash, those of
    this thread."""
    for frame in sys._current_frames().values() if sys.version_info >= (3, 12) else (sys._getframe(),):
        now: FrameType | None = frame
        while now is not None:
            if type(place := now.f_trace) is Activation:
                yield id(place.whole), (place, now.f_lasti)
            now = now.f_back


def known_loops(place: Activation, last: int) -> list[Loop]:
    """The loops around an instruction in its own function, if their turns are known. Not those of a test: it belongs to
    no turn."""
    loops, expr = own_loops(place, last), find(place.code, last)
    tests = [span_of(loop.test) for loop in loops if isinstance(loop, ast.While)]
    is_test = expr is None or any([is_within(expr.span, span) for span in tests])
    current = [x for x in loops if x not in DROPPED and x in place.turns and place.turns[x][1]]
    return loops if not is_test and current == loops else []


def runs_later(call: Activation) -> bool:
    """May a generator still run in later turns of its caller? Not if the first to take a value takes all of them."""
    caller = find(call.parent.code, call.call) if call.parent is not None else None
    takes_all = caller is not None and (
        isinstance(caller.node, (ast.Tuple, ast.List, ast.Set)) or (caller.is_call and caller.called in TAKE_ALL)
    )
    return bool(call.code.co_flags & LATER) and not takes_all


def run_of(place: Spot, last: int, called: CodeType | None = None) -> Execution:
    """What is counted as a run: an instruction of a call, and the code of the function that it calls."""
    return id(getattr(place, "whole", place)), start_of(getattr(place, "code", place), last), id(called)


def is_direct(call: Activation) -> bool:
    """Does the instruction call just this function, and once? ``map(f, xs)`` calls f often."""
    caller = caller_of(call)
    if caller is None or not caller.is_call:
        return call.code.co_name in COMPREHENSIONS
    is_ours = not caller.is_module(caller.node.func)
    own = call.code.co_name
    return caller.called == own or (own in ("__call__", "__init__", "<lambda>") and is_ours)


def own_loops(place: Activation, last: int) -> list[Loop]:
    """The loops around an instruction in its own function, the outermost first. A comprehension may be one."""
    expr = find(place.code, last)
    loops = list(expr.loops()) if expr is not None else []
    if expr is not None and loops and place.code.co_name in FRAMES:
        loops = [loop for loop in loops if expr.source.above[loop] is expr.source.above[loops[0]]]
    return loops[::-1]


def value_of(loop: Loop, n: int, counts: bool) -> str:
    """The variable of a loop in its n-th turn, from 0, as far as the program says it: ``t = 2``; else nothing.
    ``counts``: are ``range`` and ``enumerate`` Python's?"""
    target, value = getattr(loop, "target", None), ""
    match getattr(loop, "iter", None):
        case ast.Call() if not counts:
            return ""
        case ast.Tuple(elts=items) | ast.List(elts=items) if not any([isinstance(x, ast.Starred) for x in items]):
            value = written(items[n])
        case ast.Call(func=ast.Name(id="range"), args=[x], keywords=[]) if not isinstance(x, ast.Starred):
            value = str(n)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(int(first)), _], keywords=[]):
            value = str(first + n)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(int(low)), _, ast.Constant(int(by))], keywords=[]):
            value = str(low + n * by)
        case ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]) if isinstance(target, ast.Tuple):
            target, value = target.elts[0], str(n)
    if not value or not isinstance(target, ast.Name) or target.id == "_" or is_set_in(loop, target.id):
        return ""
    return f"{target.id} = {value}"


@cache
def is_set_in(loop: Loop, name: str) -> bool:
    """Does the body of a loop store something in a variable?"""
    names = [x for part in getattr(loop, "body", ()) for x in ast.walk(part) if isinstance(x, ast.Name)]
    return any([x.id == name and isinstance(x.ctx, ast.Store) for x in names])
