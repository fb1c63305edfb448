"""NumPy's warnings point at the user's line, once for each, and say the expression."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.nodes.numpy_warnings import install
from autoflow.table.shapes import since

PROGRAM = """
import numpy as np, autoflow as af
x = af.Variable([0.0, 1.0], name="x")
for _ in range(3):
    np.log(x)
1.0 / x
np.log(x - 2.0)
np.exp(x * 1e3)
np.nanmean(x[:0])
np.nanmax(x * np.nan)
np.nanvar(x[:1], ddof=1)
(x * 1j).astype(float)
"""
FILTERED = """
import numpy as np, autoflow as af
x = af.Variable([1.0, 1.0, 2.0])
np.polyfit(x, x, 2)
if np.__version__ < "2.5":  # there it is an error
    np.cross(x[:2], [3.0, 4.0])
"""


def run(*options, program=PROGRAM):
    """What the program writes to stderr."""
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()


def test_once_for_each_line_of_the_users():
    lines = [": ".join(line.split(": ")[:3]) for line in run() if "<string>" in line]  # 3.13 knows the source of -c
    assert lines == [
        "<string>:5: RuntimeWarning: divide by zero encountered in log",
        "<string>:6: RuntimeWarning: divide by zero encountered in divide",
        "<string>:7: RuntimeWarning: invalid value encountered in log",
        "<string>:8: RuntimeWarning: overflow encountered in exp",
        "<string>:9: RuntimeWarning: Mean of empty slice",
        "<string>:10: RuntimeWarning: All-NaN slice encountered",
        "<string>:11: RuntimeWarning: Degrees of freedom <= 0 for slice.",
        "<string>:12: ComplexWarning: Casting complex values to real discards the imaginary part",
    ]


def test_warnings_that_have_filters_already():
    lines = [line for line in run(program=FILTERED) if "<string>" in line]
    assert lines[0].startswith("<string>:4: RankWarning: Polyfit may be poorly conditioned")
    if not since("2.5"):
        assert lines[1].startswith("<string>:6: DeprecationWarning: Arrays of 2-dimensional vectors")
    assert "Deprecation" not in "".join(run("-W", "ignore", program=FILTERED))


def test_filters_of_the_users_come_first():
    assert run("-W", "ignore") == []
    assert run("-W", "error")[-1].startswith("RuntimeWarning: divide by zero encountered in log")


def test_the_expression_is_named():
    x = af.Variable([0.0, 1.0], name="x")
    seen = []
    with warnings.catch_warnings():
        warnings.resetwarnings()
        install()
        warnings.showwarning = lambda *args: seen.append(args)
        np.log(x)
    message, category, file, line, *_ = seen[0]
    assert (str(message), category, file) == ("divide by zero encountered in log: np.log(x)", RuntimeWarning, __file__)
    assert line == test_the_expression_is_named.__code__.co_firstlineno + 7


def test_others_are_left_alone():
    x = af.Variable([0.0, 1.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.log(x)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log$"):
        np.log(x)


def test_a_users_warning_that_says_the_same_is_its_own():
    def f(x):
        warnings.warn("an overflow was encountered", UserWarning, stacklevel=2)  # the caller is ours
        return np.sum(x * x)

    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        install()
        af.grad(f)(np.ones(2))
    assert [(w.category, str(w.message)) for w in seen] == [(UserWarning, "an overflow was encountered")]


def test_the_filters_may_be_copied_sent_and_made_anew():
    x = af.Variable([0.0, 1.0])
    for make in (copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))):
        with warnings.catch_warnings(record=True) as seen:
            warnings.resetwarnings()
            install()
            warnings.filters[:] = make(warnings.filters)  # type: ignore[index]
            np.log(x)
        assert [w.filename for w in seen] == [__file__]
    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        install()
        action, message, category, module, _ = warnings.filters[0]
        warnings.filterwarnings(action, message.pattern, category, module.pattern)  # as scikit-learn's workers do
        np.log(x + 0.0)
    assert [w.filename for w in seen] == [__file__]
