"""Derivatives of many kinds beside PyTorch and JAX, if they are installed: ``derivatives.py``. Then values and
gradients of solutions: by hand, through the steps of a solver, and by af.implicit.

    OPENBLAS_NUM_THREADS=1 python benchmarks/toolkit.py [--rounds 7]

The last three compute a loss of the solution and its gradient for the parameters, from the same start to the same
accuracy. All ways are compared before anything is timed. "By hand" is NumPy with the formula of the derivative written
out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import derivatives
import numpy as np
from measuring import digits, interleaved, setting, table, warm_malloc

import autoflow as af

Array = Any
Work = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]  # by hand, through the steps, af.implicit
RNG = np.random.default_rng(0)
STEPS = {"newton": 7, "descent": 150}


def make_root(n: int) -> Work:
    """A x + x³ = θ for n unknowns, by Newton's method; Σ x² differentiated by θ."""
    a = RNG.normal(size=(n, n)) / n + 2 * np.eye(n)
    theta = RNG.normal(size=n)

    def steps(theta: Array) -> Array:
        x: Any = np.zeros(n)
        for _ in range(STEPS["newton"]):
            x = x - np.linalg.solve(a + 3 * x**2 * np.eye(n), a @ x + x**3 - theta)
        return x

    def by_hand() -> Array:
        x = steps(theta)
        return np.linalg.solve((a + 3 * x**2 * np.eye(n)).T, 2 * x)

    solved = af.grad(lambda t: np.sum(af.implicit.root(lambda x, t: a @ x + x**3 - t, np.zeros(n), t) ** 2))
    unrolled = af.grad(lambda t: np.sum(steps(t) ** 2))
    return by_hand, lambda: unrolled(theta), lambda: solved(theta)


def make_fixed_point(n: int, radius: float, size: float, count: int) -> Work:
    """x = tanh(W x + b) for n unknowns, the largest eigenvalue of W being ``radius``; Σ x² differentiated by W.

    Of small b (``size``) tanh is almost a line, and ``count`` steps are needed: radius to that power is the error.
    """
    w, b = RNG.normal(size=(n, n)), size * RNG.normal(size=n)
    w *= radius / np.abs(np.linalg.eigvals(w)).max()

    def steps(w: Array) -> Array:
        x: Any = np.zeros(n)
        for _ in range(count):
            x = np.tanh(w @ x + b)
        return x

    def by_hand() -> Array:
        x = steps(w)
        slope = 1 - x**2
        u = np.linalg.solve((np.eye(n) - slope[:, None] * w).T, 2 * x)
        return np.outer(u * slope, x)

    solved = af.grad(lambda w: np.sum(af.implicit.fixed_point(lambda x, w: np.tanh(w @ x + b), np.zeros(n), w) ** 2))
    unrolled = af.grad(lambda w: np.sum(steps(w) ** 2))
    return by_hand, lambda: unrolled(w), lambda: solved(w)


def make_argmin(n: int) -> Work:
    """Ridge regression of n weights on 4 n examples, each with a strength; the error elsewhere differentiated by them.

    By hand it is a linear system; through the steps, gradient descent.
    """
    x, y = RNG.normal(size=(4 * n, n)), RNG.normal(size=4 * n)
    held, held_y = RNG.normal(size=(4 * n, n)), RNG.normal(size=4 * n)
    gram, right, s = x.T @ x / (4 * n), x.T @ y / (4 * n), np.full(n, 0.5)
    rate = 1 / (np.linalg.eigvalsh(gram)[-1] + 0.5)

    def steps(s: Array) -> Array:
        w: Any = np.zeros(n)
        for _ in range(STEPS["descent"]):
            w = w - rate * (gram @ w + s * w - right)
        return w

    def by_hand() -> Array:
        matrix = gram + np.diag(s)
        w = np.linalg.solve(matrix, right)
        return -w * np.linalg.solve(matrix, held.T @ (held @ w - held_y)) * 2

    def loss(w: Array, s: Array) -> Any:
        return 0.5 * np.mean((x @ w - y) ** 2) + 0.5 * np.sum(s * w**2)

    solved = af.grad(lambda s: np.sum((held @ af.implicit.argmin(loss, np.zeros(n), s) - held_y) ** 2))
    unrolled = af.grad(lambda s: np.sum((held @ steps(s) - held_y) ** 2))
    return by_hand, lambda: unrolled(s), lambda: solved(s)


WORK: dict[str, Callable[[], Work]] = {
    "root, 1 unknown": lambda: make_root(1),
    "root, 32 unknowns": lambda: make_root(32),
    "root, 200 unknowns": lambda: make_root(200),
    "fixed point, 64 unknowns, 60 steps": lambda: make_fixed_point(64, 0.7, 0.5, 60),
    "fixed point, 64 unknowns, 1,000 steps": lambda: make_fixed_point(64, 0.98, 0.001, 1000),
    "minimum, 16 unknowns": lambda: make_argmin(16),
    "minimum, 100 unknowns": lambda: make_argmin(100),
}


def seconds(run: Callable[[], Any]) -> Callable[[], float]:
    """A sample: how long ``run`` takes."""

    def sample() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return sample


def main() -> None:
    """Compare, measure and print."""
    parser = argparse.ArgumentParser(description="Gradients of solutions: by hand, through the steps, by af.implicit.")
    parser.add_argument("--rounds", type=int, default=7, help="rounds; the best counts (7)")
    rounds = parser.parse_args().rounds
    warm_malloc()
    rows = []
    every = derivatives.libraries()
    for kind in derivatives.KINDS:
        best = interleaved({way: seconds(run) for way, run in derivatives.make_all(kind).items()}, rounds)
        rows.append([kind, *[digits(best.get(way, math.nan) * 1e3) for way in every]])
    print(table(["ms", *every], rows), end="\n\n")
    rows = []
    for name, make in WORK.items():
        ways = dict(zip(("by hand", "steps", "implicit"), make(), strict=True))
        right = ways["by hand"]()
        for way in ("steps", "implicit"):
            np.testing.assert_allclose(ways[way](), right, rtol=1e-6, atol=1e-8, err_msg=f"{name}, {way}")
        best = interleaved({way: seconds(run) for way, run in ways.items()}, rounds)
        rows.append([name, *[digits(best[way] * 1e3) for way in ways], digits(best["steps"] / best["implicit"])])
    print(table(["ms", "by hand", "through the steps", "af.implicit", "times as fast as the steps"], rows))
    peers = {"PyTorch": "torch", "JAX, jit": "jax"}
    installed = ["autoflow", *[peers[name] for name in every if name in peers]]
    print("", f"{setting(installed)}; best of {rounds} rounds", sep="\n")


if __name__ == "__main__":
    main()
