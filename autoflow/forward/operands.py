"""What an operation needs to know of each argument: its plain value, what its gradient flows to, what may change.

:func:`operand` looks at arguments that may be nodes, :func:`plain_option` at the others (an axis, a shape, an index).
``closures.py`` does the same for the commonest kinds by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..backends.registry import NODE_TYPES, array_type
from ..errors import LostGradientError, MixedArraysError, NoRuleError
from ..modes import modes
from ..nodes import versions
from ..nodes.coercion import array_of, holds_node, plain_array
from ..nodes.foreign import content, wants_numbers
from ..nodes.nodes import NodeRole, Operation, View, gradient_target, is_lent, value_of
from ..nodes.versions import FreedArray
from ..rules.shapes import join_list
from ..rules.table import Rule

Array = Any
ndarray = np.ndarray
REALS = frozenset({float, int, bool, np.float64, np.float32, np.float16, np.int64, np.int32, np.bool_})
NUMBERS = REALS | {complex, np.complex128, np.complex64}


class Operand(NamedTuple):
    """What an operation needs of one operand."""

    value: Any  # the plain array or number
    parent: Any  # what its gradient flows to: a record or a Variable; None where nothing flows
    shown: Any  # if nothing flows: the leaf that pictures show
    is_mutable: bool  # its memory may change without our knowing, or is a small view: keep a copy


def operand(x: Any) -> Operand:
    """``x`` as an operand: a node, a number, an array, or another library's box around one of them."""
    kind = type(x)
    if isinstance(x, NodeRole):
        if not hasattr(x, "_value"):
            again = None if wants_numbers(versions.calling_module()) else as_reshape_of_base(x)
            return Operand(orphan_numbers(x), None, None, True) if again is None else operand(again)
        if kind is Operation or (kind is View and x._record.number > versions.latest[0]):  # no write since
            is_mutable = kind is View and (x._value.nbytes <= versions.COPY_BYTES or is_lent(x))
            return Operand(x._value, x._record, None, is_mutable)
        record = gradient_target(x)
        is_view = getattr(x, "_view", None) is not None and kind is not x.family.Operation  # that is one of a Variable
        small_view = is_view and x._value.nbytes <= versions.COPY_BYTES
        return Operand(x._value, record, x if record is None else None, small_view or is_lent(x))
    if kind in NUMBERS or x is None:
        return Operand(x, None, None, False)
    if kind is not ndarray:
        if isinstance(inside := content(x), NodeRole):
            return operand(inside)
        if isinstance(x, (list, tuple)):
            return operand(join_list(x) if holds_node(x) else array_of(x))  # as af.array(x)
    return Operand(plain_array(x), None, None, True)


def as_reshape_of_base(x: Any) -> Any:
    """What NumPy made of a node in C, if it only put axes of length 1 before the node's own, as ``np.c_[x, y]`` and
    ``np.r_`` do: that is a reshape. Of other arrays made there nothing can be said: None."""
    base: Any = x.base
    if isinstance(x, np.ndarray) and hasattr(base, "family") and hasattr(base, "_value"):
        new = x.ndim - base.ndim
        same_memory = x.__array_interface__["data"][0] == base.__array_interface__["data"][0]
        if x.shape == (1,) * new + base.shape and x.strides[new:] == base.strides and same_memory:
            return np.reshape(base, x.shape)
    return None


def orphan_numbers(x: Any) -> Array:
    """The numbers of an array of our class that NumPy made in C, so that it has no history.

    If it looks into an array of another class (``masked.data``), the history was given up when that one was made, and
    to a library that wants numbers it does not matter. Else (``np.array(node, subok=True)``) a gradient would be lost.
    """
    another = x.base is not None and type(x.base) not in NODE_TYPES and not isinstance(x.base, NodeRole)
    if modes().recording and not another and not wants_numbers(versions.calling_module()):
        raise history_lost(x)
    return value_of(x)


def history_lost(x: Any) -> LostGradientError:
    """What is said of such an array."""
    kind = type(x).__name__.replace("View", "Operation")
    return LostGradientError(
        f"NumPy made this {kind} of shape {x.shape} from a node without telling us (np.array(node, subok=True) does, "
        f"and np.vectorize), so its history is lost. Use the node itself, or np.array(x) for a plain copy."
    )


def protect_operand(value: Any, needed: bool, fingerprints: list[Any]) -> Any:
    """A value that may change without our knowing, so that it cannot harm us: copied, or watched, or let go."""
    if isinstance(value, (tuple, list)):
        return type(value)(
            [
                protect_operand(v, True, fingerprints) if isinstance(v, list) or type(v) in NODE_TYPES else v
                for v in value
            ]
        )
    if type(value) not in NODE_TYPES:
        return value
    if value.nbytes > versions.COPY_BYTES and not needed:
        return FreedArray(value)
    value, mark = versions.protect(value)
    if mark is not None:
        fingerprints.append((value, mark))
    return value


def plain_option(option: Any, rule: Rule | None = None, k: int = 0) -> Any:
    """An option without nodes in it: of ``rule`` its k-th argument. Indices may be nodes, also inside tuples and lists;
    no gradient flows to them."""
    if isinstance(option, (NodeRole, tuple, list)) and holds_node(option):
        what = (
            "a node with a history stands" if rule is None else f"{rule.name} got a node with a history as its argument"
        )
        which = "" if rule is None else f" {rule.names[k]!r},"
        raise NoRuleError(
            f"{what}{which} where no derivative is known (as an index, an order, initial=, a shape ...), and its "
            "gradient would be lost. Use x.value or af.stop_gradient(x) there if that is meant."
        )
    option = value_of(option)
    if type(option) is np.ndarray and not option.ndim and option.dtype.kind in "iu":
        return int(option)
    return option


def hidden_batch(values: Any) -> Any:
    """The class of an array among these, or in an index, that hides the batch of an ``af.vmap``; None without one."""
    for v in values:
        if hasattr(type(v), "run_row"):
            return type(v)
        if type(v) is tuple and (found := hidden_batch(v)) is not None:
            return found
    return None


def one_family(rule: Rule, values: list[Any]) -> list[Any]:
    """Arrays of two libraries do not mix; those of a recording (``compiler/trace/traced.py``) adopt NumPy's."""
    found: set[Any] = {array_type(v) for v in values if array_type(v) is not None}
    if len(found) > 1:
        for t in found:
            if hasattr(t, "adopt") and found == {t, np.ndarray}:
                return [t.adopt(v, next(v for v in values if type(v) is t)) for v in values]
        names = " and ".join(sorted(f"{t.__module__}.{t.__name__}" for t in found if t))
        raise MixedArraysError(
            f"{rule.name} got arrays of {names}. Bring one side over first: x.to_cpu(), x.to_gpu(), "
            f"or af.Autodiff(array_type).put(x)."
        )
    return values
