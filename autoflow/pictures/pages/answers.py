"""What *predict first* can ask for, and what the right answer is, as ``predict.js`` gets it.

a number               a real, finite number; answers may be off by 1 %
{"entries": [...]}     an array of at most six numbers: all of them, in order
{"choices", "right"}   of larger arrays the formula of what is sent back, among others of the picture
{"shape": [...]}       where there is no formula
"""

from __future__ import annotations

import math
from typing import Any

from ..model.data import GraphData, Vertex
from ..model.numbers import Numbers

OTHERS = 2  # wrong formulas beside the right one


def answer_of(x: Numbers | None) -> Any:
    """A number, or the entries of a small array; None for what is not known or cannot be typed.

    >>> from autoflow.pictures.model.numbers import numbers
    >>> import numpy as np
    >>> answer_of(numbers(2.5)), answer_of(numbers(np.ones(3))), answer_of(numbers(np.ones(99)))
    (2.5, {'entries': [1.0, 1.0, 1.0]}, None)
    """
    if x is None or not x.elements:
        return None
    found = [float(v) for v in x.elements if isinstance(v, (int, float)) and math.isfinite(v)]
    if len(found) < len(x.elements):
        return None
    return found[0] if x.scalar else {"entries": found}


def sent_answer(graph: GraphData, node: Vertex, slot: int, sent: Numbers | None) -> Any:
    """What is sent back to an operand: numbers, or its formula, or its shape."""
    known = answer_of(sent)
    if known is not None or sent is None or sent.scalar or sent.elements is not None:
        return known
    return formula_choice(graph, node, slot) or {"shape": list(sent.shape)}


def formula_choice(graph: GraphData, node: Vertex, slot: int) -> dict[str, Any] | None:
    """The formula of what is sent back, and others: those of the same card first. None if there are no others."""
    rules = {row.slot: row.rule for row in node.operands}
    right = rules.get(slot, "")
    pool = [*rules.values(), *[row.rule for v in graph.nodes for row in v.operands]]
    others = [rule for rule in dict.fromkeys(pool) if rule and rule != right][:OTHERS]
    if not right or not others:
        return None
    choices = sorted([right, *others])
    return {"choices": choices, "right": choices.index(right)}
