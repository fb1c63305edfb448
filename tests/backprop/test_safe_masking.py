"""af.safe_masking(): in a backward pass a zero gradient stays zero, whatever it is multiplied with."""

import numpy as np
import pytest

import autoflow as af
from autoflow.backprop.anomaly import safe_masking
from autoflow.errors import LostGradientError

pytestmark = pytest.mark.usefixtures("rows_as_before")


def masked(x):
    return np.where(x > 0, np.log(x), 0.0).sum()


@pytest.fixture
def x():
    return af.Variable([-1.0, 0.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zero_times_infinity(x):
    masked(x).backward()
    assert np.isnan(x.grad[1])
    x.zero_grad()
    with safe_masking():
        masked(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.5]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_read_at_backward(x):
    with safe_masking():
        z = masked(x)
    z.backward()
    assert np.isnan(x.grad[1])


def test_numbers():
    for f in (np.sqrt, np.log):
        x = af.Variable(0.0)
        with np.errstate(all="ignore"):
            z = f(x) * 0.0
        with safe_masking():
            z.backward()
        assert x.grad == 0


def test_broadcast_operand_is_summed_afterwards():
    y = af.Variable(0.0)
    with np.errstate(all="ignore"):
        z = np.where(np.array([True, True]), 1.0, np.ones(2) / y).sum()
    with safe_masking():
        z.backward()
    assert y.grad == 0


def test_true_infinities_stay():
    x = af.Variable([0.0, 4.0])
    with safe_masking():
        np.sqrt(x).sum().backward()
    assert x.grad.tolist() == [np.inf, 0.25]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_second_derivatives(x):
    with safe_masking():
        masked(x).backward(create_graph=True)
        g = x.grad
        x.zero_grad()
        g.sum().backward()
    assert plain(x.grad) == [0.0, 0.0, -0.25]


def plain(a):
    return np.asarray(getattr(a, "value", a)).tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex():
    x = af.Variable(np.array([0.0, 2.0 + 1.0j]))
    z = np.where(np.array([False, True]), np.log(x), 0.0).real.sum()
    with safe_masking():
        z.backward()
    np.testing.assert_allclose(x.grad, [0.0, np.conj(1 / (2.0 + 1.0j))])


def test_as_a_decorator():
    x = af.Variable(0.0)
    with np.errstate(all="ignore"):
        z = np.sqrt(x) * 0.0

    @safe_masking
    def back():
        z.backward()

    back()
    assert x.grad == 0


def user_made(derivative):
    return af.primitive(lambda x, y: x * x + 0 * y, elementwise=True).defvjp(x=derivative, y=lambda g: 0 * g)


@pytest.mark.parametrize("y", [1.0, [1.0, 2.0], [[1.0], [2.0]]])
def test_derivatives_of_users_are_checked_as_always(y):
    x, y = af.Variable([1.0, 2.0]), af.Variable(y)
    with safe_masking(), pytest.raises(ValueError, match="read-only"):
        user_made(lambda g, x: np.multiply(g, 2 * x, out=g))(x, y).sum().backward()


def test_derivatives_of_users_that_lose_their_history_are_found():
    x, y = af.Variable([1.0, 2.0]), af.Variable(1.0)
    with safe_masking(), pytest.raises(LostGradientError, match="lost the history"):
        (user_made(lambda g, x: np.asarray(g) * 2 * x)(x, y) ** 2).sum().backward(create_graph=True)


@pytest.mark.parametrize("shape", [(), (2,), (3, 1), (1, 1), (3, 2)])
def test_a_primitive_whose_forward_rule_reads_more(shape):
    f = af.primitive(lambda x, y: x * y, elementwise=True).defvjp(x=lambda g, y: g * y, y=lambda g, x: g * x)
    f.defjvp(x=lambda t, x, y: t * y + 0 * x)
    x, y = af.Variable(np.full(shape, 3.0)), af.Variable(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    with safe_masking():
        np.sum(f(x, y) ** 2).backward()
    squares = np.broadcast_to(2 * 3.0 * y.value**2, (3, 2))
    kept = [k for k in range(2) if shape[::-1][k : k + 1] in ((), (1,))]
    np.testing.assert_array_equal(x.grad, squares.sum(tuple([1 - k for k in kept]), keepdims=True).reshape(shape))


OPERATIONS = [np.multiply, np.divide, np.subtract, np.maximum, np.hypot, lambda x, y: np.exp(x) * y, np.arctan2]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", OPERATIONS)
@pytest.mark.parametrize("shapes", [[(200, 300)] * 2, [(200, 300), (300,)], [(200, 1), (300,)], [(1, 1), (40, 1)]])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_where_no_gradient_is_zero_nothing_changes(f, shapes, dtype):
    """Also of large arrays, whose gradients are written over those that are no longer used."""
    numbers = [np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=dtype).reshape(shape) for shape in shapes]
    found = []
    for mode in (True, False):
        x, y = map(af.Variable, numbers)
        with safe_masking() if mode else af.enable_grad():
            (f(x, y) * x * y).sum().backward()
        found.append([x.grad, y.grad])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
