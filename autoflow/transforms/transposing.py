"""The transposed trick: J t from two passes back (J. Townsend, "A new trick for calculating Jacobian vector products",
2017).

The pass back is a linear function of its seed u, w(u) = Jᵀ u, and the derivative of a linear function transposes it. So
record the pass on a seed that is a leaf, and go back from ⟨w(u), t⟩ to u: that gives J t, exactly, from rows that only
know the way back. ``forward_pass.py`` does so for single rows that it cannot read forward, and for the whole graph
where a mode watches passes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backprop import engine, opening, passes
from ..errors import LostGradientError
from ..extending.joint import Parts
from ..modes import switched
from ..nodes import versions
from ..nodes.grads import add_gradients, cast_gradient
from ..nodes.nodes import NodeRole, Variable, gradient_target, value_of
from ..rules.shapes import is_on_host
from .evaluation import Trace, stop_set

Array = Any


def transposed_graph(trace: Trace, z: Any, tangents: Sequence[Any], nested: bool) -> Any:
    """J t for one result ``z`` of a trace, ``tangents`` one per leaf; None where it is zero."""
    u, back = transpose(trace, z)
    total = None
    for w, t in zip(back, tangents, strict=True):
        total = add(total, None if t is None else pulled_to(u, w, t, nested))
    return total if total is None else cast_gradient(total, z.dtype)  # halves were added in single precision


def transposed_record(
    record: Any, moved: Sequence[Any], saved: tuple[Any, ...], nested: bool, layer: Any,
    parts: dict[int, Any] | None = None,
) -> list[Any]:  # fmt: skip
    """J t for one record, ``moved`` one per operand (None: it does not move): one tangent, or one for each of the
    results in ``parts``, a dict of arrays of their shapes by place. None where it is zero.

    ``layer``: the af.vmap in which the record was made. The pass belongs there, also if the tangents are many at once.
    """
    like = next(value_of(t) for t in moved if t is not None)
    with switched(recording=True, autocast=None, layer=layer):
        leaves = [Variable(ones(like, z)) for z in ([record.saved[-1]] if parts is None else parts.values())]
        g: Any = leaves[0] if parts is None else Parts(dict(zip(parts, leaves, strict=True)))
        if record.rule.joint is not None:
            sent = opening.all_at_once(record, g, saved)
        else:
            vjps = record.rule.complex_vjps() if record.dtype.kind == "c" else record.rule.vjps
            sent = [t if t is None else vjp(g, saved) for t, vjp in zip(moved, vjps, strict=True)]
        checked_linear(record, sent)
    answers: list[Any] = [None] * len(leaves)
    for t, w, parent in zip(moved, sent, record.parents, strict=True):
        if t is None or gradient_target(w) is None:
            continue
        with switched(recording=True):
            w = cast_gradient(w, parent.dtype)
        answers = [add(total, pulled_to(u, w, t, nested)) for total, u in zip(answers, leaves, strict=True)]
    return answers


def add(a: Any, b: Any) -> Any:
    """The sum of two tangents, where None is zero."""
    return b if a is None else a if b is None else add_gradients(a, b)


def ones(like: Array, z: Any) -> Array:
    """An array of the shape and dtype of ``z`` where ``like`` is; without its hidden batch, if it has one."""
    if hasattr(like, "batch_layer") or isinstance(like, np.generic):
        return np.ones(z.shape, z.dtype)
    return np.ones_like(like, z.dtype, shape=z.shape)


def transpose(trace: Trace, z: Any) -> tuple[Any, list[Any]]:
    """A leaf u like ``z``, and Jᵀu for each leaf of the trace as recorded operations on u; None where it is zero."""
    u = Variable(np.ones_like(value_of(z))) if isinstance(z, NodeRole) else None
    stop = trace.stop(z)
    if stop is None:
        return u, [None] * len(trace.leaves)
    open_record = opening.on_nodes(-1, hooks=False) if trace.nested else on_values()
    with switched(recording=True, autocast=None), np.errstate(all="ignore"):
        pairs = engine.pull_back(gradient_target(z), u, opening.wrap_by_modes(open_record), stop=stop)
        found = {id(record): g for record, g in pairs}
        sent = [found.get(id(record)) for record in trace.records]
        return u, [g if g is None else cast_gradient(g, x.dtype) for g, x in zip(sent, trace.leaves, strict=True)]


def on_values() -> Callable[[Any], Any]:
    """How rows run when the pass is recorded as a function of its seed alone: ``g`` a node, the rest plain arrays.

    As :func:`autoflow.backprop.opening.on_nodes`, but the function itself is not in the graph, so there is less to go
    back through. Hooks are not called: they need not be linear.
    """
    again: dict[Any, Array] = {}

    def open_record(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        saved = record.saved
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = opening.check_and_run_hooks(record, g, again, False)
        rule = record.rule
        if g.dtype != record.dtype:
            g = cast_gradient(g, record.dtype)
        if rule.joint is None:
            return g, (rule.complex_vjps() if record.dtype.kind == "c" else rule.vjps), saved, None
        return g, opening.picks(record), checked_linear(record, opening.all_at_once(record, g, saved)), None

    return open_record


def checked_linear(record: Any, sent: list[Any]) -> list[Any]:
    """What a joint rule sends, checked: it must be a recorded function of ``g``."""
    for parent, g in zip(record.parents, sent, strict=True):
        lost = gradient_target(g) is None and is_on_host(g) and np.any(value_of(g))  # linear and constant: zero
        if parent is not None and lost:
            raise LostGradientError(
                f"the rule of {record.node_name} computes on plain arrays, so it has no forward mode: write it with "
                f"NumPy functions of g, or use the reverse mode (af.jacobian(f, mode='reverse'), af.vjp)"
            )
    return sent


def pulled_to(u: Any, root: Any, seed: Any, nested: bool) -> Any:
    """dL/du, given dL/d(root); None if ``root`` does not depend on the leaf ``u``."""
    source = gradient_target(root)
    stop = None if source is None else stop_set(source, {u}, u.number)
    if stop is None:
        return None
    pairs = passes.run_pass(root, seed, create_graph=nested, stop=stop)
    return next((cast_gradient(g, u.dtype) for holder, g in pairs if holder is u), None)
