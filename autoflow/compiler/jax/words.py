"""Numbers of 64 bits on their way between XLA and NumPy: as words of 32 bits.

``jax.pure_callback`` may call its function in a thread of XLA's, and whether JAX has 64 bits is a switch of the
thread: there it is off, and float64 would arrive as float32. Words of 32 bits arrive as they are.

>>> x = np.array([1.5, -0.0, np.nan])
>>> there = to_host(x)
>>> there.shape, there.dtype
((3, 2), dtype('uint32'))
>>> from_host(there, x.shape, x.dtype)
array([ 1.5, -0. ,  nan])
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
WORD = np.dtype(np.uint32)


def described(shape: tuple[int, ...], dtype: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype on the way."""
    n = words_of(dtype)
    return ((*shape, n), WORD) if n else (shape, dtype)


def words_of(dtype: Any) -> int:
    """The number of words of one number; 0 for those that travel as they are."""
    return dtype.itemsize // 4 if dtype.char in "lLqQdD" and dtype.itemsize > 4 else 0


def to_host(x: Array) -> Array:
    """NumPy's array as words."""
    return np.ascontiguousarray(x).reshape(*x.shape, 1).view(WORD) if words_of(x.dtype) else x


def from_host(x: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """NumPy's array of words as numbers."""
    return np.ascontiguousarray(x).view(dtype).reshape(shape) if words_of(dtype) else x


def from_device(jax: Any, x: Array) -> Array:
    """The same for an array of JAX: as words."""
    if not words_of(x.dtype):
        return x
    parts = jax.numpy.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
    return jax.lax.bitcast_convert_type(parts, WORD).reshape(*x.shape, -1 if x.size else words_of(x.dtype))


def to_device(jax: Any, x: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """As numbers."""
    if not words_of(dtype):
        return x
    if dtype.kind != "c":
        return jax.lax.bitcast_convert_type(x, dtype)
    parts = jax.lax.bitcast_convert_type(x.reshape(*shape, 2, 2), np.dtype(np.float64))
    return jax.lax.complex(parts[..., 0], parts[..., 1])
