"""What is left to gain? Steps beside the NumPy calls that they consist of, and chain-4M beside two of them.

    python benchmarks/bounds.py

A compiled step cannot be faster than its NumPy calls, made one after the other with arguments that are known
beforehand. The second table is about large arrays: tanh and exp alone, of 4,000,000 elements, block by block in the
cache and in as many threads as there are CPUs; what the arguments cost that are read, and the results that are written.
The third table is about softmax-10k, uncompiled: a graph of its operations, written out as NumPy calls into arrays that
are there, is what such a step cannot get below without threads or fewer operations.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from compare import IMPLEMENTATIONS, visit
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


def recorded_softmax(x: Any, y: Any, w: Any) -> Callable[[], Any]:
    """The operations of softmax-10k and of its pass, one after the other, through the maximum as well."""
    m, s, t = [np.empty((len(x), 1)) for _ in range(3)]
    z, d, e, g, sent = [np.empty(y.shape) for _ in range(5)]
    ties, result = np.empty(y.shape, bool), np.empty(w.shape)

    def step() -> Any:
        np.subtract(np.matmul(x, w, out=z), np.max(z, axis=1, keepdims=True, out=m), out=d)
        np.log(np.sum(np.exp(d, out=e), axis=1, keepdims=True, out=s), out=t)
        np.negative(np.sum(np.multiply(y, np.subtract(d, t, out=g), out=g)))
        np.divide(np.sum(y, axis=1, keepdims=True, out=t), s, out=t)  # through the logarithm and the sum
        np.add(np.negative(y, out=g), np.multiply(e, t, out=sent), out=g)
        np.sum(g, axis=1, keepdims=True, out=t)  # through the maximum
        np.subtract(g, np.multiply(np.equal(z, m, out=ties), t, out=sent), out=g)
        return np.matmul(x.T, g, out=result)

    return step


def eager() -> list[list[str]]:
    """Rows of the third table, in ms."""
    work = WORKLOADS["softmax-10k"]()
    step = af.value_and_grad(lambda w: work.forward(np, *work.data, w))
    calls = recorded_softmax(*work.data, *work.parameters)
    np.testing.assert_allclose(calls(), step(*work.parameters)[1], rtol=1e-9, atol=1e-9)
    best = measured({
        "hand": lambda: work.by_hand(*work.data, *work.parameters),
        "the recorded operations as NumPy calls": calls,
        "autoflow": partial(step, *work.parameters),
        **({} if find_spec("torch") is None else {"PyTorch": IMPLEMENTATIONS["torch"](work)}),
    })  # fmt: skip
    return [[name, digits(t)] for name, t in best.items()]


def main() -> None:
    """Measure and print."""
    warm_malloc()
    print(table(["", "hand", "compiled", "its calls alone", "calls / hand"], small()), end="\n\n")
    print(table(["chain-4M, ms", ""], large()), end="\n\n")
    print(table(["softmax-10k, ms", ""], eager()), end="\n\n")
    print(setting(["autoflow"]))


if __name__ == "__main__":
    main()
