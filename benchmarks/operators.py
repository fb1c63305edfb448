"""What one operation costs: nanoseconds of autoflow over those of plain NumPy.

    python benchmarks/operators.py [--repeats 20]

The result of each operation is dropped at once, so making and freeing its record are both in the figure. Both sides
take turns, and the least of all rounds counts. Copy the table as it is: it is Markdown.
"""

from __future__ import annotations

import argparse
import timeit
from typing import Any

import numpy as np
from measuring import interleaved, setting, table, warm_malloc

import autoflow as af

Array = Any
RUNS = 1000  # of an operation between two looks at the clock
SIZES: dict[str, tuple[int, ...]] = {"0-d": (), "3": (3,), "1000": (1000,)}
OPERATIONS = (
    "x + y",
    "x * 2.0",
    "2.0 * x",
    "x**2",
    "np.exp(x)",
    "np.tanh(x)",
    "np.add(x, y)",
    "x.sum()",
    "np.sum(x)",
    "x[1:]",
    "x.reshape(-1, 1)",
    "x.T",
    "x @ y",
)
NOT_0D = ("x[1:]", "x @ y")


def operands(shape: tuple[int, ...]) -> dict[str, dict[str, Array]]:
    """x and y for both sides, the same numbers."""
    x, y = np.random.default_rng(0).uniform(0.5, 1.5, (2, *shape))
    plain = {"x": np.asarray(x), "y": np.asarray(y)}
    return {"NumPy": plain, "autoflow": {name: af.Variable(a) for name, a in plain.items()}}


def nanoseconds(operation: str, shape: tuple[int, ...], rounds: int) -> dict[str, float]:
    """The cost of one operation on both sides."""
    timers = {
        side: timeit.Timer(operation, globals={"np": np, **names}).timeit for side, names in operands(shape).items()
    }
    samples = {side: lambda timer=timer: timer(RUNS) / RUNS * 1e9 for side, timer in timers.items()}
    return interleaved(samples, rounds)


def row(operation: str, rounds: int) -> list[str]:
    """The row of one operation: for each size NumPy, autoflow, and their difference."""
    cells = [f"`{operation}`"]
    for shape in SIZES.values():
        if shape == () and operation in NOT_0D:
            cells += ["", "", ""]
            continue
        best = nanoseconds(operation, shape, rounds)
        cells += [f"{ns:.0f}" for ns in (best["NumPy"], best["autoflow"])]
        cells.append(f"{best['autoflow'] - best['NumPy']:+.0f}")
    return cells


def main() -> None:
    """Measure all operations and print the table."""
    parser = argparse.ArgumentParser(description="Nanoseconds per operation, autoflow over NumPy.")
    parser.add_argument("--repeats", type=int, default=20, help="rounds; the best counts (20)")
    rounds = parser.parse_args().repeats
    warm_malloc()
    header = ["operation", *(f"{size}: {word}" for size in SIZES for word in ("NumPy", "autoflow", "more"))]
    print(table(header, [row(operation, rounds) for operation in OPERATIONS]))
    print("", f"{setting()}; float64, ns, best of {rounds} rounds of {RUNS}", sep="\n")


if __name__ == "__main__":
    main()
