"""Compute values again instead of keeping them: ``checkpointing="balanced"``.

The way back reads values of the way forward, so their buffers must live until then, and that is most of the memory of a
gradient. Elementwise functions are cheap: what they gave can be computed again, from values that are kept, when the
way back comes to it. Balanced means:

* products, reductions and all other functions are computed once, and what they read is kept;
* of a chain of n elementwise functions every √n-th result is kept, so at most √n are computed again at a time
  (T. Chen et al., "Training deep nets with sublinear memory cost", 2016).

A value is read *late* where the program comes back to it after a pause, a tenth of its length. The late readers get a
copy of its call, put before the first of them, and copies of the calls that it needs.
"""

from __future__ import annotations

import math

from ..matching import UFUNC, Value
from ..program import Program, new_value

PAUSE = 0.1  # of the length of the program
SMALL = 1024  # bytes; smaller values are kept


def recompute(program: Program) -> None:
    """Let late readers of elementwise values read copies."""
    order = program.order()
    place = {v: k for k, v in enumerate(order)}
    readers: dict[Value, list[Value]] = {}
    for v in order:
        for x in dict.fromkeys(v.args):
            readers.setdefault(x, []).append(v)
    late = {v: late_readers(v, readers.get(v, []), place, PAUSE * len(order)) for v in order}
    again = {v for v in order if v.kind == UFUNC and v.nbytes >= SMALL and v not in program.outputs}
    again = {v for v in again if all([r.kind == UFUNC for r in readers[v]])} - checkpoints(order, again)
    copies: dict[Value, Value] = {}

    def copy(v: Value, before: float) -> Value:
        """The call of ``v`` once more; ``v`` itself if it is kept."""
        if v not in again:
            return v
        if v not in copies:
            copies[v] = new_value(
                UFUNC, v.function, tuple([copy(x, before) for x in v.args]), v.options, v.shape, before
            )
            copies[v].dtype, copies[v].layout = v.dtype, v.layout
        return copies[v]

    changed: dict[Value, dict[Value, Value]] = {}
    for v in order:
        if v in again and late[v]:
            for reader in late[v]:
                changed.setdefault(reader, {})[v] = copy(v, late[v][0].number - 0.5)
    for reader, new in changed.items():
        reader.args = tuple([new.get(x, x) for x in reader.args])
    program.rewrite({})  # copies wait for nothing that their originals did not wait for


def late_readers(v: Value, readers: list[Value], place: dict[Value, int], pause: float) -> list[Value]:
    """The readers of ``v`` after the first pause."""
    at = place[v]
    for k, reader in enumerate(readers):
        if place[reader] - at > pause:
            return readers[k:]
        at = place[reader]
    return []


def checkpoints(order: list[Value], again: set[Value]) -> set[Value]:
    """Every √n-th value of a chain of n that could be computed again."""

    def depths(limit: float) -> tuple[int, set[Value]]:
        depth: dict[Value, int] = {}
        kept: set[Value] = set()
        for v in order:
            if v in again:
                depth[v] = 1 + max([depth.get(x, 0) for x in v.args])
                if depth[v] >= limit:
                    kept.add(v)
                    depth[v] = 0
        return max(depth.values(), default=0), kept

    longest, _ = depths(math.inf)
    return depths(max(2, math.sqrt(longest)))[1]
