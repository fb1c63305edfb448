"""Notes on NumPy's errors: which arrays did not fit, as the program calls them, and what their shapes would have to be.

The error stays NumPy's, with its type and text (``except ValueError`` keeps working); ``add_note`` adds a line below.
Nothing here runs unless an operation has failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.errors import AutoflowError
from ..nodes.nodes import AnyFunction, NodeRole, current_record
from ..program.names import is_of
from ..program.places import Activation, enter
from ..program.source import find

Shape = tuple[int, ...]
Named = list[tuple[str, Shape]]
MOST = 6  # arrays that are named
PRODUCTS = (np.matmul, np.dot, np.inner)


def add_note(error: BaseException, function: Any, inputs: Iterable[Any], options: Sequence[Any] = ()) -> None:
    """Add a note on the operands to ``error``, which ``function(*inputs, *options)`` has raised."""
    if isinstance(error, AutoflowError) or getattr(error, "__notes__", None):
        return
    inputs = list(inputs)
    if isinstance(error, TypeError):
        if any([x is None for x in inputs]):
            error.add_note(
                "One operand is None. A gradient (w.grad) is None until backward() has reached its node, and after "
                "zero_grad(); a function without return gives None, too."
            )
        return
    try:
        note = describe_shapes(function, named_shapes(function, inputs), options)
    except Exception:  # the list is not an array, or is a user's variable: the error matters, not its note
        return
    if note:
        error.add_note(note)


def describe_shapes(function: AnyFunction, operands: Named, options: Sequence[Any]) -> str:
    """The operands, and the shapes that they would need."""
    shapes = ", ".join([f"{name} has shape {shape}" for name, shape in operands[:MOST]])
    rule = (RULES_IN_WORDS.get(function) or of_elements(function))(operands, options) if operands else ""
    return f"{shapes}{': ' * bool(rule)}{rule}"


def named_shapes(function: AnyFunction, inputs: Sequence[object]) -> Named:
    """Name and shape of each operand that is an array."""
    arrays: list[Any] = []
    for x in inputs:
        parts = [part for part in x if hasattr(part, "shape")] if isinstance(x, (list, tuple)) else []
        arrays += parts or [x] * (hasattr(x, "shape") or isinstance(x, (list, tuple)))
    count = len(arrays)
    places = {1: ["the array"], 2: ["the left operand", "the right operand"]}.get(count)
    places = places or [f"operand {k}" for k in range(1, count + 1)]
    shapes = [x.shape if hasattr(x, "shape") else np.shape(x) for x in arrays]
    texts = written_operands(function, count)
    return [(given_name(x) or text or place, shape)
            for x, text, place, shape in zip(arrays, texts, places, shapes, strict=True)]  # fmt: skip


def written_operands(function: AnyFunction, count: int) -> list[str | None]:
    """The expressions of the operands in the user's program, if its call of ``function`` shows as many."""
    place, last = enter(sys._getframe(1))
    expr = find(place.code if type(place) is Activation else place, last) if place is not None else None
    if expr is None or len(expr.operands()) != count or not is_of(expr, getattr(function, "__name__", "")):
        return [None] * count
    return [expr.operand_text(slot) for slot in range(count)]


def given_name(x: object) -> str | None:
    """The name that the user gave to a node."""
    record = current_record(x) if isinstance(x, NodeRole) else None
    return getattr(x if record is None else record, "_name", None)


# -- what the shapes would have to be, by function ---------------------------------------------------------------------


def of_products(operands: Named, options: Sequence[Any]) -> str:
    """``(n, k) @ (k, m) needs 4 == 3``, and which of the obvious changes fits."""
    if len(operands) != 2:
        return ""
    (x, a), (y, b) = operands
    if not a or not b:
        return "a number is multiplied by *, not by @"
    n, m = a[-1], b[-2] if len(b) > 1 else b[0]
    if n == m:
        return f"the axes before the last two, {a[:-2]} and {b[:-2]}, must be equal or 1"
    turned = (f"{y} @ {x}", b, a), (f"{x}.T @ {y}", a[::-1], b), (f"{x} @ {y}.T", a, b[::-1])
    are_few = len(a) <= 2 and len(b) <= 2
    fits = [text for text, p, q in turned if are_few and (p, q) != (a, b) and p[-1] == q[0]]
    what = f"; {' and '.join(fits)} fit{'s' * (len(fits) == 1)}" if fits and "operand" not in x + y else ""
    return f"(n, k) @ (k, m) needs {n} == {m}{what}"


def of_broadcasting(operands: Named, options: Sequence[Any]) -> str:
    """The first axis from the right that does not fit, and where an axis of length 1 would help."""
    shapes = [shape for _, shape in operands]
    for place in range(1, max(map(len, shapes)) + 1):
        lengths = list(dict.fromkeys([shape[-place] for shape in shapes if len(shape) >= place and shape[-place] != 1]))
        if len(lengths) > 1:
            two = " and ".join(map(str, lengths[:2]))
            return f"axes are compared from the last one on, and {two} are neither equal nor 1{with_new_axis(operands)}"
    return ""


def with_new_axis(operands: Named) -> str:
    """``; x[:, np.newaxis] fits``, if that is so."""
    if len(operands) == 2:
        for (name, shape), (_, other) in (operands, operands[::-1]):
            if len(shape) == 1 and len(other) == 2 and shape[0] == other[0] and "operand" not in name:
                return f"; {name}[:, np.newaxis] fits"
    return ""


def of_elements(function: AnyFunction) -> Callable[[Named, Sequence[Any]], str]:
    """The note on an elementwise function; on others, only the shapes."""
    return of_broadcasting if isinstance(function, np.ufunc) and function.signature is None else lambda *_: ""


def of_reshape(operands: Named, options: Sequence[Any]) -> str:
    """The number of elements, and the number that the new shape needs."""
    (_, shape), new_shape = operands[0], options[0] if options else ()
    lengths = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    if not all([isinstance(n, (int, np.integer)) for n in lengths]) or len([n for n in lengths if n < 0]) > 1:
        return ""
    n, product = int(np.prod(shape)), int(np.prod([n for n in lengths if n >= 0]))
    if min(lengths, default=0) < 0:
        return f"{n} elements, which cannot be divided by {product}"
    return f"{n} elements, and {lengths} has {product}; -1 in place of one length lets NumPy find it"


def of_joining(operands: Named, options: Sequence[Any]) -> str:
    """The note on functions that join arrays, such as concatenate."""
    if len({len(shape) for _, shape in operands}) > 1:
        return "all need the same number of axes; np.stack makes a new axis, x[np.newaxis] adds one"
    return "all lengths but that of the joined axis must be equal"


RULES_IN_WORDS: dict[AnyFunction, Callable[[Named, Sequence[Any]], str]] = {
    **dict.fromkeys(PRODUCTS, of_products),
    np.reshape: of_reshape,
    np.concatenate: of_joining,
    np.stack: lambda *_: "np.stack needs equal shapes; np.concatenate joins along an axis that is there",
    np.where: of_broadcasting,
}
