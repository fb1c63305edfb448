"""np.pad in every mode, with every spelling of widths and values."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.table.shapes import since

V = np.array([0.5, -1.0, 2.0, 0.25])
A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
S = np.array(1.25)


@pytest.mark.parametrize(
    ("f", "xs"),
    [
        *[(lambda x, mode=mode: np.pad(x, ((1, 2), (2, 0)), mode), (A,)) for mode in ("maximum", "minimum", "mean", "median", "linear_ramp")],
        *[(lambda x, mode=mode: np.pad(x, 1, mode), (S,)) for mode in ("constant", "edge", "maximum", "mean", "linear_ramp")],
        *[(lambda x, mode=mode: np.pad(x, 3, mode, stat_length=2), (V,)) for mode in ("maximum", "minimum", "mean", "median")],
        (lambda x: np.pad(x, 1, "mean", stat_length=((1, 2), (3, 1))), (A,)), (lambda x, e: np.pad(x, (2, 3), "linear_ramp", end_values=e), (A, S)),
        (lambda x: np.pad(x, (2, 3), "linear_ramp", end_values=((1, 2), (3, 4))), (A,)), (lambda x, e: np.pad(x, 2, "linear_ramp", end_values=(e, 2 * e)), (V, S)),
        (lambda x: np.pad(x, (3, 2), "reflect", reflect_type="odd"), (V,)), (lambda x: np.pad(x, 9, "reflect", reflect_type="odd"), (V,)),
        (lambda x: np.pad(x, (3, 5), "symmetric", reflect_type="odd"), (A,)), (lambda x: np.pad(x, 11, "symmetric", reflect_type="odd"), (V,)),
        (lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), (A[:1],)), (lambda x: np.pad(x, 2, "symmetric", reflect_type="even"), (A,)),
        (lambda x, c: np.pad(x, 1, constant_values=c), (A, S)), (lambda x, c: np.pad(x, 1, constant_values=(c, 2.0)), (A, S)), (lambda x, c: np.pad(x, 1, constant_values=((c, 1.0), (2.0, c * c))), (A, S)),
        (lambda x, c: np.pad(x, [(1, 2), (0, 1)], constant_values=c), (A, V[:2])),
        *[(f, (A,)) for f in (lambda x: np.pad(x, {-1: (1, 2)}, "mean"), lambda x: np.pad(x, {0: 2}, "linear_ramp"), lambda x: np.pad(x, {-1: (1, 2)})) if since("2.4")],
        (lambda x: np.pad(x, 1, constant_values=af.Constant(2.0).value), (A,)), (lambda x: np.pad(x, [2], "maximum"), (A,)), (lambda x: np.pad(x, ((1,), (2,)), "mean"), (A,)),
        (lambda x: np.pad(x, np.array([1, 2]), "median"), (A,)), (lambda x: np.pad(x, 1, "empty")[1:-1, 1:-1], (A,)), (lambda x: np.pad(x, 0, "mean") * 1.0, (A,)),
    ],
)  # fmt: skip
def test_values_and_derivatives(f, xs):
    check(f, *xs)


@pytest.mark.parametrize("mode", ["constant", "edge", "mean"])
def test_widths_by_axis_are_pairs(mode):
    """Also where NumPy does not know them: before 2.4."""
    x = af.Variable(A)
    np.testing.assert_array_equal(np.pad(x, {0: 2, -1: (1, 0)}, mode).value, np.pad(A, ((2, 2), (1, 0)), mode))


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda x: np.pad(x, 1, lambda *a: None), NoRuleError, "join the parts"), (lambda x: np.pad(x, (1, 2, 3), "mean"), ValueError, "3 numbers"),
    (lambda x: np.pad(x, ((1, 2),) * 3, "mean"), ValueError, "3 pairs"), (lambda x: np.pad(x, {0: [1, 2]}), TypeError, "of axis 0"),
    (lambda x: np.pad(x, {0: 0.5}, "mean"), TypeError, "of axis 0"),
])  # fmt: skip
def test_errors(call, error, match):
    """Others are NumPy's: see test_refused_calls.py."""
    with pytest.raises(error, match=match):
        call(af.Variable(A))
