"""What Python itself asks of an array: a float, a truth value, a copy, a pickle, bits.

All answers are plain. The one that deserves care is ``float(node)``: NumPy calls it in ``plain[i] = node``, which is
how gradients get lost most often.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from ..errors import InPlaceError, LostGradientError
from ..modes import modes
from ..nodes.foreign import carries_nodes, wants_numbers
from ..nodes.nodes import Constant, Node, NodeRole, Variable, VariableRole, named_as, value_of
from .callers import check_taker

Array = Any
PANDAS = 5000  # that of a DataFrame is 4000
BITS = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift,
}  # fmt: skip


def number(x: Any, kind: Any) -> Any:
    """``float(x)``, ``int(x)``, ``complex(x)``: the plain number.

    Raises LostGradientError if a gradient flows to x, and the code that takes the number would lose it: see
    ``callers.py``.
    """
    switches = modes()
    if switches.recording and getattr(x, "requires_grad", False):
        check_taker(x, kind, switches.strict)
    return kind(value_of(x))


def copy_node(x: Any, frame: Any) -> Any:
    """What ``copy.copy(x)`` gives: what outlives the graph. A library whose objects carry nodes copies what is in them
    (xarray, when it sorts); it gets a copy with a history."""
    while frame is not None and frame.f_globals.get("__name__") == "copy":
        frame = frame.f_back
    if frame is not None and carries_nodes(frame.f_globals.get("__name__")) and x.requires_grad:
        return np.copy(x)
    return restore(*state(x))


class Protocol:
    """Special methods of nodes that record nothing."""

    def __float__(self) -> float:
        return number(self, float)

    def __int__(self) -> int:
        return number(self, int)

    def __complex__(self) -> complex:
        return number(self, complex)

    def __round__(self, digits: int | None = None) -> Any:
        """The plain number, rounded, as of np.float64: what Python's round is called for is printing."""
        value = value_of(self)
        if value.ndim:
            raise TypeError(f"round() takes one number, not shape {value.shape}: use np.round(x, digits)")
        return round(value[()], digits)

    def __bool__(self) -> bool:
        return bool(value_of(self))

    def __index__(self) -> int:
        return operator.index(value_of(self))

    def __contains__(self, item: Any) -> bool:
        return value_of(item) in value_of(self)

    def __invert__(self) -> np.ndarray:
        return np.invert(value_of(self))

    def __dlpack__(self, **options: Any) -> Any:
        return value_of(self).__dlpack__(**options)

    def __copy__(self) -> Node:
        return copy_node(self, sys._getframe(1))

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return copy_node(self, sys._getframe(1))

    @property
    def __pandas_priority__(self) -> int | None:
        """More than that of a Series, DataFrame or Index: ``series * node`` is asked of the node, as ``node * series``
        is. Raises LostGradientError for ``series *= node``, which could keep the numbers only."""
        frame = sys._getframe(1)
        for _ in range(4):
            if frame is None or not wants_numbers(frame.f_globals.get("__name__")):
                break
            if frame.f_code.co_name == "_inplace_method":
                if modes().recording and self.requires_grad:  # type: ignore[attr-defined]
                    raise LostGradientError(
                        f"a pandas object += {self.name} would keep its numbers, and its gradient would be lost. Write "  # type: ignore[attr-defined]
                        f"y = series + node, which is a node; or series += node.value"
                    )
                return None
            frame = frame.f_back  # type: ignore[assignment]
        return PANDAS

    def __reduce_ex__(self, version: Any) -> Any:
        return (restore, state(self)) if hasattr(self, "_value") else value_of(self).__reduce_ex__(version)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)

    def __setstate__(self, state: Any) -> None:
        raise InPlaceError("a node takes no state from outside: it is pickled as a call of autoflow.restore")


def state(x: Any) -> tuple[Any, ...]:
    """What of a node outlives its graph: the arguments of :func:`restore`."""
    if not isinstance(x, VariableRole) or not hasattr(x, "_value"):
        return False, value_of(x), x.name
    return True, value_of(x), x.name, x.requires_grad, value_of(x.grad)


def restore(variable: bool, value: Array, name: str, live: bool = True, grad: Array = None) -> Node:
    """A node from a pickle or copy: a Variable comes back as one, with its gradient; anything else as a Constant."""
    if not variable:
        return Constant(value, name)
    node = Variable(value, name, requires_grad=live)
    node.grad = None if grad is None else grad.copy()
    return node


restore.__module__ = "autoflow"  # pickles say so, wherever it is


def bit_operator(name: str, ufunc: np.ufunc) -> None:
    """``x & y``, ``y & x`` on the numbers; ``x &= y`` writes numbers into x."""

    def forward(x: Any, y: Any) -> Any:
        return ufunc(value_of(x), value_of(y))

    def inplace(x: Any, y: Any) -> Any:
        x[...] = forward(x, y)
        return x

    setattr(NodeRole, f"__{name}__", forward)
    setattr(NodeRole, f"__r{name}__", lambda y, x: forward(x, y))
    setattr(NodeRole, f"__i{name}__", inplace)


def install() -> None:
    """Give nodes these methods."""
    named_as("Node", Protocol)
    for name, member in vars(Protocol).items():
        if callable(member) or name == "__pandas_priority__":
            setattr(NodeRole, name, member)
    for name, ufunc in BITS.items():
        bit_operator(name, ufunc)
