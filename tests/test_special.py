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
from autoflow.rules.table import COMPOSED, RULES  # noqa: E402

OURS = [row for row in rows() if any(fn.__globals__ is vars(ours) for fn in row.derivatives.values())]
REAL = {"psi", "gamma", "loggamma", "_zeta", "ive"}  # complex numbers only forwards, or once


def name(row):
    return row.name


@pytest.mark.parametrize("row", OURS, ids=name)
def test_row(row, monkeypatch):
    if row.name in REAL:
        for words in ("DTYPES", "RARE"):
            monkeypatch.setattr(test_rules, words, [w for w in getattr(test_rules, words) if "complex" not in w])
    test_rules.check_row(row)


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


def test_functions_written_with_numpys():
    x = af.Variable([0.5, 1000.0, -2.0])
    special.logsumexp(x).backward()
    np.testing.assert_allclose(x.grad, [0.0, 1.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(af.nn.softmax(x).value, special.softmax(x.value))
    x = af.Variable([0.5, 2.0])
    (-special.zeta(3.0, x) * 2).sum().backward()  # polygamma(2, x)
    np.testing.assert_allclose(x.grad, special.polygamma(3, x.value))


def test_every_row_is_reached_through_scipy():
    for function in (special.gamma, special.jv, special.zeta, special.betainc):
        assert isinstance(function, np.ufunc) is (function in RULES or function in COMPOSED)
