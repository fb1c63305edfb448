"""af.special: SciPy's values, and the derivatives that differences of them give."""

import numpy as np
import pytest
from processes import alone

scipy_special = pytest.importorskip("scipy.special")

import autoflow as af  # noqa: E402
from autoflow import special  # noqa: E402

X = np.array([0.25, 0.7, 0.95])
A = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]]) * 3


def check(ours, theirs, x):
    """Values and first derivative, with different weights for all elements."""
    x = np.asarray(x, float)
    v = af.Variable(x)
    z = ours(v)
    np.testing.assert_allclose(z.value, theirs(x), rtol=1e-12, atol=1e-15)
    w = np.arange(1.0, z.size + 1).reshape(z.shape)
    (z * w).sum().backward()
    slope = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 1e-6
        slope[i] = np.sum((theirs(x + step) - theirs(x - step)) * w) / 2e-6
    np.testing.assert_allclose(v.grad, slope, rtol=1e-6, atol=1e-7)


# -- special ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_sums_of_exponentials(name, axis):
    ours, theirs = getattr(special, name), getattr(scipy_special, name)
    check(lambda x: ours(x, axis=axis), lambda x: theirs(x, axis=axis), A)
    np.testing.assert_array_equal(ours(af.Variable(A), axis=axis).value, theirs(A, axis=axis))


def test_logsumexp_with_weights():
    b = np.array([0.5, 2.0, 1.0])
    check(lambda x: special.logsumexp(x, 1, b, True), lambda x: scipy_special.logsumexp(x, 1, b, True), A)
    check(lambda b: special.logsumexp(A, 1, b), lambda b: scipy_special.logsumexp(A, 1, b), b)
    x = af.Variable([1e300, 0.0, np.inf, np.inf])
    special.logsumexp(x).backward()
    assert x.grad.tolist() == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize(("ours", "theirs", "x"), [
    (lambda x: special.polygamma(2, x), lambda x: scipy_special.polygamma(2, x), X),
    (lambda x: special.polygamma(0, x), lambda x: scipy_special.polygamma(0, x), X),
    (lambda x: special.multigammaln(x, 3), lambda x: scipy_special.multigammaln(x, 3), 2.5),
    (special.factorial, scipy_special.factorial, [-1.5, 0.5, 3.0]),
    (lambda x: special.diric(x, 4), lambda x: scipy_special.diric(x, 4), [0.3, 2.0, -1.0]),
    (lambda x: np.real(special.lambertw(x)), lambda x: np.real(scipy_special.lambertw(x)), X),
    (lambda x: special.spherical_jn(2, x), lambda x: scipy_special.spherical_jn(2, x), [-0.4, 0.0, 1.3]),
    (lambda x: special.spherical_yn(0, x), lambda x: scipy_special.spherical_yn(0, x), X),
    (lambda x: special.spherical_in(1, x), lambda x: scipy_special.spherical_in(1, x), X),
    (lambda x: special.spherical_kn(1, x), lambda x: scipy_special.spherical_kn(1, x), X),
])  # fmt: skip
def test_special(ours, theirs, x):
    check(ours, theirs, x)


def test_diric_at_its_poles():
    x = [0.0, 2 * np.pi, 4 * np.pi, 0.3]  # proved where it has a slope
    np.testing.assert_allclose(special.diric(af.Variable(x), 4).value, scipy_special.diric(x, 4))


def test_multigammaln_knows_its_domain():
    with pytest.raises(ValueError, match=r"0\.5 \* \(d-1\)"):
        special.multigammaln(af.Variable(0.5), 3)


# -- without SciPy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["special", "stats"])
def test_without_scipy_the_error_says_what_to_install(name):
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "import autoflow as af\n"
        f"try: af.{name}\n"
        "except ImportError as error: print(error)\n"
    )
    assert f"af.{name} computes with SciPy, which is not installed: pip install scipy" in alone(code)


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
