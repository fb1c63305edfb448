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
import re
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import StaleValueError
from ..base.modes import listening
from ..cli.checking import first_difference, log_runs
from ..nodes.cuts import cut_of
from ..nodes.nodes import current_record
from ..nodes.versions import FreedArray
from ..program.source import find, taken_out
from .passes import Flow, Pass, watching

# State of a line -> its sign in the text, and what it says. Of several the first is shown.
STATES = {
    "overwritten": ("w", "a value was overwritten that the derivative needs: the backward pass stopped here"),
    "lost": ("x", "numbers leave the graph here, and their gradient is lost"),
    "nan": ("!", "a derivative is NaN or infinite"),
    "zero": ("0", "a gradient came, and nothing was sent on"),
    "kink": ("^", "a function is at its kink, where any of two slopes may be taken"),
    "flows": (">", "gradients flow"),
    "constant": ("=", "constant on purpose: detached, frozen, or computed under af.no_grad()"),
    "recorded": (".", "recorded, but no backward pass came here"),
}
MEANT = re.compile(r"\.value$|\bdetach\(|stop_gradient\(")  # who writes that wants no gradient
TIES = {"maximum": 1, "minimum": 1, "fmax": 1, "fmin": 1, "absolute": None, "relu": None}  # operand to compare with
STYLE = """
:root { color-scheme: light dark; --mute: light-dark(#656d76, #9198a1) }
body { font: 14px/1.5 system-ui; margin: 2em auto; max-width: 70em; padding: 0 1em }
pre { overflow-x: auto } i { display: inline-block; width: 6.5em; font-style: normal; color: var(--mute) }
.flows { color: light-dark(#1a7f37, #3fb950) } .zero, .kink { color: light-dark(#9a6700, #d29922) }
.lost, .nan, .overwritten { color: light-dark(#cf222e, #f85149) } .constant, .recorded { color: var(--mute) }
"""


@dataclass
class Coverage:
    """Per file and line, the states that were seen there."""

    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    takers: dict[tuple[str, int], str] = field(default_factory=dict)  # what takes numbers out of the graph there
    last: Pass = field(default_factory=Pass)

    def add(self, x: Any, *states: str) -> Any:
        """Note states of the line of a record, or of what cut a history; returns the line."""
        place = getattr(x, "place", None) or getattr(x, "code", None)
        found = find(getattr(place, "code", place), x.last) if place is not None else None
        if found is None:
            return None
        key = found.place.file, found.span.line
        self.lines.setdefault(key, set()).update(states)
        return key

    def listen(self, node: Any) -> None:
        """An operation was recorded."""
        record = current_record(node)
        self.add(record, "recorded")
        for _, text in taken_out([record]):
            self.takers[self.add(record, "constant" if MEANT.search(text) else "lost")] = text
        for constant in (record.extra.constants if record.extra is not None else {}).values():
            if (cut := cut_of(constant)) is not None and cut.cause != "made":
                self.add(cut, "constant")

    def begin(self, stale: bool = False) -> Pass:
        """A backward pass begins: note what the last one has sent, and let go of it."""
        for flow in self.last.flows:
            self.add(flow.record, *states_of(flow))
        if stale:
            self.add(self.last.opened, "overwritten")
        self.last = Pass()
        return self.last

    @contextmanager
    def watch(self) -> Iterator[None]:
        """A block whose operations and passes are noted."""
        stale = False
        try:
            with listening(self.listen), watching(self.begin):
                yield
        except StaleValueError:
            stale = True
            raise
        finally:
            self.begin(stale)

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
        found = []
        for k, text in enumerate(linecache.getlines(file), 1):
            state, taker = self.state(file, k), self.takers.get((file, k))
            to_whom = f"  <- {taker}" if state == "lost" and taker else ""
            found.append((k, state, text.rstrip("\n") + to_whom))
        return found

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
    seen, file, stopped = Coverage(), str(Path(program).resolve()), False
    before, sys.argv = sys.argv, [program, *rest]
    try:
        with seen.watch():
            runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        stopped = bool(end.code)
    except Exception:
        stopped = True
        traceback.print_exc()
    finally:
        sys.argv = before
    status, logs = (1, []) if stopped else log_runs(program, rest, False)
    for log in logs[2:] if not status and logs[0] == logs[1] else ():
        name, _, line = first_difference(log, logs[0]).rpartition(", at ")[2].rpartition(":")
        if line.isdigit() and Path(name).resolve() == Path(file):
            seen.lines.setdefault((file, int(line)), set()).add("lost")
    print(seen.to_text(file))
    if given.html is not None:
        given.html.write_text(seen.to_html(file), encoding="utf-8")
    return int(stopped or seen.percent(file) < given.fail_under)
