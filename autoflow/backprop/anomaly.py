"""Two modes against NaN: ``af.detect_anomaly`` finds where the first one came from, ``af.safe_masking`` keeps zeros.

Anomaly mode. Forward, a listener to every recorded operation (see ``hooks.on_operation``) writes the user's line into
the record and looks at the value: is it NaN or infinite? Backward, every contribution is looked at as soon as a rule
has sent it. Both cost about as much as the computation itself, so it is a mode for looking for errors, not for
training.

Safe masking: a zero gradient stays zero in a backward pass, whatever the local derivative. ``np.where(x > 0, np.log(x),
0.0)`` sends log a zero gradient where x <= 0, and log multiplies it by 1/x: at x = 0 that is 0 · ∞ = NaN. Calculus has
no better answer, but what was masked away should often stay away. In this mode it does: the contribution of an
elementwise row is 0 wherever the incoming gradient is 0. It costs nothing when it is off: the pass looks once, at its
start, and then wraps its ``open_record``.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, overload

import numpy as np

from ..base.errors import AnomalyError
from ..base.modes import listening, modes, switched
from ..base.types import F
from ..nodes.grads import cast_gradient
from ..nodes.nodes import NodeRole, VariableRole, current_record, value_of
from ..nodes.records import Record, extend, holder_name
from ..nodes.versions import FreedArray
from ..program.callers import caller, user_frame
from ..table.shapes import Array, Values, sum_to
from ..table.vjps import VJP
from .hooks import Opened, OpenRecord, Pair

# ---------------------------------------------------------------- anomaly mode: the first NaN or infinity

COLUMNS = ("getitem", "reshape", "expand_dims", "transpose", "swapaxes")  # what makes a column on purpose


def detect_anomaly() -> listening:
    """Raise AnomalyError at the first value or gradient that becomes NaN or infinite.

    A context manager and a decorator. Put the forward pass inside as well as ``backward()``: then the message, and the
    note on any error inside a rule, name the line of your code that computed the operation. Around ``af.grad`` and the
    like, numbers that NumPy has read without asking the node are found as well (``transforms/evaluation.py``).

    >>> import autoflow as af
    >>> x = af.Variable([1.0, 0.0], name="x")
    >>> with detect_anomaly():  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...     np.sqrt(x).sum().backward()
    Traceback (most recent call last):
    autoflow.errors.AnomalyError: sqrt sent inf to x, ...
    """
    return listening(check_operation, anomaly=True)


def check_operation(node: NodeRole) -> None:
    """What anomaly mode does with each new operation: note the line, check the value."""
    record = current_record(node)
    if record.extra is None or record.extra.line is None:
        extend(record, line=caller())
    if modes().strict and column_met_row(record) is not None:  # in class
        text = f"{shapes(record)} in {record.rule.name}: every entry met every other. Is that meant?"
        frame = user_frame()
        warnings.warn_explicit(text, UserWarning, frame.f_code.co_filename, frame.f_lineno)
    if (entry := first_bad(node.value)) is None:
        return
    names = []
    for operand, value in zip(record.operands, record.saved, strict=False):
        if first_bad(value.reference() if isinstance(value, FreedArray) else value) is not None:
            names.append(getattr(operand, "node_name", None) or getattr(operand, "name", None) or "a plain operand")
    cause = f"{' and '.join(names)} already had such entries" if names else "its operands are finite"
    raise AnomalyError(
        f"{record.node_name} became {entry}; it is {record.rule.name} of shapes {shapes(record)}, "
        f"computed {line_of(record)}. Here {cause}."
    )


def column_met_row(record: Record) -> int | None:
    """``(5, 1) - (5,)``, which makes a square: the operand that is the column. None if it is anything else, or if it is
    meant: an index or a reshape has made the column just before, or both are Variables."""
    sizes = [np.shape(v) if not hasattr(v, "shape") else v.shape for v in record.values]
    if len(sizes) != 2 or not record.rule.elementwise or sorted(map(len, sizes)) != [1, 2]:
        return None
    column = sizes.index(max(sizes, key=len))
    n, source = sizes[1 - column][0], record.parents[column]
    is_made = isinstance(source, Record) and source.rule.name in COLUMNS
    if n < 2 or sizes[column] != (n, 1) or is_made or all([isinstance(p, VariableRole) for p in record.parents]):
        return None
    return column


def wrap_open_record(open_record: OpenRecord) -> OpenRecord:
    """The engine's ``open_record``, checking every gradient; errors inside a rule get the line of the forward pass."""

    def open_watched(pair: Pair) -> Opened:
        record, g = pair
        if (entry := first_bad(g)) is not None:
            raise AnomalyError(
                f"the gradient of {record.node_name} became {entry}: in the seed, or where contributions, each of "
                f"them finite, were added up. {record.node_name} was computed {line_of(record)}."
            )
        try:
            g, vjps, saved, kept = open_record(pair)
        except Exception as error:
            add_line(error, record)
            raise
        if (entry := first_bad(g)) is not None:
            cause = "in a hook of it" if record.extra and record.extra.hooks else f"rounded to {record.dtype}"
            raise AnomalyError(f"the gradient of {record.node_name} became {entry}, {cause}")
        return g, [vjp and wrap_vjp(vjp, record, k) for k, vjp in enumerate(vjps)], saved, kept

    return open_watched


def wrap_vjp(vjp: VJP, record: Record, k: int) -> VJP:
    """The k-th vjp of a record, checking what it sends."""

    def pulling(g: Array, saved: Values) -> Array:
        try:
            sent = vjp(g, saved)
        except AnomalyError as inner:  # of a pass that is itself recorded: there the rule's steps are operations
            raise _describe_sent(record, k, "what is not finite") from inner
        except Exception as error:
            add_line(error, record)
            raise
        if (entry := first_bad(sent)) is not None:
            raise _describe_sent(record, k, entry)
        return sent

    return pulling


def _describe_sent(record: Record, k: int, entry: str) -> AnomalyError:
    return AnomalyError(
        f"{record.rule.name} sent {entry} to {holder_name(record.parents[k])}, though the gradient of "
        f"{record.node_name} itself is finite. Shapes {shapes(record)}, computed {line_of(record)}."
    )


def check_sums(pairs: list[Pair]) -> None:
    """Check the gradients that a pass has brought to Variables: a sum of finite contributions may be infinite, or too
    large for their dtype."""
    for holder, g in pairs:
        if isinstance(holder, VariableRole) and (entry := first_bad(cast_gradient(g, value_of(holder).dtype))):
            raise AnomalyError(f"the gradient of {holder.name} became {entry}: in the seed, or when it was added up")


def first_bad(x: Any) -> str | None:
    """``"nan at index (1, 2)"`` for the first entry that is NaN or infinite; None if all are finite.

    >>> first_bad(np.array([1.0, np.inf])), first_bad(np.ones(3)), first_bad(np.float64(np.nan))
    ('inf at index (1,)', None, 'nan')
    """
    x = np.float64(x) if type(x) is float else getattr(x, "value", x)
    if getattr(x, "dtype", None) is None or x.dtype.kind not in "fc" or not hasattr(x, "ravel"):
        return None
    x = np.asarray(x) if isinstance(x, np.generic) else x
    if np.isfinite(x).all():
        return None
    place = tuple([int(i) for i in np.argwhere(~np.isfinite(x))[0]])
    return f"{x[place]} at index {place}" if place else str(x[()])


def shapes(record: Record) -> str:
    """``(3,), (3,) -> (3,)``: of the operands and the result."""
    operands = [str(getattr(value, "shape", ())) for value in record.saved[: len(record.parents)]]
    return f"{', '.join(operands)} -> {record.shape}"


def line_of(record: Record) -> str:
    """The file and line where the user computed it."""
    line = record.extra and record.extra.line
    return f"at {line}" if line else "outside this mode (have the forward pass in it too, to see the line)"


def add_line(error: Exception, record: Record) -> None:
    """Add to the error what was being differentiated."""
    if not isinstance(error, AnomalyError):
        error.add_note(f"while differentiating {record.node_name}, computed {line_of(record)}")


# ---------------------------------------------------------------- safe masking: zeros stay zero


@overload
def safe_masking(function: None = None) -> switched: ...
@overload
def safe_masking(function: F) -> F: ...
def safe_masking(function: Any = None) -> Any:
    """0 · ∞ = 0 in backward passes: a context manager, and a decorator with or without parentheses.

    The mode is read when the pass starts, and applies to elementwise functions. An infinite derivative times a gradient
    other than 0 stays infinite.

    >>> import autoflow as af
    >>> from autoflow.backprop.anomaly import safe_masking
    >>> x = af.Variable([0.0, 2.0])
    >>> y = np.where(x > 0, np.sqrt(x), 0.0).sum()
    >>> with safe_masking():
    ...     y.backward()
    >>> x.grad
    array([0.        , 0.35355339])
    """
    return switched(safe_masking=True) if function is None else switched(safe_masking=True)(function)


def mask_open_record(open_record: OpenRecord) -> OpenRecord:
    """The engine's ``open_record``, with vjps of elementwise rows that keep zeros."""

    def open_masked(pair: Pair) -> Opened:
        g, vjps, saved, kept = open_record(pair)
        if (rule := pair[0].rule).elementwise and rule.joint is None:
            vjps = [vjp and functools.partial(masked_vjp, vjp, k) for k, vjp in enumerate(vjps)]
        return g, vjps, saved, kept

    return open_masked


def masked_vjp(vjp: VJP, k: int, g: Array, saved: Values) -> Array:
    """What ``vjp`` sends to operand k, and zeros where g is zero. An operand that was broadcast is given to it in full,
    so that it sums nothing: in a sum a NaN would spread."""
    x, is_zero = saved[k], g == 0
    if type(g) is np.float64:
        return np.float64(0) if is_zero else vjp(g, saved)
    if x.shape != g.shape:
        is_kept = type(x) is not FreedArray
        whole = np.broadcast_to(x if is_kept else np.zeros((), x.dtype), g.shape)
        saved = (*saved[:k], whole if is_kept else FreedArray(whole), *saved[k + 1 :])
    return sum_to(np.where(is_zero, 0, vjp(g, saved)), x.shape)
