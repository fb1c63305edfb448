"""The forward and the backward pass, one step at a time, as plain data.

``start``, ``forward`` (each operation, in the order of creation), ``seed`` (∂z/∂z = 1), ``backward`` (each operation
in the engine's order, with every product it sends back and the sums so far), ``end``. All of it is read from a
:class:`~.data.Graph`, so the last step says what the picture says. A terminal prints the steps, a page replays them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine import topological
from .data import Graph, Operand, Vertex
from .local_rules import rules
from .numbers import Numbers, numbers
from .text import readable
from .walk import graph as picture_of

LIMIT = 400  # nodes; nobody steps through more
NAMED = 6  # gradients in the last caption


@dataclass(frozen=True, slots=True)
class Product:
    """One product of the chain rule: ``gradient × local = sent``, for one operand."""

    slot: int  # its place among the operands
    source: int | None  # the node that receives it; None if that is not drawn
    title: str
    local: Numbers | None  # of numbers only
    sent: Numbers
    place: int = 1  # the how manieth contribution that node receives
    of_places: int = 1
    so_far: Numbers | None = None  # the sum of its contributions up to this one; None of large arrays


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
    question: str = ""  # the caption without the answer, for those who want to predict it

    def __str__(self) -> str:
        return readable(self.line())

    def line(self) -> str:
        """Number, phase and caption, in any terminal that can show them."""
        return f"{self.number:3}  {self.phase:8}  {self.caption}"


class Record:
    """A node of a picture as the engine wants to see it."""

    def __init__(self, node: Vertex) -> None:
        self.node = node
        self.parents: tuple[Record | None, ...] = ()


def steps(node: Any, *, limit: int = LIMIT) -> list[Step]:
    """The steps that lead to ``node`` and back from it, with ones as the seed: what ``backward()`` does, and its order.

    Whether ``backward()`` has been called makes no difference, and no node is changed. Of a large graph the ``limit``
    nodes nearest to the output.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> a = x * x
    >>> out = a + a * x
    >>> a.name, out.name = "a", "out"
    >>> for step in steps(out): print(step)
      0  start     x = 2
      1  forward   a = multiply(x, x) = 4
      2  forward   a*x = 8
      3  forward   out = add(a, a*x) = 12
      4  seed      ∂out/∂out = 1
      5  backward  out has gradient 1, sends back   to a: 1 × 1 = 1;   to a*x: 1 × 1 = 1
      6  backward  a*x has gradient 1, sends back   to a: 1 × 2 = 2   so far 3;   to x: 1 × 4 = 4
      7  backward  a has gradient 3, sends back   to x: 3 × 2 = 6   so far 10;   to x: 3 × 2 = 6   so far 16
      8  end       ∂out/∂x = 16
    """
    return steps_of(lesson(node, limit=limit))


def lesson(node: Any, **options: Any) -> Graph:
    """The picture that is stepped through: with all numbers, and a card for every operation that was recorded."""
    picture = picture_of(node, "lesson", gradients=True, merge=False, fold=False, **options)
    return replace(picture, rules=rules(node if isinstance(node, (list, tuple)) else [node], picture))


def steps_of(graph: Graph) -> list[Step]:
    """The steps of a picture. Of one without gradients only the way forward."""
    found = [begin(graph), *[forward(graph, v) for v in graph.nodes if v.kind == "Operation"]]
    if graph.gradients:
        sums = Sums(graph)
        found += [seed(graph, graph.nodes[k]) for k in graph.outputs if graph.nodes[k].gradient]
        found += [backward(graph, v, sums) for v in engine_order(graph) if v.kind == "Operation" and v.gradient]
    return [replace(step, number=place) for place, step in enumerate([*found, end(graph)])]


def engine_order(graph: Graph) -> list[Vertex]:
    """The nodes in the order in which ``backward()`` visits them: the engine itself is asked."""
    records = [Record(v) for v in graph.nodes]
    for record in records:
        rows = record.node.operands
        record.parents = tuple([records[r.source] if r.flows and r.source is not None else None for r in rows])
    top = Record(graph.nodes[-1])
    top.parents = tuple([records[k] for k in graph.outputs])
    return [record.node for record in topological(top)[1:]]


# ------------------------------------------------------------------ what the steps say


def begin(graph: Graph) -> Step:
    """The leaves, before anything is computed."""
    leaves = [f"{v.title} = {amount(v.value, graph)}" for v in graph.nodes if v.kind != "Operation"
              and v.title != amount(v.value, graph)]  # fmt: skip
    more = f", and {len(leaves) - NAMED} more" if len(leaves) > NAMED else ""
    return Step(0, "start", (", ".join(leaves[:NAMED]) or graph.title) + more)


def forward(graph: Graph, v: Vertex) -> Step:
    """An operation gets its value."""
    said = f"{v.title} = " + (f"{call(v)} = " if v.title.isidentifier() else "")
    return Step(0, "forward", said + amount(v.value, graph), v.id, v.title, v.value, question=said + "?")


def call(v: Vertex) -> str:
    """``multiply(x, y)``, ``sum(x, axis=0)``."""
    name, comma, options = v.word.partition(", ")
    names = [row.title for row in v.operands] + ["…"] * bool(v.more_operands)
    name, space, index = name.partition(" ")  # getitem [1:]
    return f"{name}({', '.join(names)}{comma}{options}){space}{index}"


def seed(graph: Graph, v: Vertex) -> Step:
    """The output's gradient with respect to itself."""
    one = numbers(np.ones(v.value.shape))
    word = "1" if v.value.scalar else f"ones, {v.value.shape_text()}"
    return Step(0, "seed", f"{called(graph, v)} = {word}", v.id, v.title, v.value, one)


def called(graph: Graph, v: Vertex) -> str:
    """``∂a5/∂x``, or ``gradient of x`` where names are long."""
    name = graph.partial(v)
    return name if name.startswith("∂") else f"gradient of {v.title}"


def backward(graph: Graph, v: Vertex, sums: Sums) -> Step:
    """An operation whose gradient is complete sends to each operand what that contributes."""
    assert v.gradient is not None  # noqa: S101
    products = tuple([sums.add(row) for row in v.operands if row.sent is not None])
    said = f"{v.title} has gradient {amount(v.gradient, graph)}"
    told = ";   ".join([say(p, v.gradient, graph) for p in products])
    asked = ";   ".join([say(p, v.gradient, graph, ask=True) for p in products])
    more = f";   … {v.more_operands:,} more operands" if v.more_operands else ""
    if not products:
        return Step(0, "backward", f"{said}, sends nothing back", v.id, v.title, v.value, v.gradient)
    start = f"{said}, sends back   "
    return Step(
        0, "backward", start + told + more, v.id, v.title, v.value, v.gradient, products, start + asked + more
    )  # fmt: skip


def say(p: Product, gradient: Numbers, graph: Graph, *, ask: bool = False) -> str:
    """``to a2: 12.25 × 0.5403 = 6.619   so far 9.564``; as a question ``to a2: 12.25 × 0.5403 = ?``."""
    by = f"{amount(gradient, graph)} × {factor(p.local, graph)} = " if p.local else ""
    text = f"to {p.title}: {by}" + ("?" if ask else amount(p.sent, graph))
    if ask or p.place == 1:
        return text
    known = p.so_far and p.so_far.kept
    return text + (
        "   so far " + (amount(p.so_far, graph) if known and p.so_far else f"{p.place} of {p.of_places} parts")
    )


def factor(x: Numbers, graph: Graph) -> str:
    """A local derivative behind a ×: a complex one in parentheses."""
    text = x.text(graph.look.digits)
    return f"({text})" if " " in text else text


def amount(x: Numbers, graph: Graph) -> str:
    """A number; a small array; of a large array shape and size."""
    text = x.text(graph.look.digits)
    if x.scalar or x.elements:
        return text
    rms = x.magnitude(graph.look.digits) if x.rms is not None else text
    return f"{x.shape_text()}, " + (f"rms {rms}" if x.rms is not None else text)


def end(graph: Graph) -> Step:
    """What came out."""
    if not graph.gradients:
        return Step(0, "end", "; ".join(graph.notes) or "nothing flows back")
    found = [f"{called(graph, v)} = {amount(v.gradient, graph)}" for v in graph.nodes
             if v.kind == "Variable" and v.gradient]  # fmt: skip
    more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return Step(0, "end", (", ".join(found[:NAMED]) or "no Variable is drawn") + more)


class Sums:
    """What has arrived at each node so far, added up as the engine does."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.arrived = {k: 1 for k in graph.outputs if graph.nodes[k].gradient}  # the seeds
        self.total: dict[int, Any] = {k: np.ones(graph.nodes[k].value.shape) for k in self.arrived}

    def add(self, row: Operand) -> Product:
        """The contribution along one arrow."""
        assert row.sent is not None  # noqa: S101
        if row.source is None:
            return Product(row.slot, None, row.title, row.local, row.sent)
        k = row.source
        node = self.graph.nodes[k]
        place = self.arrived[k] = self.arrived.get(k, 0) + 1
        if row.sent.shape != node.value.shape:  # one of several results: they are collected, not added up
            return Product(row.slot, k, row.title, row.local, row.sent, place, max(1, node.of_parts))
        total = self.total[k] = plus(self.total.get(k, 0.0), row.sent) if place > 1 else array(row.sent)
        complete = place >= node.of_parts
        so_far = node.gradient if complete and node.gradient else numbers(total, row.sent.shape, row.sent.dtype)
        if total is not None and so_far.elements is not None:
            so_far = numbers(total.astype(so_far.dtype))
        return Product(row.slot, k, row.title, row.local, row.sent, place, max(1, node.of_parts), so_far)


def array(x: Numbers) -> Any:
    """The numbers as an array, if they are few enough to be all there. Half precision is added in single precision."""
    dtype = "float32" if x.dtype == "float16" else x.dtype
    return None if x.elements is None else np.array(x.elements, dtype).reshape(x.shape)


def plus(total: Any, x: Numbers) -> Any:
    """A sum of which one part may be unknown."""
    part = array(x)
    with np.errstate(all="ignore"):
        return None if total is None or part is None else part + total


# ------------------------------------------------------------------ the object that shows itself


class Stepper:
    """What ``node.step()`` returns: a page to click through in a notebook, lines of text in a terminal.

    It is a sequence of :class:`Step`; ``save("lesson.html")`` writes the page.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> lines = step(x * 2.0)
    >>> len(lines), lines[-1].caption
    (5, 'gradient of x = 2')
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps = tuple(steps_of(graph))

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

    def to_html(self) -> str:
        """The whole page."""
        from .html import page

        return page(self.graph, start=0)

    def save(self, path: Any) -> Any:
        """Write the page (.html), the lines (.txt), or the picture in another format. Returns the path."""
        from .exports import save

        return save(
            self.graph, path, writers={".html": lambda _: self.to_html(), ".txt": lambda _: f"{self.to_text()}\n"}
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What notebooks show."""
        from .exports import bundle

        return bundle(self.graph, include, exclude, start=0, text=lambda _: str(self))

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :mod:`.still`."""
        from .html import RULE, step_rows
        from .still import show

        show(self.graph, lambda: step_rows(self.steps, self.graph), math=RULE)


def lines(told: Iterable[Step], notes: Iterable[str] = ()) -> str:
    """The steps as text, with what a reader has to know below."""
    return "\n".join([*[step.line() for step in told], *notes])


def step(node: Any, *, limit: int = LIMIT, **options: Any) -> Stepper:
    """Step through the forward and the backward pass of ``node``: ◀ ▶ in a notebook, text in a terminal.

    Each step shows the products of the chain rule and the sums so far, in the order of ``backward()``; *predict
    first* hides each product until you ask. The last step is the picture that ``node.graph()`` draws. Options:
    ``direction``, ``constants``, ``legend``, ``theme`` as for ``node.graph()``.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(step(x * x))
      0  start     x = 3
      1  forward   x*x = 9
      2  seed      gradient of x*x = 1
      3  backward  x*x has gradient 1, sends back   to x: 1 × 3 = 3;   to x: 1 × 3 = 3   so far 6
      4  end       gradient of x = 6
    """
    return Stepper(lesson(node, limit=limit, **options))
