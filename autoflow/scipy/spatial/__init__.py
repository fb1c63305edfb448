"""scipy.spatial for nodes: :mod:`.distance`."""

from __future__ import annotations

from ..mirrors import mirrored
from . import distance as distance

__all__ = ["distance"]
__getattr__, __dir__ = mirrored(globals())
