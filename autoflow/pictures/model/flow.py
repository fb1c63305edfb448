"""The gradients along every arrow: one pass from the outputs, computed again from the rules.

``backward()`` keeps only sums. A picture shows the parts: at each operand the local derivative and what is sent back,
at each node the contributions that arrived and their sum. So this module asks each record again, in the engine's
order, and writes down the answers. It never reads ``.grad``, which may hold several passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from ...nodes.nodes import Node
from .numbers import Numbers, numbers

Array = Any


@dataclass(frozen=True, slots=True)
class Flow:
    """What one node received and sent. ``sent`` and ``local`` are in operand order, None where nothing flows."""

    gradient: Numbers
    parts: tuple[Numbers, ...]
    of_parts: int  # how many there are; the first few are written down
    sent: tuple[Numbers | None, ...] = ()
    local: tuple[Numbers | None, ...] = ()
    kept: Numbers | None = None  # what .grad of a Variable holds, if that is something else
    times: int = 0  # the multiple of this gradient that it is; 0 if it is none


def flows(order: Sequence[Any], outputs: Sequence[Any], rows: int) -> dict[Any, Flow]:
    """The flow of each record and Variable in ``order``, which begins at the outputs and names consumers first.

    ``order`` may be cut short anywhere: all consumers of what is in it are in it too, so every sum is complete.
    Numbers of at most ``rows`` operands are written down.
    """
    shown = set(order)
    arriving: dict[Any, list[tuple[tuple[float, int], Array]]] = {}
    for output in outputs:
        arriving.setdefault(output, []).append(((np.inf, 0), np.ones(output.shape, output.dtype)))
    answer: dict[Any, Flow] = {}
    for record in order:
        arrived = arriving.pop(record, [])
        g = total([g for _, g in arrived], record)  # in the engine's order, to the same bits
        parts = [g for _, g in sorted(arrived, key=itemgetter(0))]  # shown in the order in which the value was used
        summed = len(parts) > 1 and not hasattr(g, "grads")
        summaries = tuple([numbers(part) for part in parts[:rows]]) if summed else ()
        if not record.parents:
            answer[record] = Flow(summary(g), summaries, len(parts), **stored_gradient(record, g))
            continue
        sent = record(g)
        for slot, (parent, part) in enumerate(zip(record.parents, sent, strict=True)):
            if parent in shown and part is not None:
                arriving.setdefault(parent, []).append(((record.number, slot), part))
        seen = tuple([None if part is None else summary(part) for part in sent[:rows]])
        passed = any([hasattr(part, "grads") for part in sent])  # one of several results hands on what it got
        factors = (None,) * len(seen) if passed else local(record, g, seen, rows)
        answer[record] = Flow(summary(g), summaries, len(parts), seen, factors)
    return answer


def summary(g: Array) -> Numbers:
    """The numbers of a gradient; of an operation with several results those of all that arrived, one after another."""
    if not hasattr(g, "grads"):
        return numbers(g)
    found = [part for _, part in sorted(g.grads.items())]
    return numbers(found[0]) if len(found) == 1 else numbers(np.concatenate([np.ravel(part) for part in found]))


def total(parts: Sequence[Array], record: Any) -> Array:
    """The sum of what arrived, in the dtype of the node. Half precision is added in single precision."""
    if not parts:
        return np.zeros(record.shape, record.dtype)
    wide = np.float32 if record.dtype == np.float16 and len(parts) > 1 else None
    g = parts[0] if wide is None else parts[0].astype(wide)
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            g = g + part
        return np.asarray(g, record.dtype) if isinstance(g, (np.ndarray, np.generic)) else g


def local(record: Any, g: Array, sent: tuple[Numbers | None, ...], rows: int) -> tuple[Numbers | None, ...]:
    """dz/dx for each operand where both are real numbers: what is sent back is g times it."""
    if record.shape != () or record.dtype.kind == "c":
        return (None,) * len(sent)
    units = sent if float(g) == 1 else [None if u is None else numbers(u) for u in record(1.0)[:rows]]
    return tuple([u if u is not None and u.scalar else None for u in units])


def stored_gradient(leaf: Any, g: Array) -> dict[str, Any]:
    """What a Variable's ``.grad`` holds, if it is not this pass alone: ``{"kept": ..., "times": 2}``."""
    kept = leaf.grad
    if kept is None or tuple(kept.shape) != tuple(g.shape):
        return {}
    kept = kept.value if isinstance(kept, Node) else kept
    close = {2: 1e-2, 4: 1e-4}.get(g.dtype.itemsize, 1e-9)
    with np.errstate(all="ignore"):
        if np.allclose(kept, g, rtol=close, equal_nan=True):
            return {}
        ratio = float(np.real(kept.sum() / g.sum()))
        times = round(ratio) if 1.5 < ratio < 1e9 else 0
        return {
            "kept": numbers(kept),
            "times": times if np.allclose(kept, times * g, rtol=close, equal_nan=True) else 0,
        }
