"""Functions in threads of their own, and memory that only reference counts free."""

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest


def in_threads(*functions: Callable[[], Any]) -> list[Any]:
    """Their results. An exception of one is raised here."""
    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(lambda f: f(), functions))


@pytest.fixture
def no_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
