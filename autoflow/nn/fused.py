"""Functions of networks that have rows of their own in the table of derivatives.

All of them could be composed of NumPy's functions. They have rows where that is better: relu and leaky_relu because the
composed ``np.maximum(x, 0)`` shares the gradient at 0, where 0 is expected; sigmoid, softmax and log_softmax because
their derivative in terms of their result is the formula that is taught, needs no care for large arguments, and is one
node in a picture; erf because NumPy has none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backends.registry import family_of
from ..errors import DataError
from ..nodes.nodes import Node
from ..rules.table import primitive, rule

Array = Any
ERF = np.frompyfunc(math.erf, 1, 1)


def real(name: str, x: Any) -> None:
    """Refuse complex numbers: these functions choose by size or sign."""
    if getattr(x, "dtype", None) is not None and x.dtype.kind == "c":
        raise DataError(f"{name} is a function of real numbers, got {x.dtype}: take np.abs, np.real or np.imag first")


@primitive
def relu(x: Array, /) -> Node:
    """max(x, 0), elementwise; any shape. Its derivative is 1 for x > 0, else 0, also at 0.

    Source: Nair and Hinton, ICML 2010.

    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    >>> x = af.Variable([-1.0, 0.0, 2.0])
    >>> relu(x).backward()
    >>> x.grad
    array([0., 0., 1.])
    """
    real("relu", x)
    return np.maximum(x, 0)


@primitive
def leaky_relu(x: Array, /, slope: float = 0.01) -> Node:
    """x for x > 0, else slope · x, elementwise; any shape. Its derivative at 0 is ``slope``.

    Source: Maas, Hannun and Ng, ICML 2013.

    >>> leaky_relu(np.array([-1.0, 0.0, 2.0]))
    array([-0.01,  0.  ,  2.  ])
    """
    real("leaky_relu", x)
    z: Any = np.where(np.greater(x, 0), x, slope * x)
    return z


@primitive
def sigmoid(x: Array, /) -> Node:
    """σ(x) = 1 / (1 + e⁻ˣ), elementwise; any shape. σ'(x) = σ(x) (1 − σ(x)).

    For negative x it is written e^x / (1 + e^x): then the exponential never overflows, and small results keep all
    their digits.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    real("sigmoid", x)
    e = np.exp(-np.absolute(x))
    return np.where(np.greater_equal(x, 0), 1, e) / (1 + e)


@primitive
def erf(x: Array, /) -> Node:
    """The error function (2/√π) ∫₀ˣ e^(−t²) dt, elementwise; any shape. From Python's math module: 60 ns a number.

    >>> erf(np.array([0.0, 1.0]))
    array([0.        , 0.84270079])
    """
    real("erf", x)
    family = family_of(x)
    return python_erf(x) if family is None else family.call(python_erf, x)


def python_erf(x: Any) -> Array:
    """Python's erf of every element of a NumPy array."""
    return np.asarray(ERF(x), getattr(x, "dtype", None) or float)


python_erf.__name__ = "erf"  # what it is called in other libraries


@primitive
def softmax(x: Array, /, axis: int = -1) -> Node:
    """eˣⁱ / Σⱼ eˣʲ along ``axis``: positive numbers that add up to 1; shape of x.

    The largest x is subtracted first, which changes nothing but keeps the exponentials at most 1.
    ∂zᵢ/∂xⱼ = zᵢ (δᵢⱼ − zⱼ), so the gradient is z ⊙ (g − Σ g ⊙ z).

    >>> softmax(np.array([1000.0, 1000.0, -1000.0]))
    array([0.5, 0.5, 0. ])
    """
    real("softmax", x)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@primitive
def log_softmax(x: Array, /, axis: int = -1) -> Node:
    """xᵢ − log Σⱼ eˣʲ along ``axis``, the logarithm of :func:`softmax`; shape of x.

    It is right even where the softmax itself would be rounded to 0, because it does not take the logarithm of it.

    >>> log_softmax(np.array([1000.0, -1000.0]))
    array([    0., -2000.])
    """
    real("log_softmax", x)
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


def softmax_x(g: Array, z: Array, axis: int) -> Array:
    """What softmax sends back."""
    return z * (g - np.sum(g * z, axis=axis, keepdims=True))


def log_softmax_x(g: Array, z: Array, axis: int) -> Array:
    """∂zᵢ/∂xⱼ = δᵢⱼ − eᶻʲ: subtracting the sum of g, shared out by the probabilities."""
    return g - np.exp(z) * np.sum(g, axis=axis, keepdims=True)


# fmt: off
rule(relu,        "x",                "relu",   r"\operatorname{relu} $x", x=lambda g, z: np.where(z > 0, g, 0),
     elementwise=True, holomorphic=False, precedence=3)
rule(leaky_relu,  "x | slope=0.01",   "leaky",  r"\operatorname{leaky} $x",
     x=lambda g, x, slope: np.where(x > 0, g, slope * g), elementwise=True, holomorphic=False, precedence=3)
rule(sigmoid,     "x",                "σ",      r"\sigma\left($x\right)", x=lambda g, z: g * (z * (1 - z)),
     elementwise=True, holomorphic=False)
rule(erf,         "x",                "erf",    r"\operatorname{erf} $x",
     x=lambda g, x: g * (2 / math.sqrt(math.pi) * np.exp(-x * x)), elementwise=True, holomorphic=False, precedence=3)
rule(softmax,     "x | axis=-1",      "softmax", r"\operatorname{softmax}\left($x\right)", x=softmax_x,
     holomorphic=False)
rule(log_softmax, "x | axis=-1",      "log softmax", r"\log \operatorname{softmax}\left($x\right)", x=log_softmax_x,
     holomorphic=False)
# fmt: on
