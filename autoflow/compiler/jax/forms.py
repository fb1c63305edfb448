"""Where the same name is not enough: JAX has other conventions, or no function of that kind at all.

Each row is called with the :class:`~.lowering.Lowering` first. ``trace.np`` is jax.numpy. An *alarm* is a number
that is True if NumPy would raise an error for these values: the run then ends with eager code, which raises it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..trace.traced_methods import power_of_arrays
from ..trace.written import cast, flatten, set_items, update_at, write_into_copy
from .table import LeftToNumPy

if TYPE_CHECKING:
    from .lowering import Lowering

Array = Any


def parts_of(index: Any) -> tuple[Any, ...]:
    """The parts of an index."""
    return index if isinstance(index, tuple) else (index,)


def is_basic(index: Any) -> bool:
    """Numbers and slices only: known now, and each element is met once."""
    return all([p is None or p is ... or isinstance(p, (int, np.integer, slice)) for p in parts_of(index)])


def watched_index(trace: Lowering, shape: tuple[int, ...], index: Any) -> Any:
    """The index, with an alarm for what is out of range: JAX would take the last element, or none."""
    if not is_basic(index):
        inside = trace.np.ones(shape, bool).at[index].get(mode="fill", fill_value=False)
        trace.alarms.append(~inside.all())
    return index


def get_items(trace: Lowering, x: Array, index: Any) -> Array:
    """An index out of range is an error, as in NumPy: JAX would take the last element."""
    x = trace.np.asarray(x)
    return x[watched_index(trace, x.shape, index)]


def items_set(trace: Lowering, x: Array, index: Any, new: Any) -> Array:
    """Of several new values for one element the last one counts, as in NumPy. (JAX does not say which: so the largest
    place in ``new`` decides.)"""
    x, new = trace.np.asarray(x), trace.np.asarray(new).astype(x.dtype)
    if is_basic(index) or not new.ndim:
        return x.at[watched_index(trace, x.shape, index)].set(new)
    watched_index(trace, x.shape, index)
    shape = trace.np.ones(x.shape, bool)[index].shape
    places = trace.np.arange(int(np.prod(shape))).reshape(shape)
    last = trace.np.full(x.shape, -1).at[index].max(places)
    return trace.np.where(last >= 0, trace.np.broadcast_to(new, shape).reshape(-1)[last], x)


UPDATES = {np.add: "add", np.multiply: "multiply", np.maximum: "max", np.minimum: "min"}


def updated_at(trace: Lowering, ufunc: np.ufunc, x: Array, index: Any, *rest: Any) -> Array:
    """By ``x.at[index].add(y)``, also for multiply, maximum, minimum and subtract."""
    if ufunc is np.subtract and rest:
        ufunc, rest = np.add, (-trace.np.asarray(rest[0]),)
    if ufunc not in UPDATES or not rest:
        raise LeftToNumPy(f"no counterpart of np.{ufunc.__name__}.at")
    x = trace.np.asarray(x)
    at = x.at[watched_index(trace, x.shape, index)]
    z: Array = getattr(at, UPDATES[ufunc])(trace.np.asarray(rest[0]).astype(x.dtype))
    return z


def written_into(trace: Lowering, function: Any, x: Array, *rest: Any, **options: Any) -> Array:
    """As new arrays; np.put, np.place and other writers stay NumPy's."""
    if function is np.copyto:
        new = trace.np.broadcast_to(trace.np.asarray(rest[0]).astype(x.dtype), x.shape)
        return trace.np.where(trace.np.asarray(options.get("where", True)), new, x)
    if function is np.fill_diagonal:
        z: Array = trace.np.fill_diagonal(x, *rest, inplace=False, **options)
        return z
    raise LeftToNumPy(f"np.{function.__name__} writes in place")


def take(trace: Lowering, a: Array, indices: Any, axis: Any = None, mode: str = "raise", **options: Any) -> Array:
    """An index out of range is an error."""
    a, indices = trace.np.asarray(a), trace.np.asarray(indices)
    if mode == "raise":
        inside = trace.np.take(trace.np.ones(a.shape, bool), indices, axis=axis, mode="fill", fill_value=False)
        trace.alarms.append(~inside.all())
    return trace.np.take(a, indices, axis=axis, mode="wrap" if mode == "raise" else mode, **options)


def take_along_axis(trace: Lowering, arr: Array, indices: Array, axis: Any = -1) -> Array:
    """An index out of range is an error."""
    arr, indices = trace.np.asarray(arr), trace.np.asarray(indices)
    n = arr.size if axis is None else arr.shape[axis]
    trace.alarms.append(((indices < -n) | (indices >= n)).any())
    return trace.np.take_along_axis(arr, indices, axis=axis)


def searchsorted(trace: Lowering, a: Array, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Places have 64 bits, JAX's 32."""
    return trace.np.searchsorted(a, v, side=side, sorter=sorter).astype(np.intp)


def casted(trace: Lowering, x: Any, dtype: Any, order: Any, casting: Any) -> Array:
    """``x.astype(dtype)``: of the bits of a number too large for the dtype NumPy promises as little as JAX."""
    x = trace.np.asarray(x)
    return x.real.astype(dtype) if x.dtype.kind == "c" != np.dtype(dtype).kind else x.astype(dtype)


def flattened(trace: Lowering, x: Any, order: Any = "C") -> Array:
    """Without the orders that look at memory."""
    if order not in ("C", "F"):
        raise LeftToNumPy("its order is that in memory")
    return trace.np.ravel(trace.np.asarray(x), order=order)


def power(trace: Lowering, x: Any, y: Any) -> Array:
    """By np.power."""
    dtypes = [None if type(v) in (bool, int, float, complex) else v.dtype for v in (x, y)]
    return trace.ufunc(np.power, dtypes, [x, y])


def cholesky(trace: Lowering, a: Array, /, *, upper: bool = False) -> Array:
    """Of one triangle, as in NumPy: JAX takes the mean of both."""
    return trace.find(np.linalg.cholesky)(a, upper=upper, symmetrize_input=False)


def eigh(trace: Lowering, a: Array, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's name
    """Of one triangle, as in NumPy: JAX takes the mean of both."""
    return trace.find(np.linalg.eigh)(a, UPLO=UPLO, symmetrize_input=False)


def eigvalsh(trace: Lowering, a: Array, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's name
    """Of one triangle."""
    return eigh(trace, a, UPLO)[0]


FORMS: dict[Any, Callable[..., Any]] = {
    operator.getitem: get_items,
    set_items: items_set,
    update_at: updated_at,
    write_into_copy: written_into,
    np.take: take,
    np.take_along_axis: take_along_axis,
    np.searchsorted: searchsorted,
    cast: casted,
    flatten: flattened,
    np.ndarray.copy: lambda trace, x, order="C": trace.np.asarray(x),
    operator.pow: power,
    power_of_arrays: power,
    np.linalg.cholesky: cholesky,
    np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh,
}


# -- ufuncs: called with the dtype that NumPy computes in, and operands of it


def guarded(name: str) -> Callable[..., Any]:
    """A division in the dtype that NumPy computes in."""

    def form(trace: Lowering, dtype: Any, x: Array, y: Array) -> Any:
        """Of integers, what is divided by zero is 0."""
        compute = getattr(trace.np, name)
        if dtype.kind not in "iu":
            return compute(x, y)
        is_zero = y == 0
        z = compute(x, trace.np.where(is_zero, 1, y))
        parts = [trace.np.where(is_zero, 0, part) for part in (z if isinstance(z, tuple) else (z,))]
        return tuple(parts) if len(parts) > 1 else parts[0]

    return form


def power_in(trace: Lowering, dtype: Any, x: Array, y: Array) -> Array:
    """Integers to a negative power are an error."""
    if dtype.kind == "i":
        trace.alarms.append((y < 0).any())
    return trace.np.power(x, y)


OF_DTYPES: dict[Any, Callable[..., Any]] = {
    np.floor_divide: guarded("floor_divide"),
    np.remainder: guarded("remainder"),
    np.fmod: guarded("fmod"),
    np.divmod: guarded("divmod"),
    np.power: power_in,
}

# For docs/jax.md: what is written, and the form that computes it.
EXPLAINED: dict[str, Callable[..., Any]] = {
    "`x[i]` with arrays": get_items,
    "`np.take`, `np.take_along_axis`": take,
    "`x[i] = y` with arrays": items_set,
    "`np.add.at(x, i, y)`": updated_at,
    "`np.copyto`, `np.fill_diagonal`": written_into,
    "`np.linalg.cholesky`, `eigh`, `eigvalsh`": cholesky,
    "`//`, `%`, `np.fmod`, `np.divmod`": OF_DTYPES[np.floor_divide],
    "`np.power`, `x**n`": power_in,
    "`np.searchsorted`": searchsorted,
}
