"""A picture as plain data, which every renderer reads and none changes.

A :class:`Graph` shows no array and no node: it stays what it was when the program goes on, two equal programs give
equal Graphs, and it can be pickled. (For :meth:`Graph.replay` it holds on to the nodes, and they to
their arrays; a copy or a pickle does not.) :mod:`.walk` makes it; :mod:`.svg`, :mod:`.dot`, :mod:`.text` and
:mod:`.exports` turn it into files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .numbers import Numbers
from .style import KINDS


@dataclass(frozen=True, slots=True)
class Operand:
    """One argument of an operation: a row of its card."""

    slot: int  # its place among the operands
    title: str
    source: int | None = None  # the Vertex it comes from; None if that is not drawn
    flows: bool = False  # does a gradient flow back to it?
    local: Numbers | None = None  # d(result)/d(operand), of numbers
    sent: Numbers | None = None  # what is sent back: the gradient times that
    note: str = ""  # "no gradient", "broadcast × 32"


@dataclass(frozen=True, slots=True)
class Fold:
    """What is in a box."""

    what: str  # the operations in a few words
    variables: int
    operations: int
    parameters: int  # numbers in the Variables
    exits: int = 0  # how many values leave it
    box: int = -1  # the number of the box

    def text(self) -> str:
        """``matmul, add · 8,320 parameters``."""
        pieces = [self.what] if self.what else []
        pieces += [f"{self.parameters:,} parameter{'s' * (self.parameters != 1)}"] if self.parameters else []
        return " · ".join(pieces)


@dataclass(frozen=True, slots=True)
class Frame:
    """An open box around nodes: those whose ``entered`` begins with ``path``."""

    path: tuple[int, ...]
    title: str
    fold: Fold


@dataclass(frozen=True, slots=True)
class Vertex:
    """One node of the picture."""

    id: int  # from 0, in the order of creation
    kind: str  # Variable, Constant or Operation; in what is drawn also Scope, a folded box
    title: str
    name: str  # the node's own name
    word: str  # the operation in words, or the kind
    value: Numbers
    gradient: Numbers | None = None
    parts: tuple[Numbers, ...] = ()  # whose sum the gradient is, if there are several
    of_parts: int = 0  # how many there are in all
    operands: tuple[Operand, ...] = ()
    more_operands: int = 0  # operands that have no row of their own
    output: bool = False
    notes: tuple[str, ...] = ()
    named: bool = False  # has it a name of its own, or is the title how it was computed?
    scope: tuple[str, ...] = ()  # the names of the boxes around it, the outermost first
    entered: tuple[int, ...] = ()  # and their numbers: equal names may be different boxes
    members: tuple[int, ...] = ()  # of what is drawn: the ids of the recorded nodes that it stands for
    fold: Fold | None = None  # of a folded box


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, along which values go forward and gradients back. ``x*x`` has two."""

    source: int
    target: int
    slot: int  # the place among the target's operands
    flows: bool  # does a gradient flow back?
    local: Numbers | None
    sent: Numbers | None


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw it: what the arguments of ``node.graph()`` were decided to be."""

    detail: str
    direction: str
    legend: bool
    theme: str
    engine: str
    digits: int
    merge: bool = True  # draw chains of + or of * as one card
    fold: bool = True  # may boxes fold by themselves?
    depth: int | None = None  # boxes deeper than that are folded
    open: tuple[str, ...] = ()  # names of boxes that stay open
    closed: tuple[int, ...] | None = None  # the numbers of the folded boxes, which a reader of the page clicked


@dataclass(frozen=True)
class Graph:
    """A picture of how values were computed and how gradients flow back. ``node.graph()`` makes it.

    It shows itself in a notebook, and as a tree in a terminal; ``save("figure.svg")`` writes a file. ``nodes`` and
    ``edges`` are plain data.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(af.graph(x * x))
    x*x  multiply = 9
    ├─① x  Variable = 3
    └─② x  (shown above)
    1 Variable · 1 Operation
    call backward() to see gradients
    """

    nodes: tuple[Vertex, ...]
    outputs: tuple[int, ...]
    title: str  # of the output, as gradients name it: a5 in ∂a5/∂x
    gradients: bool
    notes: tuple[str, ...]  # what a reader has to know: what was hidden, why there are no gradients
    look: Look
    frames: tuple[Frame, ...] = ()  # open boxes, of what is drawn
    faded: tuple[int, ...] = ()  # ids of nodes that are no part of what was highlighted
    hidden: int = 0  # recorded nodes that are not in it
    rules: tuple[tuple[int, str], ...] = ()  # of a lesson: local derivatives in LaTeX, each with its operation's id
    view: bool = False  # is this what is drawn, or what was recorded?
    again: Callable[[Any], Graph] | None = field(default=None, repr=False, compare=False)  # for other inputs

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"again": None}

    @cached_property
    def drawn(self) -> Graph:
        """What is drawn: chains of + or of * on one card, boxes folded. ``members`` of its nodes are ids of mine."""
        if self.view:
            return self
        from .views import view

        return view(self)

    def replay(self, inputs: Mapping[Any, Any]) -> Graph:
        """The picture of the same graph with other values: ``g.replay({x: 4.0})``. Nothing in the nodes changes.

        inputs : as for ``node.replay``, whose errors it raises.

        >>> import autoflow as af
        >>> x = af.Variable(3.0, name="x")
        >>> g = af.graph(x * x)
        >>> [v.value.elements for v in g.replay({x: 4.0}).nodes]
        [(4.0,), (16.0,)]
        """
        if self.again is None:
            raise ValueError(
                "this picture is a copy or came out of a pickle, and knows no nodes: draw it anew, node.graph()"
            )
        return self.again(inputs)

    def open(self, *names: str) -> Graph:
        """The same picture with these boxes open: ``g.open("encoder")``, ``g.open("encoder/layer")``."""
        from .views import check_open, skeleton_of

        if any([v.fold for v in self.nodes]):
            raise ValueError(f"this picture has not all nodes. Draw it anew: node.graph(open={names!r:.60})")
        check_open(skeleton_of(self), names)
        return replace(self, look=replace(self.look, open=(*self.look.open, *names)))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All arrows, in the order of their ends' creation and of operands."""
        return tuple(
            [
                Edge(row.source, node.id, row.slot, row.flows, row.local, row.sent)
                for node in self.nodes
                for row in node.operands
                if row.source is not None
            ]
        )

    def counts(self) -> str:
        """``3 Variables · 8 Operations``."""
        number = Counter(node.kind for node in self.nodes)
        text = [f"{number[k]} {k}{'s' * (number[k] != 1)}" for k in (*KINDS, "Scope") if number[k]]
        cards = len(self.drawn.nodes) - sum([number[k] for k in ("Variable", "Constant")])
        merged = not self.view and not number["Scope"] and 0 < cards < number["Operation"]
        if merged and not self.drawn.frames and not any([v.fold for v in self.drawn.nodes]):
            text.append(f"{cards} cards")
        return " · ".join(text)

    def table(self, *, ascii: bool = False) -> str:
        """One line per node: number, title, operation, shape, value, gradient, operands."""
        from .tables import table

        return table(self, ascii=ascii)

    def summary(self) -> str:
        """One sentence, for whoever does not see the picture."""
        ends = ", ".join([f"{n.title} = {n.value.text(self.look.digits)}" for n in self.nodes if n.output])
        return f"Computation graph of {ends}: {self.counts()}."

    def partial(self, node: Vertex) -> str:
        """What the gradient of ``node`` is called: ``∂a5/∂x``, or just "gradient" where names are long."""
        text = f"∂{self.title}/∂{node.title}"
        return text if len(text) <= 16 and (node.title + self.title).replace("_", "").isalnum() else "gradient"

    def to_svg(self) -> str:
        """The picture as SVG: one text without scripts, links or fonts, the same for the same graph."""
        from .svg import to_svg

        return to_svg(self)

    def to_html(self) -> str:
        """A page that needs nothing else: the picture, controls that step through it, all steps as a table."""
        from .html import page

        return page(self)

    def step(self) -> Any:
        """Step through this picture, as ``node.step()`` does."""
        from .stepping import Stepper

        return Stepper(self)

    def to_dot(self) -> str:
        """The picture in Graphviz's language (needs the Python package ``graphviz``, not the program)."""
        from .dot import to_dot

        return to_dot(self)

    def to_mermaid(self) -> str:
        """A flowchart for Markdown files: GitHub and GitLab draw it."""
        from .exports import to_mermaid

        return to_mermaid(self)

    def to_json(self) -> str:
        """All that the picture knows, for programs."""
        from .exports import to_json

        return to_json(self)

    def to_text(self, *, ascii: bool = False) -> str:
        """A tree of lines, from the output down to the leaves."""
        from .text import to_text

        return to_text(self, ascii)

    def save(self, path: Any) -> Path:
        """Write a file in the format that its name ends with: .svg .html .png .pdf .dot .mmd .json .txt. Returns
        the path.

        PNG and PDF are drawn by matplotlib, pygraphviz or Graphviz's program ``dot``; one of them must be installed.
        """
        from .exports import save

        return save(self, path)

    def __str__(self) -> str:
        from .text import to_text

        return to_text(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks show. An exception here would print a traceback into the page, so there is none."""
        from .exports import bundle

        return bundle(self, include, exclude)

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :mod:`.still`."""
        from .still import show
        from .tables import table_rows

        show(self, lambda: table_rows(self.drawn))
