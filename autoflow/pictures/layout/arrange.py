"""The positions of nodes: a layered drawing of a directed graph, in plain Python.

The four steps of K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system
structures", IEEE Trans. SMC 11(2), 1981:

    ranks       every node comes one rank after the last of its operands; leaves just before their first use (layers.py)
    Layers      an arrow across several ranks gets a waypoint in each, shared by all arrows from the same node
    reorder     the neighbours' average places decide the order in a rank, while that removes crossings (ordering.py)
    settle      every node moves as near to its neighbours' heights as order and spacing allow

Nothing is drawn here, and nothing is random: equal graphs get equal layouts. ``along`` is the direction in which the
data flows, ``across`` the other one; the renderer decides which of them is x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import fsum

from .layers import DOWN, GAP, Box, Layers, Line, Plan
from .ordering import LARGE, SWEEPS, reorder

REMEMBERED = 300  # lines of a question whose answer is kept
BORDER = 0.45  # of the room between ranks, where one of them is the border of a box
FIXED = 1e6  # how strongly an operation wants to be on the axis of its column


@dataclass(frozen=True, slots=True)
class Manner:
    """How much room there is between ranks: at least ``gap``; more where arrows go up or down a long way, so that
    curves stay gentle: ``part`` of that way, at most ``most``. ``column``: put all operations below each other."""

    gap: float = GAP
    part: float = 0.2
    most: float = 80.0
    column: bool = False


RIGHT, AROUND = Manner(), Manner(30.0, 0.1, 24.0)  # from left to right; and around boxes that one reads downwards
DOWNWARDS, COLUMN = Manner(DOWN, 0.1, 24.0), Manner(DOWN, 0.1, 16.0, column=True)


def arrange(
    boxes: Sequence[Box], lines: Sequence[Line], first: Sequence[int] = (), last: Sequence[int] = (),
    manner: Manner = RIGHT,
) -> Plan:  # fmt: skip
    """Place the boxes and route the lines. ``first`` and ``last`` get ranks of their own, at the ends.

    A picture asks for the same box several times: once for each direction that is tried, and for each set of folded
    boxes that a page has. So the plans of small graphs are cached. A Plan is never changed.
    """
    asked = tuple(boxes), tuple(lines), tuple(first), tuple(last), manner
    return arrange_again(*asked) if len(lines) <= REMEMBERED else solve(*asked)


def solve(
    boxes: Sequence[Box], lines: Sequence[Line], first: Sequence[int], last: Sequence[int], manner: Manner
) -> Plan:  # fmt: skip
    """The four steps."""
    layers = Layers(boxes, lines, first, last, manner.column)
    reorder(layers)
    places = coordinates(layers)
    return lead(layers, places, manner)


arrange_again = lru_cache(256)(solve)


def coordinates(layers: Layers) -> list[float]:
    """Where each place begins, across: sweeping back and forth, each rank moves towards its neighbours."""
    at = [0.0] * len(layers.rank)
    gaps = [layers.spacing(row) for row in layers.rows]
    for row, apart in zip(layers.rows, gaps, strict=True):
        for k, start in zip(row, accumulate(apart, initial=0.0), strict=True):
            at[k] = start
    sweeps = SWEEPS if len(layers.rank) < LARGE else SWEEPS // 3
    ranks_forth = list(zip(layers.rows, gaps, strict=True))
    quiet = sweep = 0  # sweeps that moved nothing, which the next of their kind will not do either
    while sweep < sweeps:
        both = sweep >= sweeps - sweeps // 3
        forth = sweep % 2 == 0
        before = list(at)
        for row, apart in ranks_forth if forth else reversed(ranks_forth):
            wishes = [wish(layers, k, at, forth or both, not forth or both) for k in row]
            for k, place in zip(row, settle(wishes, apart), strict=True):
                at[k] = place
        quiet = quiet + 1 if at == before else 0
        sweep += 1
        if quiet >= 2 - both:
            sweep = sweeps if both else max(sweep, sweeps - sweeps // 3)
            quiet = 0
    if layers.column:
        align_column(layers, at, gaps)
    low = min(at, default=0.0)
    return [round(place - low, 2) for place in at]


def align_column(layers: Layers, at: list[float], gaps: Sequence[Sequence[float]]) -> None:
    """Put all operations below each other, on one axis. Lines that pass them keep their order, at the side."""
    tall = [k for k in layers.operations() if layers.sizes[k]]
    axis = fsum([at[k] + layers.sizes[k] / 2 for k in tall]) / max(1, len(tall))
    fixed = set(tall)
    for _ in range(SWEEPS // 3):
        for row, apart in zip(layers.rows, gaps, strict=True):
            wishes = [(axis - layers.sizes[k] / 2, FIXED) if k in fixed else beside(layers, k, at) for k in row]
            for k, place in zip(row, settle(wishes, apart), strict=True):
                at[k] = place


def beside(layers: Layers, k: int, at: list[float]) -> tuple[float, float]:
    """Where k should begin so that its links hit the operands to which they lead."""
    places = [at[link.a] + link.out - link.into for link in layers.before[k]]
    places += [at[link.b] + link.into - link.out for link in layers.after[k]]
    return (fsum(places) / len(places), 1.0) if places else (at[k], 0.05)


def wish(layers: Layers, k: int, at: list[float], forth: bool, back: bool) -> tuple[float, float]:
    """Where k should begin so that its links are straight, and the weight of that wish."""
    total = weight = 0.0
    for link in layers.before[k] if forth else ():
        total += link.weight * (at[link.a] + link.drop)
        weight += link.weight
    for link in layers.after[k] if back else ():
        total += link.weight * (at[link.b] - link.drop)
        weight += link.weight
    return (total / weight, weight) if weight else (at[k], 0.05)


def settle(wishes: Sequence[tuple[float, float]], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wishes (position, weight) that keep order and gaps.

    Least squares with order constraints: neighbours that would overlap join into a block, which stands at the mean of
    its members' wishes ("pool adjacent violators").

    >>> settle([(0.0, 1.0), (0.0, 1.0), (50.0, 1.0)], [10.0, 10.0])
    [-5.0, 5.0, 50.0]
    """
    offsets = list(accumulate(gaps, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for (place, weight), offset in zip(wishes, offsets, strict=False):
        mean, count = place - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other, more, members = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, count = weight + more, count + members
        blocks.append((mean, weight, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def lead(layers: Layers, at: list[float], manner: Manner = RIGHT) -> Plan:
    """Corners and paths: straight inside a rank, curved between two."""
    n = len(layers.boxes)
    starts, ends = [], []
    here = 0.0
    for row, following in zip(layers.rows, [*layers.rows[1:], []], strict=True):
        thick = max([layers.boxes[k].along for k in row if k < n], default=0.0)
        starts.append(here)
        ends.append(here + thick)
        here += thick + gap(layers, at, row, manner) * bool(following)
    paths = []
    for line in layers.lines:
        r, last = layers.rank[line.source], layers.rank[line.target]
        box = layers.boxes[line.source]
        leaving = layers.out(line)
        across = at[line.source] + leaving
        path = [(starts[r] + box.along, across), (ends[r], across)]
        for between in range(r + 1, last):
            across = at[layers.waypoints[line.source, leaving, between]]
            path += [(starts[between], across), (ends[between], across)]
        path.append((starts[last], at[line.target] + layers.boxes[line.target].inputs[line.slot]))
        paths.append(path)
    corners = [(starts[layers.rank[k]], at[k]) for k in range(n)]
    across = max([at[k] + layers.sizes[k] for k in range(len(at))], default=0.0)
    return Plan(corners, paths, here, across, starts)


def gap(layers: Layers, at: list[float], row: Sequence[int], manner: Manner) -> float:
    """The room behind a rank."""
    rises = [abs(at[x.a] + x.out - at[x.b] - x.into) for k in row for x in layers.after[k]]
    border = layers.is_border(row) or any([layers.is_border([x.b]) for k in row for x in layers.after[k]])
    return manner.gap * (BORDER if border else 1.0) + min(manner.most, manner.part * max(rises, default=0.0))
