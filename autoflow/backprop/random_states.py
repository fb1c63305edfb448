"""The random generators that a function can reach, and their states. A second run needs them to draw the same numbers.

Python's garbage collector knows what an object refers to (``gc.get_referents``), so closures, attributes, slots,
elements and bound methods are all found in the same way, without running code of the user's. Functions, classes and
modules are special: of the globals around them, only those that they name count.
"""

from __future__ import annotations

import gc
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..nodes.nodes import NodeRole
from ..nodes.records import Record

LIMIT = 20_000  # objects; a function that reaches more is not searched further
ATOMS = (
    int, float, complex, str, bytes, type(None), np.generic, np.ndarray, np.dtype, np.ufunc, types.CodeType, NodeRole,
    Record,
)  # fmt: skip
LIBRARIES = (sys.stdlib_module_names | {"numpy", "scipy", "autoflow"}) - {"__main__"}
CONTAINERS = {"builtins", "collections", "functools", "itertools", "types", "weakref"}  # of Python; hold the user's


class RandomState:
    """One generator, and how its state is read and written."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.read, self.write = _reader_and_writer(generator)
        self.state = self.read()

    def has_changed(self) -> bool:
        """Have numbers been drawn since?"""
        return not _equal(self.read(), self.state)


def states_of(generators: Iterable[Any]) -> list[RandomState]:
    """The states that can be read: not that of ``random.SystemRandom``, which has none."""
    found = []
    for generator in generators:
        try:
            found.append(RandomState(generator))
        except NotImplementedError:
            continue
    return found


def is_generator(x: Any) -> bool:
    """Does it draw random numbers?"""
    return isinstance(x, (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random))


def reachable_generators(*roots: Any) -> list[Any]:
    """NumPy's and Python's own generators, and all that can be reached from ``roots``."""
    found: dict[int, Any] = {id(x): x for x in (np.random, random)}
    queue = [x for x in roots if not isinstance(x, ATOMS)]
    seen = {id(x) for x in queue}
    for x in queue:
        if is_generator(x):
            source = x.bit_generator if isinstance(x, np.random.Generator) else x
            found[id(source)] = source
            continue
        for child in _referents(x):
            if id(child) not in seen and not isinstance(child, ATOMS) and len(queue) < LIMIT:
                seen.add(id(child))
                queue.append(child)
    return list(found.values())


def _referents(x: Any) -> Iterator[Any]:
    """What ``x`` refers to, as far as generators may be behind it."""
    if isinstance(x, types.FunctionType):
        yield from (x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__)
        if not _of_library(x.__module__):
            names = set(_names_in(x.__code__))
            yield from _objects_named(x.__globals__, names)
    elif isinstance(x, type):
        if not _of_library(x.__module__):
            yield from (*x.__mro__, *vars(x).values())
    elif isinstance(x, types.ModuleType):
        return
    elif not _of_library(type(x).__module__) or isinstance(x, types.MethodType) or _holds(x):
        yield type(x)
        yield from gc.get_referents(x)[:LIMIT]


def _holds(x: Any) -> bool:
    """Is it of Python or of this package, and holds what the user put into it: a dict, a partial, a layer?"""
    root = str(type(x).__module__).partition(".")[0]
    return root in CONTAINERS or root == "autoflow"


def _of_library(module: str | None) -> bool:
    return str(module).partition(".")[0] in LIBRARIES  # Cython has types whose module is no text


def _objects_named(namespace: dict[str, Any], names: set[str]) -> Iterator[Any]:
    """What code may mean by these names, also behind modules: ``config.rng``."""
    for name in names & namespace.keys():
        value = namespace[name]
        if not isinstance(value, types.ModuleType):
            yield value
        elif not _of_library(value.__name__) and value.__dict__ is not namespace:
            yield from _objects_named(value.__dict__, names - {name})


def _names_in(code: types.CodeType) -> Iterator[str]:
    """The globals and attributes that a function may read, and those of functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _reader_and_writer(generator: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """How to read and how to write the state."""
    if generator is np.random or isinstance(generator, np.random.RandomState):
        return lambda: generator.get_state(legacy=False), generator.set_state
    if generator is random or isinstance(generator, random.Random):
        return generator.getstate, generator.setstate
    source = generator.bit_generator if isinstance(generator, np.random.Generator) else generator
    return lambda: source.state, lambda state: setattr(source, "state", state)


def _equal(a: Any, b: Any) -> bool:
    """Are two states the same? Dicts and tuples of numbers and arrays."""
    if isinstance(a, dict):
        return all([_equal(a[key], b[key]) for key in a])
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
