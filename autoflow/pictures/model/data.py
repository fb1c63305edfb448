"""A picture as plain data, which every renderer reads and none changes.

A :class:`GraphData` holds no array and no node: it does not change while the program continues, two equal programs
give equal data, and it can be pickled. :mod:`~..walk` makes it; the modules of ``render`` and ``pages`` turn it into
files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from .numbers import Numbers

ALIKE = 6  # equal parts beside each other that are all drawn
FEW = 40  # cards above which boxes fold by themselves, and which are left if there are boxes enough
ROWS = 12  # operands of one operation that get a row of their own


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
    rule: str = ""  # of arrays: how what is sent back is computed, "g Wᵀ"
    result: int | None = None  # in what is drawn: which of several results of its source


@dataclass(frozen=True, slots=True)
class Fold:
    """What is in a box."""

    what: str  # the operations in a few words
    variables: int
    operations: int
    parameters: int  # numbers in the Variables
    exits: int = 0  # how many values leave it
    box: int = -1  # the number of the box
    sequence: bool = False  # is it between the first and the last of equal parts?
    told: tuple[str, ...] = ()  # of equal parts: which they are, whether they share their Variables

    def text(self) -> str:
        """``matmul, add · 8,320 parameters``."""
        pieces = [self.what] if self.what else []
        return " · ".join([*pieces, *([self.count_text()] if self.parameters else [])])

    def count_text(self) -> str:
        """``8,320 parameters``; nothing if there are none."""
        return f"{self.parameters:,} parameter{'s' * (self.parameters != 1)}" if self.parameters else ""


@dataclass(frozen=True, slots=True)
class Frame:
    """An open box around nodes: those whose ``entered`` begins with ``path``."""

    path: tuple[int, ...]
    title: str
    fold: Fold
    sequence: bool = False  # are its parts equal, one after another in time?


@dataclass(frozen=True, slots=True)
class Result:
    """One of several results on the card of the function that computed them."""

    title: str
    value: Numbers
    gradient: Numbers | None = None
    parts: tuple[Numbers, ...] = ()  # whose sum the gradient is, if there are several
    of_parts: int = 0
    output: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """Nodes that are one function with several results (ids)."""

    word: str  # the function
    title: str
    call: int | None  # the node of the function; None if only its results were recorded: ``split``
    results: tuple[int, ...]
    inside: tuple[int, ...] = ()  # nodes between call and results, and others that are not drawn
    source: int | None = None  # what was split


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
    members: tuple[int, ...] = ()  # in what is drawn: the ids of the recorded nodes that it represents
    fold: Fold | None = None  # of a folded box
    equals: int | None = None  # the id of the node that this one is 1 times of; not drawn then
    results: tuple[Result, ...] = ()  # in what is drawn: of a function with several

    def carried(self, result: int | None) -> Vertex | Result:
        """What an arrow from here carries: that result, or the only one."""
        return self if result is None or result >= len(self.results) else self.results[result]

    @property
    def several(self) -> str:
        """``2 results``."""
        return f"{len(self.results)} result{'s' * (len(self.results) != 1)}"

    @property
    def said(self) -> str:
        """What the title does not say about the operation: nothing for ``sin(a2)``, the axis for ``sum``."""
        name, _, more = self.word.partition(", ")
        return more if self.title == name else "" if self.title.startswith(self.word + "(") else self.word


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, along which values go forward and gradients back. ``x*x`` has two."""

    source: int
    target: int
    slot: int  # the place among the target's operands
    flows: bool  # does a gradient flow back?
    local: Numbers | None
    sent: Numbers | None
    result: int | None = None  # which of several results of the source


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
    alike: int = ALIKE  # equal parts beside each other that are all drawn; of more the first and the last
    few: int = FEW  # cards above which boxes fold by themselves
    closed: tuple[int, ...] | None = None  # the numbers of the folded boxes, which a reader of the page clicked
    compact: bool | None = False  # cards without values, since the picture would be large; None: where that helps


@dataclass(frozen=True)
class GraphData:
    """How values were computed and how gradients flow back. Users have it as a :class:`~..facade.Graph`."""

    nodes: tuple[Vertex, ...]
    outputs: tuple[int, ...]
    title: str  # of the output, as gradients name it: a5 in ∂a5/∂x
    gradients: bool
    notes: tuple[str, ...]  # notes for the reader: what is hidden, why there are no gradients
    look: Look
    frames: tuple[Frame, ...] = ()  # open boxes, of what is drawn
    faded: tuple[int, ...] = ()  # ids of nodes that are no part of what was highlighted
    hidden: int = 0  # recorded nodes that are not in it
    rules: tuple[tuple[int, str], ...] = ()  # of a lesson: local derivatives in LaTeX, each with its operation's id
    view: bool = False  # is this what is drawn (True), or what was recorded?
    several: tuple[Several, ...] = ()  # which nodes are one function with several results

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All arrows, in the order of their ends' creation and of operands."""
        return tuple(
            [
                Edge(row.source, node.id, row.slot, row.flows, row.local, row.sent, row.result)
                for node in self.nodes
                for row in node.operands
                if row.source is not None
            ]
        )

    def partial(self, node: Vertex) -> str:
        """What the gradient of ``node`` is called: ``∂a5/∂x``, or just "gradient" where names are long."""
        text = f"∂{self.title}/∂{node.title}"
        named = self.called and (node.named or node.kind != "Operation")
        fits = len(text) <= 16 and (node.title + self.title).replace("_", "").isalnum()
        return text if named and fits else "gradient"

    @cached_property
    def called(self) -> bool:
        """Have the outputs names? The title of others is how they were computed."""
        return all([self.nodes[k].named or self.nodes[k].kind != "Operation" for k in self.outputs])


Picture = TypeVar("Picture", bound=GraphData)  # what comes in goes out: data, or the facade of users


def on_paper(graph: Picture) -> Picture:
    """The picture for a file or a film, which has no reader whose screen its theme could follow: paper is light."""
    return replace(graph, look=replace(graph.look, theme="light")) if graph.look.theme == "auto" else graph
