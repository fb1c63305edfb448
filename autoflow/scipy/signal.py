"""scipy.signal.convolve for nodes, in any number of dimensions. (Of one dimension it is np.convolve.)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.lazy import list_public, load_package
from ..rules import primitive, rule
from ..table.indexing import put_back
from ..table.shapes import Array, Shape, as_array

if TYPE_CHECKING:
    from ..nodes.nodes import Node

__all__ = ["convolve"]
__dir__ = list_public(__all__)


@primitive
def convolution(x: Array, y: Array, mode: str = "full", method: str = "auto") -> Array:
    """``scipy.signal.convolve``."""
    signal = load_package("scipy.signal", "af.signal computes with SciPy, which is not installed: pip install scipy")
    if x.dtype == np.float16 and x.ndim > 1:
        raise TypeError("scipy.signal.convolve knows no float16 of several axes: use x.astype(np.float32)")
    return signal.convolve(x, y, mode, method)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Node:
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
    """dL/dx[i] = Σₖ g[k] y[k − i], g being that of all sums: g slid over y reversed. The same for y, by x."""
    return convolution(g, np.flip(y), "valid", method)


# fmt: off
rule(convolution, "x y | mode='full' method='auto'", "∗", r"$x * $y", precedence=2, elementwise=False, name="convolve",
     x=lambda g, x_shape, y, mode, method: slide(in_full(g, x_shape, y.shape, mode), y, method),
     y=lambda g, x, y_shape, mode, method: slide(in_full(g, x.shape, y_shape, mode), x, method))
# fmt: on
