"""What is found when it is first needed: functions of modules further up, so that imports point one way, and packages
that may not be installed. And where users find what a package exports.
"""

from __future__ import annotations

import importlib
import warnings
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


def load_package(name: str, message: str) -> Any:
    """The module of this name; if it is not installed, an ImportError with the ``message``, which says what to do."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(message) from error


def show_bar(steps: Iterable[Any], **how: Any) -> Iterable[Any]:
    """``steps``, with a progress bar where tqdm is there to draw one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook has no widgets installed: then the bar is text
            from tqdm.auto import tqdm
    except ImportError:
        return steps
    return tqdm(steps, **how)


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
