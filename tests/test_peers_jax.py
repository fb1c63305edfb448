"""The transforms against JAX's, on a table of functions. Skipped where JAX is not installed."""

import numpy as np
import pytest

import autoflow as af

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.2]])

# name -> f(np, x): the same text with NumPy and with jax.numpy; x has three elements, the result one
FUNCTIONS = {
    "cubes": lambda np, x: np.sum(x**3),
    "trigonometric": lambda np, x: np.sum(np.sin(x) * np.cos(x[::-1]) + np.tan(x / 3)),
    "hyperbolic": lambda np, x: np.sum(np.tanh(x) * np.cosh(x) - np.arcsinh(x)),
    "logsumexp": lambda np, x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "softmax": lambda np, x: (np.exp(x) / np.sum(np.exp(x)))[1], "powers": lambda np, x: np.sum(x ** x[0] + 2.0**x),
    "prod": lambda np, x: np.prod(x) + np.sum(np.cumprod(x)), "cumsum": lambda np, x: np.sum(np.cumsum(x) ** 2),
    "variance": lambda np, x: np.var(x) / np.mean(x) + np.std(x), "quadratic": lambda np, x: x @ np.asarray(A) @ x,
    "einsum": lambda np, x: np.einsum("i,ij,j,j->", x, np.asarray(A), x, x),
    "solve": lambda np, x: np.sum(np.linalg.solve(np.asarray(A) + np.diag(x), x)),
    "slogdet": lambda np, x: np.linalg.slogdet(np.asarray(A) + np.outer(x, x))[1],
    "cholesky": lambda np, x: np.sum(np.linalg.cholesky(np.asarray(A) + np.diag(x)) ** 3),
    "norm": lambda np, x: np.linalg.norm(x) * np.linalg.norm(np.outer(x, x)),
    "where": lambda np, x: np.sum(np.where(x > 1.0, x**2, np.exp(x))),
    "joining": lambda np, x: np.sum(np.concatenate([x, x[1:] * 2]) ** 2 * np.stack([x, x**2]).reshape(-1)[:5]),
    "minimum": lambda np, x: np.sum(np.minimum(x, x**2) * np.maximum(x, 1.0)),
}  # fmt: skip
X = np.array([0.7, 1.3, 2.1])
T = np.array([0.5, -1.0, 0.25])


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    with module.enable_x64(True) if hasattr(module, "enable_x64") else module.experimental.enable_x64():
        yield module


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-9, atol=1e-11)


@pytest.fixture(params=FUNCTIONS, ids=str)
def pair(request, jax):
    """The function with NumPy, and with jax.numpy."""
    f = FUNCTIONS[request.param]
    return lambda x: f(np, x), lambda x: f(jax.numpy, x)


def test_value_and_gradient(jax, pair):
    for ours, theirs in zip(af.value_and_grad(pair[0])(X), jax.value_and_grad(pair[1])(X), strict=True):
        close(ours, theirs)


def test_hessian(jax, pair):
    close(af.hessian(pair[0])(X), jax.hessian(pair[1])(X))


def test_jvp(jax, pair):
    for ours, theirs in zip(af.jvp(pair[0], X, T), jax.jvp(pair[1], (X,), (T,)), strict=True):
        close(ours, theirs)


def test_hvp(jax, pair):
    close(af.hvp(pair[0], X, T), jax.jvp(jax.grad(pair[1]), (X,), (T,))[1])


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobian_of_a_gradient_step(jax, mode):
    f = FUNCTIONS["hyperbolic"]

    def step(np, grad):
        return lambda x: x - 0.1 * grad(lambda y: f(np, y))(x)

    close(af.jacobian(step(np, af.grad), mode=mode)(X), jax.jacobian(step(jax.numpy, jax.grad))(X))


def test_containers(jax):
    def loss(np):
        return lambda p, x: np.sum(np.tanh(p["w"] @ x + p["b"][0]) ** 2)

    parameters = {"w": A, "b": [X, T]}
    ours, theirs = af.grad(loss(np))(parameters, T), jax.grad(loss(jax.numpy))(parameters, T)
    close(ours["w"], theirs["w"])
    for k in range(2):
        close(ours["b"][k], theirs["b"][k])
