"""Equal parts of a graph (a layer that is used again, the turns of a loop), and chains of + or of * as one card.

The skeleton is what folding knows about a graph: nodes without their values, and the boxes around them.

Equal parts are neighbouring boxes with the same name and content: calls, scopes, and the parts of a loop. A picture
says whether the parts use the same Variables again, or each has its own. For long sequences (more than ALIKE parts)
every picture draws the first part, the last one, and a card for those between them ("+28 alike").

Chains: ``x + y + z`` is drawn as one card, though Python computes it in two steps. Only inner results that have no name
and are used once disappear, so no information is lost: local derivatives of the chain are products of those of its
steps, and each operand receives the same gradient. The recorded nodes remain in ``graph.nodes``, in the tree and in
JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from ...base.groups import grouped
from ..model.data import CIRCLED, ROWS, Numbers, Operand, Picture, Vertex, numbers

# ---------------------------------------------------------------- the skeleton: nodes without values, boxes around them

DEEPEST = 20  # boxes around a node that are drawn
NAMES = 4  # Variables of a repeated part that are listed by name
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """How many equal parts.

    ``between``: the names of the first and last part in this box, if it is the middle of a long sequence.
    """

    parts: int
    between: tuple[str, str] | None = None

    def text(self) -> str:
        """As it is written behind the name.

        >>> Repeat(5).text(), Repeat(28, ("step 2", "step 29")).text()
        ('×5', '+28 alike')
        """
        return f"×{self.parts}" if self.between is None else f"+{self.parts:,} alike"

    def words(self, used: Sequence[set[int]], title: Callable[[int], str]) -> list[str]:
        """A sentence about the parts, and about the Variables that each has ``used``. A first turn may begin with one
        where others continue the turn before; that does not count.

        >>> Repeat(3).words([{0, 1, 9}, {0, 2, 9}, {0, 3, 9}], ["s", "W1", "W2", "W3", *"abcdef"].__getitem__)
        ['each with its own W', 'all with the same f, s']
        >>> Repeat(3, ("a", "c")).words([{0}, {0}, {1}], ["W1", "W2"].__getitem__)
        ['a … c', '2 different sets of Variables']
        """
        parts = [] if self.between is None else [" … ".join(self.between)]
        shared, alike = set.intersection(*used) if used else set(), dict[str, list[set[int]]]()
        for part in used:
            for name, members in grouped([(NUMBER.sub("", title(k)), k) for k in part - shared]).items():
                alike.setdefault(name, []).append(set(members))
        all_use = {name: sets for name, sets in alike.items() if len(sets) == self.parts}
        own = [name for name, sets in all_use.items() if sum(map(len, sets)) == len(set.union(*sets))]
        kinds = ("each with its own ", own), ("all with the same ", map(title, shared))
        for words, names in [(words, sorted(names)) for words, names in kinds]:
            parts += [words + (", ".join(names) if len(names) <= NAMES else "Variables")] if names else []
        many = len(set(map(frozenset, used)))
        return parts if own or shared or not all_use else [*parts, f"{many} different sets of Variables"]


@dataclass(slots=True)
class Skeleton:
    """A graph without its values: all that folding needs to know. Nodes are in the order of their creation."""

    sources: list[Sequence[int]]  # the operands of each node
    paths: list[Path]  # the boxes around each node, the outermost first
    names: dict[int, str]  # of boxes
    words: list[str]  # the operations; "" for leaves
    variables: list[bool]
    outputs: Sequence[int]
    title: Callable[[int], str] = str  # of nodes, by their numbers
    repeats: dict[int, Repeat] = field(default_factory=dict)  # boxes that hold equal parts
    labels: dict[int, str] = field(default_factory=dict)  # numbered names, of boxes whose name a neighbour has, too
    told: dict[int, str] = field(default_factory=dict)  # of calls and loops: how many turns a loop had
    objects: dict[int, str] = field(default_factory=dict)  # of calls: the path of the object
    places: Sequence[Any] = ()  # where in the program each node was made; None if that is not known
    shapes: Sequence[tuple[int, ...]] = ()  # of the values
    newest: int = 0
    added: set[int] = field(default_factory=set)  # boxes that are ours, not the user's scopes
    sections: set[int] = field(default_factory=set)  # those among them that have no other reason than their size
    put: set[tuple[int, int]] = field(default_factory=set)  # boxes, each with a node that folding has put into it

    def __post_init__(self) -> None:
        self.paths = [path[:DEEPEST] for path in self.paths]

    def visible(self, closed: set[int]) -> list[tuple[bool, int]]:
        """The representative of each node: (True, a closed box) or (False, itself)."""
        if not closed:
            return [(False, k) for k in range(len(self.paths))]
        outermost = {path: next((box for box in path if box in closed), None) for path in set(self.paths)}
        boxes = [outermost[path] for path in self.paths]
        return [(False, k) if box is None else (True, box) for k, box in enumerate(boxes)]

    def item(self, k: int, deep: int) -> int:
        """What node k belongs to directly inside of a box that has ``deep`` boxes with itself: the next box around it,
        or -1 - k, the node itself."""
        return self.paths[k][deep] if deep < len(self.paths[k]) else -1 - k

    def count(self, closed: set[int]) -> int:
        """The number of cards that there would be."""
        return len(set(self.visible(closed)))

    def new_box(self, name: str, label: str) -> int:
        """Add a box, and return its number."""
        self.newest = number = 1 + (self.newest or max(self.names, default=0))
        self.names[number], self.labels[number] = name, label
        self.added.add(number)
        return number

    def enclose(self, nodes: Iterable[int], box: int, around: Path) -> None:
        """Put nodes into a box that is directly inside of the boxes ``around``."""
        for k in nodes:
            self.paths[k] = (*around, box, *self.paths[k][len(around) :])

    def forget(self, boxes: set[int]) -> None:
        """Remove our boxes."""
        self.paths = [tuple([box for box in path if box not in boxes]) for path in self.paths] if boxes else self.paths
        for table in (self.names, self.labels):
            for box in boxes:
                del table[box]
        self.added -= boxes
        self.sections -= boxes

    def label(self, box: int) -> str:
        """The title of a box in the picture: its name; "step 3" if it is the third of that name in the same box."""
        if box not in self.labels:
            alike = grouped([((path[:-1], self.names[path[-1]]), path[-1]) for path in self.ways()])
            for (_, name), boxes in alike.items():
                for number, one in enumerate(boxes, 1):
                    self.labels.setdefault(one, f"{name} {number}" if len(boxes) > 1 else name)
            self.labels.setdefault(box, self.names[box])
        return self.labels[box]

    def boxes(self) -> dict[int, int]:
        """All boxes and how deep they are."""
        return {path[-1]: len(path) - 1 for path in self.ways()}

    def ways(self) -> list[Path]:
        """To each box: those around it, and itself."""
        return list(dict.fromkeys([path[: n + 1] for path in dict.fromkeys(self.paths) for n in range(len(path))]))


# ---------------------------------------------------------------- repeats: equal boxes, parts of a loop


WORTH_A_PART = 3  # operations and boxes in a part of a loop
NUMBER = re.compile(r"[\s_.=-]*\d+$")


def equal_boxes(graph: Skeleton, candidates: set[int], stay: set[int], most: int | None = None) -> set[int]:
    """Put a box around equal boxes that follow each other. Returns the boxes that may be closed then.

    most : only if there are more than this many, and only around those between the first and the last.
    """
    new: dict[int, tuple[int, int]] = {}
    ends = int(most is not None)
    groups = [g for g in alike(graph, candidates) if len(g) > (most or 1) and not (ends and stay & set(g))]
    inside = grouped([(box, k) for k, path in enumerate(graph.paths) if graph.words[k] for box in path])
    closed = set()
    for group in groups:
        middle = group[ends : len(group) - ends]
        between = (graph.label(middle[0]), graph.label(middle[-1])) if ends else None
        number = graph.new_box(stem(graph, group[0]), stem(graph, group[0]))
        graph.repeats[number] = Repeat(len(middle), between)
        new.update({box: (number, box) for box in middle})
        if not stay & set(group):
            closed.add(number)
            closed.update([box for box in middle if ends and len(inside[box]) > 1])  # cards, when it is opened
    graph.paths = [tuple([b for box in path for b in new.get(box, (box,))]) for path in graph.paths]
    return closed


def alike(graph: Skeleton, candidates: set[int]) -> list[list[int]]:
    """Consecutive boxes of one name, with the same operations and shapes of results, in the order of their creation."""
    content: dict[int, int] = {}
    parent: dict[int, tuple[int, ...]] = {}
    for path, word, shape in zip(graph.paths, graph.words, graph.shapes, strict=True):
        for level, box in enumerate(path if word else ()):
            content[box] = hash((content.get(box), word.partition(" [")[0], shape))  # but for what it takes
            parent.setdefault(box, path[:level])
    groups: list[list[int]] = []
    last: dict[tuple[int, ...], list[int]] = {}  # around -> the group that its latest box is in
    for box, around in parent.items():
        group, sign = last.get(around), (content[box], stem(graph, box))
        if group and box in candidates and (content[group[0]], stem(graph, group[0])) == sign:
            group.append(box)
        else:
            last[around] = [box] if box in candidates else []
            groups.append(last[around])
    return groups


def first_word(word: str) -> str:
    """``sum`` of ``sum, axis=0``."""
    return word.partition(" ")[0].rstrip(",")


def stem(graph: Skeleton, box: int) -> str:
    """The name without the number at its end: ``layer`` of ``layer_3``, ``t · step(x)`` of ``t = 2 · step(x)``."""
    return " · ".join([NUMBER.sub("", name) or name for name in graph.names[box].split(" · ")])


def part_loops(graph: Skeleton, most: int, is_crowded: bool) -> bool:
    """Divide what is directly in a loop, whose turns are not known, where it begins again: the same expression is a
    later turn. Are there such loops?

    Those are not called turns: nothing tells of turns that have computed nothing of this graph. ``most``: loops with
    more parts than that are divided, and others if they are long and the picture ``is_crowded``.
    """
    loops = {box for box, turns in graph.told.items() if turns.startswith("at least")}
    inside = grouped([(path[:deep], k) for k, path in enumerate(graph.paths) if graph.words[k]
                      for deep, box in enumerate(path, 1) if box in loops])  # fmt: skip
    is_divided = False
    for path, members in sorted(inside.items(), key=lambda loop: -len(loop[0])):
        groups = [*grouped([(graph.item(k, len(path)), k) for k in members]).values()]
        signs = [tuple([(graph.places[k], first_word(graph.words[k])) for k in group]) for group in groups]
        parts = divide(signs)
        if len(parts) <= most and not (is_crowded and WORTH_A_PART <= len(signs) / len(parts) < len(signs)):
            continue
        divided = [[k for item in groups[a:b] for k in item] for a, b in pairwise([*parts, len(signs)])]
        pairs = pairwise(map(set, divided))
        if all([any([a in before for k in part for a in graph.sources[k]]) for before, part in pairs]):  # a chain
            is_divided = True
            for place, part in enumerate(divided, 1):
                graph.enclose(part, graph.new_box("part", f"part {place}"), path)
    return is_divided


def divide(signs: Sequence[Any]) -> list[int]:
    """Where parts begin: with the sign that occurs most often. The first may begin with another one.

    >>> divide([2, 3, 1, 2, 3, 1])
    [0, 3]
    """
    first = max(dict.fromkeys(signs), key=Counter(signs).__getitem__)
    return [k for k, sign in enumerate(signs) if sign == first or k == 0]


# ---------------------------------------------------------------- chains of + or of * as one card


CHAINS = ("add", "multiply")


def merge_chains(graph: Picture) -> Picture:
    """The same graph with one card per chain."""
    uses = Counter([edge.source for edge in graph.edges])
    cards: dict[int, Vertex] = {}  # by the number of the chain's last node
    gone: set[int] = set()
    for node in graph.nodes:
        card = replace(node, members=node.members or (node.id,))
        for row in node.operands if node.word in CHAINS else ():
            inner = cards.get(row.source) if row.source is not None else None
            if inner is None or uses[inner.id] != 1 or not joins(inner, node):
                continue
            if len(card.operands) + len(inner.operands) - 1 <= ROWS:
                card = join_cards(card, row, inner)
                gone.add(inner.id)
        cards[node.id] = card
    return renumber_graph(graph, [cards[v.id] for v in graph.nodes if v.id not in gone])


def joins(inner: Vertex, outer: Vertex) -> bool:
    """May ``inner`` disappear in the card of ``outer``?"""
    one, other = [(v.word, v.entered, v.value.shape, v.value.dtype) for v in (inner, outer)]
    says_more = inner.named or inner.output or inner.more_operands or inner.notes
    return one == other and not says_more and is_part(inner, outer)


def is_part(inner: Vertex, outer: Vertex) -> bool:
    """Does the program compute ``inner`` in the same execution of the expression of ``outer``?"""
    if inner.place is None or outer.place is None:
        return True
    (file, line, *_, text), (others, begin, end, *_, whole) = inner.place, outer.place
    same = inner.place != outer.place or outer.goes_on
    return bool(file == others and text in whole and begin <= line <= end and same)


def join_cards(card: Vertex, row: Operand, inner: Vertex) -> Vertex:
    """``card`` with ``row`` replaced by the operands of ``inner``."""
    place = next(i for i, r in enumerate(card.operands) if r.source == row.source)
    middle = [replace(r, local=product(row.local, r.local)) for r in inner.operands]
    rows = [*card.operands[:place], *middle, *card.operands[place + 1 :]]
    rows = [replace(r, slot=slot) for slot, r in enumerate(rows)]
    if card.word == "multiply" and row.rule:  # of all others
        for k, r in enumerate(rows):
            others = " ⊙ ".join(["g", *CIRCLED[: len(rows)].replace(CIRCLED[k], "")])
            rows[k] = replace(r, rule=others + "".join(r.rule.partition(",")[1:])) if r.rule else r
    return replace(card, operands=tuple(rows), members=tuple(sorted((*inner.members, *card.members))))


def product(a: Numbers | None, b: Numbers | None) -> Numbers | None:
    """The product of two local derivatives of numbers, by the chain rule."""
    if a is None or b is None or not a.elements or not b.elements:
        return None
    return replace(numbers(a.elements[0] * b.elements[0]), dtype=a.dtype)


def renumber_graph(graph: Picture, nodes: list[Vertex]) -> Picture:
    """The graph of these nodes, with ids from 0. Arrows come from these nodes alone."""
    number, new = {v.id: k for k, v in enumerate(nodes)}, []
    for k, v in enumerate(nodes):
        rows = [r if r.source is None else replace(r, source=number[r.source]) for r in v.operands]
        new.append(replace(v, id=k, operands=tuple(rows)))
    return replace(
        graph, nodes=tuple(new), outputs=tuple([number[k] for k in graph.outputs]),
        faded=tuple([number[k] for k in graph.faded if k in number]),
        rules=tuple([(number[k], text) for k, text in graph.rules if k in number]),
    )  # fmt: skip
