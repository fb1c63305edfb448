"""Sections: parts of a graph that has no parts of its own.

Boxes (``af.scope``) and repeats tell how to fold. A graph without them, say of 150 different operations, is cut into
sections, like a text into paragraphs: stretches of its order, so that no section is both before and after another.
The order is that of the program, or depth first from the output, whichever is cheaper to cut. The price of a cut is
how many values are carried over it, and sections of uneven lengths cost a little more. What is nearest to the output
stays as it is.

A section of many operations has sections in it, so opening one shows a picture that can be read, again.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .skeleton import Path, Skeleton

Array = Any
LENGTH = 12  # cards in a section, if there need not be more
INNER = 24  # cards of an opened section, above which it has sections of its own
LEAST = 4  # items that are worth a section
UNEVEN = 2.0  # the price, in values carried over a cut, of a section twice as long as meant, or of none
Items = list[list[int]]  # items, each the nodes in it: one operation, or all in one box


def cut_sections(graph: Skeleton, closed: set[int], few: int, stay: set[int]) -> set[int]:
    """Put sections where more than ``few`` cards would be beside each other. Returns them: they are folded.

    Not in ``stay``, the boxes that someone wants open as they are, nor in repeats.
    """
    new = cut_outermost(graph, closed, few, stay) if graph.count(closed) > few else set()
    for around, cards in beside(graph).items():
        if around and cards > few and around[-1] not in stay and around[-1] not in graph.repeats:
            new |= Cutter(graph, closed, stay).divide(around, INNER)
    return new


def cut_outermost(graph: Skeleton, closed: set[int], few: int, stay: set[int]) -> set[int]:
    """Sections of what is in no box. Leaves that several sections use are cards as well, so some tries have too many
    cards; if all of them have, such leaves stand in the first section that uses them."""
    paths, newest = list(graph.paths), graph.newest
    new: set[int] = set()
    for hide, wanted in [(hide, round(few * part)) for hide in (False, True) for part in (1.0, 0.8, 0.6, 0.4)]:
        graph.forget(new, paths, newest)
        new = Cutter(graph, closed, stay, hide).divide((), wanted)
        if graph.count(closed | new) <= few:
            break
    return new


def beside(graph: Skeleton) -> dict[Path, int]:
    """How many operations and boxes are directly inside of each box that is no section."""
    found = {(path[:deep], path[deep]) for path in dict.fromkeys(graph.paths) for deep in range(len(path))}
    number = Counter([around for around, _ in found])
    number.update([path for path, word in zip(graph.paths, graph.words, strict=True) if word])
    return {path: number[path] for path in sorted(number, key=len) if not graph.sections & set(path)}


class Cutter:
    """Cuts what is directly inside of a box. ``hide``: leaves stand in the first section that uses them."""

    def __init__(self, graph: Skeleton, closed: set[int], stay: set[int], hide: bool = False) -> None:
        self.graph, self.closed, self.stay, self.hide = graph, closed, stay, hide

    def divide(self, around: Path, wanted: int, number: str = "") -> set[int]:
        """Cut until there are about ``wanted`` cards. Gives the new boxes, those inside of others as well."""
        graph = self.graph
        items, leaves = inside(graph, around)
        room = [len({next((box for box in graph.paths[k] if box in self.closed), -1 - k) for k in x}) for x in items]
        place = {k: n for n, item in enumerate(items) for k in item}
        first = {a: min([place[k] for k in users]) for a, users in leaves.items() if users}
        for n in first.values():
            room[n] += 1
        if sum(room) <= wanted or len(items) < LEAST:
            return set()
        uses = links(graph, items, place)
        tail, long = lengths(sum(room), wanted)
        plans = [(*cut(prices(uses, order), [room[n] for n in order], tail, long), order)
                 for order in (by_creation(items, uses), depth_first(items, uses))]  # fmt: skip
        _, cuts, order = min(plans, key=lambda plan: plan[0])
        new: set[int] = set()
        for count, (begin, end) in enumerate(pairwise(cuts), 1):
            members = {k for n in order[begin:end] for k in items[n]}
            if end - begin < 2 or self.stay & {box for k in members for box in graph.paths[k]}:
                continue
            part = set(order[begin:end])
            members |= {a for a, n in first.items() if n in part and (self.hide or members.issuperset(leaves[a]))}
            name = f"section {number}{count}"
            box = graph.new_box(name, name)
            graph.sections.add(box)
            new.add(box)
            for k in members:
                graph.paths[k] = (*around, box, *graph.paths[k][len(around) :])
            new |= self.divide((*around, box), INNER, f"{number}{count}.")
        return new


def lengths(total: int, wanted: int) -> tuple[int, float]:
    """How many cards at the end stay as they are, and how many a section should have."""
    count = -(-(total - wanted) // (LENGTH - 1))
    tail = total - count * LENGTH
    if tail >= wanted // 4:
        return tail, float(LENGTH)
    tail = wanted // 4
    return tail, (total - tail) / max(2, wanted - tail - wanted // 8)


def inside(graph: Skeleton, around: Path) -> tuple[Items, dict[int, list[int]]]:
    """The operations and boxes directly inside of a box, and its leaves, each with all nodes that use it."""
    deep = len(around)
    items: dict[int, list[int]] = {}
    leaves: dict[int, list[int]] = {}
    for k, path in enumerate(graph.paths):
        if path[:deep] == around:
            if len(path) > deep:
                items.setdefault(path[deep], []).append(k)
            elif graph.words[k]:
                items[-1 - k] = [k]
            else:
                leaves[k] = []
    for k in [k for item in items.values() for k in item]:
        for a in graph.sources[k]:
            if a in leaves:
                leaves[a].append(k)
    return list(items.values()), leaves


# ------------------------------------------------------------------ orders


def links(graph: Skeleton, items: Items, place: dict[int, int]) -> list[list[int]]:
    """For each item the items that it uses, in the order of operands."""
    found = [dict.fromkeys([place.get(a, n) for k in item for a in graph.sources[k]]) for n, item in enumerate(items)]
    return [[m for m in used if m != n] for n, used in enumerate(found)]


def by_creation(items: Items, uses: list[list[int]]) -> list[int]:
    """The items as the program made them; a box comes when all that it uses is there."""
    waiting = [len(used) for used in uses]
    users: list[list[int]] = [[] for _ in items]
    for n, used in enumerate(uses):
        for m in used:
            users[m].append(n)
    ready = [(item[0], n) for n, item in enumerate(items) if not waiting[n]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, n = heapq.heappop(ready)
        order.append(n)
        for m in users[n]:
            waiting[m] -= 1
            if not waiting[m]:
                heapq.heappush(ready, (items[m][0], m))
    return order


def depth_first(items: Items, uses: list[list[int]]) -> list[int]:
    """The items as a recursive evaluation of the last one would reach them: the parts of a tree stay together."""
    order: list[int] = []
    used = {m for sources in uses for m in sources}
    seen: set[int] = set()
    for last in sorted([n for n in range(len(items)) if n not in used], key=lambda n: items[n][0]):
        stack = [(last, iter(uses[last]))]
        seen.add(last)
        while stack:
            n, rest = stack[-1]
            child = next((m for m in rest if m not in seen), None)
            if child is None:
                order.append(n)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(uses[child])))
    return order


# ------------------------------------------------------------------ where to cut


def prices(uses: list[list[int]], order: Sequence[int]) -> Array:
    """For each place of the order how many values are carried over a cut in front of it.

    >>> prices([[], [0], [0], [1, 2]], [0, 1, 2, 3])
    array([0, 1, 2, 2, 0])
    """
    at = {n: p for p, n in enumerate(order)}
    change = np.zeros(len(order) + 1, int)
    last: dict[int, int] = {}
    for n, used in enumerate(uses):
        for m in used:
            last[m] = max(last.get(m, 0), at[n])
    for m, end in last.items():
        change[at[m] + 1] += 1
        change[end + 1] -= 1
    return np.cumsum(change)


def cut(price: Array, room: Sequence[int], tail: int, long: float) -> tuple[float, list[int]]:
    """The cheapest cuts and their price: the first is at 0, and what is behind the last is no section.

    >>> cut(np.array([0, 3, 3, 1, 3, 3, 1, 3, 3, 0]), [1] * 9, 3, 3.0)
    (2.0, [0, 3, 6])
    """
    ends = np.concatenate([[0], np.cumsum(room)])
    best, before = np.full(len(ends), np.inf), np.zeros(len(ends), int)
    best[0] = 0.0
    for j in range(1, len(ends)):
        begin = min(int(np.searchsorted(ends, ends[j] - 1.6 * long)), j - 1)
        size = ends[j] - ends[begin:j]
        total = best[begin:j] + UNEVEN * (size / long - 1.0) ** 2
        i = int(np.argmin(total))
        best[j], before[j] = total[i] + price[j], begin + i
    left = ends[-1] - ends
    allowed = np.flatnonzero((left <= 1.25 * tail) & (left >= 0.5 * tail) & (ends > 0))
    last = int(allowed[np.argmin(best[allowed])]) if len(allowed) else len(ends) - 1
    cuts = [last]
    while cuts[-1]:
        cuts.append(int(before[cuts[-1]]))
    return float(best[last]), cuts[::-1]
