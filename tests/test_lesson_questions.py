"""The lessons link to the glossary, and check what a student answers."""

import ast
import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from autoflow.lessons.checks import questions_of
from autoflow.lessons.exercises import same

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PATHS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@functools.cache
def cells(path):
    """The sources of all cells, each with its kind."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@functools.cache
def prose(path):
    text = "\n".join([source for kind, source in cells(path) if kind == "markdown"])
    return re.sub(r"^```python\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@each
def test_a_link_to_the_glossary_leads_to_a_row(path):
    anchors = re.findall(r"\]\(\.\./docs/glossary\.md#([\w-]+)\)", prose(path))
    assert [anchor for anchor in anchors if GLOSSARY.count(f'<a id="{anchor}"></a>') != 1] == []


def calls_of_check(source):
    """The names of all answers that a piece of code gives to ``check``, and whether they are still blank."""
    found = {}
    for node in ast.walk(ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check":
            for keyword in node.keywords:
                blanks = [x for x in ast.walk(keyword.value) if isinstance(x, ast.Constant) and x.value is ...]
                found[keyword.arg] = bool(blanks)
    return found


@each
def test_asks_and_answers_the_questions_of_its_module(path):
    """Blanks in the text and a check for every exercise; each with an answer, which ``test_lessons.py`` runs."""
    lesson = path.stem[3:]
    questions = questions_of(lesson)
    asked, answered = {}, {}
    for kind, source in cells(path):
        if kind == "code":
            asked |= calls_of_check(source)
        for code in re.findall(r"^```python\n(.*?)^```", source, re.DOTALL | re.MULTILINE):
            assert re.findall(r"^\s*check\(.*", code, re.MULTILINE) == [], "an answer asserts that it is right"
            answered |= calls_of_check(code)
    assert list(asked) == list(questions)
    assert all(asked.values())
    assert answered.keys() == asked.keys()
    assert not any(answered.values())
    exercises = re.findall(r"^\*\*(\d)\.\*\* ", prose(path), re.MULTILINE)
    assert {f"exercise_{n}" for n in exercises} <= {re.sub(r"(exercise_\d).*", r"\1", name) for name in asked}
    assert len([name for name in asked if not name.startswith("exercise")]) >= 2
    assert f'checker("{lesson}")' in "".join([source for _, source in cells(path)])


# -- no answer is in sight before it is asked for

WORDS = ["zero", "-", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")


def between_question_and_answer(path):
    """For each question in the text its names, and the cells up to its folded answer, the text before that included."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    asked, found = None, []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and calls_of_check(source):
            asked = list(calls_of_check(source)), []
            continue
        before, fold, _ = source.partition("<details>\n<summary>Answer</summary>")
        if asked:
            asked[1].append((cell["cell_type"], before, cell.get("outputs", ())))
        if asked and fold:
            found += [asked] * (not asked[0][0].startswith("exercise"))  # those have their answers in front of them
            asked = None
    return found


def says(text, right):
    """Whether a text has the number, the word, or the numbers of a shape one after the other."""
    if isinstance(right, str):
        return re.search(rf"[\"'`]{re.escape(right)}[\"'`]", text) is not None
    numbers = [n.replace(",", "").replace("−", "-") for n in NUMBER.findall(text)]
    numbers += [WORDS.index(word) for word in re.findall(r"[a-z]+", text.lower()) if word in WORDS]
    parts = list(right) if isinstance(right, (tuple, list)) else [right]
    return any([all(map(same, numbers[k:], parts)) for k in range(len(numbers) - len(parts) + 1)])


def text_of(output):
    return "".join(output.get("text", output.get("data", {}).get("text/plain", "")))


@each
def test_no_answer_is_in_sight_before_it_is_asked_for(path):
    """Between a question and its folded answer no text tells it, no assertion compares with it, and no output that is
    stored shows it; a number of the graph's counts, even if it is another one that is equal.
    """
    questions = questions_of(path.stem[3:])
    for names, cells in between_question_and_answer(path):
        rights = [questions[name].right for name in names]
        for right in [r for r in rights if not callable(r) and not isinstance(r, (bool, set))]:
            for kind, source, outputs in cells:
                assert not any([says(text_of(output), right) for output in outputs]), f"{names}: {source}"
                assert kind == "code" or not says(source, right), f"{names}: {source}"
                assert kind != "code" or not compares_with(source, right), f"{names}: {source}"


def compares_with(source, right):
    """Whether an assertion of a cell has a number like this one."""
    for node in ast.walk(ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE))):
        for value in getattr(node.test, "comparators", ()) if isinstance(node, ast.Assert) else ():
            try:
                written = eval(ast.unparse(value), {"np": np})
            except Exception:  # it needs the lesson's names, so it is not written there
                continue
            if same(written, right):
                return True
    return False


# -- lessons do not keep graphs


@each
def test_no_list_keeps_losses_with_their_graphs(path):
    """A result that is sent back from is not kept in a list: its graph would live as long as the list."""
    for kind, source in cells(path):
        blocks = [source] if kind == "code" else re.findall(r"^```python\n(.*?)^```", source, re.DOTALL | re.MULTILINE)
        for block in blocks:
            tree = ast.parse(re.sub(r"^[%!].*$", "", block, flags=re.MULTILINE))
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")]
            sent = {ast.unparse(call.func.value) for call in calls if call.func.attr == "backward"}
            kept = {ast.unparse(call.args[0]) for call in calls if call.func.attr == "append" and call.args}
            assert not sent & kept, block
