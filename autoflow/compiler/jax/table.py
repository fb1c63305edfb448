"""Function -> its counterpart in JAX, or why NumPy keeps it.

The rule: ``numpy.linalg.solve`` is ``jax.numpy.linalg.solve``, ``scipy.special.erf`` is ``jax.scipy.special.erf``. Here
are the exceptions, so that the table can be printed without JAX; where JAX is, a test looks whether it is true. A JAX
that lacks a name (an older one) leaves that function to NumPy, too.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
OTHER_NAMES = {
    "numpy.fix": "jax.numpy.trunc",
    "scipy.special.cbrt": "jax.numpy.cbrt",
    "scipy.special.exp2": "jax.numpy.exp2",
    "scipy.special.expm1": "jax.numpy.expm1",
    "scipy.special.log1p": "jax.numpy.log1p",
    "scipy.special.round": "jax.numpy.rint",
    "scipy.special.log_expit": "jax.nn.log_sigmoid",
}
NONE = "JAX has none"
ANOTHER_ORDER = "the order within the parts is another"
SHAPES = "the shape or dtype of its result depends on values"
NAMES = """
    betainc boxcox boxcox1p dawsn digamma entr erf erfc erfinv exp1 expi expit expn fresnel gamma gammainc gammaincc
    gammaln gammasgn hyp1f1 i0 i0e i1 i1e loggamma logit ndtr ndtri owens_t poch rel_entr sici spence wofz xlog1py xlogy
"""
SCIPYS = frozenset(NAMES.split())  # the functions of scipy.special that JAX has; all others it has not
LEFT = {
    "numpy.isnat": NONE,
    "numpy.partition": ANOTHER_ORDER,
    "numpy.argpartition": ANOTHER_ORDER,
    "numpy.linalg.eig": SHAPES,
    "numpy.linalg.eigvals": SHAPES,
    "numpy.linalg.lstsq": SHAPES,
    "numpy.real_if_close": SHAPES,
    "scipy.special.beta": "JAX's is wrong by 1e-6 at (3.5, 8.2)",
    "scipy.special.betaln": "JAX's is wrong by 2e-7 at (3.5, 8.2)",
    "scipy.special.erfcx": "JAX's is wrong between 26.6 and 26.7",
    "scipy.special.hyp2f1": "JAX's is wrong by 4e-9 for parameters near 30",
    "scipy.special.kl_div": "JAX's loses digits where x is near y",
    "scipy.special.log_ndtr": "JAX's is wrong by 4e-3 at 7.7",
}


class LeftToNumPy(Exception):  # noqa: N818 - no error: another way is taken
    """JAX cannot compute this call."""


def names_now() -> dict[Any, str]:
    """Function -> its full name, in the namespaces that are loaded."""
    return _names(tuple([name for name in NAMESPACES if name in sys.modules]))


@functools.cache
def _names(namespaces: tuple[str, ...]) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for namespace in namespaces:
        for name in dir(sys.modules[namespace]):
            function = getattr(sys.modules[namespace], name)
            if name[0] != "_" and callable(function) and not isinstance(function, type):
                found.setdefault(function, f"{namespace}.{name}")
    found[np._core.umath.clip] = "numpy.clip"  # type: ignore[attr-defined]
    return found


def counterpart(function: Any) -> str:
    """The full name of what computes ``function`` in JAX, or "left to NumPy" and the reason."""
    try:
        name = names_now().get(function)
    except TypeError:  # not hashable
        name = None
    if name is None:
        return "left to NumPy: no function of NumPy or SciPy"
    if name in LEFT:
        return f"left to NumPy: {LEFT[name]}"
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    if name.startswith("scipy.special.") and name.rpartition(".")[2] not in SCIPYS:
        return f"left to NumPy: {NONE}"
    return f"jax.{name}"
