"""Types that annotations share, and dtypes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # an array of a registered type, or a node, which stands for one: NumPy's stubs know neither
Shape: TypeAlias = tuple[int, ...]


def named_dtype(given: Any) -> np.dtype[Any]:
    """The dtype that ``dtype=`` names, also by a class: to np.dtype, ``np.dtypes.Float64DType`` is any object. A class
    of several, as that of texts, which have lengths, names the one that fits."""
    made: Any = given if isinstance(given, type) and issubclass(given, np.dtype) else None
    # StringDType has no scalar type of its own; other classes of several cannot be called.
    return np.dtype(given) if made is None else made() if made.type is str else np.dtype(made.type)
