"""From the values of a stretch to loops in an order, and memory for what passes from one to the next.

Products of small matrices are written out: z[i, j] = Σ x[i, k] y[k, j], kept in registers for some rows and eight
columns at a time. Large ones are NumPy's: its matrix library knows the caches. Small ones are quicker here, because a
call of NumPy alone takes as long as 10,000 multiplications. Rows of y must lie side by side; where they do not
(x @ y.T), y is copied before, once for all products that read it.

Words of the schedule:

level    how many loops must have ended before a value can be computed; values of one level and shape share a loop
stored   values that are read outside their loop; the others stay in registers
kernels  loops with equal text are one function, called with other pointers: a recurrent network of 100 steps is
         406 calls of 8 functions
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..matching import CALL, PRODUCT, STACK, UFUNC, Value, behind_views
from ..program import new_value
from .engine import has_fma
from .functions import Numbers, Text, is_float
from .loops import Access, LoopText, Places, load, store
from .words import Formula, code, formula_of, is_number, reduction_of, written_at

# ---------------------------------------------------------------- products of small matrices

MOST = 70_000  # multiplications that are written out
ROWS = 4  # rows at a time: each number of y that is read is used for all of them


def is_small_product(v: Value) -> bool:
    """Is it a product that is written out?"""
    if v.kind != PRODUCT or not math.prod(v.shape) or not v.args[0].shape[1]:
        return False
    kinds = {code(x.dtype) for x in (*v.args, v)}
    flops = math.prod(v.shape) * v.args[0].shape[1]
    return len(kinds) == 1 and is_float(kinds.pop() or "i") and flops <= MOST and has_fma()


class ProductText:
    """The text of a product of these shapes and strides."""

    def __init__(self, x: Access, y: Access, z: Access, shape: tuple[int, int, int]) -> None:
        self.accesses = [x, y, z]
        self.shape, self.type = shape, z.type

    def write(self, t: Text) -> None:
        """Blocks of rows and of columns."""
        n, _, p = self.shape
        whole = n // ROWS * ROWS
        for first, last, rows in ((0, whole, ROWS), (whole, n, 1)):
            if first == last:
                continue
            i = t.begin_for(first, last, rows)
            start = 0
            for w in (16, 8, 4, 2, 1):
                end = start + (p - start) // w * w
                if end > start:
                    j = t.begin_for(start, end, w)
                    self.write_block(t, i.index, j.index, rows, w)
                    t.end_for(j)
                start = end
            t.end_for(i)

    def write_block(self, t: Text, i: str, j: str, rows: int, w: int) -> None:
        """``rows`` rows and ``w`` columns of z."""
        x, y, z = self.accesses
        m = Numbers(t, w, self.type)
        left = t.at("%p0", (i, x.strides[0]))
        right = t.at("%p1", (j, y.strides[1]))
        k = t.begin_for(0, self.shape[1], 1, [(m.kind, m.c(0.0))] * rows)
        b = load(t, self.type, t.at(right, (k.index, y.strides[0])), w)
        column, totals = t.at(left, (k.index, x.strides[1])), []
        for r, total in enumerate(k.values):
            a = load(t, self.type, t.let(f"getelementptr i8, ptr {column}, i64 {r * x.strides[0]}"), 1)
            totals.append(m.fma(t.splat(self.type, a, w), b, total))
        t.end_for(k, totals)
        target = t.at("%p2", (i, z.strides[0]), (j, z.strides[1]))
        for r, total in enumerate(totals):
            store(t, self.type, total, t.let(f"getelementptr i8, ptr {target}, i64 {r * z.strides[0]}"), w)


# ---------------------------------------------------------------- the schedule: which loops, in which order


PIECE = 100  # values of one loop; of a long function making machine code takes too long
MANY = 30  # pointers; more are passed as a list of them
ALIGNED = 64  # bytes: a line of the cache


def has_loop(v: Value) -> bool:
    """Can loops compute it?"""
    if v.kind == STACK:
        return bool(math.prod(v.shape)) and code(v.dtype) is not None and all([x.dtype == v.dtype for x in v.args])
    known = formula_of(v) is not None or reduction_of(v) is not None
    return known or is_small_product(v) or written_at(v) is not None


class Schedule:
    """The loops of some values: ``calls`` are (number of the kernel, accesses), ``kernels`` the texts."""

    def __init__(self, members: list[Value], results: Iterable[Value], own_functions: bool = False) -> None:
        self.own_functions = own_functions  # also in programs of numbers
        self.members, self.results = members, list(results)
        self.places = Places({*members})
        self.formulas: dict[Value, Formula] = {}
        self.level: dict[Value, int] = {}
        self.groups: dict[tuple[Any, ...], list[Value]] = {}
        self.sizes: dict[tuple[int, tuple[int, ...]], int] = {}  # values of a level and shape, until now
        self.turned: dict[Access, Value] = {}  # matrices whose rows were not side by side, and their copies
        self.kernels: dict[str, int] = {}
        self.texts: list[Text] = []
        self.calls: list[tuple[int, list[Access], str]] = []
        self.counts: dict[tuple[str, tuple[int, ...]], int] = {}  # what a loop computes, its shape -> how often
        self.order: list[tuple[str, tuple[int, ...]]] = []  # the same of each call
        inside = set(members)
        for v in members:
            self.find_level(v, inside)
        self.stored = self.find_stored(inside)
        self.place_stacks(inside)
        for key in sorted(self.groups, key=lambda key: (key[0], min([v.number for v in self.groups[key]]))):
            self.add_group(key, self.groups[key])

    # -- when

    def find_level(self, v: Value, inside: set[Value]) -> None:
        """The level of a value, and so its group."""
        formula = formula_of(v)
        shape = v.shape
        if formula is not None:
            self.formulas[v] = formula
        elif reduction_of(v) is not None:
            shape = v.args[0].shape
        together = formula is not None or reduction_of(v) is not None
        level = 0
        for x in formula.operands if formula is not None else v.args:
            base = behind_views(x, inside)
            if base in inside:
                same = together and base is x and x in self.formulas and x.shape == shape
                level = max(level, self.level[base] + (not same))
        self.level[v] = level
        key: tuple[Any, ...] = (level, v.kind, v.number)
        if together:
            count = self.sizes[level, shape] = self.sizes.get((level, shape), -1) + 1
            key = (level, "loop", shape, count // PIECE)
        self.groups.setdefault(key, []).append(v)

    def find_stored(self, inside: set[Value]) -> set[Value]:
        """Values that are read outside of their loop, or returned."""
        group = {v: key for key, values in self.groups.items() for v in values}
        stored = set(self.results)
        for v in self.members:
            for x in self.formulas[v].operands if v in self.formulas else v.args:
                base = behind_views(x, inside)
                if base is not x or group.get(x) != group[v]:
                    stored.add(base)
        return stored & inside

    def place_stacks(self, inside: set[Value]) -> None:
        """Compute values directly into the rows of a stack, if they are not returned."""
        for v in self.members:
            for k, x in enumerate(v.args if v.kind == STACK else ()):
                fine = x in inside and x not in self.places.bases and x not in self.results and x.kind != STACK
                if fine and x.layout is None:
                    self.places.put(x, v, k)
                    self.stored.add(x)

    # -- what

    def add_group(self, key: tuple[Any, ...], values: list[Value]) -> None:
        """The calls of a group."""
        if key[1] == STACK:
            self.add_stack(values[0])
        elif key[1] == PRODUCT:
            self.add_product(values[0])
        elif key[1] == CALL:
            self.add_write(values[0])
        else:
            self.add_loop(key[2], sorted(values, key=lambda v: v.number))

    def add_loop(self, shape: tuple[int, ...], values: list[Value]) -> None:
        """Elementwise values and reductions."""
        formulas = {v: self.formulas[v] for v in values if v in self.formulas}
        reductions = {v: r for v in values if v not in formulas and (r := reduction_of(v)) is not None}
        loop = LoopText(shape, formulas, reductions, self.stored, self.places)
        for v, r in reductions.items():
            if v not in loop.direct:
                self.add_copy(r.identity, v, "fill")
        names = [v.name for v in values]
        what = " ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        self.add_call(loop, what, shape)

    def add_product(self, v: Value) -> None:
        """A small product; of a y whose rows are not side by side a copy first."""
        (n, m), p = v.args[0].shape, v.shape[1]
        kind = code(v.dtype) or ""
        x, y = [self.places.access(a, a.shape, kind) for a in v.args]
        z = self.places.access(v, v.shape, kind)
        if p > 1 and y.strides[1] != y.size:
            if y not in self.turned:
                self.turned[y] = copy = new_value(UFUNC, None, (v.args[1],), (), (m, p), v.number)
                self.add_copy(v.args[1], copy)
            y = self.places.access(self.turned[y], (m, p), kind)
        self.add_call(ProductText(x, y, z, (n, m, p)), "matmul", (n, m, p))

    def add_stack(self, v: Value) -> None:
        """The rows that were not computed in place."""
        for k, x in enumerate(v.args):
            if self.places.bases.get(x) is not v:
                row = new_value(UFUNC, None, (x,), (), x.shape, v.number)
                self.places.put(row, v, k)
                self.add_copy(x, row)

    def add_write(self, v: Value) -> None:
        """A copy, and then another one into a part of it."""
        x, index, y = written_at(v) or (None, None, None)
        self.add_copy(x, v)
        whole = self.places.dummy(v)
        part = new_value(UFUNC, None, (v,), (), whole[index].shape, v.number)
        self.places.lay(part, whole[index], self.places.base_of(v))
        self.add_copy(y, part)

    def add_copy(self, x: Any, copy: Value, what: str = "copy") -> None:
        """A loop that copies a value, or writes a number everywhere."""
        kind = code(copy.dtype if is_number(x) else x.dtype) or ""
        formula = Formula(lambda m, x: x, (x,), (kind,), kind)
        self.add_call(LoopText(copy.shape, {copy: formula}, {}, {copy}, self.places), what, copy.shape)

    def add_call(self, loop: Any, what: str, shape: tuple[int, ...]) -> None:
        """One more call; of a kernel that is there already, if the text is the same."""
        t = Text(self.own_functions)
        loop.write(t)
        count, found = len(loop.accesses), ""
        parameters = ", ".join([f"ptr noalias %p{k}" for k in range(count)])
        if count > MANY:
            parameters = "ptr noalias %list"
            found = "".join([
                f"  %q{k} = getelementptr ptr, ptr %list, i64 {k}\n  %p{k} = load ptr, ptr %q{k}, align 8\n"
                for k in range(count)
            ])  # fmt: skip
        text = f"({parameters}) #0 {{\nentry:\n{found}{t}\n  ret void\n}}"
        if text not in self.kernels:
            self.kernels[text] = len(self.kernels)
            self.texts.append(t)
        self.order.append((what, shape))
        self.counts[what, shape] = self.counts.get((what, shape), 0) + 1
        self.calls.append((self.kernels[text], loop.accesses, what))
