"""The values that can become nodes (numbers, lists, arrays), and errors that say why others cannot.

Before that come other people's classes and code: some lose a gradient halfway (``program/callers.py`` has the names),
some keep a node as it is.

A class with a hook of its own (``__array_ufunc__``) adds something to numbers: a unit, coordinates, laziness. Beside a
node it may answer if it keeps the node, history and all. Whether it does cannot be seen from here, so a class says it:
``__carries_nodes__`` is the name of the attribute in which its objects keep the array that they were given (``""`` if
they keep none, as a unit alone). For libraries that do not know us a table says so, and tests try each.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, Array, array_type
from ..base.errors import LOST, DataError, LostGradientError, MixedArraysError, NoRuleError
from ..base.modes import modes
from ..program.callers import CARRIERS, HALFWAY, READERS

# ---------------------------------------------------------------- other people's classes and code


def refuse_halfway(module: str | None, gradient: bool) -> None:
    """Raise NoRuleError in code that would lose a gradient halfway, if there is one to lose."""
    for name, advice in HALFWAY.items():
        if gradient and modes().recording and f"{module}.".startswith(f"{name}."):
            name = name.replace("._", ".")
            raise NoRuleError(f"{name} of a node copies its numbers halfway, so the gradient would be wrong: {advice}")


def refuse_reader(module: str | None, node: Array, gradient: bool) -> None:
    """Raise MixedArraysError in code that takes the numbers of a node into an object of its own. (In the middle of an
    operation it says then that it does not know how to go on, and NumPy asks us.)"""
    if module in READERS and gradient and modes().recording:
        raise MixedArraysError(
            f"{module} would take the numbers of {node.name}, and the history would be lost. Give it x.value if that "
            f"is meant."
        )


def kept_in(kind: type) -> str | None:
    """The attribute in which objects of this class keep an array, a node as well; None if nothing is known of it.

    >>> class Length:
    ...     "A class of a library of units."
    ...     __carries_nodes__ = "metres"
    >>> kept_in(Length), kept_in(float)
    ('metres', None)
    """
    declared: str | None = getattr(kind, "__carries_nodes__", None)
    return listed_attribute(kind) if declared is None else declared


@functools.lru_cache(256)
def listed_attribute(kind: type) -> str | None:
    """The same, of the table."""
    names = [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in kind.__mro__]
    return next((CARRIERS[name] for name in names if name in CARRIERS), None)


def content(x: object) -> Any:
    """The array that an object of such a class keeps; None of anything else."""
    name = kept_in(type(x))
    return getattr(x, name) if name else None


# ---------------------------------------------------------------- what can become a node


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
WHY = {
    "O": "Python objects have no arithmetic that NumPy knows. Convert them: np.array(x, dtype=float)",
    **dict.fromkeys(
        "SUT",
        "text has no derivative. Parse it first: np.array(x).astype(float). A name comes second: af.Variable(2.0, 'x')",
    ),
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
        refuse_halfway(type(x).__module__, True)
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
    elif hasattr(value, "for_leaf"):
        value = value.for_leaf()
    array = plain_array(value)
    target = array.dtype if dtype is None else np.dtype(dtype)
    if target.kind in WHY:
        raise DataError(f"dtype {target} cannot be a node: {WHY[target.kind]}.")
    if inexact and target.kind not in "fc":
        if dtype is not None:
            raise DataError(f"a Variable of dtype {target} has no derivative. Use a float dtype, or af.Constant.")
        target = np.dtype(np.float64)
    return array.astype(target, order="K", copy=copy)


def holds_node(x: object) -> bool:
    """Is there a node with a history somewhere in these nested lists and dicts?"""
    if isinstance(x, (list, tuple, dict)):
        return any(holds_node(v) for v in (x.values() if isinstance(x, dict) else x))
    return getattr(x, "requires_grad", False) is True
