"""A write that may be cut short: Ctrl-C, a warning that is an error, ``np.errstate(all="raise")``, no memory left.

NumPy has written all, a part or nothing when such an exception arrives, and we cannot tell which. So what a write
changes in the graph is changed *before* it: the memory counts as written into (``nodes/versions.py``), and the array
and all arrays that it is a view of have records that refuse a backward pass. When the write is done, one call in C
takes the refusal back. Every write of the package goes through :func:`write_noted`, or, of leaves, :func:`overwrite`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, AnyFunction, Values
from ..base.numbering import CONSTANT, now
from ..nodes import versions
from ..nodes.nodes import Array, ConstantRole, NodeRole, OperationRole, new_record
from ..nodes.records import Extras, Holder, Record, needs_grad
from ..nodes.versions import Changes, FreedArray, Note, view_link, writer_since
from ..program.callers import caller
from ..rules import RULES
from ..table.indexing import getitem, put_view, setitem
from ..table.table import Rule
from .recording import apply

WRITES = RULES[setitem], RULES[put_view]
READERS = 32  # the number of operations behind a written value that are checked for reading the old one: softmax has 4
SMALL = 16  # old values of at most this many elements are copied, so that pictures of small programs show them


def write_noted(
    memory: Array, region: Array, run: AnyFunction, values: Sequence[Any] = (), x: Any = None, record: Any = None
) -> None:
    """``run(memory, *values)``, which writes into ``region`` (``memory`` or a part of it), and x gets ``record``.
    Without x only the memory is noted: that of a leaf."""
    if record is not None:
        record.extra.unfinished = record.extra.line
    note = Note(region, caller() if record is None else record.extra.line)
    note.stamp(now())
    changes, records = ([], []) if record is None else plan_rebinding(x, record)
    before: Changes = []
    for thing, name, _ in changes:
        before.append((thing, name, getattr(thing, name, None)))
    set_all(changes)
    try:
        run(memory, *values)
    except BaseException as error:
        if is_refused(error, memory, run, values):
            set_all(before)
            note.undo()
        else:
            note.stamp(now())
        raise
    for one in records:  # after the write: everything computed from the old numbers is older
        one.number = now()
    note.was_written(now() if record is None else record.number)
    for one in records:
        one.extra.unfinished = None  # type: ignore[union-attr]  # each has been given extras


def set_all(changes: Changes) -> None:
    """Set attributes in one call in C: not even KeyboardInterrupt leaves some set and others not."""
    if changes:
        list(map(setattr, *zip(*changes, strict=True)))


def run_or_undo(changes: Changes, run: Callable[[], object], memory: Sequence[Array], after: Changes) -> None:
    """Set attributes as ``changes`` says, ``run()``, and set attributes as ``after`` says: all of it or nothing.

    An exception takes the changes back, unless ``run`` has written into ``memory`` by then, as its notes tell.
    """
    before, since = [(thing, name, getattr(thing, name)) for thing, name, _ in changes], now()
    try:
        set_all(changes)
        run()
        set_all(after)
    except BaseException:
        set_all(after if any([writer_since(array, since) for array in memory]) else before)
        raise


def is_refused(error: BaseException, memory: Array, run: AnyFunction, values: Sequence[Any]) -> bool:
    """Has NumPy refused the write (shapes or dtypes that do not fit) before it touched the memory?

    It is called once more, with memory of no other array: the exception may just as well come from a signal handler.
    """
    if not isinstance(error, (ValueError, TypeError, IndexError)):
        return False
    scratch = np.empty_like(memory)
    marked = None
    if type(scratch) is np.ndarray:
        marked = np.full(memory.nbytes, 0b10101, np.uint8)
        scratch = marked.view(memory.dtype).reshape(memory.shape)
    try:
        with np.errstate(all="ignore"):
            run(scratch, *values)
    except type(error):
        return marked is None or bool((marked == 0b10101).all())
    return False


def is_unfinished(record: Record) -> bool:
    """Was the write that made this record cut short?"""
    return record.extra is not None and record.extra.unfinished is not None


def own_record(x: NodeRole) -> Record | None:
    """The record of a node that is up to date; None for a leaf."""
    return x._record if isinstance(x, OperationRole) else None


def is_overlapping(v: Array, x: NodeRole) -> bool:
    """May ``v`` share memory with the node ``x``? An array of another library does not, and is not asked."""
    return type(v) is type(x._value) and np.may_share_memory(v, x._value)


def save_overwritten_values(x: NodeRole, record: Record | None, parents: Sequence[Holder]) -> None:
    """Copy the values in the memory about to be overwritten that will still be needed: by the records of x and of its
    bases, by the latest writes through other views of them, and by what the ``parents`` of this write were computed
    from, as in ``x /= np.linalg.norm(x)``. Every other reader notices the write in the backward pass.

    record : the current one of x, which brings those of its bases up to date.
    """
    root, own, is_part = x, record, getattr(x, "_view", None) is not None and x._value.nbytes > versions.COPY_BYTES
    while True:
        if record is not None:
            rescue_result(record, x, SMALL)
            for write in latest_writes(record, READERS if is_part else 1):
                rescue_result(write, x, 0)
        if (view := getattr(root, "_view", None)) is None:
            break
        root = view[1]
        record = own_record(root)
    since = (record or root).number
    if is_part:  # another part may have been written into since this one was
        since = (Note(x._value, "").before or (0,))[0]
    if readers := [p for p in parents if type(p) is Record and p.number > since and p is not own]:
        rescue_readers(x, readers, since)


def latest_writes(record: Record, n: int) -> Iterator[Record]:
    """The latest ``n`` writes through views of the node that has this record, the last one first."""
    while n and type(record) is Record and record.rule in WRITES:
        if type(record.parents[1]) is Record:
            yield record.parents[1]
        record, n = record.parents[0], n - 1


def rescue_result(record: Record, x: NodeRole, limit: int) -> None:
    """Let a record keep a copy of its result if x is in the same memory, and its derivatives need it or it has no more
    elements than ``limit``."""
    value = record.saved[-1]
    is_small = type(value) in NODE_TYPES and value.size <= limit
    if not (is_small or len(record.saved) - 1 in record.rule.must_save(needs_grad(record))):
        return
    if is_overlapping(value, x) and not writer_since(value, record.number):
        record.saved = (*record.saved[:-1], value.copy())


def rescue_readers(x: NodeRole, readers: list[Record], since: int) -> None:
    """Let ``readers`` and the records behind them keep a copy of what their derivatives need of x. READERS of them are
    checked, the nearest first; none from before ``since``, when x got the numbers that it has."""
    readers = list(dict.fromkeys(readers))
    copies: dict[int, Array] = {}  # id of an array -> its copy, one for all readers
    for reader in readers:
        for k in reader.rule.must_save(needs_grad(reader)):
            value = reader.saved[k]
            if is_overlapping(value, x) and not writer_since(value, reader.number):
                copy = copies.setdefault(id(value), value.copy())
                reader.saved = (*reader.saved[:k], copy, *reader.saved[k + 1 :])
        more = [p for p in reader.parents if type(p) is Record and p.number > since and p not in readers]
        readers += more[: READERS - len(readers)]


def plan_rebinding(x: NodeRole, record: Record) -> tuple[Changes, list[Record]]:
    """The changes that give the array object x ``record`` and, if it is a view, inform its bases: triples
    (node, attribute, value), and the new records. No recursion: a view of a view of a view may be deep."""
    changes: Changes = []
    records: list[Record] = [record]
    before = own_record(x)
    while True:
        record._name = getattr(before or x, "_name", None)
        view = getattr(x, "_view", None)
        is_view = view is not None or hasattr(x, "_lent")  # what is lent may change unseen, as small views
        kind = x.family.View if is_view else x.family.Operation if isinstance(x, ConstantRole) else type(x)
        changes += [(x, "_record", record), (x, "_operand", x._value), (x, "__class__", kind)]
        if view is None:
            return changes, records
        how, base = view
        if how.rule is RULES[getitem]:
            rule, options = RULES[setitem], how.saved[1:-1]
        else:
            rule, options = RULES[put_view], (partial(_take_view, how.rule, how.saved[1:-1]),)
            vars(options[0])["__name__"] = how.rule.name  # for pictures
        saved = (FreedArray(base._value), FreedArray(x._value), *options, base._value)
        before = own_record(base)
        on_base = new_record(rule, (before, record), saved, replace(record.extra or Extras(), constants={}), record)
        changes.append((x, "_view", view_link(new_record(how.rule, (on_base,), how.saved, None, how), base)))
        records.append(on_base)
        x, record = base, on_base


def _take_view(rule: Rule, options: Values, x: Array) -> Array:
    """The view that ``rule`` takes, of another array or node."""
    return apply(rule, (x, *options)) if isinstance(x, NodeRole) else rule.compute(x, *options)


def become_constant(x: NodeRole) -> None:
    """Forget the history of x: all of its numbers are new ones."""
    set_all([(x, "__class__", x.family.Constant), (x, "_number", now()), (x, "_count", CONSTANT.tick())])


def overwrite(targets: Sequence[Array], sources: Sequence[Array]) -> None:
    """Overwrite the memory of leaves, all or nothing: one call in C. A source that is its target has been written."""
    for memory, new in zip(targets, sources, strict=True):
        if not np.can_cast(new.dtype, memory.dtype, "same_kind"):
            raise TypeError(f"Cannot cast from {new.dtype!r} to {memory.dtype!r} according to the rule 'same_kind'")
    where = caller()
    notes = [Note(memory, where) for memory in targets]
    for note in notes:
        note.stamp(now())
    pairs = [(memory, new) for memory, new in zip(targets, sources, strict=True) if memory is not new]
    copy: Callable[..., None] = np.copyto
    list(map(copy, [memory for memory, _ in pairs], [new for _, new in pairs], repeat("same_kind")))
    for note in notes:
        note.was_written(now())
