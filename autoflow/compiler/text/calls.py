"""Functions of NumPy in JavaScript that are neither elementwise nor only move elements.

Each row gets the writer, the value, and the call's arguments, with values where arrays stand.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules.linalg import explicit
from ..matching import Value
from ..trace.memory import cast, set_items, update_at
from .places import Ref, heads
from .writer import RefusedError, name_of

Call = Callable[..., Any]


def einsum(w: Any, v: Value, subscripts: Any, *operands: Value, **options: Any) -> Any:
    """Any products of arrays, in one nest of loops."""
    if not isinstance(subscripts, str):
        raise RefusedError("np.einsum without subscripts")
    inputs, _, out = explicit(subscripts, [len(x.shape) for x in operands]).partition("->")
    return w.contracted(v, [(w.known[x], part) for x, part in zip(operands, inputs.split(","), strict=True)], out)


# ---------------------------------------------------------------- along one axis

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


def places(w: Any, x: Ref, index: Any) -> tuple[tuple[int, ...], Callable[[list[str]], str]]:
    """The shape of ``x[index]``, and what its elements are called, by the names of the loops."""
    parts = index if isinstance(index, tuple) else (index,)
    if all([isinstance(p, int) or getattr(getattr(p, "dtype", None), "kind", "") in {*"iu"} for p in parts]):
        found = [w.operand(p) for p in parts]
        lead = np.broadcast_shapes(*[p.shape for p in found])

        def name(names: list[str]) -> str:
            texts = [p.broadcast(lead).at(names[: len(lead)]) for p in found]
            steps = [f"({t} + ({t} < 0) * {n}) * {s}" for t, s, n in zip(texts, x.strides, x.shape, strict=False)]
            more = [f"{i} * {s}" for i, s in zip(names[len(lead) :], x.strides[len(parts) :], strict=True)]
            return f"{x.buffer}[{' + '.join([str(x.offset), *steps, *more])}]"

        return (*lead, *x.shape[len(parts) :]), name
    known = [p.sample if isinstance(p, Value) and p.kind in ("constant", "captured") else p for p in parts]
    if any([isinstance(p, Value) for p in known]):
        raise RefusedError("an index with slices and numbers that are known only when it runs")
    address = x.addresses(0.0)[tuple(known)]
    table = Ref(w.table(address), address.shape)
    return address.shape, lambda names: f"{x.buffer}[{table.at(names)}]"


def each(w: Any, shape: tuple[int, ...], body: Callable[[list[str]], str]) -> None:
    """A loop over all axes."""
    names = [f"q{k}" for k in range(len(shape))]
    w.lines.append(f"{heads(zip(names, shape, strict=True))}{body(names)};")


def get_items(w: Any, v: Value, x: Value, index: Any) -> Any:
    """``x[index]``."""
    target = w.new(v.shape, v.dtype)
    shape, element = places(w, w.known[x], index)
    each(w, shape, lambda names: f"{target.at(names)} = {element(names)}")
    return target


def items_set(w: Any, v: Value, x: Value, index: Any, new: Any, sign: str = "=") -> Any:
    """``x[index] = new`` on a copy; in order, so that the last counts."""
    target = w.copied(w.known[x], v.shape, v.dtype)
    shape, element = places(w, target, index)
    source = w.operand(new).broadcast(shape)
    each(w, shape, lambda names: f"{element(names)} {sign} {source.at(names)}")
    return target


SIGNS = {np.add: "+=", np.subtract: "-=", np.multiply: "*="}


def updated_at(w: Any, v: Value, ufunc: Any, x: Value, index: Any, *rest: Any) -> Any:
    """``np.add.at``."""
    if ufunc not in SIGNS or not rest:
        raise RefusedError(f"{name_of(ufunc)}.at")
    return items_set(w, v, x, index, rest[0], SIGNS[ufunc])


# ---------------------------------------------------------------- other calls


def casted(w: Any, v: Value, x: Any, dtype: Any, order: Any = None, casting: Any = None) -> Any:
    """To another dtype: towards zero, if it is one of whole numbers."""
    formula = "Math.trunc({})" if v.dtype.kind in "iu" else "({} ? 1 : 0)" if v.dtype.kind == "b" else "{}"
    return w.elementwise(v, formula, [w.operand(x)])


def solve(w: Any, v: Value, a: Value, b: Value) -> Any:
    """Systems, one after another, by elimination with pivots."""
    n, column = a.shape[-1], len(b.shape) == 1
    batch, m = (v.shape[:-1], 1) if column else (v.shape[:-2], v.shape[-1])
    target = w.new(v.shape, v.dtype)
    left = w.copied(w.known[a], (*batch, n, n), v.dtype)
    right = w.copied(w.known[b], v.shape, v.dtype)
    pieces = [f"{r.buffer}.subarray(k * {size}, (k + 1) * {size})" for r, size in ((left, n * n), (right, n * m))]
    put = f"{target.buffer}.set(solve({', '.join(pieces)}, {n}, {m}), k * {n * m})"
    w.lines.append(f"for (let k = 0; k < {math.prod(batch)}; k++) {put};")
    return target


CALLS: dict[Any, Call] = {
    np.einsum: einsum, np.matmul: lambda w, v, x, y: w.write_product(v, w.known[x], w.known[y]),
    np.cumsum: along(RUNNING.format(start="0", sign="+"), None), np.sort: along(ORDERED.format(found="a[p[j]]"), -1),
    np.cumprod: along(RUNNING.format(start="1", sign="*"), None), np.argsort: along(ORDERED.format(found="p[j]"), -1),
    update_at: updated_at, cast: casted, np.linalg.solve: solve,
    **dict.fromkeys((np.copy, np.ndarray.copy), lambda w, v, a, *more, **options: w.known[a]),  # nothing is overwritten
}  # fmt: skip
AT_RUN: dict[Any, Call] = {operator.getitem: get_items, set_items: items_set}
