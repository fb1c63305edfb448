"""The picture as HTML: one fragment that works wherever HTML is shown, and degrades where less is allowed.

    data         an attribute: what each step changes, and the picture with other boxes folded, as JSON
    text         hidden by an attribute: it appears where attributes, and with them images, are removed
    image        a ``data:`` image of the SVG, with a text that says what it shows: most programs leave it
    table        all steps, behind a click: for screen readers, and for pages that run no scripts
    script       ``fragment.js``: replaces the image by the living picture and its controls

No ids, no links, nothing from the network, no ``eval``. What a user wrote is escaped, and the script treats it as text;
MathJax, which notebooks run over all outputs, is told to leave it alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from ..folding.results import tidy
from ..folding.views import alt_text, visible_picture
from ..model.data import GraphData, Vertex
from ..model.steps import Product, Step, steps_of
from ..model.style import DARK, LIGHT
from ..render import tables
from ..render.svg import to_svg
from ..render.text import to_text
from .answers import answer_of, sent_answer
from .toggling import toggles

STEPPED = 200  # nodes; larger pictures cannot be stepped through in the page
LAST = -1
LONG = 65_536  # letters of data, above which it is compressed
PLAIN = "tex2jax_ignore mathjax_ignore"  # a name may have dollars, and MathJax makes links
TYPESET = "tex2jax_process mathjax_process"
RULE = 3  # the column of the table of steps that has formulas
REMOVED = "This page removes pictures. Those drawn under af.options(static=True, tables=True) stay."


def page(graph: GraphData, start: int = LAST, quiz: bool = False) -> str:
    """A whole HTML page, which opens at step ``start``: 0 is the first, -1 the finished picture."""
    schemes = "light dark" if graph.look.theme == "auto" else graph.look.theme
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{schemes}">\n<title>{escape(graph.title)}</title>\n'
        f"<style>{ground(graph.look.theme)}body{{margin:12px;font:14px system-ui,sans-serif}}"
        "td{padding:1px 10px 1px 0;vertical-align:top}@media print{details{display:none}}</style>\n"
        f"</head>\n<body>\n{fragment(graph, start, quiz)}\n</body>\n</html>\n"
    )


def ground(theme: str) -> str:
    """The background of a page: that of the picture in it."""
    light, dark = [f"html{{background:{colours['bg']}}}" for colours in (LIGHT, DARK)]
    return {"light": light, "dark": dark}.get(theme, f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")


def policy(*scripts: str) -> str:
    """What a browser may do in a page of ours: run these scripts and no other, load nothing from anywhere."""
    known = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join([f"'sha256-{text}'" for text in known])
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"


def fragment(graph: GraphData, start: int = LAST, quiz: bool = False) -> str:
    """The contents of the page, or of a notebook's cell. ``quiz``: with *predict first*, backward only."""
    shown = visible_picture(graph)
    known = len(shown.nodes) <= STEPPED and not (graph.view and any([v.fold for v in graph.nodes]))  # not of huge ones
    steps = steps_of(shown) if graph.gradients and known else []
    told = [frame(shown, step) for step in steps]
    data = {
        "start": start,
        "css": style(graph.look.theme),
        "light": fixed_theme(graph),
        "steps": told,
        "values": named_values(shown, steps),
        "quiz": quiz,
        "folds": toggles(graph),
    }
    return (
        f"<div class=\"autoflow-picture {PLAIN}\" data-autoflow='{attribute(data)}'>{instead(graph)}{image(graph)}"
        f"{table(graph, steps)}<script>{script()}</script></div>"
    )


def instead(graph: GraphData) -> str:
    """The tree, for programs that remove images. They remove attributes too: then it is no longer hidden.

    (JupyterLab keeps images; of attributes it removes the empty ones.)
    """
    return f'<div hidden="hidden"><pre>{REMOVED}\n{escape(to_text(graph, False))}</pre></div>'


def image(graph: GraphData) -> str:
    """The picture as an image, which survives where scripts and SVG are removed."""
    data = base64.b64encode(to_svg(graph).encode()).decode()
    return f'<img alt="{escape(alt_text(graph))}" src="data:image/svg+xml;base64,{data}" style="max-width:100%"/>'


def table(graph: GraphData, steps: list[Step]) -> str:
    """The steps as a table; of a picture that is not stepped through, the nodes."""
    if not steps:
        text = escape(tables.table(visible_picture(graph)))
        return f"<details><summary>all nodes as text</summary><pre>{text}</pre></details>"
    return f"<details><summary>all steps as text</summary>{html_table(step_rows(steps, graph), RULE)}</details>"


def step_rows(steps: Sequence[Step], graph: GraphData) -> list[list[str]]:
    """One row per step, below a row of headlines. Of a lesson with the local rules in LaTeX, in column RULE."""
    rows = [["step", "phase", "what happens"], *[[str(s.number), s.phase, s.caption] for s in steps]]
    if not graph.rules:
        return rows
    rules = {k: f"${text}$" for k, text in tidy(graph).rules}  # the ids that steps have
    last = ["local rule", *[rules.get(s.node, "") if s.node and s.phase == "backward" else "" for s in steps]]
    return [[*row, text] for row, text in zip(rows, last, strict=True)]


def html_table(rows: Sequence[Sequence[str]], math: int = -1) -> str:
    """A table of texts. MathJax may typeset the column ``math``, whose names are those of a formula.

    (Rows and cells only: of the elements of a table these are left everywhere.)
    """
    head, *body = [[escape(text) for text in row] for row in rows]
    lines = [[f"<b>{text}</b>" for text in head], *body]
    kinds = [f' class="{TYPESET}"' * (k == math) + ' style="text-align:left"' for k in range(len(head))]
    cells = ["".join([f"<td{kind}>{text}</td>" for kind, text in zip(kinds, line, strict=True)]) for line in lines]
    return f"<table>{''.join([f'<tr>{line}</tr>' for line in cells])}</table>"


def attribute(data: Any) -> str:
    """JSON for an attribute in apostrophes; if it is long, compressed and in letters that need no escapes.

    >>> attribute({"name": "</a> 'b'"})
    '{"name":"\\\\u003c/a\\\\u003e \\\\u0027b\\\\u0027"}'
    """
    text = safe_json(data).replace("'", "\\u0027")
    return text if len(text) <= LONG else base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def safe_json(data: Any) -> str:
    """JSON that is safe inside ``<script>``.

    >>> safe_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


# ------------------------------------------------------------------ what the script gets


def frame(graph: GraphData, step: Step) -> dict[str, Any]:
    """One step: its texts, the arrows that lead to its node, the products that it sends, the texts that change."""
    told: dict[str, Any] = {"phase": step.phase, "caption": step.caption}
    if step.question:
        told["question"] = step.question
    if step.node is None:
        return told
    node = graph.nodes[step.node]
    told |= {"node": node.id, "name": node.title}
    if step.phase == "backward" and node.id in (rules := dict(graph.rules)):
        told["rule"] = rules[node.id]
    if step.phase == "forward":
        told["value"] = answer_of(node.value)
        told["inputs"] = [arrow(row.source, node, row.slot) for row in node.operands if row.source is not None]
    if step.phase == "seed" and step.gradient is not None:
        told["sum"] = step.gradient.text(graph.look.digits)
        told["complete"] = node.of_parts <= 1
    if step.products:
        places = [row.slot for row in node.operands if row.sent is not None]  # of the row's "= 6.619" in the card
        told["products"] = [
            {
                "edge": arrow(p.source, node, p.slot), "to": p.source,
                "row": places.index(p.slot) if p.slot in places else -1,
                "sum": p.so_far.text(graph.look.digits) if p.so_far and p.so_far.kept else "…",
                "complete": p.place >= p.of_places, "name": p.title, "local": answer_of(p.local),
                "sent": sent_answer(graph, node, p.slot, p.sent), **place_of(graph, p),
            }
            for p in step.products
        ]  # fmt: skip
    return told


def place_of(graph: GraphData, p: Product) -> dict[str, int]:
    """Which of the gradients on a card it changes, where there are several."""
    if p.source is None or p.result is None:
        return {}
    return {"place": sum([r.gradient is not None for r in graph.nodes[p.source].results[: p.result]])}


def named_values(graph: GraphData, steps: Sequence[Step]) -> list[tuple[str, float, int]]:
    """Cards that an answer may name: the name, the number, and the step at which it is known."""
    born = {step.node: step.number for step in steps if step.phase == "forward"}
    found = [(v.title, answer_of(v.value), born.get(v.id, -1)) for v in graph.nodes if v.title.isidentifier()]
    return [(title, value, place) for title, value, place in found if isinstance(value, float)]


def arrow(source: int | None, target: Vertex, slot: int) -> str:
    """The name that pictures/render/svg.py gives to an arrow."""
    return f"{source}-{target.id}-{slot}"


def fixed_theme(graph: GraphData) -> str:
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
        f"@media screen and (prefers-color-scheme:dark){{.page{{{dark}}}}}",
        f"[data-jp-theme-light=true] .page{{{light}}}",
        f"[data-jp-theme-light=false] .page{{{dark}}}",
    ]
    return "\n".join([*rules, pack_file("fragment.css")])


@cache
def script() -> str:
    """``fragment.js`` as pages have it, wrapped so that none of its names is visible outside."""
    return wrap_script(pack_file("unpack.js"), pack_file("predict.js"), pack_file("fragment.js"))


def wrap_script(*pieces: str) -> str:
    """Pieces of JavaScript as one function that runs at once."""
    return "\n".join(['(() => {"use strict";', *pieces, "})();"])


def pack_file(name: str, package: str = __package__) -> str:
    """A file of a package without indentation and without its lines of comment."""
    text = (files(package) / name).read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join([line for line in lines if line and not line.startswith("//")])
