"""Doubts: the events that end a recording, so that the function runs eagerly instead.

A recording holds for all calls of a signature if nothing in it depended on numbers. So whatever our methods raise while
a function is recorded is a doubt: a question about values (``if x > 0``), and also a NumPy exception, which other
numbers would not raise. The function must not see it, or it would continue in its ``except``, and that branch would be
recorded. Therefore a doubt is a BaseException, and leaves a mark on the tape before anything else is done: not even
``except:`` hides it. The end of the recording sees the mark, and ``compiled.py`` calls the function.

The same holds for everything that decides whether NumPy raises, warns or is silent: an ``np.errstate`` in the function
that raises, or ``warnings.catch_warnings``. Silence is not a doubt: a program computes silently.
"""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from ...backprop.snapshots import others_run
from ...base.errors import CompileError
from ...forward import array_methods, dispatch
from ...program.callers import caller
from ..run.buffers import callers_state

SETTINGS = (
    "{} {}, and whether NumPy raises an error or warns depends on values: take that part out of the compiled function, "
    "or say af.compile(f, fallback=True)."
)


class Abandoned(BaseException):
    """Ends a recording. ``Tape.reason`` says why."""


class Reporting:
    """How NumPy and Python report when a recording begins. The function may change it only to silence them."""

    def __init__(self, named: Set[str]) -> None:
        """``named``: all names in the function's code, and in that of its functions."""
        self.named = named
        self.state, self.errors, self.handler = callers_state(), np.geterr(), np.geterrcall()
        self.filters, self.listed = warnings.filters, [*warnings.filters]
        self.hook = getattr(warnings, "_showwarnmsg_impl", None)  # which catch_warnings(record=True) replaces

    def check(self) -> None:
        """Raise CompileError if the settings report more than before."""
        errors = np.geterr()
        louder = any([how not in (before, "ignore") for how, before in zip(errors.values(), self.errors.values())])  # noqa: B905 - the same kinds
        if louder or ({"call", "log"} & {*errors.values()} and np.geterrcall() is not self.handler):
            raise CompileError(SETTINGS.format(caller(), "computes under np.errstate or np.seterr"))
        now = warnings.filters
        louder = now is not self.filters and (
            getattr(warnings, "_showwarnmsg_impl", None) is not self.hook
            or [x for x in now if x[0] != "ignore"] != [x for x in self.listed if x[0] != "ignore"]
            or not {*self.listed} <= {*now}
        )
        if louder and not self.are_anothers():
            raise CompileError(SETTINGS.format(caller(), "changes the filters of warnings"))
        self.state = callers_state()

    def are_anothers(self) -> bool:
        """May another thread have changed the filters of warnings, which belong to the process? That is assumed if the
        user has other threads, and the function's own code does not name the filters."""
        return FILTERING.isdisjoint(self.named) and others_run()

    def check_restored(self) -> None:
        """Raise CompileError if the function leaves them changed."""
        changed = warnings.filters != self.listed and not self.are_anothers()
        if changed or np.geterr() != self.errors or np.geterrcall() is not self.handler:
            raise CompileError(
                "a compiled function changes np.seterr or the filters of warnings, which would happen in the first "
                "call only: do that outside, or say af.compile(f, fallback=True)."
            )


FILTERING = frozenset({"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"})


KNOWN = frozenset({  # answered from shape and dtype, or for our own code alone
    "shape", "dtype", "ndim", "size", "itemsize", "nbytes", "device", "expr", "yields_to", "is_number", "eager_class",
    "__len__", "__iter__", "__array_namespace__", "is_asked_by_us",
})  # fmt: skip


def guard_methods(cls: type) -> None:
    """Every method and property of the class and its bases turns its exceptions into doubts."""
    for base in cls.__mro__[:-1]:
        for name, member in list(vars(base).items()):
            if name in vars(cls) and base is not cls:
                continue
            if isinstance(member, types.FunctionType) and name not in KNOWN:
                setattr(cls, name, guarded(member))
            elif isinstance(member, property) and name != "__class__":
                getter = member.fget if name in KNOWN else member.fget and guarded(member.fget)
                setattr(cls, name, property(getter, member.fset and guarded(member.fset)))


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a Traced; its exceptions become doubts."""

    @functools.wraps(method)
    def call(self: Any, *args: object, **options: object) -> Any:
        tape = self.tape
        try:
            settings = tape.settings
            if callers_state() is not settings.state or warnings.filters is not settings.filters:
                settings.check()
            return method(self, *args, **options)
        except Exception as error:
            raise tape.doubt(error) from error

    return call


# ---------------------------------------------------------------- what is refused


def refuse_number(what: str) -> CompileError:
    """Refuse a number that is not known yet."""
    return CompileError(
        f"{what} needs the value of an array, which a compiled function knows only while it runs (at {caller()}). "
        f"Write np.where(condition, a, b) instead of an if, and af.zeros(...) for an array to be filled; pass what "
        f"decides as a Python number (it is then part of the signature), take that part out of the compiled function, "
        f"or say af.compile(f, fallback=True)."
    )


def layout_refused(what: str) -> CompileError:
    """Refuse a question about memory."""
    return CompileError(
        f"{what} asks where numbers lie in memory (at {caller()}), and a program has memory of its own. Bring arrays "
        f"into the layout that you want outside of the compiled function, or say af.compile(f, fallback=True)."
    )


def is_ours(what: str, depth: int) -> bool:
    """Is it our own code that asks where numbers lie in memory, ``depth`` calls up or through a node, not the user?"""
    node, frame = (dispatch if what.startswith("np.") else array_methods).__name__, sys._getframe(depth)
    while frame.f_globals.get("__name__") == node and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("autoflow.")


def check_class(x: Any) -> None:
    """Refuse an array or number of a class with its own operators, or whose results are of that class."""
    kind = type(x)
    is_plain = kind in (np.ndarray, np.memmap) or kind.__module__.startswith("autoflow.")
    if issubclass(kind, (np.ndarray, np.generic)) and not is_plain and kind is not x.dtype.type:
        raise CompileError(f"a {kind.__name__} may have arithmetic of its own: pass a plain array instead")


def into_outside() -> CompileError:
    """Refuse a write into an outside array, which would happen only once."""
    return CompileError(
        f"{caller()} writes into an array that was made outside of the compiled function: give that array as an "
        f"argument and return the new one (a training step returns its parameters), or say af.compile(f, fallback=True)"
    )
