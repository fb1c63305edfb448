"""Values that derivatives read: check that they have not changed, and compute again those that were not kept.

Under ``af.checkpointing`` a record keeps no value, but a FreedArray of it. A pass that needs one computes it, once,
from the nearest values that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import StaleValueError
from ..lazy import later
from ..nodes import versions
from ..nodes.records import Extras, Record, holder_name, needs_grad
from ..nodes.versions import FreedArray

Array = Any


def check_saved(record: Record) -> None:
    """Are the values that the derivatives will read still those that the operation used? StaleValueError if not."""
    rule, since, extra = record.rule, record.number, record.extra or Extras()
    if extra.unfinished is not None:
        raise StaleValueError(
            f"the write into {record.node_name} at {extra.unfinished} failed halfway: an exception cut it short, and "
            f"its numbers may be old or new. Write all of it again (x[...] = ...), or compute it anew."
        )
    for array, mark, taken in watched_arrays(extra):
        if taken(array) != mark:
            raise StaleValueError(
                f"the derivative of {record.node_name} needs a plain array of shape {array.shape} that it was computed "
                f"from, and that array has been written into since. Give the operation a copy, or an af.Constant."
            )
    if since >= versions.latest[0]:
        return
    for k in rule.must_save(needs_grad(record)):
        value = record.saved[k]
        if where := versions.writer_since(value, since):
            name = "its result" if k == len(record.saved) - 1 else _name_of(record, k)
            raise StaleValueError(
                f"the derivative of {record.node_name} needs the value of {name}, which {where} has overwritten since. "
                f"Write a = a * b instead of a *= b there, or use a copy: {rule.name}(x.copy(), ...)."
            )


def watched_arrays(extra: Extras) -> Iterator[tuple[Array, Any, Callable[[Array], Any]]]:
    """The plain arrays of an operation, what was noted of each, and how: samples; all bytes under checkpointing."""
    yield from ((array, mark, versions.fingerprint) for array, mark in extra.fingerprints)
    if extra.checksums:
        checksum = later("autoflow.backprop.fingerprints:checksum")
        yield from ((array, mark, checksum) for array, mark in extra.checksums)


def recall_saved(record: Record, again: dict[Record, Array]) -> tuple[Any, ...]:
    """``record.saved`` with all that its derivatives read. ``again``: what this pass has computed again so far."""
    saved, n = list(record.saved), len(record.parents)
    for k in record.rule.must_save(needs_grad(record)):
        if type(saved[k]) is FreedArray:
            saved[k] = value_again(record.parents[k] if k < n else record, again)
    again.pop(record, None)  # all other readers of this value come before this record in the pass
    return tuple(saved)


def value_again(target: Record, again: dict[Record, Array]) -> Array:
    """The value of ``target``, from the nearest values that were kept. No recursion: chains may be long."""
    waiting = [target]
    while waiting:
        record = waiting[-1]
        if record not in again:
            value = record.value
            if value is None:
                if type(record.result) is not FreedArray:
                    raise StaleValueError(f"{_stale(record, record.result, 'its value')}")
                missing = [
                    p
                    for p, x in zip(record.parents, record.saved, strict=False)
                    if type(x) is FreedArray and p not in again
                ]
                if missing:
                    waiting += missing
                    continue
                value = recompute(record, again)
            again[record] = value
        waiting.pop()
    return again[target]


def recompute(record: Record, again: dict[Record, Array]) -> Array:
    """One operation, computed again from values that are there."""
    check_saved(record)
    values = list(record.saved[:-1])
    for k, parent in enumerate(record.parents):
        if type(values[k]) is FreedArray:
            values[k] = again[parent]
        elif versions.writer_since(values[k], record.number):
            raise StaleValueError(_stale(record, values[k], f"its operand {record.rule.names[k]}"))
    return (record.rule.operator or record.rule.compute)(*values)


def _stale(record: Record, value: Any, what: str) -> str:
    return (
        f"{record.node_name} was not kept, and cannot be computed again: {versions.writer_since(value, record.number)} "
        f"has overwritten {what} since. Write into a copy there, or leave the operation out of af.checkpointing."
    )


def _name_of(record: Record, k: int) -> str:
    parent = record.parents[k] if k < len(record.parents) else None
    if parent is None:
        return f"its operand {record.rule.names[k]}"
    return holder_name(parent)
