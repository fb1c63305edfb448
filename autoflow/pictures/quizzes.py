"""A lesson of a node's own computation: step by step, as questions, and with a queue that gets it wrong.

``node.step()`` and ``node.steps()`` go one step at a time. ``node.quiz()`` asks for the steps of the backward pass, to
be answered in a page or on paper.

Last, backpropagation with a queue that does not wait, next to the engine's. A record is ready when the last of its
consumers has sent its part: that is Kahn's algorithm, and :func:`steps` shows it. The two obvious shorter programs go
through the same graph here, and lose gradients or send them twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from .folding.results import tidy
from .formulas.chain import rules
from .model.data import GraphData, Numbers, Placeholder, Vertex, numbers, on_paper
from .model.steps import Product, Step, amount_text, gradient_name, say, steps_of
from .pages.html import document, fragment, image, page
from .pages.stepper import Kinds, Stepper, bundle, save, show
from .walk import Graph, facade, graph as picture_of

# ---------------------------------------------------------------- steps: one at a time

LIMIT = 400  # nodes; more are too many to step through


def steps(node: object, *, limit: int = LIMIT) -> list[Step]:
    """The steps that lead to ``node`` and back from it, with ones as the seed: what ``backward()`` does, and its order.

    Whether ``backward()`` has been called makes no difference, and no node is changed. A large graph is cut to the
    ``limit`` nodes nearest to the output.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> a = x * x
    >>> out = a + a * x
    >>> a.name, out.name = "a", "out"
    >>> for step in steps(out): print(step)
      0  start     x = 2
      1  forward   a = x*x = 4
      2  forward   a*x = 8
      3  forward   out = a + a*x = 12
      4  seed      ∂out/∂out = 1
      5  backward  out has gradient 1, sends back   to a: 1 × 1 = 1;   to a*x: 1 × 1 = 1
      6  backward  a*x has gradient 1, sends back   to a: 1 × 2 = 2   so far 3;   to x: 1 × 4 = 4
      7  backward  a has gradient 3, sends back   to x: 3 × 2 = 6   so far 10;   to x: 3 × 2 = 6   so far 16
      8  end       ∂out/∂x = 16
    """
    return steps_of(tidy(lesson(node, limit=limit)))


def lesson(node: Any, **options: Any) -> Graph:
    """The picture that is stepped through: with all numbers, and a card for every operation that was recorded."""
    picture = picture_of(node, "lesson", gradients=True, merge=False, fold=False, **options)
    return replace(picture, rules=rules(node if isinstance(node, (list, tuple)) else [node], picture))


def step(node: object, *, limit: int = LIMIT, **options: object) -> Stepper:
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


# ---------------------------------------------------------------- questions, in a page or on paper


LINE = "_____"
PAPER = "@page{size:landscape;margin:12mm}body{margin:12px;font:14px system-ui,sans-serif}"
ASKED = f"Name: {'_' * 22} &emsp; For each row: the local derivative (×), what is sent back (=). Then the sums."


class Sheet(Graph):
    """A picture with lines to write on. Its page is for the printer: it has no steps."""

    def to_html(self, *, full: bool = True) -> str:
        """The picture as an image, on a page that is as wide as the paper."""
        if not full:
            return image(self)
        return document(self.title, f"<p>{ASKED}</p>\n{image(self)}", "", PAPER, "light")


class Quiz:
    """The result of ``node.quiz()``: a page that asks for each local derivative, or each product, of the backward pass.

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

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page (.html), or the sheet in another format. Returns the path."""
        return save(self.sheet(), path, writers={".html": lambda _: self.to_html()})

    def __str__(self) -> str:
        return str(self.sheet())

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Kinds = None, exclude: Kinds = None) -> dict[str, Any]:
        """What notebooks show."""
        return bundle(self, include, exclude, self.sheet())

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: the sheet."""
        show(self.sheet())


def with_blanks(v: Vertex) -> Vertex:
    """A card that asks for its local derivatives, products and gradient. The seed is given."""
    is_seen = v.output and v.of_parts <= 1
    return replace(
        v, operands=tuple([
            replace(r, local=r.local and blank(r.local), sent=r.sent and blank(r.sent), rule=LINE * bool(r.rule))
            for r in v.operands
        ]),
        gradient=v.gradient if is_seen or v.gradient is None else blank(v.gradient), parts=tuple(map(blank, v.parts)),
    )  # fmt: skip


def blank(x: Numbers) -> Placeholder:
    """A line for a number or an array, which does not reveal its size."""
    rms = 1.0 if x.scalar else None
    return Placeholder(x.shape, x.dtype, True, (math.nan,) if x.scalar else None, rms=rms, words=LINE)


def quiz(node: object, *, limit: int = LIMIT, **options: object) -> Quiz:
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


# ---------------------------------------------------------------- a queue that does not wait


def wrong_queue_steps(node: object, *, visited: bool = True) -> list[Step]:
    """The same lesson with a plain queue, which does not wait: how it goes wrong, next to :func:`steps`.

    visited : True is a queue with a set of nodes that were seen: ``a`` is processed once, but before all of its
        consumers have sent their part, and what comes later is lost. False is a stack without such a set: ``a`` waits
        once per consumer, and sends its gradient once each.

    Only for graphs of numbers; else ValueError.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> a = x * x
    >>> out = a + a * x
    >>> a.name, out.name = "a", "out"
    >>> for step in wrong_queue_steps(out)[4:]: print(step)
      4  seed      ∂out/∂out = 1
      5  backward  out has gradient 1, sends back   to a: 1 × 1 = 1;   to a*x: 1 × 1 = 1
      6  backward  a has gradient 1, sends back   to x: 1 × 2 = 2;   to x: 1 × 2 = 2   so far 4
      7  backward  a*x has gradient 1, sends back   to a: 1 × 2 = 2   so far 3, too late;   to x: 1 × 4 = 4   so far 8
      8  end       ∂out/∂x = 8, but right is 16
    >>> for how in (out.steps(), wrong_queue_steps(out), wrong_queue_steps(out, visited=False)): print(how[-1].caption)
    ∂out/∂x = 16
    ∂out/∂x = 8, but right is 16
    ∂out/∂x = 28, but right is 16
    """
    graph = lesson(node)
    if any([not v.value.scalar for v in graph.nodes]) or len(graph.outputs) != 1 or not graph.gradients:
        raise ValueError("this lesson is for graphs of numbers: shapes () only, one output, with a gradient")
    queue_steps = [step for step in steps_of(graph) if step.phase in ("start", "forward", "seed")]
    sums: dict[int, float] = {graph.outputs[0]: 1.0}
    queue_steps += list(wrong_order(graph, sums, visited))
    sentences = [f"{gradient_name(graph, v)} = {numbers(sums.get(v.id, 0.0)).text(graph.look.digits)}, but right is "
            f"{amount_text(v.gradient, graph)}" if sums.get(v.id, 0.0) != v.gradient.elements[0] else
            f"{gradient_name(graph, v)} = {amount_text(v.gradient, graph)}, which is right"
            for v in graph.nodes if v.kind == "Variable" and v.gradient and v.gradient.elements]  # fmt: skip
    queue_steps.append(Step(0, "end", ", ".join(sentences)))
    return [replace(step, number=place) for place, step in enumerate(queue_steps)]


def wrong_order(graph: GraphData, sums: dict[int, float], visited: bool) -> Iterator[Step]:
    """The backward steps of a queue with a visited set, or of a stack without one. Fills ``sums``."""
    waiting, seen, done = list(graph.outputs), set(graph.outputs), set()
    while waiting:
        v = graph.nodes[waiting.pop(0 if visited else -1)]
        if v.kind != "Operation":
            continue
        done.add(v.id)
        g = numbers(sums[v.id])
        sentences = []
        for row in v.operands:
            if not row.flows or row.local is None or row.local.elements is None or row.source is None:
                continue
            part = sums[v.id] * row.local.elements[0]
            more = row.source in sums
            sums[row.source] = sums.get(row.source, 0.0) + part
            late = visited and row.source in done
            sent, total = numbers(part), numbers(sums[row.source])
            product = Product(row.slot, row.source, row.title, row.local, sent, 2 if more else 1, 2, total)
            sentences.append(say(product, g, graph) + ", too late" * late)
            if not visited or row.source not in seen:
                seen.add(row.source)
                waiting.append(row.source)
        lead = f"{v.title} has gradient {amount_text(g, graph)}, sends back   "
        yield Step(0, "backward", lead + ";   ".join(sentences), v.id, v.title, v.value, g)
