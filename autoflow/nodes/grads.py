"""What is in ``.grad``, and what a user may put there.

A backward pass leaves gradients as they come: some are views, some are shared between two nodes, some are numbers.
What the user reads shares memory with nothing else, so the first read copies, unless the array has no other holder.
"""

from __future__ import annotations

from itertools import repeat
from sys import getrefcount
from typing import Any

import numpy as np

from ..backends.registry import array_type, family_of
from ..errors import GradientShapeError, MixedArraysError

Array = Any
HALF = np.dtype(np.float16)


def read_grad(holder: Any, dtype: Any) -> Array | None:
    """The gradient in ``holder`` (a Variable or a record), copied and rounded for the user at the first read."""
    g = getattr(holder, "_raw_grad", None)
    if g is None:
        return getattr(holder, "_shown_grad", None)
    if type(g) is np.ndarray and g.base is None and g.dtype == dtype and getrefcount(g) <= ALONE:
        shown = g  # no other holder: a copy of each would cost 5 % of a large training step
    elif hasattr(g, "family"):  # a node, of a pass with create_graph
        shown = g
    else:
        shown = cast_gradient(g, dtype).copy() if hasattr(g, "copy") else np.array(g, dtype)
    holder._shown_grad, holder._raw_grad = np.asarray(shown) if isinstance(shown, np.generic) else shown, None
    return holder._shown_grad


def cast_gradient(g: Array, dtype: Any) -> Array:
    """``g`` in the dtype of its node: rounded, or the real part of what a complex function sent to a real one."""
    if g.dtype == dtype:
        return g
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = np.real(g)
    with np.errstate(all="ignore"):  # what does not fit becomes infinite or 0; backward does not warn
        return g if g.dtype == dtype else g.astype(dtype)


def add_gradients(a: Array, b: Array) -> Array:
    """The sum of two contributions. Half precision is added in single precision; the record rounds once."""
    if a.dtype is HALF and b.dtype is HALF:
        return a.astype(np.float32) + b
    return a + b


def forget_grads(variables: list[Any]) -> None:
    """Clear all gradients in one call in C: otherwise Ctrl-C could leave some, and the next pass would add to them."""
    slots = ["_raw_grad"] * len(variables) + ["_shown_grad"] * len(variables)
    list(map(setattr, [*variables, *variables], slots, repeat(None)))


def as_gradient_like(x: Any, value: Array) -> Array:
    """A copy of ``x`` (an array, a list, a number) in ``value``'s dtype, as an array of the same library.

    Raises MixedArraysError for an array of a library other than NumPy and ``value``'s: nothing is copied from one
    device to another unasked, but numbers and NumPy arrays are brought to where they are needed. An array that hides a
    batch (``batching/batched.py``) stands for as many gradients, of values that have one or not.
    """
    kind: Any = array_type(x)
    if kind is type(value) or hasattr(x, "batch_layer"):
        return cast_gradient(x, value.dtype).copy()
    if kind not in (None, np.ndarray):
        raise MixedArraysError(
            f"an array of {kind.__module__}.{kind.__name__} cannot be the gradient of one of "
            f"{type(value).__module__}.{type(value).__name__}: bring it over first (x.to_cpu(), x.to_gpu())"
        )
    family = family_of(value)
    return (family.from_numpy if family else np.asarray)(np.array(x, value.dtype))


def checked_grad(node: Any, g: Any) -> Any:
    """A gradient that the user sets: None, a node, or an array of the node's shape."""
    if g is None or hasattr(g, "family"):
        return g
    value = node.value
    g = cast_gradient(g, value.dtype) if type(g) is type(value) else as_gradient_like(g, value)
    if g.shape != value.shape:
        raise GradientShapeError(f"the gradient of {node.name} has its shape {value.shape}; this one has {g.shape}")
    return g


def _count_sole_references() -> int:
    """How many references :func:`read_grad` sees on an array that only the slot holds."""

    class Holder:
        __slots__ = ("_raw_grad",)
        _raw_grad: Any

    holder = Holder()
    holder._raw_grad = np.empty(0)
    g = getattr(holder, "_raw_grad", None)
    return getrefcount(g)


ALONE = _count_sole_references()
