"""The pseudo-inverse and least squares. Both hold for a rank that does not change under small steps.

⟨a, b⟩ = Re tr(aᴴ b), as in ``decompositions.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .packed import adjoint, fold, mask, pack, unpack
from .shapes import as_array, given_keywords, like_argument, numbers_of
from .table import composed, primitive, rule

Array = Any
Shape = tuple[int, ...]


def pinv_x(g: Array, x: Array, z: Array, hermitian: bool) -> Array:
    """dz = -z dx z + z zᴴ dxᴴ (1 - x z) + (1 - z x) dxᴴ zᴴ z, for a rank that does not change; and so backwards

    dL/dx = -zᴴ g zᴴ + (1 - x z) gᴴ z zᴴ + zᴴ z gᴴ (1 - z x).  Of a Hermitian x the lower triangle is read.
    Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses", 1973.
    """
    if hermitian:
        low = x * mask(x.shape[-1], x)
        return fold(pinv_x(g, low + adjoint(low), z, False), "L")
    gh, zh = adjoint(g), adjoint(z)
    return (gh - x @ (z @ gh)) @ (z @ zh) + (zh @ z) @ (gh - (gh @ z) @ x) - zh @ g @ zh


def compute_pinv(x: Array, rcond: Any, hermitian: bool, rtol: Any) -> Array:
    """NumPy distinguishes rtol=None from a missing rtol."""
    options = {"hermitian": True} if hermitian else {}
    return np.linalg.pinv(
        x, **given_keywords(rcond=rcond), **options, **({} if isinstance(rtol, str) else {"rtol": rtol})
    )


rule(np.linalg.pinv, "x | rcond=None hermitian=False rtol='unset'", "pinv", r"$x^{+}", x=pinv_x,
     compute=compute_pinv, holomorphic=False)  # fmt: skip


@primitive
def lstsq(x: Array, y: Array, rcond: Any = None) -> Array:
    """All that np.linalg.lstsq returns, packed; sums of squares that it does not compute are zeros."""
    z, residuals, rank, s = np.linalg.lstsq(x, y, rcond)
    columns = math.prod(y.shape[1:])
    residuals = residuals if residuals.size else np.zeros(columns, s.dtype, like=like_argument(s))
    return pack((z, z.ndim), (residuals, 1), ((np.zeros_like(s, shape=1) + rank).astype(s.dtype), 1), (s, 1))


def lstsq_parts(z: Array, x: Shape, y: Shape) -> list[Array]:
    """Solution, always with columns, sums of squares, rank, singular values."""
    columns = math.prod(y[1:])
    return unpack(z, (x[1], columns), (columns,), (1,), (min(x),))


def lstsq_y(g: Array, x: Array, y: Array, z: Array, rcond: Any) -> Array:
    """z = x⁺ y, so dL/dy = x⁺ᴴ gz; and the sums of squares of r = y - x z send 2 r g."""
    solution, *_ = lstsq_parts(z, x.shape, y.shape)
    gz, gr, *_ = lstsq_parts(g, x.shape, y.shape)
    r = _columns(y) - x @ solution
    return (adjoint(_pinv(x, y, rcond)) @ gz + 2 * r * np.real(gr)).reshape(y.shape)


def lstsq_x(g: Array, x: Array, y: Array, z: Array, rcond: Any) -> Array:
    """dL/dx = -w zᴴ + r (p w)ᴴ + (pᴴ z) (gz - (p x) gz)ᴴ with p = x⁺, w = pᴴ gz: see :func:`pinv_x`.

    The sums of squares send -2 r g zᴴ: they are smallest at z, so a small change of z does not matter.
    """
    solution, *_ = lstsq_parts(z, x.shape, y.shape)
    gz, gr, _, gs = lstsq_parts(g, x.shape, y.shape)
    p = _pinv(x, y, rcond)
    w, r = adjoint(p) @ gz, _columns(y) - x @ solution
    sent = r @ adjoint(p @ w) - (w + 2 * r * np.real(gr)) @ adjoint(solution)
    sent = sent + (adjoint(p) @ solution) @ adjoint(gz - p @ (x @ gz))
    if np.any(numbers_of(gs)) or getattr(gs, "requires_grad", False):  # differentiated again, a g of 0 counts as well
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        sent = sent + (u * np.real(gs)) @ vh
    return sent


def _columns(y: Array) -> Array:
    return y if y.ndim > 1 else y[:, None]


def _pinv(x: Array, y: Array, rcond: Any) -> Array:
    """The pseudo-inverse with the singular values that lstsq uses."""
    eps = np.finfo(np.result_type(numbers_of(x), numbers_of(y))).eps
    return np.linalg.pinv(x, eps * max(x.shape) if rcond is None else max(rcond, eps))


@composed(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``np.linalg.lstsq``: solution, sums of squares, rank (a plain number), singular values."""
    x, y = as_array(a), as_array(b)
    z = lstsq(x, y, rcond)
    solution, residuals, rank, s = lstsq_parts(z, x.shape, y.shape)
    number = np.int32(int(np.real(numbers_of(rank))[0]))
    if number != x.shape[1] or x.shape[0] <= x.shape[1]:
        residuals = residuals[:0]
    if z.dtype.kind == "c":
        residuals, s = np.real(residuals), np.real(s)
    return solution.reshape((x.shape[1], *y.shape[1:])), residuals, number, s


rule(lstsq, "x y | rcond=None", "lstsq", r"$x^{+} $y", x=lstsq_x, y=lstsq_y, holomorphic=False)
