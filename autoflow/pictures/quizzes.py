"""``node.quiz()``: the steps of the backward pass as questions, to be answered in a page or on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from .facade import Graph, facade
from .folding.results import tidy
from .lesson import LIMIT, lesson
from .model.data import Operand, Vertex, on_paper
from .model.numbers import Numbers
from .model.steps import steps_of
from .pages.exports import SECONDS, bundle, save
from .pages.html import fragment, image, page, policy
from .pages.still import show

LINE = "_____"
ASKED = (
    "Name: ______________________ &emsp; For each row: the local derivative (×), what is sent back (=). Then the sums."
)


class Blank(Numbers):
    """Stands for a number that is to be found."""

    __slots__ = ()

    def text(self, digits: int) -> str:
        """A line to write on."""
        return LINE


class Sheet(Graph):
    """A picture with lines to write on. Its page is for the printer: it has no steps."""

    def to_html(self, *, full: bool = True) -> str:
        """The picture as an image, on a page that is as wide as the paper."""
        if not full:
            return image(self)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n<title>{escape(self.title)}</title>\n'
            "<style>@page{size:landscape;margin:12mm}body{margin:12px;font:14px system-ui,sans-serif}</style>\n"
            f"</head>\n<body>\n<p>{ASKED}</p>\n{image(self)}\n</body>\n</html>\n"
        )

    def save(self, path: Any, *, seconds: float = SECONDS) -> Path:
        """Write a file, as :meth:`~.facade.Graph.save` does. (A film would show the lines at every step.)"""
        return save(self, path, writers={".html": lambda _: self.to_html()}, seconds=seconds)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks show."""
        shown = bundle(self, include, exclude)
        return shown | ({"text/html": image(self)} if "text/html" in shown else {})


class Quiz:
    """What ``node.quiz()`` returns: a page that asks for each local derivative, or each product, of the backward pass.

    Answers may be off by 1 %; fractions and expressions are accepted (``1/4``, ``cos(a2)``), small arrays as ``[1,
    2]``; for larger ones it asks for the formula or the shape. At the end it says how many were right at the first try.
    ``save("quiz.html")`` writes the page; :meth:`sheet` is for paper.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print((x * x).quiz())
    x*x  multiply = 9  ∂ 1
    ├─① x  Variable = 3  ∂ _____  ×_____  = _____ + _____
    └─② x  (shown above)          ×_____
    1 Variable · 1 Operation
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.start = sum([step.phase in ("start", "forward") for step in steps_of(tidy(graph))])

    def sheet(self) -> Sheet:
        """The picture with lines to write on, for ``save("sheet.pdf")``, .svg, .png, .tex, .html, .txt. Values are
        given, and the gradient of the output."""
        nodes = tuple([with_blanks(v) for v in self.graph.nodes])
        return facade(replace(on_paper(self.graph), nodes=nodes, rules=()), Sheet)

    def answers(self) -> Graph:
        """The same with all numbers."""
        return self.graph

    def to_html(self, *, full: bool = True) -> str:
        """The page; with ``full=False`` the content of its body, for a page of your own."""
        return page(self.graph, self.start, quiz=True) if full else fragment(self.graph, self.start, quiz=True)

    def save(self, path: Any) -> Path:
        """Write the page (.html), or the sheet in another format. Returns the path."""
        return save(self.sheet(), path, writers={".html": lambda _: self.to_html()})

    def __str__(self) -> str:
        return str(self.sheet())

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What notebooks show."""
        shown = bundle(self.sheet(), include, exclude)
        if "text/html" in shown:
            shown["text/html"] = self.to_html(full=False)
        return shown

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: the sheet."""
        show(self.sheet())


def with_blanks(v: Vertex) -> Vertex:
    """A card whose local derivatives, products and gradient are to be found. The seed is given."""
    known = v.output and v.of_parts <= 1
    return replace(
        v, operands=tuple([row_with_blanks(row) for row in v.operands]),
        gradient=v.gradient if known or v.gradient is None else blank(v.gradient), parts=tuple(blanks(v.parts)),
    )  # fmt: skip


def row_with_blanks(row: Operand) -> Operand:
    """The same for an operand's row."""
    return replace(
        row, local=row.local and blank(row.local), sent=row.sent and blank(row.sent), rule=LINE if row.rule else ""
    )


def blanks(amounts: Iterable[Numbers]) -> list[Numbers]:
    """A line for each."""
    return [blank(x) for x in amounts]


def blank(x: Numbers) -> Blank:
    """A line for a number or an array; of its size nothing is told."""
    return Blank(x.shape, x.dtype, True, (math.nan,) if x.scalar else None, rms=1.0 if x.scalar else None)


def quiz(node: Any, *, limit: int = LIMIT, **options: Any) -> Quiz:
    """The backward pass of ``node`` as questions: a page to answer in, and sheets for paper with and without answers.

    limit, options : as for ``node.step()``. Errors: those of ``node.graph()``.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> z = np.sin(x) * x
    >>> quiz(z).answers().nodes[0].gradient.text(4)
    '−2.829'
    >>> quiz(z).sheet().nodes[0].gradient.text(4)
    '_____'
    """
    return Quiz(lesson(node, limit=limit, **options))
