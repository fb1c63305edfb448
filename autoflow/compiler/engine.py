"""engine="numpy"; and what an engine is.

An engine is a module with two functions. ``options(how)`` checks the user's options, and returns what else must be
kept of it. ``prepare(program, how)`` may rewrite the program, and returns the function that makes a *plan* of it for
one more run at the same time. Others know these attributes of a plan:

    run(arrays)      the results for these inputs
    noticed.any      did NumPy have something to report?
    program, steps, buffers; notes() or title, if there is more to say: for ``plan()``

An engine may have a ``KIND`` of compiled functions, for arguments that others do not take. Nothing else knows an
engine, and no engine knows how programs are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.types import ByName
from .passes import drop_copies, join, recompute, tile_program
from .program import Program
from .run.buffers import Plan
from .run.scalars import Slots, of_numbers
from .run.tiles import Improve


def options(how: ByName) -> dict[str, Any]:
    """Raise ValueError for options of other engines."""
    for name in ("cache", "own_functions"):
        if how[name]:
            raise ValueError(f'af.compile(f, {name}=...) is an option of loops of our own: say engine="llvm".')
    return {}


def prepare(program: Program, how: ByName, improve: Improve = lambda program, targets: targets) -> Callable[[], Any]:
    """Prepare a program of NumPy calls, in blocks where arrays are large. ``improve``: a further pass over each
    block."""
    drop_copies(program)
    join(program)
    if how.get("checkpointing"):
        recompute(program)
    tile_program(program, improve)
    return lambda: plan_of(program)


def plan_of(program: Program) -> Plan | Slots:
    """The fast plan if it is a program of numbers."""
    order = program.order()
    return Slots(program, order) if of_numbers(order, program.outputs) else Plan(program, order=order)
