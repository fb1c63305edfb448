"""A bar for what takes longer than a breath."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def progress(steps: Iterable[T], words: str) -> Iterable[T]:
    """``steps``, with a progress bar if tqdm is installed. ``words`` stand before it.

    It is plain text, which every notebook shows, and starts no thread, since browsers have none.

    >>> list(progress(range(3), "training"))
    [0, 1, 2]
    """
    try:
        from tqdm.std import tqdm
    except ImportError:
        return steps

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0

    return Bar(steps, desc=words)
