"""af.safe_masking(): in a backward pass a zero gradient stays zero, whatever it is multiplied with."""

import numpy as np
import pytest

import autoflow as af
from autoflow.backprop.anomaly import safe_masking


def masked(x):
    return np.where(x > 0, np.log(x), 0.0).sum()


@pytest.fixture
def x():
    return af.Variable([-1.0, 0.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zero_times_infinity(x):
    masked(x).backward()
    assert np.isnan(x.grad[1])
    x.zero_grad()
    with safe_masking():
        masked(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.5]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_read_at_backward(x):
    with safe_masking():
        z = masked(x)
    z.backward()
    assert np.isnan(x.grad[1])


def test_numbers():
    for f in (np.sqrt, np.log):
        x = af.Variable(0.0)
        with np.errstate(all="ignore"):
            z = f(x) * 0.0
        with safe_masking():
            z.backward()
        assert x.grad == 0


def test_broadcast_operand_is_summed_afterwards():
    y = af.Variable(0.0)
    with np.errstate(all="ignore"):
        z = np.where(np.array([True, True]), 1.0, np.ones(2) / y).sum()
    with safe_masking():
        z.backward()
    assert y.grad == 0


def test_true_infinities_stay():
    x = af.Variable([0.0, 4.0])
    with safe_masking():
        np.sqrt(x).sum().backward()
    assert x.grad.tolist() == [np.inf, 0.25]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_second_derivatives(x):
    with safe_masking():
        masked(x).backward(create_graph=True)
        g = x.grad
        x.zero_grad()
        g.sum().backward()
    assert plain(x.grad) == [0.0, 0.0, -0.25]


def plain(a):
    return np.asarray(getattr(a, "value", a)).tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex():
    x = af.Variable(np.array([0.0, 2.0 + 1.0j]))
    z = np.where(np.array([False, True]), np.log(x), 0.0).real.sum()
    with safe_masking():
        z.backward()
    np.testing.assert_allclose(x.grad, [0.0, np.conj(1 / (2.0 + 1.0j))])


def test_as_a_decorator():
    x = af.Variable(0.0)
    with np.errstate(all="ignore"):
        z = np.sqrt(x) * 0.0

    @safe_masking
    def back():
        z.backward()

    back()
    assert x.grad == 0
