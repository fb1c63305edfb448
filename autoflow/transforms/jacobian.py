"""Whole Jacobians and Hessians: rows by passes back (reverse), or columns (forward).

Row i of J = ∂z/∂x is what the seed eᵢ sends back: one pass for each element of z. Column j is J eⱼ, by a pass
forward: as many as x has elements. Each pass fills its place in the finished array, so the peak of memory is that array
and one pass; the array is estimated, and refused if too large, before the first. Many passes run as one where that is
possible: a pass back is linear in its seed, and never looks at it. So the seeds e₀, e₁, ... are given as one array that
hides its first axis (``batching/batched.py``): the engine and the rows of the table run once, on gradients that stand
for one row each, and each product with a matrix becomes one large product for all rows. A chunk of rows is so large
that its gradients stay in the processor's cache. Where a pass cannot be batched (a rule that looks at the numbers of g,
a hook that is to see every pass) each row has a pass.

Jacobians that are mostly zero: rows that have no column in common share a pass.

If row 0 has its entries in the columns 0 and 1, and row 5 in the columns 5 and 6, then one pass with the seed e₀ + e₅
sends back both, side by side. So rows are coloured: two rows of one colour have no column in common. A banded matrix of
any size needs as many colours as its band is wide, a dense one as many as it has rows. The same with columns, forwards;
whichever needs fewer. Source: A. R. Curtis, M. J. D. Powell and J. K. Reid, "On the estimation of sparse Jacobian
matrices", 1974; the order of the greedy colouring, rows with many entries first, is Welsh and Powell's.

The pattern is the user's word, so it is checked: the product with a random vector, by one more pass, must be that of
the matrix that was found.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Unpack, overload

import numpy as np

from ..backprop.hooks import hooks_of
from ..backprop.passes import quietly
from ..base import pytree
from ..base.errors import BatchError, InputError
from ..base.lazy import show_bar
from ..base.modes import modes, switched
from ..base.transformed import FunctionOfFunction
from ..batching import vmap
from ..batching.batched import Batched, Doubt, Layer
from ..batching.forms import in_front
from ..nodes.grads import cast_gradient
from ..nodes.nodes import Array, gradient_target, value_of
from ..nodes.records import Holder, ancestors
from ..table.shapes import AnyFunction, is_numpys
from .evaluation import A, Argnum, How, HowBy, Jacobian, N, OfFirst, P, Trace, chosen_argnum, plain_numbers
from .forward_pass import ForwardPass
from .gradient import checked_analytic, grad

LONG = 5.0  # seconds after which a progress bar is shown

# ---------------------------------------------------------------- what users call, and whole Jacobians line by line


@overload
def jacobian(f: np.ufunc, *, mode: str = "auto", **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def jacobian(f: OfFirst[N, P], *, mode: str = "auto", **how: Unpack[How]) -> Jacobian[N, P]: ...
@overload
def jacobian(f: OfFirst[A, P], *, mode: str = "auto", **how: Unpack[How]) -> Jacobian[A, P]: ...
@overload
def jacobian(f: Callable[P, Any], argnum: Argnum, *, mode: str = "auto", **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def jacobian(f: Callable[P, Any], *, mode: str = "auto", **how: Unpack[HowBy]) -> Callable[P, Any]: ...
def jacobian(
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None, mode: str = "auto",
    allow_unused: bool = False, holomorphic: bool = False, sparsity: Any = None,
) -> AnyFunction:  # fmt: skip
    """All derivatives ∂zᵢ/∂xⱼ of a function, as a function: an array of shape ``z.shape + x.shape``.

    argnum, argnums : as in :func:`autoflow.grad`; containers of arguments and of results give containers of Jacobians.
    mode : "reverse" (a pass per element of z), "forward" (per element of x), "auto" (the fewer). As in JAX, the
        dtype of x is that of the Jacobian by "reverse", that of z by "forward". "auto" has that of x, if z is real.
    holomorphic : needed if argument and result are complex; the derivative is then f'.
    sparsity : where derivatives may be nonzero: a boolean or SciPy sparse array of shape (z.size, x.size), for
        one real array in and one out. Rows, or columns, that do not overlap share a pass, and the result is a SciPy
        ``csr_array`` of that shape. One more pass checks the pattern.

    Passes are batched: many rows are computed in one pass, in chunks that fit into the processor's cache. Where that is
    not possible (a hook, a rule that looks at the numbers of g), there is one pass for each row.

    Raises MemoryError if the result would exceed ``af.options.max_bytes``, and InputError if ``sparsity`` leaves out
    derivatives that are not zero. A product with the Jacobian does not
    need the whole of it: see :func:`autoflow.vjp` and :func:`autoflow.jvp`.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    choice = chosen_argnum(f, argnum, argnums)
    if mode not in ("auto", "reverse", "forward"):
        raise ValueError(f"mode is 'auto', 'reverse' or 'forward', not {mode!r}")

    how = {"argnum": choice, "mode": mode, "allow_unused": allow_unused, "holomorphic": holomorphic}
    return JacobianFunction(f, {"sparsity": sparsity, **how})


class JacobianFunction(FunctionOfFunction):
    """The Jacobian as a function of the arguments of ``f``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """At these arguments."""
        how = self.how
        trace = Trace(self.f, how["argnum"], args, options, unused=how["allow_unused"])
        if how["sparsity"] is not None:
            return sparse_jacobian(trace, how["sparsity"], how["mode"])
        outputs = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
        check_size(outputs, trace.leaves)
        trace.checked_reach(outputs, how["allow_unused"])

        def part(z: Any) -> Any:
            return trace.arrange_answers(of_output(trace, z, how["mode"], how["holomorphic"]))

        return pytree.tree_map(lambda z: part(z) if pytree.is_number(z) else None, trace.z)


of_leaves: Callable[..., AnyFunction] = jacobian  # whatever the types of arguments and results


def jacfwd(f: AnyFunction, argnum: Argnum | None = None, **options: Any) -> AnyFunction:
    """:func:`autoflow.jacobian` by columns, ``mode="forward"``: for few arguments and many results.

    >>> jacfwd(lambda x: np.stack([x, x**2, x**3]))(2.0)
    array([ 1.,  4., 12.])
    """
    return of_leaves(f, argnum, mode="forward", **options)


def jacrev(f: AnyFunction, argnum: Argnum | None = None, **options: Any) -> AnyFunction:
    """:func:`autoflow.jacobian` by rows, ``mode="reverse"``: for many arguments and few results.

    >>> jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return of_leaves(f, argnum, mode="reverse", **options)


@overload
def hessian(f: np.ufunc, **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def hessian(f: OfFirst[N, P], **how: Unpack[How]) -> Jacobian[N, P]: ...
@overload
def hessian(f: OfFirst[A, P], **how: Unpack[How]) -> Jacobian[A, P]: ...
@overload
def hessian(f: Callable[P, Any], argnum: Argnum, **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def hessian(f: Callable[P, Any], **how: Unpack[HowBy]) -> Callable[P, Any]: ...
def hessian(
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> AnyFunction:  # fmt: skip
    """All second derivatives of a scalar function, as a function: an array of shape ``x.shape + x.shape``.

    A tuple of arguments gives a tuple of tuples, ``h[i][j]`` = ∂²f/∂xᵢ∂xⱼ. The rest as in :func:`autoflow.jacobian`;
    for products with the Hessian see :func:`autoflow.hvp`.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    choice = chosen_argnum(f, argnum, argnums)
    slope = grad(f, choice, allow_unused=allow_unused, holomorphic=holomorphic)
    return jacobian(slope, choice, mode="reverse", allow_unused=allow_unused, holomorphic=holomorphic)


def check_size(outputs: list[Array], leaves: list[Array]) -> None:
    """Raise MemoryError if the result would exceed the limit."""
    n = sum([np.size(value_of(z)) for z in outputs])
    total = sum([n * x.size * x.dtype.itemsize for x in leaves])
    if total > modes().max_bytes:
        raise MemoryError(
            f"the Jacobian of {n:,} results for {sum([x.size for x in leaves]):,} arguments takes {total:,} bytes, "
            f"more than af.options.max_bytes = {modes().max_bytes:,}. Products with it need no such array: af.vjp, "
            f"af.jvp, af.hvp. Or allow it: with af.options(max_bytes={total}): ..."
        )


def of_output(trace: Trace, z: Array, mode: str, holomorphic: bool) -> list[Array]:
    """The Jacobian of one result for each leaf."""
    if not trace.reaches(z):
        dtype = np.result_type(value_of(z))
        dtype_kept = dtype if mode == "forward" and dtype.kind in "fc" else None
        return [np.zeros_like(value_of(x), dtype_kept, shape=np.shape(z) + x.shape) for x in trace.leaves]
    forward = mode == "forward" or (mode == "auto" and z.size > sum([x.size for x in trace.leaves]))
    complex_x = any([x.dtype.kind == "c" for x in trace.leaves])
    complex_z = z.dtype.kind == "c"
    if holomorphic or (complex_z and (complex_x or mode == "reverse")):
        checked_analytic(trace, z, holomorphic)
    elif complex_z:
        forward = True
    elif complex_x:
        forward = False  # the gradient dz/da + i dz/db of a real z is what a pass back gives
    conjugate = holomorphic and not forward  # a pass gives conj f': see Rule.complex_vjps
    if not forward:
        return by_rows(trace, z, conjugate)
    columns = by_columns(trace, z)
    if mode == "forward" or complex_z:
        return columns
    with switched(recording=trace.nested):  # as if it had been computed by rows
        return [cast_gradient(column, x.dtype) for column, x in zip(columns, trace.leaves, strict=True)]


def by_rows(trace: Trace, z: Array, conjugate: bool) -> list[Array]:
    """A pass for each row: the seed that is 1 at i, else 0, sends back row i."""
    tables = [Table(trace.nested, z, x) for x in trace.leaves]
    push = functools.partial(trace.gradients, z)
    for start, end, gradients in batched_passes(z, trace.stop(z), z, push, watch=show_progress):
        for table, x, g in zip(tables, trace.leaves, gradients, strict=True):
            with switched(recording=trace.nested):
                g = g if g is None else cast_gradient(g, x.dtype)
                table.put(start, end, np.conjugate(g) if conjugate and g is not None else g)
    return [trace.keep_differentiable(k, t.rows()) for k, t in enumerate(tables)]


def by_columns(trace: Trace, z: Array) -> list[Array]:
    """A pass forward for each column: the tangent that is 1 at j, else 0, becomes column j."""
    forward = ForwardPass(trace, [z])
    answers = []
    for k, x in enumerate(trace.leaves):
        table = Table(trace.nested, x, z)

        def push(t: Array, k: int = k) -> list[Array]:
            return forward([t if i == k else None for i in range(len(trace.leaves))])

        for start, end, (tangent,) in batched_passes(z, trace.stop(z), x, push, watch=show_progress):
            table.put(start, end, tangent)
        answers.append(trace.keep_differentiable(k, table.columns()))
    return answers


class Table:
    """A Jacobian that is filled line by line: an array, or (nodes cannot be written into it) a list of nodes."""

    def __init__(self, nested: bool, across: Array, along: Array) -> None:
        self.nested, self.across, self.along, self.dtype = nested, across.shape, along.shape, along.dtype
        self.parts: list[Array] = []  # lines, or blocks of several lines
        if not nested:
            self.array = np.zeros_like(value_of(along), shape=(across.size, *along.shape))

    def put(self, start: int, end: int | None, part: Array) -> None:
        """Some lines, as one array, or line ``start`` alone; None is zero."""
        if self.nested:
            shape = self.along if end is None else (end - start, *self.along)
            self.parts.append(np.zeros(shape, self.dtype) if part is None else part)
        elif part is not None:
            self.array[start if end is None else slice(start, end)] = plain_numbers(part)

    def rows(self) -> Array:
        """Shape across + along."""
        if not self.nested:
            return self.array.reshape(self.across + self.along)
        with switched(recording=True):
            if not self.parts:
                return np.zeros(self.across + self.along, self.dtype)
            join = np.stack if self.parts[0].shape == self.along else np.concatenate
            return np.reshape(join(self.parts), self.across + self.along)

    def columns(self) -> Array:
        """Shape along + across."""
        n = len(self.across)
        order = (*range(n, n + len(self.along)), *range(n))
        with switched(recording=self.nested):
            whole = np.transpose(self.rows(), order)
        return whole if self.nested or not is_numpys(whole) else whole.copy("C")


def show_progress(steps: range) -> Iterable[int]:
    """The steps, with a progress bar (tqdm's, if installed) once they turn out to take longer than ``LONG`` seconds."""
    start = time.perf_counter()
    for done, i in enumerate(steps, 1):
        yield i
        spent = time.perf_counter() - start
        if spent > LONG / 10 and spent / done * len(steps) > LONG:
            yield from show_bar(steps[done:], desc="Jacobian", initial=done, total=len(steps))
            return


# ---------------------------------------------------------------- many passes as one


FEW = 8  # it pays from this number of rows on: an operation on hidden batches costs some 5 µs more than on arrays
CHUNK_BYTES = 2**22  # of the gradients in the graph, for all rows of a chunk: see benchmarks/jacobians.py


Pullback = Callable[[Array], list[Array]]
Passes = Iterator[tuple[int, int | None, list[Array]]]


def batched_passes(
    root: Array, stop: Any, like: Array, pullback: Pullback, given: Array = None,
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
        with suppress(Exception):  # one that is not for the batch's sake comes again in the first single pass
            first = one_chunk(pullback, seeds(0, chunk), chunk)
    if first is None:
        for i in watch(range(n)):
            yield i, None, pullback(seeds(i, i + 1).reshape(like.shape))
        return
    for start in watch(range(0, n, chunk)):
        end = min(start + chunk, n)
        yield start, end, one_chunk(pullback, seeds(start, end), end - start) if start else first


def one_chunk(pullback: Pullback, seeds: Array, size: int) -> list[Array]:
    """The gradients for some seeds, with the axis of the seeds in front."""
    layer, wrap = Layer(size, may_loop=False), vmap.wrap_backward(modes().wrap_open_record)
    here = switched(layer=layer, own_memory=layer.own_memory, wrap_open_record=wrap)
    try:
        with vmap.RUNNING.needed_by(layer), here:
            gradients = pullback(Batched(seeds, layer))
            return [g if g is None else in_front(g, layer) for g in gradients]
    except Doubt as doubt:
        if doubt.layer is not layer:
            raise
        raise BatchError(f"derivatives that look at numbers: {layer.reason}") from None
    finally:
        layer.open = False


def graph_bytes(record: Holder, stop: Any) -> int | None:
    """How large all gradients between a record and where the pass stops are; None if one of them has a hook."""
    total = 0
    for r in ancestors(record, lambda r: r not in stop):
        if hooks_of(r).get("before"):
            return None
        value = r if r in stop or not r.parents else r.saved[-1]
        total += value.size * value.dtype.itemsize if hasattr(value, "size") else 0
    return total


def units(like: Array, start: int, end: int) -> Array:
    """Arrays like ``like``, as one: the k-th has a one at its element start + k."""
    z = np.zeros_like(value_of(like), shape=(end - start, like.size))
    places = np.arange(end - start)
    z[places, places + start] = 1
    return z.reshape((end - start, *like.shape))


# ---------------------------------------------------------------- sparse Jacobians


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

    back = functools.partial(trace.gradients, z)
    if reverse:
        sums = quietly(products, back, z, seeds_of_colours(by_row, z.dtype), trace.stop(z), z, x)
        entries = sums[by_row[rows], columns] if rows.size else np.zeros(0, x.dtype)
    else:
        forward = ForwardPass(trace, [z])
        sums = quietly(products, lambda t: forward([t]), z, seeds_of_colours(by_column, x.dtype), trace.stop(z), x, z)
        entries = sums[by_column[columns], rows] if rows.size else np.zeros(0, z.dtype)
        entries = entries.astype(x.dtype) if mode == "auto" else entries
    # SciPy has no float16.
    matrix = sparse.csr_array((entries, (rows, columns)), pattern.shape, np.promote_types(entries.dtype, np.float32))
    u, digits = weights(z.size), float(max(np.finfo(z.dtype).eps, np.finfo(x.dtype).eps))
    check_pattern(u @ matrix, products(back, z, u[None], trace.stop(z), z, x)[0], u, matrix, digits)
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
        used = set(near.tolist())
        colour[row] = next(c for c in range(n) if c not in used)
    return colour


def products(pullback: Pullback, root: Array, seeds: Array, stop: Any, like: Array, to: Array) -> Array:
    """The gradients that the passes with these seeds (one per row, each like ``like``) send back, one per row, each
    like ``to``."""
    rows = []
    for _, end, (g,) in batched_passes(root, stop, like, pullback, seeds):
        if g is None:  # a constant: all of its derivatives are zero
            return np.zeros((len(seeds), to.size), to.dtype)
        rows.append(value_of(g).reshape((1 if end is None else len(g), to.size)))
    return np.concatenate(rows) if rows else np.zeros((0, to.size), to.dtype)


def seeds_of_colours(colour: Array, dtype: np.dtype) -> Array:
    """For each colour a row with ones at its members."""
    seeds = np.zeros((int(colour.max(initial=-1)) + 1, colour.size), dtype)
    seeds[colour, np.arange(colour.size)] = 1
    return seeds


def weights(n: int) -> Array:
    """Numbers of either sign, none small, so that omitted entries do not cancel. The same in every call."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.5, 1.5, n) * rng.choice([-1.0, 1.0], n)


def check_pattern(ours: Array, right: Array, u: Array, matrix: Any, digits: float) -> None:
    """Raise InputError if the matrix that was found does not multiply as the Jacobian does. digits: the eps of what was
    computed."""
    right = cast_gradient(right, ours.dtype)
    scale = np.abs(u) @ np.abs(matrix) + np.abs(right)
    wrong = np.flatnonzero(~(np.abs(ours - right) <= min(1e3 * digits, 0.1) * scale) & np.isfinite(right))
    if wrong.size:
        raise InputError(
            f"sparsity leaves out derivatives that are not zero: {wrong.size} columns of the Jacobian are wrong, the "
            f"first is column {wrong[0]}. Give a pattern that has every place which may be other than zero."
        )
