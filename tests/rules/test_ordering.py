"""Order: sort, partition, quantiles by every method, ties, NaN; the functions on sets."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


@pytest.mark.parametrize("method", [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
])  # fmt: skip
@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_every_method(f, method):
    check(lambda x: f(x, [0.0, 0.1, 0.33, 0.5, 0.8, 1.0], method=method), V)
    check(lambda x: f(x, 0.4, axis=1, method=method, keepdims=True), A)


def gradient_of(f, x):
    """What each place of the result sends: weights 1, 2, 3, ... on the results."""
    x = af.Variable(x)
    z = f(x)
    np.sum(z * (1.0 + np.arange(z.size)).reshape(z.shape)).backward()
    return x.grad


@pytest.mark.parametrize("f", [np.median, np.nanmedian, lambda x: np.quantile(x, 0.3), lambda x: np.partition(x, 1).sum()])  # fmt: skip
def test_over_equal_elements_the_gradient_sums_to_what_came_in(f):
    assert gradient_of(f, np.ones(4)).sum() == pytest.approx(gradient_of(f, np.arange(4.0)).sum())


@pytest.mark.parametrize(("f", "x", "expected"), [
    (np.sort, [2.0, 1.0, 2.0, 1.0], [3.0, 1.0, 4.0, 2.0]), (np.unique, [2.0, 1.0, 2.0, 1.0], [2.0, 1.0, 0.0, 0.0]),  # equal ones
    (lambda x: np.sort(x)[:2], [np.nan, 3.0, 1.0], [0.0, 2.0, 1.0]),  # NaN is last
    (lambda x: np.intersect1d(x, [2.0, 9.0, -1.0]), V, [0.0, 1.0, 2.0, 0.0, 0.0]), (lambda x: np.setdiff1d(x, [2.0, -1.0]), V, [2.0, 0.0, 0.0, 1.0, 3.0]),
    (lambda x: np.intersect1d(x, [2.0, -1.0], return_indices=True)[0], V, [0.0, 1.0, 2.0, 0.0, 0.0]),
    (lambda x: np.setdiff1d(x, [2.0], assume_unique=True), V, [1.0, 2.0, 0.0, 3.0, 4.0]), (lambda x: np.union1d(x, V), V, [3.0, 1.0, 5.0, 2.0, 4.0]),
    (lambda x: np.setxor1d(x, [2.0, 7.0, -1.0]), V, [2.0, 0.0, 0.0, 1.0, 3.0]), (lambda x: np.setxor1d([2.0, 7.0, -1.0], x), V, [2.0, 0.0, 0.0, 1.0, 3.0]),
])  # fmt: skip
def test_each_element_gets_what_its_place_in_the_result_gets(f, x, expected):
    assert same_bits(f(af.Variable(x)).value, f(np.array(x)))
    np.testing.assert_array_equal(gradient_of(f, x), expected)


def test_partition_may_leave_any_order():
    x, w = np.random.default_rng(0).normal(size=200), np.arange(200.0)
    v = af.Variable(x)
    z = np.partition(v, 77)
    assert same_bits(z.value, np.partition(x, 77))
    (z * w).sum().backward()
    np.testing.assert_array_equal(v.grad[np.argsort(x)], w[np.argsort(z.value)])


def test_extras_are_plain():
    z, index, inverse, counts = np.unique(af.Variable(V), True, True, True)
    assert isinstance(z, af.Operation)
    assert all(type(part) is np.ndarray for part in (index, inverse, counts))


def test_bincount_takes_truth_values_as_0_and_1_and_has_numpys_errors():
    w = af.Variable([1.0, 2.0, 3.0])
    assert same_bits(np.bincount([], w[:0], 2), np.bincount([], w.value[:0], 2))
    z = np.bincount([True, False, True], w)
    np.testing.assert_array_equal(z, [2.0, 4.0])
    np.sum(z * [1.0, 10.0]).backward()
    np.testing.assert_array_equal(w.grad, [10.0, 1.0, 10.0])
    for wrong in ([1.0], [1j, 2.0, 3.0]):
        with pytest.raises((ValueError, TypeError)) as theirs:
            np.bincount([0, 1, 2], np.array(wrong))
        with pytest.raises(type(theirs.value), match=str(theirs.value)[:20]):
            np.bincount([0, 1, 2], af.Variable(wrong))


@pytest.mark.parametrize(("histogram", "n"), [(np.histogram, 1), (np.histogram2d, 2)])
def test_histograms_of_nothing(histogram, n):
    for ours, theirs in zip(histogram(*[af.Variable([])] * n, 3), histogram(*[np.zeros(0)] * n, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
