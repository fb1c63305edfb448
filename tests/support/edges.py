"""Edges of functions of numbers, and what their derivatives are there, by differences of the values.

Everything is elementwise: arrays of points, a function of them, and for each point an interval that holds the slope.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
# 0 and whole numbers, ends of domains, what is between, tiny, large, huge, infinite.
POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 0.3, -2.7, 1.7, 1e-8, -1e-8, 1e-300, 30.0, -30.0, 750.0,
          -750.0, 1e10, -1e10, 1e200, -1e200, np.inf, -np.inf)  # fmt: skip
FEWER = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 0.3, 1e-8, 40.0, 1e10, np.inf, -np.inf)
ORDERS = (0.0, 1.0, 2.0, 3.0, -1.0, -3.0, 0.3, 0.7, 2.5, -0.5, -2.5)
STEPS = np.array([0.02 * 0.1**k for k in range(6)])


def grid(operands: int, options: int) -> list[Array]:
    """Edges of some operands, together with options: all combinations."""
    points = [POINTS if operands == 1 else FEWER] * operands + [ORDERS] * min(options, 1)
    points += [(0.3, 2.0, -1.0)] * (options - 1)
    return [np.array(column) for column in zip(*itertools.product(*points), strict=True)]


def one_sided(f: Callable[[Array], Array], x: Array, z: Array, side: int) -> tuple[Array, Array]:
    """The slope of f from one side, and its error: of several steps the one whose neighbours agree best."""
    best, error = np.full(x.shape, np.nan), np.full(x.shape, np.inf)
    for size in (np.abs(x), np.ones_like(x)):
        for h in STEPS:
            step = side * h * size
            at = [f(x + k * step) for k in (1, 2, 3, 4)]
            step = (x + step) - x
            fine = (-25 * z + 48 * at[0] - 36 * at[1] + 16 * at[2] - 3 * at[3]) / (12 * step)
            rough = (-11 * z + 18 * at[0] - 9 * at[1] + 2 * at[2]) / (6 * step)
            noise = 2e-15 * np.max(np.abs([z, *at]), axis=0) / np.abs(step)
            wrong = np.abs(fine - rough) + noise
            better = wrong < error
            best, error = np.where(better, fine, best), np.where(better, wrong, error)
    return best, error


def slopes(f: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    """Between which numbers the slope of f at x lies; NaN where the values do not tell.

    At ±∞ it is 0 if the value there is finite. At a kink it lies between the slopes of the two sides; at the end of
    the domain it is that of the inner side.
    """
    with np.errstate(all="ignore"):
        z = f(x)
        low, high = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
        sides = [one_sided(f, x, z, side) for side in (1, -1)]
        known = [np.isfinite(s) & (e <= 1e-5 * np.maximum(np.abs(s), 1e-3)) for s, e in sides]
        right, left = [np.where(k, s, np.nan) for (s, e), k in zip(sides, known, strict=True)]
        slack = [np.where(k, 10 * e + 1e-5 * np.abs(s) + 1e-12, 0) for (s, e), k in zip(sides, known, strict=True)]
        low = np.fmin(right - slack[0], left - slack[1])
        high = np.fmax(right + slack[0], left + slack[1])
        flat = np.isinf(x) & np.isfinite(z)
        return np.where(flat, 0, low), np.where(flat, 0, high)
