"""What the benchmarks share: fair minima, fresh processes, a description of the machine, tables."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def alternating(
    samples: Mapping[str, Callable[[], float]], rounds: int, seconds: float = math.inf
) -> dict[str, list[float]]:
    """What each of ``samples`` returned, asked in turn for some rounds.

    A machine is slow for seconds at a time: whoever is measured then looks bad. Taking turns spreads that over all.
    After ``seconds`` no further round begins, but there are at least three.
    """
    found: dict[str, list[float]] = {name: [] for name in samples}
    end = time.perf_counter() + seconds
    for done in range(rounds):
        if done >= 3 and time.perf_counter() > end:
            break
        for name, sample in samples.items():
            found[name].append(sample())
    return found


def interleaved(samples: Mapping[str, Callable[[], float]], rounds: int, seconds: float = math.inf) -> dict[str, float]:
    """The least of them: the minimum forgets when the machine was slow."""
    return {name: min(found) for name, found in alternating(samples, rounds, seconds).items()}


def warm_malloc() -> None:
    """Let glibc keep freed blocks, as it does in any process that has worked for a while.

    A fresh process gives each freed block above 128 KB back to the system, so that every larger temporary is
    faulted in anew: by-hand NumPy on 100,000 elements then takes six times as long. Freeing one block of just under
    32 MB, which is never touched, raises that threshold for good. Elsewhere this does nothing.
    """
    np.empty(2**22 - 1024)


def fresh(*arguments: str) -> dict[str, Any]:
    """Run Python with these arguments in a process of its own; what it prints is JSON."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8")  # noqa: S603 - ours
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# -- where the figures come from -------------------------------------------------------------------------------------


def cpu() -> str:
    """The model, and how many of its CPUs this process may use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor() or platform.machine()}, {usable} CPUs"


def blas_threads() -> str:
    """How many threads NumPy's products use, as far as threadpoolctl can tell."""
    try:
        pools = import_module("threadpoolctl").threadpool_info()
    except ImportError:
        return ""
    counts = {p["num_threads"] for p in pools if p["user_api"] == "blas" and "numpy" in p["filepath"].lower()}
    return f" (threads: {counts.pop()})" if len(counts) == 1 else ""


def version(library: str) -> str:
    """Name and version, for PyTorch also the number of its threads. The library has been imported before."""
    if library == "autoflow":
        return f"autoflow {import_module('autoflow').__version__}"  # perhaps not installed, only on the path
    if library == "torch":
        return f"PyTorch {metadata.version('torch')} (threads: {import_module('torch').get_num_threads()})"
    return f"{library} {metadata.version(library)}"


def setting(libraries: Iterable[str] = ("autoflow",)) -> str:
    """Day, machine and versions: without them figures mean nothing. No names of hosts, users or folders."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    python = f"Python {platform.python_version()}"
    numpy = f"NumPy {np.__version__}{blas_threads()}"
    return "; ".join([day, cpu(), ", ".join([python, numpy, *map(version, libraries)])])


# -- tables ----------------------------------------------------------------------------------------------------------


def digits(x: float) -> str:
    """Three significant digits, written out; nothing for NaN."""
    if math.isnan(x):
        return ""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:#.3g}"


def spread(figures: Sequence[float]) -> float:
    """How far figures lie apart: half the distance of the largest from the smallest, over their median.

    >>> spread([2.0, 1.9, 2.1])
    0.05
    """
    return round((max(figures) - min(figures)) / 2 / statistics.median(figures), 4)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, first column to the left and the rest to the right, that is legible as it stands."""
    lines = [list(header), *map(list, rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines.insert(1, rule)
    return "\n".join(
        "| " + " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) + " |" for line in lines
    )
