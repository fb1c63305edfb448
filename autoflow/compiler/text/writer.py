"""What all languages share: values are written in order, and whatever cannot be written is reported at once, by name.

A language is a subclass of :class:`Writer` with one method for each kind of value: ``write_input``, ``write_ufunc``,
and so on. A method gets the value and what its operands were written as, and returns what the value is written as.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import CompileError
from ..matching import Value
from ..program import Program
from ..trace.memory import written_call
from ..trace.tape import fill_slots

MOST = 5  # reasons in a message


class RefusedError(TypeError):
    """A value that this language cannot compute."""


class Writer:
    """A program in one language.

    known : what each value was written as.
    """

    language = ""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[Value, Any] = {}
        self.missing: dict[str, None] = {}  # in order, each once
        self.refused: set[Value] = set()
        self.walk(program)
        if missing := [*self.missing]:
            raise CompileError(
                f"this program cannot be written as {self.language}: {'; '.join(missing[:MOST])}"
                + (f"; and {len(missing) - MOST} more" if len(missing) > MOST else "")
            )

    def walk(self, program: Program) -> None:
        """Write all that is not written yet, each value by the method for its kind."""
        for v in program.order():
            if v not in self.known and self.refused.isdisjoint(v.args):
                try:
                    self.known[v] = getattr(self, f"write_{v.kind}")(v, *[self.known[x] for x in v.args])
                except RefusedError as error:
                    self.refuse(v, error)
            elif v not in self.known:
                self.refused.add(v)

    def refuse(self, v: Value, error: RefusedError) -> None:
        """Note what cannot be written, and go on: there may be more."""
        self.refused.add(v)
        self.missing[f"{error}{written_at(v)}"] = None


def written_at(v: Value) -> str:
    """ " (line 12)", if the value knows the place in the program that it comes from."""
    place = getattr(v, "place", None)
    return f" ({place})" if place else ""


def call_of(v: Value, operands: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Of a call: its function, its arguments and its options, with ``operands`` where arrays stand."""
    function, args, options = written_call(v.function, len(v.args))
    return function, fill_slots(args, tuple(operands)), fill_slots(options, tuple(operands))


def name_of(function: Any) -> str:
    """``np.linalg.solve``, for messages and for Python.

    >>> name_of(np.linalg.solve), name_of(np.exp), name_of(np.ndarray.copy)
    ('np.linalg.solve', 'np.exp', 'np.ndarray.copy')
    """
    if isinstance(ufunc := getattr(function, "__self__", None), np.ufunc):
        return f"np.{ufunc.__name__}.{function.__name__}"
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1).replace("._core", "")
    name: str = getattr(function, "__qualname__", "") or getattr(function, "__name__", str(function))
    if isinstance(function, np.ufunc):
        module = "np" if hasattr(np, name) else "scipy.special"
    return f"{module.partition('._')[0]}.{name.removesuffix('.<locals>')}"
