"""The numbers of an array as a picture needs them: few, plain, and made once.

A :class:`Numbers` holds no array: so a picture does not change with arrays, can be pickled, and keeps no memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
FEW = 6  # arrays of at most that many elements are printed in full


@dataclass(frozen=True, slots=True)
class Numbers:
    """What is known about the values, or a gradient, of one node.

    ``elements`` in C order if there are at most six; else ``mean`` and ``sd`` of the finite ones. ``rms`` is the root
    mean square, by which gradients are compared. All are None if the values were not ``kept``.
    """

    shape: tuple[int, ...]
    dtype: str
    kept: bool = False
    elements: tuple[Any, ...] | None = None
    mean: float | complex | None = None
    sd: float | None = None
    rms: float | None = None
    nans: int = 0
    infinite: int = 0

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    @property
    def scalar(self) -> bool:
        """Is it one number, without axes?"""
        return self.shape == ()

    def text(self, digits: int) -> str:
        """The values: ``8.417``, ``[1, 2.5]``, ``0.029 ± 1.4``, or "not kept".

        >>> numbers(np.array([1.0, 2.5])).text(4)
        '[1, 2.5]'
        """
        if not self.kept:
            return "not kept" if self.size else "no numbers"
        if self.elements is not None and self.size:
            return nest_words([number(v, digits) for v in self.elements], self.shape)
        if not self.size:
            return "empty"
        if self.mean is None:
            return "no finite value" if self.nans or self.infinite else "not numbers"
        return f"{number(self.mean, digits)} ± {number(self.sd or 0.0, digits)}"

    def magnitude(self, digits: int) -> str:
        """One number for how large it is: the number itself, or the root mean square."""
        if self.scalar or self.rms is None:
            return self.text(digits)
        return number(self.rms, digits)

    def flags(self) -> str:
        """``3 NaN, 1 infinite``; the empty string if all are finite, or for a single number, which shows it itself."""
        words = [f"{self.nans} NaN"] if self.nans else []
        words += [f"{self.infinite} infinite"] if self.infinite else []
        return ", ".join(words)

    def blocks(self) -> int:
        """How many of six blocks: all for a root mean square of 1 and more, one less per factor of ten."""
        if not self.rms or math.isnan(self.rms):
            return 0
        return 6 if self.rms >= 1 else min(6, max(0, round(6 + math.log10(self.rms))))

    def shape_text(self) -> str:
        """``32 × 128``, ``(128,)``, and the dtype if it is not float64."""
        text = " × ".join(map(str, self.shape)) if len(self.shape) > 1 else str(self.shape) if self.shape else ""
        return text if self.dtype == "float64" else f"{text} {self.dtype}".strip()


def numbers(array: Array | None, shape: tuple[int, ...] = (), dtype: Any = "float64") -> Numbers:
    """The summary of ``array``; ``shape`` and ``dtype`` say what is known of one that was not kept (None)."""
    if array is None:
        return Numbers(tuple(shape), str(dtype))
    array = array if hasattr(array, "dtype") and hasattr(array, "reshape") else np.asarray(array)
    shape, dtype = tuple(array.shape), str(array.dtype)
    if array.dtype.kind not in "fciub":
        return Numbers(shape, dtype, kept=True)
    if not array.size:
        return Numbers(shape, dtype, kept=True, elements=())
    with np.errstate(all="ignore"):
        return Numbers(shape, dtype, True, _elements(array), **_statistics(array))


def _elements(array: Array) -> tuple[Any, ...] | None:
    if array.size > FEW:
        return None
    kind = {"c": complex, "f": float, "b": bool}.get(array.dtype.kind, int)
    return tuple([kind(v) for v in array.reshape(-1).tolist()])


def _statistics(array: Array) -> dict[str, Any]:
    """Mean, standard deviation and root mean square of the finite elements, summed in double precision."""
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    nans = infinite = 0
    if array.dtype.kind in "fc":
        finite = np.isfinite(array)
        if not bool(finite.all()):
            nans = int(np.isnan(array).sum())
            infinite = int(array.size) - int(finite.sum()) - nans
            array = array[finite]
    if not array.size:
        return {"nans": nans, "infinite": infinite}
    scale = float(abs(array).max()) or 1.0  # the squares of 1e200 would overflow
    scaled = array.astype(wide) / scale
    rms = scale * math.sqrt(float((abs(scaled) ** 2).mean()))
    mean = scale * scaled.mean().item()
    if array.dtype.kind in "fc" and abs(mean) < 64 * float(np.finfo(array.dtype).eps) * rms:
        mean = 0.0  # cancellation leaves rounding errors, which differ from machine to machine
    return {
        "mean": mean,
        "sd": scale * float(scaled.std()),
        "rms": rms,
        "nans": nans,
        "infinite": infinite,
    }


def number(v: float | complex, digits: int) -> str:
    """``v`` with that many significant digits and a true minus sign; whole numbers below a million in full.

    >>> number(-0.00001234, 4), number(1e7, 4), number(12345.0, 4), number(2 - 1j, 4)
    ('−1.234e−5', '1e7', '12345', '2 − 1j')
    """
    if isinstance(v, bool):
        return str(v)
    if isinstance(v, complex):
        sign = "−" if v.imag < 0 or math.copysign(1, v.imag) < 0 else "+"
        return f"{number(v.real, digits)} {sign} {number(abs(v.imag), digits)}j"
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "∞" if v > 0 else "−∞"
    if v == int(v) and abs(v) < 10 ** (6 if isinstance(v, float) else 9):
        return str(int(v)).replace("-", "−")
    mantissa, e, exponent = f"{v:.{max(1, digits)}g}".partition("e")
    text = mantissa + (e + str(int(exponent)) if e else "")
    return text.replace("-", "−")


def nest_words(words: list[str], shape: tuple[int, ...]) -> str:
    """Words in the brackets of an array.

    >>> nest_words(["1", "2", "3", "4"], (2, 2))
    '[[1, 2], [3, 4]]'
    """
    for n in reversed(shape):
        words = ["[" + ", ".join(words[i : i + n]) + "]" for i in range(0, len(words), n)]
    return words[0]
