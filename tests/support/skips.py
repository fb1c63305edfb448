"""Why a test may be skipped: each reason, once. A skip for another reason is a failure; conftest.py takes the hooks.

At its end a run says how many tests were skipped, and why; CI fails if there are more than `.ci/skips.txt` allows.
"""

from __future__ import annotations

import collections
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

PACKAGES = {  # the name to import, and what else a reason may call it
    "anywidget": "extra `widget`", "astropy": "astropy", "autograd": "autograd", "basedpyright": "basedpyright",
    "cloudpickle": "cloudpickle", "coverage": "coverage", "cupy": "CuPy", "dask": "Dask", "distributed": "distributed",
    "ipykernel": "ipykernel", "IPython": "IPython", "jax": "JAX", "jupyterlab": "jupyterlab",
    "jupyterlite_core": "JupyterLite", "llvmlite": "llvmlite", "loky": "loky", "marimo": "marimo",
    "matplotlib": "matplotlib", "micrograd": "micrograd", "mistune": "mistune", "mpi4py": "mpi4py", "mygrad": "mygrad",
    "mypy": "mypy", "nbclient": "nbclient", "nbconvert": "nbconvert", "nbformat": "nbformat", "numba": "numba",
    "pandas": "pandas", "PIL": "Pillow", "pdoc": "pdoc", "pint": "pint", "pygments": "Pygments", "ruff": "ruff",
    "safetensors": "safetensors", "scipy": "SciPy", "sklearn": "scikit-learn", "statsmodels": "statsmodels",
    "torch": "PyTorch", "xarray": "xarray", "yaml": "PyYAML", "threadpoolctl": "threadpoolctl", "tqdm": "tqdm",
    "websocket": "websocket-client", "zarr": "Zarr",
}  # fmt: skip
PROGRAMS = ("chromium", "ffmpeg", "firefox", "Graphviz", "mpiexec", "node", "pdflatex")

MOST = os.environ.pop("AUTOFLOW_MOST_SKIPS", "")  # not for runs that tests start

# What the summary says: what the whole reason looks like.
REASONS = {
    **{
        f"{shown} is not installed": rf"could not import '{name}(\.\w+)*': No module named .*"
        rf"|(the )?{re.escape(shown)} is not installed.*"
        for name, shown in PACKAGES.items()
    },
    **{f"{program} is not installed": f"{program} is not installed" for program in PROGRAMS},
    "no GPU": "needs CuPy and a GPU|CuPy finds no GPU here", "for machines without a GPU": "there is a GPU: see .*",
    "chromium does not start": "chromium does not start: .*", "nothing here draws PNG": "nothing here draws PNG",
    "no package registry within reach": "no package registry within reach: .*",
    "Pyodide is not here": "Pyodide is not here: .*|not to be had: .*|[Tt]here is no npm",
    "these surroundings cannot be had": "could not be tried: .*",
    "not in a browser: no threads, no processes": "not in a browser: .*",
    "NumPy refuses complex numbers": "NumPy does not have it for complex numbers",
    "this NumPy does not have it": "this NumPy does not have it|NumPy is installed without its tests",
    "the peer lacks the function": "it has no such function",
    "the example has no numbers": "its operands are no numbers",
    "another system": "Windows has no such bit|glibc only|this C library keeps freed memory by itself"
    "|needs a timer that interrupts|limits on the size of files are POSIX's|there is no fork",
    "another Python": "another Python does not nest so deeply|this Python has no sys.monitoring"
    "|references are counted in another way from Python 3.14 on",
    "not a checkout": "not a checkout",
}  # fmt: skip


def kind(reason: str) -> str | None:
    """The row of REASONS; None if there is none."""
    reason = reason.removeprefix("Skipped: ")
    return next((name for name, pattern in REASONS.items() if re.fullmatch(pattern, reason, re.DOTALL)), None)


def refuse_unknown(report: Any) -> None:
    """Make a report fail if it is of a skip whose reason is not in REASONS."""
    if report.skipped and not hasattr(report, "wasxfail") and kind(report.longrepr[2]) is None:
        path, line, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{path}:{line}: {reason}\nThis reason to skip is not in REASONS of tests/support/skips.py."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    report = yield
    refuse_unknown(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Any:
    """Of a module that is skipped as a whole."""
    report = yield
    refuse_unknown(report)
    return report


def counts(terminalreporter: Any) -> collections.Counter[str | None]:
    """How many were skipped, for which reason. (Of a module that is skipped as a whole, one.)"""
    return collections.Counter([kind(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])])


def too_many(terminalreporter: Any) -> list[str]:
    """Reasons for which more tests were skipped than the file MOST allows (`.ci/skips.txt`)."""
    if not MOST:
        return []
    lines = [line.split(maxsplit=1) for line in Path(MOST).read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    most = {name: math.inf if number == "any" else int(number) for number, name in lines}
    return [
        f"{count} skipped: {name}; {MOST} allows {most.get(str(name), 0)}"
        for name, count in counts(terminalreporter).items()
        if count > most.get(str(name), 0)
    ]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The counts, and what there is too much of."""
    for name, count in sorted(counts(terminalreporter).items(), key=lambda pair: (-pair[1], str(pair[0]))):
        terminalreporter.write_line(f"{count:5} skipped: {name}")
    for line in too_many(terminalreporter):
        terminalreporter.write_line(f"FAILED: {line}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: Any) -> None:
    """A run with too many skips fails."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == 0 and too_many(reporter):
        session.exitstatus = 1
