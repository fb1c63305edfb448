"""Pictures in a real browser, used as a person would: buttons, keys, the slider, light and dark.

``AUTOFLOW_SHOTS=folder pytest tests/pictures/test_browser.py`` leaves screenshots there, to be looked at.
"""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from graphs import EVIL, lesson, repeat, shared
from picture_pages import PARTS, rgb

import autoflow as af
from autoflow.pictures import graph
from autoflow.pictures.model.data import number
from autoflow.pictures.model.steps import steps_of
from autoflow.pictures.model.style import DARK, LIGHT
from autoflow.pictures.pages import html
from autoflow.pictures.pages.html import fragment, page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]
HELPERS = (
    PARTS
    + """
const amount = (id) => { const e = card(id).querySelector('.gradient'); return visible(e) ? e.textContent : ''; };
const sent = (id) => [...card(id).querySelectorAll('.sent')].filter(visible).map((e) => e.textContent);
const play = () => buttons()[2];
const press = (name) => buttons().find((b) => b.textContent === name).click();
const search = (text) => { const f = r().querySelector('[type=search]'); f.value = text; f.oninput(); };
const box = (selector) => r().querySelector(selector).getBoundingClientRect();
const moment = (ms = 0) => new Promise((done) => requestAnimationFrame(() => setTimeout(done, ms)));
const until = async (is) => { while (!is()) await moment(); };
"""
)
GROUNDS = "[style('.bg').fill, style('.page').backgroundColor]"


def chain(count):
    """A number that is used again and again."""
    x = af.Variable(1.0, name="x")
    return repeat(lambda z: np.tanh(z) * x, x, count)


def test_a_page_cuts_nothing_off(show):
    """An SVG that stands in a page as it is, in a window that is narrower."""
    text = af.graph(chain(5), "lesson", direction="right").to_svg()
    assert int(re.search(r'width="(\d+)"', text)[1]) > 900
    one = show(f"<!doctype html><body style='margin:0'>{text}</body>", width=600)
    svg = "document.querySelector('svg').getBoundingClientRect()"
    wide, high = one.run(f"(({{width, height}}) => [width, height])({svg})")
    assert wide == 600
    given = [int(x) for x in re.search(r'viewBox="0 0 (\d+) (\d+)"', text).groups()]
    assert high / wide == pytest.approx(given[1] / given[0], rel=1e-3)


def test_stepping_to_the_end_gives_the_gradients_of_backward(show):
    a5, variables = lesson()
    stepper = a5.step()
    one = show(stepper.to_html())
    a5.backward()
    for k, step in enumerate(stepper):
        told = [step.caption, f"{k} / {len(stepper) - 1}  {step.phase}"]
        assert one.run("[caption(), r().querySelector('.where').textContent]") == told
        if step.phase == "backward":
            for p in step.products:
                assert one.run(f"amount({p.source})") == p.so_far.text(4)
                assert f"= {p.sent.text(4)}" in one.run(f"sent({step.node})")
            assert one.run("[...r().querySelectorAll('.act')].map((e) => +e.dataset.node)") == [step.node]
        if k in (0, 6, 13, 17):
            one.keep(f"step{k:02}")
        one.run("next()")
    for v in variables:
        (node,) = [n for n in stepper.graph.nodes if n.title == v.name]
        assert one.run(f"amount({node.id})") == number(float(v.grad), 4)
    assert one.run("buttons()[1].disabled") is True


def test_the_last_frame_is_the_static_picture(show):
    for thing in (lesson()[0].step().graph, graph(lesson()[0], gradients=True), graph(shared()[0], gradients=True)):
        one = show(page(thing, 0))
        frame = "new XMLSerializer().serializeToString(r().querySelector('svg'))"
        before, after = one.run(frame), one.run(f"slide(1000); {frame}")
        assert before != after
        assert canonical(after) == canonical(thing.to_svg())
        one.keep(f"end{len(thing.nodes)}")


def canonical(text):
    text = text.replace(' class=""', "").replace(' tabindex="0"', "")  # cards of a page can be reached by the keyboard
    return ElementTree.canonicalize(text, strip_text=False).rstrip().replace("&#xA;", "\n")


def test_nothing_is_given_away_before_its_time(show):
    a5, _ = lesson()
    stepper = a5.step()
    one = show(stepper.to_html())
    operations = [v.id for v in stepper.graph.nodes if v.operands]
    for k in operations:
        assert one.run(f"[amount({k}), sent({k}), visible(card({k}).querySelector('.value'))]") == ["", [], False]
    seed = next(s.number for s in stepper if s.phase == "seed")
    one.run(f"slide({seed})")
    assert {k for k in operations if one.run(f"amount({k})")} == set(stepper.graph.outputs)
    assert all([one.run(f"visible(card({k}).querySelector('.value'))") for k in operations])


def test_back_and_forth_gives_the_same_frames(show):
    one = show(shared()[0].step().to_html())
    frame = "r().querySelector('svg').outerHTML.replaceAll(' class=\"\"', '')"
    forth, back = [one.run(frame)], []
    for _ in shared()[0].steps()[1:]:
        forth.append(one.run(f"next(); {frame}"))
    for _ in forth:
        back.append(one.run(frame))
        one.run("buttons()[0].click()")
    assert back == forth[::-1]


def test_keys(show):
    """A saved page has the focus; a notebook keeps its own."""
    steps = shared()[0].steps()
    one = show(shared()[0].step().to_html())
    for key, k in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(steps) - 1), ("Home", 0)]:
        one.press(key)
        assert one.run("caption()") == steps[k].caption
    for name in ("Pause", "Play"):
        one.press(" ")
        assert one.run("play().textContent") == name
    two = show(f"<!doctype html><body><p>text</p>{fragment(shared()[0].step().graph, 0)}</body>")
    assert two.run("document.activeElement === document.body")


def test_play_and_pause_at_three_speeds(show):
    one = show(shared()[0].step().to_html())
    assert one.run("texts('select option')") == ["½×", "1×", "2×"]
    one.run("const asked = []; window.setInterval = (f, ms) => { asked.push(ms); return 1; }; 0")
    for k in range(3):
        one.run(f"r().querySelector('select').selectedIndex = {k}; play().click(); play().click()")
    assert one.run("asked") == [2800, 1400, 700]
    one = show(shared()[0].step().to_html())
    one.run("const timer = setInterval; window.setInterval = (f, ms) => timer(f, ms / 20); 0")
    assert one.run("play().textContent") == "Play"
    one.run("play().click()")
    assert one.run("play().textContent") == "Pause"
    one.run("until(() => slider().value >= 2)")
    stopped = one.run("play().click(); [play().textContent, slider().value]")
    assert stopped[0] == "Play"
    assert one.run("moment(200).then(() => [play().textContent, slider().value])") == stopped


def test_predict_first(show):
    steps = shared()[0].steps()
    one = show(shared()[0].step().to_html())
    one.run("r().querySelector('[type=checkbox]').click()")
    for step in steps[1:]:
        one.run("next()")
        if not step.question:
            told = "   0 of 9 right at the first try" if step.phase == "end" else ""
            assert one.run("caption()") == step.caption + told
            continue
        assert one.run("caption()").startswith(step.question)
        assert one.run(f"sent({step.node})") == []
        one.keep("predict")
        one.run("next()")
        assert one.run("caption()") == step.caption
    assert one.run("buttons()[1].disabled") is True


def test_it_can_be_used_without_seeing(show):
    one = show(shared()[0].step().to_html())
    assert one.run("r().querySelector('.caption').ariaLive") == "polite"
    assert one.run("buttons().map((b) => b.ariaLabel || b.textContent)") == ["previous step", "next step", "Play"]
    assert one.run("slider().ariaValueText").startswith("0 of 8")
    assert one.run("r().querySelector('.page').ariaLabel").startswith("Computation graph of out = 12")
    for reduced in (True, False):
        one.media(reduced_motion=reduced)
        assert (one.run("style('svg g').transitionDuration") == "0s") is reduced


@pytest.mark.parametrize(("asked", "light"), [("auto", LIGHT), ("dark", DARK)])
def test_light_and_dark(show, asked, light):
    one = show(graph(lesson()[0], gradients=True, theme=asked).to_html())
    for dark, theme in ((False, light), (True, DARK)):
        one.media(dark=dark)
        assert one.run(GROUNDS) == [rgb(theme["bg"])] * 2
        one.keep(f"{asked}_{'dark' if dark else 'light'}")


@pytest.mark.parametrize(("change", "back"), [
    ("document.body.dataset.jpThemeLight = 'false'", "document.body.dataset.jpThemeLight = 'true'"),
    ("document.body.className = 'vscode-dark'", "document.body.className = 'vscode-light'"),
    ("document.documentElement.setAttribute('theme', 'dark')", "document.documentElement.removeAttribute('theme')"),
], ids=["JupyterLab", "VS Code", "Colab"])  # fmt: skip
@pytest.mark.nightly
def test_the_theme_of_the_notebook_wins(show, change, back):
    one = show(graph(shared()[0], gradients=True).to_html())
    for command, theme in ((change, DARK), (back, LIGHT)):
        assert one.run(f"{command}; moment(50).then(() => style('.bg').fill)") == rgb(theme["bg"])


@pytest.mark.nightly
def test_several_pictures_on_a_page(show):
    two = [fragment(shared()[0].step().graph, 0), fragment(graph(lesson()[0]))]
    one = show(f"<!doctype html><meta charset=utf-8><body>{''.join(two)}</body>")
    roots = "[...document.querySelectorAll('.autoflow-picture > div')].map((d) => d.shadowRoot)"
    assert one.run(f"{roots}.map((root) => root.querySelectorAll('button').length)") == [3, 0]
    assert one.run("document.querySelectorAll('img').length") == 0


def test_names_are_text_in_the_browser_too(show):
    z = 1.0
    for name in EVIL[:-1]:
        z = z * af.Variable(2.0, name=name)
        z.name = name
    text = re.sub("<meta http-equiv.*?>", "", z.step().to_html())  # escaping is enough, also without a policy
    one = show(text.replace("<head>", "<head><script>var alerts = 0; alert = () => alerts++</script>"))
    assert one.run("texts('.title').length") >= 2 * len(EVIL[:-1])
    for k in range(2 * len(EVIL)):
        found = one.run(f"slide({k}); [alerts, count('img, script, a, b, iframe'), caption().length > 0]")
        assert found == [0, 0, True]


def test_boxes_fold_and_open_on_a_click(show):
    z = network(inner="</script><b>inner")
    one = show(page(graph(z, gradients=True)))
    heads = "texts('.toggle .title')"
    opened, whole = one.run(heads), one.run("count('[data-node]')")
    assert sorted(opened) == ["</script><b>inner", "hidden", "output"]
    one.run("click(toggle('hidden'))")
    assert one.run("count('[data-node]')") == whole - 2  # a Variable and two operations became one card
    assert sorted(one.run(heads)) == ["hidden", "output"]
    assert one.run("style('.bar').display") == "flex"
    one.keep("folded")
    one.run("click(toggle('output'))")
    assert one.run("[count('[data-node]'), toggle('output').ariaExpanded]") == [3, "false"]
    one.run("click(toggle('hidden'))")
    one.run("toggle('output').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    assert one.run(f"[{heads}, count('[data-node]')]") == [opened, whole]
    one.run("slide(0); slide(1000)")
    assert one.run("amount(0)") == graph(z, gradients=True).drawn.nodes[0].gradient.text(4)


def network(inner="inner"):
    """Two boxes, one in the other, and a third; forward and backward."""
    x, w1, w2 = (af.Variable(v, name=name) for v, name in ((2.0, "x"), (3.0, "w1"), (0.5, "w2")))
    with af.scope("hidden"), af.scope(inner):
        h = np.tanh(x * w1)
    with af.scope("output"):
        z = (h * w2) ** 2 + x
    z.name = "z"
    return z


@pytest.mark.nightly
def test_steps_go_on_while_boxes_are_folded(show):
    g = graph(network(), gradients=True)
    steps = steps_of(g.drawn)
    one = show(page(g, 0))
    one.run("click(toggle('hidden'))")
    assert one.run("caption()") == steps[0].caption
    states = "['wait', 'dry', 'act'].map((name) => r().querySelector('[data-node].sco').classList.contains(name))"
    inside = {v.id for v in g.drawn.nodes if "hidden" in v.scope}
    for k, step in enumerate(steps):
        told, arrows, (waits, dry, act) = one.run(f"slide({k}); [caption(), count('.back'), {states}]")
        assert told == step.caption
        if step.phase == "end":
            assert (waits, dry, act) == (False, False, False)
            continue
        coming = steps[k + 1 :]
        assert act == (step.node in inside)
        assert waits == any([s.phase == "forward" and s.node in inside for s in coming])
        assert dry == any([p.source in inside for s in coming for p in s.products])
        crossing = {p.source in inside for p in step.products if (p.source in inside) != (step.node in inside)}
        if step.node not in inside and step.products:
            assert arrows == len(step.products)
        elif step.phase == "backward":
            assert arrows == len(crossing)
        if step.title == "(h*w2)**2" or k == len(steps) // 2:
            one.keep(f"folded{k}")
    before = one.run("slide(7); caption()")
    one.run("r().querySelector('[data-node].sco').onclick()")
    assert one.run("[caption(), count('.act')]") == [before, 1]


def test_a_folded_picture_is_stepped_and_opened_on_the_way(show):
    """A box is one step; open, all its cards wait for that step, and its arrows for its step back."""
    y = af.Variable(0.5, name="x")
    w = af.Variable(2.0, name="w")
    for name in ("a", "b"):
        with af.scope(name):
            y = np.tanh(y * w) - np.sin(y)
    z = y * y
    g = graph(z, depth=0, gradients=True)
    steps = steps_of(g.drawn)
    one = show(page(g, 0))
    assert one.run("texts('.wait .title')") == ["a", "b", "z"]
    for k, step in enumerate(steps):
        assert one.run(f"slide({k}); [caption(), count('.act')]") == [step.caption, int(step.node is not None)]
    assert one.run("slide(1); texts('.act .title')") == ["a"]
    one.run("[...r().querySelectorAll('.toggle')].find((e) => e.querySelector('.title').textContent === 'b').onclick()")
    assert one.run("count('.wait')") == 1 + 4  # z, and the four operations of b
    assert one.run("slide(2); [texts('.wait .title'), count('.act')]") == [["z"], 4]
    (back,) = [s.number for s in steps if s.phase == "backward" and s.title == "b"]
    before, still, then = [one.run(f"slide({k}); count('.quiet')") for k in (2, back - 1, back)]
    assert before > still > then


@pytest.mark.nightly
def test_search(show):
    one = show(graph(lesson()[0], gradients=True, merge=False).to_html())
    one.run("search('SIN')")
    assert one.run("texts('.found .title')") == ["sin(a2)", "a3"]  # a3 has it as an operand
    assert one.run("count('.missed')") > 3
    one.keep("search")
    one.run("r().querySelector('[type=search]').focus()")
    one.press("Enter")
    assert one.run("count('.aside')") > 0
    assert one.run("search('nothing is called that'); texts('[role=search] .where')")[0].startswith("0 of ")
    assert one.run("search(''); count('.found, .missed')") == 0
    small = show(graph(shared()[0], gradients=True).to_html())
    assert small.run("count('[type=search]')") == 0


@pytest.mark.nightly
def test_search_finds_names_in_folded_boxes(show, monkeypatch):
    monkeypatch.setattr(html, "PICTURES", 8)
    y = af.Variable(2.0, name="x")
    for k in range(6):
        with af.scope(f"box{k}"):
            for _ in range(k + 1):  # equal boxes would be repeats, and one card
                y = np.tanh(y)
            y = y * af.Variable(1.0, name=f"weight{k}")
    one = show(page(graph(y, depth=0)))
    assert one.run("search('weight3'); texts('.found .title')") == ["box3"]
    assert one.run("texts('.left-out')") == [""]  # here every click leads somewhere
    one.run("r().querySelector('.toggle.sco[data-node]').onclick()")
    assert one.run("texts('.left-out')") == [""]  # here as well: another box opens alone
    monkeypatch.setattr(html, "PICTURES", 3)
    one = show(page(graph(y, depth=0)))
    assert "does not have every set of folded boxes" in one.run("texts('.left-out')")[0]
    pair = "[e.matches('.toggle'), e.querySelector('.word').textContent === '+']"
    signs = f"[...r().querySelectorAll('.sco[data-node]')].map((e) => {pair})"
    assert one.run(signs) == [[True, True]] * 2 + [[False, False]] * 4


@pytest.mark.nightly
def test_a_click_on_a_card_lights_the_ways_from_it(show):
    g = graph(lesson()[0], gradients=True)
    one = show(g.to_html())
    (start,) = [v.id for v in g.drawn.nodes if v.title == "x"]
    one.run(f"click(card({start}))")
    dark = {int(k) for k in one.run("[...r().querySelectorAll('[data-node].aside')].map((e) => e.dataset.node)")}
    on = {start}
    for e in sorted(g.drawn.edges, key=lambda e: e.target):
        if e.source in on:
            on.add(e.target)
    assert dark == {v.id for v in g.drawn.nodes} - on
    one.keep("paths")
    assert one.run(f"click(card({start})); count('.aside')") == 0


def test_long_data_is_unpacked(show, monkeypatch):
    monkeypatch.setattr(html, "LONG", 1000)
    text = page(graph(lesson()[0], gradients=True))
    assert "data-autoflow='{" not in text
    one = show(text)
    one.run("until(() => document.querySelector('.autoflow-picture > div')?.shadowRoot)")
    assert one.run("count('[data-node]')") > 8


def test_a_script_that_is_not_ours_does_not_run(browser, tmp_path):
    path = tmp_path / "page.html"
    text = shared()[0].step().to_html().replace("</body>", "<script>window.hit = 1</script></body>")
    path.write_text(text, encoding="utf-8")
    one = browser.open(path)
    assert one.run("window.hit") is None
    assert one.run("Boolean(document.querySelector('.autoflow-picture > div').shadowRoot)") is True
    assert any(["Content Security Policy" in problem for problem in one.problems()])


@pytest.mark.nightly
def test_the_active_card_is_in_view_and_the_controls_stay(show):
    one = show(chain(12).step(direction="down").to_html(), width=800, height=500)
    moved = 0
    for k in range(1, int(one.run("slider().max")), 3):
        if one.run(f"slide({k}); count('.act')"):
            ends = "['.stay', '.act'].flatMap((name) => [box(name).top, box(name).bottom])"
            top, below, active, low = one.run(ends)
            assert 0 <= top <= below <= active + 1 <= low + 1 <= 501, k  # not behind them
            moved = max(moved, one.run("scrollY"))
    assert moved > 300
    one.keep("tall")


@pytest.mark.nightly
def test_a_cut_arrow_leads_to_its_other_end(show):
    x, w = af.Variable(np.ones((8, 8)), name="x"), af.Variable(np.ones((8, 8)), name="W")
    near = x @ w
    far = repeat(lambda y: np.tanh(y @ w), near, 9)
    g = graph(np.sum(far + near), direction="rows", fold=False)
    number = next(v.id for v in g.drawn.nodes if v.title == "near")
    one = show(page(g))
    end = f"r().querySelector('[data-goto=\"{number}\"]')"
    assert one.run(f"{end}.getAttribute('role')") == "link"
    assert one.run(f"click({end}); card({number}).dataset.chosen") == "1"
    assert one.run(f"{end}.focus(); r().activeElement === {end}")


def test_a_printed_page_cuts_nothing_off_and_is_light(show):
    one = show(chain(5).graph("lesson", gradients=True).to_html(), width=700)
    one.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert one.run("box('svg').width") <= 700
    assert one.run(GROUNDS) == [rgb(LIGHT["bg"])] * 2
    assert one.run("style('.bar').display") == "none"


@pytest.mark.nightly
def test_a_wide_picture_scrolls_and_a_button_fits_it(show):
    one = show(lesson()[0].step(direction="right").to_html(), width=800)
    wide = "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(r().querySelector('.picture'))"
    assert one.run(wide) is True
    one.run("moment()")  # sizes are observed once a frame
    for name, is_wide in (("Fit to the page", False), ("Full size", True)):
        assert one.run(f"press('{name}'); {wide}") is is_wide
    one.keep("wide")
    assert show(shared()[0].step().to_html(), width=1300).run("buttons().length") == 3
