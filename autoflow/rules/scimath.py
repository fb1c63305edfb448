"""``np.emath``: functions that answer with complex numbers where real ones have no answer, √−1 = i.

Whether the result is complex depends on all elements together, so it is decided from the values; then the operation is
one of ``np`` itself, on x or on x made complex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .shapes import as_array, numbers_of
from .table import composed

Array = Any
SINGLE = "fbhBHF"  # dtypes whose numbers fit into complex64


def to_complex(x: Array) -> Array:
    """``x`` as complex numbers."""
    return x.astype(np.complex64 if x.dtype.char in SINGLE else np.complex128)


def if_negative(x: Any) -> Array:
    """``x``, made complex if one of its elements is a negative real number."""
    x = as_array(x)
    return to_complex(x) if np.any(np.isreal(x) & np.less(np.real(x), 0)) else x


def if_above_one(x: Any) -> Array:
    """``x``, made complex if one of its elements is a real number outside of −1 to 1."""
    x = as_array(x)
    return to_complex(x) if np.any(np.isreal(x) & np.greater(np.absolute(np.real(x)), 1)) else x


def add_function(theirs: Any, function: Any, domain: Any) -> None:
    """``np.emath.sqrt`` as ``np.sqrt``, and so on."""

    @composed(theirs)
    def extended(x: Any) -> Array:
        return function(domain(x))


for name in ("sqrt", "log", "log2", "log10"):
    add_function(getattr(np.emath, name), getattr(np, name), if_negative)
for name in ("arccos", "arcsin", "arctanh"):
    add_function(getattr(np.emath, name), getattr(np, name), if_above_one)


@composed(np.emath.logn)
def logn(n: Any, x: Any) -> Array:
    """log x / log n."""
    return np.log(if_negative(x)) / np.log(if_negative(n))


@composed(np.emath.power)
def power(x: Any, p: Any) -> Array:
    """x to the power p; negative integers as exponents give floats."""
    x, p = if_negative(x), as_array(p)
    if np.any(np.isreal(p) & np.less(np.real(p), 0)):
        p = p * 1.0
    return np.power(x, p)


@composed(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real part, if all imaginary parts are rounding errors."""
    x = as_array(a)
    answer = np.real_if_close(numbers_of(x), tol)
    return np.real(x) if x.dtype.kind == "c" and answer.dtype.kind != "c" else x
