"""Products of matrices as loops: which are written out, sums of them, and their text.

Products of small matrices are written out: z[i, j] = Σ x[i, k] y[k, j], kept in registers for some rows and columns at
a time. Large ones are left to NumPy: its matrix library knows the caches, and has threads. Small ones are faster here,
because a NumPy call alone takes as long as 10,000 multiplications; and stacks of them, because NumPy copies windows,
and calls its library for each matrix. With registers of 64 bytes medium ones are faster here, too: they take half of
the library's time on one thread of an AMD EPYC with AVX-512, wake no threads, and read operands where they are.

A convolution is a sum of products, one for each place in the window, and its derivatives are two more:

    Σₜ Xₜ Wₜ               Xₜ the windows of x: views, which are read where they are
    Σₜ of G Wₜᵀ at Xₜ      the gradient of x: each product is added to its own window of one array
    Σ x[b, r, :]ᵀ g[b, r, :]      the gradient of Wₜ: a product over all leading axes, without making a matrix of them

So before stretches are looked for, sums of such terms become one value, whose function is a :class:`Sum`. The products
of one sum stay in registers together; no term has its own array. Only the order of summation changes, as in
``compiler/passes.py``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..matching import CALL, PRODUCT, UFUNC, VIEW, Value, call_of
from ..passes import add_all, count_uses, find_sums, is_transposed
from ..program import Program, new_value
from .engine import has_fma, has_wide_registers
from .functions import IRText, Lanes, is_float
from .loops import SIZES, Access, Places, load, store
from .words import code, is_number, number_in, written_at

# ---------------------------------------------------------------- which products, and sums of them

MOST = 70_000  # multiplications that are written out, of one matrix
MEDIUM = 2**23  # the same with wide registers: 130 µs, for which the library gains little by waking its threads
LONG = 4096  # products that are added one after the other: the library adds in blocks, with smaller rounding errors
NARROW = 10  # multiplications for each number that is read


@dataclass(frozen=True)
class Summand:
    """One term of a sum: how many operands it has, and the part of the result that it is added to.

    over : is it the product Σ xᵀ y over all leading axes of x (..., n) and y (..., m)?
    """

    count: int
    index: Any = None
    over: bool = False


class Sum:
    """The function of a value that is a sum of such terms; its operands are theirs, in this order. A loop computes it
    in any case, so it is never called."""

    __name__ = "matmul"

    def __init__(self, terms: list[Summand]) -> None:
        self.terms = terms


Term = tuple[Summand, tuple[Value, ...]]


def sum_products(program: Program) -> None:
    """Rewrite the program's stacks of small products, and sums of products and windows."""
    if not has_fma():
        return
    order, needed = program.order(), [*program.outputs, *program.checks]
    uses = count_uses(order, needed)
    new: dict[Value, Value] = {}
    inside: set[Value] = set()  # terms of a sum that has become one value
    for root, leaves in find_sums(order, uses):
        terms = {x: f for x in leaves if (f := find_term(x, uses)) is not None}
        of_one_type = {x.dtype for x in leaves} == {root.dtype} and is_float(code(root.dtype) or "")
        if len(terms) > 1 and root.layout is None and of_one_type:
            rest = [x for x in leaves if x not in terms]
            if rest:
                terms = {root: (Summand(1), (add_all(rest, root),)), **terms}
            new[root] = value_of_sum(root, [*terms.values()])
            inside.update(terms)
    for v in order:
        if v not in new and v not in inside and v.kind in (CALL, PRODUCT):
            one = find_product(v)
            if one is not None and v.layout is None and (v.kind == CALL or one[0].over):
                new[v] = value_of_sum(v, [one])
            elif v.kind == CALL and (flat := as_one_product(v)) is not None:
                new[v] = flat
    program.rewrite(new)


def value_of_sum(v: Value, pairs: list[Term]) -> Value:
    """The value that replaces ``v``."""
    terms = [term for term, _ in pairs]
    args = tuple([x for _, operands in pairs for x in operands])
    return new_value(CALL, Sum(terms), args, None, v.shape, v.number, v.dtype)


def find_term(x: Value, uses: dict[Value, int]) -> Term | None:
    """A product that nothing else reads, or 0 with such a product or another array in a part of it."""
    if uses[x] > 1:
        return None
    if x.kind == UFUNC and x.function is np.add and any(map(is_zero, x.args)):
        (inner,) = [a for a in x.args if not is_zero(a)] or [x]
        return find_term(inner, uses) if inner is not x and inner.shape == x.shape else None
    written = written_at(x)
    if written is None:
        return find_product(x)
    zero, index, y = written
    if not is_zero(zero) or is_number(y):
        return None
    part = np.empty(x.shape, np.bool_)[index]
    lies_in_rows = y.shape == part.shape and (part.shape[-1:] == (1,) or part.strides[-1:] == (1,))
    product = find_product(y) if uses[y] == 1 and lies_in_rows else None
    return (Summand(1, index), (y,)) if product is None else (replace(product[0], index=index), product[1])


def is_zero(x: object) -> bool:
    """A constant 0, also repeated, and written into memory of its own?"""
    x = x.args[0] if isinstance(x, Value) and x.function is np.positive else x
    return is_number(x) and number_in(x) == 0


def find_product(v: Value) -> Term | None:
    """The product that ``v`` consists of, if it is written out."""
    if v.kind == PRODUCT and has_one_type(v) and is_transposed(v.args[0]):
        copies = v.args[0].args[0], v.args[1]
        reshaped = [is_copy(a) or (a.kind == VIEW and a.options[0] == "reshape") for a in copies]
        if all(reshaped) and any(map(is_copy, copies)):
            x, y = [a.args[0] for a in copies]
            fits = x.shape[:-1] == y.shape[:-1] and (x.shape[-1], y.shape[-1]) == v.shape
            if fits and is_narrow(*v.shape) and math.prod(x.shape[1:-1] or x.shape[:1]) <= LONG:
                return Summand(2, None, True), (x, y)
    return (Summand(2), v.args) if is_small_product(v) else None


def is_copy(x: Value, places: Places | None = None) -> bool:
    """A reshape for which NumPy has to copy?"""
    if x.kind == CALL:
        function, args, options = call_of(x, x.args)
        in_c_order = function is np.reshape and options in ({}, {"order": "C"})
        return in_c_order and len(args) == 2 and type(args[0]) is Value and not x.shares
    return x.kind == VIEW and x.options[0] == "reshape" and (places or Places(())).base_of(x) is x


def is_narrow(n: int, m: int) -> bool:
    """Are there so few multiplications for each number of two factors that the matrix library gains nothing?"""
    return n * m <= NARROW * (n + m)


def has_one_type(v: Value) -> bool:
    """Are the operands and the result of one float type, and none of them empty?"""
    kinds = {code(x.dtype) for x in (*v.args, v)}
    return len(kinds) == 1 and is_float(kinds.pop() or "i") and all([math.prod(x.shape) for x in v.args]) and has_fma()


def is_matmul(v: Value) -> bool:
    """A product of matrices, or of stacks of them?"""
    stacked = v.kind == CALL and v.function is np.matmul and min([len(x.shape) for x in v.args]) > 1
    return v.kind == PRODUCT or stacked


def is_small_product(v: Value) -> bool:
    """Is it a product that is written out? For stacks, if their matrices are small and cannot be joined into one larger
    product."""
    if not is_matmul(v) or not has_one_type(v) or v.layout is not None:
        return False
    (*stack, n, p), k = v.shape, v.args[0].shape[-1]
    most = MEDIUM if min(n, p) >= ROWS and has_wide_registers() else MOST
    if n * p * k > most or k > LONG:
        return False
    return math.prod(stack) * n * p * k <= most or is_narrow(k, p) or as_one_product(v) is None


def as_one_product(v: Value) -> Value | None:
    """For a stack of matrices without gaps, times one matrix: the product of all their rows. None for others."""
    if not is_matmul(v) or v.layout is not None or len(v.args[1].shape) > 2:
        return None
    x, y = v.args
    rows = math.prod(x.shape[:-1]), x.shape[-1]
    whole = new_value(VIEW, lambda a: a.reshape(rows), (x,), ("reshape", rows), rows, v.number)
    if is_copy(whole):
        return None
    shape = v.shape
    z = new_value(PRODUCT, np.matmul, (whole, y), (), (rows[0], shape[-1]), v.number)
    return new_value(VIEW, lambda a: a.reshape(shape), (z,), ("reshape", shape), shape, v.number)


# ---------------------------------------------------------------- their text

ROWS = 4  # rows at a time, twice as many with wide registers: each number of y that is read is used for all of them
LINE = 64  # bytes of a row of y at a time, twice as many with wide registers
UNROLLED = 16  # multiplications for each number of z, a quarter with wide registers: of fewer no loop is made


@dataclass(frozen=True)
class Pair:
    """Two factors: where they lie, the strides of the axes of the stack, of the rows of x and the columns of y, and the
    axes that are summed over: (length, stride of x, stride of y)."""

    x: Access
    y: Access
    stacks: tuple[tuple[int, ...], tuple[int, ...]]
    row: int
    column: int
    inner: list[tuple[int, int, int]]


def pair_of(x: Access, y: Access, shape: tuple[int, ...], over: bool) -> Pair:
    """``shape``: of x, as the loop sees it. Over leading axes the first is the stack, all of it added to one matrix."""
    if not over:
        inner = [(shape[-1], x.strides[-1], y.strides[-2])]
        return Pair(x, y, (x.strides[:-2], y.strides[:-2]), x.strides[-2], y.strides[-1], inner)
    n = len(shape) > 2  # with one leading axis there is no stack
    inner = [*zip(shape[n:-1], x.strides[n:-1], y.strides[n:-1], strict=True)]
    return Pair(x, y, (x.strides[:n], y.strides[:n]), x.strides[-1], y.strides[-1], inner)


class ProductText:
    """The text of z = Σ x y of some pairs (x, y) of matrices, or of z += Σ x y; ``stack``: the axes in front."""

    def __init__(self, z: Access, stack: tuple[int, ...], pairs: list[Pair], size: tuple[int, int], adds: bool) -> None:
        self.accesses = list(dict.fromkeys([a for pair in pairs for a in (pair.x, pair.y)] + [z]))
        self.z, self.stack, self.pairs, self.size, self.adds = z, stack, pairs, size, adds
        self.type = z.type

    def write(self, t: IRText) -> None:
        """Blocks of rows and of columns."""
        (n, p), (most, unit) = self.size, block_of(self.type)
        loops = [t.begin_for(0, m, 1) for m in self.stack]
        outer = [loop.index for loop in loops]
        whole = p // unit * unit
        whole -= unit * (whole < p and whole > 0 and 2 * (p - whole) <= unit)  # a few columns more than a unit: at once
        for i, j, rows, widths in each_block(t, (0, n - n % most, n), (0, whole, p), self.type):
            self.write_block(t, [*outer, i], [*outer, j], rows, widths)
        for loop in reversed(loops):
            t.end_for(loop)

    def write_block(self, t: IRText, i: list[str], j: list[str], rows: int, widths: list[int]) -> None:
        """Some rows of z, and columns of these widths; ``i``, ``j``: indices of the stack, and of row and column."""
        numbers = [Lanes(t, w, self.type) for w in widths]
        totals = [m.c(0.0) for _ in range(rows) for m in numbers]
        for pair in self.pairs:
            left = t.at(self.pointer(pair.x), *zip(i, (*pair.stacks[0], pair.row), strict=True))
            right = t.at(self.pointer(pair.y), *zip(j, (*pair.stacks[1], pair.column), strict=True))
            loops = []
            if len(self.pairs) * math.prod([m for m, _, _ in pair.inner]) > UNROLLED // (1 + has_wide_registers()) ** 2:
                for length, x_step, y_step in pair.inner:
                    loops.append(t.begin_for(0, length, 1, zip([m.kind for m in numbers] * rows, totals, strict=True)))
                    left, right = (t.at(a, (loops[-1].index, step)) for a, step in ((left, x_step), (right, y_step)))
                    totals = loops[-1].values
                totals = multiply(t, numbers, totals, (left, pair.row), right)
            else:
                for place in itertools.product(*[range(m) for m, _, _ in pair.inner]):
                    offsets = [sum([k * step[w] for k, step in zip(place, pair.inner, strict=True)]) for w in (1, 2)]
                    x, y = beside(t, left, offsets[0]), beside(t, right, offsets[1])
                    totals = multiply(t, numbers, totals, (x, pair.row), y)
            for loop in reversed(loops):
                t.end_for(loop, totals)
        *stack, row, column = self.z.strides
        target = t.at(self.pointer(self.z), *zip(i, (*stack, row), strict=True), (j[-1], column))
        for total, (r, (m, at)) in zip(totals, itertools.product(range(rows), steps(numbers)), strict=True):
            p = beside(t, target, r * row + at * self.z.size)
            store(t, self.type, m.op("fadd", load(t, self.type, p, m.w), total) if self.adds else total, p, m.w)

    def pointer(self, a: Access) -> str:
        """Its name."""
        return f"%p{self.accesses.index(a)}"


def block_of(kind: str) -> tuple[int, int]:
    """How many rows and columns of these numbers stay in registers together."""
    wide = 1 + has_wide_registers()
    return wide * ROWS, wide * LINE // SIZES[kind]


def each_block(
    t: IRText, rows: Iterable[int], columns: Iterable[int], kind: str, is_upper: bool = False
) -> Iterator[tuple[str, str, int, list[int]]]:
    """Loops over blocks of rows and columns between these edges; row and column of a block, how many rows, and how wide
    vectors, inside of the loops. ``is_upper``: only blocks on the diagonal and right of it."""
    most, unit = block_of(kind)
    for (first, last), (start, end) in itertools.product(itertools.pairwise(rows), itertools.pairwise(columns)):
        if first < last and start < end and (first < end or not is_upper):
            n, m = ((y - x) if (y - x) % step else step for x, y, step in ((first, last, most), (start, end, unit)))
            i = t.begin_for(first, last, n)
            j = t.begin_for(t.let(f"and i64 {i.index}, {-m}") if is_upper and not start else start, end, m)
            yield i.index, j.index, n, split(m, unit)
            t.end_for(j)
            t.end_for(i)


def multiply(t: IRText, numbers: list[Lanes], totals: list[str], x: tuple[str, int], y: str) -> list[str]:
    """One number of each row of x times a row of y, added to the totals."""
    (left, row), kind = x, numbers[0].scalar
    rights = [load(t, kind, beside(t, y, at * SIZES[kind]), m.w) for m, at in steps(numbers)]
    new: list[str] = []
    for r in range(len(totals) // len(numbers)):
        a = load(t, kind, beside(t, left, r * row), 1)
        for m, b in zip(numbers, rights, strict=True):
            new.append(m.fma(t.splat(kind, a, m.w), b, totals[len(new)]))
    return new


def steps(numbers: list[Lanes]) -> Iterator[tuple[Lanes, int]]:
    """Each with how many columns are before it."""
    return zip(numbers, itertools.accumulate([m.w for m in numbers], initial=0), strict=False)


def split(n: int, unit: int) -> list[int]:
    """The widths of vectors that make n: powers of two, at most a unit.

    >>> split(13, 8)
    [8, 4, 1]
    """
    widths = []
    for w in (unit >> k for k in range(unit.bit_length())):
        widths += [w] * (n // w)
        n %= w
    return widths


def beside(t: IRText, p: str, offset: int) -> str:
    """The pointer ``p``, some bytes further."""
    return t.let(f"getelementptr i8, ptr {p}, i64 {offset}") if offset else p
