"""When an answer counts as the same as the right one, and how to show it in a few words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TOLERANCE = 0.01  # of numbers that are not whole: two or three digits on paper are enough


def same(answer: Any, right: Any) -> bool:
    """Whole numbers, words and shapes exactly, other numbers to 1 %, sets in any order, arrays entry by entry."""
    if isinstance(right, str):
        return isinstance(answer, str) and answer.strip().casefold() == right.strip().casefold()
    if isinstance(right, bool):
        return isinstance(answer, (bool, np.bool_)) and bool(answer) == right
    try:
        if isinstance(right, set):  # lists in the answer are an error
            return isinstance(answer, (set, list, tuple)) and set(answer) == right
        given, wanted = np.asarray(getattr(answer, "value", answer), float), np.asarray(right, float)
    except (TypeError, ValueError):
        return False
    if given.shape != wanted.shape:
        return False
    exact = np.asarray(right).dtype.kind == "i"
    return bool(np.all(np.isclose(given, wanted, rtol=1e-9 if exact else TOLERANCE, atol=1e-9)))


def shown(answer: Any) -> str:
    """An answer in a few words."""
    if callable(answer):
        return f"{getattr(answer, '__name__', 'your function')}()"
    if isinstance(answer, str):
        return repr(answer)
    value = getattr(answer, "value", answer)
    if isinstance(value, (float, int, np.ndarray, np.generic)) and np.ndim(value) == 0 and not isinstance(value, bool):
        number = float(value)
        return f"{number:.6g}" if math.isfinite(number) else str(number)
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39] + "…"
