"""Polynomials of nodes, as NumPy's functions and as its classes."""

import numpy as np
import pytest
from checks import check

import autoflow as af

V = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
P = np.array([0.5, 1.0, 2.5, 3.0, 4.5])
W = np.array([1.0, 0.5, 2.0, 0.25, 1.5])
A = np.array([[1.5, -2.0, 0.5, 1.0], [3.0, 0.25, -1.0, 2.0], [0.3, -0.7, 1.1, -1.6]])
S = np.array(1.25)


@pytest.mark.parametrize(("f", "xs"), [
    (lambda x: np.polyadd(x, 1), (V,)), (lambda x, k: np.polyint(x, 3, k=k), (V, S)),
    (lambda x: np.abs(np.poly(np.roots(x))), (V,)), (lambda y: np.polyfit(P, y, 2), (V,)),
    (lambda x, y: np.polyfit(x, y, 1, w=W), (P, A[:2].reshape(-1)[:5, None] + P[:, None] * P[:2])),
    (lambda x: np.polyfit(x, V, 1, cov="unscaled")[1], (P,)),
])  # fmt: skip
def test_polynomials(f, xs):
    check(f, *xs, rtol=1e-6)


@pytest.mark.parametrize("name", ["polynomial.polyval", "chebyshev.chebval", "legendre.legval", "hermite.hermval",
                                  "hermite_e.hermeval", "laguerre.lagval"])  # fmt: skip
def test_numpys_polynomials_of_a_node(name):
    """Clenshaw's recurrence is arithmetic on x, so it is recorded; of the coefficients NumPy takes the numbers."""
    module, function = name.split(".")
    value = getattr(getattr(np.polynomial, module), function)
    check(lambda x: value(x, [1.0, 2.0, -3.0, 0.5]), P, rtol=1e-6)
    check(np.polynomial.Polynomial([1.0, 2.0, -3.0]), P, rtol=1e-6)
    with af.options(watched=()):
        assert type(value(P, af.Variable([1.0, 2.0]))) is np.ndarray
