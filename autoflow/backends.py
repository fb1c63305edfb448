"""Array types. A node *is* an array of its library, so there is one set of classes per array type.

``numpy.ndarray`` gets its set when autoflow is imported; any other type when its first array is met or when it is
registered. Nothing is imported on CuPy's behalf: whoever holds a CuPy array has imported CuPy already.
"""

from __future__ import annotations

from typing import Any

FAMILIES: dict[type, Family] = {}  # array type -> its node classes


class Kind(type):
    """Class of the node classes: ``isinstance(x, af.Variable)`` is true for Variables of every array type.

    The hot path never asks; it compares exact types.
    """

    def __instancecheck__(cls, x: object) -> bool:
        role = cls.__dict__.get("role")
        return issubclass(type(x), role) if role else type.__instancecheck__(cls, x)


class Family:
    """The node classes on top of one array type: Node, Variable, Constant, Operation, View."""

    Node: Any
    Variable: Any
    Constant: Any
    Operation: Any
    View: Any

    def __init__(self, array_type: type, roles: dict[str, type], slots: tuple[str, ...]) -> None:
        """``roles``: by name the classes that hold the methods, the one that all share first."""
        self.array_type = array_type
        made: dict[type, Any] = {}
        for name, role in roles.items():
            bases = [made[base] for base in role.__bases__ if base in made] or [array_type]
            made[role] = Kind(name, (role, *bases), {
                "__slots__": () if made else slots, "__module__": role.__module__, "__doc__": role.__doc__,
                "__qualname__": name, "role": role, "family": self,
            })  # fmt: skip
            setattr(self, name, made[role])
        FAMILIES[array_type] = self


def array_type(x: Any) -> type | None:
    """The registered array type of ``x``, its class or a base of it; None if there is none."""
    for cls in type(x).__mro__:
        if cls in FAMILIES:
            return cls
    return None
