"""The API reference, from the docstrings: ``make docs``, or ``python docs/make_api.py FOLDER``. pdoc writes the pages.

A name that does not resolve, a docstring that pdoc cannot show, or any other warning is an error.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import warnings
from pathlib import Path
from typing import Any

import pdoc

import autoflow

# What users import, with what these name in ``__all__``. The other modules are for those who read the source.
MODULES = ["autoflow", "autoflow.backends", "autoflow.errors", "autoflow.pictures"]


def tell_home(thing: Any) -> None:
    """Let a class or function say where it is written: there pdoc finds its source, and what its annotations name."""
    functions = vars(thing).values() if inspect.isclass(thing) else [thing]
    homes = [f.__globals__["__name__"] for f in functions if inspect.isfunction(f)]
    homes = [home for home in homes if home.startswith("autoflow")]  # methods of dataclasses may be Python's
    if homes:
        thing.__module__ = homes[0]
    if homes and inspect.isclass(thing) and sys.version_info >= (3, 13):  # which forgets the line with the module
        tree = ast.parse(inspect.getsource(sys.modules[homes[0]]))
        lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == thing.__name__]
        thing.__firstlineno__ = lines[0] if lines else 1  # type: ignore[attr-defined]


def main(folder: Path) -> None:
    """Write the site into ``folder``."""
    warnings.simplefilter("error")
    for name in autoflow.__all__:  # pdoc looks into the module's dictionary, where names that wait are not yet
        setattr(autoflow, name, getattr(autoflow, name))
    autoflow.__all__ = list(autoflow.__all__)
    for name in MODULES:
        module = importlib.import_module(name)
        missing = [n for n in getattr(module, "__all__", []) if not (getattr(module, n).__doc__ or "").strip()]
        if missing:
            raise UserWarning(f"{name}: no docstring for {', '.join(missing)}")
    for module in (autoflow, autoflow.backends, autoflow.nn, autoflow.optim, autoflow.pictures):
        for name in module.__all__:
            tell_home(getattr(module, name))
    pdoc.render.configure(math=True, docformat="restructuredtext", search=True)
    for cls in (autoflow.Node, autoflow.Variable, autoflow.Constant, autoflow.Operation):
        for name, member in vars(cls.role).items():  # node classes inherit from roles, which are no users' business
            if not name.startswith("_"):
                setattr(cls, name, member)
    pdoc.pdoc(*MODULES, output_directory=folder)
    print(f"{len(list(folder.rglob('*.html')))} pages in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs"))
