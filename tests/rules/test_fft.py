"""Fourier transforms: the composed ones, every norm, complex and real, and identities that any transform obeys."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
A = np.cos(np.arange(12.0)).reshape(3, 4)
C = A + 1j * np.sin(2 + np.arange(12.0)).reshape(3, 4)
T = np.cos(np.arange(24.0)).reshape(2, 3, 4)


def real(f):
    """The sum of squares needs real numbers: real and imaginary part beside each other."""
    return lambda *xs: (lambda z: np.concatenate([np.real(z).ravel(), np.imag(z).ravel()]))(f(*xs))


COMPLEX = [
    (np.fft.fft2, A), (np.fft.ifft2, T), (np.fft.fftn, T), (np.fft.ifftn, T), (np.fft.rfft2, A), (np.fft.rfftn, T), (np.fft.ihfft, V),
    (lambda x: np.fft.fftn(x, (4, 2), axes=(0, 1), norm="ortho"), A), (lambda x: np.fft.fftn(x, axes=(1, 1)), A),
    (lambda x: np.fft.rfftn(x, s=(2, 5), axes=(0, -1), norm="forward"), T), (lambda x: np.fft.ihfft(x, 4, norm="ortho"), V),
    (lambda x: np.fft.ihfft(x, axis=0), A), (lambda x: np.fft.fft2(x, s=(-1, 2)), A), (lambda x: np.fft.fft(x), V),
]  # fmt: skip
REAL = [
    (np.fft.irfft2, A), (np.fft.irfftn, T), (np.fft.hfft, V), (lambda x: np.fft.hfft(x, 7, norm="forward"), V),
    (lambda x: np.fft.irfftn(x, s=(2, 5), axes=(0, -1), norm="ortho"), T), (lambda x: np.fft.irfft2(x, (4, 3)), A),
    (np.fft.fftshift, V), (np.fft.ifftshift, V), (np.fft.fftshift, A), (lambda x: np.fft.ifftshift(x, axes=1), A),
    (lambda x: np.fft.fftshift(x, axes=(0, -1)), A),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), COMPLEX)
def test_to_complex(f, x):
    check(real(f), x)


@pytest.mark.parametrize(("f", "x"), REAL)
def test_to_real(f, x):
    check(f, x)


@pytest.mark.parametrize("f", [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft, np.fft.fftn, np.fft.irfftn])
def test_of_complex_numbers(f):
    """The gradient of a real function is dL/da + i dL/db: by differences along both."""
    z = af.Variable(C)
    assert same_bits(f(z).value, f(C))
    (np.abs(f(z)) ** 2).sum().backward()
    h = 1e-6

    def loss(c):
        return np.sum(np.abs(f(c)) ** 2)

    for i in [(0, 0), (1, 2), (2, 3)]:
        e = np.zeros_like(C)
        e[i] = h
        slope = [(loss(C + d) - loss(C - d)) / (2 * h) for d in (e, 1j * e)]
        np.testing.assert_allclose(z.grad[i], slope[0] + 1j * slope[1], rtol=1e-6, atol=1e-6)


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
    x = af.Variable(np.resize(V, n))
    np.sum(np.fft.irfft(np.fft.rfft(x), n) * np.arange(n)).backward()
    np.testing.assert_allclose(x.grad, np.arange(n), atol=1e-12)


def test_single_precision_stays():
    x = af.Variable(V.astype(np.float32))
    z = np.fft.rfft(x)
    assert z.dtype == np.complex64
    (np.abs(z) ** 2).sum().backward()
    assert x.grad.dtype == np.float32


def test_frequencies_are_plain():
    assert type(np.fft.fftfreq(4)) is np.ndarray


def test_out_of_a_composed_transform():
    x, out = af.Variable(A), af.zeros((3, 4), dtype=complex)
    np.fft.fft2(x, out=out)
    assert same_bits(out.value, np.fft.fft2(A))
    np.real(out[0, 0]).backward()
    np.testing.assert_array_equal(x.grad, 1.0)
