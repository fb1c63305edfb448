"""The order of nodes in their ranks: the second step of :mod:`.arrange`, after Sugiyama, Tagawa and Toda.

Finding the fewest crossings is a hard problem, so two simple steps alternate: sort each rank by the average place of
the neighbours, and exchange neighbours where that helps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import fsum

from .layers import Layers

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
            wanted = {k: average(layers, k, place, forth) for k in row}
            row.sort(key=wanted.__getitem__)
            for i, k in enumerate(row):
                place[k] = i
        swap_neighbours(layers, place)
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(row) for row in layers.rows], count
    layers.rows = best


def average(layers: Layers, k: int, place: Sequence[int], forth: bool) -> float:
    """The mean place of k's neighbours in the rank before (or behind) it; its own if there are none."""
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
