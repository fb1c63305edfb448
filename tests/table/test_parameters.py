"""Rows whose first arguments are parameters: options without a derivative, and results that are written elsewhere."""

import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402


def test_keywords_of_ufuncs_are_refused_by_name():
    with pytest.raises(NoRuleError, match=r"jv\(x, where=c\) of a node leaves the other elements undefined"):
        special.jv(1.0, af.Variable([0.5, 1.0]), where=[True, False])


def test_out_into_a_recordable_array():
    x, z = af.Variable([0.5, 1.0]), af.zeros(2)
    special.jv(1.0, x, out=z)
    (z * z).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * special.jv(1, x.value) * special.jvp(1, x.value))


def test_psi_of_a_complex_number_is_refused_backwards():
    with pytest.raises(NoRuleError, match="real"):
        special.psi(af.Variable(1.5 + 0.5j)).backward(np.complex128(1.0))
