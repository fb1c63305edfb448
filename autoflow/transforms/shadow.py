"""Numbers that NumPy reads past us: found by a second run, in which there are other numbers to be read.

``np.array([v, v])`` of vectors, ``np.full(n, node)``, ``plain.dot(node)``, ``np.asarray(node)`` read the memory of a
node, and call nothing of ours. But a node has its numbers twice: in its own memory, which is what others see, and in
the plain array with which we compute (``node._value``). Usually both are the same memory. In a shadow run every new
node lies on memory of its own with slightly other numbers. All that asks nodes computes what it did before, to the bit,
so if the result is another one, then numbers were read past us: the gradient through them is lost.

Numbers that leave on purpose, by ``x.value``, ``float(x)``, ``af.stop_gradient(x)``, are the right ones in either run.
The function runs twice, and its random generators start the second run as they started the first.
"""

from __future__ import annotations

import contextlib
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..backprop.second_runs import reachable_generators, states_of
from ..base import pytree
from ..base.errors import LostGradientError
from ..base.modes import switched
from ..nodes.nodes import current_record, gradient_target, value_of
from ..nodes.versions import caller

Run = Callable[[], Any]
PAST_US = (
    "np.array([v, v]) of arrays, np.full(n, node), plain.dot(node) and np.asarray(node) read the memory of a node and "
    "ask nobody. Use af.array([...]), np.stack, af.full; or x.value, float(x) or af.stop_gradient(x), if only the "
    "numbers are meant."
)


def checked_run(run: Run, *roots: Any) -> Any:
    """The result of ``run()``. Raises LostGradientError if numbers of nodes reach it past us.

    roots : where to look for random generators: the function and its arguments.

    >>> import autoflow as af
    >>> x = af.Variable(2.0)
    >>> float(checked_run(lambda: np.sum(af.full(3, np.square(x)) * x * float(x))))
    48.0
    >>> checked_run(lambda: np.sum(np.full(3, np.square(x)) * x))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    autoflow.errors.LostGradientError: numbers of nodes reach the result without a gradient ...
    """
    states = states_of(reachable_generators(*roots, run))

    def again(**modes: Any) -> Any:
        for state in states:
            state.write(state.state)
        with switched(**{"listeners": (), **modes}):
            return run()

    shadow = None
    with contextlib.suppress(Exception):  # it may come of the other numbers; if not, it comes again
        shadow = numbers_of(again(shadow=True))
    for state in states:
        state.write(state.state)
    result = run()
    if shadow is not None and same(numbers_of(result), shadow):
        return result
    if same(numbers_of(result), numbers_of(again())):
        raise LostGradientError(message(again))
    for state in states:  # it gives another result each time, so nothing can be said
        state.write(state.state)
    return run()


def message(again: Callable[..., Any]) -> str:
    """What is said, with the line that first computes with such numbers: the two runs are compared once more."""
    runs: list[list[Any]] = []
    for shadow in (False, True):
        runs.append([])
        with contextlib.suppress(Exception):
            again(shadow=shadow, keep=sys.maxsize, listeners=(lambda node: runs[-1].append(operands_read(node)),))
    place = next((f" (first used in {a[0]}, at {a[1]})" for a, b in zip(*runs, strict=False) if a != b), "")
    return f"numbers of nodes reach the result without a gradient{place}: {PAST_US}"


def operands_read(node: Any) -> tuple[str, str, list[int]]:
    """Of an operation that was just recorded: its name, the line, checksums of its operands."""
    record = current_record(node)
    values = [v for v in record.saved[:-1] if type(v) in NODE_TYPES or np.isscalar(v)]
    sums = [zlib.crc32(np.ascontiguousarray(v).tobytes()) for v in values]
    return record.rule.name, caller(), sums


def numbers_of(z: Any) -> list[Any]:
    """The numbers of the results that have a gradient."""
    return [np.array(value_of(x)) for x in pytree.tree_leaves(z) if gradient_target(x) is not None]


def same(a: list[Any], b: list[Any]) -> bool:
    """Bit for bit, but for NaNs."""
    return len(a) == len(b) and all([np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)])
