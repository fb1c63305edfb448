"""The recorded graph as a person would write it: without products with 1, with several results on one card, and with
one card for ``f[1:] -= v``, which is recorded as the part that is read, the difference, and the write.

``1*cos(x)``, which a backward pass computes, is drawn as ``cos(x)``. A function with several results is one card with
a row for each result, where the arrows leave. The recorded nodes remain in ``graph.nodes``, and in JSON.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Generic

import numpy as np

from ...base.groups import grouped
from ..model.data import Numbers, Operand, Picture, Several, Vertex, numbers
from .repeats import renumber_graph


def tidy(graph: Picture) -> Picture:
    """The same graph as a person would write it. Computed once, and kept with the graph."""
    if graph.view or not (graph.several or any([v.equals is not None or v.write for v in graph.nodes])):
        return graph
    if "tidy" not in graph.__dict__:
        graph.__dict__["tidy"] = Tidy(graph).done()
    return graph.__dict__["tidy"]


class Tidy(Generic[Picture]):
    """The nodes while they are joined, by their ids."""

    def __init__(self, graph: Picture) -> None:
        self.graph = graph
        self.nodes = {v.id: v for v in graph.nodes}
        self.moved: dict[int, tuple[int, int | None]] = {}  # a node that disappears -> what is drawn, which result
        self.splits: set[int] = set()  # first parts, which become the card of all parts

    def done(self) -> Picture:
        """The graph that results."""
        self.drop_ones()
        self.uses = Counter([r.source for v in self.nodes.values() for r in v.operands])
        for v in self.graph.nodes:
            if "−=" in v.write or "+=" in v.write:
                self.join_write(v)
        for several in self.graph.several:
            self.join(several)
        left = [v for k, v in sorted(self.nodes.items()) if k not in self.moved]
        outputs = tuple(dict.fromkeys([self.goal(k)[0] for k in self.graph.outputs]))
        nodes = [replace(v, operands=tuple(map(self.row, v.operands)), members=self.members(v.id)) for v in left]
        return renumber_graph(replace(self.graph, outputs=outputs, several=()), nodes)

    def goal(self, k: int) -> tuple[int, int | None]:
        """The node that represents node k, and which of its results."""
        result = None
        while k in self.moved:
            k, index = self.moved[k]
            result = index if index is not None else result
        return k, 0 if result is None and k in self.splits else result

    def row(self, r: Operand) -> Operand:
        """A row whose operand may be represented by another node now."""
        source, result = (None, None) if r.source is None else self.goal(r.source)
        if source is None or (source, result) == (r.source, None):
            return r
        title = r.title if result is None else self.nodes[source].results[result].title
        return replace(r, source=source, result=result, title=title)

    def move(self, ids: Iterable[int], goal: int, result: int | None = None) -> None:
        """Let these nodes be represented by another one."""
        gone = [k for k in ids if k != goal]
        self.moved.update(dict.fromkeys(gone, (goal, result)))
        more = [m for k in gone for m in self.members(k)]
        self.nodes[goal] = replace(self.nodes[goal], members=(*self.members(goal), *more))

    def members(self, k: int) -> tuple[int, ...]:
        """The recorded nodes that node k represents so far, itself first."""
        return self.nodes[k].members or (k,)

    # -------------------------------------------------------------- products with 1

    def drop_ones(self) -> None:
        """Let a product of 1 and another node be that node."""
        uses = Counter([r.source for v in self.graph.nodes for r in v.operands])
        for v in self.graph.nodes:
            if v.equals is None or v.output:
                continue
            goal = self.goal(v.equals)[0]
            ones = [r.source for r in v.operands if r.source not in (None, v.equals) and uses[r.source] == 1]
            self.move([v.id, *ones], goal)
            of_parts = self.nodes[goal].of_parts
            if uses[v.id] > 1 and of_parts:
                self.nodes[goal] = replace(self.nodes[goal], parts=(), of_parts=of_parts + uses[v.id] - 1)

    # -------------------------------------------------------------- writes

    def join_write(self, v: Vertex) -> None:
        """Let the write of a sum or a difference be one card: the old values receive the gradient unchanged."""
        base, value = v.operands
        w = self.nodes.get(-1 if value.source is None else value.source, v)
        q = self.nodes.get(w.operands[0].source or 0, v) if w.word in ("add", "subtract") else v
        if not q.word.startswith("getitem") or q.operands[0].source != base.source or base.source is None:
            return
        if any([x.named or x.output or self.uses[x.id] > 1 or x.entered != v.entered for x in (w, q)]):
            return
        other, place = w.operands[1], value.rule.partition(",")[0]
        if q.operands[0].flows and base.flows:
            origin = self.nodes[self.goal(base.source)[0]]
            self.nodes[origin.id] = replace(origin, of_parts=origin.of_parts - 1, parts=())
        base = replace(base, sent=v.gradient, rule="g" if base.rule else "")
        other = replace(other, rule=other.rule.replace("g", place, 1) if place else "", note="")
        self.nodes[v.id] = replace(v, operands=(base, other))
        self.move([w.id, q.id], v.id)

    # -------------------------------------------------------------- several results

    def join(self, s: Several) -> None:
        """Let a function and its results be one card."""
        parts = [self.nodes[k] for k in s.results]
        first = self.nodes[s.results[0] if s.call is None else s.call]
        if any([v.entered != first.entered or v.id in self.moved for v in (*parts, first)]):
            return
        if s.word == "unstack":  # not x[2], if another axis was moved to the front
            parts = [v if v.named else replace(v, title=f"{s.title}[{k}]") for k, v in enumerate(parts)]
        card = replace(
            first, title=s.title, word=s.word, named=False, results=tuple(parts), parts=(), notes=(),
            of_parts=sum([v.of_parts for v in parts]), output=any([v.output for v in (*parts, first)]),
            value=Numbers((len(parts),), first.value.dtype),
        )  # fmt: skip
        if s.call is None and s.source is not None:
            card = replace(card, operands=(self.whole_row(s.source, parts, s.inside),))
        self.nodes[first.id] = card
        for place, v in enumerate(parts):
            self.move([v.id], first.id, place)
        self.splits |= {first.id} if s.call is None else set()
        self.move(s.inside, first.id)

    def whole_row(self, source: int, parts: Sequence[Vertex], inside: Sequence[int]) -> Operand:
        """The row of the operand that was split. Each part sends back zeros except at its own place, so together they
        are the gradient."""
        goal, result = self.goal(source)
        origin, fewer = self.nodes[goal], len(parts) - 1
        carried = origin.carried(result)
        sent = [r.sent for v in parts for r in v.operands if r.sent is not None]
        total = self.nodes[inside[0]].gradient if inside else disjoint_sum(sent)
        if not inside and carried.of_parts > fewer:
            lessened = replace(carried, of_parts=carried.of_parts - fewer, parts=())
            results = tuple([lessened if v is carried else v for v in origin.results])
            self.nodes[goal] = replace(origin, of_parts=origin.of_parts - fewer, parts=(), results=results)
        flows = any([r.flows for v in parts for r in v.operands])
        return Operand(0, self.nodes[source].title, source, flows, None, total if flows else None)


def inline_constants(graph: Picture) -> Picture:
    """The same graph without cards for Constants that only one row uses: the row gives their names. Saves room."""
    users = grouped([(edge.source, edge.target) for edge in graph.edges])
    gone = {v.id: users[v.id][0] for v in graph.nodes
            if v.kind == "Constant" and not v.output and len(users.get(v.id, ())) == 1}  # fmt: skip
    if not gone:
        return graph
    more = grouped([(user, member) for k, user in gone.items() for member in graph.nodes[k].members or (k,)])
    left = []
    for v in graph.nodes:
        if v.id not in gone:
            rows = [replace(r, source=None) if r.source in gone else r for r in v.operands]
            members = (*(v.members or (v.id,)), *more.get(v.id, ()))
            left.append(replace(v, operands=tuple(rows), members=members))
    return renumber_graph(graph, left)


def disjoint_sum(parts: Sequence[Numbers]) -> Numbers | None:
    """The sum of arrays of one shape, where at most one is nonzero at each place.

    >>> from autoflow.pictures.model.data import numbers
    >>> import numpy as np
    >>> disjoint_sum([numbers(np.array([1.0, 0.0])), numbers(np.array([0.0, 2.0]))]).elements
    (1.0, 2.0)
    """
    if not parts or any([p.rms is None or p.mean is None for p in parts]):
        return None
    if (small := sum_of(parts)) is not None:
        return small
    mean, square = sum([p.mean for p in parts if p.mean is not None]), math.fsum([(p.rms or 0.0) ** 2 for p in parts])
    return replace(
        parts[0], mean=mean, rms=math.sqrt(square), sd=math.sqrt(max(0.0, square - abs(mean) ** 2)),
        nans=sum([p.nans for p in parts]), infinite=sum([p.infinite for p in parts]),
    )  # fmt: skip


def sum_of(sent: Sequence[Numbers | None]) -> Numbers | None:
    """The sum of small arrays of one kind; None for others."""
    if len({x and (x.shape, x.dtype, bool(x.elements)) for x in sent}) > 1 or not (sent[0] and sent[0].elements):
        return None
    with np.errstate(all="ignore"):
        total = np.sum([np.array(x.elements) for x in sent if x is not None], axis=0).astype(sent[0].dtype)
    return numbers(total.reshape(sent[0].shape))
