"""How one row of the table carries tangents forward: from the change of its operands to the change of its result.

A row says how a gradient goes back, Jᵀ g. The same row, read once more, says how a tangent goes forward, J t:

* an elementwise function has a diagonal J, and Jᵀ = J: its derivative, with t in place of g;
* if the derivative by x reads no number of x or z, the function is linear in x: the function itself, applied to t
  (the other operands as they are if the derivative reads them, as in a product; else zero, as in a concatenation);
* in a reduction each element of x is part of one element of z, so Jᵀ 1 holds all of J: Σ (Jᵀ 1) t along the axis;
* for all other rows the pass of this one row is transposed: ``transposing.py``. It is slower, and always right.

So there is no second table. These readings are tried on every row: tests/transforms/test_forward_pass.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..forward.recording import apply
from ..nodes.nodes import NodeRole, value_of
from ..rules import RULES
from ..rules.calculus import interpolate
from ..rules.elementary import i0_derivative
from ..rules.linalg import indexed_sum
from ..rules.shapes import is_given
from ..rules.table import Rule
from ..rules.vjps import vjp_by_position

Array = Any
Push = Callable[[Any, tuple[Any, ...]], Any]  # (t, saved) -> what the operand that moves by t adds to the tangent of z
DIAGONAL = frozenset([
    RULES[f] for f in (np.round, np.fix, np.unwrap, np.nan_to_num, np.sinc, np.i0, i0_derivative)
])  # elementwise as well, though no ufuncs  # fmt: skip
MULTILINEAR = RULES[indexed_sum]  # linear in each operand, though its derivative is given all of them
AFFINE = RULES[interpolate]  # its derivative by fp asks whether left= was given, which is added, not multiplied
CONJUGATE = RULES[np.conjugate]  # elementwise and linear, but not analytic
OURS = ("autoflow.rules.", "autoflow.arrays.")
PLAIN = (np.ndarray, np.generic)
OFFSETS = ("initial", "constant_values")  # options that are added to what is linear


class Pushes:
    """How a row goes forward.

    is_simple : has each operand a push, with complex numbers as well?
    each : per operand (t, saved) -> its part of the tangent; None where the row's pass must be transposed.
    scalars : the same for numbers; None where ``each`` is as good.
    together : for a function that is linear in all operands at once: (tangents, saved) -> the tangent; else None.
    """

    __slots__ = ("each", "is_simple", "scalars", "together", "vjps")

    def __init__(self, rule: Rule) -> None:
        self.vjps = rule.vjps
        n = rule.operands
        self.together: Callable[[Sequence[Any], tuple[Any, ...]], Any] | None = None
        self.scalars: Sequence[Push | None] | None = None
        if not is_ours(rule):
            self.each: list[Push | None] = [None] * n
        elif rule.elementwise or rule in DIAGONAL:
            self.each = [diagonal_push(rule, k) for k in range(n)]
            self.scalars = rule.scalar_vjps if rule.elementwise else None
        elif n > 1 and all([is_linear(rule, k) and not reads_operands(rule, k) for k in range(n)]):
            self.each = [None] * n
            self.together = linear_together(rule)
        else:
            self.each = [linear_push(rule, k) or reduction_push(rule, k) for k in range(n)]
        flowing = [push for push, read in zip(self.each, rule.needs, strict=True) if read is not None]
        self.is_simple = rule.holomorphic and None not in flowing


PUSHES: dict[Rule, Pushes] = {}
_COMPLEX: dict[Rule, Pushes] = {}


def pushes_of(rule: Rule, is_complex: bool = False) -> Pushes:
    """How the row goes forward, read once; a user may have given it other derivatives since.

    ``is_complex``: with complex numbers. A row that is not analytic (abs, angle) has no diagonal J then.
    """
    known = _COMPLEX if is_complex and not rule.holomorphic else PUSHES
    found = known.get(rule)
    if found is None or found.vjps is not rule.vjps:
        found = known[rule] = Pushes(rule)
        if known is _COMPLEX and (rule.elementwise or rule in DIAGONAL):
            found.each, found.scalars = [linear_push(rule, 0) if rule is CONJUGATE else None] * rule.operands, None
    return found


def is_ours(rule: Rule) -> bool:
    """Is the row one of the package, with a derivative for each operand? A user's may say anything: that the derivative
    of a rounding is 1."""
    return bool(rule.derivatives) and all([f.__module__.startswith(OURS) for f in rule.derivatives.values()])


def diagonal_push(rule: Rule, k: int) -> Push | None:
    """The row's derivative with t in place of g. Broadcasting is not undone: it is what happens."""
    derivative, read = rule.derivatives.get(rule.names[k]), rule.needs[k]
    return None if derivative is None or read is None else vjp_by_position(derivative, read)


def is_linear(rule: Rule, k: int) -> bool:
    """Is z an affine function of operand k? Its derivative reads neither it nor z, nor what was kept of them."""
    read = rule.needs[k]
    if read is None or rule in DIAGONAL or rule is AFFINE:
        return False
    if is_multilinear(rule):
        return True
    last = len(rule.names)
    numbers = {place % (last + 1) for place, what in read if not what}
    return rule.residual is None and not numbers & {k, last}


def is_multilinear(rule: Rule) -> bool:
    """Is it the row of einsum, for some number of operands?"""
    return rule.derivatives is MULTILINEAR.derivatives


def reads_operands(rule: Rule, k: int) -> set[int]:
    """The operands whose numbers the derivative by operand k reads."""
    return {place for place, what in rule.needs[k] or () if not what and 0 <= place < rule.operands}


def linear_push(rule: Rule, k: int) -> Push | None:
    """The function itself, applied to t, with the operands that the derivative reads, and zeros for others."""
    if not is_linear(rule, k):
        return None
    n, read, options = rule.operands, reads_operands(rule, k) - {k}, options_of(rule)
    if n == 1:
        compute = rule.compute
        return lambda t, saved: (
            compute(t, *options(saved)) if type(t) is np.ndarray else run(rule, [t, *options(saved)])
        )
    if n == 2 and read == {1 - k} and len(rule.names) == 2:
        return factor_push(rule, k)

    def push(t: Any, saved: tuple[Any, ...]) -> Any:
        operands = [t if j == k else saved[j] if j in read else no_change(saved[j]) for j in range(n)]
        return run(rule, [*operands, *options(saved)])

    return push


def factor_push(rule: Rule, k: int) -> Push:
    """The same for a product of two operands without options: the quickest way to matmul."""
    compute, other = rule.compute, 1 - k

    def push(t: Any, saved: tuple[Any, ...]) -> Any:
        y = saved[other]
        if type(t) is np.ndarray is type(y):
            return compute(y, t) if k else compute(t, y)
        return run(rule, [y, t] if k else [t, y])

    return push


def linear_together(rule: Rule) -> Callable[[Sequence[Any], tuple[Any, ...]], Any]:
    """The same where all operands are linear at once: n arrays are joined in one call."""
    options = options_of(rule)

    def push(tangents: Sequence[Any], saved: tuple[Any, ...]) -> Any:
        moved = [no_change(x) if t is None else t for t, x in zip(tangents, saved, strict=False)]
        return run(rule, [*moved, *options(saved)])

    return push


def options_of(rule: Rule) -> Callable[[tuple[Any, ...]], Any]:
    """The options of a call, from ``saved``; what would be added to z is zero."""
    n = rule.operands
    places = [k for k, name in enumerate(rule.names) if k >= n and name in OFFSETS]
    if not places:
        return lambda saved: saved[n:-1]
    return lambda saved: [0 if k in places and is_given(v) else v for k, v in enumerate(saved[:-1])][n:]


def no_change(x: Any) -> Any:
    """The tangent of an operand that does not move; None stays None."""
    if x is None:
        return None
    return np.zeros(x.shape, x.dtype) if hasattr(x, "dtype") else 0.0


def run(rule: Rule, values: list[Any]) -> Any:
    """The row's function; recorded if tangents are nodes."""
    n = rule.operands
    operands = [np.asarray(v) if isinstance(v, np.generic) else v for v in values[:n]]
    if all([type(v) is np.ndarray for v in operands]):
        return rule.compute(*operands, *values[n:])
    z = apply(rule, (*operands, *values[n:]))
    return z if any([isinstance(v, NodeRole) for v in operands]) else value_of(z)


def reduction_push(rule: Rule, k: int) -> Push | None:
    """Σ (Jᵀ 1) t along the axes that the function reduces; None if it is not a reduction."""
    if rule.operands > 1 or not {"axis", "keepdims"} <= set(rule.names) or rule.needs[0] is None:
        return None
    axis_place, keepdims_place = rule.names.index("axis"), rule.names.index("keepdims")

    def push(t: Any, saved: tuple[Any, ...]) -> Any:
        z, axis, keepdims = saved[-1], saved[axis_place], saved[keepdims_place]
        seed = np.ones(z.shape, z.dtype) if type(t) is np.ndarray else np.ones_like(t, z.dtype, shape=z.shape)
        vjp = (rule.complex_vjps() if z.dtype.kind == "c" else rule.vjps)[0]
        assert vjp is not None  # noqa: S101
        slope = np.conjugate(vjp(seed, saved))

        def total(t: Any) -> Any:
            product = np.real(slope * t) if z.dtype.kind != "c" == t.dtype.kind else slope * t
            return product.sum(axis=axis, keepdims=bool(is_given(keepdims) and keepdims))

        found = total(t)
        if isinstance(value_of(found), PLAIN) and np.isfinite(value_of(found)).all():
            return found
        return total(np.where((slope == 0) & ~np.isfinite(t), 0, t))  # the tangent of a NaN that was left out is NaN

    return push
