"""Gradients of several small batches as that of a large one, where the large one does not fit into memory."""

from __future__ import annotations

from typing import Any

from ..nodes.nodes import value_of
from .base import Optimiser


class Accumulation:
    """An optimiser that makes one step for every ``every`` calls of ``step``, with the mean of their gradients.

    The loop stays as it is: ``backward()``, ``step()``, ``zero_grad()`` for each batch. Gradients add up until the step
    is made; then they are divided by the number of batches, and cleared. If the loss is a mean and all batches are
    equally large, that is the step of one batch ``every`` times as large. ``flush()`` makes a step with the remaining
    batches at the end. Clip gradients before ``step()`` if ``is_due``; give a Schedule the optimiser inside.

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
            raise TypeError(f"Accumulation takes an optimiser, not {type(optimiser).__name__}")
        if every < 1:
            raise ValueError(f"Accumulation: every must be at least 1, not {every}")
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
        """Count one more batch; True if the optimiser made its step. After an error of the optimiser nothing is
        changed, and this batch does not count."""
        if not self.is_due:
            self.pending += 1
            return False
        self._step(self.pending + 1)
        return True

    def flush(self) -> bool:
        """Make a step with the batches since the last one; False if there were none."""
        if not self.pending:
            return False
        self._step(self.pending)
        return True

    def _step(self, batches: int) -> None:
        sums = [p.grad for p in self.parameters]
        try:
            for p, g in zip(self.parameters, sums, strict=True):
                if g is not None:
                    p.grad = value_of(g) / batches
            self.optimiser.step()
        except BaseException:
            for p, g in zip(self.parameters, sums, strict=True):
                p.grad = g
            raise
        self.pending = 0
        self.optimiser.zero_grad()

    def zero_grad(self) -> None:
        """Clear the gradients, unless they belong to a step that is still to be made."""
        if not self.pending:
            self.optimiser.zero_grad()

    def __repr__(self) -> str:
        return f"Accumulation({self.optimiser!r}, every={self.every})"
