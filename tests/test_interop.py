"""Other libraries take nodes as the arrays that they are; nothing breaks, and nothing is recorded that survives.

What a library sees of a node is its numbers. So: the answer equals that for the plain array, and afterwards the
node's gradient is what it would have been.
"""

import contextlib
import copy
import gc
import operator
import pickle
import warnings
import weakref

import numpy as np
import pytest

import autoflow as af
from autoflow.base.modes import listening
from autoflow.errors import InPlaceError, LostGradientError, NoRuleError


@pytest.fixture
def x():
    return af.Variable([0.5, 1.5, 4.0, 2.0], name="x")


@pytest.fixture
def z(x):
    """An operation: what users plot and print most often."""
    return np.sin(x) * x


@pytest.fixture(autouse=True)
def nothing_survives(x, z):
    """After the test: the records of x and z are those of before, and the gradient is right."""
    record, parents = z.grad_fn, z.grad_fn.parents
    value = x.value.copy()
    yield
    assert z.grad_fn is record
    assert z.grad_fn.parents == parents
    assert x.grad_fn is None
    assert (x.value == value).all()
    x.zero_grad()
    z.sum().backward()
    np.testing.assert_allclose(x.grad, np.sin(value) + value * np.cos(value))


# -- matplotlib ------------------------------------------------------------------------------------------------------


@pytest.fixture
def axes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own imports
        matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        matplotlib.use("Agg")
        plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture
def recorded():
    """The operations that are recorded during the test, from here on."""
    found = []
    with listening(lambda node: found.append(node.opmethod)):
        yield found


DRAWN = {  # what is drawn, what the library holds then, the numbers of it, and which operations it may record
    "plot": (lambda axes, x, z: axes.plot(x, z)[0].get_ydata(), lambda x, z: z, {"getitem"}),  # x[:, None]
    "scatter": (lambda axes, x, z: axes.scatter(x, z, c=z, s=x).get_offsets(), lambda *xz: np.column_stack(xz), ()),
    "colours": (lambda axes, x, z: axes.scatter(x, z, c=z, s=x).get_array(), lambda x, z: z, ()),
    "hist": (lambda axes, x, z: axes.hist(z, bins=3)[0], lambda x, z: np.histogram(z, 3)[0], {"getitem", "transpose"}),
    "edges": (lambda axes, x, z: axes.hist(z, bins=3)[1], lambda x, z: np.histogram(z, 3)[1], {"getitem", "transpose"}),
    "bar": (lambda axes, x, z: [bar.get_height() for bar in axes.bar(x, z)], lambda x, z: z, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_matplotlib_holds_numbers(axes, x, z, recorded, name):
    draw, numbers, may_be_recorded = DRAWN[name]
    found = draw(axes, x, z)
    np.testing.assert_array_equal(np.asarray(found), numbers(x.value, z.value))
    axes.figure.canvas.draw()
    assert set(recorded) <= {*may_be_recorded}
    assert not any(getattr(part, "requires_grad", False) for part in (found, *found))


def test_imshow(axes, z, recorded):
    picture = z.reshape(2, 2)
    recorded.clear()
    image = axes.imshow(picture)
    np.testing.assert_array_equal(np.asarray(image.get_array()), z.value.reshape(2, 2))
    axes.figure.colorbar(image)
    axes.figure.canvas.draw()
    assert recorded == []


MORE = {
    "axhline": lambda axes, x, z: axes.axhline(z.max()), "boxplot": lambda axes, x, z: axes.boxplot(z),
    "contourf": lambda axes, x, z: axes.contourf(z[:, None] * x),
    "errorbar": lambda axes, x, z: axes.errorbar(x, z, yerr=x),
    "fill_between": lambda axes, x, z: axes.fill_between(x, z, 0 * z), "hist2d": lambda axes, x, z: axes.hist2d(x, z),
    "limits": lambda axes, x, z: (axes.set_xlim(x.min(), x.max()), axes.set_title(f"{z.sum():.2f}")),
    "pcolormesh": lambda axes, x, z: axes.pcolormesh(z[:, None] * x), "pie": lambda axes, x, z: axes.pie(x),
    "quiver": lambda axes, x, z: axes.quiver(x, z, x, z), "semilogy": lambda axes, x, z: axes.semilogy(x, abs(z)),
    "stem": lambda axes, x, z: axes.stem(x, z), "step": lambda axes, x, z: axes.step(x, z),
    "text": lambda axes, x, z: axes.text(x[0], z[0], "here"),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_of_matplotlib(axes, x, z, name):
    MORE[name](axes, x, z)
    axes.figure.canvas.draw()


def test_surface(axes, x, z):
    """mplot3d stores single numbers in plain arrays, which is refused to others."""
    solid = axes.figure.add_subplot(projection="3d")
    solid.plot_surface(x[:, None] + 0 * x, x + 0 * x[:, None], z[:, None] * x)
    with af.options(strict=True):
        axes.figure.canvas.draw()


def test_a_figure_keeps_no_graph_alive(axes, x):
    z = np.exp(x)
    gone = weakref.ref(z.grad_fn.saved[-1])
    axes.plot(x, z)
    axes.bar(x, z)
    axes.scatter(x, z, c=z)
    axes.imshow(z[:, None] * z)
    del z
    gc.collect()
    assert gone() is None


# -- pandas and scikit-learn -----------------------------------------------------------------------------------------


@pytest.fixture
def pd():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pandas", reason="pandas is not installed")


def test_pandas(pd, x, z, recorded):
    series, frame = pd.Series(z), pd.DataFrame({"x": x, "z": z})
    np.testing.assert_array_equal(frame.to_numpy(), np.column_stack([x.value, z.value]))
    plain = pd.Series(z.value)
    for ours, theirs in [
        (series, plain), (series * 2 + 1, plain * 2 + 1), (series * pd.Series(x), plain * x.value),
        (np.sin(series), np.sin(plain)),
        (series > 0, plain > 0), (series.rolling(2).mean(), plain.rolling(2).mean()), (series.iloc[1:], plain.iloc[1:]),
        (frame.assign(w=z)["w"], plain.rename("w")), (frame["z"] - frame["x"], plain - x.value),
    ]:  # fmt: skip
        pd.testing.assert_series_equal(ours, theirs)
        assert type(ours.to_numpy()) is np.ndarray
    assert (series.sum(), series.mean(), series.max()) == (plain.sum(), plain.mean(), plain.max())
    assert type(series.sum()) is np.float64
    assert str(frame)
    assert frame.describe().loc["max", "x"] == 4.0
    groups = frame.assign(k=[1, 1, 2, 2]).groupby("k").sum()
    np.testing.assert_array_equal(groups["x"], [2.0, 6.0])
    assert recorded == []


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod]
UFUNCS = [np.add, np.multiply, np.divide, np.maximum, np.arctan2, np.hypot, np.power]
PLAIN = np.array([[1.5, 0.5], [2.0, 3.0], [0.75, 1.25]])


def pandas_objects(pd):
    """Each with a node beside it: of its shape, and one number."""
    for y in (pd.Series(PLAIN[:, 0]), pd.Index(PLAIN[:, 0]), pd.DataFrame(PLAIN, columns=["a", "b"])):
        for x in (0.5 + y.to_numpy() ** 2, np.array(1.75)):
            yield y, x


@pytest.mark.parametrize("f", [*OPERATORS, *UFUNCS], ids=lambda f: f.__name__)
def test_arithmetic_between_pandas_and_nodes(pd, f):
    """``series * node`` is a node, as ``node * series`` is, with NumPy's values and gradients: for a Variable, an
    Operation and a Constant."""
    for y, x in pandas_objects(pd):
        if f in UFUNCS and isinstance(y, pd.Index):  # there pandas asks nobody
            continue
        for turned in (False, True):
            call = (lambda v, w: f(w, v)) if turned else f
            expected = call(x, y.to_numpy())
            for make in (af.Variable, lambda x: 1.0 * af.Variable(x)):
                node = make(x)
                z = call(node, y)
                assert isinstance(z, af.Operation), (type(y), turned, type(z))
                np.testing.assert_array_equal(z.value, expected)
            ours, right = (af.grad(lambda v, w=w: np.sum(call(v, w)))(x) for w in (y, y.to_numpy()))  # noqa: B023
            np.testing.assert_array_equal(ours, right)
            if f in OPERATORS:
                assert isinstance(call(af.Constant(x), y), af.Constant)


@pytest.mark.parametrize("f", [lambda x: x * 2, np.sum, lambda x: x if np.sum(x) > 2 else x * 0, af.grad(np.sum)])
def test_examples_of_pandas_are_rows_whatever_their_labels(pd, f):
    for y, _ in pandas_objects(pd):
        labelled = y if isinstance(y, pd.Index) else y.set_axis([2, 1, 0])
        mapped = af.vmap(f, loop="allow")
        np.testing.assert_array_equal(mapped(labelled), mapped(y.to_numpy()))
        np.testing.assert_array_equal(af.vmap(f, (-1,), loop="allow")(labelled), mapped(y.to_numpy().T))


def test_comparisons_with_pandas_stay_pandas(pd):
    for y, x in pandas_objects(pd):
        for compare in (operator.lt, operator.ge, operator.eq):
            for ours, theirs in (
                (compare(y, af.Variable(x)), compare(y, x)),
                (compare(af.Variable(x), y), compare(x, y)),
            ):
                assert type(ours) is type(theirs)
                np.testing.assert_array_equal(ours, theirs)


def test_writing_a_node_into_a_series_is_refused(pd):
    """``series *= node``: what pandas writes are numbers. A Constant has nothing to lose."""
    for y, x in pandas_objects(pd):
        if isinstance(y, pd.Index):
            continue
        for write in (operator.iadd, operator.imul, operator.itruediv):
            for node in (af.Variable(x), 1.0 * af.Variable(x)):
                with pytest.raises(LostGradientError, match=r"a pandas object \+= .* Write y = series \+ node"):
                    write(y.copy(), node)
            for fixed in (af.Constant(x), af.Variable(x).detach()):
                np.testing.assert_array_equal(write(y.copy(), fixed), write(y.copy(), x))
            with af.no_grad():
                np.testing.assert_array_equal(write(y.copy(), af.Variable(x)), write(y.copy(), x))


def test_a_table_of_data_and_parameters(pd):
    """The documented ways: to_numpy(), and a matrix of a formula, whose columns are numbers."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"], "y": [1.0, 3.0, 2.0]})
    design = pd.get_dummies(frame[["x", "kind"]], columns=["kind"], dtype=float)
    w = af.Variable(np.array([0.5, 1.0, -1.0]))
    loss = np.sum((design.to_numpy() @ w - frame["y"]) ** 2)
    loss.backward()
    a, y = design.to_numpy(), frame["y"].to_numpy()
    np.testing.assert_allclose(w.grad, 2 * a.T @ (a @ w.value - y))
    prediction = frame.assign(prediction=(a @ w).value)
    np.testing.assert_array_equal(prediction["prediction"], a @ w.value)


@pytest.fixture
def unwatched():
    with af.options(watched=()):
        yield


@pytest.mark.usefixtures("unwatched")
def test_scikit_learn(x, z, recorded):
    """Where it is not watched it gets numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
        metrics = pytest.importorskip("sklearn.metrics")
        scaling = pytest.importorskip("sklearn.preprocessing")
    column = x[:, None]
    recorded.clear()
    ours = linear.LinearRegression().fit(column, z)
    theirs = linear.LinearRegression().fit(column.value, z.value)
    assert type(ours.coef_) is np.ndarray
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    prediction = ours.predict(column)
    assert type(prediction) is np.ndarray
    np.testing.assert_array_equal(prediction, theirs.predict(column.value))
    assert metrics.mean_squared_error(z, prediction) == pytest.approx(metrics.mean_squared_error(z.value, prediction))
    scaled = scaling.StandardScaler().fit_transform(column)
    np.testing.assert_allclose(scaled.mean(), 0, atol=1e-15)
    classes = linear.LogisticRegression().fit(column, z > 0).predict(column)
    np.testing.assert_array_equal(classes, z > 0)
    assert recorded == []


# -- scipy.optimize --------------------------------------------------------------------------------------------------


def rosenbrock(p):
    return np.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1.0 - p[:-1]) ** 2)


@pytest.fixture
def optimize():
    return pytest.importorskip("scipy.optimize", reason="SciPy is not installed")


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg", "CG"])
def test_minimize(optimize, method):
    more = {"hessp": lambda p, v: af.hvp(rosenbrock, p, v)} if method in ("Newton-CG", "trust-ncg") else {}
    seen = []

    def gradient(p):
        g = af.grad(rosenbrock)(p)
        seen.append(type(g))
        return g

    found = optimize.minimize(rosenbrock, [-1.2, 1.0, 0.5], jac=gradient, method=method, **more)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    assert set(seen) == {np.ndarray}
    assert type(found.x) is np.ndarray


def test_value_and_gradient_at_once_least_squares_and_roots(optimize):
    found = optimize.minimize(af.value_and_grad(rosenbrock), [-1.2, 1.0], jac=True)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    t = np.linspace(0.0, 1.0, 9)

    def residual(p):
        return p[0] * np.exp(-p[1] * t) - 2.0 * np.exp(-1.5 * t)

    found = optimize.least_squares(residual, [1.0, 1.0], jac=af.jacobian(residual))
    np.testing.assert_allclose(found.x, [2.0, 1.5], rtol=1e-7)

    def system(p):
        return np.stack([p[0] + 2.0 * p[1] - 3.0, p[0] ** 2 + p[1] ** 2 - 2.0])

    found = optimize.root(system, [2.0, 0.5], jac=af.jacobian(system))
    np.testing.assert_allclose(system(found.x), 0.0, atol=1e-9)


def test_optimisation_from_a_node_records_nothing(optimize, x, recorded):
    """SciPy iterates in its own arrays: a history of the starting point alone would be worse than none."""
    integrate = pytest.importorskip("scipy.integrate")
    target = np.arange(4.0)
    for found in (
        optimize.least_squares(lambda p: p - target, x).x, optimize.root(lambda p: p - target, x).x,
        optimize.minimize(lambda p: np.sum((p - target) ** 2), x, method="BFGS").x,
    ):  # fmt: skip
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, target, atol=1e-5)
    with pytest.raises(NoRuleError, match=r"use af.integrate.solve_ivp"):  # nor here: SciPy iterates in its own arrays
        integrate.solve_ivp(lambda t, y: -y, (0, 1), x)
    assert recorded == []


def test_scipy_functions_written_with_numpy_are_differentiated(x):
    integrate = pytest.importorskip("scipy.integrate", reason="SciPy is not installed")
    integrate.trapezoid(x, dx=2.0).backward()
    np.testing.assert_array_equal(x.grad, [1.0, 2.0, 2.0, 1.0])


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"b": np.ones(4)}, {"return_sign": True}], ids=str)
def test_logsumexp_is_refused(x, options):
    """It copies halfway. Half a gradient would be wrong, so there is an error."""
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    with pytest.raises(NoRuleError, match=r"scipy.special.logsumexp of a node .* use af.special.logsumexp"):
        special.logsumexp(x, **options)
    numbers = special.logsumexp(af.Constant(x.value), **options)
    np.testing.assert_array_equal(numbers, special.logsumexp(x.value, **options))
    with af.no_grad():
        assert special.logsumexp(np.exp(x)) == special.logsumexp(np.exp(x.value))


# -- NumPy's own tools, files, copies, other arrays ------------------------------------------------------------------


def test_numpy_testing(x, z, recorded):
    np.testing.assert_allclose(z, np.sin(x.value) * x.value)
    np.testing.assert_array_equal(x, x.value)
    np.testing.assert_array_almost_equal(z, z.value)
    np.testing.assert_array_less(x, x.value + 1)
    assert recorded == []
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(z, x)


def test_save_and_load(tmp_path, x, z, recorded):
    np.save(tmp_path / "z.npy", z)
    np.savez(tmp_path / "both.npz", x=x, z=z)
    np.savez_compressed(tmp_path / "small.npz", z)
    np.savetxt(tmp_path / "z.txt", z)
    assert recorded == []
    for back in (np.load(tmp_path / "z.npy"), np.load(tmp_path / "both.npz")["z"], np.loadtxt(tmp_path / "z.txt")):
        assert type(back) is np.ndarray
        np.testing.assert_array_equal(back, z.value)
    z.value.tofile(tmp_path / "z.bin")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "z.bin"), z.value)


# -- masked arrays, and what NumPy makes of nodes in C ---------------------------------------------------------------


def test_masked_arrays_hold_numbers(z, recorded):
    mask = [False, True, False, False]
    ours, theirs = np.ma.array(z, mask=mask), np.ma.array(z.value, mask=mask)
    for f in (
        np.ma.sum, np.ma.mean, np.ma.std, np.ma.median, np.ma.max, np.ma.sqrt, np.ma.count, np.ma.compressed,
        np.ma.sort, lambda m: m + 1, lambda m: np.exp(m), lambda m: m.filled(0.0),
        lambda m: np.ma.concatenate([m, m]), lambda m: m[1:] * 2,
        lambda m: m.tolist(), str,
    ):  # fmt: skip
        np.testing.assert_array_equal(f(ours), f(theirs))
        assert not getattr(f(ours), "requires_grad", False)
    assert recorded == []
    with pytest.raises(InPlaceError, match=r"numpy\.ma\.core writes into log_0\. Give it plain numbers: x\.value"):
        np.ma.log(z)


@pytest.mark.filterwarnings("error::FutureWarning")
def test_nobody_asks_whether_a_broadcast_array_may_be_written_into(x):
    """NumPy warns who asks one of ``np.broadcast_arrays``."""
    b, many = (np.broadcast_arrays(1.0, np.ones(n))[0] for n in (4, 5000))
    ours = (
        lambda x: np.sum(x * b), lambda x: np.sum(np.broadcast_arrays(x, np.ones((2, 4)))[0] * b),
        lambda x: np.sum(x) * np.sum(np.broadcast_arrays(x[0], many)[0]),
    )  # fmt: skip
    for f in ours:
        for one in (af.grad(f), af.compile(f), af.vmap(f, loop="allow"), af.compile(af.grad(f))):
            one(np.ones((2, 4)) if isinstance(one, type(af.vmap(f))) else np.ones(4))
    af.checkpoint(lambda v: v * b)(x).sum().backward()


def test_views_of_another_class_hold_numbers(x, z):
    for kind in (np.ma.MaskedArray, np.matrix, np.recarray):
        for node in (x, z, z[1:]):
            view = node.view(kind)
            assert type(view) is kind
            assert np.shares_memory(view, node)
            assert not isinstance(view.base, af.Node)
            np.testing.assert_array_equal(np.asarray(view).ravel(), node.value)
    assert type(z.view(np.ma.MaskedArray).data) is np.ndarray


def test_a_write_through_a_masked_array_is_refused(x):
    a = np.tanh(x)
    m, before = np.ma.array(a), a.value.copy()
    for recording in (contextlib.nullcontext(), af.no_grad()):
        with recording, pytest.raises(LostGradientError):
            m[0] = 5.0
        with recording, pytest.raises(LostGradientError):
            m *= 2.0
    np.testing.assert_array_equal(a.value, before)


def orphan(a):
    """A copy that NumPy makes in C: of the node's class, but nobody told the node."""
    return np.array(a, subok=True)


def test_orphans_can_be_read(x, z):
    for node in (x, z, af.Constant(x.value), z[1:]):
        alone = orphan(node)
        assert "without a history" in repr(alone)
        assert "View" not in repr(alone)
        assert str(alone) == f"{alone}" == str(node.value)
        assert (alone.shape, alone.dtype, len(alone)) == (node.shape, node.dtype, len(node))
        assert alone.tolist() == node.tolist()
        assert (alone == node.value).all()
        assert np.isfinite(alone).all()
        assert not alone.requires_grad
        assert alone.grad_fn is alone.opmethod is alone.grad is None
        assert (alone.operands, alone.noperands, alone.number) == ((), 0, -1)
        assert alone.name.endswith("_?")
        for same in (np.asarray(alone), alone.value, alone.detach(), af.Constant(alone), af.Variable(alone),
                     copy.copy(alone), pickle.loads(pickle.dumps(alone))):  # fmt: skip
            np.testing.assert_array_equal(same, node.value)
        with af.no_grad():
            np.testing.assert_array_equal(alone * 2, node.value * 2)


USES = {
    "+": lambda a: a + 1, "np.sin": np.sin, "np.sum": np.sum, "sum": lambda a: a.sum(), "getitem": lambda a: a[0],
    "iter": lambda a: [*a], "T": lambda a: a.T, "copy": lambda a: a.copy(), "+=": lambda a: a.__iadd__(1.0),
    "setitem": lambda a: a.__setitem__(0, 1.0), "assign": lambda a: af.Variable.assign(a, a.value),
    "backward": lambda a: a.backward(), "concatenate": lambda a: np.concatenate([a, a]),
    "where": lambda a: np.where(True, a, 0), "astype": lambda a: a.astype(np.float32),
}  # fmt: skip


def test_a_product_that_numpy_computes_unasked_is_an_orphan(x):
    """``plain.dot(node)`` asks nobody. (For two vectors it gives a number, which tells us nothing.)"""
    for node in (x, np.sin(x)):
        with pytest.raises(LostGradientError, match=r"made this (Variable|Operation) of shape \(2,\) from a node"):
            np.ones((2, 4)).dot(node) + 1.0
    np.testing.assert_array_equal(np.ones((2, 4)).dot(af.Constant(x.value)) + 1.0, np.ones((2, 4)).dot(x.value) + 1.0)
    with af.no_grad():
        np.testing.assert_array_equal(np.ones((2, 4)).dot(x) + 1.0, np.ones((2, 4)).dot(x.value) + 1.0)


@pytest.mark.parametrize("name", USES)
def test_orphans_cannot_be_computed_with(x, z, name):
    for node in (x, z, z[1:]):
        with pytest.raises(LostGradientError):
            USES[name](orphan(node))
        with pytest.raises(LostGradientError):
            USES[name](np.lib.stride_tricks.as_strided(node, (2,), (8,), subok=True))


# -- other arrays ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_torch(x, z):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for node in (x, z):
        tensor = torch.from_numpy(node.value.copy())
        assert not tensor.requires_grad
        np.testing.assert_array_equal(tensor.numpy(), node.value)
        np.testing.assert_array_equal(torch.tensor(np.asarray(node)).numpy(), node.value)
    assert torch.from_numpy(x).sum().item() == x.value.sum()


def test_numba(x):
    numba = pytest.importorskip("numba", reason="numba is not installed")

    @numba.njit
    def total(a):
        s = 0.0
        for v in a:
            s += v
        return s

    assert total(np.asarray(x)) == x.value.sum()


@pytest.mark.parametrize("kind", ["csr_array", "dia_array", "lil_array", "coo_matrix"])
def test_sparse_matrices_take_numbers_where_nothing_is_recorded(kind):
    sparse = pytest.importorskip("scipy.sparse")
    matrix, x = getattr(sparse, kind)(np.diag([1.0, 2.0])), af.Variable([3.0, 4.0])
    with af.no_grad():
        assert (matrix @ x).tolist() == [3.0, 8.0]
    assert (matrix @ x.detach()).tolist() == [3.0, 8.0]
    with pytest.raises(af.errors.NoRuleError, match=r"matrix.toarray\(\), or x.value"):
        matrix @ x
