"""What ``af.check`` found, as text and as a table for notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from ..modes import modes

SHOWN = 30  # rows of a table


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of one input."""

    __module__ = "autoflow"

    input: str
    entry: tuple[int, ...]
    analytic: Any
    numeric: Any
    error: float
    right: bool
    order: int

    def cells(self) -> list[str]:
        """The cells of one row of the table."""
        d = "" if self.order == 1 else f" (order {self.order})"
        numbers = [f"{x:.8g}" for x in (self.analytic, self.numeric)]
        return [self.input + d, str(self.entry), *numbers, f"{self.error:.1e}"]


@dataclass
class Report:
    """What a check found: true if all is well. ``rows``: one per entry; ``found``: what else is wrong, in words."""

    __module__ = "autoflow"

    of: str
    found: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.found and all([row.right for row in self.rows])

    def title(self) -> str:
        """The result in one line."""
        wrong = sum([not row.right for row in self.rows])
        n = len(self.rows)
        entries = f"{n} entr{'y' if n == 1 else 'ies'}"
        state = f"{wrong} wrong of {entries}" if wrong else f"{entries}, all right" if self else "cannot be compared"
        return f"check of {self.of}: {state}"

    def ordered_rows(self) -> list[Row]:
        """The rows of the table, wrong ones first, the worst of all on top."""
        order = sorted(self.rows, key=lambda row: (row.right, 0.0 if row.right else -row.error))
        return order[:SHOWN]

    def __str__(self) -> str:
        lines = [self.title(), *[f"  {text}" for text in self.found]]
        if self.rows:
            head = ("input", "entry", "analytic", "numeric", "rel. error")
            cells = [head, *[tuple(row.cells()) for row in self.ordered_rows()]]
            marks = ["", *["" if row.right else "  <- wrong" for row in self.ordered_rows()]]
            wide = [max(n, *[len(c[k]) for c in cells]) for k, n in enumerate((9, 5, 14, 14, 10))]
            for c, mark in zip(cells, marks, strict=True):
                left = f"  {c[0]:<{wide[0]}}  {c[1]:<{wide[1]}}"
                lines.append(f"{left}  {c[2]:>{wide[2]}}  {c[3]:>{wide[3]}}  {c[4]:>{wide[4]}}{mark}")
        if len(self.rows) > SHOWN:
            lines.append(f"  ... and {len(self.rows) - SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """For notebooks: a table that needs no script and no style sheet. None under ``af.options.static``: text."""
        if modes().static:
            return None
        parts = [f"<p><b>{html.escape(self.title())}</b></p>"]
        parts += [f"<pre>{html.escape(text)}</pre>" for text in self.found]
        if self.rows:
            head = "".join([f"<th>{x}</th>" for x in ("", "input", "entry", "analytic", "numeric", "rel. error")])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
            for row in self.ordered_rows():
                style = "" if row.right else ' style="background:#f8d7da;color:#58151c"'
                cells = ["✓" if row.right else "✗ wrong", *row.cells()]
                parts.append(f"<tr{style}>" + "".join([f"<td>{html.escape(c)}</td>" for c in cells]) + "</tr>")
            parts.append("</tbody></table>")
        if len(self.rows) > SHOWN:
            parts.append(f"<p>... and {len(self.rows) - SHOWN} more</p>")
        return "\n".join(parts)
