"""The positions of cards and boxes: the question to the layout, and its answer.

The layout knows only sizes and the ends of arrows; here they are taken from the cards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..layout.layers import Box, Line, Plan, ranks, spine
from ..layout.nesting import Nesting, Room, is_down
from ..model.data import Frame, GraphData
from ..model.style import clip
from .cards import Card, CardLine, span

STRAIGHT = 1000.0  # how much more than others the arrows of the longest way want to be straight
HEADLINE = 26.0  # of an open box
BRIEF = 24  # characters behind the name of a box, where cards do without values
STRETCH = 1.35  # cards of a rank get one width, if none must grow more than that
Path = tuple[int, ...]
Area = tuple[float, float, float, float]  # of a box: along, across, size along, size across


def downward(graph: GraphData) -> list[bool]:
    """For each node: do arrows run from top to bottom around it?"""
    across = boxes_across(graph)
    known = {path: is_down(graph.look.direction, path, across) for path in {v.entered for v in graph.nodes}}
    return [known[v.entered] for v in graph.nodes]


def boxes_across(graph: GraphData) -> set[Path]:
    """The boxes that run to the right in a picture where others are read downwards: those of boxes, and sequences."""
    return {f.path[:-1] for f in graph.frames} | {f.path for f in graph.frames if f.sequence}


def place(graph: GraphData, drawn: Sequence[Card], widths: list[float]) -> tuple[Plan, dict[Path, Area]]:
    """Let the layout place cards and boxes. Changes ``widths`` where a rank gets one width."""
    rank = ranks(len(drawn), [(e.source, e.target) for e in graph.edges])
    downs = downward(graph)
    if graph.look.direction != "down":
        column = [(-1 - v.id if down else r, v.entered) for r, v, down in zip(rank, graph.nodes, downs, strict=True)]
        among: dict[object, list[float]] = {}
        for w, c in zip(widths, column, strict=True):
            among.setdefault(c, []).append(w)
        span = {c: (min(all_widths), max(all_widths)) for c, all_widths in among.items()}
        widths[:] = [
            span[c][1] if span[c][1] <= STRETCH * span[c][0] else w for w, c in zip(widths, column, strict=True)
        ]
    boxes = [box(graph, c, wide, down) for c, wide, down in zip(drawn, widths, downs, strict=True)]
    main = spine([(e.source, e.target) for e in graph.edges], rank, graph.outputs)
    lines = []
    for e in graph.edges:
        straight = (e.source, e.target) in main
        aim = boxes[e.target].output if straight else None
        source = graph.nodes[e.source]
        named = not source.operands or (source.named and not straight)
        out = None if e.result is None else leaving(drawn[e.source], e.result, widths[e.source], downs[e.source])
        lines.append(Line(e.source, e.target, e.slot, STRAIGHT if straight else 1.0, aim, out, named))
    rooms = {f.path: Room(HEADLINE, frame_line(f, graph.look.compact).room) for f in graph.frames}
    around = [v.entered for v in graph.nodes]
    return Nesting(boxes, lines, around, rooms, graph.look.direction, boxes_across(graph)).plan()


def frame_line(f: Frame, compact: bool | None) -> CardLine:
    """The headline of an open box: − name · what · parameter count; or just one of these, if the box is narrow."""
    told = clip(f.fold.text(), 60)
    if compact and len(told) > BRIEF:
        told = f.fold.count_text() or clip(told, BRIEF)
    return CardLine("head", (span("−", "word"), span(f.title, "title"), span(told, "word")))


def box(graph: GraphData, c: Card, wide: float, down: bool) -> Box:
    """The size of a card for the layout, and where its arrows begin and end."""
    rows = [row.slot for row in c.node.operands if row.source is not None]
    count = max(rows, default=-1) + 1
    if down:
        return Box(c.height, wide, tuple([wide * share(rows, s) for s in range(count)]), wide / 2, not rows)
    inputs = [centre(c, s) if c.row(s) else c.height * share(rows, s) for s in range(count)]
    return Box(wide, c.height, tuple(inputs), centre(c, 0) if c.row(0) else c.height / 2, not rows)


def leaving(c: Card, result: int, wide: float, down: bool) -> float:
    """Where the arrows of one of several results leave a card."""
    if down:
        return wide * (result + 1) / (len(c.node.results) + 1)
    place = c.out(result)
    return math.fsum([line.height for line in c.lines[:place]]) + c.lines[place].height / 2


def share(rows: Sequence[int], slot: int) -> float:
    """The place of an operand's arrow on an edge of the card; arrows are spaced evenly."""
    return (sum([r < slot for r in rows]) + 1) / (len(rows) + 1)


def centre(c: Card, slot: int) -> float:
    """The height of an operand's row."""
    row = c.row(slot)
    return math.fsum([line.height for line in c.lines[:row]]) + c.lines[row].height / 2
