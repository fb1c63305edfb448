"""Reports on a plan: its table, its picture, and with ``profile=True`` where the time goes.

``compiled.plan()`` prints the table. The picture shows which value uses which memory when: time goes from left to
right, one column per call, and each row is a buffer; a bar is a value in it, from the call that writes it to the last
one that reads it.

``compiled.plan(*args, profile=True)`` also measures. The step runs as often as fits into some time, once as it is and
once with a clock around each of its calls. For each call the shortest time counts: other programs disturb a machine,
and only ever make it slower.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from ..base.columns import aligned
from ..base.errors import CompileError
from ..base.modes import modes
from .matching import CAPTURED, CONSTANT, INPUT, AnyFunction, Array, Value, behind_views
from .run.buffers import Plan, shape_buffer

# ---------------------------------------------------------------- the plan: a table, and a picture of its memory

UNASKED = ("view", "stack")  # computes nothing
WIDEST, COLUMN, ROW, LEFT = 60, 18, 22, 96  # columns of the picture; its size in pixels


class PlanReport:
    """A plan as a table (``print``), as a picture (``svg()``; a notebook shows both), as data (``rows``).

    calls : the number of NumPy calls in one run. bytes : of all buffers together. groups : the number of
    phases of blocks.
    """

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.buffers = plan.buffers
        self.bytes = sum([b.nbytes for b in plan.buffers])
        self.calls = len(plan.steps)
        self.order: list[Value] = plan.program.order()
        self.names = {v: self.source(v) for v in self.order}
        if hasattr(plan, "order"):  # numbers: see compiler/run/scalars.py
            self.rows: list[tuple[str, ...]] = []
            self.groups = 0
            return
        self.steps = plan.steps
        self.names.update({s.value: str(k) for k, s in enumerate(self.steps, 1)})
        self.groups = sum([s.value.name == "blocks" for s in self.steps])
        self.where = [self.buffer_of(s.out) for s in self.steps]
        self.rows = [
            (str(k), s.value.name, str(s.value.shape), str(s.value.dtype or "several"),
             " ".join([self.operand_name(x) for x in s.value.args]), self.target(s.value, b))
            for k, (s, b) in enumerate(zip(self.steps, self.where, strict=True), 1)
        ]  # fmt: skip

    def source(self, v: Value) -> str:
        """The name of an argument, an array from outside, a constant."""
        if v.kind == INPUT:
            return f"x{v.options}"
        if v.kind == CAPTURED:
            return "outside"
        if v.kind == CONSTANT:
            return str(v.sample) if not v.shape else "constant"
        return ""

    def operand_name(self, x: Value) -> str:
        """An operand; for a view the value that it shows."""
        while not self.names[x] and x.args:
            x = x.args[0]
        return self.names[x] or x.name

    def buffer_of(self, out: object) -> int | None:
        """The number of the buffer that an array lies in."""
        return next((k for k, b in enumerate(self.buffers) if out is not None and np.may_share_memory(b, out)), None)

    def target(self, v: Value, buffer: int | None) -> str:
        """Where a value is written."""
        if buffer is not None:
            return f"buffer {buffer}"
        outputs = self.plan.program.outputs
        return f"result {outputs.index(v)}" if v in outputs else "new array"

    def __str__(self) -> str:
        calls, buffers = count_phrase(self.calls, "NumPy call"), count_phrase(len(self.buffers), "buffer")
        first = f"{calls}, {buffers} of {self.bytes:,} bytes in all"
        if hasattr(self.plan, "title"):
            first = f"{self.calls} {self.plan.title}"
        if not self.rows:
            return count_phrase(self.calls, "operation") + " on numbers"
        lines = aligned([("  ", "call", "shape", "dtype", "operands", "into"), *self.rows], right={0})
        notes = self.plan.notes() if hasattr(self.plan, "notes") else self.describe_loops()
        return "\n".join([first, *lines, *notes])

    def describe_loops(self) -> list[str]:
        """With engine="llvm": which loops each call runs, and why other calls have no loop."""
        natives = {n: s.value.function for n, s in enumerate(self.steps, 1) if hasattr(s.value.function, "describe")}
        if not natives:
            return []
        lines, why = [], next(iter(natives.values())).reason_why_not
        for n, native in natives.items():
            lines += [f"loops of {n}:", *native.describe()]
        others = [(n, s.value) for n, s in enumerate(self.steps, 1) if n not in natives and s.value.kind not in UNASKED]
        return lines + [f"{n} is NumPy's: {why(v)}" for n, v in others if not v.name.endswith("_in_loops")]

    __repr__ = __str__

    def spans(self) -> list[tuple[int, int, int, str]]:
        """(buffer, first call, last call, name) of every value in a buffer."""
        last = {behind_views(x): k for k, s in enumerate(self.steps) for x in s.value.args}
        return [
            (b, k, max(last.get(s.value, k), k), s.value.name)
            for k, (s, b) in enumerate(zip(self.steps, self.where, strict=True)) if b is not None
        ]  # fmt: skip

    def svg(self, theme: str = "light") -> str:
        """The picture, of at most the first 60 calls."""
        from ..pictures.model.style import THEMES

        color = THEMES[theme]

        def written(x: float, y: float, words: str, fill: str = "sub", anchor: str = "start") -> str:
            look = f'text-anchor="{anchor}" font-family="system-ui, sans-serif" font-size="11" fill="{color[fill]}"'
            return f'<text x="{x}" y="{y}" {look}>{escape(words)}</text>'

        spans = [span for span in self.spans() if span[1] < WIDEST] if self.rows else []
        rows = sorted({b for b, *_ in spans})
        columns = min(self.calls, WIDEST)
        parts = [written(12, 18, str(self).partition("\n")[0])]
        parts += [written(LEFT + k * COLUMN + 4, 34, f"{k + 1}") for k in range(0, columns, 5 if columns > 20 else 1)]
        for y, b in enumerate(rows):
            parts.append(written(LEFT - 8, 55 + y * ROW, f"{self.buffers[b].nbytes:,} B", anchor="end"))
        for b, first, end, name in spans:
            x, y, w = LEFT + first * COLUMN, 40 + rows.index(b) * ROW, (min(end, columns - 1) - first + 1) * COLUMN - 2
            parts.append(
                f'<g><title>{escape(f"{first + 1} {name}")}</title><rect x="{x}" y="{y + 2}" width="{w}" '
                f'height="{ROW - 5}" rx="2" fill="{color["op-fill"]}" stroke="{color["op-line"]}"/>'
                f"{written(x + 4, y + 15, name if len(name) * 6.5 < w - 6 else '', 'op-text')}</g>"
            )
        width, height = LEFT + columns * COLUMN + 12, 40 + len(rows) * ROW + 12
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="buffers over time">'
            f'<rect width="{width}" height="{height}" fill="{color["bg"]}"/>{"".join(parts)}</svg>'
        )

    def _repr_html_(self) -> str:
        table = f"<pre>{escape(str(self))}</pre>"
        if modes().static:  # a page that keeps no SVG
            return table
        return f"<div>{self.svg('dark' if modes().theme == 'dark' else 'light')}</div>{table}"


def count_phrase(n: int, what: str) -> str:
    """``1 buffer``, ``2 buffers``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


# ---------------------------------------------------------------- the profile: how long each call takes


SECONDS = 0.3  # for which a step is measured, and as long again its calls
MOST = 1000  # runs
FAILED = (
    "the compiled function was to be measured with random arguments, and ended in {}: {}. Give it arguments that it is "
    "made for: plan(x, y, profile=True)."
)
clock = time.perf_counter


class Timer:
    """A call of a plan, and the shortest time that it has taken."""

    def __init__(self, function: AnyFunction) -> None:
        self.function, self.best = function, math.inf

    def __call__(self, *args: object) -> Any:
        start = clock()
        result = self.function(*args)
        self.best = min(self.best, clock() - start)
        return result


class Profile(PlanReport):
    """A report with times. seconds : of a run. times : of each of its calls, in seconds."""

    def __init__(self, plan: Any, other: Any, arrays: Sequence[Array]) -> None:
        """``plan`` and ``other``: two plans of one program, which must not run elsewhere meanwhile."""
        super().__init__(plan)
        with np.errstate(all="ignore"):
            self.seconds, self.runs = measure(partial(plan.run, arrays))
            timers = put_clocks(other)
            if timers:
                measure(partial(other.run, arrays))
        self.times = [t.best for t in timers]

    def __str__(self) -> str:
        runs = f"the least of {count_phrase(self.runs, 'run')}"
        first, *lines = super().__str__().splitlines()
        if not self.times:
            return f"{in_units(self.seconds)} a run ({runs})\n{first}"
        whole = sum(self.times)
        shares = [f"{in_units(t):>9} {100 * t / (whole or math.inf):3.0f} % " for t in self.times]
        table = [share + line for share, line in zip([" " * 16, *shares], lines, strict=False)]
        first = f"{in_units(self.seconds)} a run ({runs}); with a clock around each call {in_units(whole)} in the calls"
        return "\n".join([first, *table, *lines[len(table) :]])

    __repr__ = __str__


def in_units(seconds: float) -> str:
    """A time in µs, or in ms.

    >>> in_units(0.00001234), in_units(0.01234)
    ('12.3 µs', '12.3 ms')
    """
    number, unit = (seconds * 1e6, "µs") if seconds < 1e-3 else (seconds * 1e3, "ms")
    return f"{number:.2f} {unit}" if number < 10 else f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"


def profile_entry(entry: Any, arrays: Sequence[Array] | None) -> Profile:
    """The profile of a recorded program; by default with random arguments between 0.5 and 1.5."""
    inputs = arrays if arrays is not None else [random_input(v) for v in entry.program.inputs]
    try:
        return Profile(entry.plan(), entry.plan(), inputs)
    except Exception as error:
        if arrays is not None:
            raise
        raise CompileError(FAILED.format(type(error).__name__, error)) from error


def random_input(v: Value) -> Array:
    """An array of the shape, dtype and order of an argument: between 0.5 and 1.5; integers are 1."""
    flat = np.random.default_rng(0).uniform(0.5, 1.5, math.prod(v.shape)).round(0 if v.dtype.kind in "iub" else 17)
    return shape_buffer(np.maximum(flat, v.dtype.kind in "iub").astype(v.dtype), v.shape, v.layout)


def measure(run: Callable[[], Any]) -> tuple[float, int]:
    """The shortest time of a run, and how many there were: at least two, since the first finds cold caches."""
    timer, runs, end = Timer(run), 0, clock() + SECONDS
    while runs < 2 or (clock() < end and runs < MOST):
        timer()
        runs += 1
    return timer.best, runs


def put_clocks(plan: Any) -> list[Timer]:
    """Put a clock around each call of a plan; in the order of its steps. Programs of numbers have no such calls."""
    timers = [Timer(step.function) for step in plan.steps] if isinstance(plan, Plan) else []
    for k, timer in enumerate(timers):
        plan.space[f"f{k}"] = timer
    return timers
