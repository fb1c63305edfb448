"""How long it takes to arrange a picture, beside Graphviz's program ``dot``.

    python benchmarks/layout.py [--nodes 1000 5000] [--repeats 5]

The graph is random: nodes with two operands each, of the 40 made before them. ``dot`` gets the same arrows between
plain boxes and arranges them once, since that takes long; autoflow's layout is asked several times, and the least
counts. Both are single threads, so their CPU time is measured: other programs do not disturb it. Target: at 5,000
nodes at most 1/20 of dot.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
from time import process_time

import numpy as np
from measuring import digits, setting, table

from autoflow.pictures.layout.arrange import arrange
from autoflow.pictures.layout.layers import Box, Line

NEAR = 40  # how far back operands are
FIRST = 20  # leaves


def random_lines(nodes: int) -> list[Line]:
    """The arrows of a graph, the same at every call."""
    rng = np.random.default_rng(0)
    return [
        Line(int(source), k, slot)
        for k in range(FIRST, nodes)
        for slot, source in enumerate(rng.integers(max(0, k - NEAR), k, 2))
    ]


def ours(nodes: int, rounds: int) -> float:
    """CPU seconds that our layout takes."""
    boxes, lines = [Box(150.0, 80.0, (30.0, 55.0), 15.0)] * nodes, random_lines(nodes)
    best = math.inf
    for _ in range(rounds):
        start = process_time()
        arrange(boxes, lines)
        best = min(best, process_time() - start)
    return best


def theirs(nodes: int) -> float:
    """CPU seconds that ``dot`` takes; NaN if it is not installed."""
    program = shutil.which("dot")
    if program is None:
        return math.nan
    arrows = [f"{line.source} -> {line.target}" for line in random_lines(nodes)]
    source = f"digraph {{rankdir=LR; node [shape=box]; {'; '.join(arrows)}}}"
    before = os.times()
    subprocess.run([program, "-Tsvg"], input=source.encode(), capture_output=True, check=True)  # noqa: S603 - ours
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="CPU seconds that arranging takes.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 2000, 5000], help="sizes of the graph")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of ours, of which the best counts (5)")
    asked = parser.parse_args()
    rows = []
    for nodes in asked.nodes:
        mine, dot = ours(nodes, asked.repeats), theirs(nodes)
        rows.append([f"{nodes:,}", digits(mine), digits(dot), "" if math.isnan(dot) else f"1/{dot / mine:.0f}"])
    print(table(["nodes", "autoflow", "dot", "autoflow / dot"], rows))
    print("", f"{setting()}; CPU seconds; best of {asked.repeats} rounds, dot once", sep="\n")


if __name__ == "__main__":
    main()
