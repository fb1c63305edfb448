"""autoflow.scipy: SciPy's names; rules of ours, and SciPy's own code over them, under every transform."""

import contextlib
import copy
import itertools
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")
import cases  # noqa: E402
import scipy.interpolate  # noqa: E402, F811
import scipy.linalg  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.sparse  # noqa: E402
import scipy.special  # noqa: E402
import scipy.stats  # noqa: E402
from by_loop import by_loop, difference, outcome  # noqa: E402
from support import central  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.errors import LoopWarning, NoRuleError  # noqa: E402
from autoflow.scipy import fft, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats  # noqa: E402
from autoflow.scipy.mirrors import on_nodes  # noqa: E402
from autoflow.scipy.sparse import linalg as sparse_linalg  # noqa: E402
from autoflow.scipy.spatial import distance  # noqa: E402
from autoflow.table.table import RULES  # noqa: E402

X = np.random.default_rng(0).uniform(0.3, 1.2, (3, 8))
B, A = np.array([0.2, 0.3]), np.array([1.0, -0.4])
MATRIX = (scipy.sparse.random(8, 8, density=0.5, random_state=0, format="csr") + 3 * scipy.sparse.eye(8)).tocsr()
PLACES = np.arange(8)

# -- rows --------------------------------------------------------------------------------------------------------------

ROWS = [
    linalg.packed_lu, linalg.factor_solve, fft.orthogonal, sparse.product, sparse_linalg.sparse_solve, signal.recursive,
]  # fmt: skip


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
def test_row(function):
    cases.check_row(RULES[function])


# -- under every transform ---------------------------------------------------------------------------------------------

EVERYWHERE = {
    "skew": stats.skew, "kurtosis": stats.kurtosis, "gmean": stats.gmean, "zscore": stats.zscore,
    "simpson": lambda v: af.integrate.simpson(v), "softmax": special.softmax,
    "frozen": lambda v: stats.norm(v, 1.0).logpdf(0.3), "filtfilt": lambda v: signal.filtfilt(B, A, v, padlen=3),
    "lfilter": lambda v: signal.lfilter(B, A, v), "gaussian_filter": lambda v: ndimage.gaussian_filter(v, 1.0),
    "map_coordinates": lambda v: ndimage.map_coordinates(v, [[0.3, 2.2]], order=3),
    "csr @ x": lambda v: sparse.csr_array(MATRIX) @ v, "x @ csr": lambda v: v @ sparse.csr_array(MATRIX),
    "dia @ x": lambda v: sparse.dia_array((np.stack([v, v]), [0, 1]), shape=(8, 8)) @ v,
    "factorized": lambda v: sparse_linalg.factorized(MATRIX.tocsc())(v),
    "data": lambda v: sparse.csr_array((v, (PLACES, PLACES[::-1])), shape=(8, 8)) @ np.ones(8),
    "spsolve": lambda v: sparse_linalg.spsolve(MATRIX, v), "dct": fft.dct,
    "pdist": lambda v: distance.pdist(v.reshape(4, 2)), "toeplitz": lambda v: linalg.toeplitz(v) @ v,
    "hankel": lambda v: linalg.hankel(v) @ v,
    "correlate2d": lambda v: signal.correlate2d(v.reshape(2, 4), [[1.0, 2.0], [3.0, 4.0]], "same", "symm"),
    "upfirdn": lambda v: signal.upfirdn(v[:3], v, 3, 2, mode="wrap"),
    "csr * x": lambda v: (sparse.csr_array(MATRIX) * v) @ v, "cosm": lambda v: linalg.cosm(np.outer(v[:3], v[:3])),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERYWHERE)
def test_under_every_transform(name):
    f = EVERYWHERE[name]

    def loss(v):
        return np.sum(np.sin(f(v)))

    slopes = np.stack([af.grad(loss)(row) for row in X])
    x, d = X[:2]
    with af.no_grad():
        moved = (float(loss(x + 1e-6 * d)) - float(loss(x - 1e-6 * d))) / 2e-6
    np.testing.assert_allclose(slopes[0] @ d, moved, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        np.testing.assert_allclose(af.vmap(af.grad(loss))(X), slopes, rtol=1e-10)
    np.testing.assert_allclose(af.jvp(loss, (x,), (d,))[1], slopes[0] @ d, rtol=1e-10)
    change = (af.grad(loss)(x + 1e-6 * d) - af.grad(loss)(x - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(af.hessian(loss)(x) @ d, change, rtol=1e-4, atol=1e-6)
    fast = af.compile(af.grad(loss))
    for row, slope in zip(X, slopes, strict=True):
        np.testing.assert_allclose(fast(row), slope, rtol=1e-10)
    np.testing.assert_allclose(af.grad(af.checkpoint(loss))(x), slopes[0], rtol=1e-10)


@pytest.mark.parametrize("name", ["csr @ x", "x @ csr", "dia @ x", "data", "spsolve", "factorized", "dct"])
def test_a_batch_is_one_call(name):
    """Without the loop over examples that af.vmap warns of; of vectors, of data, and of both."""
    loss = lambda v: np.sum(np.sin(EVERYWHERE[name](v)))  # noqa: E731
    slopes = np.stack([af.grad(loss)(row) for row in X])
    np.testing.assert_allclose(af.vmap(af.grad(loss), loop="refuse")(X), slopes, rtol=1e-10)


def test_a_batch_of_matrices_and_of_columns():
    def product(data, x):
        return np.sum(np.sin(sparse.csr_array((data, (PLACES, PLACES[::-1])), shape=(8, 8)) @ np.stack([x, data], 1)))

    f = af.grad(product, (0, 1))
    found = af.vmap(f, loop="refuse")(X, X[::-1])
    for k in (0, 1, 2):
        for a, b in zip(found, f(X[k], X[2 - k]), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-10)


EYE = np.eye(3)
DOUBTED = {  # functions of a number, a number that SciPy takes, and those for which it raises an error
    "a root": (lambda v: signal.gauss_spline(X[0], v), 2.0, [-3.0, -1.0]),
    "a quotient": (lambda v: signal.chirp(X[0], 1.0, v, 2.0), 3.0, [0.0]),
    "a difference": (lambda v: signal.chirp(X[0], 1.0, v - 1.0, 2.0), 3.0, [1.0]),
    "a vector": (lambda v: linalg.cho_solve((2.0 * EYE, True), v * X[0, :3]), 1.0, [np.nan, np.inf]),
    "a distance": (lambda v: distance.euclidean(v * X[0], X[1]), 1.0, [np.nan, np.inf]),
    "an equation": (lambda v: linalg.solve_discrete_lyapunov(0.3 * v * EYE, EYE), 1.0, [np.nan]),
    "a simplex": (lambda v: stats.dirichlet.logpdf(v * np.array([0.5, 0.5]), [1.0, 2.0]), 1.0, [2.0, -1.0]),
    "parameters": (lambda v: stats.dirichlet.logpdf([0.5, 0.5], v * X[0, :2]), 1.0, [0.0, -1.0]),
    "ends": (lambda v: stats.dirichlet.logpdf([0.0, 1.0], 2.0 * v * np.ones(2)), 1.0, [0.4]),
    "a check of SciPy's": (lambda v: stats.dirichlet.entropy(v * X[0, :2]), 1.0, [0.0, -1.5]),
    "a singular one": (lambda v: linalg.solve_sylvester(np.round(v) * EYE, EYE, EYE), 1.0, [-1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTED)
@pytest.mark.filterwarnings("ignore")
def test_a_batch_with_numbers_that_scipy_refuses(name):
    """The error is that of a loop, also of a node; without such numbers f is not called for each example."""
    f, right, wrong = DOUBTED[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "af.vmap calls the function")
        af.vmap(f)(np.array([right, right]))
    for number, k in itertools.product(wrong, range(3)):
        batch = np.insert([right, right], k, number)
        for found in (af.vmap(f, loop="allow"), lambda x: af.vmap(af.vmap(f, loop="allow"), loop="allow")(x[None])[0]):
            assert not difference(outcome(found, batch), outcome(by_loop, f, batch), 1e-10, words=True), batch
        if "math" in str(theirs := outcome(f, np.float64(number))):
            assert [repr(outcome(f, af.Variable(v))) for v in (right, number)][1] == repr(theirs)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_signs_of_sums_of_exponentials(axis):
    x, b = X[:, :4], np.array([-1.0, -2.0, 0.5, 1.5])
    z, sign = special.logsumexp(af.Variable(x), axis, b=b, keepdims=True, return_sign=True)
    right = scipy.special.logsumexp(x, axis, b=b, keepdims=True, return_sign=True)
    np.testing.assert_allclose(z.value, right[0])
    np.testing.assert_array_equal(sign, right[1])
    slope = af.grad(lambda v: np.sum(special.logsumexp(v, axis, b=b, return_sign=True)[0]))(x)
    np.testing.assert_allclose(slope, b * np.exp(x - right[0]) * right[1])


def test_arguments_by_position_are_in_scipys_order():
    a = X[:, :3] + 3 * np.eye(3)
    for f, args in ((linalg.inv, (True, False)), (linalg.det, (False, True)), (linalg.cholesky, (True, False, False))):
        np.testing.assert_allclose(f(af.Variable(a @ a.T), *args).value, f(a @ a.T, *args), rtol=1e-10)


def test_covariances_of_scipys():
    cov = scipy.stats.Covariance.from_diagonal([1.0, 2.0])
    z = stats.multivariate_normal.logpdf(af.Variable([0.1, 0.2]), [0.0, 0.0], cov)
    np.testing.assert_allclose(z.value, scipy.stats.multivariate_normal.logpdf([0.1, 0.2], [0.0, 0.0], cov))
    of_diagonal = lambda d: stats.multivariate_normal.logpdf(X[0, :2], X[1, :2], stats.Covariance.from_diagonal(d))  # noqa: E731
    right = af.grad(lambda d: stats.multivariate_normal.logpdf(X[0, :2], X[1, :2], np.diag(d)))(X[2, :2])
    np.testing.assert_allclose(af.grad(of_diagonal)(X[2, :2]), right, rtol=1e-10)


OBJECTS = {
    **{name: (lambda v, name=name: getattr(interpolate, name)(PLACES, v), lambda z: z(2.3))
       for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline", "interp1d")},
    "grid": (lambda v: interpolate.RegularGridInterpolator((PLACES,), v), lambda z: z([[2.3]])),
    **{kind: (lambda v, kind=kind: getattr(sparse, kind)((v, (PLACES, PLACES[::-1])), shape=(8, 8)),
              lambda z: z @ np.ones(8)) for kind in ("csr_array", "csc_array", "coo_array", "csr_matrix")},
    "frozen": (lambda v: stats.skewnorm(v), lambda z: z.logpdf(0.3)),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_copied_and_pickled(name):
    """Those that hold nodes, and those that hold numbers. (Of a node pickle keeps the numbers.)"""
    make, use = OBJECTS[name]
    for x in (X[0], af.Variable(X[0])):
        theirs = make(x)
        for made in (copy.copy(theirs), copy.deepcopy(theirs), pickle.loads(pickle.dumps(theirs))):
            assert type(made) is type(theirs)
            np.testing.assert_array_equal(af.stop_gradient(use(made)), af.stop_gradient(use(theirs)))


# -- distributions -----------------------------------------------------------------------------------------------------

FROZEN = {
    "skewnorm": (2.0,), "norm": (1.0, 2.0), "gamma": (2.0,), "genpareto": (0.1, 1.0), "poisson": (3.0,),
    "hypergeom": (20, 7, 12), "multivariate_normal": ([0.0, 1.0], np.eye(2)), "matrix_normal": (np.zeros((2, 2)),),
}  # fmt: skip
METHODS = (
    "rvs(3, random_state=0)", "rvs(size=3, random_state=0)", "interval(0.9)", "interval(confidence=0.9)", "support()",
    "stats(moments='mv')", "ppf(q=0.3)", "isf(0.2)", "pdf(x=0.3)", "pmf(k=2)", "logpdf(0.7)", "mean()", "std()",
    "expect(lambda v: v)", "moment(2)", "entropy()", "median()", "mean",
)  # fmt: skip


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_distributions_are_scipys(name):
    """All methods that SciPy's have, with its values for the same ways of giving arguments; slopes for nodes."""
    for method in METHODS:
        try:
            expected = eval(f"m.{method}", {"m": getattr(scipy.stats, name)(*FROZEN[name])})
        except (AttributeError, TypeError, ValueError):
            continue
        found = eval(f"m.{method}", {"m": getattr(stats, name)(*FROZEN[name])})
        assert callable(found) == callable(expected)
        if not callable(expected):
            np.testing.assert_allclose(found, expected, 0 if method.startswith("rvs") else 1e-12, err_msg=method)


@pytest.mark.parametrize("method", ["rvs(3, random_state=0)", "rvs(3, 0)", "stats('v')", "stats()", "support()"])
@pytest.mark.parametrize("make", [
    lambda m, v: m.halfnorm(v), lambda m, v: m.f(4.5, 9.5, v), lambda m, v: m.genpareto(0.1, scale=v),
    lambda m, v: m.multivariate_t([0.0, v], np.eye(2), 3.0), lambda m, v: m.norm(v, 2.0), lambda m, v: m.binom(5, v),
])  # fmt: skip
def test_methods_of_frozen_distributions_with_nodes_take_scipys_arguments(make, method):
    """No argument of theirs becomes a parameter."""
    try:
        expected = eval(f"d.{method}", {"d": make(scipy.stats, 0.7)})
    except AttributeError:
        return
    with contextlib.suppress(NoRuleError):
        found = eval(f"d.{method}", {"d": make(stats, af.Variable(0.7))})
        np.testing.assert_allclose(af.stop_gradient(found), expected, rtol=1e-12)


@pytest.mark.parametrize(("call", "named"), [  # a call, and what is named
    # keywords without a rule
    (lambda v: special.logsumexp(v + 1j, return_sign=True), "return_sign"),
    (lambda v: stats.expectile(v, 0.3), "expectile.*(root_scalar|find_root)"),
    (lambda v: special.spherical_jn(2, v, True), "derivative"),
    (lambda v: linalg.eig(np.outer(v, v), homogeneous_eigvals=True), "homogeneous"),
    (lambda v: scipy.special.ellipj(v, 0.5, order="F"), "order"),
    (lambda v: scipy.special.eval_legendre(2, v, order="F"), "order"),
    # what does not move as nodes do
    (lambda v: stats.genpareto(-v[0]).b, "derivative"), (lambda v: stats.boltzmann.pmf(v[0], 0.3, 6), "derivative"),
    (lambda v: stats.boltzmann.pmf(1, 0.3, 6, v[0]), "derivative"),
    (lambda v: stats.boltzmann(0.3, 6).logpmf(k=v[0]), "derivative"),
    (lambda v: sparse_linalg.splu(sparse.csc_array((v[:2], ([0, 1], [0, 1])), shape=(2, 2))).U, "derivative"),
    # what loses a gradient, and what has a remedy
    (lambda v: on_nodes(scipy.linalg.schur, "scipy.schur")(np.diag(v[:4]) + 1.0), "schur"),
    *[(lambda v, f=f: on_nodes(f, f"scipy.{f.__name__}")(v[:5]), f.__name__)
      for f in (scipy.signal.medfilt, scipy.stats.siegelslopes)],
    (lambda v: optimize.brentq(lambda x: x - 1, 0.0 * v[0], 2.0), r"scipy.optimize.brentq .*af.implicit.root"),
])  # fmt: skip
def test_refused(call, named):
    with pytest.raises(NoRuleError, match=named):
        call(af.Variable(X[0]))
    assert stats.boltzmann.pmf(1, af.Variable(0.7), 6).requires_grad


@pytest.mark.parametrize("call", [
    lambda m, v: m.skewnorm(v).pdf(x=0.3), lambda m, v: m.skewnorm(2.0, scale=v).logpdf(0.3),
    lambda m, v: m.norm(v, 1.0).pdf(x=0.3), lambda m, v: m.norm(0.0, v).interval(0.9)[1],
    lambda m, v: m.genpareto(v).ppf(q=0.3), lambda m, v: m.norm.fit(np.array([0.3, 1.0]) * v)[1],
    lambda m, v: m.gamma(v).moment(2), lambda m, v: m.norm(v).stats()[0],
])  # fmt: skip
def test_frozen_distributions_have_slopes(call):
    value, grad = af.value_and_grad(partial(call, stats))(0.7)
    np.testing.assert_allclose(value, call(scipy.stats, 0.7), rtol=1e-9)
    slope = (call(scipy.stats, 0.7 + 1e-6) - call(scipy.stats, 0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(grad, slope, rtol=1e-5)


# -- splines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda m, x, y: m.CubicSpline(x, y), lambda m, x, y: m.CubicSpline(x, y, bc_type="natural"),
    lambda m, x, y: m.PchipInterpolator(x, y), lambda m, x, y: m.Akima1DInterpolator(x, y),
    lambda m, x, y: m.make_interp_spline(x, y), lambda m, x, y: m.make_interp_spline(x, y, 5),
])  # fmt: skip
def test_splines(make):
    def value(m, x, y, points):
        return np.sum(np.cos(np.arange(7.0)) * make(m, x, y)(points))

    given = [np.cumsum(X[0]), X[1], np.cumsum(X[0])[:-1] + 0.1]
    leaves = [af.Variable(v) for v in given]
    z = value(interpolate, *leaves)
    np.testing.assert_allclose(float(z), value(scipy.interpolate, *given), rtol=1e-10)
    z.backward()
    for k, leaf in enumerate(leaves):
        slope = central(lambda xs: value(scipy.interpolate, *xs), given, k)
        np.testing.assert_allclose(leaf.grad, slope, rtol=1e-5, atol=1e-6)


# -- proofs ------------------------------------------------------------------------------------------------------------


def test_plain_arrays_have_scipys_bits_and_nothing_of_scipy_is_changed():
    f = scipy.stats.skew
    before = f, f.__code__, f.__globals__["np"]
    stats.skew(af.Variable(X[0]))
    assert (scipy.stats.skew, f.__code__, f.__globals__["np"]) == before
    np.testing.assert_array_equal(signal.lfilter(B, A, X), scipy.signal.lfilter(B, A, X))
    assert stats.skew(X[0]) == f(X[0])
    assert type(linalg.det(np.eye(2))) is type(scipy.linalg.det(np.eye(2)))


@pytest.mark.parametrize("kinds", ["fff", "ffd", "fdf", "dff", "ddD", "dDd", "Ddd", "ffD", "lld"])
def test_a_filter_has_the_precision_of_its_state_as_well(kinds):
    x, b, zi = [v.astype(kind) for v, kind in zip((3 * X, B, np.full((3, 1), 1 / 3)), kinds, strict=True)]
    zi = zi * (1 + 2j) if kinds[2] == "D" else zi
    for state in (zi, zi[:1]):  # SciPy broadcasts it
        expected = scipy.signal.lfilter(b, A.astype(b.dtype), x, zi=state)
        found = signal.lfilter(b, A.astype(b.dtype), x, zi=af.Variable(state))
        for z, y in zip(found, expected, strict=True):
            assert z.dtype == y.dtype
            np.testing.assert_allclose(z.value, y, rtol=1e-5 if y.dtype.char in "fF" else 1e-12)
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy's words, or SciPy's
        signal.lfilter(b, A, af.Variable(X[0]), zi=np.ones((1, 2)))


@pytest.mark.parametrize("name", [*sparse_linalg.ITERATIVE, "spsolve"])
def test_the_gradient_of_a_column_is_a_column(name):
    """Solvers make one vector of it."""
    matrix, b = scipy.sparse.csc_array(np.diag([4.0, 3.0, 2.0])), af.Variable([[1.0], [2.0], [3.0]])
    z, expected = getattr(sparse_linalg, name)(matrix, b), getattr(scipy.sparse.linalg, name)(matrix, b.value)
    if name != "spsolve":
        (z, _), (expected, _) = z, expected
    assert z.shape == expected.shape
    z.sum().backward()
    np.testing.assert_allclose(b.grad, [[1 / 4], [1 / 3], [1 / 2]])


@pytest.mark.parametrize("data", [np.array([4.0, 2.0]), af.Variable([4.0, 2.0])])
def test_factors_are_those_of_the_matrix_as_it_was(data):
    """SciPy's do not change with the matrix."""
    matrix = sparse.csc_array((data, (range(2), range(2))), shape=(2, 2))
    solves = sparse_linalg.splu(matrix).solve, sparse_linalg.factorized(matrix)
    matrix[0, 0] = 100.0
    for solve in solves:
        np.testing.assert_allclose(solve(af.Variable(np.ones(2))).value, [0.25, 0.5])
