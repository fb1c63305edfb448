"""Array types: see ``registry.py``. CuPy registers itself when its first array is met: ``cupy.py``."""

from ..lazy import publish
from .registry import FAMILIES, families_changed, register

__all__ = ["FAMILIES", "families_changed", "register"]
publish(globals(), __all__)
