"""Forward mode: tangents pushed through a graph that was recorded, in the order in which it was computed.

The function has run, and its records say what was done to what. Each record gets the tangents of its operands, and its
row says what becomes of them: about the work of the function itself, once more or twice. What was kept for the way back
is what the way forward needs, too, so nothing else is recorded; and one graph serves any number of directions
(``af.linearize``), also many at once, as a hidden batch (``af.jacfwd``). If the function is itself inside another
transform, the rows run on nodes, so tangents can be differentiated again.

The transposed trick, J t from two passes back (J. Townsend, "A new trick for calculating Jacobian vector products",
2017), comes first. The pass back is a linear function of its seed u, w(u) = Jᵀ u, and the derivative of a linear
function transposes it. So record the pass on a seed that is a leaf, and go back from ⟨w(u), t⟩ to u: that gives J t,
exactly, from rows that only know the way back. It serves single rows that cannot be read forward, and the whole graph
where a mode watches passes back.

How one row carries tangents forward. A row says how a gradient goes back, Jᵀ g. The same row, read once more, says how
a tangent goes forward, J t:

* an elementwise function has a diagonal J, and Jᵀ = J: its derivative, with t instead of g;
* if the derivative with respect to x reads no number of x or z, the function is linear in x: the function itself,
  applied to t (the other operands as they are if the derivative reads them, as in a product; else zero, as in a
  concatenation);
* in a reduction each element of x is part of one element of z, so Jᵀ 1 holds all of J: Σ (Jᵀ 1) t along the axis;
* for all other rows the pass of this one row is transposed. It is slower, and always right.

So there is no second table. These readings are tried on every row: tests/transforms/test_forward_pass.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.registry import layer_of
from ..backprop import engine, opening, passes
from ..backprop.passes import quietly
from ..base import pytree
from ..base.errors import LostGradientError
from ..base.lazy import WITH_ROWS
from ..base.modes import modes, switched
from ..extending.joint import NOTHING, RESULT_OF, Parts
from ..forward.recording import apply
from ..nodes import versions
from ..nodes.grads import add_gradients, cast_gradient
from ..nodes.nodes import NodeRole, Variable, gradient_target, value_of
from ..nodes.records import Holder, Record
from ..rules import RULES
from ..rules.arithmetic import i0_derivative, may_have_nan
from ..rules.calculus import interpolate
from ..table.shapes import DOUBLE, Array, Values, innermost, is_given, is_numpys, is_on_host
from ..table.table import Rule
from ..table.vjps import vjp_by_position
from .evaluation import Trace, stop_set

# ---------------------------------------------------------------- the transposed trick


def transposed_graph(trace: Trace, z: Array, tangents: Moved, nested: bool) -> Array | None:
    """J t for one result ``z`` of a trace, ``tangents`` one per leaf; None where it is zero."""
    stop = trace.stop(z)
    if stop is None:
        return None
    u, on_nodes = Variable(np.ones_like(value_of(z))), opening.on_nodes(-1, hooks=False)  # hooks need not be linear

    def open_record(pair: Any) -> Any:
        opened = on_nodes(pair)
        return opened if pair[0].rule.joint is None else (*opened[:2], checked_linear(pair[0], opened[2]), None)

    with switched(recording=True, autocast=None), np.errstate(all="ignore"):
        pairs = engine.pull_back(gradient_target(z), u, opening.wrap_by_modes(open_record), stop=stop)
        gradients = {id(record): g for record, g in pairs}
        back = [gradients.get(id(record)) for record in trace.records]
        sent = [g if g is None else cast_gradient(g, x.dtype) for g, x in zip(back, trace.leaves, strict=True)]
    total = None
    for w, t in zip(sent, tangents, strict=True):
        total = add(total, None if t is None or w is None else pulled_to(u, w, t, nested))
    return total if total is None else cast_gradient(total, z.dtype)  # halves were added in single precision


def transposed_record(
    record: Record, moved: Moved, saved: Values, nested: bool, layer: Any, parts: dict[int, Array] | None = None
) -> list[Array | None]:
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
            vjps: Any = record.rule.complex_vjps() if record.dtype.kind == "c" else record.rule.vjps
            sent = [t if t is None else vjp(g, saved) for t, vjp in zip(moved, vjps, strict=True)]
        checked_linear(record, sent)
    answers: list[Array | None] = [None] * len(leaves)
    for t, w, parent in zip(moved, sent, record.parents, strict=True):
        if t is None or gradient_target(w) is None:
            continue
        with switched(recording=True):
            w = cast_gradient(w, parent.dtype)
        answers = [add(total, pulled_to(u, w, t, nested)) for total, u in zip(answers, leaves, strict=True)]
    return answers


def add(a: Array | None, b: Array | None) -> Array | None:
    """The sum of two tangents, where None is zero."""
    return b if a is None else a if b is None else add_gradients(a, b)


def ones(like: Array, z: Array) -> Array:
    """An array of the shape and dtype of ``z`` where ``like`` is; without its hidden batch, if it has one."""
    if layer_of(like) is not None or isinstance(like, np.generic):
        return np.ones(z.shape, z.dtype)
    return np.ones_like(like, z.dtype, shape=z.shape)


def checked_linear(record: Record, sent: list[Array | None]) -> list[Array | None]:
    """What a joint rule sends, checked: it must be a recorded function of ``g``."""
    for parent, g in zip(record.parents, sent, strict=True):
        lost = gradient_target(g) is None and is_on_host(g) and np.any(value_of(g))  # linear and constant: zero
        if parent is not None and lost:
            raise LostGradientError(
                f"the rule of {record.node_name} computes on plain arrays, so it has no forward mode: write it with "
                f"NumPy functions of g, or use the reverse mode (af.jacobian(f, mode='reverse'), af.vjp)"
            )
    return sent


def pulled_to(u: Array, root: Array, seed: Array, nested: bool) -> Array:
    """dL/du, given dL/d(root); None if ``root`` does not depend on the leaf ``u``."""
    source = gradient_target(root)
    stop = None if source is None else stop_set(source, {u}, u.number)[0]
    if stop is None:
        return None
    pairs = passes.run_pass(root, seed, create_graph=nested, stop=stop)
    return next((cast_gradient(g, u.dtype) for holder, g in pairs if holder is u), None)


# ---------------------------------------------------------------- rows, read forward


Moved = Sequence[Array | None]  # tangents; None where one is zero
Push = Callable[[Array, Values], Array]  # (t, saved) -> what the operand that moves by t adds to the tangent of z
DIAGONAL = frozenset([
    RULES[f] for f in (np.round, np.fix, np.unwrap, np.nan_to_num, np.sinc, np.i0, i0_derivative)
])  # elementwise as well, though no ufuncs  # fmt: skip
AFFINE = RULES[interpolate]  # its derivative for fp depends on whether left= was given, which is added
CONJUGATE = RULES[np.conjugate]  # elementwise and linear, but not analytic
OFFSETS = ("initial", "constant_values")  # options that are added to what is linear


class Pushes:
    """How a row goes forward.

    is_simple : has each operand a push, with complex numbers as well?
    each : per operand (t, saved) -> its part of the tangent; None where the row's pass must be transposed.
    together : for a function that is linear in all operands at once: (tangents, saved) -> the tangent; else None.
    """

    __slots__ = ("each", "is_simple", "together", "vjps")

    def __init__(self, rule: Rule) -> None:
        self.vjps = rule.vjps
        n = rule.operands
        self.together: Callable[[Moved, Values], Array] | None = None
        if not is_package_row(rule):
            self.each: list[Push | None] = list(rule.pushes or [None] * n)
        elif rule.elementwise or rule in DIAGONAL:
            self.each = [diagonal_push(rule, k) for k in range(n)]
        elif n > 1 and all([is_linear(rule, k) and not reads_operands(rule, k) for k in range(n)]):
            self.each = [None] * n
            self.together = linear_together(rule)
        else:
            self.each = [linear_push(rule, k) or reduction_push(rule) for k in range(n)]
        flowing = [push for push, read in zip(self.each, rule.needs, strict=True) if read is not None]
        self.is_simple = rule.holomorphic and None not in flowing


PUSHES: dict[Rule, Pushes] = {}
_COMPLEX: dict[Rule, Pushes] = {}


def pushes_of(rule: Rule, is_complex: bool = False) -> Pushes:
    """How the row goes forward, read once; a user may have given it other derivatives since.

    ``is_complex``: with complex numbers. A row that is not analytic (abs, angle) has no diagonal J then.
    """
    pushes = _COMPLEX if is_complex and not rule.holomorphic else PUSHES
    row_pushes = pushes.get(rule)
    if row_pushes is None or row_pushes.vjps is not rule.vjps:
        row_pushes = pushes[rule] = Pushes(rule)
        if pushes is _COMPLEX and (rule.elementwise or rule in DIAGONAL):
            row_pushes.each = [linear_push(rule, 0) if rule is CONJUGATE else None] * rule.operands
    return row_pushes


def is_package_row(rule: Rule) -> bool:
    """Is the row one of the package, with a derivative for each operand? A user's may say anything: that the derivative
    of a rounding is 1."""
    return bool(rule.derivatives) and all([f.__module__.startswith(WITH_ROWS) for f in rule.derivatives.values()])


def diagonal_push(rule: Rule, k: int) -> Push | None:
    """The row's derivative with t instead of g. Broadcasting is not undone: it is what happens."""
    derivative, read = rule.derivatives.get(rule.names[k]), rule.needs[k]
    return None if derivative is None or read is None else vjp_by_position(derivative, read)


def is_linear(rule: Rule, k: int) -> bool:
    """Is z an affine function of operand k? Its derivative reads neither it nor z, nor anything kept of them."""
    read = rule.needs[k]
    if read is None or rule in DIAGONAL or rule is AFFINE:
        return False
    last = len(rule.names)
    numbers = {place % (last + 1) for place, what in read if not what}
    return rule.residual is None and not numbers & {k, last}


def reads_operands(rule: Rule, k: int) -> set[int]:
    """The operands whose numbers the derivative with respect to operand k reads."""
    return {place for place, what in rule.needs[k] or () if not what and 0 <= place < rule.operands}


def linear_push(rule: Rule, k: int) -> Push | None:
    """The function itself, applied to t, with the operands that the derivative reads, and zeros for others."""
    if not is_linear(rule, k):
        return None
    n, read, options, move = rule.operands, reads_operands(rule, k) - {k}, options_of(rule), linear_together(rule)
    if n == 1:
        compute = rule.compute
        return lambda t, saved: (
            compute(t, *options(saved)) if type(t) is np.ndarray else run(rule, [t, *options(saved)])
        )
    if n == 2 and read == {1 - k} and len(rule.names) == 2:
        return factor_push(rule, k)

    return lambda t, saved: move([t if j == k else saved[j] if j in read else None for j in range(n)], saved)


def factor_push(rule: Rule, k: int) -> Push:
    """The same for a product of two operands without options: the quickest way to matmul."""
    compute, other = rule.compute, 1 - k

    def push(t: Array, saved: Values) -> Array:
        y = saved[other]
        if type(t) is np.ndarray is type(y):
            return compute(y, t) if k else compute(t, y)
        return run(rule, [y, t] if k else [t, y])

    return push


def linear_together(rule: Rule) -> Callable[[Moved, Values], Array]:
    """The same where all operands are linear at once: n arrays are joined in one call."""
    options = options_of(rule)

    def push(tangents: Moved, saved: Values) -> Array:
        moved = [no_change(x) if t is None else t for t, x in zip(tangents, saved, strict=False)]
        return run(rule, [*moved, *options(saved)])

    return push


def options_of(rule: Rule) -> Callable[[Values], Any]:
    """The options of a call, from ``saved``; what would be added to z is zero."""
    n = rule.operands
    places = [k for k, name in enumerate(rule.names) if k >= n and name in OFFSETS]
    if not places:
        return lambda saved: saved[n:-1]
    return lambda saved: [0 if k in places and is_given(v) else v for k, v in enumerate(saved[:-1])][n:]


def no_change(x: Array) -> Array:
    """The tangent of an operand that does not move; None stays None."""
    if x is None:
        return None
    return np.zeros(x.shape, x.dtype) if hasattr(x, "dtype") else 0.0


def run(rule: Rule, values: list[Any]) -> Any:
    """The row's function; recorded if tangents are nodes."""
    n = rule.operands
    operands = [np.asarray(v) if isinstance(v, np.generic) else v for v in values[:n]]
    if all([type(v) is np.ndarray for v in operands]):
        return rule.compute(*operands, *values[n:])
    z = apply(rule, (*operands, *values[n:]))
    return z if any([isinstance(v, NodeRole) for v in operands]) else value_of(z)


def reduction_push(rule: Rule) -> Push | None:
    """Σ (Jᵀ 1) t along the axes that the function reduces; None if it is not a reduction."""
    if rule.operands > 1 or not {"axis", "keepdims"} <= set(rule.names) or rule.needs[0] is None:
        return None
    axis_place, keepdims_place = rule.names.index("axis"), rule.names.index("keepdims")

    def push(t: Array, saved: Values) -> Array:
        z, axis, keepdims = saved[-1], saved[axis_place], saved[keepdims_place]
        seed = np.ones(z.shape, z.dtype) if type(t) is np.ndarray else np.ones_like(t, z.dtype, shape=z.shape)
        vjp: Any = (rule.complex_vjps() if z.dtype.kind == "c" else rule.vjps)[0]
        slope = np.conjugate(vjp(seed, saved))

        def total(t: Array) -> Array:
            product = slope * t
            if t.dtype.kind == "c" and (z.dtype.kind != "c" or not rule.holomorphic):  # np.var(z, dtype=complex)
                product = np.real(product)
            wide = np.float32 if product.dtype == np.float16 else None  # half precision is added up in single precision
            axes = axis if np.ndim(axis) == 0 else tuple(axis)
            return product.sum(axes, wide, keepdims=bool(is_given(keepdims) and keepdims))

        tangent = total(t)
        if is_on_host(tangent) and np.isfinite(value_of(tangent)).all():
            return tangent
        is_left_out = vjp(seed * np.inf, saved) == 0  # by np.nansum a NaN, whose tangent is NaN; by np.prod nothing
        return total(np.where(is_left_out & ~np.isfinite(t), 0, t))

    return push


# ---------------------------------------------------------------- the forward pass, record by record


LARGE = 16_384  # elements: as in backprop/opening.py
ByRecord = dict[Holder, Any]  # the tangent of each that moves; of several results a dict of theirs
Still = dict[Record, Array]  # a mask per record


def number_leaves(tree: object) -> list[Any]:
    """The leaves that are numbers."""
    return [z for z in pytree.tree_leaves(tree) if pytree.is_number(z)]


class ForwardPass:
    """The records between the leaves of a trace and some results, ready for tangents.

    order : the records, each after its operands.
    layer : the af.vmap in which they were made; None without one.
    roots : the results; those of the trace that are numbers, if they are not given.
    older : where the search for the leaves ended elsewhere.
    ends : after which record a tangent is needed no more; None for those of the results.
    still : per choice of leaves that move, where some values stand still whatever these do, as a maximum does that
        another operand is. It is looked at once a tangent is NaN.
    """

    def __init__(self, trace: Trace, roots: list[Any] | None = None) -> None:
        self.trace, self.layer = trace, modes().layer
        self.roots = number_leaves(trace.z) if roots is None else roots
        self.targets = [gradient_target(z) for z in self.roots]
        self.order, self.older = records_between(self.targets, set(trace.records), trace.first)
        self.ends: dict[Holder, Record | None] = {parent: record for record in self.order for parent in record.parents}
        self.ends.update(dict.fromkeys(self.targets))
        self.still: dict[tuple[bool, ...], Still] = {}

    def __call__(self, tangents: Moved, nested: bool | None = None) -> list[Array | None]:
        """The tangents of the results, given one for each leaf of the trace; None is a tangent that is zero."""
        nested = self.trace.nested if nested is None else nested
        if modes().anomaly or modes().safe_masking:  # they watch passes back
            return [transposed_graph(self.trace, z, tangents, nested) for z in self.roots]

        def pushed(tangents: Moved, nested: bool, still: Still | None, is_marking: bool = False) -> list[Array | None]:
            moving = {record: t for record, t in zip(self.trace.records, tangents, strict=True) if t is not None}
            if nested or is_marking or modes().autocast is not None:
                run = switched(recording=nested, autocast=None)
                return run.call(quietly, self.run, moving, nested, still, is_marking)
            return quietly(self.run, moving, nested, still)

        moved = tuple([t is not None for t in tangents])
        out_tangents = pushed(tangents, nested, self.still.get(moved))
        # A GPU would have to be asked.
        if moved not in self.still and any([t is not None and is_numpys(t) and may_have_nan(t) for t in out_tangents]):
            still = self.still[moved] = {}
            pairs = zip(tangents, self.trace.leaves, strict=True)
            whole = [t if t is None else np.full_like(value_of(x), infinity(x.dtype)) for t, x in pairs]
            pushed(whole, False, still, is_marking=True)
            out_tangents = pushed(tangents, nested, still) if still else out_tangents
        return out_tangents

    def run(self, tangents: ByRecord, nested: bool, still: Still | None, is_marking: bool = False) -> list[Any]:
        """The pass itself. ``still``: what follows has no part in where these records stand still. ``is_marking``: they
        are noted. Given infinite tangents, what gives exactly 0 is still."""
        latest, wrap, ends, find = versions.latest[0], modes().wrap_open_record, self.ends, tangents.get
        is_usual = not wrap and not still and not is_marking
        again: dict[Record, Array] = {}  # values that were not kept, computed once more in this pass
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
            if dtype is DOUBLE and pushes is not None and pushes.is_simple and pushes.vjps is rule.vjps and is_usual:
                each: Sequence[Any] = pushes.each  # what push_any does, for most records
                is_small, total = result.size < LARGE, None
                for k, t in enumerate(moved):
                    if t is not None:
                        sent = each[k](t, saved)
                        total = sent if total is None else total + sent if is_small else add_large(total, sent, moved)
            elif is_marking and rule.pushes:  # a user's, which need not know infinity
                total = np.full(result.shape, infinity(dtype), dtype)
            else:
                total = push_any(self, record, moved, saved, nested, wrap, still)
            for parent in parents:
                if parent is not None and ends[parent] is record:
                    tangents.pop(parent, None)
            if total is not None:
                if type(total) is not dict and (total.dtype is not dtype or total.shape != result.shape):
                    total = fit(total, dtype, result.shape)
                if is_marking and type(total) is not dict:
                    mask = total == 0
                    if innermost(mask).any():
                        still[record] = mask  # type: ignore[index]
                    total = np.where(mask, total, infinity(dtype))
                tangents[record] = total
        return [find(target) for target in self.targets]


def infinity(dtype: np.dtype) -> complex:
    """∞; of complex numbers in both parts."""
    return complex(np.inf, np.inf) if dtype.kind == "c" else np.inf


def add_large(a: Array, b: Array, moved: list[Array | None]) -> Array:
    """a + b, in the memory of one of them if a push has just made it, as no view and no operand's tangent."""
    if type(a) is np.ndarray is type(b) and a.shape == b.shape and a.dtype is b.dtype:
        for out in (a, b):
            if out.base is None and out.flags.carray and not any([out is t for t in moved]):
                return np.add(a, b, out=out)
    return a + b


def fit(t: Array, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """A tangent in the dtype and shape of its value: a smaller operand was broadcast."""
    if t.dtype is not dtype:
        t = cast_gradient(t, dtype)
    return t if t.shape == shape else np.broadcast_to(t, shape)


def records_between(roots: Sequence[Holder], leaves: set[Holder], first: int) -> tuple[list[Record], set[Holder]]:
    """The records that ``roots`` were computed from since ``first``, without the leaves, in the order of creation; and
    the older ones, and other leaves, where the search ends."""
    queue = list(dict.fromkeys([r for r in roots if r is not None and r not in leaves and r.parents]))
    seen, older = {*leaves, *queue}, set()
    for record in queue:
        for parent in record.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                if parent.number >= first and parent.parents:
                    queue.append(parent)
                else:
                    older.add(parent)
    queue.sort(key=operator.attrgetter("number"))  # operands are older than results
    return queue, older


def push_any(
    run: ForwardPass, record: Record, moved: list[Any], saved: Values, nested: bool, wrap: Any, still: Still | None
) -> Any:
    """The tangent of one record's value, given those of its operands (None: it does not move), for every row, dtype and
    mode; None if the value does not move. A record with several results gives a dict of tangents, by place."""
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
    each: Sequence[Push | None] = pushes.each
    if wrap is not None:
        _, each, saved, _ = wrap(lambda pair: (None, each, saved, None))((record, None))
    total = None
    for k, t in enumerate(moved):
        if t is not None and (push := each[k]) is not None:
            sent = push(t, saved)
            if still and (rule.elementwise or rule in DIAGONAL) and (mask := still.get(record.parents[k])) is not None:
                sent = np.where(mask, 0, sent)
            total = add(total, sent)
    rest = [t if push is None else None for t, push in zip(moved, each, strict=True)]
    if any([t is not None for t in rest]):
        total = add(total, transposed_record(record, rest, saved, nested, run.layer)[0])
    return total
