"""A gradient or an error: many calls under SciPy's names, of a node, beside SciPy's values and their differences.

Each call either raises NoRuleError (or what SciPy raises), or has SciPy's shapes and values and the slope of their
differences. A result without a history is right if SciPy's does not change.
"""

import importlib
import itertools
from functools import partial

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")
import make_scipy  # noqa: E402
import scipy.interpolate  # noqa: E402, F811
import scipy.signal  # noqa: E402
import scipy.sparse.linalg  # noqa: E402
import scipy.stats  # noqa: E402
from scipys import check  # noqa: E402
from support import NIGHTLY  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402

RNG = np.random.default_rng(0)


def names(text):
    return text.split()


def draw(*shape):
    return RNG.uniform(0.5, 1.5, shape)


MODES = ["reflect", "mirror", "nearest", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant"]
SQUARE = draw(4, 4) + 4 * np.eye(4)
BANDS = 0.1 * draw(3, 6) + np.array([[0.0], [0.0], [4.0]])
SOS = np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1], [0.3, 0.2, 0.2, 1.0, 0.2, 0.1]])


def calls():
    """A function, its arguments, and its options; the first or the second argument is the node."""
    for mode, n in itertools.product(MODES, (2, 3, 4)):
        for name, origin in itertools.product(("correlate", "convolve"), (0, 1 if n > 2 else 0, -1)):
            yield f"ndimage.{name}", (draw(5, 4), draw(n, 2)), {"mode": mode, "cval": 0.3, "origin": (origin, 0)}
        yield "ndimage.correlate", (draw(5, 4) + 1j, draw(3, n) * (1 + 1j)), {"mode": mode}
        yield "ndimage.convolve1d", (draw(5, 4), draw(n) * (1 + 1j)), {"mode": mode}
        yield "ndimage.uniform_filter1d", (draw(5, 4), n), {"mode": mode, "cval": 0.3}
    for mode, order in itertools.product(MODES, range(6)):
        places, how = RNG.uniform(-4.0, 8.0, (2, 6)), {"order": order, "mode": mode, "cval": 0.3}
        yield "ndimage.spline_filter", (draw(5, 4), order), {"mode": mode}
        yield "ndimage.map_coordinates", (draw(5, 4), places), how
        yield "ndimage.map_coordinates", (draw(5, 4), places), {**how, "prefilter": False}
        yield "ndimage.shift", (draw(5, 4), draw(2)), how
        yield "ndimage.affine_transform", (draw(5, 4), draw(2, 3)), how
    for name in names("gaussian_filter sobel laplace maximum_filter median_filter zoom rotate percentile_filter mean"):
        yield f"ndimage.{name}", (draw(5, 6), 2.0), {}
    pairs = ((5,), (3,)), ((3,), (5,)), ((4, 3), (2, 2)), ((2, 2), (4, 3))
    for mode, shapes in itertools.product(("full", "same", "valid"), pairs):
        planes = ["convolve2d", "correlate2d"] if len(shapes[0]) == 2 else []
        for name in ("convolve", "correlate", "fftconvolve", *planes):
            yield f"signal.{name}", tuple([draw(*shape) for shape in shapes]), {"mode": mode}
        for name, edge in itertools.product(planes, ("fill", "wrap", "symm")):
            how = {"mode": mode, "boundary": edge, "fillvalue": 0.3}
            yield f"signal.{name}", tuple([draw(*shape) for shape in shapes]), how
    for n, m in itertools.product((1, 2, 4), (1, 3)):
        b, a = draw(n), np.concatenate([draw(1) + 1, 0.3 * draw(m - 1)])
        yield "signal.lfilter", (b, a, draw(3, 6)), {}
        yield "signal.lfilter", (b, a, draw(6, 3), 0), {"zi": draw(max(n, m) - 1, 3)} if max(n, m) > 1 else {}
        yield "signal.filtfilt", (b, a, draw(20)), {}
        for mode in names("constant symmetric edge reflect wrap line"):
            yield "signal.upfirdn", (b, draw(3, 7), n, m), {"mode": mode, "axis": n % 2}
    yield "signal.sosfilt", (SOS.tolist(), draw(4, 6)), {"zi": draw(2, 4, 2)}
    for name in names("hilbert detrend savgol_filter medfilt resample welch decimate envelope find_peaks"):
        yield f"signal.{name}", (draw(40), 3), {}
    for norm, n, axis in itertools.product((None, "ortho", "forward"), (None, 3, 7), (-1, 0)):
        for name in names("fft ifft rfft irfft hfft ihfft"):
            yield f"fft.{name}", (draw(4, 5), n, axis, norm), {}
        for name, kind in itertools.product(("dct", "idct", "dst", "idst"), (1, 2, 3, 4)):
            yield f"fft.{name}", (draw(4, 5), kind, n, axis, norm), {"orthogonalize": axis == 0}
        for name in names("fftn ifft2 rfftn irfftn hfftn ihfft2"):
            yield f"fft.{name}", (draw(4, 5),), {"norm": norm, "s": None if n is None else (n, 4)}
    kinds = [None, "gen", "sym", "pos", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "banded"]
    for kind, lower, turned in itertools.product(kinds, (False, True), (False, True)):
        yield "linalg.solve", (SQUARE @ SQUARE.T, draw(4, 2), lower), {"assume_a": kind, "transposed": turned}
        yield "linalg.solve_triangular", (SQUARE, draw(4), "NTC"[kinds.index(kind) % 3], lower, turned), {}
    for kind, lower in itertools.product((1, 2, 3), (False, True)):
        yield "linalg.eigh", (SQUARE, SQUARE @ SQUARE.T), {"type": kind, "lower": lower, "eigvals_only": True}
        yield "linalg.solveh_banded", (BANDS if not lower else BANDS[::-1], draw(6)), {"lower": lower}
    for ord, axis in itertools.product((None, 1, -2, np.inf, "fro", "nuc"), (None, 0, (0, 1))):
        yield "linalg.norm", (draw(3, 4), ord, axis), {}
    of_matrices = names("det inv expm logm sqrtm eigvals lu_factor cosm pinv lu schur svdvals")
    for name, shape in itertools.product(of_matrices, ((4, 4), (2, 3, 3))):
        yield f"linalg.{name}", (draw(*shape) + 4 * np.eye(shape[-1]),), {}
    for mode, shape in itertools.product(("full", "economic", "r"), ((3, 5), (4, 4), (5, 3))):
        yield "linalg.qr", (draw(*shape),), {"mode": mode}
    yield "linalg.eig", (SQUARE, SQUARE @ SQUARE), {"right": False}
    for a, b in (((4,), (3,)), ((2, 4), (3,)), ((2, 4), (2, 3)), ((1,), (1,))):
        yield "linalg.toeplitz", (draw(*a), draw(*b)), {}
        yield "linalg.block_diag", (draw(*a, 2), draw(*b, 1)), {}
        yield "linalg.hankel", (draw(a[-1]), draw(b[-1])), {}
        yield "linalg.lstsq", (draw(5, 3), draw(5, *b[1:])), {}
    metrics = "braycurtis canberra chebyshev cityblock correlation cosine euclidean jensenshannon minkowski sqeuclidean"
    for name in (*names(metrics), "hamming", "seuclidean"):
        for w in ({}, {"w": np.array([0.7, 0.0, 1.2])}):
            yield "spatial.distance.cdist", (draw(4, 3), draw(2, 3), name), w
        yield "spatial.distance.pdist", (draw(4, 3), name), {}
        yield f"spatial.distance.{name}", (draw(3), draw(3)), {}
    for n in (5, 6):
        yield "spatial.distance.squareform", (draw(n),), {}
    for axis, keepdims in itertools.product((None, 0, -1), (False, True)):
        yield "special.logsumexp", (draw(3, 4), axis), {"keepdims": keepdims, "b": draw(3, 4)}
        yield "special.softmax", (draw(3, 4), axis), {}
    for name, n in itertools.product(("jn", "yn", "in", "kn"), (0, 1.5, 2)):
        yield f"special.spherical_{name}", (n, draw(3)), {}
    areas = names("trapezoid simpson cumulative_trapezoid cumulative_simpson romb")
    for n, name in itertools.product((1, 2, 3, 6), areas):
        yield f"integrate.{name}", (draw(n, n), np.cumsum(draw(n))) if name != "romb" else (draw(n),), {}


def test_calls():
    right = total = 0
    for path, args, options in list(calls())[:: 1 if NIGHTLY else 3]:
        home, _, name = path.rpartition(".")
        for k in (0, 1):
            if k < len(args) and isinstance(args[k], np.ndarray):

                def call(which, x, home=home, name=name, args=args, k=k, options=options):
                    function = getattr(importlib.import_module(f"{which}.{home}"), name)
                    return function(*args[:k], x, *args[k + 1 :], **options)

                try:
                    right += check(call, args[k])
                except AssertionError as error:
                    raise AssertionError(f"{path} by argument {k}, {args[2:]}, {options}: {error}") from error
                total += 1
    assert right > 0.6 * total, (right, total)  # else little of it is differentiated


# -- objects -----------------------------------------------------------------------------------------------------------

PLACES = np.array([0, 0, 1, 2, 2, 3]), np.array([0, 2, 1, 0, 3, 3])
OTHER = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1


X = np.cumsum(draw(8))
POINTS, TABLE = X[:-1] + 0.1, draw(8, 8)


@pytest.mark.parametrize("name", ["exponnorm", "foldnorm", "genextreme", "genpareto", "pearson3", "skewnorm"])
def test_shapes_of_distributions(name):
    """SciPy's own code writes into arrays of numbers, and asks for a median where it chooses a formula."""
    theirs = getattr(scipy.stats, name)
    x = np.array([*make_scipy.SHAPES[name], 0.1, 1.2])
    points = theirs.ppf([0.2, 0.6, 0.9], *x)
    for method in ("logpdf", "cdf", "logcdf", "logsf"):

        def call(which, v, method=method):
            return getattr(getattr(importlib.import_module(f"{which}.stats"), name), method)(points, *v)

        assert check(call, x), method


def test_an_assignment_is_plain():
    cost = af.Variable(TABLE)
    rows, columns = af.scipy.optimize.linear_sum_assignment(cost)
    np.sum(cost[rows, columns]).backward()
    np.testing.assert_array_equal(np.nonzero(cost.grad), [rows, columns])


def test_a_kernel_without_a_rule_refuses_nodes():
    from autoflow.scipy import sparse

    a = sparse.csr_array((af.Variable(np.ones(6)), PLACES), shape=(4, 4))
    with pytest.raises(NoRuleError, match="csr_tobsr"):
        a.tobsr(blocksize=(2, 2))


# -- all functions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", make_scipy.MODULES)
def test_no_name_of_scipys_is_hidden(module):
    """What stands under a name of SciPy's is made of SciPy's function, or is one of ours, which the module lists."""
    ours = importlib.import_module(f"autoflow.scipy.{module}")
    theirs = importlib.import_module(f"scipy.{module}")
    here = [name for name, x in vars(ours).items() if getattr(x, "__globals__", None) is vars(ours)]
    assert set(here) & set(theirs.__all__) <= set(ours.__all__)


# SciPy's ellip_normal divides by zero in a callback of C, where nobody can catch it.
@pytest.mark.filterwarnings("ignore:Exception ignored in. .scipy.special:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("module", [pytest.param(name, marks=pytest.mark.nightly) for name in make_scipy.MODULES])
def test_every_function_is_a_gradient_or_an_error(module):
    for name in make_scipy.public_names(module)[0]:
        if name == "distance_transform_cdt":  # SciPy's ends the process
            continue
        assert make_scipy.kind_of(module, name)[1] == []


@pytest.mark.parametrize("name", ["optimize.brentq", "integrate.dblquad", "integrate.nquad", "optimize.fmin"])
def test_a_function_that_captures_a_node_is_refused(name):
    """SciPy would take the numbers of what it returns."""
    w = af.Variable(0.5)
    home, _, last = name.rpartition(".")
    f = getattr(importlib.import_module(f"autoflow.scipy.{home}"), last)
    args = {"dblquad": (0, 1, 0, 1), "nquad": ([[0, 1]],), "fmin": (1.0,)}.get(last, (0.0, 2.0))
    with pytest.raises(NoRuleError, match=f"{last} returns a node.*use af"):
        f(lambda x, *rest: (x - w) * (1.0 if last == "brentq" else x - w), *args)
    assert np.all(np.isfinite(f(lambda x, *rest: x - w.value if last == "brentq" else (x - 0.5) ** 2, *args)))


@pytest.mark.parametrize("call", [
    lambda m, x: m.splu(scipy.sparse.csc_array(OTHER)).solve(x), lambda m, x: m.aslinearoperator(OTHER) @ x,
    lambda m, x: m.spilu(scipy.sparse.csc_array(OTHER)).solve(x), lambda m, x: m.aslinearoperator(OTHER).matvec(x),
])  # fmt: skip
def test_objects_of_classes_that_are_not_public_refuse_nodes(call):
    ours = importlib.import_module("autoflow.scipy.sparse.linalg")
    np.testing.assert_array_equal(call(ours, np.ones(4)), call(scipy.sparse.linalg, np.ones(4)))
    x = af.Variable(np.ones(4))
    try:  # SciPy 1.18 asks NumPy for more of them
        np.sum(call(ours, x) * np.arange(1.0, 5.0)).backward()
    except NoRuleError as error:
        assert "no derivative" in str(error)  # noqa: PT017 - or none is raised
    else:
        columns = np.stack([call(scipy.sparse.linalg, row) for row in np.eye(4)])
        np.testing.assert_allclose(x.grad, columns @ np.arange(1.0, 5.0), rtol=1e-12)


@pytest.mark.parametrize("call", [
    lambda m, x: m.interpolate.LinearNDInterpolator([[0, 0], [0, 1], [1, 0]], x)(0.2, 0.3),
    lambda m, x: m.spatial.ConvexHull(np.reshape([0, 0, 0, 1, 1, 0, 1, 1], (4, 2)) * x[0]).volume,
    lambda m, x: m.spatial.KDTree(np.eye(3)).query(x)[0],
    lambda m, x: m.spatial.transform.Rotation.from_euler("z", 0.3).apply(x.astype(np.float32)),
])  # fmt: skip
def test_classes_in_c_and_modules_without_rules_refuse_nodes(call):
    importlib.import_module("scipy.spatial.transform")
    ours, x = importlib.import_module("autoflow.scipy"), np.array([0.3, 0.7, 0.5])
    np.testing.assert_array_equal(call(ours, x), call(scipy, x))
    with pytest.raises((NoRuleError, ValueError)):
        call(ours, af.Variable(x))


SYSTEM = [[1.0, 0.2], [0.0, 1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]]
OF_CLASSES = {
    "linear system": lambda m, x: m.signal.lti(x[:1], [1.0, 0.5]).bode([1.0])[1],
    "its response": lambda m, x: m.signal.lti([1.0], [1.0, x[0]]).step(T=[0.0, 1.0])[1],
    "in steps": lambda m, x: m.signal.dlti(x[:1], [1.0, 0.5], dt=0.1).step(n=3)[1][0],
    "state space": lambda m, x: m.signal.StateSpace(np.reshape(x[:4], (2, 2)), *SYSTEM[1:]).to_tf().den,
    "zeros": lambda m, x: m.signal.ZerosPolesGain([1.0], x[:2], 2.0).to_tf().den,
    "of numbers": lambda m, x: m.signal.lsim(m.signal.lti(*SYSTEM), x, np.arange(6.0))[1],
    "window": lambda m, x: m.signal.ShortTimeFFT(np.ones(4), 2, 1.0).spectrogram(np.concatenate([x, x])),
    "polynomial": lambda m, x: m.interpolate.KroghInterpolator(X[:4], x[:4])(POINTS[:2]),
    "its slope": lambda m, x: m.interpolate.BarycentricInterpolator(X[:4], x[:4], rng=0).derivative(POINTS[0]),
    "rational": lambda m, x: m.interpolate.FloaterHormannInterpolator(X[:6], x)(POINTS[:2]),
    "histogram": lambda m, x: m.stats.rv_histogram((x[:3], np.arange(4.0))).cdf([0.5, 1.7]),
    "density": lambda m, x: m.stats.gaussian_kde(x).integrate_box_1d(0.0, 1.0),
    "covariance": lambda m, x: m.stats.Covariance.from_diagonal(x[:2]).whiten(np.ones(2)),
    "in C": lambda m, x: m.interpolate.UnivariateSpline(X[:6], x)(POINTS[:2]),
    "keys": lambda m, x: m.sparse.dok_array(np.reshape(x, (2, 3))).toarray(),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_take_nodes(name):
    """SciPy's classes that are written in Python, and their methods: what is not proved is refused."""
    homes = scipy, importlib.import_module("autoflow.scipy")
    found = make_scipy.outcome(*[partial(OF_CLASSES[name], home) for home in homes], draw(6), exact=False)
    assert found == ("refused" if name in ("in C", "keys") else "gradient")


@pytest.mark.parametrize("name", names("lti dlti LinearOperator"))
def test_classes_that_choose_another(name):
    """Of numbers they are SciPy's; of a class derived from one, too."""
    module = "sparse.linalg" if name == "LinearOperator" else "signal"
    ours, theirs = [importlib.import_module(f"{home}.{module}") for home in ("autoflow.scipy", "scipy")]
    args = ((2, 2), lambda x: 2 * x) if name == "LinearOperator" else ([1.0], [1.0, 0.5])
    made = getattr(ours, name)(*args)
    assert isinstance(made, type(getattr(theirs, name)(*args)))
    assert isinstance(made, getattr(ours, name))
    if name == "LinearOperator":
        own = type("Own", (ours.LinearOperator,), {"_matvec": lambda self, x: 3 * x})(np.float64, (2, 2))
        np.testing.assert_array_equal([made @ np.ones(2), own @ np.ones(2)], [[2, 2], [3, 3]])


COINCIDING = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 3.0]]), np.eye(3), np.diag([2.0, 2.0, 1.0])


@pytest.mark.parametrize("name", [
    *[f"linalg.{name}" for name in (*names("pinv pinvh polar expm sqrtm logm cosm signm orth null_space det "
    "inv cholesky solve subspace_angles orthogonal_procrustes"),)],
    *names("stats.multivariate_t stats.multivariate_normal stats.matrix_normal"),
])  # fmt: skip
def test_equal_eigenvalues(name):
    """A function is proved where they differ; where they are equal it has the right derivative, or is refused."""
    home, _, last = name.rpartition(".")
    more = {"solve": np.arange(3.0), "subspace_angles": TABLE[:3, :2], "orthogonal_procrustes": TABLE[:3, :3]}
    size = {"matrix_normal": (3, 3)}.get(last, (3,))

    def call(which, x):
        f = getattr(importlib.import_module(f"{which}.{home}"), last)
        if home == "stats":
            x = (x + x.T) / 2  # of which SciPy reads one triangle
            return f.logpdf(np.ones(size), np.zeros(size), x)
        return f(x, more[last]) if last in more else f(x)

    for matrix in COINCIDING:
        check(call, matrix)


def test_rotations():
    def call(which, x):
        rotation = importlib.import_module(f"{which}.spatial").transform.Rotation
        return rotation.from_rotvec(x).as_matrix() @ np.ones(3)

    importlib.import_module("scipy.spatial.transform")
    assert check(call, np.array([0.3, 0.7, 0.5]))


def test_codes_of_copies_are_their_own():
    """Whoever watches SciPy's code would see nodes in the copies."""
    from autoflow.scipy.bodies import COPIES

    theirs, copy = scipy.signal.detrend, COPIES.find(scipy.signal.detrend)
    assert copy.__code__ == theirs.__code__
    assert copy.__code__ is not theirs.__code__
    assert COPIES.find(copy) is copy
