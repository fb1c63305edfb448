"""Lists with nodes in place of arrays: in which arguments they become arrays of nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .shapes import has_gradient, join_list


class Lists:
    """What lists and tuples with nodes in them become in a call of a composed function: arrays of nodes.

    Python makes it easy to write ``np.append(x, [y, z])``, and ``np.asarray([y, z])`` would take the numbers.
    """

    def __init__(self, function: Callable[..., Any], sequences: list[str], untouched: list[str]) -> None:
        parameters = inspect.signature(function).parameters.values()
        kinds = {p.name: 2 if p.name in untouched else 1 if p.name in sequences else 0 for p in parameters}
        if wrong := {*sequences, *untouched} - set(kinds):
            raise ValueError(f"{function.__name__} has no argument {', '.join(sorted(wrong))}")
        self.positional = [kinds[p.name] for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
        self.named = kinds
        self.unnamed = next((kinds[p.name] for p in parameters if p.kind is p.VAR_KEYWORD), 0)

    def in_call(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with arrays in place of lists.

        >>> import autoflow as af
        >>> x = af.Variable(2.0)
        >>> Lists(lambda arr, values: None, [], []).in_call(([1.0, 3.0], [x, x]), {})[0]
        ([1.0, 3.0], [2., 2.]  Operation stack_0 = stack(var_0, var_0))
        """
        for k, x in enumerate(args):
            if type(x) is list or type(x) is tuple:
                kind = self.positional[k] if k < len(self.positional) else self.positional[-1]  # *args stands last
                args = (*args[:k], self.arranged(x, kind), *args[k + 1 :])
        for name, x in options.items():
            if type(x) is list or type(x) is tuple:
                options = {**options, name: self.arranged(x, self.named.get(name, self.unnamed))}
        return args, options

    @staticmethod
    def arranged(x: Any, kind: int) -> Any:
        """A list, or an array in its place; kind 1: in place of its parts; kind 2: as it is."""
        if kind == 0:
            return join_list(x) if has_gradient(x) else x
        if kind == 1 and any([type(v) is list or type(v) is tuple for v in x]):
            return type(x)([join_list(v) if type(v) in (list, tuple) and has_gradient(v) else v for v in x])
        return x


def first_node(x: Any) -> Any:
    """The first node with a gradient in nested lists."""
    while isinstance(x, (list, tuple)):
        x = next(part for part in x if has_gradient(part))
    return x
