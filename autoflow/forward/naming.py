"""What the caller's variables are called: of nodes, and of plain arrays that operations have used.

A node is found by identity. A plain array may be the caller's own, or a copy of it (small arrays are copied when they
are recorded), or a row of it (``inputs[t]``). So arrays are compared: the same object, the same memory, and of small
ones the numbers. If a name could belong to two arrays, neither gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

import numpy as np

from ..nodes.nodes import Node
from ..nodes.versions import FreedArray

# Frames that are not the user's: ours, and those between a notebook's cell and the repr of its last value.
OTHERS = frozenset((__name__.partition(".")[0], "IPython", "ipykernel", "traitlets", "decorator", ""))
FRAMES = 12  # of the user's, in which names are looked for
SMALL = 4096  # bytes of an array that is compared by its numbers
LISTED = 200  # entries of a list that get names
Space = Iterable[tuple[str, Any]]


class Bound:
    """Names of nodes and arrays among the variables of the notebook, or of the caller and those who called him."""

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.nodes: dict[int, str] = {}  # id of a leaf, or of a record -> name
        self.arrays: dict[int, tuple[str, Any]] = {}  # id of an array -> its name and itself
        self.known: dict[
            int, tuple[Any, str | None]
        ] = {}  # answers so far; each keeps its array alive, so that its id stays unique
        lists = []
        for space in spaces:
            for name, x in space:
                if isinstance(x, np.ndarray):
                    self.add(name, x)
                elif type(x) in (list, tuple) and len(x) <= LISTED:
                    lists.append((name, x))
        for name, entries in lists:
            for place, x in enumerate(entries):
                if isinstance(x, np.ndarray) and not isinstance(x, Node):
                    self.add(f"{name}[{place}]", x)

    def add(self, name: str, x: Any) -> None:
        """A variable. Of two names for one thing the first counts."""
        if isinstance(x, Node):
            record = getattr(x, "grad_fn", None)  # NumPy can make arrays of our class that have none of our attributes
            self.nodes.setdefault(id(x if record is None else record), name)
            value = getattr(x, "value", None) if getattr(x, "requires_grad", True) is False else None
            x = value if isinstance(value, np.ndarray) else None
        if x is not None and x.shape:
            self.arrays.setdefault(id(x), (name, x))

    def kept(self, nodes: dict[int, int]) -> Bound:
        """The names of some nodes, and of the arrays that a picture has asked for, for later pictures.

        nodes : from the id that a leaf or a record has here to the id of the one that takes its name. (All of the
            caller's arrays would be kept alive otherwise.)
        """
        bound = Bound([])
        bound.nodes = {nodes[k]: name for k, name in self.nodes.items() if k in nodes}
        asked = {name for _, name in self.known.values() if name}
        whole = asked | {name.partition("[")[0] for name in asked}
        bound.arrays = {k: (name, x) for k, (name, x) in self.arrays.items() if name in whole}
        bound.known = dict(self.known)
        return bound

    def array_name(self, x: Any) -> str | None:
        """The caller's name of a plain operand: ``X``, ``inputs[3]``; None if there is none, or several."""
        if id(x) not in self.known:
            self.known[id(x)] = x, self.look_up(x.reference() if isinstance(x, FreedArray) else x)
        return self.known[id(x)][1]

    def look_up(self, x: Any) -> str | None:
        """The same, looked for."""
        if type(x) is not np.ndarray or not x.shape:
            return None
        if id(x) in self.arrays:
            return self.arrays[id(x)][0]
        where = place(x)
        for name, array in self.arrays.values():
            if array.dtype == x.dtype and place(array) == where:
                return name
        if x.nbytes > SMALL or x.dtype.kind not in "biufc":
            return None
        found = set(self.equal(x))
        return found.pop() if len(found) == 1 else None

    def equal(self, x: Any) -> Iterator[str]:
        """The names of all arrays with these numbers; if there is none, of all rows."""
        same = [name for name, array in self.arrays.values() if alike(array, x)]
        yield from same
        for name, array in self.arrays.values() if not same else ():
            if array.dtype == x.dtype and array.shape[1:] == x.shape and array.nbytes <= LISTED * SMALL:
                rows = np.flatnonzero((array == x).reshape(len(array), -1).all(axis=1))
                yield from [f"{name}[{row}]" for row in rows]


def alike(array: Any, x: Any) -> bool:
    """Have two arrays the same shape, dtype and numbers?"""
    return array.shape == x.shape and array.dtype == x.dtype and bool((array == x).all())


def place(x: Any) -> tuple[Any, ...]:
    """Where in memory an array is, and how it lies there."""
    return x.__array_interface__["data"][0], x.shape, x.strides


KNOWN: ContextVar[Bound | None] = ContextVar("KNOWN", default=None)


@contextmanager
def names_of(bound: Bound) -> Iterator[None]:
    """Within it pictures have these names: those of the place where something was made, not where it is shown."""
    token = KNOWN.set(bound)
    try:
        yield
    finally:
        KNOWN.reset(token)


def bound_names() -> Bound:
    """The caller's names, or those that :func:`names_of` has set.

    In the notebook, in the first frame outside autoflow and IPython, in those further out.

    The notebook comes first because a function that draws has a name of its own for what it draws: ``node``. For the
    same reason a function's parameter names only what has no name further out. The first name in a namespace wins: in
    ``for v in (x, y)`` the loop's name came later.
    """
    if (known := KNOWN.get()) is not None:
        return known
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    spaces: list[Space] = [public(shell.user_ns)] if shell is not None else []
    parameters: list[Space] = []
    for frame in users(sys._getframe(1)):
        code = frame.f_code
        given = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        local = public(frame.f_locals)
        spaces.append([(name, x) for name, x in local if name not in given])
        parameters.append([(name, x) for name, x in local if name in given])
        if frame.f_locals is not frame.f_globals and len(parameters) == 1:
            outermost = public(frame.f_globals)
            parameters.append(outermost)
    return Bound([*spaces, *parameters])


def public(space: dict[str, Any]) -> list[tuple[str, Any]]:
    """The variables that a name is taken from."""
    return [(name, x) for name, x in list(space.items()) if not name.startswith("_") and name.isidentifier()]


def users(frame: FrameType | None) -> Iterator[FrameType]:
    """The user's frames from the one that called us outwards, as far as the module or the cell."""
    found = 0
    while frame is not None and found < FRAMES:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in OTHERS:
            found += 1
            yield frame
            if frame.f_code.co_name == "<module>":
                return
        elif found:
            return
        frame = frame.f_back
