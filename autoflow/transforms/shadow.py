"""Numbers that NumPy reads past us: found by a second run, in which there are other numbers to be read.

``np.array([v, v])`` of vectors, ``np.full(n, node)``, ``plain.dot(node)``, ``np.asarray(node)`` read the memory of a
node, and call nothing of ours. But a node has its numbers twice: in its own memory, which is what others see, and in
the plain array with which we compute (``node._value``). Usually both are the same memory. In a shadow run every new
node lies on memory of its own with slightly other numbers. All that asks nodes computes what it did before, to the bit,
so if the result is another one, then numbers were read past us: the gradient through them is lost.

Numbers that leave on purpose, by ``x.value``, ``float(x)``, ``af.stop_gradient(x)``, are the right ones in either run.
The call itself comes first, and its result is handed out. The second run begins with what the first one found
(``backprop/snapshots.py``) and leaves no trace.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
import types
import warnings
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES
from ..backprop.snapshots import MISSING, Snapshot, cell_value, silence
from ..base import pytree
from ..base.errors import LostGradientError, UnprovedWarning
from ..base.modes import modes, switched
from ..base.numbering import now
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import NodeRole, current_record, gradient_target, value_of
from ..nodes.versions import caller

Run = Callable[[], Any]
LONGEST = 3.0  # seconds; what takes longer does not run twice
COUNTS = 8  # numbers of operations that are looked at, of one function and kind of arguments
HELD = 200  # objects whose attributes are looked through for functions
CODES: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()  # worked out once per function
PROVED: dict[Any, set[int | None]] = {}  # codes and kinds -> numbers of operations; None: look again
PAST_US = (
    "np.array([v, v]) of arrays, np.full(n, node), plain.dot(node) and np.asarray(node) read the memory of a node and "
    "ask nobody. Use af.array([...]), np.stack, af.full; or x.value, float(x) or af.stop_gradient(x), if only the "
    "numbers are meant."
)


def proved_run(run: Run, f: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``run()``, which calls ``f``. Raises LostGradientError if numbers of nodes reach its results past us.

    That is looked at once for each function and kind of arguments, and again when the number of operations is new;
    under strict and anomaly mode, and with ``af.options(prove="always")``, at each call.
    """
    switches = modes()
    always = switches.strict or switches.anomaly or switches.prove == "always"
    inside = switches.depth > 1 or switches.layer is not None or switches.wrap_open_record is not None
    if switches.shadow or (inside and not always):
        return run()
    if always:
        return checked_run(run, f, args, options)
    key = codes_of(f), kind_of(args), kind_of(options) if options else ()
    known = PROVED.get(key)
    start = now()
    if known is None or None in known:
        last = start
        answers: list[Any] = []

        def counted() -> Any:
            nonlocal last
            answers.append(None)
            result = run()
            last = now() if len(answers) == 1 else last
            return result

        result = checked_run(counted, f, args, options)
        PROVED[key] = {*(known or ()), last - start} - {None}
        return result
    result = run()
    if now() - start not in known and len(known) < COUNTS:
        known.add(None)  # the next call is looked at
    return result


def codes_of(f: Any) -> tuple[Any, ...]:
    """The code of a function and of those that it holds: in closures, defaults, ``partial``, ``self``, attributes."""
    if type(f) is not types.FunctionType:
        return held_codes(f)
    found = CODES.get(f)
    if found is None:
        found = CODES[f] = held_codes(f)
    return found


def held_codes(f: Any) -> tuple[Any, ...]:
    """The same, looked through anew."""
    found: list[Any] = []
    queue, seen = [f], {id(f)}
    for x in queue:
        if isinstance(x, types.FunctionType):
            found.append(x.__code__)
            held = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
            held += [cell.cell_contents for cell in x.__closure__ or () if cell_value(cell) is not MISSING]
        elif isinstance(x, types.MethodType):
            held = [x.__func__, x.__self__]
        elif isinstance(x, functools.partial):
            held = [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, FunctionOfFunction):
            held = [x.f]
        else:
            found.append(type(x))
            held = list(getattr(x, "__dict__", {}).values()) if len(queue) < HELD else []
        for v in held:
            if callable(v) and id(v) not in seen and not isinstance(v, (NodeRole, type)):
                seen.add(id(v))
                queue.append(v)
    return tuple(found)


def kind_of(x: Any) -> Any:
    """What two calls must have in common to be proved by one of them: containers, shapes, dtypes."""
    if type(x) in (tuple, list):
        return tuple([kind_of(v) for v in x])
    if type(x) is dict:
        return tuple([(k, kind_of(v)) for k, v in x.items()])
    dtype = getattr(x, "dtype", None)
    return type(x) if dtype is None else (x.shape, dtype)


def checked_run(run: Run, *roots: Any) -> Any:
    """The result of ``run()``, called first and as it is. Raises LostGradientError if numbers reach it past us.

    It runs once more, from the state that the first call found, with other numbers in the memory of nodes. Afterwards
    all is as the first call left it: arrays, lists, attributes, random generators (``backprop/snapshots.py``).

    roots : where to look for what it may change: the function and its arguments.

    >>> import autoflow as af
    >>> x = af.Variable(2.0)
    >>> float(checked_run(lambda: np.sum(af.full(3, np.square(x)) * x * float(x))))
    48.0
    >>> checked_run(lambda: np.sum(np.full(3, np.square(x)) * x))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    autoflow.errors.LostGradientError: numbers of nodes reach the result without a gradient ...
    """
    before = Snapshot(*roots, run)
    began = time.perf_counter()
    result = run()
    if before.has_moved() or time.perf_counter() - began > LONGEST:
        why = "took long" if not before.has_moved() else "takes from an iterator, or from a file"
        warnings.warn(
            f"{roots[0] if roots else run!r} {why}: it did not run once more to see whether numbers leave the graph. "
            "af.options(prove='never') says that this is meant",
            UnprovedWarning, stacklevel=2,
        )  # fmt: skip
        return result
    try:
        expected = numbers_of(result)
    except TypeError:  # arrays on a device are not read unasked
        return result
    after = Snapshot(*roots, run)

    def again(**changes: Any) -> Any:
        before.restore()
        with switched(**{"listeners": (), **changes}):
            return run()

    try:
        with silence(), warnings.catch_warnings(record=True), before.locked():
            shadow = None
            with contextlib.suppress(Exception):  # it may come of the other numbers; if not, it comes again
                shadow = numbers_of(again(shadow=True))
            if shadow is not None and same(expected, shadow):
                return result
            repeated = None
            with contextlib.suppress(Exception):  # it writes into an array that is too large for a copy
                repeated = numbers_of(again())
            if repeated is not None and same(expected, repeated):  # else it gives another result each time
                raise LostGradientError(message(again))
            return result
    finally:
        after.restore()


def message(again: Callable[..., Any]) -> str:
    """What is said, with the line that first computes with such numbers: the two runs are compared once more."""
    runs: list[list[Any]] = []
    for shadow in (False, True):
        runs.append([])
        with contextlib.suppress(Exception):
            again(shadow=shadow, keep=sys.maxsize, listeners=(lambda node: runs[-1].append(operands_read(node)),))
    place = next((f" (first used in {a[0]}, at {a[1]})" for a, b in zip(*runs, strict=False) if a != b), "")
    return f"numbers of nodes reach the result without a gradient{place}: {PAST_US}"


def operands_read(node: Any) -> tuple[str, str, list[int]]:
    """Of an operation that was just recorded: its name, the line, checksums of its operands."""
    record = current_record(node)
    values = [v for v in record.saved[:-1] if type(v) in NODE_TYPES or np.isscalar(v)]
    sums = [zlib.crc32(np.ascontiguousarray(v).tobytes()) for v in values]
    return record.rule.name, caller(), sums


def numbers_of(z: Any) -> list[Any]:
    """The numbers of the results that have a gradient."""
    return [np.array(value_of(x)) for x in pytree.tree_leaves(z) if gradient_target(x) is not None]


def same(a: list[Any], b: list[Any]) -> bool:
    """Bit for bit, but for NaNs."""
    return len(a) == len(b) and all([np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)])
