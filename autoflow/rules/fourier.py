"""Fourier transforms, which are linear: the vjp is another transform, with conjugated phases.

    fft    z_k = Σ_j x_j exp(−2πi jk/n)        so  dL/dx_j = Σ_k g_k exp(+2πi jk/n): ifft without its factor 1/n

``norm`` decides which direction has the factor; in the vjp it is the other one (:data:`BACK`).
Gradients are dL/da + i dL/db, so the rows are the adjoint (conjugate transpose) of a transform as it stands, and are
marked ``holomorphic=False``: nothing is conjugated around them.

``n`` longer than x pads with zeros, and what comes back is cut; shorter, it is the other way round.
The transforms of several axes are one after the other, as in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.bodies import run_own
from ..table.indexing import put_back
from ..table.shapes import Array, Shape, like_argument
from ..table.table import rule

# norm -> that of the vjp.
BACK: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def to_length(g: Array, n: int, axis: int) -> Array:
    """``g`` with n elements along ``axis``: cut, or filled up with zeros.

    >>> to_length(np.array([1.0, 2.0]), 3, -1)
    array([1., 2., 0.])
    """
    axis = axis % g.ndim
    have = g.shape[axis]
    if have == n:
        return g
    part = (slice(None),) * axis + (slice(min(n, have)),)
    return g[part] if n < have else put_back(g, part, (*g.shape[:axis], n, *g.shape[axis + 1 :]))


def half_weights(g: Array, n: int, axis: int, inside: float) -> Array:
    """Weights of the n // 2 + 1 frequencies of rfft: each counts twice, except the first, and for an even n the last.

    Shaped for multiplication along ``axis``; in the precision of ``g``.
    """
    w = np.asarray(np.full(n // 2 + 1, inside, np.finfo(g.dtype).dtype), like=like_argument(g))
    w[0] = 1
    if n % 2 == 0:
        w[-1] = 1
    return w.reshape((-1,) + (1,) * (g.ndim - 1 - axis % g.ndim))


def rfft_x(g: Array, x_shape: Shape, n: Any, axis: int, norm: Any) -> Array:
    """dL/dx_j = Re Σ_k g_k exp(2πi jk/n) over half of the frequencies; irfft sums over all, so the inner count half."""
    n = x_shape[axis] if n is None else n
    return to_length(np.fft.irfft(g * half_weights(g, n, axis, 0.5), n, axis, BACK[norm]), x_shape[axis], axis)


def irfft_x(g: Array, x_shape: Shape, axis: int, norm: str | None) -> Array:
    """Each inner frequency was used twice, as it is and conjugated. (If x is real, only the real part counts.)"""
    sent = np.fft.rfft(g, axis=axis, norm=BACK[norm])
    return to_length(sent * half_weights(sent, g.shape[axis], axis, 2.0), x_shape[axis], axis)


# fmt: off
rule(np.fft.fft,   "x | n=None axis=-1 norm=None", "fft",   r"\mathcal F\, $x",      holomorphic=False,
     x=lambda g, x_shape, axis, norm: to_length(np.fft.ifft(g, axis=axis, norm=BACK[norm]), x_shape[axis], axis))
rule(np.fft.ifft,  "x | n=None axis=-1 norm=None", "ifft",  r"\mathcal F^{-1} $x",   holomorphic=False,
     x=lambda g, x_shape, axis, norm: to_length(np.fft.fft(g, axis=axis, norm=BACK[norm]), x_shape[axis], axis))
rule(np.fft.rfft,  "x | n=None axis=-1 norm=None", "rfft",  r"\mathcal F\, $x",      x=rfft_x, holomorphic=False)
rule(np.fft.irfft, "x | n=None axis=-1 norm=None", "irfft", r"\mathcal F^{-1} $x",   x=irfft_x, holomorphic=False)
# fmt: on

for word in ("fft", "ifft", "rfft", "irfft"):
    run_own(getattr(np.fft, f"{word}n"), getattr(np.fft, f"{word}2"))
run_own(np.fft.hfft, np.fft.ihfft, np.fft.fftshift, np.fft.ifftshift)
