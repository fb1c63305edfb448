"""The program beside its picture: the lines in which the nodes were made, and which card belongs to which piece.

A picture knows of each node a place (file, line, columns) and the text that stood there. The lines are read when a page
is written; where they are no longer what ran, they are left out. Only the name of a file is told, not where it lies.
"""

from __future__ import annotations

import linecache
import os
from itertools import groupby
from typing import Any

from ...program.source import segment, units
from ..model.data import GraphData
from ..model.style import clean, clip

MOST = 300  # lines of a file
WIDEST = 160  # characters of a line
OPENERS = ("def ", "class ", "for ", "while ", "with ", "async ", "if ", "else", "elif ")


class Listing:
    """The lines of the program that made a picture, and the places in them."""

    def __init__(self, graph: GraphData) -> None:
        self.files: list[dict[str, Any]] = []
        self.spans: list[tuple[int, ...]] = []  # file, first and last line, first and last column
        self.places: dict[Any, int] = {}  # -> the number of each
        for file, places in groupby(sorted({v.place for v in graph.nodes if v.place is not None}), lambda p: p[0]):
            self.add(file, list(places))
        self.nodes = [self.places.get(v.place) for v in graph.nodes]

    def add(self, file: str, places: list[Any]) -> None:
        """Take in a file, if it is still what ran."""
        lines = linecache.getlines(file)
        encoded = [line.encode() for line in lines]
        current = [place for place in places if segment(encoded, place[1:5]) == place[5]]
        near = {n for _, first, last, *_ in current for n in (*openers(lines, first), *range(first - 1, last + 2))}
        numbers = sorted(near.intersection(range(1, len(lines) + 1)))[:MOST]
        for place in current:
            ends = zip(place[1:3], place[3:5], strict=True)
            columns = [units(encoded[n - 1], column) for n, column in ends]
            self.places[place] = len(self.spans)
            self.spans.append((len(self.files), *place[1:3], *columns))
        name = clip(clean(os.path.basename(file)), 40) if os.path.isfile(file) else ""  # of a cell none
        texts = [[n, clip(clean(lines[n - 1].rstrip()), WIDEST)] for n in numbers]
        self.files += [{"name": name, "lines": texts}] if current else []

    def data(self, drawn: GraphData) -> dict[str, Any] | None:
        """The same for a page; None if there is nothing to show."""
        return {"files": self.files, "spans": self.spans, "cards": self.cards(drawn)} if self.files else None

    def cards(self, drawn: GraphData) -> dict[str, list[int]]:
        """For each card of what is drawn the numbers of its places."""
        places_of = {v.id: {self.nodes[k] for k in v.members} for v in drawn.nodes}
        return {str(card): sorted([n for n in places if n is not None]) for card, places in places_of.items()}


def openers(lines: list[str], first: int) -> list[int]:
    """The lines that begin the blocks around a line: ``def``, ``for``."""
    line_numbers, room = [], 1000
    for n in range(first, 0, -1):
        text = lines[n - 1]
        indent = len(text) - len(text.lstrip())
        if text.strip() and indent < room:
            room = indent
            line_numbers += [n] if n < first and text.lstrip().startswith(OPENERS) else []
    return line_numbers
