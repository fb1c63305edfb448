"""Distributions of vectors and matrices: SciPy's values, and the gradients of differences."""

from functools import partial

import numpy as np
import pytest

scipy_stats = pytest.importorskip("scipy.stats")

from distributions import check_gradients, pair  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import stats  # noqa: E402

X, MEAN, COV = np.array([[0.1, 0.5], [1.0, -1.0]]), np.array([0.3, 0.2]), np.array([[2.0, 0.3], [0.3, 1.0]])
LOW = np.linalg.cholesky(COV)
ALPHA = np.array([1.5, 2.0, 0.7])
THIN = np.array([[1.0, 0.2], [0.5, 1.0], [0.3, -0.4]])  # a covariance of rank 2
W = np.array([[1.5, 0.2], [0.2, 0.9]])


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
@pytest.mark.parametrize("x", [[0.2, 0.3, 0.5], [0.2, 0.3], [[0.2, 0.3], [0.3, 0.3], [0.5, 0.4]]])
def test_dirichlet(method, x):
    x, (ours, theirs) = np.array(x), pair("dirichlet", method)
    check_gradients(ours, theirs, [x, ALPHA], [1])
    np.testing.assert_array_equal(getattr(stats.dirichlet(ALPHA), method)(x), ours(x, alpha=ALPHA))


@pytest.mark.parametrize("method", ["mean", "var", "entropy"])
def test_dirichlet_of_parameters(method):
    check_gradients(getattr(stats.dirichlet, method), getattr(scipy_stats.dirichlet, method), [ALPHA], [0])
    slope = af.grad(lambda alpha: np.sum(np.sin(getattr(stats.dirichlet, method)(alpha))))
    np.testing.assert_allclose(af.compile(slope)(ALPHA), slope(ALPHA), 1e-12)
    np.testing.assert_allclose(af.vmap(slope, loop="refuse")(ALPHA[None])[0], slope(ALPHA), 1e-12)


@pytest.mark.parametrize(("x", "alpha", "message"), [
    ([0.5, 0.5], [1.0, -1.0], "positive"), ([0.1, 0.2, 0.3, 0.4], [1.0, 1.0], "4 elements"),
])  # fmt: skip
def test_dirichlet_refuses(x, alpha, message):
    with pytest.raises(ValueError, match=message):
        stats.dirichlet.logpdf(x, alpha)


def test_draws_of_dirichlet():
    """SciPy's numbers; d E[x₀²]/d alpha by their movement is that of the formula."""
    for size in (1, 4, (2, 3)):
        np.testing.assert_allclose(*[m.dirichlet.rvs(ALPHA, size, 3) for m in (stats, scipy_stats)], 1e-12)
    slope = af.grad(lambda a: np.mean(stats.dirichlet.rvs(a, 3000, 0)[:, 0] ** 2))(ALPHA)
    exact = af.grad(lambda a: a[0] * (a[0] + 1) / (np.sum(a) * (np.sum(a) + 1)))(ALPHA)
    np.testing.assert_allclose(slope, exact, atol=1e-2)


def test_multivariate_normal():
    ours, theirs = stats.multivariate_normal, scipy_stats.multivariate_normal
    check_gradients(ours.logpdf, theirs.logpdf, [X, MEAN, COV], [0, 1])
    check_gradients(ours.pdf, theirs.pdf, [X, MEAN, COV], [0, 1])
    for f, v in (
        (lambda m, v: m.logpdf(X, MEAN, v @ v.T), LOW), (lambda m, v: m(MEAN, v @ v.T).entropy(), LOW),
        (lambda m, s: m.logpdf(X, MEAN, s), np.array([1.5, 0.7])),
        (lambda m, s: m.logpdf(X[:, 0], 0, s), np.array(1.5)),
    ):  # fmt: skip
        check_gradients(partial(f, ours), partial(f, theirs), [v], [0])
    np.testing.assert_allclose(ours(MEAN, cov=COV).logpdf(X), theirs(MEAN, cov=COV).logpdf(X))
    np.testing.assert_allclose(ours.logpdf(X, MEAN), theirs.logpdf(X, MEAN))
    np.testing.assert_allclose(ours.logpdf(X, None, COV, allow_singular=False), theirs.logpdf(X, None, COV))


def test_entropies_are_those_of_covariances():
    """The determinant of −1 is 1 in two dimensions; SciPy asks for the eigenvalues."""
    with pytest.raises(ValueError, match="positive"):
        scipy_stats.multivariate_normal.entropy(np.zeros(2), -np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        stats.multivariate_normal.entropy(np.zeros(2), af.Variable(-np.eye(2)))


@pytest.mark.parametrize("alpha", [[0.05, 0.04], [1e-3, 1e-3, 1e-3], [0.5, 2.0]])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_draws_of_dirichlet_without_nodes_are_scipys(alpha, make):
    found, right = [m.dirichlet.rvs(alpha, 50, make(0)) for m in (stats, scipy_stats)]
    np.testing.assert_array_equal(found, right)


def test_a_singular_covariance():
    """On the space that it spans, −∞ elsewhere; for a regular one nothing changes."""
    ours, theirs = stats.multivariate_normal, scipy_stats.multivariate_normal
    mean, x = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + np.array([[0.3, -0.4], [1.0, 0.7]]) @ THIN.T
    point = lambda f, **options: lambda v, s: f(mean + s @ v.T, mean, v @ v.T, allow_singular=True, **options)  # noqa: E731
    s = np.array([[0.3, -0.4], [1.0, 0.7]])
    check_gradients(point(ours.logpdf), point(theirs.logpdf), [THIN, s], [0, 1], 1e-6)
    value = ours.logpdf(np.vstack([x, x[0] + [0.0, 0.0, 1.0]]), mean, THIN @ THIN.T, True)
    np.testing.assert_allclose(value, theirs.logpdf(np.vstack([x, x[0] + [0.0, 0.0, 1.0]]), mean, THIN @ THIN.T, True))
    assert value[-1] == -np.inf
    check_gradients(lambda v: ours.entropy(mean, v @ v.T, allow_singular=True),
                    lambda v: theirs(mean, v @ v.T, allow_singular=True).entropy(), [THIN], [0], 1e-6)  # fmt: skip
    slopes = [af.grad(lambda c, flag=flag: np.sum(ours.logpdf(X, MEAN, c, flag)))(COV) for flag in (False, True)]
    np.testing.assert_allclose(*[slope + slope.T for slope in slopes], 1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        ours.logpdf(mean, mean, np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="negative eigenvalue"):
        ours.logpdf(mean, mean, np.diag([1.0, -1.0, 0.0]), True)


def test_draws_of_vectors():
    """SciPy's numbers, moving as mean + l ε."""
    ours, theirs = stats.multivariate_normal, scipy_stats.multivariate_normal
    for size in (1, 5, (2, 3)):
        right = theirs.rvs(MEAN, COV, size=size, random_state=2)
        np.testing.assert_allclose(ours.rvs(MEAN, COV, size, 2), right, 1e-10, 1e-13)
        np.testing.assert_allclose(ours(MEAN, COV).rvs(size, 2), right, 1e-10, 1e-13)
    np.testing.assert_allclose(ours.rvs(0.5, 2.0, 4, 1), theirs.rvs(0.5, 2.0, 4, 1), 1e-12)
    z = ours.rvs(MEAN, COV, 5, 2)
    noise = np.linalg.solve(LOW, (z - MEAN).T)
    moved = lambda m, v: m + (np.linalg.cholesky(v @ v.T) @ noise).T  # noqa: E731
    check_gradients(lambda m, v: ours.rvs(m, v @ v.T, 5, 2), moved, [MEAN, LOW], [0, 1], 1e-7)


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
def test_wishart():
    ours, theirs = stats.wishart, scipy_stats.wishart
    half = np.linalg.cholesky(W)
    at = lambda f, number=lambda n: n: lambda x, n, v: f(x @ x.T, number(n), v @ v.T)  # noqa: E731
    for f, g in ((ours.logpdf, theirs.logpdf), (ours.pdf, theirs.pdf)):
        check_gradients(at(f), at(g, float), [half, 3.5, LOW], [0, 1, 2])
    for method in ("mean", "var", "entropy"):
        f, g = getattr(ours, method), getattr(theirs, method)
        check_gradients(lambda n, v, f=f: f(n, v @ v.T), lambda n, v, g=g: g(float(n), v @ v.T), [3.5, LOW], [0, 1])
        of_low = af.grad(lambda n, v, f=f: np.sum(np.sin(f(n, v @ v.T))), (0, 1), allow_unused=True)
        batch = af.vmap(of_low)(np.full(2, 3.5), np.stack([LOW, LOW]))
        for z, row, want in zip(af.compile(of_low)(3.5, LOW), batch, of_low(3.5, LOW), strict=True):
            np.testing.assert_allclose(z, want, 1e-12)
            np.testing.assert_allclose(row[1], want, 1e-12)
    stack = np.stack([W, COV], axis=-1)
    np.testing.assert_allclose(ours.logpdf(stack, 3.5, COV), theirs.logpdf(stack, 3.5, COV))
    np.testing.assert_allclose(ours(df=3.5, scale=COV).logpdf(W), theirs.logpdf(W, 3.5, COV))
    np.testing.assert_allclose(ours.logpdf(1.5, 3.5, 2.0), theirs.logpdf(1.5, 3.5, 2.0))
    with pytest.raises(ValueError, match="greater than the dimension of scale matrix minus 1"):
        ours.logpdf(W, 0.5, COV)


def test_draws_of_matrices():
    """SciPy's numbers; they move with scale and df so that the means of the draws move as df scale does."""
    ours, theirs = stats.wishart, scipy_stats.wishart
    for args in ((3.5, COV, 1, 4), (3.5, COV, 3, 4), (3.5, 2.0, 3, 4)):
        np.testing.assert_allclose(ours.rvs(*args), theirs.rvs(*args), 1e-9)
    weight = np.array([[1.0, 0.5], [0.5, -1.0]])
    f = lambda n, v: np.mean(np.sum(weight * ours.rvs(n, v @ v.T, 1500, 0), axis=(-2, -1)))  # noqa: E731
    by_n, by_v = af.grad(f, (0, 1))(3.5, LOW)
    np.testing.assert_allclose(by_n, np.sum(weight * COV), atol=0.1)
    np.testing.assert_allclose(by_v, 2 * 3.5 * weight @ LOW * [[1, 1], [1, 1]], atol=1.0)
    h = 1e-5
    np.testing.assert_allclose(by_n, moved_by_df(h), 1e-6)


def moved_by_df(h):
    """The same by differences, with the normal variables below the diagonal fixed and quantiles on it."""
    weight = np.array([[1.0, 0.5], [0.5, -1.0]])
    x = scipy_stats.wishart.rvs(3.5, COV, 1500, 0)
    a = np.linalg.cholesky(np.linalg.solve(LOW, np.linalg.solve(LOW, x).mT))
    squares = np.diagonal(a, axis1=-2, axis2=-1) ** 2
    ends = []
    for n in (3.5 + h, 3.5 - h):
        moved = scipy_stats.chi2.ppf(scipy_stats.chi2.cdf(squares, 3.5 - np.arange(2)), n - np.arange(2))
        half = LOW @ (np.tril(a, -1) + np.sqrt(moved)[..., None] * np.eye(2))
        ends.append(np.mean(np.sum(weight * (half @ half.mT), axis=(-2, -1))))
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 1), (4, 1), (1, 4), (2, 1, 4), (1, 3, 1)])
@pytest.mark.parametrize("k", [1, 3])
def test_densities_of_vectors_have_the_shapes_of_scipy(shape, k):
    x, mean, cov = np.full((*shape, k), 0.3), np.zeros(k), np.eye(k)
    found = stats.multivariate_normal.logpdf(af.Variable(x), mean, cov)
    assert found.shape == scipy_stats.multivariate_normal.logpdf(x, mean, cov).shape
    if len(shape) < 2 and k > 1:
        x, alpha = np.full((k, *shape), 1 / k), np.ones(k)
        found = stats.dirichlet.logpdf(af.Variable(x), alpha)
        assert found.shape == np.shape(scipy_stats.dirichlet.logpdf(x, alpha))
