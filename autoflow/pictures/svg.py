"""The picture as SVG: one self-contained text, without scripts, links, fonts or ids.

Colours are CSS custom properties, so that one file can follow the reader's light or dark screen; in front of each
stands the plain light colour, for programs that do not know such properties. All rules begin with a class that is
made from the content: pictures on one page do not disturb each other, and equal pictures are equal texts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from .cards import PAD, SPACE, Card, CardLine, Span, cards
from .data import Edge, Graph
from .layout import Box, Line, Plan, Point, arrange
from .legend import legend
from .style import BLOCK, CIRCLE, DARK, LIGHT, MONO, SANS, SHORT, STYLES, THEMES

MARGIN = 18.0
HEAD = 0.62  # width of an arrow's head, as a part of its length
STRETCH = 1.35  # cards of a rank get one width, if none must grow more than that


def to_svg(graph: Graph) -> str:
    """The whole file."""
    if graph.look.engine == "dot":
        from .dot import dot_svg

        if (drawn := dot_svg(graph)) is not None:
            return drawn
    drawn_cards = cards(graph)
    down = graph.look.direction == "down"
    widths = [c.width for c in drawn_cards]
    plan = place(graph, drawn_cards, widths, down)
    body, right, bottom = [], 0.0, 0.0
    across_max = plan.along if not down else plan.across
    lines, legend_width, legend_height = legend(graph, max(across_max, 420.0))
    total = max(across_max, legend_width) + 2 * MARGIN
    left = (total - across_max) / 2
    body = arrows(graph, drawn_cards, plan, down, left)
    for k, c in enumerate(drawn_cards):
        along, across = plan.corners[k]
        x, y = (across, along) if down else (along, across)
        body.append(draw_card(graph, c, x + left, y + MARGIN, widths[k]))
    if down:
        body += ports(drawn_cards, plan, left, widths)
    right, bottom = total, (plan.along if down else plan.across) + 2 * MARGIN
    if lines:
        body.append(f'<g transform="translate({n((total - legend_width) / 2)} {n(bottom)})">{"".join(lines)}</g>')
        bottom += legend_height + MARGIN
    return frame(graph, "\n".join(body), right, bottom)


def frame(graph: Graph, body: str, width: float, height: float) -> str:
    """The outermost element around everything."""
    name = "af" + hashlib.sha256((body + graph.look.theme).encode()).hexdigest()[:8]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" width="{math.ceil(width)}" '
        f'height="{math.ceil(height)}" viewBox="0 0 {math.ceil(width)} {math.ceil(height)}">\n'
        f"<title>{escape(', '.join([v.title for v in graph.nodes if v.output]))}</title>\n<desc>{escape(graph.summary())}</desc>\n"
        f"<style>{style(name, graph.look.theme)}</style>\n"
        f'<rect class="bg" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def style(name: str, theme: str) -> str:
    """The rules, all below the class ``name``."""

    def colour(key: str) -> str:
        if theme != "auto":
            return THEMES[theme][key]
        return f"{LIGHT[key]};fill:var(--{key})"

    def stroke(key: str) -> str:
        return THEMES[theme][key] if theme != "auto" else f"{LIGHT[key]};stroke:var(--{key})"

    rules = [f"text{{font-family:{SANS};dominant-baseline:alphabetic}}", f".bg{{fill:{colour('bg')}}}"]
    for key, (family, size, bold, paint) in STYLES.items():
        font = f"font-size:{size:g}px" + (f";font-family:{MONO}" if family == "mono" else "")
        rules.append(f".{key}{{{font}{';font-weight:700' if bold else ''}}}")
        for short in SHORT.values() if "@" in paint else ():
            rules.append(f".{short} .{key}{{fill:{colour(paint.replace('@', short))}}}")
        if "@" not in paint:
            rules.append(f".{key}{{fill:{colour(paint)}}}")
    for short in SHORT.values():
        rules.append(f".{short} .box{{fill:{colour(short + '-fill')};stroke:{stroke(short + '-line')};stroke-width:1.5}}")
        rules.append(f".{short} .band{{fill:{colour(short + '-head')}}}")
        rules.append(f".{short} .rule{{stroke:{stroke(short + '-line')};stroke-width:1}}")
    rules += [
        ".con .box{stroke-dasharray:6 4}", ".out .box{stroke-width:3.4}", f".alarm .box{{stroke:{stroke('warn')};stroke-width:3}}",
        f".ring{{fill:none;stroke:{stroke('sub')}}}", f".port{{fill:{colour('bg')};stroke:{stroke('op-line')}}}",
        f".full{{fill:{colour('grad')}}}", f".empty{{fill:none;stroke:{stroke('sub')};stroke-width:.7}}",
        "path{fill:none}", f".plain path{{stroke:{stroke('edge')}}}.plain polygon{{fill:{colour('edge')}}}",
        f".fixed path{{stroke:{stroke('con-line')};stroke-dasharray:6 4}}.fixed polygon{{fill:{colour('con-line')}}}",
    ]  # fmt: skip
    for i in range(5):
        rules.append(f".f{i} path{{stroke:{stroke(f'flow{i}')}}}.f{i} polygon{{fill:{colour(f'flow{i}')}}}")
    rules = [",".join([f".{name} {one}" for one in rule.split(",", 1)[:1]]) + rule[len(rule.split(",", 1)[0]) :] for rule in rules]
    return variables(name, theme) + "\n".join(rules)


def variables(name: str, theme: str) -> str:
    """The custom properties: light, and dark where the reader's system or notebook is."""
    if theme != "auto":
        return f".{name}{{color-scheme:{theme}}}\n"
    light, dark = [";".join([f"--{k}:{v}" for k, v in colours.items()]) for colours in (LIGHT, DARK)]
    return (
        f".{name}{{{light}}}\n@media (prefers-color-scheme:dark){{.{name}{{{dark}}}}}\n"
        f"[data-jp-theme-light=true] .{name},.vscode-light .{name},html[theme=light] .{name}{{{light}}}\n"
        f"[data-jp-theme-light=false] .{name},.vscode-dark .{name},html[theme=dark] .{name}{{{dark}}}\n"
    )


def place(graph: Graph, drawn: Sequence[Card], widths: list[float], down: bool) -> Plan:
    """Ask the layout where the cards stand. Changes ``widths`` where a rank gets one width."""
    from .layout import ranks

    rank = ranks(len(drawn), [(e.source, e.target) for e in graph.edges])
    if not down:
        widest = {r: max([w for w, k in zip(widths, rank, strict=True) if k == r]) for r in set(rank)}
        narrowest = {r: min([w for w, k in zip(widths, rank, strict=True) if k == r]) for r in set(rank)}
        widths[:] = [widest[r] if widest[r] <= STRETCH * narrowest[r] else w for w, r in zip(widths, rank, strict=True)]
    boxes = []
    for c, wide in zip(drawn, widths, strict=True):
        slots = len(c.node.operands) + bool(c.node.more_operands)
        count = max([e.slot for e in graph.edges if e.target == c.node.id], default=-1) + 1
        if down:
            inputs = [wide * (min(s, slots - 1) + 1) / (slots + 1) for s in range(count)]
            boxes.append(Box(c.height, wide, tuple(inputs), wide / 2))
        else:
            boxes.append(Box(wide, c.height, tuple([centre(c, s) for s in range(count)]), c.lines[0].height / 2))
    main = spine(graph, rank)
    lines = [Line(e.source, e.target, e.slot, 30.0 if (e.source, e.target) in main else 1.0) for e in graph.edges]
    return arrange(boxes, lines)


def centre(c: Card, slot: int) -> float:
    """The height of an operand's row."""
    row = c.row(slot)
    return sum([line.height for line in c.lines[:row]]) + c.lines[row].height / 2


def spine(graph: Graph, rank: Sequence[int]) -> set[tuple[int, int]]:
    """The longest way to the first output: it is drawn as straight as can be."""
    longest: dict[int, int] = {}
    for e in graph.edges:
        if rank[e.source] > rank[longest[e.target]] if e.target in longest else True:
            longest[e.target] = e.source
    found: set[tuple[int, int]] = set()
    here = graph.outputs[0] if graph.outputs else -1
    while here in longest:
        found.add((longest[here], here))
        here = longest[here]
    return found


def n(x: float) -> str:
    """A coordinate, with one digit behind the point."""
    return f"{x:.1f}".removesuffix(".0").replace("-0", "0") if abs(x) < 0.05 else f"{x:.1f}".removesuffix(".0")


def arrows(graph: Graph, drawn: Sequence[Card], plan: Plan, down: bool, left: float) -> list[str]:
    """All arrows, the thickest on top."""
    pieces = []
    for e, path in zip(graph.edges, plan.paths, strict=True):
        points = [(across + left, along + MARGIN) if down else (along + left, across + MARGIN) for along, across in path]
        level = flow_level(e)
        wide = 1.3 if level is None else 1.2 + 3.0 * level
        named = "f" + str(round(4 * level)) if level is not None else "plain" if e.flows and drawn[e.source].short != "con" else "fixed"
        pieces.append((wide, f'<g class="{named}">{curve(points, wide, down)}<title>{escape(tip(graph, e))}</title></g>'))
    pieces.sort(key=lambda piece: piece[0])
    return [text for _, text in pieces]


def flow_level(e: Edge) -> float | None:
    """How much is sent back, from 0 to 1 on a log scale that is the same in all pictures; None: nothing, or unknown."""
    if e.sent is None:
        return None
    size = e.sent.rms if e.sent.rms is not None else math.inf
    return min(1.0, math.log10(1 + abs(size)) / math.log10(16))


def tip(graph: Graph, e: Edge) -> str:
    """What an arrow says when one points at it."""
    source, target = graph.nodes[e.source], graph.nodes[e.target]
    words = f"{source.title} → {target.title}, operand {e.slot + 1}"
    if e.sent is not None:
        words += f": sends back {e.sent.text(graph.look.digits)}"
    return words if e.flows else words + ": no gradient"


def curve(points: Sequence[Point], wide: float, down: bool) -> str:
    """A path through the points, and its head."""
    length = 8.0 + 1.1 * wide
    (x, y), (tip_x, tip_y) = points[0], points[-1]
    end = (tip_x, tip_y - length + 1) if down else (tip_x - length + 1, tip_y)
    text = f"M{n(x)} {n(y)}"
    for i in range(1, len(points) - 1, 2):
        (ax, ay), (bx, by) = points[i], points[i + 1] if i + 2 < len(points) else end
        text += f"L{n(ax)} {n(ay)}" if (ax, ay) != points[i - 1] else ""
        middle_x, middle_y = (ax + bx) / 2, (ay + by) / 2
        if abs(ax - bx if down else ay - by) < 0.6:
            text += f"L{n(bx)} {n(by)}"
        elif down:
            text += f"C{n(ax)} {n(middle_y)} {n(bx)} {n(middle_y)} {n(bx)} {n(by)}"
        else:
            text += f"C{n(middle_x)} {n(ay)} {n(middle_x)} {n(by)} {n(bx)} {n(by)}"
    half = HEAD * length / 2 + 0.4 * wide
    back = [(-half, -length), (half, -length)] if down else [(-length, -half), (-length, half)]
    head = " ".join([f"{n(tip_x + dx)},{n(tip_y + dy)}" for dx, dy in [(0.0, 0.0), *back]])
    return f'<path d="{text}" stroke-width="{wide:.2f}"/><polygon points="{head}"/>'


def draw_card(graph: Graph, c: Card, x: float, y: float, wide: float) -> str:
    """One node."""
    names = [c.short] + ["out"] * c.node.output + ["alarm"] * c.alarm
    height = c.height
    radius = 0 if c.short == "op" else 13
    parts = [f"<title>{escape(card_tip(graph, c))}</title>"]
    parts.append(f'<rect class="box" width="{n(wide)}" height="{n(height)}" rx="{radius}"/>')
    if c.short == "op":
        inset = 1.7 if c.node.output else 0.75
        parts.append(
            f'<rect class="band" x="{inset}" y="{inset}" width="{n(wide - 2 * inset)}" height="{n(c.lines[0].height - inset)}"/>'
        )
    top = 0.0
    for line in c.lines:
        if line.kind == "foot" and c.short == "op":
            parts.append(f'<path class="rule" d="M0 {n(top)}H{n(wide)}"/>')
        parts.append(draw_line(line, top + line.height / 2, wide))
        top += line.height
    return f'<g class="{" ".join(names)}" transform="translate({n(x)} {n(y)})">{"".join(parts)}</g>'


def card_tip(graph: Graph, c: Card) -> str:
    """What a node says when one points at it."""
    node, digits = c.node, graph.look.digits
    words = f"{node.title}: {node.kind}" + (f" {node.word}" if node.kind == "Operation" else "")
    words += f" = {node.value.text(digits)}"
    if node.value.shape:
        words += f", shape {node.value.shape_text()}"
    return words + (f", {graph.partial(node)} = {node.gradient.text(digits)}" if node.gradient else "")


def draw_line(line: CardLine, middle: float, wide: float) -> str:
    """The spans of a line; ``middle`` is its height."""
    text, x = "", PAD
    for s in line.left:
        text += draw_span(s, x, middle, line, "start")
        x += s.room + SPACE
    x = wide - PAD
    for s in reversed(line.right):
        text += draw_span(s, x, middle, line, "end")
        x -= s.room + SPACE
    return text


def draw_span(s: Span, x: float, middle: float, line: CardLine, anchor: str) -> str:
    """One piece of text; numbers in circles and the six blocks are shapes, since not every font has them."""
    size = STYLES[s.style][1]
    if s.style == "slot":
        radius = CIRCLE / 2 - 2.5
        return (
            f'<circle class="ring" cx="{n(x + radius)}" cy="{n(middle)}" r="{radius}"/>'
            f'<text class="slot" x="{n(x + radius)}" y="{n(middle + 0.36 * size)}" text-anchor="middle">{escape(s.text)}</text>'
        )
    if s.style == "blocks":
        y = middle - 3.5
        return "".join([
            f'<path class="{"full" if i < line.blocks else "empty"}" d="M{n(x + i * BLOCK + 2)} {n(y)}h6l-2 7h-6z"/>' for i in range(6)
        ])  # fmt: skip
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{s.style}" x="{n(x)}" y="{n(middle + 0.35 * size)}"{where}>{escape(s.text)}</text>' if s.text else ""


def ports(drawn: Sequence[Card], plan: Plan, left: float, widths: Sequence[float]) -> list[str]:
    """In a picture from top to bottom arrows cannot land on rows: the upper edge has the operands' numbers."""
    pieces = []
    for c, (along, across), wide in zip(drawn, plan.corners, widths, strict=True):
        rows = len(c.node.operands) + bool(c.node.more_operands)
        if rows < 2:
            continue
        for row, operand in enumerate(c.node.operands):
            if operand.source is not None:
                x = n(across + left + wide * (row + 1) / (rows + 1) + 11)
                pieces.append(f'<text class="slot" x="{x}" y="{n(along + MARGIN - 5)}">{row + 1}</text>')
    return pieces
