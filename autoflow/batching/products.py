"""Batched forms of products, and of linear algebra, which works on stacks of matrices as it is.

A product of a batch and an array that all examples share is one large product, not one for each example.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.types import Array
from ..rules.linalg import dot_axes, explicit, summed_axes
from .along_axes import any_batched
from .batched import Layer, open_layer, sample, wrap_batched
from .forms import FORMS, Form, align, align_loops, batched, elementwise

SMALL = 4096  # multiplications of one example; of fewer, one product of all is quicker even if it copies


def product(a: Array, b: Array, a_mapped: bool, b_mapped: bool) -> Array:
    """a b for each example. Shapes: a (batch, n, k) or (n, k), b (batch, k, m) or (k, m); one has the batch."""
    (n, k), m = a.shape[-2:], b.shape[-1]
    if not b_mapped:
        return (a.reshape((a.shape[0] * n, k)) @ b).reshape((a.shape[0], n, m))
    if a_mapped:
        return a * b if k == 1 == b.shape[-2] else a @ b
    if m == 1 and b.shape[-2] == k:
        return (b.reshape(b.shape[:2]) @ a.T).reshape((b.shape[0], n, 1))
    if n * k * m > SMALL:
        return a @ b
    side = b.transpose((1, 0, 2)).reshape((b.shape[1], b.shape[0] * m))
    return (a @ side).reshape((n, b.shape[0], m)).transpose((1, 0, 2))


@batched(np.matmul)
def matmul(layer: Layer, x: Any, y: Any, **options: Any) -> Any:
    """Matrices, vectors, stacks of them."""
    (a, a_mapped), (b, b_mapped) = open_layer(x, layer), open_layer(y, layer)
    nx, ny = np.ndim(a) - a_mapped, np.ndim(b) - b_mapped
    if options:
        return NotImplemented
    if not nx or not ny or not (a_mapped or b_mapped):
        np.matmul(sample(x), sample(y))  # its errors are NumPy's
        return wrap_batched(np.matmul(a, b), layer, False)
    row, column = nx == 1, ny == 1
    a = a.reshape((*a.shape[:-1], 1, a.shape[-1])) if row else a
    b = b.reshape((*b.shape, 1)) if column else b
    if nx <= 2 and ny <= 2:
        z = product(a, b, a_mapped, b_mapped)
    elif ny <= 2 and not b_mapped:
        tall = a.reshape((math.prod(a.shape[:-1]), a.shape[-1]))
        z = (tall @ b).reshape((*a.shape[:-1], b.shape[-1]))
    else:
        (a, b), _ = align_loops(layer, [(a, a_mapped), (b, b_mapped)], (2, 2))
        z = np.matmul(a, b)
    z = z.reshape(z.shape[:-1]) if column else z
    if row:
        z = z.reshape((*z.shape[:-1],) if column else (*z.shape[:-2], z.shape[-1]))
    return wrap_batched(z, layer)


def of_vectors(function: Any, *cores: int) -> Form:
    """The form of a function of the last axes of each argument."""

    def form(layer: Layer, x: Any, y: Any, **options: Any) -> Any:
        found = [open_layer(v, layer) for v in (x, y)]
        found = [(v if hasattr(v, "shape") else np.asarray(v), mapped) for v, mapped in found]
        if options or any([v.ndim - mapped < core for (v, mapped), core in zip(found, cores, strict=True)]):
            return NotImplemented
        arrays, mapped = align_loops(layer, found, cores)
        return wrap_batched(function(*arrays), layer, mapped)

    return form


FORMS[np.vecdot] = of_vectors(np.vecdot, 1, 1)
FORMS[np.matvec] = of_vectors(np.matvec, 2, 1)
FORMS[np.vecmat] = of_vectors(np.vecmat, 1, 2)


# -- sums over any axes


def contract(layer: Layer, x: Any, y: Any, xs: tuple[int, ...], ys: tuple[int, ...]) -> Any:
    """The sum of products over the axes ``xs`` of x and ``ys`` of y: what is left of x, then what is left of y."""
    (a, a_mapped), (b, b_mapped) = open_layer(x, layer), open_layer(y, layer)
    if not (a_mapped or b_mapped):
        return wrap_batched(np.tensordot(a, b, (xs, ys)), layer, False)
    a, left = as_matrix(a, a_mapped, xs, last=True)
    b, right = as_matrix(b, b_mapped, ys, last=False)
    return wrap_batched(product(a, b, a_mapped, b_mapped).reshape((layer.size, *left, *right)), layer)


def as_matrix(x: Array, mapped: bool, axes: tuple[int, ...], last: bool) -> tuple[Array, tuple[int, ...]]:
    """x with ``axes`` as one axis, the last or the last but one, and all others as the other one; and their lengths."""
    n = x.ndim - mapped
    free = [k for k in range(n) if k not in axes]
    order = [k + mapped for k in (*free, *axes)] if last else [k + mapped for k in (*axes, *free)]
    lengths = tuple([x.shape[k + mapped] for k in free])
    k, rest = math.prod([x.shape[a + mapped] for a in axes]), math.prod(lengths)
    lead = x.shape[:1] if mapped else ()
    moved = x.transpose((0, *order) if mapped else tuple(order))
    return moved.reshape((*lead, rest, k) if last else (*lead, k, rest)), lengths


@batched(np.dot)
def dot(layer: Layer, a: Any, b: Any) -> Any:
    """Of numbers a product, else a sum over the last axis and the last but one."""
    nx, ny = np.ndim(a), np.ndim(b)
    if not nx or not ny:
        return elementwise(layer, np.multiply, (a, b), {})
    check_lengths(a, b, *dot_axes(nx, ny))
    return contract(layer, a, b, *dot_axes(nx, ny))


@batched(np.inner)
def inner(layer: Layer, a: Any, b: Any, /) -> Any:
    """A sum over the last axes."""
    nx, ny = np.ndim(a), np.ndim(b)
    if not nx or not ny:
        return elementwise(layer, np.multiply, (a, b), {})
    check_lengths(a, b, (nx - 1,), (ny - 1,))
    return contract(layer, a, b, (nx - 1,), (ny - 1,))


@batched(np.tensordot)
def tensordot(layer: Layer, a: Any, b: Any, axes: Any = 2) -> Any:
    """A sum over the axes that are named."""
    xs, ys = summed_axes(axes, np.ndim(a), np.ndim(b))
    check_lengths(a, b, xs, ys)
    return contract(layer, a, b, xs, ys)


def check_lengths(a: Any, b: Any, xs: tuple[int, ...], ys: tuple[int, ...]) -> None:
    """Raise ValueError if the axes to be summed over do not have the same lengths."""
    here, there = [np.shape(a)[k] for k in xs], [np.shape(b)[k] for k in ys]
    if here != there:
        raise ValueError(f"shapes {np.shape(a)} and {np.shape(b)} not aligned: axes of {here} and {there}")


@batched(np.outer)
def outer(layer: Layer, a: Any, b: Any) -> Any:
    """All products of two elements."""
    return np.multiply(np.reshape(a, (np.size(a), 1)), np.reshape(b, (1, np.size(b))))


@batched(np.vdot)
def vdot(layer: Layer, a: Any, b: Any, /) -> Any:
    """Σ conj(a) b over all elements."""
    return np.sum(np.multiply(np.conjugate(np.ravel(a)), np.ravel(b)))


@batched(np.einsum)
def einsum(layer: Layer, *operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    """One letter more, for the batch."""
    if isinstance(operands[0], str):
        call: Any = operands[0]
        arrays = list(operands[1:])
    else:
        pairs = len(operands) // 2
        arrays, call = list(operands[: 2 * pairs : 2]), operands[1 : 2 * pairs : 2] + operands[2 * pairs :]
    letters = explicit(call, [np.ndim(x) for x in arrays])
    new = next((c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in letters), None)
    found = [open_layer(x, layer) for x in arrays]
    if new is None:
        return NotImplemented
    inputs, _, output = letters.partition("->")
    mapped = any([m for _, m in found])
    terms = [new + term if m else term for term, (_, m) in zip(inputs.split(","), found, strict=True)]
    subscripts = ",".join(terms) + "->" + (new if mapped else "") + output
    result = np.einsum(subscripts, *[x for x, _ in found], optimize=optimize, **options)
    return wrap_batched(result, layer, mapped, arrays[0] if len(arrays) == 1 else None)  # ij->ji is a view


# -- linear algebra


def of_matrices(function: Any) -> Form:
    """The form of a function of matrices, which takes stacks of them."""

    def form(layer: Layer, a: Any, *args: Any, **options: Any) -> Any:
        inner, mapped = open_layer(a, layer)
        if any_batched(*args, *options.values()):
            return NotImplemented
        if inner.ndim - mapped < 2:
            function(sample(a), *args, **options)  # its error is NumPy's
        return wrap_batched(function(inner, *args, **options), layer, mapped)

    return form


LINALG = (
    "det inv cholesky eig eigh eigvals eigvalsh svd svdvals qr pinv slogdet matrix_power matrix_rank cond matrix_norm"
)
for name in LINALG.split():
    FORMS[getattr(np.linalg, name)] = of_matrices(getattr(np.linalg, name))


@batched(np.linalg.solve)
def solve(layer: Layer, a: Any, b: Any) -> Any:
    """x for a x = b; NumPy takes b for a vector only if it has one axis."""
    found = [open_layer(v, layer) for v in (a, b)]
    found = [(v if hasattr(v, "shape") else np.asarray(v), mapped) for v, mapped in found]
    vector = np.ndim(b) == 1
    if vector:
        found[1] = found[1][0].reshape((*found[1][0].shape, 1)), found[1][1]
    if np.ndim(a) < 2:
        np.linalg.solve(sample(a), sample(b))
    arrays, mapped = align_loops(layer, found, (2, 2))
    z = np.linalg.solve(*arrays)
    return wrap_batched(z.reshape(z.shape[:-1]) if vector else z, layer, mapped)


@batched(np.isclose)
def isclose(layer: Layer, a: Any, b: Any, *args: Any, **options: Any) -> Any:
    """Elementwise."""
    (a, b), mapped = align(layer, [a, b])
    return wrap_batched(np.isclose(a, b, *args, **options), layer, mapped)


# -- sliding products


def slide_windows(a: Any, v: Any, mode: str) -> Any:
    """``np.correlate`` of a with a v that is not longer: each window of a times conj(v)."""
    m = v.shape[0]
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    after = {"full": m - 1, "same": m - m // 2 - 1, "valid": 0}[mode]
    padded = np.pad(a, (before, after)) if before or after else a
    return np.lib.stride_tricks.sliding_window_view(padded, m) @ np.conjugate(v)


@batched(np.correlate)
def correlate(layer: Layer, a: Any, v: Any, mode: Any = "valid") -> Any:
    """Of a shorter a the two change places, and the result turns round."""
    if not is_sliding(a, v, mode):
        return NotImplemented
    if np.size(a) < np.size(v):
        return np.conjugate(slide_windows(as_batched(layer, v), a, mode)[::-1])
    return slide_windows(as_batched(layer, a), v, mode)


@batched(np.convolve)
def convolve(layer: Layer, a: Any, v: Any, mode: Any = "full") -> Any:
    """A correlation with the turned conjugate."""
    if not is_sliding(a, v, mode):
        return NotImplemented
    if np.size(a) < np.size(v):
        a, v = v, a
    return slide_windows(as_batched(layer, a), np.conjugate(as_batched(layer, v)[::-1]), mode)


def is_sliding(a: Any, v: Any, mode: Any) -> bool:
    """Two vectors, and a mode by its name?"""
    return np.ndim(a) == 1 == np.ndim(v) and bool(np.size(a) and np.size(v)) and mode in ("full", "same", "valid")


def as_batched(layer: Layer, x: Any) -> Any:
    """``x`` as one of ours."""
    return layer.lifted(x)
