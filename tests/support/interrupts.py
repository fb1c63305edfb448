"""KeyboardInterrupt, or whatever a signal handler raises, at a chosen place of the package."""

from __future__ import annotations

import ast
import os
import random
import sys
import tracemalloc  # noqa: F401 - what pytest notes of an exception in a destructor imports it otherwise, through us
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dis import opname
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import autoflow as af
from autoflow.base.modes import LEFT

PACKAGE = str(Path(af.__file__).parent) + os.sep
NIGHTLY = os.environ.get("AUTOFLOW_NIGHTLY") == "1"
UNSEEN: list[BaseException] = []  # raised by us in a destructor or a callback of Python's, and so going no further


@contextmanager
def noted(error: BaseException) -> Iterator[None]:
    """Put ``error`` into UNSEEN where Python would print it and go on."""
    before, handled = sys.unraisablehook, sys.exc_info()[1]
    sys.unraisablehook = lambda info: UNSEEN.append(error) if info.exc_value is error else before(info)
    try:
        yield
    finally:
        sys.unraisablehook = before
    assert sys.exc_info()[1] is handled


def is_handlers_edge(frame: FrameType) -> bool:
    """Is ``frame`` about to enter or to leave an ``except`` or ``finally`` block? No signal comes there, and
    after an exception of a trace function it would take the one of the block as being handled for ever: everything that
    this thread raises later would have it, its traceback and all that hangs on its frames as a context."""
    return opname[frame.f_code.co_code[frame.f_lasti]] in ("PUSH_EXC_INFO", "POP_EXCEPT")


def is_parsing(frame: FrameType | None) -> bool:
    """Has Python's parser called a destructor of ours? It counts how deep it is, and after an exception there, which it
    does not see, ends in a SystemError."""
    while frame is not None and frame.f_code is not ast.parse.__code__:
        frame = frame.f_back
    return frame is not None


def is_place(code: CodeType) -> bool:
    """Is it code of the package? Not that which any warning may call, also one of a finalizer; and not what NumPy calls
    to order the arguments of a function: it goes on after an exception there, and Python ends in a SystemError."""
    file = code.co_filename
    return file.startswith(PACKAGE) and not file.endswith("numpy_warnings.py") and code.co_name != "isinstance_of_any"


def interrupt(act: Callable[[], Any], place: int, error: type[BaseException] = KeyboardInterrupt) -> int:
    """Run ``act()`` with ``error`` raised at one place of the package: when a function is entered, before a line,
    when a function returns. How many places were passed; at most ``place`` if the exception was raised.

    In a context of its own, so that modes that the exception leaves behind end with it, as marks of ``array +=`` do.
    """
    passed, is_over = 0, False
    raised = error()

    def at(frame: Any, event: str, arg: Any) -> Any:
        nonlocal passed, is_over
        if is_over:  # a generator keeps its trace function, and goes on while another one is at work
            frame.f_trace = None
            return None
        if event == "exception" or not is_place(frame.f_code):
            return None if event == "call" else at
        if passed == place and not is_handlers_edge(frame) and not is_parsing(frame):
            sys.settrace(None)
            is_over = True
            raise raised
        passed += passed != place
        return at

    before = sys.gettrace()
    with noted(raised):
        sys.settrace(at)
        try:
            copy_context().run(act)
        except error:
            if passed != place:
                raise
        finally:
            sys.settrace(before)
            is_over = True
            LEFT.clear()
    return passed


def signals(act: Callable[[], Any], place: int) -> int:
    """Run ``act()`` with KeyboardInterrupt raised at one of the places where Python looks for signals: when a function
    of the package or of np.errstate is entered, and when a call in C has returned to one. (The others are loops.)

    Returns how many places were passed; at most ``place`` if it was raised.
    """
    passed = 0
    raised = KeyboardInterrupt()

    def at(frame: Any, event: str, arg: Any) -> None:
        nonlocal passed
        if event not in ("call", "c_return") or not (
            is_place(frame.f_code) or frame.f_code.co_filename.endswith("_ufunc_config.py")
        ):
            return
        if passed == place:
            sys.setprofile(None)
            raise raised
        passed += 1

    before = sys.getprofile()
    with noted(raised):
        sys.setprofile(at)
        try:
            act()
        except KeyboardInterrupt:
            if passed != place:
                raise
        finally:
            sys.setprofile(before)
    return passed


def places(make: Callable[[], Callable[[], Any]], by_day: int, seed: int = 0) -> Iterator[int]:
    """The places of ``make()()``: all of them in the nightly run, else so many that are drawn."""
    make()()  # once, so that what is imported late is there
    n = interrupt(make(), sys.maxsize)
    yield from range(n) if NIGHTLY or n <= by_day else sorted(random.Random(seed).sample(range(n), by_day))
