"""Other libraries take nodes as the arrays that they are; nothing breaks, and nothing is recorded that survives.

What a library sees of a node is its numbers. So: the answer equals that for the plain array, and afterwards the
node's gradient is what it would have been.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest

import autoflow as af


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


def test_plot(axes, x, z):
    (line,) = axes.plot(x, z)
    np.testing.assert_array_equal(line.get_ydata(), z.value)
    axes.errorbar(x, z, yerr=x)
    axes.axhline(z.max())
    axes.figure.canvas.draw()


@pytest.mark.xfail(reason="np.ma asks for x.view(np.ma.MaskedArray), which is refused")
def test_scatter(axes, x, z):
    dots = axes.scatter(x, z, c=z, s=x)
    np.testing.assert_array_equal(np.asarray(dots.get_offsets()), np.column_stack([x.value, z.value]))


@pytest.mark.xfail(reason="np.histogram subtracts node edges with dtype=")
def test_hist(axes, z):
    counts, _, _ = axes.hist(z, bins=3)
    np.testing.assert_array_equal(counts, np.histogram(z.value, bins=3)[0])


@pytest.mark.xfail(reason="arrays that NumPy made of a node in C are not readable yet")
def test_imshow(axes, z):
    image = axes.imshow(z.reshape(2, 2))
    np.testing.assert_array_equal(np.asarray(image.get_array()), z.value.reshape(2, 2))
    axes.figure.canvas.draw()


def test_bar(axes, x, z):
    bars = axes.bar(x, z)
    assert [bar.get_height() for bar in bars] == z.value.tolist()
    axes.figure.canvas.draw()


# -- pandas and scikit-learn -----------------------------------------------------------------------------------------


def test_pandas(x, z):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
    series, frame = pd.Series(z), pd.DataFrame({"x": x, "z": z})
    np.testing.assert_array_equal(series.to_numpy(), z.value)
    np.testing.assert_array_equal(frame.to_numpy(), np.column_stack([x.value, z.value]))
    assert series.sum() == pd.Series(z.value).sum()
    assert str(frame)
    assert frame.describe().loc["max", "x"] == 4.0
    assert type(series.to_numpy()) is np.ndarray or not getattr(series.to_numpy(), "requires_grad", False)


def test_scikit_learn(x, z):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
        metrics = pytest.importorskip("sklearn.metrics")
        scaling = pytest.importorskip("sklearn.preprocessing")
    ours, theirs = (
        linear.LinearRegression().fit(x[:, None], z),
        linear.LinearRegression().fit(x.value[:, None], z.value),
    )
    np.testing.assert_array_equal(np.asarray(ours.coef_), theirs.coef_)
    prediction = ours.predict(x[:, None])
    np.testing.assert_array_equal(np.asarray(prediction), theirs.predict(x.value[:, None]))
    assert metrics.mean_squared_error(z, prediction) == pytest.approx(metrics.mean_squared_error(z.value, prediction))
    scaled = scaling.StandardScaler().fit_transform(x[:, None])
    np.testing.assert_allclose(np.asarray(scaled).mean(), 0, atol=1e-15)


# -- scipy.optimize --------------------------------------------------------------------------------------------------


def rosenbrock(p):
    return np.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1.0 - p[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg", "CG"])
def test_minimize(method):
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
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


def test_minimize_value_and_grad():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    found = optimize.minimize(af.value_and_grad(rosenbrock), [-1.2, 1.0], jac=True)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_minimize_from_a_node(x):
    """The starting point and the data may be nodes."""
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    found = optimize.minimize(lambda p: float(np.sum((p - x.value) ** 2)), x, method="BFGS")
    np.testing.assert_allclose(np.asarray(found.x), x.value, atol=1e-5)


def test_least_squares_and_root():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    t = np.linspace(0.0, 1.0, 9)
    data = 2.0 * np.exp(-1.5 * t)

    def residual(p):
        return p[0] * np.exp(-p[1] * t) - data

    found = optimize.least_squares(residual, [1.0, 1.0], jac=af.jacobian(residual))
    np.testing.assert_allclose(found.x, [2.0, 1.5], rtol=1e-7)

    def system(p):
        return np.stack([p[0] + 2.0 * p[1] - 3.0, p[0] ** 2 + p[1] ** 2 - 2.0])

    found = optimize.root(system, [2.0, 0.5], jac=af.jacobian(system))
    np.testing.assert_allclose(system(found.x), 0.0, atol=1e-9)


# -- NumPy's own tools, files, copies, other arrays ------------------------------------------------------------------


def test_numpy_testing(x, z):
    np.testing.assert_allclose(z, np.sin(x.value) * x.value)
    np.testing.assert_array_equal(x, x.value)
    np.testing.assert_array_almost_equal(z, z.value)
    np.testing.assert_array_less(x, x.value + 1)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(z, x)


def test_save_and_load(tmp_path, x, z):
    np.save(tmp_path / "z.npy", z)
    np.savez(tmp_path / "both.npz", x=x, z=z)
    np.savetxt(tmp_path / "z.txt", z)
    for back in (np.load(tmp_path / "z.npy"), np.load(tmp_path / "both.npz")["z"], np.loadtxt(tmp_path / "z.txt")):
        assert type(back) is np.ndarray
        np.testing.assert_array_equal(back, z.value)
    z.value.tofile(tmp_path / "z.bin")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "z.bin"), z.value)


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_copies(twin, x, z):
    v, c = twin(x), twin(z)
    assert (type(v), v.name) == (af.Variable, "x")
    assert v.requires_grad
    assert v is not x
    np.testing.assert_array_equal(v.value, x.value)
    np.testing.assert_array_equal(np.asarray(c), z.value)


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
