"""The programs of examples/ports/: each number is found in another way; and by the library that they were written for.

In a port, ``code  # was: other code`` says what its author would have written there.
"""

import ast
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import autoflow as af

FOLDER = Path(__file__).parent.parent / "examples" / "ports"
WAS = re.compile(r"^( *)(?:\S.*  )?# was: (.*)$", re.MULTILINE)
PRINTED = re.compile(r"(\S+): (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)")
# Whose users write them so, and how far its numbers may be away: JAX computes in single precision.
PORTS = {
    "censored_lifetimes": ("scipy", 1e-3), "spline_fit": ("scipy", 1e-2),
    "gaussian_process": ("autograd", 1e-3), "heated_rod": ("scipy", 1e-3), "image_registration": ("scipy", 1e-3),
    "kalman_filter": ("scipy", 1e-3), "logistic_regression": ("autograd", 1e-5),
    "lstm_characters": ("autograd", 1e-3), "matrix_factorisation": ("mygrad", 1e-5),
    "micrograd_moons": ("micrograd", 1e-5), "moons_network": ("jax", 5e-2), "newton_rosenbrock": ("jax", 1e-1),
    "ode_fit": ("autograd", 1e-3), "variational_regression": ("autograd", 1e-4), "wave_control": ("autograd", 1e-3),
}  # fmt: skip


@pytest.fixture
def run(capsys):
    """Run a port: its variables, and the numbers that it printed, by the word before them."""

    def run(path):
        if needs_scipy(path):
            pytest.importorskip("scipy")
        af.reset()
        names = runpy.run_path(str(path), run_name="__main__")
        return names, {word: float(number) for word, number in PRINTED.findall(capsys.readouterr().out)}

    return run


def ran(run, name):
    return run(FOLDER / f"{name}.py")


def needs_scipy(path):
    return "from scipy" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PORTS)
def test_a_port_is_short_and_says_what_it_is_what_changed_and_what_it_needs(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    doc = ast.get_docstring(ast.parse(text))
    assert {"autograd": "HIPS autograd's users", "mygrad": "MyGrad's users", "micrograd": "micrograd's users",
            "jax": "JAX's users", "scipy": "SciPy's users"}[PORTS[name][0]] in doc  # fmt: skip
    assert " change: " in doc
    assert ("Needs SciPy." in doc) == needs_scipy(FOLDER / f"{name}.py")
    assert 1 <= len(WAS.findall(text)) <= 8


def test_each_port_has_a_test():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(PORTS)
    assert {f"test_{name}" for name in PORTS} <= set(globals())
    assert len(PORTS) == 15


@pytest.mark.peers
@pytest.mark.parametrize("name", PORTS)
@pytest.mark.filterwarnings("ignore")  # theirs
def test_the_numbers_are_those_of_the_library_that_it_was_written_for(name, run, tmp_path):
    library, rtol = PORTS[name]
    pytest.importorskip(library)
    path = FOLDER / f"{name}.py"
    _, ours = run(path)
    original = WAS.sub(r"\1\2", path.read_text(encoding="utf-8"))
    assert "autoflow" not in original.partition('"""\n\n')[2]
    other = tmp_path / path.name
    other.write_text(original, encoding="utf-8")
    _, theirs = run(other)
    assert set(ours) == set(theirs)
    for word, number in ours.items():
        assert number == pytest.approx(theirs[word], rel=rtol, abs=1e-4), word


# -- each number in another way --------------------------------------------------------------------------------------


def test_logistic_regression(run):
    """At the minimum Xᵀ (p − answers) = 0."""
    names, printed = ran(run, "logistic_regression")
    x, y, w = names["inputs"], names["targets"], np.array([printed[word] for word in ("bias", "first", "second")])
    p = 1 / (1 + np.exp(-x @ w))
    np.testing.assert_allclose(x.T @ (p - y) / len(y), 0, atol=1e-5)
    assert printed["loss"] == pytest.approx(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)), abs=2e-6)


def test_moons_network(run):
    names, printed = ran(run, "moons_network")
    z = names["points"]
    for layer in names["params"][:-1]:
        z = np.tanh(z @ layer["w"] + layer["b"])
    z = (z @ names["params"][-1]["w"] + names["params"][-1]["b"])[:, 0]
    signs = np.where(names["labels"] == 1, 1, -1)
    assert printed["loss"] == pytest.approx(np.mean(np.log1p(np.exp(-signs * z))), rel=5e-3)  # one step later
    assert printed["right"] == 100 * np.mean(signs * z > 0) == 100


def test_variational_regression(run):
    """The posterior is normal: its mean is found exactly, and without correlations its deviations are 1/√Λᵢᵢ."""
    names, printed = ran(run, "variational_regression")
    x, y = names["x"], names["y"]
    precision = np.eye(3) + x.T @ x / 0.5**2
    mean = np.linalg.solve(precision, x.T @ y / 0.5**2)
    np.testing.assert_allclose([printed[f"mean{k}"] for k in range(3)], mean, atol=0.01)
    np.testing.assert_allclose(
        [printed[f"deviation{k}"] for k in range(3)], 1 / np.sqrt(np.diagonal(precision)), rtol=0.05
    )


def test_gaussian_process(run):
    """The density with the inverse written out; other parameters nearby have a smaller one."""
    names, printed = ran(run, "gaussian_process")
    x, y = names["x"], names["y"]

    def likelihood(scale, length, noise):
        k = scale * np.exp(-((x[:, None] - x) ** 2) / (2 * length**2)) + noise * np.eye(25)
        return -0.5 * (y @ np.linalg.inv(k) @ y + np.linalg.slogdet(2 * np.pi * k)[1])

    found = np.array([printed[word] for word in ("scale", "length", "noise")])
    assert printed["likelihood"] == pytest.approx(likelihood(*found), abs=1e-5)
    for k in range(3):
        for factor in (0.98, 1.02):
            assert likelihood(*np.where(np.arange(3) == k, factor * found, found)) < printed["likelihood"]


def test_image_registration(run):
    """The second picture was made with these."""
    _, printed = ran(run, "image_registration")
    assert [printed[word] for word in ("angle", "down", "right")] == pytest.approx([0.15, 1.2, -0.7], abs=1e-3)


def slope_by_differences(f, p):
    return np.array([(f(p + h) - f(p - h)) / 2e-6 for h in 1e-6 * np.eye(len(p))])


def test_censored_lifetimes(run):
    """The likelihood by the formula of Weibull's survival function, exp(−(t/scale)^shape), and its slope there: 0."""
    names, printed = ran(run, "censored_lifetimes")

    def minus_likelihood(p):
        shape, scale = np.exp(p[2]), np.exp(p[0] + p[1] * names["load"])

        def still(t, k):
            return np.exp(-((t / scale[k]) ** shape))

        def density(t, k):
            return shape / scale[k] * (t / scale[k]) ** (shape - 1) * still(t, k)

        a, b, c, d = [slice(*ends) for ends in ((0, 25), (25, 40), (40, 50), (50, 60))]
        parts = [
            density(names["failed"], a), np.where(names["running"], still(2.0, b), density(names["runs"], b)),
            np.where(names["early"], 1 - still(3.0, c), still(3.0, c)),
            still(names["after"], d) - still(names["until"], d),
        ]  # fmt: skip
        return -np.sum(np.log(np.concatenate(parts)))

    p = names["result"].x
    assert -minus_likelihood(p) == pytest.approx(printed["likelihood"], abs=1e-4)
    np.testing.assert_allclose(slope_by_differences(minus_likelihood, p), 0, atol=1e-3)
    q = p + 0.1
    np.testing.assert_allclose(af.grad(names["objective"])(q), slope_by_differences(minus_likelihood, q), rtol=1e-5)


def test_spline_fit(run):
    """SciPy's curve through these values has these squares, and no other near it has fewer."""
    interpolate = pytest.importorskip("scipy.interpolate")
    names, printed = ran(run, "spline_fit")

    def squares(p):
        steps = np.exp(p[:5]) / np.sum(np.exp(p[:5]))
        spline = interpolate.CubicSpline(np.concatenate([[0.0], np.cumsum(steps)[:-1], [1.0]]), p[5:])
        bends = spline(np.linspace(0.0, 1.0, 50), 2)
        return np.sum((spline(names["x"]) - names["y"]) ** 2) + 1e-6 * np.sum(bends**2)

    p = names["result"].x
    assert squares(p) == pytest.approx(printed["squares"], abs=1e-4)
    np.testing.assert_allclose(slope_by_differences(squares, p), 0, atol=1e-3)
    q = p + 0.1 * np.arange(11)
    np.testing.assert_allclose(af.grad(names["objective"])(q), slope_by_differences(squares, q), rtol=1e-4, atol=1e-4)


def test_kalman_filter(run):
    """The density of all measurements together, whose covariance is written out; others nearby are smaller."""
    names, printed = ran(run, "kalman_filter")
    y, powers = np.ravel(names["measured"]), [np.linalg.matrix_power(names["move"], k) for k in range(40)]
    steps = np.block([[powers[i - j] if i >= j else np.zeros((2, 2)) for j in range(40)] for i in range(40)])

    def likelihood(process, noise):
        c = process * steps @ steps.T + noise * np.eye(80)
        return -0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(c)[1])

    found = np.array([printed["process"], printed["noise"]])
    assert printed["likelihood"] == pytest.approx(likelihood(*found), abs=1e-5)
    for factors in ((0.95, 1.0), (1.05, 1.0), (1.0, 0.95), (1.0, 1.05)):
        assert likelihood(*found * factors) < printed["likelihood"]


def test_heated_rod(run):
    """The same temperatures by a dense matrix; the parts are found that they were made with."""
    names, printed = ran(run, "heated_rod")
    found = np.array([printed[word] for word in ("left", "middle", "right")])
    np.testing.assert_allclose(found, [1.0, 0.4, 2.0], rtol=0.02)
    k = 30**2 * np.repeat(found, [10, 11, 10])
    dense = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    np.testing.assert_allclose(np.linalg.solve(dense, np.ones(30)), names["seen"], atol=4e-4)


@pytest.mark.nightly
def test_ode_fit(run):
    """The same fit by differences, of a solution by another method."""
    names, printed = ran(run, "ode_fit")
    from scipy.integrate import solve_ivp
    from scipy.optimize import least_squares

    def residuals(p):
        path = solve_ivp(lambda t, y: names["slope"](y, t, *p), (0, 2), names["start"], t_eval=names["times"],
                         rtol=1e-9, atol=1e-9)  # fmt: skip
        return path.y[0] - names["observed"]

    found = least_squares(residuals, [3.0, 0.1], xtol=1e-10)
    np.testing.assert_allclose([printed["stiffness"], printed["friction"]], found.x, atol=2e-3)
    assert printed["error"] == pytest.approx(np.mean(found.fun**2), rel=1e-3)
    np.testing.assert_allclose(found.x, [4.0, 0.3], atol=0.2)


@pytest.mark.nightly
def test_lstm_characters(run):
    """The surprise by nn.LSTM with these weights; and it says the sentence by heart."""
    names, printed = ran(run, "lstm_characters")
    from autoflow import nn

    p, n, letters = names["params"], names["hidden"], len(names["letters"])
    layer = nn.LSTM(letters, n, rng=np.random.default_rng(0))
    gates = [p[name].T for name in ("add", "forget", "change", "show")]
    layer.weight_ih.assign(np.concatenate([w[:, :letters] for w in gates]))
    layer.weight_hh.assign(np.concatenate([w[:, letters:-1] for w in gates]))
    layer.bias.assign(np.concatenate([w[:, -1] for w in gates]))
    scores = layer(names["hot"][None, :-1])[0].value[0] @ p["predict"][:-1] + p["predict"][-1]
    assert printed["surprise"] == pytest.approx(nn.cross_entropy(scores, names["numbers"][1:]), abs=1e-5)
    assert printed["surprise"] < 0.05 < 1.5 < printed["first"]
    said = "".join(names["letters"][k] for k in np.argmax(scores, axis=1))
    assert said == names["text"][1:]


def test_matrix_factorisation(run):
    """The best error is the sum of squares of the singular values that are left out."""
    names, printed = ran(run, "matrix_factorisation")
    values = np.linalg.svd(names["data"], compute_uv=False)
    assert printed["error"] == pytest.approx(np.sum(values[3:] ** 2), rel=1e-5)
    assert printed["of"] == pytest.approx(np.sum(values**2), abs=1e-4)


def test_wave_control(run):
    """The simulation is linear, so the best start is a least-squares problem with its matrix."""
    names, printed = ran(run, "wave_control")
    matrix = np.stack([names["simulate"](unit) for unit in np.eye(40)], axis=1)
    whole = np.concatenate([matrix, 0.1 * np.eye(40)])
    right = np.concatenate([names["target"], np.zeros(40)])
    best = np.linalg.lstsq(whole, right)[0]
    np.testing.assert_allclose(names["result"].x, best, atol=1e-4)
    assert printed["mismatch"] == pytest.approx(np.sum((whole @ best - right) ** 2), abs=1e-6)
    assert printed["highest"] == pytest.approx(best.max(), abs=1e-4)


def test_micrograd_moons(run):
    """The loss by arrays, before the last step; nearly all points are on their side."""
    names, printed = ran(run, "micrograd_moons")
    first, (last,) = names["layers"]
    w1 = np.array([[w.value for w in neuron.w] for neuron in first])
    b1, w2 = np.array([neuron.b.value for neuron in first]), np.array([w.value for w in last.w])
    scores = np.maximum(np.array(names["points"]) @ w1.T + b1, 0) @ w2 + last.b.value
    margins = np.maximum(1 - np.array(names["labels"]) * scores, 0)
    loss = margins.mean() + 1e-4 * np.sum([p.value**2 for p in names["parameters"]])
    assert loss == pytest.approx(printed["loss"], abs=0.05)
    assert printed["right"] >= 18


def test_newton_rosenbrock(run):
    """The same steps with derivatives by hand."""
    _, printed = ran(run, "newton_rosenbrock")
    a, b = -1.2, 1.0
    for step in range(1, 7):
        slope = np.array([-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)])
        bend = np.array([[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200]])
        a, b = np.array([a, b]) - np.linalg.solve(bend, slope)
        assert printed[f"step{step}"] == pytest.approx(100 * (b - a * a) ** 2 + (1 - a) ** 2, rel=1e-4, abs=1e-15)
    assert (printed["x0"], printed["x1"]) == (1.0, 1.0)
