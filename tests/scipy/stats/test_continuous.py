"""Each distribution of real numbers and each of its methods: SciPy's values, and the gradients of differences."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest

scipy_stats = pytest.importorskip("scipy.stats")

from distributions import LINES, check_gradients, pair, points  # noqa: E402
from scipy.special import gammaln  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import stats  # noqa: E402

AT_POINTS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]
INVERSE = ["ppf", "isf"]
OF_PARAMETERS = ["mean", "var", "std", "median", "entropy"]


def test_none_is_missing():
    assert set(LINES) == {name for name in stats.__all__ if hasattr(type(getattr(stats, name)), "ppf")}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", AT_POINTS + INVERSE)
def test_values_and_gradients(name, method):
    """By the point, every shape parameter, loc and scale; loc and scale by position."""
    ours, theirs = pair(name, method)
    x = np.array([0.03, 0.4, 0.8]) if method in INVERSE else points(name)
    args = [x, *LINES[name], 0.1, 1.3]
    check_gradients(ours, theirs, args, list(range(len(args))))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", AT_POINTS + INVERSE)
def test_second_derivatives(name, method):
    """Along one direction in all arguments at once, against differences of the gradient."""
    ours, _ = pair(name, method)
    x = np.array([0.03, 0.4, 0.8]) if method in INVERSE else points(name)
    args = [x, *map(np.asarray, LINES[name]), np.array(0.1), np.array(1.3)]
    slope = af.grad(lambda *args: np.sum(ours(*args)), tuple(range(len(args))), allow_unused=True)
    ts = [np.cos(1.0 + np.arange(v.size)).reshape(v.shape) * (0.1 if method in INVERSE else 1) for v in args]
    h = 1e-5
    ends = [slope(*[v + step * t for v, t in zip(args, ts, strict=True)]) for step in (h, -h)]
    product = af.hvp(lambda *args: np.sum(ours(*args)), tuple(args), tuple(ts), allow_unused=True)
    for k, (p, up, down) in enumerate(zip(product, *ends, strict=True)):
        np.testing.assert_allclose(p, (up - down) / (2 * h), 1e-5, 1e-6, err_msg=f"argument {k}")


MOVED_BY_SCALE = {
    "uniform",
    "expon",
    "gumbel_r",
    "gumbel_l",
    "lognorm",
    "weibull_min",
    "pareto",
    "gamma",
    "chi2",
    "beta",
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", OF_PARAMETERS)
def test_of_parameters(name, method):
    if name == "cauchy" and method in ("mean", "var", "std"):
        assert np.isnan(getattr(stats.cauchy, method)())
        return
    ours, theirs = pair(name, method)
    shapes = [] if (name, method) == ("t", "mean") else [*range(len(LINES[name]))]
    loc = [len(LINES[name])] if method in ("mean", "median") else []
    scale = [len(LINES[name]) + 1] if method != "mean" or name in MOVED_BY_SCALE else []
    scipys = lambda *args: np.vectorize(lambda *a: float(theirs(*a)))(*args)  # noqa: E731
    check_gradients(ours, scipys, [*LINES[name], 0.1, 1.3], shapes + loc + scale, 1e-6)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", [*AT_POINTS, *INVERSE])
def test_ways_to_say_it(name, method):
    """By position, by name, mixed, with the defaults, and frozen: SciPy's answers."""
    ours, theirs = pair(name, method)
    shapes, x = LINES[name], np.array([0.2, 0.9]) if method in INVERSE else points(name)
    named = dict(zip(getattr(scipy_stats, name).shapes.split(", "), shapes, strict=True)) if shapes else {}
    for args, options in (
        ((*shapes,), {}), ((*shapes, 0.1), {}), ((*shapes, 0.1, 1.3), {}), ((*shapes, 0.1), {"scale": 1.3}),
        ((), {**named, "scale": 1.3}), ((*shapes,), {"scale": 1.3, "loc": 0.1}), (shapes[:1], dict(list(named.items())[1:])),
    ):  # fmt: skip
        right = theirs(x, *args, **options)
        np.testing.assert_allclose(ours(x, *args, **options), right, 1e-10, 1e-14)
        frozen = getattr(stats, name)(*args, **options)
        np.testing.assert_allclose(getattr(frozen, method)(x), right, 1e-10, 1e-14)
    with pytest.raises(TypeError):
        ours(x, *shapes, 0.1, 1.3, 7.0)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", AT_POINTS)
def test_edges(name, method):
    """At the ends of the support, outside, far away, of NaN; and parameters that make no distribution."""
    ours, theirs = pair(name, method)
    x = np.array([-np.inf, -7.0, 0.1 - 1e-6, 1.4 + 1e-6, 8.0, np.inf, np.nan])
    with np.errstate(all="ignore"):
        right = theirs(x, *LINES[name], 0.1, 1.3)
        if method in ("pdf", "logpdf"):  # where SciPy has NaN = ∞ − ∞
            right[np.isinf(x)] = 0.0 if method == "pdf" else -np.inf
        np.testing.assert_allclose(ours(x, *LINES[name], 0.1, 1.3), right, 1e-9, 1e-14)
        at_ends = [f(np.array([0.1, 1.4]), *LINES[name], 0.1, 1.3) for f in (ours, theirs)]
        np.testing.assert_allclose(*at_ends, 1e-9, 1e-14)
        for wrong in (0.0, -1.0, np.nan):
            assert np.isnan(ours(points(name), *LINES[name], 0.1, wrong)).all()
            if LINES[name]:
                assert np.isnan(ours(points(name), *LINES[name][:-1], wrong)).all()
    assert not np.isnan(af.grad(lambda x: ours(x, *LINES[name]).sum())(np.array([-7.0, 9.0]))).any()


@pytest.mark.parametrize("name", LINES)
def test_quantiles_at_the_ends(name):
    q = np.array([-0.1, 0.0, 1.0, 1.1, np.nan])
    for method in INVERSE:
        ours, theirs = pair(name, method)
        np.testing.assert_array_equal(ours(q, *LINES[name], 0.1, 1.3), theirs(q, *LINES[name], 0.1, 1.3))


# -- far tails --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("f", "x", "value", "slope"), [  # call, value and slope in x, from closed forms
    (lambda x: stats.expon.logsf(x), 800.0, -800.0, -1.0), (lambda x: stats.expon.logcdf(x), 1e-300, np.log(1e-300), 1e300),
    (lambda x: stats.norm.logsf(x), 1e5, -5e9 - 12.431863, -1e5), (lambda x: stats.norm.logcdf(x, 1.0, 2.0), -2e5 + 1, -5e9 - 12.431863, 5e4),
    (lambda x: stats.gamma.logsf(x, 2.0), 1e5, np.log1p(1e5) - 1e5, 1 / (1 + 1e5) - 1), (lambda x: stats.chi2.logsf(x, 4.0), 2e5, np.log1p(1e5) - 1e5, 0.5 / (1 + 1e5) - 0.5),
    (lambda x: stats.gamma.logcdf(x, 400.0), 1e-3, 400 * np.log(1e-3) - gammaln(401) - 1e-3 + np.log1p(1e-3 / 401), 400e3 - 1 + 1 / 401), (lambda x: stats.t.logsf(x, 1.0), 1e200, np.log(1 / np.pi) - 200 * np.log(10), -1e-200),
    (lambda x: stats.t.logsf(x, 2.0), 1e180, -np.log(2) - 360 * np.log(10), -2e-180), (lambda x: stats.cauchy.logsf(x), 1e200, np.log(1 / np.pi) - 200 * np.log(10), -1e-200),
    (lambda x: stats.beta.logcdf(x, 50.0, 1.0), 1e-20, -1000 * np.log(10), 50e20), (lambda x: stats.beta.logcdf(x, 200.0, 2.0), 1e-5, -1000 * np.log(10) + np.log(201 - 2e-3), 200e5 - 200 / 201),
    (lambda x: stats.beta.sf(x, 2.0, 3.0), 1 - 2**-40, 4 * 2.0**-120, -12 * 2.0**-80), (lambda x: stats.logistic.logsf(x), 900.0, -900.0, -1.0), (lambda x: stats.gumbel_r.logsf(x), 900.0, -900.0, -1.0),
    (lambda x: stats.gumbel_l.logcdf(x), -900.0, -900.0, 1.0), (lambda x: stats.laplace.logsf(x), 900.0, -900.0 - np.log(2), -1.0), (lambda x: stats.weibull_min.logsf(x, 2.0), 1e4, -1e8, -2e4),
    (lambda x: stats.pareto.logsf(x, 300.0), 1e3, -900 * np.log(10), -0.3), (lambda x: stats.lognorm.logsf(x, 0.1), np.exp(500.0), -1.25e7 - np.log(5000 * np.sqrt(2 * np.pi)), -5e4 / np.exp(500.0)),
    (lambda x: stats.t.sf(x, 3.0), 1e8, 1.1026577908435833e-24, -3 * 1.1026577908435833e-32), (lambda x: stats.uniform.logsf(x), 1 - 2**-50, -50 * np.log(2), -2.0**50),
])  # fmt: skip
def test_far_tails(f, x, value, slope):
    """Where 1 − cdf is 0, and where the tail itself is: values and gradients."""
    np.testing.assert_allclose(f(x), value, 1e-9)
    np.testing.assert_allclose(af.grad(f)(x), slope, 1e-6)


@pytest.mark.parametrize(("f", "v", "slope"), [
    (lambda a: stats.beta.logcdf(1e-20, a, 1.0), 50.0, -20 * np.log(10)), (lambda b: stats.pareto.logsf(1e3, b), 300.0, -3 * np.log(10)),
    (lambda a: stats.beta.logsf(1 - 2**-50, 1.0, a), 40.0, -50 * np.log(2)),
])  # fmt: skip
def test_far_tails_by_the_shape(f, v, slope):
    np.testing.assert_allclose(af.grad(f)(v), slope, 1e-9)


@pytest.mark.parametrize(("name", "shapes", "x"), [
    ("gamma", (3.3,), 1500.0), ("t", (2.7,), 1e150), ("beta", (700.0, 2.5), 0.1), ("chi2", (9.0,), 3000.0),
])  # fmt: skip
def test_below_the_smallest_number_by_the_shapes(name, shapes, x):
    """The slope by each parameter is that of differences, where the tail itself is 0."""
    dist = getattr(stats, name)
    f = dist.logcdf if name == "beta" else dist.logsf
    assert np.exp(float(f(x, *shapes))) == 0
    for k, v in enumerate(shapes):
        at = lambda v, k=k: f(x, *shapes[:k], v, *shapes[k + 1 :])  # noqa: E731
        h = 1e-4 * v
        numeric = (8 * (at(v + h) - at(v - h)) - at(v + 2 * h) + at(v - 2 * h)) / (12 * h)
        np.testing.assert_allclose(af.grad(at)(v), numeric, 1e-7)


# -- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("state", [7, "generator"])
def test_draws_are_scipys(name, state):
    make = (lambda: np.random.default_rng(3)) if state == "generator" else (lambda: state)
    ours, theirs = pair(name, "rvs")
    for args, size in (((0.5, 2.0), 4), ((0.5, 2.0), (2, 3)), ((), None), ((np.array([0.5, 1.0]), 2.0), None)):
        right = theirs(*LINES[name], *args, size=size, random_state=make())
        np.testing.assert_array_equal(ours(*LINES[name], *args, size=size, random_state=make()), right)
        frozen = getattr(stats, name)(*LINES[name], *args)
        np.testing.assert_array_equal(frozen.rvs(size=size, random_state=make()), right)
    by_position = [f(*LINES[name], 0.5, 2.0, 3, random_state=make()) for f in (ours, theirs)]
    np.testing.assert_array_equal(*by_position)
    with pytest.raises(TypeError, match="by position"):
        ours(*LINES[name], 0.5, 2.0, 3, 4)


@pytest.mark.parametrize("name", LINES)
def test_draws_move_with_their_parameters(name):
    """With loc and scale as x = loc + scale z; with shapes so that cdf(x) stays, which differences of ppf show."""
    shapes = LINES[name]
    leaves = [af.Variable(v) for v in (*shapes, 0.5, 2.0)]
    x = getattr(stats, name).rvs(*leaves, size=5, random_state=1)
    plain = getattr(scipy_stats, name).rvs(*shapes, 0.5, 2.0, size=5, random_state=1)
    np.testing.assert_allclose(x.value, plain, 1e-9)
    w = np.arange(1.0, 6.0)
    (x * w).sum().backward()
    np.testing.assert_allclose(leaves[-2].grad, w.sum(), 1e-12)
    np.testing.assert_allclose(leaves[-1].grad, np.sum(w * (plain - 0.5) / 2), 1e-9)
    q = getattr(scipy_stats, name).cdf(plain, *shapes, 0.5, 2.0)
    for k, v in enumerate(shapes):
        h = 1e-4
        ends = [getattr(scipy_stats, name).ppf(q, *shapes[:k], v + s, *shapes[k + 1 :], 0.5, 2.0) for s in (h, -h)]
        np.testing.assert_allclose(leaves[k].grad, np.sum(w * (ends[0] - ends[1])) / (2 * h), 1e-5)


def test_an_expectation_by_draws():
    """d E[x²]/da of gamma(a) is 2a + 1: the mean of the draws' slopes."""
    slope = af.grad(lambda a: np.mean(stats.gamma.rvs(a, size=4000, random_state=0) ** 2))(1.5)
    np.testing.assert_allclose(slope, 4.0, 0.1)


def test_draws_of_no_distribution_are_refused():
    with pytest.raises(ValueError, match="there is no such distribution"):
        stats.gamma.rvs(-1.0)


# -- and --------------------------------------------------------------------------------------------------------------


def test_a_maximum_likelihood():
    """The gradient by mean and deviation vanishes at those of the data."""
    data = np.array([1.0, 2.0, 4.0, 7.0])
    slopes = af.grad(lambda m, s: -stats.norm.logpdf(data, m, s).sum(), (0, 1))(data.mean(), data.std())
    np.testing.assert_allclose(slopes, 0, atol=1e-13)


def test_defaults_are_not_in_the_graph():
    x = af.Variable([0.5, 1.0])
    assert len(list(stats.norm.logcdf(x).steps())) < len(list(stats.norm.logcdf(x, 0.0, 1.0).steps()))


def test_compiled():
    """Inside and outside of the support are decided anew in each call."""

    def f(x, a):
        return np.sum(stats.expon.pdf(x, 0.5, 2.0) + stats.gamma.logsf(x, a) + stats.t.logcdf(-x, a))

    compiled = af.compile(af.value_and_grad(f, (0, 1)))
    for x in (np.array([1.0, 2.0]), np.array([0.1, 3.0]), np.array([0.7, 2000.0])):
        (z, slopes), (value, right) = compiled(x, 2.5), af.value_and_grad(f, (0, 1))(x, 2.5)
        np.testing.assert_allclose([z, *slopes[0], slopes[1]], [value, *right[0], right[1]], 1e-12)


@pytest.mark.parametrize(
    ("b", "slopes"), [
        (0.5, {0.3: 5.812386217273372, 3.0: -0.29433149954610055, 240.0: -0.004162305271575397, 1e4: -9.999749970832708e-05, 1e10: -9.99999999975e-11}),
        (2.5, {0.3: 8.91442091202986, 3.0: -0.09216977923275607, 240.0: -0.004110628787077837, 1e4: -9.996750537396894e-05, 1e10: -9.99999999675e-11}),
        (1e10, {0.3: 9.571755182125411, 3.0: 0.21013186615354712, 240.0: 0.0020891322867024873, 1e4: 5.000318350015333e-05, 1e10: -2.499999999875e-11}),
    ]
)  # fmt: skip
def test_the_entropy_of_beta_with_large_numbers(b, slopes):
    """Its slopes with 50 digits."""
    for a, slope in slopes.items():
        np.testing.assert_allclose(af.grad(stats.beta.entropy)(a, b), slope, rtol=1e-9)
