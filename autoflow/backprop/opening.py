"""Opening a record: its row's vjps, and the values that they read, in two ways.

The engine hands each record its cotangent, dL/d(result), and asks how to run its row. :func:`on_arrays` answers with
plain arrays (fast, nothing recorded); :func:`on_nodes` with nodes, so that NumPy's functions record what the row does,
and the gradient can be differentiated again. It is the same row. These two are in the last section, after what they
use.

Gradients in place, and in blocks. In a backward pass most gradients are read once: ``g`` goes into ``g * y``, and is
forgotten. So what an elementwise row sends to the last of its operands, and the sum of two contributions, can be
written into the memory of g. On arrays that do not fit into the cache this saves a third of the traffic, and the system
need not find new memory. Derivatives of large arrays are computed in blocks on several threads (``table/blocks.py``),
so what a formula computes on its way takes no memory either. The bits are the same. The reference count tells whether g
is used elsewhere: a user's variable, a view, a second operand that has been sent the same array, and a gradient
that stays with its node each count as one. How many references the pass itself holds depends on the version of Python,
so it is counted once, in a small pass. NumPy uses the same trick to compute ``a * b + c`` with one new array instead of
two.

Saved values: what derivatives read must not have changed. Under ``af.checkpointing`` a record keeps no value, but a
FreedArray of it. A pass that needs one computes it, once, from the nearest values that were kept.

What few records need (hooks, values to be computed again, watched plain arrays) is in their ``extra``, which is None
for all others. :func:`check_and_run_hooks` is called only where there is one, so the others pay nothing.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..base.errors import GradientShapeError, StaleValueError
from ..base.modes import modes, switched
from ..nodes import versions
from ..nodes.cuts import shown_operand, wording
from ..nodes.grads import HALF, add_gradients, cast_gradient, check_numbers
from ..nodes.nodes import NodeRole, VariableRole, operation_from, value_of
from ..nodes.records import Extras, Record, holder_name, needs_grad
from ..nodes.versions import FreedArray
from ..table.blocks import in_blocks
from ..table.shapes import DOUBLE, AnyFunction, Array, Values, sum_to
from ..table.table import Rule
from ..table.vjps import VJP, VJPs
from . import engine
from .hooks import Opened, OpenRecord, Pair, run_hooks

# ---------------------------------------------------------------- gradients in place: over one that is read no more

LARGE = 16_384  # elements: it pays from 128 KB


# Derivatives that are one ufunc of g and what they read: it writes where it should, without a block on the way. By
# function and operand.
UFUNCS: dict[tuple[AnyFunction, int], np.ufunc] = {
    (np.multiply, 0): np.multiply, (np.multiply, 1): np.multiply, (np.exp, 0): np.multiply,
    (np.divide, 0): np.divide, (np.log, 0): np.divide, (np.negative, 0): np.negative,
}  # fmt: skip


@functools.lru_cache(512)
def vjps_in_blocks(rule: Rule, vjps: VJPs, flows: tuple[bool, ...], over: bool) -> VJPs:
    """The ``vjps`` of an elementwise row for large arrays: in blocks; on request, the contribution to the last operand
    is written ``over`` g.

    A derivative that reads nothing and returns g itself stays as it is; then g must, too. ``x - y`` is such a row.
    """
    wrapped, last = list(vjps), max([k for k, flowing in enumerate(flows) if flowing])
    for k in [k for k, flowing in enumerate(flows) if flowing]:
        needs, derivative = rule.needs[k], rule.derivatives[rule.names[k]]
        if not needs and derivative(probe := np.ones(1)) is probe:
            over = False
        else:
            derivative = UFUNCS.get((rule.function, k), derivative)
            wrapped[k] = vjp_in_blocks(derivative, needs, k, vjps[k], over and k == last)
    return tuple(wrapped)


def vjp_in_blocks(derivative: AnyFunction, needs: Any, k: int, vjp: Any, over: bool) -> VJP:
    """One of them, for the k-th operand. ``vjp``: as the table has it."""

    def pull(g: Array, saved: Values) -> Array:
        if not needs and g.shape != saved[k].shape:
            return vjp(g, saved)  # sums first, then there is less to do
        read = [getattr(saved[i], what) if what else saved[i] for i, what in needs]
        return sum_to(in_blocks(derivative, g, *read, out=g if over else None), saved[k].shape)

    return pull


def free_to_write(pair: Pair) -> bool:
    """Is the gradient in ``pair`` held by the pass alone? The calling ``open_record`` may have a name for it.

    Its elements must be in the order that a new array would have; otherwise later sums would add in another order.
    """
    g = pair[1]
    return type(g) is np.ndarray and g.base is None and g.flags.carray and getrefcount(g) <= IN_STEP


def add_in_place(a: Array, b: Array) -> Array:
    """a + b, in the memory of one of them if the pass alone holds it. Only the engine itself may call it."""
    if type(a) is np.float64:  # in graphs of numbers there are many sums
        return a + b
    if type(a) is np.ndarray and a.size > LARGE and type(b) is np.ndarray and a.shape == b.shape:
        if a.dtype != b.dtype or a.dtype == HALF or not (a.flags.carray and b.flags.carray):
            return add_gradients(a, b)
        if getrefcount(a) <= IN_SUM[0] and a.base is None:
            return in_blocks(np.add, a, b, out=a)
        if getrefcount(b) <= IN_SUM[1] and b.base is None:
            return in_blocks(np.add, a, b, out=b)
        return in_blocks(np.add, a, b)
    return add_gradients(a, b)


class Toy:
    """A record of a pass that only counts references."""

    def __init__(self, *parents: Toy) -> None:
        self.parents = parents


def calibrate_counts() -> tuple[int, tuple[int, int]]:
    """References that ``open_record`` sees on an array that only the pass holds, a sum on its two; 0 if not certain."""
    if sys.gettrace() or sys.getprofile() or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0, (0, 0)  # a debugger that looks at variables holds them too: the count would be too high
    in_step: list[int] = []
    in_sum: list[tuple[int, int]] = []

    def count(pair: Pair) -> int:
        g = pair[1]
        return getrefcount(g)

    def open_record(pair: Pair) -> Opened:
        record, g = pair
        in_step.append(count(pair))
        return g, (lambda g, saved: g + 1.0,) * len(record.parents), None, None

    def add(a: Array, b: Array) -> Array:
        in_sum.append((getrefcount(a), getrefcount(b)))
        return a + b

    x = Toy()
    for _ in range(40):  # Python adapts its code while it runs
        toy: Any = Toy(Toy(x), Toy(x))
        engine.pull_back(toy, np.zeros(2) + 1.0, open_record, add=add)
    del in_step[0::3]  # the first of each pass: the seed, which is held by us as well
    return KNOWN if {*in_step} == {KNOWN[0]} and {*in_sum} == {KNOWN[1]} else (0, (0, 0))


KNOWN = 4, (3, 2)  # in Python 3.11 to 3.13; one that counts others, as 3.14 does, may miss a holder
IN_STEP, IN_SUM = calibrate_counts()


# ---------------------------------------------------------------- saved values: unchanged, or computed again


def check_saved(record: Record) -> None:
    """Are the values that the derivatives will read still those that the operation used? StaleValueError if not."""
    rule, since, extra = record.rule, record.number, record.extra or Extras()
    if extra.unfinished is not None:
        raise StaleValueError(
            f"the write into {record.node_name} at {extra.unfinished} failed halfway: an exception cut it short, and "
            f"its numbers may be old or new. Write all of it again (x[...] = ...), or compute it anew."
        )
    for array, mark, fingerprint in watched_arrays(extra):
        if fingerprint(array) != mark:
            k = next((k for k, v in enumerate(record.saved) if v is array), 0)
            name = shown_operand(record, k) or "its operand"
            raise StaleValueError(
                f"the derivative of {wording(record)} needs {name}, a plain array of shape {array.shape} that has been "
                f"written into since. Call backward() before that, or give the operation a copy, or an af.Constant."
            )
    if since >= versions.latest[0]:
        return
    for k in rule.must_save(needs_grad(record)):
        value = record.saved[k]
        if where := versions.writer_since(value, since):
            own = "its result" if k == len(record.saved) - 1 else _name_of(record, k)
            name = shown_operand(record, k)
            raise StaleValueError(
                f"the derivative of {wording(record)} needs the value of {name or own}, which {statement(where)} has "
                f"overwritten since. Call backward() before that, write a = a * b instead of a *= b, or use a copy: "
                f"{rule.name}({name or 'x'}.copy(), ...)."
            )


def statement(where: str) -> str:
    """``w *= 2 (file:3)``: a line of a program with its text, if that is there."""
    file, _, line = where.rpartition(":")
    text = linecache.getline(file, int(line)).strip() if line.isdigit() else ""
    return f"{text} ({os.path.basename(where)})" if text else where


def watched_arrays(extra: Extras) -> Iterator[tuple[Array, object, Callable[[Array], object]]]:
    """The plain arrays of an operation, what was noted of each, and how: samples; all bytes under checkpointing."""
    yield from ((array, mark, versions.fingerprint) for array, mark in extra.fingerprints)
    if extra.checksums:
        from .second_runs import checksum

        yield from ((array, mark, checksum) for array, mark in extra.checksums)


def recall_saved(record: Record, again: dict[Record, Array]) -> Values:
    """``record.saved``, complete for its derivatives. ``again``: values that this pass has recomputed so far."""
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
                pairs = zip(record.parents, record.saved, strict=False)
                missing = [p for p, x in pairs if type(x) is FreedArray and p not in again]
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


def _stale(record: Record, value: Array, what: str) -> str:
    return (
        f"{record.node_name} was not kept, and cannot be computed again: {versions.writer_since(value, record.number)} "
        f"has overwritten {what} since. Write into a copy there, or leave the operation out of af.checkpointing."
    )


def _name_of(record: Record, k: int) -> str:
    parent = record.parents[k] if k < len(record.parents) else None
    return f"its operand {record.rule.names[k]}" if parent is None else holder_name(parent)


# ---------------------------------------------------------------- opening a record: on arrays, or on nodes


def on_arrays(limit: int | None, hooks: bool = True) -> OpenRecord:
    """How the engine runs a record's row on plain arrays, or, where all is 0-d float64, on numbers."""
    number = np.float64
    keep_numbers = limit is None or limit > 0
    again: dict[Record, Array] = {}  # values that were not kept, computed once more in this pass

    def open_record(pair: Pair) -> Opened:
        record, g = pair
        saved, rule = record.saved, record.rule
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = check_and_run_hooks(record, g, again, hooks)
        # All 0-d: nothing broadcasts, and np.float64 is ten times faster.
        if type(g) is number and saved[-1].dtype is DOUBLE and rule.joint is None:
            return g, rule.scalar_vjps, saved, pair if keep_numbers else None
        vjps = rule.vjps
        if g.dtype is not DOUBLE or saved[-1].dtype is not DOUBLE:  # mostly both are float64: nothing to round
            dtype = saved[-1].dtype
            g = cast_gradient(g, dtype)
            if dtype.kind == "c":
                vjps = rule.complex_vjps()
        size = g.size
        kept = pair if limit is None or size <= limit else None
        if rule.joint is not None:
            return g, picks(len(record.parents)), switched(recording=False).call(all_at_once, record, g, saved), kept
        if size > LARGE and vjps is rule.vjps and rule.is_numpys_elementwise and type(g) is np.ndarray:
            over = kept is None and g is pair[1] and free_to_write(pair)
            vjps = vjps_in_blocks(rule, vjps, needs_grad(record), over)
        return g, vjps, saved, kept

    return open_record


def on_nodes(limit: int | None, hooks: bool = True) -> OpenRecord:
    """How the engine runs a row when the pass itself will be differentiated: on nodes."""
    again: dict[Record, Array] = {}

    def open_record(pair: Pair) -> Opened:
        record, g = pair
        saved = record.saved
        if record.extra is not None or record.number < versions.latest[0]:
            g, saved, pair = check_and_run_hooks(record, g, again, hooks)
        rule, saved = record.rule, as_nodes(record, saved)
        if g.dtype != record.dtype:
            g = cast_gradient(g, record.dtype)
        kept = pair if limit is None or g.size <= limit else None
        if rule.joint is not None:
            return g, picks(len(record.parents)), all_at_once(record, g, saved), kept
        return g, (rule.complex_vjps() if record.dtype.kind == "c" else rule.vjps), saved, kept

    return open_record


def check_and_run_hooks(
    record: Record, g: Array, again: dict[Record, Array], with_hooks: bool
) -> tuple[Array, Values, Pair]:  # fmt: skip
    """What few records need before their row runs. Returns g, ``saved``, and the new pair (record, g)."""
    extra = record.extra
    if with_hooks and extra is not None and extra.hooks:
        g = run_hooks(record, g, list(extra.hooks.values()))
    check_saved(record)  # a hook may have written into what the row reads
    saved = record.saved if extra is None or extra.recompute_depth is None else recall_saved(record, again)
    return g, saved, (record, g)


def as_nodes(record: Record, saved: Sequence[Any]) -> Values:
    """``saved`` with nodes where gradients flow: the operands', and the record's own result."""
    saved = list(saved)
    for k, parent in enumerate((*record.parents, *[None] * (len(saved) - len(record.parents) - 1), record)):
        if parent is not None and (type(saved[k]) in NODE_TYPES or isinstance(saved[k], np.generic)):
            saved[k] = parent if isinstance(parent, VariableRole) else operation_from(saved[k], parent)
    return tuple(saved)


def wrap_by_modes(open_record: OpenRecord) -> OpenRecord:
    """``open_record``, wrapped by the modes that are on: anomaly mode checks gradients, safe_masking keeps zeros."""
    switches = modes()
    if switches.wrap_open_record is not None:
        open_record = switches.wrap_open_record(open_record)
    if switches.safe_masking or switches.anomaly:
        from .anomaly import mask_open_record, wrap_open_record

        open_record = mask_open_record(open_record) if switches.safe_masking else open_record
        open_record = wrap_open_record(open_record) if switches.anomaly else open_record
    return open_record


@functools.cache
def picks(n: int) -> Sequence[VJP]:
    """For each of ``n`` operands, the function that picks its part of what a joint rule has sent."""
    return tuple([lambda g, sent, k=k: sent[k] for k in range(n)])


def all_at_once(record: Record, g: Array, saved: Values) -> list[Array]:
    """The contributions of a rule that computes all of them together, checked; None becomes zeros.

    The rule gets what it saved, and the record itself after it.
    """
    assert record.rule.joint is not None  # noqa: S101
    sent = record.rule.joint(g, (*saved, record))
    sent = list(sent) if isinstance(sent, (tuple, list)) else [sent]
    if not modes().recording:  # a grad_fn may have computed with nodes: what it read as x, not x.value
        sent = [value_of(s) for s in sent]
    if len(sent) != len(record.parents):
        raise GradientShapeError(
            f"grad_fn of {record.node_name} returned {len(sent)} gradients for {len(record.parents)} operands: one "
            f"each, in operand order, None where none is needed"
        )
    parts: Any = getattr(g, "grads", {0: g}).values()
    is_complex = any([part.dtype.kind == "c" for part in parts])  # then a real operand is sent the real part
    for k, parent in enumerate(record.parents):
        if parent is None:
            continue
        if sent[k] is not None and not is_complex:
            check_numbers(sent[k], parent.dtype, f"what {record.rule.name} sends back", holder_name(parent))
        shape, dtype = (parent.shape, parent.dtype)
        if sent[k] is None:
            sent[k] = np.zeros(shape, dtype)
        elif not hasattr(sent[k], "dtype"):
            sent[k] = np.asarray(sent[k], dtype)
        if sent[k].shape != shape:
            name = holder_name(parent)
            raise GradientShapeError(
                f"grad_fn of {record.node_name} returned shape {sent[k].shape} for operand {k} ({name}), "
                f"whose shape is {shape}"
            )
        if not isinstance(sent[k], NodeRole):
            sent[k] = cast_gradient(sent[k], dtype)
    return sent
