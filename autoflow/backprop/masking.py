"""``with af.safe_masking():`` a zero gradient stays zero in a backward pass, whatever the local derivative.

``np.where(x > 0, np.log(x), 0.0)`` sends log a zero gradient where x <= 0, and log multiplies it by 1/x: at x = 0 that
is 0 · ∞ = NaN. Calculus has no better answer, but what was masked away should often stay away. In this mode it does:
the contribution of an elementwise row is 0 wherever the incoming gradient is 0.

It costs nothing when it is off: the pass looks once, at its start, and then wraps its ``open_record``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from ..modes import switched
from ..rules.shapes import sum_to
from ..rules.table import Rule
from ..rules.vjps import conjugate_vjp, vjp_by_position

F = TypeVar("F", bound=Callable[..., Any])


@overload
def safe_masking(function: None = None) -> switched: ...
@overload
def safe_masking(function: F) -> F: ...
def safe_masking(function: Any = None) -> Any:
    """0 · ∞ = 0 in backward passes: a context manager, and a decorator with or without parentheses.

    The mode is read when the pass starts, and applies to elementwise functions. An infinite derivative times a gradient
    other than 0 stays infinite.

    >>> import autoflow as af
    >>> from autoflow.backprop.masking import safe_masking
    >>> x = af.Variable([0.0, 2.0])
    >>> y = np.where(x > 0, np.sqrt(x), 0.0).sum()
    >>> with safe_masking():
    ...     y.backward()
    >>> x.grad
    array([0.        , 0.35355339])
    """
    return switched(safe_masking=True) if function is None else switched(safe_masking=True)(function)


def wrap_open_record(open_record: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The engine's ``open_record``, with the vjps of elementwise rows replaced; each is made once in a pass."""
    made: dict[tuple[Rule, str], tuple[Any, ...]] = {}

    def open_masked(pair: tuple[Any, Any]) -> Any:
        record = pair[0]
        g, vjps, saved, kept = open_record(pair)
        rule = record.rule
        if not rule.elementwise or rule.joint is not None:
            return g, vjps, saved, kept
        kind = "number" if type(g) is np.float64 else saved[-1].dtype.kind
        if (rule, kind) not in made:
            made[rule, kind] = tuple([masked_vjp(rule, k, kind) for k in range(len(rule.needs))])
        return g, made[rule, kind], saved, kept

    return open_masked


def masked_vjp(rule: Rule, k: int, kind: str) -> Any:
    """The vjp of operand k that keeps zeros: before the sum over what was broadcast, where a NaN would spread."""
    needs = rule.needs[k]
    if needs is None:
        return None
    if kind == "number":
        quick: Any = rule.scalar_vjps[k]
        return lambda g, saved: quick(g, saved) if g != 0 else np.float64(0)
    unsummed = vjp_by_position(rule.derivatives[rule.names[k]], needs)
    if kind == "c" and rule.holomorphic:
        unsummed = conjugate_vjp(unsummed)

    def vjp(g: Any, saved: tuple[Any, ...]) -> Any:
        return sum_to(np.where(g == 0, 0, unsummed(g, saved)), saved[k].shape)

    return vjp
