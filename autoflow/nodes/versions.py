"""Checks that values have not changed since they were used, as derivatives need them; and the freeing of graphs.

Freeing a deep graph without a deep stack. When the last name of a graph goes, Python frees the newest record, with it
the records of its operands, and so on, each call inside the other. Python 3.13 nests up to 10,000 of them, 1.5 MB of
stack: a thread or a browser may have less, and the process dies. So about one record in a hundred holds a
:class:`Release`, which hands the record's operands to a list. The first Release that is reached empties the list; the
others only add to it. Those records are spread evenly over all operations, not along one path. On the Pythons that were
tried, some 1,500 records fit into 256 KB.

Versions: there are three cases.

* Arrays that the user may write into without our seeing it (plain arrays, index arrays, views): :func:`protect`
  copies small ones and takes a fingerprint of large ones.
* Writes that we do see (``a += b`` on nodes, ``v.assign``): a :class:`Note` says when, where and which bytes, per
  block of memory, and :func:`writer_since` answers whether an array has been written into since. The common case
  costs one comparison of two integers: nothing was written anywhere after the operation was made. The note is taken
  before the write, which may be cut short (Ctrl-C, warnings as errors), and once more after it: a read between the
  two may have found old numbers or new ones.
* Values that no derivative needs are not kept alive: a :class:`FreedArray` knows their shape and dtype.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from heapq import heappushpop
from itertools import cycle
from operator import itemgetter
from sys import getrefcount
from typing import Any

import numpy as np

from ..base.errors import StateError
from ..base.numbering import CREATION
from ..base.types import AnyFunction as AnyFunction, Array as Array, ByName as ByName, T, Values as Values

WRITEABLE = 0x400  # NPY_ARRAY_WRITEABLE, a bit of the flags of NumPy's arrays

# ---------------------------------------------------------------- freeing a deep graph


class Freed(threading.local):
    """The operands that wait to be let go in this thread.

    What is called when an object goes uses no name of a module: when Python ends, these may be None before.
    """

    callbacks, is_finalized, number = gc.callbacks, staticmethod(gc.is_finalized), itemgetter(0)

    def __init__(self) -> None:
        self.waiting: list[tuple[int, tuple[object, ...]]] = []  # creation number of a record, and its parents
        self.work: Any = self.let_go()

    def let_go(self) -> Generator[bool, None, None]:
        """A generator that frees everything at each step. Freed records may add others meanwhile."""
        while True:
            while self.waiting:
                self.waiting.pop()
            yield True

    def empty(self) -> None:
        """Let go of all, unless that is going on. A generator knows by itself whether it runs: a flag of ours could be
        left behind by an interrupt, and nothing would be freed from then on."""
        if not self.work.gi_running and not next(self.work, False):  # ended by an interrupt
            self.work = self.let_go()
            next(self.work)

    def after_collection(self, phase: str, info: dict[str, int]) -> None:
        """The garbage collector has finished: what it found is held by us alone. The newest goes first, so that the
        list still holds the records that come next."""
        if phase == "stop":
            self.callbacks.remove(self.after_collection)
            self.waiting.sort(key=self.number)
            self.empty()


FREED = Freed()


class Release:
    """Held by a record in its slot ``release``, which Python clears after ``parents``: slots go in alphabetical order.

    >>> Release(3, (1, 2)).parents
    (1, 2)
    """

    __slots__ = ("number", "parents")

    def __init__(self, number: int, parents: tuple[object, ...]) -> None:
        self.number = number
        self.parents = parents

    def __del__(self, freed: Freed = FREED) -> None:
        if not hasattr(self, "parents"):  # an interrupt came while it was made
            return
        freed.waiting.append((self.number, self.parents))
        if not freed.is_finalized(self):
            self.parents = ()
            freed.empty()
        elif freed.after_collection not in freed.callbacks:  # the record is part of a cycle, and not yet let go
            freed.callbacks.append(freed.after_collection)


def marks(period: int = 2039, among: int = 21) -> list[type[Release] | None]:
    """Which of ``period`` operations have a Release. Squares modulo a prime are as good as random: in a loop of up to
    400 operations, each of them has had one after at most 600 turns.

    >>> [sum(mark is not None for mark in marks()), len(marks())]
    [31, 2039]
    """
    return [Release if k * k % period < among else None for k in range(period)]


def view_link(record: Any, base: T) -> tuple[Any, T]:
    """The link of a view: the record of taking it, and the node that it is a view of.

    For a view of a view, a Release holds the node as well, so that long chains of them are let go by the list.
    """
    release = getattr(record, "release", None)
    if release is not None and getattr(base, "_view", None) is not None:
        release.parents = (*release.parents, base)
    return record, base


class OneThread:
    """What iterates over ``new`` for the first thread that asks, and refuses all others: where Python has no global
    lock, as 3.13t and 3.14t, nothing here was made for several threads that record.

    >>> numbers = OneThread(iter("ab"))
    >>> next(numbers), next(numbers)
    ('a', 'b')
    """

    def __init__(self, new: Iterator[Any]) -> None:
        self.new, self.owner = new, 0

    def __next__(self) -> Any:
        self.owner = self.owner or threading.get_ident()
        if self.owner != threading.get_ident():
            raise StateError(
                "a second thread records operations, and this Python runs without its global lock, which autoflow "
                "relies on: a gradient might be wrong. Record in one thread, or start Python with PYTHON_GIL=1."
            )
        return next(self.new)


# For each new record its creation number, and Release or None.
NEW: Iterator[tuple[int, type[Release] | None]] = zip(CREATION, cycle(marks()))
if not getattr(sys, "_is_gil_enabled", lambda: True)():  # False on free-threaded builds alone, from 3.13 on
    NEW = OneThread(NEW)  # type: ignore[assignment]


# ---------------------------------------------------------------- versions: who has written where, and when


Changes = list[tuple[Any, str, Any]]  # object, attribute, value
COPY_BYTES = 4096  # copying 4 KB takes 0.15 µs; a fingerprint and its check later 0.8
SAMPLES = 8  # elements of a large array
latest = [0]  # creation number of the latest write that was noted: a heap of one, see Note.stamp
_logs: dict[int, Log] = {}  # id of the owner of a block of memory -> the writes into it


class FreedArray:
    """Shape and dtype of an array that need not stay in memory; the array itself as long as others hold it."""

    __slots__ = ("dtype", "library", "ndim", "reference", "shape", "size")

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size
        self.library = type(array)
        try:
            self.reference: Callable[[], Array] = weakref.ref(array)
        except TypeError:  # an array type that takes no weak references
            self.reference = lambda: None

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape}, not kept>"


class Log:
    """The writes into one block of memory: the latest into each region, so loops over the same places stay small."""

    __slots__ = ("owner", "writes")

    def __init__(self, owner: Array) -> None:
        key, logs = id(owner), _logs  # see Freed
        self.owner = weakref.ref(owner, lambda _: logs.pop(key, None))
        self.writes: dict[object, tuple[int, Region, str]] = {}  # one per region: creation number, file and line


class Region:
    """Where an array lies, without keeping it alive: NumPy makes an array of it again.

    Arrays on a device say it in the same way (CUDA's array interface), and so do those that af.compile records. Only
    addresses are compared, so that NumPy can do it for all of them.
    """

    __slots__ = ("__array_interface__",)

    def __init__(self, array: Array) -> None:
        name = "__array_interface__" if issubclass(type(array), np.ndarray) else "__cuda_array_interface__"
        self.__array_interface__: ByName | None = getattr(array, name, None)

    def meets(self, array: Array) -> bool:
        """Do they share a byte? Exact where that is cheap, yes where it is not."""
        other = Region(array)
        if self.__array_interface__ is None or other.__array_interface__ is None:
            return False
        work: Any = 1000
        try:
            return np.shares_memory(np.asarray(self), np.asarray(other), max_work=work)
        except np.exceptions.TooHardError:
            return True


def owner_of(array: Array) -> Array:
    """The array that owns the memory which ``array`` looks into. (The base may be another object with memory.)"""
    while hasattr(base := array.base, "strides") and hasattr(base, "base"):
        array = base
    return array


def is_writeable(array: np.ndarray) -> bool:
    """May an array be written into? NumPy warns who asks that of a result of ``np.broadcast_arrays`` by name."""
    return bool(array.flags.num & WRITEABLE)


def copy_if_shared(x: Array, owners: set[int]) -> Array:
    """A node that is given to the user, copied if one with memory of the same owner has been: ``owners`` has the ids.
    A write into one gradient must not change another."""
    value = getattr(x, "_value", None)
    if type(value) is np.ndarray and is_writeable(value):
        if id(owner := owner_of(value)) in owners:
            return np.copy(x)
        owners.add(id(owner))
    return x


def log_of(owner: Array) -> Log:
    """The log of writes into the memory of ``owner``."""
    log = _logs.get(id(owner))
    if log is not None and log.owner() is not owner:  # of an array that is gone
        _logs.pop(id(owner), None)
        log = None
    return log or _logs.setdefault(id(owner), Log(owner))  # one for all threads


class Note:
    """The line ``where`` will write into ``array``. :meth:`stamp` comes before the write, then :meth:`was_written`, or
    :meth:`undo` if nothing was written; if neither is reached, the memory counts as written into.

    >>> from autoflow.base.numbering import now
    >>> a = np.zeros(3)
    >>> before = now()
    >>> note = Note(a, "example.py:1")
    >>> note.stamp(now())
    >>> writer_since(a, before)
    'example.py:1'
    >>> note.undo()
    >>> writer_since(a, before)
    ''
    """

    __slots__ = ("before", "key", "log", "region", "where", "whole")

    def __init__(self, array: Array, where: str) -> None:
        owner = owner_of(array)
        self.log, self.region, self.where = log_of(owner), Region(array), where
        x = self.region.__array_interface__  # the key is equal for equal regions
        self.key = None if x is None else (x["data"][0], x["shape"], x["strides"], x["typestr"])
        self.whole = array.nbytes == owner.nbytes  # not the real part of complex numbers, which has as many elements
        self.before = self.log.writes.get(self.key)

    def stamp(self, number: int) -> None:
        """Written into at the time ``number``, which is the latest one unless ``latest`` is later already.

        One call in C: no thread, signal handler or finalizer comes between comparison and store, so ``latest`` never
        goes back. (``latest = max(latest, number)`` could be overtaken between its two halves.)
        """
        if self.key is not None:
            self.log.writes[self.key] = number, self.region, self.where
        heappushpop(latest, number)

    def was_written(self, number: int) -> None:
        """It was written into until the time ``number``. A write to all of the memory covers the earlier ones."""
        self.stamp(number)
        if self.whole and len(writes := self.log.writes) > 1:
            for key, (earlier, *_) in list(writes.items()):
                if earlier < number:
                    writes.pop(key, None)

    def undo(self) -> None:
        """It was not written into. (``latest`` stays: that costs a look at the log, and is never wrong.)"""
        if self.before is None:
            self.log.writes.pop(self.key, None)
        else:
            self.log.writes[self.key] = self.before


def writer_since(array: Array, since: int) -> str:
    """The line that wrote into ``array`` after the time ``since``; the empty string if none did."""
    if since >= latest[0] or not hasattr(array, "strides"):
        return ""
    log = _logs.get(id(owner := owner_of(array)))
    if log is None or log.owner() is not owner:
        return ""
    for number, region, where in list(log.writes.values()):
        if number > since and region.meets(array):
            return where
    return ""


def protect(array: Array) -> tuple[Array, bytes | None]:
    """``array`` as a record should keep it: a copy if small, else a view and a fingerprint to compare later.

    On a GPU always a copy: it takes no longer than any operation there, while a fingerprint would wait for the device.
    """
    if array.nbytes <= COPY_BYTES or not isinstance(array, np.ndarray):
        return array.copy(order="K"), None
    return array.view(), fingerprint(array)


def is_alone(array: Array, holders: int) -> bool:
    """Do ``holders`` names of the caller's alone hold an array, so that nobody else can write into it?"""
    return type(array) is not np.ndarray or (array.base is None and getrefcount(array) <= ALONE + holders)


# Python 3.11 to 3.13 count 2. One that counts others, as 3.14 does, may miss a holder: then no array is alone.
ALONE = 2 if (lambda array: getrefcount(array))(np.empty(0)) == 2 else -99


def fingerprint(array: Array) -> bytes:
    """The bytes of about eight elements, evenly spread over an array of any layout; of a small array all. (Address,
    shape and strides are those of the view that is kept.)"""
    if array.nbytes <= COPY_BYTES or not array.ndim:
        return array.tobytes()
    axes = sum([n > 1 for n in array.shape])
    along = math.ceil(SAMPLES ** (1 / max(axes, 1)))
    return array[tuple([slice(None, None, max(1, (n - 1) // max(along - 1, 1))) for n in array.shape])].tobytes()
