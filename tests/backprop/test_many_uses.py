"""Weights with many uses: passes on arrays and passes on nodes, hooks, modes, threads and users' functions."""

import numpy as np
import pytest
from support import row_restored

import autoflow as af

RNG = np.random.default_rng(0)
STEPS = 150


def data(*shape):
    return RNG.standard_normal(shape) * 0.3


def gradients(f, *arrays, recorded=False):
    """Those of a pass on arrays, or of one that is recorded."""
    variables = [af.Variable(a) for a in arrays]
    f(*variables).backward(create_graph=recorded)
    return [v.grad.value if recorded else v.grad for v in variables]


def right(w, b):
    h = np.zeros((3, 4), w.dtype)
    for t in range(STEPS):
        h = np.tanh(X[t].astype(w.dtype) @ w + h @ w + b)
    return (h * h).sum()


def left(w, b):
    h = np.zeros((4, 3))
    for _ in range(STEPS):
        h = np.tanh(w @ h + w @ np.ones((4, 3))) + (b + np.zeros((4, 4)))[:, :3]
    return (h * h).sum()


def vectors(w, b):
    h = np.zeros(4)
    for t in range(STEPS):
        h = np.tanh(w @ h + X[t, 0] @ w + b)
    return h @ h


def of_operations(w, b):
    u, c = w.T, b * 2.0
    h = np.zeros((3, 4))
    for t in range(STEPS):
        h = np.tanh(c + X[t] @ u + h @ u)
    return (h * h).sum() + (u * u).sum() + (c * c).sum()


def other_shapes_too(w, b):
    total = 0.0
    for t in range(STEPS):
        total = total + (X[t] @ w).sum() + (X[: 1 + t % 3] @ w).sum() + (w + b).sum() + (X[t, 0] + b).sum()
    return total + (w * w).sum()


def of_complex_numbers(w):
    return sum([np.abs(w @ (z * np.ones((2, 2)))).sum() for z in (1.0, 1j, 2.0) * 5])


def of_large_matrices(w):
    return sum([np.tanh(np.full((65, 65), t / 65) @ w).sum() for t in range(20)])


X = data(STEPS, 3, 4)
SINGLE = [data(4, 4).astype(np.float32), data(4).astype(np.float32)]


@pytest.mark.parametrize(("f", "arrays"), [
    *[(f, [data(4, 4), data(4)]) for f in (right, left, vectors, of_operations, other_shapes_too)], (right, SINGLE),
    *[(of_complex_numbers, [data(2, 2) + z]) for z in (0, 1j)], (of_large_matrices, [data(65, 65)]),
])  # fmt: skip
def test_they_are_those_of_a_recorded_pass(f, arrays):
    for x, ours, expected in zip(arrays, gradients(f, *arrays), gradients(f, *arrays, recorded=True), strict=True):
        assert ours.dtype == expected.dtype == x.dtype
        assert ours.shape == expected.shape
        error = 2e-5 if x.dtype == np.float32 else 1e-13
        assert np.max(np.abs(ours - expected)) <= error * np.max(np.abs(ours))


def test_hooks_see_the_whole_gradient():
    w = af.Variable(data(4, 4))
    seen = []
    w.register_hook(seen.append)
    u = w * 1.0
    u.register_hook(seen.append)
    sum([(X[t] @ u).sum() for t in range(20)]).backward()
    expected = X[:20].sum((0, 1))[:, None] * np.ones(4)
    assert len(seen) == 2
    for g in (*seen, w.grad, u.grad):
        np.testing.assert_allclose(g, expected, rtol=1e-12)


def test_a_pass_that_stops_at_the_weight():
    w, b = af.Variable(data(4, 4)), af.Variable(data(4))
    u = w * 2.0
    loss = right(u, b)
    stopped = af.gradients(loss, [u, b])
    loss.backward()
    np.testing.assert_allclose(stopped[u] * 2.0, w.grad, rtol=1e-12)
    np.testing.assert_allclose(stopped[b], b.grad, rtol=1e-12)


def test_modes_that_watch_every_gradient_see_it():
    w = af.Variable(np.full((2, 2), 3.0))
    with np.errstate(all="ignore"), af.detect_anomaly(), pytest.raises(af.errors.AnomalyError):
        sum([np.sqrt((np.eye(2) * t) @ w).sum() for t in range(12)]).backward()


def test_passes_beside_each_other_put_nothing_into_each_other():
    w = af.Variable(data(4, 4))

    def f(w):
        return sum([(X[t] @ w).sum() for t in range(20)])

    loss = f(w)
    seen = []
    w.register_hook(lambda g: seen.append(af.grad(f)(w.value)) if len(seen) < 1 else None)
    loss.backward()
    np.testing.assert_array_equal(seen[0], w.grad)


def test_a_bias_in_single_precision_is_as_exact_as_before():
    b, x = af.Variable(np.zeros(2, np.float32)), np.full((512, 2), 0.1, np.float32)
    sum([((x + b) * x).sum() for _ in range(64)]).backward()
    np.testing.assert_allclose(b.grad, 64 * 512 * 0.1, rtol=1e-5)


def test_a_rule_that_somebody_has_replaced_is_asked():
    with row_restored(np.matmul):
        af.register_rule(np.matmul, replace=True, x=lambda g, y: 100 * (g @ y.T), y=lambda g, x: 100 * (x.T @ g))
        w = af.Variable(np.eye(2))
        sum([(np.ones((3, 2)) @ w).sum() for _ in range(12)]).backward()
        np.testing.assert_array_equal(w.grad, np.full((2, 2), 12 * 300.0))


def test_what_a_hook_writes_into_was_used_before():
    steps = 12
    w, xs = af.Variable(np.ones((2, 2))), [af.Constant(np.ones((3, 2))) for _ in range(steps)]
    h = np.zeros((3, 2))

    def overwrite(t):
        with af.no_grad():
            xs[t][...] = 0.0

    for t in range(steps):
        z = xs[t] @ w + h * 0.5
        if t < steps - 1:
            z.register_hook(lambda g, t=t: overwrite(t + 1))
        h = z
    h.sum().backward()
    np.testing.assert_allclose(w.grad, 3 * sum([0.5**t for t in range(steps)]))


def test_a_function_of_the_users_may_write_into_its_gradient():
    class Negative(af.Function):
        @staticmethod
        def forward(ctx, x):
            return -x

        @staticmethod
        def backward(ctx, g):
            g *= -1
            return g

    b = af.Variable(np.zeros(2))
    xs = [af.Variable(np.ones((3, 2))) for _ in range(12)]
    sum([((Negative.apply(x) + b) * 1.0).sum() for x in xs]).backward()
    np.testing.assert_array_equal(b.grad, np.full(2, 36.0))


def test_nan_and_infinity_arrive():
    x = af.Variable(np.ones((1, 3)))
    ((x @ np.array([[np.nan], [np.inf], [1.0]])) * 0.0).sum().backward()
    np.testing.assert_array_equal(x.grad, [[np.nan, np.nan, 0.0]])
