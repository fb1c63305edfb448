"""Derivatives of derivatives: transforms nest, and do not confuse whose derivative is whose."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError


def test_grad():
    g = af.grad(lambda x, y: np.sum(x * x * y))
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(g(x, y), 2 * x * y)
    np.testing.assert_array_equal(af.grad(lambda x, y: np.sum(x * x * y), 1)(x, y), x * x)
    gx, gy = af.grad(lambda x, y: np.sum(x * x * y), (0, 1))(x, y)
    np.testing.assert_array_equal(gy, x * x)
    assert type(gx) is np.ndarray
    assert type(g(x, y)) is np.ndarray
    value, slope = af.value_and_grad(lambda x: x * x)(3.0)
    assert (value, slope) == (9.0, 6.0)
    assert slope.shape == ()


def test_grad_touches_no_grad():
    x = af.Variable(3.0)
    assert float(af.grad(lambda v: v * x)(2.0)) == 3.0
    assert x.grad is None


def test_high_order():
    f = np.sin
    for k, want in enumerate((np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7), np.cos(0.7), -np.sin(0.7))):
        f = af.grad(f)
        np.testing.assert_allclose(f(0.7), want, rtol=1e-12, err_msg=str(k))
    assert af.grad(af.grad(lambda x: 2 * x))(1.0) == 0.0
    assert af.grad(af.grad(af.grad(lambda x: x * x)))(1.0) == 0.0


def test_perturbation_confusion():
    assert af.grad(lambda x: x * af.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert af.grad(lambda x: x * af.grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert af.grad(lambda x: x * af.grad(lambda x: x * x)(x))(3.0) == 12.0
    assert af.grad(lambda x: af.grad(lambda y: af.grad(lambda x: x * y)(x) * x)(x))(5.0) == 2 * 0 + 1.0


def test_a_captured_variable_is_differentiated_through_the_inner_gradient():
    x = af.Variable(2.0)
    inner = af.grad(lambda y: x * x * y)
    outer = af.grad(lambda v: af.grad(lambda y: v * v * y)(1.0))
    assert inner(1.0) == 4.0
    assert outer(2.0) == 4.0


def test_gradient_penalty():
    w0, x = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]])

    def penalty(w):
        g = af.grad(lambda v: np.sum(np.tanh(v @ w)))(x)
        return np.sum(g * g)

    got = af.grad(penalty)(w0)
    numeric = [(penalty(w0 + h) - penalty(w0 - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(got, numeric, rtol=1e-6)


def test_refusals():
    with pytest.raises(TypeError, match="returned shape"):
        af.grad(lambda x: x * 2)(np.ones(3))
    with pytest.raises(LostGradientError, match="depends on none of the arguments"):
        af.grad(lambda x: 3.0)(1.0)
    with pytest.raises(LostGradientError, match="x.value"):
        af.grad(lambda x: x.value * 2)(1.0)
    assert af.grad(lambda x: 3.0, allow_unused=True)(1.0) == 0.0
    _gx, gy = af.grad(lambda x, y: x * x, (0, 1))(3.0, np.ones(2))
    np.testing.assert_array_equal(gy, [0.0, 0.0])


def test_works_inside_no_grad():
    with af.no_grad():
        assert af.grad(lambda x: x**3)(2.0) == 12.0
    assert af.is_grad_enabled()


def test_the_result_may_be_the_argument():
    assert af.grad(lambda x: x)(3.0) == 1.0
    assert af.grad(lambda x: af.grad(lambda y: y)(x) * x)(3.0) == 1.0
