"""The rows that are used most: value and gradient by autoflow over the same formulas in plain NumPy.

    python benchmarks/rows.py [--rounds 100]

One operation costs autoflow some time besides the arithmetic: a record, a node, a pass back, a copy of the seed. How
much is measured on ``+x``, whose derivative is g itself. The last two columns are autoflow's time over that of the
formula plus this overhead: above 1 a row does more than its formula. Both sides take turns, and the least of all
rounds counts.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import digits, interleaved, setting, table, warm_malloc

import autoflow as af

Array = Any
SIZES = 10, 100_000
M = 300  # rows and columns of matrices at the larger size

# What is called (of x and y), and what a user would write by hand: dL/dx and dL/dy from g, the operands and z.
ROWS: dict[str, tuple[str, str]] = {
    "+x": ("+x", "(g,)"),
    "x + y": ("x + y", "(g, g)"),
    "x - y": ("x - y", "(g, -g)"),
    "x * y": ("x * y", "(g * y, g * x)"),
    "x / y": ("x / y", "(g / y, -g * z / y)"),
    "x ** 2": ("x ** 2", "(g * (2 * x),)"),
    "x * 3.0": ("x * 3.0", "(g * 3.0,)"),
    "np.exp": ("np.exp(x)", "(g * z,)"),
    "np.log": ("np.log(x)", "(g / x,)"),
    "np.sqrt": ("np.sqrt(x)", "(g / (2 * z),)"),
    "np.tanh": ("np.tanh(x)", "(g * (1 - z * z),)"),
    "np.sin": ("np.sin(x)", "(g * np.cos(x),)"),
    "np.abs": ("np.abs(x)", "(g * np.sign(x),)"),
    "np.maximum": ("np.maximum(x, 1.0)", "(g * (x > 1.0),)"),
    "np.where": ("np.where(c, x, y)", "(np.where(c, g, 0), np.where(c, 0, g))"),
    "sum": ("x.sum()", "(np.broadcast_to(g, x.shape),)"),
    "mean": ("x.mean()", "(np.broadcast_to(g / x.size, x.shape),)"),
    "max": ("x.max()", "((x == z) * g,)"),
    "x[1:]": ("x[1:]", "(np.concatenate([[0.0], g]),)"),
    "reshape": ("x.reshape(-1, 2)", "(g.reshape(x.shape),)"),
    "concatenate": ("np.concatenate([x, y])", "(g[:x.size], g[x.size:])"),
    "matmul": ("a @ b", "(g @ b.T, a.T @ g)"),
    "var": ("x.var()", "(g * (2 / x.size) * (x - x.mean()),)"),
    "np.logaddexp": ("np.logaddexp(x, y)", "(g * np.exp(x - z), g * np.exp(y - z))"),
    "cumsum": ("x.cumsum()", "(np.cumsum(g[::-1])[::-1],)"),
    "sort": ("np.sort(x)", "(np.take(g, np.argsort(np.argsort(x))),)"),
}


def operands(size: int) -> dict[str, Array]:
    """x and y of that many elements, matrices a and b of about as many, a mask c."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.5, (2, size))
    side = 3 if size < 100 else M
    a, b = rng.uniform(0.5, 1.5, (2, side, side))
    return {"x": x, "y": y, "a": a, "b": b, "c": x > 1}


def sides(name: str, size: int) -> dict[str, Callable[[], Any]]:
    """Value and gradients, by hand and by autoflow."""
    call, formula = ROWS[name]
    plain = operands(size)
    nodes = {n: v if v.dtype == bool else af.Variable(v, copy=False) for n, v in plain.items()}
    used = [nodes[n] for n in ("a", "b") if name == "matmul"] or [nodes[n] for n in ("x", "y")]
    # The calls are those of this file.
    by_hand = eval(f"lambda np, x, y, a, b, c, g: (z := {call}, {formula})")  # noqa: S307
    forward = eval(f"lambda np, x, y, a, b, c: {call}")  # noqa: S307
    g = np.ones_like(forward(np, **plain))

    def ours() -> None:
        forward(np, **nodes).backward(g)
        for leaf in used:
            leaf.zero_grad()

    return {"hand": lambda: by_hand(np, **plain, g=g), "autoflow": ours}


def seconds(name: str, size: int, rounds: int) -> dict[str, float]:
    """The least time of each side."""
    runs = 25 if size < 100 else 1  # short looks at the clock: on a busy machine some fall between two interruptions
    timers = {side: timeit.Timer(f).timeit for side, f in sides(name, size).items()}
    return interleaved({side: lambda timer=timer: timer(runs) / runs for side, timer in timers.items()}, rounds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("names", nargs="*", help="rows to measure; all by default")
    options = parser.parse_args()
    warm_malloc()
    overhead = {}
    for size in SIZES:
        base = seconds("+x", size, 2 * options.rounds)
        overhead[size] = base["autoflow"] - base["hand"]
    lines = []
    for name in options.names or ROWS:
        cells, ratios = [f"`{name}`"], []
        for size in SIZES:
            found = seconds(name, size, options.rounds)
            cells += [digits(found["hand"] * 1e6), digits(found["autoflow"] * 1e6)]
            ratios.append(digits(found["autoflow"] / (found["hand"] + overhead[size])))
        lines.append(cells + ratios)
    print(setting())
    print("Overhead:", ", ".join([f"{t * 1e6:.1f} µs at {size}" for size, t in overhead.items()]) + ". Times in µs.\n")
    header = ["value and gradient", "hand, 10", "autoflow, 10", "hand, 1e5", "autoflow, 1e5", "ratio, 10", "ratio, 1e5"]
    print(table(header, lines))


if __name__ == "__main__":
    main()
