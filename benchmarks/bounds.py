"""What is left to gain? Steps beside the NumPy calls that they consist of, and chain-4M beside two of them.

    python benchmarks/bounds.py

A compiled step cannot be faster than its NumPy calls, made one after the other with arguments that are known
beforehand. The second table is about large arrays: tanh and exp alone, of 4,000,000 elements, block by block in the
cache and in as many threads as there are CPUs; what the arguments cost that are read, and the results that are written.
The third table is about large steps that are not compiled: their operations as NumPy calls, those of chain-4M also in
two threads, are what such a step cannot get below without fewer operations.
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
HAS_TORCH = find_spec("torch") is not None


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


def recorded_chain(run: Callable[..., Any], x: Any, w: Any, b: Any) -> Any:
    """The same of chain-4M, by ``run(function, *values)``."""
    t = run(np.tanh, run(np.add, run(np.multiply, x, w), b))
    e = run(np.exp, run(np.negative, run(np.multiply, t, t)))
    np.sum(e)
    g = run(np.multiply, run(np.negative, e), t)
    g = run(np.multiply, run(np.add, g, g), run(np.subtract, 1.0, run(np.multiply, t, t)))
    return run(np.multiply, g, w), run(np.multiply, g, x), g


def eager() -> list[list[str]]:
    """Rows of the third table, in ms."""
    pool, cut = ThreadPoolExecutor(2), len(WORKLOADS["chain-4M"]().parameters[0]) // 2

    def in_two(function: Any, *values: Any) -> Any:
        z = np.empty(2 * cut)

        def half(rows: slice) -> None:
            function(*[v[rows] if isinstance(v, np.ndarray) else v for v in values], out=z[rows])

        list(pool.map(half, (slice(0, cut), slice(cut, None))))
        return z

    bound: dict[str, dict[str, Callable[..., Any]]] = {
        "softmax-10k": {"its operations as NumPy calls": recorded_softmax},
        "chain-4M": {
            "its operations as NumPy calls": lambda *a: partial(recorded_chain, lambda f, *v: f(*v), *a),
            "the same in two threads": lambda *a: partial(recorded_chain, in_two, *a),
        },
    }
    rows = []
    for name, calls in bound.items():
        work = WORKLOADS[name]()
        steps = {kind: IMPLEMENTATIONS[kind](work) for kind in ("hand", "autoflow", *["torch"] * HAS_TORCH)}
        steps |= {title: made(*work.data, *work.parameters) for title, made in calls.items()}
        for title in calls:
            np.testing.assert_allclose(np.ravel(steps[title]()), np.ravel(steps["autoflow"]()), rtol=1e-9, atol=1e-9)
        rows += [[f"{name}: {title}", digits(t)] for title, t in measured(steps).items()]
    return rows


def main() -> None:
    """Measure and print."""
    warm_malloc()
    print(table(["", "hand", "compiled", "its calls alone", "calls / hand"], small()), end="\n\n")
    print(table(["chain-4M, ms", ""], large()), end="\n\n")
    print(table(["not compiled, ms", ""], eager()), end="\n\n")
    print(setting(["autoflow"]))


if __name__ == "__main__":
    main()
