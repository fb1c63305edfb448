"""Arrays built of parts: choosing, inserting, windows, ranges, loops; np.emath; the parts of floats."""

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af
from autoflow.errors import NoRuleError

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
S = np.array(1.25)
windows = np.lib.stride_tricks.sliding_window_view


@pytest.mark.parametrize(("f", "xs"), [
    (lambda x: np.delete(x, slice(None, None, 2)), (A,)), (lambda x: np.delete(x, [True, False], 0), (A,)),
    (lambda x: np.insert(x, slice(0, 2), [7, 8]), (V,)),
    (lambda x: np.piecewise(x, x > 0, [lambda t, a: a * t, lambda t, a: t], 2.0), (V,)),
    (lambda x: np.piecewise(x, [x > 0], [np.exp]), (S,)), (lambda x: np.geomspace(x, 8.0, 3, endpoint=False), (S,)),
    (lambda x: np.add.reduceat(x, []), (A,)), (lambda x: np.fmax.reduceat(x, [], axis=1), (A,)),
    (lambda x: np.add.accumulate(x, axis=(1,)), (A,)),
    (lambda x: x * (2 + np.ndim(np.linspace(x, x, 1, retstep=True)[1])), (V,)),
    (lambda x: np.apply_over_axes(np.cumsum, x, 1), (A,)), (lambda x: np.r_[x, 1.0, x[:2]], (V,)),
    (lambda x: np.r_[0.0, x], (V,)), (lambda x: np.c_[x, x], (A,)), (lambda x: np.real_if_close(x) * 1.0, (V,)),
])  # fmt: skip
def test_values_and_derivatives(f, xs):
    check(f, *xs)


def test_plain_parts_of_floats():
    x = af.Variable(A)
    fraction, whole = np.modf(x)
    assert same_bits(whole.value, np.modf(A)[1])
    (whole + fraction).sum().backward()
    np.testing.assert_array_equal(x.grad, 1.0)
    assert type(np.frexp(x)[1]) is np.ndarray
    assert same_bits(np.frexp(x)[1], np.frexp(A)[1])


def test_what_has_no_gradient_is_plain_or_empty():
    z = np.linspace(af.Variable(0.0), 4.0, 5, dtype=int)
    assert isinstance(z, af.Constant)
    assert z.value.tolist() == [0, 1, 2, 3, 4]
    assert np.trim_zeros(af.Variable(np.zeros(3))).shape == (0,)


def test_windows_are_copies():
    x = af.Variable(V) * 1.0
    z = windows(x, 2)
    x[0] = 9.0
    assert z.value[0, 0] == 0.5
    with pytest.raises(NoRuleError, match="windows of a node are copies"):
        windows(x, 2, writeable=True)


def test_select_of_numbers():
    """The result has no axes: it is made to be written into, as a node."""
    x = af.Variable(2.0)
    z = np.select([x > 3, x > 1], [x, x * x], 0.0)
    z.backward()
    assert (z.value, x.grad) == (4.0, 4.0)
