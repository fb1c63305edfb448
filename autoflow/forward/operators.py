"""``x * y``, ``2.0 * x``, ``x += y``, ``x < y``: the operators of nodes, each under the name that Python calls.

What they do is in the closures of ``closures.py``; ``inplace.py`` has what ``x += y`` does.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from ..nodes.nodes import Array, Node, NodeRole, Values, value_of
from ..rules import RULES
from ..table.blocks import FROM, in_blocks
from .closures import QUICK, Binary, binary, quicken, reflected, unary
from .node_methods import install_methods
from .recording import FORWARD, apply

Booleans: TypeAlias = "np.ndarray[Values, np.dtype[np.bool]]"


def comparison(compare: Binary) -> Binary:
    """``x < y``: a plain array of booleans. Python's operator also knows what to do with a text."""
    return lambda x, y: (compare if x.size < FROM else partial(in_blocks, compare))(value_of(x), value_of(y))


def both_ways(ufunc: np.ufunc) -> tuple[Binary, Binary]:
    """The closures of ``x * y`` and of ``y * x`` where y is not a node."""
    rule, compute = RULES[ufunc], QUICK.get(ufunc, ufunc)
    if ufunc not in FORWARD:  # a user's row, without a derivative with respect to one of the operands
        forward = lambda x, y: apply(rule, (x, y))  # noqa: E731
        return forward, reflected(forward)
    numbers, compute = rule.operator is None, rule.operator or compute
    return binary(rule, compute, numbers, 1), reflected(binary(rule, compute, numbers, 2))


def in_place(name: str, ufunc: np.ufunc) -> Binary:
    """``x += y`` and its like: the first call replaces itself by the method that ``inplace.py`` makes."""

    def first(self: Node, other: Array) -> Array:
        from .inplace import augmented_operator

        method = augmented_operator(ufunc)
        setattr(NodeRole, name, method)
        return method(self, other)

    return first


# By the names that Python has for them: x + y, y + x and x += y; -x; x < y.
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
}  # fmt: skip
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Operators:
    """Arithmetic, recorded. Comparisons: plain arrays of booleans."""

    if TYPE_CHECKING:  # for checkers of types, in full: pyright takes no aliases; tests/test_typing.py compares

        def __add__(self, y: Array, /) -> Node: ...
        def __sub__(self, y: Array, /) -> Node: ...
        def __mul__(self, y: Array, /) -> Node: ...
        def __truediv__(self, y: Array, /) -> Node: ...
        def __floordiv__(self, y: Array, /) -> Node: ...
        def __mod__(self, y: Array, /) -> Node: ...
        def __pow__(self, y: Array, /) -> Node: ...
        def __matmul__(self, y: Array, /) -> Node: ...
        def __radd__(self, y: Array, /) -> Node: ...
        def __rsub__(self, y: Array, /) -> Node: ...
        def __rmul__(self, y: Array, /) -> Node: ...
        def __rtruediv__(self, y: Array, /) -> Node: ...
        def __rfloordiv__(self, y: Array, /) -> Node: ...
        def __rmod__(self, y: Array, /) -> Node: ...
        def __rpow__(self, y: Array, /) -> Node: ...
        def __rmatmul__(self, y: Array, /) -> Node: ...
        def __iadd__(self, y: Array, /) -> Self: ...
        def __isub__(self, y: Array, /) -> Self: ...
        def __imul__(self, y: Array, /) -> Self: ...
        def __itruediv__(self, y: Array, /) -> Self: ...
        def __ifloordiv__(self, y: Array, /) -> Self: ...
        def __imod__(self, y: Array, /) -> Self: ...
        def __ipow__(self, y: Array, /) -> Self: ...
        def __imatmul__(self, y: Array, /) -> Self: ...
        def __neg__(self) -> Node: ...
        def __pos__(self) -> Node: ...
        def __abs__(self) -> Node: ...
        def __lt__(self, y: Array, /) -> Booleans: ...
        def __le__(self, y: Array, /) -> Booleans: ...
        def __gt__(self, y: Array, /) -> Booleans: ...
        def __ge__(self, y: Array, /) -> Booleans: ...
        def __eq__(self, y: Array, /) -> Booleans: ...  # type: ignore[override]
        def __ne__(self, y: Array, /) -> Booleans: ...  # type: ignore[override]

    def __divmod__(self, other: Array) -> tuple[Node, Node]:
        return self // other, self % other

    def __rdivmod__(self, other: Array) -> tuple[Node, Node]:
        return other // self, other % self


def install() -> None:
    """Give nodes these methods; again, when a row of the table has been replaced."""
    quicken()
    for name, ufunc in BINARY.items():
        methods = *both_ways(ufunc), in_place(f"__i{name}__", ufunc)
        for way, method in zip(("", "r", "i"), methods, strict=True):
            setattr(NodeRole, f"__{way}{name}__", method)
    for name, ufunc in UNARY.items():
        setattr(NodeRole, f"__{name}__", unary(RULES[ufunc], 1))
    for name in COMPARISONS:
        setattr(NodeRole, f"__{name}__", comparison(getattr(operator, name)))
    install_methods(NodeRole, Operators, "Node")


install()
