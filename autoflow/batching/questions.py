"""What Python may not ask of an array that stands for many."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..errors import BatchError
from ..nodes.nodes import NodeRole, value_of
from ..nodes.versions import caller, user_frame


def refuse_number(what: str) -> BatchError:
    """Python asks for a number that differs between examples."""
    return BatchError(
        f"{what} needs one number, but under af.vmap each example has another (at {users_line()}). Write "
        f"np.where(condition, a, b) instead of an if and of x[mask]; for an array to be filled np.zeros_like(x); or "
        f"call the function for each example, without vmap."
    )


def users_line() -> str:
    """File and line of the first frame outside of autoflow and NumPy."""
    frame = user_frame()
    if frame.f_globals.get("__name__", "").partition(".")[0] != "numpy":
        return caller()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "autoflow"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def refusing_method(word: str, convert: Any) -> Any:
    """The method by which Python asks for a number. A rule of ours may look at numbers, so it is answered if all
    examples agree, and then goes the same way for all. A user's function is refused: with other numbers it might not.
    What all examples share has one number.
    """

    def answer(x: Any) -> Any:
        numbers = x
        while hasattr(numbers, "inner") or isinstance(numbers, NodeRole):
            numbers = value_of(numbers) if isinstance(numbers, NodeRole) else numbers.inner
        if not x.shape and isinstance(numbers, np.ndarray) and numbers.size:
            shared = x.mapped is False and type(x.inner) is np.ndarray
            ours = sys._getframe(1).f_globals.get("__name__", "").startswith("autoflow.rules")
            if shared or (ours and np.all(numbers == numbers.flat[0])):
                return convert(numbers.flat[0])
        raise refuse_number(word)

    return answer
