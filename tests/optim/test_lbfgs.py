"""L-BFGS: minima that are known, closures as PyTorch's users write them; what goes wrong changes nothing."""

import sys

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import AnomalyError, StaleValueError, StateError

pytest.importorskip("scipy.optimize")


def rosenbrock(w):
    return np.sum((1 - w[:-1]) ** 2 + 100 * (w[1:] - w[:-1] ** 2) ** 2)


def closure_of(f, optimiser, *variables):
    def closure():
        optimiser.zero_grad()
        loss = f(*variables)
        loss.backward()
        return loss

    return closure


def test_steps_go_on_to_the_minimum():
    w = af.Variable(np.full(4, -1.0))
    lbfgs = optim.LBFGS([w], tolerance_change=1e-15)
    losses = [lbfgs.step(closure_of(rosenbrock, lbfgs, w)) for _ in range(8)]
    assert losses[0] == rosenbrock(np.full(4, -1.0))
    assert losses == sorted(losses, reverse=True)
    np.testing.assert_allclose(w.value, np.ones(4), atol=1e-5)
    assert lbfgs.steps == [8]
    assert w.grad is None
    assert repr(lbfgs) == "LBFGS(1 parameters, max_iter=20)"


def test_gradients_are_cleared_before_each_call_of_a_closure_and_no_grad_is_undone():
    w, v = af.Variable([-1.0, 2.0, 0.5]), af.Variable([-1.0, 2.0, 0.5])
    lbfgs, other = optim.LBFGS([w]), optim.LBFGS([v])

    def closure():
        loss = rosenbrock(w)
        loss.backward()
        return loss

    with af.no_grad():
        lbfgs.step(closure)
    other.step(closure_of(rosenbrock, other, v))
    np.testing.assert_array_equal(w.value, v.value)


def test_several_parameters_of_any_shape_and_one_that_is_frozen():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    w, b, frozen = af.Variable(np.zeros(3)), af.Variable(0.0), af.Variable(2.0, requires_grad=False)
    lbfgs = optim.LBFGS([w, frozen, b], max_iter=200, tolerance_change=1e-16, tolerance_grad=1e-7)
    lbfgs.step(closure_of(lambda w, b: np.sum((x @ w + b * frozen - y) ** 2), lbfgs, w, b))
    right = np.linalg.lstsq(np.column_stack([x, 2 * np.ones(30)]), y)[0]
    np.testing.assert_allclose([*w.value, b.value], right, atol=1e-6)
    assert frozen.value == 2.0
    assert lbfgs.steps == [1, 0, 1]
    assert 3 < lbfgs.evaluations < 40
    assert "CONVERGENCE" in lbfgs.message


def test_a_network_in_single_precision():
    r = np.random.default_rng(1)
    x = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    model = nn.Sequential(nn.Linear(2, 8, rng=r, dtype=np.float32), nn.tanh, nn.Linear(8, 2, rng=r, dtype=np.float32))
    lbfgs = optim.LBFGS(model, max_iter=50)
    for _ in range(2):
        lbfgs.step(closure_of(lambda: nn.cross_entropy(model(x), np.array([0, 1, 1, 0])), lbfgs))
    assert {p.dtype for p in model.parameters()} == {np.dtype(np.float32)}
    assert np.argmax(model(x).value, axis=1).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(("settings", "most"), [
    ({"max_iter": 1}, 3), ({"max_iter": 100, "max_eval": 4}, 7), ({"tolerance_grad": 1e9}, 1),
])  # fmt: skip
def test_settings_are_scipys(settings, most):
    """Which looks after each iteration."""
    w = af.Variable(np.full(4, -1.0))
    lbfgs = optim.LBFGS([w], **settings)
    lbfgs.step(closure_of(rosenbrock, lbfgs, w))
    assert lbfgs.evaluations <= most
    assert optim.LBFGS([w], max_iter=20).max_eval == 26  # as in PyTorch


@pytest.mark.parametrize("bad", ["nan", "exception", "later"])
def test_what_goes_wrong_changes_nothing(bad):
    w, calls = af.Variable(np.full(4, -1.0)), []
    lbfgs = optim.LBFGS([w])

    def closure():
        calls.append(1)
        loss = rosenbrock(w)
        if bad == "nan" or (bad == "later" and len(calls) == 4):
            loss = loss * np.nan
        if bad == "exception" and len(calls) == 4:
            raise KeyboardInterrupt
        loss.backward()
        return loss

    with pytest.raises(KeyboardInterrupt if bad == "exception" else AnomalyError):
        lbfgs.step(closure)
    assert np.array_equal(w.value, np.full(4, -1.0))
    assert lbfgs.steps == [0]


def test_bad_input(monkeypatch):
    w = af.Variable(1.0)
    with pytest.raises(TypeError, match="takes a function that computes the loss"):
        optim.LBFGS([w]).step()
    with pytest.raises(StateError, match=r"left no gradient of any parameter: call loss\.backward"):
        optim.LBFGS([w]).step(lambda: w * w)
    with pytest.raises(StateError, match="all parameters are frozen"):
        optim.LBFGS([af.Variable(1.0, requires_grad=False)]).step(lambda: w * w)
    for setting in ({"max_iter": 0}, {"history_size": 1.5}, {"max_eval": -1}):
        with pytest.raises(ValueError, match=f"LBFGS: {next(iter(setting))} must be a whole number"):
            optim.LBFGS([w], **setting)
    w = af.Variable(np.ones(3))
    old = np.sum(w * w)
    lbfgs = optim.LBFGS([w])
    lbfgs.step(closure_of(lambda w: np.sum((w - 3) ** 2), lbfgs, w))
    with pytest.raises(StaleValueError):
        old.backward()
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"optim\.LBFGS computes with SciPy.*pip install scipy"):
        lbfgs.step(closure_of(np.sum, lbfgs, w))
