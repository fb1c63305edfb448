"""How easy a finished layout is to read, as one number: the cost for a reader, in screens to scroll.

    size       screens of 1280 × 900 after the first, once the picture is made as narrow as the page
    text       how much smaller that makes the text
    crossings  pairs of arrows that cross
    arrows     how far the eye must follow them: their length, in widths of the page
    stubs      values whose arrow is cut, so that one has to look for its other end
    emptiness  the part of the picture that is empty

The weights are a judgement: they rank pictures as people who looked at them did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .layers import Plan, Point

PAGE = (1280.0, 900.0)  # what a reader sees without scrolling
SMALLER, CROSSING, LENGTH, STUB, EMPTY = 2.0, 0.15, 0.25, 0.1, 0.5  # prices, in screens
Segment = tuple[Point, Point]


def cost(plan: Plan, sources: Sequence[int], covered: float, down: bool) -> float:
    """The price of a plan. ``sources`` says where each arrow begins, ``covered`` how much area cards have."""
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    scale = min(1.0, PAGE[0] / max(wide, 1.0))
    pieces = {(k, a, b) for k, path in zip(sources, plan.paths, strict=True) for a, b in pairwise(path)}
    long = math.fsum([math.dist(a, b) for _, a, b in pieces])  # where arrows of one node run together, they are one
    return (
        max(0.0, high * scale / PAGE[1] - 1.0)
        + SMALLER * (1.0 / scale - 1.0)
        + CROSSING * crossings(plan.paths, sources)
        + LENGTH * long * scale / PAGE[0]
        + STUB * len({(sources[i], plan.paths[i][0]) for i in plan.stubs})
        + EMPTY * max(0.0, 1.0 - covered / max(wide * high, 1.0))
    )


def crossings(paths: Sequence[Sequence[Point]], sources: Sequence[int]) -> int:
    """How many pairs of arrows cross, not counting pairs that begin at the same node.

    >>> crossings([[(0, 0), (2, 2)], [(0, 2), (2, 0)], [(0, 3), (2, 3)]], [0, 1, 2])
    1
    """
    pieces = sorted(
        [
            (min(a[0], b[0]), max(a[0], b[0]), min(a[1], b[1]), max(a[1], b[1]), i, (a, b))
            for i, path in enumerate(paths)
            for a, b in pairwise(path)
            if a != b
        ]
    )
    found = set()
    for k, (_, right, low, high, i, one) in enumerate(pieces):
        for left, _, bottom, top, j, other in pieces[k + 1 :]:
            if left > right:
                break
            if bottom <= high and low <= top and sources[i] != sources[j] and meet(one, other):
                found.add((min(i, j), max(i, j)))
    return len({(sources[i], sources[j], paths[i][-1], paths[j][-1]) for i, j in found})


def meet(one: Segment, other: Segment) -> bool:
    """Do two pieces cross, each strictly inside the other?"""
    return side(one, other[0]) * side(one, other[1]) < 0 and side(other, one[0]) * side(other, one[1]) < 0


def side(piece: Segment, point: Point) -> float:
    """On which side of a piece a point is: the sign tells."""
    (ax, ay), (bx, by) = piece
    return (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)
