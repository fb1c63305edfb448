"""Initial weights: random, and of such a size that signals and gradients stay about the same size from layer to layer.

Every function takes the Generator, the shape and the dtype, and returns a plain array. A weight has shape
(out, in) or (out, in, *kernel); ``fan_in`` inputs make each output, ``fan_out`` outputs use each input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import DataError, InputError
from ..base.lazy import list_public
from ..base.types import DTypeLike
from .module import generator

Shape = Sequence[int]
__all__ = [
    "fans", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "normal",
    "orthogonal", "uniform",
]  # fmt: skip
__dir__ = list_public(__all__)


def fans(shape: Shape) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight.

    >>> fans((8, 3, 5, 5))
    (75, 200)
    """
    if len(shape) < 2:
        raise InputError(f"a weight has shape (out, in) or (out, in, *kernel), not {tuple(shape)}")
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def float_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of parameters: whole numbers would round weights to 0, and layers refuse complex numbers."""
    if (dtype_object := np.dtype(dtype)).kind != "f":
        raise DataError(f"the dtype of parameters is one of real floats, such as np.float32, not {dtype_object}")
    return dtype_object


def uniform(rng: np.random.Generator, shape: Shape, variance: float, dtype: DTypeLike) -> np.ndarray:
    """Evenly between ±√(3 variance)."""
    bound = math.sqrt(3 * variance)
    return generator("an initialiser", rng).uniform(-bound, bound, tuple(shape)).astype(float_dtype(dtype))


def normal(rng: np.random.Generator, shape: Shape, variance: float, dtype: DTypeLike) -> np.ndarray:
    """Normally distributed around 0."""
    return generator("an initialiser", rng).normal(0, math.sqrt(variance), tuple(shape)).astype(float_dtype(dtype))


def glorot_uniform(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """Variance 2 / (fan_in + fan_out), for tanh. Source: Glorot and Bengio, AISTATS 2010.

    >>> w = glorot_uniform(np.random.default_rng(0), (300, 100))
    >>> round(float(w.var() * 200), 1)
    1.0
    """
    return uniform(rng, shape, 2 / max(sum(fans(shape)), 1), dtype)


def glorot_normal(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """The same variance, normally distributed."""
    return normal(rng, shape, 2 / max(sum(fans(shape)), 1), dtype)


def he_uniform(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """Variance 2 / fan_in, for relu, which loses half of it. Source: He et al., ICCV 2015."""
    return uniform(rng, shape, 2 / max(fans(shape)[0], 1), dtype)


def he_normal(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """The same variance, normally distributed."""
    return normal(rng, shape, 2 / max(fans(shape)[0], 1), dtype)


def lecun_uniform(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """Variance 1 / fan_in. Source: LeCun et al., Efficient BackProp, 1998."""
    return uniform(rng, shape, 1 / max(fans(shape)[0], 1), dtype)


def lecun_normal(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float) -> np.ndarray:
    """The same variance, normally distributed."""
    return normal(rng, shape, 1 / max(fans(shape)[0], 1), dtype)


def orthogonal(rng: np.random.Generator, shape: Shape, dtype: DTypeLike = float, gain: float = 1.0) -> np.ndarray:
    """A matrix (out, rest) with orthonormal rows or columns, times ``gain``: without gain it keeps the length of
    vectors.

    From the QR decomposition of normal numbers; the signs of R make every such matrix equally likely.
    Source: Saxe, McClelland and Ganguli, ICLR 2014.

    >>> w = orthogonal(np.random.default_rng(0), (2, 3))
    >>> np.allclose(w @ w.T, np.eye(2))
    True
    """
    fans(shape)
    rows, columns = shape[0], math.prod(shape[1:])
    draws = generator("an initialiser", rng).normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(draws)
    q = q * np.sign(np.diagonal(r))
    return (gain * (q.T if rows < columns else q)).reshape(shape).astype(float_dtype(dtype))
