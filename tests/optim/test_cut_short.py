"""An exception in the middle of a step, of a whole training: all parameters have made the step, or none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from interrupts import interrupt, places

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import StaleValueError, StateError
from autoflow.train import fit

# Python prints and drops what is raised while it closes a generator or runs a finalizer.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.9, centered=True),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.5),
}


def prepared(make):
    """Three parameters, one without a gradient, after one step; the loss from which the next one comes."""
    w, b, unused = af.Variable([[1.0, -2.0], [0.5, 3.0]]), af.Variable([0.25, -1.5]), af.Variable([1.0])
    optimiser = make([w, b, unused])
    for _ in range(2):
        optimiser.zero_grad()
        loss = np.sum((w @ b) ** 2) + np.sum(np.sin(w))
        loss.backward()
        if not optimiser.steps[0]:
            optimiser.step()
    return optimiser, loss


def state_of(optimiser):
    """All numbers that the next step depends on, one after the other."""
    arrays = [p.value for p in optimiser.parameters] + list(optimiser.state_dict().values())
    return np.concatenate([np.ravel(a) for a in arrays])


@pytest.mark.parametrize("name", OPTIMISERS)
def test_all_parameters_make_the_step_or_none(name):
    optimiser, _ = prepared(OPTIMISERS[name])
    before = state_of(optimiser)
    optimiser.step()
    after = state_of(optimiser)
    assert (before != after).sum() >= 7
    seen = set()
    for k in places(lambda: prepared(OPTIMISERS[name])[0].step, by_day=80):
        optimiser, loss = prepared(OPTIMISERS[name])
        interrupt(optimiser.step, k)
        whole = np.array_equal(state_of(optimiser), after)
        assert whole or np.array_equal(state_of(optimiser), before), f"place {k}"
        seen.add(whole)
        if whole:
            with pytest.raises(StaleValueError):
                loss.backward()
        else:
            optimiser.step()
            np.testing.assert_array_equal(state_of(optimiser), after)
    assert False in seen


def test_a_step_that_is_taken_back_leaves_older_graphs_right():
    class Failing(optim.Adam):
        def update(self, x, g, t, a, b, **memory):
            super().update(x, g, t, a, b, **memory)
            if x.ndim == 1:
                raise MemoryError

    optimiser, loss = prepared(lambda p: optim.Adam(p, lr=0.1))
    optimiser.__class__ = Failing
    before, gradient = state_of(optimiser), optimiser.parameters[0].grad.copy()
    with pytest.raises(MemoryError):
        optimiser.step()
    np.testing.assert_array_equal(state_of(optimiser), before)
    optimiser.zero_grad()
    loss.backward()
    np.testing.assert_array_equal(optimiser.parameters[0].grad, gradient)


def test_a_second_exception_while_the_step_is_taken_back_is_named():
    class Twice(optim.SGD):
        def update(self, x, g, t, a, b, **memory):
            super().update(x, g, t, a, b, **memory)
            raise KeyboardInterrupt

    named = False
    for k in range(interrupt(prepared(lambda p: optim.SGD(p, lr=0.1))[0].step, 10**6) + 60):
        optimiser, _ = prepared(lambda p: optim.SGD(p, lr=0.1))
        before = state_of(optimiser)
        optimiser.__class__ = Twice
        with contextlib.suppress(KeyboardInterrupt):
            interrupt(optimiser.step, k, ValueError)
        optimiser.__class__ = optim.SGD
        if not np.array_equal(state_of(optimiser), before):
            named = True
            with pytest.raises(StateError, match=r"a step at .* of it\. Load a saved state"):
                optimiser.step()
            optimiser.load_state_dict(optimiser.state_dict())
            optimiser.step()
    assert named


def test_zero_grad_forgets_all_gradients_or_none():
    for k in places(lambda: prepared(OPTIMISERS["SGD"])[0].zero_grad, by_day=10):
        optimiser, _ = prepared(OPTIMISERS["SGD"])
        interrupt(optimiser.zero_grad, k)
        assert len({p.grad is None for p in optimiser.parameters[:2]}) == 1


@pytest.mark.parametrize("clip", [optim.clip_grad_norm, optim.clip_grad_value])
def test_clipping_changes_all_gradients_or_none(clip):
    def gradients(optimiser):
        return np.concatenate([p.grad.ravel() for p in optimiser.parameters[:2]])

    def make():
        optimiser, _ = prepared(OPTIMISERS["SGD"])
        return lambda: clip(optimiser.parameters, 0.5)

    optimiser, _ = prepared(OPTIMISERS["SGD"])
    before = gradients(optimiser)
    clip(optimiser.parameters, 0.5)
    after = gradients(optimiser)
    for k in places(make, by_day=40):
        optimiser, _ = prepared(OPTIMISERS["SGD"])
        interrupt(lambda: clip(optimiser.parameters, 0.5), k)  # noqa: B023 - called at once
        assert any([np.array_equal(gradients(optimiser), g) for g in (before, after)]), f"place {k}"


def test_loading_a_model_loads_all_of_it_or_nothing():
    def model(seed):
        return nn.Sequential(nn.Linear(2, 3, rng=np.random.default_rng(seed)), nn.BatchNorm(3))

    def numbers(network):
        return np.concatenate([a.ravel() for a in network.state_dict().values()])

    saved = model(1).state_dict()
    states = [numbers(model(0)), numbers(model(1))]
    for k in places(lambda: lambda: model(0).load_state_dict(saved), by_day=40):
        network = model(0)
        interrupt(lambda: network.load_state_dict(saved), k)  # noqa: B023 - called at once
        assert any([np.array_equal(numbers(network), s) for s in states]), f"place {k}"


def test_a_training_that_is_interrupted_has_made_whole_steps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 2))
    y = (x[:, 0] > 0).astype(int)

    def training(states=None):
        """Two epochs of two batches; ``states`` gets the numbers after each step."""

        class Watched(optim.Adam):
            def step(self):
                super().step()
                if states is not None:
                    states.append(state_of(self))

        model = nn.Linear(2, 2, rng=np.random.default_rng(1))
        optimiser = (optim.Adam if states is None else Watched)(model, lr=0.1)
        if states is not None:
            states.append(state_of(optimiser))
        options = {"loss": nn.cross_entropy, "optimiser": optimiser, "epochs": 2, "batch_size": 3, "patience": 5}
        return optimiser, lambda: fit(model, x, y, rng=np.random.default_rng(2), progress=False, **options)

    states = []
    training(states)[1]()
    training(states[:0])[1]()
    final = training()
    final[1]()
    states.append(state_of(final[0]))  # the best epoch's
    for k in places(lambda: training()[1], by_day=60):
        optimiser, run = training()
        interrupt(run, k)
        found = state_of(optimiser)
        n = sum([p.size for p in optimiser.parameters])
        for part in (slice(n), slice(n, None)):  # at the end the parameters go back to the best epoch
            assert any([np.array_equal(found[part], s[part]) for s in states]), f"place {k}"
