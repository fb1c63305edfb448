"""Optimisers: PyTorch's results, no allocation, all or nothing; schedules and clipping."""

import importlib.util
import math
import tracemalloc

import numpy as np
import pytest

import autoflow as af
from autoflow import optim
from autoflow.errors import AnomalyError, DataError, StaleValueError
from autoflow.saving import StateError

RULES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.9, "weight_decay": 0.1, "centered": True}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
]
IDS = [f"{name} {' '.join(options)}" for name, options in RULES]


def start():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(3, 2)), rng.normal(size=4), np.array(0.5)]


def gradient(x, t):
    """Something that changes sign and size with x and t."""
    return np.cos(3 * x + t) + 0.1 * x


def train(optimiser, parameters, steps, first=0):
    for t in range(first, first + steps):
        for p in parameters:
            p.grad = gradient(p.value, t)
        optimiser.step()


@pytest.mark.peers
@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_as_in_pytorch(name, options):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    import torch

    ours = [af.Variable(x) for x in start()]
    theirs = [torch.tensor(x, requires_grad=True) for x in start()]
    optimiser = getattr(optim, name)(ours, **options)
    other = getattr(torch.optim, name)(theirs, **options)
    for t in range(100):
        for p in theirs:
            p.grad = torch.as_tensor(gradient(p.detach().numpy(), t))
        other.step()
    train(optimiser, ours, 100)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.value, q.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_single_precision_stays_and_learns(name, options):
    w = af.Variable(np.array([1.0, -1.0], np.float32))
    optimiser = getattr(optim, name)([w], **options)
    for _ in range(400):
        optimiser.zero_grad()
        ((w - np.float32(0.5)) ** 2).sum().backward()
        optimiser.step()
    assert w.dtype == np.float32
    assert all(array.dtype == np.float32 for memory in optimiser.memory for array in memory.values())
    assert np.abs(w.value - 0.5).sum() < (1.9 if "lr_decay" in options else 0.3)  # from 2; some steps become too small


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_nothing_is_allocated(name, options):
    """In place: the same memory, and no array of the size of the parameter in between."""
    w = af.Variable(np.ones((500, 500)))
    memory = w.value.ctypes.data
    optimiser = getattr(optim, name)([w], **options)
    w.grad = np.full((500, 500), 0.1)
    before = w.grad.copy()
    optimiser.step()
    tracemalloc.start()
    try:
        optimiser.step()
        assert tracemalloc.get_traced_memory()[1] < 0.05 * w.value.nbytes
    finally:
        tracemalloc.stop()
    assert w.value.ctypes.data == memory
    assert np.array_equal(w.grad, before)


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_states_go_on(name, options, tmp_path):
    ours, others = [af.Variable(x) for x in start()], [af.Variable(x) for x in start()]
    optimiser, other = (getattr(optim, name)(ps, **options) for ps in (ours, others))
    train(optimiser, ours, 5)
    path = optimiser.save(tmp_path / "state")
    for p, q in zip(ours, others, strict=True):
        q.assign(p.value)
    other.lr = 7.0
    other.load(path)
    train(optimiser, ours, 5, first=5)
    train(other, others, 5, first=5)
    for p, q in zip(ours, others, strict=True):
        assert np.array_equal(p.value, q.value)


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
    sgd.step()
    np.testing.assert_allclose(w.value, [0.8, 1.6])
    w.requires_grad = False
    sgd.step()
    np.testing.assert_allclose(w.value, [0.8, 1.6])
    w.requires_grad = True
    sgd.zero_grad()
    assert w.grad is None
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


@pytest.mark.parametrize(
    ("kind", "message", "make"),
    [
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
        (ValueError, "beta2 must be", lambda w: optim.Adam([w], betas=(0.9, 1.0))),
        (ValueError, "alpha must be", lambda w: optim.RMSprop([w], alpha=1.5)),
        (ValueError, "every must be", lambda w: optim.step_decay(0)),
        (ValueError, "bound must be", lambda w: optim.clip_grad_value([w], -1)),
    ],
)
def test_bad_settings(kind, message, make):
    with pytest.raises(kind, match=message):
        make(af.Variable(1.0))


# -- schedules -------------------------------------------------------------------------------------------------------


def rates(schedule, n):
    found = []
    for _ in range(n):
        found.append(schedule.optimiser.lr)
        schedule.step()
    return found


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Detected call of:UserWarning")
def test_schedules_as_in_pytorch():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    import torch

    schedulers = torch.optim.lr_scheduler

    def both(factor, make):
        other = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        scheduler, found = make(other), []
        for _ in range(10):
            found.append(other.param_groups[0]["lr"])
            scheduler.step()
        ours = rates(optim.Schedule(optim.SGD(af.Variable(1.0), lr=0.1), factor), 10)
        np.testing.assert_allclose(ours, found, rtol=1e-12, atol=1e-15)

    both(optim.step_decay(3, 0.5), lambda o: schedulers.StepLR(o, 3, 0.5))
    both(optim.cosine(10, 0.1), lambda o: schedulers.CosineAnnealingLR(o, 10, 0.01))
    both(optim.warm_up(4, start=0.25), lambda o: schedulers.LinearLR(o, 0.25, 1.0, 4))


def test_schedules_go_on():
    schedule = optim.Schedule(optim.SGD(af.Variable(1.0), lr=0.1), optim.warm_up(2, optim.cosine(4)))
    first = rates(schedule, 3)
    assert first == pytest.approx([0, 0.05, 0.1])
    other = optim.Schedule(optim.SGD(af.Variable(1.0), lr=9.0), schedule.factor)
    other.load_state_dict(schedule.state_dict())
    assert rates(other, 3) == rates(schedule, 3)


# -- clipping --------------------------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize("limit", [0.1, 1.0, 1e3])
def test_clipping_as_in_pytorch(limit):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    import torch

    ours = [af.Variable(x) for x in start()]
    theirs = [torch.tensor(x, requires_grad=True) for x in start()]
    for p, q in zip(ours, theirs, strict=True):
        p.grad, q.grad = 3 * p.value, 3 * q.detach().clone()
    total = optim.clip_grad_norm(ours, limit)
    assert total == pytest.approx(float(torch.nn.utils.clip_grad_norm_(theirs, limit)), rel=1e-12)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-12)
    optim.clip_grad_value(ours, 0.05)
    torch.nn.utils.clip_grad_value_(theirs, 0.05)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-12)


def test_clipping_refuses_nan():
    v, w = af.Variable([1.0], "v"), af.Variable([1.0], "w")
    v.grad, w.grad = np.array([9.0]), np.array([np.nan])
    with pytest.raises(AnomalyError, match="nothing was changed: w"):
        optim.clip_grad_norm([v, w, af.Variable(1.0)], 1.0)
    assert v.grad.tolist() == [9]
