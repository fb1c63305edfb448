"""scipy.ndimage for nodes: filters as convolutions of an array that is continued beyond its edges; interpolation.

Gradients flow to the array and to the weights of a filter; ``map_coordinates`` has them to the coordinates, too. Most
other filters (``gaussian_filter``, ``sobel``, ``laplace`` ...) are SciPy's own code over these.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.lazy import load_package
from ..table.shapes import Array, as_array, axes_of, numbers_of
from .mirrors import mirrored
from .signal import convolution

__all__ = [
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "map_coordinates", "shift",
    "spline_filter", "spline_filter1d", "uniform_filter1d",
]  # fmt: skip

# ---------------------------------------------------------------- filters

PADS: dict[str, Any] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def beyond(x: Array, widths: Any, mode: str, cval: float) -> Array:
    """The array continued beyond its edges, as SciPy's ``mode`` says."""
    options: dict[str, Any] = {"constant_values": cval} if "constant" in mode else {}
    return np.pad(x, widths, PADS[mode], **options)


def image(x: Any, output: Any) -> Array:
    """The array to be filtered. SciPy's result has its dtype, unless ``output`` says another one."""
    x = as_array(x)
    if output is None and x.dtype.kind not in "fc":
        raise NoRuleError("af.scipy.ndimage of whole numbers gives whole numbers: use x.astype(np.float64)")
    return floats(x)


def given(z: Array, x: Array, output: Any) -> Array:
    """The result, in ``output`` if that is an array, else of that dtype, or that of x."""
    if output is None:
        return z.astype(x.dtype) if z.dtype.kind == "f" and z.dtype != x.dtype else z
    if isinstance(output, (type, str, np.dtype)):
        return z.astype(output)
    if type(output) is np.ndarray:
        raise NoRuleError("af.scipy.ndimage of a node does not write into a plain array: use the result")
    output[...] = z
    return output


def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Any:  # fmt: skip
    """z[i] = Σₖ x[i + k − middle] conj(w[k]), x continued as ``mode`` says.

    >>> from autoflow.scipy import ndimage
    >>> ndimage.correlate(np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.0, 1.0]))
    array([3., 5., 6.])
    """
    x, w = image(input, output), conjugate(floats(weights))
    axes = axes_of(axes, x.ndim)
    modes, origins = [[v] * w.ndim if isinstance(v, (str, int)) else list(v) for v in (mode, origin)]
    w = np.reshape(w, [w.shape[axes.index(a)] if a in axes else 1 for a in range(x.ndim)])
    for a, m, shift in zip(axes, modes, origins, strict=True):
        left = w.shape[a] // 2 + shift
        pads = [(left, w.shape[a] - 1 - left) if b == a else (0, 0) for b in range(x.ndim)]
        x = beyond(x, pads, m, cval)
    return given(convolution(x, np.flip(w), "valid", "direct"), x, output)


def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Any:  # fmt: skip
    """The same with the weights turned round.

    >>> from autoflow.scipy import ndimage
    >>> ndimage.convolve(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.0, 1.0]))
    array([1., 1., 2.])
    """
    w = conjugate(as_array(weights))
    origins = [origin] * w.ndim if isinstance(origin, int) else origin
    turned = [-o - (n % 2 == 0) for o, n in zip(origins, w.shape, strict=True)]
    return correlate(input, np.flip(w), output, mode, cval, turned, axes=axes)


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """:func:`correlate` along one axis."""
    return correlate(input, weights, output, mode, cval, origin, axes=axis)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """:func:`convolve` along one axis."""
    return convolve(input, weights, output, mode, cval, origin, axes=axis)


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The mean of ``size`` neighbours along an axis."""
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def conjugate(w: Array) -> Array:
    """The conjugate; of real numbers they themselves."""
    return np.conjugate(w) if w.dtype.kind == "c" else w


def floats(x: Any) -> Array:
    """An array or node, of whole numbers floats."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


# ---------------------------------------------------------------- interpolation


def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the spline through the elements along an axis: the product with a matrix."""
    x = floats(input)
    if order > 1:
        theirs = load_package("scipy.ndimage", "af.scipy.ndimage needs SciPy")
        matrix = theirs.spline_filter1d(np.eye(x.shape[axis]), order, 0, mode=mode)
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return given(x, x, None if output is np.float64 else output)


def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    """:func:`spline_filter1d` along all axes."""
    x = floats(input)
    if order < 2:
        raise RuntimeError("spline order not supported")  # as SciPy says
    for axis in range(x.ndim):
        x = spline_filter1d(x, order, axis, mode=mode)
    return given(x, x, None if output is np.float64 else output)


def spline_weights(t: Array, order: int) -> list[Array]:
    """What the order + 1 neighbours count at the place 0 <= t < 1 between the middle two: the B-splines there."""
    if order == 0:
        return [np.ones_like(t)]
    if order == 1:
        return [1 - t, t]
    s = 1 - t
    middle = [4 - 6 * v**2 + 3 * v**3 for v in (t, s)]
    return [v / 6 for v in (s**3, *middle, t**3)]


def placed(i: Array, n: int, mode: str) -> Array:
    """Where an element beyond the edges of n is found."""
    if mode in ("nearest", "constant", "grid-constant"):
        return np.clip(i, 0, n - 1)
    if mode == "grid-wrap":
        return i % n
    period = max(2 * (n - 1) if mode == "mirror" else 2 * n, 1)
    i = i % period
    return np.where(i < n, i, period - i - (mode != "mirror"))


def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """The array at places between its elements, by splines of order 0, 1 or 3. Gradients flow to both.

    Shapes: coordinates (ndim, ...) gives (...).

    >>> from autoflow.scipy import ndimage
    >>> ndimage.map_coordinates(np.array([[0.0, 1.0], [2.0, 3.0]]), [[0.5], [0.25]], order=1)
    array([1.25])
    """
    x, places = image(input, output), floats(coordinates)
    if order not in (0, 1, 3) or mode == "wrap" or mode not in PADS:
        raise NoRuleError(
            f"af.scipy.ndimage of a node is differentiated for order 0, 1 and 3, and not for mode {mode!r}"
        )
    if mode == "grid-constant" or (prefilter and order == 3 and mode == "nearest"):  # beyond the edge, as SciPy does
        x, places = beyond(x, 12, mode, cval), places + 12
    if prefilter and order == 3:
        x = spline_filter(x, order, mode=mode if mode in ("reflect", "grid-mirror", "grid-wrap") else "mirror")
    parts = []
    for p, n in zip(places, x.shape, strict=True):
        first = np.floor(numbers_of(p) + (0.5 if order == 0 else 0)).astype(int)
        weights = spline_weights(p - first, order)
        where = [first + k - order // 2 for k in range(order + 1)]
        parts.append(
            [(placed(i, n, "mirror" if mode == "constant" else mode), w) for i, w in zip(where, weights, strict=True)]
        )
    z: Any = 0.0
    for corner in itertools.product(*parts):
        term = x[tuple([i for i, _ in corner])]
        for _, w in corner:
            term = term * w
        z = z + term
    if mode == "constant":
        inside = [(p >= 0) & (p <= n - 1) for p, n in zip(numbers_of(places), x.shape, strict=True)]
        z = np.where(np.logical_and.reduce(inside), z, cval)
    return given(z, x, output)


def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """x at the places matrix @ i + offset of the result's elements i. Gradients flow to matrix and offset, too."""
    x, m = image(input, output), floats(matrix)
    if m.shape[-1] == x.ndim + 1 and m.ndim == 2:
        m, offset = m[: x.ndim, :-1], m[: x.ndim, -1]
    shape = tuple(output_shape or x.shape)
    grid = np.reshape(np.indices(shape).astype(np.float64), (len(shape), -1))
    places = (m @ grid if m.ndim == 2 else m[:, None] * grid) + np.reshape(
        np.broadcast_to(as_array(offset), (x.ndim,)), (-1, 1)
    )
    return map_coordinates(x, np.reshape(places, (x.ndim, *shape)), output, order, mode, cval, prefilter)


def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """x moved by ``shift`` elements along each axis. Gradients flow to that as well."""
    x = image(input, output)
    return affine_transform(x, np.ones(x.ndim), -as_array(shift), None, output, order, mode, cval, prefilter)


__getattr__, __dir__ = mirrored(globals(), __all__)
