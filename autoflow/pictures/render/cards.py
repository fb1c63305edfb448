"""The contents of each node, line by line: the visual language, before it is SVG or DOT. And two things made of them.

    a3  multiply             10.31     the head: name, operation, value (or shape)
    ① a1**2    ×0.8415  =  0.8415     a row per operand: local derivative, contribution sent back
    ② sin(a2)   ×12.25  =   12.25
    ∂a5/∂a3          0.5 + 0.5 = 1     the foot: the contributions that arrived, and their sum

A Variable has a head and a foot, a Constant a head and a remark. The level of detail decides which lines there are.
Then the lines of a card as shapes, and the table of a graph, one row per node: ``graph.table()``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ...base.columns import aligned
from ..model.data import CIRCLED, LEVELS, Fold, GraphData, Image, Numbers, Vertex, add_up, number, signed_sum
from ..model.style import BLOCK, CIRCLE, SHORT, STYLES, clip, to_ascii, width
from .display import Circle, Path, Rect, Shape, Step, Text, step, tenth

# ---------------------------------------------------------------- cards: the lines of each node

PAD = 10.0  # left and right of a line's text
SPACE = 7.0  # between two pieces of text
BESIDE = 10.5  # from the head of an arrow to the next
AIR = 16.0  # at least, between the left and the right of a line
HEIGHTS = {"head": 32.0, "row": 23.0, "body": 22.0, "foot": 27.0, "note": 18.0, "result": 25.0}
TIGHT = {**HEIGHTS, "head": 27.0, "row": 20.0, "foot": 22.0, "note": 16.0, "body": 18.0}  # in large pictures
PARTS = 3  # contributions that are written out
EDGE, RAMP = 4.0, 6.0  # beside an image, and of its scale
BLOCK_SIDES = (("h", 6.0), ("l", -2.0, 7.0), ("h", -6.0), ("z",))
WIDE = 26  # characters of an array that is printed in full on a line with other text


@dataclass(frozen=True, slots=True)
class StyledText:
    """A piece of text in one of the styles of :data:`~..model.style.STYLES`, and the room it takes."""

    text: str
    style: str
    room: float


@dataclass(frozen=True, slots=True)
class Cells:
    """An image of a matrix, with its scale to the right of it."""

    image: Image
    colours: tuple[str, str]  # the roles of cells above zero, and below
    style: str  # of the numbers of the scale
    digits: int

    @property
    def side(self) -> int:
        """The side of a cell, in pixels."""
        return max(3, min(8, 64 // max(len(self.image.levels), len(self.image.levels[0]))))

    @property
    def size(self) -> tuple[int, int]:
        """The width and the height of all cells."""
        return self.side * len(self.image.levels[0]), self.side * len(self.image.levels)

    @property
    def height(self) -> float:
        """Two numbers of the scale need some."""
        return max(26.0, self.size[1])

    @property
    def ends(self) -> list[str]:
        """The lowest and the highest number of the scale."""
        return [number(end / LEVELS * self.image.top, min(3, self.digits)) for end in self.image.range]

    @property
    def room(self) -> float:
        """The width that it needs."""
        return self.size[0] + 2 * EDGE + RAMP + max([width(text, self.style) for text in self.ends])


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line: spans from the left, spans from the right."""

    kind: str
    left: tuple[StyledText, ...] = ()
    right: tuple[StyledText, ...] = ()
    blocks: int = 0  # how many of the six blocks are full, where there is a span of them
    tight: bool = False
    images: tuple[Cells, ...] = ()

    @property
    def height(self) -> float:
        """In pixels."""
        if self.images:
            return 2 * EDGE + max([image.height for image in self.images])
        return (TIGHT if self.tight else HEIGHTS)[self.kind]

    @property
    def room(self) -> float:
        """The width that it needs."""
        parts: tuple[StyledText | Cells, ...] = (*self.left, *self.right, *self.images)
        pieces = [part.room for part in parts]
        air = AIR if self.left and self.right else 0.0
        return 2 * PAD + math.fsum(pieces) + SPACE * max(0, len(pieces) - 1) + air


@dataclass(frozen=True, slots=True)
class Card:
    """All lines of one node."""

    node: Vertex
    lines: tuple[CardLine, ...]
    alarm: bool  # a value or gradient is NaN or infinite
    least: float = 0.0  # the length of the edge at which arrows end, where they have no rows

    @property
    def short(self) -> str:
        """var, con or op."""
        return SHORT[self.node.kind]

    @property
    def width(self) -> float:
        """The room of the widest line, at least what arrows need."""
        return max([self.least, *[line.room for line in self.lines]])

    @property
    def height(self) -> float:
        """The heights of all lines, and a little air below rounded cards; at least what arrows need."""
        return max(self.least, math.fsum([line.height for line in self.lines]) + 4.0 * (len(self.lines) > 1))

    def out(self, result: int | None) -> int:
        """Which line an arrow leaves at: that of one of several results, else the head."""
        places = [i for i, line in enumerate(self.lines) if line.kind == "result"]
        return places[result] if result is not None and result < len(places) else 0

    def row(self, slot: int) -> int:
        """Which line operand ``slot`` has: its own, or that of all the others."""
        rows = [i for i, line in enumerate(self.lines) if line.kind == "row"]
        return rows[min(slot, len(rows) - 1)] if rows else 0


def cards(graph: GraphData) -> list[Card]:
    """The cards of all nodes."""
    return [card(graph, node) for node in graph.nodes]


def card(graph: GraphData, node: Vertex) -> Card:
    """The card of one node at the graph's level of detail."""
    detail = graph.look.detail
    compact = bool(graph.look.compact) and detail == "arrays"
    alarm = any([x.nans or x.infinite for one in (node, *node.results) for x in (one.value, one.gradient) if x])
    least = BESIDE * (1 + len(node.operands)) if node.fold or detail == "names" else 0.0
    if detail == "names":
        return Card(node, (CardLine("head", (span(node.title, "title"),)),), alarm, least)
    lines = folded_lines(graph, node, node.fold) if node.fold else plain_lines(graph, node, compact)
    lines = [replace(line, tight=True) for line in lines] if graph.look.compact else lines
    return Card(node, tuple(lines), alarm, least)


def plain_lines(graph: GraphData, node: Vertex, compact: bool) -> list[CardLine]:
    """The lines of a node that is not a folded box."""
    digits = graph.look.digits
    lines = [head(node, digits, compact), *rows(graph, node)]
    if node.results:
        return [*lines, *result_lines(graph, node)]
    if not node.value.scalar and not compact:
        lines += [CardLine("body", (span(text, "numbers"),)) for text in break_lines(node.value.text(digits))]
    if flags := node.value.flags():
        lines.append(CardLine("note", (span(f"value: {flags}", "warn"),)))
    if graph.look.images and (cells := images(node, digits)):
        lines.append(CardLine("body", images=cells))
    if node.gradient is not None:
        lines.append(foot(graph, node, node.gradient))
        if flags := node.gradient.flags():
            lines.append(CardLine("note", (span(f"gradient: {flags}", "warn"),)))
    return lines + [note_line(text) for text in node.notes if graph.gradients or text != "no gradient"]


def note_line(text: str) -> CardLine:
    """A remark in small letters."""
    return CardLine("note", (span(clip(text, 60), "note"),))


def images(node: Vertex, digits: int) -> tuple[Cells, ...]:
    """The images of its value and of its gradient, as far as they are matrices."""
    kinds = [(node.value, ("warm", "cold"), "numbers"), (node.gradient, ("more", "less"), "partial")]
    return tuple([Cells(x.image, colours, style, digits) for x, colours, style in kinds if x and x.image])


def result_lines(graph: GraphData, node: Vertex) -> list[CardLine]:
    """Each of several results: its name and shape, where its arrows leave; its value, its gradient."""
    lines, digits = [], graph.look.digits
    for result in node.results:
        value = result.value
        text = value.text(digits)
        beside = value.scalar or len(text) <= WIDE
        left = [span(clip(result.title, 20), "operand")]
        left += [span(value.shape_text(), "shape")] if value.shape_text() else []
        lines.append(CardLine("result", tuple(left), (span(text, "numbers"),) if beside else ()))
        lines += [CardLine("body", (span(one, "numbers"),)) for one in ([] if beside else break_lines(text))]
        if flags := value.flags():
            lines.append(CardLine("note", (span(f"value: {flags}", "warn"),)))
        if result.gradient is not None:
            lines.append(gradient_line(graph, "gradient", result.gradient, result))
    return lines


def folded_lines(graph: GraphData, node: Vertex, fold: Fold) -> list[CardLine]:
    """A folded box: + name and shape, what is in it, how large its gradient is."""
    shape = node.value.shape_text() if fold.exits == 1 else ""
    lines = [CardLine("head", (span("+", "word"), span(node.title, "title")), (span(shape, "shape"),) if shape else ())]
    texts = [fold.text(), *fold.told, " · ".join(reversed(fold.content()))]
    lines += [note_line(text) for text in texts if text]
    if node.gradient is not None and graph.look.detail != "names":
        lines.append(foot(graph, node, node.gradient))
    return lines


def span(text: str, style: str, room: float = 0.0) -> StyledText:
    """A span that takes at least ``room``."""
    return StyledText(text, style, max(room, width(text, style)))


def head(node: Vertex, digits: int, compact: bool = False) -> CardLine:
    """Name, operation, and the value; for an array the shape. ``compact``: the kind of a leaf is in its foot."""
    left = [span(node.title, "title")]
    if node.said and not (compact and not node.operands and node.gradient is not None):
        left.append(span(node.said, "word"))
    value = node.value
    if node.results:
        return CardLine("head", tuple(left), (span(node.several, "shape"),))
    if node.kind == "Constant" and value.scalar and not node.named:
        return CardLine("head", tuple(left))  # a literal: its name is its value
    if not value.scalar:
        right = [span(value.shape_text(), "shape")]
    else:
        right = [span(value.shape_text(), "note")] if value.shape_text() else []
        right.append(span(value.text(digits), "value" if value.kept else "note"))
    return CardLine("head", tuple(left), tuple(right))


def rows(graph: GraphData, node: Vertex) -> list[CardLine]:
    """A line per operand, numbers under numbers."""
    if not node.operands:
        return []
    lesson = graph.look.detail == "lesson" and graph.gradients
    digits = graph.look.digits
    local = [f"×{row.local.text(digits)}" if lesson and row.local else "" for row in node.rows]
    sent = [f"= {short(row.sent, digits)}" if lesson and row.sent else "" for row in node.rows]
    local_room = max([width(text, "local") for text in local], default=0.0)
    sent_room = max([width(text, "sent") for text in sent], default=0.0)
    lines = []
    for row, by, back in zip(node.rows, local, sent, strict=True):
        rule = graph.rule(node, row) if graph.gradients and graph.look.detail == "arrays" else ""
        numbered = len(node.rows) > 1 or CIRCLED[0] in rule
        left = [span(str(row.slot + 1), "slot")] if numbered else []
        left.append(span(clip(row.title, 20), "operand"))
        right = [span(row.note, "note")] if row.note and not (rule and "summed" in rule) else []
        if rule:
            right.append(span(rule, "local"))
        elif graph.look.detail == "arrays" and row.sent is not None:
            right.append(span(f"= {'' if row.sent.scalar else 'rms '}{row.sent.magnitude(digits)}", "sent"))
        if by or back:
            right += [span(by, "local", local_room)] if local_room else []
            right += [span(back, "sent", sent_room)] if sent_room else []
        lines.append(CardLine("row", tuple(left), tuple(right)))
    if node.left_out:
        lines.append(CardLine("row", (span(node.left_out, "note"),)))
    return lines


def break_lines(text: str) -> list[str]:
    """A small array in short lines: one row each, or three numbers each.

    >>> break_lines("[[1.234, 2.345, 3.456], [4.567, 5.678, 6.789]]")
    ['[[1.234, 2.345, 3.456],', '[4.567, 5.678, 6.789]]']
    """
    if len(text) <= WIDE:
        return [text]
    if "], [" in text:
        return text.replace("], [", "],\n[").split("\n")
    numbers = text.split(", ")
    groups = [", ".join(numbers[i : i + 3]) for i in range(0, len(numbers), 3)]
    return [group + "," * (place < len(groups) - 1) for place, group in enumerate(groups)]


def foot(graph: GraphData, node: Vertex, gradient: Numbers) -> CardLine:
    """The gradient, and in a lesson the parts whose sum it is."""
    name = "gradients" if node.fold else graph.partial(node)
    if graph.look.compact and graph.look.detail == "arrays" and not gradient.scalar:
        left = span(name, "partial") if node.operands or node.fold else span(node.kind, "word")
        return CardLine("foot", (left,), (span(gradient.magnitude(graph.look.digits), "gradient"),))
    return gradient_line(graph, name, gradient, node)


def gradient_line(graph: GraphData, name: str, gradient: Numbers, carried: Vertex) -> CardLine:
    """The name of the gradient of what is ``carried``, its parts as a sum, and what it is."""
    digits = graph.look.digits
    left = span(name, "partial")
    if gradient.scalar or (gradient.elements and len(gradient.text(digits)) <= WIDE):
        prefix, whole = "", gradient.text(digits)
        if graph.look.detail == "lesson" and carried.parts and (gradient.scalar or not graph.look.compact):
            prefix, whole = sum_text(carried.parts, carried.of_parts, gradient, digits)
        return CardLine("foot", (left,), (*([span(prefix, "parts")] if prefix else []), span(whole, "gradient")))
    bar = span("", "blocks")
    return CardLine("foot", (left, bar), (span(gradient.magnitude(digits), "gradient"),), gradient.blocks())


def sum_text(parts: Sequence[Numbers], of_parts: int, total: Numbers, digits: int) -> tuple[str, str]:
    """``5.89 − 0.54 + … =`` and the total: numbers added up, of many the largest, arrays in brackets; just how many if
    that gets long."""
    if of_parts > PARTS:
        parts = sorted(parts, key=lambda part: -(part.rms or 0.0))[:PARTS]
    words, sign, whole = add_up(parts, total, digits)
    if of_parts > len(parts):
        words, sign, whole = [*[p.text(digits) for p in parts], "…"], sign.replace("≈", "="), total.text(digits)
    text = signed_sum([(word, "") for word in words])
    if len(text) > 2 * WIDE or any([not p.elements for p in parts]):
        text, whole = f"{of_parts} parts", total.text(digits)
    return f"{text} {sign}".rstrip(), whole


def short(amount: Numbers, digits: int) -> str:
    """The contribution sent back, in little room: in full, or its root mean square."""
    text = amount.text(digits)
    if amount.scalar or len(text) <= WIDE or amount.rms is None:
        return text
    return f"rms {number(amount.rms, digits)}"


def flow_levels(graph: GraphData) -> list[float | None]:
    """How much is sent back along each arrow, from 0 to 1 on a log scale; None: nothing, or unknown.

    Between numbers the largest of the picture decides the scale; arrays have the fixed one of the six blocks.
    """
    sent = [e.sent if e.flows else None for e in graph.edges]
    if graph.look.detail == "arrays":
        return [None if x is None else x.blocks() / 6 for x in sent]
    sizes = [None if x is None else math.inf if x.rms is None else x.rms for x in sent]
    scale = math.log1p(max([15.0, *[size for size in sizes if size is not None and math.isfinite(size)]]))
    return [None if size is None else min(1.0, math.log1p(size) / scale) for size in sizes]


# ---------------------------------------------------------------- lines and spans as shapes


def draw_line(line: CardLine, middle: float, wide: float) -> list[Shape]:
    """The spans of a line; ``middle`` is its height."""
    shapes, x = [], PAD
    for image in line.images:
        shapes += draw_cells(image, x, middle)
        x += image.room + SPACE
    for s in line.left:
        shapes += draw_span(s, x, middle, line, "start")
        x += s.room + SPACE
    x = wide - PAD
    for s in reversed(line.right):
        shapes += draw_span(s, x, middle, line, "end")
        x -= s.room + SPACE
    return shapes


def draw_cells(cells: Cells, x: float, middle: float) -> list[Shape]:
    """An image, its scale, and the numbers at the ends of that. Equal cells beside each other are one stroke."""
    side, (wide, high), (low, top) = cells.side, cells.size, cells.image.range
    left, upper = tenth(x), tenth(middle - high / 2)
    paths: dict[int | None, list[Step]] = {}
    for k, row in enumerate(cells.image.levels):
        begin = left
        for level, run in groupby(row):
            long = side * len(list(run))
            if level != 0:
                paths.setdefault(level, []).extend([step("M", begin, upper + (k + 0.5) * side), step("h", long)])
            begin += long
    shapes: list[Shape] = [Rect("ground", left, upper, wide, high)]
    shapes += [stroke(cells, level, steps, side) for level, steps in paths.items()]
    ramp, bottom, piece = left + wide + EDGE, tenth(middle + cells.height / 2), cells.height / (top - low + 1)
    shapes.append(Rect("ground", tenth(ramp), tenth(bottom - cells.height), RAMP, cells.height))
    for k, level in enumerate(range(low, top + 1)):
        if level:
            line = [step("M", ramp, bottom - (k + 0.5) * piece), step("h", RAMP)]
            shapes.append(stroke(cells, level, line, piece))
    for text, y in zip(cells.ends, (bottom - 1, bottom - cells.height + 9), strict=True):
        shapes.append(Text(cells.style, None, tenth(ramp + RAMP + EDGE), tenth(y), text))
    return shapes


def stroke(cells: Cells, level: int | None, steps: Sequence[Step], wide: float) -> Path:
    """Cells of one level."""
    if level is None:
        return Path("void", tuple(steps), f"{wide:g}")
    return Path(cells.colours[level < 0], tuple(steps), f"{wide:.4g}", f"{abs(level) / LEVELS:.2f}")


def draw_span(s: StyledText, x: float, middle: float, line: CardLine, anchor: str) -> list[Shape]:
    """One piece of text; numbers in circles and the six blocks are shapes, since not every font has them."""
    size = STYLES[s.style][1]
    if s.style == "slot":
        centre, radius = tenth(x + CIRCLE / 2), CIRCLE / 2
        ring = Circle("ring", centre, tenth(middle), radius)
        return [ring, Text("slot", None, centre, tenth(middle + 0.36 * size), s.text, "middle")]
    if s.style == "blocks":
        starts = [step("M", x + i * BLOCK + 2, middle - 3.5) for i in range(6)]
        roles = ["full"] * line.blocks + ["empty"] * (6 - line.blocks)
        return [Path(role, (start, *BLOCK_SIDES)) for role, start in zip(roles, starts, strict=True)]
    return [Text(s.style, None, tenth(x), tenth(middle + 0.35 * size), s.text, anchor)] if s.text else []


# ---------------------------------------------------------------- the table: graph.table()


def table(picture: GraphData, *, ascii: bool = False, memory: bool = False) -> str:
    """One row per node of a Graph: number, title, operation, shape, value, gradient, operands.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(table(af.graph(x * x, gradients=True)))
    node  title  operation  shape  value  gradient  operands
    0     x      Variable          3      6
    1     x*x    multiply          9      1         0 0
    """
    rows = table_rows(picture)
    if memory:
        column = ["kept", *[f"{v.kept:,}" for v in picture.nodes]]
        rows = [[*row[:5], size, *row[5:]] for row, size in zip(rows, column, strict=True)]
    return "\n".join(aligned([[to_ascii(cell) for cell in row] for row in rows] if ascii else rows))


def table_rows(picture: GraphData) -> list[list[str]]:
    """The same as rows of texts, the headlines first."""
    digits = picture.look.digits
    rows = [["node", "title", "operation", "shape", "value", "gradient", "operands"]]
    for v in picture.nodes:
        cells = [v.value.shape_text(), v.value.text(digits), v.gradient.text(digits) if v.gradient else ""]
        if v.results:
            sent = [f"{r.title}: {r.gradient.text(digits)}" for r in v.results if r.gradient is not None]
            cells = [v.several, "  ".join([f"{r.title} = {r.value.text(digits)}" for r in v.results]), "  ".join(sent)]
        rows.append([
            str(v.id), v.title, v.word, *cells,
            " ".join([row.title if row.source is None else str(row.source) for row in v.operands]),
        ])  # fmt: skip
    return rows
