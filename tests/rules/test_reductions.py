"""Reductions: what the generated tests of the rows do not reach. Zeros, ties, masks, spellings, composed functions."""

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


@pytest.mark.parametrize("zeros", [[], [1], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize(
    "f", [np.prod, np.cumprod, lambda x: np.prod(x, keepdims=True), lambda x: np.cumprod(x, axis=-1)]
)
def test_products_are_exact_at_zeros(f, zeros):
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[zeros] = 0.0
    check(f, x)


def test_products_of_several_axes_with_zeros():
    x = A.copy()
    x[0, 1] = x[1, 1] = 0.0
    check(lambda x: np.prod(x, axis=0), x)
    check(lambda x: np.cumprod(x, axis=1), x)
    check(lambda x: np.prod(x, axis=(0, 1), initial=2.0, where=np.array([True, False, True])), x)


def test_products_divide_by_nothing():
    x = af.Variable([1e-300, 0.0, 1e300, 5e-324])
    with np.errstate(all="raise", under="ignore"):
        np.prod(x).backward()
    np.testing.assert_array_equal(x.grad[[0, 2, 3]], 0.0)


@pytest.mark.parametrize("f", [np.max, np.min])
def test_ties_share_evenly(f):
    x = af.Variable([[2.0, 2.0, 1.0], [2.0, 2.0, 2.0]])
    f(x, axis=1).backward([6.0, 6.0])
    ends = [3.0, 3.0, 0.0] if f is np.max else [0.0, 0.0, 6.0]
    np.testing.assert_array_equal(x.grad, [ends, [2.0, 2.0, 2.0]])


def test_a_tie_with_initial_counts_it_as_an_element():
    x = af.Variable([1.0, 2.0, 2.0])
    np.max(x, initial=2.0).backward(3.0)
    np.testing.assert_array_equal(x.grad, [0.0, 1.0, 1.0])
    y = af.Variable([1.0, 2.0])
    np.max(y, initial=5.0).backward()
    np.testing.assert_array_equal(y.grad, [0.0, 0.0])


def test_ties_that_are_masked_out_get_nothing():
    x = af.Variable([3.0, 3.0, 1.0])
    np.max(x, initial=0.0, where=[True, False, True]).backward()
    np.testing.assert_array_equal(x.grad, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("options", [
    {}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 1, "ddof": 1}, {"where": [[True, False, True]]},
])  # fmt: skip
@pytest.mark.parametrize("value", [2.0, 0.1, -1e5 / 3, 0.1 + 0.7j])
@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_std_of_equal_values_has_gradient_zero(f, value, options):
    """Also where the mean of equal values is rounded, so that neither std nor the deviations are zero."""
    x = af.Variable(np.full((2, 3), value))
    taken: list[str] = []
    with af.on_operation(lambda node: taken.append(node.opmethod)):
        f(x, **options).backward(create_graph=True)
    assert taken.count("mean") == 1
    np.testing.assert_array_equal(x.grad.value, 0.0)
    first = x.grad
    x.zero_grad()
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


def test_std_mixes_equal_rows_with_others():
    x = af.Variable([[1.0, 1.0], [1.0, 3.0]])
    np.std(x, axis=1).backward([1.0, 1.0])
    np.testing.assert_allclose(x.grad, [[0.0, 0.0], [-0.5, 0.5]])


def test_dtype_is_honoured():
    x = af.Variable(np.full(5000, 0.1, np.float16))
    for z, plain in [(np.sum(x, dtype=np.float32), np.sum(x.value, dtype=np.float32)),
                     (np.mean(x, dtype=np.float64), np.mean(x.value, dtype=np.float64)),
                     (np.cumsum(x, dtype="f4"), np.cumsum(x.value, dtype="f4")),
                     (np.var(x, dtype=np.float64), np.var(x.value, dtype=np.float64))]:  # fmt: skip
        assert same_bits(z.value, plain)
        z.sum().backward()
        assert x.grad.dtype == np.float16
        x.zero_grad()
    assert not np.sum(x, dtype=int).requires_grad  # integers have no gradient


def test_half_precision_counts_further_than_it_can_hold():
    x = af.Variable(np.ones(100_000, np.float16))
    np.mean(x).backward()
    np.testing.assert_array_equal(x.grad, np.float16(1e-5))
    x.zero_grad()
    np.max(x).backward()
    np.testing.assert_array_equal(x.grad, np.float16(1e-5))
    x.zero_grad()
    np.cumsum(x, dtype=np.float64).backward(
        np.full(100_000, 0.5)
    )  # the gradient itself is added up in single precision
    assert x.grad[-100] == 50.0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_sums_of_nothing(shape):
    x = af.Variable(np.zeros(shape))
    for z in (np.sum(x), np.prod(x), np.cumsum(x, axis=0), np.cumprod(x, axis=-1), np.sum(x, axis=0)):
        z.sum().backward()
        assert x.grad.shape == shape
        x.zero_grad()
    with pytest.raises(ValueError, match="zero-size array"):
        np.max(x)


def test_numpys_errors_stay():
    x = af.Variable(A)
    with pytest.raises(ValueError, match="duplicate"):
        np.sum(x, axis=(0, 0))
    with pytest.raises(np.exceptions.AxisError):
        np.mean(x, axis=2)
    with pytest.raises(ValueError, match="axis"):
        np.cumulative_sum(x)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_an_infinite_gradient_of_a_maximum_stays_where_the_maximum_is(axis):
    a = np.array([[1.0, 3.0], [4.0, 2.0]])
    for create_graph in (False, True):
        x = af.Variable(a)
        z = np.max(x, axis=axis)
        z.backward(np.full(z.shape, np.inf), create_graph=create_graph)
        expected = np.where(a == np.max(a, axis=axis, keepdims=True), np.inf, 0.0)
        np.testing.assert_array_equal(np.asarray(x.grad), expected)
