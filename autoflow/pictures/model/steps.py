"""The forward and the backward pass, one step at a time, as plain data.

``start``, ``forward`` (each operation, in the order of creation), ``seed`` (∂z/∂z = 1), ``backward`` (each operation
in the engine's order, with every product it sends back and the sums so far), ``end``. All of it is read from a
:class:`~.data.GraphData`, so the last step says what the picture says. A terminal prints the steps, a page replays
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...backprop.engine import topological
from .data import GraphData, Numbers, Operand, Vertex, counted, numbers
from .gathering import Outputs
from .names import write_out
from .style import readable

NAMED = 6  # gradients in the last caption
STEPPED = ("Operation", "Scope")  # a folded box is one step


@dataclass(frozen=True, slots=True)
class Product:
    """One product of the chain rule: ``gradient × local = sent``, for one operand."""

    slot: int  # its index among the operands
    source: int | None  # the node that receives it; None if that is not drawn
    title: str
    local: Numbers | None  # of numbers only
    sent: Numbers | None  # None: not known, of a folded box that uses the receiver several times
    place: int = 1  # ordinal of this contribution at its receiver, from 1
    of_places: int = 1
    so_far: Numbers | None = None  # the sum of its contributions up to this one; None of large arrays
    result: int | None = None  # which of several results of the receiver it is for
    note: str = ""  # in place of an unknown number: "28 parts"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``print`` shows number, phase and caption."""

    number: int
    phase: str  # start, forward, seed, backward or end
    caption: str
    node: int | None = None  # the node it is about: an id of the picture
    title: str = ""
    value: Numbers | None = None
    gradient: Numbers | None = None
    products: tuple[Product, ...] = ()
    question: str = ""  # the caption without the answer, for readers who predict it

    def __str__(self) -> str:
        return readable(self.line())

    def line(self) -> str:
        """Number, phase and caption, whatever the terminal can show."""
        return f"{self.number:3}  {self.phase:8}  {self.caption}"


class VertexRecord:
    """A node of a picture, as the engine expects a record."""

    def __init__(self, node: Vertex) -> None:
        self.node = node
        self.parents: tuple[VertexRecord | None, ...] = ()


def steps_of(graph: GraphData) -> list[Step]:
    """The steps of a picture; without gradients only the forward pass."""
    steps = [begin(graph), *[forward(graph, v) for v in graph.nodes if v.kind in STEPPED]]
    if graph.gradients:
        sums = Sums(graph)
        steps += [one for k in graph.outputs if graph.nodes[k].gradient for one in seeds(graph, graph.nodes[k])]
        steps += [backward(graph, v, sums) for v in engine_order(graph) if v.kind in STEPPED and (v.gradient or v.fold)]
    return [in_turn(replace(step, number=place), graph) for place, step in enumerate([*steps, end(graph)])]


def in_turn(step: Step, graph: GraphData) -> Step:
    """The step, with the turns of the loops that its operation was computed in."""
    turns = "" if step.node is None else "; ".join(graph.nodes[step.node].turns)
    if not turns:
        return step
    question = f"{turns}:   {step.question}" if step.question else ""
    return replace(step, caption=f"{turns}:   {step.caption}", question=question)


def engine_order(graph: GraphData) -> list[Vertex]:
    """The nodes in the order in which ``backward()`` visits them, from the engine itself."""
    records = [VertexRecord(v) for v in graph.nodes]
    for record in records:
        rows = record.node.operands
        record.parents = tuple([records[r.source] if r.flows and r.source is not None else None for r in rows])
    return [record.node for record in topological(Outputs([records[k] for k in graph.outputs]))[1:]]


# ---------------------------------------------------------------- what the steps say


def begin(graph: GraphData) -> Step:
    """The leaves, before anything is computed."""
    leaves = [f"{v.title} = {amount_text(v.value, graph)}" for v in graph.nodes if v.kind not in STEPPED
              and not (v.kind == "Constant" and v.value.scalar and not v.named)]  # fmt: skip
    return Step(0, "start", listed(leaves) or graph.title)


def listed(words: list[str]) -> str:
    """The first ones, and how many there are besides."""
    return ", ".join([*words[:NAMED], *([f"and {len(words) - NAMED} more"] if len(words) > NAMED else [])])


def forward(graph: GraphData, v: Vertex) -> Step:
    """An operation gets its value; all that is in a folded box is computed."""
    if v.fold:
        caption = f"{inside(v, 'compute')} {amount_text(v.value, graph)}" if v.fold.exits == 1 else inside(v)
        question = f"{v.title}: {inside(v, 'compute')}?"
        return Step(0, "forward", f"{v.title}: {caption}", v.id, v.title, v.value, question=question)
    bare = v.title == v.word.partition(", ")[0]
    lead = f"{call(v)} = " if bare else f"{v.title} = " + (f"{call(v)} = " if v.title.isidentifier() else "")
    caption = amount_text(v.value, graph)
    if v.results:
        lead = ", ".join([r.title for r in v.results]) + f" = {v.title}: "
        caption = ", ".join([amount_text(r.value, graph) for r in v.results])
    return Step(0, "forward", lead + caption, v.id, v.title, v.value, question=lead + "?")


def inside(v: Vertex, verb: str = "") -> str:
    """``12 operations``: what a folded box is; ``12 operations compute``, ``1 operation computes``: what it does."""
    n = v.fold.operations if v.fold else 0
    return counted(n, "operation") + (f" {verb}{'s' * (n == 1)}" if verb else "")


def call(v: Vertex) -> str:
    """``x*y``, ``sum(x, axis=0)``."""
    if v.write:
        return v.write
    name, comma, options = v.word.partition(", ")
    names = [row.title for row in v.rows] + ["…"] * bool(v.more_operands)
    if not options or name.startswith("getitem"):
        return write_out(v.word, names)
    return f"{name}({', '.join(names)}{comma}{options})"


def seeds(graph: GraphData, v: Vertex) -> list[Step]:
    """The gradient of an output with respect to itself, or of each result that is one."""
    if not v.results:
        one = numbers(np.ones(v.value.shape))
        word = "1" if v.value.scalar else f"ones, {v.value.shape_text()}"
        return [Step(0, "seed", f"{gradient_name(graph, v)} = {word}", v.id, v.title, v.value, one)]
    captions = [f"gradient of {r.title} = ones" + f", {r.value.shape_text()}" * (not r.value.scalar)
                for r in v.results if r.output]  # fmt: skip
    return [Step(0, "seed", caption, v.id, v.title, v.value) for caption in captions]


def gradient_name(graph: GraphData, v: Vertex) -> str:
    """``∂a5/∂x``, or ``gradient of x`` where names are long."""
    name = graph.partial(v)
    return name if name.startswith("∂") else f"gradient of {v.title}"


def backward(graph: GraphData, v: Vertex, sums: Sums) -> Step:
    """An operation whose gradient is complete sends to each operand what that contributes."""
    products = tuple([sums.add(row) for row in v.operands if row.sent is not None or (v.fold and row.flows)])
    if v.fold:
        lead = f"{v.title}: {inside(v, 'send')} back"
        body = ";   ".join([say(p, None, graph) for p in products])
        text = f"{lead}   {body}" if products else f"{v.title}: {inside(v)}, nothing is sent back"
        return Step(0, "backward", text, v.id, v.title, v.value, v.gradient, products, f"{lead}?")
    assert v.gradient is not None  # noqa: S101
    lead = f"{v.title} has gradient {amount_text(v.gradient, graph)}"
    if v.results:
        amounts = [f"{amount_text(r.gradient, graph)} of {r.title}" for r in v.results if r.gradient is not None]
        lead = f"{v.title} has the gradients {', '.join(amounts)}"
    body = ";   ".join([say(p, v.gradient, graph) for p in products])
    asked = ";   ".join([say(p, v.gradient, graph, ask=True) for p in products])
    more = f";   {v.left_out}" if v.left_out else ""
    if not products:
        return Step(0, "backward", f"{lead}, sends nothing back", v.id, v.title, v.value, v.gradient)
    start = f"{lead}, sends back   "
    return Step(0, "backward", start + body + more, v.id, v.title, v.value, v.gradient, products, start + asked + more)


def say(p: Product, gradient: Numbers | None, graph: GraphData, *, ask: bool = False) -> str:
    """``to a2: 12.25 × 0.5403 = 6.619   so far 9.564``; as a question ``to a2: 12.25 × ? = ?``."""
    by = ""
    if p.local and gradient is not None:
        by = f"{amount_text(gradient, graph)} × {'?' if ask else factor(p.local, graph)} = "
    text = f"to {p.title}: {by}" + ("?" if ask else p.note if p.sent is None else amount_text(p.sent, graph))
    if ask or p.place == 1 or p.note:
        return text
    total = amount_text(p.so_far, graph) if p.so_far and p.so_far.kept else f"{p.place} of {p.of_places} parts"
    return f"{text}   so far {total}"


def factor(x: Numbers, graph: GraphData) -> str:
    """A local derivative behind a ×: a complex one in parentheses."""
    text = x.text(graph.look.digits)
    return f"({text})" if " " in text else text


def amount_text(x: Numbers, graph: GraphData) -> str:
    """A number; a small array; of a large array shape and size."""
    text = x.text(graph.look.digits)
    if x.scalar or x.elements:
        return text
    return f"{x.shape_text()}, " + (text if x.rms is None else f"rms {x.magnitude(graph.look.digits)}")


def end(graph: GraphData) -> Step:
    """The last step: the result."""
    if not graph.gradients:
        return Step(0, "end", "; ".join(graph.notes) or "nothing flows back")
    sentences = [f"{gradient_name(graph, v)} = {amount_text(v.gradient, graph)}" for v in graph.nodes
             if v.kind == "Variable" and v.gradient]  # fmt: skip
    boxes = any([v.fold and v.fold.variables for v in graph.nodes])
    none = "all Variables are in folded boxes" if boxes else "no Variable is drawn"
    return Step(0, "end", listed(sentences) or none)


Receiver = tuple[int | None, int | None]  # a node, and which of its results if it has several


class Sums:
    """The gradient that has arrived at each node so far, added up as in the engine."""

    def __init__(self, graph: GraphData) -> None:
        self.graph = graph
        self.arrows = Counter[Receiver]()  # of folded pictures, which have fewer
        if any([v.fold for v in graph.nodes]):
            self.arrows.update([(r.source, r.result) for v in graph.nodes for r in v.operands if r.flows])
        seeds = [k for k in graph.outputs if graph.nodes[k].gradient]
        places: list[tuple[int, int | None]] = [(k, None) for k in seeds if not graph.nodes[k].results]
        places += [(k, j) for k in seeds for j, r in enumerate(graph.nodes[k].results) if r.output]
        self.arrived: dict[Receiver, int] = dict.fromkeys(places, 1)
        self.arrows.update(places if self.arrows else ())
        self.total: dict[Receiver, Any] = {(k, j): np.ones(graph.nodes[k].carried(j).value.shape) for k, j in places}

    def add(self, row: Operand) -> Product:
        """The contribution along one arrow."""
        if row.source is None:
            return Product(row.slot, None, row.title, row.local, row.sent, note=row.note)
        k = row.source, row.result
        node = self.graph.nodes[row.source].carried(row.result)
        place = self.arrived[k] = self.arrived.get(k, 0) + 1
        several = self.arrows.get(k) or max(1, node.of_parts)
        box = self.graph.nodes[row.source].fold is not None  # its gradient is that of the Variables inside
        if row.sent is None or box or row.sent.shape != node.value.shape:  # unknown, or collected and not added up
            self.total[k] = None
            complete = self.arrows and place >= several and not box
            return Product(row.slot, row.source, row.title, row.local, row.sent, place, several,
                           node.gradient if complete else None, row.result, row.note)  # fmt: skip
        total = self.total[k] = plus(self.total.get(k, 0.0), row.sent) if place > 1 else array(row.sent)
        complete = place >= several
        so_far = node.gradient if complete and node.gradient else numbers(total, row.sent.shape, row.sent.dtype)
        if total is not None and so_far.elements is not None:
            so_far = numbers(total.astype(so_far.dtype))
        return Product(row.slot, row.source, row.title, row.local, row.sent, place, several, so_far, row.result)


def array(x: Numbers) -> np.ndarray | None:
    """The numbers as an array, if few enough that all are kept. Half precision is added in single precision."""
    dtype = "float32" if x.dtype == "float16" else x.dtype
    return None if x.elements is None else np.array(x.elements, dtype).reshape(x.shape)


def plus(total: object, x: Numbers) -> Any:
    """A sum; None if a part is unknown."""
    part = array(x)
    with np.errstate(all="ignore"):
        return None if total is None or part is None else part + total
