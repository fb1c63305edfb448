"""From one array library to another: NumPy on the host, CuPy on a GPU, or a type of your own.

Nothing is copied between devices automatically: an operation on arrays of two libraries is refused (MixedArraysError).
To bring an array over is an operation like any other: its gradient is brought back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import NODE_TYPES, NodeTypes, array_type, registered_type
from ..base.errors import DataError
from ..base.lazy import load_package
from ..base.pytree import tree_map
from ..nodes.nodes import Array, Node, NodeRole
from ..table.table import primitive, rule
from .creation import array

T = TypeVar("T")
INSTALL = "pip install autoflow[gpu] brings it for CUDA 12 (for others see CuPy's installation guide)"


@primitive
def fetch(x: Array, library: Any = np.ndarray) -> Array:
    """The numbers of an array of ``library`` as NumPy's."""
    return NODE_TYPES[library].to_numpy(x)


@primitive
def put(x: Array, library: Any = np.ndarray) -> Array:
    """NumPy's array as one of ``library``."""
    return NODE_TYPES[library].from_numpy(x)


rule(fetch, "x | library", "to cpu", "$x", name="to_cpu", view=True, x=lambda g, library: put(g, library))
rule(put, "x | library", "to gpu", "$x", name="to_gpu", view=True, x=lambda g, library: fetch(g, library))


def to_cpu(tree: T) -> T:
    """Nodes and arrays on the host: one, or all of a tree of lists, tuples, dicts and dataclasses.

    A node gives a node, and its gradient is copied back to the device. A plain array gives a plain array. Arrays that
    are on the host already are returned unchanged, and so is anything but an array.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0])
    >>> af.to_cpu(x) is x
    True
    """
    return tree_map(lambda x: brought(x, np.ndarray), tree)


def to_gpu(tree: T) -> T:
    """Nodes and arrays on the GPU, as CuPy's; trees and gradients as in :func:`to_cpu`. Numbers stay numbers.

    Raises ImportError if CuPy is missing, RuntimeError if there is no GPU that it can use; both say what to do.
    """
    return Autodiff(usable_cupy().ndarray).put(tree)


def usable_cupy() -> Any:
    """CuPy, on a machine where it can compute."""
    missing = f"computing on a GPU needs CuPy, which is not installed: {INSTALL}. Everything else works."
    cupy = load_package("cupy", missing)
    if not cupy.is_available():
        raise RuntimeError(
            f"CuPy {cupy.__version__} is installed, but finds no GPU (cupy.is_available() is False): is the NVIDIA "
            f"driver there (nvidia-smi)? On the host everything works without."
        )
    return cupy


def brought(x: Any, library: type | None) -> Any:
    """``x`` as an array of that library, connected; itself if it is one, or no array."""
    kind = array_type(x)
    if library is None or kind in (None, library):
        return x
    host = x if kind is np.ndarray else fetch(x, kind)
    return host if library is np.ndarray else put(host, library)


class Autodiff:
    """The node classes for one array type: ``AF = af.Autodiff(cupy.ndarray)``, then ``AF.Variable([1.0, 2.0])``.

    ``AF.Variable`` and ``AF.Constant`` take numbers, lists and NumPy arrays, which are copied to the device, and arrays
    of the type. (``af.Variable(array)`` finds the type by itself; this is for data that is not on the device yet.)
    ``AF.array``, ``AF.zeros``, ``AF.ones``, ``AF.empty`` and ``AF.full`` are as in :mod:`autoflow`, on that device.

    Raises DataError for a type that is not registered.

    >>> import numpy as np, autoflow as af
    >>> AF = af.Autodiff(np.ndarray)
    >>> AF.Variable is af.Variable
    True
    """

    __module__ = "autoflow"

    def __init__(self, array_type: type) -> None:
        family = _family(array_type)
        self.array_type, self.family = array_type, family
        self.Node, self.Variable, self.Constant = family.Node, family.Variable, family.Constant
        self.Operation = family.Operation

    def __repr__(self) -> str:
        return f"Autodiff({self.array_type.__module__}.{self.array_type.__name__})"

    def put(self, tree: T) -> T:
        """The nodes and NumPy arrays of a tree on this device; gradients flow back. The opposite of :func:`to_cpu`."""
        return tree_map(lambda x: brought(x, self.array_type), tree)

    def array(self, data: Any, dtype: Any = None) -> Node:
        """As :func:`autoflow.array`: nested lists of nodes and numbers."""
        return self.put(array(data, dtype))

    def zeros(self, shape: Any, dtype: Any = float) -> Node:
        """Zeros to be filled, as :func:`autoflow.zeros`."""
        return self._made(np.zeros, shape, dtype)

    def ones(self, shape: Any, dtype: Any = float) -> Node:
        """Ones to be written into."""
        return self._made(np.ones, shape, dtype)

    def empty(self, shape: Any, dtype: Any = float) -> Node:
        """An array to be filled completely."""
        return self._made(np.empty, shape, dtype)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None) -> Node:
        """An array of one number."""
        if isinstance(fill_value, NodeRole):
            there: Any = self.put(fill_value)
            made: Any = np.broadcast_to(there, shape).copy()
            return made if dtype is None else made.astype(dtype)
        return self._made(np.full, shape, fill_value, dtype)

    def _made(self, function: Callable[..., Array], *arguments: Any) -> Any:
        return self.Constant(self.family.from_numpy(function(*arguments)), copy=False)


def _family(kind: Any) -> NodeTypes:
    """The family of an array type; CuPy's is made when it is asked for."""
    found = registered_type(kind) if isinstance(kind, type) else None
    if found is None:
        name = getattr(kind, "__name__", repr(kind))
        raise DataError(
            f"Autodiff takes a registered array type, not {name}: af.backends.register({name}, from_numpy=..., "
            f"to_numpy=...) first"
        )
    return NODE_TYPES[found]
