"""Warnings and errors of NumPy: a program runs silently, and notes that there was something to report.

Which operations warn or raise, with which words and in which line, eager code knows best: it runs backward passes
silently, and ``with np.errstate(...)`` inside the function counts. So a program only notes whether something happened
that its caller does not ignore, and then the function itself runs once more, in the caller's context.

That is NumPy's own mechanism: in the context of a program each kind of error that the caller does not ignore is set to
"call", and the function that is called notes it. So nothing has to be checked after each call.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...backprop.quietly import SWITCH

callers_state: Callable[[], Any] = SWITCH[0].get if SWITCH else object  # of an unknown NumPy: a new one at every call


class Reported(Exception):  # noqa: N818 - the run went well
    """The results of a run during which NumPy had something to report."""

    def __init__(self, results: Any) -> None:
        super().__init__()
        self.results = results


class Noticed:
    """What NumPy calls: ``any`` says that it did."""

    __slots__ = ("any",)

    def __init__(self) -> None:
        self.any = False

    def __call__(self, kind: str, flag: int) -> None:
        self.any = True


class Watched:
    """A plan, and the context that it runs in: silently, and noticing what the caller does not ignore."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()  # quicker to enter than np.errstate
        self.noticed = Noticed()
        self.state: Any = None  # the caller's at the last run
        self.kinds: frozenset[str] = frozenset()

    def adapt(self, state: Any) -> None:
        """Notice what this caller does not ignore."""
        self.kinds = frozenset([kind for kind, how in np.geterr().items() if how != "ignore"])
        kinds: dict[str, Any] = {kind: "call" if kind in self.kinds else "ignore" for kind in np.geterr()}
        self.context.run(np.seterrcall, self.noticed)
        self.context.run(partial(np.seterr, **kinds))
        self.state = state

    def pass_on(self) -> None:
        """Tell the program that this one is a part of, in whose context it has run."""
        if self.noticed.any:
            self.noticed.any = False
            whole: Any = np.geterrcall()
            whole("part", 0)
