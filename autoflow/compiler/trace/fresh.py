"""What may differ from call to call in eager code: generators, iterators, and doors to what is no guard.

Generators and iterators are compared before and after the recording (``guards.py``). What differs in *every* call, as
an unseeded generator, is found by the second call, which runs the function, too. What may differ *later* is found by
neither: the clock, bytes of the system, names that are looked up by text. So what a function names is looked through
for such doors, and they are refused; it does not matter whether they would have been opened.
"""

from __future__ import annotations

import builtins
import random
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from .reachable import names_of

GENERATORS = (
    np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence, random.Random,
)  # fmt: skip
SYSTEM = "asks the system for random numbers"
TEXT = "looks names up by text, and what these mean may change"
CLOCKS = """
    time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time
    thread_time_ns localtime gmtime ctime asctime strftime
"""
DOORS: dict[tuple[str, str], str] = {  # module and name of a function -> what it does
    **{("time", name): "reads the clock" for name in CLOCKS.split()},
    **{("secrets", f"{name}"): SYSTEM for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow")},
    **{("uuid", name): SYSTEM for name in ("uuid1", "uuid4")},
    **{(name, "urandom"): SYSTEM for name in ("posix", "nt")},
    **{("builtins", name): TEXT for name in ("globals", "eval", "exec", "__import__")},
    ("importlib", "import_module"): TEXT,
    ("random", "SystemRandom"): SYSTEM,
}
DATES = frozenset({"now", "utcnow", "today"})
SHARED: Any = random.random.__self__  # type: ignore[attr-defined] # the generator behind the functions of random
DRAWING = {name for kind in (random.Random, np.random.RandomState) for name in vars(kind) if name[0] != "_"} - {
    *vars(np)
}
SHARED_NAMES = frozenset({"random", "mtrand", "_rand", *DRAWING})


def state_of(generator: Any) -> Any:
    """The state of a random generator, as something that compares."""
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        return repr(generator.state), repr(getattr(generator.seed_seq, "state", None))
    if isinstance(generator, np.random.SeedSequence):
        return repr(generator.state)
    if isinstance(generator, random.SystemRandom):
        return None
    if generator is random or isinstance(generator, random.Random):
        return generator.getstate()
    kind, keys, *rest = generator.get_state()
    return kind, keys.tobytes(), rest


# ---------------------------------------------------------------- doors: what is named, and may differ later


def door_of(f: types.FunctionType) -> str:
    """What a function does that may differ later, in words; the empty string if it names no such thing."""
    scope, names = f.__globals__, names_of(f.__code__)
    found = [scope.get(name, vars(builtins).get(name)) for name in names.read]
    for x in [*found, *[sys.modules.get(name) for name in names.imported]]:
        if what := door_to(x, names.attributes):
            return what
    return ""


def door_to(x: Any, attributes: frozenset[str]) -> str:
    """The same of an object of which these attributes are read."""
    if isinstance(x, types.ModuleType):
        if x is sys and "modules" in attributes:
            return TEXT
        if x.__name__.partition(".")[0] not in sys.stdlib_module_names:
            return ""
        inside = [vars(x)[name] for name in attributes & vars(x).keys()]
        return next(filter(None, [door_to(v, attributes) for v in inside if not isinstance(v, types.ModuleType)]), "")
    if isinstance(getattr(x, "__self__", x), random.SystemRandom):
        return SYSTEM
    where, name = getattr(x, "__module__", None), getattr(x, "__name__", None)
    if where == "datetime" and isinstance(x, type) and not DATES.isdisjoint(attributes):
        return "reads the clock"
    return DOORS.get((where, name), "") if isinstance(where, str) and isinstance(name, str) else ""


# ---------------------------------------------------------------- generators that all threads share


def may_have_drawn(named: set[str], reached: Iterable[Any]) -> bool:
    """May the function have drawn from the generators of the process, ``np.random`` and ``random``?

    named, reached : all names in its code, and all that it finds outside. With no other thread in the process, who
    else? Else it is asked whether it names them, or an object reached is one of them or a method of one.
    """
    return (
        len(sys._current_frames()) == 1
        or any([draws_for_all(x) for x in reached])
        or any([not SHARED_NAMES.isdisjoint(word.split(".")) for word in named])
    )


def is_shared(generator: Any) -> bool:
    """Is it a generator that all threads of the process share?"""
    return generator is random or generator is np.random.mtrand._rand


def draws_for_all(x: Any) -> bool:
    """Is it a shared generator, its module, or one of its methods, as ``random.gauss`` and ``np.random.normal``?"""
    owner, legacy = getattr(x, "__self__", None) if callable(x) else None, np.random.mtrand
    shared = (random, SHARED, np.random, legacy, legacy._rand, legacy._rand._bit_generator)
    return any([x is y or owner is y for y in shared])
