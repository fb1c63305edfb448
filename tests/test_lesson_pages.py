"""The pages of lessons: every question has its boxes, Python reads what is typed there, and the page in a browser.

By day in front of a stand-in for Python's worker, since Python is 17 MB; what Python answers is tested without a
browser. By night ``test_site.py`` runs every lesson in its page.
"""

import base64
import functools
import html
import json
import re
import shutil

import pytest

pytest.importorskip("mistune")
pytest.importorskip("pygments")
pytest.importorskip("nbformat")
import chromium
import grading
import lab
import lessons
import nbformat
import playground
from chromium import by_night, in_browser
from sites import served

from autoflow.lessons.checks import questions_of

PATHS = lab.lessons()
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
ROWS = re.compile(r'data-name="(\w+)" data-template="(.*?)">(.*?)<output', re.DOTALL)
KNOWN = {f"notebooks/{path.name}": f"lessons/{path.stem}.html" for path in PATHS}


@pytest.fixture(autouse=True)
def as_stored(monkeypatch):
    monkeypatch.setenv("AUTOFLOW_LESSONS", "stored")


def lesson(path, folder):
    return lessons.Lesson(path, lessons.shown(path), KNOWN, folder)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A function: the lesson at a path with its boxes, and its HTML."""

    @functools.cache
    def fill(path):
        made = lesson(path, tmp_path_factory.mktemp(path.stem))
        made.fill()
        return made, "".join(made.html())

    return fill


@each
def test_every_question_has_its_boxes_and_every_cell_is_there(path, filled):
    """In order; a text's question ends a part, and its answer is folded into its form, nowhere else."""
    made, text = filled(path)
    parts = made.parts
    rows = ROWS.findall(text)
    assert [name for name, *_ in rows] == list(questions_of(made.name))
    assert all([boxes.count("<input") == html.unescape(template).count("...") for _, template, boxes in rows])
    assert text.count('<details class="hint">') == len(rows)
    forms = re.findall(r'<form class="ask".*?</form>', text, re.DOTALL)
    stored = nbformat.read(path, as_version=4).cells
    assert text.count("<details class='answer'>") == sum(["<summary>Answer</summary>" in c.source for c in stored])
    assert all(["<details class='answer'>" in form for form in forms])
    assert len(parts) == 1 + sum(["exercise" not in ROWS.search(form)[1] for form in forms])
    assert text.count('class="cell"') + len(forms) == sum([cell.cell_type == "code" for cell in stored])
    assert "<summary>Answer</summary>" not in re.sub(r'<form class="ask".*?</form>', "", text, flags=re.DOTALL)


def typed(part):
    """What somebody types for a part of an answer."""
    return f"{part}".replace("-", "−") if isinstance(part, (int, float)) and not isinstance(part, bool) else str(part)


def typed_answers(made, text):
    """What a page sends if all is right, but for questions that are answered by functions."""
    questions = questions_of(made.name)
    for name, template, _ in ROWS.findall(text):
        right = questions[name].right
        if callable(right):
            continue
        parts = list(right) if isinstance(right, (tuple, list, set)) else [right]
        texts = [typed(part) for part in parts] if template.count("...") == len(parts) else [", ".join(map(str, parts))]
        yield {"name": name, "template": html.unescape(template), "texts": texts}


def judged(made, asked):
    """What Python says of them, by name."""
    answer = json.loads(lessons.python().answer(made.name, json.dumps(asked)))
    assert not answer["needs"]
    return {row["name"]: row for row in answer["verdicts"]}


@each
def test_right_answers_are_read_from_their_boxes(path, filled):
    """And what is saved of them is Python that is right in the notebook, too."""
    made, text = filled(path)
    for name, row in judged(made, [*typed_answers(made, text)]).items():
        assert row["right"], row
        assert questions_of(made.name)[name].is_right(eval(row["source"], {}))


def ask(texts, name="dL_db", template="...", lesson="backprop_by_hand"):
    asked = [{"name": name, "template": template, "texts": texts}]
    answer = json.loads(lessons.python().answer(lesson, json.dumps(asked)))
    return answer["needs"], answer["verdicts"][0]


@pytest.mark.parametrize(("text", "right", "said"), [
    ("12", True, "12 is right"), ("6 · 2", True, "12 is right"), ("2³ + 4", True, "12 is right"),
    ("6", False, "6 is not right. That is b itself."), ("", False, "write your answer into the box"),
    ("12)", False, "This cannot be read: SyntaxError"), ("1/0", False, "This cannot be read: ZeroDivisionError"),
])  # fmt: skip
def test_what_is_typed_into_a_box(text, right, said):
    needs, verdict = ask([text])
    assert (needs, verdict["right"]) == (False, right)
    assert verdict["said"].startswith(said)
    assert questions_of("backprop_by_hand")["dL_db"].hint not in verdict["said"]  # that is for who asks
    compile(verdict["source"], "", "eval")


def test_other_boxes():
    """Decimal commas, words without quotes, shapes; a name of the lesson is asked for, another one is no answer."""
    assert ask(["0,25"], "p_first", lesson="digits")[1]["right"]
    assert ask(["24 × 24"], "shape", lesson="convolution_and_attention")[1]["source"] == "(24 , 24)"
    assert ask(["Product"], "sends_first", lesson="micro_engine")[1] == {
        "name": "sends_first", "right": True, "said": "'Product' is right", "source": "'Product'",
    }  # fmt: skip
    assert ask(["2,097,151"], "calls", lesson="micro_engine")[1]["right"]  # as texts write it
    assert ask(["0,25", "3/4"], "exercise_1", "(..., ...)", "backward_by_hand")[1]["right"]
    assert ask(["3 × 5", "13"], "product", "(..., ...)", "forward_mode")[1]["right"]
    assert ask(["48 · 361", "173,280,000"], "exercise_2", "(..., ...)", "names_with_a_transformer")[1]["right"]
    assert ask(["d", "a"], "stay", "(..., ...)", "debugging")[1]["right"]
    needs, verdict = ask(["b.grad"])
    assert needs
    assert verdict["source"] == "..."
    lessons.python().run("import autoflow as af\nb = af.Variable(6.0)\n(b**2).backward()")
    assert ask(["b.grad"]) == (False, {"name": "dL_db", "right": True, "said": "12 is right", "source": "b.grad"})
    lessons.python().begin()
    assert ask(["b.grad"])[0]


def test_what_a_cell_shows():
    """As a notebook does: the last value, unless a semicolon follows; what was printed; an error with its line."""

    def run(code):
        return json.loads(lessons.python().run(code))

    lessons.python().begin()
    first = run("x = af.Variable(2.0)\nprint('hi')\n3 * 4")
    assert first == {"printed": "hi\n", "shown": [{"text": "12"}], "error": None}
    assert run("3 * 4;")["shown"] == run("y = 1  # ;")["shown"] == []
    assert run("y = x**3\n\n1 / 0")["error"] == "line 3: ZeroDivisionError: division by zero"
    assert run("f(")["error"].startswith("line 1: SyntaxError")
    assert run("raise SystemExit")["error"] == "line 1: SystemExit"
    assert "autoflow-picture" in run("y = x**3\ny.backward()\ny.graph()")["shown"][0]["html"]
    assert "x^{3}" in run("y.formula()")["shown"][0]["latex"]


def test_figures_follow_the_theme_unless_there_is_an_image_in_them():
    pytest.importorskip("matplotlib")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3], color='black')\nplt.xlabel('steps')\n%s"

    def figure(more):
        (made,) = json.loads(lessons.python().run(code % more))["shown"]
        return made["alt"], base64.b64decode(made["image"].partition(",")[2]).decode()

    alt, svg = figure("plt.ylabel('loss');")
    assert alt == "picture, steps, loss"
    assert "#000000" not in svg
    assert svg.count("light-dark(") > 3
    assert "light-dark(" not in figure("plt.imshow([[1, 2], [3, 4]]);")[1]


# -- in a browser, with a stand-in for Python

PYTHON = """
globalThis.asked = [];
globalThis.Worker = class {
  postMessage({ base, id, ask, args }) {
    const reply = (data) => setTimeout(() => this.onmessage({ data }), 0);
    if (base) return reply({ ready: true });
    asked.push(ask === "run" ? args[0] : ask);
    if (ask === "run") return reply({ id, result: { printed: "ran", shown: [{ html: "<b>drawn</b>" }], error: null } });
    const verdicts = JSON.parse(args[1]).map(({ name, texts }) => (globalThis.known?.[name]?.[texts.join("; ")] ??
      { name, right: texts.join() === "12", said: `${texts} it is`, source: texts.join() || "..." }));
    reply({ id, result: { needs: false, verdicts } });
  }
  terminate() {}
};
"""


@pytest.fixture(scope="module")
def stored_site(tmp_path_factory):
    """One lesson, with what its page needs but Python."""
    out = tmp_path_factory.mktemp("lessons")
    lessons.build(out, None)
    for name in ("site.css", "interpreter.js", "page.js", "python.js", "math.js", "icon.svg"):
        shutil.copyfile(playground.PAGE / name, out / name)
    folder = out / "lessons"
    folder.mkdir()
    shutil.copyfile(PATHS[0], folder / PATHS[0].name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOFLOW_LESSONS", "stored")
        text = lessons.page(lesson(PATHS[0], folder), "A lesson", "", "")
    (folder / "lesson.html").write_text(text, encoding="utf-8")
    with served(out) as (url, _):
        yield f"{url}lessons/lesson.html", folder


@pytest.fixture(scope="module")
def site(stored_site):
    return stored_site[0]


def fresh(browser, address, source=PYTHON):
    """A page whose reader was never there."""
    page = chromium.Page(browser, 400, 800)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    page.go(address)
    page.run("localStorage.clear()")
    page.go(f"{address}?fresh")
    return page


@pytest.fixture
def page(site, browser):
    page = fresh(browser, site)
    yield page
    page.call("Page.close")


OPEN = "document.querySelectorAll('.part.open').length"
TYPE = """(() => {
  const boxes = document.querySelectorAll('form.ask')[%d].querySelectorAll('input');
  %s.forEach((text, k) => { boxes[k].value = text; boxes[k].dispatchEvent(new Event('input', { bubbles: true })); });
  boxes[0].focus();
})()"""
SAID = "[...document.querySelectorAll('form.ask')[0].querySelectorAll('output')].map((o) => o.textContent)"


def wait(page, expression):
    page.run(f"""new Promise((done) => {{
        const look = () => ({expression}) ? done() : setTimeout(look, 20);
        look();
    }})""")


@in_browser
def test_what_follows_a_question_appears_when_it_was_tried(page, site):
    """With the keyboard; it is still there after a reload, as the answers are. Nothing is wider than a telephone."""
    assert page.run(OPEN) == 1
    page.run(TYPE % (0, "['', '', '', '']"))
    page.press_hard("Enter", text="\r")
    wait(page, f"{SAID}.every(Boolean)")
    assert page.run(OPEN) == 1  # nothing was tried
    page.run(TYPE % (0, "['12', '36', '', '24']"))
    page.press_hard("Enter", text="\r")
    wait(page, f"{OPEN} === 2")
    assert page.run(SAID) == ["✓ 12 it is", "· 36 it is", "·  it is", "· 24 it is"]
    assert page.run("document.getElementById('count').textContent") == "1 of 13 right"
    page.run("document.querySelectorAll('.part.open .gate button')[1].click()")
    assert page.run(OPEN) == 3
    page.run("document.querySelector('.part:nth-of-type(3) details.answer').open = true")
    wait(page, f"{OPEN} === 4")
    page.go(f"{site}?again")
    assert page.run(OPEN) == 4
    assert page.run("document.querySelector('form.ask input').value") == "12"
    assert page.run("document.documentElement.scrollWidth") == 400
    assert page.run("[...document.querySelectorAll('.gate')].every((gate) => gate.hidden)")
    fields = "[...document.querySelectorAll('input, textarea')]"
    assert page.run(f"{fields}.filter((field) => !field.labels.length && !field.ariaLabel).length") == 0
    page.run("localStorage.clear()")
    page.go(f"{site}?link#a-neuron")
    assert page.run(OPEN) == 3  # up to where a link leads


@by_night
def test_a_cell_runs_after_those_before_it_and_can_be_changed(page):
    page.run("document.querySelectorAll('.cell .edit')[1].click()")
    page.run("""(() => {
        const area = document.querySelector('.cell textarea');
        area.value = 'x = 7';
        area.dispatchEvent(new Event('input', { bubbles: true }));
    })()""")
    page.run("document.querySelectorAll('.cell .run')[1].click()")
    wait(page, "document.getElementById('status').textContent === 'Done'")
    ran = page.run("asked")
    assert ran[0].startswith("import matplotlib.pyplot")
    assert ran[1:] == ["x = 7"]
    assert page.run("document.querySelectorAll('.cell .output')[1].textContent") == "ran"
    frame = page.run("document.querySelector('iframe.drawing').getAttribute('sandbox')")
    assert frame == "allow-scripts"  # no origin: what is drawn can reach nothing
    page.run("document.querySelectorAll('.cell .run')[1].click()")
    wait(page, "asked.length === 3 && document.getElementById('stop').hidden")
    assert page.run("asked")[2:] == ["x = 7"]
    page.run("document.querySelectorAll('.cell .run')[3].click()")
    wait(page, "asked.length === 5 && document.getElementById('stop').hidden")
    page.run("document.querySelector('.cell textarea').dispatchEvent(new Event('input', { bubbles: true }))")
    page.run("document.querySelectorAll('.cell .run')[3].click()")  # with all that the changed one may have changed
    wait(page, "asked.length === 8 && document.getElementById('stop').hidden")
    assert page.run("asked.slice(5)") == ["x = 7", *page.run("asked.slice(3, 5)")]


@in_browser
def test_a_verdict_goes_when_its_answer_is_changed(page):
    page.run(TYPE % (0, "['12', '36', '', '12']"))
    page.press_hard("Enter", text="\r")
    wait(page, f"{SAID}.every(Boolean)")
    count = "document.getElementById('count').textContent"
    assert page.run(count) == "2 of 13 right"
    box = "document.querySelectorAll('form.ask input')[0]"
    page.run(f"{box}.value = '13'; {box}.dispatchEvent(new Event('input', {{ bubbles: true }}))")
    assert page.run(SAID) == ["", "· 36 it is", "·  it is", "✓ 12 it is"]
    assert page.run(f"[{count}, document.querySelectorAll('.question.right').length]") == ["1 of 13 right", 1]


KEEP_SAVED = "globalThis.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#saved'; }"


@by_night
@each
def test_a_lesson_is_answered_in_its_page_and_graded(path, filled, stored_site, browser, tmp_path):
    """Each question first wrongly: what follows appears, no hint and no answer is open. Then rightly: it is counted, is
    there after a reload, and is worth its point in the file that the reader saves."""
    address, folder = stored_site[0].replace("lesson.html", f"{path.stem}.html"), stored_site[1]
    made, text = filled(path)
    shutil.copyfile(path, folder / path.name)
    (folder / f"{path.stem}.html").write_text(lessons.page(lesson(path, folder), "A lesson", "", ""), encoding="utf-8")
    names = [name for name, *_ in ROWS.findall(text)]
    right = {row["name"]: row for row in typed_answers(made, text)}
    wrong = [row | {"texts": ["−7.25" for _ in row["texts"]]} for row in right.values()]
    known = {name: {"; ".join(right[name]["texts"]): row} for name, row in judged(made, [*right.values()]).items()}
    for name, row in judged(made, wrong).items():
        assert not row["right"]
        known[name]["; ".join(["−7.25" for _ in right[name]["texts"]])] = row
    one = fresh(browser, address, f"globalThis.known = {json.dumps(known)};{PYTHON}")
    points = 0
    for k, form in enumerate(re.findall(r'<form class="ask".*?</form>', text, re.DOTALL)):
        here = f"document.querySelectorAll('form.ask')[{k}]"
        said = f"[...{here}.querySelectorAll('output')].map((o) => o.textContent)"
        asked, before = [name for name, *_ in ROWS.findall(form)], one.run(OPEN)
        one.run(TYPE % (k, json.dumps(["−7.25"] * form.count("<input"))))
        one.run(f"{here}.querySelector('button.main').click()")
        wait(one, f"{said}.every(Boolean)")
        assert one.run(OPEN) == before + ("exercise" not in asked[0])
        if {*asked} <= {*right}:
            points += len(asked)
            one.run(TYPE % (k, json.dumps([part for name in asked for part in right[name]["texts"]])))
            one.run(f"{here}.querySelector('button.main').click()")
            wait(one, f"{said}.every((text) => text.startsWith('✓'))")
    assert one.run("document.querySelectorAll('details.hint[open], details.answer[open]').length") == 0
    one.go(f"{address}?again")
    assert one.run("document.getElementById('count').textContent") == f"{points} of {len(names)} right"
    assert one.run(OPEN) == len(made.parts)
    one.run(KEEP_SAVED)
    one.run("document.getElementById('save').click()")
    wait(one, "saved.at(-1)?.type.includes('ipynb')")
    book = nbformat.reads(one.run("saved.at(-1).text()"), as_version=4)
    checks = [
        cell.source[cell.source.index("check(") :] for cell in book.cells if re.search(r"^check\(", cell.source, re.M)
    ]
    begin = f'from autoflow.lessons import checker\ncheck = checker("{made.name}")'
    book.cells = [nbformat.v4.new_code_cell(source) for source in [begin, *checks]]
    nbformat.write(book, tmp_path / path.name)
    assert grading.grade(tmp_path / path.name, made.name).points == points


@by_night
def test_my_answers_are_a_notebook(page):
    """Without answers and outputs, with what was typed and changed, and with the name."""
    page.run(KEEP_SAVED)
    page.run("document.getElementById('name').value = 'Ada'; document.getElementById('name').oninput()")
    page.run(TYPE % (0, "['12', '36', '', '']"))
    page.press_hard("Enter", text="\r")
    wait(page, f"{OPEN} === 2")
    page.run("document.getElementById('save').click()")
    wait(page, "saved.at(-1)?.type.includes('ipynb')")  # the first one is Python's worker
    book = nbformat.reads(page.run("saved.at(-1).text()"), as_version=4)
    nbformat.validate(book)
    assert book.metadata.autoflow == {"lesson": "backprop_by_hand", "student": "Ada"}
    sources = [cell.source for cell in book.cells]
    assert "check(dL_db=12, dL_da=36, dL_dx=..., dL_dy=...)" in sources
    assert "check(exercise_1=(..., ...))" in sources
    assert "<details>" not in "".join(sources)
    assert not [cell for cell in book.cells if cell.get("outputs")]
