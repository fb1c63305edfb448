"""Functions of users with derivatives of their own."""

from collections.abc import Callable
from typing import Any

import autoflow as af


def function(forward: Callable[..., Any], backward: Callable[..., Any] | None, name: str = "Made") -> Any:
    """A Function class from two functions."""
    return type(name, (af.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def saving(f: Callable[..., Any]) -> Callable[..., Any]:
    """A ``forward`` that computes f, and saves its arguments."""
    return lambda ctx, *xs: ctx.save_for_backward(*xs) or f(*xs)
