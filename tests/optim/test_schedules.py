"""Schedules, clipping, and gradients that are collected over several batches."""

import math

import numpy as np
import pytest
from optimisers import LIMITS, golden, start

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import AnomalyError


def rates(schedule, n):
    return [(schedule.optimiser.lr, schedule.step())[0] for _ in range(n)]


SCHEDULES = {
    "step_decay": optim.step_decay(3, 0.5), "cosine": optim.cosine(12, 0.1), "warm_up": optim.warm_up(4, start=0.25),
    "warm_up, cosine": optim.warm_up(4, optim.cosine(8, 0.1), start=0.25), "linear": optim.linear(9, 0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_pytorchs(name):
    ours = rates(optim.Schedule(optim.SGD(af.Variable(1.0), lr=0.1), SCHEDULES[name]), 13)
    np.testing.assert_allclose(ours, golden()[name], rtol=1e-12, atol=1e-15)


def test_a_cosine_that_is_over_stays_at_its_end():
    """PyTorch's goes up again."""
    assert [optim.cosine(4, 0.25)(t) for t in (4, 5, 8, 100)] == [0.25] * 4


def test_an_inverse_square_root_is_that_of_the_paper():
    """size^-0.5 · min(t^-0.5, t · warm^-1.5) for t = 1, 2 ..., whose largest value is ours for the factor 1."""
    t = np.arange(1, 60)
    theirs = np.minimum(t**-0.5, t * 8.0**-1.5)
    np.testing.assert_allclose([optim.inverse_square_root(8)(k - 1) for k in t], theirs / theirs.max(), rtol=1e-12)


def test_schedules_go_on():
    schedule = optim.Schedule(optim.SGD(af.Variable(1.0), lr=0.1), optim.warm_up(2, optim.cosine(4)))
    first = rates(schedule, 3)
    assert first == pytest.approx([0, 0.05, 0.1])
    other = optim.Schedule(optim.SGD(af.Variable(1.0), lr=9.0), schedule.factor)
    other.load_state_dict(schedule.state_dict())
    assert rates(other, 3) == rates(schedule, 3)


@pytest.mark.parametrize("limit", LIMITS)
def test_clipping_is_pytorchs(limit):
    parameters = [af.Variable(x) for x in start()]
    for p in parameters:
        p.grad = 3 * p.value
    total = optim.clip_grad_norm(parameters, limit)
    by_norm = [p.grad.ravel().copy() for p in parameters]
    optim.clip_grad_value(parameters, 0.05)
    found = np.concatenate([[total], *by_norm, *[p.grad.ravel() for p in parameters]])
    np.testing.assert_allclose(found, golden()[f"clip {limit:g}"], rtol=1e-12)


def test_clipping_refuses_nan_and_norms_beyond_float64():
    for gradients, message in (
        ([9.0, np.nan], "nothing was changed: w"),
        ([1.7e308] * 2, "the norm is beyond float64, "),
    ):
        v, w = af.Variable([1.0], "v"), af.Variable([1.0], "w")
        v.grad, w.grad = np.array(gradients)[:, None]
        with pytest.raises(AnomalyError, match=message):
            optim.clip_grad_norm([v, w, af.Variable(1.0)], 1.0)
        assert v.grad.tolist() == gradients[:1]


@pytest.mark.parametrize("clip", [optim.clip_grad_norm, optim.clip_grad_value])
def test_clipping_of_an_array_that_two_parameters_share_or_that_is_read_only(clip):
    shared, fixed = np.array([3.0, 4.0]), np.broadcast_to(np.array(5.0), 2)
    apart, together = [[af.Variable(np.zeros(2)) for _ in range(3)] for _ in range(2)]
    for p, q, g in zip(apart, together, (shared, shared, fixed), strict=True):
        p.grad, q.grad = g.copy(), g
    for parameters in (apart, together):
        clip(parameters, 2.0)
    for p, q in zip(apart, together, strict=True):
        np.testing.assert_array_equal(p.grad, q.grad)


def test_a_schedule_whose_factor_fails_has_made_no_step():
    sgd = optim.SGD([af.Variable(1.0)], lr=0.5)
    schedule = optim.Schedule(sgd, lambda t: [1.0, 0.5][t])
    schedule.step()
    with pytest.raises(IndexError):
        schedule.step()
    assert (schedule.steps, sgd.lr) == (1, 0.25)


@pytest.mark.parametrize("g", [[3e-200, 4e-200], [3e200, 4e200], [1e-160, 5e200], [3.0, 4.0]])
def test_the_norm_of_tiny_and_of_huge_gradients(g):
    """Their squares vanish or overflow. At the bound itself gradients are made smaller, as in PyTorch."""
    w, norm = af.Variable([1.0, 2.0]), math.hypot(*g)
    w.grad = np.array(g)
    assert optim.clip_grad_norm([w], norm) == pytest.approx(norm, rel=1e-12, abs=0)
    np.testing.assert_allclose(w.grad, np.array(g) * (norm / (norm + 1e-6)), rtol=1e-12)


def test_clipping_without_any_gradient_does_nothing():
    w, empty = af.Variable([1.0]), af.Variable([])
    empty.grad = np.zeros(0)
    assert optim.clip_grad_norm([w], 0.0) == 0.0
    assert optim.clip_grad_norm([w, empty], 1.0) == 0.0
    optim.clip_grad_value([w], 1.0)
    assert w.grad is None


# -- several batches

X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(12, 1))


def run(model, optimiser, size):
    for k in range(0, 12, size):
        nn.mse_loss(model(X[k : k + size]), Y[k : k + size]).backward()
        optimiser.step()
        optimiser.zero_grad()


def test_small_batches_make_the_step_of_a_large_one():
    ours, theirs = [nn.Linear(3, 1, rng=np.random.default_rng(2)) for _ in range(2)]
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
