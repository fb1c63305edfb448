"""Differences between the versions of NumPy, tested with 2.3 to 2.5; the rest of the code asks here.

What NumPy removes is silently absent from the lists and the table. What it adds is refused by name until it has an
answer here: a function that is in no list (``outside.py``), a keyword that is not in the row (``table.py``) or
in the composed function (``forward/dispatch.py``), a method of ndarray (``forward/array_methods.py``). So a newer NumPy
breaks nothing.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

INSTALLED = tuple([int(part) for part in np.__version__.split(".")[:2]])

# Both are in every version, but not in the type stubs of all.
NOT_GIVEN: Any = vars(np)["_NoValue"]  # the default of NumPy's own functions where None says something
CLIP: Any = getattr(vars(np)["_core"].umath, "clip", None)  # the ufunc that ``plain.clip(node, 1.0)`` asks us for
NEW_ARRAY: Any = ...  # as out=: an array also where the result has no axes


def since(version: str) -> bool:
    """Is this NumPy that version, or a newer one?

    >>> since("2.3"), since("99.0")
    (True, False)
    """
    return tuple([int(part) for part in version.split(".")]) <= INSTALLED


def functions(namespace: Any, names: str) -> set[Any]:
    """The functions of these names, as far as this version of NumPy has them.

    >>> functions(np, "isnan not_in_this_version")
    {<ufunc 'isnan'>}
    """
    there = vars(namespace)  # getattr would warn of deprecated names
    return {there[name] for name in names.split() if name in there}


# Functions that not every version has: the last one that has it, and what it does there with a node.
UNTIL = {"in1d": ("2.3", "plain"), "trapz": ("2.3", "unseen"), "row_stack": ("2.4", "unseen")}

# Keywords that not every version has.
KEYWORDS = {("sort", "descending"): "2.5"}

# Deprecated in NumPy: nothing of ours may call them.
DEPRECATED = {"fix": "2.5"}

# NumPy knows the arguments of functions in C from 2.4 on. Here are those whose rows have named arguments.
IN_C: dict[Any, str] = {np.concatenate: "arrays axis out", np.dot: "a b out"}


def positional(function: Any) -> list[str]:
    """The names of the arguments that may be given by position; none if they are not known.

    >>> positional(np.dot), positional(np.exp)
    (['a', 'b', 'out'], ['x', 'out'])
    """
    try:
        theirs = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        if isinstance(function, np.ufunc):
            return ["x", "out"] if function.nin == 1 else [*[f"x{k + 1}" for k in range(function.nin)], "out"]
        return IN_C.get(function, "").split()
    return [p.name for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


_names = functools.cache(positional)


def name_out(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with ``out``, and what follows it, by name: ``np.cumsum(x, 0, None, z)`` writes into z.

    >>> name_out(np.cumsum, (1, 0, None, 4), {}), name_out(np.dot, (1, 2), {})
    (((1, 0, None), {'out': 4}), ((1, 2), {}))
    """
    if len(args) < 3 or isinstance(function, np.ufunc) or "out" not in (names := _names(function)):
        return args, options
    k = names.index("out")
    named = dict(zip(names[k:], args[k:], strict=False))
    if named.get("out") is None:
        named.pop("out", None)
    return args[:k], {**named, **options}


def set_array_shape(x: Any, shape: Any) -> None:
    """``x.shape = shape``, which NumPy 2.5 deprecates: a reshaped view would be a new object, x must remain itself."""
    if hasattr(np.ndarray, "_set_shape"):
        np.ndarray._set_shape(x, shape)
    else:
        vars(np.ndarray)["shape"].__set__(x, shape)
