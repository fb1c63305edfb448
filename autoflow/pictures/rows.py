"""A long chain in several rows, like lines of text: cut between ranks, each row below the one before.

An arrow over a cut runs to the end of its row, back in a lane between the rows, and into the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .layout import Box, Plan, Point

WIDEST = 1500.0  # of a row
LANE = 12.0  # between two arrows on their way back
ROOM = 26.0  # above and below these
TURN = 22.0  # at the ends of a row, for arrows that turn round
Path = tuple[int, ...]
Area = tuple[float, float, float, float]


def wrapped(plan: Plan, boxes: Sequence[Box], frames: dict[Path, Area]) -> tuple[Plan, dict[Path, Area]]:
    """The same plan in rows, and where its frames are then: a frame is never cut, it lies in one rank."""
    cuts = cut_places(plan)
    if not cuts:
        return plan, frames
    begins = [0.0, *cuts]

    def row(along: float) -> int:
        return bisect_right(cuts, along + 0.01)

    rows = [[k for k, (along, _) in enumerate(plan.corners) if row(along) == r] for r in range(len(begins))]
    ends = [(plan.corners[k][0], boxes[k].along) for inside in rows for k in inside]
    ends += [(along, size) for along, _, size, _ in frames.values()]
    width = max([along + size - begins[row(along)] for along, size in ends]) + 3 * TURN
    passing = [crossing(plan, cut) for cut in cuts]
    tops: list[float] = []
    here = 0.0
    for r, inside in enumerate(rows):
        points = [b for path in plan.paths for a, b in path if row(a) == r]
        framed = [(across, across + size) for along, across, _, size in frames.values() if row(along) == r]
        top = min([plan.corners[k][1] for k in inside] + points + [low for low, _ in framed])
        bottom = max([plan.corners[k][1] + boxes[k].across for k in inside] + points + [high for _, high in framed])
        tops.append(here - top)
        lanes = passing[r] if r < len(passing) else {}
        for place, start in enumerate(lanes):
            lanes[start] = here + bottom - top + ROOM + LANE * place
        here += bottom - top + (2 * ROOM + LANE * len(lanes) if r < len(cuts) else 0.0)

    def moved(point: Point) -> Point:
        return point[0] - begins[row(point[0])] + 2 * TURN, point[1] + tops[row(point[0])]

    paths = []
    for path in plan.paths:
        points2: list[Point] = []
        for place, point in enumerate(path):
            x, y = moved(point)
            if place and row(point[0]) != row(path[place - 1][0]):
                lane = passing[row(path[place - 1][0])][path[0]]
                points2[-1] = (width, points2[-1][1])
                points2 += [(width, lane), (TURN, lane), (TURN, y), (TURN, y)]
            points2.append((x, y))
        paths.append(points2)
    corners = [moved(corner) for corner in plan.corners]
    areas = {path: (*moved((along, across)), *sizes) for path, (along, across, *sizes) in frames.items()}
    return replace(plan, corners=corners, paths=paths, along=width + TURN, across=here), areas


def cut_places(plan: Plan) -> list[float]:
    """Before which ranks a new row begins: as much in each as fits."""
    cuts: list[float] = []
    begin = 0.0
    for start, following in pairwise([*plan.starts[1:], plan.along]):
        if following - begin > WIDEST:
            cuts.append(start)
            begin = start
    return cuts


def crossing(plan: Plan, cut: float) -> dict[Point, float]:
    """The arrows over a cut, by where they start; the lowest first, which turns round inside of the others."""
    found = {}
    for path in plan.paths:
        before = [b for a, b in path if a + 0.01 < cut]
        if before and path[-1][0] + 0.01 >= cut:
            found[path[0]] = before[-1]
    return dict.fromkeys(sorted(found, key=lambda start: -found[start]), 0.0)
