"""SciPy for nodes, under SciPy's names: a gradient, or an error.

    from autoflow import scipy
    scipy.linalg.solve(a, b), scipy.signal.lfilter(b, a, x), scipy.stats.skew(x)

The modules have all of SciPy's public names. Plain arrays go to SciPy itself. For nodes a function has a rule of its
own (those that a module lists in ``__all__``), or SciPy's own code runs on them, which is proved (:mod:`.bodies`,
:mod:`.proofs`); results without a derivative, such as places and truth values, are computed from the numbers, and
everything else is refused by name.
``af.linalg`` and its kin are these modules.
"""

from importlib import import_module
from types import ModuleType

__all__ = [
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'autoflow.scipy' has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
