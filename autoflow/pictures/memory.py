"""The memory lens: which lines of a program keep how many bytes for the way back, and what a checkpoint would save."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
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
from .model.gathering import kept_bytes
from .summaries import Summary, summary as network_table
from .walk import Graph, graph


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


def summary(node: Node, *, memory: bool = False) -> Memory | Summary:
    """``loss.summary()``: a network as a table, or what its graph keeps."""
    return memory_of_graph(node) if memory else network_table(node)


def memory_of_graph(node: Node) -> Memory:
    """What the graph of ``node`` keeps for a backward pass: ``loss.summary(memory=True)``.

    Arrays of Variables and Constants, and data that the program holds, are not counted: they are there without the
    graph. An array that several operations keep is counted where it is kept first. Raises LostGradientError if ``node``
    has no history.

    >>> import numpy as np
    >>> import autoflow as af
    >>> x = af.Variable(np.ones(10_000), name="x")
    >>> found = memory_of_graph(np.sum(np.exp(x * 2.0)))
    >>> found.kept, found.lines[0].rows
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
    found = [line_of(group, program, sizes, several) for group in lines.values()]
    total = sum(sizes.values())
    boxes = sorted(saved_by_boxes(program, records, sizes), key=lambda box: -box[2])[:3]
    return Memory(
        tuple(sorted(found, key=lambda x: -x.kept)), total, total + most_gradients(order),
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
