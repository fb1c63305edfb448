"""The program beside its picture: what is shown of it, and what a reader can do with it, by mouse and by keyboard."""

import json
import linecache
import textwrap

import pytest

import autoflow as af
from autoflow.pictures.pages.listing import Listing

PROGRAM = textwrap.dedent("""
    import numpy as np
    import autoflow as af

    class Layer:
        def __init__(self, n, m):
            self.w = af.Variable(np.linspace(-1, 1, n * m).reshape(n, m))
            self.b = af.Variable(np.zeros(m))

        def __call__(self, x):
            return np.tanh(x @ self.w
                           + self.b)

    name = "σ — ж"; layer = Layer(4, 3)
    x = np.ones((5, 4))
    for _ in range(2):
        y = layer(x)
    y[1:] += 2.0 * y[:-1]
    loss = np.sum(y * y)
""")
ROOT = """(() => {
    const root = [...document.querySelectorAll(".autoflow-picture *")].find((e) => e.shadowRoot).shadowRoot;
    const all = (what) => [...root.querySelectorAll(what)], texts = (what) => all(what).map((e) => e.textContent);
    const card = (title) => all("[data-node]").find((e) => e.querySelector(".title").textContent === title);
    const line = (text) => all(".line").find((e) => e.textContent.includes(text));
    const press = (e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const over = (e) => e.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    const frame = root.querySelector(".picture"), wide = () => frame.querySelector("svg").getBoundingClientRect().width;
"""


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "my_model.py"
    path.write_text(PROGRAM, encoding="utf-8")
    space = {"__name__": "__main__"}
    exec(compile(PROGRAM, str(path), "exec"), space)
    return path, af.graph(space["loss"], gradients=True)


def test_the_page_has_the_lines_and_not_where_they_lie(made):
    path, g = made
    page = g.to_html()
    told = Listing(g).data(g.drawn)
    (file,) = told["files"]
    assert file["name"] == "my_model.py"
    assert str(path.parent) not in page
    lines = dict(map(tuple, file["lines"]))
    source = PROGRAM.splitlines()
    assert all([lines[n] == source[n - 1] for n in lines])
    assert {5, 6, 10, 11, 12, 18} <= lines.keys()  # class, def, def, the expression in two lines, the write
    by_title = {v.title: told["cards"][str(v.id)] for v in g.drawn.nodes}
    for title, text in (("w", "af.Variable(np.linspace(-1, 1, n * m).reshape(n, m))"), ("loss", "np.sum(y * y)")):
        (span,) = by_title[title]
        _, first, last, begin, end = told["spans"][span]
        assert first == last
        assert lines[first][begin:end] == text


def test_of_a_file_that_was_edited_nothing_false_is_shown(made):
    path, g = made
    path.write_text(PROGRAM.replace("loss = np.sum(y * y)", "loss = np.max(y + y)"), encoding="utf-8")
    linecache.checkcache(str(path))
    told = Listing(g).data(g.drawn)
    loss = next(v for v in g.drawn.nodes if v.title == "loss")
    assert told["cards"][str(loss.id)] == []
    path.write_text("nothing\n", encoding="utf-8")
    linecache.checkcache(str(path))
    assert Listing(g).data(g.drawn) is None
    assert '"program":null' in g.to_html()


def test_cards_and_lines_belong_together(made, browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(made[1].to_html(), encoding="utf-8")
    page = browser.open(path, width=1280, height=900)

    def do(code):
        return json.loads(page.run(f"{ROOT} {code} }})()"))

    assert do('over(card("w")); return JSON.stringify(texts(".lit"));') == [
        "af.Variable(np.linspace(-1, 1, n * m).reshape(n, m))"
    ]
    assert do('over(frame); return JSON.stringify(texts(".lit"));') == []
    titles = 'return JSON.stringify(texts(".found .title"));'
    assert do(f'line("loss = ").click(); {titles}') == ["y₂*y₂", "loss"]
    assert do(f'press(line("+ self.b"), "Enter"); {titles}') == ["x @ w + b", "y₁"]
    assert do('return JSON.stringify(all("[data-node]").every((e) => e.tabIndex === 0));')
    assert do('press(card("loss"), "Enter"); return JSON.stringify(all(".aside").length > 3);')
    # the stepper marks the expression of each step, forwards and backwards
    slide = 'const s = root.querySelector("[type=range]"); const go = (k) => { s.value = k; s.oninput(); };'
    walk = 'const seen = []; for (let k = 0; k <= s.max; k++) { go(k); seen.push(texts(".now").join("")); }'
    seen = do(f"{slide} {walk} return JSON.stringify(seen);")
    assert seen[0] == seen[-1] == ""
    assert "y[1:] += 2.0 * y[:-1]" in seen
    half = [text for text in seen if text]
    assert half.count("np.sum(y * y)") >= 2
    wheel = "const r = frame.getBoundingClientRect(), x = r.left + 99, y = r.top + 99, before = wide();"
    turn = 'frame.dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, deltaY: -300, clientX: x, clientY: y }));'
    assert do(f"{wheel} {turn} return JSON.stringify(wide() / before);") == pytest.approx(2, abs=0.01)
    smaller = 'const before = wide(); press(root.querySelector(".page"), "-");'
    assert do(f"{smaller} return JSON.stringify(wide() / before);") == pytest.approx(0.8, abs=0.01)
    assert do('press(root.querySelector(".page"), "0"); return JSON.stringify(frame.className);') == "picture"
    assert page.run("document.documentElement.scrollWidth") <= 1280
    page = browser.open(path, width=400, height=800, dark=True)
    box, picture = [do(f'const r = root.querySelector("{name}").getBoundingClientRect();'
                       "return JSON.stringify([r.left, r.top, r.right, r.bottom]);")
                    for name in (".program", ".picture")]  # fmt: skip
    assert box[1] >= picture[3]
    assert max(box[2], picture[2]) <= 400
