"""What a function sees besides its arguments: closures, globals, attributes, defaults. They must stay what they were.

A compiled function is called once, so what it found outside is taken for granted in later calls. Before the
recording everything that can be reached from the function is listed, edge by edge (*this* cell holds *that* object).
Afterwards

* no edge may have changed, and no random generator: a function that counts its calls, or draws a mask, would do so
  in the first call only, and is refused;
* the edges that lead to arrays, and those to plain numbers, are watched: if one of them leads to something else at a
  later call, the function is recorded again.

What the program reads is read anew at every call, as it is in eager code. But an array may also have gone, by ways that
nobody sees, into something that the program takes for constant (``x @ (a + b)``, ``x * float(a[0])``, ``if a[0] > 0``).
So the contents of all arrays are watched, too, of large ones eight samples; a change has the function recorded again.
(``af.compile(f, watch=False)`` does not look at the contents of what the program reads itself.) Parameters of a model
that ``nn.functional_call`` replaces change between the calls and should not matter: if they have changed :data:`TRUST`
times, and each new recording found the very same program with the same constants, they are watched no longer.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any

import numpy as np

from ...errors import CompileError
from ...nodes.nodes import NodeRole
from ...nodes.versions import overwritten, owner_of, samples
from ...numbering import now
from ..program import Program
from ..values import CAPTURED
from .reachable import NUMBERS, edges_of, follow, foreign

FUNCTIONS = (
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, np.ufunc, np.dtype, type, types.ModuleType,
    partial, slice, range, bytes,
)  # fmt: skip
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
OPAQUE = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype, np.ndarray)  # not searched further
TRUST = 3  # recordings
LIMIT = 20_000  # edges; a function that sees more than that is not searched further
Edge = tuple[Any, Any, Any, int | None]  # container, key, what was there; the edge that leads to the container


def contents_of(container: Any) -> list[Any]:
    """The elements of a list, the keys and values of a dict."""
    return [*container.keys(), *container.values()] if isinstance(container, dict) else [*container]


def keys_of(container: Any) -> Any:
    """The keys of a dict; of anything else nothing."""
    return container.keys() if isinstance(container, dict) else ()


def look(container: Any, key: Any) -> Callable[[Any], Any]:
    """The function that finds ``key`` there: made once, because it is called before every run."""
    if isinstance(key, str) and not isinstance(container, dict):
        return partial(getattr, container)
    return container.__getitem__  # type: ignore[no-any-return]


def equal(now: Any, before: Any) -> bool:
    """The same object, or the same number?"""
    return now is before or (isinstance(before, NUMBERS) and type(now) is type(before) and repr(now) == repr(before))


class Surroundings:
    """All that can be reached from ``f``, as edges; and, after the recording, those that are watched."""

    def __init__(self, f: Callable[..., Any], others: list[Any]) -> None:
        """``others``: arguments that are no arrays, such as a model."""
        self.edges: list[Edge] = []
        self.generators: list[tuple[Any, Any]] = [(g, state_of(g)) for g in (np.random, random)]
        self.collections: list[tuple[Any, list[Any]]] = []  # lists and dicts, and what was in them
        self.cells: list[tuple[Any, Any]] = []
        self.others: list[tuple[Any, Any, Any]] = []
        self.plain: list[tuple[Callable[[], bytes], bytes]] = []  # a part of an array, and what was there
        self.nodes: list[Any] = []
        self.since = 0
        self.contents: dict[int, Callable[[], bool]] = {}  # id of an array -> has it been written into?
        self.changes: dict[int, int] = {}  # id of an array -> how often it changed and that did not matter
        self.digest: Any = None
        queue = [f, *others]
        self.generators += [(g, state_of(g)) for g in others if isinstance(g, GENERATORS)]
        self.namespaces: list[tuple[Any, int]] = []  # attributes of an object, and how many there were
        found: dict[int, int | None] = {id(x): None for x in queue}  # object -> the edge by which it was found first
        for x in queue:
            if isinstance(x, (list, dict)):
                self.collections.append((x, contents_of(x)))
            elif isinstance(getattr(x, "__dict__", None), dict) and not isinstance(x, types.FunctionType):
                self.namespaces.append((x.__dict__, len(x.__dict__)))
            for container, key in list(edges_of(x)):
                child = follow(container, key)
                self.edges.append((container, key, child, found[id(x)]))
                if id(child) in found or len(self.edges) > LIMIT:
                    continue
                found[id(child)] = len(self.edges) - 1
                if isinstance(child, GENERATORS):
                    self.generators.append((child, state_of(child)))
                elif not isinstance(child, (*NUMBERS, *OPAQUE, NodeRole)) and not foreign(child):
                    queue.append(child)

    def arrays(self) -> set[int]:
        """The ids of all arrays that can be reached (of views, of what they look into)."""
        found = [
            getattr(child, "_value", None) if isinstance(child, NodeRole) else child for _, _, child, _ in self.edges
        ]
        return {id(owner_of(x)) for x in found if isinstance(x, np.ndarray)}

    def check_unchanged(self) -> None:
        """Raise CompileError if the function changed something that it shares with others."""
        for generator, state in self.generators:
            if state_of(generator) != state:
                raise CompileError(
                    "a compiled function draws random numbers: they would be the same in every call. Draw them outside "
                    "and pass them as an argument, or say af.compile(f, fallback=True)."
                )
        for container, key, child, _ in self.edges:
            if follow(container, key) is not child:
                raise CompileError(
                    f"the compiled function changes {named(container, key)}, which it found outside: that would happen "
                    f"in the first call only. Make it an argument and a result, or say af.compile(f, fallback=True)."
                )
        for container, contents in self.collections:
            if len(contents_of(container)) != len(contents):
                raise CompileError(
                    f"the compiled function changes the length of a {type(container).__name__} from outside: that "
                    f"would happen in the first call only. Return what it collects."
                )

    def watch(
        self, program: Program, digest: Any, replaced: set[int], before: Surroundings | None, all_contents: bool
    ) -> None:
        """Keep the edges that lead to arrays, functions and numbers.

        digest : equal for equal programs with equal constants. replaced : ids of arrays in whose place others are
        used. before : the surroundings of the recording that this one replaces. all_contents : watch those of arrays
        that the program reads, too.
        """
        self.digest = digest
        read = set() if all_contents else read_by(program)
        if before is not None and before.digest == digest:
            self.changes = before.changes
            for array_id, written in before.contents.items():
                self.changes[array_id] = self.changes.get(array_id, 0) + written()
        wanted: set[int] = set()
        lists = {id(container) for container, _ in self.collections}
        scopes = {id(c) for c, *_ in self.edges if isinstance(c, types.CellType) or "__builtins__" in keys_of(c)}
        whatever = lists | scopes  # in these anything is watched, in attributes numbers, functions and containers
        for k, (container, key, child, _) in enumerate(self.edges):
            value = getattr(child, "_value", None) if isinstance(child, NodeRole) else child
            private = isinstance(key, str) and key.startswith("__")
            if isinstance(value, np.ndarray):
                often = self.changes.get(id(value), 0) >= TRUST
                trusted = (often and id(value) in replaced) or id(value) in read
                if not trusted and id(value) not in self.contents:
                    self.watch_contents(child, value)
            elif private or (isinstance(container, type) and isinstance(child, (types.FunctionType, property))):
                continue  # methods are followed, but not expected to be replaced
            elif id(container) not in whatever and not isinstance(child, (*NUMBERS, *FUNCTIONS, list, dict)):
                continue
            at: int | None = k
            while at is not None and at not in wanted:
                wanted.add(at)
                at = self.edges[at][3]
        for k in sorted(wanted):
            container, key, child, _ = self.edges[k]
            if isinstance(container, types.CellType):
                self.cells.append((container, child))
            elif not isinstance(container, tuple) and id(container) not in lists:
                self.others.append((look(container, key), key, child))
        self.edges, self.generators = [], []

    def watch_contents(self, holder: Any, array: Any) -> None:
        """Notice when ``array`` is written into."""
        self.since = since = now()
        part = samples(array)  # comparing its bytes takes 0.1 µs
        mark = part.tobytes()
        self.plain.append((part.tobytes, mark))
        if isinstance(holder, NodeRole):  # of writes by way of nodes we are told
            self.nodes.append(array)
        self.contents[id(array)] = lambda: part.tobytes() != mark or bool(overwritten(array, since))

    def watches(self) -> bool:
        """Is there anything to look at?"""
        return bool(self.cells or self.others or self.plain or self.nodes or self.collections or self.namespaces)

    def same(self) -> bool:
        """Do all watched edges lead where they led, and are the watched arrays what they were?"""
        try:
            for cell, child in self.cells:
                if cell.cell_contents is not child and not equal(cell.cell_contents, child):
                    return False
            for get, key, child in self.others:
                if get(key) is not child and not equal(get(key), child):
                    return False
        except (KeyError, IndexError, ValueError, AttributeError):  # nothing stands there any more
            return False
        for namespace, n in self.namespaces:
            if len(namespace) != n:
                return False
        for container, contents in self.collections:
            now_in = container if isinstance(container, list) else contents_of(container)
            if len(now_in) != len(contents):
                return False
            if not all(map(is_, now_in, contents)) and not all(map(equal, now_in, contents)):
                return False
        for array in self.nodes:
            if overwritten(array, self.since):
                return False
        return not self.plain or all([read() == mark for read, mark in self.plain])


def read_by(program: Program) -> set[int]:
    """The ids of arrays from outside of which the program reads everything, perhaps by a view."""
    read: set[int] = set()
    for v in program.order():
        array = v.sample if v.kind == CAPTURED else None
        while array is not None and array.size == v.sample.size:
            read.add(id(array))
            array = array.base if hasattr(array.base, "strides") else None
    return read


def state_of(generator: Any) -> Any:
    """The state of a random generator, as something that compares."""
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if generator is random or isinstance(generator, random.Random):
        return generator.getstate()
    kind, keys, *rest = generator.get_state()
    return kind, keys.tobytes(), rest


def named(container: Any, key: Any) -> str:
    """For messages."""
    if isinstance(container, types.CellType):
        return "a variable of the function around it"
    return f"{key!r}" if isinstance(container, dict) else f"the element {key!r} of a {type(container).__name__}"
