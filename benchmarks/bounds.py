"""What is left to gain? Compiled steps beside the NumPy calls that they consist of, and chain-4M beside two of them.

    python benchmarks/bounds.py

A compiled step cannot be faster than its NumPy calls, made one after the other with arguments that are known
beforehand. The second table is about large arrays: tanh and exp alone, of 4,000,000 elements, block by block in the
cache and in as many threads as there are CPUs; what the arguments cost that are read, and the results that are written.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from compare import visit
from measuring import digits, interleaved, setting, table, warm_malloc
from workloads import WORKLOADS, Workload

import autoflow as af
from autoflow.compiler.run.tiles import BLOCK
from autoflow.table.blocks import cores

ROUNDS = 15


def compiled(work: Workload) -> Any:
    """The compiled step, run once."""
    forward, data = work.forward, work.data
    step = af.compile(af.value_and_grad(lambda *p: forward(np, *data, *p), tuple(range(len(work.parameters)))))
    step(*work.parameters)
    return step


def small() -> list[list[str]]:
    """Rows of the first table, in ms."""
    rows = []
    for name in ("mlp-tiny", "chain-1k", "rnn-100"):
        work = WORKLOADS[name]()
        step = compiled(work)
        (entry,) = step.entries.values()

        def calls(plan: Any = entry.free[-1], arrays: Any = work.parameters) -> None:
            plan.context.run(plan.calls, *arrays)

        best = measured({
            "hand": lambda w=work: w.by_hand(*w.data, *w.parameters),
            "compiled": lambda w=work, step=step: step(*w.parameters),
            "calls": calls,
        })  # fmt: skip
        rows.append([name, *map(digits, best.values()), digits(best["calls"] / best["hand"])])
    return rows


def measured(steps: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The best of many, in ms; they take turns."""
    return interleaved({name: partial(visit, step) for name, step in steps.items()}, ROUNDS, 10.0)


def large() -> list[list[str]]:
    """Rows of the second table, in ms."""
    work = WORKLOADS["chain-4M"]()
    x, n = work.parameters[0], work.parameters[0].size
    threads = cores()
    pool = ThreadPoolExecutor(threads)
    scratch = [np.empty(BLOCK) for _ in range(threads)]

    def over_blocks(f: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        def part(k: int) -> None:
            for i in range(k * n // threads, (k + 1) * n // threads, BLOCK):
                j = min(i + BLOCK, (k + 1) * n // threads)
                f(slice(i, j), scratch[k][: j - i])

        return lambda: list(pool.map(part, range(threads)))

    results = [np.empty(n) for _ in range(3)]

    def write(rows: slice, _: Any) -> None:
        for r in results:
            r[rows] = 1.0

    steps = {
        "np.tanh": over_blocks(lambda rows, out: np.tanh(x[rows], out)),
        "np.exp": over_blocks(lambda rows, out: np.exp(x[rows], out)),
        "reading the three arguments": over_blocks(lambda rows, _: [a[rows].sum() for a in work.parameters]),
        "writing the three results": over_blocks(write),
        "the compiled step": partial(compiled(work), *work.parameters),
    }
    return [[name, digits(t)] for name, t in measured(steps).items()]


def main() -> None:
    """Measure and print."""
    warm_malloc()
    print(table(["", "hand", "compiled", "its calls alone", "calls / hand"], small()), end="\n\n")
    print(table(["chain-4M, ms", ""], large()), end="\n\n")
    print(setting(["autoflow"]))


if __name__ == "__main__":
    main()
