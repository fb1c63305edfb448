"""Functions composed of others, and the methods of arrays and ufuncs: the generated tests of the rows, on calls.

Every call of :mod:`calls` is tried with every dtype, layout, kind of operand and order of the derivative; with
AUTOFLOW_NIGHTLY every pair of them meets.
"""

import numpy as np
import pytest
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS
from cases import DTYPES, EVERY, RARE, Case, Unsupported, check, kinds_of, name
from support import LAYOUTS, NIGHTLY, covering, differentiable, pairwise, plain, same_bits, values_of

import autoflow as af
from autoflow.forward.array_methods import ArrayMethods
from autoflow.rules.variants import METHODS
from autoflow.table.table import COMPOSED


def settings_of(case):
    """The combinations in which a call is tried."""
    several, without = case.row.operands > 1, set(case.row.without)
    axes = {
        "dtypes": [d for d in DTYPES + RARE if (several or " " not in d) and not without & set(d.split())],
        "layout": [layout for layout in LAYOUTS if layout not in without],
        "kind": kinds_of(case.row), "order": (1, 2), "keep": ("small", "large"),
    }  # fmt: skip
    choose = pairwise if NIGHTLY else covering
    for numbers in choose(tuple([len(values) for values in axes.values()])):
        yield {key: values[i] for (key, values), i in zip(axes.items(), numbers, strict=True)}


@pytest.mark.parametrize("each", EVERY, ids=name)
@pytest.mark.slow
def test_call(each):
    case = Case(each, each.example)
    assert differentiable(each, each.example)
    check(case, "float64", "C", "Variables", 1, "small")
    for settings in settings_of(case):
        try:
            check(case, **settings)
        except Unsupported:
            pass
        except Exception as error:
            error.add_note(f"{each!r}, {settings}")
            raise


@pytest.mark.parametrize("each", EVERY, ids=name)
def test_results_are_of_numpys_kind(each):
    """As many, of the same classes (named tuples), dtypes and shapes; other kinds of numbers are the same."""
    values = values_of(each, each.example)
    ours, theirs = each.call(*[af.Variable(x) for x in values]), each.call(*values)
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list))
        assert getattr(type(ours), "_fields", None) == getattr(type(theirs), "_fields", None)
    else:
        ours, theirs = [ours], [theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert same_bits(plain(one), other)


def test_every_composed_function_has_calls():
    spaces = np, np.linalg, np.fft, np.emath
    numpys = {f for f in COMPOSED if any([f is thing for space in spaces for thing in vars(space).values()])}
    new = [f.__name__ for f in numpys - set(CALLS)]
    assert not new, f"{new}: write calls of them in tests/support/calls.py"
    assert set(CALLS) <= numpys


def test_every_method_has_calls():
    recorded = {n for n in vars(ArrayMethods) if not n.startswith("__")} - {"fill", "flags", "choose", "data", "resize"}
    assert recorded == set(ARRAY_METHODS), "write calls of them in tests/support/calls.py"
    assert set(UFUNC_METHODS) == {(method, f) for method, ufuncs in METHODS.items() for f in ufuncs}


def test_covering_takes_every_value():
    rows = covering((11, 7, 2))
    assert [len(set(column)) for column in zip(*rows, strict=True)] == [11, 7, 2]
    assert len(rows) == 11
