"""Calls that the row of their function does not cover, written with functions that have rows.

``np.std(x, mean=m)``, ``np.where(c)``, ``np.vecdot(x, y, axis=0)``, and ``where=`` of all ufuncs. Such a call differs
by one keyword; the row does not have it, because every call without it would pay.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import LostGradientError, NoRuleError
from ..table.outside import is_node, public_name
from ..table.shapes import (
    NOT_GIVEN,
    Axis,
    as_array,
    as_dtype,
    axes_of,
    given_keywords,
    has_gradient,
    is_given,
    is_on_host,
    numbers_of,
)
from ..table.table import RULES, primitive, rule
from .reductions import freedom
from .statistics import quantile_x, refuse_overwrite

Array = Any
VARIANTS: dict[Any, tuple[Callable[[Any, Any], bool], Callable[..., Any]]] = {}  # function -> is it such a call, answer


def variant(*functions: Any, when: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """``@variant(np.std, when=...)``: for calls whose ``(args, options)`` fit, this function replaces NumPy's."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in functions:
            VARIANTS[key] = when, function
        return function

    return register


# ---------------------------------------------------------------- spreads about a mean that is given


def has_mean(args: Any, options: Any) -> bool:
    """Is ``mean=`` given?"""
    return is_given(options.get("mean"))


@variant(np.var, when=has_mean)
def var_about(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    mean: Any, where: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Array:  # fmt: skip
    """Σ |x − mean|² / (n − ddof). Gradients flow to the mean as well: it is not known to be that of x."""
    x = as_array(a)
    d = x - mean
    squares = np.multiply(d, d) if x.dtype.kind != "c" else np.square(np.real(d)) + np.square(np.imag(d))
    dtype = np.dtype(float) if dtype is None and x.dtype.kind in "iub" else dtype
    ddof = correction if is_given(correction) else ddof
    z = average(squares, axis, dtype, ddof, keepdims_or_false(keepdims), where if is_given(where) else None)
    return z if out is None else np.positive(z, out=out)


@variant(np.nanvar, when=has_mean)
def nanvar_about(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NOT_GIVEN, *,
    mean: Any, where: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Array:  # fmt: skip
    """The same of the numbers among the elements."""
    x = as_array(a)
    ok: Any = ~np.isnan(numbers_of(x)) & (where if is_given(where) else True)
    d = np.where(ok, x, 0) - mean
    squares = np.multiply(d, d) if x.dtype.kind != "c" else np.real(np.multiply(d, np.conjugate(d)))
    ddof = correction if is_given(correction) else ddof
    with np.errstate(divide="ignore", invalid="ignore"):
        z = average(squares, axis, dtype, ddof, keepdims_or_false(keepdims), ok)
    lost = ok.sum(axis, keepdims=keepdims_or_false(keepdims)) <= ddof
    if not is_on_host(x) or np.any(lost):
        z = np.where(lost, np.nan, z)
    if is_on_host(x) and np.any(lost):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=2)
    return z if out is None else np.positive(z, out=out)


def keepdims_or_false(keepdims: Any) -> bool:
    """``keepdims``, which NumPy marks where it is not given."""
    return is_given(keepdims) and bool(keepdims)


def average(squares: Array, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any) -> Array:
    """Σ / (n − ddof), in the dtype of the sum."""
    z = np.sum(squares, axis, keepdims=keepdims, **given_keywords(dtype=dtype, where=where))
    n = freedom(squares.shape, axis, ddof, None, where)
    z, dtype = z / (n if np.ndim(n) == 0 else np.reshape(n, z.shape)), z.dtype
    return as_dtype(z, dtype)


@variant(np.std, when=has_mean)
def std_about(a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, *args: Any, **options: Any) -> Array:
    """√var; where that is 0 so is the gradient."""
    return root(var_about(a, axis, dtype, None, *args, **options), out)


@variant(np.nanstd, when=has_mean)
def nanstd_about(a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, *args: Any, **options: Any) -> Array:
    """√nanvar."""
    return root(nanvar_about(a, axis, dtype, None, *args, **options), out)


def root(z: Array, out: Any) -> Array:
    """√z with a gradient of 0 where z is 0."""
    zero = numbers_of(z) == 0
    z = np.where(zero, z, np.sqrt(np.where(zero, 1, z)))
    return z if out is None else np.positive(z, out=out)


# ---------------------------------------------------------------- where, quantiles


@variant(np.where, when=lambda args, options: len(args) == 1)
def places(condition: Any) -> tuple[Array, ...]:
    """The places where the condition holds: plain numbers."""
    return np.nonzero(numbers_of(condition))


@primitive
def weighted_quantile(x: Array, q: Array, weights: Array, name: str, axis: Axis, keepdims: bool, method: str) -> Array:
    """``np.quantile(x, q, weights=...)``, or the function of that ``name``."""
    return getattr(np, name)(x, q, axis=axis, weights=weights, method=method, keepdims=keepdims)


def add_weighted(function: Any) -> None:
    """Weights that are nodes: the quantile is one of the elements, and steps from one to the next as a weight grows."""

    @variant(function, when=lambda args, options: has_gradient(options.get("weights")))
    def answer(
        a: Any, q: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = False, *, weights: Any,
    ) -> Array:  # fmt: skip
        refuse_overwrite(overwrite_input)
        z = weighted_quantile(
            as_array(a), as_array(q), weights, function.__name__, axis, keepdims_or_false(keepdims), method
        )
        return z if out is None else np.positive(z, out=out)


for each in (np.quantile, np.percentile, np.nanquantile, np.nanpercentile):
    add_weighted(each)

# fmt: off
rule(weighted_quantile, "x q weights | name axis keepdims method", "quantile", r"\operatorname{quantile} $x",
     elementwise=False, domain=(0.05, 0.95),
     x=lambda g, x, q, z, weights, name, axis, keepdims, method: quantile_x(g, x, q, z, name, axis, method, keepdims,
     numbers_of(weights)),
     q=lambda g, q: np.zeros_like(numbers_of(q)), weights=lambda g, weights: np.zeros_like(numbers_of(weights)))
# fmt: on

# ---------------------------------------------------------------- where= of ufuncs


def chosen(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``np.divide(x, y, out=a, where=c)``: a, with x / y written where c holds. What a holds elsewhere stays.

    The gradient is that of ``np.where(c, x / y, a)``, and nothing comes back from elsewhere: x and y are replaced there
    before the division by numbers that it is defined for, so that no 0 · ∞ arises, in later derivatives either.
    """
    options, name = dict(options), public_name(ufunc)
    c, out = numbers_of(options.pop("where")), options.pop("out", None)
    targets = out if isinstance(out, tuple) else (out,)
    if c is True or c is NOT_GIVEN:
        return ufunc(*inputs, **options, **({} if out is None else {"out": out}))
    if any([target is None for target in targets]):
        raise NoRuleError(
            f"{name}(x, where=c) of a node leaves the other elements undefined: say what they are, "
            f"out=np.zeros_like(x), or write np.where(c, {name}(x), 0). For the numbers alone use x.value"
        )
    c = as_array(c)
    if c.dtype != bool:
        raise TypeError(f"{name}: where= takes booleans, not {c.dtype}")
    z = ufunc(*[tame(x, c, RULES[ufunc].domain if ufunc in RULES else (0.5, 1.0)) for x in inputs], **options)
    for part, target in zip(z if isinstance(z, tuple) else (z,), targets, strict=True):
        if has_gradient(part) and not is_node(target):
            raise LostGradientError(
                f"{name}(..., out=, where=) into a plain array keeps only numbers. Make it with af.zeros(...) or "
                f"np.zeros_like(node): then the write is recorded."
            )
        np.copyto(target, part, where=c)
    return out if isinstance(z, tuple) else targets[0]


@variant(np.clip, when=lambda args, options: "where" in options)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Array:
    """The same of np.clip, which is not a ufunc itself."""
    bounds = options.pop("min", a_min), options.pop("max", a_max)
    return chosen(np.clip, (a, *bounds), {**options, "out": out})


def tame(x: Any, c: Array, domain: tuple[float, float]) -> Any:
    """x where c holds, and a number inside the domain elsewhere; a single number (2.0) stays as it is."""
    if not hasattr(x, "dtype"):
        return x if x is None or isinstance(x, (int, float, complex)) else tame(as_array(x), c, domain)
    low, high = domain
    return np.where(c, x, low + 0.4 * (high - low) if x.dtype.kind in "fc" else x.dtype.type(1))


# ---------------------------------------------------------------- axis= and axes= of products


def along_axes(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Array:
    """``np.vecdot(x, y, axis=0)``, ``np.matmul(x, y, axes=[(0, 1), (0, 1), (0, 1)])``: the axes are moved to the end,
    where the function wants them, and those of the result to their place."""
    options, name = dict(options), public_name(ufunc)
    *cores, core = core_axes(str(ufunc.signature))
    axes, keep = options.pop("axes", None), options.pop("keepdims", False)
    if "axis" in options:
        if {*cores} != {1} or axes is not None:
            raise TypeError(f"{name}: axis= is for functions with one common axis; use axes=")
        axes = [(options.pop("axis"),)] * len(cores)
    if keep and core:
        raise TypeError(f"{name}: keepdims= is for functions that remove their axes")
    arrays = [as_array(x) for x in inputs]
    axes = [(-1,)] * len(cores) if axes is None else [a if isinstance(a, tuple) else (a,) for a in axes]
    axes = axes if len(axes) > len(cores) else [*axes, axes[0] if keep else ()]
    if [len(a) for a in axes] != [*cores, core or (1 if keep else 0)] or any(
        [x.ndim < n for x, n in zip(arrays, cores, strict=True)]
    ):
        raise NoRuleError(
            f"{name} of a node takes as axes= one tuple for each array and the result, of {[*cores, core]} axes: {axes}"
        )
    moved = [np.moveaxis(x, axes_of(a, x.ndim), range(-len(a), 0)) for x, a in zip(arrays, axes, strict=False)]
    z = ufunc(*moved, **options)
    if keep:
        return np.expand_dims(z, axes[-1][0])
    return np.moveaxis(z, range(-core, 0), axes[-1]) if core else z


def core_axes(signature: str) -> list[int]:
    """How many axes a function takes of each array, and how many its result has of them.

    >>> core_axes("(n?,k),(k,m?)->(n?,m?)"), core_axes("(n),(n)->()")
    ([2, 2, 2], [1, 1, 0])
    """
    parts = signature.replace("->", ",").split("),(")
    return [len([word for word in part.strip("()").split(",") if word]) for part in parts]
