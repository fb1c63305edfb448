"""af.special: SciPy's values, and the derivatives that differences of them give."""

from functools import partial

import numpy as np
import pytest
from processes import alone
from support import central

scipy_special = pytest.importorskip("scipy.special")

import autoflow as af  # noqa: E402
from autoflow import special  # noqa: E402

X = np.array([0.25, 0.7, 0.95])
A = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]]) * 3


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_sums_of_exponentials_have_scipys_bits(name, axis):
    found, right = [getattr(m, name)(x, axis=axis) for m, x in ((special, af.Variable(A)), (scipy_special, A))]
    np.testing.assert_array_equal(found.value, right)


def test_logsumexp_of_huge_numbers():
    assert af.grad(special.logsumexp)(np.array([1e300, 0.0, np.inf, np.inf])).tolist() == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize(("f", "x"), [
    (lambda m, x: m.polygamma(2, x), X), (lambda m, x: m.polygamma(0, x), X), (lambda m, x: m.multigammaln(x, 3), 2.5),
    (lambda m, x: m.factorial(x), [-1.5, 0.5, 3.0]), (lambda m, x: m.diric(x, 4), [0.3, 2.0, -1.0]),
    (lambda m, x: np.real(m.lambertw(x)), X), (lambda m, x: m.spherical_jn(2, x), [-0.4, 0.0, 1.3]),
    (lambda m, x: m.spherical_yn(0, x), X), (lambda m, x: m.spherical_in(1, x), X),
    (lambda m, x: m.spherical_kn(1, x), X), (lambda m, x: m.logsumexp(x, 1, [0.5, 2.0, 1.0], True), A),
    (lambda m, b: m.logsumexp(A, 1, b), [0.5, 2.0, 1.0]),
    *[(lambda m, x, name=name, axis=axis: getattr(m, name)(x, axis=axis), A)
      for name in ("softmax", "log_softmax", "logsumexp") for axis in (None, 0, -1, (0, 1))],
])  # fmt: skip
def test_values_and_slopes_are_scipys(f, x):
    """The derivative with different weights for all elements."""
    x, theirs = np.asarray(x, float), partial(f, scipy_special)
    v = af.Variable(x)
    z = f(special, v)
    np.testing.assert_allclose(z.value, theirs(x), rtol=1e-12, atol=1e-15)
    w = np.arange(1.0, z.size + 1).reshape(z.shape)
    (z * w).sum().backward()
    np.testing.assert_allclose(v.grad, central(lambda xs: np.sum(theirs(*xs) * w), [x], 0), rtol=1e-6, atol=1e-7)


def test_diric_at_its_poles_and_multigammaln_outside_of_its_domain():
    x = [0.0, 2 * np.pi, 4 * np.pi, 0.3]  # proved where it has a slope
    np.testing.assert_allclose(special.diric(af.Variable(x), 4).value, scipy_special.diric(x, 4))
    with pytest.raises(ValueError, match=r"0\.5 \* \(d-1\)"):
        special.multigammaln(af.Variable(0.5), 3)


@pytest.mark.parametrize("name", ["special", "stats"])
def test_without_scipy_the_error_says_what_to_install(name):
    said = alone(f"""
        import sys; sys.modules["scipy"] = None
        import autoflow as af
        try: af.{name}
        except ImportError as error: print(error)
    """)
    assert f"af.{name} computes with SciPy, which is not installed: pip install scipy" in said


@pytest.mark.parametrize("masked", [800.0, 1e300, np.inf])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_logsumexp_knows_nothing_of_what_has_no_weight(masked, axis):
    """A weight of 0 leaves an element out, however large it is; a small one does not."""
    b = np.array([[0.0, 1.0], [2.0, 0.0]])
    given = [np.where(b == 0, v, [[0.0, 0.5], [1.5, 0.0]]) for v in (masked, 0.0)]
    huge, small = [af.grad(lambda x: np.sum(special.logsumexp(x, axis, b)))(x) for x in given]
    np.testing.assert_allclose(huge, small)
    assert np.all(huge[b == 0] == 0)
    assert np.all(huge[b != 0] > 0)


@pytest.mark.parametrize("b", [None, [2.0, 2.0]])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_logsumexp_of_infinities_and_large_numbers(b):
    x = np.array([[-np.inf, -np.inf], [np.inf, np.inf], [1.0, np.inf], [-np.inf, 1.0], [1e16, 1e16 + 2]])
    slope = af.grad(lambda v: np.sum(special.logsumexp(v, 1, b)))(x)
    low = 1 / (1 + np.exp(2))
    np.testing.assert_allclose(slope, [[0.5, 0.5], [0.5, 0.5], [0, 1], [0, 1], [low, 1 - low]], rtol=1e-15)


@pytest.mark.parametrize("x", [-1e-300, -1e-10, -1.0, -1e5, -1e10, -1e20, -1e100])
def test_inverse_of_log_ndtr_has_one_over_its_slope(x):
    z = float(scipy_special.ndtri_exp(x))
    slopes = [af.grad(f)(v) for f, v in ((scipy_special.ndtri_exp, x), (scipy_special.log_ndtr, z))]
    np.testing.assert_allclose(np.prod(slopes), 1, rtol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(5.0, 7.0), (2.0, 3.0), (0.0, 1.0), (5.0, 2.0), (4.5, 2.0), (4.5, 6.5)])
def test_binomial_coefficients_that_are_zero_have_slopes(n, k):
    h = 1e-6
    expected = (scipy_special.binom(n + h, k) - scipy_special.binom(n - h, k)) / (2 * h)
    np.testing.assert_allclose(af.grad(lambda x: scipy_special.binom(x, k))(n), expected, rtol=1e-6)
