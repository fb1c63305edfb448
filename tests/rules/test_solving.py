"""The pseudo-inverse and least squares where singular values are left out by ``rcond``: derivatives are differences.

What is left out is not zero here, so it takes part in how the kept space turns.
"""

import numpy as np
import pytest
from support import every_pair

import autoflow as af
from autoflow.rules.solving import pinv_x_with

SPECTRA = {
    "beside": [3.0, 2.0, 0.4, 0.2], "close": [3.0, 0.62, 0.58, 0.5], "equal": [3.0, 3.0, 0.1, 0.1],
    "one kept": [3.0, 0.5, 0.0, 0.0], "only zeros": [3.0, 2.0, 0.0, 0.0], "none": [3.0, 2.0, 1.0, 0.9],
}  # fmt: skip
SHAPES = [(3, 3), (5, 3), (3, 5), (4, 4), (1, 4)]
RCOND = 0.2
RIGHT = np.random.default_rng(1).normal(size=(5, 2))


FUNCTIONS = {
    "pinv rcond": lambda x: np.linalg.pinv(x, rcond=RCOND), "pinv rtol": lambda x: np.linalg.pinv(x, rtol=RCOND),
    "pinv of a stack": lambda x: np.linalg.pinv(np.stack([x, 2 * x, x]), rcond=[RCOND, RCOND, 2]),
    "hermitian": lambda x: np.linalg.pinv(x @ np.conjugate(x).mT, rcond=RCOND**2, hermitian=True),
    "lstsq": lambda x: np.linalg.lstsq(x, RIGHT[: len(x)], rcond=RCOND)[0],
    "lstsq, one column": lambda x: np.linalg.lstsq(x, RIGHT[: len(x), 0], rcond=RCOND)[0],
}  # fmt: skip
CASES = [
    pytest.param(f, spectrum, shape, kind, id=f"{f} {spectrum} {shape[0]}x{shape[1]} {kind}")
    for f, spectrum, shape, kind in every_pair(FUNCTIONS, SPECTRA, SHAPES, ("real", "complex"))
]


def numbers(rng, shape, kind):
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == "complex" else 0)


def matrix(rng, spectrum, shape, kind):
    """A matrix with these singular values."""
    (u, _), (v, _) = [np.linalg.qr(numbers(rng, (n, n), kind)) for n in shape]
    k = min(shape)
    return (u[:, :k] * SPECTRA[spectrum][:k]) @ v[:k]


def prepare(f, spectrum, shape, kind):
    """A real loss, a point, and a direction in which no singular value crosses the bound."""
    rng = np.random.default_rng(len(f) + sum(shape))
    x = matrix(rng, spectrum, shape, kind)
    weights = numbers(rng, FUNCTIONS[f](x).shape, kind)
    t = numbers(rng, (shape[0], shape[0]), kind) @ x + x @ numbers(rng, (shape[1], shape[1]), kind)
    t = t if spectrum == "only zeros" else numbers(rng, shape, kind)
    return (lambda x: np.sum(np.real(FUNCTIONS[f](x) * weights))), x, t


def along(g, t):
    return np.sum(np.real(np.conjugate(g) * t))


def differences(f, x, t):
    """The slope of f at x along t, and a value beside it."""
    h = 1e-4
    near = [f(x + k * h * t) for k in (-2, -1, 1, 2)]
    return (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h), near[0]


@pytest.mark.parametrize(("f", "spectrum", "shape", "kind"), CASES)
def test_derivatives_are_differences(f, spectrum, shape, kind):
    loss, x, t = prepare(f, spectrum, shape, kind)
    (expected, _), g = differences(loss, x, t), af.grad(loss)(x)
    tolerance = 1e-7 * (1 + abs(expected) + np.sum(np.abs(g)))
    assert abs(along(g, t) - expected) < tolerance
    assert abs(af.jvp(loss, x, t)[1] - expected) < tolerance


@pytest.mark.parametrize(("f", "spectrum", "shape", "kind"), CASES[::3])
def test_second_derivatives_are_differences(f, spectrum, shape, kind):
    loss, x, t = prepare(f, spectrum, shape, kind)
    if spectrum == "only zeros":
        t = np.zeros_like(t)  # what is exactly zero may grow: there is no second derivative
    slope = lambda x: along(af.grad(loss)(x), t)  # noqa: E731
    expected, near = differences(slope, x, t)
    assert abs(along(af.grad(slope)(x), t) - expected) < 1e-6 * (1 + abs(expected) + near**2)


@pytest.mark.parametrize("f", ["pinv rcond", "lstsq"])
@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e18])
def test_the_scale_does_not_matter(f, scale):
    """In float32 the squares of these numbers are none."""
    loss, x, _ = prepare(f, "beside", (4, 4), "real")
    x = x.astype(np.float32)
    g = af.grad(loss)(x * np.float32(scale)) * np.float32(scale)
    assert g.dtype == np.float32
    np.testing.assert_allclose(g * scale, af.grad(loss)(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("f", ["pinv rcond", "pinv of a stack", "lstsq"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_all_modes_agree_where_there_is_no_derivative(f, shape):
    """Of zeros all is 0. At the bound value, gradient and slope are of the same side."""
    k = min(shape)
    loss, _, t = prepare(f, "beside", shape, "real")
    zero = np.zeros(shape)
    assert np.all(af.grad(loss)(zero) == 0)
    assert af.jvp(loss, zero, t)[1] == 0
    for x in (np.eye(*shape), np.eye(*shape) * np.where(np.arange(shape[1]) < k - 1, 1, RCOND)):
        g, (value, slope) = af.grad(loss)(x), af.jvp(loss, x, t)
        assert value == loss(x)
        np.testing.assert_allclose(along(g, t), slope, rtol=1e-6)


def test_at_a_tie_the_derivative_is_nan():
    """Which of two equal values is kept is up to rounding: it jumps."""
    g = pinv_x_with(np.eye(2), np.eye(2), np.diag([1.0, 0.0]), *[np.ones((1, 1))] * 2)
    assert np.isnan(g).any()


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
@pytest.mark.parametrize("f", ["pinv rcond", "lstsq"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_a_batch_is_as_each_example(f, shape):
    """Their ranks may differ; not for lstsq, which returns the rank, as a plain number."""
    rng = np.random.default_rng(3)
    spectra = ("beside", "beside", "equal") if f == "lstsq" else ("beside", "none", "one kept")
    xs = np.stack([matrix(rng, spectrum, shape, "real") for spectrum in spectra])
    loss = prepare(f, "beside", shape, "real")[0]
    np.testing.assert_allclose(af.vmap(af.grad(loss))(xs), np.stack([af.grad(loss)(x) for x in xs]), rtol=1e-9)
