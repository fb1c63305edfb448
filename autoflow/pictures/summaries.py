"""``loss.summary()``: a network as a table, one row per operation; or the memory lens: which lines of a program keep
how many bytes for the way back, and what a checkpoint would save."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from ..backprop.engine import topological
from ..base.columns import aligned
from ..base.errors import lost
from ..base.groups import grouped
from ..nodes.cuts import explain
from ..nodes.nodes import Holder, Node, gradient_target
from ..nodes.records import Record
from ..program.boxes import Boxes
from ..program.names import Naming
from ..table.blocks import FROM
from .folding import views
from .folding.choose import MANY, pool_sizes
from .folding.repeats import first_word
from .model.data import GraphData, Vertex, number
from .model.gathering import kept_bytes
from .model.style import clip, readable
from .walk import Graph, graph


def summary(node: Node, *, memory: bool = False) -> Memory | Summary:
    """``loss.summary()``: a network as a table, or what its graph keeps."""
    return memory_of_graph(node) if memory else network_table(node)


# ---------------------------------------------------------------- a network as a table


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


def network_table(node: Any) -> Summary:
    """A network as a table: what was computed in which scope, its shape, its parameters, how large its gradients are.

    A product and the bias added to it are one row. Each Variable is counted once, at its first use. Gradients are shown
    after ``backward()``.

    >>> import autoflow as af
    >>> import numpy as np
    >>> W, b = af.Variable(np.ones((3, 2)), name="W"), af.Variable(np.zeros(2), name="b")
    >>> loss = np.sum(np.tanh(np.ones((5, 3)) @ W + b))
    >>> loss.backward()
    >>> print(network_table(loss))
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


# ---------------------------------------------------------------- what a graph keeps


class MemoryLine(NamedTuple):
    """What the operations of one line keep: where, their expression, the rows that asked for it, bytes."""

    line: str
    text: str
    rows: str
    kept: int


@dataclass(frozen=True)
class Memory:
    """What a graph keeps alive. ``print`` shows it.

    lines : of each line of the program, the most bytes first. kept : all bytes. peak : the most that a backward pass
    holds at once, gradients included. boxes : function or block -> what it keeps. savings : the same -> what
    ``af.checkpoint`` of it would save.
    """

    lines: tuple[MemoryLine, ...]
    kept: int
    peak: int
    boxes: dict[str, int]
    savings: dict[str, int]
    picture: Callable[..., Graph] = field(repr=False, compare=False)

    def graph(self, **options: object) -> Graph:
        """The picture, each card with the bytes that it keeps, and below it what is known of the whole. ``options`` are
        those of ``node.graph()``; the picture's ``table(memory=True)`` has the bytes as a column."""
        drawn = self.picture(**options)
        weighed = drawn.weighed().nodes if drawn.weighed else ()
        nodes = [replace(v, notes=(*v.notes, f"{v.kept:,} bytes kept")) if v.kept else v for v in weighed]
        return replace(drawn, nodes=tuple(nodes), notes=(*drawn.notes, *self.sums()))

    def sums(self) -> list[str]:
        """What is known of the whole."""
        total = f"{self.kept:,} bytes kept; a backward pass holds at most {self.peak:,}"
        boxes = [f"{k} keeps {self.boxes[k]:,}; a checkpoint of {k} saves {v:,}" for k, v in self.savings.items()]
        return [total, *boxes]

    def __str__(self) -> str:
        rows = [(f"{x.kept:,}", x.rows, f"{x.line}: {x.text}" if x.line else x.text) for x in self.lines]
        return "\n".join([*aligned([("kept", "asked for by", "line"), *rows], right={0}), *self.sums()])

    __repr__ = __str__


def memory_of_graph(node: Node) -> Memory:
    """What the graph of ``node`` keeps for a backward pass: ``loss.summary(memory=True)``.

    Arrays of Variables and Constants, and data that the program holds, are not counted: they are there without the
    graph. An array that several operations keep is counted where it is kept first. Raises LostGradientError if ``node``
    has no history.

    >>> import numpy as np
    >>> import autoflow as af
    >>> x = af.Variable(np.ones(10_000), name="x")
    >>> memory = memory_of_graph(np.sum(np.exp(x * 2.0)))
    >>> memory.kept, memory.lines[0].rows
    (80008, 'exp, sum')
    """
    start = gradient_target(node)
    if not isinstance(start, Record):
        raise lost(f"{node.name} keeps nothing", explain(node) or "it is a leaf. Ask a result for its summary")
    order = topological(start)
    records = sorted([r for r in order if isinstance(r, Record)], key=lambda r: r.number)
    sizes = Counter(kept_bytes(order))
    program = Naming(order)
    lines = grouped([((x.file, x.line) if (x := program.place(r)) else None, r) for r in records if sizes[id(r)]])
    several = len({key[0] for key in lines if key}) > 1
    rows = [line_of(group, program, sizes, several) for group in lines.values()]
    total = sum(sizes.values())
    boxes = sorted(saved_by_boxes(program, records, sizes), key=lambda box: -box[2])[:3]
    return Memory(
        tuple(sorted(rows, key=lambda x: -x.kept)), total, total + most_gradients(order),
        {name: room for name, room, _ in boxes}, {name: saved for name, _, saved in boxes}, partial(graph, node),
    )  # fmt: skip


def line_of(group: list[Record], program: Naming, kept: Counter[int], several: bool) -> MemoryLine:
    """The row of one line of the program, with the longest expression there; with its file if there are several."""
    places = [place for r in group if (place := program.place(r)) is not None]
    rows = ", ".join(dict.fromkeys([r.rule.name for r in group]))
    text = max([place.text for place in places], key=len) if places else group[0].node_name
    line = "" if not places else places[0].where if several else f"line {places[0].line}"
    return MemoryLine(line, text, rows, sum([kept[id(r)] for r in group]))


def most_gradients(order: list[Any]) -> int:
    """The most bytes of gradients that wait at once in a pass through records in this order."""
    waiting = {id(order[0]): gradient_bytes(order[0])}
    most = now = waiting[id(order[0])]
    for r in order:
        own = waiting[id(r)] if isinstance(r, Record) else 0
        new = {id(p): gradient_bytes(p) for p in r.parents if p is not None and id(p) not in waiting}
        waiting |= new
        now += sum(new.values())
        if own >= FROM * r.dtype.itemsize and r.rule.is_numpys_elementwise and own in new.values():
            now, own = now - own, 0  # one is written over what it comes from
        most = max(most, now)
        now -= own
    return most


def gradient_bytes(x: Holder) -> int:
    """The size of the gradient of a record or a Variable."""
    return int(math.prod(x.shape) * x.dtype.itemsize)


def saved_by_boxes(program: Naming, records: list[Record], kept: Counter[int]) -> Iterator[tuple[str, int, int]]:
    """For the calls and blocks of each title, the bytes that their operations keep, and those without the results, used
    outside."""
    boxes = Boxes(program, records)
    inside: dict[str, dict[Any, list[Record]]] = {}
    for r in records:
        around = [(title, key) for title, key in boxes.around(r) if key[0] not in ("loop", "turn")]
        for title, key in dict(reversed(around)).items():  # of calls in calls of the same title the outermost
            inside.setdefault(title, {}).setdefault(key, []).append(r)
    for title, calls in inside.items():
        if saved := sum([kept[id(r)] for group in calls.values() for r in group[:-1]]):
            yield title, saved + sum([kept[id(group[-1])] for group in calls.values()]), saved
