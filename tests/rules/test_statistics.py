"""Quantiles and averages: by the elements, by q and by weights."""

import numpy as np
import pytest
from checks import check

import autoflow as af
from autoflow.errors import NoRuleError

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
P = np.array([0.5, 1.0, 2.5, 3.0, 4.5])
W = np.array([1.0, 0.5, 2.0, 0.25, 1.5])
A = np.array([[1.5, -2.0, 0.5, 1.0], [3.0, 0.25, -1.0, 2.0], [0.3, -0.7, 1.1, -1.6]])
parts = lambda f: lambda *xs: np.concatenate([np.ravel(z) for z in f(*xs)])  # noqa: E731 - used in a table


@pytest.mark.parametrize("f", [np.median, lambda x, **o: np.quantile(x, 0.5, **o)])
def test_overwriting_is_refused(f):
    with pytest.raises(NoRuleError, match="overwrite_input=True would destroy"):
        f(af.Variable(V), overwrite_input=True)


@pytest.mark.parametrize("method", ["linear", "hazen", "weibull", "median_unbiased", "normal_unbiased",
                                    "interpolated_inverted_cdf", "lower", "higher", "nearest", "midpoint",
                                    "inverted_cdf", "closest_observation", "averaged_inverted_cdf"])  # fmt: skip
@pytest.mark.parametrize("q", [0.02, 0.37, 0.63, 0.98])
def test_gradients_of_q(method, q):
    """On the line between two elements its slope; 0 on steps and beyond the ends."""
    x, h = np.array([3.0, 1.0, 4.5, 1.5, 9.0, 2.5]), 1e-7
    numeric = (np.quantile(x, q + h, method=method) - np.quantile(x, q - h, method=method)) / (2 * h)
    np.testing.assert_allclose(af.grad(lambda q: np.quantile(x, q, method=method))(q), numeric, rtol=1e-6)
    both = np.append(x, np.nan), np.append(np.nan, x)
    two = af.grad(lambda q: np.sum(np.nanpercentile(both, 100 * q, axis=1, method=method)))(np.array([q, 0.5]))
    np.testing.assert_allclose(two[0], 2 * numeric, rtol=1e-6)


@pytest.mark.parametrize(("x", "q", "options", "slope"), [
    *[([0.0, 1.0, 3.0], q, {}, slope) for q, slope in ((0.5, 4.0), (0.0, 2.0), (1.0, 4.0))], ([7.0], 0.5, {}, 0.0),
    ([0.0, 1.0, 3.0], 0.4, {"weights": np.ones(3), "method": "inverted_cdf"}, 0.0),
])  # fmt: skip
def test_gradient_of_q_at_an_element_is_that_to_its_right(x, q, options, slope):
    """At q = 0.5 of 0, 1, 3 the line has slope 2 on its left and 4 on its right; at the end there is only the left."""
    assert af.grad(lambda q: np.quantile(x, q, **options))(q) == slope


def test_q_of_several_axes_with_nan_is_refused():
    with pytest.raises(NoRuleError, match="takes one q or a list of them, not 2 axes"):
        np.nanquantile(af.Variable(A), [[0.5]], axis=1)


@pytest.mark.parametrize("function", [np.quantile, np.percentile, np.nanquantile, np.nanpercentile])
def test_weights_of_quantiles(function):
    x, w = af.Variable([3.0, 1.0, 2.0, 4.0]), af.Variable([1.0, 2.0, 0.5, 1.0])
    q = 0.6 if "quantile" in function.__name__ else 60
    z = function(x, q, weights=w, method="inverted_cdf")
    assert z.value == function(x.value, q, weights=w.value, method="inverted_cdf")
    z.backward()
    np.testing.assert_array_equal(x.grad, x.value == z.value)
    np.testing.assert_array_equal(w.grad, 0.0)
    two = function(x[:, None], [q, q / 2], axis=0, weights=w, method="inverted_cdf", keepdims=True)
    assert two.shape == (2, 1, 1)
    with pytest.raises(NoRuleError, match="overwrite_input"):
        function(x, q, weights=w, method="inverted_cdf", overwrite_input=True)


@pytest.mark.parametrize(("f", "xs"), [
    (lambda w: np.average([1, 2, 3, 4, 5], weights=w), (W,)), (np.cov, (V, P)),
    (lambda x, w: np.cov(x, aweights=w), (A, W[:4])), (lambda x: np.cov(x, fweights=[1, 2, 1, 3]), (A,)),
    (np.corrcoef, (V, P)), (lambda x: np.histogram(x, 3)[1], (P,)),
    (lambda x: np.histogram(x, 3, density=True)[0], (P,)), (lambda x: np.histogram(x, "sqrt")[1], (P,)),
    (lambda x: np.histogram(P, 4, (x[0], 9.0))[1], (V,)),
    (lambda x: np.histogram(P, af.array([-9.0, 1.7 + 0.1 * x[0], 9.0]), density=True)[0], (V,)),
    (parts(lambda x, w: np.histogram(x, 3, None, True, w)), (P, W)),
    (lambda x: np.histogramdd([x, P], [2, 3])[1][0], (W,)),
    (lambda x, w: np.histogramdd(np.stack([x, P], 1), 2, density=True, weights=w)[0], (W, P)),
    (lambda x: np.histogram2d(x, P, 3)[1], (W,)),
])  # fmt: skip
def test_averages_and_sums_of_weights(f, xs):
    check(f, *xs, rtol=1e-6)
