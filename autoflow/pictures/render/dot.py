"""The picture in Graphviz's language, and as its program ``dot`` draws it. Before that, the legend.

The legend of a picture's signs, and notes for the reader, stand below it.

In Graphviz's language the cards are the same as in SVG, as tables. What a user wrote never becomes part of the
language: nodes are called ``n0``, ``n1``, ..., and every text is escaped character by character.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import fsum
from typing import Any
from xml.sax.saxutils import escape

from ...base.lazy import load_package
from ..folding import views
from ..layout.layers import ranks, spine
from ..model.data import Edge, GraphData
from ..model.style import DARK, KINDS, LIGHT, SHORT, STYLES, Theme, break_words, width
from .cards import Card, CardLine, StyledText, cards, draw_span, flow_levels, short
from .display import Group, Item, Rect, Text, tenth

# ---------------------------------------------------------------- the legend

LINE = 23.0
BETWEEN = 22.0  # signs
Sign = list[tuple[str, str]]  # (text, style) pieces


def signs(graph: GraphData) -> list[Sign]:
    """The signs that this picture has, with their meaning."""
    down, digits = graph.look.direction == "down", graph.look.digits
    drawn = {v.kind for v in graph.nodes}
    answer = [[(kind, SHORT[kind])] for kind in KINDS if kind in drawn]
    if graph.look.detail == "names":
        return answer
    arrays = [v for v in graph.nodes if not v.value.scalar]
    output = next((v for v in graph.nodes if v.output and v.value.scalar), None)
    if output is not None:
        way = "downwards" if down else "left to right"
        answer.append([(output.value.text(digits), "value"), (f"value, computed {way}", "note")])
    spread = next((v.value for v in arrays if v.value.elements is None and v.value.mean is not None), None)
    if spread is not None and not graph.look.compact:
        answer.append([(spread.text(digits), "numbers"), ("mean ± standard deviation", "note")])
    if not graph.gradients:
        return answer
    of = f" of {graph.title}" if len(graph.title) <= 16 else ""
    scalar = next((v.gradient for v in graph.nodes if v.gradient is not None and v.gradient.scalar), None)
    if scalar is not None:
        way = "upwards" if down else "right to left"
        answer.append([(scalar.text(digits), "gradient"), (f"gradient{of}, {way}", "note")])
    size = next((v.gradient for v in arrays if v.gradient is not None and v.gradient.elements is None), None)
    if size is not None:
        sample = (size.magnitude(digits), "gradient") if graph.look.compact else ("", "blocks")
        scale = "" if graph.look.compact else ", log scale"
        answer.append([sample, (f"size of the gradient{of} (root mean square{scale})", "note")])
    rows = [row for v in graph.nodes if not v.fold for row in v.operands]
    rules = [graph.rule(v, row) for v in graph.nodes if not v.fold for row in v.operands if row.rule]
    rule = next(iter(sorted(rules, key=lambda rule: rule == "g")), "")
    if rule and graph.look.detail == "arrays":
        more = ", ●: its value" * any(["●" in rule for rule in rules])
        explanation = f"what is sent back to that operand; g: the gradient of its card{more}"
        answer.append([(rule, "local"), (explanation, "note")])
    if graph.look.detail == "lesson":
        derivatives = [row.local for row in rows if row.local and row.sent]
        local = min(derivatives, key=lambda x: x.elements in ((1.0,), (-1.0,)), default=None)  # 1 explains little
        sent = next((row.sent for row in rows if row.sent), None)
        if local is not None:
            answer.append([(f"×{local.text(digits)}", "local"), ("local derivative", "note")])
        if sent is not None:
            explanation = "sent back along that arrow (thicker: larger)"
            answer.append([(f"= {short(sent, digits)}", "sent"), (explanation, "note")])
    return answer


def room(sign: Sign) -> float:
    """The width of a sign and its meaning."""
    return fsum([_piece(text, style) for text, style in sign]) + 7.0 * (len(sign) - 1)


def _piece(text: str, style: str) -> float:
    return width(text, "word") + 18.0 if style in SHORT.values() else width(text, style)


def legend(graph: GraphData, widest: float) -> tuple[list[Item], float, float]:
    """What is drawn, broken into lines of at most ``widest``, and the width and height of all."""
    rows: list[list[Sign]] = []
    for sign in signs(graph) if graph.look.legend else []:
        if not rows or fsum([room(x) + BETWEEN for x in rows[-1]]) + room(sign) > widest:
            rows.append([])
        rows[-1].append(sign)
    rows += [[[(text, "note")]] for note in graph.notes for text in break_words(note, widest, "note")]
    wide = max([fsum(map(room, row)) + BETWEEN * (len(row) - 1) for row in rows], default=0.0)
    drawn: list[Item] = []
    for k, row in enumerate(rows):
        x = (wide - fsum(map(room, row)) - BETWEEN * (len(row) - 1)) / 2
        for sign in row:
            drawn += draw_sign(sign, x, k * LINE + LINE / 2)
            x += room(sign) + BETWEEN
    return drawn, wide, LINE * len(rows)


def draw_sign(sign: Sign, x: float, middle: float) -> Iterator[Item]:
    """A sign and its meaning."""
    for words, style in sign:
        wide = _piece(words, style)
        if style in SHORT.values():
            yield _swatch(words, style, x, middle, wide)
        else:
            yield from draw_span(StyledText(words, style, wide), x, middle, CardLine("foot", blocks=4), "start")
        x += wide + 7.0


def _swatch(kind: str, short: str, x: float, middle: float, wide: float) -> Group:
    """A small node of that kind."""
    operation = short == "op"
    box = Rect("box", tenth(x), tenth(middle - 10), tenth(wide), 20, 0 if operation else 9)
    band = Rect("band", tenth(x + 1), tenth(middle - 9), tenth(wide - 2), 18)
    text = Text("word", None, tenth(x + wide / 2), tenth(middle + 4), kind, "middle")
    return Group((box, band, text) if operation else (box, text), None, (short,))


# ---------------------------------------------------------------- Graphviz's language, and its program


NODES = 500  # what dot arranges in a fraction of a second; 5,000 take it most of a minute
SECONDS = 20
SHAPES = {"var": ' STYLE="ROUNDED"', "con": ' STYLE="ROUNDED,DASHED"', "op": "", "sco": ' STYLE="ROUNDED"'}


def to_dot(graph: GraphData) -> str:
    """The source text. Needs the Python package ``graphviz``."""
    graph = views.visible_picture(graph)
    theme = DARK if graph.look.theme == "dark" else LIGHT
    drawn = cards(graph)
    source = new_digraph(graph, theme)
    pairs = [(e.source, e.target) for e in graph.edges]
    main = spine(pairs, ranks(len(drawn), pairs), graph.outputs)
    clusters(source, graph, drawn, (), theme)
    for e, level in zip(graph.edges, flow_levels(graph), strict=True):
        tail, head = ends(graph, drawn, e)
        straight = {"weight": "8"} if (e.source, e.target) in main else {}
        source.edge(f"n{e.source}:{tail}", f"n{e.target}:{head}", **line_of(e, level, theme), **straight)
    for last, entry in following_boxes(graph):
        source.edge(f"n{last}", f"n{entry}", style="invis", weight="0")
    return str(source.source)


def following_boxes(graph: GraphData) -> list[tuple[int, int]]:
    """Pairs: the last node of a box, and a node of the next box that needs nothing from its own box. It comes later.

    Graphviz would place two boxes side by side as soon as one node of the second fits there.
    """
    inside = {f.path: [v for v in graph.nodes if v.entered[: len(f.path)] == f.path] for f in graph.frames}
    pairs = []
    for before, after in pairwise(inside):
        if len(before) != len(after) or before[:-1] != after[:-1]:
            continue
        mine, theirs = [{v.id for v in inside[path]} for path in (after, before)]
        theirs |= {v.id for v in graph.nodes if v.fold and {r.source for r in v.operands} & theirs}  # between the two
        needs = {v.id: {r.source for r in v.operands} for v in inside[after]}
        if any([sources & theirs for sources in needs.values()]):
            pairs += [(max(theirs), k) for k, sources in needs.items() if not sources & mine]
    return pairs


def new_digraph(graph: GraphData, theme: Theme) -> Any:
    """An empty ``graphviz.Digraph`` in our style."""
    graphviz = load_package("graphviz", "DOT is written with the Python package graphviz: pip install graphviz")
    source = graphviz.Digraph("autoflow")
    down = graph.look.direction == "down"
    source.attr("graph", rankdir="TB" if down else "LR", bgcolor=theme["bg"], nodesep="0.28", ranksep="0.75", pad="0.3",
                newrank="true", fontname="Helvetica", labelloc="b", labeljust="c")  # fmt: skip
    source.attr("node", shape="plain", fontname="Helvetica")
    source.attr("edge", fontname="Helvetica")
    if label := below(graph, theme):
        source.attr("graph", label=f"<{label}>")
    return source


def clusters(source: Any, graph: GraphData, drawn: list[Card], path: tuple[int, ...], theme: Theme) -> None:
    """The nodes directly in a box, and the boxes in it as clusters."""
    for c in drawn:
        if c.node.entered == path:
            source.node(f"n{c.node.id}", label=f"<{table(c, theme)}>")
    for number, f in enumerate(graph.frames):
        if f.path[:-1] == path:
            words = quote_text("− " + " · ".join([text for text in (f.title, f.fold.text()) if text]))
            label = f'<<FONT COLOR="{theme["sco-text"]}">{words}</FONT>>'
            with source.subgraph(name=f"cluster_{number}") as inner:
                inner.attr(label=label, labelloc="t", labeljust="l", style="rounded,filled",
                           fillcolor=theme["sco-fill"], color=theme["sco-line"])  # fmt: skip
                clusters(inner, graph, drawn, f.path, theme)


def ends(graph: GraphData, drawn: list[Card], e: Edge) -> tuple[str, str]:
    """Where an arrow begins and ends: at the operand's row; from top to bottom just at the edges."""
    if graph.look.direction == "down":
        return "card:s", "card:n"
    place = drawn[e.source].out(e.result)
    return f"out{place}:e" if place else "out:e", f"r{drawn[e.target].row(e.slot)}:w"


def line_of(e: Edge, level: float | None, theme: Theme) -> dict[str, str]:
    """Colour and width of an arrow."""
    if level is not None:
        return {"color": theme[f"flow{round(4 * level)}"], "penwidth": f"{1.1 + 3 * level:.2f}", "arrowsize": "0.6"}
    if e.flows:
        return {"color": theme["edge"], "penwidth": "1.2", "arrowsize": "0.6"}
    return {"color": theme["con-line"], "style": "dashed", "penwidth": "1.1", "arrowsize": "0.6"}


def table(c: Card, theme: Theme) -> str:
    """A card as Graphviz's HTML-like table."""
    line = theme["warn"] if c.alarm else theme[c.short + "-line"]
    shape = SHAPES[c.short]
    border = "3" if c.alarm or c.node.output else "1.5"
    rows = []
    for i, one in enumerate(c.lines):
        rows += ["<HR/>"] if c.short == "op" and one.kind == ("result" if c.node.results else "foot") else []
        rows += [] if one.images else [row(c, i, one, theme)]  # Graphviz draws no images of cells
    return (
        f'<TABLE PORT="card" BORDER="{border}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4" COLOR="{line}" '
        f'BGCOLOR="{theme[c.short + "-fill"]}"{shape}>{"".join(rows)}</TABLE>'
    )


def row(c: Card, place: int, one: CardLine, theme: Theme) -> str:
    """One line of a card: its left and its right part."""
    head = place == 0
    fill = f' BGCOLOR="{theme["op-head"]}"' if head and c.short == "op" else ""
    left = " ".join([font(s, one, c.short, theme) for s in one.left])
    right = "  ".join([font(s, one, c.short, theme) for s in one.right if s.text or s.style == "blocks"])
    out = ' PORT="out"' if head else f' PORT="out{place}"' if one.kind == "result" else ""
    into = f' PORT="r{place}"'
    if not right:
        # The cell to the right is where arrows leave, so it is there even if it is empty.
        right = font(StyledText(" ", "note", 0.0), one, c.short, theme)
    return f'<TR><TD ALIGN="LEFT"{into}{fill}>{left}</TD><TD ALIGN="RIGHT"{out}{fill}>{right}</TD></TR>'


def font(s: StyledText, one: CardLine, short: str, theme: Theme) -> str:
    """A piece of text in its style."""
    family, size, bold, colour = STYLES[s.style]
    text = s.text
    if s.style == "slot" and text.isdigit() and int(text) <= 20:
        text = chr(0x245F + int(text))
    if s.style == "blocks":
        text = "▰" * one.blocks + "▱" * (6 - one.blocks)
    face = ' FACE="DejaVu Sans Mono"' if family == "mono" else ""
    start = f'<FONT POINT-SIZE="{size * 0.8:.3g}" COLOR="{theme[colour.replace("@", short)]}"{face}>'
    start, end = start + "<B>" * bold, "</B>" * bold + "</FONT>"
    # Graphviz replaces \N by the name of the node even here, so the letter behind a backslash is a text of its own.
    return "".join([start + quote_text(piece) + end for piece in re.split(r"(?<=\\)", text) if piece])


def quote_text(text: str) -> str:
    r"""``text`` for a label: what could mean something to Graphviz or XML as a numbered character.

    >>> quote_text(r'<b> \N "x"')
    '&#60;b&#62; &#92;N &#34;x&#34;'
    """
    return "".join([f"&#{ord(c)};" if c in "<>&\"'\\{}|[]" else c for c in text])


def below(graph: GraphData, theme: Theme) -> str:
    """The legend and the notes as a table."""
    cells = []
    for sign in signs(graph) if graph.look.legend else []:
        words = style = ""
        for text, name in sign:
            if name in SHORT.values():
                fill, line = theme[name + "-head"], theme[name + "-line"]
                style = f' BORDER="1.3" COLOR="{line}" BGCOLOR="{fill}"{SHAPES[name]}'
                words += font(StyledText(text, "word", 0.0), CardLine("note"), name, theme)
            else:
                words += font(StyledText(text, name, 0.0), CardLine("note", blocks=4), "op", theme) + " "
        cells.append(f"<TD{style}>{words}</TD>")
    rows = [f"<TR>{''.join(cells)}</TR>"] if cells else []
    for text in graph.notes:
        words = font(StyledText(text, "note", 0.0), CardLine("note"), "op", theme)
        rows.append(f'<TR><TD COLSPAN="{max(1, len(cells))}">{words}</TD></TR>')
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="7" CELLPADDING="3">{"".join(rows)}</TABLE>' if rows else ""


def run_dot(graph: GraphData, form: str) -> bytes:
    """What ``dot -T<form>`` writes. The errors (OSError, ValueError) say what to do instead."""
    program = shutil.which("dot")
    if program is None:
        raise FileNotFoundError(
            f"dot was not found: a .{form} file is drawn by Graphviz's program dot. Install Graphviz (graphviz.org), "
            f"or save a .svg file, which needs no program"
        )
    size = len(views.visible_picture(graph).nodes)
    if size > NODES:
        raise ValueError(f"dot takes too long for {size} nodes, at most {NODES}: use graph(limit={NODES}), or .svg")
    try:
        done = subprocess.run(  # noqa: S603 - no shell; what it gets is our own text, on its input
            [program, f"-T{form}"], input=to_dot(graph).encode(), capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"dot took more than {SECONDS} seconds for {size} nodes: it was stopped") from None
    if done.returncode:
        raise OSError(f"dot failed: {done.stderr.decode(errors='replace')[:300]}")
    return done.stdout


def without_dot(graph: GraphData, reason: str) -> GraphData:
    """The picture with a note that says why Graphviz has not arranged it."""
    return replace(graph, notes=(*graph.notes, f"{reason}; drew with the built-in layout"))


def dot_svg(graph: GraphData) -> tuple[str, str]:
    """The SVG as Graphviz arranges it, without what refers to other files; or "" and the reason why it is missing."""
    try:
        text = run_dot(graph, "svg").decode()
    except (OSError, ValueError, ImportError) as error:
        return "", str(error).partition(":")[0]
    text = re.sub(r"^.*?(?=<svg)|<!--.*?-->\n?|<title>[^<]*</title>\n?", "", text, flags=re.DOTALL)
    start, rest = text.split(">", 1)
    words = f"<title>{escape(graph.title)}</title>\n<desc>{escape(views.alt_text(graph))}</desc>"
    return f'{start} role="img">\n{words}{rest}', ""
