"""Faster versions of NumPy functions: the only place in the table where speed comes before clarity.

Each gives NumPy's bits, and calls NumPy's own function for anything else (nodes, other libraries, rare options).
How much each of them saves: ``benchmarks/README.md``, "Figures behind decisions in the code".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .blocks import FROM, reduce_rows
from .shapes import DOUBLE, NEW_ARRAY, AnyFunction, Array, Axis, Shape, given_keywords, is_numpys
from .table import primitive

FLOATS = (np.float64, np.float32)
ONE = np.array(1.0)


def twice(x: Array) -> Array:
    """x + x, whose zeros have the sign of x even if x is complex; for nodes ``2 * x``, which has one way back."""
    return x + x if type(x) is np.ndarray or not hasattr(x, "role") else 2 * x


def one_minus_square(z: Array) -> Array:
    """``1 - z * z``; for arrays with one new array instead of two, and without converting Python's 1."""
    square = z * z
    if type(square) is not np.ndarray:
        return 1 - square
    return np.subtract(ONE if square.dtype is DOUBLE else 1, square, square)


def product(a: Array, b: Array) -> Array:
    """``a @ b`` of two matrices.

    ``dot`` has less overhead than a ufunc. On contiguous arrays the bits are the same, except for (1, 1) matrices:
    ``dot`` treats those as numbers, and 0 times NaN is 0 then.
    """
    if (
        type(a) is np.ndarray and type(b) is np.ndarray and a.dtype is DOUBLE and b.dtype is DOUBLE
        and a.size > 1 and b.size > 1 and a.flags.forc and b.flags.forc
    ):  # fmt: skip
        return a.dot(b)
    return a @ b


@primitive
def broadcast_view(x: Array, shape: Shape) -> Array:
    """``np.broadcast_to``; faster where only strides have to change.

    >>> broadcast_view(np.float64(2.0), (2, 2))
    array([[2., 2.],
           [2., 2.]])
    """
    if type(x) in FLOATS:
        return np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))  # read-only, as the number is
    if type(x) is not np.ndarray or (x.ndim and (x.ndim != len(shape) or not x.size or not x.flags.c_contiguous)):
        return np.broadcast_to(x, shape)
    strides = tuple([0 if n == 1 else step for n, step in zip(x.shape, x.strides, strict=True)])
    z = np.ndarray(shape, x.dtype, x, 0, strides or (0,) * len(shape))
    z.setflags(write=False)  # quicker than z.flags.writeable = False
    return z


def axis_of(x: Array, axis: Axis) -> Axis:
    """``axis``; for a number NumPy accepts 0 and -1, too, but CuPy does not."""
    return None if not x.ndim and not is_numpys(x) and axis in (0, -1) else axis


def reducer(ufunc: np.ufunc, function: AnyFunction) -> AnyFunction:
    """``function`` as NumPy computes it; by the fast path if there are no rare options."""
    reduce = ufunc.reduce

    def compute(x: Array, axis: Axis, dtype: Any, keepdims: Any, initial: Array, where: Array) -> Array:
        if type(x) is np.ndarray and initial is None and where is None:
            if axis is not None and x.size >= FROM and (z := reduce_rows(ufunc, x, axis, dtype, keepdims)) is not None:
                return z
            return reduce(x, axis, dtype, out=NEW_ARRAY, keepdims=keepdims)
        axis = axis_of(x, axis)
        return function(x, axis=axis, keepdims=keepdims, **given_keywords(dtype=dtype, initial=initial, where=where))

    return compute


def compute_mean(x: Array, axis: Axis, dtype: Any, keepdims: Any, where: Array) -> Array:
    """``np.mean``; for float64 written out, which is faster."""
    if type(x) is np.ndarray and x.dtype == np.float64 and x.ndim and x.size and dtype is None and where is None:
        z = None if axis is None or x.size < FROM else reduce_rows(np.add, x, axis, None, keepdims)
        z = np.add.reduce(x, axis, out=NEW_ARRAY, keepdims=keepdims) if z is None else z
        return np.divide(z, x.size // z.size, out=NEW_ARRAY)
    return np.mean(x, axis=axis_of(x, axis), keepdims=keepdims, **given_keywords(dtype=dtype, where=where))


def compute_var(function: AnyFunction) -> AnyFunction:
    """np.var or np.std, with arguments in the row's order; for float64 written out, which is faster."""

    def compute(x: Array, axis: Axis, dtype: Any, ddof: float, keepdims: Any, where: Array, correction: Array) -> Array:
        usual = dtype is None and ddof == 0 and where is None and correction is None
        if usual and type(x) is np.ndarray and x.dtype == np.float64 and x.ndim and x.size:
            d = x - compute_mean(x, axis, None, True, None)
            z = compute_mean(np.multiply(d, d, out=d), axis, None, keepdims, None)
            return np.sqrt(z, out=NEW_ARRAY) if function is np.std else z
        options = given_keywords(where=where, correction=correction)
        return function(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, **options)

    return compute
