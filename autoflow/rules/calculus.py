"""Calculus on samples: differences, slopes, areas, lines between points, sliding products; and ``np.emath``.

What NumPy writes with operators is its own code, or is written here in the same way, so that each step is recorded and
the numbers are NumPy's to the bit. interp, convolve, correlate and unwrap are loops in C: they have rows.

``np.emath`` answers with complex numbers where real ones have no answer, √−1 = i. Whether the result is complex depends
on all elements together, so it is decided from the values; then the operation is one of ``np`` itself, on x or on x
made complex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import Shape
from ..table.bodies import COPIES, run_own
from ..table.indexing import put_back
from ..table.shapes import Array, as_array, numbers_of, together, widen, zeros
from ..table.table import composed, primitive, rule

# ---------------------------------------------------------------- differences


run_own(np.diff, np.gradient, np.trapezoid)


@composed(np.ediff1d)
def ediff1d(ary: Array, to_end: Array = None, to_begin: Array = None) -> Array:
    """Differences of the flattened array, with values put before and behind, in its dtype."""
    x = as_array(ary).reshape(-1)
    begin, end = [None if part is None else together(x, part)[1].reshape(-1) for part in (to_begin, to_end)]
    parts = [part for part in (begin, x[1:] - x[:-1], end) if part is not None]
    return np.concatenate(parts, dtype=x.dtype, casting="same_kind") if len(parts) > 1 else parts[0]


# ---------------------------------------------------------------- slopes and areas


rule(np.unwrap, "x | discont=None axis=-1 period=6.283185307179586", x=lambda g: g, by_name=True, holomorphic=False)

# ---------------------------------------------------------------- the line through given points


@primitive
def interpolate(xp: Array, x: Array, fp: Array, left: Any = None, right: Any = None) -> Array:
    """``np.interp`` with the points first. Gradients flow to all of them, and to ``left`` and ``right``."""
    return np.interp(x, xp, fp, left, right)


run_own(np.interp)
theirs: Any = np.interp
for word in ("compiled_interp", "compiled_interp_complex"):  # what NumPy's code ends in
    COPIES[id(theirs._implementation.__globals__[word])] = lambda x, xp, fp, *ends: interpolate(
        *together(xp, x, fp), *ends
    )


def piece(xp: Array, x: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Between which points x lies (j and k), how far along (t from 0 to 1), and is it before or behind all points?"""
    numbers, points = numbers_of(x), numbers_of(xp)
    last = points.shape[0] - 1
    j = np.clip(np.searchsorted(points, numbers, "right") - 1, 0, max(last - 1, 0))
    k = np.minimum(j + 1, last)
    before, behind = numbers < points[0], numbers > points[last]
    xp = widen(xp, float)  # as NumPy computes
    width = np.take(xp, k) - np.take(xp, j)
    step = width == 0  # at the last points: the value is that of the very last
    t = np.where(step, 1, x - np.take(xp, j)) / np.where(step, 1, width)
    return j, k, np.where(before, 0, np.where(behind, 1, t)), before, behind


def steepness(xp: Array, fp: Array, j: Array, k: Array, outside: Array) -> Array:
    """The slope of the line from point j to point k; 0 before the first point and after the last one."""
    xp, fp = widen(xp, float), widen(fp, float)
    width = np.take(xp, k) - np.take(xp, j)
    flat = outside | (width == 0)
    return np.where(flat, 0, np.take(fp, k) - np.take(fp, j)) / np.where(flat, 1, width)


def interp_x(g: Array, xp: Array, x: Array, fp: Array) -> Array:
    """The slope of the line; at a point, that of the line to its right."""
    j, k, _, before, behind = piece(xp, x)
    return g * steepness(xp, fp, j, k, before | behind)


def interp_xp(g: Array, xp: Array, x: Array, fp: Array) -> Array:
    """Moving a point to the right moves the line with it: −slope, shared between the two ends."""
    j, k, t, before, behind = piece(xp, x)
    sent = -g * steepness(xp, fp, j, k, before | behind)
    return put_back(sent * (1 - t), (j,), xp.shape) + put_back(sent * t, (k,), xp.shape)


def interp_fp(g: Array, xp: Array, x: Array, fp_shape: Shape, left: object, right: object) -> Array:
    """z = (1 − t) fp[j] + t fp[k]; beyond the points it is the first or the last, unless other values were given."""
    j, k, t, before, behind = piece(xp, x)
    if left is not None:
        g = np.where(before, 0, g)
    if right is not None:
        g = np.where(behind, 0, g)
    return put_back(g * (1 - t), (j,), fp_shape) + put_back(g * t, (k,), fp_shape)


rule(interpolate, "xp x fp left=None right=None", "interp", r"\operatorname{interp}($x)", name="interp",
     xp=interp_xp, x=interp_x, fp=interp_fp,
     left=lambda g, xp, x: np.sum(np.where(piece(xp, x)[3], g, 0)),
     right=lambda g, xp, x: np.sum(np.where(piece(xp, x)[4], g, 0)))  # fmt: skip

# ---------------------------------------------------------------- convolution


def in_full(g: Array, n: int, m: int, late: bool = False) -> Array:
    """The gradient of all n + m - 1 products. Every mode returns the ones in the middle, so how many came back says
    where they belong (and the mode, which has several names, need not be looked at).

    ``late``: where the middle is not unique, the part nearer to the end was taken.
    """
    if g.dtype == np.float16:  # sums are computed in single precision
        g = g.astype(np.float32)
    rest = n + m - 1 - g.shape[0]
    start = (rest + late) // 2
    return np.concatenate([zeros(g, (start,)), g, zeros(g, (rest - start,))]) if rest else g


def convolve_x(g: Array, x_shape: Shape, y: Array) -> Array:
    """z[k] = Σ_i x[i] y[k − i], so dL/dx[i] = Σ_k g[k] y[k − i]: g slid over y reversed."""
    y = np.reshape(y, -1)
    n = int(np.prod(x_shape))
    return np.convolve(in_full(g, n, y.shape[0]), y[::-1], "valid").reshape(x_shape)


def correlate_x(g: Array, x_shape: Shape, y: Array) -> Array:
    """z[k] = Σ_n x[n + k] conj(y[n]): a convolution with conj(y) reversed, so g is slid over y as it is."""
    y = np.reshape(y, -1)
    n, m = int(np.prod(x_shape)), y.shape[0]
    return np.convolve(in_full(g, n, m, n < m), y, "valid").reshape(x_shape)


def correlate_y(g: Array, x: Array, y_shape: Shape) -> Array:
    """The same for y: conjugated, and reversed back."""
    x = np.reshape(x, -1)
    n, m = x.shape[0], int(np.prod(y_shape))
    sent = np.convolve(in_full(g, n, m, n < m), np.conjugate(x)[::-1], "valid")
    return np.conjugate(sent[::-1]).reshape(y_shape)


# fmt: off
rule(np.convolve,  "x y | mode='full'",  "∗", r"$x * $y",      x=convolve_x,
     y=lambda g, x, y_shape: convolve_x(g, y_shape, x), precedence=2)
rule(np.correlate, "x y | mode='valid'", "⋆", r"$x \star $y",  x=correlate_x, y=correlate_y,
     precedence=2, holomorphic=False)
# fmt: on


# ---------------------------------------------------------------- np.emath: complex where real numbers have no answer


run_own(*[getattr(np.emath, name) for name in np.emath.__all__])


@composed(np.real_if_close)
def real_if_close(a: Array, tol: float = 100) -> Array:
    """The real part, if all imaginary parts are rounding errors."""
    x = as_array(a)
    answer = np.real_if_close(numbers_of(x), tol)
    return np.real(x) if x.dtype.kind == "c" and answer.dtype.kind != "c" else x
