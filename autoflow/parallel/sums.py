"""Sums in a fixed order. Rounding depends on the order, so a sum in order of arrival would be another in every run.

Here the order is that of a binary tree, ((0+1) + (2+3)) + ..., whose shape depends on the number of parts alone. Groups
of 2, 4, 8 ... parts are subtrees of it, so it does not matter how many a worker adds up before it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Array = Any
Answer = tuple[list[Array], list[list[Array]]]  # of some parts: what is summed; of what is not, the pieces in order


def add_answers(a: Answer, b: Answer) -> Answer:
    """The answer of both, b being right behind a.

    >>> add_answers(([1.0], [["a"]]), ([2.0], [["b"]]))
    ([3.0], [['a', 'b']])
    """
    return [x + y for x, y in zip(a[0], b[0], strict=True)], [[*x, *y] for x, y in zip(a[1], b[1], strict=True)]


def tree_sum(items: Iterable[Any], add: Callable[[Any, Any], Any] = add_answers) -> Any:
    """The sum in the order of the tree. Of n items at most log₂ n sums are held at a time.

    >>> tree_sum("abcdef", lambda a, b: f"({a}{b})")
    '(((ab)(cd))(ef))'
    """
    held: list[tuple[int, Any]] = []  # level, sum of 2^level items
    for item in items:
        held.append((0, item))
        while len(held) > 1 and held[-1][0] == held[-2][0]:
            level, b = held.pop()
            held[-1] = level + 1, add(held[-1][1], b)
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total
