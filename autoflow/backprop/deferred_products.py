"""Many small products as one: for a weight that is used at every step of a sequence, or for every sample.

A weight used at T steps receives the sum of T products, each of them small, and the sum of a bias' T sums. But a sum
of products is one product of longer matrices:

    Σₜ Aₜᵀ Bₜ = Aᵀ B      with A = (A₁; A₂; ...; A_T) and B = (B₁; ...; B_T), one below the other
    Σₜ sum(Bₜ, axis=0) = sum(B, axis=0)

So where a node has many uses, its small contributions are put aside during the pass: the vjp keeps Aₜ and Bₜ and sends
None. When 64 wait, or the node's turn comes, they are computed together. Measured on a recurrent network of 100 steps,
8 × 32 units: the backward pass takes 0.88 times as long. The order of summation differs from that of single products,
and with it the last bits of the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import RULES
from ..rules.kernels import product
from ..rules.shapes import DOUBLE

Array = Any
MANY = 8  # uses beyond the first from which it pays
TERMS = 64  # at most this many wait: they stay in memory until then
SMALL = 4096  # elements: larger products are as fast alone
SINGLE = np.dtype(np.float32)
MATMUL, ADD = RULES[np.matmul], RULES[np.add]
GATHERED = {MATMUL: MATMUL.vjps, ADD: ADD.vjps}  # as in the table: a user's own rule is not put aside


class Waiting:
    """The contributions to one node that wait to be added up; ``part`` is the sum of those added so far."""

    __slots__ = ("a", "b", "part")

    def __init__(self) -> None:
        self.a: list[Array] = []
        self.b: list[Array] = []
        self.part: Array | None = None

    def add_up(self) -> None:
        """Add what waits to ``part``."""
        if self.b:
            new = self.join()
            self.part = new if self.part is None else np.add(self.part, new, out=new)
            self.a.clear()
            self.b.clear()

    def join(self) -> Array:
        """What waits, as one array."""
        raise NotImplementedError


class Products(Waiting):
    """Σ Aₜᵀ Bₜ, what is sent to one matrix W, a node that is a factor many times."""

    __slots__ = ()

    def from_left(self, g: Array, saved: Any) -> None:
        """z = W y: what is sent to W is g yᵀ."""
        y = saved[1]
        self.put_aside(g.T, y.T) if y.ndim == 2 else self.put_aside(g[None], y[None])

    def from_right(self, g: Array, saved: Any) -> None:
        """z = x W: what is sent to W is xᵀ g."""
        x = saved[0]
        self.put_aside(x, g) if x.ndim == 2 else self.put_aside(x[None], g[None])

    def put_aside(self, a: Array, b: Array) -> None:
        """One more product aᵀ b."""
        self.a.append(a)
        self.b.append(b)
        if len(self.b) == TERMS:
            self.add_up()

    def join(self) -> Array:
        """Their sum."""
        return product(np.concatenate(self.a).T, np.concatenate(self.b))


class Sums(Waiting):
    """Σ sum(Bₜ, axis=0), what is sent to one vector that was added to the rows of many matrices."""

    __slots__ = ()

    def put_aside(self, g: Array, saved: Any) -> None:
        """z = x + b."""
        self.b.append(g)
        if len(self.b) == TERMS:
            self.add_up()

    def join(self) -> Array:
        """Their sum. NumPy adds rows one after the other, which loses precision in float32 for many rows."""
        rows = np.concatenate(self.b)
        return np.add.reduce(rows, 0, np.float64).astype(rows.dtype, copy=False)


class Gathering:
    """What waits in one pass, by record. ``extra_uses``: see ``engine.count_extra_uses``."""

    __slots__ = ("many", "waiting")

    def __init__(self, extra_uses: dict[Any, int]) -> None:
        self.many = {r for r, n in extra_uses.items() if n >= MANY and len(r.shape) in (1, 2)}
        self.waiting: dict[Any, Waiting] = {}

    def vjps(self, record: Any, g: Array, vjps: Any) -> Any:
        """The vjps of a record of :data:`GATHERED`. One may be replaced by a vjp that puts aside and sends None."""
        if type(g) is not np.ndarray or g.size > SMALL or not (g.dtype is DOUBLE or g.dtype is SINGLE):
            return vjps
        (p, q), (x, y) = record.parents, record.saved[:2]
        if record.rule is ADD:
            if q in self.many and y.shape == g.shape[1:] and g.ndim == 2:
                return vjps[0], self.of(q, Sums).put_aside
            if p in self.many and x.shape == g.shape[1:] and g.ndim == 2:
                return self.of(p, Sums).put_aside, vjps[1]
        elif q in self.many and y.ndim == 2 and is_small(x, g):
            return vjps[0], self.of(q, Products).from_right
        elif p in self.many and x.ndim == 2 and is_small(y, g):
            return self.of(p, Products).from_left, vjps[1]
        return vjps

    def of(self, record: Any, kind: Any) -> Any:
        """Where the contributions to ``record`` are put."""
        if record not in self.waiting:
            self.waiting[record] = kind()
        return self.waiting[record]

    def settle(self, pair: tuple[Any, Array | None]) -> tuple[Any, Any]:
        """A record with its whole gradient, given the part that was not put aside (None: everything was)."""
        if pair[0] not in self.waiting:
            return pair
        record, g = pair
        sums = self.waiting.pop(record)
        sums.add_up()
        return record, sums.part if g is None else g + sums.part

    def add_up(self) -> None:
        """Add up everything that waits: code of the user comes next, and may write into it."""
        for sums in self.waiting.values():
            sums.add_up()


def is_small(x: Array, g: Array) -> bool:
    """Is x the other factor of a small product of matrices (or of a vector and a matrix) whose gradient is g?"""
    return type(x) is np.ndarray and x.ndim == g.ndim <= 2 and x.dtype is g.dtype and x.size <= SMALL
