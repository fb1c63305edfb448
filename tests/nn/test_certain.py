"""Losses and attention where probabilities are 0 or 1: the right answer costs nothing, the worst one is left."""

import itertools
import math

import numpy as np
import pytest

import autoflow as af
from autoflow import nn

DTYPES = [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_cross_entropy_leaves_the_worst_prediction(dtype):
    tiny = float(np.finfo(dtype).smallest_subnormal)
    near = float(np.nextafter(dtype(1), dtype(0)))
    for x, t in itertools.product((0.0, tiny, 1e-3, 0.5, near, 1.0), (0.0, 0.25, 1.0)):
        w, target = af.Variable(np.array([x], dtype)), np.array([t], dtype)
        z = nn.binary_cross_entropy(w, target, reduction="sum")
        z.backward()
        x = float(w.value[0])
        logs = [max(math.log(p), -100) if p else -100 for p in (x, 1 - x)]
        np.testing.assert_allclose(float(z), -t * logs[0] - (1 - t) * logs[1], rtol=2e-3, atol=1e-4)
        assert np.isfinite(w.grad).all()
        assert z.dtype == dtype
        wrong = x - t
        if wrong:
            assert np.sign(w.grad[0]) == np.sign(wrong)
            assert abs(float(w.grad[0])) > 0.1
        elif t in (0, 1):
            assert abs(float(w.grad[0])) <= 1.01


def test_a_worst_prediction_is_learned():
    w = af.Variable(np.array([0.0, 1.0]))
    adam = af.optim.Adam([w], lr=0.05)
    for _ in range(20):
        adam.zero_grad()
        nn.binary_cross_entropy(np.clip(w, 0, 1), np.array([1.0, 0.0])).backward()
        adam.step()
    assert w.value[0] > 0.1
    assert w.value[1] < 0.9


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_impossible_classes(smoothing):
    scores = np.array([[0.0, -np.inf, 1.0], [1000.0, -1000.0, 0.0]])
    certain = np.array([[0.25, 0.0, 0.75], [0.0, 1.0, 0.0]])
    x, p = af.Variable(scores), af.Variable(certain)
    z = nn.cross_entropy(x, p, reduction="none", label_smoothing=smoothing)
    if smoothing:  # a class that cannot be, and must be
        assert z.value[0] == np.inf
        return
    np.testing.assert_allclose(z.value, [math.log(1 + math.e) - 0.75, 2000.0])
    z.backward(np.ones(2))
    e = math.e
    np.testing.assert_allclose(x.grad, [[1 / (1 + e) - 0.25, 0, e / (1 + e) - 0.75], [1, -1, 0]], atol=1e-15)
    np.testing.assert_allclose(p.grad, [[math.log(1 + e), 0, math.log(1 + e) - 1], [0, 2000, 1000]])


@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div_of_impossible_classes(log_target):
    with np.errstate(divide="ignore"):
        x, t = af.Variable(np.log([0.0, 0.5, 0.5])), af.Variable(np.array([0.0, 0.25, 0.75]))
        given = af.Variable(np.log(t.value)) if log_target else t
    z = nn.kl_div(x, given, reduction="sum", log_target=log_target)
    z.backward()
    np.testing.assert_allclose(float(z), 0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    np.testing.assert_allclose(x.grad, -t.value)
    assert np.isfinite(given.grad).all()


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 2, 3)])
def test_attention_with_a_row_that_sees_nothing(shape):
    """−∞ is as False: the same values and gradients, zeros for a query that sees nothing."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        seen = rng.random(shape) < 0.4
        numbers = [rng.normal(size=(*shape[:-2], n, 2)) for n in (shape[-2], 3, 3)]
        results = []
        for mask in (seen, np.where(seen, 0.0, -np.inf)):
            operands = [af.Variable(x) for x in numbers]
            z = nn.scaled_dot_product_attention(*operands, mask)
            (z * z).sum().backward()
            results.append([z.value, *[x.grad for x in operands]])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
        assert (results[1][0][~seen.any(axis=-1)] == 0).all()
