"""The transforms against PyTorch's, on a table of functions. Skipped where PyTorch is not installed."""

import numpy as np
import pytest

import autoflow as af

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.2]])
X = np.array([0.7, 1.3, 2.1])
T = np.array([0.5, -1.0, 0.25])

# name -> ours f(x), theirs f(torch, a, x) with the matrix A as a; x has three elements, the result one
FUNCTIONS = {
    "cubes": (lambda x: np.sum(x**3), lambda t, a, x: (x**3).sum()),
    "trig": (lambda x: np.sum(np.sin(x) * np.tan(x / 3)), lambda t, a, x: (t.sin(x) * t.tan(x / 3)).sum()),
    "tanh": (lambda x: np.sum(np.tanh(x) * np.cosh(x)), lambda t, a, x: (t.tanh(x) * t.cosh(x)).sum()),
    "logsumexp": (lambda x: np.log(np.sum(np.exp(x))), lambda t, a, x: t.logsumexp(x, 0)),
    "softmax": (lambda x: (np.exp(x) / np.sum(np.exp(x)))[1], lambda t, a, x: t.softmax(x, 0)[1]),
    "powers": (lambda x: np.sum(x ** x[0] + 2.0**x), lambda t, a, x: (x ** x[0] + 2.0**x).sum()),
    "prod": (lambda x: np.prod(x) + np.sum(np.cumprod(x)), lambda t, a, x: x.prod() + x.cumprod(0).sum()),
    "cumsum": (lambda x: np.sum(np.cumsum(x) ** 2), lambda t, a, x: (x.cumsum(0) ** 2).sum()),
    "variance": (lambda x: np.var(x) / np.mean(x), lambda t, a, x: x.var(correction=0) / x.mean()),
    "quadratic": (lambda x: x @ A @ x, lambda t, a, x: x @ a @ x),
    "einsum": (lambda x: np.einsum("i,ij,j,j->", x, A, x, x), lambda t, a, x: t.einsum("i,ij,j,j->", x, a, x, x)),
    "solve": (
        lambda x: np.sum(np.linalg.solve(A + np.diag(x), x)),
        lambda t, a, x: t.linalg.solve(a + t.diag(x), x).sum(),
    ),
    "slogdet": (
        lambda x: np.linalg.slogdet(A + np.outer(x, x))[1],
        lambda t, a, x: t.linalg.slogdet(a + t.outer(x, x))[1],
    ),
    "norm": (lambda x: np.linalg.norm(x) ** 3, lambda t, a, x: t.linalg.norm(x) ** 3),
    "where": (
        lambda x: np.sum(np.where(x > 1.0, x**2, np.exp(x))),
        lambda t, a, x: t.where(x > 1.0, x**2, t.exp(x)).sum(),
    ),
    "joining": (
        lambda x: np.sum(np.concatenate([x, x[1:] * x[0]]) ** 2),
        lambda t, a, x: (t.cat([x, x[1:] * x[0]]) ** 2).sum(),
    ),
}


@pytest.fixture(params=FUNCTIONS, ids=str)
def pair(request):
    """Our function, and theirs of a tensor; and what makes tensors."""
    torch = pytest.importorskip("torch")
    ours, theirs = FUNCTIONS[request.param]
    return ours, lambda x: theirs(torch, torch.tensor(A), x), torch.tensor


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_value_and_gradient(pair):
    ours, theirs, tensor = pair
    x = tensor(X, requires_grad=True)
    z = theirs(x)
    z.backward()
    value, gradient = af.value_and_grad(ours)(X)
    close(value, z)
    close(gradient, x.grad)


def test_backward(pair):
    ours, theirs, tensor = pair
    x, y = af.Variable(X), tensor(X, requires_grad=True)
    ours(x).backward()
    theirs(y).backward()
    close(x.grad, y.grad)


def test_hessian_and_products(pair):
    ours, theirs, tensor = pair
    functional = pytest.importorskip("torch.autograd.functional")
    hessian = functional.hessian(theirs, tensor(X))
    close(af.hessian(ours)(X), hessian)
    close(af.hvp(ours, X, T), hessian @ tensor(T))
    close(af.jvp(ours, X, T)[1], functional.jvp(theirs, tensor(X), tensor(T))[1])
