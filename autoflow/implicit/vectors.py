"""Trees of arrays as one vector, which is what solvers work on; and a search as one call, on numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .. import pytree
from ..backends.registry import family_of
from ..errors import BatchError, CompileError, InputError
from ..integrate.problems import refuse_hidden, stack_if_list
from ..nodes.nodes import value_of

Array = Any


class Layout:
    """Which places of a vector are which arrays of a tree.

    tree : an array, a number, or nested containers of them, all real.
    weak : the dtype of leaves that are Python numbers or integers.

    >>> layout = Layout({"a": np.ones((2, 1)), "b": 3.0}, "x0")
    >>> layout.ravel({"a": np.array([[1.0], [2.0]]), "b": 5.0}, "x")
    array([1., 2., 5.])
    >>> layout.unravel(np.array([1.0, 2.0, 5.0]))["a"].shape
    (2, 1)
    """

    def __init__(self, tree: Any, name: str, weak: Any = np.float64) -> None:
        self.name = name
        tree = stack_if_list(tree) if is_list_of_numbers(tree) else tree
        leaves, self.paths = pytree.tree_leaves(tree), pytree.tree_paths(tree, name)
        for x, path in zip(leaves, self.paths, strict=True):
            if not pytree.is_number(x) or getattr(x, "dtype", np.dtype(type(x))).kind == "c":
                what = f"{x.dtype}" if hasattr(x, "dtype") else type(x).__name__
                raise TypeError(f"{path} is {what}: the unknowns are real numbers and arrays of them, in containers")
        self.shapes = [np.shape(x) for x in leaves]
        self.dtypes = [x.dtype if is_float_array(x) else np.dtype(weak) for x in leaves]
        self.ends = [0, *accumulate([math.prod(shape) for shape in self.shapes])]
        self.size = self.ends[-1]
        self.dtype = np.result_type(np.float32, *self.dtypes)  # linear algebra has no half precision
        self.eps = max([float(np.finfo(dtype).eps) for dtype in self.dtypes])
        self.containers = pytree.tree_map(lambda x: None, tree)  # without the arrays: a layout may outlive the call
        if not self.size:
            raise InputError(f"{name} has no elements: there is nothing to be found")

    def ravel(self, tree: Any, what: str) -> Array:
        """A tree of these containers and shapes as a vector (n,). Raises InputError if it has others."""
        if not pytree.is_container(self.containers):
            tree = stack_if_list(tree)
        if pytree.tree_paths(tree) != pytree.tree_paths(self.containers):
            raise InputError(
                f"{what} has the parts {pytree.tree_paths(tree, 'it')}, but {self.name} has {self.paths}: the same "
                f"containers are needed"
            )
        parts = [stack_if_list(x) for x in pytree.tree_leaves(tree)]
        for x, shape, path in zip(parts, self.shapes, self.paths, strict=True):
            if np.shape(x) != shape:
                raise InputError(f"{what} has shape {np.shape(x)} where {path} has {shape}: the same shape is needed")
            if x.dtype.kind not in "fiub":
                raise TypeError(f"{what} is {x.dtype}: it has to be real")
        flat = [np.reshape(x, -1) if len(np.shape(x)) != 1 else x for x in parts]
        z = flat[0] if len(flat) == 1 else np.concatenate(flat)
        return z if z.dtype == self.dtype else z.astype(self.dtype)

    def unravel(self, x: Array) -> Any:
        """The tree with the numbers of a vector (n,)."""
        many = len(self.shapes) > 1
        parts = [x[a:b] if many else x for a, b in pairwise(self.ends)]
        made = [
            self.with_dtype(part if shape == part.shape else np.reshape(part, shape), dtype)
            for part, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True)
        ]
        return pytree.tree_unflatten(self.containers, iter(made))

    @staticmethod
    def with_dtype(x: Array, dtype: Any) -> Array:
        """``x`` itself if it has that dtype."""
        return x if x.dtype == dtype else x.astype(dtype)


def is_float_array(x: Any) -> bool:
    """An array, node or NumPy number with a dtype of its own that can hold any value? Python's numbers have none."""
    return getattr(getattr(x, "dtype", None), "kind", "") == "f"


def is_list_of_numbers(x: Any) -> bool:
    """As SciPy's users write a vector: ``[1.0, 2.0]``. (A list of arrays is a container.)"""
    rows = x if isinstance(x, list) else []
    inside = [v for row in rows for v in (row if isinstance(row, list) and row else [row])]
    return bool(inside) and all([isinstance(v, (int, float)) for v in inside])


def weak_dtype(arrays: Sequence[Any]) -> Any:
    """What Python numbers become beside these arrays: their dtype, float64 if there are none."""
    return np.result_type(*[x.dtype for x in arrays]) if arrays else np.dtype(np.float64)


def call_on_numbers(function: Callable[..., Array], arrays: Sequence[Array], name: str) -> Array:
    """``function(*arrays)`` for a function that wants numbers: of NumPy arrays at once; of arrays that hide a batch or
    that are being compiled, as one call that their library makes. ``function`` returns one plain array."""
    values = [value_of(x) for x in arrays]
    if all([isinstance(x, (np.ndarray, np.generic)) for x in values]):
        return function(*values)
    ends = [0, *accumulate([x.size for x in values])]
    shapes, dtypes = [x.shape for x in values], [x.dtype for x in values]

    def call(packed: Array) -> Array:
        family = None if isinstance(packed, (np.ndarray, np.generic)) else family_of(packed)
        if family is not None:
            return family.call(call, packed)  # and again, where a batch is being compiled
        parts = [packed[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]
        return function(*[x.astype(dtype) for x, dtype in zip(parts, dtypes, strict=True)])

    module, _, call.__name__ = name.replace("af.", "autoflow.").rpartition(".")
    call.__module__, call.__qualname__ = module, call.__name__  # for those who say what they call
    return call(np.concatenate([np.reshape(x, -1) for x in values]))


def refuse_outside(values: Any, name: str, recording: bool = True) -> None:
    """Raise an error if a function of plain arrays returns something else: then it uses nodes or traced arrays besides
    its arguments, to which no gradient would come back."""
    if recording:
        refuse_hidden(values, name, "theta")
    for x in map(value_of, pytree.tree_leaves(values)):
        if not isinstance(x, (np.ndarray, np.generic)) and not pytree.is_number(x):
            raise TypeError(f"{name} returned {type(x).__name__}: it returns numbers, arrays, or containers of them")
        if not isinstance(x, (np.ndarray, np.generic, int, float)):
            kind = BatchError if hasattr(x, "batch_layer") else CompileError
            raise kind(
                f"{name} uses an array of a surrounding af.vmap or af.compile that is not one of its arguments: pass "
                f"it in theta, as an array of floats"
            )
