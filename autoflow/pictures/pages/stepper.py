"""The object that steps through a picture: a page in a notebook, lines of text in a terminal, an image without scripts.

For places that run no scripts (``af.options.static``) a cell shows an image, and under ``tables`` a table below it.
Programs choose one form of each output, and those that remove scripts choose HTML and then cut the picture out of it.
So these are two outputs: an image, and HTML that has nothing but rows and cells. They come first.

Files and notebook outputs: ``save``, the bundle for IPython.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.modes import modes
from ..folding.results import tidy
from ..model.data import GraphData
from ..model.steps import Step, steps_of
from ..model.style import clip, readable
from ..render import dot, svg, text
from ..render.cards import align_columns
from ..render.text import to_json, to_mermaid
from ..render.tikz import to_tex
from .html import PLAIN, RULE, fragment, html_table, page, step_rows

# ---------------------------------------------------------------- cells for places that run no scripts

INCH = 0.0254  # metres, in which a PNG counts
SCREEN = 96  # pixels per inch, as pages count
SECONDS = 1.4  # for a step of a film, as a page plays it


def show(graph: GraphData, rows: Callable[[], Sequence[Sequence[str]]] | None = None, math: int = -1) -> None:
    """Display the picture, and under ``tables`` the table of ``rows()``, whose column ``math`` has formulas.

    Raises NotImplementedError where nothing of this is wanted: IPython then asks for ``_repr_mimebundle_``.
    """
    if not (modes().static and wanted_kinds(["image/png"])):
        raise NotImplementedError
    from IPython.display import display

    image = bundle(graph)
    display(image, raw=True, metadata=size(image))
    if modes().tables and rows:
        table = rows()
        text = "\n".join(align_columns(table))
        display({"text/html": f'<div class="{PLAIN}">{html_table(table, math)}</div>', "text/plain": text}, raw=True)


def size(image: dict[str, Any]) -> dict[str, Any]:
    """How wide a page should show a PNG: a sharp one has more pixels than that, and says how many to an inch."""
    png = image.get("image/png", b"")
    chunk = png.find(b"pHYs") + 4
    if chunk < 4:
        return {}
    pixels, per_metre = [int.from_bytes(png[at : at + 4], "big") for at in (16, chunk)]
    return {"image/png": {"width": round(pixels / (per_metre * INCH) * SCREEN)}}


# ---------------------------------------------------------------- the stepper


class Stepper:
    """The result of ``node.step()``: a page to click through in a notebook, lines of text in a terminal.

    It is a sequence of :class:`Step`; ``save("lesson.html")`` writes the page, ``save("lesson.gif")`` a film.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> lines = (x * 2.0).step()
    >>> len(lines), lines[-1].caption
    (5, 'gradient of x = 2')
    """

    def __init__(self, graph: GraphData) -> None:
        self.graph = graph
        self.steps = tuple(steps_of(tidy(graph)))

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        return self.steps[place]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        return readable(self.to_text())

    __repr__ = __str__

    def to_text(self) -> str:
        """One line per step."""
        return lines(self.steps, self.graph.notes)

    def to_html(self, *, full: bool = True) -> str:
        """The whole page; with ``full=False`` the content of its body, for a page of your own."""
        return page(self.graph, start=0) if full else fragment(self.graph, start=0)

    def save(self, path: Any, *, seconds: float = SECONDS) -> Path:
        """Write the page (.html), the lines (.txt), a film (.gif, .mp4) that shows each step for some ``seconds``, or
        the picture in another format. Returns the path. Errors: those of :meth:`~..walk.Graph.save`."""
        writers = {".html": lambda _: self.to_html(), ".txt": lambda _: f"{self.to_text()}\n"}
        return save(self.graph, path, writers=writers, seconds=seconds)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What notebooks show."""
        return bundle(self.graph, include, exclude, start=0, text=lambda _: str(self))

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :func:`show`."""
        show(self.graph, lambda: step_rows(self.steps, self.graph), math=RULE)


def lines(told: Iterable[Step], notes: Iterable[str] = ()) -> str:
    """The steps as text, with notes for the reader below."""
    return "\n".join([*[step.line() for step in told], *notes])


Writer = Callable[[GraphData], str]
WRITERS: dict[str, Writer] = {
    ".svg": svg.to_svg, ".html": page, ".dot": dot.to_dot, ".gv": dot.to_dot, ".mmd": to_mermaid, ".json": to_json,
    ".tex": to_tex,
    ".txt": lambda graph: text.to_text(graph, False) + "\n",
}  # fmt: skip
DRAWN = (".png", ".pdf")
FILMS = (".gif", ".mp4")
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

    Raises FileNotFoundError, which says what to install, if both are missing.
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
        reason = str(missing).partition(":")[0]
        try:
            return render(dot.without_dot(graph, reason), form)
        except NoMatplotlibError:
            raise FileNotFoundError(
                f"{reason}, nor were matplotlib and pygraphviz: a .{form} file is drawn by one "
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
    """The requested kinds of output; IPython in a terminal wants text only."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    active = getattr(getattr(shell, "display_formatter", None), "active_types", None)
    return [
        kind
        for kind in kinds
        if (not include or kind in include)
        and not (exclude and kind in exclude)
        and (include or not active or kind in active)
    ]
