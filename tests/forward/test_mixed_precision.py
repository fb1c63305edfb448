"""Mixed precision: which operations are cast, and the scale of the loss."""

import numpy as np
import pytest
from checks import gradients
from support import row_restored
from threads import in_threads

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import StateError
from autoflow.forward.mixed_precision import FULL, LOW, GradScaler, autocast
from autoflow.table.table import RULES

HALF, SINGLE = np.float16, np.float32


def variable(*shape, dtype=SINGLE):
    return af.Variable(np.random.default_rng(0).uniform(0.5, 1.0, shape).astype(dtype))


@pytest.mark.parametrize("product", [
    lambda x: x @ x, lambda x: np.matmul(x, x), lambda x: x.value @ x, lambda x: np.dot(x, x), lambda x: x.dot(x),
    lambda x: np.inner(x, x), lambda x: np.einsum("ij,jk->ik", x, x), lambda x: np.tensordot(x, x, 1),
])  # fmt: skip
def test_products_are_low(product):
    x = variable(3, 3)
    with autocast():
        z = product(x)
    assert z.dtype == HALF
    z.sum(dtype=SINGLE).backward()
    assert x.grad.dtype == SINGLE
    assert product(x).dtype == SINGLE
    x64 = variable(3, 3, dtype=np.float64)
    with autocast():
        assert product(x64).dtype == np.float64
        assert (x @ x64).dtype == np.float64


@pytest.mark.parametrize("full", [
    np.exp, np.log, np.sum, np.mean, np.var, lambda x: x.sum(axis=0), lambda x: x**2, lambda x: np.linalg.norm(x),
])  # fmt: skip
def test_delicate_operations_are_full(full):
    x = variable(3, 3, dtype=HALF)
    with autocast():
        z = full(x)
    assert z.dtype == SINGLE
    z.sum().backward()
    assert x.grad.dtype == HALF
    assert full(x).dtype == HALF


@pytest.mark.parametrize("name", ["dot", "norm", "exp", "sum"])
def test_a_function_of_the_user_s_is_not_cast_because_of_its_name(name):
    def own(x):
        return x * 3.0

    own.__name__ = name
    f = af.primitive(own).defvjp(x=lambda g: g * 3.0)
    for dtype in (HALF, SINGLE):
        with autocast():
            assert f(variable(3, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "expected"), [(bool, HALF), (np.int8, HALF), (np.int16, SINGLE), (np.int32, float), (np.int64, float)]
)
def test_a_product_with_whole_numbers_is_low_where_its_result_is(dtype, expected):
    """In float64 the rounded operand would be the error of the whole."""
    x, y = variable(3, 3), np.ones((3, 3), dtype)
    with autocast():
        z = x @ y
    assert z.dtype == expected
    if expected is float:
        np.testing.assert_array_equal(z.value, x.value @ y)


def test_the_rest_promotes():
    x, y = variable(3, dtype=HALF), variable(3)
    with autocast():
        assert (x * y).dtype == np.concatenate([x, y]).dtype == SINGLE
        assert (x * 2.0).dtype == np.tanh(x).dtype == HALF
        with np.errstate(all="raise"):
            assert np.isfinite(np.exp(af.Variable(np.full(70_000, 12.0, HALF))).sum())


def test_nesting_threads_and_decorators():
    x = variable(2, 2)
    with autocast():
        with autocast(enabled=False):
            assert (x @ x).dtype == SINGLE
        assert (x @ x).dtype == HALF
        assert in_threads(lambda: (x @ x).dtype) == [SINGLE]
        with af.no_grad():
            assert (x @ x).dtype == HALF
    assert autocast()(lambda: x @ x)().dtype == HALF
    with pytest.raises(TypeError, match=r"np.float16, not in float64"):
        autocast(np.float64)


def test_gradients_are_those_of_single_precision_roughly():
    x, w = variable(20, 8), variable(8, 8)

    def loss():
        return np.mean(np.tanh(x @ w / 8) ** 2)

    (exact,) = gradients(loss, w)
    (found,) = gradients(autocast()(loss), w)
    np.testing.assert_allclose(found, exact, rtol=2e-2)
    assert found.dtype == SINGLE
    with autocast():
        assert af.gradients(loss(), [w], create_graph=True)[w].dtype == SINGLE


def test_replacing_a_rule_keeps_the_casts():
    with row_restored(np.square) as row:
        af.register_rule(np.square, label="²", latex="$x^2", replace=True, **row.derivatives)
        test_products_are_low(lambda x: x @ x)


class Descent:
    def __init__(self, *parameters):
        self.parameters, self.steps = parameters, 0

    def step(self):
        self.steps += 1


def test_scale_unscale_step_update():
    w = af.Variable(np.ones(2, SINGLE))
    optimizer, scaler = Descent(w, af.Variable(1.0)), GradScaler(interval=2)
    assert (scaler.factor, scaler.growth, scaler.backoff, GradScaler().interval) == (65536.0, 2.0, 0.5, 2000)
    for expected in (65536.0, 131072.0):
        w.zero_grad()
        scaler.scale((w * 3.0).sum()).backward()
        assert np.all(w.grad == 3.0 * scaler.factor)
        scaler.unscale_(optimizer)
        assert np.all(w.grad == 3.0)
        with pytest.raises(RuntimeError, match="has been called"):
            scaler.unscale_(optimizer)
        assert scaler.step(optimizer)
        for call in (scaler.step, scaler.unscale_):
            with pytest.raises(RuntimeError, match="has been called for this optimizer since the last update"):
                call(optimizer)
        assert np.all(w.grad == 3.0)
        scaler.update()
        assert scaler.factor == expected
        with pytest.raises(RuntimeError, match=r"update\(\) comes after step"):
            scaler.update()
    assert optimizer.steps == 2


def test_steps_that_are_not_finite_are_skipped():
    for bad in (np.inf, np.nan):
        w = af.Variable(np.ones(2, SINGLE))
        optimizer, scaler = Descent(w), GradScaler(scale=8.0)
        scaler.scale(w.sum()).backward()
        w.grad = np.array([1.0, bad])
        assert not scaler.step(optimizer)
        scaler.update()
        assert (scaler.factor, optimizer.steps) == (4.0, 0)
        state = scaler.state()
        other = GradScaler()
        other.restore(**state)
        assert other.state() == state


def test_after_an_overflow_gradients_can_be_clipped_and_the_step_is_skipped():
    """As in the recipe: unscale_, clip, step, update."""
    w = af.Variable(np.ones((4, 4), SINGLE))
    optimizer, scaler = af.optim.SGD([w], lr=0.1), GradScaler(scale=2.0**20)
    made = []
    while not (made and made[-1]):
        optimizer.zero_grad()
        with autocast():
            loss = np.sum(w @ w.value)
        with np.errstate(over="ignore"):
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        assert np.isclose(af.optim.clip_grad_norm([w], 1.0), 16 if np.any(w.grad) else 0)
        made.append(scaler.step(optimizer))
        scaler.update()
        assert np.all(w.value == 1) != made[-1]
    assert made[0] is False


def test_small_gradients_survive_scaling():
    """1e-8 is below the smallest float16 number: without scaling it is lost on the way."""
    for scaler, expected in ((GradScaler(), 1e-8), (GradScaler(scale=1.0), 0.0)):
        w = af.Variable(np.ones((1, 1), SINGLE))
        with autocast():
            z = np.sum(w @ w.value) * SINGLE(1e-8)
        scaler.scale(z).backward()
        scaler.unscale_(Descent(w))
        np.testing.assert_allclose(w.grad, [[expected]], rtol=1e-3)


def test_scaler_refuses():
    with pytest.raises(ValueError, match="growth > 1"):
        GradScaler(growth=0.5)
    with pytest.raises(RuntimeError, match=r"update\(\) comes after step"):
        GradScaler().update()
    assert GradScaler().scale(af.Variable(HALF(2.0))).dtype == SINGLE


def test_optimisers_made_in_a_function_are_told_apart():
    """Each is gone when the next is made, which may get its id: all are unscaled and make their step."""
    scaler = GradScaler(scale=1024.0)

    def train(w):
        scaler.scale(w.sum()).backward()
        return scaler.step(optim.SGD([w], lr=0.1))

    leaves = [af.Variable([1.0]) for _ in range(6)]
    assert all([train(w) for w in leaves])
    scaler.update()
    np.testing.assert_allclose([w.value[0] for w in leaves], 0.9)


def test_a_step_that_fails_leaves_scaled_gradients():
    """So the next batch is divided by the scale, too."""
    w, scaler = af.Variable([1.0]), GradScaler(scale=4.0)
    scaler.scale(w.sum()).backward()
    failing = optim.SGD([w], lr=0.5)
    failing.update = lambda *args, **memory: 1 // 0
    with pytest.raises(ZeroDivisionError):
        scaler.step(failing)
    assert w.grad == 4.0
    w.zero_grad()
    scaler.scale(w.sum()).backward()
    assert scaler.step(optim.SGD([w], lr=0.5))
    assert w.value == 0.5


def test_the_scale_stays_finite_and_above_zero():
    """As PyTorch's, which stays where the next one is infinite."""
    for factor, growth, gradient in ((2.0**126, 8.0, 1.0), (2.0**-125, 2.0, np.inf)):
        w = af.Variable([1.0])
        scaler = GradScaler(scale=factor, growth=growth, backoff=0.25, interval=1)
        for _ in range(3):
            w.grad = np.array([gradient * scaler.factor])
            assert scaler.step(Descent(w)) == np.isfinite(gradient)
            scaler.update()
        assert scaler.factor == factor
    for scale in (np.inf, np.nan, 0.0, -1.0, 1e39):
        with pytest.raises(ValueError, match="a finite scale > 0"):
            GradScaler(scale=scale)
        with pytest.raises(StateError, match="is not a scale"):
            scaler.restore(scale, 0)
    with pytest.raises(StateError, match="-1 not a number of steps"):
        scaler.restore(1.0, -1)
    assert scaler.factor == 2.0**-125


def test_a_gradient_that_overflows_when_it_is_divided_is_infinite():
    w = af.Variable(np.ones(1, HALF))
    w.grad = np.array([60_000], HALF)
    assert not GradScaler(scale=0.5).step(Descent(w))


def test_batches_are_added_up_scaled():
    """As in PyTorch: an Accumulation, whose gradients would be divided by the scale in each batch, is refused."""
    w, v = af.Variable([1.0]), af.Variable([1.0])
    sgd, scaler = optim.SGD([w], lr=0.1), GradScaler(scale=64.0)
    plain = optim.Accumulation(optim.SGD([v], lr=0.1), 3)
    for x in (1.0, 2.0, 6.0):
        scaler.scale((w * x).sum() / 3).backward()
        for call in (scaler.step, scaler.unscale_):
            with pytest.raises(TypeError, match=r"no Accumulation: gradients stay scaled.*scaler.step\(optimiser\)"):
                call(plain)
        (v * x).sum().backward()
        plain.step()
    assert scaler.step(sgd)
    scaler.update()
    np.testing.assert_allclose(w.value, v.value, rtol=1e-15)


def test_every_name_in_the_lists_is_that_of_a_row():
    """A word that no row has would cast nothing."""
    assert RULES[nn.losses.bounded_log].name in FULL
    assert not (LOW | FULL) - {rule.name for rule in RULES.values()}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", sorted({*nn.losses.__all__} - {"cross_entropy", "nll_loss"}))
def test_losses_of_half_precision_are_computed_in_single(name, reduction):
    loss, size = getattr(nn, name), 1.0 if name == "binary_cross_entropy" else 300.0
    x, t = af.Variable(np.array([size, 0.5 * size], HALF)), np.ones(2, HALF)
    with autocast():
        z = loss(x, t, reduction=reduction)
    z.sum().backward()
    assert z.dtype == SINGLE
    assert x.grad.dtype == HALF
    right = loss(x.value.astype(SINGLE), t.astype(SINGLE), reduction=reduction)
    np.testing.assert_allclose(z.value, right, rtol=1e-6)
    with autocast():
        scores = af.Variable(np.ones((2, 3), HALF))
        assert nn.cross_entropy(scores, np.zeros(2, int), reduction=reduction).dtype == SINGLE
