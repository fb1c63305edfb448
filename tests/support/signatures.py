"""The signatures of NumPy's functions and methods, also of those in C, which NumPy tells from 2.4 on.

``signatures.txt`` is what 2.4 says of them; they are the same in 2.3.
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = dict(line.split(" ", 1) for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines())
UFUNC = "({names}, /, out={out}, *, {axes}casting='same_kind', order='K', dtype=None, subok=True, signature=None)"


def signature_of(function: Any) -> inspect.Signature:
    """As ``inspect.signature``; a ValueError where nobody knows."""
    try:
        return inspect.signature(function)
    except ValueError:
        if (text := recorded(function)) is None:
            raise
    made: dict[str, Any] = {}
    exec(f"def function{text}: pass", {}, made)
    return inspect.signature(made["function"])


def recorded(function: Any) -> str | None:
    """The signature as 2.4 prints it."""
    if isinstance(function, np.ufunc):
        names = ["x"] if function.nin == 1 else [f"x{k + 1}" for k in range(function.nin)]
        axes = "axes=None, axis=None, keepdims=False, " if function.signature else "where=True, "
        out = "None" if function.nout == 1 else (None,) * function.nout
        return UFUNC.format(names=", ".join(names), axes=axes, out=out)
    place = "ndarray" if getattr(function, "__objclass__", None) is np.ndarray else "np"
    return TEXTS.get(f"{place}.{function.__name__}")
