"""Predict first, quizzes, sheets for paper: what is asked, what is hidden, which answers are right."""

import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from graphs import EVIL, lesson, shared
from picture_pages import PARTS
from processes import in_node

import autoflow as af
from autoflow.pictures.model.steps import steps_of
from autoflow.pictures.pages.html import answer_of, formula_choice, fragment, named_values, pack_file, sent_answer
from autoflow.pictures.quizzes import LINE, Quiz, quiz

PROGRAM = pack_file("predict.js", "autoflow.pictures.pages") + "\nconst names = new Map([['a2', 1.5], ['α', 7]]);"
ANSWERS = {
    "0.25": 0.25, "1/4": 0.25, "-3": -3, "−3,5": -3.5, "2**3": 8, "2^-1": 0.5, "-2^2": -4, "2*(1+3)": 8, "1e-3": 1e-3,
    "cos(a2)": math.cos(1.5), "np.sin(a2) * 2": 2 * math.sin(1.5), "ln(e)": 1, "pi": math.pi, "a2 × a2": 2.25,
    "exp(-a2)": math.exp(-1.5), "7 - 2 - 1": 4, "8/4/2": 1, "2^3^2": 512, "+.5": 0.5, "math.sqrt(16)": 4, "α": 7,
}  # fmt: skip
WRONG = [
    "", "x", "1 2", "2*", "(1", "sin", "sin 2", "alert(1)", "constructor", "__proto__", "1;2", "a2.b", "toString()",
    "1..2", "e(2)", "[1]", "`1`", "a2=3",
]  # fmt: skip


def test_answers_are_read_as_mathematics():
    wanted = ANSWERS | dict.fromkeys(WRONG, math.nan)
    shown = in_node(f"{PROGRAM} const RESULT = {json.dumps([*wanted])}.map((text) => evaluate(text, names))")
    found = dict(zip(wanted, map(float, shown), strict=True))
    assert found == pytest.approx(wanted, rel=1e-12, abs=0, nan_ok=True)


JUDGED = {  # (what is typed, the answer): right, wrong, or why it cannot be read
    ("0.25", 0.25): True, ("1/4", 0.2501): True, ("0.3", 0.25): False, ("q", 0.25): "try 0.25, 1/4, cos(a2)",
    ("[1, 1/2, -2]", (1, 0.5, -2)): True, ("1 .5 −2", (1, 0.5, -2)): True, ("[[1], [0.5], [2]]", (1, 0.5, -2)): False,
    ("1, 0.5", (1, 0.5, -2)): False, ("1", (1, 1, 1)): True, ("1", (1, 2, 1)): False, ("a2; 7", (1.5, 7)): True,
    ("1, x", (1, 2)): "try [1, 0.5, -2]: all entries, row by row", ("1.009", (1, 1)): True, ("1.02", (1, 1)): False,
}  # fmt: skip
FORMULAS = {"2": True, "g Wᵀ": True, "gWᵀ": True, "1": False, "xᵀ g": False, "4": "try the number of a formula"}
SHAPES = {"(32, 10)": True, "32 × 10": True, "32x10": True, "10, 32": False, "(32,)": False, "a": "try (3, 4)"}


def test_answers_are_judged():
    cases = [(text, {"entries": answer} if isinstance(answer, tuple) else answer) for text, answer in JUDGED]
    cases += [(text, {"choices": ["g", "g Wᵀ", "xᵀ g"], "right": 1}) for text in FORMULAS]
    cases += [(text, {"shape": [32, 10]}) for text in SHAPES]
    judged = in_node(f"{PROGRAM} const RESULT = {json.dumps(cases)}.map(([text, of]) => judge(text, of, names))")
    wanted = [*JUDGED.values(), *FORMULAS.values(), *SHAPES.values()]
    assert [*zip(cases, judged, strict=True)] == [*zip(cases, wanted, strict=True)]


def test_what_is_asked_of_arrays():
    x, w = af.Constant(np.ones((4, 3)), name="x"), af.Variable(np.ones((3, 4)) / 3, name="W")
    loss = np.sum(np.tanh(x @ w))
    g = loss.graph(gradients=True)
    by_name = {v.title: v for v in g.drawn.nodes}
    choice = formula_choice(g.drawn, by_name["x @ W"], 1)
    assert choice == {"choices": ["g ⊙ (1 − ●²)", "g, stretched", "xᵀ g"], "right": 2}
    assert formula_choice(g.drawn, by_name["x @ W"], 0) is None  # nothing flows to x
    sent = by_name["x @ W"].operands[1].sent
    assert sent_answer(g.drawn, by_name["x @ W"], 1, sent) == choice
    assert sent_answer(g.drawn, by_name["W"], 0, sent) == {"shape": [3, 4]}
    with np.errstate(divide="ignore"):
        infinite = np.sum(np.log(af.Variable([0.0, 1.0], name="v"))).graph(gradients=True)
    assert answer_of(infinite.nodes[1].value) is None  # JSON has no infinity


def test_nothing_but_numbers_can_be_asked_for():
    a5, _ = lesson()
    graph = a5.step().graph
    values = named_values(graph, steps_of(graph))
    assert {name: round(value, 4) for name, value, _ in values} == {
        "x": 2, "y": 1, "z": 0.5, "a1": 3.5, "a2": 1, "a3": 10.3080, "a4": 1.8911, "a5": 8.4170,
    }  # fmt: skip
    assert {name: born for name, _, born in values if born < 1} == {"x": -1, "y": -1, "z": -1}
    w = af.Variable([1.0, 2.0], name="w")
    with np.errstate(divide="ignore"):
        graph = np.log(w[0] * 0.0).step().graph
    text = fragment(graph)
    assert "Infinity" not in text.partition("data-autoflow='")[2].partition("'>")[0]


def test_questions_hide_the_local_derivative():
    asked = {s.title: s.question for s in lesson()[0].steps() if s.phase == "backward"}
    assert all([question.endswith("= ?") for question in asked.values()])
    assert asked["sin(a2)"] == "sin(a2) has gradient 12.25, sends back   to a2: 12.25 × ? = ?"


# ------------------------------------------------------------------ paper


def test_a_sheet_has_lines_and_no_answer():
    a5, _ = lesson()
    made = a5.quiz()
    assert isinstance(made, Quiz)
    sheet, answers = made.sheet(), made.answers()
    forward = {v.value.text(4) for v in answers.nodes} | {"1"}
    secret = {v.gradient.text(4) for v in answers.nodes if v.gradient}
    secret |= {row.sent.text(4) for v in answers.nodes for row in v.operands if row.sent}
    assert len(secret - forward) > 10
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", sheet.to_svg())
    told = " ".join([*texts, *re.findall(r"<title>([^<]*)</title>", sheet.to_svg())]).split()
    assert not (secret - forward) & set(told)
    assert forward - {"1"} <= set(told)
    rows = sum([row.sent is not None for v in answers.nodes for row in v.operands])
    assert texts.count(f"= {LINE}") == rows + 1  # and one in the legend
    assert texts.count(f"×{LINE}") == rows + 1
    assert len(re.findall(LINE, str(made))) > rows
    assert len(set(re.findall(r'class="f(\d)', sheet.to_svg()))) == 1  # arrows do not say what flows
    assert "24.48" in answers.to_svg()


def test_a_sheet_of_arrays_hides_rules_and_sizes():
    w = af.Variable(np.ones((3, 4)), name="W")
    sheet = quiz(np.sum(np.tanh(np.ones((2, 3)) @ w) ** 2)).sheet()
    assert all([row.rule in ("", LINE) for v in sheet.nodes for row in v.operands])
    root = ElementTree.fromstring(sheet.to_svg())
    cards = [e for e in root if e.get("data-node")]
    assert len(cards) == len(sheet.drawn.nodes)
    assert [e for card in cards for e in card if e.get("class") == "full"] == []


def test_sheets_in_every_format(tmp_path):
    made = shared()[0].quiz()
    for name in ("sheet.svg", "sheet.tex", "sheet.txt", "sheet.html", "sheet.json"):
        text = made.sheet().save(tmp_path / name).read_text(encoding="utf-8")
        assert LINE in text.replace("\\_", "_") or "base64" in text or name.endswith("json")
    assert "<script" not in made.sheet().to_html()
    assert "@page" in made.sheet().to_html()
    assert made.sheet().to_html(full=False).startswith("<img alt=")
    assert set(made.sheet()._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert made.save(tmp_path / "quiz.html").read_text(encoding="utf-8") == made.to_html()
    assert made.to_html(full=False) in made.to_html()
    bundle = made._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert ['"quiz":true' in text for text in (made.to_html(), bundle["text/html"])] == [True, True]
    assert LINE in bundle["text/plain"]


HELPERS = (
    PARTS
    + """
const field = () => r().querySelector('.ask [type=text]');
const [asked, verdict, score] = ['asked', 'verdict', 'score'].map((name) => () => texts('.' + name)[0]);
const answer = (text) => { field().value = text; r().querySelector('.ask button').click(); return verdict(); };
const seen = (kind) => [...r().querySelectorAll(`[data-node] .${kind}`)].filter(visible).map((e) => e.textContent);
const box = (k) => r().querySelectorAll('[type=checkbox]')[k];
"""
)
browser_test = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]


class TestInABrowser:
    pytestmark = browser_test

    def test_a_quiz_answered_rightly(self, show):
        a5, _ = lesson()
        steps = a5.steps()
        one = show(a5.quiz().to_html())
        assert "∂a5/∂a5 = 1" in one.run("caption()")
        count = 0
        for step in [s for s in steps if s.phase == "backward"]:
            assert one.run("next(); caption()").startswith(step.question)
            for p in step.products:
                assert re.fullmatch("∂.* =", one.run("asked()"))
                assert one.run(f"answer('{p.local.elements[0] * 1.009!r}')").startswith("✓")
                count += 1
            assert one.run("caption()") == step.caption
        assert one.run("score()") == f"{count} of {count} right"
        assert one.run("next(); caption()").endswith(f"{count} of {count} right at the first try")
        one.keep("quiz_end")

    def test_wrong_answers_and_those_that_were_shown_do_not_count(self, show):
        one = show(shared()[0].quiz().to_html())
        assert one.run("next(); asked()") == "∂out/∂a ="
        assert one.run("answer('')").startswith("a number, a fraction")
        assert one.run("answer('1 +')") == "that cannot be read: try 0.25, 1/4, cos(a2)"
        assert one.run("answer('0.98')") == "✗ not 0.98: try again"
        assert one.run("answer('0.992')").startswith("✓ ∂out/∂a = 1")
        assert one.run("[asked(), score()]") == ["∂out/∂(a*x) =", "0 of 1 right"]
        assert one.run("next(); [asked(), score()]") == ["", "0 of 2 right"]  # shown
        assert one.run("next(); answer('x')").startswith("✓")  # ∂(a*x)/∂a is x
        assert one.run("answer('a')").startswith("✓")
        assert one.run("score()") == "2 of 4 right"
        assert one.run("next(); asked()") == "∂a/∂x (operand 1) ="
        assert one.run("answer('4/2')").startswith("✓")
        assert one.run("asked()") == "∂a/∂x (operand 2) ="

    def test_arrays_are_answered_entry_by_entry(self, show):
        x = af.Variable([1.0, 2.0, 4.0], name="x")
        one = show(np.sum(x * x).quiz().to_html())
        assert one.run("next(); asked()") == "to x*x 3 entries:"
        assert one.run("answer('[1, 1]')") == "✗ not [1, 1]: try again"
        assert one.run("answer('1')") == "✓ to x*x 3 entries: [1, 1, 1]"
        assert one.run("next(); asked()") == "to x (operand 1) 3 entries:"
        assert one.run("answer('1, 4/2, 4')") == "✓ to x (operand 1) 3 entries: [1, 2, 4]"
        assert one.run("answer('[1 2 4]')").endswith("[1, 2, 4]")
        assert one.run("score()") == "2 of 3 right"

    @pytest.mark.nightly
    def test_of_large_arrays_the_formula_is_asked(self, show):
        x, w = af.Constant(np.ones((4, 3)), name="x"), af.Variable(np.ones((3, 4)) / 3, name="W")
        one = show(np.sum(np.tanh(x @ w)).graph(gradients=True).to_html())
        one.run("slide(0); box(0).click(); box(1).click()")  # backward only
        assert one.run("next(5); asked()").startswith("to tanh(x @ W):   1) g ⊙ (1 − ●²)   2) g, stretched   3) xᵀ g")
        assert one.run("[seen('local'), answer('2')]") == [[], "✓ to tanh(x @ W): g, stretched"]

    @pytest.mark.nightly
    def test_products_and_the_way_forward(self, show):
        out, _ = shared()
        steps = out.steps()
        one = show(out.step().to_html())
        one.run("box(0).click()")
        one.run("r().querySelector('[aria-label=\"what to predict\"]').selectedIndex = 1; "
                "r().querySelector('[aria-label=\"what to predict\"]').onchange()")  # fmt: skip
        assert one.run("next(); asked()") == "a ="
        assert one.run("answer('a')") == "that cannot be read: try 0.25, 1/4, cos(a2)"  # it is not known yet
        assert one.run("answer('x*x')").startswith("✓ a = 4")
        one.run("box(1).click()")  # backward only
        for step in steps[2:5]:
            assert one.run("next(); [caption(), asked()]") == [step.caption, ""]
        assert steps[6].title == "a*x"
        assert one.run("next(3); asked()") == "to a:"
        assert one.run("answer('2')").startswith("✓ to a: 2")

    def test_nothing_is_given_away(self, show):
        a5, _ = lesson()
        one = show(a5.step().to_html())
        tips = "[...r().querySelectorAll('svg g > title')].map((t) => t.textContent).join('')"
        legend = "getComputedStyle([...r().querySelector('svg').children].at(-1)).visibility"
        picture = "r().querySelector('svg').outerHTML.replaceAll(' class=\"\"', '')"
        before = one.run(f"[{picture}, document.querySelector('details').hidden]")
        one.run("slide(11)")
        assert len(one.run("seen('local')")) == 17
        one.run("box(0).click()")
        assert one.run(f"[seen('local'), {tips}, {legend}]") == [[], "", "hidden"]
        assert one.run("document.querySelector('details').hidden") is True
        assert one.run("next(); [seen('local'), seen('sent')]") == [[], []]
        one.run("answer('1'); answer('-1')")
        assert one.run("seen('local')") == ["×1", "×−1"]
        one.keep("predict")
        one.run("box(0).click(); slide(0)")
        assert one.run(f"[{picture}, document.querySelector('details').hidden]") == before

    @pytest.mark.nightly
    def test_the_legend_shows_no_numbers_before_the_last_step(self, show):
        steps = lesson()[0].step()
        one = show(steps.to_html())
        signs = "svg > g:not([data-node], [data-edge]) > :is(.value, .gradient, .local, .sent)"
        looks = f"[...new Set([...r().querySelectorAll('{signs}')].map((x) => getComputedStyle(x).visibility))]"
        assert one.run(looks) == ["hidden"]
        assert one.run(f"slide({len(steps) - 1}); {looks}") == ["visible"]

    def test_by_keyboard_alone(self, show):
        one = show(shared()[0].quiz().to_html())
        one.press("ArrowRight")
        one.run("field().focus()")
        for _ in range(2):
            one.run("field().value = '1'")
            one.press("Enter")
        assert one.run("score()") == "2 of 2 right"
        assert one.run("new Promise((done) => setTimeout(done, 100)).then(() => r().activeElement === field())") is True
        one.press("Enter")  # goes on
        assert one.run("asked()") == "∂(a*x)/∂a ="
        before = one.run("caption()")
        one.press("ArrowLeft")  # moves in the text
        assert one.run("caption()") == before

    @pytest.mark.nightly
    def test_it_can_be_used_without_seeing(self, show):
        one = show(shared()[0].quiz().to_html())
        assert one.run("next(); field().labels[0].textContent") == "∂out/∂a ="
        assert one.run("r().querySelector('.verdict').role") == "status"
        assert one.run("r().querySelector('.ask').ariaLabel") == "your answer"

    @pytest.mark.nightly
    def test_play_waits_for_an_answer(self, show):
        one = show(shared()[0].quiz().to_html())
        one.run("window.setInterval = (f) => { f(); return 1; }; window.clearInterval = () => {}; buttons()[2].click()")
        assert one.run("asked()") == "∂out/∂a ="

    @pytest.mark.nightly
    def test_without_a_formula_the_shape_is_asked(self, show):
        w = af.Variable(np.ones((3, 4)), name="W")
        one = show(np.sum(np.tanh(np.ones((2, 3)) @ w) ** 2).quiz().to_html())
        assert one.run("next(); asked()") == "to …**2, its shape:"
        assert "what will it be?" in one.run("caption()")
        assert one.run("answer('rows')") == "that cannot be read: try (3, 4)"
        assert one.run("answer('2 × 4')") == "✓ to …**2, its shape: (2, 4)"
        assert "what will it be?" not in one.run("caption()")

    def test_names_are_text(self, show):
        x, y, z = (af.Variable(2.0, name=name) for name in EVIL[:3])
        one = show(re.sub("<meta http-equiv.*?>", "", (x * y * z).quiz().to_html()))
        for _ in range(3):
            assert one.run("next(); [window.alerts ?? 0, count('img, script, a, b, iframe')]") == [0, 0]

    @pytest.mark.nightly
    @pytest.mark.parametrize("dark", [False, True])
    def test_it_fits_a_narrow_window(self, show, dark):
        one = show(lesson()[0].quiz().to_html(), width=800, dark=dark)
        assert one.run("next(); document.documentElement.scrollWidth") <= 800
        one.keep(f"quiz_{'dark' if dark else 'light'}")
