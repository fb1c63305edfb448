"""Tables of text: what reports print."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The rows as lines, each column as wide as its widest cell. ``right``: the columns whose cells end together.

    >>> print(*aligned([("x", "3", "one"), ("long", "15", "")], right={1}), sep="\\n")
    x      3  one
    long  15
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[x.rjust(w) if k in right else x.ljust(w) for k, (x, w) in enumerate(zip(row, widths, strict=True))]
             for row in rows]  # fmt: skip
    return ["  ".join(line).rstrip() for line in cells]
