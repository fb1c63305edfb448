"""What holds for every test."""

import faulthandler
import gc
import inspect
import itertools
import math
import os
import re
import sys
import time
import zlib

import hypothesis
import pytest

# jsonschema, with which nbformat checks notebooks, looks for it: a check of addresses that takes 2 s to be imported.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Their asserts stay under python -O, and say what they compared.
pytest.register_assert_rewrite("support", "checks", "cases")

from casenames import pytest_make_parametrize_id  # noqa: E402, F401 - a hook: pytest finds it here
from chromium import browser, running_browser, show  # noqa: E402, F401 - fixtures
from pools import pool  # noqa: E402, F401 - a fixture
from skips import (  # noqa: E402, F401 - hooks: pytest finds them here
    pytest_make_collect_report,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
)
from threads import no_gc  # noqa: E402, F401 - a fixture

import autoflow as af  # noqa: E402
from autoflow.table.shapes import DEPRECATED  # noqa: E402
from autoflow.table.table import RULES  # noqa: E402

NIGHTLY = os.environ.get("AUTOFLOW_NIGHTLY") == "1"
FINISHED = itertools.count(1)
LONGEST = 1800 if NIGHTLY else 300  # seconds
WATCH = {"since": -math.inf, "stderr": 2}
PART = os.environ.get("AUTOFLOW_PART", "1/1")  # 2/3: the second third of the cases of tests with parameters

# The same examples each time, so that a red build is about the change; by night many.
hypothesis.settings.register_profile("day", derandomize=True, deadline=None, max_examples=50, database=None)
hypothesis.settings.register_profile("night", derandomize=True, deadline=None, max_examples=1000, database=None)
hypothesis.settings.load_profile("night" if NIGHTLY else "day")


@pytest.fixture(autouse=True)
def as_at_the_beginning():
    """var_0 is the first Variable of each test. Rows of programs that it runs, in no module that stays, are gone after
    it: other tests go through the table."""
    af.reset()
    before = set(RULES)
    yield
    for function in RULES.keys() - before:
        if inspect.isfunction(function) and not stands_in_a_module(function):
            del RULES[function]


def stands_in_a_module(function):
    """Not in a program, a docstring or a page, whose globals are a copy."""
    names = getattr(inspect.unwrap(function), "__globals__", {})
    home = sys.modules.get(names.get("__name__", ""))
    return home is not None and vars(home) is names


@pytest.fixture
def without_source():
    """Pictures of programs whose text is not there: names are those of the caller, repeats are looked for."""
    with af.options(source=False):
        yield


def pytest_configure(config):
    """Tests compare with NumPy's own functions, also with those that it deprecates. (That autoflow does not call these
    is tested in test_versions.py.)"""
    WATCH["stderr"] = os.dup(2)  # what pytest catches while a test runs is another
    for name in DEPRECATED:
        config.addinivalue_line("filterwarnings", f"ignore:numpy.{name} is deprecated:DeprecationWarning")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, PART.split("/"))
    others = {x for x in items if hasattr(x, "callspec") and zlib.crc32(x.nodeid.encode()) % parts != part % parts}
    if not NIGHTLY:  # not skipped: thousands, each of which takes milliseconds to be reported
        others |= {x for x in items if x.get_closest_marker("nightly")}
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
    for item in items:
        if item.get_closest_marker("gpu") and not gpu_there():
            item.add_marker(pytest.mark.skip(reason="needs CuPy and a GPU"))


def pytest_collection_finish():
    """Thirty thousand tests are many objects, which stay: Python's collector need not go through them each time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish():
    """Nor what is kept of the tests that have run."""
    if next(FINISHED) % 1000 == 0:
        pytest_collection_finish()


def gpu_there():
    """Is there a GPU that CuPy can use?"""
    try:
        import cupy
    except Exception:  # not only if it is missing: it writes into the user's folder, and may warn
        return False
    return bool(cupy.is_available())


if sys.platform != "emscripten":

    def pytest_runtest_setup():
        """A test that hangs is shown where it stands, and ended. The watchdog is a thread: pytest's own option starts
        one for each test and waits for its end, which takes longer on a busy machine than most tests."""
        if time.monotonic() > WATCH["since"] + 10:
            faulthandler.dump_traceback_later(LONGEST, exit=True, file=WATCH["stderr"])
            WATCH["since"] = time.monotonic()

else:

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):
        """A browser has neither threads nor processes: a test that needs one is skipped where Python says so."""
        try:
            return (yield)
        except Exception as error:
            if re.search("start new thread|does not support processes", str(error)):
                pytest.skip(f"not in a browser: {error}")
            raise


@pytest.fixture
def rows_as_before():
    """Rows that a test adds are gone after it: other tests go through the table."""
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)
