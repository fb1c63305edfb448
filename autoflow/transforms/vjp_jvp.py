"""Products with the Jacobian J = ∂z/∂x, without making it: ``vjp`` is gᵀJ, ``jvp`` is J t, ``hvp`` is H v.

Going back is what the engine does, so a vjp is one pass. A jvp needs no second engine (J. Townsend, "A new trick for
calculating Jacobian vector products", 2017): the pass back is a linear function of its seed u, w(u) = Jᵀu, and the
derivative of a linear function transposes it. So record the pass on a seed that is a leaf, and go back from ⟨w(u), t⟩
to u: that gives J t, exactly. It costs about two passes where a forward mode costs one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .. import pytree
from ..backprop import engine, passes
from ..errors import LostGradientError, SeedError
from ..modes import modes, switched
from ..nodes import versions
from ..nodes.grads import as_gradient_like, cast_gradient
from ..nodes.nodes import NodeRole, Variable, gradient_target, value_of
from ..rules.shapes import as_array
from .evaluation import Trace, copy_numbers, stop_set
from .gradient import grad

Array = Any
T = TypeVar("T")


def vjp(
    f: Callable[..., Any], *primals: Any, allow_unused: bool = False
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of ``f(*primals)``, and its pullback: the function that takes dL/d(value) to dL/d(primals).

    primals : arrays, numbers, or nested containers of them. The value may be a container of arrays as well.

    The pullback takes one cotangent, shaped like the value, and returns a tuple, one gradient per primal. It may be
    called any number of times.

    Raises LostGradientError if the value depends on none of the primals, unless ``allow_unused``; SeedError, in the
    pullback, if the cotangent does not fit the value.

    >>> value, pullback = vjp(np.multiply, 3.0, 5.0)
    >>> pullback(1.0)
    (array(5.), array(3.))
    """
    trace = Trace(f, tuple(range(len(primals))), primals, {})
    roots = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
    trace.checked_reach(roots, allow_unused)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        seeds = match_leaves(cotangent, trace.z, "cotangent", "value")
        again = modes().depth > 0 or any([gradient_target(g) is not None for g in seeds])
        nested = modes().recording and (trace.nested or again)
        root, seed = (roots[0], seeds[0]) if len(roots) == 1 else (_total(roots, seeds, trace), None)
        return trace.to_user_tree(trace.gradients(root, seed, nested), nested)

    return trace.detach_results(trace.z), pullback


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, *, allow_unused: bool = False) -> tuple[Any, Any]:
    """The value of ``f`` and its derivative in a direction: how much it changes if the primals change by the tangents.

    primals : a tuple of the arguments; anything else is the one argument.
    tangents : the same containers and shapes.

    Raises LostGradientError if the value depends on none of the primals, unless ``allow_unused``; SeedError if the
    tangents do not fit.

    >>> value, tangent = jvp(lambda x, y: x * y, (3.0, 5.0), (1.0, 0.0))
    >>> float(value), float(tangent)
    (15.0, 5.0)
    """
    args = primals if isinstance(primals, tuple) else (primals,)
    directions = tangents if isinstance(primals, tuple) else (tangents,)
    trace = Trace(f, tuple(range(len(args))), args, {}, also=pytree.tree_leaves(directions))
    roots = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
    trace.checked_reach(roots, allow_unused)
    shown = match_leaves(directions, tuple(trace.arguments), "tangent", "primal")
    tangent = pytree.tree_map(lambda z: pushed_forward(trace, z, shown) if pytree.is_number(z) else None, trace.z)
    return trace.detach_results(trace.z), tangent


def linearize(f: Callable[..., Any], *primals: Any, allow_unused: bool = False) -> tuple[Any, Callable[..., Any]]:
    """The value of ``f(*primals)``, and its derivative there as a linear function, from tangents to the tangent of the
    value. f itself runs once, however often that function is called.

    The linear function takes one tangent per primal. Errors are those of :func:`jvp`.

    >>> value, pushforward = linearize(lambda x, y: x * y, 3.0, 5.0)
    >>> float(value), float(pushforward(1.0, 0.0)), float(pushforward(0.0, 1.0))
    (15.0, 5.0, 3.0)
    """
    trace = Trace(f, tuple(range(len(primals))), primals, {})
    roots = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
    trace.checked_reach(roots, allow_unused)

    def pushforward(*tangents: Any) -> Any:
        here = copy.copy(trace)
        here.nested = trace.nested or any([gradient_target(t) is not None for t in pytree.tree_leaves(tangents)])
        shown = match_leaves(tangents, tuple(trace.arguments), "tangent", "primal")
        return pytree.tree_map(lambda z: pushed_forward(here, z, shown) if pytree.is_number(z) else None, trace.z)

    return trace.detach_results(trace.z), pushforward


@overload
def hvp(
    f: Callable[..., Any], primals: np.ndarray | complex, vectors: Any, *, allow_unused: bool = False
) -> np.ndarray: ...
@overload
def hvp(f: Callable[..., Any], primals: T, vectors: Any, *, allow_unused: bool = False) -> T: ...
def hvp(f: Callable[..., Any], primals: Any, vectors: Any, *, allow_unused: bool = False) -> Any:
    """The Hessian of a scalar function times a vector, for about four evaluations of ``f``.

    primals : a tuple of the arguments; anything else is the one argument.
    vectors : the same containers and shapes. The answer has them too.

    Raises errors as :func:`vjp` does, and TypeError if ``f`` does not return one number.

    >>> hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """
    args = primals if isinstance(primals, tuple) else (primals,)
    directions = vectors if isinstance(primals, tuple) else (vectors,)
    slope = grad(f, tuple(range(len(args))), allow_unused=allow_unused)
    _, pullback = vjp(slope, *args, allow_unused=allow_unused)
    products = pullback(directions)  # H is symmetric: the pullback of the gradient multiplies by H
    return products if isinstance(primals, tuple) else products[0]


def pushed_forward(trace: Trace, z: Any, tangents: list[Any]) -> Any:
    """J t for one result ``z``, ``tangents`` one per leaf."""
    u, back = transpose(trace, z)
    with switched(recording=True):
        pairs = [(g, t) for g, t in zip(back, tangents, strict=True) if gradient_target(g) is not None]
        root = sum([inner(t, g) for g, t in pairs]) if pairs else None
    answer = pulled_to(u, root, None, trace.nested) if pairs else None
    if answer is None:
        answer = np.zeros_like(as_array(value_of(z)))
    if not trace.nested:
        return copy_numbers(answer)
    return next((trace.keep_differentiable(k, answer) for k, r in enumerate(trace.records) if not is_fresh(r)), answer)


def is_fresh(record: Any) -> bool:
    """Is the leaf a Variable of the trace's own, used nowhere else?"""
    return isinstance(record, NodeRole)


def transpose(trace: Trace, z: Any) -> tuple[Any, list[Any]]:
    """A leaf u like ``z``, and Jᵀu for each leaf of the trace as recorded operations on u; None where it is zero."""
    u = Variable(np.ones_like(value_of(z))) if isinstance(z, NodeRole) else None
    stop = trace.stop(z)
    if stop is None:
        return u, [None] * len(trace.leaves)
    open_record = passes.on_nodes(-1, hooks=False) if trace.nested else on_values()
    with switched(recording=True, autocast=None), np.errstate(all="ignore"):
        pairs = engine.pull_back(gradient_target(z), u, passes.wrap_by_modes(open_record), stop=stop)
        found = {id(record): g for record, g in pairs}
        sent = [found.get(id(record)) for record in trace.records]
        return u, [g if g is None else cast_gradient(g, x.dtype) for g, x in zip(sent, trace.leaves, strict=True)]


def on_values() -> Callable[[Any], Any]:
    """How rows run when the pass is recorded as a function of its seed alone: ``g`` a node, the rest plain arrays.

    As :func:`autoflow.backprop.passes.on_nodes`, but the function itself is not in the graph, so there is less to go
    back through. Hooks are not called: they need not be linear.
    """
    again: dict[Any, Array] = {}

    def open_record(pair: tuple[Any, Any]) -> Any:
        record, g = pair
        saved = record.saved
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = passes.check_and_run_hooks(record, g, again, False)
        rule = record.rule
        if g.dtype != record.dtype:
            g = cast_gradient(g, record.dtype)
        if rule.joint is None:
            return g, (rule.complex_vjps() if record.dtype.kind == "c" else rule.vjps), saved, None
        return g, passes.picks(record), checked_linear(record, passes.all_at_once(record, g, saved)), None

    return open_record


def checked_linear(record: Any, sent: list[Any]) -> list[Any]:
    """What a joint rule sends, checked: it must be a recorded function of ``g``."""
    for parent, g in zip(record.parents, sent, strict=True):
        lost = gradient_target(g) is None and np.any(value_of(g))  # what is linear and constant is zero
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


def inner(a: Any, b: Any) -> Any:
    """⟨a, b⟩; for complex arrays the real part of Σ conj(a) b, which fits gradients written as dL/da + i dL/db."""
    if b.dtype.kind == "c":
        return np.sum(np.real(np.conjugate(a) * b))
    return np.sum(a * b)


def _total(roots: list[Any], seeds: list[Any], trace: Trace) -> Any:
    """One root for several: Σ ⟨seed, root⟩, whose gradient is what these seeds send back together."""
    with switched(recording=True):
        parts = [inner(g, z) for g, z in zip(seeds, roots, strict=True) if trace.reaches(z)]
        return sum(parts[1:], parts[0]) if parts else None


def match_leaves(given: Any, like: Any, what: str, of: str) -> list[Any]:
    """The leaves of ``given``, one per leaf of ``like`` that is a number, with its shape and dtype."""
    if not pytree.same_shape(given, like):
        raise SeedError(f"the {what}s do not have the containers of the {of}s: one {what} per {of}, nested alike")
    made = []
    paths = pytree.tree_paths(like, of)
    targets = pytree.tree_leaves(like)
    parts = [given] if not pytree.is_container(like) else pytree.tree_leaves(given)
    for path, target, g in zip(paths, targets, parts, strict=True):
        if not pytree.is_number(target):
            continue
        value = as_array(value_of(target))
        if np.shape(g) != value.shape:
            raise SeedError(f"the {what} for {path} has shape {np.shape(g)}, but its shape is {value.shape}")
        if as_array(value_of(g)).dtype.kind == "c" != value.dtype.kind:
            raise SeedError(f"the {what} for {path} is complex, but it is {value.dtype}")
        made.append(g if gradient_target(g) is not None else as_gradient_like(value_of(g), value))
    return made
