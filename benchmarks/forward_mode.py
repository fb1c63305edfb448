"""jvp beside the function itself, on nodes and compiled, and beside the jvp written by hand.

    OPENBLAS_NUM_THREADS=1 python benchmarks/forward_mode.py [--only mlp-tiny ...] [--rounds 400]

Targets: at most 3 times f on nodes, and compiled at most 2.3 times the compiled f. By hand it takes about 2 times f.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from measuring import digits, interleaved, setting, table, warm_malloc
from toolkit import seconds
from workloads import WORKLOADS

import autoflow as af

Array = Any


def mlp_by_hand(data: Any, layers: Any, moves: Any) -> tuple[Array, Array]:
    """``workloads.mlp`` and how it moves."""
    x, y = data
    h, t = x, None
    for i in range(0, len(layers), 2):
        t = h @ moves[i] + moves[i + 1] if t is None else t @ layers[i] + h @ moves[i] + moves[i + 1]
        h = h @ layers[i] + layers[i + 1]
        if i + 2 < len(layers):
            h = np.tanh(h)
            t = t * (1 - h * h)
    error = h - y
    return (error**2).sum(), (2 * error * t).sum()


def elementwise_by_hand(data: Any, operands: Any, moves: Any) -> tuple[Array, Array]:
    """``workloads.elementwise`` and how it moves."""
    x, w, b = operands
    dx, dw, db = moves
    t = np.tanh(x * w + b)
    e = np.exp(-(t * t))
    return e.sum(), (e * (-2 * t * ((dx * w + x * dw + db) * (1 - t * t)))).sum()


BY_HAND = {"mlp": mlp_by_hand, "elementwise": elementwise_by_hand}
KINDS = [name for name in WORKLOADS if name.partition("-")[0] in ("mlp", "chain")]


def make_ways(name: str) -> dict[str, Any]:
    """What is measured, by name. All jvps have been compared."""
    work = WORKLOADS[name]()
    forward, data, operands = work.forward, work.data, work.parameters
    moves = tuple([np.random.default_rng(k).normal(size=x.shape) for k, x in enumerate(operands)])

    def f(*operands: Any) -> Any:
        return forward(np, *data, *operands)

    compiled, compiled_jvp = af.compile(f), af.compile(lambda x, t: af.jvp(f, x, t))
    jvps = {
        "jvp by hand": lambda: BY_HAND[forward.__name__](data, operands, moves),
        "jvp": lambda: af.jvp(f, operands, moves),
        "jvp, compiled": lambda: compiled_jvp(operands, moves),
    }
    right = jvps["jvp by hand"]()
    for way, run in jvps.items():
        np.testing.assert_allclose(run(), right, rtol=1e-8, err_msg=f"{name}, {way}")
    return {
        "f": lambda: f(*operands),
        "f on nodes": lambda: f(*[af.Variable(x, copy=False) for x in operands]),
        "f, compiled": lambda: compiled(*operands),
        **jvps,
    }


def main() -> None:
    """Compare, measure and print."""
    parser = argparse.ArgumentParser(description="jvp beside the function itself.")
    parser.add_argument("--only", nargs="*", default=["mlp-tiny", "mlp-mnist", "chain-1k", "chain-4M"], choices=KINDS)
    parser.add_argument("--rounds", type=int, default=400, help="rounds; the best counts (400, or 5 s for each way)")
    chosen = parser.parse_args()
    warm_malloc()
    rows, header = [], []
    for name in chosen.only:
        ways = make_ways(name)
        best = interleaved({way: seconds(run) for way, run in ways.items()}, chosen.rounds, 5 * len(ways))
        ratios = [("jvp by hand", "f"), ("jvp", "f on nodes"), ("jvp, compiled", "f, compiled")]
        header = ["ms", *ways, *[f"{a} / {b}" for a, b in ratios]]
        rows.append([name, *[digits(best[w] * 1e3) for w in ways], *[digits(best[a] / best[b]) for a, b in ratios]])
    print(table(header, rows))
    print("", f"{setting()}; best of at most {chosen.rounds} rounds", sep="\n")


if __name__ == "__main__":
    main()
