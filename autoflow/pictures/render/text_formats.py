"""Two formats that are text: JSON for programs, Mermaid for Markdown files."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from ..folding import views
from ..model.data import GraphData
from ..model.style import LIGHT, SHORT


def to_json(graph: GraphData) -> str:
    """The graph as JSON. ``<``, ``>`` and ``&`` are written as escapes, so it is safe inside HTML."""
    data = {
        "format": "autoflow graph 1", "title": graph.title, "outputs": graph.outputs, "gradients": graph.gradients,
        "notes": graph.notes, "nodes": [asdict(v) for v in graph.nodes], "edges": [asdict(e) for e in graph.edges],
        "several": [asdict(s) for s in graph.several],
    }  # fmt: skip
    text = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False, indent=1)
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text + "\n"


def _plain(x: Any) -> Any:
    """JSON knows neither NaN nor complex numbers: those become text."""
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    return str(x) if isinstance(x, complex) or (isinstance(x, float) and not math.isfinite(x)) else x


def to_mermaid(graph: GraphData) -> str:
    """A flowchart: nodes with values and gradients, arrows with the number of the operand and the local derivative."""
    graph = views.visible_picture(graph)
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
        arrow = "-->" if e.flows else "-.->"
        lines.append(
            f"    n{e.source} {arrow}" + (f'|"{mermaid_text(" ".join(words))}"| ' if words else " ") + f"n{e.target}"
        )
    for kind, short in SHORT.items():
        members = ",".join([f"n{v.id}" for v in graph.nodes if v.kind == kind])
        if members:
            fill, line, ink = LIGHT[short + "-fill"], LIGHT[short + "-line"], LIGHT[short + "-text"]
            dashes = ",stroke-dasharray:6 4" if kind == "Constant" else ""
            lines += [
                f"    classDef {short} fill:{fill},stroke:{line},color:{ink}{dashes}",
                f"    class {members} {short}",
            ]
    lines += [f"    %% {mermaid_text(note)}" for note in graph.notes]
    return "\n".join(lines) + "\n"


def mermaid_text(text: str) -> str:
    """Letters, digits and a few signs as they are, everything else in Mermaid's numbered escapes.

    >>> mermaid_text('a "b"')
    'a #34;b#34;'
    """
    return "".join([c if c.isalnum() or c in " .=_,:" else f"#{ord(c)};" for c in text])
