"""From a program to one function of JAX, value by value.

``jax.jit`` calls :meth:`Lowering.trace` once, with arrays that write down what is done with them: our program is
recorded a second time, by JAX. Each value has the shape and dtype that NumPy gave it when it was recorded, so JAX's
result can be checked here; a call that JAX refuses, or answers with another shape, is left to NumPy, by
``jax.pure_callback``: XLA passes the operands to the host and waits for the result.

For most functions their name is enough (``table.py``). First come the others: JAX has another convention for them, or
no such function at all. Each of these rows is called with the :class:`Lowering` first. ``trace.np`` is jax.numpy. An
*alarm* is a number that is True if NumPy would raise an error for these values: the run then ends with eager code,
which raises it.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...base.errors import CompileError
from ...base.types import AnyFunction, DTypeLike
from ...table.facts import RAISING
from ...table.indexing import is_basic
from ...table.outside import PLAIN
from ..matching import CALL, CAPTURED, CONSTANT, Array, Value, call_of
from ..program import Program
from ..run.buffers import checked_call, shape_buffer
from ..text.writer import REDUCING, Writer
from ..trace.memory import cast, flatten, set_items, update_at, write_into_copy
from ..trace.traced import power_of_arrays
from . import table
from .table import LeftToNumPy, counterpart

# ---------------------------------------------------------------- functions whose counterpart differs in more than the
# name


def watched_index(trace: Lowering, shape: tuple[int, ...], index: object) -> Any:
    """The index, with an alarm if it is out of range: JAX would take the last element, or none."""
    if not is_basic(index):
        inside = trace.np.ones(shape, bool).at[index].get(mode="fill", fill_value=False)
        trace.alarms.append(~inside.all())
    return index


def get_items(trace: Lowering, x: Array, index: object) -> Array:
    """An index out of range is an error, as in NumPy: JAX would take the last element."""
    x = trace.np.asarray(x)
    return x[watched_index(trace, x.shape, index)]


def items_set(trace: Lowering, x: Array, index: Any, new: Any) -> Array:
    """If an element gets several new values, the last one counts, as in NumPy. (JAX does not say which: so the largest
    place in ``new`` decides.)"""
    x, new = trace.np.asarray(x), trace.np.asarray(new).astype(x.dtype)
    if is_basic(index) or not new.ndim:
        return x.at[watched_index(trace, x.shape, index)].set(new)
    watched_index(trace, x.shape, index)
    shape = trace.np.ones(x.shape, bool)[index].shape
    places = trace.np.arange(int(np.prod(shape))).reshape(shape)
    last = trace.np.full(x.shape, -1).at[index].max(places)
    return trace.np.where(last >= 0, trace.np.broadcast_to(new, shape).reshape(-1)[last], x)


UPDATES = {np.add: "add", np.subtract: "subtract", np.multiply: "multiply"}


def updated_at(trace: Lowering, ufunc: np.ufunc, x: Array, index: object, *rest: Any) -> Array:
    """By ``x.at[index].add(y)``, also for multiply and subtract."""
    x = trace.np.asarray(x)
    if ufunc not in UPDATES or np.result_type(x.dtype, getattr(rest[0], "dtype", rest[0])) != x.dtype:
        raise LeftToNumPy(f"no counterpart of np.{ufunc.__name__}.at")
    return getattr(x.at[watched_index(trace, x.shape, index)], UPDATES[ufunc])(trace.np.asarray(rest[0], x.dtype))


def written_into(trace: Lowering, function: Any, x: Array, *rest: object, **options: object) -> Array:
    """As a new array; np.put, np.place and other writers stay NumPy's."""
    if function is not np.copyto:
        raise LeftToNumPy(f"np.{function.__name__} writes in place")
    new = trace.np.broadcast_to(trace.np.asarray(rest[0]).astype(x.dtype), x.shape)
    return trace.np.where(trace.np.asarray(options.get("where", True)), new, x)


def take(trace: Lowering, a: Array, indices: Array, axis: int | None = None, mode: str = "raise") -> Array:
    """An index out of range is an error."""
    a, axis = (trace.np.ravel(a), 0) if axis is None else (a, axis)
    if mode == "raise":
        return get_items(trace, a, (slice(None),) * (axis % a.ndim) + (trace.np.asarray(indices),))
    return trace.np.take(a, indices, axis=axis, mode=mode)


def take_along_axis(trace: Lowering, arr: Array, indices: Array, axis: int | None = -1) -> Array:
    """An index out of range is an error."""
    arr, indices = trace.np.asarray(arr), trace.np.asarray(indices)
    n = arr.size if axis is None else arr.shape[axis]
    trace.alarms.append(((indices < -n) | (indices >= n)).any())
    return trace.np.take_along_axis(arr, indices, axis=axis)


def casted(trace: Lowering, x: Any, dtype: Any, order: object, casting: object) -> Array:
    """``x.astype(dtype)``. Numbers that do not fit into integers are left to NumPy: JAX takes the nearest one."""
    x, dtype = trace.np.asarray(x), np.dtype(dtype)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    if x.dtype.kind == "f" and dtype.kind in "iu":
        whole, limits = trace.np.trunc(x), np.iinfo(dtype)
        trace.alarms.append(~((whole >= limits.min) & (whole < limits.max + 1.0)).all())
    return x.astype(dtype)


def running_sum(trace: Lowering, a: Array, axis: int | None = None, **options: object) -> Array:
    """The first element is the first sum, so a -0.0 stays one: JAX begins with 0.0."""
    x, axis = (trace.np.ravel(a), 0) if axis is None else (trace.np.asarray(a), axis)
    is_negative_zero = trace.np.signbit(x) & (x == 0) if x.dtype.kind == "f" else trace.np.zeros(x.shape, bool)
    z = trace.np.cumsum(x, axis=axis, **options)
    return trace.np.where(trace.np.cumprod(is_negative_zero, axis=axis) == 1, x.astype(z.dtype), z)


def clip(trace: Lowering, a: Array, *limits: Any, **options: Any) -> Array:
    """First the lower limit. An element that equals both limits, if they are numbers, stays what it is: -0.0."""
    low = limits[0] if limits else options.pop("min", options.pop("a_min", None))
    high = limits[1] if len(limits) > 1 else options.pop("max", options.pop("a_max", None))
    bounds = [(u, limit) for u, limit in ((np.maximum, low), (np.minimum, high)) if limit is not None]
    stays = len(bounds) > 1 and all([np.size(limit) == 1 for _, limit in bounds])
    for ufunc, limit in bounds:
        a = trace.call(ufunc, (limit, a) if stays else (a, limit), options)
    return a


def of_one_triangle(function: object, trace: Lowering, *args: object, **options: object) -> Array:
    """From one triangle, as in NumPy: JAX takes the mean of both."""
    return trace.find(function)(*args, symmetrize_input=False, **options)


FORMS: dict[Any, AnyFunction] = {
    operator.getitem: get_items, set_items: items_set, update_at: updated_at, write_into_copy: written_into,
    np.clip: clip, np._core.umath.clip: clip, np.take: take, np.take_along_axis: take_along_axis,  # type: ignore[attr-defined]
    np.cumsum: running_sum, cast: casted,
    np.nancumsum: lambda trace, a, *axis, **options: running_sum(
        trace, trace.np.where(trace.np.isnan(a), 0, a), *axis, **options),
    **dict.fromkeys((flatten, np.ravel), lambda trace, x, order="C": trace.np.ravel(x, order=order)),
    np.searchsorted: lambda trace, *args, **options: trace.np.searchsorted(*args, **options).astype(np.intp),
    np.ndarray.copy: lambda trace, x, order="C": trace.np.asarray(x),
    **dict.fromkeys((operator.pow, power_of_arrays), lambda trace, *args: trace.call(np.power, args, {})),
    np.linalg.cholesky: partial(of_one_triangle, np.linalg.cholesky),
    np.linalg.eigh: partial(of_one_triangle, np.linalg.eigh),
    np.linalg.eigvalsh: lambda *args, **options: of_one_triangle(np.linalg.eigh, *args, **options)[0],
}  # fmt: skip


# -- ufuncs: called with the dtype that NumPy computes in, and operands of it


def divided(name: str, trace: Lowering, dtype: Any, x: Array, y: Array) -> Array:
    """An integer divided by zero is 0."""
    compute = getattr(trace.np, name)
    if dtype.kind in "iu":
        is_zero = y == 0
        trace.finite.append(~is_zero.any())
        return trace.np.where(is_zero, 0, compute(x, trace.np.where(is_zero, 1, y)))
    z = compute(x, y)
    if name == "fmod":
        return z
    like = x / y if name == "floor_divide" else y  # zeros have the sign of the quotient, or of the divisor
    return trace.np.where(z == 0, trace.np.copysign(0, like).astype(z.dtype), z)


def one_of(compare: str) -> AnyFunction:
    """The maximum or minimum: if operands are equal, the second one, as in NumPy, which matters for signs of zeros."""

    return lambda trace, dtype, x, y: trace.np.where(getattr(trace.np, compare)(x, y) | (x != x), x, y)


def unseen(trace: Lowering, v: Array) -> Array:
    """A constant that XLA does not see, from the number of the run: it takes x + 0.0 and x - -0.0 for x."""
    if isinstance(v, trace.jax.core.Tracer) or v.dtype.kind not in "fc":
        return v
    if v.dtype.kind == "c":
        return trace.jax.lax.complex(unseen(trace, v.real), unseen(trace, v.imag))
    return v + trace.np.copysign(trace.np.minimum(trace.run, 0).astype(v.dtype), v)


def plus(trace: Lowering, dtype: DTypeLike, x: Array, y: Array) -> Array:
    """With zeros as in NumPy."""
    return trace.np.add(unseen(trace, x), unseen(trace, y))


def parts_of(trace: Lowering, dtype: DTypeLike, x: Array) -> tuple[Array, Array]:
    """The fraction has the sign of x, and an infinite number has none."""
    whole = trace.np.trunc(x)
    return trace.np.copysign(trace.np.where(trace.np.isinf(x), 0, x - whole), x), whole


def power_in(trace: Lowering, dtype: Any, x: Array, y: Array) -> Array:
    """Integers to a negative power are an error. One exponent of 0.5 is a root in some NumPys, also of -inf."""
    if dtype.kind in "iu":  # JAX looks at six bits of the exponent
        trace.alarms.append(((y < 0) | (y > 63)).any())
    z = trace.np.power(x, y)
    is_one = HALF_IS_ROOT and dtype.char in "fd" and y.size == 1 and (not y.ndim or x.size > 1)
    return trace.np.where(y == 0.5, trace.np.sqrt(x), z) if is_one else z


def inverse(trace: Lowering, dtype: Any, x: Array) -> Array:
    """That of the integer 0 is NumPy's own."""
    if dtype.kind in "iu":
        trace.alarms.append((x == 0).any())
    return trace.np.reciprocal(x)


HALF_IS_ROOT = bool(np.signbit(np.power([-0.0, 1.0], 0.5)[0]))


OF_DTYPES: dict[Any, AnyFunction] = {
    **{f: partial(divided, f.__name__) for f in (np.floor_divide, np.remainder, np.fmod)},
    np.divmod: lambda *args: (divided("floor_divide", *args), divided("remainder", *args)), np.power: power_in,
    np.maximum: one_of("greater"), np.minimum: one_of("less"), np.modf: parts_of, np.add: plus, np.reciprocal: inverse,
    np.subtract: lambda trace, dtype, x, y: trace.np.subtract(x, unseen(trace, y)),
    np.sign: lambda trace, dtype, x: plus(trace, dtype, trace.np.sign(x), np.zeros((), dtype)),  # no -0.0
}  # fmt: skip


# ---------------------------------------------------------------- the program, value by value


LARGE = 1000  # elements; a constant array of more is passed to XLA as an argument, so that it is not folded
KNOWN = frozenset("?bhilqBHILQefdFD")  # dtypes, as letters
WATCHED = RAISING - {np.take, np.take_along_axis} | {np.convolve, np.correlate}  # NaN where NumPy has none
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
ACCUMULATED: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


class Lowering(Writer):
    """A program, as a function that JAX can trace.

    left : what NumPy keeps, and why; known when the function has been traced.
    outside : the values whose arrays are passed at every call: arrays from outside, large constants.
    alarms : numbers that are True where NumPy would raise an error; finite: False where it may warn.
    """

    def __init__(self, program: Program, jax: Any) -> None:
        super().__init__(program)
        self.jax, self.np = jax, jax.numpy
        self.order = program.order()
        for v in self.order:
            check_dtype(v)
        self.outside = [
            v for v in self.order if v.kind == CAPTURED or (v.kind == CONSTANT and np.size(v.sample) > LARGE)
        ]
        self.pythons = {v: type(v.sample) for v in self.order if v.dtype is None}
        self.left: dict[Value, str] = {}
        self.failures: dict[int, Exception] = {}  # run -> what NumPy raised in a callback

    def trace(self, run: Array, inputs: Sequence[Array], outside: Sequence[Array]) -> tuple[Any, ...]:
        """What JAX records: the results; would NumPy raise an error? are all results finite, and no divisors 0?

        run : the number of this run, under which ``failures`` notes what NumPy raises.
        """
        self.alarms: list[Array] = []
        self.finite: list[Array] = []
        self.run = run
        self.known = dict(zip([*self.program.inputs, *self.outside], [*inputs, *outside], strict=True))
        # On TPU and GPU other precisions round to 8 bits.
        with self.jax.default_matmul_precision(self.jax.config.jax_default_matmul_precision or "highest"):
            self.walk(self.program)
        results = [self.np.asarray(self.known[v], v.dtype) for v in self.program.outputs]
        self.finite += [self.np.isfinite(r).all() for r in results if r.dtype.kind in "fc"]
        return results, self.np.array([False, *self.alarms]).any(), self.np.array([True, *self.finite]).all()

    def write_constant(self, v: Value) -> Array:
        """Part of XLA's program."""
        return v.sample

    def write_call(self, v: Value, *args: Any) -> Any:
        """Computed by JAX's functions; calls that they refuse, or answer with another shape, by NumPy."""
        try:
            function, operands, options = call_of(v, args)
            if function is not cast and function not in PLAIN and is_cast(v):  # PLAIN: places and counts
                raise LeftToNumPy("what does not fit into whole numbers is cast as NumPy does")
            is_watched = function in WATCHED and getattr(v.dtype, "kind", "f") in "fc"
            if v in self.program.checks and function not in FORMS and not is_watched:
                raise LeftToNumPy("its shape depends on values, or it may raise an error")
            z = self.call(function, operands, options)
            if not is_right(v, z):
                z = self.call(*call_of(v, self.promoted(v, args)))
            if not is_right(v, z):
                raise LeftToNumPy("its result has another shape or dtype in JAX")
        except Exception as error:
            self.left[v] = reason_of(error)
            return self.by_numpy(v, args)
        # Where NumPy raises an error or divides by 0, JAX gives NaN; of infinite complex numbers it makes others.
        results = self.jax.tree.leaves(z)
        watched = [x for x in (*args, *results) if getattr(x, "dtype", None) in COMPLEX]
        if is_watched or not options.keys().isdisjoint(("ddof", "correction")):
            watched += results
            self.alarms.append(self.np.isinf(args[0]).any())
        self.alarms += [~self.np.isfinite(x).all() for x in watched]
        return z

    def call(self, function: Any, args: Any, options: Any) -> Any:
        """``function(*args, **options)`` by its form, or by its name."""
        if function in FORMS:
            return FORMS[function](self, *args, **options)
        if isinstance(function, np.ufunc) and not options:
            return self.ufunc(function, [getattr(x, "dtype", None) for x in args], list(args))
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc):
            return self.method_of_ufunc(ufunc, function.__name__, args, options)
        return self.find(function)(*args, **{name: x for name, x in options.items() if not is_default(name, x)})

    def find(self, function: object) -> AnyFunction:
        """JAX's counterpart; LeftToNumPy if it has none."""
        path = counterpart(function)
        if path.startswith("left to NumPy: "):
            raise LeftToNumPy(path.removeprefix("left to NumPy: "))
        module, _, name = path.rpartition(".")
        try:
            jax_function: AnyFunction = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise LeftToNumPy(f"this JAX has no {path}") from None
        return jax_function

    def ufunc(self, function: np.ufunc, dtypes: list[Any], args: list[Any]) -> Array:
        """Element by element, in the dtypes that NumPy computes in: those of JAX's promotion are others."""
        if function.signature is not None:
            return self.find(function)(*args)
        kinds = [d if d is not None else type(x) for d, x in zip(dtypes, args, strict=True)]
        kinds = [np.dtype(bool) if k is bool else k for k in kinds]
        loop = function.resolve_dtypes((*kinds, *[None] * function.nout))
        if loop[0].kind == "c" and function.__name__ in table.CUT:
            raise LeftToNumPy("on its branch cut, signs of zeros decide")
        operands = [self.cast(x, d) for x, d in zip(args, loop, strict=False)]
        form = OF_DTYPES.get(function)
        z = form(self, loop[0], *operands) if form else self.find(function)(*operands)
        if function.nout > 1:
            return tuple([self.cast(part, d) for part, d in zip(z, loop[function.nin :], strict=True)])
        return self.cast(z, loop[-1])

    def method_of_ufunc(self, ufunc: np.ufunc, name: str, args: Any, options: Any) -> Array:
        """``np.add.reduce(x, axis=0, initial=1.0)``, ``np.add.accumulate(x)``, ``np.multiply.outer(x, y)``."""
        x = self.np.asarray(args[0])
        if name == "outer" and not options:
            y = self.np.asarray(args[1])
            return self.ufunc(ufunc, [x.dtype, y.dtype], [x.reshape(x.shape + (1,) * y.ndim), y])
        by = ACCUMULATED if name == "accumulate" else REDUCING if name == "reduce" else {}
        if ufunc not in by:
            raise LeftToNumPy(f"no counterpart of np.{ufunc.__name__}.{name}")
        arguments = dict(zip(("axis", "dtype", "out", "keepdims"), args[1:], strict=False)) | options
        arguments = {"axis": 0} | {key: v for key, v in arguments.items() if key == "axis" or v is not None}
        return self.call(by[ufunc], (x,), arguments)

    def promoted(self, v: Value, args: Sequence[Any]) -> list[Any]:
        """The operands in the dtype of the result, where NumPy promotes them and JAX does not."""
        dtypes = [x.dtype for x in v.args if x.dtype is not None]
        of_whole = v.dtype is not None and v.dtype.kind != "b" and all([d.kind in "biu" for d in dtypes])
        if not (of_whole or (dtypes and np.result_type(*dtypes) == v.dtype)):
            raise LeftToNumPy("its result has another shape or dtype in JAX")
        return [x if a.dtype is None else self.cast(x, v.dtype) for a, x in zip(v.args, args, strict=True)]

    def cast(self, x: Any, dtype: Any) -> Array:
        """``x`` in that dtype; numbers and NumPy's arrays stay unseen by XLA."""
        return (self.np if isinstance(x, self.jax.core.Tracer) else np).asarray(x, dtype)

    def by_numpy(self, v: Value, args: Sequence[Any]) -> Any:
        """The value computed by NumPy on the host, among the others."""
        passed = [k for k, x in enumerate(v.args) if x.dtype is not None]
        others, compute = list(args), checked_call(v) if v.kind == CALL else v.compute
        shapes = [(shape, np.dtype(dtype)) for shape, dtype in v.parts or [(v.shape, self.pythons.get(v, v.dtype))]]

        def call(run: Any, *arrays: object) -> list[Array]:
            operands = list(others)
            for k, x in zip(passed, arrays, strict=True):
                operands[k] = in_layout(table.from_host(np.asarray(x), v.args[k].shape, v.args[k].dtype), v.args[k])
            try:
                with np.errstate(all="ignore"):
                    z = compute(*operands)
                values = [np.asarray(x, dtype) for x, (_, dtype) in zip(z if v.parts else [z], shapes, strict=True)]
            except Exception as error:
                self.failures[int(run)] = error
                values = [np.zeros(shape, dtype) for shape, dtype in shapes]
            return [*map(table.to_host, values), np.array(False)]

        operands = [table.from_device(self.jax, self.np.asarray(args[k])) for k in passed]
        described = [self.jax.ShapeDtypeStruct(*table.described(shape, dtype)) for shape, dtype in shapes]
        # XLA leaves out a callback whose results are empty or not needed, so there is one more.
        described.append(self.jax.ShapeDtypeStruct((), bool))
        *values, quiet = self.jax.pure_callback(call, described, self.run, *operands)
        self.alarms.append(quiet)
        values = [table.to_device(self.jax, x, shape, dtype) for x, (shape, dtype) in zip(values, shapes, strict=True)]
        return values if v.parts else values[0]


DEFAULTS = {"casting": ("same_kind",), "dtype": (None,), "order": (None, "K"), "out": (None,), "subok": (True, False),
            "kind": (None, "quicksort", "stable")}  # fmt: skip


def is_right(v: Value, z: Any) -> bool:
    """Does the result, or each of several, have the shape and dtype of the recording?"""
    results, expected = (z, v.parts) if v.parts is not None else ([z], [(v.shape, v.dtype)])
    return [(x.shape, x.dtype) for x in results] == expected


def is_cast(v: Value) -> bool:
    """Does the call turn other numbers into whole ones? JAX takes the nearest ones."""
    is_whole = v.kind == CALL and v.dtype is not None and v.dtype.kind in "iu"
    return is_whole and any([x.dtype is not None and x.dtype.kind in "fc" for x in v.args])


def is_default(name: str, x: object) -> bool:
    """Does the option say nothing, so that JAX need not have it? (Its sorts are stable.)"""
    return name in DEFAULTS and (x is None or isinstance(x, (str, bool))) and x in DEFAULTS[name]


def in_layout(x: Array, v: Value) -> Array:
    """``x`` in memory as when it was recorded: ``x.ravel("K")`` reads in that order."""
    if v.layout is None:
        return x
    z = shape_buffer(np.empty(x.size, x.dtype), x.shape, v.layout)
    z[...] = x
    return z


def reason_of(error: Exception) -> str:
    """Why a call is left to NumPy, in one line."""
    text = str(error).strip().partition("\n")[0].partition(". ")[0]
    return text if isinstance(error, LeftToNumPy) else f"JAX says {type(error).__name__}: {text:.80}"


def check_dtype(v: Value) -> None:
    """Raise CompileError for kinds of numbers that XLA lacks."""
    for dtype in [v.dtype, *[d for _, d in v.parts or ()]]:
        if isinstance(dtype, np.dtype) and dtype.char not in KNOWN:
            raise CompileError(
                f'{v.name} computes in {dtype}, and engine="jax" has no such numbers: take it out of the compiled '
                f'function, or leave engine="numpy".'
            )
