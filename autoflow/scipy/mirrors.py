"""What makes a module of ours SciPy's, with all of its names: ``__getattr__, __dir__ = mirrored(globals())``.

A function of ours is called with nodes only; plain arrays go to SciPy's of the same name, so they have its bits and all
of its keywords. Names that we lack are found in SciPy's module, and what they are for nodes is looked up once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.lazy import load_package
from ..nodes.nodes import NodeRole
from .bodies import OWN, is_ours
from .proofs import ADVICE, REMEDIES, in_ours, numbers, on_nodes

# Keywords that say how SciPy's functions in C work, not what they compute.
HOW = set("check_finite driver lapack_driver overwrite_a overwrite_ab overwrite_b overwrite_x plan workers".split())  # noqa: SIM905


def mirrored(names: dict[str, Any], functions: Iterable[str] = ()) -> tuple[Any, Any]:
    """``__getattr__`` and ``__dir__`` of a module, whose ``globals()`` are ``names``.

    functions : the names of functions of ours that plain arrays do not enter: SciPy's of that name is called instead.
    """
    home = names["__name__"].partition(".")[2]

    @functools.cache
    def theirs() -> Any:
        short = home.partition(".")[2]
        return load_package(home, f"af.{short} computes with SciPy, which is not installed: pip install scipy")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        try:
            found = getattr(theirs(), name)
        except AttributeError:
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}: scipy has none") from None
        if isinstance(found, types.ModuleType):
            with contextlib.suppress(ModuleNotFoundError):
                return import_module(f"{names['__name__']}.{name}")
            return found
        names[name] = made = for_nodes(found, f"{home}.{name}")
        return made

    OWN[home] = {name: with_plain(names[name], theirs, name) for name in functions if name in names}
    names.update({name: f for name, f in OWN[home].items() if not hasattr(names[name], "compute")})
    return find, lambda: sorted({*names["__all__"], *getattr(theirs(), "__all__", ())})


def with_plain(ours: Callable[..., Any], theirs: Any, name: str) -> Callable[..., Any]:
    """Our function for nodes, SciPy's for plain arrays."""
    known = set(inspect.signature(ours).parameters)

    @functools.wraps(ours)
    def run(*args: Any, **options: Any) -> Any:
        if not any([has_node(x) for x in args]) and not any(map(has_node, options.values())):
            return in_ours(getattr(theirs(), name)(*args, **options))
        return ours(*args, **{k: v for k, v in options.items() if k in known or k not in HOW})

    return run


def has_node(x: Any) -> bool:
    """Is it a node, or an array of another class of ours, or a list with some?"""
    return isinstance(x, NodeRole) or is_ours(x) or (isinstance(x, (list, tuple)) and any(map(has_node, x)))


def for_nodes(x: Any, name: str) -> Any:
    """What a name of SciPy's stands for."""
    if isinstance(x, type):
        return x if issubclass(x, (BaseException, tuple)) else refusing(x, name)
    if isinstance(x, np.ufunc) or not callable(x):
        return x
    return Methods(x, name) if hasattr(x, "rvs") else on_nodes(x, name)


class Methods:
    """An object of SciPy's, such as a distribution, whose methods are for nodes as well."""

    def __init__(self, theirs: Any, name: str) -> None:
        self._theirs, self._name = theirs, name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._theirs, name)
        if name[0] == "_" or not callable(found):
            return found
        vars(self)[name] = made = on_nodes(found, f"{self._name}.{name}")
        return made

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The distribution with these parameters."""
        return Frozen(self, args, named)

    def __repr__(self) -> str:
        return f"<af.{self._name}>"

    def __reduce__(self) -> Any:
        return named, (self._name,)


def named(name: str) -> Any:
    """What stands for ``scipy.stats.alpha``, by that name."""
    home, _, last = name.rpartition(".")
    return getattr(import_module(f"autoflow.{home}"), last)


class Frozen:
    """Its methods, with parameters."""

    def __init__(self, dist: Methods, args: Any, named: Any) -> None:
        self.dist, self.args, self.kwds = dist, args, named

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_":
            raise AttributeError(name)
        method = getattr(self.dist, name)
        return lambda *x, **options: method(*x, *self.args, **self.kwds, **options)


def refusing(kind: type, name: str) -> type:
    """A class of SciPy's that says no to nodes."""

    def checked(method: Any) -> Any:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **options: Any) -> Any:
            if any(map(is_ours, (*args, *options.values()))):
                raise NoRuleError(f"{name} of a node has no derivative here: {REMEDIES.get(name, ADVICE)}")
            return in_ours(method(self, *map(numbers, args), **{k: numbers(v) for k, v in options.items()}))

        return run

    home = name.rpartition(".")[0]
    names = [n for n in dir(kind) if n[0] != "_" or n in ("__init__", "__call__")]
    methods = {n: checked(f) for n in names if type(f := inspect.getattr_static(kind, n)) is types.FunctionType}
    try:
        return types.new_class(
            kind.__name__, (kind,), {}, lambda space: space.update(methods, __module__=f"autoflow.{home}")
        )
    except TypeError:  # it may have no classes derived from it
        return kind
