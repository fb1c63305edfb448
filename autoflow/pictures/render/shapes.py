"""Our own SVG read again: elements with their style and place, for formats that are drawn from it.

So a picture has one layout and one style sheet, whatever the format. It is no general reader: it knows the few
elements and properties that :mod:`.svg` and :mod:`.css` write, and the test says when they begin to write others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = dict[str, Any]
Style = dict[str, str]
TAGS = ("rect", "circle", "polygon", "path", "text")
TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")


class Sheet:
    """The rules of an SVG's style sheet: ``.name .op .box{fill:#FFF7EA}``."""

    def __init__(self, root: Any) -> None:
        text = next((e.text or "" for e in root.iter() if local_name(e) == "style"), "")
        found = re.findall(r"([^{}]+)\{([^{}]*)\}", text)
        self.rules = [(part.split(), pairs(body)) for selectors, body in found for part in selectors.split(",")]

    def of(self, element: Any, above: tuple[Any, ...]) -> Style:
        """What holds for an element below others: its attributes, then the rules in order, as in CSS."""
        answer = dict(element.attrib)
        for selector, body in self.rules:
            if matches(selector[-1], element) and below(selector[:-1], above):
                answer |= body
        return answer


def pairs(body: str) -> Style:
    """``fill:none;stroke:#000`` as a dictionary."""
    return {k.strip(): v.strip() for k, _, v in [p.partition(":") for p in body.split(";")] if v}


def local_name(element: Any) -> str:
    """The tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def matches(part: str, element: Any) -> bool:
    """Does ``.op``, ``path`` or ``.op.out`` mean this element?"""
    tag, *names = part.split(".")
    return tag in ("", local_name(element)) and set(names) <= set(element.get("class", "").split())


def below(parts: list[str], above: tuple[Any, ...]) -> bool:
    """Are there ancestors for all parts of a selector, in this order?"""
    ancestors = iter(above)
    return all([any(matches(part, element) for element in ancestors) for part in parts])


def shapes(
    element: Any, sheet: Sheet, at: tuple[float, float], above: tuple[Any, ...], opacity: float = 1.0
) -> Iterator[Shape]:  # fmt: skip
    """All elements that are drawn, with their style and where their group stands; a faded group fades what is in it."""
    for child in element:
        x, y = at
        if moved := re.match(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", child.get("transform", "")):
            x, y = x + float(moved[1]), y + float(moved[2])
        inside = (*above, element)
        tag = local_name(child)
        style = sheet.of(child, inside)
        left = opacity * float(style.get("opacity", "1"))
        if tag in TAGS:
            yield {"tag": tag, "at": (x, y), "text": child.text or "", **style, "opacity": str(left)}
        elif tag == "g":
            yield from shapes(child, sheet, (x, y), inside, left)


def number(shape: Shape, name: str, whole: float = 0.0) -> float:
    """An attribute as a number; a percentage is of ``whole``."""
    text = str(shape.get(name, "0")).removesuffix("px")
    return whole * float(text[:-1]) / 100 if text.endswith("%") else float(text)


def outline(d: str) -> tuple[list[tuple[float, float]], list[int]]:
    """The points of a path and matplotlib's codes (1 move, 2 line, 4 curve, 79 close), of commands M L C H V h l v z.

    >>> outline("M1 2H5l1 1z")
    ([(1.0, 2.0), (5.0, 2.0), (6.0, 3.0), (1.0, 2.0)], [1, 2, 2, 79])
    """
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    tokens = TOKEN.findall(d)
    place = 0
    command = ""
    while place < len(tokens):
        if tokens[place].isalpha():
            command = tokens[place]
            place += 1
        if command not in COUNTS:
            raise ValueError(f"shapes.py does not know the path command {command!r}")
        numbers = [float(t) for t in tokens[place : place + COUNTS[command]]]
        place += COUNTS[command]
        x, y = points[-1] if points else (0.0, 0.0)
        if command == "z":
            points.append(points[max(i for i, code in enumerate(codes) if code == 1)])
            codes.append(79)
            continue
        if command in "hvl":
            dx, dy = {"h": (numbers[0], 0.0), "v": (0.0, numbers[0])}.get(command, tuple(numbers))
            numbers = [x + dx, y + dy]
        elif command in "HV":
            numbers = [numbers[0], y] if command == "H" else [x, numbers[0]]
        points += list(zip(numbers[::2], numbers[1::2], strict=True))
        codes += {"M": [1], "C": [4, 4, 4]}.get(command, [2])
        command = "L" if command == "M" else command
    return points, codes


COUNTS = {"M": 2, "L": 2, "l": 2, "C": 6, "H": 1, "h": 1, "V": 1, "v": 1, "z": 0}
