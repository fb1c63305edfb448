"""Chains of + or of * as one card: ``x + y + z`` is drawn as one, though Python computes it in two steps.

Only inner results that have no name and are used once disappear, so no information is lost: local derivatives of the
chain are products of those of its steps, and each operand receives the same gradient. The recorded nodes remain in
``graph.nodes``, in the tree and in JSON.
"""

from __future__ import annotations

from dataclasses import replace

from ..model.data import Operand, Picture, Vertex
from ..model.numbers import Numbers, numbers

CHAINS = ("add", "multiply")
ROWS = 12  # operands of one card


def merge_chains(graph: Picture) -> Picture:
    """The same graph with one card per chain."""
    uses = [0] * len(graph.nodes)
    for edge in graph.edges:
        uses[edge.source] += 1
    cards: dict[int, Vertex] = {}  # by the number of the chain's last node
    gone: set[int] = set()
    for node in sorted(graph.nodes, key=lambda v: v.id):
        card = replace(node, members=node.members or (node.id,))
        for row in node.operands if node.word in CHAINS else ():
            inner = cards.get(row.source) if row.source is not None else None
            if inner is None or uses[inner.id] != 1 or not joins(inner, node):
                continue
            if len(card.operands) + len(inner.operands) - 1 <= ROWS:
                card = join_cards(card, row, inner)
                gone.add(inner.id)
        cards[node.id] = card
    left = [cards[v.id] for v in graph.nodes if v.id not in gone]
    number = {v.id: k for k, v in enumerate(left)}
    return renumber_graph(graph, left, number)


def joins(inner: Vertex, outer: Vertex) -> bool:
    """May ``inner`` disappear in the card of ``outer``?"""
    return (
        inner.word == outer.word
        and not (inner.named or inner.output or inner.more_operands or inner.notes)
        and inner.entered == outer.entered
        and (inner.value.shape, inner.value.dtype) == (outer.value.shape, outer.value.dtype)
    )


def join_cards(card: Vertex, row: Operand, inner: Vertex) -> Vertex:
    """``card`` with the operands of ``inner`` in place of ``row``."""
    place = next(i for i, r in enumerate(card.operands) if r.source == row.source)
    middle = [
        replace(r, local=product(row.local, r.local), rule=r.rule if row.rule == "g" else "") for r in inner.operands
    ]
    operands = [*card.operands[:place], *middle, *card.operands[place + 1 :]]
    return replace(
        card,
        operands=tuple([replace(r, slot=slot) for slot, r in enumerate(operands)]),
        members=tuple(sorted((*inner.members, *card.members))),
    )


def product(a: Numbers | None, b: Numbers | None) -> Numbers | None:
    """The product of two local derivatives of numbers, by the chain rule."""
    if a is None or b is None or not a.elements or not b.elements:
        return None
    return replace(numbers(a.elements[0] * b.elements[0]), dtype=a.dtype)


def renumber_graph(graph: Picture, nodes: list[Vertex], number: dict[int, int]) -> Picture:
    """The graph of these nodes, with ids from 0; arrows from other nodes are dropped."""
    new = []
    for v in nodes:
        rows = [r if r.source is None else move_row(r, number.get(r.source)) for r in v.operands]
        new.append(replace(v, id=number[v.id], operands=tuple(rows)))
    return replace(
        graph, nodes=tuple(new), outputs=tuple([number[k] for k in graph.outputs if k in number]),
        faded=tuple([number[k] for k in graph.faded if k in number]),
    )  # fmt: skip


def move_row(row: Operand, source: int | None) -> Operand:
    """The row after its operand got another number, or was hidden."""
    return replace(row, source=source, note=row.note if source is not None else "hidden")
