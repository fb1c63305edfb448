"""What differs from call to call in eager code: unseeded generators, the time, iterators, the environment.

While a function is recorded, ``sys.setprofile`` tells of every call in this thread, also inside NumPy: a generator
without a seed asks ``random.SystemRandom`` for one. Such a call is noted, and refused when the recording is over.
(Under a profiler that is written in C, as cProfile before Python 3.12, that cannot be done.)
"""

from __future__ import annotations

import contextvars
import datetime
import operator
import os
import random
import sys
import time
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.errors import CompileError
from .reachable import asks, is_the_users, names_in

GENERATORS = (
    np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence, random.Random,
)  # fmt: skip
CLOCKS = frozenset([
    time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns,
    time.process_time, time.process_time_ns, time.localtime, time.gmtime, time.ctime, time.asctime, time.strftime,
    *[getattr(time, name) for name in ("thread_time", "thread_time_ns") if hasattr(time, name)],  # not in browsers
])  # fmt: skip
DATES = frozenset({"now", "utcnow", "today"})
SYSTEM: Any = random.SystemRandom
SEEDING: dict[Any, str] = {  # the code of a function -> its argument that is a seed
    random.Random.seed.__code__: "a", SYSTEM.getrandbits.__code__: "", SYSTEM.random.__code__: "",
}  # fmt: skip
ENVIRONMENT = frozenset({type(os.environ).__getitem__.__code__, type(os.environ).__iter__.__code__})
CODES = frozenset([id(code) for code in (*SEEDING, *ENVIRONMENT)])  # comparing code takes long
NAMES = DATES | {f.__name__ for f in CLOCKS} | {"urandom", "get"}
PASSED_ON = ("os", "_collections_abc", "collections.abc")  # modules between os.environ and who reads it
SHARED: Any = random.random.__self__  # type: ignore[attr-defined] # the generator behind the functions of random
DRAWING = {name for kind in (random.Random, np.random.RandomState) for name in vars(kind) if name[0] != "_"} - {
    *vars(np)
}
SHARED_NAMES = frozenset({"random", "mtrand", "_rand", *DRAWING})
HARMLESS = frozenset({"tempfile"})  # a name that is drawn is no number


def state_of(generator: Any) -> Any:
    """The state of a random generator, as something that compares."""
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state), repr(getattr(generator.bit_generator.seed_seq, "state", None))
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


def is_iterator(x: Any) -> bool:
    """One of Python's own, whose place is no attribute: a generator, a zip, an itertools.count."""
    return hasattr(type(x), "__next__") and type(x).__module__ in ("builtins", "itertools")


def place_of(iterator: Any) -> Any:
    """Something that changes when ``iterator`` advances; None where that cannot be seen."""
    if isinstance(iterator, types.GeneratorType):
        return iterator.gi_frame is None, iterator.gi_frame and iterator.gi_frame.f_lasti
    if type(iterator).__name__ in ("count", "repeat"):
        return repr(iterator)
    left = operator.length_hint(iterator, -1)
    return None if left < 0 else left


class Spy:
    """The profiler while a function is recorded; it notes the first call that must be refused."""

    def __init__(self) -> None:
        self.found = ""
        self.is_looking = True
        self.entered: dict[int, tuple[Any, Any]] = {}  # by id the code of functions, and their globals

    def look(self, frame: Any, event: str, function: Any) -> None:
        """For ``sys.setprofile``. It is called so often that one look into a set decides most cases."""
        if event == "call":
            code = frame.f_code
            if id(code) not in self.entered:
                self.entered[id(code)] = code, frame.f_globals
            if id(code) in CODES and not self.found:
                self.python_call(frame)
        elif event == "c_call" and function.__name__ in NAMES and not self.found:
            self.c_call(frame, function)

    def python_call(self, frame: Any) -> None:
        """A function of Python is entered."""
        code = frame.f_code
        if code in SEEDING:
            seed = frame.f_locals.get(SEEDING[code]) if SEEDING[code] else None
            if seed is None and not from_module(frame, HARMLESS):
                self.note(frame, "makes or uses a random generator that has no seed")
        elif code in ENVIRONMENT:
            asking = frame.f_back
            while asking is not None and asking.f_globals.get("__name__") in PASSED_ON:
                asking = asking.f_back
            if of_the_user(asking):
                self.note(frame, "reads os.environ")

    def c_call(self, frame: Any, function: Any) -> None:
        """A function of C is called, in that frame."""
        owner = getattr(function, "__self__", None)
        if function is os.urandom:
            self.note(frame, "asks the system for random bytes")
        elif isinstance(owner, contextvars.ContextVar) and function.__name__ == "get" and of_the_user(frame):
            self.note(frame, "reads a ContextVar")
        elif isinstance(owner, types.ModuleType) and owner is time:
            if function in CLOCKS and of_the_user(frame):
                self.note(frame, "reads the clock")
        elif isinstance(owner, type) and issubclass(owner, datetime.date) and of_the_user(frame):
            self.note(frame, "reads the clock")

    def note(self, frame: Any, what: str) -> None:
        """Remember it with the line of the user."""
        while frame.f_back is not None and not of_the_user(frame):
            frame = frame.f_back
        self.found = f"the compiled function {what} (at {frame.f_code.co_filename}:{frame.f_lineno})"

    def asks_for_identity(self) -> bool:
        """Has a function of the user asked for the identity or the class of an array?"""
        return any(
            [
                asks(code)
                for code, names in self.entered.values()
                if is_the_users(sys.modules.get(names.get("__name__")))
            ]
        )

    def may_have_drawn(self, reached: Iterable[Any]) -> bool:
        """May the function have drawn from the generators of the process, ``np.random`` and ``random``?

        reached : all that it finds outside. With no other thread in the process, who else? Else it is asked whether one
        of the functions that were entered names them, or an object reached is one of them or a method of one.
        """
        if not self.is_looking or len(sys._current_frames()) == 1:
            return True
        return any([draws_for_all(x) for x in reached]) or any(
            [names_shared_generator(code, names) for code, names in self.entered.values()]
        )

    def check(self) -> None:
        """Raise CompileError if there was such a call."""
        if self.found:
            raise CompileError(
                f"{self.found}: what it found would stay the same in every later call. Pass it as an argument, or say "
                f"af.compile(f, fallback=True)."
            )


def is_shared(generator: Any) -> bool:
    """Is it a generator that all threads of the process share?"""
    return generator is random or generator is np.random.mtrand._rand


def draws_for_all(x: Any) -> bool:
    """Is it a shared generator, its module, or one of its methods, as ``random.gauss`` and ``np.random.normal``?"""
    owner = getattr(x, "__self__", None) if callable(x) else None
    shared = (
        random,
        SHARED,
        np.random,
        np.random.mtrand,
        np.random.mtrand._rand,
        np.random.mtrand._rand._bit_generator,
    )
    return any([x is y or owner is y for y in shared])


def names_shared_generator(code: types.CodeType, names: dict[str, Any]) -> bool:
    """May this code draw from one? ``np.random.normal``, ``import random``, a global that is a method of one, and
    whatever has the name of such a method: libraries keep the generator in attributes."""
    if str(names.get("__name__")).partition(".")[0] in ("autoflow", "numpy"):
        return False  # they draw from what they are given; those that draw from np.random are written in C
    words = names_in(code)
    return any([not SHARED_NAMES.isdisjoint(word.split(".")) for word in words]) or any(
        [draws_for_all(names[word]) for word in words if word in names]
    )


def of_the_user(frame: Any) -> bool:
    """Is it the user's own code: neither Python's nor of an installed package?"""
    return frame is not None and is_the_users(sys.modules.get(frame.f_globals.get("__name__", "")))


def from_module(frame: Any, modules: frozenset[str]) -> bool:
    """Was it called, directly or indirectly, from one of these modules?"""
    while frame is not None:
        if frame.f_globals.get("__name__") in modules:
            return True
        frame = frame.f_back
    return False


@contextmanager
def note_fresh_results() -> Iterator[Spy]:
    """Note such calls while the block runs, in this thread."""
    spy, before = Spy(), sys.getprofile()
    if before is not None and not callable(before):
        spy.is_looking = False
        yield spy
        return

    def both(frame: Any, event: Any, function: Any) -> None:
        spy.look(frame, event, function)
        before(frame, event, function)  # type: ignore[misc]

    sys.setprofile(spy.look if before is None else both)
    try:
        yield spy
    finally:
        sys.setprofile(before)
