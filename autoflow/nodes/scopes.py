"""Scopes: names for parts of a computation, which pictures draw as boxes that fold.

The path of names is one more switch in :class:`~autoflow.modes.Modes`. While there is one, the fast path leaves
recording to ``recording.make_node``, which writes the path into the record. Without scopes this costs nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from ..modes import modes, switched
from ..numbering import now

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Scope(switched):
    """What :func:`scope` makes: a context manager and a decorator. An instance may be entered again."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __enter__(self) -> Scope:
        self.changes = {"scope": (*modes().scope, (self.name, now()))}
        super().__enter__()
        return self

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """``function`` in a box of that name."""
        return switched(scope=(*modes().scope, (self.name, now()))).call(function, *arguments, **options)

    def __call__(self, function: F) -> F:
        """As a decorator. Generators are refused: each of their pieces would be a box of its own."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__name__} is a generator: its body runs in pieces. Put af.scope into it, around what is "
                f"computed between two yields."
            )
        return super().__call__(function)

    def again(self) -> Scope:
        """A new one of the same name."""
        return Scope(self.name)


@overload
def scope(name: str) -> Scope: ...
@overload
def scope(name: F) -> F: ...
def scope(name: Any) -> Any:
    """Name a part of a computation: the picture shows its operations in one box, which folds.

    ``with af.scope("hidden"):``, or as a decorator ``@af.scope("hidden")``; ``@af.scope`` takes the function's name.
    Scopes can be nested. Entering a name again makes another box; a picture folds equal boxes into one.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> with scope("model"), scope("square"):
    ...     y = x * x
    >>> y.grad_fn.scope
    ('model', 'square')
    >>> @scope
    ... def cube(x):
    ...     return x**3
    >>> cube(x).grad_fn.scope
    ('cube',)

    Raises TypeError for a name that is not a string.
    """
    if isinstance(name, str):
        return Scope(name)
    if callable(name):
        return Scope(getattr(name, "__name__", type(name).__name__))(name)
    raise TypeError(f'a scope has a name, a text, not {type(name).__name__} {name!r:.40}: af.scope("hidden")')
