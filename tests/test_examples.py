"""The scripts of examples/: each is run, and what it prints is compared with the same result found in another way."""

import ast
import importlib.util
import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import autoflow as af

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
NEED_SCIPY = {"choose_regularisation", "fit_a_curve", "fit_an_ode"}
PRINTED = re.compile(r"(\S*[^\s:=]):?(?: =)? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a script in an empty folder: its variables, what it drew on stderr, and the numbers that it printed, by the
    word before them."""

    def run(name):
        if name in NEED_SCIPY:
            pytest.importorskip("scipy")
        monkeypatch.chdir(tmp_path)
        af.reset()
        names = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        text, names["bars"] = capsys.readouterr()
        return names, {word: float(number) for word, number in PRINTED.findall(text)}

    return run


def test_each_script_has_a_test():
    assert {f"test_{path.stem}" for path in SCRIPTS} <= set(globals())
    assert len(SCRIPTS) == 16


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_says_what_it_shows_and_what_it_needs(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    doc = ast.get_docstring(ast.parse(text))
    assert "\n\nShows " in doc
    by_us = "af.minimize" in text or "af.implicit.argmin" in text
    imported = "scipy" in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)
    assert ("Needs SciPy." in doc) == (imported or by_us)
    assert ("Needs SciPy." in doc) == (path.stem in NEED_SCIPY)


def test_live_network(run):
    names, printed = run("live_network")
    page = names["page"]
    assert page.reason is None
    assert printed["size"] == pytest.approx(len(page.to_html().encode()) / 1000, abs=0.05)
    assert printed["size"] < 400
    y = names["predict"](**names["params"], x=names["data"]["x"])
    assert printed["loss"] == pytest.approx(np.mean(np.log1p(np.exp(-names["data"]["t"] * y))), abs=1e-6)


def test_linear_regression(run):
    names, printed = run("linear_regression")
    expected = np.polyfit(names["x"], names["y"], 1)
    np.testing.assert_allclose([printed["slope"], printed["intercept"]], expected, atol=1e-6)


def test_logistic_regression(run):
    """At the maximum Xᵀ (chance − answers) = 0, and the information is Xᵀ diag(p (1 − p)) X."""
    names, printed = run("logistic_regression")
    x, weights = names["features"], np.array([printed["bias"], printed["first"], printed["second"]])
    chance = 1 / (1 + np.exp(-x @ weights))
    np.testing.assert_allclose(x.T @ (chance - names["answers"]), 0, atol=2e-4)  # six digits are printed
    information = (x.T * (chance * (1 - chance))) @ x
    np.testing.assert_allclose(names["errors"], np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-5)
    assert np.all(np.abs(weights - [-0.5, 2, -1]) < 3 * names["errors"])


def test_fit_a_curve(run):
    names, printed = run("fit_a_curve")
    from scipy.optimize import curve_fit

    def curve(t, a, b, c):
        return a * np.exp(-b * t) * np.cos(c * t)

    expected, _ = curve_fit(curve, names["time"], names["data"], p0=[1.0, 0.1, 1.3])  # by differences
    np.testing.assert_allclose([printed[word] for word in ("amplitude", "damping", "frequency")], expected, atol=2e-5)
    np.testing.assert_allclose(expected, names["truth"], atol=0.05)


@pytest.mark.nightly
def test_two_layer_network(run):
    _, printed = run("two_layer_network")
    for point in (-2.0, 0.0, 1.0):
        assert printed[f"network({point})"] == pytest.approx(np.sin(point), abs=0.02)
    assert printed["error"] < 1e-4


def test_train_with_adam(run):
    """The noise lets a perfect rule, which circle is nearer, make a few mistakes too."""
    names, printed = run("train_with_adam")
    x, y = names["new_points"].T
    upper = np.where(y > 0, np.abs(np.hypot(x, y) - 1), np.minimum(np.hypot(x - 1, y), np.hypot(x + 1, y)))
    down = np.where(
        y < 0.5, np.abs(np.hypot(x - 1, y - 0.5) - 1), np.minimum(np.hypot(x, y - 0.5), np.hypot(x - 2, y - 0.5))
    )
    perfect = 100 * np.mean((down < upper) == names["new_labels"])
    assert perfect > 98
    assert printed["points"] > perfect - 1


def test_draw_a_graph(run, tmp_path):
    _, printed = run("draw_a_graph")
    assert printed["z"] == pytest.approx(6 + np.sin(2), abs=1e-6)
    assert printed["dz/dx"] == pytest.approx(3 + np.cos(2), abs=1e-6)
    assert printed["dz/dy"] == 2.0
    picture = ET.parse(tmp_path / "graph.svg").getroot()
    assert picture.tag.endswith("svg")
    assert {"x", "y"} <= {text.strip() for text in picture.itertext()}


def test_compiled_step(run):
    """Ridge regression: (Xᵀ X / n + λ) w = Xᵀ y / n."""
    names, printed = run("compiled_step")
    x, y = names["inputs"], names["targets"]
    expected = np.linalg.solve(x.T @ x / 50 + 0.1 * np.eye(5), x.T @ y / 50)
    np.testing.assert_allclose(names["compiled"], expected, rtol=1e-9)
    assert printed["weights"] == pytest.approx(expected[0], abs=1e-6)
    assert printed["by"] < 1e-12


def test_own_rule(run):
    """Kepler's equation by fixed points, and its derivative by differences."""
    _, printed = run("own_rule")

    def kepler(e, m):
        x = m
        for _ in range(100):
            x = m + e * np.sin(x)
        return x

    assert printed["x"] == pytest.approx(kepler(0.3, 1.0), abs=1e-8)
    assert printed["dx/de"] == pytest.approx((kepler(0.3001, 1.0) - kepler(0.2999, 1.0)) / 2e-4, abs=1e-6)


def test_gaussian_process(run):
    """The density of a multivariate normal, without Cholesky; no scale and noise nearby has a larger one."""
    names, printed = run("gaussian_process")
    x, y = names["x"], names["y"]

    def covariance(scale, noise):
        return np.exp(-((x[:, None] - x) ** 2) / (2 * scale**2)) + noise**2 * np.eye(x.size)

    def likelihood(scale, noise):
        k = covariance(scale, noise)
        return -0.5 * (y @ np.linalg.inv(k) @ y + np.linalg.slogdet(2 * np.pi * k)[1])

    scale, noise = printed["scale"], printed["noise"]
    assert printed["likelihood"] == pytest.approx(likelihood(scale, noise), abs=1e-5)
    for factor in (0.99, 1.01):
        assert likelihood(scale * factor, noise) < printed["likelihood"]
        assert likelihood(scale, noise * factor) < printed["likelihood"]
    for point in (2.5, 5.0, 7.5):
        near = np.exp(-((point - x) ** 2) / (2 * scale**2))
        assert printed[f"f({point})"] == pytest.approx(near @ np.linalg.inv(covariance(scale, noise)) @ y, abs=1e-4)


@pytest.mark.nightly
def test_fit_an_ode(run):
    """The equation has a solution in closed form; least squares on that one finds the same parameters."""
    names, printed = run("fit_an_ode")
    from scipy.optimize import curve_fit

    def solution(t, rate, capacity, start):
        return capacity / (1 + (capacity / start - 1) * np.exp(-rate * t))

    expected, covariance = curve_fit(solution, names["time"], names["counts"], p0=[1.0, 4.0, 1.0])
    np.testing.assert_allclose([printed["rate"], printed["capacity"], printed["start"]], expected, atol=2e-4)
    assert np.all(np.abs(expected - [0.8, 5.0, 0.5]) < 3 * np.sqrt(np.diag(covariance)))


def test_independent_gradients(run):
    """The rows are the information Xᵀ diag(p (1 − p)) X + 2 · 0.5; every chain is drawn from the same posterior."""
    names, printed = run("independent_gradients")
    x, best = names["x"], names["best"]
    chance = 1 / (1 + np.exp(-x @ best))
    information = x.T @ (x * (chance * (1 - chance))[:, None]) + np.eye(3)
    np.testing.assert_allclose(names["rows"], information, rtol=1e-10)
    assert printed["information"] == pytest.approx(np.trace(information), abs=1e-4)
    np.testing.assert_allclose(x.T @ (chance - names["y"]) + best, 0, atol=1e-10)  # the minimum
    assert printed["validation"] == pytest.approx(np.mean(names["losses"]), abs=1e-4)
    assert 0.2 < printed["validation"] < np.log(2)
    spread = np.sqrt(np.diag(np.linalg.inv(information)))
    assert np.all(np.abs(np.mean(names["means"], axis=0) - best) < 2 * spread)
    if importlib.util.find_spec("tqdm"):
        assert [done in names["bars"] for done in ("3/3 [", "5/5 [", "4/4 [")] == [True] * 3


def test_more_data_than_memory(run):
    names, printed = run("more_data_than_memory")
    expected, (squares,), *_ = np.linalg.lstsq(names["x"], names["y"], rcond=None)
    np.testing.assert_allclose([printed[f"w{k}"] for k in range(3)], expected, atol=2e-6)
    assert printed["loss"] == pytest.approx(squares / 20_000, abs=1e-6)


@pytest.mark.nightly
def test_choose_regularisation(run):
    """With the weights in closed form: the error is what is printed, and least there; what means nothing is gone."""
    names, printed = run("choose_regularisation")
    x, y, held, held_y = (names[name] for name in ("features", "targets", "held", "held_targets"))

    def error(strengths):
        weights = np.linalg.solve(x.T @ x / 40 + np.diag(np.exp(strengths)), x.T @ y / 40)
        return np.mean((held @ weights - held_y) ** 2) + 1e-3 * np.sum(strengths**2)

    best = names["found"].x
    assert printed["before"] == pytest.approx(error(np.full(8, -3.0)), abs=1e-6)
    assert printed["after"] == pytest.approx(error(best), abs=1e-6)
    for step in 0.01 * np.vstack([np.eye(8), -np.eye(8)]):
        assert error(best + step) > error(best)
    assert printed["meaningful"] > 3 * printed["meaningless"]


@pytest.mark.nightly
def test_deep_equilibrium(run):
    """The fixed point by 500 steps with the trained weights; and it has learned most of the function."""
    names, printed = run("deep_equilibrium")
    p = {name: v.value for name, v in names["p"].items()}
    shift = names["x"] @ p["from_input"] + p["bias"]
    z = np.zeros_like(shift)
    for _ in range(500):
        z = names["layer"](z, (p["inside"], shift))
    assert np.mean((z @ p["to_output"] - names["y"]) ** 2) <= printed["loss"] + 1e-3  # one step of Adam later
    assert printed["variance"] == pytest.approx(np.var(names["y"]), abs=1e-6)
    assert printed["loss"] < 0.2 * printed["variance"]


def test_fit_sensitivity(run):
    """By the matrices of the textbook: dp = H⁻¹ Jᵀ d(data) with H = JᵀJ + Σ rᵢ ∂²rᵢ; the bias by differences."""
    names, printed = run("fit_sensitivity")
    time, data = names["time"], names["data"]

    def fit(data):
        a, r = 2.0, 0.7
        for _ in range(20):
            e = np.exp(-r * time)
            j = np.stack([e, -a * time * e], 1)
            off = a * e - data
            h = j.T @ j + np.array([[0, -off @ (time * e)], [-off @ (time * e), off @ (a * time**2 * e)]])
            a, r = np.array([a, r]) - np.linalg.solve(h, j.T @ off)
        return np.array([a, r]), np.linalg.solve(h, j.T)

    best, slopes = fit(data)
    np.testing.assert_allclose([printed["amplitude"], printed["rate"]], best, atol=1e-6)
    errors = names["noise"] * np.sqrt(np.sum(slopes**2, axis=1))
    np.testing.assert_allclose([printed["amplitude_error"], printed["rate_error"]], errors, atol=1e-6)
    h = 1e-4
    bends = [(fit(data + h * e)[1][1] - fit(data - h * e)[1][1]) @ e / (2 * h) for e in np.eye(40)]
    assert printed["bias"] == pytest.approx(0.5 * names["noise"] ** 2 * sum(bends), rel=1e-5)
    assert printed["rate_slope"] == pytest.approx(slopes[1, int(printed["moved"])], abs=1e-6)
