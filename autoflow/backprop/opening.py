"""Opening a record: its row's vjps, and the values that they read, in two ways.

The engine hands each record its cotangent, dL/d(result), and asks how to run its row. :func:`on_arrays` answers with
plain arrays (fast, nothing recorded); :func:`on_nodes` with nodes, so that NumPy's functions record what the row does,
and the gradient can be differentiated again. It is the same row.

What few records need (hooks, values to be computed again, watched plain arrays) is in their ``extra``, which is None
for all others. :func:`check_and_run_hooks` is called only where there is one, so the others pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..errors import GradientShapeError
from ..lazy import later
from ..modes import modes, switched
from ..nodes import versions
from ..nodes.grads import cast_gradient
from ..nodes.nodes import NodeRole, VariableRole, operation_from, value_of
from ..nodes.records import Record, holder_name
from . import reuse
from .hooks import run_hooks
from .saved_values import check_saved, recall_saved

Array = Any
DOUBLE = np.dtype(np.float64)


def on_arrays(limit: int | None, hooks: bool = True) -> Callable[[Any], Any]:
    """How the engine runs a record's row on plain arrays, or, where all is 0-d float64, on numbers."""
    number = np.float64
    keep_numbers = limit is None or limit > 0
    again: dict[Record, Array] = {}  # values that were not kept, computed once more in this pass

    def open_record(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        saved, rule = record.saved, record.rule
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = check_and_run_hooks(record, g, again, hooks)
        if type(g) is number and rule.joint is None:  # 0-d: nothing broadcasts, and np.float64 is ten times faster
            return g, rule.scalar_vjps, saved, pair if keep_numbers else None
        vjps = rule.vjps
        if g.dtype is not DOUBLE or saved[-1].dtype is not DOUBLE:  # mostly both are float64: nothing to round
            dtype = saved[-1].dtype
            g = cast_gradient(g, dtype)
            if dtype.kind == "c":
                vjps = rule.complex_vjps()
        kept = pair if limit is None or g.size <= limit else None
        if rule.joint is not None:
            return g, picks(record), switched(recording=False).call(all_at_once, record, g, saved), kept
        if kept is None and g is pair[1] and g.size > reuse.LARGE and vjps is rule.vjps and reuse.free_to_write(pair):
            vjps = reuse.vjps_in_place(rule) or vjps
        return g, vjps, saved, kept

    return open_record


def on_nodes(limit: int | None, hooks: bool = True) -> Callable[[Any], Any]:
    """How the engine runs it when the pass is to be differentiated: the same row, on nodes."""
    again: dict[Record, Array] = {}

    def open_record(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        saved = record.saved
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = check_and_run_hooks(record, g, again, hooks)
        rule, saved = record.rule, as_nodes(record, saved)
        if g.dtype != record.dtype:
            g = cast_gradient(g, record.dtype)
        kept = pair if limit is None or g.size <= limit else None
        if rule.joint is not None:
            return g, picks(record), all_at_once(record, g, saved), kept
        return g, (rule.complex_vjps() if record.dtype.kind == "c" else rule.vjps), saved, kept

    return open_record


def check_and_run_hooks(record: Record, g: Any, again: dict[Record, Array], with_hooks: bool) -> tuple[Any, Any, Any]:
    """What few records need before their row runs. Returns g, ``saved``, and the new pair (record, g)."""
    check_saved(record)
    saved, extra = record.saved, record.extra
    if extra is not None:
        if with_hooks and extra.hooks:
            g = run_hooks(record, g, list(extra.hooks.values()))
        if extra.recompute_depth is not None:
            saved = recall_saved(record, again)
    return g, saved, (record, g)


def as_nodes(record: Record, saved: Any) -> tuple[Any, ...]:
    """``saved`` with nodes where gradients flow: the operands', and the record's own result."""
    saved = list(saved)
    for k, parent in enumerate((*record.parents, *[None] * (len(saved) - len(record.parents) - 1), record)):
        if parent is not None and (type(saved[k]) in NODE_TYPES or isinstance(saved[k], np.generic)):
            saved[k] = parent if isinstance(parent, VariableRole) else operation_from(saved[k], parent)
    return tuple(saved)


def wrap_by_modes(open_record: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``open_record``, wrapped by the modes that are on: anomaly mode checks gradients, safe_masking keeps zeros."""
    if modes().wrap_open_record is not None:
        open_record = modes().wrap_open_record(open_record)
    if modes().safe_masking:
        open_record = later("autoflow.backprop.masking:wrap_open_record")(open_record)
    return later("autoflow.backprop.anomaly:wrap_open_record")(open_record) if modes().anomaly else open_record


def _pick(k: int) -> Callable[[Any, Any], Any]:
    return lambda g, sent: sent[k]


PICK = tuple([_pick(k) for k in range(64)])


def picks(record: Record) -> Any:
    """For each operand, the function that picks its part of what a joint rule has sent."""
    n = len(record.parents)
    return PICK[:n] if n <= len(PICK) else [_pick(k) for k in range(n)]


def all_at_once(record: Record, g: Any, saved: tuple[Any, ...]) -> list[Any]:
    """What a rule that computes all contributions together sends, checked; None becomes zeros.

    The rule gets what it saved, and the record itself after it.
    """
    assert record.rule.joint is not None  # noqa: S101
    sent = record.rule.joint(g, (*saved, record))
    sent = list(sent) if isinstance(sent, (tuple, list)) else [sent]
    if not modes().recording:  # a grad_fn may have computed with nodes: what it read as x, not x.value
        sent = [value_of(s) for s in sent]
    if len(sent) != len(record.parents):
        raise GradientShapeError(
            f"grad_fn of {record.node_name} returned {len(sent)} gradients for {len(record.parents)} operands: one "
            f"each, in operand order, None where none is needed"
        )
    for k, parent in enumerate(record.parents):
        if parent is None:
            continue
        shape, dtype = (parent.shape, parent.dtype)
        if sent[k] is None:
            sent[k] = np.zeros(shape, dtype)
        elif not hasattr(sent[k], "dtype"):
            sent[k] = np.asarray(sent[k], dtype)
        if sent[k].shape != shape:
            name = holder_name(parent)
            raise GradientShapeError(
                f"grad_fn of {record.node_name} returned shape {sent[k].shape} for operand {k} ({name}), "
                f"whose shape is {shape}"
            )
        if not isinstance(sent[k], NodeRole):
            sent[k] = cast_gradient(sent[k], dtype)
    return sent
