"""The object that steps through a picture: a page in a notebook, lines of text in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..folding.results import tidy
from ..model.data import GraphData
from ..model.steps import Step, steps_of
from ..model.style import readable
from .exports import SECONDS, bundle, save
from .html import RULE, fragment, page, step_rows
from .still import show


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
        the picture in another format. Returns the path. Errors: those of :meth:`~..facade.Graph.save`."""
        writers = {".html": lambda _: self.to_html(), ".txt": lambda _: f"{self.to_text()}\n"}
        return save(self.graph, path, writers=writers, seconds=seconds)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What notebooks show."""
        return bundle(self.graph, include, exclude, start=0, text=lambda _: str(self))

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :mod:`.still`."""
        show(self.graph, lambda: step_rows(self.steps, self.graph), math=RULE)


def lines(told: Iterable[Step], notes: Iterable[str] = ()) -> str:
    """The steps as text, with what a reader has to know below."""
    return "\n".join([*[step.line() for step in told], *notes])
