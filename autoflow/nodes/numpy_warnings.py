"""NumPy's warnings at the user's line: ``divide by zero encountered in log``, once for each line that does it.

NumPy warns at the innermost line of Python, or at the one that called it, which is ours. So the text would name a file
of this package; and as Python shows a warning once for each line, only the first of a program would be seen. A filter
of :mod:`warnings` is called about each warning, after those that are newer. This one says "ignore" to such a warning,
and gives it again at the user's line. Where nothing warns, nothing is done. If ``warnings.simplefilter("always")`` or
"error" comes later, it is not asked.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from .cuts import Cut, text_of
from .versions import PACKAGE, user_frame

# What is in the text of NumPy's warnings -> their category, which filters are not told.
SIGNS: dict[str, type[Warning]] = {
    " encountered": RuntimeWarning, "Mean of empty slice": RuntimeWarning, "Degrees of freedom": RuntimeWarning,
    "Casting complex values": np.exceptions.ComplexWarning, "poorly conditioned": np.exceptions.RankWarning,
    "Arrays of 2-dimensional vectors": DeprecationWarning,
}  # fmt: skip


class MessagePattern(threading.local):
    """Takes the place of a filter's pattern for the message, and remembers the message."""

    def match(self, text: str) -> bool:
        """Is it one of these?"""
        self.text = text
        self.category: type[Warning] | None = next((category for sign, category in SIGNS.items() if sign in text), None)
        return self.category is not None


class ModulePattern:
    """Takes the place of a filter's pattern for the module."""

    def __init__(self, seen: MessagePattern) -> None:
        self.seen = seen

    def match(self, module: str) -> bool:
        """Does the warning come from our code? Then give it again at the user's line."""
        if module.partition(".")[0] != PACKAGE or (category := self.seen.category) is None:
            return False
        frame: Any = user_frame("numpy")
        names, text = frame.f_globals, self.seen.text
        expression = text_of(Cut("", frame.f_code, frame.f_lasti, " "))[0].strip()
        warnings.warn_explicit(
            f"{text}: {expression}" if expression else text, category, frame.f_code.co_filename, frame.f_lineno,
            names.get("__name__"), names.setdefault("__warningregistry__", {}),
        )  # fmt: skip
        return True


def install() -> None:
    """Add the filter before the present ones, which Python and NumPy have, too: those look at what is given again."""
    text = MessagePattern()
    warnings.filters.insert(0, ("ignore", text, Warning, ModulePattern(text), 0))  # type: ignore[attr-defined]
