"""The warning on Python without its global lock."""

import importlib.util
import sys
import warnings

import pytest

import autoflow
from autoflow.base.process import warn_if_free_threaded


@pytest.mark.parametrize("lock", [None, True, False])
def test_without_the_lock_there_is_a_warning(monkeypatch, lock):
    monkeypatch.delattr(sys, "_is_gil_enabled", raising=False)
    if lock is not None:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: lock, raising=False)
    if lock is False:
        with pytest.warns(RuntimeWarning, match="relies on Python's global lock.*PYTHON_GIL=1"):
            warn_if_free_threaded()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_if_free_threaded()


def test_import_warns_once(monkeypatch):
    """``import autoflow`` calls it: here its file is run again under another name."""
    calls = []
    monkeypatch.setattr("autoflow.base.process.warn_if_free_threaded", lambda: calls.append(1))
    spec = importlib.util.spec_from_file_location("autoflow", autoflow.__file__)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert calls == [1]
