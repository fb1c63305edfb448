"""What a compiled function does, as data: a list of NumPy calls, each on values that were made before it.

A :class:`Value` is an array that will be computed: by which function, of which other values. A :class:`Program` makes
them. It has one constructor for each kind, and these are *smart*: they return an old value instead of a new one
wherever both are equal bit for bit. So the program is clean from the start (``simplify.py``: 1 · x is x; the same
call is made once; constants are computed now), and what nobody needs is simply not reached from the results.

While recording, each value also has a ``sample``: the array that the call gave for the arguments of the first call. It
says shapes and dtypes, and lets NumPy's own functions run; it never decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import ref

import numpy as np

from . import simplify

Array = Any
NUMBERS = (bool, int, float, complex)

INPUT = "input"  # an argument of the compiled function
CAPTURED = "captured"  # an array that the function found elsewhere: read anew at every call
CONSTANT = "constant"  # known now, and for ever
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
        "_strong", "_weak", "args", "dtype", "fresh", "function", "kind", "layout", "number", "options", "shape",
        "shares",
    )  # fmt: skip

    _strong: Any
    _weak: Any

    def __init__(self, kind: str, function: Any, args: tuple[Value, ...], options: Any, sample: Any) -> None:
        self.kind, self.function, self.args, self.options = kind, function, args, options
        self.sample = sample
        self.shape: tuple[int, ...] = getattr(sample, "shape", ())
        self.dtype: Any = getattr(sample, "dtype", None)  # None: a Python number, which leaves the other's dtype alone
        self.layout = simplify.layout_of(sample)
        self.number: float = 0
        self.shares = False  # of calls: does the result look into the memory of an argument?
        self.fresh = False  # of calls: is the result an array that nobody else has?

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


class Program:
    """All values of one recording.

    >>> p = Program()
    >>> x = p.input(np.array([1.0, 2.0]))
    >>> p.ufunc(np.multiply, (x, p.constant(1.0))) is x
    True
    >>> p.ufunc(np.tanh, (x,)) is p.ufunc(np.tanh, (x,))
    True
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.count = 0
        self.made: dict[Any, Value] = {}  # what is computed -> the value: equal calls are made once

    def add(self, value: Value, key: Any = None) -> Value:
        """Number a new value, and remember it under ``key``."""
        self.count += 1
        value.number = self.count
        self.recent = value.sample  # alive until somebody holds it
        if key is not None:
            self.made[key] = value
        return value

    # -- leaves

    def input(self, sample: Array) -> Value:
        """The next argument."""
        value = self.add(Value(INPUT, None, (), len(self.inputs), sample))
        self.inputs.append(value)
        return value

    def captured(self, array: Array) -> Value:
        """An array from outside; by identity."""
        key = CAPTURED, id(array)  # the value holds the array, so the number is not given to another one
        return self.made.get(key) or self.add(Value(CAPTURED, None, (), None, array), key)

    def constant(self, number: Any) -> Value:
        """A number or array that never changes. Equal numbers of one type are one value."""
        key = None
        if np.ndim(number) == 0:
            key = CONSTANT, type(number), getattr(number, "dtype", None), repr(np.asarray(number).item())
            if key in self.made:
                return self.made[key]
        return self.add(Value(CONSTANT, None, (), None, number), key)

    # -- calls

    def ufunc(self, function: np.ufunc, args: tuple[Value, ...]) -> Value:
        """``function(*args)``, element by element."""
        if len(args) == 2 and args[0].number > args[1].number and simplify.commutes(function, *args):
            args = args[1], args[0]
        key = function, *[a.number for a in args]
        found = self.made.get(key)
        if found is None:
            sample = function(*[a.sample for a in args])
            found = simplify.simpler(self, function, args, sample)
            if found is None:
                found = self.add(Value(UFUNC, function, args, (), sample))
            self.made[key] = found
        return found

    def reduce(self, function: np.ufunc, x: Value, axis: Any, keepdims: bool) -> Value:
        """``function.reduce(x, axis, keepdims=keepdims)``; ``axis``: None, or a number, or several."""
        axes = simplify.axes_of(axis, len(x.shape))
        key = REDUCE, function, x.number, axes, keepdims
        if key in self.made:
            return self.made[key]
        where = None if len(axes) == len(x.shape) else axes[0] if len(axes) == 1 else axes
        sample = function.reduce(x.sample, where, keepdims=keepdims)
        if x.kind == CONSTANT:
            found = self.constant(sample)
        elif all([x.shape[a] == 1 for a in axes]) and function in simplify.IDENTITIES and sample.dtype == x.dtype:
            found = self.reshape(x, sample.shape)
        else:
            found = self.add(Value(REDUCE, function, (x,), (where, keepdims), sample))
        self.made[key] = found
        return found

    def product(self, x: Value, y: Value) -> Value:
        """``x @ y`` of matrices."""
        key = PRODUCT, x.number, y.number
        return self.made.get(key) or self.add(Value(PRODUCT, np.matmul, (x, y), (), np.matmul(x.sample, y.sample)), key)

    # -- views

    def view(self, x: Value, name: str, how: Any, function: Callable[[Array], Array], sample: Any = None) -> Value:
        """``function(x)``, which looks at x's memory in another way; ``name`` and ``how`` say which."""
        sample = function(x.sample) if sample is None else sample
        if x.kind == CONSTANT and name != "broadcast":
            return self.constant(sample)
        key = VIEW, x.number, name, how
        return self.made.get(key) or self.add(Value(VIEW, function, (x,), (name, how), sample), key)

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """x with its elements in C order in another shape."""
        if x.shape == shape:
            return x
        if x.kind == VIEW and x.options[0] == "reshape":
            return self.reshape(x.args[0], shape)
        return self.view(x, "reshape", shape, lambda a: np.reshape(a, shape))

    def transpose(self, x: Value, axes: tuple[int, ...]) -> Value:
        """x with its axes in another order."""
        if axes == tuple(range(len(axes))):
            return x
        if x.kind == VIEW and x.options[0] == "transpose":
            return self.transpose(x.args[0], tuple([x.options[1][a] for a in axes]))
        return self.view(x, "transpose", axes, lambda a: a.transpose(axes))

    def broadcast(self, x: Value, shape: tuple[int, ...], sample: Any = None) -> Value:
        """x repeated to a larger shape."""
        if x.shape == shape and x.dtype is not None:
            return x
        if x.kind == VIEW and x.options[0] == "broadcast":
            x = x.args[0]
        return self.view(x, "broadcast", shape, lambda a: np.broadcast_to(a, shape), sample)

    # -- everything else

    def call(self, function: Callable[..., Any], args: Iterable[Value], options: Any, key: Any = None) -> Value:
        """``function(*args)``, any function of arrays. ``key``: what it computes, if calls may be shared."""
        args = tuple(args)
        key = None if key is None else (CALL, key, options, *[a.number for a in args])
        if key is not None and key in self.made:
            return self.made[key]
        samples = [np.asarray(a.sample) if isinstance(a.sample, np.generic) else a.sample for a in args]
        result = function(*samples)
        if not args and isinstance(result, np.ndarray):
            return self.constant(result)
        value = Value(CALL, function, args, options, result)
        results = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [s for s in samples if isinstance(s, np.ndarray)]
        value.shares = any([isinstance(r, np.ndarray) and np.may_share_memory(r, s) for r in results for s in arrays])
        return self.add(value, key)

    def item(self, x: Value, k: int) -> Value:
        """``x[k]`` of a call that returns several arrays."""
        return self.add(Value(ITEM, None, (x,), k, x.sample[k]))

    # -- what is left of it

    def order(self) -> list[Value]:
        """All values that the results need, each after those that it is computed from."""
        return ordered(self.outputs)

    def forget_samples(self) -> None:
        """The recording is over: let its arrays go, but for those that are part of the program."""
        for value in (*self.made.values(), *self.inputs, *self.order()):
            if value.kind not in (CAPTURED, CONSTANT):
                value.sample = None
        self.made.clear()


def ordered(outputs: Iterable[Value]) -> list[Value]:
    """These values and all that they need, operands first. (Numbers grow from operands to results.)"""
    outputs = list(outputs)
    seen = set(outputs)
    stack = outputs
    while stack:
        for x in stack.pop().args:
            if x not in seen:
                seen.add(x)
                stack.append(x)
    return sorted(seen, key=lambda v: v.number)
