"""Products of small matrices: z[i, j] = Σ x[i, k] y[k, j], kept in registers for some rows and eight columns at a time.

Large ones are NumPy's: its matrix library knows the caches. Small ones are quicker here, because a call of NumPy alone
takes as long as 10,000 multiplications. Rows of y must lie side by side; where they do not (x @ y.T), y is copied
before, once for all products that read it.
"""

from __future__ import annotations

import math

from ..values import PRODUCT, Value
from .engine import has_fma
from .formulas import code
from .places import Access
from .text import Text, constant, suffix_of, type_of
from .words import is_float

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

    def pointer(self, t: Text, k: int, *steps: tuple[str, int]) -> str:
        """The k-th operand, moved by index · stride for each pair."""
        p = f"%p{k}"
        for i, stride in steps:
            p = t.let(f"getelementptr i8, ptr {p}, i64 {t.let(f'mul i64 {i}, {stride}')}") if stride else p
        return p

    def write_block(self, t: Text, i: str, j: str, rows: int, w: int) -> None:
        """``rows`` rows and ``w`` columns of z."""
        x, y, z = self.accesses
        kind = type_of(self.type, w)
        left = self.pointer(t, 0, (i, x.strides[0]))
        right = self.pointer(t, 1, (j, y.strides[1]))
        k = t.begin_for(0, self.shape[1], 1, [(kind, constant(self.type, 0.0, w))] * rows)
        at = t.let(f"getelementptr i8, ptr {right}, i64 {t.let(f'mul i64 {k.index}, {y.strides[0]}')}")
        b = t.let(f"load {kind}, ptr {at}, align 1")
        step = t.let(f"mul i64 {k.index}, {x.strides[1]}")
        totals = []
        for r, total in enumerate(k.values):
            row = t.let(f"getelementptr i8, ptr {left}, i64 {r * x.strides[0]}")
            a = t.let(f"load {self.type}, ptr {t.let(f'getelementptr i8, ptr {row}, i64 {step}')}, align 1")
            many = t.splat(self.type, a, w)
            totals.append(t.call(kind, f"llvm.fma.{suffix_of(self.type, w)}", (kind, many), (kind, b), (kind, total)))
        t.end_for(k, totals)
        target = self.pointer(t, 2, (i, z.strides[0]), (j, z.strides[1]))
        for r, total in enumerate(totals):
            row = t.let(f"getelementptr i8, ptr {target}, i64 {r * z.strides[0]}")
            t.say(f"store {kind} {total}, ptr {row}, align 1")
