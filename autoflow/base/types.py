"""Types that annotations share, and dtypes."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = Any  # an array of a registered type, or a node, which stands for one: NumPy's stubs know neither
Shape: TypeAlias = tuple[int, ...]


class BatchLayer(Protocol):
    """What other rooms ask of an ``af.vmap`` that is running: ``modes().layer``, and ``layer_of`` an array in it."""

    depth: int  # with those around it

    def lifted(self, x: Any) -> Any:
        """An array or node from outside as one of this layer, which all examples share."""

    def run_row(self, rule: Any, values: list[Any], compute: Any) -> Any:
        """A row of the table on values with at least one array of this layer among them."""

    def runs_alone(self, args: Any) -> Any:
        """An array of this layer among these, if they hold nodes of an outer one: then a function runs for each."""

    def doubt(self, reason: str) -> NoReturn:
        """Only one example can answer that: the function is called for each."""

    def doubt_captured(self) -> NoReturn:
        """The same of an array that a function of plain arrays captures."""


def named_dtype(given: Any) -> np.dtype[Any]:
    """The dtype that ``dtype=`` names, also by a class: to np.dtype, ``np.dtypes.Float64DType`` is any object. A class
    of several, as that of texts, which have lengths, names the one that fits."""
    made: Any = given if isinstance(given, type) and issubclass(given, np.dtype) else None
    # StringDType has no scalar type of its own; other classes of several cannot be called.
    return np.dtype(given) if made is None else made() if made.type is str else np.dtype(made.type)
