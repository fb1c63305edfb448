"""The page behind ``af.explore``: the tape, the script, and a picture whose numbers the script fills in.

First the sliders: from ``x=(-3, 3)`` to two ends and a first position.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...backprop.engine import topological
from ...base.modes import modes
from ...forward.naming import names_of
from ...nodes.nodes import Node
from ..model.data import Numbers, Operand, Vertex
from ..model.names import Titles
from ..pages.html import PLAIN, attribute, html_table, image, instead, pack_file, wrap_script
from ..render.cards import table_rows
from ..render.svg import properties, to_svg
from ..walk import graph
from .javascript import find_row

# ---------------------------------------------------------------- sliders: their ends and first positions


@dataclass(frozen=True, slots=True)
class Slider:
    """One input: the ends of its slider, and its first position."""

    title: str
    low: float
    high: float
    start: float


def variables_of(root: Any) -> list[Any]:
    """The Variables that a node was computed from, in the order of their creation."""
    return sorted([r for r in topological(root.grad_fn) if not r.parents], key=lambda v: v.number)


def start_of(name: str, spec: Any) -> Any:
    """The first value of an argument."""
    if isinstance(spec, tuple):
        low, high, start = limits(name, spec)
        return (low + high) / 2 if start is None else start
    return spec


def slider(name: str, spec: Any, value: Any) -> Slider:
    """The slider of an input whose value is ``value``."""
    start = float(value)
    if isinstance(spec, tuple):
        low, high, _ = limits(name, spec)
        return Slider(name, min(low, start), max(high, start), start)
    if spec is not None:
        start = float(spec)
    room = 2 * abs(start) or 1.0
    return Slider(name, start - room, start + room, start)


def limits(name: str, spec: tuple[Any, ...]) -> tuple[float, float, float | None]:
    """``(low, high)`` or ``(low, high, start)``, checked."""
    numbers = [float(v) for v in spec if isinstance(v, (int, float, np.number)) and math.isfinite(v)]
    if len(numbers) != len(spec) or len(spec) not in (2, 3) or not numbers[0] < numbers[1]:
        raise ValueError(f"{name}={spec!r}: a range is (low, high) or (low, high, start), with low < high")
    if len(numbers) == 3 and not numbers[0] <= numbers[2] <= numbers[1]:
        raise ValueError(f"{name}={spec!r}: the start is not between {numbers[0]:g} and {numbers[1]:g}")
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None


# ---------------------------------------------------------------- the page: tape, script, picture


DRAWN = 200  # nodes of a live picture; larger graphs get a table
TOKEN = re.compile("\ue000([a-z][0-9.]+)\ue002*\ue001")


def fragment(page: Any) -> tuple[str, str]:
    """The contents of a cell: tape, image and table, script."""
    data, rows = tape(page)
    known = ",".join([f"{json.dumps(name)}:{row}" for name, row in rows.items()])
    start = f'const ROWS={{{known}}};for(const e of document.querySelectorAll(".autoflow-explore:not([data-live])"))'
    program = wrap_script(pack_file("unpack.js"), script(), f"{start}mount(e,ROWS);")
    return (
        f"<div class=\"autoflow-explore {PLAIN}\" data-autoflow='{attribute(data)}'>{instead(page.picture)}"
        f"<style>{properties('autoflow-explore', 'auto')}</style>{image(page.picture)}"
        f"<details><summary>all numbers</summary>{html_table(table_rows(page.picture))}</details></div>"
        f"<script>{program}</script>"
    ), program


@cache
def script() -> str:
    """What every page runs."""
    return "\n".join([pack_file(name, __package__) for name in ("explore.js", "plots.js", "controls.js")])


def tape(page: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The graph as JSON, and the rows that it uses, in JavaScript."""
    order = sorted(topological(page.root.grad_fn), key=lambda r: r.number)
    titles = Titles(page.bound)
    rows: dict[str, str] = {}
    nodes: list[list[Any]] = []
    shown: list[str | None] = []
    place: dict[Any, int] = {}

    def constant(x: Any) -> int:
        nodes.append([None, [], [], jsonable(x)])
        shown.append(titles.of(x) if isinstance(x, Node) and titles.name(x) else None)
        return len(nodes) - 1

    for record in order:
        if not record.parents:
            place[record] = constant(record.value)
            shown[-1] = titles.of(record)
            continue
        titles.add(record)
        args = [
            place[p] if p is not None else constant(x) for p, x in zip(record.parents, record.operands, strict=True)
        ]
        args += [constant(x) for x in record.saved[record.rule.operands : -1]]
        flows = [k for k, p in enumerate(record.parents) if p is not None]
        place[record] = len(nodes)
        name, row = find_row(record) or ("", "")
        while rows.setdefault(name, row) != row:  # two rules of the user's may have one name
            name += "'"
        nodes.append([name, args, flows, None])
        shown.append(titles.of(record))
    data = {
        "nodes": nodes, "titles": shown, "output": place[page.root.grad_fn], "digits": modes().digits,
        "inputs": [
            {"node": place[v], "title": s.title, "low": s.low, "high": s.high, "start": s.start}
            for v, s in page.inputs.items() if v in place
        ],
        "svg": live_svg(page, place), "notes": notes(order, titles),
    }  # fmt: skip
    return data, rows


def jsonable(x: Any) -> Any:
    """A number for JSON, which has no NaN and no infinity; booleans and None as they are."""
    x = x.value if isinstance(x, Node) else x
    x = x.item() if hasattr(x, "item") else x
    if x is None or isinstance(x, bool):
        return x
    value = float(x)
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"


def notes(order: Sequence[Any], titles: Titles) -> list[str]:
    """What the reader has to know: a condition was decided when the graph was made."""
    fixed = [titles.of(r) for r in order if r.parents and r.rule.name == "where"]
    return (
        [f"The condition in {', '.join(fixed[:3])} stays as it was; it does not follow the sliders."] if fixed else []
    )


# -- the live picture: the drawing as always, with places for numbers instead of numbers


class Place(Numbers):
    """A placeholder for a number that the page fills in."""

    __slots__ = ("token",)
    token: str

    def text(self, digits: int) -> str:
        """A mark as wide as most numbers."""
        return self.token


def mark(at: str, wide: int = 9) -> Place:
    """The place ``v3``: the value of node 3. (Letters of Unicode's private area, which no name keeps.)"""
    place = Place((), "float64", True, (1.0,), 1.0, 0.0, 1.0)
    object.__setattr__(place, "token", f"\ue000{at.ljust(wide - 2, chr(0xE002))}\ue001")
    return place


def live_svg(page: Any, place: dict[Any, int]) -> str:
    """The picture with ``<tspan data-at="v3">`` for its numbers; empty if the graph is too large to draw."""
    with names_of(page.bound):
        picture = graph(page.root, gradients=True, merge=False, fold=False)
    born = {record.number: k for record, k in place.items()}
    numbers = sorted(born)
    drawn = [v for v in picture.nodes if v.kind != "Constant"]
    if len(picture.nodes) > DRAWN or len(drawn) != len(numbers):
        return ""
    tapes = {v.id: born[number] for v, number in zip(drawn, numbers, strict=True)}
    nodes = tuple([mark_card(v, tapes[v.id]) if v.id in tapes else v for v in picture.nodes])
    look = replace(picture.look, theme="auto", engine="built-in")
    svg = to_svg(replace(picture, nodes=nodes, look=look))
    svg = re.sub(r"<title>.*?</title>|<desc>.*?</desc>", "", svg, flags=re.DOTALL)  # what they say would not change
    if match := re.search(r'class="(af\w+)"', svg):  # the page has the colours, for light and dark
        svg = svg.replace(properties(match[1], "auto"), "")
    svg = svg.replace(" (thicker: larger)", "")  # here all arrows are alike
    return TOKEN.sub(r'<tspan data-at="\1"></tspan>', svg)


def mark_card(v: Vertex, k: int) -> Vertex:
    """A card whose numbers are places. The parts of a sum are one place."""
    operands = tuple([marked_row(row, k) for row in v.operands])
    parts = (mark(f"p{k}", 17),) if v.parts else ()
    gradient = mark(f"g{k}") if v.gradient else None
    return replace(v, value=mark(f"v{k}"), gradient=gradient, parts=parts, of_parts=1, operands=operands)


def marked_row(row: Operand, k: int) -> Operand:
    """The same for an operand's row."""
    local = mark(f"l{k}.{row.slot}") if row.local else None
    return replace(row, local=local, sent=mark(f"s{k}.{row.slot}") if row.sent else None)
