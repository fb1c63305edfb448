"""Functions of NumPy in JavaScript that are neither elementwise nor only move elements.

Each row gets the writer, the value, and the call's arguments, with values where arrays stand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..matching import Value
from ..trace.memory import cast, set_items, update_at, write_into_copy
from .places import Number
from .writer import RefusedError, name_of

Call = Callable[..., Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"

# ---------------------------------------------------------------- products


def einsum(w: Any, v: Value, subscripts: Any, *operands: Value, **options: Any) -> Any:
    """Any products of arrays, in one nest of loops."""
    if not isinstance(subscripts, str):
        raise RefusedError("np.einsum without subscripts")
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if not arrow:
        out = "..." * ("..." in left) + "".join([a for a in sorted({*left} - {*",."}) if left.count(a) == 1])
    free = [a for a in LETTERS if a not in subscripts]
    most = max([len(x.shape) - len(p.replace("...", "")) for p, x in zip(parts, operands, strict=True)])
    dots = free[:most]

    def whole(part: str, ndim: int) -> str:
        n = ndim - len(part.replace("...", ""))
        return part.replace("...", "".join(dots[len(dots) - n :]))

    given = [(w.known[x], whole(p, len(x.shape))) for p, x in zip(parts, operands, strict=True)]
    return w.contracted(v, given, whole(out, len(v.shape)))


# ---------------------------------------------------------------- sums


class Shaped:
    """What stands for a value that the program does not have: a step on the way."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)


# ---------------------------------------------------------------- along one axis


def along(w: Any, v: Value, a: Value, axis: Any, body: Callable[[str, str, str], str]) -> Any:
    """``body`` for each row of numbers along one axis: from one element, to one element, how many there are."""
    x = w.known[a]
    axis = axis % len(a.shape) if a.shape else 0
    target = w.new(v.shape, v.dtype)
    to = (
        target
        if len(target.shape) == len(x.shape)
        else target.reshape([1 if k == axis else n for k, n in enumerate(x.shape)])
    )
    names = ["j" if k == axis else f"q{k}" for k in range(len(a.shape))]
    head = "".join([f"for (let {i} = 0; {i} < {n}; {i}++) " for i, n in zip(names, a.shape, strict=True) if i != "j"])
    w.lines.append(f"{head}{{ {body(x.at(names), to.at(names), str(a.shape[axis]))} }}")
    return target


def flat_if_none(w: Any, a: Value, axis: Any) -> tuple[Any, int]:
    """An array and an axis; without an axis the flat array."""
    if axis is not None:
        return a, axis
    flat = Shaped([int(np.prod(a.shape))], a.dtype)
    w.known[flat] = w.straight(a).reshape(flat.shape)
    return flat, 0


def running(start: str, sign: str) -> Call:
    """np.cumsum, np.cumprod."""

    def call(w: Any, v: Value, a: Value, axis: Any = None, dtype: Any = None, **more: Any) -> Any:
        """All sums so far."""
        a, axis = flat_if_none(w, a, axis)
        return along(
            w, v, a, axis, lambda x, to, n: f"let s = {start}; for (let j = 0; j < {n}; j++) {to} = s {sign}= {x};"
        )

    return call


def ordered(result: str) -> Call:
    """np.sort, np.argsort: by numbers, NaN last, equal ones in their old order."""

    def call(w: Any, v: Value, a: Value, axis: Any = -1, kind: Any = None, order: Any = None, **more: Any) -> Any:
        """Of each row."""
        a, axis = flat_if_none(w, a, axis)
        push = "const a = []; for (let j = 0; j < {n}; j++) a.push({x}); const p = sorted(a);"
        body = push + " for (let j = 0; j < {n}; j++) {to} = {r};"
        return along(w, v, a, axis, lambda x, to, n: body.format(n=n, x=x, to=to, r=result))

    return call


# ---------------------------------------------------------------- indices that are known only when it runs


def places(w: Any, x: Any, index: Any) -> tuple[tuple[int, ...], Callable[[list[str]], str]]:
    """For an index of whole numbers on the first axes: the shape of the result, and the address of one element."""
    parts = index if isinstance(index, tuple) else (index,)
    found = [w.operand(p) for p in parts]
    if not all([isinstance(p, int) or (isinstance(p, Value) and p.dtype.kind in "iu") for p in parts]):
        raise RefusedError("an index with slices and numbers that are known only when it runs")
    lead = np.broadcast_shapes(*[p.shape for p in found])
    rest = x.shape[len(parts) :]

    def address(names: list[str]) -> str:
        texts = [p.broadcast(lead).at(names[: len(lead)]) for p in found]
        steps = [f"({t} + ({t} < 0) * {n}) * {s}" for t, s, n in zip(texts, x.strides, x.shape, strict=False)]
        more = [f"{i} * {s}" for i, s in zip(names[len(lead) :], x.strides[len(parts) :], strict=True)]
        return f"{x.buffer}[{' + '.join([str(x.offset), *steps, *more])}]"

    return (*lead, *rest), address


def each(w: Any, shape: tuple[int, ...], body: Callable[[list[str]], str]) -> None:
    """A loop over all axes."""
    names = [f"q{k}" for k in range(len(shape))]
    head = "".join([f"for (let {i} = 0; {i} < {n}; {i}++) " for i, n in zip(names, shape, strict=True)])
    w.lines.append(f"{head}{body(names)};")


def get_items(w: Any, v: Value, x: Value, index: Any) -> Any:
    """``x[index]``."""
    target = w.new(v.shape, v.dtype)
    shape, address = places(w, w.known[x], index)
    each(w, shape, lambda names: f"{target.at(names)} = {address(names)}")
    return target


def items_set(w: Any, v: Value, x: Value, index: Any, new: Any, sign: str = "=") -> Any:
    """``x[index] = new`` on a copy; in order, so that the last counts."""
    target = w.copied(w.known[x], v.shape, v.dtype)
    shape, address = places(w, target, index)
    source = w.operand(new)
    each(w, shape, lambda names: f"{address(names)} {sign} {source.broadcast(shape).at(names)}")
    return target


def updated_at(w: Any, v: Value, ufunc: Any, x: Value, index: Any, *rest: Any) -> Any:
    """``np.add.at``."""
    signs = {np.add: "+=", np.subtract: "-=", np.multiply: "*="}
    if ufunc not in signs or not rest:
        raise RefusedError(f"{name_of(ufunc)}.at")
    parts = index if isinstance(index, tuple) else (index,)
    if all([isinstance(p, int) or (isinstance(p, Value) and p.dtype.kind in "iu") for p in parts]):
        return items_set(w, v, x, index, rest[0], signs[ufunc])
    known = [p.sample if isinstance(p, Value) and p.kind in ("constant", "captured") else p for p in parts]
    if any([isinstance(p, Value) for p in known]):
        raise RefusedError(f"{name_of(ufunc)}.at with this index")
    target = w.copied(w.known[x], v.shape, v.dtype)
    address = target.addresses(0.0)[tuple(known)]
    to, source = w.table(address), w.operand(rest[0])
    wide = source.broadcast(address.shape)
    given = wide.text if isinstance(wide, Number) else f"{wide.buffer}[{w.table(wide.addresses(0.0))}[k]]"
    w.lines.append(f"for (let k = 0; k < {address.size}; k++) {target.buffer}[{to}[k]] {signs[ufunc]} {given};")
    return target


def along_axis(x: Any, indices: Any, axis: int, names: list[str]) -> Any:
    """The element of x whose place along one axis is in another array."""
    place = indices.at(names)
    steps = [
        f"({place} + ({place} < 0) * {n})" if k == axis else i
        for k, (i, n) in enumerate(zip(names, x.shape, strict=True))
    ]
    return x.at(steps)


def take_along_axis(w: Any, v: Value, arr: Value, indices: Value, axis: Any = -1) -> Any:
    """By places along one axis."""
    arr, axis = flat_if_none(w, arr, axis)
    x, target = w.known[arr], w.new(v.shape, v.dtype)
    where = w.known[indices]
    axis %= len(x.shape)
    spread = where.broadcast([n if k == axis else m for k, (n, m) in enumerate(zip(where.shape, x.shape, strict=True))])
    each(w, target.shape, lambda names: f"{target.at(names)} = {along_axis(x, spread, axis, names)}")
    return target


def written_into(w: Any, v: Value, function: Any, x: Value, indices: Value, values: Value, axis: int) -> Any:
    """``np.put_along_axis`` on a copy."""
    if function is not np.put_along_axis:
        raise RefusedError(name_of(function))
    target = w.copied(w.known[x], v.shape, v.dtype)
    where, new, axis = w.known[indices], w.operand(values), axis % len(v.shape)
    shape = [n if k == axis else m for k, (n, m) in enumerate(zip(where.shape, v.shape, strict=True))]
    spread, given = where.broadcast(shape), new.broadcast(tuple(shape))
    each(w, tuple(shape), lambda names: f"{along_axis(target, spread, axis, names)} = {given.at(names)}")
    return target


# ---------------------------------------------------------------- other calls


def casted(w: Any, v: Value, x: Any, dtype: Any, order: Any = None, casting: Any = None) -> Any:
    """To another dtype: towards zero, if it is one of whole numbers."""
    formula = "Math.trunc({})" if v.dtype.kind in "iu" else "({} ? 1 : 0)" if v.dtype.kind == "b" else "{}"
    return w.elementwise(v, formula, [w.operand(x)])


def copied(w: Any, v: Value, a: Value, *more: Any, **options: Any) -> Any:
    """Nothing is written twice, so a copy may be the same memory."""
    return w.known[a]


def clipped(w: Any, v: Value, a: Value, a_min: Any = None, a_max: Any = None, **more: Any) -> Any:
    """np.clip, with either end missing."""
    ends = more.get("min", a_min), more.get("max", a_max)
    return w.elementwise(v, "clip({}, {}, {})", [w.operand(x) for x in (a, *ends)])


def rounded(w: Any, v: Value, a: Value, decimals: int = 0, **more: Any) -> Any:
    """Halves to even."""
    return w.elementwise(v, f"roundTo({{}}, {decimals})", [w.known[a]])


def solve(w: Any, v: Value, a: Value, b: Value) -> Any:
    """Systems, one after another, by elimination with pivots."""
    n, column = a.shape[-1], len(b.shape) == 1
    batch, m = (v.shape[:-1], 1) if column else (v.shape[:-2], v.shape[-1])
    target = w.new(v.shape, v.dtype)
    left = w.copied(w.known[a], (*batch, n, n), v.dtype)
    right = w.copied(w.known[b], v.shape, v.dtype)
    pieces = [f"{r.buffer}.subarray(k * {size}, (k + 1) * {size})" for r, size in ((left, n * n), (right, n * m))]
    put = f"{target.buffer}.set(solve({', '.join(pieces)}, {n}, {m}), k * {n * m})"
    w.lines.append(f"for (let k = 0; k < {int(np.prod(batch))}; k++) {put};")
    return target


CALLS: dict[Any, Call] = {
    np.einsum: einsum, np.matmul: lambda w, v, x, y: w.write_product(v, w.known[x], w.known[y]),
    np.cumsum: running("0", "+"), np.cumprod: running("1", "*"), np.sort: ordered("a[p[j]]"),
    np.argsort: ordered("p[j]"),
    np.take_along_axis: take_along_axis, update_at: updated_at, cast: casted, np.copy: copied, np.ndarray.copy: copied,
    np.clip: clipped, np.round: rounded, np.linalg.solve: solve,
}  # fmt: skip
AT_RUN: dict[Any, Call] = {operator.getitem: get_items, set_items: items_set, write_into_copy: written_into}
