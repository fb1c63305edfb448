"""Jacobians by batched passes have the numbers of single passes, and single passes are made where they must be."""

import numpy as np
import pytest
from support import Split

import autoflow as af
from autoflow import nn
from autoflow.transforms import jacobian as jacobians

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(12, 10)), RNG.normal(size=10)


@pytest.fixture
def passes(monkeypatch):
    """How often the passes of a chunk were run, and whether they could be: ``[9, None]``."""
    seen = []
    real = jacobians.one_chunk

    def one_chunk(pull, seeds, size):
        seen.append(None)
        found = real(pull, seeds, size)
        seen[-1] = size
        return found

    monkeypatch.setattr(jacobians, "one_chunk", one_chunk)
    return seen


def both(run, monkeypatch):
    """By batched passes, and by single ones."""
    ours = run()
    with monkeypatch.context() as patch:
        patch.setattr(jacobians, "FEW", 10**9)
        return ours, run()


def close(ours, theirs):
    if isinstance(theirs, (tuple, dict)):
        pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours[k], theirs[k]) for k in theirs]
        for a, b in pairs:
            close(a, b)
        return
    assert type(ours) is type(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def network(x):
    return np.tanh(W @ np.tanh(W.T @ np.tanh(W @ x)))


CASES = {
    "network": lambda: af.jacobian(network)(X), "forward": lambda: af.jacobian(network, mode="forward")(X),
    "matrices": lambda: af.jacobian(lambda x: np.linalg.inv(x) @ x.T, mode="reverse")(W[:5, :5] + 3 * np.eye(5)),
    "hessian": lambda: af.hessian(lambda x: np.sum(network(x) ** 2))(X),
    "two arguments": lambda: af.hessian(lambda x, y: np.sum(network(x) * y**2), (0, 1))(X, RNG.normal(size=12) * 0 + 2),
    "containers": lambda: af.jacobian(lambda p: {"a": network(p["x"]) * p["k"]})({"x": X, "k": 2.0})["a"],
    "unused": lambda: af.jacobian(lambda x, y: network(x), (0, 1))(X, X),
    "float32": lambda: af.jacobian(lambda x: np.exp(x) * x[::-1], mode="reverse")(X.astype(np.float32)),
    "holomorphic": lambda: af.jacobian(lambda x: np.exp(x) * x[::-1], holomorphic=True)(X + 1j),
    "complex result": lambda: af.jacobian(lambda x: x * np.exp(1j * x))(X),
    "complex argument": lambda: af.jacobian(lambda x: np.abs(np.outer(x, x)).ravel())(X + 1j),
    "differentiated": lambda: af.grad(lambda x: np.sum(af.jacobian(network)(x) ** 2))(X),
    "differentiated forward": lambda: af.grad(lambda x: np.sum(af.jacobian(network, mode="forward")(x) ** 2))(X),
    "third": lambda: af.jacobian(af.hessian(lambda x: np.sum(np.sin(x) * x[::-1] ** 2)))(X),
    "indices": lambda: af.jacobian(lambda x: np.sort(x)[[0, 0, 3, 2, 1, 1, 5, 9, 8]] * x[:9])(X),
    "vmap": lambda: af.vmap(af.jacobian(network))(np.stack([X, X + 1])),
    "compiled": lambda: af.compile(af.jacobian(network))(X),
    "two results": lambda: af.jacobian(lambda x: np.multiply(*Split.apply(x, np.sin(x))))(X),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_same_as_by_single_passes(name, passes, monkeypatch):
    ours, theirs = both(CASES[name], monkeypatch)
    assert passes
    if name not in ("two results", "vmap", "compiled"):
        assert None not in passes
    close(ours, theirs)


def test_of_a_model(passes, monkeypatch):
    model = nn.Sequential(nn.Linear(10, 16, rng=RNG), nn.LayerNorm(16), nn.gelu, nn.Linear(16, 9, rng=RNG))
    parameters = model.state_dict()
    run = af.jacobian(lambda p: nn.functional_call(model, p, X))
    close(*both(lambda: run(parameters), monkeypatch))
    assert passes == [9]


@pytest.mark.parametrize(("n", "fit", "made"), [
    (7, None, []), (8, None, [8]),  # few rows are passes of their own
    (10, 8, [8, 2]), (10, 7, []),  # chunks respect memory; seven would be too few
])  # fmt: skip
def test_chunks(n, fit, made, passes, monkeypatch):
    if fit is not None:
        monkeypatch.setattr(jacobians, "CHUNK_BYTES", 2 * 80 * fit)  # the graph of np.sin(x) has two arrays of 80 bytes
    np.testing.assert_allclose(af.jacobian(np.sin, mode="reverse")(X[:n]), np.diag(np.cos(X[:n])))
    assert passes == made


def hooked(x):
    y = np.sin(x)
    y.register_hook(lambda g: g * 2)
    return y * 1.0


def test_whoever_watches_each_pass_sees_it(passes):
    np.testing.assert_allclose(af.jacobian(hooked)(X), 2 * np.diag(np.cos(X)))
    for mode in (af.detect_anomaly, af.safe_masking):
        with mode():
            np.testing.assert_allclose(af.jacobian(np.sin)(X), np.diag(np.cos(X)))
    assert passes == []


class Asks(af.Function):
    """Its backward looks at numbers."""

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * (3 if float(np.sum(g)) > 0 else 4)


def test_a_derivative_that_looks_at_numbers_has_single_passes(passes):
    np.testing.assert_allclose(af.jacobian(Asks.apply)(X), 3 * np.eye(10))
    assert passes == [None]


def test_errors_are_those_of_a_single_pass():
    def f(x):
        y = np.exp(x)
        z = np.sin(y)
        y[...] = 0.0
        return z

    with pytest.raises(af.errors.StaleValueError):
        af.jacobian(f)(X)
