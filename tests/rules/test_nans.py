"""Functions that leave out NaN: the gradient there is 0, whatever else happens; also in second derivatives."""

# ruff: noqa: E501 - tables of calls

import warnings

import numpy as np
import pytest
from support import same_bits

import autoflow as af

X = np.array([[1.5, np.nan, 0.5, 2.0], [3.0, 0.25, -1.0, np.nan], [0.75, 1.25, np.nan, np.nan]])
FUNCTIONS = [np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin, np.nanprod, np.nancumsum, np.nancumprod,
             np.nanmedian, lambda x, **o: np.nanquantile(x, [0.1, 0.6], **o), lambda x, **o: np.nanpercentile(x, 30, **o)]  # fmt: skip
CALLS = [(f, o) for f in FUNCTIONS for o in ({}, {"axis": 0}, {"axis": 1})]


@pytest.mark.parametrize(("f", "options"), CALLS)
def test_as_if_they_were_not_there(f, options):
    """Derivatives by differences of the numbers; exact zeros at NaN; second derivatives likewise."""
    along = np.sin(np.arange(12.0)).reshape(3, 4)

    def loss(x):
        z = f(x, **options)
        return np.sum(np.cos(np.arange(z.size)).reshape(z.shape) * z * z)

    def second(x):
        grad = af.grad(loss)(x)
        return np.sum(grad * along)

    assert same_bits(f(af.Variable(X), **options).value, f(X, **options))
    for g, numbers, rtol in ((af.grad(loss)(X), loss, 1e-6), (af.grad(second)(X), second, 1e-5)):
        assert np.all(g[np.isnan(X)] == 0)
        for i in [(0, 0), (1, 2), (2, 1)]:
            e = np.zeros_like(X)
            e[i] = 1e-5
            np.testing.assert_allclose(g[i], (numbers(X + e) - numbers(X - e)) / 2e-5, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize(("f", "options"), CALLS)
@pytest.mark.parametrize("order", [1, 2])
def test_nothing_but_nan(f, options, order):
    """The gradient of nothing is 0. (NumPy warns in the forward pass, as it should.)"""
    x = af.Variable(np.full((2, 3), np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = f(x, **options)
        np.sum(z * z).backward(create_graph=order == 2)
    first, _ = x.grad, x.zero_grad()
    if order == 2 and first.requires_grad:
        np.sum(first).backward()
        assert x.grad is None or np.all(x.grad == 0)
    assert np.all(np.asarray(first) == 0)


def test_masks_and_first_elements():
    how = {"where": np.array([True, False, True, True]), "initial": 3.0}
    for f, right in ((np.nansum, how["where"] & ~np.isnan(X)), (np.nanmax, np.where(X == 3.0, 0.5, 0.0))):
        np.testing.assert_array_equal(af.grad(lambda x, f=f: f(x, **how))(X), right)


def test_no_warning_on_the_way_back():
    x = af.Variable(X)
    z = [np.nanmean(x, axis=0), np.nanstd(x, axis=1), np.nanmedian(x, axis=1), np.nanquantile(x, 0.3, axis=1)]
    with np.errstate(all="raise"):
        for part in z:
            part.backward(np.ones(part.shape))


@pytest.mark.parametrize("f", [
    np.sum, np.mean, np.prod, np.var, np.std, lambda x, **o: np.max(x, initial=-9.0, **o),
    lambda x, **o: np.var(x, mean=0.5, **o), lambda x, **o: np.std(x, mean=np.mean(x, keepdims=True, **o), **o),
])  # fmt: skip
@pytest.mark.parametrize("hidden", [np.nan, np.inf])
def test_what_where_leaves_out_reaches_no_derivative(f, hidden):
    """Of the first and of the second order, as if another number stood there."""
    used = ~np.isnan(X)
    found = []
    for other in (hidden, 0.25):
        x = af.Variable(np.where(used, X, other))
        np.square(f(x, where=used)).backward(create_graph=True)
        first, _ = x.grad, x.zero_grad()
        np.sum(first * np.sin(np.arange(12.0)).reshape(3, 4)).backward()
        found.append((first.value, x.grad))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert not np.any(np.asarray(found)[..., ~used])
