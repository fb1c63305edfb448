"""The picture as HTML: one fragment that works wherever HTML is shown, and degrades where less is allowed.

    image        a ``data:`` image of the SVG, with a text that says what it shows: nothing removes that
    table        all steps, behind a click: for screen readers, and for pages that run no scripts
    data         what each step changes, and the picture with other boxes folded, as JSON
    script       ``fragment.js``: replaces the image by the living picture and its controls

No ids, no links, nothing from the network, no ``eval``. What a user wrote is escaped, and the script treats it as text.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from .data import Graph, Vertex
from .stepping import Step, steps_of
from .style import DARK, LIGHT
from .toggling import toggles

STEPPED = 200  # nodes; of a larger picture nobody wants every step in the page
LAST = -1


def page(graph: Graph, start: int = LAST) -> str:
    """A whole HTML page, which opens at step ``start``: 0 is the first, -1 the finished picture."""
    schemes = "light dark" if graph.look.theme == "auto" else graph.look.theme
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{schemes}">\n<title>{escape(graph.title)}</title>\n'
        "<style>body{margin:12px;font:14px system-ui,sans-serif}td,th{padding:1px 10px 1px 0;text-align:left;"
        "vertical-align:top}</style>\n"
        f"</head>\n<body>\n{fragment(graph, start)}\n</body>\n</html>\n"
    )


def fragment(graph: Graph, start: int = LAST) -> str:
    """What stands in the page, or in a notebook's cell."""
    shown = graph.drawn
    whole = len(shown.nodes) <= STEPPED and not any([v.fold for v in shown.nodes])
    steps = steps_of(shown) if graph.gradients and whole else []
    told = [frame(shown, step) for step in steps]
    data = {
        "start": start,
        "css": style(graph.look.theme),
        "light": fixed(graph),
        "steps": told,
        "folds": toggles(graph),
    }
    return (
        f'<div class="autoflow-picture">{image(graph)}{table(graph, steps)}'
        f'<script type="application/json" class="autoflow-data">{safe_json(data)}</script>'
        f"<script>{script()}</script></div>"
    )


def image(graph: Graph) -> str:
    """The picture as an image, which survives where scripts and SVG are removed."""
    data = base64.b64encode(graph.to_svg().encode()).decode()
    return f'<img alt="{escape(graph.summary())}" src="data:image/svg+xml;base64,{data}" style="max-width:100%"/>'


def table(graph: Graph, steps: list[Step]) -> str:
    """All steps as a table; of a picture that is not stepped through, the tree."""
    if not steps:
        return f"<details><summary>as text</summary><pre>{escape(graph.to_text(ascii=False))}</pre></details>"
    rows = "".join(
        [f"<tr><td>{s.number}</td><td>{s.phase}</td><td>{escape(s.caption)}</td></tr>" for s in steps]
    )  # fmt: skip
    head = "<thead><tr><th>step</th><th>phase</th><th>what happens</th></tr></thead>"
    return f"<details><summary>all steps as text</summary><table>{head}<tbody>{rows}</tbody></table></details>"


def safe_json(data: Any) -> str:
    """JSON that may stand inside ``<script>``.

    >>> safe_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


# ------------------------------------------------------------------ what the script gets


def frame(graph: Graph, step: Step) -> dict[str, Any]:
    """One step: its texts, the arrows that lead to its node, the products that it sends, the texts that change."""
    told: dict[str, Any] = {"phase": step.phase, "caption": step.caption}
    if step.question:
        told["question"] = step.question
    if step.node is None:
        return told
    node = graph.nodes[step.node]
    told["node"] = node.id
    if step.phase == "forward":
        told["inputs"] = [arrow(row.source, node, row.slot) for row in node.operands if row.source is not None]
    if step.phase == "seed" and step.gradient is not None:
        told["sum"] = step.gradient.text(graph.look.digits)
        told["complete"] = node.of_parts <= 1
    if step.products:
        places = [row.slot for row in node.operands if row.sent is not None]  # of the row's "= 6.619" in the card
        told["products"] = [
            {
                "edge": arrow(p.source, node, p.slot), "row": places.index(p.slot), "to": p.source,
                "sum": p.so_far.text(graph.look.digits) if p.so_far and p.so_far.kept else "…",
                "complete": p.place >= p.of_places,
            }
            for p in step.products
        ]  # fmt: skip
    return told


def arrow(source: int | None, target: Vertex, slot: int) -> str:
    """The name that svg.py gives to an arrow."""
    return f"{source}-{target.id}-{slot}"


def fixed(graph: Graph) -> str:
    """Which theme the page has: "true" is light, "" follows the reader's, in the words that JupyterLab uses."""
    return {"light": "true", "dark": "false"}.get(graph.look.theme, "")


@cache
def style(theme: str) -> str:
    """The style sheet of the controls. Around them stands an element that says which theme the notebook has."""
    light, dark = [
        "".join([f"--{key}:{value};" for key, value in colours.items()]) + f"color-scheme:{name}"
        for colours, name in ((LIGHT, "light"), (DARK, "dark"))
    ]
    rules = [
        f".page{{{light}}}",
        f"@media (prefers-color-scheme:dark){{.page{{{dark}}}}}",
        f"[data-jp-theme-light=true] .page{{{light}}}",
        f"[data-jp-theme-light=false] .page{{{dark}}}",
    ]
    return "\n".join([*rules, packed("fragment.css")])


@cache
def script() -> str:
    """``fragment.js`` as it stands in pages."""
    return packed("fragment.js")


def packed(name: str) -> str:
    """A file of this package without indentation and without its lines of comment."""
    text = (files(__package__) / name).read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join([line for line in lines if line and not line.startswith("//")])
