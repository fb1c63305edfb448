"""Which values of a program become loops, and how it is cut where others lie between them.

A value without a loop (a solver, an index, a large product) stays a call of NumPy. Everything with one is computed as
early as it can be: the *stage* of a value is the number of NumPy's calls that must have been made one after the other
before it. All values of a stage with loops become one call of the program, a :class:`~.native.Native`; so none can wait
for another, and nothing is refused that NumPy's engine takes.

Large arrays go block by block through the threads (``passes/tiling.py``). The program of a block is cut in the same
way, and its loops write into the rows of the results that the block is for.
"""

from __future__ import annotations

from collections import Counter

from ..program import Program, new_value, rebuild_outputs, sort_values
from ..values import CALL, ITEM, PRODUCT, VIEW, Value, behind_views
from .formulas import USING_FMA, code
from .native import Native
from .places import Places
from .schedule import has_loop
from .settings import DEFAULT, Settings

Targets = dict[Value, Value]
FEW = 3  # a stretch of fewer calls is left to NumPy: its own call takes as long


def use_loops(program: Program, settings: Settings = DEFAULT) -> bool:
    """Replace what loops can compute. Did that change anything?"""
    new = find_stretches(program.order(), [*program.outputs, *program.checks], {}, settings)
    return bool(new) and program.rewrite(new)


def use_loops_in_block(program: Program, targets: Targets, settings: Settings) -> Targets:
    """The same for the program of a block, whose ``targets`` are values that are written into arguments. Those that
    loops write become results of the program; the others are returned."""
    n = len(program.outputs)
    wanted = [*program.outputs, *targets]
    new = find_stretches(sort_values(wanted), wanted, targets, settings)
    outputs = rebuild_outputs(wanted, new) if new else None
    if outputs is None:
        return targets
    left = {now: targets[v] for v, now in zip(targets, outputs[n:], strict=True) if v not in new}
    program.outputs = [v for v in outputs if v not in left]
    return left


def find_stretches(order: list[Value], wanted: list[Value], targets: Targets, settings: Settings) -> dict[Value, Value]:
    """The replacement of each result of a stretch."""
    stages = find_stages(order)
    delay_few(order, stages)
    new: dict[Value, Value] = {}
    for stage in sorted(set(stages.values())):
        members = [v for v in order if stages.get(v) == stage]
        results = results_of(members, order, wanted)
        few = 1 if settings.own_functions and any([v.function in USING_FMA for v in members]) else FEW
        if len(members) >= few and results:
            new.update(native_call(members, results, settings, targets))
    return new


def find_stages(order: list[Value]) -> dict[Value, int]:
    """The stage of each value that has a loop."""
    found: dict[Value, int] = {}
    after: dict[Value, int] = {}  # for each value the first stage that can read it
    places = Places(found)
    for v in order:
        before = max([after[x] for x in v.args], default=0)
        after[v] = before
        if v.args and has_loop(v):
            found[v] = before
        elif v.args and v.kind != ITEM and (v.kind != VIEW or places.base_of(v) is v):  # this view is a copy
            after[v] = before + 1
    return found


def delay_few(order: list[Value], stages: dict[Value, int]) -> None:
    """Where a stage has too few values for a stretch, let them wait for the stage that reads them first."""
    counts = Counter(stages.values())
    latest: dict[Value, int] = {}  # for each value the stage of those that read it, the first one
    before = {v: max([stages.get(x, 0) for x in v.args], default=0) for v in order}
    for v in reversed(order):
        if v in stages and counts[stages[v]] < FEW:
            stages[v] = max(stages[v], latest.get(v, 0))
        wanted = stages[v] if v in stages else latest.get(v, 0) if v.kind == VIEW else before[v]
        for x in v.args:
            latest[x] = min(latest.get(x, wanted), wanted)


def reason_why_not(v: Value) -> str:
    """Why a value is no loop, for ``plan()``."""
    if v.kind == PRODUCT:
        return "a large product"
    if has_loop(v):
        return "too few calls together"
    odd = [x.dtype for x in (v, *v.args) if x.dtype is not None and code(x.dtype) is None]
    return f"computes in {odd[0]}" if odd else "no loop has it"


def results_of(members: list[Value], order: list[Value], wanted: list[Value]) -> list[Value]:
    """Those that other calls read, also through a view."""
    inside = set(members)
    results: set[Value] = set()

    def note(x: Value) -> None:
        if (base := behind_views(x, inside)) in inside:
            results.add(base)

    for v in order:
        if v not in inside and v.kind != VIEW:
            for x in v.args:
                note(x)
    for x in wanted:
        note(x)
    return [v for v in members if v in results]


def native_call(members: list[Value], results: list[Value], settings: Settings, targets: Targets) -> dict[Value, Value]:
    """The call that computes them, and the replacement of each result."""
    native = Native(members, results, settings, [v in targets for v in results])
    if not native.sources:
        return {}
    args = (*native.sources, *[targets[v] for v in results if v in targets])
    call = new_value(CALL, native, args, None, (), members[-1].number)
    call.dtype = None
    new: dict[Value, Value] = {}
    for k, v in enumerate(results):
        item = new_value(ITEM, None, (call,), k, v.shape, v.number)
        item.dtype, item.owned, item.layout = v.dtype, True, v.layout
        new[v] = item
    return new
