"""Where in a buffer the elements of a value lie.

Shapes are known when the text is written, so no view computes anything: it is another offset and other strides into the
same buffer. Which ones, NumPy says itself: the function that takes the view is called with an array of addresses. In
the same way it says where every element of ``np.roll(x, 1)``, ``np.pad(x, 2)`` or ``np.concatenate([x, y])`` comes
from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...pictures.sliders.live import literal

Shape = tuple[int, ...]
FAR, REACH = 2.0**40, 2.0**32  # addresses of the first buffer, and how many: other numbers are numbers


class Ref:
    """Elements of a buffer: its name, their shape, strides in elements (0 along axes of length 1), and where they
    begin."""

    def __init__(
        self, buffer: str, shape: Iterable[int], strides: Iterable[int] | None = None, offset: int = 0
    ) -> None:
        self.buffer, self.shape, self.offset = buffer, tuple(shape), offset
        dense = tuple([0 if n == 1 else math.prod(self.shape[k + 1 :]) for k, n in enumerate(self.shape)])
        given = dense if strides is None else strides
        self.strides = tuple([0 if n == 1 else s for s, n in zip(given, self.shape, strict=True)])
        self.is_dense = self.strides == dense  # in C order and without gaps

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    def broadcast(self, shape: Shape) -> Ref:
        """Repeated to ``shape``."""
        if shape == self.shape:
            return self
        return Ref(self.buffer, shape, [0] * (len(shape) - len(self.shape)) + [*self.strides], self.offset)

    def reshape(self, shape: Iterable[int]) -> Ref:
        """The elements of a dense one in another shape."""
        return Ref(self.buffer, shape, None, self.offset)

    def at(self, names: Iterable[str]) -> str:
        """One element, by the names of the loops.

        >>> Ref("v1", (3, 4)).at("ij"), Ref("v1", (3,), (0,), 5).at("i")
        ('v1[i * 4 + j]', 'v1[5]')
        """
        terms = [i if s == 1 else f"{i} * {s}" for i, s in zip(names, self.strides, strict=True) if s]
        return f"{self.buffer}[{' + '.join([*terms, *([str(self.offset)] if self.offset or not terms else [])])}]"

    def addresses(self, start: float) -> Any:
        """Where each element lies, as an array of this shape."""
        steps = np.ix_(*[np.arange(n) * s for n, s in zip(self.shape, self.strides, strict=True)])
        return np.asarray(sum(steps, start + self.offset))


class KnownNumber(Ref):
    """A number that is known, in any shape, written where it is used."""

    def __init__(self, value: Any, shape: Iterable[int] = ()) -> None:
        super().__init__("", shape, [0 for _ in shape])
        self.value, self.is_dense = value, True

    def broadcast(self, shape: Iterable[int]) -> KnownNumber:
        """In another shape."""
        return KnownNumber(self.value, shape)

    reshape = broadcast

    def at(self, names: Iterable[str]) -> str:
        """The number."""
        return literal(self.value)


def heads(loops: Iterable[tuple[str, int]]) -> str:
    """Nested loops: the name of each, and how often it runs."""
    return "".join([f"for (let {i} = 0; {i} < {n}; {i}++) " for i, n in loops if n != 1])


def as_view(buffer: str, address: Any) -> Ref | None:
    """The view that has these addresses; None if no view has them."""
    if not address.size:
        return Ref(buffer, address.shape)
    first = int(address.flat[0])
    steps = [int(np.take(address, 1, a).flat[0]) - first if n > 1 else 0 for a, n in enumerate(address.shape)]
    ref = Ref(buffer, address.shape, steps, first)
    return ref if np.array_equal(ref.addresses(0.0), address) else None
