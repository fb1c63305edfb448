"""Pieces of SVG: numbers, text, lines of a card."""

from __future__ import annotations

from functools import lru_cache
from xml.sax.saxutils import escape

from ..model.style import BLOCK, CIRCLE, STYLES
from .cards import PAD, SPACE, CardLine, Span


@lru_cache(8192)
def n(x: float) -> str:
    """A coordinate, with at most one digit behind the point.

    >>> n(12.04), n(-0.01), n(3.25)
    ('12', '0', '3.2')
    """
    text = f"{x:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


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
        radius = CIRCLE / 2
        where = f'x="{n(x + radius)}" y="{n(middle + 0.36 * size)}" text-anchor="middle"'
        ring = f'<circle class="ring" cx="{n(x + radius)}" cy="{n(middle)}" r="{radius}"/>'
        return f'{ring}<text class="slot" {where}>{escape(s.text)}</text>'
    if s.style == "blocks":
        names = ["full"] * line.blocks + ["empty"] * (6 - line.blocks)
        places = [f"M{n(x + i * BLOCK + 2)} {n(middle - 3.5)}h6l-2 7h-6z" for i in range(6)]
        return "".join([f'<path class="{name}" d="{place}"/>' for name, place in zip(names, places, strict=True)])
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return (
        f'<text class="{s.style}" x="{n(x)}" y="{n(middle + 0.35 * size)}"{where}>{escape(s.text)}</text>'
        if s.text
        else ""
    )
