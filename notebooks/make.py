"""Run the notebooks from fresh kernels and store what they show: python notebooks/make.py [00 06 ...]

    python notebooks/make.py --students FOLDER [00 06 ...]      for a class: without answers, without outputs
    python notebooks/make.py --worksheets FOLDER [00 06 ...]    for paper: a worksheet and its answer sheet
    python notebooks/make.py --slides FOLDER [00 06 ...]        for the wall
    python notebooks/make.py --grade 01 STUDENT.ipynb ...       points and hints for what students have filled in
    python notebooks/make.py --grade 01 --table FILE.csv STUDENT.ipynb ...              and a table of them all

Edit a notebook in Jupyter or anywhere else, then run this: what is stored is then the same on every machine. Pictures
are stored as PNG, which GitHub shows; who runs the notebook gets the living ones. The kernel has no `dot` and
no network. ``tests/test_lessons.py`` does the same, runs the answers as well, and compares.
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent
SECONDS = 900  # for one cell: on a busy machine, training in lesson 17 took more than 240
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
ANSWER = re.compile(r"<details>\s*<summary>Answer</summary>(.*?)</details>", re.DOTALL)
LATER = "# run this when you have answered"  # cells that show an answer begin so; what they show is not stored
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)

# Before the first cell. Nothing shows itself as HTML, most of which GitHub removes, nor as PDF, which is for
# paper. matplotlib is imported because it says so on stderr when it looks for fonts the first time.
PREPARE = """
def prepare():
    import socket
    import matplotlib.pyplot
    import autoflow

    def refuse(*args, **options):
        raise OSError("a notebook must work without a network")

    socket.getaddrinfo = socket.create_connection = refuse
    autoflow.options.static = True
    formatter = get_ipython().display_formatter
    formatter.active_types = [x for x in formatter.format_types if x not in ("text/html", "application/pdf")]

prepare()
del prepare
"""


def notebooks() -> list[Path]:
    """All of them, in order."""
    return sorted(HERE.glob("[0-9][0-9]_*.ipynb"))


def answers(notebook: Any) -> list[str]:
    """The code in the folded answers, one text per answer; an answer without code is an empty text."""
    folded = [text for cell in notebook.cells if cell.cell_type == "markdown" for text in ANSWER.findall(cell.source)]
    return ["\n".join(CODE.findall(text)) for text in folded]


def run(notebook: Any, then: Iterable[str] = (), prepare: str = PREPARE) -> Any:
    """A copy of the notebook with the outputs of a fresh kernel.

    then : code that runs after it, as more cells. prepare : code before the first cell.
    """
    fresh = nbformat.from_dict({**notebook, "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}}})
    code = nbformat.v4.new_code_cell
    fresh.cells = [code(prepare), *fresh.cells, *map(code, then)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        client = NotebookClient(
            fresh, timeout=SECONDS, kernel_name="python3", record_timing=False, coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )  # fmt: skip
        with client.setup_kernel(env=environment(folder)):
            for place, cell in enumerate(fresh.cells):
                client.execute_cell(cell, place, store_history=place > 0)
    del fresh.cells[0]
    return fresh


def shorter(notebook: Any) -> Any:
    """A copy for every day of a lesson that trains for long: a cell with ``short`` in its metadata has that source (20
    steps, say), and cells tagged "whole", which tell what was learned, are empty.
    Where a cell is tagged "answers by night", the answers need the full run.
    """
    fresh = nbformat.from_dict(notebook)
    for cell in fresh.cells:
        cell.source = "" if "whole" in cell.metadata.get("tags", ()) else cell.metadata.get("short", cell.source)
    return fresh


def lighter(notebook: Any) -> Any:
    """The notebook with its PNGs in 128 colours: a third of the bytes, and nobody sees the difference."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                picture = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))).convert("RGB")
                file = io.BytesIO()
                picture.quantize(128, dither=Image.Dither.NONE).save(file, "png", optimize=True)
                output.data["image/png"] = base64.b64encode(file.getvalue()).decode()
    return notebook


def without_spoilers(notebook: Any) -> Any:
    """The notebook without what cells between a question and its folded answer show of that answer."""
    for cell in notebook.cells:
        if cell.source.startswith(LATER):
            cell.outputs = []
    return notebook


def environment(folder: str) -> dict[str, str]:
    """The kernel's: this checkout, nobody's settings, no program to start, one thread (so that sums are the same)."""
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ, "PATH": folder, "IPYTHONDIR": folder, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1",
    }  # fmt: skip


def without_answers(notebook: Any) -> Any:
    """A copy for students: the folded answers are gone, and so is what the cells have shown.

    The blanks and exercises are checked all the same: ``check`` has its answers from ``autoflow.lessons``.
    """
    handed = nbformat.from_dict(notebook)
    for cell in handed.cells:
        if cell.cell_type == "markdown":
            cell.source = ANSWER.sub("", cell.source).strip()
        else:
            cell.outputs, cell.execution_count = [], None
    handed.cells = [cell for cell in handed.cells if cell.source]  # some were an answer and nothing else
    return handed


def write_for_students(folder: Path, chosen: list[Path]) -> None:
    """The chosen notebooks as a class gets them, in a folder that is made, and the glossary that they link to."""
    import links

    folder.mkdir(parents=True, exist_ok=True)
    there = {path.name: path.name for path in chosen}
    places = {**there, "../docs/glossary.md": "glossary.md"}
    for path in chosen:
        handed = links.relink_notebook(without_answers(nbformat.read(path, as_version=4)), places.get)
        nbformat.write(handed, folder / path.name)
        print(folder / path.name)
    text = (HERE.parent / "docs" / "glossary.md").read_text(encoding="utf-8")
    lessons = {f"../notebooks/{name}": name for name in there}
    (folder / "glossary.md").write_text(links.relink(text, lessons.get), encoding="utf-8")


def write_worksheets(folder: Path, chosen: list[Path]) -> None:
    """A page for paper for each lesson, and one with the answers."""
    import handouts

    handouts.write_worksheets(folder, chosen)


def write_slides(folder: Path, chosen: list[Path]) -> None:
    """A page to be shown on the wall for each lesson, and its lecture."""
    import decks

    decks.write_slides(folder, chosen)


def grade(words: list[str]) -> int:
    """The number of a lesson, and notebooks of students: print their points. Returns the exit status."""
    import grading

    lessons = [path for path in notebooks() if words and path.name.startswith(words[0])]
    table = Path(words[2]) if words[1:2] == ["--table"] and len(words) > 2 else None
    students = [Path(word) for word in words[3 if table else 1 :]]
    if len(lessons) != 1 or not students or any([path.name.startswith("--") for path in students]):
        print(__doc__)
        return 2
    grading.report(lessons[0], students, table)
    return 0


WRITERS = {"--students": write_for_students, "--worksheets": write_worksheets, "--slides": write_slides}


def main(wanted: list[str]) -> int:
    """Run those whose names begin with one of the words, or all; or write handouts. Returns the exit status."""
    if wanted[:1] == ["--grade"]:
        return grade(wanted[1:])
    write = WRITERS.get(wanted[0]) if len(wanted) > 1 else None
    folder, wanted = (Path(wanted[1]), wanted[2:]) if write else (Path(), wanted)
    if any([word.startswith("-") for word in wanted]):
        print(__doc__)
        return 2
    chosen = [path for path in notebooks() if not wanted or path.name.startswith(tuple(wanted))]
    if write:
        write(folder, chosen)
        return 0 if chosen else 1
    for path in chosen:
        print(path.name, flush=True)
        nbformat.write(without_spoilers(lighter(run(nbformat.read(path, as_version=4)))), path)
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
