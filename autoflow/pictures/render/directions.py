"""Which way a picture is drawn: every way is tried, and the one that reads best is taken.

What fits on a page from left to right is drawn so, as one reads, and nothing is tried: most pictures are small. Of
larger ones all directions are laid out, and :mod:`~..layout.scoring` says what each would cost a reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from ..folding.views import visible_picture, with_look
from ..layout.layers import APART, GAP, ranks
from ..layout.scoring import cost
from ..model.data import GraphData, Picture
from .cards import Card, cards
from .placing import place

WIDE = 1560.0  # pixels from left to right that one can read without scrolling, when the page makes them a bit smaller
TALL = 1490.0  # pixels from top to bottom, above which more is folded; a legend and margins are added to that
PILE = 1000.0  # pixels of cards of one rank; the arrows between them need room as well
BROAD = 1600.0  # pixels from left to right; a picture within both comes before every other
SCREEN = 1000.0  # pixels from top to bottom, above which cards get smaller
TIGHTER = (
    (3, 40),
    (3, 28),
    (3, 18),
    (3, 10),
)  # equal parts that are all drawn, and cards, if it would be larger
TRIED = 150  # cards; trying all layouts of more would take too long
ARROWS = 200  # of pictures with more, crossings would take seconds to count
LONG = 12  # ranks from left to right
NARROW = 3  # parallel arrows in a picture that can be drawn in rows
WAYS = ("right", "rows", "down")
NUMBERED = 0.25  # the price of "down", in screens: arrows cannot end at their operand's row, only at its number
TIME = 2.5  # the worth, in screens, of drawing the parts of a sequence next to each other, as time runs


def fit_picture(graph: Picture) -> Picture:
    """The picture in the direction that reads best. If it is large then, its cards do without values; if it is very
    large, sequences and boxes in it fold further."""
    graph, may = replace(graph, look=replace(graph.look, compact=False)), graph.look.compact is None
    shown = visible_picture(graph)
    way, size = best_way(shown)
    if may and graph.look.detail == "arrays" and (size[1] > SCREEN or way == "boxes" or has_sequence(shown)):
        graph = with_look(graph, compact=True)
        shown = visible_picture(graph)
        way, size = best_way(shown)
    whole = graph
    for alike, few in TIGHTER if graph.look.fold and graph.look.depth is None and not graph.look.open else ():
        if excess(size) <= 1.0:
            break
        tried = with_look(whole, alike=alike, few=few)
        drawn = visible_picture(tried)
        if len(drawn.nodes) < len(shown.nodes):
            new, found = best_way(drawn)
            if excess(found) < excess(size):
                graph, shown, way, size = tried, drawn, new, found
    answer = with_look(graph, direction=way)
    answer.__dict__["drawn"] = replace(shown, look=answer.look)  # need not be looked for again
    return answer


def excess(size: tuple[float, float]) -> float:
    """How many times as wide or as high as it should be a picture is."""
    return max(size[0] / BROAD, size[1] / TALL)


def best_way(drawn: GraphData) -> tuple[str, tuple[float, float]]:
    """The direction of what is drawn, for a reader with a page of 1280 × 900, and the width and height that it has
    then: 0 if it fits anyway."""
    rank = ranks(len(drawn.nodes), [(e.source, e.target) for e in drawn.edges])
    made = cards(drawn)
    room: dict[int, float] = {}
    pile: dict[int, float] = {}
    for r, card in zip(rank, made, strict=True):
        room[r] = max(room.get(r, 0.0), card.width)
        pile[r] = pile.get(r, 0.0) + card.height + APART
    if fsum(room.values()) + GAP * len(room) <= WIDE and max(pile.values(), default=0.0) <= PILE:
        return "right", (0.0, 0.0)
    if len(made) > TRIED or len(drawn.edges) > ARROWS:
        return guess(drawn, rank), (0.0, 0.0)
    tried = [(*price(drawn, made, way), way) for way in ((*WAYS, "boxes") if drawn.frames else WAYS)]
    _, wide, high, way = min(tried, key=lambda one: (one[1] > BROAD or one[2] > TALL, one[0]))
    return way, (wide, high)


def price(drawn: GraphData, made: Sequence[Card], direction: str) -> tuple[float, float, float]:
    """What a direction costs the reader, the width and the height."""
    turned = replace(drawn, look=replace(drawn.look, direction=direction))
    widths = [card.width for card in made]
    plan, _ = place(turned, made, widths)
    covered = fsum([wide * card.height for wide, card in zip(widths, made, strict=True)])
    down = direction == "down"
    extra = NUMBERED * (down or direction == "boxes")
    if direction == "boxes" and has_sequence(drawn):
        extra -= TIME
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    return cost(plan, [e.source for e in drawn.edges], covered, down) + extra, wide, high


def has_sequence(drawn: GraphData) -> bool:
    """Are there parts of a sequence, or the card for all but the first and the last of them?"""
    return any([f.sequence for f in drawn.frames] + [v.fold.sequence for v in drawn.nodes if v.fold])


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
