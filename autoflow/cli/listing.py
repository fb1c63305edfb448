"""Nodes as lines of a table: name, value, gradient. For the command line and the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def nodes_of(root: Any) -> list[Any]:
    """Every node that ``root`` was computed from, and ``root``: leaves first, operands before results."""
    found: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        ahead = next((x for x in node.operands if identity(x) not in found), None)
        if ahead is not None:
            waiting.append(ahead)
        else:
            found[identity(node)] = waiting.pop()
    return sorted(found.values(), key=lambda node: node.grad_fn is not None)


def identity(node: Any) -> int:
    """What tells nodes apart: an operation may be shown by several arrays, but has one ``grad_fn``."""
    return id(node.grad_fn or node)


def print_table(nodes: Sequence[Any]) -> None:
    """Name, value and gradient, a line each."""
    rows = [("name", "value", "gradient")] + [(n.name, format_value(n.value), format_value(n.grad)) for n in nodes]
    first, second = (max(len(row[k]) for row in rows) for k in (0, 1))
    for name, value, grad in rows:
        print(f"{name:{first}}  {value:>{second}}  {grad}")


def format_value(value: Any) -> str:
    """Numbers on one line, shortened if there are many.

    >>> format_value(np.float64(2.0)), format_value(np.array([[1.0, 2.5]]))
    ('2', '[[1, 2.5]]')
    """
    if np.ndim(value) == 0:
        return f"{float(value):.10g}"
    text = np.array2string(
        value, separator=", ", threshold=20, edgeitems=3, max_line_width=10**6, formatter={"all": lambda v: f"{v:.6g}"}
    )
    return " ".join(text.split())
