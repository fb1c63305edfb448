"""Types that annotations share, and dtypes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # an array of a registered type, or a node, which stands for one: NumPy's stubs know neither
Shape: TypeAlias = tuple[int, ...]


def named_dtype(given: Any) -> np.dtype[Any]:
    """The dtype that ``dtype=`` names, also by a class: to np.dtype, ``np.dtypes.Float64DType`` is any object."""
    made: Any = given
    return made() if isinstance(given, type) and issubclass(given, np.dtype) else np.dtype(given)
