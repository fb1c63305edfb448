"""Below the picture: the legend of its signs, and notes for the reader."""

from __future__ import annotations

from math import fsum

from ..model.data import GraphData
from ..model.style import KINDS, SHORT, break_words, width
from .cards import CardLine, Span, short
from .spans import draw_span, n

LINE = 26.0
BETWEEN = 22.0  # items
Item = tuple[list[tuple[str, str]], float]  # (text, style) pieces, and their width


def items(graph: GraphData) -> list[Item]:
    """The signs that this picture has, with their meaning."""
    down = graph.look.direction == "down"
    answer: list[list[tuple[str, str]]] = [
        [(kind, SHORT[kind])] for kind in KINDS if any([v.kind == kind for v in graph.nodes])
    ]
    if graph.look.detail == "names":
        return [(piece, room(piece)) for piece in answer]
    arrays = [v for v in graph.nodes if not v.value.scalar]
    output = next((v for v in graph.nodes if v.output and v.value.scalar), None)
    if output is not None:
        sample = output.value.text(graph.look.digits)
        answer.append([(sample, "value"), (f"value, computed {'downwards' if down else 'left to right'}", "note")])
    spread = next((v.value for v in arrays if v.value.elements is None and v.value.mean is not None), None)
    if spread is not None and not graph.look.compact:
        answer.append([(spread.text(graph.look.digits), "numbers"), ("mean ± standard deviation", "note")])
    if not graph.gradients:
        return [(piece, room(piece)) for piece in answer]
    of = f" of {graph.title}" if len(graph.title) <= 16 else ""
    scalar = next((v.gradient for v in graph.nodes if v.gradient is not None and v.gradient.scalar), None)
    if scalar is not None:
        answer.append(
            [
                (scalar.text(graph.look.digits), "gradient"),
                (f"gradient{of}, {'upwards' if down else 'right to left'}", "note"),
            ]
        )
    if any([v.gradient is not None and v.gradient.elements is None for v in arrays]):
        told = f"size of the gradient{of} (root mean square"
        if graph.look.compact:
            size = next(v.gradient for v in arrays if v.gradient is not None and v.gradient.elements is None)
            answer.append([(size.magnitude(graph.look.digits), "gradient"), (f"{told})", "note")])
        else:
            answer.append([("", "blocks"), (f"{told}, log scale)", "note")])
    rows = [row for v in graph.nodes if not v.fold for row in v.operands]
    rule = next((row.rule for row in sorted(rows, key=lambda row: row.rule in ("", "g")) if row.rule), "")
    if rule and graph.look.detail == "arrays":
        answer.append([(rule, "local"), ("what is sent back to that operand; g: the gradient of its card", "note")])
    if graph.look.detail == "lesson":
        known = [row.local for row in rows if row.local and row.sent]
        local = next(iter(sorted(known, key=lambda x: x.elements in ((1.0,), (-1.0,)))), None)  # 1 explains little
        sent = next((row.sent for row in rows if row.sent), None)
        if local is not None:
            answer.append([(f"×{local.text(graph.look.digits)}", "local"), ("local derivative", "note")])
        if sent is not None:
            told = f"= {short(sent, graph.look.digits)}"
            answer.append([(told, "sent"), ("sent back along that arrow (thicker: larger)", "note")])
    return [(piece, room(piece)) for piece in answer]


def room(pieces: list[tuple[str, str]]) -> float:
    """The width of an item."""
    return fsum([_piece(text, style) for text, style in pieces]) + 7.0 * (len(pieces) - 1)


def _piece(text: str, style: str) -> float:
    return width(text, "word") + 18.0 if style in SHORT.values() else width(text, style)


def legend(graph: GraphData, widest: float) -> tuple[list[str], float, float]:
    """The elements, broken into lines of at most ``widest``, and the width and height of all."""
    rows: list[list[Item]] = []
    for item in items(graph) if graph.look.legend else []:
        used = fsum([w + BETWEEN for _, w in rows[-1]]) if rows else widest
        if rows and used + item[1] <= widest:
            rows[-1].append(item)
        else:
            rows.append([item])
    for note in graph.notes:
        rows += [[([(text, "note")], width(text, "note"))] for text in break_words(note, widest, "note")]
    wide = max([fsum([w for _, w in row]) + BETWEEN * (len(row) - 1) for row in rows], default=0.0)
    pieces = []
    for k, row in enumerate(rows):
        x = (wide - fsum([w for _, w in row]) - BETWEEN * (len(row) - 1)) / 2
        for item in row:
            pieces.append(_draw(item, x, k * LINE + LINE / 2))
            x += item[1] + BETWEEN
    return pieces, wide, LINE * len(rows)


def _draw(item: Item, x: float, middle: float) -> str:
    text = ""
    for words, style in item[0]:
        wide = _piece(words, style)
        if style in SHORT.values():
            text += _swatch(words, style, x, middle, wide)
        else:
            text += draw_span(Span(words, style, wide), x, middle, CardLine("foot", blocks=4), "start")
        x += wide + 7.0
    return text


def _swatch(kind: str, short: str, x: float, middle: float, wide: float) -> str:
    """A small node of that kind."""
    inner = (
        f'<rect class="band" x="{n(x + 1)}" y="{n(middle - 9)}" width="{n(wide - 2)}" height="18"/>'
        if short == "op"
        else ""
    )
    return (
        f'<g class="{short}"><rect class="box" x="{n(x)}" y="{n(middle - 10)}" width="{n(wide)}" height="20" '
        f'rx="{0 if short == "op" else 9}"/>{inner}'
        f'<text class="word" x="{n(x + wide / 2)}" y="{n(middle + 4)}" text-anchor="middle">{kind}</text></g>'
    )
