"""Which lines of autoflow the suite runs, by folder: what ``make coverage`` starts. The settings are in setup.cfg.

    python .ci/measure_coverage.py                  the whole suite, then the report
    python .ci/measure_coverage.py tests/nn         only these, added to what was measured before

The suite runs in parts, each in a process of its own. An interpreter that crashes loses what it measured: then the
part is named and run again, twice at most. A failing test or a part that crashes each time makes the whole fail.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = ROOT / "build" / "coverage"
MOST_FILES = 4  # in a part
MOST_RUNS = 3  # of a part that crashes
FINE = {0, 5}  # pytest: all passed; the part has no tests for this machine


def find_parts(paths: list[str]) -> list[list[str]]:
    """The files of tests, a few of one folder in each part."""
    found = [Path(path) for path in paths] or [ROOT / "tests"]
    files = [file for path in found for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    folders = collections.defaultdict(list)
    for file in sorted(files):
        folders[file.parent].append(str(file.absolute().relative_to(ROOT)))
    return [names[k : k + MOST_FILES] for names in folders.values() for k in range(0, len(names), MOST_FILES)]


def run_part(files: list[str]) -> int:
    """pytest's exit status for these files, which are run again where the interpreter crashed."""
    settings = {
        "COVERAGE_FILE": str(DATA / "data"),
        # Python counts the lines itself from 3.12 on: a third more time, not twice the time.
        "COVERAGE_CORE": "sysmon" if sys.version_info >= (3, 12) else "ctrace",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", "-n", "0", *files]
    for run in range(1, MOST_RUNS + 1):
        begin = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | settings, capture_output=True, encoding="utf-8", errors="replace",
            check=False,
        )  # fmt: skip
        status, seconds = done.returncode, time.monotonic() - begin
        crashed = status < 0 or status > 5  # by a signal; pytest itself ends with 0 to 5
        said = "crashed" if crashed else done.stdout.strip().rpartition("\n")[2]
        print(f"{files[0]} ... {Path(files[-1]).name}: {said}, {seconds:.0f} s", flush=True)
        if status not in FINE:
            print(f"exit status {status}, run {run}\n{done.stdout[-4000:]}{done.stderr[-4000:]}", flush=True)
        if not crashed:
            break
    return status


def run_coverage(*arguments: str) -> int:
    """The exit status of ``coverage ...``."""
    command = [sys.executable, "-m", "coverage", *arguments]
    settings = {"COVERAGE_FILE": str(DATA / "data")}
    return subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False).returncode


def show_rooms() -> None:
    """A line for each folder of autoflow: statements, how many of them did not run, per cent."""
    run_coverage("json", "-q", "-o", str(DATA / "report.json"), "--fail-under=0")
    rooms: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for name, file in json.loads((DATA / "report.json").read_text(encoding="utf-8"))["files"].items():
        room = rooms[str(Path(name).parent)]
        room[0] += file["summary"]["num_statements"]
        room[1] += file["summary"]["missing_lines"]
    for name, (lines, missing) in sorted(rooms.items()):
        print(f"{name:28} {lines:6} {missing:5} {100 * (lines - missing) / max(lines, 1):6.1f} %")


def main(paths: list[str]) -> int:
    """0 if every test passed and the floor of setup.cfg is reached."""
    if not paths:
        shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [status for status in pool.map(run_part, find_parts(paths)) if status not in FINE]
    run_coverage("combine", "-q", "--append")
    show_rooms()
    below = run_coverage("report", "--show-missing")
    return int(bool(failed) or below != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
