"""A long chain in several rows, like lines of text: cut between ranks, each row below the one before.

An arrow over a cut runs to the end of its row, back in a lane between the rows, and into the next one. An arrow from a
leaf does not: what it carries has a name, which stands in the operand's row anyway. It begins anew at the start of the
row that needs it (a stub, see :attr:`Plan.stubs`), and so no bundle of arrows runs around every row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .layout import Box, Line, Plan, Point

WIDEST = 1640.0  # of a row
INSIDE = 150.0  # of that for the borders of a box, and what turns round in it
LANE, BESIDE = 12.0, 5.0  # between two arrows on their way back, and where they turn round
ROOM = 26.0  # above and below these
TURN = 22.0  # at the ends of a row, for arrows that turn round


def wrapped(plan: Plan, boxes: Sequence[Box], lines: Sequence[Line], level: int = 0) -> Plan:
    """The same plan in rows. What is inside of ``level`` boxes has narrower ones."""
    cuts = cut_places(plan, lines, WIDEST - level * INSIDE)
    if not cuts:
        return plan
    begins = [0.0, *cuts]

    def row(along: float) -> int:
        return bisect_right(cuts, along + 0.01)

    rows = [[k for k, (along, _) in enumerate(plan.corners) if row(along) == r] for r in range(len(begins))]
    width = max([plan.corners[k][0] + boxes[k].along - begins[r] for r, inside in enumerate(rows) for k in inside])
    width += 3 * TURN
    stubs = {i for i, path in enumerate(plan.paths) if lines[i].named and row(path[0][0]) != row(path[-1][0])}
    kept = [
        [p for p in path if row(p[0]) == row(path[-1][0])] if i in stubs else path for i, path in enumerate(plan.paths)
    ]
    passing = [crossing(kept, cut) for cut in cuts]
    tops: list[float] = []
    here = 0.0
    for r, inside in enumerate(rows):
        points = [b for path in kept for a, b in path if row(a) == r]
        top = min([plan.corners[k][1] for k in inside] + points)
        bottom = max([plan.corners[k][1] + boxes[k].across for k in inside] + points)
        tops.append(here - top)
        lanes = passing[r] if r < len(passing) else {}
        for place, start in enumerate(lanes):
            lanes[start] = (here + bottom - top + ROOM + LANE * place, BESIDE * place)
        here += bottom - top + (2 * ROOM + LANE * len(lanes) if r < len(cuts) else 0.0)

    def moved(point: Point) -> Point:
        return point[0] - begins[row(point[0])] + 2 * TURN, point[1] + tops[row(point[0])]

    paths = []
    for i, path in enumerate(kept):
        points = [moved(point) for point in path[:1]]
        if i in stubs:  # from the start of its row, straight through the first rank, if it does not end there
            start = (TURN, points[0][1])
            points = [start] if len(path) > 1 else [start, start, points[0]]
        for before, point in pairwise(path):
            x, y = moved(point)
            if row(point[0]) != row(before[0]):
                lane, beside = passing[row(before[0])][path[0]]
                points[-1] = (width + beside, points[-1][1])
                left = TURN + beside
                points += [(width + beside, lane), (left, lane), (left, y), (left, y)]
            points.append((x, y))
        paths.append(points)
    along = width + TURN + BESIDE * max([len(lanes) - 1 for lanes in passing])
    return replace(plan, corners=[moved(c) for c in plan.corners], paths=paths, along=along, across=here, stubs=stubs)


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
        lost = {start: abandoned(plan, lines, start) for start in between}
        cuts[-1] = min(between, key=lambda start: (lost[start], abs((start - begin) - (plan.along - start))))
    return cuts


def abandoned(plan: Plan, lines: Sequence[Line], cut: float) -> int:
    """How many leaves a cut would separate from all of their uses."""
    first_use: dict[int, float] = {}
    for line in lines:
        if line.named:
            first_use[line.source] = min(first_use.get(line.source, cut), plan.corners[line.target][0])
    return sum([plan.corners[leaf][0] < cut <= use for leaf, use in first_use.items()])


def crossing(paths: Sequence[Sequence[Point]], cut: float) -> dict[Point, tuple[float, float]]:
    """The arrows over a cut, by where they start; the lowest first, which turns round inside of the others."""
    found = {}
    for path in paths:
        before = [b for a, b in path if a + 0.01 < cut]
        if before and path[-1][0] + 0.01 >= cut:
            found[path[0]] = before[-1]
    return dict.fromkeys(sorted(found, key=lambda start: -found[start]), (0.0, 0.0))
