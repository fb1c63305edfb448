"""Functions with several results: which recorded operations are one function, and which of them are its results.

    q, r = np.linalg.qr(x)     recorded as qr (all results side by side), getitem [..., a:b] for each, reshape
    p, q = PQ.apply(a, b)      an af.Function: recorded as PQ (which has no value) and a "part" for each result
    a, b = np.split(x, 2)      recorded as x[0:n], x[n:2*n]
    a, b = np.unstack(x)       recorded as moveaxis, x[0], x[1]

A picture draws each of them as one card with a row per result (:mod:`~..folding.results`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# name of a row whose result is several packed ones (rules/packed.py) -> how many last axes each of these has
PACKED = {"eig": (1, 2), "eigh": (1, 2), "lstsq": (2, 1, 1, 1), "qr": (2, 2), "svd": (2, 1, 2)}
LEAST = 2  # parts of an array that are a split


@dataclass(frozen=True, slots=True)
class Call:
    """A function with several results, in records."""

    word: str
    source: Any  # the record of the call, or the array that was split
    results: dict[int, Any]  # by place; results that nothing was computed from are not there
    inside: tuple[Any, ...] = ()  # records between the call and its results
    recorded: bool = True  # has the call a record of its own?


def packed_place(record: Any) -> tuple[Any, int, int] | None:
    """The call, the place and the axes of the result that ``record`` cuts out of all packed ones; None if it does
    not."""
    call = record.parents[0] if record.rule.name == "getitem" else None
    if call is None or not call.parents or call.rule.name not in PACKED:
        return None
    i, axes = record.options["i"], PACKED[call.rule.name]
    if not (isinstance(i, tuple) and len(i) == 2 and i[0] is Ellipsis and isinstance(i[1], slice)):
        return None
    middle = 1 if len(axes) == 3 else None
    place = 0 if i[1].start == 0 else len(axes) - 1 if i[1].stop == call.shape[-1] else middle
    return None if place is None else (call, place, axes[place])


def result_place(record: Any) -> tuple[Any, int] | None:
    """The call that ``record`` is a result of, and which one it is; None if it is none.

    >>> import autoflow as af, numpy as np
    >>> w, v = np.linalg.eigh(af.Variable(np.eye(2)))
    >>> result_place(v.grad_fn)[1], result_place((v * 2).grad_fn)
    (1, None)
    """
    if record.rule.name == "part" and record.parents[0] is not None and hasattr(record.parents[0].rule, "joint"):
        return record.parents[0], record.options["i"]
    before = record.parents[0] if record.rule.name == "reshape" else record
    found = packed_place(before) if before is not None and before.parents else None
    return None if found is None or (found[2] == 1) != (before is record) else found[:2]


def calls_of(records: Iterable[Any]) -> list[Call]:
    """The functions with several results among these records."""
    in_order = sorted(records, key=lambda r: int(r.number))
    shown = set(in_order)
    results: dict[Any, dict[int, Any]] = {}
    for record in in_order:
        found = result_place(record) if record.parents else None
        if found is not None and found[0] in shown:
            results.setdefault(found[0], {})[found[1]] = record
    calls = []
    for call, places in results.items():
        between = [r.parents[0] for r in places.values() if r.parents[0] is not call]
        calls.append(Call(call.rule.name, call, dict(sorted(places.items())), tuple(between)))
    return [*calls, *splits(in_order, shown)]


def splits(in_order: Sequence[Any], shown: set[Any]) -> list[Call]:
    """Arrays that were split: pieces along one axis, one behind the other, that leave nothing out.

    They are recorded one right after the other, as slices with both ends, which one does not write by hand.
    """
    taken: dict[Any, list[list[Any]]] = {}
    users: dict[Any, int] = {}
    for record in in_order:
        for parent in record.parents:
            users[parent] = users.get(parent, 0) + 1
        if record.parents and record.rule.name == "getitem" and record.parents[0] in shown:
            runs = taken.setdefault(record.parents[0], [])
            if runs and record.number == runs[-1][-1].number + 1:
                runs[-1].append(record)
            else:
                runs.append([record])
    calls = []
    for source, runs in taken.items():
        for run in runs:
            pieces = [piece(r.options["i"], len(source.shape)) for r in run]
            if len(run) >= LEAST and covers(pieces, source.shape):
                parts = dict(enumerate(run))
                if not isinstance(run[0].options["i"], int):
                    calls.append(Call("split", source, parts, recorded=False))
                elif moved_only(source, users[source], len(run)) and source.parents[0] in shown:
                    calls.append(Call("unstack", source.parents[0], parts, (source,), recorded=False))
    return calls


def moved_only(x: Any, uses: int, parts: int) -> bool:
    """Was an axis moved to the front just to take these parts?"""
    return bool(x.parents) and x.rule.name == "moveaxis" and uses == parts


def piece(i: Any, axes: int) -> tuple[int, int | slice] | None:
    """The axis along which ``x[i]`` cuts, and where; None if it does something else.

    >>> piece((slice(None), slice(0, 2)), 2), piece(1, 2), piece(Ellipsis, 2)
    ((1, slice(0, 2, None)), (0, 1), None)
    """
    parts = i if isinstance(i, tuple) else (i,)
    cutting = [k for k, part in enumerate(parts) if not (isinstance(part, slice) and part == slice(None))]
    if len(cutting) != 1 or len(parts) > axes:
        return None
    part = parts[cutting[0]]
    both_ends = isinstance(part, slice) and part.step is None and None not in (part.start, part.stop)
    if both_ends or (type(part) is int and cutting == [0] and len(parts) == 1):
        return cutting[0], part
    return None


def covers(pieces: Sequence[tuple[int, int | slice] | None], shape: tuple[int, ...]) -> bool:
    """Are these all parts along one axis, in order?"""
    known = [found for found in pieces if found is not None]
    if len(known) < len(pieces) or len({axis for axis, _ in known}) > 1:
        return False
    length = shape[known[0][0]]
    parts = [part for _, part in known]
    if all([isinstance(part, int) for part in parts]):
        return parts == list(range(length))
    ends = [(part.start, part.stop) for part in parts if isinstance(part, slice)]
    meet = len(ends) == len(parts) and all([a[1] == b[0] for a, b in pairwise(ends)])
    return meet and (ends[0][0], ends[-1][1]) == (0, length)
