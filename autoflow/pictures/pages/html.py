"""The picture as HTML: one fragment that works wherever HTML is shown, and degrades where less is allowed.

    data         an attribute: what each step changes, and the picture with other boxes folded, as JSON
    text         hidden by an attribute: it appears where attributes, and with them images, are removed
    image        a ``data:`` image of the SVG, with a text that says what it shows: most programs leave it
    table        all steps, behind a click: for screen readers, and for pages that run no scripts
    script       ``fragment.js``: replaces the image by the living picture and its controls

No ids, no links, nothing from the network, no ``eval``. What a user wrote is escaped, and the script treats it as text;
MathJax, which notebooks run over all outputs, is told to leave it alone.

The first two sections make parts of the data. Answers are what *predict first* can ask for, and what the right answer
is, as ``predict.js`` gets it:

a number               a real, finite number; answers may be off by 1 %
{"entries": [...]}     an array of at most six numbers: all of them, in order
{"choices", "right"}   for larger arrays the formula of the contribution, among others of the picture
{"shape": [...]}       where there is no formula

Boxes fold and open on a click, in a page without any Python behind it. The page gets the picture once for each set of
folded boxes, drawn here by the same layout: a click only exchanges pictures. There are 2ⁿ such sets for n boxes, so
those which need the fewest clicks are drawn, up to a limit; a box whose click would lead further stays as it is. The
limits count cards and letters, not seconds: equal graphs give equal pages.
"""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from ..folding.results import tidy
from ..folding.views import alt_text, boxes_of, visible_picture, with_look
from ..model.data import GraphData, Numbers, Vertex
from ..model.steps import Product, Step, steps_of
from ..model.style import DARK, LIGHT
from ..render import cards
from ..render.display import STEPS
from ..render.svg import css, to_svg
from ..render.text import safe_json, to_text
from .listing import Listing

# ---------------------------------------------------------------- answers to what a page asks

OTHERS = 2  # wrong formulas beside the right one


def answer_of(x: Numbers | None) -> float | dict[str, list[float]] | None:
    """A number, or the entries of a small array; None if it is unknown or cannot be typed.

    >>> from autoflow.pictures.model.data import numbers
    >>> import numpy as np
    >>> answer_of(numbers(2.5)), answer_of(numbers(np.ones(3))), answer_of(numbers(np.ones(99)))
    (2.5, {'entries': [1.0, 1.0, 1.0]}, None)
    """
    if x is None or not x.elements:
        return None
    entries = [float(v) for v in x.elements if isinstance(v, (int, float)) and math.isfinite(v)]
    if len(entries) < len(x.elements):
        return None
    return entries[0] if x.scalar else {"entries": entries}


def sent_answer(graph: GraphData, node: Vertex, slot: int, sent: Numbers | None) -> Any:
    """The answer for a contribution: its numbers, or its formula, or its shape."""
    answer = answer_of(sent)
    if answer is not None or sent is None or sent.scalar or sent.elements is not None:
        return answer
    return formula_choice(graph, node, slot) or {"shape": list(sent.shape)}


def formula_choice(graph: GraphData, node: Vertex, slot: int) -> dict[str, Any] | None:
    """The formula of a contribution, and others: those of the same card first. None if there are no others."""
    rules = {row.slot: graph.rule(node, row) for row in node.operands}
    right = rules.get(slot, "")
    pool = [*rules.values(), *[graph.rule(v, row) for v in graph.nodes for row in v.operands]]
    others = [rule for rule in dict.fromkeys(pool) if rule and rule != right][:OTHERS]
    if not right or not others:
        return None
    choices = sorted([right, *others])
    return {"choices": choices, "right": choices.index(right)}


# ---------------------------------------------------------------- boxes that fold and open


PICTURES = 24  # as many as a picture may have folded boxes
CARDS = 800  # in all pictures together, to limit the time of their layout
LETTERS = 1_000_000  # a notebook keeps them all, compressed
NAMED = 500  # members of a folded box that can be found by their titles


def toggles(graph: GraphData) -> list[dict[str, Any]]:
    """For each set of folded boxes its picture, and where a click leads; the picture as it stands comes first.

    ``frames`` has, for each open box from the first drawn to the last, the number of the picture where it is folded;
    ``cards`` has, for the id of each folded one, that of the picture where it is open; -1 if the page does not have
    it. ``inside`` has the titles in each folded one, to be searched; ``at`` the card that represents each card of
    the first picture, ``parts`` all cards of what is folded there. Nothing without boxes.

    Where a set was not drawn, a click on + opens that box alone, with the others as in the first picture.
    """
    home = visible_picture(graph)
    if graph.view or graph.look.engine == "dot" or not (home.frames or any([v.fold for v in home.nodes])):
        return []  # (a huge graph is a view: its parts were never gathered)
    start = frozenset(graph.look.closed or boxes_of(graph)[1])
    images = {start: home}
    texts = {start: ""}  # that picture is in the page already
    waiting, budget = [start], [CARDS - len(home.nodes), LETTERS]
    listing = Listing(graph)
    for closed in waiting:
        for other, _ in ways(images[closed], closed, start).values():
            if other not in images and len(images) < PICTURES and min(budget) > 0:
                drawn = visible_picture(with_look(graph, closed=tuple(sorted(other))))
                budget[0] -= len(drawn.nodes)
                text = to_svg(drawn) if budget[0] > 0 else ""
                budget[1] -= len(text)
                if min(budget) > 0:
                    images[other], texts[other] = drawn, text
                    waiting.append(other)
    number = {closed: k for k, closed in enumerate(images)}
    titles = [v.title for v in graph.nodes]
    return [
        picture_data(drawn, closed, texts[closed], number, home, titles, start) | {"program": listing.cards(drawn)}
        for closed, drawn in images.items()
    ]


Boxes = frozenset[int]


def ways(drawn: GraphData, closed: Boxes, start: Boxes) -> dict[int, tuple[Boxes, Boxes]]:
    """For each box that can be seen the set of folded boxes after a click on it; and that set if the others were as at
    the start, but for those around an opened box, which are open."""
    opened = {v.fold.box: (closed - {v.fold.box}, start - {v.fold.box, *v.entered}) for v in drawn.nodes if v.fold}
    return opened | {f.path[-1]: (closed | {f.path[-1]}, start | {f.path[-1]}) for f in drawn.frames}


def picture_data(
    drawn: GraphData, closed: Boxes, svg: str, number: dict[Boxes, int], home: GraphData, titles: list[str],
    start: Boxes,
) -> dict[str, Any]:  # fmt: skip
    """One picture as the script needs it."""
    after = ways(drawn, closed, start)
    to = {box: next((number[x] for x in some if x in number), -1) for box, some in after.items()}
    card = {member: v.id for v in drawn.nodes for member in v.members}
    parts = {str(v.id): list(dict.fromkeys([card[m] for m in v.members if m in card])) for v in home.nodes if v.fold}
    inside = {str(v.id): dict.fromkeys([titles[k] for k in v.members[:NAMED]]) for v in drawn.nodes if v.fold}
    return {
        "svg": svg,
        "frames": [to[f.path[-1]] for f in drawn.frames],
        "cards": {str(v.id): to[v.fold.box] for v in drawn.nodes if v.fold},
        "inside": {k: " ".join(names) for k, names in inside.items()},
        "at": [card.get(v.members[0], -1) for v in home.nodes],
        "parts": {k: cards for k, cards in parts.items() if len(cards) > 1},
    }


# ---------------------------------------------------------------- the page and the fragment


STEPPED = 200  # nodes; larger pictures cannot be stepped through in the page
LAST = -1
LONG = 65_536  # letters of data, above which it is compressed
BODY = "body{margin:12px;font:14px system-ui,sans-serif}"
PLAIN = "tex2jax_ignore mathjax_ignore"  # a name may have dollars, and MathJax makes links
TYPESET = "tex2jax_process mathjax_process"
RULE = 3  # the column of the table of steps that has formulas
REMOVED = "This page removes pictures. Those drawn under af.options(static=True, tables=True) stay."


def page(graph: GraphData, start: int = LAST, quiz: bool = False) -> str:
    """A whole HTML page, which opens at step ``start``: 0 is the first, -1 the finished picture."""
    styles = f"{ground(graph.look.theme)}{BODY}td{{padding:1px 10px 1px 0;vertical-align:top}}"
    styles += "@media print{details{display:none}}"
    return document(graph.title, fragment(graph, start, quiz), script(), styles, graph.look.theme)


def document(title: str, body: str, program: str, styles: str, theme: str = "auto", attributes: str = "") -> str:
    """A whole page that needs nothing else, and runs no script but ``program``. ``attributes``: of its body."""
    schemes = "light dark" if theme == "auto" else theme
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(program)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{schemes}">\n<title>{escape(title)}</title>\n'
        f"<style>{styles}</style>\n</head>\n<body{attributes}>\n{body}\n</body>\n</html>\n"
    )


def ground(theme: str) -> str:
    """The background of a page: that of the picture in it."""
    light, dark = [f"html{{background:{colours['bg']}}}" for colours in (LIGHT, DARK)]
    return {"light": light, "dark": dark}.get(theme, f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")


def policy(*scripts: str) -> str:
    """The policy for our pages: a browser may run these scripts and no others, and load nothing."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join([f"'sha256-{text}'" for text in hashes])
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"


def fragment(graph: GraphData, start: int = LAST, quiz: bool = False) -> str:
    """The contents of the page, or of a notebook's cell. ``quiz``: with *predict first*, backward only."""
    view = visible_picture(graph)
    small = len(view.nodes) <= STEPPED and not (graph.view and any([v.fold for v in graph.nodes]))  # not of huge ones
    steps = steps_of(view) if graph.gradients and small else []
    frames = [frame(view, step) for step in steps]
    data = {
        "start": start,
        "program": Listing(graph).data(view),
        "css": style(),
        "light": {"light": "true", "dark": "false"}.get(graph.look.theme, ""),  # fixed; in JupyterLab's words
        "steps": frames,
        "values": named_values(view, steps),
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
        text = escape(cards.table(visible_picture(graph)))
        return f"<details><summary>all nodes as text</summary><pre>{text}</pre></details>"
    return f"<details><summary>all steps as text</summary>{html_table(step_rows(steps, graph), RULE)}</details>"


def step_rows(steps: Sequence[Step], graph: GraphData) -> list[list[str]]:
    """One row per step, below a row of headlines. In a lesson with the local rules in LaTeX, in column RULE."""
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


def attribute(data: object) -> str:
    """JSON for an attribute in apostrophes; if it is long, compressed and in letters that need no escapes.

    >>> attribute({"name": "</a> 'b'"})
    '{"name":"\\\\u003c/a\\\\u003e \\\\u0027b\\\\u0027"}'
    """
    text = safe_json(data).replace("'", "\\u0027")
    return text if len(text) <= LONG else base64.b64encode(zlib.compress(text.encode(), 6)).decode()


# ---------------------------------------------------------------- what the script gets


def frame(graph: GraphData, step: Step) -> dict[str, Any]:
    """One step: its texts, the arrows that lead to its node, the products that it sends, the texts that change."""
    fields: dict[str, Any] = {"phase": step.phase, "caption": step.caption}
    if step.question:
        fields["question"] = step.question
    if step.node is None:
        return fields
    node = graph.nodes[step.node]
    fields |= {"node": node.id, "name": node.title}
    if step.phase == "backward" and node.id in (rules := dict(graph.rules)):
        fields["rule"] = rules[node.id]
    if step.phase == "forward":
        fields["value"] = answer_of(node.value)
        fields["inputs"] = [arrow(row.source, node, row.slot) for row in node.operands if row.source is not None]
    if step.phase == "seed" and step.gradient is not None:
        fields["sum"] = step.gradient.text(graph.look.digits)
        fields["complete"] = node.of_parts <= 1
    if step.products:
        places = [row.slot for row in node.operands if row.sent is not None]  # of the row's "= 6.619" in the card
        fields["products"] = [
            {
                "edge": arrow(p.source, node, p.slot), "to": p.source,
                "row": places.index(p.slot) if p.slot in places else -1,
                "sum": p.so_far.text(graph.look.digits) if p.so_far and p.so_far.kept else "…",
                "complete": p.place >= p.of_places, "name": p.title, "local": answer_of(p.local),
                "sent": sent_answer(graph, node, p.slot, p.sent), **changed_gradient(graph, p),
            }
            for p in step.products
        ]  # fmt: skip
    return fields


def changed_gradient(graph: GraphData, p: Product) -> dict[str, int]:
    """Which of the gradients on a card it changes, where there are several."""
    if p.source is None or p.result is None:
        return {}
    return {"place": sum([r.gradient is not None for r in graph.nodes[p.source].results[: p.result]])}


def named_values(graph: GraphData, steps: Sequence[Step]) -> list[tuple[str, float, int]]:
    """The cards that an answer may name: name, number, and the step from which it is known."""
    born = {step.node: step.number for step in steps if step.phase == "forward"}
    rows = [(v.title, answer_of(v.value), born.get(v.id, -1)) for v in graph.nodes if v.title.isidentifier()]
    return [(title, value, place) for title, value, place in rows if isinstance(value, float)]


def arrow(source: int | None, target: Vertex, slot: int) -> str:
    """The name that pictures/render/svg.py gives to an arrow."""
    return f"{source}-{target.id}-{slot}"


@cache
def style() -> str:
    """The style sheet of the controls. Around them stands an element that says which theme the notebook has."""
    light, dark = [
        "".join([f"--{key}:{value};" for key, value in colours.items()]) + f"color-scheme:{name}"
        for colours, name in ((LIGHT, "light"), (DARK, "dark"))
    ]
    return "\n".join([
        f".page{{{light}}}", f"@media screen and (prefers-color-scheme:dark){{.page{{{dark}}}}}",
        f"[data-jp-theme-light=true] .page{{{light}}}", f"[data-jp-theme-light=false] .page{{{dark}}}",
        *map(pack_file, ("fragment.css", "program.css")), css(STEPS, "", weight="!important"),
    ])  # fmt: skip


@cache
def script() -> str:
    """``fragment.js`` and what it uses, as pages have it, wrapped so that none of its names is visible outside."""
    return wrap_script(*map(pack_file, ("unpack.js", "predict.js", "program.js", "zoom.js", "fragment.js")))


def wrap_script(*pieces: str) -> str:
    """Pieces of JavaScript as one function that runs at once."""
    return "\n".join(['(() => {"use strict";', *pieces, "})();"])


def key_of(text: str) -> str:
    """What says that an element of a page belongs to a script."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def pack_file(name: str, package: str = __package__) -> str:
    """A file of a package without indentation and without its lines of comment."""
    text = (files(package) / name).read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join([line for line in lines if line and not line.startswith("//")])
