"""Triangular systems and Cholesky's factor as loops, so that matrices of some hundred rows wake no threads.

A matrix library gives Cholesky to its threads from a hundred rows on, and a triangular system from ten. It cannot be
limited to one thread only here, because its switch is for the whole process. The loops take a third to a half of its
time on one thread (three quarters without registers of 64 bytes).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .engine import Binary, Objects, has_fma, has_wide_registers, module_text
from .functions import IRText, Lanes
from .loops import SIZES, load, load_many, store
from .products import MEDIUM, beside, block_of, each_block, multiply, steps

GAP = 8  # numbers after each row of lᵀ: without them a column of 256 rows lies on few lines of the cache


def pays(multiplications: int) -> bool:
    """Are loops as fast as two threads of the matrix library?"""
    return has_fma() and multiplications <= MEDIUM // (1 if has_wide_registers() else 4)


@dataclass(frozen=True)
class Matrix:
    """Where a matrix lies: the number of its pointer; the strides of rows and columns and the start, in bytes."""

    pointer: int
    row: int
    column: int
    first: int = 0

    def at(self, t: IRText, i: str, j: str) -> str:
        """The address of one of its numbers."""
        return t.at(beside(t, f"%p{self.pointer}", self.first), (i, self.row), (j, self.column))


def solution(kind: str, n: int, m: int, *, is_turned: bool, b_is_turned: bool) -> TriangleText:
    """x = l⁻¹ b or l⁻ᵀ b of three pointers: l (n, n), b (n, m) or bᵀ, and x (n, m). lᵀ is solved as a lower triangle,
    too: backwards."""
    size = SIZES[kind]
    low, x = Matrix(0, n * size, size), Matrix(2, m * size, size)
    b = Matrix(1, size, n * size) if b_is_turned else Matrix(1, m * size, size)
    if is_turned:
        low = Matrix(0, -size, -n * size, (n * n - 1) * size)
        b, x = (Matrix(a.pointer, -a.row, a.column, (n - 1) * a.row) for a in (b, x))
    return TriangleText(kind, (n, m), low, b, x)


def factor(kind: str, n: int) -> TriangleText:
    """l with a = l lᵀ from three pointers: a (n, n), whose lower triangle is read, zeros, into which l is written, and
    memory for (n, n + GAP) numbers."""
    size = SIZES[kind]
    row, gapped = n * size, (n + GAP) * size
    a, low, x = Matrix(0, size, row), Matrix(2, size, gapped), Matrix(2, gapped, size)
    return TriangleText(kind, (n, n), low, a, x, Matrix(1, row, size))


@dataclass(frozen=True)
class TriangleText:
    """The text of x = l⁻¹ b. Row i is (b[i] − Σ l[i, k] x[k]) / l[i, i], with the sum over the rows k < i. The sum over
    the rows before a block is a product; what rows of a block take from each other is written out.

    half : where Cholesky's factor is written. Then b is aᵀ, and l is read as xᵀ, whose rows before are known, so
        a = l lᵀ. Only blocks on the diagonal and right of it are computed; on it l[i, i] is the root of what is left.
    """

    kind: str
    size: tuple[int, int]
    low: Matrix
    b: Matrix
    x: Matrix
    half: Matrix | None = None

    def write(self, t: IRText) -> None:
        """Blocks of rows, and in each blocks of columns. The first rows have none before them."""
        (n, m), (most, unit) = self.size, block_of(self.kind)
        even, whole = n - n % most, m - m % unit
        first = min(most, n)
        edges = [first, *sorted({x for x in (even, n, whole if self.half else n) if x > first})]
        for rows in ((0, first), edges):
            for i, j, height, widths in each_block(t, rows, (0, whole, m), self.kind, self.half is not None):
                self.write_block(t, (i, j), height, [Lanes(t, w, self.kind) for w in widths], rows is edges)
        if self.half:
            row = t.begin_for(0, n, 1)
            column = t.begin_for(0, t.let(f"add i64 {row.index}, 1"), 1)
            number = load(t, self.kind, self.low.at(t, row.index, column.index), 1)
            store(t, self.kind, number, self.half.at(t, row.index, column.index), 1)
            t.end_for(column)
            t.end_for(row)

    def write_block(self, t: IRText, place: tuple[str, str], n: int, numbers: list[Lanes], has_more: bool) -> None:
        """The block of n rows at this row and column; ``has_more``: are there rows before it?"""
        (i, j), kind, low, x, b, one = place, self.kind, self.low, self.x, self.b, Lanes(t, 1, self.kind)
        first, target, pivot = b.at(t, i, j), x.at(t, i, j), low.at(t, i, i)
        places = [(m, beside(t, first, r * b.row + at * b.column)) for r in range(n) for m, at in steps(numbers)]
        left = [load_many(t, kind, p, b.column, m.w) for m, p in places]
        if has_more:
            k = t.begin_for(0, i, 1, [(m.kind, m.c(0.0)) for m, _ in places])
            sums = multiply(t, numbers, k.values, (low.at(t, i, k.index), low.row), x.at(t, k.index, j))
            t.end_for(k, sums)
            left = [m.op("fsub", a, s) for (m, _), a, s in zip(places, left, sums, strict=True)]
        for r in range(n):
            row, left = left[: len(numbers)], left[len(numbers) :]
            if self.half:  # in a block on the diagonal this writes the pivot, too; in another one it does not matter
                write_row(t, numbers, row, target)
            corner = load(t, kind, pivot, 1)
            if self.half:
                corner = one.pick(t.let(f"icmp ule i64 {j}, {i}"), one.one("sqrt", corner), corner)
            inverse = one.op("fdiv", one.c(1.0), corner)
            row = [m.op("fmul", a, t.splat(kind, inverse, m.w)) for m, a in zip(numbers, row, strict=True)]
            write_row(t, numbers, row, target)
            for s in range(1, n - r):
                y = load(t, kind, beside(t, pivot, s * low.row), 1)
                products = [m.op("fmul", t.splat(kind, y, m.w), a) for m, a in zip(numbers, row, strict=True)]
                part = slice((s - 1) * len(numbers), s * len(numbers))
                left[part] = [m.op("fsub", a, y) for m, a, y in zip(numbers, left[part], products, strict=True)]
            target, pivot = beside(t, target, x.row), beside(t, pivot, low.row + low.column)


def write_row(t: IRText, numbers: list[Lanes], row: list[str], target: str) -> None:
    """A part of a row of x."""
    for (m, at), a in zip(steps(numbers), row, strict=True):
        store(t, m.scalar, a, beside(t, target, at * SIZES[m.scalar]), m.w)


@lru_cache(64)
def compiled(text: TriangleText, objects: Objects | None) -> Any:
    """The function that the text describes, to be called with three addresses."""
    t = IRText()
    text.write(t)
    pointers = ", ".join([f"ptr noalias %p{k}" for k in range(3)])
    module = module_text([f"define void @run({pointers}) #0 {{\nentry:\n{t}\n  ret void\n}}"], [t])
    library = Binary(module, 1, objects)
    run: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library.address("run"))
    run.library = library  # in which it lives
    return run
