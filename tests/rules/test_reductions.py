"""Reductions: what the generated tests of the rows do not reach. Zeros, ties, masks, spellings, composed functions."""

from functools import partial

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


@pytest.mark.parametrize("zeros", [[], [1], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("f", [np.prod, np.cumprod, partial(np.prod, keepdims=True), partial(np.cumprod, axis=-1)])
def test_products_are_exact_at_zeros(f, zeros):
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[zeros] = 0.0
    check(f, x)


@pytest.mark.parametrize("f", [
    lambda x: np.prod(x, axis=0), lambda x: np.cumprod(x, axis=1),
    lambda x: np.prod(x, axis=(0, 1), initial=2.0, where=np.array([True, False, True])),
])  # fmt: skip
def test_products_of_several_axes_with_zeros(f):
    check(f, np.where(np.arange(3) == 1, 0.0, A))


def test_products_divide_by_nothing():
    x = af.Variable([1e-300, 0.0, 1e300, 5e-324])
    with np.errstate(all="raise", under="ignore"):
        np.prod(x).backward()
    np.testing.assert_array_equal(x.grad[[0, 2, 3]], 0.0)


@pytest.mark.parametrize(("f", "x", "seed", "right"), [
    (lambda x: np.max(x, axis=1), [[2.0, 2.0, 1.0], [2.0, 2.0, 2.0]], 6.0, [[3.0, 3.0, 0.0], [2.0, 2.0, 2.0]]),
    (lambda x: np.min(x, axis=1), [[2.0, 2.0, 1.0], [2.0, 2.0, 2.0]], 6.0, [[0.0, 0.0, 6.0], [2.0, 2.0, 2.0]]),
    # initial counts as an element
    (lambda x: np.max(x, initial=2.0), [1.0, 2.0, 2.0], 3.0, [0.0, 1.0, 1.0]),
    (lambda x: np.max(x, initial=5.0), [1.0, 2.0], 1.0, [0.0, 0.0]),
    # what is masked out gets nothing
    (lambda x: np.max(x, initial=0.0, where=[True, False, True]), [3.0, 3.0, 1.0], 1.0, [1.0, 0.0, 0.0]),
    (lambda x: np.std(x, axis=1), [[1.0, 1.0], [1.0, 3.0]], 1.0, [[0.0, 0.0], [-0.5, 0.5]]),
    # half precision counts further than it can hold; the gradient itself is added up in single precision
    *[(f, np.ones(100_000, np.float16), 1.0, np.full(100_000, np.float16(1e-5))) for f in (np.mean, np.max)],
    (lambda x: np.cumsum(x, dtype=float), np.ones(100_000, np.float16), 0.5, np.float16(np.arange(5e4, 0, -0.5))),
])  # fmt: skip
def test_gradients(f, x, seed, right):
    x = af.Variable(x)
    z = f(x)
    z.backward(np.full(z.shape, seed, z.dtype))
    np.testing.assert_array_equal(x.grad, right)


@pytest.mark.parametrize("options", [
    {}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 1, "ddof": 1}, {"where": [[True, False, True]]},
])  # fmt: skip
@pytest.mark.parametrize("value", [2.0, 0.1, -1e5 / 3, 0.1 + 0.7j])
@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_std_of_equal_values_has_gradient_zero(f, value, options):
    """Also where the mean of equal values is rounded, so that neither std nor the deviations are zero."""
    x, taken = af.Variable(np.full((2, 3), value)), []
    with af.on_operation(lambda node: taken.append(node.opmethod)):
        f(x, **options).backward(create_graph=True)
    assert taken.count("mean") == 1
    np.testing.assert_array_equal(x.grad.value, 0.0)
    first, _ = x.grad, x.zero_grad()
    np.abs(first).sum().backward()
    np.testing.assert_array_equal(x.grad, 0.0)


@pytest.mark.parametrize("f", [np.std, np.var])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_spread_of_a_single_number_with_ddof_1_has_no_derivative(f):
    """It is NaN; its gradient is not 0, as that of equal numbers is."""
    x = af.Variable([2.0])
    f(x, ddof=1).backward()
    assert np.isnan(x.grad).all()
    assert np.isnan(af.jvp(lambda x: f(x, ddof=1), (x.value,), (np.ones(1),))[1])


@pytest.mark.parametrize(("f", "dtype"), [
    (np.sum, np.float32), (np.mean, np.float64), (np.cumsum, "f4"), (np.var, np.float64), (np.sum, int),
])  # fmt: skip
def test_dtype_is_honoured(f, dtype):
    x = af.Variable(np.full(5000, 0.1, np.float16))
    z = f(x, dtype=dtype)
    assert same_bits(z.value, f(x.value, dtype=dtype))
    assert z.requires_grad is (dtype is not int)
    if dtype is not int:
        z.sum().backward()
        assert x.grad.dtype == np.float16


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_sums_of_nothing(shape):
    x = af.Variable(np.zeros(shape))
    for z in (np.sum(x), np.prod(x), np.cumsum(x, axis=0), np.cumprod(x, axis=-1), np.sum(x, axis=0)):
        z.sum().backward()
        assert x.grad.shape == shape
        x.zero_grad()
    with pytest.raises(ValueError, match="zero-size array"):
        np.max(x)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_an_infinite_gradient_of_a_maximum_stays_where_the_maximum_is(axis):
    a = np.array([[1.0, 3.0], [4.0, 2.0]])
    for create_graph in (False, True):
        x = af.Variable(a)
        z = np.max(x, axis=axis)
        z.backward(np.full(z.shape, np.inf), create_graph=create_graph)
        expected = np.where(a == np.max(a, axis=axis, keepdims=True), np.inf, 0.0)
        np.testing.assert_array_equal(np.asarray(x.grad), expected)
