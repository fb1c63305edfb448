"""Functions of modules further up, found when they are first needed, so that imports point one way; and where users
find what a package exports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any


def later(path: str) -> Any:
    """``"autoflow.backprop.passes:backward"`` -> that function.

    >>> later("autoflow.backprop.passes:backward").__name__
    'backward'
    """
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def list_public(public: Iterable[str]) -> Callable[[], list[str]]:
    """``__dir__`` of a module: what completion shows are its public names, also those that are loaded when used."""
    return lambda: sorted(public)


def publish(names: dict[str, Any], public: Iterable[str]) -> None:
    """Let the classes and functions of a package say that they are the package's, wherever they are written: pickles
    and ``help()`` name the place that stays. ``names``: the package's ``globals()``."""
    names["__dir__"] = list_public(public)
    for name in public:
        if isinstance(names[name], (type, FunctionType)):
            names[name].__module__ = names["__name__"]
