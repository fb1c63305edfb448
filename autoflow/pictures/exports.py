"""Files and notebook outputs: JSON, Mermaid, ``save``, the bundle for IPython."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from .data import Graph
from .style import LIGHT, SHORT, clip


def to_json(graph: Graph) -> str:
    """The graph as JSON. ``<``, ``>`` and ``&`` are written as escapes, so it may stand inside HTML."""
    data = {
        "format": "autoflow graph 1", "title": graph.title, "outputs": graph.outputs, "gradients": graph.gradients,
        "notes": graph.notes, "nodes": [asdict(v) for v in graph.nodes], "edges": [asdict(e) for e in graph.edges],
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


def to_mermaid(graph: Graph) -> str:
    """A flowchart: nodes with values and gradients, arrows with the number of the operand and the local derivative."""
    digits = graph.look.digits
    lines = ["flowchart " + ("TD" if graph.look.direction == "down" else "LR")]
    for v in graph.nodes:
        words = [v.title, v.word] if v.word != v.kind else [f"{v.title}", v.kind]
        if graph.look.detail != "names":
            words.append(f"{v.value.shape_text()} {v.value.text(digits)}".strip())
            words += [f"{graph.partial(v)} = {v.gradient.text(digits)}"] if v.gradient else []
        text = "<br/>".join([mermaid_text(w) for w in words])
        lines.append(f'    n{v.id}["{text}"]' if v.kind == "Operation" else f'    n{v.id}(["{text}"])')
    for e in graph.edges:
        words = [str(e.slot + 1)] if len(graph.nodes[e.target].operands) > 1 else []
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


WRITERS: dict[str, Callable[[Graph], str]] = {
    ".svg": Graph.to_svg, ".dot": Graph.to_dot, ".gv": Graph.to_dot, ".mmd": Graph.to_mermaid, ".json": Graph.to_json,
    ".txt": lambda graph: graph.to_text() + "\n",
}  # fmt: skip
DRAWN = (".png", ".pdf")


def save(graph: Graph, path: Any) -> Path:
    """Write the file; the end of its name decides what."""
    target = Path(os.fspath(path))
    suffix = target.suffix.lower()
    if suffix in DRAWN:
        from .dot import run_dot

        target.write_bytes(run_dot(graph, suffix[1:]))
    elif suffix in WRITERS:
        target.write_text(WRITERS[suffix](graph), encoding="utf-8", newline="\n")
    else:
        known = " ".join([*WRITERS, *DRAWN])
        raise ValueError(f"a picture can be saved as {known}; not as {clip(repr(target.name), 60)}")
    return target


def bundle(graph: Graph, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """What IPython shows: HTML for notebooks, SVG, and the tree for terminals.

    The HTML is an image with the SVG inside, because notebooks that are not trusted remove everything else.
    """
    makers: dict[str, Callable[[Graph], str]] = {"text/html": _html, "image/svg+xml": Graph.to_svg, "text/plain": str}
    answer = {}
    for kind, make in makers.items():
        if (include and kind not in include) or (exclude and kind in exclude):
            continue
        try:
            answer[kind] = make(graph)
        except Exception as error:
            if kind == "text/plain":
                answer[kind] = f"a picture of {len(graph.nodes)} nodes, which failed: {type(error).__name__}"
    return answer


def _html(graph: Graph) -> str:
    data = base64.b64encode(graph.to_svg().encode()).decode()
    return f'<img alt="{escape(graph.summary())}" src="data:image/svg+xml;base64,{data}" style="max-width:100%"/>'
