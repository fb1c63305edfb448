"""NumPy's warnings point at the user's line, once for each, and say the expression."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.nodes.numpy_warnings import install

PROGRAM = """
import numpy as np, autoflow as af
x = af.Variable([0.0, 1.0], name="x")
for _ in range(3):
    np.log(x)
1.0 / x
np.log(x - 2.0)
np.exp(x * 1e3)
"""


def run(*options: str) -> list[str]:
    """What the program writes to stderr."""
    command = [sys.executable, *options, "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()


def test_once_for_each_line_of_the_users() -> None:
    lines = [
        ": ".join(line.split(": ")[:3]) for line in run() if "RuntimeWarning" in line
    ]  # 3.13 knows the source of -c
    assert lines == [
        "<string>:5: RuntimeWarning: divide by zero encountered in log",
        "<string>:6: RuntimeWarning: divide by zero encountered in divide",
        "<string>:7: RuntimeWarning: invalid value encountered in log",
        "<string>:8: RuntimeWarning: overflow encountered in exp",
    ]


def test_filters_of_the_users_come_first() -> None:
    assert run("-W", "ignore") == []
    assert run("-W", "error")[-1] == "RuntimeWarning: divide by zero encountered in log"


def test_the_expression_is_named() -> None:
    x = af.Variable([0.0, 1.0], name="x")
    seen: list[warnings.WarningMessage] = []
    with warnings.catch_warnings():
        warnings.resetwarnings()
        install()
        warnings.showwarning = lambda *args: seen.append(args)
        np.log(x)
    message, category, file, line, *_ = seen[0]
    assert (str(message), category, file) == ("divide by zero encountered in log: np.log(x)", RuntimeWarning, __file__)
    assert line == test_the_expression_is_named.__code__.co_firstlineno + 7


def test_others_are_left_alone() -> None:
    x = af.Variable([0.0, 1.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.log(x)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log$"):
        np.log(x)
