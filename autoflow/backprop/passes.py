"""Going back: the engine's pass over records, and what it leaves in ``.grad``.

``engine.py`` walks, ``opening.py`` says what happens at a record. Here is first how NumPy's warnings are switched off,
in a fifth of the time of ``np.errstate``, which counts in small training steps; then the pass itself: the seed, the
hooks of leaves, and the gradients that Variables have in the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from contextvars import ContextVar, copy_context
from itertools import repeat

import numpy as np

from ..backends.registry import NODE_TYPES, Values
from ..base.errors import GradientShapeError, SeedError, lost
from ..base.modes import LEFT, announce, modes, switched
from ..base.process import Lock, call_without_collector
from ..base.types import T
from ..nodes import versions
from ..nodes.cuts import CONSTANTS, explain, name_before, taken_by, tell_of_constants
from ..nodes.grads import add_gradients, as_gradient_like, cast_gradient, check_numbers, forget_grads
from ..nodes.nodes import Array, Holder, NodeRole, VariableRole, constant_from, gradient_target, value_of
from ..nodes.rebinding import check_left, original_of, rebound
from ..nodes.records import Record
from ..program.callers import user_frame
from . import engine, opening
from .hooks import LEAF_HOOKS, OpenRecord, Pair, hooks_of, run_hooks
from .opening import on_arrays, on_nodes, wrap_by_modes

# ---------------------------------------------------------------- calls without NumPy's warnings


def _numpys_switch() -> tuple[ContextVar[object], object] | None:
    """NumPy's context variable for the settings of ``np.errstate``, and its value when all warnings are off.

    It has no public name, but it shows up in the context in which a warning was switched off. None if it does not.
    """
    context = copy_context()
    context.run(np.seterr, all="ignore")
    settings = [(v, value) for v, value in context.items() if v.name == "numpy.ufunc.extobj"]
    return settings[0] if settings else None


SWITCH = _numpys_switch()
if SWITCH:
    variable, NOBODY = SWITCH


def quietly(function: Callable[..., T], *arguments: object) -> T:
    """``function(*arguments)``, without NumPy's warnings of infinity, NaN and division by zero.

    Measured: 0.2 µs, ``with np.errstate(all="ignore")`` 1.4. Ctrl-C leaves nothing switched off: Python does not look
    for signals between the end of the try block and the call in C that restores.

    >>> quietly(np.log, np.zeros(1))
    array([-inf])
    """
    before = variable.get()
    try:
        variable.set(NOBODY)
        return function(*arguments)
    finally:
        variable.set(before)


if SWITCH is None:  # another NumPy: the slow way

    def quietly(function: Callable[..., T], *arguments: object) -> T:
        """``function(*arguments)`` under ``np.errstate(all="ignore")``."""
        with np.errstate(all="ignore"):
            return function(*arguments)


# ---------------------------------------------------------------- the pass: seed, engine, hooks of leaves, .grad


LOCK = Lock()  # adding gradients may run code of the user (a node with hooks), which may run another pass
DOUBLE, ONE = np.dtype(np.float64), np.float64(1.0)
Stop = Collection[Holder]  # where a pass ends
LARGE_GRAPH = 10_000  # records; from here on it pays to pause Python's collector of cycles: docs/speed.md


def backward(root: object, seed: Array = None, *, create_graph: bool = False, keep_grads: bool | None = None) -> None:
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
    open_record = wrap_by_modes((on_nodes if create_graph else on_arrays)(limit))
    extra_uses, count = engine.survey(record)
    call = operator.call if count < LARGE_GRAPH else call_without_collector
    call(set_gradients, root, record, seed, create_graph, open_record, extra_uses)


def set_gradients(
    root: Array, record: Record, seed: Array, create_graph: bool, open_record: OpenRecord, extra_uses: dict[Record, int]
) -> None:
    """The pass, and what it leaves in ``.grad``. (When it returns, the pairs of a large pass are freed before the
    collector runs again: else it would scan them all.)"""
    pairs = carry_back(root, record, seed, create_graph, open_record, (), extra_uses)
    if CONSTANTS:
        tell_of_constants(record, pairs)
    with LOCK:
        holders, new = quietly(new_gradients, pairs)  # backward does not warn
        # One call in C for all: not even KeyboardInterrupt leaves some gradients set and others not.
        list(map(setattr, holders, repeat("_raw_grad"), new))
    if modes().events is not None:
        announce("backward", record, holders)
    if LEAF_HOOKS:
        for holder in holders:
            for hook in [*hooks_of(holder).get("after", {}).values()]:
                hook(holder)


def new_gradients(pairs: list[Pair]) -> tuple[list[Holder], list[Array]]:
    """The holders, and the new gradient of each: Variables accumulate theirs."""
    holders, new = [], []  # filled by hand: zip(*pairs) takes twice as long
    for holder, g in pairs:
        if type(holder) is not Record:
            old = getattr(holder, "_raw_grad", None)
            old = getattr(holder, "_shown_grad", None) if old is None else old
            if isinstance(g, NodeRole) or isinstance(old, NodeRole):
                g = switched(recording=True, source=False).call(add_nodes, old, g, holder.dtype)
            elif old is not None:
                g = add_gradients(old, g)
        holders.append(holder)
        new.append(g)
    return holders, new


def add_nodes(old: Array | None, g: Array, dtype: np.dtype) -> Array:
    """The same in a pass with ``create_graph``: the sum is part of the graph, whatever the mode."""
    return cast_gradient(g if old is None else add_gradients(old, g), dtype)


def pull_back_nodes(seed: Array, *arguments: object) -> list[Pair]:
    """:func:`pull_back` with ``create_graph``: each gradient has the dtype of its node, and memory of its own, so that
    a write into one is seen in no other, nor in the ``seed`` of the user. The Variables come first: where memory is
    shared, the copy is what an operation keeps."""
    pairs = sorted(quietly(pull_back, *arguments), key=lambda pair: type(pair[0]) is Record)
    owners: set[int] = set()
    versions.copy_if_shared(seed, owners)
    return [(holder, versions.copy_if_shared(cast_gradient(g, holder.dtype), owners)) for holder, g in pairs]


def start_of_pass(root: object) -> Holder:
    """The record, or Variable, that a pass starts from."""
    if not isinstance(root, NodeRole):
        from .second_runs import codes_of_frame

        what = f"backward starts from a recorded node, not from {type(root).__name__} {str(root)[:60]}"
        frame = user_frame()
        raise lost(what, taken_by(frame, *codes_of_frame(frame)[1:]))
    record = gradient_target(root)
    if record is None:
        name = name_before(".backward(", user_frame()) or root.name
        what = f"no gradient flows to {name}, a {type(root).__name__}, so there is nothing to go back to"
        raise lost(what, explain(root))
    if LEFT:
        check_left(True)
    return record


def run_pass(
    root: object, seed: Array = None, *, create_graph: bool = False, stop: Stop = (), limit: int | None = -1
) -> list[Pair]:
    """The engine's pass from ``root``: pairs (leaf, gradient), and (record, gradient) of at most ``limit`` elements."""
    record = start_of_pass(root)
    open_record = wrap_by_modes((on_nodes if create_graph else on_arrays)(limit))
    extra_uses, count = engine.survey(record, stop)
    call = operator.call if count < LARGE_GRAPH else call_without_collector
    return call(carry_back, root, record, seed, create_graph, open_record, stop, extra_uses)


def carry_back(
    root: Array, record: Record, seed: Array, create_graph: bool, open_record: OpenRecord, stop: Stop,
    extra_uses: dict[Record, int],
) -> list[Pair]:  # fmt: skip
    """:func:`run_pass`, from the record of ``root``, whose graph was surveyed."""
    g = checked_seed(root, seed, create_graph)
    if not create_graph:
        return quietly(pull_back, record, g, open_record, opening.add_in_place, stop, extra_uses)
    switches = switched(recording=True, autocast=None, source=False)  # where backward() is called says nothing
    return switches.call(pull_back_nodes, seed, record, g, open_record, operator.add, stop, extra_uses)


def pull_back(
    record: Record, g: Array, open_record: OpenRecord, add: Callable[[Array, Array], Array], stop: Stop,
    extra_uses: dict[Record, int],
) -> list[Pair]:  # fmt: skip
    """The engine's pass, and the hooks of leaves: of all Variables or, if there is a stop set, of those in it."""
    pairs = engine.pull_back(record, g, open_record, add, stop, extra_uses)
    if modes().anomaly:
        from .anomaly import check_sums

        check_sums(pairs)
    if not (stop or LEAF_HOOKS):
        return pairs
    hooks_before = []
    for holder, _ in pairs:
        is_asked = holder in stop if stop else type(holder) is not Record
        hooks_before.append([*hooks_of(holder).get("before", {}).values()] if is_asked else ())
    for k, hooks in enumerate(hooks_before):
        if hooks:
            pairs[k] = pairs[k][0], run_hooks(*pairs[k], hooks)
    return pairs


def checked_seed(root: Array, seed: Array, create_graph: bool) -> Array:
    """The seed in the shape and dtype of its root, in memory of its own; with ``create_graph`` a node as it is."""
    value, own = root._value, seed
    if seed is None:
        if not value.ndim and value.dtype is DOUBLE and type(value) is np.ndarray and not create_graph:
            return ONE
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
        return cast_gradient(seed, value.dtype)  # many seeds at once: transforms/jacobian.py
    if own is not None:
        seed = seed if hasattr(seed, "dtype") else np.asarray(seed)
        check_numbers(seed, value.dtype, "the seed", root.name, SeedError)
        if create_graph and isinstance(seed, NodeRole):
            return seed
        seed = as_gradient_like(value_of(seed), value)
    if create_graph:
        return constant_from(seed, root.family)
    return value.dtype.type(seed) if not value.ndim and type(value) is np.ndarray else seed


def send(record: Record, g: Array) -> Values:
    """``record(g)``: the contribution to each operand, in order; None where it is not needed."""
    recorded = isinstance(g, NodeRole)
    if not recorded:
        value = record.result
        family = NODE_TYPES.get(value.library if type(value) is versions.FreedArray else type(value))
        check_numbers(g, record.dtype, "the gradient", record.node_name)
        if not hasattr(g, "dtype"):
            g = np.asarray(g, record.dtype)
        if family is not None and type(g) is np.ndarray:
            g = family.from_numpy(g)
    if g.shape != record.shape:
        raise GradientShapeError(f"{record!r} needs a gradient of shape {record.shape}, not {g.shape}")

    def pulled(pair: Pair) -> list[Array]:
        g, vjps, saved, _ = wrap_by_modes((on_nodes if recorded else on_arrays)(-1, hooks=False))(pair)
        return [None if p is None else vjp(g, saved) for p, vjp in zip(record.parents, vjps, strict=True)]

    parts = [np.asarray(s) if isinstance(s, np.generic) else s for s in quietly(pulled, (record, g))]
    return tuple([s.copy() if type(s) in NODE_TYPES else s for s in parts])


def zero_grad(node: Array) -> None:
    """Forget the gradient: ``node.grad`` is None again.

    Raises TypeError for ``w = w - lr * w.grad``, which is not a Variable any more.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> (x * x).backward()
    >>> x.zero_grad()
    >>> print(x.grad)
    None
    """
    if (w := original_of(node)) is not None:
        raise rebound(node, w, "zero_grad() in a loop is for Variables")
    if isinstance(node, VariableRole):
        forget_grads([node])
    elif gradient_target(node) is not None:
        node.grad = None
