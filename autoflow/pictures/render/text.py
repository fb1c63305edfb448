"""The picture as text: a tree of lines for terminals, logs and screen readers; JSON for programs; Mermaid for Markdown.

The tree runs from the output down to the leaves, operands in order. A node that is used several times is shown once,
and then by name. A column per number: the gradient, the local derivative, the contributions whose sum the gradient is.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, replace
from textwrap import shorten
from typing import Any

from ...base.columns import padded, places
from ..folding.choose import MANY
from ..folding.results import tidy
from ..folding.views import counts, visible_picture
from ..model.data import GraphData, Operand, Vertex
from ..model.style import LIGHT, SHORT, shows_boxes, to_ascii
from .cards import sum_text

# ---------------------------------------------------------------- the tree

DEEP = 14  # levels; deeper parts continue in a tree of their own
WIDE = 60  # letters of a list of names


@dataclass(slots=True)
class TreeRow:
    """One line of the tree, before the columns are aligned."""

    text: str
    gradient: str = ""
    local: str = ""
    parts: str = ""


def to_text(graph: GraphData, ascii: bool | None = None) -> str:
    """The tree of the recorded graph, folded if it is large. ``ascii``: None asks whether the terminal can show
    more."""
    graph = tidy(graph)
    if len(graph.nodes) > MANY and graph.look.fold and not graph.view:
        if "tree" not in graph.__dict__:  # asked for twice where a notebook shows a picture
            graph.__dict__["tree"] = visible_picture(replace(graph, look=replace(graph.look, merge=False)))
        graph = graph.__dict__["tree"]
    rows = list(Tree(graph).rows())
    ascii = not shows_boxes() if ascii is None else ascii
    if ascii:  # before the columns are aligned: (1) is wider than ①
        rows = [TreeRow(*map(to_ascii, astuple(row))) for row in rows]
    wide = [max(map(places, x)) for x in zip(*[(r.text, r.gradient, r.local) for r in rows], strict=True)]
    lines = []
    for row in rows:
        line = padded(row.text, wide[0] + 2) + padded(row.gradient, wide[1] + 2) + padded(row.local, wide[2] + 1)
        lines.append((line + row.parts).rstrip())
    titles = [graph.nodes[k].title for k in graph.outputs]
    can = graph.gradients and len(titles) == 1 and titles[0].isidentifier()
    invitation = f" · {titles[0]}.step() walks through the backward pass" if can else ""
    lines += [counts(graph) + invitation, *graph.notes]
    text = "\n".join(lines)
    return to_ascii(text) if ascii else text


class Tree:
    """The walk that writes the lines. Iterative: a graph may be deeper than Python's stack."""

    def __init__(self, graph: GraphData) -> None:
        self.graph, self.digits = graph, graph.look.digits
        self.is_lesson = graph.look.detail == "lesson" and graph.gradients  # has each arrow a number?
        self.seen: set[int] = set()
        self.shown: set[tuple[int, int | None]] = set()  # results of a function with several
        self.later: list[int] = []
        self.same = Counter([node.title for node in graph.nodes])

    def title(self, node: Vertex) -> str:
        """The title; where two nodes have the same one, with the node's number."""
        return node.title if self.same[node.title] == 1 else f"{node.title} #{node.id}"

    def rows(self) -> Iterator[TreeRow]:
        """All lines: a tree per output, then what was too deep."""
        starts = [(k, True) for k in reversed(self.graph.outputs)]
        while starts or self.later:
            if not starts:
                starts, self.later = [(k, False) for k in reversed(self.later)], []
            k, output = starts.pop()
            if k not in self.seen or output:
                yield from self.tree(k)

    def tree(self, start: int) -> Iterator[TreeRow]:
        """The lines of one tree."""
        stack: list[tuple[Vertex | None, Operand | None, str, str]] = [(self.graph.nodes[start], None, "", "")]
        while stack:
            node, row, lead, below = stack.pop()
            if node is None:
                assert row is not None  # noqa: S101 - an entry has a node or an operand
                yield TreeRow(lead + row.title + (f"  ({row.note})" if row.note not in ("", "no gradient") else ""))
                continue
            is_repeated = node.id in self.seen
            if node.results:
                key = node.id, row.result if row else None
                yield self.line(node, row, lead, key in self.shown, False)
                self.shown.add(key)
                outputs = [k for k, result in enumerate(node.results) if result.output and row is None]
                below_it = [(node, Operand(k, "", node.id, result=k), f"{below}├─ ", below) for k in outputs]
                stack += reversed(below_it + ([] if is_repeated else list(self.children(node, below))))
                self.seen.add(node.id)
                continue
            deep = len(below) >= 4 * DEEP and not is_repeated and bool(node.operands)
            yield self.line(node, row, lead, is_repeated, deep)
            self.later += [node.id] if deep else []
            if not (is_repeated or deep):
                self.seen.add(node.id)
                stack += reversed(list(self.children(node, below)))

    def children(self, node: Vertex, below: str) -> Iterator[tuple[Vertex | None, Operand | None, str, str]]:
        """The entries of the operands. Operands that are all known leaves share a line."""
        operands = node.rows
        several = len(operands) > 1 and not node.more_operands and not self.is_lesson
        sources = [self.graph.nodes[r.source] for r in operands if r.source is not None and r.source in self.seen]
        if several and len(sources) == len(operands) and not any([v.operands for v in sources]):  # known leaves
            names = shorten(", ".join(map(self.title, sources)), WIDE, placeholder=" …")
            yield None, Operand(0, names, note="shown above"), f"{below}└─ ", ""
            return
        for place, row in enumerate(operands):
            last = place == len(operands) - 1 and not node.more_operands
            number = chr(0x2460 + row.slot) if row.slot < 20 else f"({row.slot + 1})"  # circled as far as there are any
            lead = below + ("└─" if last else "├─") + number * (len(operands) > 1) + " "
            source = None if row.source is None else self.graph.nodes[row.source]
            yield source, row, lead, below + ("    " if last else "│   ")
        if node.left_out:
            yield None, Operand(0, node.left_out), f"{below}└─ ", ""

    def line(self, node: Vertex, row: Operand | None, lead: str, known: bool, deep: bool) -> TreeRow:
        """The line of one node, seen from the operation that uses it."""
        local = f"×{row.local.text(self.digits)}" if row and row.local and self.is_lesson else ""
        carried = node.carried(row.result if row else None)
        title = self.title(node) if carried is node else carried.title
        if known or deep:
            return TreeRow(f"{lead}{title}  ({'shown above' if known else 'continued below'})", local=local)
        text = lead + title
        if node.results:
            text += f"  {node.several}" if carried is node else f"  of {self.title(node)}"
        elif node.fold is not None:
            text += f"  ({node.fold.text() or node.word})"
        elif node.said:
            text += f"  {node.said}"
        if self.graph.look.detail == "names":
            return TreeRow(text)
        if node.results and carried is node:
            return TreeRow(text, local=local)
        value = carried.value
        if value.shape_text():
            text += f"  {value.shape_text()}"
        text += f" = {value.text(self.digits)}" if value.kept or node.fold is None else ""
        notes = [n for n in (*node.notes, value.flags()) if n and n != "no gradient"]
        if row is not None and row.note.startswith("broadcast"):
            notes.append(row.note)
        text += f"  ({', '.join(notes)})" if notes else ""
        if (gradient := carried.gradient) is None:
            return TreeRow(text)
        of, prefix, whole = carried.parts, "", gradient.text(self.digits)
        if of and self.is_lesson:
            prefix, whole = sum_text(of, carried.of_parts, gradient, self.digits)
            prefix = f"{prefix[-1] if prefix[-1] in '=≈' else ''} {prefix.rstrip(' =≈')}".strip()
        amount = f"∂ {whole}"
        if gradient.elements is None:
            amount = f"∂ {'▰' * gradient.blocks()}{'▱' * (6 - gradient.blocks())} {gradient.magnitude(self.digits)}"
        return TreeRow(text, amount, local, prefix)


# ---------------------------------------------------------------- JSON and Mermaid


def to_json(graph: GraphData) -> str:
    """The graph as JSON. ``<``, ``>`` and ``&`` are written as escapes, so it is safe inside HTML."""
    data: dict[str, Any] = {
        "format": "autoflow graph 1", "title": graph.title, "outputs": graph.outputs, "gradients": graph.gradients,
        "notes": graph.notes, "nodes": [asdict(v) for v in graph.nodes],
        "edges": [asdict(e) for e in graph.edges],
        "several": [asdict(s) for s in graph.several],
    }  # fmt: skip
    for v in data["nodes"]:
        del v["place"], v["kept"]  # where the program lies on this computer is nobody else's business
    return safe_json(_plain(data), indent=1) + "\n"


def safe_json(data: object, indent: int | None = None) -> str:
    """JSON that is safe inside ``<script>``.

    >>> safe_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    between = (",", ":" + " " * (indent is not None))
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent, separators=between)
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


def _plain(x: object) -> Any:
    """JSON knows neither NaN nor complex numbers: those become text."""
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    return str(x) if isinstance(x, complex) or (isinstance(x, float) and not math.isfinite(x)) else x


def to_mermaid(graph: GraphData) -> str:
    """A flowchart: nodes with values and gradients, arrows with the number of the operand and the local derivative."""
    graph = visible_picture(graph)
    digits = graph.look.digits
    lines = ["flowchart " + ("TD" if graph.look.direction == "down" else "LR")]
    for v in graph.nodes:
        words = [v.title, *([v.said] if v.said else [])] if v.word != v.kind else [v.title, v.kind]
        if v.results:
            words += [f"{r.title} = {r.value.shape_text()} {r.value.text(digits)}" for r in v.results]
        elif graph.look.detail != "names":
            words.append(f"{v.value.shape_text()} {v.value.text(digits)}".strip())
            words += [f"{graph.partial(v)} = {v.gradient.text(digits)}"] if v.gradient else []
        text = "<br/>".join([mermaid_text(w) for w in words])
        lines.append(f'    n{v.id}["{text}"]' if v.kind == "Operation" else f'    n{v.id}(["{text}"])')
    for e in graph.edges:
        words = [str(e.slot + 1)] if len(graph.nodes[e.target].operands) > 1 else []
        words += [graph.nodes[e.source].carried(e.result).title] if e.result is not None else []
        words += [f"×{e.local.text(digits)}"] if e.local and graph.look.detail == "lesson" else []
        label = f'|"{mermaid_text(" ".join(words))}"|' if words else ""
        lines.append(f"    n{e.source} {'-->' if e.flows else '-.->'}{label} n{e.target}")
    for kind, short in SHORT.items():
        if members := ",".join([f"n{v.id}" for v in graph.nodes if v.kind == kind]):
            fill, line, ink = LIGHT[short + "-fill"], LIGHT[short + "-line"], LIGHT[short + "-text"]
            dashes = ",stroke-dasharray:6 4" if kind == "Constant" else ""
            lines.append(f"    classDef {short} fill:{fill},stroke:{line},color:{ink}{dashes}")
            lines.append(f"    class {members} {short}")
    lines += [f"    %% {mermaid_text(note)}" for note in graph.notes]
    return "\n".join(lines) + "\n"


def mermaid_text(text: str) -> str:
    """Letters, digits and a few signs as they are, everything else in Mermaid's numbered escapes.

    >>> mermaid_text('a "b"')
    'a #34;b#34;'
    """
    return "".join([c if c.isalnum() or c in " .=_,:" else f"#{ord(c)};" for c in text])
