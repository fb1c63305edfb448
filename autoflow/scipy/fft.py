"""scipy.fft for nodes: Fourier transforms by the rows of np.fft, cosine and sine transforms by one of their own.

With ``norm="ortho"`` a cosine or sine transform is an orthogonal matrix, and its transpose one of the same family: type
3 is that of type 2, types 1 and 4 their own. The others are such matrices between two scalings: G. Strang, "The
discrete cosine transform", SIAM Review 41, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.lazy import load_package
from ..rules import kernel, rule
from ..rules.fourier import BACK, to_length
from ..table.shapes import Array, as_array
from .mirrors import mirrored

NAMES = [f"{i}{r}fft{n}" for r in ("", "r", "h") for i in ("", "i") for n in ("", "2", "n")]
__all__ = [*NAMES, "dct", "dctn", "dst", "dstn", "fftshift", "idct", "idctn", "idst", "idstn", "ifftshift"]  # noqa: F822


def like_numpys(name: str) -> Callable[..., Any]:
    """SciPy's function of that name, by NumPy's rows."""
    several = name[-1] in "2n"
    single = getattr(np.fft, name.rstrip("2n"))

    def transform(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return single(as_array(x), n, axis, norm)

    def transforms(x: Any, s: Any = None, axes: Any = (-2, -1) if name[-1] == "2" else None, norm: Any = None) -> Any:
        x = as_array(x)
        if "h" in name:  # the transform of half of a Hermitian signal is the inverse one of its conjugate
            x, turned = np.conjugate(x), BACK[norm]
            return (
                np.conjugate(np.fft.rfftn(x, s, axes, turned)) if name[0] == "i" else np.fft.irfftn(x, s, axes, turned)
            )
        return getattr(np.fft, name)(x, s, axes or range(x.ndim)[-len(s or x.shape) :], norm)

    made = transforms if several else transform
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"``scipy.fft.{name}``."
    return made


globals().update({name: like_numpys(name) for name in NAMES})
fftshift, ifftshift = np.fft.fftshift, np.fft.ifftshift

# ---------------------------------------------------------------- cosines and sines


@kernel
def orthogonal(x: Array, name: str = "dct", type: int = 2, axis: int = -1) -> Array:
    """A cosine or sine transform that is an orthogonal matrix."""
    return getattr(load_package("scipy.fft", "af.scipy.fft needs SciPy"), name)(x, type, axis=axis, norm="ortho")


TURNED = {1: 1, 2: 3, 3: 2, 4: 4}
rule(orthogonal, "x | name='dct' type=2 axis=-1", "dct", r"\operatorname{dct} $x", holomorphic=True,
     x=lambda g, name, type, axis: orthogonal(g, name, TURNED[type], axis))  # fmt: skip


def trigonometric(x: Any, name: str, kind: int, n: Any, axis: int, norm: Any, orthogonalize: Any) -> Array:
    """The transform as SciPy scales it: W′ · (orthogonal matrix) · W · factor."""
    x = as_array(x)
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    n = x.shape[axis] if n is None else n
    x = to_length(x, n, axis)
    size = {("dct", 1): n - 1, ("dst", 1): n + 1}.get((name, kind), n)
    w: Any = 1.0
    if not (norm == "ortho" if orthogonalize is None else orthogonalize):
        w = np.ones(n, np.finfo(x.dtype).dtype)
        w[ENDS.get((name, kind), [])] = math.sqrt(2.0)
        w = np.reshape(w, [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])
    z = orthogonal(x / w if kind in (1, 3) else x, name, kind, axis)
    scale = {None: math.sqrt(2.0 * size), "backward": math.sqrt(2.0 * size), "ortho": 1.0}.get(norm)
    return (z * w if kind in (1, 2) else z) * (1 / math.sqrt(2.0 * size) if scale is None else scale)


# The rows or columns that count more, where a transform is not orthogonal.
ENDS = {("dct", 1): [0, -1], ("dct", 2): [0], ("dct", 3): [0], ("dst", 2): [-1], ("dst", 3): [-1]}


def family(name: str) -> None:
    """``dct``, ``idct``, ``dctn`` and ``idctn``; the same of sines."""

    def forward(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, orthogonalize: Any = None
    ) -> Any:
        return trigonometric(x, name, type, n, axis, norm, orthogonalize)

    def inverse(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, orthogonalize: Any = None
    ) -> Any:
        return trigonometric(x, name, TURNED[type], n, axis, BACK[norm], orthogonalize)

    def over_axes(single: Any) -> Any:
        def transforms(
            x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, orthogonalize: Any = None
        ) -> Any:
            x = as_array(x)
            for n, axis in zip_lengths(x, s, axes):
                x = single(x, type, n, axis, norm, orthogonalize)
            return x

        return transforms

    for key, f in {
        name: forward,
        f"i{name}": inverse,
        f"{name}n": over_axes(forward),
        f"i{name}n": over_axes(inverse),
    }.items():
        f.__name__, f.__doc__ = key, f"``scipy.fft.{key}``."
        globals()[key] = f


def zip_lengths(x: Array, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """The pairs of a length, or None, and an axis."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = [axes] if isinstance(axes, int) else list(axes)
    lengths = [None] * len(axes) if s is None else [s] if isinstance(s, int) else list(s)
    return list(zip(lengths, axes, strict=True))


family("dct")
family("dst")
__getattr__, __dir__ = mirrored(globals(), __all__)
