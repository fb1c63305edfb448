"""What a node and an element cost, from small graphs to large ones: plots for ``images/``.

    python benchmarks/curves.py [--scale 1.0] [--repeats 7] [--out images]

``cost_of_nodes.svg``: value and gradient of a graph of 1,000 to 1,000,000 scalar operations, µs for each operation.
``cost_of_elements.svg``: the same of Σ exp(−tanh(x ⊙ w + b)²) on 100 to 10,000,000 elements, ns for each element; where
arrays are small one sees the cost of operations, where they are large that of memory.

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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from compare import IMPLEMENTATIONS, LIBRARIES, agree, installed, title, visit
from measuring import digits, interleaved, setting, table, warm_malloc
from workloads import Workload, make_elementwise, make_scalars

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


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the largest sizes; 0.01 for a first look")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "images")
    options = parser.parse_args()
    warm_malloc()
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
