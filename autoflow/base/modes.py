"""Switches: is the graph being recorded, how much of it is kept, how deep in transforms are we? And ``af.options``.

All of them live in one context variable that holds one frozen :class:`Modes`. So they are per thread and per task,
nest, survive exceptions, and cost every operation a single read (about 15 ns). First come the switches and the ways to
change them for a block (``no_grad`` and its like), then those that a user may change by name, each value checked.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

from .lazy import later
from .numbering import now
from .process import Lock, finally_
from .transformed import FunctionOfFunction
from .types import AnyFunction, Array, BatchLayer, ByName, DTypeLike, F, T

# ---------------------------------------------------------------- switches: one frozen Modes, and how it is changed


WATCHED = ("scipy", "sklearn", "statsmodels", "numpy.polynomial")
Listeners: TypeAlias = tuple[Callable[[Any], None], ...]
Blocks: TypeAlias = "tuple[tuple[switched, Modes], ...]"
# Arrays of ``array += node``, whatever blocks are left meanwhile: see nodes/rebinding.py.
LEFT: list[tuple[Callable[[], Any], str, int, Callable[[], object] | None]] = []
TRUE, OTHER, TAKEN = 1, 7, 31  # of ``shadow``: see ``nodes/nodes.py:shadow_of``; the last one also for ``float(x)``


@dataclass(frozen=True)
class Modes:
    """Every switch. ``af.options`` shows the public ones to users: :class:`Options`."""

    recording: bool = True  # do operations on Variables record how they were made?
    depth: int = 0  # how many transforms (grad in grad) are running around us
    keep: int = 4096  # values and gradients of at most this many elements stay with the graph
    digits: int = 4  # significant digits in pictures
    strict: bool = False  # refuse numbers that leave the graph
    prove: str = "first"  # when are functions run once more, to find numbers that were read past us?
    theme: str = "auto"  # of pictures: auto, light or dark
    static: bool = False  # pictures as images only, for places that run no scripts
    tables: bool = False  # then also the numbers of each picture as a table below it
    max_bytes: int = 2**30  # larger Jacobians are refused
    watched: tuple[str, ...] = WATCHED  # packages; see transforms/monitoring.py
    threads: int = 0  # how many compute large arrays; 0: see table/blocks.py
    source: bool = True  # do records know where in the program they were made? See program/places.py
    scope: tuple[tuple[str, int, object], ...] = ()  # the named blocks around us: name, number of the entering, place
    listeners: Listeners = ()  # called with every operation that is recorded
    events: Callable[[str, object, Any], None] | None = None  # called with what happens in training, see announce
    left: bool = False  # does LEFT hold something that has not been reported yet?
    anomaly: bool = False  # look for NaN and infinity, forward (by a listener) and backward
    safe_masking: bool = False  # in backward passes 0 · inf = 0, see backprop/anomaly.py
    # In the second run of a checkpointed function the number before it, in a part of the data -1. Statistics stay then.
    repeating: int = 0
    shadow: int = 0  # what do nodes show to those who read their memory past us? See transforms/shadow.py
    # In one run of a proof, by the ids of who owns memory and of what nodes show of it: the array of numbers there, and
    # what is shown.
    shown: dict[int, dict[int, Any]] = field(default_factory=dict, compare=False, repr=False)
    autocast: DTypeLike = None  # the dtype in which products are computed, see forward/mixed_precision.py
    wrap_open_record: Any = None  # around ``open_record`` of backward passes: by af.compile and af.vmap
    apart: int = 0  # in a user's function of plain arrays: the number at its start; older nodes are from outside
    layer: BatchLayer | None = None  # the innermost af.vmap that is running, see batching/batched.py
    own_memory: Callable[[Array], Array] | None = None  # makes an array to be filled: by af.compile and af.vmap
    blocks: Blocks = field(default=(), compare=False, repr=False)  # open: (block, modes before it)
    fast_path_limit: int = field(init=False)  # up to that size the fast path may record by itself; -1 where it may not
    is_looked_at: bool = field(init=False)  # does somebody ask where operations were made?
    deeper: Modes | None = field(init=False, compare=False, repr=False)  # those of the last transform in here

    def __post_init__(self) -> None:
        is_plain = self.recording and not (self.scope or self.listeners or self.shadow or self.left)
        looks = self.strict or self.anomaly or self.shadow or self.wrap_open_record is not None
        limit = min(self.keep, 65_536) if is_plain else -1
        vars(self).update(fast_path_limit=limit, is_looked_at=bool(looks), deeper=None)


SWITCHES = {f.name for f in fields(Modes) if f.init}


def replace(before: Modes, **changes: object) -> Modes:
    """A copy with other switches: ``dataclasses.replace`` in a fifth of its 4 µs, which each transform waits for."""
    if not changes.keys() <= SWITCHES:
        raise TypeError(f"there is no switch {min(changes.keys() - SWITCHES)!r}")
    copied: Modes = object.__new__(Modes)
    vars(copied).update(vars(before), **changes)
    copied.__post_init__()
    return copied


DEFAULT = Modes()  # what threads begin with
CHANGING = Lock()  # held while it changes
MODES: ContextVar[Modes] = ContextVar("autoflow_modes", default=DEFAULT)
modes = MODES.get


@contextmanager
def switched_elsewhere(shadow: int, shown: Any, listeners: Listeners) -> Iterator[None]:
    """In the block, threads without switches of their own have these, with more listeners; this one has its own."""

    def change(shadow: int, shown: Any, add: Listeners, drop: Listeners) -> None:
        with CHANGING:
            listeners = tuple([x for x in (*DEFAULT.listeners, *add) if x not in drop])
            vars(DEFAULT).update(shadow=shadow, shown=shown, listeners=listeners)
            DEFAULT.__post_init__()

    with finally_(change, 0, {}, (), listeners):
        change(shadow, shown, listeners, ())
        yield


def announce(event: str, who: object, variables: Iterable[object]) -> None:
    """Tell the doctor, if it watches, what has happened to Variables: backward, clip, step or clear."""
    if (listener := modes().events) is not None:
        listener(event, who, variables)


class switched:  # noqa: N801 - used like a function
    """``with switched(recording=False):`` changes some switches for the block, and only there.

    An instance may be entered again, also inside itself.
    """

    place: tuple[Any, int] = (None, -1)  # code and instruction of the user's that has made it, as far as it is noted

    def __init__(self, **changes: object) -> None:
        self.changes = changes

    def __getstate__(self) -> ByName:
        """The state for copies and pickles, without the place of creation, which means nothing elsewhere."""
        return {name: value for name, value in vars(self).items() if name != "place"}

    def __enter__(self) -> Self:
        before = modes()
        try:
            MODES.set(self.inside(before))
        except BaseException:  # Ctrl-C
            MODES.set(before)
            raise
        return self

    def inside(self, before: Modes) -> Modes:
        """The modes of the block, given those outside."""
        return replace(before, blocks=(*before.blocks, (self, before)), **self.changes_to(before))

    def __exit__(self, *exception: object) -> None:
        blocks = modes().blocks
        if blocks and blocks[-1][0] is self:
            MODES.set(blocks[-1][1])
        else:
            self.close_between(blocks)
        if LEFT:
            MODES.set(replace(modes(), left=True))

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """``function`` with these switches. Unlike a with statement, which Ctrl-C may hit on its way into
        ``__exit__``, it leaves none of them switched: no signal is handled between the block and the call in C that
        restores."""
        before = modes()
        blocks = (*before.blocks, (self, before)) if self.place[0] is not None else before.blocks
        try:
            MODES.set(replace(before, blocks=blocks, **self.changes_to(before)))
            return function(*arguments, **options)
        finally:
            MODES.set(before)
            if LEFT:
                MODES.set(replace(before, left=True))

    def close_between(self, blocks: Blocks) -> None:
        """Leave a block in which others were entered that are still open, as generators that take turns do: undo its
        changes, and theirs stay. A block that was entered elsewhere (another thread or task) changes nothing here."""
        place = next((k for k in reversed(range(len(blocks))) if blocks[k][0] is self), None)
        if place is None:
            return
        now = blocks[place][1]
        for block, _ in blocks[place + 1 :]:
            now = block.inside(now)
        MODES.set(now)

    def changes_to(self, before: Modes) -> ByName:
        """The switches that change inside the block, given those outside."""
        return self.changes

    def again(self) -> switched:
        """A new block of the same kind, for each call of a decorated function."""
        return copy.copy(self)

    def __call__(self, function: F) -> F:
        """As a decorator: the switches hold inside ``function``; of a generator in its body, and not where it is used.

        (A with statement with a yield in it cannot do that: Python leaves it open while the caller goes on.)
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return in_pieces(self, function)  # type: ignore[return-value]
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaiting(*args: Any, **options: Any) -> Any:
                with self.again():
                    return await function(*args, **options)

            return awaiting  # type: ignore[return-value]

        return SwitchedFunction(function, {"block": self})  # type: ignore[return-value]


class transforming(switched):  # noqa: N801 - used like a function
    """The block in which a transform calls its function: recorded, one level deeper.

    What is outside remembers what is inside, as most transforms begin from the same switches: to make them anew is a
    sixth of ``af.grad`` of three operations. (What layers and listeners hold would live too long; and the switches
    that threads begin with may change: see ``switched_elsewhere``.) There is one such block, ``TRANSFORMING``.
    """

    def inside(self, before: Modes) -> Modes:
        """What is remembered, or made."""
        known = before.deeper
        if known is None or known.shown is not before.shown or known.listeners != before.listeners:
            known = super().inside(before)
            if not (before.layer or before.listeners or before.events or before.wrap_open_record or before.own_memory):
                vars(before)["deeper"] = known
        return known

    def changes_to(self, before: Modes) -> ByName:
        """One level more. Places are for those who look: later calls of a transform do without."""
        return {"recording": True, "depth": before.depth + 1, "source": before.source and before.is_looked_at}


class apart(switched):  # noqa: N801 - used like a function
    """The block in which a user's function gets plain arrays: transforms around it are not its own, so those inside
    return plain arrays, and refuse nodes from outside, which would get no gradient."""

    def changes_to(self, before: Modes) -> ByName:
        """Older nodes are from outside from now on."""
        return {"depth": 0, "apart": now() if before.recording else 0}


class SwitchedFunction(FunctionOfFunction):
    """A function in which the switches hold."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The function's arguments."""
        return self.how["block"].call(self.f, *args, **options)


def in_pieces(block: switched, function: AnyFunction) -> AnyFunction:
    """A generator function in whose body the switches hold, from each step to the next yield."""

    @functools.wraps(function)
    def generating(*args: Any, **options: Any) -> Any:
        body = function(*args, **options)
        step, sent = body.send, None
        while True:
            with block.again():
                try:
                    piece = step(sent)
                except StopIteration as stop:
                    return stop.value
            try:
                step, sent = body.send, (yield piece)
            except BaseException as error:
                step, sent = body.throw, error

    @functools.wraps(function)
    async def generating_async(*args: Any, **options: Any) -> Any:
        body = function(*args, **options)
        step, sent = body.asend, None
        while True:
            with block.again():
                try:
                    piece = await step(sent)
                except StopAsyncIteration:
                    return
            try:
                step, sent = body.asend, (yield piece)
            except BaseException as error:
                step, sent = body.athrow, error

    return generating_async if inspect.isasyncgenfunction(function) else generating


def calling_instruction() -> tuple[Any, int]:
    """The code and the instruction that called the calling function."""
    frame = sys._getframe(2)
    return frame.f_code, frame.f_lasti


@overload
def no_grad(function: None = None) -> switched: ...
@overload
def no_grad(function: F) -> F: ...
def no_grad(function: Any = None) -> Any:
    """Record nothing: every result is a Constant, and Variables may be written in place.

    A context manager and a decorator, with or without parentheses. For generators use the decorator: a ``with`` that is
    open at a ``yield`` holds for the caller, too, until the generator continues.

    >>> import autoflow as af
    >>> w = af.Variable([1.0, 2.0], name="w")
    >>> with af.no_grad():
    ...     w -= 0.5
    >>> w
    [0.5, 1.5]  Variable w
    """
    block = switched(recording=False)
    block.place = calling_instruction()
    return block if function is None else block(function)


@overload
def enable_grad(function: None = None) -> switched: ...
@overload
def enable_grad(function: F) -> F: ...
def enable_grad(function: Any = None) -> Any:
    """Record again inside a ``no_grad`` block. Used like :func:`no_grad`.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> with af.no_grad(), af.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """
    return switched(recording=True) if function is None else switched(recording=True)(function)


class listening(switched):  # noqa: N801 - used like a function
    """``with listening(f):`` calls ``f(node)`` for every operation that is recorded in the block."""

    def __init__(self, listener: Callable[[Any], None], **changes: object) -> None:
        super().__init__(**changes)
        self.listener = listener

    def changes_to(self, before: Modes) -> ByName:
        """Add one listener."""
        return {"listeners": (*before.listeners, self.listener), **self.changes}


class switched_at_once(switched):  # noqa: N801 - as the others
    """Switches that change at once, and until the end of the block if used with ``with``; a decorator leaves the
    caller's alone."""

    def __init__(self, **changes: object) -> None:
        super().__init__(**changes)
        new = self.changes_to(modes())
        self.outside = {name: getattr(modes(), name) for name in new}
        MODES.set(replace(modes(), **new))

    def __enter__(self) -> Self:
        MODES.set(replace(modes(), **self.outside))
        return super().__enter__()

    def __call__(self, function: F) -> F:
        """As a decorator."""
        MODES.set(replace(modes(), **self.outside))
        return super().__call__(function)

    def again(self) -> switched:
        """For each call of a decorated function: what holds outside is that of its caller."""
        return switched(**self.changes_to(modes()))


class set_grad_enabled(switched_at_once):  # noqa: N801 - PyTorch's name
    """Turn recording on or off: at once, and until the end of the block if used with ``with``.

    >>> import autoflow as af
    >>> with af.set_grad_enabled(False):
    ...     af.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(recording=bool(mode))
        self.place = calling_instruction()


def is_grad_enabled() -> bool:
    """Are operations being recorded at this point?

    >>> import autoflow as af
    >>> af.is_grad_enabled()
    True
    """
    return modes().recording


# ---------------------------------------------------------------- af.options: the switches that a user may change


PRESETS = {"default": {"strict": False, "anomaly": False, "prove": "first", "watched": WATCHED},
           "classroom": {"strict": True, "anomaly": True, "prove": "always", "watched": WATCHED}}  # fmt: skip
CHOICES = {"theme": ("auto", "light", "dark"), "prove": ("first", "always", "never")}
# Option -> the arguments of its listeners: the new value; does it also hold outside a block?
CHANGED: dict[str, Callable[[Any, bool], None]] = {}
# What looks at a user's function that gets plain arrays, after a call: transforms/shadow.py.
CAPTURED: list[Callable[..., None]] = []


def tell(changes: ByName, outside: bool) -> None:
    """Call the listeners in :data:`CHANGED` for these options."""
    for name in CHANGED.keys() & changes:
        CHANGED[name](changes[name], outside)


class preset(switched_at_once):  # noqa: N801 - used like a function
    """``af.options(preset="classroom")``: several switches at once; with ``with`` until the end of the block."""

    def __init__(self, name: str, **changes: object) -> None:
        if name not in PRESETS:
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
        self.name = name
        tell({**PRESETS[name], **changes}, False)
        super().__init__(**changes)

    def changes_to(self, before: Modes) -> ByName:
        """The preset, and the options given besides it."""
        look = later("check_operation")  # the listener of af.detect_anomaly()
        others = tuple([listener for listener in before.listeners if listener is not look])
        listeners = (*others, look) if PRESETS[self.name]["anomaly"] else others
        return {**PRESETS[self.name], "listeners": listeners, **self.changes}


class Options:
    """The settings that a user may change: as attributes, or for a block with ``with af.options(keep=0):``.

    They hold in the current thread or task. ``keep``: values and intermediate gradients of at most this many
    elements stay with the graph (4096). ``digits``: significant digits in pictures. ``strict``: refuse numbers that
    leave the graph, except for ``float(node)`` and printing. ``prove``: when transforms such as ``af.grad`` run f once
    more, and refuse numbers that were read without asking the node: "first" (the default: for each new function and
    shape of its arguments), "always" (as under ``strict``), or "never". ``theme``: "auto", "light", "dark".
    ``static``: pictures without scripts. ``tables``: a table below each picture. ``max_bytes``: larger Jacobians are
    refused (2**30, 1 GiB). ``watched``: packages whose functions may not lose a gradient (on Python 3.12 and newer).
    ``threads``: how many threads compute arrays of 200,000 elements and more (0: one for each core).
    ``source``: operations remember where in the program they were made, which pictures and messages tell (True).

    ``preset`` sets several. "classroom": strict, and every value and gradient is checked, so that the first NaN or
    infinity is an error that names its line (``af.detect_anomaly()``); slower, for learning. "default" is what
    ``import autoflow`` begins with. Called with a preset, ``af.options(preset="classroom")`` holds at once, and with
    ``with`` until the end of the block.

    >>> import autoflow as af
    >>> with af.options(digits=6):
    ...     af.options.digits
    6
    >>> with af.options(preset="classroom"):
    ...     af.options.preset, af.options.strict
    ('classroom', True)
    """

    keep: int
    digits: int
    strict: bool
    prove: str
    theme: str
    static: bool
    tables: bool
    max_bytes: int
    watched: tuple[str, ...]
    threads: int
    source: bool
    preset: str

    if not TYPE_CHECKING:  # to checkers every name would be one

        def __getattr__(self, name: str) -> Any:
            if name == "preset":
                return "classroom" if modes().strict and modes().anomaly else "default"
            _check_name(name)
            return getattr(modes(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "preset":
            preset(value)
        else:
            MODES.set(replace(modes(), **{name: _check_value(name, value)}))
            tell({name: value}, True)

    def __call__(self, **changes: Any) -> switched:
        """Change some of them for a block. With ``preset`` they hold at once, and with ``with`` for the block."""
        name = changes.pop("preset", None)
        checked = {name: _check_value(name, value) for name, value in changes.items()}
        tell(checked, False)
        return switched(**checked) if name is None else preset(name, **checked)

    def __dir__(self) -> tuple[str, ...]:
        return (*PUBLIC, "preset")

    def __repr__(self) -> str:
        return "options(" + ", ".join(f"{name}={getattr(modes(), name)!r}" for name in PUBLIC) + ")"


def _check_name(name: str) -> None:
    if name not in PUBLIC:
        raise AttributeError(f"there is no option {name!r}; the options are {', '.join(PUBLIC)}")


def _check_value(name: str, value: Any) -> Any:
    """``value`` if an option of that name may have it."""
    _check_name(name)
    kind: Any = {field.name: type(field.default) for field in fields(Modes)}[name]
    choice = CHOICES.get(name)
    if type(value) is not kind or (choice and value not in choice):
        words = f"one of {str(choice)[1:-1]}" if choice else f"of type {kind.__name__}"
        raise TypeError(f"af.options.{name} must be {words}, not {value!r}")
    if kind is tuple and not all([type(v) is str for v in value]):
        raise TypeError(f"af.options.{name} must be a tuple of names, not {value!r}")
    if kind is int and value < 0:
        raise ValueError(f"af.options.{name} is a number of things, so it cannot be {value}")
    return value


PUBLIC = tuple(Options.__annotations__)[:-1]  # without preset
options = Options()
