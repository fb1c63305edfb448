"""What a function reaches, noted before a run that may be abandoned: a :class:`~.snapshots.Snapshot` for every run.

What keeps it cheap: arrays are not copied but locked; and where a function of the user's reaches nothing but modules,
numbers, arrays and other such functions, the search is not made again as long as all of these are the same objects.
"""

from __future__ import annotations

import dis
import operator
import sys
import types
import weakref
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..base.transformed import FunctionOfFunction
from ..program.callers import is_foreign
from ..table.bodies import names_in
from . import second_runs
from .snapshots import MISSING, NOTES, NUMPYS_BITS, Snapshot, cell_value, others_run

SEARCHED = 2000  # objects are looked at before a run that may be abandoned


class Trial(Snapshot):
    """A snapshot for a run that may be abandoned.

    Arrays are read-only while the run lasts, so nothing has to be compared: a write is NumPy's ValueError. Where a
    function could catch that, or names ``flags`` or ``at`` (``np.add.at`` writes into read-only arrays), or another
    thread is in the user's code, they are copied.
    Generators of NumPy and Python are read in full if the code says "random" somewhere; else the bytes of np.random
    are enough. Counts of names are left alone.

    codes : what the functions among the roots, and those that they reach, consist of: code, functions in C, and what
        decides among globals, defaults and variables of outer functions.
    identifies : does the code compare objects by identity?
    asks_for_classes : does it name ``type``, or look for attributes?
    asked : kinds of dtypes. Numbers of these may be asked for their class, or whether they are one that the code finds
        (``(x > 0) is np.True_``).
    """

    def __init__(self, f: object, *others: object) -> None:
        self.notes, self.large, self.iterators, self.kinds, self.is_whole = [], [], [], {}, True
        rest = [x for x in others if not is_end(x) or type(x) is np.bool_]
        self.codes, words, objects = look(f, *rest) if rest else look_again(f) or look(f)
        objects = [*objects, *[x for x in others if type(x) is np.ndarray]] if others else objects
        self.hears_errors, self.identifies = not words.isdisjoint(HEARING), "is" in words
        self.asks_for_classes = not words.isdisjoint(ASKING)
        self.asked = "Ob" if self.identifies and words & TRUTHS else "O"
        self.left = sys.maxsize if not words.isdisjoint(COPYING) or others_run() else 0
        if "random" in words:
            objects = [*second_runs.OWN, *objects]
        elif "quiet" not in words and second_runs.memory_of(np.random.mtrand._rand._bit_generator) is not None:
            self.keep(NUMPYS_BITS, np.random.mtrand._rand)
        for x in objects:
            if (note := NOTES[type(x)]) is not None:
                note(self, x)


def value_key(x: Any) -> tuple[type, object]:
    """The key of a value that a function finds: in full where it may decide what the function does."""
    kind = type(x)
    return kind, x if kind in DECIDING else hasattr(kind, "dtype") and (getattr(x, "shape", None), x.dtype)


# ---------------------------------------------------------------- what functions reach


class Outlook(NamedTuple):
    """What functions reach."""

    codes: tuple[object, ...]  # see Trial
    words: frozenset[str]  # those that words_of finds, and those that texts and truth values are that they find; and
    # "quiet": no random numbers are drawn but where these words say so
    objects: list[Any]  # what there is to note


def look(*roots: Any) -> Outlook:
    """The outlook from there, by a search."""
    others: list[Any] = []
    functions: list[types.FunctionType] = []
    codes: list[object] = []
    values: list[object] = []  # values that functions find, which may decide what they do
    for x in second_runs.reachable(*roots, referents_of=OF_USERS, limit=SEARCHED):
        kind = type(x)
        if kind is types.FunctionType:
            functions.append(x)
            codes.append(x.__code__)
            values += (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
            values += map(cell_value, (second_runs.is_users(x) and x.__closure__) or ())
            continue
        others.append(x)
        if kind is second_runs.Globals:
            values += x.old.values()
        elif kind is partial:
            values += (*x.args, *x.keywords.values())
        elif kind in FUNCTIONS_IN_C or issubclass(kind, FunctionOfFunction):
            codes.append(x if kind in FUNCTIONS_IN_C else kind)
    words = frozenset().union(*[words_of(f.__code__) for f in functions if second_runs.is_users(f)])
    words |= WORDS & {*[x for x in values if type(x) is str], *[f"{x}_" for x in others if type(x) is np.bool_]}
    codes += map(value_key, values)
    if len(roots) == 1 and functions[:1] == [*roots] and all(map(is_plain, functions)):
        if len(SEEN) >= second_runs.MANY:
            SEEN.clear()
        others = [x for x in others if type(x) is np.ndarray]  # the rest are variables, which plain code does not set
        arrays = [(weakref.ref(x), x.shape) for x in others]
        modules = {x.__name__ for x in values if type(x) is types.ModuleType}
        words |= {"quiet"} if modules <= {"numpy", "math"} and "getattr" not in words else frozenset()
        SEEN[roots[0].__code__] = [View(f) for f in functions], arrays, tuple(codes), words
    return Outlook(tuple(codes), words, others)


# ---------------------------------------------------------------- the same outlook as last time


SEEN: dict[types.CodeType, Any] = {}  # code of a plain function -> what was found there: see look_again


def look_again(f: object) -> Outlook | None:
    """The outlook from a plain function, if it is as it was last time; else None."""
    outlook = SEEN.get(f.__code__) if type(f) is types.FunctionType else None
    if outlook is None:
        return None
    views, arrays, codes, words = outlook
    for view in views:
        if not view.is_same(f if view is views[0] else view.function()):
            return None
    objects = []
    for ref, shape in arrays:
        if (x := ref()) is None or x.shape != shape:  # None: another thread has just put another one there
            return None
        objects.append(x)
    return Outlook(codes, words, objects)


class View:
    """What a plain function refers to, as it was. Arrays and functions are not kept alive."""

    def __init__(self, f: types.FunctionType) -> None:
        self.function, self.code, self.defaults = weakref.ref(f), f.__code__, f.__defaults__
        self.values = [weakref.ref(x) if type(x) in (np.ndarray, types.FunctionType) else x for x in values_of(f)]

    def is_same(self, f: Any) -> bool:
        """Does this function refer to the same?"""
        if f is None or f.__code__ is not self.code or f.__defaults__ is not self.defaults or f.__dict__:
            return False
        before = [x() if type(x) is weakref.ref else x for x in self.values]
        return f.__kwdefaults__ is None and all(map(operator.is_, values_of(f), before))


def values_of(f: types.FunctionType) -> list[object]:
    """The values of the globals that a function names (MISSING: there is none), and of variables of outer functions."""
    scope = f.__globals__
    return [scope.get(name, MISSING) for name in names_in(f.__code__)] + [*map(cell_value, f.__closure__ or ())]


def is_plain(f: types.FunctionType) -> bool:
    """Does a function of the user's refer only to modules, numbers, arrays and functions?"""
    if not (second_runs.is_users(f) and is_plain_code(f.__code__)) or f.__dict__ or f.__kwdefaults__:
        return False
    return all([type(x) is types.FunctionType or x is MISSING or is_end(x) for x in values_of(f)]) and all(
        [second_runs.REFERENTS[type(x)] is second_runs.constant for x in f.__defaults__ or ()]
    )


def is_end(x: Any) -> bool:
    """Does a search end here, whatever happens to ``x``?"""
    kind = type(x)
    if kind is types.ModuleType:
        return is_foreign(x.__name__)
    if kind is np.ndarray:
        return not x.dtype.hasobject
    return kind in second_runs.IN_C or second_runs.REFERENTS[kind] is second_runs.constant


@lru_cache(maxsize=4096)
def is_plain_code(code: types.CodeType) -> bool:
    """Does code neither set attributes and variables outside nor import? So nothing of these has to be noted."""
    operations = {*code.co_code[::2]}
    if second_runs.sets_attributes(code) or not NAMESPACES.isdisjoint(code.co_names):
        return False
    if not SETTING.isdisjoint(operations) or (code.co_freevars and not IN_CELLS.isdisjoint(operations)):
        return False
    return all([is_plain_code(c) for c in code.co_consts if isinstance(c, types.CodeType)])


IS, CONST = dis.opmap["IS_OP"], dis.opmap["LOAD_CONST"]
SETTING = frozenset(map(dis.opmap.get, ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")))
IN_CELLS = frozenset(map(dis.opmap.get, ("STORE_DEREF", "DELETE_DEREF")))
NAMESPACES = frozenset({"globals", "__globals__", "f_globals", "cell_contents", "exec", "eval"})  # set variables, too


# ---------------------------------------------------------------- what concerns a search


def referents_of_users(kind: type) -> second_runs.Referents:
    """As :func:`~.second_runs.referents_by_type`; except the state of our own transforms and duck arrays, which is not
    the user's, and attributes that functions might get."""
    if issubclass(kind, types.FunctionType):
        return OF_FUNCTION
    referents, (package, *room) = second_runs.referents_by_type(kind), str(kind.__module__).split(".")
    is_users = package != "autoflow" or room[:1] in ([], ["nn"], ["optim"]) or issubclass(kind, FunctionOfFunction)
    if not is_users and referents not in (second_runs.constant, second_runs.nothing):
        return lambda x: (getattr(x, "inner", None),)
    return second_runs.nothing if kind is np.bool_ else referents  # code may ask whether a number is this one


OF_FUNCTION = second_runs.of_functions(False)
OF_USERS = second_runs.ByType(referents_of_users)
FUNCTIONS_IN_C = frozenset({
    *second_runs.IN_C, types.BuiltinFunctionType, type, operator.attrgetter, operator.itemgetter, operator.methodcaller
})  # fmt: skip
DECIDING = frozenset({str, int, bool, type(None), type})
HEARING, COPYING = frozenset({"seterr", "seterrcall", "errstate"}), frozenset({"except", "flags", "setflags", "at"})
TRUTHS, BY_IDENTITY = frozenset({"True_", "False_"}), frozenset({"is_", "is_not", "id"})
ASKING = frozenset({"type", "hasattr", "getattr", "issubclass"})
WORDS = HEARING | COPYING - {"except"} | TRUTHS | ASKING | {"random"}


@lru_cache(maxsize=4096)
def words_of(code: types.CodeType) -> frozenset[str]:
    """Those of WORDS that code names, "is" if it compares by identity, and "except" if it catches exceptions."""
    texts = [x for c in code.co_consts for x in (c if type(c) is tuple else [c]) if type(x) is str]  # for getattr
    words = WORDS & {*code.co_names, *code.co_varnames, *code.co_freevars, *texts}
    steps = code.co_code[::2]  # ``x is None`` does not count
    is_asked = steps.count(IS) > steps.count(bytes((CONST, IS))) or not BY_IDENTITY.isdisjoint(code.co_names)
    words |= {*["except"] * bool(code.co_exceptiontable), *["is"] * is_asked}
    return words.union(*[words_of(c) for c in code.co_consts if isinstance(c, types.CodeType)])
