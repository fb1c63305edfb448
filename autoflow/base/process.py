"""Settings of the whole process: Python's collector of cycles, the C library's allocator; and its threads.

Both settings are switches that can make large graphs and large arrays several times as fast. Neither is touched unless
you ask, with one exception: a backward pass through a large graph pauses the collector for as long as it takes
(:func:`call_without_collector`).
"""

from __future__ import annotations

import _thread
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .transformed import FunctionOfFunction
from .types import AnyFunction, F, T

# ---------------------------------------------------------------- the collector of cycles, and the allocator


@contextmanager
def finally_(undo: AnyFunction, *args: object) -> Iterator[None]:
    """After the block ``undo(*args)``; once more if Ctrl-C comes before it is done."""
    try:
        try:
            yield
        finally:
            undo(*args)
    except BaseException:
        undo(*args)
        raise


class Lock(type(threading.RLock())):  # type: ignore[misc]  # the class has no public name
    """A reentrant lock for ``with`` that Ctrl-C cannot leave locked.

    Python looks for signals when a call in C has returned. Up to Python 3.13 the beginning of ``with lock`` is not such
    a call; from 3.14 on the exception can come after the lock has been taken and before its block has begun.

    >>> with Lock():
    ...     pass
    """

    if sys.version_info >= (3, 14):

        def __enter__(self) -> bool:
            depth = self._recursion_count()
            try:
                return bool(self.acquire())
            except BaseException:
                if self._recursion_count() > depth:
                    self.release()
                raise


LOCK = Lock()  # when the collector runs again it may call a finalizer, which may pause it, too
PAUSES = [0]  # how many blocks and passes want the collector to rest
WAS_ON = [False]  # did it run before the first of them?


class gc_paused:  # noqa: N801 - used like a function
    """``with af.gc_paused():`` Python's cyclic garbage collector is off inside the block. Also a decorator.

    Whenever many objects have been made, Python searches all live objects for reference cycles. While a graph of a
    million nodes is built it does so again and again, and finds nothing: graphs have no cycles, they are freed by
    reference counting. Blocks nest, also across threads: the collector is switched on again, if it was on before, when
    the last block has ended.

    >>> import autoflow as af
    >>> with af.gc_paused():
    ...     gc.isenabled()
    False
    """

    def __enter__(self) -> gc_paused:
        with LOCK:
            if not PAUSES[0]:
                WAS_ON[0] = gc.isenabled()
                gc.disable()
            PAUSES[0] += 1
        return self

    def __exit__(self, *exception: object) -> None:
        with LOCK:
            PAUSES[0] -= 1
            if not PAUSES[0] and WAS_ON[0]:
                gc.enable()

    def __call__(self, function: F) -> F:
        """As a decorator."""
        return PausedFunction(function, {})  # type: ignore[return-value]


class PausedFunction(FunctionOfFunction):
    """A function during which Python's collector of cycles is off."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The function's arguments."""
        return call_without_collector(self.f, *args, **options)


def call_without_collector(function: Callable[..., T], *args: Any, **options: Any) -> T:
    """``function(*args, **options)`` while Python does not look for cycles; blocks of :class:`gc_paused` count, too.

    A pass makes one tuple for each record, and after some thousands of them Python looks through the whole graph.
    Ctrl-C restores the collector wherever it comes: Python looks for signals when it enters a function of Python and
    when a call in C has returned, and there is neither between a change of the count and the call that belongs to it.

    >>> call_without_collector(gc.isenabled), gc.isenabled()
    (False, True)
    """
    is_counted = False

    def count_down() -> None:
        nonlocal is_counted
        with LOCK:
            if is_counted:
                PAUSES[0] -= 1
                is_counted = False
                if not PAUSES[0] and WAS_ON[0]:
                    gc.enable()

    try:
        with LOCK:
            if not PAUSES[0]:
                WAS_ON[0] = gc.isenabled()
            PAUSES[0] += 1
            is_counted = True
            gc.disable()
        return function(*args, **options)
    finally:
        try:
            count_down()
        except BaseException:  # Ctrl-C, before it had begun
            count_down()
            raise


def warm_allocator() -> None:
    """Let the C library keep freed memory, as it does in any process that has worked for a while.

    In a fresh process glibc returns each freed block of more than 128 KB to the system, so every large temporary
    array causes page faults anew: NumPy on 100,000 elements then takes six times as long (measured: 2.9
    against 0.49 ms for a chain of six functions). Making and freeing one block of just under 32 MB, which is never
    touched, raises that limit to 32 MB for good; the process may then hold up to 64 MB that it does not use. Compiled
    functions do not need it, because their buffers stay. With other C libraries nothing happens.

    >>> import autoflow as af
    >>> af.warm_allocator()
    """
    np.empty(2**22 - 1024)


# ---------------------------------------------------------------- threads that Python does not know


def hidden_threads(known: list[threading.Thread]) -> int:
    """The number of threads without a target: those of ``_thread``, and those of libraries in C, once they have asked
    for ``threading.current_thread()``. ``known``: what ``threading.enumerate()`` gives."""
    dummies = [*map(type, known)].count(threading._DummyThread)
    return max(_thread._count() + 1 - len(known) + dummies, dummies)  # _thread does not count the main thread


@functools.cache
def hidden_before(process: int) -> int:
    """The same when this process imported us or, if it was forked, asked first: such threads are not the user's.
    pytest's workers have one."""
    return hidden_threads(threading.enumerate())


hidden_before(os.getpid())
