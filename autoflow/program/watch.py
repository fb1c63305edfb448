"""The turns of loops, seen while a program runs: then it is certain which turn has computed what.

Where a frame's loop begins a turn, the frame gets another :class:`~.places.Activation` for the same call, with the
number of the turn in it. So records and calls know their turns for nothing, and a turn that computes nothing is
forgotten. A turn begins at one instruction: behind FOR_ITER, or where a ``while`` goes into its body. It counts if one
was seen before that at which the loop is entered: of a loop that was running already nothing is said.

Python 3.12 and newer tell us of these instructions alone (``sys.monitoring``), 3.11 of every instruction
(``sys.settrace``). Notebooks are watched from the beginning on 3.12 and newer; elsewhere what runs ``with trace():``.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .callers import getframe
from .places import LATER, ON_OPCODE, UNWATCHED, Activation, Loop, Run, enter, is_passed
from .source import Source, Span, find, is_within, loops_around, source_of, span_of

TOOLS = (4, 3)  # the numbers that Python keeps for no kind of tool
JUMPS = {*dis.hasjrel, *dis.hasjabs}
ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                  "JUMP_BACKWARD_NO_INTERRUPT"})  # fmt: skip
MOST = 10_000  # codes whose loops are remembered
MOST_IDLE = 1000  # turns on end that leave nothing, after which a loop is watched no more
python: Any = getattr(sys, "monitoring", None)


Event = tuple[bool, Loop, tuple[Loop, ...]]  # does a turn begin, or is the loop entered? Which loop, and in which?
EVENTS: dict[int, tuple[CodeType, dict[int, list[Event]]]] = {}  # by the id of a code, and by instruction


def events_of(code: CodeType) -> dict[int, list[Event]]:
    """What begins at the instructions of a code."""
    events = EVENTS.get(id(code))
    if events is None:
        if len(EVENTS) > MOST:
            EVENTS.clear()
        events_at: dict[int, list[Event]] = {}
        with contextlib.suppress(Exception):  # it must not reach the program that runs
            rows = list(dis.get_instructions(code))
            if any([row.opcode in JUMPS for row in rows]) and (source := source_of(code)) is not None:
                for loop, turn, entries in loops_in(code, rows, source):
                    around = tuple(loops_around(loop, source.above))
                    for offset, begins in ((turn, True), *[(entry, False) for entry in entries]):
                        events_at.setdefault(offset, []).append((begins, loop, around))
        events = EVENTS[id(code)] = code, {k: sorted(x, key=lambda event: not event[0]) for k, x in events_at.items()}
    return events[1]


def loops_in(code: CodeType, rows: list[Any], source: Source) -> list[tuple[Loop, int, set[int]]]:
    """The loops of a code: the instruction at which a turn begins, and those from which the loop is entered.

    Left out are loops without one such instruction: ``async for``, a ``while`` whose body begins with a ``while``, one
    in ``finally``, which is compiled twice.
    """
    spans: Any = [Span(*row.positions) if row.positions and None not in row.positions else None for row in rows]
    at = {row.offset: k for k, row in enumerate(rows)}
    steps = [(k, k + 1) for k, row in enumerate(rows[:-1]) if row.opname not in ENDS]
    steps += [(k, at[row.argval]) for k, row in enumerate(rows) if row.opcode in JUMPS]
    steps = [(j, k) for j, k in steps if spans[j] is not None and spans[k] is not None]
    loops: list[tuple[Loop, int, set[int]]] = []
    for k in [k for k, row in enumerate(rows) if row.opname == "FOR_ITER"]:
        store, head = k + 1 + (rows[k + 1].opname == "NOT_TAKEN"), k
        while rows[head - 1].opname == "EXTENDED_ARG":
            head -= 1
        if (target := loop_of_target(spans[store], source)) is not None:
            loops.append((target, rows[store].offset, {rows[head - 1].offset}))

    def into(span: Span) -> list[tuple[int, int]]:
        return [(j, k) for j, k in steps if is_within(spans[k], span) and not is_within(spans[j], span)]

    for loop in source.whiles:
        first = {k for _, k in into(span_of(loop.body[0], loop.body[-1]))}
        begin = find(code, rows[min(first)].offset) if len(first) == 1 else None
        if begin is not None and next(begin.loops(), None) is loop:
            entries = {rows[j].offset for j, _ in into(span_of(loop))}
            loops.append((loop, rows[min(first)].offset, entries))
    return loops


def loop_of_target(span: Span | None, source: Source) -> Loop | None:
    """The loop whose variable is stored there, or begins to be."""
    node: ast.AST | None = next(iter(source.at.get(span, ())), None) if span is not None else None
    while isinstance(node, ast.expr):
        above = source.above[node]
        if isinstance(above, (ast.For, ast.comprehension)) and above.target is node:
            return above
        node = above
    return None


def alone() -> int:
    """The number of references to what a frame carries. If a record or a call was made in a turn, there are more."""
    frame = getframe()
    before, frame.f_trace = frame.f_trace, Activation()
    count = sys.getrefcount(frame.f_trace)
    frame.f_trace = before
    return count


ALONE = alone()
IDLE: dict[Loop, int] = {}  # how many turns of a loop on end have left nothing that a picture could show
DROPPED: set[Loop] = set()  # those that are not watched any more: too many


def note(frame: FrameType, offset: int) -> None:
    """An instruction of a frame at which something begins."""
    is_idle, place = sys.getrefcount(frame.f_trace) <= ALONE, frame.f_trace
    if place is None:
        place, _ = enter(frame)
    if type(place) is not Activation:  # a debugger's
        return
    turns = dict(place.turns)
    for begins, loop, around in events_of(frame.f_code).get(offset, ()):
        if not begins:
            turns[loop] = Run(frame), 0
        elif loop in turns:
            run, n = turns[loop]
            run.turns = n + 1
            turns = {x: turns[x] for x in around if x in turns} | {loop: (run, n + 1)}
            IDLE[loop] = IDLE.get(loop, 0) + 1 if is_idle else 0
    frame.f_trace = place.in_turns(turns)
    for loop in [loop for loop in turns if IDLE.get(loop, 0) > MOST_IDLE]:
        drop(frame.f_code, loop)


def drop(code: CodeType, loop: Loop) -> None:
    """Watch a loop no more, which is Python's alone and need not become slower."""
    DROPPED.add(loop)
    remaining = {k: [event for event in x if event[1] is not loop] for k, x in events_of(code).items()}
    EVENTS[id(code)] = code, {k: x for k, x in remaining.items() if x}


# ---------------------------------------------------------------- who tells us


def attend(frame: FrameType) -> dict[int, list[Event]]:
    """Be told of a function from now on, if it is the user's and has loops: of these instructions."""
    events = {} if is_passed(frame) else events_of(frame.f_code)
    if events and TOOL:
        python.set_local_events(TOOL[0], frame.f_code, python.events.INSTRUCTION)
    return events


def at(code: CodeType, offset: int) -> object:
    """Python 3.12 and newer: a function begins, or an instruction of one whose loops are watched."""
    events = EVENTS.get(id(code))
    if offset not in (attend(getframe(1)) if events is None else events[1]):
        return python.DISABLE
    note(getframe(1), offset)
    return None


def at_opcode(frame: FrameType) -> None:
    """Python 3.11: an instruction of a function whose loops are watched."""
    if frame.f_lasti in events_of(frame.f_code):
        note(frame, frame.f_lasti)


def start(frame: FrameType, event: str, arg: object) -> Callable[[FrameType, str, object], None] | None:
    """Python 3.11: a function begins."""
    if frame.f_code.co_flags & LATER or not attend(frame):
        return None
    note(frame, frame.f_lasti)
    frame.f_trace_opcodes = True
    return frame.f_trace


TOOL: list[int] = []
WATCHING = [0]  # how many want to be told of functions that begin


def watch(more: int = 1) -> bool:
    """Begin to watch the functions that begin from now on. False where this cannot be."""
    if python is None:
        return False
    if not TOOL:
        TOOL.extend([tool for tool in TOOLS if python.get_tool(tool) is None][:1])
        if not TOOL:
            return False
        python.use_tool_id(TOOL[0], __name__.partition(".")[0])
        for event in (python.events.PY_START, python.events.INSTRUCTION):
            python.register_callback(TOOL[0], event, at)
    WATCHING[0] += more
    python.set_events(TOOL[0], python.events.PY_START if WATCHING[0] else 0)
    return True


class trace:  # noqa: N801 - used like a function
    """``with af.trace():`` pictures, steps and boxes of what is computed here know the turns of its loops.

    Notebooks do that from the beginning on Python 3.12 and newer. Under a debugger, and where two other tools use
    ``sys.monitoring``, turns stay unknown: pictures say "at least 3 turns". On 3.11 a program is slow while it is
    watched.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> with af.trace():
    ...     y = x
    ...     for t in range(2):
    ...         y = y * x
    >>> [step.caption.partition(":")[0] for step in y.step() if step.phase == "forward"]
    ['t = 0, iteration 1 of 2', 't = 1, iteration 2 of 2']
    """

    def __enter__(self) -> trace:
        frame = getframe(1)
        self.is_watching = watch() or (python is None and sys.gettrace() is None)
        if self.is_watching:
            attend(frame)
        if self.is_watching and python is None and (frame.f_trace is None or type(frame.f_trace) is Activation):
            ON_OPCODE[:] = [at_opcode]
            sys.settrace(start)
            if not is_passed(frame):
                frame.f_trace, _ = enter(frame)
                frame.f_trace_opcodes = True
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_watching and python is not None:
            watch(-1)
        elif self.is_watching and sys.gettrace() is start:
            sys.settrace(None)
            frame: FrameType | None = getframe(1)
            while frame is not None:  # frames that continue are no longer watched
                if type(place := frame.f_trace) is Activation:
                    frame.f_trace, frame.f_trace_opcodes = place.in_turns(UNWATCHED), False
                frame = frame.f_back
