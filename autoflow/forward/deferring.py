"""Another class beside a node: who computes?

A Quantity, a labelled array, a lazy one have NumPy's hooks as nodes have, and the one that is asked first may say
NotImplemented: then the other one is asked. We say it only where no gradient is lost. That is so if the class keeps the
array that it is given (``nodes/foreign.py`` knows which do), and if there is no history. A class that would take the
numbers of a node is refused, because the other way round, a node that takes the numbers of a Quantity, loses the unit
without a word. Libraries for which a node is its numbers (pandas) are data for us as they always were.

Where NumPy itself asks nobody (``node[...] = quantity``, ``node.dot(quantity)``, ``np.concatenate([node, labelled])``
if ``labelled`` has no ``__array_function__``) an object is the array that it keeps, a node included, or its numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.registry import registered_type
from ..errors import MixedArraysError
from ..modes import modes
from ..nodes.foreign import kept_in, wants_numbers
from ..nodes.nodes import NodeRole
from ..rules import RULES
from ..rules.outside import public_name
from ..rules.shapes import has_gradient
from ..rules.table import COMPOSED

NUMPYS_HOOK = np.ndarray.__array_ufunc__
HOOKS: set[Any] = {NUMPYS_HOOK}  # operands with one of these need not be looked at; dispatch.py adds that of nodes


def is_anothers(function: Any, kinds: Any, operands: Any, writes: bool, hook: str = "__array_ufunc__") -> bool:
    """Is a class of these ``kinds`` to be asked for ``function(*operands)``? Then our answer is NotImplemented.

    Not for a function whose answer has no history (a comparison): of numbers NumPy asks the class by itself.

    Raises MixedArraysError if a history would be lost, or if the call ``writes`` into one of its arguments
    (``x *= quantity``): what another class answers does not stand in x.
    """
    found = [
        kind for kind in kinds if kind is not np.ndarray and not issubclass(kind, NodeRole) and has_own_hook(kind, hook)
    ]
    if not found or not (function in RULES or function in COMPOSED):
        return False
    loses = modes().recording and has_gradient(operands)
    for kind in found:
        if getattr(kind, hook) is not None and (writes or (loses and kept_in(kind) is None)):
            raise not_kept(kind, public_name(function), writes)
    return True


def has_own_hook(kind: type, hook: str) -> bool:
    """Has the class a way of its own to compute, and not NumPy's, that of a registered array type or that of a library
    which wants numbers? ``__array_ufunc__ = None``, no way at all, is one: Python asks the class."""
    known = registered_type(kind)
    if not hasattr(kind, hook) or (known is not None and getattr(kind, hook) is getattr(known, hook)):
        return False
    owner = next(cls for cls in kind.__mro__ if hook in vars(cls))
    return not wants_numbers(owner.__module__)


def not_kept(kind: type, call: str, writes: bool) -> MixedArraysError:
    """What is said where a class would take the numbers of a node, or a node those of a class that adds something."""
    name, full = kind.__qualname__, f"{kind.__module__}.{kind.__qualname__}"
    if writes:
        return MixedArraysError(
            f"{call} of a node and {full} in place: only numbers can be written, and what {name} adds to them would be "
            f"lost. Make a new object, x = x * y; or compute with its numbers, np.asarray(y)."
        )
    return MixedArraysError(
        f"{call} of a node and {full}, a class with arithmetic of its own that is not known to keep a node: the "
        f"history would be lost, or what {name} adds to numbers. Compute with its numbers, np.asarray(y). If its "
        f"arithmetic keeps the array that it is given, let the class say so: {name}.__carries_nodes__ = 'attribute "
        f"that holds it'."
    )
