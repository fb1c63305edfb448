"""``af.options``: the switches of :class:`~autoflow.modes.Modes` that a user may change, by name and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from .lazy import later
from .modes import MODES, Modes, modes, switched

F = TypeVar("F", bound=Callable[..., Any])
PRESETS = {"default": {"strict": False, "anomaly": False}, "classroom": {"strict": True, "anomaly": True}}
LOOK = "autoflow.backprop.anomaly:check_operation"  # the listener of af.detect_anomaly()
PUBLIC = ("keep", "digits", "strict", "theme", "static", "tables", "max_bytes")


class preset(switched):  # noqa: N801 - used like a function
    """``af.options(preset="classroom")``: several switches at once; with ``with`` until the end of the block."""

    def __init__(self, name: str, **changes: Any) -> None:
        if name not in PRESETS:
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
        super().__init__(**changes)
        self.name, self.before = name, modes()
        MODES.set(replace(self.before, **self.changes_to(self.before)))

    def changes_to(self, before: Modes) -> dict[str, Any]:
        """The preset, and what was given beside it."""
        look = later(LOOK)
        others = tuple([listener for listener in before.listeners if listener is not look])
        listeners = (*others, look) if PRESETS[self.name]["anomaly"] else others
        return {**PRESETS[self.name], "listeners": listeners, **self.changes}

    def __enter__(self) -> preset:
        MODES.set(self.before)
        super().__enter__()
        return self

    def again(self) -> preset:
        """The same once more."""
        made = preset(self.name, **self.changes)
        MODES.set(made.before)
        return made

    def __call__(self, function: F) -> F:
        """As a decorator, which leaves the caller's modes alone."""
        MODES.set(self.before)
        return super().__call__(function)


class Options:
    """The settings that a user may change: as attributes, or for a block with ``with af.options(keep=0):``.

    They hold in the current thread or task. ``keep``: values and intermediate gradients of at most that many
    elements stay with the graph (4096). ``digits``: significant digits in pictures. ``strict``: refuse numbers that
    leave the graph, except for ``float(node)`` and printing; and transforms such as ``af.grad`` run f twice, and refuse
    numbers that NumPy has read without asking the node. ``theme``: "auto", "light", "dark". ``static``: pictures
    without scripts. ``tables``: a table below each picture. ``max_bytes``: larger Jacobians are refused (2**30, 1 GiB).

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

    if TYPE_CHECKING:
        keep: int
        digits: int
        strict: bool
        theme: str
        static: bool
        tables: bool
        max_bytes: int
        preset: str
    else:  # to checkers every name would be one

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

    def __call__(self, **changes: Any) -> switched:
        """Change some of them for a block. With ``preset`` they hold at once, and with ``with`` for the block."""
        name = changes.pop("preset", None)
        checked = {name: _check_value(name, value) for name, value in changes.items()}
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
    if type(value) is not kind or (name == "theme" and value not in ("auto", "light", "dark")):
        words = "one of 'auto', 'light', 'dark'" if name == "theme" else f"of type {kind.__name__}"
        raise TypeError(f"af.options.{name} must be {words}, not {value!r}")
    if kind is int and value < 0:
        raise ValueError(f"af.options.{name} is a number of things, so it cannot be {value}")
    return value


options = Options()
