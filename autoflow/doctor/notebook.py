"""In IPython: ``%%gradients``, and our errors show only the user's frames."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from ..base.errors import AutoflowError
from ..base.spellings import explain_error
from ..program.watch import watch

PACKAGE = __name__.partition(".")[0]


def load_ipython_extension(shell: Any = None) -> None:
    """What ``import autoflow`` calls in IPython; and ``%load_ext autoflow``, which is not needed.

    ``%%gradients`` at the top of a cell runs it and shows what happens to derivatives on each of its lines. Tracebacks
    of autoflow's errors leave out its own frames; ``%xmode Verbose`` shows all. Pictures know the turns of loops.
    """
    shell = shell or sys.modules["IPython"].get_ipython()
    if shell is None:  # IPython is there, and not in use
        return
    watch()
    shell.register_magic_function(lambda line, cell: cover_cell(shell, cell), "cell", "gradients")
    if not shell.custom_exceptions:  # else the user has a handler already
        shell.set_custom_exc((AutoflowError, AttributeError, TypeError), show_error)


def cover_cell(shell: Any, cell: str) -> None:
    """Run a cell, and show what happens to derivatives on each of its lines."""
    from .coverage import Coverage

    seen = Coverage()
    with seen.watch():
        shell.run_cell(cell)
    for file in dict.fromkeys([file for file, _ in seen.lines]):
        print(seen.to_text(file))


def show_error(shell: Any, kind: type, error: BaseException, trace: Any, tb_offset: int | None = None) -> None:
    """Show an error without our frames; for a name or keyword of other libraries, with what to write."""
    explain_error(error)
    verbose = getattr(shell.InteractiveTB, "mode", "") == "Verbose"
    shell.showtraceback((kind, error, trace if verbose else users_frames(trace)), tb_offset=tb_offset)


def users_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without frames of this package."""
    if trace is None:
        return None
    rest, name = users_frames(trace.tb_next), trace.tb_frame.f_globals.get("__name__", "")
    is_ours = name.partition(".")[0] == PACKAGE
    return rest if is_ours else TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
