"""Calls as data, and the functions behind those calls that NumPy has no function for.

``np.sum(x, axis=0)`` is recorded as a function of the array x. NumPy's engine only runs that function; other engines
look at what it says of itself: ``written`` is the function, its arguments with a :class:`~..matching.Place` for each
array, and its options. So what writes in place is a function here that returns a new array, and has a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..matching import Place

Array = Any


def write_down(run: Callable[..., Any], function: Any, args: Any, options: Any) -> Callable[..., Any]:
    """``run``, a function of arrays, with the call that it makes as data."""
    run.__name__ = getattr(function, "__name__", "call")
    run.written = function, args, options  # type: ignore[attr-defined]
    return run


def written_call(function: Any, n: int) -> tuple[Any, Any, Any]:
    """The call that a function of ``n`` arrays makes.

    >>> written_call(np.multiply, 2)
    (<ufunc 'multiply'>, (#0, #1), {})
    >>> written_call(write_down(lambda x: np.sum(x, axis=0), np.sum, (Place(0),), {"axis": 0}), 1)[1:]
    ((#0,), {'axis': 0})
    """
    function = getattr(function, "of", function)
    return getattr(function, "written", (function, tuple([Place(k) for k in range(n)]), {}))


def set_items(x: Array, index: Any, new: Any) -> Array:
    """``x[index] = new``, on a copy."""
    x = np.array(x, order="K")
    x[index] = new
    return x


def update_at(ufunc: np.ufunc, x: Array, *rest: Any) -> Array:
    """``ufunc.at(x, *rest)``, on a copy."""
    x = np.array(x, order="K")
    ufunc.at(x, *rest)
    return x


def write_into_copy(function: Callable[..., Any], x: Array, *rest: Any, **options: Any) -> Array:
    """``function(x, *rest)``, which writes into its first argument, on a copy."""
    x = np.array(x, order="K")
    function(x, *rest, **options)
    return x


def cast(x: Array, dtype: Any, order: Any, casting: Any) -> Array:
    """``x.astype(dtype, order, casting)``."""
    return (x if hasattr(x, "astype") else np.asarray(x)).astype(dtype, order, casting)


def flatten(x: Array, order: Any) -> Array:
    """``x.flatten(order)``, of numbers, too."""
    return np.asarray(x).flatten(order)


def method_of(name: str) -> Callable[..., Any]:
    """ndarray's method of that name as a function; of numbers, too."""
    method: Any = getattr(np.ndarray, name)

    def call(x: Array, *args: Any, **options: Any) -> Any:
        return method(np.asarray(x), *args, **options)

    call.__name__ = name
    call.method = name  # type: ignore[attr-defined]
    return call
