"""Two numbers for whatever is made: when in the whole process, and how many of its kind before it.

The first, the creation number ``now()``, orders reads and writes in time and is never reset. The second, a kind's
``tick()``, is for names: ``add_0``, ``add_1``, ``sin_0``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count

CREATION = count(1)
now: Callable[[], int] = CREATION.__next__
KINDS: weakref.WeakSet[Kind] = weakref.WeakSet()


class Kind:
    """What is counted together: the Variables, the Constants, the additions, ..."""

    __slots__ = ("__weakref__", "name", "tick")
    tick: Callable[[], int]

    def __init__(self, name: str) -> None:
        self.name = name
        restart(self)
        KINDS.add(self)


def restart(kind: Kind) -> None:
    """Let the running numbers of one kind begin at 0."""
    kind.tick = count().__next__


def reset() -> None:
    """Start the numbers in default names at 0 again. Creation numbers continue, and no existing node changes.

    >>> import autoflow as af
    >>> af.reset()
    >>> af.Variable(1.0).name, af.Variable(1.0).name
    ('var_0', 'var_1')
    """
    for kind in list(KINDS):
        restart(kind)


VARIABLE, CONSTANT = Kind("var"), Kind("const")
