"""What ``check`` says in the notebooks: right, wrong and why, not answered, no such question."""

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import alone
from wrong_answers import WRONG

import autoflow as af
from autoflow.lessons import Question, checker, exercises, progress
from autoflow.lessons.checks import questions_of, read_value
from autoflow.lessons.exercises import same

FOLDER = Path(sys.modules["autoflow.lessons"].__file__).parent
LESSONS = sorted(path.stem for path in FOLDER.glob("*.toml"))
ALL = [pytest.param(name, key, id=f"{name}: {key}") for name in LESSONS for key in questions_of(name)]


@pytest.mark.parametrize(("lesson", "name"), ALL)
def test_wrong_answers_are_called_wrong_and_told_why(lesson, name):
    """And nothing, not a number, an empty list and a word are no right answers to anything."""
    question, check = questions_of(lesson)[name], checker(lesson)
    mistakes = [*question.mistakes(), *[(mistake, "") for mistake in WRONG.get((lesson, name), ())]]
    assert mistakes
    for mistake, said in mistakes:
        marks = check(**{name: mistake})
        assert not marks
        assert question.hint in str(marks)
        assert said in str(marks)
    words = ("no idea", b"no idea")
    nonsense = (None, math.nan, math.inf, 1j, {}, [], [None], [[1, 2], [3]], *words, np.ones((7, 7)), int)
    for answer in (*nonsense, np.array(["a"]), object(), lambda *args: None, af.Variable([1.0, 2.0])):
        assert not check(**{name: answer})


@pytest.mark.parametrize("lesson", LESSONS)
def test_right_answers_are_called_right(lesson):
    """Those that are values. Answers that are functions are run behind their notebook (``test_lessons.py``)."""
    for name, question in questions_of(lesson).items():
        if not callable(question.right):
            marks = checker(lesson)(**{name: question.right})
            assert marks, name
            assert str(marks).endswith("is right")
        assert question.hint.endswith((".", "?")), name


READING = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from autoflow import lessons
for _ in range(3):
    print(*[name for name in opened if name.endswith(".toml")], sep=", ")
    lessons.checker("digits")
"""


def test_a_text_file_is_read_once_when_its_checker_is_asked_for():
    digits = str(FOLDER / "digits.toml")
    assert alone(READING, cwd=FOLDER.parent.parent).splitlines() == ["", digits, digits]


@pytest.mark.parametrize(("entry", "expected"), [
    (2, 2), (2.0, 2.0), (True, True), ("a", "a"), ([1, 2.0], (1, 2.0)), ({"set": ["a", "b"]}, {"a", "b"}),
    ({"list": [1, 2]}, [1, 2]), ([{"list": [1]}, {"mistake": "sum"}], ([1], np.sum)),
    ({"check": "pools"}, exercises.pools), ({"mistake": "sum"}, np.sum),
])  # fmt: skip
def test_text_files_keep_the_types_of_answers(entry, expected):
    found = read_value(entry)
    assert found == expected
    assert type(found) is type(expected)


def test_every_mistake_is_asked_for():
    text = "".join([path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml")])
    assert {*re.findall(r'mistake = "(\w+)"', text)} == {*exercises.MISTAKES}
    assert all([name in questions_of(lesson) for lesson, name in WRONG])


@pytest.mark.parametrize("blank", [..., (..., 1), [1, ...]])
def test_blanks_are_no_mistakes(blank):
    marks = checker("backprop_by_hand")(exercise_1=blank)
    assert not marks
    assert str(marks) == "· exercise_1  write your answer instead of the dots"


def test_some_right_and_some_wrong():
    marks = checker("backprop_by_hand")(dL_db=12.0, dL_da=36)
    assert not marks
    first, second = str(marks).splitlines()
    assert first == "✓ dL_db  12 is right"
    assert second.startswith("· dL_da  36 is not right. That goes to x. Look at b = a · x:")


def test_nodes_and_arrays_are_answers():
    check = checker("backprop_by_hand")
    assert check(dL_db=af.Constant(12.0), exercise_1=np.array([2.0, 1.0]))
    assert not check(exercise_1=np.array([[2.0], [1.0]]))


@pytest.mark.parametrize(("lesson", "name", "message"), [
    ("backprop_by_hand", "dL_dbb", "this lesson has no question 'dL_dbb': did you mean dL_db?"),
    ("backprop_by_hand", "zzzz", "this lesson has no question 'zzzz': it asks for dL_db, dL_da, dL_dx, "),
    ("backprop", "dL_db", "no questions for a lesson 'backprop'"),
])  # fmt: skip
def test_an_unknown_question_or_lesson(lesson, name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        checker(lesson)(**{name: 1})


@pytest.mark.parametrize(("answer", "right", "expected"), [
    (1.009, 1.0, True), (1.011, 1.0, False), (4811, 4810, False), (4810.0, 4810, True), (-1.5, 1.5, False),
    (0.0, 1e-3, False), (" Slices ", "slices", True), ("slice", "slices", False), ([5, 1], {1, 5}, True),
    ((1, 5, 5, 2), {1, 5}, False), (True, True, True), (1, True, False), (np.bool_(False), False, True),
    ((442, 442), (442, 442), True), ((442,), (442, 442), False), ([[1.0]], (1.0,), False), (float("inf"), 3, False),
])  # fmt: skip
def test_what_counts_as_the_same(answer, right, expected):
    assert same(answer, right) is expected


def test_an_answer_that_raises_is_wrong_and_says_so():
    def mine(x):
        raise KeyError("oops")

    right, said = Question(lambda f: f(1) == 2, hint="Look again.", wrong=[(abs, "It adds nothing.")]).verdict(mine)
    assert not right
    assert said == "mine() is not right (it raised KeyError: 'oops'). Look again."
    assert Question(lambda f: f(1) == 2, hint="", wrong=[]).verdict(lambda x: x + 1)[0]


def test_a_bar_where_tqdm_is_and_none_elsewhere(monkeypatch, capfd):
    pytest.importorskip("tqdm")
    assert list(progress(range(3), "counting")) == [0, 1, 2]
    assert "counting: 100%" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.std", None)
    assert list(progress(range(3), "counting")) == [0, 1, 2]
    assert not capfd.readouterr().err
