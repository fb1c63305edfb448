"""``python -m autoflow --check program.py``: reads of numbers in a whole program that bypass autoflow.

``af.check(f)`` and strict mode run a function twice (``transforms/shadow.py`` says how and why). ``backward()`` in
a program has no function to run again, but the program can be run again. It is run four times, each in a process of
its own: as it is, once more, with other numbers in the memory of nodes, and with such numbers also for ``float(x)`` and
``x.item()``. Each run writes a line for each operation: its name, its place, checksums of its operands. The first line
that only the third run has otherwise is where numbers came in that were read past us; only the fourth: those that were
taken on purpose, which may be meant.
"""

from __future__ import annotations

import os
import random
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ..base.modes import OTHER, TAKEN, TRUE, switched
from ..nodes.nodes import current_record
from ..program.callers import caller
from ..transforms.shadow import PAST_US, operands_read

START = f"import sys; from {__name__} import run_program; run_program(*sys.argv[1:])"
RUNS = {"first": TRUE, "again": TRUE, "shadow": OTHER, "taken": TAKEN}  # log -> what nodes show in their memory
QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}


def main(program: str, *arguments: str) -> int:
    """Run the program, a file or the name of a module, and print the findings. Returns the exit status: 0 if it is
    nothing, 1 if gradients are lost, 2 if the program cannot be compared with itself, and its own if that is not 0.
    What it prints and writes is that of the first run; files are written by each."""
    if not find_program(program):
        return 2
    status, (first, again, shadow, numbers) = log_runs(program, arguments, True)
    if status:
        return status
    if other := first_difference(first, again):
        print(f"The program computes other numbers each time, first in {other}: it cannot be compared with itself. "
              f"Give its random generators a seed: np.random.default_rng(0).")  # fmt: skip
        return 2
    if place := first_difference(first, shadow):
        print(f"LostGradient: numbers of nodes are read past autoflow, first used in {place}. {PAST_US}")
        return 1
    print(f"Operations: {len(first):,}. No numbers of nodes are read past autoflow.")
    if place := first_difference(first, numbers):
        print(f"Numbers taken by float(x), x.item() or x.tolist() are computed with, first in {place}: no gradient "
              f"comes back through them. If that is meant, x.value or af.stop_gradient(x) says so.")  # fmt: skip
    return 0


def find_program(program: str) -> str:
    """The file of a program that is given as a file or as the name of a module; empty, and said, if there is none."""
    place = program.replace(".", os.sep)
    for file in (program, f"{place}.py", os.path.join(place, "__main__.py")):
        if Path(file).is_file():
            return file
    print(f"autoflow: there is no program {program}", file=sys.stderr)
    return ""


def log_runs(program: str, arguments: Sequence[str], is_printed: bool) -> tuple[int, list[list[str]]]:
    """The status of the first run, which reads and prints if ``is_printed``, or 2 if only the second one fails; and
    what each has written: lines of operations."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / name for name in RUNS]
        for log in logs:
            command = [sys.executable, "-c", START, str(log), program, *arguments]
            quiet = {} if is_printed and log is logs[0] else QUIET
            run = subprocess.run(command, check=False, env=environment(), **quiet)  # noqa: S603 - the user's own program
            if run.returncode and log is logs[0]:
                return int(run.returncode), [[]] * len(RUNS)
            if run.returncode and log is logs[1]:
                reason = (run.stderr.decode(errors="replace").splitlines() or [f"status {run.returncode}"])[-1]
                print("The program cannot be compared with itself: it fails when it is run again, and without input, "
                      f"with {reason}")  # fmt: skip
                return 2, [[]] * len(RUNS)
        return 0, [log.read_text(encoding="utf-8").splitlines() if log.exists() else [] for log in logs]


def environment() -> dict[str, str]:
    """The environment of the runs: sets have the same order in each, and autoflow is found where it was found now."""
    here = str(Path(__file__).parents[2])
    return os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}


def first_difference(one: Sequence[str], two: Sequence[str]) -> str:
    """Where the second log departs from the first: ``add, at program.py:3``; empty if it does not.

    >>> first_difference(["add\\tp.py:1\\t[1]", "sin\\tp.py:2\\t[5]"], ["add\\tp.py:1\\t[1]", "sin\\tp.py:2\\t[7]"])
    'sin, at p.py:2'
    """
    for a, b in zip_longest(one, two):
        if a != b:
            name, place, *_ = (a or b).split("\t")
            return f"{name}, at {place}"
    return ""


def run_program(log: str, program: str, *arguments: str) -> None:
    """One run, in this process, which is its own."""
    with open(log, "w", encoding="utf-8") as file:
        notes = (lambda node: file.write(log_line(node) + "\n"),)
        with switched(shadow=RUNS[Path(log).name], keep=sys.maxsize, listeners=notes):
            run_as_main(program, *arguments)


def log_line(node: Any) -> str:
    """One line about an operation that was just recorded: its name, its place, what it read, what had no history."""
    record = current_record(node)
    read = operands_read(record)
    plain = [x for x, parent in zip(read, record.parents, strict=False) if parent is None]
    return f"{record.rule.name}\t{caller()}\t{read}\t{plain}"


def run_as_main(program: str, *arguments: str) -> None:
    """Run a program as Python does: a file, or a module by its name. Generators that it need not make get a seed."""
    random.seed(0)
    np.random.seed(0)
    sys.argv = [program, *arguments]
    is_file = Path(program).is_file()
    own = folder = Path(program).resolve().parent if is_file else Path.cwd()
    names = [Path(program).stem] if is_file else program.split(".")
    while is_file and (folder / "__init__.py").is_file():  # a module in a package
        folder, names = folder.parent, [folder.name, *names]
    sys.path[:1] = [str(folder)]
    sys.path.append(str(own))  # where a script looks for its neighbours, although their folder is a package
    if is_file and folder == own:
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(".".join(names), run_name="__main__", alter_sys=True)
