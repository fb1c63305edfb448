"""Files and notebook outputs: ``save``, the bundle for IPython."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...base.modes import modes
from ..model.data import GraphData
from ..model.style import clip
from ..render import dot, svg, text
from ..render.text import to_json, to_mermaid
from ..render.tikz import to_tex
from .html import fragment, page

Writer = Callable[[GraphData], str]
WRITERS: dict[str, Writer] = {
    ".svg": svg.to_svg, ".html": page, ".dot": dot.to_dot, ".gv": dot.to_dot, ".mmd": to_mermaid, ".json": to_json,
    ".tex": to_tex,
    ".txt": lambda graph: text.to_text(graph, False) + "\n",
}  # fmt: skip
DRAWN = (".png", ".pdf")
FILMS = (".gif", ".mp4")
SECONDS = 1.4  # for a step of a film, as a page plays it
SVG = "image/svg+xml"


def save(
    graph: GraphData, path: Any, writers: Mapping[str, Writer] | None = None, seconds: float = SECONDS
) -> Path:  # fmt: skip
    """Write the file; the end of its name decides what. ``writers`` says for some endings who writes instead,
    ``seconds`` how long a film shows each step."""
    target = Path(os.fspath(path))
    suffix = target.suffix.lower()
    known = WRITERS | dict(writers or {})
    if suffix in DRAWN:
        target.write_bytes(rasterise(graph, suffix[1:]))
    elif suffix in FILMS:
        from .frames import film

        target.write_bytes(film(graph, suffix[1:], seconds))
    elif suffix in known:
        target.write_text(known[suffix](graph), encoding="utf-8", newline="\n")
    else:
        words = " ".join([*known, *DRAWN, *FILMS])
        raise ValueError(f"a picture can be saved as {words}; not as {clip(repr(target.name), 60)}")
    return target


def rasterise(graph: GraphData, form: str) -> bytes:
    """PNG or PDF: by matplotlib from our own layout, else by pygraphviz or Graphviz's ``dot``, whichever is there.

    Raises FileNotFoundError, which says what to install, if there is none.
    """
    from ..render.png import NoMatplotlibError, render

    if graph.look.engine != "dot":
        try:
            return render(graph, form)
        except NoMatplotlibError:
            pass
    try:
        return dot.run_dot(graph, form)
    except FileNotFoundError as missing:
        if (answer := by_pygraphviz(graph, form)) is not None:
            return answer
        try:
            return render(graph, form)
        except NoMatplotlibError:
            raise FileNotFoundError(
                f"{str(missing).partition(':')[0]}, nor were matplotlib and pygraphviz: a .{form} file is drawn by one "
                f"of them. pip install matplotlib, or save a .svg file, which needs no other program"
            ) from None


def by_pygraphviz(graph: GraphData, form: str) -> bytes | None:
    """What pygraphviz draws, whose wheels bring Graphviz along; None if it is not installed, or cannot."""
    try:
        import pygraphviz

        data = pygraphviz.AGraph(string=dot.to_dot(graph)).draw(format=form, prog="dot")
    except (ImportError, OSError, ValueError):
        return None
    return bytes(data) if data else None


def bundle(
    graph: GraphData,
    include: Any = None,
    exclude: Any = None,
    *,
    start: int = -1,
    text: Callable[[GraphData], str] = str,
) -> dict[str, Any]:
    """What IPython shows: HTML for notebooks, and the tree (or ``text``) for terminals.

    Under ``af.options.static`` a PNG instead of HTML, for places that show none: the viewers of GitHub, PDF. An SVG
    where nothing can draw a PNG, and where ``include`` names it: with one in the notebook, whatever stands beside it,
    nbconvert writes no LaTeX without Inkscape.
    """
    makers: dict[str, Callable[[GraphData], Any]] = {"text/html": lambda graph: fragment(graph, start)}
    if modes().static:
        makers = {"image/png": lambda graph: rasterise(graph, "png")}
    makers |= {SVG: svg.to_svg, "text/plain": text}
    asked = SVG in (include or ())
    answer: dict[str, Any] = {}
    for kind in wanted_kinds(makers, include, exclude):
        if kind == SVG and not asked and (answer.keys() & {"text/html", "image/png"}):
            continue
        try:
            answer[kind] = makers[kind](graph)
        except Exception as error:
            if kind == "text/plain":
                answer[kind] = f"a picture of {len(graph.nodes)} nodes, which failed: {type(error).__name__}"
    return answer


def wanted_kinds(kinds: Iterable[str], include: Any = None, exclude: Any = None) -> list[str]:
    """The kinds of output that are asked for; IPython in a terminal asks for text only."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    active = getattr(getattr(shell, "display_formatter", None), "active_types", None)
    return [
        kind
        for kind in kinds
        if (not include or kind in include)
        and not (exclude and kind in exclude)
        and (include or not active or kind in active)
    ]
