"""Parameters that a function has seen only through the stand-ins that ``nn.functional_call`` puts in their place.

An optimiser writes into the model's own parameters between the calls of a compiled step that gets them as an argument.
That need not matter, but it does if the function also looks at ``model.weight`` itself. So while a function is
recorded, ``Module`` reports who reads an attribute. A parameter does not matter if it was not read outside of
``functional_call``, and if its memory cannot be reached otherwise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...nodes.nodes import NodeRole
from ...nodes.versions import owner_of

LOCK = threading.Lock()
READERS: list[Readers] = []  # of recordings that run


class Readers:
    """The attributes of modules that were read outside of ``functional_call``, by the thread that records."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside  # the code of functional_call
        self.thread = threading.get_ident()
        self.seen: set[tuple[int, str]] = set()

    def note(self, module: Any, name: str, value: Any) -> None:
        """``module.name`` was read, and is ``value``."""
        if (name == "__dict__" or isinstance(value, (NodeRole, np.ndarray))) and not self.is_inside():
            self.seen.add((id(module), name))

    def is_inside(self) -> bool:
        """Are we inside a functional_call?"""
        frame: Any = sys._getframe(2)
        while frame is not None:
            if frame.f_code is self.inside:
                return True
            frame = frame.f_back
        return False


def read_attribute(self: Any, name: str) -> Any:
    """``Module.__getattribute__`` during a recording."""
    value = object.__getattribute__(self, name)
    here = threading.get_ident()
    for readers in READERS:
        if readers.thread == here:
            readers.note(self, name, value)
    return value


@contextmanager
def noting_readers() -> Iterator[Readers | None]:
    """Note who reads attributes of modules; None if there are no modules in this process."""
    file = sys.modules.get("autoflow.nn.module")
    if file is None:
        yield None
        return
    readers = Readers(file.functional_call.__code__)
    with LOCK:
        READERS.append(readers)
        file.Module.__getattribute__ = read_attribute
    try:
        yield readers
    finally:
        with LOCK:
            READERS.remove(readers)
            if not READERS:
                del file.Module.__getattribute__


def only_stood_in(edges: list[Any], replaced: set[int], readers: Readers | None) -> set[int]:
    """The ids of replaced arrays that decide nothing: reachable only as an attribute that was not read."""
    if readers is None or not replaced:
        return set()
    Module = sys.modules["autoflow.nn.module"].Module  # noqa: N806 - a class
    plain: Any = object.__getattribute__
    modules = {id(vars(x)): x for *_, x, _ in edges if isinstance(x, Module)}
    modules |= {id(vars(x)): x for x in (getattr(c, "__self__", None) for c, *_ in edges) if isinstance(x, Module)}
    reached = {id(child) for *_, child, _ in edges}
    fine: dict[int, set[int]] = {}  # the owner of memory -> ids of arrays in it
    others: set[int] = set()
    for container, key, child, _ in edges:
        array = getattr(child, "_value", None) if isinstance(child, NodeRole) else child
        if not isinstance(array, np.ndarray):
            continue
        owner, module = id(owner_of(array)), modules.get(id(container))
        read = (
            module is None
            or type(module).__getattribute__ is not plain
            or {(id(module), key), (id(module), "__dict__")} & readers.seen
        )
        if id(array) in replaced and not read and id(container) not in reached:
            fine.setdefault(owner, set()).add(id(array))
        else:
            others.add(owner)
    return {array for owner, arrays in fine.items() if owner not in others for array in arrays}
