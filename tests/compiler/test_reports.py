"""What NumPy reports in eager code (``np.errstate``, warnings as errors) is reported by compiled code as well."""

import contextlib
import io
import timeit
import warnings

import numpy as np
import pytest
from programs import make_blocks_small, plan_of
from support import unseen_append

import autoflow as af
from autoflow.compiler.run import buffers
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.run.scalars import Slots

FUNCTIONS = {
    "divide": lambda x: 1.0 / x, "log": lambda x: np.log(x) * 2.0, "invalid": lambda x: np.sqrt(x) + 1.0,
    "0/0": lambda x: (x * 0.0) / x, "overflow": lambda x: np.exp(x * 1e3) * 2.0,
    "overflow of a product": lambda x: (x * 1e200) * (x * 1e200), "twice -": lambda x: -(x - 0.5) * (-x * 3e307 / -0.1),
    "square": lambda x: (x * 1e200) ** 2, "power": lambda x: (x - 1.0) ** -1 + (x * 1e200) ** 3, "cube": lambda x: x**3,
    "inf that vanishes": lambda x: 1.0 / (1.0 + np.exp(x * 1e3)),
    "inf that a division hides": lambda x: 3.0 / ((x * 1e200) * (x * 1e200)),
    "inf that a comparison hides": lambda x: np.where((x * 1e200) * (x * 1e200) > 1.0, 1.0, 2.0),
    "nan that a maximum hides": lambda x: np.fmax((x * 1e308 * 10.0) - (x * 1e308 * 10.0), 0.0),
    "underflow": lambda x: np.exp(x * 1e3) * 1e-300,
    "underflow of a product": lambda x: (x * 1e-200) * (x * 1e-200) + 1.0, "nothing": lambda x: x * 2.0 + 1.0,
    "silent inside": lambda x: silent_inside(x), "gradient": af.grad(lambda x: np.sum(np.sqrt(x) * 2.0)),
    "value and gradient": af.value_and_grad(lambda x: np.sum(np.log(x) * x)),
    "many": lambda x: sum([1.0 / (x + k) for k in range(20)]),
    "a constant": lambda x: np.fmin(x.astype(np.float32) + 1e300, 2.0),
    "whole +": lambda x: count(x) + 127, "whole -": lambda x: -128 - count(x), "whole *": lambda x: count(x) * 64 * 2,
    "whole abs": lambda x: abs((count(x) > 0) * np.int8(-128)), "whole neg": lambda x: -count(x).astype(np.uint8),
    "whole, an array": lambda x: np.full(2, 127, np.int8) + count(x), "whole //": lambda x: 7 // count(x) + 1,
}  # fmt: skip


def count(x):
    """One of NumPy's whole numbers, with eight bits."""
    return np.sum(x < 0.7, dtype=np.int8)


def silent_inside(x):
    with np.errstate(all="ignore"):
        return 1.0 / x


VALUES = (1.0, 0.0, -1.0, 0.5, 1.0, np.nan, np.inf, 2.0)
MAKERS = {"number": np.array, "vector": lambda x: np.full(5, x), "matrix": lambda x: np.full((40, 3), x)}
MODES = ("ignore", "warn", "raise", "call", "print", "log", "error")


class Log:
    """What np.seterrcall takes for log."""

    def __init__(self, seen):
        self.seen = seen

    def write(self, message):
        self.seen.add(message.split(" in ")[0])


def reported(f, mode, x):
    """The kinds of error, or the exception, that a call ends in; and what it returns."""
    seen = set()
    handler = Log(seen) if mode == "log" else lambda kind, flag: seen.add(kind)
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(io.StringIO()) as printed:
        warnings.simplefilter("error" if mode == "error" else "always")
        with np.errstate(all="warn" if mode == "error" else mode, call=handler):
            try:
                result = f(x)
            except (FloatingPointError, RuntimeWarning) as error:
                return type(error), str(error).partition(" in ")[0]
    seen.update([(w.category, str(w.message).partition(" in ")[0]) for w in caught])
    seen.update([line.partition(" in ")[0] for line in printed.getvalue().splitlines()])
    return seen, np.concatenate([np.ravel(part) for part in (result if isinstance(result, tuple) else (result,))])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_reports_are_those_of_eager_code(f, make):
    """Whatever the errstate of the recording was."""
    for first in ("ignore", "warn"):
        compiled = af.compile(f)
        reported(compiled, first, make(1.0))
        for x in VALUES:
            for mode in MODES:
                expected, ours = reported(f, mode, make(x)), reported(compiled, mode, make(x))
                assert ours[0] == expected[0], (x, mode)
                np.testing.assert_array_equal(ours[1], expected[1])


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_first_call_reports_once(f):
    for x in (0.0, -1.0, 1.0):
        told = [], []
        for g, kinds in zip((f, af.compile(f)), told, strict=True):
            with np.errstate(all="call", call=lambda kind, flag, kinds=kinds: kinds.append(kind)):
                g(np.array([x]))
        assert set(told[1]) == set(told[0])
        assert len(told[1]) <= len(told[0])  # a call that is made twice is recorded once


def test_the_plans_that_were_tested():
    kinds = set()
    for f in FUNCTIONS.values():
        for make in MAKERS.values():
            compiled = af.compile(f)
            reported(compiled, "ignore", make(1.0))
            kinds |= {type(plan) for entry in compiled.entries.values() for plan in entry.free}
    assert kinds >= {Plan, Slots}
    wide = [np.array(float(k)) for k in range(9)]

    def f(*v):
        return [np.log(a + b + 1.0) * 2.0 for a in v for b in v]

    compiled = af.compile(f)
    compiled(*wide)
    assert type(plan_of(compiled)) is Slots
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        compiled(*wide[:-1], np.array(-1.0))


def test_blocks_in_threads_report(monkeypatch):
    make_blocks_small(monkeypatch)

    def f(x):
        return np.sum(np.log(np.tanh(x) * 2.0) + x)

    compiled = af.compile(f)
    compiled(np.ones((50, 3)))
    assert "blocks" in [step.value.name for step in plan_of(compiled).steps]
    for place in (0, 49):  # of the first thread, and of the other
        x = np.ones((50, 3))
        x[place] = 0.0
        for mode in MODES:
            assert reported(compiled, mode, x)[0] == reported(f, mode, x)[0]
        assert reported(compiled, "raise", np.ones((50, 3)))[0] == set()


def test_eager_code_runs_again_only_if_there_is_something_to_report():
    calls = []
    note = unseen_append(calls)

    def f(x):
        note(1)
        return 1.0 / x

    compiled = af.compile(f, verify=False)
    for x in (1.0, 2.0):
        compiled(np.full(3, x))
    with np.errstate(all="ignore"):
        compiled(np.zeros(3))
    assert len(calls) == 1
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(np.zeros(3))
    assert len(calls) == 2
    with np.errstate(all="raise", divide="ignore"):
        compiled(np.zeros(3))
    assert len(calls) == 2


def test_looking_at_the_callers_state_costs_nothing():
    """0.04 µs when it was written; the bound leaves room for slow machines."""
    assert min(timeit.repeat(buffers.callers_state, number=10_000, repeat=5)) / 10_000 < 2e-7
