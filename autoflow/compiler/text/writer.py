"""One walk over a program, for every writer that translates it to another language or library.

Values are taken in order, each by the method for its kind; whatever cannot be written is reported at once, by name. A
language is a subclass of :class:`Writer` with ``write_input``, ``write_constant`` and ``write_captured``, and with
``write_call`` for all values that are a call of NumPy: :func:`~..matching.call_of` gives the function and its
arguments. It may have a method for another kind, too, as ``write_reduce``. A method gets the value and what its
operands were written as, and returns what the value is written as.
"""

from __future__ import annotations

from typing import Any

from ...base.errors import CompileError, NoRuleError
from ...table.facts import REDUCTIONS
from ..matching import Value
from ..program import Program

REDUCING: dict[Any, Any] = {ufunc: function for function, ufunc in reversed(REDUCTIONS.items())}  # np.add -> np.sum


class RefusedError(TypeError):
    """A value that this language cannot compute."""


class Writer:
    """A program in one language.

    known : how each value was written.
    """

    language = ""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[Value, Any] = {}
        self.missing: dict[str, None] = {}  # in order, each once
        self.refused: set[Value] = set()

    def write(self) -> None:
        """All values of the program. Raises CompileError if some cannot be written."""
        self.walk(self.program)
        if self.missing:
            raise CompileError(f"this program cannot be written as {self.language}: {'; '.join(self.missing)}")

    def walk(self, program: Program) -> None:
        """Write all that is not written yet, each value by the method for its kind."""
        for v in program.order():
            if v in self.known:
                continue
            if not self.refused.isdisjoint(v.args):
                self.refused.add(v)
                continue
            try:
                write = getattr(self, f"write_{v.kind}", self.write_call)
                self.known[v] = write(v, *[self.known[x] for x in v.args])
            except (RefusedError, NoRuleError) as error:  # the second one: of keywords that a row does not have
                self.refused.add(v)
                self.missing[str(error) if isinstance(error, RefusedError) else f"{v.name} with these arguments"] = None

    def write_call(self, v: Value, *operands: Any) -> Any:
        """A call of NumPy."""
        raise NotImplementedError

    def write_item(self, v: Value, parts: Any) -> Any:
        """One of several results."""
        return parts[v.options]
