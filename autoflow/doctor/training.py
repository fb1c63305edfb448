"""Examining several runs of a training step: ``af.diagnose(step)``.

The step runs three times, while operations and backward passes are watched, and what happens to each Variable is
written down: its history. Rules say what is wrong with a history. Then everything that the step reaches is restored:
parameters, gradients, states of optimisers, random generators.
"""

from __future__ import annotations

import gc
import math
import os
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from traceback import walk_tb
from typing import Any, NamedTuple

import numpy as np

from ..backprop.second_runs import codes_of, reachable
from ..backprop.snapshots import Snapshot
from ..base.errors import AutoflowError, LostGradientError
from ..base.modes import listening
from ..base.numbering import now
from ..base.pytree import tree_leaves
from ..nodes.cuts import cut_of
from ..nodes.grads import read_grad
from ..nodes.nodes import Node, NodeRole, Variable, VariableRole, current_record, gradient_target, value_of
from ..nodes.rebinding import is_multiple, original_of
from ..nodes.records import Record, ancestors
from ..nodes.versions import writer_since
from ..optim.base import Optimiser
from ..program.names import Naming
from ..program.source import code_of, computes_with_gradient, expression_of, find, parents_of
from ..transforms.shadow import checked_run
from .findings import Diagnosis, Finding, diagnosis
from .graphs import LATE, diagnose_node, examine, examine_values, is_likelihood, lowered_targets, no_history, unreached
from .notebook import users_frames
from .passes import PRODUCTS, Chart, GradientFlow, Size, is_mask, place_of, watching

TURNS = 3
NUMBERS = (int, float, np.generic, np.ndarray)
ALONG = 0.9  # the least cosine of a step and a gradient in the same direction
SIZES = {"absolute", "norm", "power", "square"}
PENALTY = SIZES | {"dot", "matmul", "mean", "multiply", "sum"}  # rules of penalties
LOSS = re.compile("loss|cost|error|mse|nll|risk|cross_?entropy|neg|minus", re.IGNORECASE)
LETTER = re.compile("[lj][₀-₉]*", re.IGNORECASE)  # of a loss, a likelihood, an expected reward
UNTELLING = re.compile("..?|<lambda>")  # of functions: f, fn
LIKELIHOOD = re.compile("likelihood|log_?lik|^llh?(_|$)|(?<!n)elbo", re.IGNORECASE)
GAIN = re.compile(r"(.*\.)?((expected|mean|average|total)_)?(reward|utility|profit)s?[₀-₉]*", re.IGNORECASE)
WEIGHTS = re.compile(r"\b(w|b|p|θ|β|theta|beta|weights?|bias|params?|coef\w*)\d*(\W|\[\d+])*$", re.IGNORECASE)
State = tuple[Any, Any]  # of a Variable: value, gradient


class Event(NamedTuple):
    """Something that happened to a Variable."""

    letter: str  # see LETTERS
    who: Any = 0  # the number of the record from which backward() started; the optimiser
    rate: float = 0.0  # the optimiser's
    size: Any = None  # two measures of the gradient there is: alike means the same gradient
    new: Any = None  # the same of what backward() brought
    reached: frozenset[int] = frozenset()  # all Variables to which it happened


class VariableHistory:
    """What happened to one Variable in all runs."""

    def __init__(self, x: VariableRole) -> None:
        self.x, self.since = x, now()  # when the last event was
        self.events: list[Event] = []

    @property
    def letters(self) -> str:
        """The events, in order of time."""
        return "".join([e.letter for e in self.events])

    def note_write(self) -> None:
        """Add W if the Variable was changed since the last event."""
        if writer_since(value_of(self.x), self.since):
            self.events.append(Event("W"))
        self.since = now()


class Turn:
    """One run of the step: what it used, what its passes found, what it left. ``last``: the run before."""

    def __init__(self, last: Turn | None = None) -> None:
        self.histories: dict[int, VariableHistory] = last.histories if last else {}  # of all runs, by Variable
        self.marks: dict[Any, list[tuple[int, int]]] = last.marks if last else {}  # of passes, by place: since, size
        self.since = now()  # later records have higher numbers
        self.variables: dict[int, Any] = {}
        self.before: dict[int, State] = {}  # when they were used first
        self.after: dict[int, State] = {}
        self.steps: dict[int, Any] = {}  # the changes of values, where there are any
        self.sums: dict[int, Any] = {}  # the gradients that its passes brought
        self.nodes: list[weakref.ref[Any]] = []
        self.rebound: dict[int, Any] = {}  # Variables, and the records that have taken their place
        self.last: Any = None  # the record that was made last
        self.passes: list[Chart] = []
        self.whole: list[Chart] = []  # those that have gone through records, on plain numbers
        self.size = 0  # records in all of these
        self.loss, self.sign = float("nan"), 0.0  # the value of the loss; does backward() go down it or up?
        self.result: Any = None
        self.frames: list[Any] = []  # that were stopped there
        self.gives_arrays = False  # is its result more than a number, as an image made by its gradient?

    def listen(self, node: Node) -> None:
        """An operation was recorded."""
        record = self.last = current_record(node)
        self.nodes.append(weakref.ref(node))
        if (w := original_of(node)) is not None:
            self.rebound[id(w)] = w, record
        for x in record.parents:
            if isinstance(x, VariableRole) and id(x) not in self.variables and type(value_of(x)) is np.ndarray:
                self.variables[id(x)] = x
                self.before[id(x)] = state_of(x)

    def begin(self) -> Chart:
        """A backward pass begins. One inside another, as for a checkpoint, is part of that."""
        chart, is_inner = Chart(), any([p.opener() is not None for p in self.passes])
        chart.broken = {k for k, x in self.variables.items() if not np.isfinite(value_of(x)).all()}
        self.passes += [] if is_inner else [chart]
        return chart

    def note(self, what: str, who: Any, holders: Any) -> None:
        """Something happens to Variables: write it into the history of each."""
        letter, xs = LETTERS[what], [x for x in holders if isinstance(x, VariableRole)]
        who, rate = (who, who.lr) if letter == "S" else (getattr(who, "number", 0), 0.0)  # which keep no graph alive
        for x in xs:
            history = self.histories.setdefault(id(x), VariableHistory(x))
            history.note_write()
            size, new = measure(state_of(x)[1]), self.passes[-1].sums.get(id(x)) if letter == "B" else None
            history.events.append(Event(letter, who, rate, size, measure(new), frozenset(map(id, xs))))

    def run(self, step: Callable[[], Any]) -> None:
        """Run the step, and look at what it leaves."""
        try:
            with listening(self.listen, events=self.note), watching(self.begin):
                self.result = step()
        except AttributeError as error:
            if error.name != "backward" or not isinstance(error.obj, NUMBERS) or self.passes:
                raise
            self.result = error.obj  # a number, which has left the graph
            self.frames = [frame for frame, _ in walk_tb(users_frames(error.__traceback__))]
        finally:
            self.after = {key: state_of(x) for key, x in self.variables.items()}
            pairs = {key: (value, self.before[key][0]) for key, (value, _) in self.after.items()}
            moved = {key: ab for key, ab in pairs.items() if not np.array_equal(*ab, equal_nan=True)}
            with np.errstate(all="ignore"):
                self.steps = {key: np.where(a == b, 0, a - b) for key, (a, b) in moved.items()}
            self.gives_arrays = any([np.size(x) > 1 for x in tree_leaves(self.result)])
            for history in self.histories.values():
                history.note_write()
            self.whole = [p for p in self.passes if p.flows and not p.is_recorded]
            self.size = sum([len(p.records) for p in self.whole])
            for p in self.passes:
                p.others = self.whole
                for key, g in p.sums.items():
                    self.sums[key] = self.sums.get(key, 0) + g

    def forget(self) -> None:
        """Release everything that keeps a graph alive."""
        self.result = self.last = None
        self.passes, self.whole, self.rebound = [], [], {}


def state_of(x: Any) -> State:
    """The value and the gradient of a Variable, copied."""
    g = read_grad(x, x.dtype)
    return value_of(x).copy(), None if g is None else np.array(value_of(g))


def measure(g: object) -> np.ndarray | None:
    """A few numbers that tell a gradient from others, and take no memory; the last is its size."""
    if g is None:
        return None
    with np.errstate(all="ignore"):
        total = np.sum(value_of(g), dtype=np.complex128)
    return np.array([total.real, total.imag, Size.of(value_of(g)).rms])


def alike(a: Any, b: Any) -> bool:
    """Do two measures belong to the same gradient, which is not 0?"""
    return a is not None and b is not None and bool(b[-1] > 0) and np.allclose(a, b)


def diagnose(f: object, *args: object, **options: object) -> Diagnosis:
    """What is wrong with the gradients of a training step, a loss, or a function that returns one.

    f : a training step or a loss, a function of ``args`` and ``options``; or a node, see ``loss.diagnose()``.

    A step that makes backward passes runs three times, and a few more times, to see whether numbers leave the graph;
    what it changed is restored. A function that makes none runs once, and its result is examined in
    the same way. Returns a :class:`Diagnosis`, which is false if nothing was found.

    >>> import autoflow as af
    >>> w = af.Variable([1.0, 2.0], name="w")
    >>> opt = af.optim.SGD([w], lr=0.1)
    >>> def step():
    ...     loss = np.sum(w * w)
    ...     loss.backward()
    ...     opt.step()
    >>> af.diagnose(step).kinds  # zero_grad() is missing
    ('accumulated',)
    """
    if not callable(f):  # a node, or what has left the graph
        return diagnose_node(f, *args)
    before = Snapshot(f, args, options)
    try:
        return examine_turns(lambda: f(*args, **options), (f, args, options))
    finally:
        before.restore()


def examine_turns(step: Callable[[], Any], roots: tuple[Any, ...]) -> Diagnosis:
    """Run the step, and return the findings."""
    turns: list[Turn] = []
    findings: list[Finding] = []
    charts: list[Chart] = []
    stopped = False
    while len(turns) < TURNS and not stopped:
        turns.append(turn := Turn(turns[-1] if turns else None))
        try:
            turn.run(step)
        except Exception as error:
            if not findings and not isinstance(error, AutoflowError):
                raise
            stopped = True
            frames = [frame for frame, _ in walk_tb(users_frames(error.__traceback__))]
            place = getattr(find(frames[-1].f_code, frames[-1].f_lasti), "place", None)
            where = f" ({place.where}: {place.text})" if place is not None else ""
            findings.append(Finding("error", f"{type(error).__name__} in run {len(turns)}{where}: {error}", "", place))
        if not turn.whole:
            if len(turns) == 1 and not stopped:
                return diagnose_result(turn, step, roots)
            findings += [] if stopped else [no_history(turn.result, turn.last, codes_of(*roots))]
            break
        charts.append(turn.whole[-1])
        aims = [aim_of(p) for p in turn.whole if p.site == charts[-1].site]
        turn.loss, turn.sign = float(np.mean([value for value, _ in aims])), aims[-1][1]
        findings += [*growing(turns, stopped), *rebound(turn), *broken_rules(turn), *became_nan(turns)]
        if len(turns) == 1:
            findings += [*examine(charts[0]), *wrong_ways(turn, charts[0])]
        else:
            n = len(turns)
            findings += [replace(x, text=f"in run {n} {x.text}", run=n) for x in examine(charts[-1], LATE)]
        turn.forget()
    got = {c.name(x) for t, own in zip(turns, charts, strict=False) for c in (charts[0], own)
           for k, x in t.variables.items() if np.any(t.sums.get(k, 0))}  # fmt: skip
    # A factor that was 0 in one run, and not in others, is chance, or a layer that begins with 0 and learns.
    findings = [x for x in findings if x.kind != "zero factor" or not got >= {*x.numbers["variables"]}]
    examined = charts[0].summary() if charts else ""
    if len(charts) == TURNS and not stopped:
        used = [x for x in reachable(*roots) if issubclass(type(x), Optimiser)]
        # An optimiser that has not been heard of has its turn in later runs.
        trained = [p for o in used for p in o.parameters if p.requires_grad and id(p) in turns[-1].histories]
        # A gradient that is there when an optimiser makes its step may be the program's own, of plain arrays.
        own = {k for k, x in turns[-1].histories.items() for e in x.events if e.letter == "S" and e.size is not None}
        ids = own.union(*[t.sums for t in turns])
        namesakes = {x.name for t in turns for x in t.variables.values()} if ids.isdisjoint(map(id, trained)) else ()
        missing = [p for p in trained if id(p) not in ids and p.name not in namesakes]
        findings += unreached(charts[0], missing, turns[0].variables, *codes_of(*roots))
        findings += [*grown_by_decay(turns)] or directions(turns, charts[0])
        charts.clear()  # a record of a view may hold the node that it is a view of
        findings += [*living_graphs(turns), *made_in_each_run(turns[-1]), *unmoved(turns, used, roots)]
        if all([x.kind != "lost" for x in findings]):
            findings += read_past(lambda: last_operation(step), roots)
    return diagnosis(findings, examined)


def diagnose_result(turn: Turn, step: Callable[[], Any], roots: tuple[Any, ...]) -> Diagnosis:
    """Diagnose the result of a function that runs no backward pass."""
    nodes = [x for x in tree_leaves(turn.result) if gradient_target(x) is not None]
    if nodes:
        findings = diagnose_node(nodes[0])
        return diagnosis([*findings, *(() if "lost" in findings.kinds else read_past(step, roots))], findings.examined)
    leaves = [] if turn.last is not None else [x for x in reachable(*roots) if isinstance(x, VariableRole)]
    if any([writer_since(value_of(x), turn.since) for x in leaves]):
        return diagnosis([], "Examined: no operation was recorded, and Variables were changed.")  # as by evolution
    if turn.result is None and not turn.passes:
        text = "the step made no backward pass and returned nothing"
        place = getattr(expression_of(turn.last), "place", None)
        return diagnosis([Finding("no backward", text, "Call loss.backward(), with parentheses", place)], "")
    return diagnosis([no_history(turn.result, turn.last, [*codes_of(*roots), *turn.frames])], "")


def read_past(run: Callable[[], Any], roots: tuple[Any, ...]) -> Iterator[Finding]:
    """Numbers that are read past us, and reach the result.

    Variables from before hold in their memory what new ones hold (see ``transforms/shadow.py``).
    """
    leaves = [x for x in reachable(*roots) if isinstance(x, VariableRole)]
    try:
        checked_run(run, *roots, leaves=leaves)
    except LostGradientError as error:
        referents = {id(v) for x in reachable(*roots) if not isinstance(x, NodeRole) for v in gc.get_referents(x)}
        shared = [x.name for x in leaves if id(value_of(x)) in referents]  # w0 = w.value
        text, advice = str(error), ""
        if shared:
            text = f"{text.partition('. Take ')[0]}. It is the memory of {shared[0]} itself, and changes with it"
            advice = f"Keep a copy: {shared[0]}.value.copy()"
        yield Finding("lost", text, advice)


def last_operation(step: Callable[[], Any]) -> list[Node]:
    """The last operation of a step, usually the loss."""
    operations: list[Any] = []
    with listening(operations.append):
        step()
    return operations[-1:]


# ---------------------------------------------------------------- rules: what is wrong with the history of a Variable


class Sign(NamedTuple):
    """A sign in histories that something is wrong: the letters of its events, in order of time, match a pattern,
    and the test holds for those of backward() and those of step() among them."""

    kind: str
    pattern: str
    holds: Callable[[list[Event], list[Event]], bool]
    text: str
    advice: str


ONCE = "Make it once, before the loop"
# And W: a Variable was changed since then.
LETTERS = {"backward": "B", "clip": "C", "step": "S", "clear": "Z", "schedule": "L"}
RULES = (
    Sign("repeated", "B[^BWZ]*B",
         lambda b, s: b[0].who == b[1].who and b[1].new is not None and alike(b[1].size, 2 * b[1].new),
         "backward() runs twice from {start}, and its gradients are added up",
         "Call it once, or zero_grad() in between"),
    Sign("repeated", "S[^BZ]*S", lambda b, s: alike(s[0].size, s[-1].size),
         "opt.step() runs twice with the same gradients of {names}",
         "Call it once for each backward()"),
    Sign("accumulated", "W[^BZ]*B[^Z]*W",
         lambda b, s: b[0].new is not None and not np.allclose(b[0].size, b[0].new),
         "gradients of {names} add up over several steps: nothing clears them",
         "Call opt.zero_grad() (or x.zero_grad()) before backward()"),
    Sign("cleared", "(?:B[^BSWZ]*Z){2,}B[^BWZ]*S",
         lambda b, s: alike(b[-1].new, s[0].size) and b[0].reached <= s[0].reached,
         "zero_grad() clears gradients of {names} before a step uses them: only the last backward() counts",
         "Call zero_grad() after opt.step(), not in between; or make a step after each backward()"),
    Sign("clipped", "(?<![BC])C.*B|B.*(?<![BC])C", lambda b, s: True,
         "gradients of {names} are clipped where there are no new ones, which has no effect on the step",
         "In this order: zero_grad, backward, clip, step"),
    Sign("made anew", "S.*S.*S", lambda b, s: len({id(e.who) for e in s}) == len(s) and bool(s[0].who.remembers),
         "each step makes a new {who}, which does not remember the gradients of the steps before", ONCE),
    Sign("made anew", "(?:L[^LS]*S[^LS]*){2}L|(?:S[^LS]*L[^LS]*){2}S", lambda b, s: True,
         "each step makes a new Schedule, which begins again at its first step", ONCE),
    Sign("learning rate", "S.*S.*S",
         lambda b, s: s[0].rate > 0 and all([0 <= y.rate <= x.rate / 4 for x, y in pairwise(s)]),
         "the learning rate falls quickly, from step to step: {rates}",
         "Lower it less often: call the schedule once in an epoch, not in each step"),
)  # fmt: skip


def broken_rules(turn: Turn) -> Iterator[Finding]:
    """The rules that a history breaks, each with the names of the Variables."""
    charts = {p.start.number: p for p in turn.whole}
    for rule in RULES:
        names: dict[str, None] = {}
        for history in turn.histories.values():
            for match in re.finditer(rule.pattern, history.letters):
                events = history.events[match.start() : match.end()]
                passes, steps = [[e for e in events if e.letter == letter] for letter in "BS"]
                if rule.holds(passes, steps):
                    names[history.x.name] = None
                    who, rates = [type(e.who).__name__ for e in steps], [f"{e.rate:.3g}" for e in steps]
                    chart = next((charts[e.who] for e in passes[::-1] if e.who in charts), None)
        if names:
            start, place = (chart.name(chart.start), chart.program.place(chart.start)) if chart else ("the loss", None)
            text = rule.text.format(names=", ".join(names), who="".join(who[-1:]), start=start, rates=", ".join(rates))
            yield Finding(rule.kind, text, rule.advice, place)


# ---------------------------------------------------------------- what the runs have in common, and what differs


def rebound(turn: Turn) -> Iterator[Finding]:
    """A Variable's name was given to the result of a step along its gradient, and the Variable stays the same."""
    for key, (w, record) in turn.rebound.items():
        if key not in turn.steps:
            text = f"{w.name} = {w.name} - lr * {w.name}.grad makes an Operation, and leaves the Variable as it is"
            advice = f"Write into it: with af.no_grad(): {w.name} -= lr * {w.name}.grad"
            yield Chart(record).finding("rebound", record, text, advice)
            return


def wrong_ways(turn: Turn, chart: Chart) -> Iterator[Finding]:
    """Steps that no gradient asks for: from an old graph, along a Variable itself, up a penalty; and a loss that is not
    a single number."""
    start, moved, used = chart.start, turn.steps, [x for x in chart.nodes if isinstance(x, VariableRole)]
    if start.number <= turn.since and any([writer_since(value_of(x), turn.since) for x in used]):
        text = f"backward() starts at {chart.name(start)}, which was computed before the step, with the old parameters"
        yield chart.finding("repeated", start, text, "Compute the loss in each step")
    if moved and start.shape not in ((), (1,)) and chart.flows[0].came[1:3] == (math.prod(start.shape), 1.0):
        text = f"backward() starts from {chart.name(start)} of shape {start.shape}, as if from its sum"
        yield chart.finding("shapes", start, text, "Make one number of it: np.mean")
    for key in moved.keys() - {k for k, history in turn.histories.items() if "S" in history.letters}:
        x, step, (w, _), g = turn.variables[key], moved[key], turn.before[key], turn.sums.get(key)
        # Optimisers step along the gradient, or first along its signs, and may so step along the Variable, too.
        if g is not None and is_multiple(step, w) and not (is_multiple(g, w) or is_multiple(np.sign(g), w)):
            where = os.path.basename(writer_since(value_of(x), turn.since))
            text = f"{x.name} is changed by a multiple of itself, not of its gradient ({where})"
            yield Finding("uphill", text, f"Write {x.name}.grad, not {x.name}.value")
    # A penalty is computed from parameters alone, perhaps through a mask, and not from data, as the fit is.
    data = {r for r in chart.records for p, v in zip(r.parents, r.saved, strict=False)
            if p is None and getattr(v, "size", 1) > 1 and not is_mask(r, v)}  # fmt: skip
    terms = chart.terms() if data and is_loss(chart, start, 1.0) else ()
    for r in [flow.record for flow, _ in terms if flow.came.sign < 0]:
        below = [*ancestors(r)] if r.shape == () and (r.value or 0) > 0 else []
        leaves, rules = [id(x) for x in below if not isinstance(x, Record)], {getattr(x, "rule", None) for x in below}
        is_penalty = len(leaves) == 1 and data.isdisjoint(below) and {x.name for x in rules if x} <= PENALTY
        if is_penalty and np.sum(np.real(moved.get(leaves[0], 0) * np.conj(chart.sums[leaves[0]]))) < 0:
            text = f"{chart.name(r)} is subtracted from the loss, so steps make it grow"
            yield chart.finding("uphill", r, text, "Add it")
            return


def growing(turns: list[Turn], stopped: bool) -> Iterator[Finding]:
    """The graph has records of earlier passes from the same place: a Variable was replaced, or a state is carried over.

    Those between the two passes before this one; if an error stopped the run, all before the last pass.
    """
    for p in turns[-1].whole:
        marks, size = turns[-1].marks.setdefault(p.site, []), len(p.records)
        failed = stopped and p is turns[-1].whole[-1] and marks
        if failed or (len(marks) > 1 and marks[-2][1] < marks[-1][1] < size):
            low, high = 0 if failed else marks[-2][0], marks[-1][0]
            for r in [r for r in p.records if low < r.number <= high][-1:]:
                text = f"{p.name(r)} is carried from step to step with its history, {size:,} operations so far"
                yield p.finding("growing", r, text, "Cut it: h = h.detach()", size=size)
                return
        marks.append((p.since, size))


# Why a Variable with a gradient stays as it is, and what to do.
NO_STEP = "no opt.step() comes between backward() and the next zero_grad()", "In this order: zero_grad, backward, step"
NO_GRADIENT = "the gradient was 0 when the optimiser made its step", "Look at what clips it or writes into it"
NO_RATE = "the learning rate of the optimiser is 0", "Raise it: opt.lr = 0.01"
ROUNDED = "what a step adds is too small for the dtype", "Raise the learning rate, or train in a wider dtype"
NAMESAKE = "the optimiser has another Variable of this name", "Make it last, and change Variables by w.value = new"
NO_OPTIMISER = "no optimiser has {it}", "Give {it} to the optimiser; data should be an af.Constant"
SAME = "what is written into {it} is what was there", "Raise the learning rate, or see what makes the gradient 0"
NO_WRITE = "nothing writes into {it}", "with af.no_grad(): {name} -= lr * {name}.grad; or {name}.requires_grad = False"


def unmoved(turns: list[Turn], used: list[Any], roots: tuple[Any, ...]) -> Iterator[Finding]:
    """Variables that get gradients and do not change, by the reason. ``used``: the optimisers of the step."""
    last, moved = turns[-1], {key for t in turns for key in t.steps}
    names = {p.name for o in used for p in o.parameters if id(p) not in last.variables}
    lasting = {k: x for k, x in last.variables.items() if all([k in t.variables for t in turns]) or x.name in names}
    still = [x for k, x in lasting.items() if k not in moved and any([np.any(t.sums.get(k, 0)) for t in turns])]
    least = 1e-12 * max([Size.of(g).rms for t in turns for g in t.sums.values()], default=0)  # left by what cancels
    is_training = moved or any([last.after[k][1] is None for k in lasting])  # or it only computes gradients
    writes = is_training or (not last.gives_arrays and any(map(computes_with_gradient, codes_of(*roots))))
    optimisers = used or [x for x in gc.get_objects() if still and not moved and issubclass(type(x), Optimiser)]
    reasons: dict[tuple[str, str] | None, list[Any]] = {}
    for k, x in [(id(x), x) for x in still]:
        own = [o for o in optimisers if any([p is x for p in o.parameters])]
        history = last.histories.get(k, VariableHistory(x))
        if writer_since(value_of(x), turns[0].since):
            pairs = pairwise([e for e in history.events if e.letter in "BSZ"])
            sizes = [(a.new, b.size[-1]) for a, b in pairs if b.letter == "S" and b.size is not None]
            largest = max([size for _, size in sizes], default=np.inf)
            is_cut = any([new is not None and new[-1] > 0 == size for new, size in sizes])
            reason = (ROUNDED if own else SAME) if largest > least else NO_GRADIENT if is_cut and not largest else None
            reason = NO_RATE if any([o.lr == 0 for o in own]) else reason
        elif own and used and np.any(last.before[k][1]) and "Z" not in history.letters:
            reason = None  # gradients of several runs are collected for one step
        elif own or used:
            reason = NO_STEP if own else NAMESAKE if x.name in names else NO_OPTIMISER
        else:
            reason = NO_WRITE if writes else None
        reasons.setdefault(reason, []).append(x)
    for (why, advice), xs in [(reason, xs) for reason, xs in reasons.items() if reason]:
        s, it = ("s", "it") if len(xs) == 1 else ("", "them")
        text = f"{names_of(xs, lasting)} never change{s}: {why.format(it=it)}"
        yield Finding("unmoved", text, advice.format(it=it, name=xs[0].name), place_of(xs[0]))


def made_in_each_run(turn: Turn) -> Iterator[Finding]:
    """Parameters that are made in each run and get gradients: layers, and Variables that are dropped after a step."""
    for x, events in [(h.x, h.letters) for h in turn.histories.values() if h.x.number > turn.since]:
        expr = expression_of(x)
        is_layer = expr is not None and expr.is_call and expr.called[:1].isupper() and expr.called != "Variable"
        if (is_layer and id(x) not in turn.steps) or re.fullmatch("Z*BC*S?W", events):
            text = f"{x.name} is made in each step, so what it has learned is lost"
            yield Finding("made anew", text, ONCE, place_of(x))


def names_of(xs: list[Variable], among: dict[int, Any]) -> str:
    """The names of Variables; where several have the same, with the line that made each."""
    program, names = Naming(xs), [x.name for x in among.values()]
    lines = [f" (line {place.line})" if names.count(x.name) > 1 and (place := program.place(x)) else "" for x in xs]
    return ", ".join([x.name + line for x, line in zip(xs, lines, strict=True)])


def living_graphs(turns: list[Turn]) -> Iterator[Finding]:
    """The graph of the first run is still alive: in one of its nodes, or in one that was computed from it later."""
    numbers = range(turns[0].since + 1, turns[1].since + 1)
    if records_among(numbers, turns):
        gc.collect()  # what only refers to itself is not kept
    old = records_among(numbers, turns)
    if old and turns[-1].size <= turns[0].size:
        chart = Chart(max(old.values(), key=lambda x: x.number))
        size = sum({id(v): v.nbytes for r in old for v in r.saved if isinstance(v, np.ndarray)}.values()) / 1e6
        advice = "losses.append(float(loss))" if chart.start.number in numbers else "total += float(loss)"
        text = f"{chart.name(chart.start)} keeps the graphs of earlier steps alive: {size:.3g} MB a step"
        yield chart.finding("kept", chart.start, text, f"Keep the number: {advice}", megabytes=size)


def records_among(numbers: range, turns: list[Turn]) -> dict[Record, Record]:
    """The living records with these numbers, each with one of those from which it is reached."""
    records = [x for t in turns for ref in t.nodes if isinstance(x := gradient_target(ref()), Record)]
    return {r: x for x in records for r in ancestors(x) if isinstance(r, Record) and r.number in numbers}


def aim_of(chart: Chart) -> tuple[float, float]:
    """The value of the loss, and the sign with which backward() starts from it: -1 in ``(-loss).backward()``.

    Going back from the start along numbers, means and sums without a fork, it is a record that is called a loss, is
    above 0 (the logarithm of a likelihood is not) and gets a negative gradient; otherwise it is the start.
    """
    signs = {id(flow.record): flow.came.sign for flow in chart.flows}
    x = number = chart.start
    while isinstance(x, Record) and (x.shape == () or (number is not x and number.rule.name in ("mean", "sum"))):
        number = x if x.shape == () else number
        value = np.nan if number.value is None else number.value
        if signs.get(id(x), 1.0) < 0 < np.real(value) and is_loss(chart, x, -1.0):
            return float(value), -1.0
        own = [p for p in x.parents if p is not None]
        x = own[0] if len(own) == 1 else None
    value = chart.start.value if isinstance(chart.start, Record) else None
    return (float("nan") if value is None else float(np.sum(np.real(value)))), 1.0


def is_loss(chart: Chart, x: Record, sign: float) -> bool:
    """Does the program call a record a loss, or the function that returned it, or for the start the function around it?
    A single letter may mean a reward, and so may what has no name: then one of its terms must be something that is only
    made small. ``sign``: of the record's own gradient."""
    name, function = chart.called(x)
    around = getattr(code_of(x), "co_name", "") if x is chart.start else ""  # -x in it is the loss, not x
    is_letter, flows = LETTER.fullmatch(name), [f for f, _ in chart.terms()]
    names = [name, function, around, *[chart.called(f.record)[0] for f in flows if is_letter]]
    known = [f for f in flows if is_letter or (f.came.sign == sign and is_unnamed(chart, x))]
    return any(map(LOSS.search, names)) or any([is_misfit(chart, f, sign) for f in known])


def is_unnamed(chart: Chart, x: Any) -> bool:
    """Has a record no name that tells what it is for? It is in an expression whose ``backward()`` is called, or in a
    function of one or two letters, or returned by one."""
    expr, (name, function) = chart.program.expression(x) if isinstance(x, Record) else None, chart.called(x)
    around = [getattr(p, "attr", "") for p in parents_of(expr.node, expr.source)] if expr is not None else []
    is_ours = function and function.rpartition(".")[2] != x.rule.name
    is_untelling = UNTELLING.fullmatch(function if is_ours else getattr(code_of(x), "co_name", ""))
    return not name and (is_untelling is not None or ("backward" in around and not is_ours))


def is_misfit(chart: Chart, flow: GradientFlow, sign: float) -> bool:
    """Is it the square or size of a difference from data, a likelihood with a minus, or what a function called a loss
    gives? A difference from a mean, which is a spread, may be made large."""
    r, x = flow.record, flow.record.parents[0]
    if flow.came.sign != sign:
        return is_likelihood(chart, r)
    if isinstance(x, Record) and x.rule.name == "subtract":
        others = getattr(r.parents[-1], "parents", ())  # of (y - t) * (y - t) too
        is_square = r.rule.name in PRODUCTS and [*map(id, others)] == [*map(id, x.parents)]
        sizes = [getattr(v, "size", 1) for p, v in zip(x.parents, x.saved, strict=False) if p is None]
        return (is_square or r.rule.name in SIZES) and math.prod(x.shape) in sizes
    return LOSS.search(chart.called(r)[1]) is not None


def joined(keys: list[int], *of: dict[int, Any]) -> list[Any]:
    """The arrays of these Variables, as one vector."""
    return [np.concatenate([np.zeros(0), *[np.ravel(x.get(k, 0)) for k in keys]]) for x in of]


def is_straight(turns: list[Turn]) -> bool:
    """Are the steps of each run a multiple of its gradient, as those of momentum and of Adam are not?"""
    pairs = [joined([k for k in t.steps if k in t.sums], t.steps, t.sums) for t in turns]
    signs = {np.sign(np.vdot(s, g).real) if s.size > 1 and is_multiple(s, g) else 0 for s, g in pairs}
    return signs in ({1}, {-1})


def directions(turns: list[Turn], chart: Chart) -> Iterator[Finding]:
    """A loss that grows: steps go up the gradient, or are longer than twice the inverse of the curvature. And a
    likelihood that steps lower."""
    steps, first, second, losses = turns[0].steps, turns[0].sums, turns[1].sums, [t.loss for t in turns]
    own, later = [t.variables for t in turns[:2]]
    is_plain = own.keys().isdisjoint(later) and [x.shape for x in own.values()] == [x.shape for x in later.values()]
    if is_plain:  # arrays: for each run af.grad has made Variables
        pairs = [*zip(own, later, strict=True)]
        steps = {a: turns[1].before[b][0] - turns[0].before[a][0] for a, b in pairs}
        second = {a: second[b] for a, b in pairs if b in second}
    keys = [k for k in steps if k in first and k in second]
    s, g, h, after = joined(keys, steps, first, second, turns[1].steps)
    long, steep = Size.of(s).rms, Size.of(g).rms
    if not 0 < long * steep < math.inf:
        return
    s, g, h, after = [np.concatenate([x.real, x.imag]) for x in (s / long, g / steep, h / steep, after / long)]
    rate, n = long / steep, np.dot(s, s)
    along, curvature = np.dot(s, g) / n, np.dot(s, h - g) / n / rate
    name = next(filter(None, chart.called(chart.start)), "")
    if along < 0:
        yield from lowered_targets(chart)
        is_named = GAIN.fullmatch(name) or (LIKELIHOOD.search(name) and losses[0] < 0)
        if is_named and not LOSS.search(name) and losses[0] > losses[1] > losses[2]:
            text = f"{name} falls ({', '.join([f'{x:.3g}' for x in losses])}): steps go down its gradient"
            yield chart.finding("uphill", chart.start, text, f"To raise it, call (-{name}).backward()")
    grows, unnamed, sign = losses[0] < losses[1] < losses[2], is_unnamed(chart, chart.start), turns[0].sign
    is_clear = (grows and is_multiple(s, g)) if is_plain else is_straight(turns)
    is_clear = is_clear and any([is_misfit(chart, flow, sign) for flow, _ in chart.terms()])
    # A likelihood may be called a loss, as that of a judge of pictures is, which its steps make greater.
    raised = [f.record for f, _ in chart.terms() if f.came.sign > 0]
    is_gain = losses[0] < 0 and any([r.rule.name == "log" or is_likelihood(chart, r) for r in raised])
    is_aim = is_clear or (grows and not unnamed)  # of others the direction alone, or the name alone, does not tell
    if not grows and not is_aim:
        return
    growth = f"the loss grows ({', '.join([f'{x:.3g}' for x in losses])})" if grows else "the loss measures a misfit"
    # An attack on a frozen model does the same, and means it; one on plain arrays, along signs or by steps of a fixed
    # length is known by what it changes.
    constants = [cut_of(c) for r in chart.records if r.extra is not None for c in r.extra.constants.values()]
    is_attack = any([cut is not None and cut.cause == "frozen" for cut in constants])
    rounding = 1e-6 + 4 * max([np.max(np.spacing(np.abs(turns[0].before[k][0])), initial=0) for k in keys]) / long
    is_rescaled = along > 0 and not math.isclose(Size.of(after).rms, Size.of(h).rms, rel_tol=rounding)  # as by g / |g|
    is_signed = along > 0 and is_multiple(s, np.sign(g)) and not is_multiple(g, np.sign(g))
    if is_plain or is_signed or is_rescaled or unnamed:
        is_attack |= not any([WEIGHTS.search(chart.program.first_use(own[k]) or "") for k in keys])
    if sign < 0 and along < 0 and not is_attack and is_aim:
        text, advice = f"{growth}: backward() starts from its negative", "To lower it, call loss.backward()"
        yield chart.finding("uphill", chart.start, text, advice)
    elif along > ALONG and not is_attack and is_aim and not is_gain and is_loss(chart, chart.start, 1.0):
        advice = f"To lower it, subtract: w {'= w - lr * gradient' if is_plain else '-= lr * w.grad'}"
        yield chart.finding("uphill", chart.start, f"{growth}: steps go up its gradient", advice)
    elif grows and along < -ALONG and rate * curvature > 2:
        advice = f"A learning rate of {rate:.3g} is too large: take less than 2 / {curvature:.3g} = {2 / curvature:.2g}"
        text = f"{growth}: steps are too long for its curvature"
        yield chart.finding("learning rate", chart.start, text, advice, rate=rate, curvature=curvature)


def grown_by_decay(turns: list[Turn]) -> Iterator[Finding]:
    """Steps that are, in all runs, the same multiples of the gradient and of the Variable itself: upwards, a decay with
    the wrong sign, or beyond its negative, a decay that makes it grow."""
    shares = {}
    for key, x in [(k, x) for k, x in turns[0].variables.items() if x.size > 2 and x.dtype.kind == "f"]:
        if all([key in t.steps and key in t.sums for t in turns]):
            rows = [[np.ravel(a) for a in (t.steps[key], t.sums[key], t.before[key][0])] for t in turns]
            s, g, w = np.concatenate(rows, axis=1, dtype=float)
            if np.isfinite([s, g, w]).all() and not is_multiple(g, w):
                a, b = np.linalg.lstsq(np.stack([g, w], axis=1), s, rcond=None)[0]
                is_sum = np.allclose(a * g + b * w, s, rtol=1e-6, atol=1e-9 * Size.of(s).rms)
                if is_sum and a < 0 and b * Size.of(w).rms > 1e-6 * Size.of(s).rms:
                    shares[x] = -b / a
                elif is_sum and b < -2:
                    text = f"each step takes {x.name} away {-b:.3g} times, so it grows from sign to sign"
                    advice = "Lower the weight decay: times the learning rate it must stay below 1"
                    yield Finding("learning rate", text, advice, place_of(x))
                    return
    for x, share in [*shares.items()][:1]:
        text = f"steps add multiples of {', '.join([x.name for x in shares])} to the same: a decay of the wrong sign"
        yield Finding("uphill", text, f"Go down {x.name}.grad + {share:.3g} * {x.name}.value", place_of(x))


def became_nan(turns: list[Turn]) -> Iterator[Finding]:
    """A run that has made parameters NaN or infinite: its steps, or what a pass through sound ones has brought."""
    turn = turns[-1]
    bad = [k for k, s in turn.steps.items() if not np.isfinite(s).all() and np.isfinite(turn.before[k][0]).all()]
    first = next((p for p in turn.whole if any([not np.isfinite(p.sums.get(k, 0)).all() for k in bad])), None)
    causes = examine(first, [examine_values]) if first is not None and first.broken.isdisjoint(bad) else []
    causes = [x for x in causes if not x.numbers.get("overflow") or first is turn.whole[0]]  # that of steps comes later
    yield from causes
    if bad and not causes:
        text = f"run {len(turns)} has made {', '.join([turn.variables[k].name for k in bad])} NaN or infinite"
        yield Finding("became nan", text, "Lower the learning rate")
