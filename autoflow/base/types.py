"""Type aliases that annotations share."""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any  # an array of a registered type, or a node, which stands for one: NumPy's stubs know neither
Shape: TypeAlias = tuple[int, ...]
