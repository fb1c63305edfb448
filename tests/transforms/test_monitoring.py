"""Functions of other packages that lose a gradient under ``backward()`` are noticed, on Python 3.12 and newer."""

import functools
import gc
import importlib
import inspect
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from conftest import NIGHTLY
from processes import alone

import autoflow as af
from autoflow.errors import AutoflowError, LostGradientError
from autoflow.transforms import shadow

scipy = pytest.importorskip("scipy")
NEW = pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python has no sys.monitoring")
V = np.array([0.61, 1.52, 0.43, 0.87])
M = np.array([[2.0, 0.3, 0.1, 0.2], [0.3, 1.5, 0.2, 0.1], [0.1, 0.2, 1.8, 0.4], [0.2, 0.1, 0.4, 2.2]])
ROOMS = [
    "cluster.hierarchy", "cluster.vq", "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "signal",
    "sparse", "sparse.linalg", "spatial", "spatial.distance", "special", "stats", "stats.mstats",
]  # fmt: skip
SERIES = ["polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre"]
MODULES = [*[f"scipy.{room}" for room in ROOMS], *[f"numpy.polynomial.{series}" for series in SERIES]]
WAYS = {
    "f(y)": lambda f, y: f(y),
    "f(Y)": lambda f, y: f(np.outer(y, y) + M),
    "f(y, y)": lambda f, y: f(y, y * 1.3),
    "f(M, y)": lambda f, y: f(M, y),
}
BY_NIGHT = {
    "f(Y, 2)": lambda f, y: f(np.outer(y, y) + M, 2),
    "f(Y, Y)": lambda f, y: f(np.outer(y, y) + M, np.outer(y, y) + 2 * M),
    "f(2, y)": lambda f, y: f(2, y),
}
# Of NumPy's own, which SciPy only hands on; and one in C that a wrong argument ends in a segmentation fault.
OTHERS = {"distance_transform_cdt", "sinc", "fftshift", "ifftshift", "fftfreq", "rfftfreq"}


@pytest.fixture(autouse=True)
def watched_again():
    """A test may give the tool back."""
    yield
    af.options.preset = "default"


def total(result):
    """The sum of all floating-point numbers in a result."""
    return sum([np.sum(np.real(x)) for x in shadow.leaves(result)])


def differences(run, h):
    """The gradient of the sum."""
    return np.array([(total(run(V + h * e)) - total(run(V - h * e))) / (2 * h) for e in np.eye(4)])


@NEW
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_public_functions_are_right_or_named(name):
    """Each function, given nodes in several places: the gradient is that of differences, or there is an error."""
    module = importlib.import_module(name)
    wrong, tried = [], 0
    for name in sorted(getattr(module, "__all__", dir(module))):
        f = getattr(module, name)
        if not (inspect.isroutine(f) or hasattr(f, "__wrapped__")) or name in OTHERS or name[0] == "_":
            continue
        for said, way in {**WAYS, **(BY_NIGHT if NIGHTLY else {})}.items():

            def run(v, f=f, way=way):
                with np.errstate(all="ignore"):
                    return way(f, v)

            try:
                if not list(shadow.leaves(run(V * 1.0))):
                    continue
            except Exception:
                continue
            tried += 1
            x = af.Variable(V)
            try:
                result = run(x * 1.0)
            except (AutoflowError, TypeError, ValueError):
                continue
            if not getattr(total(result), "requires_grad", False):
                wrong.append(f"{name} {said}: lost")
                continue
            total(result).backward()
            right, again = differences(run, 1e-6), differences(run, 1e-5)
            found = np.zeros(4) if x.grad is None else x.grad
            if np.allclose(right, again, rtol=1e-3, atol=1e-5) and not np.allclose(found, right, rtol=1e-3, atol=1e-5):
                wrong.append(f"{name} {said}: {found}, not {right}")
    assert not wrong, "\n".join(wrong)
    assert tried


@NEW
def test_it_says_who_what_where_and_what_to_use():
    from scipy import integrate, linalg, stats

    y = af.Variable(V) * 1.0
    for call, words in {
        lambda: linalg.solve(M, y): ["scipy.linalg.solve", "(b)", "use autoflow.scipy.linalg.solve", "x.value"],
        lambda: stats.norm.logpdf(0.3, loc=y): ["logpdf", "autoflow.scipy.stats"],
        lambda: stats.norm(loc=y).logpdf(0.3): ["logpdf", "(self)"],
        lambda: linalg.block_diag([y, y], M): ["scipy.linalg.block_diag"],
        lambda: integrate.simpson(y, x=y * 2): ["scipy.integrate.simpson", "part of the history"],
    }.items():
        line = inspect.getsourcelines(call)[1]
        with pytest.raises(LostGradientError) as error:
            call()
        assert all([word in str(error.value) for word in [*words, f"{__file__}:{line}"]]), error.value


@pytest.mark.parametrize("name", ["csr * x[0]", "csr / x[0]", "x @ csr", "csr @ x", "csr.multiply(x[0])", "x[0] * csr"])
@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "dia_array", "bsr_matrix"])
def test_sparse_matrices_are_named_on_every_python(name, kind):
    import scipy.sparse

    csr, x = getattr(scipy.sparse, kind)(M), af.Variable(V) * 1.0
    with pytest.raises(AutoflowError, match=r"scipy\.sparse"):
        eval(name, {"csr": csr, "x": x})
    with af.no_grad():
        eval(name.replace("x @ csr", "csr.T @ x").replace("x[0] * csr", "csr * x[0]"), {"csr": csr, "x": x})


@NEW
def test_what_is_let_through():
    """Numbers that nobody differentiates."""
    from scipy import linalg, optimize, signal, stats

    y = af.Variable(V) * 1.0
    assert stats.ttest_ind(y, V).pvalue > 0
    assert optimize.minimize(lambda z: float(np.sum(np.asarray(z) ** 2)), y).success
    assert signal.find_peaks(y)[0].dtype.kind == "i"
    with af.no_grad():
        np.testing.assert_allclose(linalg.solve(M, y), np.linalg.solve(M, V))
    np.testing.assert_allclose(linalg.solve(M, y.detach()), np.linalg.solve(M, V))
    np.testing.assert_allclose(linalg.solve(M, y.value), np.linalg.solve(M, V))
    with af.options(watched=()):
        np.testing.assert_allclose(linalg.solve(M, y), np.linalg.solve(M, V))
    with pytest.raises(LostGradientError):
        linalg.solve(M, y)
    with pytest.raises(LostGradientError, match="without a gradient"):  # by the proof, which looks at all of f
        af.grad(lambda v: np.sum(linalg.solve(M, v)) + np.sum(v))(V)
    assert af.grad(lambda v: np.sum(v) * (2.0 if linalg.norm(v) > 1 else 1.0))(V).tolist() == [2.0] * 4


@NEW
def test_what_is_estimated_or_written_into_an_object_is_named():
    from scipy import sparse, stats

    y = af.Variable(V) * 1.0
    for kind in ("csr_array", "csc_matrix", "dok_array", "lil_array", "lil_matrix"):
        matrix = getattr(sparse, kind)(M)
        with pytest.raises(LostGradientError, match=r"__setitem__"):
            matrix[0, 0] = y[0]
        matrix[0, 0] = 3.0
    for call in (lambda: stats.linregress(M[0], y), lambda: stats.theilslopes(y, M[0])):
        with pytest.raises(LostGradientError):
            call()
    assert stats.pearsonr(V, M[0]).pvalue > 0


@NEW
@pytest.mark.parametrize("kind", [getattr(np.polynomial, name) for name in np.polynomial.__all__ if name[0].isupper()])
def test_series_of_numpy(kind):
    """Coefficients are taken as numbers; of a node as the point the gradient is right."""
    x = af.Variable(V)
    with pytest.raises(LostGradientError, match=r"numpy\.polynomial.*use np\.polyval"):
        np.sum(kind(x * 2)(V) + np.sum(x * x))
    with pytest.raises(LostGradientError, match=rf"numpy\.polynomial.*fit.*{os.path.basename(__file__)}"):
        kind.fit(V, x * 2, 1)
    np.sum(kind(M[0])(x)).backward()
    assert np.allclose(x.grad, kind(M[0]).deriv()(V))


@NEW
def test_scikit_learn_and_statsmodels():
    linear, metrics = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.metrics")
    x = af.Variable(V)
    model = linear.LinearRegression().fit(M, V)
    with pytest.raises(LostGradientError, match=r"sklearn\.linear_model\.LinearRegression\.predict"):
        model.predict(np.outer(x, x))
    with pytest.raises(LostGradientError, match=r"LinearRegression\.fit"):
        linear.LinearRegression().fit(M, x * 2)
    assert metrics.mean_squared_error(V, x * 2) > 0
    api = pytest.importorskip("statsmodels.api")
    with pytest.raises(LostGradientError, match="statsmodels"):
        api.OLS(x * 2, M).fit()


@NEW
def test_a_package_that_the_user_names(tmp_path, monkeypatch):
    (tmp_path / "lossy.py").write_text(
        "import numpy as np\ndef total(a, *more, key=1.0, **options): return float(np.sum(np.asarray(a)))\n"
        "def kept(a): return np.sum(a)\ndef half(a): return np.sum(a) + np.asarray(a)[0]\n"
        "def fails(a): raise ValueError(a)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lossy", raising=False)
    y = af.Variable(V) * 1.0
    with af.options(watched=("lossy",)):
        import lossy

        with pytest.raises(ValueError, match=r"0\.61"):
            lossy.fails(y)
        for call in (
            lambda: lossy.total(y), lambda: lossy.total(V, y), lambda: lossy.total(V, key=y),
            lambda: lossy.total(V, other=[y]), lambda: lossy.half(y),
        ):  # fmt: skip
            with pytest.raises(LostGradientError, match=r"lossy\.(total|half)"):
                call()
        assert lossy.kept(y).requires_grad
        with af.options(prove="never"):
            assert lossy.half(y).requires_grad
        monkeypatch.setattr(shadow, "LONGEST", -1.0)
        with pytest.warns(af.errors.UnprovedWarning, match=r"<function kept at \w+> took long"):
            assert lossy.kept(y[:2]).requires_grad
    assert lossy.total(y) == pytest.approx(V.sum())  # outside of the block


@NEW
def test_a_call_that_failed_is_forgotten():
    """The next one may have its place in memory."""
    from scipy import linalg

    def solve(a, b):
        return linalg.solve(a, b)

    y = af.Variable(V) * 1.0
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            solve(0 * M, y)
        np.testing.assert_allclose(solve(M, V), np.linalg.solve(M, V))
        with pytest.raises(np.linalg.LinAlgError):
            solve(0 * M, y)
        with af.no_grad():
            solve(M, y)


@NEW
def test_a_call_that_failed_keeps_nothing_alive():
    from scipy import linalg

    y = af.Variable(V) * 1.0
    gone = weakref.ref(y)
    with pytest.raises(np.linalg.LinAlgError):
        linalg.solve(0 * M, y)
    del y
    gc.collect()
    assert gone() is None


class Scaled:
    """An object of the user's that is called."""

    def __init__(self, y):
        self.y = y

    def apply(self, v):
        return M @ v * self.y


FITS = {
    "curve_fit": lambda s, y: s.curve_fit(lambda x, a: a * x, V, y),
    "isotonic_regression": lambda s, y: s.isotonic_regression(y).x,
    "linprog": lambda s, y: s.linprog(y, bounds=(1.0, 2.0)).x,
    "lsq_linear": lambda s, y: s.lsq_linear(M, y).x,
    "nnls": lambda s, y: s.nnls(M, y)[0],
}


@NEW
@pytest.mark.parametrize("name", FITS)
def test_fits_to_data_are_named_and_starting_points_let_through(name):
    from scipy import optimize

    y = af.Variable(V) * 1.0
    with pytest.raises(LostGradientError, match=rf"scipy\.optimize\.{name}"):
        FITS[name](optimize, y)
    FITS[name](optimize, y.value)
    start = af.Variable(1.0) * 1.0
    assert optimize.curve_fit(lambda x, a: a * x, V, 2.0 * V, p0=start)[0] == pytest.approx([2.0])
    assert optimize.least_squares(lambda z: z - 3.0, start).x == pytest.approx([3.0])


def find_root(name, f, a, **more):
    """Of one number, by a function of scipy.optimize."""
    from scipy import optimize

    where = {"fsolve": (a,), "root": (a,), "root_scalar": (), "newton": (a,)}.get(name, (0.0 * a, 2.0 * a))
    more |= {"bracket": (0.0 * a, 2.0 * a)} if name == "root_scalar" else {}
    return getattr(optimize, name)(f, *where, **more)


@NEW
@pytest.mark.parametrize("name", ["bisect", "brenth", "brentq", "fsolve", "newton", "ridder", "root", "root_scalar"])
def test_roots_of_a_function_that_has_a_node(name):
    """Where the search begins, and numbers that the function takes on purpose, are let through."""
    y, start = af.Variable(0.8) * 1.0, af.Variable(1.0) * 1.0

    def f(t, y=0.8):
        return t**3 - y

    for call in (lambda: find_root(name, lambda t: f(t, y), 1.0), lambda: find_root(name, f, 1.0, args=(y,))):
        if name == "newton":  # it is written in Python, with operators
            assert call().requires_grad
            continue
        with pytest.raises(LostGradientError, match=rf"scipy\.optimize\.{name} .* af\.implicit\.root"):
            call()
    find_root(name, lambda t: t**3 - 0.8, start)
    find_root(name, lambda t: t**3 - float(y), 1.0)
    find_root(name, lambda t: t**3 - y.value, 1.0)
    with af.no_grad():
        find_root(name, lambda t: f(t, y), 1.0)


@NEW
def test_results_that_hold_a_module_or_a_masked_array():
    from scipy.sparse.linalg import aslinearoperator

    x = af.Variable(V)
    np.sum(aslinearoperator(np.outer(x, x)) @ V).backward()
    np.testing.assert_allclose(x.grad, differences(lambda v: np.outer(v, v) @ V, 1e-6), rtol=1e-6)
    assert not list(shadow.leaves(np.ma))


@NEW
@pytest.mark.parametrize("name", ["lambda", "method", "partial", "global"])
def test_nodes_in_a_function_that_is_an_argument(name):
    """``LinearOperator`` asks no node, but the function that it is given returns one."""
    from scipy import integrate, linalg, optimize
    from scipy.sparse.linalg import LinearOperator

    y = af.Variable(V) * 1.0
    f = {
        "lambda": lambda v: M @ v * y, "method": Scaled(y).apply,
        "partial": functools.partial(lambda y, v: M @ v * y, y),
        "global": eval("lambda v: M @ v * y", {"y": y, "M": M}),
    }[name]  # fmt: skip
    product = LinearOperator((4, 4), matvec=f, dtype=float)

    def solve_ivp(f):
        return integrate.solve_ivp(lambda t, v: f(v), (0.0, 0.1), V).y

    for call in (lambda: product.matvec(V), lambda: product @ V, lambda: product.dot(V), lambda: solve_ivp(f)):
        try:
            z = np.sum(call())
        except AutoflowError:
            continue
        assert z.requires_grad
        np.testing.assert_allclose(af.gradients(z, [y])[y], M @ V)
    with af.no_grad():
        assert type(product.matvec(V)) is not float
    plain = LinearOperator((4, 4), matvec=lambda v: M @ v * y.value, dtype=float)
    np.testing.assert_allclose(plain.matvec(V), M @ V * V)
    assert optimize.brentq(lambda t: float(t * y[0] - 1.0), 0, 10) == pytest.approx(1 / V[0])

    def loss(v):  # what the user's function calls is looked at, too
        return float(np.sum(linalg.solve(M, y * v)))

    with pytest.raises(LostGradientError, match=r"scipy\.linalg\.solve"):
        optimize.minimize(loss, V)


@NEW
def test_a_proof_leaves_no_trace():
    from scipy import integrate

    y, before = af.Variable(V) * 1.0, []
    for _ in range(2):
        z = integrate.trapezoid(y)
        before.append([z.name.rstrip("0123456789"), len(af.Variable([0.0]).name)])
        z.backward()
    assert before[0] == before[1]


@NEW
@pytest.mark.filterwarnings("default")
def test_the_tool_is_taken_late_and_given_back():
    program = """
        import sys, warnings, numpy as np
        import autoflow as af
        mon = sys.monitoring
        assert mon.get_tool(3) is None, "not before it is needed"
        {before}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            import scipy.linalg, scipy.signal
        y = af.Variable(np.ones(3)) * 2
        try:
            scipy.linalg.solve(np.eye(3), y)
            found = "lost"
        except af.errors.LostGradientError:
            found = "named"
        print(found, mon.get_tool(3), mon.get_tool(4), len(said))
        af.options.watched = ()
        print(mon.get_tool(3), mon.get_tool(4), scipy.linalg.solve(np.eye(3), y))
        af.options.watched = ("scipy",)
        print(mon.get_tool(3), mon.get_tool(4))
    """
    said = {
        "": ["named autoflow None 0", "None None [2. 2. 2.]", "autoflow None"],
        "mon.use_tool_id(3, 'a')": ["named a autoflow 0", "a None [2. 2. 2.]", "a autoflow"],
        "mon.use_tool_id(3, 'a'); mon.use_tool_id(4, 'b')": ["lost a b 1", "a b [2. 2. 2.]", "a b"],
    }
    for before, expected in said.items():
        assert run(program.format(before=before)) == expected


@NEW
@pytest.mark.parametrize("around", ["cProfile", "pdb", "coverage", "trace"])
def test_beside_other_tools(around, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, scipy.linalg, autoflow as af\n"
        "y = af.Variable(np.ones(3)) * 2\n"
        "try:\n    scipy.linalg.solve(np.eye(3), y)\nexcept af.errors.LostGradientError:\n    print('named')\n"
    )
    words = {
        "cProfile": ["-m", "cProfile", "-o", str(tmp_path / "p")],
        "pdb": ["-m", "pdb", "-c", "continue", "-c", "quit"],
        "coverage": ["-m", "coverage", "run", f"--data-file={tmp_path / 'c'}"],
        "trace": ["-m", "trace", "--count", f"--coverdir={tmp_path}"],
    }[around]
    if around == "coverage":
        pytest.importorskip("coverage")
    done = subprocess.run(
        [sys.executable, *words, str(program)], capture_output=True, text=True, check=False, input="quit\n",
        env={**os.environ, "COVERAGE_CORE": "sysmon"},
    )  # fmt: skip
    assert "named" in done.stdout, done.stderr


@NEW
def test_a_preset_watches_again():
    from scipy import linalg

    y = af.Variable(V) * 1.0
    af.options.watched = ()
    linalg.solve(M, y)
    with af.options(preset="classroom"), pytest.raises(LostGradientError):
        linalg.solve(M, y)
    af.options.preset = "default"
    assert af.options.watched == ("scipy", "sklearn", "statsmodels", "numpy.polynomial")
    with pytest.raises(LostGradientError):
        linalg.solve(M, y)


def test_names_of_packages_are_texts():
    for wrong in ("scipy", ["scipy"], ("scipy", 1)):
        with pytest.raises(TypeError, match="watched must be"):
            af.options.watched = wrong


@NEW
def test_two_threads():
    from scipy import linalg

    found = []

    def work():
        y = af.Variable(V) * 1.0
        for _ in range(20):
            try:
                linalg.solve(M, y)
            except LostGradientError:
                found.append("named")
            linalg.solve(M, V)

    threads = [threading.Thread(target=work) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == ["named"] * 40


def run(program):
    """The lines that it prints, in a Python of its own."""
    return alone(inspect.cleandoc(program)).split("\n")[:-1]
