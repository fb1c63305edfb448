"""Calls whose result has a shape and dtype that follow from the shapes and dtypes of their arrays alone.

The shape of every other call may depend on values: ``x[x > 2]``, ``np.nonzero(x)``, ``np.repeat(x, counts)``; so may
the dtype of ``np.linalg.eig(x)``. While a function is recorded shapes are known, so Python may have counted, divided or
branched by them, and it is not known where that went. Such a call is therefore made in every run, needed or not, and
its result is compared with the recording (``run/calls.py``). A function that is missing here is only called more often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..matching import Place

# The number of leading arguments that may be arrays or lists of arrays.
POSITIONS: dict[int, str] = {
    1: """
        all any amax amin argmax argmin argsort around atleast_1d atleast_2d atleast_3d average block broadcast_to
        column_stack concatenate copy count_nonzero cumprod cumsum cumulative_prod cumulative_sum diag diagflat diff
        dstack fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft
        fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn flip hstack i0 linalg.cholesky linalg.det
        linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_power linalg.multi_dot linalg.norm
        linalg.pinv linalg.qr linalg.slogdet linalg.svd linalg.svdvals linalg.trace linalg.vector_norm max mean
        median min nan_to_num nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar pad partition argpartition
        prod ptp repeat round sinc sort split array_split hsplit vsplit dsplit stack std sum tile trace tril triu
        unstack unwrap vander var vstack angle
    """,
    2: """
        append convolve corrcoef correlate cov cross dot inner isclose isin kron linalg.cross linalg.matmul
        linalg.outer linalg.solve linalg.tensordot linalg.vecdot linspace nanpercentile nanquantile outer percentile
        polyval quantile roll searchsorted digitize take take_along_axis tensordot trapezoid vdot
    """,
    3: "choose clip interp select where",
}  # fmt: skip
ARRAY_OPTIONS = frozenset({"where", "weights", "prepend", "append", "initial", "x", "default", "min", "max"})


def find(name: str) -> Any:
    """The function of NumPy of that name; None in a NumPy that does not have it yet."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


FIXED = {find(name): n for n, names in POSITIONS.items() for name in names.split()}
FIXED.pop(None, None)


def has_fixed_shape(function: Any, args: Any, options: Any) -> bool:
    """``args`` and ``options`` with a Place for each array.

    >>> has_fixed_shape(np.repeat, (Place(0), 2), {}), has_fixed_shape(np.repeat, (Place(0), Place(1)), {})
    (True, False)
    >>> has_fixed_shape(np.where, (Place(0),), {})
    False
    """
    if isinstance(function, np.ufunc):
        return function.signature is None or not options
    if function is np.einsum:
        return not isinstance(args[0], Place) and not holds_place(options)
    if function not in FIXED or (function is np.where and len(args) < 3):
        return False
    rest = [v for name, v in options.items() if name not in ARRAY_OPTIONS]
    return not holds_place(args[FIXED[function] :]) and not holds_place(rest)


def holds_place(x: Any) -> bool:
    """Is there a placeholder of an array in it?"""
    if isinstance(x, dict):
        return any([holds_place(v) for v in x.values()])
    if isinstance(x, slice):
        return holds_place((x.start, x.stop, x.step))
    return isinstance(x, Place) or (isinstance(x, (tuple, list)) and any([holds_place(v) for v in x]))


def has_fixed_places(index: Any, arrays: list[Any]) -> bool:
    """Does ``x[index]`` have as many elements for all values in ``index``? Masks and slices by arrays have not.

    index : with a Place for each array. arrays : these arrays.
    """
    parts = index if type(index) is tuple else (index,)
    return all([
        arrays[p.k].dtype.kind in "iu" if isinstance(p, Place) else not holds_place(p) for p in parts
    ])  # fmt: skip
