"""Many small products become one large one: in recurrent networks, and in any sum over steps or samples.

A weight that is used at T steps receives the sum of T products, and each is too small for a matrix library to be at its
best. But a sum of products is one product of longer matrices:

    Σₜ Aₜᵀ Bₜ = Aᵀ B      with A = (A₁; A₂; ...; A_T) and B = (B₁; ...; B_T), one below the other
    Σₜ sum(Bₜ, axis=0) = sum(B, axis=0)
    X₁ W, X₂ W, ...  are the rows of X W, if all Xₜ are known before

The matrices Aₜ and Bₜ are not copied together: the stack is made first, and each is computed into its rows (STACK in
``compiler/run/buffers.py``). Elementwise functions of all rows of a stack, as 1 − tanh², then become one call as well.

Here the order of summation changes, and with it the last bits: the error is below 1e-13 of the largest entry of a
result (2.6e-15 for 100 steps). Nothing else in a program changes a bit. What it saves is in ``benchmarks/README.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..matching import PRODUCT, REDUCE, STACK, UFUNC, VIEW, Value, behind_views
from ..program import Program, new_value

FEW = 4  # sums with fewer terms are left alone


def join(program: Program) -> bool:
    """Rewrite the program's sums of products; True if that changed anything."""
    joiner = Joiner(program)
    joiner.shared_factors()
    joiner.sums()
    if joiner.new:
        for values, stack in list(joiner.stacks.items()):
            joiner.rows_at_once(stack, values)
        return program.rewrite(joiner.new)
    return False


class Joiner:
    """The rewriting: which value is replaced by which."""

    def __init__(self, program: Program) -> None:
        self.order = program.order()
        self.new: dict[Value, Value] = {}
        self.stacks: dict[tuple[Value, ...], Value] = {}
        self.uses: dict[Value, int] = dict.fromkeys([*program.outputs, *program.checks], 2)
        for v in self.order:
            for x in v.args:
                self.uses[x] = self.uses.get(x, 0) + 1

    def stack(self, values: Iterable[Value], number: float) -> Value:
        """The values, one below the other, as a matrix: (T, n, m) seen as (T n, m)."""
        values = tuple(values)
        (first, *_), shape = values, (len(values), *values[0].shape)
        matrix = (shape[0] * shape[1], *shape[2:])
        base = first.args[0] if first.kind == VIEW else first
        if base.layout is None and values == tuple(rows_of(base, values)):  # the whole of an array is its own stack
            return new_value(VIEW, lambda a: a.reshape(matrix), (base,), ("reshape", matrix), matrix, number)
        if values not in self.stacks:
            self.stacks[values] = new_value(STACK, None, values, None, shape, number)
        whole = self.stacks[values]
        return new_value(VIEW, lambda a: a.reshape(matrix), (whole,), ("reshape", matrix), matrix, number)

    def shared_factors(self) -> None:
        """Xₜ W of views of arguments with a common W: each becomes a part of one product."""
        groups: dict[Any, list[Value]] = {}
        for v in self.order:
            if v.kind == PRODUCT and is_given(v.args[0]) and v.dtype.kind == "f":
                groups.setdefault((v.args[1], v.args[0].shape, v.dtype), []).append(v)
        for (w, (n, _), _), group in groups.items():
            lefts = tuple(dict.fromkeys([v.args[0] for v in group]))
            if len(lefts) < FEW or not is_given(w):
                continue
            number = group[0].number
            x = self.stack(lefts, number)
            whole = new_value(PRODUCT, np.matmul, (x, w), (), (len(lefts) * n, w.shape[1]), number)
            for k, v in enumerate(group):
                part = slice(k * n, (k + 1) * n)
                self.new[v] = new_value(
                    VIEW, lambda a, part=part: a[part], (whole,), ("index", repr(part)), v.shape, number
                )

    def sums(self) -> None:
        """Σ Aₜᵀ Bₜ and Σ sum(Bₜ, 0)."""
        inner: set[Value] = set()  # sums that are terms of a longer sum
        for v in reversed(self.order):
            if not (is_sum(v) and v not in inner):
                continue
            terms: list[Value] = []
            queue = list(v.args)
            while queue:
                x = queue.pop()
                if is_sum(x) and self.uses[x] == 1 and x.shape == v.shape and x.dtype == v.dtype:
                    inner.add(x)
                    queue += x.args
                else:
                    terms.append(x)
            self.join_terms(v, terms)

    def join_terms(self, root: Value, terms: list[Value]) -> None:
        """Put ``root``, the sum of these terms, together anew."""
        groups: dict[Any, list[Value]] = {}
        for x in terms:
            groups.setdefault(self.kind_of_term(x), []).append(x)
        joined: list[Value] = []
        for key, group in groups.items():
            if key is None or len(group) < FEW:
                joined += group
            else:  # gradients come latest first; reversed, inputs and states are in the order of the steps
                group.sort(key=lambda x: -x.args[-1].number)
                joined.append(self.joined_products(root, group) if key[0] == PRODUCT else self.joined_sums(root, group))
        if len(joined) == len(terms):
            return
        total = joined[0]
        for x in joined[1:]:
            total = new_value(UFUNC, np.add, (total, x), (), root.shape, root.number)
        self.new[root] = total

    def kind_of_term(self, x: Value) -> Any:
        """Terms of one kind can be joined; None for those that cannot."""
        if self.uses[x] != 1 or x.dtype is None or x.dtype.kind != "f":
            return None
        if x.kind == PRODUCT and x.args[0].kind == VIEW and x.args[0].options == ("transpose", (1, 0)):
            return PRODUCT, x.args[0].shape, x.args[1].shape, x.args[0].dtype, x.args[1].dtype
        if x.kind == REDUCE and x.function is np.add and x.options == (0, False) and len(x.args[0].shape) == 2:
            return REDUCE, x.args[0].shape, x.args[0].dtype
        return None

    def joined_products(self, root: Value, group: list[Value]) -> Value:
        """Σ Aₜᵀ Bₜ = Aᵀ B."""
        a = self.stack([x.args[0].args[0] for x in group], root.number)
        b = self.stack([x.args[1] for x in group], root.number)
        turned = new_value(VIEW, lambda x: x.T, (a,), ("transpose", (1, 0)), a.shape[::-1], root.number)
        return new_value(PRODUCT, np.matmul, (turned, b), (), root.shape, root.number)

    def joined_sums(self, root: Value, group: list[Value]) -> Value:
        """Σ sum(Bₜ, 0) = sum(B, 0)."""
        b = self.stack([x.args[0] for x in group], root.number)
        return new_value(REDUCE, np.add, (b,), (0, False), root.shape, root.number)

    def rows_at_once(self, whole: Value, values: tuple[Value, ...]) -> None:
        """Elementwise calls on most of ``values``, the rows of ``whole``, with the same other operands: one call."""
        place = {v: k for k, v in enumerate(values)}
        calls: dict[Any, dict[int, Value]] = {}
        for v in self.order:
            if v.kind == UFUNC and v not in self.new and v.dtype == whole.dtype and v.shape == whole.shape[1:]:
                rows = [place[x] for x in v.args if x in place]
                others = tuple([None if x in place else x for x in v.args])
                if len(rows) == 1 and all([x is None or not x.args for x in others]):
                    calls.setdefault((v.function, others), {})[rows[0]] = v
        for (function, others), found in calls.items():
            if len(found) < max(FEW, len(values) / 2) or waits_for(values, set(found.values())):
                continue
            args = tuple([whole if x is None else x for x in others])
            result = new_value(UFUNC, function, args, (), whole.shape, min([v.number for v in found.values()]))
            result.dtype = whole.dtype
            rows_of_result = {k: row(result, k, v.shape) for k, v in found.items()}
            self.new.update({v: rows_of_result[k] for k, v in found.items()})
            self.rows_at_once(result, tuple([found.get(k, whole) for k in range(len(values))]))


def row(whole: Value, k: int, shape: tuple[int, ...]) -> Value:
    """The k-th row of a stack."""
    return new_value(VIEW, lambda a: a[k], (whole,), ("index", repr(k)), shape, whole.number)


def is_sum(v: Value) -> bool:
    """x + y of equal shapes?"""
    return v.kind == UFUNC and v.function is np.add and v.args[0].shape == v.args[1].shape == v.shape


def is_given(x: Value) -> bool:
    """An argument, an array from outside, or a view of one."""
    return not behind_views(x).args


def rows_of(base: Value, values: tuple[Value, ...]) -> list[Value]:
    """``values``, if they are base[0], base[1], ... to the end, in any place of the list where that is so; else []."""
    if len(base.shape) < 2 or base.shape[0] != len(values):
        return []
    found = [v for k, v in enumerate(values)
             if v.kind == VIEW and v.args == (base,) and v.options == ("index", repr(k))]  # fmt: skip
    return found if math.prod(base.shape) == math.prod(values[0].shape) * len(values) else []


def waits_for(values: Iterable[Value], results: set[Value]) -> bool:
    """Does one of ``values`` depend on one of ``results``?"""
    first = min([v.number for v in results])
    seen: set[Value] = set()
    stack = [v for v in values if v.number > first]
    while stack:
        v = stack.pop()
        if v in results:
            return True
        for x in v.args:
            if x.number >= first and x not in seen:
                seen.add(x)
                stack.append(x)
    return False
