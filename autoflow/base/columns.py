"""Tables of text: what reports print."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache


@lru_cache(4096)
def cells(c: str) -> int:
    """How many places a letter takes in a terminal: 2 for Chinese and most pictographs, 0 for an accent on its own."""
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def places(text: str) -> int:
    """How many places a text takes in a terminal."""
    return sum(map(cells, text))


def padded(text: str, wide: int, ends: bool = False) -> str:
    """The text with blanks behind it, or in front of it if the column ``ends`` with it, in that many places."""
    blanks = " " * (wide - places(text))
    return blanks + text if ends else text + blanks


def aligned(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The rows as lines, each column as wide as its widest cell. ``right``: the columns whose cells end together.

    >>> print(*aligned([("x", "3", "one"), ("long", "15", "")], right={1}), sep="\\n")
    x      3  one
    long  15
    """
    rows = list(rows)
    widths = [max(map(places, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([padded(x, widths[k], k in right) for k, x in enumerate(row)]).rstrip() for row in rows]
