"""Equal parts of a graph: a layer that is used again, the steps of a loop.

There are two kinds: neighbouring boxes with the same name and content and, where there are no boxes, a stretch of
operations that repeats a pattern. Either becomes a box around all of them, which can be folded. A picture says
whether the parts use the same Variables again, or have each its own.

Long sequences (more than ALIKE parts) fold in every picture: the first part is drawn, the last one, and a card for
those between them ("+28 alike").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .skeleton import Repeat, Skeleton

LONGEST = 64  # operations in a pattern
LEAST = 3  # times that a pattern must occur
WORTH = 9  # operations in a repeat that is folded to save room
NUMBER = re.compile(r"[\s_.-]*\d+$")


def equal_boxes(graph: Skeleton, candidates: set[int], stay: set[int], most: int | None = None) -> set[int]:
    """Put a box around equal boxes that follow each other. Returns the boxes that may be closed then.

    most : only if there are more than this many, and only around those between the first and the last.
    """
    new: dict[int, int] = {}
    ends = int(most is not None)
    groups = [g for g in alike(graph, candidates) if len(g) > (most or 1) and not (ends and stay & set(g))]
    inside = members_of(graph, {box for group in groups for box in group})
    closed = set()
    for group in groups:
        middle = group[ends : len(group) - ends]
        parts = [inside[box] for box in middle]
        between = (graph.label(middle[0]), graph.label(middle[-1])) if ends else None
        number = wrap(graph, stem(graph, group[0]), Repeat(len(middle), sets_of(graph, parts), between))
        new.update(dict.fromkeys(middle, number))
        if not stay & set(group):
            closed.add(number)
            closed.update(middle if ends else ())  # opened, it shows them as cards
    for k, path in enumerate(graph.paths):
        if any([box in new for box in path]):
            graph.paths[k] = tuple([b for box in path for b in ((new[box], box) if box in new else (box,))])
    return closed


def wrap(graph: Skeleton, name: str, repeat: Repeat) -> int:
    """The number of a new box."""
    number = graph.new_box(name, name)
    graph.repeats[number] = repeat
    return number


def alike(graph: Skeleton, candidates: set[int]) -> list[list[int]]:
    """Consecutive boxes with the same name and content, in the order of their creation."""
    content: dict[int, int] = {}
    parent: dict[int, tuple[int, ...]] = {}
    for path, word in zip(graph.paths, graph.words, strict=True):
        for level, box in enumerate(path if word else ()):
            content[box] = hash((content.get(box), first_word(word)))
            parent.setdefault(box, path[:level])
    groups: list[list[int]] = []
    last: dict[tuple[int, ...], list[int]] = {}  # around -> the group that its latest box is in
    for box, around in parent.items():
        group = last.get(around)
        if (
            group
            and box in candidates
            and content[group[0]] == content[box]
            and stem(graph, group[0]) == stem(graph, box)
        ):
            group.append(box)
        else:
            last[around] = [box] if box in candidates else []
            groups.append(last[around])
    return groups


def first_word(word: str) -> str:
    """``sum`` of ``sum, axis=0``."""
    return word.partition(" ")[0].rstrip(",")


def stem(graph: Skeleton, box: int) -> str:
    """The name without the number at its end: ``layer`` of ``layer_3``."""
    return NUMBER.sub("", graph.names[box]) or graph.names[box]


def members_of(graph: Skeleton, boxes: set[int]) -> dict[int, list[int]]:
    """The operations in each box."""
    inside: dict[int, list[int]] = {box: [] for box in boxes}
    for k, path in enumerate(graph.paths):
        for box in path if graph.words[k] else ():
            if box in inside:
                inside[box].append(k)
    return inside


def sets_of(graph: Skeleton, parts: Sequence[Sequence[int]]) -> int:
    """How many different sets of Variables equal parts use, for each place where all of them use one.

    The first step of a loop may begin with a Variable where others continue the step before; that does not count.
    """
    rows = [[a if graph.variables[a] else -1 for k in part for a in graph.sources[k]] for part in parts]
    if len({len(row) for row in rows}) > 1:
        return len({frozenset(row) for row in rows})
    used = np.array(rows)
    shared = used[:, (used >= 0).all(axis=0)]
    return len(np.unique(shared, axis=0)) if shared.size else 1


def runs(graph: Skeleton, stay: set[int], most: int | None = None) -> set[int]:
    """Put a box around each stretch of operations, of one box, that repeats a pattern. Returns these boxes.

    most : only sequences of more parts than that, each of which uses what the one before has computed; the first and
    the last part become open boxes.
    """
    ends = int(most is not None)
    stretches: dict[tuple[int, ...], list[int]] = {}
    for k, path in enumerate(graph.paths):
        if graph.words[k] and (ends or k not in graph.outputs):
            stretches.setdefault(path, []).append(k)
    codes: dict[str, int] = {}
    closed = set()
    short = {word: first_word(word) for word in set(graph.words)}
    for path, stretch in stretches.items():
        signs = [codes.setdefault(short[graph.words[k]], len(codes)) for k in stretch]
        waiting = [(0, len(stretch))]
        while waiting:
            start, end = waiting.pop()
            begin, length, times = pattern(np.array(signs[start:end]))
            if not times:
                continue
            begin += start
            members = stretch[begin : begin + length * times]
            parts = [members[i : i + length] for i in range(0, len(members), length)]
            if most is None and len(members) < WORTH:
                continue
            if most is not None and not (times > most and is_chain(graph, parts) and not any(
                [k in graph.outputs for part in parts[1:-1] for k in part]
            )):  # fmt: skip
                continue
            closed |= put_in_boxes(graph, path, parts, ends)
            waiting += [(start, begin), (begin + length * times, end)]
    return closed - stay


def is_chain(graph: Skeleton, parts: Sequence[Sequence[int]]) -> bool:
    """Does each part use a value of the part before?"""
    return all(
        [any([a in before for k in part for a in graph.sources[k]]) for before, part in pairwise(map(set, parts))]
    )


def put_in_boxes(graph: Skeleton, path: tuple[int, ...], parts: Sequence[Sequence[int]], ends: int) -> set[int]:
    """Boxes around the parts of a pattern; those that are closed."""
    middle = parts[ends : len(parts) - ends]
    sets = sets_of(graph, middle)
    if not ends:
        number = wrap(graph, "repeat", Repeat(len(parts), sets))
        for k in [k for part in parts for k in part]:
            graph.paths[k] = (*path, number)
        return {number}
    around = wrap(graph, "repeat", Repeat(len(middle), sets, ("part 2", f"part {len(parts) - 1}")))
    closed = {around}
    for place, part in enumerate(parts, 1):
        number = graph.new_box("part", f"part {place}")
        between = 1 < place < len(parts)
        closed |= {number} if between else set()
        for k in part:
            graph.paths[k] = (*path, around, number) if between else (*path, number)
    return closed


def pattern(codes: Any) -> tuple[int, int, int]:
    """Where the longest repetition begins, how long its pattern is, and how often it occurs: (begin, length, times).

    >>> pattern(np.array([9, 1, 2, 1, 2, 1, 2, 8]))
    (1, 2, 3)
    """
    best = (0, 0, 0)
    for length in range(1, min(LONGEST, len(codes) // LEAST) + 1):
        same = np.concatenate([[False], codes[:-length] == codes[length:], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2)  # begin and end of each stretch of sameness
        if len(edges):
            begin, end = (int(i) for i in edges[np.argmax(edges[:, 1] - edges[:, 0])])
            times = (end - begin) // length + 1
            if times >= LEAST and length * times > best[1] * best[2]:
                best = (begin, length, times)
    return best
