"""Function -> its counterpart in JAX, or why NumPy keeps it; and numbers of 64 bits on their way between the two.

The rule: ``numpy.linalg.solve`` is ``jax.numpy.linalg.solve``, ``scipy.special.erf`` is ``jax.scipy.special.erf``. Here
are the exceptions, so that the table can be printed without JAX; if JAX is installed, a test checks it. A JAX that
lacks a name (an older one) leaves that function to NumPy, too.

``jax.pure_callback`` may call its function in one of XLA's threads, and the switch for 64 bits belongs to a thread:
there it is off, and float64 would arrive as float32. So they travel as words of 32 bits, which arrive unchanged.

>>> x = np.array([1.5, -0.0, np.nan])
>>> there = to_host(x)
>>> there.shape, there.dtype
((3, 2), dtype('uint32'))
>>> from_host(there, x.shape, x.dtype)
array([ 1.5, -0. ,  nan])
"""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from ...base.types import Array, DTypeLike
from ...table.outside import public_name

# ---------------------------------------------------------------- counterparts

NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
OTHER_NAMES = {
    "numpy.fix": "jax.numpy.trunc", "scipy.special.round": "jax.numpy.rint",
    **{f"scipy.special.{name}": f"jax.numpy.{name}" for name in ("cbrt", "exp2", "expm1", "log1p")},
    "scipy.special.log_expit": "jax.nn.log_sigmoid", "scipy.special.psi": "jax.scipy.special.digamma",
}  # fmt: skip
NONE = "JAX has none"
ANOTHER_ORDER = "the order within the parts is another"
SHAPES = "the shape or dtype of its result depends on values"
NAMES = """
    betainc boxcox boxcox1p dawsn entr erf erfc erfinv exp1 expi expit expn fresnel gamma gammainc gammaincc
    gammaln gammasgn hyp1f1 i0 i0e i1 i1e loggamma logit ndtr ndtri owens_t poch rel_entr sici spence wofz xlog1py xlogy
"""
SCIPYS = frozenset(NAMES.split())  # the functions of scipy.special that JAX has; all others it has not
LEFT = {
    "numpy.isnat": NONE,
    "numpy.spacing": "JAX's is negative at -0.0",
    **dict.fromkeys(("numpy.partition", "numpy.argpartition"), ANOTHER_ORDER),
    **{f"numpy.{name}": SHAPES for name in ("linalg.eig", "linalg.eigvals", "linalg.lstsq", "real_if_close")},
    "numpy.interp": "JAX's takes another one of equal points",
    "numpy.linspace": "JAX's single number is not NaN where the end is infinite",
    "numpy.trapezoid": "JAX's is NaN where an end is infinite",
    "numpy.unwrap": "JAX's is wrong for whole numbers",
    "scipy.special.beta": "JAX's is wrong by 1e-6 at (3.5, 8.2)",
    "scipy.special.betaln": "JAX's is wrong by 2e-7 at (3.5, 8.2)",
    "scipy.special.erfcx": "JAX's is wrong between 26.6 and 26.7",
    "scipy.special.hyp2f1": "JAX's is wrong by 4e-9 for parameters near 30",
    "scipy.special.kl_div": "JAX's loses digits where x is near y",
    "scipy.special.log_ndtr": "JAX's is wrong by 4e-3 at 7.7",
}
# Functions with a branch cut: of complex numbers there, signs of zeros decide.
CUTS = "arccos arccosh arcsin arcsinh arctan arctanh float_power log log10 log1p log2 power sqrt"
CUT = frozenset(CUTS.split())


class LeftToNumPy(Exception):  # noqa: N818 - no error: another way is taken
    """JAX cannot compute this call."""


def counterpart(function: object) -> str:
    """The full name of ``function`` in JAX, or "left to NumPy" and the reason."""
    name = re.sub("^np\\.", "numpy.", public_name(function))
    home, _, word = name.rpartition(".")
    if home not in NAMESPACES or getattr(sys.modules.get(home), word, None) is not function:
        return "left to NumPy: no function of NumPy or SciPy"
    if name in LEFT or (home == "scipy.special" and word not in SCIPYS and name not in OTHER_NAMES):
        return f"left to NumPy: {LEFT.get(name, NONE)}"
    return OTHER_NAMES.get(name, f"jax.{name}")


# ---------------------------------------------------------------- numbers of 64 bits as words of 32


WORD = np.dtype(np.uint32)


def described(shape: tuple[int, ...], dtype: DTypeLike) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype on the way."""
    n = words_of(dtype)
    return ((*shape, n), WORD) if n else (shape, dtype)


def words_of(dtype: Any) -> int:
    """The number of words of one number; 0 for those that travel as they are."""
    return dtype.itemsize // 4 if dtype.char in "lLqQdD" and dtype.itemsize > 4 else 0


def to_host(x: Array) -> Array:
    """NumPy's array as words."""
    return np.ascontiguousarray(x).reshape(*x.shape, 1).view(WORD) if words_of(x.dtype) else x


def from_host(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """NumPy's array of words as numbers."""
    return np.ascontiguousarray(x).view(dtype).reshape(shape) if words_of(dtype) else x


def from_device(jax: Any, x: Array) -> Array:
    """The same for an array of JAX: as words."""
    if not words_of(x.dtype):
        return x
    parts = jax.numpy.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
    return jax.lax.bitcast_convert_type(parts, WORD).reshape(*x.shape, -1 if x.size else words_of(x.dtype))


def to_device(jax: Any, x: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """As numbers."""
    if not words_of(dtype):
        return x
    if dtype.kind != "c":
        return jax.lax.bitcast_convert_type(x, dtype)
    parts = jax.lax.bitcast_convert_type(x.reshape(*shape, 2, 2), np.dtype(np.float64))
    return jax.lax.complex(parts[..., 0], parts[..., 1])
