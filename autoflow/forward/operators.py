"""``x * y``, ``2.0 * x``, ``x += y``, ``x < y``: the operators of nodes, each under the name that Python calls.

What they do is in the closures of ``closures.py``; ``inplace.py`` has what ``x += y`` does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ..nodes.nodes import Node, NodeRole, value_of
from ..rules import RULES
from ..table.blocks import FROM, in_blocks
from .closures import QUICK, binary, quicken, reflected, unary
from .recording import FORWARD, apply

Booleans: TypeAlias = "np.ndarray[tuple[Any, ...], np.dtype[np.bool]]"


def comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``x < y``: a plain array of booleans. Python's operator also knows what to do with a text."""
    return lambda x, y: (compare if x.size < FROM else partial(in_blocks, compare))(value_of(x), value_of(y))


def both_ways(function: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The closures of ``x * y`` and of ``y * x`` where y is no node."""
    rule, compute = RULES[function], QUICK.get(function, function)
    pair: Any
    if function not in FORWARD:  # a row of a user's, without a derivative by one of the operands
        forward = lambda x, y: apply(rule, (x, y))  # noqa: E731
        pair = forward, reflected(forward)
    else:
        numbers, compute = rule.operator is None, rule.operator or compute
        pair = binary(rule, compute, numbers, 1), reflected(binary(rule, compute, numbers, 2))
    for closure in pair:
        vars(closure)["ufunc"] = function
    return pair


def in_place(function: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x += y`` and its like: ``inplace.py`` makes the method at the first call."""
    made: list[Callable[[Any, Any], Any]] = []

    def method(self: Any, other: Any) -> Any:
        if not made:
            from .inplace import augmented_operator

            made.append(augmented_operator(function))
        return made[0](self, other)

    return method


class Operators:
    """Arithmetic, recorded. Comparisons: plain arrays of booleans."""

    # fmt: off
    if TYPE_CHECKING:  # for checkers of types, in full: pyright takes no aliases; tests/test_typing.py compares
        def __add__(self, y: Any, /) -> Node: ...
        def __sub__(self, y: Any, /) -> Node: ...
        def __mul__(self, y: Any, /) -> Node: ...
        def __truediv__(self, y: Any, /) -> Node: ...
        def __floordiv__(self, y: Any, /) -> Node: ...
        def __mod__(self, y: Any, /) -> Node: ...
        def __pow__(self, y: Any, /) -> Node: ...
        def __matmul__(self, y: Any, /) -> Node: ...
        def __radd__(self, y: Any, /) -> Node: ...
        def __rsub__(self, y: Any, /) -> Node: ...
        def __rmul__(self, y: Any, /) -> Node: ...
        def __rtruediv__(self, y: Any, /) -> Node: ...
        def __rfloordiv__(self, y: Any, /) -> Node: ...
        def __rmod__(self, y: Any, /) -> Node: ...
        def __rpow__(self, y: Any, /) -> Node: ...
        def __rmatmul__(self, y: Any, /) -> Node: ...
        def __iadd__(self, y: Any, /) -> Self: ...
        def __isub__(self, y: Any, /) -> Self: ...
        def __imul__(self, y: Any, /) -> Self: ...
        def __itruediv__(self, y: Any, /) -> Self: ...
        def __ifloordiv__(self, y: Any, /) -> Self: ...
        def __imod__(self, y: Any, /) -> Self: ...
        def __ipow__(self, y: Any, /) -> Self: ...
        def __imatmul__(self, y: Any, /) -> Self: ...
        def __neg__(self) -> Node: ...
        def __pos__(self) -> Node: ...
        def __abs__(self) -> Node: ...
        def __lt__(self, y: Any, /) -> Booleans: ...
        def __le__(self, y: Any, /) -> Booleans: ...
        def __gt__(self, y: Any, /) -> Booleans: ...
        def __ge__(self, y: Any, /) -> Booleans: ...
        def __eq__(self, y: Any, /) -> Booleans: ...  # type: ignore[override]
        def __ne__(self, y: Any, /) -> Booleans: ...  # type: ignore[override]
    else:
        __add__, __radd__ = both_ways(np.add)
        __sub__, __rsub__ = both_ways(np.subtract)
        __mul__, __rmul__ = both_ways(np.multiply)
        __truediv__, __rtruediv__ = both_ways(np.divide)
        __floordiv__, __rfloordiv__ = both_ways(np.floor_divide)
        __mod__, __rmod__ = both_ways(np.remainder)
        __pow__, __rpow__ = both_ways(np.power)
        __matmul__, __rmatmul__ = both_ways(np.matmul)
        __neg__, __pos__, __abs__ = [unary(RULES[ufunc], 1) for ufunc in (np.negative, np.positive, np.absolute)]

        __iadd__, __isub__, __imul__ = map(in_place, (np.add, np.subtract, np.multiply))
        __itruediv__, __ifloordiv__ = map(in_place, (np.divide, np.floor_divide))
        __imod__, __ipow__, __imatmul__ = map(in_place, (np.remainder, np.power, np.matmul))

        __lt__, __le__, __gt__, __ge__ = map(comparison, (operator.lt, operator.le, operator.gt, operator.ge))
        __eq__, __ne__ = map(comparison, (operator.eq, operator.ne))
    # fmt: on

    def __divmod__(self, other: Any) -> tuple[Node, Node]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Node, Node]:
        return other // self, other % self


def install() -> None:
    """Give nodes these methods; again, when a row of the table has been replaced."""
    quicken()
    for name, method in vars(Operators).items():
        if hasattr(method, "ufunc"):
            setattr(NodeRole, name, both_ways(method.ufunc)[name.startswith("__r")])
        elif callable(method):
            setattr(NodeRole, name, method)


install()
