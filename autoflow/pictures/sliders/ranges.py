"""From ``x=(-3, 3)`` to a slider: its two ends and its first position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backprop.engine import topological


@dataclass(frozen=True, slots=True)
class Slider:
    """One input: the ends of its slider, and its first position."""

    title: str
    low: float
    high: float
    start: float


def variables_of(root: Any) -> list[Any]:
    """The Variables that a node was computed from, in the order of their creation."""
    return sorted([r for r in topological(root.grad_fn) if not r.parents], key=lambda v: v.number)


def start_of(name: str, spec: Any) -> Any:
    """The first value of an argument."""
    if isinstance(spec, tuple):
        low, high, start = limits(name, spec)
        return (low + high) / 2 if start is None else start
    return spec


def slider(name: str, spec: Any, value: Any) -> Slider:
    """The slider of an input whose value is ``value``."""
    start = float(value)
    if isinstance(spec, tuple):
        low, high, _ = limits(name, spec)
        return Slider(name, min(low, start), max(high, start), start)
    if spec is not None:
        start = float(spec)
    room = 2 * abs(start) or 1.0
    return Slider(name, start - room, start + room, start)


def limits(name: str, spec: tuple[Any, ...]) -> tuple[float, float, float | None]:
    """``(low, high)`` or ``(low, high, start)``, checked."""
    numbers = [float(v) for v in spec if isinstance(v, (int, float, np.number)) and math.isfinite(v)]
    if len(numbers) != len(spec) or len(spec) not in (2, 3) or not numbers[0] < numbers[1]:
        raise ValueError(f"{name}={spec!r}: a range is (low, high) or (low, high, start), with low < high")
    if len(numbers) == 3 and not numbers[0] <= numbers[2] <= numbers[1]:
        raise ValueError(f"{name}={spec!r}: the start is not between {numbers[0]:g} and {numbers[1]:g}")
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None
