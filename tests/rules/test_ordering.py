"""Order: sort, partition, quantiles by every method, ties, NaN; the functions on sets."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af
from autoflow.errors import NoRuleError

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
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


def test_equal_elements_keep_their_order():
    np.testing.assert_array_equal(gradient_of(np.sort, [2.0, 1.0, 2.0, 1.0]), [3.0, 1.0, 4.0, 2.0])


@pytest.mark.parametrize(
    "f", [np.median, np.nanmedian, lambda x: np.quantile(x, 0.3), lambda x: np.partition(x, 1).sum()]
)
def test_over_equal_elements_the_gradient_sums_to_what_came_in(f):
    g = gradient_of(f, [1.0, 1.0, 1.0, 1.0])
    assert g.sum() == pytest.approx(gradient_of(f, [1.0, 2.0, 3.0, 4.0]).sum())


def test_equal_elements_in_a_set_the_first_gets_it():
    np.testing.assert_array_equal(gradient_of(np.unique, [2.0, 1.0, 2.0, 1.0]), [2.0, 1.0, 0.0, 0.0])


SETS = [
    (lambda x: np.intersect1d(x, [2.0, 9.0, -1.0]), [0.0, 1.0, 2.0, 0.0, 0.0]), (lambda x: np.setdiff1d(x, [2.0, -1.0]), [2.0, 0.0, 0.0, 1.0, 3.0]),
    (lambda x: np.intersect1d(x, [2.0, -1.0], return_indices=True)[0], [0.0, 1.0, 2.0, 0.0, 0.0]),
    (lambda x: np.setdiff1d(x, [2.0], assume_unique=True), [1.0, 2.0, 0.0, 3.0, 4.0]), (lambda x: np.union1d(x, V), [3.0, 1.0, 5.0, 2.0, 4.0]),
    (lambda x: np.setxor1d(x, [2.0, 7.0, -1.0]), [2.0, 0.0, 0.0, 1.0, 3.0]), (lambda x: np.setxor1d([2.0, 7.0, -1.0], x), [2.0, 0.0, 0.0, 1.0, 3.0]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "expected"), SETS)
def test_elements_of_a_set_get_what_the_set_gets(f, expected):
    assert same_bits(f(af.Variable(V)).value, f(V))
    np.testing.assert_array_equal(gradient_of(f, V), expected)


def test_nan_is_last():
    np.testing.assert_array_equal(gradient_of(lambda x: np.sort(x)[:2], [np.nan, 3.0, 1.0]), [0.0, 2.0, 1.0])


def test_partition_may_leave_any_order():
    x = np.random.default_rng(0).normal(size=200)
    v = af.Variable(x)
    z = np.partition(v, 77)
    assert same_bits(z.value, np.partition(x, 77))
    w = np.arange(200.0)
    (z * w).sum().backward()
    np.testing.assert_array_equal(v.grad[np.argsort(x)], w[np.argsort(z.value)])


@pytest.mark.parametrize("f", [np.median, lambda x, **o: np.quantile(x, 0.5, **o)])
def test_overwriting_is_refused(f):
    with pytest.raises(NoRuleError, match="overwrite_input=True would destroy"):
        f(af.Variable(V), overwrite_input=True)


def slope_in_q(f, q):
    """The gradient of q."""
    q = af.Variable(q)
    f(q).sum().backward()
    return q.grad


@pytest.mark.parametrize("method", ["linear", "hazen", "weibull", "median_unbiased", "normal_unbiased",
                                    "interpolated_inverted_cdf", "lower", "higher", "nearest", "midpoint",
                                    "inverted_cdf", "closest_observation", "averaged_inverted_cdf"])  # fmt: skip
@pytest.mark.parametrize("q", [0.02, 0.37, 0.63, 0.98])
def test_gradients_of_q(method, q):
    """On the line between two elements its slope; 0 on steps and beyond the ends."""
    x, h = np.array([3.0, 1.0, 4.5, 1.5, 9.0, 2.5]), 1e-7
    numeric = (np.quantile(x, q + h, method=method) - np.quantile(x, q - h, method=method)) / (2 * h)
    np.testing.assert_allclose(slope_in_q(lambda q: np.quantile(x, q, method=method), q), numeric, rtol=1e-6)
    both = np.append(x, np.nan), np.append(np.nan, x)
    ours = slope_in_q(lambda q: np.nanpercentile(both, 100 * q, axis=1, method=method), [q, 0.5])
    assert ours.shape == (2,)
    np.testing.assert_allclose(ours[0], 2 * numeric, rtol=1e-6)


def test_gradient_of_q_at_an_element_is_that_to_its_right():
    """At q = 0.5 of 0, 1, 3 the line has slope 2 on its left and 4 on its right; at the end there is only the left."""
    f = lambda q: np.quantile([0.0, 1.0, 3.0], q)  # noqa: E731
    assert slope_in_q(f, 0.5) == 4.0
    assert slope_in_q(f, 0.0) == 2.0
    assert slope_in_q(f, 1.0) == 4.0
    assert slope_in_q(lambda q: np.quantile([7.0], q), 0.5) == 0.0
    weights = {"weights": np.ones(3), "method": "inverted_cdf"}
    assert slope_in_q(lambda q: np.quantile([0.0, 1.0, 3.0], q, **weights), 0.4) == 0.0


def test_q_of_several_axes_with_nan_is_refused():
    with pytest.raises(NoRuleError, match="takes one q or a list of them, not 2 axes"):
        np.nanquantile(af.Variable(A), [[0.5]], axis=1)


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


def test_histograms_of_nothing():
    for histogram, n in ((np.histogram, 1), (np.histogram2d, 2)):
        ours, *edges = histogram(*[af.Variable([])] * n, 3)
        theirs, *right = histogram(*[np.zeros(0)] * n, 3)
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(edges, right)
