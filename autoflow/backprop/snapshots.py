"""What a function can reach, noted as it is and put back later: so a function can run once more without a trace.

Python's garbage collector knows what an object refers to, so closures, attributes, elements and bound methods are all
found in the same way (:func:`~.second_runs.reachable`). Of what is found, this is noted:

    arrays              a copy of the numbers; beyond ``COPIED`` bytes in all they are read-only while the block runs
    nodes from outside  their numbers, gradient and name, and the log of writes into their memory
    lists, dicts, sets  the elements, by identity; so, too, attributes, cells of closures and the globals that are named
    random generators   their states
    default names       the running numbers in ``add_0``, ``add_1``

An iterator, an open file and a queue cannot be put back: :meth:`Snapshot.has_moved` says that one has moved on. What is
not seen: files that the function opens, sockets, the state of libraries written in C, memory that is shared with
nothing that the function reaches.
"""

from __future__ import annotations

import functools
import logging
import operator
import random
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ..base.numbering import KINDS, Kind
from ..nodes import versions
from ..nodes.nodes import NodeRole, OperationRole
from .second_runs import GENERATORS, ByType, Names, holds, is_generator, of_library, reachable, states_of

COPIED = 2**26  # bytes of arrays that are copied; larger ones are locked
GRADIENT = ("_raw_grad", "_shown_grad", "_name")  # slots of a node that a pass or its owner may set
MISSING: Any = object()
BUSY = {"threading", "_thread", "concurrent", "asyncio", "multiprocessing", "queue", "contextvars"}


class Snapshot:
    """The state of all that can be reached from ``roots``; :meth:`restore` puts it back, as often as wanted."""

    def __init__(self, *roots: Any) -> None:
        self.writes: list[tuple[Callable[[Any, Any], None], Any, Any]] = []  # how to put back, where, what
        self.large: list[np.ndarray] = []
        self.iterators: list[tuple[Any, Any]] = []
        self.left = COPIED
        found = list(reachable(*roots))
        self.generators = states_of([x for x in found if is_generator(x) or x is np.random or x is random])
        note = ByType(self.note_by_type)
        for x in found:
            note[type(x)](x)
        counts = {kind: getattr(kind.tick, "__self__", None) for kind in list(KINDS)}
        self.kinds = {kind: repr(count) for kind, count in counts.items() if count is not None}

    def note_by_type(self, kind: type) -> Callable[[Any], None]:
        """How objects of that type are noted."""
        if issubclass(kind, NodeRole):
            return self.note_node
        if issubclass(kind, np.ndarray):
            return self.note_array
        if issubclass(kind, dict):
            return lambda x: self.keep(refill_mapping, x, dict(x))
        if issubclass(kind, (list, deque, bytearray, set)):
            return lambda x: self.keep(refill_elements, x, list(x))
        if issubclass(kind, types.CellType):
            return lambda x: self.keep(refill_cell, x, cell_value(x))
        if issubclass(kind, Names):
            return lambda x: self.keep(refill_names, x, x.values())
        if issubclass(kind, type):
            return lambda x: self.keep(refill_class, x, dict(vars(x)))
        if is_iterator(kind):
            return self.note_iterator
        if issubclass(kind, (types.FunctionType, types.ModuleType, *GENERATORS)) or is_in_use(kind):
            return lambda x: None
        return functools.partial(self.note_attributes, slots_of(kind))

    def note_iterator(self, x: Any) -> None:
        """How far it is; a pipe has no place."""
        if type(x).__module__ != "_io" or (not x.closed and x.seekable()):
            self.iterators.append((x, place_of(x)))

    def note_attributes(self, slots: list[str], x: Any) -> None:
        """The attributes of any other object."""
        if type(attributes := getattr(x, "__dict__", None)) is dict:
            self.keep(refill_mapping, attributes, dict(attributes))
        for slot in slots:
            self.keep(refill_slot, (x, slot), getattr(x, slot, MISSING))

    def keep(self, write: Callable[[Any, Any], None], place: Any, state: Any) -> None:
        """Remember how to put a state back."""
        self.writes.append((write, place, state))

    def note_array(self, x: np.ndarray) -> None:
        """Its numbers, or that it is too large for a copy."""
        if not x.flags.writeable:
            return
        if x.nbytes <= self.left:
            self.left -= x.nbytes
            self.keep(refill_array, x, x.copy(order="K"))
        else:
            self.large.append(x)

    def note_node(self, x: Any) -> None:
        """A node from outside: what a pass leaves in it, and what a write changes."""
        for slot in GRADIENT:
            self.keep(refill_slot, (x, slot), getattr(x, slot, MISSING))
        value = x._value
        if isinstance(x, OperationRole) or not isinstance(value, np.ndarray):
            return
        if value.nbytes <= self.left:
            self.left -= value.nbytes
            log = versions.log_of(versions.owner_of(value))
            self.keep(refill_written, (value, log), (value.copy(order="K"), dict(log.writes)))

    def has_moved(self) -> bool:
        """Has an iterator moved on since? (Of those that take from others, as ``zip``, the others tell.)"""
        return any([place_of(x) != place for x, place in self.iterators])

    def restore(self) -> None:
        """Put all back."""
        for write, place, state in self.writes:
            write(place, state)
        for generator in self.generators:
            generator.write(generator.state)
        for kind, state in self.kinds.items():
            put_back_count(kind, state)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """In the block, arrays that were too large for a copy are read-only: a write is a ValueError."""
        for x in self.large:
            x.flags.writeable = False
        try:
            yield
        finally:
            for x in sorted(self.large, key=lambda x: x.base is not None):  # a view only after its base
                x.flags.writeable = True


def is_in_use(kind: type) -> bool:
    """A thread, a pool, a lock, a queue, which others change meanwhile, or another object of Python's library?"""
    return any([cls.__module__.partition(".")[0] in BUSY for cls in kind.__mro__]) or (
        of_library(kind.__module__) and not holds(kind)
    )


# -- one writer for each kind of thing


def refill_array(x: np.ndarray, state: np.ndarray) -> None:
    """The numbers; an array that has become read-only in the meantime was not written into since."""
    if x.flags.writeable and x.shape == state.shape and x.dtype == state.dtype:
        np.copyto(x, state)


def refill_written(place: tuple[Any, Any], state: tuple[Any, Any]) -> None:
    """The numbers of a node, and the log of the writes into its memory."""
    (value, log), (numbers, writes) = place, state
    was = value.flags.writeable
    with suppress(ValueError):  # memory that is not ours to write
        value.flags.writeable = True
        refill_array(value, numbers)
        value.flags.writeable = was
    log.writes.clear()
    log.writes.update(writes)


def refill_mapping(x: dict[Any, Any], state: dict[Any, Any]) -> None:
    """The entries, in their order. Those of a subclass, which may count its changes, by the methods of dict."""
    if len(x) != len(state) or any([a is not b or x[a] is not state[b] for a, b in zip(x, state, strict=True)]):
        dict.clear(x)
        dict.update(x, state)


def refill_elements(x: Any, state: list[Any]) -> None:
    """The elements of a list, of a set ..."""
    if len(x) != len(state) or any([a is not b for a, b in zip(x, state, strict=True)]):
        x.clear()
        (x.update if isinstance(x, set) else x.extend)(state)


def refill_cell(x: types.CellType, state: Any) -> None:
    """The variable of an outer function."""
    if state is MISSING:
        with suppress(ValueError):
            del x.cell_contents
    elif cell_value(x) is not state:
        x.cell_contents = state


def cell_value(x: types.CellType) -> Any:
    """What is in it."""
    try:
        return x.cell_contents
    except ValueError:
        return MISSING


def refill_names(x: Names, state: dict[str, Any]) -> None:
    """The globals that code names."""
    for name in x.names:
        if name not in state:
            x.scope.pop(name, None)
        elif x.scope.get(name, MISSING) is not state[name]:
            x.scope[name] = state[name]


def refill_class(x: type, state: dict[str, Any]) -> None:
    """The attributes of a class."""
    for name in [*vars(x)]:
        if name not in state:
            delattr(x, name)
    for name, value in state.items():
        if vars(x).get(name, MISSING) is not value:
            setattr(x, name, value)


def refill_slot(place: tuple[Any, str], state: Any) -> None:
    """An attribute that is a slot."""
    x, slot = place
    if getattr(x, slot, MISSING) is not state:
        with suppress(AttributeError):  # read-only
            delattr(x, slot) if state is MISSING else setattr(x, slot, state)


def slots_of(kind: type) -> list[str]:
    """The slots of the user's classes that instances of ``kind`` have."""
    found = [vars(cls).get("__slots__", ()) for cls in kind.__mro__ if cls.__module__.partition(".")[0] != "builtins"]
    names = [name for slots in found for name in ((slots,) if isinstance(slots, str) else slots)]
    return [name for name in names if not (name.startswith("__"))]


def put_back_count(kind: Kind, state: str) -> None:
    """The running number of one kind of names: ``count(3)``."""
    if repr(kind.tick.__self__) != state:  # type: ignore[attr-defined]
        kind.begin_at(int(state.partition("(")[2].rstrip(")")))


def is_iterator(kind: type) -> bool:
    """Do its objects move on when they are used: iterators of Python's own, files, queues?"""
    return (kind.__module__ in ("builtins", "itertools", "_io") and hasattr(kind, "__next__")) or hasattr(kind, "qsize")


def place_of(x: Any) -> Any:
    """Something that changes when an iterator moves on; None where that cannot be seen."""
    if isinstance(x, types.GeneratorType):
        return x.gi_frame is None, x.gi_frame and x.gi_frame.f_lasti
    if type(x).__module__ == "_io":
        return x.closed or x.tell()
    if hasattr(x, "qsize"):
        return x.qsize()
    if type(x).__name__ in ("count", "repeat"):
        return repr(x)
    left = operator.length_hint(x, -1)
    return None if left < 0 else left


# -- output


class Quiet:
    """In place of ``sys.stdout``: what one thread writes is dropped, what others write goes where it went."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.thread = stream, threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """As a stream's."""
        return len(text) if threading.get_ident() == self.thread else self.stream.write(text)


@contextmanager
def silence() -> Iterator[None]:
    """In the block, this thread prints and logs nothing."""
    before, handle, me = (sys.stdout, sys.stderr), logging.Logger.handle, threading.get_ident()

    def handle_others(logger: logging.Logger, record: logging.LogRecord) -> None:
        return handle(logger, record) if record.thread != me else None

    try:
        sys.stdout, sys.stderr = map(Quiet, before)
        logging.Logger.handle = handle_others  # type: ignore[assignment, method-assign]
        yield
    finally:
        sys.stdout, sys.stderr, logging.Logger.handle = *before, handle  # type: ignore[method-assign]
