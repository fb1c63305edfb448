"""Sliders: what the browser computes is what Python computes."""

import base64
import json
import math
import re
import sys
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from processes import in_node
from support import rows

import autoflow as af
from autoflow.errors import LostGradientError
from autoflow.forward.replay import record_again
from autoflow.pictures.sliders.explore import Explorer, explore, point as where_it_stands, root_at
from autoflow.pictures.sliders.live import Slider, as_javascript, jsonable, mark, script

POINTS = 20
OPTIONS = {"i0_derivative": {"order": 1}, "round": {"decimals": 1}, "angle": {"deg": True}}


JAVASCRIPT = [row for row in rows() if as_javascript(row)]


# -- the rows


def inputs_of(row):
    """Twenty points of the row's domain: operands as numbers."""
    rng = np.random.default_rng(7)
    low, high = row.domain
    points = rng.uniform(low, high, (POINTS, row.operands))
    if row.name == "where":
        points = [[bool(p[0] > 0), *p[1:]] for p in points.tolist()]
    return [list(p) for p in np.asarray(points, object)] if row.name == "where" else points.tolist()


def python_side(row, point):
    """The value, and what is sent to each operand by g = 0.7, as autoflow computes it."""
    operands = [x if isinstance(x, bool) else af.Variable(x) for x in point]
    node = row.function(*operands, **OPTIONS.get(row.name, {}))
    sent = node.grad_fn(np.float64(0.7))
    return [float(node), *[None if s is None else float(s) for s in sent]]


def options_of(row):
    given = OPTIONS.get(row.name, {})
    return [given.get(name, default) for name, default in zip(row.names, row.defaults, strict=True)][row.operands :]


def comparison(cases):
    """JavaScript that computes all rows at their points, as RESULT."""
    table = ",".join([f"{json.dumps(row.name)}:{as_javascript(row)}" for row in JAVASCRIPT])
    return f"""{script()}
        const ROWS = {{{table}}}, cases = {json.dumps(cases)}, RESULT = {{}};
        for (const [name, [points, options]] of Object.entries(cases))
            RESULT[name] = points.map((point) => {{
                const args = [...point, ...options], z = ROWS[name][0](...args);
                return [z, ...ROWS[name].slice(1).map((pull) => pull(0.7, ...args, z))];
            }});"""


def agree(row, points, answers):
    """What JavaScript computed is what Python computes."""
    for point, theirs in zip(points, answers, strict=True):
        with np.errstate(all="ignore"):
            ours = python_side(row, point)
        for mine, other in zip(ours, theirs, strict=True):
            if mine is not None:
                close = math.isclose(mine, float(other), rel_tol=1e-12, abs_tol=1e-15)
                assert close or (math.isnan(mine) and other == "NaN"), (row.name, point, ours, theirs)


@pytest.fixture(scope="module")
def javascript_side():
    """All rows at all points, in one run of node."""
    points = {row: inputs_of(row) + EDGES.get(row.name, []) for row in JAVASCRIPT}
    return in_node(comparison({row.name: [of_row, options_of(row)] for row, of_row in points.items()}))


@pytest.mark.parametrize("row", JAVASCRIPT, ids=lambda row: row.name)
def test_a_row_means_the_same_in_javascript(row, javascript_side):
    agree(row, inputs_of(row) + EDGES.get(row.name, []), javascript_side[row.name])


EDGES = {  # and kinks
    "maximum": [(1.0, 1.0), (-1.0, 2.0)], "minimum": [(1.0, 1.0), (-1.0, 2.0)], "absolute": [(0.0,), (-3.0,)],
    "power": [(0.0, 0.0), (0.0, 2.0), (-2.0, 3.0)], "hypot": [(0.0, 0.0), (-3.0, 4.0)],
    "arctan2": [(0.0, 0.0), (-1.0, -2.0)], "sinc": [(0.0,), (0.1,), (-0.3,), (2.5,)],
    "rint": [(0.5,), (1.5,), (-0.5,), (-2.5,), (2.5,)], "round": [(0.25,), (-1.55,)],
    "remainder": [(-7.0, 3.0), (7.0, -3.0), (6.0, 3.0)],
    "floor_divide": [(-7.0, 3.0), (7.0, -3.0), (6.0, 3.0), (-6.5, 0.5)], "fmod": [(-7.0, 3.0), (7.0, -3.0)],
    "clip": [(0.0, 0.0, 1.0), (2.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (0.5, 2.0, 1.0)],
    "heaviside": [(0.0, 0.5), (1.0, 0.5), (-1.0, 0.5)], "logaddexp": [(1000.0, 1000.0), (-1000.0, 3.0)],
    "exp2": [(-3.5,)], "copysign": [(-2.0, 3.0), (2.0, -3.0)], "sign": [(0.0,), (-2.0,)],
    "i0": [(0.0,), (-4.0,), (20.0,)], "i0_derivative": [(0.0,), (-4.0,), (710.0,)],
}  # fmt: skip


def test_rows_with_kinks_have_javascript():
    assert set(EDGES) <= {row.name for row in JAVASCRIPT}


# Of the parts of a floating-point number nothing is drawn.
OF_FLOATS = {"frexp", "ldexp", "modf", "nextafter"}


def test_the_rows_of_the_elementary_files_have_javascript():
    for row in rows(scipys=False):
        home = getattr(row.derivatives.get("x"), "__module__", None) or ""
        if home.endswith(".arithmetic") and row.name not in OF_FLOATS:
            assert as_javascript(row), row.name


# -- numbers as the pictures print them


def test_numbers_are_printed_as_in_python():
    from autoflow.pictures.model.data import number

    rng = np.random.default_rng(1)
    values = [0.0, -0.0, 1.0, -2.0, 12345.0, 1e7, 0.1, -0.00001234, 99999.0, 123456.7, 0.00012345, 1e300, 999999.5]
    values += (rng.normal(size=200) * 10.0 ** rng.integers(-8, 9, 200)).tolist()
    values += [*(rng.integers(1000, 9999, 60) + 0.5), 15.625, -15.625, 2.0**-7, 1.5 + 2.0**-9]  # halves
    shown = in_node(f"{script()}; const RESULT = {json.dumps(values)}.map((v) => number(v, 4))")
    for value, theirs in zip(values, shown, strict=True):
        assert theirs == number(value, 4), value


# -- what explore makes


def lesson():
    x, y, z = af.Variable(2.0, name="x"), af.Variable(1.0, name="y"), af.Variable(0.5, name="z")
    a1, a2 = x + y + z, x * y * z
    a3, a4 = a1**2 * np.sin(a2), a1 * np.cos(a2)
    a5 = a3 - a4
    a5.name = "a5"
    return a5, (x, y, z)


def test_sliders_of_a_recorded_graph():
    a5, (x, y, z) = lesson()
    page = explore(a5, x=(-3, 3), y=(0, 2, 1.5))
    assert page.reason is None
    assert page.inputs[x] == Slider("x", -3.0, 3.0, 2.0)
    assert page.inputs[y] == Slider("y", 0.0, 2.0, 1.0)
    assert page.inputs[z] == Slider("z", -0.5, 1.5, 0.5)


def test_sliders_of_a_function():
    page = explore(lambda x, y: np.maximum(x, y) * np.tanh(x), x=(-3, 3), y=1.0)
    assert page.reason is None
    assert sorted(s.title for s in page.inputs.values()) == ["x", "y"]
    assert [s for s in page.inputs.values() if s.title == "x"] == [Slider("x", -3.0, 3.0, 0.0)]
    assert [s for s in page.inputs.values() if s.title == "y"] == [Slider("y", -1.0, 3.0, 1.0)]


def test_a_function_with_an_if_is_for_python():
    page = explore(lambda x, y: x * y if x > 0 else x - y, x=(-3, 3), y=1.0)
    assert "something else" in page.reason
    assert "something else" in explore(lambda x: 2 * x if x < 2.99 else 7 * x, x=(-3, 3)).reason  # only at the end
    assert 'pip install "autoflow[widget]"' in page.advice()
    assert "\n" not in page.advice()


def test_a_condition_that_stays_is_said():
    x = af.Variable(2.0, name="x")
    page = explore(np.where(x > 0, x, 0.0))
    assert "does not follow the sliders" in page.to_html()
    assert "something else" in explore(lambda x: np.where(x > 0, x, 0.0), x=(-2, 2)).reason


def test_arrays_are_for_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    page = explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0])
    assert "array" in page.reason
    bundle = page._repr_mimebundle_()
    assert "<div" in bundle["text/html"].partition("<img")[0]
    assert "pip install &quot;autoflow[widget]&quot;" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert 'pip install "autoflow[widget]"' in bundle["text/plain"]


def test_other_reasons():
    assert "float32" in explore(af.Variable(np.float32(1.0), name="x") * 2).reason
    assert "no JavaScript" in explore(af.Variable(1.0).sum()).reason
    y = af.Variable(1.0)
    for _ in range(2100):
        y = y * 1.0
    assert "2,101 operations" in explore(y).reason


def test_ranges_are_checked():
    a5, _ = lesson()
    with pytest.raises(ValueError, match="w: no Variable of the graph is called that; it has x, y, z"):
        explore(a5, w=1.0)
    for wrong in ((3, -3), (1,), (0, 1, 2), (0, math.nan), ("a", "b")):
        with pytest.raises(ValueError, match="x="):
            explore(a5, x=wrong)
    with pytest.raises(ValueError, match="say which arguments move"):
        explore(lambda x: x)
    with pytest.raises(LostGradientError, match="has no history"):
        explore(lambda x: 3.0, x=1.0)
    with pytest.raises(LostGradientError, match="nothing to move"):
        explore(af.Variable(1.0))
    with pytest.raises(LostGradientError, match="takes a function or a node"):
        explore(3.0)


def test_saved_pages(tmp_path):
    a5, _ = lesson()
    path = explore(a5).save(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not re.search("https?:", text.replace("http://www.w3.org/2000/svg", ""))
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', text)
    assert re.fullmatch(r"default-src 'none';.* script-src 'sha256-[^' ]+'", policy)
    assert "eval(" not in text
    assert "Function(" not in text
    with pytest.raises(ValueError, match=r"saved as \.html"):
        explore(a5).save(tmp_path / "page.svg")


class Scripts(HTMLParser):
    """What an HTML parser sees as scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.tags = [], False, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.found.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.found[-1] += data


def tape_of(page):
    (text,) = [attributes["data-autoflow"] for _, attributes in page.tags if "data-autoflow" in attributes]
    return json.loads(text if text[0] == "{" else zlib.decompress(base64.b64decode(text)))


def test_names_cannot_break_out():
    x = af.Variable(2.0, name='</script><img src=x onerror=alert(1)>"\\\u2028')
    y = af.Variable(1.0, name="<b>&amp;")
    text = explore(x * y).to_html()
    page = Scripts(text)
    assert len(page.found) == 1
    assert [attrs for tag, attrs in page.tags if tag == "img"] == [
        attrs for tag, attrs in page.tags if tag == "img" and attrs["src"].startswith("data:image/svg+xml;base64,")
    ]
    assert all(not name.startswith("on") for _, attrs in page.tags for name in attrs)
    data = tape_of(page)
    assert data["inputs"][0]["title"].startswith("</script>")
    assert "<img" not in data["svg"]
    assert "<b>" not in data["svg"]


def test_special_values_survive_json():
    assert jsonable(math.inf) == "Infinity"
    assert jsonable(-math.inf) == "-Infinity"
    assert jsonable(math.nan) == "NaN"
    assert jsonable(True) is True
    assert jsonable(None) is None
    x = af.Variable(1.0, name="x")
    assert '"Infinity"' in explore(np.minimum(x, math.inf)).to_html()


def test_the_live_picture_has_a_place_for_every_number():
    a5, _ = lesson()
    data = tape_of(Scripts(explore(a5).to_html()))
    places = set(re.findall(r'data-at="([a-z][\d.]+)"', data["svg"]))
    drawn = [i for i, title in enumerate(data["titles"]) if title is not None]
    assert {f"v{i}" for i in drawn} | {f"g{i}" for i in drawn} <= places
    assert {f"s{i}.{k}" for i, (op, _, flows, _) in enumerate(data["nodes"]) if op for k in flows} <= places
    assert "\ue000" not in data["svg"]
    assert len(mark("v3").text(4)) == 9


def test_a_large_graph_has_a_table_and_no_picture():
    y = x = af.Variable(0.5, name="x")
    for _ in range(250):
        y = np.sin(y) + x
    data = tape_of(Scripts(explore(y).to_html()))
    assert data["svg"] == ""
    assert len(data["nodes"]) == 501


def test_it_prints_and_never_raises_in_a_notebook():
    a5, _ = lesson()
    page = explore(a5, x=(-3, 3))
    assert str(page).startswith("sliders for x from -3 to 3, y from -1 to 3, z")
    assert set(page._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert isinstance(page, Explorer)


# -- in a browser


MOVE = """(() => {
const root = document.querySelector(".autoflow-explore > div").shadowRoot;
const ranges = [...root.querySelectorAll("input[type=range]")];
[-1.25, 0.75, 1.5].forEach((v, i) => { ranges[i].value = v; ranges[i].dispatchEvent(new Event("input")); });
const state = document.querySelector(".autoflow-explore").autoflow;
const at = (place) => [...root.querySelectorAll(`svg [data-at="${place}"]`)].map((e) => e.textContent);
return {
  inputs: ranges.map((r) => r.valueAsNumber), values: state.values, gradients: state.gradients,
  labels: ranges.map((r) => r.getAttribute("aria-label")), result: root.querySelector(".result").textContent,
  shown: [0, 1, 2].map((i) => at("g" + i)), images: document.querySelectorAll("img").length,
  live: root.querySelector(".result").getAttribute("aria-live"), rows: root.querySelectorAll("tr").length,
}})()
"""


@pytest.mark.browser
def test_a_slider_moves_values_and_gradients(tmp_path, browser):
    from autoflow.pictures.model.data import number

    a5, (x, y, z) = lesson()
    page = browser.open(explore(a5, x=(-3, 3), y=(-1, 2), z=(-1, 2)).save(tmp_path / "page.html"))
    seen = page.run(MOVE)
    assert page.problems() == []
    moved, new = record_again(a5, dict(zip((x, y, z), seen["inputs"], strict=True)))
    moved.backward()
    grads = [float(new[v].grad) for v in (x, y, z)]
    assert seen["inputs"] == [-1.25, 0.75, 1.5]
    assert seen["labels"] == ["x", "y", "z"]
    assert math.isclose(seen["values"][-1], float(moved), rel_tol=1e-12)
    for mine, theirs in zip(grads, seen["gradients"][:3], strict=True):
        assert math.isclose(mine, theirs, rel_tol=1e-12)
    assert seen["result"] == f"a5 = {number(float(moved), 4)}"
    for g, texts in zip(grads, seen["shown"], strict=True):
        assert set(texts) == {number(g, 4)}
    assert seen["images"] == 0
    assert seen["live"] == "polite"
    assert seen["rows"] > 10


@pytest.mark.browser
def test_two_pages_in_one_document(tmp_path, browser):
    """Each has rows of its own, also if both are there before the first script runs."""
    x = af.Variable(2.0, name="x")
    parts = [explore(z, x=(-3, 3)).fragment()[0].partition("<script>") for z in (np.sin(x) * x, np.exp(-x))]
    text = "".join([part[0] for part in parts] + [f"<script>{part[2]}" for part in parts])
    path = tmp_path / "two.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{text}</body>", encoding="utf-8")
    page = browser.open(path)
    values = page.run("[...document.querySelectorAll('.autoflow-explore')].map((e) => e.autoflow?.values.at(-1))")
    np.testing.assert_allclose(values, [2 * np.sin(2), np.exp(-2)])
    assert page.problems() == []


@pytest.mark.browser
def test_the_keyboard_moves_a_slider(tmp_path, browser):
    a5, _ = lesson()
    page = browser.open(explore(a5, x=(-3, 3)).save(tmp_path / "page.html"))
    root = "document.querySelector('.autoflow-explore > div').shadowRoot"
    before = page.run(f"{root}.querySelector('.result').textContent")
    page.run(f"{root}.querySelector('input').focus()")
    page.press("ArrowRight")
    assert page.run(f"{root}.querySelector('input').valueAsNumber") > 2
    assert page.run(f"{root}.querySelector('.result').textContent") != before


@pytest.mark.browser
def test_a_hostile_name_runs_nothing_in_a_browser(tmp_path, browser):
    bad = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">'
    x = af.Variable(2.0, name=bad)
    path = explore(x * np.sin(x)).save(tmp_path / "page.html")
    path.write_text(re.sub("<meta http-equiv.*?>", "", path.read_text(encoding="utf-8")), encoding="utf-8")
    page = browser.open(path)
    assert page.run("[window.hit ?? 0, document.querySelectorAll('img').length]") == [0, 0]
    assert page.run(f"{ROOT}.querySelectorAll('[type=range]').length") == 1


@pytest.mark.browser
@pytest.mark.nightly
def test_rows_mean_the_same_in_the_browser(tmp_path, browser):
    """The same comparison as with node, in the program that readers have."""
    cases = {row.name: [inputs_of(row), options_of(row)] for row in JAVASCRIPT}
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><script>{comparison(cases)}</script>", encoding="utf-8")
    answer = browser.open(path).run("JSON.parse(JSON.stringify(RESULT))")
    assert set(answer) == set(cases)
    for row in JAVASCRIPT:
        agree(row, inputs_of(row), answer[row.name])


# -- the plot, steps downhill

ROOT = "document.querySelector('.autoflow-explore > div').shadowRoot"
HELPERS = f"""
const r = () => {ROOT};
const press = (text) => [...r().querySelectorAll('button')].find((b) => b.textContent === text).click();
const type = (label, value) => {{ const f = r().querySelector(`[aria-label="${{label}}"]`);
  f.value = value; f.dispatchEvent(new Event('change')); }};
const numbers = () => [...r().querySelectorAll('.bar [type=number]')].map((f) => f.valueAsNumber);
const said = () => r().querySelector('.said').textContent;
const plot = () => r().querySelector('.plot > svg');
const count = (what) => plot().querySelectorAll(what).length;
const label = () => plot().getAttribute('aria-label');
"""


def opened(browser, tmp_path, explorer, **options):
    page = browser.open(explorer.save(tmp_path / "page.html"), **options)
    page.run(HELPERS + "0")
    return page


def ends(page, what):
    """The coordinates in a path of the plot."""
    return np.array(
        [float(v) for v in re.findall(r"-?[\d.]+", page.run(f"plot().querySelector('{what}').getAttribute('d')"))]
    )


@pytest.mark.browser
def test_over_one_input_there_is_the_curve_and_its_tangent(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x: x**3 - 3 * x, x=(-2, 2, 0.5)))
    assert page.run("[count('.curve'), count('.tangent'), count('.point'), count('.trail')]") == [1, 1, 1, 0]
    assert "x from −2 to 2" in page.run("label()")
    assert page.run("label()").endswith("at x = 0.5: value −1.375, slope −2.25")
    points = ends(page, ".curve").reshape(-1, 2)
    assert len(points) == 241
    xs = np.linspace(-2, 2, 241)
    line = np.polyfit(xs, points[:, 0], 1)  # pixels are linear in x, and in the value
    assert np.allclose(np.polyval(line, xs), points[:, 0], atol=0.02)
    scale = np.polyfit(xs**3 - 3 * xs, points[:, 1], 1)
    assert np.allclose(np.polyval(scale, xs**3 - 3 * xs), points[:, 1], atol=0.02)
    x0, y0, x1, y1 = ends(page, ".tangent")
    assert (y1 - y0) / (x1 - x0) * line[0] / scale[0] == pytest.approx(-2.25, abs=1e-3)
    page.keep("curve")
    assert page.problems() == []


@pytest.mark.browser
@pytest.mark.nightly
def test_a_pole_is_no_line(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x: 1 / x, x=(-1, 1.001, 0.5)))
    path = page.run("plot().querySelector('.curve').getAttribute('d')")
    assert path.count("M") == 2
    assert "NaN" not in path
    page = opened(browser, tmp_path, explore(lambda x: np.log(x), x=(-2, 2, 1.0)))
    assert page.run("plot().querySelector('.curve').getAttribute('d')").count("M") == 1


@pytest.mark.browser
def test_over_two_inputs_there_are_contours_and_the_gradient(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x, y: x**2 + y**2, x=(-2, 2, 1.0), y=(-2, 2, 0.5)))
    assert page.run("[count('.level') > 4, count('.gradient'), count('.point')]") == [True, 1, 1]
    assert page.run("label()").endswith("at 1, 0.5 its gradient is 2, 1: the arrow, uphill")
    x0, y0, x1, y1 = ends(page, ".gradient")
    assert (y0 - y1) / (x1 - x0) == pytest.approx(0.5, abs=0.01)  # of equal scales, so at right angles to the circles
    centre = np.array(page.run("(() => { const s = plot().querySelector('.inside'); "
                               "return [s.width.baseVal.value / 2, s.height.baseVal.value / 2]; })()"))  # fmt: skip
    ring = np.hypot(*(ends(page, ".level").reshape(-1, 2) - centre).T)
    assert np.ptp(ring) < 0.02 * ring.mean()
    page.run("const up = r().querySelector('[aria-label=upwards]'); up.value = -1; up.onchange()")
    assert page.run("[count('.level'), count('.curve')]") == [0, 1]
    page.keep("contours")


@pytest.mark.browser
@pytest.mark.nightly
def test_axes_of_different_scales_are_said(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x, y: x * y, x=(-1, 1), y=(-100, 100)))
    assert "not at right angles" in page.run("r().querySelector('.note').textContent")


@pytest.mark.browser
def test_steps_downhill(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x, y: x**2 + 3 * y, x=(-2, 2, 1.0), y=(-2, 2, 0.5)))
    page.run("type('learning rate', 0.25); press('Step downhill')")
    assert page.run("numbers()") == [0.5, -0.25]
    assert page.run("said()") == "step 1: x**2 + 3*y falls (2.5 → −0.5)"
    page.run("press('Step downhill')")
    assert page.run("numbers()") == [0.25, -1]
    assert page.run("[count('.past'), count('.trail'), count('.next')]") == [2, 1, 1]
    page.run("type('learning rate', 1.5); press('Step downhill'); press('Step downhill')")
    assert "y left the range of the slider" in page.run("said()")
    page.run("press('Reset')")
    assert page.run("numbers()") == [1, 0.5]
    assert page.run("[count('.past'), count('.trail'), said()]") == [0, 0, ""]
    page.run("type('x, as a number', -1.5)")
    assert page.run("[numbers()[0], r().querySelector('[type=range]').valueAsNumber]") == [-1.5, -1.5]
    assert page.run("label()").split("; ")[1].startswith("at −1.5, 0.5 its gradient is −3, 3")
    assert page.problems() == []


@pytest.mark.browser
@pytest.mark.nightly
def test_too_large_steps_go_uphill_and_it_is_said(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x: x**4, x=(-2, 2, 1.0)))
    page.run("type('learning rate', 2); press('Step downhill')")
    assert "rises: a smaller learning rate?" in page.run("said()")
    page.run("for (let k = 0; k < 20; k++) press('Step downhill')")
    assert page.run("said()").startswith("The next step would not be a number")
    assert page.problems() == []


@pytest.mark.browser
@pytest.mark.nightly
def test_a_run_ends_at_the_bottom(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x: (x - 1) ** 2, x=(-2, 2, 2.0)), reduced_motion=False)
    page.run("type('learning rate', 0.5); press('Run')")
    page.run("new Promise((done) => { const wait = setInterval(() => { if (said().includes('almost 0')) "
             "{ clearInterval(wait); done(); } }, 20); })")  # fmt: skip
    page.run("new Promise((done) => setTimeout(done, 250))")
    assert page.run("numbers()[0]") == 1
    assert page.run("[...r().querySelectorAll('button')].map((b) => b.textContent)") == [
        "Step downhill", "Run", "Sweep", "Reset",
    ]  # fmt: skip


@pytest.mark.browser
@pytest.mark.nightly
def test_a_sweep_moves_the_slider_and_comes_home(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x: x * x, x=(-2, 2, 1.0)), reduced_motion=False)
    page.run("window.seen = []; r().querySelector('[aria-label=\"Sweep x\"]').click(); "
             "window.timer = setInterval(() => seen.push(numbers()[0]), 40); 0")  # fmt: skip
    page.run("new Promise((done) => setTimeout(done, 1200))")
    page.run("press('Stop'); clearInterval(timer)")
    assert len(set(page.run("seen"))) > 3
    assert max(page.run("seen")) <= 2
    page.run("press('Reset')")
    assert page.run("numbers()") == [1]


@pytest.mark.browser
def test_a_click_in_the_plot_moves_the_inputs(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lambda x, y: x * y, x=(0, 4, 1.0), y=(0, 4, 1.0)))
    page.run("(() => { const b = plot().getBoundingClientRect(), s = b.width / 460, at = { bubbles: true, "
             "buttons: 1, clientX: b.left + (58 + 388 / 2) * s, clientY: b.top + (12 + 388 / 4) * s }; "
             "plot().dispatchEvent(new PointerEvent('pointerdown', at)); })()")  # fmt: skip
    assert page.run("numbers()") == pytest.approx([2, 3], abs=0.05)


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.nightly
def test_colours_of_the_plot_are_those_of_the_theme(tmp_path, browser, dark):
    from autoflow.pictures.model.style import DARK, LIGHT

    page = opened(browser, tmp_path, explore(lambda x: x * x, x=(-2, 2, 1.0)), dark=dark, width=800)
    colours = DARK if dark else LIGHT
    for what, key in ((".curve", "op-line"), (".tangent", "grad")):
        stroke = page.run(f"getComputedStyle(plot().querySelector('{what}')).stroke")
        assert stroke == f"rgb({', '.join([str(int(colours[key][k : k + 2], 16)) for k in (1, 3, 5)])})"
    assert page.run("document.documentElement.scrollWidth <= 800")
    outside = "getComputedStyle(r().querySelector('.picture svg .gradient')).strokeWidth"
    assert page.run(outside) == "1px"  # the style of the plot does not reach the picture
    page.keep(f"explore_{'dark' if dark else 'light'}")


@pytest.mark.browser
@pytest.mark.nightly
def test_a_printed_page_cuts_nothing_off(tmp_path, browser):
    page = opened(browser, tmp_path, explore(lesson()[0]), width=420)
    assert page.run("r().querySelector('.picture svg').getBoundingClientRect().width") > 420
    assert page.run("r().querySelector('.picture').previousSibling.textContent") == "Fit to the page"
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("r().querySelector('.picture svg').getBoundingClientRect().width") <= 420
    assert page.run("getComputedStyle(r().querySelector('.tools')).display") == "none"


# -- names


@pytest.fixture
def widget():
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    from autoflow.pictures.sliders import explore

    return explore.widget


def test_names_are_those_of_the_place_where_it_was_made():
    def made():
        u = af.Variable(2.0)
        inner = u * u
        outer = np.sin(inner) + 1.0
        return explore(outer, u=(-1, 3))

    page = made()
    data = tape_of(Scripts(page.to_html(full=False)))
    assert [t for t in data["titles"] if t] == ["u", "inner", "sin(inner)", "outer"]
    assert ">inner<" in data["svg"]


def test_the_widget_keeps_names(widget):
    def made():
        data = np.array([1.0, 2.0])
        w = af.Variable(0.5)
        hidden = w * data
        return explore((hidden * hidden).sum())

    model = widget(made())
    assert all([f">{name}<" in model.picture for name in ("w", "data", "hidden")])
    model.values = [0.75]
    assert model.note == ""
    assert all([f">{name}<" in model.picture for name in ("w", "data", "hidden")])
    assert "0.75" in model.picture


def test_a_function_gives_its_name_to_its_value():
    def loss(w):
        return (w - 1.0) ** 2 + 0.1 * np.sin(5.0 * w)

    page = explore(loss, w=(-1, 3))
    assert tape_of(Scripts(page.to_html()))["titles"][-1] == "loss"


def test_html_for_a_page_of_ones_own():
    a5, _ = lesson()
    page = explore(a5)
    assert page.to_html(full=False) in page.to_html()
    assert page.to_html(full=False).startswith('<div class="autoflow-explore')


# -- the widget


def test_the_widget_draws_again_in_python(widget):
    page = explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0])
    model = widget(page)
    assert [s["title"] for s in model.inputs] == ["w[0]", "w[1]", "x"]
    before = model.picture
    model.values = [1.0, 2.0, 2.5]
    assert model.picture != before
    assert model.note == ""
    assert "application/vnd.jupyter.widget-view+json" in str(page._repr_mimebundle_())


def test_the_widget_records_a_graph_again(widget):
    w = af.Variable([1.0, 2.0], name="w")
    model = widget(explore((w * w).sum()))
    model.values = [3.0, 4.0]
    assert "25" in model.picture
    assert w.value.tolist() == [1.0, 2.0]


def test_the_plot_of_the_widget():
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    from autoflow.pictures.sliders.explore import COLUMNS, LINES, SAMPLES, widget

    w = af.Variable([1.0, 2.0], name="w")
    loss = (w * w).sum()
    model = widget(explore(loss))
    assert model.point == {"title": "loss", "at": [1.0, 2.0], "value": 5.0, "gradients": [2.0, 4.0]}
    assert model.samples["axes"] == [0, 1]
    grid = np.array(model.samples["grid"])
    assert grid.shape == (LINES + 1, COLUMNS + 1)
    (x, y) = [np.linspace(s["low"], s["high"], n + 1) for s, n in zip(model.inputs, (COLUMNS, LINES), strict=True)]
    np.testing.assert_allclose(grid, x**2 + y[:, None] ** 2, rtol=1e-12, atol=1e-12)
    model.values = [3.0, 4.0]
    assert model.point == {"title": "loss", "at": [3.0, 4.0], "value": 25.0, "gradients": [6.0, 8.0]}
    model.axes = [1, -1]
    np.testing.assert_allclose(model.samples["grid"], [9.0 + np.linspace(y[0], y[-1], SAMPLES + 1) ** 2], rtol=1e-12)
    model.values = [0.0, 4.0]
    assert model.samples["grid"][0][0] == y[0] ** 2  # the other one has moved
    assert w.grad is None
    assert w.value.tolist() == [1.0, 2.0]
    assert widget(explore(w * 2.0)).point == {}  # no single number: no plot
    poles = widget(explore(lambda u: 1 / u[0] + u[1], u=[1.0, 2.0]))
    assert None in [v for row in poles.samples["grid"] for v in row]  # 1/0


FAKE = """
const listeners = {}, state = MODEL;
window.model = {
  get: (name) => state[name], set: (name, value) => { state[name] = value; }, saved: 0,
  save_changes() { this.saved += 1; }, on: (event, f) => { listeners[event] = f; },
  arrive(name, value) { state[name] = value; listeners["change:" + name](); },
};
PROGRAM.render({ model: window.model, el: document.body });
"""


def test_the_slopes_of_variables_with_one_name_are_their_own():
    a, b = af.Variable(np.array([1.0, 2.0]), name="w"), af.Variable(np.array([3.0, 4.0]), name="w")
    page = explore(np.sum(a * b**2))
    root, new = root_at(page, [1.0, 2.0, 5.0, 4.0])
    assert where_it_stands(page, root, new, [])["gradients"] == [25.0, 16.0, 10.0, 16.0]
    first = where_it_stands(page, page.root, {v: v for v, *_ in page.places}, [])
    assert first["gradients"] == [9.0, 16.0, 6.0, 16.0]


def widget_page(browser, tmp_path, model, **options):
    """The module as anywidget loads it, with a model that only remembers."""
    from autoflow.pictures.sliders.explore import ESM

    names = ("inputs", "values", "picture", "note", "digits", "colours", "point", "axes", "samples")
    state = {name: getattr(model, name) for name in names}
    program = FAKE.replace("MODEL", json.dumps(state).replace("<", "\\u003c"))
    module = script() + ESM.replace("export default", "const PROGRAM =") + ";"
    path = tmp_path / "widget.html"
    path.write_text(f"<!doctype html><body><script>{module}{program}</script></body>", encoding="utf-8")
    return browser.open(path, **options)


@pytest.mark.browser
def test_the_widget_in_a_browser(tmp_path, browser, widget):
    model = widget(explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0]))
    page = widget_page(browser, tmp_path, model)
    root = "document.querySelector('.autoflow-widget').shadowRoot"
    assert page.run(f"{root}.querySelectorAll('[type=range]').length") == 3
    page.run(f"const one = {root}.querySelector('input'); one.value = 0.5; one.dispatchEvent(new Event('input'))")
    assert page.run("[model.get('values'), model.saved]") == [[0.5, 2.0, 0.0], 1]
    model.values = [0.5, 2.0, 0.0]  # as Python gets it, and draws
    page.run(f"model.arrive('picture', {json.dumps(model.picture)})")
    assert page.run(f"{root}.querySelectorAll('.picture svg').length") == 1
    curve = f"{root}.querySelector('.plot .curve')"
    assert page.run(f"{root}.querySelectorAll('.plot .tangent').length") == 1
    before = page.run(f"{curve}.getAttribute('d')")
    page.run(f"const up = {root}.querySelector('[aria-label=upwards]'); up.value = 2; up.onchange()")
    assert page.run("model.get('axes')") == [0, 2]  # Python is asked, and nothing is drawn before it has answered
    model.axes = [0, 2]
    page.run(f"model.arrive('samples', {json.dumps(model.samples)})")
    assert page.run(f"{root}.querySelectorAll('.plot .level').length") > 3
    assert page.run(f"{root}.querySelectorAll('.plot .gradient').length") == 1
    assert before.startswith("M0 ")
    page.run(f"const box = {root}.querySelector('.plot'), frame = box.firstChild.getBoundingClientRect();"
             "box.onpointerdown({ buttons: 1, clientX: frame.left + 200, clientY: frame.top + 100 })")  # fmt: skip
    assert page.run("model.get('values')[1]") == 2.0
    assert page.run("model.get('values')[0]") != 0.5
    assert page.run("[...document.querySelectorAll('style')].map((s) => s.textContent).join('')") == model.colours
    assert all([re.search(r"[.]autoflow-widget\s*$", rule) for rule in re.findall("([^{},]+)[{,]--", model.colours)])
    assert page.problems() == []


PARTS = """
const r = () => document.querySelector('.autoflow-widget').shadowRoot;
const press = (name) => [...r().querySelectorAll('button')].find((b) => b.textContent === name).click();
const said = () => r().querySelector('.said').textContent;
const count = (name) => r().querySelectorAll('.plot ' + name).length;
function type(label, value) {
  const field = r().querySelector(`[aria-label="${label}"]`);
  field.value = value;
  field.dispatchEvent(new Event("change"));
}
"""


@pytest.mark.browser
def test_steps_downhill_in_the_widget(tmp_path, browser):
    """Python computes: the numbers of a step are those of gradient descent, and it is told when they have come."""
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    from autoflow.pictures.sliders.explore import widget

    def f(x, w):
        return (x**2 + 3 * w).sum()

    model = widget(explore(f, x=(-2, 2, 1.0), w=[0.5]))
    page = widget_page(browser, tmp_path, model)
    page.run(PARTS + "0")

    def python():
        """What Python has to say to the values of the page."""
        model.values = page.run("model.get('values')")
        for name in ("picture", "point", "samples"):
            page.run(f"model.arrive({name!r}, {json.dumps(getattr(model, name))})")

    titles = [s["title"] for s in model.inputs]
    assert titles == ["w[0]", "x"]
    page.run("type('learning rate', 0.25); press('Step downhill')")
    assert page.run("[model.get('values'), said()]") == [[-0.25, 0.5], ""]  # w - 0.25·3, x - 0.25·2x
    page.run("press('Step downhill')")  # too soon
    assert page.run("model.saved") == 1
    python()
    assert page.run("said()") == f"step 1: {model.point['title']} falls (2.5 → −0.5)"
    assert page.run("[count('.past'), count('.trail'), count('.next')]") == [1, 1, 1]
    assert page.run("r().querySelector('.result').textContent").endswith(" = −0.5")
    page.run("press('Step downhill')")
    python()
    assert page.run("model.get('values')") == [-1.0, 0.25]
    assert page.run("said()").startswith("step 2: ")
    page.run("press('Reset')")
    python()
    assert page.run("[model.get('values'), said(), count('.past')]") == [[0.5, 1], "", 0]
    page.run("press('Step downhill')")
    page.run("model.arrive('note', 'ValueError: no')")  # Python could not: the page goes on
    assert page.run("said()") == ""
    page.run("type('x, as a number', -1.5)")
    assert page.run("model.get('values')[1]") == -1.5
    assert page.problems() == []


@pytest.mark.browser
@pytest.mark.nightly
def test_a_run_in_the_widget_waits_for_python(tmp_path, browser, widget):
    model = widget(explore(lambda x: ((x - 1) ** 2).sum(), x=[2.0]))
    page = widget_page(browser, tmp_path, model, reduced_motion=False)
    slow = """
    model.save_changes = () => setTimeout(() => { // a Python that takes longer than a tick
      const [x] = model.get("values");
      window.answers = (window.answers ?? 0) + 1;
      model.arrive("point", { ...model.get("point"), at: [x], value: (x - 1) ** 2, gradients: [2 * (x - 1)] });
    }, 250);"""
    page.run(PARTS + slow + "type('learning rate', 0.5); press('Run')")
    page.run("new Promise((done) => { const wait = setInterval(() => { if (said().includes('almost 0')) "
             "{ clearInterval(wait); done(); } }, 20); })")  # fmt: skip
    assert page.run("[model.get('values')[0], count('.past'), window.answers]") == [1, 2, 1]
    assert page.run("[...r().querySelectorAll('button')].map((b) => b.textContent)") == [
        "Step downhill", "Run", "Sweep", "Reset",
    ]  # fmt: skip
    assert page.problems() == []


def test_axes_end_whatever_their_numbers():
    """An axis that is narrower than rounding has few marks or none; values that differ by rounding are a constant."""
    ranges = [(1.0, 1 + 2.0**-52), (1e17, 1e17 + 16), (-1 - 2.0**-51, -1.0), (1e300, 1.001e300), (0.0, 5e-324),
              (-1e-5, 3.0), (1e9, 1e9 + 1)]  # fmt: skip
    found = in_node(f"{script()}; const RESULT = {json.dumps(ranges)}.map(([low, high]) => ticks(low, high, 6))")
    for (low, high), places in zip(ranges, found, strict=True):
        assert len(places) <= 7
        assert all([low - 1e-9 * (high - low) <= x <= high + 1e-9 * (high - low) for x in places])
    assert len(found[-1]) == 6
    values = [[1 - 2.0**-53, 1.0, 1 + 2.0**-52], [0.0, 0.0], [1e-12, 1e-12], [-1e17, -1e17 + 16], [2.0, 3.0]]
    spans = in_node(f"{script()}; const RESULT = {json.dumps(values)}.map((some) => span(some, []))")
    np.testing.assert_allclose(spans, [(0, 2), (-1, 1), (0, 2e-12), (-2e17, 16), (1.93, 3.07)], rtol=1e-12, atol=1e-15)


@pytest.mark.browser
def test_a_step_says_what_it_did(tmp_path, browser):
    """A value that is not a number does not stay; a step that is almost 0 need not come from a gradient that is."""
    page = opened(browser, tmp_path, explore(lambda x: np.log(x), x=(-30, 3, 0.05)))
    page.run("press('Step downhill')")
    assert "is not a number: a smaller learning rate? (−2.996 → NaN)" in page.run("said()")
    page.run("press('Reset'); type('learning rate', 1e-9); press('Step downhill')")
    assert page.run("said()").endswith("The step is almost 0.")
    assert page.problems() == []


@pytest.mark.parametrize(("form", "told"), [("x * (x > 0)", "The condition in y"), ("x * float(x)", "float(x)")])
def test_what_was_decided_when_the_graph_was_made_is_told(form, told):
    x = af.Variable(2.0, name="x")
    y = x * (x > 0) if ">" in form else x * float(x)
    assert f"{told} stays as it was; it does not follow the sliders." in af.explore(y, x=(-3, 3)).to_html()


def test_sliders_of_entries_have_the_array_s_name():
    weights = af.Variable([1.0, 2.0])
    assert [s.title for *_, s in af.explore(np.sum(weights * weights)).places] == ["weights[0]", "weights[1]"]


def of_positive(x):
    if x < 0:
        raise ValueError("negative")
    return x * 2.0


def root_of(x):
    guess = x + 0.5
    while abs(guess * guess - x) > 1e-9:
        guess = 0.5 * (guess + x / guess)
    return guess


STARTS = {  # a function, its sliders -> why Python has to compute, and what cannot be
    "a function that fails": (of_positive, {"x": (-1, 3, 1)}, "the function raises ValueError for other inputs"),
    "one that returns no number there": (lambda x: x * 2.0 if x > 0 else None, {"x": (-1, 3, 1)}, "something else"),
    "an input, given back": (lambda x: max(x, 0.0), {"x": (-1, 3, 1)}, "something else"),
    "the input": (lambda x: x, {"x": 1.0}, None),
    "a loop that does not end": (root_of, {"x": (-1, 3, 2)}, "raises TimeoutError for other inputs"),
    "one that does not end here": (root_of, {"x": -1.0}, TimeoutError),
    "a number of turns": (lambda n, x: sum([x * k for k in range(int(n))]), {"n": 3.0, "x": 1.0}, "something else"),
    "an input that is not used": (lambda x, y: x * 2.0, {"x": 1.0, "y": 2.0}, None),
    "infinity": (lambda x: x * 2.0, {"x": np.inf}, ValueError), "NaN": (lambda x: x * 2.0, {"x": np.nan}, ValueError),
    "ends that are infinite": (lambda x: x * 2.0, {"x": -1e308}, ValueError),
    "a range that is infinite": (lambda x: x * 2.0, {"x": (-1e308, 1e308)}, ValueError),
    "a small number": (lambda x: x * 2.0, {"x": 5e-324}, None),
}  # fmt: skip


@pytest.mark.parametrize("what", STARTS)
def test_sliders_begin_wherever_they_can_move(what, monkeypatch):
    monkeypatch.setattr("autoflow.pictures.sliders.explore.LONGEST", 0.5)
    f, ranges, expected = STARTS[what]
    if isinstance(expected, type):
        with pytest.raises(expected, match=r"a slider starts at a finite|with low < high|not over after 0\.5 s"):
            af.explore(f, **ranges)
        return
    page = af.explore(f, **ranges)
    assert (page.reason is None) if expected is None else expected in page.reason
    assert page.to_html()


@pytest.mark.parametrize("zero", [0, 0.0])
@pytest.mark.parametrize("slope", [1, 2.0])
def test_where_a_function_gives_a_plain_number_it_is_constant(slope, zero):
    page = explore(lambda x: (x if slope == 1 else slope * x) if x > 0 else zero, x=(-3, 3, 0.5))
    for at, value in ((2.0, 2.0 * slope), (-1.0, 0.0), (1.0, slope)):
        root, new = root_at(page, [at])
        stands = where_it_stands(page, root, new, [at])
        assert (stands["value"], stands["gradients"]) == (value, [slope * (value > 0)])
        assert page.picture_at([at]).to_svg()


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e308])
def test_a_variable_that_is_not_finite_stays_as_it_is(value):
    fixed, x, array = af.Variable(value, name="fixed"), af.Variable(0.5, name="x"), af.Variable([1.0, value])
    page = af.explore(x * fixed)
    assert [s.title for s in page.inputs.values()] == ["x"]
    assert page.to_html()
    assert [s.title for *_, s in af.explore(x * np.sum(array)).places] == ["x"]
