"""scipy.optimize for nodes. What finds roots and minima is in ``af.implicit``, and ``af.minimize``."""

from __future__ import annotations

from .mirrors import mirrored

__all__: list[str] = []
__getattr__, __dir__ = mirrored(globals())
