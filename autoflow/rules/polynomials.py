"""NumPy's functions on polynomials, which are vectors of coefficients, the highest power first.

``np.poly1d`` is a class of NumPy's own: given a node it takes the numbers. Use the vector itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.bodies import run_own
from ..table.shapes import Array, as_array, as_dtype, like_argument, together
from ..table.table import composed

run_own(np.polyval, np.polyadd, np.polysub, np.polydiv, np.polyfit, np.roots, np.poly)


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


@composed(np.polyder)
def polyder(p: Any, m: int = 1) -> Array:
    """The m-th derivative of the polynomial."""
    p = as_array(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(int(m)):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1, like=like_argument(p))
    return p


@composed(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The m-th antiderivative; ``k``: the constants of integration."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p, k = together(p, np.zeros(m).tolist() if k is None else k)
    constants = np.atleast_1d(k)
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m, like=like_argument(constants))
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(int(m)):
        p = np.concatenate([p / np.arange(len(p), 0, -1, like=like_argument(p)), constants[i : i + 1]])
    return p
