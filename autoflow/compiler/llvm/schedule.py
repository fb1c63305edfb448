"""From the values of a stretch to loops in order, and memory for what passes from one to the next.

Rows of the right factor of a product must be contiguous; if they are not (x @ y.T), y is copied before, once for all
products that read it.

Words of the schedule:

level    how many loops must have ended before a value can be computed; values of one level and shape share a loop
stored   values that are read outside their loop; the others stay in registers
kernels  loops with equal text are one function, called with other pointers: a recurrent network of 100 steps is
         406 calls of 8 functions
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..matching import STACK, UFUNC, Array, Value, behind_views
from ..program import new_value
from .functions import IRText
from .loops import Access, LoopText, Places
from .products import LONG, ProductText, Sum, Summand, is_small_product, pair_of
from .words import ROWS, Element, code, formula_of, is_number, reduction_of, written_at

# ---------------------------------------------------------------- the schedule: which loops, in which order


PAIRS = 16  # products of one loop
PIECE = 100  # values of one loop; of a long function making machine code takes too long
MANY = 30  # pointers; more are passed as a list of them
ALIGNED = 64  # bytes: a line of the cache


def has_loop(v: Value) -> bool:
    """Can loops compute it?"""
    if v.kind == STACK:
        return bool(math.prod(v.shape)) and code(v.dtype) is not None and all([x.dtype == v.dtype for x in v.args])
    known = formula_of(v) is not None or reduction_of(v) is not None or type(v.function) is Sum
    return known or is_small_product(v) or written_at(v) is not None


class Kernels:
    """The loops of some values: ``calls`` are (number of the kernel, accesses), ``kernels`` the texts."""

    def __init__(self, members: list[Value], results: Iterable[Value], own_functions: bool = False) -> None:
        self.own_functions = own_functions  # also in programs of numbers
        self.members, self.results = members, list(results)
        self.places = Places({*members})
        self.formulas: dict[Value, Element] = {}
        self.level: dict[Value, int] = {}
        self.groups: dict[tuple[Any, ...], list[Value]] = {}
        self.sizes: dict[tuple[int, tuple[int, ...]], int] = {}  # values of a level and shape, until now
        self.turned: dict[Access, Value] = {}  # matrices whose rows were not side by side, and their copies
        self.kernels: dict[str, int] = {}
        self.texts: list[IRText] = []
        self.calls: list[tuple[int, list[Access], str]] = []
        self.counts: dict[tuple[str, tuple[int, ...]], int] = {}  # what a loop computes, its shape -> how often
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
        formula, reduction = formula_of(v), reduction_of(v)
        if formula is not None:
            self.formulas[v] = formula
        shape = v.shape if reduction is None else v.args[0].shape
        together = formula is not None or reduction is not None
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
        """Values that are read outside their loop, or returned."""
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
                    self.places.lay(x, self.places.dummy(v)[k], v)
                    self.stored.add(x)

    # -- what

    def add_group(self, key: tuple[Any, ...], values: list[Value]) -> None:
        """The calls of a group."""
        v = values[0]
        if key[1] == "loop":
            self.add_loop(key[2], sorted(values, key=lambda v: v.number))
        elif key[1] == STACK:
            for k, x in enumerate(v.args):
                if self.places.bases.get(x) is not v:  # it was not computed in place
                    self.add_copy(x, self.part_of(v, k))
        elif type(v.function) is Sum:
            self.add_sum(v, v.function.terms)
        elif is_small_product(v):
            self.add_sum(v, [Summand(2)])
        elif (written := written_at(v)) is not None:  # a copy, and then another one into a part of it
            x, index, y = written
            self.add_copy(x, v)
            self.add_copy(y, self.part_of(v, index))
        else:  # a copy in another shape
            x = v.args[0]
            self.add_copy(x, self.seen_as(self.places.dummy(v).reshape(x.shape), v))

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

    def add_sum(self, v: Value, terms: list[Summand]) -> None:
        """Products and other arrays, added up: first an array, then the products of the whole result as one loop."""
        rest = iter(v.args)
        pairs = [(term, tuple(islice(rest, term.count))) for term in terms]
        begun = pairs[0][0] == Summand(1)
        if begun:
            self.add_copy(pairs.pop(0)[1][0], v)
        plain = [operands for term, operands in pairs if term == Summand(2)]
        together = min(PAIRS, LONG // max([x.shape[-1] for x, _ in plain], default=1))
        for k in range(0, len(plain), together):
            self.add_product(v, Summand(2), plain[k : k + together], begun)
            begun = True
        if not begun:
            self.add_copy(0.0, v, "fill")
        for term, operands in pairs:
            if term.count == 1:
                self.add_part(v, term.index, operands[0])
            elif term != Summand(2):
                self.add_product(v, term, [operands], True)

    def add_product(self, v: Value, term: Summand, pairs: Sequence[tuple[Value, ...]], adds: bool) -> None:
        """The products of some pairs of operands, written into ``v`` or added to it."""
        kind, target = code(v.dtype) or "", self.part_of(v, term.index)
        (x, y), *_ = pairs
        n, p = (x.shape[-1], y.shape[-1]) if term.over else target.shape[-2:]
        stack = x.shape[: min(1, len(x.shape) - 2)] if term.over else target.shape[:-2]
        factors = []
        for x, y in pairs:
            y = self.with_rows_side_by_side(y, kind)
            one, two = (x.shape, y.shape) if term.over else ((*stack, *x.shape[-2:]), (*stack, *y.shape[-2:]))
            factors.append(pair_of(self.places.access(x, one, kind), self.places.access(y, two, kind), one, term.over))
        z = self.places.access(target, (*stack, n, p), kind)
        inner = sum([math.prod([m for m, _, _ in pair.inner]) for pair in factors])
        self.add_call(ProductText(z, stack, factors, (n, p), adds), "matmul", (*stack, n, inner, p))

    def with_rows_side_by_side(self, y: Value, kind: str) -> Value:
        """``y``, or a copy whose rows are, made once for all products that read it."""
        a = self.places.access(y, y.shape, kind)
        if y.shape[-1] == 1 or a.strides[-1] == a.size:
            return y
        if a not in self.turned:
            self.turned[a] = new_value(UFUNC, None, (y,), (), y.shape, y.number)
            self.add_copy(y, self.turned[a])
        return self.turned[a]

    def part_of(self, v: Value, index: object) -> Value:
        """``v[index]``, to be written into."""
        return v if index is None else self.seen_as(self.places.dummy(v)[index], v)

    def seen_as(self, array: Array, v: Value) -> Value:
        """The memory of ``v``, or a part of it, as this array looks at it."""
        part = new_value(UFUNC, None, (v,), (), array.shape, v.number)
        self.places.lay(part, array, self.places.base_of(v))
        return part

    def add_part(self, v: Value, index: object, y: Value) -> None:
        """A loop that adds ``y`` to a part of ``v``."""
        old, new, kind = self.part_of(v, index), self.part_of(v, index), code(v.dtype) or ""
        formula = Element(ROWS[np.add][1], (old, y), (kind, kind), kind)
        self.add_call(LoopText(new.shape, {new: formula}, {}, {new}, self.places), "add", new.shape)

    def add_copy(self, x: Any, copy: Value, what: str = "copy") -> None:
        """A loop that copies a value, or writes a number everywhere."""
        kind = code(copy.dtype if is_number(x) else x.dtype) or ""
        formula = Element(lambda m, x: x, (x,), (kind,), kind)
        self.add_call(LoopText(copy.shape, {copy: formula}, {}, {copy}, self.places), what, copy.shape)

    def add_call(self, loop: Any, what: str, shape: tuple[int, ...]) -> None:
        """One more call; of an existing kernel, if the text is the same."""
        t = IRText(self.own_functions)
        loop.write(t)
        count, loads = len(loop.accesses), ""
        parameters = ", ".join([f"ptr noalias %p{k}" for k in range(count)])
        if count > MANY:
            parameters = "ptr noalias %list"
            loads = "".join([
                f"  %q{k} = getelementptr ptr, ptr %list, i64 {k}\n  %p{k} = load ptr, ptr %q{k}, align 8\n"
                for k in range(count)
            ])  # fmt: skip
        text = f"({parameters}) #0 {{\nentry:\n{loads}{t}\n  ret void\n}}"
        if text not in self.kernels:
            self.kernels[text] = len(self.kernels)
            self.texts.append(t)
        self.counts[what, shape] = self.counts.get((what, shape), 0) + 1
        self.calls.append((self.kernels[text], loop.accesses, what))
