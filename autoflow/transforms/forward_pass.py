"""Forward mode: tangents pushed through a graph that was recorded, in the order in which it was computed.

The function has run, and its records say what was done to what. Each record gets the tangents of its operands, and
``tangents.py`` says what becomes of them: about the work of the function itself, once more or twice. What was kept for
the way back is what the way forward needs, too, so nothing else is recorded; and one graph serves any number of
directions (``af.linearize``), also many at once, as a hidden batch (``af.jacfwd``).

If the function is itself inside another transform, the rows run on nodes, so tangents can be differentiated again.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backprop import opening
from ..backprop.quietly import quietly
from ..extending.joint import NOTHING, RESULT_OF
from ..modes import modes, switched
from ..nodes import versions
from ..nodes.grads import cast_gradient
from ..nodes.nodes import gradient_target
from .evaluation import Trace
from .tangents import PUSHES, pushes_of
from .transposing import add, transposed_graph, transposed_record

Array = Any
DOUBLE = np.dtype(np.float64)
NUMBER = operator.attrgetter("number")
LARGE = 16_384  # elements: as in backprop/reuse.py


class ForwardPass:
    """The records between the leaves of a trace and some results, ready for tangents.

    order : the records, each after its operands.
    layer : the af.vmap in which they were made; None without one.
    ends : after which record a tangent is needed no more; None for those of the results.
    """

    def __init__(self, trace: Trace, roots: list[Any]) -> None:
        self.trace, self.roots, self.layer = trace, roots, modes().layer
        self.targets = [gradient_target(z) for z in roots]
        self.order = records_between(self.targets, set(trace.records), trace.first)
        self.ends: dict[Any, Any] = {parent: record for record in self.order for parent in record.parents}
        self.ends.update(dict.fromkeys(self.targets))

    def __call__(self, given: Sequence[Any], nested: bool | None = None) -> list[Any]:
        """The tangents of the results, given one for each leaf of the trace; None is a tangent that is zero."""
        nested = self.trace.nested if nested is None else nested
        if modes().anomaly or modes().safe_masking:  # they watch passes back
            return [transposed_graph(self.trace, z, given, nested) for z in self.roots]
        moving = {record: t for record, t in zip(self.trace.records, given, strict=True) if t is not None}
        if nested or modes().autocast is not None:
            return switched(recording=nested, autocast=None).call(quietly, self.run, moving, nested)
        return quietly(self.run, moving, nested)

    def run(self, tangents: dict[Any, Any], nested: bool) -> list[Any]:
        """The pass itself."""
        latest, wrap, ends, find = versions.latest[0], modes().wrap_open_record, self.ends, tangents.get
        again: dict[Any, Any] = {}  # values that were not kept, computed once more in this pass
        for record in self.order:
            parents = record.parents
            moved = [find(parent) for parent in parents]
            for t in moved:
                if t is not None:
                    break
            else:
                continue
            saved, rule = record.saved, record.rule
            if record.extra is not None or record.number < latest:
                _, saved, _ = opening.check_and_run_hooks(record, None, again, False)
            if nested:
                saved = opening.as_nodes(record, saved)
            result, pushes = saved[-1], PUSHES.get(rule)
            dtype = result.dtype
            if dtype is DOUBLE and pushes is not None and pushes.is_simple and pushes.vjps is rule.vjps and not wrap:
                each: Sequence[Any] = pushes.each  # what push_any does, for most records
                is_small, total = result.size < LARGE, None
                for k, t in enumerate(moved):
                    if t is not None:
                        sent = each[k](t, saved)
                        total = sent if total is None else total + sent if is_small else add_large(total, sent, moved)
            else:
                total = push_any(self, record, moved, saved, nested, wrap)
            for parent in parents:
                if parent is not None and ends[parent] is record:
                    tangents.pop(parent, None)
            if total is not None:
                if type(total) is not dict and (total.dtype is not dtype or total.shape != result.shape):
                    total = fit(total, dtype, result.shape)
                tangents[record] = total
        return [find(target) for target in self.targets]


def add_large(a: Any, b: Any, moved: list[Any]) -> Any:
    """a + b, in the memory of one of them if a push has just made it: it is no tangent of an operand, and no view."""
    if type(a) is np.ndarray is type(b) and a.shape == b.shape and a.dtype is b.dtype:
        for out in (a, b):
            if out.base is None and out.flags.carray and not any([out is t for t in moved]):
                return np.add(a, b, out=out)
    return a + b


def fit(t: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A tangent in the dtype and shape of its value: a smaller operand was broadcast."""
    if t.dtype is not dtype:
        t = cast_gradient(t, dtype)
    return t if t.shape == shape else np.broadcast_to(t, shape)


def records_between(roots: Sequence[Any], leaves: set[Any], first: int) -> list[Any]:
    """The records that ``roots`` were computed from since ``first``, without the leaves, in the order of creation."""
    queue = list(dict.fromkeys([r for r in roots if r is not None and r not in leaves and r.parents]))
    seen = {*leaves, *queue}
    for record in queue:
        for parent in record.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                if parent.number >= first and parent.parents:
                    queue.append(parent)
    queue.sort(key=NUMBER)  # operands are older than results
    return queue


def push_any(run: ForwardPass, record: Any, moved: list[Any], saved: tuple[Any, ...], nested: bool, wrap: Any) -> Any:
    """The tangent of one record's value, given those of its operands (None: it does not move), for every row, dtype and
    mode; None if the value does not move. Of a record with several results a dict of tangents, by place."""
    rule, result = record.rule, record.saved[-1]
    if rule is RESULT_OF:
        return moved[0].get(saved[1])
    if result is NOTHING:
        parts = {r.saved[1]: r.saved[-1] for r in run.order if r.rule is RESULT_OF and r.parents[0] is record}
        return dict(zip(parts, transposed_record(record, moved, saved, nested, run.layer, parts), strict=True))
    pushes = pushes_of(rule)
    if not rule.holomorphic and (
        result.dtype.kind == "c" or any([t is not None and t.dtype.kind == "c" for t in moved])
    ):
        pushes = pushes_of(rule, is_complex=True)
    if pushes.together is not None:
        return pushes.together(moved, saved)
    each = pushes.each if result.shape or nested or pushes.scalars is None else pushes.scalars
    if wrap is not None:
        _, each, saved, _ = wrap(lambda pair: (None, each, saved, None))((record, None))
    total = None
    for k, t in enumerate(moved):
        if t is not None and (push := each[k]) is not None:
            total = add(total, push(t, saved))
    rest = [t if push is None else None for t, push in zip(moved, each, strict=True)]
    if any([t is not None for t in rest]):
        total = add(total, transposed_record(record, rest, saved, nested, run.layer)[0])
    return total
