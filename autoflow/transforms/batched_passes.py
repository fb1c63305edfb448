"""Many backward passes as one: all rows of a Jacobian at once, on arrays that hide which row it is.

A pass back is linear in its seed, and never looks at it. So the seeds e₀, e₁, ... are given as one array that hides its
first axis (``batching/batched.py``): the engine and the rows of the table run once, on gradients that stand for one
row each, and each product with a matrix becomes one large product for all rows.

A chunk of rows is so large that its gradients stay in the processor's cache. Where a pass cannot be batched (a rule
that looks at the numbers of g, a hook that is to see every pass) nothing is returned, and each row has a pass.

Then Jacobians that are mostly zero: rows that have no column in common share a pass.

If row 0 has its entries in the columns 0 and 1, and row 5 in the columns 5 and 6, then one pass with the seed e₀ + e₅
sends back both, side by side. So rows are coloured: two rows of one colour have no column in common. A banded matrix of
any size needs as many colours as its band is wide, a dense one as many as it has rows. The same with columns, forwards;
whichever needs fewer. Source: A. R. Curtis, M. J. D. Powell and J. K. Reid, "On the estimation of sparse Jacobian
matrices", 1974; the order of the greedy colouring, rows with many entries first, is Welsh and Powell's.

The pattern is the user's word, so it is checked: the product with a random vector, by one more pass, must be that of
the matrix that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ..backprop.hooks import leaf_hooks
from ..backprop.passes import quietly
from ..base.errors import BatchError, InputError
from ..base.modes import modes, switched
from ..batching import vmap
from ..batching.batched import Batched, Doubt
from ..batching.forms import in_front
from ..batching.vmap import batched_over
from ..nodes.grads import cast_gradient
from ..nodes.nodes import Array, gradient_target, value_of
from ..nodes.records import ancestors
from ..table.shapes import is_numpys
from .evaluation import Trace
from .forward_pass import ForwardPass

FEW = 8  # it pays from this number of rows on: an operation on hidden batches costs some 5 µs more than on arrays
CHUNK_BYTES = 2**22  # of the gradients in the graph, for all rows of a chunk: see benchmarks/jacobians.py


Passes = Iterator[tuple[int, int | None, list[Any]]]


def batched_passes(
    root: Any, stop: Any, like: Any, pullback: Callable[[Any], list[Any]], given: Any = None,
    watch: Callable[[range], Iterable[int]] = iter,
) -> Passes:  # fmt: skip
    """The passes for many seeds, in chunks: (first, one behind the last, gradients with an axis for the seeds); or,
    where they cannot be batched, are too few or too large, one by one: (which, None, gradients).

    root, stop : where the pass begins and ends.
    like : a node like the seeds.
    pullback : the pass, from a seed to gradients; None where nothing arrives.
    given : the seeds, one per row; by default each has a one at one element.
    watch : goes through the chunks, and may show how far we are.
    """
    switches, first, n = modes(), None, like.size if given is None else len(given)
    is_quiet = not switches.anomaly and not switches.safe_masking and is_numpys(value_of(like))
    size = graph_bytes(gradient_target(root), stop or ()) if n >= FEW and is_quiet else None

    def seeds(start: int, end: int) -> Array:
        if given is None:
            return units(like, start, end)
        return given[start:end].reshape((end - start, *like.shape)).astype(like.dtype, copy=False)

    chunk = min(n, CHUNK_BYTES // max(size, 1)) if size is not None else 0
    if chunk >= FEW:
        with suppress(
            Exception
        ):  # whatever it is: if not for the batch's sake, it comes again in the first single pass
            first = one_chunk(pullback, seeds(0, chunk), chunk)
    if first is None:
        for i in watch(range(n)):
            yield i, None, pullback(seeds(i, i + 1).reshape(like.shape))
        return
    for start in watch(range(0, n, chunk)):
        end = min(start + chunk, n)
        yield start, end, one_chunk(pullback, seeds(start, end), end - start) if start else first


def one_chunk(pullback: Callable[[Any], list[Any]], seeds: Array, size: int) -> list[Any]:
    """The gradients for some seeds, with the axis of the seeds in front."""
    wrap_open_record = vmap.wrap_backward(modes().wrap_open_record)
    try:
        with batched_over(size, may_loop=False) as layer, switched(wrap_open_record=wrap_open_record):
            found = pullback(Batched(seeds, layer))
            return [g if g is None else in_front(g, layer) for g in found]
    except Doubt as doubt:
        if doubt.layer is not layer:
            raise
        raise BatchError(f"derivatives that look at numbers: {layer.reason}") from None


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


def sparse_jacobian(trace: Trace, sparsity: Any, mode: str) -> Any:
    """The Jacobian of one array for one array, as a SciPy ``csr_array`` with the entries of ``sparsity``."""
    from scipy import sparse

    z = trace.z
    if len(trace.leaves) != 1 or trace.many or gradient_target(z) is None or not trace.reaches(z):
        raise InputError("jacobian(sparsity=) is for a function of one array that returns one array computed from it")
    x = trace.leaves[0]
    if trace.nested:
        raise InputError("jacobian(sparsity=) cannot be differentiated: a SciPy array has no history")
    if "c" in (z.dtype.kind, x.dtype.kind):
        raise InputError("jacobian(sparsity=) is for real numbers: take real and imaginary parts")
    pattern = sparse.csr_array(sparsity, dtype=bool)
    if pattern.shape != (z.size, x.size):
        raise InputError(
            f"sparsity has shape {pattern.shape}; for a result of {z.size} and an argument of {x.size} elements it is "
            f"({z.size}, {x.size})"
        )
    pattern.eliminate_zeros()
    pattern.sum_duplicates()
    turned = sparse.csr_array(pattern.T)
    by_row = colours(pattern, turned) if mode != "forward" else np.zeros(0, np.intp)
    by_column = colours(turned, pattern) if mode != "reverse" else np.zeros(0, np.intp)
    fewer = by_row.max(initial=-1) <= 2 * by_column.max(initial=-1)  # a pass forward costs two
    reverse = mode == "reverse" or (mode == "auto" and fewer)
    rows, columns = pattern.nonzero()

    def back(seed: Any) -> Any:
        return trace.gradients(z, seed)[0]

    if reverse:
        found = quietly(products, back, z, together(by_row, z.dtype), trace.stop(z), z, x)
        entries = found[by_row[rows], columns] if rows.size else np.zeros(0, x.dtype)
    else:
        forward = ForwardPass(trace, [z])
        found = quietly(products, lambda t: forward([t])[0], z, together(by_column, x.dtype), trace.stop(z), x, z)
        entries = found[by_column[columns], rows] if rows.size else np.zeros(0, z.dtype)
    matrix = sparse.csr_array((entries, (rows, columns)), shape=pattern.shape)
    u = weights(z.size)
    check(u @ matrix, products(back, z, u[None], trace.stop(z), z, x)[0], u, matrix)
    return matrix


def colours(pattern: Any, turned: Any) -> Array:
    """A number for each row of a csr array, so that rows of one number have no column in common. ``turned``: its
    transpose, which says who else is in a column."""
    n = pattern.shape[0]
    colour = np.full(n, -1, np.intp)
    for row in np.argsort(-np.diff(pattern.indptr), kind="stable").tolist():
        columns = pattern.indices[pattern.indptr[row] : pattern.indptr[row + 1]]
        ends = [turned.indices[turned.indptr[c] : turned.indptr[c + 1]] for c in columns.tolist()]
        near = colour[np.concatenate(ends)] if ends else colour[:0]
        taken = set(near.tolist())
        colour[row] = next(c for c in range(n) if c not in taken)
    return colour


def products(pullback: Callable[[Any], Any], root: Any, seeds: Array, stop: Any, like: Any, to: Any) -> Array:
    """The gradients that the passes with these seeds (one per row, each like ``like``) send back, one per row, each
    like ``to``."""
    found = []
    for _, end, (g,) in batched_passes(root, stop, like, lambda seed: [pullback(seed)], seeds):
        if g is None:  # a constant: all of its derivatives are zero
            return np.zeros((len(seeds), to.size))
        found.append(value_of(g).reshape((1 if end is None else len(g), to.size)))
    return np.concatenate(found) if found else np.zeros((0, to.size))


def together(colour: Array, dtype: Any) -> Array:
    """For each colour a row with ones at its members."""
    seeds = np.zeros((int(colour.max(initial=-1)) + 1, colour.size), dtype)
    seeds[colour, np.arange(colour.size)] = 1
    return seeds


def weights(n: int) -> Array:
    """Numbers of either sign, none small, so that omitted entries do not cancel. The same in every call."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.5, 1.5, n) * rng.choice([-1.0, 1.0], n)


def check(ours: Array, right: Array, u: Array, matrix: Any) -> None:
    """Raise InputError if the matrix that was found does not multiply as the Jacobian does."""
    right = cast_gradient(right, ours.dtype)
    scale = np.abs(u) @ np.abs(matrix) + np.abs(right)
    eps = np.finfo(right.dtype).eps if right.dtype.kind == "f" else np.finfo(float).eps
    wrong = np.flatnonzero(~(np.abs(ours - right) <= 1e3 * eps * scale) & np.isfinite(right))
    if wrong.size:
        raise InputError(
            f"sparsity leaves out derivatives that are not zero: {wrong.size} columns of the Jacobian are wrong, the "
            f"first is column {wrong[0]}. Give a pattern that has every place which may be other than zero."
        )
