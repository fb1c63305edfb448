"""Does a second run equal the first? What a run of a checkpointed function computed, in a few bytes.

Its gradients follow from three things: the operations, in their order; their inputs from outside (plain arrays,
Constants, numbers, indices); and the sources, to which gradients flow. The results follow from the same. So different
results show that something has changed, but equal results do not show that nothing has: |x − c| may be the same while
its slope is not. So all of it is compared: the bytes of whole arrays by a checksum (4 GB/s, as fast as one np.tanh),
and of each operation its name and its shape.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..nodes.nodes import VariableRole
from ..nodes.versions import FreedArray

Array = Any
PLAIN = (int, float, complex, bool, str, type(None), slice, type(...), np.generic)


def checksum(array: Array) -> int:
    """The checksum of the bytes of all elements. Equal arrays of one layout have the same one."""
    if array.dtype.hasobject:
        return 0
    return zlib.crc32(np.ravel(array, order="K").view(np.uint8).data)


def mark(x: Any) -> Any:
    """What is compared of a value: equal for equal values of one type. Values on a device are not read."""
    if type(x) is np.ndarray:
        return x.shape, x.dtype.str, checksum(x)
    if isinstance(x, (tuple, list)):
        return tuple([mark(v) for v in x])
    if isinstance(x, PLAIN):
        return repr(x)
    return type(x).__name__, str(getattr(x, "shape", "")), str(getattr(x, "dtype", ""))


class Fingerprint:
    """Of one run: what it was computed from, and how."""

    def __init__(self, roots: Sequence[Any], start: int, results: Sequence[Array]) -> None:
        """``start``: the creation number before the run, so that the sources are what is older."""
        self.sources, made = sources_and_made(roots, start)
        made.sort(key=lambda record: record.number)
        self.steps: list[int] = []  # of each operation, with its operands and options from outside
        self.fleeting: list[int | None] = []  # of large operands that no derivative needs: None if they are gone
        for record in made:
            self.add(record)
        self.results = [mark(z) for z in results]

    def add(self, record: Any) -> None:
        """One operation, or a Variable that the run has made."""
        if isinstance(record, VariableRole):
            self.steps.append(hash(("variable", mark(record._value))))
            return
        n, outside = len(record.parents), []
        for k, x in enumerate(record.saved[:-1]):
            if k < n and record.parents[k] is not None:
                continue
            if type(x) is FreedArray:
                array = x.reference()
                self.fleeting.append(checksum(array) if type(array) is np.ndarray else None)
            else:
                outside.append(mark(x))
        self.steps.append(hash((record.rule.name, record.shape, *outside)))

    def difference(self, other: Fingerprint) -> str:
        """What differs in ``other``, the fingerprint of the second run; the empty string if nothing does."""
        if len(self.results) != len(other.results):
            return f"it returned {len(other.results)} results, and {len(self.results)} the first time"
        for j, (first, second) in enumerate(zip(self.results, other.results, strict=True)):
            which = f"result {j}" if len(self.results) > 1 else "its result"
            if first[:2] != second[:2]:
                return f"{which} was {_kind(first)} the first time, and is {_kind(second)} now"
            if first != second:
                return f"the values of {which} ({_kind(first)}) differ"
        if len(self.steps) != len(other.steps):
            return f"the results are the same, but it took {len(other.steps)} operations instead of {len(self.steps)}"
        fleeting = any([a != b for a, b in zip(self.fleeting, other.fleeting, strict=False) if a is not None is not b])
        if self.steps != other.steps or fleeting:
            return "the results are the same, but not what they were computed from, so the slopes may differ"
        return ""


def sources_and_made(roots: Sequence[Any], start: int) -> tuple[list[Any], list[Any]]:
    """The Variables and records from before ``start`` from which ``roots`` were computed, and those made since."""
    found, made = [], []
    waiting = list(dict.fromkeys([root for root in roots if root is not None]))
    seen = set(waiting)
    for record in waiting:
        if record.number <= start:
            found.append(record)
            continue
        made.append(record)
        fresh = {p: None for p in record.parents if p is not None and p not in seen}
        seen |= fresh.keys()
        waiting += fresh
    return found, made


def _kind(mark: Any) -> str:
    shape, dtype, *_ = mark
    return f"{np.dtype(dtype)} of shape {shape}"
