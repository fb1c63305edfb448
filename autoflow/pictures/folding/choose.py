"""The choice of open boxes in a picture, and the text of folded ones.

A graph of thousands of nodes cannot be read. Calls, loops and scopes (``with af.scope("encoder"):``) divide it into
parts. A folded part is one card that counts its contents. Folding is decided on a :class:`~.repeats.Skeleton`, in which
nodes and boxes are numbers, and each node has a path of boxes around it.

    1  depth=, g.open(...)    the user's choice
    2  more than six alike    the first and the last are drawn, the others are one card
    3  above FEW cards        boxes fold from the deepest level, until there are at most FEW cards
    4  still more             the rest is cut into sections

Sections are parts of a graph that has no parts of its own, say of 150 different operations: stretches of the order in
which the program computed them, of about the same length, called by the first and the last of what is in them: "a … k".
What is nearest to the output stays as it is. A section of many operations has sections in it, so opening one shows a
picture that can be read, again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Any

from ...base.groups import grouped, in_order
from ..model.data import Look
from ..model.style import clip
from .repeats import Path, Skeleton, equal_boxes, first_word, part_loops, stem

# ---------------------------------------------------------------- boxes: which are open

FEWEST = 4  # cards that a picture has at least, once boxes fold: what is left is cut into sections
MANY = 200  # of more cards, which nobody wanted, only the nearest to the output are drawn


def common(*paths: tuple[Any, ...]) -> tuple[Any, ...]:
    """What all of them begin with: the boxes that contain all.

    >>> common((1, 2, 3), (1, 2, 4))
    (1, 2)
    """
    return tuple([x[0] for x in takewhile(lambda x: len(set(x)) == 1, zip(*paths, strict=False))])


def place_leaves(graph: Skeleton, outside: Sequence[bool]) -> None:
    """A Variable belongs to the innermost box that contains all its uses; data (``outside``) belong to no box."""
    uses = grouped([(a, graph.paths[k]) for k, sources in enumerate(graph.sources) for a in sources])
    for a, paths in uses.items():
        if not graph.words[a]:
            graph.paths[a] = () if outside[a] else common(*paths)


def choose(graph: Skeleton, look: Look, outside: Sequence[bool]) -> set[int]:
    """The boxes to close. Adds repeats to the skeleton where they help."""
    stay, few = open_boxes(graph, look.open), look.few
    if look.depth is not None:
        level_of = graph.boxes()
        closed = {box for box, level in level_of.items() if level >= look.depth and box not in stay}
        inner_first = equal_boxes(graph, {b for b in closed if level_of[b] == look.depth}, stay)
        place_leaves(graph, outside)
        return closed | inner_first
    place_leaves(graph, outside)
    if not look.fold:
        return set()
    before = [*graph.paths]
    closed = equal_boxes(graph, set(graph.boxes()), stay, look.alike)
    crowded = graph.count(closed) > few
    if part_loops(graph, look.alike, crowded):
        graph.paths, graph.labels = before, {}  # once more: equal calls of several parts belong to none of them
        part_loops(graph, look.alike, crowded)
        stay = open_boxes(graph, look.open)
        closed = equal_boxes(graph, set(graph.boxes()), stay, look.alike)
        place_leaves(graph, outside)
    levels = graph.boxes()
    for level in sorted(set(levels.values()), reverse=True):
        if graph.count(closed) <= few:
            return closed
        more = close_some(graph, closed, {box for box in levels if levels[box] == level} - stay, few)
        if more and graph.count(closed | more) < FEWEST:
            size = Counter([box for path in graph.paths for box in path])
            more.remove(max(more, key=size.__getitem__))
        closed |= more
    if graph.count(closed) > few:
        closed |= equal_boxes(graph, set(levels), stay)
        place_leaves(graph, outside)
    return closed


def close_some(graph: Skeleton, closed: set[int], boxes: set[int], few: int) -> set[int]:
    """Which of these boxes, of one level, to close.

    Those that are called alike, in boxes that are, close together: the group with just enough cards, or else the most.
    """
    inside: Counter[int] = Counter()
    groups: dict[tuple[str, ...], dict[int, None]] = {}
    for path, (is_box, card) in dict.fromkeys(zip(graph.paths, graph.visible(closed), strict=True)):
        level = next((n for n, box in enumerate(path) if box in boxes), None)
        if level is not None and not (is_box and card in path[:level]):
            inside[path[level]] += 1
            groups.setdefault(tuple([stem(graph, box) for box in path[: level + 1]]), {})[path[level]] = None
    spare = graph.count(closed) - few
    saved = {names: sum([inside[box] - 1 for box in group]) for names, group in groups.items()}
    to_close: set[int] = set()
    while groups and spare > 0:
        enough = [names for names in groups if saved[names] >= spare]
        names = min(enough, key=saved.__getitem__) if enough else max(groups, key=saved.__getitem__)
        spare -= saved[names]
        to_close.update([box for box in groups.pop(names) if inside[box] > 1])
    return to_close


def open_boxes(graph: Skeleton, opened: Iterable[str]) -> set[int]:
    """The boxes called by one of these names (``"layer"``, ``"encoder/layer"``), and those around them."""
    open_paths = set(opened)
    boxes: set[int] = set()
    for path in graph.ways() if open_paths else ():
        names = "/".join([graph.names[box] for box in path])
        plain = "/".join([graph.names[box] for box in path if box not in graph.repeats or box == path[-1]])
        boxes.update(path if open_paths.intersection((graph.names[path[-1]], names, plain)) else ())
    return boxes


def untangle(graph: Skeleton) -> None:
    """Make the folded graph free of cycles: a node outside a box that comes both after and before the box is put into
    it.

    An example is an operation between two others of a box that was recorded outside it.
    """
    waiting: list[tuple[Path, list[int]]] = [((), list(range(len(graph.paths))))]
    while waiting:
        around, members = waiting.pop()
        level = len(around)
        item = {k: graph.item(k, level) for k in members}
        if any(i >= 0 for i in item.values()):
            if tangled := cyclic(graph, members, item):
                box = min(i for i in tangled if i >= 0)
                others = [k for k in members if item[k] in tangled and item[k] != box]
                graph.enclose(others, box, around)
                graph.put.update([(box, k) for k in others])
            deeper = [k for k in members if len(graph.paths[k]) > level]
            waiting += grouped([(graph.paths[k][: level + 1], k) for k in deeper]).items()


def cyclic(graph: Skeleton, members: Sequence[int], item: dict[int, int]) -> set[int]:
    """The items on cycles: those that remain when items without predecessors or successors are removed repeatedly."""
    pairs = {(item[a], item[k]) for k in members for a in graph.sources[k] if a in item and item[a] != item[k]}
    left = set(item.values())
    for steps in (pairs, {(b, a) for a, b in pairs}):
        needs = grouped([(b, a) for a, b in steps if a in left and b in left])
        left.difference_update(in_order({i: needs.get(i, []) for i in left}, lambda i: i))
    return left


def nearest(graph: Skeleton, cards: Sequence[tuple[bool, int]], most: int) -> set[tuple[bool, int]]:
    """The cards nearest to the outputs, counted in arrows."""
    uses = grouped([(cards[k], cards[a]) for k, sources in enumerate(graph.sources) for a in sources])
    queue = list(dict.fromkeys([cards[k] for k in graph.outputs]))
    seen = set(queue)
    for card in queue:
        if len(queue) >= most:
            break
        fresh = [a for a in dict.fromkeys(uses.get(card, ())) if a not in seen]
        queue += fresh
        seen.update(fresh)
    return set(queue[:most])


def describe(words: Iterable[str]) -> str:
    """The operations of a box in a few words: ``matmul, add, 2 tanh``.

    >>> describe(["add", "exp", "add", "sin", "cos"])
    '2 add, exp, sin, …'
    """
    number = Counter(map(first_word, words))
    pieces = [f"{n} {word}" if n > 1 else word for word, n in number.items()]
    return ", ".join(pieces[:3]) + (", …" if len(pieces) > 3 else "")


def pool_sizes(sizes: Sequence[tuple[int, float | None]]) -> float | None:
    """The root mean square over several arrays, given the (size, root mean square) of each."""
    sized = [(n, rms) for n, rms in sizes if rms is not None]
    total = sum([n for n, _ in sized])
    return math.sqrt(math.fsum([n * rms * rms for n, rms in sized]) / total) if total else None


# ---------------------------------------------------------------- sections


LENGTH = 12  # cards in a section, if there need not be more
INNER = 24  # cards of an opened section, above which it has sections of its own
LEAST = 4  # items that are worth a section
HALF = 14  # characters of each of the two names that a section is called by
Items = list[list[int]]  # items, each the nodes in it: one operation, or all in one box


def cut_sections(graph: Skeleton, closed: set[int], few: int, stay: set[int]) -> set[int]:
    """Put sections where more than ``few`` cards would be beside each other. Returns them: they are folded.

    Not in ``stay``, the boxes that someone wants open as they are, nor in repeats. Leaves that several sections use are
    cards as well; if that makes too many, they are put into the first section that uses them.
    """
    new: set[int] = set()
    beside_each = beside(graph)
    free = [path for path in beside_each if not (closed | stay).intersection(path)]
    around = max(free, key=beside_each.__getitem__, default=())
    for hide, limit in ((False, few), (True, few), (True, few // 2)):
        if graph.count(closed | new) > few:
            graph.forget(new)
            new = Cutter(graph, closed, stay, hide).divide(around, limit)
    for around, cards in beside(graph).items():
        if around and cards > few and around[-1] not in stay and around[-1] not in graph.repeats:
            new |= Cutter(graph, closed, stay).divide(around, INNER)
    return new


def beside(graph: Skeleton) -> dict[Path, int]:
    """How many operations and boxes are directly inside each box that is not a section."""
    pairs = {(path[:deep], path[deep]) for path in dict.fromkeys(graph.paths) for deep in range(len(path))}
    number = Counter([around for around, _ in pairs])
    number.update([path for path, word in zip(graph.paths, graph.words, strict=True) if word])
    return {path: number[path] for path in sorted(number, key=len) if not graph.sections & set(path)}


class Cutter:
    """Cuts the direct contents of a box into sections. ``hide``: leaves are put into the first section that uses
    them."""

    def __init__(self, graph: Skeleton, closed: set[int], stay: set[int], hide: bool = False) -> None:
        self.graph, self.closed, self.stay, self.hide = graph, closed, stay, hide

    def divide(self, around: Path, wanted: int, nodes: Iterable[int] | None = None) -> set[int]:
        """Cut until there are about ``wanted`` cards. Gives the new boxes, those inside of others as well. ``nodes``:
        those in the box, if they are known."""
        graph = self.graph
        items, leaves = inside(graph, around, range(len(graph.paths)) if nodes is None else nodes)
        place = {k: n for n, item in enumerate(items) for k in item}
        order = by_creation(items, links(graph, items, place))
        items = [items[n] for n in order]
        place = {k: n for n, item in enumerate(items) for k in item}
        room = [len({next((box for box in graph.paths[k] if box in self.closed), -1 - k) for k in x}) for x in items]
        first = {a: min([place[k] for k in users]) for a, users in leaves.items() if users}
        for n in first.values():
            room[n] += 1
        if sum(room) <= wanted or len(items) < LEAST:
            return set()
        new: set[int] = set()
        for begin, end in pairwise(cut(room, *lengths(sum(room), wanted))):
            members = {k for item in items[begin:end] for k in item}
            boxes = {box for k in members for box in graph.paths[k]}
            if end - begin < 2 or self.stay & boxes:
                continue
            own = {a for a, n in first.items() if begin <= n < end}
            members |= own if self.hide else {a for a in own if members.issuperset(leaves[a])}
            name = " … ".join([self.title(items[n][-1], around) for n in (begin, end - 1)])
            box = graph.new_box(name, name)
            graph.sections.add(box)
            new.add(box)
            graph.enclose(members, box, around)
            new |= self.divide((*around, box), INNER, sorted(members))
        return new

    def title(self, k: int, around: Path) -> str:
        """The name of an operation that is directly in a box, or of the box that it is in there."""
        inner = self.graph.paths[k][len(around) :]
        return clip(self.graph.label(inner[0]) if inner else self.graph.title(k), HALF)


def lengths(total: int, wanted: int) -> tuple[int, float]:
    """How many cards at the end stay as they are, and how many a section should have."""
    count = -(-(total - wanted) // (LENGTH - 1))
    tail = total - count * LENGTH
    if tail >= wanted // 4:
        return tail, float(LENGTH)
    tail = wanted // 4
    return tail, (total - tail) / max(2, wanted - tail - wanted // 8)


def inside(graph: Skeleton, around: Path, nodes: Iterable[int]) -> tuple[Items, dict[int, list[int]]]:
    """The operations and boxes directly inside of a box, and its leaves, each with all nodes that use it."""
    deep = len(around)
    mine = [k for k in nodes if graph.paths[k][:deep] == around]
    leaves = dict.fromkeys([k for k in mine if len(graph.paths[k]) == deep and not graph.words[k]])
    items = grouped([(graph.item(k, deep), k) for k in mine if k not in leaves])
    users = grouped([(a, k) for item in items.values() for k in item for a in graph.sources[k]])
    return list(items.values()), {a: users.get(a, []) for a in leaves}


def links(graph: Skeleton, items: Items, place: dict[int, int]) -> list[list[int]]:
    """For each item the items that it uses, in the order of operands."""
    uses = [dict.fromkeys([place.get(a, n) for k in item for a in graph.sources[k]]) for n, item in enumerate(items)]
    return [[m for m in used if m != n] for n, used in enumerate(uses)]


def by_creation(items: Items, uses: list[list[int]]) -> list[int]:
    """The items as the program made them; a box comes when all that it uses is there."""
    return in_order(dict(enumerate(uses)), lambda n: items[n][0])


def cut(room: Sequence[int], tail: int, long: float) -> list[int]:
    """Where sections of ``long`` cards begin and end, from the first item on, while more than ``tail`` are left.

    >>> cut([1, 1, 2, 1, 1, 1, 1, 1], 3, 3.0)
    [0, 3, 5]
    """
    cuts, size, left = [0], 0, sum(room)
    for n, cards in enumerate(room, 1):
        size += cards
        if left > tail and (size >= long or left - size <= tail):
            cuts.append(n)
            left, size = left - size, 0
    return cuts
