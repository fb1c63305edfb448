"""The page behind ``af.explore``: the tape, the script, and a picture whose numbers the script fills in.

First the sliders: from ``x=(-3, 3)`` to two ends and a first position.

Rules in JavaScript, for pages that compute in the browser: traced, not written by hand.

A row is written with NumPy's functions, so it is called with :class:`Letter` instead of numbers, and its computations
is written down: its value, and what its vjps send to each operand. Only what JavaScript calls a function of NumPy is a
table. A row that reads a number (an ``if``), or calls a function outside the table, has no JavaScript.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...backprop.engine import topological
from ...base.modes import modes
from ...base.types import ByName, DTypeLike, Values
from ...nodes.nodes import Node, Variable
from ...nodes.records import Record
from ...program.source import taken_out
from ...rules.arithmetic import i0_derivative
from ...table.shapes import CLIP, functions
from ...table.table import RULES
from ..model.data import Placeholder, Vertex, pythons
from ..model.names import Titles, titles_of
from ..pages.html import PLAIN, attribute, html_table, image, instead, key_of, pack_file, wrap_script
from ..render.cards import table_rows
from ..render.svg import properties, to_svg
from ..render.text import safe_json
from ..walk import graph

# ---------------------------------------------------------------- sliders: their ends and first positions


@dataclass(frozen=True, slots=True)
class Slider:
    """One input: the ends of its slider, and its first position."""

    title: str
    low: float
    high: float
    start: float


def variables_of(root: Node) -> list[Variable]:
    """The Variables that a node was computed from, in the order of their creation."""
    return sorted([r for r in topological(root.grad_fn) if not r.parents], key=lambda v: v.number)


def start_of(name: str, spec: Any) -> float:
    """The first value of an argument."""
    if isinstance(spec, tuple):
        return limits(name, spec)[2]
    if not np.shape(spec) and not may_start(spec):
        raise ValueError(f"{name}={spec!r}: a slider starts at a finite number, and so do its ends")
    return spec


def may_start(value: np.ndarray) -> bool:
    """Can sliders begin at these numbers, and go twice as far to both sides?"""
    return bool(np.all(np.abs(value) < np.finfo(float).max / 5))


def slider(name: str, spec: Any, value: Any) -> Slider:
    """The slider of an input whose value is ``value``."""
    start = float(value if spec is None or isinstance(spec, tuple) else spec)
    if isinstance(spec, tuple):
        low, high, _ = limits(name, spec)
        return Slider(name, min(low, start), max(high, start), start)
    room = 2 * abs(start) or 1.0
    return Slider(name, start - room, start + room, start)


def limits(name: str, spec: Values) -> tuple[float, float, float]:
    """``(low, high)`` or ``(low, high, start)``, checked; the start is in the middle if none is given."""
    numbers = [float(v) for v in spec if isinstance(v, (int, float, np.number)) and math.isfinite(v)]
    if len(numbers) != len(spec) or len(spec) not in (2, 3) or not 0 < numbers[1] - numbers[0] < math.inf:
        raise ValueError(f"{name}={spec!r}: a range is (low, high) or (low, high, start), with low < high")
    if len(numbers) == 3 and not numbers[0] <= numbers[2] <= numbers[1]:
        raise ValueError(f"{name}={spec!r}: the start is not between {numbers[0]:g} and {numbers[1]:g}")
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else (numbers[0] + numbers[1]) / 2


# ---------------------------------------------------------------- the page: tape, script, picture


DRAWN = 200  # nodes of a live picture; larger graphs get a table
TOKEN = re.compile("\ue000([a-z][0-9.]+)\ue002*\ue001")


def fragment(page: Any) -> tuple[str, str]:
    """The contents of a cell: tape, image and table, script."""
    data, rows = tape(page)
    table = f"const ROWS={{{','.join([f'{safe_json(name)}:{row}' for name, row in rows.items()])}}};"
    key = key_of(table)  # another page in the document has other rows
    start = f'{table}for(const e of document.querySelectorAll(".autoflow-explore[data-key={key!r}]:not([data-live])"))'
    program = wrap_script(pack_file("unpack.js"), script(), f"{start}mount(e,ROWS);")
    return (
        f'<div class="autoflow-explore {PLAIN}" data-key="{key}" data-autoflow=\'{attribute(data)}\'>'
        f"{instead(page.picture)}"
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
    titles = titles_of(order)
    rows: dict[str, str] = {}
    nodes: list[list[Any]] = []
    node_titles: list[str | None] = []
    place: dict[Any, int] = {}

    def constant(x: object) -> int:
        nodes.append([None, [], [], jsonable(x)])
        node_titles.append(titles.of(x) if isinstance(x, Node) and titles.name(x) else None)
        return len(nodes) - 1

    for record in order:
        if not record.parents:
            place[record] = constant(record.value)
            node_titles[-1] = titles.of(record)
            continue
        titles.add(record)
        pairs = zip(record.parents, record.operands, strict=True)
        args = [constant(x) if parent is None else place[parent] for parent, x in pairs]
        args += [constant(x) for x in record.saved[record.rule.operands : -1]]
        flows = [k for k, p in enumerate(record.parents) if p is not None]
        place[record] = len(nodes)
        name, row = find_row(record) or ("", "")
        while rows.setdefault(name, row) != row:  # two of the user's rules may have one name
            name += "'"
        nodes.append([name, args, flows, None])
        node_titles.append(titles.of(record))
    data = {
        "nodes": nodes, "titles": node_titles, "output": place[page.root.grad_fn], "digits": modes().digits,
        "inputs": [{"node": place[v], **asdict(s)} for v, s in page.inputs.items() if v in place],
        "svg": live_svg(page, place), "notes": notes(order, titles),
    }  # fmt: skip
    return data, rows


def jsonable(x: Any) -> float | str | bool | None:
    """A number for JSON, which has no NaN and no infinity; booleans and None as they are."""
    x = x.value if isinstance(x, Node) else x
    x = x.item() if hasattr(x, "item") else x
    if x is None or isinstance(x, bool):
        return x
    value = float(x)
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"


def notes(order: Sequence[Any], titles: Titles) -> list[str]:
    """What the reader has to know: a condition was decided, or a number taken out, when the graph was made."""
    plain = [(r, x) for r in order if r.parents for x, p in zip(r.operands, r.parents, strict=True) if p is None]
    decided = [titles.of(r) for r, x in plain if isinstance(pythons(x.value if isinstance(x, Node) else x), bool)]
    texts = [f"The condition in {', '.join(decided[:3])}"] if decided else []
    texts += dict.fromkeys([text for _, text in taken_out(order)])
    return [f"{text} stays as it was; it does not follow the sliders." for text in texts]


# -- the live picture: the drawing as always, with places for numbers instead of numbers


def mark(at: str, wide: int = 9) -> Placeholder:
    """The place ``v3``: the value of node 3. (Letters of Unicode's private area, which no name keeps.)"""
    words = f"\ue000{at.ljust(wide - 2, chr(0xE002))}\ue001"
    return Placeholder((), "float64", True, (1.0,), 1.0, 0.0, 1.0, words=words)


def live_svg(page: Any, place: dict[Any, int]) -> str:
    """The picture with ``<tspan data-at="v3">`` for its numbers; empty if the graph is too large to draw."""
    picture = graph(page.root, gradients=True, merge=False, fold=False)
    born = {record.number: k for record, k in place.items()}
    numbers = sorted(born)
    drawn = [v for v in picture.nodes if v.kind != "Constant"]
    if len(picture.nodes) > DRAWN or len(drawn) != len(numbers):
        return ""
    tapes = {v.id: born[number] for v, number in zip(drawn, numbers, strict=True)}
    nodes = tuple([mark_card(v, tapes[v.id]) if v.id in tapes else v for v in picture.nodes])
    svg = to_svg(replace(picture, nodes=nodes, look=replace(picture.look, theme="auto", engine="built-in")))
    svg = re.sub(r"<title>.*?</title>|<desc>.*?</desc>", "", svg, flags=re.DOTALL)  # what they say would not change
    if match := re.search(r'class="(af\w+)"', svg):  # the page has the colours, for light and dark
        svg = svg.replace(properties(match[1], "auto"), "")
    svg = svg.replace(" (thicker: larger)", "")  # here all arrows are alike
    return TOKEN.sub(r'<tspan data-at="\1"></tspan>', svg)


def mark_card(v: Vertex, k: int) -> Vertex:
    """A card whose numbers are places. The parts of a sum are one place."""
    operands = tuple([
        replace(row, local=row.local and mark(f"l{k}.{row.slot}"), sent=row.sent and mark(f"s{k}.{row.slot}"))
        for row in v.operands
    ])  # fmt: skip
    parts = (mark(f"p{k}", 17),) if v.parts else ()
    gradient = mark(f"g{k}") if v.gradient else None
    return replace(v, value=mark(f"v{k}"), gradient=gradient, parts=parts, of_parts=1, operands=operands)


FEW = 5  # operands that elementwise rows have at most
LONG = 24  # characters: a longer expression becomes a constant, so that one that is used twice is computed once
SAME = (
    np.sqrt, np.cbrt, np.exp, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.sinh, np.cosh,
    np.tanh, np.floor, np.ceil, np.trunc,
)  # fmt: skip
INVERSE = np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh
MATH = {
    **{f: f"Math.{f.__name__}({{}})" for f in SAME},
    **{f: f"Math.{f.__name__.replace('arc', 'a')}({{}})" for f in INVERSE},
    np.absolute: "Math.abs({})", np.fabs: "Math.abs({})", np.hypot: "Math.hypot({}, {})",
    np.arctan2: "Math.atan2({}, {})", np.maximum: "Math.max({}, {})", np.minimum: "Math.min({}, {})",
    **dict.fromkeys(functions(np, "fix"), "Math.trunc({})"),
}  # fmt: skip
OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/",
    np.fmod: "%", np.greater: ">", np.greater_equal: ">=", np.less: "<", np.less_equal: "<=",
    np.equal: "==", np.not_equal: "!=",  # not "===": true is 1
    np.bitwise_and: "&&", np.bitwise_or: "||",
}  # fmt: skip
OTHERS = {  # what is in no package is in explore.js
    **dict.fromkeys((np.power, np.float_power), "power({}, {})"), np.sign: "(Math.sign({}) + 0)",  # not −0
    np.positive: "{}", np.negative: "(-{})", np.square: "({0} * {0})", np.reciprocal: "(1 / {})", np.exp2: "(2 ** {})",
    np.degrees: "({} * (180 / Math.PI))", np.rad2deg: "({} * (180 / Math.PI))",
    np.radians: "({} * (Math.PI / 180))", np.deg2rad: "({} * (Math.PI / 180))",
    np.logical_not: "({} == 0)", np.logical_and: "({} != 0 && {} != 0)",  # NaN is true, as it is not in JavaScript
    np.logical_or: "({} != 0 || {} != 0)", np.where: "({} != 0 ? {} : {})", np.invert: "(!{})",
    np.isnan: "isNaN({})", np.isfinite: "isFinite({})", np.zeros_like: "0", np.ones_like: "1",
    np.conjugate: "{}", np.real: "{}", np.imag: "0", np.angle: "(Math.atan2(0, {}) * ({} ? 180 / Math.PI : 1))",
    np.fmax: "(isNaN({0}) ? {1} : isNaN({1}) ? {0} : Math.max({0}, {1}))",
    np.fmin: "(isNaN({0}) ? {1} : isNaN({1}) ? {0} : Math.min({0}, {1}))",
    np.heaviside: "({0} > 0 ? 1 : {0} < 0 ? 0 : {0} === 0 ? {1} : NaN)", np.copysign: "copysign({}, {})",
    np.floor_divide: "floorDivide({}, {})", np.remainder: "remainder({}, {})", np.rint: "rint({})",
    np.round: "roundTo({}, {})", np.logaddexp: "logaddexp({}, {})",
    np.logaddexp2: "(logaddexp({} * Math.LN2, {} * Math.LN2) / Math.LN2)", np.sinc: "sinc({})", np.i0: "i0({}, 0)",
    i0_derivative: "i0({}, {})", np.nan_to_num: "finite({0}, {2}, {3}, {4})", **dict.fromkeys(
        (np.clip, CLIP), "clip({}, {}, {})"),
}  # fmt: skip
TEMPLATES: dict[Any, str] = {**MATH, **{f: f"({{}} {sign} {{}})" for f, sign in OPERATORS.items()}, **OTHERS}
KNOWN = {np.iscomplexobj: False, np.isrealobj: True}


class NoFormulaError(TypeError):
    """What is traced cannot be written down."""


class Letter(NDArrayOperatorsMixin):
    """A number that is not known: an expression in JavaScript. ``lines`` are the constants that it may use."""

    takes_primitives = True
    shape, ndim, size, dtype = (), 0, 1, np.dtype(float)

    def __init__(self, text: str, lines: list[str]) -> None:
        self.text, self.lines = text, lines

    def __array_ufunc__(self, ufunc: object, method: str, *args: object, **options: object) -> Any:
        return self.call(ufunc if method == "__call__" else None, args, options)

    def __array_function__(self, function: Any, types: object, args: Any, options: Any) -> Any:
        return self.call(function, args, options)

    def call(self, function: Any, args: Sequence[Any], options: ByName) -> Any:
        """The function's template filled in; one of our functions without a template is traced in turn."""
        if function in KNOWN:
            return KNOWN[function]
        if function not in TEMPLATES and getattr(function, "compute", function) is not function:
            return function.compute(*args, **options)
        if function not in TEMPLATES or options:
            raise NoFormulaError(f"JavaScript has no {function}")
        text = TEMPLATES[function].format(*map(literal, args))
        if len(text) > LONG:
            if text not in self.lines:
                self.lines.append(text)
            text = f"t{self.lines.index(text)}"
        return Letter(text, self.lines)

    def astype(self, dtype: DTypeLike) -> Letter:
        """JavaScript adds true and false as 1 and 0."""
        return self

    def __bool__(self) -> bool:
        raise NoFormulaError("an if")

    __float__ = __int__ = __index__ = __bool__


def literal(x: object) -> str:
    """A letter or a known value in JavaScript.

    >>> literal(None), literal(True), literal(-2.0), literal(np.inf)
    ('null', 'true', '(-2.0)', 'Infinity')
    """
    if isinstance(x, Letter):
        return x.text
    if x is None or isinstance(x, (bool, np.bool)):
        return "null" if x is None else str(bool(x)).lower()
    x = np.asarray(x)[()]
    if np.ndim(x) or x.dtype.kind not in "iuf":
        raise NoFormulaError(f"{type(x).__name__} is not a number")
    text = repr(x.item()) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return f"({text})" if text.startswith("-") else text


def as_javascript(rule: Any, is_absent: tuple[bool, ...] = ()) -> str | None:
    """A row as a list of functions: the value, then the contribution to each operand. None if it cannot be written
    down.

    They get the operands, then the options. ``is_absent``: which operands are None. A function of ours is called as it
    was written.

    >>> as_javascript((af.Variable(1.0) * 2.0).grad_fn.rule)
    '[(x0,x1)=>(x0 * x1),(g,x0,x1,z)=>(g * x1),(g,x0,x1,z)=>(g * x0)]'
    """
    return trace_row(rule, rule.scalar_vjps, is_absent if any(is_absent) else ())


@lru_cache(1024)
def trace_row(rule: Any, vjps: Values, is_absent: tuple[bool, ...]) -> str | None:
    """The same, once for all records of a rule."""
    names = [f"x{k}" for k in range(len(rule.names))]
    absent = {k for k, missing in enumerate(is_absent) if missing}

    def traced(run: Callable[[list[Any]], Any], parameters: list[str]) -> str:
        lines: list[str] = []
        letters = [None if k in absent else Letter(name, lines) for k, name in enumerate(names)]
        result = literal(run([*letters, Letter("z", lines), Letter("g", lines)]))
        constants = "".join([f"const t{k}={line};" for k, line in enumerate(lines)])
        return f"({','.join(parameters)})=>{f'{{{constants}return {result}}}' if constants else result}"

    def value(saved: list[Any]) -> Any:
        letter = next(x for x in saved if isinstance(x, Letter))
        if rule.function in TEMPLATES:
            return letter.call(rule.function, saved[:-2], {})
        function, order = getattr(rule.function, "compute", rule.compute), rule.order
        by_name = dict(zip(rule.names, saved, strict=False))
        return function(*[by_name.pop(name) for name in order], **by_name)

    def sent(k: int) -> Callable[[list[Any]], Any]:
        return lambda saved: vjps[k](saved[-1], saved[:-1])

    if rule.joint is not None or rule.variadic:
        return None
    try:
        texts = [traced(value, names)]
        for k in range(rule.operands):
            missing = vjps[k] is None or k in absent
            texts.append("()=>NaN" if missing else traced(sent(k), ["g", *names, "z"]))
    except Exception:  # whatever a user's rule does with a letter: then it needs numbers
        return None
    return f"[{','.join(texts)}]"


def find_row(record: Record) -> tuple[str, str] | None:
    """The name of a record's row in a page, and the row; None if the page cannot compute it."""
    rule, n = record.rule, record.rule.operands
    if not all([x is None or isinstance(x, (bool, int, float, np.generic)) for x in record.saved[n:-1]]):
        return None
    is_absent = tuple([x is None for x in record.saved[:n]])
    text = as_javascript(rule, is_absent)
    return None if text is None else (name_of(rule, is_absent), text)


def name_of(rule: Any, is_absent: Sequence[bool]) -> str:
    """``"clip"``, or ``"clip without max"``."""
    missing = [name for name, absent in zip(rule.names, is_absent, strict=False) if absent]
    return f"{rule.name} without {' '.join(missing)}" if missing else str(rule.name)


def all_rows() -> dict[str, str]:
    """Every row of the table that can be written down, by its name; with those in which operands are absent."""
    rows: dict[str, str] = {}
    for rule in dict.fromkeys(RULES.values()):
        optional = [(False, True) if default is None else (False,) for default in rule.defaults[: rule.operands]]
        for is_absent in itertools.product(*optional) if len(optional) < FEW else ():
            if text := as_javascript(rule, is_absent):
                rows.setdefault(name_of(rule, is_absent), text)
    return rows
