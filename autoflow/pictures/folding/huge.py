"""Graphs that are too large to read every number: a folded picture, made directly from the records.

Only the cards that are drawn are turned into data. Gradients would need a whole backward pass, so the picture shows
only those in the ``.grad`` of Variables, one by one or as the size of all those in a folded box.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...nodes.nodes import value_of
from ..model.data import FEW, ROWS, GraphData, Look, Operand, Vertex
from ..model.names import word
from ..model.numbers import numbers
from ..model.style import clean, clip
from .choose import choose, untangle
from .skeleton import Skeleton
from .views import Contraction, add_sections, check_open, sentence

if TYPE_CHECKING:
    from ..model.gathering import Walk


def fold_huge_graph(walk: Walk, depth: int | None, opened: Sequence[str], few: int = FEW) -> GraphData | None:
    """The picture of a large graph in at most FEW cards; None if it has no parts that could be folded."""
    records = sorted(walk.everything, key=lambda r: int(r.number))
    skeleton, number = skeleton_of(walk, records)
    if opened:
        check_open(skeleton, opened)
    closed = choose(skeleton, depth, opened, [False] * len(records), few=few)
    if closed or any(skeleton.paths):
        untangle(skeleton)
    if depth is None:
        closed = add_sections(skeleton, closed, few, opened)
    cards = skeleton.visible(closed)
    if len(set(cards)) > (FEW if not opened and depth is None else len(walk.order)):
        return None
    maker = Maker(walk, records, number, set(skeleton.outputs))
    contraction = Contraction(skeleton, cards, set(cards), functools.cache(maker.vertex), gathered=False)
    nodes = contraction.nodes()
    some = any([v.gradient for v in nodes])
    word = "those that .grad holds" if some else "after backward() those of Variables"
    note = f"gradients of a graph this large: {word}; around= shows all of a part"
    return GraphData(
        tuple(nodes), tuple([v.id for v in nodes if v.output]), walk.title(), some,
        (*sentence(len(records), contraction), note), Look("values", "right", True, "auto", "built-in", 4),
        tuple(contraction.frames()), view=True,
    )  # fmt: skip


def skeleton_of(walk: Walk, records: Sequence[Any]) -> tuple[Skeleton, dict[int, int]]:
    """The skeleton of the graph, and the number of each record in it."""
    number = {id(r): k for k, r in enumerate(records)}
    sources = [[number[id(p)] for p in r.parents if p is not None] for r in records]
    words = [r.rule.name if r.parents else "" for r in records]
    paths: list[tuple[int, ...]] = []
    names: dict[int, str] = {}
    for r in records:
        entered = r.entered if r.parents else ()
        paths.append(tuple([box for _, box in entered]))
        for name, box in entered if entered else ():
            if box not in names:
                names[box] = clip(clean(name), 60)
    outputs = [number[id(r)] for r in walk.records]
    return Skeleton(sources, paths, names, words, [not r.parents for r in records], outputs), number  # type: ignore[arg-type]


class Maker:
    """Makes the few nodes that are drawn."""

    def __init__(self, walk: Walk, records: Sequence[Any], number: dict[int, int], outputs: set[int]) -> None:
        self.walk, self.records, self.number, self.outputs = walk, records, number, outputs

    def vertex(self, k: int) -> Vertex:
        """The k-th record as a node."""
        r, titles = self.records[k], self.walk.titles
        inner = bool(r.parents)
        if inner:
            titles.add(r)
        rows, operands = [], r.operands if inner else ()
        for slot, (x, parent) in enumerate(zip(operands[:ROWS], r.parents, strict=False)):
            source = None if parent is None else self.number[id(parent)]
            rows.append(Operand(slot, titles.of(x), source, parent is not None))
        return Vertex(
            k, "Operation" if inner else "Variable", titles.of(r), clip(clean(r.node_name if inner else r.name), 200),
            word(r) if inner else "Variable", numbers(r.value, r.shape, r.dtype), operands=tuple(rows),
            more_operands=max(0, len(operands) - ROWS), output=k in self.outputs,
            gradient=None if inner or r.grad is None else numbers(value_of(r.grad)),
        )  # fmt: skip
