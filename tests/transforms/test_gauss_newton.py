"""Gauss-Newton products beside the matrices written out; gradients of several arguments."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError, SeedError

INPUTS = np.arange(6.0).reshape(2, 3) / 5
P, V = {"w": np.array([0.3, -0.2]), "b": 0.1}, {"w": np.array([1.0, 2.0]), "b": -1.0}


def model(p):
    return np.tanh(p["w"] @ INPUTS + p["b"])


def flat(f):
    """f as a function of one vector."""
    _, tree_of = af.tree_ravel(P)
    return lambda vector: f(tree_of(vector))


def softmax_loss(z):
    return np.log(np.sum(np.exp(z))) - z[1]


@pytest.mark.parametrize("loss", [None, softmax_loss, lambda z: np.sum(z**4)])
def test_the_product_is_that_of_the_matrix(loss):
    f = flat(model)
    at, v = af.tree_ravel(P)[0], af.tree_ravel(V)[0]
    j = af.jacobian(f)(at)
    h = np.eye(3) if loss is None else af.hessian(loss)(f(at))
    found = af.ggnvp(model, P, V) if loss is None else af.ggnvp(model, P, V, loss=loss)
    np.testing.assert_allclose(af.tree_ravel(found)[0], j.T @ h @ j @ v, rtol=1e-12, atol=1e-15)
    assert found["w"].shape == (2,)


def test_of_a_linear_model_it_is_the_hessian():
    x = np.array([1.0, -2.0])
    found = af.ggnvp(lambda p: INPUTS.T @ p, x, np.ones(2), loss=softmax_loss)
    np.testing.assert_allclose(found, af.hvp(lambda p: softmax_loss(INPUTS.T @ p), x, np.ones(2)), rtol=1e-12)


def test_several_arguments_and_results_in_containers():
    def two(x, y):
        return {"sum": x + y, "product": (x * y,)}

    assert af.ggnvp(two, (2.0, 3.0), (1.0, 0.0)) == (1 + 9, 1 + 6)  # JᵀJ of J = [[1, 1], [3, 2]]
    assert af.ggnvp(two, (2.0, 3.0), (1.0, 0.0), loss=lambda z: z["product"][0] ** 2) == (18.0, 12.0)


def test_it_can_be_differentiated_compiled_and_batched():
    f = flat(model)
    at, v = af.tree_ravel(P)[0], af.tree_ravel(V)[0]

    def curvature(x):
        return np.sum(af.ggnvp(f, x, v) * v)

    ends = [curvature(at + h * np.array([1.0, 0.0, 0.0])) for h in (1e-5, -1e-5)]
    assert af.grad(curvature)(at)[0] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7)
    np.testing.assert_allclose(af.compile(lambda x: af.ggnvp(f, x, v))(at), af.ggnvp(f, at, v), rtol=1e-12)
    many = af.vmap(lambda x: af.ggnvp(f, x, v))(np.stack([at, 2 * at]))
    np.testing.assert_allclose(many, [af.ggnvp(f, at, v), af.ggnvp(f, 2 * at, v)], rtol=1e-12)


def test_dtypes():
    x = np.array([0.5, 1.5], np.float32)
    assert af.ggnvp(np.sin, x, x).dtype == np.float32
    found = af.ggnvp(lambda z: (1 + 2j) * z, np.array([1 + 1j]), np.array([1j]))
    np.testing.assert_allclose(found, [5j])


def test_bad_input():
    two = np.ones(2)
    for call, error, words in (
        (lambda: af.ggnvp(lambda x: two, two, two), LostGradientError, "depends on none of the arguments"),
        (lambda: af.ggnvp(np.sin, two, np.ones(3)), SeedError, r"the tangent for .* has shape \(3,\)"),
        (lambda: af.ggnvp(np.sin, two, two, loss=np.square), TypeError, "functions that return one number"),
        (lambda: af.multigrad(np.multiply, [0, 0])(2.0, 3.0), TypeError, "names an argument twice"),
        (lambda: af.multigrad_dict(max), TypeError, "needs to know the arguments"),
        (lambda: af.multigrad_dict(lambda x: 3.0)(1.0), LostGradientError, "depends on none of the arguments"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_multigrad():
    def f(x, y, z=2.0):
        return x * y**2 * z**3

    assert af.multigrad(f)(2.0, 3.0) == (72.0,)
    assert af.multigrad(f, [0, 1])(2.0, 3.0, 1.0) == (9.0, 12.0)
    assert af.multigrad(f, "y")(2.0, y=3.0) == (96.0,)


def test_multigrad_by_name():
    def f(x, *rest, scale=2.0, mode="fast", **more):
        assert mode == "fast"
        return x * rest[0] * rest[1] * scale * more["k"]["w"]

    found = af.multigrad_dict(f)(2.0, 3.0, 5.0, k={"w": 7.0, "name": "k"})
    assert found == {
        "x": 210.0, "rest": (140.0, 84.0), "scale": 210.0, "more": {"k": {"w": 60.0, "name": None}}
    }  # fmt: skip
    assert af.grad(lambda x: af.multigrad_dict(lambda x, y: x * y**2)(x, x)["y"])(3.0) == 12.0  # of 2 x²
    assert af.multigrad_dict(lambda x: 3.0, allow_unused=True)(1.0) == {"x": 0.0}
