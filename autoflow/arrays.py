"""Arrays that can be recorded: how they are made, and brought from one library to another.

``zeros``, ``array`` and their like are for nodes what ``np.zeros`` and ``np.array`` are for plain numbers. Libraries
are NumPy on the host, CuPy on a GPU, or one with a type of your own.

Nothing is copied between devices automatically: an operation on arrays of two libraries is refused (MixedArraysError).
To bring an array over is an operation like any other: its gradient is brought back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .backends.registry import NODE_TYPES, NodeTypes, array_type, registered_type
from .base.errors import DataError
from .base.lazy import load_package
from .base.modes import modes
from .base.pytree import tree_map
from .nodes.coercion import holds_node
from .nodes.nodes import Array, Constant, Node, NodeRole, Variable, constant_from
from .table.shapes import join_list, without_history
from .table.table import primitive, rule

T = TypeVar("T")


def variable(
    value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True, requires_grad: bool = True
) -> Variable:
    """The same as :class:`autoflow.Variable`.

    >>> import autoflow as af
    >>> af.variable(2, name="x")
    2.0  Variable x
    """
    return Variable(without_history(value), name, dtype=dtype, copy=copy, requires_grad=requires_grad)


def constant(value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True) -> Constant:
    """The same as :class:`autoflow.Constant`.

    >>> import autoflow as af
    >>> af.constant(2, name="c")
    2  Constant c int64
    """
    return Constant(without_history(value), name, dtype=dtype, copy=copy)


@overload
def stop_gradient(x: Node) -> Constant: ...
@overload
def stop_gradient(x: T) -> T: ...
def stop_gradient(x: Any) -> Any:
    """``x`` as a read-only Constant on the same memory; anything else is returned unchanged.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> (x * af.stop_gradient(x)).backward()
    >>> x.grad
    array(3.)
    """
    return x.detach() if isinstance(x, NodeRole) else without_history(x)


def array(data: Any, dtype: Any = None) -> Node:
    """``np.array(data)`` that keeps the nodes in nested lists connected.

    Returns an Operation if there is a node with history in ``data``, else a Constant.

    >>> import autoflow as af
    >>> x, y = af.Variable(1.0), af.Variable(2.0)
    >>> af.array([[x, y], [y, 0.0]]).shape
    (2, 2)
    """
    if isinstance(data, NodeRole):
        return data.copy() if dtype is None else data.astype(dtype)  # type: ignore[attr-defined]
    if not holds_node(data):
        return Constant(data, dtype=dtype)
    joined: Any = join_list(data)
    return joined if dtype is None else joined.astype(dtype)


def zeros(shape: Any, dtype: Any = float) -> Node:
    """Zeros to be filled: a Constant, which becomes an Operation once a node is written into it.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> a = af.zeros(2)
    >>> a[0] = x * x
    >>> a.sum().backward()
    >>> x.grad
    array(6.)
    """
    return to_be_filled(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = float) -> Node:
    """Ones to be written into, as :func:`zeros`.

    >>> import autoflow as af
    >>> af.ones(2)
    [1., 1.]  Constant const_0
    """
    return to_be_filled(np.ones(shape, dtype))


def empty(shape: Any, dtype: Any = float) -> Node:
    """An array to be filled completely, as :func:`zeros`; its first content is arbitrary.

    >>> import autoflow as af
    >>> a = af.empty((2, 3))
    >>> a[...] = af.Variable(1.0)
    >>> type(a).__name__, a.shape
    ('Operation', (2, 3))
    """
    return to_be_filled(np.empty(shape, dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Node:
    """An array of one value, which may be a node.

    >>> import autoflow as af
    >>> af.full((2,), 0.5)
    [0.5, 0.5]  Constant const_0
    """
    if holds_node(fill_value) or array_type(fill_value) not in (None, np.ndarray):
        filled: Any = np.broadcast_to(fill_value, shape).copy()
        filled = filled if dtype is None else filled.astype(dtype)
        is_recorded = isinstance(filled, NodeRole)
        return filled if is_recorded else constant_from(filled)
    return to_be_filled(np.full(shape, fill_value, dtype))


def to_be_filled(array: Array) -> Any:
    """The array as a Constant. Under af.vmap each example has an element of it, and what is written into it while a
    function is compiled is part of the program."""
    own_memory = modes().own_memory
    return constant_from(array if own_memory is None else own_memory(array))


def stack(arrays: Any, axis: int = 0) -> Node:
    """``np.stack`` that also takes numbers.

    >>> import autoflow as af
    >>> af.stack([af.Variable(1.0), 2.0])
    [1., 2.]  Operation stack_0 = stack(var_0, const_0)
    """
    nodes: list[Any] = [a if isinstance(a, NodeRole) else Constant(a) for a in arrays]
    stacked: Any = np.stack(nodes, axis=axis)
    return stacked


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
    return tree_map(lambda x: to_library(x, np.ndarray), tree)


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


def to_library(x: Any, library: type | None) -> Any:
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
        return tree_map(lambda x: to_library(x, self.array_type), tree)

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
            return full(shape, self.put(fill_value), dtype)
        return self._made(np.full, shape, fill_value, dtype)

    def _made(self, function: Callable[..., Array], *arguments: Any) -> Any:
        return to_be_filled(self.family.from_numpy(function(*arguments)))


def _family(kind: Any) -> NodeTypes:
    """The family of an array type; CuPy's is made at its first use."""
    cls = registered_type(kind) if isinstance(kind, type) else None
    if cls is None:
        name = getattr(kind, "__name__", repr(kind))
        raise DataError(
            f"Autodiff takes a registered array type, not {name}: af.backends.register({name}, from_numpy=..., "
            f"to_numpy=...) first"
        )
    return NODE_TYPES[cls]
