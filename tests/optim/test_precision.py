"""Tiny and huge gradients in each float: steps are computed in float32 at least, and no norm overflows."""

import numpy as np
import pytest
from optimisers import CASES, IDS

import autoflow as af
from autoflow import optim
from autoflow.errors import AnomalyError

SIZES = (0.0, 1e-7, 1e-3, 1.0, 300.0, 6e4)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_float16_steps_are_those_of_float64(name, options):
    """Ten steps: rounded after each, but nothing vanishes or overflows on the way."""
    for size in SIZES:
        check_float16(name, options, size)


def check_float16(name, options, size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=5).astype(np.float16)
    half, double = af.Variable(x.copy()), af.Variable(x.astype(float))
    steps = [getattr(optim, name)([w], **(options | {"lr": 1e-2 if size <= 1 or name != "SGD" else 1e-5}))
             for w in (half, double)]  # fmt: skip
    for _ in range(10):
        g = (size * rng.uniform(-1, 1, size=5)).astype(np.float16)
        half.grad, double.grad = g, g.astype(float)
        for step in steps:
            step.step()
    assert half.dtype == np.float16
    np.testing.assert_allclose(half.value, double.value, rtol=1e-2, atol=2e-2, err_msg=f"gradients of {size}")


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_huge_gradients_make_the_right_step_or_none(name, options):
    for dtype, sizes in ((np.float32, (1e15, 1e20, 1e37)), (np.float64, (1e200, 1e307))):
        for size in sizes:
            check_huge(name, options, dtype, size)


def check_huge(name, options, dtype, size):
    w, double = af.Variable(np.ones(3, dtype)), af.Variable(np.ones(3, np.longdouble))
    step, exact = (getattr(optim, name)([v], **(options | {"lr": 0.01})) for v in (w, double))
    g = dtype(size) * np.array([1, -1, 0.5], dtype)
    w.grad, double.grad = g, g.astype(np.longdouble)
    before = step.state_dict()
    exact.step()
    refused = ""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            step.step()
    except AnomalyError as error:
        refused = str(error)
    if refused:
        assert "would leave" in refused
        assert w.value.tolist() == [1, 1, 1]
        for key, value in step.state_dict().items():
            np.testing.assert_array_equal(value, before[key])
    else:
        np.testing.assert_allclose(w.value, double.value.astype(dtype), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, 4000])
@pytest.mark.parametrize("bound", [1e-3, 1.0, 100.0])
def test_the_norm_does_not_overflow(dtype, n, bound):
    tiny, huge = float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).max)
    for size in (0.0, tiny, 1.0, huge**0.5, huge / 100):
        w, v = af.Variable(np.zeros(n, dtype)), af.Variable(np.zeros((), dtype))
        rng = np.random.default_rng(1)
        w.grad, v.grad = (size * rng.choice([-1, 1], n)).astype(dtype), dtype(size)
        before = w.grad.astype(np.longdouble)
        norm = optim.clip_grad_norm([w, v], bound)
        right = np.sqrt((before**2).sum() + np.longdouble(dtype(size)) ** 2)
        np.testing.assert_allclose(norm, float(right), rtol=1e-5, atol=1e-150)
        factor = min(1, bound / (float(right) + 1e-6))
        np.testing.assert_allclose(w.grad.astype(float), (before * factor).astype(dtype), rtol=2 * np.finfo(dtype).eps,
                                   atol=tiny)  # fmt: skip


def test_a_norm_beyond_float64_is_named():
    w = af.Variable(np.zeros(100))
    w.grad = np.full(100, 1.7e308)
    with pytest.raises(AnomalyError, match="the norm is beyond float64, nothing was changed"):
        optim.clip_grad_norm([w], 1.0)
    assert (w.grad == 1.7e308).all()
