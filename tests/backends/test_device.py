"""Every row of the table on arrays of another library than NumPy (see standin.py): NumPy's values to the bit, and its
gradients. And everything stays there: what a rule makes itself is made there, nothing is brought over to look at it.
"""

from __future__ import annotations

import contextlib
import inspect

import calls
import numpy as np
import pytest
import standin
from cases import EVERY, Case, name as name_of
from devices import CASES, COMBINATIONS, WAITS, chosen_as, gone_through, prove, reference
from standin import COPIES, Device, put
from support import assert_close, plain, same_bits

from autoflow import backends, nn, rules  # noqa: F401 - networks have rows, too
from autoflow.errors import InPlaceError

# Rows that are computed in another way where the library lacks NumPy's: the last bits may differ.
COMPOSED = {"hypot_reduce", "logaddexp_reduce", "logaddexp2_reduce", "nanvar", "nanstd"}
REFUSED = {"np.einsum 2"}  # order= and casting=
if "a.shape = " in inspect.getsource(np.gradient):  # until NumPy 2.4, and the shape of a node there cannot be assigned
    REFUSED |= {"np.gradient 2", "np.gradient 3"}


@pytest.fixture(scope="module", autouse=True)
def family():
    yield backends.register(Device, from_numpy=put, to_numpy=Device.get)
    del backends.NODE_TYPES[Device]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_row_on_another_library(case):
    check(case, *COMBINATIONS[0])
    prove(case, "float64", put)
    for dtypes, order in COMBINATIONS[1:]:
        with contextlib.suppress(pytest.skip.Exception):  # NumPy does not have it for complex numbers
            check(case, dtypes, order)


def check(case, dtypes, order):
    expected = reference(case, dtypes, order)
    found = gone_through(case, dtypes, standin.put, order)
    expected[0] = chosen_as(case, plain(found[0]).get(), expected[0])
    for ours, theirs in zip(found, expected, strict=True):
        if theirs is None:
            assert ours is None or not np.any(plain(ours).get())
            continue
        assert isinstance(ours, Device), type(ours)
        assert_close(plain(ours).get(), theirs, 1e-6 if dtypes == "float32" else 1e-14, "gradient")
    assert case.row.name in COMPOSED or same_bits(plain(found[0]).get(), expected[0])


@pytest.mark.parametrize("each", [each for each in EVERY if each.name not in REFUSED], ids=name_of)
def test_composed_on_another_library(each, monkeypatch):
    """Functions composed of others bring along only what they make themselves, and that is made there."""
    case = Case(each, each.example)
    expected = gone_through(case, "float64", lambda x: x, 1)
    for key, value in vars(calls).items():
        if isinstance(value, np.ndarray):
            monkeypatch.setattr(calls, key, put(value))
    found = gone_through(case, "float64", put, 1)
    assert (COPIES["get"] > 0) is (each.name in WAITS)
    if each.name.startswith(("np.linalg.eigh", "np.linalg.svd")):  # up to signs
        found[0], expected[0] = np.absolute(found[0]), np.absolute(expected[0])
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, Device), type(ours)
        assert_close(plain(ours).get(), plain(theirs), 1e-14, "there")


@pytest.mark.parametrize("each", [each for each in EVERY if each.name in REFUSED], ids=name_of)
def test_refused(each):
    with pytest.raises((TypeError, InPlaceError)):
        gone_through(Case(each, each.example), "float64", put, 1)
