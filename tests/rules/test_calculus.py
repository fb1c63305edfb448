"""Differences, slopes, areas, interpolation, convolution, polynomials; averages, covariance and correlation."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check
from support import central, same_bits

import autoflow as af

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
P = np.array([0.5, 1.0, 2.5, 3.0, 4.5])
A = np.array([[1.5, -2.0, 0.5, 1.0], [3.0, 0.25, -1.0, 2.0], [0.3, -0.7, 1.1, -1.6]])
S = np.array(1.25)
parts = lambda f: lambda *xs: np.concatenate([np.ravel(z) for z in f(*xs)])  # noqa: E731 - used in a table


@pytest.mark.parametrize(("f", "xs"), [
    (lambda x, y: np.diff(x, prepend=y, append=[1.0, 2.0]), (V, S)),
    (lambda x, y: np.diff(x, n=2, axis=0, append=y), (A, A[:1])),
    (lambda x, y: np.ediff1d(x, to_begin=y, to_end=[1.0, 2.0]), (V, S)), (lambda x: np.ediff1d(x, 3.0), (V,)),
    (parts(lambda x, p: np.gradient(x, p, 0.5)), (A, P[:3])),
    (lambda x: np.gradient(x, [0.0, 1.0, 2.0, 3.0, 4.0]), (V,)), (lambda x: np.gradient(x, [0, 1, 3, 4, 6]), (V,)),
    (lambda x: np.convolve([1, 2], x, "same"), (V,)),
])  # fmt: skip
def test_values_and_derivatives(f, xs):
    check(f, *xs)


def test_ends_of_differences_are_cast_as_by_numpy():
    for x in (V, af.Variable(V)):
        with pytest.raises(TypeError, match="same_kind"):
            np.ediff1d(x, to_end=1j)
    assert np.ediff1d(af.Variable(np.float32(V)), to_begin=af.Variable(S), to_end=[1]).dtype == np.float32


@pytest.mark.parametrize("f", [
    np.cov, np.corrcoef, lambda z: np.average(z, weights=[[1, 2j, 3, 1j]] * 3), lambda z: np.gradient(z, axis=0), np.trapezoid,
    lambda z: np.interp([0.2, 1.7, 9.0], P[:4], z[0]), lambda z: np.correlate(z[0], z[1, :2], "full"), lambda z: np.polyval(z[0], z[1]),
])  # fmt: skip
def test_of_complex_numbers(f):
    c = A + 1j * np.cos(A)
    z = af.Variable(c)
    result = f(z)
    assert same_bits(result.value, f(c))
    (np.abs(result) ** 2).sum().backward()
    expected = central(lambda zs: np.sum(np.abs(f(*zs)) ** 2), [c], 0)
    np.testing.assert_allclose(z.grad, expected, rtol=1e-5, atol=1e-6)


def test_interp_at_a_point_has_the_slope_to_the_right_and_over_a_jump_a_finite_one():
    slopes = af.grad(lambda x: np.sum(np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0])))(np.arange(3.0))
    np.testing.assert_array_equal(slopes, [1.0, 4.0, 4.0])
    jump = af.grad(lambda x, xp: np.sum(np.interp(x, xp, [0.0, 1.0, 3.0, 3.0])), (0, 1))
    for grad in jump(np.array([0.5, 1.0, 1.5]), np.array([0.0, 1.0, 1.0, 2.0])):
        assert np.all(np.isfinite(grad))


def test_covariance_of_one_number_warns():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        np.cov(af.Variable(V[:1]))


@pytest.mark.parametrize("seed", range(20))
def test_interp_at_steps(seed):
    """Points that occur twice or more often, at both ends too: the values of fp that count are those NumPy takes."""
    rng = np.random.default_rng(seed)
    xp = np.sort(rng.integers(0, 4, size=rng.integers(1, 7))).astype(float)
    fp, x = af.Variable(rng.normal(size=xp.size)), np.concatenate([xp, xp + 0.25, xp - 0.25])
    for k, at in enumerate(x):
        fp.zero_grad()
        np.interp(x, xp, fp)[k].backward()
        right = [np.interp(at, xp, one) for one in np.eye(xp.size)]
        np.testing.assert_allclose(fp.grad, right, atol=1e-15)
