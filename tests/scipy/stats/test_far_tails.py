"""Tails and densities whose logarithms are larger than their last digits: 10⁴ to 10¹⁵ in each shape, near and far."""

import numpy as np
import pytest
from distributions import LINES
from scipy import special

import autoflow as af

SIZES = [10.0**k for k in range(4, 16)]


@pytest.mark.parametrize("size", SIZES)
def test_slopes_of_tails(size):
    """Of exp(−size h(x)) beyond the middle the slope of the logarithm is −size h'(x), but for one part in ``size``."""
    for r in (1.0, 3.0, 30.0):
        x = r * np.sqrt(size)
        found = af.grad(af.stats.t.logsf)(x, size)
        np.testing.assert_allclose(found, -(size + 1) * x / (size + x * x), rtol=20 / size + 1e-12)
        np.testing.assert_allclose(af.grad(af.stats.t.logcdf)(-x, size), -found, rtol=1e-12)
    for r in (0.01, 0.5, 2.0, 100.0):
        tail = af.stats.gamma.logcdf if r < 1 else af.stats.gamma.logsf
        found = af.grad(tail)(r * size, size)
        np.testing.assert_allclose(found, (size - 1) / (r * size) - 1, rtol=20 / size + 1e-12)
        by_shape = af.grad(tail, 1)(r * size, size)
        np.testing.assert_allclose(by_shape, np.log(r * size) - special.psi(size), rtol=20 / size + 1e-9)
    for x in (0.01, 0.2, 0.9):
        tail = af.stats.beta.logcdf if x < 1 / 3 else af.stats.beta.logsf
        found = af.grad(tail)(x, size, 2 * size)
        right = (size - 1) / x - (2 * size - 1) / (1 - x)
        np.testing.assert_allclose(found, right, rtol=100 / size + 1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_second_derivatives_of_tails(size):
    x = 2 * np.sqrt(size)
    right = -((size + 1) * (size - x * x)) / (size + x * x) ** 2
    np.testing.assert_allclose(af.grad(af.grad(af.stats.t.logsf))(x, size), right, rtol=300 / size + 1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ratio", [1e-300, 1e-20, 1e-8, 1e-3, 0.3, 0.7, 3.0, 1e5])
def test_densities_far_below_and_above(size, ratio):
    z = size * ratio
    right = -size * (ratio - 1 - np.log(ratio)) - np.log(ratio)
    found = af.stats.gamma.logpdf(z, size) + 0.5 * np.log(2 * np.pi * size)
    np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-3)
    np.testing.assert_allclose(af.stats.poisson.logpmf(size - 1, z), af.stats.gamma.logpdf(z, size), rtol=1e-12)
    slope = af.grad(af.stats.gamma.logpdf)(z, size)
    np.testing.assert_allclose(slope, (size - 1) / z - 1, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["logpdf", "logcdf", "logsf", "pdf", "cdf", "sf"])
@pytest.mark.parametrize("name", LINES)
def test_where_the_standard_form_leaves_the_range_of_numbers(name, method):
    """x and scale are numbers, z = x/scale from 1e-400 to 1e400 on both sides: no slope is NaN, a slope is that of
    values nearby, and where both are numbers x ∂f/∂x + scale ∂f/∂scale is -1 of a log density and 0 of a tail."""
    f = getattr(getattr(af.stats, name), method)
    for power in (-400, -320, -303, -299.9, 299.9, 303, 320, 400):
        for side in (-1.0, 1.0):
            x, scale = side * 10.0 ** (power / 2), 10.0 ** (-power / 2)
            args = (x, *LINES[name], 0.0, scale)
            with np.errstate(all="ignore"):
                values = [float(f(x * np.exp(h), *args[1:])) for h in (-0.5, 0.0, 0.5)]
                slopes = af.grad(f, tuple(range(len(args))))(*args)
            assert not np.any(np.isnan([*values, *slopes])), (args, values, slopes)
            by_x, by_loc, by_scale = slopes[0], slopes[-2], slopes[-1]
            assert by_x == -by_loc
            if "log" in method and np.all(np.isfinite([*values, *slopes])):
                size = max(abs(x * by_x), 1e-3)
                np.testing.assert_allclose(values[2] - values[0], x * by_x, rtol=1e-2, atol=1e-2 * size)
                np.testing.assert_allclose(x * by_x + scale * by_scale, -(method == "logpdf"), atol=1e-9 * size)
