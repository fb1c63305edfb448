"""scipy.signal for nodes: convolution in any number of dimensions, and recursive filters.

A filter computes a₀ yₙ = Σₖ bₖ xₙ₋ₖ − Σₖ₌₁ aₖ yₙ₋ₖ, which is linear in x and in b. Backwards it is the same filter, run
from the last element to the first; and a change of aₖ acts as if −yₙ₋ₖ went into a filter with b = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.duck_arrays import NP
from ..base.errors import NoRuleError
from ..base.lazy import load_package
from ..rules import kernel, rule
from ..table.indexing import put_back
from ..table.shapes import Array, Shape, as_array, axes_of, numbers_of
from .bodies import check_precision, stand_for
from .mirrors import mirrored

if TYPE_CHECKING:
    from ..nodes.nodes import Node

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "lfilter", "sosfilt"]  # noqa: F822 - two are SciPy's own bodies
theirs = load_package("scipy.signal", "af.signal computes with SciPy, which is not installed: pip install scipy")


@kernel
def convolution(x: Array, y: Array, mode: str = "full", method: str = "auto") -> Array:
    """``scipy.signal.convolve``."""
    if x.dtype == np.float16 and x.ndim > 1:
        raise TypeError("scipy.signal.convolve knows no float16 of several axes: use x.astype(np.float32)")
    return theirs.convolve(x, y, mode, method)


def convolve(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Node:
    """z[k] = Σᵢ x[i] y[k − i], over all axes.

    Shapes: both of the same number of axes; the result has n + m − 1 elements along an axis (``mode="full"``), n in the
    middle of them ("same"), or those n − m + 1 that need no zeros around x ("valid").

    >>> convolve(np.ones((2, 2)), np.array([[1.0, 2.0]]))
    array([[1., 3., 2.],
           [1., 3., 2.]])
    """
    return convolution(as_array(in1), as_array(in2), mode, method)


def in_full(g: Array, x: Shape, y: Shape, mode: str) -> Array:
    """The gradient of all n + m − 1 sums; modes "same" and "valid" give the middle of them."""
    if mode == "full":
        return g
    full = tuple([n + m - 1 for n, m in zip(x, y, strict=True)])
    starts = [(f - n) // 2 if mode == "same" else min(n, m) - 1 for f, n, m in zip(full, x, y, strict=True)]
    return put_back(g, tuple([slice(s, s + k) for s, k in zip(starts, g.shape, strict=True)]), full)


def slide(g: Array, y: Array, method: str) -> Array:
    """dL/dx[i] = Σₖ g[k] y[k − i], with the gradients g of all sums: g slid over y reversed. For y the same with x."""
    return convolution(g, np.flip(y), "valid", method)


# fmt: off
rule(convolution, "x y | mode='full' method='auto'", "∗", r"$x * $y", precedence=2, name="convolve",
     x=lambda g, x_shape, y, mode, method: slide(in_full(g, x_shape, y.shape, mode), y, method),
     y=lambda g, x, y_shape, mode, method: slide(in_full(g, x.shape, y_shape, mode), x, method))
# fmt: on


def correlate(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Node:
    """z[k] = Σᵢ x[i + k] conj(y[i]), starting where the arrays first overlap: a convolution with y reversed.

    >>> correlate(np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 0.5]))
    array([0.5, 2. , 4. , 4. , 0. ])
    """
    x, y = as_array(in1), as_array(in2)
    if mode == "valid" and any([n < m for n, m in zip(x.shape, y.shape, strict=True)]):  # SciPy exchanges them
        return NP.flip(np.conjugate(correlate(y, x, mode, method)))
    return convolve(x, np.flip(np.conjugate(y)), mode, method)


def convolution_of_matrices(x: Array, y: Array, turned: int, mode: int, boundary: int, fill: object) -> Array:
    """``_sigtools._convolve2d``, which extends x beyond its edges as far as y reaches; a correlation if not ``turned``.

    mode, boundary : SciPy's numbers of words.
    """
    x, y = x.astype(np.result_type(x, y)), y if turned else np.flip(y)
    pads: list[tuple[int, int]] = []
    for m in y.shape:
        early = (m - 1) // 2 if turned else m // 2
        pads.append([(0, 0), (m - 1 - early, early), (m - 1, m - 1)][mode])
    how = PADS[boundary >> 2]
    wide = np.pad(x, pads, how, **({"constant_values": fill} if how == "constant" else {}))
    return convolution(wide, y, "valid", "direct")


PADS: dict[int, Any] = {0: "constant", 1: "symmetric", 2: "wrap", 4: "reflect"}
stand_for(theirs._signaltools._sigtools, {"_convolve2d": convolution_of_matrices})


# ---------------------------------------------------------------- filters


def resampled(x: Array, h: Array, out: Array, up: int, down: int, axis: int, mode: int, cval: float) -> None:
    """``_upfirdn_apply._apply``: puts zeros between the elements of x, applies the filter h, and takes every
    ``down``-th element. h comes in phases, each reversed."""
    if (how := MODES.get(mode)) is None:
        raise NoRuleError(f"scipy.signal.upfirdn of a node supports the modes {', '.join(MODES.values())}")
    x, h = np.moveaxis(x, axis, -1), np.flip(np.reshape(h, (up, -1)), 1).T.reshape(-1)
    beyond, n = h.size // up, out.shape[axis]
    sides = [(0, 0)] * (x.ndim - 1)
    wide = np.pad(x, [*sides, (beyond, beyond)], how, **({"constant_values": cval} if how == "constant" else {}))
    wide = np.pad(wide[..., None], [*sides, (0, 0), (0, up - 1)]).reshape(*x.shape[:-1], -1)
    z = convolution(wide, np.reshape(h, (1,) * (x.ndim - 1) + (-1,)), "full", "direct")
    out[...] = np.moveaxis(z[..., beyond * up :: down][..., :n], -1, axis)


MODES: dict[int, Any] = {0: "constant", 1: "symmetric", 2: "edge", 4: "wrap", 5: "reflect"}
stand_for(theirs._upfirdn, {"_apply": resampled})


@kernel
def recursive(x: Array, b: Array, a: Array, axis: int = -1) -> Array:
    """``scipy.signal.lfilter``."""
    check_precision(x, b, a)
    return theirs.lfilter(b, a, x, axis)


def backwards(g: Array, b: Array, a: Array, axis: int) -> Array:
    """The filter from the last element to the first."""
    return np.flip(recursive(np.flip(g, axis), b, a, axis), axis)


def products(g: Array, x: Array, shape: Shape, axis: int) -> Array:
    """Σₙ gₙ xₙ₋ₖ for all k."""
    g, x = np.moveaxis(g, axis, -1), np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    return np.stack([np.sum(g[..., k:] * x[..., : max(n - k, 0)]) for k in range(shape[0])])


# fmt: off
rule(recursive, "x b a | axis=-1", "filter", r"\operatorname{filter}($x)", name="lfilter", domain=(0.5, 1.5),
     x=lambda g, b, a, axis: backwards(g, b, a, axis),
     b=lambda g, x, b_shape, a, axis: products(backwards(g, np.ones_like(a[:1]), a, axis), x, b_shape, axis),
     a=lambda g, a, z, axis: -products(backwards(g, np.ones_like(a[:1]), a, axis), z, a.shape, axis))
# fmt: on


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Node | tuple[Node, Node]:
    """x filtered along an axis with the coefficients b and a. Gradients flow to all of them, and to zi.

    Returns y, or with zi the pair of y and the final state.

    >>> import autoflow as af
    >>> decay = af.Variable([1.0, -0.5])
    >>> lfilter([1.0], decay, np.array([1.0, 0.0, 0.0])).value
    array([1.  , 0.5 , 0.25])
    """
    if max(np.ndim(numbers_of(v)) for v in (b, a)) > 1:
        raise ValueError("The coefficients b and a of a filter are one-dimensional.")
    x, b, a = as_array(x), *[np.reshape(as_array(v), -1) for v in (b, a)]
    state = as_array(0.0 if zi is None else zi)
    dtype = np.result_type(x.dtype, b.dtype, a.dtype, np.float32 if zi is None else state.dtype)
    x, b, a = x.astype(dtype), b.astype(dtype), a.astype(dtype)
    if zi is None:
        return recursive(x, b, a, axis)
    (axis,), order = axes_of(axis, x.ndim), max(b.size, a.size) - 1
    state = np.broadcast_to(state.astype(dtype), (*x.shape[:axis], *state.shape[axis : axis + 1], *x.shape[axis + 1 :]))
    n = x.shape[axis]
    beyond = (*[(0, 0)] * axis, (0, order), *[(0, 0)] * (x.ndim - axis - 1))  # what the filter says after the last x
    state = np.pad(state, [(0, 0)] * axis + [(0, n)] + [(0, 0)] * (x.ndim - axis - 1))
    y, tail = NP.split(recursive(np.pad(x, beyond), b, a, axis) + recursive(state, a[:1], a, axis), [n], axis)
    return y, recursive(tail, a / a[0], np.ones_like(a[:1]), axis)


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Node | tuple[Node, Node]:
    """x filtered by a chain of second-order filters: rows (b₀, b₁, b₂, a₀, a₁, a₂) of ``sos``, of shape (m, 6)."""
    sos, x = as_array(sos), as_array(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"sosfilt takes rows of six coefficients, not an array of shape {sos.shape}")
    if not (numbers_of(sos)[:, 3] == 1).all():
        raise ValueError("sosfilt takes rows with a₀ = 1, the fourth number: divide a row by it")
    states = []
    for k in range(sos.shape[0]):
        x = lfilter(sos[k, :3], sos[k, 3:], x, axis, None if zi is None else as_array(zi)[k])
        if zi is not None:
            x, after = x
            states.append(after)
    return x if zi is None else (x, NP.stack(states))


__getattr__, __dir__ = mirrored(globals(), __all__)
