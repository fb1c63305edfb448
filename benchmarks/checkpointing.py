"""Memory against time: a training step as it is, with af.checkpointing("balanced"), and with af.checkpoint.

    python benchmarks/checkpointing.py

Networks whose activation functions are written with several NumPy functions, on arrays larger than
``af.options.keep``. Targets: "balanced" has a peak at least 40 % lower for at most 35 % more time; ``checkpoint`` on
a chain of n layers, in pieces of √n, needs memory for about 2 √n arrays.

Peak: the most that tracemalloc sees in a second step, above what was there before it. Time: the best of several
steps. Every figure comes from a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import digits, fresh, setting, table, warm_malloc

import autoflow as af
from autoflow.backprop.checkpointing import checkpoint, checkpointing

Array = Any
MB = 1e6


def swish(x: Any) -> Any:
    """x σ(x)."""
    return x / (1 + np.exp(-x))


def mlp() -> Callable[[Any], Any]:
    """20 layers of 256 units on 1,024 rows, with a normalisation and swish."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1024, 256))
    weights = [af.Variable(rng.normal(size=(256, 256)) / 16) for _ in range(20)]

    def layer(x: Any, w: Any) -> Any:
        return swish(x @ w + 0.1) * 1.5

    def loss(wrap: Any) -> Any:
        run = wrap(lambda x, *ws: functools.reduce(layer, ws, x))
        y = x
        for start in range(0, 20, 4):
            y = run(y, *weights[start : start + 4])
        return (y * y).mean()

    return loss


def rnn() -> Callable[[Any], Any]:
    """A gated recurrent unit of 128 units, 64 steps on 256 rows."""
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(64, 256, 32))
    w, u = af.Variable(rng.normal(size=(32, 384)) / 6), af.Variable(rng.normal(size=(128, 384)) / 12)

    def cell(h: Any, x: Any) -> Any:
        a, b = x @ w, h @ u
        reset = 1 / (1 + np.exp(-(a[:, :128] + b[:, :128])))
        update = 1 / (1 + np.exp(-(a[:, 128:256] + b[:, 128:256])))
        new = np.tanh(a[:, 256:] + reset * b[:, 256:])
        return (1 - update) * new + update * h

    def loss(wrap: Any) -> Any:
        run = wrap(lambda h, *xs: functools.reduce(cell, xs, h))
        h = af.Constant(np.zeros((256, 128)))
        for start in range(0, 64, 8):
            h = run(h, *xs[start : start + 8])
        return (h * h).mean()

    return loss


def chain(n: int) -> Callable[[Any], Any]:
    """n times tanh on 20,000 numbers."""
    x = af.Variable(np.full(20_000, 0.1))
    piece = round(n**0.5)

    def loss(wrap: Any) -> Any:
        run = wrap(lambda y: functools.reduce(lambda y, _: np.tanh(y), range(piece), y))
        return functools.reduce(lambda y, _: run(y), range(n // piece), x).sum()

    return loss


NETWORKS: dict[str, Callable[[], Any]] = {
    "mlp": mlp,
    "rnn": rnn,
    "chain-100": lambda: chain(100),
    "chain-400": lambda: chain(400),
    "chain-1600": lambda: chain(1600),
}
WAYS = ("plain", "balanced", "checkpoint")


def measure(network: str, way: str, rounds: int) -> dict[str, float]:
    """Peak in MB and milliseconds of one training step."""
    warm_malloc()
    loss = NETWORKS[network]()

    def step() -> None:
        with checkpointing("balanced") if way == "balanced" else contextlib.nullcontext():
            z = loss(checkpoint if way == "checkpoint" else lambda f: f)
        z.backward()

    step()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    step()
    return {"peak": tracemalloc.get_traced_memory()[1] / MB, "ms": min(times) * 1e3}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        json.dump(measure(*arguments.one, arguments.rounds), sys.stdout)
        return
    print(setting())
    rows = []
    for network in arguments.only:
        plain: dict[str, float] = {}
        for way in WAYS:
            found = fresh(__file__, "--one", network, way, "--rounds", str(arguments.rounds))
            plain = plain or found
            rows.append((
                network, way, digits(found["peak"]), f"{found['peak'] / plain['peak'] - 1:+.0%}",
                digits(found["ms"]), f"{found['ms'] / plain['ms'] - 1:+.0%}",
            ))  # fmt: skip
    print(table(("network", "way", "peak MB", "", "ms", ""), rows))


if __name__ == "__main__":
    main()
