"""Nodes in ranks, and their order there: the first three steps of :mod:`.arrange`, after Sugiyama, Tagawa and Toda.

First the boxes to be placed, their ranks, and the waypoints of lines that pass.

Then the order of nodes in their ranks. Finding the fewest crossings is a hard problem, so two simple steps alternate:
sort each rank by the average place of the neighbours, and exchange neighbours where that helps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from ...base.groups import grouped

# ---------------------------------------------------------------- ranks, and waypoints of lines that pass

GAP = 54.0  # between ranks
DOWN = 24.0  # the same from top to bottom
APART = 22.0  # between nodes of a rank
LANE = 13.0  # between an arrow that passes by and its neighbours


Value = tuple[int, float | None]  # a node, and the offset of one of several results


@dataclass(frozen=True, slots=True)
class NodeBox:
    """The size of a node, and where its arrows end: offsets across, one per operand, and one for its result."""

    along: float
    across: float
    inputs: tuple[float, ...] = ()
    output: float = 0.0
    leaf: bool = False  # may it be moved to the start of the row that needs it? See nesting.py


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow between boxes."""

    source: int
    target: int
    slot: int
    weight: float = 1.0  # how much it wants to be straight
    aim: float | None = None  # the offset that it would hit if it were; None: that of its operand
    out: float | None = None  # the offset that it leaves its source at; None: where the result is
    named: bool = False  # does it come from a named leaf? Then it may be cut: see nesting.py

    @property
    def value(self) -> Value:
        """The value that the line carries. Lines with the same value may run together."""
        return self.source, self.out


Point = tuple[float, float]  # along, across


@dataclass(slots=True)
class Placed:
    """The finished layout. A path alternates straight pieces inside a rank and curves between two: p0 - p1 ~ p2 - p3 ~
    p4.
    """

    corners: list[Point]
    paths: list[list[Point]]
    along: float
    across: float
    starts: list[float] = field(default_factory=list)  # where each rank begins
    stubs: set[int] = field(default_factory=set)  # lines whose path is only its last piece, from the start of a row
    crossed: int = 0  # pairs of lines that cross


@dataclass(slots=True)
class Link:
    """An arrow, or a piece of one, between neighbouring ranks."""

    a: int
    b: int
    out: float  # where it leaves a: offset, and as a part of a's size
    out_part: float
    into: float  # where it ends in b
    into_part: float
    weight: float
    drop: float  # how much lower b's start must be than a's for the link to be straight


def ranks(n: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The rank of each of n nodes, given (operand, operation) pairs: longest paths, then leaves move up to their use.

    Nodes that are computed from leaves for one use only move as well, unless their operand has other uses.

    >>> ranks(4, [(0, 1), (1, 3), (2, 3)])
    [0, 1, 1, 2]
    """
    after, waiting = grouped(pairs), Counter([b for _, b in pairs])
    rank = [0] * n
    queue = [k for k in range(n) if not waiting[k]]
    for a in queue:
        for b in after.get(a, ()):
            rank[b] = max(rank[b], rank[a] + 1)
            waiting[b] -= 1
            if not waiting[b]:
                queue.append(b)
    inner = {b for _, b in pairs}  # leaves, and what is computed from leaves for one use only, stand before that use,
    fixed = {b for a, b in pairs if a in inner and len(set(after[a])) > 1}  # unless that makes other arrows longer
    for k in reversed(queue):
        if k in after and k not in fixed:
            rank[k] = min([rank[b] for b in after[k]]) - 1
    return rank


def spine(pairs: Sequence[tuple[int, int]], rank: Sequence[int], ends: Sequence[int]) -> set[tuple[int, int]]:
    """The arrows of the longest path to the first of ``ends``, which is drawn as straight as possible.

    >>> sorted(spine([(0, 1), (2, 3), (1, 3)], [0, 1, 1, 2], [3]))  # not through the leaf 2, which ends it
    [(0, 1), (1, 3)]
    """
    inner = {b for _, b in pairs}
    operands = grouped([(b, a) for a, b in pairs])
    longest = {b: max(some, key=lambda a: (a in inner, rank[a])) for b, some in operands.items()}
    arrows: set[tuple[int, int]] = set()
    here = ends[0] if ends else -1
    while here in longest:
        arrows.add((longest[here], here))
        here = longest[here]
    return arrows


class Layers:
    """Nodes (0 ... n-1) and waypoints (n ...) by rank, and the links between neighbouring ranks.

    ``first`` and ``last``, the ports of a box, have ranks of their own.
    """

    def __init__(
        self, boxes: Sequence[NodeBox], lines: Sequence[Arrow], first: Sequence[int] = (), last: Sequence[int] = ()
    ) -> None:
        self.boxes, self.lines, self.first, self.last = boxes, lines, first, last
        n, self.ports = len(boxes), {*first, *last}
        self.rank = ranks(n, [(line.source, line.target) for line in lines])
        self.pin()
        self.sizes = [box.across for box in boxes]  # across; waypoints take no room
        self.waypoints: dict[tuple[int, float, int], int] = {}  # (source, its offset, rank) -> waypoint
        self.before: list[list[Link]] = [[] for _ in range(n)]  # per node: links that end there
        self.after: list[list[Link]] = [[] for _ in range(n)]
        for line in self.lines:
            here, out = line.source, self.out(line)
            leaving = out
            for r in range(self.rank[line.source] + 1, self.rank[line.target]):
                place = self.waypoints.get((line.source, leaving, r))
                if place is None:
                    place = self.waypoints[line.source, leaving, r] = len(self.rank)
                    self.rank.append(r)
                    self.sizes.append(0.0)
                    self.before.append([])
                    self.after.append([])
                    self.link(here, place, out, 0.0, 8.0 if here >= n else 2.0)
                here, out = place, 0.0
            self.link(here, line.target, out, self.boxes[line.target].inputs[line.slot], line.weight, line.aim)
        self.rows: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for k in self.reading_order():
            self.rows[self.rank[k]].append(k)

    def pin(self) -> None:
        """Give ``first`` and ``last`` ranks of their own."""
        inner = [r for k, r in enumerate(self.rank) if k not in self.ports]
        low, high = min(inner, default=0), max(inner, default=0)
        shift = bool(self.first) - low
        self.rank = [r + shift for r in self.rank]
        for k in self.first:
            self.rank[k] = 0
        for k in self.last:
            self.rank[k] = high + shift + 1

    def out(self, line: Arrow) -> float:
        """Where a line leaves its source."""
        return self.boxes[line.source].output if line.out is None else line.out

    def link(self, a: int, b: int, out: float, into: float, weight: float, aim: float | None = None) -> None:
        """Join two places of neighbouring ranks."""
        drop = out - (into if aim is None else aim)
        link = Link(a, b, out, self.part(a, out), into, self.part(b, into), weight, drop)
        self.after[a].append(link)
        self.before[b].append(link)

    def reading_order(self) -> list[int]:
        """All places, depth first from the last ones, operands in order: close to the final order."""
        seen: set[int] = set()
        order: list[int] = []
        for end in sorted(range(len(self.rank)), key=lambda k: (-self.rank[k], k)):
            stack = [end]
            while stack:
                k = stack.pop()
                if k not in seen:
                    seen.add(k)
                    order.append(k)
                    stack += [link.a for link in sorted(self.before[k], key=lambda link: -link.into)]
        return order

    def is_border(self, row: Sequence[int]) -> bool:
        """Are these the ports of a box?"""
        return any([k in self.ports for k in row])

    def part(self, k: int, offset: float) -> float:
        """An offset in a place as a fraction of its size, strictly between 0 and 1."""
        return (offset + 1) / (self.sizes[k] + 2)

    def spacing(self, row: Sequence[int]) -> list[float]:
        """The distances between the starts of neighbours."""
        n, sizes = len(self.boxes), self.sizes
        return [sizes[a] + (APART if a < n and b < n else LANE) for a, b in pairwise(row)]

    def order(self) -> list[int]:
        """The number of each place in its rank."""
        place = [0] * len(self.rank)
        for row in self.rows:
            for i, k in enumerate(row):
                place[k] = i
        return place


# ---------------------------------------------------------------- order in a rank: few crossings


SWEEPS = 24
LARGE = 2000  # places; larger pictures get fewer sweeps, since the difference is not visible


def reorder(layers: Layers) -> None:
    """Sweep back and forth, sorting each rank by the average place of its neighbours; keep the best order found."""
    best, fewest = [list(row) for row in layers.rows], crossings(layers)
    seen = set()
    for sweep in range(SWEEPS if len(layers.rank) < LARGE else SWEEPS // 6):
        forth = sweep % 2 == 0
        here = forth, tuple([k for row in layers.rows for k in row])
        if not fewest or here in seen:  # what follows has been tried
            break
        seen.add(here)
        place = layers.order()
        for row in layers.rows if forth else reversed(layers.rows):
            averages = {k: average(layers, k, place, forth) for k in row}
            row.sort(key=averages.__getitem__)
            for i, k in enumerate(row):
                place[k] = i
        swap_neighbours(layers, place)
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(row) for row in layers.rows], count
    layers.rows = best


def average(layers: Layers, k: int, place: Sequence[int], forth: bool) -> float:
    """The mean place of k's neighbours in the rank before (or behind) it; its own place without neighbours."""
    ends = arriving_links(layers, k, place) if forth else leaving_links(layers, k, place)
    return fsum(ends) / len(ends) if ends else place[k] + 0.5


def arriving_links(layers: Layers, k: int, place: Sequence[int]) -> list[float]:
    """Where the links that end in k begin, in the order of the rank before."""
    return [place[link.a] + link.out_part for link in layers.before[k]]


def leaving_links(layers: Layers, k: int, place: Sequence[int]) -> list[float]:
    """Where the links that begin in k end, in the order of the rank behind."""
    return [place[link.b] + link.into_part for link in layers.after[k]]


def in_order(ends: list[float]) -> list[float]:
    """The same, sorted. (Most places have only one link.)"""
    return ends if len(ends) < 2 else sorted(ends)


def crossings(layers: Layers) -> int:
    """How many pairs of links cross."""
    count = 0
    place = layers.order()
    for row in layers.rows:
        ends: list[float] = []
        for k in row:
            for end in in_order(leaving_links(layers, k, place)):  # so that those of one place cross none another
                above = bisect_right(ends, end)
                count += len(ends) - above
                ends.insert(above, end)
    return count


def swap_neighbours(layers: Layers, place: list[int]) -> None:
    """Exchange neighbours in a rank where that removes crossings that sorting by averages leaves."""
    for row in layers.rows:
        ends = [(in_order(arriving_links(layers, k, place)), in_order(leaving_links(layers, k, place))) for k in row]
        for i in range(len(row) - 1):
            first, second = ends[i], ends[i + 1]
            now = count_crossings(first[0], second[0]) + count_crossings(first[1], second[1])
            if now and now > count_crossings(second[0], first[0]) + count_crossings(second[1], first[1]):
                row[i], row[i + 1] = row[i + 1], row[i]
                ends[i], ends[i + 1] = second, first
        for i, k in enumerate(row):
            place[k] = i


def count_crossings(first: Sequence[float], second: Sequence[float]) -> int:
    """How many links to ``first`` cross a link to ``second``, which comes after it. Both are sorted.

    >>> count_crossings([1.0, 4.0], [2.0, 3.0])
    2
    """
    if not first or not second or first[-1] <= second[0]:
        return 0
    return sum([bisect_left(second, end) for end in first])
