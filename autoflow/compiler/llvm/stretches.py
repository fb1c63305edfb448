"""Which values of a program become loops, and how it is cut where others lie between them.

A value without a loop (a solver, an index, a large product) stays a call of NumPy. Everything with one is computed as
early as it can be: the *stage* of a value is the number of NumPy's calls that must have been made one after the other
before it. All values of a stage with loops become one call of the program, a :class:`~.native.Native`; so none can wait
for another, and nothing is refused that NumPy's engine takes.
"""

from __future__ import annotations

from ..program import Program, new_value
from ..values import CALL, ITEM, PRODUCT, VIEW, Value
from .formulas import code
from .native import Native
from .places import Places
from .schedule import has_loop

FEW = 3  # a stretch of fewer calls is left to NumPy: its own call takes as long


def use_loops(program: Program) -> bool:
    """Replace what loops can compute. Did that change anything?"""
    order = program.order()
    stages = find_stages(order)
    new: dict[Value, Value] = {}
    for stage in sorted(set(stages.values())):
        members = [v for v in order if stages.get(v) == stage]
        results = results_of(members, order, [*program.outputs, *program.checks])
        if len(members) >= FEW and results:
            new.update(native_call(members, results))
    return bool(new) and program.rewrite(new)


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


def reason_why_not(v: Value) -> str:
    """Why a value is no loop, for ``plan()``."""
    if v.kind == PRODUCT:
        return "a large product"
    if has_loop(v):
        return "too few calls together"
    odd = [x.dtype for x in (v, *v.args) if x.dtype is not None and code(x.dtype) is None]
    return f"computes in {odd[0]}" if odd else "no loop has it"


def results_of(members: list[Value], order: list[Value], wanted: list[Value]) -> list[Value]:
    """Those that somebody else reads, also by way of a view."""
    inside = set(members)
    results: set[Value] = set()

    def note(x: Value) -> None:
        while x.kind == VIEW and x not in inside:
            x = x.args[0]
        if x in inside:
            results.add(x)

    for v in order:
        if v not in inside and v.kind != VIEW:
            for x in v.args:
                note(x)
    for x in wanted:
        note(x)
    return [v for v in members if v in results]


def native_call(members: list[Value], results: list[Value]) -> dict[Value, Value]:
    """The call that computes them, and what stands in the place of each result."""
    native = Native(members, results)
    call = new_value(CALL, native, tuple(native.sources), None, (), members[-1].number) if native.sources else None
    if call is None:
        return {}
    call.dtype = None
    new: dict[Value, Value] = {}
    for k, v in enumerate(results):
        item = new_value(ITEM, None, (call,), k, v.shape, v.number)
        item.dtype, item.owned, item.layout = v.dtype, True, v.layout
        new[v] = item
    return new
