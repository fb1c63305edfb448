"""Functions of other packages that lose a gradient under ``backward()`` are noticed, on Python 3.12 and newer."""

import functools
import gc
import importlib
import inspect
import os
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest
from conftest import NIGHTLY
from processes import alone
from threads import in_threads

import autoflow as af
from autoflow.errors import AutoflowError, LostGradientError
from autoflow.transforms import shadow

scipy = pytest.importorskip("scipy")
from scipy import integrate, linalg, optimize, signal, sparse, stats  # noqa: E402 - after the question whether it is there
from scipy.sparse.linalg import LinearOperator, aslinearoperator  # noqa: E402

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
    "f(y)": lambda f, y: f(y), "f(Y)": lambda f, y: f(np.outer(y, y) + M), "f(y, y)": lambda f, y: f(y, y * 1.3),
    "f(M, y)": lambda f, y: f(M, y),
}  # fmt: skip
BY_NIGHT = {
    "f(Y, 2)": lambda f, y: f(np.outer(y, y) + M, 2),
    "f(Y, Y)": lambda f, y: f(np.outer(y, y) + M, np.outer(y, y) + 2 * M), "f(2, y)": lambda f, y: f(2, y),
}  # fmt: skip
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
            right, again = differences(run, 1e-6), differences(run, 1e-5)
            if not getattr(total(result), "requires_grad", False):
                if not np.allclose(np.nan_to_num(right), 0, atol=1e-6):  # else it is constant there
                    wrong.append(f"{name} {said}: lost")
                continue
            total(result).backward()
            found = np.zeros(4) if x.grad is None else x.grad
            if np.allclose(right, again, rtol=1e-3, atol=1e-5) and not np.allclose(found, right, rtol=1e-3, atol=1e-5):
                wrong.append(f"{name} {said}: {found}, not {right}")
    assert not wrong, "\n".join(wrong)
    assert tried


@NEW
def test_it_says_who_what_where_and_what_to_use():
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
    csr, x = getattr(sparse, kind)(M), af.Variable(V) * 1.0
    with pytest.raises(AutoflowError, match=r"scipy\.sparse"):
        eval(name, {"csr": csr, "x": x})
    with af.no_grad():
        eval(name.replace("x @ csr", "csr.T @ x").replace("x[0] * csr", "csr * x[0]"), {"csr": csr, "x": x})


@NEW
def test_what_is_let_through():
    """Numbers that nobody differentiates."""
    y = af.Variable(V) * 1.0
    assert stats.ttest_ind(y, V).pvalue > 0
    assert optimize.minimize(lambda z: float(np.sum(np.asarray(z) ** 2)), y).success
    assert signal.find_peaks(y)[0].dtype.kind == "i"
    assert [*stats.rankdata(y), stats.percentileofscore(y, 1.0), stats.tiecorrect(y)] == [2, 4, 1, 3, 75, 1]  # constant
    solve = functools.partial(linalg.solve, M)
    solved = solve(y.detach()), solve(y.value), af.no_grad().call(solve, y), af.options(watched=()).call(solve, y)
    np.testing.assert_allclose(solved, [np.linalg.solve(M, V)] * 4)
    with pytest.raises(LostGradientError):
        linalg.solve(M, y)
    with pytest.raises(LostGradientError, match="without a gradient"):  # by the proof, which looks at all of f
        af.grad(lambda v: np.sum(linalg.solve(M, v)) + np.sum(v))(V)
    assert af.grad(lambda v: np.sum(v) * (2.0 if linalg.norm(v) > 1 else 1.0))(V).tolist() == [2.0] * 4


@NEW
def test_what_is_estimated_or_written_into_an_object_is_named():
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
    y = af.Variable(V) * 1.0
    solve = lambda a, b: linalg.solve(a, b)  # noqa: E731
    for run in [lambda: solve(M, V), lambda: af.no_grad().call(solve, M, y)] * 3:
        with pytest.raises(np.linalg.LinAlgError):
            solve(0 * M, y)
        np.testing.assert_allclose(run(), np.linalg.solve(M, V))


@NEW
def test_a_call_that_failed_keeps_nothing_alive():
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

    def __call__(self, v):
        return self.apply(v)

    def less(self, v):
        return v**3 - self.y


# A call of each public function that takes a function: f(t, *a) of elements, F(t, *a) a number, begin at s. Of those
# that are called in the same way all names are in braces.
SEARCHES = """
    optimize.{anderson broyden1 broyden2 diagbroyden newton_krylov}(g, [s], f_tol=0.5)
    optimize.{excitingmixing linearmixing}(g, [s], f_tol=9)
    optimize.{bisect brenth brentq ridder toms748}(f, 0 * s, 2 * s, a)
    optimize.{fsolve leastsq}(f, s, a)
    optimize.{fmin_bfgs fmin_cg}(F, s, args=a, maxiter=1, disp=0)
    optimize.{fmin fmin_powell}(F, s, a, maxiter=2, disp=0)
    optimize.{brent golden}(F, a, (0 * s, s))
    optimize.{nnls lsq_linear}(M, y)
    optimize.{isotonic_regression rosen}(y)
    optimize.approx_fprime(V[:1], F, 1e-7, *a)
    optimize.basinhopping(F, [s], 1, minimizer_kwargs={"args": a})
    optimize.bracket(F, 0 * s, s, a)
    optimize.brute(F, [(0 * s, 2 * s)], a, 3)
    optimize.curve_fit(lambda t, q: g(t) + q, V, V, s)
    optimize.differential_evolution(F, [(0 * s, 2 * s)], a, maxiter=1, popsize=2)
    optimize.direct(F, [(0.0, 2.0)], args=a, maxiter=2)
    optimize.dual_annealing(F, [(0 * s, 2 * s)], a, 1)
    optimize.fixed_point(lambda t, *a: t - 0.3 * f(t, *a), s, a)
    optimize.fmin_cobyla(F, s, [lambda t, *a: 2 - t[0]], a, maxfun=5, disp=0)
    optimize.fmin_l_bfgs_b(F, s, args=a, approx_grad=True, maxiter=1)
    optimize.fmin_ncg(F, s, lambda t, *a: 6 * t, args=a, maxiter=1, disp=0)
    optimize.fmin_slsqp(F, s, args=a, iter=1, disp=0)
    optimize.fmin_tnc(F, s, args=a, approx_grad=True, maxfun=3, disp=0)
    optimize.fminbound(F, 0 * s, 2 * s, a, maxfun=3)
    optimize.{least_squares newton}(f, s, args=a)
    optimize.line_search(F, lambda t, *a: t, V[:1], V[:1], args=a)
    optimize.LinearConstraint(y, 0, s)
    optimize.linprog(y, bounds=(1.0, 2.0))
    optimize.minimize(F, s, a)
    optimize.minimize(lambda t, *a: t @ t, s, a, jac=lambda t, *a: 2 * t + 0 * f(t, *a))
    optimize.minimize(lambda t: t @ t, s, constraints={"type": "ineq", "fun": g})
    optimize.minimize(lambda t: t @ t, s, constraints=optimize.NonlinearConstraint(g, 0, 9), options={"maxiter": 3})
    optimize.minimize_scalar(F, (0 * s, s), args=a)
    optimize.quadratic_assignment(np.outer(y, y), M)
    optimize.root(f, s, a)
    optimize.root_scalar(f, a, bracket=(0 * s, 2 * s))
    optimize.shgo(F, [(0.0, 2.0)], a, n=4)
    integrate.cubature(lambda t: g(t[:, 0]), [0.0], [1.0])
    integrate.dblquad(lambda r, t, *a: f(t, *a), 0, 1, 0, 1, a)
    integrate.fixed_quad(f, 0, 1, a)
    integrate.nquad(f, [(0, 1)], a)
    integrate.nsum(lambda t, *a: f(1 / t**2, *a) / t**2, 1, 9, args=a)
    integrate.odeint(lambda u, t, *a: f(u, *a), V[:1], [0, 0.1], a)
    integrate.qmc_quad(lambda t: g(t[0]), [0], [1], n_points=8)
    integrate.quad(f, 0, 1, a)
    integrate.quad_vec(f, 0, 1, args=a)
    integrate.solve_bvp(lambda t, u: g(u), lambda u, v: u - 1, [0, 0.1], np.ones((1, 2)))
    integrate.solve_bvp(lambda t, u: u, lambda u, v: g(u), [0, 0.1], np.ones((1, 2)))
    integrate.solve_ivp(lambda t, u, *a: f(u, *a), (0, 0.1), V, args=a)
    integrate.tplquad(lambda q, r, t, *a: f(t, *a), 0, 1, 0, 1, 0, 1, a, 1)
    integrate.ode(lambda t, u, *a: f(u, *a)).set_initial_value(V).set_f_params(*a).integrate(0.1)
    interpolate.approximate_taylor_polynomial(g, 0, 3, 1.0).coef
    interpolate.Rbf(V, V, function=lambda self, r: g(r))(V)
    ndimage.generic_filter(V, F, 3, extra_arguments=a)
    ndimage.{generic_gradient_magnitude generic_laplace}(V, lambda x, i, out, mode, c, *a: f(x, *a), extra_arguments=a)
    ndimage.geometric_transform(V, lambda c, *a: (f(c[0], *a),), extra_arguments=a)
    ndimage.labeled_comprehension(V, [1, 1, 2, 2], [1, 2], lambda t: np.sum(g(t)), float, 0)
    stats.binned_statistic(V, V, lambda t: np.sum(g(t)), bins=2)
    stats.binned_statistic_2d(V, V, V, lambda t: np.sum(g(t)), bins=2)
    stats.binned_statistic_dd([V], V, lambda t: np.sum(g(t)), bins=2)
    stats.bootstrap((V,), lambda t: np.sum(g(t)), n_resamples=3, method="basic", vectorized=False)
    stats.{norm norm()}.expect(g)
    stats.poisson.expect(g, (2.0,))
    linalg.funm(M, g)
    sparse.linalg.LinearOperator((4, 4), matvec=g, dtype=float) @ V
    sparse.linalg.cg(sparse.linalg.LinearOperator((4, 4), matvec=g, dtype=float), V, maxiter=2)
    sparse.linalg.eigsh(sparse.linalg.LinearOperator((4, 4), matvec=lambda t: M @ t * g(0), dtype=float), 1)
    sparse.linalg.funm_multiply_krylov(g, M, V)
    spatial.distance.cdist(M, M, lambda r, t: np.sum(g(r - t)))
    spatial.distance.pdist(M, lambda r, t: np.sum(g(r - t)))
    cluster.hierarchy.linkage(M, metric=lambda r, t: np.sum(g(r - t) ** 2))
"""
BRACES = re.compile(r"\{([\w ()]+)\}")
SEARCHES = {
    call: call.split("(")[0]
    for line in SEARCHES.strip().splitlines()
    for call in [BRACES.sub(name, line.strip()) for name in (BRACES.findall(line) or [""])[0].split() or [""]]
}
TAKE_FUNCTIONS = {"f", "fun", "func", "F", "function", "derivative", "statistic", "metric"}
# Those of arrays of several libraries, not in all versions of SciPy; tests; what writes into its argument (a plain
# array of numbers, which is an error of its own); what is looked at; distances by name.
NOT_TRIED = """
    check_grad bootstrap generic_filter1d vectorized_filter sobol_indices goodness_of_fit monte_carlo_test
    permutation_test leslie tanhsinh distance_transform_bf distance_transform_cdt fclusterdata optimal_leaf_ordering
"""


def test_each_function_of_scipy_that_takes_a_function_is_tried():
    rooms = ("optimize", "integrate", "interpolate", "ndimage", "stats", "linalg", "sparse.linalg", "spatial.distance")
    for room in (*rooms, "cluster.hierarchy", "signal"):
        module = importlib.import_module(f"scipy.{room}")
        for name in module.__all__:
            f = getattr(module, name)
            if inspect.isfunction(f) and TAKE_FUNCTIONS & inspect.signature(f).parameters.keys():
                assert f"{room}.{name}" in SEARCHES.values() or name in NOT_TRIED.split(), name


@NEW
@pytest.mark.parametrize("call", SEARCHES)
@pytest.mark.filterwarnings("ignore")
def test_functions_that_hold_a_node(call):
    """They are named, by themselves or in ``args``; starting points and numbers that are taken on purpose are let
    through."""
    if call.startswith("optimize") and not hasattr(importlib.import_module("scipy.optimize"), SEARCHES[call][9:]):
        return  # a later version has it
    y, start, one = af.Variable(V) * 1.0, af.Variable(1.0) * 1.0, af.Variable(0.8) * 1.0

    def run(f, a=(), s=1.0, y=V):
        rooms = {name: importlib.import_module(f"scipy.{name}") for name in ("optimize", *ROOMS)}
        names = {name: x for name, x in rooms.items() if "." not in name} | {"np": np, "V": V, "M": M, "y": y, "s": s}
        more = {"f": f, "g": lambda t: f(t, *a), "F": lambda t, *a: np.sum(np.ravel(f(t, *a)) ** 2), "a": a}
        return eval(call, names | more | {"cluster": scipy.cluster, "spatial": scipy.spatial})

    def f(t, y=0.8):
        return t**3 - y

    for run_it in (lambda: run(lambda t, *a: f(t, one), y=y), lambda: run(f, (one,), y=y)):
        try:
            found = list(shadow.leaves(run_it()))
        except AutoflowError:
            continue
        assert any([getattr(x, "requires_grad", False) for x in found]), found
    run(f, s=start)
    run(lambda t, *a: f(t, float(one)))
    run(lambda t, *a: f(t, af.Variable(0.8)).value)
    if call.startswith("optimize"):
        run(lambda t, *a: f(t, af.Variable(0.8)))
    with af.no_grad():
        run(lambda t, *a: f(t, one))


@NEW
@pytest.mark.parametrize("name", ["fsolve", "toms748"])
def test_a_node_in_a_function_where_the_search_also_begins(name):
    y, ends = af.Variable(0.8) * 1.0, 2 if name == "toms748" else 1
    for f in (lambda t: t**3 - y, Scaled(y).less):
        with pytest.raises(LostGradientError, match=rf"scipy\.optimize\.{name} .* af\.implicit\.root"):
            getattr(optimize, name)(f, *(y * 0, y * 2)[-ends:])
    getattr(optimize, name)(lambda t: t**3 - 0.8, *(y * 0, y * 2)[-ends:])


@NEW
def test_results_that_hold_a_module_or_a_masked_array():
    x = af.Variable(V)
    np.sum(aslinearoperator(np.outer(x, x)) @ V).backward()
    np.testing.assert_allclose(x.grad, differences(lambda v: np.outer(v, v) @ V, 1e-6), rtol=1e-6)
    assert not list(shadow.leaves(np.ma))


@NEW
@pytest.mark.parametrize("name", ["lambda", "method", "object", "partial", "global"])
def test_nodes_in_a_function_that_is_an_argument(name):
    """``LinearOperator`` asks no node, but the function that it is given returns one."""
    y = af.Variable(V) * 1.0
    f = {
        "lambda": lambda v: M @ v * y, "method": Scaled(y).apply, "object": Scaled(y),
        "partial": functools.partial(lambda y, v: M @ v * y, y),
        "global": eval("lambda v: M @ v * y", {"y": y, "M": M}),
    }[name]  # fmt: skip
    product = LinearOperator((4, 4), matvec=f, dtype=float)

    for call in (
        lambda: product.matvec(V), lambda: product @ V, lambda: product.dot(V),
        lambda: integrate.solve_ivp(lambda t, v: f(v), (0.0, 0.1), V).y,
    ):  # fmt: skip
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
    with pytest.raises(LostGradientError, match=r"scipy\.linalg\.solve"):  # what the user's function calls is looked at
        optimize.minimize(lambda v: float(np.sum(linalg.solve(M, y * v))), V)


@NEW
def test_a_proof_leaves_no_trace():
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
        assert alone(inspect.cleandoc(program).format(before=before)).splitlines() == expected


@NEW
@pytest.mark.parametrize("around", ["cProfile", "pdb", "coverage", "trace"])
def test_beside_other_tools(around, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, scipy.linalg, autoflow as af\n"
        "y = af.Variable(np.ones(3)) * 2\n"
        "try:\n    scipy.linalg.solve(np.eye(3), y)\nexcept af.errors.LostGradientError:\n    print('named')\n"
    )
    options = {
        "cProfile": ["-o", str(tmp_path / "p")], "pdb": ["-c", "continue", "-c", "quit"],
        "coverage": ["run", f"--data-file={tmp_path / 'c'}"], "trace": ["--count", f"--coverdir={tmp_path}"],
    }[around]  # fmt: skip
    pytest.importorskip(around)
    done = subprocess.run(
        [sys.executable, "-m", around, *options, str(program)], capture_output=True, text=True, check=False,
        input="quit\n", env={**os.environ, "COVERAGE_CORE": "sysmon"},
    )  # fmt: skip
    assert "named" in done.stdout, done.stderr


@NEW
def test_a_preset_watches_again():
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
    found = []

    def work():
        y = af.Variable(V) * 1.0
        for _ in range(20):
            try:
                linalg.solve(M, y)
            except LostGradientError:
                found.append("named")
            linalg.solve(M, V)

    in_threads(work, work)
    assert found == ["named"] * 40
