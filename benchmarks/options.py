"""What the checks of ``af.options`` cost: seconds of ``af.grad`` under each, divided by those without a proof.

    python benchmarks/options.py

Two programs: one of three operations on three numbers, where autoflow's own work is all, and a network of four layers
of 300. "first": the first call of a function that was not seen before; the others: later calls. Best of many,
alternating.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import autoflow as af

SETTINGS: dict[str, dict[str, Any]] = {
    'prove="never"': {"prove": "never"},
    'prove="first", first call': {"prove": "first"},
    'prove="first", later calls': {"prove": "first"},
    'prove="always"': {"prove": "always"},
    "strict=True": {"strict": True},
    'preset="classroom"': {"preset": "classroom"},
}
SMALL = "def f(x): return np.sum(np.sin(x) * x)"
NETWORK = """
def f(weights):
    h = X
    for w in weights:
        h = np.tanh(h @ w)
    return np.sum(h * h)
"""


def new_function(source: str) -> Callable[..., Any]:
    """A function with code of its own, which was not proved yet."""
    names: dict[str, Any] = {"np": np, "X": np.random.default_rng(0).normal(size=(300, 300))}
    exec(source, names)  # noqa: S102 - the text above
    return names["f"]


def seconds(source: str, argument: Any, name: str, calls: int) -> float:
    """Of one call, the best of several."""
    f, best = new_function(source), np.inf
    with af.options(**SETTINGS[name]):
        for _ in range(calls):
            slope = af.grad(new_function(source) if "first call" in name else f)
            if "first call" not in name:
                slope(argument)
            start = time.perf_counter()
            slope(argument)
            best = min(best, time.perf_counter() - start)
    af.options(preset="default")
    return best


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    programs = {
        "three operations": (SMALL, rng.normal(size=3), 200),
        "a network": (NETWORK, [0.05 * rng.normal(size=(300, 300)) for _ in range(4)], 2),
    }
    best: dict[tuple[str, str], float] = {}
    for _ in range(8):
        for program, (source, argument, calls) in programs.items():
            for name in SETTINGS:
                key = program, name
                best[key] = min(best.get(key, np.inf), seconds(source, argument, name, calls))
    print(f"| `af.options` | {' | '.join(programs)} |\n|---|---|---|")
    for name in SETTINGS:
        ratios = [f"{best[p, name] / best[p, next(iter(SETTINGS))]:.2f}" for p in programs]
        print(f"| `{name}` | " + " | ".join(ratios) + " |")


if __name__ == "__main__":
    main()
