"""Around an optimiser: a learning rate that changes, one step for several small batches, gradients made smaller.

A schedule is a function of the number of steps made (or epochs: you decide when to call ``step``). It returns the
factor for the learning rate with which the optimiser started. Any function will do:
``Schedule(sgd, lambda t: 1 / (1 + t))``. (Those that are made here are partials of functions, which can be pickled.)

Accumulation: gradients of several small batches are as that of a large one, which may not fit into memory.

Clipping: gradients that are too large are made smaller, between ``backward()`` and ``step()``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import AnomalyError
from ..base.modes import announce
from ..base.saving import check_state
from ..forward.writing import run_or_undo, set_all
from ..nodes.grads import plan_grads
from ..nodes.nodes import value_of
from ..table.shapes import Array, is_number, is_on_host
from .base import OPTIMISER, Optimiser, check_kind, not_negative, variables, wide

__all__ = [
    "Accumulation", "Schedule", "clip_grad_norm", "clip_grad_value", "cosine", "inverse_square_root", "linear",
    "step_decay", "warm_up",
]  # fmt: skip

# ---------------------------------------------------------------- schedules: the learning rate over time

Factor = Callable[[int], float]


class Schedule:
    """Sets ``optimiser.lr`` to the learning rate it had, times ``factor(t)``: at once for t = 0, then at each step.

    >>> from autoflow import optim
    >>> sgd = optim.SGD([af.Variable(1.0)], lr=0.1)
    >>> schedule = optim.Schedule(sgd, optim.step_decay(every=2, factor=0.5))
    >>> for _ in range(5):
    ...     print(sgd.lr, end=" ")
    ...     schedule.step()
    0.1 0.1 0.05 0.05 0.025
    """

    def __init__(self, optimiser: Optimiser, factor: Factor) -> None:
        check_kind("Schedule", "step", OPTIMISER, optimiser=optimiser)
        check_kind("Schedule", "__call__", "a function of the step, such as optim.cosine(100)", factor=factor)
        self.optimiser, self.factor = optimiser, factor
        self.lr, self.steps = optimiser.lr, 0
        optimiser.lr = self.lr * factor(0)
        announce("schedule", self, optimiser.parameters)

    def step(self) -> None:
        """Count one more step, and set the learning rate."""
        lr = self.lr * self.factor(self.steps + 1)
        self.optimiser.lr, self.steps = lr, self.steps + 1

    def state_dict(self) -> dict[str, float]:
        """The state that :meth:`load_state_dict` needs to continue."""
        return {"lr": self.lr, "steps": self.steps}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Continue where :meth:`state_dict` was taken. Raises StateError, and changes nothing, if it does not fit."""
        own: dict[str, Any] = {name: np.array(value) for name, value in self.state_dict().items()}
        values = check_state("Schedule", own, state, sizes=own)
        lr, steps = float(values["lr"]), int(values["steps"])
        now = not_negative("Schedule", "lr", lr * self.factor(steps))
        changes: list[dict[str, Any]] = [{"lr": lr, "steps": steps}, {"lr": now}]
        list(map(dict.update, [vars(self), vars(self.optimiser)], changes))  # one call in C


def step_decay(every: int, factor: float = 0.1) -> Factor:
    """Multiplied by ``factor`` after every ``every`` steps.

    >>> [step_decay(2)(t) for t in range(3)]
    [1.0, 1.0, 0.1]
    """
    at_least_one("step_decay", "every", every)
    return functools.partial(_step_decay, every, factor)


def _step_decay(every: int, factor: float, t: int) -> float:
    return float(factor) ** (t // every)


def cosine(steps: int, end: float = 0.0) -> Factor:
    """From 1 down to ``end`` along half a cosine, then constant. Source: Loshchilov and Hutter, ICLR 2017.

    >>> [round(cosine(4)(t), 2) for t in range(6)]
    [1.0, 0.85, 0.5, 0.15, 0.0, 0.0]
    """
    at_least_one("cosine", "steps", steps)
    return functools.partial(_cosine, steps, end)


def _cosine(steps: int, end: float, t: int) -> float:
    return end + (1 - end) * 0.5 * (1 + math.cos(math.pi * min(t, steps) / steps))


def linear(steps: int, end: float = 0.0) -> Factor:
    """From 1 to ``end`` in a straight line, then constant.

    >>> [linear(4)(t) for t in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    >>> [round(warm_up(2, linear(3))(t), 2) for t in range(6)]
    [0.0, 0.5, 1.0, 0.67, 0.33, 0.0]
    """
    at_least_one("linear", "steps", steps)
    return functools.partial(_linear, steps, end)


def _linear(steps: int, end: float, t: int) -> float:
    return 1 + (end - 1) * min(t, steps) / steps


def inverse_square_root(steps: int) -> Factor:
    """Warm-up and decay in one: up to 1 in ``steps`` steps, then down as 1/√t. The schedule of the first transformers.

    Source: Vaswani et al., NIPS 2017.

    >>> [round(inverse_square_root(4)(t), 2) for t in (0, 1, 3, 15, 63)]
    [0.25, 0.5, 1.0, 0.5, 0.25]
    """
    at_least_one("inverse_square_root", "steps", steps)
    return functools.partial(_inverse_square_root, steps)


def _inverse_square_root(steps: int, t: int) -> float:
    return min((t + 1) / steps, math.sqrt(steps / (t + 1)))


def warm_up(steps: int, then: Factor | None = None, start: float = 0.0) -> Factor:
    """From ``start`` up to 1 in a straight line, in ``steps`` steps; then 1, or the schedule ``then`` from its start.

    >>> [round(warm_up(2, cosine(4))(t), 2) for t in range(7)]
    [0.0, 0.5, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    at_least_one("warm_up", "steps", steps)
    return functools.partial(_warm_up, steps, then, start)


def _warm_up(steps: int, then: Factor | None, start: float, t: int) -> float:
    if t < steps:
        return start + (1 - start) * t / steps
    return 1.0 if then is None else then(t - steps)


def at_least_one(who: str, name: str, n: int) -> None:
    """Refuse a number of steps below 1."""
    if not is_number(n) or n < 1:
        raise ValueError(f"{who}: {name} must be at least 1, not {n!r}")


# ---------------------------------------------------------------- accumulation: several small batches, one step


class Accumulation:
    """An optimiser that makes one step for every ``every`` calls of ``step``, with the mean of their gradients.

    The loop stays as it is: ``backward()``, ``step()``, ``zero_grad()`` for each batch. Gradients add up until the step
    is made; then they are divided by the number of batches, and cleared. If the loss is a mean and all batches are
    equally large, that is the step of one batch ``every`` times as large. ``flush()`` makes a step with the remaining
    batches at the end. Clip gradients before ``step()`` if ``is_due``; give a Schedule the optimiser inside. With a
    GradScaler do without this class, as its docstring says.

    >>> from autoflow import optim
    >>> w = af.Variable(1.0)
    >>> sgd = optim.Accumulation(optim.SGD([w], lr=0.1), every=2)
    >>> for x in (1.0, 3.0):
    ...     (w * x).backward()
    ...     made = sgd.step()
    ...     sgd.zero_grad()
    ...     print(made, w.value)
    False 1.0
    True 0.8
    """

    def __init__(self, optimiser: Optimiser, every: int) -> None:
        if not isinstance(optimiser, Optimiser):
            raise TypeError(f"Accumulation: optimiser must be {OPTIMISER}, not {optimiser!r:.60}")
        at_least_one("Accumulation", "every", every)
        self.optimiser, self.every, self.pending = optimiser, int(every), 0

    @property
    def parameters(self) -> list[Any]:
        """Those of the optimiser."""
        return self.optimiser.parameters

    @property
    def is_due(self) -> bool:
        """Does the next call of ``step`` make one?"""
        return self.pending + 1 >= self.every

    def step(self) -> bool:
        """Count one more batch; True if the optimiser made its step. After an error, or Ctrl-C, either nothing is
        changed, or all is done. Nothing: the gradients of this batch are in the sum. Call ``step`` once more, or drop
        all of them by ``pending = 0`` and ``zero_grad()``."""
        if not self.is_due:
            self.pending += 1
            return False
        self._step(self.pending + 1)
        return True

    def flush(self) -> bool:
        """Make a step with the batches since the last one; False if there were no batches."""
        if not self.pending:
            return False
        self._step(self.pending)
        return True

    def _step(self, batches: int) -> None:
        means = [None if p.grad is None else value_of(p.grad) / batches for p in self.parameters]
        cleared = [*plan_grads(self.parameters, [None] * len(means)), (self, "pending", 0)]
        memory = [value_of(p) for p in self.parameters]
        run_or_undo(plan_grads(self.parameters, means), self.optimiser.step, memory, cleared)

    def zero_grad(self) -> None:
        """Clear the gradients, unless they belong to a step that has not been made yet."""
        if not self.pending:
            self.optimiser.zero_grad()

    def __repr__(self) -> str:
        return f"Accumulation({self.optimiser!r}, every={self.every})"


# ---------------------------------------------------------------- clipping: gradients that are too large


def clip_grad_value(parameters: object, bound: float) -> None:
    """Limit every element of every gradient to −bound ... bound.

    >>> w = af.Variable([1.0, 2.0])
    >>> w.grad = np.array([5.0, -0.5])
    >>> clip_grad_value([w], 1.0)
    >>> w.grad
    array([ 1. , -0.5])
    """
    bound = limit("clip_grad_value", "bound", bound)
    announce("clip", None, every := variables(parameters))
    holders = [p for p in every if p.grad is not None]
    set_all(plan_grads(holders, [np.clip(value_of(p.grad), -bound, bound) for p in holders]))


def clip_grad_norm(parameters: object, max_norm: float) -> float:
    """Multiply all gradients by one number, so that their norm, as one long vector, is at most ``max_norm`` (np.inf:
    only say how large it is).

    The direction stays. Returns the norm that they had. Raises AnomalyError, and changes nothing, if that is not
    finite. On a GPU no value is read: the norm is a 0-d array there, and if it is not finite, all gradients become NaN.
    Source: Pascanu, Mikolov and Bengio, ICML 2013.

    >>> w = af.Variable([1.0, 2.0])
    >>> w.grad = np.array([3.0, 4.0])
    >>> clip_grad_norm([w], 1.0)
    5.0
    >>> w.grad.round(3)
    array([0.6, 0.8])
    """
    max_norm, every = limit("clip_grad_norm", "max_norm", max_norm), variables(parameters)
    if max_norm < math.inf:
        announce("clip", None, every)
    pairs = [(p, value_of(p.grad)) for p in every if p.grad is not None]
    if not all([is_on_host(g) for _, g in pairs]):
        return _clip_there(pairs, max_norm)
    with np.errstate(over="ignore"):
        total = math.hypot(*[float(np.linalg.norm(g.astype(wide(g), copy=False))) for _, g in pairs])
    if not 1e-15 < total < math.inf:  # a square may have overflowed, or vanished
        total = float(_scaled_norm([g for _, g in pairs]))
    if not math.isfinite(total):
        wrong = [p.name for p, g in pairs if not np.isfinite(g).all()]
        what = f"gradients with NaN or infinity, nothing was changed: {', '.join(wrong)}"
        raise AnomalyError(f"clip_grad_norm: {what if wrong else 'the norm is beyond float64, nothing was changed'}")
    if total + 1e-6 > max_norm:
        factor = max_norm / (total + 1e-6)  # the 1e-6 is PyTorch's
        # a factor that g's dtype rounds to a few digits, or to 0, is kept in double precision
        factors = [factor if factor > np.finfo(g.dtype).tiny else np.float64(factor) for _, g in pairs]
        clipped = [(g * k).astype(g.dtype, copy=False) for (_, g), k in zip(pairs, factors, strict=True)]
        set_all(plan_grads([p for p, _ in pairs], clipped))
    return total


def limit(who: str, name: str, value: float) -> float:
    """A number of at least 0, or infinity."""
    return value if value == math.inf else not_negative(who, name, value)


def _clip_there(pairs: list[tuple[Any, Array]], max_norm: float) -> Array:
    """The same without bringing a number to the host."""
    total = _scaled_norm([g for _, g in pairs])
    factor = np.minimum(max_norm / (total + 1e-6), 1.0)
    set_all(plan_grads([p for p, _ in pairs], [g * factor.astype(g.dtype) for _, g in pairs]))
    return total


def _scaled_norm(grads: list[Array]) -> Array:
    """The norm of all in double precision, relative to the largest element, so that no square overflows."""
    sizes = [np.abs(g).astype(float) for g in grads if g.size]
    largest: Array = functools.reduce(np.maximum, [np.max(size) for size in sizes], np.float64(0))
    largest = np.where(largest > 0, largest, 1)
    with np.errstate(over="ignore"):  # a norm beyond float64 is infinite
        return largest * np.sqrt(sum([np.sum(np.square(size / largest)) for size in sizes]))
