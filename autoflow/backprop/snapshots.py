"""What a function can reach, noted as it is and put back later: so a function can run once more without a trace.

Python's garbage collector knows what an object refers to, so closures, attributes, elements and bound methods are all
found in the same way (:func:`~.second_runs.reachable`). Its notes are:

    arrays              a copy of the numbers; beyond ``COPIED`` bytes in all they are read-only while the block runs
                        (on a device, where nothing is read-only, ``is_whole`` is False then)
    nodes from outside  their numbers, history, gradient, name and hooks, and the log of writes into their memory
    lists, dicts, sets  the elements, by identity; so, too, attributes, cells of closures, defaults and code of
                        functions, and the globals that are named
    random generators   their states; so, too, texts and bytes in memory (``io.StringIO``), and decimal contexts
    default names       the running numbers in ``add_0``, ``add_1``

Objects of Python's library, of NumPy and of other packages count like the user's; what other threads use (threads,
pools, loggers) is left alone. An iterator, an open file and a queue cannot be put back: :meth:`Snapshot.has_moved`
says that one has moved on, or that its position cannot be seen. What is not seen: files that the function opens,
sockets, ``os.environ`` and other settings of the whole process, hits of an ``lru_cache``, ``globals()["n"]``, the name
and the bases of a class, an array that is read-only before and after or has another size, the state of libraries
written in C, memory that is shared with nothing that the function reaches. Context variables (``np.errstate`` is one)
are put back by ``transforms/shadow.py``, where the second run has the context of the first.
"""

from __future__ import annotations

import _thread
import array
import ctypes
import gc
import io
import logging
import operator
import os
import random
import sys
import threading
import types
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..backends.duck_arrays import DuckArray
from ..backends.registry import registered_type
from ..base.errors import InPlaceError
from ..base.numbering import KINDS, MOST
from ..base.process import Lock, finally_, hidden_before, hidden_threads
from ..base.transformed import FunctionOfFunction
from ..base.types import Array, ByName, Values
from ..nodes import versions
from ..nodes.nodes import NodeRole, VariableRole, current_record
from ..nodes.records import Record
from ..program.callers import is_foreign, of_library
from ..table import blocks
from . import second_runs
from .hooks import Hook, hooks_of

# These have nothing to note themselves.
SILENT = (types.ModuleType, FunctionOfFunction, DuckArray, *second_runs.IN_C)
COPIED = 2**26  # bytes of arrays that are copied; larger ones are locked
ON_DEVICE = 16  # times as many on a device, which copies faster, and where nothing can be locked
GRADIENT = ("_raw_grad", "_shown_grad", "_name")  # slots of a node that a pass or its owner may set
OF_VARIABLES = ("_value", "_number", "_live", *GRADIENT)
OF_NODES = ("__class__", "_value", "_operand", "_record", "_view", "_number", "_count", *GRADIENT)
OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
MISSING = object()
NOTHING = nullcontext()
HOSTS = {"idlelib", "debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle"}  # they may lie beside Python


class Lens(NamedTuple):
    """How a kind of state is read from its place, written back, and compared. ``write`` returns False if it cannot."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    same: Callable[[Any, Any], bool]


class Snapshot:
    """The state of all that can be reached from ``roots``; :meth:`restore` puts it back, as often as wanted."""

    def __init__(self, *roots: object) -> None:
        self.notes: list[tuple[Lens, Any, Any]] = []  # how, where, what
        self.large: list[np.ndarray] = []
        self.iterators: list[tuple[Any, Any, list[Any]]] = []
        objects = second_runs.reachable(*second_runs.OWN, *roots)
        self.left, self.is_whole = COPIED, len(objects) < second_runs.LIMIT
        for x in objects:
            if (note := NOTES[type(x)]) is not None:
                note(self, x)
        if (decimal := sys.modules.get("decimal")) is not None:
            self.keep(DECIMAL, decimal.getcontext())
        # A list of them: other threads may make new kinds meanwhile.
        self.kinds = {kind: kind.left() for ref in KINDS.valuerefs() if (kind := ref()) is not None}

    def note_iterator(self, x: Any) -> None:
        """Note the position of an iterator; a pipe has none."""
        if type(x).__module__ != "_io" or (not x.closed and x.seekable()):
            self.iterators.append((x, position_of(x), gc.get_referents(x)))

    def note_attributes(self, x: object, slots: list[str], how: Lens | None = None) -> None:
        """Note the attributes of any other object, and of one of a class that is derived from a kind of container,
        generator ... also what that kind has."""
        if how is not None:
            self.keep(how, x)
        if type(own := getattr(x, "__dict__", None)) is dict and x.__dict__ is own:  # a property may make a new one
            self.keep(ATTRIBUTES, x)
        for slot in slots:
            self.keep(SLOT, (x, slot))

    def keep(self, kind: Lens, place: object) -> None:
        """Note the state of a place."""
        self.notes.append((kind, place, kind.read(place)))

    def note_array(self, x: Array) -> None:
        """Note the numbers of an array, or that it is too large for a copy."""
        if (locked := is_locked(x)) or self.has_room(x):
            if isinstance(x, np.ndarray):
                self.keep(FLAG, x)
            if not locked:
                self.notes.append((ARRAY, x, x.copy(order="K")))
        elif isinstance(x, np.ndarray):
            self.large.append(x)
        else:
            self.is_whole = False

    def has_room(self, x: Array) -> bool:
        """Is there room for a copy? Then it is taken."""
        size = x.nbytes if isinstance(x, np.ndarray) else x.nbytes // ON_DEVICE
        self.left -= size if (has_room := size <= self.left) else 0
        return has_room

    def note_node(self, x: NodeRole) -> None:
        """Note what a node from outside remembers, its hooks and its numbers."""
        record, value = None, x._value
        if not isinstance(x, VariableRole):
            with suppress(InPlaceError):  # its base has another shape since
                current_record(x)  # looking at a view brings it up to date, which changes nothing
            record = getattr(x, "_record", None)
        for holder in (x,) if record is None else (x, record):  # of Operations it has name, gradient and hooks
            self.keep(NODE, holder)
            self.keep(HOOKS, holder)
        if not is_array_type(type(value)):
            return
        if self.has_room(value):
            self.notes.append((ARRAY, value, value.copy(order="K")))
            self.keep(DICT, versions.log_of(versions.owner_of(value)).writes)
        else:
            self.note_array(value)

    def has_moved(self) -> bool:
        """Has an iterator moved on since, or another variable of a generator? (For iterators over iterators, such
        as ``zip``, the inner ones are compared.)"""
        now = [(position_of(x), [*map(id, gc.get_referents(x))]) for x, *_ in self.iterators]
        return now != [(place, [*map(id, referents)]) for _, place, referents in self.iterators]

    def differs(self, other: Snapshot) -> bool:
        """Does a snapshot of the same roots hold something else? (Running numbers of names do not count.)"""
        pairs = zip(self.notes, other.notes, strict=False)
        alike = [kind is second and kind.same(now, state) for (kind, _, state), (second, _, now) in pairs]
        return len(self.notes) != len(other.notes) or not all(alike)

    def restore(self, only_names: bool = False) -> str:
        """Restore all states, or the running numbers of names only. Returns what had changed, or "" if nothing had."""
        changed = [
            type_of(place) for kind, place, state in self.notes
            if not (only_names or kind.same(kind.read(place), state)) and kind.write(place, state) is not False
        ]  # fmt: skip
        for names, state in self.kinds.items():
            if names.left() != state:
                names.begin_at(MOST - state)
        return changed[0] if changed else ""

    def locked(self) -> AbstractContextManager[None]:
        """In the block, arrays that were too large for a copy are read-only: a write is a ValueError."""
        return self.lock() if self.large else NOTHING

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The block in which they are. (With ``finally_`` it would be four calls more.)"""
        large = sorted(self.large, key=lambda x: x.base is not None)  # a view is writeable only after its base
        try:
            try:
                for x in large:
                    x.flags.writeable = False
                yield
            finally:
                for x in large:
                    x.flags.writeable = True
        except BaseException:  # perhaps Ctrl-C, before all were
            for x in large:
                x.flags.writeable = True
            raise


def note_of(kind: type) -> Callable[[Snapshot, Any], None] | None:
    """How a snapshot notes objects of a type; None if they have nothing to note."""
    for types_, how in [*KINDS_OF, (getattr(sys.modules.get("decimal"), "Context", ()), DECIMAL)]:
        if issubclass(kind, types_):
            read, slots = READ_ONCE.get(kind, how.read), slots_of(kind)
            if kind is types_ or (type(types_) is tuple and kind in types_) or not (slots or kind.__dictoffset__):
                return lambda s, x: s.notes.append((how, x, read(x)))
            return partial(Snapshot.note_attributes, slots=slots, how=how)
    if issubclass(kind, NodeRole):
        return Snapshot.note_node
    if issubclass(kind, np.ndarray) or is_array_type(kind):
        return Snapshot.note_array
    if issubclass(kind, type):
        return lambda s, x: s.keep(CLASS, x) if second_runs.is_users(x) else None
    if is_iterator(kind):  # type: ignore[arg-type]  # classes can be hashed
        return Snapshot.note_iterator
    if kind is tuple or issubclass(kind, SILENT) or second_runs.is_busy(kind):
        return None
    return partial(Snapshot.note_attributes, slots=slots_of(kind))


def type_of(place: object) -> str:
    """The type of object that was written into: the owner of a slot, an array, ..."""
    if isinstance(place, second_runs.GENERATORS):
        return "random generator"
    return type(place[0] if type(place) is tuple else place).__name__


def others_run() -> bool:
    """May another thread be in the user's code? (Frames of running threads are not looked at: those that Python 3.11 is
    about to free crash.)"""
    main = threading.main_thread()
    if threading.get_ident() != main.ident:
        return True
    if threading.active_count() == 1 and not _thread._count():
        return False  # this one is alone
    threads = threading.enumerate()
    if hidden_threads(threads) > hidden_before(os.getpid()):
        return True
    return len(threads) > 1 and any([may_run_users_code(t) for t in threads if t is not main])


def may_run_users_code(thread: threading.Thread) -> bool:
    """All threads may, as Python's library runs whatever it is given: in loops, pools, timers. Except those of our own
    pools, which compute large arrays, and those whose class or target belongs to an installed package or a debugger,
    such as the threads of a notebook's kernel."""
    if type(thread) is threading._DummyThread:  # nothing is known of it: counted with the hidden ones
        return False
    target = getattr(thread, "_target", None) or getattr(thread, "function", None)  # of a Timer
    homes = [str(getattr(x, "__module__", None)) for x in (type(thread), getattr(target, "func", target)) if x]
    modules = [name for name in homes if name != "threading"]
    is_ours = any([thread in pool._threads for pool in blocks.POOL])
    return not is_ours and not (modules and all(map(is_installed, modules)))


def is_installed(module: str) -> bool:
    """Is it a module of a package that only runs code of its own, or of a program that runs the user's?"""
    return module.partition(".")[0] in HOSTS or (is_foreign(module) and not of_library(module))


# -- one writer for each kind of thing


def refill_array(x: Array, state: Array) -> None:
    """Restore dtype, shape and numbers."""
    locked = is_locked(x)
    with suppress(ValueError):  # memory that is not ours to write
        if locked:
            x.flags.writeable = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy 2.5 would rather have a view, but this is the user's array
            if x.dtype != state.dtype:
                x.dtype = state.dtype
            if x.size == state.size and x.shape != state.shape:
                x.shape = state.shape
        if x.shape == state.shape and x.dtype == state.dtype:
            np.copyto(x, state)
        if locked:
            x.flags.writeable = False


def refill_flag(x: np.ndarray, state: bool) -> None:
    """Let an array be read-only again, or no longer."""
    with suppress(ValueError):
        x.flags.writeable = state


def is_array_type(kind: type) -> bool:
    """Is this a type of arrays, of NumPy or of another library, that have numbers of their own?"""
    return registered_type(kind) is not None and not issubclass(kind, DuckArray)


def is_locked(x: Array) -> bool:
    """Is the array read-only? On a device none is."""
    return isinstance(x, np.ndarray) and not versions.is_writeable(x)


def refill_mapping(x: dict[Any, Any], state: dict[Any, Any], base: Any = dict) -> None:
    """Restore the entries, in their order. A subclass may count its changes, so the methods of Python's own class are
    used: an OrderedDict has its order beside the entries."""
    base.clear(x)
    for key, value in state.items():
        base.__setitem__(x, key, value)


def refill_elements(base: Any, x: Any, state: list[Any]) -> None:
    """Restore the elements of a list, a deque or a set, by the methods of Python's own class."""
    base.clear(x)
    (base.update if base is set else base.extend)(x, state)


def refill_bytes(x: Any, state: bytes) -> None:
    """Restore the bytes of a buffer, and its length."""
    if len(bytes(x)) != len(state):
        x[:] = array.array(getattr(x, "typecode", "B"), state)
    memoryview(x).cast("B")[:] = state


def cell_value(x: types.CellType) -> object:
    """The content of a cell."""
    try:
        return x.cell_contents
    except ValueError:
        return MISSING


def refill_names(x: second_runs.Globals, state: ByName) -> None:
    """Restore the globals that code names."""
    for name in x.names:
        if name in state:
            x.scope[name] = state[name]
        else:
            x.scope.pop(name, None)


def refill_class(x: type, state: ByName) -> None:
    """Restore the attributes of a user's class."""
    for name in {*vars(x), *state}:
        if vars(x).get(name, MISSING) is not state.get(name, MISSING):
            setattr(x, name, state[name]) if name in state else delattr(x, name)


def refill_slot(place: tuple[object, str], state: list[Any]) -> bool:
    """Restore an attribute that is a slot, or the variable of an outer function."""
    with suppress(AttributeError):  # read-only
        object.__delattr__(*place) if state[0] is MISSING else object.__setattr__(*place, state[0])
        return True
    return False


def slots_of_node(x: object) -> tuple[str, ...]:
    """What a function may change of a node, or of its record."""
    return GRADIENT if type(x) is Record else OF_VARIABLES if isinstance(x, VariableRole) else OF_NODES


def refill_hooks(x: object, state: dict[str, dict[int, Hook]]) -> None:
    """Restore the hooks of a Variable or a record."""
    for when, table in hooks_of(x).items():
        refill_mapping(table, state.get(when, {}))


def refill_attributes(x: Any, state: tuple[ByName, ByName]) -> None:
    """Restore the dict of an object's attributes, which may have been replaced, and what is in it."""
    if x.__dict__ is not state[0]:
        x.__dict__ = state[0]
    refill_mapping(*state)


def refill_named(names: tuple[str, ...], x: object, state: Iterable[object]) -> None:
    """Restore the attributes of these names."""
    for name, value in zip(names, state, strict=True):
        refill_slot((x, name), [value])


def refill_file(base: Any, x: Any, state: Any) -> bool:
    """Restore a file in memory, unless it has been closed, or others look into it."""
    with suppress(BufferError, ValueError, TypeError):
        base.__setstate__(x, (*state, None))
        return True
    return False


def copy_of_view(x: memoryview | np.void) -> Array | None:
    """The numbers that one can write into through a view of memory, or an element of a structured array, unless they
    are too many."""
    memory = np.asarray(x)
    return memory.copy() if memory.flags.writeable and memory.nbytes <= COPIED else None


def refill_view(x: memoryview, state: Array) -> bool:
    """Restore them, unless the view has been released."""
    with suppress(ValueError):
        np.copyto(np.asarray(x), state)
        return True
    return False


def refill_record(x: np.void, state: Array) -> None:
    """Restore the fields of an element of a structured array."""
    for name in x.dtype.names or ():
        x[name] = state[name]


def value_in_context(x: ContextVar[Any]) -> Any:
    """What a variable of a context holds here, or its default; MISSING without either."""
    try:
        return x.get()
    except LookupError:
        return MISSING


def same_objects(a: Any, b: Any) -> bool:
    """Are these dicts or lists of the same objects in the same order?"""
    is_same = len(a) == len(b) and all(map(operator.is_, a, b))
    return is_same and (type(a) is not dict or all(map(operator.is_, a.values(), b.values())))


def same_numbers(x: Array, state: Array) -> bool:
    """Has an array these numbers? On a device that is asked there."""
    if isinstance(x, np.ndarray):
        return second_runs.same_state(x, state)
    return bool(np.array_equal(x, state, equal_nan=x.dtype.kind in "fc"))


# How these are noted, where that is quicker than to read them: of globals the search has done it.
READ_ONCE: dict[type, Callable[[Any], Any]] = {dict: dict.copy, second_runs.Globals: operator.attrgetter("old")}
FLAG = Lens(versions.is_writeable, refill_flag, operator.is_)
ARRAY = Lens(lambda x: x, refill_array, same_numbers)
DICT = Lens(lambda x: dict(dict.items(x)), refill_mapping, same_objects)
ATTRIBUTES = Lens(
    lambda x: (vars(x), dict(vars(x))), refill_attributes, lambda a, b: a[0] is b[0] and same_objects(a[1], b[1])
)
CLASS = Lens(lambda x: dict(vars(x)), refill_class, same_objects)
DECIMAL = Lens(operator.methodcaller("__reduce__"), lambda x, state: x.__init__(*state[1]), operator.eq)
NODE = Lens(lambda x: [getattr(x, slot, MISSING) for slot in slots_of_node(x)],
            lambda x, state: refill_named(slots_of_node(x), x, state), same_objects)  # fmt: skip
HOOKS = Lens(lambda x: {when: dict(table) for when, table in hooks_of(x).items()}, refill_hooks, operator.eq)
SLOT = Lens(lambda place: [getattr(place[0], place[1], MISSING)], refill_slot, same_objects)
BYTES = Lens(bytes, refill_bytes, second_runs.same_state)
NUMPYS_BITS = Lens(second_runs.state_of_own, second_runs.put_state, second_runs.same_state)
KINDS_OF: list[tuple[Any, Lens]] = [
    (OrderedDict, Lens(lambda x: dict(OrderedDict.items(x)), partial(refill_mapping, base=OrderedDict), same_objects)),
    (dict, DICT),
    *[(base, Lens(lambda x, base=base: [*base.__iter__(x)], partial(refill_elements, base), same_objects))  # type: ignore[misc]
      for base in (list, deque, set)],
    ((bytearray, array.array, ctypes.Structure.__base__), BYTES),
    # Through these one can write into arrays that are read-only by now.
    (memoryview, Lens(copy_of_view, refill_view, second_runs.same_state)),
    (np.void, Lens(copy_of_view, refill_record, second_runs.same_state)),
    (ContextVar, Lens(value_in_context, lambda x, state: state is not MISSING and x.set(state), operator.is_)),
    (types.CellType, Lens(lambda x: [cell_value(x)], partial(refill_named, ("cell_contents",)), same_objects)),
    *[(kind, Lens(operator.attrgetter(*names), partial(refill_named, names), same_objects))
      for kind, names in ((types.FunctionType, OF_FUNCTIONS), (BaseException, ("args", "__traceback__")))],
    # The text or bytes in a file in memory, and its position; None if it is closed.
    *[(base, Lens(lambda x: None if x.closed else x.__getstate__()[:-1], partial(refill_file, base), operator.eq))
      for base in (io.StringIO, io.BytesIO)],
    (second_runs.Globals, Lens(second_runs.Globals.values, refill_names, same_objects)),
    (random.Random, Lens(second_runs.state_of, second_runs.put_state, operator.eq)),
    (second_runs.GENERATORS, Lens(second_runs.state_of, second_runs.put_state, second_runs.same_state)),
    (np.random.SeedSequence, Lens(operator.attrgetter("state"), lambda x, s: x.__init__(**s), second_runs.same_state)),
]  # fmt: skip


NOTES = second_runs.ByType(note_of)


def slots_of(kind: type) -> list[str]:
    """The slots that objects of this type have; of the user's, the class as well, which may be replaced."""
    classes = [cls for cls in kind.__mro__ if cls.__module__ != "builtins"]
    names = [name for cls in classes for name, v in vars(cls).items() if type(v) is types.MemberDescriptorType]
    return [*names, *(["__class__"] if second_runs.is_users(kind) else [])]


@lru_cache(maxsize=second_runs.MANY)
def is_iterator(kind: type) -> bool:
    """Do its objects move on when they are used: iterators of Python's own, files, queues?"""
    in_c = of_library(kind.__module__) and (not kind.__dictoffset__ or kind.__module__ == "_io")
    return (in_c and hasattr(kind, "__next__")) or hasattr(kind, "qsize")


def position_of(x: Any, held: Any = (), around: Values = ()) -> object:
    """The position of an iterator: a value that changes when it moves on; None where it is that of an inner one, and a
    new object, which equals no other, where it cannot be seen. ``held``: its variables at an earlier time, kept alive
    so that no other object gets the id of one; ``around``: the generators that hold it."""
    if isinstance(x, types.GeneratorType):
        frame, around = x.gi_frame, (*around, x)
        iterators = [v for v in gc.get_referents(x) if is_iterator(type(v))]  # type: ignore[arg-type]
        inner = [position_of(v, (), around) for v in iterators if not any([v is outer for outer in around])]
        return frame and (frame.f_lasti, [*map(id, frame.f_locals.values())]), inner
    if type(x).__module__ == "_io":
        with suppress(OSError):  # a file of text does not tell while a loop reads it
            return x.closed or x.tell()
        return object()
    if hasattr(x, "qsize"):
        return x.qsize()
    if type(x).__name__ in ("count", "repeat"):
        return repr(x)
    if hasattr(x, "__length_hint__"):
        return x.__length_hint__()
    return None if any([hasattr(type(v), "__next__") for v in gc.get_referents(x)]) else object()


# -- output


SILENCED: dict[object, int] = {}  # threads that print and log nothing, for each block; one may be here several times
LOUD: list[Any] = []  # what was there before the first of them
SILENCING = Lock()


class Quiet:
    """A replacement for ``sys.stdout`` that drops what silenced threads write and passes on what others write."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """As a stream's."""
        return len(text) if threading.get_ident() in SILENCED.values() else self.stream.write(text)


def handle_others(logger: logging.Logger, record: logging.LogRecord) -> None:
    """``Logger.handle`` for threads that are not silenced."""
    if record.thread not in SILENCED.values():
        (LOUD[2:] or [logging.Logger.handle])[0](logger, record)  # another thread may end the last block meanwhile


@contextmanager
def silence() -> Iterator[None]:
    """In the block, this thread prints and logs nothing. Blocks of several threads may overlap."""
    with finally_(be_loud, block := object()):
        with SILENCING:
            if not LOUD:
                LOUD[:] = sys.stdout, sys.stderr, logging.Logger.handle
                sys.stdout, sys.stderr = map(Quiet, LOUD[:2])
                logging.Logger.handle = handle_others  # type: ignore[assignment, method-assign]
            SILENCED[block] = threading.get_ident()
        yield


def be_loud(block: object) -> None:
    """End a block of :func:`silence`; after the last one all is printed."""
    with SILENCING:
        SILENCED.pop(block, None)
        if LOUD and not SILENCED:
            sys.stdout, sys.stderr, logging.Logger.handle = LOUD  # type: ignore[method-assign]
            LOUD.clear()
