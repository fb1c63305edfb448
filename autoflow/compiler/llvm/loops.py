"""One loop: all elementwise values of one shape that can run together, and the reductions that end them.

    z = np.tanh(x * w + b); loss = (z * z).sum()

is one loop over the elements. Its body reads x, w and b, computes, keeps z in a register (and writes it only if it is
needed elsewhere), and adds z² to a sum. The body is written twice: for vectors of eight numbers, and for the numbers
that are left over.

First, where values lie. A view needs no code: it is another offset and other strides of the same memory. NumPy says
which: the views of the program are taken once from arrays that lie as the real ones will, and their addresses and
strides are read off.

Then the text of a loop. Axes are joined where memory allows: a matrix without gaps is a row. The innermost axis is the
one along which most operands are contiguous. A sum along it stays in a register; one across it is added up in memory.
The sums of many short rows are added in a register, too, 1,024 of them at a time. Long rows are summed in blocks of
1,024, then those sums by 64, and then those: like NumPy's pairwise summation, that keeps rounding errors small.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from ..matching import VIEW, Array, Value
from ..program import axes_of
from ..run.buffers import shape_buffer
from .functions import CODES, LANES, IRText, Lanes, constant, number, type_of
from .words import Element, Reduction, cast, is_number, number_in

# ---------------------------------------------------------------- where values lie: offsets and strides


@dataclass(frozen=True)
class Access:
    """Memory as a loop sees it: the array it belongs to, the first byte, the stride of each axis, the type."""

    base: Value
    offset: int
    strides: tuple[int, ...]
    type: str
    size: int  # bytes of a number


class Places:
    """The memory of the values of one stretch."""

    def __init__(self, inside: Container[Value]) -> None:
        """``inside``: the values that loops compute."""
        self.inside = inside
        self.dummies: dict[Value, Array] = {}  # an array that lies as the value will
        self.bases: dict[Value, Value] = {}  # in whose memory

    def base_of(self, v: Value) -> Value:
        """The value whose memory ``v`` uses: the one that it is a view of."""
        self.dummy(v)
        return self.bases[v]

    def dummy(self, v: Value) -> Array:
        """An array that lies as ``v`` will: our own result in its order of axes, an array from outside in C order
        (native.py sees to that), a view as a view."""
        if v not in self.dummies:
            view = self.view(v) if v.kind == VIEW and v not in self.inside else None
            if view is not None:
                self.bases[v], self.dummies[v] = self.bases[v.args[0]], view
            else:
                self.bases[v] = v
                layout = v.layout if v in self.inside else None
                self.dummies[v] = shape_buffer(np.empty(math.prod(v.shape), v.dtype), v.shape, layout)
        return self.dummies[v]

    def view(self, v: Value) -> Array | None:
        """The view, taken of the dummy of its operand; None if NumPy has to copy for it."""
        view, base = v.function(self.dummy(v.args[0])), self.dummies[self.base_of(v.args[0])]
        return view if view.dtype == v.dtype and np.may_share_memory(view, base) else None

    def lay(self, v: Value, array: Array, base: Value) -> None:
        """``v`` is to lie where this array does, in the memory of ``base``."""
        self.dummies[v], self.bases[v] = array, base

    def access(self, v: Value, shape: tuple[int, ...], kind: str) -> Access:
        """``v`` as a loop over ``shape``, to which it broadcasts, sees it."""
        return self.of(v, np.broadcast_to(self.dummy(v), shape), kind)

    def reduced(self, v: Value, kind: str) -> Access:
        """The result of a reduction, as a loop over the shape of its operand sees it."""
        axis, keepdims = v.options
        shape, dummy = v.args[0].shape, self.dummy(v)
        axes = axes_of(axis, len(shape))
        if not keepdims:
            dummy = np.expand_dims(dummy, axes)
        return self.of(v, np.broadcast_to(dummy, shape), kind)

    def of(self, v: Value, array: Array, kind: str) -> Access:
        """Where ``array`` lies in the memory of v's base."""
        base = self.base_of(v)
        offset = address(array) - address(self.dummies[base])
        strides = tuple([s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)])
        return Access(base, offset, strides, kind, array.itemsize)


def address(array: Array) -> int:
    """The address of its first number."""
    return int(array.__array_interface__["data"][0])


# ---------------------------------------------------------------- the text of a loop


SHORT = 256  # numbers; the remainder of longer rows is too short for a third text
BLOCK = 1024  # numbers that are summed one after the other
MANY = 64  # rows whose sums are added in a register, by blocks, and not one by one in memory
GROUP = 64 * BLOCK  # their sums in groups of 64: of 10⁷ numbers no partial sum takes part in more than 350 additions
Indices = list[tuple[str, int]]  # names of indices, and the axis that each goes along

Names = dict[Value, str]


class LoopText:
    """The text of a loop; ``accesses`` are the pointers that it is called with, in their order."""

    def __init__(
        self, shape: tuple[int, ...], formulas: dict[Value, Element], reductions: dict[Value, Reduction],
        stored: set[Value], places: Places,
    ) -> None:  # fmt: skip
        self.formulas, self.reductions, self.shape = formulas, reductions, shape
        self.where: dict[Access, int] = {}
        self.reads: dict[Value, int] = {}  # of operands that are not computed here
        for x in [*[x for f in formulas.values() for x in f.operands], *[v.args[0] for v in reductions]]:
            if not is_number(x) and x not in formulas:
                self.reads[x] = self.note(places.access(x, shape, CODES[x.dtype]))
        self.writes = {v: self.note(places.access(v, shape, f.result)) for v, f in formulas.items() if v in stored}
        self.sums = {v: self.note(places.reduced(v, r.type)) for v, r in reductions.items()}
        self.accesses = [*self.where]
        self.dims, self.strides = self.merge_axes()
        self.direct = {v for v in reductions if self.is_direct(v)}

    def note(self, a: Access) -> int:
        """The number of the pointer."""
        return self.where.setdefault(a, len(self.where))

    # -- axes

    def merge_axes(self) -> tuple[list[int], list[list[int]]]:
        """The lengths of the axes that are left, and for each access its strides: the innermost axis last."""
        axes = [k for k, n in enumerate(self.shape) if n > 1]
        if axes:
            beside = [sum([a.strides[k] == a.size for a in self.accesses]) for k in axes]
            inner = max(zip(beside, axes, strict=True))[1]
            axes = [k for k in axes if k != inner] + [inner]
        dims: list[int] = []
        columns: list[list[int]] = []  # for each axis the strides of all accesses
        for k in axes:
            n, strides = self.shape[k], [a.strides[k] for a in self.accesses]
            if dims and columns[-1] == [s * n for s in strides]:
                dims[-1], columns[-1] = dims[-1] * n, strides
            else:
                dims.append(n)
                columns.append(strides)
        return dims, [[c[k] for c in columns] for k in range(len(self.accesses))]

    def is_direct(self, v: Value) -> bool:
        """Does the sum end with the innermost axis, so that it is stored and not added?"""
        strides = self.strides[self.sums[v]]
        return not self.is_cut and (not strides or (not strides[-1] and all(strides[:-1])))

    @property
    def is_cut(self) -> bool:
        """Are rows summed in blocks?"""
        return bool(self.dims) and self.dims[-1] > 4 * BLOCK and bool(self.along())

    @property
    def has_many_rows(self) -> bool:
        """Are short rows summed, and their sums added, so that it needs blocks of rows?"""
        many = len(self.dims) > 1 and self.dims[-2] > MANY and not self.is_cut
        return many and any([not self.strides[self.sums[v]][-2] for v in self.along()])

    # -- text

    def write(self, t: IRText) -> None:
        """The whole nest."""
        t.numbers = not self.dims
        loops = [t.begin_for(0, m, 1) for m in (self.dims[:-2] if self.has_many_rows else self.dims[:-1])]
        outer = [(loop.index, k) for k, loop in enumerate(loops)]
        n = self.dims[-1] if self.dims else 1
        if self.has_many_rows:
            self.write_groups(t, outer, self.dims[-2], BLOCK, 1, -2, n)
        elif self.is_cut:
            end = n // BLOCK * BLOCK
            self.write_groups(t, outer, end, GROUP, BLOCK, -1, BLOCK)
            if end < n:
                self.add_up(t, outer, self.write_row(t, outer, end, n))
        else:
            self.add_up(t, outer, self.write_row(t, outer, 0, n))
        for loop in reversed(loops):
            t.end_for(loop)

    def write_groups(self, t: IRText, outer: Indices, end: int, group: int, step: int, axis: int, n: int) -> None:
        """Blocks of n numbers, one every ``step`` along ``axis``: the sum of each ``group``, and of what is left."""
        whole = end // group * group
        if whole:
            loop = t.begin_for(0, whole, group)
            self.write_blocks(t, [*outer, (loop.index, axis)], range(0, group, step), axis, n)
            t.end_for(loop)
        if whole < end:
            self.write_blocks(t, outer, range(whole, end, step), axis, n)

    def write_blocks(self, t: IRText, outer: Indices, places: range, axis: int, n: int) -> None:
        """Some blocks of a row, or some rows: the sum of each, of n numbers, and of these the sum."""
        added = [v for v in self.along() if axis == -1 or not self.strides[self.sums[v]][axis]]
        kinds = {v: self.reductions[v].type for v in added}
        begin = [(kind, number(kind, self.reductions[v].identity)) for v, kind in kinds.items()]
        block = t.begin_for(places.start, places.stop, places.step, begin)
        inner = [*outer, (block.index, axis)]
        new = self.write_row(t, inner, 0, n)
        self.add_up(t, inner, {v: x for v, x in new.items() if v not in kinds})
        pairs = zip(kinds, block.values, strict=True)
        totals = [self.reductions[v].row(Lanes(t, 1, kinds[v]), old, new[v]) for v, old in pairs]
        t.end_for(block, totals)
        self.add_up(t, outer, dict(zip(kinds, totals, strict=True)))

    def along(self) -> list[Value]:
        """The reductions of the innermost axis."""
        return [v for v, k in self.sums.items() if not self.strides[k] or not self.strides[k][-1]]

    def add_up(self, t: IRText, outer: Indices, totals: Names) -> None:
        """Store the sums, or add them to what is there."""
        for v, total in totals.items():
            kind, p = self.reductions[v].type, self.row_pointer(t, self.sums[v], outer)
            if v not in self.direct:
                total = self.reductions[v].row(Lanes(t, 1, kind), load(t, kind, p, 1), total)
            store(t, kind, total, p, 1)

    def write_row(self, t: IRText, outer: Indices, start: int, end: int) -> Names:
        """The innermost axis from ``start`` to ``end``: vectors, then numbers. The sums along it."""
        rows = [self.row_pointer(t, k, outer) for k in range(len(self.accesses))]
        totals = {v: number(self.reductions[v].type, self.reductions[v].identity) for v in self.along()}
        middle = start + (end - start) // LANES * LANES if self.dims else start
        if middle > start:
            many = {v: constant(self.reductions[v].type, self.reductions[v].identity, LANES) for v in totals}
            many = self.write_rounds(t, rows, start, middle, LANES, many)
            totals = {v: fold_lanes(t, self.reductions[v], x) for v, x in many.items()}
        if LANES // 2 <= end - middle < LANES and end - start <= SHORT:
            totals = self.write_half(t, rows, middle, totals)
            middle += LANES // 2
        if end > middle:
            totals = self.write_rounds(t, rows, middle, end, 1, totals)
        return totals

    def write_half(self, t: IRText, rows: list[str], start: int, totals: Names) -> Names:
        """Half a vector of the remainder; sums add its numbers one after the other, as they add single ones."""
        w = LANES // 2
        none = {v: constant(self.reductions[v].type, self.reductions[v].identity, w) for v in totals}
        for v, many in self.write_body(t, rows, str(start), w, none).items():
            kind = self.reductions[v].type
            for k in range(w):
                one = t.let(f"extractelement {type_of(kind, w)} {many}, i32 {k}")
                totals[v] = self.reductions[v].row(Lanes(t, 1, kind), totals[v], one)
        return totals

    def row_pointer(self, t: IRText, k: int, outer: Indices) -> str:
        """Where the row begins, or the part of it at these indices."""
        return t.at(f"%p{k}", *[(i, self.strides[k][axis]) for i, axis in outer])

    def write_rounds(self, t: IRText, rows: list[str], start: int, end: int, w: int, totals: Names) -> Names:
        """The body, for as many rounds as there are (one: without a loop). The sums after it."""
        kinds = [type_of(self.reductions[v].type, w) for v in totals]
        if end - start == w:
            return self.write_body(t, rows, str(start), w, totals)
        loop = t.begin_for(start, end, w, [*zip(kinds, totals.values(), strict=True)])
        new = self.write_body(t, rows, loop.index, w, dict(zip(totals, loop.values, strict=True)))
        t.end_for(loop, [*new.values()])
        return new

    def write_body(self, t: IRText, rows: list[str], i: str, w: int, totals: Names) -> Names:
        """Read, compute, write; ``w`` numbers at a time."""
        names: Names = {}

        def pointer(k: int) -> tuple[str, int]:
            stride = self.strides[k][-1] if self.strides[k] else 0
            return t.at(rows[k], (i, stride)), stride

        def read(x: Value, kind: str) -> str:
            if is_number(x):
                return constant(kind, number_in(x), w)
            old = self.formulas[x].result if x in self.formulas else CODES[x.dtype]
            if x not in names:
                names[x] = load_many(t, old, *pointer(self.reads[x]), w)
            return cast(t, names[x], old, kind, w)

        for v, f in self.formulas.items():
            # a row computes in the type of its last operand: of np.where that of the values, not of the condition
            operands = [read(x, kind) for x, kind in zip(f.operands, f.types, strict=True)]
            names[v] = f.row(Lanes(t, w, f.types[-1]), *operands)
            if v in self.writes:
                store_many(t, f.result, names[v], *pointer(self.writes[v]), w)
        new: Names = {}
        for v, r in self.reductions.items():
            x = read(v.args[0], r.type)
            if v in totals:
                new[v] = r.row(Lanes(t, w, r.type), totals[v], x)
            else:
                p = pointer(self.sums[v])
                store_many(t, r.type, r.row(Lanes(t, w, r.type), load_many(t, r.type, *p, w), x), *p, w)
        return {v: new[v] for v in totals}


SIZES = {"double": 8, "float": 4, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


def load(t: IRText, kind: str, p: str, w: int) -> str:
    """w contiguous numbers. (Booleans are bytes in memory.)"""
    if kind != "i1":
        return t.let(f"load {type_of(kind, w)}, ptr {p}, align 1")
    return t.let(f"icmp ne {type_of('i8', w)} {load(t, 'i8', p, w)}, {constant('i8', 0, w)}")


def store(t: IRText, kind: str, x: str, p: str, w: int) -> None:
    """The opposite."""
    if kind == "i1":
        kind, x = "i8", t.let(f"zext {type_of('i1', w)} {x} to {type_of('i8', w)}")
    t.say(f"store {type_of(kind, w)} {x}, ptr {p}, align 1")


def load_many(t: IRText, kind: str, p: str, stride: int, w: int) -> str:
    """w numbers at any distance."""
    if w == 1 or stride == SIZES[kind]:
        return load(t, kind, p, w)
    if not stride:
        return t.splat(kind, load(t, kind, p, 1), w)
    vector = "poison"
    for k in range(w):
        x = load(t, kind, t.let(f"getelementptr i8, ptr {p}, i64 {k * stride}"), 1)
        vector = t.let(f"insertelement {type_of(kind, w)} {vector}, {kind} {x}, i32 {k}")
    return vector


def store_many(t: IRText, kind: str, x: str, p: str, stride: int, w: int) -> None:
    """The opposite."""
    if w == 1 or stride == SIZES[kind]:
        store(t, kind, x, p, w)
        return
    for k in range(w):
        one = t.let(f"extractelement {type_of(kind, w)} {x}, i32 {k}")
        store(t, kind, one, t.let(f"getelementptr i8, ptr {p}, i64 {k * stride}"), 1)


def fold_lanes(t: IRText, r: Reduction, x: str) -> str:
    """The lanes of a vector as one number: halves are added, until two numbers are left."""
    w = LANES
    while w > 2:
        kind, halves = type_of(r.type, w), []
        for start in (0, w // 2):
            lanes = ", ".join([f"i32 {start + k}" for k in range(w // 2)])
            halves.append(t.let(f"shufflevector {kind} {x}, {kind} poison, <{w // 2} x i32> <{lanes}>"))
        w //= 2
        x = r.row(Lanes(t, w, r.type), *halves)
    pair = [t.let(f"extractelement {type_of(r.type, 2)} {x}, i32 {k}") for k in range(2)]
    return r.row(Lanes(t, 1, r.type), *pair)
