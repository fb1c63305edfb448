"""The calls of the rows about matrices, for the generated tests: see :mod:`examples`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoflow.rules.linalg import indexed_sum, norm
from autoflow.rules.solving import eig, eigh, lstsq, qr, slogdet, svd
from autoflow.table.shapes import like_argument
from autoflow.table.table import Example, of

Array = Any


def dominant(x: Array) -> Array:
    """A matrix with a large diagonal, 4, 7, 10 ...: positive definite, with gaps between all its values."""
    m, n = x.shape[-2:]
    one, weights = np.eye(m, n, dtype=x.dtype), (4 + 3 * np.arange(n)).astype(x.dtype)
    return x / 4 + np.asarray(one * weights, like=like_argument(x))


def dominant_real(x: Array) -> Array:
    """:func:`dominant`, and no complex numbers: there NumPy's factors have a phase that no formula knows."""
    if x.dtype.kind == "c":
        raise TypeError("the phase of complex factors is free; see tests/rules/test_linalg.py")
    return dominant(x)


def rotation_matrices(x: Array) -> Array:
    """Real matrices with complex eigenvalues: in the first two places a rotation."""
    n = x.shape[-1]
    turn = np.diag(np.array([3.0] + [0.0] * (n - 2)), 1) - np.diag(np.array([3.0] + [0.0] * (n - 2)), -1)
    return dominant(x) + np.asarray(turn.astype(x.dtype), like=like_argument(x))


# fmt: off
DOTS = (of((2, 3), (3, 4)), of((3,), (3,)), of((2, 3), (3,)), of((3,), (3, 4)), of((2, 2, 3), (3,)),
    of((2, 3), (4, 3, 2)), of((), ()), of((), (2, 3)), of((2, 3), ()), of((0, 3), (3, 2)), of((2, 0), (0, 3)))
INNERS = (of((3,), (3,)), of((2, 3), (4, 3)), of((2, 3), (3,)), of((2, 2, 3), (4, 3)), of((), (2, 3)), of((), ()),
    of((0, 3), (2, 3)))
SQUARE = (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant), of((1, 1), prepare=dominant))

EXAMPLES: dict[Any, tuple[Example, ...]] = {
    # linalg
    np.matmul: (of((2, 3), (3, 4)), of((3,), (3,)), of((2, 3), (3,)), of((3,), (3, 4)), of((5, 2, 3), (3, 4)),
        of((5, 1, 2, 3), (4, 3, 2)), of((2, 3), (5, 3, 2)), of((3,), (5, 3, 2)), of((5, 2, 3), (3,)),
        of((0, 3), (3, 2)), of((2, 0), (0, 3)), of((4, 0, 3), (3, 2))),
    np.matvec: (of((2, 3), (3,)), of((5, 2, 3), (3,)), of((2, 3), (5, 3)), of((5, 1, 2, 3), (4, 3))),
    np.vecmat: (of((2,), (2, 3)), of((2,), (5, 2, 3)), of((5, 2), (2, 3)), of((4, 2), (5, 1, 2, 3))),
    np.vecdot: (of((3,), (3,)), of((2, 3), (3,)), of((2, 1, 3), (4, 3)), of((2, 0), (2, 0))),
    np.dot: DOTS,
    np.inner: INNERS,
    np.outer: (of((2,), (3,)), of((2, 2), (3,)), of((), (3,)), of((0,), (3,))),
    np.vdot: (of((3,), (3,)), of((2, 3), (6,)), of((), ()), of((0,), (0,))),
    np.tensordot: (of((2, 3, 4), (3, 4, 2)), of((2, 3), (3, 4), axes=1), of((2,), (3,), axes=0),
        of((2, 3, 4), (4, 5, 2), axes=((0, -1), (2, 0))), of((2, 3), (3, 2), axes=(1, 0)),
        of((2, 3), (2, 3), axes=([0, 1], [0, 1])), of((0, 3), (3, 2), axes=1)),
    indexed_sum: (of((2, 3), (3, 4), call="ij,jk->ik", letters="ij,jk->ik"), of((3, 3), call="ii->i", letters="ii->i"),
        of((2, 3), call="ij->", letters="ij->"),
        of((2, 3), (3,), (2,), call="ij,j,i", letters="ij,j,i->", optimize=True),
        of((2, 3), (1, 3), call="ij,ij->j", letters="ij,ij->j"), of((3,), (2,), call="i,j->ij", letters="i,j->ij"),
        of((3, 3, 2), call="iij->j", letters="iij->j"), of((0, 2), (2, 3), call="ij,jk->ik", letters="ij,jk->ik")),
    # solving
    np.linalg.inv: (*SQUARE, of((0, 0))),
    np.linalg.solve: (of((3, 3), (3,), prepare=dominant), of((3, 3), (3, 2), prepare=dominant),
        of((2, 2, 2), (2,), prepare=dominant), of((2, 2), (3, 2, 1), prepare=dominant),
        of((2, 1, 2, 2), (3, 2, 2), prepare=dominant), of((0, 0), (0,)), of((2, 2), (2, 0), prepare=dominant)),
    np.linalg.det: (of((3, 3)), of((2, 2, 2)), of((1, 1)), of((0, 0)), *SQUARE),
    slogdet: (*SQUARE, of((0, 0))),
    # norms
    norm: (of((3,)), of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=(0, 1), keepdims=True),
        of((2, 3), ord="fro", keepdims=True), of((3,), ord=2), of((3,), ord=np.inf),
        of((2, 3), ord=-np.inf, axis=0, keepdims=True), of((3,), ord=1), of((2, 3), ord=3, axis=-1), of((3,), ord=-1),
        of((3,), ord=0.5), of((3,), ord=2.5), of((2, 3), ord=0, axis=0), of((2, 2, 3), axis=(0, 2)), of((0,)),
        of((0, 2), axis=0)),
    # leastsquares
    np.linalg.pinv: (of((3, 2), prepare=dominant), of((2, 3), prepare=dominant),
        of((2, 2, 2), prepare=dominant, rtol=None), of((3, 3), prepare=dominant, hermitian=True),
        of((3, 2), prepare=dominant, rcond=1e-3), of((0, 2))),
    lstsq: (of((4, 2), (4,), prepare=dominant), of((4, 2), (4, 2), prepare=dominant),
        of((2, 3), (2, 2), prepare=dominant), of((3, 3), (3,), prepare=dominant, rcond=-1)),
    # decompositions
    np.linalg.cholesky: (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant, upper=True),
        of((1, 1), prepare=dominant), of((0, 0)), of((0, 2, 2))),
    qr: (of((3, 3), prepare=dominant), of((4, 2), prepare=dominant), of((2, 4), prepare=dominant),
        of((2, 3, 2), prepare=dominant), of((0, 2))),
    eigh: (of((3, 3), prepare=dominant_real), of((2, 2, 2), prepare=dominant_real, UPLO="U"),
        of((1, 1), prepare=dominant_real), of((0, 0))),
    np.linalg.eigvalsh: (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant, UPLO="U"), of((0, 0))),
    eig: (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant), of((3, 3), prepare=rotation_matrices),
        of((0, 0))),
    np.linalg.eigvals: (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant),
        of((3, 3), prepare=rotation_matrices), of((0, 0))),
    svd: (of((3, 3), prepare=dominant_real), of((4, 2), prepare=dominant_real, full_matrices=False),
        of((2, 2, 3), prepare=dominant_real, full_matrices=False), of((1, 1), prepare=dominant_real), of((0, 0))),
    np.linalg.svdvals: (of((3, 3), prepare=dominant), of((4, 2), prepare=dominant), of((2, 2, 3), prepare=dominant),
        of((0, 2))),
}
# fmt: on
