"""Get and set the number of threads of NumPy's matrix library, by ctypes, as threadpoolctl does."""

from __future__ import annotations

import ctypes
import functools
import threading
from pathlib import Path
from typing import Any

import numpy as np

FOLDERS = ("../numpy.libs", ".dylibs", "../scipy_openblas64/lib", ".libs")
LOCK = threading.Lock()
ASKED = [0, 0]  # how many blocks want one thread; how many threads there were before


@functools.cache
def library() -> Any:
    """The functions that set and get the number; None if NumPy was built with another library."""
    for folder in FOLDERS:
        for path in sorted((Path(np.__file__).parent / folder).glob("*openblas*")):
            try:
                found = ctypes.CDLL(str(path))
            except OSError:
                continue
            for prefix in ("scipy_openblas", "openblas"):
                for suffix in ("64_", ""):
                    if hasattr(found, f"{prefix}_set_num_threads{suffix}"):
                        get = getattr(found, f"{prefix}_get_num_threads{suffix}")
                        return getattr(found, f"{prefix}_set_num_threads{suffix}"), get
    return None


def single_threaded() -> bool:
    """Can the matrix library be told to use one thread?"""
    return library() is not None


class one_thread:  # noqa: N801 - used like a function
    """``with one_thread():`` products use one thread, in the whole process, until the last such block has ended."""

    def __enter__(self) -> None:
        put, get = library()
        with LOCK:
            if not ASKED[0]:
                ASKED[1] = get()
                put(1)
            ASKED[0] += 1

    def __exit__(self, *exception: object) -> None:
        put, _ = library()
        with LOCK:
            ASKED[0] -= 1
            if not ASKED[0]:
                put(ASKED[1])
