"""The lessons link to the glossary, and check what a student answers."""

import ast
import functools
import json
import re
from pathlib import Path

import pytest

from autoflow.lessons.checks import questions_of

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
    """The text without code."""
    text = "\n".join([source for kind, source in cells(path) if kind == "markdown"])
    return re.sub(r"^```python\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@each
def test_a_link_to_the_glossary_leads_to_a_row(path):
    anchors = re.findall(r"\]\(\.\./docs/glossary\.md#([\w-]+)\)", prose(path))
    assert [anchor for anchor in anchors if GLOSSARY.count(f'<a id="{anchor}"></a>') != 1] == []


def test_every_anchor_of_the_glossary_is_a_row():
    rows = [line for line in GLOSSARY.splitlines() if "<a id=" in line]
    assert all([re.match(r'\| (<a id="[\w-]+"></a>)+\w', row) for row in rows])


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
