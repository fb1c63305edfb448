"""What a second run of a function needs to equal the first: the same random numbers, and a comparison.

Random states: a second run draws the same numbers if the generators that the function can reach are set back. Python's
garbage collector knows what an object refers to (``gc.get_referents``), so closures, attributes, slots, elements and
bound methods are all found in the same way, without running the user's code. Functions, classes and modules are
special: of the globals around them, only those that they name count.

Fingerprints: what a run of a checkpointed function computed, in a few bytes. Its gradients follow from three things:
the operations, in their order; their inputs from outside (plain arrays, Constants, numbers, indices); and the sources,
to which gradients flow. The results follow from the same. So different results show that something has changed, but
equal results do not show that nothing has: |x − c| may be the same while its slope is not. So all of it is compared:
the bytes of whole arrays by a checksum (4 GB/s, as fast as one np.tanh), and of each operation its name and its shape.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import gc
import itertools
import operator
import random
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..backends.duck_arrays import DuckArray
from ..base.numbering import Kind
from ..base.pytree import is_container, tree_leaves, tree_paths
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import Array, ByName, Holder, NodeRole, VariableRole, value_of
from ..nodes.records import Record
from ..nodes.versions import FreedArray
from ..program.callers import is_foreign
from ..program.places import Activation, variables_of
from ..table.bodies import names_in

# ---------------------------------------------------------------- random states: what a second run draws

MANY = 1000  # types
CHUNK = 65_536  # words that are compared at a time
LIMIT = 20_000  # objects; a function that reaches more is not searched further
CONSTANTS = (
    int, float, complex, str, bytes, type(None), np.generic, np.dtype, types.CodeType, Record, Kind, Activation,
)  # fmt: skip
# Their objects are in use by other threads, or reach all of the interpreter.
BUSY = {"asyncio", "concurrent", "dask", "distributed", "logging", "multiprocessing", "queue", "threading"}


GENERATORS = (np.random.BitGenerator, np.random.RandomState, random.Random)  # what holds a state
OWN = (np.random.mtrand._rand, random._inst)  # those of np.random and random


def state_of(generator: Any) -> Any:
    """The state of a random generator; None for ``random.SystemRandom``, which has no state."""
    if generator in OWN:
        return state_of_own(generator)
    if isinstance(generator, random.SystemRandom):
        return None
    return generator.__getstate__() if isinstance(generator, GENERATORS[1:]) else generator.state


LAST: dict[Any, tuple[Any, Any]] = {}  # of those in OWN: their bytes when the state was read last, and that
HEAD = object.__basicsize__
MEMORY = {g: (ctypes.c_char * (type(g).__basicsize__ - HEAD)).from_address(id(g) + HEAD) for g in OWN}


def state_of_own(generator: Any) -> Any:
    """The state of ``np.random`` or ``random``, which takes 23 or 6 µs to read: that of last time, as long
    as the bytes are the same in which it is kept (1 µs; 2,500 of them, or they are not known)."""
    memory = MEMORY[generator].raw
    if generator is OWN[0] and (bits := memory_of(generator._bit_generator)) is not None:
        memory += bits.raw
    mark = memory, getattr(generator, "gauss_next", None)  # of random: the second normal number
    last, state = LAST.get(generator, (None, None))
    if mark != last or len(memory) < 2500:
        state = generator.__getstate__()
        LAST[generator] = mark, state  # another thread may replace it at once
    return state


@functools.cache
def memory_of(bits: Any) -> Any:
    """The memory in which np.random's generator keeps its state; None if it is not known."""
    return (ctypes.c_char * 2504).from_address(bits.ctypes.state_address) if type(bits) is np.random.MT19937 else None


def is_at(generator: Any, state: Any) -> bool:
    """Has the generator that state, because no number has been drawn since?"""
    return same_state(state_of(generator), state)


def put_state(generator: Any, state: Any) -> None:
    """Set a state back."""
    if isinstance(generator, GENERATORS[1:]) and state is not None:
        generator.__setstate__(state)  # type: ignore[union-attr]
    elif not is_at(generator, state):
        generator.state = state


class Globals:
    """The globals that code names, in the module that they are looked up in.

    old : those that were there when the search met them.
    """

    def __init__(self, scope: ByName, names: frozenset[str]) -> None:
        self.scope, self.names = scope, names
        self.old = self.values()

    def values(self) -> ByName:
        """Their present values."""
        scope = self.scope
        return {name: scope[name] for name in in_order(self.names) if name in scope}


@functools.lru_cache(maxsize=4096)
def in_order(names: frozenset[str]) -> list[str]:
    """The names in alphabetical order: two searches meet the globals in the same one."""
    return sorted(names)


CACHE = type(functools.lru_cache(len))
IN_C = (np.ufunc, type(np.sum))
LEAVES = (types.ModuleType, types.FrameType, Globals, VariableRole, *IN_C, *GENERATORS)  # the search ends at them
Referents = Callable[[Any], Iterable[object]]


def reachable(*roots: object, referents_of: ByType | None = None, limit: int = LIMIT) -> list[Any]:
    """The roots and all that can be reached from them: including arrays and nodes, except immutable objects. The
    globals of a function appear as :class:`Globals`, and so does, of a user's module that is an argument or an element,
    what any function names. ``referents_of``: for each type, how to find what its objects refer to."""
    referents_of = REFERENTS if referents_of is None else referents_of
    queue: list[Any] = [*roots]
    seen = {id(x) for x in queue}
    for x in queue:
        for child in referents_of[type(x)](x):
            if referents_of[type(child)] is not constant and len(queue) < limit and id(child) not in seen:
                seen.add(id(child))
                queue.append(child)
    if types.ModuleType not in map(type, queue):
        return queue
    modules = [x for x in queue if type(x) is types.ModuleType and not is_foreign(x.__name__)]
    names = frozenset().union(*[names_in(f.__code__) for f in queue if type(f) is types.FunctionType and is_users(f)])
    known = {id(x.scope) for x in queue if type(x) is Globals and x.names >= names}
    if not (scopes := [Globals(vars(x), names) for x in modules if id(vars(x)) not in known]):
        return queue
    values = [v for x in scopes for v in x.old.values() if referents_of[type(v)] is not constant and id(v) not in seen]
    return reachable(*queue, *scopes, *values, referents_of=referents_of, limit=limit)


class ByType(dict[type, Any]):
    """The answers of ``decide(type)``, computed once for each type: a walk meets many objects of few types."""

    def __init__(self, decide: Callable[[type], Any]) -> None:
        self.decide = decide

    def __missing__(self, kind: type) -> Any:
        if len(self) > MANY:
            self.clear()  # classes made in a loop are not kept alive
        self[kind] = decided = self.decide(kind)
        return decided


def reachable_generators(*roots: object) -> list[Any]:
    """NumPy's and Python's own generators, and those that can be reached from ``roots``."""
    return [x for x in reachable(*OWN, *roots) if isinstance(x, GENERATORS)]


def referents_by_type(kind: type) -> Referents:
    """How to find what an object of that type refers to, as far as generators may be behind it."""
    if issubclass(kind, (weakref.ref, np.void)):
        return lambda x: (x() if isinstance(x, weakref.ref) else x.base,)
    if issubclass(kind, CONSTANTS) and not kind.__dictoffset__:
        return constant
    if kind is ContextVar:
        return lambda x: (x.get(None), *gc.get_referents(x))
    if issubclass(kind, random.Random) and kind.__module__ != "random":
        return lambda x: (kind, vars(x))
    if issubclass(kind, np.random.BitGenerator):
        return lambda x: (x.seed_seq,)
    if issubclass(kind, LEAVES) or (is_busy(kind) and is_foreign(kind.__module__)):
        return nothing
    if issubclass(kind, DuckArray):  # the vmap, or the recording, that it belongs to goes on
        return lambda x: (getattr(x, "inner", None),)
    if issubclass(kind, NodeRole):
        return lambda x: (getattr(x, "_view", None) or ())[1:]  # the node that it is a view of; no more of its graph
    if issubclass(kind, threading.local):
        return lambda x: (vars(x),)
    if issubclass(kind, np.ndarray):
        return lambda x: x.ravel().tolist() if x.dtype.hasobject else (getattr(x, "__dict__", None),)
    if issubclass(kind, types.FunctionType):
        return OF_FUNCTION
    if issubclass(kind, FunctionOfFunction):  # what it has recorded is ours
        return lambda x: (x.f, x.how)
    if issubclass(kind, type):
        return lambda x: (*x.__mro__, *vars(x).values()) if is_users(x) else ()
    if kind is CACHE:
        return _of_cache
    return lambda x: (type(x), *gc.get_referents(x)[:LIMIT])


def constant(x: object) -> Iterable[object]:
    """For immutable objects: there is nothing to search."""
    return ()


def nothing(x: object) -> Iterable[object]:
    """For mutable objects that are noted but not searched further."""
    return ()


STORE, SETTERS = dis.opmap["STORE_ATTR"], frozenset({"setattr", "__dict__", "vars"})


@functools.lru_cache(maxsize=4096)
def sets_attributes(code: types.CodeType) -> bool:
    """May code set attributes of what it finds?"""
    return STORE in code.co_code[::2] or not SETTERS.isdisjoint(code.co_names)


def of_functions(always: bool) -> Referents:
    """What functions refer to. The dict of a function without attributes counts only if it sets some, or ``always``:
    another function may set them."""

    def find(x: Any) -> Iterable[object]:
        own = x.__dict__
        has_own = always or own or sets_attributes(x.__code__)
        referents = [x.__closure__, x.__defaults__, x.__kwdefaults__, own if has_own else None]
        if is_users(x):
            for names in named_by(x):
                referents.append(names)
                referents += [v for v in names.old.values() if not isinstance(v, types.ModuleType)]
        return referents

    return find


OF_FUNCTION = of_functions(True)


def _of_cache(x: Any) -> Iterable[object]:
    """What an ``lru_cache`` holds, but not its own dict: that and a list in C cannot be put back."""
    referents = gc.get_referents(x)
    own = [v for v in referents if type(v) is dict and v is not x.__dict__][-1]
    return [*own.values(), *[v for v in referents if v is not own]]


REFERENTS = ByType(referents_by_type)


def is_busy(kind: type) -> bool:
    """Is this a type of objects that others may change meanwhile: a thread, pool, lock or queue?"""
    return any([str(cls.__module__).partition(".")[0] in BUSY for cls in kind.__mro__])


def is_users(x: Any) -> bool:
    """Is a function or class written by the user? (Of some classes __module__ is an attribute of their objects.)"""
    module = x.__module__
    if (module is None or type(module) is str) and not is_foreign(module):
        return True
    return isinstance(x, types.FunctionType) and not is_foreign(x.__globals__.get("__name__"))


def modules_of(x: Any) -> tuple[Any, Any]:
    """The module that a function or class says it is of, and the one where a function was written: functools.wraps
    changes the first."""
    return x.__module__, x.__globals__.get("__name__") if isinstance(x, types.FunctionType) else x.__module__


@functools.lru_cache(maxsize=4096)
def module_names(names: frozenset[str], package: str) -> frozenset[str]:
    """How the modules are called that code with these names may import, also relative to its package."""
    around = itertools.accumulate(package.split("."), "{}.{}".format)
    return names.union(*[{f"{base}.{name}" for name in names} for base in around])


def named_by(f: types.FunctionType) -> list[Globals]:
    """What a function may mean by its names: in its globals, and in the user's modules that it finds there, in its
    closure, among its defaults, by an import, or in another such module (``config.rng``)."""
    names = names_in(f.__code__)
    scopes, seen = [Globals(f.__globals__, names)], {id(f.__globals__)}
    called = module_names(names, f.__globals__.get("__package__") or "")
    queue = [*scopes[0].old.values(), *map(sys.modules.get, sorted(called & sys.modules.keys()))]
    queue += *gc.get_referents(*f.__closure__ or ()), *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()
    for x in queue:
        if issubclass(type(x), types.ModuleType) and id(vars(x)) not in seen and not is_foreign(x.__name__):
            seen.add(id(vars(x)))
            scopes.append(Globals(vars(x), names))
            queue += scopes[-1].old.values()
    return scopes


def codes_of(*roots: object) -> list[types.CodeType]:
    """The code of the functions that can be reached."""
    return [x.__code__ for x in reachable(*roots) if isinstance(x, types.FunctionType)]


def codes_of_frame(frame: types.FrameType) -> list[types.CodeType]:
    """The code that a frame runs, and that of the functions it names."""
    code, scope = frame.f_code, {**frame.f_globals, **variables_of(frame)}
    names = (*sorted(names_in(code)), *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    return [code, *codes_of(*[scope[name] for name in names if callable(scope.get(name))])]


def same_state(a: Any, b: Any) -> bool:
    """Are two notes of one place the same?"""
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = [[x.dtype, x.tolist()] if x.dtype.hasobject else x for x in (a, b)]
        return same_state(a, b) if type(a) is list else a.dtype == b.dtype and same_bytes(a, b)
    if type(a) is type(b) is dict:
        return len(a) == len(b) and all(map(operator.is_, a, b)) and same_state([*a.values()], [*b.values()])
    if type(a) is type(b) and isinstance(a, (list, tuple)):
        if {*map(type, a)} == {int}:  # the state of a generator is long
            return bool(a == b)
        return len(a) == len(b) and all(map(same_state, a, b))
    return type(a) is type(b) and isinstance(a, (int, float, str, bytes, np.dtype)) and a == b


def without_filling(x: Array) -> Array:
    """x; of long doubles of 80 bits their bytes, without those that only fill up 96 or 128: these are random."""
    if x.dtype.char not in "gG" or np.finfo(np.longdouble).nmant != 63:
        return x
    native = np.ascontiguousarray(x, x.dtype.newbyteorder("="))
    return native.reshape(-1).view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, :10]


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Are two arrays of one dtype equal to the bit? (NaN is itself, and 0.0 is not -0.0.)"""
    if a.shape != b.shape:
        return False
    a, b = without_filling(a), without_filling(b)
    if a.nbytes < CHUNK:
        return a.tobytes() == b.tobytes()
    if a.flags.f_contiguous and b.flags.f_contiguous:
        a, b = a.T, b.T
    kind = np.uint8 if a.itemsize % 8 else np.uint64
    a, b = [np.ascontiguousarray(x).reshape(-1).view(kind) for x in (a, b)]
    return all([np.array_equal(a[k : k + CHUNK], b[k : k + CHUNK]) for k in range(0, a.size, CHUNK)])


# ---------------------------------------------------------------- fingerprints: what a run computed


NUMBERS: tuple[Any, ...] = (int, float, complex, str, bytes, bool, range, type(None), np.generic)


def checksum(array: Array) -> int:
    """The checksum of the bytes of all elements in the order of their indices, however they lie in memory."""
    return 0 if array.dtype.hasobject else zlib.crc32(np.ravel(without_filling(array)).view(np.uint8).data)


def bits_of(x: Any) -> Any:
    """What tells a number or text from others of its type. (0.0 is not −0.0; the text of a row may be shortened, a
    user's class may have another, and long doubles have bytes that mean nothing.)"""
    if isinstance(x, np.generic):
        return (x.dtype, x.tobytes()) if x.dtype.char not in "gG" else repr(x)
    return next((kind.__repr__ for kind in NUMBERS if isinstance(x, kind)), repr)(x)


def mark(x: Any) -> Any:
    """The key under which a value is compared: equal for equal values of one type. Values on a device are not read."""
    x = value_of(x) if isinstance(x, NodeRole) else x
    if type(x) is np.ndarray:
        return x.shape, x.dtype.str, checksum(x)
    if isinstance(x, (tuple, list)):
        return tuple([mark(v) for v in x])
    if isinstance(x, (*NUMBERS, slice, type(...))):
        return type(x), bits_of(x)
    if is_container(x):
        return (*tree_paths(x), *map(mark, tree_leaves(x)))
    if hasattr(x, "compared_in_runs"):
        return mark(x.compared_in_runs())
    return type(x).__name__, str(getattr(x, "shape", "")), str(getattr(x, "dtype", ""))


class Fingerprint:
    """The sources and operations of one run."""

    def __init__(self, roots: Sequence[Holder], start: int, results: object) -> None:
        """``start``: the creation number before the run, so that the sources are what is older. ``results``: a tree."""
        self.sources, records = sources_and_made(roots, start)
        records.sort(key=lambda record: record.number)
        self.steps: list[int] = []  # of each operation, with its operands and options from outside
        self.fleeting: list[int | None] = []  # of large operands that no derivative needs: None if they are gone
        for record in records:
            self.add(record)
        self.paths, self.results = tree_paths(results), [mark(z) for z in tree_leaves(results)]
        self.flows = [root is not None for root in roots]

    def add(self, record: Holder) -> None:
        """One operation, or a Variable that the run has made."""
        if isinstance(record, VariableRole):
            self.steps.append(hash(("variable", mark(record._value))))
            return
        n, hooks = len(record.parents), ((record.extra and record.extra.hooks) or {}).values()
        outside: list[Any] = [(getattr(h, "__code__", type(h)), mark(getattr(h, "__defaults__", 0))) for h in hooks]
        for k, x in enumerate(record.saved[:-1]):
            if k < n and record.parents[k] is not None:
                continue
            if type(x) is FreedArray:
                array = x.reference()
                self.fleeting.append(checksum(array) if type(array) is np.ndarray else None)
            else:
                outside.append(mark(x))
        self.steps.append(hash((record.rule.name, record.shape, *outside)))

    def difference(self, other: Fingerprint) -> str:
        """What differs in ``other``, the fingerprint of the second run; the empty string if nothing does."""
        if len(self.results) != len(other.results):
            return f"it returned {len(other.results)} results, and {len(self.results)} the first time"
        if self.paths != other.paths:
            return f"it returned the results {', '.join(other.paths)}, and {', '.join(self.paths)} the first time"
        for j, (first, second) in enumerate(zip(self.results, other.results, strict=True)):
            which = f"result {j}" if len(self.results) > 1 else "its result"
            if _kind(first) != _kind(second):
                return f"{which} was {_kind(first)} the first time, and is {_kind(second)} now"
            if first != second:
                return f"the values of {which} ({_kind(first)}) differ"
        if len(self.steps) != len(other.steps):
            return f"the results are the same, but it took {len(other.steps)} operations instead of {len(self.steps)}"
        fleeting = any([a != b for a, b in zip(self.fleeting, other.fleeting, strict=False) if a is not None is not b])
        if self.steps != other.steps or self.flows != other.flows or fleeting:
            return "the results are the same, but not what they were computed from, so the slopes may differ"
        return ""


def sources_and_made(roots: Iterable[Holder], start: int) -> tuple[list[Holder], list[Holder]]:
    """The Variables and records from before ``start`` from which ``roots`` were computed, and those made since."""
    sources, records = [], []
    waiting = list(dict.fromkeys([root for root in roots if root is not None]))
    seen = set(waiting)
    for record in waiting:
        if record.number <= start:
            sources.append(record)
            continue
        records.append(record)
        fresh = {p: None for p in record.parents if p is not None and p not in seen}
        seen |= fresh.keys()
        waiting += fresh
    return sources, records


def _kind(mark: Any) -> str:
    """What a result is, by its mark: an array, or something else."""
    is_array = type(mark) is tuple and len(mark) == 3 and type(mark[0]) is tuple
    return f"{np.dtype(mark[1])} of shape {mark[0]}" if is_array else "no array"
