"""What ``af.vmap(f)`` is: f called for each example, and the results stacked.

Whatever the quicker way cannot answer is done like this; and what it returns is compared with one example.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

import numpy as np

from ..base import pytree
from ..base.errors import BatchError, InputError
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import value_of
from .axes import is_array, spread_axes
from .settling import close


def run_loop(f: Any, batch: Any, options: Any, out_axes: Any) -> Any:
    """f for each example, on read-only views; results as new memory, by np.stack."""
    results = []
    for k in range(batch.size):
        try:
            results.append(f(*batch.arguments(operator.itemgetter(k)), **options))
        except Exception as error:
            error.add_note(f"(af.vmap: in example {k})")
            raise
    first = results[0]
    axes = spread_axes(out_axes, first, "out_axes", "result")
    columns = list(zip(*[pytree.tree_leaves(z) for z in results], strict=True))
    if len({len(pytree.tree_leaves(z)) for z in results}) > 1:
        raise BatchError("the function returns other containers for some examples, so they cannot be stacked")

    def stacked(found: tuple[Any, ...], axis: Any) -> Any:
        if not is_array(found[0]) or axis is None:
            if any([not is_same(x, found[0]) for x in found]):
                raise InputError(
                    "a result that is not stacked (a text, or with out_axes=None) differs between examples"
                )
            return found[0]
        kinds = [(np.shape(x), np.result_type(value_of(x))) for x in found]
        k = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), 0)
        if k:
            (shape, dtype), (other, another) = kinds[0], kinds[k]
            raise BatchError(
                f"the function returns {dtype} of shape {shape} for example 0, and {another} of shape {other} for "
                f"example {k}: they cannot be one array"
            )
        z: Any = np.stack(found)
        if not -z.ndim <= axis < z.ndim:
            raise InputError(f"out_axes={axis}: the result for all examples has the axes 0 to {z.ndim - 1}")
        return np.moveaxis(z, 0, axis) if axis else z

    return pytree.tree_unflatten(first, [stacked(c, a) for c, a in zip(columns, axes, strict=True)])


def is_same(a: Any, b: Any) -> bool:
    """One thing, or equal ones."""
    try:
        return a is b or bool(np.all(a == b))
    except Exception:
        return False


def same_as_one(result: Any, one: Any, axes: list[Any]) -> bool:
    """Has ``result`` in front what f returns for the first example alone?"""
    found, single = pytree.tree_leaves(result), pytree.tree_leaves(one)
    if len(found) != len(single):
        return False
    for z, x, axis in zip(found, single, axes, strict=True):
        if not is_array(z) or not is_array(x):
            if not is_same(z, x) and type(z) is not type(x):
                return False
            continue
        z, x = value_of(z), value_of(x)
        if not isinstance(z, np.ndarray) or not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
            continue  # recorded by somebody else
        z = z if axis is None else np.moveaxis(z, axis, 0)[0]
        if np.shape(z) != np.shape(x) or z.dtype != np.result_type(x).newbyteorder("=") or not close(z, x):
            return False
    return True


def code_of(f: Any, depth: int = 4) -> Any:
    """What stands for a function of the user's where a new object of it, with other numbers, means the same code."""
    if type(f) is types.FunctionType and not f.__closure__ and not f.__defaults__:
        return f.__code__
    if isinstance(f, FunctionOfFunction):
        return type(f), code_of(f.f, depth)
    if isinstance(f, functools.partial):
        return code_of(f.func, depth)
    if isinstance(f, types.MethodType):
        return code_of(f.__func__, depth), type(f.__self__)
    if isinstance(f, types.FunctionType):
        inside = [c.cell_contents for c in f.__closure__ or () if has_contents(c)] + list(f.__defaults__ or ())
        functions = [v for v in inside if callable(v) and not isinstance(v, np.ndarray)]
        return f.__code__, *[code_of(v, depth - 1) for v in functions if depth]
    return f if isinstance(f, (np.ufunc, types.BuiltinFunctionType, type(np.sum))) else type(f)


def has_contents(cell: Any) -> bool:
    """Is there a value in it?"""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
