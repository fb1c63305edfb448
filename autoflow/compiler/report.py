"""What a plan does: the table that ``compiled.plan()`` prints, and a picture of which value uses which memory when.

In the picture time goes from left to right, one column per call, and each row is a buffer; a bar is a value in it,
from the call that writes it to the last one that reads it.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..modes import modes
from .values import CAPTURED, CONSTANT, INPUT, Value, behind_views

UNASKED = ("item", "view", "stack")  # computes nothing
WIDEST, COLUMN, ROW, LEFT = 60, 18, 22, 96  # columns of the picture; its size in pixels


class Report:
    """A plan as a table (``print``), as a picture (``svg()``; a notebook shows both), as data (``rows``).

    calls : the number of NumPy calls in one run. bytes : of all buffers together. groups : for programs of numbers, the
    number of vectors; for blocks, the number of phases.
    """

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.buffers = plan.buffers
        self.bytes = sum([b.nbytes for b in plan.buffers])
        self.calls = len(plan.steps)
        self.order: list[Value] = plan.program.order()
        self.names = {v: self.source(v) for v in self.order}
        if hasattr(plan, "order"):  # numbers: see compiler/run/scalars.py
            self.rows: list[tuple[str, ...]] = []
            self.groups = len(plan.steps) if self.bytes else 0
            return
        self.steps = [s for s in plan.steps if s.value.kind not in (INPUT, CAPTURED, CONSTANT)]
        self.names.update({s.value: str(k) for k, s in enumerate(self.steps, 1)})
        self.groups = sum([s.value.name == "blocks" for s in self.steps])
        self.where = [self.buffer_of(s.out) for s in self.steps]
        self.rows = [
            (str(k), s.value.name, str(s.value.shape), str(s.value.dtype or "several"),
             " ".join([self.operand_name(x) for x in s.value.args]), self.target(s.value, b))
            for k, (s, b) in enumerate(zip(self.steps, self.where, strict=True), 1)
        ]  # fmt: skip

    def source(self, v: Value) -> str:
        """The name of an argument, an array from outside, a constant."""
        if v.kind == INPUT:
            return f"x{v.options}"
        if v.kind == CAPTURED:
            return "outside"
        if v.kind == CONSTANT:
            return str(v.sample) if not v.shape else "constant"
        return ""

    def operand_name(self, x: Value) -> str:
        """An operand; a view by the value that it shows."""
        while not self.names[x] and x.args:
            x = x.args[0]
        return self.names[x] or x.name

    def buffer_of(self, out: Any) -> int | None:
        """The number of the buffer that an array lies in."""
        if not isinstance(out, np.ndarray):
            return None
        return next((k for k, b in enumerate(self.buffers) if np.may_share_memory(b, out)), None)

    def target(self, v: Value, buffer: int | None) -> str:
        """Where a value is written."""
        if buffer is not None:
            return f"buffer {buffer}"
        outputs = self.plan.program.outputs
        return f"result {outputs.index(v)}" if v in outputs else "new array"

    def __str__(self) -> str:
        calls, buffers = count_phrase(self.calls, "NumPy call"), count_phrase(len(self.buffers), "buffer")
        first = f"{calls}, {buffers} of {self.bytes:,} bytes in all"
        if hasattr(self.plan, "title"):
            first = f"{self.calls} {self.plan.title}"
        if not self.rows:
            vectors = f", {self.groups} of them on vectors" if self.bytes else ""
            return count_phrase(self.calls, "operation") + " on numbers" + vectors
        head = ("", "call", "shape", "dtype", "operands", "into")
        widths = [max([len(row[k]) for row in (head, *self.rows)]) for k in range(5)]
        lines = []
        for row in (head, *self.rows):
            cells = [c.ljust(w) for c, w in zip(row[1:5], widths[1:], strict=True)]
            lines.append("  ".join([row[0].rjust(max(widths[0], 2)), *cells, row[5]]).rstrip())
        notes = self.plan.notes() if hasattr(self.plan, "notes") else self.describe_loops()
        return "\n".join([first, *lines, *notes])

    def describe_loops(self) -> list[str]:
        """With engine="llvm": which loops a call of them runs, and why other calls are none."""
        natives = {n: s.value.function for n, s in enumerate(self.steps, 1) if hasattr(s.value.function, "describe")}
        if not natives:
            return []
        from .llvm.stretches import reason_why_not

        lines = []
        for n, native in natives.items():
            lines += [f"loops of {n}:", *native.describe()]
        others = [(n, s.value) for n, s in enumerate(self.steps, 1) if n not in natives and s.value.kind not in UNASKED]
        return lines + [f"{n} is NumPy's: {reason_why_not(v)}" for n, v in others]

    __repr__ = __str__

    def spans(self) -> list[tuple[int, int, int, str]]:
        """(buffer, first call, last call, name) of every value in a buffer."""
        last: dict[Value, int] = {}
        for k, s in enumerate(self.steps):
            for x in s.value.args:
                last[behind_views(x)] = k
        return [
            (b, k, max(last.get(s.value, k), k), s.value.name)
            for k, (s, b) in enumerate(zip(self.steps, self.where, strict=True)) if b is not None
        ]  # fmt: skip

    def svg(self, theme: str = "light") -> str:
        """The picture, of at most the first 60 calls."""
        from ..pictures.model.style import THEMES

        color = THEMES[theme]
        spans = [span for span in self.spans() if span[1] < WIDEST] if self.rows else []
        rows = sorted({b for b, *_ in spans})
        columns = min(self.calls, WIDEST)
        width, height = LEFT + columns * COLUMN + 12, 40 + len(rows) * ROW + 12
        text = f'font-family="system-ui, sans-serif" font-size="11" fill="{color["sub"]}"'
        parts = [f'<rect width="{width}" height="{height}" fill="{color["bg"]}"/>',
                 f'<text x="12" y="18" {text}>{escape(str(self).partition(chr(10))[0])}</text>']  # fmt: skip
        for k in range(0, columns, 5 if columns > 20 else 1):
            parts.append(f'<text x="{LEFT + k * COLUMN + 4}" y="34" {text}>{k + 1}</text>')
        for y, b in enumerate(rows):
            top = 40 + y * ROW
            size = f"{self.buffers[b].nbytes:,} B"
            parts.append(f'<text x="{LEFT - 8}" y="{top + 15}" text-anchor="end" {text}>{size}</text>')
            for _, first, end, name in [span for span in spans if span[0] == b]:
                x, w = LEFT + first * COLUMN, (min(end, columns - 1) - first + 1) * COLUMN - 2
                label = name if len(name) * 6.5 < w - 6 else ""
                parts.append(
                    f'<g><title>{first + 1} {escape(name)}</title><rect x="{x}" y="{top + 2}" width="{w}" '
                    f'height="{ROW - 5}" rx="2" fill="{color["op-fill"]}" stroke="{color["op-line"]}"/>'
                    f'<text x="{x + 4}" y="{top + 15}" font-family="system-ui, sans-serif" font-size="11" '
                    f'fill="{color["op-text"]}">{escape(label)}</text></g>'
                )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="buffers over time">{"".join(parts)}</svg>'
        )

    def _repr_html_(self) -> str:
        table = f"<pre>{escape(str(self))}</pre>"
        if modes().static:  # a page that keeps no SVG
            return table
        return f"<div>{self.svg('dark' if modes().theme == 'dark' else 'light')}</div>{table}"


def count_phrase(n: int, what: str) -> str:
    """``1 buffer``, ``2 buffers``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
