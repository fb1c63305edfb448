"""Wide pictures in several rows, like lines of text: cut between ranks, each row below the one before.

Where to cut is decided as in typesetting: of all ways to break the line, the one with the lowest cost is taken.
Slack, arrows that turn round and arrows that are cut all add to the cost. Leaves next to a cut go with their use:
they get a column of their own at the start of the next row.

An arrow over a cut runs to the end of its row, back in a lane between the rows, and into the next one. If its value
has a name, the arrow is cut instead, unless it is the main one: the name is in the operand's row anyway. The arrow
begins again at the start of the row that needs it (a stub, see :attr:`Plan.stubs`), so no bundle of arrows turns
round.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .layers import APART, LANE, Box, Line, Plan, Point

WIDEST = 1500.0  # of a row
INSIDE = 150.0  # of that for the borders of a box, and what turns round in it
BACKS, BESIDE = 12.0, 5.0  # between two arrows on their way back, and where they turn round
ROOM = 26.0  # above and below these
TURN = 22.0  # at the ends of a row, for arrows that turn round
STUB = 34.0  # more room for an arrow that begins anew, and for its name
ROW, BACK, TORN = 1.0, 0.25, 0.1  # prices: of a row, of a second arrow that turns round, of a stub; an empty row is 1


def wrap_rows(plan: Plan, boxes: Sequence[Box], lines: Sequence[Line], level: int = 0, widest: float = WIDEST) -> Plan:
    """The same plan in rows. Inside ``level`` boxes the rows are narrower."""
    strip = Strip(plan, boxes, lines)
    cuts = strip.cuts(widest - level * INSIDE)
    return Rows(strip, cuts).plan() if cuts else plan


class Strip:
    """The plan before it is cut: its ranks, and the cost of a cut before each of them."""

    def __init__(self, plan: Plan, boxes: Sequence[Box], lines: Sequence[Line]) -> None:
        self.old, self.boxes, self.lines, self.starts = plan, boxes, lines, plan.starts
        self.rank = [bisect_right(plan.starts, corner[0] + 0.01) - 1 for corner in plan.corners]
        self.leaf = [box.leaf for box in boxes]
        count = len(plan.starts)
        self.thick, self.column, self.inner = [0.0] * count, [0.0] * count, [0.0] * count
        for r, box, leaf in zip(self.rank, boxes, self.leaf, strict=True):
            self.thick[r] = max(self.thick[r], box.along)
            kind = self.column if leaf else self.inner
            kind[r] = max(kind[r], box.along)

    def gap(self, r: int) -> float:
        """The gap between rank r and the next."""
        return self.starts[r + 1] - self.starts[r] - self.thick[r]

    def lead(self, r: int) -> float:
        """The room of the leaves that go in front of rank r, if a row begins there."""
        return self.column[r - 1] + self.gap(r - 1) if r and self.column[r - 1] else 0.0

    def width(self, begin: int, end: int) -> float:
        """The width of a row with the ranks ``begin`` ... ``end - 1``."""
        last = self.thick[end - 1] if end == len(self.starts) else self.inner[end - 1]
        return self.starts[end - 1] + last - self.starts[begin] + self.lead(begin)

    def prices(self) -> list[float]:
        """The cost of a cut before each rank. Before a rank with only leaves in front of it no cut is possible."""
        turning: list[set[int]] = [set() for _ in self.starts]
        torn: list[set[int]] = [set() for _ in self.starts]
        for line in self.lines:
            low = self.rank[line.source] + 1 + self.leaf[line.source]
            for r in range(low, self.rank[line.target] + 1):
                (torn if line.named else turning)[r].add(line.source)
        return [
            math.inf if not any(self.inner[:r]) else BACK * max(0, len(back) - 1) + TORN * len(stubs)
            for r, (back, stubs) in enumerate(zip(turning, torn, strict=True))
        ]

    def cuts(self, widest: float) -> list[int]:
        """Before which ranks a new row begins, at the lowest cost; no cut if everything fits into one row."""
        count = len(self.starts)
        if not count or self.width(0, count) <= widest:
            return []
        prices = self.prices()
        best, way = [0.0] + [math.inf] * count, [0] * (count + 1)
        for end in range(1, count + 1):
            after = prices[end] if end < count else 0.0
            for begin in range(end - 1, -1, -1):
                wide = self.width(begin, end)
                if wide > widest and begin < end - 1 and best[end] < math.inf:
                    break
                slack = abs(widest - wide) / widest
                cost = best[begin] + ROW + slack * slack * (0.5 if end == count else 1.0) + after
                if cost < best[end]:
                    best[end], way[end] = cost, begin
        cuts, here = [], way[count]
        while here:
            cuts.append(here)
            here = way[here]
        return cuts[::-1]


class Rows:
    """Where each row begins in the strip, and how far down it is now."""

    def __init__(self, strip: Strip, cuts: list[int]) -> None:
        self.strip, self.begins = strip, [0, *cuts]
        old, boxes, lines = strip.old, strip.boxes, strip.lines
        self.row = [self.row_of(r + strip.leaf[k]) for k, r in enumerate(strip.rank)]
        self.late = [self.row[k] > self.row_of(r) for k, r in enumerate(strip.rank)]  # leaves in front of their row
        self.stubs = {i for i, x in enumerate(lines) if x.named and self.row[x.source] != self.row[x.target]}
        ending = {self.row[lines[i].target] for i in self.stubs if self.begins_row(lines[i].target)}
        self.indent = [(STUB if r in ending else 0.0) + 2 * TURN for r in range(len(self.begins))]
        self.corners = [self.corner(k) for k in range(len(boxes))]
        self.width = max([x + box.along for (x, _), box in zip(self.corners, boxes, strict=True)]) + TURN
        self.paths = [
            [(p, r) for p, r in self.placed(i) if i not in self.stubs or r == self.row[lines[i].target]]
            for i in range(len(old.paths))
        ]
        self.lanes = [self.crossing(r) for r in range(len(cuts))]
        self.raise_leaves()
        self.along = self.width + TURN + BESIDE * max([len(lanes) - 1 for lanes in self.lanes])
        self.stack()

    def plan(self) -> Plan:
        """The plan in rows."""
        corners = [(x, y + self.tops[r]) for (x, y), r in zip(self.corners, self.row, strict=True)]
        paths = [self.lead(i) for i in range(len(self.paths))]
        return replace(
            self.strip.old, corners=corners, paths=paths, along=self.along, across=self.across, stubs=self.stubs
        )

    def row_of(self, rank: int) -> int:
        """The row of a rank."""
        return bisect_right(self.begins, rank) - 1

    def begins_row(self, k: int) -> bool:
        """Is box k in the first rank of its row? Then it needs room for the name of a stub."""
        return self.strip.rank[k] in self.begins and not self.strip.lead(self.strip.rank[k])

    def x(self, r: int, x: float) -> float:
        """Where a place of the strip is in row r."""
        begin = self.begins[r]
        return x - self.strip.starts[begin] + self.strip.lead(begin) * (r > 0) + self.indent[r]

    def corner(self, k: int) -> Point:
        """Where a box begins now, along; across it is moved later."""
        x, y = self.strip.old.corners[k]
        r = self.row[k]
        return (self.indent[r] if self.late[k] else self.x(r, x)), y

    def placed(self, i: int) -> list[tuple[Point, int]]:
        """The points of a path, each with its row."""
        line, strip = self.strip.lines[i], self.strip
        first = self.row[line.source]
        answer = []
        for x, y in strip.old.paths[i]:
            r = max(first, self.row_of(bisect_right(strip.starts, x + 0.01) - 1))
            answer.append(((self.x(r, x), y), r))
        if self.late[line.source]:
            k = line.source
            answer[0] = ((self.corners[k][0] + strip.boxes[k].along, answer[0][0][1]), first)
        return answer

    def crossing(self, r: int) -> dict[Point, tuple[float, float]]:
        """The arrows over the cut behind row r, by where they start; the lowest first, which turns round inside."""
        found = {}
        for path in self.paths:
            before = [p[1] for p, row in path if row <= r]
            if before and path[-1][1] > r:
                found[self.key(path)] = before[-1]
        return dict.fromkeys(sorted(found, key=lambda start: -found[start]), (0.0, 0.0))

    def raise_leaves(self) -> None:
        """Move the leaves of a column up, as far as the arrows that pass there allow; the column holds nothing else."""
        low: dict[int, float] = {}
        for k in sorted([k for k, late in enumerate(self.late) if late], key=lambda k: self.corners[k][1]):
            (x, y), r = self.corners[k], self.row[k]
            passing = {path[0][0]: path[j] for path in self.paths for j in range(len(path)) if path[j][1] < r}
            above = [p[1] + LANE for p, row in passing.values() if row == r - 1 and p[1] < y]
            top = min([self.corners[j][1] for j, row in enumerate(self.row) if row == r and not self.late[j]])
            raised = min(y, max([top, low.get(r, -math.inf), *above]))
            self.corners[k] = x, raised
            low[r] = raised + self.strip.boxes[k].across + APART
            for i, line in enumerate(self.strip.lines):
                if line.source == k:
                    self.paths[i] = [((a, b + raised - y) if n < 2 else (a, b), q)
                                     for n, ((a, b), q) in enumerate(self.paths[i])]  # fmt: skip

    def key(self, path: Sequence[tuple[Point, int]]) -> Point:
        """The same for arrows that start at one place, which run together."""
        (x, y), r = path[0]
        return x + 1e6 * r, y

    def stack(self) -> None:
        """Put the rows below each other, and the lanes between them."""
        self.tops: list[float] = []
        here = 0.0
        for r in range(len(self.begins)):
            inside = [
                (y, y + box.across)
                for (_, y), box, row in zip(self.corners, self.strip.boxes, self.row, strict=True)
                if row == r
            ]
            inside += [(p[1], p[1]) for path in self.paths for p, row in path if row == r]
            top = min([low for low, _ in inside])
            self.tops.append(here - top)
            here += max([high for _, high in inside]) - top
            if r < len(self.begins) - 1:
                lanes = self.lanes[r]
                for place, start in enumerate(lanes):
                    lanes[start] = (here + ROOM + BACKS * place, BESIDE * place)
                here += 2 * ROOM + BACKS * len(lanes)
        self.across = here

    def entry(self, r: int) -> float | None:
        """Behind the leaves at the start of row r; None if it has none."""
        lead = self.strip.lead(self.begins[r]) if r else 0.0
        return self.indent[r] + lead - self.strip.gap(self.begins[r] - 1) if lead else None

    def lead(self, i: int) -> list[Point]:
        """The new path of an arrow, round the ends of rows."""
        path = self.paths[i]
        ((x, y), r), behind = path[0], self.entry(path[0][1])
        points = [(x, y + self.tops[r])]
        if i in self.stubs:  # from the start of its row, straight through the first rank, if it does not end there
            start = (TURN if behind is None else max(behind, x - STUB), points[0][1])
            points = [start] if len(path) > 1 else [start, start, points[0]]
        for ((_, before), old), ((x, y), row) in pairwise(path):
            y += self.tops[row]
            if row != old:
                lane, bend = self.lanes[old][self.key(path)]
                left, right = TURN + bend, self.width + bend
                points[-1] = (right, points[-1][1])
                column = self.entry(row)
                into = (left, y) if column is None else (column, before + self.tops[row])
                points += [(right, lane), (left, lane), (left, into[1]), into]
            points.append((x, y))
        return points
