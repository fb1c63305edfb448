"""How much memory a step takes, and how autoflow bears a chain of a million operations.

    python benchmarks/memory.py [--operations 1000000]

1. One training step of a deep network on arrays too large for ``af.options.keep``: the peak of what it allocates on
   top of parameters and data, in autoflow and by hand. Target: at most 1.1 times.
2. A chain of many operations on a scalar: seconds to record it, to walk it backwards and to free it, and the largest
   resident size of the process. Targets: at most 0.6 of PyTorch's time, at most 1.5 GB.

Every figure comes from a process of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import digits, fresh, setting, table
from workloads import make_mlp, mlp, mlp_by_hand

Array = Any
Figures = dict[str, float]
BATCH, WIDTH, LAYERS = 1024, 256, 16  # 2 MB for every array of activations, 0.5 MB for every weight
RATE = 1e-6
MB = 1e6


# -- a training step -------------------------------------------------------------------------------------------------


def step_by_hand(data: tuple[Array, ...], layers: list[Array]) -> None:
    """Gradients by hand, one step downhill."""
    for w, g in zip(layers, mlp_by_hand(*data, *layers), strict=True):
        w -= RATE * g


def step_autoflow(data: tuple[Array, ...], variables: list[Array]) -> None:
    """The same with autoflow."""
    af = import_module("autoflow")
    mlp(np, *data, *variables).backward()
    with af.no_grad():
        for v in variables:
            v -= RATE * v.grad
            v.zero_grad()


def peak_of(step: Callable[[], None]) -> Figures:
    """The most megabytes that a step holds, over what was there before. The first step may load code: it is not asked.

    tracemalloc sees every array of NumPy, and every object of Python.
    """
    step()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"MB": (peak - before) / MB}


def mlp_hand() -> Figures:
    """The peak by hand."""
    work = make_mlp(BATCH, *[WIDTH] * (LAYERS + 1))
    return peak_of(lambda: step_by_hand(work.data, list(work.parameters)))


def mlp_autoflow() -> Figures:
    """The peak of autoflow."""
    af = import_module("autoflow")
    work = make_mlp(BATCH, *[WIDTH] * (LAYERS + 1))
    variables = [af.Variable(w, copy=False) for w in work.parameters]
    return peak_of(lambda: step_autoflow(work.data, variables))


# -- a chain ---------------------------------------------------------------------------------------------------------


def resident() -> float:
    """The largest resident size of this process so far, in megabytes. NaN where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def chain(sin: Callable[[Array], Array], x: Array, operations: int) -> Array:
    """sin(... sin(x) · x ...) · x: neither value nor gradient overflows or vanishes at x = 1."""
    z = x
    for _ in range(operations // 2):
        z = sin(z) * x
    return z


def timed(sin: Callable[[Array], Array], x: Array, operations: int) -> Figures:
    """Seconds for each of the three phases, and megabytes. ``x``: a scalar to differentiate with respect to."""
    loaded = resident()
    times = [time.perf_counter()]
    z = chain(sin, x, operations)
    times.append(time.perf_counter())
    z.backward()
    times.append(time.perf_counter())
    del z
    times.append(time.perf_counter())
    figures = dict(zip(("forward", "backward", "deletion"), np.diff(times).tolist(), strict=True))
    figures |= {"total": times[-1] - times[0], "MB": resident(), "over": resident() - loaded}
    return figures | {"grad": float(x.grad)}


def chain_autoflow(operations: int) -> Figures:
    """The chain by autoflow."""
    return timed(np.sin, import_module("autoflow").Variable(1.0), operations)


def chain_torch(operations: int) -> Figures:
    """The chain by PyTorch."""
    torch = import_module("torch")
    return timed(torch.sin, torch.tensor(1.0, dtype=torch.float64, requires_grad=True), operations)


CHILDREN: dict[str, Callable[..., Figures]] = {
    "mlp_hand": mlp_hand,
    "mlp_autoflow": mlp_autoflow,
    "chain_autoflow": chain_autoflow,
    "chain_torch": chain_torch,
}


# -- output ----------------------------------------------------------------------------------------------------------


def child(name: str, *arguments: int) -> Figures:
    """What one of CHILDREN finds in a fresh process."""
    code = f"import json, memory; print(json.dumps(memory.CHILDREN[{name!r}](*{arguments})))"
    return fresh("-c", code)


def compare_steps() -> None:
    """Print the table of the training step."""
    by_hand, ours = child("mlp_hand")["MB"], child("mlp_autoflow")["MB"]
    print(f"One step of a network of {LAYERS} layers, {WIDTH} wide, batch {BATCH}:", end="\n\n")
    rows = [["by hand", digits(by_hand), "1"], ["autoflow", digits(ours), digits(ours / by_hand)]]
    print(table(["", "peak MB", "of by hand (target 1.1)"], rows), end="\n\n")


def compare_chains(operations: int, names: list[str]) -> None:
    """Print the table of the chain, for autoflow and, where it is installed, PyTorch."""
    figures = {name: child(f"chain_{name}", operations) for name in names}
    columns = ["forward", "backward", "deletion", "total", "MB", "over"]
    rows = [[name, *(digits(found[column]) for column in columns)] for name, found in figures.items()]
    print(f"A chain of {operations:,} operations:", end="\n\n")
    print(table(["", "forward s", "backward s", "deletion s", "total s", "peak MB", "of it the chain"], rows))
    if "torch" in figures:
        np.testing.assert_allclose(figures["autoflow"]["grad"], figures["torch"]["grad"], rtol=1e-6)
        share = figures["autoflow"]["total"] / figures["torch"]["total"]
        print(f"\nautoflow takes {digits(share)} of PyTorch's time (target 0.6).")
    else:
        print("\nPyTorch is not installed: skipped.")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Memory of a training step, and a chain of a million operations.")
    parser.add_argument("--operations", type=int, default=1_000_000, help="length of the chain")
    operations = parser.parse_args().operations
    libraries = ["autoflow", *(["torch"] if find_spec("torch") else [])]
    compare_steps()
    compare_chains(operations, libraries)
    print("", setting(libraries), sep="\n")


if __name__ == "__main__":
    main()
