"""af.minimize: scipy.optimize.minimize with derivatives filled in, for parameters in containers."""

import dataclasses

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import BatchError, CompileError, ConvergenceError, InputError, LostGradientError, NoRuleError
from autoflow.implicit.optima import WITH_MATRIX, WITH_PRODUCTS, WITHOUT_SLOPES

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")

X, Y = np.arange(4.0), np.array([1.0, 3.0, 5.0, 8.0])
SLOPE, START = np.polyfit(X, Y, 1)


def line(p, x, y):
    return np.sum((p["slope"] * x + p["start"][0] - y) ** 2)


P0 = {"slope": 0.0, "start": [np.zeros(())]}
METHODS = [
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr",
    "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_each_method_of_scipys(method):
    found = af.minimize(line, P0, (X, Y), method, tol=1e-9)
    assert found.success
    np.testing.assert_allclose([found.x["slope"], found.x["start"][0]], [SLOPE, START], rtol=1e-4)
    assert type(found.x["slope"]) is np.ndarray
    assert isinstance(found.fun, float)


def test_a_new_method_of_scipys_is_noticed():
    module = __import__("scipy.optimize._minimize", fromlist=["MINIMIZE_METHODS"])
    assert {m.lower() for m in METHODS} == set(module.MINIMIZE_METHODS)
    assert set(module.MINIMIZE_METHODS) > WITHOUT_SLOPES | WITH_MATRIX | WITH_PRODUCTS


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-constr", "trust-exact"])
def test_derivatives_are_filled_in(method, monkeypatch):
    """And are those of the function: SciPy's differences would need more evaluations."""
    seen = {}

    def look(fun, x0, **options):
        x, v = np.array([0.5, 2.0]), np.array([1.0, -1.0])
        seen["slope"] = fun(x)[1]
        if "hessp" in options:
            seen["products"] = options["hessp"](x, v)
        if "hess" in options:
            seen["products"] = options["hess"](x) @ v
        return original(fun, x0, **options)

    original = optimize.minimize
    monkeypatch.setattr(optimize, "minimize", look)
    af.minimize(line, P0, (X, Y), method)
    off = 0.5 * X + 2.0 - Y
    assert seen["slope"].tolist() == [2 * np.sum(off * X), 2 * np.sum(off)]
    assert "products" not in seen if method == "BFGS" else seen["products"].tolist() == [2 * (14 - 6), 2 * (6 - 4)]


def test_a_method_of_the_users():
    """SciPy hands it everything."""

    def steps(fun, x0, args, jac, hessp, **rest):
        h = np.stack([hessp(x0, e) for e in np.eye(2)])
        x = x0 - np.linalg.solve(h, jac(x0))
        return optimize.OptimizeResult(x=x, fun=fun(x), success=True, message="one step")

    found = af.minimize(line, P0, (X, Y), steps)
    np.testing.assert_allclose([found.x["slope"], found.x["start"][0]], [SLOPE, START], rtol=1e-12)


@dataclasses.dataclass
class Layer:
    w: object
    b: object


def test_networks_and_dtypes():
    """Parameters of a small network, in a list of dataclasses; what is in Variables counts, and they stay."""
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 20)[:, None]
    first = af.Variable(rng.normal(size=(1, 6)))
    layers = [Layer(first, np.zeros(6, np.float32)), Layer(rng.normal(size=(6, 1)), [0.0])]
    before = first.value.copy()

    def loss(layers, x, y):
        h = np.tanh(x @ layers[0].w + layers[0].b)
        return np.mean((h @ layers[1].w + layers[1].b[0] - y) ** 2)

    found = af.minimize(loss, layers, (x, np.sin(3 * x)))
    assert found.fun < 1e-4
    assert loss(found.x, x, np.sin(3 * x)) == pytest.approx(found.fun, rel=1e-3, abs=1e-6)
    assert found.x[0].b.dtype == np.float32
    assert found.jac[0].w.shape == (1, 6)
    assert isinstance(found.x[1], Layer)
    assert np.array_equal(layers[0].w.value, before)
    assert type(found.x[0].w) is np.ndarray


def test_one_array_as_in_scipy():
    banana = lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)  # noqa: E731
    ours = af.minimize(banana, [1.3, 0.7, 0.8], method="BFGS")
    theirs = optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8], method="BFGS", jac=optimize.rosen_der)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9)
    assert (ours.nfev, ours.nit, ours.message) == (theirs.nfev, theirs.nit, theirs.message)
    assert float(af.minimize(lambda x: (x - 3.0) ** 2, 0.0).x) == pytest.approx(3.0, abs=1e-7)


def test_bounds():
    found = af.minimize(line, P0, (X, Y), bounds={"slope": (None, 1.5), "start": [None]})
    np.testing.assert_allclose(found.x["slope"], 1.5)
    np.testing.assert_allclose(found.x["start"][0], np.mean(Y - 1.5 * X), rtol=1e-5)
    x = af.minimize(lambda p: np.sum((p["a"] - 2) ** 2), {"a": np.zeros(3)}, bounds={"a": ([0, 0, 0], [1, 3, 1.5])}).x
    np.testing.assert_allclose(x["a"], [1, 2, 1.5], rtol=1e-6)
    pairs = [(0.0, 1.0), (-9.0, 9.0)]
    kinds = pairs, tuple(pairs), np.array(pairs), optimize.Bounds(*np.transpose(pairs)), [(0, 1), (None, None)]
    for limits in kinds:  # as SciPy takes them
        x = af.minimize(lambda x: np.sum((x - 2) ** 2), np.zeros(2), bounds=limits).x
        np.testing.assert_allclose(x, [1.0, 2.0], rtol=1e-6)
    with pytest.raises(InputError, match=r"bounds have the parts \[\"\['a'\]\"\] where x0 has"):
        af.minimize(line, P0, (X, Y), bounds={"a": (0, 1)})


def test_constraints():
    """In a dict they are of (x, *args), as the function is; those that are inequalities, too."""
    equal = {"type": "eq", "fun": lambda p, x, y: p["slope"] - p["start"][0]}
    found = af.minimize(line, P0, (X, Y), constraints=equal)
    np.testing.assert_allclose(found.x["slope"], np.sum((X + 1) * Y) / np.sum((X + 1) ** 2), rtol=1e-6)
    least = {"type": "ineq", "fun": lambda p, bound: p["start"][0] - bound, "args": (2.0,)}
    found = af.minimize(line, P0, (X, Y), "SLSQP", constraints=[least])
    np.testing.assert_allclose(found.x["start"][0], 2.0, rtol=1e-6)
    plane = optimize.LinearConstraint(np.ones((1, 2)), 1.0, 1.0)
    x = af.minimize(lambda x: np.sum(x**2 * [1, 3]), np.zeros(2), constraints=plane).x
    np.testing.assert_allclose(x, [0.75, 0.25], rtol=1e-6)


def test_callbacks_see_containers():
    seen, results = [], []
    found = af.minimize(line, P0, (X, Y), callback=lambda p: seen.append(p["slope"]))
    af.minimize(line, P0, (X, Y), callback=lambda intermediate_result: results.append(intermediate_result.x["slope"]))
    assert len(seen) == found.nit
    assert results == seen

    def stop(intermediate_result):
        raise StopIteration

    assert af.minimize(line, P0, (X, Y), callback=stop, options={"gtol": 1e-12}).nit == 1


# -- nodes in, nodes out -----------------------------------------------------------------------------------------------


def test_nodes_in_args_give_nodes():
    """The slope of a line is linear in y: its gradient is that of np.polyfit; and dfun/dy = −2 (line − y)."""
    y = af.Variable(Y)
    found = af.minimize(line, P0, (X, y), tol=1e-10)
    found.x["slope"].backward()
    np.testing.assert_allclose(y.grad, (X - X.mean()) / np.sum((X - X.mean()) ** 2), rtol=1e-9)
    y.zero_grad()
    found.fun.backward()
    np.testing.assert_allclose(y.grad, -2 * (SLOPE * X + START - Y), rtol=1e-6, atol=1e-8)
    slope = lambda y: af.minimize(line, P0, (X, y**2), tol=1e-10).x["slope"]  # noqa: E731
    other = lambda y: np.sum((X - X.mean()) * y**2) / np.sum((X - X.mean()) ** 2)  # noqa: E731
    np.testing.assert_allclose(af.hessian(slope)(Y), af.hessian(other)(Y), rtol=1e-8, atol=1e-12)


def test_one_argument_without_a_tuple_and_without_recording():
    slope = af.grad(lambda t: af.minimize(lambda x, t: (x - t**2) ** 2, 0.0, t).x)
    np.testing.assert_allclose(slope(3.0), 6.0, rtol=1e-9)
    with af.no_grad():
        found = af.minimize(line, P0, (X, af.Variable(Y)))
    assert type(found.fun) is float
    assert not getattr(found.x["slope"], "requires_grad", False)


def slope_by(y, **how):
    return af.minimize(line, P0, (X, y), **how).x["slope"]


def crossed(x, w):
    """A function that uses w, but not where the search begins."""
    return (x - 1.0) ** 2 if x < 0.5 else (x - w) ** 2


@pytest.mark.parametrize(("call", "error", "message"), [
    *[(lambda y, more=more: slope_by(y, **more), NoRuleError,
       "may be at a corner: use af.implicit.argmin, with equality=h")
      for more in ({"bounds": {"slope": (0, 1), "start": [None]}}, {"constraints": [{"type": "eq", "fun": line}]})],
    (lambda y: af.minimize(lambda p: line(p, X, y), P0), LostGradientError,
     "the function of af.minimize uses a node that is not one of its arguments"),
    (lambda y: af.minimize(lambda x: crossed(x, y[0]), 0.1), LostGradientError,
     "a node for which it is not differentiated"),
    (lambda y: slope_by(y, options={"maxiter": 1}), ConvergenceError,
     "af.minimize did not converge: .* The solver said: Maximum number of it"),
    (lambda y: af.vmap(slope_by, loop="refuse")(np.stack([Y, Y])), BatchError, "af.minimize"),
    (lambda y: af.compile(slope_by)(Y), CompileError, "use af.implicit.argmin"),
    # functions of SciPy's optimisers get plain numbers
    (lambda y: af.minimize(optimize.rosen, np.zeros(3)), LostGradientError, "depends on none of the arguments"),
    (lambda y: af.minimize(line, {"a": "text"}, (X, Y)), TypeError, r"x0\['a'\] is str"),
])  # fmt: skip
def test_refusals(call, error, message):
    looping.SAID.clear()
    with pytest.raises(error, match=message):
        call(af.Variable(Y))


def test_what_did_not_converge_and_examples_one_by_one():
    assert not af.minimize(line, P0, (X, Y), options={"maxiter": 1}).success  # as in SciPy
    looping.SAID.clear()
    with pytest.warns(af.errors.LoopWarning, match=r"af.minimize"):
        slopes = af.vmap(slope_by)(np.stack([Y, 2 * Y]))
    np.testing.assert_array_equal(slopes, [slope_by(y) for y in (Y, 2 * Y)])


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    monkeypatch.delattr("scipy.optimize")
    with pytest.raises(ImportError, match=r"af.minimize and af.implicit.argmin search with SciPy, which is not"):
        af.minimize(line, P0, (X, Y))
