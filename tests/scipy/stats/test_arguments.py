"""What a call of a distribution means: nothing is ignored."""

import itertools
import math

import numpy as np
import pytest

scipy_stats = pytest.importorskip("scipy.stats")

from distributions import COUNTS, LINES, pair  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import stats  # noqa: E402

SEVERAL = {"dirichlet": ([1.0, 2.0],), "multivariate_normal": (0.0, np.eye(2)), "wishart": (3.0, np.eye(2))}
ALL = LINES | COUNTS | SEVERAL


def methods(name):
    return [word for word in dir(getattr(stats, name)) if not word.startswith("_")]


def test_every_distribution_is_tried():
    assert set(ALL) == set(stats.__all__)


@pytest.mark.parametrize("name", ALL)
def test_methods_are_scipys(name):
    assert [word for word in methods(name) if not hasattr(getattr(scipy_stats, name), word)] in ([], ["std"])


@pytest.mark.parametrize("name", ALL)
def test_unknown_keywords_are_refused(name):
    """By every method, frozen or not, and when freezing."""
    dist = getattr(stats, name)
    for method in methods(name):
        point = () if method in ("mean", "var", "std", "median", "entropy", "rvs") else (0.5,)
        with pytest.raises(TypeError, match="sclae"):
            getattr(dist, method)(*point, *ALL[name], sclae=2.0)
    with pytest.raises(TypeError, match="does not know sclae="):
        dist(*ALL[name], sclae=2.0)
    with pytest.raises(TypeError):
        dist(*ALL[name]).rvs(sclae=2.0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: stats.norm.pdf(0.5, 0.0, 1.0, 2.0), r"norm\.pdf takes the parameters loc, scale, but was given 3"),
    (lambda: stats.norm.pdf(0.5, 0.0, loc=1.0), r"norm\.pdf was given loc twice"),
    (lambda: stats.gamma.pdf(0.5, scale=1.0), r"gamma\.pdf needs a as well"),
    (lambda: stats.beta(1.0), "beta needs b as well"),
    (lambda: stats.poisson.cdf(1, 2.0, scale=3.0), r"poisson\.cdf does not know scale="),
])  # fmt: skip
def test_messages(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_frozen():
    """It has the methods of the distribution, and holds nodes."""
    loc = af.Variable(1.0)
    frozen = stats.norm(loc, scale=2.0)
    frozen.logcdf(0.5).backward()
    assert loc.grad == af.grad(lambda m: stats.norm.logcdf(0.5, m, 2.0))(1.0)
    assert dir(frozen) == methods("norm")
    assert (repr(frozen), repr(stats.gamma)) == ("<af.stats.norm(1.0, 2.0)>", "<af.stats.gamma(a, loc, scale)>")
    assert (frozen.mean().value, float(frozen.std()), float(stats.gamma(2.0).var())) == (1.0, 2.0, 2.0)
    for name in ("fit", "pmf"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(frozen, name)
    with pytest.raises(TypeError):
        frozen.pdf(0.5, 1.0)


@pytest.mark.parametrize("name", ["norm", "gamma", "t", "poisson", "bernoulli", "binom"])
def test_moments_have_the_shape_of_loc(name):
    """Also those that do not move with it."""
    for method, named in itertools.product(("mean", "var", "std", "entropy", "median"), ({}, {"loc": [0.0, 1.0]})):
        if method in methods(name):
            found, expected = [f(*ALL[name][: 1 + (name == "binom")], **named) for f in pair(name, method)]
            assert np.shape(found) == np.shape(expected), (method, named)


@pytest.mark.parametrize("scale", [[1.0, 2.0, 3.0], [[2.0]]])
@pytest.mark.parametrize("size", [1, 2, (2, 1), (2, 3), (4, 2, 3), (), None])
def test_each_parameter_has_draws_of_its_own(size, scale):
    how = {"scale": scale, "size": size, "random_state": 0}
    try:
        right = scipy_stats.gamma.rvs(2.0, **how)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - in words of NumPy's or of ours
            stats.gamma.rvs(2.0, **how)
    else:
        np.testing.assert_array_equal(stats.gamma.rvs(2.0, **how), right)


def test_lists_and_whole_numbers():
    np.testing.assert_allclose(stats.norm.pdf([0, 1], [0, 1], [1, 2]), scipy_stats.norm.pdf([0, 1], [0, 1], [1, 2]))
    np.testing.assert_allclose(stats.t.cdf([0, 1], 3, 1), scipy_stats.t.cdf([0, 1], 3, 1))
    assert stats.expon.pdf(np.float32(0.5)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.bool_, bool])
@pytest.mark.parametrize("name", LINES | COUNTS)
def test_whole_numbers_of_few_bits(name, dtype):
    ours = getattr(stats, name)
    parameters = [*map(math.ceil, LINES.get(name, (1, 1))), 0, 100] if name in LINES else [1] * len(COUNTS[name])
    x = np.array([1, 2, 3])
    for method in {"logpdf", "logpmf", "cdf", "logsf", "mean", "var", "entropy"} & {*methods(name)}:
        points = () if method in ("mean", "var", "entropy") else (x,)
        found = getattr(ours, method)(*points, *map(dtype, parameters))
        expected = getattr(ours, method)(*points, *map(float, map(dtype, parameters)))
        np.testing.assert_array_equal(found, expected, err_msg=method)
        assert found.dtype.itemsize == 8, method
