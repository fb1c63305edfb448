"""Large gradients written over ones that are not needed any more.

On the way back most gradients are read once: ``g`` goes into ``g * y``, and is forgotten. Where the row sends g times
something that was kept (as ``multiply`` and ``exp`` do) or −g, and where two contributions are added, the result can
be written into the memory of g. On arrays that do not fit into the cache that saves a third of the traffic, and the
system need not find new memory. The bits are the same.

Whether anybody else looks at g, its reference count says: a variable of the user's, a view, a second operand that has
been sent the same array, a gradient that stays with its node, each counts as one. How many references the pass itself
holds is not known beforehand (it depends on the version of Python), so it is counted once, in a small pass. NumPy
decides in the same way that ``a * b + c`` needs one new array and not two.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import Any

import numpy as np

from . import engine
from .grads import HALF, added
from .rules.shapes import sum_to
from .rules.table import Pull, Rule

Array = Any
LARGE = 16_384  # elements: 128 KB, from which it pays
MADE: dict[Rule, tuple[Pull | None, ...] | None] = {}


# -- which rows can


class Gradient:
    """Stands for g: what a row does with it first is what it does, if it does nothing else."""

    __array_ufunc__ = None

    def __mul__(self, other: Any) -> Any:
        return np.multiply, other

    def __neg__(self) -> Any:
        return np.negative, None


class Kept:
    """Stands for a value that was kept: ``saved[k]``."""

    def __init__(self, k: int) -> None:
        self.k = k


def overwriting(rule: Rule) -> tuple[Pull | None, ...] | None:
    """The pulls of ``rule``, that of the last operand writing over g; None where the row is no such product.

    All operands must be sent products: ``x - y`` sends g itself to x, and nobody may write into it.
    """
    if rule not in MADE:
        MADE[rule] = None
        if isinstance(rule.function, np.ufunc) and rule.elementwise:
            pulls = [over_g(rule, k) for k in range(rule.operands)]
            if all(pulls):
                MADE[rule] = (*rule.pulls[:-1], pulls[-1])
    return MADE[rule]


def over_g(rule: Rule, k: int) -> Pull | None:
    """What is sent to the k-th operand, written over g, if the row says ``g * value`` or ``-g``.

    >>> from autoflow.rules import RULES
    >>> pull, g, x = over_g(RULES[np.multiply], 1), np.ones(2), np.array([3.0, 4.0])
    >>> pull(g, (x, x, x * x)) is g, g
    (True, array([3., 4.]))
    """
    reads = rule.reads[k]
    if reads is None or any([what for _, what in reads]):
        return None
    try:
        ufunc, value = rule.derivatives[rule.names[k]](Gradient(), *[Kept(i) for i, _ in reads])
    except (TypeError, AttributeError):  # it does something else with g, or computes with what was kept
        return None
    if ufunc is np.negative:
        return lambda g, saved: sum_to(np.negative(g, out=g), saved[k].shape)
    if not isinstance(value, Kept):
        return None
    i = value.k
    return lambda g, saved: sum_to(np.multiply(g, saved[i], out=g), saved[k].shape)


# -- when they may


def free_to_write(pair: tuple[Any, Array]) -> bool:
    """Does nobody but the pass hold the gradient in ``pair``? For calls from a step that has a name for it, too."""
    g = pair[1]
    return type(g) is np.ndarray and g.base is None and g.flags.writeable and getrefcount(g) <= IN_STEP


def joined(a: Array, b: Array) -> Array:
    """a + b, into the memory of one of them if nobody but the pass holds it. To be called by the engine itself."""
    if type(a) is np.float64:  # in graphs of numbers there are many sums
        return a + b
    if type(a) is np.ndarray and a.size > LARGE and type(b) is np.ndarray and a.shape == b.shape:
        if a.dtype != b.dtype or a.dtype == HALF:
            return added(a, b)
        if getrefcount(a) <= IN_SUM[0] and a.base is None and a.flags.writeable:
            return np.add(a, b, out=a)
        if getrefcount(b) <= IN_SUM[1] and b.base is None and b.flags.writeable:
            return np.add(a, b, out=b)
    return added(a, b)


class Toy:
    """A record of a pass that only counts references."""

    def __init__(self, *parents: Any) -> None:
        self.parents = parents


def counted() -> tuple[int, tuple[int, int]]:
    """How many references a step sees on an array that only the pass holds, and a sum on its two; 0 if not certain."""
    in_step: list[int] = []
    in_sum: list[tuple[int, int]] = []

    def count(pair: tuple[Any, Any]) -> int:
        g = pair[1]
        return getrefcount(g)

    def step(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        in_step.append(count(pair))
        return g, (lambda g, saved: g + 1.0,) * len(record.parents), None, None

    def add(a: Any, b: Any) -> Any:
        in_sum.append((getrefcount(a), getrefcount(b)))
        return a + b

    x = Toy()
    for _ in range(40):  # Python adapts its code while it runs
        engine.pull_back(Toy(Toy(x), Toy(x)), np.zeros(2) + 1.0, step, add=add)
    del in_step[0::3]  # the first of each pass: the seed, which is held by us as well
    if len({*in_step}) > 1 or len({*in_sum}) > 1 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0, (0, 0)
    return in_step[0], in_sum[0]


IN_STEP, IN_SUM = counted()
