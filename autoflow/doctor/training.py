"""Examining several runs of a training step: ``af.diagnose(step)``.

The step runs three times, while operations and backward passes are watched. Then everything that it reaches is put
back: parameters, gradients, states of optimisers, random generators.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..backprop.snapshots import Snapshot
from ..base.errors import AutoflowError, LostGradientError
from ..base.modes import listening
from ..nodes.grads import read_grad
from ..nodes.nodes import VariableRole, current_record, gradient_target, value_of
from ..nodes.rebinding import original_of
from ..nodes.records import Record, ancestors
from ..transforms.shadow import checked_run
from .findings import Diagnosis, Finding, diagnosis
from .graphs import Chart, diagnose_node, examine, no_history
from .passes import Pass, watching

TURNS = 3
State = tuple[Any, Any]  # of a Variable: value, gradient


class Turn:
    """One run of the step: what it used, what its passes found, what it left."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []
        self.variables: dict[int, Any] = {}
        self.before: dict[int, State] = {}  # when they were used first
        self.after: dict[int, State] = {}
        self.nodes: list[weakref.ref[Any]] = []
        self.rebound: dict[str, Any] = {}  # names of Variables -> the records that have taken their place
        self.first = 0  # the number of its first record
        self.loss = float("nan")
        self.size = 0  # records in the graphs of its passes
        self.result: Any = None

    def listen(self, node: Any) -> None:
        """An operation was recorded."""
        record = current_record(node)
        self.first = self.first or record.number
        self.nodes.append(weakref.ref(node))
        if (w := original_of(node)) is not None:
            self.rebound[w.name] = record
        for x in record.parents:
            if isinstance(x, VariableRole) and id(x) not in self.variables:
                self.variables[id(x)] = x
                self.before[id(x)] = state_of(x)

    def begin(self) -> Pass:
        """A backward pass begins."""
        self.passes.append(Pass())
        return self.passes[-1]

    def run(self, step: Callable[[], Any]) -> None:
        """Run the step, and look at what it leaves."""
        try:
            with listening(self.listen), watching(self.begin):
                self.result = step()
        finally:
            self.passes = [p for p in self.passes if p.flows]
            self.after = {key: state_of(x) for key, x in self.variables.items()}
            for p in self.passes:
                start = p.flows[0].record
                self.size += sum(isinstance(r, Record) for r in ancestors(start))
                self.loss = float(np.sum(start.value)) if start.value is not None else self.loss

    @property
    def sums(self) -> dict[int, Any]:
        """The gradients that its passes brought."""
        found: dict[int, Any] = {}
        for p in self.passes:
            for key, g in p.sums.items():
                found[key] = found.get(key, 0) + g
        return found

    def step_of(self, key: int) -> Any:
        """The change that the step made to a Variable."""
        return self.after[key][0] - self.before[key][0]


def state_of(x: Any) -> State:
    """The value and the gradient of a Variable, copied."""
    g = read_grad(x, x.dtype)
    return value_of(x).copy(), None if g is None else np.array(value_of(g))


def diagnose(f: Any, *args: Any, **options: Any) -> Diagnosis:
    """What is wrong with the gradients of a training step, a loss, or a function that returns one.

    f : a training step or a loss, a function of ``args`` and ``options``; or a node, see ``loss.diagnose()``.

    A step that makes backward passes runs three times, and what it changed is put back. A function that makes none runs
    once, and its result is examined: also whether numbers have left the graph. Returns a :class:`Diagnosis`, which is
    false if nothing was found.

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
    turns: list[Turn] = []
    before = Snapshot(f, args, options)
    try:
        return examine_turns(lambda: f(*args, **options), (f, args, options), turns)
    finally:
        turns.clear()
        before.restore()


def examine_turns(step: Callable[[], Any], roots: tuple[Any, ...], turns: list[Turn]) -> Diagnosis:
    """Run the step, and return the findings."""
    findings: list[Finding] = []
    summary = ""
    for _ in range(TURNS):
        turns.append(turn := Turn())
        stopped = False
        try:
            turn.run(step)
        except AutoflowError as error:
            stopped = True
            findings.append(Finding("error", f"{type(error).__name__} in run {len(turns)}: {error}".rstrip(".")))
        if not turn.passes:
            if len(turns) == 1 and not stopped:
                return diagnose_result(turn.result, step, roots)
            break
        if len(turns) == 1:
            chart = Chart(turn.passes[-1].flows[0].record, turn.passes[-1])
            findings += examine(chart)
            summary = chart.summary()
        elif turn.size > turns[-2].size:
            findings += growing(turns)
        turn.result = None
        turn.passes = [shorten(p) for p in turn.passes]
        if stopped:
            break
    findings += [x for look in LOOKS for x in look(turns)]
    return diagnosis(findings, summary)


def shorten(made: Pass) -> Pass:
    """The part of a pass that is needed later, without anything that keeps its graph alive."""
    short = Pass()
    short.sums = made.sums
    return short


def diagnose_result(result: Any, step: Callable[[], Any], roots: tuple[Any, ...]) -> Diagnosis:
    """Diagnose the result of a function that runs no backward pass."""
    nodes = [x for x in (result if isinstance(result, (tuple, list)) else [result]) if gradient_target(x) is not None]
    if not nodes:
        return diagnosis([no_history(result)] if result is not None else [Finding("no backward", NOTHING_DONE)], "")
    found = diagnose_node(nodes[0])
    try:
        checked_run(step, *roots)
    except LostGradientError as error:
        return diagnosis([*found, Finding("lost", str(error).rstrip("."))], found.examined)
    return found


NOTHING_DONE = "the step made no backward pass and returned nothing"


# ---------------------------------------------------------------- what the runs have in common, and what differs


def growing(turns: list[Turn]) -> Iterator[Finding]:
    """The graph has records of the run before: a Variable was replaced, or a state is carried over."""
    turn = turns[-1]
    chart = Chart(turn.passes[-1].flows[0].record, Pass())
    for name, record in {key: r for t in turns for key, r in t.rebound.items()}.items():
        text = f"{name} = {name} - lr * {name}.grad makes an Operation of a Variable: the graph grows with every step"
        yield chart.finding("rebound", record, text, f"Write into it: with af.no_grad(): {name} -= lr * {name}.grad")
        return
    old = [r for r in chart.records if r.number < turn.first]
    if old:
        text = f"{chart.name(old[-1])} is carried from step to step with its history, {turn.size:,} operations by now"
        yield chart.finding("growing", old[-1], text, "Cut it: h = h.detach()", sizes=[t.size for t in turns])


def accumulated(turns: list[Turn]) -> Iterator[Finding]:
    """Gradients of the run before are still there, though parameters were changed with them."""
    names = []
    for last, turn in pairwise(turns):
        for key, (_, old) in turn.before.items():
            new = turn.sums.get(key)
            if old is None or new is None or not old.any() or key not in last.after or not last.step_of(key).any():
                continue
            after = turn.after[key][1]
            if after is not None and np.allclose(after, old + new) and not np.allclose(after, new):
                names.append(turn.variables[key].name)
    if names:
        text = (
            f"gradients of {', '.join(dict.fromkeys(names))} add up over several steps: they are not cleared in between"
        )
        yield Finding("accumulated", text, "Call opt.zero_grad() (or x.zero_grad()) before backward()")


def unmoved(turns: list[Turn]) -> Iterator[Finding]:
    """Some parameters change and others never do, though they get gradients."""
    moved = {key for t in turns for key in t.after if t.step_of(key).any()}
    still = {key: t.variables[key].name for t in turns for key, g in t.sums.items()
             if key in t.variables and key not in moved and np.any(g)}  # fmt: skip
    if moved and still and not any([t.rebound for t in turns]):
        verbs = ("gets", "changes") if len(still) == 1 else ("get", "change")
        text = f"{', '.join(still.values())} {verbs[0]} a gradient and never {verbs[1]}"
        yield Finding("unmoved", text, "Give it to the optimiser; if it is data, make an af.Constant of it")


def kept(turns: list[Turn]) -> Iterator[Finding]:
    """Nodes of the first run are still alive."""
    if len(turns) < TURNS or turns[-1].size > turns[0].size:
        return
    gc.collect()
    nodes = [x for ref in turns[0].nodes if (x := ref()) is not None and gradient_target(x) is not None]
    if nodes:
        records = {id(r): r for x in nodes for r in ancestors(gradient_target(x)) if isinstance(r, Record)}
        arrays = {id(v): v.nbytes for r in records.values() for v in r.saved if isinstance(v, np.ndarray)}
        size = sum(arrays.values()) / 1e6
        chart = Chart(gradient_target(nodes[-1]), Pass())
        text = f"{chart.name(chart.start)} of an earlier step is kept, and with it its graph: {size:.3g} MB a step"
        yield chart.finding("kept", chart.start, text, "Keep the number: losses.append(float(loss))", megabytes=size)


def too_long(turns: list[Turn]) -> Iterator[Finding]:
    """Steps along the gradient that are longer than twice the inverse of the curvature, while the loss grows."""
    losses = [t.loss for t in turns]
    if len(turns) < TURNS or not losses[0] < losses[1] < losses[2]:
        return
    first, second = turns[0].sums, turns[1].sums
    keys = [k for k in first if k in second and k in turns[0].after and turns[0].step_of(k).any()]
    if not keys:
        return
    s, g, h = [
        np.concatenate([np.ravel(x[k]) for k in keys]) for x in ({k: turns[0].step_of(k) for k in keys}, first, second)
    ]
    rate = np.linalg.norm(s) / np.linalg.norm(g)
    curvature = np.dot(s, h - g) / np.dot(s, s)
    if rate * curvature > 2 and -np.dot(s, g) > 0.9 * np.linalg.norm(s) * np.linalg.norm(g):
        text = f"the loss grows ({', '.join([f'{x:.3g}' for x in losses])}): steps are too long for its curvature"
        advice = f"A learning rate of {rate:.3g} is too large: take less than 2 / {curvature:.3g} = {2 / curvature:.2g}"
        yield Finding("learning rate", text, advice, None, {"rate": rate, "curvature": curvature})


def became_nan(turns: list[Turn]) -> Iterator[Finding]:
    """The first run that has made parameters NaN or infinite."""
    for k, turn in enumerate(turns, 1):
        bad = [turn.variables[key].name for key, (value, _) in turn.after.items()
               if not np.isfinite(value).all() and np.isfinite(turn.before[key][0]).all()]  # fmt: skip
        if bad:
            yield Finding("became nan", f"run {k} has made {', '.join(bad)} NaN or infinite", "Lower the learning rate")
            return


LOOKS: tuple[Callable[[list[Turn]], Iterator[Finding]], ...] = accumulated, unmoved, kept, too_long, became_nan
