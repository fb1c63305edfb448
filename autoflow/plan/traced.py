"""Arrays that write down what NumPy does with them: how a function becomes a program.

The compiled function is called once with :class:`Traced` arrays. To everybody else they look like the arrays of another
library: NumPy hands its calls over to them (``__array_ufunc__``, ``__array_function__``), nodes are built on top of
them (``backends.py``), and so the forward pass, the derivatives of the table and the backward pass all run as they
always do, and each NumPy call on the way becomes a value of the :class:`~.program.Program`. Comparisons and masks
too: what a graph of records would take for constant is computed anew in every call.

What cannot be written down is the value itself. Python asks for it in ``if x > 0``, ``float(x)``, ``np.asarray(x)``,
``plain[i] = x``: since a Traced is no ndarray, all of these arrive here, and are refused with the line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np

from ..errors import CompileError
from ..memory import caller
from ..nodes import NodeRole
from .program import CAPTURED, INPUT, NUMBERS, VIEW, Program, Value

Array = Any
REDUCTIONS: dict[Any, Any] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum, np.amax: np.maximum,
    np.amin: np.minimum, np.any: np.logical_or, np.all: np.logical_and,
}  # fmt: skip
SAME_ORDER = frozenset({np.reshape, np.ravel, np.squeeze, np.expand_dims})
PERMUTING = frozenset({np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis})
OTHER_VIEWS = {np.broadcast_to, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal, np.real, np.imag}
VIEWS = SAME_ORDER | PERMUTING | OTHER_VIEWS
# What is known of an array without its numbers.
FACTS = frozenset({
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.common_type,
    np.min_scalar_type, np.may_share_memory, np.shares_memory,
})  # fmt: skip
FILLED: dict[Any, Any] = {np.zeros_like: 0, np.ones_like: 1}
UNWRITTEN = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})
ARRAYS = (np.ndarray, np.generic, *NUMBERS)
SCALAR_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


class Slot:
    """In a call that is written down: here stands the k-th array."""

    __slots__ = ("k",)

    def __init__(self, k: int) -> None:
        self.k = k


def strip(x: Any, found: list[Any]) -> Any:
    """``x`` with Slots in place of arrays, also inside tuples, lists, dicts and slices; ``found`` gets the arrays."""
    if isinstance(x, (Traced, np.ndarray)):
        found.append(x)
        return Slot(len(found) - 1)
    if type(x) is dict:
        return {key: strip(v, found) for key, v in x.items()}
    if type(x) is slice:
        return slice(strip(x.start, found), strip(x.stop, found), strip(x.step, found))
    if type(x) in (tuple, list):
        return type(x)([strip(v, found) for v in x])
    return x


def filled(x: Any, arrays: tuple[Array, ...]) -> Any:
    """The opposite: the arrays in place of the Slots."""
    if type(x) is Slot:
        return arrays[x.k]
    if type(x) is dict:
        return {key: filled(v, arrays) for key, v in x.items()}
    if type(x) is slice:
        return slice(filled(x.start, arrays), filled(x.stop, arrays), filled(x.step, arrays))
    return type(x)([filled(v, arrays) for v in x]) if type(x) in (tuple, list) else x


class Tape:
    """One recording: the program that grows, and the Traced arrays that look at it."""

    def __init__(self) -> None:
        self.program = Program()
        self.open = True
        self.alive: list[Any] = []  # weak references to all arrays of ours

    def value(self, x: Any) -> Value:
        """The value behind anything that NumPy takes for an array."""
        if isinstance(x, Traced):
            if x.tape is not self or not self.open:
                raise CompileError(
                    f"a value of an earlier recording of a compiled function is used at {caller()}: that function "
                    f"keeps values in an attribute, a list or a global. Return them instead."
                )
            return x.expr
        if type(x) in NUMBERS or isinstance(x, np.generic):
            return self.program.constant(x)
        x = np.asarray(x)
        if not x.ndim and x.dtype.kind == "O":
            raise CompileError(f"NumPy was called with {x.item()!r:.60}, which is no number, at {caller()}")
        return self.program.captured(x)

    def traced(self, value: Value, view_of: Traced | None = None) -> Traced:
        """A new array object on that value; on the memory of another one, if it is a view."""
        x = Traced()
        x.expr, x.tape = value, self
        self.alive.append(ref(x))
        if view_of is not None:
            x.under = view_of.under = True
        return x

    def wrapped(self, value: Value) -> Any:
        """What a call returned, as its caller expects it: one array, or a tuple of them."""
        result = value.sample
        if isinstance(result, ARRAYS):
            return self.traced(value)
        if isinstance(result, (tuple, list)) and all([isinstance(r, ARRAYS) for r in result]):
            parts = [self.traced(self.program.item(value, k)) for k in range(len(result))]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        raise CompileError(f"{value.name} at {caller()} returns more than arrays: it cannot be compiled")

    def call(self, function: Callable[..., Any], args: Any, options: Any = None, shares: bool = False) -> Any:
        """Write down ``function(*args, **options)``, any function. ``shares``: it may return a view of an argument."""
        found: list[Any] = []
        args, options = strip(tuple(args), found), strip(options or {}, found)
        values = [self.value(x) for x in found]
        if not options and all([type(a) is Slot for a in args]):
            value = self.program.call(function, values, (), function)
        else:

            def run(*arrays: Array) -> Any:
                return function(*filled(args, arrays), **filled(options, arrays))

            run.__name__ = getattr(function, "__name__", "call")
            value = self.program.call(run, values, None)
        result = self.wrapped(value)
        value.shares = value.shares or shares
        if value.shares:  # a view after all: then nobody may write into any of them
            for x in (*found, *(result if isinstance(result, (tuple, list)) else (result,))):
                if isinstance(x, Traced):
                    x.under = True
        return result

    def view(self, function: Callable[..., Any], x: Traced, args: Any, options: Any) -> Any:
        """Write down a function that most often returns a view, in the form that cleaning knows."""
        value, program = x.expr, self.program
        found: list[Any] = []
        strip((args, options), found)
        sample: Any = function(np.asarray(value.sample), *args, **options) if not found else None
        if function is np.broadcast_to and not found:
            return self.traced(program.broadcast(value, sample.shape), x)
        if type(sample) is not np.ndarray or not np.may_share_memory(sample, np.asarray(value.sample)):
            return self.call(function, (x, *args), options)
        if sample.dtype == value.dtype and not {*options} - {"shape", "axes", "axis", "order"}:
            order = options.get("order", args[1] if len(args) > 1 else "C")
            if function in SAME_ORDER and order == "C":
                return self.traced(program.reshape(value, sample.shape), x)
            if function in PERMUTING and "order" not in options:
                axes = function(np.empty(range(2, 2 + len(value.shape)), np.int8), *args, **options).shape
                return self.traced(program.transpose(value, tuple([n - 2 for n in axes])), x)
        how = repr((args, options))
        return self.traced(program.view(value, function.__name__, how, lambda a: function(a, *args, **options)), x)


def refused(what: str) -> CompileError:
    """Python wants a number that is not known yet."""
    return CompileError(
        f"{what} needs the value of an array, which a compiled function knows only while it runs (at {caller()}). "
        f"Write np.where(condition, a, b) instead of an if, pass what decides as a Python number (it is then part of "
        f"the signature), take that part out of the compiled function, or say af.compile(f, fallback=True)."
    )


class Traced:
    """An array of which only shape and dtype are known. See the top of this file."""

    __slots__ = ("__weakref__", "expr", "tape", "under")
    expr: Value  # what it is now: writing in place gives it another
    tape: Tape
    under: bool  # is there a node or view on top of it? Then it is not written into.

    @staticmethod
    def adopt(x: Any, like: Traced) -> Any:
        """An array of NumPy as one of ours: it meets us in an operation."""
        return like.tape.traced(like.tape.value(x)) if isinstance(x, np.ndarray) else x

    # -- facts

    @property
    def shape(self) -> tuple[int, ...]:
        """As of any array."""
        return self.expr.shape

    @property
    def dtype(self) -> Any:
        """As of any array."""
        return self.expr.dtype if self.expr.dtype is not None else np.asarray(self.expr.sample).dtype

    ndim = property(lambda self: len(self.expr.shape))
    size = property(lambda self: int(np.size(self.expr.sample)))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    strides = property(lambda self: np.asarray(self.expr.sample).strides)
    base = property(lambda self: None)
    device = property(lambda self: "cpu")

    @property
    def flags(self) -> Any:
        """Those of the recorded array; setting one changes nothing."""
        flags = np.asarray(self.expr.sample).flags
        return SimpleNamespace(writeable=True, c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape}, being compiled>"

    __hash__ = object.__hash__

    # -- what Python may not know

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise refused("np.asarray, np.array, plain[i] = x, or a library that is not NumPy")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        raise refused("pickle")

    # -- NumPy's doors

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any([isinstance(x, NodeRole) for x in (*inputs, *options.get("out", ()))]):
            return NotImplemented
        out = options.pop("out", None)
        result = self._ufunc(ufunc, method, inputs, options)
        return result if out is None else self._written(out, result)

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: Any, options: Any) -> Any:
        tape = self.tape
        if method == "__call__" and not options and ufunc.nout == 1:
            values = tuple([tape.value(x) for x in inputs])
            if ufunc.signature is None:
                return tape.traced(tape.program.ufunc(ufunc, values))
            if ufunc is np.matmul and len(values[0].shape) == 2 == len(values[1].shape):
                return tape.traced(tape.program.product(*values))
        if method == "reduce" and isinstance(inputs[0], Traced):
            where = dict(zip(("axis", "dtype", "out", "keepdims"), inputs[1:], strict=False)) | options
            if plain_reduction(where, self.dtype):
                axis = where.get("axis", 0)
                return tape.traced(tape.program.reduce(ufunc, inputs[0].expr, axis, bool(where.get("keepdims", False))))
        if method == "at":
            target = inputs[0]
            if not isinstance(target, Traced):
                raise into_outside()

            def added(x: Array, *rest: Any) -> Array:
                x = x.copy()
                ufunc.at(x, *rest)
                return x

            target._become(tape.call(added, inputs))
            return None
        return tape.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options)

    def _written(self, out: tuple[Any, ...], result: Any) -> Any:
        """``out=``: the arrays named there become the results."""
        results = result if isinstance(result, tuple) else (result,)
        for x, r in zip(out, results, strict=True):
            if x is None or x is ...:
                continue
            if not isinstance(x, Traced):
                raise into_outside()
            x._assign(r)
        given = tuple([r if x is None or x is ... else x for x, r in zip(out, results, strict=True)])
        return given if isinstance(result, tuple) else given[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if any([issubclass(t, NodeRole) for t in types]):
            return NotImplemented
        tape = self.tape
        x = args[0] if args else None
        if function in FACTS:
            return function(*_samples(args), **options)
        if function in UNWRITTEN or (function is np.nan_to_num and not options.get("copy", True)):
            if not isinstance(x, Traced):
                raise into_outside()
            return self._write_by(function, args, options)
        if options.get("out") is not None:
            out = options.pop("out")
            return self._written((out,) if not isinstance(out, tuple) else out, function(*args, **options))
        if function in FILLED or function in (np.empty_like, np.full_like):
            return self._filled(function, args, options)
        if isinstance(x, Traced):
            if function in REDUCTIONS:
                where = dict(zip(("axis", "dtype"), args[1:], strict=False)) | options
                if len(args) < 4 and plain_reduction(where, x.dtype):
                    axes, keep = where.get("axis"), where.get("keepdims", False)
                    return tape.traced(tape.program.reduce(REDUCTIONS[function], x.expr, axes, keep is True))
            if function is np.mean and x.size and x.dtype in (np.float64, np.float32):
                where = dict(zip(("axis", "dtype"), args[1:], strict=False)) | options
                if len(args) < 4 and plain_reduction(where, x.dtype):
                    return mean(x, where.get("axis"), where.get("keepdims") is True)
            if function in VIEWS:
                return tape.view(function, x, args[1:], options)
        return tape.call(function, args, options)

    def _filled(self, function: Any, args: Any, options: Any) -> Any:
        """``np.zeros_like(x)`` and its like: one constant, repeated."""
        if function is np.full_like:
            fill = args[1] if len(args) > 1 else options["fill_value"]
            if isinstance(fill, Traced):
                return self.tape.call(function, args, options)
        sample = function(*_samples(args), **options)
        if function is np.empty_like:
            sample[...] = 0
        one = self.tape.program.constant(sample.reshape(-1)[0] if sample.size else sample.dtype.type(0))
        return self.tape.traced(self.tape.program.broadcast(one, sample.shape, sample))

    # -- writing

    def _become(self, other: Traced) -> None:
        """Be another value from now on: this array has been written into."""
        if self.expr.kind in (INPUT, CAPTURED):
            raise CompileError(
                f"{caller()} writes into an argument of a compiled function, or into an array from outside of it: its "
                f"caller would see that in the first call only. Make a new array: x = x + 1 instead of x += 1."
            )
        if getattr(self, "under", False) or (self.expr.kind == VIEW and self.expr.options[0] != "broadcast"):
            raise CompileError(
                f"{caller()} writes in place into a node, into a view, or into an array of which a view was taken. A "
                f"compiled function would need to know who else looks at this memory: make a new array (a = a + b "
                f"instead of a += b), or say af.compile(f, fallback=True)."
            )
        self.expr = other.expr

    def _assign(self, new: Any) -> None:
        """Become these numbers, in the shape and dtype that the array has."""
        program = self.tape.program
        value = self.tape.value(new)
        if value.dtype is None or value.dtype != self.dtype:
            value = self.tape.traced(value).astype(self.dtype, casting="same_kind").expr
        self._become(self.tape.traced(program.broadcast(value, self.shape)))

    def _write_by(self, function: Any, args: Any, options: Any) -> None:
        """Write down a function that writes into its first argument: on a copy, which we become."""

        def written(x: Array, *rest: Any) -> Array:
            x = x.copy()
            function(x, *rest, **options)
            return x

        args[0]._become(self.tape.call(written, args))

    def __setitem__(self, index: Any, new: Any) -> None:
        if isinstance(new, NodeRole):
            raise CompileError(f"{caller()} writes a node into a plain array: make that array with af.zeros")

        def written(x: Array, index: Any, new: Any) -> Array:
            x = x.copy()
            x[index] = new
            return x

        self._become(self.tape.call(written, (self, index, new)))

    # -- ndarray's methods

    def __getitem__(self, index: Any) -> Any:
        parts = index if type(index) is tuple else (index,)
        if all([p is None or p is ... or type(p) in (int, slice) or isinstance(p, np.integer) for p in parts]):
            found: list[Any] = []
            strip(index, found)
            sample = self.expr.sample[index] if not found else None
            if isinstance(sample, np.ndarray):
                value = self.tape.program.view(self.expr, "index", repr(index), lambda a: a[index], sample)
                return self.tape.traced(value, self)
        return self.tape.call(operator.getitem, (self, index))

    def view(self, *args: Any, **options: Any) -> Any:
        """As in NumPy; with one of our classes, the same array as that class: so nodes are made."""
        self.under = True
        kind = args[0] if args else options.get("type")
        if isinstance(kind, type) and issubclass(kind, Traced):
            x = object.__new__(kind)
            x.expr, x.tape, x.under = self.expr, self.tape, True
            return x
        if not args and not options:
            return self.tape.traced(self.expr, self)
        return self.tape.call(np.ndarray.view, (self, *args), options)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As in NumPy."""
        if np.dtype(dtype) == self.dtype:
            return self.copy() if copy else self
        dtype = np.dtype(dtype)
        how: Any = dtype, order, casting
        cast = self.tape.program.call(lambda x: np.asarray(x).astype(*how), (self.expr,), ("astype", dtype), "astype")
        return self.tape.traced(cast)

    def copy(self, order: str = "C") -> Any:
        """As in NumPy."""
        if order != "K" and self.expr.layout is not None:
            return self.tape.call(np.ndarray.copy, (self, order))
        return self.tape.traced(self.expr)

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """As in NumPy."""
        new: Any = shape[0] if len(shape) == 1 else shape
        return self.tape.view(np.reshape, self, (new,), {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """As in NumPy."""
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    T = property(lambda self: np.transpose(self))
    mT = property(lambda self: np.matrix_transpose(self))  # noqa: N815 - NumPy's name
    real = property(lambda self: np.real(self) if self.dtype.kind == "c" else self)
    imag = property(lambda self: np.imag(self))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return np.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        """As in NumPy."""
        return np.mean(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options)

    def dot(self, other: Any) -> Any:
        """As in NumPy."""
        return np.dot(self, other)

    def __pow__(self, other: Any) -> Any:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function has not."""
        if isinstance(other, NodeRole):
            return NotImplemented
        if type(other) in (int, float) and self.dtype.kind == "f":
            quick = SCALAR_POWERS.get(other, np.power)
            x = np.asarray(self.expr.sample)
            if np.array_equal(operator.pow(x, other), quick(x) if quick.nin == 1 else quick(x, other), equal_nan=True):
                return quick(self) if quick.nin == 1 else quick(self, other)
        return self.tape.call(lambda x, y: operator.pow(np.asarray(x), y), (self, other))

    def __getattr__(self, name: str) -> Any:
        """Every other method of ndarray: written down as a call."""
        if name.startswith("_") or not callable(getattr(np.ndarray, name, None)):
            raise AttributeError(f"a compiled array has no attribute {name!r}")
        if name in ("item", "tolist", "tobytes", "tofile", "dump", "dumps"):
            raise refused(f"x.{name}()")
        if name in ("fill", "sort", "partition", "put", "resize", "itemset", "setfield", "setflags", "byteswap"):
            raise CompileError(f"x.{name}() writes in place and cannot be compiled (at {caller()}): make a new array")
        function: Any = getattr(np, name, None)
        if function in REDUCTIONS or function in VIEWS:
            return lambda *args, **options: function(self, *args, **options)
        method = getattr(np.ndarray, name)
        return lambda *args, **options: self.tape.call(lambda x, *a, **o: method(np.asarray(x), *a, **o),
                                                       (self, *args), options)  # fmt: skip


def into_outside() -> CompileError:
    """A write whose effect would be seen once only."""
    return CompileError(
        f"{caller()} writes into an array that was made outside of the compiled function: give that array as an "
        f"argument and return the new one (a training step returns its parameters), or say af.compile(f, fallback=True)"
    )


def plain_reduction(options: dict[str, Any], dtype: Any) -> bool:
    """Only an axis and keepdims?"""
    where = options.get("axis")
    known = {name for name, v in options.items() if v is not None and v is not np._NoValue and v is not ...}
    axes = where if isinstance(where, tuple) and where else (where,)
    fine = where is None or all([isinstance(a, (int, np.integer)) for a in axes])
    return fine and known <= {"axis", "keepdims"} and bool(dtype != np.float16)


def _samples(args: Any) -> Any:
    """Arguments with recorded arrays in place of ours: for questions about shapes and dtypes only."""
    return tuple([x.expr.sample if isinstance(x, Traced) else x for x in args])


def mean(x: Traced, axis: Any = None, keepdims: bool = False) -> Any:
    """np.mean of float64 or float32: the sum over the count, as NumPy has it."""
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return np.divide(total, x.size // max(total.size, 1))


OPERATORS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def _operators() -> None:
    """``x + y``, ``2.0 * x``, ``x += y``, ``-x``; and the questions that are refused."""

    def binary(name: str, ufunc: np.ufunc) -> None:
        def forward(x: Any, y: Any) -> Any:
            return NotImplemented if isinstance(y, NodeRole) else ufunc(x, y)

        def inplace(x: Any, y: Any) -> Any:
            x._assign(ufunc(x, y))
            return x

        setattr(Traced, f"__{name}__", forward)
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(Traced, f"__r{name}__", lambda y, x: ufunc(x, y))
            setattr(Traced, f"__i{name}__", inplace)

    def asked(name: str, word: str) -> None:
        def refuse(self: Any, *_: Any) -> Any:
            raise refused(word)

        setattr(Traced, f"__{name}__", refuse)

    for name, ufunc in OPERATORS.items():
        binary(name, ufunc)
    for name, one in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(Traced, f"__{name}__", lambda x, one=one: one(x))
    Traced.__rpow__ = lambda y, x: y.tape.call(operator.pow, (x, y))  # type: ignore[attr-defined]
    Traced.__ipow__ = lambda x, y: (x._assign(x**y), x)[1]  # type: ignore[attr-defined]
    for name, word in {
        "bool": "if, and, or, not, while", "float": "float(x)", "int": "int(x)", "complex": "complex(x)",
        "index": "an index, a range or a shape", "contains": "the question `in`", "round": "round(x)",
    }.items():  # fmt: skip
        asked(name, word)


_operators()
