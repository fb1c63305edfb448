"""Means and variances of the table's own."""

import numpy as np
import pytest
from support import assert_close, same_bits

import autoflow as af

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_deviations_from_a_mean_that_all_have_are_flat(f):
    slope = af.grad(lambda x: f(x, mean=np.mean(x, keepdims=True)))(np.full(3, 2.0))
    np.testing.assert_array_equal(slope, 0.0)


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
def test_the_mean_itself_as_mean_changes_nothing(f):
    a = np.where(A == 0.25, np.nan, A) if f in (np.nanvar, np.nanstd) else A
    mean = np.nanmean if f in (np.nanvar, np.nanstd) else np.mean
    for axis in (None, 0, 1):
        own = af.grad(lambda x: np.sum(f(x, axis=axis) ** 2))(a)  # noqa: B023 - called at once
        given = af.grad(lambda x: np.sum(f(x, axis=axis, mean=mean(x, axis=axis, keepdims=True)) ** 2))(a)  # noqa: B023
        assert_close(given, own, 1e-13, str(axis))


@pytest.mark.parametrize("f", [np.nanvar, np.nanstd])
def test_too_few_numbers_have_no_spread(f):
    x = np.array([[np.nan, np.nan, 1.0], [np.nan, 2.0, 3.0], [np.nan, 1.0, np.nan]])
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
        z = f(af.Variable(x), axis=0, ddof=1, mean=np.zeros((1, 3)))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
        assert same_bits(z.value, f(x, axis=0, ddof=1, mean=np.zeros((1, 3))))
