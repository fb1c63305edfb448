"""How a node prints: numbers first, as NumPy users expect, then the kind of node. Nothing here records."""

from __future__ import annotations

import numpy as np

from ..base.modes import modes
from ..base.types import Array
from .records import Holder

LONGEST = 1600  # characters of a repr
PRINTED = 200  # elements; of larger arrays NumPy shows the corners
EDGES = slice(None, 3), slice(3, 4), slice(-3, None)


def numbers(node: Array) -> str:
    """The values as NumPy prints them, with commas, cut where they get long."""
    value, cut = corners(node)
    text = np.array2string(value, separator=", ", threshold=0 if cut else PRINTED) if value.ndim else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 20] + " ... (shortened)"


def corners(node: Array) -> tuple[np.ndarray, bool]:
    """The numbers to print as a NumPy array, and whether it is only what NumPy shows of a large one: the first and last
    three of each axis, and one between them. From a GPU no more than that is copied."""
    family = node.family  # (a node that NumPy made without asking us has no slots)
    value = node._value if hasattr(node, "_value") else node.view(family.array_type)
    if isinstance(value, np.ndarray):
        return value, False
    if value.size <= PRINTED:
        return family.to_numpy(value), False
    for axis, n in enumerate(value.shape):
        if n > 7:
            value = np.concatenate([value[(slice(None),) * axis + (part,)] for part in EDGES], axis=axis)
    return family.to_numpy(value), True


def node_repr(node: Array) -> str:
    """``[1., 2.]  Variable x``; ``8.41  Operation a5 = subtract(a3, a4)``.

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 2.0], name="x")
    >>> x * 2
    [2., 4.]  Operation multiply_0 = multiply(x, 2)

    Debuggers call it at any time, so it never raises, whatever a user's print options or names do.
    """
    try:
        return describe_node(node)
    except Exception as error:
        return f"<{type(node).__name__}, which cannot be shown: {type(error).__name__}>"


def describe_node(node: Array) -> str:
    """The same text, without the safety net."""
    kind = type(node).__name__.replace("View", "Operation")
    if not hasattr(node, "_value"):
        return f"{numbers(node)}  {kind} made by NumPy, without a history"
    words = [kind, clip_name(node.name)]
    if (record := node.grad_fn) is not None and len(record.parents) <= 4:
        words.append(f"= {record.rule.name}({', '.join(map(operand_name, record.operands))})")
    elif record is not None:
        words.append(f"= {record.rule.name} of {len(record.parents)} operands")
    if node.dtype != np.float64:
        words.append(str(node.dtype))
    if getattr(node, "_live", True) is False:
        words.append("frozen")
    if left_out(node, record):
        words.append("(its gradient is kept only by backward(keep_grads=True))")
    text = numbers(node)
    return text + ("\n" if "\n" in text else "  ") + " ".join(words)


def left_out(node: Array, record: object) -> bool:
    """Has the operation no gradient, and is it too large for a backward pass to keep one unless told to?"""
    is_large = record is not None and node.size > modes().keep
    return is_large and getattr(record, "_raw_grad", None) is None and getattr(record, "_shown_grad", None) is None


def operand_name(operand: Holder) -> str:
    """A name, or a number as it is written."""
    if hasattr(operand, "node_name"):
        return clip_name(operand.node_name)
    return clip_name(operand.name) if hasattr(operand, "operands") else literal(operand)


def literal(x: Array) -> str:
    """A plain operand as a name, with all of its digits: ``2``, ``0.5``, ``float64[3, 4]``."""
    return f"{x.dtype}{list(x.shape)}" if getattr(x, "shape", ()) else str(x).removesuffix(".0")


def clip_name(name: str) -> str:
    """A name of reasonable length, on one line."""
    name = name if name.isprintable() else name.encode("unicode_escape").decode()
    return name if len(name) <= 60 else name[:57] + "..."


def node_str(node: Array) -> str:
    """As NumPy prints the value."""
    value, cut = corners(node)
    return np.array2string(value, threshold=0) if cut else str(value)


def node_format(node: Array, spec: str) -> str:
    """As NumPy formats the value."""
    value, _ = corners(node)
    return format(value if value.ndim else value[()], spec)
