"""The values of a program; and how arguments become values, and values the result of a call.

A :class:`Value` is an array that will be computed, and how. It comes first.

Then arguments are taken apart and results put together, for one signature, by closures that are made once.
:func:`matcher` makes from the arguments of a recording the function that says whether other arguments have the same
signature, and collects their arrays on the way. :func:`assembler` makes from its result the function that puts arrays
into the same containers. Containers other than tuples, lists and dicts have no matcher: those calls are looked up.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Container, Sequence
from operator import is_, itemgetter
from typing import Any
from weakref import ref

import numpy as np

from ..base import pytree
from ..base.errors import CompileError
from ..base.transformed import FunctionOfFunction
from ..base.types import AnyFunction as AnyFunction, Array as Array, ByName as ByName, Values as Values
from ..nodes.versions import is_writeable

# ---------------------------------------------------------------- values: arrays that will be computed

INPUT = "input"  # an argument of the compiled function
CAPTURED = "captured"  # an array that the function found elsewhere: read anew at every call
CONSTANT = "constant"  # known now, and never changes
KNOWN = CAPTURED, CONSTANT  # the array is there before any argument is
LEAVES = INPUT, CAPTURED, CONSTANT  # nothing is computed
UFUNC = "ufunc"  # element by element: function(*args)
REDUCE = "reduce"  # function.reduce(x, axis, keepdims)
PRODUCT = "product"  # the product of two matrices
VIEW = "view"  # no numbers are computed: another shape, order or part of the same memory
CALL = "call"  # any other function of NumPy; its result is whatever it returns
ITEM = "item"  # one of several results of a call
LARGE = 16_384  # elements; smaller samples are kept until the end of the recording
STACK = "stack"  # values of one shape as one array: see compiler/passes.py
VIEWS = {"reshape": np.reshape, "transpose": np.transpose, "broadcast": np.broadcast_to}


class Value:
    """One array of a program, and how it is computed.

    kind : one of the words above.
    function : the called function: a ufunc, or a callable that takes one array for each of ``args``.
    args : the values it is called with.
    options : what else the result depends on: an axis, a shape. Hashable; None where calls are never shared.
    sample : the array of the recording; of constants and captured arrays the array itself.
    """

    __slots__ = (
        "_weak", "_writeable", "args", "dtype", "function", "kind", "layout", "number", "options", "owned", "parts",
        "sample", "shape", "shares",
    )  # fmt: skip

    def __init__(self, kind: str, function: Any, args: tuple[Value, ...], options: Any, sample: Any) -> None:
        self.kind, self.function, self.args, self.options = kind, function, args, options
        if type(sample) is ndarray and sample.size > LARGE and kind not in LEAVES:
            self._weak, self._writeable = ref(sample), is_writeable(sample)
        else:
            self.sample = sample
        self.shape: tuple[int, ...] = getattr(sample, "shape", ())
        self.dtype: Any = getattr(sample, "dtype", None)  # None: a Python number, which leaves the other's dtype alone
        self.layout = layout_of(sample)
        # For several arrays: the shape and dtype of each.
        self.parts: Any = [describe_value(x) for x in sample] if isinstance(sample, (tuple, list)) else None
        self.number: float = 0
        self.shares = False  # of calls: does the result look into the memory of an argument?
        self.owned = False  # of calls: is the result an array that is used nowhere else?

    def __getattr__(self, name: str) -> Any:
        """The sample, the array of the recording. A large one stays as long as the recorded function holds it, as in
        eager code; if it is needed again, it is computed again."""
        if name != "sample":
            raise AttributeError(name)
        sample = self._weak()
        if sample is None:
            sample = self.compute(*[x.sample for x in self.args])
            if self._writeable and not is_writeable(sample):  # zeros, which are one 0 repeated
                sample = np.array(sample)
            self._weak = ref(sample)
        return sample

    def compute(self, *arrays: Any) -> Array:
        """What NumPy computes for these operands."""
        if self.kind == REDUCE:
            return self.function.reduce(arrays[0], self.options[0], keepdims=self.options[1])
        return self.function(*arrays)

    @property
    def is_dense(self) -> bool:
        """Is its memory that of a fresh result: without gaps, in forward order, each element once?"""
        if not self.shape or not (self.kind in (INPUT, CAPTURED, VIEW) or self.shares):
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
        named = getattr(self.function, "func", self.function)  # behind functools.partial
        return getattr(named, "__name__", self.kind) if self.kind == CALL else self.kind

    def __repr__(self) -> str:
        return f"<{self.name} {self.dtype} {self.shape}>"


def behind_views(x: object, inside: Container[Value] = ()) -> Any:
    """The base of a view, through all views that are not ``inside``; anything else as it is."""
    while isinstance(x, Value) and x.kind == VIEW and x not in inside:
        x = x.args[0]
    return x


def describe_value(x: object) -> tuple[Any, Any]:
    """Shape and dtype; for a Python number its class."""
    return getattr(x, "shape", ()), getattr(x, "dtype", type(x))


def layout_of(sample: object) -> tuple[int, ...] | None:
    """The order of the axes in memory, None for C order. Sums add in that order, so it decides their last bits."""
    if type(sample) is not np.ndarray or sample.flags.c_contiguous or sample.ndim < 2:
        return None
    order = sorted(range(sample.ndim), key=lambda a: (-abs(sample.strides[a]), a))
    return None if order == list(range(sample.ndim)) else tuple(order)


# ---------------------------------------------------------------- matching arguments, assembling results


ndarray = np.ndarray
NUMBERS_AND_TEXT = (bool, int, float, complex, str, bytes, range, type(None), type(...))
NEVER_CHANGED = (enum.Enum, np.generic, np.dtype, np.ufunc, types.ModuleType)
Matcher = Callable[[Any, list[Array]], bool]


class Nth:
    """A placeholder for the k-th array of a result, or of a recorded call."""

    __slots__ = ("k",)

    def __init__(self, k: int) -> None:
        self.k = k

    def __repr__(self) -> str:
        return f"#{self.k}"


def fill_slots(x: Any, arrays: tuple[Array, ...]) -> Any:
    """A call with its arrays, for every run, so it is fast: each Nth replaced by its array."""
    kind = type(x)
    if kind is Nth:
        return arrays[x.k]
    if kind is tuple or kind is list:
        return kind([fill_slots(v, arrays) for v in x])
    if kind is dict:
        return {name: fill_slots(v, arrays) for name, v in x.items()}
    return slice(*fill_slots((x.start, x.stop, x.step), arrays)) if kind is slice else x


def call_of(v: Value, operands: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The call that computes a value: its function, its arguments and its options, with ``operands`` in place of
    arrays."""
    if v.kind == REDUCE:
        axis, keepdims = v.options
        return v.function.reduce, tuple(operands), {"axis": axis, "keepdims": keepdims}
    if v.kind == VIEW and v.options[0] in VIEWS and not hasattr(v.function, "written"):
        return VIEWS[v.options[0]], (*operands, v.options[1]), {}
    function = getattr(v.function, "of", v.function)
    function, args, options = getattr(function, "written", (function, tuple(map(Nth, range(len(v.args)))), {}))
    return function, fill_slots(args, tuple(operands)), fill_slots(options, tuple(operands))


def matcher(x: Any) -> Matcher | None:
    """A function that says whether something matches ``x``; None if it would have to look at all of it.

    >>> fits, arrays = matcher(({"w": np.zeros(2)}, 3)), []
    >>> fits(({"w": np.ones(2)}, 3), arrays), arrays
    (True, [array([1., 1.])])
    >>> fits(({"w": np.ones(2)}, 4), []), fits(({"w": np.ones(3)}, 3), [])
    (False, False)
    """
    kind = type(x)
    if kind is ndarray:
        single = arrays_matcher(tuple, (x,))
        return lambda y, arrays: single((y,), arrays)
    if kind in (tuple, list):
        if all([type(v) is ndarray for v in x]):
            return arrays_matcher(kind, x)
        return sequence_matcher(kind, [matcher(v) for v in x])
    if kind is dict:
        return dict_matcher(list(x), matcher([*x.values()]))
    if kind in (int, bool, str, type(None)) or (kind is float and x == x and x != 0):
        return lambda y, arrays: type(y) is kind and y == x
    return None


def arrays_matcher(kind: Any, x: Sequence[Array]) -> Matcher:
    """Tuples or lists of arrays of the shapes, dtypes and strides of these: written out, because most calls come
    here."""
    specs, n = [(v.shape, v.dtype, v.strides) for v in x], len(x)

    def fits(y: Any, arrays: list[Array]) -> bool:
        if type(y) is not kind or len(y) != n:
            return False
        for v, (shape, dtype, strides) in zip(y, specs):  # noqa: B905 - equally long
            if type(v) is not ndarray or v.dtype is not dtype or v.shape != shape or v.strides != strides:
                return False
        arrays += y
        return True

    return fits


def sequence_matcher(kind: Any, parts: list[Matcher | None]) -> Matcher | None:
    """Tuples or lists whose elements match."""
    matchers = [part for part in parts if part is not None]
    if len(matchers) < len(parts):
        return None

    def fits(y: Any, arrays: list[Array]) -> bool:
        return (
            type(y) is kind and len(y) == len(matchers) and all([part(v, arrays) for part, v in zip(matchers, y)])  # noqa: B905 - equally long
        )

    return fits


def dict_matcher(keys: list[Any], inside: Matcher | None) -> Matcher | None:
    """Dicts with these keys in this order, whose values match. Keys are text: equal ones are then the same."""
    if inside is None or any([type(key) is not str for key in keys]):
        return None

    def fits(y: Any, arrays: list[Array]) -> bool:
        if type(y) is not dict or len(y) != len(keys):
            return False
        if not all(map(is_, y, keys)) and ([*y] != keys or any([type(key) is not str for key in y])):
            return False
        return inside([*y.values()], arrays)

    return fits


def check_result(tree: object, arguments: object) -> None:
    """Raise CompileError for a result that all calls would share and that can be changed.

    Arrays and containers are made anew at every call. Numbers, text, functions and classes cannot be changed, or are
    not expected to be. An argument is what eager code returns, too: its identity is part of the signature.
    """
    argument_ids = {id(x) for x in pytree.tree_leaves(arguments)}
    queue = [("", tree)]
    for path, x in queue:
        if pytree.is_container(x):
            fields = [field.name for field in dataclasses.fields(x)] if dataclasses.is_dataclass(x) else []
            keys = [(f"{path} (a key)", key) for key in x] if isinstance(x, dict) else []
            queue += [*keys, *[(path + step, child) for step, child in pytree.children(x)]]
            fine = not {*getattr(x, "__dict__", ())} - {*fields}  # other attributes would be shared
        else:
            fine = has_dtype(x) or id(x) in argument_ids or is_immutable(x)
        if not fine:
            raise CompileError(
                f"a compiled function returns a {type(x).__name__}{path and ' at ' + path}: every call would return "
                f"the same one, and all would see what one caller changes in it. Return arrays, numbers, text, and "
                f"lists, tuples, dicts or dataclasses of them, or say af.compile(f, fallback=True)."
            )


def has_dtype(x: object) -> bool:
    """Is it an array of some library, or a number of its type?"""
    return isinstance(getattr(x, "dtype", None), np.dtype)


def is_immutable(x: Any) -> bool:
    """Can this object be returned by every call?"""
    if type(x) in (tuple, frozenset):
        return all([is_immutable(v) for v in x])
    if type(x) is slice:
        return is_immutable((x.start, x.stop, x.step))
    if isinstance(x, (type, types.FunctionType, FunctionOfFunction)):
        return "<locals>" not in getattr(x, "__qualname__", "<locals>")  # made at every call
    if isinstance(x, types.BuiltinFunctionType):
        return isinstance(x.__self__, (types.ModuleType, type(None)))  # no method of an object
    return type(x) in NUMBERS_AND_TEXT or isinstance(x, NEVER_CHANGED)


def assembler(tree: Any) -> Callable[[list[Array]], Any]:
    """The function that puts results into the containers of ``tree``.

    >>> assembler({"loss": Nth(1), "parts": (Nth(0), "text")})(["a", "b"])
    {'loss': 'b', 'parts': ('a', 'text')}
    """
    kind = type(tree)
    if kind is Nth:
        return itemgetter(tree.k)
    if kind is tuple and len(tree) > 1 and all([type(x) is Nth for x in tree]):
        return itemgetter(*[x.k for x in tree])
    if kind in (tuple, list):
        parts = [assembler(x) for x in tree]
        if kind is tuple and len(parts) == 2:  # (value, gradients)
            first, second = parts
            return lambda results: (first(results), second(results))
        return lambda results: kind([part(results) for part in parts])
    if kind is dict:
        items = [(key, assembler(x)) for key, x in tree.items()]
        return lambda results: {key: part(results) for key, part in items}
    if not pytree.is_container(tree):
        return lambda results: tree
    return lambda results: pytree.tree_map(lambda x: results[x.k] if type(x) is Nth else x, tree)
