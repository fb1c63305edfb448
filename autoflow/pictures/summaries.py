"""``loss.summary()``: a network as a table, one row per operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.columns import aligned
from .folding import views
from .folding.choose import MANY, pool_sizes
from .folding.repeats import first_word
from .model.data import GraphData, Vertex, number
from .model.style import clip, readable
from .walk import graph


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a summary."""

    scope: str
    operation: str
    output: str
    parameters: int  # of the Variables that are used here first
    gradient: float | None  # root mean square: of these Variables, else of the result


@dataclass(frozen=True, slots=True)
class Summary:
    """A network as a table. ``print`` shows it; ``lines`` and ``total`` are the data."""

    lines: tuple[Line, ...]
    total: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = ["scope", "operation", "output", "parameters", "gradient rms"]
        rows = [
            [x.scope, x.operation, x.output, f"{x.parameters:,}" if x.parameters else "–",
             "–" if x.gradient is None else number(float(f"{x.gradient:.2g}"), 3)]
            for x in self.lines
        ]  # fmt: skip
        total = ["total", "", "", f"{self.total:,}", ""]
        table = [[readable(cell) for cell in row] for row in (head, *rows, total)]
        return "\n".join([*aligned(table, right=(3,)), *map(readable, self.notes)])

    __repr__ = __str__


def summary(node: Any) -> Summary:
    """A network as a table: what was computed in which scope, its shape, its parameters, how large its gradients are.

    A product and the bias added to it are one row. Each Variable is counted once, at its first use. Gradients are shown
    after ``backward()``.

    >>> import autoflow as af
    >>> import numpy as np
    >>> W, b = af.Variable(np.ones((3, 2)), name="W"), af.Variable(np.zeros(2), name="b")
    >>> loss = np.sum(np.tanh(np.ones((5, 3)) @ W + b))
    >>> loss.backward()
    >>> print(summary(loss))
    scope  operation   output  parameters  gradient rms
           matmul+add  5 × 2            8  0.049
           tanh        5 × 2            –  1
           sum         scalar           –  1
    total                               8
    """
    picture = graph(node, merge=True, fold=True)
    drawn = views.visible_picture(replace(picture, look=replace(picture.look, fold=len(picture.nodes) > MANY)))
    uses = Counter([edge.source for edge in drawn.edges])
    seen: set[int] = set()
    joined: dict[int, list[Vertex]] = {}
    for v in [v for v in drawn.nodes if v.operands]:
        group = [v]
        before = None if v.operands[0].source is None else drawn.nodes[v.operands[0].source]
        if before is not None and v.word == "add" and first_word(before.word) == "matmul" and uses[before.id] == 1:
            group = [*joined.pop(before.id, [before]), v]
        joined[v.id] = group
    lines = [line(drawn, group, seen) for group in joined.values()]
    notes = tuple([note for note in drawn.notes if "nodes; showing" in note or "call " in note])
    return Summary(tuple(lines), sum([x.parameters for x in lines]), notes)


def line(drawn: GraphData, group: Sequence[Vertex], seen: set[int]) -> Line:
    """The row of operations that belong together."""
    last = group[-1]
    used = [drawn.nodes[row.source] for v in group for row in v.operands if row.source is not None]
    fresh = [v for v in dict.fromkeys(used) if v.kind == "Variable" and v.id not in seen]
    seen.update([v.id for v in fresh])
    inside = sum([v.fold.parameters for v in group if v.fold])
    sizes = [(v.value.size, v.gradient.rms) for v in fresh if v.gradient is not None]
    own = None if last.gradient is None else last.gradient.rms
    return Line(
        "/".join([clip(name, 20) for name in last.scope]) if not last.fold else "/".join((*last.scope, last.title)),
        "+".join([clip(first_word(v.word) if not v.fold else v.word, 40) for v in group]),
        last.several if last.results else "" if last.fold and last.fold.exits != 1
        else last.value.shape_text() or "scalar",
        sum([v.value.size for v in fresh]) + inside,
        pool_sizes(sizes) if sizes else own,
    )  # fmt: skip
