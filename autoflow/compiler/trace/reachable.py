"""The objects that a function can reach, and whether those it reads have changed.

Reachable objects: closures, globals, attributes, elements, as edges from object to object. Only what code names counts:
globals, attributes of the user's modules, modules that it imports while it runs. If it looks names up by text
(``getattr(config, name)``), all names of a module count.

Contents: an array, a buffer or a collection from outside is compared in full with what it was. An array that the
program reads is read again at every call. But one of its numbers may also have ended up, unseen, in something that the
program takes for a constant: ``x @ (a + b)``, ``x * float(a[0])``, ``if a[0] > 0``. So every element is compared before
every run. The price: time, and memory for a copy.

What may differ from call to call in eager code: generators, iterators, and doors to objects that no guard can check.
Generators and iterators are compared before and after the recording (``guards.py``). Things that differ in *every*
call, such as an unseeded generator, are found by the second call, which runs the function, too. Things that may differ
*later* are found by neither: the clock, bytes from the system, names that are looked up by text. So everything that a
function names is searched for such doors, and they are refused, whether or not they would have been opened.
"""

from __future__ import annotations

import _thread
import abc
import array
import builtins
import contextvars
import ctypes
import dis
import gc
import io
import mmap
import random
import re
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cmp_to_key, lru_cache, partial
from itertools import product
from operator import attrgetter, is_, itemgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np

from ...backprop.second_runs import NUMBERS, OWN, bits_of, modules_of, same_bytes
from ...backprop.snapshots import MISSING
from ...base.lazy import ROWS
from ...base.transformed import FunctionOfFunction
from ...program.callers import is_foreign
from ...table.table import RULES

# ---------------------------------------------------------------- reachable objects, edge by edge

SEARCHED = {  # parts of Python that hold the user's
    "__main__", "builtins", "types", "functools", "collections", "enum", "weakref", "_weakref", "_weakrefset",
    "_contextvars", "contextvars", "argparse", "optparse", "configparser", "typing", "operator", "os", "_thread",
}  # fmt: skip
MAPPINGS = (dict, types.MappingProxyType, contextvars.Context)
# Holders of one object, which ``follow`` asks them for.
HOLDERS: tuple[Any, ...] = (weakref.ReferenceType, contextvars.ContextVar, types.MemberDescriptorType)
SEALED: tuple[Any, ...] = (  # what they refer to never changes
    slice, types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, types.GenericAlias, np.ufunc, attrgetter,
    itemgetter, methodcaller, type(cmp_to_key(is_)), *map(type, ({}.keys(), {}.values(), {}.items())),
)  # fmt: skip
HOLDING = (BaseException, partial, property, classmethod, staticmethod)  # objects, which these attributes name
HELD = ("args", "__cause__", "func", "keywords", "fget", "fset", "fdel", "__func__")
NAMED: Any = (types.FunctionType, types.BuiltinMethodType, types.MethodWrapperType, type, type(np.sum))
MAKING = frozenset({"__init__", "__new__", "__del__", "__init_subclass__", "__post_init__"})  # run when it is called
METHODS = (types.FunctionType, staticmethod, property, classmethod)
BY_TEXT = frozenset({"getattr", "hasattr", "vars", "attrgetter", "methodcaller", "__dict__"})
ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})
# What calls a class without its name, what calls a method to write a text, and what writes texts.
CALLING = frozenset({
    "type", "__class__", "__call__", "__new__", "__subclasses__", "__mro__", "mro", "__base__", "__bases__", "__self__",
})  # fmt: skip
WRITING = frozenset({"__repr__", "__str__", "__format__"})
PRINTING = "str repr ascii print format format_map mod imod __mod__ __rmod__ array2string array_str array_repr"
TEXTS = WRITING | {*PRINTING.split(), "methodcaller"}


def edges_of(x: object) -> Iterator[tuple[Any, Any]]:
    """Pairs (container, key) in which ``x`` refers to other objects."""
    if isinstance(x, FunctionOfFunction):
        yield x.__dict__, "f"
        yield from ((x.how, name) for name, option in x.how.items() if not is_number(option))
    elif isinstance(x, types.FunctionType):
        module = str(x.__globals__.get("__name__")).partition(".")[0]
        ours = module == "autoflow" or module in sys.stdlib_module_names  # such as af.grad(f): only f matters in it
        yield from product([x.__dict__], x.__dict__.keys() - {"_clear_cache"})  # of functools.singledispatch
        cells = [cell for cell in x.__closure__ or () if not ours or callable(follow(cell, "cell_contents"))]
        yield from product(cells, ["cell_contents"])
        if ours:
            yield from ((rule.derivatives, name) for rule in [RULES.get(x)] if rule for name in rule.derivatives)
            return
        names = names_of(x.__code__)
        yield from product([x.__globals__], names.read & x.__globals__.keys())
        if not is_foreign(module):
            yield from product([vars(builtins)], (names.read & BUILTIN_DOORS) - x.__globals__.keys())
        yield from product([sys.modules], names.imported & sys.modules.keys())
        yield from product([x.__defaults__], range(len(x.__defaults__ or ())))
        yield from product([x.__kwdefaults__], x.__kwdefaults__ or ())
    elif isinstance(x, HOLDERS):
        yield x, None
    elif isinstance(x, threading.local):
        yield from product([x], x.__dict__)
    elif isinstance(x, (set, frozenset, deque)) or (isinstance(x, ARRAYS) and x.dtype.hasobject):
        elements = tuple(x.ravel().tolist() if isinstance(x, ARRAYS) else x)
        yield from product([elements], range(len(elements)))
    elif isinstance(x, (list, tuple, *MAPPINGS)):
        yield from product([x], x if isinstance(x, MAPPINGS) else range(len(x)))
    elif isinstance(x, SEALED):
        yield from (((referent,), 0) for referent in gc.get_referents(x) if referent is not type(x))
    elif type(x) is not np.ndarray:
        yield from ((x, name) for name in HELD if isinstance(x, HOLDING) and hasattr(x, name))
        yield from edges_of_object(x)
    if isinstance(x, CONTAINERS) and type(x).__module__ != "builtins":
        yield from edges_of_object(x)


Edge = tuple[Any, tuple[Any, Any]]  # from which object; container and key


def making(cls: type) -> list[Edge]:
    """The edges to the code that runs when a class is called."""
    users = [vars(c) for c in cls.__mro__[:-1] if not is_foreign(c.__module__)]
    return [(cls, (attributes, name)) for attributes in users for name in MAKING & attributes.keys()]


def edges_of_object(x: object) -> Iterator[tuple[Any, Any]]:
    """Attributes, slots, and those that all objects of a class share; for a class also its metaclass's."""
    attributes = attributes_of(x)
    # A memory map of NumPy's has the numbers of its _mmap.
    yield from product([attributes], attributes.keys() - {"_mmap"} if isinstance(x, np.memmap) else attributes)
    for cls in (*(x.__mro__[:-1] if isinstance(x, type) else ()), *type(x).__mro__[:-1]):
        users = not is_foreign(cls.__module__)
        for name, v in vars(cls).items():
            if name.startswith("__") and (name in MAKING or not isinstance(v, METHODS)):
                continue
            if isinstance(v, types.MemberDescriptorType):
                yield v, x
            elif not isinstance(v, classmethod) and (isinstance(v, METHODS) or not hasattr(v, "__get__")):
                if users or isinstance(v, (*NUMBERS, np.ndarray)):
                    yield cls, name
            elif users:
                yield vars(cls), name  # a descriptor, which an attribute of the class would ask


def attributes_of(x: object) -> dict[str, Any]:
    """The attributes of an object itself, also if its class answers for them."""
    try:
        attributes = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}


def edges_of_module(module: Any, x: object, wanted: Set[str]) -> list[Edge]:
    """What code with these names may mean by ``config.rate``, where config is a user's module: any name, if it looks
    names up by text; but not a clock module in it: ``time`` is a common name. In Python's own modules: lists, dicts and
    sets. x : a function; or the module itself, if code passes it on."""
    scope = vars(module) if isinstance(module, types.ModuleType) else {}
    if scope and module.__name__ in sys.stdlib_module_names:  # such as sys.argv
        return [(x, (scope, name)) for name in wanted & scope.keys() if type(scope[name]) in (list, dict, set)]
    if not scope or is_foreign(module.__name__):
        return []
    more = [name for name in scope if name[:2] != "__" or name[-2:] != "__"] if BY_TEXT & wanted else []
    names = {*wanted, *more, "__getattr__"} & scope.keys()
    clocks = {k for k in names if isinstance(scope[k], types.ModuleType) and door_to(scope[k], wanted)}
    return [(x, (scope, name)) for name in names - clocks]


class Names(NamedTuple):
    """The names in code, and in the functions defined in it."""

    read: frozenset[str]  # globals
    attributes: frozenset[str]
    imported: frozenset[str]  # modules
    called: frozenset[str]  # of any kind, and variables of outer functions: not only compared, or asked for something

    @property
    def all(self) -> frozenset[str]:
        """Names of every kind."""
        return self.read | self.attributes | self.imported


@lru_cache(maxsize=10_000)  # reading code is slow
def names_of(code: types.CodeType) -> Names:
    """Globals, attributes and modules that a function may read.

    >>> names_of((lambda x: np.sin(x)).__code__)
    Names(read=frozenset({'np'}), attributes=frozenset({'sin'}), imported=frozenset(), called=frozenset({'sin'}))
    """
    names: tuple[set[str], ...] = (set(), set(), set(), set())
    for part in code_in(code):
        steps = [i for i in dis.get_instructions(part) if i.opname != "EXTENDED_ARG"]
        called = [k for k, i in enumerate(steps) if i.opname == "LOAD_GLOBAL" and "NULL" in i.argrepr]
        asking = {user_of(steps, k) for k in called if steps[k].argval in ASKING}
        for k, i in enumerate(steps):
            name = IMPLIED.get(i.opname + i.argrepr * (i.opname == "BINARY_OP"))
            if name or i.opname in KINDS:
                names[KINDS.get(i.opname, 1)].add(name or i.argval)
            if i.opname in KINDS or i.opname.endswith("DEREF"):
                user = user_of(steps, k)
                if i.argval == "type" and k in called:  # what it returns counts
                    user = user_of(steps, user + (steps[user].opname == "PRECALL"))
                is_asked = steps[user].opname in ASKS and steps[user].argval not in MAKING
                if not is_asked and user not in asking:
                    names[3].add(i.argval)
    return Names(*map(frozenset, names))


def user_of(steps: list[dis.Instruction], k: int) -> int:
    """The step that takes from the stack what step k has put there, perhaps in a tuple; or the next jump."""
    above = 0
    for j, i in enumerate(steps[k + 1 :], k + 1):
        effect = dis.stack_effect(i.opcode, i.arg)
        if i.opcode in JUMPS or max(1 - effect, i.opname in ASKS) > above:
            is_tuple = i.opname == "BUILD_TUPLE" and not steps[j + 1].opname.startswith("LOAD_")
            return user_of(steps, j) if is_tuple else j
        above += effect
    return k


ASKING = ("isinstance", "issubclass", "super")
# What does not call what it takes, as in ``type(x) is C``, ``C.rate``, ``except C``.
ASKS = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "CHECK_EXC_MATCH", "IS_OP", "COMPARE_OP", "CONTAINS_OP"}
JUMPS = {*dis.hasjrel, *dis.hasjabs}
KINDS = {
    "LOAD_GLOBAL": 0, "LOAD_NAME": 0, "LOAD_ATTR": 1, "LOAD_METHOD": 1, "LOAD_SUPER_ATTR": 1, "IMPORT_FROM": 1,
    "STORE_ATTR": 1, "STORE_GLOBAL": 0, "LOAD_FROM_DICT_OR_GLOBALS": 0, "IMPORT_NAME": 2,
}  # fmt: skip
CATCHING = "except"  # a name that code with a handler of exceptions has, or with a block of a context manager
IMPLIED = {"PUSH_EXC_INFO": CATCHING, "MATCH_CLASS": "__match_args__", "IS_OP": "is_"}
IMPLIED |= dict.fromkeys(("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BINARY_OP%", "BINARY_OP%="), "format")


def code_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of those that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_in(constant)


def follow(container: Any, key: Any) -> Any:
    """The object that the edge leads to now."""
    try:
        if isinstance(container, types.MemberDescriptorType):
            return container.__get__(key)
        if isinstance(container, HOLDERS):
            return container.get() if isinstance(container, contextvars.ContextVar) else container()
        if isinstance(key, str) and not isinstance(container, MAPPINGS):
            return getattr(container, key)
        return container[key]
    except Exception:  # an empty cell, a property that fails
        return MISSING


def is_lasting(x: object, name: str) -> bool:
    """Does it have an attribute of this name? Missing ones do not matter, since attributes are counted, nor do methods,
    which are new objects each time."""
    value = follow(x, name)
    return value is not MISSING and is_equal(value, follow(x, name))


def names_given(x: object) -> set[str]:
    """The names by which code calls an object, whatever its variables are called: that of a library's function or
    method, and those that a getter looks up."""
    if isinstance(x, (attrgetter, methodcaller)):
        return {*re.findall(r"\w+", str(gc.get_referents(x)[0]))}
    return {x.__name__} if isinstance(x, NAMED) and is_foreign(getattr(x, "__module__", None) or "builtins") else set()


def is_plain(cls: type) -> bool:
    """Is it written by the user from top to bottom, so that no library calls its methods? Or an exception?"""
    others = [c for c in cls.__mro__[:-1] if is_foreign(c.__module__) and c.__module__ != "typing"]
    return type(cls) in (type, abc.ABCMeta) and all([issubclass(c, (BaseException, abc.ABC)) for c in others])


def is_handed_on(x: Any, container: Any, key: object) -> bool:
    """Does a function do more with the object there than ask for its attributes or class? (Does not hold for a module
    that it imports inside itself.)"""
    if container is sys.modules:
        return False
    cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
    is_scope = container is x.__globals__ or (isinstance(container, dict) and "__spec__" in container)
    names = [key] if is_scope else [name for name, cell in cells if cell is container]
    return not names or not names_of(x.__code__).called.isdisjoint(names)


def may_be_called(x: object, container: object, key: object, cls: type) -> bool:
    """May code call the class that ``x`` finds there? A function may also only ask for it, as ``isinstance`` does."""
    if not isinstance(x, types.FunctionType) or not is_plain(cls) or is_handed_on(x, container, key):
        return True
    makes_others = any([isinstance(v, classmethod) for c in cls.__mro__[:-1] for v in vars(c).values()])
    return makes_others or not names_of(x.__code__).called.isdisjoint({*MAKING, *CALLING})


def waits_for_name(x: object, key: str, child: object) -> bool:
    """Is it a method or a clock that nobody can call without its name?"""
    if (key.startswith("__") and key not in WRITING) or not is_plain(x if isinstance(x, type) else type(x)):
        return False
    return isinstance(child, METHODS) or (callable(child) and bool(door_to(child, frozenset())))


def foreign(x: object) -> bool:
    """Is it code of a library, or one of Python's own objects (a logger, a lock), whose insides do not concern us?"""
    if isinstance(x, (types.FunctionType, type)):
        libraries = ("numpy", "scipy", "functools", "itertools")
        return all([m.partition(".")[0] in libraries or m.startswith(ROWS) for m in map(str, modules_of(x))])
    if isinstance(x, np.ufunc):
        return not any(map(callable, gc.get_referents(x)))
    module = str(type(x).__module__)
    root = module.partition(".")[0]
    return (root in sys.stdlib_module_names and root not in SEARCHED) or module.startswith(ROWS)


def aliases(arrays: Iterable[Any]) -> tuple[int, ...]:
    """Which of them are the same object: the index of each one's first occurrence. Empty if all are different.

    >>> a, b = [], []
    >>> aliases([a, b]), aliases([a, b, a])
    ((), (0, 1, 0))
    """
    ids = [id(x) for x in arrays]
    return () if len(set(ids)) == len(ids) else tuple([ids.index(k) for k in ids])


# ---------------------------------------------------------------- contents: compared with what they were


FILES = (io.BytesIO, io.StringIO, mmap.mmap)  # in memory
SMALL = 4096  # bytes that are compared as one bytes object
BUFFERS = (bytearray, array.array, memoryview, ctypes.c_int.__mro__[-2], *FILES)  # the fourth: all that is C's
COLLECTIONS = (list, *MAPPINGS, set, deque)
CONTAINERS = (tuple, frozenset, *COLLECTIONS)
ARRAYS: tuple[Any, ...] = (np.ndarray, np.void)  # the second: rows of structured arrays
CACHES = ("__slotnames__", "__annotations_cache__")


def elements_of(container: Any) -> list[Any]:
    """The elements of an array, a list, a set or a deque, the keys and values of a dict; for a class's dict without the
    entries that Python itself writes at the first copy of an object, or at the first question for its annotations."""
    if not isinstance(container, MAPPINGS):
        return container.ravel().tolist() if isinstance(container, ARRAYS) else [*container]
    if not isinstance(container, contextvars.Context) and any([name in container for name in CACHES]):
        container = {key: x for key, x in container.items() if key not in CACHES}
    return [*container.keys(), *container.values()]


def is_equal(now: Any, before: Any) -> bool:
    """The same object, the same number, or a tuple of such?"""
    if now is before or type(now) is not type(before):
        return now is before
    if type(before) is tuple:
        return len(now) == len(before) and all(map(is_equal, now, before))
    return isinstance(before, NUMBERS) and bits_of(now) == bits_of(before)


def is_number(x: object) -> bool:
    """A number, a text, ... that has no attributes of the user's, or a tuple of such?"""
    if type(x) is tuple:
        return all(map(is_number, x))
    return isinstance(x, NUMBERS) and not hasattr(x, "__dict__") and not isinstance(x, np.void)


def has_elements(container: object, elements: list[Any]) -> bool:
    """Are these the elements, in this order?"""
    now = container if isinstance(container, list) else elements_of(container)
    is_same = len(now) == len(elements)
    return is_same and (all(map(is_, now, elements)) or all(map(is_equal, now, elements)))


def reader(x: Any) -> tuple[Callable[[], Any], Any]:
    """A function without arguments, and what it returns as long as the contents of ``x`` stay as they are now.

    >>> a = np.zeros(10_000)
    >>> read, mark = reader(a)
    >>> a[4321] = 7
    >>> read() == mark
    False
    """
    if isinstance(x, COLLECTIONS) or (isinstance(x, ARRAYS) and x.dtype.hasobject):
        elements = elements_of(x)
        return lambda: has_elements(x, elements), True
    if isinstance(x, ARRAYS) and x.nbytes > SMALL:
        before = x.copy(order="K")
        return lambda: same_bytes(x, before), True
    whole: Any = getattr(x, "tobytes", None) or getattr(x, "getvalue", lambda: bytes(x))
    read: Callable[[], Any] = (lambda: x.closed or whole()) if isinstance(x, FILES) else whole
    return read, read()


# ---------------------------------------------------------------- what may differ from call to call


SYSTEM = "asks the system for random numbers"
TEXT = "looks names up by text, and what these mean may change"
CLOCKS = """
    time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time
    thread_time_ns localtime gmtime ctime asctime strftime
"""
BUILTIN_DOORS = frozenset({"globals", "eval", "exec", "__import__"})
DOORS: dict[tuple[str, str], str] = {  # module and name of a function -> what it does
    **{("time", name): "reads the clock" for name in CLOCKS.split()},
    **{("secrets", f"{name}"): SYSTEM for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow")},
    **{("uuid", name): SYSTEM for name in ("uuid1", "uuid4")},
    **{(name, "urandom"): SYSTEM for name in ("posix", "nt")},
    **{("builtins", name): TEXT for name in BUILTIN_DOORS},
    **{("_pickle", name): TEXT for name in ("load", "loads")},
    ("importlib", "import_module"): TEXT,
    ("random", "SystemRandom"): SYSTEM,
}
DATES = frozenset({"now", "utcnow", "today"})
DRAWING = {name for kind in (random.Random, np.random.RandomState) for name in vars(kind) if name[0] != "_"} - {
    *vars(np)
}
SHARED_NAMES = frozenset({"random", "mtrand", "_rand", *DRAWING})


# ---------------------------------------------------------------- doors: what is named, and may differ later


def door_to(x: object, attributes: Set[str]) -> str:
    """A description of what may differ later in an object whose ``attributes`` are read; empty for all others."""
    if isinstance(x, types.ModuleType):
        if x is sys and "modules" in attributes:
            return TEXT
        if x.__name__.partition(".")[0] not in sys.stdlib_module_names:
            return ""
        inside = [vars(x)[name] for name in attributes & vars(x).keys()]
        return next(filter(None, [door_to(v, attributes) for v in inside if not isinstance(v, types.ModuleType)]), "")
    if isinstance(getattr(x, "__self__", x) if callable(x) else x, random.SystemRandom):
        return SYSTEM
    code = x if callable(x) else type(x)
    where, name = getattr(code, "__module__", None), getattr(code, "__name__", None)
    if where == "datetime" and not DATES.isdisjoint(attributes):
        return "reads the clock"
    return DOORS.get((where, name), "") if isinstance(where, str) and isinstance(name, str) else ""


# ---------------------------------------------------------------- generators that all threads share


def may_have_drawn(named: set[str], reached: Iterable[Any]) -> bool:
    """May the function have drawn from the generators of the process, ``np.random`` and ``random``?

    named, reached : all names in its code, and everything that it finds outside. Without other threads in the process
    it must have been the function. Otherwise: does it name them, or find one, its module or a method of it, such as
    ``random.gauss``?
    """
    shared = {*map(id, (random, np.random, np.random.mtrand, *OWN, OWN[0]._bit_generator))}
    pairs = [(id(x), id(getattr(x, "__self__", None)) if callable(x) else 0) for x in reached]
    is_named = not SHARED_NAMES.isdisjoint(".".join(named).split("."))
    return _thread._count() == 0 or is_named or any([not shared.isdisjoint(ids) for ids in pairs])
