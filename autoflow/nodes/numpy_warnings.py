"""NumPy's warnings at the user's line: ``divide by zero encountered in log``, once for each line that does it.

NumPy warns at the innermost line of Python, which is ours. So the text would name a file of this package; and as Python
shows a warning once for each line, only the first of a program would be seen. A filter of :mod:`warnings` is called
about each warning, after those of the user. This one says "ignore" to such a warning, and gives it again at the user's
line. Where nothing warns, nothing is done. Under ``warnings.simplefilter("always")`` or "error" it is not asked.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from .cuts import Cut, text_of
from .versions import PACKAGE, user_frame

SIGN = " encountered in "  # in the text of what NumPy's np.errstate is about


class MessagePattern(threading.local):
    """Takes the place of a filter's pattern for the message, and remembers the message."""

    text = ""

    def match(self, text: str) -> bool:
        """Is it about floating-point numbers?"""
        self.text = text
        return SIGN in text


class ModulePattern:
    """Takes the place of a filter's pattern for the module."""

    def __init__(self, seen: MessagePattern) -> None:
        self.seen = seen

    def match(self, module: str) -> bool:
        """Does the warning come from our code? Then give it again at the user's line."""
        if module.partition(".")[0] != PACKAGE or SIGN not in self.seen.text:
            return False
        frame: Any = user_frame()
        names, text = frame.f_globals, self.seen.text
        expression = text_of(Cut("", frame.f_code, frame.f_lasti, " "))[0].strip()
        warnings.warn_explicit(
            f"{text}: {expression}" if expression else text, RuntimeWarning, frame.f_code.co_filename, frame.f_lineno,
            names.get("__name__"), names.setdefault("__warningregistry__", {}),
        )  # fmt: skip
        return True


def install() -> None:
    """Add the filter behind the present ones."""
    text = MessagePattern()
    warnings.filters.append(("ignore", text, RuntimeWarning, ModulePattern(text), 0))  # type: ignore[attr-defined]
