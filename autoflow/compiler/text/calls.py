"""Where in a buffer the elements of a value lie, in JavaScript; and NumPy functions that are neither elementwise nor
only move elements.

Shapes are known when the text is written, so no view computes anything: it is another offset and other strides into the
same buffer. NumPy itself says which: the function that takes the view is called with an array of addresses. In the same
way it says where every element of ``np.roll(x, 1)``, ``np.pad(x, 2)`` or ``np.concatenate([x, y])`` comes from.

Functions in ``FORMS`` are written with simpler NumPy functions, which are recorded in turn: each row is called with the
arguments of the call; those that it does not support are not among its parameters. A function that NumPy has in Python
needs no row: NumPy's own code is recorded (``table/bodies.py``). For those in ``CALLS`` there are loops: each row gets
the writer, the value, and the call's arguments, with values in place of arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ...backends.duck_arrays import run_masked
from ...batching.products import convolve, correlate
from ...pictures.sliders.live import literal
from ...rules.linalg import explicit
from ...table.bodies import with_copies
from ...table.facts import REDUCTIONS, find
from ...table.outside import public_name
from ..matching import AnyFunction, Array, Value
from ..trace.memory import cast, check_answer, set_items, update_at, write_into_copy
from .writer import RefusedError

# ---------------------------------------------------------------- places: elements of buffers

Shape = tuple[int, ...]
FAR = 2.0**40  # where the first buffer begins, and how far it is to the next


class Ref:
    """Elements of a buffer: its name, their shape, strides in elements (0 along axes of length 1), and where they
    begin."""

    def __init__(
        self, buffer: str, shape: Iterable[int], strides: Iterable[int] | None = None, offset: int = 0
    ) -> None:
        self.buffer, self.shape, self.offset = buffer, tuple(shape), offset
        dense = tuple([0 if n == 1 else math.prod(self.shape[k + 1 :]) for k, n in enumerate(self.shape)])
        own_strides = dense if strides is None else strides
        self.strides = tuple([0 if n == 1 else s for s, n in zip(own_strides, self.shape, strict=True)])
        self.is_dense = self.strides == dense  # in C order and without gaps

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    def broadcast(self, shape: Shape) -> Ref:
        """Repeated to ``shape``."""
        if shape == self.shape:
            return self
        return Ref(self.buffer, shape, [0] * (len(shape) - len(self.shape)) + [*self.strides], self.offset)

    def reshape(self, shape: Iterable[int]) -> Ref:
        """The elements of a dense one in another shape."""
        return Ref(self.buffer, shape, None, self.offset)

    def at(self, names: Iterable[str]) -> str:
        """One element, by the names of the loops.

        >>> Ref("v1", (3, 4)).at("ij"), Ref("v1", (3,), (0,), 5).at("i")
        ('v1[i * 4 + j]', 'v1[5]')
        """
        terms = [i if s == 1 else f"{i} * {s}" for i, s in zip(names, self.strides, strict=True) if s]
        return f"{self.buffer}[{' + '.join([*terms, *([str(self.offset)] if self.offset or not terms else [])])}]"

    def addresses(self, start: float) -> np.ndarray:
        """Where each element lies, as an array of this shape."""
        steps = np.ix_(*[np.arange(n) * s for n, s in zip(self.shape, self.strides, strict=True)])
        return np.asarray(sum(steps, start + self.offset))


class KnownNumber(Ref):
    """A number that is known, in any shape, written where it is used."""

    def __init__(self, value: Array, shape: Iterable[int] = ()) -> None:
        super().__init__("", shape, [0 for _ in shape])
        self.value, self.is_dense = value, True

    def broadcast(self, shape: Iterable[int]) -> KnownNumber:
        """In another shape."""
        return KnownNumber(self.value, shape)

    reshape = broadcast

    def at(self, names: Iterable[str]) -> str:
        """The number."""
        return literal(self.value)


def heads(loops: Iterable[tuple[str, int]]) -> str:
    """Nested loops: the name of each, and how often it runs."""
    return "".join([f"for (let {i} = 0; {i} < {n}; {i}++) " for i, n in loops if n != 1])


def as_view(buffer: str, address: np.ndarray) -> Ref | None:
    """The view that has these addresses; None if no view has them."""
    if not address.size:
        return Ref(buffer, address.shape)
    first = int(address.flat[0])
    steps = [int(np.take(address, 1, a).flat[0]) - first if n > 1 else 0 for a, n in enumerate(address.shape)]
    ref = Ref(buffer, address.shape, steps, first)
    return ref if np.array_equal(ref.addresses(0.0), address) else None


# ---------------------------------------------------------------- functions: in simpler ones, or in loops

Call = AnyFunction


def own_code(function: object) -> Call | None:
    """The code of a function that NumPy has in Python, for arrays that are recorded."""
    theirs = getattr(function, "_implementation", None)
    return with_copies(theirs) if isinstance(theirs, FunctionType) else None


# ---------------------------------------------------------------- by simpler functions


def reduction(
    function: Any, ufunc: np.ufunc, a: Array, axis: int | None = None, dtype: Any = None, *, initial: Any = None,
    where: Array = True, **how: Any,
) -> Array:  # fmt: skip
    """``np.sum`` and its like: numbers that do not count become the identity."""
    if ufunc is np.multiply and dtype is not None:
        refuse_products(dtype)
    nothing = initial if ufunc.identity is None else ufunc.identity
    z = function(np.where(where, a if dtype is None else a.astype(dtype), nothing), axis, **how)
    return z if initial is None else ufunc(z, initial)


def refuse_products(dtype: np.dtype[Any]) -> None:
    """For whole numbers that wrap: a double cannot hold the product of many."""
    if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 8:
        raise RefusedError(f"products of many numbers in {np.dtype(dtype)}")


def mean(a: Array, axis: int | None = None, dtype: Any = None, *, where: Array = True, **how: Any) -> Array:
    """The sum divided by the count, also for whole numbers and with a mask."""
    total = np.sum(a, axis, dtype=dtype, where=where, **how)
    return total / count(a, axis, where, **how)


def count(a: Array, axis: int | None, where: Array = True, **how: Any) -> Array:
    """How many numbers there are."""
    return np.sum(np.broadcast_to(where, a.shape), axis, **how)


def var(
    a: Array, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: Any = False, mean: Any = None,
    **where: Any,
) -> Array:  # fmt: skip
    """The mean square of the deviations from the mean."""
    a = a if dtype is None else a.astype(dtype)
    rest = a - (np.mean(a, axis=axis, keepdims=True, **where) if mean is None else mean)
    squares = np.mean(rest * rest, axis=axis, keepdims=keepdims, **where)
    n = count(a, axis, **where, keepdims=keepdims)
    return squares * n / np.maximum(n - ddof, 0)


def std(a: Array, *args: Any, **options: Any) -> Array:
    """Its square root."""
    return np.sqrt(var(a, *args, **options))


def nanvar(
    function: Any, a: Array, axis: int | None = None, dtype: Any = None, *, ddof: float = 0, keepdims: Any = False
) -> Array:
    """``np.nanvar`` and its like: NaN where there are too few numbers."""
    z = function(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=~np.isnan(a))
    return np.where(count(a, axis, ~np.isnan(a), keepdims=keepdims) > ddof, z, np.nan)


def by_rank(
    function: Any, a: Array, q: Any = None, axis: Any = None, *, keepdims: bool = False, **method: Any
) -> Array:
    """``np.quantile`` and its like: given the ranks of the elements, NumPy says where between them the result lies."""
    axes = [*range(a.ndim)] if axis is None else [k % a.ndim for k in np.ravel(axis)]
    y = np.moveaxis(a, axes, range(len(axes)))
    y = np.sort(np.reshape(y, (-1, *y.shape[len(axes) :])), axis=0)
    rank = np.asarray(function(np.arange(float(len(y))), *([] if q is None else [q]), **method))
    low, high = np.floor(rank).astype(int), np.ceil(rank).astype(int)
    share = np.reshape(rank - low, rank.shape + (1,) * (y.ndim - 1))
    way = y[high] - y[low]
    z = np.where(share < 0.5, y[low] + way * share, y[high] - way * (1 - share))
    z = np.where(share > 0, (y[low] + y[high]) / 2 if function is np.median else z, y[low])
    z = np.where(np.isnan(y[-1]), y[-1], z)  # NaN is the last in order
    return np.expand_dims(z, tuple([rank.ndim + k for k in axes])) if keepdims else z


def over_last(a: Array, b: Array, axis: int) -> Array:
    """The sum over the last axis of one and an axis of the other."""
    return np.tensordot(a, b, (-1, axis)) if a.ndim and b.ndim else a * b


def logsumexp(x: Array, b: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """From numbers that are at most 0, so that nothing overflows."""
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    z = np.log(np.sum(np.exp(x - top) * (1.0 if b is None else b), axis=axis, keepdims=True)) + top
    return z if keepdims else np.squeeze(z, axis)


def take(a: Array, indices: Array, axis: int | None = None) -> Array:
    """Elements along one axis, by whole numbers."""
    return np.ravel(a)[indices] if axis is None else a[(slice(None),) * (axis % a.ndim) + (indices,)]


def written_into(function: object, x: Array, *args: Any, where: Any = True, **casting: object) -> Array:
    """``np.copyto`` and its like on a copy."""
    if function is np.copyto:
        return np.where(where, args[0], x).astype(x.dtype)
    if (write := own_code(function)) is None:
        raise RefusedError(public_name(function))
    x = np.copy(x)
    write(x, *args)
    return x


STACKED = ("vecdot", "...a,...a->..."), ("matvec", "...ab,...b->...a"), ("vecmat", "...a,...ab->...b")  # NumPy 2.2
FORMS: dict[Any, Call] = {
    **{f: partial(reduction, f, ufunc) for f, ufunc in REDUCTIONS.items()}, np.mean: mean, np.var: var, np.std: std,
    np.median: lambda a, *axis, **how: by_rank(np.median, a, None, *axis, **how),
    np.quantile: partial(by_rank, np.quantile), np.percentile: partial(by_rank, np.percentile),
    np.nanmean: lambda a, *axis, **how: np.mean(a, *axis, where=~np.isnan(a), **how),
    np.nanvar: partial(nanvar, var), np.nanstd: partial(nanvar, std),
    np.convolve: convolve, np.correlate: correlate,
    np.dot: lambda a, b: a @ b if a.ndim and 0 < b.ndim < 3 else over_last(a, b, -2),
    np.inner: lambda a, b: over_last(a, b, -1),
    np.vdot: lambda a, b: np.sum(np.ravel(a) * np.ravel(b)),
    np.trace: lambda a, *where: np.sum(np.diagonal(a, *where[:3]), axis=-1), np.take: take,
    write_into_copy: written_into, "sum_of_exponentials": logsumexp,
    run_masked: lambda ufunc, inputs, where, out: np.where(where, ufunc(*inputs), out[0]),
    np.linalg.inv: lambda a: np.linalg.solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)),
    **{find(name): partial(np.einsum, letters) for name, letters in STACKED},
}  # fmt: skip


# ---------------------------------------------------------------- products, and along one axis


def einsum(w: Any, v: Value, subscripts: Any, *operands: Value, **options: object) -> Ref:
    """Any products of arrays, in one nest of loops."""
    if not isinstance(subscripts, str):
        pieces = subscripts, *operands
        subscripts, operands = (*pieces[1::2], *pieces[len(pieces) // 2 * 2 :]), pieces[: len(pieces) - 1 : 2]
    inputs, _, out = explicit(subscripts, [len(x.shape) for x in operands]).partition("->")
    return w.contracted(v, [(w.known[x], part) for x, part in zip(operands, inputs.split(","), strict=True)], out)


def matmul(w: Any, v: Value, x: Value, y: Value) -> Ref:
    """Matrices, vectors, stacks of them."""
    left, right = "...xk" if len(x.shape) > 1 else "k", "...ky" if len(y.shape) > 1 else "k"
    return einsum(w, v, f"{left},{right}->...{left[3:4]}{right[4:]}", x, y)


RUNNING = "let s = {start}; for (let j = 0; j < {{n}}; j++) {{{{ s {sign}= {{x}}; {{to}} = {{s}}; s = {{to}}; }}}}"
ORDERED = (
    "const a = []; for (let j = 0; j < {{n}}; j++) a.push({{x}}); const p = sorted(a);"
    " for (let j = 0; j < {{n}}; j++) {{to}} = {value};"
)  # by numbers, NaN last, equal ones in their old order


def along(body: str, axis: Any) -> Call:
    """``body`` for each row of numbers: {n} of them, {x} is the j-th and {to} where the j-th result goes. ``axis``: if
    the call names none; None is the flat array."""

    def call(w: Any, v: Value, a: Value, axis: int | None = axis, *more: Any, **options: Any) -> Ref:
        if unknown := [k for k, x in options.items() if k not in ("kind", "stable", "dtype") and x is not None]:
            raise RefusedError(f"np.{v.function.__name__}({unknown[0]}=)")
        if "*=" in body:
            refuse_products(v.dtype)
        target = w.new(v.shape, v.dtype)
        x = w.straight(w.known[a], v.dtype if "{s}" in body else None)  # a sum, or a product, in the result's dtype
        if axis is None or not a.shape:
            x, axis = x.reshape([math.prod(a.shape)]), 0
        axis, to = axis % len(x.shape), target.reshape(x.shape)
        names = ["j" if k == axis else f"q{k}" for k in range(len(x.shape))]
        head = heads([(i, n) for i, n in zip(names, x.shape, strict=True) if i != "j"])
        w.lines.append(
            f"{head}{{ {body.format(n=x.shape[axis], x=x.at(names), to=to.at(names), s=w.stored(target, 's'))} }}"
        )
        return target

    return call


# ---------------------------------------------------------------- indices that are known only when it runs


def item_of(w: Any, x: Ref, index: Any) -> Ref:
    """``x[index]``, with whole numbers and slices, or with other indices that are known."""
    parts = index if isinstance(index, tuple) else (index,)
    samples = [p.sample if isinstance(p, Value) and p.kind in ("constant", "captured") else p for p in parts]
    x = x if x.buffer else w.straight(x)
    if not any([isinstance(p, Value) for p in samples]):
        address = x.addresses(0)[tuple(samples)]
        table = Ref(w.table(address), address.shape)
        return ref_by(x.buffer, address.shape, lambda names: f"{x.buffer}[{table.at(names)}]")
    if not all([isinstance(p, (int, slice)) or getattr(p, "dtype", np.dtype(float)).kind in "iu" for p in parts]):
        raise RefusedError("an index with a mask or a new axis that is known only when it runs (np.where keeps all)")
    view = as_view(x.buffer, x.addresses(0)[tuple([p if isinstance(p, slice) else slice(None) for p in parts])]) or x
    axes = [k for k, p in enumerate(parts) if not isinstance(p, slice)]
    rest = [k for k in range(len(view.shape)) if k not in axes]
    indices = [w.operand(parts[k]) for k in axes]
    lead = np.broadcast_shapes(*[p.shape for p in indices])
    first = axes[0] if axes[-1] - axes[0] < len(axes) else 0  # side by side, they leave their axes where these were
    last = first + len(lead)

    def name(names: list[str]) -> str:
        texts = [p.broadcast(lead).at(names[first:last]) for p in indices]
        steps = [f"({t} + ({t} < 0) * {view.shape[k]}) * {view.strides[k]}" for t, k in zip(texts, axes, strict=True)]
        others = zip(names[:first] + names[last:], [view.strides[k] for k in rest], strict=True)
        return f"{x.buffer}[{' + '.join([str(view.offset), *steps, *[f'{i} * {s}' for i, s in others if s]])}]"

    shape = [view.shape[k] for k in rest]
    return ref_by(x.buffer, (*shape[:first], *lead, *shape[first:]), name)


def ref_by(buffer: str, shape: tuple[int, ...], name: Callable[[list[str]], str]) -> Ref:
    """Elements that are called by the names of the loops as ``name`` says."""
    ref = Ref(buffer, shape)
    ref.at, ref.is_dense = name, False  # type: ignore[method-assign, assignment]
    return ref


def items_set(w: Any, v: Value, x: Value, index: Any, new: Any, sign: str = "=") -> Ref:
    """``x[index] = new`` on a copy; in order, so that the last counts."""
    target = w.loop(w.new(v.shape, v.dtype), [w.known[x]])
    if isinstance(index, Value) and index.dtype.kind == "b" and np.size(getattr(new, "sample", new)) == 1:
        mask = w.straight(w.known[index], index.dtype).reshape(index.shape + (1,) * (len(x.shape) - len(index.shape)))
        return w.loop(target, [mask, w.operand(new), target], "({0} ? {1} : {2})")
    w.loop(item_of(w, target, index), [w.operand(new)], sign=sign)
    return target


SIGNS = {np.add: "+=", np.subtract: "-=", np.multiply: "*="}


def updated_at(w: Any, v: Value, ufunc: np.ufunc, x: Value, index: Any, *rest: object) -> Ref:
    """``np.add.at``."""
    if ufunc not in SIGNS or not rest or v.dtype.kind == "b":
        raise RefusedError(f"{public_name(ufunc)}.at")
    return items_set(w, v, x, index, rest[0], SIGNS[ufunc])


# ---------------------------------------------------------------- other calls


def solve(w: Any, v: Value, a: Value, b: Value) -> Ref:
    """Systems, one after another, by elimination with pivots."""
    n, column = a.shape[-1], len(b.shape) == 1
    batch, m = (v.shape[:-1], 1) if column else (v.shape[:-2], v.shape[-1])
    target = w.new(v.shape, v.dtype)
    left, right = w.loop(w.new((*batch, n, n), v.dtype), [w.known[a]]), w.loop(w.new(v.shape, v.dtype), [w.known[b]])
    pieces = [f"{r.buffer}.subarray(k * {size}, (k + 1) * {size})" for r, size in ((left, n * n), (right, n * m))]
    put = f"{target.buffer}.set(solve({', '.join(pieces)}, {n}, {m}), k * {n * m})"
    w.lines.append(f"for (let k = 0; k < {math.prod(batch)}; k++) {put};")
    return target


def answer_checked(w: Any, v: Value, x: Value, answer: bool) -> Ref:
    """Where NumPy would take another branch, the results are NaN."""
    w.asks = True
    w.lines.append(f"if ({w.known[x].at(())} != {literal(answer)}) return outputs.forEach((a) => a.fill(NaN));")
    return w.known[x]


CALLS: dict[Any, Call] = {
    np.einsum: einsum, np.matmul: matmul,
    np.cumsum: along(RUNNING.format(start="0", sign="+"), None), np.sort: along(ORDERED.format(value="a[p[j]]"), -1),
    np.cumprod: along(RUNNING.format(start="1", sign="*"), None), np.argsort: along(ORDERED.format(value="p[j]"), -1),
    update_at: updated_at, np.linalg.solve: solve, check_answer: answer_checked,
    cast: lambda w, v, x, *how: w.loop(w.new(v.shape, v.dtype), [w.operand(x)]),
    **dict.fromkeys((np.copy, np.ndarray.copy), lambda w, v, a, *more, **options: w.known[a]),  # nothing is overwritten
}  # fmt: skip
AT_RUN: dict[Any, Call] = {
    operator.getitem: lambda w, v, x, index: w.loop(w.new(v.shape, v.dtype), [item_of(w, w.known[x], index)]),
    set_items: items_set,
}  # fmt: skip
