"""From a program to one function of JAX, value by value.

``jax.jit`` calls :meth:`Lowering.trace` once, with arrays that write down what is done with them: our program is
recorded a second time, by JAX. Each value has the shape and dtype that NumPy gave it when it was recorded, so what JAX
makes of a call can be checked here; a call that JAX refuses, or answers with another shape, is left to NumPy, by
``jax.pure_callback``: XLA hands the operands to the host and waits for the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import CompileError
from ..program import Program
from ..run.buffers import shape_buffer
from ..run.calls import checked_call
from ..trace.tape import fill_slots
from ..trace.written import written_call
from ..values import CALL, CAPTURED, CONSTANT, INPUT, ITEM, PRODUCT, REDUCE, STACK, UFUNC, VIEW, Value
from . import words
from .forms import FORMS, OF_DTYPES
from .table import LeftToNumPy, counterpart

Array = Any
LARGE = 1000  # elements; a constant array of more is passed to XLA as an argument, so that it is not folded
KNOWN = frozenset("?bhilqBHILQefdFD")  # dtypes, as letters
REDUCED: dict[Any, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_or: "any",
    np.logical_and: "all",
}  # fmt: skip
ACCUMULATED: dict[Any, str] = {np.add: "cumsum", np.multiply: "cumprod"}


class Lowering:
    """A program, as a function that JAX can trace.

    left : what NumPy keeps, and why; known when the function has been traced.
    outside : the values whose arrays are passed at every call: arrays from outside, large constants.
    alarms : numbers that are True where NumPy would raise an error.
    may_raise : does it call functions that raise an error for some values in NumPy, and give NaN in JAX?
    """

    def __init__(self, program: Program, jax: Any) -> None:
        self.program, self.jax, self.np = program, jax, jax.numpy
        self.order = program.order()
        for v in self.order:
            check_dtype(v)
        self.outside = [v for v in self.order if v.kind in (CAPTURED, CONSTANT) and self.is_passed(v)]
        self.left: dict[Value, str] = {}
        self.alarms: list[Array] = []
        self.may_raise = False
        self.failures: dict[int, Exception] = {}  # run -> what NumPy raised in a callback

    def is_passed(self, v: Value) -> bool:
        """Is it an argument of XLA's function?"""
        return v.kind == CAPTURED or (v.dtype is not None and np.size(v.sample) > LARGE)

    def trace(self, run: Array, inputs: Sequence[Array], outside: Sequence[Array]) -> tuple[Any, ...]:
        """What JAX records: the results; would NumPy raise an error? are all results finite? the calls whose shape is
        checked.

        run : the number of this run, under which ``failures`` notes what NumPy raises.
        """
        self.left.clear()
        self.alarms, self.may_raise = [], False
        precision = self.jax.config.jax_default_matmul_precision or "highest"  # on TPU and GPU others round to 8 bits
        with self.jax.default_matmul_precision(precision):
            known = dict(zip(self.outside, outside, strict=True))
            for v in self.order:
                if v.kind == INPUT:
                    known[v] = inputs[v.options]
                elif v.kind == CONSTANT and v not in known:
                    known[v] = v.sample
                elif v not in known:
                    known[v] = self.value(v, [known[x] for x in v.args], run)
        results = [self.fit(known[v], v) for v in self.program.outputs]
        wanted = [known[v] for v in self.program.checks if v in self.left]  # so that XLA computes them
        finite = [self.np.isfinite(r).all() for r in results if r.dtype.kind in "fc"]
        alarm = self.np.array(False)
        for a in self.alarms:
            alarm = alarm | a
        return results, alarm, self.np.stack(finite).all() if finite else self.np.array(True), wanted

    def value(self, v: Value, args: list[Any], run: Array) -> Any:
        """One value, given its operands."""
        if v.kind == ITEM:
            return args[0][v.options]
        try:
            return self.check(v, self.attempt(v, args))
        except Exception as error:
            self.left[v] = reason_of(error)
        return self.by_numpy(v, args, run)

    def attempt(self, v: Value, args: list[Any]) -> Any:
        """The value by functions of JAX."""
        if v.kind == UFUNC:
            return self.ufunc(v.function, [x.dtype for x in v.args], args)
        if v.kind == REDUCE:
            axis, keepdims = v.options
            return self.reduce(v.function, args[0], v.dtype, axis=axis, keepdims=keepdims)
        if v.kind == PRODUCT:
            return self.np.matmul(*[self.cast(x, v.dtype) for x in args])
        if v.kind == STACK:
            return self.np.stack([self.cast(x, v.dtype) for x in args])
        if v.kind == VIEW and v.options[0] in ("broadcast", "reshape", "transpose"):
            name, how = v.options
            return getattr(self.np, "broadcast_to" if name == "broadcast" else name)(self.np.asarray(args[0]), how)
        function, positions, options = written_call(v.function, len(v.args))
        operands = fill_slots(positions, tuple(args)), fill_slots(options, tuple(args))
        try:
            return self.check(v, self.call(function, *operands))
        except WrongDtypeError:
            casted = tuple(self.promoted(v, args))
            return self.call(function, fill_slots(positions, casted), fill_slots(options, casted))

    def call(self, function: Any, args: Any, options: Any) -> Any:
        """``function(*args, **options)`` by its form, or by its name."""
        if function in FORMS:
            return FORMS[function](self, *args, **options)
        if isinstance(function, np.ufunc) and not options:
            return self.ufunc(function, [getattr(x, "dtype", None) for x in args], list(args))
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc):
            return self.method_of_ufunc(ufunc, function.__name__, args, options)
        name = getattr(function, "method", None)
        if name is not None:
            return getattr(self.np.asarray(args[0]), name)(*args[1:], **options)
        return self.find(function)(*args, **{name: x for name, x in options.items() if not is_default(name, x)})

    def find(self, function: Any) -> Callable[..., Any]:
        """The counterpart; LeftToNumPy if there is none."""
        path = counterpart(function)
        if path.startswith("left to NumPy: "):
            raise LeftToNumPy(path.removeprefix("left to NumPy: "))
        module, _, name = path.rpartition(".")
        if name in RAISING:
            self.may_raise = True
        try:
            found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise LeftToNumPy(f"this JAX has no {path}") from None
        return found

    def ufunc(self, function: np.ufunc, dtypes: list[Any], args: list[Any]) -> Any:
        """Element by element, in the dtypes that NumPy computes in: those of JAX's promotion are others."""
        if function.signature is not None:
            return self.find(function)(*args)
        kinds = [d if d is not None else type(x) for d, x in zip(dtypes, args, strict=True)]
        kinds = [np.dtype(bool) if k is bool else k for k in kinds]
        loop = function.resolve_dtypes((*kinds, *[None] * function.nout))
        operands = [self.cast(x, d) for x, d in zip(args, loop, strict=False)]
        form = OF_DTYPES.get(function)
        z = form(self, loop[0], *operands) if form else self.find(function)(*operands)
        if function.nout > 1:
            return tuple([self.cast(part, d) for part, d in zip(z, loop[function.nin :], strict=True)])
        return self.cast(z, loop[-1])

    def reduce(self, function: np.ufunc, x: Array, dtype: Any, **options: Any) -> Array:
        """``function.reduce(x)``."""
        if function not in REDUCED:
            raise LeftToNumPy(f"no counterpart of np.{function.__name__}.reduce")
        if function in (np.add, np.multiply):
            return getattr(self.np, REDUCED[function])(self.cast(x, dtype), **options)
        return getattr(self.np, REDUCED[function])(x, **options)

    def method_of_ufunc(self, ufunc: np.ufunc, name: str, args: Any, options: Any) -> Array:
        """``np.add.reduce(x, axis=0, initial=1.0)``, ``np.add.accumulate(x)``, ``np.multiply.outer(x, y)``."""
        if name == "outer" and not options:
            x, y = [self.np.asarray(a) for a in args]
            return self.ufunc(ufunc, [x.dtype, y.dtype], [x.reshape(x.shape + (1,) * y.ndim), y])
        names = ACCUMULATED if name == "accumulate" else REDUCED if name == "reduce" else {}
        if ufunc not in names:
            raise LeftToNumPy(f"no counterpart of np.{ufunc.__name__}.{name}")
        given = dict(zip(("axis", "dtype", "out", "keepdims"), args[1:], strict=False)) | options
        given = {"axis": 0} | {key: v for key, v in given.items() if key == "axis" or v is not None}
        return getattr(self.np, names[ufunc])(args[0], **given)

    def promoted(self, v: Value, args: list[Any]) -> list[Any]:
        """The operands in the dtype of the result, where NumPy promotes them and JAX does not."""
        dtypes = [x.dtype for x in v.args if x.dtype is not None]
        to_float = v.dtype is not None and v.dtype.kind in "fc" and all([d.kind in "biu" for d in dtypes])
        sums = v.dtype is not None and v.dtype.kind in "iu" and all([d.kind in "biu" for d in dtypes])
        if not (to_float or sums or (dtypes and np.result_type(*dtypes) == v.dtype)):
            raise LeftToNumPy("its result has another dtype in JAX")
        return [x if a.dtype is None else self.cast(x, v.dtype) for a, x in zip(v.args, args, strict=True)]

    def cast(self, x: Any, dtype: Any) -> Any:
        """``x`` in that dtype."""
        return x if getattr(x, "dtype", None) == dtype and not isinstance(x, np.generic) else self.np.asarray(x, dtype)

    def fit(self, x: Any, v: Value) -> Array:
        """A result of the program."""
        return self.np.asarray(x, v.dtype)

    def check(self, v: Value, z: Any) -> Any:
        """``z`` if it has the shape and dtype of the recording."""
        if v.parts is not None:
            parts = list(z)
            if [(np.shape(part), np.dtype(d)) for part, (_, d) in zip(parts, v.parts, strict=True)] != [
                (shape, np.dtype(d)) for shape, d in v.parts
            ]:
                raise LeftToNumPy("its results have other shapes in JAX")
            if any([part.dtype != d for part, (_, d) in zip(parts, v.parts, strict=True)]):
                raise WrongDtypeError("its results have other dtypes in JAX")
            return parts
        if z.shape != v.shape:
            raise LeftToNumPy("its result has another shape in JAX")
        if z.dtype != v.dtype:
            raise WrongDtypeError("its result has another dtype in JAX")
        return z

    def by_numpy(self, v: Value, args: list[Any], run: Array) -> Any:
        """The value by NumPy on the host, in the midst of the others."""
        passed = [k for k, x in enumerate(v.args) if x.dtype is not None]
        others, compute = list(args), numpys_function(v)
        shapes = [(shape, np.dtype(dtype)) for shape, dtype in v.parts or [(v.shape, v.dtype)]]

        def call(run: Any, *arrays: Any) -> list[Array]:
            operands = list(others)
            for k, x in zip(passed, arrays, strict=True):
                operands[k] = in_layout(words.from_host(np.asarray(x), v.args[k].shape, v.args[k].dtype), v.args[k])
            try:
                with np.errstate(all="ignore"):
                    z = compute(*operands)
                found = [np.asarray(x, dtype) for x, (_, dtype) in zip(z if v.parts else [z], shapes, strict=True)]
            except Exception as error:
                self.failures[int(run)] = error
                found = [np.zeros(shape, dtype) for shape, dtype in shapes]
            return [words.to_host(x) for x in found]

        operands = [words.from_device(self.jax, self.np.asarray(args[k])) for k in passed]
        described = [self.jax.ShapeDtypeStruct(*words.described(shape, dtype)) for shape, dtype in shapes]
        found = self.jax.pure_callback(call, described, run, *operands)
        found = [words.to_device(self.jax, x, shape, dtype) for x, (shape, dtype) in zip(found, shapes, strict=True)]
        return found if v.parts else found[0]


DEFAULTS = {"casting": ("same_kind",), "dtype": (None,), "order": (None, "K"), "out": (None,), "subok": (True, False),
            "kind": (None, "quicksort", "stable"), "like": (None,)}  # fmt: skip
RAISING = frozenset({"solve", "inv", "cholesky", "eigh", "eigvalsh", "svd", "svdvals", "pinv", "eig", "eigvals",
                     "tensorsolve", "tensorinv", "lstsq", "matrix_power"})  # fmt: skip


class WrongDtypeError(LeftToNumPy):
    """JAX promotes in another way."""


def is_default(name: str, x: Any) -> bool:
    """Does the option say nothing, so that JAX need not have it? (Its sorts are stable.)"""
    return name in DEFAULTS and (x is None or isinstance(x, (str, bool))) and x in DEFAULTS[name]


def numpys_function(v: Value) -> Callable[..., Any]:
    """What NumPy calls for a value, as a function of its operands."""
    if v.kind == REDUCE:
        axis, keepdims = v.options
        return lambda x: v.function.reduce(x, axis, keepdims=keepdims)
    if v.kind == STACK:
        return lambda *arrays: np.stack(arrays)
    return checked_call(v) if v.kind == CALL else v.function


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
    """Raise CompileError for numbers that XLA does not have."""
    for dtype in [v.dtype, *[d for _, d in v.parts or ()]]:
        if isinstance(dtype, np.dtype) and dtype.char not in KNOWN:
            raise CompileError(
                f'{v.name} computes in {dtype}, and engine="jax" has no such numbers: take it out of the compiled '
                f'function, or leave engine="numpy".'
            )
