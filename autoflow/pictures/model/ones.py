"""Products with 1 that are not in the user's formula: the backward pass begins with ones, and multiplies them.

The picture of a gradient has a card for each operation of that pass. ``1*cos(x)`` is ``cos(x)``: such a product is
called like its other factor, and is not drawn (:mod:`~..folding.results`). What has a name is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nodes.nodes import Constant
from ...nodes.versions import FreedArray

LOOKED = 100_000  # elements of an array that are compared with 1


def other_factor(record: Any) -> int | None:
    """The operand that ``record`` is equal to, as it is that times 1; None if it is something else.

    >>> import autoflow as af
    >>> x = af.Variable([2.0, 3.0], name="x")
    >>> other_factor((1.0 * x).grad_fn), other_factor((x * np.ones(2)).grad_fn), other_factor((x * 2).grad_fn)
    (1, 0, None)
    """
    if record.rule.name != "multiply" or len(record.parents) != 2 or record.options:
        return None
    for slot in (0, 1):
        x, parent = record.operands[slot], record.parents[slot]
        alone = parent is not None and record.parents[1 - slot] is None
        if alone and (x.shape, x.dtype) == (record.shape, record.dtype) and is_one(record.operands[1 - slot]):
            return slot
    return None


def is_one(x: Any) -> bool:
    """Is it 1, or an array of ones?"""
    value = x.value if isinstance(x, Constant) else x
    if isinstance(value, (FreedArray, bool)) or not isinstance(value, (int, float, np.ndarray, np.generic)):
        return False
    if not 0 < np.size(value) <= LOOKED:
        return False
    return bool(np.ravel(value)[0] == 1 and np.all(value == 1))  # the first element settles it for most arrays
