"""Pictures in a real browser, used as a person would: buttons, keys, the slider, light and dark.

``AUTOFLOW_SHOTS=folder pytest tests/pictures/test_browser.py`` leaves screenshots there, to be looked at.
"""

import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from graphs import EVIL, lesson, shared

import autoflow as af
from autoflow.pictures import graph
from autoflow.pictures.model.data import number
from autoflow.pictures.model.steps import steps_of
from autoflow.pictures.model.style import DARK, LIGHT
from autoflow.pictures.pages import html
from autoflow.pictures.pages.html import fragment, page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]
SVG = "{http://www.w3.org/2000/svg}"

# The parts of the page, for the tests: r is the shadow root of the first picture.
HELPERS = """
const r = () => document.querySelector('.autoflow-picture > div').shadowRoot;
const buttons = () => [...r().querySelectorAll('button')];
const texts = (selector) => [...r().querySelectorAll(selector)].map((e) => e.textContent);
const seen = (e) => getComputedStyle(e).visibility === 'visible';
const card = (id) => r().querySelector(`[data-node="${id}"]`);
const amount = (id) => { const e = card(id).querySelector('.gradient'); return seen(e) ? e.textContent : ''; };
const sent = (id) => [...card(id).querySelectorAll('.sent')].filter(seen).map((e) => e.textContent);
const slide = (k) => { const s = r().querySelector('[type=range]'); s.value = k; s.dispatchEvent(new Event('input')); };
const caption = () => r().querySelector('.caption').textContent;
"""


def test_a_page_cuts_nothing_off(show):
    """An SVG that stands in a page as it is, in a window that is narrower."""
    z = x = af.Variable(1.0, name="x")
    for _ in range(5):
        z = np.tanh(z) * x
    text = af.graph(z, "lesson", direction="right").to_svg()
    assert int(re.search(r'width="(\d+)"', text)[1]) > 900
    one = show(f"<!doctype html><body style='margin:0'>{text}</body>", width=600)
    wide, high = one.run(
        "(({width, height}) => [width, height])(document.querySelector('svg').getBoundingClientRect())"
    )
    assert wide == 600
    given = [int(x) for x in re.search(r'viewBox="0 0 (\d+) (\d+)"', text).groups()]
    assert high / wide == pytest.approx(given[1] / given[0], rel=1e-3)


def test_stepping_to_the_end_gives_the_gradients_of_backward(show):
    a5, variables = lesson()
    stepper = a5.step()
    one = show(stepper.to_html())
    a5.backward()
    for k, step in enumerate(stepper):
        assert one.run("caption()") == step.caption
        assert one.run("r().querySelector('.where').textContent") == f"{k} / {len(stepper) - 1}  {step.phase}"
        if step.phase == "backward":
            for p in step.products:
                assert one.run(f"amount({p.source})") == p.so_far.text(4)
                assert f"= {p.sent.text(4)}" in one.run(f"sent({step.node})")
            assert one.run("[...r().querySelectorAll('.act')].map((e) => +e.dataset.node)") == [step.node]
        if k in (0, 6, 13, 17):
            one.keep(f"step{k:02}")
        one.run("buttons()[1].click()")
    for v in variables:
        (node,) = [n for n in stepper.graph.nodes if n.title == v.name]
        assert one.run(f"amount({node.id})") == number(float(v.grad), 4)
    assert one.run("buttons()[1].disabled") is True


def test_the_last_frame_is_the_static_picture(show):
    for thing in (lesson()[0].step().graph, graph(lesson()[0], gradients=True), graph(shared()[0], gradients=True)):
        one = show(page(thing, 0))
        before = one.run("new XMLSerializer().serializeToString(r().querySelector('svg'))")
        one.run("slide(1000)")
        after = one.run("new XMLSerializer().serializeToString(r().querySelector('svg'))")
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
        assert one.run(f"amount({k})") == ""
        assert one.run(f"sent({k})") == []
        assert one.run(f"seen(card({k}).querySelector('.value'))") is False
    seed = next(s.number for s in stepper if s.phase == "seed")
    one.run(f"slide({seed})")
    shown = {k: one.run(f"amount({k})") for k in operations}
    assert {k for k, text in shown.items() if text} == set(stepper.graph.outputs)
    assert all([one.run(f"seen(card({k}).querySelector('.value'))") for k in operations])


def test_back_and_forth_gives_the_same_frames(show):
    one = show(shared()[0].step().to_html())
    last = len(shared()[0].steps()) - 1
    frame = "r().querySelector('svg').outerHTML.replaceAll(' class=\"\"', '')"
    forth = []
    for _ in range(last):
        forth.append(one.run(frame))
        one.run("buttons()[1].click()")
    back = []
    for _ in range(last):
        one.run("buttons()[0].click()")
        back.append(one.run(frame))
    assert back == forth[::-1]


def test_keys(show):
    steps = shared()[0].steps()
    one = show(shared()[0].step().to_html())
    one.run("r().querySelector('.page').focus()")
    for key, k in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(steps) - 1), ("Home", 0)]:
        one.press(key)
        assert one.run("caption()") == steps[k].caption


def test_play_and_pause(show):
    one = show(shared()[0].step().to_html())
    one.run("const timer = setInterval; window.setInterval = (f, ms) => timer(f, ms / 20); 0")
    assert one.run("buttons()[2].textContent") == "Play"
    one.run("buttons()[2].click()")
    assert one.run("buttons()[2].textContent") == "Pause"
    end = time.monotonic() + 20
    place = "Number(r().querySelector('[type=range]').value)"
    while one.run(place) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    one.run("buttons()[2].click()")
    stopped = one.run(place)
    assert stopped >= 2
    assert one.run("buttons()[2].textContent") == "Play"
    assert one.run(f"new Promise((done) => setTimeout(() => done({place}), 200))") == stopped


def test_predict_first(show):
    steps = shared()[0].steps()
    one = show(shared()[0].step().to_html())
    one.run("r().querySelector('[type=checkbox]').click()")
    for step in steps[1:]:
        one.run("buttons()[1].click()")
        if not step.question:
            told = "   0 of 9 right at the first try" if step.phase == "end" else ""
            assert one.run("caption()") == step.caption + told
            continue
        assert one.run("caption()").startswith(step.question)
        assert one.run(f"sent({step.node})") == []
        one.keep("predict")
        one.run("buttons()[1].click()")
        assert one.run("caption()") == step.caption
    assert one.run("buttons()[1].disabled") is True


def test_it_can_be_used_without_seeing(show):
    one = show(shared()[0].step().to_html())
    assert one.run("r().querySelector('.caption').getAttribute('aria-live')") == "polite"
    assert one.run("buttons().map((b) => b.getAttribute('aria-label') || b.textContent)") == [
        "previous step", "next step", "Play",
    ]  # fmt: skip
    assert one.run("r().querySelector('[type=range]').getAttribute('aria-valuetext')").startswith("0 of 8")
    assert one.run("r().querySelector('.page').getAttribute('aria-label')").startswith("Computation graph of out = 12")
    still = "getComputedStyle(r().querySelector('svg g')).transitionDuration"
    assert one.run(still) == "0s"
    one.media(reduced_motion=False)
    assert one.run(still) != "0s"


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"


def test_light_and_dark(show):
    one = show(graph(lesson()[0], gradients=True).to_html())
    ground = "getComputedStyle(r().querySelector('.bg')).fill"
    around = "getComputedStyle(r().querySelector('.page')).backgroundColor"
    for dark, theme in ((False, LIGHT), (True, DARK)):
        one.media(dark=dark)
        assert one.run(ground) == rgb(theme["bg"])
        assert one.run(around) == rgb(theme["bg"])
        one.keep(f"{'dark' if dark else 'light'}")


@pytest.mark.parametrize(("change", "back"), [
    ("document.body.dataset.jpThemeLight = 'false'", "document.body.dataset.jpThemeLight = 'true'"),
    ("document.body.className = 'vscode-dark'", "document.body.className = 'vscode-light'"),
    ("document.documentElement.setAttribute('theme', 'dark')", "document.documentElement.removeAttribute('theme')"),
], ids=["JupyterLab", "VS Code", "Colab"])  # fmt: skip
@pytest.mark.nightly
def test_the_theme_of_the_notebook_wins(show, change, back):
    one = show(graph(shared()[0], gradients=True).to_html())
    ground = "getComputedStyle(r().querySelector('.bg')).fill"
    for command, theme in ((change, DARK), (back, LIGHT)):
        one.run(f"{command}; new Promise((done) => setTimeout(done, 50))")
        assert one.run(ground) == rgb(theme["bg"])


def test_a_fixed_theme_stays(show):
    one = show(graph(shared()[0], gradients=True, theme="dark").to_html())
    assert one.run("getComputedStyle(r().querySelector('.bg')).fill") == rgb(DARK["bg"])
    assert one.run("getComputedStyle(r().querySelector('.page')).backgroundColor") == rgb(DARK["bg"])
    one.run("slide(0)")
    one.keep("fixed_dark")


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
        one.run(f"slide({k})")
        assert one.run("alerts") == 0
        assert one.run("r().querySelectorAll('img, script, a, b, iframe').length") == 0
        assert one.run("caption().length") > 0


@pytest.mark.nightly
def test_arrays(show):
    rng = np.random.default_rng(0)
    w, b = af.Variable(rng.normal(size=(3, 4)), name="W"), af.Variable(np.zeros(4), name="b")
    loss = np.sum(np.tanh(af.Constant(rng.normal(size=(8, 3)), name="data") @ w + b) ** 2)
    loss.name = "loss"
    stepper = loss.step()
    one = show(stepper.to_html(), width=1700)
    for k in range(len(stepper)):
        one.run(f"slide({k})")
        assert one.run("caption()") == stepper[k].caption
        if k in (8, len(stepper) - 1):
            one.keep(f"arrays{k:02}")


def test_boxes_fold_and_open_on_a_click(show):
    x, w1, w2 = (af.Variable(v, name=name) for v, name in ((2.0, "x"), (3.0, "w1"), (0.5, "w2")))
    with af.scope("hidden"), af.scope("</script><b>inner"):
        h = np.tanh(x * w1)
    with af.scope("output"):
        z = h * w2
    one = show(page(graph(z, gradients=True)))
    heads = "[...r().querySelectorAll('.toggle')].map((e) => e.querySelector('.title').textContent)"
    press = "[...r().querySelectorAll('.toggle')].find((e) => e.textContent.includes('{}'))"
    click = press + ".dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    cards = "r().querySelectorAll('[data-node]').length"
    opened, whole = one.run(heads), one.run(cards)
    assert sorted(opened) == ["</script><b>inner", "hidden", "output"]
    one.run(click.format("hidden"))
    assert one.run(cards) == whole - 3  # two Variables and two operations became one card
    assert sorted(one.run(heads)) == ["hidden", "output"]
    assert one.run("getComputedStyle(r().querySelector('.bar')).display") == "flex"
    one.keep("folded")
    one.run(click.format("output"))
    assert one.run(cards) == 2
    assert one.run(press.format("output") + ".getAttribute('aria-expanded')") == "false"
    one.run(click.format("hidden"))
    one.run(press.format("output") + ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    assert one.run(heads) == opened
    assert one.run(cards) == whole
    one.run("slide(0)")
    one.run("slide(1000)")
    assert one.run("amount(0)") == graph(z, gradients=True).drawn.nodes[0].gradient.text(4)


def network():
    """Two boxes, one in the other, and a third; forward and backward."""
    x, w1, w2 = (af.Variable(v, name=name) for v, name in ((2.0, "x"), (3.0, "w1"), (0.5, "w2")))
    with af.scope("hidden"), af.scope("inner"):
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
    one.run("[...r().querySelectorAll('.toggle')].find((e) => e.textContent.includes('hidden')).onclick()")
    assert one.run("caption()") == steps[0].caption
    box = "r().querySelector('[data-node].sco')"
    amounts = [f"{box}.classList.contains('{name}')" for name in ("wait", "dry", "act")]
    inside = {v.id for v in g.drawn.nodes if "hidden" in v.scope}
    for k, step in enumerate(steps):
        one.run(f"slide({k})")
        assert one.run("caption()") == step.caption
        waits, dry, act = [one.run(text) for text in amounts]
        if step.phase == "end":
            assert (waits, dry, act) == (False, False, False)
            continue
        coming = steps[k + 1 :]
        assert act == (step.node in inside)
        assert waits == any([s.phase == "forward" and s.node in inside for s in coming])
        assert dry == any([p.source in inside for s in coming for p in s.products])
        arrows = one.run("r().querySelectorAll('.back').length")
        crossing = {p.source in inside for p in step.products if (p.source in inside) != (step.node in inside)}
        if step.node not in inside and step.products:
            assert arrows == len(step.products)
        elif step.phase == "backward":
            assert arrows == len(crossing)
        if step.title == "(h*w2)**2" or k == len(steps) // 2:
            one.keep(f"folded{k}")
    one.run("slide(7)")
    before = one.run("caption()")
    one.run("r().querySelector('[data-node].sco').onclick()")
    assert one.run("caption()") == before
    assert one.run("r().querySelectorAll('.act').length") == 1


def test_a_folded_picture_is_stepped_and_opened_on_the_way(show):
    """A box is one step; open, all its cards wait for that step, and its arrows for its step back."""
    x, w = af.Variable(0.5, name="x"), af.Variable(2.0, name="w")
    y = x
    for name in ("a", "b"):
        with af.scope(name):
            y = np.tanh(y * w) - np.sin(y)
    z = y * y
    g = graph(z, depth=0, gradients=True)
    steps = steps_of(g.drawn)
    one = show(page(g, 0))
    wait = "[...r().querySelectorAll('.wait .title')].map((e) => e.textContent)"
    assert one.run(wait) == ["a", "b", "z"]
    for k, step in enumerate(steps):
        one.run(f"slide({k})")
        assert one.run("caption()") == step.caption
        assert one.run("r().querySelectorAll('.act').length") == (step.node is not None)
    one.run("slide(1)")
    assert one.run("[...r().querySelectorAll('.act .title')].map((e) => e.textContent)") == ["a"]
    one.run("[...r().querySelectorAll('.toggle')].find((e) => e.querySelector('.title').textContent === 'b').onclick()")
    assert len(one.run(wait)) == 1 + 4  # z, and the four operations of b
    one.run("slide(2)")
    assert one.run(wait) == ["z"]
    assert one.run("r().querySelectorAll('.act').length") == 4
    quiet = "r().querySelectorAll('.quiet').length"
    before = one.run(quiet)
    (back,) = [s.number for s in steps if s.phase == "backward" and s.title == "b"]
    one.run(f"slide({back - 1})")
    still = one.run(quiet)
    one.run(f"slide({back})")
    assert before > still > one.run(quiet)
    assert one.problems() == []


@pytest.mark.nightly
def test_search(show):
    one = show(graph(lesson()[0], gradients=True, merge=False).to_html())
    find = "(text) => { const f = r().querySelector('[type=search]'); f.value = text; f.oninput(); }"
    found = "[...r().querySelectorAll('.found')].map((e) => e.querySelector('.title').textContent)"
    one.run(f"({find})('SIN')")
    assert one.run(found) == ["sin(a2)", "a3"]  # a3 has it as an operand
    assert one.run("r().querySelectorAll('.missed').length") > 3
    one.keep("search")
    one.run("r().querySelector('[type=search]').focus()")
    one.press("Enter")
    assert one.run("r().querySelectorAll('.aside').length") > 0
    one.run(f"({find})('nothing is called that')")
    assert one.run("r().querySelector('[role=search] .where').textContent").startswith("0 of ")
    one.run(f"({find})('')")
    assert one.run("r().querySelectorAll('.found, .missed').length") == 0
    small = show(graph(shared()[0], gradients=True).to_html())
    assert small.run("r().querySelector('[type=search]')") is None


@pytest.mark.nightly
def test_search_finds_names_in_folded_boxes(show, monkeypatch):
    monkeypatch.setattr(html, "PICTURES", 8)
    x = af.Variable(2.0, name="x")
    y = x
    for k in range(6):
        with af.scope(f"box{k}"):
            for _ in range(k + 1):  # equal boxes would be repeats, and one card
                y = np.tanh(y)
            y = y * af.Variable(1.0, name=f"weight{k}")
    one = show(page(graph(y, depth=0)))
    one.run("const f = r().querySelector('[type=search]'); f.value = 'weight3'; f.oninput()")
    assert one.run("[...r().querySelectorAll('.found')].map((e) => e.querySelector('.title').textContent)") == ["box3"]
    note = "r().querySelector('.left-out').textContent"
    assert one.run(note) == ""  # here every click leads somewhere
    one.run("r().querySelector('.toggle.sco[data-node]').onclick()")
    assert one.run(note) == ""  # here as well: another box opens alone
    monkeypatch.setattr(html, "PICTURES", 3)
    one = show(page(graph(y, depth=0)))
    assert "does not have every set of folded boxes" in one.run(note)
    pair = "[e.matches('.toggle'), e.querySelector('.word').textContent === '+']"
    signs = f"[...r().querySelectorAll('.sco[data-node]')].map((e) => {pair})"
    assert one.run(signs) == [[True, True]] * 2 + [[False, False]] * 4


@pytest.mark.nightly
def test_a_click_on_a_card_lights_the_ways_from_it(show):
    g = graph(lesson()[0], gradients=True)
    one = show(g.to_html())
    (start,) = [v.id for v in g.drawn.nodes if v.title == "x"]
    click = f"card({start}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    one.run(click)
    dark = {int(k) for k in one.run("[...r().querySelectorAll('[data-node].aside')].map((e) => e.dataset.node)")}
    on = {start}
    for e in sorted(g.drawn.edges, key=lambda e: e.target):
        if e.source in on:
            on.add(e.target)
    assert dark == {v.id for v in g.drawn.nodes} - on
    one.keep("paths")
    one.run(click)
    assert one.run("r().querySelectorAll('.aside').length") == 0


def test_long_data_is_unpacked(show, monkeypatch):
    monkeypatch.setattr(html, "LONG", 1000)
    text = page(graph(lesson()[0], gradients=True))
    assert "data-autoflow='{" not in text
    one = show(text)
    end = time.monotonic() + 10
    while not one.run("Boolean(document.querySelector('.autoflow-picture > div')?.shadowRoot)"):
        assert time.monotonic() < end
    assert one.run("r().querySelectorAll('[data-node]').length") > 8


def test_a_script_that_is_not_ours_does_not_run(browser, tmp_path):
    path = tmp_path / "page.html"
    text = shared()[0].step().to_html().replace("</body>", "<script>window.hit = 1</script></body>")
    path.write_text(text, encoding="utf-8")
    one = browser.open(path)
    assert one.run("window.hit") is None
    assert one.run("Boolean(document.querySelector('.autoflow-picture > div').shadowRoot)") is True
    assert any(["Content Security Policy" in problem for problem in one.problems()])


def tall():
    """A picture that is higher than its window."""
    z = x = af.Variable(1.0, name="x")
    for _ in range(12):
        z = np.tanh(z) * x
    return z


@pytest.mark.nightly
def test_the_active_card_is_in_view_and_the_controls_stay(show):
    one = show(tall().step(direction="down").to_html(), width=800, height=500)
    last = one.run("Number(r().querySelector('[type=range]').max)")
    inside = "(({top, bottom}) => top >= 0 && bottom <= innerHeight)"
    moved = 0
    for k in range(1, last, 3):
        one.run(f"slide({k})")
        if one.run("!r().querySelector('.act')"):
            continue
        assert one.run(f"{inside}(r().querySelector('.act').getBoundingClientRect())"), k
        assert one.run(f"{inside}(r().querySelector('.stay').getBoundingClientRect())"), k
        below = one.run("r().querySelector('.stay').getBoundingClientRect().bottom")
        assert one.run("r().querySelector('.act').getBoundingClientRect().top") >= below - 1  # not behind them
        moved = max(moved, one.run("scrollY"))
    assert moved > 300
    one.keep("tall")


@pytest.mark.nightly
def test_a_saved_page_has_the_focus_and_space_plays(show):
    steps = shared()[0].steps()
    one = show(shared()[0].step().to_html())
    one.press("ArrowRight")  # without a click
    assert one.run("caption()") == steps[1].caption
    one.press(" ")
    assert one.run("buttons()[2].textContent") == "Pause"
    one.press(" ")
    assert one.run("buttons()[2].textContent") == "Play"
    two = show(f"<!doctype html><body><p>text</p>{fragment(shared()[0].step().graph, 0)}</body>")
    assert two.run("document.activeElement === document.body")  # a notebook keeps its focus


@pytest.mark.nightly
def test_there_are_three_speeds(show):
    one = show(shared()[0].step().to_html())
    assert one.run("[...r().querySelectorAll('select option')].map((o) => o.textContent)") == ["½×", "1×", "2×"]
    one.run("window.asked = []; window.setInterval = (f, ms) => { asked.push(ms); return 1; }; 0")
    for k in range(3):
        one.run(f"r().querySelector('select').selectedIndex = {k}; buttons()[2].click(); buttons()[2].click()")
    assert one.run("asked") == [2800, 1400, 700]


@pytest.mark.nightly
def test_a_cut_arrow_leads_to_its_other_end(show):
    x, w = af.Variable(np.ones((8, 8)), name="x"), af.Variable(np.ones((8, 8)), name="W")
    near = x @ w
    y = near
    for _ in range(9):
        y = np.tanh(y @ w)
    g = graph(np.sum(y + near), direction="rows", fold=False)
    number = next(v.id for v in g.drawn.nodes if v.title == "near")
    one = show(page(g))
    end = f"r().querySelector('[data-goto=\"{number}\"]')"
    assert one.run(f"{end}.getAttribute('role')") == "link"
    one.run(f"{end}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert one.run(f"card({number}).dataset.chosen") == "1"
    one.run(f"{end}.focus()")
    assert one.run(f"r().activeElement === {end}")


def test_a_printed_page_cuts_nothing_off_and_is_light(show):
    z = x = af.Variable(1.0, name="x")
    for _ in range(5):
        z = np.tanh(z) * x
    one = show(z.graph("lesson", gradients=True).to_html(), width=700)
    one.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    wide = "r().querySelector('svg').getBoundingClientRect().width"
    assert one.run(wide) <= 700
    for element in (".bg", ".page"):
        colour = f"getComputedStyle(r().querySelector('{element}'))"
        assert one.run(f"{colour}.{'fill' if element == '.bg' else 'backgroundColor'}") == rgb(LIGHT["bg"])
    assert one.run("getComputedStyle(r().querySelector('.bar')).display") == "none"


@pytest.mark.nightly
def test_a_wide_picture_scrolls_and_a_button_fits_it(show):
    one = show(lesson()[0].step(direction="right").to_html(), width=800)
    frame = "r().querySelector('.picture')"
    wide = f"{frame}.scrollWidth > {frame}.clientWidth"
    assert one.run(wide) is True
    one.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")  # sizes are observed once a frame
    button = "[...r().querySelectorAll('button')].find((b) => b.nextSibling === null && b.textContent.startsWith('F'))"
    assert one.run(f"{button}.textContent") == "Fit to the page"
    one.run(f"{button}.click()")
    assert one.run(wide) is False
    assert one.run(f"{button}.textContent") == "Full size"
    one.run(f"{button}.click()")
    assert one.run(wide) is True
    one.keep("wide")
    assert show(shared()[0].step().to_html(), width=1300).run("buttons().length") == 3
