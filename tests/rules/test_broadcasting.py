"""Broadcasting on shapes that hypothesis thinks of, against loops over single elements.

Rows are tried on a few shapes each. What broadcasting means backwards does not depend on the row, so it is
tried here on many shapes: every element of a result is followed back, one at a time, to those that it was made of.
"""

import numpy as np
import pytest
from checks import numbers, weights
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import autoflow as af

OPERATIONS = {
    np.add: (lambda x, y: 1.0, lambda x, y: 1.0), np.subtract: (lambda x, y: 1.0, lambda x, y: -1.0),
    np.multiply: (lambda x, y: y, lambda x, y: x), np.divide: (lambda x, y: 1 / y, lambda x, y: -x / y**2),
    np.maximum: (lambda x, y: float(x > y), lambda x, y: float(x < y)),
    np.arctan2: (lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
}  # fmt: skip
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


def source(shape, place):
    """Which element of an array of ``shape`` stands at that place of the result."""
    last = place[len(place) - len(shape) :]
    return tuple([0 if n == 1 else i for n, i in zip(shape, last, strict=True)])


def check_slowly(f, xs, sent, atol=1e-12):
    """Values are NumPy's, and each gradient is the sum of what ``sent(place)`` says that a place of the result sends:
    triples of the number of the operand, the place there, and the slope."""
    leaves = [af.Variable(x) for x in xs]
    z = f(*leaves)
    np.testing.assert_array_equal(z.value, f(*xs))
    g, slow = weights(z.shape), [np.zeros_like(x) for x in xs]
    z.backward(g)
    for place in np.ndindex(z.shape):
        for k, at, slope in sent(place):
            slow[k][at] += g[place] * slope
    for leaf, grad in zip(leaves, slow, strict=True):
        np.testing.assert_allclose(leaf.grad, grad, rtol=1e-12, atol=atol)
        assert (leaf.grad.shape, leaf.grad.dtype) == (leaf.shape, leaf.dtype)


@pytest.mark.parametrize("ufunc", OPERATIONS, ids=lambda f: f.__name__)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=4, min_side=0, max_side=3))
def test_two_operands(ufunc, shapes):
    x, y = [numbers(shape, start) for shape, start in zip(shapes.input_shapes, (1, 100), strict=True)]
    assert ufunc(af.Variable(x), y).shape == shapes.result_shape

    def sent(place):
        i, j = source(x.shape, place), source(y.shape, place)
        return [(k, at, slope(x[i], y[j])) for k, (at, slope) in enumerate(zip((i, j), OPERATIONS[ufunc], strict=True))]

    check_slowly(ufunc, (x, y), sent)


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, min_dims=0, max_dims=3, min_side=0, max_side=3))
def test_where(shapes):
    c = numbers(shapes.input_shapes[0]) > 1.0
    xs = [numbers(s, start) for s, start in zip(shapes.input_shapes[1:], (1, 100), strict=True)]

    def sent(place):
        k = 0 if c[source(c.shape, place)] else 1
        return [(k, source(xs[k].shape, place), 1.0)]

    check_slowly(lambda x, y: np.where(c, x, y), xs, sent)


@given(signature=hnp.mutually_broadcastable_shapes(signature="(n,k),(k,m)->(n,m)", max_dims=2, min_side=0, max_side=3))
def test_matrix_products(signature):
    x, y = [numbers(s, start) for s, start in zip(signature.input_shapes, (1, 50), strict=True)]

    def sent(place):
        *stack, row, column = place
        for k in range(x.shape[-1]):
            i, j = (*source(x.shape[:-2], stack), row, k), (*source(y.shape[:-2], stack), k, column)
            yield from ((0, i, y[j]), (1, j, x[i]))

    check_slowly(np.matmul, (x, y), sent, atol=1e-10)


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=3))
def test_second_derivatives(shapes):
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
def test_reductions(data, shape):
    """Sum and mean along any axes: each element receives what its result received, or its share."""
    axis = data.draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0))).map(lambda s: tuple(sorted(s))))
    options = {"axis": axis if shape else None, "keepdims": data.draw(st.booleans())}
    x = af.Variable(numbers(shape))
    gone = tuple(range(len(shape))) if options["axis"] is None else axis
    n = int(np.prod([shape[a] for a in gone]))
    for function, share in ((np.sum, 1.0), (np.mean, 1.0 / n)) if n else ((np.sum, 1.0),):
        x.zero_grad()
        z = function(x, **options)
        np.testing.assert_array_equal(z.value, function(x.value, **options))
        g = weights(z.shape)
        z.backward(g)
        kept = g.reshape([1 if a in gone else k for a, k in enumerate(shape)])
        np.testing.assert_allclose(x.grad, np.broadcast_to(kept, shape) * share, rtol=1e-12)
