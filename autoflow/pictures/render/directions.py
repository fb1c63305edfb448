"""Which way a picture is drawn: every way is tried, and the one that reads best is taken.

What fits on a page from left to right is drawn so, as one reads, and nothing is tried: most pictures are small. Of
larger ones all directions are laid out, and :mod:`~..layout.scoring` says what each would cost a reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from ..layout.layers import GAP, ranks
from ..layout.scoring import cost
from ..model.data import GraphData
from .cards import Card, cards
from .placing import place

WIDE = 1800.0  # pixels from left to right that one can read without scrolling, when the page makes them a bit smaller
TRIED = 150  # cards; of more than these the layouts would take longer than anybody waits
LONG = 12  # ranks from left to right
NARROW = 3  # arrows beside each other in what can be drawn in rows
WAYS = ("right", "rows", "down")
NUMBERED = 0.25  # the price of "down" in screens: an arrow cannot land on its operand's row, a number stands at its end


def best_direction(drawn: GraphData) -> str:
    """The direction of what is drawn, for a reader with a page of 1280 × 900."""
    rank = ranks(len(drawn.nodes), [(e.source, e.target) for e in drawn.edges])
    made = cards(drawn)
    room: dict[int, float] = {}
    for r, card in zip(rank, made, strict=True):
        room[r] = max(room.get(r, 0.0), card.width)
    if fsum(room.values()) + GAP * len(room) <= WIDE:
        return "right"
    if len(made) > TRIED:
        return guess(drawn, rank)
    return min(WAYS, key=lambda way: price(drawn, made, way))


def price(drawn: GraphData, made: Sequence[Card], direction: str) -> float:
    """What a direction costs the reader."""
    turned = replace(drawn, look=replace(drawn.look, direction=direction))
    widths = [card.width for card in made]
    plan, _ = place(turned, made, widths, direction == "down")
    covered = fsum([wide * card.height for wide, card in zip(widths, made, strict=True)])
    down = direction == "down"
    return cost(plan, [e.source for e in drawn.edges], covered, down) + NUMBERED * down


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
