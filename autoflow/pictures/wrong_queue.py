"""A lesson: backpropagation with a queue that does not wait, next to the engine's.

A record is ready when the last of its consumers has sent its part: that is Kahn's algorithm, and :mod:`.lesson` shows
it. The two obvious shorter programs go through the same graph here, and lose gradients or send them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .lesson import lesson
from .model.data import GraphData
from .model.numbers import numbers
from .model.steps import Product, Step, amount_text, gradient_name, say, steps_of


def wrong_queue_steps(node: Any, *, visited: bool = True) -> list[Step]:
    """The same lesson with a plain queue, which does not wait: how it goes wrong, next to :func:`~.lesson.steps`.

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
    right = steps_of(graph)
    found = [step for step in right if step.phase in ("start", "forward", "seed")]
    sums: dict[int, float] = {graph.outputs[0]: 1.0}
    found += list(wrong_order(graph, sums, visited))
    told = [f"{gradient_name(graph, v)} = {numbers(sums.get(v.id, 0.0)).text(graph.look.digits)}, but right is "
            f"{amount_text(v.gradient, graph)}" if sums.get(v.id, 0.0) != v.gradient.elements[0] else
            f"{gradient_name(graph, v)} = {amount_text(v.gradient, graph)}, which is right"
            for v in graph.nodes if v.kind == "Variable" and v.gradient and v.gradient.elements]  # fmt: skip
    found.append(Step(0, "end", ", ".join(told)))
    return [replace(step, number=place) for place, step in enumerate(found)]


def wrong_order(graph: GraphData, sums: dict[int, float], visited: bool) -> Iterator[Step]:
    """The backward steps of a queue with a visited set, or of a stack without one. Fills ``sums``."""
    waiting, seen, done = list(graph.outputs), set(graph.outputs), set()
    while waiting:
        v = graph.nodes[waiting.pop(0 if visited else -1)]
        if v.kind != "Operation":
            continue
        done.add(v.id)
        g = numbers(sums[v.id])
        told = []
        for row in v.operands:
            if not row.flows or row.local is None or row.local.elements is None or row.source is None:
                continue
            part = sums[v.id] * row.local.elements[0]
            more = row.source in sums
            sums[row.source] = sums.get(row.source, 0.0) + part
            late = visited and row.source in done
            product = Product(
                row.slot, row.source, row.title, row.local, numbers(part), 2 if more else 1, 2,
                numbers(sums[row.source]),
            )  # fmt: skip
            told.append(say(product, g, graph) + ", too late" * late)
            if not visited or row.source not in seen:
                seen.add(row.source)
                waiting.append(row.source)
        said = f"{v.title} has gradient {amount_text(g, graph)}, sends back   "
        yield Step(0, "backward", said + ";   ".join(told), v.id, v.title, v.value, g)
