"""The engine: reverse-mode differentiation on any directed acyclic graph.

This is the textbook version. A record knows its parents and the derivative with respect to each of them. Sort the
records so that each comes after all of its consumers; then every record sends its gradient, times the derivative, to
its parents:

>>> def gradients(root):
...     order, seen = [], set()
...     def visit(record):  # appends the record after everything it was computed from
...         if record not in seen:
...             seen.add(record)
...             for parent in record.parents:
...                 visit(parent)
...             order.append(record)
...     visit(root)
...     grads = {root: 1}
...     for record in reversed(order):
...         for parent, slope in zip(record.parents, record.slopes):
...             grads[parent] = grads.get(parent, 0) + grads[record] * slope
...     return grads

For ``a = x*x; out = a + a*x`` at x = 2, where d(out)/dx = 2x + 3x² = 16:

>>> class Toy:
...     def __init__(self, parents=(), slopes=()):
...         self.parents, self.slopes = parents, slopes
>>> x = Toy()
>>> a = Toy((x, x), (2, 2))
>>> product = Toy((a, x), (2, 4))
>>> out = Toy((a, product), (1, 1))
>>> gradients(out)[x]
16

:func:`pull_back` does the same without recursion, and forgets the gradient of a record once it has been sent on. It
knows nothing of arrays. A graph is made of *records*, and each has

    ``parents``          the records it was computed from, in order, with repeats; None where nothing flows

The caller of a pass gives two functions:

    ``open_record((record, g))``  -> ``g, vjps, saved, kept``, see :data:`Opened`: the gradient as the record shall see
                         it, one function per parent, what they saved (``vjp(g, saved)`` is the cotangent that the
                         record sends to that parent), and the pair that remains in the answer for it, or None
    ``add(a, b)``        the sum of two contributions, or of whatever else the vjps return

The rest is bookkeeping, in tables that belong to the pass: records are only read, so passes on the same graph may
be nested, or run at the same time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

Cotangent = Any  # dL/d(result of a record), anything that adds: a float, an array, or a node (for second derivatives)
Record = TypeVar("Record")  # anything with ``parents``
Pair = tuple[Record, Cotangent]
Opened = tuple[Cotangent, Sequence[Any], Any, Pair[Record] | None]  # g, vjps, saved, kept: see above
OpenRecord = Callable[[Pair[Record]], Opened[Record]]


def survey(root: Record, stop: Collection[Record] = ()) -> tuple[dict[Record, int], int]:
    """Count, for every ancestor of ``root`` with several consuming edges, those beyond the first; and the records.

    In ``z = x*x + x`` the record ``x`` has three edges, two into the product and one into the sum, so the first answer
    is ``{x: 2}``. Most records have one edge: they are not in it and cost the pass no bookkeeping. A record in
    ``stop`` counts as seen already, so it gets one edge too many: it waits for ever, and the pass ends there.
    """
    extra_uses: dict[Record, int] = {}
    seen = {root, *stop}
    queue: list[Any] = [root]
    for record in queue:  # the queue grows while it is walked: first in, first out
        for parent in record.parents:
            if parent is None:
                continue
            if parent in seen:
                extra_uses[parent] = extra_uses.get(parent, 0) + 1
            else:
                seen.add(parent)
                queue.append(parent)
    return extra_uses, len(queue)


def topological(root: Record) -> list[Any]:
    """``root`` and its ancestors, each after all of its consumers, breadth first."""
    waiting, _ = survey(root)
    order: list[Any] = [root]
    for record in order:
        for parent in record.parents:
            if parent is None:
                continue
            if waiting.get(parent, 0):
                waiting[parent] -= 1
            else:
                order.append(parent)
    return order


def pull_back(
    root: Record, seed: Cotangent, open_record: OpenRecord[Record],
    add: Callable[[Cotangent, Cotangent], Cotangent] = operator.add,
    stop: Collection[Record] = (), extra_uses: dict[Record, int] | None = None,
) -> list[Pair[Record]]:  # fmt: skip
    """Carry ``seed`` = dL/d(root) back through the graph. Returns the pairs (leaf, dL/d(leaf)) and what was kept.

    The whole of backpropagation is the inner loop: a record's gradient is the sum, over the edges by which it was
    used, of what each sends back. A record is ready when its last edge has been served, so each is processed once,
    after all of its consumers (A. B. Kahn, "Topological sorting of large networks", CACM 5(11), 1962). A plain queue
    with a set of visited records is wrong: in ``a = x*x; out = a + a*x`` it processes ``a`` before the product has
    sent its part. There is no recursion, so a graph may be a million records deep.

    Records in ``stop`` count as leaves. ``extra_uses`` is what :func:`survey` has counted, if the caller has it; the
    pass uses it up.

    The example at the top of this file again:

    >>> class Toy:
    ...     def __init__(self, parents=(), slopes=()):
    ...         self.parents, self.slopes = parents, slopes
    >>> def open_record(pair):
    ...     record, g = pair
    ...     return g, [lambda g, saved, slope=slope: g * slope for slope in record.slopes], None, None
    >>> x = Toy()
    >>> a = Toy((x, x), (2.0, 2.0))
    >>> out = Toy((a, Toy((a, x), (2.0, 4.0))), (1.0, 1.0))
    >>> [g for record, g in pull_back(out, 1.0, open_record)]
    [16.0]
    """
    if root in stop:
        return [(root, seed)]
    if extra_uses is None:
        extra_uses, _ = survey(root, stop)
    partial: dict[Record, Cotangent] = {}  # sums that still wait for contributions
    queue: list[Any] = [(root, seed)]
    for place, pair in enumerate(queue):
        parents = pair[0].parents
        if not parents:
            continue  # a leaf: nothing to send; its pair stays
        g, vjps, saved, queue[place] = open_record(pair)
        k = -1  # counted by hand: zip and enumerate take 0.1 µs per record
        for parent in parents:
            k += 1
            if parent is None:
                continue
            sent = vjps[k](g, saved)
            if parent in extra_uses:
                if parent in partial:
                    sent = add(sent, partial.pop(parent))
                if extra_uses[parent]:
                    extra_uses[parent] -= 1
                    partial[parent] = sent
                    continue
            queue.append((parent, sent))
        g = sent = None  # opening.py counts references: the loop must not hold one
    return [*filter(None, queue), *partial.items()]
