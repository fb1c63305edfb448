"""The program beside its picture: what is shown of it, and what a reader can do with it, by mouse and by keyboard."""

import linecache
import textwrap

import pytest
from picture_pages import PARTS

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
HELPERS = (
    PARTS
    + """
const named = (title) => [...r().querySelectorAll("[data-node]")].find((e) => texts(".title", e)[0] === title);
const line = (text) => [...r().querySelectorAll(".line")].find((e) => e.textContent.includes(text));
const press = (e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const over = (e) => e.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
const frame = () => r().querySelector(".picture"), page = () => r().querySelector(".page");
const wide = (act) => { const svg = () => frame().querySelector("svg").getBoundingClientRect().width, before = svg();
  act(); return svg() / before; };
const turn = () => { const { left, top } = frame().getBoundingClientRect();
  frame().dispatchEvent(new WheelEvent("wheel",
    { ctrlKey: true, deltaY: -300, clientX: left + 99, clientY: top + 99 })); };
"""
)


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


def test_cards_and_lines_belong_together(made, show):
    page = show(made[1].to_html(), width=1280, height=900)
    assert page.run("over(named('w')); texts('.lit')") == ["af.Variable(np.linspace(-1, 1, n * m).reshape(n, m))"]
    assert page.run("over(frame()); texts('.lit')") == []
    assert page.run("line('loss = ').click(); texts('.found .title')") == ["y₂*y₂", "loss"]
    assert page.run("press(line('+ self.b'), 'Enter'); texts('.found .title')") == ["x @ w + b", "y₁"]
    assert page.run("[...r().querySelectorAll('[data-node]')].every((e) => e.tabIndex === 0)")
    assert page.run("press(named('loss'), 'Enter'); count('.aside')") > 3
    # the stepper marks the expression of each step, forwards and backwards
    seen = [page.run(f"slide({k}); texts('.now').join('')") for k in range(int(page.run("slider().max")) + 1)]
    assert seen[0] == seen[-1] == ""
    assert "y[1:] += 2.0 * y[:-1]" in seen
    assert seen.count("np.sum(y * y)") >= 2
    assert page.run("wide(turn)") == pytest.approx(2, abs=0.01)
    assert page.run("wide(() => press(page(), '-'))") == pytest.approx(0.8, abs=0.01)
    assert page.run("press(page(), '0'); frame().className") == "picture"
    assert page.run("document.documentElement.scrollWidth") <= 1280
    narrow = show(made[1].to_html(), width=400, height=800, dark=True)
    ends = "(({ top, right, bottom }) => [top, right, bottom])(r().querySelector('{}').getBoundingClientRect())"
    top, right, _ = narrow.run(ends.replace("{}", ".program"))
    _, end, bottom = narrow.run(ends.replace("{}", ".picture"))
    assert top >= bottom
    assert max(right, end) <= 400
