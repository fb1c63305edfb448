"""Batched forms of products, and of linear algebra, which works on stacks of matrices already.

A product of a batch and an array that all examples share is one large product, not one for each example.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ..base.types import AnyFunction, Array
from ..nodes.nodes import value_of
from ..rules.linalg import arrays_and_subscripts, dot_axes, explicit, summed_axes
from ..rules.structure import astype
from ..table.facts import of_kind
from .batched import Batched, Layer, open_layer, wrap_batched
from .forms import FORMS, align, batched, elementwise, elementwise_of, ndim_of
from .shapes import any_batched

SMALL = 4096  # multiplications of one example; of fewer, one product of all is quicker even if it copies


def product(a: Array, b: Array, a_mapped: bool, b_mapped: bool) -> Array:
    """a b for each example. Shapes: a (batch, n, k) or (n, k), b (batch, k, m) or (k, m); one has the batch."""
    (n, k), m = a.shape[-2:], b.shape[-1]
    if not b_mapped:
        return (a.reshape((a.shape[0] * n, k)) @ b).reshape((a.shape[0], n, m))
    if a_mapped:
        return a * b if k == 1 == b.shape[-2] else a @ b
    if m == 1:
        return (b.reshape(b.shape[:2]) @ a.T).reshape((b.shape[0], n, 1))
    if n * k * m > SMALL:
        return a @ b
    side = b.transpose((1, 0, 2)).reshape((b.shape[1], b.shape[0] * m))
    return (a @ side).reshape((n, b.shape[0], m)).transpose((1, 0, 2))


def of_stacks(function: AnyFunction, cores: tuple[int, ...], layer: Layer, *args: Any, **options: Any) -> Any:
    """The form of a function that works on stacks: the last ``cores`` axes of its arguments belong to it."""
    n = len(cores)
    counted = options.get("axes") is not None or options.get("axis", -1) >= 0  # from the first axis, not the last
    are_few = any([ndim_of(x) < core for x, core in zip(args, cores, strict=False)])  # NumPy says what that means
    if counted or are_few or any_batched(*args[n:], *options.values()):
        return NotImplemented
    arrays, mapped = align(layer, args[:n], cores)
    return wrap_batched(function(*arrays, *args[n:], **options), layer, mapped)


# -- sums over any axes


def contract(layer: Layer, x: Array, y: Array, xs: tuple[int, ...], ys: tuple[int, ...]) -> Batched:
    """The sum of products over the axes ``xs`` of x and ``ys`` of y: the remaining axes of x, then those of y."""
    (a, a_mapped), (b, b_mapped) = open_layer(x, layer), open_layer(y, layer)
    here, there = [a.shape[k + a_mapped] for k in xs], [b.shape[k + b_mapped] for k in ys]
    if here != there:
        raise ValueError(f"shapes {np.shape(x)} and {np.shape(y)} not aligned: axes of {here} and {there}")
    a, left = as_matrix(a, a_mapped, xs, last=True)
    b, right = as_matrix(b, b_mapped, ys, last=False)
    return wrap_batched(product(a, b, a_mapped, b_mapped).reshape((layer.size, *left, *right)), layer)


def as_matrix(x: Array, mapped: bool, axes: tuple[int, ...], last: bool) -> tuple[Array, tuple[int, ...]]:
    """x with ``axes`` joined into one, the last or the last but one, the rest into the other; and their lengths."""
    n = x.ndim - mapped
    if n == 2 and axes == (int(last),):
        return x, (x.shape[mapped + (not last)],)
    free = [k for k in range(n) if k not in axes]
    order = [k + mapped for k in (*free, *axes)] if last else [k + mapped for k in (*axes, *free)]
    lengths = tuple([x.shape[k + mapped] for k in free])
    k, rest = math.prod([x.shape[a + mapped] for a in axes]), math.prod(lengths)
    lead = x.shape[:1] if mapped else ()
    moved = x.transpose((0, *order) if mapped else tuple(order))
    return moved.reshape((*lead, rest, k) if last else (*lead, k, rest)), lengths


def multiply(summed: AnyFunction, layer: Layer, x: Array, y: Array, *args: object, **options: object) -> Any:
    """The form of a product that sums over the axes ``summed(x.ndim, y.ndim)``; numbers are multiplied."""
    nx, ny = ndim_of(x), ndim_of(y)
    if any_batched(*args, *options.values()):
        return NotImplemented
    if not nx or not ny:
        return elementwise(layer, np.multiply, (x, y), {})
    x, y = [v if hasattr(v, "shape") else np.asarray(v) for v in (x, y)]
    return contract(layer, x, y, *summed(nx, ny, *args, **options))


FORMS[np.dot] = partial(multiply, dot_axes)
FORMS[np.inner] = partial(multiply, lambda nx, ny: ((nx - 1,), (ny - 1,)))
FORMS[np.tensordot] = partial(multiply, lambda nx, ny, axes=2: summed_axes(axes, nx, ny))
FORMS[np.outer] = lambda layer, a, b: np.multiply(np.reshape(a, (np.size(a), 1)), np.reshape(b, (1, np.size(b))))
FORMS[np.vdot] = lambda layer, a, b: np.dot(np.conjugate(np.ravel(a)), np.ravel(b))


@batched(np.matmul)
def matmul(layer: Layer, x: Array, y: Array, **options: object) -> Any:
    """Matrices, vectors, stacks of them. With a matrix that all examples share it is one product."""
    nx, ny = ndim_of(x), ndim_of(y)
    if options:
        return NotImplemented
    (a, a_mapped), (b, b_mapped) = open_layer(x, layer), open_layer(y, layer)
    if nx == 1 and ny == 2 and not b_mapped:
        return wrap_batched(a @ b, layer)
    if nx == 2 == ny:
        return wrap_batched(product(a, b, a_mapped, b_mapped), layer)
    if ny <= 2:
        return contract(layer, x, y, (nx - 1,), (max(ny - 2, 0),))
    return np.squeeze(np.matmul(x[None], y), -2) if nx == 1 else of_stacks(np.matmul, (2, 2), layer, x, y)


@batched(np.einsum)
def einsum(layer: Layer, *operands: Any, out: object = None, optimize: Any = False, **options: Any) -> Any:
    """``np.einsum`` with one more letter, for the batch."""
    arrays, call = arrays_and_subscripts(operands)
    letters = explicit(call, [np.ndim(x) for x in arrays])
    new = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in letters)  # or a doubt
    pairs = [open_layer(x, layer) for x in arrays]
    inputs, _, output = letters.partition("->")
    terms = [new + term if m else term for term, (_, m) in zip(inputs.split(","), pairs, strict=True)]
    subscripts = ",".join(terms) + "->" + new + output
    result = np.einsum(subscripts, *[x for x, _ in pairs], optimize=optimize, **options)
    return wrap_batched(result, layer, view_of=arrays[0] if len(arrays) == 1 else None)  # ij->ji is a view


# -- linear algebra


FORMS.update({f: partial(of_stacks, f, (2,)) for f in of_kind("matrices")})
FORMS.update({f: partial(of_stacks, f, c) for f, c in ((np.vecdot, (1, 1)), (np.matvec, (2, 1)), (np.vecmat, (1, 2)))})


IS_EITHER = np.linalg.eigvals(np.ones((1, 1))).dtype.kind == "f"  # from NumPy 2.5 on eigenvalues are always complex


@batched(np.linalg.eig, np.linalg.eigvals, each=True)
def eigenvalues(function: AnyFunction, layer: Layer, a: Array) -> Any:
    """Those of an example are complex only if one of them is; real and complex ones cannot share an array."""
    result = of_stacks(function, (2,), layer, a)
    w, is_mapped = open_layer(result[0] if function is np.linalg.eig else result, layer)
    is_turned = IS_EITHER and is_mapped and w.dtype.kind == "c" != a.dtype.kind
    if is_turned and np.any(np.all(np.imag(value_of(w)).reshape((layer.size, -1)) == 0, axis=1)):
        layer.doubt("eigenvalues that are real for some examples and complex for others")
    return result


@batched(np.linalg.solve)
def solve(layer: Layer, a: Array, b: Array) -> Any:
    """A vector is a matrix of one column."""
    if ndim_of(b) == 1:
        return np.squeeze(np.linalg.solve(a, np.reshape(b, (np.size(b), 1))), -1)
    return of_stacks(np.linalg.solve, (2, 2), layer, a, b)


FORMS[np.isclose] = elementwise_of(np.isclose)


# -- sliding products, of any arrays


def convolve(a: Array, v: Array, mode: str | int = "full", *, mirrored: bool = False) -> Array:
    """The sums of a[k - i] v[i] for those k that the mode names.

    Row i has the products with v[i], moved by i places, and zeros beside them: these meet no infinite v.
    """
    if a.dtype == v.dtype == np.float16:  # whose sums NumPy rounds once
        return astype(convolve(astype(a, "f4"), astype(v, "f4"), mode, mirrored=mirrored), "f2")
    a, v = (v, a) if np.size(a) < np.size(v) else (a, v)
    n, m = np.size(a), np.size(v)
    number = mode if mode in (0, 1, 2) else ("valid", "same", "full").index(mode)
    left, right = ((0, 0), (m // 2, m - m // 2 - 1), (m - 1, m - 1))[number][:: -1 if mirrored else 1]
    products = np.pad(v[:, None] * a, ((0, 0), (0, m))).reshape(-1)[: m * (n + m - 1)].reshape(m, n + m - 1)
    return np.sum(products, axis=0, dtype=products.dtype)[m - 1 - left : n + right]


def correlate(a: Array, v: Array, mode: str | int = "valid") -> Array:
    """A convolution with the reversed conjugate; if a is shorter, "same" begins where it would end."""
    return convolve(a, v[::-1].conj(), mode, mirrored=np.size(a) < np.size(v))


FORMS[np.correlate] = lambda layer, a, v, *mode, **how: correlate(layer.lifted(a), layer.lifted(v), *mode, **how)
FORMS[np.convolve] = lambda layer, a, v, *mode, **how: convolve(layer.lifted(a), layer.lifted(v), *mode, **how)
