"""What the caller's variables are called: of nodes, and of plain arrays that operations have used.

A node is found by identity. A plain array may be the caller's own, or a copy of it (small arrays are copied when they
are recorded), or a row of it (``inputs[t]``). So arrays are compared: the same object, the same memory, and of small
ones the numbers. If a name could belong to two arrays, neither gets it.

Notes on NumPy's errors: which arrays did not fit, by the caller's names, and what their shapes would have to be.

The error stays NumPy's, with its type and text (``except ValueError`` keeps working); ``add_note`` adds a line below.
Nothing here runs unless an operation has failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

import numpy as np

from ..base.errors import AutoflowError
from ..nodes.nodes import Node, NodeRole, current_record
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
        # Answers so far. Each keeps its array alive, so that its id stays unique.
        self.known: dict[int, tuple[Any, str | None]] = {}
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


Shape = tuple[int, ...]
Named = list[tuple[str, Shape]]
MOST = 6  # arrays that are named
PRODUCTS = (np.matmul, np.dot, np.inner)


def add_note(error: BaseException, function: Any, inputs: Iterable[Any], options: Sequence[Any] = ()) -> None:
    """Say below ``error``, which computing ``function(*inputs, *options)`` has raised, what the operands were."""
    if isinstance(error, AutoflowError) or getattr(error, "__notes__", None):
        return
    inputs = list(inputs)
    if isinstance(error, TypeError):
        if any([x is None for x in inputs]):
            error.add_note(
                "One operand is None. A gradient (w.grad) is None until backward() has reached its node, and after "
                "zero_grad(); a function without return gives None, too."
            )
        return
    try:
        note = describe_shapes(function, named_shapes(inputs), options)
    except Exception:  # of a list that is no array, or a variable of the user's: the error matters, not its note
        return
    if note:
        error.add_note(note)


def describe_shapes(function: Any, found: Named, options: Sequence[Any]) -> str:
    """What the operands were, and what their shapes would have to be."""
    said = ", ".join([f"{name} has shape {shape}" for name, shape in found[:MOST]])
    rule = (RULES_IN_WORDS.get(function) or of_elements(function))(found, options) if found else ""
    return f"{said}{': ' * bool(rule)}{rule}"


def named_shapes(inputs: list[Any]) -> Named:
    """Name and shape of each operand that is an array."""
    arrays = []
    for x in inputs:
        if isinstance(x, (list, tuple)) and any([hasattr(part, "shape") for part in x]):
            arrays += [part for part in x if hasattr(part, "shape")]  # a sequence of arrays
        elif hasattr(x, "shape") or isinstance(x, (list, tuple)):
            arrays.append(x)
    bound = bound_names()
    places = {1: ["the array"], 2: ["the left operand", "the right operand"]}.get(len(arrays))
    places = places or [f"operand {k}" for k in range(1, len(arrays) + 1)]
    shapes = [x.shape if hasattr(x, "shape") else np.shape(x) for x in arrays]
    return [(name_of(x, bound) or place, shape) for x, place, shape in zip(arrays, places, shapes, strict=True)]


def name_of(x: Any, bound: Any) -> str | None:
    """The name that the user gave, or the variable of the caller's that holds it."""
    if not isinstance(x, NodeRole):
        return bound.array_name(x)
    record = current_record(x)
    holder: Any = x if record is None else record
    value = getattr(x, "_value", None)
    return getattr(holder, "_name", None) or bound.nodes.get(id(holder)) or bound.array_name(value)


# -- what the shapes would have to be, by function ---------------------------------------------------------------------


def of_products(found: Named, options: Sequence[Any]) -> str:
    """``(n, k) @ (k, m) needs 4 == 3``, and which of the obvious changes fits."""
    if len(found) != 2:
        return ""
    (x, a), (y, b) = found
    if not a or not b:
        return "a number is multiplied by *, not by @"
    n, m = a[-1], b[-2] if len(b) > 1 else b[0]
    if n == m:
        return f"the axes before the last two, {a[:-2]} and {b[:-2]}, must be equal or 1"
    fits = [
        text
        for text, left, right in ((f"{y} @ {x}", b, a), (f"{x}.T @ {y}", a[::-1], b), (f"{x} @ {y}.T", a, b[::-1]))
        if len(a) <= 2 and len(b) <= 2 and (left, right) != (a, b) and left[-1] == right[0]
    ]
    what = f"; {' and '.join(fits)} fit{'s' * (len(fits) == 1)}" if fits and "operand" not in x + y else ""
    return f"(n, k) @ (k, m) needs {n} == {m}{what}"


def of_broadcasting(found: Named, options: Sequence[Any]) -> str:
    """The first axis from the right that does not fit, and where an axis of length 1 would help."""
    shapes = [shape for _, shape in found]
    for place in range(1, max(map(len, shapes)) + 1):
        lengths = list(dict.fromkeys([shape[-place] for shape in shapes if len(shape) >= place and shape[-place] != 1]))
        if len(lengths) > 1:
            words = " and ".join(map(str, lengths[:2]))
            return f"axes are compared from the last one on, and {words} are neither equal nor 1{with_new_axis(found)}"
    return ""


def with_new_axis(found: Named) -> str:
    """``; x[:, np.newaxis] fits``, if that is so."""
    if len(found) == 2:
        for (name, shape), (_, other) in (found, found[::-1]):
            if len(shape) == 1 and len(other) == 2 and shape[0] == other[0] and "operand" not in name:
                return f"; {name}[:, np.newaxis] fits"
    return ""


def of_elements(function: Any) -> Callable[[Named, Sequence[Any]], str]:
    """What is said of an elementwise function; of others only the shapes."""
    return of_broadcasting if isinstance(function, np.ufunc) and function.signature is None else lambda *_: ""


def of_reshape(found: Named, options: Sequence[Any]) -> str:
    """How many elements there are, and how many are asked for."""
    (_, shape), wanted = found[0], options[0] if options else ()
    asked = wanted if isinstance(wanted, tuple) else (wanted,)
    if not all([isinstance(n, (int, np.integer)) for n in asked]) or len([n for n in asked if n < 0]) > 1:
        return ""
    n, known = int(np.prod(shape)), int(np.prod([n for n in asked if n >= 0]))
    if min(asked, default=0) < 0:
        return f"{n} elements, which cannot be divided by {known}"
    return f"{n} elements, and {asked} has {known}; -1 in place of one length lets NumPy find it"


def of_joining(found: Named, options: Sequence[Any]) -> str:
    """What concatenate wants."""
    if len({len(shape) for _, shape in found}) > 1:
        return "all need the same number of axes; np.stack makes a new axis, x[np.newaxis] adds one"
    return "all lengths but that of the joined axis must be equal"


RULES_IN_WORDS: dict[Any, Callable[[Named, Sequence[Any]], str]] = {
    **dict.fromkeys(PRODUCTS, of_products),
    np.reshape: of_reshape,
    np.concatenate: of_joining,
    np.stack: lambda *_: "np.stack needs equal shapes; np.concatenate joins along an axis that is there",
    np.where: of_broadcasting,
}
