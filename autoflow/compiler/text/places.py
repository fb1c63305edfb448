"""Where in a buffer the elements of a value lie.

Shapes are known when the text is written, so no view computes anything: it is another offset and other strides into the
same buffer. Which ones, NumPy says itself: the function that takes the view is called with an array of addresses. In
the same way it says where every element of ``np.roll(x, 1)``, ``np.pad(x, 2)`` or ``np.concatenate([x, y])`` comes
from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
FAR, REACH = 2.0**40, 2.0**32  # addresses of the first buffer, and how many: other numbers are numbers


class Ref:
    """Elements of a buffer: its name, their shape, strides in elements, and where they begin."""

    def __init__(
        self, buffer: str, shape: Iterable[int], strides: Iterable[int] | None = None, offset: int = 0
    ) -> None:
        self.buffer, self.shape, self.offset = buffer, tuple(shape), offset
        self.strides = dense(self.shape) if strides is None else tuple(strides)

    @property
    def is_dense(self) -> bool:
        """In C order and without gaps?"""
        return all([s == d or n == 1 for s, d, n in zip(self.strides, dense(self.shape), self.shape, strict=True)])

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    def broadcast(self, shape: Shape) -> Ref:
        """Repeated to ``shape``."""
        lead = len(shape) - len(self.shape)
        own = zip(self.strides, self.shape, shape[lead:], strict=True)
        return Ref(self.buffer, shape, [0] * lead + [0 if n == 1 and m != 1 else s for s, n, m in own], self.offset)

    def reshape(self, shape: Iterable[int]) -> Ref:
        """The elements of a dense one in another shape."""
        return Ref(self.buffer, shape, None, self.offset)

    def part(self, starts: Sequence[int], shape: Iterable[int]) -> Ref:
        """A box in it."""
        start = sum([a * s for a, s in zip(starts, self.strides, strict=True)])
        return Ref(self.buffer, shape, self.strides, self.offset + start)

    def at(self, names: Sequence[str], strides: Sequence[int] | None = None) -> str:
        """One element, by the names of the loops.

        >>> Ref("v1", (3, 4)).at("ij"), Ref("v1", (3,), (0,), 5).at("i")
        ('v1[i * 4 + j]', 'v1[5]')
        """
        steps = zip(names, self.strides if strides is None else strides, strict=True)
        terms = [name if s == 1 else f"{name} * {s}" for name, s in steps if s]
        return f"{self.buffer}[{' + '.join([*terms, *([str(self.offset)] if self.offset or not terms else [])])}]"

    def addresses(self, start: float) -> Any:
        """Where each element lies, as an array of this shape."""
        address = np.full(self.shape, start + self.offset)
        for axis, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            address += (np.arange(n) * stride).reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        return address


class Number(Ref):
    """A number that is known, in any shape, written where it is used."""

    def __init__(self, text: str, value: float, shape: Iterable[int] = ()) -> None:
        super().__init__("", shape, [0 for _ in shape])
        self.text, self.value = text, value

    def broadcast(self, shape: Shape) -> Number:
        """In another shape."""
        return Number(self.text, self.value, shape)

    def at(self, names: Sequence[str], strides: Sequence[int] | None = None) -> str:
        """The number."""
        return self.text


def dense(shape: Shape) -> Shape:
    """The strides of C order.

    >>> dense((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])


def merge_axes(shape: Sequence[int], refs: Sequence[Ref]) -> tuple[list[int], list[list[int]]]:
    """The fewest loops: neighbouring axes that all step through as one. Their lengths; strides of each operand.

    >>> merge_axes((3, 4), [Ref("x", (3, 4))])
    ([12], [[1]])
    """
    found: list[tuple[int, list[int]]] = []
    for k, n in enumerate(shape):
        strides = [r.strides[k] for r in refs]
        if n == 1:
            continue
        if found and all([a == b * n for a, b in zip(found[-1][1], strides, strict=True)]):
            found[-1] = found[-1][0] * n, strides
        else:
            found.append((n, strides))
    return [n for n, _ in found], [[s[k] for _, s in found] for k in range(len(refs))]


def heads(loops: Iterable[tuple[str, int]]) -> str:
    """Nested loops: the name of each, and how often it runs."""
    return "".join([f"for (let {i} = 0; {i} < {n}; {i}++) " for i, n in loops])


def as_view(buffer: str, address: Any) -> Ref | None:
    """The view that has these addresses; None if no view has them."""
    if not address.size:
        return Ref(buffer, address.shape)
    first = int(address.flat[0])
    steps = [int(np.take(address, 1, a).flat[0]) - first if n > 1 else 0 for a, n in enumerate(address.shape)]
    ref = Ref(buffer, address.shape, steps, first)
    return ref if np.array_equal(ref.addresses(0.0), address) else None


def as_box(where: Any) -> tuple[Any, ...] | None:
    """The slices of a box; None if the True elements are no box.

    >>> as_box(np.array([[False, True], [False, True]]))
    (slice(0, 2, None), slice(1, 2, None))
    """
    slices = []
    for axis in range(where.ndim):
        hit = np.flatnonzero(where.any(axis=tuple([a for a in range(where.ndim) if a != axis])))
        slices.append(slice(int(hit[0]), int(hit[-1]) + 1))
    return tuple(slices) if where[tuple(slices)].all() else None
