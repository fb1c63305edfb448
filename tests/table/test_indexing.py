"""Reading and writing by indices: every index that NumPy takes, against a loop over the elements."""

import numpy as np
from checks import numbers, weights
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import autoflow as af


@st.composite
def indexed(draw):
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
def test_reading(case):
    """``x[i]``: NumPy reads the numbers of the elements in the same way, which says where each came from."""
    shape, i = case
    x = af.Variable(numbers(shape))
    z = x[i]
    np.testing.assert_array_equal(z.value, x.value[i])
    g, slow = weights(z.shape), np.zeros(x.size)
    z.backward(g)
    for place, weight in zip(np.ravel(np.arange(x.size).reshape(shape)[i]), np.ravel(g), strict=True):
        slow[place] += weight
    np.testing.assert_allclose(x.grad, slow.reshape(shape), rtol=1e-12)


@given(indexed(), st.data())
def test_writing(case, data):
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
def test_reading_twice(case):
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
