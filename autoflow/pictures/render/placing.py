"""The positions of cards and boxes, and the direction in which a picture is drawn.

Positions: the question to the layout, and its answer. The layout knows only sizes and the ends of arrows; here they are
taken from the cards.

Directions: a picture that fits on a page from left to right is drawn so, as one reads, and nothing else is tried: most
pictures are small. Larger ones are laid out in all directions, and :func:`~..layout.arrange.cost` says what each would
cost a reader. The one that reads best is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import fsum

from ...base.groups import grouped
from ..folding.choose import FEWEST
from ..folding.views import boxes_of, visible_picture, with_look
from ..layout.arrange import PAGE, RIGHT, cost
from ..layout.layers import APART, GAP, Arrow, NodeBox, Placed, ranks, spine
from ..layout.nesting import Nesting, Room, is_down
from ..model.data import Frame, GraphData, Picture
from ..model.style import clip
from .cards import Card, CardLine, cards, span
from .display import Item
from .dot import legend

# ---------------------------------------------------------------- positions: the question to the layout, and its answer

STRAIGHT = 1000.0  # how much more than others the arrows of the longest way want to be straight
HEADLINE = 26.0  # of an open box
BRIEF = 24  # characters behind the name of a box, where cards do without values
STRETCH = 1.35  # cards of a rank get one width, if none must grow more than that
Path = tuple[int, ...]
Area = tuple[float, float, float, float]  # of a box: along, across, size along, size across


def downward(graph: GraphData) -> list[bool]:
    """For each node: do arrows run from top to bottom around it?"""
    across = boxes_across(graph)
    is_down_at = {path: is_down(graph.look.direction, path, across) for path in {v.entered for v in graph.nodes}}
    return [is_down_at[v.entered] for v in graph.nodes]


def boxes_across(graph: GraphData) -> set[Path]:
    """The boxes that run to the right in a picture where others are read downwards: those of boxes, and sequences."""
    return {f.path[:-1] for f in graph.frames} | {f.path for f in graph.frames if f.sequence}


def place(graph: GraphData, drawn: Sequence[Card], widths: list[float]) -> tuple[Placed, dict[Path, Area]]:
    """Let the layout place cards and boxes. Changes ``widths`` where a rank gets one width."""
    rank = ranks(len(drawn), [(e.source, e.target) for e in graph.edges])
    downs = downward(graph)
    if graph.look.direction != "down":
        column = [(-1 - v.id if down else r, v.entered) for r, v, down in zip(rank, graph.nodes, downs, strict=True)]
        among = grouped(zip(column, widths, strict=True))
        one = {c: max(some) for c, some in among.items() if max(some) <= STRETCH * min(some)}
        widths[:] = [one.get(c, w) for w, c in zip(widths, column, strict=True)]
    boxes = [box(c, wide, down) for c, wide, down in zip(drawn, widths, downs, strict=True)]
    main = spine([(e.source, e.target) for e in graph.edges], rank, graph.outputs)
    lines = []
    for e in graph.edges:
        straight = (e.source, e.target) in main
        aim = boxes[e.target].output if straight else None
        source = graph.nodes[e.source]
        named = not source.operands or (source.named and not straight)
        out = None if e.result is None else leaving(drawn[e.source], e.result, widths[e.source], downs[e.source])
        lines.append(Arrow(e.source, e.target, e.slot, STRAIGHT if straight else 1.0, aim, out, named))
    rooms = {f.path: Room(HEADLINE, frame_line(f, graph.look.compact).room) for f in graph.frames}
    around = [v.entered for v in graph.nodes]
    return Nesting(boxes, lines, around, rooms, graph.look.direction, boxes_across(graph)).plan()


def frame_line(f: Frame, compact: bool | None) -> CardLine:
    """The headline of an open box: − name · what · parameter count; or just one of these, if the box is narrow."""
    text = clip(f.fold.text(), 60)
    if compact and len(text) > BRIEF:
        text = f.fold.count_text() or clip(text, BRIEF)
    return CardLine("head", (span("−", "word"), span(f.title, "title"), span(text, "word")))


def box(c: Card, wide: float, down: bool) -> NodeBox:
    """The size of a card for the layout, and where its arrows begin and end."""
    rows = [row.slot for row in c.node.operands if row.source is not None]
    count = max(rows, default=-1) + 1
    if down:
        return NodeBox(c.height, wide, tuple([wide * share(rows, s) for s in range(count)]), wide / 2, not rows)
    inputs = [middle(c, c.row(s)) if c.row(s) else c.height * share(rows, s) for s in range(count)]
    return NodeBox(wide, c.height, tuple(inputs), middle(c, c.row(0)) if c.row(0) else c.height / 2, not rows)


def leaving(c: Card, result: int, wide: float, down: bool) -> float:
    """Where the arrows of one of several results leave a card."""
    return wide * (result + 1) / (len(c.node.results) + 1) if down else middle(c, c.out(result))


def share(rows: Sequence[int], slot: int) -> float:
    """The place of an operand's arrow on an edge of the card; arrows are spaced evenly."""
    return (sum([r < slot for r in rows]) + 1) / (len(rows) + 1)


def middle(c: Card, place: int) -> float:
    """How far down the middle of a line is."""
    return fsum([line.height for line in c.lines[:place]]) + c.lines[place].height / 2


# ---------------------------------------------------------------- directions: every way is tried


MARGIN = 18.0  # around the picture, and below it
LEGEND = 460.0  # the legend of a small picture may be that wide
SIDES = 40.0  # pixels from left to right that an open box takes
SURE = (PAGE[0] - 2 * MARGIN, 780.0)  # a picture of that size fits, with most legends
TIGHTER = 3  # equal parts that are all drawn, if the picture would be larger
STEP = 8  # one in that many cards less is tried then
NEAR = 0.28  # a picture no more than that, in screens, beside or below the page does not fold to fewer than FEWEST
FAR = 0.8  # the same where sections would be cut
TRIED = 150  # cards; trying all layouts of more would take too long
LONG = 12  # ranks from left to right
NARROW = 3  # parallel arrows in a picture that can be drawn in rows
WAYS = ("right", "rows", "down")
NUMBERED = 0.25  # the price of "down", in screens: arrows cannot end at their operand's row, only at its number
TIME = 2.5  # the worth, in screens, of drawing the parts of a sequence next to each other, as time runs


def fit_picture(graph: Picture) -> Picture:
    """The picture in the direction that reads best, with images of matrices if there is room for them. If it is larger
    than the page then, its cards do without values; if that is not enough, sequences and boxes in it fold further. It
    is not cut into sections, which no program knows, as long as the page scrolls no more than a little."""
    graph, may = replace(graph, look=replace(graph.look, compact=False)), graph.look.compact is None
    picture = visible_picture(graph)
    way, over = best_way(picture)
    if may and (over or way == "boxes" or has_sequence(picture)):
        graph = with_look(graph, compact=True)
        way, over = best_way(visible_picture(graph))
    elif may and any([x is not None and x.image for v in picture.nodes for x in (v.value, v.gradient)]):
        tried = with_look(graph, images=True)
        graph = tried if best_way(visible_picture(tried)) == (way, over) else graph
    whole, may = graph, graph.look.fold and graph.look.depth is None and not graph.look.open
    if over and may:
        folded = partial(with_look, whole, alike=TIGHTER)
        graph, way, over = fold_further(graph, way, over, lambda few: uncut(folded(few=few)), 0.0)
        allowed = NEAR if any([v.scope for v in graph.nodes]) else FAR
        graph, way, _ = fold_further(graph, way, over, lambda few: folded(few=few), allowed)
    answer = with_look(graph, direction=way)
    answer.__dict__["drawn"] = replace(visible_picture(graph), look=answer.look)  # need not be looked for again
    return answer


def uncut(graph: Picture) -> Picture | None:
    """The picture, unless it has sections."""
    return None if boxes_of(graph)[0].sections else graph


def fold_further(
    graph: Picture, way: str, over: float, again: Callable[[int], Picture | None], allowed: float
) -> tuple[Picture, str, float]:  # fmt: skip
    """The first picture with fewer cards that is no more than ``allowed`` beyond the page, or the one that is least
    beyond it, its direction, and how far it is. ``again`` draws it with at most that many cards, if it can."""
    best, least = (graph, way), over
    few = cards = len(visible_picture(graph).nodes)
    while least > allowed and few > FEWEST and (tried := again(few := few - max(1, few // STEP))) is not None:
        drawn = visible_picture(tried)
        if least <= NEAR and not FEWEST <= len(drawn.nodes) < cards:
            break
        if len(drawn.nodes) >= cards:  # fewer are allowed, but there are none fewer
            continue
        few = cards = min(few, len(drawn.nodes))
        way, over = best_way(drawn)
        if over < least:
            best, least = (tried, way), over
    return *best, least


def best_way(drawn: GraphData) -> tuple[str, float]:
    """The direction of what is drawn, for a reader with a page of 1280 × 900, and how much of it, in screens, is beside
    or below the page then."""
    rank = ranks(len(drawn.nodes), [(e.source, e.target) for e in drawn.edges])
    drawn_cards = cards(drawn)
    room: dict[int, float] = {}
    pile: dict[int, float] = {}
    for r, card in zip(rank, drawn_cards, strict=True):
        room[r] = max(room.get(r, 0.0), card.width)
        pile[r] = pile.get(r, 0.0) + card.height + APART
    frames = SIDES * max([len(f.path) for f in drawn.frames], default=0)
    wide, high = fsum(room.values()) + GAP * len(room) + frames, max(pile.values(), default=0.0) + frames
    sure = not frames and wide + RIGHT.most * len(room) <= SURE[0]  # however much room curves take
    if wide <= SURE[0] and high <= SURE[1] and (sure or not price(drawn, drawn_cards, "right")[1]):
        return "right", 0.0
    if len(drawn_cards) > TRIED:
        return guess(drawn, rank), 0.0
    tried = [(*price(drawn, drawn_cards, way), way) for way in ((*WAYS, "boxes") if drawn.frames else WAYS)]
    _, over, way = min(tried, key=lambda one: (one[1] > 0.0, one[0] + one[1]))
    return way, over


def price(drawn: GraphData, made: Sequence[Card], direction: str) -> tuple[float, float]:
    """What a direction costs the reader, and how much of the picture, in screens, is beside or below the page."""
    turned = replace(drawn, look=replace(drawn.look, direction=direction))
    widths = [card.width for card in made]
    plan, _ = place(turned, made, widths)
    covered = fsum([wide * card.height for wide, card in zip(widths, made, strict=True)])
    down = direction == "down"
    extra = NUMBERED * (down or direction == "boxes")
    extra -= TIME * (direction == "boxes" and has_sequence(drawn))
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    _, _, *size = with_legend(turned, wide, high)
    over = fsum([max(0.0, pixels / most - 1.0) for pixels, most in zip(size, PAGE, strict=True)])
    return cost(plan, [e.source for e in drawn.edges], covered, down) + extra, over


def with_legend(graph: GraphData, wide: float, high: float) -> tuple[list[Item], float, float, float]:
    """The legend, its width, and the size of the whole picture around a drawing of that size."""
    below, below_wide, below_high = legend(graph, max(wide, LEGEND))
    total = high + 2 * MARGIN + (below_high + MARGIN) * bool(below)
    return below, below_wide, max(wide, below_wide) + 2 * MARGIN, total


def has_sequence(drawn: GraphData) -> bool:
    """Are there parts of a sequence, or the card for all but the first and the last of them?"""
    return any([f.sequence for f in drawn.frames] + [v.fold.sequence for v in drawn.nodes if v.fold])


def guess(drawn: GraphData, rank: Sequence[int]) -> str:
    """In rows if few arrows turn round there, else downwards."""
    turning: Counter[int] = Counter()  # arrows across the end of each rank; those of leaves may be cut
    ends = grouped([(e.source, rank[e.target]) for e in drawn.edges if drawn.nodes[e.source].operands])
    for source, target_ranks in ends.items():
        turning.update(range(rank[source], max(target_ranks)))
    if max(turning.values(), default=0) <= NARROW:
        return "rows"
    return "right" if max(rank) < LONG else "down"
