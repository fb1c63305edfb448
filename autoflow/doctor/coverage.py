"""Coverage of gradients: what happens to derivatives on each line of a program.

``python -m autoflow --coverage program.py`` runs the program, with operations and backward passes watched, and again
for numbers that are read past us (``cli/checking.py``). In a notebook, after ``%load_ext autoflow``, ``%%gradients`` at
the top of a cell does the first part for that cell.
"""

from __future__ import annotations

import argparse
import html
import linecache
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..base.modes import listening
from ..cli.checking import first_difference, log_runs
from ..nodes.cuts import cut_of
from ..nodes.nodes import current_record
from ..nodes.versions import FreedArray
from ..program.places import Activation
from ..program.source import find
from .passes import Flow, Pass, watching

# State of a line -> its sign in the text, and what it says. Of several the first is shown.
STATES = {
    "lost": ("x", "numbers leave the graph here, and their gradient is lost"),
    "nan": ("!", "a derivative is NaN or infinite"),
    "zero": ("0", "a gradient came, and nothing was sent on"),
    "kink": ("^", "a function is at its kink, where any of two slopes may be taken"),
    "flows": (">", "gradients flow"),
    "constant": ("=", "constant on purpose: detached, frozen, or computed under af.no_grad()"),
    "recorded": (".", "recorded, but no backward pass came here"),
}
TIES = {"maximum": 1, "minimum": 1, "fmax": 1, "fmin": 1, "absolute": None, "relu": None}  # operand to compare with
STYLE = """
:root { color-scheme: light dark; --ok: #1a7f37; --bad: #cf222e; --warn: #9a6700; --mute: #656d76 }
@media (prefers-color-scheme: dark) { :root { --ok: #3fb950; --bad: #f85149; --warn: #d29922; --mute: #9198a1 } }
body { font: 14px/1.5 system-ui; margin: 2em auto; max-width: 70em; padding: 0 1em }
pre { overflow-x: auto } i { display: inline-block; width: 5.5em; font-style: normal; color: var(--mute) }
.flows { color: var(--ok) } .lost, .nan { color: var(--bad) } .zero, .kink { color: var(--warn) }
.constant, .recorded { color: var(--mute) }
"""


@dataclass
class Coverage:
    """Per file and line, the states that were seen there."""

    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    last: Pass = field(default_factory=Pass)

    def add(self, place: Any, last: int, *states: str) -> None:
        """Note states of the line of an instruction."""
        code = place.code if type(place) is Activation else place
        found = find(code, last) if code is not None else None
        if found is not None:
            self.lines.setdefault((found.place.file, found.span.line), set()).update(states)

    def listen(self, node: Any) -> None:
        """An operation was recorded."""
        record = current_record(node)
        self.add(getattr(record, "place", None), getattr(record, "last", -1), "recorded")
        for constant in (record.extra.constants if record.extra is not None else {}).values():
            if (cut := cut_of(constant)) is not None and cut.cause != "made":
                self.add(cut.code, cut.last, "constant")

    def begin(self) -> Pass:
        """A backward pass begins: note what the last one has sent, and let go of it."""
        for flow in self.last.flows:
            if hasattr(flow.record, "place"):
                self.add(flow.record.place, flow.record.last, *states_of(flow))
        self.last = Pass()
        return self.last

    @contextmanager
    def watch(self) -> Iterator[None]:
        """A block whose operations and passes are noted."""
        with listening(self.listen), watching(self.begin):
            yield
        self.begin()

    def state(self, file: str, line: int) -> str:
        """The state shown for a line; empty if nothing was computed there."""
        seen = self.lines.get((file, line), ())
        return next((state for state in STATES if state in seen), "")

    def percent(self, file: str) -> float:
        """How many of its lines with operations have gradients that flow."""
        states = [s for (f, _), s in self.lines.items() if f == file and s != {"constant"}]
        flowing = [s for s in states if "flows" in s and not s & {"lost", "nan"}]
        return 100.0 * len(flowing) / max(len(states), 1)

    def rows(self, file: str) -> list[tuple[int, str, str]]:
        """The number, state and text of each line."""
        lines = linecache.getlines(file)
        return [(k, self.state(file, k), text.rstrip("\n")) for k, text in enumerate(lines, 1)]

    def to_text(self, file: str) -> str:
        """The source, each line with the sign of its state, and what the signs mean."""
        rows = self.rows(file)
        body = [f"{STATES[state][0] if state else ' '} {k:4} {text}" for k, state, text in rows]
        used = [
            f"{sign} {meaning}" for state, (sign, meaning) in STATES.items() if any([s == state for _, s, _ in rows])
        ]
        return "\n".join(
            [*body, "", *used, f"Gradients flow on {self.percent(file):.0f} % of the lines with operations."]
        )

    def to_html(self, file: str) -> str:
        """The same as a page."""
        rows = [
            f'<span class="{state}"><i>{state}</i>{k:4} {html.escape(text)}</span>'
            for k, state, text in self.rows(file)
        ]
        name = html.escape(os.path.basename(file))
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><style>{STYLE}</style>'
            f"<h1>{name}: gradients flow on {self.percent(file):.0f} % of the lines with operations</h1>"
            f"<pre>{chr(10).join(rows)}</pre></html>"
        )


def states_of(flow: Flow) -> Iterator[str]:
    """The states of one operation in a pass."""
    if flow.came.bad is not None or any([s.bad for s in flow.sent.values()]):
        yield "nan"
    if flow.came.nonzero and any([s.entries and not s.nonzero for s in flow.sent.values()]):
        yield "zero"
    if any([s.nonzero for s in flow.sent.values()]):
        yield "flows"
    record, name = flow.record, flow.record.rule.name
    if name in TIES and isinstance(record.saved[0], (np.ndarray, np.generic)):
        other = 0.0 if TIES[name] is None else record.saved[1]
        if not isinstance(other, FreedArray) and np.any(np.equal(record.saved[0], other)):
            yield "kink"


def main(program: str, *arguments: str) -> int:
    """``--coverage program.py``: print the program with the signs, write ``program.html``'s page where ``--html FILE``
    says; 1 if the percentage is below ``--fail-under``."""
    parser = argparse.ArgumentParser(prog="python -m autoflow --coverage")
    parser.add_argument("--html", metavar="FILE", type=Path)
    parser.add_argument("--fail-under", metavar="PERCENT", type=float, default=0.0)
    given, rest = parser.parse_known_args(arguments)
    seen, file = Coverage(), str(Path(program).resolve())
    with seen.watch():
        before, sys.argv = sys.argv, [program, *rest]
        try:
            runpy.run_path(file, run_name="__main__")
        finally:
            sys.argv = before
    status, (first, again, shadow, taken) = log_runs(program, rest, False)
    for log, other in ((shadow, first), (taken, first)):
        place = first_difference(other, log) if first == again and not status else ""
        name, _, line = place.rpartition(", at ")[2].rpartition(":")
        if line.isdigit() and Path(name).resolve() == Path(file):
            seen.lines.setdefault((file, int(line)), set()).add("lost")
    print(seen.to_text(file))
    if given.html is not None:
        given.html.write_text(seen.to_html(file), encoding="utf-8")
    return int(seen.percent(file) < given.fail_under)
