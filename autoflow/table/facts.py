"""What NumPy's functions do with shapes and memory, written once for ``af.vmap`` and ``af.compile``.

From the kind of a function the rest follows: its form for a whole batch, and whether the shape of its result is known
while a program is recorded. A function that is missing here is called for each example, and in every run of a program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Marks: "!" it may raise an error for some values, "?" the shape or dtype of its result depends on values.
KINDS = {
    # Over one axis, several, or (None) all of them.
    "reduces": """
        all amax amin any count_nonzero max mean median min nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar
        prod std sum var
    """,
    # Along one axis; for None along the flattened array.
    "runs": """
        argmax argmin argpartition argsort cumprod cumsum fft.fft fft.hfft fft.ifft fft.ihfft fft.irfft fft.rfft
        nanargmax! nanargmin! nancumprod nancumsum partition repeat sort unwrap
    """,
    # For a matrix, or each matrix of a stack.
    "matrices": """
        linalg.cholesky! linalg.cond? linalg.det linalg.eig!? linalg.eigh! linalg.eigvals!? linalg.eigvalsh! linalg.inv!
        linalg.matrix_norm! linalg.matrix_power! linalg.matrix_rank? linalg.pinv! linalg.qr linalg.slogdet linalg.svd!
        linalg.svdvals!
    """,
    # For each element alone.
    "elements": "angle around fix i0 iscomplex isneginf isposinf isreal nan_to_num round sinc",
    # Views, with the elements in their order; in another order; and other views.
    "shapes": "expand_dims ravel reshape squeeze",
    "permutes": "matrix_transpose moveaxis rollaxis swapaxes transpose",
    "shows": "broadcast_to diagonal flip fliplr flipud imag real rot90",
    "slices": "array_split dsplit hsplit split vsplit",
    # New arrays of the shape of another one.
    "likes": "empty_like full_like ones_like zeros_like",
    # Into their first argument.
    "writes": "copyto fill_diagonal place put put_along_axis putmask",
    # Answers that follow from shape and dtype; and from where arrays lie.
    "asks": "can_cast common_type iscomplexobj isrealobj min_scalar_type ndim result_type shape size",
    "places": "may_share_memory shares_memory",
}
# Others for which the shape and dtype of the result follow from those of their arrays: the first one, two or three
# arguments may be arrays or lists of arrays.
OTHERS = {
    1: """
        astype atleast_1d atleast_2d atleast_3d average! block broadcast_to column_stack concatenate copy
        cumulative_prod cumulative_sum diag diagflat diff dstack fft.fft2 fft.fftn fft.fftshift fft.ifft2 fft.ifftn
        fft.ifftshift fft.irfft2 fft.irfftn fft.rfft2 fft.rfftn flip gradient hstack linalg.multi_dot linalg.norm!
        linalg.trace linalg.vector_norm pad ptp stack tile trace tril triu unstack vander vstack
    """,
    2: """
        append convolve corrcoef correlate cov cross digitize! dot full_like inner isclose isin kron linalg.cross
        linalg.matmul linalg.outer linalg.solve! linalg.tensordot linalg.vecdot linspace nanpercentile! nanquantile!
        outer percentile! polyval quantile! roll searchsorted take! take_along_axis! tensordot trapezoid vdot
    """,
    3: "broadcast_arrays choose! clip interp meshgrid select where",
}


def find(word: str) -> Any:
    """The function of NumPy of that name; None in a NumPy that does not have it.

    >>> find("linalg.eig!?") is np.linalg.eig
    True
    """
    value: Any = np
    for part in word.rstrip("!?").split("."):
        value = vars(value).get(part)
    return value


def of_kind(*kinds: str) -> frozenset[Any]:
    """The functions of these kinds.

    >>> np.sum in of_kind("reduces"), np.sum in of_kind("runs", "writes")
    (True, False)
    """
    return frozenset([find(word) for kind in kinds for word in KINDS[kind].split()]) - {None}


ONE_ARRAY = [KINDS[kind] for kind in ("reduces", "runs", "matrices", "elements", "slices")]
MARKED = [(word, n) for n, text in [*OTHERS.items(), (1, " ".join(ONE_ARRAY))] for word in text.split()]
FIXED = {find(word): n for word, n in MARKED if "?" not in word}  # function -> how many arguments may be arrays
FIXED.pop(None, None)
RAISING = {find(word) for word, _ in MARKED if "!" in word}
REDUCTIONS: dict[Any, np.ufunc] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum, np.amax: np.maximum,
    np.amin: np.minimum, np.any: np.logical_or, np.all: np.logical_and,
}  # fmt: skip
# Of NumPy's whole numbers these report what does not fit; arrays wrap without a word.
WRAPPING = frozenset({np.add, np.subtract, np.multiply, np.negative, np.absolute})
