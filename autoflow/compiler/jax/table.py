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
MISSING = """
    numpy: isnat
    scipy.special: agm airy bei beip ber berp betaincc betainccinv betaincinv binom chdtr chdtrc chdtri cosdg cosm1
        cotdg ellipe ellipeinc ellipk ellipkinc ellipkm1 erfcinv erfi exp10 exprel fdtr fdtrc gammainccinv gammaincinv
        gdtr gdtrc gdtrix huber inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kei keip ker kerp kolmogi kolmogorov
        ndtri_exp powm1 pseudo_huber radian rgamma sindg stdtr stdtrit tandg voigt_profile wrightomega y0 y1
"""
LEFT = {
    "numpy.linalg.eig": "whether its result is real depends on values",
    "numpy.linalg.eigvals": "whether its result is real depends on values",
    "numpy.linalg.lstsq": "the shape of its residuals depends on values",
    "numpy.partition": "the order within the parts is another",
    "numpy.argpartition": "the order within the parts is another",
}
for line in MISSING.replace("\n        ", " ").strip().splitlines():
    namespace, _, words = line.strip().partition(": ")
    LEFT.update({f"{namespace}.{word}": NONE for word in words.split()})


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
    return OTHER_NAMES.get(name, f"jax.{name}")
