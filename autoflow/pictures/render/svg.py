"""The picture as SVG: one self-contained text, without scripts, links, fonts or ids.

The style sheet comes first. Colours are CSS custom properties, so that one file can follow the reader's light or dark
screen; in front of each is the plain light colour, for programs that do not know such properties. All rules begin with
one class, so that pictures on one page do not disturb each other. That class is made from the content: equal pictures
are equal texts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from xml.sax.saxutils import escape

from ..folding import views
from ..layout.layers import Plan, Point
from ..layout.nesting import is_down
from ..model.data import Edge, Frame, GraphData
from ..model.style import DARK, LIGHT, MONO, SANS, SHORT, STYLES, THEMES, clip, width
from .cards import Card, cards, draw_line, flow_levels, n
from .dot import legend
from .placing import HEADLINE, Area, Path, boxes_across, downward, frame_line, place, share

# ---------------------------------------------------------------- the style sheet


def style_sheet(name: str, theme: str) -> str:
    """All rules, below the class ``name``."""

    def paint(what: str, key: str) -> str:
        return f"{what}:{THEMES[theme][key]}" if theme != "auto" else f"{what}:{LIGHT[key]};{what}:var(--{key})"

    rules = [("text", f"font-family:{SANS}"), (".bg", paint("fill", "bg")), ("path", "fill:none")]
    for key, (family, size, bold, colour) in STYLES.items():
        font = f"font-size:{size:g}px" + f";font-family:{MONO}" * (family == "mono") + ";font-weight:700" * bold
        rules.append((f".{key}", font))
        if "@" in colour:
            rules += [(f".{short} .{key}", paint("fill", colour.replace("@", short))) for short in SHORT.values()]
        else:
            rules.append((f".{key}", paint("fill", colour)))
    for short in SHORT.values():
        rules.append(
            (
                f".{short} .box",
                paint("fill", short + "-fill") + ";" + paint("stroke", short + "-line") + ";stroke-width:1.5",
            )
        )
        rules.append((f".{short} .band", paint("fill", short + "-head")))
        rules.append((f".{short} .rule", paint("stroke", short + "-line")))
    rules += [
        (".con .box", "stroke-dasharray:6 4"),
        (".faded", "opacity:.3"),
        (".out .box", "stroke-width:3.4"),
        (".alarm .box", paint("stroke", "warn") + ";stroke-width:3"),
        (".ring", "fill:none;" + paint("stroke", "sub")),
        (".full", paint("fill", "grad")),
        (".empty", "fill:none;stroke-width:.7;" + paint("stroke", "sub")),
        (".fixed path", "stroke-dasharray:6 4"),
    ]
    for key, colour in [("plain", "edge"), ("fixed", "con-line"), *[(f"f{i}", f"flow{i}") for i in range(5)]]:
        rules += [(f".{key} path", paint("stroke", colour)), (f".{key} polygon", paint("fill", colour))]
    return properties(name, theme) + "\n".join([f".{name} {selector}{{{text}}}" for selector, text in rules])


def properties(name: str, theme: str) -> str:
    """The custom properties: light, and dark where the reader's system is, or the notebook around the picture."""
    if theme != "auto":
        return f".{name}{{color-scheme:{theme}}}\n"
    light, dark = [";".join([f"--{k}:{v}" for k, v in colours.items()]) for colours in (LIGHT, DARK)]
    return (
        f".{name}{{{light}}}\n@media screen and (prefers-color-scheme:dark){{.{name}{{{dark}}}}}\n"
        f"[data-jp-theme-light=true] .{name},.vscode-light .{name},html[theme=light] .{name}{{{light}}}\n"
        f"[data-jp-theme-light=false] .{name},.vscode-dark .{name},html[theme=dark] .{name}{{{dark}}}\n"
    )


# ---------------------------------------------------------------- the picture: boxes, arrows, cards


FITS = 'style="max-width:100%;height:auto"'  # in a narrow page the picture shrinks, and is not cut off
MARGIN = 18.0
LEGEND = 460.0  # the legend of a small picture may be that wide
LINK = 'role="link" tabindex="0" data-goto'
CORNER = 8.0  # radius, where an arrow turns down
HEAD = 0.62  # width of an arrow's head, as a part of its length


def to_svg(graph: GraphData) -> str:
    """The whole file."""
    if graph.look.engine == "dot":
        from .dot import dot_svg

        text, reason = dot_svg(graph)
        if text:
            return text
        graph = replace(graph, notes=(*graph.notes, f"{reason}; drew with the built-in layout"))
    recorded, graph = graph, views.visible_picture(graph)
    drawn = cards(graph)
    down = graph.look.direction == "down"
    widths = [c.width for c in drawn]
    plan, frames = place(graph, drawn, widths)
    wide, high = (plan.across, plan.along) if down else (plan.along, plan.across)
    below, below_wide, below_high = legend(graph, max(wide, LEGEND))
    total = max(wide, below_wide) + 2 * MARGIN
    left = (total - wide) / 2  # the picture is centred above its legend
    pieces = [draw_frame(f, frames[f.path], down, left) for f in graph.frames]
    pieces += arrows(graph, plan, frames, left)
    pieces += [draw_headline(f, frames[f.path], down, left, graph.look.compact) for f in graph.frames]
    for c, corner, card_wide in zip(drawn, plan.corners, widths, strict=True):
        x, y = reversed(corner) if down else corner
        pieces.append(draw_card(graph, c, x + left, y + MARGIN, card_wide))
    pieces += ports(graph, drawn, plan, left, widths)
    pieces += stubs(graph, drawn, plan, left, widths)
    height = high + 2 * MARGIN
    if below:
        pieces.append(f'<g transform="translate({n((total - below_wide) / 2)} {n(height)})">{"".join(below)}</g>')
        height += below_high + MARGIN
    return whole(recorded, "\n".join(pieces), total, height)


def whole(graph: GraphData, body: str, width: float, height: float) -> str:
    """The outermost element around everything."""
    name = "af" + hashlib.sha256((body + graph.look.theme).encode()).hexdigest()[:8]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" width="{math.ceil(width)}" '
        f'height="{math.ceil(height)}" viewBox="0 0 {math.ceil(width)} {math.ceil(height)}" {FITS}>\n'
        f"<title>{escape(', '.join([v.title for v in graph.nodes if v.output]))}</title>\n"
        f"<desc>{escape(views.alt_text(graph))}</desc>\n"
        f"<style>{style_sheet(name, graph.look.theme)}</style>\n"
        f'<rect class="bg" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def draw_frame(f: Frame, area: Area, down: bool, left: float) -> str:
    """An open box, behind what is in it."""
    wide, high = (area[3], area[2]) if down else area[2:]
    words = f"{f.title}: {f.fold.operations} operations, {f.fold.variables} Variables"
    return (
        f'<g class="sco" transform="{shift(area, down, left)}"><title>{escape(words)}</title>'
        f'<rect class="box" width="{n(wide)}" height="{n(high)}" rx="16"/></g>'
    )


def draw_headline(f: Frame, area: Area, down: bool, left: float, compact: bool | None) -> str:
    """What is written in an open box, above the arrows that enter it there."""
    line = frame_line(f, compact)
    back = f'<rect class="band" x="8" y="4" width="{n(line.room - 16)}" height="{n(HEADLINE - 2)}" rx="8"/>'
    text = draw_line(line, HEADLINE / 2 + 3, line.room)
    return f'<g class="sco" transform="{shift(area, down, left)}">{back}{text}</g>'


def shift(area: Area, down: bool, left: float) -> str:
    """Where a box begins."""
    x, y = (area[1] + left, area[0] + MARGIN) if down else (area[0] + left, area[1] + MARGIN)
    return f"translate({n(x)} {n(y)})"


def arrows(graph: GraphData, plan: Plan, frames: dict[Path, Area], left: float) -> list[str]:
    """All arrows, the thickest on top."""
    pieces = []
    faded = set(graph.faded)
    down = graph.look.direction == "down"
    across = boxes_across(graph)
    turned = [area for path, area in frames.items() if is_down(graph.look.direction, path, across)]
    for e, path, level in zip(graph.edges, plan.paths, flow_levels(graph), strict=True):
        points = [(p[1] + left, p[0] + MARGIN) if down else (p[0] + left, p[1] + MARGIN) for p in path]
        downs = [down or any([within(a, b, area) for area in turned]) for a, b in pairwise(path)]
        wide = 1.3 if level is None else 1.2 + 3.0 * level
        kind = f"f{round(4 * level)}" if level is not None else "plain" if e.flows else "fixed"
        kind += " faded" if e.source in faded or e.target in faded else ""
        title = f"<title>{escape(tip(graph, e))}</title>"
        mark = f'class="{kind}" data-edge="{e.source}-{e.target}-{e.slot}"'  # by which pages/html.py finds it
        pieces.append((wide, f"<g {mark}>{curve(points, wide, downs)}{title}</g>"))
    pieces.sort(key=lambda piece: piece[0])
    return [text for _, text in pieces]


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


def curve(points: Sequence[Point], wide: float, downs: Sequence[bool]) -> str:
    """A path through the points, and its head. ``downs``: which pieces run down, which to the right."""
    length = 8.0 + 1.1 * wide
    down = downs[-1]
    (x, y), (tip_x, tip_y) = points[0], points[-1]
    end = (tip_x, tip_y - length + 1) if down else (tip_x - length + 1, tip_y)
    text = f"M{n(x)} {n(y)}"
    for i in range(1, len(points) - 1, 2):
        (ax, ay), (bx, by) = points[i], points[i + 1] if i + 2 < len(points) else end
        if corner := bend(points, i):
            text += corner
            continue
        text += f"L{n(ax)} {n(ay)}" if (ax, ay) != points[i - 1] else ""
        middle_x, middle_y = (ax + bx) / 2, (ay + by) / 2
        if not downs[i] and abs(ax - bx) < 0.6:  # the end of a row: turn round
            turn = (10.0 + min(14.0, abs(ay - by) / 8)) * (-1 if points[i - 1][0] > ax else 1)
            text += f"C{n(ax + turn)} {n(ay)} {n(bx + turn)} {n(by)} {n(bx)} {n(by)}"
        elif abs(ax - bx if downs[i] else ay - by) < 0.6:
            text += f"L{n(bx)} {n(by)}"
        elif downs[i]:
            text += f"C{n(ax)} {n(middle_y)} {n(bx)} {n(middle_y)} {n(bx)} {n(by)}"
        else:
            text += f"C{n(middle_x)} {n(ay)} {n(middle_x)} {n(by)} {n(bx)} {n(by)}"
    half = HEAD * length / 2 + 0.4 * wide
    back = [(-half, -length), (half, -length)] if down else [(-length, -half), (-length, half)]
    head = " ".join([f"{n(tip_x + dx)},{n(tip_y + dy)}" for dx, dy in [(0.0, 0.0), *back]])
    return f'<path d="{text}" stroke-width="{wide:.2f}"/><polygon points="{head}"/>'


def bend(points: Sequence[Point], i: int) -> str:
    """A rounded corner at point i, where a path that ran across turns down, or the other way round; else nothing."""
    if points[i] != points[i + 1] or i + 2 >= len(points):
        return ""
    (ax, ay), (x, y), (bx, by) = points[i - 1], points[i], points[i + 2]
    if (abs(ax - x) > 0.6 and abs(ay - y) > 0.6) or (abs(ax - x) < 0.6) == (abs(bx - x) < 0.6):
        return ""
    here, there = (min(CORNER, math.dist((x, y), end) / 2) for end in ((ax, ay), (bx, by)))
    sx, sy = (
        x + math.copysign(here, ax - x) * (abs(ax - x) > 0.6),
        y + math.copysign(here, ay - y) * (abs(ay - y) > 0.6),
    )
    ex, ey = (
        x + math.copysign(there, bx - x) * (abs(bx - x) > 0.6),
        y + math.copysign(there, by - y) * (abs(by - y) > 0.6),
    )
    return f"L{n(sx)} {n(sy)}C{n(x)} {n(y)} {n(x)} {n(y)} {n(ex)} {n(ey)}"


def draw_card(graph: GraphData, c: Card, x: float, y: float, wide: float) -> str:
    """One node."""
    names = [c.short] + ["out"] * c.node.output + ["alarm"] * c.alarm + ["faded"] * (c.node.id in graph.faded)
    height = c.height
    radius = 0 if c.short == "op" else 13
    parts = [f"<title>{escape(card_tip(graph, c))}</title>"]
    parts.append(f'<rect class="box" width="{n(wide)}" height="{n(height)}" rx="{radius}"/>')
    if c.short == "op":
        inset = 1.7 if c.node.output else 0.75
        size = f'width="{n(wide - 2 * inset)}" height="{n(c.lines[0].height - inset)}"'
        parts.append(f'<rect class="band" x="{inset}" y="{inset}" {size}/>')
    top = 0.0
    for line in c.lines:
        if c.short == "op" and line.kind == ("result" if c.node.results else "foot"):
            parts.append(f'<path class="rule" d="M0 {n(top)}H{n(wide)}"/>')
        parts.append(draw_line(line, top + line.height / 2, wide))
        top += line.height
    mark = f'class="{" ".join(names)}" data-node="{c.node.id}"'
    return f'<g {mark} transform="translate({n(x)} {n(y)})">{"".join(parts)}</g>'


def card_tip(graph: GraphData, c: Card) -> str:
    """What a node says when one points at it."""
    node, digits = c.node, graph.look.digits
    if node.fold:
        counts = f"{node.fold.operations} operations, {node.fold.variables} Variables"
        return f"{node.title}: {node.fold.text()}, {counts}" if node.fold.text() else f"{node.title}: {counts}"
    words = f"{node.title}: {node.kind}" + (f" {node.word}" if node.kind == "Operation" else "")
    amounts = [f"{r.title} = {r.value.text(digits)}" for r in node.results]
    words += f": {', '.join(amounts)}" if amounts else f" = {node.value.text(digits)}"
    if node.value.shape:
        words += f", shape {node.value.shape_text()}"
    return words + (f", {graph.partial(node)} = {node.gradient.text(digits)}" if node.gradient else "")


def ports(graph: GraphData, drawn: Sequence[Card], plan: Plan, left: float, widths: Sequence[float]) -> list[str]:
    """Arrows from top to bottom cannot end at rows: the operands' numbers are at the upper edge."""
    pieces = []
    for c, (along, across), wide, down in zip(drawn, plan.corners, widths, downward(graph), strict=True):
        if not down:
            continue
        if graph.look.direction == "boxes":
            along, across = across, along
        rows = [row.slot for row in c.node.operands if row.source is not None]
        for slot in rows if len(c.node.operands) > 1 else []:
            x, y = across + left + wide * share(rows, slot) + 9, along + MARGIN - 5
            pieces.append(f'<text class="slot" x="{n(x)}" y="{n(y)}">{slot + 1}</text>')
    return pieces


def stubs(graph: GraphData, drawn: Sequence[Card], plan: Plan, left: float, widths: Sequence[float]) -> list[str]:
    """What is written where an arrow ends or begins that is cut: the name of what it carries above its second part,
    below the card that it leaves where it goes. In a page a click on one leads to the other (``data-goto``)."""
    pieces: dict[str, str] = {}
    goals: dict[int, dict[int, str]] = {}
    for k in sorted(plan.stubs):
        (along, across), *_, (end, _) = plan.paths[k]
        edge = graph.edges[k]
        goals.setdefault(edge.source, {})[edge.target] = graph.nodes[edge.target].title
        title = graph.nodes[edge.source].carried(edge.result).title
        fits = [clip(title, longest) for longest in (12, 8, 5) if width(clip(title, longest), "parts") < end - along]
        where = f'x="{n(along + left)}" y="{n(across + MARGIN - 5)}"'
        if fits:  # several may begin at one place: one name
            pieces[where] = f'<text class="parts" {LINK}="{edge.source}" {where}>{escape(fits[0])}</text>'
    for source, targets in goals.items():
        (along, across), card = plan.corners[source], drawn[source]
        told = clip(next(iter(targets.values())), 16) if len(targets) == 1 else f"{len(targets)} uses below"
        where = f'x="{n(along + left + widths[source])}" y="{n(across + MARGIN + card.height + 11)}"'
        goto = f'{LINK}="{next(iter(targets))}"'
        pieces[where] = f'<text class="parts" {goto} {where} text-anchor="end">→ {escape(told)}</text>'
    return list(pieces.values())
