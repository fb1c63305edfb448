"""Functions that ask for an array's identity or class: ``x is y``, ``id(x)``, ``type(x)``.

While a function is recorded its arguments are not arrays, and these three cannot be intercepted. (``isinstance(x,
np.ndarray)`` and ``x.__class__`` can.) So functions that use them are found by their code. Comparing with a constant
(``x is None``) is harmless. For the others

* an array that is passed twice is one object during the recording, and which arguments are the same array belongs to
  the signature, as does that none of them is an array from outside;
* the first result is compared with that of eager code, which shows what else they decide: ``type(x)``, or whether
  ``x.real is x``, is the same in all calls of one signature.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ...errors import CompileError
from .reachable import code_in

ASKING = frozenset({"type", "id", "is_", "is_not"})  # builtins, and functions of the module operator
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")


@lru_cache(maxsize=10_000)
def asks(code: types.CodeType) -> bool:
    """Does this function, or one that is defined in it, compare objects by ``is``, or ask for a class or an id?

    >>> asks((lambda x: x is None).__code__), asks((lambda x, y: x is y).__code__), asks((lambda x: type(x)).__code__)
    (False, True, True)
    """
    for part in code_in(code):
        before = ""
        for instruction in dis.get_instructions(part):
            name = instruction.opname
            if name == "IS_OP" and not before.startswith("LOAD_CONST"):
                return True
            if name in LOADS and instruction.argval in ASKING:
                return True
            before = name
    return False


def aliases(arrays: Iterable[Any]) -> tuple[int, ...]:
    """Which of them are the same object: the index of each one's first occurrence. Empty if all are different.

    >>> a, b = [], []
    >>> aliases([a, b]), aliases([a, b, a])
    ((), (0, 1, 0))
    """
    ids = [id(x) for x in arrays]
    return () if len(set(ids)) == len(ids) else tuple([ids.index(k) for k in ids])


def check_not_outside(arrays: Iterable[Any], outside: frozenset[int]) -> None:
    """Raise CompileError if an argument is an array that the function also finds outside."""
    if not outside.isdisjoint([id(x) for x in arrays]):
        raise CompileError(
            "an argument of the compiled function is an array that it also finds outside, and it compares objects by "
            "`is` or `id`: pass a copy, or say af.compile(f, fallback=True)."
        )
