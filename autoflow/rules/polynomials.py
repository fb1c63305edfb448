"""NumPy's functions on polynomials, which are vectors of coefficients, the highest power first.

``np.poly1d`` is a NumPy class: given a node it takes the numbers. Use the vector itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.bodies import run_own
from ..table.shapes import Array, together
from ..table.table import composed

run_own(np.polyder, np.polyint, np.polyval, np.polyadd, np.polysub, np.roots, np.poly, np.vander)
run_own(np.polydiv, written="u")
run_own(np.polyfit, written="x y")


@composed(np.polymul)
def polymul(a1: Array, a2: Array) -> Array:
    """The product: a convolution of the coefficients, leading zeros left out."""
    x, y = together(a1, a2)
    return np.convolve(trim_zeros(x), trim_zeros(y))


def trim_zeros(p: Any) -> Array:
    """Without leading zeros; at least one coefficient."""
    p = np.atleast_1d(p)
    trimmed = np.trim_zeros(p, "f")
    return trimmed if len(trimmed) else p[-1:]
