"""put, place, putmask, fill_diagonal, put_along_axis, add.at: NumPy's numbers, and gradients of old and new elements."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import InPlaceError, LostGradientError, NoRuleError
from autoflow.forward.inplace import WRITERS, write_at
from autoflow.nodes.nodes import NodeRole

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
Q = np.arange(12.0).reshape(4, 3)
V = np.array([7.0, 8.0, 9.0])
S = np.array(6.0)


def at(ufunc):
    """``ufunc.at``, for plain arrays NumPy's."""
    return lambda a, *args: write_at(ufunc, a, *args) if isinstance(a, NodeRole) else ufunc.at(a, *args)


CALLS = [
    (lambda a, v: np.put(a, [0, 4, 2], v), A, V), (lambda a, v: np.put(a, [0, 4, -1, 2], v[:2]), A, V), (lambda a, v: np.put(a, 1, v), A, S), (lambda a, v: np.put(a, [9, -9, 2], v, mode="clip"), A, V),
    (lambda a, v: np.put(a, [7, -9, 2], v, mode="wrap"), A, V), (lambda a, v: np.put(a, [[0, 1], [2, 3]], v), A, V), (lambda a, v: np.put(a, [1, 1], v), A, V),
    (lambda a, v: np.place(a, A > 0, v), A, V), (lambda a, v: np.place(a, A > 0, v[:2]), A, V), (lambda a, v: np.place(a, A > 9, v), A, V), (lambda a, v: np.place(a, [1, 0, 0, 0, 0, 1], v), A, S),
    (lambda a, v: np.putmask(a, A > 0, v), A, V), (lambda a, v: np.putmask(a, A > 0, v), A, S), (lambda a, v: np.putmask(a, A < 1, v * A), A, V), (lambda a, v: np.putmask(a, A > 9, v), A, V),
    (lambda a, v: np.fill_diagonal(a, v), A, S), (lambda a, v: np.fill_diagonal(a, v), Q, V), (lambda a, v: np.fill_diagonal(a, v, wrap=True), np.arange(14.0).reshape(7, 2), V), (lambda a, v: np.fill_diagonal(a, v), np.zeros((2, 2, 2)), V),
    (lambda a, v: np.put_along_axis(a, np.array([[2, 0, 1]]), v, 1), A, V), (lambda a, v: np.put_along_axis(a, np.array([[1, 0, 1]]), v, 0), A, V), (lambda a, v: np.put_along_axis(a, np.array([5, 0, -2]), v, None), A, V), (lambda a, v: np.put_along_axis(a, np.array([[0, 0, 1]]), v, 1), A, V),
    (lambda a, v: np.put_along_axis(a, np.argmax(A, axis=1)[:, None], v, axis=-1), A, S), (lambda a, v: np.copyto(a, v), A, V), (lambda a, v: np.copyto(a, v, where=A > 0), A, V),
    (lambda a, v: at(np.add)(a, ([0, 1, 0], [1, 2, 1]), v), A, V), (lambda a, v: at(np.add)(a, [0, 0, 1], v), A, V), (lambda a, v: at(np.subtract)(a, (0, [1, 1, 1]), v), A, V), (lambda a, v: at(np.add)(a, 1, v), A, S),
    (lambda a, v: at(np.multiply)(a, (0, [1, 2]), v[:2]), A, V), (lambda a, v: at(np.maximum)(a, (slice(None), 0), v), A, S), (lambda a, v: at(np.negative)(a, 1), A, V), (lambda a, v: at(np.divide)(a, [1], v), A, V),
]  # fmt: skip


@pytest.mark.parametrize(("write", "old", "new"), CALLS)
def test_numbers_and_gradients(write, old, new):
    weights = np.cos(np.arange(old.size)).reshape(old.shape)

    def loss(x, y, make):
        a = make(x)
        write(a, y)
        return np.sum(weights * a * a), a

    x, y = af.Variable(old), af.Variable(new)
    z, a = loss(x, y, lambda x: x * 1.0)
    _, plain = loss(old, new, lambda x: x * 1.0)
    np.testing.assert_array_equal(a.value, plain)
    np.sum(z).backward()
    for k, node in enumerate((x, y)):
        for i in np.ndindex(node.shape):
            e = np.zeros_like(node.value)
            e[i] = 1e-6
            up, down = ([old + s * e, new] if k == 0 else [old, new + s * e] for s in (1, -1))
            slope = (loss(*up, np.array)[0] - loss(*down, np.array)[0]) / 2e-6
            assert (0.0 if node.grad is None else node.grad[i]) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(("write", "old", "new"), CALLS)
def test_into_a_constant_and_not_into_a_variable(write, old, new):
    a, y = af.Constant(old), af.Variable(new)
    write(a, y)
    plain = old.copy()
    write(plain, new)
    np.testing.assert_array_equal(a.value, plain)
    if np.any(plain != old):
        with pytest.raises(InPlaceError):
            write(af.Variable(old), new)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a, v: np.put(a, [6], v), IndexError, "index 6 is out of bounds"), (lambda a, v: np.put(a, [-7], v), IndexError, "index -7"), (lambda a, v: np.put(a.value, [0], v), LostGradientError, "np.put of a node into a plain array"),
        (lambda a, v: np.place(a, [True], v), ValueError, "same size"), (lambda a, v: np.putmask(a, [True], v), ValueError, "same size"), (lambda a, v: np.place(a, A > 0, []), ValueError, "empty"), (lambda a, v: write_at(np.multiply, a, [0, 0], 2.0), NoRuleError, "named twice"),
        (lambda a, v: write_at(np.add, A, [0], v), LostGradientError, "add.at"),
    ],
)  # fmt: skip
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(af.Variable(A) * 1.0, af.Variable(V))


def test_every_writer_of_numpy_is_here():
    from autoflow.table import outside

    assert set(WRITERS) == outside.WRITERS
