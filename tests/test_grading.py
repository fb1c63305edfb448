"""The autograder: what students filled in is compared, and a cell that fails or hangs costs its own answers only."""

import re
from pathlib import Path

import pytest

pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
import grading
import nbformat
from processes import loaded

from autoflow.lessons.checks import UNANSWERED, questions_of

LESSON = "backprop_by_hand"
BEGIN = f'from autoflow.lessons import checker\ncheck = checker("{LESSON}")'
NOTEBOOK = next(grading.HERE.glob("[0-9][0-9]_micro_engine.ipynb"))


@pytest.fixture
def graded(tmp_path):
    """A function that grades a notebook of these cells."""

    def graded(*cells, seconds=60.0, lesson=LESSON):
        path = tmp_path / "student.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells))), path)
        return grading.grade(path, lesson, seconds)

    return graded


@pytest.mark.slow
def test_points_and_hints(graded):
    """What check was told last counts; another lesson's answers do not; a notebook's own language is understood."""
    grades = graded(
        BEGIN, "print('noise')\ncheck(dL_db=6, dL_da=...)", "%time b = 6\ncheck(dL_db=2 * b)",
        'checker("micro_engine")(uses_of_x=3)', "1 / 0", "check(dL_dx=864)", "syntax error", "check(dL_da=24)",
    )  # fmt: skip
    asked = questions_of(LESSON)
    assert grades.verdicts.keys() == asked.keys()
    assert grades.points == 2
    assert grades.verdicts["dL_db"] == (True, "12 is right")
    assert grades.verdicts["dL_da"] == (True, "24 is right")
    right, text = grades.verdicts["dL_dx"]
    assert not right
    assert "added, not multiplied" in text
    assert grades.verdicts["dE_dw"] == (False, "not answered")
    assert [error.partition(" (")[0] for error in grades.errors] == [
        "the cell `1 / 0`: ZeroDivisionError: division by zero",
        "the cell `syntax error`: SyntaxError: invalid syntax",
    ]  # fmt: skip
    lines = str(grades).splitlines()
    assert len(lines) == len(asked) + 2
    assert re.match(r"  ✓ dL_db +12 is right$", lines[0])


@pytest.mark.slow
@pytest.mark.nightly
def test_a_cell_that_does_not_end_costs_its_own_answers_only(graded):
    grades = graded(
        BEGIN, "while True:\n    pass\ncheck(dL_dy=24)", "check(dL_db=12)", "import os\nos._exit(0)", "check(dL_da=24)",
        seconds=6.0,
    )  # fmt: skip
    assert grades.points == 2
    assert grades.verdicts["dL_dy"] == (False, "not answered")
    names = ["while True:", "import os"]
    assert grades.errors == [f"the cell `{name}` did not end within 6 s, or ended Python" for name in names]


@pytest.mark.slow
def test_without_a_network_and_in_an_empty_folder(graded):
    grades = graded(
        BEGIN,
        "import os, urllib.request\nassert os.listdir() in ([], ['profile_default']), os.listdir()",
        "try:\n    urllib.request.urlopen('http://localhost')\nexcept OSError as error:\n"
        "    assert 'without a network' in str(error)\nelse:\n    raise AssertionError",
        "import numpy as np\ntry:\n    np.ones(1 << 30)\nexcept MemoryError:\n    check(dL_db=12)",
    )
    assert grades.errors == []
    assert grades.points == 1


@pytest.mark.nightly
@pytest.mark.parametrize("answered", [False, True], ids=["as handed out", "with the answers"])
def test_the_lesson_itself(tmp_path, answered):
    """As it is handed out it has no points and no errors; with what its folded answers say it has all of them."""
    module = loaded("notebooks/make.py")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    handed = module.without_answers(stored)
    if answered:
        questions = questions_of("micro_engine")
        plain = {name: q.right for name, q in questions.items() if not callable(q.right)}
        blanks = nbformat.v4.new_code_cell(f"check(**{plain!r})")
        handed.cells += [blanks, *map(nbformat.v4.new_code_cell, module.answers(stored))]
    nbformat.write(handed, tmp_path / "student.ipynb")
    grades = grading.grade(tmp_path / "student.ipynb", "micro_engine")
    assert grades.errors == []
    assert grades.points == (len(grades.verdicts) if answered else 0), str(grades)


def test_the_command(tmp_path, monkeypatch, capsys):
    module, asked = loaded("notebooks/make.py"), []

    def fake(path, lesson, seconds):
        asked.append((path, lesson))
        verdicts = {"a": (True, "1 is right"), "bc": (False, "not answered"), "d": (False, "2 is not right.")}
        verdicts["e"] = False, UNANSWERED
        return grading.Grades(verdicts, ["cell 1: no"], path.stem)

    monkeypatch.setattr(grading, "grade", fake)
    assert module.main(["--grade", "01", "ada.ipynb", "alan.ipynb"]) == 0
    assert asked == [(Path("ada.ipynb"), "micro_engine"), (Path("alan.ipynb"), "micro_engine")]
    said = "ada.ipynb: 1 of 4\n  ✓ a   1 is right\n  · bc  not answered\n  · d   2 is not right.\n"
    said += f"  · e   {UNANSWERED}\n  ! cell 1: no\n\n"
    assert capsys.readouterr().out.startswith(said)
    table = tmp_path / "class.csv"
    assert module.main(["--grade", "01", "--table", str(table), "ada.ipynb", "alan.ipynb"]) == 0
    assert table.read_text(encoding="utf-8").splitlines() == [
        "student,points,failed,a,bc,d,e", "ada,1,cell 1: no,1,,0,", "alan,1,cell 1: no,1,,0,",
    ]  # fmt: skip
    assert capsys.readouterr().out.startswith(said)
    empty = ["--grade", "01", "--table", str(table)]
    for wrong in (["--grade"], ["--grade", "01"], ["--grade", "99", "ada.ipynb"], empty):
        assert module.main(wrong) == 2
        assert "--grade 01 STUDENT.ipynb" in capsys.readouterr().out


def test_a_lesson_that_asks_nothing(tmp_path):
    with pytest.raises(ValueError, match="no questions for a lesson 'unheard_of'"):
        grading.grade(tmp_path / "student.ipynb", "unheard_of")
