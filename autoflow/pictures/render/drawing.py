"""From a graph to the display list: cards, boxes, arrows, and the legend below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ..folding import views
from ..layout.layers import Placed
from ..layout.nesting import is_down
from ..model.data import Edge, Frame, GraphData
from ..model.style import clip, width
from .cards import Card, cards, draw_line, flow_levels
from .display import Drawing, Group, Item, Path, Point, Polygon, Rect, Step, Text, Title, step, tenth
from .placing import HEADLINE, MARGIN, Area, boxes_across, downward, frame_line, place, share, with_legend

CORNER = 8.0  # radius, where an arrow turns down
HEAD = 0.62  # width of an arrow's head, as a part of its length


def drawing_of(graph: GraphData) -> Drawing:
    """The picture in our own layout, whatever its engine."""
    graph = views.visible_picture(graph)
    drawn = cards(graph)
    down = graph.look.direction == "down"
    widths = [c.width for c in drawn]
    plan, frames = place(graph, drawn, widths)
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    below, below_wide, total, height = with_legend(graph, wide, high)
    left = (total - wide) / 2  # the picture is centred above its legend
    items: list[Item] = [draw_frame(f, frames[f.path], down, left) for f in graph.frames]
    items += arrows(graph, plan, frames, left)
    items += [draw_headline(f, frames[f.path], down, left, graph.look.compact) for f in graph.frames]
    for c, corner, card_wide in zip(drawn, plan.corners, widths, strict=True):
        items.append(draw_card(graph, c, corner_of(corner, down, left), card_wide))
    items += ports(graph, drawn, plan, left, widths)
    items += stubs(graph, drawn, plan, left, widths)
    if below:
        items.append(Group(tuple(below), (tenth((total - below_wide) / 2), tenth(high + 2 * MARGIN))))
    return Drawing(math.ceil(total), math.ceil(height), graph.look.theme, tuple(items))


def corner_of(place: Sequence[float], down: bool, left: float) -> Point:
    """Where something begins that the layout has placed."""
    x, y = (place[1], place[0]) if down else (place[0], place[1])
    return tenth(x + left), tenth(y + MARGIN)


def draw_frame(f: Frame, area: Area, down: bool, left: float) -> Group:
    """An open box, behind what is in it."""
    wide, high = (area[3], area[2]) if down else area[2:]
    words = Title(f"{f.title}: {', '.join(f.fold.content())}")
    return Group((words, Rect("box", None, None, tenth(wide), tenth(high), 16)), corner_of(area, down, left), ("sco",))


def draw_headline(f: Frame, area: Area, down: bool, left: float, compact: bool | None) -> Group:
    """What is written in an open box, above the arrows that enter it there."""
    line = frame_line(f, compact)
    back = Rect("band", 8, 4, tenth(line.room - 16), HEADLINE - 2, 8)
    texts = draw_line(line, HEADLINE / 2 + 3, line.room)
    return Group((back, *texts), corner_of(area, down, left), ("sco",))


def arrows(graph: GraphData, plan: Placed, frames: dict[tuple[int, ...], Area], left: float) -> list[Group]:
    """All arrows, the thickest on top."""
    pairs = []
    faded = set(graph.faded)
    down = graph.look.direction == "down"
    across = boxes_across(graph)
    turned = [area for path, area in frames.items() if is_down(graph.look.direction, path, across)]
    for e, path, level in zip(graph.edges, plan.paths, flow_levels(graph), strict=True):
        points = [(p[1] + left, p[0] + MARGIN) if down else (p[0] + left, p[1] + MARGIN) for p in path]
        downs = [down or any([within(a, b, area) for area in turned]) for a, b in pairwise(path)]
        wide = 1.3 if level is None else 1.2 + 3.0 * level
        kind = f"f{round(4 * level)}" if level is not None else "plain" if e.flows else "fixed"
        states = (kind, "faded") if e.source in faded or e.target in faded else (kind,)
        shapes = (*curve(points, wide, downs), Title(tip(graph, e)))
        pairs.append((wide, Group(shapes, None, states, f"e{e.source}-{e.target}-{e.slot}")))
    return [group for _, group in sorted(pairs, key=lambda pair: pair[0])]


def within(a: Point, b: Point, area: Area) -> bool:
    """Is the piece from a to b in a box?"""
    x, y, wide, high = area
    return all([x < p[0] < x + wide and y < p[1] < y + high for p in (a, b)])


def tip(graph: GraphData, e: Edge) -> str:
    """What an arrow says when one points at it."""
    source, target = graph.nodes[e.source], graph.nodes[e.target]
    words = f"{source.carried(e.result).title} → {target.title}, operand {e.slot + 1}"
    if e.sent is not None:
        words += f": sends back {e.sent.text(graph.look.digits)}"
    return words if e.flows else words + ": no gradient"


def curve(points: Sequence[Point], wide: float, downs: Sequence[bool]) -> tuple[Path, Polygon]:
    """A path through the points, and its head. ``downs``: which pieces run down, which to the right."""
    length = 8.0 + 1.1 * wide
    down = downs[-1]
    tip_x, tip_y = points[-1]
    end = (tip_x, tip_y - length + 1) if down else (tip_x - length + 1, tip_y)
    steps = [step("M", *points[0])]
    for i in range(1, len(points) - 1, 2):
        (ax, ay), (bx, by) = points[i], points[i + 1] if i + 2 < len(points) else end
        if corner := bend(points, i):
            steps += corner
            continue
        steps += [step("L", ax, ay)] if (ax, ay) != points[i - 1] else []
        middle_x, middle_y = (ax + bx) / 2, (ay + by) / 2
        if not downs[i] and abs(ax - bx) < 0.6:  # the end of a row: turn round
            turn = (10.0 + min(14.0, abs(ay - by) / 8)) * (-1 if points[i - 1][0] > ax else 1)
            steps.append(step("C", ax + turn, ay, bx + turn, by, bx, by))
        elif abs(ax - bx if downs[i] else ay - by) < 0.6:
            steps.append(step("L", bx, by))
        elif downs[i]:
            steps.append(step("C", ax, middle_y, bx, middle_y, bx, by))
        else:
            steps.append(step("C", middle_x, ay, middle_x, by, bx, by))
    half = HEAD * length / 2 + 0.4 * wide
    back = [(-half, -length), (half, -length)] if down else [(-length, -half), (-length, half)]
    head = [(tenth(tip_x + dx), tenth(tip_y + dy)) for dx, dy in [(0.0, 0.0), *back]]
    return Path("", tuple(steps), f"{wide:.2f}"), Polygon("", tuple(head))


def bend(points: Sequence[Point], i: int) -> list[Step]:
    """A rounded corner at point i, where a path that ran across turns down, or the other way round; else nothing."""
    if points[i] != points[i + 1] or i + 2 >= len(points):
        return []
    (ax, ay), (x, y), (bx, by) = points[i - 1], points[i], points[i + 2]
    if (abs(ax - x) > 0.6 and abs(ay - y) > 0.6) or (abs(ax - x) < 0.6) == (abs(bx - x) < 0.6):
        return []
    ends = []
    for ex, ey in ((ax, ay), (bx, by)):
        reach = min(CORNER, math.dist((x, y), (ex, ey)) / 2)
        ends += [x + math.copysign(reach, ex - x) * (abs(ex - x) > 0.6)]
        ends += [y + math.copysign(reach, ey - y) * (abs(ey - y) > 0.6)]
    return [step("L", *ends[:2]), step("C", x, y, x, y, *ends[2:])]


def draw_card(graph: GraphData, c: Card, corner: Point, wide: float) -> Group:
    """One node."""
    states = [c.short] + ["out"] * c.node.output + ["alarm"] * c.alarm + ["faded"] * (c.node.id in graph.faded)
    operation = c.short == "op"
    parts: list[Item] = [Title(card_tip(graph, c))]
    parts.append(Rect("box", None, None, tenth(wide), tenth(c.height), 0 if operation else 13))
    if operation:
        inset = 1.7 if c.node.output else 0.75
        parts.append(Rect("band", inset, inset, tenth(wide - 2 * inset), tenth(c.lines[0].height - inset)))
    top = 0.0
    for line in c.lines:
        if operation and line.kind == ("result" if c.node.results else "foot"):
            parts.append(Path("rule", (step("M", 0.0, top), step("H", wide))))
        parts += draw_line(line, top + line.height / 2, wide)
        top += line.height
    return Group(tuple(parts), corner, tuple(states), f"n{c.node.id}")


def card_tip(graph: GraphData, c: Card) -> str:
    """What a node says when one points at it."""
    node, digits = c.node, graph.look.digits
    if node.fold:
        return f"{node.title}: " + ", ".join([*filter(None, [node.fold.text()]), *node.fold.content()])
    words = f"{node.title}: {node.kind}" + (f" {node.word}" if node.kind == "Operation" else "")
    amounts = [f"{r.title} = {r.value.text(digits)}" for r in node.results]
    words += f": {', '.join(amounts)}" if amounts else f" = {node.value.text(digits)}"
    if node.value.shape:
        words += f", shape {node.value.shape_text()}"
    return words + (f", {graph.partial(node)} = {node.gradient.text(digits)}" if node.gradient else "")


def ports(graph: GraphData, drawn: Sequence[Card], plan: Placed, left: float, widths: Sequence[float]) -> list[Text]:
    """Arrows from top to bottom cannot end at rows: the operands' numbers are at the upper edge."""
    labels = []
    for c, (along, across), wide, down in zip(drawn, plan.corners, widths, downward(graph), strict=True):
        if not down:
            continue
        if graph.look.direction == "boxes":
            along, across = across, along
        rows = [row.slot for row in c.node.operands if row.source is not None]
        for slot in [row.slot for row in c.node.rows if row.source is not None] if len(c.node.operands) > 1 else []:
            x, y = across + left + wide * share(rows, slot) + 9, along + MARGIN - 5
            labels.append(Text("slot", None, tenth(x), tenth(y), str(slot + 1)))
    return labels


def stubs(graph: GraphData, drawn: Sequence[Card], plan: Placed, left: float, widths: Sequence[float]) -> list[Text]:
    """Labels of an arrow that is cut: its value's name above its second part, its target's name below the card that it
    leaves. In a page a click on one leads to the other."""
    labels: dict[Point, Text] = {}  # several may begin at one place: one name
    goals: dict[int, dict[int, str]] = {}
    for k in sorted(plan.stubs):
        along, across = plan.paths[k][0]
        end = max([x for x, y in plan.paths[k][:3] if y == across])  # of its straight part
        edge = graph.edges[k]
        goals.setdefault(edge.source, {})[edge.target] = graph.nodes[edge.target].title
        title = graph.nodes[edge.source].carried(edge.result).title
        fits = [clip(title, longest) for longest in (12, 8, 5) if width(clip(title, longest), "parts") < end - along]
        at = tenth(along + left), tenth(across + MARGIN - 5)
        if fits:
            labels[at] = Text("parts", edge.source, *at, fits[0])
    for source, targets in goals.items():
        (along, across), card = plan.corners[source], drawn[source]
        goto, title = next(iter(targets.items()))
        words = clip(title, 16) if len(targets) == 1 else f"{len(targets)} uses below"
        at = tenth(along + left + widths[source]), tenth(across + MARGIN + card.height + 11)
        labels[at] = Text("parts", goto, *at, f"→ {words}", "end")
    return list(labels.values())
