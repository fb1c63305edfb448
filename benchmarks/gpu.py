"""autoflow on CuPy beside PyTorch and JAX on the same GPU: ``python benchmarks/gpu.py``.

A training step of a network 784-256-128-10 on batches of 128, and a chain of elementwise operations on 1e8 numbers,
forward and backward, in float32; and the time of one copy of that array, which is what the device's memory can do.
Needs CuPy and a GPU; peers that are missing are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from measuring import interleaved

import autoflow as af
from autoflow.arrays import usable_cupy

SIZES = (784, 256, 128, 10)
BATCH, CHAIN = 128, 10**8


def parameters(seed: int = 0) -> list[Any]:
    """Weights and biases as NumPy arrays, the same for all."""
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for m, n in pairwise(SIZES):
        made += [rng.normal(size=(m, n)).astype(np.float32) / np.float32(m**0.5), np.zeros(n, np.float32)]
    return made


def data() -> tuple[Any, Any]:
    """One batch."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(BATCH, SIZES[0])).astype(np.float32), rng.integers(0, SIZES[-1], BATCH)


def ours() -> dict[str, Callable[[], Any]]:
    """autoflow on CuPy."""
    import cupy

    AF = af.Autodiff(cupy.ndarray)  # noqa: N806 - as users write it
    leaves = [AF.Variable(p) for p in parameters()]
    x, labels = map(cupy.asarray, data())
    optimiser = af.optim.SGD(leaves, 0.01)
    long = AF.Variable(cupy.linspace(0.1, 1, CHAIN, dtype=np.float32), copy=False)

    def step() -> None:
        optimiser.zero_grad()
        h = x
        for k in range(0, len(leaves), 2):
            h = h @ leaves[k] + leaves[k + 1]
            h = np.tanh(h) if k + 2 < len(leaves) else h
        af.nn.cross_entropy(h, labels).backward()
        optimiser.step()

    def chain() -> None:
        long.zero_grad()
        np.exp(np.tanh(long * 2.0) + long).sum().backward(keep_grads=False)

    wait = cupy.cuda.get_current_stream().synchronize
    return {"mlp": timed(step, wait), "chain": timed(chain, wait)}


def torchs() -> dict[str, Callable[[], Any]]:
    """PyTorch, eager."""
    import torch

    leaves = [torch.tensor(p, device="cuda", requires_grad=True) for p in parameters()]
    x, labels = (torch.tensor(d, device="cuda") for d in data())
    optimiser = torch.optim.SGD(leaves, 0.01)
    long = torch.linspace(0.1, 1, CHAIN, device="cuda", requires_grad=True)

    def step() -> None:
        optimiser.zero_grad()
        h = x
        for k in range(0, len(leaves), 2):
            h = h @ leaves[k] + leaves[k + 1]
            h = torch.tanh(h) if k + 2 < len(leaves) else h
        torch.nn.functional.cross_entropy(h, labels).backward()
        optimiser.step()

    def chain() -> None:
        long.grad = None
        torch.exp(torch.tanh(long * 2.0) + long).sum().backward()

    return {"mlp": timed(step, torch.cuda.synchronize), "chain": timed(chain, torch.cuda.synchronize)}


def jaxs() -> dict[str, Callable[[], Any]]:
    """JAX, compiled."""
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise ImportError("this JAX sees no GPU")
    x, labels = data()

    def loss(leaves: Any) -> Any:
        h = x
        for k in range(0, len(leaves), 2):
            h = h @ leaves[k] + leaves[k + 1]
            h = jnp.tanh(h) if k + 2 < len(leaves) else h
        return -jnp.mean(jax.nn.log_softmax(h)[jnp.arange(BATCH), labels])

    update = jax.jit(lambda p: [a - 0.01 * g for a, g in zip(p, jax.grad(loss)(p), strict=True)])
    slope = jax.jit(jax.grad(lambda x: jnp.exp(jnp.tanh(x * 2.0) + x).sum()))
    leaves, long = [jnp.asarray(p) for p in parameters()], jnp.linspace(0.1, 1, CHAIN, dtype=np.float32)
    return {"mlp": timed(lambda: jax.block_until_ready(update(leaves)), lambda: None),
            "chain": timed(lambda: jax.block_until_ready(slope(long)), lambda: None)}  # fmt: skip


def timed(run: Callable[[], Any], wait: Callable[[], Any]) -> Callable[[], float]:
    """Seconds for one run, the device idle before and after."""
    run()

    def sample() -> float:
        wait()
        start = time.perf_counter()
        run()
        wait()
        return time.perf_counter() - start

    return sample


def copied() -> Callable[[], float]:
    """One copy of the chain's array to another."""
    import cupy

    a = cupy.ones(CHAIN, np.float32)
    b = cupy.empty_like(a)
    return timed(lambda: cupy.copyto(b, a), cupy.cuda.get_current_stream().synchronize)


def main() -> int:
    """Print the table. Returns the exit status."""
    try:
        usable_cupy()
    except (ImportError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    samples: dict[str, Callable[[], float]] = {}
    for name, make in (("autoflow", ours), ("torch", torchs), ("jax jit", jaxs)):
        try:
            samples |= {f"{work} {name}": sample for work, sample in make().items()}
        except ImportError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    best = interleaved(samples | {"one copy": copied()}, 15)
    for name, seconds in sorted(best.items()):
        print(f"{name:<20}{seconds * 1e3:10.3f} ms")
    print(f"the chain takes as long as {best['chain autoflow'] / best['one copy']:.1f} copies of its array")
    return 0


if __name__ == "__main__":
    sys.exit(main())
