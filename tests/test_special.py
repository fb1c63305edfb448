"""Rows for scipy.special: the generated checks, the way by which they are found, and removable points."""

import subprocess
import sys

import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

import test_rules  # noqa: E402 - before the rows of SciPy are there: it has the rows of NumPy
from support import rows  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.rules import special as ours  # noqa: E402

OURS = [row for row in rows() if any(fn.__globals__ is vars(ours) for fn in row.derivatives.values())]
REAL = {"psi", "gamma", "loggamma", "_zeta", "ive"}  # complex numbers only forwards, or once
ROUGH = {"expi", "ive", "jv", "yv"}  # SciPy's values of x + 1e-30i are not those of an analytic function


def name(row):
    return row.name


@pytest.mark.parametrize("row", OURS, ids=name)
def test_row(row, monkeypatch):
    if row.name in REAL:
        for words in ("DTYPES", "RARE"):
            monkeypatch.setattr(test_rules, words, [w for w in getattr(test_rules, words) if "complex" not in w])
    if row.name in ROUGH:
        monkeypatch.setattr(test_rules, "complex_step", no_complex_step)
    test_rules.check_row(row)


def no_complex_step(*args):
    raise TypeError("differences only")


def test_they_are_found_when_first_seen():
    code = (
        "import sys, numpy as np, autoflow as af\n"
        "x = af.Variable([0.5, 1.0])\n"
        "assert 'scipy' not in sys.modules and 'autoflow.rules.special' not in sys.modules\n"
        "from scipy import special\n"
        "special.jn(1, special.gammaln(x)).sum().backward()\n"
        "assert isinstance(special.erf(x), af.Operation)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_values_are_scipys_in_float32():
    x = af.Variable(np.array([0.5, 1.5], np.float32))
    z = special.jv(np.float32(1.5), x)
    assert z.dtype == np.float32
    z.sum().backward()
    assert x.grad.dtype == np.float32


def test_parameters_are_options():
    x, v = af.Variable(0.5), af.Variable(1.0)
    with pytest.raises((NoRuleError, TypeError)):
        special.jv(v, x)
    with pytest.raises((NoRuleError, TypeError)):
        special.gammainc(v, 0.5)


def test_psi_of_a_complex_number_is_refused_backwards():
    x = af.Variable(1.5 + 0.5j)
    z = special.psi(x)
    with pytest.raises(NoRuleError, match="real"):
        z.backward(np.complex128(1.0))


@pytest.mark.parametrize(("f", "at", "slope"), [
    (special.j0, 0.0, 0.0), (special.j1, 0.0, 0.5), (special.i1, 0.0, 0.5), (special.i0, 0.0, 0.0),
    (special.expit, 800.0, 0.0), (special.expit, 40.0, 4.248354255291589e-18), (special.log_expit, -800.0, 1.0),
    (special.log_ndtr, -1e5, 1e5 + 1e-5), (special.xlogy, 0.0, -np.inf),
])  # fmt: skip
def test_at_the_edge(f, at, slope):
    x = af.Variable(at)
    (f(x, 0.0) if f is special.xlogy else f(x)).backward()
    np.testing.assert_allclose(x.grad, slope, rtol=1e-14)


def test_xlogy_at_zero_has_no_pole():
    y = af.Variable([0.0, 2.0])
    special.xlogy(0.0, y).sum().backward()
    assert y.grad.tolist() == [0.0, 0.0]


def test_functions_that_are_no_ufuncs():
    """As the docstring of the rows says: logsumexp would give a wrong gradient, so it is refused."""
    x = af.Variable([0.5, 1.0, -2.0])
    with pytest.raises(NoRuleError, match="logaddexp"):
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
