"""af.signal: convolution in several dimensions."""

import numpy as np
import pytest

theirs = pytest.importorskip("scipy.signal")

import cases  # noqa: E402
import checks  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import signal  # noqa: E402
from autoflow.table.table import RULES  # noqa: E402

A, B = np.array([[0.9, -3.6, 6.0], [2.1, 0.3, -1.2]]), np.array([[0.5, -1.0], [2.0, 0.3]])


def test_convolution_row():
    cases.check_row(RULES[signal.convolution])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_by_fourier_transforms(mode):
    checks.check(lambda x: signal.convolve(x, B, mode, "fft"), A)
    np.testing.assert_array_equal(signal.convolve(af.Variable(A), B, mode, "fft"), theirs.convolve(A, B, mode, "fft"))


def test_convolution_of_half_precision():
    x = af.Variable(np.ones((2, 2), np.float16))
    with pytest.raises(TypeError, match="no float16 of several axes"):
        signal.convolve(x, x)
