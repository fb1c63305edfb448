"""Two numbers for each new object: its creation number in the whole process, and its number among its kind.

The first, the creation number ``now()``, orders reads and writes in time and is never reset. The second, a kind's
``tick()``, is for names: ``add_0``, ``add_1``, ``sin_0``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

CREATION = count(1)
now: Callable[[], int] = CREATION.__next__
MOST = 2**63 - 1
KINDS: weakref.WeakValueDictionary[int, Kind] = weakref.WeakValueDictionary()


class Kind:
    """One kind of object that is counted together: the Variables, the Constants, the additions, ..."""

    __slots__ = ("__weakref__", "left", "name", "tick")
    tick: Callable[[], int]
    left: Callable[[], int]  # how many numbers are left, which is read faster than where a count is

    def __init__(self, name: str) -> None:
        self.name = name
        self.begin_at(0)
        KINDS[id(self)] = self

    def begin_at(self, number: int) -> None:
        """Let the running numbers go on at ``number``."""
        numbers: Any = iter(range(number, MOST))
        self.tick, self.left = numbers.__next__, numbers.__length_hint__

    def count_with(self, other: Kind) -> None:
        """Take the running numbers of another kind from now on."""
        KINDS.pop(id(self), None)
        self.tick, self.left = lambda: other.tick(), lambda: other.left()


def reset() -> None:
    """Start the numbers in default names at 0 again. Creation numbers continue, and no existing node changes.

    >>> import autoflow as af
    >>> af.reset()
    >>> af.Variable(1.0).name, af.Variable(1.0).name
    ('var_0', 'var_1')
    """
    for ref in KINDS.valuerefs():  # a list: other threads may make new kinds meanwhile
        if (kind := ref()) and kind.left() < MOST:
            kind.begin_at(0)


VARIABLE, CONSTANT = Kind("var"), Kind("const")
