"""Where the time of a compiled step goes: ``compiled.plan(*args, profile=True)``.

The step runs as often as fits into some time, once as it is and once with a clock around each of its calls. Of each
piece the least time counts: a machine is disturbed by others, and only ever becomes slower by that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import CompileError
from .report import Report, count_phrase
from .run.buffers import Plan, shape_buffer
from .run.tiles import Phase
from .values import CAPTURED, CONSTANT, INPUT, Value

Array = Any
SECONDS = 0.3  # for which a step is measured, and as long again its pieces
MOST = 1000  # runs
ROW, LEFT, BAR = 20, 290, 360  # pixels of the picture
WIDEST = 40  # rows of it
FAILED = (
    "the compiled function was to be measured with random arguments, and ended in {}: {}. Give it arguments that it is "
    "made for: plan(x, y, profile=True)."
)
clock = time.perf_counter


class Timer:
    """A function, and the least time that a call of it has taken. ``inside``: what tells of its pieces."""

    def __init__(self, function: Callable[..., Any], inside: Any = None) -> None:
        self.function, self.inside, self.best = function, inside, math.inf

    def __call__(self, *args: Any) -> Any:
        start = clock()
        result = self.function(*args)
        self.best = min(self.best, clock() - start)
        if self.inside is not None:
            self.inside.look()
        return result


@dataclass(frozen=True)
class Piece:
    """A call or a loop. depth : 0 for a call, 1 for what lies in it. share : of the time of all calls."""

    name: str
    seconds: float
    depth: int
    share: float


class Blocks:
    """A phase, with the time of one of its blocks as well."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.inner: Profile | None = None

    def __call__(self, *arrays: Array) -> list[Array]:
        self.arrays = arrays
        return self.phase(*arrays)

    def look(self) -> None:
        """Measure the first block, once."""
        if self.inner is None:
            arrays = self.arrays
            i, j = self.phase.edges[0]
            inputs = [a[i:j] if rows else a for a, rows in zip(arrays, self.phase.sliced, strict=True)]
            written = [np.empty((j - i, *v.shape[1:]), v.dtype) for v in self.phase.whole]
            self.inner = Profile(self.phase.plan(j - i), self.phase.plan(j - i), [*inputs, *written])
        del self.arrays


class Profile(Report):
    """A report with times. seconds : of a run. times : of each of its calls, in seconds."""

    def __init__(self, plan: Any, other: Any, arrays: Sequence[Array]) -> None:
        """``plan`` and ``other``: two plans of one program, which must not run elsewhere meanwhile."""
        super().__init__(plan)
        with np.errstate(all="ignore"):
            self.seconds, self.runs = measure(partial(plan.run, arrays))
            self.timers = put_clocks(other)
            if self.timers:
                measure(partial(other.run, arrays))
        self.times = [t.best for t in self.timers]

    def pieces(self) -> list[Piece]:
        """All that is run, in its order."""
        found: list[Piece] = []
        whole = sum(self.times) or math.inf  # 0 where the clock is too coarse, as in browsers
        for row, timer in zip(self.rows, self.timers, strict=True):
            share = timer.best / whole
            found += [Piece(f"{row[0]} {row[1]}  {row[2]}", timer.best, 0, share), *within(timer, share)]
        return found

    def __str__(self) -> str:
        runs = f"the least of {count_phrase(self.runs, 'run')}"
        first = f"{in_units(self.seconds)} a run ({runs})"
        if not self.timers:
            return f"{first}\n{super().__str__()}"
        table = super().__str__().splitlines()
        whole = sum(self.times)
        first += f"; with a clock around each call {in_units(whole)} in the calls"
        shares = [" " * 16, *[f"{in_units(t):>9} {100 * t / (whole or math.inf):3.0f} % " for t in self.times]]
        lines = [first, *[share + line for share, line in zip(shares, table[1:], strict=True)]]
        for n, timer in enumerate(self.timers, 1):
            inner = within(timer)
            if inner:
                lines.append(self.title_of(n))
                lines += [f"{in_units(x.seconds):>9} {'  ' * x.depth}{x.name}" for x in inner]
        natives = super().describe_loops()
        return "\n".join([*lines, *[line for line in natives if "is NumPy's" in line]])

    __repr__ = __str__

    def title_of(self, n: int) -> str:
        """What the lines about the n-th call are about."""
        inside = self.timers[n - 1].inside
        if isinstance(inside, Blocks):
            return f"one of the {count_phrase(len(inside.phase.edges), 'block')} of {n}:"
        return f"loops of {n}:"

    def describe_loops(self) -> list[str]:
        """Said with their times."""
        return []

    def svg(self, theme: str = "light") -> str:
        """A bar for each piece, in the order in which they run; what lies in a call is set in."""
        from ..pictures.model.style import THEMES

        color = THEMES[theme]
        pieces = self.pieces()[:WIDEST] or [Piece("all", self.seconds, 0, 1.0)]
        longest = max([x.share for x in pieces]) or math.inf
        width, height = LEFT + BAR + 90, 34 + ROW * len(pieces) + 10
        font = 'font-family="system-ui, sans-serif" font-size="11"'
        title = f"{in_units(self.seconds)} a run"
        parts = [f'<rect width="{width}" height="{height}" fill="{color["bg"]}"/>',
                 f'<text x="12" y="20" {font} fill="{color["sub"]}">{escape(title)}</text>']  # fmt: skip
        for k, x in enumerate(pieces):
            y, long, words = 34 + ROW * k, x.share / longest * BAR, 42 - 3 * x.depth
            shown = x.name if len(x.name) <= words else x.name[: words - 1] + "…"
            parts.append(
                f'<g><title>{escape(x.name)}: {escape(in_units(x.seconds))}</title>'
                f'<text x="{12 + 14 * x.depth}" y="{y + 14}" {font} fill="{color["op-text"]}">{escape(shown)}</text>'
                f'<rect x="{LEFT}" y="{y + 3}" width="{max(long, 1):.1f}" height="{ROW - 6}" rx="2" '
                f'fill="{color["bg" if x.depth else "op-fill"]}" stroke="{color["op-line"]}"/>'
                f'<text x="{LEFT + long + 6:.1f}" y="{y + 14}" {font} fill="{color["sub"]}">'
                f'{escape(in_units(x.seconds))}</text></g>'
            )  # fmt: skip
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="time of each piece">{"".join(parts)}</svg>'
        )


def within(timer: Timer, share: float = 1.0) -> list[Piece]:
    """The loops of a stretch, or the calls of one block of a phase. Their shares are those of the whole: of a block the
    pieces take as much of it as of all blocks."""
    inside = timer.inside
    if isinstance(inside, Blocks):
        found = inside.inner.pieces() if inside.inner is not None else []
        return [Piece(x.name, x.seconds, x.depth + 1, x.share * share) for x in found]
    loops = inside.times() if inside is not None else []
    return [Piece(name.strip(), seconds, 1, share * seconds / (timer.best or math.inf)) for name, seconds in loops]


def in_units(seconds: float) -> str:
    """A time in µs, or in ms.

    >>> in_units(0.00001234), in_units(0.01234)
    ('12.3 µs', '12.3 ms')
    """
    number, unit = (seconds * 1e6, "µs") if seconds < 1e-3 else (seconds * 1e3, "ms")
    return f"{number:.2f} {unit}" if number < 10 else f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"


def profile_entry(entry: Any, arrays: Sequence[Array] | None) -> Profile:
    """The profile of a recorded program; without arguments with random ones between 0.5 and 1.5."""
    given = arrays if arrays is not None else [random_input(v) for v in entry.program.inputs]
    try:
        return Profile(entry.plan(), entry.plan(), given)
    except Exception as error:
        if arrays is not None:
            raise
        raise CompileError(FAILED.format(type(error).__name__, error)) from error


def random_input(v: Value) -> Array:
    """An array of the shape, dtype and order of an argument: between 0.5 and 1.5; of integers 1."""
    flat = np.random.default_rng(0).uniform(0.5, 1.5, math.prod(v.shape)).round(0 if v.dtype.kind in "iub" else 17)
    return shape_buffer(np.maximum(flat, v.dtype.kind in "iub").astype(v.dtype), v.shape, v.layout)


def measure(run: Callable[[], Any]) -> tuple[float, int]:
    """The least time of a run, and how many there were: at least two, since the first finds cold caches."""
    best, runs, end = math.inf, 0, clock() + SECONDS
    while runs < 2 or (clock() < end and runs < MOST):
        start = clock()
        run()
        best = min(best, clock() - start)
        runs += 1
    return best, runs


def put_clocks(plan: Any) -> list[Timer]:
    """Put a clock around each call of a plan; in the order of its steps. Programs of numbers have no such calls."""
    if hasattr(plan, "native"):
        inside = look_inside(plan.native)
        timer = Timer(inside.run, inside)
        plan.native = SimpleNamespace(run=timer, mask_of=inside.mask_of)
        return [timer]
    if not isinstance(plan, Plan):
        return []
    timers: list[Timer] = []

    def clocked(call: Callable[..., Any]) -> Timer:
        inside = look_inside(call)
        timers.append(Timer(call if inside is None else inside, inside))
        return timers[-1]

    plan.segments = [([*map(clocked, bound)], clocked(function), *rest) for bound, function, *rest in plan.segments]
    plan.tail = [*map(clocked, plan.tail)]
    steps = zip(timers[len(plan.copied) :], plan.steps, strict=True)
    return [timer for timer, step in steps if step.value.kind not in (INPUT, CAPTURED, CONSTANT)]


def look_inside(call: Any) -> Any:
    """What does the same and tells of its pieces; None if there are none."""
    if isinstance(call, Phase):
        return Blocks(call)
    if hasattr(call, "schedule"):
        from .llvm.timing import Timed

        return Timed(call)
    return None
