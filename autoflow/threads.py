"""Python without its global lock (3.13t, 3.14t): one warning, because nothing here was made for it.

The tables that several threads write into are safe under the global lock alone: what is noted of writes
(``nodes/versions.py``), running numbers of names, hooks of leaves, rows for sequences (``rules/table.py``) and for
checkpoints, programs of compiled functions.
"""

import sys
import warnings


def warn_if_free_threaded() -> None:
    """RuntimeWarning if this Python runs threads side by side. ``PYTHON_GIL=1`` gives it its lock back."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # False on free-threaded builds alone, from 3.13 on
        warnings.warn(
            "autoflow relies on Python's global lock, and this Python runs without it: use one thread, or start Python "
            "with PYTHON_GIL=1. With several threads a gradient may be wrong.",
            RuntimeWarning,
            stacklevel=3,
        )
