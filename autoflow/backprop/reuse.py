"""Large gradients written over ones that are not needed any more.

In a backward pass most gradients are read once: ``g`` goes into ``g * y``, and is forgotten. Where the row sends g
times something that was kept (as ``multiply`` and ``exp`` do) or −g, and where two contributions are added, the result
can be written into the memory of g. On arrays that do not fit into the cache this saves a third of the traffic, and the
system need not find new memory. The bits are the same.

The reference count tells whether g is used elsewhere: a variable of the user's, a view, a second operand that has been
sent the same array, and a gradient that stays with its node each count as one. How many references the pass itself
holds depends on the version of Python, so it is counted once, in a small pass. NumPy uses the same trick to compute
``a * b + c`` with one new array instead of two.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import Any

import numpy as np

from ..nodes.grads import HALF, add_gradients
from ..rules import RULES
from ..rules.shapes import sum_to
from ..rules.table import Rule
from ..rules.vjps import VJP
from . import engine

Array = Any
LARGE = 16_384  # elements: it pays from 128 KB


# -- which rows can: those that send every operand g times something that was kept, or -g

OVER_G: dict[Any, VJP] = {  # what is sent to the last operand, written over g
    np.multiply: lambda g, saved: np.multiply(g, saved[0], out=g),
    np.exp: lambda g, saved: np.multiply(g, saved[-1], out=g),
    np.negative: lambda g, saved: np.negative(g, out=g),
}
MADE: dict[Rule, tuple[Any, Any]] = {}  # row -> its vjps as they are in the table, and those that write over g


def vjps_in_place(rule: Rule) -> tuple[VJP | None, ...] | None:
    """The vjps of ``rule``, that of the last operand writing over g; None for all rows but those of :data:`OVER_G`.

    ``x - y`` is not among them: it sends g itself to x, so g must stay as it is. If the user has given a row other
    derivatives, they are not replaced.
    """
    vjps, writing = MADE.get(rule, (None, None))
    return writing if vjps is rule.vjps else None


def _build_vjps(rule: Rule, over: VJP) -> tuple[Any, Any]:
    k = rule.operands - 1
    return rule.vjps, (*rule.vjps[:k], lambda g, saved: sum_to(over(g, saved), saved[k].shape))


MADE.update({RULES[function]: _build_vjps(RULES[function], over) for function, over in OVER_G.items()})


# -- when they may


def free_to_write(pair: tuple[Any, Array]) -> bool:
    """Is the gradient in ``pair`` held by the pass alone? The calling ``open_record`` may have a name for it.

    Its elements must be in the order that a new array would have; otherwise later sums would add in another order.
    """
    g = pair[1]
    return type(g) is np.ndarray and g.base is None and g.flags.carray and getrefcount(g) <= IN_STEP


def add_in_place(a: Array, b: Array) -> Array:
    """a + b, in the memory of one of them if the pass alone holds it. Only the engine itself may call it."""
    if type(a) is np.float64:  # in graphs of numbers there are many sums
        return a + b
    if type(a) is np.ndarray and a.size > LARGE and type(b) is np.ndarray and a.shape == b.shape:
        if a.dtype != b.dtype or a.dtype == HALF or not (a.flags.carray and b.flags.carray):
            return add_gradients(a, b)
        if getrefcount(a) <= IN_SUM[0] and a.base is None:
            return np.add(a, b, out=a)
        if getrefcount(b) <= IN_SUM[1] and b.base is None:
            return np.add(a, b, out=b)
    return add_gradients(a, b)


class Toy:
    """A record of a pass that only counts references."""

    def __init__(self, *parents: Any) -> None:
        self.parents = parents


def calibrate_counts() -> tuple[int, tuple[int, int]]:
    """References that ``open_record`` sees on an array that only the pass holds, a sum on its two; 0 if not certain."""
    if sys.gettrace() or sys.getprofile() or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0, (0, 0)  # a debugger that looks at variables holds them too: the count would be too high
    in_step: list[int] = []
    in_sum: list[tuple[int, int]] = []

    def count(pair: tuple[Any, Any]) -> int:
        g = pair[1]
        return getrefcount(g)

    def open_record(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        in_step.append(count(pair))
        return g, (lambda g, saved: g + 1.0,) * len(record.parents), None, None

    def add(a: Any, b: Any) -> Any:
        in_sum.append((getrefcount(a), getrefcount(b)))
        return a + b

    x = Toy()
    for _ in range(40):  # Python adapts its code while it runs
        engine.pull_back(Toy(Toy(x), Toy(x)), np.zeros(2) + 1.0, open_record, add=add)
    del in_step[0::3]  # the first of each pass: the seed, which is held by us as well
    if len({*in_step}) > 1 or len({*in_sum}) > 1:
        return 0, (0, 0)
    return in_step[0], in_sum[0]


IN_STEP, IN_SUM = calibrate_counts()
