"""Every row of the table, compiled: value and gradient have the bits of eager code, also on other numbers."""

import numpy as np
import pytest
from compiled import check_same, value_and_slopes
from row_examples import examples_of
from support import is_scipys, rows

import autoflow as af
from autoflow.errors import CompileError

REFUSED = {
    "put_view", "recur",  # they write into views of their own result, where in-place writes are refused
    "fractional_matrix_power", "logm",  # SciPy estimates norms by random numbers
}  # fmt: skip


@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
@pytest.mark.slow
def test_row(row):
    for example in examples_of(row)[:3]:
        check(row, example)


OF_SCIPY = [row for row in rows() if is_scipys(row)]


@pytest.mark.parametrize("row", OF_SCIPY, ids=lambda row: row.name)
@pytest.mark.slow
def test_row_of_scipys(row):
    """Sums of its numbers may be added up in another order, since a program has memory of its own."""
    for example in examples_of(row)[:1]:
        check(row, example, last_bit=1e-15)


def check(row, example, last_bit=0.0):
    """The gradient of Σ sin(k) zₖ, eager and compiled, at two places."""
    eager, values = value_and_slopes(row, example)
    compiled = af.compile(eager)
    moved = [v if v is None or v.dtype.kind not in "fc" else v * 1.03125 for v in values]
    with np.errstate(all="ignore"):
        try:
            expected = [eager(*values), eager(*moved)]
        except Exception:  # some rows want other arguments: they have tests of their own
            return
        try:
            ours = [compiled(*values), compiled(*moved)]
        except CompileError:
            assert row.name in REFUSED
            return
    check_same(ours, expected, last_bit, last_bit)
