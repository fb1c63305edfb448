"""Values by their keys, and keys in the order in which they need each other."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """All values of each key; keys and values in the order in which they come.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def in_order(needs: Mapping[K, Iterable[K]], rank: Callable[[K], Any]) -> list[K]:
    """The keys, each behind those that it needs. The next one is the one of lowest rank among those that may come.

    needs : for each key the keys that it needs, which are keys of ``needs`` as well.

    Keys that wait for each other, and those that wait for them, are left out. (Kahn's algorithm; of keys of equal rank
    the first one comes first.)

    >>> in_order({"a": ["c"], "b": ["c", "c"], "c": [], "d": ["d"]}, ord)
    ['c', 'a', 'b']
    """
    place = {key: n for n, key in enumerate(needs)}
    waiting = {key: len({*some}) for key, some in needs.items()}
    users = grouped([(x, key) for key, some in needs.items() for x in dict.fromkeys(some)])
    ready = [(rank(key), place[key], key) for key, n in waiting.items() if not n]
    heapq.heapify(ready)
    order = []
    while ready:
        _, _, key = heapq.heappop(ready)
        order.append(key)
        for user in users.get(key, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (rank(user), place[user], user))
    return order
