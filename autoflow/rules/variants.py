"""Calls that the row of their function does not cover, written with functions that have rows.

``np.std(x, mean=m)``, ``np.where(c)``, ``np.vecdot(x, y, axis=0)``, and ``where=`` of all ufuncs. Such a call has one
more keyword, which the row lacks, because every call without it would pay for it.

The methods of ufuncs: ``np.maximum.accumulate(x)``, ``np.multiply.outer(x, y)``, ``np.add.reduceat(x, starts)``.

The sums and products among them have rows (sum, cumsum, prod, cumprod, and reduceat of add below), and so do the
reductions that are used as norms: np.logaddexp.reduce is what others call logsumexp. The rest is computed element by
element along the axis, in NumPy's order.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..base.errors import LostGradientError, NoRuleError
from ..base.types import AnyFunction, Array, ByName, DTypeLike, Shape, named_dtype
from ..table.indexing import put_back
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
    is_numpys,
    is_on_host,
    like_argument,
    name_out,
    numbers_of,
    restore_axes,
    to_last,
    zeros,
)
from ..table.table import RULES, primitive, rule
from .arithmetic import exp_above, over, times_share
from .reductions import freedom
from .structure import constant_with_history

VARIANTS: dict[Any, tuple[Callable[[Any, Any], bool], AnyFunction]] = {}  # function -> is it such a call, answer


def variant(*functions: AnyFunction, when: Callable[[Any, Any], bool]) -> AnyFunction:
    """``@variant(np.std, when=...)``: this function replaces NumPy's in calls where ``when(args, options)`` holds."""

    def register(function: AnyFunction) -> AnyFunction:
        for key in functions:
            VARIANTS[key] = when, function
        return function

    return register


# ---------------------------------------------------------------- spreads about a mean that is given


def add_spread(function: Any) -> None:
    """np.var, np.std or their twins for NaN: Σ |x − mean|² / (n − ddof), or its root. Gradients flow to the mean, too:
    it need not be that of x."""
    leaves_out = function.__name__.startswith("nan")

    @variant(function, when=lambda args, options: is_given(options.get("mean")))
    def answer(
        a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        mean: object, where: Any = NOT_GIVEN, correction: object = NOT_GIVEN,
    ) -> Array:  # fmt: skip
        x: Any = as_array(a)
        used: Any = where if is_given(where) else None
        if leaves_out:
            used = ~np.isnan(numbers_of(x)) & (True if used is None else used)
        if used is not None:
            x = np.where(used, x, 0)
        dtype = np.dtype(float) if dtype is None and x.dtype.kind in "iub" else dtype
        ddof, keepdims = correction if is_given(correction) else ddof, is_given(keepdims) and bool(keepdims)
        quiet: Any = {"divide": "ignore", "invalid": "ignore"} if leaves_out else {}
        with np.errstate(**quiet):
            d = x - mean
            if leaves_out and x.dtype.kind in "fc":  # NumPy writes it into a copy of x
                d = as_dtype(d, x.dtype)
            n = freedom(x.shape, axis, ddof, None, used)  # the mean may have more axes
            z = average(squares(d, leaves_out), n, axis, dtype, keepdims, used)
        if leaves_out:
            z = without_freedom(z, used.sum(axis, keepdims=keepdims) <= ddof)
        if function.__name__.endswith("std"):  # where it is 0, so is the gradient
            zero = numbers_of(z) == 0
            z = np.where(zero, z, np.sqrt(np.where(zero, 1, z)))
        return z if out is None else np.positive(z, out=out)


def squares(d: Array, leaves_out: bool) -> Array:
    """|d|²; for complex numbers with the bits of np.var or np.nanvar."""
    if d.dtype.kind != "c":
        return np.multiply(d, d)
    return np.real(np.multiply(d, np.conjugate(d))) if leaves_out else np.square(np.real(d)) + np.square(np.imag(d))


def without_freedom(z: Array, lost: Array) -> Array:
    """NaN where there are not enough numbers, and NumPy's warning."""
    if is_on_host(lost) and not np.any(lost):
        return z
    if is_on_host(lost):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=2)
    return np.where(lost, np.nan, z)


def average(squares: Array, n: Array, axis: Axis, dtype: DTypeLike, keepdims: bool, where: object) -> Array:
    """Σ / n, in the dtype of the sum."""
    z = np.sum(squares, axis, keepdims=keepdims, **given_keywords(dtype=dtype, where=where))
    z, dtype = z / (n if np.ndim(n) == 0 else np.reshape(n, z.shape)), z.dtype
    return as_dtype(z, dtype)


for spread in (np.var, np.std, np.nanvar, np.nanstd):
    add_spread(spread)


# ---------------------------------------------------------------- where, quantiles


@variant(np.where, when=lambda args, options: len(args) == 1)
def places(condition: object) -> tuple[Array, ...]:
    """The places where the condition holds: plain numbers."""
    return np.nonzero(numbers_of(condition))


def add_weighted(function: Any) -> None:
    """Weights that are nodes: the quantile is one of the elements, and jumps from one to the next as a weight grows."""

    @variant(function, when=lambda args, options: has_gradient(options.get("weights")))
    def answer(*args: Any, weights: Any, **options: Any) -> Array:
        args, options = name_out(function, args, options)
        weights, out = as_array(weights), options.pop("out", None)
        z = constant_with_history(function(*args, weights=numbers_of(weights), **options), weights)
        return z if out is None else np.positive(z, out=out)


for each in (np.quantile, np.percentile, np.nanquantile, np.nanpercentile):
    add_weighted(each)

# ---------------------------------------------------------------- where= of ufuncs


def where_out(ufunc: Any, inputs: tuple[Any, ...], options: ByName) -> Any:
    """``np.divide(x, y, out=a, where=c)``: a, with x / y written where c holds. Elsewhere a stays as it is.

    The gradient is that of ``np.where(c, x / y, a)``. Where c does not hold, x and y are replaced, before the division,
    by numbers for which it is defined, so that no 0 · ∞ arises, nor in later derivatives.
    """
    options, name = dict(options), public_name(ufunc)
    c, out = numbers_of(options.pop("where")), options.pop("out", None)
    targets = out if isinstance(out, tuple) else (out,)
    if c is NOT_GIVEN or (type(c) in (bool, np.bool_) and c):
        return ufunc(*inputs, **options, **({} if out is None else {"out": out}))
    if any([target is None for target in targets]):
        raise NoRuleError(
            f"{name}(x, where=c) of a node leaves the other elements undefined: say what they are, "
            f"out=np.zeros_like(x), or write np.where(c, {name}(x), 0). For the numbers alone use x.value"
        )
    c = as_booleans(name, c)
    z = ufunc(*[tame(x, c, RULES[ufunc].domain if ufunc in RULES else (0.5, 1.0)) for x in inputs], **options)
    for part, target in zip(z if isinstance(z, tuple) else (z,), targets, strict=True):
        if has_gradient(part) and not is_node(target):
            raise LostGradientError(
                f"{name}(..., out=, where=) into a plain array keeps only numbers. Make it with af.zeros(...) or "
                f"np.zeros_like(node): then the write is recorded."
            )
        np.copyto(target, part, where=c)
    return out if isinstance(z, tuple) else targets[0]


def as_booleans(name: str, where: object) -> Array:
    """``where=`` as an array. Numbers in arrays, unlike those in lists, are a TypeError, as in NumPy."""
    if (c := as_array(where)).dtype != bool and hasattr(where, "dtype"):
        raise TypeError(f"{name}: where= takes booleans, not {c.dtype}")
    return as_dtype(c, bool)


@variant(np.clip, when=lambda args, options: "where" in options)
def clip(a: Array, a_min: object = None, a_max: object = None, out: object = None, **options: object) -> Array:
    """The same for np.clip, which is not a ufunc itself."""
    bounds = options.pop("min", a_min), options.pop("max", a_max)
    return where_out(np.clip, (a, *bounds), {**options, "out": out})


def tame(x: Any, c: Array, domain: tuple[float, float]) -> Any:
    """x where c holds, elsewhere a number inside the domain; a single number (2.0) stays as it is."""
    if not hasattr(x, "dtype"):
        return x if x is None or isinstance(x, (int, float, complex)) else tame(as_array(x), c, domain)
    return np.where(c, x, 0.6 * domain[0] + 0.4 * domain[1] if x.dtype.kind in "fc" else x.dtype.type(1))


# ---------------------------------------------------------------- axis= and axes= of products


def along_axes(ufunc: np.ufunc, inputs: tuple[Any, ...], options: ByName) -> Array:
    """``np.vecdot(x, y, axis=0)``, ``np.matmul(x, y, axes=[(0, 1), (0, 1), (0, 1)])``: moves the axes to the end, where
    the function expects them, and those of the result to their place."""
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
    (target,) = options.get("out", (None,))  # NumPy gives ufuncs a tuple
    if target is not None and core:
        options["out"] = np.moveaxis(target, axes[-1], range(-core, 0))
    z = ufunc(*moved, **options)
    if keep:
        return np.expand_dims(z, axes[-1][0])
    if target is not None:
        return target
    return np.moveaxis(z, range(-core, 0), axes[-1]) if core else z


def core_axes(signature: str) -> list[int]:
    """How many axes of each array a function works on, and how many its result has.

    >>> core_axes("(n?,k),(k,m?)->(n?,m?)"), core_axes("(n),(n)->()")
    ([2, 2, 2], [1, 1, 0])
    """
    parts = signature.replace("->", ",").split("),(")
    return [len([word for word in part.strip("()").split(",") if word]) for part in parts]


def layers(x: Array, axis: int) -> list[Array]:
    """The parts of x along an axis."""
    return [x[(slice(None),) * axis + (k,)] for k in range(x.shape[axis])]


def reduce_rule(ufunc: np.ufunc) -> AnyFunction:
    """``ufunc.reduce``: z = f(f(f(x₀, x₁), x₂), ...), or of ``initial``, x₀, ..."""

    def reduce(x: Any, axis: Any = 0, keepdims: bool = False, initial: Any = None, where: Any = True) -> Array:
        x = as_array(x)
        like_x, options = np.broadcast_to(x.dtype.type(1), x.shape), given_keywords(initial=initial)
        shape = ufunc.reduce(like_x, axis, where=where, **{k: numbers_of(v) for k, v in options.items()}).shape
        axes = (*sorted(normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim or 1))[: x.ndim],)
        x = x if where is True else np.where(where, x, LEAVES[ufunc])
        parts = layers(x, axes[0]) if len(axes) == 1 else layers(y := to_last(x, axes), y.ndim - 1)
        if options:
            parts.insert(0, np.broadcast_to(as_dtype(as_array(initial), x.dtype), shape))
        *_, z = itertools.accumulate(parts, ufunc)
        z = z if x.size else constant_with_history(z, x)
        z = np.positive(z) if len(parts) == 1 else z  # no view of x
        return np.expand_dims(z, axes) if keepdims else z

    return reduce


def accumulate_rule(ufunc: np.ufunc) -> AnyFunction:
    """``ufunc.accumulate``: all intermediate results of :func:`reduce_rule`."""

    def accumulate(x: Any, axis: int = 0) -> Array:
        x = as_array(x)
        ufunc.accumulate(np.ones((1,) * x.ndim, x.dtype), axis)  # NumPy's errors
        axis = axes_of(axis, x.ndim)[0]
        return np.stack([*itertools.accumulate(layers(x, axis), ufunc)], axis) if x.shape[axis] else np.positive(x)

    return accumulate


def along_first(function: Any, method: Any = None) -> AnyFunction:
    """np.sum as np.add.reduce: by default along axis 0. ``method``: NumPy's, for its errors."""

    def call(x: Any, axis: Any = 0, **options: Any) -> Array:
        if method is not None:
            method(np.ones((1,) * np.ndim(x)), axis)
            (axis,) = axes_of(axis, np.ndim(x))
        return function(x, axis=axis, **options)

    return call


def every_pair(ufunc: np.ufunc) -> AnyFunction:
    """``ufunc.outer``: f(x[i], y[j]) for all i and j."""

    def outer(x: Any, y: Any, **options: Any) -> Array:
        x, y = as_array(x), as_array(y)
        return ufunc(x.reshape(x.shape + (1,) * y.ndim), y, **options)

    return outer


def computed_in(ufunc: Any, inputs: tuple[Any, ...], options: ByName) -> tuple[Any, Any]:
    """``np.add(x, y, dtype=t)`` casts x and y to t and adds them: the same call without dtype=, with x and y cast.

    If t is not a float, or only the result would have it, dtype= stays, and the row refuses it.
    """
    dtype, arrays = named_dtype(options["dtype"]), [as_array(v) for v in inputs]
    alike = f"{dtype.char * ufunc.nin}->{dtype.char * ufunc.nout}" in ufunc.types
    fitting = all([v.dtype == dtype or np.can_cast(v.dtype, dtype, "same_kind") for v in arrays])
    if dtype.kind not in "fc" or not alike or not fitting:
        return inputs, options
    cast = [as_dtype(v, dtype) for v in arrays]
    return tuple(cast), {k: v for k, v in options.items() if k != "dtype"}


def cast_before(method: str, ufunc: np.ufunc, body: AnyFunction) -> AnyFunction:
    """``body``, which answers that method, with ``dtype=``: x is cast first. (The rows of sums and products know the
    keyword themselves.)"""

    def call(x: Any, *args: Any, dtype: Any = None, **options: Any) -> Array:
        if dtype is not None:
            (x,), left = computed_in(ufunc, (x,), {"dtype": dtype})
            if left:
                name = public_name(ufunc, method)
                raise NoRuleError(f"{name} of a node takes as dtype= a float for x, not {np.dtype(dtype)}: use x.value")
        return body(x, *args, **options)

    return call


# ---------------------------------------------------------------- norms


def share_of_logsumexp(g: Array, x: Array, z: Array, axis: Axis, keepdims: bool, exp: object, initial: object) -> Array:
    """z = log Σ eˣ, so dz/dx = eˣ / Σ eˣ, the softmax: :func:`~autoflow.rules.arithmetic.share_of_logaddexp`."""
    g, z = restore_axes(g, x.shape, axis, keepdims), restore_axes(z, x.shape, axis, keepdims)
    e = exp_above(x, z, exp)
    total = np.sum(e, axis, keepdims=True, dtype=np.result_type(e.dtype, np.float32))
    return g * (e / (total if initial is None else total + exp_above(initial, z, exp)))


def add_norm(ufunc: np.ufunc, label: str, latex: str, x: Callable[..., Array]) -> AnyFunction:
    """The row of ``ufunc.reduce``; NumPy reduces the axes in its own order."""

    def reduced(x: Array, axis: Axis = 0, keepdims: bool = False, initial: object = None) -> Array:
        if not is_numpys(x):
            return reduce_by_halves(ufunc, x, axis, keepdims, initial)
        return ufunc.reduce(x, axis, keepdims=keepdims, **given_keywords(initial=initial))

    reduced.__name__ = reduced.__qualname__ = f"{ufunc.__name__}_reduce"
    row = primitive(reduced)
    rule(row, "x | axis=0 keepdims=False initial=None", label, latex, x=x, holomorphic=False)
    return row


def reduce_by_halves(ufunc: np.ufunc, x: Array, axis: Axis, keepdims: bool, initial: object) -> Array:
    """``ufunc.reduce`` for libraries without it, such as CuPy: one half with the other, until one element is left."""
    y = to_last(x, axis)
    while y.shape[-1] > 1:
        half = y.shape[-1] // 2
        folded = ufunc(y[..., :half], y[..., half : 2 * half])
        y = np.concatenate([folded, y[..., 2 * half :]], axis=-1)
    if not y.shape[-1]:
        y = zeros(y, (*y.shape[:-1], 1)) + ufunc.identity
    z = y[..., 0] if initial is None else ufunc(y[..., 0], initial)
    return restore_axes(z, x.shape, axis, not keepdims)


def shares(exp: AnyFunction) -> Callable[..., Array]:
    """:func:`share_of_logsumexp` as a derivative; ``exp`` is np.exp or np.exp2."""
    return lambda g, x, z, axis, keepdims, initial: share_of_logsumexp(g, x, z, axis, keepdims, exp, initial)


NORMS: dict[Any, AnyFunction] = {
    np.logaddexp: add_norm(np.logaddexp, "logΣexp", r"\log \sum e^{$x}", shares(np.exp)),
    np.logaddexp2: add_norm(np.logaddexp2, "log₂Σ2^", r"\log_2 \sum 2^{$x}", shares(np.exp2)),
    np.hypot: add_norm(np.hypot, "hypot", r"\sqrt{\sum {$x}^2}",
                       lambda g, x, z, axis, keepdims: times_share(restore_axes(g, x.shape, axis, keepdims),
                                                                   over(x, restore_axes(z, x.shape, axis, keepdims)))),
}  # fmt: skip

# ---------------------------------------------------------------- reduceat


def segments(indices: Any, n: int) -> list[tuple[int, int]]:
    """Start and end of each segment: up to the next index, or one element if that is not larger; the last to the end.

    >>> segments([0, 3, 1], 5)
    [(0, 3), (3, 4), (1, 5)]
    """
    starts = [int(i) for i in indices]
    ends = [*starts[1:], n][: len(starts)]
    return [(i, j if j > i else i + 1) for i, j in zip(starts, ends, strict=True)]


@primitive
def sums_at(x: Array, indices: Any, axis: int = 0, dtype: Any = None) -> Array:
    """``np.add.reduceat``."""
    return np.add.reduceat(x, indices if is_numpys(x) else np.asarray(indices, like=like_argument(x)), axis, dtype)


def sums_at_x(g: Array, x_shape: Shape, indices: Array, axis: Any) -> Array:
    """Every element receives the gradients of the sums that it is in."""
    (axis,) = axes_of(axis, len(x_shape))
    parts = segments(indices, x_shape[axis])
    members = np.concatenate([np.arange(i, j, like=like_argument(g)) for i, j in parts or [(0, 0)]])
    owners = np.repeat(np.arange(len(parts), like=like_argument(g)), [j - i for i, j in parts])
    return put_back(np.take(g, owners, axis=axis), (slice(None),) * axis + (members,), x_shape)


def parts_at(ufunc: np.ufunc) -> AnyFunction:
    """``ufunc.reduceat``: the reduction of every segment."""

    def reduceat(x: Any, indices: Any, axis: int = 0) -> Array:
        x = as_array(x)
        ufunc.reduceat(np.broadcast_to(x.dtype.type(1), x.shape), list(map(int, indices)), axis)  # NumPy's errors
        axis = axes_of(axis, x.ndim)[0]
        reduce, lead = reduce_rule(ufunc), (slice(None),) * axis
        z = [reduce(x[(*lead, slice(i, j))], axis) for i, j in segments(indices, x.shape[axis])]
        return np.stack(z, axis) if z else x[(*lead, slice(0))]

    return reduceat


rule(sums_at, "x | indices axis=0 dtype=None", "Σ", r"\sum $x", x=sums_at_x, name="reduceat")

BINARY = [f for f in RULES if isinstance(f, np.ufunc) and f.nin == 2 and f.nout == 1 and f.signature is None]
LEAVES: dict[Any, float] = {np.subtract: 0, np.divide: 1, np.fmax: np.nan, np.fmin: np.nan}  # f(z, this) is z
# Not power, arctan2 and so on: their folds mean little, and NumPy's own (2.4) are wrong for some strides.
FOLDS = [np.add, np.multiply, np.maximum, np.minimum, *LEAVES, *NORMS]
SUMS: dict[str, dict[Any, AnyFunction]] = {
    "reduce": {np.add: along_first(np.sum), np.multiply: along_first(np.prod)},
    "accumulate": {f: along_first(g, f.accumulate) for f, g in ((np.add, np.cumsum), (np.multiply, np.cumprod))},
    "reduceat": {np.add: sums_at},
}
EXTREMES = {np.maximum: along_first(np.max), np.minimum: along_first(np.min)}
METHODS = {
    "reduce": {f: reduce_rule(f) for f in LEAVES} | EXTREMES | NORMS,
    "accumulate": {f: accumulate_rule(f) for f in FOLDS},
    "reduceat": {f: parts_at(f) for f in FOLDS},
}
for method, bodies in METHODS.items():
    METHODS[method] = {f: cast_before(method, f, body) for f, body in bodies.items()} | SUMS[method]
METHODS["outer"] = {f: every_pair(f) for f in BINARY}
