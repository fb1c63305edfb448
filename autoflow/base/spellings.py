"""The names of PyTorch, JAX and TensorFlow and their counterparts here, for AttributeErrors and a page of the docs.

The table is ``spellings.toml``: ``x`` are attributes of nodes, the others names of modules of ours. docs/coming-from.md
shows it as well.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np


def read_table(section: str) -> tuple[str, dict[str, str]]:
    """The name of a section, ``[x]``, and its lines, ``clone = "x.copy()"``, as tomllib reads them, whose import takes
    longer than all this."""
    return section.partition("]")[0].strip("["), dict(re.findall(r'^(\w+) = "(.*)"$', section, re.MULTILINE))


TEXT = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
TABLES = dict(map(read_table, TEXT.split("\n\n")[1:]))


def numpys() -> dict[str, str]:
    """What others have as methods of arrays, or in their module, and NumPy as a function."""
    return {
        name: f"{module}.{name}(x)"
        for module, names in {"np.linalg": vars(np.linalg), "np": vars(np)}.items() for name, f in names.items()
        if name[0] != "_" and callable(f) and hasattr(f, "__name__") and not isinstance(f, type)
    }  # fmt: skip


NUMPY = numpys()
HERE = {**{name: text for name, text in NUMPY.items() if not hasattr(np.ndarray, name)}, **TABLES["x"]}
NODE = {**{f"{name}_": f"x.assign({text})" for name, text in HERE.items()}, **HERE}


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module of ours does not have.

    >>> no_attribute("autoflow", "jit")
    AttributeError("module 'autoflow' has no attribute 'jit': here it is af.compile(f)")
    """
    here = TABLES[module.rpartition(".")[2]].get(name) or (NUMPY.get(name) if module == "autoflow" else None)
    alike = {bare(other): other for other in dir(sys.modules[module])}
    if here is None and bare(name) in alike:
        here = f"{module.replace('autoflow', 'af')}.{alike[bare(name)]}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{f': here it is {here}' if here else ''}")


def bare(name: str) -> str:
    """``LeakyReLU`` and ``leaky_relu`` are alike."""
    return name.replace("_", "").lower()


class Spelling:
    """A name that nodes lack: reading it is an AttributeError that says how it is written here. So
    ``hasattr`` is False. (``__getattr__`` would be asked for each slot that is not set.)"""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, node: Any, kind: type) -> Any:
        text = f"{kind.__name__!r} object has no attribute {self.name!r}: here it is {NODE[self.name]}"
        raise AttributeError(text, name=None, obj=None)


def install(kind: Any) -> None:
    """Give a class of nodes the names of the table, which completion does not list."""
    for name in NODE:
        setattr(kind, name, Spelling(name))
    listed = kind.__dir__
    kind.__dir__ = lambda self: [name for name in listed(self) if not isinstance(vars(kind).get(name), Spelling)]
