"""The rows that autoflow.nn adds to the table: the generated tests of test_rules.py, run on them.

They are in the table once autoflow.nn is imported; test_rules.py has those of NumPy alone.
"""

import numpy as np
import pytest
from cases import Case, check, check_row
from row_examples import examples_of

import autoflow as af
from autoflow.errors import DataError
from autoflow.nn import functions
from autoflow.table.table import RULES

OURS = [row for function, row in RULES.items() if vars(functions).get(getattr(function, "__name__", "")) is function]
CASES = [(row, k) for row in OURS for k in range(len(examples_of(row)))]


def test_all_are_found():
    assert sorted(row.name for row in OURS) == ["erf", "leaky_relu", "log_softmax", "relu", "sigmoid", "softmax"]


@pytest.mark.parametrize(("row", "number"), CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_row(row, number):
    check(Case(row, examples_of(row)[number]), "float64", "C", "Variables", 1, "small")
    check_row(row, number)


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.name)
def test_complex_numbers_are_refused(row):
    for x in (np.array([1 + 1j, 2]), af.Variable([1 + 1j, 2])):
        with pytest.raises(DataError, match="real numbers"):
            row.function(x)


@pytest.mark.parametrize(("f", "at", "seed", "slopes"), [
    (functions.relu, [0.0, -0.0, 1e-300], np.ones(3), [0, 0, 1]), (functions.relu, [-1.0], [np.inf], [0]),
    (lambda x: functions.leaky_relu(x, slope=0.25), [0.0, 1.0], np.ones(2), [0.25, 1]),
    (lambda x: functions.relu(np.sqrt(x) * 0), [4.0], [1.0], [0]),
])  # fmt: skip
def test_kinks(f, at, seed, slopes):
    x = af.Variable(at)
    f(x).backward(seed)
    assert x.grad.tolist() == slopes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [row.function for row in OURS], ids=lambda f: f.__name__)
def test_large_arguments(f, dtype):
    x = af.Variable(np.array([1000, -1000, 0, 100, -100], dtype))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        z = f(x)
        assert z.dtype == dtype
        assert np.isfinite(z.value).all()
        z.backward(np.ones(5, dtype), create_graph=True)
        assert x.grad.dtype == dtype
        assert np.isfinite(x.grad).all()


def test_small_probabilities_keep_their_digits():
    assert functions.sigmoid(np.array(-700.0)) == pytest.approx(np.exp(-700), rel=1e-13, abs=0)
    assert functions.log_softmax(np.array([0.0, -800.0]))[1] == -800
