"""From the recorded graph to what is drawn: chains merged, boxes folded.

``graph.nodes`` are the recorded nodes; ``drawn(graph)`` are the nodes that a renderer draws, data of the same kind.
Each of its nodes lists in ``members`` the recorded nodes that it represents.

For graphs that are too large to read every number, a folded picture is made directly from the records. Only the cards
that are drawn are turned into data. Gradients would need a whole backward pass, so the picture shows only those in the
``.grad`` of Variables, one by one or as the size of all those in a folded box.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...base.groups import grouped
from ...nodes.nodes import value_of
from ..model.data import FEW, Fold, Frame, GraphData, Look, Numbers, Operand, Picture, Vertex, counted, numbers
from ..model.gathering import Walk
from ..model.style import KINDS, clean, clip
from .choose import MANY, by_creation, choose, common, cut_sections, describe, nearest, open_boxes, pool_sizes, untangle
from .repeats import Path, Skeleton, merge_chains
from .results import inline_constants, sum_of, tidy

# ---------------------------------------------------------------- views: merged and folded

Card = tuple[bool, int]  # (True, a closed box) or (False, a node)


def visible_picture(graph: Picture) -> Picture:
    """The visible part of the graph: computed once, and kept with it."""
    if graph.view:
        return graph
    if "drawn" not in graph.__dict__:
        graph.__dict__["drawn"] = view(graph)
    return graph.__dict__["drawn"]


def counts(graph: GraphData) -> str:
    """``3 Variables · 8 Operations``."""
    graph = tidy(graph)
    number = Counter(node.kind for node in graph.nodes)
    text = [counted(number[k], k) for k in (*KINDS, "Scope") if number[k]]
    picture = visible_picture(graph)
    cards = len(picture.nodes) - sum([number[k] for k in ("Variable", "Constant")])
    merged = not graph.view and not number["Scope"] and 0 < cards < number["Operation"]
    if merged and not picture.frames and not any([v.fold for v in picture.nodes]):
        text.append(counted(cards, "card"))
    return " · ".join(text)


def alt_text(graph: GraphData) -> str:
    """One sentence for readers who cannot see the picture."""
    digits = graph.look.digits
    ends = [f"{x.title} = {x.value.text(digits)}" for n in tidy(graph).nodes for x in (n.results or (n,)) if x.output]
    return f"Computation graph of {', '.join(ends)}: {counts(graph)}."


def view(graph: Picture) -> Picture:
    """The graph as it is drawn."""
    whole = as_written(graph)
    skeleton, closed = boxes_of(graph)
    if graph.look.closed is not None:
        closed = set(graph.look.closed)
    cards = skeleton.visible(closed)
    visible = set(cards)
    if graph.look.fold and graph.look.depth is None and not graph.look.open and len(visible) > MANY:
        visible = nearest(skeleton, cards, FEW)
    contraction = Contraction(skeleton, cards, visible, lambda k: whole.nodes[k])
    nodes, frames = contraction.nodes(), contraction.frames()
    total = len(graph.nodes) + graph.hidden
    notes = sentence(total, contraction)
    before = [text for text in graph.notes if not (notes and text.startswith(f"{total:,} nodes; showing"))]
    faded = set(whole.faded)
    return replace(
        whole, nodes=tuple(nodes), frames=tuple(frames), outputs=tuple([v.id for v in nodes if v.output]), view=True,
        notes=(*notes, *before),
        faded=tuple([k for k, members in enumerate(contraction.members.values()) if faded.issuperset(members)]),
    )  # fmt: skip


def as_written(graph: Picture) -> Picture:
    """The graph as a person would write it, with one card per chain, and without small cards if room is needed."""
    if "written" not in graph.__dict__:
        whole = merge_chains(tidy(graph)) if graph.look.merge else tidy(graph)
        graph.__dict__["written"] = inline_constants(whole) if graph.look.compact else whole
    return graph.__dict__["written"]


def with_look(graph: Picture, **changes: Any) -> Picture:
    """The graph with another way to fold it; the rest is not computed again."""
    other = replace(graph, look=replace(graph.look, **changes))
    whole = replace(as_written(graph), look=other.look)
    if set(changes) == {"closed"}:
        other.__dict__["boxes"] = boxes_of(graph)
    other.__dict__["written"] = inline_constants(whole) if other.look.compact and not graph.look.compact else whole
    return other


def boxes_of(graph: GraphData) -> tuple[Skeleton, set[int]]:
    """The result of :func:`fold_boxes`, kept with the graph."""
    if "boxes" not in graph.__dict__:
        graph.__dict__["boxes"] = fold_boxes(as_written(graph))
    return graph.__dict__["boxes"]


def fold_boxes(whole: GraphData) -> tuple[Skeleton, set[int]]:
    """The skeleton, and the boxes that are folded at first."""
    skeleton, look = skeleton_of(whole), whole.look
    if len(skeleton.paths) <= min(look.alike, look.few) and not any(skeleton.paths) and not look.open:
        return skeleton, set()  # most pictures are small
    return skeleton, fold_skeleton(skeleton, look, [v.kind == "Constant" and v.named for v in whole.nodes])


def fold_skeleton(skeleton: Skeleton, look: Look, outside: Sequence[bool]) -> set[int]:
    """The folded boxes, with sections of parts that are still too large. ``outside``: which nodes are in no box."""
    before = skeleton.paths if look.open else []
    closed = choose(skeleton, look, outside)
    untangle(skeleton)
    if look.fold and look.depth is None:
        closed |= cut_sections(skeleton, closed, look.few, open_boxes(skeleton, look.open))
    closed -= open_boxes(skeleton, look.open)
    plain = [tuple([box for box in path if box not in skeleton.repeats]) for path in skeleton.paths]
    check_open(skeleton, look.open, [*before, *skeleton.paths, *plain])
    return closed


def skeleton_of(graph: GraphData) -> Skeleton:
    """The skeleton of the graph."""
    names = {box: name for v in graph.nodes for box, name in zip(v.entered, v.scope, strict=True)}
    return Skeleton(
        [tuple([r.source for r in v.operands if r.source is not None]) for v in graph.nodes],
        [v.entered for v in graph.nodes], names, [v.word if v.operands else "" for v in graph.nodes],
        [v.kind == "Variable" for v in graph.nodes], graph.outputs, lambda k: graph.nodes[k].title,
        told=graph.told, objects=graph.objects, places=[v.place for v in graph.nodes],
        shapes=[v.value.shape for v in graph.nodes],
    )  # fmt: skip


def check_open(skeleton: Skeleton, names: Sequence[str], around: Iterable[Path]) -> None:
    """Raise ValueError for a name that no box has; ``around``: the boxes around each node."""
    paths = {tuple([skeleton.names[box] for box in path]) for path in (set(around) if names else ())}
    scopes = {name for path in paths for n in range(1, len(path) + 1) for name in ("/".join(path[:n]), path[n - 1])}
    for name in names:
        if name not in scopes:
            some = ", ".join([repr(clip(word, 30)) for word in sorted(scopes)[:12]]) or "none: see af.scope"
            raise ValueError(f"there is no scope {clip(repr(name), 40)} in this graph; there are {some}")


class Contraction:
    """One node per card. Folded boxes get their counts, and one arrow from each of their sources.

    ``gathered``: do all nodes exist already? Otherwise ``vertex`` makes one on demand, which is slow.
    """

    def __init__(
        self, skeleton: Skeleton, cards: Sequence[Card], shown: set[Card], vertex: Callable[[int], Vertex],
        gathered: bool = True,
    ) -> None:  # fmt: skip
        self.skeleton, self.vertex, self.cards, self.gathered = skeleton, vertex, cards, gathered
        self.members = grouped([(card, k) for k, card in enumerate(cards) if card in shown])
        self.members = {card: self.members[card] for card in self.in_order()}
        self.number = {card: k for k, card in enumerate(self.members)}
        self.hidden = len(set(cards)) - len(self.members)
        leaving = [a for k, sources in enumerate(skeleton.sources) for a in sources if cards[a] != cards[k]]
        exits = grouped([(cards[k], k) for k in dict.fromkeys([*leaving, *skeleton.outputs])])
        self.exits = {card: exits.get(card, []) for card in self.members if card[0]}

    def in_order(self) -> list[Card]:
        """The cards in the order of their first nodes, but none before those that it uses."""
        cards = list(self.members)
        place = {card: k for k, card in enumerate(cards)}
        uses = [dict.fromkeys([place[self.cards[a]] for k in members for a in self.skeleton.sources[k]
                               if self.cards[a] in place and self.cards[a] != card])
                for card, members in self.members.items()]  # fmt: skip
        if all([a < k for k, used in enumerate(uses) for a in used]):
            return cards
        order = by_creation([[k] for k in range(len(cards))], [list(used) for used in uses])
        return [cards[k] for k in order] if len(order) == len(cards) else cards

    def around(self, card: Card) -> tuple[int, ...]:
        """The open boxes around a card."""
        path = self.skeleton.paths[self.members[card][0]]
        return path[: path.index(card[1])] if card[0] else path

    def nodes(self) -> list[Vertex]:
        """All cards as nodes."""
        return [self.folded(card) if card[0] else self.plain(card) for card in self.members]

    def plain(self, card: Card) -> Vertex:
        """A node that represents itself."""
        v = self.vertex(card[1])
        path = self.around(card)
        rows = [r if r.source is None else self.row(r, r.slot, self.cards[r.source]) for r in v.operands]
        if path:
            objects = [name for box in path if (name := self.skeleton.objects.get(box))]
            rows = [replace(r, title=within(r.title, objects)) for r in rows]
            v = replace(v, title=within(v.title, objects))
        return replace(
            v, id=self.number[card], operands=tuple(rows), members=v.members or (v.id,),
            entered=path, scope=tuple([self.skeleton.names[box] for box in path]),
        )  # fmt: skip

    def row(self, r: Operand, slot: int, source: Card) -> Operand:
        """An operand, which may come out of a folded box, or be hidden."""
        if source not in self.number:
            return replace(r, slot=slot, source=None, note="hidden")
        title = self.title(source[1]) if source[0] and len(self.exits[source]) == 1 else r.title
        result = None if source[0] else r.result
        return replace(r, slot=slot, source=self.number[source], title=title, result=result)

    def title(self, box: int) -> str:
        """The name of a box, and how often it is repeated."""
        repeat = self.skeleton.repeats.get(box)
        if repeat is None:
            return clip(self.skeleton.label(box), 32)
        return repeat.text() if repeat.between else f"{clip(self.skeleton.names[box], 32)} {repeat.text()}"

    def folded(self, card: Card) -> Vertex:
        """A closed box as one node."""
        exits = self.exits[card]
        only = self.vertex(exits[0]) if len(exits) == 1 else None
        fold = self.fold(self.members[card], card[1])
        inside = [self.vertex(k) for k in self.members[card] if self.skeleton.variables[k]]
        rms = pool_sizes([(v.value.size, v.gradient.rms) for v in inside if v.gradient is not None])
        gradient = None if rms is None else Numbers((fold.parameters,), "float64", True, rms=rms, mean=0.0)
        path = self.around(card)
        repeat = self.skeleton.repeats.get(card[1])
        between = repeat is not None and repeat.between is not None
        fold = replace(fold, exits=len(exits), box=card[1], sequence=between, told=self.told(card))
        inside = [self.vertex(k) for k in self.members[card]] if self.gathered else []
        members = [m for v in inside for m in (v.members or (v.id,))]
        return Vertex(
            self.number[card], "Scope", self.title(card[1]), self.skeleton.names[card[1]], fold.what,
            only.value if only else Numbers((), "float64"), gradient or (only.gradient if only else None),
            operands=tuple(self.arrows(card)), output=any([k in self.skeleton.outputs for k in exits]),
            entered=path, scope=tuple([self.skeleton.names[box] for box in path]), fold=fold,
            members=tuple(members),
            turns=common(*[v.turns for v in inside if v.operands]),
        )  # fmt: skip

    def told(self, card: Card) -> tuple[str, ...]:
        """For equal parts: which they are, whether they share their Variables, and what is between them."""
        repeat, between = self.skeleton.repeats.get(card[1]), self.put_into(self.members[card], card[1])
        if repeat is None:
            return ()
        parts: dict[Path, set[int]] = {}
        for k in self.members[card] if self.gathered else ():
            path, used = self.skeleton.paths[k], [a for a in self.skeleton.sources[k] if self.skeleton.variables[a]]
            if self.skeleton.words[k] and k not in between:
                parts.setdefault(path[: path.index(card[1]) + 2], set()).update(used)
        words = repeat.words([*parts.values()], lambda a: self.vertex(a).title)
        return (*words, f"and {counted(len(between), 'operation')} between them") if between else tuple(words)

    def put_into(self, members: Sequence[int], box: int) -> set[int]:
        """The operations among the nodes in a box that ``untangle`` has put there."""
        return {k for k in members if (box, k) in self.skeleton.put and self.skeleton.words[k]}

    def fold(self, members: Sequence[int], box: int) -> Fold:
        """The counts of a box."""
        sizes = [self.vertex(k).value.size for k in members if self.skeleton.variables[k]]
        operations = [word for word in [self.skeleton.words[k] for k in members] if word]
        others = 0 if box in self.skeleton.repeats else len(self.put_into(members, box))
        outside = f"{counted(others, 'operation')} from outside" if others else ""
        what = " · ".join([text for text in (self.skeleton.told.get(box), outside, describe(operations)) if text])
        return Fold(what, len(sizes), len(operations), sum(sizes))

    def arrows(self, card: Card) -> list[Operand]:
        """One row per source of a folded box, of a function with several results per result."""
        rows: list[Operand] = []
        for (source, _), alike in grouped(self.links(card)).items():
            flows, row = any([r.flows for r in alike]), self.row(alike[0], len(rows), source)
            row = replace(row, note="", local=None, rule="", flows=flows)
            rows.append(self.total(row, source, [r.sent for r in alike if r.flows]))
        return rows

    def links(self, card: Card) -> Iterator[tuple[tuple[Card, int | None], Operand]]:
        """The cards, and which results, that the nodes in a box use, each with its row; with a bare one where that is
        not known."""
        for k in self.members[card]:
            linked = [r for r in self.vertex(k).operands if r.source is not None] if self.gathered else []
            for place, a in enumerate(self.skeleton.sources[k]):
                source, flows = self.cards[a], bool(self.skeleton.words[a]) or self.skeleton.variables[a]
                if source != card and source in self.number:
                    r = linked[place] if place < len(linked) else Operand(0, "", a, flows)
                    yield (source, None if source[0] else r.result), r

    def total(self, r: Operand, source: Card, sent: Sequence[Numbers | None]) -> Operand:
        """The row of a folded box whose nodes send ``sent`` to one source: their sum, if it is known."""
        if len(sent) < 2:
            return r
        if not source[0] and (v := self.vertex(source[1])).of_parts == len(sent) and not (v.output or v.results):
            return replace(r, sent=v.gradient)  # it gets nothing from elsewhere
        return replace(r, sent=None if source[0] else sum_of(sent), note=f"{len(sent):,} parts")

    def frames(self) -> list[Frame]:
        """The open boxes, the outermost first."""
        around = {card: self.around(card) for card in self.members}
        inside = grouped([(path[:n], k) for card, path in around.items() for n in range(1, len(path) + 1)
                          for k in self.members[card]])  # fmt: skip
        paths = sorted(inside, key=lambda path: (len(path), inside[path][0]))
        repeats = self.skeleton.repeats
        return [Frame(p, self.title(p[-1]), self.fold(inside[p], p[-1]), p[-1] in repeats) for p in paths]


def within(title: str, objects: Sequence[str]) -> str:
    """What something is called in the boxes of these objects.

    >>> within("layers[0].w[1]", ["model", "model.layers[0]"]), within("layers[1].w[1]", ["model.layers[0]"])
    ('w[1]', 'layers[1].w[1]')
    """
    for path in reversed(objects):
        for at in [k for k in range(len(title) - 1, 0, -1) if title[k] == "."]:
            if path == title[:at] or path.endswith(f".{title[:at]}"):
                return title[at + 1 :]
    return title


def sentence(total: int, c: Contraction) -> list[str]:
    """A sentence on the hidden parts, and how to see them; empty if nothing is hidden."""
    closed = [card[1] for card in c.members if card[0]]
    if not closed and not c.hidden:
        return []
    parts = [c.skeleton.repeats[box].between is not None for box in closed if box in c.skeleton.repeats]
    sections = len(c.skeleton.sections.intersection(closed))
    kinds = {
        "scope": len(closed) - len(parts) - sections, "section": sections, "sequence": sum(parts),
        "repeat": len(parts) - sum(parts),
    }  # fmt: skip
    folded = " and ".join([counted(n, word) for word, n in kinds.items() if n])
    size = f": {folded} folded" if folded else ""
    if c.hidden:
        are = "is" if c.hidden == 1 else "are"
        size += f"{',' if folded else ':'} the nearest to the output; {counted(c.hidden, 'card')} {are} hidden"
    scopes = [box for box in closed if box not in c.skeleton.repeats] or closed
    how = "g.open(" if c.gathered else "graph(open="
    paths = set(c.skeleton.paths)
    around = min([path[: path.index(box) + 1] for box in scopes[:1] for path in paths if box in path], default=())
    more = [f'{how}"{clip("/".join([c.skeleton.names[box] for box in around]), 40)}")'] if around else []
    deepest = max([sum([box not in c.skeleton.added for box in path]) for path in paths])
    more += [f"graph(depth={deepest})"] if closed and deepest else []
    return [f"{total:,} nodes; showing {len(c.members)}{size}. More: {', '.join([*more, 'graph(around=w, radius=2)'])}"]


# ---------------------------------------------------------------- huge graphs, directly from the records


def fold_huge_graph(walk: Walk, depth: int | None, opened: Sequence[str], few: int = FEW) -> GraphData | None:
    """The picture of a large graph in at most FEW cards; None if it has no parts that could be folded."""
    records = sorted(walk.everything, key=lambda r: int(r.number))
    skeleton = skeleton_of_records(walk, records)
    look = Look("values", "right", True, "auto", "built-in", 4, depth=depth, open=tuple(opened), few=few)
    cards = skeleton.visible(fold_skeleton(skeleton, look, [False] * len(records)))
    if len(set(cards)) > (FEW if not opened and depth is None else len(walk.order)):
        return None

    @functools.cache
    def vertex(k: int) -> Vertex:
        v, grad = walk.vertex(records[k]), None if records[k].parents else records[k].grad
        return v if grad is None else replace(v, gradient=numbers(value_of(grad)))

    contraction = Contraction(skeleton, cards, set(cards), vertex, gathered=False)
    nodes = [replace(v, members=(v.id,)) for v in contraction.nodes()]  # there are no others
    some = any([v.gradient for v in nodes])
    word = "those that .grad holds" if some else "after backward() those of Variables"
    note = f"gradients of a graph this large: {word}; around= shows all of a part"
    return GraphData(
        tuple(nodes), tuple([v.id for v in nodes if v.output]), walk.title(), some,
        (*sentence(len(records), contraction), note), look, tuple(contraction.frames()), view=True,
    )  # fmt: skip


def skeleton_of_records(walk: Walk, records: Sequence[Any]) -> Skeleton:
    """The skeleton of the graph."""
    walk.ids = number = {id(r): k for k, r in enumerate(records)}
    walk.enter(records)
    around = [walk.boxes.around(r) if r.parents else () for r in records]
    names = {walk.entered[key]: clip(clean(name), 60) for path in around for name, key in path}
    return Skeleton(
        [tuple([number[id(p)] for p in r.parents if p is not None]) for r in records],
        [tuple([walk.entered[key] for _, key in path]) for path in around], names,
        [r.rule.name if r.parents else "" for r in records], [not r.parents for r in records],
        [number[id(r)] for r in walk.records], lambda k: walk.titles.name(records[k]) or records[k].rule.name,
        told=walk.told, objects=walk.objects,
        places=[(id(r.place), r.last) if getattr(r, "place", None) is not None else None for r in records],
        shapes=[r.shape for r in records],
    )  # fmt: skip
