"""Names that are bound anew, where that is a mistake.

``w = w - lr * w.grad``: the name ``w`` is a Variable before, and an Operation afterwards.
The line is right in a textbook and wrong in a loop: the graph grows with every step, and ``w.grad`` is that of an
operation. There can be no error where it happens, because ``w - 0.1`` is a fine thing to compute. It is noticed where
``w`` is used in a way that makes sense for parameters only: ``w.zero_grad()``, ``optim.SGD([w])``, ``step()``.

``array += node``: the name is a node afterwards, but every other holder of the array has its numbers without a history.
That is noticed at the next operation, and when a gradient is computed. (A function that ``af.grad`` is given runs once
more instead, and only those who read the array are told.)
"""

from __future__ import annotations

import builtins
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np

from ..base.errors import LostGradientError
from ..base.modes import LEFT, MODES, modes, replace
from ..program.callers import caller, getframe
from ..program.places import variables_of
from .grads import read_grad
from .nodes import Array, NodeRole, VariableRole, current_record
from .versions import FreedArray


def original_of(x: object) -> VariableRole | None:
    """The Variable w, if x is ``w - lr * w.grad`` or ``w + lr * -w.grad`` and no pass has reached x yet; else None."""
    record = current_record(x) if isinstance(x, NodeRole) and not isinstance(x, VariableRole) else None
    if record is None or record.rule.name not in ("add", "subtract") or read_grad(record, record.dtype) is not None:
        return None
    first, second = record.parents
    w, step = (first, record.saved[1]) if second is None else (second, record.saved[0])
    is_other = second is not None and (first is not None or record.rule.name == "subtract")
    if is_other or not isinstance(w, VariableRole):
        return None
    g = read_grad(w, w.dtype)  # type: ignore[attr-defined]
    if g is None or not isinstance(step, (np.ndarray, np.generic, FreedArray)) or step.shape != g.shape:
        return None
    return w if is_multiple(step, g) else None


def is_multiple(step: Array | FreedArray, g: Array) -> bool:
    """Is a plain operand a multiple of the gradient? One that was not kept has been a temporary, as that is."""
    if isinstance(step, FreedArray):
        step = step.reference()
        return step is None or is_multiple(step, g)
    with np.errstate(all="ignore"):
        a, b = [x / (np.max(np.abs(x), initial=0) or 1) for x in (np.ravel(step), np.ravel(np.asarray(g)))]
        return bool((b.any() or not a.any()) and np.allclose(a * np.vdot(b, b), b * np.vdot(b, a), rtol=1e-5))


def rebound(x: NodeRole, w: NodeRole, what: str) -> TypeError:
    """The error for a rebound Variable when ``what`` is called on it."""
    return TypeError(
        f"{what}, and {x.name} is no longer one: {w.name} = {w.name} - lr * {w.name}.grad has made an Operation of it, "
        f"and the graph grows with each step. Write into the Variable instead: "
        f"with af.no_grad(): {w.name} -= lr * {w.name}.grad"
    )


def leave(array: Any, error: LostGradientError | None = None, line: str = "") -> None:
    """Note the array of ``array += node``, a weak reference; with the error, if that has been raised."""
    LEFT.append((array, line or caller(), threading.get_ident(), weakref.ref(error) if error else None))
    MODES.set(replace(modes(), left=error is None))


def check_left(passing: bool = False) -> None:
    """Raise LostGradientError if an array of ``array += node`` is still held. If a program catches it, each pass
    raises it again (``passing``), until the array is gone or the error has been shown at a prompt."""
    MODES.set(replace(modes(), left=False))
    for mark in [m for m in LEFT if m[2] == threading.get_ident() and (passing or m[3] is None)]:
        LEFT[:] = [m for m in LEFT if m is not mark]  # remove() would compare what is referred to
        reference, line, _, last = mark
        is_shown = last is not None and last() is not None and last() is getattr(sys, "last_value", None)
        if not is_shown and is_held(reference):
            error = LostGradientError(
                f"array += node at {line} made a node of the name only. Something else still holds the array, which "
                f"has the numbers without a gradient: make it with af.zeros(...), or write a = a + node."
            )
            leave(reference, error, line)
            raise error


def is_held(array: Any) -> bool:
    """Does anything hold what this weak reference refers to, but for what a notebook or a prompt has shown?"""
    gc.collect()
    frame: Any = getframe(1)
    while frame is not None:  # a snapshot of its variables, which somebody has taken, is brought up to date
        variables_of(frame)
        frame = frame.f_back
    main = vars(sys.modules["__main__"])
    outputs = [vars(builtins).get("_"), main.get("_"), *main.get("_oh", {}).values()]
    return array() is not None and not any([x is array() for x in outputs])
