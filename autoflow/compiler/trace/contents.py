"""The contents of an array, a buffer or a collection from outside, compared in full with what they were.

An array that the program reads is read again at every call. But one of its numbers may also have ended up, unseen, in
something that the program takes for constant: ``x @ (a + b)``, ``x * float(a[0])``, ``if a[0] > 0``. So
every element is compared before every run. The price: time, and memory for a copy.
"""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from .reachable import NUMBERS

SMALL = 4096  # bytes that are compared as one bytes object
CHUNK = 65_536  # words that are compared at a time
BUFFERS = (bytearray, array.array, memoryview)
COLLECTIONS = (list, dict, set, deque)


def elements_of(container: Any) -> list[Any]:
    """The elements of a list, a set or a deque, the keys and values of a dict."""
    return [*container.keys(), *container.values()] if isinstance(container, dict) else [*container]


def is_equal(now: Any, before: Any) -> bool:
    """The same object, the same number, or a tuple of such?"""
    if now is before or type(now) is not type(before):
        return now is before
    if type(before) is tuple:
        return len(now) == len(before) and all(map(is_equal, now, before))
    return isinstance(before, NUMBERS) and repr(now) == repr(before)


def has_elements(container: Any, elements: list[Any]) -> bool:
    """Are these the elements, in this order?"""
    now = container if isinstance(container, list) else elements_of(container)
    if len(now) != len(elements):
        return False
    return all(map(is_, now, elements)) or all(map(is_equal, now, elements))


def reader(x: Any) -> tuple[Callable[[], Any], Any]:
    """A function without arguments, and what it returns while the contents of ``x`` are what they are now.

    >>> a = np.zeros(10_000)
    >>> read, mark = reader(a)
    >>> a[4321] = 7
    >>> read() == mark
    False
    """
    if not isinstance(x, np.ndarray):
        read: Callable[[], Any] = x.tobytes if hasattr(x, "tobytes") else lambda: bytes(x)
    elif x.dtype.hasobject:
        elements = x.ravel().tolist()
        return lambda: has_elements(x.ravel().tolist(), elements), True
    elif x.nbytes <= SMALL:
        read = x.tobytes
    else:
        return large_reader(x), True
    return read, read()


def large_reader(x: np.ndarray) -> Callable[[], bool]:
    """A function that says whether every byte of a large array is unchanged."""
    before = words(x).copy()

    def is_unchanged() -> bool:
        now = words(x)
        if now.shape != before.shape:
            return False
        return all([
            np.array_equal(now[k : k + CHUNK], before[k : k + CHUNK]) for k in range(0, before.size, CHUNK)
        ])  # fmt: skip

    return is_unchanged


def words(x: np.ndarray) -> np.ndarray:
    """The memory of an array as a vector of integers; of one with gaps a copy. (NaN is itself, 0.0 is not -0.0.)"""
    x = x if x.flags.c_contiguous else x.T if x.flags.f_contiguous else np.ascontiguousarray(x)
    return x.reshape(-1).view(np.uint8 if x.itemsize % 8 else np.uint64)
