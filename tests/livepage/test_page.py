"""``af.live`` in a real browser: numbers, buttons, keys, dragging, themes and widths; and what Python says of it.

``AUTOFLOW_SHOTS=folder pytest tests/livepage`` leaves screenshots there, to be looked at.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import runtime
from firefox import firefox
from live_models import HELPERS as HELPERS, MODELS, drag, model, page_of
from picture_pages import rgb
from processes import in_node
from seeds import by_day

import autoflow as af
from autoflow import nn
from autoflow.livepage.page import script, widget
from autoflow.pictures.model.style import DARK, LIGHT

STEPS, FRAMES = 200, 60
WORK = f"for (let k = 0; k < {FRAMES}; k++) {{ L.step(); L.draw(); }}"
STATUS = "frames(2).then(() => $('status').textContent)"
browser_test = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]
WITH_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def processor_time(one, work):
    """Seconds of the page's thread, however busy the machine is."""
    one.call("Performance.enable", timeDomain="threadTicks")

    def now():
        return {m["name"]: m["value"] for m in one.call("Performance.getMetrics")["metrics"]}["TaskDuration"]

    before = now()
    one.run(work)
    return now() - before


def trained(name, rule, momentum=0.0):
    """What the same steps give in Python, by our own optimisers: losses, parameters."""
    loss, _, params, data, lr = model(name)
    variables = {key: af.Variable(p, name=key) for key, p in params.items()}
    made = variables.values()
    optimiser = af.optim.Adam(made, lr) if rule == "adam" else af.optim.SGD(made, lr, momentum)
    losses = []
    for _ in range(STEPS):
        z = loss(**variables, **data)
        losses.append(z.item())
        optimiser.zero_grad()
        z.backward()
        optimiser.step()
    return losses, [v.value for v in made]


def linear(w, x):
    return x @ w


LOSSES = {  # of w, x and y
    "line": lambda w, x, y: np.mean((w[0] * x + w[1] - y) ** 2),
    "squares": lambda w, x, y: np.mean((x @ w - y) ** 2),
    "entropy": lambda w, x, y: -np.mean(np.sum(y * np.log(nn.softmax(x @ w)), axis=1)),
    "chosen entropy": lambda w, x, y: nn.cross_entropy(x @ w, y),
    "negative": lambda w, x, y: -np.mean(np.tanh(y * (x @ w))),
    "constant": lambda w, x, y: np.sum(0.0 * w),
}
RNG = np.random.default_rng(0)
FEW, LABELS = np.linspace(-1, 1, 8), np.arange(8) % 3
DATA = {  # loss, parameters, data, prediction
    "a curve of labels": ("line", {"w": np.ones(2)}, {"x": FEW, "y": LABELS}, lambda w, x: w[0] * x + w[1]),
    "a curve": ("line", {"w": np.ones(2)}, {"x": FEW, "y": FEW**2}, lambda w, x: w[0] * x + w[1]),
    "one of three, as whole numbers": ("entropy", {"w": RNG.normal(size=(2, 3))},
                                       {"x": RNG.normal(size=(8, 2)), "y": np.eye(3, dtype=int)[LABELS]}, linear),
    "images of whole numbers": ("chosen entropy", {"w": RNG.normal(size=(16, 3))},
                                {"x": RNG.integers(0, 16, (8, 16)), "y": LABELS}, linear),
    "counts": ("squares", {"w": RNG.normal(size=3)}, {"x": RNG.integers(0, 5, (8, 3)), "y": FEW}, linear),
    "counts as targets": ("squares", {"w": RNG.normal(size=3)}, {"x": RNG.normal(size=(8, 3)), "y": LABELS}, linear),
}  # fmt: skip
KINDS = "curve", "curve", "plane", "images", "pairs", "pairs"
AXES = {"label-content-name-mismatch": {"enabled": False}}  # numbers on a card are no label of it
SHAPES = [(20, 3), (14, 6), (1, 16), (3, 20), (2, 16), (5,), (40,), (4, 4), (9, 9)]
SPOT = """const spot = (k, entry) => {
    const one = L.drawn().find((c) => c.c.input === k), canvas = $('graph').lastChild;
    L.params[k].fill(0);
    L.params[k][entry] = 1;
    L.draw();
    one.g.scrollIntoView({ block: 'center' });
    const unit = canvas.width / $('graph').firstChild.viewBox.baseVal.width, box = canvas.getBoundingClientRect();
    const [left, top, wide, high] = [one.x, one.y + 28, one.w / 2, one.c.high + 4].map((v) => Math.round(v * unit));
    const { data } = canvas.getContext('2d').getImageData(left, top, wide, high), at = [];
    for (let i = 0; i < wide * high; i++) {
        if (data[4 * i] < 40 && data[4 * i + 2] > 120) at.push([i % wide, Math.floor(i / wide)]);
    }
    const middle = (axis) => at.reduce((sum, p) => sum + p[axis] + 0.5, 0) / at.length;
    return [box.left + (left + middle(0)) / canvas.width * box.width,
        box.top + (top + middle(1)) / canvas.height * box.height];
};"""
INK = """const ink = (id, left, right, is) => {
    const c = $(id), from = Math.round(left * c.width), to = Math.round(right * c.width);
    const { data } = c.getContext('2d').getImageData(from, 0, to - from, c.height), rows = new Set();
    for (let i = 0; i < data.length; i += 4) if (is(...data.slice(i, i + 4))) rows.add(Math.floor(i / 4 / (to - from)));
    return rows.size / c.height;
};"""


class TestInBrowser:
    pytestmark = browser_test

    @pytest.mark.parametrize("name", by_day(MODELS, {"logistic", "rnn"}))
    def test_trains_as_python_does(self, show, name):
        one = show(page_of(name).to_html())
        for rule in ["sgd", "momentum", "adam"] if name == "logistic" else ["sgd"]:
            one.run(f"click('reset'); L.state.rule = '{rule}'; L.state.momentum = 0.9")
            one.run(f"for (let k = 0; k < {STEPS}; k++) L.step()")
            losses, params = trained(name, rule, 0.9 if rule == "momentum" else 0.0)
            theirs = one.run("[L.losses, all(L.params)]")
            np.testing.assert_allclose(theirs[0][:STEPS], losses, rtol=1e-12, atol=1e-16 * losses[0])  # some end at 0
            for a, b in zip(theirs[1], params, strict=True):
                np.testing.assert_allclose(a, np.ravel(b), rtol=0, atol=1e-12 * np.max(np.abs(b)))

    @pytest.mark.parametrize("name", by_day(MODELS, {"rnn", "attention"}))
    def test_every_card_has_its_value_and_gradient(self, show, name):
        loss, _, params, data, _ = model(name)
        one = show(page_of(name).to_html())
        variables = {key: af.Variable(p, name=key) for key, p in params.items()}
        seen = []
        with af.on_operation(seen.append):
            z = loss(**variables, **data)
        g = af.gradients(z, [*variables.values(), *seen])
        ours = [*variables.values(), *seen]
        cards = one.run("""L.cards.filter((c) => c.grad !== null).map((c) => [c.kind,
            Array.from(c.input === undefined ? L.S.outputs[c.output] : L.S.inputs[c.input]),
            Array.from(L.S.outputs[c.grad])])""")
        assert len(cards) == len(ours)
        for kind in ("Variable", "Operation"):
            mine = [v for v in ours if isinstance(v, getattr(af, kind))]
            for (_, value, gradient), v in zip([c for c in cards if c[0] == kind], mine, strict=True):
                np.testing.assert_allclose(value, np.ravel(v.value), rtol=1e-12, atol=1e-13)
                np.testing.assert_allclose(gradient, np.ravel(g[v]), rtol=1e-11, atol=1e-13)

    @pytest.mark.nightly
    @pytest.mark.parametrize(("width", "dark"), [(1280, False), (800, True), (400, False), (400, True)])
    def test_fits_every_width_and_theme(self, show, width, dark):
        one = show(page_of("spirals").to_html(), width=width, height=900, dark=dark)
        one.run("for (let k = 0; k < 300; k++) L.step()")
        one.run("frames(3)")
        assert one.run("document.documentElement.scrollWidth") == width
        assert one.run("getComputedStyle(document.body).backgroundColor") == rgb((DARK if dark else LIGHT)["bg"])
        wide = one.run("[root.querySelector('.graph svg').getBoundingClientRect().width, $('graph').clientWidth]")
        assert wide[0] <= max(wide[1], 440)
        one.keep(f"live_{width}_{'dark' if dark else 'light'}")

    @pytest.mark.nightly
    def test_names_of_the_source_are_on_the_cards_and_their_line_is_marked(self, show):
        named = {"attention": {"q", "k", "v", "looks"}, "rnn": {"h₁", "h₃", "x[:, k]"},
                 "spirals": {"x @ w1 + b1", "h1", "h2", "y", "loss"}}  # fmt: skip
        for name, titles in named.items():
            one = show(page_of(name).to_html())
            assert titles <= {*one.run("L.cards.map(c => c.title)")}
        one.run("L.pick(card('h2').c)")
        assert one.run("root.querySelector('mark').textContent") == "np.tanh(h1 @ w2 + b2)"
        assert one.run("root.querySelector('.panel td').textContent").split("\n")[0] == "g ⊙ (1 − h2²)"
        assert one.run("frames(2).then(() => root.querySelector('.panel output').textContent)").startswith("g[")
        assert one.run("[card('x @ w1').c.map, card('h2').c.map, card('loss').c.map]")[:2] == [0, 5]

    def test_buttons_keys_and_the_way_back(self, show):
        one = show(page_of("spirals").to_html())
        first = one.run("L.losses[0]")
        for key, at in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", 0), ("ArrowRight", 1)]:
            one.press(key)
            assert one.run("L.state.at") == at
        one.run("click('one', 'one')")
        second = one.run("[L.state.at, L.losses[3], all(L.params)]")
        one.run("click('back', 'one')")
        assert one.run("[L.state.at, L.losses[3], all(L.params)]") == second
        one.press("r")
        assert one.run("[L.state.at, L.losses.length, L.losses[0]]") == [0, 1, first]
        one.run("click('play'); until(5)")
        one.run("click('play')")
        at = one.run("frames(2).then(() => L.state.at)")
        assert at > 5
        told = [f"step {at}", f"step {at}, loss {one.run('$(`now`).textContent')}"]
        assert one.run("[$('status').textContent, $('said').textContent]") == told
        one.run("L.state.rate = 1e6; click('play'); frames(10)")
        assert "smaller learning rate" in one.run(STATUS) or one.run("isFinite(L.losses[L.state.at])")

    def test_another_optimiser_begins_anew(self, show):
        """What a heavy ball remembers is no mean of gradients: Adam's first step is one learning rate in each entry."""
        one = show(page_of("spirals").to_html())
        one.run("const choose = (rule) => { $('rule').value = rule; $('rule').onchange(); }; 0")
        one.run("choose('momentum'); for (let k = 0; k < 40; k++) L.step(); choose('adam')")
        move = "(() => { const a = L.params[0].slice(); click('one'); return L.params[0].map((x, k) => x - a[k]); })()"
        for _ in range(2):
            np.testing.assert_allclose(np.abs([*one.run(move).values()]), 0.1, rtol=1e-3)
            one.run("click('back', 'back'); L.state.last = L.state.at")  # to where the ball was rolling, and anew

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", ["negative", "no number", "diverges", "constant"])
    def test_any_loss_has_its_curve_and_keeps_the_page_alive(self, show, name):
        data = {"x": np.random.default_rng(0).normal(size=(12, 2)), "y": np.repeat([1.0, -1.0], 6)}
        start = np.array([np.nan if name == "no number" else 0.5, -1.0])
        lr = 3.0 if name == "diverges" else 0.1
        one = show(af.live(LOSSES.get(name, LOSSES["squares"]), {"w": start}, data, linear, lr=lr).to_html())
        for k in (0, 1, 60, 400):
            one.run(f"while (L.state.at < {k}) L.step(); frames(2)")
            one.run("for (const c of L.cards) { L.pick(c); L.draw(); }")
            one.run("click('quiz'); L.draw(); click('quiz', 'back', 'one')")
        drawn = "$('losses').getContext('2d').getImageData(0, 0, $('losses').width, $('losses').height).data"
        ink = one.run(f"(() => {{ const d = {drawn}; let n = 0; for (let i = 0; i < d.length; i += 4) "
                      "if (d[i + 3] > 200 && d[i] - d[i + 1] > 60) n++; return n; })()")  # fmt: skip
        assert (ink > 200) is (name != "no number")
        assert one.run("L.state.at") == 400

    @pytest.mark.nightly
    def test_weights_and_points_can_be_dragged(self, show):
        one = show(page_of("spirals").to_html(), height=1400)
        (x, y, *_), before = one.run("frames(2).then(() => [place(card('w1').g), L.params[0][0]])")
        drag(one, (x + 13, y + 36), (0, -50))
        assert one.run("L.params[0][0]") == pytest.approx(before + 1)
        assert one.run("heading()").startswith("w1")
        left, top, size, _ = one.run("place($('plane'))")
        px, py, loss = one.run("[L.data[0][6], L.data[0][7], L.losses[0]]")
        half = page_of("spirals").study.area[1]
        drag(one, (left + (px + half) / (2 * half) * size, top + (half - py) / (2 * half) * size), (20, 0))
        moved = one.run("[L.data[0][6], L.data[0][7], L.losses[L.state.at], L.chosen()]")
        assert moved[0] == pytest.approx(px + 20 * 2 * half / size, abs=1e-3)
        assert moved[3] == 3
        assert moved[2] != loss

    def test_predict_first_hides_gradients_until_an_answer(self, show):
        one = show(page_of("logistic").to_html())
        one.run("click('quiz'); L.pick(card('w').c); frames(3)")
        assert one.run("hidden('w')") == ["?", "gradient ?"]
        g = one.run("L.S.outputs[card('w').c.grad][0]")
        one.run(f"say({1 if g < 0 else -1}); frames(3)")
        assert one.run("$('question').textContent").startswith("Right")
        assert one.run("hidden('w')")[0] != "?"

    def test_a_table_has_all_numbers(self, show):
        one = show(page_of("logistic").to_html())
        one.run("$('all').open = true; frames(4)")
        rows = one.run("[...$('numbers').rows].map(r => [...r.cells].map(c => c.textContent))")
        assert [row[0] for row in rows] == one.run("L.cards.map(c => c.name)")
        assert [*rows[-1][:3], rows[-1][4]] == ["loss", "Operation", "number", "1"]
        assert all([one.run(f"card('{t}').g.getAttribute('aria-label')") for t in ("w", "loss")])

    @pytest.mark.nightly
    def test_sixty_frames_and_no_request(self, show):
        page = page_of("spirals")
        one = show(page.to_html())
        one.run("click('play')")
        time.sleep(0.5)
        one.run("click('play')")
        assert processor_time(one, WORK) / FRAMES < 1 / 60
        assert len(page.to_html()) < 400_000

    @pytest.mark.nightly
    def test_in_a_cell_and_twice_in_a_page(self, show):
        text = page_of("logistic").to_html(full=False) + page_of("curve").to_html(full=False)
        one = show(f"<!doctype html><body>{text}</body>")
        titles = one.run("[...document.querySelectorAll('.autoflow-live')].map(e => e.live.cards.at(-1).title)")
        assert titles == ["loss", "loss"]
        one.press("ArrowRight")  # keys belong to the notebook
        assert one.run("L.state.at") == 0

    def test_any_data_and_its_prediction(self, show):
        """Whole numbers stay as they are, and are shown all the same; NaN has a colour of its own."""
        pages = [af.live(LOSSES[loss], *args, title=name) for name, (loss, *args) in DATA.items()]
        assert [page.about["kind"] for page in pages] == [*KINDS]
        one = show(f"<!doctype html><body>{''.join([page.to_html(full=False) for page in pages])}</body>")
        lives = "[...document.querySelectorAll('.autoflow-live')].map(e => e.live)"
        for page, found in zip(pages, one.run(f"{lives}.map(live => Array.from(live.P.outputs[0]))"), strict=True):
            x = page.study.grid if page.about["area"] else page.study.data["x"]
            np.testing.assert_allclose(found, np.ravel(page.study.predict(page.study.params["w"], x)), atol=1e-12)
        one.run(f"for (const live of {lives}) {{ live.pick(live.cards[0]); live.draw(); }}")
        point = "new PointerEvent('pointermove', { buttons: 1, clientX: 9, clientY: 9 })"
        for page, (moved, same) in zip(pages, one.run(f"""{lives}.map((live) => {{
            const before = live.losses[0];
            live.$('plane').setPointerCapture = () => {{}};
            for (const name of ['onpointerdown', 'onpointermove']) live.$('plane')[name]({point});
            return [live.losses[live.state.at] !== before, live.$('plane').nextElementSibling.textContent];
        }})"""), strict=True):  # fmt: skip
            is_fixed = page.about["x" if page.about["kind"] == "images" else "labels"] is not None
            assert moved is not (is_fixed and page.about["kind"] in ("images", "pairs")), page
            assert ("Drag" in same or "Draw" in same) is moved, page
        ink = "L.$('values').getContext('2d').getImageData(2, 2, 1, 1).data.slice(0, 3)"
        one.run("L.params[0][0] = NaN; L.draw()")
        w, ground = one.run(f"[Array.from({ink}), getComputedStyle(host).getPropertyValue('--ink').trim()]")
        assert w == [*bytes.fromhex(ground[1:])]

    def test_a_page_that_was_taken_out_lives_on_when_it_comes_back(self, show):
        one = show(page_of("logistic").to_html())
        one.run("host.remove(); frames(3)")
        one.run("document.body.append(host); frames(3)")
        one.run("click('play'); frames(20)")
        assert one.run("L.state.at") > 0

    def test_no_gradient_lets_nothing_grow(self, show):
        page = af.live(lambda w: np.sum(w * np.array([0.0, 1.0])), {"w": np.ones(2)})
        one = show(page.to_html())
        one.run("click('quiz'); L.pick(card('w').c); say(1)")
        assert one.run("$('question').textContent") == "Neither: the gradient is 0."

    def test_the_widget_tells_python(self, tmp_path, browser):
        pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
        page = page_of("spirals")
        assert page._repr_mimebundle_()[0]["text/plain"] == repr(page)
        made = widget(page)
        state = {"about": made.about, "colours": made.colours}
        fake = f"""const STATE = {json.dumps(state).replace("<", chr(92) + "u003c")};
            const model = {{ get: (k) => STATE[k], set: (k, v) => (STATE[k] = v), save_changes: () => {{}} }};
            WIDGET.render({{ model, el: document.body }});"""
        path = tmp_path / "widget.html"
        module = made._esm.replace("export default", "const WIDGET =")
        path.write_text(f"<!doctype html><body><script>{module}{fake}</script></body>", encoding="utf-8")
        one = browser.open(path)
        one.run("""const host = document.querySelector('.autoflow-live').shadowRoot,
            $ = (id) => host.querySelector(`[data-id=${id}]`); $('one').click(); 0""")
        made.state = one.run("STATE.state")
        start = model("spirals")[2]
        _, g = af.value_and_grad(lambda p: page.study.loss(**p, **page.study.data))(start)
        for key, p in page.params.items():
            np.testing.assert_allclose(p, start[key] - 0.1 * g[key], rtol=1e-12)
        one.run("for (let k = 0; k < 40; k++) $('one').click()")
        left, top = one.run("(({left, top}) => [left, top])($('losses').getBoundingClientRect())")
        drag(one, (left + 200, top + 20), (-158, 0))
        assert one.run("[STATE.state.step, $('said').textContent.startsWith(`step ${STATE.state.step},`)]") == [0, True]
        assert one.run("STATE.state.params[0]") == np.ravel(start[next(iter(page.params))]).tolist()
        assert one.problems() == []

    def test_the_entry_under_the_pointer_is_dragged_and_shown(self, show):
        """Where it is drawn: long matrices lie down, small cells are stretched."""
        page = af.live(lambda p: sum([np.sum(x**2) for x in p]), [np.zeros(shape) for shape in SHAPES])
        one = show(page.to_html(), height=1400)
        one.run(f"{SPOT} 0")
        for k, shape in enumerate(SHAPES):
            n = int(np.prod(shape))
            for entry in {0, n // 2, n - 1}:
                drag(one, one.run(f"spot({k}, {entry})"), (0, -40))
                expected = 1.8 * (np.arange(n) == entry)
                assert one.run(f"Array.from(L.params[{k}])") == pytest.approx(expected.tolist()), (shape, entry)
                at = ", ".join(map(str, np.unravel_index(entry, shape)))
                assert one.run("frames(2).then(() => $('valueText').textContent)") == f"value [{at}] = 1.8"
        one.run("$('values').scrollIntoView({ block: 'center' })")
        left, top, size, _ = one.run("place($('values'))")
        drag(one, (left + size * 4.5 / 9, top + size * 2.5 / 9), (0, -100))  # in the panel
        assert one.run(f"L.params[{len(SHAPES) - 1}][22]") == pytest.approx(2)

    def test_what_is_no_number_is_a_gap_and_no_step_is_left_out(self, show):
        """A curve that is NaN in the middle; a loss that jumps up and down; losses that differ by rounding."""
        x = np.array([-0.9, -0.8, 0.8, 0.9])

        def curve(w, x):
            return w * np.sqrt(x * x - 0.25)

        with np.errstate(invalid="ignore"):
            page = af.live(
                lambda w, x, t: np.sum((curve(w, x) - t) ** 2), {"w": np.array(0.5)}, {"x": x, "t": x}, curve
            )
        one = show(page.to_html())
        one.run(f"{INK} frames(2)")
        blue = "(r, g, b) => r < 60 && b > 150"
        assert one.run(f"ink('plane', 0.05, 0.1, {blue})") > 0
        assert one.run(f"ink('plane', 0.45, 0.55, {blue})") == 0
        purple = "(r, g, b, a) => a > 100 && r - g > 60"
        one.run("L.losses.length = 0; for (let k = 0; k < 5001; k++) L.losses.push(k === 2503 ? 1 : 100); L.draw()")
        assert one.run(f"ink('losses', 0.4, 0.6, {purple})") > 0.5
        one.run("L.losses.fill(-1); L.losses[7] += 2 ** -53; L.draw()")  # once an endless loop
        assert 0 < one.run(f"ink('losses', 0.4, 0.6, {purple})") < 0.05

    def test_the_prediction_follows_all_data_that_are_moved(self, show):
        def predict(w, x, t):
            return w * x + np.mean(t)

        data = {"x": np.linspace(-1.0, 1.0, 5), "t": np.arange(5.0)}
        page = af.live(lambda w, x, t: np.mean((predict(w, x, t) - t) ** 2), {"w": np.array(2.0)}, data, predict)
        one = show(page.to_html())
        one.run("$('plane').focus(); L.draw()")
        one.press("n")
        one.press("ArrowUp")
        t = np.array(one.run("Array.from(L.data[1])"))
        assert t[0] > 0
        found = one.run("L.draw(); Array.from(L.P.outputs[0])")
        np.testing.assert_allclose(found, 2.0 * page.study.grid + np.mean(t), atol=1e-12)

    def test_the_table_hides_what_is_to_be_guessed_and_space_picks_a_card(self, show):
        one = show(page_of("logistic").to_html())
        one.run("click('quiz'); $('all').open = true; L.pick(card('w').c); frames(4)")
        cells = "[...$('numbers').rows].map((row) => row.cells[4].textContent)"
        assert {*one.run(cells)} == {"?", "–"}
        one.run("root.querySelector('[data-say]').click(); frames(4)")
        assert "?" not in one.run(cells)
        one.run("card('b').g.focus()")
        one.press(" ")
        assert one.run("[L.state.playing, heading()[0]]") == [False, "b"]

    def test_keys_go_through_time_and_the_focus_comes_back(self, show):
        one = show(page_of("logistic").to_html())
        one.run("for (let k = 0; k < 30; k++) L.step(); $('losses').focus()")
        for key, at in {"Home": 0, "PageUp": 10, "PageDown": 0, "End": 30, "ArrowLeft": 29, "ArrowRight": 30}.items():
            one.press(key)
            assert one.run("[L.state.at, L.state.last]") == [at, 30], key
        one.press("R")
        assert one.run("L.state.last") == 0
        for close in ("0", "$('close').focus() ?? click('close')"):
            one.run("card('w').g.focus()")
            one.press("Enter")
            assert one.run("root.activeElement === $('values')")
            one.run(close)
            one.press("Escape")
            assert one.run("root.activeElement === card('w').g"), close

    def test_what_to_do_where_the_loss_is_no_number(self, show):
        with np.errstate(invalid="ignore"):
            one = show(af.live(lambda w: np.sum(np.log(w) + w**2), np.array([-1.0, 2.0])).to_html())
        change = "is not a number: change a weight, or reset"
        assert change in one.run(STATUS)
        one.run("L.step()")
        assert change in one.run(STATUS)
        one.run("L.go(0); L.pick(card('w').c, true)")
        one.run("$('values').focus()")
        for _ in range(22):
            one.press("+")
        assert one.run(STATUS) == "step 0"
        one.run("L.state.rate = 9; L.step()")
        assert "is not a number: step back, and take a smaller" in one.run(STATUS)

    @pytest.mark.parametrize("width", [400, 800, 1280])
    def test_long_names_and_no_data_have_room(self, width, show):
        def loss(slope_of_the_line_through_the_points, intercept_of_the_line_through_the_points):
            return (slope_of_the_line_through_the_points-intercept_of_the_line_through_the_points-3)**2  # fmt: skip

        names = ["slope_of_the_line_through_the_points", "intercept_of_the_line_through_the_points"]
        page = af.live(loss, dict.fromkeys(names, np.array(1.0)))
        cards = page.about["cards"][:2]
        assert [c["name"] for c in cards] == names
        assert [c["title"] for c in cards] == ["slope_of_the_lin…", "intercept_of_the…"]
        one = show(page.to_html(), width=width)
        assert one.run("[...root.querySelectorAll('pre')].every((x) => x.scrollWidth <= x.clientWidth)")
        right = "(x) => x.getBoundingClientRect().right"
        above, below = one.run(f"[Math.max(...[...$('page').querySelector('.top').children].map({right})), "
                               f"({right})($('page').querySelector('.below'))]")  # fmt: skip
        assert above == pytest.approx(below, abs=1)

    def test_many_parameters_keep_fewer_steps(self, show):
        """4,000 steps of 15,000 parameters were 1.4 GB."""
        one = show(af.live(lambda w: np.sum(w**2), {"w": np.zeros(15_000)}).to_html())
        one.run("for (let k = 0; k < 300; k++) L.step()")
        assert one.run("[L.go(101), L.go(100), L.go(300)]") == [True, False, True]


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", MODELS)
def test_accessibility_by_axe(show, name, dark):
    """Also with the table open, a card chosen, and gradients hidden until an answer."""
    try:
        axe = (runtime.bring("tests") / "axe.min.js").read_text(encoding="utf-8")
    except runtime.UnavailableError as reason:
        pytest.skip(str(reason))
    page = show(page_of(name).to_html(), dark=dark)
    page.run(f"{axe};0")
    for state in ("0", "$('all').open = true; L.pick(L.cards[0]); frames(4)", "click('quiz'); frames(3)"):
        page.run(state)
        found = page.run(f"axe.run(document, {json.dumps({'rules': AXES})}).then((it) => it.violations)")
        assert [(one["id"], [n["target"] for n in one["nodes"]][:3]) for one in found] == []


DEEP = """const deep = (s, root = document) => root.querySelector(s)
  ?? [...root.querySelectorAll('*')].map((e) => e.shadowRoot && deep(s, e.shadowRoot)).find(Boolean);"""


def in_shadows(selector):
    """JavaScript: the first such element, also in shadow roots."""
    return f"(() => {{ {DEEP} return deep({json.dumps(selector)}); }})()"


@pytest.mark.nightly
def test_firefox_trains_as_numpy_does(tmp_path):
    page, (loss, _, params, data, _) = page_of("spirals"), model("spirals")
    path = page.save(tmp_path / "page.html")
    with firefox() as one:
        one.go(path.as_uri())
        for _ in range(3):
            one.run(f"({in_shadows('[data-id=one]')}.click(), 1)")
            value, g = af.value_and_grad(lambda p: loss(**p, **data))(params)
            params = {key: p - page.settings["lr"] * g[key] for key, p in params.items()}
        live = "document.querySelector('.autoflow-live').live"
        found = one.run(f"[{live}.losses[2], {live}.params.map((p) => [...p])]")
        assert found[0] == pytest.approx(float(value), rel=1e-12)
        for a, b in zip(found[1], params.values(), strict=True):
            np.testing.assert_allclose(a, b.ravel(), rtol=1e-12)
        assert one.complaints == []
        assert [url for url in one.requests if url.startswith(("http", "ws"))] == []


MARIMO = """
import marimo

app = marimo.App()

@app.cell
def _():
    import marimo as mo, numpy as np, autoflow as af
    loss = lambda w, x: np.sum((w * x - 1.0) ** 2)
    page = af.live(loss, {"w": np.array([2.0, 1.0])}, {"x": np.array([1.0, 2.0])}, lr=0.25)
    button = mo.ui.button(label="read", value=0, on_click=lambda n: n + 1)
    return button, mo, page

@app.cell
def _(page):
    page

@app.cell
def _(button):
    button

@app.cell
def _(button, mo, page):
    mo.md(f"read {button.value}: {page.params['w'].tolist()}")
"""


@pytest.mark.nightly
def test_marimo_in_firefox_gives_weights_back(tmp_path):
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "page.py").write_text(MARIMO, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "page.py", "--headless", "--no-token", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:  # fmt: skip
        try:
            with firefox() as one:
                wait_for(port)
                one.go(f"http://127.0.0.1:{port}/")
                one.until(f"{in_shadows('[data-id=one]')} != null")
                one.run(f"({in_shadows('[data-id=one]')}.click(), 1)")
                button = f"{in_shadows('marimo-button')}?.shadowRoot?.querySelector('button')"
                one.until(f"{button} != null")
                read = "/read [1-9]\\d*: \\[1.5, 0.0\\]/.test(document.body.innerText)"
                one.until(f"({button}.click(), {read})")  # asked until the weights have arrived
        finally:
            server.terminate()


def wait_for(port):
    """Until somebody listens there."""
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(port)


@pytest.mark.nightly
def test_marimo_shows_the_widget():
    """With the weights on their way back, as in Jupyter."""
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    formatting = pytest.importorskip("marimo._output.formatting", reason="marimo is not installed")
    page = af.live(lambda w, x: np.sum(w * x), {"w": np.ones(2)}, {"x": np.ones(2)})
    assert "<marimo-anywidget" in formatting.try_format(page).data


# -- what Python says


def test_a_page_is_one_text_that_only_runs_its_own_program(tmp_path):
    page = page_of("digits", title="<b>Digits</b> & more")
    text = page.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>&lt;b&gt;Digits&lt;/b&gt; &amp; more</title>" in text
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert len(text) < 400_000
    assert page.to_html() == page_of("digits", title="<b>Digits</b> & more").to_html()
    with af.options(static=True):
        assert {"image/png", "image/svg+xml"} & {*page._repr_mimebundle_()}
    assert "eval(" not in script()


def function(name):
    """The source of a function of the page."""
    begin = script().index(f"function {name}")
    return script()[begin : script().index("\n}", begin) + 2]


@WITH_NODE
def test_equal_numbers_have_no_spread():
    """What rounding leaves of it is not shown; a spread that is there is."""
    cells = [[c] * n for c in (0.1, 1.0, -3.7, 1e-9, 2e8) for n in range(1, 40)] + [[1.0, 1.0 + 1e-9], [0.0, 0.0]]
    *none, small, zeros = in_node(f"{function('statistics')}; const RESULT = {cells}.map((a) => statistics(a).spread)")
    assert not any([*none, zeros])
    assert 4e-10 < small < 6e-10


@WITH_NODE
def test_numbers_are_short_and_sizes_do_not_overflow():
    shown = {"120": (123.4, 2), "1": (1, 4), "0.123": (0.12345, 3), "1e−4": (1e-4, 4), "−1.2e7": (-12345678, 4),
             "2000": (2000, 1), "100000": (99999.6, 4), "∞": ("Infinity", 4), "0.001": (0.001, 4)}  # fmt: skip
    code = f"{function('short')}; const RESULT = [{', '.join([f'short({x}, {n})' for x, n in shown.values()])}]"
    assert in_node(code) == [*shown]
    x = np.array([3.0, 5.0, -4.0])
    for unit in (1e200, 1e-200, 1.0):
        found = in_node(f"{function('statistics')}; const RESULT = statistics({(x * unit).tolist()})")
        sizes = [x.mean(), x.std(), np.sqrt(np.mean(x**2))]
        assert [found[key] / unit for key in ("mean", "spread", "rms")] == pytest.approx(sizes)
    infinite = in_node(f"{function('statistics')}; const RESULT = statistics([1, Infinity])")
    assert infinite["rms"] == "Infinity"


def test_labels_stay_and_shares_have_their_middle():
    page = page_of("digits")
    assert page.study.moving == ["x"]
    assert page.about["labels"] == model("digits")[3]["labels"].tolist()
    x, t = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.0, 1.0])

    def share(w, x):
        return 1 / (1 + np.exp(-(x @ w)))

    page = af.live(lambda w, x, t: np.mean((share(w, x) - t) ** 2), {"w": np.ones(2)}, {"x": x, "t": t}, share)
    assert page.about["classes"] == {"count": 1, "targets": "sign", "middle": 0.5, "at": 0.5}
    for start in (np.zeros(2), np.full(2, 0.5)):  # what lies between 0 and 1 at first is not always a share
        page = af.live(lambda w, x, t: np.mean((x @ w - t) ** 2), {"w": start}, {"x": x, "t": t}, linear)
        assert page.about["classes"]["middle"] == 0


def test_a_title_with_a_long_number_is_whole():
    page = af.live(lambda w: np.sum(w * (1 / 3)), {"w": np.ones(3)})
    assert "w*0.3333…" in [card["title"] for card in page.about["cards"]]


def points(rows, t, predict, params):
    x = np.random.default_rng(0).normal(size=(rows, 2))
    return af.live(lambda w, x, t: np.sum((x @ w) ** 2) * np.sum(t * 1.0), params, {"x": x, "t": t}, predict)


@pytest.mark.parametrize(("t", "columns", "said"), [
    (np.repeat([0, 1, 2], 2), 3, "labels"), (np.repeat([0, 1, 2], 2)[:, None], 3, "labels"),
    (np.eye(3)[np.repeat([0, 1, 2], 2)], 3, "hot"), (np.repeat([-1, 1], 3), 2, "none"),
    (np.linspace(0, 1, 6), 2, "none"), (np.full(6, np.nan), 2, "none"), (np.repeat([-1, 1], 3), 1, "sign"),
    (np.ones((6, 4)), 1, "none"), (np.ones(1), 3, "none"),
])  # fmt: skip
def test_targets_say_a_class_only_if_they_are_classes(t, columns, said, show):
    page = points(6, t, linear, {"w": np.ones((2, columns))})
    assert (page.study.kind, page.about["classes"]["targets"]) == ("plane", said)
    show(page.to_html()).run("frames(2)")


def test_the_middle_of_bytes_is_between_them():
    t = np.repeat(np.array([200, 250], np.uint8), 3)
    assert points(6, t, linear, {"w": np.ones(2)}).about["classes"]["at"] == 225


@pytest.mark.parametrize("x", [np.zeros((4, 2)), np.full((4, 2), np.nan), np.array([[np.inf, 1.0]] * 4), np.zeros(4),
                               np.array([np.nan, 0.5, 0.5, np.inf])], ids=repr)  # fmt: skip
def test_any_data_have_an_area(x):
    t = np.array([np.nan, 1.0, 1.0, -np.inf])
    page = af.live(lambda w, x, t: np.sum(w) * np.sum(x) * np.sum(t), {"w": np.ones(x.shape[1:])}, {"x": x, "t": t},
                   lambda w, x: x @ w if x.ndim > 1 else w * x)  # fmt: skip
    left, right, low, high = page.study.area
    assert left < right
    assert low < high
    assert np.isfinite(page.study.area).all()
    area = np.array([-1.0, 2.0, -3.0, 4.0])
    assert page.study.look(area)[0] == area.tolist()
