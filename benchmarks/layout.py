"""How good a layout is, and how long it takes, beside Graphviz's program ``dot``.

    python benchmarks/layout.py [--nodes 1000 5000] [--repeats 5]

First ten graphs of images/make.py, without boxes, from left to right: both programs get the same cards and arrows.
Counted are pairs of arrows that cross, unless they begin at one node; the area of the whole; the length of all
arrows. Targets, in the sum: fewer crossings, less area, at most 1.15 times the length. (A picture has more ways to be
arranged than that: in rows, downwards, with boxes; see autoflow/pictures/render/placing.py.)

Then time. The graph is random: nodes with two operands each, of the 40 made before them. ``dot`` gets the same arrows
between plain boxes and arranges them once, since that takes long; autoflow's layout is asked several times, and the
least counts. Both are single threads, so their CPU time is measured: other programs do not disturb it. Target: at
5,000 nodes at most 1/20 of dot.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from measuring import digits, setting, table

from autoflow.pictures.layout.arrange import arrange, crossings
from autoflow.pictures.layout.layers import Arrow, NodeBox, Point
from autoflow.pictures.render.cards import cards
from autoflow.pictures.render.placing import place

NEAR = 40  # how far back operands are
FIRST = 20  # leaves
GRAPHS = (
    "lesson", "network", "recurrent", "cross_entropy", "attention", "matrices", "gradient", "transformer", "stencil",
    "unet",
)  # fmt: skip
INCH = 72.0  # points of Graphviz
PIECES = 12  # straight ones that a curve is measured by
Measures = tuple[int, float, float]  # crossings, area in square pixels, length in pixels


def flat_graphs() -> dict[str, Any]:
    """Ten pictures of the gallery with all cards and no boxes, to be drawn from left to right."""
    path = Path(__file__).parents[1] / "images" / "make.py"
    spec = importlib.util.spec_from_file_location("images_make", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    found = {}
    for name in GRAPHS:
        drawn = make.GALLERY[name](fold=False, direction="right").drawn
        nodes = tuple([replace(v, entered=(), scope=()) for v in drawn.nodes])
        found[name] = replace(drawn, nodes=nodes, frames=())
    return found


def measure(paths: Sequence[Sequence[Point]], sources: Sequence[int], wide: float, high: float) -> Measures:
    """What is counted of a layout."""
    pieces = {(k, a, b) for k, path in zip(sources, paths, strict=True) for a, b in pairwise(path) if a != b}
    return crossings(paths, sources), wide * high, math.fsum([math.dist(a, b) for _, a, b in pieces])


def our_measures(drawn: Any) -> Measures:
    """Of our layout."""
    made = cards(drawn)
    plan, _ = place(drawn, made, [card.width for card in made])
    return measure(plan.paths, [e.source for e in drawn.edges], plan.along, plan.across)


def dot_measures(drawn: Any) -> Measures:
    """Of that of ``dot``: cards with the same lines, between which arrows run from the result to the operand's row."""
    made = cards(drawn)
    nodes = [f"n{c.node.id} [label=<{empty_card(c)}>]" for c in made]
    arrows = [f"n{e.source}:l0:e -> n{e.target}:l{made[e.target].row(e.slot)}:w" for e in drawn.edges]
    style = 'rankdir=LR; nodesep="0.28"; ranksep="0.75"; node [shape=plain]'
    text = f"digraph {{{style}; {'; '.join([*nodes, *arrows])}}}"
    plain = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True, check=True).stdout  # noqa: S607
    lines = [line.split() for line in plain.decode().splitlines()]
    paths, sources = [], []
    for words in lines:
        if words[0] == "edge":
            numbers = [INCH * float(word) for word in words[4 : 4 + 2 * int(words[3])]]
            paths.append(flatten(list(zip(numbers[::2], numbers[1::2], strict=True))))
            sources.append(int(words[1][1:]))
    return measure(paths, sources, INCH * float(lines[0][2]), INCH * float(lines[0][3]))


def empty_card(c: Any) -> str:
    """A card without words, as Graphviz's table: a port in each line."""
    size = 'FIXEDSIZE="TRUE" WIDTH="{:.0f}" HEIGHT="{:.0f}"'
    lines = [f'<TR><TD PORT="l{k}" {size.format(c.width, line.height)}></TD></TR>' for k, line in enumerate(c.lines)]
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{"".join(lines)}</TABLE>'


def flatten(points: Sequence[Point]) -> list[Point]:
    """A chain of Bézier curves as straight pieces."""
    path = [points[0]]
    for a, b, c, d in zip(points[::3], points[1::3], points[2::3], points[3::3], strict=False):
        for k in range(1, PIECES + 1):
            t = k / PIECES
            parts = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x, y = (math.fsum([w * p[i] for w, p in zip(parts, (a, b, c, d), strict=True)]) for i in (0, 1))
            path.append((x, y))
    return path


def print_quality() -> None:
    """The table of the ten graphs."""
    rows, totals = [], [[0.0] * 3, [0.0] * 3]
    for name, drawn in flat_graphs().items():
        pair = our_measures(drawn), dot_measures(drawn)
        totals = [[a + b for a, b in zip(total, one, strict=True)] for total, one in zip(totals, pair, strict=True)]
        rows.append([name, str(len(drawn.nodes)), *quality_words(*pair)])
    rows.append(["sum", "", *quality_words(*totals)])
    heads = ["crossings", "dot", "area in 10⁶ px", "dot", "arrows in px", "dot"]
    print(table(["graph", "cards", *heads], rows), "", sep="\n")


def quality_words(ours: Sequence[float], theirs: Sequence[float]) -> list[str]:
    """Six cells."""
    pairs = list(zip(ours, theirs, strict=True))
    forms = ("{:.0f}", "{:.2f}", "{:,.0f}")
    scales = (1.0, 1e-6, 1.0)
    return [form.format(x * k) for form, k, pair in zip(forms, scales, pairs, strict=True) for x in pair]


def random_lines(nodes: int) -> list[Arrow]:
    """The arrows of a graph, the same at every call."""
    rng = np.random.default_rng(0)
    return [
        Arrow(int(source), k, slot)
        for k in range(FIRST, nodes)
        for slot, source in enumerate(rng.integers(max(0, k - NEAR), k, 2))
    ]


def ours(nodes: int, rounds: int) -> float:
    """CPU seconds that our layout takes."""
    boxes, lines = [NodeBox(150.0, 80.0, (30.0, 55.0), 15.0)] * nodes, random_lines(nodes)
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
    parser = argparse.ArgumentParser(description="How good a layout is, and CPU seconds that it takes.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 2000, 5000], help="sizes of the graph")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of ours; the best counts (5)")
    asked = parser.parse_args()
    if shutil.which("dot"):
        print_quality()
    rows = []
    for nodes in asked.nodes:
        mine, dot = ours(nodes, asked.repeats), theirs(nodes)
        rows.append([f"{nodes:,}", digits(mine), digits(dot), "" if math.isnan(dot) else f"1/{dot / mine:.0f}"])
    print(table(["nodes", "autoflow", "dot", "autoflow / dot"], rows))
    print("", f"{setting()}; CPU seconds; best of {asked.repeats} rounds, dot once", sep="\n")


if __name__ == "__main__":
    main()
