"""The values of a program: an array that will be computed, and how."""

from __future__ import annotations

from collections.abc import Container
from typing import Any
from weakref import ref

import numpy as np

INPUT = "input"  # an argument of the compiled function
CAPTURED = "captured"  # an array that the function found elsewhere: read anew at every call
CONSTANT = "constant"  # known now, and never changes
UFUNC = "ufunc"  # element by element: function(*args)
REDUCE = "reduce"  # function.reduce(x, axis, keepdims)
PRODUCT = "product"  # the product of two matrices
VIEW = "view"  # no numbers are computed: another shape, order or part of the same memory
CALL = "call"  # any other function of NumPy; its result is whatever it returns
ITEM = "item"  # one of several results of a call
LARGE = 16_384  # elements; smaller samples are kept until the end of the recording
STACK = "stack"  # values of one shape as one array: see compiler/passes/batching.py


class Value:
    """One array of a program, and how it is computed.

    kind : one of the words above.
    function : what is called: a ufunc, or a callable of as many arrays as there are ``args``.
    args : the values it is called with.
    options : what else decides the result: an axis, a shape. Hashable; None where calls are never shared.
    sample : the array of the recording; of constants and captured arrays the array itself.
    """

    __slots__ = (
        "_strong", "_weak", "args", "dtype", "function", "kind", "layout", "number", "options", "owned", "parts",
        "shape", "shares",
    )  # fmt: skip

    _strong: Any
    _weak: Any

    def __init__(self, kind: str, function: Any, args: tuple[Value, ...], options: Any, sample: Any) -> None:
        self.kind, self.function, self.args, self.options = kind, function, args, options
        self.sample = sample
        self.shape: tuple[int, ...] = getattr(sample, "shape", ())
        self.dtype: Any = getattr(sample, "dtype", None)  # None: a Python number, which leaves the other's dtype alone
        self.layout = layout_of(sample)
        self.parts: Any = None  # of several arrays: the shape and dtype of each
        if isinstance(sample, (tuple, list)):
            self.parts = [describe_value(x) for x in sample]
        self.number: float = 0
        self.shares = False  # of calls: does the result look into the memory of an argument?
        self.owned = False  # of calls: is the result an array that is used nowhere else?

    @property
    def sample(self) -> Any:
        """The array of the recording. A large one stays as long as the recorded function holds it, as in eager code; if
        it is wanted once more, it is computed once more."""
        if self._strong is not None or self._weak is None:
            return self._strong
        sample = self._weak()
        if sample is None:
            samples = [x.sample for x in self.args]
            if self.kind == ITEM:
                sample = samples[0][self.options]
            elif self.kind == REDUCE:
                sample = self.function.reduce(samples[0], self.options[0], keepdims=self.options[1])
            else:
                sample = self.function(*samples)
            self._weak = ref(sample)
        return sample

    @sample.setter
    def sample(self, array: Any) -> None:
        large = type(array) is np.ndarray and array.size > LARGE and self.kind not in (INPUT, CAPTURED, CONSTANT)
        self._strong, self._weak = (None, ref(array)) if large else (array, None)

    @property
    def is_dense(self) -> bool:
        """Is its memory that of a fresh result: without gaps, in forward order, each element once?"""
        if len(self.shape) < 2 or not (self.kind in (INPUT, CAPTURED, VIEW) or self.shares):
            return True
        return bool(np.asarray(self.sample).flags.forc)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(np.prod(self.shape)) * (self.dtype.itemsize if self.dtype is not None else 8)

    @property
    def name(self) -> str:
        """What it does, in one word."""
        if self.kind in (REDUCE, UFUNC):
            return str(self.function.__name__) + (".reduce" if self.kind == REDUCE else "")
        if self.kind == VIEW:
            return str(self.options[0] if self.options else "view")
        return getattr(self.function, "__name__", self.kind) if self.kind == CALL else self.kind

    def __repr__(self) -> str:
        return f"<{self.name} {self.dtype} {self.shape}>"


def behind_views(x: Any, inside: Container[Value] = ()) -> Any:
    """What a view looks at, through all views that are not ``inside``; anything else as it is."""
    while isinstance(x, Value) and x.kind == VIEW and x not in inside:
        x = x.args[0]
    return x


def describe_value(x: Any) -> tuple[Any, Any]:
    """Shape and dtype; of a Python number its class."""
    return getattr(x, "shape", ()), getattr(x, "dtype", type(x))


def layout_of(sample: Any) -> tuple[int, ...] | None:
    """The order of the axes in memory, None for C order. Sums add in that order, so it decides their last bits."""
    if type(sample) is not np.ndarray or sample.flags.c_contiguous or sample.ndim < 2:
        return None
    order = sorted(range(sample.ndim), key=lambda a: (-abs(sample.strides[a]), a))
    return None if order == list(range(sample.ndim)) else tuple(order)
