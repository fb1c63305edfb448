"""Which boxes of a picture are open, and what a folded one says.

A graph of thousands of nodes cannot be read. Scopes (``with af.scope("encoder"):``) divide it into parts. A folded
part is one card that counts its contents. Folding is decided on a :class:`Skeleton`, in which nodes and boxes are
numbers, and each node has a path of boxes around it. Repeats (:mod:`.repeats`) are boxes that we add.

    1  depth=, g.open(...)    the user's choice
    2  more than six alike    the first and the last are drawn, the others are one card
    3  above FEW cards        scopes fold from the deepest level, until there are at most that many
    4  still more             shorter repeats fold, and of what is left sections (:mod:`.sections`)
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from ..model.data import ALIKE, FEW
from .repeats import equal_boxes, first_word, runs
from .skeleton import Path, Skeleton

MANY = 200  # of more cards, which nobody wanted, only the nearest to the output are drawn


def common(a: Path, b: Path) -> Path:
    """The boxes that contain both.

    >>> common((1, 2, 3), (1, 2, 4))
    (1, 2)
    """
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return a[:same]


def place_leaves(graph: Skeleton, outside: Sequence[bool]) -> None:
    """A Variable belongs to the innermost box that contains all its uses; data (``outside``) belong to no box."""
    around: dict[int, Path] = {}
    for k, sources in enumerate(graph.sources):
        for a in sources:
            if not graph.words[a]:
                around[a] = common(around[a], graph.paths[k]) if a in around else graph.paths[k]
    for a, path in around.items():
        graph.paths[a] = () if outside[a] else path


def choose(
    graph: Skeleton, depth: int | None, opened: Sequence[str], outside: Sequence[bool], fold: bool = True,
    alike: int = ALIKE, few: int = FEW,
) -> set[int]:  # fmt: skip
    """The boxes to close. Adds repeats to the skeleton where they help."""
    stay = open_boxes(graph, opened)
    if depth is not None:
        level_of = graph.boxes()
        closed = {box for box, level in level_of.items() if level >= depth and box not in stay}
        inner_first = equal_boxes(graph, {b for b in closed if level_of[b] == depth}, stay)
        place_leaves(graph, outside)
        return closed | inner_first
    place_leaves(graph, outside)
    if not fold:
        return set()
    closed = equal_boxes(graph, set(graph.boxes()), stay, alike)
    if "repeat" not in opened:
        closed |= runs(graph, stay, alike)
    if closed:
        place_leaves(graph, outside)
    levels = graph.boxes()
    for level in sorted(set(levels.values()), reverse=True):
        if graph.count(closed) <= few:
            return closed
        closed |= {box for box in levels if levels[box] == level and box not in stay}
    if graph.count(closed) <= few:
        return closed
    closed |= equal_boxes(graph, set(levels), stay)
    if graph.count(closed) > few:
        closed |= runs(graph, stay)
    place_leaves(graph, outside)
    return closed


def open_boxes(graph: Skeleton, opened: Iterable[str]) -> set[int]:
    """The boxes called by one of these names (``"layer"``, ``"encoder/layer"``), and those around them."""
    wanted = set(opened)
    found: set[int] = set()
    for path in dict.fromkeys(graph.paths) if wanted else ():
        for end, box in enumerate(path):
            if graph.names[box] in wanted or "/".join([graph.names[b] for b in path[: end + 1]]) in wanted:
                found.update(path[: end + 1])
    return found


def untangle(graph: Skeleton) -> None:
    """Make the folded graph free of cycles: a node outside a box that comes both after and before the box is put into
    it.

    An example is an operation between two others of a box that was recorded outside it.
    """
    waiting: list[Path] = [()]
    inside: dict[Path, list[int]] = {(): list(range(len(graph.paths)))}
    while waiting:
        around = waiting.pop()
        level = len(around)
        members = inside.pop(around)
        item = {k: graph.paths[k][level] if len(graph.paths[k]) > level else -1 - k for k in members}
        if any(i >= 0 for i in item.values()):
            tangled = cyclic(graph, members, item)
            if tangled:
                box = min(i for i in tangled if i >= 0)
                for k in members:
                    if item[k] in tangled and item[k] != box:
                        graph.paths[k] = (*around, box, *graph.paths[k][level:])
            for k in members:
                if len(graph.paths[k]) > level:
                    inside.setdefault(graph.paths[k][: level + 1], []).append(k)
            waiting += [path for path in inside if len(path) == level + 1 and path[:level] == around]


def cyclic(graph: Skeleton, members: Sequence[int], item: dict[int, int]) -> set[int]:
    """The items on cycles: those that remain when items without predecessors or successors are removed repeatedly."""
    after: dict[int, set[int]] = {i: set() for i in item.values()}
    before: dict[int, set[int]] = {i: set() for i in item.values()}
    for k in members:
        for a in graph.sources[k]:
            if a in item and item[a] != item[k]:
                after[item[a]].add(item[k])
                before[item[k]].add(item[a])
    left = set(after)
    for here, there in ((before, after), (after, before)):
        degree = {i: len(here[i] & left) for i in left}
        queue = deque([i for i in left if not degree[i]])
        while queue:
            i = queue.popleft()
            left.discard(i)
            for j in there[i]:
                if j in left:
                    degree[j] -= 1
                    if not degree[j]:
                        queue.append(j)
    return left


def nearest(graph: Skeleton, cards: Sequence[tuple[bool, int]], most: int) -> set[tuple[bool, int]]:
    """The cards nearest to the outputs, counted in arrows."""
    uses: dict[tuple[bool, int], dict[tuple[bool, int], None]] = {}
    for k, sources in enumerate(graph.sources):
        for a in sources:
            if cards[a] != cards[k]:
                uses.setdefault(cards[k], {})[cards[a]] = None
    queue = list(dict.fromkeys([cards[k] for k in graph.outputs]))
    seen = set(queue)
    for card in queue:
        if len(queue) >= most:
            break
        fresh = [a for a in uses.get(card, ()) if a not in seen]
        queue += fresh
        seen.update(fresh)
    return set(queue[:most])


def describe(words: Iterable[str]) -> str:
    """The operations of a box in a few words: ``matmul, add, 2 tanh``.

    >>> describe(["add", "exp", "add", "sin", "cos"])
    '2 add, exp, sin, …'
    """
    number: Counter[str] = Counter()
    for word, n in Counter(words).items():
        number[first_word(word)] += n if word else 0
    pieces = [f"{n} {word}" if n > 1 else word for word, n in number.items() if n]
    return ", ".join(pieces[:3]) + (", …" if len(pieces) > 3 else "")


def pool_sizes(sizes: Sequence[tuple[int, float | None]]) -> float | None:
    """The root mean square over several arrays, given the (size, root mean square) of each."""
    known = [(n, rms) for n, rms in sizes if rms is not None]
    total = sum([n for n, _ in known])
    return math.sqrt(math.fsum([n * rms * rms for n, rms in known]) / total) if total else None
