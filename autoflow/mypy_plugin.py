"""For mypy: NumPy's functions of nodes give nodes. NumPy's own stubs say ``floating`` or ``ndarray``.

In the settings of mypy, ``plugins = autoflow.mypy_plugin``; autoflow must be installed where mypy is. What a function
gives is looked up in the table of rules, so no function is named here. (pyright and editors have no plugins.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .base.lazy import NODE
from .rules import RULES
from .table.table import COMPOSED

Hook = Callable[[Any], Any]


def has_row(path: str) -> bool:
    """Does ``numpy._core.fromnumeric.mean``, which is ``np.mean``, give a node for a node?"""
    *rooms, name = path.split(".")
    module: Any = np.linalg if "linalg" in rooms else np.fft if "fft" in rooms else np
    function = getattr(module, name, None)
    return function in RULES or function in COMPOSED


def plugin(version: str) -> type:
    """What mypy calls. (So that nothing else here needs mypy.)"""
    from mypy.plugin import Plugin
    from mypy.types import AnyType, Instance, LiteralType, TupleType, get_proper_type

    def nodes_in(kind: Any) -> Iterator[Any]:
        """Node, for each class in a type that is one: of ``tuple[Variable, int]`` once."""
        kind = get_proper_type(kind)
        if isinstance(kind, Instance):
            yield from [Instance(base, []) for base in kind.type.mro if base.fullname == NODE]
        for inner in kind.items if isinstance(kind, TupleType) else getattr(kind, "args", ()):
            yield from nodes_in(inner)

    def of_function(call: Any) -> Any:
        """The type of a call of a function with a row."""
        z = get_proper_type(call.default_return_type)
        numeric = isinstance(z, Instance) and (z.type.has_base("numpy.ndarray") or z.type.has_base("numpy.generic"))
        if numeric or isinstance(z, AnyType):
            nodes = [node for kinds in call.arg_types for kind in kinds for node in nodes_in(kind)]
            return nodes[0] if nodes else z
        return z

    def of_ufunc(call: Any) -> Any:
        """The same for ufuncs, whose name is a parameter of their class."""
        kind = get_proper_type(call.type)
        name = get_proper_type(kind.args[0]) if isinstance(kind, Instance) and kind.args else None
        return of_function(call) if isinstance(name, LiteralType) and has_row(name.value) else call.default_return_type

    class NodePlugin(Plugin):  # type: ignore[misc]
        """The hooks."""

        def get_function_hook(self, fullname: str) -> Hook | None:
            return of_function if fullname.startswith("numpy.") and has_row(fullname) else None

        def get_method_hook(self, fullname: str) -> Hook | None:
            return of_ufunc if fullname.startswith("numpy._typing._ufunc.") else None

    return NodePlugin
