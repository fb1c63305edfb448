"""The positions of nodes: a layered drawing of a directed graph, in plain Python; and how easy it is to read.

The four steps of K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system
structures", IEEE Trans. SMC 11(2), 1981. The first three are in ``layers.py``, the last is at the end of this file:

    ranks       every node comes one rank after the last of its operands; leaves just before their first use
    Layers      an arrow across several ranks gets a waypoint in each, shared by all arrows from the same node
    reorder     the neighbours' average places decide the order in a rank, while that removes crossings
    settle      every node moves as near to its neighbours' heights as order and spacing allow

Nothing is drawn here, and nothing is random: equal graphs get equal layouts. ``along`` is the direction in which the
data flows, ``across`` the other one; the renderer decides which of them is x.

The cost of a finished layout for a reader is one number, in screens to scroll. Its weights are a judgement: they rank
pictures as people who looked at them did.

    size       screens of 1280 × 900 after the first, once the picture is made as narrow as the page
    text       how much smaller that makes the text
    crossings  pairs of arrows that cross between two ranks, as the third step has left them
    arrows     how far the eye must follow them: their length, in widths of the page
    stubs      values whose arrow is cut, so that one has to look for its other end
    emptiness  the part of the picture that is empty

A box may have a direction of its own: it is read downwards, while the data outside flow to the right. It was arranged
by itself, from top to bottom, so its arrows enter above and leave below. Around it they run from left to right. So
each arrow gets a lane: from the left border below the headline to the place where it goes down, or below the nodes to
the right border. The lanes are ordered so that no arrow crosses the lane of another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise

from .layers import DOWN, GAP, LARGE, SWEEPS, Arrow, Layers, NodeBox, Placed, Point, Value, crossings, reorder

# ---------------------------------------------------------------- cost: how easy a layout is to read

PAGE = (1280.0, 900.0)  # what a reader sees without scrolling
SMALLER, CROSSING, LENGTH, STUB, EMPTY = 2.0, 0.15, 0.25, 0.1, 0.5  # prices, in screens


def cost(plan: Placed, sources: Sequence[int], covered: float, down: bool) -> float:
    """The price of a plan. ``sources`` says where each arrow begins, ``covered`` how much area cards have."""
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    scale = min(1.0, PAGE[0] / max(wide, 1.0))
    pieces = {(k, a, b) for k, path in zip(sources, plan.paths, strict=True) for a, b in pairwise(path)}
    long = math.fsum([math.dist(a, b) for _, a, b in pieces])  # where arrows of one node run together, they are one
    return (
        max(0.0, high * scale / PAGE[1] - 1.0)
        + SMALLER * (1.0 / scale - 1.0)
        + CROSSING * plan.crossed
        + LENGTH * long * scale / PAGE[0]
        + STUB * len({(sources[i], plan.paths[i][0]) for i in plan.stubs})
        + EMPTY * max(0.0, 1.0 - covered / max(wide * high, 1.0))
    )


# ---------------------------------------------------------------- turned boxes: lanes for their arrows


LANES = 12.0  # between two of them
BELOW = 10.0  # between the nodes and the first lane
Path = tuple[int, ...]


@dataclass(slots=True)
class Nested:
    """What is inside one box, arranged: places relative to the box, which is ``along`` by ``across`` large."""

    along: float
    across: float
    corners: dict[int, Point] = field(default_factory=dict)
    frames: dict[Path, tuple[float, float, float, float]] = field(default_factory=dict)  # along, across, and sizes
    paths: dict[int, list[Point]] = field(default_factory=dict)  # per line: the part of it inside the box
    inputs: dict[Value, float] = field(default_factory=dict)  # what enters -> offset across
    outputs: dict[Value, float] = field(default_factory=dict)
    stubs: set[int] = field(default_factory=set)  # lines that begin anew in here
    crossed: int = 0  # pairs of lines that cross in here


def turn_box(box: Nested, head: float, entering: dict[int, Value], leaving: dict[int, Value]) -> Nested:
    """The box as a node for what is around it. ``head``: how far down its nodes may begin; ``entering`` and
    ``leaving``:
    the values of the lines that have only one end inside."""
    above, below = lanes(box.inputs, head), len(box.outputs) * LANES
    added = len(above) * LANES
    foot = box.along + added - 2.0
    places = {value: foot + y for value, y in lanes(box.outputs, 0.0).items()}
    answer = Nested(box.across, box.along + added + below + BELOW * bool(places))
    answer.stubs, answer.crossed = set(box.stubs), box.crossed
    answer.corners = {k: (b, a + added) for k, (a, b) in box.corners.items()}
    answer.frames = {p: (b, a + added, h, w) for p, (a, b, w, h) in box.frames.items()}
    answer.inputs, answer.outputs = above, places
    for i, path in box.paths.items():
        points = [(b, a + added) for a, b in path]
        if i in entering:
            x, y = points[0][0], above[entering[i]]
            points = [(0.0, y), (x, y), (x, y), *points[1:]]
        if i in leaving:
            x, y = points[-1][0], places[leaving[i]]
            points = [*points[:-1], (x, y), (x, y), (answer.along, y)]
        answer.paths[i] = points
    return answer


def lanes(ports: dict[Value, float], start: float) -> dict[Value, float]:
    """The heights of the lanes to or from these ports; the lane of the leftmost port is next to the nodes.

    >>> lanes({(7, None): 100.0, (8, None): 50.0}, 30.0)
    {(7, None): 30.0, (8, None): 42.0}
    """
    order = sorted(ports, key=ports.__getitem__, reverse=True)
    return {value: start + LANES * order.index(value) for value in ports}


# ---------------------------------------------------------------- arranging: the four steps


REMEMBERED = 300  # lines of a question whose answer is kept
BORDER = 0.45  # of the room between ranks, where one of them is the border of a box


@dataclass(frozen=True, slots=True)
class Spacing:
    """How much room there is between ranks: at least ``gap``; more where arrows go up or down a long way, so that
    curves stay gentle: ``part`` of that way, at most ``most``."""

    gap: float = GAP
    part: float = 0.2
    most: float = 80.0


RIGHT, AROUND = Spacing(), Spacing(30.0, 0.1, 24.0)  # from left to right; and around boxes that one reads downwards
DOWNWARDS = Spacing(DOWN, 0.1, 24.0)


def arrange(
    boxes: Sequence[NodeBox], lines: Sequence[Arrow], first: Sequence[int] = (), last: Sequence[int] = (),
    manner: Spacing = RIGHT,
) -> Placed:  # fmt: skip
    """Place the boxes and route the lines. ``first`` and ``last`` get ranks of their own, at the ends.

    A picture asks for the same box several times: once for each direction that is tried, and for each set of folded
    boxes that a page has. So the plans of small graphs are cached. A Plan is never changed.
    """
    key = tuple(boxes), tuple(lines), tuple(first), tuple(last), manner
    return arrange_again(*key) if len(lines) <= REMEMBERED else solve(*key)


def solve(
    boxes: Sequence[NodeBox], lines: Sequence[Arrow], first: Sequence[int], last: Sequence[int], manner: Spacing
) -> Placed:  # fmt: skip
    """The four steps."""
    layers = Layers(boxes, lines, first, last)
    reorder(layers)
    return lead(layers, coordinates(layers), manner)


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
    low = min(at, default=0.0)
    return [round(place - low, 2) for place in at]


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


def lead(layers: Layers, at: list[float], manner: Spacing = RIGHT) -> Placed:
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
    return Placed(corners, paths, here, across, starts, crossed=crossings(layers))


def gap(layers: Layers, at: list[float], row: Sequence[int], manner: Spacing) -> float:
    """The room behind a rank."""
    rises = [abs(at[x.a] + x.out - at[x.b] - x.into) for k in row for x in layers.after[k]]
    border = layers.is_border(row) or any([layers.is_border([x.b]) for k in row for x in layers.after[k]])
    return manner.gap * (BORDER if border else 1.0) + min(manner.most, manner.part * max(rises, default=0.0))
