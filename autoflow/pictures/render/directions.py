"""Which way a picture is drawn: every way is tried, and the one that reads best is taken.

What fits on a page from left to right is drawn so, as one reads, and nothing is tried: most pictures are small. Of
larger ones all directions are laid out, and :mod:`~..layout.scoring` says what each would cost a reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from ..folding.views import visible_picture
from ..layout.layers import GAP, ranks
from ..layout.scoring import cost
from ..model.data import GraphData, Picture, Vertex
from .cards import Card, cards
from .placing import place

WIDE = 1800.0  # pixels from left to right that one can read without scrolling, when the page makes them a bit smaller
TALL = 1490.0  # pixels from top to bottom, above which more is folded; a legend and margins are added to that
BROAD = 2300.0  # pixels from left to right; a picture within both comes before every other
SCREEN = 1000.0  # pixels from top to bottom, above which cards get smaller
TIGHTER = ((3, 40), (3, 24), (3, 12))  # equal parts that are all drawn, and cards, if the picture would be that tall
TRIED = 150  # cards; trying all layouts of more would take too long
LONG = 12  # ranks from left to right
NARROW = 3  # parallel arrows in a picture that can be drawn in rows
WAYS = ("right", "rows", "down")
NUMBERED = 0.25  # the price of "down", in screens: arrows cannot end at their operand's row, only at its number
TIME = 2.5  # the worth, in screens, of drawing the parts of a sequence next to each other, as time runs


def fit_picture(graph: Picture) -> Picture:
    """The picture in the direction that reads best. If it is large then, its cards do without values; if it is very
    tall, sequences and boxes in it fold further."""
    graph, may = replace(graph, look=replace(graph.look, compact=False)), graph.look.compact is None
    shown = visible_picture(graph)
    way, height = best_way(shown)
    if may and graph.look.detail == "arrays" and (height > SCREEN or way == "boxes"):
        graph = replace(graph, look=replace(graph.look, compact=True))
        shown = visible_picture(graph)
        way, height = best_way(shown)
    for alike, few in TIGHTER if graph.look.fold and graph.look.depth is None and not graph.look.open else ():
        if height <= TALL:
            break
        tried = replace(graph, look=replace(graph.look, alike=alike, few=few))
        if len(visible_picture(tried).nodes) < len(shown.nodes):
            graph, shown = tried, visible_picture(tried)
            way, height = best_way(shown)
    answer = replace(graph, look=replace(graph.look, direction=way))
    answer.__dict__["drawn"] = replace(shown, look=answer.look)  # need not be looked for again
    return answer


def best_way(drawn: GraphData) -> tuple[str, float]:
    """The direction of what is drawn, for a reader with a page of 1280 × 900, and how high the picture is then."""
    rank = ranks(len(drawn.nodes), [(e.source, e.target) for e in drawn.edges])
    made = cards(drawn)
    room: dict[int, float] = {}
    for r, card in zip(rank, made, strict=True):
        room[r] = max(room.get(r, 0.0), card.width)
    if fsum(room.values()) + GAP * len(room) <= WIDE:
        return "right", 0.0
    if len(made) > TRIED:
        return guess(drawn, rank), 0.0
    tried = [(*price(drawn, made, way), way) for way in ((*WAYS, "boxes") if drawn.frames else WAYS)]
    _, _, height, way = min(tried, key=lambda one: (one[1] > BROAD or one[2] > TALL, one[0]))
    return way, height


def price(drawn: GraphData, made: Sequence[Card], direction: str) -> tuple[float, float, float]:
    """What a direction costs the reader, the width and the height."""
    turned = replace(drawn, look=replace(drawn.look, direction=direction))
    widths = [card.width for card in made]
    plan, _ = place(turned, made, widths)
    covered = fsum([wide * card.height for wide, card in zip(widths, made, strict=True)])
    down = direction == "down"
    extra = NUMBERED * (down or direction == "boxes")
    if direction == "boxes" and any([f.sequence for f in drawn.frames] + [is_sequence(v) for v in drawn.nodes]):
        extra -= TIME
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    return cost(plan, [e.source for e in drawn.edges], covered, down) + extra, wide, high


def is_sequence(v: Vertex) -> bool:
    """Is it the card for all but the first and the last part of a sequence?"""
    return v.fold is not None and v.fold.sequence


def guess(drawn: GraphData, rank: Sequence[int]) -> str:
    """In rows if few arrows turn round there, else downwards."""
    turning: Counter[int] = Counter()  # arrows across the end of each rank; those of leaves may be cut
    ends: dict[int, int] = {}
    for e in drawn.edges:
        if drawn.nodes[e.source].operands:
            ends[e.source] = max(ends.get(e.source, 0), rank[e.target])
    for source, end in ends.items():
        turning.update(range(rank[source], end))
    if max(turning.values(), default=0) <= NARROW:
        return "rows"
    return "right" if max(rank) < LONG else "down"
