"""Names that the examples in docstrings use without an import: for ``pytest --doctest-modules autoflow``."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def names_of_examples(request: Any) -> None:
    """As tests/test_docs.py gives them; other tests import what they need."""
    if request.config.getoption("doctestmodules", False):
        import numpy as np

        import autoflow as af
        from autoflow import nn, optim

        request.getfixturevalue("doctest_namespace").update(np=np, af=af, nn=nn, optim=optim)
