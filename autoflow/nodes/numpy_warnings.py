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

from ..program.callers import PACKAGE, user_frame
from .cuts import Cut, text_of

# In the text of NumPy's warnings.
SIGNS = " encountered", "of empty slice", "Degrees of freedom", "Casting complex", "poorly conditioned", "2-dimensional"


class Pattern(threading.local):
    """Takes the place of a filter's pattern, and remembers what it was asked about.

    The filters may be copied, sent to other processes (where it is that process's own), or made anew from the attribute
    ``pattern``, as scikit-learn does: those remember nothing, and the category says no.
    """

    pattern, asked = "", ""

    def match(self, text: str) -> bool:
        """Yes: it is the category that decides."""
        self.asked = text
        return True

    def __reduce__(self) -> str:
        return "MESSAGE" if self is MESSAGE else "MODULE"


MESSAGE, MODULE = Pattern(), Pattern()


class AskedLast(type):
    """The class of what takes the place of a filter's category, about which Python asks after message and module."""

    def __subclasscheck__(cls, category: type) -> bool:
        """Is it a NumPy warning that comes from our code? Then give it again at the user's line."""
        text, MESSAGE.asked = MESSAGE.asked, ""
        is_ours = MODULE.asked.partition(".")[0] == PACKAGE and any([sign in text for sign in SIGNS])
        if not (is_ours and issubclass(category, (RuntimeWarning, DeprecationWarning))):
            return False
        frame = user_frame("numpy")
        expression = text_of(Cut("", frame.f_code, frame.f_lasti, " "))[0].strip()
        warnings.warn_explicit(
            f"{text}: {expression}" if expression else text, category, frame.f_code.co_filename, frame.f_lineno,
            frame.f_globals.get("__name__"), frame.f_globals.setdefault("__warningregistry__", {}),
        )  # fmt: skip
        return True


class NumPysWarning(Warning, metaclass=AskedLast):
    """The category of the filter."""


def install() -> None:
    """Add the filter before the present ones, which Python and NumPy have, too: those look at what is given again."""
    warnings.filters.insert(0, ("ignore", MESSAGE, NumPysWarning, MODULE, 0))  # type: ignore[attr-defined]
