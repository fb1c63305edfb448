"""What is raised while a function is recorded: the function cannot catch it, and eager code decides."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from compiled import between_bars
from support import NIGHTLY, unseen_append
from threads import in_threads

import autoflow as af
from autoflow.compiler.trace.doubts import Abandoned, Reporting, check_class, guard_methods
from autoflow.compiler.trace.tape import Tape
from autoflow.errors import CompileError
from autoflow.rules import RULES

X = np.array([1.0, 2.0])
KEPT = contextvars.ContextVar("KEPT")
CONTEXT = contextvars.copy_context()  # what is kept there is not put back


# -- by hand


class Asked:
    """What a Traced is to the guard of its methods."""

    def ask(self, error):
        raise error

    shape = property(lambda self: self.ask(ValueError("shape")))
    flags = property(lambda self: self.ask(ValueError("flags")))


def test_whatever_a_guarded_method_raises_is_a_doubt_of_its_recording():
    guard_methods(Asked)
    for ask, error in ((lambda x: x.ask(KeyError("asked")), "asked"), (lambda x: x.flags, "flags")):
        x = Asked()
        x.tape = Tape()
        with pytest.raises(Abandoned):
            ask(x)
        assert x.tape.reason.args == (error,)
    x.tape = Tape()
    with pytest.raises(KeyboardInterrupt):
        x.ask(KeyboardInterrupt)
    assert x.tape.reason is None


def test_settings_may_become_silent_and_nothing_else():
    reporting = Reporting({"catch_warnings"})
    with np.errstate(all="ignore"):
        reporting.check()
        with pytest.raises(CompileError, match="would happen in the first"):
            reporting.check_restored()
    reporting.check_restored()
    for how in ({"divide": "raise"}, {"over": "call", "call": print}):
        with np.errstate(**how), pytest.raises(CompileError, match=r"np\.errstate"):
            reporting.check()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reporting.check()
        warnings.simplefilter("always")
        with pytest.raises(CompileError, match="filters of warnings"):
            reporting.check()


def test_only_plain_arrays_pass():
    for x in (np.ones(2), np.float64(1.0), 2.0):
        check_class(x)
    for x in (np.ma.ones(2), np.eye(2).view(np.matrix)):
        with pytest.raises(CompileError, match="arithmetic of its own"):
            check_class(x)


# -- functions that catch


def in_a_generator(x):
    def signs():
        try:
            sign = 2.0 if x[0] > 0 else 3.0
        except BaseException:
            sign = 5.0
        yield sign

    return x * next(signs())


def in_a_thread(x):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: float(x[0]))
        return x * (5.0 if future.exception() else 2.0)


def in_a_context(x):
    class Swallowing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return True

    with Swallowing():
        return x * float(x[0])
    return x * 5.0


IN_A_FINALLY = """
def in_a_finally(x):
    try:
        return x * float(x[0])
    finally:
        return x * 5.0
"""
MADE = {}
with warnings.catch_warnings():  # Python 3.14 warns of a return that swallows whatever is raised
    warnings.simplefilter("ignore", SyntaxWarning)
    exec(IN_A_FINALLY, MADE)


def swallow(*kinds):
    def f(x):
        try:
            return x * (2.0 if x[0] > 0 else 3.0)
        except kinds:
            return x * 5.0

    return f


def suppressed(x):
    with contextlib.suppress(BaseException):
        return x * float(x[0])
    return x * 5.0


@pytest.fixture(scope="module", autouse=True)
def primitive():
    """One whose derivative looks at numbers. Its row is gone afterwards: other tests go through the table."""
    global doubled
    before = set(RULES)
    doubled = af.primitive(lambda x: 2.0 * x)
    doubled.defvjp(x=lambda g: g * (2.0 if np.any(g) else 3.0))
    yield
    for function in set(RULES) - before:
        del RULES[function]


def before_a_slope(x):
    try:
        sign = 2.0 if x[0] > 0 else 3.0
    except BaseException:
        sign = 5.0
    try:
        return sign * af.grad(lambda x: np.sum(doubled(x)))(x)
    except BaseException:
        return x * 5.0


SWALLOWING = {
    "a slope": before_a_slope, "Exception": swallow(Exception), "BaseException": swallow(BaseException),
    "several": swallow(ValueError, TypeError, CompileError, BaseException), "a generator": in_a_generator,
    "a thread": in_a_thread, "a context": in_a_context, "finally": MADE["in_a_finally"], "suppress": suppressed,
    "hasattr": lambda x: x * (2.0 if hasattr(x, "__array_interface__") else 3.0),
    "getattr": lambda x: x * (2.0 if getattr(x, "ctypes", None) is not None else 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SWALLOWING)
def test_a_doubt_cannot_be_swallowed(name):
    f = SWALLOWING[name]
    for first in (X, -X):
        compiled, falling = af.compile(f), af.compile(f, fallback=True)
        for x in (first, -first, first):
            with pytest.raises(CompileError):
                compiled(x)
            np.testing.assert_array_equal(falling(x), f(x), strict=True)


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_no_doubt_passes(error, fallback):
    calls = []
    note = unseen_append(calls)

    def f(x):
        note(1)
        if len(calls) == 1:
            raise error
        return x * 2

    compiled = af.compile(f, fallback=fallback)
    if error is not MemoryError:  # eager code is asked
        with pytest.raises(error):
            compiled(X)
        assert not calls  # everything is put back
    np.testing.assert_array_equal(af.compile(lambda x: x * 2)(X), X * 2)


# What Python itself refuses: no method of ours is asked, and the error names the class.
REFUSED_BY_PYTHON = """
    x.nosuch | x.T.nosuch | x() | x[:1]() | next(x) | dict(**x) | isinstance(1, x) | len(x) | [*x] | [*reversed(x)]
    {}[x] | {x} | ",".join(x) | "a" + x | x.__await__() | del x[0] | x.nosuch = 3 | del x.nosuch
    with x: pass | a, b = x | raise x | class C(x): pass
    x.nosuch.deeper | (x * 2).nosuch
"""
CATCHING = {
    "except": "try:\n  {}\n except Exception as error:\n  return type(error).__name__, str(error)\n return x * 2",
    "bare": "try:\n  {}\n except:\n  return str(sys.exc_info()[1])\n return x * 2",
    "finally": "try:\n  {}\n finally:\n  return repr(sys.exc_info()[1])",
    "with": "with pytest.raises(Exception) as caught:\n  {}\n return str(caught.value)",
    "inner": "def g():\n  try:\n   {}\n  except Exception as error:\n   return len(str(error))\n return x * g()",
}


@pytest.mark.parametrize("catching", CATCHING)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # 'return' in a 'finally' block, from Python 3.14 on
def test_what_python_refuses_has_numpys_text(catching):
    """Also at the first call: a function that catches exceptions is compared with eager code from then on."""
    lines = between_bars(REFUSED_BY_PYTHON)
    kinds = [np.ones(3), np.array(1.0), np.float64(1.0)]
    first = [*CATCHING].index(catching)
    pairs = [(line, kinds[(first + k) % 3]) for k, line in enumerate(lines)]  # by day each line meets each kind
    for line, x in itertools.product(lines, kinds) if NIGHTLY else pairs:
        space = {"sys": sys, "pytest": pytest}
        exec(f"def f(x):\n {CATCHING[catching].format(line)}", space)
        try:
            expected = space["f"](x)
        except BaseException:
            continue  # it is not raised for such an array
        for fallback in (True, False):
            compiled = af.compile(space["f"], fallback=fallback)
            for _ in range(3):
                try:
                    found = compiled(x)
                except CompileError:
                    assert not fallback, line
                else:
                    np.testing.assert_equal(found, expected, line)


def test_a_value_of_an_earlier_recording_is_a_doubt_of_the_present_one():
    def keep(x):
        CONTEXT.run(KEPT.set, x * 2.0)
        return x

    def use(x):
        try:
            return x + CONTEXT.run(KEPT.get)
        except BaseException:
            return x

    with pytest.raises(CompileError, match="a Context"):
        af.compile(keep)(X)
    with pytest.raises(CompileError, match=r"finds an|earlier recording"):
        af.compile(use)(X)
    with pytest.raises(CompileError, match="earlier recording"):
        CONTEXT.run(KEPT.get) + 1.0


def test_filters_that_another_thread_changes_do_not_count():
    """They belong to the process."""
    inside, done = threading.Event(), threading.Event()

    def elsewhere():
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            inside.set()
            done.wait(60)

    def slow(x):
        if not inside.is_set():
            thread.start()
            inside.wait(60)
        return np.exp(x) * 2.0

    thread = threading.Thread(target=elsewhere)
    try:
        with warnings.catch_warnings():
            np.testing.assert_array_equal(af.compile(slow, verify=False)(X), np.exp(X) * 2.0)
    finally:
        done.set()
        thread.join()


def test_other_threads_have_their_own_doubts():
    f = af.compile(lambda x: x * 2.0)
    g = af.compile(lambda x: x * (2.0 if x[0] > 0 else 3.0), fallback=True)
    assert [h.tolist() for h in in_threads(*[partial(h, X) for h in (f, g) * 4])] == [[2.0, 4.0]] * 8


def test_a_thread_that_looks_at_frames_keeps_nothing():
    """It holds the variables of a function that is recorded, after that function has returned."""

    def recorded(x):
        kept = [np.sin(x * k) for k in range(200)]
        return sum(kept)

    found = []

    def look(main):
        while not found:
            frame = sys._current_frames()[main]
            while frame is not None and frame.f_code is not recorded.__code__:
                frame = frame.f_back
            found.extend([] if frame is None else [frame])
        time.sleep(0.03)
        found[:] = [None]

    thread = threading.Thread(target=look, args=(threading.get_ident(),))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        np.testing.assert_allclose(af.compile(recorded)(X), recorded(X))
    finally:
        sys.setswitchinterval(before)
        found.append(None)
        thread.join()


def test_a_function_that_is_refused_again_and_again_waits_for_other_threads_once(monkeypatch):
    kept, waited, stop = [], [], threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    monkeypatch.setattr(time, "sleep", waited.append)
    keep = unseen_append(kept)
    c = af.compile(lambda x: [keep(x * 2.0), x + 1.0][1])
    try:
        for _ in range(3):
            with pytest.raises(CompileError, match="keeps 1 of the arrays"):
                c(X)
    finally:
        stop.set()
        other.join()
    assert len(waited) == 3  # times of the first call, none of the others


@pytest.mark.parametrize(("f", "first", "second"), [
    (lambda x: np.gradient(x**2, x)[1], [1.0, 2.0, 3.0], [1.0, 2.0, 7.0]),  # are the steps equal?
    (lambda w: np.cov(X, aweights=w), [1.0, 2.0], [-1.0, 2.0]),  # is a weight negative?
])  # fmt: skip
def test_what_numpys_own_code_asks_has_the_same_answer_in_each_run(f, first, second):
    eager = af.grad(f)
    compiled = af.compile(eager, verify=False)
    for x in map(np.array, (first, second)):
        try:
            expected = eager(x)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                compiled(x)
        else:
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-13)
