"""Time autoflow and its peers on the same work, side by side, in one process.

    python benchmarks/compare.py [--only mlp-tiny ...] [--impl hand autoflow torch ...] [--rounds 5] [--markdown]

One step is the value and all gradients (:mod:`workloads`). Every implementation must agree in its gradients before
it is measured. Each round measures every implementation once: its best step of at least 20 ms. The figure is the median
of five rounds, in ms, and how far they lie apart. How to read the figures: README.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from measuring import alternating, digits, setting, spread, table, warm_malloc
from workloads import WORKLOADS, Workload

Array = Any
Step = Callable[[], Sequence[Array]]
VISIT = 0.02  # seconds for which an implementation runs when its turn has come
BUDGET = 4.0  # of scripts with more rounds: seconds per implementation and workload after which no new one begins


# -- implementations: each turns a workload into a step that returns its gradients -----------------------------------
# Peers are imported late, by whom they are measured.


def forward(work: Workload) -> Step:
    """NumPy, the value alone: what every library pays that builds on NumPy."""
    return lambda: [work.forward(np, *work.data, *work.parameters)]


def hand(work: Workload) -> Step:
    """NumPy, the gradients written out by hand."""
    return lambda: work.by_hand(*work.data, *work.parameters)


def autoflow(work: Workload) -> Step:
    """autoflow as anybody would use it, recording anew at every step."""
    af = import_module("autoflow")

    def step() -> list[Array]:
        variables = [af.Variable(a, copy=False) for a in work.parameters]
        af.backward(work.forward(np, *work.data, *variables))
        return [v.grad for v in variables]

    return step


def compiled(work: Workload, *, engine: str = "numpy") -> Step:
    """autoflow, the step recorded once by ``af.compile`` and replayed."""
    af = import_module("autoflow")
    forward, data = work.forward, work.data  # what the function needs, and no more: whatever it sees is guarded
    step = af.value_and_grad(lambda *p: forward(np, *data, *p), tuple(range(len(work.parameters))))
    function = af.compile(step, engine=engine)
    return lambda: list(function(*work.parameters)[1])


def autograd(work: Workload) -> Step:
    """HIPS autograd."""
    anp = import_module("autograd.numpy")
    gradient = import_module("autograd").grad(lambda parameters: work.forward(anp, *work.data, *parameters))
    return lambda: list(gradient(work.parameters))


def mygrad(work: Workload) -> Step:
    """MyGrad, with its own graph checks as they are by default."""
    mg = import_module("mygrad")

    def step() -> list[Array]:
        tensors = [mg.tensor(a, copy=False) for a in work.parameters]
        work.forward(np, *work.data, *tensors).backward()
        return [t.grad for t in tensors]

    return step


class TorchNumpy:
    """The few NumPy functions of the workloads, by PyTorch: its own where they have NumPy's name and arguments."""

    def __init__(self, torch: Any) -> None:
        self.exp, self.log, self.tanh, self.sqrt, self.matmul = (
            torch.exp, torch.log, torch.tanh, torch.sqrt, torch.matmul
        )  # fmt: skip
        self.amax, self.reshape, self.swapaxes, self.linalg = torch.amax, torch.reshape, torch.swapaxes, torch.linalg

    def sum(self, x: Array, axis: int, keepdims: bool) -> Array:
        return x.sum(axis, keepdim=keepdims)

    def max(self, x: Array, axis: int, keepdims: bool) -> Array:
        return self.amax(x, axis, keepdim=keepdims)


def torch(work: Workload) -> Step:
    """PyTorch, eager, on the CPU. Data and parameters are tensors before the clock starts."""
    torch = import_module("torch")
    tnp = TorchNumpy(torch)
    data = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in work.data]
    tensors = [torch.tensor(a, requires_grad=True) for a in work.parameters]

    def step() -> list[Array]:
        for t in tensors:
            t.grad = None
        work.forward(tnp, *data, *tensors).backward()
        return [t.grad.numpy() for t in tensors]

    return step


def jax(work: Workload, *, jit: bool = False) -> Step:
    """JAX on the CPU in float64, operation by operation or compiled (before the clock starts)."""
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    data = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in work.data]
    parameters = [jnp.asarray(a) for a in work.parameters]
    both = jax.value_and_grad(lambda *p: work.forward(jnp, *data, *p), argnums=tuple(range(len(parameters))))
    function = jax.jit(both) if jit else both
    return lambda: [np.asarray(g) for g in jax.block_until_ready(function(*parameters))[1]]


IMPLEMENTATIONS: dict[str, Callable[[Workload], Step]] = {
    "forward": forward,
    "hand": hand,
    "autoflow": autoflow,
    "compiled": compiled,
    "llvm": partial(compiled, engine="llvm"),
    "xla": partial(compiled, engine="jax"),
    "autograd": autograd,
    "mygrad": mygrad,
    "torch": torch,
    "jax": jax,
    "jax-jit": partial(jax, jit=True),
}
TITLES = {"compiled": "af.compile", "llvm": "af.compile, LLVM", "xla": "af.compile, JAX", "mygrad": "MyGrad",
          "torch": "PyTorch", "jax": "JAX", "jax-jit": "JAX jit"}  # fmt: skip
LIBRARIES = {"autoflow", "autograd", "mygrad", "torch", "jax"}
# Seconds per step, or minutes to compile.
TOO_SLOW = {("jax", "scalars-1k"), ("jax", "scalars-10k"), ("jax-jit", "scalars-10k"), ("xla", "scalars-10k")}
NEEDED = {"llvm": "llvmlite", "xla": "jax"}  # what an engine of ours needs


# -- measuring -------------------------------------------------------------------------------------------------------


def visit(step: Step) -> float:
    """Milliseconds of the best step of one visit, which has at least two: the first finds cold caches."""
    gc.collect()  # nobody pays for cycles that another one left, and threads of the other one fall asleep
    best, steps, end = math.inf, 0, time.perf_counter() + VISIT
    while steps < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
        steps += 1
    return best * 1e3


def prepared(name: str, implementations: Sequence[str]) -> dict[str, Step]:
    """The steps of those that are installed and agree; a line about each of the others."""
    work = WORKLOADS[name]()
    expected = work.by_hand(*work.data, *work.parameters)
    steps: dict[str, Step] = {}
    for implementation in implementations:
        if (implementation, name) in TOO_SLOW:
            continue
        try:
            step = IMPLEMENTATIONS[implementation](work)
            gradients = step()
            if implementation != "forward":
                agree(gradients, expected)
        except Exception as error:
            print(f"{name}: {implementation} fails: {type(error).__name__}: {str(error)[:200]}")
        else:
            steps[implementation] = step
    return steps


def agree(gradients: Sequence[Array], expected: Sequence[Array]) -> None:
    """AssertionError unless the gradients are those found by hand, but for rounding."""
    for actual, g in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(actual, g, rtol=1e-6, atol=1e-8)


def installed(implementations: Sequence[str]) -> list[str]:
    """Those that can be imported; a line about each of the others."""
    found = []
    for implementation in implementations:
        library = implementation.partition("-")[0]
        try:
            if library in LIBRARIES:
                import_module(library)
            if library in NEEDED:
                import_module(NEEDED[library])
        except ImportError as error:
            print(f"{implementation} skipped: {error}")
        else:
            found.append(implementation)
    return found


# -- output ----------------------------------------------------------------------------------------------------------


def title(implementation: str) -> str:
    """Its name as its makers write it."""
    return TITLES.get(implementation, implementation)


def compared(implementations: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (ours, other): the one's time is given in times of the other's."""
    pairs = [("autoflow", "hand"), ("autoflow", "torch"), ("compiled", "hand"), ("compiled", "torch"),
             ("compiled", "jax-jit"), ("llvm", "jax-jit"), ("llvm", "hand"), ("xla", "jax-jit")]  # fmt: skip
    return [(ours, other) for ours, other in pairs if ours in implementations and other in implementations]


def cells(name: str, row: dict[str, list[float]], implementations: Sequence[str]) -> list[str]:
    """A row of the table: medians and spreads, then ratios of medians; empty where there is no figure."""
    medians = {i: statistics.median(row.get(i, [math.nan])) for i in implementations}
    ratios = [medians[ours] / medians[other] for ours, other in compared(implementations)]
    times = [f"{digits(medians[i])} ±{spread(row[i]):.0%}" if i in row else "" for i in implementations]
    return [name, *times, *map(digits, ratios)]


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Time autoflow and its peers on the same work.")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--impl", nargs="+", choices=IMPLEMENTATIONS, default=list(IMPLEMENTATIONS))
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts (5)")
    parser.add_argument("--cold", action="store_true", help="leave malloc as a fresh process has it (README.md)")
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument("--markdown", action="store_true", help="end with a table for a README")
    return parser.parse_args()


def main() -> None:
    """Measure, print each row as soon as it is there, write the files."""
    options = arguments()
    if not options.cold:
        warm_malloc()
    implementations = installed(options.impl)
    libraries = [i for i in implementations if i in LIBRARIES]
    malloc = "cold" if options.cold else "warm"
    where = f"{setting(libraries)}; malloc {malloc}; ms, median of {options.rounds} alternating rounds ± spread"
    ratios = [f"{title(ours)} / {title(other)}" for ours, other in compared(implementations)]
    header = ["workload", *map(title, implementations), *ratios]
    widths = [max(10, len(word)) for word in header[1:]]
    print(where, "  ".join([f"{header[0]:12}", *map(str.rjust, header[1:], widths)]), sep="\n")
    figures: dict[str, dict[str, list[float]]] = {}
    for name in options.only:
        samples = {i: partial(visit, step) for i, step in prepared(name, implementations).items()}
        figures[name] = alternating(samples, options.rounds)
        first, *others = cells(name, figures[name], implementations)
        print("  ".join([f"{first:12}", *map(str.rjust, others, widths)]), flush=True)
    if options.markdown:
        rows = [cells(name, row, implementations) for name, row in figures.items()]
        print("", table(header, rows), "", where, sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"setting": where, "ms": figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
