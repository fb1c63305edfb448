"""Mixed precision: products in float16, everything delicate in float32, and gradients that do not vanish.

:func:`autocast` casts the operands of some operations before they are computed; the cast is itself an operation, so
gradients come back in the dtype of the leaf. :class:`GradScaler` multiplies the loss, so that gradients stay above
the smallest float16 number (6e-8), and divides again before the optimiser sees them.

Under autocast the quick closures leave everything to ``recording.apply``, which calls :func:`cast`.

What it gains. On a GPU time and memory. On a CPU memory only: NumPy computes float16 products slowly, without BLAS.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from ..backends.registry import NODE_TYPES
from ..base.errors import StateError
from ..base.modes import modes, switched
from ..base.types import DTypeLike
from ..nodes.grads import Changes, cast_gradient, plan_grads
from ..nodes.nodes import Node, NodeRole, value_of
from ..table.shapes import Array, Values, as_array
from ..table.table import Rule
from .writing import run_or_undo, set_all

HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)

# Per row, by name. All others follow their operands, as NumPy promotes them: half with single gives single.
PRODUCTS = "matmul dot inner outer vdot vecdot matvec vecmat tensordot einsum convolve correlate"
DELICATE = """
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 power float_power square reciprocal sqrt cbrt hypot
    sinh cosh tan arcsin arccos arccosh arctanh sum prod mean var std cumsum cumprod norm trace nansum nanprod nanmean
    nanvar nanstd nancumsum nancumprod logaddexp_reduce logaddexp2_reduce softmax log_softmax bounded_log
"""
LOW, FULL = frozenset(PRODUCTS.split()), frozenset(DELICATE.split())


def autocast(dtype: DTypeLike = np.float16, *, enabled: bool = True) -> switched:
    """In the block, compute products of float32 operands in ``dtype``; a context manager and a decorator.

    Products (matmul and the like) run in float16; exponentials, logarithms, powers, sums, means, norms and losses run
    in float32, also on float16 operands; the rest runs in the widest dtype among its operands. An operation with a
    float64 or complex operand is left as it is. Blocks nest; ``enabled=False`` switches casting off inside another one.

    Raises TypeError for another dtype than float16.

    >>> import autoflow as af
    >>> w = af.Variable(np.ones((2, 2), np.float32))
    >>> with autocast():
    ...     y = w @ w
    ...     z = np.exp(y).sum()
    >>> y.dtype, z.dtype
    (dtype('float16'), dtype('float32'))
    >>> z.backward()
    >>> w.grad.dtype
    dtype('float32')
    """
    if np.dtype(dtype) != HALF:
        raise TypeError(f"autocast computes products in np.float16, not in {np.dtype(dtype)}")
    return switched(autocast=HALF if enabled else None)


def target(rule: Rule, operands: Iterable[object]) -> DTypeLike:
    """The dtype to which an operation's float operands are cast under autocast; None if it takes them unchanged."""
    is_row = type(rule) is Rule  # not a user's function of the same name
    goal = modes().autocast if is_row and rule.name in LOW else SINGLE if is_row and rule.name in FULL else None
    if goal is not None:
        for x in operands:
            dtype = getattr(x, "dtype", None)  # None of Python's numbers, which take that of what they meet
            if dtype is not None and dtype.kind in "fciub" and np.promote_types(dtype, HALF) not in (HALF, SINGLE):
                return None  # with int32 or int64 the result is float64, too
    return goal


def cast(rule: Rule, inputs: Values) -> Values:
    """The arguments of an operation, in the row's order, as ``recording.apply`` computes it under autocast."""
    operands = inputs[0] if rule.variadic else inputs[: rule.operands]
    arrays = tuple([as_array(x) if isinstance(x, (list, tuple)) else x for x in operands])
    if (goal := target(rule, arrays)) is not None:
        arrays = tuple([_as(x, goal) for x in arrays])
    return (arrays, *inputs[1:]) if rule.variadic else (*arrays, *inputs[rule.operands :])


def _as(x: Array, goal: DTypeLike) -> Array:
    if not isinstance(x, (NodeRole, np.generic)) and type(x) not in NODE_TYPES:
        return x
    return x.astype(goal) if x.dtype in (HALF, SINGLE) and x.dtype != goal else x


# -- scaling the loss

SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def is_scale(x: float) -> bool:
    """Can a float32 loss be multiplied by it, and gradients be divided by it?"""
    return SMALLEST <= x <= LARGEST


class Optimizer(Protocol):
    """The interface that :class:`GradScaler` needs of an optimiser: its Variables, and a step that uses their
    ``grad``."""

    parameters: Iterable[Array]

    def step(self) -> object:
        """Change the parameters."""


class GradScaler:
    """Scales losses up and gradients down, and finds the largest scale at which nothing overflows.

    scale : the scale to begin with, 65,536 by default.
    growth, interval : after ``interval`` steps in a row without overflow the scale is multiplied by ``growth``.
    backoff : after a step with an infinite or NaN gradient, which is skipped, the scale is multiplied by this.

    ``optimizer`` is any object with ``parameters`` (an iterable of Variables) and ``step()``. It is kept until
    :meth:`update`. All methods do the whole of their work or nothing, also if Ctrl-C cuts them short.

    Gradients of several batches add up scaled, by one scale: ``scaler.scale(loss / n)`` for each of n batches, then
    ``step``, ``update`` and ``zero_grad`` once. So an ``optim.Accumulation`` is refused with TypeError.

    >>> import autoflow as af
    >>> class Descent:
    ...     def __init__(self, *parameters):
    ...         self.parameters = parameters
    ...     def step(self):
    ...         for p in self.parameters:
    ...             p.assign(p.value - 0.5 * p.grad)
    >>> w = af.Variable(np.float16(1.0))
    >>> optimizer, scaler = Descent(w), GradScaler(scale=1024.0)
    >>> scaler.scale(w * np.float16(1e-7)).backward()
    >>> scaler.step(optimizer)
    True
    >>> scaler.update()
    """

    __module__ = "autoflow"

    def __init__(
        self, scale: float = 2.0**16, *, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000
    ) -> None:
        if not (is_scale(scale) and growth > 1 and 0 < backoff < 1 and interval >= 1):
            raise ValueError("GradScaler needs a finite scale > 0, growth > 1, 0 < backoff < 1 and interval >= 1")
        self.factor, self.growth, self.backoff, self.interval = float(scale), growth, backoff, interval
        self.good_steps = 0  # since the scale last changed
        # Since update(): optimisers whose gradients were unscaled; were they finite, and has step() been called?
        self._checked: list[tuple[Optimizer, bool, bool]] = []

    def scale(self, loss: Array) -> Node:
        """``loss`` times the scale; a float16 loss is multiplied in float32, so that it does not overflow."""
        return loss.astype(np.float32) * self.factor if loss.dtype == HALF else loss * self.factor

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the scale, to look at them or to clip them before :meth:`step`. If one of them is
        infinite or NaN, all become 0, and :meth:`step` will make no step.

        Raises RuntimeError for a second call, and for one after :meth:`step`, without :meth:`update` between them.
        """
        if self._find(optimizer):
            raise RuntimeError("unscale_ or step has been called for this optimizer since the last update()")
        finite, changes = self._plan_unscaling(optimizer)
        set_all([*changes, (self, "_checked", [*self._checked, (optimizer, finite, False)])])

    def step(self, optimizer: Optimizer) -> bool:
        """``optimizer.step()``, unless a gradient is infinite or NaN. Returns whether the step was made.

        Raises RuntimeError for a second call without :meth:`update` between them.
        """
        state = self._find(optimizer)
        if state and state[0][2]:
            raise RuntimeError("step has been called for this optimizer since the last update(): call update() first")
        finite, changes = (state[0][1], []) if state else self._plan_unscaling(optimizer)
        others = [row for row in self._checked if row[0] is not optimizer]
        checked = [(self, "_checked", [*others, (optimizer, finite, True)])]
        memory = [value_of(p) for p in optimizer.parameters]
        run_or_undo([*changes, *checked], optimizer.step if finite else bool, memory, checked)
        return finite

    def update(self) -> None:
        """Choose the next scale. Call it after the steps of all optimisers. The scale stays where float32 has no next
        one. Raises RuntimeError if no gradient has been checked since the last call."""
        if not self._checked:
            raise RuntimeError("update() comes after step(): no gradient has been checked")
        good = self.good_steps + 1 if all([finite for _, finite, _ in self._checked]) else 0
        grows = good >= self.interval
        factor = self.factor * (self.growth if grows else 1.0 if good else self.backoff)
        self._set(factor if is_scale(factor) else self.factor, 0 if grows else good, [])

    def state(self) -> dict[str, float]:
        """The state to save with a training run: the arguments of :meth:`restore`."""
        return {"factor": self.factor, "good_steps": self.good_steps}

    def restore(self, factor: float, good_steps: int) -> None:
        """Continue from a :meth:`state`. Raises StateError, and changes nothing, if the argument is not a state."""
        if not (is_scale(factor) and good_steps >= 0):
            raise StateError(f"GradScaler: {factor} is not a scale, or {good_steps} not a number of steps")
        self._set(float(factor), int(good_steps), self._checked)

    def _set(self, factor: float, good_steps: int, checked: list[tuple[Optimizer, bool, bool]]) -> None:
        set_all([(self, "factor", factor), (self, "good_steps", good_steps), (self, "_checked", checked)])

    def _find(self, optimizer: Optimizer) -> list[tuple[Optimizer, bool, bool]]:
        """The notes on an optimiser since update(): one row, or none."""
        if hasattr(optimizer, "is_due"):  # it would add scaled gradients to others that were divided by the scale
            raise TypeError(
                f"GradScaler takes no {type(optimizer).__name__}: gradients stay scaled until all batches are "
                "added up. Give it the optimiser itself: scaler.scale(loss / n).backward() for each of n batches, then "
                "scaler.step(optimiser), scaler.update() and optimiser.zero_grad() once"
            )
        return [row for row in self._checked if row[0] is optimizer]

    def _plan_unscaling(self, optimizer: Optimizer) -> tuple[bool, Changes]:
        """Whether the gradients are finite, and the changes that divide them by the scale."""
        holders = [p for p in optimizer.parameters if p.grad is not None]
        gradients = [value_of(p.grad) for p in holders]
        wide = [g.astype(np.float32) if g.dtype == HALF else g for g in gradients]
        grads = [cast_gradient(x / self.factor, g.dtype) for x, g in zip(wide, gradients, strict=True)]
        finite = all([bool(np.isfinite(g).all()) for g in grads])
        return finite, plan_grads(holders, grads if finite else [np.zeros_like(g) for g in grads])
