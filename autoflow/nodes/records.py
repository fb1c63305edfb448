"""Records: how each Operation was made. The graph consists of them; arrays only point at them.

A record holds the row of the table, the records of the operands (a Variable is its own), the values that the
derivatives will read, and when it was made. It does not hold its array: an intermediate array whose value no
derivative reads is freed as soon as the user drops it. And it never changes when its array is written into: the
array gets another record, whose first operand is this one. So there are no cycles, and no other history changes.
``node.grad_fn`` is the node's record.

Before the records come scopes: names for parts of a computation, which pictures draw as boxes that fold. The path of
names is one more switch in :class:`~autoflow.base.modes.Modes`. While there is one, the fast path leaves recording to
``recording.make_node``, which writes the path into the record. Without scopes this costs nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias, overload

import numpy as np

from ..base.errors import LostGradientError
from ..base.lazy import later
from ..base.modes import Modes, modes, switched
from ..base.numbering import now
from ..base.types import F, T
from ..program.places import here
from ..table.table import Rule
from .versions import Array, ByName, FreedArray, Release, Values, writer_since

# ---------------------------------------------------------------- scopes: names for parts of a computation

Holder: TypeAlias = "Record | Any"  # a record, or a Variable, which is its own; None where nothing flows


class Scope(switched):
    """The result of :func:`scope`: a context manager and a decorator. An instance may be entered again."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __enter__(self) -> Scope:
        self.entered = self.name, now(), here(1)
        return super().__enter__()

    def changes_to(self, before: Modes) -> ByName:
        """One more name behind those outside."""
        return {"scope": (*before.scope, self.entered)}

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """``function`` in a box of that name."""
        entered = (*modes().scope, (self.name, now(), here(1)))
        return switched(scope=entered).call(function, *arguments, **options)

    def __call__(self, function: F) -> F:
        """As a decorator. Generators are refused: each of their pieces would be a box of its own."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__name__} is a generator: its body runs in pieces. Put af.scope into it, around what is "
                f"computed between two yields."
            )
        return super().__call__(function)


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


# ---------------------------------------------------------------- records


@dataclass(slots=True)
class Extras:
    """Fields that few records need besides their values. Never shared: :func:`extend` makes its own."""

    constants: dict[int, Array] = field(default_factory=dict)  # by operand: the leaf to show, where nothing flows to it
    fingerprints: Sequence[tuple[Array, bytes | None]] = ()  # of plain arrays that a derivative reads
    checksums: Sequence[tuple[Array, object]] = ()  # the same of all their bytes, under checkpointing
    hooks: dict[int, Callable[[Array], Array | None]] | None = None
    line: str | None = None  # where the user computed it
    scope: tuple[tuple[str, int, object], ...] = ()  # name, number of the entering, and where that was
    recompute_depth: int | None = None  # how many operations in a row keep no value, up to this one
    unfinished: str | None = None  # the line of a write that was cut short


def extend(record: Record, **changes: Any) -> None:
    """Set some of its extras, of this record alone."""
    record.extra = replace(record.extra or Extras(), **changes)


def ancestors(root: Holder, into: Callable[[Holder], bool] = lambda record: True) -> Iterator[Holder]:
    """A record and its ancestors, each once, the nearest first. ``into(record)``: whether to go on behind it."""
    seen, queue = {root}, [root]
    for record in queue:
        yield record
        for parent in record.parents if into(record) else ():
            if parent is not None and parent not in seen:
                seen.add(parent)
                queue.append(parent)


class Record:
    """How one value was made: ``rule(*operands, *options)``.

    Called with the gradient of its value, it returns the contribution to each operand, in operand order; None where
    none is needed. ``name`` is the name of the backward operation: ``multiply_backward``.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> f = (x * 2.0).grad_fn
    >>> f.name, f(1.0), f.operands[0] is x
    ('multiply_backward', (array(2.), None), True)
    """

    __slots__ = (
        "_name", "_raw_grad", "_shown_grad", "count", "extra", "last", "number", "parents", "place", "release", "rule",
        "saved",
    )  # fmt: skip
    rule: Rule
    parents: tuple[Holder, ...]  # per operand
    release: Release  # of one record in about a hundred, so that deep graphs are freed with little stack
    saved: Values  # operands, options, result: arrays, or FreedArrays of what no derivative reads
    number: int  # creation number
    count: int  # running number of the name
    place: Any  # the activation of the user's function that made it, see program/places.py; unset without source
    last: int  # and its instruction
    _name: str | None
    _raw_grad: Array | None
    _shown_grad: Array | None
    extra: Extras | None  # what few records need

    @property
    def name(self) -> str:
        """The name of the backward operation."""
        return f"{self.rule.name}_backward"

    def __call__(self, g: Array) -> tuple[Array | None, ...]:
        """The contribution to each operand, given ``g``, the gradient of this value; recorded if g is a node."""
        return later("send")(self, g)

    @property
    def node_name(self) -> str:
        """The name of the node: ``multiply_0``, or what it was set to."""
        return getattr(self, "_name", None) or f"{self.rule.name}_{self.count}"

    @property
    def values(self) -> Values:
        """The kept operands: arrays and numbers, or a FreedArray for what no derivative reads."""
        return self.saved[: len(self.parents)]

    @property
    def result(self) -> Array:
        """The kept value: an array, a number, or a FreedArray."""
        return self.saved[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.result.shape

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the value, and of its gradient."""
        return self.result.dtype

    @property
    def value(self) -> Array | None:
        """The value, if it is still in memory and unchanged; else None."""
        value = self.result
        if type(value) is FreedArray:
            value = value.reference()
        if isinstance(value, np.generic):  # of a 0-d operation: see forward/closures.py
            return np.asarray(value)
        return None if value is None or writer_since(value, self.number) else value

    @property
    def operands(self) -> Values:
        """The operands of the value: records, Variables, Constants, plain numbers and arrays."""
        constants = self.extra.constants if self.extra is not None else {}
        # A younger one only wraps a plain operand, because node.operands has been read since.
        constants = {k: constant for k, constant in constants.items() if constant.number < self.number}
        return tuple([p if p is not None else constants.get(k, self.saved[k]) for k, p in enumerate(self.parents)])

    @property
    def options(self) -> ByName:
        """The other arguments by name: ``{"axis": 0, ...}``."""
        n = self.rule.operands
        return dict(zip(self.rule.names[n:], self.saved[n:-1], strict=True))

    @property
    def scope(self) -> tuple[str, ...]:
        """The named blocks in which it was made, the outermost first: ``("encoder", "layer")``. See ``af.scope``."""
        return tuple([name for name, _ in self.entered])

    @property
    def entered(self) -> tuple[tuple[str, int], ...]:
        """The same, each with the number of the entering: a block that is entered twice is two boxes in a picture."""
        return tuple([(name, number) for name, number, _ in self.extra.scope]) if self.extra is not None else ()

    def __repr__(self) -> str:
        return f"<{self.name} of {self.node_name}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is part of a graph, which is not pickled: pickle the node, whose numbers are")


def needs_grad(record: Record) -> tuple[bool, ...]:
    """For each operand, whether a gradient flows to it."""
    return tuple([p is not None for p in record.parents])


def from_outside(root: Holder, start: int, own: Container[Holder] = ()) -> Holder:
    """The nearest ancestor of a record that is older than the number ``start``, and none of ``own``; None without."""
    holders = ancestors(root, lambda r: r.number >= start and r not in own) if root is not None else ()
    return next((r for r in holders if r.number < start and r not in own), None)


def refuse_older(records: Iterable[Holder], start: int) -> None:
    """Raise LostGradientError if what is differentiated in a user's function of plain arrays, which began at ``start``,
    depends on an older node: the transform takes that for a constant."""
    for record in records:
        if (ancestor := from_outside(record, start)) is not None:
            name = holder_name(ancestor)
            raise LostGradientError(
                f"what is differentiated here uses {name}, a node for which it is not differentiated, so no gradient "
                f"would come back to it: make it one of the arguments of argnum= (of af.implicit and solvers, theta or "
                f"args), or use its numbers, {name}.value, if it is a constant, or af.no_grad() around the call"
            )


def holder_name(holder: Holder) -> str:
    """The name of the node that a Variable or a record stands for."""
    return str(getattr(holder, "node_name", None) or holder.name)
