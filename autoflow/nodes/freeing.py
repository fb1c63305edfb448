"""Freeing a deep graph without a deep stack.

When the last name of a graph goes, Python frees the newest record, with it the records of its operands, and so on,
each call inside the other. Python 3.13 nests up to 10,000 of them, 1.5 MB of stack: a thread or a browser may have
less, and the process dies. So about one record in a hundred holds a :class:`Release`, which hands the record's
operands to a list. The first Release that is reached empties the list; the others only add to it.

Those records are spread evenly over all operations, not along one path. On the Pythons that were tried, some 1,500
records fit into 256 KB.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from itertools import cycle
from operator import itemgetter
from typing import Any

from ..numbering import CREATION


class Freed(threading.local):
    """The operands that wait to be let go in this thread."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, tuple[Any, ...]]] = []  # creation number of a record, and its parents
        self.emptying = False

    def empty(self) -> None:
        """Let go of all. Records that go with them may add others meanwhile."""
        if self.emptying:
            return
        self.emptying = True
        try:
            while self.waiting:
                self.waiting.pop()
        finally:
            self.emptying = False

    def after_collection(self, phase: str, info: dict[str, int]) -> None:
        """The garbage collector has finished: what it found is held by us alone. The newest goes first, so that the
        list still holds the records that come next."""
        if phase == "stop":
            gc.callbacks.remove(self.after_collection)
            self.waiting.sort(key=itemgetter(0))
            self.empty()


FREED = Freed()


class Release:
    """Held by a record in its slot ``release``, which Python clears after ``parents``: slots go in alphabetical order.

    >>> Release(3, (1, 2)).parents
    (1, 2)
    """

    __slots__ = ("number", "parents")

    def __init__(self, number: int, parents: tuple[Any, ...]) -> None:
        self.number = number
        self.parents = parents

    # Defaults, because at exit the names of the module may be gone.
    def __del__(self, freed: Freed = FREED, gc: Any = gc) -> None:
        freed.waiting.append((self.number, self.parents))
        if not gc.is_finalized(self):
            self.parents = ()
            freed.empty()
        elif freed.after_collection not in gc.callbacks:  # the record is part of a cycle, and not yet let go
            gc.callbacks.append(freed.after_collection)


def marks(period: int = 2039, among: int = 21) -> list[type[Release] | None]:
    """Which of ``period`` operations have a Release. Squares modulo a prime are as good as random: in a loop of up to
    400 operations, each of them has had one after at most 600 turns.

    >>> [sum(mark is not None for mark in marks()), len(marks())]
    [31, 2039]
    """
    return [Release if k * k % period < among else None for k in range(period)]


def view_link(record: Any, base: Any) -> tuple[Any, Any]:
    """What a view remembers: the record of taking it, and the node that it is a view of.

    For a view of a view, a Release holds the node as well, so that long chains of them are let go by the list.
    """
    release = getattr(record, "release", None)
    if release is not None and getattr(base, "_view", None) is not None:
        release.parents = (*release.parents, base)
    return record, base


# For each new record its creation number, and Release or None.
NEW: Iterator[tuple[int, type[Release] | None]] = zip(CREATION, cycle(marks()))
