"""The tests of every row of the table, generated from the row: its examples, its domain, its derivatives.

A row is tried in combinations of example, dtype, layout, which operands are nodes and of what kind, order of the
derivative, and small or large (large: values that no derivative reads are not kept). Each pair of settings meets in
one of the combinations, which the examples of a row share by day; every row sees the rarer dtypes too. With
AUTOFLOW_NIGHTLY set every example has all of them, and one in 13 of all others.

What is compared with what: values with NumPy's, bit for bit; first derivatives with differences of NumPy's values;
second and third derivatives with differences of ours, which by then are known to be right.
"""

import numpy as np
import pytest
from cases import VICTIMS, Case, broken, check, check_row
from row_examples import examples_of
from support import FINE, STENCIL, directional, rows

import autoflow as af
from autoflow.table.table import RULES, Rule


def _name(value):
    return value.name if isinstance(value, Rule) else str(value)


EXAMPLES = [
    pytest.param(row, k, marks=pytest.mark.thorough if k else ())
    for row in rows(scipys=False)
    for k in range(len(examples_of(row)))
]


@pytest.mark.parametrize(("row", "number"), EXAMPLES, ids=_name)
def test_row(row, number):
    check_row(row, number)


@pytest.mark.thorough
@pytest.mark.parametrize("row", rows(scipys=False), ids=_name)
def test_row_takes_float64_in_every_example(row):
    """So no example is skipped: in the simplest setting it gives a node, with a gradient of every operand."""
    for example in examples_of(row):
        check(Case(row, example), "float64", "C", "Variables", 1, "small")


def unrecorded(g, sent):
    """Right numbers, but cut off: second derivatives are wrong."""
    return sent.detach() if isinstance(sent, af.Node) else sent


def spoiled(g, sent):
    """Right numbers, but g is overwritten, which others still need."""
    if type(g) is np.ndarray and g.flags.writeable:
        sent = sent.copy()
        g[...] = 7.0
    return sent


FAULTS = {
    "sign": lambda g, sent: -sent, "a factor": lambda g, sent: sent * 1.001,
    "dtype": lambda g, sent: sent.astype(np.float32) if sent.dtype == np.float64 else sent, "not recorded": unrecorded,
    "conjugate": lambda g, sent: np.conjugate(sent) if sent.dtype.kind == "c" else sent, "in place": spoiled,
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("row", VICTIMS, ids=_name)
def test_broken_derivative_is_noticed(row, fault):
    for operand in row.derivatives:
        with broken(row, operand, FAULTS[fault]), pytest.raises((AssertionError, TypeError, ValueError)):
            check_row(row)


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_missing_sum_to_is_noticed(name):
    row = RULES[getattr(np, name)]
    with broken(row, "x", lambda g, sent: sent, elementwise=False), pytest.raises((AssertionError, ValueError)):
        check_row(row)


def test_broken_value_is_noticed():
    """One unit in the last place is too much."""
    row = RULES[np.sum]
    right = row.compute
    row.compute = lambda *args: np.nextafter(right(*args), np.inf) if right(*args).dtype == np.float64 else right(*args)
    try:
        with pytest.raises(AssertionError, match="instead of NumPy's"):
            check_row(row)
    finally:
        row.compute = right


def test_fine_differences_see_functions_that_bend():
    """Eight points are exact for x⁸, where four are not."""
    x, one = [np.array(0.05)], [np.array(1.0)]
    four, eight = [directional(lambda at: at[0] ** 8 * 1e10, x, one, stencil) for stencil in (STENCIL, FINE)]
    exact = 8 * 0.05**7 * 1e10
    assert abs(eight - exact) < 1e-12 * exact
    assert abs(four - exact) > 1e-9 * exact
