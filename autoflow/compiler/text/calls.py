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
from .places import FAR, Number, Ref
from .writer import RefusedError, name_of

Call = Callable[..., Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"

# ---------------------------------------------------------------- products


def einsum(w: Any, v: Value, subscripts: Any, *operands: Value, **options: Any) -> Ref:
    """Any products of arrays, in one nest of loops."""
    if not isinstance(subscripts, str):
        raise RefusedError("np.einsum without subscripts")
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if not arrow:
        out = "..." * ("..." in left) + once("".join(sorted(left.replace(",", "").replace(".", ""))))
    free = [a for a in LETTERS if a not in subscripts]
    most = max([len(x.shape) - len(p.replace("...", "")) for p, x in zip(parts, operands, strict=True)])
    dots = free[:most]

    def whole(part: str, ndim: int) -> str:
        n = ndim - len(part.replace("...", ""))
        return part.replace("...", "".join(dots[len(dots) - n :]))

    given = [(w.known[x], whole(p, len(x.shape))) for p, x in zip(parts, operands, strict=True)]
    ref: Ref = w.contracted(v, given, whole(out, len(v.shape)))
    return ref


def dot(w: Any, v: Value, a: Value, b: Value) -> Ref:
    """The last axis of a with the last but one of b."""
    x, y = LETTERS[: len(a.shape)], LETTERS[len(a.shape) : len(a.shape) + len(b.shape)]
    if x and y:
        y = y[:-2] + x[-1] + y[-1:] if len(y) > 1 else x[-1]
    ref: Ref = w.contracted(v, [(w.known[a], x), (w.known[b], y)], once(x + y))
    return ref


def tensordot(w: Any, v: Value, a: Value, b: Value, axes: Any = 2) -> Ref:
    """Sums over several axes."""
    n, m = len(a.shape), len(b.shape)
    one, other = (range(n - axes, n), range(axes)) if isinstance(axes, int) else axes
    pairs = zip(*[[k] if isinstance(k, int) else k for k in (one, other)], strict=True)
    x, y = [*LETTERS[:n]], [*LETTERS[n : n + m]]
    for k, j in pairs:
        y[j] = x[k]
    left, right = "".join(x), "".join(y)
    ref: Ref = w.contracted(v, [(w.known[a], left), (w.known[b], right)], once(left + right))
    return ref


def once(letters: str) -> str:
    """Those that stand in it once."""
    return "".join([c for c in letters if letters.count(c) == 1])


def inner(w: Any, v: Value, a: Value, b: Value) -> Ref:
    """The last axis of both."""
    return tensordot(w, v, a, b, (-1, -1) if a.shape and b.shape else 0)


def vdot(w: Any, v: Value, a: Value, b: Value) -> Ref:
    """Of flat arrays, one number."""
    x, y = w.straight(a), w.straight(b)
    ref: Ref = w.contracted(v, [(x.reshape([x.size]), "a"), (y.reshape([y.size]), "a")], "")
    return ref


def outer(w: Any, v: Value, a: Value, b: Value) -> Ref:
    """Of flat arrays."""
    x, y = w.straight(a), w.straight(b)
    ref: Ref = w.contracted(v, [(x.reshape([x.size]), "a"), (y.reshape([y.size]), "b")], "ab")
    return ref


# ---------------------------------------------------------------- sums


class Shaped:
    """What stands for a value that the program does not have: a step on the way."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)


def axes_in(axis: Any, x: Value) -> list[int]:
    """The axes of a reduction."""
    every = range(len(x.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    return [a % len(x.shape) for a in every]


def var(w: Any, v: Value, a: Value, axis: Any = None, dtype: Any = None, ddof: float = 0, **more: Any) -> Ref:
    """The mean square of what is left without the mean."""
    axes, x = axes_in(axis, a), w.known[a]
    n = int(np.prod([a.shape[k] for k in axes]))
    one = Shaped([1 if k in axes else m for k, m in enumerate(a.shape)], v.dtype)
    mean = w.elementwise(one, f"({{}} / {n})", [w.reduced(one, np.add, x, axes).reshape(one.shape)])
    rest = w.elementwise(Shaped(a.shape, v.dtype), "({} - {})", [x, mean])
    total = w.reduced(Shaped(v.shape, v.dtype), np.add, rest, axes, "{0} * {0}")
    ref: Ref = w.elementwise(v, f"({{}} / {n - ddof})", [total])
    return ref


def std(w: Any, v: Value, *args: Any, **options: Any) -> Ref:
    """Its root."""
    ref: Ref = w.elementwise(v, "Math.sqrt({})", [var(w, v, *args, **options)])
    return ref


def norm(w: Any, v: Value, x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Ref:
    """The root of the sum of squares."""
    axes = axes_in(axis, x)
    if ord not in (None, "fro") and not (ord == 2 and len(axes) == 1):
        raise RefusedError(f"np.linalg.norm with ord={ord}")
    total = w.reduced(Shaped(v.shape, v.dtype), np.add, w.known[x], axes, "{0} * {0}")
    ref: Ref = w.elementwise(v, "Math.sqrt({})", [total])
    return ref


# ---------------------------------------------------------------- along one axis


def along(w: Any, v: Value, a: Value, axis: Any, body: Callable[[str, str, str], str]) -> Ref:
    """``body`` for each row of numbers along one axis: from one element, to one element, how many there are."""
    x = w.known[a]
    axis = axis % len(a.shape) if a.shape else 0
    target: Ref = w.new(v.shape, v.dtype)
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

    def call(w: Any, v: Value, a: Value, axis: Any = None, dtype: Any = None, **more: Any) -> Ref:
        """All sums so far."""
        a, axis = flat_if_none(w, a, axis)
        return along(
            w, v, a, axis, lambda x, to, n: f"let s = {start}; for (let j = 0; j < {n}; j++) {to} = s {sign}= {x};"
        )

    return call


def ordered(result: str) -> Call:
    """np.sort, np.argsort: by numbers, NaN last, equal ones in their old order."""

    def call(w: Any, v: Value, a: Value, axis: Any = -1, kind: Any = None, order: Any = None, **more: Any) -> Ref:
        """Of each row."""
        a, axis = flat_if_none(w, a, axis)
        push = "const a = []; for (let j = 0; j < {n}; j++) a.push({x}); const p = sorted(a);"
        body = push + " for (let j = 0; j < {n}; j++) {to} = {r};"
        return along(w, v, a, axis, lambda x, to, n: body.format(n=n, x=x, to=to, r=result))

    return call


def first_of(sign: str) -> Call:
    """np.argmax, np.argmin."""

    def call(w: Any, v: Value, a: Value, axis: Any = None, **more: Any) -> Ref:
        """The place of the first; of a NaN, if there is one."""
        a, axis = flat_if_none(w, a, axis)
        better = "if (j === 0 || x {sign} m || (x !== x && m === m)) {{ p = j; m = x; }}"
        body = "let p = 0, m = NaN; for (let j = 0; j < {n}; j++) {{ const x = {x}; " + better + " }} {at} = p;"
        return along(w, v, a, axis, lambda x, to, n: body.format(n=n, x=x, at=to.replace("j", "0"), sign=sign))

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


def get_items(w: Any, v: Value, x: Value, index: Any) -> Ref:
    """``x[index]``."""
    target: Ref = w.new(v.shape, v.dtype)
    shape, address = places(w, w.known[x], index)
    each(w, shape, lambda names: f"{target.at(names)} = {address(names)}")
    return target


def items_set(w: Any, v: Value, x: Value, index: Any, new: Any, sign: str = "=") -> Ref:
    """``x[index] = new`` on a copy; in order, so that the last counts."""
    target: Ref = w.copied(w.known[x], v.shape, v.dtype)
    shape, address = places(w, target, index)
    source = w.operand(new)
    each(w, shape, lambda names: f"{address(names)} {sign} {source.broadcast(shape).at(names)}")
    return target


def updated_at(w: Any, v: Value, ufunc: Any, x: Value, index: Any, *rest: Any) -> Ref:
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
    target: Ref = w.copied(w.known[x], v.shape, v.dtype)
    address = target.addresses(0.0)[tuple(known)]
    to, source = w.table(address), w.operand(rest[0])
    wide = source.broadcast(address.shape)
    given = wide.text if isinstance(wide, Number) else f"{wide.buffer}[{w.table(wide.addresses(0.0))}[k]]"
    w.lines.append(f"for (let k = 0; k < {address.size}; k++) {target.buffer}[{to}[k]] {signs[ufunc]} {given};")
    return target


def along_axis(x: Any, indices: Any, axis: int, names: list[str]) -> str:
    """The element of x whose place along one axis is in another array."""
    place = indices.at(names)
    steps = [
        f"({place} + ({place} < 0) * {n})" if k == axis else i
        for k, (i, n) in enumerate(zip(names, x.shape, strict=True))
    ]
    text: str = x.at(steps)
    return text


def take_along_axis(w: Any, v: Value, arr: Value, indices: Value, axis: Any = -1) -> Ref:
    """By places along one axis."""
    arr, axis = flat_if_none(w, arr, axis)
    x, target = w.known[arr], w.new(v.shape, v.dtype)
    where = w.known[indices]
    axis %= len(x.shape)
    spread = where.broadcast([n if k == axis else m for k, (n, m) in enumerate(zip(where.shape, x.shape, strict=True))])
    each(w, target.shape, lambda names: f"{target.at(names)} = {along_axis(x, spread, axis, names)}")
    ref: Ref = target
    return ref


def written_into(w: Any, v: Value, function: Any, x: Value, indices: Value, values: Value, axis: int) -> Ref:
    """``np.put_along_axis`` on a copy."""
    if function is not np.put_along_axis:
        raise RefusedError(name_of(function))
    target: Ref = w.copied(w.known[x], v.shape, v.dtype)
    where, new, axis = w.known[indices], w.operand(values), axis % len(v.shape)
    shape = [n if k == axis else m for k, (n, m) in enumerate(zip(where.shape, v.shape, strict=True))]
    spread, given = where.broadcast(shape), new.broadcast(tuple(shape))
    each(w, tuple(shape), lambda names: f"{along_axis(target, spread, axis, names)} = {given.at(names)}")
    return target


# ---------------------------------------------------------------- other calls


def casted(w: Any, v: Value, x: Any, dtype: Any, order: Any = None, casting: Any = None) -> Ref:
    """To another dtype: towards zero, if it is one of whole numbers."""
    formula = "Math.trunc({})" if v.dtype.kind in "iu" else "({} ? 1 : 0)" if v.dtype.kind == "b" else "{}"
    ref: Ref = w.elementwise(v, formula, [w.operand(x)])
    return ref


def copied(w: Any, v: Value, a: Value, *more: Any, **options: Any) -> Any:
    """Nothing is written twice, so a copy may be the same memory."""
    return w.known[a]


def clipped(w: Any, v: Value, a: Value, a_min: Any = None, a_max: Any = None, **more: Any) -> Ref:
    """np.clip, with either end missing."""
    ends = more.get("min", a_min), more.get("max", a_max)
    ref: Ref = w.elementwise(v, "clip({}, {}, {})", [w.operand(x) for x in (a, *ends)])
    return ref


def rounded(w: Any, v: Value, a: Value, decimals: int = 0, **more: Any) -> Ref:
    """Halves to even."""
    ref: Ref = w.elementwise(v, f"roundTo({{}}, {decimals})", [w.known[a]])
    return ref


def replaced(
    w: Any, v: Value, x: Value, copy: Any = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Ref:
    """np.nan_to_num."""
    ends = ["undefined" if end is None else repr(float(end)) for end in (posinf, neginf)]
    ref: Ref = w.elementwise(v, f"finite({{}}, {float(nan)!r}, {', '.join(ends)})", [w.known[x]])
    return ref


def trace(w: Any, v: Value, a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, *more: Any) -> Ref:
    """The sum of a diagonal."""
    x = w.known[a]
    diagonal = w.gathered(np.diagonal(x.addresses(FAR), offset, axis1, axis2), {x.buffer: FAR}, a.dtype)
    ref: Ref = w.reduced(v, np.add, diagonal, [len(diagonal.shape) - 1])
    return ref


def take(w: Any, v: Value, a: Value, indices: Value, axis: Any = None, **more: Any) -> Ref:
    """By whole numbers along one axis."""
    a, axis = flat_if_none(w, a, axis)
    x, where, axis = w.known[a], w.operand(indices), axis % len(a.shape)
    target: Ref = w.new(v.shape, v.dtype)
    end = axis + len(where.shape)

    def element(names: list[str]) -> str:
        place = where.at(names[axis:end])
        text: str = x.at([*names[:axis], f"({place} + ({place} < 0) * {x.shape[axis]})", *names[end:]])
        return text

    each(w, target.shape, lambda names: f"{target.at(names)} = {element(names)}")
    return target


def solve(w: Any, v: Value, a: Value, b: Value | None = None) -> Ref:
    """Systems, by elimination with pivots."""
    n, batch = a.shape[-1], a.shape[:-2]
    column = b is not None and len(b.shape) == 1
    if (
        b is not None
        and (b.shape[:-1] if column else b.shape[:-2]) != ((n,) if column else batch)
        and not (column and not batch)
    ):
        raise RefusedError("np.linalg.solve of systems that are repeated")
    left, target = w.straight(a), w.new(v.shape, v.dtype)
    eye = np.broadcast_to(np.eye(n), a.shape)
    right = w.straight(b) if b is not None else w.constant(eye)
    m = 1 if column else v.shape[-1]
    part = "{0}.subarray({1} + k * {2}, {1} + k * {2} + {2})"
    pieces = [part.format(r.buffer, r.offset, size) for r, size in ((left, n * n), (right, n * m))]
    put = f"{target.buffer}.set(solve({', '.join(pieces)}, {n}, {m}), k * {n * m})"
    w.lines.append(f"for (let k = 0; k < {int(np.prod(batch))}; k++) {put};")
    ref: Ref = target
    return ref


PAIRS = {
    getattr(np, name): letters
    for name, letters in {
        "vecdot": "...a,...a->...",
        "matvec": "...ab,...b->...a",
        "vecmat": "...a,...ab->...b",
    }.items()
    if hasattr(np, name)  # NumPy 2.2
}
CALLS: dict[Any, Call] = {
    np.einsum: einsum, np.dot: dot, np.matmul: lambda w, v, x, y: w.write_product(v, w.known[x], w.known[y]),
    np.tensordot: tensordot, np.inner: inner, np.outer: outer, np.vdot: vdot, np.var: var, np.std: std,
    np.linalg.norm: norm, np.cumsum: running("0", "+"), np.cumprod: running("1", "*"), np.sort: ordered("a[p[j]]"),
    np.argsort: ordered("p[j]"), np.argmax: first_of(">"), np.argmin: first_of("<"), update_at: updated_at,
    np.take_along_axis: take_along_axis, cast: casted,
    np.copy: copied, np.ndarray.copy: copied, np.clip: clipped, np.round: rounded, np.linalg.solve: solve,
    np.linalg.inv: solve, np.nan_to_num: replaced, np.trace: trace,
    **{f: lambda w, v, x, y, letters=letters: einsum(w, v, letters, x, y) for f, letters in PAIRS.items()},
}  # fmt: skip
AT_RUN: dict[Any, Call] = {
    operator.getitem: get_items,
    set_items: items_set,
    write_into_copy: written_into,
    np.take: take,
}
