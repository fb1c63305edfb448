"""What a node and an element cost, from small graphs to large ones: plots for ``images/``.

    python benchmarks/curves.py [--scale 1.0] [--repeats 7] [--out images]
    python benchmarks/curves.py --growth [--scale 1.0] [--repeats 7]

``cost_of_nodes.svg``: value and gradient of a graph of 1,000 to 1,000,000 scalar operations, µs for each operation.
``cost_of_elements.svg``: the same of Σ exp(−tanh(x ⊙ w + b)²) on 100 to 10,000,000 elements, ns for each element; where
arrays are small one sees the cost of operations, where they are large that of memory.

With ``--growth``, autoflow alone: time and memory against operations, elements, the batch of ``af.vmap``, nesting, and
the signatures of a compiled function, and time against threads. Where the work is n times as much, cost ~ n^p with p
near 1 is as it should be; the tables are in docs/costs.md.

A level line means that nothing gets worse with size. Both plots have their background left out and are drawn in tones
that can be read on white and on black. A curve ends where a single step, or recording it, takes more than ``LONGEST``
seconds. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import gc
import math
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from compare import IMPLEMENTATIONS, LIBRARIES, VISIT, agree, installed, title, visit
from measuring import digits, interleaved, setting, table, warm_malloc
from workloads import WORKLOADS, Workload, make_elementwise, make_scalars

SHOWN = ("hand", "autoflow", "compiled", "llvm", "xla", "torch")
STYLE = {
    "hand": ("#888888", ":"),
    "autoflow": ("#3b82d0", "-"),
    "compiled": ("#c2571a", "-"),
    "llvm": ("#2f9e63", "-"),
    "xla": ("#c23b7a", "-"),
    "torch": ("#8a63c9", "--"),
}
INK = "#7a7f87"  # of axes and letters: 4 : 1 on white and on black
LONGEST = 20.0  # seconds for one step
OPERATIONS = 7 / 3  # of make_scalars for each of its values: 3, 1 and 3 in turn
Curves = dict[str, list[tuple[int, float]]]  # implementation -> (size, seconds of a step)


def sizes(least: int, most: float) -> list[int]:
    """Three in each decade.

    >>> sizes(100, 1000)
    [100, 215, 464, 1000]
    """
    steps = round(3 * math.log10(most / least))
    return [round(least * 10 ** (k / 3)) for k in range(steps + 1)]


def measured(make: Callable[[int], Workload], of_sizes: Sequence[int], names: Sequence[str], repeats: int) -> Curves:
    """Seconds of the best step for each size and implementation, measured in turn."""
    curves: Curves = {name: [] for name in names}
    slow: set[str] = set()
    for size in of_sizes:
        work = make(size)
        expected = work.by_hand(*work.data, *work.parameters)
        samples = {}
        for name in [name for name in names if name not in slow]:
            start = time.perf_counter()
            step = IMPLEMENTATIONS[name](work)
            agree(step(), expected)
            if time.perf_counter() - start > LONGEST:
                slow.add(name)
            else:
                samples[name] = partial(visit, step)
        gc.collect()
        gc.freeze()  # while one builds its graph the collector need not walk through the programs of another
        for name, best in interleaved(samples, repeats, seconds=LONGEST).items():
            curves[name].append((size, best / 1e3))
        gc.unfreeze()
    return curves


def plot(curves: Curves, units: float, labels: tuple[str, str], caption: str, path: Path) -> None:
    """Seconds of a step over its size, times ``units``, as an SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    options = {
        "svg.fonttype": "none", "svg.hashsalt": "autoflow", "font.size": 10, "text.color": INK, "axes.edgecolor": INK,
        "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    }  # fmt: skip
    with mpl.rc_context(options):
        figure = Figure(figsize=(7, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.set(xscale="log", yscale="log", xlabel=labels[0], ylabel=labels[1])
        axes.grid(visible=True, color=INK, alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        for name, points in curves.items():
            if points:
                x, y = zip(*[(size, best / size * units) for size, best in points], strict=True)
                colour, dashes = STYLE[name]
                axes.plot(x, y, dashes, color=colour, linewidth=2, marker="o", markersize=3.5, label=title(name))
        heights = [best / size * units for points in curves.values() for size, best in points]
        lowest, highest = [math.floor(math.log10(y)) for y in (min(heights), max(heights))]
        axes.set_ylim(10.0**lowest, 10.0 ** (highest + 1))  # whole decades
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter("")
        axes.legend(frameon=False, labelcolor="linecolor")
        figure.supxlabel("\n".join(textwrap.wrap(caption, 105)), fontsize=7.5, x=0.02, ha="left")
        figure.savefig(path, transparent=True, metadata={"Date": None})


def rows(curves: Mapping[str, list[tuple[int, float]]], units: float) -> list[list[str]]:
    """The same numbers, a line for each size."""
    found = {(name, size): best / size * units for name, points in curves.items() for size, best in points}
    every = sorted({size for _, size in found})
    return [[f"{size:,}", *[digits(found.get((name, size), math.nan)) for name in curves]] for size in every]


# -- how cost grows: autoflow alone ----------------------------------------------------------------------------------


Step = Callable[[], Any]


def step_of_operations(n: int) -> Step:
    """Value and gradient of n operations on numbers."""
    return IMPLEMENTATIONS["autoflow"](make_scalars(round(n / OPERATIONS)))


def step_of_elements(n: int) -> Step:
    """The same of six operations on n elements."""
    return IMPLEMENTATIONS["autoflow"](make_elementwise(n))


def loss(w: Any, x: Any) -> Any:
    """Of one example."""
    return (np.tanh(x @ w) ** 2).sum()


def step_of_batch(n: int) -> Step:
    """The gradient of each of n examples, by ``af.vmap``."""
    af = import_module("autoflow")
    gradients, w, xs = af.vmap(af.grad(loss), (None, 0)), np.ones((16, 8)), np.linspace(-1, 1, 16 * n).reshape(n, 16)
    return lambda: gradients(w, xs)


def step_of_vmaps(n: int) -> Step:
    """A function inside n nested ``af.vmap``."""
    af = import_module("autoflow")
    f: Any = lambda x: np.sin(x) * x  # noqa: E731
    for _ in range(n):
        f = af.vmap(f)
    x = np.ones((1,) * n)
    return lambda: f(x)


def step_of_containers(n: int) -> Step:
    """The gradient by n arrays, each in a dictionary inside that of the one before."""
    af = import_module("autoflow")
    tree: Any = None
    for _ in range(n):
        tree = {"w": np.ones(3), "inner": tree}

    def total(tree: Any) -> Any:
        sums = []
        while tree is not None:
            sums.append((tree["w"] ** 2).sum())
            tree = tree["inner"]
        return sum(sums)

    gradient = af.grad(total)
    return lambda: gradient(tree)


def step_of_signatures(n: int) -> Step:
    """The first calls of a compiled function with arguments of n shapes."""
    af = import_module("autoflow")
    arguments = [np.ones((16, 300 + k)) for k in range(n)]

    def step() -> Any:
        compiled = af.compile(af.grad(loss))
        for w in arguments:
            compiled(w, np.ones(16))
        return compiled

    return step


def step_of_later_calls(n: int) -> Step:
    """One more call with each of the n shapes."""
    compiled, arguments, x = step_of_signatures(n)(), [np.ones((16, 300 + k)) for k in range(n)], np.ones(16)
    return lambda: [compiled(w, x) for w in arguments]


GROWTH: dict[str, tuple[Callable[[int], Step], int, int]] = {  # what is counted -> a step, the least and the most
    "scalar operations": (step_of_operations, 1_000, 100_000),
    "elements": (step_of_elements, 10_000, 10_000_000),
    "examples of af.vmap(af.grad)": (step_of_batch, 100, 100_000),
    "nested af.vmap": (step_of_vmaps, 2, 20),
    "nested dictionaries of parameters": (step_of_containers, 10, 1_000),
    "signatures of af.compile, first calls": (step_of_signatures, 3, 100),
    "signatures of af.compile, later calls": (step_of_later_calls, 3, 100),
}


def cpu_seconds(step: Step) -> float:
    """The least that the step takes in some runs, of all threads: other programs count as little as can be."""
    least, end = math.inf, time.process_time() + VISIT
    while math.isinf(least) or time.process_time() < end:
        start = time.process_time()
        step()
        least = min(least, time.process_time() - start)
    return least


def peak(step: Step) -> int:
    """The most bytes that a step holds, over what was there before, with what it returns."""
    step()
    gc.collect()
    tracemalloc.start()
    result = step()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return most


def power(of_sizes: Sequence[int], costs: Sequence[float]) -> float:
    """p of cost ~ n^p in the upper half of the sizes, where what is paid only once no longer counts.

    >>> round(power([1, 10, 100], [101.0, 110.0, 1100.0]), 2)
    1.0
    """
    half = (len(of_sizes) - 1) // 2
    return math.log(costs[-1] / costs[half]) / math.log(of_sizes[-1] / of_sizes[half])


def growth(scale: float, repeats: int) -> list[list[str]]:
    """A row for each kind: the sizes; time and memory for each at both ends, and how they grow."""
    found = []
    for kind, (make, least, most) in GROWTH.items():
        of_sizes = sizes(least, max(3 * least, most * scale))
        steps = [make(n) for n in of_sizes]
        found_by_round = [[cpu_seconds(step) for step in steps] for _ in range(repeats)]
        seconds = [min(times) for times in zip(*found_by_round, strict=True)]
        memory = [peak(step) for step in steps]
        row = [kind, f"{of_sizes[0]:,} to {of_sizes[-1]:,}"]
        for costs, unit in ((seconds, 1e6), (memory, 1e-3)):
            row += [digits(costs[k] / of_sizes[k] * unit) for k in (0, -1)] + [f"{power(of_sizes, costs):.2f}"]
        found.append(row)
        print("  ".join(row), flush=True)
    return found


def by_threads(repeats: int) -> list[list[str]]:
    """Milliseconds of a step with 1, 2, 4 ... threads, by hand and by autoflow, and what they are of by hand."""
    af = import_module("autoflow")
    cores = import_module("autoflow.table.blocks").cores()
    numbers = sorted({min(2**k, cores) for k in range(8)})
    found = []
    for name in ("chain-4M", "softmax-10k"):
        work = WORKLOADS[name]()
        steps = {0: partial(visit, lambda work=work: work.by_hand(*work.data, *work.parameters))}
        for n in numbers:
            steps[n] = partial(af.options(threads=n)(visit), IMPLEMENTATIONS["autoflow"](work))
        best = interleaved(steps, repeats)
        found += [[name, f"{n} of {cores}", digits(best[n]), digits(best[n] / best[0])] for n in numbers]
    return found


def show_growth(scale: float, repeats: int) -> None:
    """Print the tables of docs/costs.md."""
    for_each = ["CPU µs for each", "at the end", "time ~ nᵖ, p", "kB for each", "at the end", "memory ~ nᵖ, p"]
    print("", table(["n", "sizes", *for_each], growth(scale, repeats)), "", sep="\n")
    print(table(["", "threads", "ms", "of NumPy by hand"], by_threads(repeats)), "", setting(), sep="\n")


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the largest sizes; 0.01 for a first look")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "images")
    parser.add_argument("--growth", action="store_true", help="autoflow alone: time and memory against sizes")
    options = parser.parse_args()
    warm_malloc()
    if options.growth:
        return show_growth(options.scale, options.repeats)
    names = installed(SHOWN)
    caption = setting([name for name in names if name in LIBRARIES]) + f"; best of up to {options.repeats} rounds"
    for kind, make, least, most, units, labels in (
        ("nodes", lambda n: make_scalars(round(n / OPERATIONS)), 1_000, 1e6, 1e6, ("scalar operations", "µs for each")),
        ("elements", make_elementwise, 100, 1e7, 1e9, ("elements", "ns for each")),
    ):
        curves = measured(make, sizes(least, max(least, most * options.scale)), names, options.repeats)
        print(
            table([labels[0], *[f"{title(name)}, {labels[1][:2]}" for name in names]], rows(curves, units)), end="\n\n"
        )
        plot(curves, units, labels, caption, options.out / f"cost_of_{kind}.svg")
    print(caption)


if __name__ == "__main__":
    main()
