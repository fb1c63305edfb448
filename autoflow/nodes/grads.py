"""Reading and setting ``.grad``, and a better error where a program computes with its None.

The next use: ``w.grad`` is None before a backward pass, and ``w.data`` is NumPy's memoryview. Both are right answers,
and Python's message about ``0.1 * None`` names neither ``w`` nor what to do. Python asks None, not us. So, where the
answer is None or a memoryview, the instructions of the user's program that follow are looked at: if the next operator
takes the answer, the error is raised here, with the same type and a better text.

Gradients: a backward pass leaves them as they come. Some are views, some are shared between two nodes, some are
numbers. What the user reads shares memory with nothing else, so the first read copies, unless the array has no other
holder.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..backends.registry import Array, array_type, family_of, layer_of
from ..base.errors import DataError, GradientShapeError, MixedArraysError
from ..base.modes import announce
from ..base.types import T
from ..table.shapes import Values, without_history
from .versions import Changes as Changes, is_alone

# ---------------------------------------------------------------- the next use of a None or a memoryview

PUSHES = ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_GLOBAL")
BESIDE = {"EXTENDED_ARG", "CACHE", "NOP"}
KEPT = 3000  # places that are remembered
PLACES: dict[Values, tuple[CodeType, Any]] = {}  # by the id of the code: hashing it is slow


def read_once(read: Callable[..., T], frame: FrameType, *what: object) -> T:
    """``read(code, instruction, *what)`` of the place where this frame is, which stays the same there.

    (The code is kept, so that no other gets the same id.)
    """
    code, last = frame.f_code, frame.f_lasti
    key = (read, id(code), last, *what)
    place = PLACES.get(key)
    if place is None:
        if len(PLACES) >= KEPT:
            PLACES.clear()
        place = PLACES[key] = code, read(code, last, *what)
    return place[1]


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


def refuse_missing_grad(node: Array, frame: FrameType) -> None:
    """Raise TypeError, as Python would, if the None of ``node.grad`` is about to be computed with."""
    if (operator := read_once(read_operator, frame, "grad")) is not None:
        raise TypeError(
            f"{node.name}.grad is None, and {operator} needs numbers: no backward pass has reached {node.name} yet, or "
            f"zero_grad() came after it. Call loss.backward() first. If it was called, then "
            f"{reason_for_none(node)}."
        )


def reason_for_none(node: Array) -> str:
    """Why a backward pass may have left no gradient."""
    if not node.requires_grad:
        return f"{node.name} gets none, because it is a Constant or frozen"
    if node.grad_fn is not None:
        return (
            "it was too large to be kept (loss.backward(keep_grads=True) keeps it), or the loss does not depend on it"
        )
    return f"the loss was computed from something else ({node.name}.why(loss) says more)"


def refuse_bytes(node: Array, frame: FrameType) -> None:
    """Raise TypeError, as Python would, if the memoryview of ``node.data`` is about to be computed with."""
    if (operator := read_once(read_operator, frame, "data")) is not None:
        raise TypeError(
            f"{node.name}.data is NumPy's memoryview of the bytes, which {operator} does not take. The numbers are "
            f"{node.name}.value. To change a Variable: with af.no_grad(): {node.name} -= lr * {node.name}.grad"
        )


# ---------------------------------------------------------------- gradients: read, added, set


HALF = np.dtype(np.float16)


def read_grad(holder: Any, dtype: np.dtype) -> Array | None:
    """The gradient in ``holder`` (a Variable or a record), copied and rounded for the user at the first read."""
    g = getattr(holder, "_raw_grad", None)
    if g is None:
        return getattr(holder, "_shown_grad", None)
    # If there is no other holder: a copy of each would cost 5 % of a large training step. Or a node, of create_graph.
    if (type(g) is np.ndarray and g.dtype == dtype and is_alone(g, 2)) or hasattr(g, "family"):
        gradient = g
    else:
        how = {"order": "K"} if hasattr(type(g), "strides") else {}  # as it lies where it need not be copied
        gradient = without_history(cast_gradient(g, dtype)).copy(**how) if hasattr(g, "copy") else np.array(g, dtype)
    holder._shown_grad, holder._raw_grad = np.asarray(gradient) if isinstance(gradient, np.generic) else gradient, None
    return holder._shown_grad


def cast_gradient(g: Array, dtype: np.dtype) -> Array:
    """``g`` in the dtype of its node: rounded, or the real part of what a complex function sent to a real one."""
    if g.dtype == dtype:
        return g
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = np.real(g)
    with np.errstate(all="ignore"):  # what does not fit becomes infinite or 0; backward does not warn
        return g if g.dtype == dtype else g.astype(dtype)


def add_gradients(a: Array, b: Array) -> Array:
    """The sum of two contributions. Half precision is added in single precision; the record rounds once."""
    if a.dtype is HALF and b.dtype is HALF:
        return a.astype(np.float32) + b
    return a + b


def forget_grads(variables: Sequence[object]) -> None:
    """Clear all gradients in one call in C: otherwise Ctrl-C could leave some, and the next pass would add to them."""
    announce("clear", None, variables)
    slots = ["_raw_grad"] * len(variables) + ["_shown_grad"] * len(variables)
    list(map(setattr, [*variables, *variables], slots, repeat(None)))


def plan_grads(variables: Iterable[Array], grads: Iterable[Array | None]) -> Changes:
    """The changes that give the Variables these gradients: triples for ``set_all`` of forward/writing.py."""
    checked = [(p, checked_grad(p, g)) for p, g in zip(variables, grads, strict=True)]
    return [row for p, g in checked for row in ((p, "_raw_grad", None), (p, "_shown_grad", g))]


def as_gradient_like(x: Array, value: Array) -> Array:
    """A copy of ``x`` (an array, a list, a number) in ``value``'s dtype, as an array of the same library.

    Raises MixedArraysError for an array of a library other than NumPy and ``value``'s: nothing is copied from one
    device to another automatically, except that numbers and NumPy arrays are brought to where they are needed. An array
    that hides a batch (``batching/batched.py``) stands for a batch of gradients, whether its value has a batch or not.
    """
    kind = array_type(x)
    if type(x) is type(value) or layer_of(x) is not None:
        return cast_gradient(x, value.dtype).copy()
    if kind is not None and kind is not np.ndarray:
        raise MixedArraysError(
            f"an array of {kind.__module__}.{kind.__name__} cannot be the gradient of one of "
            f"{type(value).__module__}.{type(value).__name__}: bring it over first (x.to_cpu(), x.to_gpu())"
        )
    family = family_of(value)
    return (family.from_numpy if family else np.asarray)(np.array(x, value.dtype))


def check_numbers(g: Array, dtype: np.dtype, what: str, of: str, error: type[Exception] = DataError) -> None:
    """Raise ``error`` for a gradient from a user that is text, or complex where ``of`` is real: half would be lost."""
    own_dtype = np.asarray(g).dtype if not hasattr(g, "dtype") else g.dtype
    if own_dtype.kind not in "biufc" and own_dtype != dtype:
        raise error(f"{what} is {own_dtype}: it needs one number per element of {of}, which is {dtype}")
    if own_dtype.kind == "c" != dtype.kind:
        raise error(f"{what} is complex, but {of} is {dtype}: if its real part is meant, give np.real of it")


def checked_grad(node: Array, g: Array | None) -> Array | None:
    """A gradient that the user sets: None, a node, or an array of the node's shape."""
    if g is None:
        return g
    value = node.value
    check_numbers(g, value.dtype, "the gradient", node.name)
    if not hasattr(g, "family"):
        g = cast_gradient(g, value.dtype) if type(g) is type(value) else as_gradient_like(g, value)
    if g.shape != value.shape:
        raise GradientShapeError(f"the gradient of {node.name} has its shape {value.shape}; this one has {g.shape}")
    return g
