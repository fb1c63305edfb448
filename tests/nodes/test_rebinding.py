"""``w = w - lr * w.grad``: noticed where it does harm, and nothing like it that is right."""

import numpy as np
import pytest

import autoflow as af
from autoflow import optim
from autoflow.nodes.rebinding import is_multiple, original_of


def trained(value):
    w = af.Variable(value, name="w")
    np.sum(w * w * 3.0).backward()
    return w


@pytest.mark.parametrize(
    "value", [2.0, [1.0, -2.0], np.ones((3, 4)), np.ones(10_000)], ids=["0-d", "1-d", "2-d", "large"]
)
@pytest.mark.parametrize("step", [lambda w: w - 0.1 * w.grad, lambda w: w + -0.1 * w.grad, lambda w: -0.1 * w.grad + w])
def test_the_new_node_names_its_variable(value, step):
    w = trained(value)
    new = step(w)
    assert original_of(new) is w
    with pytest.raises(TypeError, match=r"w = w - lr \* w.grad has made an Operation of it"):
        new.zero_grad()
    assert w.grad is not None


def test_what_only_looks_like_it():
    w = trained([1.0, -2.0])
    for x in (w, w - 0.1, w - np.array([5.0, 7.0]), w - w, 0.1 * w.grad - w, w * w.grad, af.Constant(1.0), 3.0, None):
        assert original_of(x) is None
    residual = w - np.array([0.6, -1.2])  # a multiple of the gradient by chance, but a pass has come through it
    np.sum(residual * residual).backward()
    assert original_of(residual) is None
    residual.zero_grad()
    assert residual.grad is None
    assert original_of(af.Variable(1.0) - np.float64(0.1)) is None  # no gradient, no step


def test_an_optimiser_looks_at_its_first_steps():
    w = trained(2.0)
    optimiser = optim.SGD([w], lr=0.1)
    optimiser.step()
    w.zero_grad()
    (w * w).backward()
    mine = w
    w = w - 0.1 * w.grad
    with pytest.raises(TypeError, match=r"SGD.step\(\) changes Variables"):
        optimiser.step()
    w = mine
    optimiser.step()
    w = w - 0.1 * w.grad  # too late to be looked for: two steps were made
    optimiser.step()
    assert optimiser.steps == [3]


def test_a_step_without_gradients_warns():
    w = af.Variable(2.0, name="w")
    with pytest.warns(RuntimeWarning, match=r"Adam.step\(\) changes nothing: none of its 1 parameters has a gradient"):
        optim.Adam([w]).step()
    assert w.value == 2.0
    w.requires_grad = False
    optim.Adam([w]).step()  # frozen on purpose


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e-200, 1e200])
@pytest.mark.parametrize("other", [1.0, 1e-9, 1e-200, 1e200])
def test_multiples_of_any_size(size, other):
    g, a = np.array([1.0, -2.0, 0.5]), np.array([1.0, 2.0, 0.5])
    assert is_multiple(-other * g, size * g)
    assert not is_multiple(other * a, size * g)
    assert is_multiple(0.0 * g, size * g)
    assert not is_multiple(other * a, 0.0 * g)
    g = np.array([1.0, 1.0j])
    for a, is_one in (([2.0, 2.0j], True), ([2.0, -2.0j], False), ([3.0, 3.0 + 1.0j], False)):
        assert bool(is_multiple(other * np.array(a), size * g)) is is_one
