"""Each distribution of counts and each of its methods: SciPy's values, and the gradients of differences."""

import numpy as np
import pytest

scipy_stats = pytest.importorskip("scipy.stats")

from distributions import COUNTS, check_gradients, pair, points  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import stats  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402

AT_COUNTS = ["pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"]
WHOLE = {"binom": 1}  # that many parameters are whole numbers
K = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 2.7, 5.0, 6.0, 7.0, np.inf, np.nan])


def test_none_is_missing():
    assert set(COUNTS) == {name for name in stats.__all__ if hasattr(getattr(stats, name), "pmf")}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("method", AT_COUNTS)
def test_values_and_gradients(name, method):
    ours, theirs = pair(name, method)
    args = [points(name) - (name == "bernoulli") * points(name), *COUNTS[name], 0]
    check_gradients(ours, theirs, args, list(range(1 + WHOLE.get(name, 0), len(args) - 1)))


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("method", ["mean", "var", "std"])
def test_moments_are_compiled(name, method):
    ours, whole = getattr(getattr(stats, name), method), WHOLE.get(name, 0)
    slope = af.grad(lambda v: ours(*COUNTS[name][:whole], *v))
    for x in (np.array(COUNTS[name][whole:]), 0.9 * np.array(COUNTS[name][whole:])):
        np.testing.assert_allclose(af.compile(slope)(x), slope(x), rtol=1e-12)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("method", AT_COUNTS)
def test_everywhere(name, method):
    """Below, between and above the counts, moved by loc; and parameters that make no distribution."""
    ours, theirs = pair(name, method)
    with np.errstate(all="ignore"):
        for loc in (0, 1):
            right = theirs(K, *COUNTS[name], loc)
            if "pmf" in method:  # of some distributions SciPy computes ∞ − ∞ there
                right[np.isposinf(K)] = -np.inf if "log" in method else 0.0
            np.testing.assert_allclose(ours(K, *COUNTS[name], loc), right, 1e-10, 1e-14)
        frozen = getattr(stats, name)(*COUNTS[name], loc=1)
        np.testing.assert_array_equal(getattr(frozen, method)(K), ours(K, *COUNTS[name], loc=1))
        for wrong in (-0.5, np.nan):
            assert np.isnan(ours(K, *COUNTS[name][:-1], wrong)).all()
    leaf = af.Variable(COUNTS[name][-1])
    ours(K[:-1], *COUNTS[name][:-1], leaf)[2:].sum().backward()
    assert np.isfinite(leaf.grad).all()


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("method", ["mean", "var", "std"])
def test_of_parameters(name, method):
    ours, theirs = pair(name, method)
    scipys = lambda *args: np.vectorize(lambda *a: float(theirs(*a)))(*args)  # noqa: E731
    check_gradients(ours, scipys, [*COUNTS[name]], list(range(WHOLE.get(name, 0), len(COUNTS[name]))))
    frozen = getattr(stats, name)(*COUNTS[name], loc=2)
    np.testing.assert_allclose(getattr(frozen, method)(), theirs(*COUNTS[name], loc=2), 1e-14)


@pytest.mark.parametrize(("call", "value", "name", "slope"), [
    (lambda v: stats.poisson.logsf(400, v), -2002.0, "mu", None),
    (lambda v: stats.poisson.logcdf(2, v), None, "mu", None),
    (lambda p: stats.geom.logsf(10000, p), 10000 * np.log1p(-0.3), "p", -10000 / 0.7),
    (lambda p: stats.binom.logsf(999, 1000, p), 1000 * np.log(0.3), "p", 1000 / 0.3),
    (lambda p: stats.nbinom.logcdf(0, 2000, p), 2000 * np.log(0.3), "p", 2000 / 0.3),
])  # fmt: skip
def test_far_tails(call, value, name, slope):
    """Below the smallest number: closed forms, or differences of our own logarithm."""
    v = 0.3 if name == "p" else 1.5e-3 if value is not None else 3000.0
    if slope is None:
        h = 1e-4 * v
        slope = (8 * (call(v + h) - call(v - h)) - call(v + 2 * h) + call(v - 2 * h)) / (12 * h)
        value = float(call(v))
    assert np.exp(value) == 0
    np.testing.assert_allclose(float(call(v)), value, 1e-12)
    np.testing.assert_allclose(af.grad(call)(v), slope, 1e-8)


@pytest.mark.parametrize("name", COUNTS)
def test_draws_are_scipys_and_do_not_move(name):
    ours, theirs = pair(name, "rvs")
    for size in (4, (2, 3), None):
        right = theirs(*COUNTS[name], 1, size=size, random_state=5)
        np.testing.assert_array_equal(ours(*COUNTS[name], 1, size=size, random_state=5), right)
        np.testing.assert_array_equal(getattr(stats, name)(*COUNTS[name], 1).rvs(size, 5), right)
    with pytest.raises(NoRuleError, match=rf"draws of af\.stats\.{name} do not move with .*logpmf"):
        ours(*COUNTS[name][:-1], af.Variable(COUNTS[name][-1]))


def test_counts_are_no_nodes():
    with pytest.raises(NoRuleError, match="k, so the gradient"):
        stats.poisson.logpmf(af.Variable(2.0), 1.5)


def test_entropy_of_a_trial():
    p = np.array([0.1, 0.4])
    np.testing.assert_allclose(stats.bernoulli.entropy(p), scipy_stats.bernoulli.entropy(p))
    np.testing.assert_allclose(af.grad(lambda p: np.sum(stats.bernoulli(p).entropy()))(p), np.log1p(-p) - np.log(p))


MORE = {"planck": (0.4,), "dlaplace": (0.4,), "zipf": (3.2,), "logser": (0.4,), "skellam": (2.0, 3.0)}


@pytest.mark.parametrize("method", ["ppf", "isf"])
@pytest.mark.parametrize("name", [*COUNTS, *MORE])
def test_quantiles_of_counts_are_steps(name, method):
    """Their slopes are 0 by the probability, at both ends as well, and by the parameters, and 1 by loc."""
    shapes, q = {**COUNTS, **MORE}[name], np.array([0.4, 0.0, 1.0, 0.7])
    f, theirs = pair(name, method)
    np.testing.assert_array_equal(f(af.Variable(q), *shapes, 3.0).value, theirs(q, *shapes, 3.0))
    places = tuple([k for k, v in enumerate((q, *shapes, 3.0)) if not isinstance(v, int)])
    *steps, by_loc = af.grad(lambda *xs: f(*xs)[np.array([0, 3])].sum() + 0 * xs[0].sum(), places)(q, *shapes, 3.0)
    assert all([np.all(g == 0) for g in steps])
    assert by_loc == 2.0
    for at in q:
        assert af.grad(f)(at, *shapes) == 0
