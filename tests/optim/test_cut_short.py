"""An exception in the middle of a step, of a whole training: all parameters have made the step, or none."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
from interrupts import interrupt, places

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import StaleValueError, StateError
from autoflow.nn import module
from autoflow.train import fit

# Python prints and drops what is raised while it closes a generator or runs a finalizer.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.9, centered=True), "Adam": lambda p: optim.Adam(p, lr=0.1),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.5),
}  # fmt: skip


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
    return np.concatenate([np.ravel(a) for a in (*optimiser.parameters, *optimiser.state_dict().values())])


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


def test_a_training_that_is_interrupted_has_made_whole_steps():
    x = np.random.default_rng(0).normal(size=(6, 2))
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
    optimiser, run = training(states)
    run()
    states.append(state_of(optimiser))  # the best epoch's
    for k in places(lambda: training()[1], by_day=60):
        optimiser, run = training()
        interrupt(run, k)
        found = state_of(optimiser)
        n = sum([p.size for p in optimiser.parameters])
        for part in (slice(n), slice(n, None)):  # at the end the parameters go back to the best epoch
            assert any([np.array_equal(found[part], s[part]) for s in states]), f"place {k}"


# -- what changes in several steps: an act, and a look at everything that it changes


def scaled(act, *, bad=False, unscaled=False, make_optimiser=OPTIMISERS["momentum"]):
    """``act(scaler, optimiser)`` with gradients that are scaled, one of them infinite if ``bad``."""

    def make():
        optimiser, _ = prepared(make_optimiser)
        scaler = af.GradScaler(scale=64.0, interval=1)
        for p in optimiser.parameters[:2]:
            p.grad = p.grad * scaler.factor
        if bad:
            optimiser.parameters[1].grad = np.array([1.0, np.inf])
        if unscaled:
            scaler.unscale_(optimiser)

        def look():
            checked = [row[1:] for row in scaler._checked]
            return [
                scaler.factor,
                scaler.good_steps,
                checked,
                state_of(optimiser),
                *[p.grad for p in optimiser.parameters],
            ]

        return lambda: act(scaler, optimiser), look

    return make


def accumulated(act, pending=2):
    """``act(accumulation)`` after ``pending`` batches of three."""

    def make():
        inside, _ = prepared(OPTIMISERS["Adam"])
        outside = optim.Accumulation(inside, 3)
        for _ in range(pending):
            outside.step()
        return lambda: act(outside), lambda: [outside.pending, state_of(inside), *[p.grad for p in inside.parameters]]

    return make


def clipped(clip):
    """Gradients made smaller: two of them are one array, and one cannot be written into."""

    def make():
        w = [af.Variable(np.zeros(3)) for _ in range(4)]
        w[0].grad = w[1].grad = np.array([3.0, -4.0, 0.1])
        w[2].grad, w[3].grad = np.array([1.0, 2.0, 3.0]), np.broadcast_to(5.0, 3)
        return lambda: clip(w, 1.5), lambda: [p.grad for p in w]

    return make


def scheduled(act):
    """``act(schedule)``. What is left in between is done again by the next call."""

    def make():
        sgd = optim.SGD([af.Variable(1.0)], lr=0.5)
        schedule = optim.Schedule(sgd, optim.linear(4))
        return lambda: act(schedule), lambda: [schedule.steps, schedule.lr, sgd.lr]

    return make


class Plain(nn.Module):
    """Parameters and a buffer at several depths, and little to compute: each place of a call can be tried."""

    def __init__(self, deep=True):
        self.w, self.pair = af.Variable([1.0, 2.0]), [af.Variable(3.0), {"b": af.Variable(4.0)}]
        self.buffer = np.ones(2)
        self.parts = [Plain(deep=False), np.tanh] if deep else []

    def forward(self, x):
        if x.ndim > 1:
            raise ValueError
        return x


def modelled(act, build=Plain):
    """``act(model)``: its arrays, whether they are the same objects, how many are parameters, what is set."""

    def make():
        model = build()
        first = dict(model._state())

        def look():
            own = model._state()
            kept = [own[path] is value for path, value in first.items()]
            parts = [(m.training, sorted(vars(m))) for m in model.modules()]
            return [len(model.named_parameters()), kept, parts, *model.state_dict().values()]

        return lambda: act(model), look

    return make


def call(model, *shape):
    values = {path: 2.0 * p.value for path, p in model.named_parameters().items()}
    with contextlib.suppress(ValueError):
        nn.functional_call(model, values, np.ones(shape))


CASES = {
    "GradScaler.unscale_": scaled(lambda s, o: s.unscale_(o)),
    "GradScaler.unscale_, infinite": scaled(lambda s, o: s.unscale_(o), bad=True),
    "GradScaler.step": scaled(lambda s, o: s.step(o)),
    "GradScaler.step, Adam": scaled(lambda s, o: s.step(o), make_optimiser=OPTIMISERS["Adam"]),
    "GradScaler.step, infinite": scaled(lambda s, o: s.step(o), bad=True),
    "GradScaler.step, unscaled": scaled(lambda s, o: s.step(o), unscaled=True),
    "GradScaler.update": scaled(lambda s, o: s.update(), unscaled=True),
    "GradScaler.update, infinite": scaled(lambda s, o: s.update(), unscaled=True, bad=True),
    "GradScaler.restore": scaled(lambda s, o: s.restore(8.0, 5)),
    "Accumulation.step, counts": accumulated(lambda a: a.step(), 1),
    "Accumulation.step": accumulated(lambda a: a.step()), "Accumulation.flush": accumulated(lambda a: a.flush(), 1),
    "Accumulation.zero_grad": accumulated(lambda a: a.zero_grad(), 0), "clip_grad_norm": clipped(optim.clip_grad_norm),
    "clip_grad_value": clipped(optim.clip_grad_value), "Schedule.step": scheduled(lambda s: s.step()),
    "Schedule.load_state_dict": scheduled(lambda s: s.load_state_dict({"lr": 0.25, "steps": 3})),
    "BatchNorm": modelled(lambda m: m(np.arange(8.0).reshape(4, 2)), lambda: nn.BatchNorm(2, dtype=np.float32)),
    "functional_call": modelled(lambda m: call(m, 2)), "functional_call, an error": modelled(lambda m: call(m, 2, 2)),
    "Module.load_state_dict": modelled(lambda m: m.load_state_dict({p: 0 * x + 7 for p, x in m.state_dict().items()})),
    "Optimiser.zero_grad": scaled(lambda s, o: o.zero_grad()),
    "Module.train": modelled(lambda m: m.eval()), "Module.to": modelled(lambda m: m.to_cpu()),
}  # fmt: skip


def numbers_in(seen):
    return [(x.dtype.str, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in seen]


@pytest.mark.parametrize("name", CASES)
def test_all_of_it_or_nothing(name, monkeypatch):
    """KeyboardInterrupt at any line: everything is as before and the next call does it all, or everything is done.

    A tracer, unlike a signal, also comes between the last line of a with block and the release of its lock, so the lock
    is one of this test alone.
    """
    monkeypatch.setattr(module, "SWAPPING", threading.RLock())
    act, look = CASES[name]()
    before = numbers_in(look())
    act()
    after = numbers_in(look())
    bad = []
    n = interrupt(CASES[name]()[0], 10**9)
    for k in {*places(lambda: CASES[name]()[0], by_day=100), *range(max(0, n - 60), n)}:  # the last ones put back
        act, look = CASES[name]()
        interrupt(act, k)
        found = numbers_in(look())
        if found == after:
            continue
        if found != before and not name.startswith("Schedule"):
            bad.append(k)
            continue
        act()
        if numbers_in(look()) != after:
            bad.append(k)
    assert not bad, f"{name}: half done at the places {bad}"


def test_a_step_of_the_users_own_optimiser_is_not_made_twice():
    """Whether it has written is known, and counted as written if it is not known: then the next call is an error."""

    class Descent:
        def __init__(self):
            self.parameters = [af.Variable([4.0])]
            self.parameters[0].grad = np.array([64.0])

        def step(self):
            self.parameters[0].assign(self.parameters[0].value - self.parameters[0].grad)

    def make():
        optimiser, scaler = Descent(), af.GradScaler(scale=64.0)
        return optimiser.parameters[0], scaler, lambda: scaler.step(optimiser)

    found = set()
    for k in places(lambda: make()[2], by_day=200):
        parameter, scaler, act = make()
        interrupt(act, k)
        with contextlib.suppress(RuntimeError):
            act()
        found.add((float(parameter.value[0]), float(parameter.grad[0])))
        scaler.update()
    assert found <= {(3.0, 1.0), (4.0, 1.0)}
    assert (3.0, 1.0) in found
