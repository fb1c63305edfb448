"""What teachers print and show: worksheets with answers, slides, lectures; in a browser, too."""

import base64
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("mistune")
pytest.importorskip("pygments")
pytest.importorskip("nbformat")
import decks
import handouts
import nbformat
import runtime
import worksheets
from chromium import Page, by_night, in_browser
from processes import loaded
from seeds import by_day
from support import NIGHTLY

LESSONS = sorted(handouts.HERE.glob("[0-9][0-9]_*.ipynb"))


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
    columns = decks.columns_of(LESSON)
    assert [len(column) for column in columns] == [1, 1, 3]
    assert "What it is about" in columns[0][0]
    assert columns[0][0].count("<pre>") == 2  # the program and what it shows
    assert "Two." in columns[2][2]
    assert "Two." not in columns[2][1]
    assert "your turn" not in str(columns)


def test_long_texts_become_several_slides_and_programs_stay_whole():
    text = "\n\n".join(["word " * 60] * 5)
    parts = list(decks.pieces(text))
    assert len(parts) == 3
    assert "".join(parts).split() == text.split()
    program = "```python\n" + "x = 1\n\n" * 200 + "```"
    assert [part.strip() for part in decks.pieces(f"{'word ' * 150}\n\n{program}")] == [
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


@by_night
def test_a_worksheet_is_a_sheet_of_paper(browser, tmp_path):
    """Two sides: the graph, the questions."""
    handouts.write_worksheets(tmp_path, LESSONS[:1])
    for path in sorted(tmp_path.iterdir()):
        page = browser.open(path)
        data = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert len(re.findall(rb"/Type\s*/Page\b", data)) == 2, path
        assert page.problems() == []
        page.call("Page.close")


# Each slide as the wall has it: (its place, height, width, elements that can be scrolled, its text).
SLIDES = """Reveal.getSlides().map((slide, place) => {
    const style = slide.style.cssText;
    slide.style.setProperty("display", "block", "important");
    const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflow)
        && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1);
    const seen = [place, slide.scrollHeight, slide.scrollWidth, [...slide.querySelectorAll("*")].filter(scrolls).length,
        slide.textContent];
    slide.style.cssText = style;
    return seen;
})"""


@pytest.fixture
def on_the_wall(browser, tmp_path):
    """A function that shows a page of slides in a browser, and looks at each: nothing is cut, nothing scrolls."""
    try:
        runtime.bring("slides")
    except runtime.UnavailableError as reason:
        pytest.skip(str(reason))
    pages = []

    def show(text):
        path = tmp_path / "deck.html"
        path.write_text(text, encoding="utf-8")
        page = Page(browser, 1280, 720)
        pages.append(page)
        page.media()
        page.go(path.as_uri())
        end = time.monotonic() + 120
        while not page.run("'ready' in document.documentElement.dataset"):
            assert time.monotonic() < end
            time.sleep(0.1)
        slides = page.run(SLIDES)
        assert [slide[:4] for slide in slides if slide[1] > 720 or slide[2] > 1280 or slide[3]] == []
        assert page.run("document.querySelectorAll('.katex-error').length") == 0
        return page, [slide[4] for slide in slides]

    yield show
    for page in pages:
        assert page.problems() == []
        page.call("Page.close")


AT = "Reveal.getIndices().h"


@by_night
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_slides_of_a_lesson_fit_the_wall(path, on_the_wall):
    page, texts = on_the_wall(decks.slides(read(path)))
    assert len(texts) >= sum(map(len, decks.columns_of(read(path))))
    assert not any(["assert check(" in text for text in texts])
    page.press_hard("ArrowRight")
    assert page.run(AT) == 1


@by_night
def test_what_is_too_tall_goes_on_without_a_loss(on_the_wall):
    """Programs, lists, tables, long texts and wide formulas; in the order in which they came."""
    program = "\n".join([f"value_{k} = {k}" for k in range(90)])
    rows = "\n".join([f"| row{k} | {k} |" for k in range(60)])
    items = "\n".join([f"* item{k}" for k in range(50)])
    formula = "$$" + " + ".join([f"x_{{{k}}}" for k in range(60)]) + "$$"
    text = f"## Long\n\n{'Words. ' * 90}\n\n| a | b |\n|---|---|\n{rows}\n\n{items}\n\n{formula}\n"
    cell = nbformat.v4.new_code_cell(program, outputs=[nbformat.v4.new_output("stream", text=program)])
    page, texts = on_the_wall(
        decks.slides(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# 1 · T\n\n{text}"), cell]))
    )
    everything = "".join(texts)
    for pattern, count in (("row", 60), ("item", 50), (r"value_\d+ = ", 180), ("Words", 90)):
        assert len(re.findall(pattern, everything)) == count
    assert [int(k) for k in re.findall(r"value_(\d+) =", everything)] == [*range(90)] * 2
    assert len(texts) > 6
    assert page.run("document.querySelectorAll('math').length") == 1
    assert page.run("[...document.querySelectorAll('math msub')].length") == 60


LECTURES = sorted(decks.LECTURES.glob("*.md"))


def test_an_answer_on_a_slide_does_not_check_itself():
    answer = (
        "Two.\n\n```python\nx = 1\nassert check(a=x, b=(\n    2,\n))\ny = 2\n```\n\n```python\nassert check(a=1)\n```"
    )
    assert decks.without_checks(answer) == "Two.\n\n```python\nx = 1\ny = 2\n```"
    for path in LESSONS if NIGHTLY else LESSONS[:3]:
        assert "assert check(" not in str(decks.columns_of(read(path))).replace('<span class="n">', ""), path


@in_browser
@pytest.mark.parametrize("path", by_day(LECTURES, {"03_broadcasting_backwards"}, lambda path: path.stem))
def test_a_lecture_fits_the_wall_and_its_arrows_step(path, on_the_wall):
    page, texts = on_the_wall(decks.lecture(path))
    written = decks.lecture_slides(path.read_text(encoding="utf-8"), path.name)
    assert len(texts) == len(written)  # one idea a slide: none goes on
    for place, slide in enumerate(written):
        if decks.KEYS not in slide:
            continue
        page.run(f"Reveal.slide({place})")
        live = "Reveal.getCurrentSlide().querySelector('.autoflow-live')"
        if page.run(f"!!{live}"):
            for _ in range(3):
                page.press_hard("ArrowRight")
            assert page.run(f"[{live}.live.state.at, {AT}]") == [3, place]
            page.press_hard("ArrowLeft")
            assert page.run(f"[{live}.live.state.at, {AT}]") == [2, place]
            page.press_hard("PageDown")
        else:
            picture = "Reveal.getCurrentSlide().querySelector('.autoflow-picture > div:not([hidden])')"
            where = f"{picture}.shadowRoot.querySelector('.where').textContent"
            last = int(page.run(where).split("/")[1].split()[0])
            for step in range(1, last + 1):
                page.press_hard("ArrowRight")
                assert page.run(where).startswith(f"{step} / {last}")
            page.press_hard("ArrowRight")  # nothing is left to step
        assert page.run(AT) == place + 1
    page.run("Reveal.slide(1)")
    window = "other = document.body.appendChild(document.createElement('iframe')), other.contentWindow"
    page.run(f"window.open = () => ({window}), 1")
    page.press("s")
    assert page.run("other.contentDocument.body.textContent").startswith("2 of")
    page.run("Reveal.next()")
    assert page.run("other.contentDocument.body.textContent").startswith("3 of")


@pytest.mark.parametrize("option", ["--worksheets", "--slides"])
def test_the_command(option, tmp_path, monkeypatch):
    owner = {"--worksheets": handouts, "--slides": decks}[option]
    done = []
    monkeypatch.setattr(owner, f"write_{option[2:]}", lambda folder, paths: done.append((folder, paths)))
    make = loaded("notebooks/make.py")
    assert make.main([option, str(tmp_path), "03"]) == 0
    ((folder, paths),) = done
    assert (folder, [path.stem for path in paths]) == (Path(tmp_path), ["03_broadcasting_backwards"])
    assert make.main([option, str(tmp_path), "99"]) == 1
