"""What holds for tests of machine code."""

import pytest


@pytest.fixture
def everything_in_loops(monkeypatch):
    """Also single calls."""
    monkeypatch.setattr("autoflow.compiler.llvm.native.FEW", 1)
