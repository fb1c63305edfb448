"""The table of a graph, one row per node: ``graph.table()``."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.data import GraphData
from ..model.style import cells, to_ascii


def table(picture: GraphData, *, ascii: bool = False) -> str:
    """One row per node of a Graph: number, title, operation, shape, value, gradient, operands.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(table(af.graph(x * x, gradients=True)))
    node  title  operation  shape  value  gradient  operands
    0     x      Variable          3      6
    1     x*x    multiply          9      1         0 0
    """
    rows = table_rows(picture)
    return "\n".join(align_columns([[to_ascii(cell) for cell in row] for row in rows] if ascii else rows))


def table_rows(picture: GraphData) -> list[list[str]]:
    """The same as rows of texts, the headlines first."""
    digits = picture.look.digits
    rows = [["node", "title", "operation", "shape", "value", "gradient", "operands"]]
    for v in picture.nodes:
        gradient = v.gradient.text(digits) if v.gradient else ""
        shown = [v.value.shape_text(), v.value.text(digits), gradient]
        if v.results:
            sent = [f"{r.title}: {r.gradient.text(digits)}" for r in v.results if r.gradient is not None]
            shown = [v.several, "  ".join([f"{r.title} = {r.value.text(digits)}" for r in v.results]), "  ".join(sent)]
        rows.append([
            str(v.id), v.title, v.word, *shown,
            " ".join([row.title if row.source is None else str(row.source) for row in v.operands]),
        ])  # fmt: skip
    return rows


def align_columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Lines with columns below each other; those in ``right`` end below each other."""
    wide = [max([sum(map(cells, text)) for text in column]) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        pieces = []
        for k, text in enumerate(row):
            blanks = " " * (wide[k] - sum(map(cells, text)))
            pieces.append(blanks + text if k in right else text + blanks)
        lines.append("  ".join(pieces).rstrip())
    return lines
