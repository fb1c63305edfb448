"""What the caller is about to do with what an attribute gave him, read from his program.

``w.grad`` is None before a backward pass, and ``w.data`` is NumPy's memoryview. Both are right answers, and Python's
message about ``0.1 * None`` names neither ``w`` nor what to do. Python asks None, not us. So, where the answer is None
or a memoryview, the instructions that follow are looked at: if the next operator takes the answer, the error is raised
here, with the same type and a better text.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

PUSHES = ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_GLOBAL")
BESIDE = {"EXTENDED_ARG", "CACHE", "NOP"}
KEPT = 3000  # places that are remembered
PLACES: dict[tuple[Any, ...], tuple[CodeType, Any]] = {}  # by the id of the code: hashing it is slow


def read_once(read: Callable[..., Any], frame: FrameType, *what: Any) -> Any:
    """``read(code, instruction, *what)`` of the place where this frame is, which stays the same there.

    (The code is kept, so that no other gets the same id.)
    """
    code, last = frame.f_code, frame.f_lasti
    key = (read, id(code), last, *what)
    known = PLACES.get(key)
    if known is None:
        if len(PLACES) >= KEPT:
            PLACES.clear()
        known = PLACES[key] = code, read(code, last, *what)
    return known[1]


def read_operator(code: CodeType, last: int, attribute: str) -> str | None:
    """The operator (``*``, ``-=``) that takes what reading ``attribute`` gives at this place; None where it is not
    arithmetic, or cannot be told. ``above`` counts what lies on the stack above the answer."""
    rows = list(dis.get_instructions(code))
    k = max([k for k, row in enumerate(rows) if row.offset <= last], default=None)
    if k is None or rows[k].opname != "LOAD_ATTR" or rows[k].argval != attribute:
        return None
    above = 0
    for row in rows[k + 1 :]:
        name = row.opname
        if name == "BINARY_OP" and not row.argrepr.startswith("["):
            if above <= 1:
                return str(row.argrepr)
            above -= 1
        elif name == "UNARY_NEGATIVE" and not above:
            return "-"
        elif name.startswith(PUSHES) and "NULL" not in row.argrepr:
            above += len(row.argval) if type(row.argval) is tuple and name.count("LOAD_FAST") == 2 else 1
        elif name == "LOAD_ATTR" and above and "NULL" not in row.argrepr and "|self" not in row.argrepr:
            pass  # of what is on top: one for one
        elif name not in BESIDE:
            return None
    return None


def refuse_missing_grad(node: Any, frame: FrameType) -> None:
    """Raise TypeError, as Python would, if the None of ``node.grad`` is about to be computed with."""
    if (operator := read_once(read_operator, frame, "grad")) is not None:
        raise TypeError(
            f"{node.name}.grad is None, and {operator} needs numbers: no backward pass has reached {node.name} yet, or "
            f"zero_grad() came after it. Call loss.backward() first. If it was called, then "
            f"{reason_for_none(node)}."
        )


def reason_for_none(node: Any) -> str:
    """Why a backward pass may have left no gradient."""
    if not node.requires_grad:
        return f"{node.name} gets none, because it is a Constant or frozen"
    if node.grad_fn is not None:
        return (
            "it was too large to be kept (loss.backward(keep_grads=True) keeps it), or the loss does not depend on it"
        )
    return f"the loss was computed from something else ({node.name}.why(loss) says more)"


def refuse_bytes(node: Any, frame: FrameType) -> None:
    """Raise TypeError, as Python would, if the memoryview of ``node.data`` is about to be computed with."""
    if (operator := read_once(read_operator, frame, "data")) is not None:
        raise TypeError(
            f"{node.name}.data is NumPy's memoryview of the bytes, which {operator} does not take. The numbers are "
            f"{node.name}.value. To change a Variable: with af.no_grad(): {node.name} -= lr * {node.name}.grad"
        )
