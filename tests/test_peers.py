"""The transforms against JAX's and PyTorch's, on a table of functions. Skipped where these are not installed."""

import numpy as np
import pytest

import autoflow as af

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.2]])
X = np.array([0.7, 1.3, 2.1])
T = np.array([0.5, -1.0, 0.25])

# name -> f(np, a, x), the same text with NumPy and with jax.numpy; and with PyTorch. a is the matrix A, x has three
# elements, the result one.
FUNCTIONS = {
    "cubes": (lambda np, a, x: np.sum(x**3), lambda t, a, x: (x**3).sum()),
    "trigonometric": (lambda np, a, x: np.sum(np.sin(x) * np.cos(x[::-1]) + np.tan(x / 3)),
                      lambda t, a, x: (t.sin(x) * t.cos(x.flip(0)) + t.tan(x / 3)).sum()),
    "hyperbolic": (lambda np, a, x: np.sum(np.tanh(x) * np.cosh(x) - np.arcsinh(x)),
                   lambda t, a, x: (t.tanh(x) * t.cosh(x) - t.arcsinh(x)).sum()),
    "logsumexp": (lambda np, a, x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
                  lambda t, a, x: t.logsumexp(x, 0)),
    "softmax": (lambda np, a, x: (np.exp(x) / np.sum(np.exp(x)))[1], lambda t, a, x: t.softmax(x, 0)[1]),
    "powers": (lambda np, a, x: np.sum(x ** x[0] + 2.0**x), lambda t, a, x: (x ** x[0] + 2.0**x).sum()),
    "prod": (lambda np, a, x: np.prod(x) + np.sum(np.cumprod(x)), lambda t, a, x: x.prod() + x.cumprod(0).sum()),
    "cumsum": (lambda np, a, x: np.sum(np.cumsum(x) ** 2), lambda t, a, x: (x.cumsum(0) ** 2).sum()),
    "variance": (lambda np, a, x: np.var(x) / np.mean(x) + np.std(x),
                 lambda t, a, x: x.var(correction=0) / x.mean() + x.std(correction=0)),
    "quadratic": (lambda np, a, x: x @ a @ x, lambda t, a, x: x @ a @ x),
    "einsum": (lambda np, a, x: np.einsum("i,ij,j,j->", x, a, x, x),
               lambda t, a, x: t.einsum("i,ij,j,j->", x, a, x, x)),
    "solve": (lambda np, a, x: np.sum(np.linalg.solve(a + np.diag(x), x)),
              lambda t, a, x: t.linalg.solve(a + t.diag(x), x).sum()),
    "slogdet": (lambda np, a, x: np.linalg.slogdet(a + np.outer(x, x))[1],
                lambda t, a, x: t.linalg.slogdet(a + t.outer(x, x))[1]),
    "cholesky": (lambda np, a, x: np.sum(np.linalg.cholesky(a + np.diag(x)) ** 3),
                 lambda t, a, x: (t.linalg.cholesky(a + t.diag(x)) ** 3).sum()),
    "norm": (lambda np, a, x: np.linalg.norm(x) * np.linalg.norm(np.outer(x, x)),
             lambda t, a, x: t.linalg.norm(x) * t.linalg.norm(t.outer(x, x))),
    "where": (lambda np, a, x: np.sum(np.where(x > 1.0, x**2, np.exp(x))),
              lambda t, a, x: t.where(x > 1.0, x**2, t.exp(x)).sum()),
    "joining": (lambda np, a, x: np.sum(np.concatenate([x, x[1:] * x[0]]) ** 2 * np.stack([x, x**2]).reshape(-1)[:5]),
                lambda t, a, x: (t.cat([x, x[1:] * x[0]]) ** 2 * t.stack([x, x**2]).reshape(-1)[:5]).sum()),
    "sort": (lambda np, a, x: np.sum(np.sort(x[::-1]) * x**2) + np.sum(x[::2] ** 3),
             lambda t, a, x: (t.sort(x.flip(0))[0] * x**2).sum() + (x[::2] ** 3).sum()),
    "inv": (lambda np, a, x: np.sum(np.linalg.inv(a * x) ** 2) + np.linalg.det(a * x),
            lambda t, a, x: (t.linalg.inv(a * x) ** 2).sum() + t.linalg.det(a * x)),
    "arctan2": (lambda np, a, x: np.sum(np.arctan2(np.sin(x), x**2) + np.log1p(x) ** x),
                lambda t, a, x: (t.arctan2(t.sin(x), x**2) + t.log1p(x) ** x).sum()),
    "minimum": (lambda np, a, x: np.sum(np.minimum(x, x**2) * np.maximum(x, 1.0)),
                lambda t, a, x: (t.minimum(x, x**2) * x.clamp(min=1.0)).sum()),
}  # fmt: skip


def close(ours, theirs):
    for x, y in zip(af.pytree.tree_leaves(ours), af.pytree.tree_leaves(theirs), strict=True):
        np.testing.assert_allclose(x, y.detach().numpy() if hasattr(y, "detach") else y, rtol=1e-9, atol=1e-11)


@pytest.fixture(params=FUNCTIONS, ids=str)
def functions(request):
    """Ours, one of jax.numpy and one of torch."""
    f, torchs = FUNCTIONS[request.param]
    return lambda x: f(np, A, x), f, torchs


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    with module.enable_x64(True) if hasattr(module, "enable_x64") else module.experimental.enable_x64():
        yield module


def test_derivatives_are_those_of_jax(jax, functions):
    ours, f, _ = functions
    a = jax.numpy.asarray(A)

    def theirs(x):
        return f(jax.numpy, a, x)

    close(af.value_and_grad(ours)(X), jax.value_and_grad(theirs)(X))
    close(af.hessian(ours)(X), jax.hessian(theirs)(X))
    close(af.jvp(ours, X, T), jax.jvp(theirs, (X,), (T,)))
    close(af.hvp(ours, X, T), jax.jvp(jax.grad(theirs), (X,), (T,))[1])


def test_derivatives_are_those_of_pytorch(functions):
    torch, functional = pytest.importorskip("torch"), pytest.importorskip("torch.autograd.functional")
    ours, _, f = functions
    a, x, y = torch.tensor(A), torch.tensor(X, requires_grad=True), af.Variable(X)

    def theirs(x):
        return f(torch, a, x)

    z = theirs(x)
    z.backward()
    close(af.value_and_grad(ours)(X), (z, x.grad))
    ours(y).backward()
    close(y.grad, x.grad)
    hessian = functional.hessian(theirs, torch.tensor(X))
    close(af.hessian(ours)(X), hessian)
    close(af.hvp(ours, X, T), hessian @ torch.tensor(T))
    close(af.jvp(ours, X, T)[1], functional.jvp(theirs, torch.tensor(X), torch.tensor(T))[1])


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobian_of_a_gradient_step(jax, mode):
    f, _ = FUNCTIONS["hyperbolic"]

    def step(np, grad):
        return lambda x: x - 0.1 * grad(lambda y: f(np, A, y))(x)

    close(af.jacobian(step(np, af.grad), mode=mode)(X), jax.jacobian(step(jax.numpy, jax.grad))(X))


def test_containers(jax):
    def loss(np):
        return lambda p, x: np.sum(np.tanh(p["w"] @ x + p["b"][0]) ** 2)

    parameters = {"w": A, "b": [X, T]}
    ours, theirs = af.grad(loss(np))(parameters, T), jax.grad(loss(jax.numpy))(parameters, T)
    for name in parameters:
        close(ours[name], theirs[name])
