"""Tiny and huge gradients in each float: steps are computed in float32 at least, and no norm overflows."""

import numpy as np
import pytest
from optimisers import CASES, IDS

import autoflow as af
from autoflow import optim
from autoflow.errors import AnomalyError


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_float16_steps_are_those_of_float64(name, options):
    """Ten steps: rounded after each, but nothing vanishes or overflows on the way."""
    for size in (0.0, 1e-7, 1e-3, 1.0, 300.0, 6e4):
        rng = np.random.default_rng(0)
        x = rng.normal(size=5).astype(np.float16)
        half, double = af.Variable(x.copy()), af.Variable(x.astype(float))
        how = options | {"lr": 1e-2 if size <= 1 or name != "SGD" else 1e-5}
        steps = [getattr(optim, name)([w], **how) for w in (half, double)]
        for _ in range(10):
            half.grad = (size * rng.uniform(-1, 1, size=5)).astype(np.float16)
            double.grad = half.grad.astype(float)
            for step in steps:
                step.step()
        assert half.dtype == np.float16
        np.testing.assert_allclose(half.value, double.value, rtol=1e-2, atol=2e-2, err_msg=f"gradients of {size}")


HUGE = [*[(np.float32, size) for size in (1e15, 1e20, 1e37)], (np.float64, 1e200), (np.float64, 1e307)]


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_huge_gradients_make_the_right_step_or_none(name, options):
    for dtype, size in HUGE:
        w, double = af.Variable(np.ones(3, dtype)), af.Variable(np.ones(3, np.longdouble))
        step, exact = (getattr(optim, name)([v], **(options | {"lr": 0.01})) for v in (w, double))
        w.grad = dtype(size) * np.array([1, -1, 0.5], dtype)
        double.grad = w.grad.astype(np.longdouble)
        before = step.state_dict()
        exact.step()
        try:
            step.step()
        except AnomalyError as error:
            assert "would leave" in str(error)  # noqa: PT017 - or the step is right
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
