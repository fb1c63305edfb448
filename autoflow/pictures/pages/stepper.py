"""The object that steps through a picture: a page in a notebook, lines of text in a terminal, an image without scripts.

For places that run no scripts (``af.options.static``) a cell shows an image, and under ``tables`` a table below it.
Programs choose one form of each output, and those that remove scripts choose HTML and then cut the picture out of it.
So these are two outputs: an image, and HTML that has nothing but rows and cells. They come first.

Files and notebook outputs: ``save``, the bundle for IPython.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from ...base.columns import aligned
from ...base.modes import modes
from ...base.types import ByName
from ..folding.results import tidy
from ..model.data import GraphData
from ..model.steps import Step, steps_of
from ..model.style import clean, clip, readable
from ..render import dot, svg, text
from ..render.text import to_json, to_mermaid
from ..render.tikz import to_tex
from .html import PLAIN, RULE, fragment, html_table, image, page, step_rows

# ---------------------------------------------------------------- cells for places that run no scripts

Kinds: TypeAlias = Collection[str] | None  # of output: those that are wanted, or not wanted
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

    drawn = bundle(graph)
    display(drawn, raw=True, metadata=size(drawn))
    if modes().tables and rows:
        table = rows()
        text = "\n".join(aligned(table))
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
        """One line per step, with notes for the reader below."""
        return "\n".join([*[step.line() for step in self.steps], *self.graph.notes])

    def to_html(self, *, full: bool = True) -> str:
        """The whole page; with ``full=False`` the content of its body, for a page of your own."""
        return page(self.graph, start=0) if full else fragment(self.graph, start=0)

    def save(self, path: str | os.PathLike[str], *, seconds: float = SECONDS) -> Path:
        """Write the page (.html), the lines (.txt), a film (.gif, .mp4) that shows each step for some ``seconds``, or
        the picture in another format. Returns the path. Errors: those of :meth:`~..walk.Graph.save`."""
        writers = {".html": lambda _: self.to_html(), ".txt": lambda _: f"{self.to_text()}\n"}
        return save(self.graph, path, writers=writers, seconds=seconds)

    def _repr_mimebundle_(self, include: Kinds = None, exclude: Kinds = None) -> dict[str, Any]:
        """What notebooks show."""
        return bundle(self, include, exclude, self.graph)

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :func:`show`."""
        show(self.graph, lambda: step_rows(self.steps, self.graph), math=RULE)


Writer = Callable[[GraphData], str]
WRITERS: dict[str, Writer] = {
    ".svg": svg.to_svg, ".html": page, ".dot": dot.to_dot, ".gv": dot.to_dot, ".mmd": to_mermaid, ".json": to_json,
    ".tex": to_tex, ".txt": lambda graph: text.to_text(graph, False) + "\n",
}  # fmt: skip
DRAWN = (".png", ".pdf")
FILMS = (".gif", ".mp4")
SVG = "image/svg+xml"


def save(graph: GraphData, path: Any, writers: Mapping[str, Writer] | None = None, seconds: float = SECONDS) -> Path:
    """Write the file; the end of its name decides what. ``writers`` says for some endings who writes instead,
    ``seconds`` how long a film shows each step."""
    target = Path(os.fspath(path))
    suffix = target.suffix.lower()
    writer_of = WRITERS | dict(writers or {})
    if suffix in DRAWN:
        target.write_bytes(rasterise(graph, suffix[1:]))
    elif suffix in FILMS:
        from .frames import film

        target.write_bytes(film(graph, suffix[1:], seconds))
    elif suffix in writer_of:
        target.write_text(writer_of[suffix](graph), encoding="utf-8", newline="\n")
    else:
        words = " ".join([*writer_of, *DRAWN, *FILMS])
        raise ValueError(f"a picture can be saved as {words}; not as {clip(repr(target.name), 60)}")
    return target


def rasterise(graph: GraphData, form: str) -> bytes:
    """PNG or PDF: by matplotlib from our own layout, else by pygraphviz or Graphviz's ``dot``, whichever is there.

    Raises FileNotFoundError, which says what to install, if both are missing.
    """
    from ..render.png import NoMatplotlibError, render

    with suppress(NoMatplotlibError):
        if graph.look.engine != "dot":
            return render(graph, form)
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


# ---------------------------------------------------------------- what IPython shows


def bundle(shown: Any, include: Kinds = None, exclude: Kinds = None, picture: GraphData | None = None) -> ByName:
    """What IPython shows of an object with a ``picture`` (None: it is one): its HTML for notebooks, text for terminals.

    Under ``af.options.static`` a PNG instead of HTML, for places that show none: the viewers of GitHub, PDF. An SVG
    where nothing can draw a PNG, and where ``include`` names it: with one in the notebook, whatever stands beside it,
    nbconvert writes no LaTeX without Inkscape.
    """
    graph = shown if picture is None else picture
    makers: dict[str, Callable[[], Any]] = {"text/html": lambda: shown.to_html(full=False)}
    if modes().static:
        makers = {"image/png": lambda: rasterise(graph, "png")}
    answer = make_bundle(makers, include, exclude)
    if SVG in (include or ()) or not answer:
        answer |= make_bundle({SVG: lambda: svg.to_svg(graph)}, include, exclude)
    failed = f"a picture of {len(graph.nodes)} nodes, which failed: %s"
    return answer | make_bundle({"text/plain": lambda: str(shown)}, include, exclude, failed)


def make_bundle(
    makers: Mapping[str, Callable[[], Any]], include: Kinds, exclude: Kinds, failed: str = ""
) -> dict[str, Any]:  # fmt: skip
    """The forms that IPython wants, as far as they can be made. An exception would print a traceback into the page, so
    none is raised: ``failed``, with the name of the error for %s, replaces a text."""
    answer: dict[str, Any] = {}
    for kind in wanted_kinds(makers, include, exclude):
        try:
            answer[kind] = makers[kind]()
        except Exception as error:
            if kind == "text/plain":
                answer[kind] = failed % type(error).__name__
    return answer


def wanted_kinds(kinds: Iterable[str], include: Kinds = None, exclude: Kinds = None) -> list[str]:
    """The requested kinds of output; IPython in a terminal wants text only."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    active = include or getattr(getattr(shell, "display_formatter", None), "active_types", None)
    return [kind for kind in kinds if (not active or kind in active) and kind not in (exclude or ())]


class MovingPage:
    """A page in which numbers move: sliders, a network that trains. Where nothing moves, it is shown as a picture.

    ``reason`` says why the browser cannot compute it by itself; None if it can.
    """

    what: str  # it is, in messages
    reason: str | None
    picture: Any

    def to_html(self, *, full: bool = True) -> str:
        """A page, or the content of its body."""
        raise NotImplementedError

    def widget_bundle(self) -> Any:
        """What IPython shows of a widget; None if a page does as well."""
        raise NotImplementedError

    def without_program(self, advice: str) -> tuple[str, str]:
        """The picture with a line of advice; no program."""
        return f'<div class="{PLAIN}">{image(self.picture)}<p>{escape(advice)}</p></div>', ""

    def save(self, path: Any) -> Path:
        """Write a page of its own, light or dark as the reader's screen. Returns the path."""
        target = Path(os.fspath(path))
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"{self.what} can be saved as .html; not as {clip(repr(target.name), 60)}")
        target.write_text(self.to_html(), encoding="utf-8")
        return target

    def _repr_mimebundle_(self, include: Kinds = None, exclude: Kinds = None) -> Any:
        """What notebooks show: a page, a widget, or a picture and advice. Never an exception."""
        if modes().static:  # nothing moves there
            return bundle(self.picture, include, exclude)
        trouble = ""
        try:
            if (bundled := self.widget_bundle()) is not None:
                return bundled
        except ImportError:  # anywidget is not installed: the page says so, or has everything but the way to Python
            pass
        except Exception as error:
            trouble = f"\n{type(error).__name__}: {clip(clean(error), 200)}"
        makers = {"text/plain": lambda: f"{self}{trouble}", "text/html": lambda: self.to_html(full=False)}
        return make_bundle(makers, include, exclude, f"{self.what}, which cannot be shown: %s")


def widget_class(name: str, script: str, **traits: str) -> type:
    """A class of widgets that run this script. ``traits``: what Python and the page both see, and its kind for
    traitlets. (anywidget is imported only here: it is the extra ``widget``.)"""
    import anywidget
    import traitlets

    attributes = {trait: getattr(traitlets, kind)().tag(sync=True) for trait, kind in traits.items()}
    return type(name, (anywidget.AnyWidget,), {"_esm": script, **attributes})
