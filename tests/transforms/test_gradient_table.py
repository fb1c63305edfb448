"""Gradients in a container of their own."""

import pickle

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import GradientShapeError, LostGradientError
from autoflow.transforms.gradient import Gradients, gradients


@pytest.fixture
def x():
    return af.Variable([1.0, 2.0], name="x")


@pytest.fixture
def w():
    return af.Variable(3.0, name="w")


def test_grad_is_left_alone(x, w):
    x.grad = np.array([7.0, 7.0])
    grads = gradients(np.sum(x * w), [x, w])
    np.testing.assert_array_equal(grads[x], [3.0, 3.0])
    assert grads[w] == 3.0
    assert type(grads[w]) is np.ndarray
    np.testing.assert_array_equal(x.grad, [7.0, 7.0])
    assert w.grad is None


def test_like_a_dict(x, w):
    grads = gradients(np.sum(x * w))
    assert all(a is b for a, b in zip(grads.keys(), [x, w], strict=True))
    assert all(a is b for a, b in zip(grads, grads.values(), strict=True))
    assert len(grads) == 2
    assert x in grads
    assert af.Variable(1.0) not in grads
    assert np.ones(2) not in grads
    assert [g.shape for _, g in grads.items()] == [g.shape for g in grads.values()] == [(2,), ()]
    assert repr(grads) == "Gradients(x: float64[2], w: float64[])"
    assert grads.pop(w) == 3.0
    assert w not in grads
    assert grads.pop(w, None) is grads.get(w) is None
    with pytest.raises(KeyError, match=r"no gradient of w.*those of x"):
        grads[w]
    with pytest.raises(KeyError, match="w"):
        grads.pop(w)
    assert repr(Gradients()) == "Gradients(of nothing)"


def test_unpacking_gives_the_gradients_in_the_order_asked_for(x, w):
    loss = np.sum(x * w)
    gw, gx = gradients(loss, [w, x])
    np.testing.assert_array_equal(gx, [3.0, 3.0])
    assert (gw, type(gw), type(gx)) == (3.0, np.ndarray, np.ndarray)
    h = x * w
    gx, gh, gw = gradients(np.sum(h), {"x": x, "others": (h, w)})
    np.testing.assert_array_equal(gh, [1.0, 1.0])
    assert gw == 3.0
    (slope,) = gradients(x @ x * w, [w], create_graph=True)
    (back,) = gradients(slope, [x])
    np.testing.assert_array_equal(back, 2 * x.value)
    assert dict(gradients(loss, [x]).items()).keys() == {x}


def test_replace(x, w):
    grads = gradients(np.sum(x * w))
    grads.replace(x, [1, 2])
    np.testing.assert_array_equal(grads[x], [1.0, 2.0])
    assert grads[x].dtype == np.float64
    with pytest.raises(GradientShapeError, match="shape"):
        grads.replace(x, 1.0)
    with pytest.raises(TypeError, match="pop"):
        grads.replace(x, None)
    with pytest.raises(KeyError):
        grads.replace(af.Variable(1.0), 1.0)


def test_which_nodes(x, w):
    other, h = af.Variable(np.ones(3)), x * w
    loss = np.sum(h * h)
    np.testing.assert_array_equal(gradients(loss, x)[x], 18 * x.value)
    grads = gradients(loss, {"inner": h, "leaves": (x, other)})
    np.testing.assert_array_equal(grads[h], 2 * h.value)
    np.testing.assert_array_equal(grads[x], 18 * x.value)
    np.testing.assert_array_equal(grads[other], np.zeros(3))
    w.requires_grad = False
    for args, words in (
        ((loss, [other]), "none of"), ((loss, [x, af.Constant(1.0)]), "Constant"), ((loss, [w]), "frozen"),
        ((af.Constant(1.0),), "Constant"),
    ):  # fmt: skip
        with pytest.raises(LostGradientError, match=words):
            gradients(*args)
    assert len(gradients(loss, [])) == 0


def test_seed_and_dtype(x):
    y = af.Variable(np.ones(2, np.float32))
    grads = gradients(x * y, [x, y], seed=[1.0, 10.0])
    np.testing.assert_array_equal(grads[x], [1.0, 10.0])
    np.testing.assert_array_equal(grads[y], [1.0, 20.0])
    assert grads[y].dtype == np.float32


def test_sums(x, w):
    a, b = gradients(np.sum(x * w)), gradients(w * w)
    total = a + b
    assert total[w] == 9.0
    np.testing.assert_array_equal(total[x], [3.0, 3.0])
    assert a[w] == 3.0
    assert type(total[w]) is np.ndarray
    assert not np.shares_memory(total[x], a[x])
    same = a
    a += b
    assert same is a
    assert a[w] == sum([b, b])[w] - 3.0 == 9.0
    b += total
    assert not np.shares_memory(b[x], total[x])
    with pytest.raises(TypeError):
        a + 1


def test_pickle(x, w):
    grads = gradients(np.sum(x * w), [w, x])
    again = pickle.loads(pickle.dumps(grads))
    assert [v.name for v, _ in again.items()] == ["w", "x"]
    assert all(isinstance(v, af.Variable) for v, _ in again.items())
    here = again.on([w, x])
    np.testing.assert_array_equal(here[x], grads[x])
    assert here[w] == grads[w]
    with pytest.raises(ValueError, match="2 gradients for 1"):
        again.on(x)
    with pytest.raises(GradientShapeError):
        again.on([x, w])


def test_shares_nothing_and_does_no_work_for_others(x, w):
    y = af.Variable([1.0, 1.0])
    grads = gradients(np.sum(x + y))
    grads[x][0] = 5.0
    np.testing.assert_array_equal(grads[y], [1.0, 1.0])
    z = af.Operation.create_node(3.0, "watched", w)
    z.grad_fn = lambda g: 1 // 0
    gradients(np.sum(x * z), [x])
