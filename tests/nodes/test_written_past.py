"""Numbers written past the package: into memory of a Constant's user (``copy=False``), and by ways that nobody sees."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import StaleValueError


@pytest.mark.parametrize("n", [4, 5000])
def test_a_constant_that_shares_memory(n):
    mine = np.full(n, 2.0)
    x, c = af.Variable(np.ones(n)), af.Constant(mine, copy=False)
    loss = (x * c).sum() + (x * c[1:].sum()).sum() + (x[1:] * c[1:]).sum()
    mine[:] = 100.0
    try:
        loss.backward()
    except StaleValueError:
        assert n == 5000
    else:
        np.testing.assert_array_equal(x.grad, 2.0 + 2.0 * (n - 1) + np.r_[0.0, np.full(n - 1, 2.0)])


def through_nditer(y):
    with np.nditer(y, op_flags=["readwrite"]) as numbers:
        for number in numbers:
            number[...] = 0.0


# What cannot be seen, and what to write instead, which is: the table of the README.
UNSEEN = {
    "value": (lambda y: y.value.__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "asarray": (lambda y: np.asarray(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "memoryview": (lambda y: memoryview(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "frombuffer": (lambda y: np.frombuffer(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "nditer": (through_nditer, lambda y: y.fill(0.0)),
    "random": (lambda y: np.random.default_rng(0).random(out=y), lambda y: y.__setitem__(..., np.ones(4))),
    "take": (
        lambda y: np.arange(8.0).take([4, 5, 6, 7], out=y),
        lambda y: np.take(np.arange(8.0), [4, 5, 6, 7], out=y),
    ),
    "dot": (lambda y: np.eye(4).dot(np.zeros(4), out=y), lambda y: np.dot(np.eye(4), np.zeros(4), out=y)),
    "sort": (lambda y: np.ndarray.sort(y), lambda y: y.sort()),
}


@pytest.mark.parametrize("way", UNSEEN)
def test_what_cannot_be_seen_and_what_to_write_instead(way):
    """If one of these is loud one day, all the better: then it leaves this list, and the README."""
    unseen, instead = UNSEEN[way]
    for write, seen in ((unseen, False), (instead, True)):
        x = af.Variable([4.0, 3.0, 2.0, 1.0])
        y = x * 1.0
        z = (y * y).sum()
        write(y)
        assert not np.array_equal(y.value, x.value)
        if seen:
            with pytest.raises(StaleValueError):
                z.backward()
        else:
            z.backward()
            assert not np.array_equal(x.grad, 2 * x.value)
