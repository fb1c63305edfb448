"""Gradients written over ones that nobody looks at: the same bits, and whoever looks sees nothing of it."""

import sys

import numpy as np
import pytest
from processes import alone
from programs import random_program
from support import NIGHTLY, row_restored

import autoflow as af
from autoflow.backprop import opening
from autoflow.nodes import versions

counted = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="references are counted in another way from Python 3.14 on"
)


@pytest.fixture
def everywhere(monkeypatch):
    """Also for small arrays."""
    monkeypatch.setattr(opening, "LARGE", -1)


def results(f, arrays):
    """Value and gradients with and without writing over."""
    both = af.value_and_grad(f, tuple(range(len(arrays))))
    with np.errstate(all="ignore"):
        value, gradients = both(*arrays)
    return [np.asarray(value), *gradients]


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 400 if NIGHTLY else 200, 50))
def test_random_programs(first, monkeypatch):
    """Bit for bit, and the arguments stay what they were."""
    for seed in range(first, first + 50):
        f, arrays = random_program(seed)
        before = [a.copy() for a in arrays]
        monkeypatch.setattr(opening, "LARGE", 1 << 40)
        expected = results(f, arrays)
        monkeypatch.setattr(opening, "LARGE", -1)
        for a, b in zip(expected, results(f, arrays), strict=True):
            np.testing.assert_array_equal(a, b, f"seed {seed}", strict=True)
        for a, b in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(a, b, f"seed {seed}", strict=True)


@counted
def test_references_were_counted():
    assert (opening.IN_STEP, opening.IN_SUM) == opening.calibrate_counts() == opening.KNOWN
    assert versions.ALONE == 2


@pytest.mark.parametrize("difference", [-2, -1, 1])
def test_a_python_that_counts_otherwise_writes_over_nothing(difference):
    """As one that borrows the references of locals. A fresh process, in which getrefcount says another number."""
    told = alone(f"""
        import sys, numpy
        count = sys.getrefcount
        sys.getrefcount = lambda x: count(x) - 1 + {difference}  # one for the argument of the lambda
        import autoflow as af
        from autoflow.nodes import versions
        from autoflow.backprop import opening
        sys.getrefcount = count
        opening.LARGE = -1
        x, held = af.Variable(numpy.ones(9)), []
        y = -x * x.value
        y.register_hook(held.append)
        (y * 2.0).sum().backward()
        print(versions.ALONE, opening.IN_STEP, opening.IN_SUM, held[0][0], x.grad[0])
    """)
    assert told == "-99 0 (0, 0) 2.0 -2.0\n"


@counted
def test_it_happens(everywhere, monkeypatch):
    answers = []
    ask = opening.free_to_write
    monkeypatch.setattr(opening, "free_to_write", lambda pair: answers.append(ask(pair)) or answers[-1])
    x = af.Variable(np.ones(100))
    y = x * x
    for _ in range(5):
        y = -y
    y.sum().backward(keep_grads=False)
    assert answers == [False, True, True, True, True, True]  # the first is sent a view: ones, from the sum


def test_whoever_holds_a_gradient_keeps_it(everywhere):
    held, x = [], af.Variable(np.arange(4.0), name="x")
    y = np.exp(-(x * x))
    for n in (y, (z := -y), (w := z * x)):
        n.register_hook(held.append)
    w.sum().backward(keep_grads=False)
    np.testing.assert_array_equal(held, [np.ones(4), x.value, -x.value])


def test_a_seed_stays_what_it_was(everywhere):
    x, seed = af.Variable(np.arange(4.0)), np.full(4, 2.0)
    (-np.exp(x)).backward(seed, keep_grads=False)
    assert (seed == 2.0).all()
    np.testing.assert_array_equal(x.grad, -2 * np.exp(x.value))
    x.zero_grad()
    (-np.exp(x)).backward(keep_grads=False)
    np.testing.assert_array_equal(x.grad, -np.exp(x.value))


def test_gradients_that_stay(everywhere):
    """``.grad`` of operations (keep_grads=True), and of leaves that two operations send to."""
    x, b = af.Variable(np.arange(4.0)), af.Variable(np.ones(4))
    s = x + b  # both are sent the same array
    y = -s * s
    y.sum().backward(keep_grads=True)
    np.testing.assert_array_equal(y.grad, np.ones(4))
    np.testing.assert_array_equal(s.grad, -2 * s.value)
    np.testing.assert_array_equal(x.grad, -2 * s.value)
    x.grad[0] = 7.0
    assert b.grad[0] == -2.0


def test_passes_over_the_same_graph(everywhere):
    """Nothing that is kept is written into: a second pass gives the same."""
    x = af.Variable(np.linspace(0.1, 1.0, 5))
    y = np.exp(-x * np.tanh(x)) * x + x * x
    first = af.grad(lambda x: (np.exp(-x * np.tanh(x)) * x + x * x).sum())(x.value)
    for k in range(1, 4):
        y.backward(np.ones(5), keep_grads=False)
        np.testing.assert_allclose(x.grad, k * first, rtol=1e-15)


def test_half_precision(everywhere):
    x = af.Variable(np.linspace(0, 1, 5).astype(np.float16))
    (x * x + np.exp(x)).sum().backward(keep_grads=False)
    assert x.grad.dtype == np.float16
    np.testing.assert_allclose(x.grad, 2 * x.value + np.exp(x.value), rtol=2e-3)


def test_rules_of_the_user_are_not_written_over(everywhere):
    def slope():
        v = af.Variable(np.ones(3))
        (np.exp(v) * 2.0).sum().backward(keep_grads=False)
        return v.grad[0]

    slope()
    with row_restored(np.exp):
        af.register_rule(np.exp, replace=True, x=lambda g, z: g * 100.0)
        assert slope() == 200.0


def test_nothing_is_counted_under_a_debugger():
    told = alone("""
        import sys, numpy  # before: Python 3.12.1 cannot import its own ast while somebody looks
        def look(frame, event, argument):
            frame.f_locals
            return look
        sys.settrace(look)
        import autoflow
        sys.settrace(None)
        from autoflow.backprop import opening
        print(opening.IN_STEP, opening.IN_SUM)
    """)
    assert told == "0 (0, 0)\n"


def test_layouts(everywhere, monkeypatch):
    """Sums over arrays in another order of axes would have other last digits."""
    rng = np.random.default_rng(0)
    a, f = rng.normal(size=(30, 20)), np.asfortranarray(rng.normal(size=(30, 20)))
    x, w, b = rng.normal(size=(30, 5)), rng.normal(size=(5, 20)), rng.normal(size=20)

    def loss(x, w, b):
        y = x @ w + b
        return (a * y + y * f).sum() + (np.exp(y.T) * -f.T).sum()

    found = []
    for large in (-1, 1 << 60):
        monkeypatch.setattr(opening, "LARGE", large)
        found.append(af.grad(loss, (0, 1, 2))(x, w, b))
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, plain)
