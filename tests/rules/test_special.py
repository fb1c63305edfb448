"""Rows for scipy.special: the generated checks, the way by which they are found, and removable points."""

from pathlib import Path

import numpy as np
import pytest
from processes import alone

special = pytest.importorskip("scipy.special")

import cases  # noqa: E402
from support import is_scipys, rows  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.rules import special as ours  # noqa: E402
from autoflow.table.outside import advice  # noqa: E402
from autoflow.table.table import COMPOSED, RULES  # noqa: E402

# Rows for SciPy whose generated checks stand elsewhere: (name, home of the derivative) -> file.
LINALG = {
    *((name, "autoflow.scipy.linalg") for name in ("cholesky", "solve_banded", "solve_triangular")),
    *((name, "autoflow.rules.matrix_functions")
      for name in ("expm", "fractional_matrix_power", "logm", "sqrtm", "sylvester")),
    ("solve", "autoflow.rules.solving"),
}  # fmt: skip
ELSEWHERE = dict.fromkeys(LINALG, "scipy/test_linalg.py")
ELSEWHERE["convolve", "autoflow.scipy.signal"] = "scipy/test_signal.py"


def home(row):
    return row.name, next(fn.__globals__["__name__"] for fn in row.derivatives.values())


OURS = [row for row in rows() if is_scipys(row) and row.derivatives and home(row) not in ELSEWHERE]
REAL = {"psi", "gamma", "loggamma", "rgamma", "zeta", "ive", "jve", "yve"}  # complex numbers only forwards, or once
# SciPy warns of float32, or its pbvv is NaN there; the third derivative of kolmogorov overflows in float16.
DOUBLE = {"bdtr", "bdtrc", "kolmogorov", "pbdv", "pbvv", "pbwa"}
# SciPy's values of x + 1e-30i are not those of an analytic function.
ROUGH = {"expi", "ive", "jv", "yv", "jve", "yve", "airy", "sici_0", "sici_1", "shichi_0", "shichi_1", "spherical_jn",
         "spherical_yn"}  # fmt: skip


def no_complex_step(*args):
    raise TypeError("differences only")


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.name)
@pytest.mark.slow
def test_row(row, monkeypatch):
    if row.name in REAL:
        for words in ("DTYPES", "RARE"):
            monkeypatch.setattr(cases, words, [w for w in getattr(cases, words) if "complex" not in w])
    if row.name in DOUBLE:
        monkeypatch.setattr(cases, "DTYPES", ["float64"])
        monkeypatch.setattr(cases, "RARE", [])
    if row.name in ROUGH:
        monkeypatch.setattr(cases, "complex_step", no_complex_step)
    cases.check_row(row, share=len(OURS))


def test_rows_that_are_checked_elsewhere_are_there():
    found = {home(row) for row in rows() if is_scipys(row) and row.derivatives}
    assert set(ELSEWHERE) <= found
    assert ("logsumexp", "autoflow.scipy.special") in {home(row) for row in OURS}


@pytest.mark.slow
def test_no_module_of_scipys_adds_rows_later():
    """So the tests that are made of rows are the same, whichever other tests are collected."""
    alone("""
        import importlib, pkgutil, support
        from autoflow import scipy
        before = set(support.RULES)
        for module in pkgutil.walk_packages(scipy.__path__, "autoflow.scipy."):
            importlib.import_module(module.name)
        assert set(support.RULES) == before, set(support.RULES) - before
    """, cwd=Path(__file__).parent.parent / "support")  # fmt: skip


def test_they_are_found_when_first_seen():
    alone("""
        import sys, numpy as np, autoflow as af
        x = af.Variable([0.5, 1.0])
        assert "scipy" not in sys.modules and "autoflow.rules.special" not in sys.modules
        from scipy import special
        special.jn(1, special.gammaln(x)).sum().backward()
        assert isinstance(special.erf(x), af.Operation)
    """)


@pytest.mark.parametrize(("f", "at", "slope"), [
    (special.j0, 0.0, 0.0), (special.j1, 0.0, 0.5), (special.i1, 0.0, 0.5), (special.i0, 0.0, 0.0),
    (special.expit, 800.0, 0.0), (special.expit, 40.0, 4.248354255291589e-18), (special.log_expit, -800.0, 1.0),
    (special.log_ndtr, -1e5, 1e5 + 1e-5), (lambda x: special.xlogy(x, 0.0), 0.0, -np.inf),
    *[(lambda y: special.xlogy(0.0, y), at, 0.0) for at in (0.0, 2.0)],  # no pole
    (lambda p: special.bdtr(2.7, 5, p), 0.3, -30 * 0.3**2 * 0.7**2),  # counts are rounded down
    *[(lambda x, f=f: f(x)[0], at, at / 4) for f in (special.it2j0y0, special.it2i0k0) for at in (0.0, 1e-7)],
    *[(lambda x, f=f: f(x)[0], at, 1.0) for f in (special.shichi, special.sici) for at in (0.0, 1e-7)],
    # a second is 5e-6 of a degree: the generated test does not see it beside the degrees
    (lambda x: special.radian(x, 20.0, 30.0), 10.0, np.pi / 180),
    (lambda x: special.radian(10.0, x, 30.0), 20.0, np.pi / 180 / 60),
    (lambda x: special.radian(10.0, 20.0, x), 30.0, np.pi / 180 / 3600),
])  # fmt: skip
def test_slopes(f, at, slope):
    np.testing.assert_allclose(af.grad(f)(at), slope, rtol=1e-14)


def test_functions_that_are_no_ufuncs():
    """As the docstring of the rows says: logsumexp would give a wrong gradient, so it is refused."""
    x = af.Variable([0.5, 1.0, -2.0])
    with pytest.raises(NoRuleError, match=r"use af\.special\.logsumexp"):
        special.logsumexp(x)
    assert special.logsumexp(af.Constant(x.value)) == special.logsumexp(x.value)
    np.logaddexp.reduce(x).backward()
    np.testing.assert_allclose(x.grad, special.softmax(x.value))
    np.testing.assert_allclose(np.logaddexp.reduce(x).value, special.logsumexp(x.value))
    x.zero_grad()
    special.softplus(x).sum().backward()
    np.testing.assert_allclose(x.grad, special.expit(x.value))
    np.testing.assert_allclose(af.nn.softmax(x).value, special.softmax(x.value))
    x = af.Variable([0.5, 2.0])
    (-special.zeta(3.0, x) * 2).sum().backward()  # polygamma(2, x)
    np.testing.assert_allclose(x.grad, special.polygamma(3, x.value))


def ufuncs():
    return {n: getattr(special, n) for n in special.__all__ if isinstance(getattr(special, n), np.ufunc)}


def test_every_ufunc_has_a_row_or_a_reason():
    found = {name for name, f in ufuncs().items() if f in RULES or f in COMPOSED}
    assert set(ours.WITHOUT) == set(ufuncs()) - found


def test_those_without_a_row_are_refused():
    with pytest.raises(NoRuleError, match=r"zetac of a node is not differentiated: .* Give it .* af\.register_rule"):
        special.zetac(af.Variable(2.0))
    for name, why in ours.WITHOUT.items():
        assert why in advice(getattr(special, name))


@pytest.mark.parametrize(("f", "x"), [
    (special.fresnel, 0.7), (special.sici, 0.7), (special.shichi, -0.7), (special.airy, -1.3), (special.kelvin, 1.5),
    (lambda x: special.ellipj(x, 0.4), 0.7), (lambda m: special.ellipj(0.8, m), 0.2), (special.itj0y0, 1.2),
    (lambda m: special.ellipj(2.8, m), 0.6), (lambda x: special.pbdv(1.5, x), 0.4), (special.it2i0k0, 1.2),
    (lambda x: special.pbwa(0.5, x), 0.4), (lambda x: (special.lambertw(x),), 0.7),
    (lambda x: (special.lambertw(x, -1),), -0.2),
    (lambda x: (special.gdtr(2.0, 1.5, x), special.gdtr(x, 1.5, 2.0)), 0.6),
])  # fmt: skip
def test_functions_with_several_results(f, x):
    """Each as SciPy computes it, each with the derivative that differences give."""
    h, v = 1e-6, af.Variable(x)
    for k, (z, value) in enumerate(zip(f(v), f(x), strict=True)):
        np.testing.assert_array_equal(z.value, value)
        v.zero_grad()
        np.real(z).backward()
        np.testing.assert_allclose(v.grad, np.real(f(x + h)[k] - f(x - h)[k]) / (2 * h), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("f", "at", "slope", "bend"), [
    (special.exprel, 0.0, 1 / 2, 1 / 3), (special.spence, 1.0, -1.0, 1 / 2),
    (special.ellipk, 0.0, np.pi / 8, 9 * np.pi / 64),
    (special.ellipe, 0.0, -np.pi / 8, -3 * np.pi / 64), (special.ellipkm1, 1.0, -np.pi / 8, 9 * np.pi / 64),
    (lambda m: special.ellipkinc(np.pi / 2, m), 0.0, np.pi / 8, 9 * np.pi / 64),
    (lambda m: special.ellipeinc(np.pi / 2, m), 0.0, -np.pi / 8, -3 * np.pi / 64),
    (lambda y: special.boxcox(np.e, y), 0.0, 1 / 2, 1 / 3),
    (lambda y: special.inv_boxcox(1.0, y), 1e-9, -np.e / 2, None),
    (lambda x: special.agm(x, 1.0), 1.0, 1 / 2, -1 / 8), (lambda x: special.agm(1.0, x), 1.0, 1 / 2, -1 / 8),
    (special.beip, 0.0, 1 / 2, None), (lambda x: special.huber(1.0, x), 1.0, 1.0, 1.0),
    (lambda x: special.spherical_jn(0, 0.0) * x, 0.0, 1.0, 0.0), (special.rgamma, -2.0, 2.0, None),
    (special.rgamma, -3.0, -6.0, None), (lambda x: special.eval_legendre(3, x), 1.0, 6.0, 15.0),
    (lambda x: special.eval_chebyu(2, x), -1.0, -8.0, 8.0), (special.wrightomega, 0.0, 0.36189625, None),
])  # fmt: skip
def test_removable_points(f, at, slope, bend):
    """Where a formula would divide 0 by 0: the limit, in the second derivative as well."""
    x = af.Variable(at)
    f(x).backward(create_graph=True)
    np.testing.assert_allclose(x.grad.value, slope, rtol=1e-7)
    if bend is not None:
        first = x.grad
        x.zero_grad()
        if first.requires_grad:
            first.backward()
        np.testing.assert_allclose(0.0 if x.grad is None else x.grad, bend, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("f", "slopes"), [
    # functions, and slopes at points where a formula may subtract equal numbers: computed with 50 digits
    (special.erfcx, {-3.0: -97237.06150316462, 0.5: -0.5126888229025867, 10.3: -0.005244552440907108, 29.0:
        -0.0006696626385877042, 31.0: -0.0005861719430369728, 100.0: -5.6410497625993184e-05, 100000.0:
        -5.641895834631278e-11, 100000000.0: -5.641895835477562e-17}),
    (special.dawsn, {0.3: 0.8304210009872128, 0.92: 0.00449572364297398, -10.3: -0.004781240481063103, 29.0:
        -0.0005955938853400115, 31.0: -0.000521105592869068, -100.0: -5.000750187565654e-05, 1000000.0:
        -5.0000000000075e-13, 10000000000.0: -5e-21}),
    *[(f, {x: np.exp(x) for x in (-30.0, -3.0, 1.0)}) for f in (special.expm1, np.expm1)],
    (special.spence, {1e-20: -46.051701859880914, 1e-08: -18.420680928159175, 0.5: -1.3862943611198906, 0.99:
        -1.0050335853501442, 1.04: -0.9805178288320324, 1.5: -0.8109302162163288}),
    (special.ellipkm1, {1e-20: -5e+19, 1e-12: -499999999996.5746, 0.1: -4.705364007606978, 0.9: -0.4420023502753652,
        1.5: -0.24788969129607763}),
    (special.ellipk, {-1000000.0: 3.6470222097848344e-09, -3.0: 0.07878830166093198, 0.1: 0.4420023502753653, 0.9:
        4.7053640076069785, 0.999: 499.1639931300771}),
    (special.i0e, {3.0: -0.046173640864524544, 99.0: -0.00020327547178648295, -101.0: 0.00019725255360143396,
        1000000.0: -1.9947121500246404e-10, 1000000000000.0: -1.9947114020079114e-19}),
    (special.i1e, {3.0: -0.01943526356790907, 199.0: -7.06531947773798e-05, -201.0: -6.96052552341383e-05,
        1000000.0: -1.9947091579556673e-10, 1000000000000.0: -1.9947114020049192e-19}),
    (lambda x: special.ive(2.5, x), {3.0: 0.01599962893885628, 700.0: -1.0632281958257243e-05, 750.0:
        -9.595262080442577e-06, 1000000.0: -1.994693449634466e-10, 100000000.0: -1.9947112224831402e-13}),
    (special.k0e, {3.0: -0.10880188208493513, 99.0: -0.0006337885424814609, 101.0: -0.0006151021029628847,
        1000000.0: -6.266568336615697e-10, 1000000000000.0: -6.266570686575151e-19}),
    (special.k1e, {3.0: -0.16005261129132717, 199.0: -0.00022448754265408938, 201.0: -0.0002211330247738762,
        1000000.0: -6.266577736465852e-10, 1000000000000.0: -6.266570686584552e-19}),
    (lambda x: special.kve(2.5, x), {3.0: -0.6834011848605861, 700.0: -3.42723752086765e-05, 750.0:
        -3.087663784747813e-05, 1000000.0: -6.266627085807679e-10, 100000000.0: -6.266571250568873e-13}),
    (lambda x: np.imag(special.hankel1e(1.5, x)), {3.0: 0.07677647766029677, 300.0: 7.677647766029677e-07, 350.0:
        5.222292700969545e-07, 1000000.0: 1.196826841204298e-15}),
    (lambda x: np.imag(special.hankel2e(0.0, x)), {3.0: -0.05864268681234041, 99.0: -0.00028745408153506676, 101.0:
        -0.0002789378040102133, 1000000.0: -2.8209489755932586e-10}),
    (lambda x: special.beta(x, 1.0), {0.5: -4.0, 3.0: -0.1111111111111111, 10000000000.0: -1e-20}),
    (lambda x: special.beta(x, 2.5), {0.5: -3.4003354353719604, -0.4: -2.241883389883929, 3.0:
        -0.034961717510262044, 10000.0: -3.322478770712668e-14}),
    (lambda x: special.betaln(x, 2.5), {0.5: -2.886294361119891, 3.0: -0.688308813483284, 10000.0:
        -0.0002499812524996485, 10000000000.0: -2.4999999998125e-10, 1e-10: -10000000001.280373}),
    (lambda x: special.betaln(x, 1e-6), {0.5: -4.934793786162592e-06, 3.0: -3.949339897913431e-07, 10000.0:
        -1.0000500016166616e-10, 100000000.0: -1.000000004999995e-14}),
    (lambda x: special.betaln(1e10, x), {0.5: -24.98936095596188, 3.0: -22.10306659509199, 10000.0:
        -13.815561558747108}),
    (lambda x: special.poch(x, 0.5), {0.5: 0.7821328382748339, 3.0: 0.29972023834039646, 100000000.0:
        5.00000000625e-05, -2.3: 14.982687986058698}),
    (lambda x: special.poch(x, -1.0), {-2.3: -0.09182736455463729, 3.3: -0.18903591682419663, 100000000.0:
        -1.0000000200000002e-16}),
    (lambda x: special.poch(x, 2.0), {x: 2 * x + 1 for x in (-2.3, 3.3, 1e8, -1.0, 0.0)}),
    (lambda x: special.binom(x, 2.0), {5.3: 4.8, 100000000.0: 99999999.5, -2.5: -3.0}),
    (lambda x: special.binom(5.0, x), {-1.0: 0.16666666666666666, -2.0: -0.023809523809523808, 6.0:
        -0.16666666666666666, 7.0: 0.023809523809523808, 9.0: 0.001984126984126984, 2.5: 0.0, 2.6:
        -0.715751822954949, 5.0: -2.283333333333333, 0.0: 2.283333333333333, -0.5: 0.883407647710637}),
    (lambda x: special.binom(5.5, x), {-1.0: 0.15384615384615385, -2.0: -0.020512820512820513, 6.5:
        -0.15384615384615385, 7.5: 0.020512820512820513, 7.0: 0.03189062481994243, 1.0: 6.535698474158062}),
    (lambda x: special.binom(300.0, x), {-1.0: 0.0033222591362126247, 301.0: -0.0033222591362126247, 303.0:
        -7.261292453418627e-08, 149.0: 1.237738280541251e+87}),
    *[(f, {1e-10: 26357728.789847985, 0.001: 22.834155283851928, 0.9: 0.5135278891131443,
        30.0: 0.25965387047938976, 10000000000.0: 0.06170909759702852})
      for f in (lambda x: special.agm(1.0, x), lambda x: special.agm(x, 1.0))],
    (lambda x: special.powm1(0.5, x), {60.0: -6.012093432122359e-19, 3.0: -0.08664339756999316, 0.1:
        -0.6467291874531493}),
    (lambda x: np.imag(special.wofz(x)), {0.3: 0.9370297574325731, 29.0: -0.0006720557322671424, 31.0:
        -0.0005880046948504123, 1000000.0: -5.641895835486025e-13}),
])  # fmt: skip
def test_slopes_far_out_are_as_exact_as_the_functions(f, slopes):
    for x, slope in slopes.items():
        np.testing.assert_allclose(np.real(af.grad(f)(x)), slope, rtol=1e-9, atol=1e-300)
        step = 1e-4 * (abs(x) or 1.0)
        twice = np.diff(np.real(af.grad(lambda x: np.sum(f(x)))(np.array([x - step, x + step])))) / (2 * step)
        np.testing.assert_allclose(np.real(af.grad(af.grad(f))(x)), twice[0], rtol=0.02, atol=1e-6 * abs(slope) / step)


@pytest.mark.parametrize("name", ["kei", "kerp", "keip", "hankel1e", "hankel2e", "pbdv", "pbvv", "pbwa"])
def test_derivatives_in_single_precision_have_its_digits(name):
    """SciPy's functions lose them there, so they are not what the derivatives of Bessel functions are made of."""
    function, has_two = getattr(special, name), name[0] == "p"
    for x in (0.5, 3.0, 5.0, 8.0) if has_two else (1e-4, 0.5, 3.0, 5.0, 8.0, 300.0 if name[0] == "h" else 9.0):
        for order in [()] if name[0] == "k" else [(1.0,), (2.5,)]:
            both = [af.Variable(np.float32(x)), af.Variable(float(np.float32(x)))]
            for v in both:
                np.real(function(*order, v)[0] if has_two else function(*order, v)).backward()
            np.testing.assert_allclose(both[0].grad, both[1].grad, rtol=1e-5, err_msg=f"{order} {x}")
