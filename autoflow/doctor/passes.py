"""The flow through each record in a backward pass: the gradient that arrived, and the part sent to each operand."""

from __future__ import annotations

import ast
import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..backprop.anomaly import first_bad
from ..backprop.hooks import Opened, OpenRecord, Pair
from ..base.modes import switched
from ..base.numbering import now
from ..nodes.nodes import NodeRole, VariableRole, value_of
from ..nodes.records import Record, ancestors
from ..program.names import Naming
from ..program.source import Place, code_of
from .findings import Finding

LINEAR = ("add", "mean", "negative", "stack", "subtract", "sum")  # rules of the sum that a loss with penalties is
PRODUCTS = ("multiply", "matmul", "dot", "inner", "outer")


class Size(NamedTuple):
    """Measures of a gradient: entries, those not 0, root of the mean square, the first bad one, sign of the sum."""

    entries: int
    nonzero: int
    rms: float
    bad: str | None
    sign: float

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, g: Any) -> Size:
        """Measure an array or number."""
        a = np.abs(np.asarray(g, dtype=np.complex128 if np.asarray(g).dtype.kind == "c" else np.float64))
        largest = float(a.max(initial=0.0))
        scale = largest if 0 < largest < math.inf else 1.0
        rms = float(scale * np.sqrt(np.mean((a / scale) ** 2))) if a.size else 0.0
        return cls(a.size, int(np.count_nonzero(a)), rms, first_bad(np.asarray(g)), float(np.sign(np.sum(np.real(g)))))


@dataclass(slots=True)
class GradientFlow:
    """The gradient that a record received in a pass, and what it sent to each operand."""

    record: Record
    came: Size
    sent: dict[int, Size] = field(default_factory=dict)
    bad: Any = None  # operand, index, is what came 0 there?
    passed: Any = False  # of each column: has some operand received something there?
    dead: tuple[int, int] | None = None  # columns in which none has, and the number of columns
    factors: dict[int, Any] = field(default_factory=dict)  # of a product that sent only 0: the largest other factor

    def note(self, k: int, g: object, sent: object, saved: Any, sums: dict[int, Any]) -> None:
        """Note the gradient sent to operand ``k``, and add it up if that is a Variable."""
        parent = self.record.parents[k]
        if not isinstance(parent, Record):
            sums[id(parent)] = sums.get(id(parent), 0) + np.array(sent)
        size = self.sent[k] = Size.of(sent)
        if not size.nonzero and self.record.rule.name in PRODUCTS and len(self.record.parents) == 2:
            self.factors[k] = np.max(np.abs(value_of(saved[1 - k])), initial=0)  # later a step may have written into it
        g, sent = np.asarray(g), np.asarray(sent)
        if size.bad is not None and self.bad is None:
            index = tuple(map(int, np.argwhere(~np.isfinite(sent))[0]))
            selected = np.zeros(sent.shape, bool)
            selected[index] = True  # and, of an operand that was broadcast, several entries of g
            is_each = g.shape == sent.shape or self.record.rule.elementwise
            self.bad = k, index, not np.any(g[np.broadcast_to(selected, g.shape)] if is_each else g)
        if sent.ndim > 1 and g.shape == sent.shape:
            axes = tuple(range(sent.ndim - 1))
            came = np.any(g != 0, axis=axes)
            self.passed = self.passed | np.any(sent != 0, axis=axes)
            self.dead = int(np.sum(came & ~self.passed)), int(np.sum(came))


class Chart:
    """A graph and one backward pass through it: what the examinations read."""

    def __init__(self, start: Any = None) -> None:
        self.start = start  # the record from which the pass begins
        self.flows: list[GradientFlow] = []  # in the order of the way back
        self.sums: dict[int, Any] = {}  # gradients, by the id of a Variable
        self.since = now()  # later records have higher numbers
        self.others: list[Chart] = []  # the passes of the same run
        self.opened: Any = None  # the record that was opened last: where an error stopped the pass
        self.broken: set[int] = set()  # the ids of Variables that were NaN or infinite when the pass began
        self.is_recorded = False  # for derivatives of its gradients
        self.opener: Callable[[], Any] = object  # a reference to what opens its records; None when it has ended

    @cached_property
    def nodes(self) -> list[Any]:
        """Everything that the result was computed from."""
        return list(ancestors(self.start))

    @cached_property
    def records(self) -> list[Record]:
        """The operations, in the order of the program."""
        return sorted([r for r in self.nodes if isinstance(r, Record)], key=lambda r: r.number)

    @property
    def site(self) -> Any:
        """The instruction that made the start; None if it is not known."""
        code = code_of(self.start)
        return None if code is None else (code, self.start.last)

    @cached_property
    def program(self) -> Naming:
        """The names that the program gives to the nodes."""
        return Naming(self.nodes)

    def name(self, x: Any) -> str:
        """The name of a record or a leaf."""
        own = getattr(x, "_name", None)
        name = own or self.program.name(x) or (self.program.text(x) if isinstance(x, Record) else None)
        return str(name or (x.node_name if isinstance(x, Record) else x.name))

    def called(self, x: Record) -> tuple[str, str]:
        """The name of a record, and of the function that returned it, as the program calls it. Empty if none."""
        text = self.program.text(x) or ""
        call = getattr(ast.parse(text).body[0], "value", None) if text else None
        function = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        return str(getattr(x, "_name", None) or self.program.name(x) or ""), function

    def operand(self, record: Record, k: int, otherwise: str | None = None) -> str:
        """The name of a record's k-th operand. ``otherwise``: for a plain one without a name in the program."""
        x = record.parents[k]
        name = self.program.operand(record, k) or (self.name(x) if x is not None else otherwise)
        return f"its operand {record.rule.names[k]}" if name is None else str(name)

    def terms(self) -> Iterator[tuple[GradientFlow, bool]]:
        """The terms of a loss that is a sum, and sums of them; for each, is it without a minus and a factor there?"""
        bare = {self.start: True}
        for flow in self.flows:
            r, name = flow.record, flow.record.rule.name
            if r in bare:
                bare[r] &= flow.came.sign > 0
                yield flow, bare[r]
                live = [p for p in r.parents if p is not None]
                is_scaled = len(live) == 1 and (name == "multiply" or (name == "divide" and r.parents[1] is None))
                for p in live if is_scaled or name in LINEAR else ():
                    bare[p] = bare.get(p, True) and bare[r] and name != "multiply"

    def finding(self, kind: str, record: Record, text: str, advice: str = "", **numbers: object) -> Finding:
        """A finding at a record."""
        return Finding(kind, text, advice, self.program.place(record), numbers)

    def summary(self) -> str:
        """The part of the graph that was examined."""
        sizes = sorted([g.rms for g in map(Size.of, self.sums.values()) if g.bad is None])
        span = f" to {sizes[-1]:.3g}" if sizes and f"{sizes[0]:.3g}" != f"{sizes[-1]:.3g}" else ""
        sizes_text = f", gradients of {sizes[0]:.3g}{span} (root mean square)" if sizes else ""
        count = sum([isinstance(x, VariableRole) for x in self.nodes])
        return f"Examined: {len(self.records)} operations, {count} Variable{'s' * (count != 1)}{sizes_text}."


def place_of(x: object) -> Place | None:
    """Where a Variable was made."""
    return Naming([x]).place(x)


def is_mask(r: Record, factor: Any) -> bool:
    """Is this the factor of a product, an array of 0 and 1?"""
    return r.rule.name == "multiply" and np.ndim(factor) > 0 and {*np.unique(factor)} <= {0, 1}


def watching(begin: Callable[[], Chart]) -> switched:
    """A block in which each backward pass is written into what ``begin()`` returns."""

    def wrap(open_record: OpenRecord) -> OpenRecord:
        chart = begin()

        def open_watched(pair: Pair) -> Opened:
            record = chart.opened = pair[0]
            chart.start = chart.start or record
            g, vjps, saved, kept = open_record(pair)
            if (came := numbers(g)) is None:
                return g, vjps, saved, kept
            chart.is_recorded |= any([isinstance(part, NodeRole) for part in parts_of(g)])
            chart.flows.append(flow := GradientFlow(record, Size.of(came)))
            return g, [vjp and watched(chart, flow, k, vjp) for k, vjp in enumerate(vjps)], saved, kept

        chart.opener = weakref.ref(open_watched)
        return open_watched

    return switched(wrap_open_record=wrap)


def watched(chart: Chart, flow: GradientFlow, k: int, vjp: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A vjp that notes what it sends."""

    def pulling(g: object, saved: object) -> Any:
        before = np.array(numbers(g))  # a vjp may write into it
        sent = vjp(g, saved)
        if (plain := numbers(sent)) is not None and flow.record.parents[k] is not None:
            flow.note(k, before, plain, saved, chart.sums)
        return sent

    return pulling


def parts_of(g: object) -> list[Any]:
    """The gradients of several results, or of one."""
    return [*getattr(g, "grads", {0: g}).values()]


def numbers(g: object) -> np.ndarray | None:
    """A gradient as NumPy's own array or number, with several results in one vector; None if it is another library's,
    or a batch's."""
    parts = [value_of(part) if isinstance(part, NodeRole) else part for part in parts_of(g)]
    if not all([type(part) is np.ndarray or isinstance(part, np.generic) for part in parts]):
        return None
    return np.concatenate([np.zeros(0), *map(np.ravel, parts)]) if hasattr(g, "grads") else parts[0]
