"""The parts of a program that a graph was computed in: calls with their objects, loops, ``with af.scope``.

A box is exact, or it is not there. A call is a box, by its activation. The body of a loop is one, and so is each of its
turns where the run was watched. Else nothing tells where a turn ends, but the same instruction again in one call is a
later turn: "at least 3 turns"; of a loop in a loop, "in all" its runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from typing import Any

from .names import FRAMES, Naming, caller_of
from .places import Activation, RecordLike, Run, Spot
from .source import loop_text, source_of
from .turns import Execution, Turns, is_direct, known_loops, own_loops, run_of, runs_later, value_of

TITLE = 40  # characters
Key = tuple[Any, ...]
Path = tuple[Key, ...]


class Box:
    """A box: what it is, its title, the lines of the program that it stands for, and what is in it."""

    __slots__ = ("before", "content", "continued", "is_inner", "is_split", "kind", "path", "run", "seen", "title")

    def __init__(self, kind: str, title: str, path: str = "", continued: bool = False) -> None:
        self.continued = continued
        self.kind, self.title = kind, title  # kind: call, loop, turn, scope
        self.run: Run | None = None  # of a loop and a turn, where it was watched
        self.is_split = False  # is the same loop in other boxes, too?
        self.is_inner = False  # is it a loop in another one, so that its turns are those of several runs?
        self.path = path  # of a call: the object
        self.before = ""  # the titles of boxes that have nothing but this one in them
        self.seen: Counter[Execution] = Counter()  # instructions directly in it -> how often each was run
        self.content: set[Key | int] = set()  # keys of boxes in it, ids of records

    @property
    def turns(self) -> int:
        """How many turns a loop had at least."""
        counts = [n for run, n in self.seen.items() if not self.is_split or run[2] == id(None)]
        return self.run.turns if self.run is not None else max(counts, default=0)

    @property
    def has_turns(self) -> bool:
        """Is it a loop that went round?"""
        return self.kind == "loop" and self.turns > 1


class Boxes:
    """The boxes around each record of a graph."""

    def __init__(self, program: Naming, records: Sequence[RecordLike]) -> None:
        self.program, self.turns, self.ended = program, Turns(), set[Run | None]()
        self.boxes: dict[Key, Box] = {}
        self.times = Counter(program.names.values())  # how many nodes have a name
        self.calls: dict[int, Path] = {}
        self.origins: dict[tuple[Path, int, int], Key] = {}
        self.known: dict[tuple[int, int, bool], Path] = {}
        self.outer: dict[Key, Key | None] = {}  # the box around each
        in_order = sorted(records, key=lambda r: int(r.number))
        last: Spot = getattr(in_order[-1], "place", None) if in_order else None
        while type(last) is Activation and last.parent is not None:
            last = last.parent
        if type(last) is Activation:  # the outermost call of the thread that made the result has no box
            self.calls[id(last.whole)] = ()
        self.paths = {id(r): self.path_of(r) for r in in_order}
        self.prune([self.paths[id(r)] for r in records if getattr(r, "place", None) is not None])

    def around(self, record: RecordLike) -> tuple[tuple[str, Key], ...]:
        """The boxes around a record, the outermost first: title and what identifies each."""
        return tuple([(self.boxes[key].before + self.boxes[key].title, key) for key in self.paths[id(record)]])

    def note(self, key: Key) -> str:
        """The note about a box."""
        box = self.boxes[key]
        turns = f"{'' if box.run in self.ended else 'at least '}{box.turns} turns" if box.has_turns else ""
        turns += " in all" if turns and box.is_inner else ""
        return "continued under a debugger" if box.continued else turns

    # -- which boxes there are

    def path_of(self, record: RecordLike) -> Path:
        """The keys of all boxes around a record."""
        place = getattr(record, "place", None)
        path = self.at(place, record.last) if place is not None else ()
        for name, number, where in record.extra.scope if record.extra is not None else ():
            key = ("scope", number)
            self.boxes.setdefault(key, Box("scope", name))
            before = self.at(*where) if where is not None and where[0] is not None else ()
            n = place_of_scope(before, path)
            path = (*path[:n], key, *path[n:])
        path = self.in_one(path) if path else path
        if path and place is not None and id(record) not in self.program.parts:
            self.boxes[path[-1]].seen[run_of(place, record.last)] += 1
        return path

    def in_one(self, path: Path) -> Path:
        """A path in which each box has one box around it. A loop in a scope that each turn of another loop enters again
        is a box in each; calls, of which one knows no scope, then do not tell how many turns it had there."""
        keys: list[Key] = []
        for key in path:
            outer = keys[-1] if keys else None
            if self.outer.setdefault(key, outer) != outer:
                box, key = self.boxes[key], (*key, outer)
                box.is_split = True
                part = self.boxes.setdefault(key, Box(box.kind, box.title, box.path, box.continued))
                part.run, part.is_inner = box.run, box.is_inner
            keys.append(key)
        return tuple(keys)

    def at(self, place: Spot, last: int, same: bool = True) -> Path:
        """The boxes around an instruction of an activation, which may not be in the ``same`` turn any more."""
        if type(place) is not Activation:
            return ()
        around = self.known.get((id(place), last, same))
        if around is None:
            source: Any = source_of(place.code)
            path, turn = self.call(place.whole), None
            loops = known_loops(place, last) if same else []
            for deep, loop in enumerate(own_loops(place, last)):
                key: Key = ("loop", id(place.whole), id(loop), len(path), turn)
                box = self.boxes.setdefault(key, Box("loop", loop_text(loop, source)))
                box.is_inner = deep > 0 and turn is None
                path = (*path, key)
                if loops:
                    box.run, n = place.turns[loop]
                    turn = ("turn", id(box.run), n)
                    title = value_of(loop, n - 1, box.run.counts) or f"iteration {n}"
                    self.boxes.setdefault(turn, Box("turn", title)).run = box.run
                    self.ended.update([box.run] if self.turns.has_ended(place, loop) else [])
                    path = (*path, turn)
            around = self.known[id(place), last, same] = path
        return around

    def call(self, place: Activation) -> Path:
        """The boxes around a call, itself included."""
        waiting: list[Activation] = []
        call: Activation | None = place
        while call is not None and id(call) not in self.calls:
            waiting.append(call)
            call = call.parent and call.parent.whole
        for one in reversed(waiting):  # no recursion: programs have their own
            self.calls[id(one)] = self.new_call(one, self.at(one.parent, one.call, not runs_later(one)))
        return self.calls[id(place)]

    def new_call(self, call: Activation, path: Path) -> Path:
        """The same of a call that is met first, in these boxes."""
        if path and is_direct(call):
            self.boxes[path[-1]].seen[run_of(call.parent, call.call, call.code)] += 1
        if call.code.co_name in FRAMES or call.code.co_name == "<module>":
            return path
        origin = path, call.call, id(call.code)
        key = ("call", id(call))
        if call.is_continued and origin in self.origins:  # it may be the call that a debugger has stopped in
            key = self.origins[origin]
            self.boxes[key].continued = True
        else:
            self.origins[origin] = key
            self.boxes[key] = self.named(call)
        return (*path, key)

    def named(self, call: Activation) -> Box:
        """The box of a call."""
        path = self.program.object_path(call.owner)
        name, parent, caller = call.code.co_name, call.parent, caller_of(call)
        if path is not None:
            title = path + f".{name}" * (name != "__call__") + "(…)" * (caller is None or caller.is_call)
        elif caller is not None and caller.is_call:
            title = self.program.with_object(caller.text, parent)
            title = title if len(title) <= TITLE else f"{caller.function}(…)"
        else:
            title = f"{call.code.co_qualname.rpartition('<locals>.')[2]}(…)"
        return Box("call", title, path or "", call.is_continued)

    # -- which are drawn

    def prune(self, known: Sequence[Path]) -> None:
        """Leave out what says nothing: the calls around all of the graph, and boxes around one operation or one box
        that says the same, but for calls that tell values of one name apart. Then objects are called as the box around
        them calls them."""
        alike = takewhile(lambda keys: len(set(keys)) == 1, zip(*known, strict=False))
        boxes = [self.boxes[keys[0]] for keys in alike]
        shared = next((k for k, box in enumerate(boxes) if box.kind == "scope" or box.has_turns), len(boxes))
        self.paths = {r: path[shared:] for r, path in self.paths.items()}
        done: set[Key] = set()
        for path in self.paths.values():
            around = ""
            for key in path:
                box = self.boxes[key]
                if key not in done and around and box.path.startswith(f"{around}."):
                    box.title = box.title.replace(box.path, box.path[len(around) + 1 :], 1)
                done.add(key)
                around = box.path or around
        torn = [self.boxes[key] for key in self.torn()]
        self.leave_out(lambda box: box in torn or (box.kind == "turn" and self.says_nothing(box)))
        self.leave_out(self.is_its_calls)
        self.leave_out(self.says_nothing)

    def torn(self) -> set[Key]:
        """The loops in loops that are not boxes, since the outer loop has computed something between their runs."""
        now, ended, torn = dict[Any, Any](), set[Any](), set[Key]()
        for r, path in self.paths.items():
            way: tuple[Any, ...] = (), *path, r
            for outer, inner in pairwise(way):
                if now.get(outer) != inner:
                    ended.add(now.get(outer))
                    now[outer] = inner
                    torn |= {inner} if inner in ended and self.boxes[inner].is_inner else set()
        return torn

    def leave_out(self, test: Callable[[Box], bool]) -> None:
        """Leave out the boxes that pass a test of what is directly in them, without those inside that pass it."""
        for box in self.boxes.values():
            box.content = set()
        ways: list[tuple[Any, ...]] = [(None, *path, r) for r, path in self.paths.items()]
        around = {key: outer for way in ways for outer, key in pairwise(way)}
        dropped = set[Key]()
        for key, outer in reversed(around.items()):  # what is inside comes first
            inner = self.boxes.get(key)
            dropped |= {key} if inner is not None and test(inner) else set()
            if outer is not None:
                self.boxes[outer].content |= inner.content if inner is not None and key in dropped else {key}
        self.paths = {r: tuple([key for key in path if key not in dropped]) for r, path in self.paths.items()}

    def is_its_calls(self, box: Box) -> bool:
        """Is it a loop whose every turn is one call, or one scope?"""
        inside = [self.boxes[key] for key in box.content if type(key) is tuple]
        whole = box.kind == "loop" and len(inside) == len(box.content) > 1 and len(box.seen) <= 1
        dropped = whole and {one.kind for one in inside} in ({"call"}, {"loop"}, {"scope"})
        for one in inside if dropped else ():
            one.before = box.before + one.before
        return dropped

    def says_nothing(self, box: Box) -> bool:
        """Is it a box around one operation; or around one box, which then has its title as well?"""
        if box.kind == "scope" or len(box.content) != 1:
            return False
        (only,) = box.content
        if isinstance(only, int):  # a call tells which of several values of one name it is
            return box.kind != "call" or self.times[self.program.names.get(only, "")] < 2
        inner = self.boxes[only]
        if box.has_turns or box.continued:
            return False
        if inner.kind == "scope":
            return True  # the user's own word for it
        inner.before = box.before + (f"{box.title} · " if box.kind != "loop" else "") + inner.before
        return True


def place_of_scope(before: Path, path: Path) -> int:
    """Where in a path a scope belongs that was entered in the boxes ``before``: behind them and other scopes."""
    rest, n = list(before), 0
    for k, key in enumerate(path, 1):
        if key[0] == "scope":
            n = k
        elif rest and rest[0] == key:
            rest.pop(0)
            n = k
    return n
