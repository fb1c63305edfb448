"""scipy.ndimage for nodes: SciPy's own code, with its loops in C rewritten here with NumPy's functions.

A filter is a convolution of an array that is continued beyond its edges; gradients flow to the array and to the weights
(``convolve``, ``gaussian_filter``, ``sobel`` ...). Between its elements an array is a spline; gradients flow to the
array and to the places (``map_coordinates``, ``affine_transform``, ``shift``).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.ndimage import _measurements, _nd_image

from ..base.errors import NoRuleError
from ..table.shapes import Array, as_array, numbers_of
from .bodies import COPIES, Library, Space, stand_for
from .interpolate import bsplines
from .mirrors import mirrored
from .signal import convolution

__all__: list[str] = []

# How an array continues beyond its edges: SciPy's numbers.
NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
PADS: Any = ("edge", "wrap", "symmetric", "reflect", "constant")

# ---------------------------------------------------------------- filters


def correlation(x: Array, w: Array, out: Array, mode: int, cval: float, origins: Any) -> None:
    """z[i] = Σₖ x[i + k − middle] w[k]."""
    pads = [(n // 2 + o, n - 1 - n // 2 - o) for n, o in zip(w.shape, origins, strict=True)]
    wide = np.pad(x, pads, PADS[mode], **({"constant_values": cval} if mode == CONSTANT else {}))
    out[...] = convolution(wide.astype(np.float64), np.flip(w), "valid", "direct")


def correlation_along(x: Array, w: Array, axis: int, out: Array, mode: int, cval: float, origin: int) -> None:
    """The same along one axis."""
    shape, origins = [1] * x.ndim, [0] * x.ndim
    shape[axis], origins[axis] = w.size, origin
    correlation(x, np.reshape(w, shape), out, mode, cval, origins)


def mean_along(x: Array, size: int, *how: Any) -> None:
    """The mean of ``size`` neighbours along an axis."""
    correlation_along(x, np.full(size, 1.0 / size), *how)


# ---------------------------------------------------------------- interpolation


def spline_coefficients(x: Array, order: int, axis: int, out: Array, mode: int) -> None:
    """The coefficients of the spline through the elements along an axis: a product with a matrix."""
    matrix = np.zeros((x.shape[axis],) * 2)
    _nd_image.spline_filter1d(np.eye(len(matrix)), order, 0, matrix, mode)
    out[...] = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def placed(i: Array, n: int, mode: int) -> Array:
    """Where to find an element beyond the edges of n."""
    if mode in (NEAREST, GRID_CONSTANT):
        return np.clip(i, 0, n - 1)
    if mode == GRID_WRAP:
        return i % n
    period = max(2 * n if mode == REFLECT else 2 * (n - 1), 1)
    i = i % period
    return np.where(i < n, i, period - i - (mode == REFLECT))


def sample(x: Array, places: Array, out: Array, order: int, mode: int, cval: float, before: int) -> None:
    """The spline with the coefficients x at places (ndim, ...) -> (...), counted from element ``before`` along each
    axis. A place lies between the middle two of its order + 1 neighbours (odd orders) or near the middle one, and their
    weights are B-splines."""
    if mode == WRAP:
        raise NoRuleError("scipy.ndimage does not interpolate nodes with mode='wrap': use mode='grid-wrap'")
    places = places + before
    if mode == GRID_CONSTANT:
        x, places = np.pad(x, 3, "constant", constant_values=cval), places + 3
    parts, middle = [], 0.0 if order % 2 else 0.5
    knots = np.arange(-order, order + 2) - middle
    for p, n in zip(places, x.shape, strict=True):
        first = np.floor(numbers_of(p) + middle).astype(int)
        weights = bsplines(p - first, knots, order, np.full_like(first, order))
        parts.append([(placed(first + k - order // 2, n, mode), weights[..., k]) for k in range(order + 1)])
    z: Any = 0.0
    for corner in itertools.product(*parts):
        term = x[tuple([i for i, _ in corner])]
        for _, w in corner:
            term = term * w
        z = z + term
    if mode == CONSTANT:
        inside = [(p >= 0) & (p <= n - 1) for p, n in zip(numbers_of(places), x.shape, strict=True)]
        z = np.where(np.logical_and.reduce(inside), z, cval)
    out[...] = z


def transform(x: Array, mapping: object, places: Any, matrix: Any, offset: object, out: Array, *how: Any) -> None:
    """x at ``places``, or at those that ``matrix`` and ``offset`` compute from the result's indices."""
    if mapping is not None:
        raise NoRuleError("scipy.ndimage.geometric_transform calls its function in C: use map_coordinates")
    if matrix is not None:
        move = np.reshape(as_array(offset), (-1,) + (1,) * out.ndim)
        places = np.tensordot(matrix, np.indices(out.shape, np.float64), 1) + move
    sample(x, places, out, *how[:4])


def zoom_shift(x: Array, zoom: object, shift: object, out: Array, *how: Any) -> None:
    """x at (i + shift) zoom for the result's indices i; with the last argument they are the middles of cells."""
    middle = 0.5 if how[-1] else 0.0
    shape = (-1,) + (1,) * out.ndim
    places: Any = np.indices(out.shape, np.float64) + middle
    places = places if shift is None else places + np.reshape(as_array(shift), shape)
    places = places if zoom is None else places * np.reshape(as_array(zoom), shape)
    sample(x, places - middle, out, *how[:4])


stand_for(_nd_image, {
    "correlate": correlation, "correlate1d": correlation_along, "uniform_filter1d": mean_along,
    "spline_filter1d": spline_coefficients, "geometric_transform": transform, "zoom_shift": zoom_shift,
})  # fmt: skip
numpy: Any = Library(np)
numpy.isscalar = lambda x: np.ndim(x) == 0  # a result there is a number, or a list of several
COPIES[id(vars(_measurements))] = Space(vars(_measurements), np=numpy)
__getattr__, __dir__ = mirrored(globals())
