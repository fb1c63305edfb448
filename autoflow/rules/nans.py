"""The twins of sum, mean, max, ... that leave out NaN.

A NaN has not been used, so its gradient is zero: exactly as with ``where=~np.isnan(x)``, and that is how it is
computed here, by the derivatives of ``reductions.py``. Every NaN is replaced before anything is multiplied
by it, so that derivatives of the derivatives stay free of NaN as well. Where all elements are NaN, all gradients are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .extremes import Reached, find_maxima, how_many
from .kernels import broadcast_view
from .reductions import cumprod_x, cumsum_x, in_dtype, mask_out, mean_x, product_of_others, std_x, var_x
from .shapes import Axis, given_keywords, is_numpys, restore_axes
from .table import rule

Array = Any


def numbers(x: Array, where: Any) -> Array:
    """True where an element is used."""
    ok = ~np.isnan(x)
    return ok if where is None else ok & where


def fill_empty_rows(ok: Array, axis: Axis) -> Array:
    """``ok``, but True throughout a row that has no True: the mean of that row, though unused, is then finite."""
    return ok | ~ok.any(axis=axis, keepdims=True)


def nansum_x(g: Array, x: Array, axis: Axis, keepdims: bool, where: Any) -> Array:
    """Every number receives its sum's gradient."""
    return mask_out(broadcast_view(restore_axes(g, x.shape, axis, keepdims), x.shape), numbers(x, where))


def nanprod_x(g: Array, x: Array, axis: Axis, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """Every number receives the product of the others."""
    ok = numbers(x, where)
    g = restore_axes(g if initial is None else g * initial, x.shape, axis, keepdims)
    return mask_out(g * product_of_others(np.where(ok, in_dtype(x, dtype), 1), axis), ok)


def nanmean_x(g: Array, x: Array, axis: Axis, keepdims: bool, where: Any) -> Array:
    """Every number receives its share of its mean's gradient."""
    ok = numbers(x, where)
    return mask_out(mean_x(g, x.shape, axis, keepdims, fill_empty_rows(ok, axis)), ok)


def nanvar_x(
    g: Array, x: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any, correction: Any
) -> Array:  # fmt: skip
    """2 (x − m) / n at the numbers."""
    ok = numbers(x, where)
    return mask_out(
        var_x(g, np.where(ok, x, 0), axis, dtype, ddof, keepdims, fill_empty_rows(ok, axis), correction), ok
    )


def nanstd_x(
    g: Array, x: Array, z: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any, correction: Any
) -> Array:  # fmt: skip
    """(x − m) / (n z) at the numbers; 0 where all of them are equal."""
    ok, x, z = numbers(x, where), np.where(numbers(x, where), x, 0), np.where(np.isnan(z), 0, z)
    return mask_out(std_x(g, x, z, axis, dtype, ddof, keepdims, fill_empty_rows(ok, axis), correction), ok)


def nanmax_x(g: Array, reached: Reached) -> Array:
    """Equal entries share evenly; NaN is equal to nothing."""
    mask, count, axis, keepdims = reached
    count = np.maximum(how_many(mask, axis) if count is None else count, 1)
    g = restore_axes(g, mask.shape, axis, keepdims)
    return mask_out(g / count.astype(np.result_type(g.dtype, np.float32)), mask)


def nancumsum_x(g: Array, x: Array, axis: Any) -> Array:
    """The running sum from behind, at the numbers."""
    return mask_out(cumsum_x(g, x.shape, axis), numbers(x, None))


def nancumprod_x(g: Array, x: Array, axis: Any, dtype: Any) -> Array:
    """As the derivative of cumprod, with 1 at NaN."""
    ok = numbers(x, None)
    return mask_out(cumprod_x(g, np.where(ok, x, 1), axis, dtype), ok)


def by_keyword(function: Any, *names: str) -> Callable[..., Any]:
    """``function(x, axis=..., ...)`` from arguments in the row's order; those not given are left out."""
    return lambda x, axis, *values: function(x, axis=axis, **given_keywords(**dict(zip(names, values, strict=True))))


def spread_in_dtype(function: Any) -> Callable[..., Any]:
    """np.nanvar or np.nanstd. CuPy's compute in the precision of x, whatever ``dtype`` says: so x gets that dtype."""
    compute = by_keyword(function, "dtype", "ddof", "keepdims", "where", "correction")
    return lambda x, axis, dtype, *rest: compute(
        x if dtype is None or is_numpys(x) or x.dtype.kind == "c" else x.astype(dtype), axis, dtype, *rest
    )


# fmt: off
rule(np.nansum,  "x | axis=None dtype=None keepdims=None initial=None where=None", "Σ", r"\sum $x", x=nansum_x,
     compute=by_keyword(np.nansum, "dtype", "keepdims", "initial", "where"))
rule(np.nanprod, "x | axis=None dtype=None keepdims=None initial=None where=None", "Π", r"\prod $x", x=nanprod_x,
     compute=by_keyword(np.nanprod, "dtype", "keepdims", "initial", "where"))
rule(np.nanmean, "x | axis=None dtype=None keepdims=None where=None", "mean", r"\operatorname{mean} $x", x=nanmean_x,
     compute=by_keyword(np.nanmean, "dtype", "keepdims", "where"))
rule(np.nanvar,  "x | axis=None dtype=None ddof=0 keepdims=None where=None correction=None", "var",
     r"\operatorname{var} $x", x=nanvar_x, compute=spread_in_dtype(np.nanvar), holomorphic=False)
rule(np.nanstd,  "x | axis=None dtype=None ddof=0 keepdims=None where=None correction=None", "std",
     r"\operatorname{std} $x", x=nanstd_x, compute=spread_in_dtype(np.nanstd), holomorphic=False)
rule(np.nanmax,  "x | axis=None keepdims=None initial=None where=None", "max", r"\max $x", x=nanmax_x,
     residual={"x": find_maxima}, compute=by_keyword(np.nanmax, "keepdims", "initial", "where"))
rule(np.nanmin,  "x | axis=None keepdims=None initial=None where=None", "min", r"\min $x", x=nanmax_x,
     residual={"x": find_maxima}, compute=by_keyword(np.nanmin, "keepdims", "initial", "where"))
rule(np.nancumsum,  "x | axis=None dtype=None", "Σ…", r"\operatorname{cumsum} $x",  x=nancumsum_x)
rule(np.nancumprod, "x | axis=None dtype=None", "Π…", r"\operatorname{cumprod} $x", x=nancumprod_x)
# fmt: on
