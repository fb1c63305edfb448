"""af.safe_masking(): in a backward pass a zero gradient stays zero, whatever it is multiplied with."""

import numpy as np
import pytest

import autoflow as af
from autoflow.backprop.anomaly import safe_masking
from autoflow.errors import LostGradientError

pytestmark = pytest.mark.usefixtures("rows_as_before")


def masked(x):
    return np.where(x > 0, np.log(x), 0.0).sum()


@pytest.mark.parametrize(("f", "point", "slope"), [
    (masked, [-1.0, 0.0, 2.0], [0.0, 0.0, 0.5]),
    (lambda x: np.sqrt(x) * 0.0, 0.0, 0.0), (lambda x: np.log(x) * 0.0, 0.0, 0.0),
    (lambda y: np.where([True, True], 1.0, np.ones(2) / y).sum(), 0.0, 0.0),  # summed after it was masked
    (lambda x: np.sqrt(x).sum(), [0.0, 4.0], [np.inf, 0.25]),  # true infinities stay
    (lambda x: np.where([False, True], np.log(x), 0.0).real.sum(), [0.0, 2 + 1j], [0.0, np.conj(1 / (2 + 1j))]),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zero_times_infinity(f, point, slope):
    x = af.Variable(point)
    safe_masking(f(x).backward)()
    np.testing.assert_allclose(x.grad, slope, rtol=1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_it_is_asked_in_the_pass_and_again_in_a_second_one():
    x = af.Variable([-1.0, 0.0, 2.0])
    with safe_masking():
        z = masked(x)
    assert np.isnan(af.gradients(z)[x][1])
    with safe_masking():
        (g,) = af.gradients(z, [x], create_graph=True)
        (second,) = af.gradients(g.sum(), [x])
    assert second.tolist() == [0.0, 0.0, -0.25]


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
    (right,) = af.gradients(np.sum((x * y) ** 2), [x])
    np.testing.assert_array_equal(x.grad, right)


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
