"""Jacobians and Hessians by batched passes, beside one pass for each row, and vmap beside a loop.

    OPENBLAS_NUM_THREADS=1 python benchmarks/jacobians.py [--rounds 7]

Targets: 5 times as fast on the network with 64 results, and nowhere slower than 1.1 times the loop.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from measuring import digits, interleaved, setting, table, warm_malloc

import autoflow as af
from autoflow.transforms import jacobian as passes

Array = Any
RNG = np.random.default_rng(0)


def network(*sizes: int) -> tuple[Callable[..., Any], list[Array]]:
    """Layers of tanh, and their weights."""
    weights = [RNG.normal(size=(n, m)) / n**0.5 for n, m in pairwise(sizes)]

    def f(x: Any, *given: Any) -> Any:
        for w in given or weights:
            x = np.tanh(x @ w)
        return x

    return f, weights


def bowl(x: Any) -> Any:
    """A number, of a network with fixed weights."""
    return np.sum(np.tanh(np.outer(x, np.linspace(0, 1, 50)).sum(0)) ** 2)


def rows_of(sizes: tuple[int, ...], mode: str = "reverse") -> Callable[[], Any]:
    """The Jacobian of a network for its input."""
    f, _ = network(*sizes)
    x = RNG.normal(size=sizes[0])
    return lambda: af.jacobian(f, mode=mode)(x)


def jacobians() -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    f, weights = network(32, 32, 64)
    x, wide = np.ones(32), RNG.normal(size=(64, 2000))
    return {
        "network 256-128-64": rows_of((256, 128, 64)),
        "network 32-64-64": rows_of((32, 64, 64)),
        "network 32-64-64, forward": rows_of((32, 64, 64), "forward"),
        "network 300-300-300": rows_of((300, 300, 300)),
        "network 8-8-8": rows_of((8, 8, 8)),
        "network 4-16-4": rows_of((4, 16, 4)),
        "network 32-32-64, for its weights": lambda: af.jacobian(f, (1, 2))(x, *weights),
        "Hessian, 3 arguments": lambda: af.hessian(bowl)(np.linspace(0, 1, 3)),
        "Hessian, 10 arguments": lambda: af.hessian(bowl)(np.linspace(0, 1, 10)),
        "Hessian, 100 arguments": lambda: af.hessian(bowl)(np.linspace(0, 1, 100)),
        "elementwise, 300": lambda: af.jacobian(lambda x: np.exp(np.sin(x)) * x, mode="reverse")(np.ones(300)),
        "elementwise, 64 rows of 128,000": lambda: af.jacobian(
            lambda x: np.exp(np.sin(wide * x)).sum(1), mode="reverse"
        )(np.ones(2000)),
        "scalar operations, 30 rows": lambda: af.jacobian(
            lambda x: np.stack([x[k] * x[k - 1] + np.sin(x[k]) for k in range(30)]), mode="reverse"
        )(np.ones(30)),
    }


def per_example() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Gradients of each of 256 examples for the weights of a network: by vmap, and in a loop."""
    f, weights = network(16, 32, 4)
    x = RNG.normal(size=(256, 16))
    slope = af.grad(lambda w, v, x: np.sum(f(x, w, v) ** 2), (0, 1))
    batched = af.vmap(slope, (None, None, 0))
    return lambda: batched(*weights, x), lambda: [slope(*weights, row) for row in x]


def seconds(run: Callable[[], Any], few: int = passes.FEW) -> Callable[[], float]:
    """A sample: how long ``run`` takes, with batched passes from ``few`` rows on."""

    def sample() -> float:
        before, passes.FEW = passes.FEW, few
        try:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        finally:
            passes.FEW = before

    return sample


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Jacobians by batched passes, beside a loop of passes.")
    parser.add_argument("--rounds", type=int, default=7, help="rounds; the best counts (7)")
    rounds = parser.parse_args().rounds
    warm_malloc()
    vmapped, looped = per_example()
    pairs = {name: (seconds(run, 10**9), seconds(run)) for name, run in jacobians().items()}
    pairs["256 gradients of a network 16-32-4"] = seconds(looped), seconds(vmapped)
    rows = []
    for name, (loop, batch) in pairs.items():
        best = interleaved({"loop": loop, "batch": batch}, rounds)
        ratio = best["loop"] / best["batch"]
        rows.append([name, digits(best["loop"] * 1e3), digits(best["batch"] * 1e3), digits(ratio)])
    print(table(["ms", "a pass for each", "batched", "times as fast"], rows))
    print("", f"{setting()}; best of {rounds} rounds", sep="\n")


if __name__ == "__main__":
    main()
