"""NumPy's own tests, with nodes in the place of arrays: a plugin of pytest, for a process of its own.

In a module of NumPy's tests ``np.zeros`` and the other functions that make arrays give, for arrays of floats and of
complex numbers, what ``AUTOFLOW_ARRAYS`` says: ``node`` a Constant, ``subclass`` an array of a class that does nothing,
``array`` the array itself. What became of each test is a line of JSON in the file ``AUTOFLOW_RESULTS``.

>>> before, after = Names(np), Names(np, lambda a: a.tolist())
>>> before.zeros(2), after.zeros(2), after.zeros(2, int), after.pi
(array([0., 0.]), [0.0, 0.0], array([0, 0]), 3.141592653589793)
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoflow.nodes.nodes import constant_from

MAKERS = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "copy", "diag", "diagflat",
    "empty", "eye", "frombuffer", "fromfunction", "fromiter", "full", "geomspace", "identity", "indices", "linspace",
    "logspace", "ones", "require", "tri", "vander", "zeros",
]  # fmt: skip
ROOMS = ["_core", "lib", "linalg", "fft", "ma", "random", "polynomial", "matrixlib"]
HOME = Path(np.__file__).parent
# Modules of tests that make no arrays of floats, or whose C code takes an array of any class for NumPy's own.
LEFT = [
    "test_array_api_info", "test_cpu_dispatcher", "test_cpu_features", "test_cython", "test_datetime",
    "test_defchararray", "test_dtype", "test_extint128", "test_hashtable", "test_limited_api", "test_mem_policy",
    "test_multithreading", "test_simd", "test_simd_module", "test_stringdtype", "test_strings", "test_unicode",
]  # fmt: skip
LEFT_TESTS = "incref_elide", "internal_overlap"  # C code that crashes; minutes of fuzzing without NumPy's functions
SECONDS = 15  # of CPU time, for one test
WARNINGS = "error", "ignore:the matrix subclass", "ignore::pytest.PytestWarning"


class Nothing(np.ndarray):
    """A subclass that does nothing."""


KINDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda array: array, "subclass": lambda array: array.view(Nothing), "node": constant_from,
}  # fmt: skip


class Names(types.ModuleType):
    """A module whose functions that make arrays give something else."""

    def __init__(self, module: types.ModuleType, convert: Callable[[Any], Any] = KINDS["array"]) -> None:
        super().__init__(module.__name__)
        made = {name: making(getattr(module, name), convert) for name in MAKERS}
        vars(self).update(_module=module, _made=made)

    def __getattr__(self, name: str) -> Any:
        return vars(self)["_made"].get(name) or getattr(vars(self)["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:  # pytest's monkeypatch
        setattr(vars(self)["_module"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(vars(self)["_module"], name)

    def __dir__(self) -> Iterable[str]:
        return dir(vars(self)["_module"])


def making(function: Any, convert: Callable[[Any], Any]) -> Any:
    """The function, with its arrays of floats converted."""

    @functools.wraps(function)
    def made(*args: Any, **options: Any) -> Any:
        array = function(*args, **options)
        return convert(array) if type(array) is np.ndarray and array.dtype.kind in "fc" else array

    return made


def run(kind: str, paths: Iterable[str], results: Path, only: Iterable[str] = ()) -> dict[str, tuple[str, str]]:
    """Run NumPy's tests below these paths with arrays of that kind, or only those with these ids: for each test its
    outcome, and what went wrong."""
    results.unlink(missing_ok=True)
    ids = results.with_suffix(".ids")
    ids.write_text("\n".join(only))
    here = Path(__file__).parent
    environment = {
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])]), "AUTOFLOW_ARRAYS": kind,
        "AUTOFLOW_RESULTS": str(results), "AUTOFLOW_ONLY": str(ids), "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    options = [x for warning in WARNINGS for x in ("-W", warning)]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-m", "not slow", "-c", os.devnull, *options]
    command += ["-p", "numpys_tests", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"]
    command += ["--rootdir", str(HOME), *[str(HOME / path) for path in paths]]
    ran = subprocess.run(command, cwd=results.parent, env=os.environ | environment, capture_output=True, text=True)
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stdout[-2000:] + ran.stderr[-2000:])
    found = [json.loads(line) for line in results.read_text().splitlines()]
    return {name: (outcome, error) for name, outcome, error in found}


def deviations(paths: Iterable[str], folder: Path) -> dict[str, str]:
    """The tests below these paths that fail with nodes and neither with plain arrays nor with the subclass; and why."""
    failed = {
        name: error for name, (outcome, error) in run("node", paths, folder / "node").items() if outcome == "failed"
    }
    files = sorted({name.partition("::")[0] for name in failed})
    for kind in ("array", "subclass"):
        if failed:
            others = run(kind, files, folder / kind, failed)
            failed = {name: error for name, error in failed.items() if others.get(name, ("failed",))[0] != "failed"}
    return failed


# ---------------------------------------------------------------- the plugin, in the other process


def in_numpy(item: Any) -> str:
    """The id of a test, from NumPy's folder on."""
    return f"{Path(item.path).relative_to(HOME).as_posix()}::{item.nodeid.partition('::')[2]}"


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Iterator[None]:
    """Let the names of the module mean ours as soon as it has been imported."""
    module: Any = yield
    convert = KINDS[os.environ["AUTOFLOW_ARRAYS"]]
    ours = Names(np, convert)
    made = {id(np): ours} | {id(getattr(np, name)): getattr(ours, name) for name in MAKERS}
    imported = module._getobj

    def replaced() -> Any:
        space = vars(found := imported())
        for name, value in list(space.items()):
            if id(value) in made:
                space[name] = made[id(value)]
        return found

    module._getobj = replaced
    return module


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if collection_path.stem in LEFT else None


def pytest_collection_modifyitems(items: list[Any]) -> None:
    only = set(Path(os.environ["AUTOFLOW_ONLY"]).read_text().splitlines())
    items[:] = [
        item
        for item in items
        if (not only or in_numpy(item) in only) and not any([name in item.nodeid for name in LEFT_TESTS])
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    def too_slow(*_: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    report: Any = yield
    if report.when == "call" or report.failed:
        error = "" if call.excinfo is None else " ".join(f"{call.excinfo.typename}: {call.excinfo.value}".split())[:200]
        with open(os.environ["AUTOFLOW_RESULTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps([in_numpy(item), report.outcome, error]) + "\n")
    return report
