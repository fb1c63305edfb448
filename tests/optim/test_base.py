"""What all optimisers share: settings, states, and whose parameters change."""

import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.base.saving import StateError
from autoflow.errors import AnomalyError, DataError, StaleValueError


def test_a_state_that_does_not_fit_changes_nothing():
    adam = optim.Adam([af.Variable([1.0, 2.0])], lr=0.1)
    state = adam.state_dict()
    wrong = state | {"0.mean": np.ones(3), "lr": np.array(5.0)}
    with pytest.raises(StateError, match=r"0.mean: expected shape \(2,\), got \(3,\)"):
        adam.load_state_dict(wrong)
    with pytest.raises(StateError, match=r"missing: 0\.mean"):
        adam.load_state_dict(optim.SGD([af.Variable([1.0, 2.0])], lr=0.1).state_dict())
    assert adam.lr == 0.1
    assert not adam.memory[0]["mean"].any()
    state["0.mean"][:] = 9
    assert not adam.memory[0]["mean"].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_gradients_change_nothing(bad):
    a, b = af.Variable([1.0, 2.0], "a"), af.Variable([3.0, 4.0], "b")
    sgd = optim.SGD([a, b], lr=0.0)
    a.grad, b.grad = np.ones(2), np.array([0.0, bad])
    with pytest.raises(AnomalyError, match=r"gradient of b contains NaN or infinity\. No parameter was changed"):
        sgd.step()
    assert a.value.tolist() == [1, 2]
    assert sgd.steps == [0, 0]
    a.grad, b.grad = np.full(2, 1e308), None  # finite, though their sum is not
    sgd.step()
    assert sgd.steps == [1, 0]
    assert b.value.tolist() == [3, 4]


@pytest.mark.parametrize(("name", "setting", "bad"), [
    ("SGD", "momentum", 1.0), ("SGD", "weight_decay", -1.0), ("SGD", "lr", math.nan), ("RMSprop", "alpha", 1.5),
    ("RMSprop", "momentum", 1.0), ("Adam", "betas", (0.9, 1.0)), ("Adam", "eps", math.inf),
    ("Adagrad", "lr_decay", "much"), ("LBFGS", "tolerance_grad", -1e-9),
])  # fmt: skip
def test_bad_settings_that_come_later_change_nothing(name, setting, bad):
    optimiser = getattr(optim, name)([af.Variable(1.0)])
    before = getattr(optimiser, setting)
    with pytest.raises(ValueError, match=f"{name}: {setting.replace('betas', 'beta2')} must be"):
        setattr(optimiser, setting, bad)
    assert getattr(optimiser, setting) == before


def test_graphs_from_before_a_step_notice():
    w = af.Variable([1.0, 2.0])
    old = (w * w).sum()
    w.grad = np.ones(2)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(StaleValueError):
        old.backward()


def test_zero_grad_and_gradients_that_are_nodes():
    w = af.Variable([1.0, 2.0])
    sgd = optim.SGD([w], lr=0.1)
    (w * w).sum().backward(create_graph=True)
    for is_free in (True, False):  # a frozen one makes no step
        w.requires_grad = is_free
        sgd.step()
        np.testing.assert_allclose(w.value, [0.8, 1.6])
    w.requires_grad = True
    sgd.zero_grad()
    assert w.grad is None
    with pytest.warns(RuntimeWarning, match="none of its 1 parameters has a gradient"):
        sgd.step()
    np.testing.assert_allclose(w.value, [0.8, 1.6])


def test_frozen_strided_and_empty_parameters():
    base = np.ones((4, 4))
    w, frozen, empty = af.Variable(base[::2, 1:], copy=False), af.Variable(1.0, requires_grad=False), af.Variable([])
    adam = optim.Adam([w, frozen, empty], lr=0.1)
    (w * w).sum().backward()
    empty.grad = np.zeros(0)
    adam.step()
    np.testing.assert_allclose(base[::2, 1:], 0.9)
    assert base[1, 1] == 1
    assert frozen.value == 1


def test_many_ways_to_say_which():
    v, w = af.Variable(1.0), af.Variable(2.0)
    assert optim.SGD(v).parameters == [v]
    assert optim.SGD({"v": v, "w": w}).parameters == [v, w]
    assert optim.SGD(iter([v, w])).parameters == [v, w]
    assert repr(optim.SGD([v], lr=0.1)) == "SGD(1 parameters, lr=0.1)"


@pytest.mark.parametrize(("kind", "message", "make"), [
    (ValueError, "at least one Variable", lambda w: optim.SGD([])),
    (ValueError, "given twice", lambda w: optim.SGD([w, w])),
    (TypeError, "changes Variables; this is float", lambda w: optim.SGD([1.0])),
    (TypeError, "this is Operation", lambda w: optim.SGD([w * 2])),
    (TypeError, "takes Variables or a model", lambda w: optim.SGD(3)),
    (DataError, "is complex", lambda w: optim.SGD([af.Variable(1j)])),
    (ValueError, "lr must be a finite number", lambda w: optim.SGD([w], lr=-1)),
    (ValueError, "lr must be a finite number", lambda w: optim.SGD([w], lr=math.nan)),
    (ValueError, "momentum must be", lambda w: optim.SGD([w], momentum=-1)),
    (ValueError, "needs a momentum", lambda w: optim.SGD([w], nesterov=True)),
    (ValueError, "every must be", lambda w: optim.step_decay(0)),
    (ValueError, "linear: steps must be", lambda w: optim.linear(0)),
    (ValueError, "cosine: steps must be", lambda w: optim.cosine(0)),
    (ValueError, "warm_up: steps must be", lambda w: optim.warm_up(0)),
    (ValueError, "inverse_square_root: steps must be", lambda w: optim.inverse_square_root(0)),
    (ValueError, "bound must be", lambda w: optim.clip_grad_value([w], -1)),
    (ValueError, "momentum must be", lambda w: optim.SGD([w], momentum="0.9")),
    (ValueError, "betas must be a pair", lambda w: optim.Adam([w], betas=0.9)),
    (ValueError, "cosine: steps must be", lambda w: optim.cosine(optim.SGD([w]))),
    (TypeError, "Schedule: optimiser must be", lambda w: optim.Schedule(0.1, optim.cosine(3))),
    (ValueError, "every must be at least 1", lambda w: optim.Accumulation(optim.SGD([w]), 0)),
    (TypeError, "optimiser must be an optimiser, .* not BatchNorm", lambda w: optim.Accumulation(nn.BatchNorm(2), 2)),
    (TypeError, "Schedule: factor must be", lambda w: optim.Schedule(optim.SGD([w]), "cosine")),
])  # fmt: skip
def test_bad_settings(kind, message, make):
    with pytest.raises(kind, match=message):
        make(af.Variable(1.0))


@pytest.mark.parametrize("half", [np.float32(0.5), np.array(0.5), Fraction(1, 2), Decimal("0.5"), af.Constant(0.5)])
def test_settings_are_numbers_of_any_class(half):
    w = af.Variable(1.0)
    assert optim.SGD([w], lr=half, momentum=half).momentum == 0.5
    assert optim.Adam([w], betas=np.array([half, half], float)).betas == (0.5, 0.5)
    assert optim.Accumulation(optim.SGD([w]), half * 4).every == 2
    assert nn.Dropout(half, rng=np.random.default_rng(0)).p == half


def test_a_trial_step_under_another_name_is_no_mistake():
    w = af.Variable(np.ones(2), name="w")
    sgd = optim.SGD([w], lr=0.1)
    np.sum(w * w).backward()
    trial = w - 0.1 * w.grad
    sgd.zero_grad()
    np.sum(trial**3).backward()
    np.testing.assert_allclose(w.grad, 3 * 0.8**2)
    sgd.step()


def test_a_constructor_does_not_look_at_its_caller(monkeypatch):
    w = af.Variable(1.0)
    with monkeypatch.context() as without:
        without.setattr(sys, "_getframe", None)
        adam = optim.Adam([w])
    assert adam.parameters == [w]
