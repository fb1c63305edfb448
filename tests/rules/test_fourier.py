"""Fourier transforms: what the generated calls leave out, and identities that any transform obeys."""

import numpy as np
import pytest
from checks import check

import autoflow as af

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
A = np.cos(np.arange(12.0)).reshape(3, 4)


def real(f):
    """The sum of squares needs real numbers: real and imaginary part beside each other."""
    return lambda *xs: (lambda z: np.concatenate([np.real(z).ravel(), np.imag(z).ravel()]))(f(*xs))


@pytest.mark.parametrize("f", [lambda x: np.fft.fftn(x, axes=(1, 1)), lambda x: np.fft.fft2(x, s=(-1, 2))])
def test_an_axis_twice_and_a_length_as_it_is(f):
    check(real(f), A)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [4, 5, 3, 8])
def test_parseval(norm, n):
    """Σ |fft x|² = s Σ |x|², s depending on the norm; so the gradient is 2 s x, cut to the n that were used."""
    x = af.Variable(V)
    (np.abs(np.fft.fft(x, n, norm=norm)) ** 2).sum().backward()
    scale = {None: n, "backward": n, "ortho": 1, "forward": 1 / n}[norm]
    np.testing.assert_allclose(x.grad, np.where(np.arange(5) < n, 2 * scale * V, 0), atol=1e-12)


@pytest.mark.parametrize("n", [5, 6])
def test_there_and_back(n):
    slope = af.grad(lambda x: np.sum(np.fft.irfft(np.fft.rfft(x), n) * np.arange(n)))(np.resize(V, n))
    np.testing.assert_allclose(slope, np.arange(n), atol=1e-12)
