"""Grade notebooks that students have filled in: ``python notebooks/make.py --grade 01 ada.ipynb alan.ipynb``

They come from Jupyter, or from the lesson's page ("Save my answers"). With ``--table class.csv`` a table of the class
is written as well: a row for each student, a column for each question.

A lesson asks with ``check(name=answer)``; its questions and hints are in ``autoflow/lessons``. A student's notebook is
run from its first cell to its last, in a process of its own, in an empty folder, without a network, with 4 GB of memory
at most; what ``check`` was told last counts. A cell that fails or does not end costs its own answers only: a cell that
does not end is left out, and the notebook is run again. It needs IPython, and nothing from outside.

(A process of its own protects from accidents, not from malice: it may read what you may read.)
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 60.0  # for one cell
START = 120.0  # until the first one begins
MEMORY = 4 << 30
UNTRIED = "not answered"


@dataclass
class Grades:
    """How a notebook did: for each question of the lesson whether it is right, and the comment."""

    verdicts: dict[str, tuple[bool, str]]
    errors: list[str] = field(default_factory=list)  # of cells, in a few words
    student: str = ""

    @property
    def points(self) -> int:
        """How many answers are right."""
        return sum([right for right, _ in self.verdicts.values()])

    def row(self) -> list[Any]:
        """A row of the table: the student, the points, what failed, and for each question 1, 0, or nothing."""
        from autoflow.lessons.checks import UNANSWERED

        marks = [int(right) if said not in {UNTRIED, UNANSWERED} else "" for right, said in self.verdicts.values()]
        return [self.student, self.points, "; ".join(self.errors), *marks]

    def __str__(self) -> str:
        width = max(map(len, self.verdicts))
        lines = [f"  {'✓' if right else '·'} {name:<{width}}  {text}" for name, (right, text) in self.verdicts.items()]
        return "\n".join([*lines, *[f"  ! {error}" for error in self.errors]])


def grade(path: Path, lesson: str, seconds: float = SECONDS) -> Grades:
    """Run the notebook of a student and compare its answers.

    lesson : the name of its notebook without the number. seconds : for one cell.
    ValueError if the lesson asks nothing; what ``nbformat`` raises if the file is not a notebook.
    """
    import nbformat

    from autoflow.lessons.checks import questions_of

    asked = questions_of(lesson)
    notebook = nbformat.read(path, as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    found: dict[str, tuple[bool, str]] = {}
    endless: list[int] = []
    events: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        while True:
            events, ended = run(Path(folder), cells, lesson, endless, seconds)
            for event in events:
                found |= {name: tuple(verdict) for name, verdict in event.get("verdicts", {}).items()}
            if ended:
                break
            endless.append(max([event["cell"] for event in events], default=-1))
            if endless[-1] < 0:
                raise RuntimeError(f"{path}: Python did not start within {START:.0f} s")
    errors = [f"{called(cells[event['cell']])}: {event['error']}" for event in events if "error" in event]
    errors += [f"{called(cells[cell])} did not end within {seconds:g} s, or ended Python" for cell in endless]
    student = notebook.metadata.get("autoflow", {}).get("student") or path.stem
    return Grades({name: found.get(name, (False, UNTRIED)) for name in asked}, errors, student)


def called(source: str) -> str:
    """The first line of a cell that is not a comment, by which a reader finds it. (Jupyter shows no numbers of
    cells.)"""
    lines = [line.strip() for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    first = lines[0] if lines else "an empty cell"
    return f"the cell `{first if len(first) <= 50 else first[:49] + '…'}`"


def run(folder: Path, cells: list[str], lesson: str, skipped: list[int], seconds: float) -> tuple[list[Any], bool]:
    """What the process tells, and whether it came to the end. It is ended if a cell takes longer than ``seconds``."""
    task, told, work = folder / "task.json", folder / "told", folder / f"work{len(skipped)}"
    work.mkdir()
    task.write_text(json.dumps({"cells": cells, "lesson": lesson, "skipped": skipped, "told": str(told)}))
    told.write_text("")
    paths = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
    settings = {"PYTHONPATH": paths, "MPLBACKEND": "agg", "IPYTHONDIR": str(work), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(HERE / "grading.py"), str(task)], cwd=work, env=os.environ | settings,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        length, since = 0, time.monotonic()
        while process.poll() is None:
            now = len(told.read_text())
            if now > length:
                length, since = now, time.monotonic()
            if time.monotonic() - since > (seconds if length else START):
                end(process)
            time.sleep(0.05)
    lines = [line for line in told.read_text().splitlines(keepends=True) if line.endswith("\n")]
    events = [json.loads(line) for line in lines]
    return events, bool(events) and "end" in events[-1]


def end(process: subprocess.Popen[bytes]) -> None:
    """The process, and what it has started where the system knows groups of processes."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, 9) if hasattr(os, "killpg") else process.kill()
    process.wait()


# -- in the process


def answer(task: dict[str, Any]) -> None:
    """Run the cells, and tell what happens: that a cell begins, what ``check`` found, how it failed."""
    limit()
    from IPython.core.interactiveshell import InteractiveShell

    from autoflow import lessons

    shell = InteractiveShell.instance()
    with open(task["told"], "a", encoding="utf-8") as file:
        now = 0

        def tell(**event: Any) -> None:
            file.write(json.dumps({"cell": now, **event}) + "\n")
            file.flush()

        def checker(lesson: str) -> Any:
            check = original(lesson)

            def noting(**answers: Any) -> Any:
                marks = check(**answers)
                if lesson == task["lesson"]:
                    tell(verdicts=marks.verdicts)
                return marks

            return noting

        original = lessons.checker
        lessons.checker = lessons.checks.checker = checker
        for now, source in enumerate(task["cells"]):
            if now not in task["skipped"]:
                tell()
                done = shell.run_cell(source, store_history=True)
                error = done.error_before_exec or done.error_in_exec
                if error is not None:
                    tell(error=f"{type(error).__name__}: {error}"[:200])
        tell(end=True)


def limit() -> None:
    """No network, and not more memory than a notebook may have."""
    import socket

    def refuse(*args: Any, **options: Any) -> Any:
        raise OSError("a notebook must work without a network")

    socket.getaddrinfo = socket.create_connection = refuse
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def report(lesson: Path, students: list[Path], table: Path | None = None, seconds: float = SECONDS) -> None:
    """Grade them, and print hints and points; ``table`` is a CSV that gets a row for each."""
    graded = []
    for path in students:
        grades = grade(path, lesson.stem[3:], seconds)
        graded.append(grades)
        print(f"{path}: {grades.points} of {len(grades.verdicts)}\n{grades}\n", flush=True)
    if table:
        with table.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["student", "points", "failed", *graded[0].verdicts])
            rows.writerows([grades.row() for grades in graded])


if __name__ == "__main__":
    answer(json.loads(Path(sys.argv[1]).read_text()))
