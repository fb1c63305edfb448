"""A pool of processes that were spawned and have nothing of ours, for tests of what can be sent to one."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Two workers, for the tests of a file."""
    if sys.platform == "emscripten":
        pytest.skip("not in a browser: no processes")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
