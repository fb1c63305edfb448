"""The lessons speak the words of the field, say what they are for, and check what a student answers."""

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
# The words with which a student can search and read on.
TERMS = """
backpropagation, chain rule, forward pass, gradient, local derivative, backward pass, upstream gradient, finite
differences, node, computational graph, forward mode, reverse mode, loss function, parameter, gradient descent,
learning rate, operand, leaf, topological order, scope, broadcasting, Jacobian, vector-Jacobian product, batch, mean
squared error, Newton's method, Hessian, Hessian-vector product, primitive, implicit function theorem, softmax, cross
entropy, straight-through estimator, hook, overfitting, training set, test set, validation set, activation function,
stochastic gradient descent, momentum, epoch, optimiser, vanishing and exploding gradients, initialisation, residual
connection, normalisation, clipping, recurrent neural network, backpropagation through time, convolution, attention,
embedding, anomaly, kink, accumulating gradients, trace, guard, device
"""
OPENING = (
    r"^\* \*\*You will learn\*\* \S",
    r"^\* \*\*Time:\*\* about (\d+) minutes",
    r"^\* \*\*You need:\*\* \S",
)
# What a native editor struck out once, as patterns. In front of the colon, what to write.
DISCOURAGED = {
    "how many times as fast": r"by how many times",
    "paths": r"\bways meet|\b[Aa]ll ways\b|\bways (from|add|with)\b",
    "it gets that deep quickly": r"is deep that soon",
    "that says how": r"and somebody who says",
    "does the graph have": r"[Hh]ow many \w+ (\(.*?\) )?has\b",
    "what is the shape of": r"[Ww]hich shape has",
    "other than": r"something else than",
    "at 40 moments": r"\bat \d+ times\b",
    "it is only fair": r"\bFair is\b",
    "at random": r"(drawn|chosen|and) by chance|one by chance",
    "than guess": r"no more than to",
    "a notebook": r"note book",
    "every copy of Python": r"Every Python ships",
    "instead of": r"in (the )?place of",
    "a tenth of": r"times fewer",
    "the progression of the disease": r"how the disease went",
    "test set, test text": r"\bexams?\b",
    "lesson 3": r"\bnotebooks? \[?\d",
    "gradient descent": r"\b[Gg]oing downhill|steps downhill",
}
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


def slug(term):
    return term.lower().replace(" ", "-").replace("'", "")


ALL = "\n".join([prose(path) for path in PATHS])
BOLD = re.compile(r"\[\*\*([^*\]]+)\*\*\]\(\.\./docs/glossary\.md#([\w-]+)\)")
INTRODUCED = [anchor for _, anchor in BOLD.findall(ALL)]


@pytest.mark.parametrize("term", sorted({slug(" ".join(term.split())) for term in TERMS.split(",")} | {*INTRODUCED}))
def test_a_term_is_bold_once_where_it_appears_first(term):
    """Headings and the line "You will learn" may name it earlier, and its link leads to its row of the glossary."""
    assert INTRODUCED.count(term) == 1
    assert GLOSSARY.count(f'<a id="{term}"></a>') == 1
    text = re.sub(r"^(#|\* \*\*You will learn).*$", "", ALL, flags=re.MULTILINE)
    links = BOLD.finditer(text)
    (words, start) = next((m[1], m.start()) for m in links if m[2] == term)
    before = re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`\n]*`", "", text[:start])  # titles of other lessons, names in code
    mention = re.search(rf"(?<![\w-]){re.escape(words)}", before, re.IGNORECASE)
    assert mention is None, before[mention.start() - 80 : mention.end() + 40]


def test_every_anchor_of_the_glossary_is_a_row():
    rows = [line for line in GLOSSARY.splitlines() if "<a id=" in line]
    assert all([re.match(r'\| (<a id="[\w-]+"></a>)+\w', row) for row in rows])


@each
def test_opens_with_what_it_is_for(path):
    first = cells(path)[0][1]
    for pattern in OPENING:
        assert len(re.findall(pattern, first, re.MULTILINE)) == 1, pattern
    minutes = re.search(OPENING[1], first, re.MULTILINE)[1]
    told = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    row = re.search(rf"\({re.escape(f'../notebooks/{path.name}')}\) \| (\d+) \|", told)
    assert row is not None, "docs/teaching.md has no line for it"
    assert row[1] == minutes


@each
def test_no_discouraged_phrase(path):
    """Nor in what programs say and draw."""
    text = "\n".join([source for _, source in cells(path)])
    found = {better: re.findall(pattern, text) for better, pattern in DISCOURAGED.items()}
    assert {better: phrases for better, phrases in found.items() if phrases} == {}


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
