"""Examining one graph: a backward pass is run and watched, and its values and gradients are checked.

Each examination is a generator of findings. If several records have the same trouble, the first is named: the others
follow from it.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..backprop.anomaly import column_met_row, first_bad, shapes
from ..backprop.passes import run_pass
from ..base.errors import StaleValueError
from ..base.groups import grouped
from ..base.modes import switched
from ..nodes.cuts import cuts_among, explain, taken_by
from ..nodes.nodes import Array, NodeRole, VariableRole, gradient_target, value_of
from ..nodes.records import Record, ancestors
from ..nodes.versions import FreedArray, writer_since
from ..program.source import READERS, code_of, expression_of, is_path, numbers_read, paths_in, taken_out, written
from ..rules.arithmetic import zero
from .findings import Diagnosis, Finding, diagnosis
from .passes import Chart, GradientFlow, is_mask, place_of, watching

LOGARITHM = "Keep its argument above 0: np.log(np.maximum(x, 1e-12)); or take af.special.logsumexp, af.nn.log_softmax"
INSIDE, DENOMINATOR = "Keep its argument inside of -1 and 1", "Keep the denominator away from 0"
ADVICE = {  # by rule: what to do where its value or its slope is infinite or no number
    **dict.fromkeys(("log", "log2", "log10"), LOGARITHM), **dict.fromkeys(("arccos", "arcsin", "arctanh"), INSIDE),
    **dict.fromkeys(("divide", "reciprocal"), DENOMINATOR), "log1p": "Keep its argument above -1",
    "sqrt": "Keep its argument above 0: np.sqrt(x + 1e-12)", "power": "Keep the base above 0, or use np.square",
    "exp": "Subtract the largest entry first: af.special.logsumexp, af.special.softmax",
    "norm": "Add a small number under the root: np.sqrt(np.sum(x * x) + 1e-12)",
}  # fmt: skip
OTHER_WEIGHTS = "Start with other weights, or use a function with a slope everywhere (af.nn.leaky_relu)"
GATES = {  # what passes some entries only, and what to do where it passes none
    "minimum": "", "fmax": "", "fmin": "", "absolute": "", "maximum": OTHER_WEIGHTS, "relu": OTHER_WEIGHTS,
    "where": "Look at its condition", "clip": "Make its limits wider",
}  # fmt: skip
BOUNDS = {  # of functions that are flat near them
    "tanh": (-1, 1), "erf": (-1, 1), "arctan": (-np.pi / 2, np.pi / 2), "sigmoid": (0, 1), "expit": (0, 1),
}  # fmt: skip
PROBABILITIES = SOFTMAX, *SIGMOIDS = "softmax", "sigmoid", "expit"
TAKEN_BY = {  # by the losses of scores, and by these functions themselves
    **dict.fromkeys(("log_softmax", "logsumexp", "logaddexp_reduce", SOFTMAX), (SOFTMAX,)),
    **dict.fromkeys(("logaddexp", *SIGMOIDS), SIGMOIDS),
}  # fmt: skip
CHOICES = "getitem", "take_along_axis"  # of the probabilities of targets
LOGARITHMS = ("nll_loss", "kl_div")  # losses of logarithms of probabilities
LEFT = "its numbers have left the graph. Use NumPy's functions on the nodes, not on x.value, float(x) or x.item()"
ELSEWHERE = "what was computed with {it} does not lead there"
NO_NODE = "no operation on a node was recorded. Make an af.Variable of what you want the gradient of"
SMALLER = "Make its argument smaller: scale the weights or the inputs"
LEAST_EXAMPLES = 8  # a unit that passes nothing for at least this many examples is dead
LEAST_STEPS = 5  # of a loop, or layers
RANGE = 1e6  # a factor between the first and the last gradient of a chain that is too large


def diagnose_node(node: Any, *wanted: object) -> Diagnosis:
    """What is wrong with the gradients of ``node``: ``loss.diagnose()``.

    wanted : Variables that should get a gradient; those that get none are explained.

    A backward pass is made and looked at; no ``grad`` changes. Returns a :class:`Diagnosis`, which is false if nothing
    was found. It costs a few times as much as ``backward()``.

    >>> import autoflow as af
    >>> x = af.Variable([-1.0, 2.0], name="x")
    >>> af.diagnose(np.sum(np.sqrt(np.maximum(x, 0.0)))).kinds
    ('infinite slope',)
    """
    if not isinstance(node, NodeRole) or gradient_target(node) is None:
        return diagnosis([no_history(node)], "")
    chart, value, stopped = Chart(gradient_target(node)), value_of(node), []
    try:
        outer = iter([chart])  # passes inside of this one, as of a checkpoint, are a part of it
        with switched(anomaly=False), watching(lambda: next(outer, None) or Chart()):  # what that mode raises is said
            run_pass(node, np.ones_like(value) if value.dtype.kind == "c" else None)
    except StaleValueError as error:
        stopped = [Finding("overwritten", str(error))]
    return diagnosis([*stopped, *examine(chart), *unreached(chart, wanted)], chart.summary())


def examine(chart: Chart, examinations: Sequence[Any] = ()) -> list[Finding]:
    """The findings of these examinations in one graph; without them of all."""
    return [x for examination in examinations or EXAMINATIONS for x in examination(chart)]


def no_history(node: object, last: Record | None = None, codes: Sequence[CodeType | FrameType] = ()) -> Finding:
    """Why nothing flows to a result. ``last``: the operation that was recorded last, in a run of functions, or of
    frames that an error has stopped."""
    if isinstance(node, NodeRole):
        name = getattr(node, "_name", None) or "the result"
        return Finding("no history", f"no gradient flows to {name}: {explain(node) or 'it is a Constant'}")
    what = f"the result is not a node but {type(node).__name__}" if node is not None else "backward() starts at a leaf"
    expr = expression_of(last)
    frames = {getattr(x, "f_code", x): x for x in codes}
    first = code_of(last) if expr and last is not None else None
    cause = taken_by(*{first: frames.get(first, first), **frames}.values())
    text = f"{what}: {cause or (NO_NODE if last is None and codes else LEFT)}"
    return Finding("no history", text, "", expr.place if expr and not cause else None)


def unreached(chart: Chart, wanted: Sequence[Any], used: Container[int] = (), *codes: CodeType) -> Iterator[Finding]:
    """Variables that should get a gradient and are not in the graph, by the reason. ``used``: the ids of those that
    some operation has used, in the run of functions with these codes."""
    reached, reasons = {id(x) for x in chart.nodes}, dict[str, list[Any]]()
    for x in [x for x in wanted if id(gradient_target(x)) not in reached]:
        unused = (taken_by(*codes) or ELSEWHERE) if id(x) in used else "nothing was computed with {it}"
        reasons.setdefault(cuts_among(chart.records) or explain(x) or unused, []).append(x)
    for why, xs in reasons.items():
        verb, it = ("has", "it") if len(xs) == 1 else ("have", "them")
        text = f"{', '.join(map(chart.name, xs))} {verb} no part in {chart.name(chart.start)}: {why}"
        yield Finding("unreached", text.replace("{it}", it), "", place_of(xs[0]))


# ---------------------------------------------------------------- values


def examine_values(chart: Chart) -> Iterator[Finding]:
    """The first operation whose value is NaN or infinite; if there is none, the first such derivative."""
    slope: Any = next((flow for flow in chart.flows if flow.came.bad is None and flow.bad is not None), None)
    bad = [r for r in chart.records if r.value is not None and first_bad(r.value)]
    if chart.start not in bad:  # what np.where did not choose does no harm
        below = set(map(id, ancestors(slope.record))) if slope is not None and not slope.bad[2] else ()
        bad = [r for r in bad if id(r) in below and r is not slope.record]
    if bad:
        yield bad_value(chart, bad[0])
    elif slope is not None:
        yield bad_slope(chart, slope)


def bad_value(chart: Chart, r: Record) -> Finding:
    """An operation whose value is NaN or infinite, although its operands are usually finite."""
    value = np.asarray(r.value)
    index = tuple(map(int, np.argwhere(~np.isfinite(value))[0]))
    operands = [entry(chart, r, k, index) for k in range(len(r.parents))]
    text = f"{r.rule.name} of {' and '.join([x for x in operands if x])} is {value[index]}"
    advice, number = ADVICE.get(r.rule.name, ""), value[index]
    base = value_of_saved(r, 0) if r.rule.name == "power" and np.isinf(number) else None
    if base is not None and np.all(base):
        advice = SMALLER
    overflow = bool(np.isinf(number)) and advice in ("", SMALLER)
    if r.dtype == np.float16:
        advice = f"{r.dtype} ends at {np.finfo(r.dtype).max:.3g}: compute in a wider dtype"
    for k in range(len(r.parents)):
        if (operand := value_of_saved(r, k)) is not None and (wrong := first_bad(operand)):
            text, advice, overflow = f"{chart.operand(r, k)} is already {wrong}, before {r.rule.name}", "", False
            number = np.ravel(operand)[~np.isfinite(np.ravel(operand))][0]
    kind = "nan value" if np.isnan(number) else "infinite value"
    return chart.finding(kind, r, text, advice, index=list(index), overflow=overflow)


def bad_slope(chart: Chart, flow: GradientFlow) -> Finding:
    """An operation that sends NaN or infinity although what arrived is finite."""
    r, (k, index, masked) = flow.record, flow.bad
    operand = entry(chart, r, k, index)
    if masked:
        text = f"{r.rule.name} sends NaN to {operand}: the gradient that arrived was 0, but the slope there is infinite"
        advice = "Compute under af.safe_masking(), or choose safe numbers first: np.where(ok, x, 1.0)"
        return chart.finding("masked nan", r, text, advice, index=list(index))
    text = f"the derivative of {r.rule.name} at {operand} is {str(flow.sent[k].bad).split(' at ')[0]}"
    return chart.finding("infinite slope", r, text, ADVICE.get(r.rule.name, ""), index=list(index))


def value_of_saved(record: Record, k: int) -> Array | None:
    """The value of an operand, if it is still in memory and unchanged."""
    value = v.reference() if isinstance(v := record.saved[k], FreedArray) else v
    is_here = isinstance(value, (np.ndarray, np.generic, int, float, complex))
    return value if is_here and not writer_since(value, record.number) else None


def indexed(name: str, index: str) -> str:
    """``x[0]``, ``(x - 1)[0]``."""
    return f"{name if is_path(ast.parse(name).body[0].value) else f'({name})'}[{index}]"  # type: ignore[attr-defined]


def entry(chart: Chart, record: Record, k: int, index: tuple[int, ...]) -> str:
    """``x[0] = -1``: the entry of an operand that belongs to an entry of the result."""
    value = value_of_saved(record, k)
    if value is None:
        return chart.operand(record, k)
    value, name = np.asarray(value), chart.operand(record, k, "")
    if value.ndim and not record.rule.elementwise:
        return chart.operand(record, k)
    n = value.ndim
    own = tuple([i if size > 1 else 0 for i, size in zip(index[len(index) - n :], value.shape, strict=True)])
    name = indexed(name, ", ".join(map(str, own))) if n and name else name
    return f"{name} = {value[own]:.6g}" if name else f"{value[own]:.6g}"


# ---------------------------------------------------------------- zeros


def examine_zeros(chart: Chart) -> Iterator[Finding]:
    """Operations that send nothing on and so give Variables a gradient of zero."""
    dry = {key for key, g in chart.sums.items() if not np.any(g)}
    fed = {id(x) for flow in chart.flows if flow.came.nonzero for k, x in enumerate(flow.record.parents)
           if x is not None and k in flow.sent and flow.sent[k].nonzero}  # fmt: skip
    closed: set[int] = set()  # records with nothing to send, the first ones of the program before the others
    for flow in reversed(chart.flows):
        for k, sent in flow.sent.items():
            parent = flow.record.parents[k]
            if flow.came.nonzero and not sent.nonzero and sent.entries and id(parent) not in fed:
                names = [chart.name(x) for x in ancestors(parent) if id(x) in dry]
                is_single = sent.entries < LEAST_EXAMPLES and len(dry) < len(chart.sums)  # one of many units
                others = [x for j, x in enumerate(flow.record.parents) if j != k and x is not None]
                follows = any([id(x) in closed for other in others for x in ancestors(other)])
                if names and not follows and not (is_single and (not others or flow.record.rule.name in GATES)):
                    closed.add(id(flow.record))
                    yield block(chart, flow, k, names)


def block(chart: Chart, flow: GradientFlow, k: int, names: list[str]) -> Finding:
    """A record that sends nothing to its k-th operand, so that these Variables get nothing."""
    r, n = flow.record, flow.sent[k].entries
    rule, operand, limits = r.rule, chart.operand(r, k), np.finfo(r.dtype)
    is_product, factor = k in flow.factors, flow.factors.get(k, np.sqrt(limits.tiny))
    for_whom = f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''} get{'s' * (len(names) == 1)}"
    if rule.derivatives.get(rule.names[k]) is zero or rule.name == "sign":
        kind, advice = "step", "Use a smooth function in its place"
        text = f"{rule.name} is constant between its steps, so no gradient comes to {operand}"
    elif rule.name in GATES:
        kind, text, advice = "dead", f"{rule.name} passes 0 of {n} entries of {operand}", GATES[rule.name]
    elif factor and flow.came.rms * factor < limits.tiny:
        kind, advice = "underflow", "Scale the loss: af.GradScaler"
        text = f"the gradient of {operand} is too small for {r.dtype}, and became 0"
    elif rule.name in BOUNDS or rule.name == "exp":
        kind, advice = "saturated", SMALLER
        text = f"{rule.name} is flat at {operand}, its derivative is 0"
    else:
        kind, is_zero = "zero factor", is_product and not factor
        is_weight = is_zero and isinstance(r.parents[1 - k], VariableRole)
        advice = "Weights that are all 0 do not learn: draw them at random" if is_weight else ""
        factor = chart.operand(r, 1 - k, "a factor") if is_product else f"the slope of {rule.name}"
        where = "everywhere" if is_zero else "where a gradient arrives" if is_product else "here"
        text = f"{factor} is 0 {where}, so nothing comes to {operand}"
    return chart.finding(kind, r, f"{text}: {for_whom} no gradient", advice, variables=names)


def examine_units(chart: Chart) -> Iterator[Finding]:
    """Units that pass nothing for any example, and functions that are flat for nearly all of them."""
    for flow in chart.flows:
        r = flow.record
        many = len(r.shape) > 1 and math.prod(r.shape[:-1]) >= LEAST_EXAMPLES
        is_gate = r.rule.name in GATES and (r.rule.name != "where" or chooses_by_size(r))
        if is_gate and many and flow.dead and 2 * flow.dead[0] >= flow.dead[1] > 1:
            if any([s.nonzero for s in flow.sent.values()]):
                text = f"{flow.dead[0]} of {flow.dead[1]} units of {chart.name(r)} pass nothing for any example"
                advice = "Lower the learning rate, or start with smaller biases"
                if r.value is not None and np.ptp(r.value.reshape(-1, r.shape[-1]), axis=0).max() == 0:
                    text, advice = f"{text}, and all examples are the same", "Look at how the batch is made"
                yield chart.finding("dead units", r, text, advice)
        elif (name := squashing(r)) in BOUNDS and math.prod(r.shape) >= LEAST_EXAMPLES and (y := r.value) is not None:
            low, high = BOUNDS[name]
            flat = np.mean(np.minimum(y - low, high - y) < (high - low) / 1000) if y.dtype.kind == "f" else 0.0
            if flat > 0.9:
                text = f"{name} is saturated in {flat:.0%} of its entries: its derivative is nearly 0 there"
                yield chart.finding("saturated", r, text, SMALLER)


def chooses_by_size(r: Record) -> bool:
    """Does np.where choose by the size of an operand, as in ``np.where(x > 0, x, 0)``? Others are masks, as for
    padding: units that they leave out are not dead."""
    condition = np.broadcast_to(r.saved[0], r.shape)
    branches = [x for k in (1, 2) if r.parents[k] is not None and (x := value_of_saved(r, k)) is not None]
    parts = [(x[condition], x[~condition]) for x in [np.broadcast_to(x, r.shape) for x in branches]]
    return any([not a.size or not b.size or a.min() >= b.max() or a.max() <= b.min() for a, b in parts])


def layers(chart: Chart) -> Iterator[tuple[Record, int, Any, int]]:
    """Products with a matrix of weights: the record, the place of that matrix in it, the Variable, and the axis of its
    units."""
    for r in [r for r in chart.records if r.rule.name in ("matmul", "dot")]:
        for k, x in enumerate(r.parents[:2]):
            is_turned = isinstance(x, Record) and x.rule.name == "transpose"
            x, units = (x.parents[0], k - 1) if is_turned else (x, -k)  # the first axis in W @ x, the last in x @ W
            if isinstance(x, VariableRole) and len(x.shape) == 2:  # type: ignore[attr-defined]
                yield r, k, x, units


def examine_likeness(chart: Chart) -> Iterator[Finding]:
    """Layers whose units have the same weights and the same gradients, and so stay the same."""
    last = [r for r in chart.records if r.rule.name in ("matmul", "dot")][-1:]
    for r, _, x, units in [layer for layer in layers(chart) if layer[0] not in last and layer[2].shape[layer[3]] > 1]:
        g = chart.sums.get(id(x), np.zeros(1))
        rows = [np.moveaxis(a, units, 0) for a in (value_of(x), g) if g.any()]
        if rows and all([np.array_equal(a, np.broadcast_to(a[:1], a.shape)) for a in rows]):
            text = f"all {len(rows[0])} units of {chart.name(x)} have the same weights and the same gradients"
            yield chart.finding("alike", r, text, "They stay alike: draw weights at random")


def examine_layers(chart: Chart) -> Iterator[Finding]:
    """Two linear layers with only a bias between them, and no bottleneck: they are one."""
    uses = Counter([id(p) for r in chart.records for p in r.parents])
    weights = {id(r): (x, units) for r, _, x, units in layers(chart)}
    for r, k, x, units in layers(chart):
        if (biased := through(r.parents[1 - k])) is None or biased.rule.name != "add":
            continue
        below = next((p for p in biased.parents if id(p) in weights), None)
        if below is not None and uses[id(biased)] == uses[id(below)] == 1:
            first, own = weights[id(below)]
            width, inputs = first.shape[own], first.shape[-1 - own]
            is_apart = any([id(x) in p.sums and id(first) not in p.sums for p in chart.others])  # another network's
            is_narrow = width < min(inputs, x.shape[units])
            if not is_narrow and not is_apart and any([isinstance(p, VariableRole) for p in biased.parents]):
                names = f"{chart.name(first)} and {chart.name(x)}"
                text = f"nothing but a bias is between {names}: two linear layers are one"
                yield chart.finding("linear", r, text, "Put a function between them: np.tanh, af.nn.relu")


def squashing(x: Record) -> str:
    """The function that has made a record; softmax and sigmoid also where they are written out."""
    if x.rule.name == "divide" and isinstance(below := x.parents[1], Record) and below.rule.name in ("sum", "add"):
        parts = [p for p in (*x.parents[:1], *below.parents) if p is not None]
        # K / (1 + exp(-x)), the growth of populations, is not a sigmoid.
        is_scaled = x.parents[0] is None and (below.rule.name == "sum" or np.any(value_of_saved(x, 0) != 1))
        if not is_scaled and all([isinstance(p, Record) and p.rule.name == "exp" for p in parts]):
            return "softmax" if below.rule.name == "sum" else "sigmoid"
    return str(x.rule.name)


def taken_scores(r: Record) -> Record | None:
    """The record whose result a loss, a softmax or a sigmoid takes as scores."""
    if squashing(r) == r.rule.name:
        return through(next(iter([p for p in r.parents if isinstance(p, Record)]), None), "negative")
    exp = next(iter([p for p in (r.parents[0], *r.parents[1].parents) if p is not None]))  # where it is written out
    return through(exp.parents[0], "negative", "subtract")


def axis_of(x: Record) -> Any:
    """The axis along which a softmax adds up to 1; if it is written out, that of the sum."""
    return (x.parents[1] if x.rule.name == "divide" else x).saved[1]


def through(x: object, *names: str) -> Record | None:
    """The first record below records of these rules, along their first operands that are nodes; None without one."""
    while isinstance(x, Record) and x.rule.name in names:
        x = x.parents[x.parents[0] is None]
    return x if isinstance(x, Record) else None


def examine_scores(chart: Chart) -> Iterator[Finding]:
    """Losses that take a softmax or sigmoid themselves, and are given the result of one; one along the wrong axis."""
    pairs = {r: x for r in chart.records
             if (x := taken_scores(r)) is not None and squashing(x) in TAKEN_BY.get(squashing(r), ())}  # fmt: skip
    for r, x in pairs.items():
        name, is_loss = squashing(x), squashing(r) not in PROBABILITIES
        # Three in a row, one along another axis, and that of a number are meant.
        is_meant = math.prod(r.shape) < LEAST_EXAMPLES or x in pairs or r in pairs.values()
        is_meant |= name == SOFTMAX and axis_of(x) != axis_of(r)
        if is_loss or not is_meant:
            who, what = ("the loss", "takes one itself") if is_loss else ("another", "follows")
            text = f"{chart.name(x)} has passed a {name}, and {who} {what}"
            yield chart.finding("twice", x, text, f"Give {who} the scores, without it")
    for r in chart.records:
        x = through(r, "getitem", "log", "multiply")
        if x not in (None, r) and "softmax" in squashing(x) and len(x.shape) > 1:
            index, axis = r.saved[r.parents[0] is not None], axis_of(x)  # of np.log it is none
            index = np.nonzero(index) if is_mask(r, index) and index.shape == x.shape else index
            is_each = isinstance(axis, int) and type(index) is tuple and len(index) == len(x.shape)
            label = index[axis] if is_each else None
            is_pairs = label is not None and all([np.array_equal(i, label) for i in index])  # each with its own
            if isinstance(label, np.ndarray) and not is_pairs and np.array_equal(label.ravel(), range(x.shape[axis])):
                text = f"{squashing(x)} makes {chart.name(x)} add up to 1 along axis {axis}, that of the examples"
                yield chart.finding("range", x, text, "Take the axis of the classes, axis=1")


def lowered_targets(chart: Chart) -> Iterator[Finding]:
    """The logarithms of probabilities of targets or data, added up without a minus, for steps that go down their
    gradient. With weights, such as costs, it may be meant, and so if the probabilities of others have a minus."""
    pairs = [(flow.came.sign, is_bare) for flow, is_bare in chart.terms() if is_likelihood(chart, flow.record)]
    if any([is_bare for _, is_bare in pairs]) and all([sign > 0 for sign, _ in pairs]):
        text = "steps lower the probabilities of the targets, whose logarithms have no minus"
        yield chart.finding("uphill", chart.start, text, "Go down the negative")


def is_likelihood(chart: Chart, r: Record) -> bool:
    """The logarithm of probabilities of targets, which an index or a mask chooses, or ``norm.logpdf(y, mean)`` of plain
    data y?"""
    expr = chart.program.expression(r)
    if expr is not None and expr.is_call and expr.called in ("logpdf", "logpmf") and chart.program.text(r):
        inside = [x for x in chart.records if x.place is r.place and x.last == r.last]
        sources = {id(p): p for x in inside for p in x.parents if p is not None}
        names = {chart.name(p).rstrip("₀₁₂₃₄₅₆₇₈₉") for key, p in sources.items() if key not in map(id, inside)}
        return bool(expr.node.args) and names.isdisjoint(map(written, paths_in(expr.node.args[0])))
    x: Record | None = r
    way = list[str]()
    while x is not None and (x.rule.name in ("log", *CHOICES) or any([is_mask(x, v) for v in x.saved])):
        way.append("log" if x.rule.name == "log" else "choice")
        x = through(x.parents[x.parents[0] is None], "add", "clip", "maximum")  # np.log(p + 1e-12)
    name = squashing(x) if x is not None else ""
    below = through(x.parents[1], "log") if x is not None and name == "subtract" else None
    if below is not None and below.rule.name in ("sum", "logsumexp"):
        name = "log_softmax"
    return sorted(way) == ["choice", "log"][: 1 + (name != "log_softmax")] and name in ("log_softmax", *PROBABILITIES)


def examine_losses(chart: Chart) -> Iterator[Finding]:
    """The arguments of losses: probabilities where they take logarithms, predictions in place of targets."""
    pairs = [(chart.program.expression(r), r) for r in chart.records]
    for expr, group in grouped([(expr, r) for expr, r in pairs if expr is not None and expr.is_call]).items():
        who = expr.function.rpartition(".")[2]
        inside = set(map(id, group))
        sources = {id(p): p for r in group for p in r.parents if p is not None and id(p) not in inside}
        if who == "binary_cross_entropy" and all([r.rule.name != "bounded_log" for r in group]):
            text = f"{who} takes predictions first and targets second, and gradients flow to its second argument only"
            yield chart.finding("range", group[0], text, f"Swap them: {who}(predictions, targets)")
        for x in sources.values() if who in LOGARITHMS and len(sources) == 1 else ():
            if isinstance(x, Record) and x.value is not None and np.any(np.asarray(x.value) > 0):
                text = f"{who} takes logarithms of probabilities, which are at most 0, and {chart.name(x)} is not"
                yield chart.finding("range", x, text, "Give it nn.log_softmax(scores)")


def examine_targets(chart: Chart) -> Iterator[Finding]:
    """Targets that the function before the loss cannot reach."""
    for r in [r for r in chart.records if r.rule.name == "subtract"]:
        for k, x in enumerate(r.parents):
            name = squashing(x) if isinstance(x, Record) and r.parents[1 - k] is None else ""
            if (bounds := BOUNDS.get(name)) and isinstance(target := value_of_saved(r, 1 - k), np.ndarray):
                outside = np.count_nonzero((target < bounds[0]) | (target > bounds[1]))
                if 2 * outside > target.size >= LEAST_EXAMPLES:
                    low, high = bounds
                    text = f"{name} gives {low:.3g} to {high:.3g}, and {outside} of {target.size} targets are outside"
                    yield chart.finding("range", r, text, f"Leave out the last {name}, or scale the targets")


def examine_chains(chart: Chart) -> Iterator[Finding]:
    """Gradients that grow or shrink steadily on the longest path: from step to step of a loop, from layer to layer."""
    came = {id(flow.record): flow for flow in chart.flows if flow.came.bad is None and flow.came.nonzero}
    chains = grouped([(r.rule.name, came[id(r)]) for r in longest_path(chart) if id(r) in came])
    flows = max([*chains.values()], key=change_along, default=[])
    if change_along(flows) > math.log(RANGE):
        sizes = [flow.came.rms for flow in flows]
        factor = (sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1))
        kind, verb = ("exploding", "grows") if factor > 1 else ("vanishing", "shrinks")
        begin = next((k for k, s in enumerate(sizes) if abs(math.log(s / sizes[0])) > math.log(RANGE)), len(sizes))
        text = (
            f"on the way back the gradient {verb} by a factor of {factor:.2g} in each of {len(sizes)} steps, "
            f"from {sizes[0]:.1e} to {sizes[-1]:.1e}, beyond {RANGE:.0e} from step {begin} on"
        )
        clip = "Clip gradients (af.optim.clip_grad_norm), or make" if factor > 1 else "Make"
        advice = f"{clip} the factor nearer to 1: other weights, gates, shortcuts"
        yield chart.finding(kind, flows[-1].record, text, advice, factor=factor, steps=len(sizes), begin=begin)


def change_along(flows: list[GradientFlow]) -> float:
    """The logarithm of how much gradients grow or shrink along these; 0 unless steadily, in several steps."""
    changes = np.diff([math.log(flow.came.rms) for flow in flows])
    total = float(abs(changes.sum()))
    return total if len(flows) >= LEAST_STEPS and total > 2 * np.abs(changes).max() else 0.0


def longest_path(chart: Chart) -> Iterator[Record]:
    """The records on the longest path from the result to a leaf."""
    depth: dict[int, int] = {}
    x = chart.start
    for r in chart.records:
        depth[id(r)] = 1 + max([depth.get(id(p), 0) for p in r.parents])
    while isinstance(x, Record):
        yield x
        x = max([p for p in x.parents if p is not None], key=lambda p: depth.get(id(p), 0))


def examine_shapes(chart: Chart) -> Iterator[Finding]:
    """``(5, 1) - (5,)``: a column met a row, and a square came out. A column that was made by an index is meant. And a
    mask of whole numbers: ``y[mask]`` takes the entries 0 and 1, many times."""
    for r in chart.records:
        if (column := column_met_row(r)) is not None:
            name = chart.operand(r, column, "column")
            advice = f"If pairs are not meant, write {indexed(name, ':, 0')} for the column"
            yield chart.finding("shapes", r, f"{shapes(r)} in {r.rule.name}: every entry met every other", advice)
        mask = r.saved[1] if r.rule.name == "getitem" and isinstance(r.saved[1], np.ndarray) else np.zeros(0, int)
        fits = mask.size >= LEAST_EXAMPLES and mask.shape == r.saved[0].shape[: mask.ndim]
        if fits and mask.dtype.kind in "iu" and np.array_equal(np.unique(mask), [0, 1]):
            text = f"a mask of {mask.dtype} is read as indices: it picks the entries 0 and 1, {mask.size} times"
            yield chart.finding("shapes", r, text, "Make it mask.astype(bool)")


def examine_readers(chart: Chart) -> Iterator[Finding]:
    """Plain operands that NumPy has made from nodes, without their history: ``np.full(3, w)``."""
    for r, text in taken_out(chart.records):
        is_reader = text.partition("(")[0].rpartition(".")[2] in READERS
        for advice in [numbers_read(r, k) for k, p in enumerate(r.parents) if p is None and is_reader]:
            if text in advice:
                yield Finding("lost", advice)


EXAMINATIONS = (
    examine_readers, examine_values, examine_zeros, examine_units, examine_likeness, examine_layers,
    examine_scores, examine_losses, examine_targets, examine_chains, examine_shapes,
)  # fmt: skip
LATE = examine_zeros, examine_units, examine_likeness  # of what later steps may bring
