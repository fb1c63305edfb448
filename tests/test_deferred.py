"""Contributions that wait for each other and are computed together: the same sums, whatever they are mixed with."""

import numpy as np
import pytest

import autoflow as af
from autoflow import deferred, passes

RNG = np.random.default_rng(0)


def agree(f, *arrays):
    """The gradients of f with and without waiting are the same but for rounding."""
    found = []
    for later in (passes.LATER, {}):  # without it every term is computed when it comes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(passes, "LATER", later)
            variables = [af.Variable(a) for a in arrays]
            af.backward(f(*variables))
            found.append([v.grad for v in variables])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    return found[0]


def steps(n, w, b, h, rows=3):
    for _ in range(n):
        h = np.tanh(h @ w + b)
    return (h * h).sum()


@pytest.mark.parametrize("n", [1, 3, 4, 30, 64, 65, 200])
def test_a_recurrent_network(n):
    agree(lambda w, b, h: steps(n, w, b, h), RNG.normal(size=(4, 4)) / 2, RNG.normal(size=4), RNG.normal(size=(3, 4)))


def test_they_are_put_together(monkeypatch):
    """Else this file tests nothing."""
    calls = []
    monkeypatch.setattr(deferred.np, "concatenate", lambda *a, **k: calls.append(a) or concatenate(*a, **k))
    w = af.Variable(np.eye(4))
    steps(10, w, np.zeros(4), np.ones((3, 4))).backward()
    assert [len(arrays) for (arrays,) in calls] == [10, 10]


concatenate = np.concatenate


def test_a_weight_on_the_left():
    def f(w, b, h):
        for _ in range(6):
            h = np.tanh(w @ h + b)
        return (h * h).sum()

    agree(f, RNG.normal(size=(4, 4)) / 2, RNG.normal(size=(4, 1)), RNG.normal(size=(4, 3)))


def test_different_numbers_of_rows():
    agree(
        lambda w, b: sum([((np.full((n, 3), 0.5) @ w + b) ** 2).sum() for n in range(1, 12)]),
        RNG.normal(size=(3, 2)),
        RNG.normal(size=2),
    )


def test_mixed_with_other_uses():
    """Products from the left and from the right, sums, a difference and a function of the same weight, in any order."""

    def f(w, x):
        z = 0.0
        for i in range(9):
            z = z + (x @ w).sum() * (w @ x).sum() + ((x + w[0]) * (x - w[1]) * w).sum() + np.exp(w).sum() * i
            z = z + (x - w[:1]).prod() + (w @ w).sum()
        return z

    agree(f, RNG.normal(size=(3, 3)) / 3, RNG.normal(size=(3, 3)) / 3)


def test_a_bias_that_stretches_one_axis():
    agree(
        lambda b, c, x: sum([np.exp(x * t + b - c).sum() for t in range(8)]),
        RNG.normal(size=(1, 3)),
        RNG.normal(size=(4, 1)),
        RNG.normal(size=(4, 3)),
    )


def test_intermediate_parents_and_their_gradients():
    """A parent that is no leaf gets an array, too, and so do its hooks."""
    w = af.Variable(np.eye(3))
    v = w * 0.5
    seen = []
    v.register_hook(seen.append)
    h = np.ones((2, 3))
    for _ in range(6):
        h = h @ v + v[0]
    h.sum().backward()
    assert type(seen[0]) is np.ndarray
    np.testing.assert_array_equal(v.grad, seen[0])
    np.testing.assert_allclose(w.grad, 0.5 * v.grad, rtol=1e-15)


def test_gradients_of_operations_are_not_touched():
    """What waits is read later: nothing may have been written into it."""
    w = af.Variable(RNG.normal(size=(3, 3)))
    hs = [af.Variable(np.ones((2, 3))) @ w]
    for _ in range(5):
        hs.append(np.tanh(hs[-1] @ w))
    (hs[-1] ** 2).sum().backward()
    g = 2 * hs[-1].value
    for h in reversed(hs[1:]):
        np.testing.assert_allclose(h.grad, g, rtol=1e-12)
        g = (g * (1 - h.value**2)) @ w.value.T


def test_inside_a_stopped_pass():
    """af.grad stops at its argument: what waits there at the end becomes an array as well."""
    w0, b0, x = RNG.normal(size=(3, 3)) / 2, RNG.normal(size=3), RNG.normal(size=(2, 3))

    def f(w):
        return steps(8, w, b0, x) + steps(5, w * 2.0, b0, x)

    h = 1e-6
    g = af.grad(f)(w0)
    moved = np.eye(3)[:, :1] * np.eye(3)[1] * h
    assert type(g) is np.ndarray
    np.testing.assert_allclose(g[0, 1], (f(w0 + moved) - f(w0 - moved)) / (2 * h), rtol=1e-6)


def test_derivatives_of_derivatives_do_not_wait():
    w = af.Variable(RNG.normal(size=(3, 3)) / 2)
    f = lambda w: steps(6, w, np.zeros(3), np.ones((2, 3)))  # noqa: E731
    v = RNG.normal(size=(3, 3))
    h = 1e-5
    expected = (af.grad(f)(w.value + h * v) - af.grad(f)(w.value - h * v)) / (2 * h)
    np.testing.assert_allclose(af.hvp(f, w.value, v), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex128])
def test_other_dtypes(dtype):
    def f(w):
        h = np.full((2, 3), 0.5, dtype)
        for _ in range(6):
            h = h @ w
        return np.abs(h * h).sum()

    w = af.Variable(np.eye(3, dtype=dtype) * dtype(0.5))
    f(w).backward()
    assert w.grad.dtype == dtype


def test_what_does_not_wait():
    """Large arrays would stay in memory until the last has come, half precision would lose digits, and where nothing
    was broadcast there is nothing to save."""
    x, large = np.ones((3, 4)), np.ones((100, 50))
    half = x.astype(np.float16)
    plus = deferred.DEFERRED[deferred.PULLS[np.add][1]]
    assert type(deferred.product_y(x, (x, x.T, x))) is deferred.Deferred
    assert type(deferred.product_y(large, (large, large.T, large))) is np.ndarray
    assert type(deferred.product_y(half, (half, half.T, half))) is np.ndarray
    assert type(plus(x, (x, x[0], x))) is deferred.Deferred
    assert plus(x, (x, x, x)) is x
