"""scipy.fft for nodes: SciPy's own code over its transforms in C, which have rules here.

Fourier transforms have the rows of ``np.fft``. With ``norm="ortho"`` a cosine or sine transform is an orthogonal
matrix, and its transpose is of the same family: of type 2 it is type 3, and types 1 and 4 are their own transposes. The
others are such matrices between two scalings: G. Strang, "The discrete cosine transform", SIAM Review 41, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import fft as theirs
from scipy.fft import _basic_backend

from ..batching.forms import FORMS
from ..batching.shapes import along
from ..rules import kernel, rule
from ..table.shapes import Array, floats
from .bodies import stand_for
from .mirrors import mirrored

__all__: list[str] = []
FORWARD: Any = ("backward", "ortho", "forward")  # by SciPy's numbers of scales
INVERSE: Any = FORWARD[::-1]


def as_floats(x: Any) -> Array:
    """Whole numbers in double precision, half precision in single."""
    x = floats(x)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def c2c(x: Array, axes: Sequence[int], forward: bool, scale: int, *memory: object) -> Array:
    """The transform of complex numbers."""
    if forward:
        return np.fft.fftn(x, axes=axes, norm=FORWARD[scale])
    return np.fft.ifftn(x, axes=axes, norm=INVERSE[scale])


def r2c(x: Array, axes: Sequence[int], forward: bool, scale: int, *memory: object) -> Array:
    """Half of the transform of real numbers."""
    z = np.fft.rfftn(x, axes=axes, norm=FORWARD[scale])
    return z if forward else np.conjugate(z)


def c2r(x: Array, axes: Sequence[int], last: int, forward: bool, scale: int, *memory: object) -> Array:
    """The real numbers whose half transform this is."""
    sizes = [*[x.shape[axis] for axis in axes[:-1]], last]
    return np.fft.irfftn(np.conjugate(x) if forward else x, sizes, axes, INVERSE[scale])


@kernel
def orthogonal(x: Array, name: str = "dct", type: int = 2, axis: int = -1) -> Array:
    """A cosine or sine transform that is an orthogonal matrix."""
    return getattr(theirs, name)(x, type, axis=axis, norm="ortho")


FORMS[orthogonal] = partial(along, orthogonal, restored=True)
TURNED = {1: 1, 2: 3, 3: 2, 4: 4}
rule(orthogonal, "x | name='dct' type=2 axis=-1", "dct",
     x=lambda g, name, type, axis: orthogonal(g, name, TURNED[type], axis))  # fmt: skip
# The rows or columns that are scaled if a transform is not orthogonal.
ENDS = {("dct", 1): [0, -1], ("dct", 2): [0], ("dct", 3): [0], ("dst", 2): [-1], ("dst", 3): [-1]}


def trigonometric(name: str) -> Callable[..., Array]:
    """SciPy's ``dct`` or ``dst`` in C: along each axis W′ · (orthogonal matrix) · W · factor."""

    def transform(
        x: Array, type: int, axes: Sequence[int], scale: int, out: Any = None, workers: Any = None, ortho: object = None
    ) -> Array:
        z: Any = x
        for axis in axes:
            n = z.shape[axis]
            w: Any = 1.0
            if not (scale == 1 if ortho is None else ortho):
                w = np.ones(n, z.dtype)
                w[ENDS.get((name, type), [])] = math.sqrt(2.0)
                w = np.reshape(w, [-1 if a == axis % z.ndim else 1 for a in range(z.ndim)])
            z = orthogonal(z / w if type in (1, 3) else z, name, type, axis)
            factor = math.sqrt(2.0 * {("dct", 1): n - 1, ("dst", 1): n + 1}.get((name, type), n))
            z = (z * w if type in (1, 2) else z) * (factor, 1.0, 1 / factor)[scale]
        if out is not None and out is not x:
            out[...] = z
        return z

    return transform


basic = (getattr(_basic_backend, "_pocketfft", None) or _basic_backend._duccfft).basic  # from SciPy 1.18 on: DUCC
stand_for(basic, {"_asfarray": as_floats})
stand_for(basic.pfft, {"c2c": c2c, "r2c": r2c, "c2r": c2r, "dct": trigonometric("dct"), "dst": trigonometric("dst")})
__getattr__, __dir__ = mirrored(globals())
