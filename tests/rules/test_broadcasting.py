"""Broadcasting and indexing on shapes that hypothesis thinks of, against loops over single elements.

Rows are tried on a few shapes each. What broadcasting and indexing mean backwards does not depend on the row, so it is
tried here on many shapes: every element of a result is followed back, one at a time, to those that it was made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import autoflow as af

Array = Any
OPERATIONS = {
    np.add: (lambda x, y: 1.0, lambda x, y: 1.0), np.subtract: (lambda x, y: 1.0, lambda x, y: -1.0),
    np.multiply: (lambda x, y: y, lambda x, y: x), np.divide: (lambda x, y: 1 / y, lambda x, y: -x / y**2),
    np.maximum: (lambda x, y: float(x > y), lambda x, y: float(x < y)),
    np.arctan2: (lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
}  # fmt: skip
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


def numbers(shape: tuple[int, ...], start: int = 1) -> Array:
    """All different, none of them 0, in no order."""
    n = int(np.prod(shape))
    return np.random.default_rng(n).permutation(np.arange(start, start + n)).reshape(shape) * 0.37 - 0.11


def weights(shape: tuple[int, ...]) -> Array:
    """What flows into the result."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape)


# -- broadcasting ----------------------------------------------------------------------------------------------------


def source(shape: tuple[int, ...], place: tuple[int, ...]) -> tuple[int, ...]:
    """Which element of an array of ``shape`` stands at that place of the result."""
    last = place[len(place) - len(shape) :]
    return tuple([0 if n == 1 else i for n, i in zip(shape, last, strict=True)])


@pytest.mark.parametrize("ufunc", OPERATIONS, ids=lambda f: f.__name__)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=4, min_side=0, max_side=3))
def test_two_operands(ufunc: Any, shapes: Any) -> None:
    x, y = [numbers(shape, start) for shape, start in zip(shapes.input_shapes, (1, 100), strict=True)]
    leaves = af.Variable(x), af.Variable(y)
    z = ufunc(*leaves)
    assert z.shape == shapes.result_shape
    np.testing.assert_array_equal(z.value, ufunc(x, y))
    g = weights(z.shape)
    z.backward(g)
    slow = np.zeros_like(x), np.zeros_like(y)
    for place in np.ndindex(z.shape):
        i, j = source(x.shape, place), source(y.shape, place)
        for grad, at, slope in zip(slow, (i, j), OPERATIONS[ufunc], strict=True):
            grad[at] += g[place] * slope(x[i], y[j])
    for leaf, grad in zip(leaves, slow, strict=True):
        np.testing.assert_allclose(leaf.grad, grad, rtol=1e-12, atol=1e-12)
        assert (leaf.grad.shape, leaf.grad.dtype) == (leaf.shape, leaf.dtype)


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, min_dims=0, max_dims=3, min_side=0, max_side=3))
def test_three_operands(shapes: Any) -> None:
    """``where`` and ``clip``."""
    shape = shapes.result_shape
    c = numbers(shapes.input_shapes[0]) > 1.0
    x, y = [numbers(s, start) for s, start in zip(shapes.input_shapes[1:], (1, 100), strict=True)]
    leaves = af.Variable(x), af.Variable(y)
    z = np.where(c, *leaves)
    g = weights(shape)
    z.backward(g)
    slow = np.zeros_like(x), np.zeros_like(y)
    for place in np.ndindex(shape):
        k = 0 if c[source(c.shape, place)] else 1
        slow[k][source((x, y)[k].shape, place)] += g[place]
    np.testing.assert_array_equal(z.value, np.where(c, x, y))
    for leaf, grad in zip(leaves, slow, strict=True):
        np.testing.assert_allclose(leaf.grad, grad, rtol=1e-12, atol=1e-12)


@given(signature=hnp.mutually_broadcastable_shapes(signature="(n,k),(k,m)->(n,m)", max_dims=2, min_side=0, max_side=3))
def test_matrix_products(signature: Any) -> None:
    x, y = [numbers(s, start) for s, start in zip(signature.input_shapes, (1, 50), strict=True)]
    leaves = af.Variable(x), af.Variable(y)
    z = leaves[0] @ leaves[1]
    g = weights(z.shape)
    z.backward(g)
    slow = np.zeros_like(x), np.zeros_like(y)
    for place in np.ndindex(z.shape):
        *stack, row, column = place
        for k in range(x.shape[-1]):
            i, j = (*source(x.shape[:-2], tuple(stack)), row, k), (*source(y.shape[:-2], tuple(stack)), k, column)
            slow[0][i] += g[place] * y[j]
            slow[1][j] += g[place] * x[i]
    np.testing.assert_array_equal(z.value, x @ y)
    for leaf, grad in zip(leaves, slow, strict=True):
        np.testing.assert_allclose(leaf.grad, grad, rtol=1e-12, atol=1e-10)


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=3))
def test_second_derivatives(shapes: Any) -> None:
    """z = x² y, so ∂/∂y of Σ v · dz/dx (with v of x's shape) is 2 x v, summed to y's shape."""
    x, y = [numbers(shape, start) for shape, start in zip(shapes.input_shapes, (1, 100), strict=True)]
    leaves = af.Variable(x), af.Variable(y)
    z = leaves[0] * leaves[0] * leaves[1]
    g, v = weights(z.shape), np.sin(1.0 + x)
    z.backward(g, create_graph=True)
    first = leaves[0].grad
    for leaf in leaves:
        leaf.zero_grad()
    (first * v).sum().backward()
    slow = np.zeros_like(y)
    for place in np.ndindex(z.shape):
        i, j = source(x.shape, place), source(y.shape, place)
        slow[j] += g[place] * 2 * x[i] * v[i]
    np.testing.assert_allclose(leaves[1].grad, slow, rtol=1e-12, atol=1e-10)


@given(st.data(), SHAPES)
def test_reductions(data: Any, shape: tuple[int, ...]) -> None:
    """Sum and mean along any axes: each element receives what its result received, or its share."""
    axis = data.draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0))).map(lambda s: tuple(sorted(s))))
    axis = axis if shape else None
    keepdims = data.draw(st.booleans())
    x = af.Variable(numbers(shape))
    gone = tuple(range(len(shape))) if axis is None else axis
    n = int(np.prod([shape[a] for a in gone]))
    for function, share in ((np.sum, 1.0), (np.mean, 1.0 / n if n else 0.0)):
        x.zero_grad()
        if function is np.mean and not n:
            continue
        z = function(x, axis=axis, keepdims=keepdims)
        g = weights(z.shape)
        z.backward(g)
        kept = g.reshape([1 if a in gone else k for a, k in enumerate(shape)])
        slow = np.zeros(shape)
        for place in np.ndindex(shape):
            slow[place] = kept[source(kept.shape, place)] * share
        np.testing.assert_allclose(x.grad, slow, rtol=1e-12)
        np.testing.assert_array_equal(z.value, function(x.value, axis=axis, keepdims=keepdims))


# -- indexing --------------------------------------------------------------------------------------------------------


@st.composite
def indexed(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape, and an index that NumPy accepts for it: basic, of integers, of booleans, or mixed."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    kind = draw(st.sampled_from(["basic", "integers", "booleans", "mixed"]))
    if kind == "basic":
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    if kind == "integers":
        places = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
        return shape, draw(hnp.integer_array_indices(shape, result_shape=places))
    if kind == "booleans":
        return shape, draw(hnp.arrays(bool, shape[: draw(st.integers(1, len(shape)))]))
    first = draw(st.lists(st.integers(-shape[0], shape[0] - 1), max_size=3))
    rest = draw(hnp.basic_indices(shape[1:])) if len(shape) > 1 else ()
    return shape, (np.array(first, int), *(rest if isinstance(rest, tuple) else (rest,)))


@given(indexed())
def test_reading(case: Any) -> None:
    """``x[i]``: NumPy reads the numbers of the elements in the same way, which says where each came from."""
    shape, i = case
    x = af.Variable(numbers(shape))
    z = x[i]
    np.testing.assert_array_equal(z.value, x.value[i])
    g = weights(z.shape)
    z.backward(g)
    slow = np.zeros(x.size)
    for place, weight in zip(np.ravel(np.arange(x.size).reshape(shape)[i]), np.ravel(g), strict=True):
        slow[place] += weight
    np.testing.assert_allclose(x.grad, slow.reshape(shape), rtol=1e-12)


@given(indexed(), st.data())
def test_writing(case: Any, data: Any) -> None:
    """``a[i] = v``: an element belongs to what was written into it last, to a where nothing was."""
    shape, i = case
    x = af.Variable(numbers(shape))
    part = np.shape(x.value[i])
    trimmed = part[data.draw(st.integers(0, len(part))) :]
    v = af.Variable(numbers(tuple([data.draw(st.sampled_from([1, n])) for n in trimmed]), 100))
    a = np.copy(x)
    a[i] = v
    plain = x.value.copy()
    plain[i] = v.value
    np.testing.assert_array_equal(a.value, plain)
    g = weights(shape)
    a.backward(g)
    owner = np.full(shape, -1)
    owner[i] = np.broadcast_to(np.arange(v.size).reshape(v.shape), part)
    slow_x, slow_v = np.zeros(shape), np.zeros(v.size)
    for place in np.ndindex(shape):
        if owner[place] < 0:
            slow_x[place] += g[place]
        else:
            slow_v[owner[place]] += g[place]
    np.testing.assert_allclose(x.grad, slow_x, rtol=1e-12)
    np.testing.assert_allclose(np.zeros(v.shape) if v.grad is None else v.grad, slow_v.reshape(v.shape), rtol=1e-12)


@given(indexed())
def test_reading_twice(case: Any) -> None:
    """Second derivatives through an index: of Σ w z³, 6 w x v at every element that was read."""
    shape, i = case
    x = af.Variable(numbers(shape))
    z = x[i]
    if not z.size:
        return
    w = weights(z.shape)
    (w * z * z * z).sum().backward(create_graph=True)
    first = x.grad
    x.zero_grad()
    v = np.sin(1.0 + np.arange(x.size)).reshape(shape)
    (first * v).sum().backward()
    slow = np.zeros(x.size)
    for place, weight in zip(np.ravel(np.arange(x.size).reshape(shape)[i]), np.ravel(w), strict=True):
        slow[place] += 6 * weight * x.value.ravel()[place] * v.ravel()[place]
    np.testing.assert_allclose(x.grad, slow.reshape(shape), rtol=1e-12, atol=1e-12)
