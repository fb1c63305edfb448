"""NumPy's functions on polynomials, which are vectors of coefficients, the highest power first.

``np.poly1d`` is a class of NumPy's own: given a node it takes the numbers. Use the vector itself.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..table.bodies import run_own
from ..table.shapes import Array, as_array, as_dtype, like_argument, numbers_of, together
from ..table.table import composed

run_own(np.polyder, np.polyint, np.polyval, np.polyadd, np.polysub, np.roots, np.poly)


@composed(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Array:  # noqa: N803 - NumPy's name
    """The powers of x as columns."""
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else N
    dtype = np.promote_types(x.dtype, int)
    x = as_dtype(x, dtype)
    ones = np.ones((x.shape[0], min(n, 1)), dtype, like=like_argument(x))
    powers = np.cumprod(np.broadcast_to(x[:, None], (x.shape[0], max(n - 1, 0))), axis=1)
    z = np.concatenate([ones, powers], axis=1)
    return z if increasing else z[:, ::-1]


@composed(np.polymul)
def polymul(a1: Any, a2: Any) -> Array:
    """The product: a convolution of the coefficients, leading zeros left out."""
    x, y = together(a1, a2)
    return np.convolve(trim_zeros(x), trim_zeros(y))


def trim_zeros(p: Any) -> Array:
    """Without leading zeros; at least one coefficient."""
    p = np.atleast_1d(p)
    kept = np.trim_zeros(p, "f")
    return kept if len(kept) else p[-1:]


@composed(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """Quotient and remainder, by long division."""
    u, v = (np.atleast_1d(p) + 0.0 for p in together(u, v))
    n = len(v)
    dtype = (u[0] + v[0]).dtype
    scale, rest = 1.0 / v[0], as_dtype(u, dtype)
    quotient = []
    for _ in range(len(u) - n + 1):
        d = scale * rest[0]
        quotient.append(d)
        rest = np.concatenate([rest[:n] - d * v, rest[n:]])
        rest, gone = rest[1:], rest[:1]
        rest = np.concatenate([gone, rest]) if len(quotient) == len(u) - n + 1 else rest
    rest = rest if quotient else u
    while np.allclose(numbers_of(rest[0]), 0, rtol=1e-14) and rest.shape[-1] > 1:
        rest = rest[1:]
    return (np.stack(quotient) if quotient else np.zeros(1, dtype, like=like_argument(rest))), rest


@composed(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial with the least squares of (y − p(x)) w; gradients to x, y and w."""
    x, y = (part + 0.0 for part in together(x, y))
    order = int(deg) + 1
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError("polyfit needs a vector x, and y with one row for each element of it")
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    a, b = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if w.ndim != 1 or w.shape[0] != y.shape[0]:
            raise TypeError("expected a 1-d array of weights, as long as y")
        a, b = a * w[:, None], b * (w[:, None] if b.ndim == 2 else w)
    scale = np.sqrt((a * a).sum(axis=0))
    a = a / scale
    c, residuals, rank, singular = np.linalg.lstsq(a, b, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, singular, rcond
    if rank != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return c
    spread = np.linalg.inv(np.dot(a.T, a)) / np.outer(scale, scale)
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        spread = (spread if y.ndim == 1 else spread[:, :, None]) * (residuals / (len(x) - order))
    elif y.ndim == 2:
        spread = spread[:, :, None] * 1
    return c, spread
