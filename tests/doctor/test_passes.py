"""Passes that the doctor watches: whatever they meet, and how it is put back."""

import numpy as np
import pytest

import autoflow as af


def test_everything_is_put_back():
    w = af.Variable([1.0, 2.0], name="w")
    opt, losses, rng = af.optim.Adam([w], lr=0.1), [], np.random.default_rng(0)

    def step():
        loss = np.sum(w * w * rng.normal(size=2) ** 2)
        loss.backward()
        opt.step()
        losses.append(loss)

    before = rng.bit_generator.state, opt.state_dict()["steps"]
    assert af.diagnose(step).kinds == ("accumulated", "kept")
    assert (rng.bit_generator.state, opt.state_dict()["steps"]) == before
    np.testing.assert_array_equal(w.value, [1.0, 2.0])
    assert w.grad is None
    assert losses == []


CALLS = {
    "plain": lambda f: f, "a result": lambda f: lambda w: af.checkpoint(lambda w: f(w)[0])(w).reshape(1),
    "several results": af.checkpoint, "a result in a result": lambda f: af.checkpoint(af.checkpoint(f)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_gradients_that_come_out_of_a_checkpoint(name):
    w = af.Variable([1.0, 2.0], name="w")

    def loss():
        made = CALLS[name](lambda w: (np.sum(w**2), w * 0.0))(w)
        return made[0]

    def step():
        loss().backward()
        with af.no_grad():
            w.value = w.value - 0.01 * w.grad

    assert "gradients of 3.16 (root mean square)" in loss().diagnose().examined
    assert af.diagnose(step).kinds == ("accumulated",)


def test_a_pass_that_starts_at_a_variable():
    w = af.Variable([1.0, 2.0], name="w")

    def step():
        w.zero_grad()
        w.backward()
        np.sum(w**2).backward()
        with af.no_grad():
            w.value = w.value - 0.1 * w.grad

    assert not af.diagnose(step)
