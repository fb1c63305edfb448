"""The cards of the graph: what each shows, how large it is, and its place on a wide and on a narrow page.

The picture itself is drawn by the page, which changes its numbers and images at every step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..pictures.model.data import GraphData, Vertex
from ..pictures.model.names import is_cut
from ..pictures.model.style import clip, width
from ..pictures.render.cards import Card, CardLine
from ..pictures.render.placing import place
from ..pictures.walk import graph
from .study import Study

HEAD, FOOT, PAD = 25.0, 21.0, 9.0
TITLE = 13 / 16  # the size of a title here, as a part of that in other pictures
MAP, STRIP, CELL, FINE = 54.0, 13.0, 13.0, 6.0  # images: matrices, single rows, a cell; finer cells are stretched
WIDE, NARROW = 168.0, 126.0  # of a card with two images
LONGEST = 17  # letters of a title
MOST, TILES = 12, 290.0  # images on a card, and its width then
ROWS = 1.2  # rows are arranged for a page of 1500 pixels, and ours has 1250
MARGIN = 12.0
TURN = 24.0  # what an arrow needs at the end of a row


@dataclass(frozen=True)
class Face(Card):
    """A card for the layout, to which only its size matters."""

    lines: tuple[CardLine, ...] = ()
    alarm: bool = False
    width: float = 0.0
    height: float = 0.0

    def row(self, slot: int) -> int:
        """Operands have no rows: arrows are spread along the edge."""
        return 0


def draw(study: Study) -> GraphData:
    """The graph of the loss, under the names of the user's source."""
    return graph(study.root, "arrays", direction="rows", gradients=True, merge=False, fold=False)


Cards = list[dict[str, Any]]


def describe(study: Study, picture: GraphData) -> tuple[Cards, list[tuple[int, int]], dict[str, Any]]:
    """The cards, the other operands that the page has to compute (operation, slot), and the two layouts."""
    picture = replace(picture, nodes=tuple([replace(v, entered=(), scope=()) for v in picture.nodes]))  # without boxes
    operations = [v for v in picture.nodes if v.kind == "Operation"]
    number = {v.id: k for k, v in enumerate(operations)}
    n, m = len(study.params), len(operations)
    maps = study.maps()
    cards: Cards = []
    edges: list[tuple[int, int]] = []
    for v in picture.nodes:
        name = v.name if v.kind == "Variable" or v.name in study.moving else v.title
        title = v.word.partition(",")[0].partition(" ")[0] if is_cut(name) else clip(name, LONGEST)
        card: dict[str, Any] = {
            "kind": v.kind, "title": title, "name": name, "word": v.word, "shape": v.value.shape,
            "grad": None, "map": None,
        }  # fmt: skip
        if v.kind == "Variable":
            k = [*study.params].index(v.name)
            card |= {"input": k, "grad": 1 + m + k, "tiles": tiles(study, v.value.shape)}
        elif v.kind == "Operation":
            k = number[v.id]
            card |= {"output": 1 + k, "grad": 1 + m + n + k, "map": k if k in maps else None}
            card |= {"sends": sends(picture, v, study.records[k]), "place": study.place(study.records[k])}
        elif v.name in study.moving:
            card |= {"input": n + study.moving.index(v.name)}
        else:  # whole numbers, or computed from data alone: no node, but an operand of an operation
            user, row = next((o, r) for o in operations for r in o.operands if r.source == v.id)
            card |= {"output": 1 + m + n + m + len(edges)}
            edges.append((number[user.id], row.slot))
        cards.append(card)
    layouts = {
        name: lay_out(picture, [face(v, c, wide) for v, c in zip(picture.nodes, cards, strict=True)], direction, scale)
        for name, direction, wide, scale in (("wide", "rows", WIDE, ROWS), ("narrow", "down", NARROW, 1.0))
    }
    return cards, edges, layouts


def tiles(study: Study, shape: tuple[int, ...]) -> int | None:
    """The side of the images in a matrix's columns, if the data are such images."""
    pixels = int(np.shape(study.grid)[-1]) if study.kind == "images" else 0
    return round(pixels**0.5) if pixels and len(shape) == 2 and shape[0] == pixels and shape[1] <= MOST else None


def sends(picture: GraphData, v: Vertex, record: Any) -> list[dict[str, Any]]:
    """What an operation sends back to each operand: the operand's name, the rule in letters, and its card. ``alone``:
    this is the whole gradient of the operand, each entry a product with one entry of the result's."""
    uses: Counter[int | None] = Counter([e.source for e in picture.edges])
    return [
        {"to": o.title, "rule": picture.rule(v, o), "card": o.source, "flows": o.flows,
         "alone": record.rule.elementwise and uses[o.source] == 1}
        for o in v.operands
    ]  # fmt: skip


def face(v: Vertex, card: dict[str, Any], wide: float) -> Face:
    """The size of a card, and its images."""
    shape = v.value.shape
    title = width(card["title"], "title") * TITLE + 2 * PAD
    if not shape:
        return Face(v, width=max(title + 66, 124.0), height=HEAD + (FOOT + 2 if v.gradient else 4))
    high = MAP if card["map"] is not None or card.get("tiles") else image_height(v.value.size // shape[-1], shape[-1])
    card["high"] = high
    head = title + width(v.value.shape_text(), "shape") * 11 / 12 + 12
    wide = TILES if card.get("tiles") else wide if v.gradient else 104.0
    return Face(v, width=max(head, wide), height=HEAD + high + 8 + FOOT)


def image_height(rows: int, columns: int) -> float:
    """How high the page draws a matrix: long ones lie down, cells are square unless they are small."""
    if rows > 3 * columns:
        rows, columns = columns, rows
    cell = min(NARROW / 2 / columns, MAP / rows, CELL)
    return max(STRIP, min(MAP, (max(cell, min(9.0, MAP / rows)) if cell < FINE else cell) * rows))


def lay_out(picture: GraphData, faces: list[Face], direction: str, scale: float) -> dict[str, Any]:
    """Corners of the cards, and the points of the arrows."""
    turned = replace(picture, look=replace(picture.look, direction=direction))
    down = direction == "down"
    large = [replace(f, width=f.width * scale, height=f.height * scale) for f in faces]
    widths = [f.width for f in large]
    plan, _ = place(turned, large, widths)

    def point(p: tuple[float, float]) -> list[float]:
        x, y = reversed(p) if down else p
        return [round(x / scale + MARGIN, 1), round(y / scale + MARGIN, 1)]

    boxes = [[*point(c), round(w / scale, 1), f.height] for c, w, f in zip(plan.corners, widths, faces, strict=True)]
    edges = [
        [e.source, e.target, int(e.flows), int(k in plan.stubs), *[x for p in path for x in point(p)]]
        for k, (e, path) in enumerate(zip(picture.edges, plan.paths, strict=True))
    ]
    size = [max([b[a] + b[a + 2] for b in boxes]) + MARGIN for a in (0, 1)]
    far = [max([x for e in edges for x in e[4 + a :: 2]], default=0) + MARGIN for a in (0, 1)]
    turn = 0.0 if down else TURN
    return {"size": [max(size[0], far[0] + turn), max(size[1], far[1])], "boxes": boxes, "edges": edges, "down": down}
