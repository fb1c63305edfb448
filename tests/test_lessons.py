"""The notebooks run from a fresh kernel, show what is stored in them, and their answers are right."""

import json
import os
import re
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
import kernels
import links
import nbformat
from processes import loaded
from seeds import by_day
from support import NIGHTLY

make = loaded("notebooks/make.py")
PATHS = make.notebooks()
# Together they use most of the package.
BY_DAY = {"02_graph_and_pictures", "08_characters_with_an_rnn", "11_debugging", "18_forward_mode", "20_toolkit"}
NAMES = [path.stem for path in PATHS]
LARGEST = 1_000_000  # bytes of a file; GitHub shows no large ones
# What differs between machines: folders, addresses of objects, times of %time, numbers of processes.
PRIVATE = re.compile(r"/home/|/tmp/|/root/|/Users/|[A-Z]:\\\\|site-packages|0x[0-9a-f]{6,}|Wall time|CPU times", re.I)
SHOWN = ("text/plain", "text/latex", "text/markdown")  # what must be the same on every machine, unlike the pictures
each = pytest.mark.parametrize("path", PATHS, ids=NAMES)


def read(path):
    return nbformat.read(path, as_version=4)


LONG = [path for path in PATHS if make.shorter(read(path)) != read(path)]  # by day they run with fewer steps


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
    """All text that a cell shows, in order."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        found += [output.get("name", "") + ": " + output["text"]] if "text" in output else []
        found += [f"{kind}: {data[kind]}" for kind in SHOWN if kind in data]
    return found


def test_there_are_notebooks():
    numbers = [int(name[:2]) for name in NAMES]
    assert numbers
    assert sorted(set(numbers)) == numbers


def run_and_compare(stored, chosen, answers):
    """``chosen``: the notebook, or a shorter one. Also the answers, behind it, in the same kernel."""
    fresh = make.run(chosen, answers)
    complaints = [o["text"] for cell in code(fresh) for o in cell.outputs if o.get("name") == "stderr"]
    assert not complaints
    for before, ran, after in zip(code(stored), code(chosen), code(fresh), strict=False):  # fresh has answers as well
        if before.source.startswith(make.LATER):
            assert not before.outputs
        elif ran.source and "varies" not in before.metadata.get("tags", ()):
            assert texts(after) == texts(before), f"stale: run notebooks/make.py. The cell\n{before.source}"


@pytest.fixture(scope="module")
def fresh_kernels():
    """By day forks of one process; by night processes of Jupyter's."""
    if NIGHTLY or not hasattr(os, "fork"):
        yield
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        kernels.forked(Path(folder)) as jupyter_path,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("JUPYTER_PATH", jupyter_path)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_kernels")
@pytest.mark.parametrize("path", by_day(PATHS, BY_DAY, lambda path: path.stem))
def test_runs_and_shows_what_is_stored(path):
    """A cell that raises fails, with its traceback. Lessons that train for long do so at night."""
    stored = read(path)
    tags = [tag for cell in code(stored) for tag in cell.metadata.get("tags", ())]
    run_and_compare(stored, make.shorter(stored), [] if "answers by night" in tags else make.answers(stored))


@pytest.mark.nightly
@pytest.mark.parametrize("path", LONG, ids=[path.stem for path in LONG])
def test_the_whole_of_a_long_lesson(path):
    stored = read(path)
    run_and_compare(stored, stored, make.answers(stored))


@each
def test_is_a_plain_notebook(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata == {"kernelspec": make.KERNEL, "language_info": {"name": "python"}}
    assert path.stat().st_size < LARGEST
    assert all([cell.source.strip() for cell in notebook.cells])


@each
def test_was_run_from_top_to_bottom(path):
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [o for cell in cells for o in cell.outputs if o.output_type == "error"]


@each
def test_shows_pictures_and_nothing_private(path):
    """A PNG beside each SVG: some pages show only the one, some only the other."""
    kinds = [set(o.get("data", ())) for cell in code(read(path)) for o in cell.outputs]
    assert any(["image/png" in k for k in kinds])
    assert all(["image/png" in k for k in kinds if "image/svg+xml" in k])
    assert not any(["text/html" in k for k in kinds]), "HTML is stored; af.options.static does not hold for something"
    shown = json.dumps([texts(cell) for cell in code(read(path))])
    assert not PRIVATE.findall(shown)


def cells_from_exercises(notebook):
    start = next(k for k, cell in enumerate(notebook.cells) if cell.source.startswith("## Exercises"))
    return notebook.cells[start:]


@each
def test_ends_with_exercises_and_answers(path):
    """Each exercise has its folded answer, each answer code that checks itself."""
    notebook = read(path)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    start = next(k for k, source in enumerate(sources) if source.startswith("## Exercises"))
    asked = [source for source in sources[start:] if re.match(r"\*\*\d+\.\*\*", source)]
    answers = make.answers(nbformat.from_dict({**notebook, "cells": cells_from_exercises(notebook)}))
    assert len(asked) == len(answers) >= 3
    assert all(["assert" in answer for answer in answers])
    folded = re.compile(r"\n\n<details>\n<summary>Answer</summary>\n\n.*\n\n</details>$", re.DOTALL)
    assert all([folded.search(source) for source in asked]), "without those empty lines GitHub does not show the code"


@each
def test_begins_with_its_number_and_links_to_what_is_there(path):
    sources = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    assert sources[0].startswith(f"# {int(path.stem[:2])} · ")
    links = re.findall(r"\]\(([^)#]+)\)", "\n".join(sources))
    assert [link for link in links if not link.startswith("http") and not (path.parent / link).exists()] == []


@each
def test_students_get_no_answers_and_no_outputs(path, tmp_path):
    assert make.main(["--students", str(tmp_path / "class"), path.name[:2]]) == 0
    (made,) = (tmp_path / "class").glob("*.ipynb")
    stored, handed = links.relink_notebook(read(path), {"../docs/glossary.md": "glossary.md"}.get), read(made)
    nbformat.validate(handed)
    assert "<details>" not in made.read_text(encoding="utf-8")
    assert make.answers(handed) == []
    assert [cell.source for cell in code(handed)] == [cell.source for cell in code(stored)]
    assert not [cell for cell in code(handed) if cell.outputs or cell.execution_count]
    questions = [make.ANSWER.sub("", cell.source).strip() for cell in stored.cells if "<details>" in cell.source]
    assert [q for q in questions if q and q not in [cell.source for cell in handed.cells]] == []
    assert all([cell.source.strip() for cell in handed.cells])


def test_links_of_students_lead_to_what_they_got(tmp_path):
    """The glossary, and those lessons that were handed out."""
    assert make.main(["--students", str(tmp_path), "00", "01"]) == 0
    places = ["00_backprop_by_hand.ipynb", "01_micro_engine.ipynb", "glossary.md"]
    assert sorted([path.name for path in tmp_path.iterdir()]) == places
    text = {name: (tmp_path / name).read_text(encoding="utf-8") for name in places}
    found = {name: {file for _, file, _ in links.LINK.findall(text[name])} for name in places}
    assert found == {name: {*places} - {name} for name in places}
    for _, file, anchor in links.LINK.findall(text[places[0]] + text[places[1]]):
        assert file != "glossary.md" or f'<a id="{anchor[1:]}"></a>' in text["glossary.md"]
    assert "notebooks/" not in text["glossary.md"]


def test_an_unknown_option_runs_nothing(capsys):
    assert make.main(["--student"]) == 2
    assert "--students FOLDER" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_kernels")
def test_a_kernel_has_no_network_and_no_programs():
    notebook = nbformat.v4.new_notebook()
    lines = [
        "import shutil, urllib.request", "print(shutil.which('dot'))",
        "try: urllib.request.urlopen('http://localhost')", "except OSError as error: print(error)",
    ]  # fmt: skip
    notebook.cells = [nbformat.v4.new_code_cell("\n".join(lines))]
    fresh = make.run(notebook)
    assert texts(fresh.cells[0]) == ["stdout: None\n<urlopen error a notebook must work without a network>\n"]
