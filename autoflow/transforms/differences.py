"""A derivative without any rule: one entry of one input is moved a little, and the results are compared.

How, and how a kink is noticed, is said at the top of ``gradcheck.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import pytree
from ..nodes.nodes import value_of
from .check_report import Report
from .gradient import value_gradient_and_aux
from .vjp_jvp import vjp

Array = Any
IMAGINARY = 1e-30


class Point:
    """A function, the point at which it is checked, and the tolerances."""

    def __init__(
        self, f: Callable[..., Any], xs: list[Array], names: list[str], eps: float | None, rtol: float, atol: float
    ) -> None:
        self.f, self.xs, self.names = f, xs, names
        self.eps = 6e-6 if eps is None else eps
        self.rtol, self.atol = rtol, atol
        self.analytic_continuation = True

    def values(self, xs: list[Array]) -> list[Array]:
        """The results at ``xs``, as plain arrays. f gets copies: it may write into them."""
        z = self.f(*[x.copy() for x in xs])
        return [np.array(value_of(part)) for part in pytree.tree_leaves(z)]

    def weights(self, values: list[Array]) -> list[Array]:
        """Fixed numbers between 0.5 and 1.5, no two alike, of either sign; for complex results complex ones."""
        rng = np.random.default_rng(20)
        made = []
        for z in values:
            w = rng.uniform(0.5, 1.5, z.shape) * rng.choice([-1.0, 1.0], z.shape)
            made.append(w + 1j * rng.uniform(0.5, 1.5, z.shape) if z.dtype.kind == "c" else w)
        return made

    def slopes(self, weights: list[Array]) -> list[Array]:
        """dL/dx for each x by going back: what is to be checked."""
        value, pullback = vjp(self.f, *self.xs, allow_unused=True)
        seeds = iter(weights)
        return list(pullback(pytree.tree_map(lambda z: next(seeds).astype(z.dtype), value)))

    def gradient(self) -> Point:
        """The gradient of L as a function of its own, to be checked in turn."""
        weights = self.weights(self.values(self.xs))
        f = self.f

        def number(*xs: Any) -> Any:
            parts = [
                np.sum(np.real(np.conjugate(w) * z)) for w, z in zip(weights, pytree.tree_leaves(f(*xs)), strict=True)
            ]
            return sum(parts[1:], parts[0])

        def slope(*xs: Any) -> Any:
            return value_gradient_and_aux(number, tuple(range(len(xs))), xs, {}, allow_unused=True)[1]

        point = Point(slope, self.xs, self.names, self.eps, self.rtol, self.atol)
        point.analytic_continuation = False  # at x + ih it would be the gradient of something else
        return point


def only_weight(weights: list[Array]) -> float:
    """The weight of a single real result, by which everything that is shown is divided; else 1."""
    single = len(weights) == 1 and weights[0].size == 1 and weights[0].dtype.kind == "f"
    return float(weights[0].item()) if single else 1.0


def difference_at(
    point: Point, k: int, place: tuple[int, ...], values: list[Array], weights: list[Array], report: Report
) -> tuple[Any, float]:
    """dL/dx at one entry by differences, and how far rounding may have moved that. Complex x: dL/da + i dL/db."""
    total: Any = 0.0
    noise = 0.0
    for unit in (1.0, 1j) if point.xs[k].dtype.kind == "c" else (1.0,):
        h = point.eps * max(1.0, abs(point.xs[k][place]))
        right, left = [shift_entry(point, k, place, unit * step) for step in (h, -h)]
        slope = weighted_difference(weights, right, left) / (2 * h)
        biggest = sum([float(np.sum(np.abs(w * z))) for w, z in zip(weights, values, strict=True)])
        rounding = 1e-14 * biggest / h
        ahead, behind = (
            weighted_difference(weights, right, values) / h,
            weighted_difference(weights, values, left) / h,
        )
        if abs(ahead - behind) > 1e-3 * (1e-3 + max(abs(ahead), abs(behind))) + 4 * rounding:
            note_kink(point, k, place, unit, values, weights, (behind, ahead), report)
        exact = complex_step(point, k, place, weights) if unit == 1.0 else None
        if exact is not None and abs(exact - slope) <= 1e-4 * abs(slope) + 1e-6 + rounding:
            slope, rounding = exact, 1e-14 * biggest
        total, noise = total + unit * slope, noise + rounding
    return total, noise


def shift_entry(point: Point, k: int, place: tuple[int, ...], step: complex) -> list[Array]:
    """The results with one entry of one input moved."""
    xs = list(point.xs)
    xs[k] = xs[k].copy() if isinstance(step, float) or xs[k].dtype.kind == "c" else xs[k].astype(complex)
    xs[k][place] += step
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return point.values(xs)


def weighted_difference(weights: list[Array], a: list[Array], b: list[Array]) -> float:
    """L(a) - L(b), subtracted before summing, which rounds less."""
    with np.errstate(all="ignore"):
        parts = [np.sum(np.real(np.conjugate(w) * (x - y))) for w, x, y in zip(weights, a, b, strict=True)]
    return float(sum(parts))


def note_kink(
    point: Point, k: int, place: tuple[int, ...], unit: complex, values: list[Array], weights: list[Array],
    slopes: tuple[float, float], report: Report,
) -> None:  # fmt: skip
    """Curvature also makes the two slopes differ, but a hundredth of it for a hundredth of the step.

    If they agree for the small step, but on another slope than before, the kink is between the two.
    """
    h = point.eps * max(1.0, abs(point.xs[k][place])) / 100
    right, left = [shift_entry(point, k, place, unit * step) for step in (h, -h)]
    ahead, behind = weighted_difference(weights, right, values) / h, weighted_difference(weights, values, left) / h
    where = f"{point.names[k]}{list(place) if place else ''} = {point.xs[k][place]:.6g}"
    now_left, now_right, left_then, right_then = [x / only_weight(weights) for x in (behind, ahead, *slopes)]
    if not abs(ahead - behind) < 0.3 * abs(slopes[1] - slopes[0]):
        report.found.append(
            f"a kink at {where}: the slope is {now_left:.4g} to the left and {now_right:.4g} to the right, so there is "
            f"no derivative. Check elsewhere."
        )
    elif abs(sum(slopes) - ahead - behind) > 0.1 * abs(slopes[1] - slopes[0]):
        report.found.append(
            f"a kink within {100 * h:.1g} of {where}: the slopes there are {left_then:.4g} and {right_then:.4g}. "
            f"Check elsewhere, or with a smaller eps."
        )


def complex_step(point: Point, k: int, place: tuple[int, ...], weights: list[Array]) -> float | None:
    """Im L(x + ih)/h, or None where the function does not take complex numbers."""
    if not point.analytic_continuation or any([x.dtype.kind == "c" for x in (*point.xs, *weights)]):
        return None
    try:
        values = shift_entry(point, k, place, IMAGINARY * 1j)
    except Exception:  # whatever a function of real numbers raises for complex ones
        return None
    if any([z.shape != w.shape for z, w in zip(values, weights, strict=True)]):
        return None
    return float(sum([np.sum(w * np.imag(z)) for w, z in zip(weights, values, strict=True)]) / IMAGINARY)
