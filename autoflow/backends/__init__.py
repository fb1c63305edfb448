"""Array types: see ``registry.py``. CuPy registers itself when its first array is met: ``cupy.py``. Arrays that only
pretend, as those of ``af.vmap`` and ``af.compile`` do, share ``duck_arrays.py``.
"""

from ..base.lazy import publish
from .registry import NODE_TYPES, families_changed, register

__all__ = ["NODE_TYPES", "families_changed", "register"]
publish(globals(), __all__)
