"""What teachers print and show: worksheets with answers, slides. By night they are printed and shown in a browser."""

import base64
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("mistune")
pytest.importorskip("pygments")
pytest.importorskip("nbformat")
import handouts
import nbformat
import runtime
import worksheets
from chromium import Page

LESSONS = sorted(handouts.HERE.glob("[0-9][0-9]_*.ipynb"))
by_night = [pytest.mark.browser, pytest.mark.nightly, pytest.mark.xdist_group("browser")]


def read(path):
    return nbformat.read(path, as_version=4)


def pictures(page):
    """The SVGs of a page, as text."""
    return [base64.b64decode(data).decode() for data in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_worksheet_asks_and_its_answer_sheet_answers(path, monkeypatch):
    monkeypatch.setattr(handouts, "math_scripts", list)
    lesson = path.stem[3:]
    asked, answered = (handouts.worksheet(read(path), lesson, answers=answers) for answers in (False, True))
    for page in (asked, answered):
        assert f"<h1>{path.stem[:2].lstrip('0') or 0} · " in page
        assert re.findall(r'(?:src|href)="(?!data:)', page) == []  # nothing is loaded
    assert "Name: ____" in asked
    assert 'class="answer"' not in asked
    assert asked.count("<li>") == answered.count('<div class="answer">') >= 3
    if lesson not in worksheets.LESSONS:
        assert asked.count('class="line"') >= asked.count("<li>")
        return
    graphs, questions = worksheets.LESSONS[lesson]()
    assert len(pictures(asked)) == len(pictures(answered)) == len(graphs) == 1
    assert 2 <= len(questions) <= 5
    assert "_____" in pictures(asked)[0]
    assert "_____" not in pictures(answered)[0]
    for question, answer in questions:
        assert handouts.rendered(question).strip() in asked
        assert handouts.rendered(answer).strip() not in asked
        assert handouts.rendered(answer).strip() in answered


def test_the_blanks_are_the_numbers_of_the_backward_pass():
    """Lesson 0: 48 and 16 arrive at x."""
    page = handouts.worksheet(read(LESSONS[0]), "backprop_by_hand", answers=True)
    texts = re.findall(r">([^<>]+)<", pictures(page)[0])
    assert {"64", "48", "16", "32"} <= {word for text in texts for word in text.replace("=", " ").split()}
    assert "48" not in pictures(handouts.worksheet(read(LESSONS[0]), "backprop_by_hand", answers=False))[0]


def test_each_worksheet_is_of_a_lesson():
    assert {path.stem[3:] for path in LESSONS} >= set(worksheets.LESSONS)


@pytest.mark.parametrize(
    ("x", "text"), [(0.5, "0.5"), (-4.0, "−4"), (-0.0, "0"), (0.9**30, "0.0424"), (0.25**30, "8.7e−19"), (802.0, "802")]
)
def test_numbers_as_on_paper(x, text):
    assert worksheets.number(x) == text


LESSON = nbformat.v4.new_notebook(cells=[
    nbformat.v4.new_markdown_cell("# 7 · Title\n\nWhat it is about."),
    nbformat.v4.new_code_cell("x = 1\nx", outputs=[
        nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=1)]),
    nbformat.v4.new_markdown_cell("## Part\n\nText.\n\n## Exercises"),
    nbformat.v4.new_markdown_cell(
        "**1.** What is 1 + 1?\n\n<details>\n<summary>Answer</summary>\n\nTwo.\n\n```python\n# a comment\n\n"
        "assert 1 + 1 == 2\n```\n\n</details>"),
    nbformat.v4.new_code_cell("# your turn"),
])  # fmt: skip


def test_a_lesson_without_a_worksheet_of_its_own_gets_its_exercises():
    asked = handouts.worksheet(LESSON, "unheard_of", answers=False)
    assert "What is 1 + 1?" in asked
    assert "Two." not in asked
    assert asked.count('class="line"') == 6
    answered = handouts.worksheet(LESSON, "unheard_of", answers=True)
    assert "Two." in answered
    assert "assert" in answered


def test_slides_are_cut_at_headings_and_answers_stand_below():
    columns = handouts.columns_of(LESSON)
    assert [len(column) for column in columns] == [1, 1, 3]
    assert "What it is about" in columns[0][0]
    assert columns[0][0].count("<pre>") == 2  # the program and what it shows
    assert "Two." in columns[2][2]
    assert "Two." not in columns[2][1]
    assert "your turn" not in str(columns)


def test_long_texts_become_several_slides_and_programs_stay_whole():
    text = "\n\n".join(["word " * 60] * 5)
    parts = list(handouts.pieces(text))
    assert len(parts) == 3
    assert "".join(parts).split() == text.split()
    program = "```python\n" + "x = 1\n\n" * 200 + "```"
    assert [part.strip() for part in handouts.pieces(f"{'word ' * 150}\n\n{program}")] == [
        ("word " * 150).strip(),
        program,
    ]


def test_without_katex_formulas_stay_as_they_are_written(monkeypatch, capsys):
    def refuse(*parts, **options):
        raise runtime.UnavailableError("not to be had: katex")

    monkeypatch.setattr(runtime, "bring", refuse)
    page = handouts.page("t", handouts.rendered("$x^2$"), "", [])
    assert r"\(x^2\)" in page
    assert "not to be had" in capsys.readouterr().err


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_worksheet_is_a_sheet_of_paper(browser, tmp_path):
    """Two sides: the graph, the questions."""
    handouts.write_worksheets(tmp_path, LESSONS[:1])
    for path in sorted(tmp_path.iterdir()):
        page = browser.open(path)
        data = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert len(re.findall(rb"/Type\s*/Page\b", data)) == 2, path
        assert page.problems() == []
        page.call("Page.close")


def marked(marks):
    return lambda test: [mark(test) for mark in marks][-1]


@marked(by_night)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_slides_fit_the_wall_and_ask_nobody(path, browser, tmp_path):
    try:
        runtime.bring("slides")
    except runtime.UnavailableError as reason:
        pytest.skip(str(reason))
    handouts.write_slides(tmp_path, [path])
    page = Page(browser, 1280, 720)
    page.media()
    page.go((tmp_path / f"{path.stem}.html").as_uri())
    assert page.run("Reveal.isReady()")
    total = sum(map(len, handouts.columns_of(read(path))))
    assert page.run("Reveal.getTotalSlides()") == total
    right = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
    page.call("Input.dispatchKeyEvent", type="keyDown", **right)
    assert page.run("Reveal.getIndices().h") == 1
    assert page.problems() == []
    assert page.run("document.querySelectorAll('.katex-error').length") == 0
    page.call("Page.close")


@pytest.mark.parametrize("option", ["--worksheets", "--slides"])
def test_the_command(option, tmp_path, monkeypatch):
    spec = handouts.pages.runtime  # the same module that make.py finds
    assert sys.modules["handouts"].runtime is spec
    done = []
    monkeypatch.setattr(handouts, f"write_{option[2:]}", lambda folder, paths: done.append((folder, paths)))
    import importlib.util

    found = importlib.util.spec_from_file_location("notebooks_make", handouts.HERE / "make.py")
    make = importlib.util.module_from_spec(found)
    found.loader.exec_module(make)
    assert make.main([option, str(tmp_path), "03"]) == 0
    ((folder, paths),) = done
    assert (folder, [path.stem for path in paths]) == (Path(tmp_path), ["03_broadcasting_backwards"])
    assert make.main([option, str(tmp_path), "99"]) == 1
