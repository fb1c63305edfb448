"""What CuPy 14.2 refuses or answers in a way of its own where rules have to mind it: the stand-in does the same.

Each entry was met on a GPU or read in CuPy's source. What only a user can ask for (``where=``, functions that CuPy does
not have) is not here: the stand-in computes it, and ``test_cupy.py`` lists it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

OPERANDS = (bool, int, float, complex, np.generic, np.ndarray)  # besides the library's own arrays
FOLDED = {"reduce": (np.add, np.multiply), "accumulate": (np.add, np.multiply), "reduceat": (np.add,)}
REDUCE = {"axis", "dtype", "out", "keepdims", "indices"}
SUMMED = "iuf"  # kinds of numbers that a GPU adds in one step


def takes(ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any], own: type) -> bool:
    """May the library be asked this? False is NotImplemented: no operand may be a tuple or a list."""
    if not all(isinstance(x, (own, *OPERANDS)) for x in operands):
        return False
    if method in FOLDED:
        if ufunc not in FOLDED[method]:
            raise NotImplementedError(f"`cupy_{ufunc.__name__}.{method}` is not supported yet")
        if set(options) - REDUCE:
            raise TypeError(f"{method}() got an unexpected keyword argument {set(options) - REDUCE}")
    if method == "at" and operands[0].dtype.kind not in SUMMED:
        raise TypeError("cupy.add.at only supports int32, int64, float16, float32, float64, uint32, uint64")
    return True


def refuse(name: str, options: dict[str, Any], *keywords: str) -> None:
    """TypeError if one of these is given, whatever its value."""
    wrong = [word for word in keywords if word in options]
    if wrong:
        raise TypeError(f"{name}: Did not understand the following kwargs: {wrong}")


def check_axis(x: Any, axis: Any = None, *_: Any, **__: Any) -> None:
    """A number has no axis 0."""
    if np.ndim(x) == 0 and axis not in (None, ()):
        raise np.exceptions.AxisError(0, 0)


# ---------------------------------------------------------------- functions: (call, *args, **options) -> result


def like(call: Any, x: Any, *args: Any, shape: Any = None, **options: Any) -> Any:
    """An empty shape counts as none."""
    return call(x, *args, **options, **({"shape": shape} if shape else {}))


def einsum(call: Any, *args: Any, **options: Any) -> Any:
    """No ``out``, ``order`` and ``casting``."""
    refuse("einsum", options, "out", "order", "casting")
    return call(*args, **options)


def solve(call: Any, a: Any, b: Any) -> Any:
    """Stacks are not broadcast."""
    if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    return call(a, b)


def pad(call: Any, x: Any, pad_width: Any, *args: Any, **options: Any) -> Any:
    """No dict of axes."""
    if isinstance(pad_width, dict):
        raise TypeError("`pad_width` must be of integral type.")
    return call(x, pad_width, *args, **options)


def histogram(call: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Sums of weights are float64."""
    n, edges = call(x, *args, **options)
    return n.astype(np.result_type(n, np.float64)) if n.dtype.kind in "fc" else n, edges


def nan_spread(call: Any, x: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
    """``dtype`` does not say in what precision nanvar and nanstd compute; nanstd at least returns it."""
    z = call(x, *args, **options)
    return z.astype(dtype) if dtype is not None and call is np.nanstd else z


def eig(call: Any, x: Any) -> Any:
    """Always complex; but of an empty matrix not."""
    found = call(x)
    fitted = lambda a: a.astype(np.result_type(a, np.complex64)) if x.size or x.dtype.kind == "c" else a.real  # noqa: E731
    return fitted(found) if isinstance(found, np.ndarray) else type(found)(*map(fitted, found))


def eigh(call: Any, *args: Any) -> Any:
    """Eigenvectors with other signs."""
    w, v = call(*args)
    return type(call(np.eye(1)))(w, v * signs(v.shape[-1], v.dtype))


def svd(call: Any, *args: Any, **options: Any) -> Any:
    """Singular vectors with other signs, each pair with the same."""
    found = call(*args, **options)
    if isinstance(found, np.ndarray):
        return found
    u, s, vh = found
    return type(found)(u * signs(u.shape[-1], u.dtype), s, vh * signs(vh.shape[-2], vh.dtype)[:, None])


def signs(n: int, dtype: Any) -> Any:
    """-1, 1, -1, ..."""
    return np.where(np.arange(n) % 2, 1, -1).astype(dtype)


def partition(call: Any, x: Any, kth: Any, axis: Any = -1) -> Any:
    """Short arrays are put in order as a whole."""
    return np.sort(x, axis)


def sliding_window_view(call: Any, x: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    """The axes are put in order, the lengths of the windows are not; an axis twice is refused."""
    if isinstance(axis, tuple):
        axis = tuple(sorted([a % x.ndim for a in axis]))
        if len(set(axis)) < len(axis):
            raise ValueError("duplicate value in 'axis'")
    return call(x, window_shape, axis, **options)


def numbers_have_no_axis(call: Any, *args: Any, **options: Any) -> Any:
    """Reductions."""
    check_axis(*args, **options)
    return call(*args, **options)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys([np.zeros_like, np.empty_like, np.ones_like], like),
    **dict.fromkeys([np.sum, np.prod, np.max, np.min, np.mean], numbers_have_no_axis),
    **dict.fromkeys([np.nanvar, np.nanstd], nan_spread), **dict.fromkeys([np.linalg.eig, np.linalg.eigvals], eig),
    np.einsum: einsum, np.linalg.solve: solve, np.pad: pad, np.histogram: histogram, np.linalg.eigh: eigh,
    np.linalg.svd: svd, np.partition: partition, np.lib.stride_tricks.sliding_window_view: sliding_window_view,
}  # fmt: skip
MISSING = {np.histogram_bin_edges}  # functions without which rules get along


def astype(x: Any, *args: Any, **options: Any) -> Any:
    """No ``casting`` and ``subok``, not even by position."""
    refuse("astype", options, "casting", "subok")
    if len(args) > 2:
        raise TypeError("casting is not supported yet")
    return x.astype(*args, **options)


def reduction(name: str) -> Callable[..., Any]:
    def run(x: Any, *args: Any, **options: Any) -> Any:
        check_axis(x, *args, **options)
        return getattr(x, name)(*args, **options)

    return run


METHODS: dict[str, Callable[..., Any]] = {
    "astype": astype, **{name: reduction(name) for name in ("sum", "prod", "max", "min", "mean")},
}  # fmt: skip
