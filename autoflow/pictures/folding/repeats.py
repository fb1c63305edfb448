"""Parts of a graph that are equal: a layer that is used again, the steps of a loop.

Two sorts. Boxes of one name and one content beside each other, and, where there are no boxes, a stretch of operations
that is the same pattern again and again. Either becomes a box around all of them, which can be folded. A picture says
whether the parts are the same Variables used again (``×5``), or as many sets of their own (``+4 more``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .skeleton import Repeat, Skeleton

LONGEST = 64  # operations in a pattern
LEAST = 3  # times that a pattern must occur
NUMBER = re.compile(r"[\s_.-]*\d+$")


def equal_boxes(graph: Skeleton, candidates: set[int], stay: set[int]) -> set[int]:
    """Put a box around equal boxes that follow each other. Returns those new boxes that may be closed."""
    content: dict[int, int] = {}
    parent: dict[int, tuple[int, ...]] = {}
    for path, word in zip(graph.paths, graph.words, strict=True):
        for level, box in enumerate(path if word else ()):
            content[box] = hash((content.get(box), word))
            parent.setdefault(box, path[:level])
    groups: list[list[int]] = []
    last: dict[tuple[int, ...], list[int]] = {}  # around -> the group that its latest box is in
    for box, around in parent.items():
        group = last.get(around)
        alike = group and content[group[0]] == content[box] and stem(graph, group[0]) == stem(graph, box)
        if alike and group is not None and box in candidates:
            group.append(box)
        else:
            last[around] = [box] if box in candidates else []
            groups.append(last[around])
    new: dict[int, int] = {}
    inside = members_of(graph, {box for group in groups if len(group) > 1 for box in group})
    closed = set()
    for group in groups:
        if len(group) > 1:
            number = 1 + max(graph.names)
            graph.names[number] = stem(graph, group[0])
            graph.repeats[number] = Repeat(len(group), sets_of(graph, [inside[box] for box in group]))
            new.update(dict.fromkeys(group, number))
            if not stay & set(group):
                closed.add(number)
    for k, path in enumerate(graph.paths):
        if any([box in new for box in path]):
            graph.paths[k] = tuple([b for box in path for b in ((new[box], box) if box in new else (box,))])
    return closed


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
    """How many different sets of Variables equal parts use, where all of them use one.

    The first step of a loop may begin with a Variable where others go on from the step before: that does not count.
    """
    rows = [[a if graph.variables[a] else -1 for k in part for a in graph.sources[k]] for part in parts]
    if len({len(row) for row in rows}) > 1:
        return len({frozenset(row) for row in rows})
    used = np.array(rows)
    shared = used[:, (used >= 0).all(axis=0)]
    return len(np.unique(shared, axis=0)) if shared.size else 1


def runs(graph: Skeleton, stay: set[int]) -> set[int]:
    """Put a box around each stretch of operations, of one box, that repeats a pattern. Returns these boxes."""
    stretches: dict[tuple[int, ...], list[int]] = {}
    for k, path in enumerate(graph.paths):
        if graph.words[k] and k not in graph.outputs:
            stretches.setdefault(path, []).append(k)
    codes: dict[str, int] = {}
    closed = set()
    for path, stretch in stretches.items():
        short = {word: word.partition(" ")[0].rstrip(",") for word in set(graph.words)}
        signs = [codes.setdefault(short[graph.words[k]], len(codes)) for k in stretch]
        waiting = [(0, len(stretch))]
        while waiting:
            start, end = waiting.pop()
            begin, length, times = pattern(np.array(signs[start:end]))
            if not times:
                continue
            begin += start
            members = stretch[begin : begin + length * times]
            number = 1 + max(graph.names, default=0)
            graph.names[number] = "repeat"
            parts = [members[i : i + length] for i in range(0, len(members), length)]
            graph.repeats[number] = Repeat(times, sets_of(graph, parts))
            for k in members:
                graph.paths[k] = (*path, number)
            closed.add(number)
            waiting += [(start, begin), (begin + length * times, end)]
    return closed - stay


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
