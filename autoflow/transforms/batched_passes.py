"""Many backward passes as one: all rows of a Jacobian at once, on arrays that hide which row it is.

A pass back is linear in its seed, and never looks at it. So the seeds e₀, e₁, ... are given as one array that hides its
first axis (``batching/batched.py``): the engine and the rows of the table run once, on gradients that stand for one
row each, and each product with a matrix becomes one large product for all rows.

A chunk of rows is so large that its gradients stay in the processor's cache. Where a pass cannot be batched (a rule
that looks at the numbers of g, a hook that is to see every pass) nothing is returned, and each row has a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..backprop.hooks import leaf_hooks
from ..base.modes import modes, switched
from ..batching import vmap
from ..batching.batched import Batched
from ..batching.forms import in_front
from ..batching.vmap import batched_over
from ..nodes.nodes import Array, gradient_target, value_of
from ..nodes.records import ancestors
from ..table.shapes import is_numpys

FEW = 8  # of so many rows and more it pays: an operation on hidden batches costs some 5 µs more than on arrays
CHUNK_BYTES = 2**22  # of the gradients in the graph, for all rows of a chunk: see benchmarks/jacobians.py


def batched_passes(
    root: Any,
    stop: Any,
    like: Any,
    pullback: Callable[[Any], list[Any]],
    seeds: Callable[[int, int], Array],
    n: int,
    watch: Callable[[range], Iterable[int]] = iter,
) -> Iterator[tuple[int, int, list[Any]]] | None:
    """The passes for ``n`` seeds, in chunks: (first, one behind the last, gradients with an axis for the seeds).

    root, stop : where the pass begins and ends.
    like : a leaf, whose array type the seeds have.
    pullback : the pass, from a seed to gradients; None where nothing arrives.
    seeds : from where to where -> these seeds, as one array.
    watch : goes through the chunks, and may show how far we are.

    None if they cannot be batched, or are too few or too large.
    """
    switches = modes()
    if n < FEW or switches.anomaly or switches.safe_masking or not is_numpys(like):
        return None
    size = graph_bytes(gradient_target(root), stop or ())
    chunk = min(n, CHUNK_BYTES // max(size, 1)) if size is not None else 0
    if chunk < FEW:
        return None
    try:
        first = one_chunk(pullback, seeds(0, chunk), chunk)
    except Exception:  # whatever it is: if it is not for the batch's sake, it comes again in the first single pass
        return None
    return chunks(first, pullback, seeds, watch(range(0, n, chunk)), chunk, n)


def chunks(
    first: list[Any], pullback: Callable[[Any], list[Any]], seeds: Callable[[int, int], Array], starts: Any, chunk: int,
    n: int,
) -> Iterator[tuple[int, int, list[Any]]]:  # fmt: skip
    """The first chunk, which is there, and the others."""
    for start in starts:
        end = min(start + chunk, n)
        yield start, end, one_chunk(pullback, seeds(start, end), end - start) if start else first


def one_chunk(pullback: Callable[[Any], list[Any]], seeds: Array, size: int) -> list[Any]:
    """The gradients for some seeds, with the axis of the seeds in front."""
    wrap_open_record = vmap.wrap_backward(modes().wrap_open_record)
    with batched_over(size, may_loop=False) as layer, switched(wrap_open_record=wrap_open_record):
        found = pullback(Batched(seeds, layer))
        return [g if g is None else in_front(g, layer) for g in found]


def graph_bytes(record: Any, stop: Any) -> int | None:
    """How large all gradients between a record and where the pass stops are; None if one of them has a hook."""
    total = 0
    for r in ancestors(record, lambda r: r not in stop):
        if r in stop or not r.parents:
            total += getattr(r, "nbytes", 0)
            if leaf_hooks(r, "before"):
                return None
            continue
        if r.extra is not None and r.extra.hooks:
            return None
        value = r.saved[-1]
        total += value.size * value.dtype.itemsize if hasattr(value, "dtype") else 0
    return total


def units(like: Any, start: int, end: int) -> Array:
    """Arrays like ``like``, as one: the k-th has a one at its element start + k."""
    z = np.zeros_like(value_of(like), shape=(end - start, like.size))
    places = np.arange(end - start)
    z[places, places + start] = 1
    return z.reshape((end - start, *like.shape))
