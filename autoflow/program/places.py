"""Where a record was made: the activation, which is one call of a user's function, and the instruction.

``frame.f_trace`` may hold any object. Python looks at it only while somebody traces, and it lives exactly as long as
its frame, a generator's too. So a frame carries the identity of its call: the first record of a call puts an
:class:`Activation` there, and later records of the same call find it, for the price of reading ``f_code``. No frame is
kept alive, and nothing is watched. The ``f_trace`` of a debugger is left alone: then the code is known, and which call
it was is not.

Reading the right frame is quick only if its depth is known. Every entrance says it. Where the frame at that depth has
no activation, :func:`enter` looks further out for the first frame of the user's.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Callable, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any, Protocol, TypeAlias

from .callers import getframe, is_packages

Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension
Spot: TypeAlias = "Activation | CodeType | None"  # which call it was, or in which code, if anything is known
Call = tuple[CodeType, CodeType | None, int]
LATER = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR  # flags of functions that return before they run
PASSED: dict[int, object] = {}  # the globals of modules whose frames are passed over, by their ids, and so kept alive
TRACED: dict[int, Call] = {}  # frames, by their ids, that were seen under a debugger -> which call each was
MOST_TRACED = 1000
FILES: dict[str, bool] = {}  # are frames of code from that file passed over?
CODES: dict[int, tuple[CodeType, bool]] = {}  # of the user's, by the id of a code: itself, and is it a method's?
MOST_FILES = 10_000
DEEP = 20  # frames without an activation above which none is made by recursion
SNAPSHOTS = sys.version_info < (3, 13)  # is ``f_locals`` of a function a dict that the frame keeps?
SPACES = {"eval", "exec", "locals", "vars"} if SNAPSHOTS else set()  # what gives a program this dict
NOWHERE: tuple[None, int] = (None, -1)
UNWATCHED: dict[Loop, tuple[Run, int]] = {}  # the turns of a call in which none was seen to begin
ON_OPCODE: list[Callable[[FrameType], None]] = []  # on Python 3.11: is told of the instructions of watched frames

# ---------------------------------------------------------------- activations


class Identity:
    """The identity of an object, without keeping it alive: the same as long as it lives."""

    __slots__ = ("__weakref__", "object")
    object: weakref.ref[Any]


KNOWN: dict[int, Identity] = {}  # id of an object that lives -> what stands for it


def identity(x: object) -> Identity | None:
    """The identity of ``x``; None if x cannot have a weak reference."""
    entry = KNOWN.get(id(x))
    if entry is None or entry.object() is not x:
        entry, key, known = Identity(), id(x), KNOWN
        try:
            entry.object = weakref.ref(x, lambda _: known.pop(key, None))
        except TypeError:
            return None
        KNOWN[key] = entry
    return entry


class Run:
    """One run of a loop: how many turns it has begun, and whether ``range`` and ``enumerate`` are Python's there."""

    __slots__ = ("counts", "turns")
    turns: int

    def __init__(self, frame: FrameType) -> None:
        code = frame.f_code
        spaces: Any = code.co_varnames, code.co_freevars, code.co_cellvars, frame.f_globals
        spaces = spaces if code.co_flags & CO_OPTIMIZED else (*spaces, frame.f_locals)
        self.counts = not any(["range" in names or "enumerate" in names for names in spaces])


class Activation:
    """One call of a function, one generator, one run of a module or a cell.

    ``parent`` and ``call``: the activation that called it, and by which instruction. ``index``: how many objects that
    instruction had made before. ``owner`` stands for ``self``. Where the run is watched (``watch.py``), each turn of
    a loop has its own object for the same call: ``whole`` is the first of them.
    """

    __slots__ = ("call", "code", "counts", "first", "index", "is_continued", "owner", "parent", "turns")
    code: CodeType
    parent: Activation | None
    call: int
    index: int
    owner: Identity | None
    counts: dict[int, int] | None  # by instruction, how many leaves or objects it has made
    is_continued: bool  # may it go on with a call that a debugger has interrupted?
    first: Activation | None  # the object that the call had before its first turn, if this is another
    turns: Mapping[Loop, tuple[Run, int]]  # of the loops that are watched: the run of each, and its turn, from 1

    @property
    def whole(self) -> Activation:
        """What stands for the call, whatever the turn."""
        return self.first or self

    def in_turns(self, turns: Mapping[Loop, tuple[Run, int]]) -> Activation:
        """The same call in other turns of its loops."""
        turn = Activation()
        if self.counts is None:
            self.counts = {}
        turn.code, turn.parent, turn.call, turn.index = self.code, self.parent, self.call, self.index
        turn.counts, turn.owner, turn.is_continued = self.counts, self.owner, self.is_continued
        turn.first, turn.turns = self.whole, turns
        return turn

    def count(self, last: int) -> int:
        """Which one it is that this instruction makes: its index in a comprehension."""
        if (counts := self.counts) is None:
            counts = self.counts = {}
        number = counts[last] = counts.get(last, -1) + 1
        return number

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        """Python calls it while somebody traces."""
        if event == "opcode" and ON_OPCODE:
            ON_OPCODE[0](frame)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Elsewhere there is no such call."""
        return type(None), ()


def here(depth: int) -> tuple[Spot, int]:
    """The place in the program of the frame at that depth, counted from who calls this."""
    frame = getframe(depth + 1)
    if type(place := frame.f_trace) is Activation:
        return place, frame.f_lasti
    return enter(frame)


def enter(frame: FrameType, depth: int = 0) -> tuple[Any, int]:
    """The place in the first frame of the user's, from this one outwards: its activation, or its code if a debugger
    is at work there; and the instruction. A frame without an activation gets one, and so do its callers, of which
    this is number ``depth``."""
    if (facts := CODES.get(id(frame.f_code))) is None or frame.f_trace is not None:
        return search(frame, depth)
    activation = Activation()
    activation.code, is_method = facts
    outer = frame.f_back
    if outer is None:
        activation.parent, activation.call = NOWHERE
    elif type(parent := outer.f_trace) is Activation:
        activation.parent, activation.call = parent, outer.f_lasti
    else:
        if depth >= DEEP:
            for caller in reversed(without_activation(outer)):
                enter(caller)
        activation.parent, activation.call = enter(outer, depth + 1)
    activation.counts = activation.owner = activation.first = None
    activation.turns = UNWATCHED
    activation.index = 0
    activation.is_continued = TRACED.pop(id(frame), None) == call_of(frame) if TRACED else False
    if is_method:
        own(activation, frame)
    frame.f_trace = activation
    return activation, frame.f_lasti


def search(frame: Any, depth: int) -> tuple[Any, int]:
    """The same for a frame that has something in ``f_trace``, or whose code has not been seen yet."""
    while type(place := frame.f_trace) is not Activation:
        if id(frame.f_globals) not in PASSED and not is_passed(frame):
            break
        if (frame := frame.f_back) is None:
            return NOWHERE
    else:
        return place, frame.f_lasti
    code = frame.f_code
    if place is None:
        if len(CODES) > MOST_FILES:
            CODES.clear()
        is_method = bool(code.co_argcount) and code.co_varnames[0] == "self" and SPACES.isdisjoint(code.co_names)
        CODES[id(code)] = code, is_method
        return enter(frame, depth)
    if depth:  # of a caller of the user's
        return NOWHERE
    if len(TRACED) > MOST_TRACED:
        TRACED.clear()
    TRACED[id(frame)] = call_of(frame)
    return code, frame.f_lasti


def call_of(frame: FrameType) -> Call:
    """The key that tells a frame from a later one at the same address: its code, and the instruction that called it."""
    outer = frame.f_back
    return (frame.f_code, None, -1) if outer is None else (frame.f_code, outer.f_code, outer.f_lasti)


def without_activation(frame: FrameType | None) -> list[FrameType]:
    """The user's frames from there outwards that have no activation yet."""
    frames = []
    while frame is not None and frame.f_trace is None:
        if id(frame.f_globals) not in PASSED and not is_passed(frame):
            frames.append(frame)
        frame = frame.f_back
    return frames


def own(activation: Activation, frame: FrameType) -> None:
    """Note the ``self`` of a method."""
    activation.owner = identity(variables_of(frame).get("self"))
    if frame.f_code.co_name == "__init__" and activation.parent is not None:
        activation.index = activation.parent.count(activation.call)


def variables_of(frame: FrameType) -> Mapping[str, Any]:
    """The variables of a frame. Up to Python 3.12 a function's ``f_locals`` is one dict, which its frame keeps with all
    that was in it. So it is emptied again, unless the program has it as well, or a tracer runs: after its calls Python
    takes the variables from there."""
    variables = frame.f_locals
    if not SNAPSHOTS or not frame.f_code.co_flags & CO_OPTIMIZED:
        return variables
    copy = {**variables}
    if SPACES.isdisjoint(frame.f_code.co_names) and sys.gettrace() is None:
        variables.clear()
    return copy


class RecordLike(Protocol):
    """A record, as far as it is read here."""

    number: int
    last: int
    place: Any
    parents: tuple[Any, ...]
    rule: Any
    extra: Any

    @property
    def shape(self) -> tuple[int, ...]: ...


# ---------------------------------------------------------------- whose code


def is_passed(frame: FrameType) -> bool:
    """Is this a frame of autoflow's, of Python's library or of an installed package?"""
    file = frame.f_code.co_filename
    if (passed := FILES.get(file)) is None:
        if len(FILES) > MOST_FILES:
            FILES.clear()
        passed = FILES[file] = is_packages(file)
    if passed and frame.f_globals.get("__name__") != "__main__":
        PASSED[id(frame.f_globals)] = frame.f_globals
    return passed


def is_cell(file: str) -> bool:
    """Is it a cell of a notebook, or was it typed at a prompt? Those are compiled statement by statement."""
    return "<" in file or "ipykernel" in file
