"""The picture in Graphviz's language, and what its program ``dot`` makes of it.

The cards are the same as in SVG, as tables. What a user wrote never becomes part of the language: nodes are called
``n0``, ``n1``, ..., and every text is escaped character by character.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

from .cards import Card, CardLine, Span, cards
from .data import Graph
from .legend import items
from .style import DARK, LIGHT, SHORT, STYLES, Theme

NODES = 500  # what dot arranges in a fraction of a second; 5,000 take it most of a minute
SECONDS = 20


def to_dot(graph: Graph) -> str:
    """The source text. Needs the Python package ``graphviz``."""
    theme = DARK if graph.look.theme == "dark" else LIGHT
    drawn = cards(graph)
    source = new_digraph(graph, theme)
    for c in drawn:
        source.node(f"n{c.node.id}", label=f"<{table(c, theme)}>")
    for e in graph.edges:
        source.edge(f"n{e.source}:out:{'s' if graph.look.direction == 'down' else 'e'}", f"n{e.target}:{port(graph, drawn[e.target], e.slot)}", **line_of(graph, e, theme))
    return str(source.source)


def new_digraph(graph: Graph, theme: Theme) -> Any:
    """An empty ``graphviz.Digraph`` in our style."""
    try:
        import graphviz
    except ImportError as error:
        raise ImportError("DOT is written with the Python package graphviz: pip install graphviz") from error
    source = graphviz.Digraph("autoflow")
    down = graph.look.direction == "down"
    source.attr("graph", rankdir="TB" if down else "LR", bgcolor=theme["bg"], nodesep="0.28", ranksep="0.75", pad="0.3",
                fontname="Helvetica", labelloc="b", labeljust="c", tooltip=" ")  # fmt: skip
    source.attr("node", shape="plain", fontname="Helvetica", tooltip=" ")
    source.attr("edge", fontname="Helvetica", tooltip=" ")
    if label := below(graph, theme):
        source.attr("graph", label=f"<{label}>")
    return source


def port(graph: Graph, c: Card, slot: int) -> str:
    """Where an arrow ends: the row of its operand."""
    row = c.row(slot)
    return f"r{row}" + ("" if graph.look.direction == "down" else ":w")


def line_of(graph: Graph, e: Any, theme: Theme) -> dict[str, str]:
    """Colour and width of an arrow."""
    from .svg import flow_level

    level = flow_level(e)
    if level is not None:
        return {"color": theme[f"flow{round(4 * level)}"], "penwidth": f"{1.1 + 3 * level:.2f}", "arrowsize": "0.6"}
    if e.flows:
        return {"color": theme["edge"], "penwidth": "1.2", "arrowsize": "0.6"}
    return {"color": theme["con-line"], "style": "dashed", "penwidth": "1.1", "arrowsize": "0.6"}


def table(c: Card, theme: Theme) -> str:
    """A card as Graphviz's HTML-like table."""
    line = theme["warn"] if c.alarm else theme[c.short + "-line"]
    shape = {"var": ' STYLE="ROUNDED"', "con": ' STYLE="ROUNDED,DASHED"', "op": ""}[c.short]
    border = "3" if c.alarm or c.node.output else "1.5"
    rows = []
    for i, one in enumerate(c.lines):
        rows += ["<HR/>"] if one.kind == "foot" and c.short == "op" else []
        rows.append(row(c, i, one, theme))
    return (
        f'<TABLE BORDER="{border}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4" COLOR="{line}" '
        f'BGCOLOR="{theme[c.short + "-fill"]}"{shape}>{"".join(rows)}</TABLE>'
    )


def row(c: Card, place: int, one: CardLine, theme: Theme) -> str:
    """One line of a card: what stands left, what stands right."""
    head = place == 0
    fill = f' BGCOLOR="{theme["op-head"]}"' if head and c.short == "op" else ""
    left = " ".join([font(s, one, c.short, theme) for s in one.left])
    right = "  ".join([font(s, one, c.short, theme) for s in one.right if s.text or s.style == "blocks"])
    out = ' PORT="out"' if head else ""
    into = f' PORT="r{place}"'
    if not right:
        # The cell to the right is where arrows leave, so it is there even if it is empty.
        right = font(Span(" ", "note", 0.0), one, c.short, theme)
    return f'<TR><TD ALIGN="LEFT"{into}{fill}>{left}</TD><TD ALIGN="RIGHT"{out}{fill}>{right}</TD></TR>'


def font(s: Span, one: CardLine, short: str, theme: Theme) -> str:
    """A piece of text in its style."""
    family, size, bold, colour = STYLES[s.style]
    text = quoted(s.text)
    if s.style == "slot" and s.text.isdigit() and int(s.text) <= 20:
        text = chr(0x245F + int(s.text))
    if s.style == "blocks":
        text = "▰" * one.blocks + "▱" * (6 - one.blocks)
    text = f"<B>{text}</B>" if bold else text
    face = ' FACE="DejaVu Sans Mono"' if family == "mono" else ""
    return f'<FONT POINT-SIZE="{size * 0.8:.3g}" COLOR="{theme[colour.replace("@", short)]}"{face}>{text}</FONT>'


def quoted(text: str) -> str:
    r"""``text`` for a label: what could mean something to Graphviz or XML as a numbered character.

    >>> quoted(r'<b> \N "x"')
    '&#60;b&#62; &#92;N &#34;x&#34;'
    """
    return "".join([f"&#{ord(c)};" if c in "<>&\"'\\{}|[]" else c for c in text])


def below(graph: Graph, theme: Theme) -> str:
    """The legend and the notes as a table."""
    cells = []
    for pieces, _ in items(graph) if graph.look.legend else []:
        words = ""
        style = ""
        for text, name in pieces:
            if name in SHORT.values():
                fill, line = theme[name + "-head"], theme[name + "-line"]
                shape = {"var": ' STYLE="ROUNDED"', "con": ' STYLE="ROUNDED,DASHED"', "op": ""}[name]
                style = f' BORDER="1.3" COLOR="{line}" BGCOLOR="{fill}"{shape}'
                words += font(Span(text, "word", 0.0), CardLine("note"), name, theme)
            else:
                words += font(Span(text, name, 0.0), CardLine("note", blocks=4), "op", theme) + " "
        cells.append(f"<TD{style}>{words}</TD>")
    rows = [f"<TR>{''.join(cells)}</TR>"] if cells else []
    span = max(1, len(cells))
    rows += [f'<TR><TD COLSPAN="{span}">{font(Span(text, "note", 0.0), CardLine("note"), "op", theme)}</TD></TR>' for text in graph.notes]
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="7" CELLPADDING="3">{"".join(rows)}</TABLE>' if rows else ""


def run_dot(graph: Graph, format: str) -> bytes:  # noqa: A002 - it is the word for it
    """What ``dot -T<format>`` writes. RuntimeError says what is missing."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"a {format} file is drawn by Graphviz's program dot, which was not found: install Graphviz (graphviz.org), "
            f'or save("picture.svg"), which needs no program'
        )
    if len(graph.nodes) > NODES:
        raise RuntimeError(f"dot takes too long for {len(graph.nodes)} nodes; at most {NODES}: graph(limit={NODES}), or .svg")
    try:
        done = subprocess.run([program, f"-T{format}"], input=to_dot(graph).encode(), capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"dot took more than {SECONDS} seconds for {len(graph.nodes)} nodes, and was stopped") from None
    if done.returncode:
        raise RuntimeError(f"dot failed: {done.stderr.decode(errors='replace')[:300]}")
    return done.stdout


def dot_svg(graph: Graph) -> str | None:
    """The SVG as Graphviz arranges it, without the lines that refer to other files; None if dot cannot do it."""
    try:
        text = run_dot(graph, "svg").decode()
    except (RuntimeError, ImportError):
        return None
    text = re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL)
    return re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
