"""Functions of NumPy in JavaScript that are neither elementwise nor only move elements.

Those in ``FORMS`` are written with simpler functions of NumPy, which are recorded in turn: each row is called with the
arguments of the call; one that it cannot do raises RefusedError, or is not among its parameters. For those in ``CALLS``
there are loops: each row gets the writer, the value, and the call's arguments, with values where arrays stand.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...rules.linalg import explicit, summed_axes
from ...table.facts import find
from ...table.outside import public_name
from ..matching import Array, Value
from ..trace.memory import cast, set_items, update_at, write_into_copy
from .places import Ref, as_view, heads
from .writer import RefusedError

Call = Callable[..., Any]

# ---------------------------------------------------------------- by simpler functions


def var(a: Array, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The mean square of the deviations from the mean."""
    rest = a - np.mean(a, axis=axis, keepdims=True)
    total = np.sum(rest * rest, axis=axis, keepdims=keepdims)
    return total / (a.size / total.size - ddof)


def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The root of the sum of squares."""
    axes = x.ndim if axis is None else np.size(axis)
    if ord not in (None, "fro") and not (ord == 2 and axes == 1):
        raise RefusedError(f"np.linalg.norm with ord={ord}")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def median(a: Array, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The mean of the two in the middle."""
    if axis is None and not keepdims:
        a, axis = np.ravel(a), 0
    middle = np.array([(a.shape[axis] - 1) // 2, a.shape[axis] // 2])
    return np.mean(np.take(np.sort(a, axis=axis), middle, axis=axis), axis=axis, keepdims=keepdims)


def tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    """Sums over pairs of axes: the pairs get one letter."""
    x, y = [*map(chr, range(97, 97 + a.ndim))], [*map(chr, range(65, 65 + b.ndim))]
    for k, j in zip(*summed_axes(axes, a.ndim, b.ndim), strict=True):
        y[j] = x[k]
    out = [c for c in x + y if (x + y).count(c) == 1]
    return np.einsum(f"{''.join(x)},{''.join(y)}->{''.join(out)}", a, b)


def take(a: Array, indices: Array, axis: Any = None) -> Array:
    """By whole numbers along one axis."""
    return np.ravel(a)[indices] if axis is None else a[(slice(None),) * (axis % a.ndim) + (indices,)]


def places_along(x: Array, places: Array, axis: int) -> Any:
    """The index of the elements whose place along one axis is in another array."""
    others = np.ogrid[tuple([slice(n) for n in x.shape])]
    return tuple([places if k == axis % x.ndim else grid for k, grid in enumerate(others)])


def take_along_axis(arr: Array, indices: Array, axis: Any = -1) -> Array:
    """By places along one axis."""
    if axis is None:
        arr, axis = np.ravel(arr), 0
    return arr[places_along(arr, indices, axis)]


def written_into(function: Any, x: Array, indices: Array, values: Array, axis: int) -> Array:
    """``np.put_along_axis`` on a copy."""
    if function is not np.put_along_axis:
        raise RefusedError(function.__name__)
    x = np.copy(x)
    x[places_along(x, indices, axis)] = values
    return x


def without_nan(reduce: Call, instead: float) -> Call:
    """``np.nansum`` and its like: NaN becomes what changes nothing."""
    return lambda a, axis=None, **options: reduce(np.where(np.isnan(a), instead, a), axis=axis, **options)


STACKED = ("vecdot", "...a,...a->..."), ("matvec", "...ab,...b->...a"), ("vecmat", "...a,...ab->...b")  # NumPy 2.2
FORMS: dict[Any, Call] = {
    np.var: var, np.std: lambda a, *args, **options: np.sqrt(var(a, *args, **options)), np.linalg.norm: norm,
    np.median: median, np.tensordot: tensordot,
    np.dot: lambda a, b: np.tensordot(a, b, (-1, max(b.ndim - 2, 0))) if a.ndim and b.ndim else a * b,
    np.inner: lambda a, b: np.tensordot(a, b, (-1, -1)) if a.ndim and b.ndim else a * b,
    np.outer: lambda a, b: np.reshape(a, (-1, 1)) * np.ravel(b),
    np.vdot: lambda a, b: np.sum(np.ravel(a) * np.ravel(b)),
    np.trace: lambda a, *where: np.sum(np.diagonal(a, *where[:3]), axis=-1), np.take: take,
    np.take_along_axis: take_along_axis, write_into_copy: written_into,
    np.nansum: without_nan(np.sum, 0.0), np.nanprod: without_nan(np.prod, 1.0),
    np.linalg.inv: lambda a: np.linalg.solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)),
    **{find(name): partial(np.einsum, letters) for name, letters in STACKED},
}  # fmt: skip


# ---------------------------------------------------------------- products, and along one axis


def einsum(w: Any, v: Value, subscripts: Any, *operands: Value, **options: Any) -> Any:
    """Any products of arrays, in one nest of loops."""
    if not isinstance(subscripts, str):
        raise RefusedError("np.einsum without subscripts")
    inputs, _, out = explicit(subscripts, [len(x.shape) for x in operands]).partition("->")
    return w.contracted(v, [(w.known[x], part) for x, part in zip(operands, inputs.split(","), strict=True)], out)


def matmul(w: Any, v: Value, x: Value, y: Value) -> Any:
    """Of matrices, vectors, stacks of them."""
    left, right = "...xk" if len(x.shape) > 1 else "k", "...ky" if len(y.shape) > 1 else "k"
    return einsum(w, v, f"{left},{right}->...{left[3:4]}{right[4:]}", x, y)


RUNNING = "let s = {start}; for (let j = 0; j < {{n}}; j++) {{to}} = s {sign}= {{x}};"
ORDERED = (
    "const a = []; for (let j = 0; j < {{n}}; j++) a.push({{x}}); const p = sorted(a);"
    " for (let j = 0; j < {{n}}; j++) {{to}} = {found};"
)  # by numbers, NaN last, equal ones in their old order


def along(body: str, axis: Any) -> Call:
    """``body`` for each row of numbers: {n} of them, {x} is the j-th and {to} where the j-th result goes. ``axis``: if
    the call names none; None is the flat array."""

    def call(w: Any, v: Value, a: Value, axis: Any = axis, *more: Any, **options: Any) -> Any:
        x, target = w.known[a], w.new(v.shape, v.dtype)
        if axis is None or not a.shape:
            x, axis = w.straight(a).reshape([math.prod(a.shape)]), 0
        axis, to = axis % len(x.shape), target.reshape(x.shape)
        names = ["j" if k == axis else f"q{k}" for k in range(len(x.shape))]
        head = heads([(i, n) for i, n in zip(names, x.shape, strict=True) if i != "j"])
        w.lines.append(f"{head}{{ {body.format(n=x.shape[axis], x=x.at(names), to=to.at(names))} }}")
        return target

    return call


# ---------------------------------------------------------------- indices that are known only when it runs


def chosen(w: Any, x: Ref, index: Any) -> Ref:
    """``x[index]``, with whole numbers and slices, or with other indices that are known."""
    parts = index if isinstance(index, tuple) else (index,)
    known = [p.sample if isinstance(p, Value) and p.kind in ("constant", "captured") else p for p in parts]
    if not any([isinstance(p, Value) for p in known]):
        address = x.addresses(0)[tuple(known)]
        table = Ref(w.table(address), address.shape)
        return found_by(address.shape, lambda names: f"{x.buffer}[{table.at(names)}]")
    if not all([isinstance(p, (int, slice)) or getattr(p, "dtype", np.dtype(float)).kind in "iu" for p in parts]):
        raise RefusedError("an index with a mask or a new axis that is known only when it runs")
    view = as_view(x.buffer, x.addresses(0)[tuple([p if isinstance(p, slice) else slice(None) for p in parts])]) or x
    axes = [k for k, p in enumerate(parts) if not isinstance(p, slice)]
    rest = [k for k in range(len(view.shape)) if k not in axes]
    found = [w.operand(parts[k]) for k in axes]
    lead = np.broadcast_shapes(*[p.shape for p in found])
    first = axes[0] if axes[-1] - axes[0] < len(axes) else 0  # side by side, they leave their axes where these were
    last = first + len(lead)

    def name(names: list[str]) -> str:
        texts = [p.broadcast(lead).at(names[first:last]) for p in found]
        steps = [f"({t} + ({t} < 0) * {view.shape[k]}) * {view.strides[k]}" for t, k in zip(texts, axes, strict=True)]
        others = zip(names[:first] + names[last:], [view.strides[k] for k in rest], strict=True)
        return f"{x.buffer}[{' + '.join([str(view.offset), *steps, *[f'{i} * {s}' for i, s in others if s]])}]"

    shape = [view.shape[k] for k in rest]
    return found_by((*shape[:first], *lead, *shape[first:]), name)


def found_by(shape: tuple[int, ...], name: Callable[[list[str]], str]) -> Ref:
    """Elements that are called by the names of the loops as ``name`` says."""
    ref = Ref("", shape)
    ref.at, ref.is_dense = name, False  # type: ignore[method-assign, assignment]
    return ref


def get_items(w: Any, v: Value, x: Value, index: Any) -> Any:
    """``x[index]``."""
    return w.loop(w.new(v.shape, v.dtype), [chosen(w, w.known[x], index)])


def items_set(w: Any, v: Value, x: Value, index: Any, new: Any, sign: str = "=") -> Any:
    """``x[index] = new`` on a copy; in order, so that the last counts."""
    target = w.loop(w.new(v.shape, v.dtype), [w.known[x]])
    w.loop(chosen(w, target, index), [w.operand(new)], sign=sign)
    return target


SIGNS = {np.add: "+=", np.subtract: "-=", np.multiply: "*="}


def updated_at(w: Any, v: Value, ufunc: Any, x: Value, index: Any, *rest: Any) -> Any:
    """``np.add.at``."""
    if ufunc not in SIGNS or not rest:
        raise RefusedError(f"{public_name(ufunc)}.at")
    return items_set(w, v, x, index, rest[0], SIGNS[ufunc])


# ---------------------------------------------------------------- other calls


def casted(w: Any, v: Value, x: Any, dtype: Any, order: Any = None, casting: Any = None) -> Any:
    """To another dtype: towards zero, if it is one of whole numbers."""
    formula = "Math.trunc({})" if v.dtype.kind in "iu" else "({} ? 1 : 0)" if v.dtype.kind == "b" else "{}"
    return w.loop(w.new(v.shape, v.dtype), [w.operand(x)], formula)


def solve(w: Any, v: Value, a: Value, b: Value) -> Any:
    """Systems, one after another, by elimination with pivots."""
    n, column = a.shape[-1], len(b.shape) == 1
    batch, m = (v.shape[:-1], 1) if column else (v.shape[:-2], v.shape[-1])
    target = w.new(v.shape, v.dtype)
    left, right = w.loop(w.new((*batch, n, n), v.dtype), [w.known[a]]), w.loop(w.new(v.shape, v.dtype), [w.known[b]])
    pieces = [f"{r.buffer}.subarray(k * {size}, (k + 1) * {size})" for r, size in ((left, n * n), (right, n * m))]
    put = f"{target.buffer}.set(solve({', '.join(pieces)}, {n}, {m}), k * {n * m})"
    w.lines.append(f"for (let k = 0; k < {math.prod(batch)}; k++) {put};")
    return target


CALLS: dict[Any, Call] = {
    np.einsum: einsum, np.matmul: matmul,
    np.cumsum: along(RUNNING.format(start="0", sign="+"), None), np.sort: along(ORDERED.format(found="a[p[j]]"), -1),
    np.cumprod: along(RUNNING.format(start="1", sign="*"), None), np.argsort: along(ORDERED.format(found="p[j]"), -1),
    update_at: updated_at, cast: casted, np.linalg.solve: solve,
    **dict.fromkeys((np.copy, np.ndarray.copy), lambda w, v, a, *more, **options: w.known[a]),  # nothing is overwritten
}  # fmt: skip
AT_RUN: dict[Any, Call] = {operator.getitem: get_items, set_items: items_set}
