"""What the user chooses about loops of our own: the options of ``af.compile`` that are theirs alone."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

from .engine import choose_engine, has_fma
from .objects import Objects

ONLY_LLVM = 'af.compile(f, {name}=...) is an option of loops of our own: say engine="llvm" as well.'

NO_FMA = "own_functions=True needs a processor that multiplies and adds in one (fma); this one does not."


@dataclass(frozen=True)
class Settings:
    """objects : where machine code is kept on disk.
    own_functions : exp, log, tanh, sin and cos are our polynomials in programs of numbers and on every processor, too.
    """

    objects: Objects | None = None
    own_functions: bool = False


DEFAULT = Settings()


def choose(engine: str, cache: str | os.PathLike[str] | None, own_functions: bool) -> dict[str, Any]:
    """The options as they are kept; an error if they do not fit."""
    for name, value in (("cache", cache), ("own_functions", own_functions)):
        if value and engine == "numpy":
            raise ValueError(ONLY_LLVM.format(name=name))
    chosen = choose_engine(engine)
    if own_functions and chosen == "llvm" and not has_fma():
        raise RuntimeError(NO_FMA)
    folder = os.path.abspath(os.path.expanduser(cache)) if cache is not None and chosen == "llvm" else None
    if folder is not None:
        objects_in(folder)
    return {"engine": chosen, "cache": folder, "own_functions": own_functions}


def settings_of(how: dict[str, Any]) -> Settings:
    """From the options."""
    folder = how.get("cache")
    return Settings(objects_in(folder) if folder is not None else None, bool(how.get("own_functions")))


@functools.cache
def objects_in(folder: str) -> Objects:
    """One for each folder, so that each warns once."""
    return Objects(folder)
