"""What keywords, layouts and objects of SciPy's do beside nodes: its values and a slope, or an error."""

import importlib

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")
import make_scipy  # noqa: E402
import scipy.integrate  # noqa: E402, F811
import scipy.interpolate  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.optimize  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.sparse.linalg  # noqa: E402
import scipy.spatial.distance  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse  # noqa: E402
from autoflow.scipy.sparse import linalg as sparse_linalg  # noqa: E402

RNG = np.random.default_rng(0)
SQUARE, IMAGE = RNG.uniform(0.5, 1.5, (4, 4)) * (RNG.random((4, 4)) < 0.6), RNG.uniform(0.5, 9.5, (5, 6))


def outcome(call, x):
    """What ``call(which, x)``, with ``which`` "scipy" or "autoflow.scipy", does with a node."""
    importlib.import_module("autoflow.scipy.sparse.linalg")
    ours, theirs = importlib.import_module("autoflow.scipy"), importlib.import_module("scipy")
    return make_scipy.outcome(lambda v: call(theirs, v), lambda v: call(ours, v), x)


ALL = slice(None)
WRITES = [  # into a matrix a, from the elements x
    lambda a, x: a.__setitem__((1, 2), x[0]), lambda a, x: a.__setitem__((0, 0), x[1]),
    lambda a, x: a.__setitem__((2, ALL), x), lambda a, x: a.__setitem__(([0, 3, 1], [1, 1, 2]), x[:3]),
    lambda a, x: a.setdiag(x[0]), lambda a, x: a.setdiag(x), lambda a, x: a.setdiag(x[:3], -1),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csc_matrix", "dia_array", "lil_array", "coo_array"])
@pytest.mark.filterwarnings("ignore")
def test_nodes_are_written_into_matrices_of_numbers(kind):
    found = set()
    for write in WRITES:

        def call(m, x, write=write):
            a = getattr(m.sparse, kind)(SQUARE)
            write(a, x)
            return a.toarray()

        found.add(outcome(call, RNG.uniform(0.5, 1.5, 4)))
    assert "plain" not in found
    assert kind[:3] not in ("csr", "csc") or found == {"gradient"}


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csc_matrix", "coo_array", "dia_array"])
@pytest.mark.parametrize("shape", [(4, 4), (4, 1), (1, 4), (3, 5)])
def test_sums_with_dense_arrays_and_along_axes(kind, shape):
    """In SciPy the kernels write into flat memory, which may be that of a column, or in Fortran's order."""
    a = RNG.uniform(0.5, 1.5, shape)
    for call in (
        lambda m, x: getattr(m.sparse, kind)(a) + x, lambda m, x: x - getattr(m.sparse, kind)(a),
        lambda m, x: getattr(m.sparse, kind)(x) + a, lambda m, x: getattr(m.sparse, kind)(x).sum(),
        lambda m, x: getattr(m.sparse, kind)(x).mean(axis=1), lambda m, x: getattr(m.sparse, kind)(a) @ x.T,
    ):  # fmt: skip
        assert outcome(call, RNG.uniform(0.5, 1.5, shape)) in ("gradient", "refused")
    diagonals = RNG.uniform(0.5, 1.5, (2, shape[1]))
    assert outcome(lambda m, x: m.sparse.dia_array((x, [0, -1]), shape=shape).sum(), diagonals) == "gradient"


UFUNCS = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == 1 == f.nout]


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "dia_array"])
def test_ufuncs_of_matrices_are_their_methods(kind):
    """As of any object that is no array; where SciPy has no method, its error."""
    found, data = {}, RNG.uniform(0.2, 0.8, (1, 4) if kind == "dia_array" else 4)

    def make(m, x):
        return getattr(m.sparse, kind)((x, [1] if kind == "dia_array" else (range(4), [1, 0, 3, 3])), shape=(4, 4))

    for f in (*UFUNCS, np.add, np.subtract):
        found[f.__name__] = outcome(lambda m, x, f=f: f(*[make(m, x)] * f.nin), data)
    found["matmul"] = outcome(lambda m, x: np.ones(4) @ make(m, x), data)
    assert {*found.values()} == {"gradient", "nothing"}, found
    words = ["absolute", "negative", "sqrt", "sin", "tanh", "log1p", "conjugate", "add", "matmul"]
    assert {found[word] for word in words} == {"gradient"}, found


def test_what_gives_nothing_for_a_node_is_refused():
    """SciPy's product with a stack asks for the class of its operand, and falls through with a node."""
    with pytest.raises(NoRuleError, match="__matmul__"):
        sparse.coo_array(SQUARE) @ af.Variable(np.ones((2, 4, 2)))


@pytest.mark.parametrize("name", ["T", "H"])
@pytest.mark.parametrize("kind", ["csr_array", "lil_array"])
def test_properties_of_objects_are_ours(name, kind):
    operator = lambda m: m.sparse.linalg.aslinearoperator(getattr(m.sparse, kind)(SQUARE))  # noqa: E731
    assert outcome(lambda m, x: getattr(operator(m), name) @ x, np.ones(4)) in ("gradient", "refused")


def test_isinstance():
    a = sparse.csr_array(SQUARE)
    assert isinstance(a, sparse.sparray)
    assert not isinstance(a, sparse.spmatrix)
    for system in (signal.lti([1.0], [1.0, 2.0]), signal.lti(af.Variable([1.0]), [1.0, 2.0])):
        assert isinstance(system, signal.lti)
        assert not isinstance(system, signal.dlti)
    own = type("Own", (sparse_linalg.LinearOperator,), {})
    assert not isinstance(sparse_linalg.aslinearoperator(SQUARE), own)


@pytest.mark.parametrize("kernel", ["multiquadric", "inverse", "gaussian", "linear", "cubic", "quintic"])
def test_a_proof_leaves_gradients_alone(kernel):
    """The first call of a kind is proved; an object may hold methods that are bound to it."""
    x, y, points = np.cumsum(RNG.uniform(0.3, 1.2, 6)), RNG.uniform(0.5, 1.5, 6), np.array([1.1, 2.3])
    slope = af.grad(lambda x: np.sum(interpolate.Rbf(x, y, function=kernel)(points)))
    np.testing.assert_array_equal(slope(x), slope(x))


@pytest.mark.parametrize(("name", "args"), [
    ("rotate", (30.0,)), ("shift", (0.7,)), ("zoom", (1.6,)), ("gaussian_filter", (1.0,)), ("uniform_filter", (3,)),
    ("correlate", (np.ones((3, 3)) / 7,)), ("spline_filter", ()), ("sobel", ()),
])  # fmt: skip
@pytest.mark.parametrize("output", [int, bool, np.uint8])
def test_whole_numbers_are_scipys(name, args, output):
    """They have no slope; SciPy rounds some and cuts others."""
    found = getattr(ndimage, name)(af.Variable(IMAGE), *args, output=output)
    np.testing.assert_array_equal(found, getattr(scipy.ndimage, name)(IMAGE, *args, output=output))


def test_keywords_of_integrals_are_scipys_without_nodes():
    f, how = lambda t, y: -y, {"weight": "cos", "wvar": 2.0}
    assert len(integrate.quad(np.sin, 0.0, 1.0, full_output=1)) == 3
    assert integrate.quad(np.sin, 0.0, 1.0, **how) == scipy.integrate.quad(np.sin, 0.0, 1.0, **how)
    assert "nst" in integrate.odeint(f, 1.0, [0.0, 1.0], full_output=True, tfirst=True)[1]
    assert integrate.solve_ivp(f, (0.0, 1.0), [1.0], "BDF", jac_sparsity=[[1]]).success
    for call in (
        lambda v: integrate.quad(np.sin, 0.0, v, full_output=1),
        lambda v: integrate.odeint(f, v, [0.0, 1.0], full_output=True),
        lambda v: integrate.solve_ivp(f, (0.0, 1.0), [v], "BDF", jac_sparsity=[[1]]),
    ):
        with pytest.raises(NoRuleError, match=r"does not know (full_output|jac_sparsity)="):
            call(af.Variable(1.0))


TWO = np.eye(2)
# In tolerances and the like, alone and beside a node: to these no gradient flows. The second argument is that node.
OPTIONS = {
    "points": lambda w, v: integrate.quad(lambda x, v: x * v, 0.0, 1.0, (v,), points=[w]),
    "epsrel": lambda w, v: integrate.quad(np.sin, 0.0, v, epsrel=1e-8 * w),
    "wvar": lambda w, v: integrate.quad(lambda x: x, 0.0, 1.0, weight="cos", wvar=w),
    "rtol": lambda w, v: integrate.odeint(lambda y, t: -y, v, [0.0, 1.0], rtol=1e-8 * w),
    "max_step": lambda w, v: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [v], max_step=w),
    "jac": lambda w, v: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [v], "BDF", jac=[[-w]]),
    "options": lambda w, v: sparse_linalg.cg(v * TWO, np.ones(2), rtol=1e-6 * w),
    "rcond": lambda w, v: linalg.pinv(v * TWO, rtol=1e-3 * w),
    "minimize": lambda w, v: optimize.minimize(lambda x: np.sum(x * x), np.ones(2), options={"gtol": 1e-6 * w}),
}  # fmt: skip


@pytest.mark.parametrize("word", OPTIONS)
def test_nodes_in_options_are_refused_by_name(word):
    w, call = af.Variable(0.7), OPTIONS[word]
    call(0.7, 1.0)
    for v, match in ((af.Variable(1.0), word), (1.0, r"no derivative|does not know")):
        with pytest.raises(NoRuleError, match=match):
            call(w, v)


@pytest.mark.parametrize("wrap", [
    lambda f: {"type": "eq", "fun": f}, lambda f: [{"type": "ineq", "fun": f}],
    lambda f: scipy.optimize.NonlinearConstraint(f, 0.0, 1.0), lambda f: [optimize.NonlinearConstraint(f, 0.0, 1.0)],
])  # fmt: skip
def test_functions_in_containers_that_capture_nodes_are_refused(wrap):
    w = af.Variable(0.5)

    def find(f):
        return optimize.minimize(lambda x: np.sum(x * x), np.ones(2), constraints=wrap(f))

    assert find(lambda x: x[0] - 0.5).success
    with pytest.raises(NoRuleError, match="returns a node"):
        find(lambda x: x[0] - w)


def test_eigenvectors_are_real_where_scipys_are(monkeypatch):
    """NumPy 2.5 gives complex ones in any case."""
    monkeypatch.setattr(linalg, "MAKES_COMPLEX", True)
    theirs = linalg.NP.linalg.eig
    monkeypatch.setattr(linalg.NP.linalg, "eig", lambda x: [z.astype(complex) for z in theirs(x)])
    for matrix, is_real in ((np.diag([1.0, 2.0]) + 0.1, True), (np.array([[0.0, 1.0], [-1.0, 0.0]]), False)):
        vectors = linalg.eig(af.Variable(matrix))[1]
        assert (vectors.dtype.kind == "f") == is_real
        assert vectors.dtype == scipy.linalg.eig(matrix)[1].dtype


@pytest.mark.parametrize("make", [
    lambda m: m.CubicSpline(np.arange(4.0), np.arange(4.0)), lambda m: m.BSpline(np.arange(8.0), np.ones(4), 3),
])  # fmt: skip
def test_negative_orders_of_derivatives_are_scipys_errors(make):
    with pytest.raises((ValueError, NotImplementedError)) as expected:
        make(scipy.interpolate)(3.5, -1)
    with pytest.raises(expected.type):
        make(interpolate)(af.Variable(3.5), -1)


@pytest.mark.parametrize("args", [(), (np.arange(30).reshape(5, 6) % 3,), (np.arange(30).reshape(5, 6) % 3, [1, 2])])
@pytest.mark.parametrize("name", ["extrema", "maximum_position", "center_of_mass"])
def test_places_lie_in_tuples_as_scipys_do(name, args):
    """SciPy asks whether a number is a scalar."""
    found, right = [getattr(m, name)(x, *args) for m, x in ((ndimage, af.Variable(IMAGE)), (scipy.ndimage, IMAGE))]
    plain = [af.tree_map(lambda v: np.round(getattr(v, "value", v), 9).tolist(), z) for z in (found, right)]
    assert repr(plain[0]) == repr(plain[1])


@pytest.mark.parametrize("name", ["cholesky", "cho_factor", "expm", "logm", "sqrtm", "lu_factor"])
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_functions_of_a_matrix_refuse_numbers_and_vectors(name, shape):
    """Of some of them SciPy's make matrices, whose derivatives would not fit."""
    with pytest.raises(NoRuleError, match=r"takes matrices: use np\.atleast_2d"):
        getattr(linalg, name)(af.Variable(np.full(shape, 0.7)))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (3, 3), (2, 3, 5), (2, 5, 3), (2, 1, 3, 3), (0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_factors_of_rectangles_and_stacks(shape, dtype):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=shape).astype(dtype), rng.normal(size=shape)
    x = x + 1j * rng.normal(size=shape) if dtype is complex else x
    packed, exchanged = af.linalg.lu_factor(af.Variable(x))
    for ours, theirs in zip((packed.value, exchanged), scipy.linalg.lu_factor(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    af.gradcheck(lambda x: np.sum(np.abs(af.linalg.lu_factor(x)[0]) ** 2 * w), x)


@pytest.mark.parametrize("first", [1.0, 2.0, 0.0])
def test_sosfilt_takes_what_scipy_takes(first):
    sos, x = np.array([[1.0, 0.5, 0.2, first, 0.3, 0.1]]), np.arange(4.0)
    if first == 1:
        np.testing.assert_array_equal(af.signal.sosfilt(sos, af.Variable(x)).value, scipy.signal.sosfilt(sos, x))
        return
    for run in (scipy.signal.sosfilt, lambda sos, x: af.signal.sosfilt(sos, af.Variable(x))):
        with pytest.raises(ValueError, match="sos"):
            run(sos, x)


@pytest.mark.parametrize("make", [
    lambda m, x, y: m.make_interp_spline(x, y), lambda m, x, y: m.make_interp_spline(x, y, 2),
    lambda m, x, y: m.make_lsq_spline(x, y, np.r_[(0,) * 4, 0.5, (1,) * 4]),
    lambda m, x, y: m.make_smoothing_spline(x, y), lambda m, x, y: m.BSpline(*m.splrep(x, y)),
    lambda m, x, y: m.CubicSpline(x, y).derivative(), lambda m, x, y: m.make_interp_spline(x, y).antiderivative(),
    lambda m, x, y: m.PchipInterpolator(x, y), lambda m, x, y: m.interp1d(x, y, "cubic"),
])  # fmt: skip
def test_places_on_curves_through_plain_numbers(make):
    """SciPy 1.18 keeps the module of arrays in them, too."""
    x, at, h = np.linspace(0.0, 1.0, 7), np.array([0.11, 0.52, 0.93]), 1e-6
    ours, theirs = make(interpolate, x, np.sin(3 * x)), make(scipy.interpolate, x, np.sin(3 * x))
    np.testing.assert_allclose(ours(af.Variable(at)).value, theirs(at))
    slope = af.grad(lambda at: np.sum(ours(at)))(at)
    np.testing.assert_allclose(slope, (theirs(at + h) - theirs(at - h)) / (2 * h), rtol=1e-6)


WHOLE = np.array([[4, 2, 1], [2, 5, 0], [1, 0, 6]])
OF_WHOLE = {
    **{f"solve {kind}": lambda m, a, x, kind=kind: m.linalg.solve(a, x[0], assume_a=kind)
       for kind in (None, "gen", "sym", "her", "pos", "banded", "tridiagonal", "diagonal", "upper triangular")},
    "inv": lambda m, a, x: m.linalg.inv(a, assume_a="pos") @ x, "pinv": lambda m, a, x: m.linalg.pinv(a) @ x,
    "pinvh": lambda m, a, x: m.linalg.pinvh(a) @ x, "det": lambda m, a, x: m.linalg.det(a) * x,
    "eigh of": lambda m, a, x: m.linalg.eigh(a, x @ x.T, eigvals_only=True),
    "eigh with": lambda m, a, x: m.linalg.eigh(x + x.T, a, lower=False, eigvals_only=True),
    "cho_solve": lambda m, a, x: m.linalg.cho_solve(m.linalg.cho_factor(a), x),
    "lu_solve": lambda m, a, x: m.linalg.lu_solve(m.linalg.lu_factor(a), x),
    "triangular": lambda m, a, x: m.linalg.solve_triangular(a, x, "T"), "expm": lambda m, a, x: m.linalg.expm(a) @ x,
    "bands": lambda m, a, x: m.linalg.solve_banded((1, 1), a[[2, 0, 1]], x),
    "power": lambda m, a, x: m.linalg.fractional_matrix_power(a, 0.5) @ x,
    "sqrtm": lambda m, a, x: m.linalg.sqrtm(a) @ x,
    "lstsq": lambda m, a, x: m.linalg.lstsq(a, x)[0], "sylvester": lambda m, a, x: m.linalg.solve_sylvester(a, x, a),
    "all whole": lambda m, a, x: m.linalg.solve_sylvester(a, a, a) @ x,
    "lyapunov": lambda m, a, x: m.linalg.solve_continuous_lyapunov(a, x),
    "normal": lambda m, a, x: m.stats.multivariate_normal.logpdf(x, x[0], a),
    "singular": lambda m, a, x: m.stats.multivariate_normal.logpdf(x[:, :2], x[0, :2], a[1:, :2] * 0 + 1, True),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_WHOLE)
def test_matrices_of_whole_numbers_are_those_of_floats(name):
    """As a Constant and as an array, beside a node: SciPy's values, and the gradient of floats."""
    x = 4 * np.eye(3) + RNG.uniform(0.5, 1.5, (3, 3))
    right = OF_WHOLE[name](importlib.import_module("scipy"), WHOLE.astype(float), x)

    def loss(x, a):
        return np.sum(OF_WHOLE[name](af.scipy, a, x) ** 2)

    slope = af.grad(loss)(x, WHOLE.astype(float))
    for a in (WHOLE, af.Constant(WHOLE)):
        found = OF_WHOLE[name](af.scipy, a, af.Variable(x))
        np.testing.assert_allclose(np.asarray(found), right, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(af.grad(loss)(x, a), slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["solve_sylvester", "solve_continuous_lyapunov"])
def test_equations_of_stacks_broadcast(name):
    """Each operand may be one matrix for all of the others, as in SciPy; its gradient is the sum of theirs."""
    f, n = getattr(linalg, name), 2 if name.endswith("lyapunov") else 3
    stacks = 3 * np.eye(2) + RNG.uniform(0.5, 1.5, (n, 4, 2, 2))
    for k in range(n):
        xs = [x if i == k else x[0] for i, x in enumerate(stacks)]
        found = f(*map(af.Variable, xs))
        np.testing.assert_allclose(found.value, getattr(scipy.linalg, name)(*xs), rtol=1e-12)
        by = af.grad(lambda *xs: np.sum(f(*xs) ** 2), tuple(range(n)))
        single = [by(*[x[j] if i == k else x for i, x in enumerate(xs)]) for j in range(4)]
        for i, g in enumerate(by(*xs)):
            parts = [np.asarray(s[i]) for s in single]
            np.testing.assert_allclose(np.asarray(g), parts if i == k else np.sum(parts, axis=0), rtol=1e-9)
