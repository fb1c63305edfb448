"""The object that steps through a picture: a page in a notebook, lines of text in a terminal, an image without scripts.

For places that run no scripts (``af.options.static``) a cell shows an image, and under ``tables`` a table below it.
Programs choose one form of each output, and those that remove scripts choose HTML and then cut the picture out of it.
So these are two outputs: an image, and HTML that has nothing but rows and cells. They come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...base.modes import modes
from ..folding.results import tidy
from ..model.data import GraphData
from ..model.steps import Step, steps_of
from ..model.style import readable
from ..render.cards import align_columns
from .exports import SECONDS, bundle, save, wanted_kinds
from .html import PLAIN, RULE, fragment, html_table, page, step_rows

# ---------------------------------------------------------------- cells for places that run no scripts

INCH = 0.0254  # metres, in which a PNG counts
SCREEN = 96  # pixels per inch, as pages count


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
    """What ``node.step()`` returns: a page to click through in a notebook, lines of text in a terminal.

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
    """The steps as text, with what a reader has to know below."""
    return "\n".join([*[step.line() for step in told], *notes])
