"""Types that annotations share, and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    DTypeLike: TypeAlias = npt.DTypeLike | None  # what ``dtype=`` may be
else:
    DTypeLike = Any  # importing numpy.typing takes half a millisecond; who reads annotations at run time finds this

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Array: TypeAlias = Any  # an array of a registered type, or a node, which stands for one: NumPy's stubs know neither
Shape: TypeAlias = tuple[int, ...]
AnyFunction: TypeAlias = Callable[..., Any]  # a user's or a library's: of what it takes nothing is known
Values: TypeAlias = tuple[Any, ...]  # of each place another kind: the arguments of a call, what a record saves
ByName: TypeAlias = dict[str, Any]  # the same by name: keywords, attributes, variables


class BatchLayer(Protocol):
    """What other rooms ask of an ``af.vmap`` that is running: ``modes().layer``, and ``layer_of`` an array in it."""

    depth: int  # with those around it

    def lifted(self, x: Array) -> Array:
        """An array or node from outside as one of this layer, which all examples share."""

    def run_row(self, rule: Any, values: list[Any], compute: AnyFunction | None) -> Array:
        """A row of the table on values with at least one array of this layer among them."""

    def runs_alone(self, args: object) -> Array | None:
        """An array of this layer among these, if they hold nodes of an outer one: then a function runs for each."""

    def doubt(self, reason: str) -> NoReturn:
        """Only one example can answer that: the function is called for each."""

    def doubt_captured(self) -> NoReturn:
        """The same of an array that a function of plain arrays captures."""


def named_dtype(given: DTypeLike) -> np.dtype:
    """The dtype that ``dtype=`` names, also by a class: to np.dtype, ``np.dtypes.Float64DType`` is any object. A class
    of several, as that of texts, which have lengths, names the one that fits."""
    kind: Any = given if isinstance(given, type) and issubclass(given, np.dtype) else None
    # StringDType has no scalar type of its own; other classes of several cannot be called.
    return np.dtype(given) if kind is None else kind() if kind.type is str else np.dtype(kind.type)
