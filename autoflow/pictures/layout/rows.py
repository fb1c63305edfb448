"""What is too wide, in several rows, like lines of text: cut between ranks, each row below the one before.

An arrow over a cut runs to the end of its row, back in a lane between the rows, and into the next one. An arrow from a
leaf does not: what it carries has a name, which stands in the operand's row anyway. It begins anew at the start of the
row that needs it (a stub, see :attr:`Plan.stubs`), and so no bundle of arrows runs around every row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from .layers import Box, Line, Plan, Point

WIDEST = 1640.0  # of a row
INSIDE = 150.0  # of that for the borders of a box, and what turns round in it
LANE, BESIDE = 12.0, 5.0  # between two arrows on their way back, and where they turn round
ROOM = 26.0  # above and below these
TURN = 22.0  # at the ends of a row, for arrows that turn round


def wrap_rows(plan: Plan, boxes: Sequence[Box], lines: Sequence[Line], level: int = 0) -> Plan:
    """The same plan in rows. What is inside of ``level`` boxes has narrower ones."""
    cuts = cut_places(plan, lines, WIDEST - level * INSIDE)
    if not cuts:
        return plan
    rows = Rows(plan, boxes, lines, cuts)
    corners = [rows.moved(corner) for corner in plan.corners]
    paths = [rows.lead(i, path) for i, path in enumerate(rows.paths)]
    return replace(plan, corners=corners, paths=paths, along=rows.along, across=rows.across, stubs=rows.stubs)


class Rows:
    """Where each row begins in the plan that was cut, and how far down it stands now."""

    def __init__(self, plan: Plan, boxes: Sequence[Box], lines: Sequence[Line], cuts: list[float]) -> None:
        self.cuts, self.begins = cuts, [0.0, *cuts]
        parted = [self.row(path[0]) != self.row(path[-1]) for path in plan.paths]
        self.stubs = {i for i, apart in enumerate(parted) if apart and lines[i].named}
        self.paths = [
            [p for p in path if self.row(p) == self.row(path[-1])] if i in self.stubs else path
            for i, path in enumerate(plan.paths)
        ]
        ends = [corner[0] + box.along - self.begins[self.row(corner)] for corner, box in self.placed(plan, boxes)]
        self.width = max(ends) + 3 * TURN
        self.lanes = [
            crossing_lines(self.paths, cut) for cut in cuts
        ]  # per cut: start of an arrow -> its height, its bend
        self.along = self.width + TURN + BESIDE * max([len(lanes) - 1 for lanes in self.lanes])
        self.stack(plan, boxes)

    def placed(self, plan: Plan, boxes: Sequence[Box]) -> Iterable[tuple[Point, Box]]:
        """The boxes and where they stood."""
        return zip(plan.corners, boxes, strict=True)

    def row(self, point: Point) -> int:
        """In which row a point of the old plan is."""
        return bisect_right(self.cuts, point[0] + 0.01)

    def stack(self, plan: Plan, boxes: Sequence[Box]) -> None:
        """Put the rows below each other, and the lanes between them."""
        self.tops: list[float] = []
        here = 0.0
        for r in range(len(self.begins)):
            inside = [
                (corner[1], corner[1] + box.across) for corner, box in self.placed(plan, boxes) if self.row(corner) == r
            ]
            inside += [(point[1], point[1]) for path in self.paths for point in path if self.row(point) == r]
            top = min([low for low, _ in inside])
            self.tops.append(here - top)
            here += max([high for _, high in inside]) - top
            if r < len(self.cuts):
                lanes = self.lanes[r]
                for place, start in enumerate(lanes):
                    lanes[start] = (here + ROOM + LANE * place, BESIDE * place)
                here += 2 * ROOM + LANE * len(lanes)
        self.across = here

    def moved(self, point: Point) -> Point:
        """Where a point of the old plan is now."""
        r = self.row(point)
        return point[0] - self.begins[r] + 2 * TURN, point[1] + self.tops[r]

    def lead(self, i: int, path: Sequence[Point]) -> list[Point]:
        """The way of an arrow now, round the ends of rows."""
        points = [self.moved(path[0])]
        if i in self.stubs:  # from the start of its row, straight through the first rank, if it does not end there
            start = (TURN, points[0][1])
            points = [start] if len(path) > 1 else [start, start, points[0]]
        for before, point in pairwise(path):
            x, y = self.moved(point)
            if self.row(point) != self.row(before):
                lane, bend = self.lanes[self.row(before)][path[0]]
                left, right = TURN + bend, self.width + bend
                points[-1] = (right, points[-1][1])
                points += [(right, lane), (left, lane), (left, y), (left, y)]
            points.append((x, y))
        return points


def cut_places(plan: Plan, lines: Sequence[Line], widest: float) -> list[float]:
    """Before which ranks a new row begins: as much in each as fits."""
    cuts: list[float] = []
    begin = 0.0
    for start, following in pairwise([*plan.starts[1:], plan.along]):
        if following - begin > widest:
            cuts.append(start)
            begin = start
    if cuts:  # the last two rows share what they have, so that no single node stands in the last one
        begin = cuts[-2] if len(cuts) > 1 else 0.0
        between = [start for start in plan.starts if begin < start <= cuts[-1]]
        lost = {start: count_abandoned(plan, lines, start) for start in between}
        cuts[-1] = min(between, key=lambda start: (lost[start], abs((start - begin) - (plan.along - start))))
    return cuts


def count_abandoned(plan: Plan, lines: Sequence[Line], cut: float) -> int:
    """How many leaves a cut would separate from all of their uses."""
    first_use: dict[int, float] = {}
    for line in lines:
        if line.named:
            first_use[line.source] = min(first_use.get(line.source, cut), plan.corners[line.target][0])
    return sum([plan.corners[leaf][0] < cut <= use for leaf, use in first_use.items()])


def crossing_lines(paths: Sequence[Sequence[Point]], cut: float) -> dict[Point, tuple[float, float]]:
    """The arrows over a cut, by where they start; the lowest first, which turns round inside of the others."""
    found = {}
    for path in paths:
        before = [b for a, b in path if a + 0.01 < cut]
        if before and path[-1][0] + 0.01 >= cut:
            found[path[0]] = before[-1]
    return dict.fromkeys(sorted(found, key=lambda start: -found[start]), (0.0, 0.0))
