"""SciPy for nodes, under SciPy's names: what SciPy's own functions do not record.

:mod:`.linalg`, solving, and functions of matrices; :mod:`.special`, what is no ufunc there; :mod:`.stats`,
distributions; :mod:`.signal`, convolution; :mod:`.integrate`, differential equations and integrals. ``af.linalg`` and
its kin are these modules.
"""

from importlib import import_module
from types import ModuleType

__all__ = ["integrate", "linalg", "signal", "special", "stats"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'autoflow.scipy' has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
