"""Functions that reduce many numbers to one: sums, products, means, spreads, extremes; running ones; twins for NaN.

Some options mean the same in all of them. ``axis`` and ``keepdims``: :func:`~autoflow.table.shapes.restore_axes` gives
the gradient the removed axes back, with length 1, and broadcasting does the rest. ``where``: masked elements are not
used, so their gradient is zero. ``initial``: one more element, a constant.

The largest and the smallest elements (max, min, ptp): equal ones share the gradient. A row keeps where they are, not
the elements, which may be overwritten or freed.

The twins of sum, mean, max, ... that leave out NaN: a NaN is not used, so its gradient is zero, exactly as with
``where=~np.isnan(x)``, and it is computed in that way, by the derivatives above. Every NaN is replaced before anything
is multiplied by it, so that derivatives of the derivatives stay free of NaN, too. Where all elements are NaN, all
gradients are 0.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ..base.types import AnyFunction, Array, ByName, DTypeLike, Shape
from ..table.blocks import in_blocks
from ..table.bodies import run_own
from ..table.kernels import FLOATS, broadcast_view, compute_mean, compute_var, reducer
from ..table.shapes import (
    Axis,
    as_dtype,
    axes_of,
    count_along,
    divide_by_count,
    from_last,
    is_numpys,
    is_on_host,
    numbers_of,
    restore_axes,
    sum_to,
    to_last,
)
from ..table.table import composed, primitive, rule


def mask_out(g: Array, where: Any) -> Array:
    """Zero where an element has been left out by ``where=``."""
    return g if where is None or where is True else np.where(where, g, 0)


def count_used(shape: Shape, axis: Axis, where: Any) -> Array:
    """How many elements went into each result: a number, or with ``where=`` an array with the axes kept."""
    if where is None or where is True:
        return count_along(shape, axis)
    return np.broadcast_to(where, shape).sum(axis=axis, keepdims=True)


# ---------------------------------------------------------------- sum, mean, variance


def sum_x(g: Array, x_shape: Shape, axis: Axis, keepdims: bool, where: object) -> Array:
    """z[i] = Σ_j x[i, j], so dz[i]/dx[i, j] = 1: every element receives its sum's gradient.

    Shapes: x (..., n, ...), z without (or with length-1) ``axis``; returns x.shape.
    """
    if type(g) in FLOATS and where is None:  # mostly of a loss; not a node, so there is nothing to dispatch
        return broadcast_view.compute(g, x_shape)  # type: ignore[attr-defined]
    return mask_out(broadcast_view(restore_axes(g, x_shape, axis, keepdims), x_shape), where)


def mean_x(g: Array, x_shape: Shape, axis: Axis, keepdims: bool, where: object) -> Array:
    """z = Σ x / n: every element receives an n-th of its mean's gradient."""
    g = divide_by_count(restore_axes(g, x_shape, axis, keepdims), count_used(x_shape, axis, where))
    return mask_out(broadcast_view(g, x_shape), where)


def deviations(x: Array, axis: Axis, dtype: DTypeLike, where: object) -> Array:
    """x - mean(x), at least in single precision; what ``where`` leaves out, which may be NaN, is taken as 0."""
    x = mask_out(x, where)
    dtype = np.float32 if dtype is None and x.dtype == np.float16 else dtype
    if where is not None and not is_on_host(x):  # CuPy's mean knows no where=
        total = np.sum(x, axis=axis, dtype=dtype, keepdims=True)
        return x - total / count_used(x.shape, axis, where)
    return x - compute_mean(x, axis, dtype, True, where)


def freedom(shape: Shape, axis: Axis, ddof: object, correction: object, where: object) -> Array:
    """The divisor of a variance: max(n - ddof, 0), as in NumPy. ``correction`` is another name for ddof."""
    n = count_used(shape, axis, where) - (ddof if correction is None else correction)
    return max(n, 0) if isinstance(n, (int, float)) else np.maximum(n, 0)


def spread_over(g: Array, x: Array, axis: Axis, ddof: Any, keepdims: bool, where: object, correction: object) -> Array:
    """``g`` over the degrees of freedom, to be multiplied by deviations. (With ``dtype=complex`` NumPy's real number
    has an imaginary part, 0, to which nothing flows.)"""
    g = restore_axes(np.real(g) if g.dtype.kind == "c" else g, x.shape, axis, keepdims)
    return divide_by_count(g, freedom(x.shape, axis, ddof, correction, where))


def var_x(g: Array, x: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any, correction: Any) -> Array:
    """z = Σ (x - m)² / n, so dz/dx = 2 (x - m) / n. (That m depends on x as well adds Σ (x - m) = 0.)"""
    g = spread_over(g, x, axis, ddof, keepdims, where, correction)
    return mask_out(2 * g * deviations(x, axis, dtype, where), where)


def std_x(
    g: Array, x: Array, z: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: object, correction: object
) -> Array:  # fmt: skip
    """z = √var, so dz/dx = (x - m) / (n z); 0 where all values are equal, as a subgradient.

    The mean of equal values may be rounded. Then neither z nor x - m is 0 (for three 0.1 they are 1e-17), but all x - m
    are the same few units in the last place, whose mean is exact. (Only numbers are compared, so nothing is recorded.)

    The inner ``np.where`` keeps the unused 1/z finite: derivatives of this derivative stay free of NaN too.
    """
    z = restore_axes(z, x.shape, axis, keepdims)
    d = deviations(x, axis, dtype, where)
    rest = deviations(numbers_of(d), axis, dtype, where)
    equal = (z == 0) | ((z == z) & ~np.any(mask_out(rest, where), axis=axis, keepdims=True))  # no NaN: of one, ddof=1
    g = spread_over(g, x, axis, ddof, keepdims, where, correction)
    return mask_out(np.where(equal, 0, g / np.where(equal, 1, z)) * d, where)


# fmt: off
rule(np.sum, "x | axis=None dtype=None keepdims=False initial=None where=None", "Σ", r"\sum $x", x=sum_x,
     compute=reducer(np.add, np.sum))
rule(broadcast_view, "x | shape", "⇗", r"$x\!\nearrow", view=True, x=lambda g, x_shape: sum_to(g, x_shape))
rule(np.mean, "x | axis=None dtype=None keepdims=False where=None", x=mean_x, compute=compute_mean)
rule(np.var, "x | axis=None dtype=None ddof=0 keepdims=False where=None correction=None",
     x=var_x, compute=compute_var(np.var), holomorphic=False)
rule(np.std, "x | axis=None dtype=None ddof=0 keepdims=False where=None correction=None",
     x=std_x, compute=compute_var(np.std), holomorphic=False)
# fmt: on

# ---------------------------------------------------------------- products and running sums


def shift_right(x: Array) -> Array:
    """(1, x₀, x₁, ..., xₙ₋₂) along the last axis: its running product is that of all entries *before* each."""
    return np.concatenate([np.ones_like(x[..., :1]), x[..., :-1]], axis=-1)


def product_of_others(x: Array, axis: Axis) -> Array:
    """The product of all entries along ``axis`` but the one in that place: from the left times from the right.

    No division by the entry itself, which may be zero.

    >>> product_of_others(np.array([2.0, 0.0, 5.0]), 0)
    array([ 0., 10.,  0.])
    """
    y = to_last(x, axis)
    left = np.cumprod(shift_right(y), axis=-1)
    right = np.cumprod(shift_right(y[..., ::-1]), axis=-1)[..., ::-1]
    return from_last(left * right, x.shape, axis)


def in_dtype(x: Array, dtype: DTypeLike) -> Array:
    """The numbers that a reduction with ``dtype=`` computes with: a real dtype drops imaginary parts (the numbers stay
    complex, so that a complex gradient goes back to x)."""
    drops = dtype is not None and x.dtype.kind == "c" and np.dtype(dtype).kind != "c"
    return as_dtype(np.real(x), dtype) + 0j if drops else x if dtype is None else as_dtype(x, dtype)


def prod_x(g: Array, x: Array, axis: Axis, dtype: Any, keepdims: bool, initial: object, where: Any) -> Array:
    """z = Π x, so dz/dxᵢ is the product of the others."""
    x = in_dtype(x, dtype)
    g = restore_axes(g if initial is None else g * initial, x.shape, axis, keepdims)
    return mask_out(g * product_of_others(x if where is None else np.where(where, x, 1), axis), where)


def cumsum_x(g: Array, x_shape: Shape, axis: object) -> Array:
    """zₖ = Σ_{i≤k} xᵢ, so xᵢ receives Σ_{k≥i} gₖ: the running sum from the end."""
    behind = (slice(None),) * (0 if axis is None else axis % g.ndim) + (slice(None, None, -1),)
    wide = np.float32 if g.dtype == np.float16 else None  # half precision is added up in single precision
    z = as_dtype(g[behind].cumsum(0 if axis is None else axis, wide)[behind], g.dtype)
    return z if z.shape == x_shape else z.reshape(x_shape)


@primitive
def recur(x: Array, y: Array) -> Array:
    """zᵢ = xᵢ zᵢ₋₁ + yᵢ along the last axis (z₋₁ = 0). Shapes: x, y, z (..., n).

    >>> recur(np.array([7.0, 2.0, 2.0]), np.array([1.0, 0.0, 1.0]))
    array([1., 2., 5.])
    """
    dtype = np.result_type(x, y)
    z = y.astype(np.promote_types(dtype, np.float32))  # half precision is added up in single precision
    for i in range(1, z.shape[-1]):
        z[..., i] += x[..., i] * z[..., i - 1]
    return as_dtype(z, dtype)


def recur_y(g: Array, x: Array) -> Array:
    """yᵢ reaches zᵢ, and through it zᵢ₊₁, ...: sᵢ = gᵢ + xᵢ₊₁ sᵢ₊₁, the same recurrence from the end."""
    return recur(shift_right(x[..., ::-1]), g[..., ::-1])[..., ::-1]


def recur_x(g: Array, x: Array, z: Array) -> Array:
    """xᵢ is multiplied by zᵢ₋₁, so it receives sᵢ zᵢ₋₁; the first is multiplied by nothing."""
    before = np.concatenate([np.zeros_like(z[..., :1]), z[..., :-1]], axis=-1)
    return recur_y(g, x) * before


def cumprod_x(g: Array, x: Array, axis: Any, dtype: Any) -> Array:
    """zₖ = x₀ ... xₖ, so xᵢ receives (x₀ ... xᵢ₋₁) Σ_{k≥i} gₖ (xᵢ₊₁ ... xₖ): exact at zeros.

    The sum is the recurrence of :func:`recur_y`, from the end.
    """
    y = to_last(in_dtype(x, dtype), axis)
    return from_last(np.cumprod(shift_right(y), axis=-1) * recur_y(to_last(g, axis), y), x.shape, axis)


run_own(np.cumulative_sum, np.cumulative_prod)

# fmt: off
rule(np.prod, "x | axis=None dtype=None keepdims=False initial=None where=None", "Π", r"\prod $x", x=prod_x,
     compute=reducer(np.multiply, np.prod))
rule(np.cumsum, "x | axis=None dtype=None", "Σ…", r"\operatorname{cumsum} $x", x=cumsum_x)
rule(np.cumprod, "x | axis=None dtype=None", "Π…", r"\operatorname{cumprod} $x", x=cumprod_x)
rule(recur, "x y", "recur", r"\operatorname{recur}($x, $y)", x=recur_x, y=recur_y)
# fmt: on


# ---------------------------------------------------------------- the largest and the smallest: max, min, ptp


PLAIN = (np.ndarray, np.float64)  # of a pass that is not recorded


class Reached(NamedTuple):
    """The places of the maxima of an array. Derivatives need nothing else, so the array may be overwritten or freed.

    mask : is this element equal to its maximum? Of the array's shape.
    shares : among how many elements each maximum is shared, with the axes kept with length 1; None if the mask says
        so, since then it can wait for the pass back.
    axis, keepdims : along which axes the maxima were taken, and whether the result has them.
    """

    mask: Array
    shares: Array | None
    axis: Axis
    keepdims: bool


def find_maxima(x: Array, axis: Axis, keepdims: bool, initial: object, where: Any, z: Array) -> Reached:
    """The maxima (or minima) z of x along ``axis``, found in x. ``initial`` is one more element.

    >>> find_maxima(np.array([2.0, 1.0, 2.0]), None, False, None, None, np.array(2.0)).mask
    array([ True, False,  True])
    """
    keepdims = bool(keepdims)
    z = restore_axes(z, x.shape, axis, keepdims)
    mask = in_blocks(operator.eq, x, z) if where is None else np.logical_and(x == z, where)
    shares = None if initial is None else how_many(mask, axis) + (z == initial)
    return Reached(mask, shares, axis, keepdims)


def how_many(mask: Array, axis: Axis) -> Array:
    """How many are true along ``axis``, which is kept with length 1."""
    return mask.sum(axis=axis, keepdims=True)


def share_of_max(g: Array, reached: Reached, least: int = 0) -> Array:
    """Equal entries share the gradient of their maximum (or minimum) evenly. In a row with a NaN nothing is equal to
    the maximum, and 0 / 0 gives NaN; where NaN is left out the divisor is at least ``least``, 1."""
    mask, count, axis, keepdims = reached
    g = restore_axes(g, mask.shape, axis, keepdims)
    if count is None and type(g) in PLAIN and (sent := sent_to_one_each(g, mask, axis)) is not None:
        return sent
    count = how_many(mask, axis) if count is None else count
    count = (np.maximum(count, least) if least else count).astype(np.result_type(g.dtype, np.float32))
    return np.where(mask, g / count, 0 / count)


def sent_to_one_each(g: Array, mask: Array, axis: Axis) -> Array | None:
    """Each element of ``g`` at the place of its maximum, zeros elsewhere: mostly there are no ties, and nothing to
    divide. None if there are, or if a NaN leaves a row without a maximum.

    >>> sent_to_one_each(np.array([5.0, 7.0]), np.array([[False, True], [True, False]]), 1)
    array([[0., 5.],
           [7., 0.]])
    """
    if np.count_nonzero(mask) != g.size:
        return None
    if axis is not None and axes_of(axis, mask.ndim) != (mask.ndim - 1,):
        return np.where(mask, g, 0) if mask.any(axis=axis).all() else None
    places = np.flatnonzero(mask)  # in the order of g: quicker than np.where
    if g.size > 1 and (places // mask.shape[-1] != np.arange(g.size)).any():
        return None
    z = np.zeros(mask.shape, g.dtype)
    z.reshape(-1)[places] = g.reshape(-1)
    return z


def extreme(ufunc: np.ufunc, function: AnyFunction) -> AnyFunction:
    """:func:`reducer` of a function without ``dtype``."""
    compute = reducer(ufunc, function)
    return lambda x, axis, keepdims, initial, where: compute(x, axis, None, keepdims, initial, where)


@composed(np.ptp)
def ptp(a: Array, axis: Axis = None, out: object = None, keepdims: bool = False) -> Array:
    """max - min."""
    options: ByName = {"axis": axis, "keepdims": keepdims}
    return np.subtract(np.max(a, **options), np.min(a, **options))


# fmt: off
for ours, ufunc, alias, word in ((np.max, np.maximum, np.amax, "max"), (np.min, np.minimum, np.amin, "min")):
    rule(ours, "x | axis=None keepdims=False initial=None where=None", word, rf"\{word} $x", also=(alias,),
         compute=extreme(ufunc, ours), residual={"x": find_maxima}, x=lambda g, reached: share_of_max(g, reached))
# fmt: on


# ---------------------------------------------------------------- the twins that leave out NaN


def numbers(x: Array, where: Any) -> Array:
    """True where an element is used."""
    ok = ~np.isnan(x)
    return ok if where is None else np.logical_and(ok, where)


def fill_empty_rows(ok: Array, axis: Axis) -> Array:
    """``ok``, but True throughout a row that has no True: the mean of that row, though unused, is then finite."""
    return ok | ~ok.any(axis=axis, keepdims=True)


def nanmean_x(g: Array, x: Array, axis: Axis, keepdims: bool, where: object) -> Array:
    """Every number receives its share of its mean's gradient."""
    ok = numbers(x, where)
    return mask_out(mean_x(g, x.shape, axis, keepdims, fill_empty_rows(ok, axis)), ok)


def nanvar_x(
    g: Array, x: Array, axis: Axis, dtype: Any, ddof: object, keepdims: bool, where: object, correction: object
) -> Array:  # fmt: skip
    """2 (x − m) / n at the numbers."""
    ok = numbers(x, where)
    return mask_out(
        var_x(g, np.where(ok, x, 0), axis, dtype, ddof, keepdims, fill_empty_rows(ok, axis), correction), ok
    )


def nanstd_x(
    g: Array, x: Array, z: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: object, correction: object
) -> Array:  # fmt: skip
    """(x − m) / (n z) at the numbers; 0 where all of them are equal."""
    ok, x, z = numbers(x, where), np.where(numbers(x, where), x, 0), np.where(np.isnan(z), 0, z)
    return mask_out(std_x(g, x, z, axis, dtype, ddof, keepdims, fill_empty_rows(ok, axis), correction), ok)


def nancumprod_x(g: Array, x: Array, axis: object, dtype: DTypeLike) -> Array:
    """As the derivative of cumprod, with 1 at NaN."""
    ok = numbers(x, None)
    return mask_out(cumprod_x(g, np.where(ok, x, 1), axis, dtype), ok)


def spread_in_dtype(function: Any) -> AnyFunction:
    """np.nanvar or np.nanstd. CuPy's compute in the precision of x, whatever ``dtype`` says, so x gets that dtype."""
    return lambda x, dtype=None, **options: function(
        x if dtype is None or is_numpys(x) or x.dtype.kind == "c" else x.astype(dtype), dtype=dtype, **options
    )


# fmt: off
rule(np.nansum,  "x | axis=None dtype=None keepdims=None initial=None where=None", "Σ", r"\sum $x",
     x=lambda g, x, axis, keepdims, where: sum_x(g, x.shape, axis, keepdims, numbers(x, where)), by_name=True)
rule(np.nanprod, "x | axis=None dtype=None keepdims=None initial=None where=None", "Π", r"\prod $x", by_name=True,
     x=lambda g, x, axis, dtype, keepdims, initial, where: prod_x(
         g, x, axis, dtype, keepdims, initial, numbers(x, where)))
rule(np.nanmean, "x | axis=None dtype=None keepdims=None where=None", "mean", x=nanmean_x, by_name=True)
rule(np.nanvar, "x | axis=None dtype=None ddof=0 keepdims=None where=None correction=None", "var", by_name=True,
     x=nanvar_x, compute=spread_in_dtype(np.nanvar), holomorphic=False)
rule(np.nanstd, "x | axis=None dtype=None ddof=0 keepdims=None where=None correction=None", "std", by_name=True,
     x=nanstd_x, compute=spread_in_dtype(np.nanstd), holomorphic=False)
for ours, word in ((np.nanmax, "max"), (np.nanmin, "min")):
    rule(ours, "x | axis=None keepdims=None initial=None where=None", word, rf"\{word} $x", by_name=True,
         residual={"x": find_maxima}, x=lambda g, reached: share_of_max(g, reached, 1))
rule(np.nancumsum,  "x | axis=None dtype=None", "Σ…", r"\operatorname{cumsum} $x",
     x=lambda g, x, axis: mask_out(cumsum_x(g, x.shape, axis), numbers(x, None)))
rule(np.nancumprod, "x | axis=None dtype=None", "Π…", r"\operatorname{cumprod} $x", x=nancumprod_x)
# fmt: on
