"""Who looks at whose memory: what a write into an array that is being recorded changes.

A program knows values, which never change; NumPy has memory, and views of it. So an array that is written into becomes
another value, and a view knows its source and how it was taken: it is taken again when the source has become another
value, and a write through it is one into the source.

    z = x * 1        z is v1
    part = z[1:]     part is v2 = v1[1:], taken of z
    part += 1        z becomes v4 = v1 with v3 = v2 + 1 in [1:]
    part             taken again: v4[1:]

Where arrays would lie, empty arrays tell that are taken in the same way: so ``nodes/versions.py`` finds values that a
derivative needs and that have been overwritten, as in eager code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CompileError
from ...nodes.versions import caller
from ...rules.indexing import put_view
from .kinds import axes_out_of_order
from .written import set_items

Array = Any


def itself(x: Array) -> Array:
    """A view that shows everything as it is: a node on top of an array."""
    return x


def root(x: Any) -> Any:
    """The array that the view x looks into in the end; x itself if it is none."""
    while x.source is not None:
        x = x.source
    return x


def look_again(x: Any) -> None:
    """Take the view x anew, after those through which it looks, if what it looks at has become another value."""
    chain = [x]
    while (x := chain[-1].source) is not None and x.time != x.tape.writes:
        chain.append(x)
    for x in reversed(chain):
        x.time = x.tape.writes
        if x.source is not None and x.seen is not x.source.now:
            x.seen, x.now = x.source.now, x.viewed(x.source).now
            x.held = x.now.sample


def write(x: Any, new: Any) -> None:
    """x becomes the value of ``new``, which has its shape and dtype; and so does what it is a view of."""
    if getattr(root(x), "borrowed", False):
        raise CompileError(
            f"{caller()} writes into an argument of a compiled function, or into an array from outside of it: its "
            f"caller would see that in the first call only. Make a new array: x = x + 1 instead of x += 1."
        )
    if getattr(root(x), "shared", False):
        raise CompileError(
            f"{caller()} writes in place into an array whose memory a call may still look into, and a compiled "
            f"function would need to know how: make a new array (a = a + b instead of a += b), or say "
            f"af.compile(f, fallback=True)."
        )
    while x.source is not None:
        if x.viewed is not itself:
            new = x.tape.call(put_view, (x.source, new, x.viewed), fixed=True)
        x = x.source
    if not same_layout(x.held, new.held):
        new = x.tape.call(set_items, (x, ..., new), fixed=True)
        if not same_layout(x.held, new.held):
            raise axes_out_of_order()
    place_of(x)  # before: it has the layout of the first value
    x.now, x.held = new.expr, new.held
    x.tape.writes += 1


def place_of(x: Any) -> Array:
    """An array without numbers that lies where x would lie."""
    chain = [x]
    while not hasattr(chain[-1], "memory") and chain[-1].source is not None:
        chain.append(chain[-1].source)
    for part in reversed(chain):
        if not hasattr(part, "memory"):
            part.memory = np.empty_like(part.held) if part.source is None else part.viewed(part.source.memory)
    return x.memory


def same_layout(x: Array, y: Array) -> bool:
    """Do their elements lie in the same order? Whether a ``reshape`` makes a copy depends on it."""
    return np.ndim(x) < 2 or all([s == t for n, s, t in zip(x.shape, x.strides, y.strides, strict=True) if n > 1])
