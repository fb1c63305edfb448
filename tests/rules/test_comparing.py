"""maximum, minimum, fmax, fmin: of large arrays they keep a byte for each element instead of their operands."""

import numpy as np
import pytest
from support import row_restored

import autoflow as af

FUNCTIONS = [np.maximum, np.minimum, np.fmax, np.fmin]
SHAPES = [((6, 5), (6, 5)), ((6, 5), ()), ((), (6, 5)), ((6, 1), (5,)), ((5,), (6, 5)), ((1, 5), (6, 5))]


def draw(shape, seed, dtype):
    """Numbers with ties, infinities and NaNs."""
    x = np.random.default_rng(seed).choice([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan], size=shape)
    return np.asarray(x, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("one", "two"), SHAPES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_large_and_small_arrays_have_the_same_gradients(function, one, two, dtype):
    x, y = draw(one, 0, dtype), draw(two, 1, dtype)
    weights = np.arange(30, dtype=dtype).reshape(6, 5)

    def gradients(keep, argnums):
        with af.options(keep=keep), np.errstate(invalid="ignore"):
            found = af.grad(lambda *given: np.sum(function(*given) * weights), argnums)(x, y)
        return found if isinstance(found, tuple) else (found,)

    for argnums in (0, 1, (0, 1)):
        for large, small in zip(gradients(0, argnums), gradients(1000, argnums), strict=True):
            assert large.dtype == dtype
            assert large.shape == small.shape
            np.testing.assert_array_equal(np.asarray(large), np.asarray(small))
    if one == two:  # what goes to both together is what came in, or nothing where the answer is NaN by a NaN
        assert np.all((np.sum(gradients(1000, (0, 1)), axis=0) == weights) | np.isnan(x) | np.isnan(y))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_byte_is_kept_for_each_element(function):
    x, y = af.Variable(np.linspace(-1, 1, 5000)), np.zeros(5000)
    one, both = function(x * 1.0, y), function(x * 1.0, x * 2.0)
    assert [v.dtype for v in one.grad_fn.saved if type(v) is np.ndarray] == [np.int8]
    assert [v.dtype for v in both.grad_fn.saved if type(v) is np.ndarray] == [np.int8, np.int8]
    assert one.grad_fn.rule.name == both.grad_fn.rule.name == function.__name__
    small = function(x[:10] * 1.0, y[:10])
    assert np.int8 not in [v.dtype for v in small.grad_fn.saved if type(v) is np.ndarray]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_operands_may_be_written_into(function):
    x = np.random.default_rng(2).normal(size=5000)

    def f(x, in_place):
        h = x * 2.0
        h = function(h, -0.5, out=h) if in_place else function(h, -0.5)
        return np.sum(h * h)

    np.testing.assert_array_equal(af.grad(f)(x, True), af.grad(f)(x, False))


def test_what_is_built_on_it_works_with_large_arrays():
    x, y = [np.random.default_rng(seed).normal(size=(50, 100)) for seed in (3, 4)]

    def f(x, y):
        return np.sum(np.maximum(x, y) ** 3 + np.fmin(x * y, 0.1))

    by_hand = 3 * np.maximum(x, y) ** 2 * (x > y) + y * (x * y < 0.1)
    for grad in (af.grad(f), af.compile(af.grad(f)), af.grad(af.checkpoint(f)), af.safe_masking()(af.grad(f))):
        np.testing.assert_allclose(grad(x, y), by_hand, rtol=1e-13)
    np.testing.assert_allclose(af.vmap(af.grad(f))(x[:, None], y[:, None])[:, 0], by_hand, rtol=1e-13)
    second = 6 * np.maximum(x, y) * (x > y)
    np.testing.assert_allclose(af.hvp(lambda x: f(x, y), x, np.ones_like(x)), second, rtol=1e-13, atol=1e-14)
    node = af.Variable(x)
    assert f(node, y).replay({node: y}) == f(y, y)


def test_a_rule_of_a_user_does_not_know_of_it():
    f, x = af.grad(lambda x: np.sum(np.maximum(x, 0.0))), np.zeros(5000)
    np.testing.assert_array_equal(f(x), 0.5)
    with row_restored(np.maximum):
        af.register_rule(np.maximum, x=lambda g, x, y: g * (x >= y), y=lambda g, x, y: g * (y > x), replace=True)
        np.testing.assert_array_equal(f(x), 1.0)
    np.testing.assert_array_equal(f(x), 0.5)
