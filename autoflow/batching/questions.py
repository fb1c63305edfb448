"""What Python may not ask of an array that stands for many."""

from __future__ import annotations

from ..errors import BatchError
from ..nodes.versions import caller


def refused(what: str) -> BatchError:
    """Python wants to know a number, of which each example has another."""
    return BatchError(
        f"{what} needs one number, but under af.vmap each example has another (at {caller()}). Write "
        f"np.where(condition, a, b) instead of an if and of x[mask]; for an array to be filled np.zeros_like(x); or "
        f"call the function for each example, without vmap."
    )
