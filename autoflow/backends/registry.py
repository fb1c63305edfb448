"""Array types. A node *is* an array of its library, so there is one set of classes per array type.

``numpy.ndarray`` gets its set when autoflow is imported, ``cupy.ndarray`` when the first one is met (nothing is
imported on CuPy's behalf: a program with a CuPy array has imported it already), any other type when it is registered.

What an array type needs: it can be subclassed, also with slots; ``a.view(cls)`` gives a subclass on the same memory;
NumPy's functions find it by ``__array_ufunc__`` and ``__array_function__``. No rule of the table is touched: rules call
NumPy's functions, and those call the library's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from ..base.errors import DataError
from ..base.types import AnyFunction as AnyFunction, Array as Array, BatchLayer, ByName as ByName, Values as Values
from ..program.callers import is_ours

NODE_TYPES: dict[type, NodeTypes] = {}  # array type -> its node classes
CHANGE = Lock()  # one thread may register a library while a recording ends in another
COMPLETIONS: list[Callable[[NodeTypes], None]] = []  # what is done to every family when it is made


class NodeClass(type):
    """Class of NumPy's node classes: ``isinstance(x, af.Variable)`` is true for Variables of every array type.

    Where there is but one array type, Python can tell without our help. (Our hot path never asks, but NumPy does, of
    every call with nodes of two classes, and waits 1 µs for an answer in Python.)
    """


def isinstance_of_any(cls: type, x: object) -> bool:
    """``isinstance(x, cls)`` by roles, which the classes of all families share. The user hears of arrays that hide a
    batch, or are being compiled, what eager code says."""
    role = cls.__dict__.get("role")
    if not role or issubclass(type(x), role):
        return role is not None or type.__instancecheck__(cls, x)
    pretends = hasattr(type(x), "eager_class") and not is_ours(2)
    return pretends and issubclass(x.eager_class(), role)  # type: ignore[attr-defined]


def families_changed() -> None:
    """Call this when an array type has been added or removed."""
    with CHANGE:
        if len(NODE_TYPES) > 1:
            NodeClass.__instancecheck__ = isinstance_of_any  # type: ignore[method-assign]
        elif "__instancecheck__" in vars(NodeClass):
            del NodeClass.__instancecheck__


class NodeTypes:
    """The node classes on top of one array type: Node, Variable, Constant, Operation, View."""

    Node: Any
    Variable: Any
    Constant: Any
    Operation: Any
    View: Any
    to_numpy: Callable[[Array], Array]
    from_numpy: Callable[[Array], Array]
    has_numbers = True  # that can be read: those that vmap and compile compute with have none

    def __init__(self, array_type: type, roles: Mapping[str, type], slots: tuple[str, ...]) -> None:
        """``roles``: the classes that hold the methods, by name; the one that all share comes first."""
        self.array_type, self.roles, self.slots = array_type, roles, slots
        class_of_role: dict[type, Any] = {}
        kind = type if NODE_TYPES else NodeClass  # af.Variable is NumPy's; and CuPy's view(cls) wants a plain class
        for name, role in roles.items():
            bases = [class_of_role[base] for base in role.__bases__ if base in class_of_role] or [array_type]
            class_of_role[role] = kind(name, (role, *bases), {
                "__slots__": () if class_of_role else slots, "__module__": "autoflow", "__doc__": role.__doc__,
                "__qualname__": name, "role": role, "family": self,
            })  # fmt: skip
            setattr(self, name, class_of_role[role])
        for complete in COMPLETIONS:
            complete(self)
        NODE_TYPES[array_type] = self
        families_changed()

    def call(self, function: Callable[[Array], Array], x: Array) -> Array:
        """A function of NumPy arrays that NumPy does not pass on to libraries, of an array of this one.

        By way of the host, unless the library has such a function itself: see ``cupy.py``.
        """
        return self.from_numpy(function(self.to_numpy(x)))


def with_every_family(complete: Callable[[NodeTypes], None]) -> None:
    """Run ``complete(family)`` on every family: those that exist, and each new one when it is made."""
    COMPLETIONS.append(complete)
    for family in NODE_TYPES.values():
        complete(family)


def register(
    array_type: type, *, from_numpy: Callable[[Array], Array], to_numpy: Callable[[Array], Array]
) -> NodeTypes:
    """Let arrays of this type become nodes: ``af.Variable(array)`` is then a subclass of ``array_type``.

    from_numpy : makes an array of the type from a plain NumPy array (a seed, a start value, a random draw).
    to_numpy : the plain NumPy array with an array's numbers, for pictures, printing and files. A copy.

    Registering a type again only replaces the two functions. Raises DataError for a type without NumPy's protocols; for
    a ``from_numpy`` that gives something else; and for a type whose ``view(cls)`` does not give a ``cls`` (tested with
    an array that ``from_numpy`` makes).

    >>> import numpy as np, autoflow as af
    >>> class Logged(np.ndarray):
    ...     "An array type of another library."
    >>> family = af.backends.register(Logged, from_numpy=lambda a: a.view(Logged), to_numpy=np.array)
    >>> x = af.Variable(np.ones(2).view(Logged), name="x")
    >>> isinstance(x, Logged), isinstance(x, af.Variable)
    (True, True)
    >>> del af.backends.NODE_TYPES[Logged]
    >>> af.backends.families_changed()
    """
    missing = [name for name in ("view", "__array_ufunc__", "__array_function__") if not hasattr(array_type, name)]
    if missing:
        raise DataError(
            f"{array_type.__module__}.{array_type.__name__} has no {', '.join(missing)}: nodes are made by "
            f"array.view(cls), and rules call NumPy's functions, which must find the array's library"
        )
    if array_type not in NODE_TYPES:
        trial = from_numpy(np.zeros(1))
        if not isinstance(trial, array_type):
            raise DataError(
                f"from_numpy gives a {type(trial).__module__}.{type(trial).__name__}, not a "
                f"{array_type.__module__}.{array_type.__name__}: nodes of that type could not be made of it"
            )
        view_as(trial, type("Trial", (array_type,), {"__slots__": ()}))
    return join(array_type, from_numpy=from_numpy, to_numpy=to_numpy)


def join(array_type: type, *, from_numpy: Callable[[Array], Array], to_numpy: Callable[[Array], Array]) -> NodeTypes:
    """Register without checking the type: for a known library, whose device need not be there yet."""
    family = NODE_TYPES.get(array_type)
    if family is None:
        first = next(iter(NODE_TYPES.values()))  # NumPy's
        family = NodeTypes(array_type, first.roles, first.slots)
    family.from_numpy, family.to_numpy = from_numpy, to_numpy
    return family


def view_as(array: Array, cls: type) -> Array:
    """``array.view(cls)``, which must be a ``cls``: otherwise there would silently be no node."""
    try:
        node = array.view(cls)
    except Exception as error:
        raise cannot_view(array, f"raises {type(error).__name__}") from error
    if type(node) is not cls:
        raise cannot_view(array, f"gives a {type(node).__name__}")
    return node


def cannot_view(array: Array, what: str) -> DataError:
    """The error for an array type that cannot be the base of nodes."""
    kind = type(array)
    instead = ", or cut it: af.data_parallel takes Dask arrays as data" if kind.__module__.startswith("dask.") else ""
    return DataError(
        f"array.view(cls) of a {kind.__module__}.{kind.__name__} {what}, so there can be no nodes of it: it should "
        f"give an object of the class cls, on the same memory. Use NumPy arrays, or register a subclass that does "
        f"so{instead}"
    )


# First part of the module of an array type -> what registers it, given join(), when its first array is met.
KNOWN = {"cupy": lambda join: import_module(".cupy", __package__).make_family(join)}


def array_type(x: object) -> type | None:
    """The registered array type of ``x``, its class or a base of it; None if neither is registered."""
    return registered_type(type(x))


def registered_type(kind: type) -> type | None:
    """``kind`` or the first of its bases that is a registered array type; a known library is registered now."""
    for cls in kind.__mro__:
        if cls in NODE_TYPES:
            return cls
    register_library = KNOWN.pop(str(kind.__module__).partition(".")[0], None)
    if register_library is None:
        return None
    register_library(join)
    return registered_type(kind)


def family_of(x: object) -> NodeTypes | None:
    """The node classes for arrays like ``x``; None if the type of ``x`` is not registered."""
    kind = array_type(x)
    return None if kind is None else NODE_TYPES[kind]


def layer_of(x: object) -> BatchLayer | None:
    """The layer whose batch ``x`` hides, also if it is a node; None for other arrays."""
    return getattr(x, "batch_layer", None)


def on_host(x: Array) -> Array:
    """``x`` as a plain NumPy array: itself if it is one, else a copy brought over."""
    family = family_of(x)
    return x if family is None else family.to_numpy(x)
