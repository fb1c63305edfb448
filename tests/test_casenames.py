"""Cases of parametrised tests have names that say what they are (tests/support/casenames.py)."""

import functools
import os
import types
from pathlib import Path

import casenames
import numpy as np
import pytest
from casenames import name, numbered
from processes import alone


def of(f):
    return lambda *xs: 2 * f(*xs)


TWO = [lambda x: x + 1, lambda x: x - 1]
# fmt: off
NAMES = [
    (lambda x: np.exp(x) - 1, "np.exp(x) - 1"), (lambda x, y: (x, y), "(x, y)"), (lambda é: "ß" + é, '"ß" + é'),
    (lambda x: [k * x for k in range(3)], "[k * x for k in range(3)]"),
    (lambda x: np.sum(
        x * x,
        axis=0), "np.sum( x * x, axis=0)"),
    (TWO[0], "x + 1"), (TWO[1], "x - 1"), (of(lambda x: np.sin(x)), "np.sin(x)"),
    (lambda x: x if x > 0 else -x, "x if x > 0 else -x"), (lambda x: x[0] < 1 < x[1], "x[0] < 1 < x[1]"),
    (lambda x: "a long one, of which only the beginning is shown" + str(x) + "more",
     '"a long one, of which only the beginning is shown" + str(x..'),
    (functools.partial(np.sum, axis=0), "sum(axis=0)"),
    (functools.partial(lambda x, n: x**n, 2.0, n=3), "x**n(2.0, n=3)"), (np.sin, None), (of, None), ("text", None),
    (3, None),
]  # fmt: skip
# fmt: on


@pytest.mark.parametrize(("value", "expected"), NAMES, ids=[repr(expected) for _, expected in NAMES])
def test_a_lambda_is_called_by_what_it_computes(value, expected):
    assert name(value) == expected


def test_without_columns_it_is_the_line():
    code = "from casenames import name\nprint(name(lambda x: x), name(eval('lambda x: x')))"
    env = {**os.environ, "PYTHONPATH": str(Path(casenames.__file__).parent)}
    assert alone(code, options=("-X", "no_debug_ranges"), env=env).strip() == "line 2 line 1"


def case(found, **params):
    return types.SimpleNamespace(callspec=types.SimpleNamespace(id=found, params=params))


def test_a_number_is_no_name():
    def f(x):
        return x

    assert numbered(case("f12", f=lambda x: x))
    assert numbered(case("float16-<lambda>3", dtype="float16", f=lambda x: x))
    assert numbered(case("dict-function0", tree={}, total=lambda t: t))
    assert numbered(case("make1-3", make=functools.partial(f, 1), n=3))
    assert not numbered(case("x + 1-xs3", f=lambda x: x + 1, xs=[1, 2]))
    assert not numbered(case("f2-real", dtype="f2", f=f))
    assert not numbered(types.SimpleNamespace())


def test_all_cases_of_this_run_have_names(request):
    assert [item.nodeid for item in request.session.items if numbered(item)] == []
