"""Functions in threads of their own, and memory that only reference counts free."""

import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest


def in_threads(*functions: Callable[[], Any]) -> list[Any]:
    """Their results. An exception of one is raised here."""
    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(lambda f: f(), functions))


@contextmanager
def quick_switches() -> Iterator[None]:
    """Python changes threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.fixture
def no_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
