"""Going back: the engine's pass over records, in two ways, and what it leaves in ``.grad``.

The engine hands each record its cotangent, dL/d(result), and asks how to run its row. :func:`on_arrays` answers with
plain arrays (fast, nothing recorded); :func:`on_nodes` with nodes, so that NumPy's functions record what the row does,
and the gradient can be differentiated again. It is the same row.

What few records need (hooks, values to be computed again, watched plain arrays) is in their ``extra``, which is None
for all others. :func:`check_and_run_hooks` is called only where there is one, so the others pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import repeat
from threading import RLock
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..errors import GradientShapeError, SeedError, lost
from ..lazy import later
from ..modes import modes, switched
from ..nodes import versions
from ..nodes.grads import add_gradients, as_gradient_like, cast_gradient
from ..nodes.nodes import NodeRole, VariableRole, constant_from, gradient_target, operation_from, value_of
from ..nodes.rebinding import original_of, rebound
from ..nodes.records import Record
from ..process import call_without_collector
from . import engine, reuse
from .deferred_products import GATHERED, MANY, Gathering
from .hooks import LEAF_HOOKS, holder_name, leaf_hooks, run_hooks
from .quietly import quietly
from .saved_values import check, recall_saved

Array = Any
LOCK = RLock()  # adding gradients may run code of the user (a node with hooks), which may run another pass
DOUBLE = np.dtype(np.float64)
LARGE_GRAPH = 10_000  # records; from here on it pays to pause Python's collector of cycles: docs/speed.md


def backward(root: Any, seed: Any = None, *, create_graph: bool = False, keep_grads: bool | None = None) -> None:
    """Carry dL/d(root) back to every node that ``root`` was computed from.

    Variables add up gradients in ``grad`` until ``zero_grad()``; operations keep the gradient of the last pass.

    seed : dL/d(root), of root's shape. Default: ones, i.e. the gradient of ``root.sum()``. Required if root is complex.
    create_graph : record the pass too, so that gradients can be differentiated again. (Without it, the contributions
        to a matrix or bias that is used nine times or more are computed 64 at a time, which may change the last bits.)
    keep_grads : whether operations keep their gradients: True all of them, False none, None those of at most
        ``af.options.keep`` elements.

    Raises LostGradientError if ``root`` has no history, SeedError if the seed does not fit, StaleValueError if a
    value that a derivative needs has been overwritten. After an error every ``grad`` is as it was.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0, 3.0])
    >>> af.backward(np.sum(x * x))
    >>> x.grad
    array([2., 4., 6.])
    """
    if keep_grads not in (None, True, False):
        raise TypeError(f"keep_grads is None (small gradients), True (all) or False (none), not {keep_grads!r}")
    limit = modes().keep if keep_grads is None else None if keep_grads else -1
    record = start_of_pass(root)
    extra_uses, count = engine.survey(record)
    if count < LARGE_GRAPH:
        set_gradients(root, record, seed, create_graph, limit, extra_uses)
    else:
        call_without_collector(set_gradients, root, record, seed, create_graph, limit, extra_uses)


def set_gradients(
    root: Any, record: Any, seed: Any, create_graph: bool, limit: int | None, extra_uses: dict[Record, int]
) -> None:
    """The pass, and what it leaves in ``.grad``. (When it returns, the pairs of a large pass are freed: a collector
    that runs again before that looks through all of them.)"""
    pairs = carry_back(root, record, seed, create_graph, limit, (), extra_uses)
    with LOCK:
        grads = [g if type(holder) is Record else accumulate(holder, g) for holder, g in pairs]
        # One call in C for all: not even KeyboardInterrupt leaves some gradients set and others not.
        list(map(setattr, [holder for holder, _ in pairs], repeat("_raw_grad"), grads))
    if LEAF_HOOKS:
        for holder, _ in pairs:
            for hook in leaf_hooks(holder, "after"):
                hook(holder)


def accumulate(variable: Any, g: Array) -> Array:
    """What a Variable's gradient becomes when ``g`` arrives."""
    old = getattr(variable, "_raw_grad", None)
    old = getattr(variable, "_shown_grad", None) if old is None else old
    if old is None and (type(g) is np.ndarray or not isinstance(g, NodeRole)):
        return g
    if not isinstance(g, NodeRole) and not isinstance(old, NodeRole):
        return quietly(add_gradients, old, g)  # backward does not warn
    # Of a pass with create_graph: the sum is part of the graph, whatever the mode.
    return switched(recording=True).call(
        quietly, lambda: cast_gradient(g if old is None else add_gradients(old, g), variable.dtype)
    )


def start_of_pass(root: Any) -> Any:
    """The record, or Variable, that a pass starts from."""
    if not isinstance(root, NodeRole):
        raise lost(f"backward starts from a recorded node, not from {type(root).__name__} {str(root)[:60]}")
    record = gradient_target(root)
    if record is None:
        frozen = " frozen" if isinstance(root, VariableRole) else ""
        raise lost(
            f"{root.name} is a{frozen} {type(root).__name__}: no gradient flows to it, so there is nothing to go back "
            f"to"
        )
    return record


def run_pass(
    root: Any, seed: Any = None, *, create_graph: bool = False, stop: Collection[Any] = (), limit: int | None = -1
) -> list[tuple[Any, Array]]:
    """The engine's pass from ``root``: pairs (leaf, gradient), and (record, gradient) of at most ``limit`` elements."""
    record = start_of_pass(root)
    extra_uses, count = engine.survey(record, stop)
    if count < LARGE_GRAPH:
        return carry_back(root, record, seed, create_graph, limit, stop, extra_uses)
    return call_without_collector(carry_back, root, record, seed, create_graph, limit, stop, extra_uses)


def carry_back(
    root: Any, record: Any, seed: Any, create_graph: bool, limit: int | None, stop: Collection[Any],
    extra_uses: dict[Record, int],
) -> list[tuple[Any, Array]]:  # fmt: skip
    """:func:`run_pass`, from the record of ``root``, whose graph was surveyed."""
    g = checked_seed(root, seed, create_graph)
    if create_graph:
        switches = switched(recording=True, autocast=None)
        return switches.call(quietly, pull_back_nodes, record, g, limit, stop, extra_uses)
    return quietly(pull_back_arrays, record, g, limit, stop, extra_uses)


def pull_back_nodes(
    record: Record, g: Array, limit: int | None, stop: Collection[Any], extra_uses: dict[Record, int]
) -> list[tuple[Any, Array]]:
    """The pass on nodes, which is itself recorded."""
    open_record = wrap_by_modes(on_nodes(limit))
    return apply_leaf_hooks(engine.pull_back(record, g, open_record, stop=stop, extra_uses=extra_uses), stop)


def pull_back_arrays(
    record: Record, g: Array, limit: int | None, stop: Collection[Any], extra_uses: dict[Record, int]
) -> list[tuple[Any, Array]]:
    """The pass on plain arrays. Products are put aside if a node has many uses and no mode watches each of them."""
    gathering = Gathering(extra_uses) if extra_uses and max(extra_uses.values()) >= MANY and not is_watched() else None
    open_record = wrap_by_modes(on_arrays(limit, gathering=gathering))
    pairs = engine.pull_back(record, g, open_record, add=reuse.add_in_place, stop=stop, extra_uses=extra_uses)
    return apply_leaf_hooks(pairs if gathering is None else [gathering.settle(pair) for pair in pairs], stop)


def is_watched() -> bool:
    """Is there a mode that looks at every contribution?"""
    switches = modes()
    return switches.anomaly or switches.safe_masking or switches.wrap_open_record is not None


def wrap_by_modes(open_record: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``open_record``, wrapped by the modes that are on: anomaly mode checks gradients, safe_masking keeps zeros."""
    if modes().wrap_open_record is not None:
        open_record = modes().wrap_open_record(open_record)
    if modes().safe_masking:
        open_record = later("autoflow.backprop.masking:wrap_open_record")(open_record)
    return later("autoflow.backprop.anomaly:wrap_open_record")(open_record) if modes().anomaly else open_record


def apply_leaf_hooks(pairs: list[tuple[Any, Any]], stop: Collection[Any]) -> list[tuple[Any, Any]]:
    """The engine's answer after the hooks of leaves: of all Variables or, if there was a stop set, of those in it."""
    if modes().anomaly:
        later("autoflow.backprop.anomaly:check_sums")(pairs)
    if stop:
        asked = [(holder, leaf_hooks(holder, "before") if holder in stop else ()) for holder, _ in pairs]
    elif LEAF_HOOKS:
        asked = [(holder, () if type(holder) is Record else leaf_hooks(holder, "before")) for holder, _ in pairs]
    else:
        return pairs
    return [(holder, run_hooks(holder, g, hooks)) for (holder, hooks), (_, g) in zip(asked, pairs, strict=True)]


def checked_seed(root: Any, seed: Any, create_graph: bool) -> Any:
    """The seed in the shape and dtype of its root, in memory of its own."""
    value = value_of(root)
    if seed is None:
        if not value.ndim and value.dtype is DOUBLE and type(value) is np.ndarray and not create_graph:
            return np.float64(1.0)
        if value.dtype.kind == "c":
            raise SeedError(
                f"{root.name} is complex, so the direction of differentiation is not clear: give backward(seed), "
                f"or make a real number of it first (np.abs(z)**2, z.real)."
            )
        seed = np.ones_like(value)
    elif np.shape(seed) != value.shape:
        raise SeedError(
            f"the seed has shape {np.shape(seed)}, but {root.name} has shape {value.shape}: it is dL/d({root.name}), "
            f"one number per element. Leave it out for the gradient of {root.name}.sum()"
        )
    if hasattr(seed, "batch_layer") and not isinstance(seed, NodeRole):
        return cast_gradient(seed, value.dtype)  # many seeds at once: transforms/batched_passes.py
    if not hasattr(seed, "dtype"):
        seed = np.asarray(seed)
    if seed.dtype.kind not in "biufc":
        raise SeedError(f"the seed is {seed.dtype}: it is dL/d({root.name}), one number per element")
    if create_graph:
        return seed if isinstance(seed, NodeRole) else constant_from(as_gradient_like(seed, value), root.family)
    seed = value_of(seed)
    if seed.dtype.kind == "c" != value.dtype.kind:
        raise SeedError(f"the seed is complex, but {root.name} is {value.dtype}")
    return value.dtype.type(seed) if not value.ndim and type(value) is np.ndarray else as_gradient_like(seed, value)


def on_arrays(limit: int | None, hooks: bool = True, gathering: Gathering | None = None) -> Callable[[Any], Any]:
    """How the engine runs a record's row on plain arrays, or, where all is 0-d float64, on numbers."""
    number = np.float64
    waiting = gathering.waiting if gathering else {}
    keep_numbers = limit is None or limit > 0
    again: dict[Record, Array] = {}  # values that were not kept, computed once more in this pass

    def open_record(pair: tuple[Any, Any]) -> Any:
        if waiting and pair[0] in waiting:
            pair = gathering.settle(pair)  # type: ignore[union-attr]
        record, g = pair
        saved, rule = record.saved, record.rule
        if gathering is not None and (rule.joint is not None or (record.extra is not None and record.extra.hooks)):
            gathering.add_up()
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
        if gathering is not None and GATHERED.get(rule) is vjps:
            return g, gathering.vjps(record, g, vjps), saved, kept
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
    check(record)
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


def send(record: Record, g: Any) -> tuple[Any, ...]:
    """``record(g)``: what it sends to each operand, in order; None where none is needed."""
    recorded = isinstance(g, NodeRole)
    if not recorded:
        value = record.result
        family = NODE_TYPES.get(value.library if type(value) is versions.FreedArray else type(value))
        if not hasattr(g, "dtype"):
            g = np.asarray(g, record.dtype)
        if family is not None and type(g) is np.ndarray:
            g = family.from_numpy(g)
    if g.shape != record.shape:
        raise GradientShapeError(f"{record!r} needs a gradient of shape {record.shape}, not {g.shape}")

    def pulled(pair: tuple[Record, Any]) -> list[Any]:
        g, vjps, saved, _ = wrap_by_modes((on_nodes if recorded else on_arrays)(-1, hooks=False))(pair)
        return [None if p is None else vjp(g, saved) for p, vjp in zip(record.parents, vjps, strict=True)]

    sent = quietly(pulled, (record, g))
    made: list[Any] = [np.asarray(s) if isinstance(s, np.generic) else s for s in sent]
    return tuple([s.copy() if type(s) in NODE_TYPES else s for s in made])


def zero_grad(node: Any) -> None:
    """Forget the gradient: ``node.grad`` is None again.

    Raises TypeError for ``w = w - lr * w.grad``, which is no Variable any more.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> (x * x).backward()
    >>> x.zero_grad()
    >>> print(x.grad)
    None
    """
    if (w := original_of(node)) is not None:
        raise rebound(node, w, "zero_grad() in a loop is for Variables")
    if gradient_target(node) is not None or isinstance(node, VariableRole):
        node.grad = None
