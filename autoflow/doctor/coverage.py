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
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import StaleValueError
from ..base.modes import listening
from ..cli.checking import find_program, log_runs, run_as_main
from ..nodes.cuts import Cut, cut_of
from ..nodes.nodes import Node, current_record
from ..nodes.records import Record
from ..program.source import find, taken_out
from .passes import Chart, GradientFlow, watching

# State of a line -> its sign in the text, and its meaning. If a line has several, the first is shown.
STATES = {
    "overwritten": ("w", "a value was overwritten that the derivative needs: the backward pass stopped here"),
    "lost": ("x", "numbers leave the graph here, and their gradient is lost"),
    "nan": ("!", "a derivative is NaN or infinite"),
    "zero": ("0", "a gradient came, and nothing was sent on to one of the operands"),
    "kink": ("^", "a function is at its kink, where either of two slopes may be taken"),
    "flows": (">", "gradients flow"),
    "constant": ("=", "constant on purpose: detached, frozen, or computed under af.no_grad()"),
    "recorded": (".", "recorded, but no gradient came here"),
}
MEANT = re.compile(r"\.value$|\bdetach\(|stop_gradient\(")  # who writes that wants no gradient
# Operands with which the first is compared, by rule; none: it is compared with 0.
TIES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), (1,)), "clip": (1, 2),
    **dict.fromkeys(("absolute", "relu", "leaky_relu"), ()),
}  # fmt: skip
Key = tuple[str, int]  # file and line
PLAIN = (int, float, np.float64, np.ndarray)
STYLE = """<meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; --mute: light-dark(#656d76, #9198a1) }
body { font: 14px/1.5 system-ui; margin: 2em auto; max-width: 70em; padding: 0 1em }
pre { white-space: pre-wrap } .flows { color: light-dark(#1a7f37, #3fb950) } .constant, .recorded { color: var(--mute) }
.zero, .kink { color: light-dark(#9a6700, #d29922) } .lost, .nan, .overwritten { color: light-dark(#cf222e, #f85149) }
</style>"""


@dataclass
class Coverage:
    """Per file and line, the states that were seen there, and for zeros and flows the operands to which they went."""

    lines: dict[Key, dict[str, set[Any]]] = field(default_factory=dict)
    takers: dict[Key | None, str] = field(default_factory=dict)  # what takes numbers out of the graph there
    order: list[Key | None] = field(default_factory=list)  # the line of each operation
    passes: list[Chart] = field(default_factory=list)  # those that are running, and the last one

    def add(self, x: Record | Cut, state: str, operand: int | None = None) -> Key | None:
        """Note a state of the line of a record, or of what cut a history; returns the line."""
        place = getattr(x, "place", None) or getattr(x, "code", None)
        code = getattr(place, "code", place)
        expr = find(code, x.last) if code is not None else None
        if expr is None:
            return None
        key = expr.place.file, expr.line
        self.lines.setdefault(key, {}).setdefault(state, set()).add((id(code), x.last, operand))
        return key

    def listen(self, node: Node) -> None:
        """An operation was recorded."""
        record = current_record(node)
        self.order.append(key := self.add(record, "recorded"))
        for _, text in taken_out([record]):
            self.takers[key] = text
            self.add(record, "constant" if MEANT.search(text) else "lost")
        for constant in (record.extra.constants if record.extra is not None else {}).values():
            if (cut := cut_of(constant)) is not None and cut.cause != "made":
                self.add(cut, "constant")

    def begin(self) -> Chart:
        """A backward pass begins, maybe inside another: note what the others have sent, and drop those that ended."""
        self.note_passes()
        self.passes = [*[p for p in self.passes if p.opener() is not None], Chart()]
        return self.passes[-1]

    def note_passes(self) -> None:
        """Note what has been sent."""
        for flow in [flow for p in self.passes for flow in p.flows]:
            for state, operand in states_of(flow):
                self.add(flow.record, state, operand)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """A block whose operations and passes are noted."""
        try:
            with listening(self.listen), watching(self.begin):
                yield
        except StaleValueError:
            self.add(self.passes[-1].opened, "overwritten")
            raise
        finally:
            self.note_passes()
            self.passes.clear()

    def compare(self, first: list[str], again: list[str], _: list[str], taken: list[str]) -> None:
        """Find where numbers have left the graph, from logs of further runs, see ``cli/checking.py``: in the last one
        numbers that leave were changed, so that operations there compute with other plain operands."""
        if first != again or len(first) != len(self.order):
            return  # it computes other numbers each time: what the text of the program tells stays
        rows = [(key, a.split("\t"), b.split("\t")) for key, a, b in zip(self.order, first, taken, strict=False)]
        alike = [row for row in takewhile(lambda row: row[1][:2] == row[2][:2], rows) if row[0] in self.lines]
        begin = next((row for row in alike if row[1] != row[2]), None)
        lost = {row[0] for row in alike if row is begin or row[1][3] != row[2][3]}
        for key in {row[0] for row in alike}:
            self.lines[key].pop("lost", None)  # type: ignore[index]
            self.lines[key].update({"lost": set()} if key in lost else {})  # type: ignore[index]

    def states(self, key: Key) -> list[str]:
        """The states of a line; the first is shown. It is zero if an operand there has never received anything."""
        by_state = self.lines.get(key, {})
        dry = by_state.get("zero", set()) - by_state.get("flows", set())
        return [state for state in STATES if state in by_state and (dry or state != "zero")]

    def state(self, key: Key) -> str:
        """The state shown for a line; empty if nothing was computed there."""
        return next(iter(self.states(key)), "")

    def percent(self, *files: str) -> float:
        """How many of their lines with operations have gradients that flow."""
        states = [s for key in self.lines if key[0] in files and (s := self.states(key)) != ["constant"]]
        return 100.0 * sum(["flows" in s and not {"lost", "nan"} & {*s} for s in states]) / max(len(states), 1)

    def rows(self, file: str) -> Iterator[tuple[int, str, str]]:
        """The number, state and text of each line."""
        for k, text in enumerate(linecache.getlines(file), 1):
            state = self.state((file, k))
            taker = self.takers.get((file, k)) if state == "lost" else None
            yield k, state, text.rstrip("\n") + (f"  <- {taker}" if taker else "")

    def listing(self, *files: str) -> Iterator[tuple[str, str]]:
        """The sources, each line with its state and its sign; then the meaning of the signs, and a percentage."""
        for file in files:
            yield from [("", f"{os.path.basename(file)}:")] if len(files) > 1 else ()
            for k, state, text in self.rows(file):
                yield state, f"{STATES[state][0] if state else ' '} {k:4} {text}"
        used = {self.state(key) for key in self.lines if key[0] in files}
        yield "", ""
        yield from [(state, f"{sign} {meaning}") for state, (sign, meaning) in STATES.items() if state in used]
        yield "", f"Gradients flow on {self.percent(*files):.0f} % of the lines with operations."

    def to_text(self, *files: str) -> str:
        """These lines."""
        return "\n".join([text for _, text in self.listing(*files)])

    def to_html(self, *files: str) -> str:
        """The same as a page, with colours."""
        lines = "\n".join([f'<span class="{state}">{html.escape(text)}</span>' for state, text in self.listing(*files)])
        name = html.escape(os.path.basename(files[0]))
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Gradients in {name}</title>{STYLE}'
        return f"{head}<h1>Gradients in {name}</h1><pre>{lines}</pre></html>"


def states_of(flow: GradientFlow) -> Iterator[tuple[str, int | None]]:
    """The states of one operation in a pass, some with an operand."""
    if flow.came.bad is not None or any([s.bad for s in flow.sent.values()]):
        yield "nan", None
    if flow.came.nonzero:
        each = [("flows" if s.nonzero else "zero", k) for k, s in flow.sent.items() if s.entries]
        yield from each if flow.sent else [("flows", None)]  # all its gradients are computed at once
    saved, others = flow.record.saved, TIES.get(flow.record.rule.name)
    if others is not None and isinstance(saved[0], (np.ndarray, np.generic)):
        limits = [saved[k] for k in others] or [0.0]
        if any([np.any(np.equal(saved[0], x)) for x in limits if type(x) in PLAIN or isinstance(x, np.generic)]):
            yield "kink", None


def main(program: str, *arguments: str) -> int:
    """``--coverage program.py``: print the program with the signs, write its page to the FILE of ``--html FILE``;
    returns 1 if the percentage is below ``--fail-under``."""
    parser = argparse.ArgumentParser(prog="python -m autoflow --coverage")
    parser.add_argument("--html", metavar="FILE", type=Path)
    parser.add_argument("--fail-under", metavar="PERCENT", type=float, default=0.0)
    options, rest = parser.parse_known_args(arguments)
    if not (file := find_program(program)):
        return 2
    main_file = Path(file).resolve()
    seen, stopped, before = Coverage(), False, (sys.argv, sys.path[:])
    try:
        with seen.watch():
            run_as_main(str(main_file) if file == program else program, *rest)
    except SystemExit as end:
        stopped = bool(end.code)
    except Exception:
        stopped = True
        traceback.print_exc()
    finally:
        sys.argv, sys.path[:] = before
    if not stopped:
        seen.compare(*log_runs(program, rest, False)[1])
    own = {f for f, _ in seen.lines if Path(f).is_relative_to(main_file.parent) and "site-packages" not in f}
    files = [str(main_file), *sorted(own - {str(main_file)})]
    print(seen.to_text(*files))
    if options.html is not None:
        options.html.write_text(seen.to_html(*files), encoding="utf-8")
    return int(stopped or seen.percent(*files) < options.fail_under)
