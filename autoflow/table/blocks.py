"""Large arrays in blocks, on several threads: NumPy's elementwise functions use one core, and this lets them use all.

    z = in_blocks(np.exp, x)
    g = in_blocks(lambda g, z: g * (1 - z * z), g, z, out=g)

The arrays are cut into blocks of some thousand elements. Every thread takes the next block as long as there is one,
this thread too, so that nobody waits for a thread that has not begun. NumPy lets other threads run while it computes.
Intermediate results are as small as a block and stay in the cache, and the result may go into memory that is no longer
needed.

Same bits: the functions treat each element alone, and a block begins where a processor would begin anyway, at a
multiple of 64 elements, more than any takes at once (``tests/table/test_blocks.py`` compares all ufuncs). Sums are cut
only between rows: NumPy adds up the elements of a row in an order that depends on its length alone.

Same errors and warnings: in blocks, whatever would be reported is an exception. If one is raised, the result is thrown
away and computed again in one piece, on the caller's thread and at its line, where the report appears as always.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import cache, partial
from typing import Any

import numpy as np

from ..base.modes import modes
from ..base.types import AnyFunction, Array, ByName, Shape, Values

FROM = 200_000  # elements: with fewer, one thread is done before another has woken up
EACH = 500_000  # elements for each of more than two threads: with fewer they wait for the interpreter
BLOCK = 16_384  # elements of a block, or somewhat more: several arrays of them fit into the cache of a core
ALIGNED = 64  # blocks begin at multiples of it
NUMBERS = (int, float, complex, np.generic, type(None))
UFUNCS: dict[AnyFunction, np.ufunc] = {  # operator -> the ufunc for it, which can write into a given array
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.truediv: np.divide,
    operator.eq: np.equal, operator.ne: np.not_equal, operator.lt: np.less, operator.le: np.less_equal,
    operator.gt: np.greater, operator.ge: np.greater_equal,
}  # fmt: skip

# ---------------------------------------------------------------- what is cut


def in_blocks(function: AnyFunction, *values: Array, out: Array | None = None) -> Array:
    """``function(*values)`` for an elementwise function without side effects. Large arrays go through it in blocks.

    out : an array in C order whose numbers are not needed afterwards. The result is written over them if it has the
        same shape and dtype.

    >>> x = np.linspace(0.0, 1.0, 300_000)
    >>> z = in_blocks(lambda x: x * x + 1, x, out=x)
    >>> z is x, z[-1]
    (True, np.float64(2.0))
    """
    for v in values:
        if type(v) is np.ndarray and v.size >= FROM:
            z = cut_rows(UFUNCS.get(function, function), values, out)
            if z is not None:
                return z
            break
    return function(*values) if out is None or type(function) is not np.ufunc else function(*values, out=out)


def cut_rows(function: AnyFunction, values: Values, out: Array | None) -> Array | None:
    """The same, some rows at a time; None if that is impossible. If an array in C order has the shape of the result,
    NumPy goes row by row, too. If all arrays have that shape, a row is one element."""
    arrays = [v for v in values if type(v) is np.ndarray]
    shape = max(arrays, key=lambda a: (a.size, a.ndim)).shape
    is_known = all([type(v) is np.ndarray or isinstance(v, NUMBERS) for v in values])
    if not (is_known and any([a.flags.c_contiguous and a.shape == shape for a in arrays])):
        return None
    if all([a.shape == shape and (a.flags.c_contiguous or not any(a.strides)) for a in arrays if a.ndim]):
        values = tuple([v.reshape(-1) if type(v) is np.ndarray and v.ndim else v for v in values])
        return by_rows(function, values, (math.prod(shape),), shape, out)
    return by_rows(function, values, shape, shape, out)


def reduce_rows(ufunc: np.ufunc, x: Array, axis: Any, dtype: Any, keepdims: bool | None) -> Array | None:
    """``ufunc.reduce(x, axis, dtype, keepdims=keepdims)`` for a large x if each result comes from one row; else None.

    >>> print(reduce_rows(np.add, np.ones((3, 10)), 0, None, False))  # each result comes from all rows
    None
    """
    (axis,) = axis if type(axis) is tuple and len(axis) == 1 else (axis,)
    if x.ndim < 2 or axis not in (-1, x.ndim - 1) or not x.flags.c_contiguous or dtype is not None:
        return None
    rows, shape = x.reshape(-1, x.shape[-1]), (*x.shape[:-1], 1) if keepdims else x.shape[:-1]
    return by_rows(partial(ufunc.reduce, axis=1), (rows,), rows.shape, shape)


def by_rows(
    function: AnyFunction, values: Sequence[Any], rows: Shape, shape: Shape, out: Array | None = None
) -> Array | None:  # fmt: skip
    """``function(*values)``, of ``shape``, from some ``rows`` at a time. None if that gains nothing or raised an
    exception."""
    n, row = rows[0], math.prod(rows[1:])
    threads = min(count_threads(), max(2, n * row // EACH))
    has_out = type(function) in (np.ufunc, partial)  # then nothing has to stay in the cache: a few large blocks will do
    step = ALIGNED // math.gcd(row, ALIGNED)
    step *= math.ceil(max(BLOCK, n * row / threads / 4 if has_out else 0) / (row * step))
    if step >= n or (threads == 1 and has_out):
        return None
    whole = [type(v) is not np.ndarray or v.ndim < len(rows) or len(v) != n for v in values]

    def parts(start: int, stop: int) -> list[Array]:
        return [v if is_whole else v[start:stop] for v, is_whole in zip(values, whole, strict=True)]

    def compute(start: int, stop: int) -> None:
        if has_out:
            function(*parts(start, stop), out=target[start:stop])
        else:
            target[start:stop] = function(*parts(start, stop))

    z: Array = None
    settings: ByName = {kind: how if how == "ignore" else "raise" for kind, how in np.geterr().items()}
    try:
        with np.errstate(**settings):
            like = function(*parts(0, 0))
            if type(like) is not np.ndarray or like.dtype.kind not in "biufc":
                return None
            z = out if out is not None and out.dtype == like.dtype else np.empty(shape, like.dtype)
            target = z.reshape(n, *like.shape[1:])
            share([partial(compute, start, start + step) for start in range(0, n, step)], min(threads, -(-n // step)))
    except Exception:
        if z is not None and z is out:  # the numbers that it was computed from are gone
            raise
        return None
    return z


# ---------------------------------------------------------------- threads


POOL: list[Any] = []
NUMBERS_OF_THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"  # variables of the environment
IS_ALONE = [sys.platform in ("emscripten", "wasi")]  # is this a process that may not have threads?


def share(tasks: Sequence[Callable[[], None]], threads: int) -> None:
    """Call all tasks, on ``threads`` threads. When it returns or raises, no thread runs or holds any of them: one that
    has not begun would hold arrays until it learns that there is nothing left to do."""
    from concurrent.futures import wait

    ends = [None] * threads
    waiting = deque([*tasks, *ends])

    def work() -> None:
        try:
            while (task := waiting.popleft()) is not None:
                task()
        except BaseException:
            waiting.extendleft(ends)
            raise

    others: list[Any] = []
    try:
        with contextlib.suppress(RuntimeError):  # the interpreter is ending, or the system is out of threads
            others.extend(pool().submit(copy_context().run, work) for _ in ends[1:])
        work()
    finally:
        waiting.extendleft(ends)
        wait([other for other in others if not other.cancel()])
        waiting.clear()
    for other in others:
        if not other.cancelled():
            other.result()


def count_threads() -> int:
    """How many threads may compute: ``af.options.threads``, or if that is 0 one for each core, or fewer if the
    environment says so. Never more than threadpoolctl allows; one in children of multiprocessing and in forks, beside
    which other processes compute."""
    child = sys.modules.get("multiprocessing.process")
    if IS_ALONE[0] or (child is not None and child.parent_process() is not None):
        return 1
    settings = [os.environ.get(name, "") for name in NUMBERS_OF_THREADS]
    usual = min([cores(), *[int(text) for text in settings if text.isdigit() and int(text)]])
    libraries = matrix_libraries(limits) if (limits := sys.modules.get("threadpoolctl")) else ()
    allowed = min([usual, *[library.num_threads or usual for library in libraries]])
    return allowed if allowed < usual else modes().threads or usual


@cache
def matrix_libraries(threadpoolctl: Any) -> Values:
    """The libraries that threadpoolctl limits: finding them takes milliseconds, asking one 1 µs."""
    return tuple(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool() -> Any:
    """Our threads, made when they are first needed: one for each core but the caller's."""
    if not POOL:
        from concurrent.futures import ThreadPoolExecutor

        POOL.append(ThreadPoolExecutor(max(cores() - 1, 1), "autoflow"))
    return POOL[0]


def stay_alone() -> None:
    """In a forked child, where no threads survive and the parent computes at the same time."""
    POOL.clear()
    IS_ALONE[0] = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=stay_alone)
