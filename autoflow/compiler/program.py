"""A compiled function as data: a list of NumPy calls, each on values that were made before it.

A :class:`~.matching.Value` is an array that will be computed: by a function, from other values. A :class:`Program`
makes them. It has one constructor for each kind, and these are *smart*: they return an old value instead of a new one
wherever both are equal bit for bit. So the program is clean from the start (1 · x is x; the same call is made once;
constants are computed now). Unused values are simply not reached from the results.

While recording, each value also has a ``sample``: the array that the call gave for the arguments of the first call. It
tells shapes and dtypes, and lets NumPy's own functions run; it never decides anything.

The second section has the rules that keep a program small: if another value has the same bits, a call is saved. A
recorded backward pass does much that nobody would write by hand: it multiplies by ones, changes a sign twice, makes an
array of equal numbers to multiply by. Each rule removes one such thing, and each is exact: no rule changes a bit of the
result, not even of NaN and infinity (a zero may change its sign). So 0 · x is not 0 here (x may be infinite), and
(2x) · 3 is not 6x (it is rounded twice). What they save is in ``benchmarks/README.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..base.groups import in_order
from ..table.shapes import AnyFunction, Axis
from .matching import CALL, CAPTURED, CONSTANT, INPUT, ITEM, PRODUCT, REDUCE, UFUNC, VIEW, Array, Value, layout_of

# ---------------------------------------------------------------- programs: values in order, each made once

NUMBERS = (bool, int, float, complex)
kind_of, number_of, sample_of, dtype_of, order_of = map(attrgetter, ("kind", "number", "sample", "dtype", "layout"))


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
        self.checks: list[Value] = []  # calls that are made in any case, to check the shape of their result
        self.count = 0
        self.reports_nan = False  # is NaN that arises reported to a caller who ignores it?
        self.lines: Any = None  # where values come from, if it is to be written as text
        self.made: dict[Any, Value] = {}  # what is computed -> the value: equal calls are made once

    def add(self, value: Value, key: object = None) -> Value:
        """Number a new value, and remember it under ``key``."""
        self.count += 1
        value.number = self.count
        self.recent = value.sample  # keeps it alive until it is used
        if key is not None:
            self.made[key] = value
        return value

    # -- leaves

    def input(self, sample: Array) -> Value:
        """The next argument."""
        value = self.add(Value(INPUT, None, (), len(self.inputs), sample))
        self.inputs.append(value)
        return value

    def capture(self, array: Array) -> Value:
        """An array from outside; by identity."""
        key = CAPTURED, id(array)  # the value holds the array, so the number is not given to another one
        return self.made.get(key) or self.add(Value(CAPTURED, None, (), None, array), key)

    def constant(self, number: Any) -> Value:
        """A number or array that never changes. Numbers of one type with the same bits are one value."""
        kind = type(number), getattr(number, "dtype", None)
        key = None if np.ndim(number) else (CONSTANT, *kind, np.asarray(number).tobytes())
        return self.made.get(key) or self.add(Value(CONSTANT, None, (), None, number), key)

    # -- calls

    def ufunc(self, function: np.ufunc, args: tuple[Value, ...]) -> Value:
        """``function(*args)``, element by element."""
        if len(args) == 2 and args[0].number > args[1].number and commutes(function, *args):
            args = args[1], args[0]
        key = function, *map(number_of, args)
        value = self.made.get(key)
        if value is None:
            sample = function(*map(sample_of, args))
            value = simpler(self, function, args, sample)
            if value is None:
                if any(map(order_of, args)):  # NumPy chooses the order of the result by all operands
                    args = tuple(map(self.in_memory, args))
                value = self.add(Value(UFUNC, function, args, (), sample))
            self.made[key] = value
        return value

    def reduce(self, function: np.ufunc, x: Value, axis: Axis, keepdims: bool) -> Value:
        """``function.reduce(x, axis, keepdims=keepdims)``; ``axis``: None, or a number, or several."""
        axes = axes_of(axis, len(x.shape))
        key = REDUCE, function, x.number, axes, keepdims
        if key in self.made:
            return self.made[key]
        where = None if len(axes) == len(x.shape) else axes[0] if len(axes) == 1 else axes
        sample = function.reduce(x.sample, where, keepdims=keepdims)
        value = Value(REDUCE, function, (x,), (where, keepdims), sample)
        result = self.made[key] = self.constant(sample) if x.kind == CONSTANT else self.add(value)
        return result

    def product(self, x: Value, y: Value) -> Value:
        """``x @ y`` of matrices."""
        key = PRODUCT, x.number, y.number
        return self.made.get(key) or self.add(Value(PRODUCT, np.matmul, (x, y), (), np.matmul(x.sample, y.sample)), key)

    # -- views

    def view(self, x: Value, name: str, how: Any, function: Callable[[Array], Array], sample: Any = None) -> Value:
        """``function(x)``, another view of x's memory; ``name`` and ``how`` say which."""
        sample = function(x.sample) if sample is None else sample
        if x.kind == CONSTANT and name != "broadcast":
            return self.constant(sample)
        key = VIEW, x.number, name, how, sample.strides
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

    def as_array(self, x: Value) -> Value:
        """A NumPy number as a 0-d array: methods return views of it, and it can be written into."""
        return self.view(x, "reshape", (), lambda a: np.reshape(np.asarray(a), ()), np.asarray(x.sample))

    def broadcast(self, x: Value, shape: tuple[int, ...], sample: Any = None) -> Value:
        """x repeated to a larger shape."""
        if x.shape == shape and x.dtype is not None:
            return x
        if x.kind == VIEW and x.options[0] == "broadcast":
            x = x.args[0]
        return self.view(x, "broadcast", shape, lambda a: np.broadcast_to(a, shape), sample)

    # -- everything else

    def call(
        self, function: AnyFunction, args: Iterable[Value], options: object, key: object = None,
        held: frozenset[int] = frozenset(),
    ) -> Value:  # fmt: skip
        """``function(*args)``, any function of arrays. ``key``: what it computes, if calls may be shared. ``held``:
        which of NumPy's numbers are 0-d arrays to their user, who is a node."""
        args = tuple([self.in_memory(v) if v.kind == VIEW else v for v in args])
        key = None if key is None else (CALL, key, options, held, *[a.number for a in args])
        if key in self.made:
            return self.made[key]
        samples = [a.sample for a in args]
        numbers: dict[int, Callable[[Any], Any]] = {
            k: np.asarray if k in held else itemgetter(()) for k, x in enumerate(samples) if isinstance(x, np.generic)
        }
        if numbers:
            function = with_numbers(function, numbers)
        result = function(*samples)
        if not args and isinstance(result, np.ndarray):
            return self.constant(result)
        value = Value(CALL, function, args, options, result)
        results = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [s for s in samples if isinstance(s, np.ndarray)]
        value.shares = any([isinstance(r, np.ndarray) and np.may_share_memory(r, s) for r in results for s in arrays])
        return self.add(value, key)

    def in_memory(self, v: Value) -> Value:
        """v for a call that may ask in which order its elements lie: if a simplification has made it a repetition of a
        smaller array, a new array, as in eager code, and views of it look at that."""
        if v.kind != VIEW:
            return v
        if v.options[0] == "broadcast" and v.dtype.kind in "biufc" and all(v.sample.strides):
            same, args = (np.logical_and, (v, v)) if v.dtype.kind == "b" else (np.positive, (v,))
            key = UFUNC, same, v.number
            return self.made.get(key) or self.add(Value(UFUNC, same, args, (), v.sample), key)
        (name, how), base = v.options, self.in_memory(v.args[0])
        return v if base is v.args[0] else self.view(base, name, how, v.function)

    def item(self, x: Value, k: int) -> Value:
        """``x[k]`` of a call that returns several arrays."""
        return self.add(Value(ITEM, None, (x,), k, x.sample[k]))

    # -- after the recording

    def order(self) -> list[Value]:
        """All values that the results and the checks need, each after those that it is computed from."""
        return sort_values([*self.outputs, *self.checks])

    def rewrite(self, new: dict[Value, Value]) -> None:
        """Replace each v with ``new[v]``; none of them, if two calls would wait for each other."""
        values = rebuild_outputs([*self.outputs, *self.checks], new)
        if values is not None:
            n = len(self.outputs)
            self.outputs, self.checks = values[:n], values[n:]

    def forget_samples(self) -> None:
        """The recording is over: release its arrays, except those that are part of the program."""
        for value in (*self.made.values(), *self.inputs, *self.order()):
            if value.kind not in (CAPTURED, CONSTANT):
                value.sample = None
        self.made.clear()


def with_numbers(function: AnyFunction, take: dict[int, Callable[[Any], Any]]) -> AnyFunction:
    """``function``, called with NumPy's numbers or with 0-d arrays, as in eager code: their methods and last bits may
    differ. ``take``: by place, the function that makes one or the other of an array."""

    def call(*arrays: Array) -> Any:
        return function(*[take[k](x) if k in take else x for k, x in enumerate(arrays)])

    call.__name__ = getattr(function, "__name__", "call")
    call.of = function  # type: ignore[attr-defined]
    return call


def sort_values(outputs: Iterable[Value]) -> list[Value]:
    """These values and all that they need, operands first. (Numbers grow from operands to results.)"""
    outputs = list(outputs)
    seen = set(outputs)
    stack = outputs
    while stack:
        for x in stack.pop().args:
            if x not in seen:
                seen.add(x)
                stack.append(x)
    return sorted(seen, key=number_of)


def new_value(
    kind: str, function: object, args: tuple[Value, ...], options: object, shape: tuple[int, ...], number: float,
    like: object = (),
) -> Value:  # fmt: skip
    """A new value, to be computed at the time ``number``. ``like``: a value with its dtype and order of axes, or the
    dtype alone; by default the dtype is that of its first operand."""
    v = Value(kind, function, args, options, None)
    v.shape, v.number, v.layout = shape, number, getattr(like, "layout", None)
    v.dtype = args[0].dtype if isinstance(like, tuple) else getattr(like, "dtype", like)
    return v


def transposed(x: Value, number: float) -> Value:
    """xᵀ of a matrix."""
    return new_value(VIEW, lambda a: a.T, (x,), ("transpose", (1, 0)), x.shape[::-1], number)


def results_of_call(function: Any, args: tuple[Value, ...], results: list[Value], number: float) -> dict[Value, Value]:
    """One call that computes all of ``results``, as new arrays: each of them -> what replaces it."""
    call = new_value(CALL, function, args, None, (), number, None)
    new = {v: new_value(ITEM, None, (call,), k, v.shape, v.number, v) for k, v in enumerate(results)}
    for item in new.values():
        item.owned = True
    return new


def rebuild_outputs(outputs: list[Value], new: dict[Value, Value]) -> list[Value] | None:
    """The outputs of the program in which ``new[v]`` replaces v, renumbered as near to the old order as possible.

    None if two joined calls would have to wait for each other.
    """

    def final(v: Value) -> Value:
        while v in new:
            v = new[v]
        return v

    outputs = [final(v) for v in outputs]
    args: dict[Value, tuple[Value, ...]] = {}
    stack = list(dict.fromkeys(outputs))
    while stack:
        v = stack.pop()
        if v not in args:
            args[v] = tuple([final(x) for x in v.args])
            stack += args[v]
    order = in_order(args, number_of)
    if len(order) < len(args):
        return None
    for number, v in enumerate(order, 1):
        v.number, v.args = number, args[v]
    return outputs


# ---------------------------------------------------------------- simpler values with the same bits


def commutes(f: object, x: Value, y: Value) -> bool:
    """f(x, y) = f(y, x)? Then the operands are put in one order, so that equal calls are recognised. (Not for complex
    numbers: each product is a sum of two, and the processor rounds only one of them. Texts are joined.)"""
    return f in (np.add, np.multiply) and all([v.dtype is None or v.dtype.kind in "biuf" for v in (x, y)])


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative; None means all. Raises NumPy's error for axes that are not there.

    >>> axes_of(None, 2), axes_of(-1, 2), axes_of((1, 0), 2)
    ((0, 1), (1,), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    axes = normalize_axis_tuple(axis, ndim if type(axis) is tuple else max(ndim, 1))  # NumPy: 0-d has an axis 0
    return tuple(sorted(axes)) if ndim else ()


def number_in(x: Value) -> Any:
    """The one number that a real constant holds, else None."""
    if x.kind != "constant" or math.prod(x.shape) != 1:
        return None
    if type(x.sample) is not int and np.asarray(x.sample).dtype.kind != "f":
        return None  # NumPy's integers have no exact opposite: −(3) is 253 in uint8
    return np.asarray(x.sample).item()  # not as a float: 1 + 1e-19 of a longdouble is not 1


def unspread(x: Value) -> Value:
    """The array that ``x`` repeats, if it is only a broadcast: ufuncs broadcast by themselves."""
    return x.args[0] if x.kind == "view" and x.options[0] == "broadcast" else x


def simpler(p: Program, f: np.ufunc, args: tuple[Value, ...], sample: Array) -> Value | None:
    """A cheaper value with the bits of ``f(*args)``; None if none is known."""
    kinds = {*map(kind_of, args)}
    if kinds == {CONSTANT}:
        return p.constant(sample)
    if VIEW in kinds and (spread := tuple(map(unspread, args))) != args:
        value = p.ufunc(f, spread)
        result = value if value.shape == sample.shape else p.broadcast(value, sample.shape, sample)
        if result is not value or same_kind(result, sample):
            return result
    if f not in RULES or sample.dtype.kind != "f" or not {*map(dtype_of, args)} <= {sample.dtype, None}:
        return None
    with np.errstate(all="ignore"):  # the call itself has reported all
        by_rule = RULES[f](p, *args)
    return by_rule if by_rule is not None and same_kind(by_rule, sample) else None


def same_kind(x: Value, sample: Array) -> bool:
    """Does x have the shape and dtype of the sample, and its order of axes in memory, in which sums add? If 0-d: are
    both arrays, or both numbers?"""
    if not sample.shape and isinstance(x.sample, np.ndarray) is not isinstance(sample, np.ndarray):
        return False
    return x.shape == sample.shape and x.dtype == sample.dtype and x.layout == layout_of(sample) and x.is_dense


def negated_operand(x: Value) -> Value | None:
    """y, if ``x`` is −y."""
    return x.args[0] if x.kind == "ufunc" and x.function is np.negative else None


def opposite(p: Program, x: Value) -> Value:
    """−c, of the type of c: a Python number remains one. (Python's integers have no −0.)"""
    return p.constant(-0.0 if type(x.sample) is int and x.sample == 0 else -x.sample)


def multiply(p: Program, x: Value, y: Value) -> Value | None:
    """1 · y = y; −1 · y = −y; c · −y = −c · y; x · x = x²; signs move outwards, where they meet others and cancel."""
    for a, b in ((x, y), (y, x)):
        number = number_in(a)
        if number == 1:
            return b
        if number == -1:
            return p.ufunc(np.negative, (b,))
        if number is not None and (positive := negated_operand(b)) is not None:
            return p.ufunc(np.multiply, (opposite(p, a), positive))
    for a, b in ((x, y), (y, x)):
        if (positive := negated_operand(a)) is not None:
            return p.ufunc(np.negative, (p.ufunc(np.multiply, (positive, b)),))
    return p.ufunc(np.square, (x,)) if x is y else None


def divide(p: Program, x: Value, y: Value) -> Value | None:
    """x / ±1 = ±1 · x; signs move outwards."""
    if number_in(y) in (1, -1):
        return multiply(p, x, y)
    if (positive := negated_operand(x)) is not None:
        if number_in(y) is not None:
            return p.ufunc(np.divide, (positive, opposite(p, y)))
        return p.ufunc(np.negative, (p.ufunc(np.divide, (positive, y)),))
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.negative, (p.ufunc(np.divide, (x, positive)),))
    return None


def add(p: Program, x: Value, y: Value) -> Value | None:
    """x + x = 2 x; x + −y = x − y."""
    if x is y:
        return p.ufunc(np.multiply, (p.constant(2.0), x))
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.subtract, (x, positive))
    if (positive := negated_operand(x)) is not None:
        return p.ufunc(np.subtract, (y, positive))
    return None


def subtract(p: Program, x: Value, y: Value) -> Value | None:
    """x − −y = x + y; −x − x = −2 x."""
    if (positive := negated_operand(y)) is not None:
        return p.ufunc(np.add, (x, positive))
    if negated_operand(x) is y:
        return p.ufunc(np.multiply, (p.constant(-2.0), y))
    return None


def negative(p: Program, x: Value) -> Value | None:
    """−−x = x; −(c · x) = −c · x."""
    if x.kind == "ufunc" and x.function is np.multiply:
        for a, b in (x.args, x.args[::-1]):
            if number_in(a) is not None:
                return p.ufunc(np.multiply, (opposite(p, a), b))
    return negated_operand(x)


def square(p: Program, x: Value) -> Value | None:
    """(−x)² = x²."""
    positive = negated_operand(x)
    return None if positive is None else p.ufunc(np.square, (positive,))


RULES: dict[Any, Any] = {
    np.multiply: multiply,
    np.divide: divide,
    np.add: add,
    np.subtract: subtract,
    np.negative: negative,
    np.square: square,
    np.positive: lambda p, x: x,
}
