"""Where in the user's program the values of a recorded program come from, and what they are called there.

Values have numbers in the order in which they are made. So whenever an operation has been recorded, all values since
the last one come from its line; and while a backward pass has a record open, from the derivative of that line.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from ...backprop.hooks import on_operation
from ...base.modes import modes, switched
from ...nodes.nodes import value_of
from ...program import names
from ..matching import Value
from ..trace.tape import tape_here

BACK = "back through "
PLAIN = {ord(small): f"_{digit}" for digit, small in enumerate("₀₁₂₃₄₅₆₇₈₉")}


class Lines:
    """What is noted in one recording.

    texts : the number of a value -> its line.
    names : the values that have a name in the user's program.
    """

    def __init__(self, program: Any) -> None:
        self.program, self.back = program, ""
        self.texts: dict[int, str] = {}
        self.names: dict[Value, str] = {}

    def note(self, text: str) -> None:
        """All values since the last one that is known come from there."""
        self.texts.update(dict.fromkeys(range(len(self.texts) + 1, self.program.count + 1), text))

    def wrapping(self, around: Any) -> Callable[[Any], Any]:
        """What wraps ``open_record`` of backward passes, outside of ``around``."""

        def wrap(open_record: Any) -> Any:
            inner = around(open_record)

            def open_noted(pair: Any) -> Any:
                self.note(self.back)
                self.back = BACK + line if (line := line_of(pair[0])) else ""
                return inner(pair)

            return open_noted

        return wrap

    def name(self, nodes: list[Any]) -> None:
        """The names of what was recorded that are names in Python, too."""
        found = names.Naming([node.grad_fn for node in nodes])
        for node in nodes:
            name = str(found.name(node.grad_fn)).translate(PLAIN)
            if name.isidentifier() and not keyword.iskeyword(name):
                self.names.setdefault(value_of(node).expr, name)


def line_of(record: Any) -> str:
    """``line 3: h = np.tanh(x @ w)``; empty if there is no source."""
    found = names.expression_of(record)
    if found is None:
        return ""
    return f"line {found.span.line}: {found.source.lines[found.span.line - 1].decode().strip()}"


def with_lines(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f``, to be recorded: its program then has ``lines``."""

    def run(*args: Any) -> Any:
        program, nodes = tape_here().program, []
        program.lines = lines = Lines(program)

        def see(node: Any) -> None:
            nodes.append(node)
            lines.note(line_of(node.grad_fn) or lines.back)

        with on_operation(see), switched(wrap_open_record=lines.wrapping(modes().wrap_open_record)):
            result = f(*args)
        lines.note(lines.back)
        lines.name(nodes)
        return result

    return run
