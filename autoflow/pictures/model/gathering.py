"""From records to the nodes of a picture: the flow through each, its shown values, and its title.

Flow: the gradients along every arrow, from one pass from the outputs, computed again from the rules. ``backward()``
keeps only sums. A picture shows the parts: at each operand the local derivative and the contribution sent back, at each
node the contributions that arrived and their sum. So each record is called again, in the engine's order, and the
answers are written down. ``.grad``, which may hold several passes, is never read for that.

The walk is iterative, so nothing can be too deep for it. A picture has the numbers of some thousand nodes; of a larger
graph they are those nearest to the outputs, in the engine's order. Then all consumers of a shown node are shown, so
all sums of gradients are complete, and what is hidden behind them costs nothing but the walk.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from operator import attrgetter, itemgetter
from sys import getrefcount, maxsize
from typing import Any

import numpy as np

from ...backprop.engine import topological
from ...base.errors import StaleValueError
from ...base.groups import grouped
from ...base.modes import modes
from ...nodes.nodes import Array, Holder, Node, Variable
from ...nodes.records import Record
from ...nodes.versions import FreedArray, owner_of, writer_since
from ...program.boxes import Boxes
from ...program.names import BASES
from ...program.source import taken_out
from .data import FEW, ROWS, Numbers, Operand, Several, Vertex, image_of, numbers
from .names import TITLE, Call, calls_of, titles_of, word
from .style import clean, clip

# ---------------------------------------------------------------- flow: the gradients along every arrow


@dataclass(frozen=True, slots=True)
class Flow:
    """The gradients that one node received and sent. ``sent`` and ``local`` are in operand order, None where nothing
    flows."""

    gradient: Numbers
    parts: tuple[Numbers, ...]
    of_parts: int  # how many there are; the first few are written down
    sent: tuple[Numbers | None, ...] = ()
    local: tuple[Numbers | None, ...] = ()
    kept: Numbers | None = None  # what .grad of a Variable holds, if that is something else
    times: int = 0  # the multiple of this gradient that it is; 0 if it is not one


def flows(order: Sequence[Any], outputs: Sequence[Holder], rows: int) -> dict[Any, Flow]:
    """The flow of each record and Variable in ``order``, which begins at the outputs and names consumers first.

    ``order`` may be cut short anywhere: all consumers of what is in it are in it too, so every sum is complete.
    Numbers of at most ``rows`` operands are written down.
    """
    visible = set(order)
    arriving = grouped([(output, ((np.inf, 0), np.ones(output.shape, output.dtype))) for output in outputs])
    terms: dict[Any, list[Array]] = {}  # where much cancels: the size of the terms
    answer: dict[Any, Flow] = {}
    for record in order:
        arrived = arriving.pop(record, [])
        g = total([g for _, g in arrived], record)  # in the engine's order, to the same bits
        parts = [g for _, g in sorted(arrived, key=itemgetter(0))]  # shown in the order in which the value was used
        summed = len(parts) > 1 and not hasattr(g, "grads")
        large = [] if hasattr(g, "grads") else [*terms.pop(record, []), *(parts if summed else [])]
        gradient = mark_noise(summary(g), g, large) if large else summary(g)
        if len(visible) <= FEW:
            gradient = replace(gradient, image=image_of(g))
        summaries = tuple([numbers(part) for part in parts]) if summed else ()
        if len(summaries) > rows:
            summaries = tuple(nlargest(rows, summaries, key=lambda part: part.rms or 0.0))
        if not record.parents:
            answer[record] = Flow(gradient, summaries, len(parts), **stored_gradient(record, g))
            continue
        sent = record(g)
        for slot, (parent, part) in enumerate(zip(record.parents, sent, strict=True)):
            if parent in visible and part is not None:
                arriving.setdefault(parent, []).append(((record.number, slot), part))
        flow = tuple([None if part is None else summary(part) for part in sent[:rows]])
        least = CANCELS * (gradient.rms or 0.0)
        if gradient.noise or any([x and x.rms and x.rms < least for x in flow]):
            sizes = record(sum(map(abs, large)) if gradient.noise else abs(g))  # at most as large as the terms are
            flow = tuple([x and mark_noise(x, part, [size]) for x, part, size in zip(flow, sent, sizes, strict=False)])
            for parent, x, size in zip(record.parents, flow, sizes, strict=False):
                if x is not None and x.noise:
                    terms.setdefault(parent, []).append(size)
        passed = any([hasattr(part, "grads") for part in sent])  # one of several results hands on what it got
        factors = (None,) * len(flow) if passed else local(record, g, flow, rows)
        answer[record] = Flow(gradient, summaries, len(parts), flow, factors)
    return answer


CANCELS = 1e-8  # a contribution this small relative to the gradient may be a sum in which much cancels


def mark_noise(x: Numbers, g: Array, terms: Sequence[Array]) -> Numbers:
    """The numbers of ``g``, which is the sum of such terms: are some of them only rounding errors?"""
    if x.rms is None:
        return x
    size = np.atleast_1d(abs(g))
    least = 64 * float(np.finfo(size.dtype).eps) * np.atleast_1d(sum(map(abs, terms)))
    small = (size > 0) & (size <= least)
    level = float(size[small].max()) if small.any() else 0.0
    return replace(x, noise=level) if not (size[size > least] <= level).any() else x


def summary(g: Array) -> Numbers:
    """The numbers of a gradient; of an operation with several results those of all that arrived, one after another."""
    if not hasattr(g, "grads"):
        return numbers(g)
    parts = [part for _, part in sorted(g.grads.items())]
    return numbers(parts[0]) if len(parts) == 1 else numbers(np.concatenate([np.ravel(part) for part in parts]))


def total(parts: Sequence[Array], record: Holder) -> Array:
    """The sum of what arrived, in the dtype of the node. Half precision is added in single precision."""
    if not parts:
        return np.zeros(record.shape, record.dtype)
    wide = np.float32 if record.dtype == np.float16 and len(parts) > 1 else None
    g = parts[0] if wide is None else parts[0].astype(wide)
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            g = g + part
        return np.asarray(g, record.dtype) if isinstance(g, (np.ndarray, np.generic)) else g


def local(record: Record, g: Array, sent: tuple[Numbers | None, ...], rows: int) -> tuple[Numbers | None, ...]:
    """dz/dx for each operand where both are real numbers: the contribution sent back is g times it."""
    if record.shape != () or record.dtype.kind == "c":
        return (None,) * len(sent)
    units = sent if float(g) == 1 else [None if u is None else numbers(u) for u in record(1.0)[:rows]]
    return tuple([u if u is not None and u.scalar else None for u in units])


def stored_gradient(leaf: Variable, g: Array) -> dict[str, Any]:
    """The content of a Variable's ``.grad``, if it is not from this pass alone: ``{"kept": ..., "times": 2}``."""
    gradient = leaf.grad
    if gradient is None or tuple(gradient.shape) != tuple(g.shape):
        return {}
    gradient = gradient.value if isinstance(gradient, Node) else gradient
    close = {2: 1e-2, 4: 1e-4}.get(g.dtype.itemsize, 1e-9)
    with np.errstate(all="ignore"):
        least = close * float(abs(g[np.isfinite(g)]).max(initial=0.0))  # what rounding may have changed
        if np.allclose(gradient, g, rtol=close, atol=least, equal_nan=True):
            return {}
        ratio = float(np.real(gradient.sum() / g.sum()))
        times = round(ratio) if 1.5 < ratio < 1e9 else 0
        is_multiple = np.allclose(gradient, times * g, rtol=close, atol=least, equal_nan=True)
        return {"kept": numbers(gradient), "times": times if is_multiple else 0}


# ---------------------------------------------------------------- the walk: which nodes are shown


WORK = 50_000_000  # elements of all values; above that, gradients take long and are shown on demand only
LEFT = "those that the last backward() left in .grad"
NAME = 200  # characters of a node's own name that data files keep


class Outputs:
    """A record above the outputs, so that the engine walks back from all of them at once."""

    def __init__(self, parents: Sequence[Any]) -> None:
        self.parents = tuple(parents)


class Walk:
    """The records behind some nodes, and what a picture shows of each."""

    def __init__(self, roots: Sequence[Any], literals: bool, limit: int, memory: bool = False) -> None:
        self.literals = literals
        sources = [(x, identity_of(x)) for x in roots]
        self.records = [r for _, r in sources if r is not None]
        self.lonely = [x for x, r in sources if r is None]  # Constants
        self.everything = everything = topological(Outputs(self.records))[1:]
        self.kept = kept_bytes(everything) if memory else {}  # by each record
        self.taken_out = taken_out(everything)
        self.order = everything[: max(1, limit)]
        self.shown: Sequence[Any] = self.order
        self.hidden = len(everything) - len(self.order)
        leaves = [r for r in everything if not r.parents]
        self.backward_was_called = any([x.grad is not None for x in (*roots, *leaves)])
        self.titles = titles_of(everything)
        self.titles.outputs.update(map(id, self.records))
        self.flow: dict[Any, Flow] = {}
        self.left: dict[Any, Numbers] = {}  # what is in .grad, where no pass is possible any more
        self.ids: dict[Any, int] = {}
        self.called: dict[Any, str] = {}  # plain operands, by their places

    def keep(self, around: object, radius: int) -> None:
        """Show only what is near to ``around``."""
        center = record_in(around, self.everything, "around")
        users = grouped([(parent, r) for r in self.everything for parent in r.parents])
        near = edge = {center}
        for _ in range(radius):
            edge = {x for r in edge for x in (*r.parents, *users.get(r, ())) if x is not None} - near
            near = near | edge
        self.shown = [r for r in self.everything if r in near]
        self.hidden = len(self.everything) - len(self.shown)

    def faded(self, highlight: object) -> tuple[int, ...]:
        """The ids of all nodes that are on no way from ``highlight`` to an output."""
        on_way = uses_of(record_in(highlight, self.everything, "highlight"), self.everything)
        lit = {self.ids[id(r)] for r in on_way if id(r) in self.ids}
        return tuple([k for k in self.ids.values() if k not in lit])

    def title(self) -> str:
        """The name of the quantity whose gradients these are."""
        return self.titles.of(self.records[0]) if len(self.records) == 1 else "the outputs"

    def go(self, gradients: bool | None) -> list[str]:
        """Find the titles, and the flow of gradients if it is wanted. Returns notes for the reader."""
        for record in sorted([r for r in {*self.order, *self.shown} if r.parents], key=attrgetter("number")):
            self.titles.add(record)
        notes = []
        if self.shown is not self.order:
            notes.append(f"{len(self.everything):,} nodes; showing the {len(self.shown):,} asked for")
        elif self.hidden:
            total, drawn = len(self.everything), len(self.order)
            note = f"{total:,} nodes; showing the {drawn:,} nearest to the output; {self.hidden:,} are hidden"
            notes.append(f"{note}. More: graph(limit=...), or the graph of a node further up.")
        if gradients is False or not self.records:
            return notes
        if gradients is None and not self.backward_was_called:
            name = self.titles.name(self.records[0]) or ""
            return [*notes, f"call {name + '.' if name.isidentifier() else ''}backward() to see gradients"]
        work = sum([math.prod(r.shape) for r in self.order])
        if gradients is None and work > WORK:
            return [*notes, f"gradients of {work:,} numbers would take a while: graph(gradients=True) shows them"]
        if any([r.dtype.kind == "c" for r in self.records]):
            return [*notes, "the output is complex, so the direction of a gradient is open: none are shown"]
        try:
            self.flow = flows(self.order, self.records, ROWS)
        except Exception as error:
            first = clip(clean(str(error).splitlines()[0] if str(error) else ""), 160)
            if isinstance(error, StaleValueError):  # after an optimiser's step, say
                self.left = {x: numbers(x.grad) for x in self.order if not x.parents and x.grad is not None}
            notes.append(f"gradients are {LEFT if self.left else 'not shown'}. {type(error).__name__}: {first}")
        if self.flow and len(self.records) > 1:
            notes.append("gradients are those of the sum of the outputs")
        return notes

    def vertices(self) -> tuple[tuple[Vertex, ...], tuple[int, ...]]:
        """All nodes of the picture in the order of their creation, and which are outputs."""
        born: list[tuple[tuple[float, int], Any, Any]] = []  # (when, what it is, its value if it is a plain operand)
        seen: set[Any] = set()
        for record in self.shown:
            born.append(((record.number, 0), record, None))
            for slot, x in enumerate(record.operands[:ROWS] if record.parents else ()):
                if record.parents[slot] is not None or x is None:  # None: a bound that np.clip was not given
                    continue
                if isinstance(x, Node) and (self.literals or x.shape or self.titles.name(x)):
                    if id(x) not in seen:
                        seen.add(id(x))
                        born.append(((x.number, 0), x, None))
                elif self.literals or getattr(x, "shape", ()) != ():
                    what, value = self.operand_key(record, slot, x)
                    if what not in seen:
                        seen.add(what)
                        self.called[what] = self.titles.of_operand(record, slot)
                        born.append(((record.number - 0.5, slot), what, value))  # just before
        born += [((x.number, 0), x, None) for x in self.lonely if id(x) not in seen]
        born.sort(key=lambda entry: entry[0])
        self.ids = {key(what): number for number, (_, what, _) in enumerate(born)}
        self.enter([what for _, what, _ in born])
        nodes = [self.plain(what, x) if type(what) is tuple else self.vertex(what) for _, what, x in born]
        return tuple(nodes), tuple([n.id for n in nodes if n.output])

    def enter(self, shown: Sequence[Any]) -> None:
        """Find the boxes, and give numbers to those around what is shown."""
        self.boxes = Boxes(self.titles.program, [r for r in self.everything if r.parents])
        boxes = dict.fromkeys([box for x in shown if hasattr(x, "node_name") for _, box in self.boxes.around(x)])
        self.entered = {box: k for k, box in enumerate(boxes, 1)}
        self.told = {k: self.boxes.note(box) for box, k in self.entered.items() if box[0] != "scope"}
        self.objects = {k: self.boxes.boxes[box].path for box, k in self.entered.items()}

    def operand_key(self, record: Record, slot: int, x: object) -> tuple[tuple[Any, int], Any]:
        """The key of a plain operand, and its value. Equal arrays of one name are one card."""
        value = as_it_was(x, record)
        name = self.titles.program.operand(record, slot) if value is x and getattr(x, "shape", ()) != () else None
        if name is None or "[" in name:  # an item may be another one each time
            return (id(record), slot), value
        return (name, self.titles.place_of_array(name, value)), value

    def vertex(self, x: Any) -> Vertex:
        """A record, a Variable or a Constant."""
        record = hasattr(x, "node_name")
        if record and id(x) not in self.titles.known:
            self.titles.add(x)
        kind = "Operation" if record else "Variable" if isinstance(x, Variable) else "Constant"
        value = self.with_image(numbers(x.value, x.shape, x.dtype), x.value)
        flow = self.flow.get(x) if record or kind == "Variable" else None
        around = self.boxes.around(x) if record else ()
        operands = [(k, y) for k, y in enumerate(x.operands) if y is not None] if record else []
        drawn = [*operands[:ROWS], *[(slot, y) for slot, y in operands[ROWS:] if id(y) in self.ids]]
        return Vertex(
            self.ids[id(x)], kind, self.titles.of(x), clip(clean(x.node_name if record else x.name), NAME),
            word(x) if record else kind, value,
            gradient=flow.gradient if flow else self.left.get(x),
            parts=flow.parts if flow else (), of_parts=flow.of_parts if flow else 0,
            operands=tuple([self.operand(x, slot, y) for slot, y in drawn]), more_operands=len(operands[ROWS:]),
            output=any([x is y for y in (*self.records, *self.lonely)]),
            notes=tuple(self.notes(x, kind, flow)),
            named=self.titles.name(x) is not None,
            scope=tuple([clip(clean(name), 60) for name, _ in around]) if around else (),
            entered=tuple([self.entered[key] for _, key in around]) if around else (),
            place=tuple(place) if kind != "Constant" and (place := self.titles.program.place(x)) else None,
            equals=self.equals(x) if record else None, turns=self.boxes.turns.of(x) if record else (),
            goes_on=record and id(x) in self.titles.program.parts,
            write=clip(clean(self.titles.program.write(x)), TITLE) if record and x.rule.name in BASES else "",
            kept=self.kept.get(id(x), 0),
        )  # fmt: skip

    def with_image(self, value: Numbers, x: object) -> Numbers:
        """The numbers of a value with its image, in pictures that may have room for one."""
        return replace(value, image=image_of(x)) if len(self.shown) <= FEW else value

    def equals(self, record: Record) -> int | None:
        """The id of the node that a record is 1 times of."""
        slot = self.titles.times_one(record) if record.parents else None
        return None if slot is None else self.ids.get(id(record.parents[slot]))

    def several(self) -> tuple[Several, ...]:
        """The functions with several results, by ids."""
        return tuple([self.call(c) for c in calls_of(self.shown, self.titles.program) if id(c.source) in self.ids])

    def call(self, c: Call) -> Several:
        """One of them."""
        title = self.titles.of(c.source) if c.recorded else clip(f"{c.word}({self.titles.of(c.source)})", TITLE)
        return Several(
            c.word, title, self.ids[id(c.source)] if c.recorded else None, tuple([self.ids[id(r)] for r in c.results]),
            tuple([self.ids[id(r)] for r in c.inside]), None if c.recorded else self.ids[id(c.source)],
        )  # fmt: skip

    def notes(self, x: Any, kind: str, flow: Flow | None) -> list[str]:
        """The notes about a node."""
        words = ["no gradient"] if kind == "Constant" else []
        words += [f"no gradient through {clip(text, 30)}" for record, text in self.taken_out if record is x]
        if kind == "Variable" and not x.requires_grad:
            words.append("frozen: no gradient")
        if kind == "Variable" and (where := writer_since(x.value, self.first_use.get(id(x), maxsize))):
            words.append(f"overwritten since it was used ({clip(clean(where.rpartition('/')[2]), 40)})")
        if flow and flow.kept:
            words.append(f"{self.titles.of(x)}.grad = {flow.kept.magnitude(modes().digits)}, {self.passes()}")
        return words

    def passes(self) -> str:
        """What ``.grad`` has added up: "2 times this gradient" if that is so for all Variables."""
        times = {flow.times for flow in self.flow.values() if flow.kept}
        is_single = len(times) == 1 and 0 not in times and any([r.parents for r in self.records])
        return f"{times.pop()} times this gradient" if is_single else "of other passes too"

    @cached_property
    def first_use(self) -> dict[int, int]:
        """When each node was first used by what is drawn."""
        uses = grouped([(id(parent), record.number) for record in self.order for parent in record.parents])
        return {parent: min(numbers) for parent, numbers in uses.items()}

    def plain(self, place: tuple[int, int], x: object) -> Vertex:
        """An operand that is not a node: a number, an array, or shape and dtype of one that was freed."""
        value = numbers(x.reference(), x.shape, x.dtype) if isinstance(x, FreedArray) else numbers(x)
        value = self.with_image(value, x)
        return Vertex(self.ids[place], "Constant", self.called[place], "", "Constant", value, notes=("no gradient",))

    def operand(self, record: Record, slot: int, x: Any) -> Operand:
        """A row of a record's card."""
        flows = record.parents[slot] is not None
        source = self.ids.get(key(x if flows or isinstance(x, Node) else self.operand_key(record, slot, x)[0]))
        flow = self.flow.get(record)
        note = ""
        if flows and source is None:
            note = "hidden"
        elif not flows and flow:
            note = "no gradient"
        elif record.rule.elementwise and flows:
            times = int(np.prod(record.shape)) // max(1, int(np.prod(x.shape)))
            note = f"broadcast × {times}" if times > 1 else ""
        local, sent = (flow.local[slot], flow.sent[slot]) if flow and slot < ROWS else (None, None)
        return Operand(slot, self.titles.of_operand(record, slot), source, flows, local, sent, note)


def as_it_was(x: Any, record: Record) -> Any:
    """A plain operand; only shape and dtype if the array has been written into, by the operation or later."""
    value = x.reference() if isinstance(x, FreedArray) else x
    is_written = writer_since(value, record.number - 1)
    return FreedArray(np.broadcast_to(np.empty((), x.dtype), x.shape)) if is_written else x


def kept_bytes(order: Iterable[Any]) -> dict[int, int]:
    """For each record (its id) of a graph, the bytes that it keeps for the way back and no earlier record keeps. Arrays
    that are there without the graph are not counted: those of leaves, and plain operands that something else holds."""
    order = sorted(order, key=attrgetter("number"))
    seen, uses = set(), Counter[int]()
    for r in order:
        constants = r.extra.constants.values() if r.parents and r.extra is not None else ()
        for x in constants if r.parents else (r,):
            seen.add(id(x.value if x.value.base is None else owner_of(x.value)))
        for v in r.saved if r.parents else ():
            if type(v) is np.ndarray:
                uses[id(v if v.base is None else owner_of(v))] += 1
    sizes: dict[int, int] = {}
    for r in order:
        for k, x in enumerate(r.saved if r.parents else ()):
            for v in x if isinstance(x, tuple) else (x,):
                if type(v) is not np.ndarray or id(owner := v if v.base is None else owner_of(v)) in seen:
                    continue
                seen.add(id(owner))
                is_data = k < len(r.parents) and r.parents[k] is None
                if not (is_data and getrefcount(owner) > ALONE + uses[id(owner)] + 3 * (v is owner)):
                    sizes[id(r)] = sizes.get(id(r), 0) + owner.nbytes
    return sizes


# References to an array that one variable holds, with that of the call that asks; as in nodes/versions.py.
ALONE = (lambda array: getrefcount(array))(np.zeros(1))


def key(x: object) -> tuple[int, int] | int:
    """The key of a node of the picture: the object or, for a plain operand, its place."""
    return x if type(x) is tuple else id(x)


def identity_of(node: Node) -> Holder | None:
    """The key of a node in the walk: its record, a live Variable itself, None where nothing flows."""
    if isinstance(node, Variable):
        return node if node.requires_grad else None
    return node.grad_fn


def record_in(node: object, everything: Sequence[Any], argument: str) -> Holder:
    """The record of a node that must be in the graph."""
    record = identity_of(node) if isinstance(node, Node) else None
    if record is None or not any([record is r for r in everything]):
        raise ValueError(f"{argument}= is a node of this graph that gradients flow to; not {clip(repr(node), 60)}")
    return record


def uses_of(record: Holder, order: Sequence[Holder]) -> set[Holder]:
    """A record, and all in ``order``, consumers first, that were computed from it."""
    records = {record}
    for r in reversed(order):
        if not records.isdisjoint(r.parents):
            records.add(r)
    return records
