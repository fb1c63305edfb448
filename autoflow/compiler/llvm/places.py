"""Where values lie. A view is no code: it is another offset and other strides of the same memory.

NumPy says which: the views of the program are taken once of arrays that lie as the real ones will, and their addresses
and strides are read off.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..run.buffers import shape_buffer
from ..simplify import axes_of
from ..values import VIEW, Value

Array = Any


@dataclass(frozen=True)
class Access:
    """Memory as a loop sees it: the array it belongs to, the first byte, the stride of each axis, the type."""

    base: Value
    offset: int
    strides: tuple[int, ...]
    type: str
    size: int  # bytes of a number


class Places:
    """The memory of the values of one stretch."""

    def __init__(self, inside: Container[Value]) -> None:
        """``inside``: the values that loops compute."""
        self.inside = inside
        self.dummies: dict[Value, Array] = {}  # an array that lies as the value will
        self.bases: dict[Value, Value] = {}  # in whose memory

    def base_of(self, v: Value) -> Value:
        """The value in whose memory ``v`` is: the one that it is a view of."""
        self.dummy(v)
        return self.bases[v]

    def dummy(self, v: Value) -> Array:
        """An array that lies as ``v`` will: a result of ours in its own order of axes, what comes from outside in C
        order (native.py sees to that), a view as a view."""
        if v not in self.dummies:
            view = self.view(v) if v.kind == VIEW else None
            if view is not None:
                self.bases[v], self.dummies[v] = self.bases[v.args[0]], view
            else:
                self.bases[v] = v
                layout = v.layout if v in self.inside else None
                self.dummies[v] = shape_buffer(np.empty(math.prod(v.shape), v.dtype), v.shape, layout)
        return self.dummies[v]

    def view(self, v: Value) -> Array | None:
        """The view, taken of the dummy of its operand; None if NumPy has to copy for it."""
        whole = self.dummy(v.args[0])
        base = self.dummies[self.bases[v.args[0]]]
        try:
            view = v.function(whole)
        except Exception:  # it asks for more than an array
            return None
        if type(view) is not np.ndarray or view.shape != v.shape or view.dtype != v.dtype:
            return None
        return view if np.may_share_memory(view, base) else None

    def put(self, v: Value, inside: Value, k: int) -> None:
        """``v`` is to lie in the k-th row of ``inside``."""
        self.dummies[v], self.bases[v] = self.dummy(inside)[k], inside

    def lay(self, v: Value, array: Array, base: Value) -> None:
        """``v`` is to lie where this array does, in the memory of ``base``."""
        self.dummies[v], self.bases[v] = array, base

    def access(self, v: Value, shape: tuple[int, ...], kind: str) -> Access:
        """As a loop over ``shape`` sees it, to which it broadcasts."""
        return self.of(v, np.broadcast_to(self.dummy(v), shape), kind)

    def reduced(self, v: Value, kind: str) -> Access:
        """The result of a reduction, as a loop over the shape of its operand sees it."""
        axis, keepdims = v.options
        shape, dummy = v.args[0].shape, self.dummy(v)
        axes = axes_of(axis, len(shape))
        if not keepdims:
            dummy = np.expand_dims(dummy, axes)
        return self.of(v, np.broadcast_to(dummy, shape), kind)

    def of(self, v: Value, array: Array, kind: str) -> Access:
        """Where ``array`` lies in the memory of v's base."""
        base = self.base_of(v)
        offset = address(array) - address(self.dummies[base])
        strides = tuple([s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)])
        return Access(base, offset, strides, kind, array.itemsize)


def address(array: Array) -> int:
    """Of its first number."""
    return int(array.__array_interface__["data"][0])
