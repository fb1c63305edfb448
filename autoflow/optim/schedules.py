"""Schedules: the learning rate over time.

A schedule is a function of the number of steps made (or epochs: you decide when to call ``step``). It returns the
factor for the learning rate with which the optimiser started. Any function will do:
``Schedule(sgd, lambda t: 1 / (1 + t))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .base import Optimiser

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
        self.optimiser, self.factor = optimiser, factor
        self.lr, self.steps = optimiser.lr, 0
        optimiser.lr = self.lr * factor(0)

    def step(self) -> None:
        """Count one more step, and set the learning rate."""
        self.steps += 1
        self.optimiser.lr = self.lr * self.factor(self.steps)

    def state_dict(self) -> dict[str, float]:
        """What :meth:`load_state_dict` needs to continue."""
        return {"lr": self.lr, "steps": self.steps}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Continue where :meth:`state_dict` was taken."""
        self.lr, self.steps = float(state["lr"]), int(state["steps"])
        self.optimiser.lr = self.lr * self.factor(self.steps)


def step_decay(every: int, factor: float = 0.1) -> Factor:
    """Multiplied by ``factor`` after every ``every`` steps.

    >>> [step_decay(2)(t) for t in range(3)]
    [1.0, 1.0, 0.1]
    """
    at_least_one("step_decay", "every", every)
    return lambda t: float(factor) ** (t // every)


def cosine(steps: int, end: float = 0.0) -> Factor:
    """From 1 down to ``end`` along half a cosine, then constant. Source: Loshchilov and Hutter, ICLR 2017.

    >>> [round(cosine(4)(t), 2) for t in range(6)]
    [1.0, 0.85, 0.5, 0.15, 0.0, 0.0]
    """
    at_least_one("cosine", "steps", steps)
    return lambda t: end + (1 - end) * 0.5 * (1 + math.cos(math.pi * min(t, steps) / steps))


def linear(steps: int, end: float = 0.0) -> Factor:
    """From 1 to ``end`` in a straight line, then constant.

    >>> [linear(4)(t) for t in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    >>> [round(warm_up(2, linear(3))(t), 2) for t in range(6)]
    [0.0, 0.5, 1.0, 0.67, 0.33, 0.0]
    """
    at_least_one("linear", "steps", steps)
    return lambda t: 1 + (end - 1) * min(t, steps) / steps


def inverse_square_root(steps: int) -> Factor:
    """Warm-up and decay in one: up to 1 in ``steps`` steps, then down as 1/√t. The schedule of the first transformers.

    Source: Vaswani et al., NIPS 2017.

    >>> [round(inverse_square_root(4)(t), 2) for t in (0, 1, 3, 15, 63)]
    [0.25, 0.5, 1.0, 0.5, 0.25]
    """
    at_least_one("inverse_square_root", "steps", steps)
    return lambda t: min((t + 1) / steps, math.sqrt(steps / (t + 1)))


def warm_up(steps: int, then: Factor | None = None, start: float = 0.0) -> Factor:
    """From ``start`` up to 1 in a straight line, in ``steps`` steps; then 1, or the schedule ``then`` from its start.

    >>> [round(warm_up(2, cosine(4))(t), 2) for t in range(7)]
    [0.0, 0.5, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    at_least_one("warm_up", "steps", steps)

    def factor(t: int) -> float:
        if t < steps:
            return start + (1 - start) * t / steps
        return 1.0 if then is None else then(t - steps)

    return factor


def at_least_one(who: str, name: str, n: int) -> None:
    """Refuse a number of steps below 1."""
    if n < 1:
        raise ValueError(f"{who}: {name} must be at least 1, not {n}")
