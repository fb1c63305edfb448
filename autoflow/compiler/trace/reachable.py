"""What a function can reach, whether it asks for identities, and whether what it reads has changed.

Reachable objects: closures, globals, attributes, elements, as edges from object to object.

Identity: ``x is y``, ``id(x)``, ``type(x)``. While a function is recorded its arguments are not arrays, and these three
cannot be intercepted. (``isinstance(x, np.ndarray)`` and ``x.__class__`` can.) So functions that use them are found by
their code. Comparing with a constant (``x is None``) is harmless. For the others

* an array that is passed twice is one object during the recording, and which arguments are the same array belongs to
  the signature, as does that none of them is an array from outside;
* the first result is compared with that of eager code, which shows what else they decide: ``type(x)``, or whether
  ``x.real is x``, is the same in all calls of one signature.

Contents: an array, a buffer or a collection from outside is compared in full with what it was. An array that the
program reads is read again at every call. But one of its numbers may also have ended up, unseen, in something that the
program takes for constant: ``x @ (a + b)``, ``x * float(a[0])``, ``if a[0] > 0``. So every element is compared before
every run. The price: time, and memory for a copy.
"""

from __future__ import annotations

import array
import builtins
import dis
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from operator import is_
from typing import Any

import numpy as np

from ...base.errors import CompileError
from ...base.lazy import ROWS
from ...base.transformed import FunctionOfFunction

# ---------------------------------------------------------------- reachable objects, edge by edge

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
        return module.partition(".")[0] in libraries or module.startswith(ROWS)
    if isinstance(x, (deque, threading.local)):
        return False
    module = str(type(x).__module__)
    root = module.partition(".")[0]
    return (root in sys.stdlib_module_names and root not in SEARCHED) or module.startswith(ROWS)


# ---------------------------------------------------------------- identity: functions that ask which object an array is


ASKING = frozenset({"type", "id", "is_", "is_not"})  # builtins, and functions of the module operator
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")


@lru_cache(maxsize=10_000)
def asks(code: types.CodeType) -> bool:
    """Does this function, or one that is defined in it, compare objects by ``is``, or ask for a class or an id?

    >>> asks((lambda x: x is None).__code__), asks((lambda x, y: x is y).__code__), asks((lambda x: type(x)).__code__)
    (False, True, True)
    """
    for part in code_in(code):
        before = ""
        for instruction in dis.get_instructions(part):
            name = instruction.opname
            if name == "IS_OP" and not before.startswith("LOAD_CONST"):
                return True
            if name in LOADS and instruction.argval in ASKING:
                return True
            before = name
    return False


def aliases(arrays: Iterable[Any]) -> tuple[int, ...]:
    """Which of them are the same object: the index of each one's first occurrence. Empty if all are different.

    >>> a, b = [], []
    >>> aliases([a, b]), aliases([a, b, a])
    ((), (0, 1, 0))
    """
    ids = [id(x) for x in arrays]
    return () if len(set(ids)) == len(ids) else tuple([ids.index(k) for k in ids])


def check_not_outside(arrays: Iterable[Any], outside: frozenset[int]) -> None:
    """Raise CompileError if an argument is an array that the function also finds outside."""
    if not outside.isdisjoint([id(x) for x in arrays]):
        raise CompileError(
            "an argument of the compiled function is an array that it also finds outside, and it compares objects by "
            "`is` or `id`: pass a copy, or say af.compile(f, fallback=True)."
        )


# ---------------------------------------------------------------- contents: compared with what they were


SMALL = 4096  # bytes that are compared as one bytes object
CHUNK = 65_536  # words that are compared at a time
BUFFERS = (bytearray, array.array, memoryview)
COLLECTIONS = (list, dict, set, deque)


def elements_of(container: Any) -> list[Any]:
    """The elements of a list, a set or a deque, the keys and values of a dict."""
    return [*container.keys(), *container.values()] if isinstance(container, dict) else [*container]


def is_equal(now: Any, before: Any) -> bool:
    """The same object, the same number, or a tuple of such?"""
    if now is before or type(now) is not type(before):
        return now is before
    if type(before) is tuple:
        return len(now) == len(before) and all(map(is_equal, now, before))
    return isinstance(before, NUMBERS) and repr(now) == repr(before)


def has_elements(container: Any, elements: list[Any]) -> bool:
    """Are these the elements, in this order?"""
    now = container if isinstance(container, list) else elements_of(container)
    if len(now) != len(elements):
        return False
    return all(map(is_, now, elements)) or all(map(is_equal, now, elements))


def reader(x: Any) -> tuple[Callable[[], Any], Any]:
    """A function without arguments, and what it returns while the contents of ``x`` are what they are now.

    >>> a = np.zeros(10_000)
    >>> read, mark = reader(a)
    >>> a[4321] = 7
    >>> read() == mark
    False
    """
    if not isinstance(x, np.ndarray):
        read: Callable[[], Any] = x.tobytes if hasattr(x, "tobytes") else lambda: bytes(x)
    elif x.dtype.hasobject:
        elements = x.ravel().tolist()
        return lambda: has_elements(x.ravel().tolist(), elements), True
    elif x.nbytes <= SMALL:
        read = x.tobytes
    else:
        return large_reader(x), True
    return read, read()


def large_reader(x: np.ndarray) -> Callable[[], bool]:
    """A function that says whether every byte of a large array is unchanged."""
    before = words(x).copy()

    def is_unchanged() -> bool:
        now = words(x)
        if now.shape != before.shape:
            return False
        return all([
            np.array_equal(now[k : k + CHUNK], before[k : k + CHUNK]) for k in range(0, before.size, CHUNK)
        ])  # fmt: skip

    return is_unchanged


def words(x: np.ndarray) -> np.ndarray:
    """The memory of an array as a vector of integers; of one with gaps a copy. (NaN is itself, 0.0 is not -0.0.)"""
    x = x if x.flags.c_contiguous else x.T if x.flags.f_contiguous else np.ascontiguousarray(x)
    return x.reshape(-1).view(np.uint8 if x.itemsize % 8 else np.uint64)
