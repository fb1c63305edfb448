"""NumPy's functions on polynomials, which are vectors of coefficients, the highest power first.

``np.poly1d`` is a class of NumPy's own: given a node it takes the numbers. Use the vector itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.bodies import run_own
from ..table.shapes import Array, as_array, as_dtype, like_argument, together
from ..table.table import composed

run_own(np.polyder, np.polyint, np.polyval, np.polyadd, np.polysub, np.roots, np.poly)
run_own(np.polydiv, written="u")
run_own(np.polyfit, written="x y")


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
    return np.concatenate([ones, powers] if increasing else [powers[:, ::-1], ones], axis=1)


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
