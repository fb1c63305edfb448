"""Gives our modules all of SciPy's names: ``__getattr__, __dir__ = mirrored(globals())``.

Our functions are called with nodes only; plain arrays go to SciPy's function of the same name, with its bits and all of
its keywords. Names that we lack are found in SciPy's module, and their version for nodes is made once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from ..backprop.second_runs import reachable
from ..base.errors import NoRuleError
from ..base.lazy import load_package
from ..base.modes import modes
from ..nodes.nodes import AnyFunction, ByName, NodeRole, Values, constant_from, value_of
from . import bodies
from .bodies import COPIES, OWN, attributes, in_copies, is_copy, is_ours, pickled, replaced, with_attributes
from .proofs import ADVICE, check_history, check_proof, leaves, numbers, remedy, with_errors

PACKAGES = ("scipy.", "autoflow.scipy.")
# Keywords for how SciPy's functions in C work, not what they compute.
HOW = set("check_finite driver lapack_driver overwrite_a overwrite_ab overwrite_b overwrite_x plan workers".split())  # noqa: SIM905


def mirrored(names: ByName, functions: Iterable[str] = ()) -> tuple[Any, Any]:
    """``__getattr__`` and ``__dir__`` of a module, whose ``globals()`` are ``names``.

    functions : the names of our functions that plain arrays do not enter: SciPy's function is called instead.
    """
    home = names["__name__"].partition(".")[2]

    @functools.cache
    def theirs() -> types.ModuleType:
        short = home.partition(".")[2]
        return load_package(home, f"af.{short} computes with SciPy, which is not installed: pip install scipy")

    def find(name: str) -> types.ModuleType:
        if name.startswith("__"):
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        try:
            original = getattr(theirs(), name)
        except AttributeError:
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}: neither has scipy") from None
        if isinstance(original, types.ModuleType):
            try:
                return import_module(f"{names['__name__']}.{name}")
            except ModuleNotFoundError:  # we have no rules for it
                names[name] = module = types.ModuleType(f"{names['__name__']}.{name}")
                vars(module).update(zip(("__getattr__", "__dir__"), mirrored(vars(module)), strict=True))
                return module
        names[name] = twin = for_nodes(original, f"{home}.{name}")
        return twin

    OWN[home] = [name for name in functions if name in names]
    for name in OWN[home]:
        names[name] = with_plain(names[name], theirs, name)
        names[name].__module__ = names["__name__"]  # where pickle finds it
    return find, lambda: sorted({*names.get("__all__", ()), *getattr(theirs(), "__all__", ())})


def with_plain(ours: AnyFunction, theirs: Any, name: str) -> AnyFunction:
    """Our function for nodes, with SciPy's order of arguments; SciPy's for plain arrays."""
    signature = inspect.signature(ours)
    slots = signature.parameters.values()
    names = None if any([p.kind is p.VAR_KEYWORD for p in slots]) else {p.name for p in slots}
    scipys = functools.cache(lambda: inspect.signature(getattr(theirs(), name)))

    @functools.cache
    def switches() -> list[tuple[int, str, type]]:
        """Flags and words among the arguments: place, name, type."""
        parameters = enumerate(scipys().parameters.values())
        return [(k, p.name, type(p.default)) for k, p in parameters if type(p.default) in (bool, str)]

    def check_switches(args: Any, options: Any) -> None:
        """If a flag or a word is something else, raise what SciPy raises, or NoRuleError if SciPy would accept it."""
        for k, word, kind in switches():
            x = args[k] if k < len(args) else options.get(word)
            if not (x is None or type(x) is kind or (kind is bool and np.ndim(x) == 0 and x in (0, 1))):
                getattr(theirs(), name)(*map(value_of, args), **{key: value_of(v) for key, v in options.items()})
                message = f"{ours.__module__}.{name} of a node has no derivative with {word}={x!r:.60}"
                raise NoRuleError(f"{message}: {ADVICE}")

    @functools.wraps(ours)
    def run(*args: Any, **options: Any) -> Any:
        if not any([has_node(x) for x in args]) and not any(map(has_node, options.values())):
            return in_ours(getattr(theirs(), name)(*args, **options))
        check_switches(args, options)
        arguments = scipys().bind(*args, **options).arguments
        for p in [p for p in scipys().parameters.values() if p.name in arguments]:
            is_unsaid = p.name in HOW or arguments[p.name] is p.default
            if p.kind is p.VAR_KEYWORD:
                arguments |= arguments.pop(p.name)
            elif is_unsaid and not has_node(arguments[p.name]) and p.name not in (names or ()):
                del arguments[p.name]
        if others := [k for k in arguments if names is not None and k not in names]:
            raise without(others)
        bound = signature.bind(**arguments)
        z = with_errors(lambda: ours(*bound.args, **bound.kwargs), getattr(theirs(), name), args, options)
        return with_history(z, arguments)

    def with_history(z: object, arguments: ByName) -> Any:
        """The result, if it is made of nodes; else NoRuleError: no gradient would flow to the arguments."""
        if not isinstance(z, NodeRole) and modes().recording and is_ours(arguments):
            parts = [x for x in leaves(z) if np.size(x)]
            if parts and not is_ours(parts):
                raise without([word for word in arguments if is_ours([arguments[word]])])
        return z

    def without(words: list[str]) -> NoRuleError:
        """The error for arguments with which no derivative is known."""
        message = f"{ours.__module__}.{name} of a node has no derivative with {', '.join(words)}="
        return NoRuleError(f"{message}: {ADVICE}")

    return run


def has_node(x: object) -> bool:
    """Is it a node, or another array class of ours, or a list with some in it?"""
    return isinstance(x, NodeRole) or is_ours(x) or (isinstance(x, (list, tuple)) and any(map(has_node, x)))


def for_nodes(x: object, name: str) -> Any:
    """What a name from SciPy stands for."""
    if isinstance(x, type):
        return x if issubclass(x, (BaseException, tuple)) else refusing(x, name)
    if isinstance(x, np.ufunc) or not callable(x):
        return x
    return Methods(x, name) if hasattr(x, "rvs") else on_nodes(x, name)


class Methods:
    """A SciPy object, such as a distribution, with methods that also take nodes, and with these parameters."""

    def __init__(self, theirs: Any, path: str, args: Values = (), options: ByName | None = None) -> None:
        self.theirs, self.path, self.args, self.kwds = theirs, path, args, options or {}
        self.made: dict[str, Any] = {}  # its methods for nodes, with or without parameters

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_":
            raise AttributeError(name)
        is_plain = not has_node([*self.args, *self.kwds.values()])
        attribute = getattr(self.scipys if is_plain or name in UNFROZEN else self.theirs, name)
        if not callable(attribute):
            if is_plain:
                return attribute
            raise NoRuleError(f"{self.path}(...).{name} of a node has no derivative here: {ADVICE}")
        if not (self.args or self.kwds):
            twin = on_nodes(attribute, f"{self.path}.{name}")
            self.made[name] = self.made.get(name) or (of_counts(twin, attribute) if name in ("pmf", "logpmf") else twin)
            return self.made[name]

        def run(*x: Any, **options: Any) -> Any:
            if is_plain and not has_node([*x, *options.values()]):
                return in_ours(attribute(*x, **options))
            if name in FROZEN:
                x, options = (), FROZEN[name].bind(*x, **options).arguments
            first = [options.pop(word) for word in FIRST if word in options]
            return getattr(Methods(self.theirs, self.path), name)(*x, *first, *self.args, **self.kwds, **options)

        return run

    def __call__(self, *args: object, **options: object) -> Any:
        """The distribution with these parameters."""
        return Methods(self.theirs, self.path, args, options)

    @functools.cached_property
    def scipys(self) -> Any:
        """The object of SciPy's, with numbers for parameters."""
        args, options = numbers(list(self.args)), {k: numbers(v) for k, v in self.kwds.items()}
        return self.theirs(*args, **options) if self.args or self.kwds else self.theirs

    def __reduce__(self) -> tuple[object, ...]:
        return Methods, (self.theirs, self.path, self.args, self.kwds)

    def __repr__(self) -> str:
        return f"<af.{self.path}>"


UNFROZEN = "fit", "fit_loc_scale", "freeze", "nnlf"  # methods that a distribution with parameters lacks
FIRST = "x", "q", "k", "order", "confidence"  # arguments of methods that come before the parameters
FROZEN = {  # arguments of methods of a distribution with parameters; without, they come after the parameters
    "rvs": inspect.signature(lambda size=None, random_state=None: None),
    "stats": inspect.signature(lambda moments="mv": None),
}


def of_counts(method: Any, theirs: Any) -> AnyFunction:
    """The probability of a count. SciPy's is 0 between counts, so counts and loc have no derivative."""
    numbers_end = 1 + getattr(theirs.__self__, "numargs", 99)  # the count and the shape parameters

    @functools.wraps(method)
    def run(*args: Any, **options: Any) -> Any:
        if is_ours([*args[:1], *args[numbers_end:], *[options.get(word) for word in ("k", "x", "loc")]]):
            raise NoRuleError(f"{method.__module__}.{method.__name__}: counts and loc have no derivative: {ADVICE}")
        return method(*args, **options)

    return run


def on_nodes(theirs: Any, name: str) -> AnyFunction:
    """SciPy's function, for nodes and arrays: a gradient, or NoRuleError."""

    def run(*args: object, **options: object) -> Any:
        arguments, named = list(args), options
        if modes().recording:
            arguments, named = [guarded(x, name) for x in args], {k: guarded(v, name) for k, v in options.items()}
            if is_ours([*arguments, named]) and (proved := check_proof(theirs, name, arguments, named)) != "plain":
                copies = [*map(in_copies, arguments)], {k: in_copies(v) for k, v in named.items()}
                z = with_errors(lambda: COPIES.find(theirs)(*copies[0], **copies[1]), theirs, arguments, named)
                if proved == "code":
                    check_history(z, theirs, name, arguments, named)
                return z
        return in_ours(theirs(*map(numbers, arguments), **{k: numbers(v) for k, v in named.items()}))

    run.__name__ = run.__qualname__ = name.rpartition(".")[2]
    run.__module__ = "autoflow." + name.rpartition(".")[0]
    run.__doc__ = (theirs.__doc__ or "").partition(">>>")[0]  # SciPy's examples are SciPy's to run
    return run


def guarded(f: Any, name: str) -> Any:
    """A user's function that captures nodes, as one that raises NoRuleError if it returns a node to SciPy, also in
    lists, dicts and constraints; anything else as it is."""
    if type(f) in (list, tuple) and {*map(type, f)} - {int, float}:
        return type(f)([guarded(v, name) for v in f])
    if type(f) is dict:
        return {key: guarded(v, name) for key, v in f.items()}
    if str(type(f).__module__).startswith("scipy.optimize.") and not callable(f):  # constraints
        return replaced(f, type(f), lambda v: guarded(v, name))
    is_theirs = isinstance(f, (type, np.ufunc, NodeRole)) or str(type(f).__module__).startswith(PACKAGES)
    if is_theirs or not callable(f) or not any([isinstance(x, NodeRole) and is_ours(x) for x in reachable(f)]):
        return f

    @functools.wraps(f)
    def run(*args: object, **options: object) -> Any:
        if is_ours(z := f(*args, **options)):
            raise NoRuleError(f"a function that is given to {name} returns a node: {remedy(name) or ADVICE}")
        return z

    return run


def in_ours(x: object) -> Any:
    """A SciPy object as one of our class of that name, or of one that refuses nodes; anything else as it is."""
    kind, home = type(x), str(type(x).__module__).partition("._")[0]
    if kind.__name__ == "SuperLU":
        return Methods(x, "scipy.sparse.linalg.SuperLU")
    is_plain = isinstance(x, (tuple, dict)) or kind.__name__.endswith("Result")
    if is_plain or not home.startswith("scipy.") or not hasattr(x, "__dict__"):
        return x
    with contextlib.suppress(ImportError, TypeError, AttributeError):
        first, *rest = home.split(".")
        ours: Any = getattr(functools.reduce(getattr, rest, import_module(f"autoflow.{first}")), kind.__name__, None)
        is_same = isinstance(ours, type) and issubclass(ours, kind)
        twin = ours if is_same else refusing(kind, f"{home}.{kind.__name__}")
        if ours is None or twin.__module__ not in sys.modules:  # pickle would not find it by its name
            twin.__reduce__ = lambda x: (in_ours, (replaced(x, kind, lambda v: v),))
        # It may hold np.asarray; if its class has rules it may hold np itself, which must take nodes then.
        changed: Any = None if "mirrored" in vars(twin) else types.ModuleType
        ours = {id(v): COPIES.find(v) for v in attributes(x).values() if callable(v) or type(v) is changed}
        return replaced(x, twin, lambda v: ours.get(id(v), v))
    return x


def never_lost(kind: type, refused: str = "", prove: bool = False) -> type:
    """A class derived from one of SciPy's, whose public methods are SciPy's without nodes. With nodes they raise
    NoRuleError if they return numbers alone; with ``prove``, if they are not proved; or, if ``refused``, the name of
    the class, is given, in any case."""
    (base,) = kind.__bases__[-1:]
    kind.__module__ = f"autoflow.{base.__module__.partition('._')[0]}"  # where pickle finds it

    def checked(method: Any, name: str) -> AnyFunction:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **options: Any) -> Any:
            if not is_ours([self, *args, options]):
                guarded_args = [guarded(numbers(x), kind.__name__) for x in args]
                named = {k: guarded(numbers(v), kind.__name__) for k, v in options.items()}
                theirs = self if refused else numbers(self)
                z = (method if refused else getattr(base, name))(theirs, *guarded_args, **named)
                if refused or not any([hasattr(v, "__dict__") for v in attributes(theirs).values()]):
                    with_attributes(self, attributes(theirs))
                    z = self if z is theirs else in_ours(z)
                else:
                    z = method(self, *args, **options)  # the copy: it holds other objects, which may receive nodes
                return value_of(z).copy() if isinstance(z, NodeRole) else z
            if refused and modes().recording:
                copied = COPIES.find(base)
                if copied is base or name in ("__init__", *WRITES) or not bodies.is_in_python(base):
                    raise NoRuleError(f"{refused} of a node has no derivative here: {remedy(refused) or ADVICE}")
                return getattr(replaced(self, proved_methods(copied), lambda v: v), name)(*args, **options)
            call = getattr(base, name), f"{base.__module__}.{base.__name__}.{name}", [self, *args], options
            proved = prove and name != "__init__" and modes().recording and check_proof(*call)
            if name in WRITES:
                with_attributes(self, {word: writable(v) for word, v in attributes(self).items()})
            z = method(self, *args, **options)
            if proved == "code":
                check_history(z, *call)
            changed = name in WRITES or (name == "__init__" and type(self) is kind)  # made of nodes, it holds nodes
            parts = list(leaves(self if changed else z))
            moves = parts or (z is None and name != "__init__" and is_ours([args, options]))
            if moves and modes().recording and not prove and not is_ours(parts):
                raise NoRuleError(f"{kind.__name__}.{name} has no derivative here (it returns plain numbers): {ADVICE}")
            return z

        return run

    if not refused:
        kind.__reduce__ = pickled  # type: ignore[assignment,method-assign]
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        special = name == "__init__" or (name[-2:] == "__" and name not in vars(object) and hasattr(base, name))
        if name[0] == "_" and not special:
            continue
        if type(method).__name__ in IN_CLASSES and method is not vars(object).get(name):
            setattr(kind, name, checked(method, name))
        elif refused and isinstance(method, property):
            read: Any = lambda self, get=method.fget: in_ours(get(self))  # noqa: E731
            setattr(kind, name, property(read, method.fset, method.fdel))
        elif refused and isinstance(method, (staticmethod, classmethod)):
            setattr(kind, name, staticmethod(on_nodes(getattr(base, name), f"{refused}.{name}")))
    return kind


WRITES = "__setitem__", "setdiag"  # methods that write into their object


def writable(x: object) -> Any:
    """An array of floating-point numbers as one that nodes can be written into; anything else as it is."""
    return constant_from(x.copy()) if type(x) is np.ndarray and x.dtype.kind in "fc" else x


def mirrors_of(meta: Any) -> type:
    """The metaclass of our classes: an object of SciPy's class counts as one of ours."""

    def is_object(cls: Any, x: Any) -> bool:
        return meta.__instancecheck__(cls, x) or isinstance(x, vars(cls).get("mirrored", ()))

    return type(meta.__name__, (meta,), {"__instancecheck__": is_object})


kind_of_mirrors: Any = functools.cache(mirrors_of)  # one for each class


IN_CLASSES = "function", "cython_function_or_method", "method_descriptor", "wrapper_descriptor"  # types of methods


def refusing_class(kind: Any, name: str) -> type:
    """A class derived from one of SciPy's that refuses nodes."""
    try:
        twin = never_lost(kind_of_mirrors(type(kind))(kind.__name__, (kind,), {"mirrored": kind}), name)
    except TypeError:  # it does not allow derived classes
        return kind

    def new(cls: type, *args: object, **options: object) -> Any:
        """With nodes, an object of the copied class, whose methods are proved; a class may also choose another."""
        chooses = type(kind.__new__) is types.FunctionType
        if cls is twin and (chooses or (bodies.is_in_python(kind) and modes().recording and is_ours([args, options]))):
            z = on_nodes(kind, name)(*args, **options)
            return replaced(z, proved_methods(type(z)), lambda v: v) if is_copy(z) else z
        return object.__new__(cls) if kind.__new__ is object.__new__ else kind.__new__(cls, *args, **options)

    twin.__new__ = new  # type: ignore[assignment,method-assign]
    return twin


refusing: Any = functools.cache(refusing_class)  # one for each class
proved_methods: Any = functools.cache(lambda kind: never_lost(kind, prove=True))
