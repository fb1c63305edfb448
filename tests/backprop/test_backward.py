"""What a backward pass leaves in ``.grad``, and what it refuses."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError, SeedError


def example():
    x, y, z = (af.Variable(v, name=n) for v, n in ((3.0, "x"), (5.0, "y"), (4.0, "z")))
    a1, a2 = x + y + z, x * y * z
    a3, a4 = a1**2 * np.sin(a2), a1 * np.cos(a2)
    return x, y, z, a1, a2, a3, a4, a3 - a4


def test_the_example_this_project_grew_from():
    x, y, z, a1, a2, a3, a4, a5 = example()
    a5.backward()
    s, c = np.sin(60.0), np.cos(60.0)
    d1, d2 = 2 * 12 * s - c, 144 * c + 12 * s
    np.testing.assert_allclose([x.grad, y.grad, z.grad], [d1 + 20 * d2, d1 + 12 * d2, d1 + 15 * d2], rtol=1e-13)
    np.testing.assert_allclose([a1.grad, a2.grad, a3.grad, a4.grad, a5.grad], [d1, d2, 1, -1, 1], rtol=1e-13)


def test_passes_add_up_in_variables_and_replace_in_operations():
    """What the user holds of an earlier pass does not change."""
    x, held = af.Variable([1.0, 2.0]), []
    a = x * 3
    z = a.sum()
    for _ in range(3):
        z.backward()
        held.append(x.grad)
        np.testing.assert_array_equal(a.grad, [1.0, 1.0])
    np.testing.assert_array_equal(held, [[3.0, 3.0], [6.0, 6.0], [9.0, 9.0]])
    x.zero_grad()
    assert x.grad is None


def test_seeds():
    x = af.Variable([1.0, 2.0])
    z = x * x
    for seed, slope in ((None, [2.0, 4.0]), ([0.0, 0.0], [0.0, 0.0]), (af.Constant([1.0, 10.0]), [2.0, 40.0])):
        x.zero_grad()
        z.backward(seed)
        np.testing.assert_array_equal(x.grad, slope)
    with pytest.raises(SeedError, match=r"the seed has shape \(3,\), but multiply_0 has shape \(2,\)"):
        z.backward(np.ones(3))
    with pytest.raises(SeedError, match="complex, so the direction"):
        (af.Variable(1j) * 2).backward()
    with pytest.raises(SeedError, match="the seed is complex"):
        z.backward([1j, 1j])


def test_backward_on_leaves():
    x = af.Variable([1.0, 2.0])
    x.backward([3.0, 4.0])
    np.testing.assert_array_equal(x.grad, [3.0, 4.0])
    for wrong in (np.ones(2), 2.0, [x]):
        with pytest.raises(LostGradientError, match="The usual causes"):
            af.backward(wrong)
    with pytest.raises(LostGradientError, match=r"Constants and plain numbers only, first of af.Constant\(1.0\)"):
        af.backward(af.Constant(1.0))
    with pytest.raises(LostGradientError, match=r"to v, .*v is frozen \(line \d+ of test_backward\.py\)\. Set v"):
        af.backward(af.Variable(1.0, name="v", requires_grad=False))


def test_keep_grads():
    x = af.Variable(np.ones(5000))
    a = x * 2
    b = a.sum()
    z = b * 1.0
    z.backward()
    assert a.grad is None
    assert b.grad == 1.0
    z.backward(keep_grads=True)
    np.testing.assert_array_equal(a.grad, np.ones(5000))
    c = x.sum()
    (c * c).backward(keep_grads=False)
    assert c.grad is None
    with pytest.raises(TypeError, match="keep_grads is None"):
        x.sum().backward(keep_grads="all")


def test_dtype_and_shape_are_those_of_the_node():
    x, y = af.Variable(np.ones(3, np.float32)), af.Variable(np.ones((2, 1)))
    a = x * 2.0
    z = (a * y).sum()
    z.backward()
    assert (x.grad.dtype, a.grad.dtype, y.grad.dtype) == (np.float32, np.float32, np.float64)
    assert (x.grad.shape, y.grad.shape) == ((3,), (2, 1))
    s = af.Variable(np.float32(2.0))
    (s * s * np.float64(2)).backward()
    assert s.grad.dtype == np.float32
    assert s.grad.shape == ()


def test_half_precision_is_added_in_single_precision_and_rounded_once():
    x = af.Variable(np.ones(5000, np.float16))
    b = af.Variable(np.float16(1.0))
    (x * b).sum().backward()
    assert b.grad == 5000.0
    assert b.grad.dtype == np.float16
    b.zero_grad()
    total = sum((b * 0.9 for _ in range(300)), start=b * 0)
    total.backward()
    assert abs(float(b.grad) - 300 * float(np.float16(0.9))) < 0.2


def test_complex_gradients_point_uphill():
    a = af.Variable(np.array([1 + 2j, -0.5j]))
    (np.abs(a * (2 - 1j)) ** 2).sum().backward()
    np.testing.assert_allclose(a.grad, 2 * 5 * a.value)  # |c a|^2: dL/da + i dL/db = 2 |c|^2 a
    r = af.Variable([1.0, 2.0])
    np.real(r * (3 + 1j)).sum().backward()
    np.testing.assert_allclose(r.grad, [3.0, 3.0])
    assert r.grad.dtype == np.float64


def test_backward_raises_and_warns_of_nothing_the_forward_did_not():
    x = af.Variable([0.0, 4.0])
    with np.errstate(all="raise"):
        z = np.sqrt(x)
        z.sum().backward()
    np.testing.assert_array_equal(x.grad, [np.inf, 0.25])


@pytest.mark.parametrize("recording", [True, False])
def test_create_graph(recording):
    x = af.Variable(2.0)
    y = x**3
    with af.set_grad_enabled(recording):
        y.backward(create_graph=True)
    g = x.grad
    assert isinstance(g, af.Operation)
    assert float(g) == 12.0
    x.zero_grad()
    g.backward()
    assert x.grad == 12.0


def test_gradients_that_can_be_differentiated_again_share_no_memory():
    """In x + y both operands are sent the same."""
    weights = np.array([1.0, 2.0, 3.0])
    x, y = af.Variable(np.ones(3)), af.Variable(np.ones(3))
    ((x + y) * weights).sum().backward(create_graph=True)
    first = x.grad
    first *= 2.0
    np.testing.assert_array_equal(y.grad.value, weights)

    def outer(w):
        first, second = af.grad(lambda a, b: np.sum((a + b) * w), (0, 1))(np.ones(3), np.ones(3))
        first *= 2.0
        return np.sum(second * w + first)

    np.testing.assert_array_equal(af.grad(outer)(weights), 2 * weights + 2)


PASSED_ON = {
    "add": lambda x: x + 0.0, "reshape": lambda x: np.reshape(x, (3, 2)), "transpose": np.transpose, "copy": np.copy,
    "positive": np.positive, "twice": lambda x: (x + 1.0) - 2.0, "part": lambda x: np.concatenate([x, x])[:2],
    "subtract": lambda x: 3.0 + x, "squeeze": lambda x: np.squeeze(x[None]), "product": lambda x: x * 2.0,
}  # fmt: skip


@pytest.mark.parametrize("name", PASSED_ON)
@pytest.mark.parametrize("written", ["x", "y"])
def test_a_write_into_one_gradient_is_seen_in_no_other(name, written):
    x = af.Variable(np.arange(6.0).reshape(2, 3))
    y = PASSED_ON[name](x)
    np.sum(y**2).backward(create_graph=True)
    nodes = {"x": x, "y": y}
    before = {key: np.array(node.grad.value) for key, node in nodes.items()}
    grad = nodes[written].grad
    grad *= 7
    other = "xy".replace(written, "")
    np.testing.assert_array_equal(nodes[other].grad.value, before[other])
    np.testing.assert_array_equal(grad.value, 7 * before[written])


@pytest.mark.parametrize("name", PASSED_ON)
def test_recorded_gradients_share_no_memory_with_each_other_or_with_the_seed(name):
    x = af.Variable(np.arange(6.0).reshape(2, 3))
    y = PASSED_ON[name](x)
    seed = af.Variable(np.ones(y.shape)) * 3.0
    gx, gy = af.gradients(y + 0.0, [x, y], seed, create_graph=True)
    y.backward(seed, create_graph=True)
    nodes = [seed, x.grad, y.grad, gx, gy]
    for k, a in enumerate(nodes):
        assert not any(np.shares_memory(a.value, b.value) for b in nodes[:k] if b.value.flags.writeable)
    with af.no_grad():
        x.zero_grad()
        y.backward(direction := af.Variable(np.ones(y.shape)), create_graph=True)
    assert x.grad is not direction


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 2.0), (np.float64, 1 + 2j), (np.float16, np.float32(2))])
def test_gradients_of_operations_have_their_dtype(create_graph, dtype, factor):
    x = af.Variable(np.array([1.0, 2.0], dtype))
    y = x * dtype(2)
    (np.abs(y * np.full(2, factor)) ** 2).sum().backward(create_graph=create_graph)
    assert y.grad.dtype == y.dtype == x.grad.dtype == dtype
    np.testing.assert_allclose(np.asarray(y.grad), 2 * np.abs(factor) ** 2 * 2 * x.value, rtol=1e-13)


def test_size_zero():
    x = af.Variable(np.zeros((0, 3)))
    (x * 2 + np.ones(3)).sum().backward()
    assert x.grad.shape == (0, 3)


def test_passes_with_create_graph_add_up_in_the_graph_and_the_dtype():
    x = af.Variable(np.float16(1.5))
    y = x * x * x
    y.backward(create_graph=True)
    with af.no_grad():
        y.backward(create_graph=True)
    g = x.grad
    assert isinstance(g, af.Operation)
    assert g.dtype == np.float16
    x.zero_grad()
    g.backward()
    assert x.grad == 18.0
