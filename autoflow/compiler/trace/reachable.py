"""What can be reached from a function: closures, globals, attributes, elements, as edges from object to object."""

from __future__ import annotations

import builtins
import dis
import sys
import threading
import types
from collections import deque
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...transformed import FunctionOfFunction

NUMBERS = (int, float, complex, str, bool, type(None), np.generic)
SEARCHED = {"__main__", "builtins", "types", "functools", "collections", "enum"}  # parts of Python that hold the user's


def edges_of(x: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs (container, key) in which ``x`` refers to other objects."""
    if isinstance(x, types.MethodType):
        yield x, "__self__"
        yield x, "__func__"
    elif isinstance(x, FunctionOfFunction):
        yield x.__dict__, "f"
        yield from ((x.how, name) for name, option in x.how.items() if callable(option))
    elif isinstance(x, types.FunctionType):
        ours = str(x.__globals__.get("__name__")).startswith("autoflow.")  # such as af.grad(f): only f matters in it
        for cell in x.__closure__ or ():
            if not ours or callable(follow(cell, "cell_contents")):
                yield cell, "cell_contents"
        if ours:
            return
        attributes = names_in(x.__code__)
        for name in globals_in(x.__code__) & x.__globals__.keys():
            yield x.__globals__, name
            yield from edges_of_module(x.__globals__[name], attributes)
        for k in range(len(x.__defaults__ or ())):
            yield x.__defaults__, k
        for name in x.__kwdefaults__ or ():
            yield x.__kwdefaults__, name
        if hasattr(x, "__wrapped__"):
            yield x, "__wrapped__"
    elif isinstance(x, threading.local):
        yield from ((x, name) for name in x.__dict__)
    elif isinstance(x, (set, deque)) or (isinstance(x, np.ndarray) and x.dtype.hasobject):
        elements = [*x] if not isinstance(x, np.ndarray) else x.ravel().tolist()
        yield from ((elements, k) for k in range(len(elements)))
    elif isinstance(x, np.ndarray):
        return
    elif isinstance(x, (list, tuple)):
        yield from ((x, k) for k in range(len(x)))
    elif isinstance(x, dict):
        yield from ((x, key) for key in x)
    elif isinstance(x, partial):
        yield from ((x, name) for name in ("func", "args", "keywords"))
    elif isinstance(x, property):
        yield x, "fget"
    else:
        if isinstance(getattr(x, "__dict__", None), dict):
            yield from ((x.__dict__, name) for name in x.__dict__)
        for cls in (x if isinstance(x, type) else type(x)).__mro__[:-1]:  # slots, and what all of a class share
            users = is_the_users(sys.modules.get(cls.__module__))
            for name, v in vars(cls).items():
                method = isinstance(v, (types.FunctionType, staticmethod, property))
                followed = isinstance(v, (*NUMBERS, np.ndarray)) or (users and (method or not hasattr(v, "__get__")))
                if followed and (not name.startswith("__") or name == "__call__"):
                    yield cls, name
            slots = getattr(cls, "__slots__", ())
            yield from ((x, name) for name in slots if isinstance(name, str) and hasattr(x, name))


def edges_of_module(module: Any, names: frozenset[str]) -> Iterator[tuple[Any, Any]]:
    """What a function may mean by ``config.rate``, where config is a module of the user's; also inside packages."""
    if isinstance(module, types.ModuleType) and is_the_users(module):
        for name in names & vars(module).keys():
            yield vars(module), name
            if vars(module)[name] is not module:
                yield from edges_of_module(vars(module)[name], names - {name})


def is_the_users(module: types.ModuleType | None) -> bool:
    """Is it no library? What is installed, or part of Python, is not expected to change."""
    if module is None or module.__name__ == "__main__":
        return module is not None
    file = getattr(module, "__file__", None) or ""
    root = module.__name__.partition(".")[0]
    installed = "site-packages" in file or "dist-packages" in file  # the second is where Debian puts them
    return bool(file) and not installed and root not in sys.stdlib_module_names and root != "autoflow"


def code_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of those that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_in(constant)


@lru_cache(maxsize=10_000)  # reading code is slow
def names_in(code: types.CodeType) -> frozenset[str]:
    """Globals and attributes that a function may read, and those of functions inside it."""
    return frozenset([name for part in code_in(code) for name in part.co_names])


@lru_cache(maxsize=10_000)
def globals_in(code: types.CodeType) -> frozenset[str]:
    """The globals alone."""
    read = [i for part in code_in(code) for i in dis.get_instructions(part) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return frozenset([i.argval for i in read])


def builtins_in(f: types.FunctionType) -> set[str]:
    """The names that a function finds in Python's own namespace, as long as no global of that name comes up."""
    return {name for name in globals_in(f.__code__) if hasattr(builtins, name)} - f.__globals__.keys()


MISSING = object()


def follow(container: Any, key: Any) -> Any:
    """What the edge leads to now."""
    try:
        if isinstance(key, str) and not isinstance(container, dict):
            return getattr(container, key)
        return container[key]
    except Exception:  # an empty cell, a property that fails
        return MISSING


def foreign(x: Any) -> bool:
    """Is it code of a library, or an object of Python's own (a logger, a lock), whose insides do not concern us?"""
    if isinstance(x, (types.FunctionType, type)):
        module = str(getattr(x, "__module__", None) or "")
        libraries = ("numpy", "scipy", "functools", "itertools")
        return module.partition(".")[0] in libraries or module.startswith("autoflow.rules")
    if isinstance(x, (deque, threading.local)):
        return False
    module = str(type(x).__module__)
    root = module.partition(".")[0]
    return (root in sys.stdlib_module_names and root not in SEARCHED) or module.startswith("autoflow.rules")
