"""The site: its front page in a real browser, what it refuses, what it needs of others.

By day without Python, which is 17 MB: what the page shows before it is there. By night all of it, with Python;
``AUTOFLOW_SHOTS=folder`` leaves screenshots there, to be looked at.
"""

import base64
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
import zlib
from pathlib import Path

import chromium
import numpy as np
import pytest
from chromium import by_night, in_browser
from firefox import firefox
from sites import Playground, served

pytest.importorskip("mistune")
pytest.importorskip("pygments")
pytest.importorskip("nbformat")
import lab
import lists
import live_pages
import make
import pages
import playground
import runtime
import search

import autoflow as af
from examples import EXAMPLES

ROOT = Path(__file__).parent.parent
os.environ.setdefault("AUTOFLOW_LESSONS", "stored")  # only by night, for the whole site, lessons are run
PICTURE = "!!document.querySelector('.autoflow-picture > div')"
VALUES = "[...document.querySelectorAll('#table tbody tr')].map((r) => r.cells[2].textContent)"


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """The front page without Python: examples are shown, nothing runs."""
    out = tmp_path_factory.mktemp("still")
    playground.build(out, None)
    with served(out) as (url, _):
        yield url


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The whole site, as ``make site`` makes it."""
    try:
        runtime.bring("playground", "lessons")
    except runtime.UnavailableError as reason:
        pytest.skip(str(reason))
    out = tmp_path_factory.mktemp("whole") / "site"
    pytest.importorskip("pdoc")
    settings = os.environ | {"PYTHONPATH": str(ROOT), "AUTOFLOW_LESSONS": ""}
    subprocess.run([sys.executable, ROOT / "site" / "make.py", out], check=True, env=settings)
    return out


@pytest.fixture
def open_page(browser):
    """A function that opens the front page; at its end nothing was asked of another host."""
    opened = []

    def enter(url, **options):
        page = Playground(browser, **options)
        opened.append((page, url))
        page.enter(url)
        return page

    yield enter
    for page, url in opened:
        page.watch()
        page.run("0")
        host = re.match(r"http://[^/]+/", url)[0]
        assert [u for u in page.requests() if not u.startswith((host, f"blob:{host}", "data:", "about:"))] == []
        page.call("Page.close")


def link(code):
    packer = zlib.compressobj(9, wbits=-15)
    data = packer.compress(code.encode()) + packer.flush()
    return "#code=" + base64.urlsafe_b64encode(data).decode().rstrip("=")


# -- by day: before Python is there


@in_browser
def test_the_first_picture_is_there_at_once(still, open_page):
    page = open_page(still)
    assert page.run(VALUES) == ["−1.123", "−0.7487", "1"]
    assert page.in_view(PICTURE)
    assert page.run("document.getElementById('examples').options.length") == len(EXAMPLES)
    page.run("document.getElementById('tab-sliders').click()")
    assert page.in_view("!!document.querySelector('.autoflow-explore > div')")
    moved = """(() => {
        const root = document.querySelector('.autoflow-explore > div').shadowRoot, x = root.querySelector('input');
        x.value = 1;
        x.dispatchEvent(new Event('input'));
        const first = root.querySelector('.result').textContent;
        [...root.querySelectorAll('button')].find((b) => b.textContent === 'Step downhill').click();
        return [first, root.querySelector('.said').textContent];
    })()"""
    first, said = page.in_view(moved)
    assert first == "loss = 0.01912"  # (tanh 1.3 − 1)²
    assert said.startswith("step 1: loss falls")  # the first thing that a visitor tries goes well
    page.run("document.getElementById('examples').selectedIndex = 1; document.getElementById('examples').onchange()")
    page.until(f"{VALUES}[3] === '1'", 20)
    assert page.run(VALUES) == ["−2822.5", "−1696", "−2118.4", "1"]


@by_night
def test_the_front_page_opens_with_a_network_that_trains(still, open_page):
    """Without Python, which is loaded when the editor comes into view; in at most 500 kB."""
    page = open_page(still)
    live = "document.querySelector('#network .autoflow-live').live"
    assert not page.run(f"{live}.state.playing")  # for readers who prefer less motion
    page.media(reduced_motion=False)
    page.enter(f"{still}?again")
    page.until(f"{live}.state.at > 5", 30)
    assert page.run(f"{live}.losses.at(-1) < {live}.losses[0]")
    asked = [url for url in page.requests() if url.startswith(still) and "?again" not in url]
    assert not any(["vendor/" in url or "python.js" in url for url in asked])
    sizes = [len(urllib.request.urlopen(url).read()) for url in {*asked}]
    assert sum(sizes) < 500_000
    page.run("document.getElementById('code').scrollIntoView({ block: 'center' })")
    page.until("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('python.js'))", 20)
    page.run("document.getElementById('panel').scrollIntoView()")
    page.until(f"!{live}.state.playing", 20)  # out of sight


@by_night
def test_tab_indents_where_python_does_and_leaves_the_editor_elsewhere(still, open_page):
    page = open_page(still)

    def tabs(code, count=1, escape=False):
        """Where the focus is, and what the editor has got, after so many times Tab at the end of this program."""
        page.type_program(code)
        if escape:
            page.press("Escape")
        for _ in range(count):
            page.press_hard("Tab")
        return page.run("[document.activeElement.id, document.getElementById('code').value]")

    programs = {"for k in range(3):  # so\n": 4, "if x:\n    if y:\n        a = 1\n\n": 8, "x = 1\n": 0, "": 0, "x": 0}
    for code, indent in programs.items():
        deepest = code + " " * indent
        assert tabs(code, indent // 4) == ["code", deepest]
        assert tabs(code, indent // 4 + 1) == ["run", deepest]  # no trap, however long the line is empty
        assert tabs(code, 1, escape=True) == ["run", code]


@in_browser
def test_a_program_in_a_link_is_shown_and_not_run(still, open_page):
    hostile = "<img src=x onerror=alert(1)></textarea><script>document.title = 'owned'</script>\nprint('ran')\n"
    page = open_page(still + link(hostile))
    assert page.run("document.getElementById('code').value") == hostile
    assert page.run("document.getElementById('colours').textContent").strip() == hostile.strip()
    assert page.run("document.querySelectorAll('img, .paper script').length") == 0
    assert page.run("document.title") == "autoflow: type NumPy, see every gradient"
    assert page.run("document.getElementById('instead').textContent").endswith("Read it, then press Run.")
    assert page.run("document.getElementById('printed').hidden")


@in_browser
def test_a_damaged_link_is_told(still, open_page):
    for text in ("#code=%%%", "#code=" + "A" * 50, link("#" * 10_000_000)):
        page = open_page(still + text)
        assert page.run("document.getElementById('code').value").startswith("# The link is damaged")


@by_night
def test_a_link_comes_back(still, open_page):
    page = open_page(still)
    code = "x = af.Variable(2.0)  # ∂ é 日本\ny = x**3\n"
    page.type_program(code)
    page.run("document.getElementById('share').onclick()")
    fragment = page.run("location.hash")
    assert open_page(still + fragment).run("document.getElementById('code').value") == code


@in_browser
def test_the_frame_of_the_views_can_only_draw(still, open_page):
    page = open_page(still)
    assert page.in_view(PICTURE)
    assert page.in_view("self.origin") == "null"
    blocked = """new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective), { once: true });
        fetch('%s').catch(() => {});
    })""".replace("%s", still)
    page.in_view(f"globalThis.blocked = '', {blocked}.then((it) => {{ blocked = it; }}), 1")
    assert page.in_view("globalThis.blocked") == "connect-src"
    assert page.run("document.getElementById('view').getAttribute('sandbox')") == "allow-scripts"


# -- by night: with Python


@pytest.fixture
def site(whole):
    with served(whole) as (url, _):
        yield url


def normal(answer):
    """What is the same on every machine: Pyodide's integers have 32 bits, and its last digit may differ."""
    rows = [(row["title"], row["value"][:6], row["gradient"][:6]) for row in answer["rows"]]
    return rows, answer["printed"].replace("int32", "int64"), answer["error"]


@by_night
def test_every_example_runs_as_it_was_drawn(whole, site, open_page):
    page = open_page(site)
    page.wait_for_python()
    for number, (name, code) in enumerate(EXAMPLES):
        drawn = json.loads((whole / "examples" / f"{number}.json").read_text())["answer"]
        page.run_program(code)
        rows = page.run(
            "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        )
        shown = {
            "rows": [dict(zip(("title", "value", "gradient"), row, strict=True)) for row in rows],
            "printed": page.shown()["printed"], "error": None,
        }  # fmt: skip
        assert normal(shown) == normal(drawn), name
        for tab, there in (("graph", PICTURE), ("formula", "!!document.querySelector('math')")):
            page.run(f"document.getElementById('tab-{tab}').click()")
            assert page.in_view(there), (name, tab)
        page.run("document.getElementById('tab-graph').click()")
    assert page.complaints() == []
    page.keep("last_example")


@by_night
def test_programs_that_go_wrong_leave_the_page_usable(site, open_page):
    page = open_page(site)
    page.wait_for_python()
    for code, error in [
        ("x = 1\nprint('hi')\ny = x / 0", "Line 3: ZeroDivisionError: division by zero"),
        ("x = (1,\ny = 2", "Line 1: SyntaxError: '(' was never closed"),
        ("def f():\n    return f()\nf()", "Line 2: RecursionError: maximum recursion depth exceeded"),
        ("exit(3)", "Line 1: SystemExit: 3"),
        ("[np.ones(1 << 26) for k in range(8)]", "Line 1: numpy._core._exceptions._ArrayMemoryError"),  # 4 GB
    ]:
        assert page.run_program(code)["error"].startswith(error)
        number = re.search(r"\d+", error)[0]
        assert page.run("document.querySelector('#lines .bad').textContent").strip() == number
    shown = page.run_program("for k in range(1_000_000):\n    print(k)")
    assert shown["printed"].endswith("... and 6,868,890 characters more")
    page.type_program("while True:\n    pass")
    page.run("document.getElementById('run').click()")
    time.sleep(1)
    page.run("document.getElementById('run').click()")
    page.wait_for_python()
    long = "x = af.Variable(1.0)\ny = x\nfor k in range(20_000):\n    y = y + 1\ny.backward()\nprint(x.grad)\ndel y"
    assert page.run_program(long)["printed"] == "1.0\n"
    assert page.run_program("x = af.Variable(3.0)\ny = x**3")["rows"] == [["x", "3", "27"], ["y", "27", "1"]]


@by_night
def test_a_hostile_program_reaches_nothing(site, open_page):
    page = open_page(site)
    page.wait_for_python()
    names = ["caches", "indexedDB", "fetch", "XMLHttpRequest", "WebSocket", "Worker", "importScripts"]
    shown = page.run_program(f"import js\nprint([name for name in {names} if hasattr(js, name)])")
    assert shown["printed"] == "[]\n"
    assert "Content Security Policy" in page.run_program("import js\njs.eval('1')")["error"]
    assert page.run_program("from pyodide.http import pyfetch\nimport js\njs.fetch('https://example.org')")["error"]
    told = page.run_program(
        "import js\njs.postMessage('{}')\nx = af.Variable(1.0, name='<script>1</script>')\nz = x * 2"
    )
    assert told["rows"][0][0] == "<script>1</script>"
    assert page.in_view(PICTURE)


@by_night
def test_without_a_network(whole, open_page):
    with served(whole) as (url, end):
        page = open_page(url)
        page.wait_for_python()
        page.until("navigator.serviceWorker.controller !== null")
        end()
        page.enter(url)
        page.wait_for_python()
        assert page.run_program("x = af.Variable(3.0)\ny = x**3")["rows"][0] == ["x", "3", "27"]
        page.run("document.getElementById('tab-formula').click()")
        assert page.in_view("!!document.querySelector('math')")


@by_night
def test_with_the_keyboard_alone(site, open_page):
    page = open_page(site)
    page.wait_for_python()
    page.type_program("x = af.Variable(2.0)\ny = x * x")
    page.press_hard("Enter", modifiers=2)
    page.until("/^Done/.test(document.getElementById('status').textContent)")
    assert page.run(VALUES) == ["4", "1"]
    seen = []
    for _ in range(12):
        page.press_hard("Tab")
        page.until("document.activeElement !== document.body")  # a frame of another process says so a little later
        seen.append(page.run("document.activeElement.id"))
    assert seen[:3] == ["run", "tab-graph", "view"]
    page.run("document.getElementById('tab-graph').focus()")
    page.press_hard("ArrowRight")
    assert page.run("document.activeElement.id") == "tab-sliders"
    assert page.in_view(
        "!!document.querySelector('input[type=range]') || !!document.querySelector('.autoflow-explore')"
    )


@by_night
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 800, 390])
def test_sizes_and_themes(site, open_page, width, dark):
    page = open_page(site, width=width, height=1300, dark=dark)
    assert page.in_view(PICTURE)
    assert page.run("document.documentElement.scrollWidth") <= width
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(17, 22, 28)" if dark else "rgb(255, 255, 255)")
    assert page.in_view("getComputedStyle(document.documentElement).backgroundColor") == background
    page.keep(f"front_{width}_{'dark' if dark else 'light'}")


OTHERS = {"index.html", "api/index.html", "drawing.html"}  # this leads to another at once, that waits for a drawing


@by_night
def test_every_page_shows_itself_without_another_host(whole, site, browser):
    page = chromium.Page(browser, 1280, 900)
    page.media()
    paths = sorted([path.relative_to(whole).as_posix() for path in whole.rglob("*.html") if "lab" not in path.parts])
    assert len(paths) > 40
    for path in [p for p in paths if p not in OTHERS]:
        page.go(site + path)
        assert len(page.text()) > 100, path
        assert page.run("document.querySelectorAll('.katex-error').length") == 0, path
    assert [p for p in page.problems() if not p.startswith(f"request: {site}")] == []


LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
READ = (
    "index.html", "search.html?q=grad", "live/index.html", "live/logistic.html", "lessons/index.html",
    f"lessons/{Path(LESSONS[3]).stem}.html", "docs/index.html", "docs/glossary.html", "docs/live.html", "licences.html",
)  # fmt: skip
# Numbers on a card are no label of it, and change at every frame; its name begins with its title.
RULES = {"label-content-name-mismatch": {"enabled": False}}


@by_night
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessibility_by_axe(whole, browser, dark):
    """No violation of WCAG 2.2, A and AA, nor of the best practices of axe-core; shadow roots and frames included."""
    try:
        axe = (runtime.bring("tests") / "axe.min.js").read_text(encoding="utf-8")
    except runtime.UnavailableError as reason:
        pytest.skip(str(reason))
    page = chromium.Page(browser, 1280, 900)
    page.media(dark=dark)
    with served(whole) as (url, _):
        found = {}
        for path in READ:
            page.go(url + path)
            time.sleep(1)
            page.run(f"{axe};0")
            options = json.dumps({"iframes": False, "rules": RULES})
            answer = page.run(f"axe.run(document, {options}).then((it) => it.violations)")
            found[path] = [(one["id"], one["help"], [n["target"] for n in one["nodes"]][:3]) for one in answer]
    assert {path: some for path, some in found.items() if some} == {}


@by_night
def test_the_playground_in_firefox(site):
    with firefox() as page:
        page.go(site)
        page.until("document.documentElement.dataset.shown === ''")
        assert page.run(VALUES) == ["−1.123", "−0.7487", "1"]
        page.run("(document.getElementById('code').scrollIntoView(), 1)")
        page.until("/^Ready/.test(document.getElementById('status').textContent)", 300)
        for code, values, error in (
            ("x = af.Variable(3.0)\ny = x**3", ["27", "1"], ""),
            ("x = 1\ny = x / 0", ["27", "1"], "Line 2: ZeroDivisionError: division by zero"),  # the last good picture
        ):
            page.run(f"(document.getElementById('code').value = {json.dumps(code)}, 1)")
            page.run("(document.getElementById('run').click(), 1)")
            page.until("document.getElementById('run').textContent === 'Run'")
            assert page.run(VALUES) == values
            assert page.run("document.getElementById('error').textContent") == error
        assert {url.split("/")[2] for url in page.requests if url.startswith("http")} == {site.split("/")[2]}
        assert page.complaints == []


NOTEBOOK = "jupyterapp.shell.currentWidget"
CODE = f"{NOTEBOOK}.content.widgets.filter((cell) => cell.model.type === 'code')"


WAITING = f"{CODE}.filter((cell) => cell.model.executionCount === null && cell.model.sharedModel.source.trim()).length"
ERRORS = (  # of cells that should have none
    f"{CODE}.filter((cell) => !cell.model.getMetadata('tags')?.includes('raises-exception')).flatMap((cell) => "
    "cell.model.outputs.toJSON().filter((o) => o.output_type === 'error').map((o) => o.traceback.join(' ')))"
)


@by_night
@pytest.mark.parametrize("name", LESSONS)
def test_every_cell_of_every_lesson_runs_in_the_browser(whole, site, browser, name):
    """All that Python answers is read from the notebook's model: of the page only the cells in view are there."""
    if not (whole / "lab").exists():
        pytest.skip("JupyterLite is not installed")
    page = Playground(browser)
    page.navigate(f"{site}lab/notebooks/index.html?path={name}")
    page.until("typeof jupyterapp === 'object' && jupyterapp.shell.currentWidget?.content?.widgets?.length > 1")
    page.until(f"{NOTEBOOK}.sessionContext.kernelDisplayStatus === 'idle'", 240)
    page.run("void jupyterapp.commands.execute('notebook:run-all-cells')")
    page.until(f"{WAITING} === 0 || {ERRORS}.length > 0", 600)  # an error ends the run
    assert page.run(ERRORS) == []
    assert page.run(WAITING) == 0
    hosts = {url.split("/")[2] for url in page.requests() if url.startswith(("http", "ws"))}
    assert hosts == {site.split("/")[2]}
    page.keep(name.removesuffix(".ipynb"))
    page.call("Page.close")


@by_night
@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_runs_in_its_page(whole, site, browser, name):
    """All cells, with the packages that the page has loaded; a right answer is right."""
    page = Playground(browser)
    page.go(f"{site}lessons/{name.removesuffix('.ipynb')}.html")
    page.run("[...document.querySelectorAll('.cell .run')].at(-1).click()")
    said = "document.getElementById('status').textContent"
    page.until(f"{said} === 'Done' || document.querySelector('.cell .error') || /starts again/.test({said})", 600)
    assert page.run("[...document.querySelectorAll('.cell .error')].map((error) => error.textContent)") == []
    assert page.run(said) == "Done"
    hosts = {url.split("/")[2] for url in page.requests() if url.startswith("http")}
    assert hosts == {site.split("/")[2]}
    page.keep(f"{name.removesuffix('.ipynb')}-page")
    page.call("Page.close")


@by_night
def test_links_of_a_lesson_in_the_browser_lead_to_pages(whole, site, browser):
    """A term to its row of the glossary, the last line to the next lesson as a notebook."""
    if not (whole / "lab").exists():
        pytest.skip("JupyterLite is not installed")
    page = Playground(browser)
    page.navigate(f"{site}lab/notebooks/index.html?path={LESSONS[21]}")
    link = "[...document.querySelectorAll('.jp-RenderedMarkdown a')].find((link) => link.href.includes('%s'))"
    for part, leads_to in (
        ("/files/docs/glossary.html#device", f"{site}docs/glossary.html#device"),
        (f"/files/{LESSONS[2]}", f"{site}lab/notebooks/index.html?path={LESSONS[2]}"),
    ):
        page.until(f"!!({link % part})")
        page.run(f"({link % part}).scrollIntoView({{ block: 'center' }})")
        time.sleep(2)  # cells that come into view are drawn, and move it
        box = page.run(f"({link % part}).getBoundingClientRect().toJSON()")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        end, there = time.monotonic() + 60, []
        while leads_to not in there and time.monotonic() < end:
            page.watch()
            there = [target["url"] for target in browser.call("Target.getTargets")["targetInfos"]]
        assert leads_to in there
    glossary = chromium.Page(browser, 800, 600)
    glossary.go(f"{site}docs/glossary.html#device")
    assert glossary.run("document.querySelector(':target').parentElement.textContent").startswith("device")
    for opened in (glossary, page):
        opened.call("Page.close")


@by_night
def test_links_lead_to_pages(whole):
    for path in whole.rglob("*.html"):
        if not {"api", "lab"} & set(path.parts):
            links = re.findall(r'href="([^"#]*)', path.read_text(encoding="utf-8"))
            inside = [link for link in links if link and not re.match(r"https?:|mailto:", link)]
            inside = [link.partition("?")[0] for link in inside]
            assert [link for link in inside if not (path.parent / link).exists()] == [], path


# -- what is made, and of what


def test_examples_show_no_error_and_one_is_of_the_lesson():
    answer = json.loads(playground.runner().run(dict(EXAMPLES)["Three variables"]))
    assert [row["gradient"] for row in answer["rows"]] == ["−2822.5", "−1696", "−2118.4", "1"]
    for name, code in EXAMPLES:
        assert max(map(len, code.splitlines())) <= 75, name
        assert len(code.splitlines()) <= 20, name


@pytest.mark.parametrize(("code", "line", "text"), [
    ("x = 1\ny = x / 0", 2, "ZeroDivisionError: division by zero"), ("x = (1,", 1, "SyntaxError: '(' was never closed"),
    ("exit(3)", 1, "SystemExit: 3"), ("def f():\n    raise KeyError('k')\n\nf()", 2, "KeyError: 'k'"),
])  # fmt: skip
def test_an_error_is_an_answer(code, line, text):
    answer = json.loads(playground.runner().run(code))
    assert answer["error"] == {"text": text, "line": line}
    assert answer["rows"] == []


def test_what_is_shown_stays_when_the_next_program_fails():
    """Until it has a result of its own; also what was not asked for yet, by the names that it had."""
    python = playground.runner()
    python.run("w = af.Variable(3.0)\nloss = w**2")
    for wrong in ("loss = ", "1 / 0", "w = af.Variable(1.0)\nraise ValueError"):
        answer = json.loads(python.run(wrong))
        assert answer["stays"]
        assert answer["error"]
        assert "loss" in json.loads(python.pane("graph"))["html"]
    for package, told in (("matplotlib", True), ("matplotlip", False)):  # the browser has neither
        error = json.loads(python.run(f"raise ModuleNotFoundError('no', name='{package}.pyplot')"))["error"]
        assert ("The lessons" in error["text"]) is told
    answer = json.loads(python.run("a = af.Variable(2.0)\nb = a * 3\n1 / 0"))
    assert not answer["stays"]
    assert [row["title"] for row in answer["rows"]] == ["a", "b"]
    assert json.loads(python.run("print(1)"))["rows"] == []


def test_training_shows_the_gradients_of_its_last_backward():
    """After the step of the optimiser no pass is possible any more."""
    step = "    loss = np.mean((x @ w) ** 2 * w)\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    code = f"w = af.Variable([1.0, 2.0])\nx = np.eye(2)\nopt = af.optim.SGD([w], lr=0.5)\nfor k in range(2):\n{step}"
    answer = json.loads(playground.runner().run(f"{code}print(w.grad.tolist())"))
    shown = [float(number.replace("−", "-")) for number in answer["rows"][0]["gradient"].strip("[]").split(", ")]
    np.testing.assert_allclose(shown, json.loads(answer["printed"]), rtol=1e-4)
    assert answer["note"] == "gradients are those that the last backward() left in .grad"


def test_what_is_printed_is_kept_to_a_length_and_told_meanwhile():
    told = []
    python = playground.runner()
    python.OFTEN = -1.0
    answer = json.loads(python.run("for k in range(100_000):\n    print(k)\n7 * 6", told.append))
    assert answer["printed"].startswith("0\n1\n2\n")
    assert answer["printed"].endswith("\n... and 568,893 characters more")
    assert told[:2] == ["0", "0\n"]


def test_variables_get_the_readers_names():
    python = playground.runner()
    python.run("W = af.Variable([1.0, 2.0])\nk = af.Variable(3.0, name='given')\nh = W * k\nloss = np.sum(h)")
    view = json.loads(python.pane("sliders"))
    assert [row["title"] for row in view["inputs"]] == ["W[0]", "W[1]", "given"]
    assert "h" in json.loads(python.move([2.0, 2.0, 1.0]))["picture"]


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_sliders_of_arrays_are_drawn_in_the_frame(tmp_path, browser):
    python = playground.runner()
    python.run("W = af.Variable([1.0, 2.0])\nloss = np.sum(W * W)")
    path = tmp_path / "view.html"
    path.write_text(playground.view_page()[0], encoding="utf-8")
    page = browser.open(path)
    shown = "[root().querySelectorAll('input[type=range]').length, root().querySelectorAll('.picture svg').length]"
    send = "(data) => new Promise((done) => { postMessage(data, '*'); setTimeout(done, 100); })"
    page.run(
        f"globalThis.root = () => document.querySelector('.autoflow-widget').shadowRoot; globalThis.send = {send}; 0"
    )
    page.run(f"send({python.pane('sliders')})")
    assert page.run(shown) == [2, 1]
    page.run(f"send({{ moved: {python.move([3.0, 2.0])} }})")
    assert "13" in page.run("root().querySelector('.picture').textContent")
    assert page.problems() == []


def test_a_rule_of_the_readers_is_computed_by_python():
    """The page runs no JavaScript but what it came with."""
    python = playground.runner()
    rule = "@af.primitive\ndef sin(x):\n    return 2 * x\n_ = sin.defvjp(x=lambda g: 2 * g)\n"
    python.run(f"{rule}x = af.Variable(3.0)\nsin(x) * x")
    view = json.loads(python.pane("sliders"))
    assert "a rule of yours" in view["reason"]
    assert [row["title"] for row in view["inputs"]] == ["x"]
    python.run("x = af.Variable(3.0)\nnp.clip(np.sin(x), 0, None) * x")
    assert "clip without max" in json.loads(python.pane("sliders"))["tape"]


def test_only_files_with_the_listed_sum_are_taken(tmp_path, monkeypatch):
    good, bad = b"as listed", b"something else"
    rows = {name: {"sha256": hashlib.sha256(good).hexdigest(), "part": "playground"} for name in ("a.js", "b.js")}
    monkeypatch.setattr(runtime, "listed", lambda: {"file": rows, "carrier": "c==1"})
    asked = []

    def source(name, data):
        def give(rows, scratch):
            asked.append((name, sorted(rows)))
            yield from data.items()

        give.__name__ = name
        return give

    monkeypatch.setattr(runtime, "from_npm", source("from_npm", {"a.js": bad, "b.js": good}))
    monkeypatch.setattr(runtime, "from_index", source("from_index", {}))
    monkeypatch.setattr(runtime, "from_carrier", source("from_carrier", {"a.js": bad}))
    with pytest.raises(runtime.UnavailableError, match=r"^not to be had: a\.js"):
        runtime.bring("playground", place=tmp_path)
    assert asked == [("from_npm", ["a.js", "b.js"]), ("from_index", ["a.js"]), ("from_carrier", ["a.js"])]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.js"]
    (tmp_path / "a.js").write_bytes(good)
    assert runtime.bring("playground", place=tmp_path) == tmp_path
    (tmp_path / "b.js").write_bytes(bad)  # a folder of one's own is not trusted either
    assert list(runtime.missing(tmp_path, "playground")) == ["b.js"]


def test_every_listed_file_says_what_it_is():
    for name, row in runtime.listed()["file"].items():
        assert re.fullmatch(r"[0-9a-f]{64}", row["sha256"]), name
        assert row["part"] in ("playground", "lessons", "slides", "tests"), name
        assert row["licence"], name
        assert row["home"].startswith("https://"), name
        assert name.endswith(".whl") or re.fullmatch(r"[\w.-]+@\d+\.\d+\.\d+/package/.+", row["npm"]), name
    assert "==" in runtime.listed()["carrier"]
    with pytest.raises(ValueError, match="no part games"):
        runtime.files_of("games")


def test_the_policy_names_no_other_host_and_no_eval():
    _, scripts = playground.view_page()
    rules = dict(rule.split(" ", 1) for rule in playground.policy(scripts).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert "http" not in playground.policy(scripts)
    assert "unsafe" not in rules["script-src"].replace("'wasm-unsafe-eval'", "")


def test_autoflow_goes_along_the_same_each_time():
    assert playground.zipped() == playground.zipped()
    names = set(zipfile.ZipFile(io.BytesIO(playground.zipped())).namelist())
    package = Path(af.__file__).parent
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".md")]
    assert {path.relative_to(package.parent).as_posix() for path in files} <= names


def test_a_wheel_in_the_list_of_packages(tmp_path):
    path = tmp_path / f"autoflow-{af.__version__}-py3-none-any.whl"
    path.write_bytes(playground.zipped())
    name, row = lab.entry(path)
    assert name == "autoflow"
    assert row["imports"] == ["autoflow"]
    assert row["depends"] == ["numpy", "graphviz", "matplotlib", "scipy", "tqdm"]
    assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (row["version"], row["file_name"]) == (af.__version__, path.name)


def test_jupyterlite_asks_nobody(tmp_path):
    lab.write_settings(tmp_path)
    data = json.loads((tmp_path / "jupyter-lite.json").read_text())["jupyter-config-data"]
    settings = data["litePluginSettings"][lab.PLUGIN]
    assert settings["disablePyPIFallback"] is True
    assert settings["pyodideUrl"] == "./pyodide/pyodide.mjs"
    assert {"ipython", "pyodide-kernel"} <= set(settings["loadPyodideOptions"]["packages"])


def test_links_in_jupyterlite_lead_to_lessons_and_pages(tmp_path):
    """Those to what the site does not have are words."""
    lab.write_notebooks(tmp_path / "lessons")
    text = "".join([path.read_text(encoding="utf-8") for path in (tmp_path / "lessons").iterdir()])
    assert sorted([path.name for path in (tmp_path / "lessons").iterdir()]) == LESSONS
    found = set(re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text))
    assert {"docs/glossary.html", "docs/scaling.html", LESSONS[1]} <= found
    pages_of_docs = {f"docs/{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    assert found <= {*LESSONS, *pages_of_docs}
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "index.html").write_text("<head></head>")
    lab.add_script(tmp_path)
    assert '<script src="../lab.js"' in (tmp_path / "notebooks" / "index.html").read_text()
    (tmp_path / "notebooks" / "index.html").write_text("<body>")
    with pytest.raises(ValueError, match="no one head"):
        lab.add_script(tmp_path)


def test_without_jupyterlite_the_lessons_are_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    reason = "JupyterLite is not installed (extra lab): no jupyterlite_core, jupyterlite_pyodide_kernel, jupyter_server"
    assert lab.build(tmp_path, b"", "1") == reason
    notebook = ROOT / "notebooks" / LESSONS[0]
    known = {f"notebooks/{notebook.name}": f"lessons/{notebook.stem}.html"}
    monkeypatch.setenv("AUTOFLOW_LESSONS", "stored")
    for there in (False, True):
        pages.write_lessons(tmp_path, [notebook], known, lab=there)
        text = (tmp_path / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert ("../lab/" in text) is ("in JupyterLite" in text) is there
        assert "a = 3, b = 6, L = 36" in text
        assert text.count('src="data:image/png') == notebook.read_text(encoding="utf-8").count('"image/png": "') >= 2


def test_a_tool_that_fails_shows_both_of_its_outputs(tmp_path):
    """JupyterLite tells the reason on stdout, npm and pip on stderr."""
    program = "import sys; print('the reason'); print('a warning', file=sys.stderr); sys.exit('z' * %d)"
    lab.run_tool([sys.executable, "-c", "print('well')"], tmp_path)
    with pytest.raises(RuntimeError, match=r"(?s)exit status 1\nstdout: the reason\nstderr: a warning\nz$"):
        lab.run_tool([sys.executable, "-c", program % 1], tmp_path)
    with pytest.raises(RuntimeError, match=r"(?s)stdout: the reason\nstderr: z{3000}$"):
        lab.run_tool([sys.executable, "-c", program % 10_000], tmp_path)
    with pytest.raises(subprocess.CalledProcessError, match=r"python.* the end: stdout: the reason stderr: a warning"):
        runtime.command(sys.executable, "-c", program % 1, "the end")


def test_markdown_links_to_pages_of_the_site_and_no_further():
    known = {"docs/a.md": "docs/a.html", "docs/b.md": "docs/b.html", "README.md": "docs/readme.html"}
    text = "# A `x`\n\n[b](b.md#part) [home](../README.md) [code](../autoflow/x.py) [out](https://example.org)\n"
    body = pages.markdown(text, known, "docs/a.md")
    assert re.findall(r'href="(.*?)"', body) == ["b.html#part", "readme.html", "https://example.org"]
    assert "code" in body
    assert pages.title_of(text) == "A x"


@by_night
def test_six_networks_train_in_their_pages(tmp_path, browser):
    live_pages.build(tmp_path / "live")
    listed = re.findall(r'href="(\w+\.html)"', (tmp_path / "live" / "index.html").read_text(encoding="utf-8"))
    assert {"logistic.html", "spirals.html", "curve.html", "rnn.html", "attention.html"} <= {*listed}
    for name in listed:
        assert (tmp_path / "live" / name).stat().st_size < 400_000
        one = browser.open(tmp_path / "live" / name, width=400, height=800)
        one.run("for (let k = 0; k < 200; k++) document.querySelector('.autoflow-live').live.step()")
        losses = one.run("document.querySelector('.autoflow-live').live.losses")
        assert losses[200] < 0.85 * losses[0]
        assert {"Train", "your program", "return"} <= {*re.findall("Train|your program|return", one.text())}
        assert one.run("document.documentElement.scrollWidth") == 400
        assert one.problems() == []
        one.call("Page.close")


@pytest.fixture(scope="module")
def to_read(tmp_path_factory):
    """The pages to read and a reference of one page, searched."""
    out = tmp_path_factory.mktemp("read")
    pages.build(out)
    (out / "api").mkdir()
    rows = [
        "autoflow.nn.Linear py:class 1 autoflow/nn.html#Linear -",
        "autoflow.vmap py:function 1 autoflow.html#vmap -",
    ]
    head = b"# Sphinx inventory version 2\n# Project: a\n# Version: 1\n# The remainder ... zlib.\n"
    (out / "api" / "objects.inv").write_bytes(head + zlib.compress("".join([f"{row}\n" for row in rows]).encode()))
    search.build(out)
    shutil.copyfile(ROOT / "site" / "page" / "page.js", out / "page.js")
    shutil.copyfile(ROOT / "site" / "page" / "site.css", out / "site.css")
    return out


@pytest.mark.nightly
def test_images_of_all_themes_come_along(to_read):
    for path in to_read.glob("docs/*.html"):
        named = re.findall(r'(?:src|srcset)="([^"]+)"', path.read_text(encoding="utf-8"))
        images = [name for name in named if "images/" in name]
        assert [name for name in images if not (path.parent / name).is_file()] == [], path
        if path.name == "readme.html":
            assert len(images) == (ROOT / "README.md").read_text(encoding="utf-8").count('="images/')


@pytest.mark.nightly
def test_lists_say_what_one_learns_how_long_it_takes_and_for_whom_it_is(to_read):
    text = (to_read / "lessons" / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<small>Learn [^<]{40,}</small>", text)) == len(LESSONS)
    assert len(re.findall(r">\d+ minutes · (?:beginner|intermediate|advanced)<", text)) == len(LESSONS)
    assert text.count("beginner") == 4
    text = (to_read / "docs" / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<small>[^<]{20,220}</small>", text)) > 20
    assert not re.search(r"<small>[^<]*(\*\*|`|\]\()", text)
    with pytest.raises(ValueError, match="does not say"):
        lists.lesson_item(0, "name", "title", "# Title\n\nWords.")


@pytest.mark.nightly
def test_the_index_has_every_section_and_leads_there(to_read):
    entries = json.loads((to_read / "search.json").read_text(encoding="utf-8"))
    assert {kind for kind, *_ in entries} == {"lesson", "documentation", "reference"}
    ids = {}
    for _, address, title, _, text in entries:
        path, _, anchor = address.partition("#")
        assert title
        assert not re.search(r"&\w+;|&#", title), title
        assert "</span>" not in text
        if not path.startswith("api/"):
            ids.setdefault(path, set(re.findall(r' id="([^"]+)"', (to_read / path).read_text(encoding="utf-8"))))
            assert not anchor or anchor in ids[path], address
    assert len(ids) == len(LESSONS) + len([*(ROOT / "docs").glob("*.md")]) + 1  # the README
    assert (to_read / "search.json").stat().st_size < 1_500_000


@by_night
def test_search_finds_lessons_documentation_and_names_without_a_server(to_read, browser):
    page = Playground(browser)
    texts = "['a', '.kind'].map((name) => row.querySelector(name).textContent)"
    rows = f"[...document.querySelectorAll('#results li')].map((row) => {texts})"
    with served(to_read) as (url, end):
        page.navigate(f"{url}search.html?q=vmap")
        page.until(f"{rows}.length > 3", 30)
        end()  # everything is in the page from here on
        assert page.run(rows)[0] == ["af.vmap", "reference"]
        assert {"documentation", "lesson"} <= {kind for _, kind in page.run(rows)}
        for question, first in (
            ("Linear", "af.nn.Linear"), ("topological order", "1 · An engine in 40 lines"),
            ("LOST gradient", "Where a gradient can get lost"), ("<img src=x>", None),
        ):  # fmt: skip
            page.run(f"question.value = {json.dumps(question)}, question.dispatchEvent(new Event('input')), 1")
            time.sleep(0.3)
            shown = page.run(rows)
            assert shown[0][0].startswith(first) if first else not shown, (question, shown[:3])
            assert page.run("new URLSearchParams(location.search).get('q')") == question
        assert page.run("document.querySelectorAll('#results img').length") == 0
    page.call("Page.close")


def test_the_reference_loads_nothing_from_elsewhere(tmp_path):
    page = tmp_path / "api" / "a.html"
    page.parent.mkdir()
    page.write_text('<head><script src="https://example.org/x.js"></script></head>')
    with pytest.raises(RuntimeError, match="another host"):
        pages.without_network(page.parent)


def test_what_the_first_visit_keeps(tmp_path):
    for name in ("index.html", "offline.js", "vendor/a.wasm", "examples/0.json", "docs/a.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('const CACHE = "autoflow-VERSION"; [/* FILES */]')
    make.stamp(tmp_path)
    text = (tmp_path / "offline.js").read_text()
    assert json.loads(text[text.index("[") :]) == ["./", "examples/0.json", "index.html", "vendor/a.wasm"]
    assert re.search(r"autoflow-[0-9a-f]{12}\"", text)
