"""Functions of modules further up, found when they are first needed, so that imports point one way."""

from __future__ import annotations

import importlib
from typing import Any


def later(path: str) -> Any:
    """``"autoflow.backprop.passes:backward"`` -> that function.

    >>> later("autoflow.backprop.passes:backward").__name__
    'backward'
    """
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
