"""The rules that keep a program small: which calls are saved, and which not."""

import numpy as np
import pytest
from programs import plan_of

import autoflow as af


def calls(f, *args):
    """The names of the NumPy calls that a compiled ``f`` makes, without views."""
    compiled = af.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(*args), f(*args))
    return [s.value.name for s in plan_of(compiled).steps if s.value.kind != "view"]


X, Y = np.array([[0.5, -1.0], [2.0, 3.0]]), np.array([[1.0, -2.0], [0.0, 4.0]])


@pytest.mark.parametrize(("f", "expected"), [
    (lambda x, y: x * 1.0 + 0 * y.size, ["add"]), (lambda x, y: np.tanh(x) + np.tanh(x), ["tanh", "multiply"]),
    (lambda x, y: (-x) * (-y), ["multiply"]), (lambda x, y: x * -1.0 * -1.0 * y, ["multiply"]),
    (lambda x, y: 2.0 * -x, ["multiply"]), (lambda x, y: -(x * 2.0), ["multiply"]),
    (lambda x, y: (-x) / 4.0, ["divide"]), (lambda x, y: (-x) / (-y + 9.0), ["subtract", "divide", "negative"]),
    (lambda x, y: x - -y, ["add"]), (lambda x, y: x + -y, ["subtract"]), (lambda x, y: -x + y, ["subtract"]),
    (lambda x, y: -x - x, ["multiply"]), (lambda x, y: x * x, ["square"]), (lambda x, y: x**2, ["square"]),
    (lambda x, y: (-x) ** 2, ["square"]), (lambda x, y: +x * y / 1, ["multiply"]),
    (lambda x, y: x * y + y * x, ["multiply", "multiply"]), (lambda x, y: x * np.ones_like(x) * y, ["multiply"]),
    (lambda x, y: x * np.broadcast_to(y[0], (2, 2)), ["multiply"]),
    (lambda x, y: x.T.T.reshape(4).reshape(2, 2) * y, ["multiply"]),
    (lambda x, y: x[:, :1].sum(axis=1) * np.exp(np.zeros(2)), ["add.reduce", "multiply"]),
    (lambda x, y: (np.cos(np.zeros_like(x)) + 1.0) * x, ["multiply"]),
    (lambda x, y: (np.sin(y), x * 2.0)[1], ["multiply"]),  # what nobody needs
])  # fmt: skip
def test_calls_that_are_saved(f, expected):
    assert calls(f, X, Y) == expected


def test_nothing_is_saved_that_would_change_a_result():
    x = np.array([[np.inf, np.nan], [1.0, -0.0]])
    with np.errstate(all="ignore"):
        assert calls(lambda x, y: x * 0.0 + y, x, Y) == ["multiply", "add"]
        assert calls(lambda x, y: (x * 2.0) * 3.0, x, Y) == ["multiply", "multiply"]
        assert calls(lambda x, y: x - x + y, x, Y) == ["subtract", "add"]
    single = X.astype(np.float32)
    assert calls(lambda x: x * 1.0, single) == []
    assert calls(lambda x: x * np.float64(1.0), X) == []
    assert calls(lambda x: x * np.float64(1.0), single) == ["multiply"]  # of single precision it makes double
    assert af.compile(lambda x: x * np.float64(1.0))(single).dtype == np.float64


def test_a_seed_of_ones_is_never_multiplied():
    f = af.grad(lambda x: np.sum(np.exp(x)))
    assert calls(f, X) == ["exp"]
