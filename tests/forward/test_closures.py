"""The quick closures are written out, because a call would cost: their text is put together, and shown to debuggers."""

import inspect
import linecache
import re
import traceback

import numpy as np
import pytest

import autoflow as af
from autoflow.forward import closures, recording, templates
from autoflow.program.callers import OWN

WRITTEN = closures.unary, closures.binary, recording.compute_one


@pytest.mark.parametrize("function", WRITTEN)
def test_debuggers_see_the_text(function):
    lines = inspect.getsource(function)
    assert "record.parents = (p" in lines  # also of binary, which has two
    assert not re.search(r"^ *<|\{\d\}", lines, re.MULTILINE)
    assert function.__doc__
    assert function.__module__ == inspect.getmodule(function).__name__
    assert function.__code__.co_filename.startswith(OWN)  # searches for the user's code pass it over


def test_tracebacks_show_the_line():
    with pytest.raises(ValueError, match="matmul") as error:
        af.Variable(np.ones((2, 3))) @ np.ones((2, 3))
    linecache.checkcache()  # as Python does before it prints one
    assert "value = z = compute(a, b)" in [line.line for line in traceback.extract_tb(error.tb)]


def test_every_part_is_used():
    texts = [inspect.getsource(function) for function in WRITTEN]
    for part in templates.PARTS.values():
        line = part.split("\n")[1].strip().split("{")[0]
        assert any([line in text for text in texts])
