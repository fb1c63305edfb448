"""What can become a node: numbers, lists, arrays. And what cannot, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, array_type
from ..errors import LOST, DataError, LostGradientError

Array = Any
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
WHY = {
    "O": "Python objects have no arithmetic that NumPy knows. Convert them: np.array(x, dtype=float)",
    **dict.fromkeys("SUT", "text has no derivative. Parse it first: np.array(x).astype(float)"),
    "M": "dates have no derivative. Use a number: (x - x[0]) / np.timedelta64(1, 's')",
    "m": "durations have no derivative. Use a number: x / np.timedelta64(1, 's')",
    "V": "a structured array has fields. Use one of them: x['field']",
}


def plain_array(x: Any) -> Array:
    """``x`` as a plain array of a known array type, without copying one that already is.

    Raises DataError for what has no arithmetic, LostGradientError for a list with nodes in it.
    """
    kind = array_type(x)
    if kind is not None:
        if type(x) is not kind:
            if isinstance(x, (np.ma.MaskedArray, np.matrix)):
                advice = "x.filled(value)" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"
                raise DataError(f"a {type(x).__name__} has arithmetic of its own. Use {advice}.")
            x = x.view(kind)
        array = x
    else:
        if isinstance(x, (list, tuple)) and holds_node(x):
            raise LostGradientError(
                f"this {type(x).__name__} has nodes in it, and NumPy would keep only their numbers: use af.array"
                f"\n{LOST}"
            )
        array = array_of(x)
    if array.dtype.kind in WHY:
        raise DataError(f"{type(x).__name__} with dtype {array.dtype} cannot be a node: {WHY[array.dtype.kind]}.")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def array_of(x: Any) -> Array:
    """``np.asarray(x)``; of rows of different lengths NumPy's error gets a note that says what to do."""
    try:
        return np.asarray(x)
    except ValueError as error:
        if "inhomogeneous" in str(error) and isinstance(x, (list, tuple)):
            lengths = ", ".join([str(len(row)) if hasattr(row, "__len__") else "a number" for row in x[:6]])
            error.add_note(
                f"The rows of this {type(x).__name__} have lengths {lengths}{', ...' * (len(x) > 6)}: an array needs "
                f"equal ones. Pad them (and mask what was added), or make one Variable of each row."
            )
        raise


def leaf_array(value: Any, dtype: Any, copy: bool, inexact: bool) -> Array:
    """The array of a new leaf. With ``inexact`` integers and booleans become float64."""
    if type(value) is np.ndarray and dtype is None and (value.dtype is DOUBLE or value.dtype is SINGLE):  # 1 µs less
        return value.copy(order="K") if copy else value
    if type(value) not in NODE_TYPES and array_type(value) is not None and hasattr(value, "family"):
        value = value.value  # a node: its numbers
    array = plain_array(value)
    target = array.dtype if dtype is None else np.dtype(dtype)
    if target.kind in WHY:
        raise DataError(f"dtype {target} cannot be a node: {WHY[target.kind]}.")
    if inexact and target.kind not in "fc":
        if dtype is not None:
            raise DataError(f"a Variable of dtype {target} has no derivative. Use a float dtype, or af.Constant.")
        target = np.dtype(np.float64)
    if copy or target != array.dtype or array is not value:
        array = array.astype(target, order="K", copy=copy or array is value)
    return array


def holds_node(x: Any) -> bool:
    """Is there a node with a history somewhere in these nested lists?"""
    if isinstance(x, (list, tuple)):
        return any(holds_node(v) for v in x)
    return getattr(x, "requires_grad", False) is True
