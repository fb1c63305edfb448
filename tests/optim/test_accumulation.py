"""Gradients of several batches: one step, as that of the large batch."""

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import AnomalyError

X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(12, 1))


def model():
    return nn.Linear(3, 1, rng=np.random.default_rng(2))


def run(model, optimiser, size):
    for start in range(0, 12, size):
        nn.mse_loss(model(X[start : start + size]), Y[start : start + size]).backward()
        optimiser.step()
        optimiser.zero_grad()


def test_small_batches_make_the_step_of_a_large_one():
    ours, theirs = model(), model()
    run(ours, optim.Accumulation(optim.Adam(ours, lr=0.1), 3), 2)
    run(theirs, optim.Adam(theirs, lr=0.1), 6)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.value, b.value, rtol=1e-12)
        assert a.grad is None


def test_when_a_step_is_made():
    w = af.Variable(1.0)
    sgd = optim.Accumulation(optim.SGD([w], lr=0.5), 2)
    assert repr(sgd) == "Accumulation(SGD(1 parameters, lr=0.5), every=2)"
    made = []
    for _ in range(5):
        (2 * w).backward()
        made.append((sgd.is_due, sgd.step()))
        sgd.zero_grad()
    assert made == [(False, False), (True, True)] * 2 + [(False, False)]
    assert w.value == -1.0
    assert w.grad == 2.0
    assert sgd.flush()
    assert w.value == -2.0
    assert not sgd.flush()
    assert sgd.optimiser.steps == [3]


def test_a_schedule_counts_what_it_is_told():
    w = af.Variable(1.0)
    sgd = optim.Accumulation(optim.SGD([w], lr=0.5), 2)
    schedule = optim.Schedule(sgd.optimiser, optim.warm_up(2, optim.linear(2), start=0.5))
    rates = []
    for _ in range(6):
        w.backward()
        if sgd.step():
            rates.append(sgd.optimiser.lr)
            schedule.step()
    assert rates == [0.25, 0.375, 0.5]


def test_an_error_changes_nothing():
    w = af.Variable(1.0)
    sgd = optim.Accumulation(optim.SGD([w], lr=0.5), 2)
    w.backward()
    sgd.step()
    (w * np.nan).backward()
    with pytest.raises(AnomalyError):
        sgd.step()
    assert w.value == 1.0
    assert np.isnan(w.grad)
    assert sgd.pending == 1
    with pytest.raises(ValueError, match="every must be at least 1"):
        optim.Accumulation(optim.SGD([w]), 0)
    with pytest.raises(TypeError, match=r"optimiser must be an optimiser, .* not Linear"):
        optim.Accumulation(model(), 2)
