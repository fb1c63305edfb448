"""Distribution functions of gamma, beta and t by their parameters: against mpmath, on a grid from 1e-2 to 1e4."""

from pathlib import Path

import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.rules.distributions import beta_score, gamma_score, psi_difference  # noqa: E402

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "incomplete.npz")  # see make_incomplete.py there
FIRST, SECOND = 1e-9, 1e-6


def derivatives(f, *xs):
    """First and second partial derivatives of an elementwise f, by recorded passes."""
    places = tuple(range(len(xs)))
    slopes = af.grad(lambda *ys: np.sum(f(*ys)), places)
    return slopes(*xs), [af.grad(lambda *ys, k=k: np.sum(slopes(*ys)[k]), places)(*xs) for k in places]


def worst(ours, theirs):
    """The largest error, relative to each number."""
    return float(np.max(np.abs(ours / theirs - 1)))


def worst_second(ours, theirs, first, parameter):
    """The same of a second derivative; where it passes through 0, relative to 1e-5 of first/parameter."""
    return float(np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-5 * np.abs(first / parameter))))


def test_gamma():
    a, x, by_a, by_aa = GOLDEN["gamma"].T
    (ours, _), ((ours_aa, _), _) = derivatives(special.gammainc, a, x)
    assert worst(ours, by_a) < FIRST
    assert worst(ours_aa, by_aa) < SECOND
    np.testing.assert_array_equal(af.grad(lambda a: np.sum(special.gammaincc(a, x)))(a), -ours)
    np.testing.assert_allclose(af.grad(lambda v: np.sum(special.chdtr(v, 2 * x)))(2 * a), ours / 2, FIRST)
    np.testing.assert_allclose(af.grad(lambda b: np.sum(special.gdtr(2.0, b, x / 2)))(a), ours, FIRST)


@pytest.mark.parametrize(("call", "x"), [
    (lambda a: special.gammainc(a, 1e-3), 1e-3), (lambda a: special.gammainc(a, 0.19), 0.19),
    (lambda a: -special.gammaincc(a, 0.21), 0.21), (lambda a: -special.gammaincc(a, 30.0), 30.0),
    (lambda a: special.betainc(a, 1e9, 1e-10), 0.1),
])  # fmt: skip
def test_tiny_parameters(call, x):
    """For a → 0 the derivative is −E₁(x) (DLMF 8.4.4), though each half of the score is as large as 1/a."""
    np.testing.assert_allclose(af.grad(call)(1e-9), -special.exp1(x), 1e-7)


def test_beta():
    a, b, x, by_a, by_b, by_aa, by_ab, by_bb = GOLDEN["beta"].T
    (ours_a, ours_b, _), second = derivatives(special.betainc, a, b, x)
    assert max(worst(ours_a, by_a), worst(ours_b, by_b)) < FIRST
    assert max(worst(second[0][1], by_ab), worst(second[1][0], by_ab)) < SECOND
    assert worst_second(second[0][0], by_aa, by_a, a) < SECOND
    assert worst_second(second[1][1], by_bb, by_b, b) < SECOND
    np.testing.assert_array_equal(af.grad(lambda a: np.sum(special.betaincc(a, b, x)))(a), -ours_a)


def test_students_t():
    n, t, by_n, by_nn = GOLDEN["t"].T
    (ours, _), ((ours_nn, _), _) = derivatives(special.stdtr, n, t)
    assert worst(ours, by_n) < FIRST
    assert worst_second(ours_nn, by_nn, by_n, n) < SECOND
    np.testing.assert_allclose(af.grad(lambda n: np.sum(special.stdtr(n, -t)))(n), -ours, FIRST)


def test_student_at_zero():
    """F(0) = 1/2 for every n, and the density there grows with n."""
    (by_n, by_t), ((_, mixed), _) = derivatives(special.stdtr, np.array([3.0]), np.array([0.0]))
    assert by_n == 0
    h = 1e-5
    slope = [special.gamma((n + 1) / 2) / special.gamma(n / 2) / np.sqrt(n * np.pi) for n in (3 - h, 3 + h)]
    np.testing.assert_allclose(mixed, (slope[1] - slope[0]) / (2 * h), 1e-9)
    np.testing.assert_allclose(by_t, np.mean(slope), 1e-9)


@pytest.mark.parametrize(("f", "inverse", "name"), [
    (special.gammainc, special.gammaincinv, "gamma"), (special.gammaincc, special.gammainccinv, "gamma"),
    (special.betainc, special.betaincinv, "beta"), (special.betaincc, special.betainccinv, "beta"),
    (special.stdtr, special.stdtrit, "t"), (special.chdtrc, special.chdtri, "gamma"),
])  # fmt: skip
def test_inverses(f, inverse, name):
    """f(θ, f⁻¹(θ, p)) = p for every θ: how f changes is what the moving quantile takes back."""
    *parameters, x = GOLDEN[name].T[: 3 if name == "beta" else 2]
    p = f(*parameters, x)
    good = (p > 1e-3) & (p < 0.999) & (np.max(parameters, axis=0) < 5e3)
    p, parameters = p[good], [v[good] for v in parameters]
    places = tuple(range(len(parameters)))
    moving = af.grad(lambda *vs: np.sum(f(*vs, inverse(*vs, p))), places)(*parameters)
    alone = af.grad(lambda *vs: np.sum(f(*vs, inverse(*parameters, p))), places)(*parameters)
    assert np.max(np.abs(np.divide(moving, alone))) < 1e-7


@pytest.mark.parametrize(("f", "x"), [
    (lambda v, x: special.gammainc(v, x), [0.0, np.inf]), (lambda v, x: special.betainc(v, 2.0, x), [0.0, 1.0]),
    (lambda v, x: special.betainc(2.0, v, x), [0.0, 1.0]), (lambda v, x: special.stdtr(v, x), [0.0]),
])  # fmt: skip
def test_at_the_ends_nothing_changes(f, x):
    slope = lambda v: af.grad(lambda v: np.sum(f(v, np.array(x))))(v)  # noqa: E731
    v = np.full(len(x), 1.5)
    assert slope(v).tolist() == [0.0] * len(x)
    assert af.grad(lambda v: np.sum(slope(v)))(v).tolist() == [0.0] * len(x)


def test_single_precision_stays():
    a, x = af.Variable(np.array([0.5, 20.0], np.float32)), af.Variable(np.array([[0.3], [25.0]], np.float32))
    special.gammainc(a, x).sum().backward()
    assert (a.grad.dtype, a.grad.shape, x.grad.dtype, x.grad.shape) == (np.float32, (2,), np.float32, (2, 1))
    exact = af.grad(lambda a: np.sum(special.gammainc(a, x.value.astype(float))))(a.value.astype(float))
    np.testing.assert_allclose(a.grad, exact, 1e-5)


def test_many_elements_are_computed_in_blocks():
    """Each as if it were alone."""
    rng = np.random.default_rng(0)
    a, b, x = rng.uniform(0.5, 5.0, (2, 1)), rng.uniform(0.5, 5.0), rng.uniform(0.0, 1.0, 5000)
    for f, given in ((gamma_score, (a, x)), (beta_score, (a, b, x))):
        found = f(*given)
        assert found.shape == (2, 5000)
        for i in ((0, 0), (0, 4097), (1, 4999)):
            alone = f(*[np.broadcast_to(v, (2, 5000))[i][None] for v in given])
            np.testing.assert_allclose(found[i], alone[0], 1e-13)


def test_differences_of_psi():
    a, b = np.meshgrid(10.0 ** np.arange(-3, 6), 10.0 ** np.arange(-3, 6))
    np.testing.assert_allclose(psi_difference(a, b), special.psi(a + b) - special.psi(a), 1e-9, 1e-13)
    np.testing.assert_allclose(psi_difference(1e4, 1e-9), 1e-9 * special.polygamma(1, 1e4), 1e-12)


@pytest.mark.parametrize(("call", "function", "argument"), [
    (lambda v: special.jv(v, 0.5), "jv", "v"), (lambda v: special.kve(v, 0.5), "kve", "v"),
    (lambda v: special.hyp2f1(1.0, v, 2.0, 0.5), "hyp2f1", "b"), (lambda v: special.pdtr(v, 0.5), "pdtr", "k"),
    (lambda v: special.eval_jacobi(2, v, 0.5, 0.3), "eval_jacobi", "a"), (lambda v: special.zeta(v, 0.5), "zeta", "s"),
    (lambda v: special.bdtr(1.0, v, 0.5), "bdtr", "n"), (lambda v: special.pbdv(v, 0.5), "pbdv", "v"),
    (lambda v: np.sum(np.ones(2) * v, axis=v), "sum", "axis"),
])  # fmt: skip
def test_what_has_no_derivative_is_named(call, function, argument):
    with pytest.raises(NoRuleError, match=rf"{function} got a node with a history as its argument '{argument}', where"):
        call(af.Variable(2.5))
