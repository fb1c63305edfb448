"""Checks of what a layer or a loss is given, before anything is computed.

``who`` is a name or a layer; its repr is made only for an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base.errors import DataError, InputError
from ..nodes.nodes import value_of
from ..table.shapes import Array, is_on_host

F = TypeVar("F", bound=Callable[..., Any])


def numbers_of(x: Any) -> Array:
    """The numbers of an array, node or list: for labels and decisions, through which no gradient flows."""
    x = value_of(x)
    return x if hasattr(x, "dtype") else np.asarray(x)


def floats(who: Any, x: Any) -> None:
    """Refuse everything but real floats. Integers are mostly pixels that should be scaled first."""
    if not hasattr(x, "dtype"):
        raise DataError(f"{who} expected an array of floats, got {type(x).__name__}")
    if x.dtype.kind in "iub":
        raise DataError(
            f"{who} expected floats, got {x.dtype} of shape {x.shape}. Convert: x.astype(np.float32), and pixels of "
            f"0...255 divided by 255."
        )
    if x.dtype.kind != "f":
        raise DataError(f"{who} expected real floats, got {x.dtype}")


def shape_is(who: Any, x: Any, *shape: int | str, what: str = "input") -> None:
    """``shape_is("conv2d", x, "n", 3, "height", "width")``: numbers must be equal, words stand for any size; a
    first or last word "..." for any number of axes.

    >>> shape_is("Linear(3, 2)", np.zeros((5, 4)), "...", 3)
    Traceback (most recent call last):
    autoflow.errors.InputError: Linear(3, 2) expected input of shape (..., 3), got (5, 4)
    """
    rest = [n for n in shape if n != "..."]
    more = len(x.shape) - len(rest)
    sizes = x.shape[max(more, 0) :] if shape[:1] == ("...",) else x.shape  # those that the first of ``rest`` begins
    fits = more == 0 or (more > 0 and len(rest) < len(shape))
    if not fits or any([isinstance(n, int) and n != m for n, m in zip(rest, sizes, strict=False)]):
        wanted = ", ".join([str(n) for n in shape]) + ("," if len(shape) == 1 else "")
        raise InputError(f"{who} expected {what} of shape ({wanted}), got {x.shape}")


def same_shape(who: str, x: Any, target: Any) -> None:
    """No broadcasting between predictions and targets: (n, 1) against (n,) would silently give n × n differences."""
    if np.shape(x) != np.shape(target):
        raise InputError(
            f"{who}: predictions have shape {np.shape(x)}, targets {np.shape(target)}. They must be the same; "
            f"reshape one of them."
        )


def labels(who: Any, target: Any, classes: int, ignore: int | None = None) -> Array:
    """Class numbers as a plain integer array, all in 0...classes-1 or equal to ``ignore``.

    (Not checked on a GPU, where that would wait for the device.)"""
    target = numbers_of(target)
    if target.dtype.kind not in "iu":
        raise DataError(f"{who} expected integer class numbers, got {target.dtype}")
    if not is_on_host(target):
        return target
    wrong = find_outside_labels(target, classes, ignore)
    if wrong.any():
        raise InputError(
            f"{who}: label {target[wrong].ravel()[0]} is not one of the {classes} classes 0 ... {classes - 1}"
        )
    return target


def find_outside_labels(target: Array, classes: int, ignore: int | None) -> Array:
    """Which labels are neither a class nor ``ignore``."""
    wrong = (target < 0) | (target >= classes)
    return wrong if ignore is None else wrong & (target != ignore)


def explain_missing_rng(function: F) -> F:
    """Let a call without ``rng=`` reach :func:`generator`, whose message says what to do. In the signature ``rng`` is
    required, so checkers of types find such calls as well."""

    @functools.wraps(function)
    def calling(*args: Any, **options: Any) -> Any:
        return function(*args, **{"rng": None, **options})

    return calling  # type: ignore[return-value]


def generator(who: str, rng: Any) -> np.random.Generator:
    """Refuse anything but a Generator. Use one for all layers, so that no two of them start with the same weights."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{who} needs rng=, a Generator to draw from, one for all layers: rng = np.random.default_rng(0), then "
            f"{who}(..., rng=rng). Got {rng!r:.40}"
        )
    return rng


def probability(who: str, p: float) -> float:
    """0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise InputError(f"{who}: p is the probability of a zero, between 0 and 1, not {p}")
    return p
